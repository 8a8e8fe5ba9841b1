"""openai: embeddings (base64 and float, dimensions, tokens), completions and chats with streams and log-probabilities, models,
errors."""
import openai
from lib import CAUSAL, CHAT, MESSAGES, TEXTS, VECTORS, WORDS, close, fails

client = openai.OpenAI(base_url=WORDS + "/v1", api_key="none", max_retries=0)
for how in ("float", openai.NOT_GIVEN):                 # not given: base64
    got = client.embeddings.create(model="words", input=TEXTS, encoding_format=how)
    close([d.embedding for d in got.data], VECTORS)
    assert [d.index for d in got.data] == list(range(len(TEXTS))) and got.usage.prompt_tokens > 0
one = client.embeddings.create(model="words", input=TEXTS[0])
close(one.data[0].embedding, VECTORS[0])
short = client.embeddings.create(model="words", input=TEXTS[0], dimensions=8).data[0].embedding
assert len(short) == 8 and abs(sum(x * x for x in short) - 1) < 1e-6
tokens = client.embeddings.create(model="words", input=[[7, 8, 9], [10]])
assert len(tokens.data) == 2
many = client.embeddings.create(model="words", input=TEXTS[:1] * 2048).data
assert len(many) == 2048 and many[2047].embedding == many[0].embedding
close([many[0].embedding], VECTORS[:1])
assert client.models.list().data[0].id == client.models.retrieve("words").id == "words"
fails(openai.NotFoundError, client.models.retrieve, "other")
assert "other" in str(fails(openai.NotFoundError, client.embeddings.create, model="other", input="a"))
assert "dimensions" in str(fails(openai.BadRequestError, client.embeddings.create, model="words", input="a",
                                 dimensions=10000))
fails(openai.BadRequestError, client.completions.create, model="words", prompt="a")
fails(openai.BadRequestError, client.chat.completions.create, model="words", messages=MESSAGES)

client = openai.OpenAI(base_url=CAUSAL + "/v1", api_key="none", max_retries=0)
options = {"model": "causal", "prompt": "the", "max_tokens": 20, "temperature": 0}
whole = client.completions.create(**options)
assert whole.choices[0].finish_reason in ("stop", "length") and whole.usage.completion_tokens <= 20
parts = list(client.completions.create(**options, stream=True))
assert "".join(p.choices[0].text for p in parts) == whole.choices[0].text
assert parts[-1].choices[0].finish_reason == whole.choices[0].finish_reason
*parts, usage = client.completions.create(**options, stream=True, stream_options={"include_usage": True})
assert not usage.choices and usage.usage == whole.usage and not any(p.usage for p in parts)
drawn = [client.completions.create(model="causal", prompt="the", max_tokens=9, seed=5).choices[0].text for _ in "ab"]
assert drawn[0] == drawn[1]
both = client.completions.create(**{**options, "prompt": ["the", "a"]}, n=2)
assert [c.text for c in both.choices[:2]] == [whole.choices[0].text] * 2 and [c.index for c in both.choices] == [0, 1, 2, 3]
assert client.completions.create(**options, echo=True).choices[0].text == "the" + whole.choices[0].text
told = client.completions.create(**options, logprobs=2).choices[0]
assert "".join(told.logprobs.tokens) == told.text == whole.choices[0].text
assert [max(top.values()) for top in told.logprobs.top_logprobs] == told.logprobs.token_logprobs
ids = client.completions.create(**{**options, "prompt": [[2, 7], [2, 8, 9]]})
assert len(ids.choices) == 2 and ids.usage.prompt_tokens == 5
assert client.completions.create(model="causal", prompt="the", echo=True, max_tokens=0).choices[0].text == "the"
assert "template" in str(fails(openai.BadRequestError, client.chat.completions.create, model="causal", messages=MESSAGES))

client = openai.OpenAI(base_url=CHAT + "/v1", api_key="none", max_retries=0)
options = {"model": "chat", "messages": MESSAGES, "max_completion_tokens": 9, "temperature": 0}
whole = client.chat.completions.create(**options, n=2)
assert [c.message.role for c in whole.choices] == ["assistant"] * 2 and whole.choices[0].message.content == whole.choices[1].message.content
parts = list(client.chat.completions.create(**options, stream=True))
assert parts[0].choices[0].delta.role == "assistant" and parts[-1].choices[0].finish_reason == whole.choices[0].finish_reason
assert "".join(p.choices[0].delta.content or "" for p in parts) == whole.choices[0].message.content
*parts, usage = client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
assert usage.usage.prompt_tokens == whole.usage.prompt_tokens and usage.usage.completion_tokens == 9
told = client.chat.completions.create(**options, logprobs=True, top_logprobs=3).choices[0].logprobs.content
assert len(told) == 9 and all(t.top_logprobs[0].logprob == t.logprob for t in told)
parts = [{"type": "text", "text": "hello"}]
same = client.chat.completions.create(**{**options, "messages": [MESSAGES[0], {"role": "user", "content": parts}]})
assert same.choices[0].message.content == whole.choices[0].message.content
with client.chat.completions.stream(**options) as events:
    assert "".join(e.delta for e in events if e.type == "content.delta") == whole.choices[0].message.content
fails(openai.BadRequestError, client.chat.completions.create, model="chat", messages=[])
fails(openai.NotFoundError, client.responses.create, model="chat", input="a")
