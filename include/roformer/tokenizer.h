/* tokenizer.h — tokenizers: encode text as token ids, decode ids to text, and train a tokenizer.
 *
 * WordPiece produces the same ids and offsets as Hugging Face's `BertTokenizer` (tokenizers 0.23, transformers 5) with
 * RF_RULES_RUST, and the same ids as the slow `BertTokenizer` (transformers 4.57) with RF_RULES_PYTHON.
 *
 * threads   an rf_tokenizer never changes after it is opened and may be shared; an rf_encoding belongs to one thread */
#ifndef ROFORMER_TOKENIZER_H
#define ROFORMER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compatibility rules. The last two are for tokenizers of Chinese words only. */
typedef enum rf_rules { RF_RULES_RUST, RF_RULES_PYTHON, RF_RULES_BERT4KERAS, RF_RULES_WOBERT } rf_rules;

typedef struct rf_tokenizer_options {
    size_t size;                /* of this struct, set by rf_tokenizer_defaults */
    int lowercase;              /* do_lower_case; default 1 */
    int strip_accents;          /* 1: yes; 0: no; -1 (default): as `lowercase` */
    int han_split;              /* tokenize_chinese_chars; default 1 */
    rf_rules rules;             /* default RF_RULES_RUST */
    const char *unk, *cls, *sep, *pad, *mask;   /* special tokens; NULL: "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]" */
    int max_word;               /* a word of more characters becomes [UNK]; default 100 */
} rf_tokenizer_options;
void rf_tokenizer_options_init(rf_tokenizer_options *o, size_t size);
#define rf_tokenizer_defaults(o) rf_tokenizer_options_init((o), sizeof *(o))

typedef struct rf_tokenizer rf_tokenizer;

/* Opens the tokenizer of a model folder. tokenizer_config.json names its type (tokenizer_class; default WordPiece), its
 * special and added tokens and its settings (docs/formats.md). WordPiece is read from vocab.txt or, if there is none,
 * from a tokenizer.json with the parts WordPiece, BertNormalizer and BertPreTokenizer. Subword tokenizers are read from
 * spiece.model or from a tokenizer.json with a Unigram or BPE model.
 *
 *   RF_EDATA        a file is malformed; the message names the file and the line or key
 *   RF_EUNSUPPORTED another type of tokenizer (tokenizer_class), or an unknown part of tokenizer.json */
rf_status rf_tokenizer_open(const rf_ctx *ctx, const char *folder, rf_tokenizer **out, rf_error *why);

/* The name of the file that holds the folder's tokenizer; NULL: the folder has no tokenizer of a known type. */
const char *rf_tokenizer_found(const rf_ctx *ctx, const char *folder);

/* The name of tokenizer type number i ("wordpiece", ...); NULL for i past the last. *learns (learns may be NULL)
 * receives 1 if the type is trained on text, 0 if rf_tokenizer_make creates it without data, and -1 if such tokenizers
 * can only be read from published folders. */
const char *rf_tokenizer_type(int i, int *learns);

/* Creates a tokenizer of a type that needs no training data.
 *
 *   RF_EARG         there is no such type
 *   RF_EUNSUPPORTED the type is trained on text, or can only be read from published folders */
rf_status rf_tokenizer_make(const rf_ctx *ctx, const char *type, rf_tokenizer **out, rf_error *why);

/* Creates a WordPiece tokenizer from a vocabulary in memory: one token per line; its id is the line number, from 0; of
 * equal lines the last one counts. `name` is used in messages. With RF_RULES_RUST, lines end at \n, and white space
 * before it is dropped. With RF_RULES_PYTHON, lines end at \n, \r\n or \r, and nothing is dropped.
 *
 *   RF_EDATA        the vocabulary is empty or not UTF-8, or a special token is missing
 *   options         NULL: the defaults
 *   RF_EARG         the options were not initialized, or one is out of range */
rf_status rf_tokenizer_new(const rf_ctx *ctx, const char *vocab, size_t bytes, const char *name,
                           const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why);
void rf_tokenizer_free(rf_tokenizer *t);

/* rf_tokenizer_save writes the files that rf_tokenizer_files lists, each replaced atomically. If the folder has a file
 * of another tokenizer that would be read instead (rf_tokenizer_displaces), it is renamed to NAME.replaced
 * (NAME.replaced-2, ...). RF_EUNSUPPORTED: the files cannot represent this tokenizer. */
rf_status rf_tokenizer_save(const rf_tokenizer *t, const char *folder, rf_error *why);
const char *rf_tokenizer_displaces(const rf_tokenizer *t, const char *folder);      /* the first such file, or NULL */
const char *const *rf_tokenizer_files(const rf_tokenizer *t);                 /* file names, NULL at the end */

int32_t rf_tokenizer_size(const rf_tokenizer *t);
const rf_tokenizer_options *rf_tokenizer_options_of(const rf_tokenizer *t);   /* WordPiece; other types: NULL */
const char *rf_tokenizer_token(const rf_tokenizer *t, int32_t id);            /* NULL if there is no such id */
int32_t rf_tokenizer_id(const rf_tokenizer *t, const char *token);            /* -1 if it is not in the vocabulary */
/* The five special tokens; -1: the tokenizer has no such token. */
int32_t rf_tokenizer_unk(const rf_tokenizer *t);
int32_t rf_tokenizer_cls(const rf_tokenizer *t);
int32_t rf_tokenizer_sep(const rf_tokenizer *t);
int32_t rf_tokenizer_pad(const rf_tokenizer *t);
int32_t rf_tokenizer_mask(const rf_tokenizer *t);
int rf_tokenizer_is_special(const rf_tokenizer *t, int32_t id);
int rf_tokenizer_continues(const rf_tokenizer *t, int32_t id);                /* 1: it continues a word ("##...") */
int rf_tokenizer_places_pairs(const rf_tokenizer *t);  /* 1: the folder's chat template makes one text of a pair */

/* How a tokenizer reads a protein, a text of capital letters. */
typedef enum rf_residues {
    RF_RESIDUES_JOINED,         /* as it is: by residues (ESM-2), or by pieces of several */
    RF_RESIDUES_APART,          /* residues are words: blanks must separate them, or a protein is one unknown token
                                   (ProtBert, AntiBERTa2) */
    RF_RESIDUES_WORDS           /* by pieces of words of a language, which mean something else */
} rf_residues;
rf_status rf_tokenizer_residues(const rf_tokenizer *t, rf_residues *out, rf_error *why);

char *rf_tokenizer_describe(const rf_tokenizer *t);    /* a JSON object, freed with rf_text_free; NULL: out of memory */

/* Compiles dictionaries for tokenizers that segment Chinese words (RoFormerTokenizer). `text` names `texts` files in
 * jieba's format, "word frequency [tag]" on each line; if a word occurs several times, the last line counts. The result
 * is written to the file `path`, which is memory-mapped when used. `name` is how tokenizer_config.json will refer to
 * it.
 *
 *   RF_EDATA        a malformed line (the message has its number), a word of more than 64 characters, or not UTF-8 */
rf_status rf_dictionary_compile(const rf_ctx *ctx, const char *const *text, size_t texts, const char *name,
                                const char *path, rf_error *why);

/* The result of encoding. Its storage grows as needed and is reused by later calls. */
typedef struct rf_encoding {
    const rf_ctx *ctx;
    size_t n, capacity;
    int32_t *id;
    int32_t *type;              /* token type ids: 0 for the first text, 1 for the second */
    uint32_t *start, *end;      /* bytes of the original text that the token covers; 0, 0 for added tokens */
    uint8_t *added;             /* 1: added by the template ([CLS], [SEP]), not found in the text */
    void *scratch;              /* used by the tokenizer */
} rf_encoding;
void rf_encoding_init(rf_encoding *e, const rf_ctx *ctx);
void rf_encoding_clear(rf_encoding *e);

enum {
    RF_ENCODE_PLAIN = 1,        /* do not add [CLS] and [SEP] */
    RF_ENCODE_APPEND = 2,       /* append to what `e` holds */
    RF_ENCODE_NO_SPECIALS = 4,  /* treat "[MASK]" and the like in the text as plain text */
    RF_ENCODE_CUT_BEGIN = 8,    /* truncation removes the beginning of texts, */
    RF_ENCODE_CUT_END = 16,     /* or their end; with neither of them, as the tokenizer's folder says */
    RF_ENCODE_CUT_FIRST = 32    /* truncation of a pair removes tokens of the first text only (only_first); if none of
                                   its tokens would be left, nothing is removed */
};

/* Encodes a text as [CLS] A [SEP], or a pair as [CLS] A [SEP] B [SEP] if `pair` is not NULL. The result is truncated to
 * `limit` tokens (0: no limit), as with Hugging Face's longest_first. *dropped (dropped may be NULL) receives the
 * number of tokens that were removed.
 *
 *   cost        linear in the bytes of the text; no allocation once the encoding's storage is large enough
 *   RF_EDATA    the text is not UTF-8; the message names the byte
 *   RF_EARG     `limit` is smaller than the number of added tokens ([CLS] and [SEP])
 *   RF_ERANGE   the text has 4 GiB or more
 *   RF_ENOMEM   out of memory; after any error the encoding holds what it held before the call, or nothing */
rf_status rf_encode(const rf_tokenizer *t, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                    size_t limit, int flags, rf_encoding *e, size_t *dropped, rf_error *why);

/* Texts are given as `n` pointers and their sizes in bytes. If `bytes` is NULL, or a size is RF_STRING, the text ends
 * at its terminating zero. */
#define RF_STRING ((size_t)-1)

/* Encodes n texts, or pairs of texts, as rf_encode does, by all workers of the tokenizer's context. The tokens of text
 * i are those from start[i] to start[i + 1] - 1.
 *
 *   bytes, pair_bytes  sizes, as above
 *   pair        NULL: no pairs; pair[i] NULL: text i has none
 *   start       [n + 1], starts with 0
 *   bad         receives the index of the first text that cannot be encoded, -1 if there is none; `why` then describes
 *               the problem without the number of the text. NULL: `why` includes the number
 *   RF_EARG     `flags` has RF_ENCODE_APPEND
 *   others      as rf_encode; after an error the encoding holds nothing */
rf_status rf_encode_texts(const rf_tokenizer *t, const char *const text[], const size_t bytes[],
                          const char *const pair[], const size_t pair_bytes[], int64_t n, size_t limit, int flags,
                          rf_encoding *e, int64_t start[], int64_t *bad, rf_error *why);

/* The index of the first byte at which `text` is not valid UTF-8 (shortest form, no surrogates, at most U+10FFFF), or
 * `bytes` if all of it is valid. NULL counts as an empty text. */
size_t rf_utf8_check(const char *text, size_t bytes);

/* 1: the text is empty or consists of white space (property White_Space) and control characters (Cc, Cf). 0: it has
 * other characters, or bytes that are not UTF-8. NULL counts as an empty text. */
int rf_utf8_blank(const char *text, size_t bytes);

/* The last part of a message about text that is not UTF-8: the legacy encoding that it resembles and the command that
 * converts it, or "". Pass as much of the text as is available, for example a line. Static storage. */
const char *rf_utf8_advice(const char *text, size_t bytes);

/* The text of the ids. Ids outside the vocabulary are skipped, and with skip_special also special tokens. `clean_up`
 * applies the replacements of transformers' clean_up_tokenization_spaces. WordPiece tokens are joined as in
 * transformers 5. The text ends with a zero byte, which *bytes (bytes may be NULL) does not count. It is freed with
 * rf_text_free. NULL: out of memory, `t` or `id` is NULL, or a regular expression in the decoder of a tokenizer.json
 * needs too many steps for this text.
 *
 * The text of n tokens is a prefix of the text of n + 1 tokens, except that a final U+FFFD may be completed by the next
 * token. */
char *rf_decode(const rf_tokenizer *t, const int32_t id[], size_t n, int skip_special, int clean_up, size_t *bytes);
void rf_text_free(const rf_tokenizer *t, char *text);

/* ---- training a tokenizer ---------------------------------------------------------------------------------------- */

typedef struct rf_tokenizer_train_options {
    size_t size;                /* of this struct, set by rf_tokenizer_train_defaults */
    int32_t tokens;             /* size of the vocabulary, including special tokens; default 8192 */
    int32_t alphabet;           /* maximum number of different characters, the most frequent first; default 1000 */
    uint64_t least;             /* minimum frequency of a new token; 0 (default): that of the type (WordPiece: 2 for
                                   a pair; characters: 1) */
    uint64_t max_words;         /* maximum number of different words in memory; the rarest are dropped; default
                                   4,000,000 */
    double coverage;            /* subwords: fraction of the text's characters that the vocabulary covers; default
                                   0.9995 */
    int byte_fallback;          /* subwords: 1: encode other characters as bytes instead of the unknown token;
                                   default 0 */
    const char *normalization;  /* subwords: "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"; NULL: the
                                   first */
    const rf_tokenizer_options *words;  /* options of WordPiece; NULL: the defaults; the strings must outlive the
                                           trainer */
    void (*progress)(void *user, int32_t done, int32_t tokens);     /* may be NULL */
    void *user;
    const char *base;           /* Chinese words: a vocab.txt whose tokens come first, after cleaning; NULL: the
                                   characters of the text come first */
    const char *dictionary;     /* Chinese words: compiled dictionary to save with the tokenizer; NULL: the context's */
} rf_tokenizer_train_options;
void rf_tokenizer_train_options_init(rf_tokenizer_train_options *o, size_t size);
#define rf_tokenizer_train_defaults(o) rf_tokenizer_train_options_init((o), sizeof *(o))

/* Which of these options the training of a type uses, besides `tokens`, as a sum of flags; -1: no type of this name is
 * trained on text. */
enum { RF_TRAIN_ALPHABET = 1, RF_TRAIN_LEAST = 2, RF_TRAIN_MAX_WORDS = 4, RF_TRAIN_WORDS = 8,
       RF_TRAIN_SUBWORDS = 16, RF_TRAIN_BASE = 32 };
int rf_tokenizer_type_uses(const char *type);

typedef struct rf_tokenizer_trainer rf_tokenizer_trainer;

/* A trainer for a type ("wordpiece", "jieba", "chars", "unigram", "bpe", "bytelevel"). Feed it any number of texts,
 * then finish it once. The end of a text also ends a word, so feed whole lines. Deterministic: the same texts in the
 * same order give the same tokenizer.
 *
 *   options    NULL: the defaults
 *   RF_EARG          there is no such type, or an option is out of range
 *   RF_EUNSUPPORTED  the type is not trained (rf_tokenizer_make); a subword type in a build without SentencePiece
 *   RF_EDATA         the text is not UTF-8 (the message names the byte), or there was no text to learn from */
rf_status rf_tokenizer_trainer_new(const rf_ctx *ctx, const char *type, const rf_tokenizer_train_options *options,
                                   rf_tokenizer_trainer **out, rf_error *why);
rf_status rf_tokenizer_trainer_feed(rf_tokenizer_trainer *t, const char *text, size_t bytes, rf_error *why);
/* Number of lines that were split for subword training, which takes lines of at most 4,192 bytes, as SentencePiece's
 * program does. Lines are split at blanks, or between characters if there is no blank. */
int64_t rf_tokenizer_trainer_split_lines(const rf_tokenizer_trainer *t);
rf_status rf_tokenizer_trainer_finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why);
void rf_tokenizer_trainer_free(rf_tokenizer_trainer *t);        /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
