#!/usr/bin/env python3
"""Makes tests/golden/jina_bert: tiny JinaBERTs with random weights and every head, and the results of their equations.  The class that
computes them is here, written from the equations (Günther et al. 2023, arXiv 2310.19923, 2.1; Press et al. 2022 for the slopes); its keys
and the names of its tensors are those of jina-bert-implementation, whose folders have model_type "bert".

    pip install torch safetensors transformers
    python tools/golden/golden_jina_bert.py            # rewrites tests/golden/jina_bert

`whole` has BERT's tokenizer; its ids and token types are those of transformers.

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools
import json
import shutil

import torch

import equations
import golden

ROOT = golden.GOLDEN / "jina_bert"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, hidden_act="gelu",
             max_position_embeddings=64, layer_norm_eps=1e-12, type_vocab_size=2, pad_token_id=0, hidden_dropout_prob=0.1,
             attention_probs_dropout_prob=0.0, classifier_dropout=None, initializer_range=0.02, model_type="bert", use_cache=True,
             position_embedding_type="alibi", feed_forward_type="geglu", emb_pooler="mean", attn_implementation="torch",
             model_max_length=8192, _name_or_path="jinaai/jina-bert-implementation")


def slopes(heads):
    """2^(-8 i / n) for n heads, i from 1; with other numbers than powers of two, n below it, and every other one of 2n."""
    power = 1 << (heads.bit_length() - 1)
    first = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return first + [2 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)][:heads - power]


class JinaBert(equations.Equations):
    def __init__(self, config, prefix="bert."):
        C, F = config["hidden_size"], config["intermediate_size"]
        shapes = {"embeddings.word_embeddings.weight": (config["vocab_size"], C),
                  "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], C),
                  "embeddings.LayerNorm.weight": (C,), "embeddings.LayerNorm.bias": (C,)}
        for i in range(config["num_hidden_layers"]):
            names = {"attention.self.query": (C, C), "attention.self.key": (C, C), "attention.self.value": (C, C),
                     "attention.output.dense": (C, C), "mlp.wo": (C, F)}
            for name, shape in names.items():
                shapes.update({f"encoder.layer.{i}.{name}.weight": shape, f"encoder.layer.{i}.{name}.bias": shape[:1]})
            for name in ("attention.output.LayerNorm", "mlp.layernorm"):
                shapes.update({f"encoder.layer.{i}.{name}.weight": (C,), f"encoder.layer.{i}.{name}.bias": (C,)})
            shapes[f"encoder.layer.{i}.mlp.gated_layers.weight"] = (2 * F, C)
        self.prefix = prefix
        shapes = {prefix + name: shape for name, shape in shapes.items()}
        super().__init__(config, {**shapes, **equations.heads(config, C, config["vocab_size"], self.kind(), prefix)})

    def layer(self, i, h, mask):
        c, at = self.config, f"{self.prefix}encoder.layer.{i}."
        B, T, C = h.shape
        H = c.num_attention_heads
        q, k, v = (self.linear(h, f"{at}attention.self.{name}").view(B, T, H, C // H).transpose(1, 2) for name in ("query", "key", "value"))
        distance = (torch.arange(T)[:, None] - torch.arange(T)[None, :]).abs().to(h.dtype)
        bias = -torch.tensor(slopes(H), dtype=h.dtype)[:, None, None] * distance
        a = self.linear(equations.attention(q, k, v, mask, bias), at + "attention.output.dense")
        h = self.layer_norm(h + a, at + "attention.output.LayerNorm", c.layer_norm_eps)
        g, u = self.linear(h, at + "mlp.gated_layers").chunk(2, -1)
        return self.layer_norm(h + self.linear(equations.gelu(g) * u, at + "mlp.wo"), at + "mlp.layernorm", c.layer_norm_eps)

    def forward(self, input_ids, attention_mask, token_type_ids, output_hidden_states=False):
        c = self.config
        input_ids, attention_mask, token_type_ids = (x.flatten(0, -2) for x in (input_ids, attention_mask, token_type_ids))
        words = self.tensors[self.prefix + "embeddings.word_embeddings.weight"]
        h = words[input_ids] + self.tensors[self.prefix + "embeddings.token_type_embeddings.weight"][token_type_ids]
        h = self.layer_norm(h, self.prefix + "embeddings.LayerNorm", c.layer_norm_eps)
        for i in range(c.num_hidden_layers):
            h = self.layer(i, h, attention_mask)
        return self.answer(h, equations.bert_logits(self, h, words, self.prefix))


# name: (head, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("MaskedLM", SMALL, None),
    "three_heads": ("MaskedLM", dict(SMALL, num_attention_heads=3, type_vocab_size=1, layer_norm_eps=1e-5), None),
    "sequence": ("SequenceClassification", dict(SMALL, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3), [7, 2, 12]),
    "token": ("TokenClassification", dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": ("QuestionAnswering", SMALL, [8, 5]),
    "choice": ("MultipleChoice", SMALL, [9, 3, 4, 7]),
}


TEXTS = ["the old city", "A small house of the king, by the river!", "unknown zzz", "the [MASK] city"]


def whole(folder):
    """Means of the vectors of texts, by the words of tests/golden/sparse."""
    from transformers import AutoTokenizer
    folder.mkdir()
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(golden.GOLDEN / "sparse" / name, folder)
    words = AutoTokenizer.from_pretrained(str(folder))
    config = dict(SMALL, vocab_size=len(words), pad_token_id=words.pad_token_id)
    model = golden.randomize(JinaBertForMaskedLM(config), golden.seeded(99))
    golden.save_tensors(model, folder)
    golden.write_config(folder / "config.json", dict(config, architectures=["JinaBertForMaskedLM"]))
    rows = []
    for text in TEXTS:
        x = words(text, return_tensors="pt")
        with torch.no_grad():
            h = model(x["input_ids"], x["attention_mask"], x["token_type_ids"]).hidden_states[-1][0]
        rows.append(dict(text=text, ids=x["input_ids"][0].tolist(), vector=h.mean(0).tolist()))
    golden.write_lines(folder / "vectors.jsonl", [json.dumps(row) for row in rows])


class JinaBertForMaskedLM(JinaBert):
    pass


def main():
    torch.set_num_threads(1)
    golden.fresh(ROOT)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    for seed, (name, (head, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        folder.mkdir()
        generator = golden.seeded(seed)
        model = golden.randomize(type("JinaBertFor" + head, (JinaBert,), {})(config), generator)
        golden.save_tensors(model, folder)
        written = {k: v for k, v in config.items() if k != "num_labels" or "id2label" not in config}
        golden.write_config(folder / "config.json", dict(written, architectures=["JinaBertFor" + head]))
        golden.write_answers(folder, model, lengths, generator, seed)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
