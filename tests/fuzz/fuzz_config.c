/* fuzz_config.c — arbitrary bytes as config.json: rejected with a message, or a configuration that passes its own
 * check. */
#include <stdlib.h>

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    static unsigned inputs;
    if (++inputs % 4096 == 0) rf_ctx_free(ctx), ctx = NULL; /* it keeps all lists that it has read */
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf_config c;
    rf_error why = {0};
    const rf_status s = rf_config_parse(ctx, (const char *)data, size, "input", &c, &why);
    if (s != why.code || (s && !*why.text)) abort();
    if (!s && (rf__config_check(&c, "input", NULL) || rf_config_parameters(&c) <= 0)) abort();
    return 0;
}
