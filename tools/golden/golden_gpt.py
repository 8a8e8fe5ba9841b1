#!/usr/bin/env python3
"""Makes tests/golden/gpt2 and tests/golden/gpt_neox: tiny models with random weights and every head, saved by transformers, and what
transformers computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and
golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_gpt.py [FAMILY...]        # writes tests/golden/FAMILY again; both without names
    python tools/golden/golden_gpt.py --check FOLDER...  # transformers loads folders that roformer wrote"""
import json
import sys

import transformers

import golden
from golden_bert import NAMES, check

LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")
GPT2 = dict(vocab_size=61, n_embd=24, n_layer=3, n_head=4, n_positions=64, bos_token_id=2, eos_token_id=3)
NEOX = dict(vocab_size=61, hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=40, max_position_embeddings=64,
            bos_token_id=2, eos_token_id=3)

# family: (configuration class, what all have, {folder: (class, configuration, lengths of a head's texts)})
FAMILIES = {
    "gpt2": ("GPT2Config", GPT2, {
        "causal": ("GPT2LMHeadModel", {}, None),
        "old_names": ("GPT2LMHeadModel", dict(n_inner=40, activation_function="relu"), None),
        "unscaled": ("GPT2LMHeadModel", dict(scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False), None),
        "by_layer": ("GPT2LMHeadModel", dict(scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=1e-3), None),
        "sequence": ("GPT2ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "token": ("GPT2ForTokenClassification", dict(num_labels=5), [6, 1, 9]),
        "span": ("GPT2ForQuestionAnswering", {}, [8, 5]),
    }),
    "gpt_neox": ("GPTNeoXConfig", NEOX, {
        "causal": ("GPTNeoXForCausalLM", {}, None),
        "old_names": ("GPTNeoXForCausalLM", dict(hidden_act="gelu_fast"), None),
        "one_by_one": ("GPTNeoXForCausalLM", dict(use_parallel_residual=False, attention_bias=False, rope_parameters=dict(
            rope_type="default", rope_theta=500.0, partial_rotary_factor=0.5)), None),
        "tied": ("GPTNeoXForCausalLM", dict(tie_word_embeddings=True, rope_parameters=dict(
            rope_type="linear", factor=2.0, rope_theta=10000.0, partial_rotary_factor=1.0)), None),
        "sequence": ("GPTNeoXForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "token": ("GPTNeoXForTokenClassification", dict(num_labels=5), [6, 1, 9]),
        "span": ("GPTNeoXForQuestionAnswering", {}, [8, 5]),
    }),
}


def randomize(model, generator):
    """Weights that make a difference; those of Conv1D are [in, out]."""
    import torch
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim == 1:
                p.copy_(0.2 * noise + name.endswith("weight"))
            elif any(part in name for part in ("wte", "wpe", "embed_in")):
                p.copy_(0.4 * noise)
            else:
                p.copy_((1.3 if "c_attn" in name or "query_key_value" in name else 1.0) * noise / p.shape["c_" not in name] ** 0.5)
    model.tie_weights()
    return model


def as_published(folder, family):
    """Names, masks and keys of the first folders: GPT-2's without a prefix, Pythia's with frequencies."""
    import torch
    from safetensors.torch import load_file, save_file
    file = folder / "model.safetensors"
    tensors = load_file(file)
    config = json.loads((folder / "config.json").read_text())
    mask = torch.ones(1, 1, 8, 8).tril().to(torch.uint8)
    if family == "gpt2":
        tensors = {k.removeprefix("transformer."): v for k, v in tensors.items() if k != "lm_head.weight"}
        for layer in range(config["n_layer"]):
            tensors[f"h.{layer}.attn.bias"] = mask.clone()
        config.update(n_ctx=config["n_positions"], summary_activation=None, summary_proj_to_labels=True)
    else:
        for layer in range(config["num_hidden_layers"]):
            base = f"gpt_neox.layers.{layer}.attention."
            tensors |= {base + "bias": mask.bool().clone(), base + "masked_bias": torch.tensor(-1e9), base + "rotary_emb.inv_freq": torch.ones(2)}
        del config["rope_parameters"]
        config.update(rotary_pct=0.25, rotary_emb_base=10000)
    save_file({k: v.contiguous() for k, v in tensors.items()}, file, metadata={"format": "pt"})
    golden.write_config(folder / "config.json", config)


TEXTS = ["Call me Ishmael.", "never mind how long precisely, it's 1851 and the sea is old", "道可道，非常道。", "  two blanks and 12345"]
END = "<|endoftext|>"


def byte_level_words():
    """Byte-level BPE as GPT-2's, with the token that ends texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    from golden_byte_level import LINES
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES * 3, trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                         special_tokens=[END], show_progress=False))
    return t


def whole(root, family):
    """A folder as published ones, with a tokenizer: vocab.json and merges.txt of GPT-2, tokenizer.json of GPT-NeoX."""
    kind, common, _ = FAMILIES[family]
    t, folder = byte_level_words(), root / "whole"
    end = t.token_to_id(END)
    own = dict(vocab_size=t.get_vocab_size() + 3, bos_token_id=end, eos_token_id=end, **{"n_positions" if family == "gpt2" else "max_position_embeddings": 256})
    cls = FAMILIES[family][2]["causal"][0]
    model = randomize(getattr(transformers, cls)(getattr(transformers, kind)(**{**common, **own})).eval(), golden.seeded(90))
    golden.save(model, folder)
    if family == "gpt2":
        t.model.save(str(folder))
    else:
        t.save(str(folder / "tokenizer.json"))
    golden.write_config(folder / "tokenizer_config.json", dict(
        tokenizer_class="GPT2Tokenizer" if family == "gpt2" else "GPTNeoXTokenizer", add_prefix_space=False, bos_token=END, eos_token=END,
        unk_token=END, model_max_length=256))
    golden.write_causal(folder, model, TEXTS)
    golden.finish(folder, 0)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    for family in sys.argv[1:] or FAMILIES:
        kind, common, folders = FAMILIES[family]
        root = golden.fresh(golden.GOLDEN / family)
        for seed, (name, (cls, own, lengths)) in enumerate(folders.items(), 1):
            folder = root / name
            generator = golden.seeded(seed)
            model = randomize(getattr(transformers, cls)(getattr(transformers, kind)(**{**common, **own})).eval(), generator)
            golden.save(model, folder)
            if name == "old_names":
                as_published(folder, family)
            if not lengths:
                model.config.is_decoder = True                 # write_case asks for the loss of models that say so
            golden.write_answers(folder, model, lengths, generator, seed)
        whole(root, family)


if __name__ == "__main__":
    main()
