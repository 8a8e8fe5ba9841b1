/* params.h — the parameters of an encoder and its head, in one slab.
 *
 * The rows of the family (family.h) and of the position encoding define names, shapes, initial values, weight decay,
 * loading and saving. */
#ifndef RF_PARAMS_H
#define RF_PARAMS_H

#include "model/params/param_row.h"
#include "roformer/checkpoint.h"
#include "store/tensors.h"

/* The layers of one stack: all layers, or those of the encoder, or of the decoder. Each stack has its own config, in
 * which the keys that exist for both sides (layers, heads, feed-forward, encoding, is_decoder) have the values of its
 * side. */
enum { RF_STACKS = 2 };
typedef struct rf_stack {
    rf_config config;
    const struct rf_position *position;     /* the encoding that its config names (position.h)                        */
    int first;                              /* number of its first layer                                              */
} rf_stack;

typedef struct rf_params {
    const rf_ctx *ctx;
    rf_config config;
    rf_head head;
    const struct rf_family *family;         /* the row that config names (family.h)                                   */
    const struct rf_position *position;     /* that of the first stack                                                */
    rf_stack stack[RF_STACKS];
    int stacks;
    size_t n, total;            /* parameters; floats of the slab, padding (zeros) included                           */
    size_t word;                /* the index of the word embeddings; the decoder's if each side has its own           */
    bool new_pooler;            /* files may lack the rows RF_ROW_POOLER; missing ones are not changed                */
    rf_param *p;
} rf_params;

/* The config of a stack. */
void rf__config_stack(const rf_config *c, int stack, rf_config *out);

/* The random features of linear attention, in each config, become those of a training step
 * (rf__linear_attention_draw). */
void rf__params_draw(rf_params *p, int64_t step);

/* Number of parameters that form one matrix with p[i], including itself: 3 for a query's, 0 for one that is joined to
 * another. */
size_t rf__params_span(const rf_params *p, size_t i);

/* With the language-model head: for masked tokens, or for a target. */
rf_status rf__params_new(const rf_ctx *ctx, const rf_config *config, rf_params *out, rf_error *why);

/* The same with another head. */
rf_status rf__params_new_head(const rf_ctx *ctx, const rf_config *config, rf_head head, rf_params *out, rf_error *why);
void rf__params_free(rf_params *p);

/* Normal(0, initializer_range) for matrices, row pad_token_id of the word embeddings zero; zeros and ones for the rest.
 * A pure function of config and seed. */
void rf__params_init(const rf_params *p, float *slab, uint64_t seed);

/* The same numbers, only for the head's parameters, before a file is read that may have no head: generating 124 million
 * takes about 4 s on one core, reading them 0.1 s. All other parameters are unchanged. */
void rf__params_init_head(const rf_params *p, float *slab, uint64_t seed);
void rf__param_init(const rf_params *p, size_t index, float *to, uint64_t seed);

/* Reads every parameter; accepts the spellings of names that the family lists. *has_head (or NULL): whether the head
 * exists; without it, the head's parameters are unchanged. `ignored` (or NULL) receives a comma-separated list of
 * unused tensors (rf__free it). One message names all tensors that are missing or have a wrong shape. */
rf_status rf__params_load(rf_params *p, const rf_weights *w, float *slab, bool *has_head, char **ignored,
                          rf_error *why);

/* Reads only the encoder, whatever head the file has, and existing rows RF_ROW_PRETRAINED. */
rf_status rf__params_load_encoder(rf_params *p, const rf_weights *w, float *slab, rf_error *why);

/* Whether p is stored in int8 with RF_I8: only the matrices of the layers are, not tables, and not the head's matrices,
 * which are few and close to the result. */
bool rf__param_in_int8(const rf_param *p);

/* The steps of loading, for callers without a slab: the tensor of a file for a parameter's name (NULL: none); for every
 * parameter (RF_EDATA lists those that are missing or have a wrong shape); and the names of the remaining tensors. */
const rf_weight *rf__params_find(const rf_params *p, const rf_weights *w, const char *name);
rf_status rf__params_match(rf_params *p, const rf_weights *w, const rf_weight **match, bool *has_head, rf_error *why);
char *rf__params_ignored(const rf_params *p, const rf_weights *w, const rf_weight *const *match);

/* Whether a tensor is a parameter, belongs to one in int8, or is known to be unused (`silent` of the family).
 * *memory becomes false if memory ran out. */
bool rf__params_use(const rf_params *p, const rf_weights *w, const rf_weight *const *match, const rf_weight *t,
                    bool *memory);

/* RF_EDATA: a copy of the word embeddings differs although config.json defines a single matrix; only checked if the
 * head uses it (tied.c). */
rf_status rf__params_tied(const rf_params *p, const rf_weights *w, const rf_weight *const *match, rf_error *why);

/* Whether a tensor is a position table that the configuration allows, or is no such table (position_table.c). */
rf_status rf__position_table(const rf_params *p, const rf_weights *w, const rf_weight *t, bool *known, rf_error *why);

/* Puts position tables of the file, or one of them, whose numbers are not the formula's into the configs of p.
 * RF_EDATA: one contradicts the configuration. */
rf_status rf__position_tables(rf_params *p, const rf_weights *w, rf_error *why);
rf_status rf__position_table_read(rf_params *p, const rf_weights *w, const rf_weight *t, rf_error *why);

/* Whether a tensor is a position table that the configs of p have, which is written with the parameters. */
bool rf__position_table_written(const rf_params *p, const char *name);

/* Frequencies that files contain besides their parameters, if they are not those of rope_theta, are put into the
 * configs of p (position_table.c). */
rf_status rf__position_frequencies(rf_params *p, const rf_weights *w, rf_error *why);

/* Rows of RF_ROW_REORDERED (by_head.c): `row` bytes each, from the order of files to that of the slab, or back. Other
 * parameters stay as they are. */
rf_status rf__param_reorder(const rf_params *params, const rf_param *p, void *x, size_t row, bool to_file,
                            rf_error *why);

/* Rows of RF_ROW_TRANSPOSED and RF_ROW_HEADS (transposed.c): a tensor of a file as it is here, with `stride` if it has
 * another form there, or t itself; [rows, columns] to [columns, rows]. */
rf_weight rf__as_here(const rf_param *p, const rf_weight *t, int64_t stride[2]);
void rf__transpose(float *to, const float *from, int64_t rows, int64_t columns);

/* The head of a causal reranker (answer_row.c): whether p is its row; the matrix of a file that it is computed from
 * (NULL: there is none of the right shape); the row. */
bool rf__is_answer_row(const rf_params *params, const rf_param *p);
const rf_weight *rf__answer_matrix(const rf_params *params, const rf_weights *w);
rf_status rf__answer_row_read(const rf_params *params, const rf_weights *w, const rf_weight *t, float *to,
                              rf_error *why);

/* The numbers of a tensor, or the integers and scales of one in int8, in the order of the slab. */
rf_status rf__param_read(const rf_params *params, const rf_param *p, const rf_weights *w, const rf_weight *t, float *to,
                         rf_error *why);
rf_status rf__param_codes(const rf_params *params, const rf_param *p, const rf_weights *w, const rf_weight *t,
                          int8_t *q, float *scale, rf_error *why);

/* Writes model.safetensors as transformers does: a head that is tied to the word embeddings is stored once.
 *
 *   scale    NULL, or for each parameter NULL or the scales of its rows: then the slab has its integers, which are
 *            written as I8, followed by the scales
 *   more     [extra] other tensors to write */
rf_status rf__params_save_scaled(const rf_params *p, const float *slab, float *const *scale, rf_type type,
                                 const rf_weight_out *more, size_t extra, const char *path, rf_error *why);
rf_status rf__params_save(const rf_params *p, const float *slab, rf_type type, const char *path, rf_error *why);

/* The same with fd not NULL: the caller syncs and closes the file; *fd is unchanged if it was not created. */
rf_status rf__params_write(const rf_params *p, const float *slab, rf_type type, const char *path, int *fd,
                           rf_error *why);

#endif
