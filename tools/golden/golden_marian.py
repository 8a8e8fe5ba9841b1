#!/usr/bin/env python3
"""Makes tests/golden/marian: tiny Marian translators with random weights, and transformers' logits of every token of some pairs.

    pip install torch==2.15.0 transformers==5.23.0 safetensors
    python tools/golden/golden_marian.py                   # rewrites tests/golden/marian
    python tools/golden/golden_marian.py --check FOLDER    # loads what roformer wrote and compares it with FOLDER's golden.txt
    python tools/golden/golden_marian.py --training        # writes training.txt into the folders that are there

tests/golden/README.md describes the format.
"""
import pathlib
import sys

import torch
from transformers import MarianConfig, MarianMTModel

import golden

ROOT = golden.GOLDEN / "marian"
V, PAD = 41, 40
SMALL = dict(vocab_size=V, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=64, pad_token_id=PAD, decoder_start_token_id=PAD,
             eos_token_id=0, activation_function="swish", scale_embedding=True)
MODELS = {
    "shared": SMALL,
    "sides": dict(SMALL, encoder_layers=3, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=6, encoder_ffn_dim=28,
                  activation_function="relu", scale_embedding=False),
    "two_ways": dict(SMALL, share_encoder_decoder_embeddings=False, activation_function="relu"),
    "untied": dict(SMALL, share_encoder_decoder_embeddings=False, tie_word_embeddings=False, activation_function="gelu"),
}
LENGTHS = [(5, 7), (1, 1), (12, 3), (2, 9)]             # tokens of source and target


def make(config, generator):
    """Weights that matter: attention is neither flat nor one-hot, no bias is zero."""
    model = MarianMTModel(MarianConfig(**config)).eval()
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + [("final_logits_bias", model.final_logits_bias)]:
            noise = torch.randn(p.shape, generator=generator)
            if "embed_positions" in name:
                continue
            if "layer_norm.weight" in name:
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "shared" in name or "embed_tokens" in name:
                p.copy_((0.2 if config["scale_embedding"] else 0.8) * noise)
            else:
                p.copy_((1.5 if ".q_proj." in name or ".k_proj." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def texts(generator, start=PAD):
    source = [torch.randint(1, PAD, (m,), generator=generator) for m, _ in LENGTHS]
    target = [torch.cat([torch.tensor([start]), torch.randint(1, PAD, (n - 1,), generator=generator)]) for _, n in LENGTHS]
    return source, target


def logits(model, source, target):
    """For a padded batch: positions after the end of a text are masked or not compared."""
    ids = torch.nn.utils.rnn.pad_sequence(source, batch_first=True, padding_value=3)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(s) for s in source], batch_first=True)
    to = torch.nn.utils.rnn.pad_sequence(target, batch_first=True, padding_value=3)
    with torch.no_grad():
        z = model(input_ids=ids, attention_mask=mask, decoder_input_ids=to, use_cache=False).logits
    return torch.cat([z[b, :len(t)] for b, t in enumerate(target)])


def numbers(word, x):
    return f"{word} {len(x)} {' '.join(str(int(i)) for i in x)}\n"


def write(folder, model, generator, start=PAD):
    source, target = texts(generator, start)
    z = logits(model, source, target)
    worst = float((z - logits(model.double(), source, target)).abs().max())
    model.float()
    assert worst < 3e-5, worst
    with open(folder / "golden.txt", "w") as f:
        f.write(golden.made_with() + "\n")
        f.write(f"pairs {len(source)}\n")
        for s, t in zip(source, target):
            f.write(numbers("source", s) + numbers("target", t))
        for row in z:
            f.write(" ".join(f"{x:.6g}" for x in row.tolist()) + "\n")
        f.write("end\n")
    return worst


def read(path):
    words = path.read_text().split("\n", 1)[1].split()
    at, pairs, out = 2, int(words[1]), ([], [])
    for i in range(2 * pairs):
        n = int(words[at + 1])
        out[i % 2].append(torch.tensor([int(x) for x in words[at + 2:at + 2 + n]]))
        at += 2 + n
    return *out, torch.tensor([float(x) for x in words[at:-1]])


def check(folder, cls=MarianMTModel):
    source, target, expected = read(pathlib.Path(folder) / "golden.txt")
    model = cls.from_pretrained(folder).eval()
    worst = float((logits(model, source, target).flatten() - expected).abs().max())
    print(f"{folder}: largest difference {worst:.1e}")
    assert worst < 1e-4


def training(folder, share=0.1, cls=MarianMTModel, computed=("embed_positions",), end=0):
    """Sum of the losses of all tokens of the targets and of their ends, labels smoothed; of each tensor's gradient the norm and
    the sum of its products with sin(1.7 i), in double."""
    source, target, _ = read(folder / "golden.txt")
    model = cls.from_pretrained(folder).double().eval()                                 # gradients, but no dropout
    for m in model.modules():
        if isinstance(m, torch.nn.Embedding):
            m.padding_idx = None                    # targets begin with it, and torch would leave its gradient out
    ids = torch.nn.utils.rnn.pad_sequence(source, batch_first=True, padding_value=3)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(s) for s in source], batch_first=True)
    to = torch.nn.utils.rnn.pad_sequence(target, batch_first=True, padding_value=3)
    label = torch.cat([torch.cat([t[1:], torch.tensor([end])]) for t in target])        # eos_token_id
    z = model(input_ids=ids, attention_mask=mask, decoder_input_ids=to, use_cache=False).logits
    rows = torch.cat([z[b, :len(t)] for b, t in enumerate(target)])
    loss = torch.nn.functional.cross_entropy(rows, label, label_smoothing=share, reduction="sum")
    loss.backward()
    with open(folder / "training.txt", "w") as f:
        f.write(golden.made_with() + "\n")
        f.write(f"smoothing {share} loss {loss.item():.9g}\n")
        for name, p in model.named_parameters():
            if p.grad is None or any(c in name for c in computed):
                continue
            g = p.grad.flatten()
            dot = (g * torch.sin(1.7 * torch.arange(len(g), dtype=torch.float64))).sum()
            f.write(f"{name} {g.norm().item():.9g} {dot.item():.9g}\n")
        f.write("end 0 0\n")


def main():
    golden.quiet()
    if len(sys.argv) > 1 and sys.argv[1] == "--training":
        for name in MODELS:
            training(ROOT / name)
        return
    if len(sys.argv) > 2 and sys.argv[1] == "--check":
        return check(sys.argv[2])
    golden.fresh(ROOT)
    for seed, (name, config) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        generator = golden.seeded(seed)
        model = make(config, generator)
        golden.save(model, folder, safe_serialization=True)
        worst = write(folder, model, generator)
        training(folder)
        golden.finish(folder, worst)


if __name__ == "__main__":
    main()
