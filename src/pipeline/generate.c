/* generate.c — continue prompts with a causal model.
 *
 *     [CLS] prompt | token token ... [SEP]
 *
 * Text is passed on as soon as a token is chosen: the text of n tokens is a prefix of that of n + 1, except for a final
 * U+FFFD in place of an incomplete character, which waits for its other bytes. */
#include "decode/generation_options.h"
#include "pipeline/pipeline.h"

enum { SPECIALS = 4 };                  /* that are never chosen where the caller does not say */

typedef struct writing {
    int32_t *id;         /* [n] of the prompt, then what comes; NULL: nothing has come yet                */
    double *logprob;
    int64_t prompt, n;   /* tokens of the prompt, of all                                                 */
    char *text;          /* all of them, decoded                                                         */
    size_t size;         /* its bytes                                                                    */
    size_t capacity;
    int64_t word;        /* a token that begins what is decoded anew with each further one,              */
    size_t from;         /* and the byte where it begins                                                 */
    size_t begin, given; /* bytes of the decoded prompt; of all that went out                            */
    bool blank;          /* the prompt ends with one: decoding's own is left out                         */
    bool stopped;        /* by a string, which ends the text                                             */
} writing;

typedef struct asked {
    rf_prompt prompt;           /* its ids are freed when the call ends */
    rf_error own;               /* failure of the prompt itself */
    bool blank;                 /* it ends with one */
} asked;

typedef struct writer {
    rf_pipeline *p;
    const rf_tokenizer *t;
    const rf_generate_options *o;
    rf_text_source *source;
    asked *prompt;              /* [prompts] */
    int64_t prompts;
    size_t capacity, texts;     /* of prompt and of `of` */
    writing *of;                /* [prompts num_return_sequences] */
    rf_texts_sink *sink;
    rf_texts_done *done;
    void *user;
    rf_error why;
} writer;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* ---- a text ---- */

static void forget(const writer *w, writing *x)
{
    rf__free(w->p->ctx, x->id);
    rf__free(w->p->ctx, x->logprob);
    rf__free(w->p->ctx, x->text);
    *x = (writing){0};
}

static bool no_memory(writer *w, int64_t tokens)
{
    rf_fail(&w->why, RF_ENOMEM, "out of memory: a text of %lld tokens", (long long)tokens);
    return false;
}

/* Whether the last token begins what no later one changes: then decoding goes on from it. */
static void begin_word(const writer *w, writing *x)
{
    const int32_t *last = &x->id[x->n - 1];
    size_t size;
    if (x->n - 1 <= x->word || rf_tokenizer_continues(w->t, *last) || rf_tokenizer_is_special(w->t, *last)) return;
    char *own = rf_decode(w->t, last, 1, 1, 0, &size);
    if (own && size && size <= x->size - x->from && !memcmp(x->text + x->size - size, own, size)) {
        x->word = x->n - 1;
        x->from = x->size - size;
    }
    if (own) rf_text_free(w->t, own);
}

/* The text of all that is there.  Its beginning stays as it is: from the last word on it is decoded, which says the
 * same as all of it would (a token that begins a word is joined to those before it by what is there already). */
static bool decode(writer *w, writing *x)
{
    size_t size;
    char *text = rf_decode(w->t, x->id + x->word, (size_t)(x->n - x->word), 1, 0, &size);
    const bool good = text && rf__grow(w->p->ctx, &x->text, &x->capacity, x->from + size + 1, 1);
    if (good) {
        memcpy(x->text + x->from, text, size + 1);
        x->size = x->from + size;
        begin_word(w, x);
    }
    if (text) rf_text_free(w->t, text);
    return good || no_memory(w, x->n);
}

/* The prompt alone, with capacity for what comes; the first that is done to a text. */
static bool begin(writer *w, int64_t number)
{
    writing *x = &w->of[number];
    const asked *from = &w->prompt[number / w->o->num_return_sequences];
    const rf_prompt *p = &from->prompt;
    if (x->id) return true;
    x->n = x->prompt = p->n;
    x->id = rf__calloc(w->p->ctx, (size_t)(p->n + w->o->max_new_tokens), sizeof *x->id);
    x->logprob = rf__calloc(w->p->ctx, (size_t)w->o->max_new_tokens + 1, sizeof *x->logprob);
    if (!x->id || !x->logprob) return no_memory(w, p->n + w->o->max_new_tokens);
    memcpy(x->id, p->id, (size_t)p->n * sizeof *x->id);
    if (!decode(w, x)) return false;
    x->begin = x->given = x->size;
    x->blank = from->blank && !(x->size && is_blank(x->text[x->size - 1]));
    return true;
}

/* The text from a byte on, without the blank that is the prompt's already. */
static const char *from_byte(const writing *x, size_t at)
{
    const char *more = x->text + at;
    return more + (at == x->begin && x->blank && *more == ' ');
}

/* Bytes of the text that no further token changes. */
static size_t settled(const writing *x)
{
    size_t size = x->size;
    while (size >= x->given + 3 && !memcmp(x->text + size - 3, "\xEF\xBF\xBD", 3)) size -= 3;
    return size;
}

/* What has not gone out of the first `size` bytes. */
static int give(writer *w, int64_t number, size_t size)
{
    writing *x = &w->of[number];
    const char *more = from_byte(x, x->given), *end = x->text + size;
    x->given = size;
    return w->sink ? w->sink(w->user, number, more, more < end ? (size_t)(end - more) : 0) : 0;
}

/* Ends the text behind the first of the strings that it has from byte `at` on; up to byte `known` it has none. */
static void find_stop(const writer *w, writing *x, size_t at, size_t known)
{
    for (size_t end = (at > known ? at : known) + 1; end <= x->size && !x->stopped; end++)
        for (int64_t i = 0; i < w->o->stop_strings; i++) {
            const size_t n = strlen(w->o->stop_string[i]);
            if (n > end - at || memcmp(x->text + end - n, w->o->stop_string[i], n)) continue;
            x->stopped = true;
            x->size = end;
            x->text[end] = 0;
            break;
        }
}

static int take(void *user, const rf_generated *token)
{
    writer *w = user;
    writing *x = &w->of[token->text];
    if (!begin(w, token->text)) return 1;
    if (token->stops) return 0;
    x->logprob[token->index] = token->logprob;
    x->id[x->n++] = token->id;
    if (!w->sink && !w->o->stop_strings) return 0;
    const size_t known = x->from;
    if (!decode(w, x)) return 1;
    if (w->o->stop_strings) find_stop(w, x, (size_t)(from_byte(x, x->begin) - x->text), known);
    return give(w, token->text, x->stopped ? x->size : settled(x)) || x->stopped;
}

/* A text has ended: what was held back goes out, and all of it is told. */
static int end_text(void *user, int64_t number, rf_generate_end end, const rf_error *why)
{
    writer *w = user;
    writing *x = &w->of[number];
    const rf_error *own = &w->prompt[number / w->o->num_return_sequences].own;
    if (own->code) why = own;
    if (w->why.code || (!why && (!begin(w, number) || (!x->stopped && !decode(w, x))))) return 1;
    if (x->stopped) end = RF_GENERATE_STOP;
    if (!why && end != RF_GENERATE_SINK && x->given < x->size && give(w, number, x->size)) end = RF_GENERATE_SINK;
    int enough = 0;
    if (why) enough = w->done(w->user, number, NULL, why);
    if (!why) {
        const char *text = from_byte(x, x->begin);
        const rf_generation g = {.text = text,
                                 .bytes = (size_t)(x->text + x->size - text),
                                 .end = end,
                                 .prompt_tokens = x->prompt,
                                 .n = x->n - x->prompt,
                                 .id = x->id + x->prompt,
                                 .logprob = x->logprob};
        enough = w->done(w->user, number, &g, NULL);
    }
    forget(w, x);
    return enough;
}

/* ---- all texts ---- */

/* [CLS] and a prompt's tokens, of RoFormer-Sim [SEP], too; what is wrong with it is kept for its end. */
static rf_status read_prompt(writer *w, const rf_text_prompt *given, asked *out, rf_error *why)
{
    rf_pipeline *p = w->p;
    rf_encoding *e = &p->window.e;
    const size_t bytes = given->bytes == RF_STRING ? strlen(given->text) : given->bytes;
    const rf_status status = rf_encode(w->t, given->text, bytes, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, &out->own);
    out->blank = bytes && is_blank(given->text[bytes - 1]);
    out->prompt.occurrence = given->occurrence;
    if (status == RF_ENOMEM) return rf_fail(why, status, "%s", out->own.text);
    if (status) return RF_OK;
    const bool sep = rf_model_config(p->model)->linear_pooler;
    int32_t *id = rf__calloc(p->ctx, e->n + 2, sizeof *id);
    if (!id) return rf_fail(why, RF_ENOMEM, "out of memory: a prompt of %zu tokens", e->n + 2);
    id[0] = rf_tokenizer_cls(w->t);
    if (e->n) memcpy(id + 1, e->id, e->n * sizeof *id);
    out->prompt.id = id;
    if (sep) id[e->n + 1] = rf_tokenizer_sep(w->t);
    out->prompt.n = (int64_t)e->n + 1 + sep;
    return RF_OK;
}

/* Space for one more prompt and its texts. */
static rf_status add_prompt(writer *w, rf_error *why)
{
    const size_t S = (size_t)w->o->num_return_sequences, n = (size_t)w->prompts;
    if (!rf__grow(w->p->ctx, &w->prompt, &w->capacity, n + 1, sizeof *w->prompt) ||
        !rf__grow(w->p->ctx, &w->of, &w->texts, (n + 1) * S, sizeof *w->of))
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu prompts", n + 1);
    w->prompt[n] = (asked){.own = {0}};
    memset(w->of + n * S, 0, S * sizeof *w->of);
    w->prompts++;
    return RF_OK;
}

/* The next prompt, as the session asks for it. */
static int next_prompt(void *user, int idle, rf_prompt *out)
{
    writer *w = user;
    rf_text_prompt given = {.bytes = RF_STRING};
    if (w->why.code || !w->source(w->user, idle, &given)) return 0;
    if (!given.text) {
        rf_fail(&w->why, RF_EARG, "prompt %lld: expected a text, got NULL", (long long)w->prompts);
        return 0;
    }
    if (add_prompt(w, &w->why) || read_prompt(w, &given, &w->prompt[w->prompts - 1], &w->why)) return 0;
    *out = w->prompt[w->prompts - 1].prompt;
    return 1;
}

static rf_status write_all(writer *w, rf_error *why)
{
    const rf_ctx *ctx = w->p->ctx;
    w->p->window.n = 0;
    rf_status status = rf_session_generate_from(w->p->session, next_prompt, w->o, take, end_text, w, why);
    if (!status && w->why.code) status = rf_fail(why, w->why.code, "%s", w->why.text);
    for (int64_t i = 0; i < w->prompts * w->o->num_return_sequences; i++) forget(w, &w->of[i]);
    for (int64_t i = 0; i < w->prompts; i++) rf__free(ctx, (void *)(uintptr_t)w->prompt[i].prompt.id);
    rf__free(ctx, w->prompt);
    rf__free(ctx, w->of);
    return status;
}

/* What is never chosen: special tokens, ids of the model that the tokenizer has no token for, and what the model's
 * files say. */
static rf_status suppress(const rf_pipeline *p, rf_generate_options *o, int32_t **list, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int32_t V = (int32_t)rf_model_config(p->model)->vocab_size;
    const int32_t special[SPECIALS] = {rf_tokenizer_pad(t), rf_tokenizer_unk(t), rf_tokenizer_cls(t),
                                       rf_tokenizer_mask(t)};
    const int64_t specials = o->special_tokens ? 0 : SPECIALS;
    int64_t n = specials + o->suppressed;
    for (int32_t id = 0; id < V; id++) n += !rf_tokenizer_token(t, id);
    *list = rf__calloc(p->ctx, (size_t)n + 1, sizeof **list);
    if (!*list) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %lld ids", (long long)n);
    memcpy(*list, special, (size_t)specials * sizeof *special);
    if (o->suppressed) memcpy(*list + specials, o->suppress, (size_t)o->suppressed * sizeof **list);
    n = specials + o->suppressed;
    for (int32_t id = 0; id < V; id++)
        if (!rf_tokenizer_token(t, id)) (*list)[n++] = id;
    o->suppress = *list;
    o->suppressed = n;
    return RF_OK;
}

/* Options that are not given are the folder's, and so are lists of tokens without any. */
static rf_status options_of(const rf_pipeline *p, const rf_generate_options *given, rf_generate_options *o,
                            rf_error *why)
{
    rf_generate_options own;
    rf_generate_model_defaults(p->model, &own);
    if (!own.stops) own.stop = &p->sep, own.stops = 1;
    *o = own;
    if (!given) return rf_generate_model_check(p->model, why);
    const rf_status status = rf__generate_options_read(o, given, why);
    if (status) return status;
    if (!o->stops) o->stop = own.stop, o->stops = own.stops;
    if (!o->suppressed) o->suppress = own.suppress, o->suppressed = own.suppressed;
    return RF_OK;
}

rf_status rf_generate_defaults_of_sized(const rf_pipeline *p, rf_generate_options *out, size_t size, rf_error *why)
{
    rf_generate_options o;
    if (!(p && out)) return rf__missing("rf_generate_defaults_of", "pipeline, out", why);
    const rf_status status = options_of(p, NULL, &o, why);
    if (!status) rf__options_init(out, size, &o, sizeof o);
    return status;
}

rf_status rf_generate_texts_from(rf_pipeline *p, rf_text_source *source, const rf_generate_options *options,
                                 rf_texts_sink *sink, rf_texts_done *done, void *user, rf_error *why)
{
    rf_generate_options o, own;
    rf_status status = rf__pipeline_check(p, NULL, 0, why);
    if (!status && !(source && done)) status = rf__missing("rf_generate_texts_from", "source, done", why);
    if (!status) status = options_of(p, options, &o, why);
    if (!status) status = rf__generate_check(&o, why);
    if (status) return status;
    writer w = {.p = p, .t = rf_model_tokenizer(p->model), .o = &o, .source = source, .sink = sink, .done = done,
                .user = user};
    for (int64_t i = 0; i < o.stop_strings; i++)
        if (!o.stop_string[i] || !*o.stop_string[i])
            return rf_fail(why, RF_EARG, "stop_strings: expected texts that are not empty, got an empty one");
    int32_t *never = NULL;
    rf_generate_model_defaults(p->model, &own);
    if (!o.suppressed || o.suppress == own.suppress) status = suppress(p, &o, &never, why);
    if (!status) status = write_all(&w, why);
    rf__free(p->ctx, never);
    return status;
}

/* ---- a list of texts ---- */

typedef struct list {
    const char *const *text;
    const size_t *bytes;
    const uint64_t *occurrence;
    int64_t n, next;
    rf_texts_sink *sink;
    rf_texts_done *done;
    void *user;
} list;

static int next_of(void *user, int idle, rf_text_prompt *out)
{
    list *l = user;
    (void)idle;
    if (l->next == l->n) return 0;
    const int64_t i = l->next++;
    *out = (rf_text_prompt){.text = l->text[i], .bytes = l->bytes ? l->bytes[i] : RF_STRING,
                            .occurrence = l->occurrence ? l->occurrence[i] : 0};
    return 1;
}

static int sink_of(void *user, int64_t text, const char *piece, size_t bytes)
{
    const list *l = user;
    return l->sink(l->user, text, piece, bytes);
}

static int done_of(void *user, int64_t text, const rf_generation *generation, const rf_error *why)
{
    const list *l = user;
    return l->done(l->user, text, generation, why);
}

rf_status rf_generate_texts(rf_pipeline *p, const char *const prompt[], const size_t bytes[],
                            const uint64_t occurrence[], int64_t n, const rf_generate_options *options,
                            rf_texts_sink *sink, rf_texts_done *done, void *user, rf_error *why)
{
    list l = {.text = prompt, .bytes = bytes, .occurrence = occurrence, .n = n, .sink = sink, .done = done,
              .user = user};
    rf_status status = rf__pipeline_check(p, prompt, n, why);
    if (!status && !done) status = rf__missing("rf_generate_texts", "done", why);
    for (int64_t i = 0; i < n && !status; i++)
        if (!prompt[i]) status = rf_fail(why, RF_EARG, "prompt %lld: expected a text, got NULL", (long long)i);
    return status ? status : rf_generate_texts_from(p, next_of, options, sink ? sink_of : NULL, done_of, &l, why);
}

/* ---- one text ---- */

typedef struct one { rf_pipeline *p; rf_text_sink *sink; void *user; const rf_generation **out; rf_error why; } one;

static int pass_on(void *user, int64_t text, const char *piece, size_t bytes)
{
    const one *x = user;
    (void)text;
    return x->sink(x->user, piece, bytes);
}

static bool copy(const rf_ctx *ctx, void *to, const void *from, size_t bytes)
{
    void *y = rf__alloc(ctx, bytes + 1);
    void **old = to;
    if (!y) return false;
    if (bytes) memcpy(y, from, bytes);
    ((char *)y)[bytes] = 0;
    rf__free(ctx, *old);
    *old = y;
    return true;
}

/* The pipeline keeps what was generated until its next call. */
static int keep(void *user, int64_t text, const rf_generation *g, const rf_error *why)
{
    one *x = user;
    rf_pipeline *p = x->p;
    const size_t n = g ? (size_t)g->n : 0;
    (void)text;
    if (why) x->why = *why;
    if (!g || !x->out) return 0;
    if (!copy(p->ctx, &p->text, g->text, g->bytes) || !copy(p->ctx, &p->id, g->id, n * sizeof *g->id) ||
        !copy(p->ctx, &p->logprob, g->logprob, n * sizeof *g->logprob)) {
        rf_fail(&x->why, RF_ENOMEM, "out of memory: a text of %zu tokens", n);
        return 0;
    }
    p->generation = *g;
    p->generation.text = p->text;
    p->generation.id = p->id;
    p->generation.logprob = p->logprob;
    *x->out = &p->generation;
    return 0;
}

rf_status rf_generate(rf_pipeline *p, const char *prompt, size_t bytes, const rf_generate_options *options,
                      rf_text_sink *sink, void *user, const rf_generation **out, rf_error *why)
{
    one x = {.p = p, .sink = sink, .user = user, .out = out};
    rf_generate_options o;
    rf_status status = rf__pipeline_check(p, prompt, 1, why);
    if (!status) status = options_of(p, options, &o, why);
    if (!status && o.num_return_sequences > 1)
        status = rf_fail(why, RF_EARG, "num_return_sequences: expected 1, got %lld; use rf_generate_texts for more",
                         (long long)o.num_return_sequences);
    if (!status) status = rf_generate_texts(p, &prompt, &bytes, NULL, 1, &o, sink ? pass_on : NULL, keep, &x, why);
    if (status) return status;
    return x.why.code ? rf_fail(why, x.why.code, "%s", x.why.text) : RF_OK;
}
