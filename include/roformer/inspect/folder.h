/* folder.h — what the folders of models and runs hold, and whether it is whole.  Their names: files.h.
 *
 * threads   everything here only reads; a token cache belongs to one thread at a time                                */
#ifndef ROFORMER_FOLDER_H
#define ROFORMER_FOLDER_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Whether weights are those of a config, by names and shapes: no value is read but those of a table of positions.
 *
 *   head       1: the head for masked tokens is there
 *   ignored    names of tensors that would not be used, with commas; "" when there are none.  Copies of tied tensors
 *              are not listed, nor is a table of positions (embed_positions), unless it is not the one computed
 *   out        freed with rf_fit_free; untouched on error
 *   RF_EDATA   all missing or misshapen tensors in one message; a config that names no model                         */
typedef struct rf_fit { const rf_ctx *ctx; int head; char *ignored; } rf_fit;
rf_status rf_weights_fit(const rf_ctx *ctx, const rf_weights *w, const rf_config *c, rf_fit *out, rf_error *why);
void rf_fit_free(rf_fit *f);

/* ---- checksums --------------------------------------------------------------------------------------------------- */

/* The list of a folder's files that was written with them: RF_FILE_COMPLETE of a checkpoint, RF_FILE_CHECKSUMS of a
 * trained model; NULL: there is none. */
const char *rf_checksums_found(const char *folder);

/* Told of each file: `damage` is "CRC", "missing", "5 bytes instead of 7", or NULL: as it was written. */
typedef void rf_checksums_report(void *user, const char *file, const char *damage);

/* Compares the files with folder/list: all of them when there is a report, else up to the first damage.
 *
 *   RF_EDATA         names the first file that is damaged: "model.safetensors: CRC"
 *   RF_EUNSUPPORTED  the list is of another format                                                                   */
rf_status rf_checksums_verify(const rf_ctx *ctx, const char *folder, const char *list, rf_checksums_report *report,
                              void *user, rf_error *why);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* The steps of folder/checkpoint-<step>, ascending, whole or not.
 *
 *   out      freed with rf_checkpoints_free; untouched on error            RF_EIO   the folder cannot be opened      */
typedef struct rf_checkpoints { const rf_ctx *ctx; size_t n; int64_t *step; } rf_checkpoints;
rf_status rf_checkpoints_list(const rf_ctx *ctx, const char *folder, rf_checkpoints *out, rf_error *why);
void rf_checkpoints_free(rf_checkpoints *c);

/* 1: a process holds the lock of a run's folder.  No lock is taken for that.  Of a process on another machine: its
 * metrics.jsonl grew within ten minutes. */
int rf_run_alive(const char *folder);

/* How many folders in `folder` hold this file (0 also where it cannot be opened), and their names: "fold-1, fold-2", of
 * many the first two and the last one.  Of use where a file is looked for in a folder of several runs, or of
 * checkpoints. */
size_t rf_folders_with(const char *folder, const char *file, char *out, size_t size);

/* ---- the text of a run as ids: RF_FILE_TOKENS, or what `roformer prepare` made ----------------------------------- */

typedef struct rf_token_cache rf_token_cache;

/*   out       closed with rf_token_cache_close; untouched on error
 *   RF_EIO    it cannot be opened
 *   RF_EDATA  it is damaged, of another version, or another tokenizer's                                              */
rf_status rf_token_cache_open(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf_token_cache **out,
                              rf_error *why);
void rf_token_cache_close(rf_token_cache *c);
int64_t rf_token_cache_longest(const rf_token_cache *c);        /* tokens of the longest document                     */

/* The next document: its first ids, at most `most`, to `id`.
 *
 *   size      tokens of the document; -1 past the last
 *   held      (or NULL) 1: it is held out from training                                                              */
rf_status rf_token_cache_next(rf_token_cache *c, int32_t *id, int64_t most, int64_t *size, int *held, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
