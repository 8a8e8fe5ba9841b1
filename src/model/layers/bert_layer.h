/* bert_layer.h — embeddings and layers of BERT; see bert_layer.c. */
#ifndef RF_BERT_LAYER_H
#define RF_BERT_LAYER_H

#include "model/family.h"

typedef struct rf_bert_embedding {
    rf_tensor *word, *type, *norm, *norm_bias, *project, *project_bias, *last, *last_bias, *pooler,
        *pooler_bias;
    rf_tensor *task;                    /* for ERNIE: its first row is added to every token                           */
    rf_tensor *contact, *contact_bias;  /* for ESM-2: read and written, not used                                      */
} rf_bert_embedding;

typedef struct rf_bert_layer {
    rf_tensor *qkv, *qkv_bias, *out, *out_bias, *norm, *norm_bias;
    rf_tensor *up, *up_bias, *down, *down_bias, *norm2, *norm2_bias;
    rf_tensor *cross_query, *cross_query_bias, *cross_keys, *cross_keys_bias;           /* for decoders: keys, values */
    rf_tensor *cross_out, *cross_out_bias, *cross_norm, *cross_norm_bias;
    rf_tensor *query_norm, *query_norm_bias, *key_norm, *key_norm_bias;         /* of each head or of all, unrotated  */
    rf_tensor *again, *again_bias;      /* a second norm after attention, of the first one's result and h            */
    rf_tensor *after, *after2;          /* norms of what attention and feed-forward add                               */
} rf_bert_layer;

rf_tensor *rf__bert_embed(rf_graph *g, const rf_block *b);
rf_tensor *rf__bert_forward(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_tensor *rf__bert_feed(rf_graph *g, const rf_block *b, rf_tensor *x);     /* act(x W_1) W_2 [N,C], or with a gate   */
rf_tensor *rf__bert_source_keys(rf_graph *g, const rf_block *b);
rf_tensor *rf__bert_finish(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_tensor *rf__bert_vector(rf_graph *g, const void *embedding, rf_tensor *x);

/* Words, token types and their norm, with which embeddings of BERT's kind begin. */
#define RF_BERT_WORDS                                                                                                  \
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),         \
    RF_TENSOR(rf_bert_embedding, type, "embeddings.token_type_embeddings.weight", "TE", NORMAL, true, RF_ROW_TABLE)
#define RF_BERT_WORDS_NORM                                                                                             \
    RF_TENSOR(rf_bert_embedding, norm, "embeddings.LayerNorm.weight", "E", ONES, false, 0),                            \
    RF_TENSOR(rf_bert_embedding, norm_bias, "embeddings.LayerNorm.bias", "E", ZEROS, false, 0)

/* The matrix from narrower embeddings to the width of the layers. */
#define RF_BERT_PROJECT(name, when)                                                                                    \
    RF_TENSOR_WHEN(when, rf_bert_embedding, project, name ".weight", "CE", NORMAL, true, 0),                           \
    RF_TENSOR_WHEN(when, rf_bert_embedding, project_bias, name ".bias", "C", ZEROS, false, 0)

/* The matrix of a vector that the linear pooler computes, W h_[CLS] + b. */
#define RF_BERT_VECTOR                                                                                                 \
    RF_TENSOR_WHEN(rf__when_linear_pooler, rf_bert_embedding, pooler, "pooler.dense.weight", "CC", NORMAL, true,       \
                   RF_ROW_POOLER),                                                                                     \
    RF_TENSOR_WHEN(rf__when_linear_pooler, rf_bert_embedding, pooler_bias, "pooler.dense.bias", "C", ZEROS, false,     \
                   RF_ROW_POOLER)

/* Attention of a layer: query, key and value as one matrix, the output projection, and the norm. */
#define RF_BERT_ROW(name, shape, init, decay, flags, member)                                                           \
    RF_TENSOR(rf_bert_layer, member, name, shape, init, decay, flags)
#define RF_BERT_ATTENTION                                                                                              \
    RF_BERT_ROW("attention.self.query.weight", "CC", NORMAL, true, 0, qkv),                                            \
    RF_BERT_ROW("attention.self.key.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),                                  \
    RF_BERT_ROW("attention.self.value.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),                                \
    RF_BERT_ROW("attention.self.query.bias", "C", ZEROS, false, 0, qkv_bias),                                          \
    RF_BERT_ROW("attention.self.key.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                                \
    RF_BERT_ROW("attention.self.value.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                              \
    RF_BERT_ROW("attention.output.dense.weight", "CC", NORMAL, true, 0, out),                                          \
    RF_BERT_ROW("attention.output.dense.bias", "C", ZEROS, false, 0, out_bias),                                        \
    RF_BERT_ROW("attention.output.LayerNorm.weight", "C", ONES, false, 0, norm),                                       \
    RF_BERT_ROW("attention.output.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias)

/* The feed-forward layer and its norm. */
#define RF_BERT_FEED_FORWARD                                                                                           \
    RF_BERT_ROW("intermediate.dense.weight", "FC", NORMAL, true, 0, up),                                               \
    RF_BERT_ROW("intermediate.dense.bias", "F", ZEROS, false, 0, up_bias),                                             \
    RF_BERT_ROW("output.dense.weight", "CF", NORMAL, true, 0, down),                                                   \
    RF_BERT_ROW("output.dense.bias", "C", ZEROS, false, 0, down_bias),                                                 \
    RF_BERT_ROW("output.LayerNorm.weight", "C", ONES, false, 0, norm2),                                                \
    RF_BERT_ROW("output.LayerNorm.bias", "C", ZEROS, false, 0, norm2_bias)

/* A classifier of K columns, or of one. */
#define RF_BERT_CLASSIFIER(labels, label)                                                                              \
    RF_HEAD_ROW("classifier.weight", labels, NORMAL, true, 0, out),                                                    \
    RF_HEAD_ROW("classifier.bias", label, ZEROS, false, 0, out_bias)

/* BERT's pooler, which the base model may already contain, and a classifier. */
#define RF_BERT_POOLED(labels, label, pretrained)                                                                      \
    RF_HEAD_ROW("pooler.dense.weight", "CC", NORMAL, true, RF_ROW_BASE | (pretrained), dense),                         \
    RF_HEAD_ROW("pooler.dense.bias", "C", ZEROS, false, RF_ROW_BASE | (pretrained), dense_bias),                       \
    RF_BERT_CLASSIFIER(labels, label)

/* The matrix of transformers' SequenceSummary. */
bool rf__summary_projects(const rf_config *c, int64_t number);
#define RF_SUMMARY_ROWS                                                                                                \
    RF_TENSOR_WHEN(rf__summary_projects, rf_head_weights, dense, "sequence_summary.summary.weight", "CC", NORMAL,      \
                   true, 0),                                                                                           \
    RF_TENSOR_WHEN(rf__summary_projects, rf_head_weights, dense_bias, "sequence_summary.summary.bias", "C", ZEROS,     \
                   false, 0)

/* Heads that use all tokens, or a pooled text: every family of this kind has them. */
#define RF_BERT_HEADS                                                         \
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, rf__rows_label, rf__head_token},             \
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, rf__head_plain},               \
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none}

/* BERT's heads for texts and for choices. */
#define RF_BERT_POOLED_HEADS                                                  \
    {RF_HEAD_POOLED, RF_HEAD_INPUT_FIRST, rf__rows_pooled, rf__head_pooled},        \
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_pooled_choice, rf__head_pooled}

/* All heads of BERT, and of families that differ from it before the heads alone. */
extern const rf_head_row rf__heads_bert[];

/* RoFormer's heads for texts and for choices. */
#define RF_ROFORMER_HEADS                                                     \
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense},        \
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_SUMMARY, rf__rows_choice, rf__head_plain}

/* transformers' classes whose names differ only by the family; `text` is the head for texts. own: transformers has no
 * classes for answers and choices, and the names are this project's own. */
#define RF_BERT_CLASSES(family, text) RF_BERT_CLASSES_WITH(family, text, false)
#define RF_BERT_CLASSES_WITH(family, text, own)                               \
    {RF_HEAD_MLM, family "ForMaskedLM", false, false},                        \
    {text, family "ForSequenceClassification", false, false},                 \
    {RF_HEAD_TOKEN, family "ForTokenClassification", false, false},           \
    {RF_HEAD_SPAN, family "ForQuestionAnswering", false, own},                \
    {RF_HEAD_CHOICE, family "ForMultipleChoice", false, own},                 \
    {RF_HEAD_EMBED, family "ForSentenceEmbedding", false, true}

/* The rows of a layer with biases and norms, of embeddings without vectors of positions; of the pooler, and of a dense
 * layer, with a classifier of K columns and of one; tensors of BERT's files that are not read. */
extern const rf_family_row rf__rows_bert_layer[], rf__rows_bert_embedding[], rf__rows_pooled[],
    rf__rows_pooled_choice[], rf__rows_dense_labels[], rf__rows_dense_choice[];
extern const rf_silent rf__silent_bert[];
extern const char *const rf__positions_bert[];          /* relative ones of transformers 4, instead of learned ones   */

/* The part of a family's row that depends on such layers. */
#define RF_BERT_LAYER RF_BERT_LAYER_OF(rf__bert_embed)
#define RF_BERT_LAYER_OF(embeds)                                                                              \
    .embedding_size = sizeof(rf_bert_embedding), .layer_size = sizeof(rf_bert_layer),                         \
    .qkv = offsetof(rf_bert_layer, qkv), .qkv_bias = offsetof(rf_bert_layer, qkv_bias), .embed = embeds,     \
    .layer_forward = rf__bert_forward

#endif
