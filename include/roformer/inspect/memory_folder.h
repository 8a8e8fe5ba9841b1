/* memory_folder.h — opens models from memory instead of from a folder on disk.
 *
 *     const rf_memory_file file[] = {{"config.json", config, config_size},
 *                                    {"vocab.txt", vocab, vocab_size},
 *                                    {"model.safetensors", weights, weights_size}};
 *     rf_memory_folder_new(ctx, file, 3, &folder, &why);
 *     rf_pipeline_open(ctx, rf_memory_folder_path(folder), RF_F32, &p, &why);
 *
 * This is for programs that contain their model, and for language bindings that receive files as bytes. The caller
 * passes the files of a model folder with their names and receives a path. Calls with the same context accept this path
 * in place of a folder for pipelines, models, answerers, tokenizers, configs and weights. Nothing is written to it.
 * Error messages name files below the path.
 *
 * threads   any number of threads may use the folder; it is freed by one thread when no other thread is opening it */
#ifndef ROFORMER_MEMORY_FOLDER_H
#define ROFORMER_MEMORY_FOLDER_H

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_memory_file {
    const char *name;           /* name in the folder, "config.json" or "1_Pooling/config.json"; copied */
    const void *data;           /* [size] bytes, valid until the folder and all models opened from it are closed */
    size_t size;
} rf_memory_file;

typedef struct rf_memory_folder rf_memory_folder;

/* Creates a folder of n files.
 *
 *   out        freed with rf_memory_folder_free; unchanged on error
 *   cost       the list of files only. When a model is opened, word embeddings are used in place if they are f32 or
 *              bf16 and aligned; all other weights are copied
 *   RF_EARG    no files; a file without a name or data; a duplicate name; a name that leads out of the folder ("/x",
 *              "a/../x")
 *   RF_ENOMEM  out of memory */
rf_status rf_memory_folder_new(const rf_ctx *ctx, const rf_memory_file file[], int64_t n, rf_memory_folder **out,
                               rf_error *why);

/* The path of the folder, valid for this context only. It belongs to the folder. */
const char *rf_memory_folder_path(const rf_memory_folder *f);

/* Free it after the models, tokenizers and pipelines that were opened from it, and before the context. NULL is
 * allowed. */
void rf_memory_folder_free(rf_memory_folder *f);

#ifdef __cplusplus
}
#endif
#endif
