#!/usr/bin/env python3
"""A soak test of roformer serve: requests of mixed lengths at a fraction of full load, some of whose clients disconnect early;
memory, descriptors and latency every ten seconds, and a verdict.

    bench/serving_soak.py BUILD LINES [--minutes 15] [--load 0.7 | --rate R] [--aborts 0.01] [--every 10] [--model DIR]
                          [--growth 5] [--drift 10]

    BUILD     build/release
    LINES     a text file; a request is a line, a part of it, or several lines
    --rate    requests a second; without it, --load times the capacity, which is measured before with --clients clients

Before, requests of as many and as long texts as the server takes fill batches of --max-batch-tokens, and all clients
send at full load for some seconds: that is the most memory that the server may need, and the baseline. Then requests come at random times (a
Poisson process), whether others are answered or not. Verdict: resident memory stays below the baseline and --growth
percent; of the last third against the one before, descriptors do not grow, and the median of the p99 of all samples
rises by less than --drift percent; nothing fails. The processor time of the server, in percent of one processor, is a
column of its own."""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time


class Server:
    def __init__(self, program, model):
        self.log = tempfile.NamedTemporaryFile("r")
        with open(self.log.name, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen([program, "serve", "-m", model, "--port", "0"], stderr=err)
        while "loaded in" not in self.text():
            if self.process.poll() is not None:
                sys.exit(f"the server ended: {self.text()}")
            time.sleep(0.05)
        self.port = int(re.search(r"listening on http://[^:]*:(\d+)", self.text())[1])

    def text(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def resident(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def processor(self):
        """Seconds of processor time since its start."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))


class Load:
    def __init__(self, server, lines, aborts):
        self.server, self.lines, self.aborts = server, lines, aborts
        self.lock, self.times, self.failed, self.refused, self.left = threading.Lock(), [], 0, 0, 0
        self.local = threading.local()

    def body(self):
        words = random.choice(self.lines).split(" ")
        shape = random.random()
        if shape < 0.5:
            inputs = " ".join(words[:random.randint(1, 12)])
        elif shape < 0.9:
            inputs = " ".join(words)
        else:
            inputs = random.choices(self.lines, k=random.randint(2, 8))
        return json.dumps({"inputs": inputs})

    def leave(self, body):
        with socket.create_connection(("127.0.0.1", self.server.port), 60) as s:
            s.sendall(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body.encode())

    def ask(self, begin=None):
        body, begin = self.body(), begin or time.monotonic()
        if random.random() < self.aborts:
            self.leave(body)
            with self.lock:
                self.left += 1
            return
        try:
            c = getattr(self.local, "connection", None)
            c = self.local.connection = c or http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
            c.request("POST", "/embed", body)
            answer = c.getresponse()
            answer.read()
            good, refused = answer.status == 200, answer.status == 429
        except (OSError, http.client.HTTPException):
            self.local.connection = None
            good = refused = False
        with self.lock:
            if good:
                self.times.append(time.monotonic() - begin)
            self.refused += refused
            self.failed += not good and not refused

    def capacity(self, clients, seconds):
        end = time.monotonic() + seconds

        def client():
            while time.monotonic() < end:
                self.ask()
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return len(self.take()[0]) / seconds

    def fill(self):
        """Sends batches with the maximum number of tokens, of many texts and of long ones; returns the tokens of the largest batch, rounded down as in the metrics."""
        info = self.get("/info")
        most, texts = info["max_batch_tokens"], info["max_client_batch_size"]
        words = " ".join(self.lines).split(" ")
        long = " ".join((words * (1 + info["max_input_length"] // len(words)))[:info["max_input_length"]])
        bodies = [json.dumps({"inputs": random.choices(self.lines, k=texts), "truncate": True}) for _ in range(8)]
        bodies.append(json.dumps({"inputs": [long] * max(1, min(texts, most // info["max_input_length"])), "truncate": True}))

        def client(number):
            for i in range(6):
                c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600)
                c.request("POST", "/embed", bodies[(number + i) % len(bodies)])
                status = c.getresponse().status
                if status not in (200, 429):
                    sys.exit(f"a request of {texts} texts: status {status}")
        threads = [threading.Thread(target=client, args=(i,)) for i in range(2 * len(bodies))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        before = filled = lower = 0
        for bound, count in re.findall(r'te_batch_next_tokens_bucket{le="([^"]*)"} (\d+)', self.get("/metrics")):
            if int(count) > before:
                filled = lower
            before, lower = int(count), float(bound)
        return filled, most

    def get(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        c.request("GET", path)
        text = c.getresponse().read().decode()
        return json.loads(text) if text.startswith("{") else text

    def take(self):
        with self.lock:
            out = self.times, self.failed, self.refused, self.left
            self.times, self.failed, self.refused, self.left = [], 0, 0, 0
        return out

    def run(self, rate, end, clients):
        """Requests arrive at this rate; a client sends the next one when it is free, and its latency counts from the arrival."""
        due, lock = [time.monotonic()], threading.Lock()

        def client():
            while True:
                with lock:
                    due[0] += random.expovariate(rate)
                    mine = due[0]
                if mine > end:
                    return
                time.sleep(max(0, mine - time.monotonic()))
                self.ask(mine)
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for t in threads:
            t.start()
        return threads


def p99(times):
    return sorted(times)[int(0.99 * len(times))] if times else float("nan")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("lines", type=pathlib.Path)
    p.add_argument("--model", default=pathlib.Path(__file__).parents[1] / "models/roformer-small-en-sentences")
    for name, value in (("minutes", 15.0), ("load", 0.7), ("aborts", 0.01), ("every", 10.0)):
        p.add_argument(f"--{name}", type=float, default=value)
    p.add_argument("--growth", type=float, default=5, help="percent of memory, for the words of caches")
    p.add_argument("--drift", type=float, default=10, help="percent of the p99; 0: it is not judged")
    p.add_argument("--clients", type=int, default=32)
    p.add_argument("--rate", type=float)
    o = p.parse_args()
    random.seed(7)
    server = Server(o.build / "roformer", o.model)
    lines = [line for line in o.lines.read_text(encoding="utf-8").split("\n") if line.strip()]
    load = Load(server, lines, o.aborts)
    filled, most = load.fill()
    load.capacity(o.clients, 4)                                   # every client its connection, every thread its cache
    baseline = server.resident()
    print(f"a batch of {filled:.0f} tokens or more was computed, {most} are the most; then the server has {baseline:.1f} MB")
    rate = o.rate
    if not rate:
        most = load.capacity(o.clients, 10)
        rate = o.load * most
        print(f"capacity {most:.0f} requests/s with {o.clients} clients; load {o.load:g} of it for {o.minutes:g} minutes\n")
    else:
        print(f"{rate:g} requests/s for {o.minutes:g} minutes\n")
    print("  seconds  requests/s  p50 ms  p99 ms  left  refused  failed  resident MB  descriptors  processor %", flush=True)
    begin, rows, at, used = time.monotonic(), [], time.monotonic(), server.processor()
    threads = load.run(rate, begin + 60 * o.minutes, o.clients)
    while any(t.is_alive() for t in threads):
        time.sleep(o.every)
        (times, failed, refused, left), now = load.take(), time.monotonic()
        share, seconds, at, used = 100 * (server.processor() - used) / (now - at), now - at, now, server.processor()
        if not times or now > begin + 60 * o.minutes:             # clients have ended
            continue
        rows.append((statistics.median(times), p99(times), failed, refused, server.resident(), server.descriptors()))
        r = rows[-1]
        print(f"{now - begin:9.0f} {len(times) / seconds:11.1f} {1e3 * r[0]:7.1f} {1e3 * r[1]:7.1f} {left:5} "
              f"{refused:8} {failed:7} {r[4]:12.1f} {r[5]:12} {share:12.1f}", flush=True)
    server.process.send_signal(signal.SIGTERM)
    code = server.process.wait()
    third = len(rows) // 3
    early, late = rows[third:2 * third], rows[2 * third:]
    checks = {
        "memory": max(r[4] for r in rows) < (1 + o.growth / 100) * baseline,
        "descriptors": max(r[5] for r in late) <= max(r[5] for r in early) + 2,
        "failures": not any(r[2] for r in rows) and code == 0,
    }
    if o.drift:
        checks["p99"] = statistics.median(r[1] for r in late) < (1 + o.drift / 100) * statistics.median(r[1] for r in early)
    print("\n" + ", ".join(f"{name} {'good' if good else 'BAD'}" for name, good in checks.items()))
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main()
