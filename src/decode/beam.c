/* beam.c — beam search.
 *
 *     score(text)  = sum log p(token)           log p after repetition_penalty, suppress, no_repeat_ngram_size
 *     a step       the best width = max(2, 1 + stops) num_beams of all beams' continuations; those that end, among the
 *                  first num_beams of them, are finished with score / norm(tokens), and the best num_beams stay
 *                  finished; the best num_beams that do not end are the next beams
 *     norm(n)      n^length_penalty, or ((5 + n) / 6)^length_penalty                                    Wu et al. 2016
 *     the end      num_beams are finished, and early_stopping, or the best beam's score / norm(tokens) is no
 *                  better than the worst of them (tokens: so far; with RF_STOP_NEVER and a penalty above 0
 *                  max_new_tokens)
 *
 * as in transformers 5.  A beam is a text of generate.c; a beam with two continuations is forked. */
#include <math.h>
#include <stdlib.h>

#include "decode/writer.h"

typedef struct finished { int32_t *id; double *logprob, score; int64_t n; bool stopped; } finished;
typedef struct continuation { double score, logprob; int64_t beam; int32_t id; } continuation;

typedef struct rf__beam_search {
    int64_t number;                     /* of its first text                                                          */
    int64_t beams;                      /* current number; 1 at the start                                             */
    rf__writing **beam;                 /* [num_beams]                                                                */
    double *score;                      /* [num_beams]                                                                */
    finished *text;                     /* [num_beams], best first                                                    */
    int64_t texts;
    continuation *all;                  /* [num_beams width]                                                          */
    int64_t references;                 /* number of texts that refer to this search                                  */
    bool over;
} search;

int64_t rf__beam_search_width(const rf_generate_options *o)
{
    return (o->stops > 0 ? 1 + o->stops : 2) * o->num_beams;
}

bool rf__beam_search_leads(const rf__writing *t) { return !t->search || t->search->beam[0] == t; }
int64_t rf__beam_search_beams(const rf__writing *t) { return t->search && t->search->beams == 1 ? -1 : 1; }

static void search_free(const rf_ctx *ctx, search *s)
{
    for (int64_t i = 0; s->text && i < s->texts; i++) {
        rf__free(ctx, s->text[i].id);
        rf__free(ctx, s->text[i].logprob);
    }
    rf__free(ctx, s->text);
    rf__free(ctx, s->beam);
    rf__free(ctx, s->score);
    rf__free(ctx, s->all);
    rf__free(ctx, s);
}

void rf__beam_search_leave(rf__writer *w, rf__writing *t)
{
    rf__free(w->ctx, t->best);
    if (t->search && !--t->search->references) search_free(w->ctx, t->search);
}

static bool beam_space(const rf__writer *w, rf__writing *t)
{
    t->best = rf__calloc(w->ctx, (size_t)rf__beam_search_width(w->o), sizeof *t->best);
    return t->best != NULL;
}

rf_status rf__beam_search_begin(rf__writer *w, rf__writing *t, rf_error *why)
{
    const size_t B = (size_t)w->o->num_beams;
    search *s = rf__calloc(w->ctx, 1, sizeof *s);
    if (s) {
        *s = (search){.number = t->number, .beams = 1, .references = 1};
        t->search = s;
        s->beam = rf__calloc(w->ctx, B, sizeof *s->beam);
        s->score = rf__calloc(w->ctx, B, sizeof *s->score);
        s->text = rf__calloc(w->ctx, B + 1, sizeof *s->text);
        s->all = rf__calloc(w->ctx, B * (size_t)rf__beam_search_width(w->o), sizeof *s->all);
    }
    if (!s || !s->beam || !s->score || !s->text || !s->all || !beam_space(w, t))
        return rf_fail(why, RF_ENOMEM, "out of memory: a search of %zu beams", B);
    s->beam[0] = t;
    return RF_OK;
}

/* ---- a beam ---- */

void rf__beam_search_candidates(const rf__writer *w, rf__writing *t, rf__candidate *c)
{
    const double sum = rf__log_sum(w->ctx->k, t->logits, w->V);
    const int32_t forced = rf__forced(w, t);
    if (forced >= 0) {
        t->best[0] = (rf__candidate){.distance = (double)t->logits[forced] - sum, .id = forced};
        t->bests = 1;
        return;
    }
    t->bests = rf__best_logprobs(w->ctx->k, w->o, t->logits, sum, w->V, t->flag, rf__beam_search_width(w->o), c);
    memcpy(t->best, c, (size_t)t->bests * sizeof *c);
    for (int64_t i = 0; i < t->bests; i++) t->best[i].distance = (double)t->logits[t->best[i].id] - sum;
}

/* Creates another beam with the state of t. */
static rf_status fork_beam(rf__writer *w, const rf__writing *t, rf__writing **out, rf_error *why)
{
    rf__writing *x = rf__calloc(w->ctx, 1, sizeof *x);
    if (!x) return rf_fail(why, RF_ENOMEM, "out of memory: a beam");
    *x = (rf__writing){.number = t->number, .n = t->n, .known = t->known, .prompt = t->prompt, .most = t->most,
                       .source = t->source, .bytes = t->bytes, .source_bytes = t->source_bytes};
    rf_status status = rf__writing_space(w, x) && beam_space(w, x) ? RF_OK
                                                                   : rf_fail(why, RF_ENOMEM, "out of memory: a beam");
    if (!status && w->cache) status = rf__cache_fork(w->cache, t->sequence, t->known, &x->sequence, why);
    if (status) {
        rf__writing_free(w, x);
        return status;
    }
    memcpy(x->id, t->id, (size_t)t->n * sizeof *x->id);
    memcpy(x->flag, t->flag, (size_t)w->V);
    memcpy(x->logprob, t->logprob, (size_t)(t->n - t->prompt) * sizeof *x->logprob);
    x->search = t->search;
    x->search->references++;
    w->live[w->lives++] = x;
    *out = x;
    return RF_OK;
}

/* ---- a step ---- */

static int better(const void *a, const void *b)
{
    const continuation *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->beam != y->beam) return x->beam < y->beam ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int64_t made(const search *s) { return s->beam[0]->n - s->beam[0]->prompt; }

/* Inserts a text that has ended among the finished ones, after those with the same score. */
static rf_status finish_one(const rf__writer *w, search *s, const continuation *c, bool stopped, rf_error *why)
{
    const rf__writing *t = s->beam[c->beam];
    const int64_t n = made(s) + 1;
    finished x = {.n = n, .stopped = stopped, .score = c->score / rf__norm_of_length(w->o, n)};
    int64_t at = s->texts;
    while (at && s->text[at - 1].score < x.score) at--;
    if (at == w->o->num_beams) return RF_OK;
    x.id = rf__calloc(w->ctx, (size_t)n, sizeof *x.id);
    x.logprob = rf__calloc(w->ctx, (size_t)n, sizeof *x.logprob);
    if (!x.id || !x.logprob) {
        rf__free(w->ctx, x.id);
        rf__free(w->ctx, x.logprob);
        return rf_fail(why, RF_ENOMEM, "out of memory: a text of %lld tokens", (long long)n);
    }
    memcpy(x.id, t->id + t->prompt, (size_t)(n - 1) * sizeof *x.id);
    memcpy(x.logprob, t->logprob, (size_t)(n - 1) * sizeof *x.logprob);
    x.id[n - 1] = c->id;
    x.logprob[n - 1] = c->logprob;
    memmove(s->text + at + 1, s->text + at, (size_t)(s->texts - at) * sizeof x);
    s->text[at] = x;
    if (s->texts++ < w->o->num_beams) return RF_OK;
    rf__free(w->ctx, s->text[--s->texts].id);
    rf__free(w->ctx, s->text[s->texts].logprob);
    return RF_OK;
}

/* Creates the beams of the next step from `next`: each current beam continues itself with the last continuation that
 * was chosen for it. */
static rf_status go_on(rf__writer *w, search *s, const continuation next[], int64_t n, rf_error *why)
{
    rf__writing *fresh[RF_BATCH_SIZE_MOST];
    for (int64_t i = 0; i < n; i++) {
        bool last = true;
        for (int64_t j = i + 1; j < n; j++) last = last && next[j].beam != next[i].beam;
        fresh[i] = last ? s->beam[next[i].beam] : NULL;
        const rf_status status = last ? RF_OK : fork_beam(w, s->beam[next[i].beam], &fresh[i], why);
        if (status) return status;
    }
    for (int64_t b = 0; b < s->beams; b++) {
        bool stays = false;
        for (int64_t i = 0; i < n; i++) stays = stays || fresh[i] == s->beam[b];
        s->beam[b]->over = !stays;
    }
    for (int64_t i = 0; i < n; i++) {
        rf__writing *t = s->beam[i] = fresh[i];
        t->logprob[t->n - t->prompt] = next[i].logprob;
        t->id[t->n++] = next[i].id;
        t->flag[next[i].id] |= RF__SEEN;
        t->bests = 0;
        s->score[i] = next[i].score;
    }
    s->beams = n;
    return RF_OK;
}

/* Whether a beam can still become one of the results, after `n` tokens. */
static bool may_improve(const rf_generate_options *o, const search *s, double best, int64_t n)
{
    const bool far = o->early_stopping == RF_STOP_NEVER && o->length_penalty > 0;
    if (s->texts < o->num_beams) return true;
    if (o->early_stopping == RF_STOP_EARLY) return false;
    return best / rf__norm_of_length(o, far ? s->beam[0]->most : n) > s->text[s->texts - 1].score;
}

static rf_status make_step(rf__writer *w, search *s, bool *done, rf_error *why)
{
    const rf_generate_options *o = w->o;
    const int64_t width = rf__beam_search_width(o);
    int64_t n = 0, next = 0;
    for (int64_t b = 0; b < s->beams; b++)
        for (int64_t i = 0; i < s->beam[b]->bests; i++) {
            const rf__candidate *c = &s->beam[b]->best[i];
            s->all[n++] = (continuation){s->score[b] + c->p, c->distance, b, c->id};
        }
    qsort(s->all, (size_t)n, sizeof *s->all, better);
    const bool longest = made(s) + 1 == s->beam[0]->most;
    for (int64_t i = 0; i < n && i < width; i++) {
        const bool stopped = rf__stops(o, s->all[i].id), ends = stopped || longest;
        if (ends && i < o->num_beams) {
            const rf_status status = finish_one(w, s, &s->all[i], stopped, why);
            if (status) return status;
        }
        if (!ends && next < o->num_beams) s->all[next++] = s->all[i];      /* never overwrites an element that is
                                                                              still to be read */
    }
    *done = !next || !may_improve(o, s, s->all[0].score, made(s) + 1);
    return *done ? RF_OK : go_on(w, s, s->all, next, why);
}

/* ---- the end ---- */

static void end_search(search *s)
{
    s->over = true;
    for (int64_t b = 0; b < s->beams; b++) s->beam[b]->over = true;
}

void rf__beam_search_fail(rf__writer *w, search *s, const rf_error *why)
{
    if (s->over) return;
    end_search(s);
    if (!w->first.code) w->first = *why;
    for (int64_t i = 0; i < w->o->num_return_sequences && w->done && !w->stopped; i++)
        w->stopped = w->done(w->user, s->number + i, RF_GENERATE_FAILED, why) != 0;
}

static void hand_out(rf__writer *w, const search *s)
{
    for (int64_t i = 0; i < w->o->num_return_sequences && !w->stopped; i++) {
        const finished *x = &s->text[i];
        rf_generate_end end = x->stopped ? RF_GENERATE_STOP : RF_GENERATE_LENGTH;
        const rf__written text = {s->number + i, x->n, x->id, x->logprob, x->score, x->stopped,
                                  w->o->forced_eos >= 0 && x->n == s->beam[0]->most};
        if (w->written) w->written(w->user, &text);
        for (int64_t j = 0; j < x->n && end != RF_GENERATE_SINK; j++) {
            const rf_generated token = {.id = x->id[j], .index = j, .logprob = x->logprob[j],
                                        .stops = x->stopped && j + 1 == x->n, .text = s->number + i};
            if (w->sink && w->sink(w->user, &token)) end = RF_GENERATE_SINK;
        }
        if (w->done) w->stopped = w->done(w->user, s->number + i, end, NULL) != 0;
    }
}

static bool ready(const search *s)
{
    for (int64_t b = 0; b < s->beams; b++)
        if (!s->beam[b]->bests) return false;
    return true;
}

rf_status rf__beam_search_advance(rf__writer *w, rf_error *why)
{
    const int64_t lives = w->lives;
    for (int64_t i = 0; i < lives && !w->stopped; i++) {
        search *s = w->live[i]->search;
        bool done = false;
        if (!s || s->over || w->live[i] != s->beam[0] || !ready(s)) continue;
        const rf_status status = make_step(w, s, &done, why);
        if (status) return status;
        if (!done) continue;
        end_search(s);
        if (s->texts >= w->o->num_return_sequences) {
            hand_out(w, s);
            continue;
        }
        rf_error own = {0};
        s->over = false;
        rf_fail(&own, RF_EARG, "num_beams: expected %lld beams that can be continued, got %lld; use fewer beams, or "
                "exclude fewer tokens", (long long)w->o->num_beams, (long long)s->texts);
        rf__beam_search_fail(w, s, &own);
    }
    return RF_OK;
}
