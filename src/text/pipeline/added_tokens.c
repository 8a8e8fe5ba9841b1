/* added_tokens.c — where added tokens are: single_word, lstrip and rstrip, the tokens of a tokenizer.json that are
 * matched in normalized text (`normalized`), and trim_offsets. */
#include "classes.h"
#include "text/subword/tokenizer_json.h"

static uint32_t get(const char *text, size_t *at) { return rf__utf8_get((const unsigned char *)text, at); }

/* The character before `at`, and where it starts. */
static uint32_t get_before(const char *text, size_t at, size_t *start)
{
    for (*start = at - 1; ((unsigned char)text[*start] & 0xC0) == 0x80;) --*start;
    size_t next = *start;
    return get(text, &next);
}

bool rf__added_fits(const rf_added *a, const char *text, size_t begin, size_t end, size_t from, size_t to)
{
    size_t at;
    if (!a->single) return true;
    if (from > begin && rf__classes_of(get_before(text, from, &at)) & RF_CLASS_WORD) return false;
    return to == end || !(rf__classes_of(get(text, &to)) & RF_CLASS_WORD);
}

void rf__added_extend(const rf_added *a, const char *text, size_t low, size_t end, size_t *from, size_t *to)
{
    if (a->lstrip && *from < low) *from = low < *to ? low : *to;
    for (size_t start; a->lstrip && *from > low; *from = start)
        if (!rf__unicode_white(get_before(text, *from, &start))) break;
    for (size_t next = *to; a->rstrip && *to < end; *to = next)
        if (!rf__unicode_white(get(text, &next))) break;
}

/* ---- trim_offsets ------------------------------------------------------------------------------------------------ */

/* White space, or the character that represents a blank in byte-level BPE. */
static bool is_blank(uint32_t c) { return c == 0x120 || rf__unicode_white(c); }

/* Whether n characters precede byte `at`. */
static bool has_before(const char *text, size_t at, size_t n)
{
    for (; n && at; n--) get_before(text, at, &at);
    return !n;
}

void rf__trim_offsets(const rf_tokenizer *t, const char *text, const char *name, size_t size, bool first,
                      uint32_t *from, uint32_t *to)
{
    size_t before = 0, behind = 0, start;
    for (size_t next = 0; next < size && is_blank(get(name, &next));) before++;
    for (size_t end = size; end && is_blank(get_before(name, end, &start)); end = start) behind++;
    if (before == 1 && t->trims_first && (first || !*from)) before = 0;                 /* it was not in the text    */
    if (!has_before(text, *to, behind)) behind = 0;                        /* as tokenizers: then none is removed    */
    for (size_t next = *from; before && *from < *to; before--, *from = (uint32_t)next) get(text, &next);
    for (; behind && *to > *from; behind--, *to = (uint32_t)start) get_before(text, *to, &start);
}

/* ---- tokens in normalized text ----------------------------------------------------------------------------------- */

/* The longest added token at *at, which advances past it; NULL: none. */
static const rf_added *added_at(const hf_tokenizer *t, const char *text, size_t end, size_t *at)
{
    const rf_added *best = NULL;
    uint32_t node = 0;
    for (size_t next = *at; next < end;) {
        const int32_t i = rf__trie_step(&t->normalized, &node, get(text, &next));
        if (!node) break;
        if (i >= 0) best = &t->base.added[i], *at = next;
    }
    return best;
}

const rf_added *rf__hf_next_added(const hf_tokenizer *t, const char *text, size_t begin, size_t at, size_t end,
                                  size_t *seek, size_t *from, size_t *to)
{
    for (size_t i = *seek; i < end && t->base.normalized;) {
        *from = *to = i++;
        if (!t->opens[(unsigned char)text[*from]]) continue;
        const rf_added *a = added_at(t, text, end, to);
        if (!a) continue;
        i = *to;                                                   /* a token that does not fit is passed over       */
        if (!rf__added_fits(a, text, begin, end, *from, *to)) continue;
        *seek = *to;
        rf__added_extend(a, text, at, end, from, to);
        return a;
    }
    *from = *to = end;
    return NULL;
}
