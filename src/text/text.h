/* text.h — the inside of floor 3: scalars, words, pieces.
 *
 *     bytes -> added tokens cut out -> scalars -> cleaned, decomposed, lowered -> words -> pieces of the vocabulary
 *              (encode.c)              (words.c, unicode.c)                                (vocab.c)                 */
#ifndef RF_TEXT_H
#define RF_TEXT_H

#include "base/base.h"
#include "roformer/tokenizer.h"

/* ---- scalars (unicode.c) --------------------------------------------------------------------------------------- */

/* What a set of rules thinks of a scalar; the bits of unicode_tables.inc. */
enum {
    RF_DROP = 1,      /* removed by cleaning                                                                          */
    RF_SPACE = 2,     /* ends a word                                                                                  */
    RF_HAN = 4,       /* a word of its own, when asked for                                                            */
    RF_PUNCT = 8,     /* a word of its own                                                                            */
    RF_MARK = 16,     /* nonspacing: removed with the accents                                                         */
    RF_MAPS = 32      /* utf8proc's decomposition, combining class and lower case hold                                */
};

typedef struct rf_unicode {
    const uint32_t *range, *lower;      /* unicode_tables.inc                                                        */
    size_t ranges, lowers;
    uint8_t flags[0x10000];             /* of the first plane, expanded from the ranges                              */
} rf_unicode;

void rf__unicode_init(rf_unicode *u, rf_rules rules);
unsigned rf__unicode_astral(const rf_unicode *u, uint32_t c);
static inline unsigned rf__unicode_flags(const rf_unicode *u, uint32_t c)
{
    return c < 0x10000 ? u->flags[c] : rf__unicode_astral(u, c);
}

/* How many scalars were written to `to`; `flags` are those of c. */
int rf__unicode_lower(const rf_unicode *u, uint32_t c, unsigned flags, uint32_t to[2]);
int rf__unicode_decompose(uint32_t c, unsigned flags, uint32_t to[4]);
unsigned rf__unicode_class(uint32_t c, unsigned flags);               /* canonical combining class                   */
size_t rf__unicode_compose(uint32_t c[], size_t n);                   /* canonical composition, in place             */
bool rf__unicode_white(uint32_t c);                                   /* the property White_Space                    */

/* The first byte at which `text` is not UTF-8 (shortest form, no surrogates, at most U+10FFFF); `size` when all is. */
size_t rf__utf8_check(const char *text, size_t size);

/* Reads one scalar of checked text and moves on; writes one and returns its bytes. */
static inline uint32_t rf__utf8_get(const unsigned char *text, size_t *at)
{
    const unsigned char *p = text + *at;
    if (p[0] < 0x80) return *at += 1, p[0];
    if (p[0] < 0xE0) return *at += 2, (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    if (p[0] < 0xF0) return *at += 3, (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    return *at += 4, (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}
size_t rf__utf8_put(uint32_t c, char to[4]);

/* ---- words (words.c) --------------------------------------------------------------------------------------------- */

enum { RF_KEY = 24 };                   /* longest word, in bytes, that the cache of words keeps                      */

/* A normalised word.  Byte i of it came from bytes [from[i], to[i]) of the text, or, when `from` is NULL, from byte
 * at + i.  `key` holds the bytes of a word of at most RF_KEY, filled up with zeros (no word holds a zero byte).      */
typedef struct rf_word {
    const char *text;
    size_t size, chars, at;
    const uint32_t *from, *to;
    uint64_t key[RF_KEY / 8];
} rf_word;

typedef struct rf_scalar { uint32_t c, from, to; uint8_t flags, class, added; } rf_scalar;
typedef struct rf_scalars { rf_scalar *at; size_t n, capacity; } rf_scalars;

/* An added token: found in the raw text before anything else is done to it. */
typedef struct rf_added {
    const char *text;
    size_t size;
    int32_t id;
    bool special, lstrip, rstrip;
} rf_added;

/* How text becomes words; immutable, shared. */
typedef struct rf_normal {
    rf_unicode unicode;
    bool lowercase, strip, han, python;
    uint8_t ascii[256];                 /* flags of a byte; RF_OTHER for those that need the long way                */
    const rf_added *whole;              /* words that python rules keep whole, when cleaning makes them              */
    size_t wholes;
} rf_normal;
enum { RF_OTHER = 128 };

void rf__normal_init(rf_normal *n, const rf_tokenizer_options *options);

/* Walks over the words of text that is known to be UTF-8. */
typedef struct rf_words {
    const rf_ctx *ctx;
    const rf_normal *normal;
    const unsigned char *text;
    size_t at, end, limit;              /* the part [at, end) is walked; bytes up to `limit` may be read              */
    size_t plain;                       /* python rules: up to here there is nothing but plain ASCII                  */
    bool keep_whole, failed;            /* failed: out of memory                                                      */
    rf_scalars raw, ready;              /* a word before and after decomposition                                      */
    uint32_t *number;                   /* scalars alone, for composition                                             */
    size_t numbers;
    char *byte;                         /* normalised bytes and where they came from                                  */
    uint32_t *from, *to;
    size_t bytes, byte_capacity, from_capacity, to_capacity;
    struct { size_t begin, end, chars; } *cut;
    size_t cuts, cut_capacity, next;
    uint64_t small[4];                  /* a short ASCII word, lowered                                                */
} rf_words;

void rf__words_init(rf_words *w, const rf_ctx *ctx);
void rf__words_clear(rf_words *w);
void rf__words_start(rf_words *w, const rf_normal *normal, const char *text, size_t from, size_t to, size_t size);
bool rf__words_next(rf_words *w, rf_word *out);                       /* false: the end, or failed                   */

/* ---- pieces (vocab.c) -------------------------------------------------------------------------------------------- */

typedef struct rf_slot { uint32_t tag; int32_t id; } rf_slot;
typedef struct rf_slots { rf_slot *at; size_t mask; size_t longest; } rf_slots;   /* longest: bytes of a token here   */

enum {
    RF_HIDDEN = 1,                      /* a later line holds the same token, or there is none                        */
    RF_ALONE = 2                        /* an added token that is no piece: found as a whole, in raw text only        */
};

typedef struct rf_vocab {
    const rf_ctx *ctx;
    char *text;                         /* all tokens, each followed by a zero                                        */
    size_t size;
    uint32_t *begin;                    /* [n + 1]: token i is text[begin[i] .. begin[i+1] - 1)                       */
    uint8_t *hidden;                    /* [n]: RF_HIDDEN, RF_ALONE or 0                                              */
    int32_t n;
    rf_slots whole, tail;               /* by the whole token; those with "##", by what follows it                    */
    uint64_t base, *power;              /* of the hash; base^i, i up to the longest word                              */
} rf_vocab;

/* Becomes the owner of the three arrays, on failure too. */
rf_status rf__vocab_init(rf_vocab *v, const rf_ctx *ctx, char *text, size_t size, uint32_t *begin, uint8_t *hidden,
                         int32_t n, rf_error *why);
/* The tokens of a vocab.txt, and those of `added` whose ids follow it. */
rf_status rf__vocab_lines(rf_vocab *v, const rf_ctx *ctx, const char *text, size_t size, const char *name,
                          rf_rules rules, const rf_added *added, size_t added_n, rf_error *why);
size_t rf__vocab_trimmed(const char *text, size_t from, size_t to);   /* where the white space at the end begins */
void rf__vocab_clear(rf_vocab *v);
int32_t rf__vocab_find(const rf_vocab *v, const char *text, size_t size);
static inline const char *rf__vocab_token(const rf_vocab *v, int32_t id) { return v->text + v->begin[id]; }
static inline size_t rf__vocab_token_size(const rf_vocab *v, int32_t id)
{
    return v->begin[id + 1] - v->begin[id] - 1;
}

/* Greedy longest match: ids and ends (bytes within the word) of the pieces, at most `size` of them; 0 when the word
 * has no pieces.  `hash` is scratch of size + 1.                                                                     */
size_t rf__vocab_pieces(const rf_vocab *v, const char *word, size_t size, uint64_t *hash, int32_t *id, uint32_t *end);

/* ---- the tokenizer (tokenizer.c, encode.c) --------------------------------------------------------------------- */

struct rf_tokenizer {
    const rf_ctx *ctx;
    rf_tokenizer_options options;       /* strings are ours                                                           */
    char *name[5];                      /* unk, cls, sep, pad, mask                                                   */
    int32_t special[5];
    rf_added *added;
    size_t added_n;
    bool fold;                          /* python rules: added tokens are found in lowered text                       */
    bool bare;                          /* no [CLS] and [SEP] around a text                                           */
    uint8_t opens[256];                 /* bytes with which an added token may begin                                  */
    int opener;                         /* that byte, when it is one only; otherwise -1                               */
    uint64_t mark;                      /* of this tokenizer and no other, ever: an encoding's cache belongs to it   */
    rf_vocab vocab;
    rf_normal normal;
};

enum { RF_MAX_WORD = 10000, RF_MAX_WORD_USUAL = 100 };    /* limits for the characters of a word                      */
enum { RF_UNK, RF_CLS, RF_SEP, RF_PAD, RF_MASK, RF_SPECIALS };

/* Whether nothing is put around a text, and whether the five special tokens are found in raw text. */
typedef struct rf_frame { bool none, found; } rf_frame;
#define RF_FRAME_USUAL ((rf_frame){false, true})

/* Makes a tokenizer of a vocabulary (of which it becomes the owner, on failure too) and options; `added` are tokens
 * besides the five (or the five again), their text is copied.                                                        */
rf_status rf__tokenizer_make(const rf_ctx *ctx, rf_vocab *vocab, const char *name, const rf_tokenizer_options *options,
                             const rf_added *added, size_t added_n, rf_frame frame, rf_tokenizer **out, rf_error *why);

/* What a tokenizer.json is called from the moment that vocab.txt is written beside it. */
#define RF__REPLACED "tokenizer.json.replaced"

/* RF_EUNSUPPORTED when rf_tokenizer_save would refuse this tokenizer.  `folder`, where it comes from: for messages. */
rf_status rf__tokenizer_savable(const rf_tokenizer *t, const char *folder, rf_error *why);

#endif
