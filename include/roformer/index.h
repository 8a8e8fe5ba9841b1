/* index.h — vectors of many texts in a folder, and the texts that are nearest to a query.
 *
 *     if (rf_index_create(ctx, "articles.index", &options, &w, &why)) ...
 *     if (rf_index_add(w, vectors, text, NULL, n, NULL, &why)) ...        again and again: memory is that of one call
 *     if (rf_index_finish(w, &why)) ...
 *
 *     if (rf_index_open(ctx, "articles.index", &index, &why)) ...
 *     if (rf_index_search(index, query, 10, &hit, &hits, &why)) ...
 *
 * A search looks at all vectors as int8 first.  Each comes with a bound on what that rounding may change, so that every
 * text that can be among the nearest is compared by its f32 vector: what is found is what comparing all of them finds.
 * docs/formats.md has the files; numpy and FAISS read them.
 *
 * threads   a writer, and an index, belong to one thread at a time; a search uses the workers of its context        */
#ifndef ROFORMER_INDEX_H
#define ROFORMER_INDEX_H

#include "roformer/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RF_MAX_INDEX_DIMENSIONS = 65536 };

/* Where vectors come from: kept with them, so that a query's vector can be made the same way. */
typedef struct rf_index_options {
    size_t size;                /* of this struct, set by rf_index_defaults                                          */
    int64_t dimensions;         /* numbers of a vector, 1 to RF_MAX_INDEX_DIMENSIONS; no default                     */
    uint64_t fingerprint;       /* of the model (rf_pipeline_fingerprint); 0                                         */
    rf_pooling pooling;         /* RF_POOL_MEAN                                                                      */
    int64_t max_length;         /* tokens; 0: no text was cut; -1: to max_position_embeddings; -1                    */
    const char *prompt;         /* UTF-8, what was put before every text; NULL: nothing                              */
    const char *model_name;     /* UTF-8, what people call the model; NULL: not said                                 */
    rf_type type;               /* what the model computed with (rf_pipeline_open): RF_F32                           */
} rf_index_options;
void rf_index_options_init(rf_index_options *o, size_t size);
#define rf_index_defaults(o) rf_index_options_init((o), sizeof *(o))

/* The options of an index of the vectors that rf_embed_texts makes with these options (NULL: the defaults); `prompt`
 * is the caller's or the pipeline's, model_name is NULL.
 *
 *   cost       all weights are read once (rf_pipeline_fingerprint)
 *   others     as rf_embed_settle, rf_pipeline_fingerprint                                                           */
rf_status rf_index_options_of_sized(const rf_pipeline *p, const rf_embed_options *embed, rf_index_options *o,
                                    size_t size, rf_error *why);
#define rf_index_options_of(p, embed, o, why) rf_index_options_of_sized((p), (embed), (o), sizeof *(o), (why))

/* A number that goes by the model's weights and tokenizer, whatever they are kept as in memory.
 *
 *   cost       all weights are read once                   others   as rf_weights_open                               */
rf_status rf_pipeline_fingerprint(const rf_pipeline *p, uint64_t *out, rf_error *why);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct rf_index_writer rf_index_writer;

/* Begins an index.  It lies beside `folder`, under a name of its own, until rf_index_finish: `folder` is a whole index
 * or is not there.
 *
 *   folder     must not exist, or be an empty folder       out      ended with rf_index_finish or rf_index_discard
 *   RF_EARG    options outside their limits; it exists     RF_EIO   it cannot be written                             */
rf_status rf_index_create(const rf_ctx *ctx, const char *folder, const rf_index_options *options,
                          rf_index_writer **out, rf_error *why);

/* Appends texts and their vectors, of any length above 0: they are scaled to length 1.  A blank text
 * (rf_utf8_blank) keeps its number and is never found, whatever its vector.
 *
 *   vectors    [n, dimensions]
 *   text       [n], with their sizes in bytes (or NULL) as in pipeline.h; without line feeds
 *   bad        (or NULL) with RF_ENUMERIC and RF_EDATA, which of the n texts; else -1.  Nothing of the call is appended
 *   RF_ENUMERIC   a vector is not finite, or has length 0 so that no cosine is defined
 *   RF_EDATA      a text that holds a line feed                                                                      */
rf_status rf_index_add(rf_index_writer *w, const float *vectors, const char *const text[], const size_t bytes[],
                       int64_t n, int64_t *bad, rf_error *why);

/* Completes the files and gives them their name.  The writer is gone in any case, on failure with what it wrote.
 *   RF_EDATA   there is no text in it        RF_EIO   a file cannot be written; `folder` has come to exist           */
rf_status rf_index_finish(rf_index_writer *w, rf_error *why);
void rf_index_discard(rf_index_writer *w);                      /* NULL is fine                                      */

/* ---- searching --------------------------------------------------------------------------------------------------- */

typedef struct rf_index rf_index;

/*   out        closed with rf_index_close; untouched on error
 *   cost       files are mapped; of n texts 16 n bytes are looked at
 *   RF_EIO     cannot be opened
 *   RF_EDATA   no index, one cut short or damaged; the message names the file.  rf_checksums_verify reads every byte
 *   RF_EUNSUPPORTED   of another format                                                                             */
rf_status rf_index_open(const rf_ctx *ctx, const char *folder, rf_index **out, rf_error *why);
void rf_index_close(rf_index *index);                           /* NULL is fine                                      */

int64_t rf_index_count(const rf_index *index);                  /* texts, blank ones included                        */
const rf_index_options *rf_index_made_with(const rf_index *index);      /* the index's                               */

/* The options by which rf_embed_texts makes a query's vector as those of the index were made, of length 1; `prompt` is
 * the index's.  `p` is of the same model: its fingerprint is that of rf_index_made_with. */
void rf_index_query_options_sized(const rf_index *index, const rf_pipeline *p, rf_embed_options *o, size_t size);
#define rf_index_query_options(index, p, o) rf_index_query_options_sized((index), (p), (o), sizeof *(o))

/* Text `row`, from 0; not ended by a zero; the index's. */
const char *rf_index_text(const rf_index *index, int64_t row, size_t *bytes);

typedef struct rf_hit { int64_t row; double score; } rf_hit;

/* The `top` texts of the largest <query, vector>, a cosine when the query has length 1: largest first, of equal ones
 * the smaller row first.  Sums are in double, in the order of the numbers: the same bits on every machine and with any
 * number of threads.
 *
 *   query      [dimensions]
 *   hit        [hits] the index's, until its next search; fewer than `top` where there are not so many texts
 *   cost       memory: 4 bytes a text; time: all of codes.npy is read, and vectors of those that may be among the top
 *   RF_ENUMERIC   the query is not finite, or has length 0
 *   RF_EDATA   a vector of the index is not finite         RF_EARG   top below 1                                     */
rf_status rf_index_search(rf_index *index, const float *query, int64_t top, const rf_hit **hit, int64_t *hits,
                          rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
