#!/usr/bin/env python3
"""convert.py PROGRAM [--classes] [FOLDER...] - folders before and after `roformer convert`, as transformers 5 reads them.

Each FOLDER (tests/cli/folders/convert_tasks.sh makes one of every task) is converted, in its type, bf16 and f16.  Both
are opened by the class of their architecture (AutoModel for a class of ours) in that type, and must name the same
outputs and give the same numbers for the same ids, poolers among them.  For a folder with modules.json,
sentence-transformers must give the same vectors.  --classes: also folders of random weights of many classes.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

SMALL = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=40)
CLASSES = {"Bert": ("Model", "ForPreTraining", "ForNextSentencePrediction", "LMHeadModel", "ForSequenceClassification"),
           "MPNet": ("Model", "ForMaskedLM"), "Roberta": ("Model", "ForCausalLM"), "XLMRoberta": ("Model",), "RoFormer": ("Model",),
           "ModernBert": ("Model",), "Esm": ("Model",), "Llama": ("Model",), "Qwen2": ("Model",), "Qwen3": ("Model",),
           "Marian": ("Model", "MTModel"), "DistilBert": ("Model", "ForMaskedLM", "ForSequenceClassification"),
           "Electra": ("Model", "ForPreTraining", "ForMaskedLM", "ForMultipleChoice"), "Camembert": ("Model", "ForMaskedLM"),
           "Albert": ("Model", "ForMaskedLM", "ForSequenceClassification", "ForMultipleChoice"),
           **{f: ("Model", "ForConditionalGeneration", "EncoderModel") for f in ("T5", "MT5", "UMT5")}}
T5 = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 2, "pad_token_id": 0, "decoder_start_token_id": 0}
MORE = {"Bert": {"is_decoder": False}, "Esm": {"position_embedding_type": "rotary", "mask_token_id": 3, "token_dropout": True},
        "ModernBert": {"global_attn_every_n_layers": 2},
        "Qwen2": {"num_key_value_heads": 1}, "Qwen3": {"num_key_value_heads": 1, "head_dim": 8},
        "T5": T5, "MT5": T5, "UMT5": T5,
        "Marian": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
                   "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "pad_token_id": 39, "decoder_start_token_id": 39}}


def make(out):
    torch.manual_seed(3)
    for family, names in CLASSES.items():
        for name in names:
            settings = {**SMALL, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, **MORE.get(family, {})}
            config = getattr(transformers, family + "Config")(**settings)
            if name in ("LMHeadModel", "ForCausalLM") and family in ("Bert", "Roberta"):
                config.is_decoder = True
            model = getattr(transformers, family + name)(config).eval()
            with torch.no_grad():
                for n, p in model.named_parameters():
                    if "embed_positions" not in n:          # those of RoFormer and Marian are computed
                        p.add_(torch.randn_like(p) * 0.1)
            model.tie_weights()
            model.save_pretrained(out / (family + name))
            yield out / (family + name)


def answers(folder, dtype):
    config = transformers.AutoConfig.from_pretrained(folder)
    model = getattr(transformers, config.architectures[0], transformers.AutoModel).from_pretrained(folder, dtype=dtype).eval()
    ids = torch.arange(5, 17).reshape(2, 6)
    ids = ids[None] if "MultipleChoice" in type(model).__name__ else ids
    more = {"decoder_input_ids": ids[:, :4]} if config.is_encoder_decoder else {}
    with torch.no_grad():
        out = [x for x in model(input_ids=ids, **more).to_tuple() if isinstance(x, torch.Tensor)]
    return out, (type(model).__name__, config.id2label, config.problem_type, getattr(config, "task_labels", None), len(out))


def vectors(folder):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(str(folder), device="cpu").encode(["a man plays", "the dog"], convert_to_tensor=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--classes", action="store_true")
    p.add_argument("folders", nargs="*", type=pathlib.Path)
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as made:
        for folder in a.folders + (list(make(pathlib.Path(made))) if a.classes else []):
            for name, dtype in (("same", "auto"), ("bf16", torch.bfloat16), ("f16", torch.float16)):
                if name == "f16" and "T5" in folder.name:
                    continue                                # which transformers loads with wo in f32, unrounded
                with tempfile.TemporaryDirectory() as temporary:
                    other = pathlib.Path(temporary) / "converted"
                    subprocess.run([a.program, "convert", "-q", folder, other, "--dtype", name], check=True, stdout=subprocess.DEVNULL)
                    (x, mine), (y, theirs) = answers(other, dtype), answers(folder, dtype)
                    same = mine == theirs and all(torch.equal(p, q) for p, q in zip(x, y))
                    if same and name == "same" and (folder / "modules.json").exists():
                        same = torch.equal(vectors(other), vectors(folder))
                print(folder.name, name, *mine, "the same" if same else "NOT THE SAME: %s" % (theirs,))
                bad += not same
    return bad


if __name__ == "__main__":
    sys.exit(main())
