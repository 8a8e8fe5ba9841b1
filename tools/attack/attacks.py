"""attacks.py — what hostile or broken clients do to a server, each as a bounded function of its address; used by attack.py,
proxies.py and soak.py. Loopback only: every address is (127.0.0.1, port)."""
import json
import os
import random
import socket
import struct
import time

from serve_framing import ROWS

SHIPPED = os.environ["MODELS"]
MODELS = ("-m", f"sentences={SHIPPED}/roformer-small-en-sentences", "-m", f"words={SHIPPED}/roformer-small-en", "-m", "causal=slow-causal")


def connect(address, seconds=30.0, receive_buffer=None):
    if address[0] != "127.0.0.1":
        raise ValueError(f"expected an address of this machine, got {address}")
    s = socket.socket()
    if receive_buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    s.settimeout(seconds)
    s.connect(address)
    return s


def head(path, length, more=()):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *more, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(path, body, more=()):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return head(path, len(body), more) + body


def send(s, data):
    """False: the server has closed the connection."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def receive(s, most=1 << 26):
    """Everything until the server closes, or what came within the time of the socket."""
    parts, n = [], 0
    try:
        while n < most:
            got = s.recv(1 << 16)
            if not got:
                break
            parts.append(got)
            n += len(got)
    except OSError:
        pass
    return b"".join(parts)


def reset(s):
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    s.close()


def whole(address, data, seconds=30.0):
    """One request on a connection of its own; all that comes back."""
    with connect(address, seconds) as s:
        send(s, data)
        return receive(s)


CLOSE = ("Connection: close",)
LONG = "river " * 400000

# Requests that cost much if nothing bounds them: name -> bytes. The server may refuse or compute them; it has the models of MODELS.
HEAVY = {
    "200 masks, top_k 10^6": post("/fill_mask", {"model": "words", "inputs": "[MASK] " * 200, "top_k": 1000000}, CLOSE),
    "510 masks in 32 texts": post("/fill_mask", {"model": "words", "inputs": ["[MASK] " * 510] * 32, "top_k": 1000000}, CLOSE),
    "vectors of all tokens": post("/embed_all", {"inputs": ["river " * 500] * 32}, CLOSE),
    "60 masks, top_k 1000, which is allowed": post("/fill_mask", {"model": "words", "inputs": "[MASK] " * 60, "top_k": 1000}, CLOSE),
    "sparse vectors": post("/embed_sparse", {"model": "words", "inputs": ["river " * 500] * 32}, CLOSE),
    "prompt of 400,000 tokens": post("/v1/completions", {"model": "causal", "prompt": LONG, "max_tokens": 3}, CLOSE),
    "generation of 4,000 tokens": post("/generate", {"model": "causal", "inputs": "the", "parameters": {"max_new_tokens": 4000}}, CLOSE),
    "2,048 texts": post("/v1/embeddings", {"input": ["a dog barks in the old city"] * 2048}, CLOSE),
    "a text of 2.4 MB": post("/tokenize", {"inputs": LONG}, CLOSE),
    "10^6 token ids": post("/decode", {"ids": [5] * 1000000}, CLOSE),
    "brackets 100,000 deep": post("/embed", b'{"inputs":' + b"[" * 100000 + b"]" * 100000 + b"}", CLOSE),
    "a number of 100,000 digits": post("/embed", b'{"inputs":' + b"9" * 100000 + b"}", CLOSE),
    "100,000 members": post("/embed", b"{" + b",".join(b'"a%d":0' % i for i in range(100000)) + b"}", CLOSE),
    "NUL and broken UTF-8": post("/embed", b'{"inputs":"\x00\xff\xc0\x80"}', CLOSE),
    "600 query arguments": b"GET /ping?" + b"&".join(b"a%d=b" % i for i in range(600)) + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "a header of 24 kB": b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"a" * 24000 + b"\r\n\r\n",
    "600 cookies": b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: " + b"; ".join(b"a%d=b" % i for i in range(600)) + b"\r\n\r\n",
    "a path of 24 kB": b"GET /" + b"a" * 24000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "another Host": post("/embed", {"inputs": "a"}, CLOSE).replace(b"Host: localhost", b"Host: attacker.example"),
    "a gzip bomb's header": post("/embed", b"\x1f\x8b" + b"\0" * 100, (*CLOSE, "Content-Encoding: gzip")),
    "a body of 2^63 bytes": head("/embed", 2**63 - 1),
    "chunks without an end": b"POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 300,
}


def heavy(address, seconds=30.0):
    whole(address, random.choice(list(HEAVY.values())), seconds)


def leave(address, seconds=0.3):
    """Sends a heavy request and is gone, at a random time."""
    s = connect(address)
    send(s, random.choice(list(HEAVY.values())))
    time.sleep(random.uniform(0, seconds))
    reset(s)


def framing(address, seconds=5.0):
    """A request by hand."""
    with connect(address, seconds) as s:
        send(s, random.choice(ROWS)[0])
        s.shutdown(socket.SHUT_WR)
        receive(s)


def silent(address, n=1100, seconds=3.0):
    """Connections that send nothing; those that the server closes are opened again, at most 2,000 a second."""
    open_ = []
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            open_ += [connect(address) for _ in range(min(100, n - len(open_)))]
            alive = []
            for s in open_:
                s.setblocking(False)
                try:
                    closed = not s.recv(1)
                except BlockingIOError:
                    closed = False
                except OSError:
                    closed = True
                if closed:
                    s.close()
                else:
                    alive.append(s)
            open_ = alive
            time.sleep(0.05)
    finally:
        for s in open_:
            s.close()


def slow_bodies(address, n=100, size=2000000, seconds=5.0):
    """Clients that send most of a large body at once and the rest a byte at a time."""
    clients = [connect(address) for _ in range(n)]
    for s in clients:
        send(s, head("/embed", size) + b" " * (size - 1000))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for s in clients:
            send(s, b" ")
        time.sleep(0.5)
    for s in clients:
        s.close()


def slow_readers(address, n=20, seconds=5.0):
    """Clients that do not read a large answer."""
    clients = [connect(address, receive_buffer=4096) for _ in range(n)]
    data = post("/v1/embeddings", {"input": ["a dog"] * 300})
    for s in clients:
        send(s, data)
    time.sleep(seconds)
    for s in clients:
        reset(s)


def one_of_all(address):
    """One attack, chosen at random."""
    kind = random.choice([heavy, leave, leave, framing, framing, framing, silent, slow_bodies, slow_readers])
    kind(address)
    return kind.__name__
