/* test_run_trouble.c — mirrors src/train/start.c and loop.c: whole runs, in this process, that are refused, or meet
 * damage, full disks, numbers that are none and lack of memory. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>

#include "base/os/os.h"
#include "model/params/params.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"
#include "whole_run.h"

/* ---- refusing ---- */

static void one_run_in_a_folder(void **state)
{
    (void)state;
    run r = with_options(1);
    int lock;
    assert_int_equal(rf__folder_lock(r.out, &lock, NULL), RF_OK);
    must(&r, RF_EBUSY);
    t_failed(&r.why, RF_EBUSY, ".lock: used by another run: process");
    close(lock);
    end(&r);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    tiny_write_corpus(r.model, "corpus.txt", 280, 5);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_EDATA);
    t_failed(&r.why, RF_EDATA, "expected the text, vocabulary and max_length of ");
    r.o.max_length = 24;
    tiny_write_corpus(r.model, "corpus.txt", 300, 1);
    must(&r, RF_EDATA);
    r.o.allow_data_change = 1;
    must(&r, RF_ESTOPPED);
    noted(&r, "a new epoch begins");
    noted(&r, "options that differ from the checkpoint's: max_length");
    end(&r);
}

static int last_epoch(void *user, const rf_train_progress *p)
{
    double *last = user;
    if (!strcmp(p->event, "step")) *last = p->epoch;
    return RF_TRAIN_GO;
}

/* Two epochs, begun with small batches and ended with large ones, or the other way round, end where two epochs of one
 * size do, up to a batch; stopped once more on the way, with the same bits. */
static void other_batches_end_with_the_last_epoch(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{128, 512, 1}, {512, 128, 1}, {256, 256, 4}};
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        uint32_t crc[2];
        double last = 0;
        for (int stopped = 0; stopped < 2; stopped++) {
            run r = with_options(1);
            r.text[0] = r.corpus;
            r.o.max_steps = 0;
            r.o.num_train_epochs = 2;
            r.o.gradient_accumulation_steps = 1;
            r.o.tokens_per_batch = sizes[i][0];
            r.o.stop_after = 20;
            must(&r, RF_ESTOPPED);
            r.o.resume_from_checkpoint = "latest";
            r.o.tokens_per_batch = sizes[i][1];
            r.o.gradient_accumulation_steps = sizes[i][2];
            r.o.stop_after = 2;
            if (stopped) must(&r, RF_ESTOPPED);
            r.o.stop_after = 0;
            if (rf_pretrain(r.ctx, &r.o, last_epoch, &last, &r.why)) fail_msg("%s", r.why.text);
            if (!(last > 1.95 && last < 2.05))
                fail_msg("%d tokens, then %d: the last epoch is %g", (int)sizes[i][0], (int)sizes[i][1], last);
            crc[stopped] = tiny_crc(r.out, "model.safetensors");
            end(&r);
        }
        assert_int_equal(crc[0], crc[1]);
    }
}

static void other_architecture_is_refused(void **state)
{
    (void)state;
    run r = with_options(1);
    static const char other[] = "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"hidden_size\": 48, "
                                "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"intermediate_size\": 64}";
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    t_write(r.model, "other.json", other, sizeof other - 1);
    char *path = tiny_path(r.model, "other.json");
    r.o.config = path;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "expected the architecture of");
    free(path);
    end(&r);
}

/* A checkpoint of another version, or of other kernels, is taken, and said to be. */
static void other_versions_are_told(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_ESTOPPED);
    assert_null(strstr(r.notes, "written by version"));
    assert_null(strstr(r.notes, "computed by kernels"));
    char *path = tiny_path(r.out, "checkpoint-8"), *file = tiny_path(path, "trainer_state.json"),
         *list = tiny_path(path, "COMPLETE");
    json_t *saved = json_load_file(file, 0, NULL);
    assert_int_equal(
        strncmp(json_string_value(json_object_get(saved, "kernels")), rf_ctx_isa(r.ctx), strlen(rf_ctx_isa(r.ctx))), 0);
    json_object_set_new(saved, "version", json_string("0.0.7"));
    json_object_set_new(saved, "kernels", json_string("abacus, built-in"));
    assert_int_equal(json_dump_file(saved, file, JSON_REAL_PRECISION(17)), 0);
    json_decref(saved);
    unlink(list);
    assert_int_equal(rf__checksums_write(r.ctx, path, "COMPLETE", NULL, NULL), RF_OK);
    free(list);
    must(&r, RF_ESTOPPED);
    noted(&r, "written by version \"0.0.7\"");
    noted(&r, "computed by kernels \"abacus, built-in\", this run's are");
    free(path);
    free(file);
    end(&r);
}

static void text_may_be_gone(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    unlink(r.corpus);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    same(result_of(r.out, 20), expected);
    char *cache = tiny_path(r.out, "tokens.cache");
    unlink(cache);
    free(cache);
    must(&r, RF_EIO);
    t_failed(&r.why, RF_EIO, "corpus.txt");
    end(&r);
}

static void says_what_is_missing(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.model = NULL;
    must(&r, RF_EARG);
    r.o.output_dir = NULL;
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "output_dir");
    r.o.resume_from_checkpoint = "/nowhere/checkpoint-3";
    must(&r, RF_EIO);
    t_failed(&r.why, RF_EIO, "cannot open the checkpoint");
    r.o = tiny_options(r.model, r.text, r.out);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_EDATA);
    t_failed(&r.why, RF_EDATA, "expected a checkpoint to resume from, got none");
    r.o.resume_from_checkpoint = NULL;
    t_write(r.model, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n", 28);
    must(&r, RF_EDATA);
    t_failed(&r.why, RF_EDATA, "[MASK]");
    end(&r);
}

/* ---- damage, full disks, numbers ---- */

static void falls_back_to_an_intact_checkpoint(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    r.o.stop_after = 12;
    must(&r, RF_ESTOPPED);
    char *state12 = tiny_path(r.out, "checkpoint-12/optimizer.safetensors"), *whole = tiny_path(r.out, "checkpoint-12");
    assert_int_equal(truncate(state12, 5000), 0);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = whole;
    must(&r, RF_EDATA);                                              /* asked for by name: nothing is assumed */
    t_failed(&r.why, RF_EDATA, "got a damaged one (optimizer.safetensors: 5000 bytes instead of");
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "checkpoint-12 damaged (optimizer.safetensors: 5000 bytes instead of ");
    noted(&r, "using checkpoint-8");
    assert_int_equal(r.steps, 12);
    same(result_of(r.out, 20), expected);
    free(state12);
    free(whole);
    end(&r);
}

/* Files cannot grow beyond 20 KB: no checkpoint can be saved, the earlier ones and the bits stay. */
static void space_for_no_checkpoint(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    struct rlimit limit, small;
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 20000;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const rf_status status = go(&r);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, before);
    assert_int_equal(status, RF_EIO);
    t_failed(&r.why, RF_EIO, "3 checkpoints in a row could not be saved");
    noted(&r, "no checkpoint at step 8: ");
    noted(&r, "no checkpoint at step 12: ");
    assert_int_equal(tiny_count(r.out, "checkpoint-"), 1);
    assert_int_equal(tiny_count(r.out, ".tmp"), 0);
    must(&r, RF_OK);
    same(result_of(r.out, 20), expected);
    end(&r);
}

/* A model whose numbers overflow: every update is skipped, and the weights that are there stay as they are. */
static void not_finite(void **state)
{
    (void)state;
    run r = with_options(1);
    rf_config c;
    rf_params p;
    char *path = tiny_path(r.model, "model.safetensors");
    assert_int_equal(rf_config_read(r.ctx, r.model, &c, NULL), RF_OK);
    c.vocab_size = 34;
    assert_int_equal(rf__params_new(r.ctx, &c, &p, NULL), RF_OK);
    float *slab = calloc(p.total, sizeof *slab);
    rf__params_init(&p, slab, 1);
    for (size_t i = 0; i < p.n; i++)
        if (strstr(p.p[i].name, "layer.0.intermediate.dense.weight"))
            for (size_t j = 0; j < p.p[i].count; j++) slab[p.p[i].offset + j] = 3e38f;
    assert_int_equal(rf__params_save(&p, slab, RF_F32, path, NULL), RF_OK);
    r.o.eval_steps = 0;
    must(&r, RF_ENUMERIC);
    t_failed(&r.why, RF_ENUMERIC, "10 updates in a row were skipped: the loss is not finite");
    noted(&r, "starting from the weights in ");
    noted(&r, "the update is skipped (10 in a row)");
    assert_true(tiny_has(r.out, "checkpoint-8"));
    assert_int_equal(tiny_crc(r.out, "checkpoint-8/model.safetensors"), tiny_crc(r.model, "model.safetensors"));
    free(slab);
    free(path);
    rf__params_free(&p);
    end(&r);
}

/* ---- the n-th allocation fails ---- */

static void out_of_memory_anywhere(void **state)
{
    (void)state;
    run r = begin(1, "ref");
    t_memory memory = {0};
    rf_ctx *usual = r.ctx;
    r.ctx = t_counting_ctx(1, "ref", &memory);
    r.o = tiny_options(r.model, r.text, r.out);
    r.o.max_steps = 1;
    r.o.tokens_per_batch = 64;
    tiny_write_corpus(r.model, "corpus.txt", 12, 1);
    const long live = memory.live;
    long n = 1, refused = 0;
    for (bool reached = true; reached; n++) {
        rf__os_remove_tree(r.out);
        memory.calls = 0;
        memory.fail = n;
        memory.forever = n % 2;
        const rf_status status = go(&r);
        reached = memory.calls >= n;
        memory.fail = 0;
        refused += status != RF_OK;
        if (memory.live != live) fail_msg("allocation %ld: %ld blocks are lost", n, memory.live - live);
        if (status && status != RF_ENOMEM) fail_msg("allocation %ld: %s", n, r.why.text);
        if (!reached) assert_int_equal(status, RF_OK);
    }
    print_message("           %ld allocations, %ld of their failures end the run\n", n - 2, refused);
    assert_true(refused > 50);
    rf_ctx_free(r.ctx);
    r.ctx = usual;
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_in_a_folder),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(other_batches_end_with_the_last_epoch),
        cmocka_unit_test(other_architecture_is_refused),
        cmocka_unit_test(other_versions_are_told),
        cmocka_unit_test(text_may_be_gone),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(falls_back_to_an_intact_checkpoint),
        cmocka_unit_test(space_for_no_checkpoint),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(out_of_memory_anywhere),
    };
    return cmocka_run_group_tests_name("train/run_trouble", tests, NULL, NULL);
}
