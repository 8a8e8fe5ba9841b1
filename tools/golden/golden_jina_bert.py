#!/usr/bin/env python3
"""Makes tests/golden/jina_bert and tests/golden/jina_bert_qk: tiny JinaBERTs with random weights and every head, and the results of their
equations.  The classes that compute them are here, written from the equations (Günther et al. 2023, arXiv 2310.19923, 2.1; Press et al. 2022
for the slopes; Henry et al. 2020 for norms of queries and keys); their keys and the names of their tensors are those of
jina-bert-implementation and of jina-bert-v2-qk-post-norm, whose folders have model_type "bert".

    pip install torch safetensors transformers
    python tools/golden/golden_jina_bert.py [FAMILY...]            # rewrites tests/golden/FAMILY; both without names

`whole` has BERT's tokenizer, that of jina_bert_qk a byte-level one; their ids and token types are those of transformers.

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import functools
import shutil
import sys

import torch

import equations
import golden

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
    UP, DOWN, NORMS = "mlp.gated_layers", "mlp.wo", ("attention.output.LayerNorm", "mlp.layernorm")

    def __init__(self, config, prefix="bert."):
        C, F = config["hidden_size"], config["intermediate_size"]
        shapes = {"embeddings.word_embeddings.weight": (config["vocab_size"], C),
                  "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], C),
                  "embeddings.LayerNorm.weight": (C,), "embeddings.LayerNorm.bias": (C,)}
        for i in range(config["num_hidden_layers"]):
            names = {"attention.self.query": (C, C), "attention.self.key": (C, C), "attention.self.value": (C, C),
                     "attention.output.dense": (C, C), self.DOWN: (C, F), **{name: (C,) for name in self.NORMS}}
            for name, shape in names.items():
                shapes.update({f"encoder.layer.{i}.{name}.weight": shape, f"encoder.layer.{i}.{name}.bias": shape[:1]})
            shapes[f"encoder.layer.{i}.{self.UP}.weight"] = (2 * F, C)
        self.prefix = prefix
        shapes = {prefix + name: shape for name, shape in shapes.items()}
        super().__init__(config, {**shapes, **equations.heads(config, C, config["vocab_size"], self.kind(), prefix)})

    def normed(self, x, name, i):
        return self.layer_norm(x, f"{self.prefix}encoder.layer.{i}.{name}", self.config.layer_norm_eps)

    def queries_keys_values(self, h, i):
        return (self.linear(h, f"{self.prefix}encoder.layer.{i}.attention.self.{name}") for name in ("query", "key", "value"))

    def attend(self, i, h, mask):
        c = self.config
        B, T, C = h.shape
        H = c.num_attention_heads
        q, k, v = (x.view(B, T, H, C // H).transpose(1, 2) for x in self.queries_keys_values(h, i))
        distance = (torch.arange(T)[:, None] - torch.arange(T)[None, :]).abs().to(h.dtype)
        bias = -torch.tensor(slopes(H), dtype=h.dtype)[:, None, None] * distance
        a = self.linear(equations.attention(q, k, v, mask, bias), f"{self.prefix}encoder.layer.{i}.attention.output.dense")
        return self.normed(h + a, "attention.output.LayerNorm", i)

    def layer(self, i, h, mask):
        at = f"{self.prefix}encoder.layer.{i}."
        h = self.attend(i, h, mask)
        g, u = self.linear(h, at + self.UP).chunk(2, -1)
        return self.normed(h + self.linear(equations.gelu(g) * u, at + self.DOWN), "mlp.layernorm", i)

    def forward(self, input_ids, attention_mask, token_type_ids, output_hidden_states=False):
        c = self.config
        input_ids, attention_mask, token_type_ids = (x.flatten(0, -2) for x in (input_ids, attention_mask, token_type_ids))
        words = self.tensors[self.prefix + "embeddings.word_embeddings.weight"]
        h = words[input_ids] + self.tensors[self.prefix + "embeddings.token_type_embeddings.weight"][token_type_ids]
        h = self.layer_norm(h, self.prefix + "embeddings.LayerNorm", c.layer_norm_eps)
        for i in range(c.num_hidden_layers):
            h = self.layer(i, h, attention_mask)
        return self.answer(h, equations.bert_logits(self, h, words, self.prefix))


class JinaBertQk(JinaBert):
    """Norms over the whole width of queries and of keys, a second norm behind attention, the gate in the second half."""
    UP, DOWN = "mlp.up_gated_layer", "mlp.down_layer"
    NORMS = ("attention.self.layer_norm_q", "attention.self.layer_norm_k", "attention.output.LayerNorm", "layer_norm_1", "layer_norm_2")

    def queries_keys_values(self, h, i):
        q, k, v = super().queries_keys_values(h, i)
        return self.normed(q, "attention.self.layer_norm_q", i), self.normed(k, "attention.self.layer_norm_k", i), v

    def layer(self, i, h, mask):
        at = f"{self.prefix}encoder.layer.{i}."
        h = self.normed(h + self.attend(i, h, mask), "layer_norm_1", i)
        u, g = self.linear(h, at + self.UP).chunk(2, -1)
        return self.normed(h + self.linear(u * equations.gelu(g), at + self.DOWN), "layer_norm_2", i)


# name: (head, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": ("MaskedLM", SMALL, None),
    "three_heads": ("MaskedLM", dict(SMALL, num_attention_heads=3, type_vocab_size=1, layer_norm_eps=1e-5), None),
    "sequence": ("SequenceClassification", dict(SMALL, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=3), [7, 2, 12]),
    "token": ("TokenClassification", dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": ("QuestionAnswering", SMALL, [8, 5]),
    "choice": ("MultipleChoice", SMALL, [9, 3, 4, 7]),
}


CODE = "jinaai/jina-bert-v2-qk-post-norm--"
FAMILIES = {
    "jina_bert": (JinaBert, {}),
    "jina_bert_qk": (JinaBertQk, dict(_name_or_path="jinaai/jina-bert-v2-qk-post-norm",
                                      auto_map={"AutoConfig": CODE + "configuration_bert.JinaBertConfig",
                                                "AutoModel": CODE + "modeling_bert.JinaBertModel",
                                                "AutoModelForMaskedLM": CODE + "modeling_bert.JinaBertForMaskedLM"})),
}
TEXTS = ["the old city", "A small house of the king, by the river!", "unknown zzz", "the [MASK] city"]
CODES = ["def f(x): return  x + 1", "  int main(void) { return 0; }", "Straße über Äpfel, 北京", "for <mask> in range(10):"]


def byte_level(folder):
    """A tokenizer of the kind of jina-embeddings-v2-base-code, with the class that it names."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    words = Tokenizer(models.BPE())
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    words.train_from_iterator(CODES * 4, trainer)
    words.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    words.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    words.save(str(folder / "tokenizer.json"))
    named = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), special), cls_token="<s>", sep_token="</s>", mask_token="<mask>")
    golden.write_config(folder / "tokenizer_config.json", dict(named, add_prefix_space=False, model_max_length=8192, errors="replace",
                                                               tokenizer_class="RobertaTokenizer", clean_up_tokenization_spaces=True))


def word_pieces(folder):
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(golden.GOLDEN / "sparse" / name, folder)


def whole(folder, kind, own, write_tokenizer, texts):
    """Means of the vectors of texts, and the likely words of masks."""
    from transformers import AutoTokenizer
    folder.mkdir()
    write_tokenizer(folder)
    words = AutoTokenizer.from_pretrained(str(folder))
    config = {**SMALL, **own, "vocab_size": len(words), "pad_token_id": words.pad_token_id}
    model = golden.randomize(type("JinaBertForMaskedLM", (kind,), {})(config), golden.seeded(99))
    golden.save_tensors(model, folder)
    golden.write_config(folder / "config.json", dict(config, architectures=["JinaBertForMaskedLM"]))
    golden.write_masked(folder, lambda input_ids, attention_mask: model(input_ids, attention_mask, torch.zeros_like(input_ids)), texts)


def make(family):
    kind, own = FAMILIES[family]
    root = golden.GOLDEN / family
    golden.fresh(root)
    for seed, (name, (head, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = root / name
        folder.mkdir()
        generator = golden.seeded(seed)
        config = {**config, **own}
        model = golden.randomize(type("JinaBertFor" + head, (kind,), {})(config), generator)
        golden.save_tensors(model, folder)
        written = {k: v for k, v in config.items() if k != "num_labels" or "id2label" not in config}
        golden.write_config(folder / "config.json", dict(written, architectures=["JinaBertFor" + head]))
        golden.write_answers(folder, model, lengths, generator, seed)
    if family == "jina_bert":
        whole(root / "whole", kind, own, word_pieces, TEXTS)
    else:
        whole(root / "whole", kind, own, byte_level, CODES)


def main():
    torch.set_num_threads(1)
    golden.made_with = functools.partial(golden.made_with, "the printed equations", packages=("torch",))
    for family in sys.argv[1:] or FAMILIES:
        make(family)


if __name__ == "__main__":
    main()
