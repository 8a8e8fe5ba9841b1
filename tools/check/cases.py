#!/usr/bin/env python3
"""Runs reported cases and prints which of them hold.

    cases.py DIR [--program FILE] [--models DIR] [--python PYTHON] [--build DIR] [--only NAME,...]

DIR has one folder for each case, with its inputs, `cmd` (bash), `expected` (what is right, and by which other program)
and `got` (what an older version said).  Each case runs in a copy of its folder, with $R the program, $MODELS the shipped
models and $PY a Python with roformer_c.  RULES below decides for each name whether what is expected came out: `shown`
compares standard output with the part of `expected` after "--- stdout", `vector` the first numbers of the vector with
the list in `expected`; other cases have a function.  A case without a rule, or whose rule needs what this machine
lacks, is printed as "look", with its output.  Exits with 1 if a case does not hold.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile

HELD, FAILED, LOOK = "held", "FAILED", "look"
Result = collections.namedtuple("Result", "code out err seconds")
CAUSAL = "r1-generate-no-bos/qwen"                          # a causal model among the cases


class Case:
    """One case in a copy of its folder."""

    def __init__(self, all_cases, name, folder, env):
        self.all, self.name, self.folder, self.env = all_cases, name, folder, env
        self.expected = (all_cases / name / "expected").read_text()
        self.models = pathlib.Path(env["MODELS"])

    def run(self, command=None, seconds=120):
        """The command (default: `cmd`) by bash, in a process group of its own, which ends with it."""
        start = time.monotonic()
        p = subprocess.Popen(["bash", "-c", command or (self.folder / "cmd").read_text()], cwd=self.folder, env=self.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True, errors="replace")
        try:
            out, err = p.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            return Result(124, out, err + "\nnot done after %d s" % seconds, seconds)
        return Result(p.returncode, out, err, time.monotonic() - start)

    def copy(self, path):
        """A writable copy of a folder of another case."""
        target = self.folder / ("other-" + path.replace("/", "-"))
        shutil.copytree(self.all / path, target)
        subprocess.run(["chmod", "-R", "u+w", str(target)], check=True)
        return target


class Server:
    """`roformer serve` on a free port, until the end of the with statement."""

    def __init__(self, case, *arguments):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([case.env["R"], "serve", "--port", str(self.port), "--threads", "1", *map(str, arguments)],
                                        cwd=case.folder, env=case.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(400):
            if self.ask("/health", seconds=1)[0] == 200:
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not start")

    def ask(self, path, body=None, headers=(), seconds=60):
        """(status, headers, text); status 0: no answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data, {"content-type": "application/json", **dict(headers)})
        try:
            with urllib.request.urlopen(request, timeout=seconds) as r:
                return r.status, r.headers, r.read().decode(errors="replace")
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read().decode(errors="replace")
        except OSError as e:
            return 0, {}, str(e)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


# ---- rules: each takes a case and gives (verdict, what was seen) -----------------------------------------------------

def verdict(holds, seen):
    return (HELD if holds else FAILED), str(seen)


def shown(case):
    r, right = case.run(), case.expected.partition("--- stdout\n")[2]
    differing = [b for a, b in zip(right.splitlines(), r.out.splitlines() + [""] * 99) if a != b]
    last = r.err.strip().splitlines()[-1:]
    return verdict(r.out.split() == right.split(), (differing + last or ["as expected"])[0])


def shown_or(pattern):
    """As expected, or refused with a message that matches."""
    def rule(case):
        state, seen = shown(case)
        r = case.run()
        return (HELD, "refused by name") if state == FAILED and re.search(pattern, r.err) else (state, seen)
    return rule


def numbers(text):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def near(mine, right, limit):
    return len(mine) >= len(right) > 0 and max(abs(a - b) for a, b in zip(mine, right)) <= limit


def vector(case, refused=None):
    r = case.run()
    if refused and r.code and re.search(refused, r.err):
        return HELD, "refused by name: " + r.err.strip()[-80:]
    right = numbers(re.search(r"^\[.*?\]|: (\[[-0-9.e, ]*\])", case.expected, re.M).group(0))
    out = case.folder / "out.jsonl"
    mine = json.loads(out.read_text().splitlines()[0]) if r.code == 0 and out.exists() else []
    worst = max((abs(a - b) for a, b in zip(mine, right)), default=float("inf"))
    return verdict(near(mine, right, 2e-5), "differs by %.1e" % worst if mine else r.err.strip()[-100:])


def vector_or(pattern):
    return lambda case: vector(case, pattern)


def array(path, name):
    """A float array of an .npz file as a list of its values and its shape."""
    with zipfile.ZipFile(path) as z:
        data = z.read(name + ".npy")
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    shape = [int(n) for n in re.findall(r"\d+", re.search(r"'shape': \(([^)]*)\)", header).group(1))]
    kind = "f" if "<f4" in header else "d"
    body = data[10 + size:]
    return list(struct.unpack("<%d%s" % (len(body) // struct.calcsize(kind), kind), body)), shape


def keras_weights(case):
    r = case.run("$R info folder")
    return verdict(r.code == 0 or "model.h5" in r.err, r.err.strip()[-120:] or "read")


def gau_short(case):
    right, shape = array(case.folder / "bert4keras.npz", "hidden_2")
    r = case.run("printf '[MASK]\\n' | $R embed -q -m folder --pooling cls -f jsonl")
    mine = json.loads(r.out) if r.code == 0 else []
    worst = max((abs(a - b) for a, b in zip(mine, right[:shape[-1]])), default=float("inf"))
    return verdict(worst < 1e-4, "differs by %.1e" % worst)


def simbert(case):
    right, shape = array(case.folder / "bert4keras.npz", "out0_0")
    r = case.run("printf '今天[MASK]很好，我[MASK]去公园玩。\\n' | $R embed -m folder -f jsonl")
    if r.code or re.search("SimBERT|pooler", r.err):
        return HELD, r.err.strip()[-100:]
    mine = json.loads(r.out)
    unit = lambda v: [x / sum(y * y for y in v) ** 0.5 for x in v]
    worst = max(abs(a - b) for a, b in zip(unit(mine), unit(right[:shape[-1]])))
    return verdict(worst < 1e-5, "unit vectors differ by %.1e" % worst)


def min_new_tokens(case):
    case.copy(CAUSAL)
    r = case.run("$R generate -q --json -m other-%s --min_new_tokens 40 --max_new_tokens 60 --top_p 0.95 --stop 。 'the dog'" % CAUSAL.replace("/", "-"))
    n = len(json.loads(r.out.splitlines()[0])["ids"]) if r.code == 0 else 0
    return verdict(n >= 40, "%d new tokens" % n if n else r.err.strip()[-100:])


def layout_default(case):
    root = pathlib.Path(__file__).resolve().parents[2]
    archives = [p for p in (pathlib.Path(case.env["BUILD"]) / n for n in ("libroformer-kernels.a", "libroformer.a")) if p.exists()]
    if not archives:
        return LOOK, "no archive of the library below --build"
    r = case.run("cc a.c -I%s/include %s -lm -lpthread $(pkg-config --libs jansson libutf8proc libxxhash libzstd zlib sentencepiece 2>/dev/null)"
                 " -lstdc++ -o a && ./a" % (root, archives[0]))
    bad = re.findall(r"left out.*worst|no layout given: 0", r.out)
    return verdict("layout" in r.out and not bad, (r.out + r.err).strip().splitlines()[-1][:100] if r.out + r.err else "nothing")


def keras_heads(case):
    r = case.run("$R fill-mask -q --json -m folder '今天[MASK]很好，我[MASK]去公园玩。'")
    return verdict(r.code == 0, r.err.strip()[-100:] or "read")


def poolings(case):
    r = case.run()
    codes = dict(re.findall(r"^(wm|sq|cm) (\d)$", r.out, re.M))
    lines = r.out.count("[")
    fine = all(c in ("0", "3") for c in codes.values()) and len(codes) == 3 and bool(lines) == ("0" in codes.values())
    return verdict(fine, "exit codes %s" % codes)


def subfolder(case):
    r = case.run()
    right = case.expected.partition("--- stdout\n")[2].split()
    return verdict(r.out.split() == right, " ".join(r.out.split()[-10:]))


def accumulation(case):
    r = case.run(seconds=300)
    got = re.findall(r'"step":(\d+),"epoch":([\d.]+)', r.out)
    return verdict(got == [("2", "1.0"), ("1", "1.0"), ("1", "1.0")], got)


def accumulation_equal(case):
    lines = [numbers(line.replace('"loss"', "").replace('"grad_norm"', "")) for line in case.run(seconds=400).out.strip().splitlines()]
    same = len(lines) == 12 and all(abs(a - b) <= 2e-6 * abs(a) for k in range(0, 12, 3) for line in lines[k + 1:k + 3] for a, b in zip(lines[k], line))
    return verdict(same and all(len(n) == 6 for n in lines), "%d lines" % len(lines))


def client_batch(case):
    r = case.run("sed -i s/18762/%d/g cmd; bash cmd" % (20000 + os.getpid() % 20000))
    return verdict(len(re.findall(r"texts: 200, ", r.out)) == 4, r.out.strip().splitlines()[-1:])


def early_stopping(case):
    r = case.run(seconds=300)
    return verdict(r.out.split() == ["same", "whole/metrics.jsonl:3", "parts/metrics.jsonl:3"], r.out.split())


def evaluate_lists(case):
    bad = []
    r = case.run(seconds=300)
    for part in r.out.split("== ")[1:]:
        name = part.split(":")[0]
        values = re.findall(r"ndcg_at_10\s+([\d.]+)", part)
        if len(values) != 2 or values[0] != values[1] or "roformer:" in part:
            bad.append(name)
    return verdict(not bad and r.out, bad or "all three forms")


def int8_one(case):
    r = case.run()
    return missing_package(r) or verdict(r.out.count("True") == 4 and r.out.count("ArgumentError") == 4 and "False" not in r.out, r.out.strip()[:80])


def missing_package(r):
    m = re.search(r"ModuleNotFoundError: (.*)|ImportError: (.*)", r.err)
    return (LOOK, "$PY: " + m.group(0)) if m and not r.out.strip() else None


def python_lines(command, right, wrong):
    def rule(case):
        r = case.run(command, seconds=300)
        return missing_package(r) or verdict(bool(re.search(right, r.out)) and not re.search(wrong, r.out, re.M), r.out.strip().splitlines()[-1:])
    return rule


def mteb_prompts(case):
    r = case.run("cp -r \"$MODELS/roformer-small-en-sentences\" model; chmod -R u+w model; cp config_sentence_transformers.json model/; $PY mt.py model 2>err | grep RES; cat err >&2", seconds=300)
    rows = re.findall(r"wrapper \[([\d.]+) +([\d.]+) *\]", r.out)
    return missing_package(r) or verdict(len(rows) == 6 and all(float(x) >= 0.9999 for row in rows for x in row), rows)


def python_keys(case):
    r = case.run()
    lines = [line for line in r.out.splitlines() if not line.startswith("Series")]
    return missing_package(r) or verdict(len(lines) >= 6 and all("TextTypeError" in line for line in lines) and
                                         "(3, 256)" in r.out, [line for line in lines if "TextTypeError" not in line] or "refused")


def lfs_pointer(case):
    r = case.run()
    text = r.out.partition("embed of text.txt:")
    named = [line for line in text[0].splitlines() if re.search("Git LFS|git lfs", line)]
    after = text[2].split("train.tsv:", 1)
    fine = len(named) == 5 and len(after) == 2 and after[0].strip() == "0" and re.search("Git LFS|git lfs", after[1])
    return verdict(fine, "%d of 5 named; text: %s vectors" % (len(named), after[0].strip()))


def mrr_ties(case):
    rows = [numbers(re.sub(r"at_10", "", line)) for line in case.run().out.strip().splitlines()]
    fine = len(rows) == 2 and all(abs(a[1] - 0.0909) < 1e-4 and 0 <= a[2] <= 0.2664 and abs(a[3] - 0.4131) < 1e-4 for a in rows) and rows[0][2] == rows[1][2]
    return verdict(fine, [a[1:] for a in rows])


def resume_batch_size(case):
    lines = case.run(seconds=300).out.split()
    return verdict(len(lines) == 4 and lines[0] == lines[2] and lines[1] == lines[3] and '"epoch":4.0' in lines[1], lines[1:2])


def retrieval_duplicates(case):
    rows = re.findall(r"(\w+): ({.*})", case.run().out)
    worst = {name: v["eval_recall_at_1"] for name, v in ((n, json.loads(t)) for n, t in rows)}
    return verdict(len(worst) == 3 and all(v == 1 for v in worst.values()), worst)


def squad(case):
    r = case.run(seconds=300)
    mine, other = re.findall(r'eval_exact_match": ([\d.]+), "eval_f1": ([\d.]+)', r.out), re.findall(r"exact_match ([\d.]+) f1 ([\d.]+)", r.out)
    return verdict(mine and other and near([float(x) for x in mine[0]], [float(x) for x in other[0]], 1e-8), mine)


def tag_truncated(case):
    r = case.run(seconds=300)
    f1 = re.findall(r"^f1\s+([\d.]+)", r.out, re.M)
    return verdict(f1 == ["0.4000"] and "f1 0.4000" in r.out, f1)


def masks(n):
    return {"inputs": "[MASK] " * n, "top_k": 1000000}


def compute_characters(case):
    with Server(case, "-m", case.models / "roformer-small-en-sentences") as s:
        _, headers, _ = s.ask("/embed", {"inputs": "éé漢"})
    return verdict(headers.get("x-compute-characters") == "3", headers.get("x-compute-characters"))


def dns_rebinding(case):
    with Server(case, "--demo") as s:
        body = {"query": "weather", "top_k": 1}
        foreign = s.ask("/search", body, {"Host": "attacker.example:8080"})[0]
        own = [s.ask("/search", body, {"Host": h})[0] for h in ("localhost:%d" % s.port, "127.0.0.1:%d" % s.port)]
    return verdict(foreign in (403, 421) and own == [200, 200], "foreign %s, own %s" % (foreign, own))


def ends(server, signals, limit):
    """Seconds from the first SIGTERM to the end, with `limit` at most."""
    start = time.monotonic()
    for pause in signals:
        server.process.send_signal(signal.SIGTERM)
        try:
            server.process.wait(pause)
            return time.monotonic() - start
        except subprocess.TimeoutExpired:
            pass
    return limit


def in_threads(n, work):
    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(n)]
    for t in threads:
        t.start()
    return threads


def drain_fill_mask(case):
    with Server(case, "-m", case.models / "roformer-small-en", "--drain-timeout", 1) as s:
        in_threads(1, lambda _: s.ask("/fill_mask", masks(60)))
        time.sleep(1)
        t = ends(s, (1, 19), 20)
    return verdict(t < 5, "exit after %.1f s" % t)


def drain_tokenize(case):
    with Server(case, "-m", case.models / "roformer-small-en", "--drain-timeout", 1) as s:
        in_threads(20, lambda _: s.ask("/tokenize", {"inputs": "a " * 900000}))
        time.sleep(1)
        t = ends(s, (2, 18), 20)
    return verdict(t < 5, "exit after %.1f s" % t)


def fill_mask_bomb(case):
    with Server(case, "-m", case.models / "roformer-small-en", "--request-timeout", 2, "--watchdog", 2) as s:
        start = time.monotonic()
        code = s.ask("/fill_mask", masks(60), seconds=40)[0]
        t = time.monotonic() - start
    return verdict(t < 6 and code in (400, 413, 422, 503, 504), "status %d after %.1f s" % (code, t))


def long_prompt(case):
    with Server(case, "-m", case.copy(CAUSAL), "--request-timeout", 5) as s:
        start = time.monotonic()
        code = s.ask("/v1/completions", {"prompt": "the " * 400000, "max_tokens": 3}, seconds=40)[0]
        t = time.monotonic() - start
    return verdict(t < 8 and code in (200, 400, 413, 422, 504), "status %d after %.1f s" % (code, t))


def many_query_args(case):
    with Server(case, "-m", case.models / "roformer-small-en") as s, socket.create_connection(("127.0.0.1", s.port), 5) as c:
        start = time.monotonic()
        c.sendall(("GET /ping?" + "".join("a%d=b&" % i for i in range(600)) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").encode())
        try:
            line = c.recv(100).decode(errors="replace").split("\r\n")[0]
        except OSError as e:
            line = str(e)
        t = time.monotonic() - start
    return verdict(t < 3 and re.match(r"HTTP/1.1 (200|414|431)", line), "%s after %.1f s" % (line or "nothing", t))


def no_auto_truncate(case):
    text, seen = "word " * 3000, {}
    servers = {case.models / "roformer-small-en-sentences": [("/embed_all", {"inputs": text})],
               case.copy("r1-classify-one-label/one"): [("/rerank", {"query": "a", "texts": [text]}), ("/v1/rerank", {"query": "a", "documents": [text]})],
               case.models / "roformer-small-en": [("/embed_sparse", {"inputs": text}), ("/fill_mask", {"inputs": "[MASK] " + text})],
               case.copy("r1-classify-one-label/three"): [("/predict", {"inputs": text}), ("/", {"inputs": text})]}
    for model, requests in servers.items():
        with Server(case, "-m", model, "--no-auto-truncate") as s:
            for path, body in requests:
                seen[path] = s.ask(path, body)[0]
    return verdict(all(code in (400, 413, 422) for code in seen.values()), seen)


def openai_batch(case):
    with Server(case, "-m", case.models / "roformer-small-en-sentences") as s:
        codes = [s.ask("/v1/embeddings", {"input": ["x"] * 100})[0]]
    with Server(case, "-m", case.copy("r1-classify-one-label/one")) as s:
        codes.append(s.ask("/v1/rerank", {"query": "a", "documents": ["x"] * 100})[0])
    return verdict(codes == [200, 200], codes)


def watchdog_generation(case):
    codes, stop = collections.Counter(), time.monotonic() + 20
    with Server(case, "-m", case.copy(CAUSAL), "--watchdog", 4) as s:
        def load(k):
            while time.monotonic() < stop:
                s.ask("/v1/completions", {"prompt": "the dog", "max_tokens": 60 + 7 * k, "temperature": 0})
        threads = in_threads(6, load)
        while time.monotonic() < stop:
            codes[s.ask("/health", seconds=5)[0]] += 1
            time.sleep(0.5)
        for t in threads:
            t.join(30)
    return verdict(set(codes) == {200}, dict(codes))


RULES = {
    "fam-esm-f16-frequencies": vector, "fam-esm-published-f16-frequencies": vector, "fam-esm-rope-scaling": vector,
    "fam-gemma-flat-rope-parameters": vector, "fam-gemma-is-causal-false": vector_or("is_causal"),
    "fam-llama-original-max-outside": vector_or("original_max_position_embeddings"),
    "fam-rope-type-nested-old-name-modernbert": vector_or("rope_parameters|rope_type|linear"), "fam-scale-embedding-qwen3": vector,
    "mis-b4k-h5": keras_weights, "mis-gau-short": gau_short, "mis-generate-min-new-tokens": min_new_tokens,
    "mis-layout-default": layout_default, "mis-simbert-vector": simbert, "mis-tf-h5-masked-lm": keras_heads,
    "r1-add-eos-key": shown, "r1-add-prefix-space": shown_or("add_prefix_space"), "r1-bert-config-json": shown_or("bert_config.json"),
    "r1-classify-one-label": shown, "r1-digits-bytelevel": shown, "r1-generate-no-bos": shown, "r1-json-truncation-8-of-16": shown,
    "r1-labse-dense-bin": shown, "r1-lasttoken-truncated": shown, "r1-marian-missing-pieces": shown, "r1-nomic-n-positions": shown,
    "r1-poolings-refused": poolings, "r1-roberta-targets": shown, "r1-roformer-saved-json": shown,
    "r1-transformer-in-subfolder": subfolder, "r1-untyped-model": shown, "r1-wordpiece-tutorial": shown, "r1-xlmr-spm-only": shown,
    "r2-accumulation-epoch": accumulation, "r2-accumulation-equal": accumulation_equal, "r2-client-batch": client_batch,
    "r2-early-stopping-resume": early_stopping, "r2-evaluate-lists": evaluate_lists, "r2-int8-one-text": int8_one,
    "r2-langchain-isinstance": python_lines("$PY langchain_uses.py \"$MODELS/roformer-small-en-sentences\"", "is an Embeddings: True", "^ERR (?!VectorstoreIndexCreator)"), "r2-lfs-pointer": lfs_pointer,
    "r2-llamaindex-pickle": python_lines("$PY llama_uses.py \"$MODELS/roformer-small-en-sentences\"", "OK  pickle of the model", "^ERR"), "r2-mrr-ties": mrr_ties, "r2-mteb-prompts": mteb_prompts,
    "r2-python-keys": python_keys, "r2-resume-batch-size": resume_batch_size, "r2-retrieval-duplicates": retrieval_duplicates,
    "r2-squad-normalization": squad, "r2-tag-truncated": tag_truncated,
    "srv-compute-characters": compute_characters, "srv-dns-rebinding": dns_rebinding, "srv-drain-fill-mask": drain_fill_mask,
    "srv-drain-tokenize": drain_tokenize, "srv-fill-mask-bomb-timeout": fill_mask_bomb, "srv-long-prompt": long_prompt,
    "srv-many-query-args": many_query_args, "srv-no-auto-truncate": no_auto_truncate, "srv-openai-batch": openai_batch,
    "srv-watchdog-generation": watchdog_generation,
}


def run_case(cases, name, env):
    with tempfile.TemporaryDirectory(prefix="case-") as work:
        folder = pathlib.Path(work) / name
        shutil.copytree(cases / name, folder)
        subprocess.run(["chmod", "-R", "u+w", work], check=True)
        case = Case(cases, name, folder, env)
        if name in RULES:
            try:
                return RULES[name](case)
            except Exception as e:                          # output of another form than the rule knows
                return FAILED, "%s: %s" % (type(e).__name__, str(e)[:100])
        r = case.run()
        return LOOK, "exit %d; expected: %s; output: %s" % (r.code, case.expected[:200], (r.out + r.err)[:400])


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("--build", type=pathlib.Path, default=root / "build/release")
    p.add_argument("--program", type=pathlib.Path)
    p.add_argument("--models", type=pathlib.Path, default=root / "models")
    p.add_argument("--python", default=sys.executable, help="a Python with roformer_c")
    p.add_argument("--only", type=lambda s: s.split(","))
    a = p.parse_args()
    program = (a.program or a.build / "roformer").resolve()
    if not program.exists():
        sys.exit("cases.py: %s: expected the program, got no file; `make` builds it" % program)
    count = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="cases-bin-") as bin:
        os.symlink(program, bin + "/roformer")
        env = dict(os.environ, R=str(program), MODELS=str(a.models.resolve()), PY=a.python, BUILD=str(a.build.resolve()), PATH=bin + ":" + os.environ["PATH"])
        for name in sorted(c.name for c in a.dir.iterdir() if (c / "cmd").exists()):
            if a.only and not any(re.fullmatch(o.replace("*", ".*"), name) for o in a.only):
                continue
            start = time.monotonic()
            state, seen = run_case(a.dir.resolve(), name, env)
            count[state] += 1
            print("%-42s %-7s %5.1f s  %s" % (name, state, time.monotonic() - start, " ".join(seen.split())[:160]), flush=True)
    print("\n%d held, %d failed, %d to look at" % (count[HELD], count[FAILED], count[LOOK]))
    return 1 if count[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
