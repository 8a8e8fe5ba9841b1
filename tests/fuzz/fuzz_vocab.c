/* fuzz_vocab.c — arbitrary bytes as vocab.txt: rejected with a message, or a tokenizer whose results are within bounds.
 * The first byte selects rules and settings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rf_ctx *context(void)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    return ctx;
}

static void use(const rf_tokenizer *t)
{
    static const char text[] = "the [MASK] of a\xCC\x81 \xE6\xBC\xA2\xE5\xAD\x97 unaffable!";
    const int32_t n = rf_tokenizer_size(t);
    rf_encoding e;
    rf_encoding_init(&e, context());
    if (rf_encode(t, text, sizeof text - 1, NULL, 0, 0, 0, &e, NULL, NULL)) abort();
    for (size_t i = 0; i < e.n; i++)
        if (e.id[i] < 0 || e.id[i] >= n || !rf_tokenizer_token(t, e.id[i])) abort();
    char *back = rf_decode(t, e.id, e.n, 1, 1, NULL);
    if (!back) abort();
    rf_text_free(t, back);
    for (int32_t i = 0; i < n && i < 1000; i++) {         /* a token is found again, unless a zero byte cuts it short */
        const char *token = rf_tokenizer_token(t, i);
        const int32_t id = token ? rf_tokenizer_id(t, token) : i;
        if (id != i && id >= 0 && strcmp(rf_tokenizer_token(t, id), token) != 0) abort();
    }
    rf_encoding_clear(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    rf_tokenizer_options o;
    rf_tokenizer_defaults(&o);
    o.rules = data[0] & 1 ? RF_RULES_PYTHON : RF_RULES_RUST;
    o.lowercase = data[0] >> 1 & 1;
    o.strip_accents = (data[0] >> 2 & 3) % 3 - 1;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    const rf_status status = rf_tokenizer_new(context(), (const char *)data + 1, size - 1, "vocab", &o, &t, &why);
    if (status ? t || why.code != status || !why.text[0] : !t) abort();
    if (!status) use(t);
    rf_tokenizer_free(t);
    return 0;
}
