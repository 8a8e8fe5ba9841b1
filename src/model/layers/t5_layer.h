/* t5_layer.h — what T5, mT5 and UMT5 share; see t5_layer.c. */
#ifndef RF_T5_LAYER_H
#define RF_T5_LAYER_H

#include "model/layers/bert_layer.h"

extern const rf_family_row rf__t5_embedding[], rf__t5_layer[];
extern const rf_family_decoder rf__t5_decoder;
extern const rf_head_row rf__t5_heads[];
extern const char *const rf__t5_words[];
extern const rf_spelling rf__t5_spelling[];
extern const rf_silent rf__t5_silent[];
extern const rf_config_alias rf__t5_aliases[];
extern const rf_known_key rf__t5_known[];
extern const rf_param_row rf__t5_bias_of_stack[], rf__t5_bias_of_layer[];

rf_tensor *rf__t5_finish(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_status rf__t5_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__t5_write(const rf_config *c, json_t **more);

#define RF_T5_CLASSES(family)                                                                                          \
    {RF_HEAD_SEQ2SEQ, family "ForConditionalGeneration", false, false},                                                \
    {RF_HEAD_SEQ2SEQ, family "WithLMHeadModel", false, false},                                                         \
    {RF_HEAD_SEQ2SEQ, family "Model", false, false},                                                                   \
    {RF_HEAD_SEQUENCE, family "ForSequenceClassification", false, false},                                              \
    {RF_HEAD_TOKEN, family "ForTokenClassification", false, false},                                                    \
    {RF_HEAD_SPAN, family "ForQuestionAnswering", false, false},                                                       \
    {RF_HEAD_EMBED, family "EncoderModel", false, false}

/* Keys under transformers' names. scales: the kind of scale_decoder_outputs, which mT5 does not have; gated: the
 * default. */
#define RF_T5_KEYS(vocab, inner, layers, heads, scales, gated)                                                         \
    RF_LACKS(attention_probs_dropout_prob),                                                                            \
    RF_LACKS(embedding_size),                                                                                          \
    RF_LACKS(hidden_dropout_prob),                                                                                     \
    RF_LACKS(hidden_size),                                                                                             \
    RF_LACKS(initializer_range),                                                                                       \
    RF_LACKS(intermediate_size),                                                                                       \
    RF_LACKS(layer_norm_eps),                                                                                          \
    RF_LACKS(max_position_embeddings),                                                                                 \
    RF_LACKS(num_attention_heads),                                                                                     \
    RF_LACKS(num_hidden_layers),                                                                                       \
    RF_LACKS(rotary_value),                                                                                            \
    RF_LACKS(type_vocab_size),                                                                                         \
    RF_USUAL(vocab_size, vocab, 0),                                                                                    \
    RF_USUAL(classifier_dropout, 0, RF_KEY_NULL),                                                                      \
    RF_USUAL(tie_word_embeddings, 1, 0),                                                                               \
    RF_USUAL(pad_token_id, 0, 0),                                                                                      \
    RF_CONFIG_KEY(relative_attention_num_buckets, WHOLE, 32, 2, 65536, 0),                                             \
    RF_CONFIG_KEY(relative_attention_max_distance, WHOLE, 128, 1, 1048576, 0),                                         \
    RF_USUAL_AS("d_model", hidden_size, 512, 0),                                                                       \
    RF_USUAL_AS("d_kv", head_dim, 64, 0),                                                                              \
    RF_USUAL_AS("d_ff", intermediate_size, inner, 0),                                                                  \
    RF_USUAL_AS("num_layers", num_hidden_layers, layers, 0),                                                           \
    RF_CONFIG_KEY_AS("num_decoder_layers", decoder_layers, WHOLE, layers, 1, 1024, RF_KEY_NULL),                       \
    RF_USUAL_AS("num_heads", num_attention_heads, heads, 0),                                                           \
    RF_USUAL_AS("dropout_rate", hidden_dropout_prob, 0.1, 0),                                                          \
    RF_USUAL_AS("layer_norm_epsilon", layer_norm_eps, 1e-6, 0),                                                        \
    RF_USUAL_AS("n_positions", max_position_embeddings, 512, RF_KEY_OURS),                                             \
    RF_CONFIG_KEY_AS("initializer_factor", initializer_range, NUMBER, 1, 0, 100, RF_KEY_OPEN_LOW),                     \
    RF_CONFIG_KEY(eos_token_id, WHOLE, 1, 0, 16777215, 0),                                                             \
    RF_CONFIG_KEY(decoder_start_token_id, WHOLE, 0, 0, 16777215, 0),                                                   \
    RF_CONFIG_KEY(is_encoder_decoder, TRUTH, 1, 0, 1, 0),                                                              \
    RF_CONFIG_KEY(is_gated_act, TRUTH, gated, 0, 1, 0),                                                                \
    RF_CONFIG_KEY(scale_decoder_outputs, scales, 1, 0, 1, 0),                                                          \
    RF_FIXED(decoder_vocab_size, WHOLE, -1),                                                                           \
    RF_FIXED(normalize_before, TRUTH, 1),                                                                              \
    RF_FIXED(query_pre_attn_scalar, WHOLE, 1),                                                                         \
    RF_FIXED(share_encoder_decoder_embeddings, TRUTH, 1)

/* The row of a family; bias: of_stack or of_layer. */
#define RF_T5(name_, title_, usual, member, bias)                                                                      \
    .config = {.name = name_, .model_type = name_, .title = title_, .key = keys, .alias = rf__t5_aliases,              \
               .known = rf__t5_known, .read = rf__t5_read, .write = rf__t5_write, .class = classes, .position = "t5",  \
               .one_width = true, .pairs = true, .endless = true, .head_in_file = "lm_head.weight",                    \
               .word_names = rf__t5_words, .act = "dense_act_fn", .usual_act = usual},                                 \
    .prefix = "", .label_prefix = "transformer.", .layers = "encoder.block.", .embedding = rf__t5_embedding,           \
    .layer = rf__t5_layer,                                                                                             \
    .decoder = &rf__t5_decoder, .member = bias, .head = rf__t5_heads, .spelling = rf__t5_spelling,                     \
    .silent = rf__t5_silent, .norm = RF_NORM_RMS, .gate = RF_GATE_FIRST, .source_keys = rf__bert_source_keys,          \
    .finish = rf__t5_finish, RF_BERT_LAYER

#endif
