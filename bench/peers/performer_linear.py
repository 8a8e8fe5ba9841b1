"""performer-pytorch's attention, the same work as bench/bench_linear.c: one sequence, 12 heads of 64, 256 random features (FAVOR+), f32,
rotated in its own order (queries and keys, before the map); forward, and forward with backward when asked ("both": true).

    echo '{"bench": "linear", "tokens": 4096, "causal": true}' | python performer_linear.py

Without its CUDA extension a causal pass goes through PyTorch's own operations and keeps a state for each token of a 128th of the text."""
from peer import *
import torch
from performer_pytorch.performer_pytorch import FastAttention, FixedPositionalEmbedding, apply_rotary_pos_emb

torch.set_num_threads(THREADS)
torch.manual_seed(0)
WIDE, FEATURES = WIDTH // HEADS, 256


def answer(case):
    T, both = case["tokens"], bool(case.get("both"))
    attention = FastAttention(WIDE, FEATURES, causal=bool(case.get("causal")))
    angles = FixedPositionalEmbedding(WIDE, T)(torch.zeros(1, T, WIDE))
    q, k, v = ((2 * torch.rand(1, HEADS, T, WIDE) - 1).requires_grad_(both) for _ in range(3))
    gradient = torch.randn(1, HEADS, T, WIDE)

    def run():
        return attention(*apply_rotary_pos_emb(q, k, angles), v)

    def forward():
        with torch.inference_mode():
            run()

    median, best = timed((lambda: run().backward(gradient)) if both else forward, case.get("seconds", 3))
    return row(case, median, best, tokens=T)


serve("performer-pytorch", f"torch {torch.__version__}", linear=answer)
