#!/usr/bin/env python3
"""Makes tests/golden/generate.txt: what transformers generates with tests/golden/models/causal and causal_value, and what its
logits warpers leave of random scores.  Needs torch and transformers 5; the tests need neither.

    python tools/golden_generate.py

    greedy <model> <repetition_penalty> <prompt tokens> <prompt> <new tokens> <new>
    ngrams <model> <no_repeat_ngram_size> <prompt tokens> <prompt> <new tokens> <new>
    warp <V> <temperature> <top_k> <top_p> <repetition_penalty> <min_p> <typical_p> <seen tokens> <seen>
    <V scores>
    <V probabilities, 0 for what is not drawn from>
"""
import datetime
import pathlib

import torch
import transformers
from transformers import (MinPLogitsWarper, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor, RoFormerForCausalLM,
                          TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, TypicalLogitsWarper)

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
WARPS = [(1, 0, 1, 1), (0.5, 0, 1, 1), (2, 0, 1, 1), (1, 1, 1, 1), (1, 5, 1, 1), (0.7, 7, 1, 1), (1, 0, 0.9, 1), (1, 0, 0.3, 1),
         (1.5, 0, 0.01, 1), (0.8, 10, 0.7, 1), (1, 1000, 1, 1), (1, 0, 1, 1.4), (0.9, 6, 0.8, 1.3), (1, 3, 1, 0.7)]
# The same with min_p and typical_p.
MORE = [(1, 0, 1, 1, 0.05, 1), (2, 0, 1, 1, 0.3, 1), (1, 0, 1, 1, 1, 1), (1, 0, 1, 1, 0, 0.9), (1, 0, 1, 1, 0, 0.2), (3, 0, 1, 1, 0, 0.5),
        (1.5, 12, 0.95, 1.2, 0.02, 0.8), (0.7, 20, 0.9, 1, 0.1, 0.95), (4, 0, 1, 1, 0, 0.05)]


def words(values, form="{}"):
    return " ".join(form.format(v) for v in values)


def margin(model, text, length, processor):
    """The least by which a token behind the prompt is ahead of the second."""
    with torch.no_grad():
        scores = model(text).logits
    least = float("inf")
    for i in range(length, text.shape[1]):
        best = processor(text[:, :i], scores[:, i - 1])[0].topk(2).values
        least = min(least, float(best[0] - best[1]))
    return least


def greedy(out, name, generator):
    model = RoFormerForCausalLM.from_pretrained(ROOT / "models" / name).eval()
    for length, new, penalty in ((1, 20, 1.0), (5, 30, 1.0), (17, 25, 1.0), (4, 40, 1.3), (9, 12, 2.0)):
        least = 0
        while least < 1e-3:                          # no step may be decided by rounding: another prompt
            ids = torch.randint(0, model.config.vocab_size, (1, length), generator=generator)
            made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new,
                                  repetition_penalty=penalty, eos_token_id=None, pad_token_id=0)[0, length:].tolist()
            assert len(made) == new
            least = margin(model, torch.cat([ids, torch.tensor([made])], 1), length, RepetitionPenaltyLogitsProcessor(penalty))
        print("greedy", name, penalty, length, words(ids[0].tolist()), new, words(made), file=out)


def ngrams(out, name, generator):
    model = RoFormerForCausalLM.from_pretrained(ROOT / "models" / name).eval()
    for length, new, size in ((3, 25, 2), (12, 30, 3), (9, 20, 1), (2, 24, 4)):
        least = 0
        while least < 1e-3:
            ids = torch.randint(0, model.config.vocab_size, (1, length), generator=generator)
            made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new,
                                  no_repeat_ngram_size=size, eos_token_id=None, pad_token_id=0)[0, length:].tolist()
            least = margin(model, torch.cat([ids, torch.tensor([made])], 1), length, NoRepeatNGramLogitsProcessor(size))
        print("ngrams", name, size, length, words(ids[0].tolist()), new, words(made), file=out)


def warp(out, temperature, top_k, top_p, penalty, min_p, typical_p, generator):
    V = 40
    scores = torch.randn(1, V, generator=generator, dtype=torch.float64).mul(3).float()
    seen = torch.randint(0, V, (1, 6), generator=generator)
    x = scores.double()
    if penalty != 1:
        x = RepetitionPenaltyLogitsProcessor(float(penalty))(seen, x)
    x = TemperatureLogitsWarper(float(temperature))(seen, x)
    if top_k:
        x = TopKLogitsWarper(top_k)(seen, x)
    if top_p < 1:
        x = TopPLogitsWarper(float(top_p))(seen, x)
    if min_p:
        x = MinPLogitsWarper(min_p)(seen, x)
    if typical_p < 1:
        x = TypicalLogitsWarper(typical_p)(seen, x)
    print("warp", V, temperature, top_k, top_p, penalty, min_p, typical_p, 6, words(seen[0].tolist()), file=out)
    print(words(scores[0].tolist(), "{:.9g}"), file=out)
    print(words(x.softmax(-1)[0].tolist(), "{:.17g}"), file=out)


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    generator = torch.Generator().manual_seed(3)
    with open(ROOT / "generate.txt", "w") as out:
        print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, {datetime.date.today()}", file=out)
        for name in ("causal", "causal_value"):
            greedy(out, name, generator)
        for options in WARPS:
            warp(out, *options, 0, 1, generator)
        for options in MORE:
            warp(out, *options, generator)
        for name in ("causal", "causal_value"):
            ngrams(out, name, generator)


if __name__ == "__main__":
    main()
