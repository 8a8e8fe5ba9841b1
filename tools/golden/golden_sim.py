#!/usr/bin/env python3
"""Makes tests/golden/sim and tests/golden/gpt.  sim: a tiny RoFormer-Sim with random weights in the published names and config (RoFormerForCausalLM, is_decoder,
pooler_activation "linear"), and what PyPI's roformer 0.4.3 (junnyu) computes with it: vectors of texts (pooler_output), and the logits of
tokens that are generated after a prompt, where the first call sees all of it, later ones with a cache and token type 1.  gpt: a tiny RoFormer-GPT, the same class with pooler_activation "tanh", whose
pooler nothing uses; the logits after every token of texts that begin with [CLS], under the triangular mask of bert4keras' application "lm", which this
class takes as an attention_mask of three dimensions.  Needs what golden_roformer_v2.py needs.

    python tools/golden/golden_sim.py
"""
import json

import torch
from roformer import RoFormerConfig, RoFormerForCausalLM

import golden

SMALL = dict(vocab_size=43, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, hidden_act="gelu", eos_token_id=3,
             max_position_embeddings=64, is_decoder=True, pooler_activation="linear", use_cache=True, norm_type="layer_norm", use_bias=True)
PROMPTS = [[2, 7, 9, 21, 3], [2, 40, 3], [2, 5, 6, 7, 8, 9, 10, 11, 3]]
WRITTEN = [12, 13, 30]
TEXTS = [[2, 7, 9, 21, 30, 12], [2], [2, 5, 6, 7, 8, 9, 10, 11, 42, 41, 5]]


def make(seed, **more):
    generator = golden.seeded(seed)
    return golden.randomize(RoFormerForCausalLM(RoFormerConfig(**{**SMALL, **more})).eval(), generator)


def save(model, folder, lines):
    golden.save(model, folder, safe_serialization=True)
    golden.write_lines(folder / "golden.jsonl", [json.dumps(case, separators=(",", ":")) for case in lines])
    golden.write_lines(folder / "vocab.txt", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(
        "广州和深圳哪个好京津沪渝港澳台天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余")[:38])
    golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer"})
    for file in folder.iterdir():
        file.chmod(0o644)
    print(sorted(p.name for p in folder.iterdir()), golden.size(folder))


def of_sim(model):
    for prompt in PROMPTS:
        out = model(torch.tensor([prompt]), token_type_ids=torch.zeros(1, len(prompt), dtype=torch.long))
        case = dict(prompt=prompt, vector=out.pooler_output[0].tolist(), logits=[out.logits[0, -1].tolist()], written=WRITTEN)
        past = out.past_key_values
        for token in WRITTEN:
            one = model(torch.tensor([[token]]), token_type_ids=torch.ones(1, 1, dtype=torch.long), past_key_values=past,
                        attention_mask=torch.ones(1, past[0][0].shape[2] + 1))
            past = one.past_key_values
            case["logits"].append(one.logits[0, -1].tolist())
        yield case


def of_gpt(model):
    for text in TEXTS:
        mask = torch.ones(1, len(text), len(text)).tril()
        yield dict(text=text, logits=model(torch.tensor([text]), attention_mask=mask).logits[0].tolist())


def main():
    golden.quiet()
    with torch.no_grad():
        sim = make(5)
        save(sim, golden.GOLDEN / "sim", list(of_sim(sim)))
        gpt = make(6, pooler_activation="tanh")
        save(gpt, golden.GOLDEN / "gpt", list(of_gpt(gpt)))


if __name__ == "__main__":
    main()
