/* bench_translate.c — translation with the encoder-decoder model of a folder.
 *
 *     bench_translate --model DIR --text FILE [--beams 4] [--new N] [--forced N] [--batch N] [--type f32|bf16|int8]
 *                     [--threads N] [--rounds 3] [--early] [--serve]
 *
 *     all lines    seconds and processor seconds of rf_translate_texts; number of generated tokens
 *     one line     greedily, 20 tokens and 20 new ones: the time of a step, as a multiple of the time in which a loop
 *                  on the same threads reads as many bytes as the decoder has weights; minima over all rounds
 *     memory       the peak, compared with the estimate for weights and sequences
 *
 * With --forced N every translation has N tokens, for untrained weights.  With --early a search ends when as many texts
 * as beams are finished, as in CTranslate2.  With --serve the program translates all lines once for each line of
 * standard input and prints the results as JSON, for bench/translate.py.  It prints medians. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "median.h"
#include "roformer/pipeline.h"
#include "roformer/model.h"
#include "roformer/kernel/kernels.h"

enum { LINES = 100000, ROUNDS = 99, STEPS = 20 };

typedef struct work {
    rf_ctx *ctx;
    rf_pipeline *p;
    rf_generate_options o;
    rf_translate_options t;
    char **line;
    int64_t lines, tokens, texts;
    int64_t rounds;
    int threads, serve, early;
    rf_type type;
    const char *model, *text;
    int64_t beams, most, forced, batch;
} work;

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static double processor_seconds(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static double peak_mb(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_maxrss / 1024;
}

static int count(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    work *w = user;
    (void)text;
    if (why) stop(why->text);
    w->tokens += t->of.logprobs;
    w->texts++;
    return 0;
}

static void read_lines(work *w)
{
    FILE *f = fopen(w->text, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    if (!f) stop(w->text);
    w->line = calloc(LINES, sizeof *w->line);
    while (w->line && w->lines < LINES && (n = getline(&line, &capacity, f)) > 0) {
        line[n - (line[n - 1] == '\n')] = 0;
        w->line[w->lines++] = strdup(line);
    }
    free(line);
    fclose(f);
}

static void open_work(work *w)
{
    rf_ctx_options o;
    rf_error why = {0};
    rf_ctx_defaults(&o);
    o.threads = w->threads;
    if (rf_ctx_new(&o, &w->ctx, &why) || rf_pipeline_open(w->ctx, w->model, w->type, &w->p, &why)) stop(why.text);
    static int32_t never[64];
    rf_translate_defaults(rf_pipeline_model(w->p), &w->o);
    w->o.num_beams = w->beams;
    if (w->batch) w->o.batch_size = w->batch;
    if (w->early) w->o.early_stopping = RF_STOP_EARLY;
    if (w->most) w->o.max_new_tokens = w->most;
    if (w->forced) {
        w->o.max_new_tokens = w->forced;
        w->o.forced_eos = -1;
        for (int64_t i = 0; i < w->o.suppressed && i < 32; i++) never[i] = w->o.suppress[i];
        for (int64_t i = 0; i < w->o.stops && i < 32; i++) never[w->o.suppressed++] = w->o.stop[i];
        w->o.suppress = never;
    }
    rf_translate_text_defaults(&w->t);
    w->t.generate = &w->o;
}

static double translate_all(work *w)
{
    rf_error why = {0};
    w->tokens = w->texts = 0;
    const double begun = seconds();
    if (rf_translate_texts(w->p, (const char *const *)w->line, NULL, w->lines, &w->t, count, w, &why)) stop(why.text);
    return seconds() - begun;
}

/* Of the matrices that a step is multiplied by: those of the decoder's layers but the source's keys and values, which
 * are made once, and the words. */
static size_t step_bytes(const work *w)
{
    const rf_config *c = rf_model_config(rf_pipeline_model(w->p));
    const int64_t C = c->hidden_size, F = c->decoder_ffn_dim;
    const int64_t layers = c->decoder_layers * (6 * C * C + 2 * C * F), words = c->vocab_size * C;
    const int64_t each = w->type == RF_F32 ? 4 : w->type == RF_BF16 ? 2 : 1;
    return (size_t)(layers * each + words * (w->type == RF_F32 ? 4 : 2));
}

static int nothing(void *user, int64_t source, const rf_translation *t, const rf_error *why)
{
    (void)user, (void)source, (void)t;
    if (why) stop(why->text);
    return 0;
}

/* Seconds of a step of one source of 20 tokens, the reading of the source shared out. */
static double one_line(work *w)
{
    int32_t id[STEPS];
    rf_generate_options o = w->o;
    rf_error why = {0};
    o.num_beams = o.num_return_sequences = 1;
    o.max_new_tokens = STEPS;
    for (int i = 0; i < STEPS; i++) id[i] = 5 + i * 37 % 1000;
    const rf_translate_source one = {.id = id, .n = STEPS};
    int32_t never[1] = {o.stops ? o.stop[0] : 0};
    o.suppress = never, o.suppressed = 1, o.forced_eos = -1;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        const double begun = seconds();
        if (rf_session_translate(rf_pipeline_session(w->p), &one, 1, &o, nothing, NULL, &why)) stop(why.text);
        const double each = (seconds() - begun) / STEPS;
        if (each < best) best = each;
    }
    return best;
}

static void serve(work *w)
{
    char line[64];
    printf("{\"engine\": \"roformer\", \"threads\": %d}\n", w->threads);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const double before = processor_seconds(), wall = translate_all(w);
        printf("{\"seconds\": %.4f, \"processor\": %.4f, \"tokens\": %lld, \"texts\": %lld, \"peak_mb\": %.1f}\n", wall,
               processor_seconds() - before, (long long)w->tokens, (long long)w->texts, peak_mb());
        fflush(stdout);
    }
}

static void measure(work *w)
{
    double all[ROUNDS], processor[ROUNDS], step[ROUNDS], reading[ROUNDS];
    const size_t bytes = step_bytes(w);
    const int n = (int)w->rounds;
    for (int i = 0; i < n; i++) {
        const double before = processor_seconds();
        all[i] = translate_all(w);
        processor[i] = processor_seconds() - before;
        step[i] = reading[i] = 1e9;
        for (int k = 0; k < 5; k++) {
            const double limit = (double)bytes / rf_peak_read(w->ctx, bytes, 0.02), each = one_line(w);
            reading[i] = limit < reading[i] ? limit : reading[i];
            step[i] = each < step[i] ? each : step[i];
        }
    }
    const double t = median(all, n);
    median(step, n);
    median(reading, n);
    printf("%lld lines, %lld beams: %.2f s (%.2f s of processors), %.0f tokens in a second\n", (long long)w->lines,
           (long long)w->beams, t, median(processor, n), (double)w->tokens / t);
    printf("one line, greedily: %.3f ms a step, %.2f times the reading of %.1f MB of the decoder's weights\n",
           1e3 * step[0], step[0] / reading[0], (double)bytes * 1e-6);
    printf("at most %.0f MB in all\n", peak_mb());
}

int main(int argc, char **argv)
{
    work w = {.rounds = 3, .beams = 4};
    const struct { const char *name; int64_t *to; } numbers[] = {
        {"--beams", &w.beams}, {"--new", &w.most}, {"--forced", &w.forced}, {"--batch", &w.batch},
        {"--rounds", &w.rounds},
    };
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        if (!strcmp(argv[i], "--serve") || !strcmp(argv[i], "--early")) {
            *(argv[i][2] == 's' ? &w.serve : &w.early) = 1;
            continue;
        }
        if (i + 1 == argc) return fprintf(stderr, "%s: a value is missing\n", argv[i]), 2;
        for (; k < sizeof numbers / sizeof *numbers && strcmp(argv[i], numbers[k].name); k++) {}
        if (k < sizeof numbers / sizeof *numbers) *numbers[k].to = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--model")) w.model = argv[++i];
        else if (!strcmp(argv[i], "--text")) w.text = argv[++i];
        else if (!strcmp(argv[i], "--threads")) w.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--type")) {
            const char *type = argv[++i];
            w.type = !strcmp(type, "bf16") ? RF_BF16 : !strcmp(type, "int8") ? RF_I8 : RF_F32;
        } else return fprintf(stderr, "%s is not an option\n", argv[i]), 2;
    }
    if (!w.model || !w.text) return fprintf(stderr, "bench_translate --model DIR --text FILE\n"), 2;
    if (w.rounds < 1 || w.rounds > ROUNDS) w.rounds = 3;
    open_work(&w);
    read_lines(&w);
    if (w.serve) serve(&w);
    else measure(&w);
    rf_pipeline_close(w.p);
    rf_ctx_free(w.ctx);
    for (int64_t i = 0; i < w.lines; i++) free(w.line[i]);
    free(w.line);
    return 0;
}
