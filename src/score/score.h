/* score.h — shared by the metrics: words and characters of a segment, counts of its n-grams, rows of metrics.
 *
 *     mt_tokenizers.c      text to words: sacreBLEU's tokenizers, lower case
 *     ngrams.c     words and n-grams as numbers, exactly, within a segment
 *     bleu.c chrf.c ter.c    one row each: counts of a segment, the score of summed counts
 *     resample.c   intervals and tests
 *     score.c      the calls of roformer/inspect/metrics.h                                                           */
#ifndef RF_TRANSLATION_SCORE_H
#define RF_TRANSLATION_SCORE_H

#include "base/base.h"
#include "roformer/inspect/metrics.h"
#include "text/unicode/unicode.h"
#include "score/sums.h"

typedef struct rf__points { uint32_t *at; size_t n, capacity; } rf__points;   /* numbers, often code points          */

/* Numbers pairs of numbers 1, 2, ... in the order of their first occurrence. */
typedef struct rf__pairs {
    uint64_t *key;
    uint32_t *id, *lap;                 /* lap: a slot is used if it has the lap of the table                         */
    size_t slots;
    uint32_t now, n;
} rf__pairs;

/* One worker's memory, reused for each segment. */
typedef struct rf__mt_scratch {
    const rf_ctx *ctx;
    const rf_mt_options *options;
    const rf_unicode *unicode;
    bool failed;                        /* no memory                                                                  */
    rf__points x, y;                    /* a text during tokenization                                                 */
    rf__points all;                     /* texts of the segment after tokenization                                    */
    rf__points word, begin, end;        /* hash: words by their code points in `all`; begin and end of word i         */
    rf__points symbol;                  /* texts as numbers of words, or as code points                               */
    rf__pairs gram;
    rf__points seen, count, most;       /* n-grams of a text, one after another; index by n-gram                      */
    rf__points edit[8];                 /* ter.c                                                                      */
} rf__mt_scratch;

void rf__mt_scratch_clear(rf__mt_scratch *s);
/* Reserves space for `more` numbers; false: no memory, which sets s->failed. */
bool rf__mt_reserve(rf__mt_scratch *s, rf__points *p, size_t more);

/* A text as symbols [from, from + n) of s->symbol. */
typedef struct rf__mt_symbols { size_t from, n; } rf__mt_symbols;

/* ---- mt_tokenizers.c --------------------------------------------------------------------------------------------- */

bool rf__mt_white(uint32_t c);                            /* where Python's split() splits                            */
/* s->x: the text's code points without trailing white space, in lower case on request. */
void rf__mt_load(rf__mt_scratch *s, const char *text, size_t size, bool lower);
/* From s->x to s->x. */
void rf__mt_tokenize(rf__mt_scratch *s, rf_mt_tokenizer t);

/* ---- ngrams.c ---------------------------------------------------------------------------------------------------- */

void rf__mt_segment_begin(rf__mt_scratch *s);
/* The words of s->x, split at white space; with `marks`, ASCII punctuation at the beginning or end of a word is a
 * separate word, as in chrF. */
rf__mt_symbols rf__mt_words_of(rf__mt_scratch *s, bool marks);
rf__mt_symbols rf__mt_chars_of(rf__mt_scratch *s);        /* the characters of s->x except white space                */

/* Appends the n-grams of a text, of orders 1 .. `orders` one after another, to s->seen; there are rf__mt_grams_n(t, k)
 * of order k.  `space`: n-grams of different spaces are never equal. */
void rf__mt_grams(rf__mt_scratch *s, rf__mt_symbols t, int orders, uint32_t space);
static inline size_t rf__mt_grams_n(rf__mt_symbols t, int order)
{
    return t.n >= (size_t)order ? t.n - (size_t)order + 1 : 0;
}
bool rf__mt_count_space(rf__mt_scratch *s);               /* s->count and s->most for all n-grams so far              */

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

typedef struct rf__mt_line { const char *text; size_t size; } rf__mt_line;

typedef struct rf__mt_row {
    const char *name;
    int (*counts)(const rf_mt_options *o);
    /* The counts of one segment. */
    void (*segment)(rf__mt_scratch *s, const rf__mt_line *system, const rf__mt_line *reference, int references,
                    int32_t *counts);
    /* The score of sums.  `single`: computed in single precision, as numpy does for resampled counts. */
    void (*score)(const rf_mt_options *o, int references, const int64_t *sum, bool single, rf_mt_score *out);
    /* The metric's own part of the signature. */
    void (*signature)(const rf_mt_options *o, char *out, size_t size);
} rf__mt_row;
extern const rf__mt_row rf__mt_bleu, rf__mt_chrf, rf__mt_ter;

/* x, or x rounded as numpy does after an operation on float32. */
static inline double rf__mt_round(double x, bool single) { return single ? (double)(float)x : x; }

struct rf_mt_result {
    const rf_ctx *ctx;
    rf_ctx *own;                        /* the context, if none was given                                             */
    rf_mt_options o;
    const rf__mt_row *row;
    int references, counts;
    int64_t n;
    int32_t *count;                     /* [n, counts]                                                                */
    char name[32];
};

#endif
