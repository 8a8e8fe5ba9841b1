/* seq2seq.c — an encoder and a decoder: tensors and keys as in transformers' MarianMTModel.
 *
 *     s = encoder(source),   h = decoder(target, s)                layers: bert_layer.c;  the rows are in their order
 *     logits = h word^T
 *
 * Source, target and logits share one table of words (share_encoder_decoder_embeddings and tie_word_embeddings, which
 * is usual), or the source has its own, or the logits, or each; BART and its kin have one table or three. Matrices are
 * initialized with normal numbers of variance 2 / (rows + columns), word embeddings with variance 1 / columns. */
#include "model/layers/seq2seq.h"
#include "store/store.h"

#define ROW(when, member, ...) RF_TENSOR_WHEN(rf__when_##when, rf_bert_embedding, member, __VA_ARGS__)
#define SOURCE                                                                                                         \
    ROW(shared_words, word, "shared.weight", "VE", WIDTH, true, RF_ROW_WORDS),                                         \
    ROW(separate_words, word, "encoder.embed_tokens.weight", "VE", WIDTH, true, RF_ROW_WORDS),                         \
    ROW(before, last, "encoder.layer_norm.weight", "C", ONES, false, 0),                                               \
    ROW(before, last_bias, "encoder.layer_norm.bias", "C", ZEROS, false, 0)
#define TARGET                                                                                                         \
    ROW(separate_words, word, "decoder.embed_tokens.weight", "VE", WIDTH, true, RF_ROW_WORDS),                         \
    ROW(before, last, "decoder.layer_norm.weight", "C", ONES, false, 0),                                               \
    ROW(before, last_bias, "decoder.layer_norm.bias", "C", ZEROS, false, 0)
#define NORMED(side)                                                                                                   \
    RF_TENSOR(rf_bert_embedding, norm, side ".layernorm_embedding.weight", "C", ONES, false, 0),                       \
    RF_TENSOR(rf_bert_embedding, norm_bias, side ".layernorm_embedding.bias", "C", ZEROS, false, 0)
const rf_family_row rf__rows_source_embeddings[] = {SOURCE, {{0}, 0}};
const rf_family_row rf__rows_source_normed[] = {SOURCE, NORMED("encoder"), {{0}, 0}};
static const rf_family_row target_words[] = {TARGET, {{0}, 0}};
static const rf_family_row target_normed[] = {TARGET, NORMED("decoder"), {{0}, 0}};
#undef NORMED
#undef TARGET
#undef SOURCE
#undef ROW

#define SELF                                                                                                           \
    RF_BERT_ROW("self_attn.q_proj.weight", "CC", GLOROT, true, 0, qkv),                                                \
    RF_BERT_ROW("self_attn.k_proj.weight", "CC", GLOROT, true, RF_ROW_JOINED, qkv),                                    \
    RF_BERT_ROW("self_attn.v_proj.weight", "CC", GLOROT, true, RF_ROW_JOINED, qkv),                                    \
    RF_BERT_ROW("self_attn.q_proj.bias", "C", ZEROS, false, 0, qkv_bias),                                              \
    RF_BERT_ROW("self_attn.k_proj.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                                  \
    RF_BERT_ROW("self_attn.v_proj.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                                  \
    RF_BERT_ROW("self_attn.out_proj.weight", "CC", GLOROT, true, 0, out),                                              \
    RF_BERT_ROW("self_attn.out_proj.bias", "C", ZEROS, false, 0, out_bias),                                            \
    RF_BERT_ROW("self_attn_layer_norm.weight", "C", ONES, false, 0, norm),                                             \
    RF_BERT_ROW("self_attn_layer_norm.bias", "C", ZEROS, false, 0, norm_bias)
#define CROSS                                                                                                          \
    RF_BERT_ROW("encoder_attn.q_proj.weight", "CC", GLOROT, true, 0, cross_query),                                     \
    RF_BERT_ROW("encoder_attn.q_proj.bias", "C", ZEROS, false, 0, cross_query_bias),                                   \
    RF_BERT_ROW("encoder_attn.k_proj.weight", "CC", GLOROT, true, 0, cross_keys),                                      \
    RF_BERT_ROW("encoder_attn.v_proj.weight", "CC", GLOROT, true, RF_ROW_JOINED, cross_keys),                          \
    RF_BERT_ROW("encoder_attn.k_proj.bias", "C", ZEROS, false, 0, cross_keys_bias),                                    \
    RF_BERT_ROW("encoder_attn.v_proj.bias", "C", ZEROS, false, RF_ROW_JOINED, cross_keys_bias),                        \
    RF_BERT_ROW("encoder_attn.out_proj.weight", "CC", GLOROT, true, 0, cross_out),                                     \
    RF_BERT_ROW("encoder_attn.out_proj.bias", "C", ZEROS, false, 0, cross_out_bias),                                   \
    RF_BERT_ROW("encoder_attn_layer_norm.weight", "C", ONES, false, 0, cross_norm),                                    \
    RF_BERT_ROW("encoder_attn_layer_norm.bias", "C", ZEROS, false, 0, cross_norm_bias)
#define FEED_FORWARD                                                                                                   \
    RF_BERT_ROW("fc1.weight", "FC", GLOROT, true, 0, up),                                                              \
    RF_BERT_ROW("fc1.bias", "F", ZEROS, false, 0, up_bias),                                                            \
    RF_BERT_ROW("fc2.weight", "CF", GLOROT, true, 0, down),                                                            \
    RF_BERT_ROW("fc2.bias", "C", ZEROS, false, 0, down_bias),                                                          \
    RF_BERT_ROW("final_layer_norm.weight", "C", ONES, false, 0, norm2),                                                \
    RF_BERT_ROW("final_layer_norm.bias", "C", ZEROS, false, 0, norm2_bias)
const rf_family_row rf__rows_source_layer[] = {SELF, FEED_FORWARD, {{0}, 0}};
static const rf_family_row target_layer[] = {SELF, CROSS, FEED_FORWARD, {{0}, 0}};

const rf_family_decoder rf__seq2seq_decoder = {"decoder.layers.", target_words, target_layer,
                                              offsetof(rf_bert_embedding, word)};
const rf_family_decoder rf__seq2seq_normed_decoder = {"decoder.layers.", target_normed, target_layer,
                                                     offsetof(rf_bert_embedding, word)};

/* Heads of BART and mBART. */
const rf_family_row rf__rows_biased_words[] = {
    RF_HEAD_UNTIED("lm_head.weight", GLOROT),
    RF_HEAD_ROW("final_logits_bias", "1V", ZEROS, false, RF_ROW_FLAT | RF_ROW_MAY_LACK, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_text_labels[] = {
    RF_HEAD_ROW("classification_head.dense.weight", "CC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("classification_head.dense.bias", "C", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("classification_head.out_proj.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("classification_head.out_proj.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

/* Tables that are computed, and copies of tied tensors, in older folders. */
const rf_silent rf__seq2seq_silent[] = {
    {"encoder.embed_positions.weight", NULL},
    {"decoder.embed_positions.weight", NULL},
    {"encoder.embed_tokens.weight", "share_encoder_decoder_embeddings"},
    {"decoder.embed_tokens.weight", "share_encoder_decoder_embeddings"},
    {"lm_head.weight", "tie_word_embeddings"},
    {0},
};

/* The same of BART and its relatives: positions are learned, or computed by their classes. */
const rf_silent rf__seq2seq_silent_words[] = {
    {"encoder.embed_tokens.weight", "tie_word_embeddings"},
    {"decoder.embed_tokens.weight", "tie_word_embeddings"},
    {"lm_head.weight", "tie_word_embeddings"},
    {"shared.weight", NULL},
    {"encoder.embed_positions.weights", NULL},
    {"decoder.embed_positions.weights", NULL},
    {0},
};

/* Keys of older files of BART and its relatives, which no class reads. */
const rf_known_key rf__bart_known[] = {
    RF_IDLE("normalize_before", "the class has its own order of norms"),
    RF_IDLE("normalize_embedding", "the class decides"),
    RF_IDLE("add_final_layer_norm", "the class decides"),
    RF_IDLE("add_bias_logits", "the class decides"),
    RF_IDLE("classif_dropout", "an older name, not read"),
    RF_IDLE("extra_pos_embeddings", "the class decides"),
    RF_IDLE("static_position_embeddings", "the class decides"),
    RF_IDLE("do_blenderbot_90_layernorm", "of another class"),
    RF_IDLE("force_bos_token_to_be_generated", "forced_bos_token_id says it"),
    {0},
};

/* BART and its relatives have all words in common, or each side and the logits their own. Where decoder_start_token_id
 * is null, generation of transformers begins with bos_token_id. */
rf_status rf__seq2seq_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *bos = json_object_get(root, "bos_token_id");
    c->share_encoder_decoder_embeddings = c->tie_word_embeddings;
    if (c->decoder_start_token_id >= 0) return RF_OK;
    if (bos && !json_is_null(bos) && !json_is_integer(bos))
        return rf__wrong_type(file, "bos_token_id", bos, "an integer", why);
    c->decoder_start_token_id = json_is_integer(bos) ? json_integer_value(bos) : 0;
    return RF_OK;
}
