/* api_fill.c — words for masks, in the form of transformers' fill-mask pipeline. */
#include <stdlib.h>

#include "pipeline/pipeline.h"
#include "serve/api/api.h"
#include "serve/shared_call.h"

typedef struct filling {
    srv_call call; /* first, because a call is cast to this type                                 */
    srv_texts texts;
    rf_fill_options o;
    int32_t *target;
} filling;

static void free_filling(void *own)
{
    filling *x = own;
    srv_texts_clear(&x->texts);
    srv_text_clear(&x->call.out);
    free(x->target);
    free(x);
}

/* ---- writing, in the engine's thread ----------------------------------------------------------------------------- */

static void put_word(srv_text *t, const rf_pipeline *p, const rf_mask *mask, const rf_mask_word *w)
{
    const rf_tokenizer *tokenizer = rf_model_tokenizer(rf_pipeline_model(p));
    size_t n, size;
    char *word = rf_decode(tokenizer, &w->id, 1, 0, 0, &n), *whole = rf_fill_sequence(p, mask, w->id, &size);
    if (word && whole) {
        srv_puts(t, "{\"score\":");
        srv_put_float(t, w->score);
        srv_printf(t, ",\"token\":%d,\"token_str\":", w->id);
        srv_put_string(t, word, n);
        srv_puts(t, ",\"sequence\":");
        srv_put_string(t, whole, size);
        srv_puts(t, "}");
    } else t->failed = true;
    rf_text_free(tokenizer, word);
    rf_text_free(tokenizer, whole);
}

/* [{...}, ...], of several masks [[{...}, ...], ...]. */
static void put_masks(filling *x, const rf_pipeline *p, const rf_mask *mask)
{
    srv_text *t = &x->call.out;
    if (mask->of > 1) srv_puts(t, "[");
    for (int64_t m = 0; m < mask->of; m++) {
        srv_puts(t, m ? ",[" : "[");
        for (int64_t i = 0; i < mask[m].words && !t->failed && !srv_is_over(x->call.r); i++) {
            if (i) srv_puts(t, ",");
            put_word(t, p, &mask[m], &mask[m].word[i]);
        }
        srv_puts(t, "]");
    }
    if (mask->of > 1) srv_puts(t, "]");
}

static bool same(const srv_call *a, const srv_call *b)
{
    const filling *x = (const filling *)a, *y = (const filling *)b;
    return x->o.top_k == y->o.top_k && !x->o.targets && !y->o.targets;
}

/* Counts the tokens of the texts from `first` on that have just been computed. */
static void count_tokens(filling *x, const rf_pipeline *p, int64_t first)
{
    const rf__text_window *w = &p->parts.window;
    x->call.r->tokens += w->start[first + x->texts.n] - w->start[first];
}

/* The answer of a request that is over is not complete. */
static void end_filling(filling *x)
{
    const rf_error why = srv_over(x->call.r);
    srv_call_end(&x->call, srv_is_over(x->call.r) ? &why : NULL);
}

/* Computes the masks of one request. A text that cannot be read ends only this request. */
static void compute_one(filling *x, rf_pipeline *p)
{
    rf_error why = {0};
    const rf_mask *mask;
    int64_t masks = 0;
    srv_text *t = &x->call.out;
    if (rf_fill_mask(p, x->texts.text, x->texts.bytes, x->texts.n, &x->o, &mask, &masks, NULL, &why)) {
        srv_call_end(&x->call, &why);
        return;
    }
    count_tokens(x, p, 0);
    if (!x->texts.one) srv_puts(t, "[");
    for (int64_t m = 0; m < masks; m += mask[m].of) {
        if (m) srv_puts(t, ",");
        put_masks(x, p, mask + m);
    }
    if (!x->texts.one) srv_puts(t, "]");
    end_filling(x);
}

enum { MOST = 64 }; /* texts that are computed together */

typedef struct joined {
    filling *of[MOST];
    const char *text[MOST];
    size_t bytes[MOST];
    int64_t n, calls;
} joined;

static bool add(joined *j, filling *x)
{
    if (j->n + x->texts.n > MOST) return false;
    for (int64_t i = 0; i < x->texts.n; i++, j->n++) {
        j->text[j->n] = x->texts.text[i];
        j->bytes[j->n] = x->texts.bytes[i];
    }
    j->of[j->calls++] = x;
    return true;
}

/* Computes the masks of several requests; false: a text of one of them cannot be read. */
static bool compute_joined(const joined *j, rf_pipeline *p)
{
    const rf_mask *mask;
    int64_t masks = 0, text = 0, m = 0;
    if (rf_fill_mask(p, j->text, j->bytes, j->n, &j->of[0]->o, &mask, &masks, NULL, NULL)) return false;
    for (int64_t k = 0; k < j->calls; k++) {
        filling *x = j->of[k];
        const int64_t first = text;
        text += x->texts.n;
        count_tokens(x, p, first);
        if (!x->texts.one) srv_puts(&x->call.out, "[");
        for (; m < masks && mask[m].text < text; m += mask[m].of) {
            if (mask[m].text > first) srv_puts(&x->call.out, ",");
            put_masks(x, p, mask + m);
        }
        if (!x->texts.one) srv_puts(&x->call.out, "]");
    }
    for (int64_t k = 0; k < j->calls; k++) end_filling(j->of[k]);
    return true;
}

static void compute(srv_call *first, rf_pipeline *p)
{
    joined j = {.n = 0};
    filling *x = (filling *)first, *rest = NULL;
    while (x && add(&j, x)) {
        if (x->o.targets) break;
        x = (filling *)srv_call_next(first);
        if (x && j.n + x->texts.n > MOST) rest = x;
        if (rest) break;
    }
    if (!j.calls) compute_one((filling *)first, p); /* more texts than MOST */
    else if (j.calls == 1) compute_one(j.of[0], p);
    else if (!compute_joined(&j, p))
        for (int64_t k = 0; k < j.calls; k++) compute_one(j.of[k], p);
    if (rest) compute_one(rest, p);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Refuses a word that is several tokens; transformers would use its first token and warn. false: answered. */
static bool read_targets(srv_request *r, filling *x, const json_t *list)
{
    const size_t n = json_is_string(list) ? 1 : json_array_size(list);
    rf_encoding e;
    rf_encoding_init(&e, r->s->o.ctx);
    x->target = calloc(n + 1, sizeof *x->target);
    bool *again = calloc((size_t)rf_tokenizer_size(r->model->tokenizer), sizeof *again);
    if (!x->target || !again) {
        free(again);
        return srv_error(r, 503, "Overloaded", "out of memory: targets"), false;
    }
    for (size_t i = 0; i < n && !r->status && srv_go_on(r); i++) {
        const char *word = json_string_value(json_is_string(list) ? list : json_array_get(list, i));
        const rf_tokenizer *t = r->model->tokenizer;
        const int32_t unk = rf_tokenizer_unk(t);
        int32_t id = rf_tokenizer_id(t, word);
        if (id < 0 && !rf_encode(t, word, strlen(word), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL) && e.n == 1)
            id = e.id[0];
        if (id < 0 || id == unk)
            srv_error(r, 422, "Validation", "`targets`: expected words that are one token, got '%.60s'", word);
        if (r->status || again[id]) continue;
        again[id] = true;
        x->target[x->o.targets++] = id;
    }
    free(again);
    rf_encoding_clear(&e);
    x->o.target = x->target;
    if (x->o.targets && x->o.top_k > x->o.targets) x->o.top_k = x->o.targets;
    return !r->status;
}

/* Whether the answer may have `top_k` words for each mask, every one with its text. false: answered. */
static bool words_fit(srv_request *r, const filling *x)
{
    enum { WORD = 100 }; /* bytes of a word without its text, about */
    const rf_tokenizer *t = r->model->tokenizer;
    const size_t limit = r->model->max_length > 0 ? (size_t)r->model->max_length : 0;
    int64_t masks = 0;
    double bytes = 0;
    rf_encoding e;
    rf_encoding_init(&e, r->s->o.ctx);
    for (int64_t i = 0; i < x->texts.n && srv_go_on(r); i++) {
        int64_t own = 0;
        if (rf_encode(t, x->texts.text[i], x->texts.bytes[i], NULL, 0, limit, 0, &e, NULL, NULL)) continue;
        for (size_t k = 0; k < e.n; k++) own += e.id[k] == rf_tokenizer_mask(t);
        masks += own;
        bytes += (double)own * (double)x->o.top_k * (double)(WORD + x->texts.bytes[i]);
    }
    rf_encoding_clear(&e);
    char what[96];
    snprintf(what, sizeof what, "%lld masks with %lld words each (top_k)", (long long)masks, (long long)x->o.top_k);
    return !r->status && srv_answer_fits(r, bytes, what);
}

void srv_fill_mask(srv_request *r)
{
    const json_t *options = srv_member(r->in, "parameters"), *targets = srv_member(options, "targets");
    filling *x = srv_need_model(r, NULL) ? srv_own(r, sizeof *x, free_filling) : NULL;
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute, .same = same};
    rf_fill_defaults(&x->o);
    x->o.top_k = srv_int(options, "top_k", srv_int(r->in, "top_k", 5));
    x->o.max_length = r->model->max_length;
    if (x->o.top_k > r->model->config->vocab_size) x->o.top_k = r->model->config->vocab_size;
    if (!srv_fills_masks(r->model))
        srv_wrong_model(r, "fills no masks", srv_fills_masks);
    else if (read_targets(r, x, targets ? targets : srv_member(r->in, "targets")) &&
             srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts) &&
             srv_texts_fit(r, "inputs", &x->texts, srv_fit_of(r, r->in))) {
        if (words_fit(r, x) && srv_hold(r, x->texts.n)) srv_call_submit(&x->call, srv_call_answer);
    }
}

void srv_api_fill_mask(srv_request *r)
{
    if (srv_read_body(r)) srv_fill_mask(r);
}
