"""huggingface_hub's InferenceClient: every task that a server of ours has."""
from huggingface_hub import InferenceClient
from lib import CAUSAL, LABELS, MASKS, TEXTS, TRANSLATE, VECTORS, WORDS, close, cosine

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

text = InferenceClient(CAUSAL).text_generation("the", max_new_tokens=8, do_sample=False)
assert isinstance(text, str) and text
assert InferenceClient(TRANSLATE).translation("one two three").translation_text == "four three two"
