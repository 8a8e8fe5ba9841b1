/* test_saver.c — mirrors src/train/checkpoint/saver.c: what is written in the background is what was there when the
 * save began, whatever the run does meanwhile, to the byte what a save in place writes; and a run does not end
 * otherwise because of it.
 *
 * Threads other than the test's own are slowed down where they ask for memory, which every file of a checkpoint does.
 * Contexts have one thread: another one that asks for memory is the one that writes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/os/os.h"
#include "roformer/train.h"
#include "tiny.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/saver.h"

/* ---- a context whose other threads wait ---- */

static pthread_t own;
static sem_t gate;
static _Atomic bool closed;             /* they wait for the gate to open, once                                       */
static _Atomic int slow_ms;             /* and so long each time                                                      */
static _Atomic long elsewhere;          /* how often they asked                                                       */

static void *waiting_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    if (!pthread_equal(pthread_self(), own)) {
        atomic_fetch_add(&elsewhere, 1);
        if (atomic_exchange(&closed, false)) {
            while (sem_wait(&gate)) {}
        }
        const struct timespec t = {0, 1000000L * atomic_load(&slow_ms)};
        nanosleep(&t, NULL);
    }
    return posix_memalign(&p, 64, size) ? NULL : p;
}

static void waiting_release(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

static rf_ctx *waiting_ctx(void)
{
    const rf_allocator a = {waiting_alloc, waiting_release, NULL};
    rf_ctx *ctx = NULL;
    own = pthread_self();
    atomic_store(&slow_ms, 0);
    atomic_store(&elsewhere, 0);
    const rf_ctx_options o = {.size = sizeof(o), .allocator = a, .threads = 1, .isa = t_isa()};
    assert_int_equal(rf_ctx_new(&o, &ctx, NULL), RF_OK);
    return ctx;
}

/* ---- something to save ---- */

typedef struct fixture {
    rf_ctx *ctx;
    char *model, *out;
    rf_tokenizer *tokenizer;
    rf_params params;
    rf__optimizer optimizer;
    rf__state state;
    rf__metrics metrics;
    rf__events events;
    rf__save what;
} fixture;

enum { SLABS = 4 };
typedef struct slab { float *at; size_t n; } slab;

/* All that a checkpoint holds of it; n 0: there is none. */
static void slabs_of(const rf__optimizer *o, slab out[SLABS])
{
    const size_t total = o->params->total;
    size_t second = total;
    if (o->rule.optim == RF_OPTIM_ADAFACTOR) {
        second = 0;
        for (size_t i = 0; i < o->params->n; i++) second += rf__adafactor_floats(&o->params->p[i]);
    }
    out[0] = (slab){o->value, total};
    out[1] = (slab){o->m, o->m ? total : 0};
    out[2] = (slab){o->v, o->v ? second : 0};
    out[3] = (slab){o->ema, o->ema ? total : 0};
}

static void open_fixture(fixture *f, const rf__rule *rule)
{
    rf_config config;
    slab all[SLABS];
    *f = (fixture){.ctx = waiting_ctx(), .model = tiny_model(), .out = strdup(t_folder()), .events = {.fd = -1}};
    assert_int_equal(rf_config_read(f->ctx, f->model, &config, NULL), RF_OK);
    config.vocab_size = 34;
    assert_int_equal(rf_tokenizer_open(f->ctx, f->model, &f->tokenizer, NULL), RF_OK);
    assert_int_equal(rf__params_new(f->ctx, &config, &f->params, NULL), RF_OK);
    assert_int_equal(rf__optimizer_new(&f->params, rule, &f->optimizer, NULL), RF_OK);
    slabs_of(&f->optimizer, all);
    float kept = 0.25f;
    for (int k = 0; k < SLABS; k++)
        for (size_t i = 0; i < all[k].n; i++) all[k].at[i] = kept = kept < 900 ? kept * 1.37f : kept - 899.9f;
    rf__state_init(&f->state);
    assert_int_equal(rf__metrics_open(f->out, 0, &f->metrics, NULL), RF_OK);
    f->what = (rf__save){.checkpoint = {.ctx = f->ctx,
                                        .tokenizer = f->tokenizer,
                                        .optimizer = &f->optimizer,
                                        .state = &f->state,
                                        .options = json_object(),
                                        .epoch = 1.5},
                         .metrics = &f->metrics,
                         .events = &f->events,
                         .folder = f->out,
                         .keep = 2};
}

static void close_fixture(fixture *f)
{
    json_decref(f->what.checkpoint.options);
    rf__journal_close(&f->metrics);
    rf__optimizer_free(&f->optimizer);
    rf__params_free(&f->params);
    rf_tokenizer_free(f->tokenizer);
    rf_ctx_free(f->ctx);
    free(f->model);
    free(f->out);
}

/* What a run does to all that may change at once, and after rf__saver_read. */
static void go_on(fixture *f)
{
    f->state.step += 1000;
    f->state.tokens = f->state.updates = 77;
    f->state.best_step = 78;
    f->state.position.index = 79;
    assert_int_equal(rf__metrics_add(&f->metrics, json_pack("{s:i}", "step", 1), NULL), RF_OK);
}

static void change_slabs(fixture *f)
{
    slab all[SLABS];
    slabs_of(&f->optimizer, all);
    for (int k = 0; k < SLABS; k++)
        for (size_t i = 0; i < all[k].n; i++) all[k].at[i] = -1;
}

static void *open_gate(void *unused)
{
    const struct timespec t = {0, 30000000};
    nanosleep(&t, NULL);
    sem_post(&gate);
    return unused;
}

static const char *const files[] = {"COMPLETE",
                                    "config.json",
                                    "model.safetensors",
                                    "optimizer.safetensors",
                                    "special_tokens_map.json",
                                    "tokenizer_config.json",
                                    "trainer_state.json",
                                    "vocab.txt",
                                    "ema.safetensors"};

/* The names above are all there are. */
static void same_files(const char *a, const char *b)
{
    int n = 0;
    for (size_t i = 0; i < RF_COUNT(files); i++) {
        assert_int_equal(tiny_has(a, files[i]), tiny_has(b, files[i]));
        n += tiny_has(a, files[i]);
        if (tiny_has(a, files[i]) && tiny_crc(a, files[i]) != tiny_crc(b, files[i])) fail_msg("%s differs", files[i]);
    }
    assert_int_equal(tiny_count(a, "."), n - 1 + 2);                 /* all have a dot but COMPLETE; "." and ".." */
    assert_int_equal(tiny_count(b, "."), n - 1 + 2);
}

static void written_as_it_was(void **unused)
{
    (void)unused;
    static const rf__rule rules[] = {
        {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .ema_decay = 0.9},
        {.optim = RF_OPTIM_ADAFACTOR, .decay_rate = -0.8, .clip_threshold = 1},
        {.optim = RF_OPTIM_SGD},
        {.optim = RF_OPTIM_LION, .beta1 = 0.9, .beta2 = 0.99},
    };
    for (size_t i = 0; i < RF_COUNT(rules); i++) {
        fixture f;
        rf__saver s = {0};
        pthread_t opener;
        char in_place[4096], meanwhile[4096];
        rf_error why = {0};
        open_fixture(&f, &rules[i]);
        f.state.step = 5;
        char *other = strdup(t_folder());
        f.what.folder = other;
        if (rf__save_write(&f.what, in_place, sizeof in_place, &why)) fail_msg("%s", why.text);
        f.what.folder = f.out;
        assert_int_equal(sem_init(&gate, 0, 0), 0);
        atomic_store(&closed, true);
        assert_true(rf__saver_start(&s, &f.what));
        assert_false(rf__saver_done(&s));                            /* it waits at the gate */
        go_on(&f);
        assert_int_equal(tiny_count(f.out, "checkpoint-"), 0);
        assert_int_equal(pthread_create(&opener, NULL, open_gate, NULL), 0);
        rf__saver_read(&s);                                          /* would it not wait, these would be written: */
        change_slabs(&f);
        if (rf__saver_end(&s, meanwhile, sizeof meanwhile, &why)) fail_msg("%s", why.text);
        pthread_join(opener, NULL);
        assert_true(s.waited > 0);
        assert_true(rf__saver_done(&s));
        assert_int_equal(s.state.step, 5);
        assert_true(tiny_has(f.out, "checkpoint-5"));
        same_files(in_place, meanwhile);
        assert_int_equal(rf__checkpoint_verify(f.ctx, meanwhile, &why), RF_OK);
        rf__saver_free(&s);
        free(other);
        close_fixture(&f);
    }
}

static const rf__rule adam = {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

/* The same sentence and code as in place; nothing is left, and the saver can go on. */
static void failures_are_told(void **unused)
{
    (void)unused;
    fixture f;
    rf__saver s = {0};
    char path[4096];
    open_fixture(&f, &adam);
    char *blocked = tiny_path(f.out, "file");
    t_write(f.out, "file", "x", 1);
    for (int kind = 0; kind < 3; kind++) {
        rf_error in_place = {0}, meanwhile = {0};
        float *value = f.optimizer.m + f.params.p[4].offset, kept = *value;
        if (kind == 1) f.what.folder = blocked;                      /* a file is no folder */
        if (kind == 2) *value = NAN;
        f.state.step = 3 + kind;
        const rf_status expected = rf__save_write(&f.what, path, sizeof path, &in_place);
        assert_int_equal(expected, kind == 2 ? RF_ENUMERIC : kind ? RF_EIO : RF_OK);
        assert_true(rf__saver_start(&s, &f.what));
        rf__saver_read(&s);                                          /* comes back when nothing was read, too */
        *value = kept;
        assert_int_equal(rf__saver_end(&s, path, sizeof path, &meanwhile), expected);
        assert_string_equal(meanwhile.text, in_place.text);
        f.what.folder = f.out;
    }
    assert_int_equal(tiny_count(f.out, "checkpoint-"), 1);
    assert_int_equal(tiny_count(f.out, ".tmp"), 0);
    f.state.step = 9;
    assert_true(rf__saver_start(&s, &f.what));
    rf__saver_free(&s);                                              /* waits */
    assert_true(tiny_has(f.out, "checkpoint-9"));
    free(blocked);
    close_fixture(&f);
}

/* Older ones go when the new one is there, not before, and not when it failed. */
static void prunes_behind_itself(void **unused)
{
    (void)unused;
    fixture f;
    rf__saver s = {0};
    char path[4096];
    rf_error why = {0};
    open_fixture(&f, &adam);
    f.what.keep = 1;
    f.state.best_step = 2;
    for (f.state.step = 1; f.state.step <= 5; f.state.step++) {
        const bool fails = f.state.step == 4;
        f.optimizer.value[f.params.p[0].offset] = fails ? INFINITY : 1;
        assert_true(rf__saver_start(&s, &f.what));
        assert_int_equal(rf__saver_end(&s, path, sizeof path, &why), fails ? RF_ENUMERIC : RF_OK);
        assert_int_equal(tiny_has(f.out, "checkpoint-2"), f.state.step >= 2);
        assert_int_equal(tiny_has(f.out, "checkpoint-3"), f.state.step == 3 || f.state.step == 4);
        assert_int_equal(tiny_has(f.out, "checkpoint-1"), f.state.step == 1);
    }
    assert_true(tiny_has(f.out, "checkpoint-5"));
    rf__saver_free(&s);
    close_fixture(&f);
}

/* No space for another stack: the save does not begin, and a later one does.  Comes first, while there is no old stack
 * to use. */
static void without_a_thread(void **unused)
{
    (void)unused;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("           skipped: sanitizers need the address space\n");
#else
    fixture f;
    rf__saver s = {0};
    struct rlimit before, none;
    char path[4096];
    open_fixture(&f, &adam);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 1 << 20;                                         /* below what is taken: nothing can be added */
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    const bool started = rf__saver_start(&s, &f.what);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_false(started);
    assert_true(rf__saver_done(&s));
    f.state.step = 1;
    assert_true(rf__saver_start(&s, &f.what));
    assert_int_equal(rf__saver_end(&s, path, sizeof path, NULL), RF_OK);
    rf__saver_free(&s);
    close_fixture(&f);
#endif
}

/* ---- whole runs ---- */

typedef struct run {
    char *model, *out, *corpus;
    const char *text[1];
    rf_train_options o;
    bool stop_at_save;
    int saves;
    char notes[2048];
    rf_error why;
} run;

static int listen(void *user, const rf_train_progress *p)
{
    run *r = user;
    const size_t n = strlen(r->notes);
    if (!strcmp(p->event, "note")) snprintf(r->notes + n, sizeof r->notes - n, "%s\n", p->note);
    r->saves += !strcmp(p->event, "save");
    return r->stop_at_save && r->saves ? RF_TRAIN_STOP : RF_TRAIN_GO;
}

static void prepare(run *r)
{
    *r = (run){.model = tiny_model(), .out = strdup(t_folder())};
    r->corpus = tiny_path(r->model, "corpus.txt");
    r->text[0] = r->corpus;
    r->o = tiny_options(r->model, r->text, r->out);
    r->o.text = r->text;
    r->o.eval_steps = 4;
}

static rf_status go(const rf_ctx *ctx, run *r)
{
    r->why = (rf_error){0};
    r->notes[0] = 0;
    r->saves = 0;
    r->o.text = r->text;
    return rf_pretrain(ctx, &r->o, listen, r, &r->why);
}

static void finish(run *r)
{
    free(r->model);
    free(r->out);
    free(r->corpus);
}

/* trainer_state.json without what a clock wrote. */
static char *state_of(const char *folder)
{
    char *path = tiny_path(folder, "trainer_state.json");
    json_t *all = json_load_file(path, 0, NULL);
    if (!all) fail_msg("%s cannot be read", path);
    json_object_del(all, "seconds");
    json_object_del(all, "interval_seconds");
    json_object_del(all, "interval_wait");
    json_object_del(all, "metrics_bytes");                           /* lines tell seconds too */
    json_object_del(all, "metrics_crc");
    json_t *options = json_object_get(all, "options");
    json_object_del(options, "text");
    json_object_del(options, "base_model");
    char *text = json_dumps(all, JSON_SORT_KEYS);
    json_decref(all);
    free(path);
    return text;
}

static void same_checkpoints(const run *a, const run *b)
{
    static const char *const exact[] = {"config.json", "model.safetensors", "optimizer.safetensors", "vocab.txt",
                                        "ema.safetensors"};
    int n = 0;
    for (int step = 1; step <= 20; step++) {
        char name[32];
        snprintf(name, sizeof name, "checkpoint-%d", step);
        assert_int_equal(tiny_has(a->out, name), tiny_has(b->out, name));
        if (!tiny_has(a->out, name)) continue;
        char *x = tiny_path(a->out, name), *y = tiny_path(b->out, name);
        for (size_t i = 0; i < RF_COUNT(exact); i++) assert_int_equal(tiny_crc(x, exact[i]), tiny_crc(y, exact[i]));
        char *one = state_of(x), *two = state_of(y);
        assert_string_equal(one, two);
        free(one);
        free(two);
        free(x);
        free(y);
        n++;
    }
    assert_true(n >= (a->o.save_total_limit ? 1 : 5));
    assert_int_equal(tiny_crc(a->out, "model.safetensors"), tiny_crc(b->out, "model.safetensors"));
}

/* However slow the writer is; with one checkpoint kept besides the best one. */
static void the_same_as_in_place(void **unused)
{
    (void)unused;
    for (int slow = 0; slow <= 6; slow += 3) {
        run a, b;
        rf_ctx *ctx = waiting_ctx();
        prepare(&a);
        prepare(&b);
        a.o.ema_decay = b.o.ema_decay = 0.9;
        a.o.save_total_limit = b.o.save_total_limit = slow ? 1 : 0;
        a.o.save_synchronously = 1;
        if (go(ctx, &a)) fail_msg("%s", a.why.text);
        assert_int_equal(atomic_load(&elsewhere), 0);
        atomic_store(&slow_ms, slow);
        if (go(ctx, &b)) fail_msg("%s", b.why.text);
        assert_true(atomic_load(&elsewhere) > 4 * 5);                /* of six saves the last is the run's own */
        assert_int_equal(a.saves, 6);
        assert_int_equal(b.saves, 6);
        same_checkpoints(&a, &b);
        finish(&a);
        finish(&b);
        rf_ctx_free(ctx);
    }
}

/* Fine-tuning changes word embeddings within a step (FGM) and swaps means in to evaluate. */
static uint32_t tuned(rf_ctx *ctx, const run *from, bool synchronously)
{
    rf_finetune_options o;
    rf_metric_values scores;
    rf_error why = {0};
    char text[8192], *train = tiny_path(from->model, "train.tsv"), *out = strdup(t_folder());
    size_t n = (size_t)sprintf(text, "text\tlabel\n");
    for (unsigned i = 0; i < 80; i++)
        n += (size_t)sprintf(text + n, "the %s %s is %sing\t%s\n", tiny_adjectives[i % 4], tiny_nouns[i * 7 % 12],
                             tiny_verbs[i % 6], i % 4 < 2 ? "yes" : "no");
    t_write(from->model, "train.tsv", text, n);
    rf_finetune_defaults(&o);
    o.train = o.dev = train;
    o.t.model = from->out;
    o.t.output_dir = out;
    o.t.num_train_epochs = 1;
    o.t.max_length = 16;
    o.per_device_train_batch_size = 8;
    o.save_strategy = o.eval_strategy = RF_STRATEGY_STEPS;
    o.t.eval_steps = 1;
    o.t.save_steps = 2;
    o.t.save_total_limit = 1;
    o.t.ema_decay = 0.9;
    o.t.load_best_model_at_end = 1;
    o.fgm = 0.1;
    o.t.save_synchronously = synchronously;
    atomic_store(&elsewhere, 0);
    if (rf_finetune(ctx, &o, NULL, NULL, &scores, &why)) fail_msg("%s", why.text);
    assert_int_equal(atomic_load(&elsewhere) > 0, !synchronously);
    const uint32_t crc = tiny_crc(out, "model.safetensors") ^ tiny_crc(out, "checkpoint-10/optimizer.safetensors") * 3 ^
                         tiny_crc(out, "checkpoint-10/ema.safetensors") * 5;
    free(train);
    free(out);
    return crc;
}

static void fine_tuning_too(void **unused)
{
    (void)unused;
    run a;
    rf_ctx *ctx = waiting_ctx();
    prepare(&a);
    a.o.max_steps = 2;
    if (go(ctx, &a)) fail_msg("%s", a.why.text);
    const uint32_t expected = tuned(ctx, &a, true);
    for (int slow = 0; slow <= 6; slow += 3) {
        atomic_store(&slow_ms, slow);
        assert_int_equal(tuned(ctx, &a, false), expected);
    }
    finish(&a);
    rf_ctx_free(ctx);
}

/* Who asks for a stop while a checkpoint is written gets it, and the resumed run ends as one that was never stopped. */
static void stopped_while_writing(void **unused)
{
    (void)unused;
    run a, b;
    rf_ctx *ctx = waiting_ctx();
    prepare(&a);
    prepare(&b);
    a.o.save_synchronously = 1;
    if (go(ctx, &a)) fail_msg("%s", a.why.text);
    for (int slow = 0; slow <= 20; slow += 20) {
        int stops = 0;
        rf__os_remove_tree(b.out);
        b.o.resume_from_checkpoint = NULL;
        b.stop_at_save = true;
        atomic_store(&slow_ms, slow);
        for (rf_status status = RF_ESTOPPED; (status = go(ctx, &b)) != RF_OK; stops++) {
            assert_int_equal(status, RF_ESTOPPED);
            assert_int_equal(tiny_count(b.out, ".tmp"), 0);
            b.o.resume_from_checkpoint = "latest";
        }
        assert_true(stops >= 1);
        assert_int_equal(tiny_crc(a.out, "model.safetensors"), tiny_crc(b.out, "model.safetensors"));
        assert_int_equal(tiny_crc(a.out, "checkpoint-20/optimizer.safetensors"),
                         tiny_crc(b.out, "checkpoint-20/optimizer.safetensors"));
    }
    finish(&a);
    finish(&b);
    rf_ctx_free(ctx);
}

/* Saves at steps 1 and 2 have a thread, that of step 3 does not.  A failure costs a checkpoint or ends the run; nothing
 * is lost. */
static void out_of_memory_anywhere(void **unused)
{
    (void)unused;
    run r;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, "ref", &memory);
    prepare(&r);
    tiny_write_corpus(r.model, "corpus.txt", 12, 1);
    r.o.max_steps = 3;
    r.o.save_steps = 1;
    r.o.tokens_per_batch = 64;
    const long live = memory.live;
    memory.calls = 0;
    if (go(ctx, &r)) fail_msg("%s", r.why.text);
    assert_int_equal(r.saves, 4);
    const long calls = memory.calls;
    long survived = 0;
    rf__os_remove_tree(r.out);
    for (long n = 1; n <= calls; n++) {
        memory.calls = 0;
        memory.forever = false;
        memory.fail = n;
        const rf_status status = go(ctx, &r);
        memory.fail = 0;
        if (memory.live != live) fail_msg("allocation %ld: %ld blocks are lost", n, memory.live - live);
        if (status && status != RF_ENOMEM) fail_msg("allocation %ld: %s", n, r.why.text);
        survived += !status && strstr(r.notes, "no checkpoint at step ");
        assert_int_equal(tiny_count(r.out, ".tmp"), 0);
        rf__os_remove_tree(r.out);
    }
    print_message("           %ld allocations: %ld cost a checkpoint\n", calls, survived);
    assert_true(survived > 4);
    finish(&r);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_thread),
        cmocka_unit_test(written_as_it_was),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(prunes_behind_itself),
        cmocka_unit_test(the_same_as_in_place),
        cmocka_unit_test(fine_tuning_too),
        cmocka_unit_test(stopped_while_writing),
        cmocka_unit_test(out_of_memory_anywhere),
    };
    return cmocka_run_group_tests_name("train/saver", tests, NULL, NULL);
}
