/* llama.h — the rows that LLaMA, Mistral, Qwen2, Qwen3 and Gemma 3 share.                Touvron et al. 2023 (LLaMA)
 *
 * Pre-norm layers (bert_layer.c) without token types: norms of the root mean square, rotary positions in halves, H
 * heads of queries that share G heads of keys and values, each of D = head_dim columns, a gated feed-forward layer.
 *
 *     h_0     = word[id]
 *     q, k, v = norm(h) W_q, norm(h) W_k, norm(h) W_v                      [N, H D], [N, G D], [N, G D]
 *     h       = h + softmax(R(m) q (R(n) k)^T / sqrt D) v W_o              over the tokens up to m
 *     h       = h + (act(x W_g) * (x W_u)) W_d,    x = norm(h)
 *     logits  = norm(h_L) word^T, or with a matrix of its own, lm_head
 *     labels  = norm(h_L) W                        of a text's last token that is not pad_token_id; of tokens with b */
#ifndef RF_MODEL_FAMILIES_LLAMA_H
#define RF_MODEL_FAMILIES_LLAMA_H

#include "model/layers/bert_layer.h"
#include "model/layers/llama_layer.h"
#include "store/store.h"

/* scale: ONES, or ZEROS for norms that are scaled by 1 + w. */
#define RF_LLAMA_EMBEDDING(scale)                                                                                      \
    RF_TENSOR(rf_bert_embedding, word, "embed_tokens.weight", "VE", NORMAL, true, RF_ROW_WORDS),                       \
    RF_TENSOR(rf_bert_embedding, last, "norm.weight", "C", scale, false, 0)
#define RF_LLAMA_QKV(scale)                                                                                            \
    RF_BERT_ROW("input_layernorm.weight", "C", scale, false, 0, norm),                                                 \
    RF_BERT_ROW("self_attn.q_proj.weight", "qC", NORMAL, true, 0, qkv),                                                \
    RF_BERT_ROW("self_attn.k_proj.weight", "kC", NORMAL, true, RF_ROW_JOINED, qkv),                                    \
    RF_BERT_ROW("self_attn.v_proj.weight", "kC", NORMAL, true, RF_ROW_JOINED, qkv)
#define RF_LLAMA_BIAS(when, name, shape, flags, member)                                                                \
    RF_TENSOR_WHEN(when, rf_bert_layer, member, name, shape, ZEROS, false, flags)
#define RF_LLAMA_QKV_BIAS(when)                                                                                        \
    RF_LLAMA_BIAS(when, "self_attn.q_proj.bias", "q", 0, qkv_bias),                                                    \
    RF_LLAMA_BIAS(when, "self_attn.k_proj.bias", "k", RF_ROW_JOINED, qkv_bias),                                        \
    RF_LLAMA_BIAS(when, "self_attn.v_proj.bias", "k", RF_ROW_JOINED, qkv_bias)
/* Those of families that have the keys attention_bias and mlp_bias. */
#define RF_LLAMA_ATTENTION_BIAS                                                                                        \
    RF_LLAMA_QKV_BIAS(rf__when_attention_bias),                                                                        \
    RF_LLAMA_BIAS(rf__when_attention_bias, "self_attn.o_proj.bias", "C", 0, out_bias)
#define RF_LLAMA_MLP_BIAS                                                                                              \
    RF_LLAMA_BIAS(rf__when_mlp_bias, "mlp.gate_proj.bias", "F", RF_ROW_GATED, up_bias),                                \
    RF_LLAMA_BIAS(rf__when_mlp_bias, "mlp.up_proj.bias", "F", RF_ROW_GATED | RF_ROW_JOINED, up_bias),                  \
    RF_LLAMA_BIAS(rf__when_mlp_bias, "mlp.down_proj.bias", "C", 0, down_bias)
#define RF_LLAMA_BIAS_KEY(member) RF_CONFIG_KEY(member, TRUTH, 0, 0, 1, 0)
#define RF_LLAMA_HEAD_NORMS(scale)                                                                                     \
    RF_BERT_ROW("self_attn.q_norm.weight", "D", scale, false, 0, query_norm),                                          \
    RF_BERT_ROW("self_attn.k_norm.weight", "D", scale, false, 0, key_norm)
#define RF_LLAMA_OUT RF_BERT_ROW("self_attn.o_proj.weight", "Cq", NORMAL, true, 0, out)
#define RF_LLAMA_FEED                                                                                                  \
    RF_BERT_ROW("mlp.gate_proj.weight", "FC", NORMAL, true, RF_ROW_GATED, up),                                         \
    RF_BERT_ROW("mlp.up_proj.weight", "FC", NORMAL, true, RF_ROW_GATED | RF_ROW_JOINED, up),                           \
    RF_BERT_ROW("mlp.down_proj.weight", "CF", NORMAL, true, 0, down)

/* What comes after the heads, except in ESMC and Gemma 3, whose norms are elsewhere. */
#define RF_LLAMA_AFTER_HEADS                                                                                           \
    RF_LLAMA_OUT, RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2), RF_LLAMA_FEED

/* Classes whose names differ by the family only. */
#define RF_LLAMA_CLASSES(family)                                                                                       \
    {RF_HEAD_MLM, family "ForCausalLM", true, false},                                                                  \
    {RF_HEAD_SEQUENCE, family "ForSequenceClassification", false, false},                                              \
    {RF_HEAD_TOKEN, family "ForTokenClassification", false, false},                                                    \
    {RF_HEAD_EMBED, family "ForSentenceEmbedding", false, true}

/* Keys of config.json; those that layers of this kind cannot honor are missing. */
#define RF_LLAMA_KEYS                                                                                                  \
    RF_LACKS(embedding_size),                                                                                          \
    RF_LACKS(type_vocab_size),                                                                                         \
    RF_LACKS(layer_norm_eps),                                                                                          \
    RF_LACKS(attention_probs_dropout_prob),                                                                            \
    RF_LACKS(rotary_value),                                                                                            \
    RF_USUAL(hidden_dropout_prob, 0, RF_KEY_OURS),                                                                     \
    RF_USUAL(classifier_dropout, 0, RF_KEY_OURS),                                                                      \
    RF_FIXED(normalize_before, TRUTH, 1),                                                                              \
    RF_FIXED(rope_interleave, TRUTH, 0),                                                                               \
    RF_FIXED(partial_rotary_factor, NUMBER, 1),                                                                        \
    RF_USUAL_AS("rms_norm_eps", layer_norm_eps, 1e-6, 0),                                                              \
    RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0, 0),                                              \
    RF_USUAL(pad_token_id, -1, 0)

/* The same for models that are always causal. */
#define RF_LLAMA_CAUSAL RF_FIXED(is_decoder, TRUTH, 1)

/* Those of Qwen2 and Qwen3, without head_dim. */
#define RF_QWEN_KEYS                                                                                                   \
    RF_LLAMA_KEYS,                                                                                                     \
    RF_LLAMA_CAUSAL,                                                                                                   \
    RF_USUAL(vocab_size, 151936, 0),                                                                                   \
    RF_USUAL(hidden_size, 4096, 0),                                                                                    \
    RF_USUAL(intermediate_size, 22016, 0),                                                                             \
    RF_USUAL(num_hidden_layers, 32, 0),                                                                                \
    RF_USUAL(num_attention_heads, 32, 0),                                                                              \
    RF_USUAL(num_key_value_heads, 32, 0),                                                                              \
    RF_USUAL(max_position_embeddings, 32768, 0),                                                                       \
    RF_USUAL(rope_theta, 10000, 0),                                                                                    \
    RF_USUAL(tie_word_embeddings, 0, 0),                                                                               \
    RF_USUAL_AS("sliding_window", local_attention, -1, RF_KEY_NULL)

/* Rows of `known` that every causal model has, and those that only Qwen's models have. */
#define RF_LLAMA_KNOWN                                                                                                 \
    RF_ONLY("use_bidirectional_attention", "false", "tokens see earlier ones alone"),                                  \
    RF_IDLE("layer_types", "read by rf__llama_read"),                                                                  \
    RF_ONE_POSITION
#define RF_QWEN_KNOWN                                                                                                  \
    RF_IDLE("use_sliding_window", "read by rf__qwen_read"),                                                            \
    RF_IDLE("max_window_layers", "read by rf__qwen_read"),                                                             \
    RF_LLAMA_KNOWN

/* The row of a causal model whose tables have the usual names. */
#define RF_LLAMA(name_, title_) RF_LLAMA_READ_BY(name_, title_, rf__llama_read, rf__llama_write)
#define RF_LLAMA_READ_BY(name_, title_, reads, writes)                                                                 \
    .config = {.name = name_, .model_type = name_, .title = title_, .key = keys, .known = known,                       \
               .read = reads, .write = writes, .class = classes, .position = "rotary",                                 \
               .usual_act = RF_ACT_SILU, .one_width = true},                                                           \
    .norm = RF_NORM_RMS, RF_LLAMA_LAYER(rf__llama_heads)

/* The part of a family's row that all have. */
#define RF_LLAMA_LAYER(heads)                                                                                          \
    .prefix = "model.", .layers = "layers.", .gated = true, .gate = RF_GATE_FIRST, .head = heads,                      \
    .silent = rf__llama_silent, .finish = rf__bert_finish, .embedding = embedding, .layer = layer, RF_BERT_LAYER

#endif
