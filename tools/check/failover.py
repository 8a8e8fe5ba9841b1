"""failover.py PROGRAM HAPROXY CONFIG [hosts] — three replicas behind HAProxy: under load one is killed, one drained, one reloaded.
Clients that repeat a request once see no failure. Run by failover.sh.

With `hosts`, each replica is a host of its own: a network namespace, which a wire joins to the namespace of HAProxy and the clients.
Then a wire is cut, too: packets get lost, and nobody says so. Otherwise the replicas are ports of the loopback interface.

Then the throughput of three replicas of one thread, and of one replica with three threads, both behind HAProxy.
PHASE_SECONDS (default 4): length of each phase. CLIENTS (default 8)."""
import atexit
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, HAPROXY, CONFIG = sys.argv[1:4]
HOSTS = sys.argv[4:] == ["hosts"]
SECONDS = float(os.environ.get("PHASE_SECONDS", "4"))
CLIENTS = int(os.environ.get("CLIENTS", "8"))
PATIENCE = 60.0
TEXTS = ["The orchestra played a symphony in the concert hall.", "Heavy rain is expected in the north tomorrow.",
         "The football club signed a new player.", "The river flows through the valley to the sea."]


class Port:
    """A free port of this host."""

    command, host = (), "127.0.0.1"

    def __init__(self):
        with socket.socket() as s:
            s.bind((self.host, 0))
            self.port = s.getsockname()[1]


class Host:
    """A network namespace at the other end of a wire, with an address of RFC 5737's."""

    port, number = 8080, 0

    def __init__(self):
        here, self.host = f"192.0.2.{4 * Host.number + 1}/30", f"192.0.2.{4 * Host.number + 2}"
        self.name, self.wire = f"roformer-{os.getpid()}-{Host.number}", f"wire{Host.number}"
        Host.number += 1
        self.command = ("ip", "netns", "exec", self.name)
        ip(f"netns add {self.name}")
        ip(f"link add {self.wire} type veth peer name wire netns {self.name}")
        ip(f"addr add {here} dev {self.wire}")
        ip(f"-n {self.name} addr add {self.host}/30 dev wire")
        ip(f"link set {self.wire} up")
        self.join(True)
        atexit.register(self.remove)

    def join(self, joined):
        ip(f"-n {self.name} link set wire {'up' if joined else 'down'}")

    def remove(self):
        ip(f"netns delete {self.name}")


def ip(words):
    done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failover: ip {words}: {done.stderr.strip()}")


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"failover: waited in vain until {what}")
        time.sleep(0.02)


def get(place, path):
    try:
        c = http.client.HTTPConnection(place.host, place.port, timeout=5)
        c.request("GET", path)
        a = c.getresponse()
        return a.status, a.read().decode()
    except OSError:
        return 0, ""


class Replica:
    """`roformer serve` in a place of its own."""

    def __init__(self, threads):
        self.place, self.threads, self.process = Host() if HOSTS else Port(), threads, None
        self.start()

    def start(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*self.place.command, PROGRAM, "serve", "--host", self.place.host, "--port", str(self.place.port),
                                         "--threads", str(self.threads), "--max-wait", "0"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        wait_for(lambda: get(self.place, "/health")[0] == 200, f"{self.place.host}:{self.place.port} is healthy")

    def answered(self):
        found = re.search(r'^roformer_http_responses_total\{code="2xx"\} (\S+)', get(self.place, "/metrics")[1], re.M)
        return float(found.group(1)) if found else 0.0

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def loads(self):
        self.errors.seek(0)
        return self.errors.read().count(" loaded in ")


class Balancer:
    """HAProxy with deploy/haproxy.cfg; one replica stands in all three places if there is only one."""

    def __init__(self, replicas):
        self.port, self.folder = Port().port, tempfile.mkdtemp()
        places = (replicas * 3)[:3]
        self.admin = os.path.join(self.folder, "admin.sock")
        environment = {**os.environ, "HAPROXY_BIND": f"127.0.0.1:{self.port}", "HAPROXY_SOCKET": self.admin,
                       **{f"REPLICA{i + 1}": f"{r.place.host}:{r.place.port}" for i, r in enumerate(places)}}
        self.process = subprocess.Popen([HAPROXY, "-db", "-f", CONFIG], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.admin) and self.up() == 3, "the balancer has found all replicas")

    def up(self):
        """How many replicas it sends requests to: "UP", or "UP 1/2" after a check that failed."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.admin)
            s.sendall(b"show stat\n")
            rows = [line.split(",") for line in s.makefile(encoding="ascii")]
        return sum(row[0] == "replicas" and row[1] != "BACKEND" and row[17].startswith("UP") for row in rows if len(row) > 17)

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class Client(threading.Thread):
    """Asks again and again, each request at most twice; compares each answer with the first one."""

    def __init__(self, port, expected):
        super().__init__()
        self.port, self.expected, self.stopped = port, expected, threading.Event()
        self.answers = self.repeated = 0
        self.failures, self.connection = [], None

    def once(self):
        self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            self.connection.request("POST", "/embed", json.dumps({"inputs": TEXTS}), {"Content-Type": "application/json"})
            a = self.connection.getresponse()
            body = a.read()
            return f"status {a.status}" if a.status != 200 else "" if body == self.expected else "other bytes"
        except (OSError, http.client.HTTPException) as e:
            self.connection.close()
            self.connection = None
            return repr(e)

    def run(self):
        while not self.stopped.is_set():
            why = self.once()
            if why:
                self.repeated += 1
                why = self.once()
            if why:
                self.failures.append(why)
            else:
                self.answers += 1


class Load:
    """Clients that ask while a block runs."""

    def __init__(self, port):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        c.request("POST", "/embed", json.dumps({"inputs": TEXTS}), {"Content-Type": "application/json"})
        expected = c.getresponse().read()
        self.clients = [Client(port, expected) for _ in range(CLIENTS)]

    def __enter__(self):
        for c in self.clients:
            c.start()
        return self

    def __exit__(self, *_):
        for c in self.clients:
            c.stopped.set()
        for c in self.clients:
            c.join()

    def total(self, name):
        return sum(getattr(c, name) for c in self.clients)


def phase(load, what, action):
    before, repeated = load.total("answers"), load.total("repeated")
    action()
    time.sleep(SECONDS)
    failures = [f for c in load.clients for f in c.failures]
    print(f"{what}: {load.total('answers') - before} answers, {load.total('repeated') - repeated} repeated by clients, "
          f"{len(failures)} failed", flush=True)
    if failures:
        sys.exit(f"failover: {what}: {failures[:5]}")
    if load.total("answers") == before:
        sys.exit(f"failover: {what}: nobody was answered")


def kill(replica):
    if replica.end(signal.SIGKILL) != -signal.SIGKILL:
        sys.exit("failover: the replica was not killed")


def drain(replica):
    code = replica.end(signal.SIGTERM)
    if code:
        sys.exit(f"failover: the drained replica ended with {code}")


def replace(replica, balancer):
    """An upgrade: the next one is not taken before the balancer has seen this one."""
    wait_for(lambda: balancer.up() == 3, "all replicas are healthy")
    drain(replica)
    wait_for(lambda: balancer.up() == 2, "the balancer has seen that it is gone")
    replica.start()


def reload(replica):
    before = replica.loads()
    replica.process.send_signal(signal.SIGHUP)
    wait_for(lambda: replica.loads() > before, "the model is loaded again")


def cut(replica, balancer):
    replica.place.join(False)
    wait_for(lambda: balancer.up() == 2, "the balancer has seen that it is gone")


def failover():
    replicas = [Replica(1) for _ in range(3)]
    balancer = Balancer(replicas)
    try:
        with Load(balancer.port) as load:
            phase(load, "three replicas", lambda: None)
            if min(r.answered() for r in replicas) == 0:
                sys.exit("failover: a replica was never asked")
            phase(load, "one is killed", lambda: kill(replicas[0]))
            phase(load, "it is back", replicas[0].start)
            phase(load, "one is drained", lambda: drain(replicas[1]))
            phase(load, "it is back", replicas[1].start)
            phase(load, "one is reloaded", lambda: reload(replicas[2]))
            if HOSTS:
                phase(load, "the wire of one is cut", lambda: cut(replicas[0], balancer))
                phase(load, "it is joined again", lambda: replicas[0].place.join(True))
            phase(load, "each is replaced in turn", lambda: [replace(r, balancer) for r in replicas])
        asked = [r.answered() for r in replicas]
        if min(asked) == 0:
            sys.exit(f"failover: a replica that came back was never asked: {asked}")
    finally:
        balancer.end()
        for r in replicas:
            if r.process.poll() is None:
                r.end(signal.SIGKILL)


def throughput(name, replicas):
    balancer = Balancer(replicas)
    try:
        with Load(balancer.port) as load:
            time.sleep(1)
            begin, before = time.monotonic(), load.total("answers")
            time.sleep(SECONDS)
            rate = (load.total("answers") - before) * len(TEXTS) / (time.monotonic() - begin)
        print(f"{name}: {rate:.0f} texts/s", flush=True)
    finally:
        balancer.end()
        for r in replicas:
            drain(r)
    return rate


signal.signal(signal.SIGTERM, lambda *_: sys.exit("failover: ended by SIGTERM"))      # namespaces outlive this process otherwise
failover()
three = throughput("three replicas of one thread", [Replica(1) for _ in range(3)])
one = throughput("one replica of three threads", [Replica(3)])
print(f"three of one thread have {three / one:.2f} times the throughput of one of three, on {os.cpu_count()} processors")
