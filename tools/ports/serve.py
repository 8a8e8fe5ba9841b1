#!/usr/bin/env python3
"""serve.py PROGRAM OTHER: `serve` of OTHER, roformer for another system, answers as that of PROGRAM, byte for byte:
vectors, masks, generation as a whole and as a stream, the page, and what is refused.  Then OTHER alone: clients at once,
clients that leave, bodies that are too large, a second server on its port, Ctrl-C while a request is answered.

Numbers are compared on one rung, avx2, that both have.  Python's standard library only."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli/serve"))
from serve_client import Connection, Server, expect, request, status, together, until  # noqa: E402

PROGRAM, OTHER = (os.path.abspath(p) for p in sys.argv[1:3])
WINDOWS = os.path.exists(OTHER + ".exe")
MODELS = ROOT / "models"
SMALL = 100000                      # --payload-limit
SERVED = ["-m", f"sentences={MODELS}/roformer-small-en-sentences", "-m", f"words={MODELS}/roformer-small-en",
          "-m", f"causal={ROOT}/tests/golden/gpt", "--payload-limit", str(SMALL), "--index", "index"]


class Served(Server):
    """Ctrl-C ends it: Wine makes that of SIGINT."""

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGINT)
        return self.wait()


def texts(n):
    return [f"The river flows through the valley to the sea, {i} miles from the city." for i in range(n)]


WRITE = {"model": "causal", "inputs": "the old river", "parameters": {"max_new_tokens": 12}}
REQUESTS = [
    ("GET", "/health", None), ("GET", "/info", None), ("GET", "/v1/models", None), ("GET", "/openapi.json", None),
    ("GET", "/ui", None), ("GET", "/ui/page.js", None), ("GET", "/ui/page.css", None), ("GET", "/docs", None),
    ("POST", "/embed", {"inputs": "A dog barks."}),
    ("POST", "/embed", {"inputs": ["Über den Flüssen 🎉 東京", "", "She won the gold medal."], "normalize": False}),
    ("POST", "/embed_all", {"inputs": "A dog barks."}),
    ("POST", "/v1/embeddings", {"input": texts(40), "model": "sentences", "encoding_format": "base64"}),
    ("POST", "/similarity", {"inputs": {"source_sentence": "a concert", "sentences": texts(3)}}),
    ("POST", "/search", {"query": "a puppy outside", "top_k": 3}),
    ("POST", "/fill_mask", {"model": "words", "inputs": "the capital of france is [MASK] ."}),
    ("POST", "/attention", {"model": "words", "inputs": "the old river", "layer": 0, "head": 0}),
    ("POST", "/tokenize", {"inputs": "Über den Flüssen"}), ("POST", "/decode", {"ids": [5, 6, 7]}),
    ("POST", "/generate", WRITE), ("POST", "/generate_stream", WRITE),
    ("POST", "/v1/completions", {"model": "causal", "prompt": "the old river", "max_tokens": 8, "temperature": 0}),
    ("POST", "/v1/completions", {"model": "causal", "prompt": "the old river", "max_tokens": 8, "temperature": 0,
                                 "stream": True}),
    ("POST", "/predict", {"inputs": "A dog barks."}), ("POST", "/embed", b"{ not JSON"),
    ("POST", "/embed", {"inputs": "x" * SMALL}), ("POST", "/embed", {"no such member": 1}),
    ("GET", "/nowhere", None), ("DELETE", "/embed", None),
]


def plain(answer):
    """Without what the time decides."""
    return re.sub(rb'"(id|created)": ?("[^"]*"|\d+)', rb'"\1":0', answer.body)


def answers_alike(here, other):
    for method, path, body in REQUESTS:
        expected, got = here.ask(method, path, body), other.ask(method, path, body)
        expect(got.status == expected.status, method, path, "expected", expected, "got", got)
        kinds = [a.headers.get("content-type") for a in (expected, got)]
        expect(kinds[0] == kinds[1], method, path, *kinds)
        expect(plain(expected) == plain(got), method, path, f"{plain(expected)[:500]!r} is not {plain(got)[:500]!r}")
    return len(REQUESTS)


def clients_at_once(here, other):
    bodies = [{"inputs": t} for t in texts(48)]
    expected = [status(here.post("/embed", b), 200).body for b in bodies]

    def ask(i):
        with Connection(other) as c:                            # eight requests on each connection
            for _ in range(8):
                expect(c.send(request("POST", "/embed", bodies[i], close=False)), "the connection is closed")
                expect(status(c.read("POST"), 200).body == expected[i], "another vector at once than alone", i)

    together([lambda i=i: ask(i) for i in range(len(bodies))])


def leave(server, data, reset, least=0):
    c = server.connect()
    expect(c.send(data), "closed")
    c.more(least)
    (c.reset if reset else c.close)()


def clients_leave(other):
    """In the middle of a stream, a body and a header; and while a request is computed, which then ends."""
    long = request("POST", "/generate_stream", {**WRITE, "parameters": {"max_new_tokens": 100}})
    whole = request("POST", "/embed", {"inputs": ["the river " * 200] * 32})
    for reset in (False, True):
        before = other.metric('te_request_failure{err="dropped"}')
        for data, least in ((long, 300), (whole[:-9], 0), (whole[:9], 0)):
            leave(other, data, reset, least)
        until(lambda: other.metric('te_request_failure{err="dropped"}') > before,  # pylint: disable=cell-var-from-loop
              lambda n: leave(other, whole, reset))                                 # pylint: disable=cell-var-from-loop
    until(lambda: other.metric("roformer_inputs") == 0, lambda n: None)
    until(lambda: other.metric("roformer_connections") == 1, lambda n: None)


def large_bodies(other):
    body = {"inputs": "x" * 7 * SMALL}
    status(other.post("/embed", body), 413)
    head = f"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{SMALL:x}\r\n".encode()
    with other.connect() as c:
        c.send(head + b"x" * SMALL + b"\r\n5\r\nmore!\r\n0\r\n\r\n")
        status(c.read("POST"), 413)
    status(other.ask("GET", "/health"), 200)


def refusals(other):
    """What cannot be opened is said, with exit code 1 to 5."""
    for options, said in ((["--port", str(other.address[1])], "Address already in use"),
                          (["--host", "192.0.2.1"], "an address of this machine"),
                          (["--host", "no such host"], "--host no such host"),
                          *([(["--unix", "socket"], "not supported on Windows")] if WINDOWS else [])):
        p = subprocess.run([OTHER, "serve", *SERVED[:2], *options], capture_output=True, text=True, timeout=100, check=False)
        expect(p.returncode in range(1, 6) and said in p.stderr, options, p.returncode, p.stderr)


def turned_away(server):
    """Refused, or disconnected without an answer."""
    try:
        with server.connect() as c:
            c.send(request("GET", "/health"))
            return not c.read_all()
    except ConnectionRefusedError:
        return True


def interrupted(other):
    """Ctrl-C: what was accepted is answered, new clients are not, and the exit code is 0."""
    with other.connect() as c:
        c.send(request("POST", "/generate_stream", {"model": "causal", "inputs": "the", "parameters":
                                                    {"max_new_tokens": 60}}))
        c.more(200)
        other.signal(signal.SIGINT)
        other.wait_for(lambda: "shutting down" in other.err(), "it shuts down")
        expect(turned_away(other), "a new client is served")
        data = c.read_all()
        expect(data.rstrip().endswith(b"0") and b"generated_text" in data, "the stream was cut:", data[-300:])
    code = other.wait()
    expect(code == 0, "exit", code, other.err())
    with socket.socket() as late:
        expect(late.connect_ex(other.address) != 0, "somebody listens")


def main():
    os.environ["ROFORMER_ISA"] = "avx2"
    with tempfile.TemporaryDirectory(prefix="roformer-serve-") as folder:
        os.chdir(folder)
        lines = "\n".join(texts(20)).encode()
        subprocess.run([PROGRAM, "index", "-q", "-m", SERVED[1].partition("=")[2], "-o", "index"], input=lines, check=True)
        with Served(PROGRAM, *SERVED) as here, Served(OTHER, *SERVED) as other:
            n = answers_alike(here, other)
            clients_at_once(here, other)
            clients_leave(other)
            large_bodies(other)
            refusals(other)
            interrupted(other)
        os.chdir(ROOT)
    print(f"serve: {n} answers, the same bytes; clients at once, clients that leave, Ctrl-C")


if __name__ == "__main__":
    main()
