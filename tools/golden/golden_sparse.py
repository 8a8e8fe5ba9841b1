#!/usr/bin/env python3
"""Sparse vectors by transformers' masked language models, which `POST /embed_sparse` of roformer serve must give:
tests/golden/sparse/{bert,roformer}.jsonl, a request and its answer in each line, for bert/masked and models/plain of tests/golden.

    python tools/golden/golden_sparse.py        # transformers 5, sentence-transformers 6

tests/golden/sparse/{sum,twice} have the files that SparseEncoder of sentence-transformers saves beside bert/masked, sum.jsonl and twice.jsonl
what it encodes: the sum over the tokens, and log(1 + log(1 + relu(logits))), each with max_seq_length 12.

The vector is log(1 + relu(logits)), the largest over the tokens with [CLS] and [SEP], as text-embeddings-inference pools with
--pooling splade. vocab.txt and tokenizer_config.json there complete models/plain; bert/masked has those of tests/golden/serving."""
import json
import shutil

import golden

TEXTS = ["a", "a b", "the a? bc de. \u00e9 the fg", "b a a the the \u6f22\u5b57 b", "unknownword a", "the " * 60 + "b a"]


def vectors(model, tokenizer, texts):
    import torch
    out = []
    for text in texts:
        ids = tokenizer(text, truncation=True, return_tensors="pt")
        with torch.no_grad():
            logits = model(**ids).logits[0]
        most = torch.log1p(torch.relu(logits)).max(dim=0).values
        out.append([{"index": i, "value": x} for i, x in enumerate(most.tolist()) if x != 0])
    return out


def write(out, name, model, tokenizer):
    rows = [{"made": golden.written_by("golden_sparse.py")}]
    rows += [{"path": "/embed_sparse", "request": {"inputs": t}, "answer": vectors(model, tokenizer, [t])} for t in TEXTS]
    rows.append({"path": "/embed_sparse", "request": {"inputs": TEXTS}, "answer": vectors(model, tokenizer, TEXTS)})
    golden.write_lines(out / f"{name}.jsonl", [json.dumps(r) for r in rows])


def write_splade(out, name, vocab, strategy, activation):
    """Files and vectors of SparseEncoder."""
    import pathlib
    import tempfile

    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SpladePooling
    with tempfile.TemporaryDirectory() as work:
        base, saved = pathlib.Path(work, "base"), pathlib.Path(work, "saved")
        shutil.copytree(golden.GOLDEN / "bert" / "masked", base)
        shutil.copy(vocab, base)
        shutil.copy(golden.GOLDEN / "serving" / "tokenizer_config.json", base)
        transformer = Transformer(str(base), transformer_task="fill-mask")
        SparseEncoder(modules=[transformer, SpladePooling(strategy, activation)], device="cpu").save_pretrained(str(saved), create_model_card=False)
        settings = saved / "sentence_bert_config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "max_seq_length": 12}, indent=2) + "\n")
        m = SparseEncoder(str(saved), device="cpu")
        rows = [{"made": golden.written_by("golden_sparse.py")}]
        for t in TEXTS:
            v = m.encode([t], convert_to_sparse_tensor=False)[0].tolist()
            rows.append({"path": "/embed_sparse", "request": {"inputs": t}, "answer": [[{"index": i, "value": x} for i, x in enumerate(v) if x != 0]]})
        golden.write_lines(out / f"{name}.jsonl", [json.dumps(r) for r in rows])
        for file in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_SpladePooling/config.json"):
            (out / name / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(saved / file, out / name / file)


def main():
    from transformers import AutoModelForMaskedLM, BertTokenizer
    out, serving = golden.fresh(golden.GOLDEN / "sparse"), golden.GOLDEN / "serving"
    for name, folder in ("bert", golden.GOLDEN / "bert" / "masked"), ("roformer", golden.GOLDEN / "models" / "plain"):
        model = AutoModelForMaskedLM.from_pretrained(folder).eval()
        words = (serving / "vocab.txt").read_text().split()
        words += [f"w{i}" for i in range(model.config.vocab_size - len(words))]
        vocab = serving / "vocab.txt" if name == "bert" else out / "vocab.txt"
        if name == "roformer":
            golden.write_lines(vocab, words)
            shutil.copy(serving / "tokenizer_config.json", out)
        most = model.config.max_position_embeddings
        write(out, name, model, BertTokenizer(vocab=str(vocab), do_lower_case=True, model_max_length=most))
        if name == "bert":
            write_splade(out, "sum", vocab, "sum", "relu")
            write_splade(out, "twice", vocab, "max", "log1p_relu")


if __name__ == "__main__":
    main()
