/* fuzz_dictionary.c — arbitrary bytes as a dictionary of words, compiled or not, and as the text to segment: rejected
 * with a message, or every character of the text is in one word. */
#define _GNU_SOURCE
#include "folder.h"
#include "text/chinese/dictionary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void cut(rf_ctx *ctx, const rf_dictionary *d, const char *text, size_t size)
{
    rf_jieba_cutter c = {.ctx = ctx};
    for (int kind = 0; kind < 2; kind++) {
        size_t from = 0;
        if (!rf__jieba_cut(&c, d, (rf_jieba)kind, text, size)) abort();
        for (size_t i = 0; i < c.n; from = c.end[i++])
            if (c.end[i] <= from) abort();
        if (from != c.characters) abort();
    }
    rf__jieba_cut_clear(&c);
}

static void open_and_cut(rf_ctx *ctx, const uint8_t *data, size_t size)
{
    rf_dictionary d = {0};
    rf_error why = {0};
    const rf_status status = rf__dictionary_open(ctx, in("d.words"), &d, &why);
    if (status != why.code || (status && !*why.text)) abort();
    if (status) return;
    const size_t n = rf_utf8_check((const char *)data, size < 4096 ? size : 4096);
    cut(ctx, &d, (const char *)data, n);
    rf__dictionary_close(ctx, &d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx) {
        if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
        make_folder("words");
    }
    if (size >= 8 && !memcmp(data, "RFWORDS", 7)) {
        put_file("d.words", data, size);
        open_and_cut(ctx, data, size);
        return 0;
    }
    rf_error why = {0};
    put_file("d.txt", data, size);
    const char *text = strdup(in("d.txt"));
    if (!text) abort();
    const rf_status status = rf_dictionary_compile(ctx, &text, 1, "fuzz", in("d.words"), &why);
    free((void *)(uintptr_t)text);
    if (status != why.code || (status && !*why.text)) abort();
    if (!status) open_and_cut(ctx, data, size);
    return 0;
}
