/* api_inspect.c — inspects a model: the attention of a head, and what it does with positions. Both are computed by the
 * engine's thread, for one text at a time. */
#include <math.h>
#include <stdlib.h>

#include "roformer/inspect/positions.h"
#include "serve/api/api.h"
#include "serve/shared_call.h"

enum { MOST = 128 }; /* tokens of a text: weights of all pairs are computed in all heads */

typedef struct inspection {
    srv_call call; /* first, because a call is cast to this type                                     */
    int64_t layer, head, T, distance;
    int32_t *id; /* [T]                                                                        */
    float *map;  /* [L,H,T,T]                                                                  */
    rf_attention_report report;
    bool measured;
} inspection;

static void free_inspection(void *own)
{
    inspection *x = own;
    if (x->measured) rf_attention_report_free(x->call.r->s->o.ctx, &x->report);
    free(x->id);
    free(x->map);
    free(x);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* false: answered. */
static bool head_is_there(srv_request *r, inspection *x)
{
    const rf_config *c = r->model->config;
    x->layer = srv_int(r->in, "layer", 0);
    x->head = srv_int(r->in, "head", 0);
    if (x->layer >= c->num_hidden_layers)
        return srv_error(r, 422, "Validation", "`layer`: expected less than %lld, got %lld",
                         (long long)c->num_hidden_layers, (long long)x->layer),
               false;
    if (x->head >= c->num_attention_heads)
        return srv_error(r, 422, "Validation", "`head`: expected less than %lld, got %lld",
                         (long long)c->num_attention_heads, (long long)x->head),
               false;
    return true;
}

/* Puts the tokens of the text into the answer and stores their ids. false: answered. */
static bool take_tokens(srv_request *r, inspection *x, int flags, int64_t around)
{
    const char *text = srv_string(r->in, "inputs");
    size_t size = strlen(text);
    const int64_t most = (r->model->max_length < MOST ? r->model->max_length : MOST) - around;
    rf_encoding e;
    if (!size) return srv_error(r, 400, "Empty", "`inputs` cannot be empty"), false;
    if (size > 250 * MOST)
        return srv_error(r, 422, "Validation", "`inputs`: expected at most %d bytes, got %zu", 250 * MOST, size), false;
    r->characters += srv_length(text, size);
    rf_encoding_init(&e, r->s->o.ctx);
    srv_puts(&r->out, "\"tokens\":");
    srv_put_tokens(r, &e, text, size, flags);
    if (!r->status && (!e.n || (int64_t)e.n > most))
        srv_error(r, 422, "Validation", "`inputs`: expected 1 to %lld tokens, got %zu", (long long)most, e.n);
    else if (!r->status) {
        x->T = r->tokens = (int64_t)e.n;
        x->id = calloc(e.n, sizeof *x->id);
        if (x->id) memcpy(x->id, e.id, e.n * sizeof *x->id);
        else srv_error(r, 503, "Overloaded", "out of memory: %zu tokens", e.n);
    }
    rf_encoding_clear(&e);
    return !r->status;
}

static void put_where(srv_request *r, const inspection *x)
{
    srv_printf(&r->out, "\"layers\":%lld,\"heads\":%lld,\"layer\":%lld,\"head\":%lld,",
               (long long)r->model->config->num_hidden_layers, (long long)r->model->config->num_attention_heads,
               (long long)x->layer, (long long)x->head);
}

static void put_number(srv_text *t, bool first, double x)
{
    if (isfinite(x)) srv_printf(t, first ? "%.6g" : ",%.6g", x);
    else srv_puts(t, first ? "null" : ",null");
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void compute_map(srv_call *call, rf_pipeline *p)
{
    inspection *x = (inspection *)call;
    rf_error why = {0};
    const rf_config *c = call->r->model->config;
    const size_t maps = (size_t)(c->num_hidden_layers * c->num_attention_heads), pairs = (size_t)(x->T * x->T);
    x->map = calloc(maps, pairs * sizeof *x->map);
    if (!x->map) rf_fail(&why, RF_ENOMEM, "out of memory: attention of %lld tokens", (long long)x->T);
    else rf_attention_maps(rf_pipeline_session(p), x->id, x->T, 0, x->map, &why);
    srv_call_end(call, why.code ? &why : NULL);
}

static void finish_map(srv_request *r)
{
    const inspection *x = r->own;
    const float *p = x->map + (x->layer * r->model->config->num_attention_heads + x->head) * x->T * x->T;
    srv_puts(&r->out, ",\"attention\":[");
    for (int64_t m = 0; m < x->T; m++) {
        srv_puts(&r->out, m ? ",[" : "[");
        for (int64_t n = 0; n < x->T; n++) put_number(&r->out, !n, (double)p[m * x->T + n]);
        srv_puts(&r->out, "]");
    }
    srv_puts(&r->out, "]}");
    srv_answer_json(r);
}

/* After the body has been read: checks that the heads of the model can be inspected. NULL: answered. */
static inspection *begin(srv_request *r)
{
    inspection *x = srv_read_body(r) && srv_need_model(r, NULL) ? srv_own(r, sizeof *x, free_inspection) : NULL;
    if (!x) return NULL;
    x->call.r = r;
    if (!srv_attends(r->model)) {
        srv_wrong_model(r, "has no weights for all pairs of tokens", srv_attends);
        return NULL;
    }
    srv_puts(&r->out, "{");
    if (!head_is_there(r, x)) return NULL;
    put_where(r, x);
    return x;
}

void srv_api_attention(srv_request *r)
{
    inspection *x = begin(r);
    if (!x || !take_tokens(r, x, 0, 0) || !srv_hold(r, 1)) return;
    x->call.compute = compute_map;
    srv_call_submit(&x->call, finish_map);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* The text as one piece, which the probe puts between [CLS] and [SEP]. */
static void compute_scores(srv_call *call, rf_pipeline *p)
{
    enum { AROUND = 2 };
    inspection *x = (inspection *)call;
    rf_error why = {0};
    rf_stretches text = {.length = x->T + AROUND, .times = 1, .size = x->T, .n = 1, .id = x->id, .documents = 1};
    rf_probe probe;
    rf_probe_defaults(&probe);
    probe.ctx = call->r->s->o.ctx;
    probe.model = rf_pipeline_model(p);
    probe.session = rf_pipeline_session(p);
    probe.text = &text;
    x->measured = !rf_probe_attention(&probe, &x->report, &why);
    srv_call_end(call, why.code ? &why : NULL);
}

/* false: no memory, answered. */
static bool put_scores(srv_request *r, const inspection *x)
{
    const rf_head_sums *s = &x->report.sums[x->layer];
    double *workspace = calloc((size_t)(s->D * s->D), sizeof *workspace), mean, variance;
    if (!workspace) return srv_error(r, 503, "Overloaded", "out of memory: scores"), false;
    srv_text *t = &r->out, deviations = {0};
    srv_puts(t, ",\"score\":{\"mean\":[");
    for (int64_t d = -x->distance; d <= x->distance; d++) {
        rf_head_score(s, x->head, (double)d, workspace, &mean, &variance);
        put_number(t, d == -x->distance, mean);
        put_number(&deviations, d == -x->distance, sqrt(variance));
    }
    free(workspace);
    srv_puts(t, "],\"deviation\":[");
    if (deviations.failed) t->failed = true;
    srv_put(t, deviations.at, deviations.n);
    srv_puts(t, "]}");
    srv_text_clear(&deviations);
    return true;
}

static void put_list(srv_text *t, const char *name, const double *x, int64_t n)
{
    srv_printf(t, ",\"%s\":[", name);
    for (int64_t i = 0; i < n; i++) put_number(t, !i, x[i]);
    srv_puts(t, "]");
}

static void finish_scores(srv_request *r)
{
    const inspection *x = r->own;
    const rf_attention_report *a = &x->report;
    srv_text *t = &r->out;
    const int64_t head = x->layer * a->H + x->head;
    put_list(t, "by_distance", a->by_distance + head * a->length, a->length);
    put_list(t, "distance", a->distance, a->L * a->H);
    put_list(t, "entropy", a->entropy, a->L * a->H);
    srv_printf(t, ",\"uniform_distance\":%.6g,\"uniform_entropy\":%.6g", a->uniform_distance, a->uniform_entropy);
    if (a->sums[x->layer].rotates && !put_scores(r, x)) return;
    srv_puts(t, "}");
    srv_answer_json(r);
}

/* Writes the encoding; for rotary positions also theta_i of the layer. */
static bool put_encoding(srv_request *r, const inspection *x)
{
    const rf_config *c = r->model->config;
    const rf_position *is;
    rf_error why = {0};
    srv_text *t = &r->out;
    if (rf_position_of(c, NULL, &is, &why)) return srv_fail(r, &why), false;
    const char *const rows[][2] = {{"encoding", rf_position_name(is)},
                                   {"equation", rf_position_equation(is)},
                                   {"source", rf_position_source(is)}};
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        srv_printf(t, "\"%s\":", rows[i][0]);
        srv_put_string(t, rows[i][1], strlen(rows[i][1]));
        srv_puts(t, ",");
    }
    srv_printf(t, "\"max_position_embeddings\":%lld,\"causal\":%s,\"frequencies\":[",
               (long long)c->max_position_embeddings, c->is_decoder ? "true" : "false");
    const int64_t planes = rf_position_flags(is) & RF_POSITION_ROPE ? rf_rope_width(c) / 2 : 0;
    for (int64_t i = 0; i < planes; i++) put_number(t, !i, rf_rope_frequency(c, x->layer, 0, i));
    srv_puts(t, "]");
    return true;
}

static bool has_ends(srv_request *r)
{
    const rf_tokenizer *t = r->model->tokenizer;
    if (rf_tokenizer_cls(t) >= 0 && rf_tokenizer_sep(t) >= 0) return true;
    srv_wrong_model(r, "has no [CLS] and [SEP], between which texts are measured", NULL);
    return false;
}

void srv_api_positions(srv_request *r)
{
    enum { AROUND = 2 };
    inspection *x = begin(r);
    if (!x || !put_encoding(r, x)) return;
    x->distance = srv_int(r->in, "max_distance", 128);
    if (!srv_string(r->in, "inputs")) {
        srv_puts(&r->out, "}");
        srv_answer_json(r);
        return;
    }
    srv_puts(&r->out, ",");
    if (!has_ends(r) || !take_tokens(r, x, RF_ENCODE_PLAIN, AROUND) || !srv_hold(r, 1)) return;
    x->call.compute = compute_scores;
    srv_call_submit(&x->call, finish_scores);
}
