"""soak.py PROGRAM SECONDS — attacks of attacks.py and ordinary clients at the same time; run by run.sh soak SECONDS.

One server with the shipped models and a causal one, default options but --max-memory. Ordinary clients ask for vectors, words,
continuations and tokens, one after the other; each compares every byte with the answer of the quiet server, and the vectors
with those of `roformer embed`. One that gets 429 or 503 waits as Retry-After says and asks again, at most 20 times; one whose
connection was idle when the server closed it asks again. What is then not answered is lost. Fails if a bit is wrong, a
request is lost, the memory exceeds its budget, /health of the loaded server is red, or the server does not end with 0."""
import collections
import http.client
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import threading
import time

import serve_client
from serve_client import Server

import attacks

program, SECONDS = sys.argv[1], float(sys.argv[2])
SENTENCES = f"{attacks.SHIPPED}/roformer-small-en-sentences"
BUDGET = 300000000
TEXTS = ["A dog barks.", "The river flows through the valley to the sea.", "Prices fell again last year, and nobody knows why.",
         "An orchestra played a symphony in the concert hall of the old city, and the audience listened until the end."]
ASKED = [("/embed", {"inputs": t, "model": "sentences"}) for t in TEXTS]
ASKED += [("/v1/embeddings", {"input": TEXTS, "model": "sentences"}), ("/fill_mask", {"inputs": "The sky is [MASK].", "model": "words"}),
          ("/v1/completions", {"prompt": "the old", "max_tokens": 12, "temperature": 0, "model": "causal"}),
          ("/tokenize", {"inputs": TEXTS, "model": "sentences"})]


class Client(threading.Thread):
    """Asks at random times, on kept or new connections."""

    def __init__(self, address, expected, end):
        super().__init__()
        self.address, self.expected, self.end = address, expected, end
        self.connection, self.used = None, False
        self.lock, self.times, self.counts = threading.Lock(), [], collections.Counter()
        self.said = []

    def once(self, path, body):
        """(status, body, seconds to wait); a status of 0: no answer."""
        if not self.connection:
            self.connection, self.used = http.client.HTTPConnection(*self.address, timeout=300), False
        try:
            self.connection.request("POST", path, body)
            a = self.connection.getresponse()
            got = a.status, a.read(), int(a.headers.get("Retry-After", 1))
            self.used = True
            if a.will_close or random.random() < 0.3:
                self.close()
            return got
        except (OSError, http.client.HTTPException) as e:
            idle = self.used
            self.close()
            return (-1 if idle else 0), repr(e).encode(), 0

    def close(self):
        self.connection.close()
        self.connection = None

    def ask(self, path, body):
        begin, text = time.monotonic(), json.dumps(body)
        for _ in range(20):
            status, got, wait = self.once(path, text)
            if status not in (-1, 429, 503):
                break
            with self.lock:
                self.counts["closed" if status < 0 else "refused"] += 1
            time.sleep(wait * random.uniform(1, 1.5))
        with self.lock:
            self.times.append(time.monotonic() - begin)
            good = status == 200
            self.counts["answered" if good else "lost"] += 1
            if not good:
                self.said.append(f"{path}: {status} {got[:200]!r}")
            elif without_ids(got) != self.expected[path, text]:
                self.counts["wrong"] += 1
                self.said.append(f"{path}: other bytes: {got[:200]!r}")

    def run(self):
        while time.monotonic() < self.end:
            self.ask(*random.choice(ASKED))
            time.sleep(random.expovariate(2))


def without_ids(body):
    """An answer of /v1/completions has an id and a time."""
    if not body.startswith(b"{"):
        return body
    whole = json.loads(body)
    return json.dumps({k: v for k, v in whole.items() if k not in ("id", "created")}).encode()


def attacker(address, end, counts):
    random.seed(os.getpid())
    while time.monotonic() < end:
        try:
            name = attacks.one_of_all(address)
            with counts.get_lock():
                counts[list(KINDS).index(name)] += 1
        except OSError:
            time.sleep(0.05)
        time.sleep(random.expovariate(1))


KINDS = ("heavy", "leave", "framing", "silent", "slow_bodies", "slow_readers")


def expected_of(server):
    expected = {}
    for path, body in ASKED:
        a = server.post(path, body)
        if a.status != 200:
            sys.exit(f"soak: {path}: {a}")
        expected[path, json.dumps(body)] = without_ids(a.body)
    lines = subprocess.run([program, "embed", "-q", "-m", SENTENCES, "-f", "jsonl"], input="\n".join(TEXTS) + "\n", capture_output=True,
                           text=True, check=True).stdout.splitlines()
    for text, line in zip(TEXTS, lines):
        of_program = json.loads(line)
        of_program = of_program.get("embedding", of_program) if isinstance(of_program, dict) else of_program
        of_server = json.loads(expected["/embed", json.dumps({"inputs": text, "model": "sentences"})])[0]
        if of_program != of_server:
            sys.exit(f"soak: the vector of {text!r} is not that of roformer embed")
    return expected


def row(server, clients, counts, begin, last):
    """A line of the table; resident memory in bytes."""
    total, times = collections.Counter(), []
    for c in clients:
        with c.lock:
            total += c.counts
            times += c.times[-200:]
    resident = server.resident()
    health = server.ask("GET", "/ping").status
    p99 = sorted(times)[int(0.99 * len(times))] if times else 0
    print(f"{time.monotonic() - begin:8.0f} {total['answered']:9} {total['lost']:5} {total['wrong']:6} {total['refused']:8} {total['closed']:7} "
          f"{1e3 * statistics.median(times or [0]):8.0f} {1e3 * p99:8.0f} {sum(counts):8} {resident / 1e6:12.1f} {server.descriptors():6} "
          f"{health:5} {os.getloadavg()[0]:5.1f}", flush=True)
    return total, max(last, resident)


def main():
    serve_client.LONG.clear()
    with Server(program, *attacks.MODELS, "--max-memory", str(BUDGET)) as server:
        expected, base = expected_of(server), server.resident()
        begin = time.monotonic()
        counts = multiprocessing.Array("q", len(KINDS))
        hostile = [multiprocessing.Process(target=attacker, args=(server.address, begin + SECONDS, counts)) for _ in range(4)]
        clients = [Client(server.address, expected, begin + SECONDS) for _ in range(8)]
        for x in (*hostile, *clients):
            x.start()
        print(" seconds  answered  lost  wrong  refused  closed   p50 ms   p99 ms  attacks  resident MB  files  ping  load", flush=True)
        most, red = base, 0
        while any(c.is_alive() for c in clients):
            time.sleep(min(60, max(1, SECONDS / 60)))
            red += server.ask("GET", "/health").status != 200
            total, most = row(server, clients, counts, begin, most)
        for h in hostile:
            h.join(60)
            h.kill()
        said = [line for c in clients for line in c.said]
    print(f"attacks: {', '.join(f'{n} {k}' for k, n in zip(KINDS, counts))}; idle memory {base / 1e6:.0f} MB, most {most / 1e6:.0f} MB, "
          f"budget {(base + BUDGET) / 1e6:.0f} MB and 64 MB for the engine; /health red {red} times; the server ended with 0")
    for line in said[:20]:
        print(line)
    bad = total["lost"] + total["wrong"] + red + (most > base + BUDGET + 64e6)
    print("soak: FAILED" if bad else f"soak: {total['answered']} requests answered, 0 lost, 0 wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
