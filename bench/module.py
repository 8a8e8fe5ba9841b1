#!/usr/bin/env python3
"""The module for JavaScript (wasm/) compared with the program on rung sse4, alternating: headless Chromium, Node.js, wasmtime.

    bench/module.py build/release/roformer build/ports/wasm32-wasi/build/wasm [--threads 1] [--rounds 12] [--dtype f32 int8]

One request for the vectors of 32 texts of 32 tokens, by a RoFormer of MiniLM's shape (6 layers, 384 components, 12 heads, 1,536
inside) with random weights. Prints the best seconds of each, the fraction of the program's speed that this is, and the median of
the fractions within the rounds. With several threads, Chromium isolates the page; wasmtime is left out."""
import argparse
import contextlib
import http.client
import json
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


# ---- who computes: seconds() asks once -------------------------------------------------------------------------------


class Native:
    def __init__(self, program, folder, o):
        self.server = Server(program, "--isa", "sse4", "--threads", str(o["threads"]), "--dtype", o["dtype"], "-m", f"m={folder}/model")
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


def measure(a, folder, o):
    """The seconds of each, for each round."""
    with contextlib.ExitStack() as stack:
        def started(make, *rest):
            who = make(*rest, folder, o)
            stack.callback(who.close)
            return who

        who = {"program, sse4": started(Native, a.program.resolve()), "chromium": started(Chromium),
               "node": started(Lines, ["node", HERE / "module_speed.js"])}
        if a.threads == 1:
            who["wasmtime"] = started(Lines, [ROOT / "build/ports/zig/bin/python", HERE / "module_wasmtime.py"])
        for _ in range(2):                                           # without what happens once
            for w in who.values():
                w.seconds()
        return [{name: w.seconds() for name, w in who.items()} for _ in range(a.rounds)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("package", type=pathlib.Path)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--dtype", nargs="+", default=["f32", "int8"])
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "package").symlink_to(a.package.resolve())
        texts = make_model(folder / "model")
        for dtype in a.dtype:
            o = {"threads": a.threads, "dtype": dtype, "body": {"model": "m", "input": texts, "encoding_format": "base64"}}
            rounds = measure(a, folder, o)
            best = {name: min(r[name] for r in rounds) for name in rounds[0]}
            own = "program, sse4"
            for name in best:
                median = statistics.median(r[own] / r[name] for r in rounds)
                print(json.dumps({"dtype": dtype, "threads": a.threads, "who": name, "best_s": round(best[name], 4),
                                  "speed": round(best[own] / best[name], 2), "median_speed": round(median, 2)}), flush=True)


main()
