"""serve_bodies.py PROGRAM [WORD]... — which bodies are refused, and what the answers contain; run by serve_bodies.sh."""
import base64
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

from serve_client import Server, TEXT, embed, expect, long_text, main, same_as_before, status, test

program = sys.argv[1]


# ---- S5 to S8: bodies that are refused -------------------------------------------------------------------------------

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
        for most in ("9223372036854775808", "9223372036854775807", "4097"):
            a = status(s.post("/v1/completions", b'{"prompt":"the","max_tokens":%s}' % most.encode()), 400)
            expect("`max_tokens`" in a.body.decode(), a)


VALUES = ["1e999", "-1e999", "-1", "9223372036854775808", "9223372036854775807", "-9223372036854775808", "1e300",
          "NaN", "Infinity", "0x10", '"1"', "true", "[]", "{}", "1.5e-320"]


def json_on_openai(path, value):
    return path in OPENAI and value not in ("NaN", "Infinity", "0x10")


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
            fits = value in ("9223372036854775807", "1e300", "1.5e-320") or (value == "-1" and one.get("minimum", 0) < 0)
            expect(a.status in (400, 422) or (fits and a.status in (200, 404, 424)), path, name, value, a)
            named = a.status == 422 or (a.status == 400 and (json_on_openai(path, value) or value in ("1e999", "-1e999", "9223372036854775808")))
            expect(not named or f"`{name}`" in a.body.decode() or fits, path, name, value, a)
            seen += 1
    return seen


OPENAI = ("/v1/embeddings", "/v1/completions")
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
def s5_wrong_types_are_refused_by_name():
    """With 422 as TEI does, on OpenAI's routes with 400 as OpenAI does."""
    with Server(program, "-m", "model") as s:
        for path, name, good in (("/embed", "inputs", "a"), ("/embed_all", "inputs", "a"), ("/tokenize", "inputs", "a"),
                                 ("/v1/embeddings", "input", "a"), ("/decode", "ids", [1]),
                                 ("/fill_mask", "inputs", "[MASK]")):
            status(s.post(path, {name: good}), 200)
            for bad in (None, True, 1, 1.5, {}, [None], [True], [1.5], [[["a"]]], ["a", 1], [["a"]]):
                a = status(s.post(path, {name: bad}), 400 if path.startswith("/v1") else 422)
                expect(f"`{name}`" in a.body.decode(), path, bad, a)


@test
def s7_limits_of_inputs():
    with Server(program, "-m", "model") as s:
        for bad, code in (([], 400), ("", 400), (["a", ""], 400), (["a"] * 33, 422), ([[1]] * 33, 422), ([[]], 422)):
            status(s.post("/embed", {"inputs": bad}), code)
        a = s.post("/embed", {"inputs": ["a", "", "b"]}).json()["error"]
        expect(a == "`inputs` cannot be empty: text 2 of 3 is", a)
        status(s.post("/embed", {"inputs": ["a"] * 32}), 200)
        many = long_text(100)
        status(s.post("/embed", {"inputs": many}), 200)
        for long in " " * 100000 + "the old river", "the old river " + "x" * 100000:
            short = long.replace(" " * 100000, "").replace("x" * 100000, "x" * 300)         # both words are unknown
            a, b = (status(s.post("/embed", {"inputs": x}), 200).json() for x in (long, short))
            expect(a == b, "a text is cut by its tokens, not by its bytes")
            status(s.post("/embed", {"inputs": long, "truncate": False}), 200)
        expect("64" in status(s.post("/embed", {"inputs": many, "truncate": False}), 422).body.decode(), "the limit")
        for dimensions, code in ((0, 422), (33, 422), (32, 200), (1, 200)):
            status(s.post("/embed", {"inputs": "a", "dimensions": dimensions}), code)
    with Server(program, "-m", "model", "--no-auto-truncate") as s:
        status(s.post("/embed", {"inputs": many}), 422)
        status(s.post("/embed", {"inputs": many, "truncate": True}), 200)


@test
def services_take_as_many_inputs_as_they_document():
    with Server(program, "-m", "model", "-m", "pairs") as s:
        texts = [" ".join(["the", "old", "river", "of", "paris"][:1 + i % 5]) for i in range(2048)]
        one = [status(s.post("/embed", {"inputs": t}), 200).json()[0] for t in texts[:5]]
        for inputs in texts, [[5 + i % 3] for i in range(2048)]:
            a = status(s.post("/v1/embeddings", {"input": inputs}), 200).json()["data"]
            expect([x["index"] for x in a] == list(range(2048)), "the order")
            for i, x in enumerate(a):
                expect(x["embedding"] == (one[i % 5] if inputs is texts else a[i % 3]["embedding"]), i, "another vector")
        for n, code in ((2048, 200), (2049, 422)):
            for path in "/v1/rerank", "/v2/rerank":
                a = status(s.post(path, {"query": "a", "documents": texts[:3] * (n // 3) + texts[:n % 3], "model": "pairs"}), code)
        expect("2049 > maximum allowed batch size 2048 (--max-service-batch-size)" in a.json()["message"], a)
        a = status(s.post("/embed", {"inputs": ["a"] * 33}), 422).json()["error"]
        expect("batch size 33 > maximum allowed batch size 32 (--max-client-batch-size)" in a, a)
        for n, code in ((32, 200), (33, 422)):
            status(s.post("/similarity", {"inputs": {"source_sentence": "a", "sentences": texts[:n]}}), code)
    with Server(program, "-m", "model", "--max-client-batch-size", "4000") as s:
        status(s.post("/v1/embeddings", {"input": ["a"] * 3000}), 200)


@test
def s8_what_a_model_cannot_do_is_424():
    """On OpenAI's routes 400, which their clients raise as BadRequestError."""
    cases = {"model": {"/predict", "/rerank", "/v1/rerank", "/v1/completions", "/generate", "/translate", "/search"},
             "causal": {"/embed_sparse", "/predict", "/rerank", "/fill_mask", "/translate", "/search"},
             "pairs": {"/embed", "/embed_all", "/embed_sparse", "/similarity", "/v1/embeddings", "/fill_mask", "/v1/completions"},
             "labels": {"/embed", "/embed_sparse", "/rerank", "/fill_mask", "/v1/completions", "/translate"},
             "translate": {"/embed_sparse", "/predict", "/rerank", "/fill_mask", "/v1/completions"}}
    body = {"inputs": "a [MASK]", "input": "a", "query": "a", "texts": ["b"], "documents": ["b"], "prompt": "a",
            "q": "a", "source": "en", "target": "de"}
    own = {"/v1/completions": {"prompt": "a"}, "/v1/embeddings": {"input": "a"}, "/v1/rerank": {"query": "a", "documents": ["b"]},
           "/similarity": {"inputs": {"source_sentence": "a", "sentences": ["b"]}}}
    for model, paths in cases.items():
        with Server(program, "-m", model) as s:
            for path in sorted(paths):
                a = status(s.post(path, own.get(path, body)), 400 if path in OPENAI else 424)
                expect("error" in a.json() or "message" in a.json(), a)
            status(s.post("/v1/embeddings", {"input": "a", "model": "other"}), 404)
            status(s.post("/tokenize", {"inputs": "a"}), 200)
    with Server(program, "-m", "labels") as s:
        one, listed = (status(s.post("/predict", {"inputs": x}), 200).json() for x in ("a", ["a"]))
        expect(one == listed, "a list of one text is a text, as TEI has it", one, listed)
    with Server(program, "-m", "pairs") as s:
        status(s.post("/rerank", {"query": "a", "texts": ["b", "c"]}), 200)


@test
def options_without_effect_are_refused_by_name():
    with Server(program, "-m", "causal", "-m", "model") as s:
        for name, value in (("num_beams", 2), ("max_length", 5), ("top_n_tokens", 3), ("no_repeat_ngram_size", 2),
                            ("stop_sequences", ["a"]), ("eos_token_id", 3), ("bad_words_ids", [[1]])):
            for path in "/generate", "/":
                a = status(s.post(path, {"inputs": "the", "parameters": {name: value}}), 422).json()
                expect(f"`{name}`" in a["error"], a)
        status(s.post("/generate", {"inputs": "the", "parameters": {"num_beams": 1, "max_new_tokens": 2, "adapter_id": None}}), 200)
        a = status(s.post("/generate", {"inputs": "the", "parameters": {"max_new_tokens": 5000}}), 422).json()
        expect("`max_new_tokens`: expected at most 4096" in a["error"], a)
        a = status(s.post("/fill_mask", {"model": "model", "inputs": "a [MASK]", "targets": ["zzzqqzz"]}), 422).json()
        expect("`targets`" in a["error"], a)
        a = status(s.post("/tokenize", b'{"inputs":"a\\u0000b"}'), 400).json()
        expect("U+0000" in a["error"] and "JSON_" not in a["error"], a)
        sampled = {"prompt": "the", "max_tokens": 8, "seed": 3, "temperature": 1.5}
        texts = [status(s.post("/v1/completions", dict(sampled, **more)), 200).json()["choices"][0]["text"]
                 for more in ({"top_k": 1}, {"min_p": 1}, {"temperature": 0})]
        expect(texts[0] == texts[1] == texts[2], "top_k 1, min_p 1 and temperature 0 take the most likely token", texts)


@test
def members_of_other_servers_are_refused_by_name():
    """OpenAI and Cohere refuse what they do not know; vLLM, Jina, Voyage and NVIDIA have members that change the answer."""
    embed_all = ("input_type", "query"), ("task", "retrieval.query"), ("embedding_type", "binary"), ("output_dimension", 8), \
        ("output_dtype", "int8"), ("late_chunking", True), ("normalized", False), ("truncate_prompt_tokens", 3), \
        ("add_special_tokens", False), ("instruction", "a")
    write = ("logit_bias", {"3": 1}), ("ignore_eos", True), ("stop_token_ids", [3]), ("best_of", 2), \
        ("response_format", {"type": "json_object"}), ("guided_regex", "a"), ("n_predict", 3), ("max_completion_tokens", 3)
    rank = ("top_k", 1), ("return_embeddings", True), ("truncation", False), ("rank_fields", ["a"])
    rows = (("/v1/embeddings", {"input": "a", "model": "model"}, embed_all), ("/v1/completions", {"prompt": "the", "max_tokens": 2}, write),
            ("/v1/rerank", {"query": "a", "documents": ["b"], "model": "pairs"}, rank),
            ("/v2/rerank", {"query": "a", "documents": ["b"], "model": "pairs"}, rank))
    with Server(program, "-m", "causal", "-m", "model", "-m", "pairs") as s:
        for path, body, members in rows:
            status(s.post(path, dict(body, user="me", metadata={"a": "b"}, unknown=None)), 200)
            for name, value in members:
                a = status(s.post(path, {**body, name: value}), 400 if path in OPENAI else 422).json()
                message = a["message"] if "rerank" in path else a["error"]["message"]
                expect(f"`{name}`" in message, path, name, a)
        raw, usual = (status(s.post("/v1/rerank", {"query": "a", "documents": ["b"], "model": "pairs", "raw_scores": raw}), 200)
                      .json()["results"][0]["relevance_score"] for raw in (True, False))
        expect(raw != usual, "raw scores", raw, usual)
        status(s.post("/embed", {"inputs": "a", "model": "model", "unknown": 1}), 200)


# ---- answers ---------------------------------------------------------------------------------------------------------

@test
def answers_name_their_tokens():
    parts = {"source_sentence": "a", "sentences": ["the river"]}
    cases = (("model", "/embed", {"inputs": "the river"}), ("model", "/embed_all", {"inputs": "the river"}),
             ("model", "/embed_sparse", {"inputs": "the river"}), ("model", "/similarity", {"inputs": parts}),
             ("model", "/v1/embeddings", {"input": "the river"}), ("model", "/fill_mask", {"inputs": "a [MASK]"}),
             ("causal", "/generate", {"inputs": "a", "parameters": {"max_new_tokens": 2}}),
             ("causal", "/v1/completions", {"prompt": "a", "max_tokens": 2}), ("labels", "/predict", {"inputs": "a"}),
             ("pairs", "/rerank", {"query": "a", "texts": ["b"]}), ("translate", "/", {"inputs": "one two"}))
    for model in sorted({c[0] for c in cases}):
        with Server(program, "-m", model) as s:
            before = 0
            for _, path, body in (c for c in cases if c[0] == model):
                a = status(s.post(path, body), 200)
                expect(int(a.headers["x-compute-tokens"]) > 0, path, a)
                s.wait_for(lambda s=s, n=before: s.metric("roformer_tokens_total") > n, "they are counted")
                before = s.metric("roformer_tokens_total")
    with Server(program, "-m", "model") as s:              # of requests that are computed together, each its own
        texts = ["[MASK]", "the old [MASK]", "a river of [MASK] and more"]
        alone = [s.post("/fill_mask", {"inputs": t}) for t in texts]
        expect([int(a.headers["x-compute-tokens"]) for a in alone] == [len(s.post("/tokenize", {"inputs": t}).json()[0])
                                                                       for t in texts], alone)


@test
def an_encoder_without_a_head_gives_vectors():
    with Server(program, "-m", "encoder") as s:
        a = status(s.post("/", {"inputs": TEXT}), 200).json()
        expect(a == status(s.post("/embed", {"inputs": TEXT}), 200).json(), "POST / and /embed differ")
        for path in "/fill_mask", "/embed_sparse":
            expect("an encoder without a head" in status(s.post(path, {"inputs": "a"}), 424).json()["error"], path)
        row = status(s.ask("GET", "/v1/models"), 200).json()["data"][0]
        expect("fill-mask" not in row["can"] and "similarity" in row["can"], "a panel for what the model cannot do", row)
        refused = status(s.post("/", {"inputs": TEXT, "parameters": {"truncation": True}}), 422).json()["error"]
        expect("`truncation`" in refused, refused)


@test
def a_list_of_texts_is_a_batch_on_the_root():
    with Server(program, "-m", "labels") as s:
        one = [status(s.post("/", {"inputs": t}), 200).json()[0] for t in ("one", "two", "three")]
        for n in 1, 2, 3:
            a = status(s.post("/", {"inputs": ["one", "two", "three"][:n]}), 200).json()
            expect(a == one[:n], n, a)
        pair = status(s.post("/predict", {"inputs": ["one", "two"]}), 200).json()
        a = status(s.post("/", {"inputs": [{"text": "one", "text_pair": "two"}, {"text": "one"}, ["one", "two"]]}), 200).json()
        expect(a == [pair, one[0], pair], "pairs", a, pair)
        expect(status(s.post("/", {"inputs": {"text": "one", "text_pair": "two"}}), 200).json() == [pair], "one pair")
        for bad in ({"text": 1}, {"text": "a", "more": "b"}, [["a", "b", "c"]], [1], {}):
            status(s.post("/", {"inputs": bad}), 422)


@test
def labels_of_the_request():
    """Zero-shot classification on /predict, by a model whose labels do not say what entailment is."""
    with Server(program, "-m", "labels", "--max-service-batch-size", "8") as s:
        def ask(code, inputs="one two", **parameters):
            return status(s.post("/predict", {"inputs": inputs, "parameters": parameters}), code)
        a = ask(200, candidate_labels=["three", "four, five"])
        expect(sorted(a.json()) == ["labels", "scores", "sequence"] and a.json()["sequence"] == "one two", a)
        expect(a.headers.get("warning", "").startswith("299 "), a)
        expect(sorted(a.json()["labels"]) == ["four, five", "three"] and abs(sum(a.json()["scores"]) - 1) < 1e-5, a)
        three = ask(200, ["one two", "two", "three"], candidate_labels="three, four , five"[:11]).json()
        expect([x["sequence"] for x in three] == ["one two", "two", "three"], three)
        expect(ask(200, ["one two"], candidate_labels=["three", "four, five"]).json() == [a.json()], a)
        status(s.post("/predict", {"inputs": ["one", "two", "three"]}), 422)        # neither a pair nor a batch, as TEI has them
        expect("warning" not in status(s.post("/predict", {"inputs": "one"}), 200).headers, "a warning without labels")
        for code, word, inputs, parameters in (
                (400, "candidate_labels", "one", {"candidate_labels": []}), (400, "candidate_labels", "one", {"candidate_labels": " , "}),
                (422, "candidate_labels", "one", {"candidate_labels": [1]}), (422, "multi_label", "one", {"multi_label": True}),
                (422, "top_k", "one", {"candidate_labels": ["a"], "top_k": 1}), (400, "inputs", "", {"candidate_labels": ["a"]}),
                (422, "hypothesis_template", "one", {"candidate_labels": ["a"], "hypothesis_template": "no place"}),
                (422, "hypothesis_template", "one", {"candidate_labels": ["one " * 9000], "hypothesis_template": "{0}" * 9000}),
                (422, "candidate_labels", "one", {"candidate_labels": ["one " * 600]}),
                (422, "max-service-batch-size", "one", {"candidate_labels": list("abcdefghi")}),
                (422, "inputs", [["one", "two"]], {"candidate_labels": ["a"]})):
            refused = ask(code, inputs, **parameters)
            expect(word in refused.json()["error"], word, refused)
        for truncate, code in ((True, 200), (False, 422)):
            status(s.post("/predict", {"inputs": "one " * 600, "truncate": truncate, "parameters": {"candidate_labels": ["a"]}}), code)
        whole = status(s.post("/vertex", {"instances": [{"inputs": "one two", "parameters": {"candidate_labels": ["three", "four, five"]}}]}), 200)
        expect(whole.json() == {"predictions": [a.json()]}, whole)


@test
def a_model_is_named_on_every_route():
    with Server(program, "-m", "model", "-m", "other") as s:
        first, second = [status(s.post("/embed", {"inputs": TEXT, "model": m}), 200).json() for m in ("model", "other")]
        expect(first == status(s.post("/embed", {"inputs": TEXT}), 200).json() and first != second, "the models give the same vectors")
        expect(status(s.post("/", {"inputs": "a [MASK]", "model": "other"}), 200).json() !=
               status(s.post("/", {"inputs": "a [MASK]"}), 200).json(), "POST /")
        for path, body in (("/embed", {"inputs": "a"}), ("/", {"inputs": "a"}), ("/tokenize", {"inputs": "a"}),
                           ("/fill_mask", {"inputs": "a [MASK]"}), ("/decode", {"ids": [1]}), ("/embed_all", {"inputs": "a"})):
            status(s.post(path, dict(body, model="nobody")), 404)


@test
def documents_are_not_truncated_by_themselves():
    long = {"query": "a", "documents": ["b", "b c d e f"]}
    with Server(program, "-m", "pairs") as s:
        whole = status(s.post("/v2/rerank", long), 200).json()["results"]
        same = status(s.post("/v2/rerank", dict(long, max_tokens_per_doc=4096, max_chunks_per_doc=None)), 200).json()["results"]
        expect(whole == same, "a limit that no document reaches", whole, same)
        for path in "/v1/rerank", "/v2/rerank":
            status(s.post(path, dict(long, documents=["b"], max_tokens_per_doc=3)), 200)
            a = status(s.post(path, dict(long, max_tokens_per_doc=1)), 422).json()
            expect("`max_tokens_per_doc`: expected at least the" in a["message"] and "of document 1, got 1" in a["message"], a)
            expect(status(s.post(path, dict(long, max_chunks_per_doc=10)), 200).json()["results"] == whole, "one chunk")
            status(s.post(path, dict(long, documents=["b", long_text(600)])), 200)
            a = status(s.post(path, dict(long, documents=["b", long_text(600)], max_chunks_per_doc=10)), 422).json()
            expect("tokens. Given: " in a["message"], a)


@test
def a_completion_ends_before_its_stop_string():
    with Server(program, "-m", "causal") as s:
        ask = {"prompt": "the", "max_tokens": 40, "temperature": 0}
        whole = status(s.post("/v1/completions", ask), 200).json()["choices"][0]
        expect(whole["finish_reason"] == "length" and len(whole["text"]) > 12, whole)
        text = whole["text"]
        for stops in (text[5:7], text[3:9], [text[8:10], text[4:6]], [text[6:8] + "\u00e9", text[9:11]], text[:2]):
            listed = [stops] if isinstance(stops, str) else stops
            ends = [text.find(x) for x in listed if x in text]
            expected = text[:min(ends)]
            one = status(s.post("/v1/completions", dict(ask, stop=stops)), 200).json()["choices"][0]
            expect((one["text"], one["finish_reason"]) == (expected, "stop"), stops, one, expected)
            streamed = status(s.post("/v1/completions", dict(ask, stop=stops, stream=True)), 200).body.decode()
            events = [json.loads(line[6:]) for line in streamed.split("\n") if line.startswith("data: {")]
            expect("".join(e["choices"][0]["text"] for e in events) == expected, stops, streamed, expected)
            expect(events[-1]["choices"][0]["finish_reason"] == "stop", events[-1])
        whole = status(s.post("/v1/completions", dict(ask, stop=text[-3:] + "never", stream=True)), 200).body.decode()
        events = [json.loads(line[6:]) for line in whole.split("\n") if line.startswith("data: {")]
        expect("".join(e["choices"][0]["text"] for e in events) == text, "the end of a text that could become a stop string")


@test
def several_prompts_and_texts_are_completed():
    ask = {"max_tokens": 6, "temperature": 0}
    with Server(program, "-m", "causal") as s:
        def complete(prompt, **more):
            return status(s.post("/v1/completions", {"prompt": prompt, **ask, **more}), 200).json()
        alone = [complete(p)["choices"][0] for p in ("the", "a b", "river")]
        tokens = [complete(p)["usage"]["prompt_tokens"] for p in ("the", "a b", "river")]
        both = complete(["the", "a b", "river"])
        expect([(c["text"], c["finish_reason"]) for c in both["choices"]] == [(c["text"], c["finish_reason"]) for c in alone], both)
        expect([c["index"] for c in both["choices"]] == [0, 1, 2] and both["usage"]["prompt_tokens"] == sum(tokens), both)
        twice = complete(["the", "river"], n=2)
        expect([c["text"] for c in twice["choices"]] == [alone[i]["text"] for i in (0, 0, 2, 2)], twice)
        expect(twice["usage"]["completion_tokens"] == 24 and twice["usage"]["prompt_tokens"] == tokens[0] + tokens[2], twice)
        expect(complete("the", echo=True)["choices"][0]["text"] == "the" + alone[0]["text"], "echo")
        drawn = complete("the", n=8, temperature=2, seed=3, max_tokens=9)["choices"]
        expect(len({c["text"] for c in drawn}) > 1, "texts of a prompt are drawn by themselves", drawn)
        expect(complete("the", n=8, temperature=2, seed=3, max_tokens=9)["choices"] == drawn, "a seed gives the same texts")
        expect(complete("the", temperature=2, seed=3, max_tokens=9)["choices"][0] == drawn[0], "the first one is that of n 1")
        for more in ({}, {"echo": True}):
            events, whole = events_of(s, {"prompt": ["the", "river"], "n": 2, **ask, **more})
            text, ends = [""] * 4, []
            for e in events:
                c = e["choices"][0]
                text[c["index"]] += c["text"]
                ends += [c["index"]] if c["finish_reason"] else []
            expected = [("the" if more and i < 2 else "river" if more else "") + alone[0 if i < 2 else 2]["text"] for i in range(4)]
            expect(whole and text == expected and sorted(ends) == [0, 1, 2, 3], text, expected, ends)
        status(s.post("/v1/completions", {"prompt": ["a"] * 100, "n": 128, **ask}), 400)
        expect("use /v1/chat/completions" in status(s.post("/v1/responses", {}), 404).json()["error"]["message"], "responses")
        status(s.post("/v1/completions", {"prompt": [], **ask}), 400)
        status(s.post("/v1/completions", {"prompt": "a", "n": 2, "best_of": 3, **ask}), 400)
        a = status(s.post("/generate", {"inputs": "the", "parameters": {"num_return_sequences": 2, "max_new_tokens": 6, "do_sample": False}}), 200).json()
        expect([g["generated_text"] for g in a] == ["the" + alone[0]["text"]] * 2, a)


def events_of(s, body):
    """The events of a stream, and whether it has its end."""
    lines = status(s.post("/v1/completions", dict(body, stream=True)), 200).body.decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")], "data: [DONE]" in lines


@test
def a_stream_has_the_text_of_an_answer_that_ends_within_a_character():
    halves = 0
    with Server(program, "-m", "letters") as s:
        for n in range(1, 9):
            ask = {"prompt": "\u65e5\u672c", "max_tokens": n, "temperature": 0}
            text = status(s.post("/v1/completions", ask), 200).json()["choices"][0]["text"]
            events, whole = events_of(s, ask)
            expect(whole and "".join(e["choices"][0]["text"] for e in events) == text, n, text, events)
            halves += text.endswith("\ufffd")
    expect(halves > 0, "no text ends within a character")


@test
def a_stream_has_its_numbers_of_tokens_when_it_is_asked():
    ask = {"prompt": "the", "max_tokens": 5, "temperature": 0}
    with Server(program, "-m", "causal") as s:
        usage = status(s.post("/v1/completions", ask), 200).json()["usage"]
        events, whole = events_of(s, ask)
        expect(whole and not any("usage" in e for e in events), events)
        asked, whole = events_of(s, dict(ask, stream_options={"include_usage": True}))
        expect(whole and asked[-1]["choices"] == [] and asked[-1]["usage"] == usage, asked[-1], usage)
        expect(all(e["usage"] is None for e in asked[:-1]), asked)
        expect([e["choices"] for e in asked[:-1]] == [e["choices"] for e in events], asked, events)
        for bad in ({"include_usage": 1}, {"more": True}, 1):
            status(s.post("/v1/completions", dict(ask, stream=True, stream_options=bad)), 400)
        a = status(s.post("/v1/completions", dict(ask, stream_options={"include_usage": True})), 400)
        expect("stream_options" in a.body.decode(), a)


@test
def one_model_by_its_name():
    with Server(program, "-m", "model", "-m", "a/b=other", "--alias", "short=a/b") as s:
        models = {m["id"]: m for m in s.ask("GET", "/v1/models").json()["data"]}
        expect(set(models) == {"model", "a/b", "short"}, models)
        for name in models:
            for path in name, name.replace("/", "%2F"):
                a = status(s.ask("GET", f"/v1/models/{path}"), 200).json()
                expect(a == models[name], path, a, models[name])
        for bad in ("nobody", "", "a", "model/", "a/b/c", "model%00", "x" * 5000, "../embed"):
            status(s.ask("GET", f"/v1/models/{bad}"), 404)
        expect(status(s.post("/v1/models/model", {}), 405).headers["allow"] == "GET", "the method")


@test
def vectors_and_tokens_in_the_form_of_cohere():
    texts = ["the old river", "paris"]
    with Server(program, "-m", "model") as s:
        v = status(s.post("/embed", {"inputs": texts}), 200).json()
        plain = status(s.post("/v1/embed", {"texts": texts, "model": "model", "input_type": "search_query"}), 200).json()
        expect((plain["embeddings"], plain["texts"], plain["response_type"]) == (v, texts, "embeddings_floats"), plain)
        for path in "/v1/embed", "/v2/embed":
            a = status(s.post(path, {"texts": texts, "embedding_types": ["float", "base64"], "truncate": "START"}), 200).json()
            expect(a["embeddings"]["float"] == v and a["meta"]["api_version"]["version"] == path[2], a)
            floats = [struct.unpack(f"<{len(v[0])}f", base64.b64decode(x)) for x in a["embeddings"]["base64"]]
            expect(all(abs(x - y) < 1e-7 for f, w in zip(floats, v) for x, y in zip(f, w)), "base64", floats, v)
        expect(status(s.post("/v2/embed", {"texts": texts}), 200).json()["embeddings"] == {"float": v}, "numbers")
        many = {"texts": ["a"] * 96, "truncate": "NONE"}
        expect(len(status(s.post("/v2/embed", many), 200).json()["embeddings"]["float"]) == 96, "96 texts")
        for bad in ({"embedding_types": ["int8"]}, {"truncate": "LEFT"}, {"input_type": "image"}, {"images": ["a"]}, {"texts": [long_text(100)], "truncate": "NONE"}):
            expect("message" in status(s.post("/v2/embed", {"texts": texts, **bad}), 422).json(), bad)
        tokens = status(s.post("/v1/tokenize", {"text": "the old river", "model": "model"}), 200).json()
        own = status(s.post("/tokenize", {"inputs": "the old river", "add_special_tokens": False}), 200).json()[0]
        expect(tokens["tokens"] == [t["id"] for t in own] and tokens["token_strings"] == [t["text"] for t in own], tokens)
        expect(status(s.post("/v1/detokenize", {"tokens": tokens["tokens"]}), 200).json()["text"] == "the old river", "the text")


@test
def options_that_say_what_is_computed_are_taken():
    """huggingface_hub sends them."""
    with Server(program, "-m", "labels") as s:
        own = status(s.post("/", {"inputs": "a"}), 200).json()
        expect(status(s.post("/", {"inputs": "a", "parameters": {"function_to_apply": "softmax"}}), 200).json() == own, own)
    with Server(program, "-m", "translate", "--languages", "en:de") as s:
        own = status(s.post("/", {"inputs": "one two"}), 200).json()
        languages = {"src_lang": "en", "tgt_lang": "de"}
        expect(status(s.post("/", {"inputs": "one two", "parameters": languages}), 200).json() == own, own)
        a = status(s.post("/", {"inputs": "one two", "parameters": {**languages, "tgt_lang": "fr"}}), 422).json()
        expect("`tgt_lang`: expected de, got fr" in a["error"], a)


@test
def languages_are_those_of_the_tokenizer():
    with Server(program, "-m", "nllb") as s:
        def ask(**languages):
            return s.post("/", {"inputs": "the lazy dog", "parameters": languages})
        rows = [status(ask(src_lang="eng_Latn", tgt_lang=t), 200).json()[0]["translation_text"] for t in ("zho_Hans", "deu_Latn")]
        for target, row in zip(("zho_Hans", "deu_Latn"), rows):
            own = subprocess.run([program, "translate", "-q", "-m", "nllb", "--source_lang", "eng_Latn", "--target_lang", target, "the lazy dog"],
                                 capture_output=True, text=True, check=True).stdout.strip()
            libre = status(s.post("/translate", {"q": "the lazy dog", "source": "eng_Latn", "target": target}), 200).json()
            expect(row == own == libre["translatedText"], (row, own, libre))
        a = status(ask(tgt_lang="en"), 422).json()
        expect("tgt_lang: expected a language of the tokenizer, such as eng_Latn" in a["error"], a)
        whole = languages = status(s.ask("GET", "/languages"), 200).json()
        expect([x["code"] for x in languages][1] == "eng_Latn" and "eng_Latn" not in languages[1]["targets"], languages)
    shutil.copytree("nllb", "nllb-task")                        # a task that the languages make pointless, as in folders of mBART
    config = pathlib.Path("nllb-task/config.json")
    config.write_text(json.dumps(dict(json.loads(config.read_text()), task_specific_params={"translation_en_to_ro": {"num_beams": 2}})))
    with Server(program, "-m", "nllb-task") as s:
        libre = status(s.post("/translate", {"q": "the lazy dog", "source": "eng_Latn", "target": "deu_Latn"}), 200).json()
        expect(libre["translatedText"] == row, libre, row)
        expect(status(s.ask("GET", "/languages"), 200).json() == whole, "languages")


@test
def tasks_of_a_translator_name_its_languages():
    def own(*options):
        return subprocess.run([program, "translate", "-q", "-m", "t5", *options, "a river"], capture_output=True, text=True, check=True).stdout.strip("\n")
    with Server(program, "-m", "t5") as s:
        task, plain = own("--task", "translation_en_to_de"), own()
        expect(task != plain, task)
        libre = status(s.post("/translate", {"q": "a river", "source": "en", "target": "de"}), 200).json()
        expect(libre["translatedText"] == task, libre, task)
        libre = status(s.post("/translate", {"q": ["a river"], "source": "auto", "target": "de"}), 200).json()
        expect(libre["translatedText"] == [task] and libre["detectedLanguage"][0]["language"] == "en", libre, task)
        for options, expected in (({}, plain), ({"src_lang": "en", "tgt_lang": "de"}, task)):
            row = status(s.post("/", {"inputs": "a river", "parameters": options}), 200).json()[0]
            expect(row["translation_text"] == expected, row, expected)
        for a in (status(s.post("/translate", {"q": "a", "source": "de", "target": "en"}), 400),
                  status(s.post("/", {"inputs": "a", "parameters": {"tgt_lang": "fr"}}), 422)):
            expect("config.json has a task (en:de), got others" in a.json()["error"], a)
        expect(status(s.ask("GET", "/languages"), 200).json() == [{"code": "en", "name": "en", "targets": ["de"]}, {"code": "de", "name": "de", "targets": []}], "languages")
    with Server(program, "-m", "t5", "--languages", "en:fr") as s:
        libre = status(s.post("/translate", {"q": "a river", "source": "en", "target": "fr"}), 200).json()
        expect(libre["translatedText"] == plain, libre)


@test
def a_translator_has_vectors():
    for model in ("t5", "translate", "nllb"):
        own = subprocess.run([program, "embed", "-q", "-m", model, "--format", "jsonl"], input="one two\n", capture_output=True, text=True, check=True).stdout
        with Server(program, "-m", model) as s:
            expect(status(s.post("/embed", {"inputs": "one two", "normalize": False}), 200).json() == [json.loads(own)], model, own)


@test
def a_model_has_other_names():
    ask = {"input": "a", "model": "text-embedding-3-small"}
    with Server(program, "-m", "model", "-m", "other") as s:
        a = status(s.post("/v1/embeddings", ask), 404).json()["error"]["message"]
        expect("expected one of model, other; start the server with --model-alias 'text-embedding-3-small', or with --any-model" in a, a)
        own, other = [status(s.post("/v1/embeddings", dict(ask, model=m)), 200).json()["data"] for m in ("model", "other")]
    with Server(program, "-m", "model", "-m", "other", "--model-alias", "text-embedding-3-small", "--model-alias", "x=other") as s:
        expect(status(s.post("/v1/embeddings", ask), 200).json()["data"] == own, "the first model")
        expect(status(s.post("/v1/embeddings", dict(ask, model="x")), 200).json()["data"] == other, "the second model")
        status(s.post("/v1/embeddings", dict(ask, model="y")), 404)
    with Server(program, "-m", "model", "-m", "other", "--any-model") as s:
        for name, expected in (("text-embedding-3-small", own), ("y", own), ("other", other)):
            expect(status(s.post("/v1/embeddings", dict(ask, model=name)), 200).json()["data"] == expected, name)
        status(s.ask("GET", "/v1/models/y"), 200)


@test
def a_reranker_is_used_as_one():
    with Server(program, "-m", "pairs") as s:
        ask = {"query": "a", "texts": ["b", "c d", "e"]}
        ranks = status(s.post("/rerank", ask), 200).json()
        expect(status(s.post("/", ask), 200).json() == ranks, "POST /")
        expect(list(status(s.ask("GET", "/info"), 200).json()["model_type"]) == ["reranker"], "/info")
        cohere = status(s.post("/v1/rerank", {"query": "a", "documents": ask["texts"], "top_n": 2, "return_documents": True}), 200).json()
        other = status(s.post("/rerank", {"query": "a", "documents": ask["texts"], "top_n": 2, "return_documents": True}), 200).json()
        expect(other["results"] == cohere["results"] and len(other["results"]) == 2, other, cohere)
        status(s.post("/rerank", {"query": "a"}), 422)
        status(s.post("/rerank", {"query": "a", "documents": ["b"] * 100}), 200)
        status(s.post("/rerank", {"query": "", "texts": ["b"]}), 200)
        status(s.post("/rerank", {"query": "a", "texts": ["b", ""]}), 200)
        status(s.post("/rerank", {"query": "", "texts": ["b", ""]}), 400)
        status(s.post("/predict", {"inputs": ["", "a"]}), 200)
        status(s.post("/predict", {"inputs": ["", ""]}), 400)
        status(s.post("/", {"texts": ["b"]}), 422)
    with Server(program, "-m", "labels", "-m", "model") as s:
        expect(list(status(s.ask("GET", "/info"), 200).json()["model_type"]) == ["classifier"], "/info")
        expect("embed" in s.ask("GET", "/v1/models/model").json()["can"], "can")
        for path in "/v1/embeddings/", "/embeddings/?a=b":
            status(s.post(path, {"input": "a", "model": "model"}), 200)
        status(s.ask("GET", "/v1/models/"), 404)


def ask_with(s, key):
    return s.post("/embed", {"inputs": "a"}, [f"Authorization: Bearer {key}"]).status


@test
def api_keys_are_read_again():
    def write(text):
        with open("keys", "w", encoding="ascii") as f:
            f.write(text)
    write("one\n")
    os.environ["ROFORMER_API_KEY"] = "of the environment"
    try:
        s = Server(program, "-m", "model", "--api-key-file", "keys")
        only = Server(program, "-m", "model")
    finally:
        del os.environ["ROFORMER_API_KEY"]
    with only:
        expect([ask_with(only, k) for k in ("of the environment", "one")] == [200, 401], "the environment's key alone")
    with s:
        expect([ask_with(s, k) for k in ("one", "two", "of the environment")] == [200, 401, 200], "the first keys")
        write("two\n")
        s.signal(signal.SIGHUP)
        s.wait_for(lambda: ask_with(s, "two") == 200, "the second key is known")
        expect([ask_with(s, k) for k in ("one", "of the environment")] == [401, 200], "the first key is not")
        write("# none\n")
        s.signal(signal.SIGHUP)
        s.wait_for(lambda: "the API keys read before are used" in s.err(), "a file without keys is reported")
        expect(ask_with(s, "two") == 200, "the keys before")


@test
def libretranslate_has_its_key_in_the_body():
    with open("keys", "w", encoding="ascii") as f:
        f.write("secret\n")
    body = {"q": "one two", "source": "en", "target": "de"}
    form = ["Content-Type: application/x-www-form-urlencoded"]
    with Server(program, "-m", "translate", "--languages", "en:de", "--api-key-file", "keys") as s:
        for key, code in (("secret", 200), ("wrong", 401), (None, 401), (1, 401)):
            status(s.post("/translate", dict(body, api_key=key)), code)
            status(s.post("/detect", {"q": "one", "api_key": key}), code)
        status(s.post("/translate", b"q=one&source=en&target=de&api_key=secret", form), 200)
        status(s.post("/translate", b"q=one&source=en&target=de", form), 401)
        status(s.post("/translate", body, ["Authorization: Bearer secret"]), 200)
        status(s.post("/embed", {"inputs": "a", "api_key": "secret"}), 401)
        a = status(s.post("/translate", b"q=one&source=en&target=de&q=two&api_key=secret", form), 400).json()
        expect("each name once" in a["error"], a)


@test
def json_under_the_type_of_a_form_is_json():
    """`curl -d` says that its body is a form."""
    typed = ["Content-Type: application/x-www-form-urlencoded"]
    with Server(program, "-m", "translate", "--languages", "en:de") as s:
        expected = status(s.post("/translate", {"q": "one two", "source": "en", "target": "de"}), 200).json()
        found = s.post("/detect", {"q": "one two"}).json()[0]
        for body in (b' {"q":"one two","source":"en","target":"de"}', b"q=one+two&source=en&target=de",
                     b"q=one%20two&source=auto&target=de"):
            a = status(s.post("/translate", body, typed), 200).json()
            same = dict(expected, detectedLanguage=found) if b"auto" in body else expected
            expect(a == same, body, a, same)
        a = status(s.post("/translate", {"q": ["one two", "one"], "source": "auto", "target": "de"}), 200).json()
        expect(a["detectedLanguage"][0] == found and len(a["detectedLanguage"]) == 2, a)
        for bad in (b'{"q":"one"', b"", b"{", b"%7B"):
            status(s.post("/translate", bad, typed), 400, 422)


@test
def special_tokens_in_a_text_are_text():
    """As text-embeddings-inference: only those that the tokenizer adds are special, without a place."""
    with Server(program, "-m", "model") as s:
        text = "the [MASK] old"
        tokens = status(s.post("/tokenize", {"inputs": text}), 200).json()[0]
        expect([t["special"] for t in tokens] == [True] + [False] * (len(tokens) - 2) + [True], tokens)
        expect(all(t["start"] is None and t["stop"] is None for t in (tokens[0], tokens[-1])), tokens)
        mask = [t for t in tokens if t["text"] == "[MASK]"]
        expect(len(mask) == 1 and text[mask[0]["start"]:mask[0]["stop"]] == "[MASK]", tokens)
        plain = status(s.post("/tokenize", {"inputs": text, "add_special_tokens": False}), 200).json()[0]
        expect(plain == tokens[1:-1], plain)


@test
def inputs_are_counted_by_what_is_asked():
    with Server(program, "-m", "model", "-m", "labels", "-m", "pairs") as s:
        status(s.post("/embed", {"inputs": ["a", "river", "the"]}), 200)
        status(s.post("/v1/embeddings", {"input": "a"}), 200)
        status(s.post("/embed_sparse", {"inputs": ["a", "river"]}), 200)
        status(s.post("/fill_mask", {"inputs": "a [MASK]"}), 200)
        status(s.post("/predict", {"inputs": [["a"], ["b"]], "model": "labels"}), 200)
        status(s.post("/rerank", {"query": "a", "texts": ["b", "c", "d"], "model": "pairs"}), 200)
        status(s.post("/embed", {"inputs": ["a", ""]}), 400)
        for name, n in (("embed", 6), ("predict", 5)):
            for what in ("count", "success", "duration_count", "tokenization_duration_count", "queue_duration_count",
                         "inference_duration_count"):
                s.wait_for(lambda name=name, what=what, n=n: s.metric(f"te_{name}_{what}") == n, f"te_{name}_{what} is {n}")
            expect(s.metric(f"te_{name}_duration_sum") > 0, name)


if __name__ == "__main__":
    main()
