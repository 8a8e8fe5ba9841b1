/* optimizer.c — the slabs, and the optimizers, which process them block by block.
 *
 * The work is divided into fixed blocks. Sums over them have a fixed order, and each block is computed by one
 * worker. */
#include <math.h>
#include <stdio.h>

#include "roformer/kernel/kernels.h"
#include "store/store.h"
#include "dist/exchange.h"
#include "optim/optimizer.h"

enum { SPAN = 1 << 16 };

/* ---- the table of optimizers ---- */

static rf_status adamw(rf__optimizer *o, const rf__step *step, rf_error *why);
static rf_status lamb(rf__optimizer *o, const rf__step *step, rf_error *why);
static rf_status lion(rf__optimizer *o, const rf__step *step, rf_error *why);
static rf_status sgd(rf__optimizer *o, const rf__step *step, rf_error *why);

enum { FIRST = 1, SECOND = 2 };
static int both(const rf__rule *r) { return (void)r, FIRST | SECOND; }
static int first_alone(const rf__rule *r) { return (void)r, FIRST; }
static int first_with_momentum(const rf__rule *r) { return r->momentum > 0 ? FIRST : 0; }
static int second_and_perhaps_first(const rf__rule *r) { return SECOND | (r->beta1 > 0 ? FIRST : 0); }

/* An optimizer that uses whole matrices has second moments of its own shape, and every rank keeps all moments. */
static const struct rule_row {
    const char *name;
    int (*moments)(const rf__rule *rule);
    rf_status (*update)(rf__optimizer *o, const rf__step *step, rf_error *why);
    size_t (*second)(const rf_param *p);                /* floats; NULL: as many as the parameter has                 */
    size_t (*scratch)(const rf_params *params);         /* floats                                                     */
} table[] = {
    [RF_OPTIM_ADAMW] = {"adamw", both, adamw, NULL, NULL},
    [RF_OPTIM_LAMB] = {"lamb", both, lamb, NULL, NULL},
    [RF_OPTIM_ADAFACTOR] = {"adafactor", second_and_perhaps_first, rf__adafactor_update, rf__adafactor_floats,
                            rf__adafactor_scratch},
    [RF_OPTIM_LION] = {"lion", first_alone, lion, NULL, NULL},
    [RF_OPTIM_SGD] = {"sgd", first_with_momentum, sgd, NULL, NULL},
    [RF_OPTIM_MUON] = {"muon", both, rf__muon_update, rf__muon_floats, rf__muon_scratch},
};

const char *rf__optim_name(rf_optim optim) { return table[optim].name; }

rf__rule rf__rule_of(const rf_train_options *o)
{
    return (rf__rule){
        .optim = o->optim,
        .beta1 = o->optim == RF_OPTIM_ADAFACTOR ? o->adafactor_beta1 : o->adam_beta1,
        .beta2 = o->adam_beta2,
        .epsilon = o->adam_epsilon,
        .decay = o->weight_decay,
        .bias_correction = o->lamb_bias_correction != 0,
        .momentum = o->optim == RF_OPTIM_MUON ? o->muon_momentum : o->momentum,
        .bf16 = o->bf16 != 0,
        .nesterov = o->nesterov != 0,
        .clip_threshold = o->clip_threshold,
        .decay_rate = o->decay_rate,
        .scale_parameter = o->scale_parameter != 0,
        .relative_step = o->relative_step != 0,
        .warmup_init = o->warmup_init != 0,
        .ema_decay = o->ema_decay,
    };
}

double rf__rule_rate(const rf__rule *r, double rate, int64_t update)
{
    if (r->optim != RF_OPTIM_ADAFACTOR || !r->relative_step) return rate;
    return fmin(r->warmup_init ? 1e-6 * (double)update : 1e-2, 1 / sqrt((double)update));
}

/* ---- slabs ---- */

static int64_t row_of(const rf_param *p) { return p->rank == 2 && p->dim[1] > 0 ? p->dim[1] : 1; }

static size_t span_of(const rf_param *p)
{
    const size_t row = (size_t)row_of(p), rows = SPAN / row;
    return rows ? rows * row : row;
}

size_t rf__spans_of(const rf_param *p) { return (p->count + span_of(p) - 1) / span_of(p); }

static size_t second_of(const struct rule_row *rule, const rf_param *p)
{
    return rule->second ? rule->second(p) : p->count;
}

static size_t second_moments(const rf_params *params, const struct rule_row *rule)
{
    size_t floats = 0;
    if (!rule->second) return params->total;
    for (size_t i = 0; i < params->n; i++) floats += rule->second(&params->p[i]);
    return floats;
}

double rf__optimizer_bytes(const rf_params *params, const rf__rule *rule, int ranks)
{
    const struct rule_row *row = &table[rule->optim];
    const int moments = row->moments(rule);
    const double slabs = 2.0 + (rule->ema_decay > 0), share = row->second ? 1 : 1.0 / ranks;
    const double first = (moments & FIRST) != 0 ? (double)params->total : 0;
    const double second = (moments & SECOND) != 0 ? (double)second_moments(params, row) : 0;
    const double scratch = row->scratch ? (double)row->scratch(params) : 0;
    return sizeof(float) * (slabs * (double)params->total + share * (first + second) + scratch);
}

static void cut_into_spans(rf__optimizer *o)
{
    const rf_params *params = o->params;
    size_t n = 0, columns = 0, v = 0;
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        o->factor[i] = 1;
        o->first[i] = n;
        o->v_at[i] = v;
        v += second_of(&table[o->rule.optim], p);
        for (size_t at = 0; at < p->count; at += span_of(p)) {
            const size_t left = p->count - at;
            o->columns_at[n] = columns;
            o->span[n++] =
                (rf__span){p->offset + at, left < span_of(p) ? left : span_of(p), i, p->decay, false, p->offset + at};
            if (p->rank == 2) columns += (size_t)row_of(p);
        }
    }
    o->first[params->n] = n;
}

static bool make_slab(const rf_ctx *ctx, size_t n, float **slab)
{
    size_t bytes;
    if (!n) return true;
    *slab = rf__checked_mul(n, sizeof(float), &bytes) ? rf__alloc(ctx, bytes) : NULL;
    if (*slab) memset(*slab, 0, bytes);
    return *slab != NULL;
}

/* The slabs of one rank: moments of its share of the spans, everything else completely. */
static bool make_slabs(rf__optimizer *o)
{
    const rf_params *params = o->params;
    const rf_ctx *ctx = params->ctx;
    const struct rule_row *row = &table[o->rule.optim];
    const int moments = row->moments(&o->rule);
    const size_t kept = o->partial ? o->shares.owned : params->total;
    const size_t second = o->partial ? kept : second_moments(params, row);
    return make_slab(ctx, params->total, &o->value) && make_slab(ctx, params->total, &o->grad) &&
           make_slab(ctx, moments & FIRST ? kept : 0, &o->m) && make_slab(ctx, moments & SECOND ? second : 0, &o->v) &&
           make_slab(ctx, row->scratch ? row->scratch(params) : 0, &o->scratch) &&
           make_slab(ctx, o->rule.ema_decay > 0 ? params->total : 0, &o->ema);
}

static rf_status share_out(rf__optimizer *o, int ranks, int rank, rf_error *why)
{
    o->partial = ranks > 1 && !table[o->rule.optim].second;
    if (ranks == 1) return RF_OK;
    const rf_status status = rf__shares_new(o->params, o->span, o->spans, ranks, rank, &o->shares, why);
    for (size_t i = 0; i < o->spans && !status && !o->partial; i++) {
        o->span[i].away = false;
        o->span[i].slot = o->span[i].at;
    }
    return status;
}

rf_status rf__optimizer_new_shared(const rf_params *params, const rf__rule *rule, int ranks, int rank,
                                   rf__optimizer *out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    rf__optimizer o = {.params = params, .rule = *rule};
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n; i++) o.spans += rf__spans_of(&params->p[i]);
    o.factor = rf__calloc(ctx, params->n, sizeof *o.factor);
    o.span = rf__calloc(ctx, o.spans, sizeof *o.span);
    o.first = rf__calloc(ctx, params->n + 1, sizeof *o.first);
    o.square = rf__calloc(ctx, o.spans, sizeof *o.square);
    o.other = rf__calloc(ctx, o.spans, sizeof *o.other);
    o.columns_at = rf__calloc(ctx, o.spans, sizeof *o.columns_at);
    o.v_at = rf__calloc(ctx, params->n, sizeof *o.v_at);
    bool there = o.factor && o.span && o.first && o.square && o.other && o.columns_at && o.v_at;
    if (there) {
        cut_into_spans(&o);
        status = share_out(&o, ranks, rank, why);
        there = !status && make_slabs(&o);
    }
    if (!there) {
        rf__optimizer_free(&o);
        return status
                   ? status
                   : rf_fail(why, RF_ENOMEM, "out of memory: values, gradients and moments of %zu parameters, %.0f MB",
                             params->total, rf__optimizer_bytes(params, rule, ranks) * 1e-6);
    }
    *out = o;
    return RF_OK;
}

rf_status rf__optimizer_new(const rf_params *params, const rf__rule *rule, rf__optimizer *out, rf_error *why)
{
    return rf__optimizer_new_shared(params, rule, 1, 0, out, why);
}

void rf__optimizer_free(rf__optimizer *o)
{
    if (!o->params) return;
    const rf_ctx *ctx = o->params->ctx;
    rf__free(ctx, o->value);
    rf__free(ctx, o->grad);
    rf__free(ctx, o->m);
    rf__free(ctx, o->v);
    rf__free(ctx, o->scratch);
    rf__free(ctx, o->ema);
    rf__free(ctx, o->factor);
    rf__free(ctx, o->span);
    rf__free(ctx, o->first);
    rf__free(ctx, o->square);
    rf__free(ctx, o->other);
    rf__free(ctx, o->columns_at);
    rf__free(ctx, o->v_at);
    rf__shares_free(ctx, &o->shares);
    *o = (rf__optimizer){0};
}

/* ---- passes over the blocks ---- */

static void zero_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const rf__optimizer *o = arg;
    memset(o->grad + o->span[i].at, 0, o->span[i].n * sizeof *o->grad);
}

void rf__optimizer_zero_grad(rf__optimizer *o) { rf__parallel(o->params->ctx, (int64_t)o->spans, zero_span, o); }

static void square_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const rf__optimizer *o = arg;
    if (o->span[i].away) return;
    o->square[i] = o->params->ctx->k->sumsq(o->grad + o->span[i].at, (int64_t)o->span[i].n);
}

double rf__optimizer_norm(rf__optimizer *o)
{
    double sum = 0;
    rf__parallel(o->params->ctx, (int64_t)o->spans, square_span, o);
    if (o->partial) rf__exchange_sums(o->exchange, o->square);
    for (size_t i = 0; i < o->spans; i++) sum += o->square[i];
    return sqrt(sum);
}

/* ---- the optimizers ---- */

typedef struct pass { const rf__optimizer *o; const rf__step *step; float c1, c2; } pass;

static void over_spans(rf__optimizer *o, const rf__step *step, bool corrected, rf_body *body)
{
    const rf__rule *r = &o->rule;
    pass u = {o, step, 1, 1};
    if (corrected) {
        u.c1 = (float)(1 / (1 - pow(r->beta1, (double)step->update)));
        u.c2 = (float)(1 / (1 - pow(r->beta2, (double)step->update)));
    }
    rf__parallel(o->params->ctx, (int64_t)o->spans, body, &u);
}

static float rate_of(const pass *u, const rf__span *s) { return (float)(u->step->rate * u->o->factor[s->param]); }
static float decay_of(const pass *u, const rf__span *s) { return s->decay ? (float)u->o->rule.decay : 0; }
static bool frozen(const pass *u, const rf__span *s) { return s->away || !(u->o->factor[s->param] > 0); }

static void adamw_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *u = arg;
    const rf__optimizer *o = u->o;
    const rf__rule *r = &o->rule;
    const rf__span s = o->span[i];
    if (frozen(u, &s)) return;
    o->params->ctx->k->adamw(o->value + s.at, o->m + s.slot, o->v + s.slot, o->grad + s.at, (int64_t)s.n,
                             rate_of(u, &s), (float)r->beta1, (float)r->beta2, (float)r->epsilon, decay_of(u, &s),
                             u->c1, u->c2, (float)u->step->scale);
}

static rf_status adamw(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    (void)why;
    over_spans(o, step, true, adamw_span);
    return RF_OK;
}

static void lion_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *u = arg;
    const rf__optimizer *o = u->o;
    const rf__span s = o->span[i];
    if (frozen(u, &s)) return;
    o->params->ctx->k->lion(o->value + s.at, o->m + s.slot, o->grad + s.at, (int64_t)s.n, rate_of(u, &s),
                            (float)o->rule.beta1, (float)o->rule.beta2, decay_of(u, &s), (float)u->step->scale);
}

static rf_status lion(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    (void)why;
    over_spans(o, step, false, lion_span);
    return RF_OK;
}

static void sgd_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *u = arg;
    const rf__optimizer *o = u->o;
    const rf__span s = o->span[i];
    if (frozen(u, &s)) return;
    o->params->ctx->k->sgd(o->value + s.at, o->m ? o->m + s.slot : NULL, o->grad + s.at, (int64_t)s.n, rate_of(u, &s),
                           (float)o->rule.momentum, o->rule.nesterov, decay_of(u, &s), (float)u->step->scale);
}

static rf_status sgd(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    (void)why;
    over_spans(o, step, false, sgd_span);
    return RF_OK;
}

/* The direction replaces the gradient; its square and that of the values are summed in the same pass. */
static void lamb_direction(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *u = arg;
    const rf__optimizer *o = u->o;
    const rf__rule *r = &o->rule;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[i];
    if (frozen(u, &s)) return;
    k->lamb(o->grad + s.at, o->value + s.at, o->m + s.slot, o->v + s.slot, (int64_t)s.n, (float)r->beta1,
            (float)r->beta2, (float)r->epsilon, decay_of(u, &s), u->c1, u->c2, (float)u->step->scale);
    o->square[i] = k->sumsq(o->value + s.at, (int64_t)s.n);
    o->other[i] = k->sumsq(o->grad + s.at, (int64_t)s.n);
}

/* |p| / |u| of a tensor, 1 if either is 0. Biases and norms take the plain step, as in the authors' code. */
static double trust(const rf__optimizer *o, size_t param)
{
    double p = 0, u = 0;
    if (!o->params->p[param].decay) return 1;
    for (size_t i = o->first[param]; i < o->first[param + 1]; i++) {
        p += o->square[i];
        u += o->other[i];
    }
    return p > 0 && u > 0 ? sqrt(p) / sqrt(u) : 1;
}

static void lamb_step(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *u = arg;
    const rf__optimizer *o = u->o;
    const rf__span s = o->span[i];
    if (frozen(u, &s)) return;
    const double rate = u->step->rate * o->factor[s.param] * trust(o, s.param);
    o->params->ctx->k->axpy(o->value + s.at, -(float)rate, o->grad + s.at, (int64_t)s.n);
}

static rf_status lamb(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    (void)why;
    over_spans(o, step, o->rule.bias_correction, lamb_direction);
    if (o->partial) rf__exchange_sums(o->exchange, o->square);
    if (o->partial) rf__exchange_sums(o->exchange, o->other);
    over_spans(o, step, false, lamb_step);
    return RF_OK;
}


/* ---- averages of weights ---- */

typedef struct two { const rf__optimizer *o; float *a; const float *b; float *c; float share; } two;

static void blend_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const two *t = arg;
    const rf__span s = t->o->span[i];
    if (t->share < 1) t->o->params->ctx->k->lerp(t->a + s.at, t->share, t->b + s.at, (int64_t)s.n);
    else memcpy(t->a + s.at, t->b + s.at, s.n * sizeof *t->a);
}

void rf__optimizer_blend(const rf__optimizer *o, float *mean, const float *value, double share)
{
    two t = {o, mean, value, NULL, (float)share};
    rf__parallel(o->params->ctx, (int64_t)o->spans, blend_span, &t);
}

static void swap_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const two *t = arg;
    const rf__span s = t->o->span[i];
    for (size_t j = s.at; j < s.at + s.n; j++) {
        const float kept = t->a[j];
        t->a[j] = t->c[j];
        t->c[j] = kept;
    }
}

void rf__optimizer_swap(const rf__optimizer *o, float *a, float *b)
{
    two t = {o, a, NULL, b, 0};
    rf__parallel(o->params->ctx, (int64_t)o->spans, swap_span, &t);
}

rf_status rf__optimizer_update(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    const rf_status status = table[o->rule.optim].update(o, step, why);
    if (status) return status;
    if (o->partial) rf__exchange_parts(o->exchange, o->value);
    if (o->ema) rf__optimizer_blend(o, o->ema, o->value, step->update == 1 ? 1 : 1 - o->rule.ema_decay);
    return RF_OK;
}

/* ---- the file ---- */

/* `at`: the values; with several ranks, the position in the slab of gradients through which they are sent. `kept`:
 * those of this rank. */
typedef struct moment {
    char name[104];
    int rank;
    int64_t dim[2];
    size_t count;
    float *at;
    const rf__optimizer *o;
    size_t param;
    float *kept;
} moment;
enum { MOMENTS = 3 };                   /* per parameter, at most */

static moment whole_moment(const rf__optimizer *o, char letter, size_t param, float *slab)
{
    const rf_param *p = &o->params->p[param];
    moment m = {.rank = p->rank,
                .dim = {p->dim[0], p->dim[1]},
                .count = p->count,
                .at = slab + p->offset,
                .o = o,
                .param = param};
    if (o->partial) m.kept = slab, m.at = o->grad + p->offset;
    snprintf(m.name, sizeof m.name, "%c.%s", letter, p->name);
    return m;
}

static moment line(char letter, const rf_param *p, int64_t n, float *at)
{
    moment m = {.rank = 1, .dim = {n, 0}, .count = (size_t)n, .at = at};
    snprintf(m.name, sizeof m.name, "%c.%s", letter, p->name);
    return m;
}

/* The moments that the optimizer has for parameter i. */
static int moments_of(const rf__optimizer *o, size_t i, moment out[MOMENTS])
{
    const rf_param *p = &o->params->p[i];
    int n = 0;
    const size_t second = o->v ? second_of(&table[o->rule.optim], p) : 0;
    if (o->m) out[n++] = whole_moment(o, 'm', i, o->m);
    if (o->rule.optim == RF_OPTIM_ADAFACTOR && p->rank == 2) {
        out[n++] = line('r', p, p->dim[0], o->v + o->v_at[i]);
        out[n++] = line('c', p, p->dim[1], o->v + o->v_at[i] + p->dim[0]);
    } else if (second) {
        out[n++] = whole_moment(o, 'v', i, o->v);
        if (table[o->rule.optim].second) out[n - 1].at = o->v + o->v_at[i];
    }
    return n;
}

/* ---- moments of other ranks: rank 0 names the parameter that it requests, the others send what they have --------- */

enum { NO_MORE = -1 };

static rf_status pass_on(const rf__optimizer *o, int64_t requested, rf_error *why)
{
    rf__exchange *x = o->exchange;
    const rf_param *p = &o->params->p[requested / 2];
    rf__exchange_to_first(x, requested % 2 ? o->v : o->m, o->grad, p->offset, p->count);
    return rf__exchange_error(x, why);
}

static const float *fetch(void *user, size_t i, rf_error *why)
{
    const moment *m = (const moment *)user + i;
    int64_t requested = 2 * (int64_t)m->param + (m->kept == m->o->v);
    if (rf__broadcast(m->o->exchange->comm, &requested, sizeof requested, why) || pass_on(m->o, requested, why))
        return NULL;
    return m->at;
}

rf_status rf__optimizer_serve(const rf__optimizer *o, rf_error *why)
{
    int64_t requested = NO_MORE;
    for (;;) {
        rf_status status = rf__broadcast(o->exchange->comm, &requested, sizeof requested, why);
        if (!status && requested != NO_MORE) status = pass_on(o, requested, why);
        if (status || requested == NO_MORE) return status;
    }
}

rf_status rf__optimizer_served(const rf__optimizer *o, rf_error *why)
{
    int64_t requested = NO_MORE;
    return rf__broadcast(o->exchange->comm, &requested, sizeof requested, why);
}

static void keep_own(const moment *m)
{
    const rf__optimizer *o = m->o;
    if (!m->kept) return;                                           /* complete on this rank: `o` is not set either */
    for (size_t i = o->first[m->param]; i < o->spans && o->span[i].param == m->param; i++)
        if (!o->span[i].away)
            memcpy(m->kept + o->span[i].slot, o->grad + o->span[i].at, o->span[i].n * sizeof *m->kept);
}

rf_status rf__optimizer_save(const rf__optimizer *o, const char *path, rf_error *why)
{
    return rf__optimizer_write(o, path, NULL, why);
}

rf_status rf__optimizer_write(const rf__optimizer *o, const char *path, int *fd, rf_error *why)
{
    const rf_params *params = o->params;
    const char *const metadata[] = {"optim", rf__optim_name(o->rule.optim), NULL};
    rf_weight_out *out = rf__calloc(params->ctx, MOMENTS * params->n, sizeof *out);
    moment *kept = rf__calloc(params->ctx, MOMENTS * params->n, sizeof *kept);
    rf_status status = RF_OK;
    size_t n = 0;
    if (!out || !kept) status = rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", MOMENTS * params->n);
    for (size_t i = 0; i < params->n && !status; i++) n += (size_t)moments_of(o, i, kept + n);
    for (size_t i = 0; i < n; i++)
        out[i] = (rf_weight_out){.name = kept[i].name, .type = RF_F32, .rank = kept[i].rank,
                                 .dim = {kept[i].dim[0], kept[i].dim[1]}, .data = o->partial ? NULL : kept[i].at};
    if (!status)
        status = rf__weights_stream(params->ctx, path, out, n, metadata, o->partial ? fetch : NULL, kept, fd, why);
    rf__free(params->ctx, out);
    rf__free(params->ctx, kept);
    return status;
}

/* Files without a name come from versions that only had AdamW. */
static rf_status same_rule(const rf__optimizer *o, const rf_weights *w, const char *path, rf_error *why)
{
    const char *named = rf__weights_metadata(w, "optim"), *expected = rf__optim_name(o->rule.optim);
    const char *name = named ? named : "adamw";
    if (!strcmp(name, expected)) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: optim: expected moments of %s, got %.20s; a resumed run cannot change optim",
                   path, expected, name);
}

rf_status rf__optimizer_load(rf__optimizer *o, const char *path, rf_error *why)
{
    const rf_params *params = o->params;
    rf_weights *w;
    rf_status status = rf_weights_open(params->ctx, path, &w, why);
    if (status) return status;
    status = same_rule(o, w, path, why);
    for (size_t i = 0; i < params->n && !status; i++) {
        moment kept[MOMENTS];
        const int n = moments_of(o, i, kept);
        for (int k = 0; k < n && !status; k++) {
            const rf_weight *t = rf__weights_find(w, kept[k].name);
            if (!t || t->count != kept[k].count)
                status = rf_fail(why, RF_EDATA, "%s: expected a tensor %s of %zu values, got none", path, kept[k].name,
                                 kept[k].count);
            else status = rf__weights_read(w, t, kept[k].at, 1, why);
            if (!status) keep_own(&kept[k]);
        }
    }
    rf_weights_close(w);
    return status;
}
