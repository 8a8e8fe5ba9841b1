/* family.h — families of models: the registry, and what the rest asks of a row.
 *
 * A family is one constant `rf_family` in src/model/families/: how config.json is read (store/family.h), the tensors of
 * embeddings, layer and heads, and their forward.  A tensor is bound to a member of a struct, by the offset that its
 * row names; a row that a config does not need (a projection where widths are equal, a bias that there is none of)
 * leaves NULL there.
 *
 *     e     = embed(batch)                  [N,C]    weights: the struct of the rows `embedding`
 *     h     = layer(h), L times             [N,C]    weights: the struct of the rows `layer`
 *     h     = finish(h)                     [N,C]    weights: those of the embeddings
 *     x     = head->forward(h)              [n,K]    weights: rf_head_weights; of masked tokens [n,E], for the decoder
 *
 * Names of tensors are the prefix ("bert."), for a layer "encoder.layer.<number>." or what the family has in its place,
 * and the row's name; a head's are the row's alone, unless RF_ROW_BASE is set.
 *
 * Families with a `decoder` have two stacks of layers, "encoder.layers.<number>." and "decoder.layers.<number>.".  The
 * same functions run both; those of the decoder are given the encoder's last h, to attend to. */
#ifndef RF_FAMILY_H
#define RF_FAMILY_H

#include "model/position.h"
#include "roformer/kernel/tensor.h"
#include "store/family.h"

/* A tensor, and the member of a struct of rf_tensor pointers that it is bound to. */
typedef struct rf_family_row { rf_param_row row; size_t at; } rf_family_row;

/* A tensor's row: the member of a struct that it is bound to, its name, shape, start, weight decay, RF_ROW_*, and
 * (RF_TENSOR_WHEN) its condition. */
#define RF_TENSOR_WHEN(when, type, member, name, shape, init, decay, flags)         \
    {                                                                               \
        {name, shape, RF_INIT_##init, decay, flags, when}, offsetof(type, member)   \
    }
#define RF_TENSOR(...) RF_TENSOR_WHEN(NULL, __VA_ARGS__)

/* Another spelling of a name: a suffix, and what published files write instead.  first: theirs counts where both are
 * there. */
typedef struct rf_spelling { const char *ours, *theirs; bool first; } rf_spelling;

/* A tensor that needs no mention when it is unused: its name without the prefix.  copy: NULL, or the key that makes it
 * a copy of the word embeddings (tied.c). */
typedef struct rf_silent { const char *name, *copy; } rf_silent;

/* What `embed` and `layer` are given. */
typedef struct rf_block {
    const rf_config *config;
    const struct rf_family *family;
    const rf_position *is;
    const void *weights;                /* the family's struct                                                        */
    rf_layer_context at;
    rf_attention_spec spec;
    rf_attention_spec cross;            /* ... to the source; its keys and values are the layer's to make             */
    rf_tensor *source;                  /* [M,C] what the encoder made of it; NULL: its keys are kept, or none is     */
    rf__observer *observer;
    void *observer_user;
    bool whole;                         /* causal, but each token of a prompt sees all of it                          */
    const int32_t *prefixes;            /* [B] ... of each sequence as many tokens; NULL: of none                     */
    int64_t *underflows;                /* of linear attention's denominators: added to                               */
    const int32_t *row;                 /* of the last layer: the tokens that are asked for; NULL: all                */
    int64_t rows;
} rf_block;

/* The tensors of a head; those that it does not have are NULL. */
typedef struct rf_head_weights {
    rf_tensor *dense, *dense_bias, *norm, *norm_bias;
    rf_tensor *out, *out_bias;          /* of masked tokens the decoder: out NULL stands for the word embeddings      */
} rf_head_weights;

/* The vectors that a head looks at: of all tokens, of each sequence's first one, as config's summary_type says, or as
 * its sentence_pooling does. */
typedef enum rf_look { RF_LOOK_ALL, RF_LOOK_FIRST, RF_LOOK_SUMMARY, RF_LOOK_POOLED } rf_look;

typedef struct rf_head_row {
    rf_head head;
    rf_look look;
    const rf_family_row *row;           /* ended by a row without a name; NULL: none                                  */
    rf_tensor *(*forward)(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
} rf_head_row;

/* Bytes of a training step for each token, or (label) for each predicted token; see train/memory.c. */
typedef struct rf_footprint {
    double embeddings;                  /* kept: sum, result, dropout, projection                                     */
    double layer;                       /* kept by a layer                                                            */
    double last;                        /* ... by one of which the head looks at one token of each sequence           */
    double passing;                     /* comes and goes within a layer                                              */
    double label;                       /* the head before its logits                                                 */
    double forward, forward_last;       /* the most at once when nothing is recorded; of a last layer as above        */
    double source;                      /* of a decoder: kept by a layer for each token of the source                 */
} rf_footprint;

/* The other stack of an encoder and a decoder; rows of the structs that the first one has. */
typedef struct rf_family_decoder {
    const rf_family_row *embedding, *layer;
    size_t word;                        /* in the struct of the embeddings: takes the words of both sides             */
} rf_family_decoder;

typedef struct rf_family {
    rf_family_config config;            /* first: the rows of rf__config_families                                     */
    const char *prefix, *older_prefix;  /* of names; one that files may have in its place, or NULL                    */
    const char *layers;                 /* a layer's names: this, its number and "."; NULL: "encoder.layer."          */
    const rf_family_row *embedding, *layer; /* ended by a row without a name                                          */
    size_t embedding_size, layer_size;  /* bytes of the structs                                                       */
    size_t qkv, qkv_bias;               /* in the layer's: [query, key, value] together, which encodings ask for      */
    const rf_family_decoder *decoder;   /* NULL: there is none                                                        */
    const rf_head_row *head;            /* ended by a row without forward; the first says which word                  */
    const rf_spelling *spelling;        /* ended by a row without a name                                              */
    const rf_silent *silent;            /* ended by a row without a name                                              */
    const char *const *left_out;        /* tensors, without the prefix, that older files have and the library's classes
                                           have not; NULL at the end, or NULL: none                                   */
    const char *const *positions;       /* encodings that it may have, NULL at the end; or NULL: all                  */
    rf_norm_kind norm;
    bool first_bare;                    /* no norm stands before the first layer's attention (normalize_before)       */
    bool gated;                         /* the feed-forward layer has a gate, in the row RF_ROW_GATED,                */
    rf_gate_order gate;                 /* ... which is the first or the second half of it                            */
    rf_tensor *(*embed)(rf_graph *g, const rf_block *b);
    rf_tensor *(*layer_forward)(rf_graph *g, const rf_block *b, rf_tensor *h);
    rf_tensor *(*source_keys)(rf_graph *g, const rf_block *b);      /* [M,2C] of b->source; NULL: without decoder     */
    rf_tensor *(*finish)(rf_graph *g, const rf_block *b, rf_tensor *h);             /* NULL: nothing to do            */
    rf_tensor *(*vector)(rf_graph *g, const void *embedding, rf_tensor *x);         /* [B,C], with linear_pooler      */
    rf_footprint (*footprint)(const rf_config *c, bool bf16);
} rf_family;

#define RFF(name) extern const rf_family rf__family_##name;
#include "model/families.def"
#undef RFF

/* The row of a config; RF_EARG: rf_config.family names none. */
rf_status rf__family_find(const rf_config *c, const rf_family **out, rf_error *why);

/* NULL: the family has no such head. */
const rf_head_row *rf__family_head(const rf_family *f, rf_head head);

/* The name of a tensor without the family's prefix, or the older one. */
const char *rf__family_bare(const rf_family *f, const char *name);

/* NULL: the tensor is none of the family's `silent` ones. */
const rf_silent *rf__silent_find(const rf_family *f, const char *name);

/* RF_EUNSUPPORTED: not an encoding of this family. */
rf_status rf__family_allows(const rf_family *f, const rf_position *p, rf_error *why);

/* ---- what the files of families share ---------------------------------------------------------------------------- */

/* softmax(R(m) q (R(n) k)^T / sqrt D) v, or what the encoding makes of it: [N,3C] -> [N,C] (encoder.c). */
rf_tensor *rf__block_attention(rf_graph *g, const rf_block *b, rf_tensor *qkv);

/* softmax(q k^T / sqrt D) v over the source of each sequence: q [N,C], keys and values by the family's source_keys, or
 * those that are kept -> [N,C] (encoder.c). */
rf_tensor *rf__block_cross_attention(rf_graph *g, const rf_block *b, rf_tensor *q);

/* Heads (heads.c): dropout, dense, act, dropout, out | the same with tanh | dense, tanh, dropout, out | dropout, out |
 * out | dense, act, norm | the same with GELU | that, dropout, out | dense, act, out. */
rf_tensor *rf__head_dense(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_dense_tanh(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_pooled(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_token(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_plain(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_masked(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_masked_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_transformed(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_detect(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);
rf_tensor *rf__head_none(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x);      /* x itself   */

/* Rows of several families' heads, named as transformers' classes name them. */
extern const rf_family_row rf__rows_masked[], rf__rows_lm_head[], rf__rows_dense[], rf__rows_label[], rf__rows_span[],
    rf__rows_choice[];
extern const rf_spelling rf__spelling_bert[];

#endif
