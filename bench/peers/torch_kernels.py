"""PyTorch's parts: attention (scaled_dot_product_attention, without any rotation; and as written down), and the rotation
of q and k (transformers' own code; as complex numbers).  12 heads of 64.  Arguments: which of the two, and "bf16" for
attention in that type instead of f32."""
import sys
from peer import *
import torch
from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how = sys.argv[1] if len(sys.argv) > 1 else "fused"
type = torch.bfloat16 if "bf16" in sys.argv else torch.float32
WIDE = WIDTH // HEADS

@torch.inference_mode()
def attention(case):
    (batch,) = lengths_of(case)
    q, k, v = (torch.randn(len(batch), HEADS, batch[0], WIDE, dtype=type) for _ in range(3))
    if how == "fused":
        run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)
    else:
        run = lambda: torch.softmax(q @ k.transpose(-1, -2) / 8, -1) @ v
    median, best = timed(run, case.get("seconds", 3))
    return row(case, median, best, sum(4 * T * T * WIDTH for T in batch), sum(batch))

@torch.inference_mode()
def rope(case):
    """shape: TOKENSx12x64, one tensor turned (transformers turns q and k in one call: half of its time is counted)."""
    tokens = int(case["shape"].split("x")[0])
    q, k = (torch.randn(1, HEADS, tokens, WIDE) for _ in range(2))
    if how == "fused":
        angle = torch.polar(torch.ones(tokens, WIDE // 2), torch.rand(tokens, WIDE // 2))
        turn = lambda x: torch.view_as_real(torch.view_as_complex(x.view(*x.shape[:-1], -1, 2)) * angle).flatten(-2)
        run = lambda: (turn(q), turn(k))
    else:
        table = torch.randn(1, 1, tokens, WIDE)
        run = lambda: RoFormerSelfAttention.apply_rotary_position_embeddings(table, q, k)
    median, best = timed(run, case.get("seconds", 3))
    return row(case, median / 2, best / 2, 0, tokens, 2 * q.numel() * 4)

name = {"fused": "torch sdpa, complex", "eager": "transformers eager"}[how] + (" bf16" if type == torch.bfloat16 else "")
serve(name, f"torch {torch.__version__}", attention=attention, rope=rope)
