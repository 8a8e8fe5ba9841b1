/* checkpoint.h — checkpoint folders: complete or invisible. */
#ifndef RF_TRAIN_CHECKPOINT_H
#define RF_TRAIN_CHECKPOINT_H

#include "optim/optimizer.h"
#include "store/generation.h"
#include "store/task.h"
#include "train/checkpoint/state.h"

typedef struct rf__checkpoint {
    const rf_ctx *ctx;
    const rf_tokenizer *tokenizer;
    rf__optimizer *optimizer;           /* its params hold the config                                                 */
    rf__state *state;
    json_t *options;
    const rf__kept_file *prompts;       /* of a model that makes vectors; or NULL                                     */
    double epoch;
    rf_status (*read)(void *user, rf_error *why);   /* or NULL: called when values and moments have been read, before */
    void *user;                                         /* the first sync; the save ends when it fails                */
    const rf__kept_file *generation;    /* of one that writes; or NULL                                                */
} rf__checkpoint;

/* Writes folder/checkpoint-<step>, replacing one of that name; `path` receives where.
 *
 *   RF_EIO      no space, or a write, sync or rename failed: nothing is left behind, older checkpoints are as they were
 *   RF_ENUMERIC  a weight or moment is not finite; likewise                                                          */
rf_status rf__checkpoint_save(const rf__checkpoint *c, const char *folder, char *path, size_t size, rf_error *why);

/* Compares every file of a checkpoint with its list.  RF_EDATA: "model.safetensors: CRC", short enough for a note. */
rf_status rf__checkpoint_verify(const rf_ctx *ctx, const char *path, rf_error *why);

/* RF_EUNSUPPORTED: it is a checkpoint of transformers' Trainer. */
rf_status rf__checkpoint_foreign(const char *path, rf_error *why);

/* The newest checkpoint of a folder that is intact; `note` says which ones are not, or is "".
 *   RF_EDATA     there is none                                                                                       */
rf_status rf__checkpoint_latest(const rf_ctx *ctx, const char *folder, char *path, size_t size, char *note,
                                size_t note_size, rf_error *why);

#endif
