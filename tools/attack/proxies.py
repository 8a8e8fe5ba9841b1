"""proxies.py PROGRAM — dangerous requests through deploy/haproxy.cfg and deploy/nginx.conf to three replicas; run by run.sh proxies.

For each proxy and each request of attacks.HEAVY, and for connections that are silent, slow or framed doubtfully: four clients
with connections of their own ask for a vector all the time, and every replica's /health is asked. One request may cost its own
connection, and nothing else: no other client loses a connection or gets another answer, and no replica is out. Also counts
the replicas that a dangerous request reached, by its X-Request-Id in their logs. Replicas have --watchdog 3."""
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import serve_client
from serve_client import Server

import attacks
from serve_framing import ROWS as FRAMES

program = sys.argv[1]
DEPLOY = os.environ["REPOSITORY"] + "/deploy"
BODY = json.dumps({"model": "sentences", "inputs": "A dog barks."})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port, path="/health"):
    try:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        c.request("GET", path)
        return c.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


@contextlib.contextmanager
def proxy(name, replicas):
    """The port of a proxy with the file of deploy/ and its three replicas, and a function: how many of them it uses."""
    port, ports = free_port(), [r.address[1] for r in replicas]
    up = None
    if name == "haproxy":
        admin = os.path.abspath("haproxy.sock")
        environment = {**os.environ, "HAPROXY_BIND": f"127.0.0.1:{port}", "HAPROXY_SOCKET": admin,
                       **{f"REPLICA{i + 1}": f"127.0.0.1:{p}" for i, p in enumerate(ports)}}
        command = ["haproxy", "-db", "-f", f"{DEPLOY}/haproxy.cfg"]

        def up():
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(admin)
                s.sendall(b"show stat\n")
                rows = [line.split(",") for line in s.makefile(encoding="ascii")]
            return sum(r[0] == "replicas" and r[1] != "BACKEND" and r[17] == "UP" for r in rows if len(r) > 17)
    else:
        with open(f"{DEPLOY}/nginx.conf", encoding="utf-8") as f:
            text = f.read().replace("listen 8080;", f"listen 127.0.0.1:{port};")
        for i, p in enumerate(ports):
            text = text.replace(f"127.0.0.1:{8081 + i}", f"127.0.0.1:{p}")
        here = os.getcwd()
        text = text.replace("http {", "".join(f"http {{\n    {kind}_temp_path {here}/{kind};\n" if kind == "proxy" else f"    {kind}_temp_path {here}/{kind};\n"
                                              for kind in ("proxy", "client_body", "fastcgi", "uwsgi", "scgi")) + f"    log_format reached '$http_x_request_id $upstream_addr';\n    access_log {here}/reached.log reached;\n", 1)
        with open("nginx.conf", "w", encoding="utf-8") as f:
            f.write(f"daemon off;\npid {here}/nginx.pid;\nerror_log {here}/nginx.err;\nuser root;\n" + text)
        environment, command = os.environ, ["nginx", "-p", here, "-c", f"{here}/nginx.conf"]
    with open(f"{name}.err", "wb") as err:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
    try:
        end = time.monotonic() + 60
        while not answers(port) or (up and up() < 3):
            if process.poll() is not None or time.monotonic() > end:
                with open(f"{name}.err", encoding="utf-8") as f:
                    sys.exit(f"proxies: {name} does not begin: {f.read()}")
            time.sleep(0.05)
        yield port, up
    finally:
        process.terminate()
        process.wait(60)


class Client(threading.Thread):
    """Asks on one connection until it is stopped; counts connections that it lost and answers that are wrong."""

    def __init__(self, port, expected):
        super().__init__()
        self.port, self.expected, self.stopped = port, expected, threading.Event()
        self.answers = self.lost = self.wrong = 0

    def run(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120, source_address=("127.0.0.2", 0))     # nginx.conf limits the rate of an address
        while not self.stopped.is_set():
            try:
                c.request("POST", "/embed", BODY)
                a = c.getresponse()
                got = a.read()
                self.answers += a.status == 200
                self.wrong += a.status != 200 or got != self.expected
            except (OSError, http.client.HTTPException):
                self.lost += 1
                c.close()
            time.sleep(0.15)
        c.close()


def frames(address):
    """All of them."""
    for data, _ in FRAMES:
        with attacks.connect(address, 5.0) as s:
            attacks.send(s, data)
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_WR)
            attacks.receive(s)


def kinds():
    """name -> (function of the address, its request id or None)"""
    out = {}
    for i, (name, data) in enumerate(attacks.HEAVY.items()):
        marked = data.replace(b"Host: localhost", b"Host: localhost\r\nX-Request-Id: attack-%d" % i, 1).replace(b"Host: attacker.example", b"Host: attacker.example\r\nX-Request-Id: attack-%d" % i, 1)
        out[name] = (lambda address, d=marked: attacks.whole(address, d, 30.0)), f"attack-{i}"
    out["clients that leave"] = (lambda address: [attacks.leave(address) for _ in range(10)]), None
    out["requests made by hand"] = frames, None
    out["300 silent connections"] = (lambda address: attacks.silent(address, 300, 3.0)), None
    out["30 slow bodies of 2 MB"] = (lambda address: attacks.slow_bodies(address, 30, 2000000, 4.0)), None
    out["20 slow readers"] = (lambda address: attacks.slow_readers(address, 20, 4.0)), None
    return out


def reached(name, id_):
    """How many replicas the request reached, by their logs or that of nginx."""
    n = 0
    if name == "nginx":
        with open("reached.log", encoding="utf-8") as f:
            return max((line.count("127.0.0.1:") for line in f if line.startswith(id_ + " ")), default=0)
    for i in range(3):
        with open(f"replica{i}.log", encoding="utf-8") as f:
            n += f'"id":"{id_}"' in f.read()
    return n


def attack(name, what, function, id_, port, up, replicas, expected):
    """A row; whether it held."""
    clients = [Client(port, expected) for _ in range(4)]
    for c in clients:
        c.start()
    time.sleep(0.3)
    said = []

    def hostile():
        try:
            got = function(("127.0.0.1", port))
            said.append(re.match(rb"HTTP/1.1 (\d+)|", got or b"").group(1) if isinstance(got, bytes) else None)
        except OSError as e:
            said.append(repr(e).encode())
    begin = time.monotonic()
    one = threading.Thread(target=hostile)
    one.start()
    fewest = 3
    while one.is_alive() or time.monotonic() < begin + 4:    # longer than --watchdog and than two checks
        fewest = min(fewest, sum(answers(r.address[1]) for r in replicas), up() if up else 3)
        time.sleep(0.2)
    one.join()
    took = time.monotonic() - begin
    for c in clients:
        c.stopped.set()
    for c in clients:
        c.join()
    lost, wrong, n = sum(c.lost for c in clients), sum(c.wrong for c in clients), sum(c.answers for c in clients)
    touched = reached(name, id_) if id_ else None
    held = not lost and not wrong and fewest == 3 and n and (touched is None or touched <= 1)
    status = said[0].decode() if said and said[0] else "-"
    print(f"| {name} | {what} | {status} | {n} | {lost} | {wrong} | {fewest} of 3 | {'-' if touched is None else touched} | {took:.1f} s | "
          f"{'held' if held else 'FAILED'} |", flush=True)
    return held


def main():
    os.environ["PATH"] += ":/usr/sbin"
    for name in ("haproxy", "nginx"):
        if not shutil.which(name):
            print(f"SKIPPED: {name} is not installed (sh tools/setup.sh deploy)")
            sys.exit(77)
    serve_client.LONG.clear()
    words, held = sys.argv[2:], []
    print("| proxy | one request, or kind of client | status | answers to others | connections of others lost | other answers | healthy replicas | "
          "replicas reached | time | |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(Server(program, *attacks.MODELS, "--threads", "1", "--watchdog", "3", "--access-log", f"replica{i}.log"))
                    for i in range(3)]
        expected = replicas[0].post("/embed", BODY.encode()).body
        for name in ("haproxy", "nginx"):
            with proxy(name, replicas) as (port, up):
                for what, (function, id_) in kinds().items():
                    if not words or any(w in what for w in words):
                        held.append(attack(name, what, function, id_, port, up, replicas, expected))
    print(f"\n{sum(held)} of {len(held)} held")
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
