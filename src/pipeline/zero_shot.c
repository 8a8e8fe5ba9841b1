/* zero_shot.c — labels that the call names, by a model of natural language inference.              Yin et al. 2019
 *
 * A text x and the hypothesis h of a label, "This example is LABEL.", are a pair for the model, whose outputs are z:
 *
 *     score(h) = exp z_e(x, h) / sum over h' of exp z_e(x, h')            e: entailment
 *              = exp z_e(x, h) / (exp z_e(x, h) + exp z_c(x, h))          c: contradiction; with multi_label, or of a
 *                                                                         single label                              */
#include "pipeline/zero_shot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "model/model.h"

void rf_zero_shot_options_init(rf_zero_shot_options *o, size_t size)
{
    const rf_zero_shot_options own = {.hypothesis_template = RF__HYPOTHESIS, .batch_tokens = 2048};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__zero_shot_outputs(const rf_answerer *a, rf__entailment *out, rf_error *why)
{
    const int64_t K = rf_model_config(a->model)->num_labels;
    const rf_labels *l = rf__answerer_labels(a);
    const rf_status status = rf__answerer_can_label(a, why);
    if (status) return status;
    *out = (rf__entailment){.yes = K - 1};
    for (int64_t k = 0; k < K && l->n == K && !out->named; k++)
        if (!strncasecmp(l->name[k], "entail", 6)) *out = (rf__entailment){k, k ? 0 : K - 1, true};
    return RF_OK;
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

/* The bytes of a replacement field for the label as Python's str.format has them: {}, {0}, with or without !s, : and
 * :s. 0: there is none here. */
static size_t field_at(const char *at, bool *numbered)
{
    const char *end = at + 1;
    if (*at != '{') return 0;
    if ((*numbered = *end == '0')) end++;
    if (end[0] == '!' && end[1] == 's') end += 2;
    if (*end == ':') end += end[1] == 's' ? 2 : 1;
    return *end == '}' ? (size_t)(end + 1 - at) : 0;
}

/* Writes a hypothesis to `out`, unless it is NULL. Returns its size, or one above `most`. *fields: 1 a single {}, 2 one
 * or more {0}, 0 none of these, or the template is not valid. */
static size_t put_hypothesis(const char *template, const char *label, size_t bytes, size_t most, char *out, int *fields)
{
    size_t size = 0;
    int plain = 0, numbered = 0;
    for (const char *at = template; *at && size <= most;) {
        bool number = false;
        const bool brace = *at == '{' || *at == '}';
        const size_t field = field_at(at, &number), n = field ? bytes : 1;
        if (!field && brace && at[1] != at[0]) plain = 2;                      /* an invalid template */
        if (out && n) memcpy(out + size, field ? label : at, n);
        size = n > most - size ? most + 1 : size + n;
        plain += field && !number;
        numbered += field && number;
        at += field ? field : brace && at[1] ? 2 : 1;
    }
    *fields = plain == 1 && !numbered ? 1 : !plain && numbered ? 2 : 0;
    return size;
}

rf_status rf__zero_shot_hypothesis(const rf_ctx *ctx, const char *template, const char *label, size_t bytes,
                                   size_t most, char **out, size_t *size, rf_error *why)
{
    int fields;
    *size = put_hypothesis(template, label, bytes, most, NULL, &fields);
    if (*size > most)
        return rf_fail(why, RF_ERANGE, "hypothesis_template: expected hypotheses of at most %zu bytes, got more", most);
    if (!fields)
        return rf_fail(why, RF_EARG, "hypothesis_template: expected a text with {} in the place of the label, and no "
                       "other braces but {{ and }}, got '%s'", rf__printable(template).text);
    *out = rf__calloc(ctx, *size + 1, 1);
    if (!*out) return rf_fail(why, RF_ENOMEM, "out of memory: a hypothesis of %zu bytes", *size);
    (void)put_hypothesis(template, label, bytes, most, *out, &fields);
    return RF_OK;
}

static void drop_hypotheses(const rf_ctx *ctx, rf__choices *x)
{
    for (int64_t k = 0; k < x->n; k++) rf__free(ctx, x->hypothesis[k]);
    rf__free(ctx, x->hypothesis);
    rf__free(ctx, x->bytes);
    x->hypothesis = NULL;
    x->bytes = NULL;
    x->n = 0;
}

void rf__choices_clear(const rf_ctx *ctx, rf__choices *x)
{
    drop_hypotheses(ctx, x);
    rf__free(ctx, x->label);
    rf__free(ctx, x->z);
}

static rf_status make_hypotheses(const rf_pipeline *p, rf__choices *x, const char *template, const char *const label[],
                                 const size_t bytes[], int64_t labels, rf_error *why)
{
    rf_status status = RF_OK;
    drop_hypotheses(p->ctx, x);
    x->hypothesis = rf__calloc(p->ctx, (size_t)labels, sizeof *x->hypothesis);
    x->bytes = rf__calloc(p->ctx, (size_t)labels, sizeof *x->bytes);
    if (!x->hypothesis || !x->bytes)
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld hypotheses", (long long)labels);
    for (; x->n < labels && !status; x->n += !status) {
        if (!label[x->n])
            return rf_fail(why, RF_EARG, "label %lld: expected a text, got NULL", (long long)x->n);
        status = rf__zero_shot_hypothesis(p->ctx, template, label[x->n], rf__text_bytes(label, bytes, x->n), UINT32_MAX,
                                          &x->hypothesis[x->n], &x->bytes[x->n], why);
    }
    return status;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

rf_status rf__zero_shot_add(const rf_answerer *a, rf__text_window *w, const char *text, size_t bytes,
                            const char *hypothesis, size_t hypothesis_bytes, int side, bool *cut, rf_error *why)
{
    if (text && !bytes) return rf_fail(why, RF_EDATA, "text: expected a text, got an empty one");
    return rf__window_add_pair(w, rf_model_tokenizer(a->model), text, bytes, hypothesis, hypothesis_bytes,
                               a->tokenizer_length, side | RF_ENCODE_CUT_FIRST, cut, why);
}

/* Largest first; of equal ones the last first, as transformers reverses an ascending order. */
static int compare(const void *a, const void *b)
{
    const rf_zero_shot_label *x = a, *y = b;
    if (x->score < y->score || x->score > y->score) return x->score < y->score ? 1 : -1;
    return (x->label < y->label) - (x->label > y->label);
}

void rf__zero_shot_rank(const rf__entailment *e, const float *z, int64_t columns, int64_t n, bool several,
                        rf_zero_shot_label out[])
{
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++) most = fmax(most, (double)z[k * columns + e->yes]);
    for (int64_t k = 0; k < n; k++) sum += exp((double)z[k * columns + e->yes] - most);
    for (int64_t k = 0; k < n; k++) {
        const double yes = (double)z[k * columns + e->yes], no = (double)z[k * columns + e->no];
        out[k] = (rf_zero_shot_label){k, several || n == 1 ? 1 / (1 + exp(no - yes)) : exp(yes - most) / sum};
    }
    qsort(out, (size_t)n, sizeof *out, compare);
}

/* Computes the pairs of the window, which are those from number `first` on, and empties it. */
static rf_status compute(rf_pipeline *p, const rf__entailment *e, int64_t first, rf_error *why)
{
    rf__text_window *w = &p->parts.window;
    const int64_t K = rf_model_config(p->model)->num_labels;
    const float *z;
    int64_t rows;
    if (!w->n) return RF_OK;
    const rf_batch b = {.N = w->start[w->n], .B = w->n, .id = w->e.id, .type = w->e.type, .start = w->start};
    const rf_status status = rf_session_logits(p->session, &b, &z, &rows, why);
    for (int64_t i = 0; i < w->n && !status; i++) {
        float *to = p->choices.z + 2 * (first + i);
        to[0] = z[i * K + e->no];
        to[1] = z[i * K + e->yes];
        if (!isfinite(to[0]) || !isfinite(to[1]))
            return rf_fail(why, RF_ENUMERIC, "zero-shot: expected finite outputs, got NaN or infinity");
    }
    w->n = 0;
    return status;
}

/* The outputs of the pairs of all texts, computed together up to batch_tokens; up to the first text that cannot be
 * read, of which `inner` then tells. */
static rf_status compute_all(rf_pipeline *p, const rf__entailment *e, const char *const text[], const size_t bytes[],
                             int64_t n, int64_t batch_tokens, rf_error *inner, rf_error *why)
{
    rf__text_window *w = &p->parts.window;
    const rf__choices *x = &p->choices;
    int64_t done = 0;
    rf_status status = RF_OK;
    w->n = 0;
    for (int64_t i = 0; i < n && !inner->code && !status; i++) {
        bool any = false;
        int64_t tokens = 0;
        for (int64_t k = 0; k < x->n && !inner->code && !status; k++) {
            bool cut = false;
            (void)rf__zero_shot_add(p->answerer, w, text[i], rf__text_bytes(text, bytes, i), x->hypothesis[k],
                                    x->bytes[k], 0, &cut, inner);
            if (inner->code) continue;
            any |= cut;
            tokens += w->start[w->n] - w->start[w->n - 1];
            if (w->start[w->n] < batch_tokens) continue;
            const int64_t pairs = w->n;
            status = compute(p, e, done, why);
            done += pairs;
        }
        if (inner->code) p->report.bad = i;
        else p->report.done++, p->report.tokens += tokens, p->report.cut += any;
    }
    return status ? status : compute(p, e, done, why);
}

static rf_status check(const rf_pipeline *p, const void *label, int64_t labels, const rf_zero_shot_options *o,
                       rf__entailment *e, rf_error *why)
{
    if (!label || labels < 1)
        return rf_fail(why, RF_EARG, "labels: expected at least one, got %s", labels < 1 ? "none" : "no list");
    if (!o->hypothesis_template) return rf_fail(why, RF_EARG, "hypothesis_template: expected a text, got NULL");
    if (o->batch_tokens < 1)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 or more, got %lld", (long long)o->batch_tokens);
    const rf_status status = rf__can_classify(p, true, why);
    return status ? status : rf__zero_shot_outputs(p->answerer, e, why);
}

/* What a user should know of the answers. */
static void keep_reading(rf_answerer *a, const rf__entailment *e, const rf_texts_report *r)
{
    rf_reading *to = &a->reading;
    to->examples += r->done;
    to->cut += r->cut;
    to->max_length = a->tokenizer_length;
    *to->remark = 0;
    if (!e->named)
        snprintf(to->remark, sizeof to->remark, "no label of the model begins with \"entail\": its last output, %.90s, "
                 "counts as entailment", a->labels.n > e->yes ? a->labels.name[e->yes] : "");
}

rf_status rf_zero_shot(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const char *const label[], const size_t label_bytes[], int64_t labels,
                       const rf_zero_shot_options *options, const rf_zero_shot_label **out,
                       const rf_texts_report **report, rf_error *why)
{
    rf_zero_shot_options o;
    rf__entailment e;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_error inner = {0};
    size_t pairs;
    rf_zero_shot_defaults(&o);
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status)
        status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_zero_shot_options, batch_tokens), options,
                                  "rf_zero_shot_options", why);
    if (!status) status = check(p, label, labels, &o, &e, why);
    if (!status) status = make_hypotheses(p, &p->choices, o.hypothesis_template, label, label_bytes, labels, why);
    if (status) return status;
    rf__choices *x = &p->choices;
    if (!rf__checked_mul((size_t)n, (size_t)labels, &pairs) ||
        !rf__grow(p->ctx, &x->label, &x->labels, pairs, sizeof *x->label) ||
        !rf__grow(p->ctx, &x->z, &x->zs, pairs, 2 * sizeof *x->z))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld labels of %lld texts", (long long)labels, (long long)n);
    status = compute_all(p, &e, text, bytes, n, o.batch_tokens, &inner, why);
    if (status) {
        *r = (rf_texts_report){.bad = -1};
        return status;
    }
    const rf__entailment kept = {.yes = 1};
    for (int64_t i = 0; i < r->done; i++)
        rf__zero_shot_rank(&kept, x->z + 2 * i * labels, 2, labels, o.multi_label, x->label + i * labels);
    keep_reading(p->answerer, &e, r);
    if (out) *out = x->label;
    return inner.code ? rf__text_fail(report, r->bad, n, &inner, why) : RF_OK;
}
