#!/usr/bin/env python3
"""Makes tests/golden/generate.txt: what transformers generates with tests/golden/models/causal and causal_value, and the
probabilities after its logits warpers, for random scores.  Needs torch and transformers 5; the tests need neither.

    python tools/golden/golden_generate.py

    greedy <model> <repetition_penalty> <prompt tokens> <prompt> <new tokens> <new>
    ngrams <model> <no_repeat_ngram_size> <prompt tokens> <prompt> <new tokens> <new>
    beams <model> <num_beams> <length_penalty> <early_stopping> <num_return_sequences> <repetition_penalty>
        <no_repeat_ngram_size> <stops> <stop> <prompt tokens> <prompt> <max_new_tokens>, and for each sequence <tokens> <text>
    stride <model> <max_length> <stride> <tokens> <text>, and <predicted> <sum of their log-probabilities>
    warp <V> <temperature> <top_k> <top_p> <repetition_penalty> <min_p> <typical_p> <seen tokens> <seen>
    <V scores>
    <V probabilities, 0 for what is not drawn from>
"""
import torch
from transformers import (MinPLogitsWarper, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor, RoFormerForCausalLM,
                          TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, TypicalLogitsWarper)

import golden
from golden import numbers

ROOT = golden.GOLDEN
WARPS = [(1, 0, 1, 1), (0.5, 0, 1, 1), (2, 0, 1, 1), (1, 1, 1, 1), (1, 5, 1, 1), (0.7, 7, 1, 1), (1, 0, 0.9, 1), (1, 0, 0.3, 1),
         (1.5, 0, 0.01, 1), (0.8, 10, 0.7, 1), (1, 1000, 1, 1), (1, 0, 1, 1.4), (0.9, 6, 0.8, 1.3), (1, 3, 1, 0.7)]
# The same with min_p and typical_p.
MORE = [(1, 0, 1, 1, 0.05, 1), (2, 0, 1, 1, 0.3, 1), (1, 0, 1, 1, 1, 1), (1, 0, 1, 1, 0, 0.9), (1, 0, 1, 1, 0, 0.2), (3, 0, 1, 1, 0, 0.5),
        (1.5, 12, 0.95, 1.2, 0.02, 0.8), (0.7, 20, 0.9, 1, 0.1, 0.95), (4, 0, 1, 1, 0, 0.05)]

# num_beams, length_penalty, early_stopping, num_return_sequences, repetition_penalty, no_repeat_ngram_size, stops
BEAMS = [(3, 1.0, False, 1, 1.0, 0, []), (4, 1.0, False, 4, 1.0, 0, [14]), (5, 0.0, True, 3, 1.0, 0, [4, 14, 42]), (4, 2.0, "never", 2, 1.0, 0, [4]),
         (2, -1.0, "never", 2, 1.0, 0, [4, 12]), (6, 0.6, False, 6, 1.3, 2, [42]), (4, 1.5, True, 2, 1.0, 3, [12]), (3, -0.5, False, 1, 1.2, 0, [4, 20])]


def margin(model, text, length, processor):
    """The smallest difference between the best and the second-best score of a generated token."""
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
        print("greedy", name, penalty, length, numbers(ids[0].tolist(), "{}"), new, numbers(made, "{}"), file=out)


def ngrams(out, name, generator):
    model = RoFormerForCausalLM.from_pretrained(ROOT / "models" / name).eval()
    for length, new, size in ((3, 25, 2), (12, 30, 3), (9, 20, 1), (2, 24, 4)):
        least = 0
        while least < 1e-3:
            ids = torch.randint(0, model.config.vocab_size, (1, length), generator=generator)
            made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new,
                                  no_repeat_ngram_size=size, eos_token_id=None, pad_token_id=0)[0, length:].tolist()
            least = margin(model, torch.cat([ids, torch.tensor([made])], 1), length, NoRepeatNGramLogitsProcessor(size))
        print("ngrams", name, size, length, numbers(ids[0].tolist(), "{}"), new, numbers(made, "{}"), file=out)


def beam(out, name, num_beams, length_penalty, early, returned, penalty, size, stops, generator):
    model = RoFormerForCausalLM.from_pretrained(ROOT / "models" / name).eval()
    length, new = int(torch.randint(1, 12, (1,), generator=generator)), 16
    found = [[], [1]]
    while found[0] != found[1]:                      # rounding may decide nothing: in f32 as in double
        ids = torch.randint(0, model.config.vocab_size, (1, length), generator=generator)
        found = []
        for kind in (torch.float32, torch.float64):
            made = model.to(kind).generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=num_beams, max_new_tokens=new,
                                           length_penalty=length_penalty, early_stopping=early, num_return_sequences=returned,
                                           repetition_penalty=penalty, no_repeat_ngram_size=size, eos_token_id=stops or None,
                                           pad_token_id=0)[:, length:].tolist()
            ends = [min([i + 1 for i, t in enumerate(text) if t in stops] + [len(text)]) for text in made]
            found.append([text[:n] for text, n in zip(made, ends)])
    print("beams", name, num_beams, length_penalty, [False, True, "never"].index(early), returned, penalty, size, len(stops), numbers(stops, "{}"),
          length, numbers(ids[0].tolist(), "{}"), new, file=out)
    for text in found[0]:
        print(len(text), numbers(text, "{}"), file=out)


def stride(out, name, max_length, step, length, generator):
    """The loop of transformers' documentation, "Perplexity of fixed-length models"; sums instead of means of windows."""
    model = RoFormerForCausalLM.from_pretrained(ROOT / "models" / name).eval().double()
    ids = torch.randint(0, model.config.vocab_size, (1, length), generator=generator)
    total, predicted, previous = 0.0, 0, 0
    for begin in range(0, length, step):
        end = min(begin + max_length, length)
        target = ids[:, begin:end].clone()
        target[:, : -(end - previous)] = -100
        with torch.no_grad():
            logits = model(ids[:, begin:end]).logits
        total -= float(torch.nn.functional.cross_entropy(logits[0, :-1], target[0, 1:], ignore_index=-100, reduction="sum"))
        predicted += int((target[0, 1:] != -100).sum())
        previous = end
        if end == length:
            break
    print("stride", name, max_length, step, length, numbers(ids[0].tolist(), "{}"), file=out)
    print(predicted, f"{total:.12g}", file=out)


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
    print("warp", V, temperature, top_k, top_p, penalty, min_p, typical_p, 6, numbers(seen[0].tolist(), "{}"), file=out)
    print(numbers(scores[0].tolist()), file=out)
    print(numbers(x.softmax(-1)[0].tolist(), "{:.17g}"), file=out)


def main():
    golden.quiet()
    generator = torch.Generator().manual_seed(3)
    with open(ROOT / "generate.txt", "w") as out:
        print(golden.made_with(), file=out)
        for name in ("causal", "causal_value"):
            greedy(out, name, generator)
        for options in WARPS:
            warp(out, *options, 0, 1, generator)
        for options in MORE:
            warp(out, *options, generator)
        for name in ("causal", "causal_value"):
            ngrams(out, name, generator)
            for options in BEAMS:
                beam(out, name, *options, generator)
            for options in ((12, 5, 40), (16, 15, 60), (7, 1, 25), (64, 32, 30), (30, 29, 100)):
                stride(out, name, *options, generator)


if __name__ == "__main__":
    main()
