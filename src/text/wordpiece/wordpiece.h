/* wordpiece.h — internal: normalized words, and pieces of the vocabulary.
 *
 *     bytes -> scalars -> cleaned, decomposed, lowered -> words -> pieces of the vocabulary
 *              (words.c, unicode.c)                                (vocab.c)                                         */
#ifndef RF_TEXT_WORDPIECE_H
#define RF_TEXT_WORDPIECE_H

#include "text/tokenizer.h"
#include "text/word_key.h"

/* ---- words (words.c) --------------------------------------------------------------------------------------------- */

/* A normalized word.  Byte i of it comes from bytes [from[i], to[i]) of the text, or, if `from` is NULL, from byte at +
 * i.  `key` has the bytes of a word of at most RF_KEY, padded with zeros (no word contains a zero byte).             */
typedef struct rf_word {
    const char *text;
    size_t size, chars, at;
    const uint32_t *from, *to;
    uint64_t key[RF_KEY / 8];
} rf_word;

typedef struct rf_scalar { uint32_t c, from, to; uint8_t flags, class, added; } rf_scalar;
typedef struct rf_scalars { rf_scalar *at; size_t n, capacity; } rf_scalars;

/* The rules that split text into words; immutable, shared. */
typedef struct rf_normal {
    rf_unicode unicode;
    bool lowercase, strip, han, python;
    bool uncut;                         /* punctuation does not end a word                                           */
    uint8_t ascii[256];                 /* flags of a byte; RF_OTHER for those that need the general path            */
    const rf_added *whole;              /* words that Python rules keep whole if cleaning produces them              */
    size_t wholes;
} rf_normal;
enum { RF_OTHER = 128 };

void rf__normal_init(rf_normal *n, const rf_tokenizer_options *options);
void rf__normal_uncut(rf_normal *n);

/* Iterates over the words of valid UTF-8 text. */
typedef struct rf_words {
    const rf_ctx *ctx;
    const rf_normal *normal;
    const unsigned char *text;
    size_t at, end, limit;              /* the part [at, end) is processed; bytes up to `limit` may be read           */
    size_t plain;                       /* Python rules: up to here there is only plain ASCII                         */
    bool keep_whole, failed;            /* failed: out of memory                                                      */
    rf_scalars raw, ready;              /* a word before and after decomposition                                      */
    uint32_t *number;                   /* only scalars, for composition                                              */
    size_t numbers;
    char *byte;                         /* normalized bytes and their origins                                         */
    uint32_t *from, *to;
    size_t bytes, byte_capacity, from_capacity, to_capacity;
    struct { size_t begin, end, chars; } *cut;
    size_t cuts, cut_capacity, next;
    uint64_t small[4];                  /* a short ASCII word in lower case                                           */
} rf_words;

void rf__words_init(rf_words *w, const rf_ctx *ctx);
void rf__words_clear(rf_words *w);
void rf__words_start(rf_words *w, const rf_normal *normal, const char *text, size_t from, size_t to, size_t size);
bool rf__words_next(rf_words *w, rf_word *out);                       /* false: the end, or failed                   */
bool rf__words_push(rf_words *w, rf_scalars *to, rf_scalar s);
void rf__words_decompose(rf_words *w);                                /* raw -> ready                                */

/* ---- pieces (vocab.c) ------------------------------------------------------------------------------------------ */

typedef struct rf_slot { uint32_t tag; int32_t id; } rf_slot;
typedef struct rf_slots { rf_slot *at; size_t mask; size_t longest; } rf_slots;   /* longest: bytes of a token here   */

enum {
    RF_HIDDEN = 1,                      /* a later line has the same token, or the line is empty                      */
    RF_ALONE = 2                        /* an added token that is no piece: matched as a whole, only in raw text      */
};

typedef struct rf_vocab {
    const rf_ctx *ctx;
    char *text;                         /* all tokens, each followed by a zero                                        */
    size_t size;
    uint32_t *begin;                    /* [n + 1]: token i is text[begin[i] .. begin[i+1] - 1)                       */
    uint8_t *hidden;                    /* [n]: RF_HIDDEN, RF_ALONE or 0                                              */
    int32_t n;
    rf_slots whole, tail;               /* by the whole token; those with "##" by the text after it                   */
    uint64_t base, *power;              /* of the hash; base^i, i up to the longest word                              */
} rf_vocab;

/* Takes ownership of the three arrays, on failure too. */
rf_status rf__vocab_init(rf_vocab *v, const rf_ctx *ctx, char *text, size_t size, uint32_t *begin, uint8_t *hidden,
                         int32_t n, rf_error *why);
/* The tokens of a vocab.txt, and those of `added` whose ids follow. */
rf_status rf__vocab_lines(rf_vocab *v, const rf_ctx *ctx, const char *text, size_t size, const char *name,
                          rf_rules rules, const rf_added *added, size_t added_n, rf_error *why);
size_t rf__vocab_trimmed(const char *text, size_t from, size_t to);   /* where the trailing white space begins */
void rf__vocab_clear(rf_vocab *v);
int32_t rf__vocab_find(const rf_vocab *v, const char *text, size_t size);
static inline const char *rf__vocab_token(const rf_vocab *v, int32_t id) { return v->text + v->begin[id]; }
static inline size_t rf__vocab_token_size(const rf_vocab *v, int32_t id)
{
    return v->begin[id + 1] - v->begin[id] - 1;
}

/* Greedy longest match: ids and ends (bytes within the word) of the pieces, at most `size` of them; 0 if the word has
 * no pieces.  `hash` is scratch of size + 1.                                                                         */
size_t rf__vocab_pieces(const rf_vocab *v, const char *word, size_t size, uint64_t *hash, int32_t *id, uint32_t *end);

/* ---- the tokenizer (wordpiece.c, wordpiece_folder.c) ------------------------------------------------------------ */

typedef struct rf_wordpiece {
    rf_tokenizer base;
    rf_tokenizer_options options;       /* strings are ours                                                           */
    rf_vocab vocab;
    rf_normal normal;
    bool apart, uncleaned;              /* decoding: ## is kept; blanks before punctuation are kept                  */
    rf__saved_file file;                 /* what it was read from, if vocab.txt cannot represent it                   */
    bool any_class;                     /* ... whose class leaves everything to this file                             */
} rf_wordpiece;

/* ---- words put into an encoding (wordpiece.c) -------------------------------------------------------------------- */

typedef struct rf_piecer {
    rf_words words;
    struct rf_cached *cache;            /* from a short word to its pieces                                            */
    uint64_t *hash;
    int32_t *id;                        /* pieces: ids, and ends as bytes of the word                                 */
    uint32_t *end;
    size_t hashes, ids, ends;
} rf_piecer;

bool rf__piecer_init(rf_piecer *s, const rf_ctx *ctx);
void rf__piecer_forget(rf_piecer *s);                                 /* what belongs to a tokenizer                  */
void rf__piecer_clear(rf_piecer *s, const rf_ctx *ctx);

/* The pieces of a word as `id` and `end`, which have space for one per byte; 0: the whole word has none. */
typedef size_t rf_pieces_of(const rf_wordpiece *t, rf_piecer *s, const rf_word *w);
size_t rf__wordpieces(const rf_wordpiece *t, rf_piecer *s, const rf_word *w);

/* Appends a word's tokens.  A cache belongs to one `pieces`.  False: no memory. */
bool rf__put_word(const rf_wordpiece *t, rf_encoding *e, rf_piecer *s, const rf_word *w, rf_pieces_of *pieces);

/* roformer_rules by rf_rules; [RF_RULES_N] NULL. */
#define RF_WOBERT_CLASS "WoBertTokenizer"
enum { RF_RULES_N = RF_RULES_WOBERT + 1 };
extern const char *const rf__rules_name[RF_RULES_N + 1];

static inline const rf_wordpiece *rf__as_wordpiece(const rf_tokenizer *t)
{
    return (const rf_wordpiece *)(const void *)t;
}

/* Limits of the number of characters of a word. */
enum { RF_MAX_WORD = 10000, RF_MAX_WORD_USUAL = 100, RF_MAX_WORD_BERT4KERAS = 200 };

/* Makes a tokenizer from a vocabulary (which it takes ownership of, on failure too) and options with the names of the
 * special tokens. */
/* The given options (NULL: none) merged with the defaults. */
rf_status rf__tokenizer_options_read(rf_tokenizer_options *own, const rf_tokenizer_options *given, rf_error *why);

rf_status rf__wordpiece_make(const rf_ctx *ctx, const rf_tokenizer_row *row, rf_vocab *vocab,
                             const rf_tokenizer_options *options, const rf_tokenizer_parts *parts, rf_tokenizer **out,
                             rf_error *why);

/* Hooks of such a row. */
bool rf__wordpiece_encode(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *own);
void *rf__wordpiece_scratch(const rf_ctx *ctx, void *own, bool others);
void rf__wordpiece_scratch_free(const rf_ctx *ctx, void *own);
char *rf__wordpiece_decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size);
const char *rf__wordpiece_token(const rf_tokenizer *t, int32_t id);
int32_t rf__wordpiece_id(const rf_tokenizer *t, const char *token);
bool rf__wordpiece_continues(const rf_tokenizer *t, int32_t id);
size_t rf__wordpiece_normalize(const rf_tokenizer *t, uint32_t c, uint32_t out[RF_NORMAL_MOST]);
/* A scalar under Rust rules; a Han character has a space on each side if `han`. */
size_t rf__normal_scalar(const rf_normal *n, bool han, uint32_t c, uint32_t out[RF_NORMAL_MOST]);
uint64_t rf__wordpiece_fingerprint(const rf_tokenizer *t, uint64_t seed);
void rf__wordpiece_settings(const rf_tokenizer *t, json_t **config);
void rf__wordpiece_describe(const rf_tokenizer *t, json_t **about);
void rf__wordpiece_clear(rf_tokenizer *t);

/* The members of rows that differ only in their special tokens. */
#define RF_WORDPIECE_ROW                                                                                               \
    .size = sizeof(rf_wordpiece), .files_of = rf__wordpiece_files_of, .save = rf__wordpiece_save,                      \
    .settings = rf__wordpiece_settings,                                                                                \
    .describe = rf__wordpiece_describe, .fingerprint = rf__wordpiece_fingerprint, .clear = rf__wordpiece_clear,        \
    .encode = rf__wordpiece_encode, .scratch = rf__wordpiece_scratch, .scratch_free = rf__wordpiece_scratch_free,      \
    .decode = rf__wordpiece_decode, .token = rf__wordpiece_token, .id = rf__wordpiece_id,                              \
    .normalize = rf__wordpiece_normalize, .continues = rf__wordpiece_continues

extern const rf_tokenizer_row rf__tokenizer_wordpiece, rf__tokenizer_mpnet, rf__tokenizer_esm;
extern const rf_tokenizer_training rf__wordpiece_training;            /* vocab_trainer.c */

/* ---- training (vocab_trainer.c) ---------------------------------------------------------------------------------- */

typedef struct rf_vocab_trainer rf_vocab_trainer;

/* Counts the words of all texts that it is fed. At most `max_words` different words are kept in memory; the rarest are
 * dropped. The end of a text also ends a word, so feed whole lines. `options` NULL: the defaults; the strings must
 * outlive the trainer. */
rf_status rf__vocab_trainer_new(const rf_ctx *ctx, const rf_tokenizer_options *options, size_t max_words,
                                rf_vocab_trainer **out, rf_error *why);
rf_status rf__vocab_trainer_feed(rf_vocab_trainer *v, const char *text, size_t bytes, rf_error *why);

/* Learns a vocabulary of `size` tokens: the five special tokens, the characters (at most `alphabet`, most frequent
 * first), then the most frequent pairs, until `size` is reached or no pair occurs `least` times. `progress` may be
 * NULL. *vocab receives the text of vocab.txt, freed with rf__vocab_trainer_release. Deterministic. */
rf_status rf__vocab_trainer_learn(rf_vocab_trainer *v, int32_t size, int32_t alphabet, uint64_t least,
                                  void (*progress)(void *user, int32_t done, int32_t size), void *user,
                                  char **vocab, size_t *bytes, rf_error *why);
void rf__vocab_trainer_release(rf_vocab_trainer *v, char *vocab);
void rf__vocab_trainer_free(rf_vocab_trainer *v);

/* ---- folders ----------------------------------------------------------------------------------------------------- */

rf_status rf__wordpiece_open(rf_tokenizer_folder *f, rf_tokenizer **out);
/* The same for a row whose struct begins with an rf_wordpiece; its own members are zero. */
rf_status rf__wordpiece_open_as(rf_tokenizer_folder *f, const rf_tokenizer_row *row, rf_tokenizer **out);
/* The same from vocab.txt only, ignoring tokenizer.json. */
rf_status rf__wordpiece_open_lines(rf_tokenizer_folder *f, const rf_tokenizer_row *row, rf_tokenizer **out);
rf_status rf__wordpiece_save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why);
const char *const *rf__wordpiece_files_of(const rf_tokenizer *t);

#endif
