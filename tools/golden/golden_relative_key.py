#!/usr/bin/env python3
"""Makes the models relative_key* of tests/golden/relative: tiny BERTs and a RoBERTa with position_embedding_type relative_key and
relative_key_query, and what transformers computes with them.  Needs torch and transformers 4.57, the last whose classes read this
key.  The format is that of golden_models.py, which tests/golden/README.md describes.

    python tools/golden/golden_relative_key.py
"""
import sys

import transformers
from transformers import BertConfig, BertForMaskedLM, BertLMHeadModel, RobertaConfig, RobertaForMaskedLM

import golden

SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=40, hidden_act="gelu")
ROBERTA = dict(SMALL, max_position_embeddings=42, pad_token_id=1, type_vocab_size=1)

MODELS = {
    "relative_key_model": (BertForMaskedLM, BertConfig, dict(SMALL, position_embedding_type="relative_key")),
    "relative_key_query_model": (BertForMaskedLM, BertConfig, dict(SMALL, position_embedding_type="relative_key_query")),
    "relative_key_causal_model": (BertLMHeadModel, BertConfig, dict(SMALL, position_embedding_type="relative_key_query", is_decoder=True)),
    "relative_key_roberta_model": (RobertaForMaskedLM, RobertaConfig, dict(ROBERTA, position_embedding_type="relative_key_query")),
}


def main():
    if not transformers.__version__.startswith("4."):
        sys.exit("golden_relative_key.py: transformers 5 does not read the key; use an environment of its own: pip install torch "
                 "transformers==4.57.6")
    golden.quiet()
    for seed, (name, (kind, kind_of_config, config)) in enumerate(MODELS.items(), 1):
        folder = golden.GOLDEN / "relative" / name
        generator = golden.seeded(seed)
        model = golden.randomize(kind(kind_of_config(**config)).eval(), generator)
        golden.save(model, folder, safe_serialization=True)
        golden.finish(folder, golden.write_cases(folder, model, (1, 3, 40), (5, 1, 12), generator, seed))


if __name__ == "__main__":
    main()
