/* vocab.c — the vocabulary: lines, look-up, and greedy longest match.
 *
 * A word's prefixes are hashed once, h[i+1] = h[i] B + byte + 1 (mod p), so that the hash of any part is h[j] - h[i]
 * B^(j-i): a longest match costs one probe for each length and no pass over the bytes.
 *
 * p = 2^61 - 1 is prime and B is drawn at random for each vocabulary: two tokens of n bytes collide for at most n of
 * the p values of B, even if an attacker chose them.  (Modulo 2^64, Thue-Morse words collide for every B.)  No result
 * depends on B. */
#include "wordpiece.h"

enum {
    LONGEST_WORD = 1 << 16,             /* tokens with more bytes are kept but never matched                          */
    MOST_BYTES = 1 << 30,               /* maximum of a vocabulary                                                    */
    MOST_LINES = 1 << 28
};
static const uint64_t PRIME = ((uint64_t)1 << 61) - 1;
__extension__ typedef unsigned __int128 wide;

/* h B + c (mod p), for arguments below p. */
static inline uint64_t step(uint64_t h, uint64_t base, uint64_t c)
{
    const wide x = (wide)h * base + c;
    const uint64_t r = ((uint64_t)x & PRIME) + (uint64_t)(x >> 61);
    return r >= PRIME ? r - PRIME : r;
}

/* The hash of the bytes between two prefixes; `power` is B^(bytes between). */
static inline uint64_t between(uint64_t first, uint64_t second, uint64_t power)
{
    const uint64_t x = step(first, power, 0);
    return second >= x ? second - x : second + PRIME - x;
}

static inline uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93;
    return h ^ h >> 32;
}

static uint64_t hash_of(const rf_vocab *v, const char *text, size_t size)
{
    uint64_t h = 0;
    for (size_t i = 0; i < size; i++) h = step(h, v->base, (unsigned char)text[i] + 1u);
    return h;
}

/* The id under `hash` whose token, from byte `skip` on, is `text`; -1 if there is none. */
static inline int32_t find(const rf_vocab *v, const rf_slots *s, uint64_t hash, const char *text, size_t size,
                           size_t skip)
{
    const uint64_t m = mix(hash);
    const uint32_t tag = (uint32_t)(m >> 32);
    for (size_t i = (size_t)m & s->mask;; i = (i + 1) & s->mask) {
        const rf_slot slot = s->at[i];
        if (slot.id < 0) return -1;
        if (slot.tag == tag && rf__vocab_token_size(v, slot.id) == size + skip &&
            !memcmp(rf__vocab_token(v, slot.id) + skip, text, size))
            return slot.id;
    }
}

static bool slots_init(rf_slots *s, const rf_ctx *ctx, size_t items)
{
    size_t size = 16;
    while (size < 2 * items) size *= 2;
    s->at = rf__alloc(ctx, size * sizeof *s->at);
    if (!s->at) return false;
    s->mask = size - 1;
    s->longest = 0;
    for (size_t i = 0; i < size; i++) s->at[i] = (rf_slot){0, -1};
    return true;
}

/* Later ids replace earlier ones. */
static void insert_token(rf_vocab *v, rf_slots *s, int32_t id, size_t skip)
{
    const char *text = rf__vocab_token(v, id) + skip;
    const size_t size = rf__vocab_token_size(v, id) - skip;
    const uint64_t m = mix(hash_of(v, text, size));
    const uint32_t tag = (uint32_t)(m >> 32);
    size_t i = (size_t)m & s->mask;
    for (; s->at[i].id >= 0; i = (i + 1) & s->mask) {
        const int32_t old = s->at[i].id;
        if (s->at[i].tag == tag && rf__vocab_token_size(v, old) == size + skip &&
            !memcmp(rf__vocab_token(v, old) + skip, text, size)) {
            v->hidden[old] = RF_HIDDEN;
            break;
        }
    }
    s->at[i] = (rf_slot){tag, id};
    if (size > s->longest && size <= LONGEST_WORD) s->longest = size;
}

static bool continues(const rf_vocab *v, int32_t id)
{
    const char *t = rf__vocab_token(v, id);
    return rf__vocab_token_size(v, id) > 2 && t[0] == '#' && t[1] == '#';
}

rf_status rf__vocab_init(rf_vocab *v, const rf_ctx *ctx, char *text, size_t size, uint32_t *begin, uint8_t *hidden,
                         int32_t n, rf_error *why)
{
    *v = (rf_vocab){.ctx = ctx, .text = text, .size = size, .begin = begin, .hidden = hidden, .n = n};
    const double now = rf__seconds();
    v->base = rf__hash64(&now, sizeof now, (uint64_t)(uintptr_t)text) % (PRIME - 1024) + 1024;
    size_t tails = 0, most = 0;
    for (int32_t i = 0; i < n; i++) tails += continues(v, i);
    if (!slots_init(&v->whole, ctx, (size_t)n) || !slots_init(&v->tail, ctx, tails)) goto full;
    for (int32_t i = 0; i < n; i++) {
        if (v->hidden[i]) continue;
        insert_token(v, &v->whole, i, 0);
        if (continues(v, i)) insert_token(v, &v->tail, i, 2);
    }
    most = v->whole.longest > v->tail.longest ? v->whole.longest : v->tail.longest;
    v->power = rf__alloc(ctx, (most + 1) * sizeof *v->power);
    if (!v->power) goto full;
    v->power[0] = 1;
    for (size_t i = 0; i < most; i++) v->power[i + 1] = step(v->power[i], v->base, 0);
    return RF_OK;
full:
    rf__vocab_clear(v);
    return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %d tokens", (int)n);
}

void rf__vocab_clear(rf_vocab *v)
{
    rf__free(v->ctx, v->text);
    rf__free(v->ctx, v->begin);
    rf__free(v->ctx, v->hidden);
    rf__free(v->ctx, v->whole.at);
    rf__free(v->ctx, v->tail.at);
    rf__free(v->ctx, v->power);
    *v = (rf_vocab){.ctx = v->ctx};
}

int32_t rf__vocab_find(const rf_vocab *v, const char *text, size_t size)
{
    return find(v, &v->whole, hash_of(v, text, size), text, size, 0);
}

size_t rf__vocab_pieces(const rf_vocab *v, const char *word, size_t size, uint64_t *hash, int32_t *id, uint32_t *end)
{
    hash[0] = 0;
    for (size_t i = 0; i < size; i++) hash[i + 1] = step(hash[i], v->base, (unsigned char)word[i] + 1u);
    size_t n = 0;
    for (size_t from = 0; from < size;) {
        const rf_slots *s = from ? &v->tail : &v->whole;
        size_t to = size - from > s->longest ? from + s->longest : size;
        int32_t found = -1;
        for (; to > from; to--) {
            if (to < size && ((unsigned char)word[to] & 0xC0) == 0x80) continue;       /* inside a character         */
            const uint64_t h = between(hash[from], hash[to], v->power[to - from]);
            found = find(v, s, h, word + from, to - from, from ? 2 : 0);
            if (found >= 0) break;
        }
        if (found < 0) return 0;
        id[n] = found;
        end[n++] = (uint32_t)to;
        from = to;
    }
    return n;
}

/* ---- vocab.txt --------------------------------------------------------------------------------------------------- */

/* The end of the line that starts at `at`, and the start of the next one: Rust ends lines only at \n, Python also at
 * \r\n and \r. */
static size_t line_end(const char *text, size_t size, size_t at, bool python, size_t *next)
{
    size_t i = at;
    while (i < size && text[i] != '\n' && !(python && text[i] == '\r')) i++;
    *next = i + 1;
    if (i + 1 < size && text[i] == '\r' && text[i + 1] == '\n') *next = i + 2;
    return i;
}

/* Rust removes white space from the end of a line. */
size_t rf__vocab_trimmed(const char *text, size_t from, size_t to)
{
    while (to > from) {
        size_t start = to - 1;
        while (start > from && ((unsigned char)text[start] & 0xC0) == 0x80) start--;
        size_t at = start;
        if (!rf__unicode_white(rf__utf8_get((const unsigned char *)text, &at))) break;
        to = start;
    }
    return to;
}

/* The number of lines of the text; 0 and a reason if it cannot be a vocabulary. */
static size_t count_lines(const char *text, size_t size, bool python, const char *name, rf_error *why)
{
    size_t lines = 0, next = 0;
    const size_t bad = rf_utf8_check(text, size);
    for (size_t at = 0; at < size; at = next, lines++) {
        line_end(text, size, at, python, &next);
        if (bad < size && next > bad)
            return rf_fail(why, RF_EDATA, "%s:%zu: byte %zu of the file is not UTF-8", name, lines + 1, bad), 0;
    }
    if (!lines) rf_fail(why, RF_EDATA, "%s: expected one token per line, got an empty file", name);
    if (size <= MOST_BYTES && lines <= MOST_LINES) return lines;
    return rf_fail(why, RF_EDATA, "%s: expected at most %d bytes in %d lines, got %zu in %zu", name, MOST_BYTES,
                   MOST_LINES, size, lines), 0;
}

/* The tokens whose ids follow the lines without gaps, in that order, and their number; of equal ids the first one
 * counts.  NULL: no memory. */
static const rf_added **that_follow(const rf_ctx *ctx, const rf_added *added, size_t n, size_t lines, size_t *follow)
{
    const rf_added **list = rf__calloc(ctx, n + 1, sizeof *list);
    for (size_t i = 0; i < n && list; i++) {
        const size_t at = (size_t)added[i].id - lines;
        if (at < n && !list[at]) list[at] = &added[i];
    }
    for (*follow = 0; list && list[*follow];) ++*follow;
    return list;
}

rf_status rf__vocab_lines(rf_vocab *v, const rf_ctx *ctx, const char *text, size_t size, const char *name,
                          rf_rules rules, const rf_added *added, size_t added_n, rf_error *why)
{
    const bool python = rules != RF_RULES_RUST;
    rf_error own = {0};
    const size_t lines = count_lines(text, size, python, name, why ? why : &own);
    if (!lines) return RF_EDATA;
    size_t follow, capacity = size + 1;
    const rf_added **list = that_follow(ctx, added, added_n, lines, &follow);
    const size_t n = lines + follow;
    for (size_t i = 0; i < follow; i++) capacity += list[i]->size + 1;
    char *copy = rf__alloc(ctx, capacity);
    uint32_t *begin = rf__alloc(ctx, (n + 1) * sizeof *begin);
    uint8_t *hidden = rf__calloc(ctx, n, 1);
    if (!list || !copy || !begin || !hidden) {
        rf__free(ctx, (void *)list);
        rf__free(ctx, copy);
        rf__free(ctx, begin);
        rf__free(ctx, hidden);
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu tokens", name, n);
    }
    size_t used = 0, line = 0;
    for (size_t at = 0, next; line < n; at = next, line++) {
        const rf_added *a = line < lines ? NULL : list[line - lines];
        const char *from = a ? a->text : text + at;
        size_t bytes = a ? a->size : line_end(text, size, at, python, &next) - at;
        if (!a && !python) bytes = rf__vocab_trimmed(text, at, at + bytes) - at;
        if (a) next = at, hidden[line] = RF_ALONE;
        begin[line] = (uint32_t)used;
        memcpy(copy + used, from, bytes);
        used += bytes;
        copy[used++] = 0;
    }
    begin[n] = (uint32_t)used;
    rf__free(ctx, (void *)list);
    return rf__vocab_init(v, ctx, copy, used, begin, hidden, (int32_t)n, why);
}
