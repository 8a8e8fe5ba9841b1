#!/usr/bin/env python3
"""Converts a translation model of this program with sinusoidal positions to a Marian folder, which transformers and CTranslate2's converter load.

    tools/export_marian.py MODEL OUT

Marian has the sines in the first half of a vector and the cosines in the second; this program alternates them. The channels between the layers are reordered, so that every sum has the same terms. Subwords of a spiece.model serve both sides.  Needs numpy, safetensors."""
import json
import os
import shutil
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

here, out = sys.argv[1:3]
config = json.load(open(os.path.join(here, "config.json")))
settings = json.load(open(os.path.join(here, "tokenizer_config.json")))
plain = all(not config.get(k) for k in ("normalize_before", "normalize_embedding", "rotary_cross_attention"))
for side in ("position_embedding_type", "decoder_position_embedding_type"):
    if config.get(side, config.get("position_embedding_type")) != "sinusoidal":
        sys.exit(f"{here}: {side} is not sinusoidal: a Marian has no other positions")
if config["model_type"] != "transformer" or not plain:
    sys.exit(f"{here}: not a transformer with a norm behind each sub-layer: no Marian")

order = np.concatenate([np.arange(0, config["d_model"], 2), np.arange(1, config["d_model"], 2)])
tensors = {}
for name, x in load_file(os.path.join(here, "model.safetensors")).items():
    last = name.split(".")[-2]
    if "norm" in last or (last in ("out_proj", "fc2") and x.ndim == 1):
        x = x[order]
    elif last in ("out_proj", "fc2"):
        x = x[order]
    elif x.ndim == 2:                                       # words, and what reads the channels
        x = x[:, order]
    tensors[name] = np.ascontiguousarray(x)
words = tensors["model.shared.weight"]
tensors["final_logits_bias"] = np.zeros((1, words.shape[0]), np.float32)

os.makedirs(out, exist_ok=True)
save_file(tensors, os.path.join(out, "model.safetensors"), {"format": "pt"})
config = {k: v for k, v in config.items() if "position_embedding_type" not in k}
config.update(architectures=["MarianMTModel"], model_type="marian", decoder_vocab_size=config["vocab_size"], is_decoder=False, use_cache=True)
json.dump(config, open(os.path.join(out, "config.json"), "w"), indent=2)
generation = dict(decoder_start_token_id=config["decoder_start_token_id"], eos_token_id=config["eos_token_id"], pad_token_id=config["pad_token_id"],
                  bad_words_ids=[[config["decoder_start_token_id"]]], num_beams=4, max_length=512)
json.dump(generation, open(os.path.join(out, "generation_config.json"), "w"), indent=2)

import sentencepiece
pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(here, "spiece.model"))
names = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
for token, i in (("</s>", config["eos_token_id"]), ("<pad>", config["pad_token_id"]), ("<unk>", pieces.unk_id())):
    names[i] = token
json.dump({name: i for i, name in enumerate(names)}, open(os.path.join(out, "vocab.json"), "w"), ensure_ascii=False)
for side in ("source.spm", "target.spm"):
    shutil.copy(os.path.join(here, "spiece.model"), os.path.join(out, side))
json.dump(dict(tokenizer_class="MarianTokenizer", eos_token="</s>", pad_token="<pad>", unk_token="<unk>", separate_vocabs=False, source_lang="en",
               target_lang="de", model_max_length=512), open(os.path.join(out, "tokenizer_config.json"), "w"), indent=2)
