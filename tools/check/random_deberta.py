#!/usr/bin/env python3
"""Compares DeBERTas of random configs and random weights with transformers.

    random_deberta.py PROGRAM [--count N] [--first N]

Each folder has a config.json with random values of the keys that DebertaV2Config and DebertaConfig (one of four) and their classes read, in the forms
that published files have, and a head.  The program embeds texts of different lengths, some beyond the linear range of the buckets, and runs the
head's command; both are compared with transformers' class, and again after `convert`, whose folder transformers must load without missing or
unexpected tensors.  A refusal has to name a key of config.json.  Exits with 1 if an answer differs or a refusal names no key.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TQDM_DISABLE="1", HF_HUB_DISABLE_PROGRESS_BARS="1")

import torch
import transformers

WORDS = ["w%d" % i for i in range(40)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LENGTHS = [1, 4, 12, 40, 90]


def config_of(pick):
    first = pick.random() < 0.25
    one = lambda *values: pick.choice(values)
    heads, width = one(1, 2, 3), one(4, 8, 12)
    c = dict(vocab_size=len(WORDS) + len(SPECIAL), hidden_size=heads * width, num_hidden_layers=one(1, 2, 3), num_attention_heads=heads,
             intermediate_size=one(16, 33), max_position_embeddings=one(64, 128, 512), layer_norm_eps=one(1e-7, 1e-5), hidden_act=one("gelu", "gelu", "relu", "gelu_new"))
    maybe = lambda key, *values: c.update({key: one(*values)}) if pick.random() < 0.6 else None
    types = ["c2p", "p2c"]
    pick.shuffle(types)
    types = types[:one(0, 1, 2, 2, 2, 2)]
    if pick.random() < 0.9:
        c["pos_att_type"] = one(types, "|".join(types) or None, " | ".join(types).upper() or None)
        if not first and types and pick.random() < 0.1:
            c["pos_att_type"] = types + ["p2p"]
    if pick.random() < 0.85:
        c["relative_attention"] = pick.random() < 0.9
    maybe("max_relative_positions", -1, -1, 0, 8, 20, 64, 200)
    maybe("position_biased_input", True, False, False)
    maybe("type_vocab_size", 0, 0, 2, 3)
    maybe("pooler_hidden_act", "gelu", "tanh", "relu", "gelu_fast")
    maybe("pooler_dropout", 0, 0.1)
    maybe("cls_dropout", None, 0.2)
    maybe("legacy", True, False)
    maybe("embedding_size", 10, heads * width)
    maybe("tie_word_embeddings", True, True, False)
    maybe("pooler_hidden_size", heads * width)
    if not first:
        maybe("position_buckets", -1, 4, 5, 8, 16, 32, 33, 256)
        maybe("share_att_key", True, False)
        maybe("norm_rel_ebd", "layer_norm", "layer_norm", "none", "Layer_Norm | x")
        if pick.random() < 0.2:
            c["attention_head_size"] = width
        if pick.random() < 0.25:
            c["conv_kernel_size"] = one(0, 1, 3, 5)
            maybe("conv_act", "tanh", "gelu")
            maybe("conv_groups", 1, heads)
    elif pick.random() < 0.1:
        c["talking_head"] = one(True, False)
    return first, c


def tokenizer(folder):
    (folder / "vocab.txt").write_text("".join(t + "\n" for t in SPECIAL + WORDS))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}\n')


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim == 1:
                p.copy_((1 if name.endswith("weight") else 0) + 0.2 * noise)
            else:
                p.copy_(noise * (0.5 if "embeddings" in name else 1.4 / p[0].numel() ** 0.5))
    model.tie_weights()
    return model.eval()


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


class Refused(Exception):
    pass


def lines_of(done):
    if done.returncode:
        raise Refused(done.stderr.strip().split("\n")[-1])
    return [json.loads(row) for row in done.stdout.strip().split("\n")]


def far(ours, theirs):
    return float((torch.tensor(ours, dtype=torch.float64) - theirs.double()).abs().max())


def compare(program, folder, model, head, texts):
    """The largest difference of vectors and of the head."""
    words = transformers.AutoTokenizer.from_pretrained(str(folder))
    file = folder / "texts.txt"
    file.write_text("".join(t + "\n" for t in texts))
    worst = {}
    base = model.deberta
    rows = lines_of(run(program, "embed", "-q", "-m", folder, "--pooling", "mean", "--format", "jsonl", file))
    with torch.no_grad():
        for row, text in zip(rows, texts, strict=True):
            x = words(text, return_tensors="pt")
            worst["vectors"] = max(worst.get("vectors", 0), far(row, base(**x).last_hidden_state[0].mean(0)))
        if head == "MaskedLM":
            text = texts[2].split(" ")
            text[1] = "[MASK]"
            x = words(" ".join(text), return_tensors="pt")
            p = model(**x).logits[0, 2].softmax(-1)
            got = lines_of(run(program, "fill-mask", "-q", "-m", folder, "--json", "-k", 5, " ".join(text)))[0]
            worst["head"] = max(abs(float(p[a["token"]]) - a["score"]) for a in got)
        else:
            for a, b in zip(texts[:3], texts[1:4]):
                z = model(**words(a, b, return_tensors="pt")).logits[0]
                p = z.sigmoid() if len(z) == 1 else z.softmax(-1)
                got = lines_of(run(program, "classify", "-q", "-m", folder, "--pair", b, "--", a))[0]
                score = {row["label"]: row["score"] for row in (got[0] if isinstance(got[0], list) else got)}
                worst["head"] = max(worst.get("head", 0), far([score[model.config.id2label[i]] for i in range(len(z))], p))
    return worst


def one(program, seed, counts):
    pick = random.Random(seed)
    first, c = config_of(pick)
    kind = "Deberta" if first else "DebertaV2"
    head = pick.choice(["MaskedLM", "SequenceClassification"])
    if head == "SequenceClassification":
        c["num_labels"] = pick.choice([1, 2, 3])
    made = getattr(transformers, kind + "Config")(**{k: v for k, v in c.items()})
    try:
        model = randomize(getattr(transformers, kind + "For" + head)(made), seed)
        model(torch.tensor([[2] + list(range(5, 5 + min(60, made.max_position_embeddings - 2))) + [3]]) % made.vocab_size)
    except Exception as e:
        counts["impossible"] += 1
        return f"transformers: {type(e).__name__}: {str(e)[:90]}"
    texts = [" ".join(pick.choice(WORDS) for _ in range(n)) for n in LENGTHS if n + 2 <= made.max_position_embeddings]
    with tempfile.TemporaryDirectory() as t:
        folder = pathlib.Path(t) / "m"
        model.save_pretrained(folder)
        saved = json.loads((folder / "config.json").read_text())
        # As published: only what was chosen, and in its form.
        saved = {k: v for k, v in saved.items() if k in c or k in ("architectures", "model_type", "id2label", "label2id")}
        saved.update({k: v for k, v in c.items() if k != "num_labels"})
        (folder / "config.json").write_text(json.dumps(saved))
        tokenizer(folder)
        try:
            worst = compare(program, folder, model, head, texts)
            done = run(program, "convert", "-q", folder, pathlib.Path(t) / "c")
            if done.returncode:
                raise Refused(done.stderr.strip())
            tokenizer(pathlib.Path(t) / "c")
            again, said = getattr(transformers, kind + "For" + head).from_pretrained(pathlib.Path(t) / "c", output_loading_info=True)
            for k, v in said.items():
                assert not v, (seed, k, v)
            for k, v in compare(program, pathlib.Path(t) / "c", again.eval(), head, texts).items():
                worst[k + " converted"] = v
            far_off = max(worst.values()) > 1e-5
            counts["differ" if far_off else "equal"] += 1
            return ("DIFFER " if far_off else "equal ") + " ".join(f"{k} {v:.1e}" for k, v in worst.items()) + (f" {json.dumps(c)}" if far_off else "")
        except Refused as e:
            named = any(f" {k}: " in str(e) for k in c)
            counts["refused" if named else "unnamed"] += 1
            return ("refused " if named else "REFUSED ") + str(e).replace(t, "") + ("" if named else " " + json.dumps(c))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--first", type=int, default=0)
    a = p.parse_args()
    torch.set_num_threads(1)
    counts = collections.Counter()
    for seed in range(a.first, a.first + a.count):
        print(seed, one(a.program, seed, counts), flush=True)
    print(dict(counts))
    return 1 if counts["differ"] or counts["unnamed"] else 0


if __name__ == "__main__":
    sys.exit(main())
