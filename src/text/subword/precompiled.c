/* precompiled.c — the normalizer Precompiled, SentencePiece's charsmap, by grapheme clusters: one of less than 6 bytes
 * is replaced by the shortest entry that begins it; in longer ones each character is replaced. */
#include <stdio.h>
#include <utf8proc.h>

#include "normalizer.h"

enum { CLUSTER = 6 };

/* The end of the grapheme cluster at `at`. */
static size_t cluster_end(const rf__mapped *in, size_t at)
{
    utf8proc_int32_t state = 0;
    uint32_t c = rf__mapped_next(in, &at);
    for (size_t next = at; at < in->n; at = next) {
        const uint32_t d = rf__mapped_next(in, &next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)d, &state)) return at;
        c = d;
    }
    return at;
}

/* A text of the charsmap in place of [at, end): each character is aligned with the one in its place, additional ones
 * with the last. */
static bool put_mapped(const char *text, const rf__mapped *in, size_t at, size_t end, rf__mapped *out)
{
    for (size_t next = at, size; *text; text += size) {
        size = 1;
        while ((text[size] & 0xC0) == 0x80) size++;
        if (next < end) {
            at = next;
            rf__mapped_next(in, &next);
        }
        if (!rf__mapped_append(out, text, size, in->from[at], in->to[at])) return false;
    }
    return true;
}

bool rf__normal_precompiled(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                            rf_error *why)
{
    (void)n, (void)why;
    for (size_t at = 0, end; at < in->n; at = end) {
        end = cluster_end(in, at);
        const char *whole = end - at < CLUSTER ? rf__charsmap_shortest(&s->charsmap, in->at + at, end - at) : NULL;
        if (whole) {
            if (!put_mapped(whole, in, at, end, out)) return false;
            continue;
        }
        for (size_t c = at, next = at; c < end; c = next) {
            rf__mapped_next(in, &next);
            const char *one = rf__charsmap_shortest(&s->charsmap, in->at + c, next - c);
            if (one ? !put_mapped(one, in, c, next, out) : !rf__mapped_copy(out, in, c, next)) return false;
        }
    }
    return true;
}

static int sextet(char c)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(all, c) : NULL;
    return p ? (int)(p - all) : -1;
}

/* Length of the decoded base 64 in `text`; to[] has space for three quarters of it; -1: invalid. */
static int64_t from_base64(const char *text, size_t size, unsigned char *to)
{
    size_t n = 0;
    if (size % 4) return -1;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t x = 0;
        const size_t fill = i + 4 < size ? 0 : (size_t)(text[i + 3] == '=') + (text[i + 2] == '=');
        for (size_t k = 0; k < 4; k++) {
            const int d = k >= 4 - fill ? 0 : sextet(text[i + k]);
            if (d < 0) return -1;
            x = x << 6 | (uint32_t)d;
        }
        for (size_t k = 0; k < 3 - fill; k++) to[n++] = (unsigned char)(x >> (16 - 8 * k));
    }
    return (int64_t)n;
}

rf_status rf__normal_read_charsmap(rf__charsmap *map, const rf_ctx *ctx, const json_t *x, const char *path,
                                   rf_error *why)
{
    const char *text = json_string_value(x);
    const size_t size = json_string_length(x);
    char where[RF_PATH + 64];
    rf_status status = RF_OK;
    snprintf(where, sizeof where, "%s: normalizer: precompiled_charsmap", path);
    unsigned char *data = text ? rf__alloc(ctx, size + 4) : NULL;
    if (text && !data) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    const int64_t bytes = text ? from_base64(text, size, data) : -1;
    if (bytes < 0) status = rf_fail(why, RF_EDATA, "%s: expected base 64, got other characters", where);
    if (!status) status = rf__charsmap_read(map, ctx, data, (size_t)bytes, where, why);
    rf__free(ctx, data);
    return status;
}
