/* fuzz_template.c — arbitrary bytes as a chat template: rejected with a message, or a text within its limit that is the
 * same a second time. */
#include <stdlib.h>

#include "base/base.h"
#include "text/template/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rf_status make(const rf_template *t, const json_t *variables, char **text, size_t *n)
{
    const struct tm now = {.tm_year = 125, .tm_mday = 2};
    rf_error why = {0};
    const rf_status status = rf__template_render(t, variables, &now, text, n, &why);
    if (status != why.code || (!status && *n > RF_TEMPLATE_OUTPUT)) abort();
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf_template *t = NULL;
    rf_error why = {0};
    char *one = NULL, *two = NULL;
    size_t n = 0, m = 0;
    const rf_status status = rf__template_new(ctx, "input", (const char *)data, size, &t, &why);
    if (status != why.code || (status && !*why.text) || !status != (t != NULL)) abort();
    json_t *x = json_pack("{s:[{s:s, s:s}, {s:s, s:[{s:s, s:s}]}], s:b, s:[{s:{s:s}}], s:s}", "messages", "role",
                          "user", "content", " h\xC3\xA9 ", "role", "assistant", "content", "type", "text", "text",
                          "a b", "add_generation_prompt", 1, "tools", "function", "name", "f", "bos_token", "<s>");
    const bool made = t && x && !make(t, x, &one, &n);
    if (made && (make(t, x, &two, &m) || n != m || memcmp(one, two, n))) abort();
    rf__free(ctx, one);
    rf__free(ctx, two);
    rf__template_free(t);
    json_decref(x);
    return 0;
}
