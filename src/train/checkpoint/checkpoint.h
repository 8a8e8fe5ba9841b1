/* checkpoint.h — checkpoint folders, which are either complete or invisible. */
#ifndef RF_TRAIN_CHECKPOINT_H
#define RF_TRAIN_CHECKPOINT_H

#include "optim/optimizer.h"
#include "store/generation.h"
#include "store/task.h"
#include "train/checkpoint/state.h"

typedef struct rf__checkpoint {
    const rf_ctx *ctx;
    const rf_tokenizer *tokenizer;
    rf__optimizer *optimizer;           /* its params contain the config                                              */
    rf__state *state;
    json_t *options;
    const rf__kept_file *prompts;       /* for sentence models; otherwise NULL                                        */
    double epoch;
    rf_status (*read)(void *user, rf_error *why);   /* or NULL: called when values and moments have been read, before */
    void *user;                                         /* the first sync; if it fails, the save ends                 */
    const rf__kept_file *generation;    /* for generating models; otherwise NULL                                      */
} rf__checkpoint;

/* Writes folder/checkpoint-<step> and replaces an existing one; `path` receives its path.
 *
 *   RF_EIO      no space, or a write, sync or rename failed: nothing is left, older checkpoints are unchanged
 *   RF_ENUMERIC  a weight or moment is not finite; likewise */
rf_status rf__checkpoint_save(const rf__checkpoint *c, const char *folder, char *path, size_t size, rf_error *why);

/* Compares every file of a checkpoint with its list. RF_EDATA: for example "model.safetensors: CRC", short enough for a
 * note. */
rf_status rf__checkpoint_verify(const rf_ctx *ctx, const char *path, rf_error *why);

/* RF_EUNSUPPORTED: it is a checkpoint of transformers' Trainer. */
rf_status rf__checkpoint_foreign(const char *path, rf_error *why);

/* The newest intact checkpoint of a folder; `note` names those that are damaged, or is "".
 *   RF_EDATA     there is none */
rf_status rf__checkpoint_latest(const rf_ctx *ctx, const char *folder, char *path, size_t size, char *note,
                                size_t note_size, rf_error *why);

#endif
