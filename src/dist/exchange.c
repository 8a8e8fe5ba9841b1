/* exchange.c — sends gradients to their owners during the backward pass, and values back. */
#include "dist/exchange.h"

/* ---- life ---- */

static rf_status no_memory(rf__exchange *x, rf_error *why)
{
    rf__exchange_free(x);
    return rf_fail(why, RF_ENOMEM, "out of memory: buffers for the gradients of other ranks");
}

rf_status rf__exchange_new(const rf_ctx *ctx, rf_comm *comm, const rf__shares *shares, rf__span *span, rf__tree *tree,
                           int64_t share, bool partial, rf__exchange *out, rf_error *why)
{
    const size_t ranks = (size_t)comm->size;
    rf__exchange x = {.ctx = ctx, .comm = comm, .shares = shares, .span = span, .tree = tree, .partial = partial};
    rf__tree_node one[RF__DEPTH];
    int nodes = 0;
    if (!(x.first = rf__calloc(ctx, ranks + 1, sizeof *x.first))) return no_memory(&x, why);
    for (int r = 0; r < comm->size; r++) {
        x.first[r] = nodes;
        nodes += rf__tree_nodes(r * share, share, one);
    }
    x.first[ranks] = nodes;
    x.node = rf__calloc(ctx, (size_t)nodes, sizeof *x.node);
    x.from = rf__calloc(ctx, (size_t)nodes, sizeof *x.from);
    x.left = rf__calloc(ctx, shares->buckets, sizeof *x.left);
    x.sums = rf__calloc(ctx, (ranks + 1) * shares->most_spans, sizeof *x.sums);
    if (!x.node || !x.from || !x.left || !x.sums) return no_memory(&x, why);
    for (int r = 0; r < comm->size; r++) {
        const int n = rf__tree_nodes(r * share, share, one);
        memcpy(x.node + x.first[r], one, (size_t)n * sizeof *one);
    }
    const size_t others = (size_t)(nodes - (x.first[comm->rank + 1] - x.first[comm->rank]));
    size_t bytes;
    for (int i = 0; i < RF__WINDOW; i++)
        if (!rf__checked_mul(others * sizeof(float), shares->most_floats, &bytes) ||
            !(x.buffer[i] = rf__alloc(ctx, bytes)))
            return no_memory(&x, why);
    *out = x;
    return RF_OK;
}

void rf__exchange_free(rf__exchange *x)
{
    if (!x->ctx) return;
    for (int i = 0; i < RF__WINDOW; i++) rf__free(x->ctx, x->buffer[i]);
    rf__free(x->ctx, x->node);
    rf__free(x->ctx, x->first);
    rf__free(x->ctx, x->from);
    rf__free(x->ctx, x->left);
    rf__free(x->ctx, x->sums);
    *x = (rf__exchange){0};
}

double rf__exchange_bytes(const rf_params *params, int ranks)
{
    const double bucket = (double)params->total < 1 << 22 ? (double)params->total : 1 << 22;
    return ranks > 1 ? RF__WINDOW * sizeof(float) * bucket : 0;
}

/* ---- transfers; none after a failure ---- */

static void send_floats(rf__exchange *x, int number, int to, const float *data, size_t n)
{
    if (!x->why.code && n) x->comm->send(x->comm, number, to, data, n * sizeof *data, &x->why);
}

static void receive(rf__exchange *x, int number, int from, float *data, size_t n)
{
    if (!x->why.code && n) x->comm->receive(x->comm, number, from, data, n * sizeof *data, &x->why);
}

static void wait_for(rf__exchange *x, int number)
{
    if (!x->why.code) x->comm->wait(x->comm, number, &x->why);
}

/* Each rank starts with the next rank, so that not all send to the same one first. */
static int other(const rf__exchange *x, int i) { return (x->comm->rank + i) % x->comm->size; }

/* ---- the gradient ---- */

static int number_of(size_t order) { return RF__FIRST_BUCKET + (int)(order % RF__WINDOW); }
static size_t bucket_of(const rf__exchange *x, size_t order) { return x->shares->buckets - 1 - order; }

/* The floats of every node of this rank's part: its own in their slabs, those of others in the receive buffers. */
static void locate(rf__exchange *x, size_t order, const rf__share *mine)
{
    const int me = x->comm->rank;
    float *at = x->buffer[order % RF__WINDOW];
    for (int r = 0; r < x->comm->size; r++)
        for (int i = x->first[r]; i < x->first[r + 1]; i++) {
            if (r == me) x->from[i] = x->tree->slab[i - x->first[r]] + mine->at;
            else x->from[i] = at, at += mine->n;
        }
}

static void finish_bucket(rf__exchange *x)
{
    const size_t order = x->finished++;
    const rf__share *mine = rf__share_of(x->shares, bucket_of(x, order), x->comm->rank);
    wait_for(x, number_of(order));
    if (x->why.code || !mine->n) return;
    locate(x, order, mine);
    rf__tree_fold(x->ctx, x->node, x->from, x->first[x->comm->size], x->tree->slab[0] + mine->at, (int64_t)mine->n);
}

static void start_bucket(rf__exchange *x)
{
    const size_t order = x->started++, b = bucket_of(x, order);
    const int me = x->comm->rank, number = number_of(order);
    const rf__share *whole = &x->shares->bucket[b].whole, *mine = rf__share_of(x->shares, b, me);
    if (order - x->finished >= RF__WINDOW) finish_bucket(x);
    rf__tree_join(x->tree, whole->at, whole->n);
    locate(x, order, mine);
    for (int k = 1; k < x->comm->size; k++) {
        const int r = x->comm->size - k, from = other(x, r);
        for (int i = x->first[from]; i < x->first[from + 1]; i++) receive(x, number, from, x->from[i], mine->n);
    }
    for (int k = 1; k < x->comm->size; k++) {
        const int to = other(x, k);
        const rf__share *theirs = rf__share_of(x->shares, b, to);
        for (int i = 0; i < x->tree->nodes; i++) send_floats(x, number, to, x->tree->slab[i] + theirs->at, theirs->n);
    }
}

static void progress(rf__exchange *x)
{
    int done;
    for (size_t order = x->finished; order < x->started && !x->why.code; order++)
        x->comm->progress(x->comm, number_of(order), &done, &x->why);
}

void rf__exchange_begin(rf__exchange *x, const float *leaf)
{
    x->leaf = leaf;
    x->started = x->finished = 0;
    for (size_t b = 0; b < x->shares->buckets; b++) x->left[b] = x->shares->bucket[b].floats;
}

void rf__exchange_ready(void *exchange, const float *grad, int64_t n)
{
    rf__exchange *x = exchange;
    const size_t from = (size_t)(grad - x->leaf), to = from + (size_t)n;
    for (size_t b = 0; b < x->shares->buckets; b++) {
        const rf__share *p = &x->shares->bucket[b].whole;
        const size_t low = from > p->at ? from : p->at, high = to < p->at + p->n ? to : p->at + p->n;
        if (low >= high) continue;
        if (x->left[b] < high - low)
            rf_fail(&x->why, RF_EARG, "gradient: expected each to become final once, got floats %zu to %zu twice", low,
                    high);
        else x->left[b] -= high - low;
    }
    while (x->started < x->shares->buckets && !x->left[bucket_of(x, x->started)]) start_bucket(x);
    progress(x);
}

void rf__exchange_end(rf__exchange *x)
{
    while (x->started < x->shares->buckets) start_bucket(x);     /* also buckets that the loss did not depend on */
    while (x->finished < x->started) finish_bucket(x);
    if (!x->partial) rf__exchange_parts(x, x->tree->slab[0]);
}

/* ---- sums and values ---- */

void rf__exchange_sums(rf__exchange *x, double sum[])
{
    const rf__shares *s = x->shares;
    double *mine = x->sums, *all = x->sums + s->most_spans;
    for (size_t b = 0, n = 0; b < s->buckets; b++) {
        const rf__share *p = rf__share_of(s, b, s->rank);
        for (size_t i = p->first; i < p->last; i++) mine[n++] = sum[i];
    }
    if (x->why.code || rf__gather_all(x->comm, mine, all, s->most_spans * sizeof *mine, &x->why)) return;
    for (int r = 0; r < s->ranks; r++)
        for (size_t b = 0, n = 0; b < s->buckets; b++) {
            const rf__share *p = rf__share_of(s, b, r);
            for (size_t i = p->first; i < p->last; i++) sum[i] = all[(size_t)r * s->most_spans + n++];
        }
}

void rf__exchange_parts(rf__exchange *x, float *slab)
{
    const rf__shares *s = x->shares;
    for (size_t b = 0; b < s->buckets; b++) {
        const rf__share *mine = rf__share_of(s, b, s->rank);
        for (int k = 1; k < s->ranks; k++) {
            const int from = other(x, s->ranks - k);
            const rf__share *theirs = rf__share_of(s, b, from);
            receive(x, RF__FIRST_BUCKET, from, slab + theirs->at, theirs->n);
        }
        for (int k = 1; k < s->ranks; k++) send_floats(x, RF__FIRST_BUCKET, other(x, k), slab + mine->at, mine->n);
    }
    wait_for(x, RF__FIRST_BUCKET);
}

void rf__exchange_to_first(rf__exchange *x, const float *kept, float *slab, size_t at, size_t n)
{
    const rf__shares *s = x->shares;
    for (size_t b = 0; b < s->buckets; b++)
        for (int r = 0; r < s->ranks; r++) {
            const rf__share *p = rf__share_of(s, b, r);
            for (size_t i = p->first; i < p->last; i++) {
                const rf__span *span = &x->span[i];
                if (span->at < at || span->at >= at + n) continue;
                if (!span->away && !s->rank) memcpy(slab + span->at, kept + span->slot, span->n * sizeof *slab);
                else if (!span->away) send_floats(x, RF__FIRST_BUCKET, 0, kept + span->slot, span->n);
                else if (!s->rank) receive(x, RF__FIRST_BUCKET, r, slab + span->at, span->n);
            }
        }
    wait_for(x, RF__FIRST_BUCKET);
}
