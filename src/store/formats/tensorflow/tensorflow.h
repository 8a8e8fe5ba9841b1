/* tensorflow.h — checkpoints of TensorFlow's Saver (format V2, a "bundle") with the variables of Google's BERT:
 * those that the authors of RoFormer published.
 *
 *     NAME.index                  a sorted table (table.c): variable -> type, shape, place, checksum (bundle.c)
 *     NAME.data-00000-of-00001    the values, one file for each shard
 *     bert_config.json            sizes of the model; the variables determine its kind (config.c)
 *
 * Variables have the names of transformers' tensors when they leave this folder (names.c). */
#ifndef RF_STORE_TENSORFLOW_H
#define RF_STORE_TENSORFLOW_H

#include "base/bytes.h"
#include "store/store.h"

/* ---- table.c: sorted tables of LevelDB ---- */

typedef struct rf__bytes { const unsigned char *at; size_t size; } rf__bytes;
typedef rf_status rf__table_entry(void *user, rf__bytes key, rf__bytes value, rf_error *why);

bool rf__table_is(const unsigned char *data, size_t size);

/* Calls `one` for each entry in the order of keys.  RF_EDATA: the table is malformed, or a block's checksum is another;
 * RF_EUNSUPPORTED: a compressed block.  Messages begin with `name`. */
rf_status rf__table_each(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name,
                         rf__table_entry *one, void *user, rf_error *why);

/* ---- bundle.c ---- */

/* A variable, by its name in the checkpoint. */
typedef struct rf__variable {
    const char *name;
    const rf__dtype *dtype;             /* NULL: a type that safetensors does not have, such as strings               */
    int rank;
    int64_t dim[RF_MAX_RANK];
    uint64_t shard, offset, size;
    uint32_t crc;                       /* of its bytes                                                               */
    bool sliced;                        /* in parts: its values are those of several other entries                    */
} rf__variable;

typedef struct rf__bundle {
    const rf_ctx *ctx;
    rf__variable *variable;             /* in the order of names                                                      */
    size_t count, capacity;
    char *names;                        /* end to end                                                                 */
    size_t bytes, space;
    uint64_t shards;
} rf__bundle;

/* Reads the .index file, or its bytes.  Cleared by the caller, whatever is returned. */
rf_status rf__bundle_parse(const rf_ctx *ctx, rf__bytes index, const char *file, rf__bundle *out, rf_error *why);
rf_status rf__bundle_read(const rf_ctx *ctx, const char *index, rf__bundle *out, rf_error *why);
void rf__bundle_clear(rf__bundle *b);

/* ---- names.c ---- */

/* The kind of the model, which the variables determine. */
typedef struct rf__bundle_model {
    const char *prefix;                 /* of transformers' names: "bert.", "roformer." or "gau_alpha."               */
    bool absolute;                      /* vectors of positions                                                       */
    bool units;                         /* gated attention units: GAU-alpha                                           */
    bool biases;                        /* RoFormerV2 has none                                                        */
    bool decoder;                       /* the head that predicts words                                               */
    bool vector;                        /* a pooler without the task that BERT trains it with, as in SimBERT          */
    int64_t embedding_size;             /* columns of word_embeddings; 0: there are none                              */
} rf__bundle_model;

/* RF_EUNSUPPORTED: the variables are those of another model, which the message names. */
rf_status rf__bundle_examine(const rf__bundle *b, const char *file, rf__bundle_model *out, rf_error *why);

/* Whether the variable belongs to the model, and not to the optimizer or to the task of sentence pairs. */
bool rf__bundle_is_tensor(const rf__variable *v);

/* transformers' name of a variable; *transpose: the matrix is stored as [in, out]. */
void rf__bundle_name(const rf__variable *v, const char *prefix, char *out, size_t size, bool *transpose);

/* ---- values.c ---- */

/* The tensors of a shard, whose file is `data`; rf__header_clear.  RF_EDATA: bytes that are not in it, or not as many
 * as a shape needs. */
rf_status rf__bundle_values(const rf__bundle *b, const char *prefix, uint64_t shard, rf__bytes data, const char *file,
                            rf__header *out, rf_error *why);

/* ---- config.c ---- */

/* The index of a folder that has RF_FILE_TF_CONFIG: RF_FILE_TF_INDEX, else its only file *.index (NEZHA's has the
 * number of steps in its name); false: there is none, or there are several. */
bool rf__bundle_index(const rf_ctx *ctx, const char *folder, char *path, size_t size);

/* The same for a folder without config.json and without such a checkpoint that has RF_FILE_TF_CONFIG: with weights of
 * transformers it is a BERT; other files are refused by name.  *root NULL: it has no RF_FILE_TF_CONFIG. */
rf_status rf__bert_config(const rf_ctx *ctx, const char *folder, char path[RF_CONFIG_PATH], json_t **root,
                          rf_error *why);

/* What config.json would say of such a folder.  `path` becomes that of RF_FILE_TF_CONFIG, for messages; json_decref. */
rf_status rf__bundle_config(const rf_ctx *ctx, const char *folder, char path[RF_CONFIG_PATH], json_t **root,
                            rf_error *why);

#endif
