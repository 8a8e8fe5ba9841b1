#!/usr/bin/env python3
"""golden_fast.py FOLDER: small tokenizer.json of sub-words, and the ids that Hugging Face's tokenizers gives for texts.
golden_fast.py --big FOLDER TEXT: folders with tokenizers of 8,000 pieces learned from TEXT, with SentencePiece's own normalization.
golden_fast.py --check PROGRAM FOLDER... [--text FILE]: compares ids of a program with those of tokenizers, for random texts and the lines of a file.

    pip install tokenizers==0.23.3 transformers==5.23.0 sentencepiece==0.2.3 protobuf
    python3 tools/golden/golden_fast.py tests/golden/fast
    python3 tools/golden/golden_fast.py --big big corpus.txt && python3 tools/golden/golden_fast.py --check build/release/roformer big/* --text corpus.txt

Converted by transformers' own converters: T5, XLM-R, ALBERT, Llama (with legacy and without); learned by tokenizers: unigram, bpe.  Texts are of
books in the public domain and made up."""
import argparse
import importlib
import io
import json
import os
import random
import sys
import tempfile
from types import SimpleNamespace

import sentencepiece as spm
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import golden

convert = importlib.import_module("transformers.convert_slow_tokenizer")

# What SentencePiece's charsmap says, from code points to code points.
RULES = """FF21	41
FF21 300	C0
FF22	42
65 301	E9
FB01	66 69
A0	20
3000	20
9	20
A	20
7	
200B	20
2460	31
FF76	30AB
FF76 FF9E	30AC
B4	20 301
"""
MORE = ["  two  spaces ", " lead", "trail ", "   ", "a\tb\nc", "\r\n", "Ishmael Ishmael", "🙂🙂 ok", "▁", "a▁b", "▁▁a ▁b", "x" * 40, "Großmutter thought of Meung.",
        "caf\u0065\u0301 \u00e9 \uff21\u0300 \uff21b \uff76\uff9e \uff76", "ﬁsh\u00a0fish\u3000fish\u200bfish\u0007fish", "a\u0301\u0323b \u0065\u0323\u0301",
        "<0x41> <0x0A> <unk>", "a </s> b", "</s>", "<s>x</s> y", "[CLS] [SEP]", "<mask>", "a <mask> b", "``quoted'' 'x'", "İSTANBUL ΑΣ", "\u1112\u1161\u11ab \u3131\u314f",
        "aaaaaaaa -------- ======= \u2581\u2581", "\u0085next\u0085", "\u0301 a", "🏻a🏻 a🏻", "if (x) {\n    return  y;\n}", "\u2460\u00b4x \u00b4"]


def texts():
    from golden_bleu import CHINESE, ENGLISH, FRENCH, GERMAN, ODD
    return ENGLISH + GERMAN + FRENCH + CHINESE, ODD + MORE


def case(tokenizer, text):
    """Ids, and for each the characters it covers: from, to, from, to, ..."""
    e = tokenizer.encode(text)
    return {"text": text, "ids": e.ids, "offsets": [at for offsets in e.offsets for at in offsets]}


def sentencepiece(lines, kind, size, rules=None, **options):
    """A model's file."""
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as f:
        f.write(rules or "")
        f.flush()
        rule = {"normalization_rule_tsv": f.name} if rules else {}
        spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, model_type=kind, vocab_size=size, character_coverage=0.99,
                                       hard_vocab_limit=False, minloglevel=2, **rule, **options)
    file = tempfile.NamedTemporaryFile(suffix=".model", delete=False)
    file.write(model.getvalue())
    file.close()
    return file.name


def converted(converter, model, **more):
    sp = spm.SentencePieceProcessor(model_file=model)
    slow = SimpleNamespace(vocab_file=model, add_prefix_space=True, convert_tokens_to_ids=sp.piece_to_id, convert_ids_to_tokens=sp.id_to_piece, **more)
    return converter(slow).converted()


class Llama(convert.LlamaConverter):
    """Version 5.23's converter asks its extractor for what that no longer gives."""

    class SpmExtractor:
        def __init__(self, model):
            self.sp = spm.SentencePieceProcessor(model_file=model)

        def extract(self, scores):
            vocab = {self.sp.id_to_piece(i): i for i in range(self.sp.get_piece_size())}
            return vocab, convert.generate_merges(vocab, scores)


def xlmr(model):
    """XLM-R's has ids of fairseq's, of which the template knows."""
    pieces = {"<s>": 0, "</s>": 2}
    slow = SimpleNamespace(vocab_file=model, add_prefix_space=True, convert_tokens_to_ids=pieces.get)
    t = convert.XLMRobertaConverter(slow).converted()
    t.add_special_tokens([AddedToken(x, normalized=False, lstrip=x == "<mask>") for x in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")])
    return t


def own(kind, lines, size):
    """Learned by tokenizers."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if kind == "unigram":
        t = Tokenizer(models.Unigram())
        t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="[UNK]", show_progress=False)
    else:
        t = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=kind == "bpe"))
        t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]) if kind == "bpe" else None
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first" if kind == "bpe" else "always")
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(lines, trainer)
    if kind != "plain":
        t.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))])
    return t


def gemma(t):
    """As Gemma 2's, mmBERT's and EmbeddingGemma's: the normalizer leaves no blank that a Split could find."""
    t = Tokenizer.from_str(t.to_str())
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1",
                                                     special_tokens=[(x, t.token_to_id(x)) for x in ("<s>", "</s>")])
    return t


def all_of(lines, size, rules):
    """By name."""
    fit = dict(rules=rules) if rules else {}
    unigram = sentencepiece(lines, "unigram", size, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **fit)
    roberta = sentencepiece(lines, "unigram", size, **fit)
    albert = sentencepiece(lines, "unigram", size, pad_id=0, unk_id=1, bos_id=2, eos_id=3, bos_piece="[CLS]", eos_piece="[SEP]", control_symbols="[MASK]", **fit)
    bpe = sentencepiece(lines, "bpe", size + 256, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                        split_by_whitespace=True, allow_whitespace_only_pieces=True)
    return {
        "t5": converted(convert.T5Converter, unigram, _extra_ids=3),
        "xlmr": xlmr(roberta),
        "albert": converted(convert.AlbertConverter, albert, keep_accents=False, do_lower_case=True),
        "llama": converted(Llama, bpe, legacy=True),
        "llama_new": converted(Llama, bpe, legacy=False),
        "gemma": gemma(converted(Llama, bpe, legacy=False)),
        "unigram": own("unigram", lines, size),
        "bpe": own("bpe", lines, size),
        "plain": own("plain", lines, size),
    }


def write(folder, name, t):
    os.makedirs(folder, exist_ok=True)
    golden.write_json(os.path.join(folder, name), json.loads(t.to_str()), ensure_ascii=False)


def write_all(folder):
    lines, odd = texts()
    for name, t in all_of([x for x in lines for _ in range(3)], 240, RULES).items():
        write(folder, name + ".tokenizer.json", t)
        named = t.token_to_id("[CLS]") is not None                     # otherwise the program adds it
        cases = [case(t, x) for x in lines + odd if named or "[CLS]" not in x]
        pair = t.encode("the whale", "a ship")
        golden.write_json(os.path.join(folder, name + ".json"),
                          {"tokenizers": tokenizers.__version__, "pair": {"ids": pair.ids, "types": pair.type_ids}, "cases": cases})


def big(folder, text):
    with open(text, encoding="utf-8", errors="replace") as f:
        lines = [x.rstrip("\n") for x in f][:40000]
    for name, t in all_of(lines, 8000, None).items():
        write(os.path.join(folder, name), "tokenizer.json", t)
        golden.write_lines(os.path.join(folder, name, "tokenizer_config.json"), ['{"tokenizer_class": "PreTrainedTokenizerFast"}'])


POOL = ["a", "b", "e", "th", "the ", " ", "  ", "\t", "\u00a0", "\u0301", "\u0323", "\u0300", "\u0308", "Ａ", "ｶ", "ﾞ", "ﬁ", "①", "½", "é", "ü", "ß", "漢", "字", "🙂", "👨‍👩‍👧", "🏻", "▁", "\u200b",
        "\u200d", "\u0085", "\u0007", "\u000b", "\u2028", "\u3000", "\ufeff", "한", "\u1112", "\u1161", "\u11ab", "\uffa1", "\uffc2", "क", "्", "ष", "ि", "ก", "ำ", "א", "ּ", "İ", "Σ", "ς", "-", "--", "=",
        "0", "1,000", ".", "'", "``", "<0x41>", "\u0344", "\ufdfa", "\u1e9b", "\u212b", "ǅ", "𝒜", "🇩🇪", "\u00b4", "¨", "\r\n"]


def drawn(n):
    r = random.Random(5)
    return ["".join(r.choice(POOL) for _ in range(r.randrange(1, 12))) for _ in range(n)]


def check(program, folders, text):
    lines = [x.replace("\n", " ").replace("\r", " ") for x in drawn(20000)]
    if text:
        with open(text, encoding="utf-8", errors="replace") as f:
            lines += [x.rstrip("\r\n") for x in f][:50000]
    bad = 0
    for folder in folders:
        t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        differ = 0
        for x, y, e in zip(lines, golden.tokenized(program, folder, lines), t.encode_batch(lines)):
            if y["ids"] != e.ids:
                differ += 1
                if differ < 4:
                    print(ascii(x[:100]), e.tokens[:30], y["tokens"][:30])
        print("%-40s %8d texts  %6d differ" % (folder, len(lines), differ))
        bad += differ
    return bad != 0


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--big", action="store_true")
    p.add_argument("--check")
    p.add_argument("--text")
    p.add_argument("paths", nargs="+")
    a = p.parse_args()
    if a.check:
        sys.exit(check(a.check, a.paths, a.text))
    if a.big:
        big(*a.paths)
    else:
        write_all(a.paths[0])
