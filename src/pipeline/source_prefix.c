/* source_prefix.c — encodes a source with the text that comes before it, such as "summarize: ". */
#include "pipeline/pipeline.h"

/* An empty source stays empty. */
rf_status rf__encode_source(const rf_ctx *ctx, const rf_tokenizer *t, const char *prefix, const char *text,
                            size_t bytes, rf_encoding *e, rf_error *why)
{
    const size_t before = prefix && bytes ? strlen(prefix) : 0;
    size_t all;
    if (!before) return rf_encode(t, text, bytes, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    char *joined = rf__checked_add(before, bytes, &all) ? rf__alloc(ctx, all) : NULL;
    if (!joined) return rf_fail(why, RF_ENOMEM, "out of memory: a source of %zu bytes", bytes);
    memcpy(joined, prefix, before);
    memcpy(joined + before, text, bytes);
    const rf_status status = rf_encode(t, joined, all, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    rf__free(ctx, joined);
    return status;
}
