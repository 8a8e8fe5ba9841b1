#!/usr/bin/env python3
"""Compares encoder-decoder models of random configs with transformers: probabilities of given targets, and translations.

    pairs.py PROGRAM [--families bart,mbart,m2m_100,pegasus,marian] [--n 60] [--seed 1] [--keep DIR]

Each config has random values for every key that the class reads, random weights, a tokenizer of whole words, and half of them a
generation_config.json.  The program's `translate --score`, `translate` with one beam and with four are compared with the class's
logits (log-probabilities within 1e-5) and with its generate (ids).  use_cache stays true: without a cache, M2M-100 of transformers
numbers the tokens after a generated padding token otherwise.  A folder that the program refuses is listed with its message;
it must name a key.  Exits with 1 if an answer differs.
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

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TOKENIZERS_PARALLELISM="false", TQDM_DISABLE="1")

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

CLASSES = {"bart": "Bart", "mbart": "MBart", "m2m_100": "M2M100", "pegasus": "Pegasus", "marian": "Marian"}
ACTS = ["gelu", "relu", "silu", "swish", "gelu_new", "tanh", "gelu_pytorch_tanh"] * 6 + ["relu2", "quick_gelu"]


def random_config(family, r):
    heads = r.choice([1, 2, 4])
    width = heads * r.choice([4, 6, 8, 10]) * (4 if heads < 4 else 2)
    V = r.choice([23, 37, 64])
    c = dict(vocab_size=V, d_model=width, encoder_layers=r.choice([1, 2, 3]), decoder_layers=r.choice([1, 2, 3]),
             encoder_attention_heads=heads, decoder_attention_heads=r.choice([h for h in (1, 2, 4) if width % (2 * h) == 0]),
             encoder_ffn_dim=r.choice([8, 13, 32]), decoder_ffn_dim=r.choice([8, 17, 32]),
             max_position_embeddings=r.choice([24, 40, 64]), activation_function=r.choice(ACTS), scale_embedding=r.random() < 0.5,
             dropout=r.choice([0.0, 0.3]), attention_dropout=r.choice([0.0, 0.2]), activation_dropout=r.choice([0.0, 0.1]),
             init_std=r.choice([0.02, 0.3]), encoder_layerdrop=r.choice([0.0, 0.2]), decoder_layerdrop=r.choice([0.0, 0.1]),
             tie_word_embeddings=r.random() < 0.75, eos_token_id=2)
    c["pad_token_id"] = r.choice([0, 1, 1, 1, 21])          # M2M-100's table must have the row
    if family == "marian":
        c.update(decoder_start_token_id=c["pad_token_id"], share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    elif r.random() < 0.8:
        c["decoder_start_token_id"] = r.choice([0, 2, 2, V - 2, c["pad_token_id"]])
    if family in ("bart", "mbart") and r.random() < 0.3:
        c["bos_token_id"] = r.choice([0, 3])
    if family in ("bart", "mbart") and r.random() < 0.3:
        c["classifier_dropout"] = 0.1
    return c


def random_generation(c, family, r):
    g = {}
    if r.random() < 0.3:
        g["forced_bos_token_id"] = r.randrange(c["vocab_size"])
    if r.random() < 0.5:
        g["forced_eos_token_id"] = r.choice([2, None])
    if r.random() < 0.3:
        g["no_repeat_ngram_size"] = r.choice([1, 2, 3])
    if r.random() < 0.3:
        g["min_length"] = r.choice([3, 8])
    if r.random() < 0.5:
        g["length_penalty"] = r.choice([0.5, 2.0, 1.0, -1.0])
    if r.random() < 0.5:
        g["early_stopping"] = r.choice([True, False, "never"])
    if r.random() < 0.3:
        g["repetition_penalty"] = r.choice([1.2, 0.9])
    if r.random() < 0.3:
        g["bad_words_ids"] = [[r.randrange(3, c["vocab_size"])]]
    if family == "marian":
        g["bad_words_ids"] = [[c["pad_token_id"]]]
    g["max_length"] = r.choice([12, 18])
    return g


def make(folder, family, r):
    c = random_config(family, r)
    V = c["vocab_size"]
    g = random_generation(c, family, r)
    name = CLASSES[family]
    config = getattr(transformers, name + "Config")(**c)
    cls = getattr(transformers, name + ("MTModel" if family == "marian" else "ForConditionalGeneration"))
    torch.manual_seed(r.randrange(1 << 30))
    model = cls(config).float().eval()
    with torch.no_grad():
        for n, p in list(model.named_parameters()) + [(n, b) for n, b in model.named_buffers() if "final_logits_bias" in n]:
            noise = torch.randn(p.shape)
            if "embed_positions" in n and family in ("pegasus", "marian"):
                continue
            if "norm" in n and n.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif n.endswith("bias"):
                p.copy_(0.2 * noise)
            else:
                p.copy_(noise * (1.3 / p.shape[1] ** 0.5))
        model.tie_weights()
    model.save_pretrained(folder)
    path = folder / "config.json"
    written = json.loads(path.read_text())
    inside = r.random() < 0.5
    if inside:                                              # settings of generation where older folders have them
        written.update(g)
        (folder / "generation_config.json").unlink(missing_ok=True)
    else:
        kept = json.loads((folder / "generation_config.json").read_text())
        kept.update({k: v for k, v in g.items() if v is not None})
        (folder / "generation_config.json").write_text(json.dumps(kept))
    for key in list(written):                               # keys that files may lack
        if r.random() < 0.05 and key in c and not key.endswith("_id") and written[key] == getattr(getattr(transformers, name + "Config")(), key, None):
            del written[key]
    path.write_text(json.dumps(written))
    words = {("w%d" % i if i not in (0, 1, 2, 3) else ["<s>", "<pad>", "</s>", "<unk>"][i]): i for i in range(V)}
    t = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 2)])
    t.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>",
                                                              "eos_token": "</s>", "pad_token": "<pad>", "bos_token": "<s>"}))
    return cls.from_pretrained(folder, dtype=torch.float32).eval()


class Refused(Exception):
    pass


def run(program, *arguments):
    p = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if p.returncode:
        raise Refused(p.stderr.strip().splitlines()[-1])
    return [json.loads(line) for line in p.stdout.splitlines()]


def trimmed(ids, eos):
    ids = ids[1:]
    return ids[:ids.index(eos)] if eos in ids else ids


def compare(program, folder, model, r):
    """Differences as texts, and the largest one of log-probabilities."""
    V = model.config.vocab_size
    alphabet = [i for i in range(4, V - 2)]
    sources = [[r.choice(alphabet) for _ in range(n)] for n in (1, 4, 9)]
    targets = [[r.choice(alphabet) for _ in range(n)] for n in (6, 1, 10)]
    text = [" ".join("w%d" % i for i in s) for s in sources]
    (folder / "targets.txt").write_text("".join(" ".join("w%d" % i for i in t) + "\n" for t in targets))
    scored = run(program, "translate", "-q", "-m", folder, "--json", "--score", folder / "targets.txt", "--", *text)
    found, worst = [], 0.0
    start = model.generation_config.decoder_start_token_id
    start = model.generation_config.bos_token_id if start is None else start
    for s, t, got in zip(sources, targets, scored):
        with torch.no_grad():
            z = model(input_ids=torch.tensor([s + [2]]), decoder_input_ids=torch.tensor([[start] + t]), use_cache=False).logits[0]
        p = torch.log_softmax(z.double(), -1)
        expected = [float(p[i, id]) for i, id in enumerate(t + [2])]
        off = max(abs(a - b) for a, b in zip(expected, got["logprobs"]))
        worst = max(worst, off / (1 + max(abs(x) for x in expected)))
    for beams in (1, 4):
        got = run(program, "translate", "-q", "-m", folder, "--json", "--num_beams", beams, "--", *text)
        for s, g in zip(sources, got):
            with torch.no_grad():
                out = model.generate(input_ids=torch.tensor([s + [2]]), num_beams=beams, do_sample=False)
                exact = model.double().generate(input_ids=torch.tensor([s + [2]]), num_beams=beams, do_sample=False)
                model.float()
            ids = trimmed(out[0].tolist(), 2)
            if ids != g["ids"] and ids == trimmed(exact[0].tolist(), 2):         # not a near tie
                found.append("beams %d: %s, expected %s" % (beams, g["ids"], ids))
    return found, worst


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--families", default="bart,mbart,m2m_100,pegasus,marian")
    p.add_argument("--n", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="copies folders that differ to this one")
    a = p.parse_args()
    program, bad = str(pathlib.Path(a.program).resolve()), 0
    for family in a.families.split(","):
        worst, refused, equal, refusals = 0.0, {}, 0, 0
        for k in range(a.n):
            r = random.Random("%s %d %d" % (family, a.seed, k))
            with tempfile.TemporaryDirectory() as d:
                folder = pathlib.Path(d)
                model = make(folder, family, r)
                try:
                    found, off = compare(program, folder, model, r)
                except Refused as e:
                    refused[str(e).replace(d, "")] = k
                    refusals += 1
                    continue
                worst = max(worst, off)
                if not found and off <= 1e-5:
                    equal += 1
                    continue
                bad += 1
                print("%s %d: off by %.1e; %s" % (family, k, off, "; ".join(found)), flush=True)
                if a.keep:
                    shutil.copytree(folder, pathlib.Path(a.keep) / ("%s-%d" % (family, k)), dirs_exist_ok=True)
        print("%s: %d of %d equal, largest difference %.1e, %d refused" % (family, equal, a.n, worst, refusals), flush=True)
        for message, k in refused.items():
            print("    %d: %s" % (k, message), flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
