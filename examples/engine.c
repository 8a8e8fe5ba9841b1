/* engine.c — eight threads that ask one model for vectors at the same time, and how many were computed together.
 *
 *     engine models/roformer-small-en-sentences < lines.txt */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roformer/engine.h>

enum { THREADS = 8, LINE = 4096 };

static rf_engine *engine;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER, writing = PTHREAD_MUTEX_INITIALIZER;

/* Each thread asks for one line at a time, as the connections of a server do. */
static void *serve(void *unused)
{
    char line[LINE];
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&reading);
        const int more = fgets(line, sizeof line, stdin) != NULL;
        pthread_mutex_unlock(&reading);
        if (!more) return NULL;
        line[strcspn(line, "\n")] = 0;
        const char *const text[] = {line};
        rf_error why = {0};
        rf_engine_job *job = NULL;
        int64_t D = 0;
        if (!rf_engine_embed(engine, text, NULL, 1, NULL, NULL, &job, &why)) rf_engine_wait(job, -1, &why);
        const float *v = rf_engine_result(job, NULL, &D);
        pthread_mutex_lock(&writing);
        if (v) printf("%8.4f %8.4f ... (%lld)  %s\n", v[0], v[1], (long long)D, line);
        else fprintf(stderr, "%s: %s\n", line, why.text);
        pthread_mutex_unlock(&writing);
        rf_engine_job_free(job);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    rf_error why = {0};
    rf_engine_state now;
    if (argc != 2) return fprintf(stderr, "usage: %s MODEL < LINES\n", argv[0]), 2;
    if (rf_engine_open(NULL, argv[1], NULL, &engine, &why)) return fprintf(stderr, "%s\n", why.text), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, serve, NULL)) return fprintf(stderr, "no thread\n"), 1;
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    rf_engine_get_state(engine, &now);
    fprintf(stderr, "%lld jobs in %lld batches, %.0f tokens/s\n", (long long)now.done, (long long)now.batches,
            now.tokens_per_second);
    rf_engine_close(engine);
    return 0;
}
