/* bytes.c — byte tokenizer: it has no unknown text and changes no text.
 *
 *     id = 0 .. 4   [PAD] [UNK] [CLS] [SEP] [MASK], with the names from the settings
 *     id = 5 + b    byte b of UTF-8
 *     id > 260      added tokens
 *
 * The offsets of a byte are those of its character, so that no answer begins within a character.  A continuation byte
 * (10xxxxxx) continues a word, so that no text is cut there and whole-word masking masks whole characters.  Ids are
 * decoded byte by byte; invalid UTF-8 becomes one U+FFFD for each maximal subpart (Unicode 3.9).                     */
#include <stdio.h>
#include <stdlib.h>

#include "tokenizer.h"

enum { BYTE = 5, BYTES = BYTE + 256 };                    /* the id of byte 0; the first id of an added token         */

typedef struct bytes {
    rf_tokenizer base;
    char name[256][8];                                    /* "A", or "<0x0A>" if it is not printable                  */
} bytes;

static const bytes *as_bytes(const rf_tokenizer *t) { return (const bytes *)(const void *)t; }

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

static bool encode(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *scratch)
{
    (void)t, (void)scratch;
    const unsigned char *text = (const unsigned char *)p->text;
    if (!rf__reserve_tokens(e, p->to - p->from)) return false;
    for (size_t at = p->from, end; at < p->to; at = end) {
        end = at;
        rf__utf8_get(text, &end);
        for (size_t i = at; i < end; i++) rf__put_token(e, BYTE + text[i], (uint32_t)at, (uint32_t)end, false);
    }
    return true;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

/* Length of the longest prefix of a character if there is no whole one. */
static size_t broken(const unsigned char *p, size_t n)
{
    const unsigned char c = p[0];
    const size_t whole = c < 0xC2 || c > 0xF4 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    size_t k = 1;
    for (; k < n && k < whole; k++) {
        unsigned char least = 0x80, most = 0xBF;
        if (k == 1 && c == 0xE0) least = 0xA0;
        if (k == 1 && c == 0xED) most = 0x9F;
        if (k == 1 && c == 0xF0) least = 0x90;
        if (k == 1 && c == 0xF4) most = 0x8F;
        if (p[k] < least || p[k] > most) break;
    }
    return k;
}

/* Converts bytes that may not be UTF-8 to text.  `to` has space for three times as many bytes, and a zero. */
static size_t make_utf8(const char *from, size_t size, char *to)
{
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        const size_t good = rf_utf8_check(from + at, size - at);
        memcpy(to + n, from + at, good);
        n += good;
        at += good;
        if (at == size) break;
        at += broken((const unsigned char *)from + at, size - at);
        n += rf__utf8_encode(0xFFFD, to + n);
    }
    to[n] = 0;
    return n;
}

static bool is_byte(int32_t id) { return id >= BYTE && id < BYTES; }

static char *decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size)
{
    size_t all = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *token = is_byte(id[i]) ? "x" : rf_tokenizer_token(t, id[i]);
        all += token ? strlen(token) : 0;
    }
    char *raw = rf__alloc(t->ctx, all + 1), *text = rf__alloc(t->ctx, 3 * all + 1);
    for (size_t i = 0; raw && i < n; i++) {
        if (is_byte(id[i])) {
            raw[used++] = (char)(id[i] - BYTE);
            continue;
        }
        const char *token = rf_tokenizer_token(t, id[i]);
        if (!token || (skip && rf_tokenizer_is_special(t, id[i]))) continue;
        memcpy(raw + used, token, strlen(token));
        used += strlen(token);
    }
    if (raw && text) *size = make_utf8(raw, used, text);
    else rf__free(t->ctx, text), text = NULL;
    rf__free(t->ctx, raw);
    return text;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const int32_t special_id[RF_SPECIALS] = {[RF_PAD] = 0, [RF_UNK] = 1, [RF_CLS] = 2, [RF_SEP] = 3, [RF_MASK] = 4};

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    for (int i = 0; i < RF_SPECIALS; i++)
        if (special_id[i] == id) return t->name[i];
    return is_byte(id) ? as_bytes(t)->name[id - BYTE] : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    for (int i = 0; i < RF_SPECIALS; i++)
        if (t->name[i] && !strcmp(t->name[i], token)) return special_id[i];
    for (int b = 0; b < 256; b++)
        if (!strcmp(as_bytes(t)->name[b], token)) return BYTE + b;
    return -1;
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    (void)t;
    return is_byte(id) && ((id - BYTE) & 0xC0) == 0x80;
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    return rf__hash64(t->row->name, strlen(t->row->name), seed);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static rf_status make_of(const rf_ctx *ctx, const rf_tokenizer_parts *parts, rf_tokenizer **out, rf_error *why);

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    return make_of(f->ctx, &f->parts, out, f->why);
}

static rf_status make(const rf_ctx *ctx, rf_tokenizer **out, rf_error *why)
{
    return make_of(ctx, &(rf_tokenizer_parts){.name = "bytes"}, out, why);
}

static const char *const classes[] = {"RoFormerByteTokenizer", NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, NULL};

const rf_tokenizer_row rf__tokenizer_bytes = {
    .name = "bytes",
    .title = "bytes of UTF-8",
    .classes = classes,
    .files = files,
    .size = sizeof(bytes),
    .open = open_folder,
    .make = make,
    .fingerprint = fingerprint,
    .encode = encode,
    .decode = decode,
    .token = token_of,
    .id = id_of,
    .continues = continues,
};

static rf_status make_of(const rf_ctx *ctx, const rf_tokenizer_parts *parts, rf_tokenizer **out, rf_error *why)
{
    rf_tokenizer *t = rf__tokenizer_alloc(ctx, &rf__tokenizer_bytes, why);
    if (!t) return RF_ENOMEM;
    bytes *own = (bytes *)(void *)t;
    for (int b = 0; b < 256; b++) snprintf(own->name[b], sizeof *own->name, b > ' ' && b < 127 ? "%c" : "<0x%02X>", b);
    t->n = BYTES;
    rf_status status = rf__tokenizer_begin(t, parts, why);
    if (!status) status = rf__tokenizer_follow(t, BYTES, parts->name, why);
    if (status) rf_tokenizer_free(t);
    else *out = t;
    return status;
}
