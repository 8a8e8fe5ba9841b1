/* spm_normalizer.c — SentencePiece's normalizer.
 *
 * From left to right: a user-defined symbol is kept; otherwise the longest key of the charsmap at this position is
 * replaced; otherwise one character is kept.  Blanks become U+2581 (escape_whitespaces); consecutive blanks are merged,
 * and blanks at both ends are removed (remove_extra_whitespaces); one is added before or after the text
 * (add_dummy_prefix, treat_whitespace_as_suffix).                                                                    */
#include "spm_model.h"

size_t rf__spm_user_symbol(const rf__spm *m, const char *text, size_t size)
{
    uint32_t node = 0;
    size_t longest = 0;
    for (size_t at = 0; at < size;) {
        const int32_t id = rf__trie_step(&m->users, &node, rf__utf8_get((const unsigned char *)text, &at));
        if (!node) break;
        if (id >= 0) longest = at;
    }
    return longest;
}

/* The replacement of the beginning of a text, and the number of bytes that it replaces. */
typedef struct part { const char *text; size_t size, bytes; } part;

static inline part next_part(const rf__spm *m, const rf__spm_rules *rules, const char *text, size_t size)
{
    part p = {text, 0, 0};
    if (m && m->has_users && (p.bytes = rf__spm_user_symbol(m, text, size)) != 0) return p.size = p.bytes, p;
    const char *to = rf__charsmap_longest(&rules->map, text, size, &p.bytes);
    if (to) return (part){to, strlen(to), p.bytes};
    p.bytes = 0;
    rf__utf8_get((const unsigned char *)text, &p.bytes);
    p.size = p.bytes;
    return p;
}

/* Space for `more` further bytes. */
static bool reserve(const rf_ctx *ctx, rf__spm_text *t, size_t more)
{
    const size_t need = t->n + more + 1;
    return (need <= t->capacity && need <= t->from_capacity) ||
           (rf__grow(ctx, &t->at, &t->capacity, need, 1) &&
            rf__grow(ctx, &t->from, &t->from_capacity, need, sizeof *t->from));
}

static inline void put_byte(rf__spm_text *t, char c, uint32_t from)
{
    t->at[t->n] = c;
    t->from[t->n++] = from;
}

static inline void put_blank(const rf__spm_rules *rules, rf__spm_text *t, uint32_t from)
{
    if (!rules->escape) put_byte(t, ' ', from);
    for (int i = 0; i < 3 && rules->escape; i++) put_byte(t, RF__BLANK[i], from);
}

/* A part, without leading blanks if a blank precedes it; returns whether it ends with a blank. */
static bool put_part(const rf__spm_rules *rules, rf__spm_text *t, part p, uint32_t from, bool *blank)
{
    while (*blank && p.size && *p.text == ' ') p.text++, p.size--;
    for (size_t i = 0; i < p.size; i++)
        if (p.text[i] == ' ') put_blank(rules, t, from);
        else put_byte(t, p.text[i], from);
    return p.size ? p.text[p.size - 1] == ' ' : *blank;
}

/* Removes blanks from the end; returns the byte of the raw text where they began, or `end`. */
static uint32_t trim(const rf__spm_rules *rules, rf__spm_text *t, uint32_t end)
{
    const char *blank = rules->escape ? RF__BLANK : " ";
    const size_t size = rules->escape ? 3 : 1;
    while (t->n >= size && !memcmp(t->at + t->n - size, blank, size)) {
        t->n -= size;
        end = t->from[t->n];
    }
    return end;
}

bool rf__spm_normalize(const rf__spm *m, const rf__spm_rules *rules, const char *text, size_t size, rf__spm_text *out)
{
    const bool behind = m && m->blank_behind;
    const rf_ctx *ctx = out->ctx;
    size_t at = 0;
    out->n = 0;
    if (!reserve(ctx, out, size + 3)) return false;
    while (rules->remove_extra && at < size) {
        const part p = next_part(m, rules, text + at, size - at);
        if (p.size != 1 || *p.text != ' ') break;
        at += p.bytes;
    }
    out->from[0] = (uint32_t)at;
    if (at == size) return true;
    if (rules->dummy_prefix && !behind) put_blank(rules, out, (uint32_t)at);
    for (bool blank = rules->remove_extra; at < size;) {
        const part p = next_part(m, rules, text + at, size - at);
        if (!reserve(ctx, out, 3 * p.size + 3)) return false;
        blank = put_part(rules, out, p, (uint32_t)at, &blank) && rules->remove_extra;
        at += p.bytes;
    }
    uint32_t end = (uint32_t)at;
    if (rules->remove_extra) end = trim(rules, out, end);
    if (rules->dummy_prefix && behind) put_blank(rules, out, end);
    out->from[out->n] = end;
    return true;
}
