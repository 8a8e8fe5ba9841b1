#!/usr/bin/env python3
"""Compares model folders as people publish them, with random weights, with transformers and sentence-transformers.

    published_folders.py PROGRAM DIR [--only NAME,...] [--old PYTHON] [--strict]

DIR holds one folder for each model: its config and tokenizer files, without weights.  For each of them transformers
makes random weights from the folder's own config.json with fewer layers (and fewer attention heads if the vocabulary is
large); the publisher's other files stay as they are.  The program then runs info, tokenize, the command of the model's
head, embed and convert, and its answers are compared with those of transformers' classes and of sentence-transformers.
--old is a Python with transformers 4: the ids of a tokenizer may be those of either version, and the table says of
which ("as 4.x": the states and the head are then compared for these ids).  Nothing stays on the disk; one folder is worked on at a time.

The table has a row for each folder: `ids` of 17 texts; `states`, the largest difference of the vectors; `head`, that of
the command for the head; `convert`, whether the converted folder gives the same vectors; or the message of a refusal.
Exits with 1 if an answer differs; with --strict also if a family that the program reads is refused.
"""
import argparse
import collections
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TOKENIZERS_PARALLELISM="false", TQDM_DISABLE="1",
                  HF_HUB_DISABLE_PROGRESS_BARS="1")
warnings.simplefilter("ignore")

TEXTS = ["The quick brown fox jumps over the lazy dog.", "In 2024, 3.14 % of 1,234,567 people (aged 18-65) said no.",
         "今天天气很好,我们去公园玩。", "I ♥ 🤗 emoji 👩‍👩‍👧 and flags 🇩🇪!", "def f(x):\n    return {x: x ** 2}  # comment",
         "Über naïve café façades; STRASSE straße, İstanbul", "a [MASK] b [SEP] c <mask> d </s> e <s> f <pad>", " leading and trailing ", "",
         "UPPER lower MiXeD don't won't we'll", "http://example.com/a?b=c&d=%20 mail@example.org", "日本語のテキスト と 한국어 텍스트",
         "word\tword\n\nword  word   word", "مرحبا بالعالم и привет мир", "<|endoftext|> [CLS] <unk> [UNK] ▁x Ġy ##z", "antidisestablishmentarianism",
         "x" * 120]
PLAIN = [TEXTS[i] for i in (0, 1, 2, 5, 9, 11)]            # for vectors and heads, on any vocabulary
NAMES = {"layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_decoder_layers"),
         "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads"),
         "width": ("hidden_size", "d_model", "n_embd", "dim"), "inner": ("intermediate_size", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "n_inner")}
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "bpe.codes", "spm.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "source.spm")


def first(config, names, default=None):
    return next((config[n] for n in names if isinstance(config.get(n), int)), default)


def smaller(config):
    """The publisher's config with two layers; one with a large vocabulary also with two heads of the same width."""
    config = dict(config)
    for name in NAMES["layers"]:
        if isinstance(config.get(name), int):
            config[name] = min(config[name], 2)
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][-2:]
    width, heads = first(config, NAMES["width"], 768), first(config, NAMES["heads"], 12)
    if width * config.get("vocab_size", 0) > 40_000_000 and heads > 2:
        one = config.get("head_dim") or width // heads
        for name in NAMES["heads"]:
            if isinstance(config.get(name), int):
                config[name] = 2
        if isinstance(config.get("num_key_value_heads"), int):
            config["num_key_value_heads"] = 1 if config["num_key_value_heads"] < heads else 2
        for name in NAMES["width"]:
            if isinstance(config.get(name), int):
                config[name] = 2 * one
        for name in NAMES["inner"]:
            if isinstance(config.get(name), int):
                config[name] = 4 * one
    return config


def modules(folder, width, torch):
    """Pooling and Dense of the new width, with random weights for Dense."""
    from safetensors.torch import save_file
    if (folder / "modules.json").exists():                  # a folder whose pooling is not among its files gets the usual one
        for module in json.loads((folder / "modules.json").read_text()):
            path = folder / module["path"] / "config.json"
            if module["type"].endswith("Pooling") and not path.exists():
                path.parent.mkdir(exist_ok=True)
                path.write_text('{"word_embedding_dimension": %d, "pooling_mode_mean_tokens": true}' % width)
    for path in folder.glob("*Pooling/config.json"):
        settings = json.loads(path.read_text())
        for key in ("word_embedding_dimension", "embedding_dimension"):
            if key in settings:
                settings[key] = width
        path.write_text(json.dumps(settings))
    for path in sorted(folder.glob("*Dense*/config.json")):
        settings = json.loads(path.read_text())
        settings["in_features"] = width
        path.write_text(json.dumps(settings))
        weights = {"linear.weight": torch.randn(settings["out_features"], width) / width ** 0.5}
        if settings.get("bias", True):
            weights["linear.bias"] = torch.randn(settings["out_features"])
        save_file(weights, path.parent / "model.safetensors")


def class_of(config, transformers):
    name = (config.get("architectures") or ["AutoModel"])[0]
    return getattr(transformers, name, None), name


def make_weights(folder, torch, transformers):
    """model.safetensors by the class of `architectures`; gives the model, in eval mode."""
    path = folder / "config.json"
    config = smaller(json.loads(path.read_text()))
    path.write_text(json.dumps(config))
    cls, name = class_of(config, transformers)
    if cls is None:
        raise LookupError("transformers has no class %s" % name)
    torch.manual_seed(7)
    settings = cls.config_class.from_pretrained(folder) if "model_type" not in config else transformers.AutoConfig.from_pretrained(folder)
    model = cls(settings).float().eval()
    with torch.no_grad():                                   # biases and norms that are not 0 and 1; logits that differ
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(torch.randn_like(p) * 0.05)
    saved = folder / "saved"
    model.save_pretrained(saved, max_shard_size="100GB")
    for f in saved.iterdir():
        if f.name.startswith("model"):
            shutil.move(f, folder / f.name)
    shutil.rmtree(saved)
    return model, config


class Program:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def run(self, *arguments, text=None, seconds=300):
        p = subprocess.run([self.path, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=seconds)
        return p.returncode, p.stdout, p.stderr.strip()

    def ids(self, folder):
        """The ids of TEXTS, or a message."""
        code, out, err = self.run("tokenize", "-q", "-m", folder, "--json", "--", *TEXTS)
        return (json.loads("[" + out.strip().replace("\n", ",") + "]"), None) if code == 0 else (None, message(err, folder))

    def vectors(self, folder, texts, *more):
        code, out, err = self.run("embed", "-q", "-m", folder, "-f", "jsonl", *more, text="\n".join(texts) + "\n")
        return ([json.loads(line) for line in out.splitlines()], None) if code == 0 else (None, message(err, folder))


def message(text, folder):
    return (text.splitlines() or ["no message"])[-1].replace(str(folder) + "/", "").replace("roformer: ", "")[:300]


def tokenizer_of(folder):
    import transformers
    return transformers.AutoTokenizer.from_pretrained(folder)


def ids_by_transformers(folder):
    t = tokenizer_of(folder)
    return [t(text)["input_ids"] for text in TEXTS]


def ids_of_all(folders):
    """{name: ids or a message}, for the interpreter that --old names."""
    for folder in folders:
        try:
            yield folder.name, ids_by_transformers(folder)
        except Exception as e:                              # whatever it raises is its answer
            yield folder.name, "%s: %s" % (type(e).__name__, str(e)[:120])


class OwnIds:
    """A tokenizer with the program's ids, for folders whose ids are those of transformers 4."""

    def __init__(self, program, folder, other):
        self.program, self.folder, self.other = program, folder, other

    def __getattr__(self, name):
        return getattr(self.other, name)

    def __call__(self, text, pair=None, return_tensors=None, **_):
        import torch
        if pair:
            raise ValueError("pairs of texts are not compared with ids of transformers 4")
        code, out, err = self.program.run("tokenize", "-q", "-m", self.folder, "--json", "--", text)
        if code:
            raise ValueError(err)
        ids = json.loads(out)["ids"]
        if not return_tensors:
            return {"input_ids": ids}
        ids = torch.tensor([ids])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def largest(a, b):
    return max((abs(x - y) for p, q in zip(a, b) for x, y in zip(p, q)), default=0.0) if len(a) == len(b) else float("inf")


def states(program, folder, model, tokenizer, torch):
    """The difference of the folder's vectors to sentence-transformers', or of the mean of the states to transformers'."""
    if (folder / "modules.json").exists():
        from sentence_transformers import SentenceTransformer
        if any("Pooling" in m.get("type", "") for m in json.loads((folder / "modules.json").read_text())):
            theirs = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
            if isinstance(tokenizer, OwnIds):
                with torch.no_grad():
                    right = [theirs(tokenizer(text, return_tensors="pt"))["sentence_embedding"][0].tolist() for text in PLAIN]
            else:
                right = theirs.encode(PLAIN, convert_to_numpy=True).tolist()
            mine, why = program.vectors(folder, PLAIN)
            return (largest(mine, right), None) if mine else (None, why)
    if model.config.is_encoder_decoder:
        return None, "-"
    mine, why = program.vectors(folder, PLAIN, "--pooling", "mean", "--max-length", "0")
    if not mine:
        return None, why
    right = []
    for text in PLAIN:
        with torch.no_grad():
            right.append(model.base_model(**inputs(tokenizer, text, model)).last_hidden_state[0].mean(0).tolist())
    return largest(mine, right), None


def inputs(tokenizer, text, model, pair=None):
    given = tokenizer(text, pair, return_tensors="pt")
    known = inspect.signature(model.forward).parameters
    return {k: v for k, v in given.items() if k in known}


def masked_words(program, folder, model, tokenizer, torch):
    text = "the %s is a" % tokenizer.mask_token
    code, out, err = program.run("fill-mask", "-q", "-m", folder, "--json", "-k", "5", text)
    if code:
        return None, message(err, folder)
    given = inputs(tokenizer, text, model)
    at = given["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        p = model(**given).logits[0, at].softmax(-1)
    return max(abs(row["score"] - p[row["token"]].item()) for row in json.loads(out)) / p.max().item(), None


def labels(program, folder, model, tokenizer, torch):
    worst = 0.0
    for text in PLAIN:
        pair = None
        code, out, err = program.run("classify", "-q", "-m", folder, "--", text)
        if code and "pairs of texts" in err:
            pair = PLAIN[0]
            code, out, err = program.run("classify", "-q", "-m", folder, "--pair", pair, "--", text)
        if code:
            return None, message(err, folder)
        with torch.no_grad():
            z = model(**inputs(tokenizer, text, model, pair)).logits[0]
        kind, one = model.config.problem_type, len(z) == 1
        p = z if kind == "regression" else z.sigmoid() if kind == "multi_label_classification" or one else z.softmax(-1)
        answer = json.loads(out)
        answer = answer[0] if isinstance(answer[0], list) else answer
        score = {row["label"]: row["score"] for row in answer}
        worst = max(worst, max(abs(score[model.config.id2label[i]] - p[i].item()) for i in range(len(z))))
    return worst, None


def next_words(program, folder, model, tokenizer, torch):
    code, out, err = program.run("score", "-q", "-m", folder, "--json", "--", PLAIN[0])
    if code:
        return None, message(err, folder)
    row = json.loads(out)
    ids = tokenizer(PLAIN[0], add_special_tokens=True)["input_ids"]
    with torch.no_grad():
        p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    right = {i: p[t - 1, i].item() for t, i in enumerate(ids) if t}
    mine = [(i, v) for i, v in zip(row["ids"], row["logprobs"]) if v is not None and i in right]
    same = max((min(abs(v - p[t - 1, i].item()) for t in range(1, len(ids)) if ids[t] == i) for i, v in mine), default=float("inf"))
    return same, None


def translation(program, folder, model, tokenizer, torch):
    text = "hello world"
    code, out, err = program.run("translate", "-q", "-m", folder, "--json", "--num_beams", "1", "--max_new_tokens", "8", text)
    if code:
        return None, message(err, folder)
    settings = folder / "generation_config.json"
    # Without the file, config.json or else the class says it: MarianConfig has 0, T5Config none.
    last = json.loads(settings.read_text()).get("forced_eos_token_id") if settings.exists() else getattr(model.config, "forced_eos_token_id", None)
    with torch.no_grad():
        right = model.generate(**tokenizer(text, return_tensors="pt"), do_sample=False, num_beams=1, max_new_tokens=8, forced_eos_token_id=last)[0].tolist()
    mine = json.loads(out)["ids"]
    right = right[1:]
    right = right[:right.index(model.config.eos_token_id)] if model.config.eos_token_id in right else right
    return (0.0, None) if mine == right else (float("inf"), None)


def runs_predict(program, folder, example):
    (folder / "examples.jsonl").write_text(json.dumps(example) + "\n")
    code, out, err = program.run("predict", "-q", "-m", folder, "--input", folder / "examples.jsonl", "-f", "jsonl")
    (folder / "examples.jsonl").unlink()
    return (0.0, "runs") if code == 0 else (None, message(err, folder))


def head(program, folder, model, tokenizer, torch):
    name = type(model).__name__
    if name.endswith("ForMaskedLM"):
        return masked_words(program, folder, model, tokenizer, torch) if tokenizer.mask_token else (None, "no mask token")
    if name.endswith("SequenceClassification"):
        return labels(program, folder, model, tokenizer, torch)
    if name.endswith("TokenClassification"):
        return runs_predict(program, folder, {"tokens": ["a", "dog", "barks"]})
    if name.endswith("QuestionAnswering"):
        return runs_predict(program, folder, {"id": "1", "question": "who barks?", "context": "a dog barks at night"})
    if name.endswith(("ForCausalLM", "LMHeadModel")):
        return next_words(program, folder, model, tokenizer, torch)
    if model.config.is_encoder_decoder:
        return translation(program, folder, model, tokenizer, torch)
    return None, "-"


def convert(program, folder):
    """Whether the converted folder has the same vectors (or, of an encoder-decoder, opens)."""
    other = folder.parent / "converted"
    code, _, err = program.run("convert", "-q", folder, other)
    if code:
        return message(err, folder)
    more = () if (folder / "modules.json").exists() else ("--pooling", "mean")
    a, why = program.vectors(folder, PLAIN, *more)
    b, _ = program.vectors(other, PLAIN, *more)
    return "same" if a is None or a == b else "DIFFERS"


def compare_ids(row, mine, right, old):
    counts = lambda other: sum(a["ids"] == b for a, b in zip(mine, other))
    n = counts(right)
    row["ids"] = "%d/%d" % (n, len(TEXTS))
    if n < len(TEXTS):
        if isinstance(old, list) and counts(old) == len(TEXTS):
            row["ids"] = "as 4.x"
        else:
            k = next(i for i, (a, b) in enumerate(zip(mine, right)) if a["ids"] != b)
            row["bad"] = "ids of %r: %s, transformers %s" % (TEXTS[k][:40], mine[k]["ids"][:14], right[k][:14])


def try_folder(program, source, old, work):
    import torch
    import transformers
    folder = work / source.name
    shutil.copytree(source, folder)
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    row = collections.OrderedDict(folder=source.name, family="-", claimed=True, ids="-", states="-", head="-", convert="-", why="")
    config = json.loads((folder / "config.json").read_text())
    row["family"] = config.get("model_type", "-")
    row["vocabulary"] = any((folder / f).exists() for f in VOCABULARIES)
    code, out, err = program.run("info", folder)
    if "model_type: expected one of" in err:
        return dict(row, claimed=False, why="family not claimed")
    try:
        model, _ = make_weights(folder, torch, transformers)
        modules(folder, model.config.hidden_size, torch)
    except Exception as e:
        return dict(row, why="no reference: %s" % str(e)[:150], reference=False, said=message(err, folder))
    mine, why = program.ids(folder)
    right, tokenizer = "", None
    try:
        tokenizer = tokenizer_of(folder)
        right = [tokenizer(text)["input_ids"] for text in TEXTS]
    except Exception as e:
        row["transformers"] = "%s: %s" % (type(e).__name__, " ".join(str(e).split())[:150])
    if mine is None:
        return dict(row, why=why)
    if not row["vocabulary"]:
        return dict(row, bad="answers without a vocabulary")
    if right == "":
        return dict(row, ids="alone", reference=False, why="transformers: " + row["transformers"])
    compare_ids(row, mine, right, old)
    if row["ids"] == "as 4.x":
        tokenizer = OwnIds(program, folder, tokenizer)
    reasons = []
    for name, does in (("states", states), ("head", head)):
        try:
            d, why = does(program, folder, model, tokenizer, torch)
        except Exception as e:
            d, why = None, "reference failed: %s" % str(e)[:150]
        row[name] = "%.0e" % d if d is not None else "-" if why == "-" else "no"
        if d is not None and why is None and not d <= 1e-5:
            row.setdefault("bad", "%s differ by %.1e" % (name, d))
        elif d is None and why != "-":
            reasons.append("%s: %s" % (name, why))
    row["convert"] = convert(program, folder)
    if row["convert"] == "DIFFERS":
        row.setdefault("bad", "the converted folder gives other vectors")
    elif row["convert"] != "same":
        reasons.append("convert: " + row["convert"])
        row["convert"] = "no"
    code, _, err = program.run("info", folder)
    if code:
        reasons.append("info: " + message(err, folder))
    return dict(row, why="; ".join(reasons))


def verdict(row):
    if not row["claimed"]:
        return "not claimed"
    if row.get("bad"):
        return "WRONG"
    if row.get("reference") is False:
        return "no reference"
    if not row["vocabulary"]:
        return "no vocabulary, refused"
    return "refused" if row["why"] else "answered"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("--only", type=lambda s: s.split(","))
    p.add_argument("--old", metavar="PYTHON")
    p.add_argument("--strict", action="store_true")
    a = p.parse_args()
    folders = [f for f in sorted(a.dir.iterdir()) if (f / "config.json").exists() and (not a.only or f.name in a.only)]
    if a.program == "ids":                                  # how --old is asked
        print(json.dumps(dict(ids_of_all(folders))))
        return 0
    old = {}
    if a.old:
        only = ["--only", ",".join(a.only)] if a.only else []
        said = subprocess.run([a.old, __file__, "ids", str(a.dir), *only], capture_output=True, text=True)
        old = json.loads(said.stdout.splitlines()[-1]) if said.stdout else {}
    count = collections.Counter()
    print("%-16s %-12s %-22s %-7s %-7s %-7s %-7s %s" % ("folder", "family", "verdict", "ids", "states", "head", "convert", "reason"))
    for folder in folders:
        with tempfile.TemporaryDirectory(prefix="published-") as work:
            try:
                row = try_folder(Program(a.program), folder, old.get(folder.name), pathlib.Path(work))
            except subprocess.TimeoutExpired as e:
                row = dict(folder=folder.name, family="-", claimed=True, vocabulary=True, ids="-", states="-", head="-", convert="-", why="", bad=str(e)[:100])
        count[verdict(row)] += 1
        print("%-16s %-12s %-22s %-7s %-7s %-7s %-7s %s" % (row["folder"], row["family"], verdict(row), row["ids"], row["states"], row["head"],
                                                          row["convert"], row.get("bad") or row["why"]), flush=True)
    print("\n" + ", ".join("%d %s" % (n, name) for name, n in count.most_common()))
    return 1 if count["WRONG"] or (a.strict and count["refused"]) else 0


if __name__ == "__main__":
    sys.exit(main())
