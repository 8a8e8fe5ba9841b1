#!/usr/bin/env python3
"""Makes tests/golden/esm: tiny ESM-2s with random weights and every head, saved by transformers, and what transformers computes with
them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_esm.py                    # rewrites tests/golden/esm
    python tools/golden/golden_esm.py --check FOLDER...  # transformers loads folders that roformer wrote

transformers 5.24 writes norms as LayerNorm.gamma and .beta, and inv_freq under a name with a star; published has the names of the
models on the hub, with inv_freq in each layer in float16, with which transformers computes."""
import json
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import EsmConfig, EsmForMaskedLM, EsmForSequenceClassification, EsmForTokenClassification, EsmTokenizer

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "esm"
VOCAB = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
# Heads of 20 columns, as the models of 650 million parameters have 64 and the smallest 16.
SMALL = dict(vocab_size=len(VOCAB), hidden_size=40, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, pad_token_id=1,
             mask_token_id=32, max_position_embeddings=64, layer_norm_eps=1e-5, position_embedding_type="rotary", token_dropout=True,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, emb_layer_norm_before=False, hidden_act="relu")

MODELS = {
    "masked": (EsmForMaskedLM, SMALL),
    "kept": (EsmForMaskedLM, dict(SMALL, token_dropout=False, layer_norm_eps=1e-12)),
    "published": (EsmForMaskedLM, SMALL),
}
HEADS = {
    "sequence": (EsmForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification"), [7, 2, 12]),
    "token": (EsmForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
}
TEXTS = ["MKTV", "MKJJLV", "mkTV", "M K T", "MK<mask>LV", "MK <mask> LV", "A-B.C*", "MKT\tVV  L", "MKéV", "<cls>MK", "J J", "<null_1>O<", "x", "*", "éé é"]


def as_published(folder, model):
    """Names as on the hub: LayerNorm.weight and .bias, inv_freq of each layer in float16."""
    file = folder / "model.safetensors"
    old = {k.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): v for k, v in load_file(file).items()}
    old = {k: v for k, v in old.items() if "inv_freq" not in k}
    width = SMALL["hidden_size"] // SMALL["num_attention_heads"]
    inv_freq = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
    for n in range(SMALL["num_hidden_layers"]):
        old[f"esm.encoder.layer.{n}.attention.self.rotary_embeddings.inv_freq"] = inv_freq.half()
    old["esm.embeddings.position_ids"] = torch.arange(SMALL["max_position_embeddings"])[None]
    save_file(old, file, metadata={"format": "pt"})
    model.esm.rotary_embeddings.inv_freq.copy_(inv_freq.half())


def whole(folder):
    """A folder with a tokenizer: its ids, tokens for masks, and means of the vectors of residues, without <cls> and <eos>."""
    from transformers import pipeline
    folder.mkdir()
    golden.write_lines(folder / "vocab.txt", VOCAB)
    words = EsmTokenizer(str(folder / "vocab.txt"))
    model = golden.randomize(EsmForMaskedLM(EsmConfig(**SMALL)).eval(), golden.seeded(99))
    model.save_pretrained(folder)
    golden.write_json(folder / "tokenizer_config.json", dict(tokenizer_class="EsmTokenizer", model_max_length=60))
    golden.write_lines(folder / "ids.jsonl", [json.dumps(dict(text=t, ids=words(t)["input_ids"])) for t in TEXTS])
    masked = ["MK<mask>LV", "<mask>KTVA", "MKTVLSER<mask>"]
    answers = pipeline("fill-mask", model=model, tokenizer=words, top_k=5)
    golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(t)) for t in masked])
    with torch.no_grad():
        for name, part in (("vectors", slice(1, -1)), ("means", slice(None))):
            hidden = [model.esm(**words(t, return_tensors="pt")).last_hidden_state[0] for t in ("MKTV", "LSERTIDPKQNF")]
            golden.write_lines(folder / f"{name}.jsonl", [json.dumps({"vector": h[part].mean(0).tolist()}) for h in hidden])
    golden.write_json(folder / "proteins.json", proteins(model, words))


PROTEIN, MUTATIONS = "MKTVRQERLKSIVRILERSK", ["K2R", "T3A", "M1V", "K20A", "T3A:V4L", "K2R:S19W"]


def proteins(model, words):
    """Vectors of residues; scores of mutations as in Meier et al. 2021; the pseudo-log-likelihood.  One text a pass."""
    ids = words(PROTEIN, return_tensors="pt")["input_ids"]

    def logp(ids):
        with torch.no_grad():
            return model(ids, attention_mask=torch.ones_like(ids)).logits[0].double().log_softmax(-1)

    def masked(ids, i):
        ids = ids.clone()
        ids[0, i] = words.mask_token_id
        return logp(ids)[i]

    def sites(variant):
        return [(int(m[1:-1]), *words.convert_tokens_to_ids([m[0], m[-1]])) for m in variant.split(":")]

    def pseudo(ids):
        return sum(masked(ids, i)[ids[0, i]].item() for i in range(1, ids.shape[1] - 1))

    def mutated(variant):
        other = ids.clone()
        for i, _, mutant in sites(variant):
            other[0, i] = mutant
        return other

    plain = logp(ids)
    with torch.no_grad():
        residues = model.esm(ids).last_hidden_state[0, 1:-1]
    return {
        "sequence": PROTEIN, "mutations": MUTATIONS,
        "masked-marginals": [sum((masked(ids, i)[m] - masked(ids, i)[w]).item() for i, w, m in sites(v)) for v in MUTATIONS],
        "wt-marginals": [sum((plain[i][m] - plain[i][w]).item() for i, w, m in sites(v)) for v in MUTATIONS],
        "pseudo-ppl": [pseudo(mutated(v)) for v in MUTATIONS],
        "pseudo_log_likelihood": pseudo(ids),
        "residues": residues.tolist(),
    }


def saved(name, folder, model):
    if name == "published":
        as_published(folder, model)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, EsmConfig, MODELS, HEADS, (1, 3, 64), saved=saved)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
