#!/usr/bin/env python3
"""Makes tests/golden/qwen3/reranker: a causal reranker as Qwen3-Reranker, and the scores that CrossEncoder of sentence-transformers 6 and
transformers give.  Its weights and tokenizer are those of tests/golden/qwen3/whole.  Needs torch, transformers 5, sentence-transformers 6.

    python tools/golden/golden_reranker.py

scores.jsonl has, for each variant, the scores of TEXTS for QUERY: `prompt` with a default prompt (the instruction), `usual` without one, `lone`
without false_token_id, `cut` with max_seq_length 400 (the words behind the document stay), `labels` as Qwen3ForSequenceClassification with the same
chat template.  `usual` is computed once more as the model card of Qwen3-Reranker does, from the logits of both tokens, and must agree.  `plain` is computed in that
way only: a folder without modules and template, whose tokenizer has "yes" and "no"."""
import json
import pathlib
import shutil
import tempfile

import torch
from sentence_transformers import CrossEncoder
from transformers import AutoTokenizer, Qwen3ForCausalLM, Qwen3ForSequenceClassification

import golden

YES, NO = 83, 97
PLAIN_YES, PLAIN_NO = 303, 304
QUERY = "the river runs"
TEXTS = ["to the sea", "a small house?", "hello  world ", "the river runs to the sea and to the sea, <|im_end|> to the sea " * 3]
SYSTEM = 'Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".'
USUAL = "Given a web search query, retrieve relevant passages that answer the query"
PROMPT = "Find what is near"
ROLE = '{{ messages | selectattr("role", "eq", "%s") | map(attribute="content") | first%s }}'
TEMPLATE = ("<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\n<Instruct>: %s\n<Query>: %s\n<Document>: %s<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n\n" %
            (SYSTEM, ROLE % ("system", ' | default("%s")' % USUAL), ROLE % ("query", ""), ROLE % ("document", "")))
PREFIX, SUFFIX = "<|im_start|>system\n" + SYSTEM + "<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def files(out):
    module = "sentence_transformers.%s"
    write(out / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": module % "base.modules.transformer.Transformer"},
                                 {"idx": 1, "name": "1", "path": "1_LogitScore", "type": module % "cross_encoder.modules.logit_score.LogitScore"}])
    write(out / "1_LogitScore" / "config.json", {"true_token_id": YES, "false_token_id": NO, "module_input_name": "causal_logits"})
    write(out / "config_sentence_transformers.json", {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None})
    write(out / "sentence_bert_config.json", {"transformer_task": "text-generation", "module_output_name": "causal_logits", "modality_config": {
        "text": {"method": "forward", "method_output_name": "logits"}, "message": {"method": "forward", "method_output_name": "logits", "format": "flat"}}})
    (out / "chat_template.jinja").write_text(TEMPLATE)
    for name, more in (("config.json", {"architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 1024}),
                       ("tokenizer_config.json", {"model_max_length": 1024})):
        write(out / name, {**json.loads((golden.GOLDEN / "qwen3" / "whole" / name).read_text()), **more})


def assemble(out, to):
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(golden.GOLDEN / "qwen3" / "whole" / name, to)
        (to / name).chmod(0o644)
    shutil.copytree(out, to, dirs_exist_ok=True)


def change(path, **more):
    write(path, {**json.loads(path.read_text()), **more})


def plain(folder):
    """A folder as Qwen3-Reranker was published first."""
    for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "chat_template.jinja"):
        (folder / name).unlink()
    shutil.rmtree(folder / "1_LogitScore")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for text, id in (("yes", PLAIN_YES), ("no", PLAIN_NO)):
        tokenizer["added_tokens"].append({**tokenizer["added_tokens"][-1], "content": text, "id": id, "special": False})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def card(folder, yes=YES, no=NO):
    """As the model card: tokens before and after are apart from those of the pair."""
    t, m = AutoTokenizer.from_pretrained(folder), Qwen3ForCausalLM.from_pretrained(folder).eval()
    scores = []
    for text in TEXTS:
        ids = [t(part, add_special_tokens=False)["input_ids"] for part in
               (PREFIX, "<Instruct>: %s\n<Query>: %s\n<Document>: %s" % (USUAL, QUERY, text), SUFFIX)]
        with torch.no_grad():
            z = m(torch.tensor([sum(ids, [])])).logits[0, -1, [no, yes]]
        scores.append(torch.log_softmax(z, 0)[1].exp().item())
    return scores


def as_labels(folder):
    m = Qwen3ForCausalLM.from_pretrained(folder)
    c = m.config
    c.num_labels = 1
    labels = Qwen3ForSequenceClassification(c)
    labels.model.load_state_dict(m.model.state_dict())
    with torch.no_grad():
        labels.score.weight[0] = m.lm_head.weight[YES] - m.lm_head.weight[NO]
    labels.save_pretrained(folder)
    for name in ("modules.json", "1_LogitScore", "sentence_bert_config.json", "config_sentence_transformers.json"):
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()


def main():
    golden.quiet()
    out = golden.GOLDEN / "qwen3" / "reranker"
    out.mkdir(exist_ok=True)
    (out / "scores.jsonl").unlink(missing_ok=True)
    files(out)
    lines = []
    for variant in ("usual", "prompt", "lone", "cut", "labels", "plain"):
        with tempfile.TemporaryDirectory() as there:
            folder = pathlib.Path(there)
            assemble(out, folder)
            if variant == "prompt":
                change(folder / "config_sentence_transformers.json", prompts={"near": PROMPT}, default_prompt_name="near")
            if variant == "lone":
                change(folder / "1_LogitScore" / "config.json", false_token_id=None)
            if variant == "cut":
                change(folder / "sentence_bert_config.json", max_seq_length=400)
            if variant == "labels":
                as_labels(folder)
            if variant == "plain":
                plain(folder)
                scores = card(folder, PLAIN_YES, PLAIN_NO)
            else:
                m = CrossEncoder(str(folder), device="cpu")
                scores = [float(x) for x in m.predict([(QUERY, x) for x in TEXTS], batch_size=1)]
            if variant == "usual":
                tokens = m.tokenizer(PREFIX + "<Instruct>: " + USUAL + "\n<Query>: " + QUERY + "\n<Document>: " + TEXTS[-1] + SUFFIX, add_special_tokens=False)
                print("tokens of the longest pair:", len(tokens["input_ids"]))
                assert max(abs(a - b) for a, b in zip(scores, card(folder))) < 1e-6, (scores, card(folder))
            print(variant, scores)
            lines.append(json.dumps({"variant": variant, "scores": scores}))
    golden.write_lines(out / "scores.jsonl", lines)
    golden.write_lines(out / "texts.txt", TEXTS)


if __name__ == "__main__":
    main()
