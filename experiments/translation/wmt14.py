#!/usr/bin/env python3
"""wmt14.py [BUILD] — seconds an update of the recipes wmt14_base and wmt14_big, and their hours on several nodes.

    seconds   BUILD/bench/bench_translation (default build/release): the processor's time of an update with one batch, one thread, bf16, random
              words of the lengths of Multi30k's pairs; an update of the recipe is 50,000 tokens, by as many tokens
    nodes     those seconds divided by the cores, assumed to be equally fast together, and the network's terms, by the model of docs/scaling.md
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import scaling  # noqa: E402

# layers, width, feed-forward, heads; tokens of the batch that is timed; updates
RECIPES = {"wmt14_base": (6, 512, 2048, 8, 8192, 100000), "wmt14_big": (6, 1024, 4096, 16, 4096, 300000)}
VOCABULARY, TOKENS = 37000, 50000
NODES = {"2 cores": (2, 20e9), "64 cores": (64, 300e9)}  # cores; memory's bytes a second
LINK, COUNTS = "100 GbE", (1, 8, 64)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release")
    print(f"{'':<11} {'million':>10} {'GFLOP/s':>8} {'s/update':>9}  hours of all updates, nodes x cores, {LINK}")
    print(f"{'recipe':<11} {'parameters':>10} {'a core':>8} {'1 core':>9} {'updates':>8}", end="")
    print("".join(f" {f'{k} x {node}':>13}" for node in NODES for k in COUNTS))
    for name, (layers, width, inner, heads, tokens, updates) in RECIPES.items():
        out = subprocess.run([os.path.join(build, "bench", "bench_translation"), "--type", "bf16", "--busy", "--json", "--steps", "1", "--tokens", str(tokens),
                              "--layers", str(layers), "--width", str(width), "--inner", str(inner), "--heads", str(heads), "--vocabulary", str(VOCABULARY),
                              "--pairs", os.path.join(ROOT, "bench", "peers", "pairs.txt")], check=True, stdout=subprocess.PIPE).stdout
        row = json.loads(out)
        seconds = TOKENS / row["tokens_per_second"]
        parameters = VOCABULARY * width + layers * (12 * width * width + 4 * width * inner)
        print(f"{name:<11} {parameters / 1e6:>10.1f} {row['gflops']:>8.1f} {seconds:>9.1f} {updates:>8}", end="")
        for cores, memory in NODES.values():
            for k in COUNTS:
                each = scaling.step(parameters, seconds / cores / k, memory, scaling.LINKS[LINK], k)[1]
                print(f" {each * updates / 3600:>13,.0f}", end="")
        print(flush=True)


main()
