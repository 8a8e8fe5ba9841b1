/* fuzz_reader.c — arbitrary bytes as a text file.  The first byte selects the options:
 *
 *     bits 0-1 format   bits 2-3 split   bit 4 keep_titles   bit 5 max_document 64   bit 6 FASTA
 *
 * Each document is UTF-8 of at most max_document bytes, is not empty, and is read again after a seek.                */
#include <stdlib.h>

#include "text/unicode/unicode.h"
#include "data/documents/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENOUGH = 4 << 20 };              /* bytes of text that are enough for one input                                */

static uint64_t read_all(rf_reader *r, size_t max, int64_t *documents)
{
    rf_error why = {0};
    rf_document d;
    uint64_t hash = 0;
    size_t total = 0;
    for (*documents = 0; total < ENOUGH; ++*documents) {
        const rf_status s = rf_reader_next(r, &d, &why);
        if (s != why.code || (s && !*why.text)) abort();
        if (s || !d.text) break;
        if (!d.size || d.size > max || d.index != *documents || !d.name) abort();
        if (rf_utf8_check(d.text, d.size) != d.size) abort();
        hash = rf__hash64(d.text, d.size, hash);
        total += d.size;
    }
    return hash + (uint64_t)why.code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    const unsigned choice = size ? data[0] : 0;
    const rf_reader_options o = {
        .size = sizeof o,
        .format = choice >> 6 & 1 ? RF_TEXT_FASTA : (rf_text_format)(choice & 3),
        .split = (rf_text_split)(choice >> 2 & 3),
        .keep_titles = choice >> 4 & 1,
        .max_document = choice >> 5 & 1 ? 64 : 0,
    };
    rf_reader *r = NULL;
    int64_t first, again;
    if (rf__reader_from_memory(ctx, data + (size > 0), size - (size > 0), "input", &o, &r, NULL)) abort();
    const size_t max = o.max_document ? o.max_document : 1 << 20;
    const uint64_t hash = read_all(r, max, &first);
    if (rf__reader_seek(r, (rf_reader_position){0, 0}, NULL)) abort();
    if (read_all(r, max, &again) != hash || first != again) abort();
    rf_reader_close(r);
    return 0;
}
