#!/usr/bin/env python3
"""Makes tests/golden/antiberta2: a tiny RoFormer of antibodies with random weights in the form of alchemab/antiberta2 (residues as words,
separated by blanks), and what transformers answers with it.  Needs torch, transformers 5 and rjieba; the tests need none of them.

    python tools/golden/golden_antiberta2.py"""
import json

import torch
from transformers import RoFormerConfig, RoFormerForMaskedLM, RoFormerTokenizer, pipeline

import golden

ROOT = golden.GOLDEN / "antiberta2"
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"RHKDESTNQCGPAVILMFYWX", "Ḣ", "Ḷ"]
TEXTS = ["Ḣ Q V Q L", "Ḷ D I Q M T", "Q V J q", "QVQL", "Q [MASK] Q L"]
PROTEIN, MUTATIONS = "QVQLVESGGG", ["Q1E", "V2A:E6Q", "G10W"]


def main():
    golden.quiet()
    golden.fresh(ROOT)
    golden.write_lines(ROOT / "vocab.txt", VOCAB)
    words = RoFormerTokenizer(str(ROOT / "vocab.txt"), do_lower_case=False)
    config = RoFormerConfig(vocab_size=len(VOCAB), hidden_size=32, embedding_size=32, num_hidden_layers=2, num_attention_heads=2,
                            intermediate_size=48, max_position_embeddings=64, rotary_value=False, hidden_dropout_prob=0.0,
                            attention_probs_dropout_prob=0.0)
    model = golden.randomize(RoFormerForMaskedLM(config).eval(), golden.seeded(7))
    model.save_pretrained(ROOT)
    golden.write_json(ROOT / "tokenizer_config.json", dict(tokenizer_class="RoFormerTokenizer", do_lower_case=False))
    golden.write_lines(ROOT / "ids.jsonl", [json.dumps(dict(text=t, ids=words(t)["input_ids"]), ensure_ascii=False) for t in TEXTS])
    answers = pipeline("fill-mask", model=model, tokenizer=words, top_k=3)
    golden.write_lines(ROOT / "fill_mask.jsonl", [json.dumps(answers("Ḣ Q V [MASK] L V E"), ensure_ascii=False)])

    def score(variant):
        total, ids = 0.0, words(" ".join(PROTEIN), return_tensors="pt")["input_ids"]
        for m in variant.split(":"):
            at = int(m[1:-1])
            masked = ids.clone()
            masked[0, at] = words.mask_token_id
            with torch.no_grad():
                logp = model(masked, attention_mask=torch.ones_like(masked)).logits[0, at].double().log_softmax(-1)
            new, old = words.convert_tokens_to_ids([m[-1], m[0]])
            total += (logp[new] - logp[old]).item()
        return total

    golden.write_lines(ROOT / "variants.tsv", [f"{m}\t{score(m):.6f}" for m in MUTATIONS])


if __name__ == "__main__":
    main()
