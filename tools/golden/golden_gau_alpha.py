#!/usr/bin/env python3
"""Makes tests/golden/gau_alpha: tiny GAU-alphas with random weights and every head, and the results of their equations.  The class
that computes them is here, written from the equations (Hua et al. 2022; kexue.fm/archives/9052 and 8823) in their order and without a
library's layers; its keys and the names of its tensors are those of PyPI's gau_alpha (junnyu), whose `softmax_plus` counts the tokens
that are not padding, at least 16, as bert4keras does since 0.11.5.

    pip install torch==2.15.0 safetensors
    python tools/golden/golden_gau_alpha.py            # rewrites tests/golden/gau_alpha

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools
import math
import types

import torch

import golden

ROOT = golden.GOLDEN / "gau_alpha"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, intermediate_size=40, attention_key_size=16, hidden_act="swish",
             max_position_embeddings=64, layer_norm_eps=1e-12, type_vocab_size=2, pad_token_id=0, embedding_size=24, use_bias=False,
             normalization="softmax_plus", attention_scale=True, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
             classifier_dropout=0.1, initializer_range=0.02, model_type="gau_alpha")
ACT = {"swish": lambda x: x / (1 + torch.exp(-x)), "relu": lambda x: x.clamp(min=0)}


def norm(x, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def rotate(x):
    """Plane i at position m turned by m 10000^(-2i/S), the planes being neighboring columns."""
    S = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * 10000 ** (-2 * torch.arange(S // 2, dtype=torch.float64) / S)
    sin, cos = angle.sin().to(x), angle.cos().to(x)
    a, b = x[..., 0::2], x[..., 1::2]
    y = torch.empty_like(x)
    y[..., 0::2], y[..., 1::2] = a * cos - b * sin, a * sin + b * cos
    return y


class GAUAlpha(torch.nn.Module):
    def __init__(self, config, head):
        super().__init__()
        c = self.config = types.SimpleNamespace(**config)
        C, U, S, L = c.hidden_size, c.intermediate_size, c.attention_key_size, c.num_hidden_layers
        P = torch.nn.Parameter
        self.tensors = {"gau_alpha.embeddings.word_embeddings.weight": P(torch.empty(c.vocab_size, C)),
                        "gau_alpha.embeddings.token_type_embeddings.weight": P(torch.empty(c.type_vocab_size, C))}
        for i in range(L):
            layer = f"gau_alpha.encoder.layer.{i}.gau."
            self.tensors.update({layer + "i_dense.weight": P(torch.empty(2 * U + S, C)), layer + "o_dense.weight": P(torch.empty(C, U)),
                                 layer + "q_scaleoffset.weight": P(torch.empty(S)), layer + "k_scaleoffset.weight": P(torch.empty(S))})
        rows = {"ForMaskedLM": None, "ForMultipleChoice": 1}.get(head, getattr(c, "num_labels", 2))
        name = "qa_outputs" if head == "ForQuestionAnswering" else "classifier"
        if rows:
            self.tensors.update({name + ".weight": P(torch.empty(rows, C)), name + ".bias": P(torch.empty(rows))})
        self.out = name if rows else None
        for n, p in self.tensors.items():
            self.register_parameter(n.replace(".", "/"), p)

    def named_parameters(self, *args, **more):
        return self.tensors.items()

    def tie_weights(self):
        pass

    def layer(self, i, h, mask):
        c = self.config
        w = lambda name: self.tensors[f"gau_alpha.encoder.layer.{i}.gau.{name}.weight"].to(h.dtype)
        U, S = c.intermediate_size, c.attention_key_size
        x = ACT[c.hidden_act](h @ w("i_dense").T)
        u, v, z = x[..., :U], x[..., U:2 * U], x[..., 2 * U:]
        q, k = rotate(z * w("q_scaleoffset")), rotate(z * w("k_scaleoffset"))
        tokens = mask.sum(-1)[:, None, None].to(h.dtype)
        score = q @ k.transpose(1, 2) / math.sqrt(S) * torch.log(tokens.clamp(min=16)) / math.log(512)
        p = torch.softmax(score.masked_fill(mask[:, None, :] == 0, -1e12), -1)
        return norm(h + (u * (p @ v)) @ w("o_dense").T, c.layer_norm_eps)

    def forward(self, input_ids, attention_mask, token_type_ids, output_hidden_states=False):
        c = self.config
        input_ids, attention_mask, token_type_ids = (x.flatten(0, -2) for x in (input_ids, attention_mask, token_type_ids))
        words = self.tensors["gau_alpha.embeddings.word_embeddings.weight"]
        h = norm(words[input_ids] + self.tensors["gau_alpha.embeddings.token_type_embeddings.weight"][token_type_ids], c.layer_norm_eps)
        for i in range(c.num_hidden_layers):
            h = self.layer(i, h, attention_mask)
        out = types.SimpleNamespace(hidden_states=[h])
        if not self.out:
            out.logits = h @ words.T
            return out
        x = h
        if type(self).__name__.endswith(("SequenceClassification", "MultipleChoice")):
            x = h[:, 0] if c.summary_type == "first" else h[:, -1]
        out.logits = x @ self.tensors[self.out + ".weight"].T + self.tensors[self.out + ".bias"]
        if self.out == "qa_outputs":
            out.start_logits, out.end_logits = out.logits[..., 0], out.logits[..., 1]
        return out


# name: (class, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("ForMaskedLM", SMALL, None),
    "whole_heads": ("ForMaskedLM", dict(SMALL, intermediate_size=48, hidden_act="relu", type_vocab_size=3, layer_norm_eps=1e-7), None),
    "sequence": ("ForSequenceClassification", dict(SMALL, summary_type="first", id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3),
                 [7, 2, 12]),
    "last": ("ForSequenceClassification", dict(SMALL, summary_type="last"), [9, 9]),
    "token": ("ForTokenClassification", dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": ("ForQuestionAnswering", SMALL, [8, 5]),
    "choice": ("ForMultipleChoice", dict(SMALL, summary_type="first"), [6, 6, 6, 6]),
}


def main():
    torch.set_num_threads(1)
    golden.fresh(ROOT)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    for seed, (name, (head, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        folder.mkdir()
        generator = golden.seeded(seed)
        model = type("GAUAlpha" + head, (GAUAlpha,), {})(config, head)
        golden.randomize(model, generator, sharp=lambda n: "i_dense" in n)
        golden.save_tensors(model, folder)
        written = {k: v for k, v in config.items() if k != "num_labels" or "id2label" not in config}
        golden.write_config(folder / "config.json", dict(written, architectures=["GAUAlpha" + head]))
        golden.write_answers(folder, model, lengths, generator, seed)


if __name__ == "__main__":
    main()
