/* pairs.h — parallel text: line n of one file is the translation of line n of the other. As ids, and as batches of two
 * packed sides. */
#ifndef RF_PAIRS_H
#define RF_PAIRS_H

#include <stdio.h>

#include "data/corpus/pieces.h"
#include "roformer/model.h"
#include "roformer/tokenizer.h"
#include "text/languages.h"

enum { RF__SOURCE_SIDE, RF__TARGET_SIDE, RF__SIDES };

/* Limits of a pair. Lengths are in tokens without the start and end tokens; 0: no limit. */
typedef struct rf__pair_limits {
    int64_t max_length[RF__SIDES];
    double max_ratio;                   /* maximum ratio of the longer side to the shorter one                        */
    bool text[RF__SIDES];               /* the text of the side is stored as well                                     */
} rf__pair_limits;

/* Reasons for dropping a pair: a side without tokens, a side that is too long, sides of too different lengths. */
typedef enum rf__drop { RF__DROP_EMPTY, RF__DROP_LONG, RF__DROP_RATIO, RF__DROPS } rf__drop;
enum { RF__DROPS_LISTED = 5 };
typedef struct rf__dropped {            /* number of dropped pairs, and the first of them                             */
    uint64_t n, line[RF__DROPS_LISTED];
    int file[RF__DROPS_LISTED];
} rf__dropped;
typedef struct rf__dropped_pair {
    uint64_t line;
    uint32_t length[RF__SIDES];
    int file;
    rf__drop reason;
} rf__dropped_pair;

typedef struct rf__pairs {
    size_t n;
    int32_t *id[RF__SIDES];
    size_t *start[RF__SIDES];           /* [n+1] of id                                                                */
    char *text[RF__SIDES];              /* stored text: lines, each terminated by a zero                              */
    size_t *line[RF__SIDES];            /* [n+1] where they begin                                                     */
    rf__dropped dropped[RF__DROPS];
    rf__dropped_pair *drop;             /* all of them, in the order of the text                                      */
    size_t drops;
    uint64_t hash;                      /* of all ids                                                                 */
} rf__pairs;

/* Files of each side, number i of one parallel to number i of the other. */
typedef struct rf__pair_files { const char *const *path[RF__SIDES]; int n; } rf__pair_files;

/* Called with the number of pairs read so far; a value other than 0 ends the reading. */
typedef int rf__pairs_progress(void *user, size_t pairs);

/* Reads all files, plain or as .gz or .zst; targets with rf__tokenizer_target.
 *
 *   progress       or NULL
 *   RF_EDATA   two files have different numbers of lines, a line is not UTF-8 or above 64 MiB, no pair is left; the
 *              message names file and line
 *   RF_ESTOPPED  progress returned a value other than 0 */
rf_status rf__pairs_read(const rf_ctx *ctx, const rf_tokenizer *t, const rf__pair_files *files,
                         const rf__pair_limits *limits, rf__pairs_progress *progress, void *user, rf__pairs *out,
                         rf_error *why);
void rf__pairs_free(const rf_ctx *ctx, rf__pairs *p);

/* Passes on every line of every file, source and target alternating. */
typedef rf_status rf__pairs_line(void *user, const char *text, size_t size, rf_error *why);
rf_status rf__pairs_lines(const rf_ctx *ctx, const rf__pair_files *files, rf__pairs_line *each, void *user,
                          rf_error *why);

/* A sentence about the dropped pairs, or "" if there are none. */
const char *rf__pairs_dropped(const rf__pairs *p, const rf__pair_files *files, char *to, size_t size);

/* The same as lines of a table without its header: source file, line, reason, tokens of source and of target. false: a
 * write failed. */
bool rf__pairs_list_dropped(const rf__pairs *p, const rf__pair_files *files, FILE *to);

static inline size_t rf__pair_length(const rf__pairs *p, int side, size_t i)
{
    return p->start[side][i + 1] - p->start[side][i];
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* source:  ids end        target:  begin ids        label:  ids end        all three by token, pair after pair; some
 * models also have tokens before ids, in the source and in the label */
typedef struct rf__pair_batch {
    int64_t capacity, N[RF__SIDES], B;  /* maximum tokens of both sides together; number of tokens; number of pairs   */
    int32_t *id[RF__SIDES], *start[RF__SIDES], *label, *row;
} rf__pair_batch;

rf_status rf__pair_batch_new(const rf_ctx *ctx, int64_t capacity, rf__pair_batch *out, rf_error *why);
double rf__pair_batch_bytes(int64_t capacity);
void rf__pair_batch_free(const rf_ctx *ctx, rf__pair_batch *b);
rf_batch rf__pair_batch_side(const rf__pair_batch *b, int side);

/* The token before a target, and the tokens around every text, of which a target has one after it at least. */
typedef struct rf__pair_marks { int32_t begin; rf_around side[RF__SIDES]; } rf__pair_marks;
static inline rf__pair_marks rf__pair_marks_of(const rf_translation_frame *f)
{
    return (rf__pair_marks){f->start, {f->source, f->target}};
}

/* The position of a run in its pairs. */
typedef struct rf__pair_position { int64_t epoch, index; } rf__pair_position;

/* Subwords that are sampled again in each epoch (rf__encode_sample), from the stored texts of the pairs. */
typedef struct rf__pair_sampling {
    const rf_tokenizer *tokenizer;
    double alpha;
    uint64_t seed;
    int64_t most;                       /* maximum tokens of a side                                                   */
    rf_encoding e[RF__SIDES];
    rf_error why;                       /* the first error: out of memory                                             */
} rf__pair_sampling;
void rf__pair_sampling_init(rf__pair_sampling *x, const rf_ctx *ctx);
void rf__pair_sampling_clear(rf__pair_sampling *x);

/* Sampled tokens for each stored token, including start and end tokens, estimated from the first pairs. */
double rf__pairs_drawn(const rf__pairs *p, rf__pair_sampling *x);

/* Packs the next batch in the order of the epoch, until its end: a function of the pairs, the key, the sampling (or
 * NULL) and the position, which advances. Every pair of `p` fits into an empty batch. A batch without arrays is only
 * counted. */
void rf__pairs_pack(const rf__pairs *p, rf_key order, const rf__pair_marks *marks, rf__pair_sampling *sampling,
                    rf__pair_position *at, rf__pair_batch *b);

/* The same in the order of the text, from pair *at on, which advances. */
void rf__pairs_pack_in_order(const rf__pairs *p, const rf__pair_marks *marks, size_t *at, rf__pair_batch *b);

#endif
