/* conversation.c — reads the chat templates that only place messages; conversation.h has the equation.
 *
 *     {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
 *     {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("...") }}
 *
 * Between such expressions is text, which stays as it is, except for white space next to {{- and -}} and one line end
 * at the end of the template, as in Jinja. */
#include <ctype.h>
#include <stdio.h>

#include "text/conversation.h"

enum { PARTS = 16, WORDS = 0, QUERY, DOCUMENT, SYSTEM };
typedef struct part { int kind; const char *at; size_t n; } part;

struct rf_conversation {
    char *name, *text;
    part part[PARTS];
    int parts;                          /* 0: pairs are refused */
    char *instruction;                  /* for SYSTEM; NULL: the default of its expression, which is in the part */
};

typedef struct reader { const char *at, *end; } reader;

static void skip_blanks(reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++;
}

/* Skips a name or a sign. */
static bool take(reader *r, const char *what)
{
    const size_t n = strlen(what);
    skip_blanks(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, what, n)) return false;
    r->at += n;
    return true;
}

/* A string without escapes, in either kind of quotes. */
static bool take_string(reader *r, const char **s, size_t *n)
{
    skip_blanks(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\'')) return false;
    const char *close = memchr(r->at + 1, *r->at, (size_t)(r->end - r->at - 1));
    if (!close || memchr(r->at, '\\', (size_t)(close - r->at))) return false;
    *s = r->at + 1;
    *n = (size_t)(close - *s);
    r->at = close + 1;
    return true;
}

static bool is(const char *s, size_t n, const char *what) { return strlen(what) == n && !memcmp(s, what, n); }

/* The expression of one message; its default is empty if it has none. */
static bool read_expression(reader r, part *out)
{
    const char *s;
    size_t n;
    *out = (part){WORDS, "", 0};
    if (!take(&r, "messages") || !take(&r, "|") || !take(&r, "selectattr") || !take(&r, "(") ||
        !take_string(&r, &s, &n) || !is(s, n, "role") || !take(&r, ",") || !take_string(&r, &s, &n) ||
        !(is(s, n, "eq") || is(s, n, "equalto") || is(s, n, "==")) || !take(&r, ",") || !take_string(&r, &s, &n))
        return false;
    out->kind = is(s, n, "query") ? QUERY : is(s, n, "document") ? DOCUMENT : is(s, n, "system") ? SYSTEM : WORDS;
    if (!out->kind || !take(&r, ")") || !take(&r, "|") || !take(&r, "map") || !take(&r, "(") ||
        !take(&r, "attribute") || !take(&r, "=") || !take_string(&r, &s, &n) || !is(s, n, "content") ||
        !take(&r, ")") || !take(&r, "|") || !take(&r, "first"))
        return false;
    if (take(&r, "|") && !(take(&r, "default") && take(&r, "(") && take_string(&r, &out->at, &out->n) && take(&r, ")")))
        return false;
    skip_blanks(&r);
    return r.at == r.end;
}

static const char *find(const char *at, const char *end, const char *what)
{
    return rf__find(at, (size_t)(end - at), what, strlen(what));
}

/* The next {{, {% or {#; `end` if there is none. */
static const char *next_mark(const char *at, const char *end)
{
    for (; at + 1 < end; at++)
        if (*at == '{' && (at[1] == '{' || at[1] == '%' || at[1] == '#')) return at;
    return end;
}

/* False: the template has something else than messages and words, or too many of them. */
static bool read_parts(rf_conversation *c, size_t size)
{
    const char *at = c->text, *end = at + size;
    int seen[4] = {0};
    if (at < end && end[-1] == '\n') end--;
    for (;;) {
        const char *mark = next_mark(at, end), *to = mark;
        const bool trims = mark + 2 < end && mark[2] == '-';
        if (c->parts + 2 > PARTS || (mark < end && mark[1] != '{')) return false;
        while (trims && to > at && isspace((unsigned char)to[-1])) to--;
        c->part[c->parts++] = (part){WORDS, at, (size_t)(to - at)};
        if (mark == end) return seen[QUERY] == 1 && seen[DOCUMENT] == 1;
        const char *close = find(mark, end, "}}");
        if (!close) return false;
        const bool after = close[-1] == '-';
        const reader r = {mark + (trims ? 3 : 2), close - after};
        if (!read_expression(r, &c->part[c->parts])) return false;
        seen[c->part[c->parts++].kind]++;
        at = close + 2;
        while (after && at < end && isspace((unsigned char)*at)) at++;
    }
}

/* Whether the template names a role, as a string. */
static bool names(const char *text, size_t size, const char *role)
{
    char quoted[2][16];
    snprintf(quoted[0], sizeof quoted[0], "\"%s\"", role);
    snprintf(quoted[1], sizeof quoted[1], "'%s'", role);
    return find(text, text + size, quoted[0]) || find(text, text + size, quoted[1]);
}

rf_status rf__conversation_new(const rf_ctx *ctx, const char *name, const char *text, size_t size,
                               const char *instruction, rf_conversation **out, rf_error *why)
{
    *out = NULL;
    if (!names(text, size, "query") || !names(text, size, "document")) return RF_OK;
    rf_conversation *c = rf__calloc(ctx, 1, sizeof *c);
    if (c) {
        c->text = rf__alloc(ctx, size + 1);
        c->name = rf__strdup(ctx, name);
        c->instruction = instruction ? rf__strdup(ctx, instruction) : NULL;
    }
    if (!c || !c->text || !c->name || (instruction && !c->instruction)) {
        rf__conversation_free(ctx, c);
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for its chat template", name);
    }
    memcpy(c->text, text, size);
    c->text[size] = 0;
    if (!read_parts(c, size)) c->parts = 0;
    *out = c;
    return RF_OK;
}

void rf__conversation_free(const rf_ctx *ctx, rf_conversation *c)
{
    if (!c) return;
    rf__free(ctx, c->text);
    rf__free(ctx, c->name);
    rf__free(ctx, c->instruction);
    rf__free(ctx, c);
}

rf_status rf__conversation_text(const rf_ctx *ctx, const rf_conversation *c, const char *query, size_t query_size,
                                const char *document, size_t document_size, char **text, size_t *size, size_t *end,
                                rf_error *why)
{
    part p[PARTS];
    size_t n = 0;
    if (!c->parts)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: chat template: expected one that places a query and a document with "
                       "messages | selectattr(\"role\", \"eq\", ROLE) | map(attribute=\"content\") | first alone, got "
                       "another one", c->name);
    for (int i = 0; i < c->parts; i++) {
        p[i] = c->part[i];
        if (p[i].kind == QUERY) p[i] = (part){QUERY, query, query_size};
        if (p[i].kind == DOCUMENT) p[i] = (part){DOCUMENT, document, document_size};
        if (p[i].kind == SYSTEM && c->instruction) p[i] = (part){SYSTEM, c->instruction, strlen(c->instruction)};
        if (!rf__checked_add(n, p[i].n, &n)) return rf_fail(why, RF_ERANGE, "encode: expected shorter texts");
    }
    if (!(*text = rf__alloc(ctx, n + 1))) return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of a pair", n);
    *size = 0;
    for (int i = 0; i < c->parts; i++) {
        if (p[i].n) memcpy(*text + *size, p[i].at, p[i].n);
        *size += p[i].n;
    }
    *end = p[c->parts - 1].n;
    return RF_OK;
}
