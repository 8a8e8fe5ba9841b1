/* bench_tokenizer.c — how fast text becomes ids, on one thread.
 *
 *     bench_tokenizer VOCAB [TEXT [ROUNDS]]
 *
 * Without TEXT: a megabyte each of texts that are hard on a tokenizer.  With TEXT: its lines, one call each, ROUNDS
 * times (5) over the first 32 MiB; the first round starts with an empty cache of words.  tools/speed_tokenizer.py runs
 * this in turns with Hugging Face's.                                                                                 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <time.h>

#include "roformer/tokenizer.h"

enum { MEGABYTE = 1 << 20, MOST = 32 << 20 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);      /* also right on a busy machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *read_file(const char *path, size_t most, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(most) : NULL;
    if (!text) {
        fprintf(stderr, "bench_tokenizer: cannot read %s\n", path);
        exit(4);
    }
    *size = fread(text, 1, most, f);
    fclose(f);
    return text;
}

static void check(rf_status status, const rf_error *why)
{
    if (!status) return;
    fprintf(stderr, "bench_tokenizer: %s\n", why->text);
    exit(3);
}

/* One megabyte of `unit` after `unit`. */
static size_t repeat(char *to, const char *unit)
{
    const size_t n = strlen(unit);
    size_t size = 0;
    for (; size + n <= MEGABYTE; size += n) memcpy(to + size, unit, n);
    return size;
}

static void hard(const rf_ctx *ctx, const rf_tokenizer *t)
{
    static const struct { const char *name, *unit;
    } text[] = {
        {"letters without a space", "a"},
        {"spaces", " "},
        {"punctuation", "!"},
        {"one word", "the "},
        {"words of 100 letters",
         "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij "},
        {"combining marks of mixed classes", "\xCC\x81\xCC\xA3\xCC\xB4"},
        {"Han", "\xE6\xBC\xA2\xE5\xAD\x97"},
        {"Hangul", "\xEA\xB0\x81"},
        {"Thai", "\xE0\xB8\x81\xE0\xB8\xB3"},
        {"accented words", "\xC3\xA9t\xC3\xA9 "},
        {"emoji joined", "\xF0\x9F\x91\xA9\xE2\x80\x8D"},
        {"[MASK]", "[MASK]"},
        {"[", "["},
        {"[MASK", "[MASK"},
        {"zero bytes", "\1"},
        {"decomposing", "\xE1\xBE\x82"},
    };
    char *buffer = malloc(MEGABYTE);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t i = 0; buffer && i < sizeof text / sizeof *text; i++) {
        const size_t size = repeat(buffer, text[i].unit);
        if (!strcmp(text[i].name, "zero bytes")) memset(buffer, 0, size);
        rf_error why = {0};
        const double start = seconds();
        check(rf_encode(t, buffer, size, NULL, 0, 0, 0, &e, NULL, &why), &why);
        const double time = seconds() - start;
        printf("%-34s %8.2f ms  %7.1f MB/s  %8zu tokens\n", text[i].name, 1e3 * time, 1e-6 * (double)size / time, e.n);
    }
    rf_encoding_clear(&e);
    free(buffer);
}

static void lines(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, int rounds)
{
    size_t size;
    char *text = read_file(path, MOST, &size);
    while (size && text[size - 1] != '\n') size--;
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (int r = 0; r < rounds; r++) {
        size_t tokens = 0;
        rf_error why = {0};
        const double start = seconds();
        for (size_t at = 0; at < size;) {
            const size_t n = (size_t)((char *)memchr(text + at, '\n', size - at) - (text + at));
            check(rf_encode(t, text + at, n, NULL, 0, 0, 0, &e, NULL, &why), &why);
            tokens += e.n;
            at += n + 1;
        }
        const double time = seconds() - start;
        printf("%.1f MB/s  %.2f million tokens/s\n", 1e-6 * (double)size / time, 1e-6 * (double)tokens / time);
        fflush(stdout);
    }
    rf_encoding_clear(&e);
    free(text);
}

int main(int count, char **arg)
{
    if (count < 2 || count > 4) {
        fprintf(stderr, "usage: bench_tokenizer VOCAB|FOLDER [TEXT [ROUNDS]]\n");
        return 2;
    }
    rf_ctx *ctx = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    struct stat st;
    size_t size = 0;
    const bool folder = !stat(arg[1], &st) && S_ISDIR(st.st_mode);
    char *vocab = folder ? NULL : read_file(arg[1], 64 << 20, &size);
    check(rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, &why), &why);
    const double start = seconds();
    if (folder) check(rf_tokenizer_open(ctx, arg[1], &t, &why), &why);
    else check(rf_tokenizer_new(ctx, vocab, size, arg[1], NULL, &t, &why), &why);
    printf("%d tokens opened in %.2f ms\n", (int)rf_tokenizer_size(t), 1e3 * (seconds() - start));
    if (count == 2) hard(ctx, t);
    else lines(ctx, t, arg[2], count == 4 ? atoi(arg[3]) : 5);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
    free(vocab);
    return 0;
}
