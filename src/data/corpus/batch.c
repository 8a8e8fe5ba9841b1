/* batch.c — packs pieces into micro-batches and labels them.
 *
 *     [CLS] piece [SEP] [CLS] piece [SEP] ...      start: where each begins; attention stays inside
 *
 * Pieces come in the epoch's order. A piece that does not fit waits, up to 32 of them, while shorter ones fill the
 * gap. */
#include "data/corpus/batch.h"

/* ---- storage ---- */

rf_status rf__mlm_batch_new(const rf_ctx *ctx, int64_t capacity, rf__mlm_batch *out, rf_error *why)
{
    const size_t n = (size_t)capacity;
    rf__mlm_batch b = {.capacity = capacity};
    b.id = rf__calloc(ctx, n, sizeof *b.id);
    b.start = rf__calloc(ctx, n / 3 + 2, sizeof *b.start);            /* a piece has at least one token */
    b.row = rf__calloc(ctx, n, sizeof *b.row);
    b.label = rf__calloc(ctx, n, sizeof *b.label);
    if (!b.id || !b.start || !b.row || !b.label) {
        rf__mlm_batch_free(ctx, &b);
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)capacity);
    }
    *out = b;
    return RF_OK;
}

void rf__mlm_batch_free(const rf_ctx *ctx, rf__mlm_batch *b)
{
    rf__free(ctx, b->id);
    rf__free(ctx, b->start);
    rf__free(ctx, b->row);
    rf__free(ctx, b->label);
    *b = (rf__mlm_batch){0};
}

void rf__mlm_batch_clear(rf__mlm_batch *b) { b->N = b->B = b->n = b->start[0] = 0; }

rf_batch rf__mlm_batch_view(const rf__mlm_batch *b)
{
    return (rf_batch){.N = b->N, .B = b->B, .id = b->id, .start = b->start};
}

/* ---- masking ---- */

static uint32_t threshold(double p) { return (uint32_t)(p * 4294967295.0); }

/* The id that the model sees for a token that it has to predict. */
static int32_t mask_token(int32_t id, const uint32_t word[4], const rf__token_kinds *v)
{
    if (word[1] < threshold(0.8)) return v->mask;
    if (word[1] < threshold(0.9)) return v->plain[(uint64_t)word[2] * (uint64_t)v->plains >> 32];
    return id;
}

/* Each piece has its own draw; those of its tokens are numbered from 0. */
static bool masks_words(const rf__masking *m, uint64_t stream)
{
    uint32_t word[4];
    rf__philox(m->key, UINT64_MAX, stream, word);
    return (double)word[0] < m->whole_words * 4294967296.0;
}

int64_t rf__mask_ids(int32_t id[], int64_t n, const rf__masking *m, uint64_t stream, int32_t place[], int32_t label[])
{
    const rf__token_kinds *v = m->vocab;
    const uint32_t limit = threshold(m->p);
    const bool whole_words = masks_words(m, stream);
    bool word_chosen = false, in_word = false;
    const uint8_t *joined = whole_words ? rf__vocab_joined(v, id, (size_t)n) : NULL;
    int64_t masked = 0;
    for (int64_t i = 0; i < n; i++) {
        if (v->kind[id[i]] & RF__SPECIAL) {
            in_word = false;
            continue;
        }
        uint32_t word[4];
        rf__philox(m->key, (uint64_t)i, stream, word);
        const bool goes_on = joined ? joined[i] : (v->kind[id[i]] & RF__CONTINUES) != 0;
        const bool follows = whole_words && in_word && goes_on;
        if (!follows) word_chosen = word[0] < limit;
        in_word = true;
        if (!word_chosen) continue;
        if (place) place[masked] = (int32_t)i, label[masked] = id[i];
        id[i] = mask_token(id[i], word, v);
        masked++;
    }
    return masked;
}

static void mask_piece(rf__mlm_batch *b, int64_t first, int64_t last, const rf__masking *m, uint64_t stream)
{
    const int64_t n = rf__mask_ids(b->id + first, last - first, m, stream, b->row + b->n, b->label + b->n);
    for (const int64_t end = b->n + n; b->n < end; b->n++) b->row[b->n] += (int32_t)first;
}

/* After a piece that was cut, the next token is not known, so its last token predicts nothing. */
static void label_next(rf__mlm_batch *b, int64_t first, int64_t last, bool ends)
{
    for (int64_t i = first - 1; i < last - !ends; i++) {
        b->row[b->n] = (int32_t)i;
        b->label[b->n++] = b->id[i + 1];
    }
}

void rf__mlm_batch_add(rf__mlm_batch *b, rf__ids ids, size_t at, size_t size, bool ends, const rf__masking *m,
                       uint64_t stream)
{
    int32_t *id = b->id + b->N;
    id[0] = m->vocab->cls;
    for (size_t i = 0; i < size; i++) id[1 + i] = rf__id(ids, at + i);
    id[1 + size] = m->vocab->sep;
    if (m->next) label_next(b, b->N + 1, b->N + 1 + (int64_t)size, ends);
    else mask_piece(b, b->N + 1, b->N + 1 + (int64_t)size, m, stream);
    b->N += (int64_t)size + RF__TEMPLATE;
    b->start[++b->B] = (int32_t)b->N;
}

void rf__mlm_batch_finish(rf__mlm_batch *b, const rf__masking *m)
{
    for (int64_t i = 0; i < b->N && !b->n; i++) {
        if (m->vocab->kind[b->id[i]] & RF__SPECIAL) continue;
        b->row[0] = (int32_t)i;
        b->label[0] = b->id[i];
        b->id[i] = m->vocab->mask;
        b->n = 1;
    }
}

/* ---- packing ---- */

/* Without masking, tokens are only counted; see rf__packing. */
static void add(rf__mlm_batch *b, const rf__pieces *p, const rf__masking *m, rf__piece_position at)
{
    const size_t i = (size_t)at.piece;
    const uint64_t stream = (uint64_t)at.epoch << 40 | i;
    if (m)
        rf__mlm_batch_add(b, rf__piece_of(p, i)->ids, rf__piece_at(p, i), rf__piece_size(p, i), rf__piece_ends(p, i), m,
                          stream);
    else b->N += (int64_t)rf__piece_size(p, i) + RF__TEMPLATE;
}

static rf__stream_position cursor_of(const rf__data_position *at, int stream)
{
    return stream ? at->cursor[stream] : (rf__stream_position){at->epoch, at->index, at->tokens};
}

static void set_cursor(rf__data_position *at, int stream, rf__stream_position t)
{
    if (stream) {
        at->cursor[stream] = t;
        return;
    }
    at->epoch = t.epoch;
    at->index = t.index;
    at->tokens = t.tokens;
}

/* The stream with the largest deficit relative to its fraction of the tokens. */
static int neediest_stream(const rf__pieces *p, const rf__data_position *at)
{
    int best = 0;
    double least = 0;
    for (int s = 0; s < p->streams; s++) {
        const double done = (double)cursor_of(at, s).tokens / p->stream[s].weight;
        if (s && done >= least) continue;
        least = done;
        best = s;
    }
    return best;
}

static rf__piece_position draw(const rf__pieces *p, rf_key order, rf__data_position *at)
{
    const int s = p->streams > 1 ? neediest_stream(p, at) : 0;
    const size_t n = p->stream[s].n;
    rf__stream_position t = cursor_of(at, s);
    if (t.index >= (int64_t)n) {
        t.epoch++;
        t.index = 0;
    }
    const uint64_t i = p->stream[s].first + rf__shuffled((uint64_t)t.index++, n, order, (uint64_t)t.epoch);
    if (p->streams > 1) t.tokens += (int64_t)rf__piece_size(p, i) + RF__TEMPLATE;
    set_cursor(at, s, t);
    return (rf__piece_position){t.epoch, (int64_t)i};
}

void rf__pack_next(const rf__pieces *p, rf_key order, const rf__masking *m, rf__data_position *at, rf__mlm_batch *b)
{
    int kept = 0;
    rf__mlm_batch_clear(b);
    for (int i = 0; i < at->waits; i++) {
        if (rf__fits(b, rf__piece_size(p, (size_t)at->waiting[i].piece))) add(b, p, m, at->waiting[i]);
        else at->waiting[kept++] = at->waiting[i];
    }
    at->waits = kept;
    while (at->waits < RF__WAITING && rf__fits(b, 1)) {
        const rf__piece_position next = draw(p, order, at);
        if (rf__fits(b, rf__piece_size(p, (size_t)next.piece))) add(b, p, m, next);
        else at->waiting[at->waits++] = next;
    }
    if (m) rf__mlm_batch_finish(b, m);
}

double rf__packing(const rf__pieces *p, rf_key order, int64_t capacity, int64_t batches)
{
    int32_t start[1];
    rf__mlm_batch b = {.capacity = capacity, .start = start};
    rf__data_position at = {0};
    int64_t filled = 0, n = 0;
    if (!p->n) return 0;
    while (n < batches && (!n || rf__data_position_epoch(&at, p) < 1)) {
        rf__pack_next(p, order, NULL, &at, &b);
        filled += b.N;
        n++;
    }
    return (double)filled / (double)(n * capacity);
}

bool rf__data_position_inside(const rf__data_position *at, const rf__pieces *p)
{
    bool inside = true;
    for (int s = 0; s < p->streams; s++) inside = inside && cursor_of(at, s).index <= (int64_t)p->stream[s].n;
    for (int i = 0; i < at->waits; i++) inside = inside && at->waiting[i].piece < (int64_t)p->n;
    return inside;
}

double rf__data_position_epoch(const rf__data_position *at, const rf__pieces *p)
{
    int64_t tokens = at->tokens;
    if (!p->n) return 0;
    if (p->streams < 2) return (double)at->epoch + (double)at->index / (double)p->n;
    for (int s = 1; s < p->streams; s++) tokens += at->cursor[s].tokens;
    return (double)tokens / (double)p->tokens;
}
