/* bench_translation.c — updates in the training of a translation model: Transformer-base with 8,000 sub-words, or a
 * model of the given shape; pairs have the lengths of real sentences.
 *
 *     bench_translation [--pairs bench/peers/pairs.txt] [--type f32|bf16] [--threads N] [--tokens 4096] [--steps 8]
 *                       [--width C] [--layers L] [--inner F] [--heads H] [--vocabulary V] [--busy] [--json]
 *
 *     the whole update: packing of batches, gradient, clipping, Adam, as in rf_train_translation, with dropout and
 *     smoothed labels
 *     useful      multiply-adds for actual tokens, three times those of the forward pass; those of attention to tokens
 *                 that a decoder's token does not see are not counted
 *     the peak    of this type on the same threads, measured after each update
 *
 * Texts are random words with the lengths in the file, one token per word.  The program prints medians over the
 * updates.
 *
 * --busy, for a shared machine: one thread, processor time instead of elapsed time, and the maximum of several short
 * measurements as the peak. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "median.h"
#include "peak.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"
#include "roformer/kernel/kernels.h"

enum { SPECIAL = 5, MOST = 99, UNCOUNTED = 2 };

/* Transformer-base, unless something else is asked for. */
static struct { int64_t width, layers, inner, heads, vocabulary; } shape = {512, 6, 2048, 8, 8000};

typedef struct bench {
    rf_ctx *ctx;
    rf_type type;
    int steps, seen;
    bool busy;
    double began, madds_per_token;      /* of all pairs, on average                                                   */
    int64_t tokens;
    double ms[MOST], rate[MOST], share[MOST], gflops[MOST];
} bench;

static void stop(const char *what)
{
    fprintf(stderr, "bench_translation: %s\n", what);
    exit(1);
}

/* ---- what is trained ---- */

static FILE *create(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f) stop(path);
    return f;
}

static void write_model(const rf_ctx *ctx, const char *folder)
{
    char *words = malloc(16 * (size_t)shape.vocabulary + 64);
    rf_tokenizer *t;
    if (!words) stop("no memory");
    size_t size = (size_t)snprintf(words, 64, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int64_t i = SPECIAL; i < shape.vocabulary; i++)
        size += (size_t)snprintf(words + size, 16, "w%lld\n", (long long)i);
    if (rf_tokenizer_new(ctx, words, size, "words", NULL, &t, NULL) || rf_tokenizer_save(t, folder, NULL)) stop(folder);
    rf_tokenizer_free(t);
    free(words);
    FILE *f = create(folder, RF_FILE_CONFIG);
    fprintf(f,
            "{\"model_type\": \"transformer\", \"d_model\": %d, \"encoder_layers\": %d, \"decoder_layers\": %d, "
            "\"encoder_attention_heads\": %d, \"decoder_attention_heads\": %d, \"encoder_ffn_dim\": %d, "
            "\"decoder_ffn_dim\": %d, \"dropout\": 0.1}\n",
            (int)shape.width, (int)shape.layers, (int)shape.layers, (int)shape.heads, (int)shape.heads,
            (int)shape.inner, (int)shape.inner);
    fclose(f);
}

/* Of the forward: m tokens of the source, n of the target, ends included. */
static double madds(double m, double n)
{
    const double C = (double)shape.width, F = (double)shape.inner, L = (double)shape.layers,
                 V = (double)shape.vocabulary;
    const double encoder = m * (4 * C * C + 2 * C * F) + 2 * m * m * C;
    const double decoder = n * (6 * C * C + 2 * C * F) + m * 2 * C * C + n * (n + 1) * C + 2 * m * n * C;
    return L * (encoder + decoder) + n * C * V;
}

static void write_words(FILE *f, int n, unsigned *seed)
{
    for (int i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        fprintf(f, "%sw%u", i ? " " : "", SPECIAL + (*seed >> 8) % (unsigned)(shape.vocabulary - SPECIAL));
    }
    fputc('\n', f);
}

static void write_pairs(bench *b, const char *lengths, const char *folder)
{
    FILE *from = fopen(lengths, "r"), *source = create(folder, "source"), *target = create(folder, "target");
    double all = 0, tokens = 0;
    unsigned seed = 1;
    int m, n;
    if (!from) stop(lengths);
    while (fscanf(from, "%d:%d", &m, &n) == 2) {
        write_words(source, m, &seed);
        write_words(target, n, &seed);
        all += madds(m + 1, n + 1);
        tokens += m + n + 2;
    }
    fclose(from);
    fclose(source);
    fclose(target);
    if (tokens < 1) stop("no lengths");
    b->madds_per_token = all / tokens;
}

/* ---- timing ---- */

static double now_of(const bench *b)
{
    struct timespec t;
    if (!b->busy) return seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_of(const bench *b)
{
    double most = 0;
    for (int i = 0; i < 20 && b->busy; i++) {
        const double peak = peak_of_type(b->ctx, b->type, 0.003);
        most = peak > most ? peak : most;
    }
    return b->busy ? most : peak_of_type(b->ctx, b->type, 0.05);
}

static int report(void *user, const rf_train_progress *p)
{
    bench *b = user;
    const double now = now_of(b);
    if (strcmp(p->event, "step")) return RF_TRAIN_GO;
    const int64_t tokens = p->tokens - b->tokens;
    const double time = now - b->began;
    b->tokens = p->tokens;
    if (p->step > UNCOUNTED && b->seen < b->steps) {
        const double flops = 2 * 3 * b->madds_per_token * (double)tokens / time, peak = peak_of(b);
        b->ms[b->seen] = 1e3 * time;
        b->rate[b->seen] = (double)tokens / time;
        b->gflops[b->seen] = 1e-9 * flops;
        b->share[b->seen++] = peak > 0 ? flops / peak : 0;
    }
    b->began = now_of(b);
    return RF_TRAIN_GO;
}

static void train(bench *b, const char *folder, int64_t tokens)
{
    char source[512], target[512], out[512];
    const char *const from[] = {source}, *const to[] = {target};
    rf_train_options o;
    rf_error why = {0};
    snprintf(source, sizeof source, "%s/source", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    rf_translation_defaults(&o);
    o.source = from, o.target = to, o.sources = o.targets = 1;
    o.model = folder, o.output_dir = out;
    o.max_length = 64, o.tokens_per_batch = tokens, o.max_steps = UNCOUNTED + b->steps;
    o.save_steps = 1 << 30, o.logging_steps = 1 << 30, o.bf16 = b->type == RF_BF16;
    b->began = now_of(b);
    if (rf_train_translation(b->ctx, &o, report, b, &why)) stop(why.text);
}

/* What a run leaves here is known: a model, its checkpoint, logs. */
static void remove_folder(const char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) fprintf(stderr, "bench_translation: %s stays\n", folder);
}

static void print(bench *b, bool json, int64_t tokens)
{
    const double ms = median(b->ms, b->seen), rate = median(b->rate, b->seen), gflops = median(b->gflops, b->seen),
                 share = median(b->share, b->seen);
    const char *type = b->type == RF_BF16 ? "bf16" : "f32";
    if (json)
        printf("{\"bench\": \"translation\", \"what\": \"update\", \"shape\": \"%s\", \"ms\": %.3f, \"best_ms\": %.3f, "
               "\"tokens_per_second\": %.1f, \"gflops\": %.3f, \"share_of_fma_peak\": %.4f}\n",
               type, 1e3 * (double)tokens / rate, b->ms[0], rate, gflops, share);
    else
        printf("%-5s %6.0f ms an update of %lld tokens, %.0f tokens/s, %.1f GFLOP/s, %.1f %% of the peak (%.1f to "
               "%.1f)\n",
               type, ms, (long long)tokens, rate, gflops, 100 * share, 100 * b->share[0], 100 * b->share[b->seen - 1]);
}

int main(int argc, char **argv)
{
    bench b = {.steps = 8};
    const char *pairs = "bench/peers/pairs.txt";
    char folder[] = "/tmp/bench_translation.XXXXXX";
    int64_t tokens = 4096;
    bool json = false;
    rf_ctx_options o;
    rf_error why = {0};
    const struct { const char *name; int64_t *to; } numbers[] = {
        {"--tokens", &tokens}, {"--width", &shape.width}, {"--layers", &shape.layers}, {"--inner", &shape.inner},
        {"--heads", &shape.heads}, {"--vocabulary", &shape.vocabulary},
    };
    rf_ctx_defaults(&o);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        size_t k = 0;
        if (!strcmp(argv[i], "--json")) {
            json = true;
            continue;
        }
        if (!strcmp(argv[i], "--busy")) {
            b.busy = true;
            continue;
        }
        for (; k < sizeof numbers / sizeof *numbers && strcmp(argv[i], numbers[k].name); k++) {}
        if (k < sizeof numbers / sizeof *numbers) *numbers[k].to = atoll(value);
        else if (!strcmp(argv[i], "--pairs")) pairs = value;
        else if (!strcmp(argv[i], "--type")) b.type = strcmp(value, "bf16") ? RF_F32 : RF_BF16;
        else if (!strcmp(argv[i], "--threads")) o.threads = atoi(value);
        else if (!strcmp(argv[i], "--steps")) b.steps = atoi(value) < MOST ? atoi(value) : MOST;
        else stop(argv[i]);
        i++;
    }
    if (b.busy) o.threads = 1;
    if (rf_ctx_new(&o, &b.ctx, &why)) stop(why.text);
    if (!mkdtemp(folder)) stop(folder);
    write_model(b.ctx, folder);
    write_pairs(&b, pairs, folder);
    train(&b, folder, tokens);
    remove_folder(folder);
    print(&b, json, tokens);
    rf_ctx_free(b.ctx);
    return 0;
}
