/* items.h — labeled examples as ids, end to end, and batches of them.
 *
 *     example i      sequences first[i] .. first[i+1]-1           one, except for choices: one for each candidate
 *     sequence s     tokens start[s] .. start[s+1]-1              [CLS] text [SEP] ( pair [SEP] )
 *
 *     qa: question q     examples window[q] .. window[q+1]-1      [CLS] question [SEP] a part of the context [SEP]
 *
 * A context of c pieces in windows of w that overlap by d: pieces k (w - d) .. k (w - d) + w - 1 for k = 0, 1, ...
 * until a window contains the last piece, as in transformers with doc_stride d. */
#ifndef RF_TRAIN_ITEMS_H
#define RF_TRAIN_ITEMS_H

#include "data/examples/example_format.h"
#include "data/examples/teacher.h"
#include "roformer/model.h"
#include "roformer/train.h"

struct rf__items {
    const rf_ctx *ctx;
    const rf_tokenizer *tokenizer;
    const rf__example_format *format;
    int64_t K, max_length;              /* labels; longest sequence in tokens                                         */
    size_t n, sequences, tokens, cut;   /* cut: number of examples that were truncated                                */
    size_t unread;                      /* number of texts of which no token is in the vocabulary                     */
    size_t *first, *start;              /* [n+1], [sequences+1]                                                       */
    int32_t *id, *type;                 /* [tokens]                                                                   */
    int32_t *label;                     /* by format->kind: [n]; [tokens], -1 for all but the first piece of a word;
                                           [2 n], counted from the sequence's first token, both 0 without an answer;
                                           with a teacher the row of its vector, [n] */
    const rf__teacher *teacher;         /* target vectors of the examples, or NULL                                    */
    const char *prompt;                 /* put before each text, or NULL; owned by the caller                         */
    char *joined;                       /* prompt and text                                                            */
    float *target;                      /* ... or [n K], or [sequences]                                               */
    uint32_t *from, *to;         /* words: the word, questions: bytes of the context that a token came from; [tokens] */
    uint32_t *words;                    /* words: number of words, including those without tokens; [n]                */
    int32_t *tag;                       /* words: their tags, including those without tokens; [all_words]             */
    size_t all_words;
    int64_t doc_stride;                 /* qa: overlap of two windows in pieces, at most half of a window             */
    bool nothing;                       /* qa: "no answer" is a valid answer                                          */
    size_t questions, unanswered;       /* qa; unanswered: without a correct answer                                   */
    size_t *window;                     /* [questions+1]                                                              */
    char *context;                      /* the contexts end to end                                                    */
    size_t *context_at;                 /* [questions+1]                                                              */
    uint32_t *gold;                     /* correct answers, a pair of bytes of the context each: from and to          */
    size_t *gold_at;                    /* [questions+1] first answer of each question                                */
    char *name;                    /* ids of the examples (qa: questions), end to end; only for prediction */
    size_t *name_at;                    /* [asked+1], or NULL: no example has an id; an empty id counts as none       */
    bool numbers;                       /* all of them are JSON integers                                              */
    uint64_t hash;                      /* of ids and labels                                                          */
    size_t capacity[16];
    rf_encoding scratch;
};

void rf__items_init(rf__items *t, const rf_ctx *ctx, const rf_tokenizer *tokenizer, const rf__example_format *format,
                    int64_t K, int64_t max_length);
void rf__items_free(rf__items *t);

/* Adds a sequence to the current example; pair->at NULL: a single text. */
rf_status rf__items_text(rf__items *t, rf__text text, rf__text pair, rf_error *why);

/* Words with one tag each (-1: unknown), which belongs to the first piece of the word. */
rf_status rf__items_add_tagged_words(rf__items *t, const rf__text word[], const int32_t tag[], size_t n, rf_error *why);

/* A question and a context in which bytes begin .. end-1 answer it, in any of n ways (0: no answer), of which
 * training uses the first. Adds examples, one for each window. A window that does not contain the whole answer is
 * labeled [CLS]. */
typedef struct rf__byte_range { size_t begin, end; } rf__byte_range;
rf_status rf__items_question(rf__items *t, rf__text question, rf__text context, const rf__byte_range answer[], size_t n,
                             rf_error *why);

/* The units that have an answer: examples, or questions, each of which has one or several examples. */
static inline size_t rf__items_asked(const rf__items *t) { return t->window ? t->questions : t->n; }

/* The id of example (qa: question) i; at NULL: none. */
static inline rf__text rf__items_name(const rf__items *t, size_t i)
{
    if (!t->name_at || t->name_at[i] == t->name_at[i + 1]) return (rf__text){NULL, 0};
    return (rf__text){t->name + t->name_at[i], t->name_at[i + 1] - t->name_at[i]};
}

/* Ends the example: `label` for RF__LABEL_CLASS (-1: unknown), `target` [K] for RF__LABEL_VECTOR or one number for each
 * sequence for RF__LABEL_LIST (NULL: unknown), and with a teacher `label` is the row of its vector. */
rf_status rf__items_end(rf__items *t, int32_t label, const float *target, rf_error *why);

/* The tokens of example i; those of the count[k] longest examples, for each k. */
static inline size_t rf__item_size(const rf__items *t, size_t i)
{
    return t->start[t->first[i + 1]] - t->start[t->first[i]];
}
rf_status rf__items_longest(const rf__items *t, const size_t count[], size_t n, int64_t tokens[], rf_error *why);

/* RF_EDATA: the type of a token is not below `types`, config.json's type_vocab_size; 0: the model has no token
 * types. */
rf_status rf__items_fit_types(const rf__items *t, int64_t types, rf_error *why);

/* The number of examples whose tokens equal those of an earlier example. */
rf_status rf__items_repeated(const rf__items *t, size_t *again, rf_error *why);

/* ---- batches ---- */

typedef struct rf__item_batch {
    size_t n;                           /* examples                                                                   */
    int64_t N, B, K, labels;            /* tokens, sequences; labels: terms of the loss                               */
    int32_t *id, *type, *start, *label, *group;     /* group: mc, [n+1] first sequences                               */
    float *target;
    const rf__teacher *teacher;         /* row label[i] belongs to example i; NULL: there is none                     */
    size_t capacity[6];
} rf__item_batch;

/* Copies examples which[0..n) end to end; with `twice`, all of them a second time after that (R-Drop). */
rf_status rf__item_batch_fill(rf__item_batch *b, const rf__items *t, const size_t which[], size_t n, bool twice,
                              rf_error *why);
void rf__item_batch_free(const rf_ctx *ctx, rf__item_batch *b);
static inline rf_batch rf__item_batch_view(const rf__item_batch *b)
{
    return (rf_batch){.N = b->N, .B = b->B, .id = b->id, .type = b->type, .start = b->start};
}

#endif
