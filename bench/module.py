#!/usr/bin/env python3
"""The module for JavaScript (wasm/) compared with the program on rung sse4, alternating: headless Chromium, Node.js, wasmtime.

    bench/module.py build/release/roformer build/ports/wasm32-wasi/build/wasm [--threads 1 2] [--rounds 12] [--dtype f32 int8]

One request for the vectors of 32 texts of 32 tokens, by a RoFormer of MiniLM's shape (6 layers, 384 components, 12 heads, 1,536
inside) with random weights. Prints for the elapsed and for the processor time of each: the best seconds, and how many times as
fast as the program with the same threads it is, and as itself with the fewest threads (medians of the ratios within the rounds).
Processor time is what counts if other work loads the machine. With several threads, the page is isolated; wasmtime is left out."""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import opening

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "page"))
from browser import Browser, Server  # noqa: E402
from host import Host  # noqa: E402

TEXTS, TOKENS = 32, 32
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
HERE = ROOT / "bench"


def make_model(folder):
    words = (ROOT / "models" / "roformer-small-en" / "vocab.txt").read_text(encoding="utf-8")
    opening.V, opening.C, opening.F, opening.LAYERS = len(words.split("\n")) - 1, 384, 1536, 6
    opening.CONFIG.update(vocab_size=opening.V, embedding_size=384, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                          intermediate_size=1536, max_position_embeddings=512)
    opening.make(folder)
    (folder / "vocab.txt").write_text(words, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}))
    whole = [w for w in words.split("\n") if w.isascii() and w.isalpha() and len(w) > 2]
    draw = TOKENS - 2                                            # without the first and the last one
    return [" ".join(whole[(i * draw + k) % len(whole)] for k in range(draw)) for i in range(TEXTS)]


# ---- who computes: seconds() asks once; `process` and its children compute ---------------------------------------------


class Native:
    def __init__(self, program, folder, o):
        self.server = Server(program, "--isa", "sse4", "--threads", str(o["threads"]), "--dtype", o["dtype"], "-m", f"m={folder}/model")
        self.process = self.server.process
        self.link = http.client.HTTPConnection(self.server.url.removeprefix("http://"))
        self.body = json.dumps(o["body"])
        while self.ask("GET", "/health")[0] != 200:
            time.sleep(0.05)

    def ask(self, method, path, body=None):
        self.link.request(method, path, body, {"Content-Type": "application/json"})
        answer = self.link.getresponse()
        return answer.status, answer.read()

    def seconds(self):
        begin = time.monotonic()
        status, text = self.ask("POST", "/v1/embeddings", self.body)
        assert status == 200, text
        return time.monotonic() - begin

    def close(self):
        self.server.__exit__()


class Lines:
    """A program that asks once for each line."""

    def __init__(self, command, folder, o):
        self.process = subprocess.Popen([*command, json.dumps(o)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self):
        self.process.stdin.write("once\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Chromium:
    def __init__(self, folder, o):
        self.host = Host(str(folder), ISOLATED if o["threads"] > 1 else {}, {"index.html": "", "speed.js": (HERE / "module_speed.js").read_text()})
        self.browser = Browser()
        self.process = self.browser.process
        self.browser.call("Page.navigate", url=self.host.url.replace("index.html", "package/README.md"))
        self.browser.do("window.worker = new Worker('/speed.js', { type: 'module' }), 0")
        self.options = o

    def seconds(self):
        """The worker gets the options with the first request."""
        data, self.options = json.dumps(self.options), None
        said = self.browser.do("new Promise((end, failed) => { worker.onmessage = ({ data }) => end(data); "
                               f"worker.onerror = (e) => failed(new Error(e.message)); worker.postMessage({data}); }})")
        assert "seconds" in said, said
        return said["seconds"]

    def close(self):
        self.browser.__exit__()
        self.host.__exit__()


def processor_seconds(process):
    """Of a process and its children, so far."""
    parent, ticks = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parent[pid], ticks[pid] = int(words[1]), int(words[11]) + int(words[12])
    ours = {process.pid}
    while more := {pid for pid, of in parent.items() if of in ours and pid not in ours}:
        ours |= more
    return sum(ticks.get(pid, 0) for pid in ours) / os.sysconf("SC_CLK_TCK")


def once(who):
    before = processor_seconds(who.process)
    return {"elapsed": who.seconds(), "processor": processor_seconds(who.process) - before}


def measure(a, folder, o):
    """The seconds of each, (name, threads), for each round."""
    with contextlib.ExitStack() as stack:
        who = {}

        def start(name, threads, make, *rest):
            who[name, threads] = make(*rest, folder, {**o, "threads": threads})
            stack.callback(who[name, threads].close)

        for threads in a.threads:
            start("program", threads, Native, a.program.resolve())
            start("chromium", threads, Chromium)
            start("node", threads, Lines, ["node", HERE / "module_speed.js"])
            if threads == 1:
                start("wasmtime", threads, Lines, [ROOT / "build/ports/zig/bin/python", HERE / "module_wasmtime.py"])
        for _ in range(2):                                           # without what happens once
            for w in who.values():
                w.seconds()
        return [{key: once(w) for key, w in who.items()} for _ in range(a.rounds)]


def show(dtype, rounds):
    first = min(threads for _, threads in rounds[0])
    for key in rounds[0]:
        row = {"dtype": dtype, "who": key[0], "threads": key[1]}
        for kind in "elapsed", "processor":
            def times(other):
                return round(statistics.median(r[other][kind] / r[key][kind] for r in rounds), 2)

            row[kind] = {"best_s": round(min(r[key][kind] for r in rounds), 3), "times_the_program": times(("program", key[1])),
                         f"times_{first}_thread": times((key[0], first))}
        print(json.dumps(row), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("package", type=pathlib.Path)
    p.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--dtype", nargs="+", default=["f32", "int8"])
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "package").symlink_to(a.package.resolve())
        texts = make_model(folder / "model")
        for dtype in a.dtype:
            o = {"dtype": dtype, "body": {"model": "m", "input": texts, "encoding_format": "base64"}}
            show(dtype, measure(a, folder, o))


main()
