/* mt_score.h — how good translations are: BLEU, chrF, TER, and whether one system is better than another.
 *
 * Scores, intervals and p-values are those of sacreBLEU 2.6 (Post 2018) for the same options and seed; texts are one
 * segment each, without line ends.
 *
 *     rf_mt_defaults(&o);
 *     if (rf_mt_evaluate(NULL, &o, &system, references, 1, n, &result, &why)) ...
 *     rf_mt_corpus(result, &score);                                  score.score is BLEU
 *     rf_mt_free(result);
 *
 * threads   an rf_mt_result is immutable; inside, segments and resamples are shared out among the context's workers  */
#ifndef ROFORMER_TRANSLATION_H
#define ROFORMER_TRANSLATION_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_mt_metric { RF_MT_BLEU, RF_MT_CHRF, RF_MT_TER } rf_mt_metric;

/* What BLEU takes for words: mteval-v13a's, mteval-v14's international ones, Chinese characters besides 13a's, every
 * character, what white space separates.  RF_MT_COMPOUNDS: text that is tokenized already, whose hyphens within words
 * become " ##AT##-##AT## " as in tensor2tensor's get_ende_bleu.sh; unsmoothed, that is multi-bleu.perl's BLEU. */
typedef enum rf_mt_words { RF_MT_13A, RF_MT_INTL, RF_MT_ZH, RF_MT_CHAR, RF_MT_NONE, RF_MT_COMPOUNDS } rf_mt_words;

/* What becomes of orders without a match (Chen and Cherry 2014): halved again for each one, a small count, one added
 * to all orders but the first, nothing. */
typedef enum rf_mt_smooth { RF_MT_EXP, RF_MT_FLOOR, RF_MT_ADD_K, RF_MT_UNSMOOTHED } rf_mt_smooth;

enum { RF_MT_ORDERS = 8 };      /* most words, or characters, of an n-gram                                           */

typedef struct rf_mt_options {
    size_t size;                /* of this struct, set by rf_mt_defaults                                             */
    rf_mt_metric metric;        /* RF_MT_BLEU                                                                        */
    int lowercase;              /* 1, 0; -1: as usual, which is 1 for TER; -1                                        */
    rf_mt_words words;          /* BLEU: RF_MT_13A                                                                   */
    rf_mt_smooth smooth;        /* BLEU: RF_MT_EXP                                                                   */
    double smooth_value;        /* RF_MT_FLOOR, RF_MT_ADD_K; -1: 0.1 and 1; -1                                       */
    int max_order;              /* BLEU: longest n-grams: 4                                                          */
    int effective_order;        /* BLEU: stop at the first order that the text has no n-gram of, for segments: 0     */
    int char_order;             /* chrF: 6                                                                           */
    int word_order;             /* chrF: 0; 2 is chrF++                                                              */
    int beta;                   /* chrF: how much recall counts: 2                                                   */
} rf_mt_options;
void rf_mt_options_init(rf_mt_options *o, size_t size);
#define rf_mt_defaults(o) rf_mt_options_init((o), sizeof *(o))

/* n texts; bytes NULL: up to their zeros. */
typedef struct rf_mt_texts { const char *const *text; const size_t *bytes; } rf_mt_texts;

typedef struct rf_mt_score {
    double score;               /* in per cent                                                                       */
    double precision[RF_MT_ORDERS];     /* BLEU: of each order, in per cent                                          */
    double brevity;             /* BLEU: the penalty                                                                 */
    int64_t length;             /* BLEU: words of the system                                                         */
    double edits;               /* TER                                                                               */
    double reference;           /* BLEU, TER: words of the references; the nearest length, the mean                  */
} rf_mt_score;

typedef struct rf_mt_result rf_mt_result;

/* What a score is made of, segment by segment.
 *
 *   ctx         NULL: a context of its own, with all defaults
 *   references  `count` of them (1 or more), of n texts each
 *   cost        4 bytes x 2 to 24 a segment
 *   RF_EDATA    a text is not UTF-8; the message names it by "system" or "reference 2" and its number from 1
 *   RF_EARG     no text, no reference, an option outside its limits                                                  */
rf_status rf_mt_evaluate(const rf_ctx *ctx, const rf_mt_options *options, const rf_mt_texts *system,
                         const rf_mt_texts references[], int count, int64_t n, rf_mt_result **out, rf_error *why);
void rf_mt_free(rf_mt_result *r);                               /* NULL is fine                                      */

void rf_mt_corpus(const rf_mt_result *r, rf_mt_score *out);
void rf_mt_segment(const rf_mt_result *r, int64_t i, rf_mt_score *out);         /* BLEU: set effective_order         */
const char *rf_mt_name(const rf_mt_result *r);                  /* "BLEU", "chrF2++", "TER"; "tokenized BLEU"        */

/* sacreBLEU's signature, "nrefs:1|case:mixed|...|version:2.6.0", which says what has to be the same for two scores to
 * be comparable; `more` ("bs:1000|seed:12345" or "") is put in where it belongs.  Ended by a zero, cut at `size`. */
void rf_mt_signature(const rf_mt_result *r, const char *more, char *out, size_t size);

/* ---- chance ------------------------------------------------------------------------------------------------------ */

typedef struct rf_mt_interval { double mean, half; } rf_mt_interval;            /* 95 %: mean - half .. mean + half  */

/* The scores of `samples` corpora of n segments that are drawn from these with replacement (Koehn 2004). */
rf_status rf_mt_bootstrap(const rf_mt_result *r, int64_t samples, uint64_t seed, rf_mt_interval *out, rf_error *why);

/* How probable so large a difference is if the systems are equally good: approximate randomization (Riezler and Maxwell
 * 2005) swaps segments between them, bootstrap resampling draws the same segments of both; this also gives the system's
 * interval.  Both of the same options and the same number of segments (RF_EARG). */
typedef enum rf_mt_test { RF_MT_RANDOMIZATION, RF_MT_PAIRED_BOOTSTRAP } rf_mt_test;
rf_status rf_mt_compare(const rf_mt_result *baseline, const rf_mt_result *system, rf_mt_test test, int64_t samples,
                        uint64_t seed, double *p, rf_mt_interval *interval, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
