"""serve_faults.py PROGRAM [WORD]... — faults that clients and machines cause `roformer serve`; run by serve_faults.sh,
which makes the folders `model` (masked), `slow` (masked, much larger), `causal`, `pairs`, `labels`, `translate`.

With words: only the tests whose name holds one of them.  Every test ends with a server that answers as before."""
import json
import os
import shutil
import signal
import socket
import struct
import sys
import time

from serve_client import Connection, Server, background, request, together

program, words = sys.argv[1], sys.argv[2:]
sanitized = "SANITIZED" in os.environ
TESTS = []
TEXT = "the old river of paris"


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


# ---- S1: slow clients ------------------------------------------------------------------------------------------------

@test
def s1_slow_clients_are_closed_and_others_answered():
    limits = ("--header-timeout", "1", "--body-timeout", "1", "--write-timeout", "1", "--max-client-batch-size", "64")
    with Server(program, "-m", "slow", *limits) as s:
        before = embed(s)
        slow = [(s.connect(), b"POST /embed HTTP/1.1\r\nHost: a\r\nX: " + b"a" * i) for i in range(60)]
        slow += [(s.connect(), b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{" + b" " * i)
                 for i in range(60)]
        for c, first in slow:
            c.send(first)
        left, answers = list(slow), 0
        while left:                                       # a byte each, until the server closes them
            left = [(c, first) for c, first in left if c.send(b"a")]
            same_as_before(s, before)
            answers += 1
            time.sleep(0.05)
        expect(answers, "nobody else was answered meanwhile")
        for c, first in slow[60:]:
            c.read_all()
            expect(not c.data or b" 408 " in c.data, "a slow body:", c.data[:100])
        reader = s.connect(receive_buffer=4096)
        reader.send(request("POST", "/embed_all", {"inputs": [long_text(500)] * 64}))
        s.wait_for(lambda: s.metric("te_request_success{method=\"batch\"}") == 1, "the slow reader is closed")
        s.wait_for(lambda: s.metric("roformer_connections") <= 1, "all are closed")
        got = reader.read_all()
        expect(not got.endswith(b"]"), "the slow reader got all", len(got))
        for c, _ in slow:
            c.close()
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
        expect(s.resident() < memory + (64 << 20) or sanitized, "memory grew by", s.resident() - memory)
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


# ---- S4: framing -----------------------------------------------------------------------------------------------------

def framing_rows():
    body = b'{"inputs":"a"}'
    post = b"POST /embed HTTP/1.1\r\nHost: a\r\n"
    hidden = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n"
    return [
        (post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        (post + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden, 400),
        (post + b"Content-Length: 14\r\nContent-Length: 14\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: 14\r\nContent-Length: 0\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: 14, 14\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: +14\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: -1\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: 0x0e\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: 14a\r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: \r\n\r\n" + body + hidden, 400),
        (post + b"Content-Length: 18446744073709551616\r\n\r\n" + hidden, (400, 413)),
        (post + b"Content-Length: 99999999999999999999999999\r\n\r\n" + hidden, (400, 413)),
        (post + b"Content-Length: 9223372036854775807\r\n\r\n" + hidden, 413),
        (post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        (post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        (post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + hidden, 400),
        (post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + body + hidden, 400),
        (post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body + hidden, (400, 413)),
        (post + b"Transfer-Encoding: chunked\r\n\r\ne\r\n" + body + b"XX0\r\n\r\n" + hidden, 400),
        (b"POST /embed HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        (b"GET /ping HTTP/1.1\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (post[:-2] + b"\r\nContent-Length : 14\r\n\r\n" + body + hidden, 400),
        (b"GET /ping HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\nHost: a\n\n", (200, 400)),
        (b"GET /ping HTTP/3.0\r\nHost: a\r\n\r\n", (400, 505)),
        (b"GET /ping HTTP/1.1x\r\nHost: a\r\n\r\n", (400, 505)),
        (b"GET /ping\r\n\r\n", (None, 400)),
        (b"GET\r\n\r\n", (None, 400)),
        (b"GET /%00ping HTTP/1.1\r\nHost: a\r\n\r\n", (400, 404)),
        (b"GET /ping%00 HTTP/1.1\r\nHost: a\r\n\r\n", (400, 404)),
        (b"GET /ping\x00 HTTP/1.1\r\nHost: a\r\n\r\n", (None, 200, 400, 404)),
        (b"GET /ping HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", (None, 200, 400)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 404, 505)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n", (None, 400)),
        (b"\x00" * 100 + b"\r\n\r\n", (None, 400)),
        (b"\r\n" * 100 + b"x\r\n\r\n", (None, 400)),
    ]


@test
def s4_unclear_framing_is_refused_and_nothing_after_it_is_read():
    with Server(program, "-m", "model", "--header-timeout", "2", "--body-timeout", "2") as s:
        before = embed(s)
        for data, allowed in framing_rows():
            allowed = allowed if isinstance(allowed, tuple) else (allowed,)
            with s.connect() as c:
                c.send(data)
                c.socket.shutdown(socket.SHUT_WR)
                everything = c.read_all()
                got = int(everything.split(b" ")[1]) if everything else None
                expect(got in allowed, data[:200], "expected", allowed, "got", everything[:300])
                expect(everything.count(b"HTTP/1.1 200") == (got == 200), data[:200], "more was answered:", everything)
        same_as_before(s, before)


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
        expect(s.ask("PUT", "/").headers["allow"] == "GET, POST", "Allow of /")
        expect("access-control-allow-origin" not in s.ask("GET", "/ping").headers, "CORS without being asked")
    with Server(program, "-m", "model", "--cors-allow-origin", "https://example.org") as s:
        a = status(s.ask("OPTIONS", "/embed", headers=["Origin: https://example.org",
                                                       "Access-Control-Request-Method: POST"]), 204)
        expect(a.headers["access-control-allow-origin"] == "https://example.org", a)
        expect("POST" in a.headers["access-control-allow-methods"], a)
        for path in ("/embed", "/nowhere"):
            expect("access-control-allow-origin" in s.post(path, {"inputs": "a"}).headers, "an answer without CORS")


# ---- S5 to S9: bodies and paths --------------------------------------------------------------------------------------

@test
def s5_numbers_out_of_range_are_refused_by_name():
    with Server(program, "-m", "causal", "-m", "model") as s:
        api, seen = s.ask("GET", "/openapi.json").json(), 0
        for path, methods in api["paths"].items():
            if "post" not in methods or path == "/":
                continue
            schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            seen += numbers_of(s, path, schema, [])
        expect(seen > 50, "numbers tried:", seen)
        a = s.post("/v1/completions", b'{"prompt":"the","max_tokens":9223372036854775808}')
        status(a, 400, 422)


VALUES = ["1e999", "-1e999", "-1", "9223372036854775808", "9223372036854775807", "-9223372036854775808", "1e300",
          "NaN", "Infinity", "0x10", '"1"', "true", "[]", "{}", "1.5e-320"]


def some_of(schema):
    """A value that the schema allows."""
    if "oneOf" in schema:
        return some_of(schema["oneOf"][0])
    if schema.get("type") == "object":
        return {k: some_of(schema["properties"][k]) for k in schema.get("required", [])}
    if schema.get("type") == "array":
        return [some_of(schema["items"])]
    return 1 if schema.get("type") in ("integer", "number") else schema.get("enum", ["the"])[0]


def numbers_of(s, path, schema, where):
    seen = 0
    for name, one in schema.get("properties", {}).items():
        if one.get("type") == "object":
            seen += numbers_of(s, path, one, [*where, (schema, name)])
        if one.get("type") not in ("integer", "number"):
            continue
        for value in VALUES:
            body = some_of(schema)
            body[name] = "HERE"
            for outer, member in reversed(where):
                whole = some_of(outer)
                whole[member] = body
                body = whole
            a = s.post(path, json.dumps(body).replace('"HERE"', value).encode())
            fits = value in ("9223372036854775807", "1e300", "1.5e-320")
            expect(a.status in (400, 422) or (fits and a.status in (200, 404, 424)), path, name, value, a)
            expect(a.status != 422 or f"`{name}`" in a.body.decode() or a.status == 400 or fits, path, name, value, a)
            seen += 1
    return seen


BAD_JSON = [b"", b" ", b"nul", b"{", b"[]", b'"a"', b"{]", b'{"inputs":"a"}}', b'{"inputs":"a"', b"{'inputs':'a'}",
            b'{"inputs":"a",}', b'{"inputs":"a","inputs":"b"}', b'{"inputs":NaN}', b'{"inputs":1e999}',
            b'{"inputs":"a","x":1e999}', b"[" * 100000, b'{"inputs":' + b"[" * 3000 + b"]" * 3000 + b"}",
            b'{"a":' * 3000 + b"1" + b"}" * 3000, b'\xef\xbb\xbf{"inputs":"a"}', b'{"inputs":"\xff"}',
            b'{"inputs":"\xc0\xaf"}', b'{"inputs":"\xed\xa0\x80"}', b'{"inputs":"\xf4\x90\x80\x80"}',
            b'{"inputs":"\\u0000"}', b'{"inputs":"\\ud800"}', b'{"inputs":"\\udc00\\ud800"}', b'{"inputs":"a\x00b"}',
            b'{"inputs":"a\nb"}', b'{"in\xffputs":"a"}', b'\x00{"inputs":"a"}', b'{"inputs":"a"}\x00']


@test
def s5_s6_bodies_that_are_not_json_are_400():
    with Server(program, "-m", "model") as s:
        before = embed(s)
        for body in BAD_JSON:
            a = status(s.post("/embed", body), 400)
            expect("error" in a.json(), a)
        status(s.post("/embed", b'{"inputs":"a","unknown":' + b"[" * 1000 + b"]" * 1000 + b"}"), 200)
        status(s.post("/embed", b"inputs=a", ["Content-Type: application/x-www-form-urlencoded"]), 400)
        status(s.post("/embed", {"inputs": TEXT}, ["Content-Type: text/plain"]), 200)
        same_as_before(s, before)


@test
def s5_wrong_types_are_422_by_name():
    with Server(program, "-m", "model") as s:
        for path, name, good in (("/embed", "inputs", "a"), ("/embed_all", "inputs", "a"), ("/tokenize", "inputs", "a"),
                                 ("/v1/embeddings", "input", "a"), ("/decode", "ids", [1]),
                                 ("/fill_mask", "inputs", "[MASK]")):
            status(s.post(path, {name: good}), 200)
            for bad in (None, True, 1, 1.5, {}, [None], [True], [1.5], [[["a"]]], ["a", 1], [["a"]]):
                a = status(s.post(path, {name: bad}), 422)
                expect(f"`{name}`" in a.body.decode(), path, bad, a)


@test
def s7_limits_of_inputs():
    with Server(program, "-m", "model") as s:
        for bad, code in (([], 400), ("", 400), (["a", ""], 400), (["a"] * 33, 422), ([[1]] * 33, 422), ([[]], 422)):
            status(s.post("/embed", {"inputs": bad}), code)
        status(s.post("/embed", {"inputs": ["a"] * 32}), 200)
        many = long_text(100)
        status(s.post("/embed", {"inputs": many}), 200)
        expect("64" in status(s.post("/embed", {"inputs": many, "truncate": False}), 422).body.decode(), "the limit")
        for dimensions, code in ((0, 422), (33, 422), (32, 200), (1, 200)):
            status(s.post("/embed", {"inputs": "a", "dimensions": dimensions}), code)
    with Server(program, "-m", "model", "--no-auto-truncate") as s:
        status(s.post("/embed", {"inputs": many}), 422)
        status(s.post("/embed", {"inputs": many, "truncate": True}), 200)


@test
def s8_what_a_model_cannot_do_is_424():
    cases = {"model": {"/predict", "/rerank", "/v1/rerank", "/v1/completions", "/generate", "/translate", "/search"},
             "causal": {"/predict", "/rerank", "/fill_mask", "/translate", "/search"},
             "pairs": {"/embed", "/embed_all", "/similarity", "/v1/embeddings", "/fill_mask", "/v1/completions"},
             "labels": {"/embed", "/rerank", "/fill_mask", "/v1/completions", "/translate"},
             "translate": {"/embed", "/predict", "/rerank", "/fill_mask", "/v1/completions"}}
    body = {"inputs": "a [MASK]", "input": "a", "query": "a", "texts": ["b"], "documents": ["b"], "prompt": "a",
            "q": "a", "source": "en", "target": "de"}
    for model, paths in cases.items():
        with Server(program, "-m", model) as s:
            for path in sorted(paths):
                one = dict(body, inputs={"source_sentence": "a", "sentences": ["b"]}) if path == "/similarity" else body
                a = status(s.post(path, one), 424)
                expect("error" in a.json() or "message" in a.json(), a)
            status(s.post("/v1/embeddings", {"input": "a", "model": "other"}), 404)
            status(s.post("/tokenize", {"inputs": "a"}), 200)
    with Server(program, "-m", "pairs") as s:
        status(s.post("/rerank", {"query": "a", "texts": ["b", "c"]}), 200)


@test
def s9_only_the_routes_themselves_are_found():
    with Server(program, "-m", "model") as s:
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//", "//ping", "/ping/", "/./ping", "/embed/..",
                     "/docs/../ping", "\\ping", "/\\..\\ping", "/PING", "/p%69ng", "ping", "/ping;x", "http://a/ping",
                     "*", "/model.safetensors", "/config.json"):
            status(s.ask("GET", path), 404, 400)
        status(s.ask("GET", "/ping?x=/../..#y"), 200)


# ---- S11, S12: connections and clients that leave --------------------------------------------------------------------

@test
def s11_connections_above_the_limit_are_503():
    with Server(program, "-m", "model", "--max-connections", "20", "--header-timeout", "5") as s:
        before = embed(s)
        old = s.connect()
        old.send(request("GET", "/ping", close=False))
        status(old.read(), 200)
        busy = [s.connect() for _ in range(30)]
        for c in busy:
            c.send(b"GET /ping HTTP/1.1\r\nHo")
        with s.connect() as c:
            c.send(request("GET", "/ping", close=False))
            a = status(c.read(), 503)
            expect(a.headers["connection"].lower() == "close" and "error" in a.json(), a)
            expect(not c.read_all(), "it was not closed")
        for c in busy:
            c.close()
        s.wait_for(lambda: s.ask("GET", "/ping").status == 200, "there is space again")
        same_as_before(s, before)
        old.close()


@test
def s11_the_server_recovers_when_descriptors_run_out():
    with Server(program, "-m", "model", "--header-timeout", "2", files=64) as s:
        before, descriptors = embed(s), s.descriptors()
        many = [s.connect() for _ in range(100)]
        for c in many:
            c.send(b"GET /ping HTTP/1.1\r\n")
        same_as_before(s, before)                         # after the header timeout of the others
        for c in many:
            c.close()
        s.wait_for(lambda: s.descriptors() <= descriptors, "the descriptors are closed")
        same_as_before(s, before)


@test
def ten_thousand_connections_opened_and_dropped():
    with Server(program, "-m", "model") as s:
        before, descriptors, memory = embed(s), s.descriptors(), s.resident()
        for i in range(2000 if sanitized else 10000):
            c = s.connect()
            if i % 3 == 1:
                c.send(b"GET /ping HTTP/1.1\r\n"[:1 + i % 20])
            if i % 3 == 2:
                c.reset()
            c.close()
        s.wait_for(lambda: s.descriptors() <= descriptors, "the descriptors are closed")
        expect(s.resident() < memory + (32 << 20) or sanitized, "memory grew by", s.resident() - memory)
        same_as_before(s, before)


@test
def s12_a_client_that_leaves_is_dropped_before_its_turn():
    jobs = (("slow", "/embed", {"inputs": [long_text(500)] * 32}),
            ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32}),
            ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}}),
            ("slow-causal", "/v1/completions", {"prompt": "the", "max_tokens": 4000, "temperature": 0, "stream": True}))
    for model, path, body in jobs:
        with Server(program, "-m", model) as s:
            status(s.post("/tokenize", {"inputs": "a"}), 200)
            waiting = [s.connect() for _ in range(12)]
            for c in waiting:
                c.send(request("POST", path, body))
            s.wait_for(lambda: s.metric("roformer_inputs") >= len(waiting), "all are accepted")
            for i, c in enumerate(waiting):
                if i % 2:
                    c.reset()
                c.close()
            s.wait_for(lambda: s.metric("roformer_inputs") == 0, "nobody waits")
            s.wait_for(lambda: s.metric('te_request_failure{err="dropped"}') >= 8, f"{path}: they are counted")


@test
def a_client_that_leaves_a_stream():
    with Server(program, "-m", "slow-causal") as s:
        body = {"prompt": "the", "max_tokens": 4000, "temperature": 0, "stream": True}
        for i in range(6):
            c = s.connect()
            c.send(request("POST", "/v1/completions", body))
            while b"data: " not in c.data:
                expect(c.more(), "the stream ended")
            c.reset() if i % 2 else c.close()
        s.wait_for(lambda: s.metric("roformer_inputs") == 0, "nobody waits")
        s.wait_for(lambda: s.metric('te_request_failure{err="dropped"}') == 6, "they are counted")
        events = status(s.post("/v1/completions", dict(body, max_tokens=3)), 200).body
        expect(events.endswith(b"data: [DONE]\n\n"), events[-200:])
        s.wait_for(lambda: s.metric('te_request_success{method="single"}') == 1, "the other one is counted")


# ---- S13, S15, S17, S18 ----------------------------------------------------------------------------------------------

def poison(folder, name, row):
    """Row `row` of a matrix becomes finite numbers whose sum is not."""
    path = folder + "/model.safetensors"
    with open(path, "r+b") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        entry = json.loads(f.read(size))[name]
        columns = entry["shape"][1]
        f.seek(8 + size + entry["data_offsets"][0] + 4 * columns * row)
        f.write(struct.pack("<f", 3e38) * columns)


def word_number(folder, word):
    with open(folder + "/vocab.txt", encoding="utf-8") as f:
        return f.read().split("\n").index(word)


@test
def s13_what_is_not_finite_is_424():
    shutil.copytree("model", "poisoned")
    poison("poisoned", "roformer.embeddings.word_embeddings.weight", word_number("poisoned", "paris"))
    with Server(program, "-m", "poisoned") as s:
        for path, body in (("/embed", {"inputs": "in paris"}), ("/embed", {"inputs": ["a", "in paris"]}),
                           ("/v1/embeddings", {"input": "in paris"}), ("/embed_all", {"inputs": "in paris"}),
                           ("/fill_mask", {"inputs": "paris [MASK]"}),
                           ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["in paris"]}})):
            a = status(s.post(path, body), 424)
            expect(b"finite" in a.body, path, a)
        expect(s.metric('te_request_failure{err="missing_values"}') == 6, "they are counted")
        status(s.post("/embed", {"inputs": "in london"}), 200)


@test
def s15_a_request_without_memory_is_503_alone():
    if sanitized:
        return                                            # a sanitizer needs the address space
    import resource
    with Server(program, "-m", "slow") as s:
        before = embed(s)
        with open(f"/proc/{s.pid}/statm", encoding="ascii") as f:
            size = int(f.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        old = resource.prlimit(s.pid, resource.RLIMIT_AS)
        resource.prlimit(s.pid, resource.RLIMIT_AS, (size + (8 << 20), old[1]))
        status(s.post("/embed_all", {"inputs": [long_text(500)] * 32}), 503)
        resource.prlimit(s.pid, resource.RLIMIT_AS, old)
        same_as_before(s, before)
        status(s.post("/embed_all", {"inputs": [long_text(500)] * 32}), 200)


@test
def s17_api_keys():
    with open("keys", "w", encoding="ascii") as f:
        f.write("# keys\nfirst-key\n\n  second.key=  \n")
    with Server(program, "-m", "model", "--api-key-file", "keys") as s:
        for value, code in ((None, 401), ("first-key", 401), ("Bearer ", 401), ("Bearer first-ke", 401),
                            ("Bearer first-key2", 401), ("Bearer # keys", 401), ("Bearer " + "a" * 5000, 401),
                            ("Basic first-key", 401), ("Bearer first-key", 200), ("bearer second.key=", 200)):
            a = status(s.post("/embed", {"inputs": "a"}, [f"Authorization: {value}"] if value else []), code)
            expect(code == 200 or (a.headers["www-authenticate"] == "Bearer" and "error" in a.json()), a)
        for value, codes in (("second.key\0", (400, 401)), ("\0first-key", (400, 401)), ("first-key\0x", (200, 400, 401))):
            status(s.post("/embed", {"inputs": "a"}, [f"Authorization: Bearer {value}"]), *codes)
        for path in ("/health", "/ping", "/metrics", "/docs", "/openapi.json"):
            status(s.ask("GET", path), 200)
        for path in ("/info", "/v1/models"):
            status(s.ask("GET", path), 401)


@test
def s18_logs_are_escaped_and_pages_run_no_scripts():
    strange = '/<script>"\\\x1b[31m%0a'
    for style in ("json", "common"):
        log = f"access.{style}"
        with Server(program, "-m", "model", "--access-log", log, "--log-format", style) as s:
            s.raw(f"GET {strange} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode("latin-1"))
            s.raw(b'G"E\x01T /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-request-id: a"b\r\n\r\n')
            a = status(s.ask("GET", "/docs"), 200)
            expect("default-src 'self'" in a.headers["content-security-policy"], a)
            expect(a.headers["x-content-type-options"] == "nosniff", a)
            status(s.post("/tokenize", {"inputs": "<script>alert(1)</script>\x1b[31m"}), 200)
            status(s.ask("GET", "/ping", headers=["x-request-id: id-1", "traceparent: 00-1-2-01"]), 200)
        with open(log, "rb") as f:
            lines = f.read().decode("ascii").splitlines()
        expect(all(c >= " " for line in lines for c in line), "control characters in the log", lines)
        expect(not any("alert" in line for line in lines), "a text in the log", lines)
        if style == "json":
            records = [json.loads(line) for line in lines]
            expect(records[-1]["id"] == "id-1" and records[-1]["status"] == 200, records[-1])
        else:
            expect(all(line.count('"') == 2 for line in lines), lines)


# ---- S14: ends -------------------------------------------------------------------------------------------------------

@test
def s14_sigterm_idle():
    s = Server(program, "-m", "model")
    kept = s.connect()
    kept.send(request("GET", "/ping", close=False))
    status(kept.read(), 200)
    expect(s.stop() == 0, "exit code")
    expect(not kept.read_all(), "an answer to nothing")


@test
def s14_sigterm_under_load():
    s = Server(program, "-m", "slow")
    embed(s)
    busy = [s.connect() for _ in range(6)]
    kept = s.connect()
    kept.send(request("GET", "/ping", close=False))
    status(kept.read(), 200)
    for c in busy:
        c.send(request("POST", "/embed", {"inputs": [long_text(500)] * 32}))
    s.wait_for(lambda: s.metric("roformer_inputs") >= 32 * len(busy), "all are accepted")
    s.signal(signal.SIGTERM)
    s.wait_for(lambda: "shutting down" in s.err(), "it says so")
    kept.send(request("GET", "/health", close=False))
    a = kept.read()
    expect(a is None or (a.status == 503 and a.headers["connection"].lower() == "close"), a)
    for c in busy:
        expect(len(status(c.read(), 200).json()) == 32, "vectors")
    expect(s.wait() == 0, "exit code")


@test
def s14_sigterm_while_a_body_comes():
    s = Server(program, "-m", "model")
    data = request("POST", "/embed", {"inputs": TEXT})
    before = embed(s)
    with s.connect() as c:
        c.send(data[:-5])
        s.wait_for(lambda: s.metric("roformer_connections") >= 2, "it is there")
        time.sleep(0.2)                                   # the header is read
        s.signal(signal.SIGTERM)
        s.wait_for(lambda: "shutting down" in s.err(), "it says so")
        c.send(data[-5:])
        expect(status(c.read(), 200).body == before, "another vector")
    expect(s.wait() == 0, "exit code")


@test
def s14_sigterm_while_loading():
    models = [word for i in range(20) for word in ("-m", f"m{i}=slow")]
    s = Server(program, *models, ready=False)
    status(s.ask("GET", "/ping"), 200)
    status(s.ask("GET", "/health"), 200, 503)
    expect(s.stop() == 0, "exit code")
    expect("m19:" not in s.err(), "all models were loaded first")


@test
def s14_a_second_sigterm_does_not_wait():
    for model, path, body in (("slow-causal", "/v1/completions", {"prompt": "the", "max_tokens": 4000, "temperature": 0, "stream": True}),
                              ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}}),
                              ("slow", "/embed", {"inputs": [long_text(500)] * 32}),
                              ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32})):
        s = Server(program, "-m", model, "--drain-timeout", "3600")
        busy = [s.connect() for _ in range(12)]
        for c in busy:
            c.send(request("POST", path, body))
        s.wait_for(lambda: s.metric("roformer_inputs") >= 12, "all are accepted")
        s.signal(signal.SIGTERM)
        s.wait_for(lambda: "shutting down" in s.err(), "it says so")
        s.signal(signal.SIGTERM)
        expect(s.wait() == 0, "exit code")
        expect("were not answered" in s.err(), path, s.err())


# ---- S19: starts -----------------------------------------------------------------------------------------------------

def refused(code, word, *options):
    import subprocess
    got = subprocess.run([program, "serve", *options], capture_output=True, text=True, timeout=120, check=False)
    expect(got.returncode == code and word in got.stderr, options, "exit", got.returncode, got.stderr)


@test
def s19_what_cannot_be_served_is_named():
    with Server(program, "-m", "model") as s:
        refused(4, str(s.address[1]), "-m", "slow", "--port", str(s.address[1]))
        refused(4, "nowhere", "-m", "nowhere", "--port", "0")
        shutil.copytree("model", "broken")
        with open("broken/model.safetensors", "r+b") as f:
            f.truncate(1000)
        refused(3, "model.safetensors", "-m", "broken", "--port", "0")
        refused(3, "index", "-m", "model", "--index", "other-index", "--port", "0")
        refused(2, "names that are unique", "-m", "model", "-m", "model", "--port", "0")
        refused(2, "--alias", "-m", "model", "--alias", "a=b", "--port", "0")
        refused(2, "--dtype", "-m", "model", "--dtype", "f17", "--port", "0")
        refused(4, "no-keys", "-m", "model", "--api-key-file", "no-keys", "--port", "0")
        refused(2, "--max-connections", "-m", "model", "--max-connections", "0", "--port", "0")
        embed(s)


@test
def a_unix_socket_belongs_to_one_server():
    with Server(program, "-m", "model", unix="socket") as s:
        before = embed(s)
        refused(4, "socket", "-m", "model", "--unix", "socket")
        same_as_before(s, before)                         # its socket is still there
    expect(not os.path.exists("socket"), "the socket is left")
    dead = Server(program, "-m", "model", unix="socket")
    dead.process.kill()
    dead.process.wait()
    with Server(program, "-m", "model", unix="socket") as s:      # in place of that of a dead server
        same_as_before(s, before)
    with open("file", "w", encoding="ascii") as f:
        f.write("kept")
    refused(4, "file", "-m", "model", "--unix", "file")
    with open("file", encoding="ascii") as f:
        expect(f.read() == "kept", "a file was replaced")


@test
def a_socket_of_systemd():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)

    def pass_on():
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ["LISTEN_PID"] = str(os.getpid())

    for number, works in (("1", True), ("2", False)):
        shell = f'LISTEN_FDS={number} LISTEN_PID=$$ exec "$0" "$@"'
        import subprocess
        with open("systemd.err", "wb") as err:
            p = subprocess.Popen(["sh", "-c", shell, program, "serve", "-m", "model"], stderr=err, preexec_fn=pass_on,
                                 close_fds=False)
        if not works:
            expect(p.wait(120) == 2, "two sockets were taken")
            continue
        s = Server.__new__(Server)
        s.process, s.pid, s.err_path, s.address = p, p.pid, "systemd.err", listener.getsockname()
        s.wait_for(lambda: "loaded" in s.err(), "it is loaded")
        embed(s)
        expect(s.stop() == 0, "exit code")
    listener.close()


# ---- S21: the same text has the same bytes ---------------------------------------------------------------------------

@test
def s21_a_vector_does_not_depend_on_its_neighbors():
    texts = ["a", TEXT, long_text(60), "the red house", "été 東京", "unseen words here", "(old) - new!"]
    for dtype in ("f32", "bf16", "int8"):
        with Server(program, "-m", "model", "--dtype", dtype) as s:
            alone = [embed(s, t)[1:-1] for t in texts]
            for turn in range(len(texts)):
                order = texts[turn:] + texts[:turn]
                both = together([lambda o=order: embed(s, o) for _ in range(3)])
                whole = b"[" + b",".join(alone[turn:] + alone[:turn]) + b"]"
                expect(all(b == whole for b in both), dtype, "another vector in a batch")


# ---- overload, reload, other bad input -------------------------------------------------------------------------------

@test
def s10_overload_is_429_with_retry_after():
    with Server(program, "-m", "slow", "--max-concurrent-requests", "64") as s:
        before = embed(s)
        bodies = [lambda: s.post("/embed", {"inputs": [long_text(300)] * 32}) for _ in range(16)]
        answers = together(bodies)
        codes = [status(a, 200, 429).status for a in answers]
        expect(200 in codes and 429 in codes, codes)
        for a in answers:
            if a.status == 429:
                expect(int(a.headers["retry-after"]) >= 1 and a.json()["error_type"] == "Overloaded", a)
        expect(s.metric('te_request_failure{err="overloaded"}') == codes.count(429), "they are counted")
        same_as_before(s, before)
    with Server(program, "-m", "slow", "--max-queue-tokens", "20000") as s:
        embed(s)
        answers = together([lambda: s.post("/embed", {"inputs": [long_text(300)] * 32}) for _ in range(12)])
        expect({200, 429} == {a.status for a in answers}, [a.status for a in answers])
        expect(all("retry-after" in a.headers for a in answers if a.status == 429), "Retry-After")


@test
def a_request_that_takes_too_long_is_504():
    for model, path, body in (("slow", "/embed", {"inputs": [long_text(500)] * 32}),
                              ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32}),
                              ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}})):
        with Server(program, "-m", model, "--request-timeout", "1", "--max-wait", "0") as s:
            answers = together([lambda p=path, b=body: s.post(p, b) for _ in range(15)])
            codes = [status(a, 200, 504).status for a in answers]
            expect(504 in codes, path, codes)
            status(s.post("/tokenize", {"inputs": "a"}), 200)


@test
def sighup_under_load_loses_nothing():
    with Server(program, "-m", "model") as s:
        before = embed(s)
        with background(lambda: s.post("/embed", {"inputs": TEXT})) as answers:
            for i in range(5):
                s.signal(signal.SIGHUP)
                s.wait_for(lambda i=i: s.err().count("loaded in") >= i + 2, "it is loaded again")
        expect(len(answers) > 5, "answers meanwhile:", len(answers))
        expect(all(not isinstance(a, OSError) and a.body == before for a in answers), "another answer")


@test
def a_folder_that_is_replaced_is_used_after_sighup():
    shutil.copytree("model", "changing")
    with Server(program, "-m", "changing") as s:
        before = embed(s)
        os.rename("changing", "changed")
        same_as_before(s, before)
        s.signal(signal.SIGHUP)                           # there is no folder: the model stays
        s.wait_for(lambda: "the model loaded before answers" in s.err(), "it says so")
        same_as_before(s, before)
        status(s.ask("GET", "/health"), 200)
        shutil.copytree("other", "changing")
        same_as_before(s, before)
        s.signal(signal.SIGHUP)
        s.wait_for(lambda: embed(s) != before, "the other model answers")
        shutil.copy("changing/config.json", "changing/kept.json")
        with open("changing/config.json", "w", encoding="ascii") as f:
            f.write("{")
        after = embed(s)
        s.signal(signal.SIGHUP)
        s.wait_for(lambda: s.err().count("the model loaded before answers") == 2, "it says so again")
        same_as_before(s, after)


@test
def large_texts_and_objects():
    with Server(program, "-m", "model", "--payload-limit", "30000000") as s:
        before = embed(s)
        status(s.post("/embed", {"inputs": "a river " * 125000}), 200)
        status(s.post("/embed", {"inputs": "é" * 1000000}), 200)
        status(s.post("/tokenize", {"inputs": "river" * 200000}), 200, 422)
        many = {f"k{i}": 0 for i in range(100000)}
        status(s.post("/embed", {**many, "inputs": TEXT}), 200)
        status(s.post("/embed", {**{f"k{i}": 0 for i in range(1000000)}, "inputs": TEXT}), 200, 400)
        status(s.post("/embed", {"inputs": [1] * 1000000}), 200)
        same_as_before(s, before)


@test
def a_full_disk_for_the_access_log():
    with Server(program, "-m", "model", "--access-log", "/dev/full") as s:
        before = embed(s)
        for _ in range(20):
            same_as_before(s, before)
        said = s.err()
    expect(said.count("--access-log /dev/full") == 1, said)


def main():
    failed = 0
    for one in TESTS:
        if words and not any(w in one.__name__ for w in words):
            continue
        begin = time.monotonic()
        try:
            one()
        except Exception as e:      # pylint: disable=broad-except
            failed += 1
            import traceback
            where = traceback.extract_tb(e.__traceback__)
            line = [f.lineno for f in where if f.filename.endswith("serve_faults.py")]
            print(f"FAIL: {one.__name__} (line {line[-1] if line else '?'}): {type(e).__name__}: {str(e)[:1500]}",
                  file=sys.stderr)
        if "TIMES" in os.environ:
            print(f"{time.monotonic() - begin:6.2f} s  {one.__name__}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
