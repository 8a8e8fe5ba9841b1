/* jieba.h — internals of the tokenizer for Chinese words: normalized runs of text, encoding, learning.
 *
 *     jieba_runs.c      text -> runs between white space, normalized
 *     jieba.c           runs -> words of the dictionary -> tokens
 *     jieba_slow.c      text -> words -> tokens, as transformers' slow class
 *     jieba_bert4keras.c  the same, as bert4keras
 *     jieba_wobert.c    the same, as WoBertTokenizer
 *     jieba_words.c     tokens -> those that form a word
 *     jieba_trainer.c   words of a text with their counts -> a vocabulary                                            */
#ifndef RF_TEXT_JIEBA_H
#define RF_TEXT_JIEBA_H

#include "dictionary.h"
#include "text/wordpiece/wordpiece.h"

typedef struct jieba {
    rf_wordpiece pieces;                /* first, because hooks of WordPiece use this struct                          */
    rf_normal run;                      /* of runs between white space                                                */
    rf_normal told;                     /* of text between word boundaries (jieba_wobert.c)                           */
    rf_dictionary dictionary;
    int32_t *known;                     /* [units] the token of a word of the dictionary + 1; 0: none                 */
    int32_t *alone;                     /* [RF_DICTIONARY_PLANE] the same of a character                              */
    rf_jieba kind;                      /* whose character classes and total                                          */
    bool own;                           /* the dictionary belongs to the folder                                       */
} jieba;

/* ---- runs (jieba_runs.c) ----------------------------------------------------------------------------------------- */

/* Normalization of runs: that of words, except that Han characters and punctuation do not end a run. */
void rf__jieba_normal(rf_normal *out, const rf_tokenizer_options *options);

typedef struct rf_jieba_runs {
    rf_words words;                     /* of a run that normalization changes                                        */
    const rf_normal *normal;
    rf_passage passage;
    size_t at;
    bool inside, failed;                /* inside: `words` has more of a run; failed: no memory                       */
    char *lowered;
    size_t capacity;
} rf_jieba_runs;

void rf__jieba_runs_init(rf_jieba_runs *r, const rf_ctx *ctx);
void rf__jieba_runs_clear(rf_jieba_runs *r);
void rf__jieba_runs_start(rf_jieba_runs *r, const rf_normal *normal, const rf_passage *p);
bool rf__jieba_runs_next(rf_jieba_runs *r, rf_word *run);             /* false: the end, or failed                    */

/* ---- the slow class (jieba_slow.c) ------------------------------------------------------------------------------- */

typedef struct rf_jieba_slow {
    const rf_ctx *ctx;
    char *text;                         /* lower case; byte i comes from bytes [from[i], to[i]) of the text           */
    uint32_t *from, *to;
    size_t size, texts, froms, tos;
    uint32_t *first, *last;             /* the same of a word                                                         */
    size_t firsts, lasts;
    rf_words words;
    char *part;                         /* a word of it, as bert4keras segments it                                    */
    size_t parts;
} rf_jieba_slow;

void rf__jieba_slow_init(rf_jieba_slow *s, const rf_ctx *ctx);
void rf__jieba_slow_clear(rf_jieba_slow *s);
bool rf__jieba_slow_add(rf_jieba_slow *s, uint32_t c, size_t from, size_t to);

/* A word of s->text, with the bytes of the text that it comes from. */
bool rf__jieba_slow_trace(rf_jieba_slow *s, rf_word *w);

/* Appends a word of the vocabulary as one token, and calls `put_rest` for bytes [from, to) of another word. */
typedef bool rf_jieba_put_pieces(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, size_t from,
                                 size_t to);
bool rf__jieba_slow_cut(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, rf_jieba_cutter *cut,
                        rf_jieba_put_pieces *put_rest);
bool rf__jieba_slow_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s, rf_piecer *piecer,
                           rf_jieba_cutter *cut);
bool rf__jieba_bert4keras_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s,
                                 rf_piecer *piecer, rf_jieba_cutter *cut);
void rf__jieba_wobert_normal(rf_normal *out, const rf_normal *of);
bool rf__jieba_wobert_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s, rf_piecer *piecer,
                             rf_jieba_cutter *cut);

/* ---- words of tokens (jieba_words.c) ----------------------------------------------------------------------------- */

typedef struct rf_jieba_joined {
    char *text;
    size_t *begin;                      /* of each token                                                              */
    size_t size, capacity, begins;
} rf_jieba_joined;

void rf__jieba_joined_clear(rf_jieba_joined *s, const rf_ctx *ctx);
bool rf__jieba_find_joined(const jieba *t, const int32_t id[], size_t n, uint8_t joined[], rf_jieba_joined *s,
                           rf_jieba_cutter *cut);

/* ---- the tokenizer (jieba.c) and its training (jieba_trainer.c) -------------------------------------------------- */

extern const rf_tokenizer_row rf__tokenizer_jieba;
extern const rf_tokenizer_training rf__jieba_training;

/* The named dictionary, or the one of the context; NULL: neither. */
static inline const char *rf__jieba_dictionary(const rf_tokenizer_train_options *o, const rf_ctx *ctx)
{
    return o->dictionary ? o->dictionary : ctx->dictionary;
}

/* A tokenizer of a vocabulary in memory, with the trainer's dictionary.  A named dictionary is saved with it. */
rf_status rf__jieba_learned(const rf_tokenizer_trainer *from, const char *vocab, size_t size,
                            const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why);

#endif
