/* test_start_folder.c — mirrors src/train/start_folder.c, src/train/log/journal.c: which folders a run may write, and
 * what of an earlier run's stays. */
#define _GNU_SOURCE
#include "base/os/os.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/folder.h"
#include "train/log/journal.h"
#include "whole_run.h"

static char *text_of(const char *folder, const char *name)
{
    char *path = tiny_path(folder, name), *text;
    size_t size;
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    fseek(f, 0, SEEK_END);
    size = (size_t)ftell(f);
    rewind(f);
    text = calloc(size + 1, 1);
    assert_int_equal(fread(text, 1, size, f), size);
    fclose(f);
    free(path);
    return text;
}

/* Everything that a refused run must leave as it was. */
typedef struct kept { char *metrics; uint32_t model; int checkpoints; } kept;

static kept keep(const char *folder)
{
    const bool model = tiny_has(folder, "model.safetensors");
    return (kept){text_of(folder, "metrics.jsonl"), model ? tiny_crc(folder, "model.safetensors") : 0,
                  tiny_count(folder, "checkpoint-")};
}

static void is_kept(const char *folder, kept *k)
{
    kept now = keep(folder);
    assert_string_equal(now.metrics, k->metrics);
    assert_int_equal(now.model, k->model);
    assert_int_equal(now.checkpoints, k->checkpoints);
    free(now.metrics);
    free(k->metrics);
}

/* ---- a run that is not resumed ---- */

/* In place: the first time yes, over weights that are there no. */
static void does_not_train_over_weights(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.output_dir = NULL;
    r.o.max_steps = 2;
    must(&r, RF_OK);
    char *checkpoint = tiny_path(r.model, "checkpoint-2");
    const uint32_t crc = tiny_crc(r.model, "model.safetensors");
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "expected a folder without checkpoints, got checkpoint-2 of an earlier run");
    rf__os_remove_tree(checkpoint);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "expected a folder without weights");
    assert_int_equal(tiny_crc(r.model, "model.safetensors"), crc);
    r.o.output_dir = r.out;
    must(&r, RF_OK);
    noted(&r, "starting from the weights in ");
    free(checkpoint);
    end(&r);
}

/* A finished model without its checkpoints, named with output_dir: nothing of it changes, its log neither. */
static void a_finished_model_stays(void **state)
{
    (void)state;
    static const char *const weights[] = {"model.safetensors", "model.safetensors.index.json"};
    run r = with_options(1);
    r.o.max_steps = 4;
    must(&r, RF_OK);
    char *checkpoint = tiny_path(r.out, "checkpoint-4"), *from = tiny_path(r.out, weights[0]),
         *to = tiny_path(r.out, weights[1]);
    rf__os_remove_tree(checkpoint);
    for (size_t i = 0; i < RF_COUNT(weights); i++) {
        kept k = keep(r.out);
        must(&r, RF_EARG);
        t_failed(&r.why, RF_EARG, "expected a folder without weights");
        is_kept(r.out, &k);
        if (!i) assert_int_equal(rename(from, to), 0);
    }
    free(checkpoint);
    free(from);
    free(to);
    end(&r);
}

static void does_not_run_over_an_earlier_run(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    kept k = keep(r.out);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "expected a folder without checkpoints, got checkpoint-4");
    is_kept(r.out, &k);
    end(&r);
}

/* ---- a run that is resumed ---- */

/* Other options, so that the future is another; its bits are those of a run that never had the first one. */
static result another_future(const run *r, const char *checkpoint)
{
    run other = *r;
    char *out = strdup(t_folder());
    other.o.output_dir = out;
    other.o.resume_from_checkpoint = checkpoint;
    other.o.learning_rate = 2e-3;
    must(&other, RF_OK);
    assert_null(strstr(other.notes, "metrics.jsonl is shorter"));
    noted(&other, " begins after step 8; earlier steps are in the folder of ");
    const result expected = result_of(out, 20);
    free(out);
    return expected;
}

/* Back to step 8 of 20, stopped at 11: "latest" is 11 of the new future, not 20 of the old one. */
static void going_back_leaves_the_future(void **state)
{
    (void)state;
    run r = with_options(1);
    must(&r, RF_OK);
    char *eight = tiny_path(r.out, "checkpoint-8");
    const uint32_t old = tiny_crc(r.out, "checkpoint-20/model.safetensors"), was = tiny_crc(r.out, "model.safetensors");
    const result expected = another_future(&r, eight);
    r.o.resume_from_checkpoint = eight;
    r.o.learning_rate = 2e-3;
    r.o.stop_after = 3;
    must(&r, RF_ESTOPPED);
    noted(&r, "continuing from step 8; files of later steps are renamed to "
              "abandoned-model.safetensors, abandoned-checkpoint-12, abandoned-checkpoint-16, abandoned-checkpoint-20");
    assert_int_equal(tiny_crc(r.out, "abandoned-checkpoint-20/model.safetensors"), old);
    assert_int_equal(tiny_crc(r.out, "abandoned-model.safetensors"), was);      /* no model of a future that was left */
    assert_true(!tiny_has(r.out, "model.safetensors") && !tiny_has(r.out, "checksums.json"));
    char *whole = tiny_path(r.out, "abandoned-checkpoint-20");
    assert_int_equal(rf__checkpoint_verify(r.ctx, whole, &r.why), RF_OK);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    assert_int_equal(r.steps, 9);
    assert_null(strstr(r.notes, "set aside"));
    const result got = result_of(r.out, 20);
    assert_int_equal(got.model, expected.model);
    assert_int_equal(got.optimizer, expected.optimizer);
    assert_int_equal(tiny_crc(r.out, "abandoned-checkpoint-20/model.safetensors"), old);

    r.o.resume_from_checkpoint = whole;                              /* its lines of the log were cut: not here */
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "metrics.jsonl: expected the log of the resumed run");
    same(result_of(r.out, 20), got);
    r.o.resume_from_checkpoint = eight;                              /* a second time: nothing is overwritten */
    r.o.stop_after = 1;
    must(&r, RF_ESTOPPED);
    assert_true(tiny_has(r.out, "abandoned-model.safetensors-2"));
    assert_true(tiny_has(r.out, "abandoned-checkpoint-20-2") && tiny_has(r.out, "abandoned-checkpoint-20"));
    assert_int_equal(tiny_crc(r.out, "abandoned-checkpoint-20/model.safetensors"), old);
    free(whole);
    free(eight);
    end(&r);
}

/* A run that is not let in changes nothing, neither the checkpoints' names nor the log. */
static void a_refusal_sets_nothing_aside(void **state)
{
    (void)state;
    run r = with_options(1);
    must(&r, RF_OK);
    char *eight = tiny_path(r.out, "checkpoint-8");
    kept k = keep(r.out);
    tiny_write_corpus(r.model, "corpus.txt", 280, 5);
    r.o.resume_from_checkpoint = eight;
    must(&r, RF_EDATA);
    assert_int_equal(tiny_count(r.out, "abandoned"), 0);
    is_kept(r.out, &k);
    free(eight);
    end(&r);
}

/* What a resumed run would not look at: it has the weights and the tokenizer of its checkpoint.  The model that the run
 * began with may be said again, by any path. */
static void another_model_beside_a_checkpoint_is_refused(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    char *other = tiny_model(), *four = tiny_path(r.out, "checkpoint-4"), *same = tiny_path(r.model, ".");
    kept k = keep(r.out);
    const char *const resume[] = {"latest", four};
    for (size_t i = 0; i < RF_COUNT(resume); i++) {
        r.o.resume_from_checkpoint = resume[i];
        r.o.model = other;
        must(&r, RF_EARG);
        t_failed(&r.why, RF_EARG, "model: ");
        t_failed(&r.why, RF_EARG, "a resumed run has the weights and the tokenizer of its checkpoint, so leave it out");
        is_kept(r.out, &k);
        k = keep(r.out);
    }
    const char *const fine[] = {same, r.out, four, NULL};
    for (size_t i = 0; i < RF_COUNT(fine); i++) {
        r.o.resume_from_checkpoint = four;
        r.o.model = fine[i];
        r.o.stop_after = 1;
        must(&r, RF_ESTOPPED);
    }
    free(k.metrics);
    free(other);
    free(four);
    free(same);
    end(&r);
}

/* A checkpoint resumed in a folder that is another run's: unfinished, finished, or because it was moved there. */
static void not_into_another_runs_folder(void **state)
{
    (void)state;
    run r = with_options(1), other = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    other.o.seed = 8;
    other.o.stop_after = 12;
    must(&other, RF_ESTOPPED);
    char *eight = tiny_path(r.out, "checkpoint-8");
    r.o.resume_from_checkpoint = eight;
    r.o.output_dir = other.out;
    kept k = keep(other.out);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "got checkpoint-12 of another run");
    is_kept(other.out, &k);

    other.o.stop_after = 0;
    other.o.resume_from_checkpoint = "latest";
    must(&other, RF_OK);
    for (int step = 4; step <= 20; step += 4) {
        char name[32], *path;
        snprintf(name, sizeof name, "checkpoint-%d", step);
        path = tiny_path(other.out, name);
        rf__os_remove_tree(path);
        free(path);
    }
    k = keep(other.out);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "expected a folder without weights");
    is_kept(other.out, &k);

    char *moved = tiny_path(other.out, "checkpoint-8");              /* moved there by hand: its log is not there */
    assert_int_equal(rename(eight, moved), 0);
    r.o.resume_from_checkpoint = moved;
    r.o.output_dir = NULL;
    k = keep(other.out);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "metrics.jsonl: expected the log of the resumed run");
    is_kept(other.out, &k);
    free(moved);
    free(eight);
    end(&r);
    end(&other);
}

/* ---- logs ---- */

static void a_log_is_known_by_its_bytes(void **state)
{
    (void)state;
    static const char text[] = "{\"step\":1}\n{\"step\":2}\n";
    const char *folder = t_folder();
    const int64_t line = 11;
    const uint32_t crc = rf__crc32c(0, text, (size_t)line);
    rf_error why = {0};
    assert_int_equal(rf__journal_known(folder, "log", line, crc, true, &why), RF_OK);          /* none is there */
    t_write(folder, "log", "", 0);
    assert_int_equal(rf__journal_known(folder, "log", line, crc, true, &why), RF_OK);
    t_write(folder, "log", text, sizeof text - 1);
    assert_int_equal(rf__journal_known(folder, "log", line, crc, true, &why), RF_OK);
    assert_int_equal(rf__journal_known(folder, "log", 0, 0, true, &why), RF_OK);
    assert_int_equal(rf__journal_known(folder, "log", line, 0, true, &why), RF_OK);            /* an older version's */
    assert_int_equal(rf__journal_known(folder, "log", line - 3, 0, false, &why), RF_OK);
    rf__journal_known(folder, "log", line - 3, 0, true, &why);
    t_failed(&why, RF_EARG, "whose first 8 bytes differ");
    why = (rf_error){0};
    rf__journal_known(folder, "log", line, crc + 1, true, &why);
    t_failed(&why, RF_EARG, "expected the log of the resumed run");
    why = (rf_error){0};
    rf__journal_known(folder, "log", 100, crc, true, &why);
    t_failed(&why, RF_EARG, "expected the log of the resumed run");
}

static void a_log_counts_its_bytes(void **state)
{
    (void)state;
    const char *folder = t_folder();
    rf__journal j;
    assert_int_equal(rf__journal_open(folder, "log", 0, &j, NULL), RF_OK);
    assert_int_equal(rf__journal_append(&j, "one\n", 4, NULL), RF_OK);
    assert_int_equal(rf__journal_append(&j, "two\n", 4, NULL), RF_OK);
    assert_true(j.bytes == 8 && j.crc == rf__crc32c(0, "one\ntwo\n", 8));
    rf__journal_close(&j);
    assert_int_equal(rf__journal_open(folder, "log", 4, &j, NULL), RF_OK);
    assert_true(j.bytes == 4 && j.crc == rf__crc32c(0, "one\n", 4));
    assert_int_equal(rf__journal_append(&j, "2\n", 2, NULL), RF_OK);
    assert_true(j.crc == rf__crc32c(0, "one\n2\n", 6));
    rf__journal_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_not_train_over_weights),
        cmocka_unit_test(a_finished_model_stays),
        cmocka_unit_test(does_not_run_over_an_earlier_run),
        cmocka_unit_test(going_back_leaves_the_future),
        cmocka_unit_test(a_refusal_sets_nothing_aside),
        cmocka_unit_test(another_model_beside_a_checkpoint_is_refused),
        cmocka_unit_test(not_into_another_runs_folder),
        cmocka_unit_test(a_log_is_known_by_its_bytes),
        cmocka_unit_test(a_log_counts_its_bytes),
    };
    return cmocka_run_group_tests_name("train/start_folder", tests, NULL, NULL);
}
