#!/usr/bin/env python3
"""Makes tests/golden/nomic_bert_v2: tiny NomicBERTs with biases and mixtures of experts, with random weights and every head, and the
results of their equations.  The class that computes them is here, written from the equations (Nussbaum and Duderstadt 2025, arXiv
2502.07972; Su et al. 2021 for rotation; MegaBlocks' dMoE for the experts); its keys and the names of its tensors are those of the code
that nomic-embed-text-v2-moe names, nomic-ai/nomic-bert-2048 (source: nomic-ai/contrastors), for which transformers has no class.

    pip install torch safetensors transformers
    python tools/golden/golden_nomic_bert_v2.py            # rewrites tests/golden/nomic_bert_v2

`masked` has the keys of the published config.json; `dense` has no experts; `whole` has XLM-RoBERTa's tokenizer.  The formats are those of
golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools

import torch

import equations
import golden

ROOT = golden.GOLDEN / "nomic_bert_v2"
CODE = "nomic-ai/nomic-bert-2048--"
SMALL = {
    "activation_function": "gelu", "add_pooling_layer": False, "attn_pdrop": 0.0,
    "auto_map": {"AutoConfig": CODE + "configuration_hf_nomic_bert.NomicBertConfig",
                 "AutoModel": CODE + "modeling_hf_nomic_bert.NomicBertModel"},
    "bos_token_id": None, "causal": False, "dense_seq_output": True, "embd_pdrop": 0.1, "eos_token_id": None,
    "expert_choice_router": False, "ffn_div": 1.0, "fused_bias_fc": True, "fused_dropout_add_ln": True, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "max_trained_positions": 2048, "mlp_fc1_bias": True, "mlp_fc2_bias": True, "model_type": "nomic_bert",
    "moe_every_n_layers": 2, "moe_impl": "megablocks", "moe_normalize_expert_weights": False, "moe_resid_pdrop": 0.0, "moe_top_k": 2,
    "n_embd": 24, "n_head": 2, "n_inner": 40, "n_layer": 4, "n_positions": 40, "num_experts": 5, "num_shared_experts": 0,
    "pad_token_id": 1, "pad_vocab_size_multiple": 64, "parallel_block": False, "parallel_block_tied_norm": False, "prenorm": False,
    "qkv_proj_bias": True, "reorder_and_upcast_attn": False, "resid_pdrop": 0.0, "rotary_emb_base": 10000, "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None,
    "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True, "type_vocab_size": 1, "use_flash_attn": True,
    "use_rms_norm": None, "use_xentropy": True, "vocab_size": 61}


def rotate(x, base):
    """Plane i at position m turned by m base^(-2i/D), a plane being columns i and D/2 + i; x [B,H,T,D]."""
    D = x.shape[-1]
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * base ** (-2 * torch.arange(D // 2, dtype=torch.float64) / D)
    sin, cos = angle.sin().to(x), angle.cos().to(x)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class NomicBert(equations.Equations):
    def __init__(self, config, prefix="bert."):
        C, F, E = config["n_embd"], config["n_inner"], config.get("num_experts", 0)
        shapes = {"embeddings.word_embeddings.weight": (config["vocab_size"], C),
                  "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], C), "emb_ln.weight": (C,), "emb_ln.bias": (C,)}
        for i in range(config["n_layer"]):
            at = f"encoder.layers.{i}."
            dense = {"attn.Wqkv": (3 * C, C), "attn.out_proj": (C, C), "norm1": (C,), "norm2": (C,)}
            if self.mixes(config, i):
                shapes.update({at + "mlp.router.layer.weight": (E, C), at + "mlp.experts.mlp.w1": (E * F, C),
                               at + "mlp.experts.mlp.w2": (E * F, C), at + "mlp.experts.bias": (C,)})
            else:
                dense.update({"mlp.fc1": (F, C), "mlp.fc2": (C, F)})
            for name, shape in dense.items():
                shapes.update({f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]})
        self.prefix, self.margin = prefix, 1
        shapes = {prefix + name: shape for name, shape in shapes.items()}
        heads = equations.heads(config, C, config["vocab_size"], self.kind(), prefix)
        named = {"LayerNorm": "layer_norm", "cls.predictions.bias": "cls.predictions.decoder.bias"}
        for old, new in named.items():
            heads = {name.replace(old, new): shape for name, shape in heads.items()}
        super().__init__({**config, "hidden_size": C}, {**shapes, **heads})

    def kind(self):
        return super().kind().replace("PreTraining", "MaskedLM")

    @staticmethod
    def mixes(config, i):
        every = config.get("moe_every_n_layers", 0)
        return every > 0 and i % every == 1

    def experts(self, x, at, mask):
        """Each token's moe_top_k experts; their weights are those of the softmax over all, which are not scaled to sum to 1."""
        c, t = self.config, self.tensors
        z = x @ t[at + "router.layer.weight"].T
        p = torch.softmax(z, -1)
        if c.moe_top_k < c.num_experts:                 # how far the choice is from another one
            best = z[mask == 1].sort(-1, descending=True).values
            self.margin = min(self.margin, float((best[:, c.moe_top_k - 1] - best[:, c.moe_top_k]).min()))
        chosen = p.topk(c.moe_top_k, -1).indices
        y = torch.zeros_like(x)
        for e in range(c.num_experts):
            rows = slice(e * c.n_inner, (e + 1) * c.n_inner)
            used = (chosen == e).any(-1, keepdim=True)
            y += torch.where(used, p[..., e:e + 1], 0) * (equations.gelu(x @ t[at + "experts.mlp.w1"][rows].T) @
                                                          t[at + "experts.mlp.w2"][rows])
        return y + t[at + "experts.bias"]

    def layer(self, i, h, mask):
        c, at = self.config, f"{self.prefix}encoder.layers.{i}."
        q, k, v = (x.unflatten(-1, (c.n_head, -1)).transpose(1, 2) for x in self.linear(h, at + "attn.Wqkv").chunk(3, -1))
        a = equations.attention(rotate(q, c.rotary_emb_base), rotate(k, c.rotary_emb_base), v, mask)
        h = self.layer_norm(h + self.linear(a, at + "attn.out_proj"), at + "norm1", c.layer_norm_epsilon)
        f = self.experts(h, at + "mlp.", mask) if self.mixes(vars(c), i) else \
            self.linear(equations.gelu(self.linear(h, at + "mlp.fc1")), at + "mlp.fc2")
        return self.layer_norm(h + f, at + "norm2", c.layer_norm_epsilon)

    def head(self, h, words):
        if self.kind() != "MaskedLM":
            return equations.bert_logits(self, h, words, self.prefix)
        x = equations.gelu(self.linear(h, "cls.predictions.transform.dense"))
        x = self.layer_norm(x, "cls.predictions.transform.layer_norm", self.config.layer_norm_epsilon)
        return x @ words.T + self.tensors["cls.predictions.decoder.bias"]

    def forward(self, input_ids, attention_mask, token_type_ids, output_hidden_states=False):
        c = self.config
        input_ids, attention_mask, token_type_ids = (x.flatten(0, -2) for x in (input_ids, attention_mask, token_type_ids))
        words = self.tensors[self.prefix + "embeddings.word_embeddings.weight"]
        h = words[input_ids] + self.tensors[self.prefix + "embeddings.token_type_embeddings.weight"][token_type_ids]
        h = self.layer_norm(h, self.prefix + "emb_ln", c.layer_norm_epsilon)
        for i in range(c.n_layer):
            h = self.layer(i, h, attention_mask)
        return self.answer(h, self.head(h, words))


# Rounding to bf16 must not change a choice: few layers, and the first seed with this margin.
HEADS, MARGIN = dict(SMALL, n_layer=2), 0.03

# name: (head, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("PreTraining", SMALL, None),
    "every_third": ("PreTraining", dict(SMALL, moe_every_n_layers=3, num_experts=3, moe_top_k=1, n_layer=5, type_vocab_size=2, n_head=3,
                                        rotary_emb_base=1000), None),
    "dense": ("PreTraining", {k: v for k, v in SMALL.items() if "moe" not in k and "expert" not in k}, None),
    "sequence": ("SequenceClassification", dict(HEADS, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3), [7, 2, 12]),
    "token": ("TokenClassification", dict(HEADS, num_labels=5), [6, 1, 9]),
    "span": ("QuestionAnswering", HEADS, [8, 5]),
    "choice": ("MultipleChoice", HEADS, [9, 3, 4, 7]),
}
TEXTS = ["the old city", "A small house of the king, by the river!", "unknown zzz", "the <mask> city"]


def whole(folder):
    """XLM-RoBERTa's tokenizer, means of the vectors of texts, and the likely words of masks."""
    import shutil
    from transformers import AutoTokenizer
    folder.mkdir()
    shutil.copy(golden.GOLDEN / "fast" / "xlmr.tokenizer.json", folder / "tokenizer.json")
    shutil.copy(golden.GOLDEN / "xlm_roberta" / "whole" / "masked" / "tokenizer_config.json", folder)
    words = AutoTokenizer.from_pretrained(str(folder))
    config = dict(SMALL, vocab_size=len(words), pad_token_id=words.pad_token_id)
    model = golden.randomize(type("NomicBertForPreTraining", (NomicBert,), {})(config), golden.seeded(99))
    golden.save_tensors(model, folder)
    golden.write_config(folder / "config.json", dict(config, architectures=["NomicBertForPreTraining"]))
    golden.write_masked(folder, lambda input_ids, attention_mask: model(input_ids, attention_mask, torch.zeros_like(input_ids)), TEXTS)
    (folder / "tokenizer.json").unlink()                # the test copies that of tests/golden/fast


def make(folder, seed, head, config, lengths):
    folder.mkdir()
    while True:
        generator = golden.seeded(seed)
        model = golden.randomize(type("NomicBertFor" + head, (NomicBert,), {})(config), generator)
        golden.save_tensors(model, folder)
        golden.write_answers(folder, model, lengths, generator, seed)
        if not lengths or model.margin > MARGIN:
            break
        seed += 100
    written = {k: v for k, v in config.items() if k != "num_labels" or "id2label" not in config}
    golden.write_config(folder / "config.json", dict(written, architectures=["NomicBertFor" + head]))


def main():
    torch.set_num_threads(1)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    golden.fresh(ROOT)
    for first, (name, row) in enumerate(MODELS.items(), 1):
        make(ROOT / name, first, *row)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
