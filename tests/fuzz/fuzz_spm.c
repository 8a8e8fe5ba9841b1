/* fuzz_spm.c — a SentencePiece model of arbitrary bytes, or built from the bytes as a description: rejected with a
 * message, or pieces in order within the text, the likeliest and sampled ones, and decoded text.
 *
 *     byte 0  1 the model is described; 2 sampled  |  byte 1  size of the text, which follows  |  the model
 *
 * A description is a byte of settings and, for each piece, a byte with type and size, one with its score, and the
 * name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "roformer/tokenizer.h"
#include "text/subword/spm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 1 << 16 };

typedef struct model { uint8_t at[LONGEST * 2]; size_t n; } model;

static void put_bytes(model *m, const void *data, size_t size)
{
    if (size > sizeof m->at - m->n) abort();
    memcpy(m->at + m->n, data, size);
    m->n += size;
}

static void put_field(model *m, unsigned number, const void *data, size_t size)        /* size below 128              */
{
    const uint8_t head[2] = {(uint8_t)(number << 3 | 2), (uint8_t)size};
    put_bytes(m, head, 2);
    put_bytes(m, data, size);
}

static void put_piece(model *m, unsigned type, float score, const void *name, size_t size)
{
    static model one;
    const uint8_t kind[2] = {0x18, (uint8_t)type};
    one.n = 0;
    put_field(&one, 1, name, size);
    put_bytes(&one, "\x15", 1);
    put_bytes(&one, &score, 4);
    put_bytes(&one, kind, 2);
    put_field(m, 1, one.at, one.n);
}

/* Settings: model type 2 bits, byte_fallback, treat_whitespace_as_suffix, and those of the normalizer. */
static void describe(model *m, const uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned settings = size ? data[0] : 0;
    const bool bytes = settings >> 2 & 1;
    const uint8_t trainer[] = {0x18, (uint8_t)((settings & 3) + 1), 0x98, 0x02, bytes, 0xC0, 0x01, settings >> 3 & 1};
    const uint8_t rules[] = {0x18, settings >> 4 & 1, 0x20, settings >> 5 & 1, 0x28, settings >> 6 & 1};
    m->n = 0;
    put_field(m, 2, trainer, sizeof trainer);
    put_field(m, 3, rules, sizeof rules);
    put_piece(m, 2, 0, "<unk>", 5);
    for (int i = 0; i < 256 && bytes; i++) {
        const char name[] = {'<', '0', 'x', digits[i >> 4], digits[i & 15], '>'};
        put_piece(m, 6, 0, name, sizeof name);
    }
    for (size_t i = 1; i + 2 < size && m->n < LONGEST;) {
        static const uint8_t types[8] = {1, 1, 1, 3, 4, 4, 5, 1};
        size_t n = (size_t)(data[i] >> 3) + 1;
        if (n > size - i - 2) n = size - i - 2;
        put_piece(m, types[data[i] & 7], (float)(int8_t)data[i + 1] / 4, data + i + 2, n);
        i += n + 2;
    }
}

typedef struct pieces { const rf__spm *m; size_t size, last, n; int32_t id[4096]; } pieces;

static bool keep(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    pieces *p = user;
    if (!size || !piece || id < 0 || id >= rf__spm_size(p->m)) abort();
    if (begin < p->last || end < begin || end > p->size) abort();
    if (rf__spm_control(p->m, id)) abort();
    p->last = begin;
    if (p->n < RF_COUNT(p->id)) p->id[p->n++] = id;
    return true;
}

static bool take(void *user, const char *data, size_t size)
{
    (void)user;
    if (rf_utf8_check(data, size) != size) abort();
    return true;
}

static void use(const rf__spm *m, rf__spm_work *w, const uint8_t *text, size_t size, bool sampled)
{
    static const rf__spm_sample samples[] = {{-1, 0.5f, 1}, {8, 0.1f, 2}};
    static pieces p;
    for (size_t i = 0; i < 1 + (sampled ? RF_COUNT(samples) : 0); i++) {
        p = (pieces){.m = m, .size = size};
        if (!rf__spm_encode(m, w, (const char *)text, size, i ? &samples[i - 1] : NULL, keep, &p)) abort();
        if (!rf__spm_decode(m, p.id, p.n, take, NULL)) abort();
    }
    for (int32_t id = 0; id < rf__spm_size(m); id++) {
        const char *name = rf__spm_piece(m, id);
        if (*name && rf__spm_id(m, name) != id) abort();
        if (id < 64 && !rf__spm_join(m, &name, 1, take, NULL)) abort();
    }
    for (int i = 0; i < 4; i++)
        if (rf__spm_reserved(m, (rf__spm_role)i) >= rf__spm_size(m)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    static rf__spm_work *w;
    static model described;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    if (!w && !(w = rf__spm_work_new(ctx))) abort();
    if (size < 2 || size > LONGEST) return 0;
    const unsigned flags = data[0];
    const size_t text = data[1] < size - 2 ? data[1] : size - 2;
    const uint8_t *from = data + 2 + text;
    size_t bytes = size - 2 - text;
    if (flags & 1) {
        describe(&described, from, bytes);
        from = described.at;
        bytes = described.n;
    }
    rf__spm *m = NULL;
    rf_error why = {0};
    const rf_status status = rf__spm_load(ctx, from, bytes, "model", &m, &why);
    if (status ? m || why.code != status || !strstr(why.text, "model: ") : !m) abort();
    if (status != RF_OK && status != RF_EDATA && status != RF_EUNSUPPORTED) abort();
    if (m) use(m, w, data + 2, rf_utf8_check((const char *)data + 2, text), flags & 2);
    rf__spm_free(m);
    return 0;
}
