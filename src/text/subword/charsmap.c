/* charsmap.c — reads SentencePiece's precompiled_charsmap and looks texts up in it.
 *
 * A unit of the trie is 32 bits:  label 0-7 | has a value 8 | offset is times 256: 9 | offset 10-30 | is a value 31.
 * From unit i the letter c leads to i ^ offset(i) ^ c, whose label must be c; the value of i is the unit i ^ offset(i).
 * If all offsets are in the array, every look-up is.                                                                 */
#include "charsmap.h"

#include "base/bytes.h"
#include "roformer/tokenizer.h"

enum { BLOCK = 256, KEYS = 32 };        /* units of a block; most keys that begin a text, as in the library */
static const uint32_t VALUE = UINT32_C(1) << 31, HAS_VALUE = 1u << 8;

static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The error in unit i; NULL: none. */
static const char *fault_of(const rf__charsmap *m, size_t i)
{
    const uint32_t u = m->unit[i];
    if (u & VALUE) {
        const size_t at = u & ~VALUE;
        return at >= m->texts_size || (at && m->texts[at - 1]) ? "its value is not where a text begins" : NULL;
    }
    const size_t to = i ^ offset(u);
    if ((to | (BLOCK - 1)) >= m->units) return "its offset lies outside the trie";
    if (u & HAS_VALUE && !(m->unit[to] & VALUE)) return "it has a value that is none";
    return NULL;
}

static rf_status check_texts(rf__charsmap *m, const char *where, rf_error *why)
{
    if (!m->texts_size || m->texts[m->texts_size - 1])
        return rf_fail(why, RF_EDATA, "%s: its last text has no end", where);
    for (size_t i = 0, one; i < m->texts_size; i += one + 1) {
        one = strlen(m->texts + i);
        if (one > m->longest) m->longest = one;
        if (rf_utf8_check(m->texts + i, one) != one)
            return rf_fail(why, RF_EDATA, "%s: the text at byte %zu of its texts is not UTF-8", where, i);
    }
    return RF_OK;
}

static rf_status check(rf__charsmap *m, const char *where, rf_error *why)
{
    const rf_status status = check_texts(m, where, why);
    if (status) return status;
    if (m->unit[0] & (VALUE | HAS_VALUE | 0xFF) || !offset(m->unit[0]))
        return rf_fail(why, RF_EDATA, "%s: unit 0 of its trie is no root", where);
    for (size_t i = 0; i < m->units; i++) {
        const char *fault = fault_of(m, i);
        if (fault) return rf_fail(why, RF_EDATA, "%s: unit %zu of its trie: %s", where, i, fault);
    }
    return RF_OK;
}

rf_status rf__charsmap_read(rf__charsmap *m, const rf_ctx *ctx, const void *data, size_t size, const char *where,
                            rf_error *why)
{
    const unsigned char *p = data;
    const size_t trie = size >= 4 ? rf__little32(p) : 0;
    *m = (rf__charsmap){0};
    if (!trie || trie % (4 * BLOCK) || trie >= size - 4)
        return rf_fail(why, RF_EDATA,
                       "%s: expected the size of a trie (a multiple of %d bytes), the trie and texts, got %zu bytes "
                       "with the size %zu", where, 4 * BLOCK, size, trie);
    m->units = trie / 4;
    m->texts_size = size - 4 - trie;
    m->unit = rf__alloc(ctx, trie);
    m->texts = rf__alloc(ctx, m->texts_size);
    rf_status status = RF_OK;
    if (!m->unit || !m->texts) {
        status = rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu bytes", where, size);
    } else {
        for (size_t i = 0; i < m->units; i++) m->unit[i] = rf__little32(p + 4 + 4 * i);
        memcpy(m->texts, p + 4 + trie, m->texts_size);
        status = check(m, where, why);
    }
    if (status) rf__charsmap_clear(ctx, m);
    return status;
}

void rf__charsmap_clear(const rf_ctx *ctx, rf__charsmap *m)
{
    rf__free(ctx, m->unit);
    rf__free(ctx, m->texts);
    *m = (rf__charsmap){0};
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

/* Follows one letter from unit *at, which becomes the base of its letters; false: none. */
static inline bool step(const rf__charsmap *m, size_t *at, unsigned char c, bool *value)
{
    const size_t to = *at ^ c;
    const uint32_t u = m->unit[to];
    if ((u & (VALUE | 0xFF)) != c) return false;
    *value = u & HAS_VALUE;
    *at = to ^ offset(u);
    return true;
}

static const char *text_of(const rf__charsmap *m, size_t at) { return m->texts + (m->unit[at] & ~VALUE); }

const char *rf__charsmap_shortest(const rf__charsmap *m, const char *text, size_t size)
{
    bool value;
    if (!m->units) return NULL;
    size_t at = offset(m->unit[0]);
    for (size_t i = 0; i < size && text[i] && step(m, &at, (unsigned char)text[i], &value); i++)
        if (value) return text_of(m, at);
    return NULL;
}

const char *rf__charsmap_longest(const rf__charsmap *m, const char *text, size_t size, size_t *length)
{
    const char *found = NULL;
    bool value;
    int keys = 0;
    if (!m->units) return NULL;
    size_t at = offset(m->unit[0]);
    for (size_t i = 0; i < size && keys < KEYS && step(m, &at, (unsigned char)text[i], &value); i++) {
        if (!value) continue;
        found = text_of(m, at);
        *length = i + 1;
        keys++;
    }
    return found;
}
