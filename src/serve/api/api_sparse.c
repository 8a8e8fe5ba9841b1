/* api_sparse.c — sparse vectors of the vocabulary's size by a masked language model (SPLADE, Formal et al. 2021,
 * arXiv:2107.05720, with the maximum of its successor, arXiv:2109.10086):
 *
 *     v[w] = max over the tokens t of log(1 + max(0, logit[t, w]))
 *
 * SpladePooling of sentence-transformers may say the sum, or log(1 + log(1 + max(0, logit))) (OpenSearch). [CLS] and
 * [SEP] are among the tokens, as in text-embeddings-inference. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"

typedef struct sparse {
    srv_call call; /* first, because a call is cast to this type                                 */
    srv_texts texts;
    const char *prompt; /* of the model                                                               */
    int side;           /* cut_side of rf_embed_options                                               */
} sparse;

static void free_sparse(void *own)
{
    sparse *x = own;
    srv_texts_clear(&x->texts);
    srv_text_clear(&x->call.out);
    free(x);
}

/* ---- computing, in the engine's thread --------------------------------------------------------------------------- */

/* v[w] = pool over the tokens t of f(z[t, w]), z [n,V]. false: one of the logits is not finite. */
static bool pool_tokens(const rf__sparse *how, const float *z, int64_t n, int64_t V, float v[])
{
    bool finite = true;
    for (int64_t w = 0; w < V; w++) v[w] = 0;
    for (int64_t t = 0; t < n; t++)
        for (int64_t w = 0; w < V; w++) {
            const float x = z[t * V + w];
            finite &= fabsf(x) <= FLT_MAX;
            if (!(x > 0)) continue;
            const float y = !how->sum ? x : how->twice ? log1pf(log1pf(x)) : log1pf(x);
            if (how->sum) v[w] += y;
            else if (y > v[w]) v[w] = y;
        }
    for (int64_t w = 0; w < V && !how->sum; w++) v[w] = how->twice ? log1pf(log1pf(v[w])) : log1pf(v[w]);
    return finite;
}

static void put_values(srv_text *out, const float v[], int64_t V)
{
    bool first = true;
    srv_puts(out, "[");
    for (int64_t w = 0; w < V; w++) {
        if (!(v[w] > 0)) continue;
        srv_printf(out, "%s{\"index\":%lld,\"value\":", first ? "" : ",", (long long)w);
        srv_put_float(out, v[w]);
        srv_puts(out, "}");
        first = false;
    }
    srv_puts(out, "]");
}

static rf_status compute_text(sparse *x, rf_pipeline *p, rf_encoding *e, int64_t i, float v[], rf_error *why)
{
    srv_request *r = x->call.r;
    const int64_t V = r->model->config->vocab_size;
    const float *z;
    srv_text all = {0};
    srv_puts(&all, x->prompt);
    srv_put(&all, x->texts.text[i], x->texts.bytes[i]);
    rf_status status = all.failed ? rf_fail(why, RF_ENOMEM, "out of memory: a text")
                                  : rf_encode(r->model->tokenizer, all.at, all.n, NULL, 0,
                                              (size_t)r->model->max_length, x->side, e, NULL, why);
    srv_text_clear(&all);
    int32_t *row = status ? NULL : calloc(e->n + 1, sizeof *row);
    if (!status && !row) status = rf_fail(why, RF_ENOMEM, "out of memory: a text");
    for (size_t t = 0; row && t < e->n; t++) row[t] = (int32_t)t;
    const int32_t start[] = {0, (int32_t)e->n};
    const rf_batch b = {.N = (int64_t)e->n, .B = 1, .id = e->id, .type = e->type, .start = start};
    if (!status) status = rf_session_mlm_logits(rf_pipeline_session(p), &b, row, b.N, &z, why);
    free(row);
    if (status) return status;
    if (!pool_tokens(&r->model->sparse, z, b.N, V, v))
        return rf_fail(why, RF_ENUMERIC, "sparse vector: expected finite logits, got NaN or infinity");
    put_values(&x->call.out, v, V);
    r->tokens += b.N;
    return RF_OK;
}

static void compute(srv_call *c, rf_pipeline *p)
{
    sparse *x = (sparse *)c;
    rf_error why = {0};
    rf_encoding e;
    float *v = calloc((size_t)c->r->model->config->vocab_size, sizeof *v);
    rf_encoding_init(&e, c->r->s->o.ctx);
    srv_puts(&x->call.out, "[");
    if (!v) rf_fail(&why, RF_ENOMEM, "out of memory: a sparse vector");
    for (int64_t i = 0; v && i < x->texts.n && !why.code; i++) {
        if (i) srv_puts(&x->call.out, ",");
        if (srv_is_over(c->r)) why = srv_over(c->r);
        else compute_text(x, p, &e, i, v, &why);
    }
    srv_puts(&x->call.out, "]");
    rf_encoding_clear(&e);
    free(v);
    srv_call_end(c, why.code ? &why : NULL);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void srv_api_embed_sparse(srv_request *r)
{
    sparse *x = srv_read_body(r) && srv_need_model(r, NULL) ? srv_own(r, sizeof *x, free_sparse) : NULL;
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute};
    srv_fit how = srv_fit_of(r, r->in);
    x->side = how.side;
    r->kind = SRV_EMBED;
    if (!srv_fills_masks(r->model))
        srv_wrong_model(r, "gives no sparse vectors", srv_fills_masks);
    else if (r->model->no_sparse.code) srv_fail(r, &r->model->no_sparse);
    else if ((how.prompt = x->prompt = srv_prompt(r)) &&
             srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts) &&
             srv_texts_fit(r, "inputs", &x->texts, how) && srv_hold(r, x->texts.n))
        srv_call_submit(&x->call, srv_call_answer);
}
