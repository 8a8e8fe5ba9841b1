#!/usr/bin/env python3
"""Makes tests/golden/models: tiny RoFormers with random weights, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The format is described in tests/golden/README.md.

    python tools/golden/golden_models.py            # writes tests/golden/models anew
    python tools/golden/golden_models.py causal     # only these
"""
import datetime
import pathlib
import shutil
import sys

import torch
import transformers
from transformers import RoFormerConfig, RoFormerForCausalLM, RoFormerForMaskedLM

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "models"
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
}


def of_class(config):
    return RoFormerForCausalLM if config.get("is_decoder") else RoFormerForMaskedLM


def make(config, generator):
    """Weights that matter: attention is neither flat nor one-hot, biases and norms are not zero and one."""
    model = of_class(config)(RoFormerConfig(**config)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue
            noise = torch.randn(p.shape, generator=generator)
            if name.endswith("LayerNorm.weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name and p.dim() == 2 and "project" not in name:
                p.copy_(0.4 * noise)
            else:
                gain = 1.5 if ".query." in name or ".key." in name else 1.0
                p.copy_(gain * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def with_longer_table(model, config):
    longer = of_class(config)(RoFormerConfig(**{**config, "max_position_embeddings": LONGEST})).eval()
    state = {k: v for k, v in model.state_dict().items() if "embed_positions" not in k}
    left = longer.load_state_dict(state, strict=False)
    assert all("embed_positions" in k for k in left.missing_keys) and not left.unexpected_keys, left
    longer.tie_weights()
    return longer


def some(n, k):
    """At most k places of n, the ends included."""
    return list(range(n)) if n <= k else sorted({round(i * (n - 1) / (k - 1)) for i in range(k)})


def numbers(values):
    return " ".join(f"{v:.9g}" for v in values)


def case(out, name, model, lengths, generator, full, exact=True):
    c = model.config
    B, L = len(lengths), max(lengths)
    ids = torch.randint(0, c.vocab_size, (B, L), generator=generator)
    types = torch.randint(0, max(1, c.type_vocab_size), (B, L), generator=generator)
    mask = torch.tensor([[int(t < n) for t in range(L)] for n in lengths])
    ids, types = ids * mask, types * mask
    call = dict(input_ids=ids, attention_mask=mask, token_type_ids=types, output_hidden_states=True)
    if getattr(c, "is_decoder", False):
        call["labels"] = ids.masked_fill(mask == 0, -100)          # the class shifts them
    with torch.no_grad():
        answer = model(**call)
        double = model.double()(**call) if exact else answer
        if exact:
            model.float()
    worst = max(float((answer.logits - double.logits)[mask == 1].abs().max()),
                float((answer.hidden_states[-1] - double.hidden_states[-1])[mask == 1].abs().max()))
    assert worst < 3e-5, (name, worst)               # its own rounding leaves room in a tolerance of 1e-4
    columns, entries = some(c.hidden_size, 64 if full else 8), some(c.vocab_size, 128 if full else 8)
    rows = [(b, t) for b, n in enumerate(lengths) for t in some(n, 16 if full else 8)]
    print(f"case {name} {B} {L}", file=out)
    for title, table in (("ids", ids), ("mask", mask), ("types", types)):
        print(title, " ".join(str(int(v)) for v in table.flatten()), file=out)
    print("columns", len(columns), *columns, file=out)
    print("entries", len(entries), *entries, file=out)
    print("rows", len(rows), file=out)
    for b, t in rows:
        print(b, t, numbers(answer.hidden_states[-1][b, t, columns].tolist()),
              numbers(answer.logits[b, t, entries].tolist()), file=out)
    if getattr(c, "is_decoder", False):
        print("loss", sum(n - 1 for n in lengths), numbers([float(answer.loss) if max(lengths) > 1 else 0]), file=out)
    return worst


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    for seed, (name, (config, saving, singles, batch)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = make(config, generator)
        dtype = saving.get("dtype")
        if dtype:
            model.to(dtype)
        model.save_pretrained(folder, **{k: v for k, v in saving.items() if k != "dtype"})
        (folder / "generation_config.json").unlink(missing_ok=True)
        model.float()                                # from rounded weights on, in float32
        model = with_longer_table(model, config)
        with open(folder / "golden.txt", "w") as out:
            print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, "
                  f"{datetime.date.today()}, seed {seed}, float32 on the CPU", file=out)
            worst = [case(out, f"length-{n}", model, [n], generator, n <= 3) for n in singles]
            worst.append(case(out, "padded", model, batch, generator, max(batch) <= 12))
            print("end", file=out)
        for file in folder.iterdir():
            file.chmod(0o644)
        size = sum(f.stat().st_size for f in folder.iterdir())
        print(f"{name:14} {size:8} bytes, float32 against float64 {max(worst):.1e}")
    print(sum(f.stat().st_size for f in ROOT.rglob("*") if f.is_file()), "bytes in all")


if __name__ == "__main__":
    main()
