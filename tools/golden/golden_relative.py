#!/usr/bin/env python3
"""Makes tests/golden/relative but its whole models (golden_wholes.py): attention layers with relative positions and what
transformers computes with them, tables of buckets and slopes.  The tests need none of this.  The formats are described in
tests/golden/README.md.

    python tools/golden/golden_relative.py     # with transformers 5: all but NEZHA and Transformer-XL, which it dropped;
                                        # with transformers 4.57: these two

TUPE, KERPLE and Sandwich are in no version: theirs come from the printed formulas, in einsums.
"""
import torch
import transformers

import golden

ROOT = golden.GOLDEN / "relative"
H, D = 3, 8
C = H * D


class File:
    """One file: lines of a name, the rank, the extents and the numbers."""

    def __init__(self, name, seed):
        torch.manual_seed(seed)
        self.name, self.lines = name, []

    def put(self, name, value):
        value = torch.as_tensor(value)
        form = "{:.9g}" if value.dtype == torch.float32 else "{:.15g}" if value.is_floating_point() else "{}"
        words = golden.numbers(value.flatten().tolist(), form)
        self.lines.append(" ".join([name, str(value.dim()), *map(str, value.shape), words]))
        return value.double() if value.is_floating_point() else value

    def random(self, name, *shape, gain=1.0):
        """Numbers that float32 has."""
        return self.put(name, gain * torch.randn(*shape))

    def layer(self, T, *, bias, gain=1.4):
        """Hidden states and the matrices of query, key and value: attention is neither flat nor one-hot."""
        hidden = self.random("hidden", T, C)
        w = {x: self.random(f"{x}.weight", C, C, gain=(1.0 if x == "value" else gain) / C ** 0.5) for x in ("query", "key", "value")}
        b = {x: self.random(f"{x}.bias", C, gain=0.2) if bias else None for x in w}
        return hidden, w, b

    def end(self):
        ROOT.mkdir(parents=True, exist_ok=True)
        path = ROOT / f"{self.name}.txt"
        golden.write_lines(path, [golden.made_with("float64 on the CPU"), *self.lines, "end"])
        print(f"{self.name:24} {path.stat().st_size:8} bytes")


def load(linear, weight, bias=None):
    linear.weight.copy_(weight)
    if bias is not None:
        linear.bias.copy_(bias)


def identity(linear):
    """The layer's answer is then the context."""
    linear.weight.copy_(torch.eye(linear.weight.shape[0]))
    if linear.bias is not None:
        linear.bias.zero_()


def future(T):
    """Minus infinity, nearly, where n > m."""
    return torch.full((T, T), torch.finfo(torch.float64).min, dtype=torch.float64).triu(1)


def heads(x):
    return x.reshape(x.shape[0], -1, D)


def project(hidden, w, b):
    return (heads(hidden @ w[x].T + (0 if b[x] is None else b[x])) for x in ("query", "key", "value"))


# ---- transformers 5 ------------------------------------------------------------------------------------------------------

def t5():
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    f = File("t5_buckets", 1)
    offsets = f.put("offset", torch.arange(-300, 301))
    for two_sided in (True, False):
        for buckets, distance in ((32, 128), (32, 512), (16, 64), (8, 20), (64, 256)):
            f.put(f"{'both' if two_sided else 'past'}/{buckets}/{distance}",
                  T5Attention._relative_position_bucket(offsets, two_sided, buckets, distance))
    f.end()
    for causal in (False, True):
        f = File("t5_causal" if causal else "t5", 2 + causal)
        T = 33
        hidden, w, b = f.layer(T, bias=False, gain=0.5)         # scores are not divided by sqrt D
        config = T5Config(d_model=C, d_kv=D, num_heads=H, relative_attention_num_buckets=f.put("buckets", 12).item(),
                          relative_attention_max_distance=f.put("distance", 24).item(), is_decoder=causal,
                          attn_implementation="eager")
        a = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
        for name in ("query", "key", "value"):
            load(getattr(a, name[0]), w[name])
        identity(a.o)
        a.relative_attention_bias.weight.copy_(f.random("relative_attention_bias.weight", 12, H))
        f.put("context", a(hidden[None], mask=future(T)[None, None] if causal else None)[0][0])
        f.end()


def alibi():
    from transformers.models.bloom.configuration_bloom import BloomConfig
    from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor
    from transformers.models.mpt.configuration_mpt import MptConfig
    from transformers.models.mpt.modeling_mpt import MptAttention, build_mpt_alibi_tensor

    f = File("alibi_slopes", 10)
    mpt = lambda n: -build_mpt_alibi_tensor(n, 2)[:, 0, 0]
    for n in [*range(1, 17), 20, 24, 32, 40]:
        bloom = build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), n, torch.float32)[:, 0, 1]
        assert torch.allclose(bloom, mpt(n), rtol=1e-6), n
        f.put(f"heads/{n}", bloom)
    f.end()

    f, T = File("alibi_causal", 11), 25
    hidden, w, b = f.layer(T, bias=True)
    a = BloomAttention(BloomConfig(hidden_size=C, n_head=H), layer_idx=0).double().eval()
    for to, from_ in ((a.query_key_value.weight, w), (a.query_key_value.bias, b)):
        to.copy_(torch.stack([from_[x].reshape(H, D, -1) for x in w], 1).reshape(to.shape))
    identity(a.dense)
    f.put("context", a(hidden[None], torch.zeros(1, T, C).double(), build_alibi_tensor(torch.ones(1, T, dtype=torch.long), H, torch.float64),
                       future(T)[None, None])[0][0])
    f.end()

    f = File("alibi", 12)
    hidden, w, b = f.layer(T, bias=False)
    a = MptAttention(MptConfig(d_model=C, n_heads=H), layer_idx=0).double().eval()
    a.Wqkv.weight.copy_(torch.cat([w[x] for x in w]))
    identity(a.out_proj)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    f.put("context", a(hidden[None], -mpt(H).double()[:, None, None] * distance, attention_mask=None)[0][0])
    f.end()


def xlnet():
    from transformers.models.xlnet.configuration_xlnet import XLNetConfig
    from transformers.models.xlnet.modeling_xlnet import XLNetModel

    for name, seed, clamp, segments in (("xlnet", 20, -1, True), ("xlnet_clamped", 21, 5, True), ("xlnet_plain", 22, -1, False)):
        f, T = File(name, seed), 21
        hidden, w, b = f.layer(T, bias=False)
        model = XLNetModel(XLNetConfig(vocab_size=4, d_model=C, n_layer=1, n_head=H, d_inner=8, attn_type="bi", clamp_len=clamp)).double().eval()
        a = model.layer[0].rel_attn
        for x in w:
            getattr(a, x[0]).copy_(w[x].T.reshape(C, H, D))
        a.r.copy_(f.random("relative.weight", C, C, gain=1 / C ** 0.5).T.reshape(C, H, D))
        for x in ("r_w_bias", "r_r_bias", "r_s_bias"):
            getattr(a, x).copy_(f.random(x, H, D, gain=0.5))
        a.seg_embed.copy_(f.random("seg_embed", 2, H, D))
        f.put("clamp_len", clamp)
        matrix = None
        if segments:
            types = f.put("types", (torch.rand(T) < 0.5).long())
            matrix = torch.nn.functional.one_hot((types[:, None] != types[None, :]).long(), 2).double()[:, :, None]
        a.post_attention = lambda h, context, residual=True: context
        r = model.relative_positional_encoding(T, T, bsz=1).double()
        f.put("context", a(hidden[:, None], None, None, None, r, matrix)[0][:, 0].reshape(T, C))
        f.end()


def deberta():
    from transformers.models.deberta_v2.configuration_deberta_v2 import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, make_log_bucket_position

    f = File("deberta_buckets", 30)
    offsets = f.put("offset", torch.arange(-600, 601))
    for buckets, farthest in ((256, 512), (32, 128), (16, 40), (4, 10), (128, 512)):
        f.put(f"both/{buckets}/{farthest}", make_log_bucket_position(offsets, buckets, farthest).long())
    f.end()

    cases = (("deberta", "c2p|p2c", -1, 8, 21), ("deberta_far", "c2p|p2c", -1, 30, 21), ("deberta_log", "c2p|p2c", 8, 20, 29))
    for seed, (name, kinds, buckets, farthest, T) in enumerate(cases, 31):
        f = File(name, seed)
        hidden, w, b = f.layer(T, bias=True)
        f.put("position_buckets", buckets), f.put("max_relative_positions", farthest)
        config = DebertaV2Config(hidden_size=C, num_attention_heads=H, relative_attention=True, pos_att_type=kinds, share_att_key=False,
                                 position_buckets=buckets, max_relative_positions=farthest, max_position_embeddings=64)
        a = DisentangledSelfAttention(config).double().eval()
        for x in w:
            load(getattr(a, f"{x}_proj"), w[x], b[x])
        span = buckets if buckets > 0 else farthest
        table = torch.nn.functional.layer_norm(f.random("rel_embeddings.weight", 2 * span, C), (C,), f.random("LayerNorm.weight", C, gain=0.7),
                                               f.random("LayerNorm.bias", C, gain=0.3), f.put("layer_norm_eps", torch.tensor(1e-7, dtype=torch.float64)).item())
        for kind, x in (("c2p", "pos_key_proj"), ("p2c", "pos_query_proj")):
            if kind in kinds:
                load(getattr(a, x), f.random(f"{x}.weight", C, C, gain=1 / C ** 0.5), f.random(f"{x}.bias", C, gain=0.2))
        f.put("context", a(hidden[None], torch.ones(1, 1, T, T), rel_embeddings=table)[0][0])
        f.end()


def shaw_keys():
    from transformers.models.wav2vec2_bert.configuration_wav2vec2_bert import Wav2Vec2BertConfig
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

    f, T, K = File("shaw_keys", 40), 21, 6
    hidden, w, b = f.layer(T, bias=True)
    config = Wav2Vec2BertConfig(hidden_size=C, num_attention_heads=H, position_embeddings_type="relative_key",
                                left_max_position_embeddings=K, right_max_position_embeddings=K, attn_implementation="eager")
    a = Wav2Vec2BertSelfAttention(config).double().eval()
    for x in w:
        load(getattr(a, f"linear_{x[0]}"), w[x], b[x])
    identity(a.linear_out)
    f.put("max_relative_position", K)
    a.distance_embedding.weight.copy_(f.random("relative_keys.weight", 2 * K + 1, D))
    f.put("context", a(hidden[None])[0][0])
    f.end()


# ---- by the printed formulas ---------------------------------------------------------------------------------------------

def context(scores, v):
    return torch.einsum("hmn,nhd->mhd", torch.softmax(scores, -1), v).reshape(v.shape[0], -1)


def sandwich():
    f, T, width = File("sandwich", 50), 21, 16
    hidden, w, b = f.layer(T, bias=True)
    q, k, v = project(hidden, w, b)
    angle = torch.arange(T).double()[:, None] * 10000.0 ** (-2 * torch.arange(1, width // 2 + 1).double() / f.put("sandwich_width", width))
    p = torch.cat([angle.sin(), angle.cos()], 1)                 # its products are the sums of cosines
    ratio = 8 * torch.arange(1, H + 1).double() / H
    f.put("context", context(torch.einsum("mhd,nhd->hmn", q, k) / D ** 0.5 + (p @ p.T)[None] / ratio[:, None, None], v))
    f.end()


def kerple():
    for kind, seed in (("log", 51), ("power", 52)):
        f, T = File(f"kerple_{kind}", seed), 21
        hidden, w, b = f.layer(T, bias=True)
        q, k, v = project(hidden, w, b)
        scale, rate = (f.random(x, H, gain=0.7).exp()[:, None, None] for x in ("bias_scale", "bias_rate"))
        distance = (torch.arange(T)[:, None] - torch.arange(T)).abs().double()
        bias = torch.log1p(rate * distance) if kind == "log" else distance ** rate
        f.put("context", context(torch.einsum("mhd,nhd->hmn", q, k) / D ** 0.5 - scale * bias, v))
        f.end()


def tupe():
    from transformers.models.t5.modeling_t5 import T5Attention

    f, T = File("tupe", 53), 25
    hidden, w, b = f.layer(T, bias=True)
    q, k, v = project(hidden, w, b)
    p = f.random("position_embeddings.weight", T, C)
    eps = f.put("layer_norm_eps", torch.tensor(1e-5, dtype=torch.float64)).item()
    p = torch.nn.functional.layer_norm(p, (C,), 1 + f.random("position_norm.weight-1", C, gain=0.2), f.random("position_norm.bias", C, gain=0.2), eps)
    u, t = (heads(p @ f.random(f"position_{x}.weight", C, C, gain=1 / C ** 0.5).T) for x in ("query", "key"))
    table = f.random("relative_attention_bias.weight", f.put("buckets", 12).item(), H)
    bucket = T5Attention._relative_position_bucket(torch.arange(T)[None] - torch.arange(T)[:, None], True, 12, f.put("distance", 18).item())
    place = torch.einsum("mhd,nhd->hmn", u, t) / (2 * D) ** 0.5 + table[bucket].permute(2, 0, 1)
    place[:, :, 0] = f.random("all_to_cls", H)[:, None]
    place[:, 0, :] = f.random("cls_to_all", H)[:, None]
    f.put("context", context(torch.einsum("mhd,nhd->hmn", q, k) / (2 * D) ** 0.5 + place, v))
    f.end()


# ---- transformers 4.57 ---------------------------------------------------------------------------------------------------

def nezha():
    from transformers.models.deprecated.nezha.configuration_nezha import NezhaConfig
    from transformers.models.deprecated.nezha.modeling_nezha import NezhaSelfAttention

    class Learned(torch.nn.Module):
        """Rows of learned tables in the fixed one's place: of keys when first asked, then of values."""

        def __init__(self, tables, rows):
            super().__init__()
            self.left, self.rows = list(tables), rows

        def forward(self, length):
            return self.left.pop(0)[self.rows]

    for name, seed in (("nezha", 60), ("shaw", 61)):
        f, T, K = File(name, seed), 21, 6
        hidden, w, b = f.layer(T, bias=True)
        f.put("max_relative_position", K)
        a = NezhaSelfAttention(NezhaConfig(hidden_size=C, num_attention_heads=H, max_position_embeddings=32, max_relative_position=K))
        a = a.double().eval()
        for x in w:
            load(getattr(a, x), w[x], b[x])
        if name == "shaw":
            rows = (torch.arange(T)[None] - torch.arange(T)[:, None]).clamp(-K, K) + K
            a.relative_positions_encoding = Learned([f.random(f"relative_{x}.weight", 2 * K + 1, D) for x in ("keys", "values")], rows)
        f.put("context", a(hidden[None])[0][0])
        f.end()


def transformer_xl():
    from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import PositionalEmbedding, RelPartialLearnableMultiHeadAttn

    f, T = File("transformer_xl_causal", 62), 23
    hidden, w, b = f.layer(T, bias=False)
    a = RelPartialLearnableMultiHeadAttn(H, C, D, 0.0).eval()           # in float32: it masks with that type's least number
    a.qkv_net.weight.copy_(torch.cat([w[x] for x in w]))
    a.r_net.weight.copy_(f.random("relative.weight", C, C, gain=1 / C ** 0.5))
    a.r_w_bias.copy_(f.random("r_w_bias", H, D, gain=0.5))
    a.r_r_bias.copy_(f.random("r_r_bias", H, D, gain=0.5))
    seen = []
    a.o_net.register_forward_pre_hook(lambda _, x: seen.append(x[0]))
    mask = torch.ones(T, T).triu(1)
    a(hidden[:, None].float(), PositionalEmbedding(C)(torch.arange(T - 1.0, -1, -1)), attn_mask=mask[:, :, None])
    f.put("context", seen[0][:, 0])
    f.end()


@torch.no_grad()
def main():
    golden.quiet()
    new = (t5, alibi, xlnet, deberta, shaw_keys, sandwich, kerple, tupe)
    for make in new if transformers.__version__ >= "5" else (nezha, transformer_xl):
        make()


if __name__ == "__main__":
    main()
