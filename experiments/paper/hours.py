#!/usr/bin/env python3
"""hours.py [ROFORMER] — seconds an update and hours of this folder's pre-training.  results/paper.txt is its output.

    seconds   ROFORMER, the program, times a training step of each row's model on one batch (bench train, bf16, 2 threads); an update is as many
              as it accumulates.  AdamW, once an update, is in each of them: less than 1 %.  Without it: arithmetic (bench/scaling.py) at the
              speed that a training step of the base shape reaches (results/bf16.txt)
    nodes     those seconds divided by the nodes, and the network's terms, by the model of docs/scaling.md; 64 cores: 32 times as fast, assumed
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
import scaling  # noqa: E402

SPEED = 336.3e9  # training step, bf16, two cores
NODES = {"2 cores": (1, 20e9), "64 cores": (32, 300e9)}  # how many times as fast; memory
LINK = "100 GbE"
COUNTS = (1, 8, 64)


def rows():
    for preset in ("mlm", "enwik8", "chinese"):
        with open(os.path.join(HERE, preset + ".json"), encoding="utf-8") as f:
            file = json.load(f)
        for row in file["rows"]:
            yield preset, row["name"], {**file["config"], **row.get("config", {})}, {**file["options"], **row.get("options", {})}


def batch_seconds(program, config, length, tokens):
    """Median of a training step on a batch of `tokens`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(config, f)
        f.flush()
        shape = f"{max(tokens // length, 1)}x{length}"
        out = subprocess.run([program, "bench", "train", "--config", f.name, "--shape", shape, "--dtype", "bf16", "--threads", "2", "--seconds", "1",
                              "--json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["rows"][0]["ms"] / 1e3 * tokens / (max(tokens // length, 1) * length)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else None
    known = {}
    print(f"{'':<24} {'':>6} {'tokens of':>9} {'':>8} {'s/update':>9}  hours of all updates, nodes x cores, {LINK}")
    print(f"{'preset':<9} {'row':<14} {'length':>6} {'an update':>9} {'updates':>8} {'2 cores':>9}", end="")
    print("".join(f" {f'{k} x {node}':>14}" for node in NODES for k in COUNTS))
    for preset, name, c, o in rows():
        shape = (c["num_hidden_layers"], c["hidden_size"], c["intermediate_size"], c["vocab_size"])
        parameters = scaling.parameters(shape)
        length, accumulated, updates = o["max_length"], o["gradient_accumulation_steps"], o["max_steps"]
        scaling.LENGTH = length
        if program:
            key = json.dumps([c, length, o["tokens_per_batch"]], sort_keys=True)
            if key not in known:
                known[key] = batch_seconds(program, c, length, o["tokens_per_batch"])
            seconds = known[key] * accumulated
        elif c.get("attention_type"):
            continue  # not that model's arithmetic
        else:
            seconds = o["tokens_per_batch"] * accumulated * scaling.arithmetic(shape) / SPEED
        print(f"{preset:<9} {name:<14} {length:>6} {o['tokens_per_batch'] * accumulated:>9} {updates:>8} {seconds:>9.1f}", end="")
        for faster, memory in NODES.values():
            for k in COUNTS:
                each = scaling.step(parameters, seconds / faster / k, memory, scaling.LINKS[LINK], k)[1]
                print(f" {each * updates / 3600:>14,.0f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
