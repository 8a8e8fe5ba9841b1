"""serve_client.py — tests that start `roformer serve` and talk to it through raw sockets.  Python's standard library only.

Nothing here asserts how long something takes, or counts on it: PATIENCE only ends a test that would hang, and the server's
own limits of time are long unless a test is about them."""
import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

PATIENCE = float(os.environ.get("PATIENCE", 120.0))        # seconds


LONG = {f"ROFORMER_{name}": str(seconds) for name, seconds in (
    ("HEADER_TIMEOUT", 3600), ("BODY_TIMEOUT", 3600), ("WRITE_TIMEOUT", 3600), ("REQUEST_TIMEOUT", 86400),
    ("IDLE_TIMEOUT", 86400), ("WATCHDOG", 86400), ("DRAIN_TIMEOUT", 86400), ("MAX_WAIT", 0))}


class Answer:
    """One answer: status, headers (lower case), body."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:200]!r}"


def _chunks(data):
    """The content of a chunked body and what follows it, or None: it is not complete."""
    out = b""
    while True:
        line, found, rest = data.partition(b"\r\n")
        if not found:
            return None
        size = int(line.split(b";")[0], 16)
        if len(rest) < size + 2:
            return None
        out, data = out + rest[:size], rest[size + 2:]
        if not size:
            return out, data


def take_answer(data, method="GET", closed=False):
    """(answer, the bytes behind it), or None: it is not complete."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return None
    a = Answer(head, b"")
    if a.status == 100 or a.status == 204 or method == "HEAD":
        return a, rest
    if a.headers.get("transfer-encoding") == "chunked":
        both = _chunks(rest)
        if both:
            a.body = both[0]
        return both and (a, both[1])
    if "content-length" not in a.headers:
        a.body = rest
        return (a, b"") if closed else None
    size = int(a.headers["content-length"])
    a.body = rest[:size]
    return (a, rest[size:]) if len(rest) >= size else None


class Connection:
    """A raw connection; `read` gives the next answer, None at its end."""

    data = b""          # that came and was not read

    def __init__(self, server, receive_buffer=None):
        address = server.address
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        self.closed = False

    def send(self, data):
        """False: the other side has closed the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def more(self, least=1):
        """Receives `least` bytes or more; False: the connection ended before."""
        parts = []
        while least > 0 and not self.closed:
            try:
                got = self.socket.recv(1 << 18)
            except ConnectionResetError:
                got = b""
            parts.append(got)
            least -= len(got)
            self.closed = not got
        self.data += b"".join(parts)
        return not self.closed

    def read(self, method="GET"):
        while True:
            both = take_answer(self.data, method, self.closed) if self.data else None
            if both:
                self.data = both[1]
            if both or self.closed:
                return both and both[0]
            self.more(self.missing())

    def missing(self):
        """How many bytes of the answer are to come at least."""
        head, found, rest = self.data.partition(b"\r\n\r\n")
        size = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE) if found else None
        return max(1, int(size.group(1)) - len(rest)) if size else 1

    def read_all(self):
        self.more(1 << 60)
        return self.data

    def reset(self):
        """Closes the connection without the usual end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def request(method, path, body=None, headers=(), close=True):
    """The bytes of a request; a body that is not bytes is sent as JSON."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: test"]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1") + (body or b"")


class Server:
    """`roformer serve` on a free port; `with` ends it."""

    count, hasty = 0, False

    def __init__(self, program, *options, ready=True, unix=None, files=None, hasty=False):
        """hasty: its limits of time are so short that a client on a busy machine may need another try."""
        Server.count += 1
        self.hasty = hasty
        self.err_path = f"server{Server.count}.err"
        self.address = unix
        where = ["--unix", unix] if unix else ["--port", "0"]

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([program, "serve", *where, "--allowed-host", "test", "--allowed-host", "a", *options], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=err, env={**LONG, **os.environ},
                                            preexec_fn=limit if files else None)
        self.pid = self.process.pid
        self.wait_for(lambda: "listening on" in self.err(), "it listens")
        if not unix:
            found = re.search(r"listening on http://.*:(\d+)", self.err())
            self.address = ("127.0.0.1", int(found.group(1)))
        if ready:
            self.wait_for(lambda: self.ask("GET", "/health").status == 200, "it is healthy")

    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode} before {what}: {self.err()}")
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain until {what}: {self.err()[-2000:]}")
            time.sleep(0.02)

    def connect(self, **options):
        return Connection(self, **options)

    def raw(self, data, method="GET"):
        """The first answer to these bytes, or None, and whatever follows until the server closes."""
        with self.connect() as c:
            c.send(data)
            a = c.read(method)
            rest = c.read_all()
        return a, rest

    def ask(self, method, path, body=None, headers=()):
        """One request on a connection of its own."""
        end = time.monotonic() + PATIENCE
        while True:
            with self.connect() as c:
                c.send(request(method, path, body, headers))
                a = c.read(method)
            late = self.hasty and (a is None or a.status == 408)
            if not late or time.monotonic() > end:
                break
        if a is None:
            raise AssertionError(f"{method} {path}: no answer; {self.err()[-2000:]}")
        return a

    def send_post(self, connection, path, body):
        return connection.send(request("POST", path, body))

    def post(self, path, body, headers=()):
        return self.ask("POST", path, body, headers)

    def metric(self, name):
        """The value of a metric with its labels, for example te_queue_size{model="m"}."""
        for line in self.ask("GET", "/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no metric {name}")

    def accepted(self):
        """Requests that have reached a model, or have been refused by name."""
        return self.metric('te_request_count{method="single"}') + self.metric('te_request_count{method="batch"}')

    def resident(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        return self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"SIGTERM did not end the server: {self.err()[-2000:]}") from None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            code = self.stop()
            assert code == 0, f"exit {code}: {self.err()[-2000:]}"
        elif self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def until(condition, function):
    """Calls function(1), function(2), function(4), ... until condition() holds."""
    n, end = 1, time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, "in vain", n, "times")
        function(n)
        n = min(2 * n, 64)


def together(functions):
    """Runs functions in threads; their results, or the first exception."""
    results, failures = [None] * len(functions), []

    def body(i):
        try:
            results[i] = functions[i]()
        except BaseException as e:      # pylint: disable=broad-except
            failures.append(e)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]
    return results


@contextlib.contextmanager
def background(function):
    """Calls function again and again in a thread while the block runs; gives the list of its results."""
    results, stop = [], threading.Event()

    def body():
        while not stop.is_set():
            try:
                results.append(function())
            except OSError as e:
                results.append(e)

    thread = threading.Thread(target=body)
    thread.start()
    try:
        yield results
    finally:
        stop.set()
        thread.join()


# ---- tests -----------------------------------------------------------------------------------------------------------

TEXT = "the old river of paris"
SANITIZED = "SANITIZED" in os.environ
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def status(answer, *allowed):
    expect(answer is not None, "no answer, expected", allowed)
    expect(answer.status in allowed, "expected", allowed, "got", answer)
    return answer


def embed(server, text=TEXT):
    return status(server.post("/embed", {"inputs": text}), 200).body


def same_as_before(server, before):
    expect(embed(server) == before, "another vector than before")


def long_text(tokens):
    return " ".join(["river"] * tokens)


def failed(function):
    begin = time.monotonic()
    try:
        function()
        return False
    except Exception as e:      # pylint: disable=broad-except
        lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.name == function.__name__]
        print(f"FAIL: {function.__name__} (line {lines[-1]}): {type(e).__name__}: {str(e)[:1500]}", file=sys.stderr)
        return True
    finally:
        if "TIMES" in os.environ:
            print(f"{time.monotonic() - begin:6.2f} s  {function.__name__}", flush=True)


def main():
    """SCRIPT PROGRAM [WORD]...: runs the tests, or those whose name holds one of the words."""
    words = sys.argv[2:]
    chosen = [t for t in TESTS if not words or any(w in t.__name__ for w in words)]
    sys.exit(1 if sum([failed(t) for t in chosen]) else 0)
