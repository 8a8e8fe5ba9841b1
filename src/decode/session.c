/* session.c — the workspace of one thread for a model: a graph that does not record, and the encoder bound to it. */
#include "graph/graph.h"
#include "decode/session.h"
#include "model/positions.h"

#include <stdatomic.h>

struct rf_session {
    rf_model *model;
    rf_graph *graph;
    rf_encoder *encoder;
    const rf_packed **packed; /* this session's list; that of the vocabulary is added when logits are first requested */
    rf_cache *cache;            /* of all sequences; NULL: none has begun                        */
    rf__observer *observer;
    void *observer_user;
    _Atomic double *clock;      /* when a forward pass ended last; or NULL                                            */
};

static rf_status bind_model(rf_session *s, rf_error *why)
{
    const rf_model *m = s->model;
    rf_encoder *fresh;
    const rf_status status = rf__encoder_view(&m->params, m->value, s->packed, &fresh, why);
    if (status) return status;
    rf__encoder_word_embeddings(fresh, m->words.data ? &m->words : NULL);
    rf__encoder_free(s->encoder);
    s->encoder = fresh;
    rf__encoder_observe(s->encoder, s->observer, s->observer_user);
    return RF_OK;
}

void rf_session_set_cancel(rf_session *s, const rf_cancel *cancel)
{
    if (s) rf__graph_cancel(s->graph, cancel);
}

void rf__session_clock(rf_session *s, _Atomic double *clock)
{
    if (s) s->clock = clock;
}

/* A forward pass has ended. */
static void note_pass(const rf_session *s)
{
    if (s->clock) atomic_store(s->clock, rf__seconds());
}

void rf__session_observe(rf_session *s, rf__observer *observer, void *user)
{
    s->observer = observer;
    s->observer_user = user;
    if (s->encoder) rf__encoder_observe(s->encoder, observer, user);
}

rf_status rf_session_open(const rf_model *model, rf_session **out, rf_error *why)
{
    if (!(model && out)) return rf__missing("rf_session_open", "model, out", why);
    const rf_ctx *ctx = model->ctx;
    rf_session *s = rf__calloc(ctx, 1, sizeof *s);
    if (!s) return rf_fail(why, RF_ENOMEM, "out of memory: a session");
    s->model = (rf_model *)(uintptr_t)model;       /* only for the part that is created later, under the model's lock */
    s->packed = rf__calloc(ctx, model->params.n, sizeof *s->packed);
    rf_status status = s->packed ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a session");
    if (!status) {
        for (size_t i = 0; i < model->params.n; i++)
            if (i != model->params.word) s->packed[i] = model->packed[i];
        status = rf__graph_new(ctx, &s->graph, why);
    }
    if (!status) {
        rf__graph_products(s->graph, model->type == RF_F32 ? RF_F32 : RF_BF16);
        status = bind_model(s, why);
    }
    if (status) {
        rf_session_close(s);
        return status;
    }
    *out = s;
    return RF_OK;
}

const rf_model *rf__session_model(const rf_session *s) { return s->model; }

void rf_session_close(rf_session *s)
{
    if (!s) return;
    rf__cache_free(s->cache);
    rf__encoder_free(s->encoder);
    rf__graph_free(s->graph);
    rf__free(s->model->ctx, (void *)s->packed);
    rf__free(s->model->ctx, s);
}

static rf_status check(const rf_batch *b, rf_error *why)
{
    if (!b || !b->id || !b->start)
        return rf_fail(why, RF_EARG, "batch: expected %s, got NULL", !b ? "a batch" : !b->id ? "ids" : "starts");
    if (b->B < 1 || b->N < 1 || b->N > INT32_MAX)
        return rf_fail(why, RF_EARG,
                       "batch: expected at least 1 sequence and 1 to %d tokens, got %lld sequences and %lld tokens",
                       INT32_MAX, (long long)b->B, (long long)b->N);
    if (b->start[0] != 0 || b->start[b->B] != b->N)
        return rf_fail(why, RF_EARG, "batch: starts: expected to run from 0 to %lld, got %d to %d", (long long)b->N,
                       (int)b->start[0], (int)b->start[b->B]);
    for (int64_t i = 0; i < b->B; i++)
        if (b->start[i + 1] <= b->start[i])
            return rf_fail(why, RF_EARG, "batch: sequence %lld: expected at least 1 token, got none", (long long)i);
    return RF_OK;
}

static rf_status check_rows(const int32_t row[], int64_t n, rf_error *why)
{
    if (n >= 0 && (row || !n)) return RF_OK;
    return rf_fail(why, RF_EARG, "batch: rows of logits: expected 0 or more and a list of them, got %lld%s",
                   (long long)n, row ? "" : " without a list");
}

/* Starts a new graph for this batch; `finish` checks once whether any operation failed. */
static rf_status begin(rf_session *s, const rf_batch *b, rf_error *why)
{
    const rf_status status = check(b, why);
    if (status) return status;
    if (rf__graph_reset(s->graph))
        return rf_fail(why, RF_ENOMEM, "out of memory: the workspace of %lld tokens", (long long)b->N);
    rf__graph_record(s->graph, 0, 0, 0);
    return RF_OK;
}

static rf_status hidden(rf_session *s, const rf_batch *b, rf_tensor **out, rf_error *why)
{
    const rf_status status = begin(s, b, why);
    if (!status) *out = rf__encoder_forward(s->graph, s->encoder, b);
    return status;
}

static rf_status finish(rf_session *s, const rf_tensor *x, const float **out, rf_error *why)
{
    const rf_error *e = rf__graph_error(s->graph);
    if (e->code) return rf_fail(why, e->code, "%s", e->text);
    note_pass(s);
    const int64_t n = x->rank == 2 ? x->dim[0] * x->dim[1] : 0;
    if (!s->model->ctx->k->finite(x->f32, n))
        return rf_fail(why, RF_ENUMERIC, "model: expected a finite result, got NaN or infinity");
    *out = x->f32;
    return RF_OK;
}

double rf_session_flops(const rf_session *s) { return rf__graph_flops(s->graph); }

rf_status rf_session_hidden(rf_session *s, const rf_batch *batch, const float **out, rf_error *why)
{
    rf_tensor *h;
    if (!(s && out)) return rf__missing("rf_session_hidden", "session, hidden", why);
    const rf_status status = hidden(s, batch, &h, why);
    return status ? status : finish(s, h, out, why);
}

rf_status rf__session_hidden_seen(rf_session *s, const rf_batch *batch, const int32_t seen[], const float **out,
                                  rf_error *why)
{
    const rf_status status = begin(s, batch, why);
    return status ? status : finish(s, rf__encoder_forward_seen(s->graph, s->encoder, batch, seen), out, why);
}

rf_status rf_session_embed(rf_session *s, const rf_batch *batch, rf_pooling how, const float **out, rf_error *why)
{
    rf_tensor *h;
    if (!(s && out)) return rf__missing("rf_session_embed", "session, vectors", why);
    const rf_status status = hidden(s, batch, &h, why);
    if (status) return status;
    rf_tensor *x = rf__pool(s->graph, h, batch->start, batch->B, how);
    return finish(s, how == RF_POOL_CLS ? rf__encoder_vector(s->graph, s->encoder, x) : x, out, why);
}

/* Adds the packed matrix of the head to this session's list. */
static rf_status get_words(rf_session *s, rf_error *why)
{
    const rf_packed **packed = &s->packed[s->model->params.word];
    if (*packed || !s->model->config.tie_word_embeddings) return RF_OK;
    rf_status status = rf__model_head(s->model, packed, why);
    if (!status) status = bind_model(s, why);
    if (status) *packed = NULL;
    return status;
}

static rf_status get_head(rf_session *s, rf_error *why)
{
    if (rf_model_has_head(s->model)) return get_words(s, why);
    return rf_fail(why, RF_EUNSUPPORTED, "model: expected a language-model head (cls.predictions.*), got none");
}

rf_status rf_session_mlm_logits(rf_session *s, const rf_batch *batch, const int32_t row[], int64_t n,
                                const float **out, rf_error *why)
{
    rf_tensor *h;
    if (!(s && out)) return rf__missing("rf_session_mlm_logits", "session, logits", why);
    rf_status status = check_rows(row, n, why);
    if (!status) status = get_head(s, why);
    if (!status) status = hidden(s, batch, &h, why);
    return status ? status : finish(s, rf__mlm_logits(s->graph, s->encoder, h, row, n), out, why);
}

rf_status rf_session_pair_logits(rf_session *s, const rf_batch *source, const rf_batch *target, const int32_t row[],
                                 int64_t n, const float **out, rf_error *why)
{
    if (!(s && out)) return rf__missing("rf_session_pair_logits", "session, logits", why);
    if (!s->model->config.is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "model: expected an encoder-decoder model for pairs of texts, got one without a decoder");
    rf_status status = check(source, why);
    if (!status) status = check_rows(row, n, why);
    if (!status) status = get_words(s, why);
    if (!status) status = begin(s, target, why);
    if (status) return status;
    rf_tensor *h = rf__pair_forward(s->graph, s->encoder, source, target);
    return finish(s, rf__mlm_logits(s->graph, s->encoder, h, row, n), out, why);
}

rf_status rf_session_logits(rf_session *s, const rf_batch *batch, const float **out, int64_t *rows, rf_error *why)
{
    if (!(s && out && rows)) return rf__missing("rf_session_logits", "session, logits, rows", why);
    const bool sim = s->model->config.linear_pooler;
    if ((rf_model_task(s->model) == RF_HEAD_MLM && !sim) || rf_model_task(s->model) == RF_HEAD_SEQ2SEQ)
        return rf_fail(why, RF_EUNSUPPORTED, "model: expected a fine-tuned model, got one without a head for texts, "
                       "tokens, answers or choices; `roformer finetune` makes one");
    const rf_status status = begin(s, batch, why);
    if (status) return status;
    rf_tensor *z = rf__task_forward(s->graph, s->encoder, batch);
    *rows = z->dim[0];
    return finish(s, z, out, why);
}

/* ---- tokens that continue earlier ones ---- */

rf_status rf__session_cache(rf_session *s, rf_cache **out, rf_error *why)
{
    const rf_model *m = s->model;
    const rf_stack *stack = rf__model_writer(m);
    rf_status status = RF_OK;
    if (!stack->config.is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "sequences: expected a causal model (is_decoder true), got one with "
                       "bidirectional attention (is_decoder false)");
    if (!s->cache) {
        const int64_t L = stack->config.num_hidden_layers;
        rf_keeping *k = rf__calloc(m->ctx, (size_t)L + 1, sizeof *k);
        status = rf__position_caches(stack->position, &stack->config, why);
        if (!status && !k) status = rf_fail(why, RF_ENOMEM, "out of memory: sequences of %lld layers", (long long)L);
        for (int64_t i = -1; !status && i < L; i++)
            k[i + 1] = rf__position_keeping(m->ctx, stack->position, &stack->config, i);
        if (!status) status = rf__cache_new(m->ctx, L, k, &s->cache, why);
        rf__free(m->ctx, k);
    }
    *out = s->cache;
    return status;
}

const rf_stack *rf__model_writer(const rf_model *m) { return &m->params.stack[m->params.stacks - 1]; }

const rf_cache *rf__session_kept(const rf_session *s) { return s->cache; }

/* The positions of the tokens of a batch in their sequences. RF_ERANGE: too long. */
static rf_status next_positions(rf_session *s, const rf_batch *b, int32_t **out, rf_error *why)
{
    int32_t *position = rf__push(s->graph, (size_t)b->N, sizeof *position);
    for (int64_t i = 0; i < b->B && position; i++) {
        const int64_t first = rf__cache_length(s->cache, i);
        if (first + b->start[i + 1] - b->start[i] > INT32_MAX)
            return rf_fail(why, RF_ERANGE, "batch: sequence %lld: expected at most %d tokens, got %lld and more",
                           (long long)i, INT32_MAX, (long long)first);
        for (int32_t n = b->start[i]; n < b->start[i + 1]; n++) position[n] = (int32_t)(first + n - b->start[i]);
    }
    *out = position;
    return position ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the workspace of %lld tokens", (long long)b->N);
}

/* RoFormer-Sim: prompts are complete and in batches of their own; the tokens after them have type 1. */
static rf_status kinds_of(rf_session *s, rf_batch *b, rf_error *why)
{
    const bool first = !b->position[0];
    for (int64_t i = 1; i < b->B; i++)
        if (first != !b->position[b->start[i]])
            return rf_fail(why, RF_EARG, "batch: sequence %lld: expected prompts only or continuations only, as in "
                           "sequence 0, got both; this model attends to a whole prompt, so begin sequences in a batch "
                           "of their own", (long long)i);
    if (b->type || first) return RF_OK;
    int32_t *type = rf__push(s->graph, (size_t)b->N, sizeof *type);
    if (!type) return rf_fail(why, RF_ENOMEM, "out of memory: the workspace of %lld tokens", (long long)b->N);
    for (int64_t n = 0; n < b->N; n++) type[n] = s->model->config.type_vocab_size > 1;
    b->type = type;
    return RF_OK;
}

/* Computes the logits of the tokens. */
static rf_status add_tokens(rf_session *s, const rf_batch *batch, const int32_t row[], int64_t n, const float **out,
                            rf_error *why)
{
    rf_batch b = *batch;
    int32_t *position = NULL;
    if (rf__graph_reset(s->graph))
        return rf_fail(why, RF_ENOMEM, "out of memory: the workspace of %lld tokens", (long long)batch->N);
    const rf_status status = next_positions(s, batch, &position, why);
    if (status) return status;
    rf__graph_record(s->graph, 0, 0, 0);
    b.position = position;
    if (s->model->config.linear_pooler) {
        const rf_status kinds = kinds_of(s, &b, why);
        if (kinds) return kinds;
    }
    rf_tensor *h = (s->model->config.is_encoder_decoder ? rf__target_forward_next : rf__encoder_forward_next)(
        s->graph, s->encoder, &b, s->cache);
    return finish(s, rf__mlm_logits(s->graph, s->encoder, h, row, n), out, why);
}

rf_status rf_session_continue(rf_session *s, const rf_sequence which[], const rf_batch *batch, const int32_t row[],
                              int64_t n, const float **out, rf_error *why)
{
    if (!(s && which && out)) return rf__missing("rf_session_continue", "session, sequences, logits", why);
    rf_cache *cache;
    rf_status status = check(batch, why);
    if (!status) status = check_rows(row, n, why);
    if (!status && batch->position)
        status = rf_fail(why, RF_EARG, "batch: expected no positions for continued sequences, got some; positions of "
                         "a continued sequence are counted");
    if (!status) status = rf__session_cache(s, &cache, why);
    if (!status) status = s->model->config.is_encoder_decoder ? get_words(s, why) : get_head(s, why);
    if (!status) status = rf__cache_begin(cache, which, batch->B, batch->start, why);
    if (status) return status;
    status = add_tokens(s, batch, row, n, out, why);
    rf__cache_end(cache, status == RF_OK);
    return status;
}

rf_status rf__session_read(rf_session *s, rf_type type, const rf_batch *source, rf_sequence out[], rf_error *why)
{
    rf_cache *cache;
    rf_status status = rf__session_cache(s, &cache, why);
    if (!status) status = begin(s, source, why);
    if (!status) status = rf__cache_read(cache, type, source->B, source->start, out, why);
    if (status) return status;
    rf__source_forward(s->graph, s->encoder, source, cache);
    const rf_error *e = rf__graph_error(s->graph);
    rf__cache_end(cache, !e->code);
    if (!e->code) note_pass(s);
    return e->code ? rf_fail(why, e->code, "%s", e->text) : RF_OK;
}

size_t rf__session_memory(const rf_session *s)
{
    return rf__graph_memory(s->graph) + (s->cache ? rf__cache_bytes(s->cache) : 0);
}
