/* pipeline.h — internals of a pipeline: an open model and tokenized texts; see include/roformer/pipeline.h. */
#ifndef RF_PIPELINE_H
#define RF_PIPELINE_H

#include "base/base.h"
#include "roformer/pipeline.h"
#include "store/task.h"
#include "text/tokenizer.h"

/* Texts as tokens, end to end, and where each begins. */
typedef struct rf__text_window {
    rf_encoding e;
    int32_t *start;                     /* [n + 1] */
    size_t capacity;
    int64_t n;
} rf__text_window;

/* Appends a text. `cut` counts it if it was longer than `limit` tokens (0: no limit). side: RF_ENCODE_CUT_BEGIN,
 * RF_ENCODE_CUT_END or 0. */
rf_status rf__window_add(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes, int64_t limit,
                         int side, bool *cut, rf_error *why);

/* The same for a text and a second one (NULL: none). */
rf_status rf__window_add_pair(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes,
                              const char *pair, size_t pair_bytes, int64_t limit, int side, bool *cut,
                              rf_error *why);

/* Appends texts by all threads. *done texts were added, *cut of which were cut; `bad` is the error of the next one. */
rf_status rf__window_add_texts(rf__text_window *w, const rf__many_texts *x, int64_t *done, int64_t *cut, rf_error *bad,
                               rf_error *why);

/* RF_EARG: none of the values of cut_side. */
rf_status rf__check_cut_side(int side, rf_error *why);

/* A window of texts, sorted by length and divided into parts, each of which is a batch (window.c). */
typedef struct rf__parts {
    rf__text_window window;
    uint64_t *order;                    /* [texts] keys of the texts, longest text first; see rf__order_text          */
    int64_t *cut;                       /* [n + 1] part i is order[cut[i] .. cut[i + 1])                              */
    float *vectors;                     /* [texts,D], or of several windows                                           */
    size_t orders, cuts, vectors_capacity;
    int64_t n;                          /* parts                                                                      */
} rf__parts;

/* The text of an entry of an order. */
static inline int64_t rf__order_text(uint64_t key) { return (int64_t)(uint32_t)key; }

/* Parts can be computed by threads that do not wait for each other.
 *
 *   suffice    whether n texts of so many tokens are enough to give each thread parts of its own
 *   reserve    space for a window of n texts, and for so many vectors of D numbers
 *   divide     true: equally many parts for each thread, of at most about `batch_tokens` tokens. false: there are too
 *              few tokens for that; parts have at most `few_tokens` tokens. A part has at least one text
 *   tokens     of part i */
bool rf__texts_suffice(const rf_ctx *ctx, int64_t n, int64_t tokens);
rf_status rf__parts_reserve(const rf_ctx *ctx, rf__parts *x, int64_t n, int64_t vectors, int64_t D, rf_error *why);
bool rf__parts_divide(const rf_ctx *ctx, rf__parts *x, int64_t batch_tokens, int64_t few_tokens);
int64_t rf__parts_tokens(const rf__parts *x, int64_t i);
void rf__parts_clear(const rf_ctx *ctx, rf__parts *x);

/* The batch of a part: ids, types and starts. */
typedef struct rf__text_batch {
    int32_t *id, *type, *start;
    size_t ids, types, starts;
    rf_batch view;
} rf__text_batch;
rf_status rf__parts_batch(const rf_ctx *ctx, const rf__parts *x, int64_t i, rf__text_batch *b, rf_error *why);

/* State of rf_fill_mask. */
typedef struct rf__fills {
    rf_mask *mask;
    int32_t *row;                       /* [masks] its token, counted over all texts */
    rf_mask_word *word;
    float *p;                           /* [V] */
    size_t masks, rows, words, ps;      /* capacities */
    int64_t n;
} rf__fills;

/* State of rf_zero_shot. */
typedef struct rf__choices {
    rf_zero_shot_label *label;          /* [texts][labels] */
    float *z;                           /* [texts][labels][2] contradiction and entailment */
    char **hypothesis;                  /* [n] */
    size_t *bytes;                      /* [n] of the hypotheses */
    int64_t n;
    size_t labels, zs;                  /* capacities */
} rf__choices;
void rf__choices_clear(const rf_ctx *ctx, rf__choices *x);

/* With many batches, each thread computes its own: threads that share every product would wait for each other after
 * each of them. */
typedef struct rf__worker {
    rf_session *session;                /* NULL: not opened; that of the first worker is the pipeline's               */
    rf__text_batch batch;
} rf__worker;

/* The modules of a folder after pooling (modules.c); *out NULL: there are none.
 *
 *   C          the width of pooled vectors
 *   in, out    widths before the first and after the last
 *   apply      x [in] -> [out], in scratch of rf__modules_scratch floats; may be called by any thread */
typedef struct rf__modules rf__modules;
rf_status rf__modules_open(const rf_ctx *ctx, const char *folder, const rf__module_list *is, int64_t C,
                           rf__modules **out, rf_error *why);
void rf__modules_close(const rf_ctx *ctx, rf__modules *m);
int64_t rf__modules_in(const rf__modules *m);
int64_t rf__modules_out(const rf__modules *m);
int64_t rf__modules_scratch(const rf__modules *m);
const float *rf__modules_apply(const rf_ctx *ctx, const rf__modules *m, const float *x, float *scratch);

/* Ids of the settings in rf__late; prefix -1: none. */
typedef struct rf__late_ids {
    int32_t prefix[RF__ROLES], pad, *skip;
    int64_t skips;
} rf__late_ids;

struct rf_pipeline {
    const rf_ctx *ctx;
    rf_ctx *own;                        /* the context, if the pipeline created it */
    rf_model *model;
    bool lent;                          /* the model belongs to the caller                                            */
    rf_session *session;
    rf_answerer *answerer;              /* NULL: the model has no head of a task */
    rf__parts parts;                    /* of the last window of texts, and the vectors of all of them                */
    rf__worker *worker;                 /* [threads of the context]                                                   */
    rf_sentence sentence;               /* settings of the folder; or the error of reading them                       */
    rf_error no_sentence;
    rf__module_list list;               /* its poolings, and modules after them                                       */
    rf__modules *modules;               /* these with their weights; NULL: none                                       */
    rf__late *late;                     /* a late-interaction model: tokens have vectors, texts have none; or NULL    */
    rf__late_ids late_ids;
    char *joined;                       /* a prompt and a text                                                        */
    size_t joineds;
    int64_t *row;                       /* [texts + 1] where the vectors of a text's tokens begin                     */
    size_t rows;
    rf__fills fills;
    rf_texts_report report;             /* of the last call                                                           */
    rf_word_results word_scores;
    rf_generation generation;
    rf_text_logprob text_logprob;
    rf_label_score *label;              /* [labels] */
    rf__choices choices;
    int32_t sep;                        /* the token that ends a text if the folder does not say                      */
    int32_t *id;                        /* ids of a prompt, and of the generated text */
    double *logprob;
    char *text;
    const rf_cancel *cancel;            /* checked by all sessions; or NULL                                           */
    _Atomic double *clock;              /* set by all sessions (rf__session_clock); or NULL                           */
    rf_session *aligner;                /* computes alignments of translations; NULL: not opened                      */
};

/* A new report: the pipeline's, which the caller can read, or `local` if the caller requests none. */
rf_texts_report *rf__report_begin(rf_pipeline *p, const rf_texts_report **given, rf_texts_report *local);

/* `inner` is an error of text i. The message includes its index if the caller requests no report and there are other
 * texts. */
rf_status rf__text_fail(const rf_texts_report *const *given, int64_t i, int64_t n, const rf_error *inner,
                        rf_error *why);

rf_status rf__pipeline_check(const rf_pipeline *p, const void *text, int64_t n, rf_error *why);

/* From now on, the time at which a forward pass of any session ended last is stored in *clock. */
void rf__pipeline_clock(rf_pipeline *p, _Atomic double *clock);

/* Opens another session, which checks the pipeline's flag. */
rf_status rf__pipeline_add_session(rf_pipeline *p, rf_session **out, rf_error *why);

/* Opens the sessions of the workers after the first. */
rf_status rf__pipeline_workers(rf_pipeline *p, rf_error *why);

/* Vectors of texts given as tokens (embed.c), with complete options.
 *
 *   encode     appends texts to a window, with their report; may be called by any thread, since the pipeline is only
 *              read. The message names a text that has no vector
 *   window     [n,D] vectors of the pipeline's window; valid until its next call
 *   divide     divides a window, and makes space for its vectors
 *   part       the vectors of part i, with a worker that no other thread uses; rf__pipeline_workers has opened it */
rf_status rf__embed_encode(const rf_pipeline *p, const rf_embed_options *o, const char *const text[],
                           const size_t bytes[], int64_t n, rf__text_window *w, rf_texts_report *r, rf_error *why);
rf_status rf__embed_window(rf_pipeline *p, const rf_embed_options *o, const float **vectors, rf_error *why);
rf_status rf__embed_divide(const rf_pipeline *p, const rf_embed_options *o, rf__parts *x, rf_error *why);
rf_status rf__embed_part(rf_pipeline *p, const rf_embed_options *o, const rf__parts *x, int64_t i, int worker,
                         rf_error *why);

/* The end of the part of a source that begins with token `from`: at most `most` tokens, split at the last of the best
 * places in their second half (part_end.c). */
size_t rf__part_end(const rf_tokenizer *t, const rf_encoding *e, const char *text, size_t from, size_t most);

/* Token vectors of late-interaction models (late.c), called by embed.c if p->late is set.
 *
 *   open       finds the ids; RF_EDATA: the tokenizer does not have them
 *   role       settles `role`, and the name of a prompt that only names it
 *   length     settles max_length
 *   limit      tokens of a text before the prefix and expansion tokens are added
 *   complete   adds these to the window's last text
 *   keeps      whether token t of the window has a vector; of other models true
 *   hidden     rf_session_hidden of a part's batch; expansion tokens are not attended to if the folder says so */
rf_status rf__late_open(rf_pipeline *p, rf_error *why);
rf_status rf__late_role(const rf_pipeline *p, rf_embed_options *o, rf_error *why);
rf_status rf__late_length(const rf_pipeline *p, rf_embed_options *o, rf_error *why);
int64_t rf__late_limit(const rf_pipeline *p, const rf_embed_options *o);
rf_status rf__late_complete(const rf_pipeline *p, const rf_embed_options *o, rf__text_window *w, rf_error *why);
bool rf__late_keeps(const rf_pipeline *p, const rf_embed_options *o, const rf__text_window *w, int32_t t);
rf_status rf__late_hidden(const rf_pipeline *p, const rf_embed_options *o, const rf__parts *x, int64_t part,
                          rf__worker *with, const float **out, rf_error *why);

/* Checks whether the model labels texts, or pairs of texts (classify.c). */
rf_status rf__can_classify(const rf_pipeline *p, bool pairs, rf_error *why);

/* Checks whether the model can predict masked tokens (fill.c). */
rf_status rf__can_fill(const rf_pipeline *p, rf_error *why);

/* rf_encode of prefix (NULL: none) and text together, without special tokens (source_prefix.c). */
rf_status rf__encode_source(const rf_ctx *ctx, const rf_tokenizer *t, const char *prefix, const char *text,
                            size_t bytes, rf_encoding *e, rf_error *why);

#endif
