/* position_report.c — measures a trained model's response to shifts, its attention, and its loss by length:
 * roformer/inspect/positions.h. */
#include <math.h>

#include "data/corpus/batch.h"
#include "decode/session.h"
#include "model/attention_probe.h"
#include "train/evaluate.h"

void rf_probe_options_init(rf_probe *p, size_t size)
{
    const rf_probe defaults = {.pieces = 1, .seed = 42, .mlm_probability = 0.15};
    if (p) rf__options_init(p, size, &defaults, sizeof defaults);
}

/* The given options, complete and checked. */
static rf_status read_probe(rf_probe *own, const rf_probe *given, const void *out, rf_error *why)
{
    if (!(given && out)) return rf__missing("rf_probe", "probe, out", why);
    rf_probe_defaults(own);
    const rf_status status = rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_probe, user), given, "rf_probe", why);
    if (status) return status;
    if (!(own->ctx && own->model && own->session && own->text && own->text->id && rf_model_tokenizer(own->model)))
        return rf__missing("rf_probe", "ctx, model with a tokenizer, session, text", why);
    if (own->pieces < 1 || own->pieces > own->text->n)
        return rf_fail(why, RF_EARG, "rf_probe: pieces: expected at most the text's %lld, got %lld",
                       (long long)own->text->n, (long long)own->pieces);
    return RF_OK;
}

static rf_status progress(const rf_probe *lab, double share, rf_error *why)
{
    if (!lab->progress || !lab->progress(lab->user, share)) return RF_OK;
    return rf_fail(why, RF_ESTOPPED, "stopped");
}

/* RoFormer-Sim reads a text with bidirectional attention. */
static bool causal(const rf_probe *lab)
{
    const rf_config *c = rf_model_config(lab->model);
    return c->is_decoder && !c->linear_pooler;
}
static const int32_t *stretch(const rf_probe *lab, int64_t i) { return lab->text->id + i * lab->text->size; }

/* [CLS] text [SEP] */
static int64_t put_piece(const rf_tokenizer *t, int32_t *to, const int32_t *id, int64_t n)
{
    to[0] = rf_tokenizer_cls(t);
    memcpy(to + 1, id, (size_t)n * sizeof *to);
    to[n + 1] = rf_tokenizer_sep(t);
    return n + RF__TEMPLATE;
}

/* ---- shifts ------------------------------------------------------------------------------------------------------ */

struct compared { double max, sum, square; int64_t n; };

static void compare(struct compared *c, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        c->max = fmax(c->max, d);
        c->sum += d;
        c->square += (double)a[i] * (double)a[i];
    }
    c->n += n;
}

struct shifting {
    int64_t T, C, V, rows;
    int32_t *id, *position, *row;
    float *hidden, *logits;             /* before the shift                                                           */
};

/* One piece, before and after a shift.  RF_ERANGE: there are no such positions. */
static rf_status shift_piece(const rf_probe *lab, const struct shifting *s, int64_t by, struct compared *hidden,
                             struct compared *logits, rf_error *why)
{
    const int32_t start[2] = {0, (int32_t)s->T};
    rf_batch b = {.N = s->T, .B = 1, .id = s->id, .start = start};
    const float *y;
    rf_status status = rf_session_hidden(lab->session, &b, &y, why);
    if (!status) memcpy(s->hidden, y, (size_t)(s->T * s->C) * sizeof *y);
    if (!status && s->logits) status = rf_session_mlm_logits(lab->session, &b, s->row, s->rows, &y, why);
    if (!status && s->logits) memcpy(s->logits, y, (size_t)(s->rows * s->V) * sizeof *y);
    if (status) return status;
    for (int64_t n = 0; n < s->T; n++) s->position[n] = (int32_t)(n + by);
    b.position = s->position;
    if ((status = rf_session_hidden(lab->session, &b, &y, why))) return status;
    compare(hidden, s->hidden, y, s->T * s->C);
    if (!s->logits) return RF_OK;
    if ((status = rf_session_mlm_logits(lab->session, &b, s->row, s->rows, &y, why))) return status;
    compare(logits, s->logits, y, s->rows * s->V);
    return RF_OK;
}

static rf_status measure_shift(const rf_probe *lab, rf_shift *out, rf_error *why)
{
    enum { ROWS = 32 };                                         /* tokens of a piece whose logits are compared */
    const rf_config *c = rf_model_config(lab->model);
    const int64_t T = lab->text->length;
    struct shifting s = {.T = T, .C = c->hidden_size, .V = c->vocab_size, .rows = rf__min64(T, ROWS)};
    struct compared hidden = {0}, logits = {0};
    rf_error inner = {0};
    rf_status status = RF_OK;
    out->scored = rf_model_has_head(lab->model) != 0;
    s.id = rf__calloc(lab->ctx, (size_t)T, sizeof *s.id);
    s.position = rf__calloc(lab->ctx, (size_t)T, sizeof *s.position);
    s.row = rf__calloc(lab->ctx, ROWS, sizeof *s.row);
    s.hidden = rf__calloc(lab->ctx, (size_t)(T * s.C), sizeof *s.hidden);
    s.logits = out->scored ? rf__calloc(lab->ctx, (size_t)(s.rows * s.V), sizeof *s.logits) : NULL;
    if (!s.id || !s.position || !s.row || !s.hidden || (out->scored && !s.logits))
        status = rf_fail(why, RF_ENOMEM, "out of memory: outputs of %lld tokens", (long long)T);
    for (int64_t i = 0; i < s.rows && !status; i++) s.row[i] = (int32_t)(i * T / s.rows);
    for (int64_t i = 0; i < lab->pieces && !status && !inner.code; i++) {
        put_piece(rf_model_tokenizer(lab->model), s.id, stretch(lab, i), T - RF__TEMPLATE);
        if (shift_piece(lab, &s, out->by, &hidden, &logits, &inner) && inner.code != RF_ERANGE)
            status = rf_fail(why, inner.code, "%s", inner.text);
        if (!status) status = progress(lab, (double)(i + 1) / (double)lab->pieces, why);
    }
    out->defined = !inner.code;
    out->hidden_max = hidden.max, out->hidden_mean = hidden.sum / (double)hidden.n,
    out->hidden_rms = sqrt(hidden.square / (double)hidden.n);
    out->logits_max = logits.max, out->logits_mean = logits.sum / (double)logits.n,
    out->logits_rms = sqrt(logits.square / (double)logits.n);
    rf__free(lab->ctx, s.id);
    rf__free(lab->ctx, s.position);
    rf__free(lab->ctx, s.row);
    rf__free(lab->ctx, s.hidden);
    rf__free(lab->ctx, s.logits);
    return status;
}

rf_status rf_probe_shift(const rf_probe *p, rf_shift *out, rf_error *why)
{
    rf_probe own;
    const rf_status status = read_probe(&own, p, out, why);
    return status ? status : measure_shift(&own, out, why);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

struct looking { rf_attention_report *r; float *p; };

static void add_head(rf_attention_report *r, int64_t at, const float *p)
{
    const int64_t T = r->length;
    for (int64_t m = 0; m < T; m++)
        for (int64_t n = 0; n < T; n++) {
            const double one = (double)p[m * T + n];
            const int64_t d = m > n ? m - n : n - m;
            r->distance[at] += one * (double)d;
            r->by_distance[at * T + d] += one;
            if (one > 0) r->entropy[at] -= one * log(one);
            if (n == 0 || n == T - 1) r->ends[at] += one;
        }
}

static void collect_scores(void *user, rf_graph *g, const rf__view *view)
{
    const struct looking *l = user;
    rf_attention_report *r = l->r;
    const int64_t layer = view->at->layer;
    rf__attention_probabilities(g, view, l->p);
    if (g->error.code) return;
    for (int64_t h = 0; h < r->H; h++) add_head(r, layer * r->H + h, l->p + h * r->length * r->length);
    rf__head_sums_add(&r->sums[layer], view);
}

/* Converts sums to means; and computes attention that treats every key equally. */
static void average(rf_attention_report *r, int64_t pieces, bool decoder)
{
    const int64_t T = r->length;
    const double queries = (double)(pieces * T);
    for (int64_t i = 0; i < r->L * r->H; i++) {
        r->distance[i] /= queries;
        r->entropy[i] /= queries;
        r->ends[i] /= queries;
        for (int64_t d = 0; d < T; d++)
            r->by_distance[i * T + d] /= (double)(pieces * (d && !decoder ? 2 : 1) * (T - d));
    }
    for (int64_t m = 0; m < T; m++) {
        const double after = (double)(T - 1 - m),
                     sum = (double)m * ((double)m + 1) / 2 + (decoder ? 0 : after * (after + 1) / 2);
        const double keys = (double)(decoder ? m + 1 : T);
        r->uniform_distance += sum / keys / (double)T;
        r->uniform_entropy += log(keys) / (double)T;
    }
}

static rf_status attention_new(const rf_probe *lab, rf_attention_report *r, rf_error *why)
{
    const rf_config *c = rf_model_config(lab->model);
    *r = (rf_attention_report){.L = c->num_hidden_layers, .H = c->num_attention_heads, .length = lab->text->length};
    const size_t heads = (size_t)(r->L * r->H);
    double **const part[] = {&r->distance, &r->entropy, &r->ends};
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(part); i++)
        if (!(*part[i] = rf__calloc(lab->ctx, heads, sizeof **part[i]))) status = RF_ENOMEM;
    if (!(r->by_distance = rf__calloc(lab->ctx, heads * (size_t)r->length, sizeof *r->by_distance))) status = RF_ENOMEM;
    if (!(r->sums = rf__calloc(lab->ctx, (size_t)r->L, sizeof *r->sums))) status = RF_ENOMEM;
    for (int64_t l = 0; l < r->L && !status; l++) status = rf__head_sums_new(lab->ctx, c, &r->sums[l], why);
    return status ? rf_fail(why, RF_ENOMEM, "out of memory: attention of %lld layers", (long long)r->L) : RF_OK;
}

static rf_status measure_attention(const rf_probe *lab, rf_attention_report *out, rf_error *why)
{
    rf_attention_report r;
    rf_status status = attention_new(lab, &r, why);
    const int64_t T = r.length;
    int32_t *id = rf__calloc(lab->ctx, (size_t)T, sizeof *id);
    float *p = rf__calloc(lab->ctx, (size_t)(r.H * T), (size_t)T * sizeof *p);
    if (!status && (!id || !p))
        status = rf_fail(why, RF_ENOMEM, "out of memory: probabilities of %lld tokens", (long long)T);
    rf__session_observe(lab->session, collect_scores, &(struct looking){&r, p});
    for (int64_t i = 0; i < lab->pieces && !status; i++) {
        const float *y;
        const rf_batch b = {.N = T, .B = 1, .id = id, .start = (int32_t[]){0, (int32_t)T}};
        put_piece(rf_model_tokenizer(lab->model), id, stretch(lab, i), T - RF__TEMPLATE);
        status = rf_session_hidden(lab->session, &b, &y, why);
        if (!status) status = progress(lab, (double)(i + 1) / (double)lab->pieces, why);
    }
    rf__session_observe(lab->session, NULL, NULL);
    rf__free(lab->ctx, id);
    rf__free(lab->ctx, p);
    if (status) {
        rf_attention_report_free(lab->ctx, &r);
        return status;
    }
    average(&r, lab->pieces, causal(lab));
    *out = r;
    return RF_OK;
}

rf_status rf_probe_attention(const rf_probe *p, rf_attention_report *out, rf_error *why)
{
    rf_probe own;
    const rf_status status = read_probe(&own, p, out, why);
    return status ? status : measure_attention(&own, out, why);
}

void rf_attention_report_free(const rf_ctx *ctx, rf_attention_report *r)
{
    if (!(ctx && r)) return;
    for (int64_t l = 0; r->sums && l < r->L; l++) rf__head_sums_free(ctx, &r->sums[l]);
    rf__free(ctx, r->sums);
    rf__free(ctx, r->distance);
    rf__free(ctx, r->entropy);
    rf__free(ctx, r->ends);
    rf__free(ctx, r->by_distance);
    *r = (rf_attention_report){0};
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* A part of a document, masked once, and divided into pieces of one length after the other. */
struct cutting {
    rf__token_kinds vocab;
    rf__masking masking;
    rf__mlm_batch masked;               /* [CLS] the whole part [SEP]                                                 */
    int32_t *id, *start, *row;          /* the same cut into pieces; row [masked.n]                                   */
    int64_t *position;                  /* [masked.n] in the piece, of the token that predicts                        */
    double *sum;                        /* [lengths, stretches] of losses                                             */
};

/* -log softmax(z)[label] */
static double loss_of(const float *z, int64_t V, int32_t label, bool *hit)
{
    double sum = 0;
    int64_t best = 0;
    for (int64_t v = 1; v < V; v++)
        if (z[v] > z[best]) best = v;
    for (int64_t v = 0; v < V; v++) sum += exp((double)z[v] - (double)z[best]);
    *hit = best == label;
    return log(sum) + (double)z[best] - (double)z[label];
}

/* Pieces of `length` of the masked part, as the batch to run. */
static rf_batch cut(const rf_probe *lab, struct cutting *c, int64_t length)
{
    const int64_t size = lab->text->size, limit = length - RF__TEMPLATE;
    rf_batch b = {.id = c->id, .start = c->start};
    for (int64_t from = 0; from < size; from += limit) {
        b.N += put_piece(rf_model_tokenizer(lab->model), c->id + b.N, c->masked.id + 1 + from,
                         rf__min64(limit, size - from));
        c->start[++b.B] = (int32_t)b.N;
    }
    for (int64_t i = 0; i < c->masked.n; i++) {
        const int64_t t = c->masked.row[i] - 1;
        c->position[i] = t % limit + !causal(lab);                  /* the token before a next one predicts it */
        c->row[i] = (int32_t)(c->start[t / limit] + c->position[i]);
    }
    return b;
}

/* Adds one part at one length. */
static rf_status add_losses(const rf_probe *lab, struct cutting *c, rf_length_loss *out, double *sum, rf_error *why)
{
    const int64_t V = rf_model_config(lab->model)->vocab_size;
    const rf_batch b = cut(lab, c, out->length);
    const float *z;
    const rf_status status = rf_session_mlm_logits(lab->session, &b, c->row, c->masked.n, &z, why);
    for (int64_t i = 0; i < c->masked.n && !status; i++) {
        bool hit;
        const double loss = loss_of(z + i * V, V, c->masked.label[i], &hit);
        const int64_t bin = c->position[i] / out->bin_width;
        out->labels++;
        out->hits += hit;
        out->bin_labels[bin]++;
        out->bin_loss[bin] += loss;
        *sum += loss;
    }
    return status;
}

/* Means and standard errors from the sums of each part. */
static void finish(rf_length_loss *out, const rf_length_loss *base, const double sum[], const double first[],
                   int64_t n)
{
    double total = 0, change = 0, square = 0, change_square = 0;
    for (int64_t i = 0; i < n; i++) {
        total += sum[i];
        change += sum[i] - first[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double a = sum[i] - total / (double)n, b = sum[i] - first[i] - change / (double)n;
        square += a * a;
        change_square += b * b;
    }
    const double labels = (double)out->labels, units = n > 1 ? (double)n / (double)(n - 1) : NAN;
    out->loss = total / labels;
    out->error = sqrt(square * units) / labels;
    out->change = base->defined ? change / labels : NAN;
    out->change_error = base->defined ? sqrt(change_square * units) / labels : NAN;
    for (int64_t i = 0; i < out->bins; i++) out->bin_loss[i] /= (double)out->bin_labels[i];
}

static rf_status cutting_new(const rf_probe *lab, struct cutting *c, rf_error *why)
{
    const rf_ctx *ctx = lab->ctx;
    const rf_stretches *s = lab->text;
    const int64_t limit = s->size + RF__TEMPLATE, pieces = s->size / (s->length - RF__TEMPLATE) + 1;
    rf_status status = rf__vocab_new(ctx, rf_model_tokenizer(lab->model), &c->vocab, why);
    if (!status && !causal(lab)) status = rf__vocab_needs_mask(&c->vocab, why);
    if (!status) status = rf__mlm_batch_new(ctx, limit, &c->masked, why);
    if (status) return status;
    c->masking = (rf__masking){rf__evaluation_key(lab->seed), lab->mlm_probability, false, &c->vocab, false};
    c->id = rf__calloc(ctx, (size_t)(s->size + RF__TEMPLATE * pieces), sizeof *c->id);
    c->start = rf__calloc(ctx, (size_t)pieces + 1, sizeof *c->start);
    c->row = rf__calloc(ctx, (size_t)limit, sizeof *c->row);
    c->position = rf__calloc(ctx, (size_t)limit, sizeof *c->position);
    c->sum = rf__calloc(ctx, (size_t)s->n * RF_LENGTHS, sizeof *c->sum);
    return c->id && c->start && c->row && c->position && c->sum ? RF_OK
           : rf_fail(why, RF_ENOMEM, "out of memory: pieces of %lld tokens", (long long)limit);
}

static void cutting_free(const rf_probe *lab, struct cutting *c)
{
    rf__vocab_free(lab->ctx, &c->vocab);
    rf__mlm_batch_free(lab->ctx, &c->masked);
    rf__free(lab->ctx, c->id);
    rf__free(lab->ctx, c->start);
    rf__free(lab->ctx, c->row);
    rf__free(lab->ctx, c->position);
    rf__free(lab->ctx, c->sum);
}

/* Masks part i, equally for every length and every model with this vocabulary.  A causal model predicts the same
 * tokens, and sees those before them unmasked. */
static void mask(const rf_probe *lab, struct cutting *c, int64_t i)
{
    rf__mlm_batch *b = &c->masked;
    rf__mlm_batch_clear(b);
    rf__mlm_batch_add(b, (rf__ids){stretch(lab, i), sizeof(int32_t)}, 0, (size_t)lab->text->size, false, &c->masking,
                      (uint64_t)i);
    for (int64_t k = 0; k < b->n && causal(lab); k++) b->id[b->row[k]] = b->label[k];
}

static rf_status measure_lengths(const rf_probe *lab, rf_length_loss out[], int *lengths, rf_error *why)
{
    const rf_stretches *s = lab->text;
    struct cutting c = {0};
    rf_status status = cutting_new(lab, &c, why);
    int count = 0;
    for (; (int64_t)1 << count <= s->times; count++) {
        const int64_t length = s->length << count,
                      wide = rf__max64((length + RF_LOSS_BINS - 1) / RF_LOSS_BINS, s->length / 8);
        out[count] =
            (rf_length_loss){.length = length, .defined = true, .bin_width = wide, .bins = (length + wide - 1) / wide};
    }
    for (int64_t i = 0; i < s->n && !status; i++) {
        mask(lab, &c, i);
        for (int k = 0; k < count && !status && c.masked.n; k++) {
            rf_error inner = {0};
            if (out[k].defined && add_losses(lab, &c, &out[k], &c.sum[k * s->n + i], &inner) == RF_ERANGE)
                out[k].defined = false;
            else if (inner.code) status = rf_fail(why, inner.code, "%s", inner.text);
        }
        if (!status) status = progress(lab, (double)(i + 1) / (double)s->n, why);
    }
    if (!status && !out[0].labels && out[0].defined)
        status = rf_fail(why, RF_EDATA, "text: expected a token to predict, got none");
    for (int k = 0; k < count && !status; k++) finish(&out[k], &out[0], c.sum + k * s->n, c.sum, s->n);
    *lengths = count;
    cutting_free(lab, &c);
    return status;
}

rf_status rf_probe_lengths(const rf_probe *p, rf_length_loss out[], int *lengths, rf_error *why)
{
    rf_probe own;
    const rf_status status = read_probe(&own, p, lengths ? out : NULL, why);
    return status ? status : measure_lengths(&own, out, lengths, why);
}
