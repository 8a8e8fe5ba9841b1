#!/usr/bin/env python3
"""Makes tests/golden/generation.jsonl: what transformers' generate writes with tests/golden/models/causal when generation_config.json
says how.  Needs torch and transformers 5; the tests need neither.

    python tools/golden/golden_generation.py

An object a line: "settings" (the file), "prompt", and "ids" of what is written, without the prompt and the token that ends it;
in single precision as in double.
"""
import json
import pathlib
import shutil
import tempfile

import torch
from transformers import RoFormerForCausalLM

import golden

ROOT = golden.GOLDEN
PROMPTS = [[66, 77, 38, 71, 30], [20], [68, 74, 38, 10, 29, 53, 58, 49, 15, 37, 52, 57]]
SETTINGS = [
    {"max_new_tokens": 9},
    {"max_length": 17},
    {"max_length": 14, "max_new_tokens": 20},
    {"max_new_tokens": 20, "eos_token_id": 14},
    {"max_new_tokens": 20, "eos_token_id": [12, 42], "pad_token_id": 0},
    {"max_new_tokens": 12, "repetition_penalty": 1.5},
    {"max_new_tokens": 12, "no_repeat_ngram_size": 2},
    {"max_new_tokens": 12, "suppress_tokens": [4, 14, 42]},
    {"max_new_tokens": 12, "bad_words_ids": [[4], [14]]},
    {"max_new_tokens": 12, "bad_words_ids": [[4], [14]], "eos_token_id": 14},
    {"max_new_tokens": 12, "forced_eos_token_id": 7, "eos_token_id": 7},
    {"max_new_tokens": 10, "num_beams": 4, "length_penalty": 0.5, "eos_token_id": 42},
    {"max_new_tokens": 10, "num_beams": 3, "early_stopping": True, "eos_token_id": [4, 14], "repetition_penalty": 1.2},
    {"max_length": 15, "num_beams": 3, "early_stopping": "never", "no_repeat_ngram_size": 3, "eos_token_id": 12},
    {"max_new_tokens": 10, "num_beams": 3, "bad_words_ids": [[4]], "renormalize_logits": True, "eos_token_id": 14},
    {"max_new_tokens": 8, "do_sample": True, "top_k": 1},
    {"max_new_tokens": 8, "do_sample": False, "temperature": 0.5, "top_k": 5, "top_p": 0.4},
    {"max_new_tokens": 6, "min_length": 0, "num_beam_groups": 1, "encoder_repetition_penalty": 1.0, "guidance_scale": None,
     "use_cache": False, "output_scores": True, "return_dict_in_generate": False, "transformers_version": "5.0.0"},
    {"max_new_tokens": 12, "min_new_tokens": 6, "eos_token_id": [4, 12, 42]},
    {"max_new_tokens": 12, "min_length": 9, "eos_token_id": [4, 12, 42]},
    {"max_new_tokens": 12, "min_length": 14, "min_new_tokens": 3, "repetition_penalty": 1.3, "eos_token_id": [4, 12]},
    {"max_new_tokens": 10, "num_beams": 3, "min_new_tokens": 5, "eos_token_id": [4, 14, 42]},
    {"max_new_tokens": 10, "num_beams": 3, "min_length": 16, "renormalize_logits": True, "eos_token_id": [4, 12]},
]


def written(folder, prompt, kind, stops):
    model = RoFormerForCausalLM.from_pretrained(folder).to(kind).eval()
    with torch.no_grad():
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long))[0, len(prompt):]
    ids = out.tolist()
    for i, token in enumerate(ids):
        if token in stops:
            return ids[:i]
    return ids


with open(ROOT / "generation.jsonl", "w") as out:
    for settings in SETTINGS:
        stops = settings.get("eos_token_id", [])
        stops = stops if isinstance(stops, list) else [stops]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("config.json", "model.safetensors"):
                shutil.copy(ROOT / "models" / "causal" / name, folder)
            (pathlib.Path(folder) / "generation_config.json").write_text(json.dumps(settings))
            for prompt in PROMPTS:
                ids = written(folder, prompt, torch.float32, stops)
                if ids == written(folder, prompt, torch.float64, stops):
                    print(json.dumps({"settings": settings, "prompt": prompt, "ids": ids}), file=out)
                else:
                    print("decided by rounding:", settings, prompt)
