/* notes.c — new tokens of texts with their log-probabilities, in the forms of OpenAI. */
#include "serve/api/writing.h"

/* Its text as bytes: of a special token its name; of another one, what it adds to the text of the token before it. */
static void put_raw(srv_text *t, const writing *x, const item *y, int64_t i, int32_t id)
{
    const rf_tokenizer *tokenizer = x->call.r->model->tokenizer;
    const int32_t before = i ? y->note[i - 1].id : y->last, both[2] = {before, id};
    const char *name = rf_tokenizer_token(tokenizer, id);
    size_t n = 0, m = 0;
    if (name && rf_tokenizer_is_special(tokenizer, id)) {
        srv_puts(t, name);
        return;
    }
    char *one = before < 0 ? NULL : rf_decode(tokenizer, both, 1, 1, 0, &n);
    char *two = before < 0 ? NULL : rf_decode(tokenizer, both, 2, 1, 0, &m), *alone = NULL;
    if (!one || !two || m < n || memcmp(one, two, n)) {
        n = 0;
        alone = rf_decode(tokenizer, &id, 1, 1, 0, &m);
    }
    const char *text = alone ? alone : two;
    if (text) srv_put(t, text + n, m - n);
    else t->failed = true;
    rf_text_free(tokenizer, one);
    rf_text_free(tokenizer, two);
    rf_text_free(tokenizer, alone);
}

void srv_put_token_text(srv_text *t, const writing *x, const item *y, int64_t i, int32_t id)
{
    srv_text raw = {0};
    put_raw(&raw, x, y, i, id);
    srv_put_string(t, raw.at ? raw.at : "", raw.n);
    t->failed |= raw.failed;
    srv_text_clear(&raw);
}

/* A log-probability; JSON has no infinity. */
void srv_put_logprob(srv_text *t, double x) { srv_put_float(t, x > -9999 ? (float)x : -9999); }

static size_t begin_of(const item *y, int64_t i) { return i ? y->note[i - 1].to : 0; }

/* The tokens from y->shown on that belong to the first `end` bytes: up to the one whose number is returned. */
static int64_t known_to(const item *y, size_t end)
{
    int64_t i = y->shown;
    while (i < y->notes && !y->note[i].stops && (begin_of(y, i) < end || y->note[i].to <= end)) i++;
    return i;
}

/* Begins the member; false: no tokens are shown, and it is null. */
static bool begin_logprobs(srv_text *t, const writing *x, const char *first)
{
    srv_puts(t, ",\"logprobs\":");
    srv_puts(t, x->tops < 0 ? "null" : first);
    return x->tops >= 0;
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

/* The most likely tokens, and the chosen one if it is not among them. A text that several tokens have, as parts of
 * characters do, is there once, for the likeliest. */
static void put_top(srv_text *t, const writing *x, const item *y, int64_t i)
{
    const rf_token_logprob *top = y->top + i * x->tops, chosen = {y->note[i].id, y->note[i].logprob};
    srv_text text[SRV_TOPS + 1] = {0};
    int64_t n = 0;
    srv_puts(t, "{");
    for (int64_t k = 0; k <= x->tops; k++) {
        const rf_token_logprob *one = k < x->tops ? &top[k] : &chosen;
        if (one->id < 0) continue;
        srv_put_token_text(&text[n], x, y, i, one->id);
        int64_t old = 0;
        while (old < n && (text[old].n != text[n].n || memcmp(text[old].at, text[n].at, text[n].n))) old++;
        t->failed |= text[n].failed;
        if (old < n) srv_text_clear(&text[n]);
        else {
            if (n) srv_puts(t, ",");
            srv_put(t, text[n].at ? text[n].at : "", text[n].n);
            srv_puts(t, ":");
            srv_put_logprob(t, one->logprob);
            n++;
        }
    }
    while (n) srv_text_clear(&text[--n]);
    srv_puts(t, "}");
}

/* Where the tokens of the text begin, in characters; special tokens of the prompt are no part of it. */
static void put_offsets(srv_text *t, const writing *x, const item *y, int64_t to)
{
    const rf_tokenizer *tokenizer = x->call.r->model->tokenizer;
    const int64_t before = x->with_prompt ? srv_length(y->prompt, y->bytes) : 0;
    int64_t at = 0;
    for (int64_t i = y->shown; i < to; i++) {
        srv_text raw = {0};
        if (i < y->heard && !rf_tokenizer_is_special(tokenizer, y->note[i].id)) put_raw(&raw, x, y, i, y->note[i].id);
        if (i >= y->heard) at = before + srv_length(y->text.at, begin_of(y, i));
        srv_printf(t, "%s%lld", i > y->shown ? "," : "", (long long)at);
        at += srv_length(raw.at, raw.n);
        t->failed |= raw.failed;
        srv_text_clear(&raw);
    }
}

/* Whether token i has nothing before it. */
static bool is_first(const item *y, int64_t i) { return !i && y->heard; }

void srv_put_logprobs(srv_text *t, const writing *x, item *y, size_t end)
{
    const int64_t to = known_to(y, end);
    if (!begin_logprobs(t, x, "{\"tokens\":[")) return;
    for (int64_t i = y->shown; i < to; i++) {
        if (i > y->shown) srv_puts(t, ",");
        srv_put_token_text(t, x, y, i, y->note[i].id);
    }
    srv_puts(t, "],\"token_logprobs\":[");
    for (int64_t i = y->shown; i < to; i++) {
        if (i > y->shown) srv_puts(t, ",");
        if (is_first(y, i)) srv_puts(t, "null");
        else srv_put_logprob(t, y->note[i].logprob);
    }
    srv_puts(t, "],\"top_logprobs\":[");
    for (int64_t i = y->shown; i < to; i++) {
        if (i > y->shown) srv_puts(t, ",");
        if (is_first(y, i)) srv_puts(t, "null");
        else put_top(t, x, y, i);
    }
    srv_puts(t, "],\"text_offset\":[");
    put_offsets(t, x, y, to);
    srv_puts(t, "]}");
    y->shown = to;
}

/* ---- chats ------------------------------------------------------------------------------------------------------- */

/* "token", "logprob" and "bytes", which is null for a part of a character. */
static void put_members(srv_text *t, const writing *x, const item *y, int64_t i, int32_t id, double logprob)
{
    srv_text text = {0};
    srv_put_token_text(&text, x, y, i, id);
    srv_puts(t, "{\"token\":");
    srv_put(t, text.n ? text.at : "\"\"", text.n ? text.n : 2);
    srv_puts(t, ",\"logprob\":");
    srv_put_logprob(t, logprob);
    srv_puts(t, ",\"bytes\":");
    json_t *v = text.failed ? NULL : json_loadb(text.at, text.n, JSON_DECODE_ANY, NULL);
    const char *s = json_string_value(v);
    const size_t n = s ? json_string_length(v) : 0;
    if (s && strstr(s, "\xEF\xBF\xBD")) srv_puts(t, "null");
    else {
        for (size_t k = 0; k < n; k++) srv_printf(t, "%s%d", k ? "," : "[", (unsigned char)s[k]);
        srv_puts(t, n ? "]" : "[]");
    }
    t->failed |= !v;
    json_decref(v);
    srv_text_clear(&text);
}

void srv_put_chat_logprobs(srv_text *t, const writing *x, item *y, size_t end)
{
    const int64_t to = known_to(y, end);
    if (!begin_logprobs(t, x, "{\"content\":[")) return;
    for (int64_t i = y->shown; i < to; i++) {
        if (i > y->shown) srv_puts(t, ",");
        put_members(t, x, y, i, y->note[i].id, y->note[i].logprob);
        srv_puts(t, ",\"top_logprobs\":[");
        for (int64_t k = 0; k < x->tops && y->top[i * x->tops + k].id >= 0; k++) {
            if (k) srv_puts(t, ",");
            put_members(t, x, y, i, y->top[i * x->tops + k].id, y->top[i * x->tops + k].logprob);
            srv_puts(t, "}");
        }
        srv_puts(t, "]}");
    }
    srv_puts(t, "],\"refusal\":null}");
    y->shown = to;
}
