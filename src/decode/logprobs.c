/* logprobs.c — log-probabilities of the tokens of a text under a causal model.
 *
 *     window k      tokens [k stride, k stride + window)
 *     logprob_i     log softmax(logits of token i - 1 in the first window that holds i)[id_i]
 *
 * as transformers computes the perplexity of models of fixed length.  Except in the first window, every token has at
 * least window - stride tokens before it. */
#include <math.h>

#include "model/positions.h"
#include "decode/writer.h"
#include "roformer/generate.h"
#include "roformer/model.h"

enum { PIECE = 256 };                   /* tokens whose logits are in memory together                                 */

struct rows {
    const rfk_table *k;
    const float *logits;
    const int32_t *id;
    double *out;
    rf_token_logprob *top;              /* [rows, tops] */
    int64_t V, tops;
};

static void one_row(void *arg, int64_t i, int worker)
{
    const struct rows *r = arg;
    const float *logits = r->logits + i * r->V;
    (void)worker;
    const double log_sum = rf__log_sum(r->k, logits, r->V);
    r->out[i] = (double)logits[r->id[i]] - log_sum;
    if (r->tops) rf__top_logprobs(logits, r->V, log_sum, r->tops, r->top + i * r->tops);
}

double rf__log_sum(const rfk_table *k, const float *logits, int64_t V)
{
    const float most = k->largest(logits, V);
    return (double)most + log(k->sum_exp(logits, most, V));
}

int64_t rf__top_logprobs(const float *logits, int64_t V, double log_sum, int64_t most, rf_token_logprob *top)
{
    int64_t n = 0;
    for (int32_t id = 0; id < V && most; id++) {
        const double x = (double)logits[id];
        if (n == most && !(x > top[n - 1].logprob)) continue;
        int64_t at = n < most ? n++ : n - 1;
        for (; at && x > top[at - 1].logprob; at--) top[at] = top[at - 1];
        top[at] = (rf_token_logprob){id, x};
    }
    for (int64_t i = 0; i < n; i++) top[i].logprob -= log_sum;
    return n;
}

void rf__logprobs_of(const rf_ctx *ctx, const float *logits, const int32_t id[], int64_t n, int64_t V, double out[],
                     int64_t tops, rf_token_logprob top[])
{
    rf__parallel(ctx, n, one_row, &(struct rows){ctx->k, logits, id, out, top, V, tops});
}

/* Tokens [at, at + n) of a window. Those from `from` on predict their successors; the last token of the window predicts
 * none. */
typedef struct reading {
    rf_session *session;
    rf_sequence sequence;
    const int32_t *id;
    int64_t V, from, end;
    double *logprob;                    /* of all tokens of the text */
    rf_token_logprob *top;
    int64_t tops;
} reading;

static rf_status read_piece(const reading *x, int64_t at, int64_t n, rf_error *why)
{
    const rf_ctx *ctx = rf__session_model(x->session)->ctx;
    const int64_t first = rf__max64(at, x->from), last = rf__min64(at + n, x->end - 1);
    const int64_t rows = rf__max64(0, last - first);
    int32_t *row = rf__calloc(ctx, (size_t)rows + 1, sizeof *row);
    const float *logits;
    if (!row) return rf_fail(why, RF_ENOMEM, "out of memory: %lld rows", (long long)rows);
    for (int64_t i = 0; i < rows; i++) row[i] = (int32_t)(first - at + i);
    const int32_t start[2] = {0, (int32_t)n};
    const rf_batch b = {.N = n, .B = 1, .id = x->id + at, .start = start};
    const rf_status status = x->sequence
                                 ? rf_session_continue(x->session, &x->sequence, &b, row, rows, &logits, why)
                                 : rf_session_mlm_logits(x->session, &b, row, rows, &logits, why);
    if (!status)
        rf__logprobs_of(ctx, logits, x->id + first + 1, rows, x->V, x->logprob + first + 1, x->tops,
                        x->tops ? x->top + (first + 1) * x->tops : NULL);
    rf__free(ctx, row);
    return status;
}

/* Tokens [begin, end); log-probabilities are computed for those after `from`. If keys cannot be cached, in one
 * piece. */
static rf_status read_window(reading *x, int64_t begin, bool cached, rf_error *why)
{
    rf_status status = RF_OK;
    if (!cached) return read_piece(x, begin, x->end - begin, why);
    status = rf_sequence_new(x->session, NULL, &x->sequence, why);
    for (int64_t at = begin, n; at < x->end && !status; at += n) {
        n = rf__min64(PIECE, x->end - at);
        status = read_piece(x, at, n, why);
    }
    if (x->sequence) rf_sequence_drop(x->session, x->sequence, NULL);
    x->sequence = 0;
    return status;
}

rf_status rf_session_logprobs(rf_session *session, const int32_t id[], int64_t n, int64_t window, int64_t stride,
                              double logprob[], int64_t tops, rf_token_logprob top[], rf_error *why)
{
    if (!(session && id && logprob && (top || !tops)))
        return rf__missing("rf_session_logprobs", "session, ids, logprobs, top", why);
    const rf_model *m = rf__session_model(session);
    if (m->config.is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "logprobs: expected a causal model, got an encoder-decoder model; use "
                       "roformer translate --score");
    if (!m->config.is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "logprobs: expected a causal model (is_decoder true), got one with "
                       "bidirectional attention (is_decoder false)");
    if (m->config.linear_pooler)
        return rf_fail(why, RF_EUNSUPPORTED, "logprobs: expected a causal model, got RoFormer-Sim (pooler_activation "
                       "\"linear\"), whose attention to a prompt is bidirectional");
    if (n < 1 || n > INT32_MAX) return rf_fail(why, RF_EARG, "text: expected at least 1 token, got %lld", (long long)n);
    if (tops < 0 || tops > RF_TOP_LOGPROBS_MOST)
        return rf_fail(why, RF_EARG, "tops: expected 0 to %d, got %lld", RF_TOP_LOGPROBS_MOST, (long long)tops);
    if (!window) window = n;
    if (!stride) stride = rf__max64(1, window - 1);
    if (window < 2 && n > 1)
        return rf_fail(why, RF_EARG, "window: expected at least 2 tokens, got %lld", (long long)window);
    if (stride < 1 || (stride >= window && n > window))
        return rf_fail(why, RF_EARG, "stride: expected 1 to %lld, one less than the window's tokens, got %lld",
                       (long long)window - 1, (long long)stride);
    for (int64_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= m->config.vocab_size)
            return rf_fail(why, RF_ERANGE, "token %lld: expected an id below vocab_size %lld, got %d", (long long)i,
                           (long long)m->config.vocab_size, (int)id[i]);
    const bool cached = !rf__position_caches(m->params.position, &m->config, NULL);
    reading x = {.session = session, .id = id, .V = m->config.vocab_size, .logprob = logprob, .top = top, .tops = tops};
    rf_status status = RF_OK;
    logprob[0] = 0;
    for (int64_t i = 0; i < n * tops; i++) top[i] = (rf_token_logprob){.id = -1};
    for (int64_t begin = 0, known = 1; known < n && !status; begin += stride) {
        x.end = rf__min64(n, begin + window);
        if (x.end <= known) continue;
        x.from = rf__max64(known - 1, begin);
        status = read_window(&x, begin, cached, why);
        known = x.end;
    }
    return status;
}
