"""litellm: embeddings and ranks under the names of several providers, completions, chats."""
import litellm
from lib import CAUSAL, CHAT, MESSAGES, RANK, TEXTS, VECTORS, WORDS, close

for name, base in (("openai/words", WORDS + "/v1"), ("hosted_vllm/words", WORDS + "/v1"), ("infinity/words", WORDS)):
    got = litellm.embedding(model=name, input=TEXTS, api_base=base, api_key="none", encoding_format="float")
    close([d["embedding"] for d in got.data], VECTORS)
many = litellm.embedding(model="openai/words", input=TEXTS[:1] * 500, api_base=WORDS + "/v1", api_key="none", encoding_format="float")
assert len(many.data) == 500

for name, base in (("cohere/rank", RANK), ("jina_ai/rank", RANK + "/v1/rerank"), ("hosted_vllm/rank", RANK), ("infinity/rank", RANK),
                   ("huggingface/rank", RANK)):
    got = litellm.rerank(model=name, query="the river", documents=TEXTS, top_n=3, api_base=base, api_key="none",
                         return_documents=not name.startswith("infinity"))     # infinity's documents are strings, vLLM's objects
    scores = [r["relevance_score"] for r in got.results]
    assert 3 <= len(scores) <= len(TEXTS) and scores == sorted(scores, reverse=True), (name, got)

options = {"model": "text-completion-openai/causal", "prompt": "the", "max_tokens": 8, "temperature": 0, "api_base": CAUSAL + "/v1", "api_key": "none"}
whole = litellm.text_completion(**options).choices[0].text
assert whole and "".join(e.choices[0].text or "" for e in litellm.text_completion(**options, stream=True)) == whole

options = {"model": "openai/chat", "messages": MESSAGES, "max_tokens": 8, "temperature": 0, "api_base": CHAT + "/v1", "api_key": "none"}
whole = litellm.completion(**options)
assert whole.choices[0].message.role == "assistant" and whole.usage.completion_tokens == 8
parts = "".join(p.choices[0].delta.content or "" for p in litellm.completion(**options, stream=True))
assert parts == whole.choices[0].message.content
