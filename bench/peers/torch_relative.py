"""PyTorch's attention with relative positions, as transformers' models compute it, without projections of words: the same work as
bench/bench_relative.c.  12 heads of 64, f32, forward; and forward with backward when asked ("both": true).

    echo '{"bench": "relative/shaw", "shape": "4x512"}' | python torch_relative.py
    python torch_relative.py all                # every encoding at 4x512 and 8x128, a line each

Cases: none, alibi, t5, shaw (keys and values), shaw_keys (BERT's relative_key), shaw_both (relative_key_query), nezha, transformer_xl,
xlnet, deberta.  Tables are made in each call, as the models do: that is "with tables" of bench_relative."""
import io
import math
import sys
from peer import *
import torch

torch.set_num_threads(THREADS)
torch.manual_seed(0)
WIDE = WIDTH // HEADS
CLIP = 64                                                       # NEZHA's and Shaw's; bench_relative's default


def heads(x):
    return x.view(*x.shape[:-1], HEADS, WIDE).transpose(-2, -3)


def attend(scores, v):
    return torch.softmax(scores, -1) @ v


def offsets(T):
    """n - m"""
    place = torch.arange(T)
    return place[None, :] - place[:, None]


def none(T):
    return lambda q, k, v: attend(q @ k.transpose(-1, -2) / math.sqrt(WIDE), v)


def alibi(T):
    """BLOOM, MPT: the bias is added to all scores."""
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
    slopes = -build_mpt_alibi_tensor(HEADS, 2)[:, 0, 0]

    def run(q, k, v):
        bias = -slopes[:, None, None] * offsets(T).abs()
        return attend(torch.baddbmm(bias.repeat(len(q), 1, 1), q.flatten(0, 1), k.flatten(0, 1).transpose(-1, -2),
                                    alpha=1 / math.sqrt(WIDE)).view(len(q), HEADS, T, T), v)
    return run


def t5(T):
    """T5Attention.compute_bias, and scores without a scale."""
    from transformers.models.t5.modeling_t5 import T5Attention
    table = torch.randn(32, HEADS, requires_grad=True)

    def run(q, k, v):
        bucket = T5Attention._relative_position_bucket(offsets(T), True, 32, 128)
        return attend(q @ k.transpose(-1, -2) + table[bucket].permute(2, 0, 1)[None], v)
    return run


def shaw(T, values=True, queries=False):
    """BERT's relative_key and relative_key_query; with values as Shaw et al."""
    keys, of_values = (torch.randn(2 * CLIP + 1, WIDE, requires_grad=True) for _ in range(2))

    def run(q, k, v):
        row = offsets(T).clamp(-CLIP, CLIP) + CLIP
        a = torch.nn.functional.embedding(row, keys)
        scores = q @ k.transpose(-1, -2) + torch.einsum("bhld,lrd->bhlr", q, a)
        if queries:
            scores = scores + torch.einsum("bhrd,lrd->bhlr", k, a)
        p = torch.softmax(scores / math.sqrt(WIDE), -1)
        return p @ v + (torch.einsum("bhlr,lrd->bhld", p, torch.nn.functional.embedding(row, of_values)) if values else 0)
    return run


def nezha(T):
    """NezhaSelfAttention: rows of a fixed table [T,T,D], for keys and for values, by its permutations."""
    place, i = torch.arange(2 * CLIP + 1.0)[:, None], torch.arange(0, WIDE, 2)
    table = torch.zeros(2 * CLIP + 1, WIDE)
    table[:, 0::2], table[:, 1::2] = (f(place * torch.exp(i * (-math.log(10000.0) / WIDE))) for f in (torch.sin, torch.cos))
    longest = table[offsets(T).clamp(-CLIP, CLIP) + CLIP]       # kept by the model

    def run(q, k, v):
        B = len(q)
        turned = q.permute(2, 0, 1, 3).contiguous().view(T, B * HEADS, WIDE)
        by_offset = torch.matmul(turned, longest.permute(0, 2, 1)).view(T, B, HEADS, T).permute(1, 2, 0, 3)
        p = torch.softmax((q @ k.transpose(-1, -2) + by_offset) / math.sqrt(WIDE), -1)
        turned = p.permute(2, 0, 1, 3).contiguous().view(T, B * HEADS, T)
        return p @ v + torch.matmul(turned, longest).view(T, B, HEADS, WIDE).permute(1, 2, 0, 3)
    return run


def transformer_xl(T, segments=False):
    """XLNetRelativeAttention.rel_attn_core with its rel_shift_bnij; the waves' projection included."""
    from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention
    shift = XLNetRelativeAttention.rel_shift_bnij
    w = (torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5).requires_grad_()
    u, own, s = (torch.randn(HEADS, 1, WIDE, requires_grad=True) for _ in range(3))
    segment = torch.randn(2, HEADS, WIDE, requires_grad=True)
    angle = torch.arange(T, -T, -1.0)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2.0) / WIDTH)
    other = torch.nn.functional.one_hot((torch.arange(T)[:, None] % 2 != torch.arange(T) % 2).long(), 2).float()

    def run(q, k, v):
        r = heads(torch.cat([angle.sin(), angle.cos()], -1) @ w.T)
        scores = (q + u) @ k.transpose(-1, -2) + shift((q + own) @ r.transpose(-1, -2), klen=T)
        if segments:
            scores = scores + torch.einsum("ijs,bnis->bnij", other, torch.einsum("bnid,snd->bnis", q + s, segment))
        return attend(scores / math.sqrt(WIDE), v)
    return run


def deberta(T):
    """DisentangledSelfAttention.disentangled_attention_bias: all rows of the table times a key, then a gather."""
    span = 512
    table = torch.randn(2 * span, WIDTH, requires_grad=True)
    w = [(torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5).requires_grad_() for _ in range(2)]
    b = [torch.randn(WIDTH, requires_grad=True) for _ in range(2)]

    def run(q, k, v):
        B, scale = len(q), math.sqrt(3 * WIDE)
        e = torch.nn.functional.layer_norm(table, (WIDTH,))
        pos_key, pos_query = (heads(torch.nn.functional.linear(e, *x)).repeat(B, 1, 1) for x in zip(w, b))
        rows = (-offsets(T)).clamp(-span, span - 1) + span
        q, k = q.flatten(0, 1), k.flatten(0, 1)
        index = rows[None].expand(len(q), T, T)
        c2p = torch.gather(q @ pos_key.transpose(-1, -2), -1, index)
        p2c = torch.gather(k @ pos_query.transpose(-1, -2), -1, rows.T[None].expand(len(q), T, T)).transpose(-1, -2)
        scores = (q @ k.transpose(-1, -2) + c2p + p2c) / scale
        return attend(scores.view(B, HEADS, T, T), v)
    return run


KINDS = dict(none=none, alibi=alibi, t5=t5, shaw=shaw, shaw_keys=lambda T: shaw(T, False), shaw_both=lambda T: shaw(T, False, True), nezha=nezha,
             transformer_xl=transformer_xl, xlnet=lambda T: transformer_xl(T, True), deberta=deberta)


def answer(case):
    (batch,) = lengths_of(case)
    T, B = batch[0], len(batch)
    run = KINDS[case["bench"].removeprefix("relative/")](T)
    both = bool(case.get("both"))
    q, k, v = (torch.randn(B, HEADS, T, WIDE, requires_grad=both) for _ in range(3))
    gradient = torch.randn(B, HEADS, T, WIDE)

    def forward():
        with torch.inference_mode():
            run(q, k, v)

    median, best = timed((lambda: run(q, k, v).backward(gradient)) if both else forward, case.get("seconds", 3))
    return {**row(case, median, best, (3 if both else 1) * 4 * B * T * T * WIDTH, B * T), "what": "both ways" if both else "with tables"}


if len(sys.argv) > 1 and sys.argv[1] == "all":
    sys.stdin = io.StringIO("".join(json.dumps(dict(bench=f"relative/{kind}", shape=shape, both=both, seconds=float(os.environ.get("SECONDS_EACH", "3")))) + "\n"
                                    for shape in ("4x512", "8x128") for both in (False, True) for kind in KINDS))
serve("torch eager", f"torch {torch.__version__}", **{f"relative/{kind}": answer for kind in KINDS})
