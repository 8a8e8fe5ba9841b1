/* store.h — shared by the files of the store module: the header of a safetensors file, the parts of config.json. */
#ifndef RF_STORE_H
#define RF_STORE_H

#include "base/json.h"
#include "roformer/checkpoint.h"
#include "store/tensors.h"

enum {
    RF__MAX_HEADER = 100000000,     /* bytes: the limit of the reference implementation                            */
    RF__MAX_TENSORS = 65536,
    RF__MAX_SHARDS = 1024
};

/* A data type, by its name in safetensors. readable: it is converted to `type` in memory. */
typedef struct rf__dtype { const char *name; unsigned bits; bool readable; rf_type type; } rf__dtype;
const rf__dtype *rf__dtype_of(const char *name);                 /* NULL: not a type of the format                    */

/* The tensors of a file, checked completely against the `size` bytes at `data`. */
typedef struct rf__header {
    rf_weight *tensor;              /* in the order of their data; names point into `names`, data into the file    */
    size_t count;
    char *names;
    json_t *metadata;               /* object of strings, or NULL                                                  */
    int64_t *stride;                /* RF_MAX_RANK for each tensor, or NULL                                        */
    uint32_t *crc;                  /* checksum of each tensor's bytes (rf__masked_crc), or NULL: the file has none */
} rf__header;

rf_status rf__header_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                          rf_error *why);
void rf__header_clear(const rf_ctx *ctx, rf__header *h);

/* The same for files of torch.save: a zip, or the older format of consecutive pickles (torch.c). */
bool rf__torch_is(const unsigned char *data, size_t size);
rf_status rf__torch_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                         rf_error *why);

/* The same for an HDF5 file, the tf_model.h5 of transformers 4 (hdf5.c). */
bool rf__hdf5_is(const unsigned char *data, size_t size);
rf_status rf__hdf5_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                        rf_error *why);

/* The object in a config.json, or in that of a folder, which the caller gives back; `path` becomes the file's.
 * of_root: the config that it holds, into `size` bytes of `out`. */
enum { RF_CONFIG_PATH = 4096 };
bool rf__config_there(const rf_ctx *ctx, const char *folder);     /* config.json, or the file that replaces it        */
rf_status rf__config_root(const rf_ctx *ctx, const char *given, char path[RF_CONFIG_PATH], json_t **root,
                          rf_error *why);
rf_status rf__config_of_root(const rf_ctx *ctx, const char *name, const json_t *root, rf_config *out, size_t size,
                             rf_error *why);

/* The same for a file in the folder `path`, or for the file `path`: weights next to it decide where they have to. */
rf_status rf__config_of_path(const rf_ctx *ctx, const char *path, const char *name, const json_t *root, rf_config *out,
                             size_t size, rf_error *why);

/* Checks whether a configuration can be computed (config_check.c). `name` begins the message: the file, or the
 * origin. */
rf_status rf__config_check_all(const rf_config *c, const char *name, rf_error *why);

/* RF_EARG: a list of a config made in memory is longer than its array, or a text is not terminated. */
rf_status rf__config_check_arrays(const rf_config *c, const char *name, rf_error *why);

/* Copies the config that a program passed, perhaps of an older header, over the defaults of its family. RF_EARG: it was
 * not initialized. */
rf_status rf__config_given(rf_config *own, const rf_config *given, rf_error *why);

/* The context stores copies of the lists. RF_ENOMEM. */
rf_status rf__config_keep(const rf_ctx *ctx, rf_config *c, rf_error *why);

const char *rf__config_act_name(rf_act act);                      /* the name in transformers; NULL: there is none    */

/* RF_EDATA: the value of a key does not have the type that `expected` names. */
rf_status rf__wrong_type(const char *file, const char *key, const json_t *v, const char *expected, rf_error *why);

/* Refuses what a family cannot follow: (key: "head_dim" or its like) a width of heads other than hidden_size /
 * num_attention_heads. */
rf_status rf__usual_head_width(const char *file, const json_t *root, const char *key, const rf_config *c,
                               rf_error *why);
rf_status rf__silu_alone(const char *file, const rf_config *c, rf_error *why);            /* functions except SiLU */

/* The settings of linear attention in config.json that are names: attention_type, feature_map, rotation_order
 * (config_attention.c). The numbers are keys of config.c. json: an object of those that differ from the defaults; NULL:
 * out of memory. */
rf_status rf__config_read_attention(const rf_ctx *ctx, const char *file, const json_t *root, rf_config *c,
                                    rf_error *why);
json_t *rf__config_attention_json(const rf_config *c);
char *rf__config_attention_text(const rf_config *c);              /* attention_type as text, freed with free()        */
rf_status rf__config_wrong_layers(int64_t n, const rf_config *c, const char *name, rf_error *why);
bool rf__config_linear_attention(const rf_config *c, int64_t layer);    /* layer -1: in any layer                     */

/* The settings of rotary positions in config.json (config_rope.c). The texts are freed with free(). */
bool rf__config_has_rope(const rf_config *c);
char *rf__config_rope_json(const rf_config *c);
char *rf__config_kinds_json(const rf_config *c);                          /* rope_parameters for each kind of layer   */
char *rf__config_thetas_json(const rf_config *c);

/* Messages about a config in memory begin with "config.json: "; this replaces it by the file (or the config.json of the
 * folder) that the config was read from. */
void rf__config_named(const rf_ctx *ctx, const char *path, rf_error *why);

/* Whether the two configs use positions in the same way. */
bool rf__config_same_positions(const rf_config *a, const rf_config *b);

/* Weights in int8 with scales (quantized.c). read_config: *out is RF__ALL_QUANTIZED or RF__WEIGHTS_QUANTIZED if
 * quantization_config exists and is supported, otherwise 0; RF_EUNSUPPORTED names the key of another scheme. json: that
 * key, for a folder in which the modules in `ignore` are not quantized. words: the word embeddings are. activations:
 * those of the matrices are.
 *
 *   rf__quantized         whether the tensor is a matrix in int8; scale of its rows, NULL: none that matches
 *   owner                 the int8 matrix that `t` is a scale or zero point of; NULL: none
 *   check                 before weights are read: its scales exist and are positive; OK for other tensors.
 *                         promised: config.json has a quantization_config
 *   spread                converts the integers in `to` to weights, in place
 *   rf__weights_codes     the integers, contiguous */
enum { RF__ALL_QUANTIZED = 1, RF__WEIGHTS_QUANTIZED };     /* rf_config.quantized: with or without activations */
rf_status rf__quantized_read_config(const char *file, const json_t *root, int *out, rf_error *why);
json_t *rf__quantized_json(const char *const *ignore, size_t n, bool words, bool activations);
bool rf__quantized(const rf_weight *t);
const rf_weight *rf__quantized_scale(const rf_weights *w, const rf_weight *t);
const rf_weight *rf__quantized_owner(const rf_weights *w, const rf_weight *t);
rf_status rf__quantized_check(const rf_ctx *ctx, const rf_weights *w, const rf_weight *t, bool promised, rf_error *why);
rf_status rf__quantized_spread(const rf_ctx *ctx, const rf_weights *w, const rf_weight *t, float *to, rf_error *why);
void rf__weights_codes(const rf_weight *t, int8_t *to);

/* rf_config_write, followed by the members of `more` that it does not write itself. Takes ownership of `more` (may be
 * NULL). */
rf_status rf__config_write_with(const rf_ctx *ctx, const char *folder, const rf_config *c, json_t *more, rf_error *why);

/* The members of a folder's config.json that a conversion keeps: all except those for the type of the weights, those
 * that rf__generation_keep keeps, those that are written in another form, and, with `without_ids`, ids of tokens.
 * json_decref. */
rf_status rf__config_kept(const rf_ctx *ctx, const char *folder, bool without_ids, json_t **out, rf_error *why);

/* RF_EDATA: a TensorFlow checkpoint has another checksum for the tensor's bytes. Called by rf__weights_read, and by
 * code that uses the bytes in place. */
rf_status rf__weights_check_sum(const rf_weights *w, const rf_weight *t, rf_error *why);

/* rf_weights_path, also for a folder in memory. */
rf_status rf__weights_file_of(const rf_ctx *ctx, const char *folder, char *path, size_t size, rf_error *why);

/* RF_EUNSUPPORTED: the folder has weights in a format that cannot be read; the message names it. */
rf_status rf__weights_foreign(const rf_ctx *ctx, const char *folder, rf_error *why);

extern const char *const rf__weight_files[];     /* the first that exists in a folder is used; NULL at the end     */
const char *rf__weights_name(const rf_weights *w);               /* the name of the opened file, without its folder   */

/* As rf_weights_open, for a file in memory that stays valid. */
rf_status rf__weights_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf_weights **out,
                                  rf_error *why);

/* rf__weights_write for tensors whose data is not in memory yet: if `data` is NULL, `fetch` is called with the index of
 * the tensor when it is written; the result must stay valid until the next call. If it returns NULL, writing fails.
 * With `fd` not NULL, neither the file nor its folder is synced: the caller does this and closes *fd, which is
 * unchanged if no file was created. A tensor whose type is RF__AS_IT_IS is written in the type and with the bytes of
 * the rf_weight that `data` points to, which has whole bytes and no strides. */
enum { RF__AS_IT_IS = 100 };
typedef const float *rf__fetch(void *user, size_t i, rf_error *why);
rf_status rf__weights_stream(const rf_ctx *ctx, const char *path, const rf_weight_out *tensor, size_t count,
                            const char *const *metadata, rf__fetch *fetch, void *user, int *fd, rf_error *why);

/* Checks a config. RF_EDATA as for rf_config_read. RF_EARG, for a config made by a program: it was not initialized, a
 * list is missing or too long, or a string is not terminated. */
rf_status rf__config_check(const rf_config *c, const char *name, rf_error *why);

/* Writes these files for a model of RF_HEAD_EMBED. rf__sentence_files lists their names in the folder, NULL at the
 * end. */
rf_status rf__sentence_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why);
const char *const *rf__sentence_files(const rf_config *c);

/* Copies these files unchanged from one folder to another. RF_FILE_SENTENCE gets a max_seq_length that only the
 * tokenizer's files have: rf__sentence_adds_length. */
rf_status rf__sentence_copy(const rf_ctx *ctx, const char *from, const char *to, rf_error *why);
rf_status rf__sentence_adds_length(const rf_ctx *ctx, const char *from, bool *out, rf_error *why);

#endif
