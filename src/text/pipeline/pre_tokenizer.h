/* pre_tokenizer.h — the pre-tokenizer of a tokenizer.json: a sequence of steps, each of which splits the words of the
 * step before it and may change their text.
 *
 *     pre_tokenizer.c           reads the member, runs the steps
 *     pre_split.c               the steps that only split: what they match, and the five behaviors */
#ifndef RF_TEXT_PRE_TOKENIZER_H
#define RF_TEXT_PRE_TOKENIZER_H

#include "regex.h"
#include "text/subword/byte_level.h"
#include "text/subword/normalizer.h"

typedef enum rf__prepend { RF_ALWAYS, RF_FIRST, RF_NEVER } rf__prepend;
typedef enum rf__behavior { RF_REMOVED, RF_ISOLATED, RF_MERGED_PREVIOUS, RF_MERGED_NEXT, RF_CONTIGUOUS } rf__behavior;

typedef struct rf__pre_step rf__pre_step;
typedef struct rf__pre_work rf__pre_work;
typedef struct rf__pre_word { size_t from, to; } rf__pre_word;
/* Reports the matches in bytes [from, to) of a text.  False: no memory, or a reason in `why`. */
typedef bool rf__pre_matcher(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                             rf_error *why);

struct rf__pre_step {
    rf__pre_matcher *match;             /* splits words; NULL: a step that changes the text                           */
    bool (*change)(const rf__pre_step *s, rf__pre_work *w, rf_error *why);
    rf__behavior behavior;
    bool invert;                        /* matches are what is between matches                                        */
    unsigned classes;                   /* of characters                                                              */
    char *text;                         /* that is searched, or that stands for a blank                               */
    size_t size;
    rf__regex *regex;
    const rf__split *known;             /* a regular expression with a function of its own                            */
    size_t length;                      /* characters of a word                                                       */
    rf__prepend prepend;                /* which words get the text before them                                       */
    bool splits, blank_first;           /* Metaspace: words end before the text; ByteLevel: a blank before words      */
};

typedef struct rf__pre_tokenizer {
    const rf_ctx *ctx;
    rf__pre_step *step;
    size_t n, capacity;
    size_t splits;                      /* so many steps at the beginning only split                                  */
} rf__pre_tokenizer;

/* Scratch.  `text` has the words, unless they belong to a text of the caller. */
struct rf__pre_work {
    const rf_ctx *ctx;
    rf__mapped text, spare;
    rf__pre_word *word, *next;          /* those of the step before, and of this one                                  */
    size_t n, capacity, next_n, next_capacity;
    struct rf__pre_match { size_t from, to; bool is; } *match;
    size_t matches, match_capacity;
    rf__regex_scan scan;                /* of the step, if it has a regular expression                                */
};

/* From the member "pre_tokenizer", which may be null; `path` is the name of the file. */
rf_status rf__pre_read(rf__pre_tokenizer *p, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why);
void rf__pre_clear(rf__pre_tokenizer *p);
bool rf__pre_is_byte_level(const rf__pre_step *s);
bool rf__pre_prepends(const rf__pre_tokenizer *p);        /* whether a Metaspace puts its text before words */
/* The behavior of a Split, "Isolated" and so on; false: none of the five. */
bool rf__pre_behavior(const json_t *x, rf__behavior *out);

/* Bytes [from, to) of a text become the only word. */
bool rf__pre_begin(rf__pre_work *w, const rf_ctx *ctx, size_t from, size_t to);               /* false: no memory     */
/* Runs the first `steps` steps on the words of `text`, or of w->text if `text` is NULL; with a text, steps only split.
 * False: no memory, or a reason in `why`. */
bool rf__pre_run(const rf__pre_tokenizer *p, size_t steps, rf__pre_work *w, const char *text, rf_error *why);
void rf__pre_work_clear(rf__pre_work *w);

/* ---- pre_split.c ------------------------------------------------------------------------------------------------- */

bool rf__pre_put(rf__pre_work *w, size_t from, size_t to);             /* a word of this step; empty ones are dropped */
void rf__pre_take(rf__pre_work *w);     /* the words of this step become those of the step before                    */
bool rf__pre_split(const rf__pre_step *s, rf__pre_work *w, const char *text, rf_error *why);
rf__pre_matcher rf__pre_match_classes, rf__pre_match_words, rf__pre_match_text, rf__pre_match_regex,
    rf__pre_match_known, rf__pre_match_scripts, rf__pre_match_lengths;

#endif
