/* folder.h — the output folder: its lock, temporary files of ended runs, and its checkpoints. */
#ifndef RF_TRAIN_FOLDER_H
#define RF_TRAIN_FOLDER_H

#include "base/base.h"
#include "roformer/inspect/folder.h"

rf_status rf__folder_make(const char *path, rf_error *why);              /* creates the folder and its parents        */
bool rf__folder_has(const char *folder, const char *name);

/* folder/.lock, held until the descriptor is closed or the process ends. RF_EBUSY names the holder. */
rf_status rf__folder_lock(const char *folder, int *fd, rf_error *why);

/* Releases the lock. `made`: this run created the file, and it is removed. */
void rf__folder_unlock(const char *folder, int fd, bool made);

/* RF_EARG names the first of `files` (NULL-terminated) that exists in the folder and would be overwritten. */
rf_status rf__folder_lacks(const char *folder, const char *const *files, const char *remedy, rf_error *why);

/* The same for all files of a model besides its weights; `tokenizer`: its main file, or NULL. */
rf_status rf__folder_lacks_model(const char *folder, const char *tokenizer, const char *remedy, rf_error *why);

/* Removes what ended runs have left incomplete: folders .tmp-<step>-<pid> and .tmp-old-<step>-<pid>, and files. The
 * lock is held, so the folders and "tokens.cache.tmp-..." belong to no process. */
void rf__folder_sweep(const char *folder);

/* Removes files NAME.tmp-<pid>-<n> of processes that have ended, for names that are `own`. */
void rf__folder_sweep_files(const char *folder, bool (*own)(void *user, const char *name), void *user);

/* Removes a folder that contains only the lock, which the caller holds, and a token cache. Closes the lock, unless it
 * is -1. */
void rf__folder_unmake(const char *folder, int lock);

/* Whether the folder has weights of a model, in any of the supported files. */
bool rf__holds_weights(const char *folder);

/* Steps of checkpoint-<step> folders, ascending; freed with rf__free. */
int64_t rf__checkpoint_newest(const rf_ctx *ctx, const char *folder, int64_t most);   /* at most step `most`; 0: none */
rf_status rf__checkpoint_steps(const rf_ctx *ctx, const char *folder, int64_t **step, size_t *n, rf_error *why);

/* Renames checkpoints after `newest` to abandoned-checkpoint-<step>, with -2, -3, ... appended if that exists, because
 * the run continues from an earlier one. Also renames the model that the run ended with to abandoned-model.safetensors,
 * and its checksums. `note` names them; "": none. */
rf_status rf__checkpoints_abandon(const rf_ctx *ctx, const char *folder, int64_t newest, char *note, size_t size,
                                  rf_error *why);

/* Removes checkpoints up to `newest`, except the newest `keep` (0: all) and the n of `best`. */
void rf__checkpoints_prune(const rf_ctx *ctx, const char *folder, int64_t newest, int64_t keep, const int64_t best[],
                           size_t n);

#endif
