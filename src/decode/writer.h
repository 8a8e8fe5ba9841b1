/* writer.h — texts in progress: the state that generate.c, beam.c and translate.c share. */
#ifndef RF_WRITER_H
#define RF_WRITER_H

#include "decode/choose.h"
#include "decode/generation_options.h"
#include "model/cache.h"
#include "model/model.h"
#include "roformer/translate.h"

struct rf__beam_search;

/* A text that is whole: its new tokens, that which ends it included. */
typedef struct rf__written {
    int64_t text, n;
    const int32_t *id;
    const double *logprob;
    double score;                       /* of its log-probability, by the lengths' norm                               */
    bool stopped, forced;               /* by its last token, which had to be                                         */
} rf__written;
typedef void rf__written_sink(void *user, const rf__written *text);

typedef struct rf__writing {
    int64_t number;                     /* of the text                                                                */
    rf_sequence sequence;               /* 0: no keys are kept                                                        */
    int32_t *id;                        /* [prompt + max_new_tokens]                                                  */
    int64_t n, known, prompt;           /* tokens; those that are computed; those of the prompt                       */
    int64_t most;                       /* new tokens                                                                 */
    const rf_translate_source *source;  /* that it translates; or NULL                                                */
    uint8_t *flag;                      /* [V]                                                                        */
    rf_key key;
    uint64_t occurrence;
    size_t bytes, source_bytes;         /* of keys, at its longest; of what is kept of its source                     */
    bool over;
    int64_t taken;                      /* of the step: tokens,                                                       */
    const float *logits;                /* those of its last token or NULL,                                           */
    rf_generated next;                  /* and what is chosen; id -1: nothing can be                                  */
    struct rf__beam_search *search;     /* whose beam it is, or NULL                                                  */
    double *logprob;                    /* [most] of its tokens                                                       */
    rf__candidate *best;                /* [rf__beam_search_width] how it may go on, with their log-probabilities,    */
    int64_t bests;                      /* 0: not known yet                                                           */
} rf__writing;

typedef struct rf__writer {
    const rf_generate_options *o;
    rf_session *session;
    const rf_model *model;
    const rf_ctx *ctx;
    rf_cache *cache;                    /* NULL: no keys are kept                                                     */
    int64_t V;
    const rf_prompt *prompt;
    rf_prompt_source *next;             /* in its place: asked for one after the other; or NULL                       */
    rf_prompt asked;                    /* the last one that it gave                                                  */
    bool ended;                         /* it gives no more                                                           */
    const rf_translate_source *source;  /* in their place: of a decoder                                               */
    int64_t units, entered;             /* texts, or searches: known so far, and those that have begun                */
    int64_t capacity;                   /* of live and member                                                         */
    rf__writing **live;                 /* those that write, and those that are over and not gone yet                 */
    int64_t lives;
    size_t others;                      /* bytes of sequences that are not of these texts                             */
    size_t left;                        /* that there is memory for beside them, when no limit was set; 0: unknown    */
    rf__candidate *candidate;           /* [threads][V]                                                               */
    rf__writing **member;               /* of the step                                                                */
    int64_t members;
    int32_t *id, *start, *row;
    size_t ids, starts, rows;
    int32_t *source_id;                 /* of the step, where no keys are kept: with the starts behind                */
    size_t source_ids;
    rf_sequence *which;
    size_t whiches;
    rf_generate_sink *sink;
    rf_generate_done *done;
    rf__written_sink *written;          /* told of texts that are whole, before `done`; or NULL                       */
    void *user;
    rf_error first;                     /* failure of a text                                                          */
    bool stopped;
} rf__writer;

static inline bool rf__stops(const rf_generate_options *o, int32_t id)
{
    for (int64_t i = 0; i < o->stops; i++)
        if (o->stop[i] == id) return true;
    return false;
}

/* All that a writer has been given is written. */
rf_status rf__write_texts(rf__writer *w, int64_t texts, const rf_generate_options *options, rf_error *why);

/* What the next token of a text has to be; -1: what it likes. */
static inline int32_t rf__forced(const rf__writer *w, const rf__writing *t)
{
    if (t->n == t->prompt && w->o->forced_bos >= 0) return w->o->forced_bos;
    return t->n - t->prompt + 1 == t->most ? w->o->forced_eos : -1;
}

/* log softmax(logits)[id] is logits[id] less this. */
double rf__log_sum(const rfk_table *k, const float *logits, int64_t V);

/* out[i] = log softmax(row i of the logits)[id[i]] of n rows. */
void rf__logprobs_of(const rf_ctx *ctx, const float *logits, const int32_t id[], int64_t n, int64_t V, double out[]);

/* Tokens of prompts, or of sources, in a step. */
enum { RF__STEP_TOKENS = 2048 };

/* Lists of a text whose tokens and `most` are known.  false: no memory. */
bool rf__writing_space(const rf__writer *w, rf__writing *t);
void rf__writing_free(rf__writer *w, rf__writing *t);

/* The end of a text, or of the search that it is a beam of; `why`: it failed, alone. */
void rf__writing_end(rf__writer *w, rf__writing *t, rf_generate_end end, const rf_error *why);

/* ---- translations (sources.c) ---- */

/* Those that entered get their sequences, RF__STEP_TOKENS tokens of sources in a batch; a source that others look at is
 * not read again.  `again`: those whose source was about to be read when they were looked at first. */
rf_status rf__sources_take(rf__writer *w, bool again, rf_error *why);

/* Where no keys are kept: the step's targets beside the sources of the members from `from` on. */
rf_status rf__sources_compute(rf__writer *w, int64_t from, const rf_batch *target, int64_t n, const float **logits,
                              rf_error *why);

/* ---- beam search (beam.c) ---- */

/* Candidates of a step: enough that num_beams of them do not end. */
int64_t rf__beam_search_width(const rf_generate_options *o);

/* t, which has entered, is the first beam of a search. */
rf_status rf__beam_search_begin(rf__writer *w, rf__writing *t, rf_error *why);

/* How the beam may go on, best first. */
void rf__beam_search_look(const rf__writer *w, rf__writing *t, rf__candidate *c);

/* Every search whose beams all know how they may go on makes a step; one that is done hands its texts out. */
rf_status rf__beam_search_advance(rf__writer *w, rf_error *why);

/* What a beam has done wrong ends its search. */
void rf__beam_search_fail(rf__writer *w, struct rf__beam_search *s, const rf_error *why);

/* Of a beam that is freed. */
void rf__beam_search_leave(rf__writer *w, rf__writing *t);

/* Of the beams that look at one source, the one that it is counted for. */
bool rf__beam_search_leads(const rf__writing *t);

/* Beams that the writing stands for. */
int64_t rf__beam_search_beams(const rf__writing *t);

#endif
