#!/usr/bin/env python3
"""Compares models of random configs and random weights with transformers, for families with layers of BERT's kind.

    random_families.py PROGRAM [--family NAME,...] [--count N] [--first N]

Each folder has a config.json with random values of the keys that the family's class reads, some of them left out, and a
head.  The program embeds texts of different lengths and runs the command of the head; the answers are compared with
transformers' class, and again after `convert`, whose folder transformers must load without missing or unexpected
tensors.  Labels of tokens and choices are compared as labels.  A refusal has to name a key of config.json.  Exits with 1
if an answer differs or a refusal names no key.
"""
import argparse
import collections
import inspect
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
LENGTHS = [1, 4, 12, 30, 90]                 # those that the model's positions hold
ACTS = ["gelu", "gelu", "relu", "gelu_new", "silu", "swish", "tanh", "gelu_pytorch_tanh", "gelu_fast", "gelu_python"] * 3 + ["quick_gelu", "mish"]
PLAIN = ("MaskedLM", "SequenceClassification", "TokenClassification", "MultipleChoice", "QuestionAnswering")


def layers(one, maybe, names):
    """Widths, by the names that a family has: width, inner width, heads, layers, activation."""
    heads, width = one(1, 2, 3), one(4, 8, 12, 4, 8, 12, 7)
    maybe(1, **dict(zip(names, (heads * width, one(16, 33), heads, one(1, 2, 3, 5)))))
    maybe(0.7, **{names[4]: one(*ACTS)})
    maybe(1, vocab_size=len(WORDS) + len(SPECIAL))
    return heads, width


BERTS = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "hidden_act")


def of_bert(one, maybe):
    layers(one, maybe, BERTS)
    maybe(0.7, max_position_embeddings=one(64, 128, 512))
    maybe(0.5, type_vocab_size=one(1, 2, 3))
    maybe(0.5, layer_norm_eps=one(1e-12, 1e-5, 1e-7))
    maybe(0.4, classifier_dropout=one(None, 0.2))
    maybe(0.3, tie_word_embeddings=one(True, False, False))
    maybe(0.3, initializer_range=one(0.02, 0.1))
    maybe(0.3, position_embedding_type="absolute")
    maybe(0.3, hidden_dropout_prob=one(0, 0.1), attention_probs_dropout_prob=one(0, 0.2))
    maybe(0.2, pad_token_id=one(0, 0, 1, 2))
    maybe(0.1, use_cache=False, chunk_size_feed_forward=one(0, 1))


def distilbert(one, maybe):
    layers(one, maybe, ("dim", "hidden_dim", "n_heads", "n_layers", "activation"))
    maybe(0.7, max_position_embeddings=one(64, 128, 512))
    maybe(0.4, sinusoidal_pos_embds=one(True, False))
    maybe(0.4, dropout=one(0, 0.1), attention_dropout=one(0, 0.2))
    maybe(0.4, qa_dropout=one(0, 0.3))
    maybe(0.4, seq_classif_dropout=one(0, 0.3))
    maybe(0.3, tie_word_embeddings=one(True, False))
    maybe(0.2, layer_norm_eps=0.1, type_vocab_size=3, hidden_act="relu", tie_weights_=True)
    maybe(0.2, pad_token_id=one(0, 1))
    maybe(0.2, hidden_dropout_prob=0.3, intermediate_size=7)


def electra(one, maybe):
    of_bert(one, maybe)
    maybe(0.7, embedding_size=one(6, 10, 24))
    maybe(0.6, summary_type=one("first", "last", "mean", "cls_index", "attn"))
    maybe(0.6, summary_use_proj=one(True, False))
    maybe(0.6, summary_activation=one(*ACTS, ""))
    maybe(0.3, summary_last_dropout=one(0, 0.3))
    maybe(0.1, summary_proj_to_labels=one(True, False))
    maybe(0.1, summary_first_dropout=0.2)
    maybe(0.1, is_decoder=True)


def camembert(one, maybe):
    of_bert(one, maybe)
    maybe(1, pad_token_id=one(0, 1, 3))
    maybe(1, max_position_embeddings=one(64, 100))
    maybe(0.1, is_decoder=True)


def albert(one, maybe):
    layers(one, maybe, BERTS)
    maybe(0.7, embedding_size=one(6, 10, 24))
    maybe(0.7, max_position_embeddings=one(64, 128, 512))
    maybe(0.7, num_hidden_groups=one(1, 1, 2, 3, 4))
    maybe(0.3, inner_group_num=one(1, 1, 2))
    maybe(0.5, type_vocab_size=one(1, 2, 3))
    maybe(0.5, layer_norm_eps=one(1e-12, 1e-5))
    maybe(0.4, classifier_dropout_prob=one(0, 0.2))
    maybe(0.4, hidden_dropout_prob=one(0, 0.1), attention_probs_dropout_prob=one(0, 0.2))
    maybe(0.3, tie_word_embeddings=one(True, False))
    maybe(0.2, down_scale_factor=1, gap_size=0, net_structure_type=0, num_memory_blocks=0)
    maybe(0.2, pad_token_id=one(0, 1))


def deberta(one, maybe):
    """Keys that all versions read, in the forms that published files have."""
    heads, width = layers(one, maybe, BERTS)
    maybe(0.9, max_position_embeddings=one(64, 128, 512))
    maybe(0.9, layer_norm_eps=one(1e-7, 1e-5))
    types = one([], ["c2p"], ["p2c"], *[["c2p", "p2c"], ["p2c", "c2p"]] * 3)
    maybe(0.9, pos_att_type=one(types, "|".join(types) or None, " | ".join(types).upper() or None))
    maybe(0.85, relative_attention=one(*[True] * 9, False))
    maybe(0.6, max_relative_positions=one(-1, -1, 0, 8, 20, 64, 200))
    maybe(0.6, position_biased_input=one(True, False, False))
    maybe(0.6, type_vocab_size=one(0, 0, 2, 3))
    maybe(0.6, pooler_hidden_act=one("gelu", "tanh", "relu", "gelu_fast"))
    maybe(0.6, pooler_dropout=one(0, 0.1))
    maybe(0.6, cls_dropout=one(None, 0.2))
    maybe(0.6, legacy=one(True, False))
    maybe(0.6, embedding_size=one(10, heads * width))
    maybe(0.6, tie_word_embeddings=one(True, True, False))
    maybe(0.6, pooler_hidden_size=heads * width)
    return heads, width, types


def deberta_v1(one, maybe):
    deberta(one, maybe)
    maybe(0.1, talking_head=one(True, False))


def deberta_v2(one, maybe):
    heads, width, types = deberta(one, maybe)
    maybe(0.1, pos_att_type=types + ["p2p"])
    maybe(0.6, position_buckets=one(-1, 4, 5, 8, 16, 32, 33, 256))
    maybe(0.6, share_att_key=one(True, False))
    maybe(0.6, norm_rel_ebd=one("layer_norm", "layer_norm", "none", "Layer_Norm | x"))
    maybe(0.2, attention_head_size=width)
    maybe(0.25, conv_kernel_size=one(0, 1, 3, 5), conv_act=one("tanh", "gelu"), conv_groups=one(1, 1, heads))


def xlnet(one, maybe):
    layers(one, maybe, ("d_model", "d_inner", "n_head", "n_layer", "ff_activation"))
    maybe(0.5, layer_norm_eps=one(1e-12, 1e-5))
    maybe(0.5, clamp_len=one(-1, 0, 5, 30))
    maybe(0.5, summary_type=one("last", "first", "mean", "cls_index"))
    maybe(0.2, summary_use_proj=one(True, False))
    maybe(0.2, summary_activation=one("tanh", "relu"))
    maybe(0.3, tie_word_embeddings=one(True, False))
    maybe(0.3, mem_len=one(None, 10), same_length=one(False, True), untie_r=True)
    maybe(0.3, dropout=one(0, 0.1), summary_last_dropout=one(0, 0.1))
    maybe(0.1, attn_type="uni")
    maybe(0.1, bi_data=True)
    maybe(0.3, pad_token_id=0)


# The classes of a family that have other names.
OTHERWISE = {"XLNetForMaskedLM": "XLNetLMHeadModel", "XLNetForQuestionAnswering": "XLNetForQuestionAnsweringSimple"}

# name: the beginning of its classes, its keys, its heads besides those of PLAIN that it has
FAMILIES = {
    "distilbert": ("DistilBert", distilbert, ("Model",)),
    "electra": ("Electra", electra, ("Model", "PreTraining")),
    "camembert": ("Camembert", camembert, ("Model",)),
    "albert": ("Albert", albert, ("Model", "PreTraining")),
    "deberta": ("Deberta", deberta_v1, ("Model",)),
    "deberta_v2": ("DebertaV2", deberta_v2, ("Model",)),
    "xlnet": ("XLNet", xlnet, ("Model",)),
}


def config_of(pick, keys):
    c = {}

    def maybe(share, **values):
        if pick.random() < share:
            c.update(values)
    keys(lambda *values: pick.choice(values), maybe)
    return c


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
                p.copy_(noise * (0.5 if "embeddings" in name else 1.2 / p[0].numel() ** 0.5))
    model.tie_weights()
    return model.eval()


class Refused(Exception):
    pass


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.strip().split("\n")[-1])
    return done.stdout.strip().split("\n")


def rows_of(program, *arguments):
    return [json.loads(row) for row in run(program, *arguments)]


def far(ours, theirs):
    return float((torch.tensor(ours, dtype=torch.float64) - theirs.double()).abs().max())


def answers(program, folder, model, texts, given):
    """The largest difference of the head's answers; labels that differ count as infinite."""
    head, same = type(model).__name__, lambda a, b: 0.0 if a == b else float("inf")
    one = [t for t in texts if len(t.split()) <= 12]
    if head.endswith(("MaskedLM", "LMHeadModel")):
        text = one[-1].split(" ")
        text[1] = "[MASK]"
        p = model(**given(" ".join(text))).logits[0, 2].softmax(-1)
        got = rows_of(program, "fill-mask", "-q", "-m", folder, "--json", "-k", 5, " ".join(text))[0]
        return max(abs(float(p[a["token"]]) - a["score"]) for a in got)
    if head.endswith("SequenceClassification"):
        worst = 0.0
        for a, b in zip(one, one[1:]):
            z = model(**given(a, b)).logits[0]
            p = z.sigmoid() if len(z) == 1 else z.softmax(-1)
            got = rows_of(program, "classify", "-q", "-m", folder, "--pair", b, "--", a)[0]
            score = {row["label"]: row["score"] for row in (got[0] if isinstance(got[0], list) else got)}
            worst = max(worst, far([score[model.config.id2label[i]] for i in range(len(z))], p))
        return worst
    file = folder / "examples.jsonl"
    if head.endswith("TokenClassification"):
        file.write_text(json.dumps({"tokens": texts[2].split()}) + "\n")
        got = rows_of(program, "predict", "-q", "-m", folder, "--input", file, "-f", "jsonl")[0]["tags"]
        z = model(**given(texts[2])).logits[0, 1:-1]
        return same(got, [model.config.id2label[i] for i in z.argmax(-1).tolist()])
    if head.endswith("MultipleChoice"):
        choices = one[:2] + texts[2:3]
        file.write_text(json.dumps({"text": "w1 w2", "choices": choices}) + "\n")
        got = rows_of(program, "predict", "-q", "-m", folder, "--input", file, "-f", "jsonl")[0]["label"]
        z = [float(model(**{k: v[None] for k, v in given("w1 w2", choice).items()}).logits) for choice in choices]
        return same(got, z.index(max(z)))
    return 0.0


def compare(program, folder, model, texts):
    words = transformers.AutoTokenizer.from_pretrained(str(folder))
    few = getattr(model.config, "type_vocab_size", 0) == 1
    if few:
        words.model_input_names = ["input_ids", "attention_mask"]
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(dict(settings, model_input_names=words.model_input_names)))
    takes = inspect.signature(model.forward).parameters
    given = lambda *text: {k: v for k, v in words(*text, return_tensors="pt").items() if k in takes}
    file = folder / "texts.txt"
    file.write_text("".join(t + "\n" for t in texts))
    rows = rows_of(program, "embed", "-q", "-m", folder, "--pooling", "mean", "--format", "jsonl", file)
    with torch.no_grad():
        vectors = max(far(row, model.base_model(**given(text)).last_hidden_state[0].mean(0)) for row, text in zip(rows, texts, strict=True))
        return {"vectors": vectors, "head": answers(program, folder, model, texts, given)}


def published(c, saved):
    """As publishers write it: only what was chosen, and in its form."""
    kept = {k: v for k, v in saved.items() if k in ("architectures", "model_type", "id2label", "label2id")}
    return dict(kept, **{k: v for k, v in c.items() if k != "num_labels"})


def once(program, family, seed, counts):
    pick = random.Random(f"{family} {seed}")
    stem, keys, more = FAMILIES[family]
    c = config_of(pick, keys)
    named = lambda head: OTHERWISE.get(stem + "For" + head, stem + ("Model" if head == "Model" else "For" + head))
    head = "Model" if c.get("is_decoder") else pick.choice([h for h in PLAIN if hasattr(transformers, named(h))] + list(more))
    if head in ("SequenceClassification", "TokenClassification"):
        c["num_labels"] = pick.choice([1, 2, 3] if head == "SequenceClassification" else [2, 5])
    kind = getattr(transformers, named(head))
    try:
        made = getattr(transformers, stem + "Config")(**c)
        model = randomize(kind(made), seed)
        with torch.no_grad():
            ids = torch.tensor([[2, *range(len(SPECIAL), made.vocab_size), 3]])
            model(input_ids=ids[None] if head == "MultipleChoice" else ids)
    except Exception as e:
        counts["impossible"] += 1
        return f"transformers: {type(e).__name__}: {str(e)[:90]}"
    texts = [" ".join(pick.choice(WORDS) for _ in range(n)) for n in LENGTHS if not 0 < made.max_position_embeddings < n + 6]
    with tempfile.TemporaryDirectory() as t:
        folder, other = pathlib.Path(t) / "m", pathlib.Path(t) / "c"
        model.save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps(published(c, json.loads((folder / "config.json").read_text()))))
        tokenizer(folder)
        try:
            worst = compare(program, folder, model, texts)
            run(program, "convert", "-q", folder, other)
            tokenizer(other)
            again, said = kind.from_pretrained(other, output_loading_info=True)
            lost = {k: v for k, v in said.items() if v and not (k == "missing_keys" and all("pooler" in x or "sop_" in x for x in v))}
            worst.update({k + " converted": v for k, v in compare(program, other, again.eval(), texts).items()})
            differs = max(worst.values()) > 1e-5 or lost
            counts["differ" if differs else "equal"] += 1
            return ("DIFFER " if differs else "equal ") + " ".join(f"{k} {v:.1e}" for k, v in worst.items()) + \
                (f" {head} {json.dumps(c)} {lost}" if differs else "")
        except Refused as e:
            told = any(k in str(e) for k in c)
            counts["refused" if told else "unnamed"] += 1
            return ("refused " if told else "REFUSED ") + str(e).replace(t, "") + ("" if told else f" {head} {json.dumps(c)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--family", type=lambda s: s.split(","), default=list(FAMILIES))
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--first", type=int, default=0)
    a = p.parse_args()
    torch.set_num_threads(1)
    bad = 0
    for family in a.family:
        counts = collections.Counter()
        for seed in range(a.first, a.first + a.count):
            print(family, seed, once(a.program, family, seed, counts), flush=True)
        print(family, dict(counts))
        bad += counts["differ"] + counts["unnamed"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
