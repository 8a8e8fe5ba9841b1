/* fuzz_tokens.c — arbitrary bytes as a token cache.  The first byte selects the fields that are corrected first, so
 * that the code after their checks is reached:
 *
 *     bit 0   magic and version     bit 1   width and tokenizer     bit 2   CRC of the content     bit 3   CRC of the
 *             header
 *     bit 4   number of tokens and of documents held out, from the lengths, when the documents fit into the file
 *
 * Either it is rejected with a message, or the ids are tokens of the vocabulary, lengths add up, and pieces and batches
 * contain every token once.                                                                                          */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "folder.h"
#include "text/unicode/unicode.h"
#include "data/corpus/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16, HEADER = 104, MAX_LENGTH = 16, CAPACITY = 64 };
enum {
    VERSION = 8,
    WIDTH = 12,
    TOKENS = 24,
    DOCUMENTS = 32,
    HELD = 40,
    CONTENT_CRC = 56,
    HEADER_CRC = 60,
    TOKENIZER = 64
};

static const char vocab_text[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\n.\n";
static rf_ctx *ctx;
static rf_tokenizer *tokenizer;
static rf__token_kinds vocab;
static unsigned char ours[HEADER];      /* the header of a cache that was made with this tokenizer                    */

/* A cache of one line of text, whose header has the correct values of the fields. */
static void prepare(void)
{
    char text[96], path[96];
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    const rf_reader_options reader = {.size = sizeof(reader)};
    const char *const list[] = {text};
    const rf__texts texts = {.text = list, .texts = 1, .reader = &reader};
    rf__tokens made;
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL) ||
        rf_tokenizer_new(ctx, vocab_text, sizeof vocab_text - 1, "vocab", &options, &tokenizer, NULL) ||
        rf__vocab_new(ctx, tokenizer, &vocab, NULL)) abort();
    make_folder("tokens");
    snprintf(text, sizeof text, "%s/text", folder);
    snprintf(path, sizeof path, "%s/cache", folder);
    if (rf__replace_file(ctx, text, "a b.\n", 5, NULL)) abort();
    if (rf__tokens_make(ctx, tokenizer, &texts, path, NULL, NULL, &made, NULL) || made.map.size < HEADER) abort();
    memcpy(ours, made.map.data, HEADER);
    rf__tokens_close(ctx, &made);
    unlink(text);
    unlink(path);
    rmdir(folder);
}

static void set_right(unsigned char *file, size_t size, unsigned what)
{
    if (what & 1) memcpy(file, ours, VERSION + 4);
    if (what & 2) memcpy(file + WIDTH, ours + WIDTH, 4), memcpy(file + TOKENIZER, ours + TOKENIZER, 8);
    uint64_t documents, tokens = 0, held = 0;
    memcpy(&documents, file + DOCUMENTS, 8);
    if (what & 16 && documents <= (size - HEADER) / 4) {
        for (uint64_t i = 0; i < documents; i++) {
            uint32_t length;
            memcpy(&length, file + size - 4 * (size_t)(i + 1), 4);
            tokens += length & ~RF__HELD;
            held += (length & RF__HELD) != 0;
        }
        memcpy(file + TOKENS, &tokens, 8);
        memcpy(file + HELD, &held, 8);
    }
    uint32_t crc = rf__crc32c(0, file + HEADER, size - HEADER);
    if (what & 4) memcpy(file + CONTENT_CRC, &crc, 4);
    if (!(what & 8)) return;
    memset(file + HEADER_CRC, 0, 4);
    crc = rf__crc32c(0, file, HEADER);
    memcpy(file + HEADER_CRC, &crc, 4);
}

/* Pieces of the documents for training, or of those held out, in order: each token is in one of them. */
static size_t cover(const rf__tokens *t, bool held)
{
    rf__pieces p;
    size_t tokens = 0;
    if (rf__pieces_new(ctx, t, 1, &vocab, MAX_LENGTH, held, 0, &p, NULL)) abort();
    for (size_t i = 0, end = 0; i < p.n; i++) {
        const size_t at = rf__piece_at(&p, i), size = rf__piece_size(&p, i);
        if (at < end || !size || size > MAX_LENGTH - RF__TEMPLATE || at + size > t->tokens) abort();
        end = at + size;
        tokens += size;
    }
    rf__mlm_batch b;
    rf__data_position at = {0};
    const rf__masking m = {rf__make_key(1, 2), 0.5, true, &vocab, false};
    if (rf__mlm_batch_new(ctx, CAPACITY, &b, NULL)) abort();
    for (int i = 0; i < 4 && p.n; i++) {
        rf__pack_next(&p, rf__order_key(1), &m, &at, &b);
        for (int64_t k = 0; k < b.N; k++)
            if (b.id[k] < 0 || b.id[k] >= vocab.size) abort();
    }
    rf__mlm_batch_free(ctx, &b);
    rf__pieces_free(ctx, &p);
    return tokens;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    static unsigned char file[MOST];
    if (fd < 0) {
        prepare();
        fd = memfd_create("tokens", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (fd < 0) abort();
    }
    if (!size || size > MOST) return 0;
    memcpy(file, data + 1, size - 1);
    if (size - 1 > HEADER) set_right(file, size - 1, data[0]);
    if (ftruncate(fd, 0) || pwrite(fd, file, size - 1, 0) != (ssize_t)size - 1) abort();
    rf__tokens t;
    rf_error why = {0};
    const rf_status s = rf__tokens_read(ctx, tokenizer, path, &t, &why);
    if (s != why.code || (s && !*why.text)) abort();
    if (s) return 0;
    if (cover(&t, false) + cover(&t, true) != t.tokens) abort();
    rf__tokens_close(ctx, &t);
    return 0;
}
