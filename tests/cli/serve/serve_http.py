"""serve_http.py PROGRAM [WORD]... — requests that are slow, large or ambiguous; run by serve_http.sh."""
import json
import select
import signal
import socket
import sys
import time

from serve_client import (SANITIZED, Server, TEXT, embed, expect, long_text, main, request, same_as_before, status,
                          test)
from serve_framing import ROWS

program = sys.argv[1]


# ---- S1: slow clients ------------------------------------------------------------------------------------------------

def slow_clients(s):
    """Connections whose headers or bodies are not complete: sixty of each."""
    parts = [b"POST /embed HTTP/1.1\r\nHost: a\r\nX: " + b"a" * i for i in range(60)]
    parts += [b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{" + b" " * i for i in range(60)]
    clients = [s.connect() for _ in parts]
    for c, part in zip(clients, parts):
        c.send(part)
    return clients


@test
def s1_others_are_answered_beside_slow_clients():
    with Server(program, "-m", "slow") as s:
        before, clients = embed(s), slow_clients(s)
        for _ in range(20):
            expect(all(c.send(b"a") for c in clients), "a slow client was closed early")
            same_as_before(s, before)
        for c in clients:
            c.close()


@test
def s1_any_number_of_requests_comes_at_once():
    """libmicrohttpd asks for 128 events at a time, and forgot the requests if there were exactly as many."""
    ask = request("POST", "/embed", {"inputs": TEXT}, close=False)
    with Server(program, "-m", "slow") as s:
        expected = embed(s)
        clients = [s.connect() for _ in range(256)]
        for n in 127, 128, 129, 256:
            for c in clients[:n]:                         # they wait for events now
                c.send(ask)
                status(c.read(), 200)
            s.signal(signal.SIGSTOP)
            for c in clients[:n]:
                c.send(ask)
            s.signal(signal.SIGCONT)
            for c in clients[:n]:
                expect(status(c.read(), 200).body == expected, n)
        for c in clients:
            c.close()


@test
def s1_slow_clients_are_closed():
    limits = ("--header-timeout", "1", "--body-timeout", "1", "--write-timeout", "1", "--max-client-batch-size", "64",
              "--max-answer-bytes", "200000000")
    with Server(program, "-m", "slow", *limits, hasty=True) as s:
        before, clients = embed(s), slow_clients(s)
        left = clients
        while left:                                       # a byte each, until the server closes them
            left = [c for c in left if c.send(b"a")]
            time.sleep(0.05)
        for c in clients[60:]:
            c.read_all()
            expect(not c.data or b" 408 " in c.data, "a slow body:", c.data[:100])
        for c in clients:
            c.close()
        reader = s.connect(receive_buffer=4096)
        reader.send(request("POST", "/embed_all", {"inputs": [long_text(500)] * 64}))
        s.wait_for(lambda: s.metric("te_request_success{method=\"batch\"}") == 1, "the slow reader is closed")
        s.wait_for(lambda: s.metric("roformer_connections") <= 1, "all are closed")
        got = reader.read_all()
        expect(not got.endswith(b"]"), "the slow reader got all", len(got))
        reader.close()
        same_as_before(s, before)


# ---- S2, S3: sizes ---------------------------------------------------------------------------------------------------

@test
def s2_large_bodies_are_refused():
    with Server(program, "-m", "model", "--payload-limit", "100000") as s:
        before, memory = embed(s), s.resident()
        body = b'{"inputs":"' + b"a" * 600000 + b'"}'
        for headers in ([], ["Expect: 100-continue"]):
            status(s.post("/embed", body, headers), 413)
        with s.connect() as c:                            # no 100 Continue, no body
            c.send(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\nExpect: 100-continue\r\n\r\n")
            status(c.read(), 413)
        head = b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for chunk, n in ((b"1\r\na\r\n", 150000), (b"2710\r\n" + b"a" * 10000 + b"\r\n", 50)):
            a, rest = s.raw(head + chunk * n + b"0\r\n\r\n")
            status(a, 413)
            expect(not rest, "more than an answer", rest[:100])
        with s.connect() as c:                            # without an end
            c.send(head)
            while c.send(b"10000\r\n" + b"a" * 0x10000 + b"\r\n"):
                pass
        # at the limit
        whole = b'{"inputs":"a"' + b" " * (100000 - 14) + b"}"
        status(s.post("/embed", whole), 200)
        status(s.post("/embed", whole + b" "), 413)
        expect(s.resident() < memory + (64 << 20) or SANITIZED, "memory grew by", s.resident() - memory)
        same_as_before(s, before)


@test
def s3_large_headers_are_refused():
    with Server(program, "-m", "model") as s:
        before = embed(s)
        for size, allowed in ((9000, (414,)), (70000, (414,)), (3000000, (414, 431))):
            a, _ = s.raw(b"GET /" + b"a" * size + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            expect(a is None and size == 3000000 or a.status in allowed, size, a)
        for line, n in ((b"X: 1\r\n", 20000), (b"X: " + b"a" * 20000 + b"\r\n", 1), (b"a" * 100000 + b": b\r\n", 1)):
            a, _ = s.raw(b"GET /ping HTTP/1.1\r\nHost: a\r\n" + line * n + b"\r\n")
            expect(a is None or a.status == 431, n, a)
        status(s.ask("GET", "/ping?" + "a" * 8000), 200)
        same_as_before(s, before)


@test
def large_bodies_leave_a_worker_to_others():
    large = request("POST", "/tokenize", {"inputs": "the river [MASK] " * 110000})
    with Server(program, "-m", "model") as s:
        before, many = embed(s), [s.connect() for _ in range(6)]
        for c in many:
            c.send(large)
        select.select([c.socket for c in many], [], [])       # one is answered: all bodies have come
        same_as_before(s, before)
        answered = sum(bool(select.select([c.socket], [], [], 0)[0]) for c in many)
        expect(answered <= 3, "large ones that were answered first:", answered)
        first = many[0].read()
        for c in many[1:]:
            expect(c.read().body == first.body, "the answers differ")


# ---- S4: framing -----------------------------------------------------------------------------------------------------

def framed(s, data, answered):
    """The status of the first answer, or None, and all that the server sends; answered: the client waits for the answer before it
    closes its side."""
    with s.connect() as c:
        c.send(data)
        while answered and b"\r\n\r\n" not in c.data and c.more():
            pass
        c.socket.shutdown(socket.SHUT_WR)
        everything = c.read_all()
    return int(everything.split(b" ")[1]) if everything else None, everything


@test
def s4_unclear_framing_is_refused_and_nothing_after_it_is_read():
    with Server(program, "-m", "model") as s:
        before = embed(s)
        for data, allowed in ROWS:
            got, everything = framed(s, data, 200 in allowed and None not in allowed)
            while got is None and None not in allowed:    # a busy machine: it looked as if the client had left
                got, everything = framed(s, data, 200 in allowed and None not in allowed)
            expect(got in allowed, data[:200], "expected", allowed, "got", everything[:300])
            expect(everything.count(b"HTTP/1.1 200") == (got == 200), data[:200], "more was answered:", everything)
        same_as_before(s, before)


@test
def whole_headers_are_taken_however_they_arrive():
    many = b"".join(b"X-%d: %s\r\n" % (i, b"a" * (i % 200)) for i in range(100))
    with Server(program, "-m", "model") as s:
        plain = status(s.post("/embed", {"inputs": TEXT}), 200).body
        body = json.dumps({"inputs": TEXT}).encode()
        for line_end in b"\r\n", b"\n":
            data = (b"POST /embed HTTP/1.1\r\nHost: a\r\nCookie: a=b; c\r\n" + many + b"Content-Length: %d\r\n\r\n" % len(body)).replace(b"\r\n", line_end)
            for size in 1, 1000, len(data):
                with s.connect() as c:
                    for _ in range(2):
                        for at in range(0, len(data), size):
                            c.send(data[at:at + size])
                        c.send(body)
                        expect(status(c.read(), 200).body == plain, line_end, size)


@test
def answers_of_the_library_are_counted():
    with Server(program, "-m", "model", "--access-log", "own.log") as s:
        for data in (b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", b"GET /a?b HTTP/1.1\r\nHost\r\n\r\n",
                     b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", b"GET /c HTTP/1.1\r\nX: " + b"a" * 70000,
                     b"GET / HTTP/2.0\r\n\r\n", b"GET x\r\n\r\n"):
            s.raw(data)
        s.wait_for(lambda: s.metric("roformer_http_unreadable_total") == 6, "all are counted")
        expect(s.metric('roformer_http_responses_total{code="4xx"}') == 4, "answers of requests")
    with open("own.log", encoding="utf-8") as f:
        lines = [x for x in map(json.loads, f) if x["status"] >= 400 and x["path"] != "/health"]
    expect([(x["method"], x["path"], x["status"]) for x in lines] == [("-", "/embed", 400), ("-", "/a", 400), ("POST", "/embed", 400),
                                                                      ("-", "/c", 431)], lines)


@test
def a_compressed_body_is_refused_and_a_whole_uri_is_a_path():
    with Server(program, "-m", "model") as s:
        plain = status(s.post("/embed", {"inputs": TEXT}), 200).body
        for coding in ("identity", "Identity"):
            expect(status(s.post("/embed", {"inputs": TEXT}, ["Content-Encoding: " + coding]), 200).body == plain, coding)
        for coding in ("gzip", "br", "identity, gzip"):
            a = status(s.post("/embed", {"inputs": TEXT}, ["Content-Encoding: " + coding]), 415)
            expect(coding in a.json()["error"], a)
        expect(status(s.post("HTTP://host:1/embed?a=b", {"inputs": TEXT}), 200).body == plain, "a whole URI")
        status(s.ask("GET", "http://host"), 200)
        status(s.ask("GET", "http:///"), 200)
        status(s.ask("GET", "ftp://host/ping"), 404)


@test
def s4_requests_in_a_row_are_answered_in_order():
    with Server(program, "-m", "model") as s:
        bodies = [{"inputs": f"the river {word}"} for word in ("old", "new", "red", "of", "in")]
        alone = [s.post("/embed", b).body for b in bodies]
        with s.connect() as c:
            c.send(b"".join(request("POST", "/embed", b, close=False) for b in bodies))
            for a in alone:
                expect(c.read().body == a, "another answer in a pipeline")
            c.send(b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in json.dumps(bodies[0]).encode():
                c.send(b"1;x=y\r\n" + bytes([byte]) + b"\r\n")
            c.send(b"0\r\nTrailer: x\r\n\r\n" + request("GET", "/ping"))
            expect(c.read().body == alone[0], "another answer to chunks")
            status(c.read(), 200)
            expect(not c.read_all(), "more than was asked for")
        with s.connect() as c:                            # a body that waits for 100
            body = json.dumps(bodies[1]).encode()
            c.send(b"POST /embed HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            status(c.read(), 100)
            c.send(body)
            expect(c.read().body == alone[1], "another answer after 100")
        with Server(program, "-m", "model", "--max-connection-requests", "3") as few, few.connect() as c:
            for i in range(3):
                c.send(request("GET", "/ping", close=False))
                a = status(c.read(), 200)
                expect((a.headers.get("connection", "").lower() == "close") == (i == 2), i, a)
            expect(not c.read_all(), "open after --max-connection-requests")


@test
def methods_head_options_cors():
    with Server(program, "-m", "model") as s:
        a = status(s.ask("HEAD", "/info"), 200)
        expect(a.headers["content-length"] == str(len(s.ask("GET", "/info").body)), a)
        status(s.ask("HEAD", "/embed"), 405)
        for method in ("OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "X" * 40, "PO\"ST"):
            a = status(s.ask(method, "/embed"), 405)
            expect(a.headers["allow"] == "POST", a)
            expect(s.ask(method, "/nowhere").status == 404, method)
        expect(s.ask("PUT", "/").headers["allow"] == "POST, GET", "Allow of /")
        expect("access-control-allow-origin" not in s.ask("GET", "/ping").headers, "CORS without being asked")
    with Server(program, "-m", "model", "--cors-allow-origin", "https://example.org") as s:
        a = status(s.ask("OPTIONS", "/embed", headers=["Origin: https://example.org",
                                                       "Access-Control-Request-Method: POST"]), 204)
        expect(a.headers["access-control-allow-origin"] == "https://example.org", a)
        expect("POST" in a.headers["access-control-allow-methods"], a)
        for path in ("/embed", "/nowhere"):
            expect("access-control-allow-origin" in s.post(path, {"inputs": "a"}).headers, "an answer without CORS")


# ---- S9: paths -------------------------------------------------------------------------------------------------------

@test
def arguments_of_a_path_are_not_read():
    with Server(program, "-m", "model") as s:
        for n in 1, 600, 1500:
            path = "/ping?" + "&".join(["a=b"] * n)
            status(s.ask("GET", path), 200)
            status(s.post(path.replace("ping", "embed"), {"inputs": "a"}), 200)
        status(s.ask("GET", "/ping?" + "a" * 9000), 414)
        same_as_before(s, embed(s))


@test
def characters_are_counted():
    with Server(program, "-m", "model", "-m", "pairs") as s:
        for path, body, n in (("/embed", {"inputs": "\u00e9\u00e9\u6f22"}, 3), ("/embed", {"inputs": ["a", "\U0001f600"]}, 2),
                              ("/rerank", {"query": "\u00e9", "texts": ["\u6f22\u6f22"], "model": "pairs"}, 3)):
            a = status(s.post(path, body), 200)
            expect(a.headers["x-compute-characters"] == str(n), path, body, a)


def named(s, host, path="/embed", more=()):
    lines = [f"POST {path} HTTP/1.1" if path == "/embed" else f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *more,
             "Content-Length: 14", "", '{"inputs":"a"}']
    return s.raw("\r\n".join(lines).encode())[0]


@test
def pages_of_other_sites_cannot_use_a_server_of_this_machine():
    own = ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]", "[::1]:8080", "test"]
    foreign = ["attacker.example", "attacker.example:8080", "localhost.attacker.example", "127.0.0.1.example", "[::2]", "10.0.0.1"]
    with Server(program, "-m", "model") as s:
        for host in own:
            status(named(s, host), 200)
        for host in foreign:
            a = status(named(s, host), 403)
            expect("--allowed-host" in a.json()["error"], a)
            for path in "/health", "/ping":
                status(named(s, host, path), 200)
            for path in "/info", "/v1/models", "/ui", "/metrics", "/":
                status(named(s, host, path), 403)
        for site, code in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
            status(named(s, "localhost", more=[f"Sec-Fetch-Site: {site}", "Origin: http://other.example"]), code)
    with open("one.txt", "w", encoding="ascii") as f:
        f.write("secret\n")
    with Server(program, "-m", "model", "--api-key-file", "one.txt") as s:
        status(named(s, "attacker.example", more=["Authorization: Bearer secret"]), 200)
    for options in (["--host", "0.0.0.0"], ["--allowed-host", "attacker.example"], ["--allowed-host", "*"]):
        with Server(program, "-m", "model", *options) as s:
            status(named(s, "attacker.example:8080"), 200)
    with Server(program, "-m", "model", "--cors-allow-origin", "http://other.example") as s:
        for origin, code in (("http://other.example", 200), ("http://third.example", 403)):
            status(named(s, "localhost", more=["Sec-Fetch-Site: cross-site", f"Origin: {origin}"]), code)


@test
def s9_only_the_routes_themselves_are_found():
    with Server(program, "-m", "model") as s:
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//", "//ping", "/ping/", "/./ping", "/embed/..",
                     "/docs/../ping", "\\ping", "/\\..\\ping", "/PING", "/p%69ng", "ping", "/ping;x", "http://a//ping",
                     "*", "/model.safetensors", "/config.json"):
            status(s.ask("GET", path), 404, 400)
        status(s.ask("GET", "/ping?x=/../..#y"), 200)


if __name__ == "__main__":
    main()
