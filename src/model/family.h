/* family.h — families of models: the registry, and the interface of a row.
 *
 * A family is one constant `rf_family` in src/model/families/: how config.json is read (store/family.h), the tensors of
 * embeddings, layer and heads, and their forward pass. A tensor is bound to a struct member by the offset in its row.
 * Rows that a config does not need (a projection if widths are equal, a bias that does not exist) leave NULL there.
 *
 *     e     = embed(batch)                  [N,C]    weights: the struct of the rows `embedding`
 *     h     = layer(h), L times             [N,C]    weights: the struct of the rows `layer`
 *     h     = finish(h)                     [N,C]    weights: those of the embeddings
 *     x     = head->forward(h)              [n,K]    weights: rf_head_weights; of masked tokens [n,E], for the decoder
 *
 * Names of tensors consist of the prefix ("bert."), for a layer "encoder.layer.<number>." or the family's equivalent,
 * and the row's name; those of a head only of the row's name, unless RF_ROW_BASE is set.
 *
 * Families with a `decoder` have two stacks of layers. The same functions run both; those of the decoder also get the
 * encoder's last h, to attend to. A model without is_encoder_decoder has the first stack alone. */
#ifndef RF_FAMILY_H
#define RF_FAMILY_H

#include "model/position.h"
#include "graph/tensor.h"
#include "store/family.h"

/* A tensor, and the member of a struct of rf_tensor pointers that it is bound to. */
typedef struct rf_family_row { rf_param_row row; size_t at; } rf_family_row;

/* The row of a tensor: the struct member, name, shape, initialization, weight decay, RF_ROW_*, and (RF_TENSOR_WHEN) its
 * condition. */
#define RF_TENSOR_WHEN(when, type, member, name, shape, init, decay, flags)         \
    {                                                                               \
        {name, shape, RF_INIT_##init, decay, flags, when}, offsetof(type, member)   \
    }
#define RF_TENSOR(...) RF_TENSOR_WHEN(NULL, __VA_ARGS__)

/* The row of a head's tensor, and of the matrix of logits of words, which is the word embeddings if they are tied. */
#define RF_HEAD_ROW(name, shape, init, decay, flags, member)                        \
    RF_TENSOR(rf_head_weights, member, name, shape, init, decay, flags)
#define RF_HEAD_UNTIED(name, init)                                                  \
    RF_TENSOR_WHEN(rf__when_untied, rf_head_weights, out, name, "VE", init, true, 0)

/* Another spelling of a name: a suffix, and the spelling in published files. first: if both exist, theirs takes
 * precedence. */
typedef struct rf_spelling { const char *ours, *theirs; bool first; } rf_spelling;

/* A tensor that is not reported if it is unused: its name without the prefix. copy: NULL, or the key that makes it a
 * copy of the word embeddings (tied.c). */
typedef struct rf_silent { const char *name, *copy; } rf_silent;

/* The arguments of `embed` and `layer`. */
typedef struct rf_block {
    const rf_config *config;
    const struct rf_family *family;
    const rf_position *is;
    const void *weights;                /* the family's struct                                                        */
    rf_layer_context at;
    rf_attention_spec spec;
    rf_attention_spec cross;            /* ... to the source; the layer computes its keys and values                  */
    rf_tensor *source;                  /* [M,C] the encoder's result; NULL: its keys are cached, or there is none    */
    rf__observer *observer;
    void *observer_user;
    bool whole;                         /* causal, but each token of a prompt attends to the whole prompt             */
    const int32_t *prefixes;            /* [B] number of these tokens in each sequence; NULL: none                    */
    const int32_t *seen;                /* [B] number of tokens that are keys; NULL: all (rf_attention_spec)          */
    int64_t *underflows;                /* counts zero denominators of linear attention                               */
    const int32_t *row;                 /* for the last layer: the requested tokens; NULL: all                        */
    int64_t rows;
} rf_block;

/* The tensors of a head; missing ones are NULL. */
typedef struct rf_head_weights {
    rf_tensor *dense, *dense_bias, *norm, *norm_bias;
    rf_tensor *out, *out_bias;          /* for masked tokens, the decoder: out NULL stands for the word embeddings    */
} rf_head_weights;

/* The vectors that a head uses: of all tokens, of each sequence's first token, of the token that config's summary_type
 * names, or pooled by its sentence_pooling; of its last token that is not pad_token_id; or of its last eos_token_id. */
typedef enum rf_head_input {
    RF_HEAD_INPUT_ALL, RF_HEAD_INPUT_FIRST, RF_HEAD_INPUT_SUMMARY, RF_HEAD_INPUT_POOLED, RF_HEAD_INPUT_LAST,
    RF_HEAD_INPUT_END
} rf_head_input;

typedef struct rf_head_row {
    rf_head head;
    rf_head_input input;
    const rf_family_row *row;           /* ends with a row without a name; NULL: none                                 */
    rf_tensor *(*forward)(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
} rf_head_row;

/* The second stack of an encoder-decoder family; its rows bind to the structs of the first. */
typedef struct rf_family_decoder {
    const char *layers;                 /* as rf_family.layers                                                        */
    const rf_family_row *embedding, *layer;
    size_t word;                        /* in the struct of the embeddings: takes the word embeddings of both sides   */
} rf_family_decoder;

typedef struct rf_family {
    rf_family_config config;            /* first member: the rows of rf__config_families                              */
    const char *prefix, *older_prefix;  /* of names; an older one that files may have instead, or NULL                */
    const char *label_prefix;           /* of names under heads for labels of texts and tokens; NULL: `prefix`        */
    const char *layers;                 /* a layer's names: this, its number and "."; NULL: "encoder.layer."          */
    int64_t (*layer_like)(const rf_config *c, int64_t layer);   /* the first layer that has the tensors of a layer,
                                           itself or an earlier one; names count these layers alone; NULL: itself */
    const rf_family_row *embedding, *layer; /* ends with a row without a name                                         */
    size_t embedding_size, layer_size;  /* bytes of the structs                                                       */
    size_t qkv, qkv_bias;               /* in the layer's struct: [query, key, value] together, for encodings         */
    const rf_family_decoder *decoder;   /* NULL: there is none                                                        */
    /* Rows in place of those of the position encoding, under the family's names; NULL and NULL: those of the encoding.
     * With a decoder, "encoder." or "decoder." comes before the names of the first ones. */
    const rf_param_row *position_embedding, *position_layer;
    const rf_head_row *head;            /* ends with a row without forward; the first is the language-model head      */
    const rf_spelling *spelling;        /* ends with a row without a name                                             */
    const rf_silent *silent;            /* ends with a row without a name                                             */
    const char *const *left_out;        /* tensors, without the prefix, of older files that the library's classes do
                                           not have; NULL at the end, or NULL: none */
    rf_norm_kind norm;
    double (*divisor)(const rf_config *c);      /* with normalize_before: of what each sub-layer adds; NULL: 1        */
    bool first_bare;                    /* with normalize_before: no norm before the attention of the first layer     */
    bool both;                          /* the vectors of a text alone are the decoder's, which reads it, too         */
    bool wraps;                         /* ... and begins with the text's last token, not decoder_start_token_id      */
    bool wordless;                      /* no folder has a language-model head: words are not predicted               */
    bool gated;                         /* the feed-forward layer has a gate (also with is_gated_act), in the row
                                           RF_ROW_GATED, ... */
    rf_gate_order gate;                 /* ... which is the first or the second half of it                            */
    int64_t (*extent)(const rf_config *c, char letter);     /* of letters in its rows' shapes; NULL: none of its own  */
    rf_tensor *(*embed)(rf_graph *g, const rf_block *b);
    rf_tensor *(*layer_forward)(rf_graph *g, const rf_block *b, rf_tensor *h);
    /* [N,C], the feed-forward layer within bert_layer.c's; NULL: rf__bert_feed */
    rf_tensor *(*feed)(rf_graph *g, const rf_block *b, rf_tensor *x);
    rf_tensor *(*source_keys)(rf_graph *g, const rf_block *b);      /* [M,2C] from b->source; NULL: without a decoder */
    rf_tensor *(*finish)(rf_graph *g, const rf_block *b, rf_tensor *h);             /* NULL: nothing to do            */
    rf_tensor *(*vector)(rf_graph *g, const void *embedding, rf_tensor *x);         /* [B,C], with linear_pooler      */
} rf_family;

#define RFF(name) extern const rf_family rf__family_##name;
#include "model/families.def"
#undef RFF

/* The row of a config; RF_EARG: rf_config.family names none. */
rf_status rf__family_find(const rf_config *c, const rf_family **out, rf_error *why);

static inline bool rf__family_gated(const rf_family *f, const rf_config *c) { return f->gated || c->is_gated_act; }

/* NULL: the family has no such head. */
const rf_head_row *rf__family_head(const rf_family *f, rf_head head);

/* The name of a tensor without the prefix. */
const char *rf__family_prefix(const rf_family *f, rf_head head);
const char *rf__family_bare(const rf_family *f, const char *name);

/* NULL: the tensor is not in the family's `silent` list. */
const rf_silent *rf__silent_find(const rf_family *f, const char *name);

/* The first layer that has the tensors of a layer. */
static inline int64_t rf__family_layer(const rf_family *f, const rf_config *c, int64_t layer)
{
    return f->layer_like ? f->layer_like(c, layer) : layer;
}

/* RF_EUNSUPPORTED: the family does not support the encoding. */
rf_status rf__family_allows(const rf_family *f, const rf_position *p, rf_error *why);

/* ---- shared by the files of families ----------------------------------------------------------------------------- */

/* softmax(R(m) q (R(n) k)^T / sqrt D) v, or the encoding's variant: [N,3C] -> [N,C] (encoder.c). */
rf_tensor *rf__block_attention(rf_graph *g, const rf_block *b, rf_tensor *qkv);

/* softmax(q k^T / sqrt D) v over the source of each sequence: q [N,C], keys and values from the family's source_keys,
 * or cached ones -> [N,C] (encoder.c). */
rf_tensor *rf__block_cross_attention(rf_graph *g, const rf_block *b, rf_tensor *q);

/* Heads (heads.c): dropout, dense, act, dropout, out | the same with tanh | the same with GELU | dense, tanh, dropout,
 * out | the same with ReLU | dense if summary_use_proj, summary_activation, dropout, out | dropout, out | out | dense,
 * act, norm | the same with GELU | that, dropout, out | dense, act, out. */
rf_tensor *rf__head_dense(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_dense_tanh(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_dropped_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_pooled(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_dense_relu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_summary(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_token(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_plain(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_masked(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_masked_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_transformed(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_dense_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_detect(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_none(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);      /* x itself   */

/* Rows that several families' heads share, with the names of transformers' classes. */
extern const rf_family_row rf__rows_masked[], rf__rows_lm_head[], rf__rows_dense[], rf__rows_label[], rf__rows_span[],
    rf__rows_choice[], rf__rows_detect[];
extern const rf_spelling rf__spelling_bert[], rf__spelling_lm_head[];

#endif
