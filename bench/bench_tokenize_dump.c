/* bench_tokenize_dump.c — our side of tools/check/tokenizer.py, and a trainer of vocabularies for it.
 *
 *     bench_tokenize_dump encode PLACE [OPTION ...] < records > answers
 *     bench_tokenize_dump decode PLACE [OPTION ...] < records > answers
 *     bench_tokenize_dump save PLACE FOLDER [OPTION ...]
 *     bench_tokenize_dump train SIZE ALPHABET LEAST < text > VOCAB
 *
 * PLACE is a model folder or a vocabulary.  A record is its length in bytes (uint32, this machine's order) and the
 * bytes; with --pairs two records make one text.  An answer is the number of tokens (uint32), the number dropped
 * (uint32), and for each token id, start, end, type + 256 added (uint32 each).  For decode a record holds int32 ids and
 * the answer is a record of text.  Options: --python --cased --strip --keep --joined (no Han splitting) --plain
 * --no-specials --pairs
 * --limit N --skip --tidy.                                                                                           */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "roformer/tokenizer.h"

typedef struct record { char *data; size_t size, capacity; } record;

static int refuse(const rf_error *why)
{
    fprintf(stderr, "%s\n", why->text);
    return 3;
}

static int fail(const char *text)
{
    fprintf(stderr, "bench_tokenize_dump: %s\n", text);
    return 2;
}

/* 1 read, 0 end, -1 cut off. */
static int read_record(record *r)
{
    uint32_t size;
    if (fread(&size, sizeof size, 1, stdin) != 1) return 0;
    if (size + 1u > r->capacity) {
        r->capacity = 2 * ((size_t)size + 1);
        r->data = realloc(r->data, r->capacity);
        if (!r->data) return -1;
    }
    r->size = size;
    return fread(r->data, 1, size, stdin) == size ? 1 : -1;
}

static char *read_all(FILE *f, size_t *size)
{
    size_t capacity = 1 << 20, n = 0, got;
    char *text = malloc(capacity);
    while (text && (got = fread(text + n, 1, capacity - n, f)) > 0) {
        n += got;
        if (n == capacity) text = realloc(text, capacity *= 2);
    }
    *size = n;
    return text;
}

typedef struct request {
    rf_tokenizer_options options;
    int flags, pairs, given, skip, tidy;
    size_t limit;
} request;

static int parse(request *q, int n, char **arg)
{
    rf_tokenizer_defaults(&q->options);
    for (int i = 0; i < n; i++) {
        const char *a = arg[i];
        if (!strcmp(a, "--python")) q->options.rules = RF_RULES_PYTHON;
        else if (!strcmp(a, "--cased")) q->options.lowercase = 0;
        else if (!strcmp(a, "--strip")) q->options.strip_accents = 1;
        else if (!strcmp(a, "--keep")) q->options.strip_accents = 0;
        else if (!strcmp(a, "--joined")) q->options.han_split = 0;
        else if (!strcmp(a, "--plain")) q->flags |= RF_ENCODE_PLAIN;
        else if (!strcmp(a, "--no-specials")) q->flags |= RF_ENCODE_NO_SPECIALS;
        else if (!strcmp(a, "--pairs")) q->pairs = 1;
        else if (!strcmp(a, "--skip")) q->skip = 1;
        else if (!strcmp(a, "--tidy")) q->tidy = 1;
        else if (!strcmp(a, "--limit") && i + 1 < n) q->limit = (size_t)atoll(arg[++i]);
        else return 0;
    }
    return 1;
}

static rf_status open_tokenizer(const rf_ctx *ctx, const char *place, const request *q, rf_tokenizer **t, rf_error *why)
{
    struct stat st;
    if (!stat(place, &st) && S_ISDIR(st.st_mode)) return rf_tokenizer_open(ctx, place, t, why);
    FILE *f = fopen(place, "rb");
    if (!f) return rf_fail(why, RF_EIO, "%s: cannot open", place);
    size_t size;
    char *vocab = read_all(f, &size);
    fclose(f);
    const rf_status status = rf_tokenizer_new(ctx, vocab, size, place, &q->options, t, why);
    free(vocab);
    return status;
}

static int encode(const rf_ctx *ctx, const rf_tokenizer *t, const request *q, rf_error *why)
{
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    record a = {0}, b = {0};
    int status = 0, got;
    while (!status && (got = read_record(&a)) != 0) {
        if (got < 0 || (q->pairs && read_record(&b) != 1)) {
            status = fail("a record is cut off");
            break;
        }
        size_t dropped = 0;
        if (rf_encode(t, a.size ? a.data : "", a.size, q->pairs ? (b.size ? b.data : "") : NULL, b.size, q->limit,
                      q->flags, &e, &dropped, why)) {
            status = refuse(why);
            break;
        }
        const uint32_t head[2] = {(uint32_t)e.n, (uint32_t)dropped};
        fwrite(head, sizeof head, 1, stdout);
        for (size_t i = 0; i < e.n; i++) {
            const uint32_t row[4] = {(uint32_t)e.id[i], e.start[i], e.end[i], (uint32_t)e.type[i] + 256u * e.added[i]};
            fwrite(row, sizeof row, 1, stdout);
        }
    }
    free(a.data);
    free(b.data);
    rf_encoding_clear(&e);
    return status;
}

static int decode(const rf_tokenizer *t, const request *q)
{
    record r = {0};
    int got;
    while ((got = read_record(&r)) == 1) {
        char *text = rf_decode(t, (const int32_t *)(void *)r.data, r.size / sizeof(int32_t), q->skip, q->tidy, NULL);
        const uint32_t size = text ? (uint32_t)strlen(text) : 0;
        fwrite(&size, sizeof size, 1, stdout);
        if (text) fwrite(text, 1, size, stdout);
        rf_text_free(t, text);
    }
    free(r.data);
    return got ? fail("a record is cut off") : 0;
}

static int train(const rf_ctx *ctx, char **arg, rf_error *why)
{
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.tokens = atoi(arg[0]);
    o.alphabet = atoi(arg[1]);
    o.least = (uint64_t)atoll(arg[2]);
    o.max_words = 8000000;
    rf_tokenizer_trainer *trainer;
    if (rf_tokenizer_trainer_new(ctx, "wordpiece", &o, &trainer, why)) return refuse(why);
    size_t capacity = 0;
    char *line = NULL;
    ssize_t n;
    int status = 0;
    while (!status && (n = getline(&line, &capacity, stdin)) > 0)
        if (rf_tokenizer_trainer_feed(trainer, line, (size_t)n, why)) status = refuse(why);
    rf_tokenizer *t = NULL;
    if (!status && rf_tokenizer_trainer_finish(trainer, &t, why)) status = refuse(why);
    for (int32_t id = 0; t && id < rf_tokenizer_size(t); id++) puts(rf_tokenizer_token(t, id));
    rf_tokenizer_free(t);
    free(line);
    rf_tokenizer_trainer_free(trainer);
    return status;
}

int main(int count, char **arg)
{
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    request q = {0};
    rf_tokenizer *t = NULL;
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, &why)) return refuse(&why);
    int status = 2;
    if (count == 5 && !strcmp(arg[1], "train")) {
        status = train(ctx, arg + 2, &why);
    } else if (count >= 3 &&
               parse(&q, count - (strcmp(arg[1], "save") ? 3 : 4), arg + (strcmp(arg[1], "save") ? 3 : 4))) {
        if (open_tokenizer(ctx, arg[2], &q, &t, &why)) status = refuse(&why);
        else if (!strcmp(arg[1], "encode")) status = encode(ctx, t, &q, &why);
        else if (!strcmp(arg[1], "decode")) status = decode(t, &q);
        else if (!strcmp(arg[1], "save")) status = rf_tokenizer_save(t, arg[3], &why) ? refuse(&why) : 0;
    } else {
        fail("see the head of bench/bench_tokenize_dump.c for its arguments");
    }
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
    return status;
}
