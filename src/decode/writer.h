/* writer.h — texts in progress: the state that generate.c, beam.c and translate.c share. */
#ifndef RF_WRITER_H
#define RF_WRITER_H

#include "decode/choose.h"
#include "decode/generation_options.h"
#include "decode/session.h"
#include "model/cache.h"
#include "roformer/generate.h"

struct rf__beam_search;

/* A finished text: its new tokens, including the one that ends it. */
typedef struct rf__written {
    int64_t text, n;
    const int32_t *id;
    const double *logprob;
    double score;                       /* log-probability divided by the norm of its length                          */
    bool stopped, forced;               /* it ended with a stop token; the last token was forced                      */
} rf__written;
typedef void rf__written_sink(void *user, const rf__written *text);

typedef struct rf__writing {
    int64_t number;                     /* index of the text                                                          */
    rf_sequence sequence;               /* 0: no keys are cached                                                      */
    int32_t *id;                        /* [prompt + max_new_tokens]                                                  */
    int64_t n, known, prompt;           /* number of tokens; number of computed ones; number of those of the prompt   */
    int64_t most;                       /* new tokens                                                                 */
    const rf_translate_source *source;  /* the source that it translates, or NULL                                     */
    uint8_t *flag;                      /* [V]                                                                        */
    double *less;                       /* [V] penalties of its new tokens (rf__scores.less)                          */
    rf_key key;
    uint64_t occurrence;
    size_t bytes, source_bytes;         /* of its keys at maximum length; of what is stored for its source            */
    bool over;
    int64_t taken;                      /* in this step: number of its tokens,                                        */
    const float *logits;                /* logits of its last token, or NULL,                                         */
    rf_generated next;                  /* and the chosen token; id -1: no token is allowed                           */
    struct rf__beam_search *search;     /* the search whose beam it is, or NULL                                       */
    double *logprob;                    /* [most] of its tokens                                                       */
    rf_token_logprob *top;              /* [top_logprobs] of the next one                                             */
    rf__candidate *best;           /* [rf__beam_search_width] its possible continuations with their log-probabilities */
    int64_t bests;                      /* number of those; 0: not known yet                                          */
} rf__writing;

typedef struct rf__writer {
    const rf_generate_options *o;
    rf_session *session;
    const rf_model *model;
    const rf_ctx *ctx;
    rf_cache *cache;                    /* NULL: no keys are cached                                                   */
    int64_t V;
    const rf_prompt *prompt;
    rf_prompt_source *next;           /* replaces the list of prompts: called for one prompt after the other; or NULL */
    rf_prompt asked;                    /* the last prompt that it returned                                           */
    bool ended;                         /* it returns no more prompts                                                 */
    const rf_translate_source *source;  /* replaces the prompts, for decoders                                         */
    rf_translate_next *next_source;     /* replaces the list of sources, or NULL                                      */
    rf_translate_source **asked_source; /* [asked_sources] copies of what it returned                                 */
    size_t asked_sources, source_space;
    int64_t units, entered;             /* texts, or searches: known so far; started                                  */
    int64_t capacity;                   /* of live and member                                                         */
    rf__writing **live;                 /* texts in progress, and finished ones that have not been removed            */
    int64_t lives;
    size_t others;                      /* bytes of sequences that belong to other callers                            */
    size_t left;                        /* memory available besides these, if there is no limit; 0: unknown           */
    rf__candidate *candidate;           /* [threads][V]                                                               */
    rf__writing **member;               /* in this step                                                               */
    int64_t members;
    int32_t *id, *start, *row;
    size_t ids, starts, rows;
    int32_t *source_id;                 /* in this step, if no keys are cached; followed by the starts                */
    size_t source_ids;
    rf_sequence *which;
    size_t whiches;
    rf_generate_sink *sink;
    rf_generate_done *done;
    rf__written_sink *written;          /* called with finished texts, before `done`; or NULL                         */
    void *user;
    rf_error first;                     /* error of the first text that failed                                        */
    bool stopped;
} rf__writer;

static inline bool rf__stops(const rf_generate_options *o, int32_t id)
{
    for (int64_t i = 0; i < o->stops; i++)
        if (o->stop[i] == id) return true;
    return false;
}

/* Whether the texts are translations; whether they arrive one by one. */
static inline bool rf__translates(const rf__writer *w) { return w->source || w->next_source; }
static inline bool rf__asks(const rf__writer *w) { return w->next || w->next_source; }

/* Generates all texts that the writer has been given. */
rf_status rf__write_texts(rf__writer *w, int64_t texts, const rf_generate_options *options, rf_error *why);

/* The token that must come next in a text; -1: any. */
static inline int32_t rf__forced(const rf__writer *w, const rf__writing *t)
{
    if (t->n == t->prompt && w->o->forced_bos >= 0) return w->o->forced_bos;
    return t->n - t->prompt + 1 == t->most ? w->o->forced_eos : -1;
}

/* log softmax(logits)[id] is logits[id] minus this number. */
double rf__log_sum(const rfk_table *k, const float *logits, int64_t V);

/* out[i] = log softmax(row i of the logits)[id[i]] of n rows; top [n, tops]: the most likely tokens of each row. */
void rf__logprobs_of(const rf_ctx *ctx, const float *logits, const int32_t id[], int64_t n, int64_t V, double out[],
                     int64_t tops, rf_token_logprob top[]);

/* The `most` most likely tokens; of equal ones the smallest id is first. Returns their number. */
int64_t rf__top_logprobs(const float *logits, int64_t V, double log_sum, int64_t most, rf_token_logprob *top);

/* Maximum number of tokens of prompts, or of sources, in a step. */
enum { RF__STEP_TOKENS = 2048 };

/* Allocates the lists of a text whose tokens and `most` are known. false: out of memory. */
bool rf__writing_space(const rf__writer *w, rf__writing *t);
void rf__writing_free(rf__writer *w, rf__writing *t);

/* The text gets the new token `id`: its flags, presence_penalty, and frequency_penalty once more. */
void rf__writing_note(const rf__writer *w, rf__writing *t, int32_t id);

/* Ends a text, or the search that it is a beam of; `why`: the error of this text. */
void rf__writing_end(rf__writer *w, rf__writing *t, rf_generate_end end, const rf_error *why);

/* ---- translations (sources.c) ---- */

/* Gives the texts that have entered their sequences, with RF__STEP_TOKENS tokens of sources in a batch. A source that
 * several texts share is read once. `again`: only those whose source was about to be read at the first call. */
rf_status rf__sources_take(rf__writer *w, bool again, rf_error *why);

/* The source of a text; NULL: it is not a translation. */
const rf_translate_source *rf__source_of(const rf__writer *w, int64_t number);

/* Asks for one more source and copies it; *got is false if there is none now. */
rf_status rf__sources_ask(rf__writer *w, int idle, bool *got, rf_error *why);
void rf__sources_free(rf__writer *w);

/* Without cached keys: computes the targets of the step together with the sources of the members from `from` on. */
rf_status rf__sources_compute(rf__writer *w, int64_t from, const rf_batch *target, int64_t n, const float **logits,
                              rf_error *why);

/* ---- beam search (beam.c) ---- */

/* Number of candidates of a step: enough that num_beams of them do not end. */
int64_t rf__beam_search_width(const rf_generate_options *o);

/* Makes t, which has entered, the first beam of a search. */
rf_status rf__beam_search_begin(rf__writer *w, rf__writing *t, rf_error *why);

/* Finds the possible continuations of the beam, best first. */
void rf__beam_search_candidates(const rf__writer *w, rf__writing *t, rf__candidate *c);

/* Advances every search whose beams all know their continuations; a search that is finished passes on its texts. */
rf_status rf__beam_search_advance(rf__writer *w, rf_error *why);

/* An error of a beam ends its search. */
void rf__beam_search_fail(rf__writer *w, struct rf__beam_search *s, const rf_error *why);

/* Called when a beam is freed. */
void rf__beam_search_leave(rf__writer *w, rf__writing *t);

/* Whether t is the beam that counts for the memory of their common source. */
bool rf__beam_search_leads(const rf__writing *t);

/* Number of beams that the text represents. */
int64_t rf__beam_search_beams(const rf__writing *t);

#endif
