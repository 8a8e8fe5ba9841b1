#!/usr/bin/env python3
"""Makes tests/golden/neobert: tiny NeoBERTs with random weights and their heads, and the results of their equations.  The class that
computes them is here, written from the equations (Le Breton et al. 2025, arXiv 2502.19587, 3; Zhang and Sennrich 2019 for the norm, Shazeer
2020 for the gate); its keys and the names of its tensors are those of chandar-lab/NeoBERT.

    pip install torch safetensors transformers
    python tools/golden/golden_neobert.py            # rewrites tests/golden/neobert

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools

import torch

import equations
import golden

ROOT = golden.GOLDEN / "neobert"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=60, norm_eps=1e-5, max_length=64,
             pad_token_id=0, dim_head=12, decoder_init_range=0.02, embedding_init_range=0.02, classifier_init_range=0.02,
             model_type="neobert", trust_remote_code=True, pretrained_model_name_or_path="google-bert/bert-base-uncased",
             kwargs={"trust_remote_code": True})


def width(config):
    """Two thirds of the number that the file says, rounded up to a multiple of 8."""
    return 8 * -(-int(2 * config["intermediate_size"] / 3) // 8)


def rotate(x):
    """Plane i at position m turned by m 10000^(-2i/D), the planes being neighboring columns; x [B,H,T,D]."""
    D = x.shape[-1]
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * 10000 ** (-2 * torch.arange(D // 2, dtype=torch.float64) / D)
    sin, cos = angle.sin().to(x), angle.cos().to(x)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class NeoBERT(equations.Equations):
    def __init__(self, config):
        C, V, F = config["hidden_size"], config["vocab_size"], width(config)
        shapes = {"model.encoder.weight": (V, C), "model.layer_norm.weight": (C,)}
        for i in range(config["num_hidden_layers"]):
            names = {"attention_norm": (C,), "qkv": (3 * C, C), "wo": (C, C), "ffn_norm": (C,), "ffn.w12": (2 * F, C), "ffn.w3": (C, F)}
            shapes.update({f"model.transformer_encoder.{i}.{name}.weight": shape for name, shape in names.items()})
        if self.masked():
            shapes.update({"decoder.weight": (V, C), "decoder.bias": (V,)})
        else:
            K = config["num_labels"]
            shapes.update({"dense.weight": (C, C), "dense.bias": (C,), "classifier.weight": (K, C), "classifier.bias": (K,)})
        super().__init__(config, shapes)

    def masked(self):
        return type(self).__name__.endswith("LMHead")

    def norm(self, x, name):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.config.norm_eps) * self.tensors[f"model.{name}.weight"]

    def layer(self, i, h, mask):
        H, at = self.config.num_attention_heads, f"transformer_encoder.{i}."
        x = self.linear(self.norm(h, at + "attention_norm"), f"model.{at}qkv").unflatten(-1, (H, -1)).transpose(1, 2)   # [B,H,T,3D]
        q, k, v = x.chunk(3, -1)
        h = h + self.linear(equations.attention(rotate(q), rotate(k), v, mask), f"model.{at}wo")
        g, u = self.linear(self.norm(h, at + "ffn_norm"), f"model.{at}ffn.w12").chunk(2, -1)
        return h + self.linear(g / (1 + torch.exp(-g)) * u, f"model.{at}ffn.w3")

    def forward(self, input_ids, attention_mask, token_type_ids=None, output_hidden_states=False):
        h = self.tensors["model.encoder.weight"][input_ids]
        for i in range(self.config.num_hidden_layers):
            h = self.layer(i, h, attention_mask)
        h = self.norm(h, "layer_norm")
        if self.masked():
            return self.answer(h, self.linear(h, "decoder"))
        return self.answer(h, self.linear(torch.tanh(self.linear(h[:, 0], "dense")), "classifier"))


# name: (class, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("LMHead", SMALL, None),
    "rounded": ("LMHead", dict(SMALL, intermediate_size=40, num_attention_heads=3, dim_head=8, norm_eps=1e-6), None),
    "sequence": ("ForSequenceClassification", dict(SMALL, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3), [7, 2, 12]),
}


def whole(folder):
    """A folder with a tokenizer of the kind of NeoBERT's, BERT's in a tokenizer.json."""
    from transformers import BertTokenizerFast
    folder.mkdir()
    words = BertTokenizerFast(vocab=str(golden.GOLDEN / "sparse" / "vocab.txt"))
    words.backend_tokenizer.save(str(folder / "tokenizer.json"))
    special = {name + "_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
    golden.write_config(folder / "tokenizer_config.json", dict(special, tokenizer_class="PreTrainedTokenizerFast", model_max_length=4096,
                                                               model_input_names=["input_ids", "attention_mask"], do_lower_case=True))
    config = dict(SMALL, vocab_size=len(words), pad_token_id=words.pad_token_id)
    model = golden.randomize(NeoBERTLMHead(config), golden.seeded(99), sharp=lambda n: "qkv" in n)
    golden.save_tensors(model, folder)
    golden.write_config(folder / "config.json", dict(config, architectures=["NeoBERTLMHead"]))
    golden.write_masked(folder, model, ["the old city", "A small house of the king, by the river!", "unknown zzz", "the [MASK] city"])


class NeoBERTLMHead(NeoBERT):
    pass


def main():
    torch.set_num_threads(1)
    golden.fresh(ROOT)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    for seed, (name, (head, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        folder.mkdir()
        generator = golden.seeded(seed)
        model = golden.randomize(type("NeoBERT" + head, (NeoBERT,), {})(config), generator, sharp=lambda n: "qkv" in n)
        golden.save_tensors(model, folder)
        written = {k: v for k, v in config.items() if k != "num_labels"}
        golden.write_config(folder / "config.json", dict(written, architectures=["NeoBERT" + head]))
        golden.write_answers(folder, model, lengths, generator, seed)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
