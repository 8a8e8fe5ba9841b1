/* tokenizer.h — a tokenizer: a row of functions (tokenizers.def), and what all of them share.
 *
 *     folder.c    tokenizer_config.json selects the row, the special tokens and the added ones
 *     encode.c    added tokens are cut out of the raw text, the row encodes the rest; template, truncation
 *     decode.c    the row's text, cleaned up on request
 *     save.c      the row's files and settings, tokenizer_config.json, special_tokens_map.json
 *     trainer.c   the row's training on text
 *
 * To add a tokenizer, add a file with its row and a line in tokenizers.def.                                          */
#ifndef RF_TEXT_TOKENIZER_H
#define RF_TEXT_TOKENIZER_H

#include "base/base.h"
#include "base/json.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"
#include "text/text_index.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary.h"

enum { RF_UNK, RF_CLS, RF_SEP, RF_PAD, RF_MASK, RF_SPECIALS };
enum { RF_PATH = 4096, RF_TOKENIZER_FILE = 1 << 28 };     /* bytes of a path; of a file that is read                  */

typedef struct rf_tokenizer_row rf_tokenizer_row;
typedef struct rf_tokenizer_folder rf_tokenizer_folder;
typedef struct rf_ready_files rf_ready_files;
typedef struct rf_language_row rf_language_row;
typedef struct rf__saved_file { char *text; size_t bytes; json_t *changed; bool nul; } rf__saved_file;

/* An added token: it is matched in the raw text before any other step. */
typedef struct rf_added {
    const char *text;
    size_t size;
    int32_t id;                         /* RF_ADDED_OPEN: its id in the vocabulary, or the next free one              */
    bool special, lstrip, rstrip;
    bool hidden;                        /* not matched in text                                                        */
    bool single;                        /* only where it has no letter or digit next to it (single_word)              */
    bool normalized;                    /* matched in normalized text, where it has the form `key`                    */
    char *key;
    size_t key_size;
} rf_added;
enum { RF_ADDED_OPEN = -1, RF_NORMAL_MOST = 16 };         /* RF_NORMAL_MOST: most scalars that one may become */

/* Encodes a text with a randomly sampled segmentation, for training with subword regularization (Kudo 2018) or
 * BPE-dropout (Provilkov et al. 2020). With a Unigram model, one of the `nbest` best segmentations (below 0: any) is
 * sampled with a probability proportional to p^alpha. With BPE, each merge is skipped with probability alpha. The same
 * text and seed always give the same tokens. In all other respects as rf_encode without a limit.
 *
 *   RF_EUNSUPPORTED  the tokenizer has only one segmentation for a text
 *   RF_EARG          alpha is not in 0 to 1000; nbest is 0 or above 512 */
typedef struct rf_sample_options {
    size_t size;                /* of this struct, set by rf_sample_defaults */
    int nbest;                  /* Unigram only; default -1 */
    float alpha;                /* default 0.1 */
    uint64_t seed;              /* default 0 */
} rf_sample_options;
void rf__sample_options_init(rf_sample_options *o, size_t size);
#define rf_sample_defaults(o) rf__sample_options_init((o), sizeof *(o))
rf_status rf__encode_sample(const rf_tokenizer *t, const char *text, size_t bytes, const rf_sample_options *options,
                            int flags, rf_encoding *e, rf_error *why);

/* rf_tokenizer_found with RF_ENOMEM; *file NULL: none. */
rf_status rf__tokenizer_find(const rf_ctx *ctx, const char *folder, const char **file, rf_error *why);

/*   savable       writes nothing; RF_EUNSUPPORTED if the files of rf_tokenizer_save cannot represent this tokenizer
 *   transformers  the class of transformers for these files, or NULL
 *   target        the tokenizer of a translation's target; usually t
 *   fingerprint   hash of all that ids depend on */
rf_status rf__tokenizer_savable(const rf_tokenizer *t, const char *folder, rf_error *why);
const char *rf__tokenizer_transformers(const rf_tokenizer *t);
const rf_tokenizer *rf__tokenizer_target(const rf_tokenizer *t);
uint64_t rf__tokenizer_fingerprint(const rf_tokenizer *t, uint64_t seed);

/* ---- learning from text (trainer.c) ---------------------------------------------------------------------------- */

struct rf_tokenizer_trainer {
    const rf_tokenizer_row *row;
    const rf_ctx *ctx;
    rf_tokenizer_train_options options;
    void *own;                          /* owned by the row                                                           */
    int64_t split;                      /* lines that were too long and were split                                    */
};

/* For a row that can be neither trained nor made. */
#define RF__TOKENIZER_READ "tokenizers of type %s come with published folders and are not made here"

/* Training of a row.  `feed` gets UTF-8; `clear` frees what `begin` stored in `own`, even if `begin` failed. */
typedef struct rf_tokenizer_training {
    int uses;                           /* RF_TRAIN_...: the options that it supports                                 */
    rf_status (*begin)(rf_tokenizer_trainer *t, rf_error *why);
    rf_status (*feed)(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why);
    rf_status (*finish)(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why);
    void (*clear)(rf_tokenizer_trainer *t);
} rf_tokenizer_training;

rf_status rf__training_text(const char *text, size_t size, rf_error *why);        /* RF_EDATA: not UTF-8              */

/* ---- what is put around texts ------------------------------------------------------------------------------------ */

/* A template: special tokens by id, the text (A), and that of its pair (B), each with a type. */
enum { RF_FRAME_A = -1, RF_FRAME_B = -2, RF_FRAME_PARTS = 64 };
typedef struct rf_frame_part { int32_t token, type; } rf_frame_part;
typedef struct rf_frame { rf_frame_part part[RF_FRAME_PARTS]; size_t n; } rf_frame;

/* What is around a text by itself: special tokens before and after it, and the type of its own tokens. */
typedef struct rf__surroundings {
    rf_frame_part before[RF_FRAME_PARTS], after[RF_FRAME_PARTS];
    size_t opens, ends;                 /* how many                                                                   */
    int32_t type;
} rf__surroundings;
void rf__surroundings_of(const rf_tokenizer *t, rf__surroundings *out);

/* ---- what a row is --------------------------------------------------------------------------------------------- */

/* What all tokenizers share; the struct of a row begins with it. */
struct rf_tokenizer {
    const rf_tokenizer_row *row;
    const rf_ctx *ctx;
    rf_tokenizer *target;               /* of the target side of a translator; NULL: both sides share one             */
    int32_t n;                          /* ids are below it                                                           */
    char *name[RF_SPECIALS];            /* NULL: there is no such token                                               */
    int32_t special[RF_SPECIALS];       /* -1: the same                                                               */
    rf_added *added;
    size_t added_n;
    bool invented;                      /* the files do not name all five special tokens                              */
    rf_frame frame[2];                  /* of a text, and of a pair                                                   */
    bool bare;                          /* no [CLS] and [SEP] around a text                                           */
    bool ends_alone;                    /* [SEP] after everything, nothing before it                                  */
    bool open_end;                      /* [CLS] before everything, nothing after it                                  */
    bool one_type, no_pairs;            /* all types are 0; or no pairs                                               */
    bool trims;                         /* offsets of added tokens exclude white space at their ends (trim_offsets) */
    bool trims_first;                   /* except a single blank at the beginning of a text (add_prefix_space)        */
    bool cuts_begin;                    /* truncation keeps the end of a text (truncation_side left)                  */
    bool slow;                          /* if a pair is truncated to half each, the first text gets the odd token     */
    const rf_unicode *lower;            /* or NULL: added tokens without capitals are matched in capitals, too        */
    bool fold;                          /* such tokens exist                                                          */
    bool normalized;                    /* some added tokens are matched in normalized text                           */
    bool normalizes;                    /* the row's `encode` matches those itself                                    */
    uint8_t opens[256];                 /* bytes that begin an added token that is matched in raw text                */
    int opener;                         /* that byte, if there is only one; otherwise -1                              */
    uint64_t mark;                      /* unique number of this tokenizer, which identifies its scratch              */
    json_t *kept;                       /* its settings without influence on ids, for saving; or NULL                 */
    const rf_language_row *languages;   /* of texts (languages.h), or NULL                                            */
    int32_t source_language, target_language;   /* their tokens, the first is in the templates; -1: none              */
    bool language_after;                /* it follows [SEP] instead of preceding the text                             */
    struct rf_chat *chat;               /* the folder's chat template (chat.h), or NULL                               */
    struct rf_conversation *conversation;    /* how a pair becomes a text (conversation.h); NULL: by [SEP] */
};

/* Whether a text has tokens, and none of them is in the vocabulary. */
bool rf__all_unknown(const rf_tokenizer *t, const rf_encoding *e);

/* The folder's chat template (chat.h); NULL: it has none. */
const struct rf_chat *rf__tokenizer_chat(const rf_tokenizer *t);

/* Whether the template has [CLS] before a text, and [SEP] after it or after the second text of a pair. */
static inline bool rf__tokenizer_opens(const rf_tokenizer *t) { return !t->bare && !t->ends_alone; }
static inline bool rf__tokenizer_ends(const rf_tokenizer *t) { return !t->bare && !t->open_end; }

/* A part of a text: bytes [from, to), valid UTF-8, without added tokens.  Bytes up to `size` may be read. `plain`:
 * special tokens in it are text (RF_ENCODE_NO_SPECIALS). */
typedef struct rf_passage {
    const char *text;
    size_t from, to, size;
    bool plain;
    const rf_sample_options *sample;    /* NULL: the likeliest segmentation                                           */
    rf_error *why;                      /* a reason other than memory for which it cannot be encoded                  */
    size_t first;                       /* the first token of the text in the encoding                                */
} rf_passage;

/* A hook may be NULL only if its comment says so. */
struct rf_tokenizer_row {
    const char *name;                   /* for options: "wordpiece"                                                   */
    const char *title;                  /* for readers: "WordPiece (BERT)"                                            */
    const char *const *classes;         /* the values of tokenizer_class that select it, NULL at the end              */
    const char *const *files;           /* the files that saving writes, NULL at the end                              */
    const char *const *(*files_of)(const rf_tokenizer *t);       /* the same if it depends on the tokenizer; or NULL  */
    const char *const *holds;           /* a folder with one of these files has such a tokenizer, whatever its
                                           settings say; NULL: its settings decide                                    */
    const char *model;                  /* the "type" of tokenizer.json's model that it reads; or NULL                */
    const char *transformers;           /* the class of transformers that reads what is saved; or NULL                */
    size_t size;                        /* of its struct                                                              */

    /* From a folder whose settings have been read: its own keys and files.  Does not take over anything from `f`. */
    rf_status (*open)(rf_tokenizer_folder *f, rf_tokenizer **out);
    /* Makes a tokenizer that is not trained on text; or NULL. */
    rf_status (*make)(const rf_ctx *ctx, rf_tokenizer **out, rf_error *why);
    const rf_tokenizer_training *training;                            /* trains on text; NULL with `make`, or neither */
    /* Its own files, complete, before any is written; or NULL. */
    rf_status (*save)(const rf_tokenizer *t, rf_ready_files *to, rf_error *why);
    void (*settings)(const rf_tokenizer *t, json_t **config);         /* its keys of tokenizer_config.json            */
    void (*describe)(const rf_tokenizer *t, json_t **about);          /* for `roformer info`; or NULL                 */
    uint64_t (*fingerprint)(const rf_tokenizer *t, uint64_t seed);    /* hash of what ids depend on besides tokens */
    void (*clear)(rf_tokenizer *t);     /* frees its own memory, even if it is incomplete; or NULL                    */

    /* Appends a passage's tokens (rf__reserve_tokens, rf__put_token): start and end are bytes of the text and do not
     * split a character.  `scratch` comes from the hook `scratch`.  False: no memory, or a reason in p->why. */
    bool (*encode)(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *scratch);
    bool samples;                       /* it supports a passage's `sample`                                           */
    /* The normalized form of a scalar, 0 to RF_NORMAL_MOST scalars; NULL: added tokens with `normalized` are
     * rejected */
    size_t (*normalize)(const rf_tokenizer *t, uint32_t c, uint32_t out[RF_NORMAL_MOST]);
    /* Scratch of an encoding.  `own` is NULL at first and later the previous result; `others`: another tokenizer used
     * it last.  NULL: no memory.  Both hooks or neither. */
    void *(*scratch)(const rf_ctx *ctx, void *own, bool others);
    void (*scratch_free)(const rf_ctx *ctx, void *own);
    /* The text of ids, terminated by a zero, without special tokens if `skip`.  NULL: no memory. */
    char *(*decode)(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size);
    const char *(*token)(const rf_tokenizer *t, int32_t id);          /* NULL: no such token, or an added one         */
    int32_t (*id)(const rf_tokenizer *t, const char *token);          /* -1: no such token, or an added one           */
    bool (*continues)(const rf_tokenizer *t, int32_t id);             /* its first character began in the last one */
    /* out[i]: token i continues the word of the previous one, if names of tokens do not show it; or NULL.  `scratch`
     * comes from the hook `scratch`.  False: no memory. */
    bool (*joined)(const rf_tokenizer *t, const int32_t id[], size_t n, uint8_t out[], void *scratch);
};

/* All rows, NULL at the end; the first one is the default if no class is named. */
extern const rf_tokenizer_row *const rf__tokenizer_rows[];
const rf_tokenizer_row *rf__tokenizer_row_of(const char *type, rf_error *why);    /* NULL and RF_EARG: none           */

/* ---- making one ------------------------------------------------------------------------------------------------ */

/* The contents of a tokenizer besides what belongs to its row. */
typedef struct rf_tokenizer_parts {
    const char *name;                   /* of the file, in messages                                                   */
    const char *remark;                 /* text for the message that a special token is missing; usually ""           */
    const char *special[RF_SPECIALS];   /* NULL: "[UNK]" ..., or none (lacks)                                         */
    rf_added *added;                    /* tokens besides the five, or the five again                                 */
    size_t added_n, added_capacity;
    rf__text_index index;               /* of them, in the order in which a folder adds them                          */
    bool lacks;                         /* a special token without a name does not exist                              */
    rf_frame frame[2];                  /* that of a text is not empty: the templates, instead of what follows        */
    bool bare, hidden;                  /* no template; special tokens are not matched in raw text                    */
    bool ends_alone;                    /* [SEP] after everything, nothing before it                                  */
    bool open_end, one_type, no_pairs;  /* as in rf_tokenizer                                                         */
    bool trims, trims_first;            /* the same                                                                   */
    bool apart, uncleaned;              /* as in rf_wordpiece                                                         */
    size_t more_middle;                 /* one more [SEP] between the texts of a pair (ends_alone: one less)          */
} rf_tokenizer_parts;

/* Assigns ids to those that are open: that of `find`, or the next after `own` and all others. */
void rf__added_resolve(rf_added *added, size_t n, int32_t own, int32_t (*find)(const void *user, const char *text),
                       const void *user);

/* By id, those that are open last and in their order: the order in which transformers adds tokens. */
void rf__added_sort(rf_added *added, size_t n);

/* Allocates row->size zero bytes with row and context set; NULL with a reason: no memory. */
rf_tokenizer *rf__tokenizer_alloc(const rf_ctx *ctx, const rf_tokenizer_row *row, rf_error *why);
/* Sets names, special tokens and added tokens, once the row's `id` and `n` work.  On failure call rf_tokenizer_free. */
rf_status rf__tokenizer_begin(rf_tokenizer *t, const rf_tokenizer_parts *parts, rf_error *why);
/* After that, for a row whose own ids are 0 .. own - 1: t->n becomes the number of ids.  RF_EDATA: an added token has
 * the id of another one. */
rf_status rf__tokenizer_follow(rf_tokenizer *t, int32_t own, const char *name, rf_error *why);

/* ---- reading and writing a folder ------------------------------------------------------------------------------ */

struct rf_tokenizer_folder {
    const rf_ctx *ctx;
    const char *path;
    json_t *config, *map;               /* tokenizer_config.json, special_tokens_map.json; or NULL                    */
    char config_path[RF_PATH];
    const char *class;                  /* tokenizer_class, or NULL                                                   */
    bool all;                           /* it leaves everything to tokenizer.json                                     */
    json_t *fast;                       /* tokenizer.json: always if `all`, otherwise if the row reads it             */
    char fast_path[RF_PATH];
    char *text, *rest;                  /* the file's text, until a row takes it; and that without the vocabulary     */
    size_t bytes;
    rf__vocabulary pieces;              /* its vocabulary and merges, which are then empty in `fast`; or none         */
    bool nul;                           /* its pieces have RF__JSON_NUL in place of U+0000                            */
    json_t *legacy;                     /* added_tokens.json, or NULL                                                 */
    bool rebuilt;                       /* the settings changed f->fast                                               */
    bool lowers;                        /* sentence-transformers lowercases texts before the tokenizer does           */
    json_t *model;                      /* config.json if it was needed; or NULL                                      */
    char model_path[RF_PATH];
    rf_tokenizer_parts parts;           /* special: from the settings; strings belong to the JSON texts               */
    rf_error *why;
};

/* A JSON object from a file; *out stays NULL if the file does not exist.  Integers are read as reals, because
 * transformers writes 10^30 for "no limit" (model_max_length). */
rf_status rf__folder_json(rf_tokenizer_folder *f, const char *name, char path[RF_PATH], json_t **out);
rf_status rf__folder_fast(rf_tokenizer_folder *f);        /* tokenizer.json with what the settings change; or nothing */
/* Sets f->fast, f->rest and f->pieces from the text of a tokenizer.json, or f->why. */
bool rf__folder_parse_fast(rf_tokenizer_folder *f, const char *text, size_t size);
void rf__folder_forget_fast(rf_tokenizer_folder *f);
rf_status rf__folder_flag(rf_tokenizer_folder *f, const char *path, const json_t *object, const char *key, int null,
                          int *out);
/* The row of the class in the settings or config.json; otherwise that of the folder's files and the model type, or the
 * first row. (folder_row.c) */
rf_status rf__folder_row(rf_tokenizer_folder *f, const rf_tokenizer_row **row);
/* The file that identifies the tokenizer of a folder, and its row; NULL: none. */
const char *rf__folder_file(const rf_ctx *ctx, const char *folder, const rf_tokenizer_row **row);
/* Whether the folder names a class that is for one model, not for any tokenizer.json. */
bool rf__folder_class_rules(const rf_tokenizer_folder *f);
/* The name of a special token in the settings; NULL: none. */
const char *rf__folder_name(const rf_tokenizer_folder *f, const char *key);
const char *rf__folder_named(const rf_tokenizer_folder *f, const char *key, const char *usual);   /* or the usual one */
/* The model of one of Meta's tokenizers. */
#define RF__FILE_PIECES "sentencepiece.bpe.model"
/* What the folder has in place of tokenizer.json: a file of pieces that is not read alone, and what would help; "none".
 * (rebuild.c) */
const char *rf__folder_pieces(const rf_tokenizer_folder *f);
/* rebuild.c: whether the class is this one (also with "Fast"), or without a class the model_type of config.json. */
bool rf__folder_is(const rf_tokenizer_folder *f, const char *class, const char *model_type);
rf_status rf__folder_is_new(rf_tokenizer_folder *f, bool *out);      /* whether transformers 5 wrote the folder       */
rf_status rf__folder_rebuild(rf_tokenizer_folder *f);     /* what the settings change in f->fast                      */
/* The tokenizer.json of a folder, for saving: its text, and what the settings change in it.  Empty, or the text of one
 * that was made, before rf__keep_file. */
rf_status rf__keep_file(rf_tokenizer_folder *f, rf__saved_file *k);
/* The text with these changes; *own is freed with rf__free.  NULL: no memory. */
const char *rf__saved_text(const rf_ctx *ctx, const rf__saved_file *k, char **own, size_t *size);
void rf__saved_clear(const rf_ctx *ctx, rf__saved_file *k);
rf_status rf__folder_lowers(rf_tokenizer_folder *f);      /* sets f->lowers                                           */
/* A TemplateProcessing with bos_token before and eos_token after a text if add_bos_token and add_eos_token say so;
 * `first`, `last`: the defaults. */
rf_status rf__folder_ends(rf_tokenizer_folder *f, int first, int last, json_t **out);
int64_t rf__whole(double x);                                          /* 0 .. RF_TOKENIZER_FILE, or -1                */
int64_t rf__whole_number(const json_t *x);                            /* the same of a value                          */
/* "BPE", "WordPiece", "WordLevel" or "Unigram": what the member "model" of a tokenizer.json is, from its type or, in
 * old files, from its members; NULL: none of them. */
const char *rf__model_kind(const json_t *model);
/* Whether f->fast is BERT's pipeline, which the row of WordPiece has. */
bool rf__wordpiece_fits(const rf_tokenizer_folder *f);
rf_status rf__folder_add(rf_tokenizer_folder *f, const char *path, rf_added a);
rf_status rf__folder_add_new(rf_tokenizer_folder *f, const char *path, rf_added a);     /* unless the text has one   */
void rf__folder_forget_added(rf_tokenizer_folder *f);     /* all of them                                              */
/* One added token: `x` is an object with content, lstrip, rstrip, special, single_word, normalized. */
rf_status rf__folder_added(rf_tokenizer_folder *f, const char *path, const json_t *x, int64_t id);
rf_status rf__folder_decoder(rf_tokenizer_folder *f);     /* added_tokens_decoder, which overrides tokenizer.json */

/* Files ready to be written; texts are freed with rf__free. */
enum { RF_READY_FILES = 6 };                              /* its own, and two of settings */
struct rf_ready_files {
    const char *folder;
    struct { const char *name; char *text; size_t size; } file[RF_READY_FILES];
    int n;
};

/* Adds a copy of `size` bytes, which may be 0.  False: no memory. */
bool rf__ready_copy(const rf_tokenizer *t, rf_ready_files *to, const char *name, const void *data, size_t size);

/* Adds a copy of rf__saved_text as tokenizer.json.  False: no memory. */
bool rf__ready_saved(const rf_tokenizer *t, rf_ready_files *to, const rf__saved_file *k);

/* Adds the text of `value`, which is freed.  False: no memory. */
bool rf__ready_json(const rf_tokenizer *t, rf_ready_files *to, const char *name, json_t *value);

/* Whether tokenizers are read from files of this name. */
bool rf__tokenizer_file(const char *name);

/* Before the files of the tokenizer in `from` are copied to `to`: renames those of another tokenizer, which would be
 * read with them, to NAME.replaced. */
rf_status rf__tokenizer_set_aside(const char *from, const char *to, rf_error *why);

/* The same for files with these names, NULL at the end or NULL for none. */
rf_status rf__files_set_aside(const char *const *name, const char *from, const char *to, rf_error *why);

/* Whether a file contains settings and no pieces. */
bool rf__tokenizer_setting(const char *file);
extern const char *const rf__tokenizer_settings[];                 /* NULL at the end */

/* Bytes of text i of an array as rf_encode_texts takes it; 0: the text is NULL. */
size_t rf__text_bytes(const char *const text[], const size_t bytes[], int64_t i);

/* Texts as rf_encode_texts takes them, each after `prefix` (NULL: none). */
typedef struct rf__many_texts {
    const rf_tokenizer *t;
    const char *prefix;
    const char *const *text, *const *pair;
    const size_t *bytes, *pair_bytes;
    int64_t n;
    size_t limit;
    int flags;
} rf__many_texts;

/* Appends their tokens to `e`, by all workers of the tokenizer's context; start[n + 1] counts from the first of them.
 * *done texts were encoded, *cut of which were cut; `bad` is the error of the next one. */
rf_status rf__encode_runs(const rf__many_texts *x, rf_encoding *e, int64_t start[], int64_t *done, int64_t *cut,
                          rf_error *bad, rf_error *why);

/* ---- tokens of an encoding ------------------------------------------------------------------------------------- */

bool rf__grow_tokens(rf_encoding *e, size_t more);
/* Space for `more` further tokens. */
static inline bool rf__reserve_tokens(rf_encoding *e, size_t more)
{
    return e->n + more <= e->capacity || rf__grow_tokens(e, more);
}

/* Whether an added token at bytes [from, to) of the passage [begin, end) may be there (single_word); and its place with
 * the white space that it absorbs, from byte `low` on. */
bool rf__added_fits(const rf_added *a, const char *text, size_t begin, size_t end, size_t from, size_t to);
void rf__added_extend(const rf_added *a, const char *text, size_t low, size_t end, size_t *from, size_t *to);

/* trim_offsets of a token at bytes [*from, *to) of the text: excludes as many characters as the token, whose name is
 * `name`, has blanks at its ends.  `first`: of the text. */
void rf__trim_offsets(const rf_tokenizer *t, const char *text, const char *name, size_t size, bool first,
                      uint32_t *from, uint32_t *to);

/* An added token at bytes [from, to) of the text, where `name` was found, with the blanks that it absorbed, after
 * normalization; token `first` is the text's first one.  False: no memory. */
bool rf__put_added(const rf_tokenizer *t, rf_encoding *e, const rf_added *a, size_t first, const char *text,
                   size_t from, size_t to, const char *name, size_t size);

static inline void rf__put_token(rf_encoding *e, int32_t id, uint32_t start, uint32_t end, bool added)
{
    e->id[e->n] = id;
    e->start[e->n] = start;
    e->end[e->n] = end;
    e->added[e->n++] = added;
}

/* ---- replacing ------------------------------------------------------------------------------------------------- */

typedef struct rf_change { const char *from, *to; } rf_change;        /* `to` is not longer                           */
/* Makes n replacements one after another, each left to right, in place; returns the size. */
size_t rf__replace_all(char *text, size_t size, const rf_change *change, size_t n);

#endif
