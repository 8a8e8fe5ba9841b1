/* writer.h — texts that are written side by side: what generate.c and beam.c share. */
#ifndef RF_WRITER_H
#define RF_WRITER_H

#include "model/cache.h"
#include "model/generate.h"
#include "model/model.h"

struct rf__search;

typedef struct rf__writing {
    int64_t number;                     /* of the text                                                                */
    rf_sequence sequence;               /* 0: no keys are kept                                                        */
    int32_t *id;                        /* [prompt + max_new_tokens]                                                  */
    int64_t n, known, prompt;           /* tokens; those that are computed; those of the prompt                       */
    uint8_t *flag;                      /* [V]                                                                        */
    rf_key key;
    uint64_t occurrence;
    size_t bytes;                       /* of keys, at its longest                                                    */
    bool over;
    int64_t piece;                      /* of the step: tokens,                                                       */
    const float *logits;                /* those of its last token or NULL,                                           */
    rf_generated next;                  /* and what is chosen; id -1: nothing can be                                  */
    struct rf__search *search;          /* whose beam it is, or NULL                                                  */
    double *logprob;                    /* [max_new_tokens] of its tokens, of a beam                                  */
    rf__candidate *best;                /* [rf__search_width] how it may go on, with their log-probabilities,         */
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
    int64_t units, entered;             /* texts, or searches                                                         */
    int64_t capacity;                   /* of live and member                                                         */
    rf__writing **live;                 /* those that write, and those that are over and not gone yet                 */
    int64_t lives;
    size_t others;                      /* bytes of sequences that are not of these texts                             */
    rf__candidate *candidate;           /* [threads][V]                                                               */
    rf__writing **member;               /* of the step                                                                */
    int64_t members;
    int32_t *id, *start, *row;
    size_t ids, starts, rows;
    rf_sequence *which;
    size_t whiches;
    rf_generate_sink *sink;
    rf_generate_done *done;
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

/* log softmax(logits)[id] is logits[id] less this. */
double rf__log_sum(const rfk_table *k, const float *logits, int64_t V);

void rf__writing_free(rf__writer *w, rf__writing *t);

/* ---- beam search (beam.c) ---- */

/* Candidates of a step: enough that num_beams of them do not end. */
int64_t rf__search_width(const rf_generate_options *o);

/* t, which has entered, is the first beam of a search. */
rf_status rf__search_begin(rf__writer *w, rf__writing *t, rf_error *why);

/* How the beam may go on, best first. */
void rf__search_look(const rf__writer *w, rf__writing *t, rf__candidate *c);

/* Every search whose beams all know how they may go on makes a step; one that is done hands its texts out. */
rf_status rf__search_advance(rf__writer *w, rf_error *why);

/* What a beam has done wrong ends its search. */
void rf__search_fail(rf__writer *w, struct rf__search *s, const rf_error *why);

/* Of a beam that is freed. */
void rf__search_leave(rf__writer *w, rf__writing *t);

/* Beams that the writing stands for. */
int64_t rf__search_beams(const rf__writing *t);

#endif
