/* reader.c — see reader.h. */
#include <stdio.h>
#include <stdlib.h>

#include "text/template/reader.h"

static int line_of(rf__tags *p)
{
    while (p->counted < p->at) p->line += *p->counted++ == '\n';
    while (p->counted > p->at) p->line -= *--p->counted == '\n';
    return p->line;
}

void *rf__tags_wrong(rf__tags *p, rf_status status, const char *what)
{
    if (p->why->code) return NULL;
    char near[24];
    snprintf(near, sizeof near, "%.*s", (int)(p->end - p->at < 20 ? p->end - p->at : 20), p->at);
    rf_fail(p->why, status, "%s: line %d: %s, got \"%s\"", p->t->name, line_of(p), what, rf__printable(near).text);
    return NULL;
}

void *rf__tags_no_memory(rf__tags *p)
{
    rf_fail(p->why, RF_ENOMEM, "%s: out of memory for a template", p->t->name);
    return NULL;
}

rf__phrase *rf__tags_node(rf__tags *p, rf__phrase_kind kind, const char *name, rf__phrase *a, rf__phrase *b)
{
    const size_t size = name ? strlen(name) + 1 : 0;
    if (p->why->code) return NULL;
    rf__phrase *x = rf__arena_push(&p->t->arena, sizeof *x + size);
    if (!x) return rf__tags_no_memory(p);
    *x = (rf__phrase){.kind = kind, .line = line_of(p), .a = a, .b = b};
    if (name) x->name = memcpy(x + 1, name, size);
    return x;
}

rf__phrase *rf__tags_constant(rf__tags *p, rf__phrase_kind kind, json_t *value)
{
    rf__phrase *x = rf__tags_node(p, kind, NULL, NULL, NULL);
    if (!value || json_array_append_new(p->t->constants, value)) return rf__tags_no_memory(p);
    if (x) x->value = value;
    return x;
}

void *rf__tags_enter(rf__tags *p)
{
    if (++p->depth > DEPTH) return rf__tags_wrong(p, RF_ERANGE, "expected fewer parts in each other");
    return p;
}

/* ---- signs and words --------------------------------------------------------------------------------------------- */

void rf__tags_skip(rf__tags *p)
{
    while (p->at < p->end && rf__tags_is_space(*p->at)) p->at++;
}

bool rf__tags_begins(const rf__tags *p, const char *what)
{
    const size_t n = strlen(what);
    return (size_t)(p->end - p->at) >= n && !memcmp(p->at, what, n);
}

/* The end of a tag is no sign. */
bool rf__tags_closes(const rf__tags *p)
{
    static const char *const end[] = {"%}", "-%}", "+%}", "-}}"};
    for (size_t i = 0; i < RF_COUNT(end); i++)
        if (rf__tags_begins(p, end[i])) return true;
    return false;
}

bool rf__tags_sign(rf__tags *p, const char *what)
{
    rf__tags_skip(p);
    if (!rf__tags_begins(p, what) || rf__tags_closes(p)) return false;
    p->at += strlen(what);
    return true;
}

bool rf__tags_peek(rf__tags *p, char out[NAME])
{
    size_t n = 0;
    rf__tags_skip(p);
    for (; p->at + n < p->end && n < NAME - 1; n++) {
        if (!rf__tags_is_letter(p->at[n]) && !(n && rf__tags_is_digit(p->at[n]))) break;
        out[n] = p->at[n];
    }
    out[n] = 0;
    return n > 0;
}

bool rf__tags_word(rf__tags *p, const char *what)
{
    char own[NAME];
    if (!rf__tags_peek(p, own) || strcmp(own, what)) return false;
    p->at += strlen(what);
    return true;
}

bool rf__tags_name(rf__tags *p, char out[NAME])
{
    if (!rf__tags_peek(p, out)) return rf__tags_wrong(p, RF_EDATA, "expected a name"), false;
    p->at += strlen(out);
    return true;
}

bool rf__tags_need(rf__tags *p, const char *what)
{
    char message[48];
    if (rf__tags_sign(p, what)) return true;
    snprintf(message, sizeof message, "expected %s", what);
    return rf__tags_wrong(p, RF_EDATA, message), false;
}

/* ---- literals ---------------------------------------------------------------------------------------------------- */

static size_t put_character(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    const size_t n = c < 0x10000 ? 3 : 4;
    out[0] = (char)((n == 3 ? 0xE0 : 0xF0) | c >> 6 * (n - 1));
    for (size_t i = 1; i < n; i++) out[i] = (char)(0x80 | ((c >> 6 * (n - 1 - i)) & 63));
    return n;
}

/* The escape at p->at, after its backslash, as in Python; returns its bytes in `out`. 0: none, or not known here. */
static size_t escape(rf__tags *p, char *out)
{
    static const char from[] = "ntrabfv\\'\"", to[] = "\n\t\r\a\b\f\v\\'\"";
    const char c = *p->at, *short_one = strchr(from, c);
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    char hex[9] = "";
    p->at++;
    if (c == '\n') return 0;
    if (c && short_one) return out[0] = to[short_one - from], 1;
    if (rf__tags_is_digit(c) || c == 'N' || (unsigned char)c >= 0x80)
        return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected another escape"), 0;
    if (!digits) return out[0] = '\\', out[1] = c, 2;
    for (int i = 0; i < digits; i++) {
        if (p->at == p->end || !strchr("0123456789abcdefABCDEF", *p->at))
            return rf__tags_wrong(p, RF_EDATA, "expected a digit"), 0;
        hex[i] = *p->at++;
    }
    const unsigned long code = strtoul(hex, NULL, 16);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return rf__tags_wrong(p, RF_EDATA, "expected a character"), 0;
    return put_character(out, (uint32_t)code);
}

/* Strings that follow each other are one. */
rf__phrase *rf__tags_string(rf__tags *p)
{
    char *text = p->string;
    size_t n = 0;
    for (; rf__tags_quote(p); rf__tags_skip(p)) {
        const char quote = *p->at++;
        while (p->at < p->end && *p->at != quote && !p->why->code) {
            if (*p->at == '\\' && p->at + 1 < p->end) p->at++, n += escape(p, text + n);
            else text[n++] = *p->at++;
        }
        if (p->at == p->end) return rf__tags_wrong(p, RF_EDATA, "expected the end of a string");
        p->at++;
    }
    return p->why->code ? NULL : rf__tags_constant(p, NODE_CONSTANT, json_stringn(text, n));
}

rf__phrase *rf__tags_number(rf__tags *p)
{
    char text[40];
    size_t n = 0;
    bool real = false;
    while (p->at < p->end && n < sizeof text - 1) {
        const char c = *p->at, next = p->at + 1 < p->end ? p->at[1] : 0;
        const bool point = !real && c == '.' && rf__tags_is_digit(next);
        if (!rf__tags_is_digit(c) && c != '_' && !point) break;
        real |= point;
        if (c != '_') text[n++] = c;
        p->at++;
    }
    text[n] = 0;
    if (n > 18 || (*text == '0' && rf__tags_is_digit(text[1])) || (p->at < p->end && rf__tags_is_letter(*p->at)))
        return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected another number");
    json_t *value = real ? json_real(strtod(text, NULL)) : json_integer(strtoll(text, NULL, 10));
    return rf__tags_constant(p, NODE_CONSTANT, value);
}
