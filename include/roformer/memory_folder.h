/* memory_folder.h — files in memory that are opened as a model folder is.
 *
 *     const rf_memory_file file[] = {{"config.json", config, config_size},
 *                                    {"vocab.txt", vocab, vocab_size},
 *                                    {"model.safetensors", weights, weights_size}};
 *     rf_memory_folder_new(ctx, file, 3, &folder, &why);
 *     rf_pipeline_open(ctx, rf_memory_folder_path(folder), RF_F32, &p, &why);
 *
 * A server that carries its model inside its program, or a binding that was handed bytes, gives the files of the model
 * folder by their names.  The path that it gets in return stands for the folder wherever this context reads one:
 * models, pipelines, answerers, tokenizers, configs and weights.  Nothing is written there.  The messages of errors
 * name files below that path.
 *
 * threads   as a context: any number of threads may use the folder; it is closed by one, when no other opens it      */
#ifndef ROFORMER_MEMORY_FOLDER_H
#define ROFORMER_MEMORY_FOLDER_H

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_memory_file {
    const char *name;           /* in the folder: "config.json", "1_Pooling/config.json"; copied                     */
    const void *data;           /* [size] bytes, lent until the folder and all models opened from it are closed      */
    size_t size;
} rf_memory_file;

typedef struct rf_memory_folder rf_memory_folder;

/* A folder of n files.
 *
 *   out        freed with rf_memory_folder_free; untouched on error
 *   cost       the list alone.  Word embeddings stay where they are if they are f32 or bf16 at an address of their
 *              alignment; all other weights are copied
 *   RF_EARG    no files, one without a name or data, a name that leaves the folder ("/x", "a/../x"), the same one
 *              twice
 *   RF_ENOMEM                                                                                                        */
rf_status rf_memory_folder_new(const rf_ctx *ctx, const rf_memory_file file[], int64_t n, rf_memory_folder **out,
                               rf_error *why);

/* The path that stands for it, of this context alone; the folder's. */
const char *rf_memory_folder_path(const rf_memory_folder *f);

/* After the models, tokenizers and pipelines that were opened from it; before the context.  NULL is fine. */
void rf_memory_folder_free(rf_memory_folder *f);

#ifdef __cplusplus
}
#endif
#endif
