#!/usr/bin/env python3
"""Makes tests/golden/models: tiny RoFormers with random weights, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The format is described in tests/golden/README.md.

    python tools/golden/golden_models.py            # rewrites tests/golden/models
    python tools/golden/golden_models.py causal     # only these
"""
import sys

import torch
from transformers import RoFormerConfig, RoFormerForCausalLM, RoFormerForMaskedLM

import golden

ROOT = golden.GOLDEN / "models"
LONGEST = 1536

# name: (configuration, {keyword: value} of how it is saved, lengths of single texts, lengths of the padded batch)
MODELS = {
    "plain": (dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                   hidden_act="gelu", max_position_embeddings=40), {}, [1, 2, 3, 7, 16, 33], [1, 5, 9, 12]),
    "projected": (dict(vocab_size=77, embedding_size=16, hidden_size=48, num_hidden_layers=3, num_attention_heads=3,
                       intermediate_size=40, hidden_act="relu", type_vocab_size=3, max_position_embeddings=64),
                  {}, [1, 31, 64], [8, 3, 8]),
    "one_head": (dict(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=33,
                      hidden_act="gelu_new", rotary_value=True, type_vocab_size=1, max_position_embeddings=128),
                 {}, [1, 6, 128], [6, 2, 4]),
    "rotary_value": (dict(vocab_size=83, embedding_size=24, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                          intermediate_size=48, hidden_act="gelu", rotary_value=True, layer_norm_eps=1e-5,
                          max_position_embeddings=64), {}, [1, 17, 64], [11, 4]),
    "long": (dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                  hidden_act="gelu", max_position_embeddings=1536), {}, [127, 512, 1000, 1535, 1536], [700, 1, 300]),
    # The table of positions ends at 16 in the file; the answers are those of the same weights with a longer table.
    "beyond": (dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
                    hidden_act="relu", max_position_embeddings=16), {}, [16, 17, 400], [20, 40]),
    "bf16": (dict(vocab_size=101, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  intermediate_size=64, hidden_act="gelu", max_position_embeddings=64), dict(dtype=torch.bfloat16),
             [1, 20], [7, 2]),
    "f16": (dict(vocab_size=51, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                 hidden_act="tanh", max_position_embeddings=32), dict(dtype=torch.float16), [1, 20], [7, 2]),
    "untied": (dict(vocab_size=45, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                    hidden_act="silu", tie_word_embeddings=False, max_position_embeddings=32), {}, [1, 20], [7, 2]),
    "sharded": (dict(vocab_size=71, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                     hidden_act="gelu_pytorch_tanh", max_position_embeddings=32), dict(max_shard_size="20KB"), [1, 20], [7, 2]),
    # Attention sees earlier tokens only; its golden.txt ends with losses of next tokens.
    "causal": (dict(vocab_size=89, embedding_size=24, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
                    hidden_act="gelu", max_position_embeddings=600, is_decoder=True), {}, [1, 2, 33, 600], [1, 40, 9, 12]),
    "causal_value": (dict(vocab_size=55, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
                          hidden_act="relu", max_position_embeddings=64, is_decoder=True, rotary_value=True,
                          tie_word_embeddings=False), {}, [1, 64], [30, 5]),
    # Its table of positions was trained, as transformers 5 does.
    "trained": (dict(vocab_size=51, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                     hidden_act="gelu", max_position_embeddings=32), dict(trained=0.1), [1, 20, 32], [7, 2]),
}


def of_class(config):
    return RoFormerForCausalLM if config.get("is_decoder") else RoFormerForMaskedLM


def make(config, generator):
    return golden.randomize(of_class(config)(RoFormerConfig(**config)).eval(), generator)


def with_longer_table(model, config):
    longer = of_class(config)(RoFormerConfig(**{**config, "max_position_embeddings": LONGEST})).eval()
    state = {k: v for k, v in model.state_dict().items() if "embed_positions" not in k}
    left = longer.load_state_dict(state, strict=False)
    assert all("embed_positions" in k for k in left.missing_keys) and not left.unexpected_keys, left
    longer.tie_weights()
    return longer


def main():
    golden.quiet()
    for seed, (name, (config, saving, singles, batch)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        generator = golden.seeded(seed)
        model = make(config, generator)
        dtype, trained = saving.get("dtype"), saving.get("trained")
        if trained:
            table = model.get_parameter("roformer.encoder.embed_positions.weight").data
            table += trained * torch.randn(table.shape, generator=generator)
        if dtype:
            model.to(dtype)
        golden.save(model, folder, **{k: v for k, v in saving.items() if k not in ("dtype", "trained")})
        model.float()                                # from rounded weights and positions on, in float32
        worst = golden.write_cases(folder, model if dtype or trained else with_longer_table(model, config), singles, batch, generator, seed, full=max(batch) <= 12)
        golden.finish(folder, worst)
    print(sum(f.stat().st_size for f in ROOT.rglob("*") if f.is_file()), "bytes in all")


if __name__ == "__main__":
    main()
