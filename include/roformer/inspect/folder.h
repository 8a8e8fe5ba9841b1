/* folder.h — the contents of model folders and run folders, checks of their integrity, and the conversion of a
 * published folder. The file names are in files.h.
 *
 * threads   all calls but rf_convert only read; a token cache may be used by one thread at a time; a conversion runs on
 *           the calling thread and the workers of its context */
#ifndef ROFORMER_FOLDER_H
#define ROFORMER_FOLDER_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Checks by names and shapes whether weights belong to a config. Only values of position tables are read.
 *
 *   head       1: the language-model head is present
 *   ignored    names of tensors that would not be used, separated by commas; "" if none. Copies of tied tensors are not
 *              listed, nor is a position table (embed_positions) that equals the computed one
 *   out        freed with rf_fit_free; unchanged on error
 *   RF_EDATA   lists all missing tensors and all tensors of a wrong shape; the config is not that of a model */
typedef struct rf_fit { const rf_ctx *ctx; int head; char *ignored; } rf_fit;
rf_status rf_weights_fit(const rf_ctx *ctx, const rf_weights *w, const rf_config *c, rf_fit *out, rf_error *why);
void rf_fit_free(rf_fit *f);

/* ---- checksums --------------------------------------------------------------------------------------------------- */

/* The name of the folder's list of checksums: RF_FILE_COMPLETE in a checkpoint, RF_FILE_CHECKSUMS in a trained model;
 * NULL: there is none. */
const char *rf_checksums_found(const char *folder);

/* Called for each file. `damage` is "CRC", "missing" or, for example, "5 bytes instead of 7"; NULL: the file is
 * intact. */
typedef void rf_checksums_report(void *user, const char *file, const char *damage);

/* Compares the files with folder/list: all files if `report` is not NULL, otherwise up to the first damaged one.
 *
 *   RF_EDATA         names the first damaged file: "model.safetensors: CRC"
 *   RF_EUNSUPPORTED  the list has another format */
rf_status rf_checksums_verify(const rf_ctx *ctx, const char *folder, const char *list, rf_checksums_report *report,
                              void *user, rf_error *why);

/* Calls `report`, with damage NULL, for each file of a model's folder that its results depend on and RF_FILE_CHECKSUMS
 * does not list: lists of versions before 0.3.0 have the configuration, the weights and the tokenizer only. Nothing is
 * reported for a folder without a list. */
rf_status rf_checksums_unlisted(const rf_ctx *ctx, const char *folder, rf_checksums_report *report, void *user,
                                rf_error *why);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Lists the steps of all folders checkpoint-<step>, in rising order, complete or not.
 *
 *   out      freed with rf_checkpoints_free; unchanged on error
 *   RF_EIO   the folder cannot be opened */
typedef struct rf_checkpoints { const rf_ctx *ctx; size_t n; int64_t *step; } rf_checkpoints;
rf_status rf_checkpoints_list(const rf_ctx *ctx, const char *folder, rf_checkpoints *out, rf_error *why);
void rf_checkpoints_free(rf_checkpoints *c);

/* 1: a process holds the lock of the run's folder. This call takes no lock. For a process on another machine, 1 means
 * that metrics.jsonl grew in the last ten minutes. */
int rf_run_alive(const char *folder);

/* Counts the subfolders of `folder` that contain this file (0 also if `folder` cannot be opened) and lists their names:
 * "fold-1, fold-2"; of many, the first two and the last. Helps to find a file in a folder of several runs or
 * checkpoints. */
size_t rf_folders_with(const char *folder, const char *file, char *out, size_t size);

/* ---- the tokenized text of a run: RF_FILE_TOKENS, or the output of `roformer prepare` ---------------------------- */

typedef struct rf_token_cache rf_token_cache;

/* Opens a token cache.
 *
 *   out       closed with rf_token_cache_close; unchanged on error
 *   RF_EIO    it cannot be opened
 *   RF_EDATA  it is damaged, has another version, or belongs to another tokenizer */
rf_status rf_token_cache_open(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf_token_cache **out,
                              rf_error *why);
void rf_token_cache_close(rf_token_cache *c);
int64_t rf_token_cache_longest(const rf_token_cache *c);        /* tokens of the longest document */

/* Reads the next document: its first ids, at most `most`, are copied to `id`.
 *
 *   size      number of tokens of the document; -1 past the last
 *   held      1: held out from training; may be NULL */
rf_status rf_token_cache_next(rf_token_cache *c, int32_t *id, int64_t most, int64_t *size, int *held, rf_error *why);

/* ---- conversion to model.safetensors with current tensor names and config keys ----------------------------------- */

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
    int overwrite;              /* 1: replace the model in the target; its files that the source lacks and that would
                                   be read with the new one are renamed to NAME.replaced. Default 0 */
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
 *   RF_ENUMERIC      a weight is not finite or too large for `type`; in int8, also a matrix of zeros. No file has
 *                    been replaced
 *   RF_EIO           the target has weights; with `overwrite`, the target is a checkpoint, or has a tokenizer while the
 *                    source has none; a file to copy exists in the target; the target cannot be written */
rf_status rf_convert(const rf_ctx *ctx, const char *from, const char *to, const rf_convert_options *options,
                     rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
