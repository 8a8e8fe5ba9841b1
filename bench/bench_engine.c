/* bench_engine.c — one model for many callers, compared with one call with all texts.
 *
 *     bench_engine MODEL LINES [--clients 64] [--threads 2] [--rounds 5] [--requests 2000]
 *
 *     throughput   CLIENTS threads, each with one line of LINES at a time, through an engine, alternating with
 *                  rf_embed_texts with all lines in one call; medians, and the fraction that the engine reaches
 *     latency      one client: the additional time of a request of one short line, compared with rf_embed_texts with
 *                  the same line (median and 99th percentile of alternating requests)
 *
 * The vectors of both are compared; the number of differences is printed (0). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "median.h"
#include "roformer/engine.h"

enum { MOST_REQUESTS = 100000, LINE = 1 << 16, MOST_CLIENTS = 1024, MOST_ROUNDS = 99 };

typedef struct lines { char **text; int64_t n, capacity; } lines;

typedef struct run {
    const lines *all;
    rf_engine *engine;
    rf_pipeline *pipeline;
    const float *expected;              /* [n,D] of one call; NULL: they are not compared                             */
    int64_t next, D, different;
    pthread_mutex_t lock;
} run;

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static lines read_lines(const char *path)
{
    static char line[LINE];
    lines all = {0};
    FILE *f = fopen(path, "r");
    if (!f) stop("LINES cannot be opened");
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (!*line) continue;
        if (all.n == all.capacity) {
            all.capacity = all.capacity ? 2 * all.capacity : 1024;
            if (!(all.text = realloc(all.text, (size_t)all.capacity * sizeof *all.text))) stop("out of memory");
        }
        if (!(all.text[all.n++] = strdup(line))) stop("out of memory");
    }
    fclose(f);
    if (!all.n) stop("LINES is empty");
    return all;
}

/* One request; the job is the caller's to free. */
static rf_engine_job *ask(rf_engine *e, const char *text)
{
    rf_error why = {0};
    rf_engine_job *job;
    if (rf_engine_embed(e, &text, NULL, 1, NULL, NULL, &job, &why) || rf_engine_wait(job, -1, &why)) stop(why.text);
    return job;
}

static void *client(void *user)
{
    run *r = user;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        const int64_t i = r->next < r->all->n ? r->next++ : -1;
        pthread_mutex_unlock(&r->lock);
        if (i < 0) return NULL;
        rf_engine_job *job = ask(r->engine, r->all->text[i]);
        const float *v = rf_engine_result(job, NULL, NULL);
        const int other = r->expected && memcmp(v, r->expected + i * r->D, (size_t)r->D * sizeof *v);
        rf_engine_job_free(job);
        if (!other) continue;
        pthread_mutex_lock(&r->lock);
        r->different++;
        pthread_mutex_unlock(&r->lock);
    }
}

static double by_engine(run *r, int clients)
{
    pthread_t thread[MOST_CLIENTS];
    const double begin = seconds();
    r->next = 0;
    for (int i = 0; i < clients; i++)
        if (pthread_create(&thread[i], NULL, client, r)) stop("no thread");
    for (int i = 0; i < clients; i++) pthread_join(thread[i], NULL);
    return seconds() - begin;
}

static double by_call(run *r, int64_t *tokens)
{
    const rf_texts_report *report;
    const double begin = seconds();
    rf_error why = {0};
    if (rf_embed_texts(r->pipeline, (const char *const *)r->all->text, NULL, r->all->n, NULL, &r->expected, &report,
                       &why))
        stop(why.text);
    *tokens = report->tokens;
    return seconds() - begin;
}

static void latency(run *r, int requests)
{
    static double engine[MOST_REQUESTS], call[MOST_REQUESTS];
    const char *text = "a short line of some words to embed, with sixteen tokens";
    rf_error why = {0};
    const float *v;
    for (int i = 0; i < requests; i++) {
        double begin = seconds();
        rf_engine_job *job = ask(r->engine, text);
        engine[i] = seconds() - begin;
        rf_engine_job_free(job);
        begin = seconds();
        if (rf_embed_texts(r->pipeline, &text, NULL, 1, NULL, &v, NULL, &why)) stop(why.text);
        call[i] = seconds() - begin;
    }
    const double e = median(engine, requests), c = median(call, requests);
    const int late = requests * 99 / 100;
    printf("one short line: engine %.3f ms (99 %%: %.3f), one call %.3f ms (99 %%: %.3f), more: %.3f ms (99 %%: "
           "%.3f)\n",
           1e3 * e, 1e3 * engine[late], 1e3 * c, 1e3 * call[late], 1e3 * (e - c), 1e3 * (engine[late] - call[late]));
}

int main(int argc, char **argv)
{
    int clients = 64, threads = 2, rounds = 5, requests = 2000;
    double engine[MOST_ROUNDS], call[MOST_ROUNDS];
    int64_t tokens = 0;
    rf_error why = {0};
    if (argc < 3) stop("usage: bench_engine MODEL LINES [--clients 64] [--threads 2] [--rounds 5] [--requests 2000]");
    for (int i = 3; i + 1 < argc; i += 2) {
        int *to = !strcmp(argv[i], "--clients")    ? &clients
                  : !strcmp(argv[i], "--threads")  ? &threads
                  : !strcmp(argv[i], "--requests") ? &requests
                                                   : &rounds;
        *to = (int)strtol(argv[i + 1], NULL, 10);
    }
    if (clients < 1 || clients > MOST_CLIENTS || rounds < 1 || rounds > MOST_ROUNDS || threads < 1 || requests < 1 ||
        requests > MOST_REQUESTS)
        stop("a number is out of range");
    lines all = read_lines(argv[2]);
    rf_ctx_options o = {.size = sizeof o, .threads = threads};
    rf_ctx *ctx;
    run r = {.all = &all, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (rf_ctx_new(&o, &ctx, &why) || rf_pipeline_open(ctx, argv[1], RF_F32, &r.pipeline, &why) ||
        rf_engine_open(ctx, argv[1], NULL, &r.engine, &why))
        stop(why.text);
    r.D = rf_model_config(rf_pipeline_model(r.pipeline))->hidden_size;
    for (int i = 0; i < rounds; i++) {
        call[i] = by_call(&r, &tokens);
        engine[i] = by_engine(&r, clients);
    }
    const double c = median(call, rounds), e = median(engine, rounds);
    rf_engine_state now;
    rf_engine_get_state(r.engine, &now);
    printf("%lld lines of %.1f tokens, %d threads, %d clients, medians of %d rounds\n", (long long)all.n,
           (double)tokens / (double)all.n, threads, clients, rounds);
    printf("one call %.0f tokens/s, engine %.0f tokens/s: %.1f %%, %.1f requests a batch, %lld vectors differ\n",
           (double)tokens / c, (double)tokens / e, 100 * c / e, (double)now.done / (double)now.batches,
           (long long)r.different);
    printf("engine while computing: %.0f tokens/s\n", now.tokens_per_second);
    latency(&r, requests);
    rf_engine_close(r.engine);
    rf_pipeline_close(r.pipeline);
    rf_ctx_free(ctx);
    for (int64_t i = 0; i < all.n; i++) free(all.text[i]);
    free(all.text);
    return r.different > 0;
}
