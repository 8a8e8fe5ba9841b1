/* param_row.h — rows of parameter tables, used by families (family.h) and position encodings (position.h), and the
 * parameters that are created from them (params.h). */
#ifndef RF_PARAM_ROW_H
#define RF_PARAM_ROW_H

#include "base/base.h"
#include "roformer/checkpoint.h"

typedef enum rf_init {
    RF_INIT_NORMAL,
    RF_INIT_ZEROS,
    RF_INIT_ONES,
    RF_INIT_GLOROT, /* normal of variance 2 / (rows + columns)                       Glorot and Bengio 2010, Eq. 16 */
    RF_INIT_WIDTH,  /* normal of variance 1 / columns                                                                */
    RF_INIT_QUERY,  /* normal of variance 1 / (columns * width of a head)                          Raffel et al. 2020 */
    RF_INIT_MADE    /* initialized by the position encoding                                                          */
} rf_init;

/* Whether a model of this config has a row. layer: the number of the layer in its stack, -1 outside layers. */
typedef bool rf_when(const rf_config *c, int64_t layer);

/* A row of a parameter table.  shape: one letter for each dimension, V vocabulary, T types, E embedding, C hidden,
 * Q three times C, F feed-forward, G twice F, K labels, 1 one, P max_position_embeddings, H heads, D head width, U
 * twice F and once D, S kinds of tasks, A heads of all layers, q the queries of all heads, k the keys of all heads;
 * others belong to the position encoding or to the family.  With RF_ROW_PARTS, the first is the number of parts. */
typedef struct rf_param_row {
    const char *name, *shape;
    rf_init init;
    bool decay;
    int flags;                  /* RF_ROW_*                                                                           */
    rf_when *when;              /* NULL: always                                                                       */
} rf_param_row;

enum {
    RF_ROW_JOINED = 1,          /* adjacent to the row above, forming one matrix with it                              */
    RF_ROW_BASE = 2,            /* belongs to a head, but is named with the family's prefix                           */
    RF_ROW_TABLE = 4,           /* looked up, or small and multiplied in f32: never packed                            */
    RF_ROW_WORDS = 8,           /* the word embeddings: a table, and the decoder of a tied head                       */
    RF_ROW_TWICE = 16,          /* untied, also written under its other spelling                                      */
    RF_ROW_PRETRAINED = 32,   /* belongs to a head, but is read for every head from a file that has it: BERT's pooler */
    RF_ROW_FLAT = 64,           /* [1,n] in files, a vector of n here                                                 */
    RF_ROW_POOLER = 128,        /* matrix of linear_pooler: part of the model, on its last layer                      */
    RF_ROW_MAY_LACK = 512,      /* zero if a file does not have it (for a head: a file that has the head)             */
    RF_ROW_BY_HEAD = 1024,      /* queries, keys and values, in files head by head (by_head.c)                        */
    RF_ROW_TRANSPOSED = 2048,   /* stored as [in, out] (transposed.c)                                                 */
    RF_ROW_TAPS = 4096,         /* a convolution: [n,C,k] in files, [n,kC] here, as rf__unfold has its windows        */
    RF_ROW_REORDERED = RF_ROW_BY_HEAD | RF_ROW_TAPS,
    RF_ROW_GATED = 256,         /* gate and up of a gated feed-forward layer, in the family's order (family.h)        */
    RF_ROW_PARTS = 8192,        /* several matrices of one shape, one after the other, each packed by itself          */
    RF_ROW_ACROSS = 16384,      /* with RF_ROW_PARTS: packed transposed, for products x w                             */
    RF_ROW_HEADS = 32768,       /* the last dimension is two in files, heads and width: [n,H,D], or [1,1,C]           */
};

/* Conditions that several tables share (family.c): embedding_size is not hidden_size; the head has its own matrix;
 * source and target share their word embeddings, or do not; normalize_before; linear_pooler; there are token types;
 * use_task_id; attention_bias; mlp_bias. */
rf_when rf__when_projected, rf__when_untied, rf__when_shared_words, rf__when_separate_words, rf__when_before,
    rf__when_linear_pooler, rf__when_types, rf__when_task_types, rf__when_attention_bias, rf__when_mlp_bias;

typedef struct rf_param {
    char name[96];              /* Hugging Face's name                                                                */
    int rank;
    int64_t dim[2];
    int64_t parts;              /* RF_ROW_PARTS: dim[0] is this times the rows of one; otherwise 1                    */
    size_t offset, count;       /* in the slab, in floats                                                             */
    rf_init init;
    bool decay;                 /* weight decay applies: matrices, not biases and norms                               */
    int flags;                  /* RF_ROW_* of its row                                                                */
    bool looked_up;             /* not multiplied by, never packed                                                    */
    bool joined;                /* adjacent to the previous parameter                                                 */
    bool head;                  /* belongs to the head, not to the encoder                                            */
    bool position;              /* belongs to the position encoding                                                   */
    int layer;                  /* -1 embeddings, 0.. layers, stack after stack, then the head                        */
    int stack;                  /* the stack that it belongs to                                                       */
    size_t member;              /* in the family's struct of its layer (family.h); not for those of positions         */
} rf_param;

/* Whether it belongs to the top of the model, as the head does. */
static inline bool rf__param_on_top(const rf_param *p) { return p->head || p->flags & RF_ROW_POOLER; }

#endif
