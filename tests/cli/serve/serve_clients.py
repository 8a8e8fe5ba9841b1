"""serve_clients.py PROGRAM [WORD]... — what clients of text-embeddings-inference, Vertex AI, SageMaker and Hugging Face's
hub send; run by serve_clients.sh."""
import json
import math
import os
import resource
import shutil
import sys

from serve_client import Server, expect, main, status, test, together

program = sys.argv[1]


def near(a, b):
    return abs(a - b) < 1e-6


def softmax(z):
    e = [math.exp(x - max(z)) for x in z]
    return [x / sum(e) for x in e]


@test
def raw_scores_are_the_outputs_of_the_model():
    with Server(program, "-m", "labels") as s:
        for inputs in "the old city", ["the old", "city"], [["the old"], ["a", "b"]]:
            usual, raw = (status(s.post("/predict", {"inputs": inputs, "raw_scores": x}), 200).json() for x in (False, True))
            for a, z in zip(*([x] if isinstance(x[0], dict) else x for x in (usual, raw))):
                expect([x["label"] for x in a] == [x["label"] for x in z], a, z)
                expect(all(near(x["score"], y) for x, y in zip(a, softmax([x["score"] for x in z]))), a, z)
                expect(not near(sum(x["score"] for x in z), 1), "outputs", z)
        own = status(s.post("/", {"inputs": "the old city"}), 200).json()
        raw = status(s.post("/predict", {"inputs": "the old city", "raw_scores": True}), 200).json()
        for function, of in (("none", lambda z: z), ("softmax", None), ("sigmoid", lambda z: 1 / (1 + math.exp(-z)))):
            a = status(s.post("/", {"inputs": "the old city", "parameters": {"function_to_apply": function}}), 200).json()[0]
            expect(a == own[0] if not of else all(near(x["score"], of(z["score"])) for x, z in zip(a, raw)), function, a, raw)
            expect([x["label"] for x in a] == [x["label"] for x in raw], a)
        status(s.post("/", {"inputs": "a", "parameters": {"function_to_apply": "exp"}}), 422)


# Words that are one token each, so that a text without its first words is the text that is left.
WORDS = ["the", "old", "city", "a", "red", "house", "river"]


@test
def texts_are_cut_at_either_side():
    with Server(program, "-m", "model", "-m", "labels", "-m", "pairs") as s:
        for model, path, ask in (("model", "/embed", {}), ("model", "/embed_all", {}), ("model", "/embed_sparse", {}),
                                 ("model", "/v1/embeddings", {}), ("labels", "/predict", {}), ("labels", "/", {}),
                                 ("pairs", "/rerank", {"query": "a"})):
            words = [w for w in WORDS if len(status(s.post("/tokenize", {"inputs": w, "model": model}), 200).json()[0]) == 3]
            expect(len(words) > 2, model, words)
            most = [m for m in s.ask("GET", "/v1/models").json()["data"] if m["id"] == model][0]["max_input_length"]
            long = [words[(5 * i + i // 3) % len(words)] for i in range(most + 9)]

            def answer(text, **more):
                member = {"/rerank": "texts", "/v1/embeddings": "input"}.get(path, "inputs")
                whole = {**ask, "model": model, member: [text] if path == "/rerank" else text, **more}
                a = status(s.post(path, whole), 200).json()
                return [d["embedding"] for d in a["data"]] if path == "/v1/embeddings" else a

            left = answer(" ".join(long), truncation_direction="Left")
            right = answer(" ".join(long), truncation_direction="right")
            fits = [n for n in range(1, len(long)) if answer(" ".join(long[-n:]), truncation_direction="Left") == left]
            expect(fits and most - 6 <= fits[0] < most, path, "the last words", fits, most)
            expect(left != right and right == answer(" ".join(long)) == answer(" ".join(long[:fits[0]])), path, "the first words")
            for bad in "Middle", 1:
                a = s.post(path, {**ask, "model": model, ("texts" if path == "/rerank" else "input" if "v1" in path else "inputs"):
                                  ["a"], "truncation_direction": bad})
                expect("`truncation_direction`" in status(a, 400, 422).body.decode(), a)


def prompted(folder, default=None):
    shutil.copytree("model", folder)
    with open(f"{folder}/modules.json", "w", encoding="ascii") as f:
        json.dump([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                   {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}], f)
    os.mkdir(f"{folder}/1_Pooling")
    with open(f"{folder}/1_Pooling/config.json", "w", encoding="ascii") as f:
        json.dump({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, f)
    with open(f"{folder}/config_sentence_transformers.json", "w", encoding="ascii") as f:
        json.dump({"prompts": {"query": "the river ", "none": ""}, "default_prompt_name": default}, f)


@test
def a_prompt_is_put_before_texts_and_ids():
    prompted("with-prompt")
    prompted("by-default", "query")
    with Server(program, "-m", "with-prompt", "-m", "by-default") as s:
        for path in "/tokenize", "/embed_sparse", "/embed", "/embed_all":
            plain, whole, named = (status(s.post(path, {"inputs": t, **more}), 200).json() for t, more in (
                ("old", {}), ("the river old", {}), ("old", {"prompt_name": "query"})))
            expect(named == whole != plain, path, named, whole)
            expect(status(s.post(path, {"inputs": "old", "model": "by-default"}), 200).json() == whole, path, "the default prompt")
            expect(status(s.post(path, {"inputs": "old", "model": "by-default", "prompt_name": "none"}), 200).json() == plain, path)
            a = status(s.post(path, {"inputs": "old", "prompt_name": "other"}), 422).json()["error"]
            expect("prompt_name" in a and "other" in a, path, a)
        ids = [t["id"] for t in status(s.post("/tokenize", {"inputs": "old", "add_special_tokens": False}), 200).json()[0]]
        whole = status(s.post("/embed", {"inputs": "the river old"}), 200).json()
        for more in {"prompt_name": "query"}, {"model": "by-default"}:
            expect(status(s.post("/embed", {"inputs": ids, **more}), 200).json() == whole, "ids after a prompt", more)


@test
def token_ids_are_taken_as_they_are():
    """As text-embeddings-inference, vLLM and OpenAI: the client adds [CLS] and [SEP]."""
    with Server(program, "-m", "model") as s:
        tokens = status(s.post("/tokenize", {"inputs": "the old river"}), 200).json()[0]
        ids = [t["id"] for t in tokens]
        text = status(s.post("/embed", {"inputs": "the old river"}), 200)
        whole = status(s.post("/embed", {"inputs": ids}), 200)
        expect(whole.json() == text.json() and whole.headers["x-compute-tokens"] == str(len(ids)), whole)
        part = status(s.post("/embed", {"inputs": [ids[1:-1], ids]}), 200)
        expect(part.headers["x-compute-tokens"] == str(2 * len(ids) - 2), part)
        expect(part.json()[0] != part.json()[1] == text.json()[0], "the same vectors without [CLS] and [SEP]")
        data = status(s.post("/v1/embeddings", {"input": [ids[1:-1], ids]}), 200).json()["data"]
        expect([d["embedding"] for d in data] == part.json(), "OpenAI's form")
        long = ids[1:-1] * 40
        for side, kept in (("left", long[-64:]), ("right", long[:64]), (None, long[:64])):
            a = status(s.post("/embed", {"inputs": long, "truncation_direction": side}), 200).json()
            expect(a == status(s.post("/embed", {"inputs": kept}), 200).json(), side)
        expect("at most 64 tokens. Given: 120" in status(s.post("/embed", {"inputs": long, "truncate": False}), 422).json()["error"], "long")
        expect("`inputs`: expected ids from 0 to" in status(s.post("/embed", {"inputs": [10 ** 6]}), 422).json()["error"], "an id")


@test
def sagemaker_and_vertex_are_served():
    with Server(program, "-m", "model", "-m", "labels", "-m", "pairs") as s:
        rank = {"query": "a", "texts": ["b", "c d"], "model": "pairs"}
        for body in {"inputs": "the [MASK]"}, {"inputs": "a", "model": "labels"}, rank:
            expect(status(s.post("/invocations", body), 200).json() == status(s.post("/", body), 200).json(), body)
        texts = {"inputs": ["the old river", "a"], "normalize": False}
        labels = {"inputs": [["a"], ["b", "c"]], "model": "labels", "raw_scores": True}
        parts = [(texts, "/embed"), (labels, "/predict"), (rank, "/rerank"), ({"inputs": "a"}, "/embed")]
        answers = [status(s.post(path, body), 200) for body, path in parts]
        a = status(s.post("/vertex", {"instances": [p[0] for p in parts]}), 200)
        expect(a.json() == {"predictions": [x.json() for x in answers]}, a)
        expect(int(a.headers["x-compute-tokens"]) == sum(int(x.headers["x-compute-tokens"]) for x in answers), a)
        a = status(s.post("/vertex", {"instances": [{"inputs": "a"}], "model": "labels"}), 200).json()
        expect(a["predictions"][0] == status(s.post("/predict", {"inputs": "a", "model": "labels"}), 200).json(), a)
        for bad, code, word in (({"instances": []}, 400, "`instances`"), ({"instances": ["a"]}, 422, "`instances`"),
                                ({"instances": [texts, {"inputs": 1}]}, 422, "`inputs`"), ({}, 422, "`instances`"),
                                ({"instances": [texts, {"inputs": "a", "model": "nobody"}]}, 404, "nobody"),
                                ({"instances": [{"inputs": ["a"] * 33}]}, 422, "batch size 33"),
                                ({"instances": [texts, {"inputs": "a", "model": "labels"}, {**rank, "model": "model"}]}, 424, "model"),
                                ({"instances": [{"inputs": "a"}] * 33}, 422, "batch size 33")):
            for _ in range(3):
                expect(word in status(s.post("/vertex", bad), code).json()["error"], bad)
        before = s.metric("te_embed_count")
        status(s.post("/vertex", {"instances": [{"inputs": "a"}] * 32}), 200)
        s.wait_for(lambda: s.metric("te_embed_count") == before + 32, "the inputs are counted")
    shutil.copytree("model", "splade")
    with open("splade/modules.json", "w", encoding="ascii") as f:
        json.dump([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.sparse_encoder.models.MLMTransformer"},
                   {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": "sentence_transformers.sparse_encoder.models.SpladePooling"}], f)
    os.mkdir("splade/1_SpladePooling")
    with open("splade/1_SpladePooling/config.json", "w", encoding="ascii") as f:
        json.dump({"pooling_strategy": "max", "activation_function": "relu"}, f)
    with Server(program, "-m", "splade") as s:
        a = status(s.post("/vertex", {"instances": [{"inputs": "the river"}]}), 200).json()["predictions"]
        expect(a == [status(s.post("/embed_sparse", {"inputs": "the river"}), 200).json()], a)


def log_lines(name):
    with open(name, encoding="ascii") as f:
        return f.read().split("\n")


@test
def keys_have_names_in_the_log():
    with open("keys", "w", encoding="ascii") as f:
        f.write("# the keys\nplain\nalice  secret-1 \nbob.2\tsecret-2\nsk:with/other=characters\n")
    with Server(program, "-m", "model", "--api-key-file", "keys", "--access-log", "json.log") as s, \
            Server(program, "-m", "model", "--api-key-file", "keys", "--access-log", "common.log", "--log-format", "common") as c:
        for key, code, name in (("plain", 200, None), ("secret-1", 200, "alice"), ("secret-2", 200, "bob.2"),
                                ("sk:with/other=characters", 200, None), ("alice", 401, None), ("alice secret-1", 401, None)):
            for server, log in (s, "json.log"), (c, "common.log"):
                n = len(log_lines(log))
                status(server.post("/embed", {"inputs": "a"}, [f"Authorization: Bearer {key}"]), code)
                server.wait_for(lambda log=log, n=n: len(log_lines(log)) > n, "its line is in the log")
                line = log_lines(log)[-2]
                expect(json.loads(line).get("key") == name if server is s else line.split(" ")[1:3] == ["-", name or "-"], key, line)
                expect("secret" not in line and "plain" not in line, "a key in the log", line)


@test
def a_line_that_a_full_disk_cut_is_taken_back():
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Server(program, "-m", "model", "--access-log", "full.log") as s:
        s.ask("GET", "/metrics")
        s.wait_for(lambda: any('"/metrics"' in x for x in log_lines("full.log")[:-1]), "the lines so far")
        size = os.path.getsize("full.log")
        resource.prlimit(s.pid, resource.RLIMIT_FSIZE, (size + 20, limit[1]))
        s.ask("GET", "/ping")
        s.wait_for(lambda: "expected to write a line" in s.err(), "the full disk is reported")
        s.ask("GET", "/ping")
        resource.prlimit(s.pid, resource.RLIMIT_FSIZE, limit)
        s.ask("GET", "/info")
        s.wait_for(lambda: "lines are written again" in s.err(), "the log goes on")
        s.wait_for(lambda: any('"/info"' in x for x in log_lines("full.log")[:-1]), "the line after it")   # written after the answer
        lines = [x for x in log_lines("full.log") if x]
        expect(all(json.loads(x) for x in lines), "whole lines", lines)


@test
def threads_are_few():
    """As deploy/roformer.service counts them."""
    for models in 1, 3:
        with Server(program, "--threads", "2", *[x for i in range(models) for x in ("-m", f"m{i}=model")]) as s:
            together([lambda s=s: s.post("/embed", {"inputs": "a"}) for _ in range(16)])
            threads = len(os.listdir(f"/proc/{s.pid}/task"))
            expect(threads <= 2 * 2 + models + 5, models, threads)


def differs(schema, value, types, path="answer"):
    """Why a value does not have a schema of OpenAPI 3.0, or has members that it does not name; None: it has it."""
    if "$ref" in schema:
        return differs(types[schema["$ref"].rsplit("/", 1)[1]], value, types, path)
    if "anyOf" in schema:
        reasons = [differs(one, value, types, path) for one in schema["anyOf"]]
        return None if None in reasons else "; ".join(reasons)
    if not schema or (value is None and schema.get("nullable")):
        return None
    kinds = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "object": dict, "array": list}
    if not isinstance(value, kinds[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return f"{path}: expected {schema['type']}, got {value!r}"
    if schema["type"] == "array":
        return next((d for i, x in enumerate(value) if (d := differs(schema["items"], x, types, f"{path}[{i}]"))), None)
    members = schema.get("properties")
    if schema["type"] != "object" or members is None:
        return None
    missing = set(schema.get("required", [])) - set(value)
    unknown = set(value) - set(members)
    if missing or unknown:
        return f"{path}: {sorted(missing)} are missing, {sorted(unknown)} are not described"
    return next((d for k, x in value.items() if (d := differs(members[k], x, types, f"{path}.{k}"))), None)


@test
def answers_are_as_openapi_describes_them():
    models = ("model", "causal", "pairs", "labels", "translate", "chat")
    with Server(program, *[x for m in models for x in ("-m", m)], "--languages", "en:de", "--index", "lines") as s:
        a = status(s.post("/search", {"query": "a", "model": "labels"}), 424).json()["error"]
        expect("has no index; set `model` to 'model'" in a, a)
        api = status(s.ask("GET", "/openapi.json"), 200).json()
        types, ids, seen = api["components"]["schemas"], [], []
        for path, methods in api["paths"].items():
            for method, one in methods.items():
                ids.append(one["operationId"])
                expect(one["tags"] and one["tags"] != ["others"], path, "answers.def has no row for this route")
                content = one["responses"]["200"].get("content", {})
                schema = content.get("application/json", {}).get("schema")
                for code, answer in one["responses"].items():
                    expect(code == "200" or "application/json" in answer["content"], path, code)
                if not schema or path in ("/openapi.json", "/api-doc/openapi.json", "/v1/responses"):
                    continue
                path = path.replace("{model}", "model")
                body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
                expect(method == "get" or body.get("example"), path, "answers.def has no example")
                if path == "/languages":
                    continue                                    # of the first model, which is not a translator
                tried = [s.ask(method.upper(), path, body and {**body["example"], "model": m}) for m in models]
                good = [a for a in tried if a.status == 200]
                expect(good, path, tried)
                for a in tried:
                    of = schema if a.status == 200 else one["responses"][str(a.status)]["content"]["application/json"]["schema"]
                    reason = differs(of, a.json(), types)
                    expect(not reason, path, reason)
                seen.append(path)
        expect(len(set(ids)) == len(ids) and len(seen) > 24, len(ids), len(seen))
        more = (("/v1/embeddings", {"input": "a", "encoding_format": "base64"}, "model"),
                ("/v2/embed", {"texts": ["a"], "embedding_types": ["float", "base64"]}, "model"),
                ("/rerank", {"query": "a", "documents": [{"text": "b"}], "return_documents": True}, "pairs"),
                ("/rerank", {"query": "a", "texts": ["b"], "return_text": True}, "pairs"),
                ("/predict", {"inputs": [["a"], ["b"]]}, "labels"), ("/fill_mask", {"inputs": ["a [MASK] [MASK]"]}, "model"),
                ("/translate", {"q": ["one"], "source": "auto", "target": "de", "alignments": True}, "translate"),
                ("/generate", {"inputs": "a", "parameters": {"details": True, "max_new_tokens": 2}}, "causal"),
                ("/v1/completions", {"prompt": "a", "max_tokens": 2, "logprobs": 2}, "causal"),
                ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, "logprobs": True}, "chat"),
                ("/detect", {"q": ["one"]}, "translate"), ("/positions", {}, "model"))
        for path, body, model in more:
            schema = api["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
            reason = differs(schema, status(s.post(path, {**body, "model": model}), 200).json(), types)
            expect(not reason, path, reason)
        page = status(s.ask("GET", "/docs"), 200).body.decode()
        expect(page.count('class="try"') > 40 and "ui/docs.js" in page, "requests to try")
    with Server(program, "-m", "translate", "--languages", "en:de") as s:
        reason = differs(api["paths"]["/languages"]["get"]["responses"]["200"]["content"]["application/json"]["schema"],
                         status(s.ask("GET", "/languages"), 200).json(), types)
        expect(not reason, "/languages", reason)


if __name__ == "__main__":
    main()
