#!/usr/bin/env python3
"""roformer and transformers' generate produce the same texts, alternating: 64 prompts of mixed lengths, greedy.

    bench/generate.py --python build/peers/v/bin/python [--layers 12 --width 768] [--new 64] [--rounds 3]

transformers makes the model (random weights) and pads the prompts on the left to one batch; ours is bench_generate,
which reads the same folder and prompts.  Each round runs both, in an order that changes; waiting programs are stopped.  The
last line compares the tokens: they must be the same up to the first position at which the two best logits of
transformers, in f32 over the whole text, differ by less than --margin."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from compare import HERE, Peer

MAKE = """
import sys, torch
from transformers import RoFormerConfig, RoFormerForCausalLM
folder, layers, width, words = sys.argv[1], *map(int, sys.argv[2:])
torch.manual_seed(0)
RoFormerForCausalLM(RoFormerConfig(vocab_size=words, embedding_size=width, hidden_size=width, num_hidden_layers=layers,
                    num_attention_heads=width // 64, intermediate_size=4 * width, max_position_embeddings=1536,
                    is_decoder=True)).save_pretrained(folder)
"""


def prompts(path, count, shortest, longest, words):
    draw = random.Random(1)
    with open(path, "w") as out:
        for _ in range(count):
            print(*(draw.randrange(200, words) for _ in range(draw.randint(shortest, longest))), file=out)


def ours(o, folder, ids):
    done = subprocess.run([o.bench, "--model", folder, "--ids", ids, "--new", str(o.new), "--batch", str(o.prompts),
                           "--type", o.type, "--threads", str(o.threads)] + ["--busy"] * o.busy,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    first, *lines = done.stdout.splitlines()
    return dict(json.loads(first), made=[[int(x) for x in line.split()] for line in lines])


def compare(ours, theirs, margins, margin):
    """The number of texts that are equal up to the first close decision; the number of compared positions; how many decisions are close."""
    same = compared = close = positions = 0
    for a, b, m in zip(ours, theirs, margins):
        until = next((i for i, x in enumerate(m) if x < margin), len(m))
        same += a[:until] == b[:until]
        compared += until
        close += sum(x < margin for x in m)
        positions += len(m)
    return same, compared, close, positions


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", default=os.path.join(HERE, "..", "build", "release", "bench", "bench_generate"))
    p.add_argument("--python", default=os.path.join(HERE, "..", "build", "peers", "v", "bin", "python"))
    p.add_argument("--type", choices=["f32", "bf16"], default="f32")
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--width", type=int, default=768)
    p.add_argument("--words", type=int, default=32000, help="tokens of the vocabulary")
    p.add_argument("--prompts", type=int, default=64)
    p.add_argument("--lengths", type=int, nargs=2, default=[8, 256])
    p.add_argument("--new", type=int, default=64, help="tokens behind each prompt")
    p.add_argument("--margin", type=float, default=1e-3)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--busy", action="store_true",
                   help="on a machine that others use: one thread, the processor's time, the least of all rounds")
    o = p.parse_args()
    o.threads = 1 if o.busy else o.threads
    with tempfile.TemporaryDirectory() as folder:
        ids = os.path.join(folder, "ids.txt")
        model = os.path.join(folder, "model")
        subprocess.run([o.python, "-c", MAKE, model, str(o.layers), str(o.width), str(o.words)], check=True,
                       stderr=subprocess.DEVNULL)
        prompts(ids, o.prompts, *o.lengths, o.words)
        peer = Peer("torch_generate.py " + o.type, o.python, o.threads)
        if not peer.about:
            sys.exit("generate.py: torch_generate.py did not start (bench/peers/setup.sh makes what it needs)")
        seen = []
        for r in range(o.rounds):
            case = dict(bench="generate", model=model, ids=ids, new=o.new, first=r == 0, busy=o.busy,
                        margins=r == 0 and o.type == "f32")
            turns = {"roformer": lambda: ours(o, model, ids), "transformers": lambda: peer.turn(case)}
            got = {name: turns[name]() for name in (list(turns) if r % 2 == 0 else list(turns)[::-1])}
            if "error" in got["transformers"]:
                sys.exit(got["transformers"]["error"])
            seen.append(got)
        peer.end()
    middle = min if o.busy else statistics.median
    a, b = seen[0]["roformer"], seen[0]["transformers"]
    print(f"{o.layers} layers of {o.width}, {o.words} words, {o.type}; {peer.about['version']}")
    print(f"{o.prompts} prompts of {o.lengths[0]} to {o.lengths[1]} tokens ({a['prompt_tokens']}), {o.new} new ones "
          f"each, {o.threads} threads, {o.rounds} rounds" + ", processor's time" * o.busy)
    for name in ("roformer", "transformers"):
        s = middle(x[name]["seconds"] for x in seen)
        print(f"{name:14} {s:8.2f} s {a['tokens'] / s:10.0f} new tokens/s")
    ratio = (min(x["transformers"]["seconds"] for x in seen) / min(x["roformer"]["seconds"] for x in seen) if o.busy else
             statistics.median(x["transformers"]["seconds"] / x["roformer"]["seconds"] for x in seen))
    print(f"ratio          {ratio:8.2f} x")
    if "margins" in b:
        same, compared, close, positions = compare(a["made"], b["made"], b["margins"], o.margin)
        print(f"tokens: {same} of {o.prompts} texts the same up to their first close position ({compared} positions)")
        print(f"close: the two best logits differ by less than {o.margin:g} at {close} of {positions} positions "
              f"({100 * close / positions:.2f} %)")
        sys.exit(same != o.prompts)


if __name__ == "__main__":
    main()
