/* generate.c — a prompt and what a causal model writes after it.
 *
 *     [CLS] prompt | token token ... [SEP]
 *
 * A token goes out as soon as it is there: decoding is such that the text of n tokens begins that of n + 1, but for
 * U+FFFD at its end, in place of a character that is not whole yet: that waits. */
#include "model/generate.h"
#include "pipeline/pipeline.h"

enum { SPECIALS = 4 };

typedef struct writing {
    rf_pipeline *p;
    const rf_tokenizer *t;
    rf_text_sink *sink;
    void *user;
    bool blank;          /* the prompt ends with one: decoding's own is left out                         */
    size_t begin, given; /* bytes of the decoded prompt; of all that went out                            */
    size_t size;         /* bytes of what is decoded: p->text                                            */
    int64_t prompt, n;   /* tokens of the prompt, of all                                                 */
    rf_error why;
} writing;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Decodes all that is there into p->text; *new_text is what has not gone out yet. */
static bool decode(writing *w, const char **new_text)
{
    rf_pipeline *p = w->p;
    char *text = rf_decode(w->t, p->id, (size_t)w->n, 1, 0, &w->size);
    if (!text) {
        rf_fail(&w->why, RF_ENOMEM, "out of memory: a text of %lld tokens", (long long)w->n);
        return false;
    }
    if (p->text) rf_text_free(w->t, p->text);
    p->text = text;
    const char *more = text + w->given;
    *new_text = more + (w->given == w->begin && w->blank && *more == ' ');
    return true;
}

/* Bytes of the text that no further token changes. */
static size_t settled(const writing *w)
{
    size_t size = w->size;
    while (size >= w->given + 3 && !memcmp(w->p->text + size - 3, "\xEF\xBF\xBD", 3)) size -= 3;
    return size;
}

/* What has not gone out of the first `size` bytes. */
static int give(writing *w, const char *more, size_t size)
{
    const char *end = w->p->text + size;
    w->given = size;
    return w->sink(w->user, more, more < end ? (size_t)(end - more) : 0);
}

static int take(void *user, const rf_generated *token)
{
    writing *w = user;
    const char *more;
    if (token->stops) return 0;
    w->p->logprob[token->index] = token->logprob;
    w->p->id[w->n++] = token->id;
    if (!w->sink) return 0;
    if (!decode(w, &more)) return 1;
    return give(w, more, settled(w));
}

/* [CLS] and the prompt's tokens, with capacity for what comes. */
static rf_status read_prompt(writing *w, const char *prompt, size_t bytes, int64_t most, rf_error *why)
{
    rf_pipeline *p = w->p;
    rf_encoding *e = &p->window.e;
    const rf_status status = rf_encode(w->t, prompt, bytes, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    const char *more;
    if (status) return status;
    p->window.n = 0;
    rf__free(p->ctx, p->id);
    rf__free(p->ctx, p->logprob);
    p->id = rf__calloc(p->ctx, e->n + 1 + (size_t)most, sizeof *p->id);
    p->logprob = rf__calloc(p->ctx, (size_t)most + 1, sizeof *p->logprob);
    if (!p->id || !p->logprob) return rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens", e->n + 1 + (size_t)most);
    p->id[0] = rf_tokenizer_cls(w->t);
    if (e->n) memcpy(p->id + 1, e->id, e->n * sizeof *p->id);
    w->n = w->prompt = (int64_t)e->n + 1;
    if (!decode(w, &more)) return rf_fail(why, w->why.code, "%s", w->why.text);
    w->begin = w->given = w->size;
    w->blank = bytes && is_blank(prompt[bytes - 1]) && !(w->size && is_blank(p->text[w->size - 1]));
    return RF_OK;
}

rf_status rf_generate(rf_pipeline *p, const char *prompt, size_t bytes, const rf_generate_options *options,
                      rf_text_sink *sink, void *user, rf_generation *out, rf_error *why)
{
    rf_generate_options o;
    rf_generate_end end;
    const char *text;
    rf_status status = rf__pipeline_check(p, prompt, 1, why);
    if (status) return status;
    rf_generate_defaults(&o);
    status = rf__generate_options_read(&o, options, why);
    if (!status) status = rf__generate_check(&o, why);
    if (status) return status;
    writing w = {.p = p, .t = rf_model_tokenizer(p->model), .sink = sink, .user = user};
    const int32_t stop = rf_tokenizer_sep(w.t);
    const int32_t never[SPECIALS] = {rf_tokenizer_pad(w.t), rf_tokenizer_unk(w.t), rf_tokenizer_cls(w.t),
                                     rf_tokenizer_mask(w.t)};
    if (!o.stops) o.stop = &stop, o.stops = 1;
    if (!o.suppressed) o.suppress = never, o.suppressed = SPECIALS;
    status = read_prompt(&w, prompt, bytes == RF_STRING ? strlen(prompt) : bytes, o.max_new_tokens, why);
    if (!status) status = rf_session_generate(p->session, p->id, w.n, &o, take, &w, &end, why);
    if (!status && w.why.code) status = rf_fail(why, w.why.code, "%s", w.why.text);
    if (!status && sink && end != RF_GENERATE_SINK && w.given < w.size) {
        if (!decode(&w, &text)) return rf_fail(why, w.why.code, "%s", w.why.text);
        if (give(&w, text, w.size)) end = RF_GENERATE_SINK;
    }
    if (status || !out) return status;
    w.given = w.begin;
    if (!decode(&w, &text)) return rf_fail(why, w.why.code, "%s", w.why.text);
    *out = (rf_generation){.text = text,
                           .bytes = (size_t)(p->text + w.size - text),
                           .end = end,
                           .prompt_tokens = w.prompt,
                           .n = w.n - w.prompt,
                           .id = p->id + w.prompt,
                           .logprob = p->logprob};
    return RF_OK;
}
