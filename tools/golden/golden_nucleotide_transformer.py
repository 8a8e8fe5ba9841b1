#!/usr/bin/env python3
"""Makes tests/golden/nucleotide_transformer: tiny Nucleotide Transformers v2 with random weights and every head, and the results of their
equations.  The class that computes them is here, written from the equations (Dalla-Torre et al. 2024; those of ESM-2 are in Lin et al.
2023); its keys and the names of its tensors are those of InstaDeepAI's folders, whose model_type is "esm".  The ids of `whole` are those
of transformers' EsmTokenizer.

    pip install torch safetensors transformers
    python tools/golden/golden_nucleotide_transformer.py            # rewrites tests/golden/nucleotide_transformer

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools
import itertools
import json

import torch

import equations
import golden

ROOT = golden.GOLDEN / "nucleotide_transformer"
SPECIAL = ["<unk>", "<pad>", "<mask>", "<cls>", "<eos>", "<bos>"]
# Words of three letters, as the folder of 3-mers has, and single letters.
VOCAB = [*SPECIAL, *map("".join, itertools.product("ATCG", repeat=3)), *"ATCGN"]
SMALL = dict(vocab_size=len(VOCAB), hidden_size=40, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, add_bias_fnn=False,
             attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0, emb_layer_norm_before=False, esmfold_config=None, vocab_list=None,
             initializer_range=0.02, is_folding_model=False, layer_norm_eps=1e-12, mask_token_id=2, max_position_embeddings=66,
             model_type="esm", pad_token_id=1, position_embedding_type="rotary", tie_word_embeddings=False, token_dropout=False,
             use_cache=False)
NAMES = {"MaskedLM": "lm_head", "QuestionAnswering": "qa_outputs"}


def head_shapes(config, C, V, kind):
    """Those of ESM's heads: a transform and a matrix of words; dense and out_proj for texts; one matrix otherwise."""
    if kind == "MaskedLM":
        shapes = {"lm_head.dense.weight": (C, C), "lm_head.dense.bias": (C,), "lm_head.layer_norm.weight": (C,),
                  "lm_head.layer_norm.bias": (C,), "lm_head.bias": (V,)}
        return shapes if config["tie_word_embeddings"] else {**shapes, "lm_head.decoder.weight": (V, C)}
    rows = {"MultipleChoice": 1, "QuestionAnswering": 2}.get(kind, config.get("num_labels", 2))
    if kind == "SequenceClassification":
        return {"classifier.dense.weight": (C, C), "classifier.dense.bias": (C,), "classifier.out_proj.weight": (rows, C),
                "classifier.out_proj.bias": (rows,)}
    name = NAMES.get(kind, "classifier")
    return {name + ".weight": (rows, C), name + ".bias": (rows,)}


class Nucleotides(equations.Equations):
    def __init__(self, config):
        C, F = config["hidden_size"], config["intermediate_size"]
        shapes = {"esm.embeddings.word_embeddings.weight": (config["vocab_size"], C),
                  "esm.encoder.emb_layer_norm_after.weight": (C,), "esm.encoder.emb_layer_norm_after.bias": (C,),
                  "esm.contact_head.regression.weight": (1, config["num_hidden_layers"] * config["num_attention_heads"]),
                  "esm.contact_head.regression.bias": (1,)}
        for i in range(config["num_hidden_layers"]):
            at = f"esm.encoder.layer.{i}."
            for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
                shapes.update({f"{at}{name}.weight": (C, C), f"{at}{name}.bias": (C,)})
            for name in ("attention.LayerNorm", "LayerNorm"):
                shapes.update({f"{at}{name}.weight": (C,), f"{at}{name}.bias": (C,)})
            shapes.update({f"{at}intermediate.dense.weight": (2 * F, C), f"{at}output.dense.weight": (C, F)})
        super().__init__(config, {**shapes, **head_shapes(config, C, config["vocab_size"], self.kind())})

    def rotated(self, x):
        """(x_j, x_j+D/2) by the angle m 10000^(-2j/D)."""
        D, T = x.shape[-1], x.shape[-2]
        angle = torch.arange(T, dtype=x.dtype)[:, None] * 10000 ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
        a, b = x[..., :D // 2], x[..., D // 2:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def layer(self, i, h, mask):
        c, at = self.config, f"esm.encoder.layer.{i}."
        B, T, C = h.shape
        H = c.num_attention_heads
        x = self.layer_norm(h, at + "attention.LayerNorm", c.layer_norm_eps)
        q, k, v = (self.linear(x, f"{at}attention.self.{name}").view(B, T, H, C // H).transpose(1, 2) for name in ("query", "key", "value"))
        h = h + self.linear(equations.attention(self.rotated(q), self.rotated(k), v, mask), at + "attention.output.dense")
        g, u = self.linear(self.layer_norm(h, at + "LayerNorm", c.layer_norm_eps), at + "intermediate.dense").chunk(2, -1)
        return h + self.linear(g * torch.sigmoid(g) * u, at + "output.dense")

    def logits(self, h, words):
        if self.kind() == "MaskedLM":
            x = self.layer_norm(equations.gelu(self.linear(h, "lm_head.dense")), "lm_head.layer_norm", self.config.layer_norm_eps)
            return x @ self.tensors.get("lm_head.decoder.weight", words).T + self.tensors["lm_head.bias"]
        if self.kind() == "SequenceClassification":
            return self.linear(torch.tanh(self.linear(h[:, 0], "classifier.dense")), "classifier.out_proj")
        if self.kind() == "MultipleChoice":
            h = h[:, 0]
        return self.linear(h, NAMES.get(self.kind(), "classifier"))

    def forward(self, input_ids, attention_mask, token_type_ids=None, output_hidden_states=False):
        c = self.config
        input_ids, attention_mask = (x.flatten(0, -2) for x in (input_ids, attention_mask))
        words = self.tensors["esm.embeddings.word_embeddings.weight"]
        h = words[input_ids]
        if c.token_dropout:
            masked = (input_ids == c.mask_token_id) * attention_mask
            share = masked.sum(-1, keepdim=True) / attention_mask.sum(-1, keepdim=True)
            h = h * (masked == 0)[..., None] * ((1 - 0.15 * 0.8) / (1 - share))[..., None]
        for i in range(c.num_hidden_layers):
            h = self.layer(i, h, attention_mask)
        h = self.layer_norm(h, "esm.encoder.emb_layer_norm_after", c.layer_norm_eps)
        return self.answer(h, self.logits(h, words))


# name: (head, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("MaskedLM", SMALL, None),
    "dropped": ("MaskedLM", dict(SMALL, token_dropout=True), None),
    "sequence": ("SequenceClassification", dict(SMALL, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3), [7, 2, 12]),
    "token": ("TokenClassification", dict(SMALL, num_labels=5), [6, 1, 9]),
    "whole": ("MaskedLM", SMALL, None),
    "tied": ("MaskedLM", dict(SMALL, tie_word_embeddings=True, layer_norm_eps=1e-5), None),
}
TEXTS = ["ATCGAT", "ATCGATG", "ATNCGA", "atcg", "ATC<mask>GATCA", "ATC GAT", "N", "NNN", "ATCGATCGATCGATC<eos>", "ATCXGAT"]


def whole(folder):
    """The published form: the class is named by auto_map, there is no model_type, and texts have no end."""
    from transformers import EsmTokenizer
    golden.write_lines(folder / "vocab.txt", VOCAB)
    golden.write_json(folder / "tokenizer_config.json", dict(clean_up_tokenization_spaces=True, eos_token=None, model_max_length=60,
                                                             tokenizer_class="EsmTokenizer"))
    golden.write_json(folder / "special_tokens_map.json", {f"{n}_token": f"<{n}>" for n in ("cls", "mask", "pad", "unk")})
    words = EsmTokenizer.from_pretrained(str(folder))
    golden.write_lines(folder / "ids.jsonl", [json.dumps(dict(text=t, ids=words(t)["input_ids"])) for t in TEXTS])


def main():
    torch.set_num_threads(1)
    golden.fresh(ROOT)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    for seed, (name, (head, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        folder.mkdir()
        generator = golden.seeded(seed)
        model = golden.randomize(type("NucleotidesFor" + head, (Nucleotides,), {})(config), generator)
        if name == "tied":                                 # logits of the size that a matrix of its own gives
            model.tensors["esm.embeddings.word_embeddings.weight"].data *= 0.5
        golden.save_tensors(model, folder)
        written = {k: v for k, v in config.items() if k != "num_labels" or "id2label" not in config}
        if name == "whole":
            repository = "InstaDeepAI/nucleotide-transformer-v2-50m-multi-species--modeling_esm."
            written = {k: v for k, v in written.items() if k != "model_type"}
            written["auto_map"] = {"AutoModelForMaskedLM": repository + "EsmForMaskedLM"}
        golden.write_config(folder / "config.json", dict(written, architectures=["EsmFor" + head]))
        golden.write_answers(folder, model, lengths, generator, seed)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
