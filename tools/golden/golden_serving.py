#!/usr/bin/env python3
"""Labels of tokens, answers to questions and labels that a request names by transformers' pipelines, which `POST /` of
roformer serve must give: tests/golden/serving/{token,span,nli}.jsonl, a request and its answer in each line, for the models of tests/golden/bert.

    python tools/golden/golden_serving.py        # transformers 4.57: version 5 has no pipeline for questions

vocab.txt and tokenizer_config.json there complete the models' folders."""
import json
import pathlib
import shutil
import tempfile

import golden

LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + c for c in LETTERS), ".", ",", "?", "the"]

TEXTS = ["a b", "the a? bc de. \u00e9 the fg", "b a a the the \u6f22\u5b57 b", "unknownword a", "the " * 60 + "b a"]
QUESTIONS = [("the a?", "bc de. \u00e9 the fg"), ("a", "the"), ("b a a", "the a b bc de " * 90), ("\u00e9?", "\u00e9 \u00e9 b. a"),
             ("the", "\u6f22\u5b57 a b")]


def plain(x):
    """As JSON: floats of NumPy become Python's."""
    return json.loads(json.dumps(x, default=float))


def whole(name, out, work):
    """A model of tests/golden/bert with a vocabulary; the files are kept for the test."""
    source, folder = golden.GOLDEN / "bert" / name, pathlib.Path(work) / name
    folder.mkdir()
    config = json.loads((source / "config.json").read_text())
    for file in "config.json", "model.safetensors":
        shutil.copy(source / file, folder)
    words = (WORDS + [f"w{i}" for i in range(config["vocab_size"])])[:config["vocab_size"]]
    (out / "vocab.txt").write_text("\n".join(words) + "\n")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": config["max_position_embeddings"]}
    (out / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")
    for file in "vocab.txt", "tokenizer_config.json":
        shutil.copy(out / file, folder)
    return str(folder)


def best_of_equals(answers, key, reverse):
    """`sorted` of the pipeline, which would add up the scores of equal answers, so that they may be above 1: of these, only
    the best is kept."""
    out = []
    for answer in sorted(answers, key=key, reverse=reverse):
        if all(answer["answer"].lower() != other["answer"].lower() for other in out):
            out.append(answer)
    return out


def main():
    with tempfile.TemporaryDirectory() as work:
        write(work)


def write(work):
    from transformers import pipeline
    from transformers.pipelines import question_answering
    out = golden.fresh(golden.GOLDEN / "serving")
    first = {"made": golden.written_by("golden_serving.py")}
    tag = pipeline("token-classification", whole("token", out, work), device="cpu")
    ask = pipeline("question-answering", whole("span", out, work), device="cpu")
    ask.get_answer = lambda answers, text: None
    question_answering.sorted = best_of_equals
    rows = []
    for text in TEXTS[:-1]:
        for strategy in "none", "simple":
            rows.append({"request": {"inputs": text, "parameters": {"aggregation_strategy": strategy}},
                         "answer": plain(tag(text, aggregation_strategy=strategy))})
    for text in TEXTS[:-1]:
        for strategy in "first", "average", "max":
            rows.append({"request": {"inputs": text, "parameters": {"aggregation_strategy": strategy}},
                         "answer": plain(tag(text, aggregation_strategy=strategy))})
    labels = list(tag.model.config.id2label.values())
    for ignored in [], labels[:1], labels[1:]:
        for strategy in "none", "simple", "max":
            tag._postprocess_params["ignore_labels"] = ignored
            rows.append({"request": {"inputs": TEXTS[1], "parameters": {"aggregation_strategy": strategy, "ignore_labels": ignored}},
                         "answer": plain(tag(TEXTS[1], aggregation_strategy=strategy, ignore_labels=ignored))})
    del tag._postprocess_params["ignore_labels"]
    many = tag(TEXTS[:2], aggregation_strategy="simple")
    rows.append({"request": {"inputs": TEXTS[:2]}, "answer": plain(many)})
    (out / "token.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [first, *rows]))
    rows = []
    for question, context in QUESTIONS:
        for impossible in False, True:
            found = ask(question=question, context=context, handle_impossible_answer=impossible)
            rows.append({"request": {"inputs": {"question": question, "context": context},
                                     "parameters": {"handle_impossible_answer": impossible}}, "answer": plain(found)})
    for question, context in QUESTIONS[::2]:
        for options in ({"top_k": 2}, {"top_k": 3, "align_to_words": False}, {"top_k": 4, "handle_impossible_answer": True},
                        {"top_k": 2, "max_answer_len": 2}, {"top_k": 3, "max_seq_len": 30, "doc_stride": 7}, {"doc_stride": 9}):
            found = ask(question=question, context=context, **options)
            rows.append({"request": {"inputs": {"question": question, "context": context}, "parameters": options},
                         "answer": plain(found)})
    (out / "span.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [first, *rows]))
    rows = []
    nli = whole("sequence", out, work)
    config = json.loads(pathlib.Path(nli, "config.json").read_text())
    config.update(id2label={"0": "contradiction", "1": "neutral", "2": "entailment"},
                  label2id={"contradiction": 0, "neutral": 1, "entailment": 2})
    for folder in pathlib.Path(nli), out / "nli":
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    choose = pipeline("zero-shot-classification", nli, device="cpu")
    for text in TEXTS:
        for options in ({"candidate_labels": ["a", "the b", "bc"]}, {"candidate_labels": "b, the ,c", "multi_label": True},
                        {"candidate_labels": ["e"]}, {"candidate_labels": ["a", "b"], "hypothesis_template": "b {0} {{c}} {0}?"}):
            found = choose(text, **options)
            rows.append({"request": {"inputs": text, "parameters": options},
                         "answer": [{"label": label, "score": score} for label, score in zip(found["labels"], found["scores"])]})
    options = {"candidate_labels": ["the b", "a, b", "bc"], "hypothesis_template": "b {}"}
    for inputs, several in ((TEXTS[1], False), (TEXTS[4], True), (TEXTS, False), (TEXTS[:1], True)):
        call = dict(options, multi_label=several)
        rows.append({"path": "/predict", "request": {"inputs": inputs, "parameters": call}, "answer": choose(inputs, **call)})
    label = pipeline("text-classification", nli, device="cpu")
    for function in "softmax", "sigmoid", "none":
        rows.append({"request": {"inputs": TEXTS[:1], "parameters": {"function_to_apply": function}},
                     "answer": [label(TEXTS[0], function_to_apply=function, top_k=None)]})
        rows.append({"request": {"inputs": TEXTS[:1], "parameters": {"function_to_apply": function, "top_k": 2}},
                     "answer": [label(TEXTS[0], function_to_apply=function, top_k=2)]})
        rows.append({"path": "/predict", "request": {"inputs": TEXTS[0], "parameters": {"function_to_apply": function, "top_k": 2}},
                     "answer": label(TEXTS[0], function_to_apply=function, top_k=2)})
    (out / "nli.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [first, *rows]))


if __name__ == "__main__":
    main()
