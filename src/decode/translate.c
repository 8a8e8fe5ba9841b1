/* translate.c — translates sources; see include/roformer/generate.h. The options are in generation_options.c.
 *
 *     source s </s>  ->  encoder  ->  <start> [prefix] t_1 ... t_n </s>
 *
 * generate.c and beam.c generate the texts. */
#include <math.h>

#include "model/attention_probe.h"
#include "decode/writer.h"

/* ---- translating ---- */

typedef struct translating {
    const rf_ctx *ctx;
    rf_translate_next *next;            /* asked for the next source, or NULL                                         */
    rf_translate_done *done;
    void *user;
    int64_t each;                       /* translations of a source                                                   */
    uint8_t *failed;                    /* [n] 1: the failure has been reported                                       */
    size_t n, space;
    bool enough;
    rf_error why;
} translating;

static void take(void *user, const rf__written *w)
{
    translating *x = user;
    rf_translation t = {.source = w->text / x->each,
                        .rank = w->text % x->each,
                        .end = w->stopped && !w->forced ? RF_GENERATE_STOP : RF_GENERATE_LENGTH,
                        .n = w->n - w->stopped,
                        .id = w->id,
                        .logprobs = w->n,
                        .logprob = w->logprob,
                        .score = w->score};
    for (int64_t i = 0; i < w->n; i++) t.total += w->logprob[i];
    if (!x->enough) x->enough = x->done(x->user, t.source, &t, NULL) != 0;
}

static int end_of(void *user, int64_t text, rf_generate_end end, const rf_error *why)
{
    translating *x = user;
    const int64_t source = text / x->each;
    (void)end;
    if (why && !x->failed[source] && !x->enough) x->enough = x->done(x->user, source, NULL, why) != 0;
    if (why) x->failed[source] = 1;
    return x->enough || x->why.code;
}

/* Space for the failures of n sources. */
static bool count_to(translating *x, size_t n)
{
    if (!rf__grow(x->ctx, &x->failed, &x->space, n + 1, 1)) return false;
    memset(x->failed + x->n, 0, n - x->n);
    x->n = n;
    return true;
}

static int next_source(void *user, int idle, rf_translate_source *source)
{
    translating *x = user;
    if (x->enough || x->why.code || !x->next(x->user, idle, source)) return 0;
    if (count_to(x, x->n + 1)) return 1;
    rf_fail(&x->why, RF_ENOMEM, "out of memory: %zu sources", x->n + 1);
    return 0;
}

/* Of the n sources in the writer's list, or of those that x->next returns. */
static rf_status translate(translating *x, rf__writer *w, int64_t n, const rf_generate_options *options, rf_error *why)
{
    rf_generate_options o;
    const rf_model *m = rf__session_model(w->session);
    rf_status status = rf__model_translates(m) && options ? RF_OK : rf_translate_check(m, why);
    rf_translate_defaults(m, &o);
    if (!status && options) status = rf__generate_options_read(&o, options, why);
    if (!o.stop) o.stop = m->generation.stop, o.stops = m->generation.stops;
    if (!o.suppress) o.suppress = m->generation.suppress, o.suppressed = m->generation.suppressed;
    if (!status && o.max_new_tokens < 1)
        status = rf_fail(why, RF_EARG, "max_new_tokens: expected at least 1, got %lld", (long long)o.max_new_tokens);
    if (!status && n < 0) status = rf_fail(why, RF_EARG, "sources: expected 0 or more, got %lld", (long long)n);
    if (status || (!n && !x->next)) return status;
    x->ctx = m->ctx;
    x->each = o.num_return_sequences;
    if (!count_to(x, (size_t)n)) return rf_fail(why, RF_ENOMEM, "out of memory: %lld sources", (long long)n);
    w->done = end_of;
    w->written = take;
    w->user = x;
    status = rf__write_texts(w, n, &o, why);
    if (!status && x->why.code) status = rf_fail(why, x->why.code, "%s", x->why.text);
    rf__free(m->ctx, x->failed);
    return status;
}

rf_status rf_session_translate(rf_session *session, const rf_translate_source source[], int64_t n,
                               const rf_generate_options *options, rf_translate_done *done, void *user, rf_error *why)
{
    if (!(session && done && (source || !n)))
        return rf__missing("rf_session_translate", "session, sources, done", why);
    translating x = {.done = done, .user = user};
    rf__writer w = {.session = session, .source = source};
    return translate(&x, &w, n, options, why);
}

rf_status rf__session_translate_from(rf_session *session, rf_translate_next *next, const rf_generate_options *options,
                                     rf_translate_done *done, void *user, rf_error *why)
{
    if (!(session && next && done)) return rf__missing("rf__session_translate_from", "session, next, done", why);
    translating x = {.next = next, .done = done, .user = user};
    rf__writer w = {.session = session, .next_source = next_source};
    return translate(&x, &w, 0, options, why);
}

/* ---- scores of given translations ---- */

static rf_status check_target(const rf_model *m, const rf_batch *target, rf_error *why)
{
    const int64_t V = m->config.vocab_size;
    if (!target->id || !target->start || target->N < 1 || target->N > INT32_MAX)
        return rf_fail(why, RF_EARG, "targets: expected at least 1 token and its lists, got %lld%s",
                       (long long)target->N, target->id && target->start ? "" : " without their lists");
    for (int64_t i = 0; i < target->N; i++)
        if (target->id[i] < 0 || target->id[i] >= V)
            return rf_fail(why, RF_ERANGE, "targets: token %lld: expected an id below vocab_size %lld, got %d",
                           (long long)i, (long long)V, (int)target->id[i]);
    return RF_OK;
}

/* Logits of the first `rows` tokens of the targets, given the tokens before them, the first being `start`; *lists is
 * freed with rf__free. */
static rf_status given_logits(rf_session *session, const rf_batch *source, const rf_batch *target, int32_t start,
                              int64_t rows, int32_t **lists, const float **logits, rf_error *why)
{
    const rf_model *m = rf__session_model(session);
    const int64_t N = target->N;
    const rf_status status = rf__model_translates(m) ? check_target(m, target, why) : rf_translate_check(m, why);
    if (status) return status;
    int32_t *shifted = *lists = rf__calloc(m->ctx, 2 * (size_t)N, sizeof *shifted);
    if (!shifted) return rf_fail(why, RF_ENOMEM, "out of memory: %lld tokens", (long long)N);
    int32_t *row = shifted + N;
    memcpy(shifted + 1, target->id, (size_t)(N - 1) * sizeof *shifted);
    for (int64_t b = 0; b < target->B; b++)
        if (target->start[b] >= 0 && target->start[b] < N)
            shifted[target->start[b]] = start >= 0 ? start : (int32_t)m->config.decoder_start_token_id;
    for (int64_t i = 0; i < N; i++) row[i] = (int32_t)i;
    const rf_batch b = {.N = N, .B = target->B, .id = shifted, .start = target->start};
    return rf_session_pair_logits(session, source, &b, row, rows, logits, why);
}

rf_status rf__session_translation_logprobs(rf_session *session, const rf_batch *source, const rf_batch *target,
                                           int32_t start, double logprob[], rf_error *why)
{
    if (!(session && source && target && logprob))
        return rf__missing("rf__session_translation_logprobs", "session, source, target, logprobs", why);
    const rf_model *m = rf__session_model(session);
    const float *logits;
    int32_t *lists = NULL;
    const rf_status status = given_logits(session, source, target, start, target->N, &lists, &logits, why);
    if (!status) rf__logprobs_of(m->ctx, logits, target->id, target->N, m->config.vocab_size, logprob, 0, NULL);
    rf__free(m->ctx, lists);
    return status;
}

/* ---- attention of a translation to its source ---- */

struct looking { int64_t layer; float *p; };

static void collect_source_shares(void *user, rf_graph *g, const rf__view *view)
{
    const struct looking *x = user;
    if (view->cross && view->at->layer == x->layer) rf__source_shares(g, view, x->p);
}

rf_status rf__session_translation_attention(rf_session *session, const rf_batch *source, const rf_batch *target,
                                            int32_t start, int64_t layer, float p[], rf_error *why)
{
    if (!(session && source && target && p))
        return rf__missing("rf__session_translation_attention", "session, source, target, p", why);
    const rf_model *m = rf__session_model(session);
    const int64_t L = m->config.decoder_layers;
    const float *logits;
    int32_t *lists = NULL;
    if (m->config.is_encoder_decoder && (layer < -1 || layer >= L))
        return rf_fail(why, RF_EARG, "layer: expected -1 (the last) or one of the decoder's %lld, got %lld",
                       (long long)L, (long long)layer);
    struct looking x = {layer < 0 ? L - 1 : layer, p};
    rf__session_observe(session, collect_source_shares, &x);
    const rf_status status = given_logits(session, source, target, start, 1, &lists, &logits, why);
    rf__session_observe(session, NULL, NULL);
    rf__free(m->ctx, lists);
    return status;
}
