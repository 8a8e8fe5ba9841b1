/* convert.h — converts a published model folder to model.safetensors with current tensor names and config keys.
 *
 * threads   a conversion runs on the calling thread and the workers of its context */
#ifndef ROFORMER_CONVERT_H
#define ROFORMER_CONVERT_H

#include "roformer/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called for every tensor of the source, first for those that the model uses. `to` is its new name, or NULL if it is
 * not written because it is computed, a copy, or dropped. */
typedef void rf_convert_report(void *user, const rf_weight *tensor, const char *to);

typedef struct rf_convert_options {
    size_t size;                /* of this struct, set by rf_convert_defaults */
    int keep_type;              /* 1 (default): keep the type of the source's word embeddings, and keep int8
                                   matrices; `type` is ignored */
    /* Type to write: RF_F32, RF_BF16, RF_F16, or RF_I8: the matrices of the layers in int8 with a scale for each row
       (W8A8 of compressed-tensors), also the word embeddings unless they are a head's matrix, the rest in the type of
       the source's word embeddings. */
    rf_type type;
    const char *const *drop;    /* names of tensors to leave out; "name*" matches a prefix */
    size_t drops;
    int overwrite;              /* 1: replace weights in the target; default 0 */
    rf_convert_report *report;  /* may be NULL */
    void *user;
    const char *vocabulary;     /* folder of a tokenizer that replaces the source's, or NULL. A token that both have
                                   keeps its vector; a new token gets the mean of the vectors of the tokens into
                                   which the source's tokenizer splits it */
    /* May be NULL. Called with the number of tokens that kept their vector, got a mean, got the vector of [UNK], and of
       source tokens that were dropped. */
    void (*extended)(void *user, int64_t kept, int64_t means, int64_t unknown, int64_t lost);
    /* May be NULL. Called for every file other than the weights: left_out is NULL if the file is copied, else the
       reason why it is not. */
    void (*file)(void *user, const char *name, const char *left_out);
    const char *reranker;       /* "qwen3": the source is a Qwen3-Reranker without modules.json, which is written with
                                   the words and the two tokens of its model card; NULL (default): nothing is added */
} rf_convert_options;
void rf_convert_options_init(rf_convert_options *o, size_t size);
#define rf_convert_defaults(o) rf_convert_options_init((o), sizeof *(o))

/* Reads the folder `from` and writes config.json, model.safetensors and checksums.json to `to`, then reads them back
 * and compares. The class, tensors that the model does not use and unknown keys of config.json are kept. Other files
 * are copied, those of the tokenizer too, except weights in other formats and files of training runs
 * (src/convert/other_files.def).
 *
 *   options          NULL: the defaults
 *   RF_EARG          a `drop` matches no tensor of the source, or only tensors that the model needs; `reranker` has
 *                    another name
 *   RF_EUNSUPPORTED  `reranker`: the model is not causal, or its folder has modules.json
 *   RF_EDATA         a tensor that the model does not use cannot be written and no `drop` names it: a position table
 *                    other than that of the config; tensors are missing or have a wrong shape; a tied head
 *                    differs from the word embeddings; a vocabulary or a reranker is given, but the source has no
 *                    tokenizer, or one without the reranker's tokens. Nothing has been written. Also: the files read
 *                    back differ
 *   RF_ENUMERIC      a weight is not finite or too large for `type`; in int8, also a matrix of zeros. No weights have
 *                    been written
 *   RF_EIO           the target has weights; with `overwrite`, the target is a checkpoint, or has a tokenizer while the
 *                    source has none; a file to copy exists in the target; the target cannot be written */
rf_status rf_convert(const rf_ctx *ctx, const char *from, const char *to, const rf_convert_options *options,
                     rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
