#!/usr/bin/env python3
"""The Python package compared with the program, sentence-transformers (PyTorch), fastembed (ONNX Runtime) and tokenizers.

    bench/python_package.py PART... --lines LINES [--roformer build/release/roformer] [--threads 2] [--rounds 5] [--share 1]

PART     program      10,000 lines: encode compared with `roformer embed`, tokens per second
         shipped      3,000 lines: the shipped model compared with sentence-transformers and fastembed, with memory
         base         200 lines: the same with random weights in the shape of BERT-base
         start        import and first vector, less `import numpy`
         one          one short text per call, compared with the C function, for a model that takes few microseconds
         tokenize     100,000 lines compared with tokenizers, with offsets

Run it in an environment with roformer_c, sentence-transformers, fastembed and tokenizers. Each system is a process of its own that
opens the model, and then encodes the same lines when it is asked to, one system after the other in every round. Numbers are medians
of the rounds; memory is the peak of the process. LINES are repeated when there are fewer than needed;
with --share only this fraction of the numbers of lines above is used."""
import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SENTENCES = str(ROOT / "models" / "roformer-small-en-sentences")

WORKERS = {
    "roformer_c": """
import roformer_c
roformer_c.set_num_threads(threads)
model = roformer_c.SentenceTransformer(folder)
encode = model.encode
""",
    "sentence-transformers": """
import torch, sentence_transformers
torch.set_num_threads(threads)
model = sentence_transformers.SentenceTransformer(folder, device="cpu", model_kwargs={"torch_dtype": torch.float32})
encode = model.encode
""",
    "fastembed": """
from fastembed import TextEmbedding
from fastembed.common.model_description import PoolingType, ModelSource
import numpy
TextEmbedding.add_custom_model(model="local/model", pooling=PoolingType.MEAN, normalization=True,
                               sources=ModelSource(url="http://localhost/none"), dim=256, model_file="model.onnx")
model = TextEmbedding("local/model", specific_model_path=onnx, threads=threads, providers=["CPUExecutionProvider"])
encode = lambda lines: numpy.array(list(model.embed(lines, batch_size=32)))
""",
}
LOOP = """
import json, sys, time
threads, folder, onnx, lines = json.loads(sys.stdin.readline())
%s
encode(lines[:8])
print("ready", flush=True)
for row in sys.stdin:
    begin = time.perf_counter()
    v = encode(lines)
    print(json.dumps([time.perf_counter() - begin, [float(x) for x in v[0][:8]],
                      [int(x.split()[1]) / 1024 for x in open("/proc/self/status") if x.startswith("VmHWM")][0]]), flush=True)
"""


class Worker:
    def __init__(self, name, o, folder, onnx, lines):
        self.name = name
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", LOOP % WORKERS[name]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=dict(os.environ, HF_HUB_OFFLINE="1", OMP_NUM_THREADS=str(o.threads)))
        self.process.stdin.write(json.dumps([o.threads, folder, onnx, lines]) + "\n")
        self.process.stdin.flush()
        for row in self.process.stdout:
            if row == "ready\n":
                return
        raise SystemExit("%s does not start" % name)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def read_lines(o, n):
    n = max(1, int(n * o.share))
    lines = [x.strip() for x in pathlib.Path(o.lines).read_text(encoding="utf-8").split("\n") if x.strip()]
    return (lines * (n // len(lines) + 1))[:n]


def tokens_of(lines):
    import roformer_c
    t = roformer_c.Tokenizer.from_folder(SENTENCES)
    return int(t.encode_batch(lines, max_length=128).encoded.start[-1])


# ---- parts -----------------------------------------------------------------------------------------------------------

def program(o):
    lines = read_lines(o, 10000)
    tokens = tokens_of(lines)
    worker = Worker("roformer_c", o, SENTENCES, None, lines)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as work:
        path, one = os.path.join(work, "lines.txt"), os.path.join(work, "one.txt")
        for name, text in ((path, lines), (one, lines[:1])):
            with open(name, "w", encoding="utf-8") as f:
                f.write("\n".join(text) + "\n")

        def run(name):
            begin = time.perf_counter()
            subprocess.run([o.roformer, "embed", "-q", "-m", SENTENCES, "--threads", str(o.threads), "-o", work + "/v.npy",
                            name], check=True)
            return time.perf_counter() - begin
        for _ in range(o.rounds):
            ours.append(worker.run()[0])
            theirs.append(run(path) - run(one))
    worker.close()
    a, b = statistics.median(ours), statistics.median(theirs)
    print("%d lines of %.1f tokens: roformer_c %.0f tokens/s, roformer embed %.0f tokens/s (its start taken off): %.1f %%"
          % (len(lines), tokens / len(lines), tokens / a, tokens / b, 100 * b / a))


def export(folder, out):
    """The folder's encoder as out/model.onnx, with the files that fastembed reads."""
    import shutil

    import torch
    import transformers
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    t = transformers.AutoTokenizer.from_pretrained(folder)
    t.save_pretrained(out)
    shutil.copy(os.path.join(folder, "config.json"), out)
    if not os.path.exists(out + "/special_tokens_map.json"):
        pathlib.Path(out, "special_tokens_map.json").write_text(json.dumps(
            {k: getattr(t, k) for k in ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token")}))
    settings = json.loads(pathlib.Path(out, "tokenizer_config.json").read_text())
    settings.update(model_max_length=128, pad_token=t.pad_token)
    pathlib.Path(out, "tokenizer_config.json").write_text(json.dumps(settings))
    e = t(["a b", "c"], return_tensors="pt", padding=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
    torch.onnx.export(Hidden(), tuple(e[n] for n in names), out + "/model.onnx", input_names=names,
                      output_names=["last_hidden_state"], opset_version=17, dynamo=False,
                      dynamic_axes={n: {0: "batch", 1: "tokens"} for n in names + ["last_hidden_state"]})


def beside(o, folder, lines, what):
    tokens = tokens_of(lines)
    with tempfile.TemporaryDirectory() as onnx:
        export(folder, onnx)
        workers = [Worker(n, o, folder, onnx, lines) for n in WORKERS]
        rows = {w.name: [] for w in workers}
        for _ in range(o.rounds):
            for w in workers:
                rows[w.name].append(w.run())
        for w in workers:
            w.close()
    own = statistics.median(r[0] for r in rows["roformer_c"])
    memory = rows["roformer_c"][-1][2]
    print("%s, %d lines of %.1f tokens" % (what, len(lines), tokens / len(lines)))
    for name, r in rows.items():
        seconds = statistics.median(x[0] for x in r)
        # The difference of the first numbers of the normalized vectors from those of this package.
        v, mine = r[-1][1], rows["roformer_c"][-1][1]
        print("  %-22s %8.0f tokens/s  %6.2f s (%.2f to %.2f)  %5.2f x  %5.0f MB (%.1f x)  differs by %.0e" % (
            name, tokens / seconds, seconds, min(x[0] for x in r), max(x[0] for x in r), seconds / own, r[-1][2],
            r[-1][2] / memory, max(abs(x - y) for x, y in zip(v, mine))))


def shipped(o):
    beside(o, SENTENCES, read_lines(o, 3000), "shipped sentence model")


def base(o):
    import torch
    import transformers
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        transformers.BertModel(transformers.BertConfig(vocab_size=len(pathlib.Path(SENTENCES, "vocab.txt").read_text().split(
            "\n")) - 1), add_pooling_layer=False).save_pretrained(folder)
        for name in ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
            pathlib.Path(folder, name).write_bytes(pathlib.Path(SENTENCES, name).read_bytes())
        settings = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
        pathlib.Path(folder, "modules.json").write_text(json.dumps(settings))
        pathlib.Path(folder, "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128, "do_lower_case": False}))
        os.mkdir(folder + "/1_Pooling")
        os.mkdir(folder + "/2_Normalize")
        pathlib.Path(folder, "1_Pooling", "config.json").write_text(json.dumps(
            {"word_embedding_dimension": 768, "pooling_mode_mean_tokens": True}))
        beside(o, folder, read_lines(o, 200), "shape of BERT-base, random weights")


def start(o):
    code = {"numpy": "import numpy",
            "roformer_c": "import roformer_c; roformer_c.SentenceTransformer(%r).encode('A dog barks.')" % SENTENCES}
    rows = {name: [] for name in code}
    for _ in range(4 * o.rounds):
        for name, text in code.items():
            begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", text], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            rows[name].append((time.perf_counter() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    for i, what in enumerate(("time", "processor time")):
        a, b = (1000 * statistics.median(x[i] for x in rows[n]) for n in ("roformer_c", "numpy"))
        print("%s of import and first vector of the shipped model: %.0f ms, import numpy: %.0f ms, more: %.0f ms" % (
            what, a, b, a - b))


C = r"""
#include <roformer/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { CALLS = 2000 };
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
static int by_size(const void *a, const void *b) { const double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
int main(int argc, char **argv)
{
    rf_ctx_options c; rf_ctx *ctx = NULL; rf_pipeline *p = NULL; rf_error why = {0}; const float *v;
    const char *const text[] = {"a b c."};
    static double s[CALLS];
    rf_ctx_defaults(&c);
    c.threads = argc > 2 ? atoi(argv[2]) : 0;
    if (rf_ctx_new(&c, &ctx, &why) || rf_pipeline_open(ctx, argv[1], RF_F32, &p, &why)) return puts(why.text), 1;
    for (int i = -100; i < CALLS; i++) {
        const double begin = now();
        if (rf_embed_texts(p, text, NULL, 1, NULL, &v, NULL, &why)) return puts(why.text), 1;
        if (i >= 0) s[i] = now() - begin;
    }
    qsort(s, CALLS, sizeof *s, by_size);
    return printf("%.9f\n", s[CALLS / 2]) < 0;
}
"""


def one(o):
    import roformer_c
    sys.path.insert(0, str(ROOT / "python" / "tests"))
    import support
    folder = support.folder("bert/masked")
    model = roformer_c.SentenceTransformer(folder, threads=o.threads)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "one.c")
        pathlib.Path(source).write_text(C)
        library = os.path.dirname(o.roformer)
        subprocess.run(["cc", "-O2", "-I", str(ROOT / "include"), source, "-o", work + "/one", "-L", library, "-lroformer",
                        "-Wl,-rpath," + library], check=True)
        for _ in range(o.rounds):
            rows = []
            for i in range(2100):
                begin = time.perf_counter()
                model.encode("a b c.")
                rows.append(time.perf_counter() - begin)
            ours.append(statistics.median(rows[100:]))
            theirs.append(float(subprocess.check_output([work + "/one", folder, str(o.threads)])))
    a, b = 1e6 * statistics.median(ours), 1e6 * statistics.median(theirs)
    print("one short text, a model of two layers of 24 columns: encode %.1f us, rf_embed_texts in C %.1f us, more: %.1f us"
          % (a, b, a - b))


def tokenize(o):
    import roformer_c
    import tokenizers
    lines = read_lines(o, 100000)
    ours = roformer_c.Tokenizer.from_folder(SENTENCES, threads=o.threads)
    settings = json.loads(pathlib.Path(SENTENCES, "tokenizer_config.json").read_text())
    theirs = tokenizers.BertWordPieceTokenizer(os.path.join(SENTENCES, "vocab.txt"), lowercase=settings.get("do_lower_case", True))
    a, b = [], []
    for _ in range(o.rounds):
        begin = time.perf_counter()
        e = ours.encode_batch(lines)
        first, last = e.characters()
        a.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        f = theirs.encode_batch(lines)
        b.append(time.perf_counter() - begin)
    for i in range(0, len(lines), 997):
        assert (e[i].ids, e[i].offsets) == (f[i].ids, f[i].offsets), lines[i]
    bytes_ = sum(len(x.encode()) for x in lines)
    x, y = statistics.median(a), statistics.median(b)
    print("%d lines, %.1f MB: encode_batch with offsets in characters %.3f s (%.0f MB/s), tokenizers %.3f s: %.1f x"
          % (len(lines), bytes_ / 1e6, x, bytes_ / x / 1e6, y, y / x))


def main():
    parts = {f.__name__: f for f in (program, shipped, base, start, one, tokenize)}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("part", nargs="+", choices=parts)
    p.add_argument("--lines", required=True)
    p.add_argument("--roformer", default=str(ROOT / "build" / "release" / "roformer"))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--share", type=float, default=1)
    o = p.parse_args()
    import roformer_c
    roformer_c.set_num_threads(o.threads)
    os.environ["RAYON_NUM_THREADS"] = str(o.threads)
    name = [x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")][0]
    print("%s (%s), %d threads, Python %s, roformer_c %s" % (name, roformer_c.processor(), o.threads, platform.python_version(),
                                                             roformer_c.__version__), flush=True)
    for part in o.part:
        print("\n$ bench/python_package.py %s          # load of the machine: %.1f" % (part, os.getloadavg()[0]), flush=True)
        parts[part](o)


main()
