"""serve_faults.py PROGRAM [WORD]... — clients that leave, signals, overload, changing files; run by serve_faults.sh."""
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

from serve_client import (SANITIZED, Server, TEXT, background, embed, expect, long_text, main, request,
                          same_as_before, status, test, together, until)

program = sys.argv[1]


# ---- S11, S12: connections and clients that leave --------------------------------------------------------------------

@test
def s11_connections_above_the_limit_are_503():
    with Server(program, "-m", "model", "--max-connections", "20") as s:
        before = embed(s)
        old = s.connect()
        old.send(request("GET", "/ping", close=False))
        status(old.read(), 200)
        busy = []

        def one_more():
            busy.append(s.connect())
            busy[-1].send(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
            return s.ask("GET", "/ping").status == 503
        s.wait_for(one_more, "all places are taken")
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
    with Server(program, "-m", "model", "--header-timeout", "2", files=64, hasty=True) as s:
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
def s11_who_waits_for_a_descriptor_is_served_when_others_end():
    """The others end all at once, and nothing else happens."""
    with Server(program, "-m", "model", files=64) as s:
        before = embed(s)
        many = [s.connect() for _ in range(100)]
        for c in many:
            c.send(b"GET /ping HTTP/1.1\r\n")
        s.wait_for(lambda: s.descriptors() == 64, "there are no more descriptors")
        s.signal(signal.SIGSTOP)
        for c in many:
            c.close()
        with s.connect() as c:
            c.send(request("POST", "/embed", {"inputs": TEXT}))
            s.signal(signal.SIGCONT)
            expect(status(c.read(), 200).body == before, "another vector than before")


@test
def many_connections_opened_and_dropped():
    """CONNECTIONS=100000 is the long form."""
    with Server(program, "-m", "model") as s:
        before, descriptors, memory = embed(s), s.descriptors(), s.resident()
        for i in range(int(os.environ.get("CONNECTIONS", 2000 if SANITIZED else 10000))):
            c = s.connect()
            if i % 3 == 1:
                c.send(b"GET /ping HTTP/1.1\r\n"[:1 + i % 20])
            if i % 3 == 2:
                c.reset()
            c.close()
        s.wait_for(lambda: s.descriptors() <= descriptors, "the descriptors are closed")
        expect(s.resident() < memory + (32 << 20) or SANITIZED, "memory grew by", s.resident() - memory)
        same_as_before(s, before)


def ended(s):
    """Requests that were dropped, or computed before their clients left (none, where the model is held: test_held.c)."""
    return sum(s.metric(name) for name in ('te_request_failure{err="dropped"}', 'te_request_success{method="single"}',
                                           'te_request_success{method="batch"}'))


@test
def s12_every_client_that_leaves_is_counted():
    jobs = (("slow", "/embed", {"inputs": [long_text(500)] * 32}),
            ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32}),
            ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}}),
            ("slow-causal", "/v1/completions", {"prompt": "the", "max_tokens": 4000, "temperature": 0, "stream": True}))
    for model, path, body in jobs:
        with Server(program, "-m", model) as s:
            waiting = [s.connect() for _ in range(12)]
            for c in waiting:
                c.send(request("POST", path, body))
            s.wait_for(lambda: s.accepted() >= len(waiting), "all are accepted")
            for i, c in enumerate(waiting):
                if i % 2:
                    c.reset()
                c.close()
            s.wait_for(lambda: s.metric("roformer_inputs") == 0, "nobody waits")
            s.wait_for(lambda: ended(s) >= len(waiting), f"{path}: they are counted")
            expect(ended(s) == len(waiting), path, "ended:", ended(s))


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
        s.wait_for(lambda: ended(s) == 6, "they are counted")
        events = status(s.post("/v1/completions", dict(body, max_tokens=3)), 200).body
        expect(events.endswith(b"data: [DONE]\n\n"), events[-200:])
        s.wait_for(lambda: ended(s) == 7, "the other one is counted")


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
            a = status(s.post(path, body), 500 if path.startswith("/v1") else 424)
            expect(b"finite" in a.body, path, a)
        expect(s.metric('te_request_failure{err="missing_values"}') == 6, "they are counted")
        status(s.post("/embed", {"inputs": "in london"}), 200)


def write_zeros(folder, *names):
    path = folder + "/model.safetensors"
    with open(path, "r+b") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        entries = json.loads(f.read(size))
        for name in names:
            begin, end = entries[name]["data_offsets"]
            f.seek(8 + size + begin)
            f.write(bytes(end - begin))


@test
def s13_a_vector_of_zeros_has_no_direction():
    shutil.copytree("model", "zeros")
    with open("zeros/config.json", encoding="utf-8") as f:
        last = json.load(f)["num_hidden_layers"] - 1
    write_zeros("zeros", *(f"roformer.encoder.layer.{last}.output.LayerNorm.{part}" for part in ("weight", "bias")))
    with Server(program, "-m", "zeros") as s:
        for path, body in (("/embed", {"inputs": ["a", "the river"]}), ("/embed", {"inputs": "a", "dimensions": 2}),
                           ("/embed_all", {"inputs": "a", "normalize": True}), ("/v1/embeddings", {"input": "a"}),
                           ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}})):
            a = status(s.post(path, body), 200, 500 if path.startswith("/v1") else 424)
            expect(not any(word in a.body.lower() for word in (b"nan", b"inf", b"null")), path, a)
            if a.status == 200:
                expect(set(numbers(a.json())) <= {0.0}, path, a)


def numbers(value):
    """All floats in a JSON value."""
    if isinstance(value, float):
        yield value
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(v)


@test
def a_model_file_that_is_truncated_while_it_is_served():
    shutil.copytree("slow", "shrinking")
    s = Server(program, "-m", "shrinking")
    before = embed(s)
    os.truncate("shrinking/model.safetensors", 0)
    with s.connect() as c:                                # the earlier answer, or the end with a message
        c.send(request("POST", "/embed", {"inputs": TEXT}))
        a = c.read()
    if a is not None:
        expect(a.status == 200 and a.body == before, a)
        s.signal(signal.SIGHUP)
        s.wait_for(lambda: "the model loaded before answers" in s.err(), "it refuses the file")
        same_as_before(s, before)
        expect(s.stop() == 0, "exit code")
    else:
        expect(s.wait() == 4 and "was truncated while in use" in s.err(), s.process.returncode, s.err())


@test
def s15_a_request_without_memory_is_503_alone():
    if SANITIZED:
        return                                            # a sanitizer needs the address space
    with Server(program, "-m", "slow", "--max-answer-bytes", "200000000") as s:
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
        for value in ("first-key\0x", "second.key\0", "\0first-key"):        # what precedes the zero byte is the key
            codes = (200, 400, 401) if value.startswith("first") else (400, 401)
            status(s.post("/embed", {"inputs": "a"}, [f"Authorization: Bearer {value}"]), *codes)
        for path in ("/health", "/ping", "/metrics", "/docs", "/openapi.json"):
            status(s.ask("GET", path), 200)
        for path in ("/info", "/v1/models"):
            status(s.ask("GET", path), 401)
        for value in "Bearer first-key ", "Bearer   first-key\t":
            status(s.post("/embed", {"inputs": "a"}, [f"Authorization: {value}"]), 200)


@test
def s18_logs_are_escaped_and_pages_run_no_scripts():
    strange = '/<script>"\\\x1b[31m%0a'
    for style in ("json", "common"):
        log = f"access.{style}"
        with Server(program, "-m", "model", "--access-log", log, "--log-format", style) as s:
            s.raw(f"GET {strange} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode("latin-1"))
            s.raw(b'G"E\x01T /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-request-id: a"b\r\n\r\n')
            a = status(s.ask("GET", "/docs"), 200)
            expect("unsafe" not in a.headers["content-security-policy"], a)
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
    busy = [s.connect() for _ in range(6)]
    kept = s.connect()
    kept.send(request("GET", "/ping", close=False))
    status(kept.read(), 200)
    for c in busy:
        c.send(request("POST", "/embed", {"inputs": [long_text(500)] * 32}))
    s.wait_for(lambda: s.accepted() >= len(busy), "all are accepted")
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
    data = request("POST", "/embed", {"inputs": TEXT}, ["Expect: 100-continue"])
    before = embed(s)
    with s.connect() as c:
        c.send(data[:data.index(b"{")])
        status(c.read(), 100)                             # the header has been read
        c.send(data[data.index(b"{"):-5])
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
    expect(s.stop() == 0, "exit code")                    # no other model is loaded then: test_held.c


@test
def s14_a_second_sigterm_does_not_wait():
    stream = {"prompt": "the", "max_tokens": 4000, "temperature": 0, "stream": True}
    for model, path, body in (("slow-causal", "/v1/completions", stream),
                              ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}}),
                              ("slow", "/embed", {"inputs": [long_text(500)] * 32}),
                              ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32})):
        s = Server(program, "-m", model)
        busy = [s.connect() for _ in range(12)]
        for c in busy:
            c.send(request("POST", path, body))
        s.wait_for(lambda: s.accepted() >= len(busy), "all are accepted")
        s.signal(signal.SIGTERM)
        s.wait_for(lambda: "shutting down" in s.err(), "it says so")
        s.signal(signal.SIGTERM)
        expect(s.wait() == 0, "exit code")
        whole = [c.read_all() for c in busy]
        good = [data.startswith(b"HTTP/1.1 200") and data.endswith((b"]", b"[DONE]\n\n\r\n0\r\n\r\n")) for data in whole]
        expect(all(good) or "were not answered" in s.err(), path, s.err())


# ---- S19: starts -----------------------------------------------------------------------------------------------------

def refused(code, word, *options):
    got = subprocess.run([program, "serve", *options], capture_output=True, text=True, timeout=120, check=False)
    expect(got.returncode == code and word in got.stderr, options, "exit", got.returncode, got.stderr)
    expect(got.stderr.count("expected ") + got.stderr.count("cannot open") <= 1, "it is said twice:", got.stderr)


@test
def s19_what_cannot_be_served_is_named():
    with Server(program, "-m", "model") as s:
        refused(4, str(s.address[1]), "-m", "slow", "--port", str(s.address[1]))
        refused(4, "model nowhere: ", "-m", "nowhere", "--port", "0")
        refused(2, "no folder after the name", "-m", "x=", "--port", "0")
        refused(2, "--languages en:de: expected a translation model", "-m", "model", "--languages", "en:de", "--port", "0")
        shutil.copytree("model", "broken")
        with open("broken/model.safetensors", "r+b") as f:
            f.truncate(1000)
        refused(3, "model.safetensors", "-m", "broken", "--port", "0")
        refused(3, "index", "-m", "model", "--index", "other-index", "--port", "0")
        refused(2, "names that are unique", "-m", "model", "-m", "model", "--port", "0")
        refused(2, "--model-alias", "-m", "model", "--model-alias", "a=b", "--port", "0")
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

    fd = listener.fileno()
    for number, works in (("1", True), ("2", False)):
        shell = f'LISTEN_FDS={number} LISTEN_PID=$$ exec "$0" "$@" 3<&{fd}'
        with open("systemd.err", "wb") as err:
            p = subprocess.Popen(["sh", "-c", shell, program, "serve", "-m", "model", "--allowed-host", "test"], stderr=err, pass_fds=(fd,))
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
            for shift in range(len(texts)):
                order = texts[shift:] + texts[:shift]
                both = together([lambda o=order: embed(s, o) for _ in range(3)])
                whole = b"[" + b",".join(alone[shift:] + alone[:shift]) + b"]"
                expect(all(b == whole for b in both), dtype, "another vector in a batch")


# ---- overload, reload, other bad input -------------------------------------------------------------------------------

@test
def s10_overload_is_429_with_retry_after():
    body = {"inputs": [long_text(300)] * 32}
    for option, value in (("--max-concurrent-requests", "64"), ("--max-queue-tokens", "20000")):
        with Server(program, "-m", "slow", option, value) as s:
            before, answers = embed(s), []
            until(lambda a=answers: {200, 429} <= {x.status for x in a},
                  lambda n, s=s, a=answers: a.extend(together([lambda: s.post("/embed", body)] * n)))
            for a in answers:
                if status(a, 200, 429).status == 429:
                    expect(int(a.headers["retry-after"]) >= 1 and a.json()["error_type"] == "Overloaded", a)
            refused = [a.status for a in answers].count(429)
            s.wait_for(lambda s=s, n=refused: s.metric('te_request_failure{err="overloaded"}') == n, "they are counted")
            same_as_before(s, before)


@test
def others_are_answered_while_many_inputs_are_computed():
    with Server(program, "-m", "slow", "--max-batch-tokens", "256", "--max-concurrent-requests", "40") as s:
        before, done = embed(s), []
        body = {"input": [long_text(1 + i % 40) for i in range(400)]}
        many = threading.Thread(target=lambda: done.append(s.post("/v1/embeddings", body)))
        many.start()
        s.wait_for(lambda: s.metric('te_request_count{method="batch"}') > 0, "the request with many inputs is accepted")
        answers = 0
        while not done:
            expect(embed(s) == before, "another vector")
            answers += not done
        many.join()
        expect(answers > 3, "answers while the others were computed", answers)
        a = status(done[0], 200).json()["data"]
        expect(a[0]["embedding"] == a[40]["embedding"] and len(a) == 400, "the same text")


@test
def a_request_that_takes_too_long_is_504():
    for model, path, body in (("slow", "/embed", {"inputs": [long_text(500)] * 32}),
                              ("slow", "/fill_mask", {"inputs": ["[MASK] " + long_text(400)] * 32}),
                              ("slow-causal", "/generate", {"inputs": "the", "parameters": {"max_new_tokens": 4000}})):
        with Server(program, "-m", model, "--request-timeout", "1", "--max-concurrent-requests", "100000") as s:
            codes = []
            until(lambda c=codes: 504 in c, lambda n, s=s, c=codes, p=path, b=body: c.extend(
                status(a, 200, 504).status for a in together([lambda: s.post(p, b)] * n)))
            status(s.post("/tokenize", {"inputs": "a"}), 200)


@test
def sighup_under_load_loses_nothing():
    with Server(program, "-m", "model") as s:
        before = embed(s)
        with background(lambda: s.post("/embed", {"inputs": TEXT})) as answers:
            for i in range(5):
                before_it = len(answers)
                s.signal(signal.SIGHUP)
                s.wait_for(lambda i=i: s.err().count("loaded in") >= i + 2, "it is loaded again")
                s.wait_for(lambda n=before_it: len(answers) > n, "somebody was answered meanwhile")
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
def an_access_log_that_is_renamed_is_opened_again():
    """SIGUSR1 under load: every request has one line, in the old or in the new file."""
    with Server(program, "-m", "model", "--access-log", "access.log") as s:
        ids = [[], []]

        def client(i):
            for k in range(150):
                ids[i].append(f"c{i}-{k}")
                status(s.ask("GET", "/ping", headers=[f"x-request-id: c{i}-{k}"]), 200)

        threads = [threading.Thread(target=client, args=(i,)) for i in range(2)]
        for t in threads:
            t.start()
        s.wait_for(lambda: len(ids[0]) > 20, "requests")
        os.rename("access.log", "access.log.1")
        s.signal(signal.SIGUSR1)
        for t in threads:
            t.join()
        s.wait_for(lambda: os.path.exists("access.log"), "the log is opened again")
        status(s.ask("GET", "/ping", headers=["x-request-id: last"]), 200)
    lines = [[json.loads(line)["id"] for line in open(name, encoding="utf-8")] for name in ("access.log.1", "access.log")]
    seen = [i for part in lines for i in part if i.startswith("c") or i == "last"]
    expect(sorted(seen) == sorted(ids[0] + ids[1] + ["last"]), "lines", len(seen))
    expect(lines[1][-1] == "last", lines[1])
    os.mkdir("logs")
    with Server(program, "-m", "model", "--access-log", "logs/access.log") as s:
        shutil.move("logs", "moved")                      # it cannot be opened again
        s.signal(signal.SIGUSR1)
        s.wait_for(lambda: "expected to open this file again" in s.err(), "it is reported")
        status(s.ask("GET", "/ping", headers=["x-request-id: old"]), 200)
    with open("moved/access.log", encoding="utf-8") as f:
        expect('"old"' in f.read(), "the old file is not written")
    with Server(program, "-m", "model") as s:
        s.signal(signal.SIGUSR1)                          # without a log: no effect
        status(s.ask("GET", "/ping"), 200)


@test
def a_full_disk_for_the_access_log():
    with Server(program, "-m", "model", "--access-log", "/dev/full") as s:
        before = embed(s)
        for _ in range(20):
            same_as_before(s, before)
        said = s.err()
    expect(said.count("--access-log /dev/full") == 1, said)


if __name__ == "__main__":
    main()
