/* pooling.h — how the token vectors of a text become one vector.
 *
 * threads   the functions have no state */
#ifndef ROFORMER_POOLING_H
#define ROFORMER_POOLING_H

#ifdef __cplusplus
extern "C" {
#endif

/* The vector of a text is that of its first token, the mean, the maximum of each column, the vector of its last token,
 * the sum over the square root of the number of tokens, or the mean with the weights 1, 2, 3, ... */
typedef enum rf_pooling {
    RF_POOL_AUTO = -1,                  /* only in rf_embed_options: as the folder says */
    RF_POOL_CLS,
    RF_POOL_MEAN,
    RF_POOL_MAX,
    RF_POOL_LAST,
    RF_POOL_SQRT,                       /* mean_sqrt_len_tokens of sentence-transformers */
    RF_POOL_WEIGHTED,                   /* weightedmean of sentence-transformers */
    RF_POOL_SEVERAL = 0x40000000        /* in the values that rf_pooling_join returns */
} rf_pooling;

/* The poolings of a, then those of b, whose vectors are concatenated, for rf_embed_options and rf_index_options.
 * RF_POOL_AUTO: more than seven. */
rf_pooling rf_pooling_join(rf_pooling a, rf_pooling b);

#ifdef __cplusplus
}
#endif
#endif
