"""serve_chat.py PROGRAM [WORD]... — chat completions; run by serve_chat.sh."""
import json
import shutil
import sys

from serve_client import Server, expect, main, status, test

program = sys.argv[1]

MESSAGES = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "yes"}, {"role": "user", "content": "where is the river?"}]
ASK = {"max_tokens": 8, "temperature": 0}


def text_of(messages, before="", after=""):
    return before + "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages) + "<|im_start|>assistant\n" + after


def chat(s, messages, **more):
    return status(s.post("/v1/chat/completions", {"messages": messages, **ASK, **more}), 200).json()


def complete(s, prompt, **more):
    return status(s.post("/v1/completions", {"prompt": prompt, **ASK, **more}), 200).json()


def same_text(a, b):
    x, y = a["choices"][0], b["choices"][0]
    expect((x["message"]["content"], x["finish_reason"], a["usage"]) == (y["text"], y["finish_reason"], b["usage"]), a, b)


def events_of(s, body):
    lines = status(s.post("/v1/chat/completions", {**ASK, **body, "stream": True}), 200).body.decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")], "data: [DONE]" in lines


@test
def the_template_makes_the_prompt():
    with Server(program, "-m", "chat") as s:
        a = chat(s, MESSAGES)
        expect(a["object"] == "chat.completion" and a["id"].startswith("chatcmpl-") and a["model"] == "chat" and a["created"] > 0, a)
        expect(a["choices"][0]["index"] == 0 and a["choices"][0]["message"]["role"] == "assistant", a)
        same_text(a, complete(s, text_of(MESSAGES)))
        expect(a["usage"]["prompt_tokens"] < len(text_of(MESSAGES)) - 50, "special tokens are read as special tokens", a)
        parts = [{"type": "text", "text": "where"}, {"type": "text", "text": "is the river?"}]
        same_text(chat(s, [{"role": "developer", "content": "Be brief", "name": None}, {"role": "user", "content": parts}]),
                  complete(s, text_of([MESSAGES[0], {"role": "user", "content": "where\nis the river?"}])))
        same_text(chat(s, MESSAGES[:2], chat_template_kwargs={"enable_thinking": False}),
                  complete(s, text_of(MESSAGES[:2], after="<think></think>")))
        tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        same_text(chat(s, MESSAGES[:2], tools=tools, tool_choice="auto"),
                  complete(s, text_of(MESSAGES[:2], "<|im_start|>system\n" + json.dumps(tools) + "<|im_end|>\n")))
        same_text(chat(s, MESSAGES[:2], tools=tools, tool_choice="none"), complete(s, text_of(MESSAGES[:2])))
        calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
        same_text(chat(s, [{"role": "assistant", "content": None, "tool_calls": calls}]),
                  complete(s, '<|im_start|>assistant\n<|im_end|>\n{"a": 1}<|im_start|>assistant\n'))


@test
def answers_end_at_the_tokens_of_the_folder_and_at_stop_strings():
    with Server(program, "-m", "chat") as s:
        whole = chat(s, MESSAGES, max_tokens=40)["choices"][0]
        every = complete(s, text_of(MESSAGES), max_tokens=40)["choices"][0]
        expect(whole["message"]["content"] == every["text"], whole, every)
        text = whole["message"]["content"]
        cut = chat(s, MESSAGES, max_tokens=40, stop=text[1])["choices"][0]
        expect(cut["message"]["content"] == text[:text.index(text[1])] and cut["finish_reason"] == "stop", cut)
        longest = status(s.post("/v1/chat/completions", {"messages": MESSAGES, "temperature": 0, "stop": "\u1234"}), 200).json()
        expect(longest["usage"]["total_tokens"] <= 1024, "at most the context", longest["usage"])
    shutil.copytree("chat", "ends")                        # the most likely token, ":", is an end token
    with open("ends/generation_config.json", "w", encoding="utf-8") as f:
        json.dump({"eos_token_id": [300, 25, 302]}, f)
    with Server(program, "-m", "ends") as s:
        expect(text[0] == ":" and chat(s, MESSAGES)["choices"][0] == {**whole, "message": {**whole["message"], "content": ""}, "finish_reason": "stop"}, text)


@test
def several_answers_and_seeds():
    with Server(program, "-m", "chat") as s:
        drawn = chat(s, MESSAGES, n=4, temperature=2, seed=3)
        expect([c["index"] for c in drawn["choices"]] == [0, 1, 2, 3] and len({c["message"]["content"] for c in drawn["choices"]}) > 1, drawn)
        expect(chat(s, MESSAGES, n=4, temperature=2, seed=3)["choices"] == drawn["choices"], "a seed gives the same answers")
        expect(chat(s, MESSAGES, max_completion_tokens=3)["usage"]["completion_tokens"] == 3, "max_completion_tokens")


@test
def streams():
    with Server(program, "-m", "chat") as s:
        whole = chat(s, MESSAGES, n=2)
        events, ended = events_of(s, {"messages": MESSAGES, "n": 2, "stream_options": {"include_usage": True}})
        expect(ended and events[-1]["usage"] == whole["usage"] and events[-1]["choices"] == [], events[-1])
        for i in 0, 1:
            own = [e["choices"][0] for e in events[:-1] if e["choices"][0]["index"] == i]
            expect(own[0]["delta"] == {"role": "assistant", "content": ""} and own[-1]["delta"] == {}, own)
            expect("".join(c["delta"].get("content", "") for c in own) == whole["choices"][i]["message"]["content"], own, whole)
            expect([c["finish_reason"] for c in own] == [None] * (len(own) - 1) + [whole["choices"][i]["finish_reason"]], own)
        expect(all(e["object"] == "chat.completion.chunk" and e["id"] == events[0]["id"] for e in events), events)
        events, ended = events_of(s, {"messages": MESSAGES})
        expect(ended and not any("usage" in e for e in events), events)


@test
def what_is_refused():
    image = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "a"}}]
    user = {"role": "user", "content": "a"}
    rows = (({}, "`messages`"), ({"messages": []}, "`messages`"), ({"messages": "a"}, "`messages`"), ({"messages": ["a"]}, "messages[0]"),
            ({"messages": [user, {"content": "a"}]}, "messages[1]"), ({"messages": [{"role": "user"}]}, "messages[0].content"),
            ({"messages": [{"role": "user", "content": image}]}, "image_url"), ({"messages": [{"role": "user", "content": 1}]}, "content"),
            ({"messages": [{"role": "tool", "content": "a"}]}, "No tools, please!"),
            ({"messages": [user], "chat_template_kwargs": {"messages": [1]}}, "`chat_template_kwargs`"),
            ({"messages": [user], "chat_template_kwargs": {"tools": []}}, "`chat_template_kwargs`"),
            ({"messages": [user], "response_format": {"type": "json_object"}}, "response_format"),
            ({"messages": [user], "tool_choice": "required"}, "tool_choice"), ({"messages": [user], "functions": []}, "functions"),
            ({"messages": [user], "stream_options": {"include_usage": True}}, "stream_options"), ({"messages": [user], "n": 0}, "`n`"),
            ({"messages": [user], "max_tokens": 100000}, "max_completion_tokens"),
            ({"messages": [{"role": "user", "content": "the river " * 400}]}, "maximum context length is 1024 tokens"),
            ({"messages": [{"role": "user", "content": "a" * 300000}]}, "maximum context length is 1024 tokens"))
    with Server(program, "-m", "chat", "-m", "causal", "-m", "encoder") as s:
        for body, word in rows:
            expect(word in status(s.post("/v1/chat/completions", body), 400).json()["error"]["message"], body, word)
        a = status(s.post("/v1/chat/completions", {"messages": [user], "model": "causal"}), 400).json()["error"]["message"]
        expect("no chat template" in a and "/v1/completions" in a, a)
        a = status(s.post("/v1/chat/completions", {"messages": [user], "model": "encoder"}), 400).json()["error"]["message"]
        expect("continues no text" in a, a)


@test
def templates_of_a_list_and_of_another_file():
    shutil.copytree("chat", "listed")
    with open("listed/chat_template.jinja", encoding="utf-8") as f:
        template = f.read()
    shutil.move("listed/chat_template.jinja", "listed/other")
    with open("listed/tokenizer_config.json", encoding="utf-8") as f:
        config = json.load(f)
    for folder, value, word in (("listed", [{"name": "tool_use", "template": "{{ tools | tojson }}"}, {"name": "default", "template": template}], ""),
                                ("unknown", "{% include 'a' %}", "line 1: expected if, for"), ("none", [{"name": "rag", "template": "a"}], "default")):
        if folder != "listed":
            shutil.copytree("listed", folder)
        with open(folder + "/tokenizer_config.json", "w", encoding="utf-8") as f:
            json.dump({**config, "chat_template": value}, f)
    with Server(program, "-m", "listed", "-m", "unknown", "-m", "none") as s:
        same_text(chat(s, MESSAGES), complete(s, text_of(MESSAGES)))
        same_text(chat(s, MESSAGES, tools=[1]), complete(s, "[1]"))
        for name, word in ("unknown", "line 1: expected if, for"), ("none", '"default"'):
            a = status(s.post("/v1/chat/completions", {"messages": MESSAGES, "model": name}), 400).json()["error"]["message"]
            expect(word in a and "use /v1/completions" in a, a)
            complete(s, "the", model=name)


def data_of(answer):
    return [json.loads(line[5:]) for line in answer.body.decode().split("\n") if line.startswith("data:") and "[DONE]" not in line]


@test
def completions_have_log_probabilities():
    ask = {"max_tokens": 9, "temperature": 0, "prompt": "hello"}
    with Server(program, "-m", "chat", "-m", "causal") as s:
        for model in "chat", "causal":
            none = status(s.post("/v1/completions", {**ask, "model": model}), 200).json()["choices"][0]
            expect(none["logprobs"] is None, none)
            for n in 0, 3:
                c = status(s.post("/v1/completions", {**ask, "model": model, "logprobs": n}), 200).json()["choices"][0]
                got = c["logprobs"]
                expect(c["text"] == none["text"] and {len(v) for v in got.values()} == {9}, c)
                if model == "causal":
                    expect("".join(got["tokens"]) == c["text"], c)
                    expect([c["text"][at:at + len(t)] for at, t in zip(got["text_offset"], got["tokens"])] == got["tokens"], c)
                for token, p, top in zip(got["tokens"], got["token_logprobs"], got["top_logprobs"]):
                    expect(top[token] == p == max(top.values()) and p < 0 and 1 <= len(top) <= max(n, 1), top, token, p)
            events = data_of(s.post("/v1/completions", {**ask, "model": model, "logprobs": 3, "stream": True}))
            for name, value in got.items():
                expect(sum((e["choices"][0]["logprobs"][name] for e in events), []) == value, name, value, events)
        cut = status(s.post("/v1/completions", {**ask, "model": "causal", "logprobs": 0, "stop": none["text"][4:6]}), 200).json()["choices"][0]
        expect("".join(cut["logprobs"]["tokens"]).startswith(cut["text"]) and len(cut["logprobs"]["tokens"]) < 9, cut)
        drawn = status(s.post("/v1/completions", {**ask, "temperature": 3, "seed": 1, "logprobs": 1, "model": "causal"}), 200).json()["choices"][0]["logprobs"]
        expect(any(len(top) == 2 for top in drawn["top_logprobs"]), "a drawn token that is not the most likely one", drawn)
        status(s.post("/v1/completions", {**ask, "logprobs": 21}), 400)


@test
def prompts_have_log_probabilities():
    """With echo: those that the same tokens have as new ones, one by one; the forms of prompts agree; a stream has the same."""
    with Server(program, "-m", "chat", "-m", "causal") as s:
        for model in "chat", "causal":
            ask = {"model": model, "prompt": "天 月 天", "temperature": 0, "max_tokens": 3, "logprobs": 2}
            plain = status(s.post("/v1/completions", ask), 200).json()["choices"][0]
            c = status(s.post("/v1/completions", {**ask, "echo": True}), 200).json()["choices"][0]
            got = c["logprobs"]
            n = len(got["tokens"]) - 3
            expect(n > 1 and {len(v) for v in got.values()} == {n + 3}, got)
            expect(c["text"] == ask["prompt"] + plain["text"], c)
            for name in "tokens", "token_logprobs", "top_logprobs":
                expect(got[name][n:] == plain["logprobs"][name], name, got, plain)
            expect(got["token_logprobs"][0] is None and got["top_logprobs"][0] is None, got)
            ids = status(s.post("/tokenize", {"inputs": ask["prompt"], "model": model}), 200).json()[0]
            ids = [t["id"] for t in ids][:n]
            alone = status(s.post("/v1/completions", {**ask, "prompt": [ids, ids[:-1]], "echo": True, "max_tokens": 0, "n": 2}), 200).json()
            for k, choice in enumerate(alone["choices"]):
                m = n - k // 2
                expect({len(v) for v in choice["logprobs"].values()} == {m}, choice)
                for name in "token_logprobs", "top_logprobs":
                    expect(choice["logprobs"][name] == got[name][:m], name, choice, got)
            expect(alone["usage"]["completion_tokens"] == 0, alone)
            for i in range(1, n):       # each token as the only new one
                one = status(s.post("/v1/completions", {**ask, "prompt": ids[:i], "max_tokens": 1, "logprobs": 20}), 200).json()["choices"][0]["logprobs"]["top_logprobs"][0]
                there = got["top_logprobs"][i]
                expect(abs(max(one.values()) - max(there.values())) < 1e-5, i, there, one)
                for token, p in there.items() if model == "causal" else ():     # other tokens of chats share their texts
                    expect(abs(one.get(token, p) - p) < 1e-5, i, token, p, one)
            events = data_of(s.post("/v1/completions", {**ask, "echo": True, "stream": True}))
            for name, value in got.items():
                expect(sum((e["choices"][0]["logprobs"][name] for e in events), []) == value, name, value, events)
            if model == "causal":
                expect([c["text"][at:at + len(t)] for at, t in zip(got["text_offset"], got["tokens"])][1:] == got["tokens"][1:], c)
        status(s.post("/v1/completions", {**ask, "echo": True, "max_tokens": 0, "stream": True}), 400)


@test
def stop_strings():
    """HumanEval has five; a text ends before the first that comes."""
    ask = {"model": "causal", "prompt": "hello", "temperature": 0, "max_tokens": 12}
    with Server(program, "-m", "causal") as s:
        text = status(s.post("/v1/completions", ask), 200).json()["choices"][0]["text"]
        none = [f"absent {i}" for i in range(15)]
        c = status(s.post("/v1/completions", {**ask, "stop": [*none, text[3:5]]}), 200).json()["choices"][0]
        expect(c["text"] == text[:text.index(text[3:5])] and c["finish_reason"] == "stop", c, text)
        a = status(s.post("/v1/completions", {**ask, "stop": [*none, "a", "b"]}), 400)
        expect("expected at most 16 strings, got 17" in a.body.decode(), a)


@test
def penalties():
    ask = {"model": "causal", "prompt": "hello", "temperature": 3, "seed": 1, "max_tokens": 12}
    with Server(program, "-m", "chat", "-m", "causal") as s:
        plain = complete(s, "hello", model="causal")
        for route, body in ("/v1/completions", {}), ("/generate", None):
            for name in "presence_penalty", "frequency_penalty":
                if body is None:
                    texts = [status(s.post("/generate", {"inputs": "hello", "parameters": {"do_sample": True, "temperature": 3, "seed": 1, "max_new_tokens": 12, name: x}}), 200).json() for x in (0, 2)]
                    texts = [t[0]["generated_text"] if isinstance(t, list) else t["generated_text"] for t in texts]
                else:
                    texts = [status(s.post(route, {**ask, name: x}), 200).json()["choices"][0]["text"] for x in (0, 2)]
                expect(texts[0] != texts[1], route, name, texts)
                a = status(s.post(route, {**ask, name: 2.5} if body is not None else {"inputs": "hello", "parameters": {name: 2.5}}), 400 if body is not None else 422)
                expect(name in a.body.decode(), a.body)
        chats = [chat(s, MESSAGES, frequency_penalty=x) for x in (0, 2)]
        expect(chats[0]["choices"][0]["message"] != chats[1]["choices"][0]["message"], chats)
        expect(plain["choices"] == complete(s, "hello", model="causal")["choices"], "a penalty stays")


@test
def prompts_are_tokens():
    ask = {"max_tokens": 5, "temperature": 0}
    with Server(program, "-m", "chat") as s:
        tokens = [t["id"] for t in status(s.post("/tokenize", {"inputs": "hello there", "add_special_tokens": False}), 200).json()[0]]
        text = complete(s, "hello there", **ask)
        same = complete(s, tokens, **ask)
        expect(same["choices"] == text["choices"] and same["usage"] == text["usage"], same, text)
        both = complete(s, [tokens, tokens[:3]], n=2, **ask)
        expect([c["text"] for c in both["choices"][:2]] == [text["choices"][0]["text"]] * 2 and len(both["choices"]) == 4, both)
        expect(complete(s, tokens, echo=True, **ask)["choices"][0]["text"] == "hello there" + text["choices"][0]["text"], "echo")
        only = complete(s, ["hello there", "a"], echo=True, max_tokens=0)
        expect([c["text"] for c in only["choices"]] == ["hello there", "a"] and only["usage"]["completion_tokens"] == 0, only)
        expect(only["usage"]["prompt_tokens"] == len(tokens) + 1, only)
        for body in ({"prompt": [1, 100000]}, {"prompt": [[]]}, {"prompt": [-1]}, {"prompt": [5] * 1024}, {"prompt": "a", "max_tokens": 0},
                     {"prompt": "a", "max_tokens": 0, "echo": True, "stream": True}):
            status(s.post("/v1/completions", body), 400)


@test
def chats_have_log_probabilities():
    with Server(program, "-m", "chat") as s:
        c = chat(s, MESSAGES, logprobs=True, top_logprobs=4)["choices"][0]
        got = c["logprobs"]["content"]
        expect(len(got) == 8 and all(t["top_logprobs"][0]["logprob"] == t["logprob"] and len(t["top_logprobs"]) == 4 for t in got), got)
        whole = [t for t in got if t["bytes"]]
        expect(whole and all(bytes(t["bytes"]).decode() == t["token"] for t in whole), got)
        events = data_of(s.post("/v1/chat/completions", {"messages": MESSAGES, **ASK, "logprobs": True, "top_logprobs": 4, "stream": True}))
        expect(sum((e["choices"][0]["logprobs"]["content"] for e in events[1:]), []) == got, events)
        expect(chat(s, MESSAGES, logprobs=True)["choices"][0]["logprobs"]["content"][0]["top_logprobs"] == [], "none asked")
        status(s.post("/v1/chat/completions", {"messages": MESSAGES, "top_logprobs": 1}), 400)


@test
def texts_have_details_and_streams_as_text_generation_inference():
    ask = {"inputs": "hello", "parameters": {"max_new_tokens": 6, "do_sample": False, "return_full_text": False}}
    def more(**options):
        return {**ask, "parameters": {**ask["parameters"], **options}}
    with Server(program, "-m", "causal") as s:
        for path in "/generate", "/":
            text = status(s.post(path, ask), 200).json()[0]
            expect(list(text) == ["generated_text"], text)
            a = status(s.post(path, more(details=True)), 200).json()[0]
            d = a["details"]
            expect(a["generated_text"] == text["generated_text"] == "".join(t["text"] for t in d["tokens"]), a)
            expect(d["finish_reason"] == "length" and d["generated_tokens"] == 6 and d["prefill"] == [] and d["seed"] is None, d)
            expect(all(t["logprob"] < 0 and not t["special"] and t["id"] >= 0 for t in d["tokens"]), d)
            for route, body in ((path, {**ask, "stream": True}), ("/generate_stream", ask)):
                events = data_of(s.post(route, body))
                expect([e["token"] for e in events] == d["tokens"] and [e["index"] for e in events] == [1, 2, 3, 4, 5, 6], events)
                expect(all(e["generated_text"] is None and e["details"] is None for e in events[:-1]), events)
                expect(events[-1]["generated_text"] == a["generated_text"], events[-1])
                expect(events[-1]["details"]["finish_reason"] == "length" and events[-1]["details"]["generated_tokens"] == 6, events[-1])
        stop = text["generated_text"][3:5]
        a = status(s.post("/generate", more(details=True, stop=[stop])), 200).json()[0]
        expect(a["details"]["finish_reason"] == "stop_sequence" and a["generated_text"].endswith(stop), a)
        events = data_of(s.post("/generate_stream", more(stop=[stop], seed=3, do_sample=True, temperature=0.01)))
        expect(events[-1]["details"]["seed"] == 3 and "".join(e["token"]["text"] for e in events) == events[-1]["generated_text"], events)
        status(s.post("/generate_stream", more(num_return_sequences=2)), 422)
        status(s.post("/generate", more(top_n_tokens=2)), 422)
    with Server(program, "-m", "ends") as s:                # made by answers_end_at_the_tokens_of_the_folder_and_at_stop_strings
        chats = text_of(MESSAGES)
        for least in 0, 3:
            body = {"inputs": chats, "parameters": {"max_new_tokens": 9, "do_sample": False, "details": True, "min_new_tokens": least}}
            d = status(s.post("/generate", body), 200).json()[0]["details"]
            expect(d["generated_tokens"] > least and all(t["id"] != 25 for t in d["tokens"][:least]), d)
        first = status(s.post("/generate", more(details=True) | {"inputs": chats}), 200).json()[0]["details"]
        expect(first["finish_reason"] == "eos_token" and first["tokens"][0]["id"] == 25, first)
        expect(chat(s, MESSAGES, min_tokens=2)["usage"]["completion_tokens"] >= 2, "min_tokens")


def sampled(s, prompt, **more):
    a = status(s.post("/v1/completions", {"prompt": prompt, "max_tokens": 12, "temperature": 1, "min_tokens": 12, **more}), 200)
    return [c["text"] for c in a.json()["choices"]]


@test
def samples_differ_unless_there_is_a_seed():
    with Server(program, "-m", "causal") as s:
        seeded = []
        for seed in 42, 7:
            for _ in range(4):                              # also after a request without a seed, whose default is 42
                sampled(s, "the")
                seeded += sampled(s, "the", seed=seed)
        expect(len(set(seeded[:4])) == 1 and len(set(seeded[4:])) == 1 and seeded[0] != seeded[4], seeded)
        several = sampled(s, ["the", "the", "the"]) + sampled(s, ["the", "the"], n=2)
        expect(len(set(several)) == len(several), several)
        hot = [status(s.post("/generate", {"inputs": "the", "parameters": {"temperature": 1.5, "seed": seed, "max_new_tokens": 12}}),
                      200).body for seed in range(4)]
        expect(len(set(hot)) > 1, "a temperature without do_sample samples, as clients of text-generation-inference expect", hot)
        cold = [status(s.post("/generate", {"inputs": "the", "parameters": {"temperature": 1.5, "seed": seed, "do_sample": False,
                                                                            "max_new_tokens": 12}}), 200).body for seed in range(3)]
        expect(len(set(cold)) == 1, cold)


@test
def what_a_request_says_counts_over_the_folder():
    shutil.copytree("causal", "beams")
    with open("beams/generation_config.json", "w") as f:
        json.dump({"num_beams": 3, "max_length": 6}, f)
    with Server(program, "-m", "beams", "-m", "causal", "-m", "model") as s:
        for path, body in (("/v1/completions", {"prompt": "the", "max_tokens": 12, "min_tokens": 12}),
                           ("/v1/completions", {"prompt": "the", "max_tokens": 12, "min_tokens": 12, "temperature": 0, "stop": ["?"]})):
            a = status(s.post(path, body), 200).json()
            expect(a["usage"]["completion_tokens"] == 12, a)
        two = [status(s.post("/v1/completions", {"prompt": "the", "max_tokens": 12, "temperature": 0, "model": m}), 200).json()["choices"]
               for m in ("beams", "causal")]
        expect(two[0] == two[1], "OpenAI's routes search without beams", two)
        for more in {}, {"num_beams": 1}:
            body = {"inputs": "the", "parameters": {"max_new_tokens": 8, "min_new_tokens": 8, "details": True, **more}}
            a = status(s.post("/generate", body), 200).json()[0]["details"]
            expect(a["generated_tokens"] == 8, a)
        for parameters, top in (({}, {"top_k": 2}), ({"top_k": 2}, {}), ({"targets": ["a", "b"]}, {"top_k": 2})):
            a = status(s.post("/fill_mask", {"inputs": "the [MASK]", "parameters": parameters, **top, "model": "model"}), 200).json()
            expect(len(a) == 2, parameters, top, a)


main()
