#!/usr/bin/env python3
"""Makes tests/golden/t5, tests/golden/mt5 and tests/golden/umt5: tiny models with random weights, and transformers' logits, gradients
and generated texts (as golden_marian.py and golden_translate.py do), or last states of encoders alone; and folders with the tokenizer
that golden_t5_text.py makes: a translator, and a folder of sentence-transformers.

    pip install torch==2.15.0 transformers==5.24.0 sentence-transformers==6.2.0 safetensors
    python tools/golden/golden_t5.py                   # rewrites the three folders
    python tools/golden/golden_t5.py labels tags       # these folders of the three
    python tools/golden/golden_t5.py --check FOLDER    # loads what roformer wrote and compares it with FOLDER's golden.txt

tests/golden/README.md describes the format.
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

import golden
import golden_marian as marian
import golden_translate as translate

START, END = 0, 1
SMALL = dict(vocab_size=marian.V, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_decoder_layers=2, num_heads=2,
             relative_attention_num_buckets=8, relative_attention_max_distance=9, decoder_start_token_id=START)
OWN_HEAD = dict(tie_word_embeddings=False)
HEADS = {"labels": ("ForSequenceClassification", dict(SMALL, num_labels=3, num_decoder_layers=1)),
         "tags": ("ForTokenClassification", dict(SMALL, num_labels=5)),
         "answers": ("ForQuestionAnswering", dict(SMALL, num_layers=1))}
# family -> folder -> class, settings
MODELS = {
    "t5": {
        "tied": ("T5ForConditionalGeneration", SMALL),
        "own_head": ("T5ForConditionalGeneration", dict(SMALL, feed_forward_proj="gated-gelu", num_heads=4, **OWN_HEAD)),
        "saved_by_5": ("T5ForConditionalGeneration", dict(SMALL, feed_forward_proj="gated-silu", num_layers=3, num_decoder_layers=1,
                                                          **OWN_HEAD)),
        "encoder": ("T5EncoderModel", dict(SMALL, d_kv=12, feed_forward_proj="relu")),
    },
    "mt5": {
        "own_head": ("MT5ForConditionalGeneration", dict(SMALL, **OWN_HEAD)),
        "tied": ("MT5ForConditionalGeneration", dict(SMALL, layer_norm_epsilon=1e-5)),
        "encoder": ("MT5EncoderModel", SMALL),
    },
    "umt5": {
        "own_head": ("UMT5ForConditionalGeneration", dict(SMALL, **OWN_HEAD)),
        "tied": ("UMT5ForConditionalGeneration", dict(SMALL, feed_forward_proj="relu", d_kv=6)),
        "encoder": ("UMT5EncoderModel", dict(SMALL, relative_attention_num_buckets=32, relative_attention_max_distance=128)),
    },
}


def make(kind, settings, generator):
    """Weights that matter: attention is neither flat nor one-hot, and buckets differ."""
    cls = getattr(transformers, kind)
    model = cls(cls.config_class(**settings)).eval()
    c = model.config
    scaled = getattr(c, "scale_decoder_outputs", False)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim == 1:
                p.copy_(1 + 0.2 * noise)
            elif "relative" in name:
                p.copy_(noise)
            elif "shared" in name or "embed_tokens" in name:
                p.copy_((1.5 if scaled else 0.4) * noise)
            else:
                p.copy_((1.5 / c.d_kv ** 0.5 if ".q." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def add_head(folder, settings, generator, saved_by_5):
    """lm_head.weight with numbers of its own, which transformers then uses; tie_word_embeddings as version 4 or 5 writes it."""
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = torch.randn(settings["vocab_size"], settings["d_model"], generator=generator) * 0.4
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    if not saved_by_5:
        config.pop("scale_decoder_outputs", None)
        config["tie_word_embeddings"] = False
    golden.write_config(folder / "config.json", config)


def write_labels(folder, model, generator, seed):
    """golden.txt of a head for labels or answers, of texts that end with END and have another one before, except the shortest."""
    lengths = [12, 3, 7] if type(model).__name__.endswith("TokenClassification") else [12, 9, 7]
    ids, mask, _ = golden.padded(lengths, model.config.vocab_size - 2, 1, generator)
    ids = (ids + 2) * mask
    for row, n in zip(ids, lengths):
        row[n - 1] = row[n // 2] = END
    with torch.no_grad():
        got = golden.head_answer(model, ids, mask, 0 * ids)
        exact = golden.head_answer(model.double(), ids, mask, 0 * ids)
    worst = float((got - exact).abs().max())
    assert worst < 1e-5, (folder, worst)
    golden.write_lines(folder / "golden.txt", [
        golden.made_with(f"seed {seed}", "float32 on the CPU"), f"lengths 3 {golden.numbers(lengths, '{}')}",
        f"ids {golden.numbers(ids[mask == 1].tolist(), '{}')}", f"types {golden.numbers([0] * sum(lengths), '{}')}",
        f"logits {got.shape[0]} {got.shape[1]} {golden.numbers(got.flatten().tolist())}"])
    return worst


def write_states(folder, model, generator, seed):
    """golden.txt of an encoder alone: last states of texts of several lengths, and of a padded batch."""
    worst = 0.0
    with open(folder / "golden.txt", "w") as out:
        print(golden.made_with(f"seed {seed}", "float32 on the CPU"), file=out)
        for name, lengths in (("length-1", [1]), ("length-3", [3]), ("length-40", [40]), ("padded", [30, 1, 7])):
            ids, mask, types = golden.padded(lengths, model.config.vocab_size, 1, generator)
            with torch.no_grad():
                h = model(input_ids=ids, attention_mask=mask).last_hidden_state
                exact = model.double()(input_ids=ids, attention_mask=mask).last_hidden_state
                model.float()
            worst = max(worst, float((h - exact)[mask == 1].abs().max()))
            columns = golden.some(model.config.d_model, 16)
            rows = [(b, t) for b, n in enumerate(lengths) for t in golden.some(n, 8)]
            print(f"case {name} {len(lengths)} {max(lengths)}", file=out)
            for title, table in (("ids", ids), ("mask", mask), ("types", types)):
                print(title, " ".join(str(int(v)) for v in table.flatten()), file=out)
            print("columns", len(columns), *columns, file=out)
            print("entries 0", file=out)
            print("rows", len(rows), file=out)
            for b, t in rows:
                print(b, t, golden.numbers(h[b, t, columns].tolist()), file=out)
        print("end", file=out)
    assert worst < 3e-5, worst
    return worst


TEXTS = ["translate English to German: the old man and the sea", "summarize: a river", "the <extra_id_0> house", "x"]
WORDS = 380                                             # more than the tokenizer's 377, as usual


TASKS = {"summarization": {"prefix": "summarize: ", "num_beams": 4, "max_length": 12, "min_length": 9, "no_repeat_ngram_size": 1,
                           "early_stopping": True, "length_penalty": 2.0},
         "translation_en_to_de": {"prefix": "translate English to German: ", "max_length": 5, "num_beams": 2}}


def tokenizer(folder):
    shutil.copy(golden.GOLDEN / "subwords" / "t5.model", folder / "spiece.model")
    golden.write_config(folder / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "model_max_length": 12})
    for file in folder.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)


def write_whole(folder, generator):
    """A translator with its tokenizer; answers.jsonl: texts that transformers generates greedily and with beams, no piece twice, from whole
    sources; tasks.jsonl: ids with the settings of a task."""
    model = make("T5ForConditionalGeneration", dict(SMALL, vocab_size=WORDS), generator)
    model.save_pretrained(folder)
    tokenizer(folder)
    t = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in [*TEXTS, " ".join(["the sea"] * 30)]:
        ids = t(text, return_tensors="pt", truncation=False)["input_ids"]
        for beams in (1, 4):
            how = dict(num_beams=beams, max_new_tokens=10, do_sample=False, no_repeat_ngram_size=1)
            with torch.no_grad():
                out = model.generate(ids, **how)[0]
                assert out.tolist() == model.double().generate(ids, **how)[0].tolist()
            model.float()
            rows.append(json.dumps({"text": text, "beams": beams, "translation": t.decode(out, skip_special_tokens=True)}))
    golden.write_lines(folder / "answers.jsonl", rows)
    config = json.loads((folder / "config.json").read_text())
    golden.write_config(folder / "config.json", {**config, "task_specific_params": TASKS})
    rows = []
    for task, settings in TASKS.items():
        for text in ("a river", "the old man and the sea", "x"):
            ids = t(settings["prefix"] + text, return_tensors="pt")["input_ids"]
            how = {k: v for k, v in settings.items() if k != "prefix"}
            with torch.no_grad():
                out = model.double().generate(ids, do_sample=False, **how)[0].tolist()[1:]
            rows.append(json.dumps({"task": task, "text": text, "ids": out[:out.index(END)] if END in out else out}))
    golden.write_lines(folder / "tasks.jsonl", rows)


def write_sentences(folder, generator):
    """As sentence-t5 and gtr are published: mean, Dense without bias, norm; vectors.jsonl without and with a prompt."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    base = folder.with_name("base")
    make("T5EncoderModel", dict(SMALL, vocab_size=WORDS), generator).save_pretrained(base)
    tokenizer(base)
    dense = Dense(24, 16, bias=False, activation_function=torch.nn.Identity())
    SentenceTransformer(modules=[Transformer(str(base)), Pooling(24, "mean"), dense, Normalize()], prompts={"query": "find: "}, device="cpu").save(str(folder))
    for name in ("tokenizer.json", "README.md", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(base)
    tokenizer(folder)
    config = json.loads((folder / "config.json").read_text())
    golden.write_config(folder / "config.json", {**config, "is_encoder_decoder": True})         # as the published ones say
    model = SentenceTransformer(str(folder), device="cpu")
    texts = [*TEXTS, " ".join(["the sea"] * 30)]
    for name, more in (("vectors", {}), ("query", {"prompt_name": "query"})):
        golden.write_lines(folder / f"{name}.jsonl", [json.dumps(v) for v in model.encode(texts, **more).tolist()])
    golden.write_lines(folder / "texts.txt", texts)


def check(folder):
    source, target, expected = marian.read(pathlib.Path(folder) / "golden.txt")
    kind = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    worst = float((marian.logits(model, source, target).flatten() - expected).abs().max())
    print(f"{folder}: largest difference {worst:.1e}")
    assert worst < 1e-4


def main():
    golden.quiet()
    if len(sys.argv) > 2 and sys.argv[1] == "--check":
        return check(sys.argv[2])
    seed = 100
    rows = [(family, name, *row) for family, models in MODELS.items() for name, row in models.items()]
    rows += [(family, name, family.upper() + kind, settings) for family in MODELS for name, (kind, settings) in HEADS.items()]
    for family in [] if sys.argv[1:] else MODELS:
        golden.fresh(golden.GOLDEN / family)
    for family, name, kind, settings in rows:
        folder = golden.GOLDEN / family / name
        seed += 1
        if name not in (sys.argv[1:] or [name]):
            continue
        generator = golden.seeded(seed)
        model = make(kind, settings, generator)
        golden.save(model, folder)
        if "tie_word_embeddings" in settings:
            add_head(folder, settings, generator, name == "saved_by_5")
        model = type(model).from_pretrained(folder, attn_implementation="eager").eval()
        if name == "encoder":
            worst = write_states(folder, model, generator, seed)
        elif name in HEADS:
            worst = write_labels(folder, model, generator, seed)
        else:
            worst = marian.write(folder, model, generator, START)
            marian.training(folder, cls=type(model), end=END)
            translate.write(folder, model, generator, START, END)
        golden.finish(folder, worst)
    if sys.argv[1:]:
        return
    write_whole(golden.GOLDEN / "t5" / "whole", golden.seeded(201))
    write_sentences(golden.GOLDEN / "t5" / "sentences", golden.seeded(202))


if __name__ == "__main__":
    main()
