/* bench_save.c — how long training waits for a checkpoint: a short run in a folder below the current one, whose disk is
 * measured, with background and synchronous saves alternating.
 *
 *     waits     the run stands still: for a whole synchronous save; in the background, until everything has been
 *               read when the weights are to change
 *     longer    the two steps after a save, minus two steps without one: the waiting, and the cores and memory that the
 *               writer uses
 *
 * The first save of each run is a warm-up: it finds a disk cache that has not been used. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "cli/bench/bench.h"
#include "roformer/context.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"

enum { SAVES = 4, EVERY = 4, STEPS = SAVES * EVERY + 1, TEXTS = 400, WORDS = 100, WARM = 1 };

typedef struct saving {
    bench_job *j;
    double at[STEPS + 1], waited[STEPS + 1];                        /* after each step, before its save               */
    int seen;
    double bytes;                                                   /* size of a checkpoint                           */
} saving;

/* ---- random words ---- */

static rf_status put_text(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const int64_t V = c->vocab_size, least = (int64_t)CLI_COUNT(special);
    const size_t capacity = 16 * (size_t)((V > TEXTS * WORDS ? V : TEXTS * WORDS) + 1);
    char *text = malloc(capacity), path[4096];
    size_t n = 0;
    rf_rng r;
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: words");
    rf_rng_init(&r, 42, 8);
    for (int64_t i = 0; i < V; i++)
        n += (size_t)(i < least ? snprintf(text + n, capacity - n, "%s\n", special[i])
                                : snprintf(text + n, capacity - n, "w%lld\n", (long long)i));
    rf_tokenizer *t = NULL;
    rf_status status = rf_tokenizer_new(ctx, text, n, "words", NULL, &t, why);
    if (!status) status = rf_tokenizer_save(t, folder, why);
    rf_tokenizer_free(t);
    n = 0;
    for (int i = 0; i < TEXTS * WORDS; i++)
        n += (size_t)snprintf(text + n, capacity - n, "w%lld%s",
                              (long long)(least + (int64_t)rf_rng_below(&r, (uint32_t)(V - least))),
                              i % WORDS == WORDS - 1 ? "\n\n" : " ");
    if (!status) status = cli_join(path, sizeof path, folder, "corpus.txt", why);
    if (!status) status = cli_write_file(path, text, n, why);
    free(text);
    return status ? status : rf_config_write(ctx, folder, c, why);
}

/* ---- a run ---- */

static double bytes_of(const char *folder)
{
    static const char *const file[] = {RF_FILE_WEIGHTS, RF_FILE_MOMENTS};
    double sum = 0;
    char path[4096];
    rf__os_state st;
    for (size_t i = 0; i < CLI_COUNT(file); i++)
        if (!cli_join(path, sizeof path, folder, file[i], NULL) && !rf__os_look(path, &st)) sum += (double)st.size;
    return sum;
}

static int note_step(void *user, const rf_train_progress *p)
{
    saving *s = user;
    if (!strcmp(p->event, "step") && p->step <= STEPS) {
        s->seen = (int)p->step;
        s->at[p->step] = cli_seconds();
        s->waited[p->step] = p->save_wait;
    }
    if (!strcmp(p->event, "save") && s->bytes == 0) s->bytes = bytes_of(p->note);
    return cli_stopped() ? RF_TRAIN_STOP : RF_TRAIN_GO;
}

static rf_status train(saving *s, const char *folder, bool synchronously, rf_error *why)
{
    bench_job *j = s->j;
    char text[4096], config[4096], out[4096];
    const char *const texts[] = {text};
    rf_train_options o;
    rf_train_defaults(&o);
    rf_status status = cli_join(text, sizeof text, folder, "corpus.txt", why);
    if (!status) status = cli_join(config, sizeof config, folder, RF_FILE_CONFIG, why);
    if (!status) status = cli_join(out, sizeof out, folder, "out", why);
    if (status) return status;
    o.text = texts;
    o.texts = 1;
    o.model = folder;
    o.config = config;
    o.output_dir = out;
    o.tokens_per_batch = j->now.N;
    o.max_length = j->now.N / j->now.B > 8 ? j->now.N / j->now.B : 8;
    o.max_steps = STEPS;
    o.eval_steps = 0;
    o.save_steps = EVERY;
    o.save_total_limit = 1;
    o.learning_rate = 1e-5;
    o.bf16 = j->b.type == RF_BF16;
    o.gradient_checkpointing = j->a->checkpoints;
    o.save_synchronously = synchronously;
    s->seen = 0;
    status = rf_pretrain(j->b.io->ctx, &o, note_step, s, why);
    rf__os_remove_tree(out);
    return status;
}

/* ---- rows ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Adds the saves after steps EVERY, 2 EVERY, ...; waiting for the previous save is included. */
static void add_run(const saving *s, double *wait, double *longer, double *plain)
{
    double without[STEPS];
    int n = 0;
    for (int step = 2; step < STEPS; step++)
        if (step < EVERY || step % EVERY > 1) without[n++] = s->at[step + 1] - s->at[step];
    *plain = median(without, n);
    for (int i = WARM; i < SAVES; i++) {
        const int at = EVERY * (i + 1), last = at + EVERY < STEPS ? at + EVERY : STEPS,
                  two = at + 2 < STEPS ? at + 2 : STEPS;
        wait[i - WARM] = s->waited[last] - s->waited[at];
        longer[i - WARM] = s->at[two] - s->at[at] - (two - at) * *plain;
    }
}

static void put_row(bench_job *j, const char *what, double bytes, double *wait, double *longer, int n, double plain)
{
    bench *b = &j->b;
    const double middle = median(wait, n), most = wait[n - 1], more = median(longer, n);
    if (b->json) {
        cli_json_add(&b->rows,
                     json_pack("{s:s,s:s,s:s,s:f,s:i,s:f,s:f,s:f,s:f}", "bench", b->kind, "what", what, "shape",
                               j->now.name, "megabytes", 1e-6 * bytes, "saves", n, "wait_ms", 1e3 * middle,
                               "longest_wait_ms", 1e3 * most, "longer_ms", 1e3 * more, "step_ms", 1e3 * plain));
        return;
    }
    if (!b->header)
        printf("%-14s %-10s %8s %6s %10s %10s %10s %10s\n", "what", "shape", "MB", "saves", "waits, ms", "most, ms",
               "longer, ms", "step, ms");
    b->header = true;
    printf("%-14s %-10s %8.0f %6d %10.1f %10.1f %10.1f %10.1f\n", what, j->now.name, 1e-6 * bytes, n, 1e3 * middle,
           1e3 * most, 1e3 * more, 1e3 * plain);
}

static rf_status save_shape(bench_job *j)
{
    enum { ROUNDS = 2, N = ROUNDS * (SAVES - WARM) };
    static const char *const what[] = {"background", "synchronous"};
    double wait[2][N], longer[2][N], plain[2][ROUNDS];
    char folder[] = "roformer-bench-XXXXXX";
    rf_error *why = &j->b.io->why;
    saving s = {.j = j};
    if (rf__os_temporary_folder(folder))
        return rf_fail(why, RF_EIO, "%s: cannot create: the current folder is what this measures", folder);
    cli_signals_catch();
    rf_status status = put_text(j->b.io->ctx, folder, &j->config, why);
    for (int i = 0; i < 2 * ROUNDS && !status; i++) {
        const int kind = i % 2, at = i / 2;
        status = train(&s, folder, kind, why);
        if (!status)
            add_run(&s, wait[kind] + at * (SAVES - WARM), longer[kind] + at * (SAVES - WARM), &plain[kind][at]);
    }
    rf__os_remove_tree(folder);
    for (int kind = 0; kind < 2 && !status; kind++)
        put_row(j, what[kind], s.bytes, wait[kind], longer[kind], N, median(plain[kind], ROUNDS));
    return status;
}

rf_status bench_save(bench_job *j)
{
    static const char *const usual[] = {"8x128", NULL};
    if (!j->a->config && !j->a->model) j->config.vocab_size = 30522;
    return bench_each_shape(j, usual, save_shape);
}
