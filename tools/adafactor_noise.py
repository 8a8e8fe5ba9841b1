#!/usr/bin/env python3
"""adafactor_noise.py — why two correct implementations of Adafactor differ in the feed-forward tensors of a model.

Adafactor scales the steps of all rows and columns of a matrix to one size. A neuron that is inactive for every token (gelu
far below zero) has gradients that consist only of rounding errors of erf in f32, and these become steps of full size.
This compares torch in f32 with torch in f64: one update of transformers' Adafactor from the same weights, with 12 of
256 neurons of each layer moved far below zero.

Usage: adafactor_noise.py   (prints |step in f32 - step in f64| / |step in f64|, the ratio of norms, the largest tensors)
"""
import copy

import torch
from transformers import RoFormerConfig, RoFormerForMaskedLM
from transformers.optimization import Adafactor


def steps(model, ids, labels):
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    rule = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False)
    model(input_ids=ids, labels=labels).loss.backward()
    rule.step()
    return {n: (p.detach() - before[n]).double() for n, p in model.named_parameters()}


for bias in [0.0, -5.0, -6.0, -7.0]:
    torch.manual_seed(0)
    config = RoFormerConfig(vocab_size=300, embedding_size=64, hidden_size=64, num_hidden_layers=3,
                            num_attention_heads=4, intermediate_size=256, max_position_embeddings=64,
                            hidden_dropout_prob=0, attention_probs_dropout_prob=0, hidden_act="gelu")
    model = RoFormerForMaskedLM(config).eval()
    for layer in model.roformer.encoder.layer:
        if bias:
            layer.intermediate.dense.bias.data[:12] = bias
    ids = torch.randint(5, 300, (8, 32))
    labels = torch.where(torch.rand(ids.shape) > 0.15, -100, ids)
    wide, narrow = steps(copy.deepcopy(model).double(), ids, labels), steps(model, ids, labels)
    rows = [((narrow[n] - d).norm() / d.norm(), narrow[n].norm() / d.norm(), n) for n, d in wide.items() if d.norm() > 0]
    print(f"bias {bias}")
    for apart, ratio, name in sorted(rows, reverse=True)[:10]:
        print(f"  {apart:9.2e} {ratio:7.4f}  {name}")
