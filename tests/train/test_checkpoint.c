/* test_checkpoint.c — mirrors src/train/checkpoint/checkpoint.c, checksums.c, folder.c, state.c and metrics.c. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "model/model.h"
#include "tiny.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"
#include "train/log/metrics.h"

/* ---- state ---- */

static void state_keeps_every_bit(void **unused)
{
    (void)unused;
    rf_ctx *ctx = t_ctx(1, NULL);
    char *path = tiny_path(t_folder(), "trainer_state.json");
    rf__state a, b;
    json_t *options = json_pack("{s:i}", "seed", 5), *back = NULL;
    rf_error why = {0};
    rf__state_init(&a);
    a.step = 123456789012;
    a.data = 0xfedcba9876543210;
    a.interval.loss = 0.1 + 0.2;
    a.best_metric = 1.0 / 3;
    snprintf(a.version, sizeof a.version, "%s", rf_version());
    rf__state_kernels(ctx, a.kernels);
    const int64_t piece = ctx->k->gemm_panel_shape()->piece;
    assert_int_equal(strstr(a.kernels, "k in pieces of") != NULL, piece != 0);      /* a resumed run compares it */
    a.position = (rf__data_position){.epoch = 3, .index = 99, .waits = 2, .waiting = {{2, 7}, {3, 123456}}};
    assert_int_equal(rf__state_save(ctx, &a, options, 1.5, path, &why), RF_OK);
    assert_int_equal(rf__state_load(ctx, path, &b, &back, &why), RF_OK);
    assert_true(isnan(b.eval_loss) && isnan(b.eval_accuracy));
    a.eval_loss = b.eval_loss = a.eval_accuracy = b.eval_accuracy = 0;
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(json_equal(options, back));
    json_decref(back);
    json_decref(options);
    free(path);
    rf_ctx_free(ctx);
}

static void bad_states_are_refused(void **unused)
{
    (void)unused;
    static const struct { const char *text, *part; rf_status status; } c[] = {
        {"", "trainer_state.json", RF_EDATA},
        {"{}", "format", RF_EUNSUPPORTED},
        {"{\"format\": \"roformer-trainer-1\"}", "global_step: expected ... got another one",
         RF_EDATA},
        {"{\"format\": \"roformer-trainer-1\", \"global_step\": -1}", "global_step", RF_EDATA},
        {"{\"format\": \"roformer-trainer-1\", \"global_step\": 1.5}", "global_step", RF_EDATA},
        /* cannot go on */
        {"{\"format\": \"roformer-trainer-1\", \"global_step\": 9223372036854775807}", "global_step", RF_EDATA},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder = t_folder();
    char *path = tiny_path(folder, "trainer_state.json");
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        rf__state s;
        json_t *options;
        rf_error why = {0};
        t_write(folder, "trainer_state.json", c[i].text, strlen(c[i].text));
        rf__state_load(ctx, path, &s, &options, &why);
        t_failed(&why, c[i].status, c[i].part);
    }
    free(path);
    rf_ctx_free(ctx);
}

/* ---- checkpoints ---- */

typedef struct fixture {
    rf_ctx *ctx;
    char *model, *out;
    rf_tokenizer *tokenizer;
    rf_params params;
    rf__optimizer optimizer;
    rf__state state;
    rf__checkpoint c;
} fixture;

static void open_fixture(fixture *f)
{
    rf_config config;
    const rf__rule rule = {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    *f = (fixture){.ctx = t_ctx(1, NULL), .model = tiny_model(), .out = strdup(t_folder())};
    assert_int_equal(rf_config_read(f->ctx, f->model, &config, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_open(f->ctx, f->model, &f->tokenizer, NULL), RF_OK);
    assert_int_equal(rf__params_new(f->ctx, &config, &f->params, NULL), RF_OK);
    assert_int_equal(rf__optimizer_new(&f->params, &rule, &f->optimizer, NULL), RF_OK);
    rf__params_init(&f->params, f->optimizer.value, 1);
    rf__state_init(&f->state);
    f->c = (rf__checkpoint){f->ctx, f->tokenizer, &f->optimizer, &f->state, json_object(), NULL, 0, NULL, NULL, NULL};
}

static void close_fixture(fixture *f)
{
    json_decref(f->c.options);
    rf__optimizer_free(&f->optimizer);
    rf__params_free(&f->params);
    rf_tokenizer_free(f->tokenizer);
    rf_ctx_free(f->ctx);
    free(f->model);
    free(f->out);
}

static void save(fixture *f, int64_t step)
{
    char path[4096];
    rf_error why = {0};
    f->state.step = step;
    if (rf__checkpoint_save(&f->c, f->out, path, sizeof path, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf__checkpoint_verify(f->ctx, path, &why), RF_OK);
}

static void is_a_model_folder(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f);
    save(&f, 5);
    char *path = tiny_path(f.out, "checkpoint-5");
    rf_model *m;
    rf_error why = {0};
    if (rf_model_open(f.ctx, path, &m, &why)) fail_msg("%s", why.text);
    assert_true(rf_model_has_head(m));
    assert_non_null(rf_model_tokenizer(m));
    assert_string_equal(rf__model_ignored(m), "");
    rf_model_close(m);
    save(&f, 5);                                                     /* over the one that is there */
    assert_int_equal(tiny_count(f.out, "checkpoint-"), 1);
    assert_int_equal(tiny_count(f.out, ".tmp"), 0);
    free(path);
    close_fixture(&f);
}

static void not_finite_is_not_saved(void **unused)
{
    (void)unused;
    fixture f;
    char path[4096];
    rf_error why = {0};
    open_fixture(&f);
    f.optimizer.value[f.params.p[4].offset] = NAN;
    f.state.step = 6;
    rf__checkpoint_save(&f.c, f.out, path, sizeof path, &why);
    t_failed(&why, RF_ENUMERIC, f.params.p[4].name);
    assert_int_equal(tiny_count(f.out, "checkpoint-"), 0);
    assert_int_equal(tiny_count(f.out, ".tmp"), 0);
    close_fixture(&f);
}

static void change_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    fseek(f, at, SEEK_SET);
    const int byte = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
}

/* Every kind of damage is detected and reported, and the newest intact checkpoint is used. */
static void damage_is_seen(void **unused)
{
    (void)unused;
    static const struct { const char *file, *what, *part; } c[] = {
        {"model.safetensors", "flip", "checkpoint-9 damaged (model.safetensors: CRC), using checkpoint-3"},
        {"optimizer.safetensors", "cut", "checkpoint-9 damaged (optimizer.safetensors: "},
        {"optimizer.safetensors", "empty", "checkpoint-9 damaged (optimizer.safetensors: 0 bytes instead of "},
        {"trainer_state.json", "remove", "checkpoint-9 damaged (trainer_state.json: missing)"},
        {"vocab.txt", "flip", "checkpoint-9 damaged (vocab.txt: CRC)"},
        {"vocab.txt", "pipe", "checkpoint-9 damaged (vocab.txt: cannot be read)"},
        {"COMPLETE", "remove", "checkpoint-9 damaged (COMPLETE: missing)"},
        {"COMPLETE", "flip", "checkpoint-9 damaged (COMPLETE"},
        {"COMPLETE", "empty", "checkpoint-9 damaged (COMPLETE"},
    };
    fixture f;
    open_fixture(&f);
    save(&f, 3);
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        char path[4096], file[4096], note[512];
        rf_error why = {0};
        save(&f, 9);
        snprintf(file, sizeof file, "%s/checkpoint-9/%s", f.out, c[i].file);
        if (!strcmp(c[i].what, "flip")) change_byte(file, 50);
        else if (!strcmp(c[i].what, "remove")) unlink(file);
        else if (!strcmp(c[i].what, "pipe")) assert_true(!unlink(file) && !mkfifo(file, 0666));   /* nobody writes it */
        else assert_int_equal(truncate(file, !strcmp(c[i].what, "cut") ? 1000 : 0), 0);
        if (rf__checkpoint_latest(f.ctx, f.out, path, sizeof path, note, sizeof note, &why)) fail_msg("%s", why.text);
        if (!strstr(note, c[i].part)) fail_msg("\"%s\" lacks \"%s\"", note, c[i].part);
        assert_non_null(strstr(path, "checkpoint-3"));
    }
    char path[4096], note[512], only[4096];
    rf_error why = {0};
    snprintf(only, sizeof only, "%s/checkpoint-3/config.json", f.out);
    change_byte(only, 2);
    rf__checkpoint_latest(f.ctx, f.out, path, sizeof path, note, sizeof note, &why);
    t_failed(&why, RF_EDATA, "no intact checkpoint: checkpoint-9 damaged");
    why = (rf_error){0};
    rf__checkpoint_latest(f.ctx, f.model, path, sizeof path, note, sizeof note, &why);
    t_failed(&why, RF_EDATA, "expected a checkpoint to resume from, got none");
    close_fixture(&f);
}

typedef struct told { int files, damaged; char text[512]; } told;

static void on_damage(void *user, const char *file, const char *damage)
{
    told *t = user;
    const size_t n = strlen(t->text);
    t->files++;
    t->damaged += damage != NULL;
    if (damage) snprintf(t->text + n, sizeof t->text - n, "%s %s;", file, damage);
}

/* With a report the comparison continues to the end, and names every damaged file. */
static void all_damage_is_told(void **unused)
{
    (void)unused;
    fixture f;
    told t = {0};
    rf_error why = {0};
    open_fixture(&f);
    save(&f, 3);
    char *path = tiny_path(f.out, "checkpoint-3"), *vocab = tiny_path(path, "vocab.txt"),
         *config = tiny_path(path, "config.json");
    assert_int_equal(rf_checksums_verify(f.ctx, path, "COMPLETE", on_damage, &t, &why), RF_OK);
    assert_int_equal(t.files, 7);                                    /* all but the list */
    assert_int_equal(t.damaged, 0);
    change_byte(config, 2);
    unlink(vocab);
    t = (told){0};
    rf_checksums_verify(f.ctx, path, "COMPLETE", on_damage, &t, &why);
    t_failed(&why, RF_EDATA, "config.json: CRC");
    assert_int_equal(t.files, 7);
    assert_string_equal(t.text, "config.json CRC;vocab.txt missing;");
    free(path);
    free(vocab);
    free(config);
    close_fixture(&f);
}

static void extra_files_do_no_harm(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f);
    save(&f, 3);
    char *path = tiny_path(f.out, "checkpoint-3");
    t_write(path, "notes.txt", "mine", 4);
    assert_int_equal(rf__checkpoint_verify(f.ctx, path, NULL), RF_OK);
    free(path);
    close_fixture(&f);
}

/* ---- the folder ---- */

static void keeps_the_newest_and_the_best(void **unused)
{
    (void)unused;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder = t_folder();
    static const int steps[] = {2, 4, 6, 8, 10, 100};
    for (size_t i = 0; i < RF_COUNT(steps); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/checkpoint-%d", folder, steps[i]);
        mkdir(path, 0777);
        t_write(path, "file", "x", 1);
    }
    t_write(folder, "checkpoint-x", "", 0);
    t_write(folder, "checkpoint-007", "", 0);
    rf__checkpoints_prune(ctx, folder, 10, 2, (int64_t[]){4}, 1);   /* 100 is of a future that comes again */
    assert_false(tiny_has(folder, "checkpoint-2"));
    assert_true(tiny_has(folder, "checkpoint-4"));
    assert_false(tiny_has(folder, "checkpoint-6"));
    assert_true(tiny_has(folder, "checkpoint-8"));
    assert_true(tiny_has(folder, "checkpoint-10"));
    assert_true(tiny_has(folder, "checkpoint-100"));
    assert_true(tiny_has(folder, "checkpoint-x"));
    assert_int_equal(tiny_count(folder, ".tmp"), 0);
    rf__checkpoints_prune(ctx, folder, 10, 0, NULL, 0);
    assert_true(tiny_has(folder, "checkpoint-8"));
    rf_ctx_free(ctx);
}

static void sweeps_what_dead_runs_left(void **unused)
{
    (void)unused;
    const char *folder = strdup(t_folder());
    char name[64], path[4096];
    snprintf(path, sizeof path, "%s/.tmp-12-345", folder);
    mkdir(path, 0777);
    t_write(path, "model.safetensors", "x", 1);
    snprintf(name, sizeof name, "tokens.cache.tmp-%ld-0", (long)getpid());          /* the lock is ours */
    t_write(folder, name, "x", 1);
    t_write(folder, "model.safetensors.tmp-999999999-12", "x", 1);
    snprintf(name, sizeof name, "vocab.txt.tmp-%ld-0", (long)getpid());
    t_write(folder, name, "x", 1);                                   /* of a process that lives */
    static const char *const others[] = {".tmp-mine", ".tmp-12-mine", "notes.tmp-mine", "notes.tmp-999999999",
                                         "notes.tmp-999999999-mine"};
    for (size_t i = 0; i < RF_COUNT(others); i++) t_write(folder, others[i], "x", 1);
    snprintf(path, sizeof path, "%s/notes.tmp-999999999-1", folder);
    mkdir(path, 0777);
    t_write(path, "thesis.txt", "x", 1);
    rf__folder_sweep(folder);
    assert_int_equal(tiny_count(folder, "tmp"), RF_COUNT(others) + 2);
    assert_true(tiny_has(folder, name) && tiny_has(folder, "notes.tmp-999999999-1"));
    for (size_t i = 0; i < RF_COUNT(others); i++) assert_true(tiny_has(folder, others[i]));
    free((void *)(uintptr_t)folder);
}

static bool is_weights(void *user, const char *name) { return (void)user, !strcmp(name, "model.safetensors"); }

static void sweeps_only_own_files(void **unused)
{
    (void)unused;
    const char *folder = strdup(t_folder());
    static const char *const others[] = {".tmp-12-345", "notes.tmp-999999999-1", "model.safetensors.tmp-1-2.bak"};
    for (size_t i = 0; i < RF_COUNT(others); i++) t_write(folder, others[i], "x", 1);
    t_write(folder, "model.safetensors.tmp-999999999-3", "x", 1);
    rf__folder_sweep_files(folder, is_weights, NULL);
    assert_int_equal(tiny_count(folder, "tmp"), RF_COUNT(others));
    for (size_t i = 0; i < RF_COUNT(others); i++) assert_true(tiny_has(folder, others[i]));
    free((void *)(uintptr_t)folder);
}

static void one_run_at_a_time(void **unused)
{
    (void)unused;
    const char *folder = t_folder();
    char pid[64];
    int first, second;
    rf_error why = {0};
    snprintf(pid, sizeof pid, "process %ld on ", (long)getpid());
    assert_int_equal(rf_run_alive(folder), 0);
    assert_int_equal(rf__folder_lock(folder, &first, &why), RF_OK);
    assert_int_equal(rf_run_alive(folder), 1);
    rf__folder_lock(folder, &second, &why);
    t_failed(&why, RF_EBUSY, pid);
    close(first);
    assert_int_equal(rf_run_alive(folder), 0);
    assert_int_equal(rf__folder_lock(folder, &second, NULL), RF_OK);
    close(second);
}

/* For a process on another machine, its log shows whether it runs. */
static void a_run_elsewhere(void **unused)
{
    (void)unused;
    const char *folder = t_folder();
    char path[4096];
    t_write(folder, ".lock", "process 1 on another-machine since\n", 35);
    assert_int_equal(rf_run_alive(folder), 0);
    t_write(folder, "metrics.jsonl", "{}\n", 3);
    assert_int_equal(rf_run_alive(folder), 1);
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){{1000, 0}, {1000, 0}}, 0), 0);
    assert_int_equal(rf_run_alive(folder), 0);
    t_write(folder, ".lock", "nonsense\n", 9);
    assert_int_equal(rf_run_alive(folder), 0);
    assert_int_equal(rf_run_alive(NULL), 0);
}

/* The contents of a run's folder, by the names that a tool uses. */
static void folders_say_what_they_hold(void **unused)
{
    (void)unused;
    fixture f;
    rf_checkpoints all = {0};
    rf_error why = {0};
    open_fixture(&f);
    char *path = tiny_path(f.out, "checkpoint-12");
    save(&f, 12);
    save(&f, 3);
    assert_int_equal(rf_checkpoints_list(f.ctx, f.out, &all, NULL), RF_OK);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.step[0], 3);
    assert_int_equal(all.step[1], 12);
    rf_checkpoints_free(&all);
    rf_checkpoints_free(&all);
    assert_string_equal(rf_checksums_found(path), "COMPLETE");
    assert_null(rf_checksums_found(f.out));
    assert_int_equal(rf_checkpoints_list(f.ctx, "no such folder", &all, &why), RF_EIO);
    assert_int_equal(rf_checkpoints_list(f.ctx, NULL, &all, NULL), RF_EARG);
    assert_int_equal(rf_checksums_verify(f.ctx, path, NULL, NULL, NULL, NULL), RF_EARG);
    assert_null(rf_checksums_found(NULL));
    free(path);
    close_fixture(&f);
}

static void folders_with_their_parents(void **unused)
{
    (void)unused;
    char path[4096];
    rf_error why = {0};
    const char *folder = t_folder();
    snprintf(path, sizeof path, "%s/a/b c/d", folder);
    assert_int_equal(rf__folder_make(path, &why), RF_OK);
    assert_int_equal(rf__folder_make(path, &why), RF_OK);
    t_write(folder, "file", "", 0);
    snprintf(path, sizeof path, "%s/file/x", folder);
    rf__folder_make(path, &why);
    t_failed(&why, RF_EIO, "file");
    why = (rf_error){0};
    snprintf(path, sizeof path, "%s/file", folder);
    rf__folder_make(path, &why);
    t_failed(&why, RF_EIO, "file: expected a directory, got a file");
    why = (rf_error){0};
    rf__folder_make("", &why);
    t_failed(&why, RF_EARG, "output_dir");
}

/* ---- metrics ---- */

static void metrics_are_cut_to_what_counts(void **unused)
{
    (void)unused;
    const char *folder = t_folder();
    rf__metrics m;
    char text[256] = "";
    assert_int_equal(rf__metrics_open(folder, 0, &m, NULL), RF_OK);
    assert_int_equal(rf__metrics_add(&m, json_pack("{s:i}", "step", 1), NULL), RF_OK);
    const int64_t kept = m.bytes;
    assert_int_equal(rf__metrics_add(&m, json_pack("{s:i}", "step", 2), NULL), RF_OK);
    assert_int_equal(rf__journal_sync(&m, NULL), RF_OK);
    assert_int_equal(write(m.fd, "{\"ste", 5), 5);                   /* half a line, as a kill leaves it */
    rf__journal_close(&m);
    assert_int_equal(rf__metrics_open(folder, kept, &m, NULL), RF_OK);
    assert_int_equal(m.bytes, kept);
    assert_int_equal(rf__metrics_add(&m, json_pack("{s:i}", "step", 3), NULL), RF_OK);
    assert_true(pread(m.fd, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, "{\"step\":1}\n{\"step\":3}\n");
    rf__journal_close(&m);
    assert_int_equal(rf__metrics_open(folder, 1 << 20, &m, NULL), RF_OK);   /* longer than there is */
    assert_int_equal(m.bytes, (int64_t)strlen(text));
    rf__journal_close(&m);
}

/* A line that does not fit is removed completely. */
static void a_full_disk_leaves_no_half_line(void **unused)
{
    (void)unused;
    rf__metrics m;
    rf_error why = {0};
    assert_int_equal(rf__metrics_open(t_folder(), 0, &m, NULL), RF_OK);
    assert_int_equal(rf__metrics_add(&m, json_pack("{s:i}", "step", 1), NULL), RF_OK);
    const int fd = m.fd, full = open("/dev/full", O_WRONLY);
    m.fd = full;
    rf__metrics_add(&m, json_pack("{s:i}", "step", 2), &why);
    assert_int_equal(why.code, RF_EIO);
    m.fd = fd;
    close(full);
    assert_int_equal(m.bytes, (int64_t)strlen("{\"step\":1}\n"));
    rf__journal_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_keeps_every_bit),
        cmocka_unit_test(bad_states_are_refused),
        cmocka_unit_test(is_a_model_folder),
        cmocka_unit_test(not_finite_is_not_saved),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(all_damage_is_told),
        cmocka_unit_test(extra_files_do_no_harm),
        cmocka_unit_test(keeps_the_newest_and_the_best),
        cmocka_unit_test(sweeps_what_dead_runs_left),
        cmocka_unit_test(sweeps_only_own_files),
        cmocka_unit_test(one_run_at_a_time),
        cmocka_unit_test(a_run_elsewhere),
        cmocka_unit_test(folders_say_what_they_hold),
        cmocka_unit_test(folders_with_their_parents),
        cmocka_unit_test(metrics_are_cut_to_what_counts),
        cmocka_unit_test(a_full_disk_leaves_no_half_line),
    };
    return cmocka_run_group_tests_name("train/checkpoint", tests, NULL, NULL);
}
