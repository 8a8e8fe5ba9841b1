#!/usr/bin/env python3
"""roformer serve under load: throughput, latency, overload, slow clients, start, and other servers with the same model.

    bench/serving.py BUILD LINES [ROW...] [--rounds 3] [--seconds 10] [--st PYTHON] [--infinity PYTHON]

    BUILD        build/release: roformer, bench_serving, bench_engine
    LINES        a text file; each line is an input
    ROW          throughput short load70 overload slow start generate joining peers connections size (default: all)
    --st         a Python with fastapi, uvicorn and sentence-transformers; --infinity: one with infinity-emb

What is compared alternates, and medians are printed. Models: the shipped one for sentences, and one with the shape of
RoFormer-base and random weights. The client is bench/bench_serving.c. Needs slowhttptest for the row `slow`."""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import opening

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
ST = """
import sys, fastapi, pydantic, torch, uvicorn
from sentence_transformers import SentenceTransformer
torch.set_num_threads(2)
model, app = SentenceTransformer(sys.argv[1], trust_remote_code=False, device="cpu"), fastapi.FastAPI()
class Body(pydantic.BaseModel):
    inputs: str
@app.post("/embed")
def embed(body: Body):
    return [model.encode(body.inputs, normalize_embeddings=True, show_progress_bar=False).tolist()]
@app.get("/health")
def health(): return "ok"
uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""


MINI = """
import sys, torch
from transformers import BertConfig, BertModel
torch.manual_seed(1)
words = len(open(sys.argv[1] + "/vocab.txt", encoding="utf-8").read().split("\\n")) - 1
BertModel(BertConfig(vocab_size=words, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
          add_pooling_layer=True).save_pretrained(sys.argv[1])
"""


def mini(folder, python):
    """The shape of all-MiniLM-L6 with random weights and the words of the shipped English model."""
    folder.mkdir()
    words = (MODELS / "roformer-small-en" / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(words, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}))
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 512, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}))
    subprocess.run([python, "-c", MINI, folder], check=True, capture_output=True)
    return folder


def base(folder, causal=False):
    """The shape of RoFormer-base with random weights and the words of the shipped English model."""
    opening.make(folder)
    words = (MODELS / "roformer-small-en" / "vocab.txt").read_text().split("\n")[:-1]
    words += [f"[unused{i}x]" for i in range(opening.V - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    (folder / "tokenizer_config.json").write_bytes((MODELS / "roformer-small-en" / "tokenizer_config.json").read_bytes())
    if causal:
        config = dict(opening.CONFIG, is_decoder=True, architectures=["RoFormerForCausalLM"])
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def get(port, path, timeout=60):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    c.request("GET", path)
    answer = c.getresponse()
    return answer.status, answer.read().decode()


class Server:
    """A server on a port until the block ends."""
    port = 18470

    def __init__(self, command, **more):
        self.command, self.more = command, more

    def __enter__(self):
        Server.port += 1
        self.port, self.begun = Server.port, time.monotonic()
        self.process = subprocess.Popen([str(a).replace("PORT", str(self.port)) for a in self.command],
                                        stderr=subprocess.DEVNULL, **self.more)
        self.first = None
        while True:
            try:
                status = get(self.port, "/health")[0]
                self.first = self.first or time.monotonic() - self.begun
                if status == 200:
                    break
            except OSError:
                pass
            if self.process.poll() is not None:
                sys.exit(f"{self.command[0]}: the server ended")
            time.sleep(0.002)
        self.ready = time.monotonic() - self.begun
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()

    def processor(self):
        """Seconds of processor time since its start."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name):
        return float(re.search(rf"^{name}(?:{{.*?}})? (\S+)$", get(self.port, "/metrics")[1], re.M)[1])


class Bench:
    def __init__(self, o, root):
        self.o, self.root = o, root
        self.program, self.client, self.engine = (o.build / n for n in ("roformer", "bench/bench_serving", "bench/bench_engine"))
        self.lines = [line for line in o.lines.read_text().split("\n") if line.strip()]
        self.small, self.base = MODELS / "roformer-small-en-sentences", base(root / "base")

    def serve(self, model, *options):
        return Server([self.program, "serve", "--quiet", "-m", model, "--port", "PORT", *options])

    def bodies(self, texts, name, make=lambda text: {"inputs": text}):
        path = self.root / name
        path.write_text("".join(json.dumps(make(t)) + "\n" for t in texts))
        return path

    def load(self, port, bodies, *options, seconds=None, whole=True):
        """whole=False: None if answers are missing a minute after the end, as those of a slow server with many clients."""
        done = subprocess.run([self.client, str(port), bodies, "--seconds", str(seconds or self.o.seconds), *map(str, options)],
                              capture_output=True, text=True)
        if done.returncode and not whole and "answers are missing" in done.stderr:
            return None
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    def embed(self, model, lines):
        """Seconds of roformer embed; opening the model does not count."""
        took = []
        for path in os.devnull, lines:
            begun = time.monotonic()
            subprocess.run([self.program, "embed", "-q", "-m", model, "--normalize", "--format", "f32", "-o", os.devnull],
                           stdin=open(path), check=True)
            took.append(time.monotonic() - begun)
        return took[1] - took[0]

    # ---- rows ----

    def throughput(self):
        for name, model, some in ("shipped", self.small, self.lines), ("base", self.base, self.lines[:400]):
            path = self.root / "lines"
            path.write_text("\n".join(some) + "\n")
            bodies, ours, all_at_once, client, different = self.bodies(some, "bodies"), [], [], [], 0
            tokens = self.tokens(model, path)
            with self.serve(model) as s:
                self.load(s.port, bodies, seconds=2)
                for _ in range(self.o.rounds):
                    before, begun = s.metric("roformer_tokens_total"), time.monotonic()
                    got = self.load(s.port, bodies)
                    ours.append((s.metric("roformer_tokens_total") - before) / (time.monotonic() - begun))
                    client.append(got["client_share"])
                    different += got["different"]
                    s.process.send_signal(signal.SIGSTOP)
                    all_at_once.append(tokens / self.embed(model, path))
                    s.process.send_signal(signal.SIGCONT)
            a, b = statistics.median(ours), statistics.median(all_at_once)
            print(f"throughput, {name}: {len(some)} lines of {tokens / len(some):.1f} tokens, 64 clients: {a:.0f} tokens/s, "
                  f"embed {b:.0f}: {100 * a / b:.1f} %; the client took {100 * max(client) / 2:.1f} % of two processors; "
                  f"{different} answers differ")

    def tokens(self, model, path):
        done = subprocess.run([self.program, "tokenize", "-m", model, "--json"], stdin=open(path), capture_output=True, text=True)
        return sum(len(json.loads(line)["ids"]) for line in done.stdout.splitlines())

    def short(self):
        text = "a short line of some words to embed, with sixteen tokens"             # that of bench_engine
        for name, model, requests in ("shipped", self.small, 2000), ("base", self.base, 200):
            line = self.root / "line"
            line.write_text(text + "\n")
            rows, log = [], self.root / "log"
            log.write_text("")
            with self.serve(model, "--access-log", log) as s:
                for _ in range(self.o.rounds):
                    got = self.load(s.port, self.bodies([text], "one"), "--clients", 1)["ms"]
                    s.process.send_signal(signal.SIGSTOP)
                    done = subprocess.run([self.engine, model, line, "--rounds", "1", "--requests", str(requests)], capture_output=True, text=True).stdout
                    s.process.send_signal(signal.SIGCONT)
                    p50, p99 = map(float, re.search(r"engine ([\d.]+) ms \(99 %: ([\d.]+)\)", done).groups())
                    rows.append((got["p50"], got["p99"], p50, p99))
            a, b, c, d = (statistics.median(x) for x in zip(*rows))
            print(f"one request of a short line, {name}: {a:.3f} ms (99 %: {b:.3f}), engine {c:.3f} ms (99 %: {d:.3f}): "
                  f"{a - c:.3f} ms more (99 %: {b - d:.3f})")
            logged = [json.loads(line) for line in log.read_text().splitlines()]
            more = sorted(1e3 * (x["seconds"] - x["inference_seconds"]) for x in logged if "inference_seconds" in x)
            print(f"    of which the model computed all but {more[len(more) // 2]:.3f} ms (99 %: {more[len(more) * 99 // 100]:.3f}), by the access log")

    def load70(self):
        for name, model, some in ("shipped", self.small, self.lines), ("base", self.base, self.lines[:400]):
            bodies = self.bodies(some, "bodies")
            with self.serve(model) as s:
                full = self.load(s.port, bodies)
                speed = s.metric("roformer_tokens_per_second")
                got = self.load(s.port, bodies, "--rate", 0.7 * full["per_second"], "--clients", 256, seconds=2 * self.o.seconds)
            batch = 2048 / speed
            print(f"70 % load, {name}: {0.7 * full['per_second']:.0f} requests/s: p50 {got['ms']['p50']:.1f} ms, p99 "
                  f"{got['ms']['p99']:.1f} ms; a batch of 2,048 tokens takes {1e3 * batch:.0f} ms: {got['ms']['p99'] / batch / 1e3:.2f} x")

    def overload(self):
        """Full load and ten times as much, in turns."""
        some = self.lines[:400]
        bodies = self.bodies(some, "bodies")
        for name, model in ("shipped", self.small), ("base", self.base):
            full, over = [], []
            with self.serve(model, "--max-connections", 2048) as s:
                for _ in range(self.o.rounds):
                    full.append(self.load(s.port, bodies))
                    memory = s.metric("process_resident_memory_bytes")
                    over.append(self.load(s.port, bodies, "--rate", 10 * full[-1]["ok_per_second"], "--clients", 1200, seconds=self.o.overload))
                after, got = s.metric("process_resident_memory_bytes"), over[-1]
            most, answered = (statistics.median(x["ok_per_second"] for x in rows) for rows in (full, over))
            print(f"10 x overload for {self.o.overload} s, {name}: {answered:.0f} answers/s, {most:.0f} at full load: {100 * answered / most:.1f} %; "
                  f"status {got['status']}, refusals p50 {got['refused_ms']['p50']:.1f} ms, p99 {got['refused_ms']['p99']:.1f} ms; accepted p99 "
                  f"{got['ok_ms']['p99']:.0f} ms; memory {memory / 1e6:.0f} -> {after / 1e6:.0f} MB; client {100 * got['client_share'] / 2:.1f} % of two processors",
                  flush=True)

    def attack(self, port, kind, option):
        path = "/embed" if kind == "body" else "/docs"
        return subprocess.Popen(["slowhttptest", "-c", "1000", option, "-i", "5", "-r", "500", "-l", str(int(self.o.seconds) + 4), "-u",
                                 f"http://127.0.0.1:{port}{path}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def slow(self):
        """Measures alternately without and with each attack, because the p99 of a few seconds varies. Each attack is also directed at another server on this machine, because the attacking clients use processor time and network, too."""
        bodies, kinds = self.bodies(self.lines, "bodies"), {"header": "-H", "body": "-B", "reader": "-X"}
        alone, others, n = [], {kind: ([], []) for kind in kinds}, {}
        with self.serve(self.small, "--max-connections", 2048) as s, self.serve(self.small, "--max-connections", 2048) as elsewhere:
            rate = 0.2 * self.load(s.port, bodies)["per_second"]
            for _ in range(self.o.rounds):
                alone.append(self.load(s.port, bodies, "--rate", rate)["ms"]["p99"])
                for kind, option in kinds.items():
                    for target, p99 in zip((s, elsewhere), others[kind]):
                        attack = self.attack(target.port, kind, option)
                        time.sleep(3)
                        n[kind] = target.metric("roformer_connections")
                        p99.append(self.load(s.port, bodies, "--rate", rate)["ms"]["p99"])
                        attack.wait()
        usual = statistics.median(alone)
        print(f"p99 without slow clients: {usual:.2f} ms ({min(alone):.2f} to {max(alone):.2f})")
        for kind, (own, foreign) in others.items():
            print(f"1,000 slow clients ({kind}; {n[kind]:.0f} connections): p99 of others {statistics.median(own):.2f} ms ({min(own):.2f} to "
                  f"{max(own):.2f}): {statistics.median(own) / usual:.2f} x; if they are those of another server, "
                  f"{statistics.median(foreign):.2f} ms ({min(foreign):.2f} to {max(foreign):.2f}): {statistics.median(foreign) / usual:.2f} x")

    def start(self):
        for name, model in ("shipped", self.small), ("base", self.base):
            rows = []
            for _ in range(self.o.rounds + 1):
                with self.serve(model) as s:
                    rows.append((s.first, s.ready, s.metric("process_resident_memory_bytes")))
            first, ready, memory = (statistics.median(x) for x in zip(*rows[1:]))
            print(f"start, {name}: /health answers after {1e3 * first:.0f} ms, 200 after {ready:.2f} s; idle memory {memory / 1e6:.0f} MB")

    def together(self, folder, prompts):
        """Seconds until `generate` has computed the first tokens of these prompts in one batch, without opening the model."""
        took = []
        for lines in [], prompts:
            begun = time.monotonic()
            subprocess.run([self.program, "generate", "-q", "-m", folder, "--max_new_tokens", "1", "--batch_size", "32"],
                           input="".join(p + "\n" for p in lines), text=True, stdout=subprocess.DEVNULL, check=True)
            took.append(time.monotonic() - begun)
        return took[1] - took[0]

    def generate(self):
        folder, new = base(self.root / "causal", causal=True), 64
        prompts = [" ".join(line.split()[:12]) for line in self.lines[:256]]
        body = lambda text, n=new: {"prompt": text, "max_tokens": n, "temperature": 0, "stream": True}
        lengths = dict(zip(prompts, [new // 2, new + new // 2, new - new // 4, new + new // 4, new] * len(prompts)))
        path = self.root / "prompts"
        path.write_text("\n".join(prompts) + "\n")
        rows = []
        with self.serve(folder) as s:
            bodies, one = self.bodies(prompts, "streams", body), self.bodies(prompts[:1], "one", body)
            differing = self.bodies(prompts, "differing", lambda p: body(p, lengths[p]))
            streams = "--path", "/v1/completions", "--clients", 32
            for _ in range(self.o.rounds):
                before, begun = s.metric("roformer_tokens_total"), time.monotonic()
                got = self.load(s.port, bodies, *streams, "--requests", len(prompts), seconds=600)
                ours = (s.metric("roformer_tokens_total") - before) / (time.monotonic() - begun)
                spread = self.load(s.port, differing, *streams, "--requests", len(prompts) // 2, "--spread", 3, seconds=600)
                alone = self.load(s.port, one, "--path", "/v1/completions", "--clients", 1, seconds=3)
                s.process.send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                done = subprocess.run([self.program, "generate", "-q", "-m", folder, "--max_new_tokens", str(new), "--batch_size", "32", "--json"],
                                      stdin=open(path), capture_output=True, text=True)
                took, prefill = time.monotonic() - begun, self.together(folder, prompts[:32])
                s.process.send_signal(signal.SIGCONT)
                texts = [json.loads(line) for line in done.stdout.splitlines()]
                theirs = sum(t["prompt_tokens"] + len(t["ids"]) for t in texts) / took
                rows.append((ours, theirs, got["first_ms"]["p50"], got["first_ms"]["p99"], 1e3 * prefill, spread["first_ms"]["p50"],
                             spread["first_ms"]["p99"], alone["first_ms"]["p50"]))
        ours, theirs, p50, p99, prefill, later50, later99, alone = (statistics.median(x) for x in zip(*rows))
        print(f"generation, base shape, 32 streams: {ours:.0f} tokens/s (with prompts), `generate` {theirs:.0f}: {100 * ours / theirs:.1f} %\n"
              f"    first token, 32 at a time with {new} new tokens each: p50 {p50:.0f} ms, p99 {p99:.0f} ms; `generate` takes {prefill:.0f} ms "
              f"for the first tokens of 32 prompts: {p99 / prefill:.2f} x\n"
              f"    first token, one after the other with {new // 2} to {new + new // 2}: p50 {later50:.0f} ms, p99 {later99:.0f} ms; of one "
              f"stream alone {alone:.0f} ms, a step of 32 streams about {32e3 / theirs:.0f} ms")

    def joining(self):
        """The first token of one stream, alone and beside 31 that run all the time; in turns."""
        folder = base(self.root / "joining", causal=True)
        prompts = [" ".join(line.split()[:12]) for line in self.lines[:256]]
        body = lambda n: lambda text: {"prompt": text, "max_tokens": n, "temperature": 0, "stream": True}
        path, rows = ("--path", "/v1/completions"), []
        with self.serve(folder) as s:
            one, many = self.bodies(prompts, "one-joins", body(4)), self.bodies(prompts, "many-run", body(400))
            for _ in range(self.o.rounds):
                alone = self.load(s.port, one, *path, "--clients", 1)["first_ms"]
                running = subprocess.Popen([self.client, str(s.port), many, *path, "--clients", "31", "--seconds", str(self.o.seconds + 6)],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(3)                             # they have their first tokens
                beside = self.load(s.port, one, *path, "--clients", 1)["first_ms"]
                running.wait()
                rows.append((alone["p50"], alone["p99"], beside["p50"], beside["p99"]))
        a, b, c, d = (statistics.median(x) for x in zip(*rows))
        print(f"first token, base shape: one stream alone p50 {a:.0f} ms, p99 {b:.0f} ms; joining 31 running streams p50 {c:.0f} ms, p99 {d:.0f} ms: "
              f"{d / b:.2f} x by p99, {c / a:.2f} x by p50")

    def kinds(self, model):
        """Other servers: name -> (command, whether it has OpenAI's route)."""
        kinds = {"roformer": ([self.program, "serve", "--quiet", "-m", model, "--port", "PORT", "--max-wait", "0"], False)}     # others refuse nothing
        if self.o.st:
            kinds["FastAPI + sentence-transformers"] = ([self.o.st, "-c", ST, model, "PORT"], False)
        if self.o.infinity:
            kinds["infinity-emb"] = ([self.o.infinity, "-m", "infinity_emb.cli", "v2", "--model-id", model, "--served-model-name", "m",
                                      "--device", "cpu", "--engine", "torch", "--no-bettertransformer", "--port", "PORT",
                                      "--log-level", "error"], True)
        return kinds

    def compared(self, model, texts, clients):
        """Every server in turn, with each list of texts and number of clients: {(name, texts, clients): [load, ...]}"""
        bodies = {(name, openai): self.bodies(some, f"{name}-{openai}", (lambda x: {"input": x, "model": "m"}) if openai else (lambda x: {"inputs": x}))
                  for name, some in texts.items() for openai in (False, True)}
        result = {}
        for _ in range(self.o.rounds):
            for kind, (command, openai) in self.kinds(model).items():
                with Server(command, env=dict(os.environ, OMP_NUM_THREADS="2", DO_NOT_TRACK="1", HF_HUB_OFFLINE="1"),
                            stdout=subprocess.DEVNULL) as s:
                    for name in texts:
                        for n in clients:
                            ask = s.port, bodies[name, openai], "--path", "/embeddings" if openai else "/embed", "--clients", n
                            self.load(*ask, seconds=1, whole=False)
                            used, got = s.processor(), self.load(*ask, whole=False)
                            if got:
                                got["ok_per_processor_second"] = got["status"].get("200", 0) / max(1e-3, s.processor() - used)
                            print(f"    {kind}, {name}, {n} clients: {got or 'answers are missing'}", file=sys.stderr, flush=True)
                            result.setdefault((kind, name, n), []).extend([got] if got else [])
        return result

    def report(self, what, result, name, n):
        rate = lambda kind, of="ok_per_second": statistics.median(r[of] for r in result[kind, name, n])
        per = lambda kind: rate(kind, "ok_per_processor_second")       # the measure of a machine that others use, too
        for kind in dict.fromkeys(k for k, _, _ in result):
            rows = result[kind, name, n]
            if not rows:
                print(f"{n} clients, one text a request, {what}, {kind}: answers were missing a minute after the end", flush=True)
                continue
            if not rate(kind):
                sys.exit(f"{kind}: no answer with status 200: {rows}")
            print(f"{n} clients, one text a request, {what}, {kind}: {rate(kind):.1f} requests/s, p99 {statistics.median(r['ms']['p99'] for r in rows):.0f} ms; "
                  f"ours {rate('roformer') / rate(kind):.2f} x; {per(kind):.1f} for each second of processor time, ours {per('roformer') / per(kind):.2f} x; "
                  f"answers that differ from an earlier one to the same text: "
                  f"{sum(r['different'] for r in rows)} of {sum(r['status'].get('200', 0) for r in rows)}", flush=True)

    def peers(self):
        for name, model, some in ("shipped", self.small, self.lines), ("base", self.base, self.lines[:400]):
            self.report(name, self.compared(model, {"lines": some}, [32]), "lines", 32)

    def connections(self):
        """Few and many clients, short texts and mixed lengths, a model of 6 layers and 384 components."""
        if not self.o.st:
            sys.exit("connections: needs --st")
        draw, words = random.Random(7), " ".join(self.lines).split()
        cut = lambda n: " ".join(words[(at := draw.randrange(len(words) - n)):at + n])
        texts = {"short": [cut(draw.randint(3, 12)) for _ in range(1000)], "mixed": [cut(draw.randint(5, 240)) for _ in range(1000)]}
        clients, model = [1, 8, 64, 256], mini(self.root / "mini", self.o.st)
        for name, said in ("short", "6 x 384, 3 to 12 words"), ("mixed", "6 x 384, 5 to 240 words"):
            result = self.compared(model, {name: texts[name]}, clients)
            for n in clients:
                self.report(said, result, name, n)

    def size(self):
        print(f"binary: {self.program.stat().st_size / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("lines", type=pathlib.Path)
    parser.add_argument("row", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--overload", type=int, default=60)
    parser.add_argument("--st")
    parser.add_argument("--infinity")
    o = parser.parse_args()
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{processor}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of {o.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(o, pathlib.Path(work))
        for row in o.row or ["size", "start", "short", "throughput", "load70", "overload", "slow", "generate", "joining", "peers"]:
            getattr(bench, row)()
            sys.stdout.flush()


if __name__ == "__main__":
    main()
