/* tokenizer_json.h — a tokenizer that is read from tokenizer.json:
 *
 *     tokenizer_json.c          opens a folder; ids to text
 *     tokenizer_json_parts.c    reads pre_tokenizer and post_processor
 *     tokenizer_json_encode.c   text to ids
 *     byte_level_encode.c       text to ids if the model is a byte-level BPE */
#ifndef RF_TOKENIZER_JSON_H
#define RF_TOKENIZER_JSON_H

#include "byte_level.h"
#include "normalizer.h"
#include "piece_decoder.h"
#include "piece_model.h"
#include "subwords.h"

#define BLANK "\xE2\x96\x81"
#define SPACE "\xC4\xA0"               /* a blank in byte-level BPE                                                  */

typedef enum scheme { ALWAYS, FIRST, NEVER } scheme;

typedef struct hf_tokenizer {
    rf_tokenizer base;
    rf__normalizer normal;
    rf__piece_model pieces;
    rf__piece_decoder decoder;
    bool white;                         /* words end at white space, which is dropped                                 */
    bool metaspace, split;              /* blanks become U+2581, before which words end                               */
    scheme before;                      /* which words get a leading one                                              */
    const rf__split *level;             /* byte-level: where words end; NULL: not byte-level                          */
    bool blank_first;                   /* byte-level: a passage without a leading blank gets one                     */
    uint32_t scalar[256];               /* byte-level: the visible character of each byte,                            */
    int32_t byte_id[256];               /* and its piece                                                              */
    rf__piece_trie normalized;          /* added tokens matched in normalized text, by their index among all          */
    bool opens[256];                    /* bytes that begin one of them                                               */
    char *file;                         /* as read                                                                    */
    size_t bytes;
} hf_tokenizer;

static inline const hf_tokenizer *as_hf(const rf_tokenizer *t) { return (const hf_tokenizer *)(const void *)t; }

/* Scratch of an encoding. */
typedef struct rf__hf_work {
    rf__mapped text, spare, word;
    rf__piece_scratch cut;
    struct rf__known *known;            /* words that were split before (byte_level_encode.c); or NULL                */
} rf__hf_work;

/* Byte-level: a passage; `normal`: its normalized text, or NULL if that is the passage itself. */
bool rf__level_encode(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf_passage *p,
                      const rf__mapped *normal);
void rf__level_forget(rf__hf_work *w);  /* what belongs to a tokenizer */

/* Members of the tokenizer's row. */
void *rf__hf_scratch(const rf_ctx *ctx, void *own, bool others);
void rf__hf_scratch_free(const rf_ctx *ctx, void *own);
bool rf__hf_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own);

/* pre_tokenizer: where words end. RF_EUNSUPPORTED: it gives words that the program does not. */
rf_status rf__hf_read_splitter(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x);

/* post_processor: the tokens around one text and between two. RF_EUNSUPPORTED: a form that the program has not. */
rf_status rf__hf_read_frame(rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x);

/* The tokenizer that a tokenizer.json of a BPE says. `name` is used in messages. */
rf_status rf__fast_bpe_of(const rf_ctx *ctx, const json_t *json, const char *name, rf_tokenizer **out, rf_error *why);

extern const rf_tokenizer_training rf__byte_level_training;                               /* byte_level_trainer.c */

#endif
