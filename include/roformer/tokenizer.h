/* tokenizer.h — text to ids and back: WordPiece, special tokens, and training a vocabulary.
 *
 * WordPiece's ids and offsets equal those of Hugging Face's `BertTokenizer` (tokenizers 0.23, transformers 5) under
 * RF_RULES_RUST, and ids those of the slow `BertTokenizer` (transformers 4.57) under RF_RULES_PYTHON.
 *
 * threads   an rf_tokenizer is immutable after opening and may be shared; an rf_encoding belongs to one thread     */
#ifndef ROFORMER_TOKENIZER_H
#define ROFORMER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_rules { RF_RULES_RUST, RF_RULES_PYTHON, RF_RULES_BERT4KERAS /* Chinese words alone */ } rf_rules;

typedef struct rf_tokenizer_options {
    size_t size;                /* of this struct, set by rf_tokenizer_defaults                                     */
    int lowercase;              /* do_lower_case; 1                                                                 */
    int strip_accents;          /* 1 yes, 0 no, -1: as lowercase; -1                                                */
    int han_split;              /* tokenize_chinese_chars; 1                                                        */
    rf_rules rules;             /* RF_RULES_RUST                                                                    */
    const char *unk, *cls, *sep, *pad, *mask;   /* NULL: "[UNK]" ...                                                */
    int max_word;               /* longest word in characters before it becomes [UNK]; 100                          */
} rf_tokenizer_options;
void rf_tokenizer_options_init(rf_tokenizer_options *o, size_t size);
#define rf_tokenizer_defaults(o) rf_tokenizer_options_init((o), sizeof *(o))

typedef struct rf_tokenizer rf_tokenizer;

/* Opens the tokenizer of a model folder.  tokenizer_class in tokenizer_config.json says its type, WordPiece where none
 * is named; the special and added tokens are there too, and settings of its own (docs/formats.md).  WordPiece reads
 * vocab.txt or, without it, tokenizer.json: WordPiece, BertNormalizer, BertPreTokenizer; sub-words are read from
 * spiece.model, or from a tokenizer.json with Unigram or BPE.
 *
 *   RF_EDATA        a file that is not what it must be; the message names file and line or key
 *   RF_EUNSUPPORTED another kind of tokenizer (tokenizer_class) or a part of tokenizer.json that is not known        */
rf_status rf_tokenizer_open(const rf_ctx *ctx, const char *folder, rf_tokenizer **out, rf_error *why);

/* The file by which a folder holds a tokenizer of a type that there is; NULL: it holds none. */
const char *rf_tokenizer_found(const rf_ctx *ctx, const char *folder);

/* The name of the i-th type ("wordpiece", ...), NULL past the last.  *learns (learns may be NULL): 1, it is learned
 * from text; 0, it is made of nothing; -1, neither: such tokenizers come with published folders. */
const char *rf_tokenizer_type(int i, int *learns);

/* One of a type that learns nothing.
 *
 *   RF_EARG         no such type
 *   RF_EUNSUPPORTED it is learned from text, or comes with published folders alone                                  */
rf_status rf_tokenizer_make(const rf_ctx *ctx, const char *type, rf_tokenizer **out, rf_error *why);

/* WordPiece from a vocabulary in memory: one token per line, id = line number from 0, of equal lines the last counts;
 * `name` is used in messages.  Rust rules end lines at \n and drop white space before it, Python rules end them at \n,
 * \r\n and \r and drop nothing.
 *
 *   RF_EDATA        empty, not UTF-8, or a special token is missing
 *   options         NULL: the defaults
 *   RF_EARG         options that were not filled in, or outside their limits                                         */
rf_status rf_tokenizer_new(const rf_ctx *ctx, const char *vocab, size_t size, const char *name,
                           const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why);
void rf_tokenizer_free(rf_tokenizer *t);

/* Writes rf_tokenizer_files, each replaced as a whole.  A file of another tokenizer that is there and could be read
 * instead (rf_tokenizer_displaces) is renamed to NAME.replaced (-2, ...).  `savable`, without writing: RF_EUNSUPPORTED
 * when the files could not keep this tokenizer. */
rf_status rf_tokenizer_save(const rf_tokenizer *t, const char *folder, rf_error *why);
rf_status rf_tokenizer_savable(const rf_tokenizer *t, const char *folder, rf_error *why);
const char *rf_tokenizer_displaces(const rf_tokenizer *t, const char *folder);      /* the first such file, or NULL */
const char *const *rf_tokenizer_files(const rf_tokenizer *t);                 /* by name, NULL at the end           */
const char *rf_tokenizer_transformers(const rf_tokenizer *t);   /* the class of transformers that reads them, or NULL */

int32_t rf_tokenizer_size(const rf_tokenizer *t);
const rf_tokenizer *rf_tokenizer_target(const rf_tokenizer *t);  /* a translator's, of what it writes; usually t     */
const rf_tokenizer_options *rf_tokenizer_options_of(const rf_tokenizer *t);   /* WordPiece's, complete; or NULL     */
const char *rf_tokenizer_token(const rf_tokenizer *t, int32_t id);            /* NULL when there is no such id      */
int32_t rf_tokenizer_id(const rf_tokenizer *t, const char *token);            /* -1 when not in the vocabulary      */
int32_t rf_tokenizer_unk(const rf_tokenizer *t);
int32_t rf_tokenizer_cls(const rf_tokenizer *t);
int32_t rf_tokenizer_sep(const rf_tokenizer *t);
int32_t rf_tokenizer_pad(const rf_tokenizer *t);
int32_t rf_tokenizer_mask(const rf_tokenizer *t);
int rf_tokenizer_is_special(const rf_tokenizer *t, int32_t id);
int rf_tokenizer_continues(const rf_tokenizer *t, int32_t id);                /* not the first of a word ("##...")  */
char *rf_tokenizer_describe(const rf_tokenizer *t);    /* a JSON object; freed with rf_text_free; NULL: no memory    */
uint64_t rf_tokenizer_fingerprint(const rf_tokenizer *t, uint64_t seed);      /* of all that ids depend on          */

/* Compiles dictionaries of words for tokenizers that cut Chinese text (RoFormerTokenizer): `texts` files in jieba's
 * format, "word frequency [tag]" on each line, of which the last one that has a word counts, to the file `path`, which
 * is mapped when it is used.  `name` is what tokenizer_config.json will call it.
 *
 *   RF_EDATA        a line that is not one, with its number; words of more than 64 characters; not UTF-8             */
rf_status rf_dictionary_compile(const rf_ctx *ctx, const char *const *text, size_t texts, const char *name,
                                const char *path, rf_error *why);

/* The result of encoding; storage grows and is used again from call to call. */
typedef struct rf_encoding {
    const rf_ctx *ctx;
    size_t n, capacity;
    int32_t *id;
    int32_t *type;              /* token type ids: 0 first text, 1 second                                            */
    uint32_t *start, *end;      /* bytes of the original text that the token came from; 0, 0 for added tokens        */
    uint8_t *added;             /* 1: put in by the template ([CLS], [SEP]), not found in the text                   */
    void *scratch;              /* the tokenizer's own                                                               */
} rf_encoding;
void rf_encoding_init(rf_encoding *e, const rf_ctx *ctx);
void rf_encoding_clear(rf_encoding *e);

enum {
    RF_ENCODE_PLAIN = 1,        /* without [CLS] and [SEP]                                                           */
    RF_ENCODE_APPEND = 2,       /* keep what `e` holds and append                                                    */
    RF_ENCODE_NO_SPECIALS = 4   /* "[MASK]" and the like inside text are plain text                                  */
};

/* Encodes one text, or a pair when `pair` is not NULL, as [CLS] A [SEP] ( B [SEP] ), cut to `limit` tokens in all
 * (0: no limit) as Hugging Face's longest_first does.  `*dropped` (or NULL) receives how many tokens were cut.
 *
 *   cost        linear in the bytes of text; no allocation once the encoding's storage has grown
 *   RF_EDATA    the text is not UTF-8; the message names the byte
 *   RF_EARG     a limit below what [CLS] and [SEP] take
 *   RF_ERANGE   a text of 4 GiB
 *   RF_ENOMEM   (after an error the encoding holds what it held before the call, or nothing)                         */
rf_status rf_encode(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                    size_t limit, int flags, rf_encoding *e, size_t *dropped, rf_error *why);

/* Another segmentation than the likeliest, for training that shall not depend on one (Kudo 2018, Provilkov et al.
 * 2020): of a unigram model one of the `nbest` best (below 0: of all) with a probability of p^alpha, of a BPE model one
 * that leaves merges out with probability alpha.  The same text and seed give the same tokens, whatever came before.
 * Otherwise as rf_encode without a limit.
 *
 *   RF_EUNSUPPORTED  a tokenizer with one segmentation alone
 *   RF_EARG          alpha not in 0 .. 1000, nbest 0 or above 512                                                   */
typedef struct rf_sample_options {
    size_t size;                /* of this struct, set by rf_sample_defaults                                         */
    int nbest;                  /* unigram: -1                                                                       */
    float alpha;                /* 0.1                                                                               */
    uint64_t seed;              /* 0                                                                                 */
} rf_sample_options;
void rf_sample_options_init(rf_sample_options *o, size_t size);
#define rf_sample_defaults(o) rf_sample_options_init((o), sizeof *(o))
rf_status rf_encode_sample(const rf_tokenizer *t, const char *text, size_t size, const rf_sample_options *options,
                           int flags, rf_encoding *e, rf_error *why);

/* The first byte at which `text` is not UTF-8 (shortest form, no surrogates, at most U+10FFFF); `size` when all is.
 * NULL is a text of no bytes. */
size_t rf_utf8_check(const char *text, size_t size);

/* 1: text without anything to read: white space (the property White_Space) and control characters (Cc, Cf) alone, or
 * nothing.  0: anything else, bytes that are not UTF-8 among it.  NULL is a text of no bytes. */
int rf_utf8_blank(const char *text, size_t size);

/* The end of a message about text that is not UTF-8: which older encoding it looks like and what converts it, or "".
 * Give it as much of the text as there is: a line.  Static storage. */
const char *rf_utf8_advice(const char *text, size_t size);

/* The text of ids, those outside the vocabulary left out, special tokens too if asked; `clean_up` tidies it by
 * transformers' list (clean_up_tokenization_spaces).  WordPiece joins pieces as transformers 5 does.  It ends with a
 * zero that *size (or NULL) does not count; freed with rf_text_free; NULL: no memory,
 * or no tokenizer or ids (`t` or `id` is NULL).
 *
 * The text of n tokens begins that of n + 1, but for U+FFFD at its end, which the next token may complete.           */
char *rf_decode(const rf_tokenizer *t, const int32_t id[], size_t n, int skip_special, int clean_up, size_t *size);
void rf_text_free(const rf_tokenizer *t, char *text);

/* ---- learning a tokenizer from text ------------------------------------------------------------------------------ */

typedef struct rf_tokenizer_train_options {
    size_t size;                /* of this struct, set by rf_tokenizer_train_defaults                                */
    int32_t tokens;             /* of the vocabulary, special ones included: 8192                                    */
    int32_t alphabet;           /* most different characters, the most frequent ones: 1000                           */
    uint64_t least;             /* what occurs less often becomes no token; 0: the type's own (WordPiece: pairs that
                                   occur 2 times; characters: 1); 0                                                  */
    uint64_t max_words;         /* different words kept in memory; the rarest are forgotten: 4,000,000               */
    double coverage;            /* sub-words: share of the text's characters that pieces are made of: 0.9995         */
    int byte_fallback;          /* sub-words: other characters become their bytes, not the unknown token: 0          */
    const char *normalization;  /* sub-words: "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"; NULL: first  */
    const rf_tokenizer_options *words;  /* WordPiece's; NULL: the defaults; its strings must outlive the trainer     */
    void (*progress)(void *user, int32_t done, int32_t tokens);     /* or NULL                                       */
    void *user;
    const char *base;           /* Chinese words: a vocab.txt whose tokens come first, cleaned; NULL: the text's
                                   characters come first                                                             */
    const char *dictionary;     /* ... and a compiled dictionary that goes with the tokenizer; NULL: the context's   */
} rf_tokenizer_train_options;
void rf_tokenizer_train_options_init(rf_tokenizer_train_options *o, size_t size);
#define rf_tokenizer_train_defaults(o) rf_tokenizer_train_options_init((o), sizeof *(o))

/* Which of these options a type's training goes by, besides `tokens`; -1: no type that learns from text. */
enum { RF_TRAIN_ALPHABET = 1, RF_TRAIN_LEAST = 2, RF_TRAIN_MAX_WORDS = 4, RF_TRAIN_WORDS = 8,
       RF_TRAIN_SUBWORDS = 16, RF_TRAIN_BASE = 32 };
int rf_tokenizer_type_uses(const char *type);

typedef struct rf_tokenizer_trainer rf_tokenizer_trainer;

/* A trainer for a type ("wordpiece", "jieba", "chars", "unigram", "bpe"), fed any number of texts, then finished once.
 * Texts are cut where they end: feed whole lines.  Deterministic: the same texts in one order give the same tokenizer.
 *
 *   options    NULL: the defaults
 *   RF_EARG          no such type, or an option outside its limits
 *   RF_EUNSUPPORTED  a type that learns nothing (rf_tokenizer_make); sub-words in a build without SentencePiece
 *   RF_EDATA         the text is not UTF-8, the message names the byte; or there was nothing to learn from           */
rf_status rf_tokenizer_trainer_new(const rf_ctx *ctx, const char *type, const rf_tokenizer_train_options *options,
                                   rf_tokenizer_trainer **out, rf_error *why);
rf_status rf_tokenizer_trainer_feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why);
/* Lines that were split because sub-words are learned from lines of at most 4,192 bytes, as SentencePiece's own program
 * has it: at blanks, or between characters where a stretch has none. */
int64_t rf_tokenizer_trainer_split_lines(const rf_tokenizer_trainer *t);
rf_status rf_tokenizer_trainer_finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why);
void rf_tokenizer_trainer_free(rf_tokenizer_trainer *t);        /* NULL is fine                                      */

/* ---- training a WordPiece vocabulary ---------------------------------------------------------------------------- */

typedef struct rf_vocab_trainer rf_vocab_trainer;

/* Counts words of all texts it is fed; memory is bounded by `max_words` different words (rarest are forgotten).  Texts
 * are cut into words where they end, so feed whole lines.  `options` NULL: the defaults; their strings must outlive the
 * trainer. */
rf_status rf_vocab_trainer_new(const rf_ctx *ctx, const rf_tokenizer_options *options, size_t max_words,
                               rf_vocab_trainer **out, rf_error *why);
rf_status rf_vocab_trainer_feed(rf_vocab_trainer *v, const char *text, size_t size, rf_error *why);

/* Learns `size` tokens: the five special ones, the characters (at most `alphabet`, most frequent first), then merges by
 * frequency of pairs until `size` is reached or no pair occurs `least` times.  `progress` may be NULL.
 * `*vocab` receives the text of vocab.txt, freed with rf_vocab_trainer_release.  Deterministic.                      */
rf_status rf_vocab_trainer_learn(rf_vocab_trainer *v, int32_t size, int32_t alphabet, uint64_t least,
                                 void (*progress)(void *user, int32_t done, int32_t size), void *user,
                                 char **vocab, size_t *bytes, rf_error *why);
void rf_vocab_trainer_release(rf_vocab_trainer *v, char *vocab);
void rf_vocab_trainer_free(rf_vocab_trainer *v);

#ifdef __cplusplus
}
#endif
#endif
