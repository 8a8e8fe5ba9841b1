/* test_run.c — mirrors src/train/start.c, loop.c and evaluate.c: whole runs, in this process. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>

#include <jansson.h>

#include "model/params.h"
#include "tiny.h"
#include "train/checksums.h"
#include "train/evaluate.h"
#include "train/folder.h"

/* ---- a run and what it said ---- */

typedef struct run {
    rf_ctx *ctx;
    char *model, *out, *corpus;
    const char *text[1];
    rf_train_options o;
    int64_t stop_at;                    /* the report asks to stop at this step, or with -1 at the first event         */
    int64_t save_at;                    /* and for a checkpoint at this one                                             */
    char notes[4096];
    int steps, evals, saves;
    rf_error why;
} run;

static int listen(void *user, const rf_train_progress *p)
{
    run *r = user;
    const size_t n = strlen(r->notes);
    r->steps += !strcmp(p->event, "step");
    r->evals += !strcmp(p->event, "eval");
    r->saves += !strcmp(p->event, "save");
    if (!strcmp(p->event, "note")) snprintf(r->notes + n, sizeof r->notes - n, "%s\n", p->note);
    if (r->save_at && p->step == r->save_at && !strcmp(p->event, "step")) return RF_TRAIN_SAVE;
    return r->stop_at == -1 || (r->stop_at && p->step >= r->stop_at);
}

static run begin(int threads, const char *isa)
{
    run r = {.ctx = t_ctx(threads, isa), .model = tiny_model(), .out = strdup(t_folder())};
    r.corpus = tiny_path(r.model, "corpus.txt");
    return r;
}

static rf_status go(run *r)
{
    r->text[0] = r->corpus;
    r->o.text = r->text;
    r->why = (rf_error){0};
    r->notes[0] = 0;
    r->steps = r->evals = r->saves = 0;
    return rf_pretrain(r->ctx, &r->o, listen, r, &r->why);
}

static run with_options(int threads)
{
    run r = begin(threads, NULL);
    r.o = tiny_options(r.model, r.text, r.out);
    return r;
}

static void end(run *r)
{
    rf_ctx_free(r->ctx);
    free(r->model);
    free(r->out);
    free(r->corpus);
}

static void must(run *r, rf_status want)
{
    const rf_status got = go(r);
    if (got != want) fail_msg("%s: %s", rf_status_text(got), r->why.text);
}

static void noted(const run *r, const char *part)
{
    if (!strstr(r->notes, part)) fail_msg("no note says \"%s\" in:\n%s", part, r->notes);
}

/* All that a run leaves, without what a clock wrote. */
typedef struct result { uint32_t model, optimizer, metrics; int lines; } result;

static result result_of(const char *folder, int64_t last)
{
    char name[64], *path = tiny_path(folder, "metrics.jsonl"), line[1024];
    result r = {.model = tiny_crc(folder, "model.safetensors")};
    snprintf(name, sizeof name, "checkpoint-%d/optimizer.safetensors", (int)last);
    r.optimizer = tiny_crc(folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        if (!j) fail_msg("not JSON: %s", line);
        json_object_del(j, "seconds");
        json_object_del(j, "tokens_per_second");
        json_object_del(j, "eval_seconds");
        json_object_del(j, "input_wait");
        char *text = json_dumps(j, JSON_SORT_KEYS);
        r.metrics = rf__crc32c(r.metrics, text, strlen(text));
        r.lines++;
        free(text);
        json_decref(j);
    }
    fclose(f);
    free(path);
    return r;
}

static void same(result a, result b)
{
    assert_int_equal(a.model, b.model);
    assert_int_equal(a.optimizer, b.optimizer);
    assert_int_equal(a.lines, b.lines);
    assert_int_equal(a.metrics, b.metrics);
}

/* The run that all others are compared with: 20 steps, one thread, never stopped. */
static result straight(void)
{
    static result kept;
    static bool made;
    if (!made) {
        run r = with_options(1);
        must(&r, RF_OK);
        kept = result_of(r.out, 20);
        made = true;
        assert_int_equal(r.steps, 20);
        assert_int_equal(r.evals, 2);
        assert_int_equal(r.saves, 6);                                /* 4, 8, ... 20, and the folder itself */
        assert_int_equal(kept.lines, 20 / 3 + 1 + 2);                /* the last step is logged too */
        end(&r);
    }
    return kept;
}

/* ---- learning ---- */

static double unigram_entropy(const char *corpus)
{
    double count[64] = {0}, sum = 0, entropy = 0;
    char word[32];
    FILE *f = fopen(corpus, "r");
    while (fscanf(f, "%31s", word) == 1) {                           /* verbs are two tokens: one is always ##ing */
        count[rf__hash64(word, strlen(word), 0) % 64]++;
        sum++;
        const size_t n = strlen(word);
        if (n > 4 && !strcmp(word + n - 3, "ing")) count[63]++, sum++;
    }
    fclose(f);
    for (int i = 0; i < 64; i++)
        if (count[i] > 0) entropy -= count[i] / sum * log(count[i] / sum);
    return entropy;
}

/* The sentences follow from two words each, so a model that sees both sides must do far better than word counts, whose
 * entropy is a lower bound for anything that ignores the context. */
static void it_learns(void **state)
{
    (void)state;
    static const char config[] = "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 32, \"hidden_size\": 32,"
                                 " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64,"
                                 " \"hidden_dropout_prob\": 0, \"attention_probs_dropout_prob\": 0}";
    run r = with_options(1);
    t_write(r.model, "config.json", config, sizeof config - 1);
    r.o.max_steps = 400;
    r.o.save_steps = r.o.eval_steps = 200;
    r.o.gradient_accumulation_steps = 1;
    r.o.tokens_per_batch = 512;
    must(&r, RF_OK);
    const rf_train_options o = {.text = r.text, .texts = 1, .model = r.out, .tokens_per_batch = 512, .max_length = 32,
                                .mlm_probability = 0.15, .seed = 3, .gradient_accumulation_steps = 1, .adam_epsilon = 1e-8,
                                .logging_steps = 1, .max_steps = 1};
    rf_mlm_score s;
    if (rf_evaluate_mlm(r.ctx, &o, &s, &r.why)) fail_msg("%s", r.why.text);
    const double unigram = unigram_entropy(r.corpus);
    print_message("           loss %.3f, accuracy %.1f %%; word counts alone %.3f\n", s.loss, 100 * s.accuracy, unigram);
    assert_true(s.loss < 0.6 * unigram);
    assert_true(s.accuracy > 0.6);
    end(&r);
}

/* What is guessed, and how well, does not depend on how the text is packed: sums of floats in another order. */
static void evaluation_does_not_see_the_packing(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 4;
    must(&r, RF_OK);
    rf_mlm_score a, b;
    r.o.model = r.out;
    if (rf_evaluate_mlm(r.ctx, &r.o, &a, &r.why)) fail_msg("%s", r.why.text);
    r.o.tokens_per_batch = 77;
    if (rf_evaluate_mlm(r.ctx, &r.o, &b, &r.why)) fail_msg("%s", r.why.text);
    assert_int_equal(a.labels, b.labels);
    assert_int_equal(a.tokens, b.tokens);
    assert_int_equal(a.documents, 300);
    t_near(a.loss, b.loss, 1e-5 * a.loss);
    t_near(a.accuracy, b.accuracy, 2.0 / (double)a.labels);
    r.o.eval_documents = 10;
    if (rf_evaluate_mlm(r.ctx, &r.o, &b, &r.why)) fail_msg("%s", r.why.text);
    assert_int_equal(b.documents, 10);
    end(&r);
}

/* ---- the same bits ---- */

static void stopped_and_resumed(void **state)
{
    (void)state;
    const result want = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 8);
    assert_false(tiny_has(r.out, "model.safetensors"));
    r.o.resume_from_checkpoint = "latest";
    r.o.stop_after = 3;                                              /* 11: between two saves, two logs, two evaluations */
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.stop_at = 17;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 6);
    r.stop_at = 0;
    must(&r, RF_OK);
    same(result_of(r.out, 20), want);
    r.o.resume_from_checkpoint = r.out;                              /* the folder of the run does as well */
    r.o.output_dir = NULL;
    must(&r, RF_OK);                                                 /* a run that is done stays so */
    assert_int_equal(r.steps, 0);
    same(result_of(r.out, 20), want);
    end(&r);
}

/* A checkpoint says it all: no option, no model folder. */
static void resumed_with_nothing_but_the_checkpoint(void **state)
{
    (void)state;
    const result want = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    char *checkpoint = tiny_path(r.out, "checkpoint-4");
    rf_train_options o;
    rf_train_defaults(&o);
    o.resume_from_checkpoint = checkpoint;
    if (rf_pretrain(r.ctx, &o, NULL, NULL, &r.why)) fail_msg("%s", r.why.text);
    same(result_of(r.out, 20), want);
    free(checkpoint);
    end(&r);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    const result want = straight();
    run r = with_options(2);
    r.o.stop_after = 9;
    must(&r, RF_ESTOPPED);
    r.o.resume_from_checkpoint = "latest";
    r.o.stop_after = 0;
    must(&r, RF_OK);
    same(result_of(r.out, 20), want);
    end(&r);
}

static void seeds_show(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.seed = 8;
    must(&r, RF_OK);
    assert_int_not_equal(result_of(r.out, 20).model, straight().model);
    end(&r);
}

/* ---- stopping ---- */

static void stopped_before_the_first_step(void **state)
{
    (void)state;
    run r = with_options(1);
    r.stop_at = -1;
    must(&r, RF_ESTOPPED);
    assert_int_equal(tiny_count(r.out, "checkpoint-"), 0);
    assert_int_equal(tiny_count(r.out, ".tmp"), 0);
    end(&r);
}

static void stops_when_time_is_up(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_time = 1e-9;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 1);
    assert_true(tiny_has(r.out, "checkpoint-1"));
    end(&r);
}

static void epochs_become_steps(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 0;
    r.o.num_train_epochs = 0.05;
    r.o.eval_steps = 0;
    must(&r, RF_OK);
    assert_true(r.steps > 1 && r.steps < 10);
    end(&r);
}

static void keeps_so_many(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.save_total_limit = 2;
    must(&r, RF_OK);
    assert_true(tiny_has(r.out, "checkpoint-16"));
    assert_true(tiny_has(r.out, "checkpoint-20"));
    assert_in_range(tiny_count(r.out, "checkpoint-"), 2, 3);         /* the best may be an older one */
    end(&r);
}

/* The checkpoint whose evaluation, as metrics.jsonl has it, is the largest (sign 1) or smallest (-1). */
static int64_t best_of(const char *folder, const char *key, double sign)
{
    char *path = tiny_path(folder, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    double best = -INFINITY;
    int64_t step = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(j, key);
        if (value && sign * json_number_value(value) > best) {
            best = sign * json_number_value(value);
            step = json_integer_value(json_object_get(j, "step"));
        }
        json_decref(j);
    }
    fclose(f);
    free(path);
    return step;
}

/* Which one is best is read from the log: of equal numbers the first counts, in both. */
static void ends_with_the_best(void **state)
{
    (void)state;
    static const struct { rf_metric metric; rf_greater greater; const char *key; double sign; } c[] = {
        {RF_METRIC_LOSS, RF_GREATER_AUTO, "eval_loss", -1},
        {RF_METRIC_LOSS, RF_GREATER_TRUE, "eval_loss", 1},           /* the least trained one: not the last */
        {RF_METRIC_ACCURACY, RF_GREATER_AUTO, "eval_accuracy", 1},
        {RF_METRIC_ACCURACY, RF_GREATER_FALSE, "eval_accuracy", -1},
    };
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        char name[64], file[128];
        run r = with_options(1);
        r.o.eval_steps = 4;
        r.o.save_total_limit = 1;
        r.o.load_best_model_at_end = 1;
        r.o.metric_for_best_model = c[i].metric;
        r.o.greater_is_better = c[i].greater;
        r.o.stop_after = 9;                                          /* what the best is survives a stop */
        must(&r, RF_ESTOPPED);
        r.o.stop_after = 0;
        r.o.resume_from_checkpoint = "latest";
        must(&r, RF_OK);
        const int64_t best = best_of(r.out, c[i].key, c[i].sign);
        snprintf(name, sizeof name, "checkpoint-%d", (int)best);
        snprintf(file, sizeof file, "%s/model.safetensors", name);
        noted(&r, "the model is that of ");
        noted(&r, name);
        assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, file));
        assert_true(tiny_has(r.out, "checkpoint-20"));
        assert_int_equal(tiny_count(r.out, "checkpoint-"), best == 20 ? 1 : 2);
        if (i == 1) assert_int_not_equal(best, 20);
        end(&r);
    }
}

/* The loss falls, and more of it is called better: the first evaluation stays the best.  Patience survives a stop. */
static void patience_ends_a_run(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.greater_is_better = RF_GREATER_TRUE;
    r.o.early_stopping_patience = 2;
    r.o.stop_after = 9;
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "step 12: 2 evaluations in a row");
    assert_true(tiny_has(r.out, "checkpoint-12"));
    assert_false(tiny_has(r.out, "checkpoint-16"));
    assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, "checkpoint-12/model.safetensors"));
    end(&r);
}

static void a_damaged_best_is_not_taken(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.load_best_model_at_end = 1;
    r.o.greater_is_better = RF_GREATER_TRUE;
    must(&r, RF_OK);
    char name[128], *path;
    snprintf(name, sizeof name, "checkpoint-%d/model.safetensors", (int)best_of(r.out, "eval_loss", 1));
    path = tiny_path(r.out, name);
    assert_int_equal(truncate(path, 100), 0);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "is damaged (model.safetensors: 100 bytes instead of ");
    assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, "checkpoint-20/model.safetensors"));
    free(path);
    r.o.resume_from_checkpoint = NULL;
    r.o.eval_steps = 3;
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "save_steps, 4, must be a multiple of eval_steps, 3");
    end(&r);
}

/* Asked for a checkpoint in between, the run saves it and goes on to the same end. */
static void saves_when_asked(void **state)
{
    (void)state;
    const result want = straight();
    run r = with_options(1);
    r.save_at = 6;
    must(&r, RF_OK);
    assert_int_equal(r.saves, 7);
    assert_true(tiny_has(r.out, "checkpoint-6"));
    same(result_of(r.out, 20), want);
    end(&r);
}

/* The list that comes with the model tells whether it is as it was written. */
static void the_model_has_checksums(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 2;
    must(&r, RF_OK);
    if (rf__checksums_verify(r.ctx, r.out, "checksums.json", NULL, NULL, &r.why)) fail_msg("%s", r.why.text);
    t_write(r.out, "vocab.txt", "the\n", 4);
    rf__checksums_verify(r.ctx, r.out, "checksums.json", NULL, NULL, &r.why);
    t_failed(&r.why, RF_EDATA, "vocab.txt: 4 bytes instead of ");
    end(&r);
}

/* ---- refusing ---- */

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
    t_failed(&r.why, RF_EARG, "holds checkpoint-2 of an earlier run: --resume");
    rf__folder_remove(checkpoint);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "holds weights, which the trained ones would overwrite: name another folder for those, -o DIR");
    assert_int_equal(tiny_crc(r.model, "model.safetensors"), crc);
    r.o.output_dir = r.out;
    must(&r, RF_OK);
    noted(&r, "goes on from the weights in ");
    free(checkpoint);
    end(&r);
}

static void one_run_in_a_folder(void **state)
{
    (void)state;
    run r = with_options(1);
    int lock;
    assert_int_equal(rf__folder_lock(r.out, &lock, NULL), RF_OK);
    must(&r, RF_EBUSY);
    t_failed(&r.why, RF_EBUSY, "another run holds this folder: process ");
    close(lock);
    end(&r);
}

static void does_not_run_over_an_earlier_run(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "holds checkpoint-4 of an earlier run");
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
    t_failed(&r.why, RF_EDATA, "is not what");
    r.o.max_length = 24;
    tiny_write_corpus(r.model, "corpus.txt", 300, 1);
    must(&r, RF_EDATA);
    r.o.allow_data_change = 1;
    must(&r, RF_ESTOPPED);
    noted(&r, "a new epoch begins");
    noted(&r, "options that differ from the checkpoint's: max_length");
    end(&r);
}

static void other_architecture_is_refused(void **state)
{
    (void)state;
    run r = with_options(1);
    static const char other[] = "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"hidden_size\": 48, \"num_hidden_layers\": 1,"
                                " \"num_attention_heads\": 2, \"intermediate_size\": 64}";
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    t_write(r.model, "other.json", other, sizeof other - 1);
    char *path = tiny_path(r.model, "other.json");
    r.o.config = path;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "another architecture");
    free(path);
    end(&r);
}

/* A checkpoint of another version is taken, and said to be. */
static void other_versions_are_told(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.stop_after = 4;
    must(&r, RF_ESTOPPED);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_ESTOPPED);
    assert_null(strstr(r.notes, "written by version"));
    char *path = tiny_path(r.out, "checkpoint-8"), *file = tiny_path(path, "trainer_state.json"),
         *list = tiny_path(path, "COMPLETE");
    json_t *saved = json_load_file(file, 0, NULL);
    json_object_set_new(saved, "version", json_string("0.0.7"));
    assert_int_equal(json_dump_file(saved, file, JSON_REAL_PRECISION(17)), 0);
    json_decref(saved);
    unlink(list);
    assert_int_equal(rf__checksums_write(r.ctx, path, "COMPLETE", NULL, NULL), RF_OK);
    free(list);
    must(&r, RF_ESTOPPED);
    noted(&r, "written by version \"0.0.7\"");
    free(path);
    free(file);
    end(&r);
}

static void text_may_be_gone(void **state)
{
    (void)state;
    const result want = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    unlink(r.corpus);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    same(result_of(r.out, 20), want);
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
    must(&r, RF_EDATA);
    t_failed(&r.why, RF_EDATA, "no such checkpoint");
    r.o = tiny_options(r.model, r.text, r.out);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_EDATA);
    t_failed(&r.why, RF_EDATA, "no checkpoint to resume from");
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
    const result want = straight();
    run r = with_options(1);
    r.o.stop_after = 12;
    must(&r, RF_ESTOPPED);
    char *state12 = tiny_path(r.out, "checkpoint-12/optimizer.safetensors"), *whole = tiny_path(r.out, "checkpoint-12");
    assert_int_equal(truncate(state12, 5000), 0);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = whole;
    must(&r, RF_EDATA);                                              /* asked for by name: no guessing */
    t_failed(&r.why, RF_EDATA, "damaged (optimizer.safetensors: 5000 bytes instead of");
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "checkpoint-12 damaged (optimizer.safetensors: 5000 bytes instead of ");
    noted(&r, "using checkpoint-8");
    assert_int_equal(r.steps, 12);
    same(result_of(r.out, 20), want);
    free(state12);
    free(whole);
    end(&r);
}

/* Files cannot grow beyond 20 KB: no checkpoint can be saved, the earlier ones and the bits stay. */
static void room_for_no_checkpoint(void **state)
{
    (void)state;
    const result want = straight();
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
    same(result_of(r.out, 20), want);
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
    noted(&r, "goes on from the weights in ");
    noted(&r, "the update is skipped (10 in a row)");
    assert_true(tiny_has(r.out, "checkpoint-8"));
    assert_int_equal(tiny_crc(r.out, "checkpoint-8/model.safetensors"), tiny_crc(r.model, "model.safetensors"));
    free(slab);
    free(path);
    rf__params_free(&p);
    end(&r);
}

static void half_types_and_whole_words(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 3;
    r.o.save_type = RF_BF16;
    r.o.whole_word_mask = 1;
    r.o.lr_scheduler_type = RF_SCHEDULE_COSINE;
    must(&r, RF_OK);
    rf_model *m;
    if (rf_model_open(r.ctx, r.out, &m, &r.why)) fail_msg("%s", r.why.text);
    rf_model_close(m);
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
        char *path = tiny_path(r.out, "checkpoint-1");
        rf__folder_remove(path);
        free(path);
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
        cmocka_unit_test(it_learns),
        cmocka_unit_test(evaluation_does_not_see_the_packing),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(resumed_with_nothing_but_the_checkpoint),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(seeds_show),
        cmocka_unit_test(stopped_before_the_first_step),
        cmocka_unit_test(stops_when_time_is_up),
        cmocka_unit_test(epochs_become_steps),
        cmocka_unit_test(keeps_so_many),
        cmocka_unit_test(patience_ends_a_run),
        cmocka_unit_test(ends_with_the_best),
        cmocka_unit_test(a_damaged_best_is_not_taken),
        cmocka_unit_test(saves_when_asked),
        cmocka_unit_test(the_model_has_checksums),
        cmocka_unit_test(does_not_train_over_weights),
        cmocka_unit_test(one_run_in_a_folder),
        cmocka_unit_test(does_not_run_over_an_earlier_run),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(other_architecture_is_refused),
        cmocka_unit_test(other_versions_are_told),
        cmocka_unit_test(text_may_be_gone),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(falls_back_to_an_intact_checkpoint),
        cmocka_unit_test(room_for_no_checkpoint),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(half_types_and_whole_words),
        cmocka_unit_test(out_of_memory_anywhere),
    };
    return cmocka_run_group_tests_name("train/run", tests, NULL, NULL);
}
