/* folder.h — the output folder: its lock, temporary files of dead runs, and its checkpoints. */
#ifndef RF_TRAIN_FOLDER_H
#define RF_TRAIN_FOLDER_H

#include "base/base.h"
#include "roformer/inspect/folder.h"

rf_status rf__folder_make(const char *path, rf_error *why);              /* with its parents                          */
bool rf__folder_has(const char *folder, const char *name);

/* folder/.lock, held until the descriptor is closed or the process dies.  RF_EBUSY names who holds it. */
rf_status rf__folder_lock(const char *folder, int *fd, rf_error *why);

/* Gives the lock back.  `made`: the file was not there before, and goes. */
void rf__folder_unlock(const char *folder, int fd, bool made);

/* RF_EARG names the first of `files` (NULL at its end) that the folder holds: it would be overwritten. */
rf_status rf__folder_lacks(const char *folder, const char *const *files, const char *remedy, rf_error *why);

/* The same for all files of a model that stand beside its weights; `tokenizer`: its main file, or NULL. */
rf_status rf__folder_lacks_model(const char *folder, const char *tokenizer, const char *remedy, rf_error *why);

/* Removes what dead runs left half-made.  The lock is held, so what only a run
 * writes is such: all that starts with ".tmp-" or "tokens.cache.tmp-". */
void rf__folder_sweep(const char *folder);

/* A folder and everything in it.  What cannot be removed stays. */
void rf__folder_remove(const char *path);

/* Takes a folder away in which there is nothing but the lock, which the caller holds, and a token cache. */
void rf__folder_unmake(const char *folder);

/* Whether there are weights of a model, in any of the files that have them. */
bool rf__holds_weights(const char *folder);

/* Steps of checkpoint-<step> folders, ascending; freed with rf__free. */
int64_t rf__checkpoint_newest(const rf_ctx *ctx, const char *folder, int64_t most);     /* up to step `most`; 0: none */
rf_status rf__checkpoint_steps(const rf_ctx *ctx, const char *folder, int64_t **step, size_t *n, rf_error *why);

/* Renames those above `newest` to abandoned-checkpoint-<step>, with -2, -3, ... behind it when there is one: the
 * run goes on from an earlier one, and they belong to a future that it has left.  With them goes the model that the run
 * ended with, to abandoned-model.safetensors, and its checksums.  `note` names them; "": none. */
rf_status rf__checkpoints_abandon(const rf_ctx *ctx, const char *folder, int64_t newest, char *note, size_t size,
                                  rf_error *why);

/* Removes checkpoints up to `newest`, except the newest `keep` of them (0: all) and the n of `best`. */
void rf__checkpoints_prune(const rf_ctx *ctx, const char *folder, int64_t newest, int64_t keep, const int64_t best[],
                           size_t n);

#endif
