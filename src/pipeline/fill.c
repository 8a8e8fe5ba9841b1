/* fill.c — the most likely words for masks.
 *
 *     p(w) = softmax(logits at the mask)[w],    over the whole vocabulary, also with targets */
#include <math.h>

#include "pipeline/pipeline.h"

void rf_fill_options_init(rf_fill_options *o, size_t size)
{
    const rf_fill_options own = {.top_k = 5, .batch_tokens = 2048};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__can_fill(const rf_pipeline *p, rf_error *why)
{
    if (rf_tokenizer_mask(rf_model_tokenizer(p->model)) < 0)
        return rf_fail(why, RF_EDATA, "fill-mask: expected a tokenizer with a mask token, got one without");
    if (!rf_model_has_head(p->model))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "fill-mask: expected a model with a masked-language-model head, got one without");
    if (rf_model_config(p->model)->linear_pooler && rf_model_config(p->model)->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "fill-mask: expected a masked language model, got RoFormer-Sim "
                       "(pooler_activation \"linear\"), which embeds and generates texts");
    if (rf_model_config(p->model)->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "fill-mask: expected a model with bidirectional attention, got a causal "
                       "model, which does not see the text after a mask");
    return RF_OK;
}

static rf_status check(const rf_pipeline *p, const rf_fill_options *o, rf_error *why)
{
    if (o->top_k < 1) return rf_fail(why, RF_EARG, "top_k: expected 1 or more, got %lld", (long long)o->top_k);
    if (o->max_length < 0 || o->max_length > INT32_MAX)
        return rf_fail(why, RF_EARG, "max_length: expected 0 to %d, got %lld", INT32_MAX, (long long)o->max_length);
    if (o->batch_tokens < 1 || o->batch_tokens > INT32_MAX)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 to %d, got %lld", INT32_MAX, (long long)o->batch_tokens);
    if (o->targets < 0 || (o->targets && !o->target))
        return rf_fail(why, RF_EARG, "targets: expected 0 or more and a list of them, got %lld%s",
                       (long long)o->targets, o->target ? "" : " without a list");
    for (int64_t i = 0; i < o->targets; i++)
        if (o->target[i] < 0 || o->target[i] >= rf_model_config(p->model)->vocab_size)
            return rf_fail(why, RF_EARG, "target %lld: expected the id of a token, got %d", (long long)i,
                           (int)o->target[i]);
    return rf__can_fill(p, why);
}

static void softmax(float *p, const float *x, int64_t n)
{
    float most = x[0];
    double sum = 0;
    for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)most);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(exp((double)x[i] - (double)most) / sum);
}

/* Of two words, the one with the smaller score is above the other in a heap; of equal scores, the one that came later.
 * Until choose ends, the token of a word is its place in the order in which they came. */
static bool above(const rf_mask_word *a, const rf_mask_word *b)
{
    return a->score < b->score || (a->score <= b->score && (uintptr_t)a->token > (uintptr_t)b->token);
}

/* Puts g into the heap of n words at `at`, or below. */
static void sink(rf_mask_word *heap, int64_t n, int64_t at, rf_mask_word g)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && above(&heap[child + 1], &heap[child])) child++;
        if (!above(&heap[child], &g)) break;
        heap[at] = heap[child];
    }
    heap[at] = g;
}

/* The `k` largest, in descending order; of equal ones, the smaller id (with targets: the earlier one) first. */
static int64_t choose(const float *p, const int32_t *id, int64_t n, rf_mask_word *best, int64_t k)
{
    const int64_t have = rf__min64(n, k);
    for (int64_t i = 0; i < n; i++) {
        const int32_t word = id ? id[i] : (int32_t)i;
        const rf_mask_word g = {word, p[word], (const char *)(uintptr_t)i};
        if (i < have) best[i] = g;
        if (i + 1 == have) /* the heap is made */
            for (int64_t at = have / 2; at-- > 0;) sink(best, have, at, best[at]);
        if (i >= have && above(&best[0], &g)) sink(best, have, 0, g);
    }
    for (int64_t left = have; left-- > 1;) { /* the smallest goes to the end */
        const rf_mask_word g = best[left];
        best[left] = best[0];
        sink(best, left, 0, g);
    }
    return have;
}

/* Finds the masks of the window's last text, which has the number `text`. */
static rf_status find_masks(rf_pipeline *p, int64_t text, rf_error *why)
{
    const rf__text_window *w = &p->parts.window;
    const int32_t mask = rf_tokenizer_mask(rf_model_tokenizer(p->model));
    rf__fills *f = &p->fills;
    const int64_t before = f->n;
    for (int32_t i = w->start[text]; i < w->start[text + 1]; i++) {
        if (w->e.id[i] != mask) continue;
        if (!rf__grow(p->ctx, &f->mask, &f->masks, (size_t)f->n + 1, sizeof *f->mask) ||
            !rf__grow(p->ctx, &f->row, &f->rows, (size_t)f->n + 1, sizeof *f->row))
            return rf_fail(why, RF_ENOMEM, "out of memory: %lld masks", (long long)f->n + 1);
        f->mask[f->n] = (rf_mask){.text = text, .number = f->n - before};
        f->row[f->n++] = i;
    }
    for (int64_t m = before; m < f->n; m++) f->mask[m].of = f->n - before;
    return RF_OK;
}

static rf_status take_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n, int64_t limit,
                            rf_texts_report *r, rf_error *inner)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    rf__text_window *w = &p->parts.window;
    w->n = p->fills.n = 0;
    for (int64_t i = 0; i < n; i++) {
        bool cut;
        const int64_t before = p->fills.n;
        rf_status status = rf__window_add(w, t, text[i], rf__text_bytes(text, bytes, i), limit, 0, &cut, inner);
        if (!status) status = find_masks(p, i, inner);
        if (!status && p->fills.n == before) {
            w->n--;
            status = rf_fail(inner, RF_EDATA, "text: expected a mask token (%s), got none%s",
                             rf_tokenizer_token(t, rf_tokenizer_mask(t)), cut ? ", which was cut to max_length" : "");
        }
        if (status) {
            r->bad = i;
            return status;
        }
        r->cut += cut;
    }
    return RF_OK;
}

/* The words of masks first .. first + n - 1 from their logits. */
static rf_status take_words(rf_pipeline *p, const rf_fill_options *o, int64_t top, const float *logits, int64_t first,
                            int64_t n, rf_error *why)
{
    const int64_t V = rf_model_config(p->model)->vocab_size;
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int64_t all = rf__min64(V, rf_tokenizer_size(t));          /* there may be more rows than tokens */
    rf__fills *f = &p->fills;
    for (int64_t m = 0; m < n; m++) {
        rf_mask_word *word = f->word + (first + m) * top;
        if (rf_cancel_is_set(p->cancel)) return rf_fail(why, RF_ECANCELED, "canceled");
        softmax(f->p, logits + m * V, V);
        if (!isfinite(f->p[0]))
            return rf_fail(why, RF_ENUMERIC, "fill-mask: expected finite scores of a mask, got NaN or infinity");
        f->mask[first + m].words = o->targets ? choose(f->p, o->target, o->targets, word, top)
                                              : choose(f->p, NULL, all, word, top);
        f->mask[first + m].word = word;
        for (int64_t k = 0; k < f->mask[first + m].words; k++) {
            const char *token = rf_tokenizer_token(t, word[k].id);
            word[k].token = token ? token : "";
        }
    }
    return RF_OK;
}

/* Computes batches of texts in order; the masks of a batch are contiguous. */
static rf_status compute(rf_pipeline *p, const rf_fill_options *o, int64_t top, rf_error *why)
{
    const rf__text_window *w = &p->parts.window;
    rf__fills *f = &p->fills;
    rf__text_batch *own = &p->worker[0].batch;
    rf_status status = RF_OK;
    for (int64_t from = 0, to = 0, mask = 0; from < w->n && !status; from = to) {
        const float *logits = NULL;
        int64_t n = 0;
        for (to = from + 1; to < w->n && w->start[to + 1] - w->start[from] <= o->batch_tokens; to++) {}
        const int64_t B = to - from;
        if (!rf__grow(p->ctx, &own->start, &own->starts, (size_t)B + 1, sizeof *own->start))
            return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld texts", (long long)B);
        for (int64_t b = 0; b <= B; b++) own->start[b] = w->start[from + b] - w->start[from];
        for (; mask + n < f->n && f->mask[mask + n].text < to; n++) f->row[mask + n] -= w->start[from];
        const rf_batch batch = {.N = own->start[B], .B = B, .id = w->e.id + w->start[from],
                                .type = w->e.type + w->start[from], .start = own->start};
        status = rf_session_mlm_logits(p->session, &batch, f->row + mask, n, &logits, why);
        if (!status) status = take_words(p, o, top, logits, mask, n, why);
        for (int64_t m = 0; m < n; m++) f->row[mask + m] += w->start[from];
        mask += n;
    }
    return status;
}

rf_status rf_fill_mask(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const rf_fill_options *options, const rf_mask **mask, int64_t *masks,
                       const rf_texts_report **report, rf_error *why)
{
    rf_fill_options o;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_error inner = {0};
    rf_fill_defaults(&o);
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status)
        status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_fill_options, batch_tokens), options,
                                  "rf_fill_options", why);
    if (!status) status = check(p, &o, why);
    if (status) return status;
    (void)take_texts(p, text, bytes, n, o.max_length, r, &inner);
    rf__fills *f = &p->fills;
    const int64_t V = rf_model_config(p->model)->vocab_size;
    const int64_t most = o.targets ? o.targets : rf__min64(V, rf_tokenizer_size(rf_model_tokenizer(p->model)));
    const int64_t top = rf__min64(o.top_k, most);
    size_t words;
    if (!rf__checked_mul((size_t)f->n, (size_t)top, &words) ||
        !rf__grow(p->ctx, &f->word, &f->words, words, sizeof *f->word) ||
        !rf__grow(p->ctx, &f->p, &f->ps, (size_t)V, sizeof *f->p))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld words for each of %lld masks", (long long)top,
                       (long long)f->n);
    if ((status = compute(p, &o, top, why))) {
        r->bad = -1;
        return status;
    }
    r->done = p->parts.window.n;
    r->tokens = p->parts.window.n ? p->parts.window.start[p->parts.window.n] : 0;
    if (mask) *mask = f->mask;
    if (masks) *masks = f->n;
    return inner.code ? rf__text_fail(report, r->bad, n, &inner, why) : RF_OK;
}

char *rf_fill_sequence(const rf_pipeline *p, const rf_mask *mask, int32_t id, size_t *size)
{
    const rf__text_window *w = &p->parts.window;
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int32_t from = w->start[mask->text], to = w->start[mask->text + 1], at = p->fills.row[mask - p->fills.mask];
    int32_t *ids = rf__calloc(p->ctx, (size_t)(to - from), sizeof *ids);
    size_t n = 0;
    if (!ids) return NULL;
    for (int32_t i = from; i < to; i++) {
        const int32_t token = i == at ? id : w->e.id[i];
        if (token != rf_tokenizer_pad(t)) ids[n++] = token;
    }
    char *text = rf_decode(t, ids, n, mask->of == 1, 0, size);
    rf__free(p->ctx, ids);
    return text;
}
