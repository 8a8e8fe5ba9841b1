/* generate.c — choosing tokens, one after the other; see include/roformer/generate.h. */
#include "model/generate.h"

#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/position.h"
#include "roformer/sequence.h"

void rf_generate_options_init(rf_generate_options *o, size_t size)
{
    const rf_generate_options own = {
        .max_new_tokens = 64, .temperature = 1, .top_p = 1, .repetition_penalty = 1, .seed = 42};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__generate_options_read(rf_generate_options *own, const rf_generate_options *given, rf_error *why)
{
    rf_generate_defaults(own);
    return rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_generate_options, suppressed), given, "rf_generate_options",
                            why);
}

rf_status rf__generate_check(const rf_generate_options *o, rf_error *why)
{
    const struct { const char *name; double value, least, most; } limits[] = {
        {"max_new_tokens", (double)o->max_new_tokens, 0, RF_NEW_TOKENS_MOST},
        {"temperature", o->temperature, RF_TEMPERATURE_LEAST, RF_TEMPERATURE_MOST},
        {"top_k", (double)o->top_k, 0, RF_TOP_K_MOST},
        {"top_p", o->top_p, RF_TOP_P_LEAST, 1},
        {"repetition_penalty", o->repetition_penalty, RF_REPETITION_PENALTY_LEAST, RF_REPETITION_PENALTY_MOST},
    };
    for (size_t i = 0; i < RF_COUNT(limits); i++)
        if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
            return rf_fail(why, RF_EARG, "%s: %g is not in %g to %g", limits[i].name, limits[i].value, limits[i].least,
                           limits[i].most);
    if (o->stops < 0 || o->suppressed < 0 || (o->stops && !o->stop) || (o->suppressed && !o->suppress))
        return rf_fail(why, RF_EARG, "stop, suppress: lists of %lld and %lld tokens", (long long)o->stops,
                       (long long)o->suppressed);
    return RF_OK;
}

/* ---- choosing; p holds a score until softmax ---- */

static bool before(const rf__candidate *a, const rf__candidate *b)
{
    return a->p > b->p || (a->p == b->p && a->id < b->id);
}

static int order(const void *a, const void *b) { return before(a, b) ? -1 : 1; }

/* A heap whose root is the worst: c[i] is not before any of those under it. */
static void sink_down(rf__candidate *c, int64_t i, int64_t n)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&c[child], &c[child + 1])) child++;
        if (!before(&c[i], &c[child])) return;
        const rf__candidate swap = c[i];
        c[i] = c[child];
        c[child] = swap;
    }
}

/* The k best come first, in no order. */
static void select_best(rf__candidate *c, int64_t n, int64_t k)
{
    for (int64_t i = k / 2 - 1; i >= 0; i--) sink_down(c, i, k);
    for (int64_t i = k; i < n; i++)
        if (before(&c[i], &c[0])) {
            c[0] = c[i];
            sink_down(c, 0, k);
        }
}

/* Of scores whose largest is 0. */
static void softmax(rf__candidate *c, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += c[i].p = exp(c[i].p);
    for (int64_t i = 0; i < n; i++) c[i].p /= sum;
}

/* The fewest whose probabilities reach top_p: a token stays if those before it do not. */
static int64_t cut(rf__candidate *c, int64_t n, double top_p)
{
    double sum = 0;
    int64_t m = 0;
    while (m < n && sum < top_p) sum += c[m++].p;
    for (int64_t i = 0; i < m; i++) c[i].p /= sum;
    return m;
}

int64_t rf__candidates(const rf_generate_options *o, const float *logits, int64_t V, const uint8_t *flag,
                       rf__candidate *c)
{
    int64_t n = 0, best = 0;
    for (int64_t i = 0; i < V; i++) {
        double score = (double)logits[i];
        if (flag[i] & RF__SUPPRESSED) continue;
        if (flag[i] & RF__SEEN) score = score > 0 ? score / o->repetition_penalty : score * o->repetition_penalty;
        c[n] = (rf__candidate){score, (int32_t)i};
        if (before(&c[n], &c[best])) best = n;
        n++;
    }
    if (!n) return 0;
    if (!o->do_sample) {
        c[0] = (rf__candidate){1, c[best].id};
        return 1;
    }
    const double most = c[best].p;      /* first: what is left is at most 0 and may be divided */
    for (int64_t i = 0; i < n; i++) c[i].p = (c[i].p - most) / o->temperature;
    if (o->top_k && o->top_k < n) {
        select_best(c, n, o->top_k);
        n = o->top_k;
    }
    qsort(c, (size_t)n, sizeof *c, order);
    softmax(c, n);
    return o->top_p < 1 ? cut(c, n, o->top_p) : n;
}

/* ---- a text ---- */

typedef struct writing {
    const rf_generate_options *o;
    rf_session *session;
    const rf_ctx *ctx;
    int64_t V;
    rf_sequence sequence;               /* or 0: no keys can be kept, and `text` is computed again                    */
    int32_t *text;                      /* [prompt + max_new_tokens] when not cached                                  */
    int64_t n;
    uint8_t *flag;                      /* [V]                                                                        */
    rf__candidate *candidate;           /* [V]                                                                        */
    rf_key key;
} writing;

static rf_status begin(writing *w, const rf_model *m, const int32_t id[], int64_t n, rf_error *why)
{
    const rf_generate_options *o = w->o;
    const rf_config *c = &m->config;
    const bool cached = !rf__position_caches(m->params.position, c, NULL);
    w->ctx = m->ctx;
    w->V = c->vocab_size;
    w->key = rf__make_key(o->seed, rf__hash64(id, (size_t)n * sizeof *id, 0x67656e65));
    w->flag = rf__calloc(w->ctx, (size_t)w->V, 1);
    w->candidate = rf__calloc(w->ctx, (size_t)w->V, sizeof *w->candidate);
    if (!cached) w->text = rf__calloc(w->ctx, (size_t)(n + o->max_new_tokens), sizeof *w->text);
    if (!w->flag || !w->candidate || (!cached && !w->text))
        return rf_fail(why, RF_ENOMEM, "out of memory: a choice among %lld tokens", (long long)w->V);
    for (int64_t i = 0; i < o->suppressed; i++)
        if (o->suppress[i] >= 0 && o->suppress[i] < w->V) w->flag[o->suppress[i]] |= RF__SUPPRESSED;
    for (int64_t i = 0; i < n; i++)
        if (id[i] >= 0 && id[i] < w->V) w->flag[id[i]] |= RF__SEEN;
    return cached ? rf_sequence_new(w->session, NULL, &w->sequence, why) : RF_OK;
}

/* The logits behind n more tokens. */
static rf_status read_on(writing *w, const int32_t id[], int64_t n, const float **logits, rf_error *why)
{
    int32_t start[2] = {0, (int32_t)n}, last = (int32_t)n - 1;
    rf_batch b = {.N = n, .B = 1, .id = id, .start = start};
    if (w->sequence) return rf_session_continue(w->session, &w->sequence, &b, &last, 1, logits, why);
    memcpy(w->text + w->n, id, (size_t)n * sizeof *id);
    w->n += n;
    b.id = w->text;
    b.N = start[1] = (int32_t)w->n;
    last = start[1] - 1;
    return rf_session_scores(w->session, &b, &last, 1, logits, why);
}

/* In [0, 1), of 53 bits: a function of seed, prompt, occurrence and index. */
static double chance(const writing *w, int64_t index)
{
    uint32_t word[4];
    rf__philox(w->key, (uint64_t)index, w->o->occurrence, word);
    return (double)((uint64_t)word[0] << 21 | word[1] >> 11) * 0x1p-53;
}

static int32_t draw(const writing *w, int64_t n, int64_t index)
{
    double left = chance(w, index);
    for (int64_t i = 0; i + 1 < n; i++)
        if ((left -= w->candidate[i].p) < 0) return w->candidate[i].id;
    return w->candidate[n - 1].id;
}

static double logprob(const float *logits, int64_t V, int32_t id)
{
    double most = (double)logits[0], sum = 0;
    for (int64_t i = 1; i < V; i++) most = fmax(most, (double)logits[i]);
    for (int64_t i = 0; i < V; i++) sum += exp((double)logits[i] - most);
    return (double)logits[id] - most - log(sum);
}

static bool stops(const rf_generate_options *o, int32_t id)
{
    for (int64_t i = 0; i < o->stops; i++)
        if (o->stop[i] == id) return true;
    return false;
}

static rf_status write_text(writing *w, const int32_t id[], int64_t n, rf_generate_sink *sink, void *user,
                            rf_generate_end *end, rf_error *why)
{
    const float *logits;
    rf_status status = RF_OK;
    int32_t next;
    for (int64_t i = 0; i < w->o->max_new_tokens; i++) {
        status = i ? read_on(w, &next, 1, &logits, why) : read_on(w, id, n, &logits, why);
        if (status) return status;
        const int64_t choices = rf__candidates(w->o, logits, w->V, w->flag, w->candidate);
        if (!choices) return rf_fail(why, RF_EARG, "suppress: all %lld tokens of the vocabulary", (long long)w->V);
        next = draw(w, choices, i);
        w->flag[next] |= RF__SEEN;
        const rf_generated token = {next, i, logprob(logits, w->V, next), stops(w->o, next)};
        const int enough = sink ? sink(user, &token) : 0;
        *end = token.stops ? RF_GENERATE_STOP : RF_GENERATE_SINK;
        if (token.stops || enough) return RF_OK;
    }
    *end = RF_GENERATE_LENGTH;
    return RF_OK;
}

rf_status rf_session_generate(rf_session *session, const int32_t id[], int64_t n, const rf_generate_options *options,
                      rf_generate_sink *sink, void *user, rf_generate_end *end, rf_error *why)
{
    rf_generate_options o;
    writing w = {.o = &o, .session = session};
    rf_generate_end local;
    if (!session || !options || (!id && n > 0))
        return rf_fail(why, RF_EARG, "generate: no %s given", !session ? "session" : !options ? "options" : "prompt");
    const rf_model *m = rf__session_model(session);
    rf_status status = rf__generate_options_read(&o, options, why);
    if (!status) status = rf__generate_check(&o, why);
    if (!status && (n < 1 || n > INT32_MAX - o.max_new_tokens))
        status = rf_fail(why, RF_EARG, "prompt: %lld tokens; at least 1", (long long)n);
    if (!status && !m->config.is_decoder)
        status = rf_fail(why, RF_EUNSUPPORTED,
                         "this model sees tokens on both sides (is_decoder false): it cannot write text");
    if (!status) status = begin(&w, m, id, n, why);
    if (!status) status = write_text(&w, id, n, sink, user, end ? end : &local, why);
    if (w.sequence) rf_sequence_drop(session, w.sequence, NULL);
    if (w.flag) rf__free(w.ctx, w.flag);
    if (w.candidate) rf__free(w.ctx, w.candidate);
    if (w.text) rf__free(w.ctx, w.text);
    return status;
}
