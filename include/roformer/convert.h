/* convert.h — a model folder as it was published becomes one of today: model.safetensors, today's names, today's keys.
 *
 * threads   one conversion, one thread; inside it uses the workers of its context                                    */
#ifndef ROFORMER_CONVERT_H
#define ROFORMER_CONVERT_H

#include "roformer/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Told of every tensor of the source, in the order of what is written: `to` is its new name, NULL when it is passed
 * over because it is computed, a copy, or dropped. */
typedef void rf_convert_report(void *user, const rf_weight *tensor, const char *to);

typedef struct rf_convert_options {
    size_t size;                /* of this struct, set by rf_convert_defaults                                         */
    int keep_type;              /* 1: the type of the source's word embeddings, and what is in int8 stays so, whatever
                                 * `type` says; 1                                                                     */
    /* of what is written: RF_F32, RF_BF16, RF_F16; RF_I8: the matrices of the layers with a scale for each row, W8A8 of
     * compressed-tensors; the rest in the type of the source's word embeddings */
    rf_type type;
    const char *const *drop;    /* names of tensors that may be left out; "name*" stands for all that begin so        */
    size_t drops;
    int overwrite;              /* weights that are in the target are replaced; 0                                     */
    rf_convert_report *report;  /* or NULL                                                                            */
    void *user;
    const char *vocabulary;     /* folder of a tokenizer that takes the place of the source's, or NULL.  A token that
                                   the source has keeps its vector; that of another is the mean of the vectors of what
                                   the source's tokenizer makes of it                                                 */
    void (*extended)(void *user, int64_t kept, int64_t means, int64_t unknown, int64_t lost);   /* or NULL: how many
                                   tokens kept theirs, have a mean, have that of [UNK]; how many of the source's went */
    void (*file)(void *user, const char *name, const char *left_out);   /* or NULL: told of every file beside the
                                   weights that is copied (left_out NULL), or stays behind for the reason given       */
} rf_convert_options;
void rf_convert_options_init(rf_convert_options *o, size_t size);
#define rf_convert_defaults(o) rf_convert_options_init((o), sizeof *(o))

/* Reads the folder `from`, writes config.json, the tokenizer, model.safetensors and checksums.json to `to`, reads it
 * back and compares.  Keys of config.json that are not read here are kept, and other files are copied, but for weights
 * in other formats and what is of a training run (src/convert/other_files.def).
 *
 *   options          NULL: the defaults
 *   RF_EARG          a `drop` that names no tensor of the source, or nothing but such as the model needs
 *   RF_EDATA         tensors are left over that the model has no use for, and that no `drop` names; missing or
 *                    misshapen ones; a tied head that differs from the word embeddings; what was read back differs.
 *                    Nothing was written but in the last case
 *                    Or a vocabulary is to be exchanged, and the source has no tokenizer
 *   RF_ENUMERIC      a weight is not finite, or too large for `type`; in int8 also: a matrix is all zeros.  No weights
 *                    were written
 *   RF_EIO           the target holds weights already; it is to be overwritten and is a checkpoint, or has a tokenizer
 *                    where the source has none; a file that would be copied is in the target; it cannot be written */
rf_status rf_convert(const rf_ctx *ctx, const char *from, const char *to, const rf_convert_options *options,
                     rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
