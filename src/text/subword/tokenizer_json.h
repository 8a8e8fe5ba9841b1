/* tokenizer_json.h — a tokenizer that is read from tokenizer.json:
 *
 *     tokenizer_json.c          opens a folder; ids to text
 *     tokenizer_json_parts.c    reads pre_tokenizer
 *     tokenizer_json_encode.c   text to ids
 *     byte_level_encode.c       text to ids if the pre-tokenizer ends with ByteLevel and the model is a BPE */
#ifndef RF_TOKENIZER_JSON_H
#define RF_TOKENIZER_JSON_H

#include "byte_level.h"
#include "normalizer.h"
#include "piece_decoder.h"
#include "piece_model.h"
#include "subwords.h"
#include "text/pipeline/pre_tokenizer.h"

#define BLANK "\xE2\x96\x81"
#define SPACE "\xC4\xA0"               /* a blank in byte-level BPE                                                  */

typedef struct hf_tokenizer {
    rf_tokenizer base;
    rf__normalizer normal;
    rf__piece_model pieces;
    rf__piece_decoder decoder;
    rf__pre_tokenizer pre;
    const rf__split *level;             /* byte-level: where words end after the first `before` steps of `pre`;       */
    size_t before;                      /* NULL: not byte-level                                                       */
    bool blank_first;                   /* byte-level: a word without a leading blank gets one before it is split     */
    uint32_t scalar[256];               /* byte-level: the visible character of each byte,                            */
    int32_t byte_id[256];               /* and its piece                                                              */
    rf__piece_trie normalized;          /* added tokens matched in normalized text, by their index among all          */
    bool opens[256];                    /* bytes that begin one of them                                               */
    rf__saved_file file;
} hf_tokenizer;

static inline const hf_tokenizer *as_hf(const rf_tokenizer *t) { return (const hf_tokenizer *)(const void *)t; }

/* Scratch of an encoding. */
typedef struct rf__hf_work {
    rf__mapped normal;                  /* the normalized text                                                        */
    rf__pre_work pre;
    rf__piece_scratch cut;
    struct rf__known *known;            /* words that were split before (byte_level_encode.c); or NULL                */
} rf__hf_work;

/* Text [from, to) at `at`; bytes below `limit` may be read. */
typedef struct rf__level_text {
    const char *at;
    size_t from, to, limit;
    size_t first;                       /* the text's first token                                                     */
    const uint32_t *begin, *end;        /* for each byte the bytes of the raw text; NULL: it is the raw text, where   */
    const char *raw;                    /* byte from + i is raw[base + i], or, if a blank was inserted before the     */
    size_t base, raw_end, blank;        /* text, raw[base + i - 1]; the blank has the place of the next character     */
} rf__level_text;

/* Byte-level: bytes [from, to) of a normalized text, which contain no added token. */
bool rf__level_encode(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf_passage *p,
                      const rf__level_text *all, size_t from, size_t to);
void rf__level_forget(rf__hf_work *w);  /* what belongs to a tokenizer */
uint32_t rf__source_begin(const rf__level_text *s, size_t i); /* the bytes of the raw text that byte i comes from     */
uint32_t rf__source_end(const rf__level_text *s, size_t i);

/* The first added token of normalized text [begin, end), with the white space from byte `at` on that it absorbs; NULL:
 * none, then *from and *to are `end` (pipeline/added_tokens.c).  The search begins at *seek, which becomes the end of
 * what matched. */
const rf_added *rf__hf_next_added(const hf_tokenizer *t, const char *text, size_t begin, size_t at, size_t end,
                                  size_t *seek, size_t *from, size_t *to);

/* Members of the tokenizer's row. */
void *rf__hf_scratch(const rf_ctx *ctx, void *own, bool others);
void rf__hf_scratch_free(const rf_ctx *ctx, void *own);
bool rf__hf_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own);

/* pre_tokenizer: what splits words, and whether they are those of byte-level BPE. */
rf_status rf__hf_read_splitter(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x);

/* post_processor: the tokens around one text and between two (pipeline/post_processor.c). RF_EUNSUPPORTED: a form that
 * the program has not. */
rf_status rf__hf_read_frame(rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x);

/* The tokenizer that a tokenizer.json of a BPE says. `name` is used in messages. */
rf_status rf__fast_bpe_of(const rf_ctx *ctx, const json_t *json, const char *name, rf_tokenizer **out, rf_error *why);

extern const rf_tokenizer_training rf__byte_level_training;                               /* byte_level_trainer.c */

#endif
