#!/usr/bin/env python3
"""Makes tests/golden/languages: tiny models whose tokenizers have tokens for languages, the ids of texts, and what transformers translates.

    pip install torch==2.15.0 transformers==5.24.0 safetensors sentencepiece
    python tools/golden/golden_languages.py
    python tools/golden/golden_languages.py pieces        # with transformers 4.57: nllb_pieces alone

Each folder has texts.jsonl: {"source_lang", "target_lang", "beams", "text", "source": ids, "target": ids of the text as a target, "ids":
those of generate}; nul and nllb_pieces only have a tokenizer, and ids.jsonl; loss.json the loss of pairs by the class's labels.  nllb has tokenizer.json, m2m_100 vocab.json with sentencepiece.bpe.model, mbart50 and mbart that model alone.
"""
import io
import json
import random
import sys

import sentencepiece
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

import golden

ROOT = golden.GOLDEN / "languages"
WORDS = "the quick brown fox jumps over lazy dog people said word house water language model new world hello green tree".split()
TEXTS = ["the lazy dog", "hello world people.", "a <mask> new house", "water  tree", "unseen: Ω ñ"]
PLAIN = [t for t in TEXTS if "<" not in t]                  # texts of training have no special tokens
NLLB = ["ace_Arab", "eng_Latn", "fra_Latn", "deu_Latn", "zho_Hans"]


def lines():
    r = random.Random(1)
    return [" ".join(r.choice(WORDS) for _ in range(8)) + "." for _ in range(400)]


def pieces(vocabulary=50):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_writer=model, vocab_size=vocabulary, model_type="unigram",
                                             minloglevel=2, num_threads=1, normalization_rule_name="identity")
    return model.getvalue()


def write_nllb(folder):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    t.train_from_iterator(lines(), trainers.BpeTrainer(vocab_size=90, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False))
    t.add_special_tokens([AddedToken(c, special=True, normalized=False) for c in NLLB])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    t.save(str(folder / "tokenizer.json"))
    golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "NllbTokenizer", "src_lang": "fra_Latn", "additional_special_tokens": NLLB})


def write_m2m(folder):
    model = pieces()
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    p = sentencepiece.SentencePieceProcessor(model_proto=model)
    names = ["<s>", "<pad>", "</s>", "<unk>"] + [p.id_to_piece(i) for i in range(3, p.get_piece_size())]
    golden.write_json(folder / "vocab.json", {name: i for i, name in enumerate(names)})
    golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer"})


def nul(folder):
    """ids.jsonl of the tokenizer in `folder` with two pieces of U+0000, which Meta's vocab.json has; no model."""
    folder.mkdir()
    write_m2m(folder)
    vocabulary = json.loads((folder / "vocab.json").read_text())
    vocabulary |= {"\0": len(vocabulary), "a\0b": len(vocabulary) + 1}
    golden.write_json(folder / "vocab.json", vocabulary)
    golden.write_config(folder / "config.json", {"model_type": "m2m_100"})
    t = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["the \0 dog", "\0", "the\0dog", "a\0b", "\0\0 x", "\uffff the", "dog"]
    rows = [{"text": text, "ids": t(text)["input_ids"], "decoded": t.decode(t(text)["input_ids"][1:], skip_special_tokens=True)} for text in texts]
    golden.write_lines(folder / "ids.jsonl", [json.dumps(r) for r in rows])


def nul_fast(folder):
    """The same of tokenizer.json: a list of pieces, and an object with merges."""
    unigram = Tokenizer(models.Unigram([("<unk>", 0.0), ("\u2581", -1.0), ("a", -2.0), ("\0", -2.5), ("\u2581the", -3.0), ("b\0", -3.0)], 0))
    bpe = Tokenizer(models.BPE({"<unk>": 0, "a": 1, "\0": 2, "a\0": 3, "b": 4, "\u2581": 5}, [("a", "\0")], unk_token="<unk>"))
    for name, t in (("unigram", unigram), ("bpe", bpe)):
        (folder / name).mkdir()
        t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        t.save(str(folder / name / "tokenizer.json"))
        golden.write_json(folder / name / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"})
        rows = [(text, t.encode(text).ids) for text in ("the \0a", "b\0", "a\0\0", "a\0b a", "\0", "a\uffffa")]
        golden.write_lines(folder / name / "ids.jsonl", [json.dumps({"text": x, "ids": ids, "decoded": t.decode([i for i in ids if i])}) for x, ids in rows])


def nllb_pieces(folder):
    """ids.jsonl of an NllbTokenizer that transformers 4 saved without tokenizer.json: a model of pieces and added_tokens_decoder."""
    folder.mkdir(exist_ok=True)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_writer=model, vocab_size=90, model_type="bpe", minloglevel=2,
                                             num_threads=1, normalization_rule_name="identity")
    (folder / "sentencepiece.bpe.model").write_bytes(model.getvalue())
    t = transformers.NllbTokenizer(str(folder / "sentencepiece.bpe.model"), src_lang="fra_Latn", additional_special_tokens=NLLB + ["fra_Latn", "deu_Latn"])
    t.save_pretrained(folder)
    for name in ("added_tokens.json", "special_tokens_map.json"):
        (folder / name).unlink()
    golden.write_config(folder / "config.json", {"model_type": "m2m_100"})
    texts = [*TEXTS, "x<mask>the eng_Latn dog", "the </s> dog", "  the   dog ", ""]
    golden.write_lines(folder / "ids.jsonl", [json.dumps({"text": text, "ids": t(text)["input_ids"]}) for text in texts])


def write_mbart(name):
    def write(folder):
        (folder / "sentencepiece.bpe.model").write_bytes(pieces())
        golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": name})
    return write


def write_bart(folder):
    """RoBERTa's tokenizer, without languages."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(lines(), trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    state = json.loads(t.to_str())["model"]
    golden.write_json(folder / "vocab.json", state["vocab"])
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["merges"]]
    golden.write_lines(folder / "merges.txt", ["#version: 0.2", *merges])
    golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BartTokenizer"})


def write_pegasus(folder):
    """Without white space in its texts that versions 4 and 5 read differently."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_writer=model, vocab_size=50, model_type="unigram", pad_id=0, eos_id=1,
                                             unk_id=2, bos_id=-1, minloglevel=2, num_threads=1, normalization_rule_name="identity")
    (folder / "spiece.model").write_bytes(model.getvalue())
    golden.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PegasusTokenizer"})


KINDS = {                                                   # class of the model, tokenizer, the languages of its translations
    "nllb": ("M2M100", write_nllb, [(None, "deu_Latn"), ("eng_Latn", "zho_Hans")]),
    "m2m_100": ("M2M100", write_m2m, [(None, "de"), ("zh", "en")]),
    "mbart50": ("MBart", write_mbart("MBart50Tokenizer"), [(None, "de_DE"), ("gl_ES", "fr_XX")]),
    "mbart": ("MBart", write_mbart("MBartTokenizer"), [(None, "ro_RO"), ("de_DE", "en_XX")]),
    "bart": ("Bart", write_bart, [(None, None)]),
    "pegasus": ("Pegasus", write_pegasus, [(None, None)]),
}


def make(folder, kind, size):
    settings = dict(vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                    encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=48, init_std=0.4, decoder_start_token_id=0 if kind == "Pegasus" else 2)
    model = getattr(transformers, kind + "ForConditionalGeneration")(getattr(transformers, kind + "Config")(**settings)).eval()
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    return model


def rows(folder, model, languages):
    t = transformers.AutoTokenizer.from_pretrained(folder)
    start, end = type(t).__name__ == "MBartTokenizer", model.config.eos_token_id
    for source, target in languages:
        if source:
            t.src_lang = source
        if target:
            t.tgt_lang = target
        code = t.convert_tokens_to_ids("__%s__" % target if "M2M" in type(t).__name__ else target) if target else None
        how = {} if code is None else {"decoder_start_token_id": code} if start else {"forced_bos_token_id": code}
        for beams in (1, 4):
            for text in TEXTS:
                x = t(text, return_tensors="pt")
                with torch.no_grad():
                    out = model.generate(input_ids=x["input_ids"], attention_mask=x["attention_mask"], num_beams=beams, max_new_tokens=8, **how)[0].tolist()
                ids = out[1:]
                yield {"source_lang": source, "target_lang": target, "beams": beams, "text": text, "source": x["input_ids"][0].tolist(),
                       "target": t(text_target=text)["input_ids"], "ids": ids[:ids.index(end)] if end in ids else ids}


def loss(folder, model, languages):
    """The mean loss of the labels of pairs, each text with the one before it as its source."""
    t = transformers.AutoTokenizer.from_pretrained(folder)
    source, target = languages[-1]
    if source:
        t.src_lang, t.tgt_lang = source, target
    total, n = 0.0, 0
    for a, b in zip(PLAIN, PLAIN[1:]):
        x, label = t(a, return_tensors="pt"), t(text_target=b, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            total += float(model.double()(input_ids=x["input_ids"], labels=label).loss) * label.numel()
        n += label.numel()
    return {"source_lang": source, "target_lang": target, "labels": n, "loss": round(total / n, 6)}


def labels(folder, kind, write, size):
    """A classifier of pairs: config, tokenizer, weights, and scores.jsonl with the labels of each pair, the best first."""
    folder.mkdir()
    write(folder)
    names = {"id2label": {"0": "contradiction", "1": "neutral", "2": "entailment"}, "label2id": {"contradiction": 0, "neutral": 1, "entailment": 2}}
    settings = dict(vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4,
                    encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=48, init_std=0.4, **names)
    model = getattr(transformers, kind + "ForSequenceClassification")(getattr(transformers, kind + "Config")(**settings)).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape))
    model.save_pretrained(folder)
    t, rows = transformers.AutoTokenizer.from_pretrained(folder), []
    for a, b in zip(PLAIN, PLAIN[1:]):
        with torch.no_grad():
            scores = model(input_ids=t(a, b, return_tensors="pt")["input_ids"]).logits[0].softmax(-1).tolist()
        found = [{"label": names["id2label"][str(i)], "score": round(s, 7)} for i, s in enumerate(scores)]
        rows.append(json.dumps(sorted(found, key=lambda x: -x["score"])))
    golden.write_lines(folder / "scores.jsonl", rows)
    states = [model.model(input_ids=t(a, return_tensors="pt")["input_ids"]).last_hidden_state[0].mean(0).tolist() for a in PLAIN]
    golden.write_lines(folder / "vectors.jsonl", [json.dumps([round(x, 7) for x in row]) for row in states])
    golden.write_lines(folder / "sources.txt", PLAIN[:-1])
    golden.write_lines(folder / "targets.txt", PLAIN[1:])


def main():
    golden.quiet()
    if sys.argv[1:] == ["pieces"]:
        return nllb_pieces(ROOT / "nllb_pieces")
    kept = {f.name: f.read_bytes() for f in (ROOT / "nllb_pieces").iterdir()}          # another version makes it
    golden.fresh(ROOT)
    (ROOT / "nllb_pieces").mkdir()
    for name, data in kept.items():
        (ROOT / "nllb_pieces" / name).write_bytes(data)
    for seed, (name, (kind, write, languages)) in enumerate(KINDS.items(), 1):
        folder = ROOT / name
        folder.mkdir()
        golden.seeded(seed)
        write(folder)
        golden.write_config(folder / "config.json", {"model_type": {"M2M100": "m2m_100"}.get(kind, kind.lower())})
        t = transformers.AutoTokenizer.from_pretrained(folder)
        size = t.encoder_size + 108 if name == "m2m_100" else len(t)
        model = make(folder, kind, size)
        golden.write_lines(folder / "texts.jsonl", [json.dumps(r, ensure_ascii=False) for r in rows(folder, model, languages)])
        golden.write_json(folder / "loss.json", loss(folder, model, languages))
        golden.write_lines(folder / "sources.txt", PLAIN[:-1])
        golden.write_lines(folder / "targets.txt", PLAIN[1:])
        golden.finish(folder, 0)
        if kind in ("Bart", "MBart"):
            labels(ROOT / ("labels-" + name), kind, write, size)
            golden.finish(ROOT / ("labels-" + name), 0)
    nul(ROOT / "zero-byte")
    nul_fast(ROOT / "zero-byte")


if __name__ == "__main__":
    main()
