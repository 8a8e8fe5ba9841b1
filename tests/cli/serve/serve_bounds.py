"""serve_bounds.py PROGRAM [WORD]... — time, answers and inputs have bounds on every route; run by serve_bounds.sh."""
import signal
import sys
import threading
import time

from serve_client import SANITIZED, Server, embed, expect, long_text, main, same_as_before, status, test

program = sys.argv[1]

LONG = long_text(8000)
TEXTS = [long_text(500)] * 32

# For each route a model and a body that takes long, or that is as large as the route takes.
HEAVY = {
    "/": ("slow", {"inputs": TEXTS}),
    "/invocations": ("slow", {"inputs": TEXTS}),
    "/vertex": ("slow", {"instances": [{"inputs": TEXTS}] * 32}),
    "/embed": ("slow", {"inputs": TEXTS}),
    "/v1/embeddings": ("slow", {"input": TEXTS * 40}),
    "/embeddings": ("slow", {"input": TEXTS * 40}),
    "/invocations": ("slow", {"inputs": TEXTS}),
    "/vertex": ("slow", {"instances": [{"inputs": t} for t in TEXTS]}),
    "/embed_all": ("slow", {"inputs": TEXTS[:4]}),
    "/embed_sparse": ("slow", {"inputs": TEXTS}),
    "/similarity": ("slow", {"inputs": {"source_sentence": "a", "sentences": TEXTS}}),
    "/search": ("other", {"query": long_text(4000)}),
    "/rerank": ("pairs", {"query": "a", "texts": TEXTS}),
    "/v1/rerank": ("pairs", {"query": "a", "documents": TEXTS * 30}),
    "/v2/rerank": ("pairs", {"query": "a", "documents": TEXTS * 30}),
    "/v1/embed": ("slow", {"texts": TEXTS * 40}),
    "/v2/embed": ("slow", {"texts": TEXTS * 40}),
    "/v1/tokenize": ("slow", {"text": LONG * 20}),
    "/v1/detokenize": ("slow", {"tokens": [5] * 200000}),
    "/predict": ("labels", {"inputs": [[t] for t in TEXTS]}),
    "/fill_mask": ("slow", {"inputs": ["[MASK] " * 400] * 32, "top_k": 3}),
    "/generate": ("slow-causal", {"inputs": long_text(4000), "parameters": {"max_new_tokens": 4000}}),
    "/generate_stream": ("slow-causal", {"inputs": long_text(4000), "parameters": {"max_new_tokens": 4000}}),
    "/v1/completions": ("slow-causal", {"prompt": long_text(4000), "max_tokens": 4000}),
    "/v1/chat/completions": ("slow-causal", {"messages": [{"role": "user", "content": long_text(4000)}], "max_tokens": 4000}),
    "/v1/responses": ("slow-causal", {}),
    "/translate": ("translate", {"q": [" ".join(["one two three"] * 300)] * 32, "source": "en", "target": "de"}),
    "/detect": ("translate", {"q": [LONG] * 32}),
    "/tokenize": ("slow", {"inputs": [LONG] * 32}),
    "/decode": ("slow", {"ids": [[5] * 8000] * 32}),
    "/attention": ("slow", {"inputs": long_text(120)}),
    "/positions": ("slow", {"inputs": long_text(120)}),
}
OPTIONS = {"other": ["--index", "other-index"], "translate": ["--languages", "en:de"]}


def routes():
    with Server(program, "-m", "model") as s:
        paths = {path for path, methods in s.ask("GET", "/openapi.json").json()["paths"].items() if "post" in methods}
    expect(paths == set(HEAVY), "routes without a heavy body here:", paths ^ set(HEAVY))
    return sorted(paths)


def heavy(s, path):
    """Clients that send the route's heavy body; some of them leave."""
    def client(i):
        try:
            with s.connect() as c:
                s.send_post(c, path, HEAVY[path][1])
                if i % 2:
                    c.read()
        except OSError:
            pass
    threads = [threading.Thread(target=client, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    time.sleep(0.1)                                        # they are read, and some are computed
    return threads


@test
def the_server_ends_whatever_it_computes():
    """By two signals, or by one without --drain-timeout; in turns, since each needs a server."""
    for i, path in enumerate(routes()):
        signals, drain = (2, "3600") if i % 2 else (1, "0")
        with Server(program, "-m", HEAVY[path][0], *OPTIONS.get(HEAVY[path][0], []), "--drain-timeout", drain) as s:
            threads = heavy(s, path)
            s.signal(signal.SIGTERM)
            while signals > 1 and s.process.poll() is None and "shutting down" not in s.err():
                time.sleep(0.01)
            if signals > 1 and s.process.poll() is None:
                s.signal(signal.SIGTERM)
            expect(s.wait() == 0, path, s.err())
            for t in threads:
                t.join()


@test
def an_answer_that_would_be_too_large_is_422():
    cases = (("/fill_mask", {"inputs": "[MASK] " * 60, "top_k": 1000}, 'masks with'),
             ("/", {"inputs": "[MASK] " * 60, "parameters": {"top_k": 1000}}, 'masks with'),
             ("/embed_all", {"inputs": [long_text(400)] * 4}, 'vectors of 256 components'),
             ("/tokenize", {"inputs": [LONG] * 8}, 'tokens'), ("/embed_sparse", {"inputs": [long_text(3)] * 32}, 'the result'),
             ("/decode", {"ids": [[5] * 8000] * 20}, 'the result'))
    with Server(program, "-m", "slow", "--max-answer-bytes", "50000") as s:
        before = embed(s)
        for path, body, what in cases:
            a = status(s.post(path, body), 422).json()
            expect("the answer: expected at most 50000 bytes (--max-answer-bytes), got " in a["error"] and what in a["error"], path, a)
        status(s.post("/fill_mask", {"inputs": "[MASK] a", "top_k": 200}), 200)
        status(s.post("/v1/embeddings", {"input": [f"the {i}" for i in range(200)]}), 200)
        same_as_before(s, before)
    with Server(program, "-m", "slow") as s:
        status(s.post("/decode", {"ids": [[5]] * 33}), 200)
        every = status(s.post("/fill_mask", {"inputs": "the [MASK]", "top_k": 1000000}), 200).json()
        some = status(s.post("/fill_mask", {"inputs": "the [MASK]", "top_k": 7}), 200).json()
        score = [w["score"] for w in every]
        expect(len({w["token"] for w in every}) == len(every) > 100 and score == sorted(score, reverse=True), "all words", len(every))
        expect(every[:7] == some, "the first ones", some)


@test
def long_inputs_are_refused_where_they_may_not_be_truncated():
    text = long_text(9000)
    rows = (("model", "/embed", {"inputs": text}), ("model", "/embed_all", {"inputs": text}), ("model", "/embed_sparse", {"inputs": text}),
            ("model", "/v1/embeddings", {"input": text}), ("model", "/fill_mask", {"inputs": "[MASK] " + text}),
            ("model", "/", {"inputs": "[MASK] " + text}), ("encoder", "/", {"inputs": text}),
            ("model", "/similarity", {"inputs": {"source_sentence": "a", "sentences": [text]}}),
            ("pairs", "/rerank", {"query": "a", "texts": ["b", text]}), ("pairs", "/v1/rerank", {"query": "a", "documents": [text]}),
            ("pairs", "/v2/rerank", {"query": "a", "documents": [text]}), ("pairs", "/predict", {"inputs": ["a", text]}),
            ("labels", "/predict", {"inputs": text}), ("labels", "/", {"inputs": ["a", text]}))
    for model in sorted({m for m, _, _ in rows}):
        with Server(program, "-m", model) as s, Server(program, "-m", model, "--no-auto-truncate") as strict:
            for _, path, body in (r for r in rows if r[0] == model):
                code = 400 if path.startswith("/v1/emb") else 422
                status(s.post(path, body), 200)
                a = status(strict.post(path, body), code)
                expect(" tokens. Given: " in a.body.decode(), path, a)
                if path in ("/v1/rerank", "/v2/rerank"):
                    continue
                of = {"parameters": {"truncate": False}} if path == "/similarity" else {"truncate": False}
                status(s.post(path, {**body, **of}), code)
                of = {"parameters": {"truncate": True}} if path == "/similarity" else {"truncate": True}
                expect(status(strict.post(path, {**body, **of}), 200).body == s.post(path, body).body, path)


@test
def prompts_above_the_context_are_refused():
    with Server(program, "-m", "slow-causal") as s:
        for n in 9000, 8192, 400000:
            a = status(s.post("/v1/completions", {"prompt": long_text(n), "max_tokens": 3}), 400).json()
            expect("maximum context length is 8192 tokens" in a["error"]["message"], a)
            a = status(s.post("/generate", {"inputs": long_text(n)}), 422).json()
            expect("maximum context length is 8192 tokens" in a["error"], a)
        status(s.post("/v1/completions", {"prompt": long_text(100), "max_tokens": 3}), 200)


@test
def bodies_have_a_budget():
    with Server(program, "-m", "model", "--max-memory", "4000000") as s:
        before = embed(s)
        slow = [s.connect() for _ in range(8)]
        for c in slow:
            c.send(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + b" " * 400000)
        large = b'{"inputs":"' + b"a" * 900000 + b'"}'
        s.wait_for(lambda: s.post("/embed", large).status == 503, "the slow clients have the memory")
        a = s.post("/embed", large)
        expect(a.status == 503 and a.headers["retry-after"] == "1" and "--max-memory" in a.json()["error"], a)
        same_as_before(s, before)                          # small ones are taken
        for c in slow:
            c.close()
        s.wait_for(lambda: s.post("/embed", large).status == 200, "the memory is free again")
        a = status(s.post("/embed", b'{"inputs":[' + b"0," * 100000 + b"0]}"), 413).json()
        expect("got about 5" in a["error"], a)
        same_as_before(s, before)


@test
def memory_of_large_bodies_is_given_back():
    with Server(program, "-m", "model") as s:
        before, memory = embed(s), s.resident()
        for _ in range(6):
            clients = [s.connect() for _ in range(60)]
            for i, c in enumerate(clients):               # bodies of different sizes, some of which end together
                c.send(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" + b" " * (300000 + 27000 * i))
                c.send(b" " * 1000)
                if i % 3:
                    same_as_before(s, before)
            for c in clients:
                c.close()
        s.wait_for(lambda: s.resident() < memory + (40 << 20) or SANITIZED, "the memory is given back")
        same_as_before(s, before)


@test
def silent_connections_make_place_for_others():
    with Server(program, "-m", "model", "--max-connections", "20") as s:
        before = embed(s)
        silent = [s.connect() for _ in range(60)]
        for _ in range(5):
            same_as_before(s, before)
            silent += [s.connect() for _ in range(20)]
        s.wait_for(lambda: s.metric("roformer_connections") <= 20, "the oldest are closed")
        for c in silent:
            c.close()


if __name__ == "__main__":
    main()
