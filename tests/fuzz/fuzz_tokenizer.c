/* fuzz_tokenizer.c — arbitrary bytes as text: rejected at the first byte that is not UTF-8, or tokens in order within
 * the text.  The first two bytes select rules, settings, flags, limit and whether there is a second text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\ne\ni\nk\n##a\n##b\n##e\n##i\nab\n##ab\n!\n.\n["
                            "\n]\nmask\n<\n\xC3\xA9\n##\xC3\xA9\n"
                            "\xE6\xBC\xA2\n\xE0\xB8\x81\n##\xE0\xB8\xB3\n\xCC\x81\n##\xCC\x81\n\xE1\x84\x80\n##"
                            "\xE1\x85\xA1\n\xEA\xB0\x80\n<mask>\n";

static rf_ctx *ctx;

/* One tokenizer for each setting, made when first asked for. */
static const rf_tokenizer *tokenizer(unsigned setting)
{
    static rf_tokenizer *made[64];
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    if (!made[setting]) {
        rf_tokenizer_options o;
        rf_tokenizer_defaults(&o);
        o.rules = setting & 1 ? RF_RULES_PYTHON : RF_RULES_RUST;
        o.lowercase = setting >> 1 & 1;
        o.strip_accents = (int)(setting >> 2 & 3) % 3 - 1;
        o.han_split = setting >> 4 & 1;
        if (setting >> 5) o.mask = "<mask>";
        if (rf_tokenizer_new(ctx, vocab, sizeof vocab - 1, "vocab", &o, &made[setting], NULL)) abort();
    }
    return made[setting];
}

static void check(const rf_tokenizer *t, const rf_encoding *e, size_t size, size_t pair_size, size_t limit)
{
    if (limit && e->n > limit) abort();
    uint32_t last[2] = {0, 0};
    for (size_t i = 0; i < e->n; i++) {
        const int type = e->type[i];
        if (e->id[i] < 0 || e->id[i] >= rf_tokenizer_size(t) || type < 0 || type > 1) abort();
        if (e->added[i]) continue;
        if (e->start[i] > e->end[i] || e->end[i] > (type ? pair_size : size)) abort();
        if (e->start[i] < last[type]) abort();
        last[type] = e->start[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_encoding e;
    if (size < 2) return 0;
    const rf_tokenizer *t = tokenizer(data[0] & 63);
    if (!e.ctx) rf_encoding_init(&e, ctx);
    const int flags = data[1] & (RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS);
    const size_t limit = data[1] >> 4 ? (size_t)(data[1] >> 4) + 2 : 0;
    const char *text = (const char *)data + 2;
    size -= 2;
    const size_t cut = data[0] >> 7 ? size / 2 : size;
    const char *pair = data[0] >> 7 ? text + cut : NULL;
    rf_error why = {0};
    size_t dropped = 0;
    const rf_status status = rf_encode(t, text, cut, pair, size - cut, limit, flags, &e, &dropped, &why);
    if (status) {
        if (status != RF_EDATA || !strstr(why.text, "UTF-8")) abort();
        return 0;
    }
    check(t, &e, cut, size - cut, limit);
    if (!limit && dropped) abort();
    char *back = rf_decode(t, e.id, e.n, data[1] & 2, data[1] & 8, NULL);
    if (!back) abort();
    rf_text_free(t, back);
    return 0;
}
