#!/usr/bin/env python3
"""Makes tests/golden/sim and tests/golden/gpt.  sim: a tiny RoFormer-Sim with random weights in the published names and config (RoFormerForCausalLM, is_decoder,
pooler_activation "linear"), and what PyPI's roformer 0.4.3 (junnyu) computes with it: vectors of texts (pooler_output), and the logits of
tokens that are written behind a prompt, the first call seeing all of it, later ones with a cache and token type 1.  gpt: a tiny RoFormer-GPT, the same class with pooler_activation "tanh", whose
pooler nothing uses; the logits behind every token of texts that begin with [CLS], under the triangular mask of bert4keras' application "lm", which this
class takes as an attention_mask of three dimensions.  Needs what golden_roformer_v2.py needs.

    python tools/golden/golden_sim.py
"""
import json
import pathlib
import shutil

import torch
from roformer import RoFormerConfig, RoFormerForCausalLM

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
SMALL = dict(vocab_size=43, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, hidden_act="gelu", eos_token_id=3,
             max_position_embeddings=64, is_decoder=True, pooler_activation="linear", use_cache=True, norm_type="layer_norm", use_bias=True)
PROMPTS = [[2, 7, 9, 21, 3], [2, 40, 3], [2, 5, 6, 7, 8, 9, 10, 11, 3]]
WRITTEN = [12, 13, 30]
TEXTS = [[2, 7, 9, 21, 30, 12], [2], [2, 5, 6, 7, 8, 9, 10, 11, 42, 41, 5]]


def make(seed, **more):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = RoFormerForCausalLM(RoFormerConfig(**{**SMALL, **more})).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue
            noise = torch.randn(p.shape, generator=generator)
            if name.endswith("LayerNorm.weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name:
                p.copy_(0.4 * noise)
            else:
                p.copy_((1.5 if ".query." in name or ".key." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def save(model, folder, lines):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    with open(folder / "golden.jsonl", "w") as f:
        for case in lines:
            f.write(json.dumps(case, separators=(",", ":")) + "\n")
    (folder / "vocab.txt").write_text("".join(t + "\n" for t in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(
        "广州和深圳哪个好京津沪渝港澳台天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余")[:38]), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class":"BertTokenizer"}\n')
    for file in folder.iterdir():
        file.chmod(0o644)
    print(sorted(p.name for p in folder.iterdir()), sum(f.stat().st_size for f in folder.iterdir()))


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
    torch.set_num_threads(1)
    with torch.no_grad():
        sim = make(5)
        save(sim, GOLDEN / "sim", list(of_sim(sim)))
        gpt = make(6, pooler_activation="tanh")
        save(gpt, GOLDEN / "gpt", list(of_gpt(gpt)))


if __name__ == "__main__":
    main()
