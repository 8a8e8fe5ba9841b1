"""huggingface_hub's InferenceClient: every task that a server of ours has."""
import math

from huggingface_hub import InferenceClient
from lib import ANSWERS, CAUSAL, CHAT, LABELS, MASKS, MESSAGES, NLI, TAGS, TEXTS, TRANSLATE, VECTORS, WORDS, close, cosine

client = InferenceClient(WORDS)
for text, vector in zip(TEXTS, VECTORS):
    close(client.feature_extraction(text, normalize=True)[0], vector)
close(client.sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:]), [cosine(VECTORS[0], v) for v in VECTORS[1:]],
      1e-6)
client = InferenceClient(MASKS)
masks = client.fill_mask("the [MASK] river")
assert len(masks) == 5 and masks[0].score >= masks[1].score and masks[0].sequence.startswith("the")
assert {m.token_str for m in client.fill_mask("the [MASK] river", top_k=2, targets=["old", "red"])} == {"old", "red"}

labels = InferenceClient(LABELS).text_classification("a red house")
assert len(labels) > 1 and abs(sum(x.score for x in labels) - 1) < 1e-5 and labels[0].score >= labels[1].score
assert len(InferenceClient(LABELS).text_classification("a red house", top_k=1)) == 1

raw = InferenceClient(LABELS).text_classification("a red house", function_to_apply="none")
assert [x.label for x in raw] == [x.label for x in labels]
close([math.exp(x.score - raw[0].score) for x in raw], [x.score / labels[0].score for x in labels], 1e-5)
single = InferenceClient(LABELS).text_classification("a red house", function_to_apply="sigmoid", top_k=2)
close([x.score for x in single], [1 / (1 + math.exp(-x.score)) for x in raw[:2]], 1e-6)

client = InferenceClient(NLI)
found = client.zero_shot_classification("the red house", candidate_labels=["a", "the"], hypothesis_template="the {}")
assert {x.label for x in found} == {"a", "the"} and abs(sum(x.score for x in found) - 1) < 1e-5
several = client.zero_shot_classification("the red house", candidate_labels=["a", "the"], multi_label=True)
assert all(0 < x.score < 1 for x in several) and abs(sum(x.score for x in several) - 1) > 1e-5

client = InferenceClient(TAGS)
for strategy in "none", "simple", "first", "average", "max":
    assert isinstance(client.token_classification("the a? bc", aggregation_strategy=strategy), list)
every = client.token_classification("the a? bc", aggregation_strategy="none", ignore_labels=[])
assert [x.word for x in every] == ["the", "a", "?", "b", "##c"]
assert not client.token_classification("the a? bc", aggregation_strategy="none", ignore_labels=[x.entity for x in every])

client = InferenceClient(ANSWERS)
ask = {"question": "the a?", "context": "bc de. the fg"}
one = client.question_answering(**ask)
assert ask["context"][one.start:one.end] == one.answer
best = client.question_answering(**ask, top_k=3, handle_impossible_answer=True, max_answer_len=3, align_to_words=True)
assert len(best) == 3 and best[0].score >= best[1].score >= best[2].score and len({x.answer for x in best}) == 3

text = InferenceClient(CAUSAL).text_generation("the", max_new_tokens=8, do_sample=False)
assert isinstance(text, str) and text
client = InferenceClient(CAUSAL)
options = {"max_new_tokens": 8, "do_sample": False, "return_full_text": False}
told = client.text_generation("the", details=True, **options)
text = client.text_generation("the", **options)
assert told.generated_text == text == "".join(t.text for t in told.details.tokens if not t.special)
assert told.details.finish_reason == ("eos_token" if told.details.tokens[-1].special else "length")
assert "".join(client.text_generation("the", stream=True, **options)) == text
events = list(client.text_generation("the", stream=True, details=True, **options))
assert events[-1].generated_text == text and events[-1].details.generated_tokens == told.details.generated_tokens and events[0].details is None

client = InferenceClient(CHAT)
options = {"max_tokens": 8, "temperature": 0}
whole = client.chat_completion(MESSAGES, **options, logprobs=True, top_logprobs=2).choices[0]
assert whole.message.role == "assistant" and len(whole.logprobs.content) == 8
parts = client.chat_completion(MESSAGES, **options, stream=True)
assert "".join(p.choices[0].delta.content or "" for p in parts) == whole.message.content
assert InferenceClient(TRANSLATE).translation("one two three").translation_text == "four three two"
assert InferenceClient(TRANSLATE).translation("one two three", src_lang="en", tgt_lang="de").translation_text == "four three two"
