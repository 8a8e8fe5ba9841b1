/* test_rules.c — mirrors src/optim/optimizer.c, schedule.c and average.c in complete runs: every optimizer and schedule
 * resumes to the same bits, averages of weights are saved in the model, loss spikes are skipped. */
#define _GNU_SOURCE
#include "roformer/checkpoint.h"
#include "store/store.h"
#include "train/divergence.h"
#include "whole_run.h"

/* ---- the same bits ---- */

static void choose(rf_train_options *o, int optim, int schedule)
{
    o->optim = (rf_optim)optim;
    o->lr_scheduler_type = (rf_schedule)schedule;
    o->lr_schedule = "3:1,9:0.5,15:0.1";
    o->num_cycles = 2;
    o->adafactor_beta1 = 0.5;
    o->scale_parameter = schedule % 2;
    o->ema_decay = schedule % 2 ? 0.8 : 0;
    o->max_loss_spike = 3;
    o->report_to = schedule % 2 ? RF_REPORT_TENSORBOARD : RF_REPORT_NONE;
}

static off_t size_of(const char *folder, const char *name)
{
    struct stat st;
    char *path = tiny_path(folder, name);
    const off_t size = stat(path, &st) ? -1 : st.st_size;
    free(path);
    return size;
}

static void every_rule_resumes(void **state)
{
    (void)state;
    for (int schedule = RF_SCHEDULE_LINEAR; schedule <= RF_SCHEDULE_ONE_CYCLE; schedule++) {
        const int optim = schedule % (RF_OPTIM_MUON + 1);
        run a = with_options(1), b = with_options(1);
        choose(&a.o, optim, schedule);
        choose(&b.o, optim, schedule);
        must(&a, RF_OK);
        b.o.stop_after = 11;
        must(&b, RF_ESTOPPED);
        rf_train_options again;
        rf_train_defaults(&again);
        again.output_dir = b.out;
        again.resume_from_checkpoint = "latest";
        b.o = again;
        must(&b, RF_OK);
        static const char *const file[] = {"model.safetensors", "checkpoint-20/model.safetensors",
                                           "checkpoint-20/optimizer.safetensors", "checkpoint-20/ema.safetensors"};
        const size_t files = schedule % 2 ? 4 : 3;
        assert_true(tiny_has(a.out, file[3]) == (files == 4));
        for (size_t i = 0; i < files; i++)
            if (tiny_crc(a.out, file[i]) != tiny_crc(b.out, file[i]))
                fail_msg("rule %d, schedule %d: %s differs", optim, schedule, file[i]);
        if (files == 4) assert_int_equal(tiny_crc(a.out, "model.safetensors"), tiny_crc(a.out, file[3]));
        const off_t sizes[] = {size_of(a.out, "events.out.tfevents.roformer"),
                               size_of(b.out, "events.out.tfevents.roformer")};
        assert_true(sizes[0] == sizes[1] && (sizes[0] > 0) == (files == 4));       /* no record twice, none missing */
        b.o.optim = optim == RF_OPTIM_LION ? RF_OPTIM_SGD : RF_OPTIM_LION;
        must(&b, RF_EDATA);
        t_failed(&b.why, RF_EDATA, "a resumed run cannot change optim");
        end(&a);
        end(&b);
    }
}

/* ---- means ---- */

/* A tensor of a folder's model.safetensors, in double. */
static double *values(const run *r, const char *name, size_t *n)
{
    char *path = tiny_path(r->out, name);
    rf_weights *w;
    if (rf_weights_open(r->ctx, path, &w, NULL)) fail_msg("%s cannot be opened", path);
    const rf_weight *t = rf__weights_find(w, "roformer.encoder.layer.1.output.dense.weight");
    float *x = malloc(t->count * sizeof *x);
    double *y = malloc(t->count * sizeof *y);
    assert_int_equal(rf__weights_read(w, t, x, 1, NULL), RF_OK);
    *n = t->count;
    for (size_t i = 0; i < *n; i++) y[i] = x[i];
    rf_weights_close(w);
    free(x);
    free(path);
    return y;
}

/* 0.75, 0.25 from the weights that every step leaves: a checkpoint at each.  Twenty roundings of f32. */
static void the_mean_moves_as_printed(void **state)
{
    (void)state;
    run r = with_options(1);
    size_t n;
    r.o.save_steps = 1;
    r.o.ema_decay = 0.75;
    must(&r, RF_OK);
    double *mean = values(&r, "checkpoint-1", &n), *got = values(&r, "model.safetensors", &n);
    for (int step = 2; step <= 20; step++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoint-%d", step);
        double *w = values(&r, name, &n);
        for (size_t i = 0; i < n; i++) mean[i] = 0.75 * mean[i] + 0.25 * w[i];
        free(w);
    }
    for (size_t i = 0; i < n; i++) t_near(got[i], mean[i], 20 * 0x1p-24 * (fabs(mean[i]) + 0.1));
    free(mean);
    free(got);
    end(&r);
}

/* The evaluation at the end is that of the saved model. */
static void the_mean_is_evaluated(void **state)
{
    (void)state;
    run r = with_options(1);
    char *path = tiny_path(r.out, "metrics.jsonl"), line[1024];
    const char *valid[1];
    rf_mlm_metrics s;
    double last = 0, plain = 0;
    r.o.ema_decay = 0.9;
    r.o.validation_text = valid;
    valid[0] = tiny_path(r.model, "valid.txt");
    tiny_write_corpus(r.model, "valid.txt", 40, 99);
    r.o.validation_texts = 1;
    must(&r, RF_OK);
    FILE *f = fopen(path, "r");
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        if (json_object_get(j, "eval_loss")) last = json_number_value(json_object_get(j, "eval_loss"));
        json_decref(j);
    }
    fclose(f);
    rf_train_options o = r.o;
    o.text = valid;
    o.model = r.out;
    if (rf_evaluate_mlm(r.ctx, &o, &s, &r.why)) fail_msg("%s", r.why.text);
    t_near(s.loss, last, 1e-5);                                      /* the same masks; sums in another order */
    char *checkpoint = tiny_path(r.out, "checkpoint-20");
    o.model = checkpoint;
    if (rf_evaluate_mlm(r.ctx, &o, &s, &r.why)) fail_msg("%s", r.why.text);
    plain = s.loss;
    assert_true(fabs(plain - last) > 1e-4);
    free(checkpoint);
    free(path);
    free((void *)(uintptr_t)valid[0]);
    end(&r);
}

static void the_last_checkpoints_are_averaged(void **state)
{
    (void)state;
    run r = with_options(1);
    size_t n;
    r.o.average_last = 3;
    must(&r, RF_OK);
    noted(&r, "the model is the mean of checkpoints 20, 16, 12\n");
    double *a = values(&r, "checkpoint-20", &n), *b = values(&r, "checkpoint-16", &n),
           *c = values(&r, "checkpoint-12", &n);
    double *got = values(&r, "model.safetensors", &n);
    for (size_t i = 0; i < n; i++)
        t_near(got[i], (a[i] + b[i] + c[i]) / 3, 4 * 0x1p-24 * (fabs(a[i]) + fabs(b[i]) + fabs(c[i])));
    free(a);
    free(b);
    free(c);
    free(got);
    end(&r);
}

/* Evaluations of the log, by step / 4 - 1. */
static void losses(const run *r, double loss[5])
{
    char *path = tiny_path(r->out, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(j, "eval_loss");
        if (value) loss[json_integer_value(json_object_get(j, "step")) / 4 - 1] = json_number_value(value);
        json_decref(j);
    }
    fclose(f);
    free(path);
}

/* The two of five checkpoints with the smallest held-out loss, or the largest if larger is declared better: they are
 * kept, whatever else is removed. */
static void the_best_checkpoints_are_averaged(void **state)
{
    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        run r = with_options(1);
        double loss[5], sign = larger ? -1 : 1;
        char note[100], name[2][40];
        size_t n;
        int best = 0, second = -1;
        r.o.average_best = 2;
        r.o.eval_steps = r.o.save_steps = 4;
        r.o.save_total_limit = 1;
        if (larger) r.o.greater_is_better = RF_GREATER_TRUE;
        must(&r, RF_OK);
        losses(&r, loss);
        for (int i = 1; i < 5; i++)
            if (sign * loss[i] < sign * loss[best]) best = i;
        for (int i = 0; i < 5; i++)
            if (i != best && (second < 0 || sign * loss[i] < sign * loss[second])) second = i;
        snprintf(note, sizeof note, "the model is the mean of checkpoints %d, %d\n", 4 * best + 4, 4 * second + 4);
        noted(&r, note);
        snprintf(name[0], sizeof name[0], "checkpoint-%d", 4 * best + 4);
        snprintf(name[1], sizeof name[1], "checkpoint-%d", 4 * second + 4);
        double *a = values(&r, name[0], &n), *b = values(&r, name[1], &n), *got = values(&r, "model.safetensors", &n);
        for (size_t i = 0; i < n; i++) t_near(got[i], (a[i] + b[i]) / 2, 4 * 0x1p-24 * (fabs(a[i]) + fabs(b[i])));
        assert_in_range(tiny_count(r.out, "checkpoint-"), 2, 3);
        free(a);
        free(b);
        free(got);
        end(&r);
    }
}

/* ---- spikes ---- */

/* Which updates are skipped follows from the losses in the log: a limit of half a deviation is exceeded now and
 * then. */
static void spikes_are_skipped(void **state)
{
    (void)state;
    run r = with_options(1);
    char *path = tiny_path(r.out, "metrics.jsonl"), line[1024];
    double mean = 0, variance = 0;
    int seen = 0, spikes = 0;
    r.o.max_steps = 120;
    r.o.logging_steps = 1;
    r.o.eval_steps = 0;
    r.o.save_steps = 0;
    r.o.learning_rate = 1e-7;                                        /* losses do not fall, they scatter */
    r.o.max_loss_spike = 0.5;
    must(&r, RF_OK);
    FILE *f = fopen(path, "r");
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(j, "loss");
        const bool skipped = json_is_true(json_object_get(j, "skipped"));
        const double loss = json_number_value(value), away = loss - mean, limit = 0.5 * sqrt(variance);
        if (json_is_number(value)) {
            if (fabs(away - limit) > 1e-6) assert_true(skipped == (seen >= 20 && away > limit));
            if (skipped) {
                assert_true(json_is_true(json_object_get(j, "spike")));
                spikes++;
            } else {
                const double share = 1.0 / (++seen < 100 ? seen : 100);
                mean += share * away;
                variance = (1 - share) * (variance + share * away * away);
            }
        }
        json_decref(j);
    }
    fclose(f);
    print_message("           %d updates, %d spikes\n", seen, spikes);
    assert_true(spikes > 3 && seen + spikes == 120);
    noted(&r, "the loss is far above what it was: the update is skipped");
    free(path);
    end(&r);
}

/* By the rule of docs/reliability.md (T10b), from the losses in the log. */
static bool has_diverged(const run *r)
{
    char *path = tiny_path(r->out, "metrics.jsonl"), line[1024];
    double x[RF_LOSS_BLOCK], lowest = INFINITY, noise = 0;
    int n = 0, above = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (above < 2 && fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(j, "loss");
        if (json_is_number(value) && !json_is_true(json_object_get(j, "skipped"))) x[n++] = json_number_value(value);
        json_decref(j);
        if (n < RF_LOSS_BLOCK) continue;
        double sum = 0, squares = 0;
        while (n) n--, sum += x[n], squares += x[n] * x[n];
        const double mean = sum / RF_LOSS_BLOCK, own = (squares / RF_LOSS_BLOCK - mean * mean) / (RF_LOSS_BLOCK - 1);
        above = mean > 1.25 * lowest + 1 && mean - lowest > 5 * sqrt(fmax(own, 0) + noise) ? above + 1 : 0;
        if (mean < lowest) lowest = mean, noise = fmax(own, 0);
    }
    fclose(f);
    free(path);
    return above == 2;
}

static int times_noted(const run *r, const char *part)
{
    int n = 0;
    for (const char *at = r->notes; (at = strstr(at, part)); at++) n++;
    return n;
}

/* A learning rate that jumps from small to absurd.  The result is chaotic, and differs by processor: the run may end
 * with skipped updates (T9); the loss may stay high, or recover; the note is printed once if the log shows divergence.
 * test_divergence.c has the series that must be detected. */
static void divergence_is_noted(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 100;
    r.o.logging_steps = 1;
    r.o.eval_steps = 0;
    r.o.save_steps = 0;
    r.o.learning_rate = 1;
    r.o.lr_scheduler_type = RF_SCHEDULE_PIECEWISE;
    r.o.lr_schedule = "30:0.001,31:1";
    const rf_status status = go(&r);
    if (status && status != RF_ENUMERIC) fail_msg("%s", r.why.text);
    const bool diverged = has_diverged(&r);
    print_message("           status %d, diverged: %d\n", status, diverged);
    const char *note = "the run has diverged; resume from a checkpoint before that step (--resume)";
    assert_int_equal(times_noted(&r, note), diverged);
    end(&r);

    r = with_options(1);                                             /* a handful of masked tokens in a batch */
    r.o.max_steps = 300;
    r.o.logging_steps = 1;
    r.o.eval_steps = 0;
    r.o.save_steps = 0;
    must(&r, RF_OK);
    assert_false(has_diverged(&r));
    assert_int_equal(times_noted(&r, "diverged"), 0);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_resumes),
        cmocka_unit_test(the_mean_moves_as_printed),
        cmocka_unit_test(the_mean_is_evaluated),
        cmocka_unit_test(the_last_checkpoints_are_averaged),
        cmocka_unit_test(the_best_checkpoints_are_averaged),
        cmocka_unit_test(spikes_are_skipped),
        cmocka_unit_test(divergence_is_noted),
    };
    return cmocka_run_group_tests_name("train/rules", tests, NULL, NULL);
}
