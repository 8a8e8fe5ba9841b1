/* test_rounds.c — mirrors src/pipeline/engine/rounds.c: jobs that come while others are computed get the bits of
 * rf_embed_texts; canceled jobs, failing allocations and closing end only the affected jobs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "roformer/engine.h"
#include "small_pipeline.h"

enum { TEXTS = 40, EACH = 3, JOBS = 120, C = 32, WIDTH = 64 };

static const char config[] =
    "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 64, \"hidden_size\": 32, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64, "
    "\"max_position_embeddings\": 48}";

typedef struct rounds_setup {
    setup s;
    rf_engine *e;
    char *text[TEXTS + EACH];
    float *expected; /* [TEXTS + EACH, C] */
    atomic_int go;   /* the engine waits for it */
    atomic_int overlaps, done;
} rounds_setup;

static void begin(rounds_setup *x, rf_ctx *ctx)
{
    rf_engine_options o;
    const float *v;
    x->s = (setup){.ctx = ctx, .folder = tiny_model()};
    t_write(x->s.folder, "config.json", config, sizeof config - 1);
    random_weights(ctx, x->s.folder, 5);
    open_pipeline(&x->s);
    for (unsigned i = 0; i < TEXTS + EACH; i++) {
        x->text[i] = t_bytes(1024);
        int at = 0;
        for (unsigned k = 0; k < 1 + i * 7 % 5; k++) at += tiny_sentence(x->text[i] + at, (size_t)(1024 - at), i, k);
    }
    if (rf_embed_texts(x->s.p, (const char *const *)x->text, NULL, TEXTS + EACH, NULL, &v, NULL, &x->s.why))
        fail_msg("%s", x->s.why.text);
    x->expected = t_floats((TEXTS + EACH) * C);
    memcpy(x->expected, v, (TEXTS + EACH) * C * sizeof *v);
    rf_engine_defaults(&o);
    o.max_batch_tokens = 600;
    if (rf_engine_open(ctx, x->s.folder, &o, &x->e, &x->s.why)) fail_msg("%s", x->s.why.text);
}

static void finish(rounds_setup *x)
{
    rf_engine_close(x->e);
    end(&x->s);
}

/* Keeps the engine busy, so that jobs wait. */
static rf_status wait_for_go(void *user, rf_pipeline *p, rf_error *why)
{
    rounds_setup *x = user;
    (void)p, (void)why;
    while (!atomic_load(&x->go)) usleep(100);
    return RF_OK;
}

static rf_engine_job *hold(rounds_setup *x)
{
    rf_engine_job *job;
    atomic_store(&x->go, 0);
    if (rf_engine_call(x->e, wait_for_go, x, NULL, &job, &x->s.why)) fail_msg("%s", x->s.why.text);
    return job;
}

/* Counts the jobs that end while others are computed: those of the next round. */
static void note_end(void *user, rf_engine_job *job)
{
    rounds_setup *x = user;
    rf_engine_state now;
    (void)job;
    rf_engine_get_state(x->e, &now);
    atomic_fetch_add(&x->overlaps, now.running > 0);
    atomic_fetch_add(&x->done, 1);
}

static unsigned first_text(int i) { return (unsigned)i * 11 % TEXTS; }

static rf_engine_job *submit(rounds_setup *x, int i, int notes)
{
    rf_engine_job *job = NULL;
    rf_engine_job_options o;
    rf_engine_job_defaults(&o);
    if (notes) o.done = note_end, o.user = x;
    if (rf_engine_embed(x->e, (const char *const *)x->text + first_text(i), NULL, EACH, NULL, &o, &job, &x->s.why))
        fail_msg("%s", x->s.why.text);
    return job;
}

static void check_result(const rounds_setup *x, rf_engine_job *job, int i)
{
    int64_t n, D;
    const float *v = rf_engine_result(job, &n, &D);
    assert_true(v && n == EACH && D == C);
    assert_memory_equal(v, x->expected + first_text(i) * C, EACH * C * sizeof *v);
}

static void jobs_join_while_others_run(void **state)
{
    rounds_setup x = {.overlaps = 0};
    rf_engine_job *job[JOBS];
    rf_engine_state now;
    (void)state;
    begin(&x, t_ctx(2, NULL));
    for (int lap = 0; lap < 20 && !atomic_load(&x.overlaps); lap++) {
        rf_engine_job *held = hold(&x);
        for (int i = 0; i < JOBS; i++) job[i] = submit(&x, i, 1);
        atomic_store(&x.go, 1);
        for (int i = 0; i < JOBS; i++) {
            assert_int_equal(rf_engine_wait(job[i], -1, &x.s.why), RF_OK);
            check_result(&x, job[i], i);
            rf_engine_job_free(job[i]);
        }
        assert_int_equal(atomic_load(&x.done), (lap + 1) * JOBS);
        rf_engine_job_free(held);
        rf_engine_get_state(x.e, &now);
        assert_int_equal(now.waiting + now.running + now.waiting_tokens + now.running_tokens, 0);
        assert_true(now.batches > lap && now.tokens_per_second > 0 && now.running_seconds <= 0);
    }
    assert_true(atomic_load(&x.overlaps) > 0);
    finish(&x);
}

/* Every second job is canceled or freed, before and during the computation; then all of them. */
static void canceled_jobs_do_not_disturb_others(void **state)
{
    rounds_setup x = {.overlaps = 0};
    rf_engine_job *job[JOBS];
    (void)state;
    begin(&x, t_ctx(2, NULL));
    for (int lap = 0; lap < 12; lap++) {
        const int every = lap % 3 ? 2 : 1;
        rf_engine_job *held = hold(&x);
        for (int i = 0; i < JOBS; i++) job[i] = submit(&x, i, lap % 2);
        atomic_store(&x.go, 1);
        if (lap % 4) rf_engine_wait(job[lap * 5], -1, NULL); /* some have been computed */
        for (int i = 0; i < JOBS; i += every)
            if (i % 4) rf_engine_cancel(job[i]);
            else rf_engine_job_free(job[i]), job[i] = NULL;
        for (int i = 0; i < JOBS; i++) {
            if (!job[i]) continue;
            const rf_status status = rf_engine_wait(job[i], -1, &x.s.why);
            if (!status) check_result(&x, job[i], i);
            else assert_true(status == RF_ECANCELED && !(i % every));
            rf_engine_job_free(job[i]);
        }
        rf_engine_job_free(held);
    }
    finish(&x);
}

static void closing_ends_the_rounds(void **state)
{
    rf_engine_job *job[JOBS];
    (void)state;
    for (int lap = 0; lap < 4; lap++) {
        rounds_setup x = {.overlaps = 0};
        begin(&x, t_ctx(2, NULL));
        rf_engine_job *held = hold(&x);
        for (int i = 0; i < JOBS; i++) job[i] = submit(&x, i, 1);
        atomic_store(&x.go, 1);
        rf_engine_wait(job[lap * 20], -1, NULL);
        rf_engine_close(x.e);
        for (int i = 0; i < JOBS; i++) {
            if (!rf_engine_wait(job[i], 0, &x.s.why)) check_result(&x, job[i], i);
            else t_failed(&x.s.why, RF_ECANCELED, "canceled: the engine was closed");
            rf_engine_job_free(job[i]);
        }
        rf_engine_job_free(held);
        assert_int_equal(atomic_load(&x.done), JOBS);
        end(&x.s);
    }
}

static void memory_ends(void **state)
{
    rounds_setup x = {.overlaps = 0};
    rf_engine_job *job[JOBS / 4];
    t_memory memory = {0};
    int refused = 0;
    (void)state;
    begin(&x, t_counting_ctx(2, NULL, &memory));
    for (long n = 0; n < 40; n++) {
        rf_engine_job *held = hold(&x);
        for (int i = 0; i < JOBS / 4; i++) job[i] = submit(&x, i, 0);
        memory.fail = memory.calls + 1 + n;
        memory.forever = n % 2;
        atomic_store(&x.go, 1);
        for (int i = 0; i < JOBS / 4; i++) {
            const rf_status status = rf_engine_wait(job[i], -1, &x.s.why);
            if (status) assert_int_equal(status, RF_ENOMEM);
            else check_result(&x, job[i], i);
            refused += status != RF_OK;
        }
        memory.fail = 0;
        for (int i = 0; i < JOBS / 4; i++) rf_engine_job_free(job[i]);
        rf_engine_job_free(held);
    }
    assert_true(refused > 5);
    finish(&x);
    assert_int_equal(memory.live, 0);
}

/* Row `row` of the word embeddings becomes finite numbers whose sum is not. */
static void poison(const char *folder, long row)
{
    enum { SIZE = 1 << 20 };
    char *path = tiny_path(folder, "model.safetensors"), *file = malloc(SIZE);
    FILE *f = fopen(path, "r+b");
    const float large = 3e38f;
    uint64_t header;
    assert_true(f && file && fread(file, 1, SIZE, f) > 8);
    memcpy(&header, file, 8);
    file[8 + header] = 0;
    const char *entry = strstr(file + 8, "embeddings.word_embeddings.weight");
    const long begin = strtol(strchr(strstr(entry, "data_offsets"), '[') + 1, NULL, 10);
    fseek(f, 8 + (long)header + begin + row * WIDTH * (long)sizeof large, SEEK_SET);
    for (int i = 0; i < WIDTH; i++) fwrite(&large, sizeof large, 1, f);
    fclose(f);
    free(file);
    free(path);
}

/* A text that has no vector fails, but not the jobs that are computed with it. */
static void a_failing_text_fails_only_its_job(void **state)
{
    rounds_setup x = {.overlaps = 0};
    rf_engine_job *job[JOBS];
    rf_encoding one;
    (void)state;
    begin(&x, t_ctx(2, NULL));
    rf_engine_close(x.e);
    rf_encoding_init(&one, x.s.ctx);
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(x.s.p));
    assert_int_equal(rf_encode(t, "zzz", 3, NULL, 0, 0, 0, &one, NULL, NULL), RF_OK);
    poison(x.s.folder, one.id[1]); /* that of unknown words */
    rf_encoding_clear(&one);
    if (rf_engine_open(x.s.ctx, x.s.folder, NULL, &x.e, &x.s.why)) fail_msg("%s", x.s.why.text);
    for (int jobs = 3; jobs <= JOBS; jobs *= 40) {
        rf_engine_job *held = hold(&x);
        for (int i = 0; i < jobs; i++) {
            const char *bad[] = {"the zzz"};
            if (i % 60 != 1) job[i] = submit(&x, i, 1);
            else assert_int_equal(rf_engine_embed(x.e, bad, NULL, 1, NULL, NULL, &job[i], &x.s.why), RF_OK);
        }
        atomic_store(&x.go, 1);
        for (int i = 0; i < jobs; i++) {
            assert_int_equal(rf_engine_wait(job[i], -1, &x.s.why), i % 60 == 1 ? RF_ENUMERIC : RF_OK);
            if (i % 60 != 1) check_result(&x, job[i], i);
            rf_engine_job_free(job[i]);
        }
        rf_engine_job_free(held);
    }
    finish(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_join_while_others_run),
        cmocka_unit_test(canceled_jobs_do_not_disturb_others),
        cmocka_unit_test(closing_ends_the_rounds),
        cmocka_unit_test(a_failing_text_fails_only_its_job),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("pipeline/rounds", tests, NULL, NULL);
}
