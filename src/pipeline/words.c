/* words.c — prediction of whole words, a metric that does not depend on the vocabulary.
 *
 *     target    a word of a document, with some text on each side; the `words` targets with the smallest hashes
 *     right    the argmax of the logits at every masked token gives the word
 *     nats     - sum over its tokens t of log softmax(logits)[t], all of them masked */
#include <math.h>
#include <stdlib.h>

#include "pipeline/masked.h"

typedef struct target {
    uint64_t hash;
    char *text;                         /* context, word, context                                                    */
    size_t size, from, to;              /* size of the text; the word's bytes in it                                  */
} target;

/* The targets with the smallest hashes so far: a heap, the largest first. */
typedef struct targets { const rf_ctx *ctx; target *p; size_t n, most; int64_t of, documents; } targets;

typedef struct prediction { int64_t at, n; const target *p; bool unknown; } prediction;  /* rows at .. at + n - 1 */

typedef struct predictions {
    rf_pipeline *p;
    rf_encoding e;
    rf__surroundings around;
    int32_t *id, *type, *start, *row, *label, *chosen;
    prediction *word;
    size_t ids, types, starts, rows, labels, chosens, words;
    int64_t N, B, n;
    rf_word_results *s;
} predictions;

void rf_word_options_init(rf_word_options *o, size_t size)
{
    const rf_word_options own = {.words = 10000, .context = 250, .batch_tokens = 2048};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- targets ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }
static bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
static bool in_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || (unsigned char)c >= 128 || c == '\'';
}

static void sift_down(targets *h, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->p[child + 1].hash > h->p[child].hash) child++;
        if (h->p[child].hash <= h->p[i].hash) return;
        const target swap = h->p[i];
        h->p[i] = h->p[child];
        h->p[child] = swap;
    }
}

static void sift_up(targets *h, size_t i)
{
    for (; i && h->p[(i - 1) / 2].hash < h->p[i].hash; i = (i - 1) / 2) {
        const target swap = h->p[i];
        h->p[i] = h->p[(i - 1) / 2];
        h->p[(i - 1) / 2] = swap;
    }
}

/* Keeps the word text[from..to) with `context` bytes on each side, without words that this would cut. */
static rf_status keep(targets *h, uint64_t hash, const rf_document *d, size_t from, size_t to, size_t context,
                      rf_error *why)
{
    size_t begin = from > context ? from - context : 0, end = d->size - to > context ? to + context : d->size;
    while (begin && begin < from && in_word(d->text[begin]) && in_word(d->text[begin - 1])) begin++;
    while (end < d->size && end > to && in_word(d->text[end]) && in_word(d->text[end - 1])) end--;
    while (begin < from && ((unsigned char)d->text[begin] & 0xC0) == 0x80) begin++;
    while (end > to && end < d->size && ((unsigned char)d->text[end] & 0xC0) == 0x80) end--;
    char *text = rf__calloc(h->ctx, end - begin, 1);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: %zu words with their contexts", h->n);
    memcpy(text, d->text + begin, end - begin);
    const target p = {hash, text, end - begin, from - begin, to - begin};
    if (h->n < h->most) {
        h->p[h->n] = p;
        sift_up(h, h->n++);
    } else {
        rf__free(h->ctx, h->p[0].text);
        h->p[0] = p;
        sift_down(h, 0);
    }
    return RF_OK;
}

static rf_status take_document(targets *h, const rf_document *d, size_t context, rf_error *why)
{
    const uint64_t document = rf__hash64(d->text, d->size, 0);
    for (size_t from = 0, to; from < d->size; from = to + 1) {
        bool letters = true;
        for (to = from; to < d->size && in_word(d->text[to]); to++)
            letters &= is_letter(d->text[to]);
        if (to == from || !letters) continue;
        const uint64_t at = from, hash = rf__hash64(&at, sizeof at, document);
        h->of++;
        if (h->n == h->most && hash >= h->p[0].hash) continue;
        const rf_status status = keep(h, hash, d, from, to, context, why);
        if (status) return status;
    }
    h->documents++;
    return RF_OK;
}

static rf_status find_targets(targets *h, const char *const paths[], int n, const rf_word_options *o,
                              const rf_cancel *cancel, rf_error *why)
{
    rf_reader *r;
    rf_document d;
    rf_status status = rf_reader_open(h->ctx, paths, n, o->reader, &r, why);
    if (status) return status;
    while (!(status = rf_reader_next(r, &d, why)) && d.text) {
        if (rf_cancel_is_set(cancel)) status = rf_fail(why, RF_ECANCELED, "canceled");
        else status = take_document(h, &d, (size_t)o->context, why);
        if (status) break;
    }
    rf_reader_close(r);
    if (!status && !h->n) status = rf_fail(why, RF_EDATA, "text: expected words of ASCII letters, got none");
    return status;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = ((const target *)a)->hash, y = ((const target *)b)->hash;
    return (x > y) - (x < y);
}

/* ---- predictions ---- */

static bool reserve(predictions *g, size_t tokens)
{
    const rf_ctx *ctx = g->p->ctx;
    const size_t all = (size_t)g->N + g->around.opens + tokens + g->around.ends;
    return rf__grow(ctx, &g->id, &g->ids, all, sizeof *g->id) &&
           rf__grow(ctx, &g->type, &g->types, all, sizeof *g->type) &&
           rf__grow(ctx, &g->start, &g->starts, (size_t)g->B + 2, sizeof *g->start) &&
           rf__grow(ctx, &g->word, &g->words, (size_t)g->B + 1, sizeof *g->word) &&
           rf__grow(ctx, &g->row, &g->rows, (size_t)g->n + tokens, sizeof *g->row) &&
           rf__grow(ctx, &g->label, &g->labels, (size_t)g->n + tokens, sizeof *g->label) &&
           rf__grow(ctx, &g->chosen, &g->chosens, (size_t)g->n + tokens, sizeof *g->chosen);
}

static void add_token(predictions *g, int32_t id, int32_t type)
{
    g->id[g->N] = id;
    g->type[g->N++] = type;
}

/* Appends the text with the template's tokens around it to the batch, with the tokens of the word masked and at most
 * `most` tokens of text around it. */
static rf_status add(predictions *g, const target *p, size_t most, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(g->p->model);
    rf_encoding *e = &g->e;
    const rf_status status =
        rf_encode(t, p->text, p->size, NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e, NULL, why);
    if (status) return status;
    size_t first = 0, last, begin = 0, end = e->n;
    while (first < e->n && e->end[first] <= p->from) first++;
    for (last = first; last < e->n && e->start[last] < p->to;) last++;
    while (end - begin > most && (begin < first || end > last))
        if (first - begin > end - last) begin++;
        else end--;
    if (last == first || end - begin > most)
        return rf_fail(why, RF_EDATA, "'%.*s': expected 1 to %zu tokens, got %zu", (int)(p->to - p->from),
                       p->text + p->from, most, last - first);
    if (!reserve(g, end - begin)) return rf_fail(why, RF_ENOMEM, "out of memory: a batch of words");
    prediction *w = &g->word[g->B];
    *w = (prediction){.at = g->n, .n = (int64_t)(last - first), .p = p};
    g->start[0] = 0;
    for (size_t i = 0; i < g->around.opens; i++) add_token(g, g->around.before[i].token, g->around.before[i].type);
    for (size_t i = begin; i < end; i++) {
        const bool asked = i >= first && i < last;
        add_token(g, asked ? rf_tokenizer_mask(t) : e->id[i], g->around.type);
        if (rf__token_in_model(g->p, e->id[i], why)) return RF_ERANGE;
        if (!asked) continue;
        g->row[g->n] = (int32_t)g->N - 1;
        g->label[g->n++] = e->id[i];
        w->unknown |= e->id[i] == rf_tokenizer_unk(t);
    }
    for (size_t i = 0; i < g->around.ends; i++) add_token(g, g->around.after[i].token, g->around.after[i].type);
    g->start[++g->B] = (int32_t)g->N;
    return RF_OK;
}

/* Whether the ids give the word, ignoring case. */
static rf_status spells(const predictions *g, const int32_t id[], const prediction *w, bool *same, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(g->p->model);
    size_t size, from = 0;
    char *text = rf_decode(t, id, (size_t)w->n, 0, 0, &size);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: the text of a word");
    while (from < size && text[from] == ' ') from++;
    while (size > from && text[size - 1] == ' ') size--;
    *same = size - from == w->p->to - w->p->from;
    for (size_t i = 0; *same && from + i < size; i++)
        *same = lower(text[from + i]) == lower(w->p->text[w->p->from + i]);
    rf_text_free(t, text);
    return RF_OK;
}

/* The most likely id of a row, and log p of the label. */
static double label_log_prob(const float *z, int64_t V, int32_t label, int32_t *best)
{
    *best = 0;
    for (int32_t v = 1; v < V; v++)
        if (z[v] > z[*best]) *best = v;
    return rf__log_softmax(z, V, label);
}

/* Computes the batch and empties it. */
static rf_status answer(predictions *g, rf_error *why)
{
    const float *z;
    const int64_t width = rf_model_config(g->p->model)->vocab_size;
    const int64_t V = rf__min64(width, rf_tokenizer_size(rf_model_tokenizer(g->p->model)));
    const rf_batch batch = {.N = g->N, .B = g->B, .id = g->id, .type = g->type, .start = g->start};
    const rf_status status = g->B ? rf_session_mlm_logits(g->p->session, &batch, g->row, g->n, &z, why) : RF_OK;
    for (int64_t b = 0; b < g->B && !status; b++) {
        const prediction *w = &g->word[b];
        double nats = 0;
        for (int64_t i = w->at; i < w->at + w->n; i++)
            nats -= label_log_prob(z + i * width, V, g->label[i], &g->chosen[i]);
        if (!isfinite(nats))
            return rf_fail(why, RF_ENUMERIC, "words: expected finite scores of a mask, got NaN or infinity");
        bool right = false;
        if (spells(g, g->chosen + w->at, w, &right, why)) return why->code;
        right = right && !w->unknown;
        g->s->words++;
        g->s->right += right;
        g->s->single += w->n == 1;
        g->s->single_right += right && w->n == 1;
        g->s->unknown += w->unknown;
        if (w->unknown) continue;
        g->s->nats += nats;
        g->s->tokens += w->n;
        g->s->characters += (int64_t)(w->p->to - w->p->from);
    }
    g->N = g->B = g->n = 0;
    return status;
}

static rf_status ask(predictions *g, const targets *h, const rf_word_options *o, rf_error *why)
{
    const int64_t most = rf_model_config(g->p->model)->max_position_embeddings;
    for (size_t i = 0; i < h->n; i++) {
        if (g->N + 2 * o->context / 3 > o->batch_tokens && answer(g, why)) return why->code;
        if (add(g, &h->p[i], (size_t)rf__max64(most - (int64_t)(g->around.opens + g->around.ends), 1), why))
            return why->code;
    }
    return answer(g, why);
}

static rf_status check(const rf_pipeline *p, const rf_word_options *o, rf_error *why)
{
    if (o->words < 1 || o->words > 1 << 30)
        return rf_fail(why, RF_EARG, "words: expected 1 to %d, got %lld", 1 << 30, (long long)o->words);
    if (o->context < 0 || o->context > 1 << 20)
        return rf_fail(why, RF_EARG, "context: expected 0 to %d, got %lld", 1 << 20, (long long)o->context);
    if (o->batch_tokens < 1 || o->batch_tokens > 1 << 24)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 to %d, got %lld", 1 << 24, (long long)o->batch_tokens);
    return rf__can_fill(p, why);
}

rf_status rf_predict_words(rf_pipeline *p, const char *const paths[], int n, const rf_word_options *options,
                         const rf_word_results **out, rf_error *why)
{
    rf_word_options o;
    rf_error own = {0};
    if (!(p && paths && out)) return rf__missing("rf_predict_words", "pipeline, paths, out", why);
    if (!why) why = &own;
    rf_word_defaults(&o);
    rf_status status =
        rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_word_options, reader), options, "rf_word_options", why);
    if (!status) status = check(p, &o, why);
    if (status) return status;
    targets h = {.ctx = p->ctx, .most = (size_t)o.words};
    rf_word_results s = {0};
    predictions g = {.p = p, .s = &s};
    rf_encoding_init(&g.e, p->ctx);
    rf__surroundings_of(rf_model_tokenizer(p->model), &g.around);
    h.p = rf__calloc(p->ctx, h.most, sizeof *h.p);
    status = h.p ? find_targets(&h, paths, n, &o, p->cancel, why)
                 : rf_fail(why, RF_ENOMEM, "out of memory: %lld words", (long long)o.words);
    if (!status) {
        qsort(h.p, h.n, sizeof *h.p, by_hash);
        status = ask(&g, &h, &o, why);
    }
    s.of = h.of;
    s.documents = h.documents;
    if (!status) p->word_scores = s, *out = &p->word_scores;
    for (size_t i = 0; i < h.n; i++) rf__free(p->ctx, h.p[i].text);
    void *const own_memory[] = {h.p, g.id, g.type, g.start, g.row, g.label, g.chosen, g.word};
    for (size_t i = 0; i < RF_COUNT(own_memory); i++) rf__free(p->ctx, own_memory[i]);
    rf_encoding_clear(&g.e);
    return status;
}
