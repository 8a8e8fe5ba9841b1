#!/usr/bin/env python3
"""Makes tests/golden/sim: a tiny RoFormer-Sim with random weights in the published names and config (RoFormerForCausalLM, is_decoder,
pooler_activation "linear"), and what PyPI's roformer 0.4.3 (junnyu) computes with it: vectors of texts (pooler_output), and the logits of
tokens that are written behind a prompt, the first call seeing all of it, later ones with a cache and token type 1.  Needs what golden_roformer_v2.py needs.

    python tools/golden_sim.py
"""
import json
import pathlib
import shutil

import torch
from roformer import RoFormerConfig, RoFormerForCausalLM

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "sim"
SMALL = dict(vocab_size=43, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, hidden_act="gelu", eos_token_id=3,
             max_position_embeddings=64, is_decoder=True, pooler_activation="linear", use_cache=True, norm_type="layer_norm", use_bias=True)
PROMPTS = [[2, 7, 9, 21, 3], [2, 40, 3], [2, 5, 6, 7, 8, 9, 10, 11, 3]]
WRITTEN = [12, 13, 30]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(5)
    model = RoFormerForCausalLM(RoFormerConfig(**SMALL)).eval()
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
    shutil.rmtree(ROOT, ignore_errors=True)
    model.save_pretrained(ROOT, safe_serialization=True)
    (ROOT / "generation_config.json").unlink(missing_ok=True)
    lines = []
    with torch.no_grad():
        for prompt in PROMPTS:
            out = model(torch.tensor([prompt]), token_type_ids=torch.zeros(1, len(prompt), dtype=torch.long))
            case = dict(prompt=prompt, vector=out.pooler_output[0].tolist(), logits=[out.logits[0, -1].tolist()], written=WRITTEN)
            past = out.past_key_values
            for token in WRITTEN:
                one = model(torch.tensor([[token]]), token_type_ids=torch.ones(1, 1, dtype=torch.long), past_key_values=past,
                            attention_mask=torch.ones(1, past[0][0].shape[2] + 1))
                past = one.past_key_values
                case["logits"].append(one.logits[0, -1].tolist())
            lines.append(case)
    with open(ROOT / "golden.jsonl", "w") as f:
        for case in lines:
            f.write(json.dumps(case, separators=(",", ":")) + "\n")
    (ROOT / "vocab.txt").write_text("".join(t + "\n" for t in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(
        "广州和深圳哪个好京津沪渝港澳台天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余")[:38]), encoding="utf-8")
    (ROOT / "tokenizer_config.json").write_text('{"tokenizer_class":"BertTokenizer"}\n')
    for file in ROOT.iterdir():
        file.chmod(0o644)
    print(sorted(p.name for p in ROOT.iterdir()), sum(f.stat().st_size for f in ROOT.iterdir()))


if __name__ == "__main__":
    main()
