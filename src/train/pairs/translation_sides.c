/* translation_sides.c — checks whether source and target are exchanged.
 *
 *     a trained model          -log p(target | source) of the first pairs as given, and with their sides exchanged
 *     held-out pairs           -log q(token) of each side by the token frequencies of the training sides, as given and
 *                              exchanged
 *
 * If the exchanged sides fit better, a note says so; nothing is refused, since the user may have intended it. */
#include <math.h>

#include "train/pairs/translation_job.h"

static const double CLEARLY = 0.5;                              /* nats per token                                     */

static rf__pairs exchanged(const rf__pairs *p)
{
    rf__pairs x = *p;
    for (int s = 0; s < RF__SIDES; s++) {
        x.id[s] = p->id[1 - s];
        x.start[s] = p->start[1 - s];
    }
    return x;
}

/* ---- by the loss of the model ---- */

static rf_status loss_of(rf__run *r, const rf__pairs *p, double *loss, rf_error *why)
{
    rf__pair_training *t = r->task;
    rf__evaluator s = {.graph = r->graph, .encoder = r->encoder, .pairs = &t->batch[0], .ctx = r->ctx};
    size_t at = 0;
    rf__pairs_pack_in_order(p, &t->marks, &at, &t->batch[0]);
    rf_status status = rf__evaluator_flush(&s, why);
    if (!status) status = rf__evaluator_end(&s, why);
    *loss = s.labels ? s.loss / (double)s.labels : NAN;
    return status;
}

static rf_status compare_by_loss(rf__run *r, const rf__pair_training *t, rf_error *why)
{
    double given, other;
    const rf__pairs x = exchanged(&t->train);
    rf_status status = loss_of(r, &t->train, &given, why);
    if (!status) status = loss_of(r, &x, &other, why);
    if (!status && other + CLEARLY < given)
        rf__run_notify(r, "note",
                       "are source and target exchanged?  The model in %s has a loss of %.2f on the first pairs, and "
                       "of %.2f with their sides exchanged", r->o.model, given, other);
    return status;
}

/* ---- by token frequencies ---- */

static void count(const rf__pairs *p, int side, double *n, int64_t V)
{
    const double all = (double)(p->start[side][p->n] + (size_t)V);
    for (int64_t i = 0; i < V; i++) n[i] = 1;
    for (size_t i = 0; i < p->start[side][p->n]; i++) n[p->id[side][i]]++;
    for (int64_t i = 0; i < V; i++) n[i] = -log(n[i] / all);
}

/* Nats per token of both sides of `p`. */
static double surprise(const rf__pairs *p, double *const nats[RF__SIDES])
{
    double sum = 0, tokens = 0;
    for (int s = 0; s < RF__SIDES; s++) {
        for (size_t i = 0; i < p->start[s][p->n]; i++) sum += nats[s][p->id[s][i]];
        tokens += (double)p->start[s][p->n];
    }
    return tokens > 0 ? sum / tokens : 0;
}

static rf_status compare_by_words(rf__run *r, const rf__pair_training *t, rf_error *why)
{
    const int64_t V = rf_tokenizer_size(r->tokenizer);
    double *all = rf__calloc(r->ctx, (size_t)V, RF__SIDES * sizeof *all);
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: counts of %lld tokens", (long long)V);
    double *const nats[RF__SIDES] = {all, all + V};
    for (int s = 0; s < RF__SIDES; s++) count(&t->train, s, nats[s], V);
    const rf__pairs x = exchanged(&t->held);
    const double given = surprise(&t->held, nats), other = surprise(&x, nats);
    if (other + CLEARLY < given)
        rf__run_notify(r, "note",
                       "are validation_source and validation_target exchanged?  By the token frequencies of the "
                       "training texts, a held-out token has %.2f nats, and %.2f with the sides exchanged",
                       given, other);
    rf__free(r->ctx, all);
    return RF_OK;
}

rf_status rf__translation_sides(rf__run *r, bool trained, rf_error *why)
{
    const rf__pair_training *t = r->task;
    rf_status status = RF_OK;
    if (*r->from) return RF_OK;
    if (t->held.n) status = compare_by_words(r, t, why);
    return status || !trained ? status : compare_by_loss(r, t, why);
}
