#!/usr/bin/env python3
"""Makes the whole models of tests/golden/relative: models of transformers with other positions than RoFormer's, their weights by
RoFormer's names, and what transformers computes with them.  The tests need none of this; tests/golden/README.md has the formats.

    python tools/golden/golden_wholes.py            # with transformers 5: all but NEZHA and Transformer-XL, which it dropped;
                                             # with transformers 4.57: these two
    python tools/golden/golden_wholes.py bloom      # only the models whose names begin so

How much of each model is transformers':

    bert, nezha, deberta    all: their blocks and heads are RoFormer's, weights go over by names.
    mpnet                   all.  T5's bias in BERT's blocks; <q,k> / sqrt D there, so ours has W_q / sqrt D.  Its learned positions, which
                            RoFormer does not combine with a bias, are zero.
    xlnet, transformer_xl   all up to the last hidden state.  They have no norm of words: their table holds norm(word) of ours.
    bloom                   all up to the last hidden state, with its own option apply_residual_connection_post_layernorm.  A residual then
                            begins after a norm, so its norms are those of a post-norm model, each counted to the block after it: ours of
                            block l is its input_layernorm of block l + 1, ln_f is ours of the last.  Its first norm, of words, has
                            weight 1 and bias 0 and changes nothing in front of the second (epsilon is 1e-12).
    t5, mpt                 only the attention, T5Attention and MptAttention with all their parameters, in the blocks of transformers'
                            RoFormer: T5's own blocks have norms of squares in front and no biases, MPT's norms in front.

Where the model ends at hidden states, the head is RoFormerOnlyMLMHead of transformers.
"""
import contextlib
import sys
import types

import torch
import transformers
from safetensors.torch import save_file

import golden
from golden_models import make

ROOT = golden.GOLDEN / "relative"
SIZES = dict(vocab_size=67, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=64)
OURS = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings", "hidden_act",
        "layer_norm_eps", "max_relative_position", "max_relative_positions", "position_buckets", "share_att_key")
LENGTHS, PADDED = (1, 2, 7, 20, 45), (3, 27, 1, 12)


def keep(name, seed, generator, model, kind, tensors, lengths=LENGTHS, **keys):
    """The folder that this program reads: weights, config.json and the answers."""
    c, folder = model.config, golden.fresh(ROOT / name)
    config = {"architectures": ["RoFormerForMaskedLM"], "model_type": "roformer", "position_embedding_type": kind,
              "type_vocab_size": max(1, c.type_vocab_size), "embedding_size": c.hidden_size,
              **{k: getattr(c, k) for k in OURS if hasattr(c, k)}, **keys}
    if getattr(c, "is_decoder", False):
        config.update(architectures=["RoFormerForCausalLM"], is_decoder=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    golden.write_config(folder / "config.json", config)
    golden.finish(folder, golden.write_cases(folder, model, lengths, PADDED, generator, seed, full=False))


# ---- models whose weights go over by their names -------------------------------------------------------------------------

def our_name(name):
    family, rest = name.split(".", 1)
    name = f"roformer.{rest}" if family in ("bert", "nezha", "deberta") else name
    for x in ("query", "key", "value"):
        name = name.replace(f".self.{x}_proj.", f".self.{x}.")
    return name


def by_names(name, seed, model, kind):
    generator = torch.Generator().manual_seed(seed)
    model = model.eval()
    golden.randomize(model, generator)
    tensors = {our_name(k): v.clone() for k, v in model.state_dict().items() if ".decoder." not in k and "position_ids" not in k and v.is_floating_point()}
    if model.config.type_vocab_size == 0:                        # one type whose vector is zero
        tensors["roformer.embeddings.token_type_embeddings.weight"] = torch.zeros(1, model.config.hidden_size)
    keep(name, seed, generator, model, kind, tensors)


def bert_model(name):
    from transformers import BertConfig, BertForMaskedLM

    by_names(name, 70, BertForMaskedLM(BertConfig(**SIZES)), "absolute")


def deberta(name, seed, **keys):
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM

    config = DebertaV2Config(**SIZES, relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False, norm_rel_ebd="layer_norm",
                             hidden_act="gelu", **keys)
    by_names(name, seed, DebertaV2ForMaskedLM(config), "deberta")


def deberta_model(name):
    deberta(name, 71, share_att_key=False, type_vocab_size=2, max_relative_positions=10)


def deberta_log_model(name):
    deberta(name, 72, share_att_key=False, type_vocab_size=0, position_buckets=16)


def deberta_v3_model(name):
    """As the published DeBERTa-v3 checkpoints are, but for their size."""
    deberta(name, 74, share_att_key=True, type_vocab_size=0, position_buckets=16, max_relative_positions=-1, layer_norm_eps=1e-7)


def nezha_model(name):
    from transformers.models.deprecated.nezha.configuration_nezha import NezhaConfig
    from transformers.models.deprecated.nezha.modeling_nezha import NezhaForMaskedLM

    by_names(name, 73, NezhaForMaskedLM(NezhaConfig(**SIZES, max_relative_position=9, use_relative_position=True)), "nezha")


# ---- models whose weights are RoFormer's in another order ----------------------------------------------------------------

class Frame:
    """A RoFormer of transformers with random weights.  `tensors` are what the folder gets; what follows copies them into the other model,
    and sets with `put` the parameters that only that model has."""

    def __init__(self, seed, without=(), **config):
        self.seed, self.generator = seed, torch.Generator().manual_seed(seed)
        self.model = make(dict(SIZES, num_hidden_layers=3, type_vocab_size=1, **config), self.generator)
        c = self.config = self.model.config
        self.H, self.C, self.D = c.num_attention_heads, c.hidden_size, c.hidden_size // c.num_attention_heads
        self.embeddings, self.layers = self.model.roformer.embeddings, self.model.roformer.encoder.layer
        self.embeddings.token_type_embeddings.weight.zero_()
        for layer in self.layers:
            a = layer.attention
            for name, linear in (("query", a.self.query), ("key", a.self.key), ("value", a.self.value), ("output", a.output.dense)):
                if name in without:
                    linear.bias.zero_()
        self.tensors = {k: v.clone() for k, v in self.model.state_dict().items() if "embed_positions" not in k and ".decoder." not in k}

    def random(self, *shape, gain):
        return gain * torch.randn(shape, generator=self.generator)

    def put(self, name, value, layer=None):
        name = f"roformer.encoder.{name}" if layer is None else f"roformer.encoder.layer.{layer}.attention.self.{name}"
        self.tensors[name] = value.clone().contiguous()
        return value

    def end(self, name, model, kind, **keys):
        keep(name, self.seed, self.generator, model.eval(), kind, self.tensors, **keys)


@contextlib.contextmanager
def casts_in_double(on):
    """Where a model itself casts to float32, float64 stays: so the script sees all of float32's rounding."""
    single = torch.Tensor.float
    if on:
        torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.Tensor.float = single


class Whole(torch.nn.Module):
    """hidden(input_ids, attention_mask, token_type_ids) of another model's body, and RoFormer's head."""

    def __init__(self, frame, body, hidden):
        super().__init__()
        self.config, self.body, self.cls, self.hidden = frame.config, body, frame.model.cls, hidden

    def forward(self, input_ids, attention_mask, token_type_ids, labels=None, **_):
        double = self.cls.predictions.bias.dtype == torch.float64
        with casts_in_double(double):
            h = self.hidden(self.body, input_ids, attention_mask, token_type_ids)
        logits = self.cls(h)
        loss = None if labels is None else torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return types.SimpleNamespace(hidden_states=[h], logits=logits, loss=loss)


def same(to, linear):
    to.weight.copy_(linear.weight)
    if linear.bias is not None:
        to.bias.copy_(linear.bias)


def xlnet_model(name, seed=74, clamp=-1, causal=False):
    from transformers import XLNetConfig, XLNetModel

    f = Frame(seed, without=("key", "value", "output"), is_decoder=causal, layer_norm_eps=1e-12)
    c, three = f.config, lambda w: w.T.reshape(f.C, f.H, f.D)
    net = XLNetModel(XLNetConfig(vocab_size=c.vocab_size, d_model=f.C, n_layer=c.num_hidden_layers, n_head=f.H, d_inner=c.intermediate_size,
                                 ff_activation=c.hidden_act, attn_type="uni" if causal else "bi", clamp_len=clamp, layer_norm_eps=c.layer_norm_eps))
    net.word_embedding.weight.copy_(f.embeddings.LayerNorm(f.embeddings.word_embeddings.weight))
    for l, (to, ours) in enumerate(zip(net.layer, f.layers)):
        a, u = to.rel_attn, ours.attention.self.query.bias.reshape(f.H, f.D)
        for x in ("query", "key", "value"):
            getattr(a, x[0]).copy_(three(getattr(ours.attention.self, x).weight))
        a.o.copy_(ours.attention.output.dense.weight.reshape(f.C, f.H, f.D))
        a.r.copy_(three(f.put("relative_key.weight", f.random(f.C, f.C, gain=1 / f.C ** 0.5), l)))
        a.r_w_bias.copy_(u)
        a.r_r_bias.copy_(u + f.put("relative_bias", f.random(f.H, f.D, gain=0.5), l))
        a.r_s_bias.copy_(u + f.put("segment_bias", f.random(f.H, f.D, gain=0.5), l))
        a.seg_embed.copy_(f.put("segment_embeddings.weight", f.random(2, f.C, gain=1.0), l).reshape(2, f.H, f.D))
        same(a.layer_norm, ours.attention.output.LayerNorm), same(to.ff.layer_1, ours.intermediate.dense)
        same(to.ff.layer_2, ours.output.dense), same(to.ff.layer_norm, ours.output.LayerNorm)
    seen = lambda mask: None if causal else mask                 # its causal mask takes no batch of another; padding comes last anyway
    model = Whole(f, net, lambda net, ids, mask, kinds: net(ids, attention_mask=seen(mask), token_type_ids=kinds, use_mems=False).last_hidden_state)
    f.config.type_vocab_size = 2                                 # types are segments; nothing is added to words
    f.tensors["roformer.embeddings.token_type_embeddings.weight"] = torch.zeros(2, f.C)
    f.end(name, model, "xlnet", clamp_len=clamp)


def xlnet_causal_model(name):
    xlnet_model(name, 75, clamp=6, causal=True)


def transformer_xl_model(name):
    from transformers.models.deprecated.transfo_xl.configuration_transfo_xl import TransfoXLConfig
    from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import TransfoXLModel

    f = Frame(76, without=("key", "value", "output"), is_decoder=True, hidden_act="relu", layer_norm_eps=1e-5)
    c = f.config
    net = TransfoXLModel(TransfoXLConfig(vocab_size=c.vocab_size, cutoffs=[], d_model=f.C, d_embed=f.C, n_head=f.H, d_head=f.D, div_val=1,
                                         d_inner=c.intermediate_size, n_layer=c.num_hidden_layers, mem_len=0, same_length=False, clamp_len=-1, untie_r=True,
                                         pre_lnorm=False, layer_norm_epsilon=c.layer_norm_eps))
    net.word_emb.emb_layers[0].weight.copy_(f.embeddings.LayerNorm(f.embeddings.word_embeddings.weight) / f.C ** 0.5)   # it multiplies by that
    for l, (to, ours) in enumerate(zip(net.layers, f.layers)):
        a, own, u = to.dec_attn, ours.attention.self, ours.attention.self.query.bias.reshape(f.H, f.D)
        a.qkv_net.weight.copy_(torch.cat([own.query.weight, own.key.weight, own.value.weight]))
        a.o_net.weight.copy_(ours.attention.output.dense.weight)
        a.r_net.weight.copy_(f.put("relative_key.weight", f.random(f.C, f.C, gain=1 / f.C ** 0.5), l))
        a.r_w_bias.copy_(u)
        a.r_r_bias.copy_(u + f.put("relative_bias", f.random(f.H, f.D, gain=0.5), l))
        same(a.layer_norm, ours.attention.output.LayerNorm), same(to.pos_ff.CoreNet[0], ours.intermediate.dense)
        same(to.pos_ff.CoreNet[3], ours.output.dense), same(to.pos_ff.layer_norm, ours.output.LayerNorm)
    type_as = torch.Tensor.type_as

    def hidden(net, ids, mask, kinds):
        """The last version of this class calls type_as(dtype=...), which no tensor has: for this call it has."""
        torch.Tensor.type_as = lambda x, other=None, dtype=None: type_as(x, other) if dtype is None else x.to(dtype)
        try:
            return net(ids).last_hidden_state
        finally:
            torch.Tensor.type_as = type_as

    f.end(name, Whole(f, net, hidden), "transformer_xl")


def bloom_model(name):
    from transformers import BloomConfig, BloomModel

    f = Frame(77, is_decoder=True, hidden_act="gelu_new", intermediate_size=4 * SIZES["hidden_size"], layer_norm_eps=1e-12)
    c = f.config
    net = BloomModel(BloomConfig(vocab_size=c.vocab_size, hidden_size=f.C, n_layer=c.num_hidden_layers, n_head=f.H, layer_norm_epsilon=c.layer_norm_eps,
                                 apply_residual_connection_post_layernorm=True))
    net.word_embeddings.weight.copy_(f.embeddings.word_embeddings.weight)
    norms = [f.embeddings.LayerNorm, *(ours.output.LayerNorm for ours in f.layers)]
    for to, norm in zip([*(block.input_layernorm for block in net.h), net.ln_f], norms):
        same(to, norm)
    for to, ours in zip(net.h, f.layers):
        own = [getattr(ours.attention.self, x) for x in ("query", "key", "value")]
        qkv = to.self_attention.query_key_value
        qkv.weight.copy_(torch.stack([x.weight.reshape(f.H, f.D, f.C) for x in own], 1).reshape(3 * f.C, f.C))
        qkv.bias.copy_(torch.stack([x.bias.reshape(f.H, f.D) for x in own], 1).flatten())
        same(to.self_attention.dense, ours.attention.output.dense), same(to.post_attention_layernorm, ours.attention.output.LayerNorm)
        same(to.mlp.dense_h_to_4h, ours.intermediate.dense), same(to.mlp.dense_4h_to_h, ours.output.dense)
    f.end(name, Whole(f, net, lambda net, ids, mask, kinds: net(ids, attention_mask=mask, use_cache=False).last_hidden_state), "alibi")


def mpnet_model(name):
    from transformers import MPNetConfig, MPNetForMaskedLM

    f = Frame(78, hidden_size=32, num_attention_heads=2, max_position_embeddings=200, layer_norm_eps=1e-12)    # sqrt 16: a shift of exponents
    c = f.config
    net = MPNetForMaskedLM(MPNetConfig(vocab_size=c.vocab_size, hidden_size=f.C, num_hidden_layers=c.num_hidden_layers, num_attention_heads=f.H,
                                       intermediate_size=c.intermediate_size, hidden_act="gelu", max_position_embeddings=c.max_position_embeddings,
                                       layer_norm_eps=c.layer_norm_eps))
    same(net.mpnet.embeddings.LayerNorm, f.embeddings.LayerNorm)
    net.mpnet.embeddings.word_embeddings.weight.copy_(f.embeddings.word_embeddings.weight)
    net.mpnet.embeddings.position_embeddings.weight.zero_()
    net.mpnet.encoder.relative_attention_bias.weight.copy_(f.put("relative_attention_bias.weight", f.random(32, f.H, gain=1.0)))
    for l, (to, ours) in enumerate(zip(net.mpnet.encoder.layer, f.layers)):
        for x in ("query", "key", "value"):
            same(getattr(to.attention.attn, x[0]), getattr(ours.attention.self, x))
        same(to.attention.attn.o, ours.attention.output.dense), same(to.attention.LayerNorm, ours.attention.output.LayerNorm)
        same(to.intermediate.dense, ours.intermediate.dense), same(to.output.dense, ours.output.dense), same(to.output.LayerNorm, ours.output.LayerNorm)
        for part in ("weight", "bias"):
            f.tensors[f"roformer.encoder.layer.{l}.attention.self.query.{part}"] /= f.D ** 0.5
    head = f.model.cls.predictions
    same(net.lm_head.dense, head.transform.dense), same(net.lm_head.layer_norm, head.transform.LayerNorm)
    net.lm_head.bias.copy_(head.bias)
    net.tie_weights()

    class Native(torch.nn.Module):
        """With RoFormer's config, and without types."""

        def __init__(self):
            super().__init__()
            self.config, self.net = c, net

        def forward(self, token_type_ids, **call):
            return self.net(**call)

    f.end(name, Native(), "t5", relative_attention_num_buckets=32, relative_attention_max_distance=128, lengths=(1, 2, 7, 20, 160))


class Inside(torch.nn.Module):
    """Another model's attention where a layer of RoFormer has its own: context(attention, h, mask) with all its projections."""

    def __init__(self, attention, context):
        super().__init__()
        self.attention, self.context = attention, context

    def forward(self, hidden_states, attention_mask=None, **_):
        return self.context(self.attention, hidden_states, attention_mask), None


def inside(layer, attention, out, context):
    """`out` is the attention's own last projection: what stays of RoFormer's is the bias."""
    out.weight.copy_(layer.attention.output.dense.weight)
    layer.attention.output.dense.weight.copy_(torch.eye(out.weight.shape[0]))
    layer.attention.self = Inside(attention, context)


def t5_model(name, seed=79, causal=False):
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    f = Frame(seed, without=("query", "key", "value"), is_decoder=causal, layer_norm_eps=1e-6)
    config = T5Config(d_model=f.C, d_kv=f.D, num_heads=f.H, relative_attention_num_buckets=12, relative_attention_max_distance=24,
                      is_decoder=causal, attn_implementation="eager")
    table = f.put("relative_attention_bias.weight", f.random(12, f.H, gain=1.0))
    for l, layer in enumerate(f.layers):
        own = layer.attention.self
        own.query.weight /= f.D ** 0.5                           # scores are not divided
        f.tensors[f"roformer.encoder.layer.{l}.attention.self.query.weight"] = own.query.weight.clone()
        a = T5Attention(config, has_relative_attention_bias=True, layer_idx=l)
        for x in ("query", "key", "value"):
            same(getattr(a, x[0]), types.SimpleNamespace(weight=getattr(own, x).weight, bias=None))
        a.relative_attention_bias.weight.copy_(table)
        inside(layer, a, a.o, lambda a, h, mask: a(h, mask=mask)[0])
    f.end(name, f.model, "t5", relative_attention_num_buckets=12, relative_attention_max_distance=24)


def t5_causal_model(name):
    t5_model(name, 80, causal=True)


def mpt_model(name):
    """Six heads: slopes of 4 and every other one of 8.  MPT is causal; an encoder's penalty has both sides, of MPT's slopes."""
    from transformers.models.mpt.configuration_mpt import MptConfig
    from transformers.models.mpt.modeling_mpt import MptAttention, build_mpt_alibi_tensor

    f = Frame(81, without=("query", "key", "value"), num_attention_heads=6, layer_norm_eps=1e-5)
    slope = -build_mpt_alibi_tensor(f.H, 2)[:, 0, 0]

    def context(a, h, mask):
        n = torch.arange(h.shape[1])
        penalty = -slope.to(h.dtype)[:, None, None] * (n[:, None] - n).abs()
        with casts_in_double(h.dtype == torch.float64):
            return a(h, penalty, attention_mask=None if mask is None else mask < 0)[0]

    for layer in f.layers:
        own, a = layer.attention.self, MptAttention(MptConfig(d_model=f.C, n_heads=f.H), layer_idx=0)
        a.Wqkv.weight.copy_(torch.cat([own.query.weight, own.key.weight, own.value.weight]))
        inside(layer, a, a.out_proj, context)
    f.end(name, f.model, "alibi")


@torch.no_grad()
def main():
    golden.quiet()
    new = (bert_model, deberta_model, deberta_log_model, deberta_v3_model, xlnet_model, xlnet_causal_model, bloom_model, mpnet_model, t5_model,
           t5_causal_model, mpt_model)
    for one in new if transformers.__version__ >= "5" else (nezha_model, transformer_xl_model):
        if not sys.argv[1:] or any(one.__name__.startswith(x) for x in sys.argv[1:]):
            torch.manual_seed(0)
            one(one.__name__)


if __name__ == "__main__":
    main()
