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
            ({"messages": [user], "chat_template_kwargs": {"messages": [1]}}, "line 8"),
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


main()
