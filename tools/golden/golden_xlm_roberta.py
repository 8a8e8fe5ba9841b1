#!/usr/bin/env python3
"""Makes tests/golden/xlm_roberta: tiny XLM-RoBERTas with random weights and every head, saved by transformers, and what transformers
computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and
golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_xlm_roberta.py                    # rewrites tests/golden/xlm_roberta
    python tools/golden/golden_xlm_roberta.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (XLMRobertaConfig, XLMRobertaForCausalLM, XLMRobertaForMaskedLM, XLMRobertaForMultipleChoice,
                          XLMRobertaForQuestionAnswering, XLMRobertaForSequenceClassification,
                          XLMRobertaForTokenClassification)

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "xlm_roberta"
# 40 positions after pad_token_id 1.  Random ids include padding tokens, which do not count as positions.
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5)

# name: (class, configuration).  The head's activation is GELU whatever hidden_act says.
MODELS = {
    "masked": (XLMRobertaForMaskedLM, dict(SMALL, hidden_act="relu")),
    "untied": (XLMRobertaForMaskedLM, dict(SMALL, tie_word_embeddings=False, type_vocab_size=2, pad_token_id=4,
                                           max_position_embeddings=45)),
    "causal": (XLMRobertaForCausalLM, dict(SMALL, is_decoder=True)),
}
HEADS = {
    "sequence": (XLMRobertaForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3, hidden_act="relu"), [7, 2, 12]),
    "token": (XLMRobertaForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (XLMRobertaForQuestionAnswering, SMALL, [8, 5]),
    "choice": (XLMRobertaForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, XLMRobertaConfig, MODELS, HEADS)
    whole(ROOT / "whole")


QUESTIONS = [("what river?", "the river runs to the sea"), ("hello?", "a small house"),
             ("which?", "sea city river")]


def best_answer(model, tokenizer, question, context):
    """The best part of the context by the sum of its two logits, and that sum minus the one of <s>, which means no answer."""
    import torch
    call = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
    place, side = call.pop("offset_mapping")[0].tolist(), call.sequence_ids(0)
    with torch.no_grad():
        z = model(input_ids=call["input_ids"], attention_mask=call["attention_mask"])
    z = torch.stack([z.start_logits[0], z.end_logits[0]]).tolist()
    there = [i for i, s in enumerate(side) if s == 1]
    score, a, b = max((z[0][a] + z[1][b], a, b) for a in there for b in there if b >= a)
    return f"{context[place[a][0]:place[b][1]]}\t{score - z[0][0] - z[1][0]:.6g}"


def whole(folder):
    """A folder with a tokenizer: tokens for a mask, and the score of a pair of texts as a reranker gives it."""
    import json
    import torch
    from transformers import PreTrainedTokenizerFast, pipeline
    generator = golden.seeded(99)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(golden.GOLDEN / "fast" / "xlmr.tokenizer.json"), bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=32)
    texts = ["the <mask> runs to the sea", "hello <mask> <pad> world"]
    for name, kind in (("masked", XLMRobertaForMaskedLM), ("pairs", XLMRobertaForSequenceClassification),
                       ("answers", XLMRobertaForQuestionAnswering)):
        config = XLMRobertaConfig(**dict(SMALL, vocab_size=len(tokenizer), max_position_embeddings=34,
                                         num_labels=2 if name == "answers" else 1))
        model = golden.randomize(kind(config).eval(), generator)
        golden.save(model, folder / name)
        tokenizer.save_pretrained(folder / name)
        (folder / name / "tokenizer.json").unlink()         # the test copies that of tests/golden/fast
        if name == "masked":
            answers = pipeline("fill-mask", model=model, tokenizer=tokenizer, top_k=5)
            golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(t), ensure_ascii=False) for t in texts])
        elif name == "answers":
            golden.write_lines(folder / "answers.txt", [best_answer(model, tokenizer, *q) for q in QUESTIONS])
        else:
            call = tokenizer([["the river", "runs to the sea"], ["hello", "world"]], return_tensors="pt", padding=True)
            with torch.no_grad():
                scores = model(input_ids=call["input_ids"], attention_mask=call["attention_mask"]).logits[:, 0].tolist()
            golden.write_lines(folder / "scores.txt", [f'"score": {s:.9g}' for s in scores])


if __name__ == "__main__":
    main()
