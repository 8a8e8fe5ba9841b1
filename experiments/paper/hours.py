#!/usr/bin/env python3
"""hours.py — seconds an update and hours of this folder's pre-training, by the model of docs/scaling.md.  results/paper.txt is its output.

    seconds   tokens of an update x arithmetic of a token (bench/scaling.py) / speed of a node, and the network's terms on several nodes
    speed     what a training step of the base shape reaches in bf16 on two cores (results/bf16.txt); of 64 cores 32 times that, assumed

enwik8.json is not here: the arithmetic of linear attention is not that model's.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
import scaling  # noqa: E402

NODES = {"2 cores": (336.3e9, 20e9), "64 cores": (32 * 336.3e9, 300e9)}  # training step, bf16; memory
LINK = "100 GbE"
COUNTS = (1, 8, 64)


def rows():
    for preset in ("mlm", "chinese"):
        with open(os.path.join(HERE, preset + ".json"), encoding="utf-8") as f:
            file = json.load(f)
        c = file["config"]
        shape = (c["num_hidden_layers"], c["hidden_size"], c["intermediate_size"], c["vocab_size"])
        for row in file["rows"]:
            o = {**file["options"], **row.get("options", {})}
            scaling.LENGTH = o["max_length"]
            tokens = o["tokens_per_batch"] * o["gradient_accumulation_steps"]
            yield preset, row["name"], o["max_length"], tokens, o["max_steps"], scaling.parameters(shape), scaling.arithmetic(shape)


def main():
    print(f"{'':<24} {'':>6} {'tokens of':>9} {'':>8} {'s/update':>9}  hours of all updates, nodes x cores, {LINK}")
    print(f"{'preset':<9} {'row':<14} {'length':>6} {'an update':>9} {'updates':>8} {'2 cores':>9}", end="")
    print("".join(f" {f'{k} x {node}':>14}" for node in NODES for k in COUNTS))
    for preset, name, length, tokens, updates, parameters, arithmetic in rows():
        first = scaling.step(parameters, tokens * arithmetic / NODES["2 cores"][0], 20e9, scaling.LINKS[LINK], 1)[1]
        print(f"{preset:<9} {name:<14} {length:>6} {tokens:>9} {updates:>8} {first:>9.1f}", end="")
        for speed, memory in NODES.values():
            for k in COUNTS:
                second = scaling.step(parameters, tokens * arithmetic / speed / k, memory, scaling.LINKS[LINK], k)[1]
                print(f" {second * updates / 3600:>14,.0f}", end="")
        print()


if __name__ == "__main__":
    main()
