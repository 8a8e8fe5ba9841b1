#!/usr/bin/env python3
"""golden_marian_text.py: ids and texts of transformers' MarianTokenizer, with the models of tests/golden/subwords as its two sides, written
to tests/golden/subwords/marian.json.
golden_marian_text.py --check FOLDER: what roformer wrote (`roformer convert`) has the same ids by transformers.

    pip install transformers==5.23.0 sentencepiece==0.2.3
"""
import json
import pathlib
import shutil
import sys
import tempfile

import sentencepiece as spm
import transformers
from transformers import MarianTokenizer

import golden

ROOT = golden.GOLDEN / "subwords"
TEXTS = ["Call me Ishmael.", "", " ", "  two  spaces ", ">>deu<< Some years ago", ">>deu<<Some years ago", ">>xxx<< never mind", "a >>deu<< inside",
         ">>unclosed text", ">><<", "how long </s> precisely", "pad <pad> and <unk> here", "Großmutter thought of Meung.", "🙂🙂 ok", "漢字 and kana かな",
         "▁ a▁b", "tab\there", "1,234.50 % - \"quoted\"", "Ishmael" * 6]


def folder_of(sides):
    """vocab.json has what both models have, but for every seventh piece, and the marks of two languages."""
    folder = pathlib.Path(tempfile.mkdtemp())
    pieces = []
    for name, side in zip(("source.spm", "target.spm"), sides):
        shutil.copy(ROOT / side, folder / name)
        model = spm.SentencePieceProcessor(model_file=str(ROOT / side))
        pieces += [model.id_to_piece(i) for i in range(model.get_piece_size()) if not model.is_control(i) and not model.is_unknown(i)]
    pieces = list(dict.fromkeys(pieces))
    kept = [p for i, p in enumerate(pieces) if i % 7 != 3]
    vocab = {p: i for i, p in enumerate(["</s>", "<unk>", *kept, ">>deu<<", ">>eng<<", "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False))
    return folder, vocab


def main():
    if len(sys.argv) > 2:
        cases = json.loads((ROOT / "marian.json").read_text())["cases"]
        t = MarianTokenizer.from_pretrained(sys.argv[2])
        assert [t(c["text"]).input_ids for c in cases] == [c["source"] for c in cases]
        return
    folder, vocab = folder_of(("unigram.model", "bpe.model"))
    t = MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"))
    cases = []
    for text in TEXTS:
        source, target = t(text).input_ids, t(text_target=text).input_ids
        cases.append({"text": text, "source": source, "target": target,
                      "decoded": t.decode(target, skip_special_tokens=True, use_source_tokenizer=False),
                      "whole": t.decode(target, skip_special_tokens=False, use_source_tokenizer=False)})
    words = [p for p, _ in sorted(vocab.items(), key=lambda x: x[1])]
    golden.write_json(ROOT / "marian.json", {"transformers": transformers.__version__, "vocab": words, "cases": cases}, ensure_ascii=False)


if __name__ == "__main__":
    main()
