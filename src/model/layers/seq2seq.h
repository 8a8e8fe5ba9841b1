/* seq2seq.h — the tensors of an encoder and a decoder, with the names of transformers' MarianMTModel; see seq2seq.c. */
#ifndef RF_SEQ2SEQ_H
#define RF_SEQ2SEQ_H

#include "model/layers/bert_layer.h"

/* normed: with a norm after the embeddings. */
extern const rf_family_row rf__rows_source_embeddings[], rf__rows_source_normed[], rf__rows_source_layer[];
extern const rf_family_row rf__rows_biased_words[], rf__rows_text_labels[];
extern const rf_family_decoder rf__seq2seq_decoder, rf__seq2seq_normed_decoder;
extern const rf_silent rf__seq2seq_silent[], rf__seq2seq_silent_words[];
extern const rf_known_key rf__bart_known[];
rf_status rf__seq2seq_read(const char *file, const json_t *root, rf_config *c, rf_error *why);

/* The part of a row that families with two such stacks share. */
#define RF_SEQ2SEQ RF_SEQ2SEQ_OF(rf__rows_source_embeddings, rf__seq2seq_decoder, rf__seq2seq_silent)
#define RF_SEQ2SEQ_OF(embeddings, target, silents) \
    .prefix = "model.", .layers = "encoder.layers.", .embedding = embeddings, .layer = rf__rows_source_layer, \
    .decoder = &(target), .silent = silents, .norm = RF_NORM_LAYER, \
    .source_keys = rf__bert_source_keys, .finish = rf__bert_finish, RF_BERT_LAYER

/* Keys under transformers' names, with the family's defaults; those that it does not have are written only if they
 * differ from the default. */
#define RF_SEQ2SEQ_NONE(name) \
    { \
        name, RF_KEY_NONE, 0, 0, 0, 0, 0 \
    }
#define RF_SEQ2SEQ_KEYS(width, layers, heads, inner, vocab, start, eos, scale) \
    RF_SEQ2SEQ_USUAL(width, layers, heads, inner, vocab, start, eos, scale), \
        RF_CONFIG_KEY_AS("decoder_vocab_size", decoder_vocab_size, WHOLE, -1, -1, 16777216, RF_KEY_NULL), \
        RF_CONFIG_KEY_AS("decoder_start_token_id", decoder_start_token_id, WHOLE, start, 0, 16777215, 0), \
        RF_CONFIG_KEY_AS("normalize_before", normalize_before, TRUTH, 0, 0, 1, RF_KEY_OURS), \
        RF_CONFIG_KEY_AS("share_encoder_decoder_embeddings", share_encoder_decoder_embeddings, TRUTH, 1, 0, 1, 0), \
    { \
        0 \
    }

/* Those of BART and its relatives: 12 layers of width 1024 and the first tokens of fairseq's vocabularies. pre: norms
 * before the sub-layers, which no key says. */
#define RF_BART_KEYS(vocab, pad, start, eos, scale, pre) \
    RF_USUAL_AS("pad_token_id", pad_token_id, pad, 0), \
        RF_CONFIG_KEY_AS("decoder_start_token_id", decoder_start_token_id, WHOLE, start, -1, 16777215, RF_KEY_NULL), \
        RF_SEQ2SEQ_USUAL(1024, 12, 16, 4096, vocab, start, eos, scale), \
        RF_CONFIG_KEY_AS("decoder_vocab_size", decoder_vocab_size, WHOLE, -1, -1, 16777216, \
                         RF_KEY_NULL | RF_KEY_OURS), \
        RF_CONFIG_KEY_AS("norm_before_sublayers", normalize_before, TRUTH, pre, pre, pre, RF_KEY_OURS), \
        RF_CONFIG_KEY_AS("share_encoder_decoder_embeddings", share_encoder_decoder_embeddings, TRUTH, 1, 0, 1, \
                         RF_KEY_OURS), \
    { \
        0 \
    }

/* The heads of BART and mBART. */
#define RF_BART_HEADS \
    {RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, rf__rows_biased_words, rf__head_none}, \
        {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_END, rf__rows_text_labels, rf__head_dense_tanh}, \
        {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, rf__head_plain}

/* Their classes; for texts: those of BART and mBART besides. */
#define RF_BART_CLASSES(stem) \
    {RF_HEAD_SEQ2SEQ, stem "ForConditionalGeneration", false, false}, {RF_HEAD_SEQ2SEQ, stem "Model", false, false}
#define RF_BART_TEXT_CLASSES(stem) \
    {RF_HEAD_SEQUENCE, stem "ForSequenceClassification", false, false}, \
        {RF_HEAD_SPAN, stem "ForQuestionAnswering", false, false}

/* The part of their configs that they share, with the file's `keys` and `classes`. */
#define RF_BART_CONFIG(name_, title_, reader, encoding) \
    .name = name_, .model_type = name_, .title = title_, .key = keys, .known = rf__bart_known, .class = classes, \
    .read = reader, .position = encoding, .one_width = true, .pairs = true, .framed = true, \
    .act = "activation_function"

#define RF_SEQ2SEQ_USUAL(width, layers, heads, inner, vocab, start, eos, scale) \
    RF_SEQ2SEQ_NONE("attention_probs_dropout_prob"), RF_SEQ2SEQ_NONE("embedding_size"), \
        RF_SEQ2SEQ_NONE("hidden_dropout_prob"), RF_SEQ2SEQ_NONE("hidden_size"), RF_SEQ2SEQ_NONE("initializer_range"), \
        RF_SEQ2SEQ_NONE("intermediate_size"), RF_SEQ2SEQ_NONE("num_attention_heads"), \
        RF_SEQ2SEQ_NONE("num_hidden_layers"), RF_SEQ2SEQ_NONE("type_vocab_size"), \
        RF_USUAL_AS("layer_norm_eps", layer_norm_eps, 1e-5, RF_KEY_OURS), \
        RF_CONFIG_KEY_AS("max_position_embeddings", max_position_embeddings, WHOLE, 1024, 1, 16777216, 0), \
        RF_USUAL_AS("pad_token_id", pad_token_id, start, 0), \
        RF_CONFIG_KEY_AS("rotary_value", rotary_value, TRUTH, 0, 0, 1, RF_KEY_OURS), \
        RF_USUAL_AS("vocab_size", vocab_size, vocab, 0), \
        RF_CONFIG_KEY_AS("scale_embedding", scale_embedding, TRUTH, scale, 0, 1, 0), \
        RF_CONFIG_KEY_AS("activation_dropout", activation_dropout, NUMBER, 0, 0, 1, RF_KEY_OPEN_HIGH), \
        RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0, 0), \
        RF_USUAL_AS("d_model", hidden_size, width, 0), \
        RF_CONFIG_KEY_AS("decoder_attention_heads", decoder_attention_heads, WHOLE, heads, 1, 4096, 0), \
        RF_CONFIG_KEY_AS("decoder_ffn_dim", decoder_ffn_dim, WHOLE, inner, 1, 1048576, 0), \
        RF_CONFIG_KEY_AS("decoder_layers", decoder_layers, WHOLE, layers, 1, 1024, 0), \
        RF_USUAL_AS("dropout", hidden_dropout_prob, 0.1, 0), \
        RF_USUAL_AS("encoder_attention_heads", num_attention_heads, heads, 0), \
        RF_USUAL_AS("encoder_ffn_dim", intermediate_size, inner, 0), \
        RF_USUAL_AS("encoder_layers", num_hidden_layers, layers, 0), \
        RF_CONFIG_KEY_AS("eos_token_id", eos_token_id, WHOLE, eos, 0, 16777215, 0), \
        RF_CONFIG_KEY_AS("init_std", initializer_range, NUMBER, 0.02, 0, 100, RF_KEY_OPEN_LOW), \
        RF_CONFIG_KEY_AS("is_encoder_decoder", is_encoder_decoder, TRUTH, 1, 1, 1, 0), \
        RF_CONFIG_KEY_AS("rotary_cross_attention", rotary_cross_attention, TRUTH, 0, 0, 1, RF_KEY_OURS)

#endif
