#!/usr/bin/env python3
"""Makes tests/golden/models/int8: a small RoFormer whose layers compressed-tensors has quantized (W8A8: a scale for each
row of weights, one for each token of activations), and what transformers computes with it: golden.txt with the dequantized
weights, int8.txt with activations in int8 as well.  In int8_words, the word embeddings are quantized, too, and the head has
a matrix of its own.  With --check it loads what roformer wrote and compares.

    python tools/golden/golden_int8.py                                # rewrites tests/golden/models/int8 and int8_words
    python tools/golden/golden_int8.py --check build/release/roformer # roformer convert --dtype int8, read by transformers

Needs torch, transformers 5, compressed-tensors and, for --check, nothing else; the tests need none of them.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch
import transformers
from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config
from compressed_tensors.quantization.utils import calculate_qparams
from compressed_tensors.compressors import ModelCompressor
from transformers import RoFormerForMaskedLM

import golden
from golden_models import ROOT, make

CONFIG = dict(vocab_size=97, embedding_size=48, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=160,
              hidden_act="gelu", max_position_embeddings=64)
SEED = 41
ARGUMENTS = dict(num_bits=8, type="int", symmetric=True)
SCHEME = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": ["roformer.embeddings_project", "cls.predictions.transform.dense", "cls.predictions.decoder"],
    "config_groups": {"group_0": {
        "targets": ["Linear"],
        "weights": dict(ARGUMENTS, strategy="channel"),
        "input_activations": dict(ARGUMENTS, strategy="token", dynamic=True),
    }},
}


WORDS = {**SCHEME, "ignore": SCHEME["ignore"] + ["roformer.embeddings.token_type_embeddings", "roformer.encoder.embed_positions"],
         "config_groups": {**SCHEME["config_groups"], "group_1": {
             "targets": ["Embedding"], "weights": dict(ARGUMENTS, strategy="channel"), "input_activations": None, "format": "int-quantized"}}}


def quantize(model, scheme):
    """The package's own scales (127.5 steps to the largest) and its own rounding."""
    config = QuantizationConfig.model_validate(scheme)
    apply_quantization_config(model, config)
    with torch.no_grad():
        for module in model.modules():
            scheme = getattr(module, "quantization_scheme", None)
            if scheme is None:
                continue
            low, high = module.weight.amin(dim=1, keepdim=True), module.weight.amax(dim=1, keepdim=True)
            scale, _ = calculate_qparams(low, high, scheme.weights)
            module.weight_scale.data.copy_(scale)
    compressor = ModelCompressor.from_pretrained_model(model, quantization_format="int-quantized")
    compressor.compress_model(model)
    return config


def answers(path, model, generator, title):
    with open(path, "w") as out:
        print(golden.made_with(f"seed {SEED}", title, packages=("transformers", "torch", "compressed-tensors")), file=out)
        for lengths in ([1], [5], [33], [7, 2, 12]):
            golden.write_case(out, f"length-{lengths[0]}" if len(lengths) == 1 else "padded", model, lengths, generator, False,
                              exact=title.startswith("float32"))
        print("end", file=out)


def products(path, model, generator):
    """y = x w^T + bias of two matrices, four rows of x each."""
    with open(path, "w") as out:
        print("# as int8.txt: name, rows n k; x; y", file=out)
        for name in ("encoder.layer.0.intermediate.dense", "encoder.layer.1.output.dense"):
            module = model.roformer.get_submodule(name)
            x = torch.randn(4, module.in_features, generator=generator)
            with torch.no_grad():
                y = module(x)
            print(f"roformer.{name} {len(x)} {module.out_features} {module.in_features}", file=out)
            print(golden.numbers(x.flatten().tolist()), file=out)
            print(golden.numbers(y.flatten().tolist()), file=out)
        print("end", file=out)


def write(name, settings, scheme):
    folder = ROOT / name
    model = make(settings, golden.seeded(SEED))
    quantize(model, scheme)
    golden.save(model, folder)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(QuantizationConfig.model_validate(scheme).to_dict())
    (folder / "config.json").write_text(json.dumps(config, indent=2, default=str) + "\n")
    dense = RoFormerForMaskedLM.from_pretrained(
        folder, quantization_config=transformers.CompressedTensorsConfig(dequantize=True)).eval().float()
    answers(folder / "golden.txt", dense, torch.Generator().manual_seed(SEED + 1), "float32 on the CPU")
    whole = RoFormerForMaskedLM.from_pretrained(folder).eval()
    answers(folder / "int8.txt", whole, torch.Generator().manual_seed(SEED + 1), "W8A8 on the CPU")
    if name == "int8":
        products(folder / "products.txt", whole, torch.Generator().manual_seed(SEED + 2))
    for file in folder.iterdir():
        file.chmod(0o644)
    print(golden.size(folder), "bytes")


TEXTS = ["The capital of France is [MASK].", "In 1990 the [MASK] was elected as president.", "He was born in [MASK] and died in London."]


def check(program):
    """The shipped model, converted: probabilities of masked words, by transformers and by roformer."""
    source = golden.TOP / "models" / "roformer-small-en"
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "int8"
        subprocess.run([program, "convert", "-q", source, target, "--dtype", "int8"], check=True, stdout=subprocess.DEVNULL)
        model, info = RoFormerForMaskedLM.from_pretrained(target, output_loading_info=True)
        left = {k for k in info["missing_keys"] if "embed_positions" not in k} | info["unexpected_keys"]
        assert not left and not info["mismatched_keys"], info
        inner = model.roformer.encoder.layer[0].intermediate.dense
        assert inner.weight.dtype == torch.int8 and inner.quantization_scheme.input_activations.dynamic
        worst = 0.0
        vocabulary = (target / "vocab.txt").read_text().splitlines()
        for text in TEXTS:
            tokens = subprocess.run([program, "tokenize", "-m", source, "--json", text], check=True,
                                    stdout=subprocess.PIPE).stdout
            ids = torch.tensor([json.loads(tokens)["ids"]])
            place = int((ids[0] == vocabulary.index("[MASK]")).nonzero()[0])
            with torch.no_grad():
                theirs = model(ids).logits[0, place].double()
            ours = json.loads(subprocess.run([program, "fill-mask", "-m", target, "--dtype", "int8", "--json", "--top-k", "200", text],
                                             check=True, stdout=subprocess.PIPE).stdout)
            ours = ours[0] if isinstance(ours[0], list) else ours
            index = torch.tensor([row["token"] for row in ours])
            log = torch.tensor([row["score"] for row in ours]).double().log()
            theirs = theirs.log_softmax(0)[index]
            off = float(((log - theirs).norm() / theirs.norm()))
            print(f"{text:50} {off:.1e} of the log-probabilities of {len(index)} words")
            worst = max(worst, off)
        # A product is off by 0.0076 of its size (docs/numerics.md); a layer has four, and there are four layers.
        assert worst <= 0.0076 * 16 ** 0.5, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="PROGRAM")
    given = parser.parse_args()
    golden.quiet()
    if given.check:
        check(given.check)
    else:
        write("int8", CONFIG, SCHEME)
        write("int8_words", dict(CONFIG, tie_word_embeddings=False), WORDS)


if __name__ == "__main__":
    main()
