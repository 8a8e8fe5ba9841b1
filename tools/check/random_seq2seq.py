#!/usr/bin/env python3
"""Compares encoder-decoder models of random settings with transformers.

    random_seq2seq.py PROGRAM [--seed N] [--folders N] [--family t5|mt5|umt5] [--keep DIR]

Each folder has random values of every key that the class reads, random weights, and a tokenizer of words.  The program
translates some texts, greedily and with four beams; ids must be those of transformers' generate, and every token's
log-probability must differ from transformers' in double by at most 1e-5 of its size (at least 1), or by four times as much as
transformers' in single precision.  Encoders alone: the program's vectors against the class's last states.  A folder may be refused by a message that names the key.  Prints a line for each folder that differs or
is refused, and the largest difference; exits with 1 if one differs.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TQDM_DISABLE="1", HF_HUB_DISABLE_PROGRESS_BARS="1")

import torch
import transformers
from safetensors.torch import load_file, save_file

WORDS, BEAMS, MOST = 48, 4, 12
NAMES = {"t5": "T5", "mt5": "MT5", "umt5": "UMT5"}


def tokenizer(folder):
    vocab = {"<pad>": 0, "</s>": 1, "<unk>": 2, **{f"w{i}": i for i in range(3, WORDS)}}
    special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for t, i in list(vocab.items())[:3]]
    end = {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}
    template = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": end}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None, "decoder": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": template,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>",
                                                              "unk_token": "<unk>", "pad_token": "<pad>"}))


def settings(r, family):
    """Keys as people write them: some are left out, some have two names."""
    c = {"vocab_size": WORDS, "d_model": r.choice([12, 16, 24, 30]), "d_kv": r.choice([2, 3, 4, 7, 8, 12, 16]), "d_ff": r.choice([17, 32, 40]),
         "num_layers": r.randint(1, 3), "num_heads": r.choice([1, 2, 3, 4]), "dropout_rate": r.choice([0.0, 0.1, 0]),
         "layer_norm_epsilon": r.choice([1e-6, 1e-5, 0.01]), "initializer_factor": r.choice([1.0, 0.05]), "pad_token_id": 0, "eos_token_id": 1,
         "decoder_start_token_id": r.choice([0, 0, 0, 5]), "model_type": family}
    forms = ["relu", "gelu", "gelu_new", "silu", "swish", "gated-gelu", "gated-silu", "gated-relu", "gated-gelu_new", "tanh"]
    may = {"feed_forward_proj": forms, "num_decoder_layers": [None, *range(1, c["num_layers"] + 1)],
           "relative_attention_num_buckets": [2, 4, 6, 7, 8, 9, 16, 31, 32, 33, 64], "relative_attention_max_distance": [3, 8, 10, 20, 33, 64, 128, 200, 1000],
           "tie_word_embeddings": [True, False], "scale_decoder_outputs": [True, False], "is_gated_act": [True, False],
           "dense_act_fn": ["relu", "gelu", "gelu_new", "silu"], "n_positions": [8, 512], "use_cache": [True, False], "classifier_dropout": [0.0, 0.3],
           "output_past": [True], "is_encoder_decoder": [True], "is_decoder": [False], "gradient_checkpointing": [False], "torch_dtype": ["float32"],
           "tokenizer_class": ["T5Tokenizer"], "task_specific_params": [{"summarization": {"prefix": "summarize: ", "num_beams": 4}}]}
    rare = ("scale_decoder_outputs", "is_gated_act", "dense_act_fn")
    for key, values in may.items():
        if r.random() < (0.15 if key in rare else 0.6):
            c[key] = r.choice(values)
    for new, old in (("d_model", "hidden_size"), ("num_heads", "num_attention_heads"), ("num_layers", "num_hidden_layers"), ("d_kv", "head_dim")):
        if r.random() < 0.05:
            c[old] = c.pop(new)
    return c


def make(folder, r, family):
    c = settings(r, family)
    encoder = r.random() < 0.2
    c["architectures"] = [NAMES[family] + ("EncoderModel" if encoder else r.choice(["ForConditionalGeneration"] * 9 + ["Model"]))]
    if encoder:
        c["is_encoder_decoder"] = r.choice([True, False])
    (folder / "config.json").write_text(json.dumps(c))
    kind = NAMES[family] + ("EncoderModel" if encoder else "ForConditionalGeneration")
    cls = getattr(transformers, kind)
    model = cls(cls.config_class.from_pretrained(folder)).float()
    torch.manual_seed(r.randrange(1 << 30))
    weights = {}
    for name, p in model.state_dict().items():
        noise = torch.randn(p.shape)
        size = 0.2 if p.ndim == 1 else 1.0 if "relative" in name or "shared" in name or "embed_tokens" in name else 1.5 / p.shape[-1] ** 0.5
        weights[name] = (1 if p.ndim == 1 else 0) + size * noise
        if ".q." in name:
            weights[name] /= model.config.d_kv ** 0.5
    word = weights["shared.weight"]
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
        weights.pop(name, None)
    form = r.choice(["shared", "shared", "copies", "encoder"] if encoder else ["shared", "shared", "copies"])
    if form == "copies":
        weights["encoder.embed_tokens.weight"] = word.clone()
    if form == "encoder":
        weights["encoder.embed_tokens.weight"] = weights.pop("shared.weight")
    if not encoder:
        head = r.choice(["none", "own", "own", "copy"])
        if head != "none":
            weights["lm_head.weight"] = 0.4 * torch.randn(WORDS, word.shape[1]) if head == "own" else word.clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer(folder)
    return cls.from_pretrained(folder, attn_implementation="eager").eval(), encoder


def run(program, *arguments, text=None):
    p = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True)
    return p.returncode, p.stdout, (p.stderr.strip().splitlines() or [""])[-1]


def texts(r):
    return [[r.randrange(3, WORDS) for _ in range(n)] for n in (1, 3, 7, r.choice([12, 40, 150]))]


def logprobs(model, source, target):
    with torch.no_grad():
        z = model(input_ids=torch.tensor([source + [1]]), decoder_input_ids=torch.tensor([target[:-1]]), use_cache=False).logits[0]
    return z.log_softmax(-1).gather(1, torch.tensor(target[1:])[:, None])[:, 0].tolist()


def distance(x, exact):
    return max([0.0, *(abs(a - b) / max(1, abs(b)) for a, b in zip(x, exact))])


def same_texts(program, folder, model, sources):
    """The largest difference of log-probabilities, or a sentence."""
    worst = 0.0
    lines = [" ".join(f"w{i}" for i in s) for s in sources]
    for beams in (1, BEAMS):
        code, out, why = run(program, "translate", "-q", "-m", folder, "--json", "--num_beams", beams, "-n", MOST, *lines)
        if code:
            return why
        for source, line in zip(sources, out.splitlines()):
            x = json.loads(line)
            with torch.no_grad():
                ids = model.double().generate(input_ids=torch.tensor([source + [1]]), num_beams=beams, max_new_tokens=MOST, do_sample=False)[0].tolist()
            end = ids.index(1, 1) if 1 in ids[1:] else len(ids)
            if x["ids"] != ids[1:end]:
                return f"{beams} beams: ids {x['ids']}, transformers {ids[1:end]}"
            expected = logprobs(model, source, ids[:end + 1])
            got = x["logprobs"] + ([x["end_logprob"]] if end < len(ids) else [])
            off = distance(got, expected)
            worst = max(worst, off if off <= 1e-5 or off > 4 * distance(logprobs(model.float(), source, ids[:end + 1]), expected) else 1e-5)
    return worst


def same_states(program, folder, model, sources):
    lines = [" ".join(f"w{i}" for i in s) for s in sources]
    code, out, why = run(program, "embed", "-q", "-m", folder, "-f", "jsonl", "--pooling", "mean", text="\n".join(lines) + "\n")
    if code:
        return why
    worst = 0.0
    for source, line in zip(sources, out.splitlines()):
        with torch.no_grad():
            h = model.double()(input_ids=torch.tensor([source + [1]])).last_hidden_state[0].mean(0)
        worst = max(worst, float((torch.tensor(json.loads(line), dtype=torch.float64) - h).abs().max() / max(1.0, float(h.abs().max()))))
    return worst


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folders", type=int, default=60)
    p.add_argument("--family", choices=NAMES, default=None)
    p.add_argument("--keep", type=pathlib.Path, help="a folder for folders that differ or are refused")
    a = p.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    worst, wrong, refused, skipped = 0.0, 0, 0, 0
    for seed in range(a.seed, a.seed + a.folders):
        r = random.Random(seed)
        family = a.family or r.choice(list(NAMES))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            try:
                model, encoder = make(folder, r, family)
                sources = texts(r)
                result = (same_states if encoder else same_texts)(a.program, folder, model, sources)
            except (ZeroDivisionError, IndexError, RuntimeError, ValueError) as why:
                print(f"{seed} {family}: transformers: {type(why).__name__}: {str(why)[:100]}")
                skipped += 1
                continue
            bad = isinstance(result, str) and " beams: ids" in result or not isinstance(result, str) and not result <= 1e-5
            if isinstance(result, str) or bad:
                config = json.loads((folder / "config.json").read_text())
                print(f"{seed} {family}: {result.replace(name, '') if isinstance(result, str) else f'{result:.1e}'}\n    {json.dumps(config)}")
                if a.keep:
                    shutil.copytree(folder, a.keep / str(seed), dirs_exist_ok=True)
            wrong += bad
            refused += isinstance(result, str) and not bad
            worst = max(worst, result) if not isinstance(result, str) else worst
    print(f"{a.folders} folders: {wrong} differ, {refused} refused, {skipped} that transformers cannot compute; largest difference {worst:.1e}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
