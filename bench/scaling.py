#!/usr/bin/env python3
"""scaling.py — the model of docs/scaling.md as a table.  Prints; results/scaling.txt is its output.

    scaling.py                                          the table
    scaling.py check RATE DELAY FREE SHAPED GRADIENT    measurements of bench/shaped.sh compared with the model

    compute    tokens of a node's step x arithmetic of a token / speed of a node
    gradient   4 bytes a parameter, (R - 1) / R of it out of and into each node; overlapped with the backward pass except for the last bucket
    values     the same bytes back, not overlapped
    talk       five small gathers of log2 R messages
    text       every rank walks through all micro-batches of the step
    update     AdamW over 1 / R of the parameters
"""
import math
import sys

MODELS = {  # layers, width, feed-forward, vocabulary
    "base": (12, 768, 3072, 30522),
    "large": (24, 1024, 4096, 30522),
}
NODES = {  # GF/s that a training step reaches, memory GB/s
    "2 cores, f32, as measured for base": (185e9, 20e9),
    "64 cores, f32, assumed 32 x": (32 * 185e9, 300e9),
    "64 cores, bf16, assumed 2 x": (64 * 185e9, 300e9),
}
LINKS = {  # seconds of a message, bytes a second: assumed, as such links are found to give
    "10 GbE": (30e-6, 1.1e9),
    "100 GbE": (10e-6, 11e9),
    "200 Gb InfiniBand": (2e-6, 23e9),
}
TOKENS = 8192          # of a node's step: one micro-batch
LENGTH = 128           # of a piece
LABELS = 0.15          # share of the tokens whose logits are formed
SPAN = 1 << 16         # floats: what has one owner
BUCKET = 1 << 22
WALK = 20e-6           # seconds to walk through one micro-batch of another rank
HANDLE = 2e-6          # seconds of the processor for a message
PAYLOAD = 8948 / 9000  # of a packet on the links of shaped_link.c: the rest is IP and TCP


def parameters(m):
    layers, c, f, v = m
    return v * c + layers * (4 * c * c + 2 * c * f + 9 * c + f) + c * c + 6 * c + v


def arithmetic(m):
    """Operations per token, forward and backward: 6 for each weight of the layers, attention, and the head for its fraction of the tokens."""
    layers, c, f, v = m
    return 6 * layers * (4 * c * c + 2 * c * f) + 12 * layers * c * LENGTH + 6 * LABELS * (c * c + v * c)


def one_way(p, link, ranks):
    """Sends a gradient to its owners, or the values back."""
    latency, bandwidth = link
    if ranks == 1:
        return 0
    messages = min(p / SPAN, math.ceil(p / BUCKET) * (ranks - 1))
    return 4 * p * (ranks - 1) / ranks / bandwidth + messages * HANDLE + latency


def step(p, compute, memory, link, ranks):
    latency, bandwidth = link
    spans = p / SPAN
    away = (ranks - 1) / ranks
    gradient = one_way(p, link, ranks)
    behind = 2 / 3 * compute                              # the backward: all but the last bucket can leave meanwhile
    last = 4 * BUCKET * away / bandwidth
    values = gradient
    talk = 5 * math.ceil(math.log2(ranks)) * latency + 8 * spans / bandwidth if ranks > 1 else 0
    walk = (ranks - 1) * WALK
    update = 28 * p / ranks / memory
    shown = max(last, gradient - behind) if ranks > 1 else 0
    parts = {"gradient": shown, "values": values, "talk": talk, "text": walk, "update": update}
    return compute, compute + sum(parts.values()), parts


def table(name, node_name, link_name):
    m, (speed, memory), link = MODELS[name], NODES[node_name], LINKS[link_name]
    p = parameters(m)
    print(f"\n{name}, {node_name}, {link_name}: {p / 1e6:.0f} million parameters, {TOKENS} tokens a node")
    print(f"{'nodes':>6} {'step s':>9} {'tokens/s':>11} {'efficiency':>10}  {'gradient':>9} {'values':>9} {'text':>9}  limit")
    alone = step(p, TOKENS * arithmetic(m) / speed, memory, link, 1)[1]
    for k in (0, 1, 3, 6, 8, 10):
        ranks = 1 << k
        compute, whole, parts = step(p, TOKENS * arithmetic(m) / speed, memory, link, ranks)
        limit = max(parts, key=parts.get) if whole > 1.01 * compute else "compute"
        print(f"{ranks:>6} {whole:>9.3f} {ranks * TOKENS / whole:>11,.0f} {100 * alone / whole:>9.1f} %  {parts['gradient']:>9.4f} "
              f"{parts['values']:>9.4f} {parts['text']:>9.4f}  {limit}")


def check(rate, delay, free, shaped, seconds, millions):
    """2 ranks of 1,024 tokens of a model of 4 layers: FREE tokens a second without a link, SHAPED with it; `gradient` of mpi_link."""
    link = (delay, rate / 8 * PAYLOAD)
    p = parameters((4, 768, 3072, 30522))
    said, compute = 2 * one_way(millions * 1e6, link, 2), 2048 / free
    whole = step(p, compute, math.inf, link, 2)[1]          # the update is in compute already
    print(f"{rate / 1e6:,.0f} Mbit/s, {1e3 * delay:g} ms: gradient and values of {millions:.0f} million: {said:.2f} s said, {seconds:.2f} s measured "
          f"({seconds / said:.2f} x)")
    print(f"{rate / 1e6:,.0f} Mbit/s, {1e3 * delay:g} ms: step of {p / 1e6:.0f} million, 2 x 1,024 tokens: {whole:.2f} s said, {2048 / shaped:.2f} s measured "
          f"({2048 / shaped / whole:.2f} x)\n")


def main():
    if sys.argv[1:2] == ["check"]:
        return check(*(float(x) for word in sys.argv[2:] for x in word.split()))
    print(__doc__.strip().splitlines()[0])
    for name in MODELS:
        m = MODELS[name]
        print(f"{name}: {arithmetic(m) / 1e6:.0f} MFLOP a token", end="")
        for node_name, node in NODES.items():
            print(f"; {node_name}: {node[0] / arithmetic(m):,.0f} tokens/s", end="")
        print()
    for name in MODELS:
        for node_name in NODES:
            for link_name in LINKS:
                table(name, node_name, link_name)


if __name__ == "__main__":
    main()
