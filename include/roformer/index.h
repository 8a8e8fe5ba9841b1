/* index.h — an index of text embeddings in a folder, and exact nearest-neighbor search.
 *
 *     if (rf_index_create(ctx, "articles.index", &options, &w, &why)) ...
 *     if (rf_index_add(w, vectors, text, NULL, n, NULL, &why)) ...        any number of times, with bounded memory
 *     if (rf_index_finish(w, &why)) ...
 *     if (rf_index_open(ctx, "articles.index", &index, &why)) ...
 *     if (rf_index_search(index, query, 10, &hit, &hits, &why)) ...
 *
 * A search first compares all vectors in int8. An error bound for the rounding is stored with each vector. All texts
 * that could be among the nearest are then compared with their f32 vectors, so the result is that of an exhaustive f32
 * search. docs/formats.md describes the files; numpy and FAISS can read them.
 *
 * threads   a writer or an index may be used by one thread at a time; a search uses the workers of its context */
#ifndef ROFORMER_INDEX_H
#define ROFORMER_INDEX_H

#include "roformer/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RF_MAX_INDEX_DIMENSIONS = 65536 };

/* How the vectors were computed. The index stores this, so that query vectors can be computed the same way. */
typedef struct rf_index_options {
    size_t size;                /* of this struct, set by rf_index_defaults */
    int64_t dimensions;         /* numbers in a vector, 1 to RF_MAX_INDEX_DIMENSIONS; required */
    uint64_t fingerprint;       /* fingerprint of the model (rf_pipeline_fingerprint); default 0 */
    rf_pooling pooling;         /* one, or several (rf_pooling_join); default RF_POOL_MEAN */
    int64_t max_length;         /* texts were truncated to this many tokens; 0: never; -1 (default): to
                                   max_position_embeddings */
    const char *prompt;         /* UTF-8, the prompt put before every text; NULL: none */
    const char *model_name;     /* UTF-8, name of the model for display; NULL: none */
    rf_type type;               /* type that the model computed in (rf_pipeline_open); default RF_F32 */
    int skip_special_tokens;    /* as in rf_embed_options; default 0 */
    int layer_norm;             /* as in rf_embed_options; default 0 */
    const char *model_path;     /* UTF-8, folder of the model, for programs that open it with the index; NULL: none */
    int include_prompt;         /* as in rf_embed_options: 0 or 1 (default) */
} rf_index_options;
void rf_index_options_init(rf_index_options *o, size_t size);
#define rf_index_defaults(o) rf_index_options_init((o), sizeof *(o))

/* The options for an index of vectors from rf_embed_texts with the options `embed` (NULL: the defaults). `prompt`
 * belongs to the caller or the pipeline; model_name and model_path are NULL.
 *
 *   cost       all weights are read once (rf_pipeline_fingerprint)
 *   others     as rf_embed_resolve, rf_pipeline_fingerprint */
rf_status rf_index_options_of_sized(const rf_pipeline *p, const rf_embed_options *embed, rf_index_options *o,
                                    size_t size, rf_error *why);
#define rf_index_options_of(p, embed, o, why) rf_index_options_of_sized((p), (embed), (o), sizeof *(o), (why))

/* A hash of the model's weights and tokenizer. It does not depend on the type in which the weights are stored in
 * memory.
 *
 *   cost       all weights are read once
 *   others     as rf_weights_open */
rf_status rf_pipeline_fingerprint(const rf_pipeline *p, uint64_t *out, rf_error *why);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct rf_index_writer rf_index_writer;

/* Creates an index. The files are written to a temporary folder next to `folder` until rf_index_finish renames it, so
 * `folder` is either a complete index or does not exist.
 *
 *   folder     must not exist, or be empty
 *   out        ended with rf_index_finish or rf_index_discard
 *   RF_EARG    an option is out of range; `folder` exists
 *   RF_EIO     it cannot be written */
rf_status rf_index_create(const rf_ctx *ctx, const char *folder, const rf_index_options *options,
                          rf_index_writer **out, rf_error *why);

/* Appends texts and their vectors, which are normalized to length 1. A blank text (rf_utf8_blank) is counted but never
 * found, whatever its vector.
 *
 *   vectors    [n, dimensions]
 *   text       [n], with sizes in bytes (or NULL) as in pipeline.h; without line feeds
 *   bad        after RF_ENUMERIC or RF_EDATA, the index of the text, else -1; may be NULL. After an error none of the n
 *              texts has been appended
 *   RF_ENUMERIC   a vector is not finite or has length 0, so its cosine is undefined
 *   RF_EDATA      a text contains a line feed */
rf_status rf_index_add(rf_index_writer *w, const float *vectors, const char *const text[], const size_t bytes[],
                       int64_t n, int64_t *bad, rf_error *why);

/* Completes the files and renames the folder. The writer is freed in all cases; on failure, its files are deleted.
 *
 *   RF_EDATA   the index has no text
 *   RF_EIO     a file cannot be written; `folder` was created by another program meanwhile */
rf_status rf_index_finish(rf_index_writer *w, rf_error *why);
void rf_index_discard(rf_index_writer *w);                      /* NULL is allowed */

/* ---- searching --------------------------------------------------------------------------------------------------- */

typedef struct rf_index rf_index;

/* Opens an index.
 *
 *   out        closed with rf_index_close; unchanged on error
 *   cost       the files are memory-mapped; 16 bytes of each text are read
 *   RF_EIO     the index cannot be opened
 *   RF_EDATA   not an index, truncated or damaged; the message names the file. rf_checksums_verify checks every byte
 *   RF_EUNSUPPORTED   another version of the format */
rf_status rf_index_open(const rf_ctx *ctx, const char *folder, rf_index **out, rf_error *why);
void rf_index_close(rf_index *index);                           /* NULL is allowed */

int64_t rf_index_count(const rf_index *index);                  /* number of texts, including blank ones */
const rf_index_options *rf_index_made_with(const rf_index *index);      /* belongs to the index */

/* The options with which rf_embed_texts computes query vectors in the same way as the index's vectors, with length 1.
 * `prompt` belongs to the index. `p` must hold the same model: compare its fingerprint with that of
 * rf_index_made_with. */
void rf_index_query_options_sized(const rf_index *index, const rf_pipeline *p, rf_embed_options *o, size_t size);
#define rf_index_query_options(index, p, o) rf_index_query_options_sized((index), (p), (o), sizeof *(o))

/* The text with number `row`, from 0. It is not terminated by a zero and belongs to the index. */
const char *rf_index_text(const rf_index *index, int64_t row, size_t *bytes);

typedef struct rf_hit { int64_t row; double score; } rf_hit;

/* Finds the `top` texts with the largest <query, vector>, which is the cosine if the query has length 1. Results are in
 * order of falling score; ties in order of rising row. Sums are computed in double in a fixed order, so the bits are
 * the same on every machine and with any number of threads.
 *
 *   query      [dimensions]
 *   hit        [hits], fewer than `top` if the index has fewer texts; belongs to the index and is valid until its next
 *              search
 *   cost       memory: 4 bytes for each text; time: all of codes.npy is read, and the f32 vectors of the candidates
 *   RF_ENUMERIC   the query is not finite, or has length 0
 *   RF_EDATA   a vector of the index is not finite
 *   RF_EARG    top is below 1 */
rf_status rf_index_search(rf_index *index, const float *query, int64_t top, const rf_hit **hit, int64_t *hits,
                          rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
