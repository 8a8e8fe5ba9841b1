/* pipeline.h — internals of a pipeline: an open model and tokenized texts; see include/roformer/pipeline.h. */
#ifndef RF_PIPELINE_H
#define RF_PIPELINE_H

#include "base/base.h"
#include "roformer/pipeline.h"

/* Texts as tokens, end to end, and where each begins. */
typedef struct rf__text_window {
    rf_encoding e;
    int32_t *start;                     /* [n + 1] */
    size_t capacity;
    int64_t n;
} rf__text_window;

/* One more text at the end.  `cut` counts it when it was longer than `limit` tokens (0: none is). */
rf_status rf__window_add(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes, int64_t limit,
                         bool *cut, rf_error *why);

/* The same of a text and a second one (NULL: none). */
rf_status rf__window_add_pair(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes,
                              const char *pair, size_t pair_bytes, int64_t limit, bool *cut, rf_error *why);

/* Of the texts in `order`, those order[from .. the result) have at most `tokens` tokens (one text at least). */
int64_t rf__window_cut(const rf__text_window *w, const uint64_t *order, int64_t from, int64_t tokens);

/* A batch of order[from .. to): ids and starts. */
typedef struct rf__text_batch {
    int32_t *id, *start;
    size_t ids, starts;
    rf_batch view;
} rf__text_batch;
rf_status rf__window_batch(const rf_ctx *ctx, const rf__text_window *w, const uint64_t *order, int64_t from,
                           int64_t to, rf__text_batch *b, rf_error *why);

/* Of an order: which text. */
static inline int64_t rf__order_text(uint64_t key) { return (int64_t)(uint32_t)key; }

/* What rf_fill_mask keeps. */
typedef struct rf__fills {
    rf_mask *mask;
    int32_t *row;                       /* [masks] its token, counted through all texts */
    rf_mask_word *word;
    float *p;                           /* [V] */
    size_t masks, rows, words, ps;      /* capacities */
    int64_t n;
} rf__fills;

/* Where there is much to do each thread does its own: threads that share every product wait for each other after it. */
typedef struct rf__worker {
    rf_session *session;                /* NULL: not yet; the first one's is the pipeline's                           */
    rf__text_batch batch;
} rf__worker;

struct rf_pipeline {
    const rf_ctx *ctx;
    rf_ctx *own;                        /* the context, when nobody gave one */
    rf_model *model;
    bool lent;                          /* the model is somebody else's                                               */
    rf_session *session;
    rf_answerer *answerer;              /* NULL: no head of a task */
    rf__text_window window;
    rf__worker *worker;                 /* [threads of the context]                                                   */
    uint64_t *order;
    int64_t *cut;                       /* where batches of an order begin                                            */
    size_t orders, cuts;
    rf_sentence sentence;               /* of the folder; or why it could not be read                                 */
    rf_error no_sentence;
    char *joined;                       /* a prompt and a text                                                        */
    size_t joineds;
    float *vectors;
    size_t vectors_capacity;
    int64_t *row;                       /* [texts + 1] where the vectors of a text's tokens begin                     */
    size_t rows;
    rf__fills fills;
    rf_texts_report report;             /* of the last call                                                           */
    rf_word_scores word_scores;
    rf_generation generation;
    rf_text_score text_score;
    rf_label_score *label;              /* [labels] */
    int32_t sep;                        /* what ends a text where the folder does not say                             */
    int32_t *id;                        /* a prompt, and what was generated */
    double *logprob;
    char *text;
    const rf_cancel *cancel;            /* that all sessions look at; or NULL                                         */
    rf_session *aligner;                /* asked what translations look at; NULL: not yet                             */
};

/* The report that counts, a fresh one: the pipeline's, which is lent to the caller, or `local` where there is none. */
rf_texts_report *rf__report_begin(rf_pipeline *p, const rf_texts_report **given, rf_texts_report *local);

/* Bytes of text i. */
size_t rf__text_bytes(const char *const text[], const size_t bytes[], int64_t i);

/* `inner` is about text i: the sentence names it when nobody takes the report and there are others. */
rf_status rf__text_fail(const rf_texts_report *const *given, int64_t i, int64_t n, const rf_error *inner,
                        rf_error *why);

rf_status rf__pipeline_check(const rf_pipeline *p, const void *text, int64_t n, rf_error *why);

/* One more session, which looks at the pipeline's flag. */
rf_status rf__pipeline_add_session(rf_pipeline *p, rf_session **out, rf_error *why);

/* Opens what workers beside the first need. */
rf_status rf__pipeline_workers(rf_pipeline *p, rf_error *why);

/* Vectors of texts that are tokens already (embed.c), with settled options.
 *
 *   encode     texts to the end of a window, and what the report says of them; any thread, as the pipeline is only
 *              read. A text that has no vector is named
 *   width      D, the numbers of a vector
 *   window     [n,D] of the pipeline's window; valid until its next call */
rf_status rf__embed_encode(const rf_pipeline *p, const rf_embed_options *o, const char *const text[],
                           const size_t bytes[], int64_t n, rf__text_window *w, rf_texts_report *r, rf_error *why);
int64_t rf__embed_width(const rf_pipeline *p, const rf_embed_options *o);
rf_status rf__embed_window(rf_pipeline *p, const rf_embed_options *o, const float **vectors, rf_error *why);

/* Whether the model labels texts, or pairs of them (classify.c). */
rf_status rf__can_classify(const rf_pipeline *p, bool pairs, rf_error *why);

/* Whether the model can say what stands at a mask (fill.c). */
rf_status rf__can_fill(const rf_pipeline *p, rf_error *why);

#endif
