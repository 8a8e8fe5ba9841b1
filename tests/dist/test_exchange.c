/* test_exchange.c — mirrors src/dist/exchange.c and shares.c: several ranks train one model.  Ranks are threads here
 * (ranks.h); tests/mpi does the same with MPI. */
#define _GNU_SOURCE
#include <math.h>

#include "ranks.h"
#include "dist/exchange.h"
#include "optim/optimizer.h"
#include "world.h"

/* ---- who keeps what ---- */

/* Every span has one owner; slots do not overlap; buckets cover the slab in order; no rank has much more than its fair
 * share. */
static void spans_are_shared_out(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params params;
    rf_config_defaults(&c);
    c.vocab_size = 9000;
    c.num_hidden_layers = 3;
    assert_int_equal(rf__params_new(ctx, &c, &params, NULL), RF_OK);
    for (int ranks = 1; ranks <= 40; ranks += ranks < 8 ? 1 : 16) {
        rf__optimizer o;
        const rf__rule rule = {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999};
        assert_int_equal(rf__optimizer_new(&params, &rule, &o, NULL), RF_OK);
        int *owner = calloc(o.spans, sizeof *owner);
        size_t most = 0, all = 0;
        for (int r = 0; r < ranks; r++) {
            rf__shares s;
            assert_int_equal(rf__shares_new(&params, o.span, o.spans, ranks, r, &s, NULL), RF_OK);
            size_t own = 0, end = 0;
            for (size_t b = 0; b < s.buckets; b++) {
                const rf__share *w = &s.bucket[b].whole;
                assert_int_equal(w->first, b ? s.bucket[b - 1].whole.last : 0);
                for (int q = 0; q < ranks; q++) {
                    const rf__share *p = rf__share_of(&s, b, q);
                    assert_true(p->first == p->last || (p->first >= w->first && p->last <= w->last));
                }
            }
            assert_int_equal(s.bucket[s.buckets - 1].whole.last, o.spans);
            for (size_t b = 0; b < s.buckets; b++) {                   /* slots are given in the order of the buckets */
                const rf__share *p = rf__share_of(&s, b, r);
                for (size_t i = p->first; i < p->last; i++) {
                    assert_false(o.span[i].away);
                    assert_true(o.span[i].slot >= end && o.span[i].slot % 16 == 0);
                    end = o.span[i].slot + o.span[i].n;
                    own += o.span[i].n;
                    owner[i]++;
                }
            }
            assert_true(end <= s.owned);
            if (own > most) most = own;
            all += own;
            rf__shares_free(ctx, &s);
        }
        for (size_t i = 0; i < o.spans; i++) assert_int_equal(owner[i], 1);
        /* the worst case would be one span more than the fair share in each of the buckets; shifting leaves one in
         * total */
        assert_true((double)most <= (double)all / ranks * 1.1 + 3 * 65536);
        free(owner);
        rf__optimizer_free(&o);
    }
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

/* ---- whole runs ---- */

typedef struct member {
    rf_train_options o;
    const char *isa;                    /* its rung, NULL: the best                                                   */
    int stop_at;                        /* this rank requests a stop after that step                                  */
    int64_t nan_after, nan_until;       /* its gradients after this step are not finite; 0: they are                  */
    bool armed;                         /* the next of them to be sent                                                */
    char notes[2048];
} member;

static int listen(void *user, const rf_train_progress *p)
{
    member *m = user;
    const size_t n = strlen(m->notes);
    if (!strcmp(p->event, "step")) m->armed = m->nan_after && p->step >= m->nan_after && p->step < m->nan_until;
    if (!strcmp(p->event, "note")) snprintf(m->notes + n, sizeof m->notes - n, "%s\n", p->note);
    return m->stop_at && p->step >= m->stop_at ? RF_TRAIN_STOP : RF_TRAIN_GO;
}

static rf_status train(rf_comm *c, void *arg, rf_error *why)
{
    member *m = arg;
    rf_ctx *ctx = NULL;
    const rf_ctx_options options = {.size = sizeof(options), .threads = 1, .isa = m->isa ? m->isa : t_isa()};
    rf_status status = rf_ctx_new(&options, &ctx, why);
    m->o.comm = c->size > 1 ? c : NULL;
    m->notes[0] = 0;
    if (!status) status = rf_pretrain(ctx, &m->o, listen, m, why);
    rf_ctx_free(ctx);
    return status;
}

static rf_train_options options_of(const world *w, const char *out, int64_t share)
{
    rf_train_options o = tiny_options(w->model, w->text, out);
    o.max_steps = 8;
    o.save_steps = 4;
    o.eval_steps = 4;
    o.tokens_per_batch = 128;
    o.gradient_accumulation_steps = share;
    return o;
}

/* Runs n ranks with the same options. */
static rf_status run(int n, rf_train_options o, ranks_one out[RANKS_MOST], member m[RANKS_MOST])
{
    for (int i = 0; i < n; i++) m[i].o = o;
    return ranks_run(n, train, m, sizeof *m, out);
}

static void must(int n, rf_train_options o)
{
    static member m[RANKS_MOST];
    ranks_one out[RANKS_MOST];
    memset(m, 0, sizeof m);
    if (run(n, o, out, m))
        for (int i = 0; i < n; i++) fail_msg("rank %d: %s", i, out[i].why.text);
}

typedef struct result { uint32_t model, moments, metrics; } result;

static uint32_t metrics_crc(const char *folder)
{
    char *path = tiny_path(folder, "metrics.jsonl"), line[1024];
    uint32_t crc = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *end = strstr(line, strstr(line, "eval_seconds") ? ",\"eval_seconds" : ",\"tokens_per_second");
        if (end) *end = 0;                                           /* what a clock wrote comes last */
        crc = rf__crc32c(crc, line, strlen(line));
    }
    fclose(f);
    free(path);
    return crc;
}

static result result_of(const char *folder)
{
    return (result){tiny_crc(folder, "model.safetensors"), tiny_crc(folder, "checkpoint-8/optimizer.safetensors"),
                    metrics_crc(folder)};
}

static void same(result a, result b, const char *what)
{
    if (a.model != b.model) fail_msg("%s: other weights", what);
    if (a.moments != b.moments) fail_msg("%s: other moments", what);
    if (a.metrics != b.metrics) fail_msg("%s: other metrics", what);
}

/* Six micro-batches as 1 x 6, 2 x 3, 3 x 2 and 6 x 1, with every optimizer, and with a moving average. */
static void every_split_trains_the_same(void **state)
{
    (void)state;
    static const rf_optim rules[] = {RF_OPTIM_ADAMW, RF_OPTIM_LAMB, RF_OPTIM_ADAFACTOR, RF_OPTIM_LION, RF_OPTIM_SGD,
                                      RF_OPTIM_MUON};
    world w = make_world();
    for (size_t k = 0; k < RF_COUNT(rules); k++) {
        result expected = {0, 0, 0};
        for (int ranks = 1; ranks <= 6; ranks += ranks == 3 ? 3 : 1) {
            char *out = strdup(t_folder()), what[64];
            rf_train_options o = options_of(&w, out, 6 / ranks);
            o.optim = rules[k];
            o.momentum = 0.9;
            o.ema_decay = k == 1 ? 0.9 : 0;
            must(ranks, o);
            snprintf(what, sizeof what, "rule %d on %d ranks", (int)rules[k], ranks);
            const result got = result_of(out);
            if (ranks == 1) expected = got;
            else same(got, expected, what);
            free(out);
        }
    }
    end_world(&w);
}

/* Half of a run on `before` ranks, the rest on `after`: the bits of an uninterrupted run. */
static void any_number_resumes(void **state)
{
    (void)state;
    static const int pair[][2] = {{1, 2}, {2, 4}, {4, 1}, {2, 1}};
    world w = make_world();
    char *straight = strdup(t_folder());
    must(1, options_of(&w, straight, 4));
    const result expected = result_of(straight);
    for (size_t k = 0; k < RF_COUNT(pair); k++) {
        char *out = strdup(t_folder());
        static member m[RANKS_MOST];
        ranks_one ended[RANKS_MOST];
        memset(m, 0, sizeof m);
        rf_train_options o = options_of(&w, out, 4 / pair[k][0]);
        m[pair[k][0] - 1].stop_at = 5;                               /* any rank's wish is all ranks' */
        assert_int_equal(run(pair[k][0], o, ended, m), RF_ESTOPPED);
        for (int i = 0; i < pair[k][0]; i++) t_failed(&ended[i].why, RF_ESTOPPED, "stopped after step 5 of 8");
        rf_train_options rest;
        rf_train_defaults(&rest);
        rest.resume_from_checkpoint = "latest";
        rest.output_dir = out;
        must(pair[k][1], rest);
        same(result_of(out), expected, "resumed");
        free(out);
    }
    free(straight);
    end_world(&w);
}

/* ---- what goes wrong ---- */

static void said_by_all(const ranks_one *out, int n, rf_status code, const char *part)
{
    for (int i = 0; i < n; i++) {
        t_failed(&out[i].why, code, part);
        assert_int_equal(out[i].comm.c.agreed, 1);
    }
}

static void refusals_are_shared(void **state)
{
    (void)state;
    world w = make_world();
    static member m[RANKS_MOST];
    ranks_one out[RANKS_MOST];
    char *folder = strdup(t_folder());
    rf_train_options o = options_of(&w, folder, 3);

    memset(m, 0, sizeof m);
    o.resume_from_checkpoint = "latest";
    run(2, o, out, m);
    said_by_all(out, 2, RF_EDATA, "expected a checkpoint to resume from, got none");

    o.resume_from_checkpoint = NULL;
    memset(m, 0, sizeof m);
    for (int i = 0; i < 3; i++) m[i].o = o;
    m[2].o.learning_rate *= 2;
    ranks_run(3, train, m, sizeof *m, out);
    said_by_all(out, 3, RF_EARG, "rank 2 has other options than rank 0");

    memset(m, 0, sizeof m);
    for (int i = 0; i < 2; i++) m[i].o = o;
    m[1].isa = "ref";                                                /* steps that round differently */
    ranks_run(2, train, m, sizeof *m, out);
    said_by_all(out, 2, RF_EARG, "rank 1 has other kernels (--isa) than rank 0");

    const char *gone[] = {"/nowhere/at/all.txt"};
    o.text = gone;
    memset(m, 0, sizeof m);
    run(2, o, out, m);
    said_by_all(out, 2, RF_EIO, "/nowhere/at/all.txt");

    o.text = w.text;
    o.max_steps = 4;
    must(2, o);                                                      /* six micro-batches */
    rf_train_options rest;
    rf_train_defaults(&rest);
    rest.resume_from_checkpoint = "latest";
    rest.output_dir = folder;
    memset(m, 0, sizeof m);
    run(4, rest, out, m);
    said_by_all(out, 4, RF_EARG, "processes: expected ... 6 ... got 4");
    free(folder);
    end_world(&w);
}

/* The gradient of one rank has a NaN, in a part that another rank sums: all of them skip that update, and only that
 * one. Ten in a row end the run. */
static member *ill;

static rf_status send_nan(rf_comm *c, int number, int to, const void *data, size_t bytes, rf_error *why)
{
    if (!ill->armed || number < RF__FIRST_BUCKET || bytes < sizeof(float))
        return ranks_send(c, number, to, data, bytes, why);
    float *copy = malloc(bytes);
    if (!copy) abort();
    ill->armed = false;
    memcpy(copy, data, bytes);
    copy[0] = NAN;
    const rf_status status = ranks_send(c, number, to, copy, bytes, why);
    free(copy);
    return status;
}

static rf_status train_ill(rf_comm *c, void *arg, rf_error *why)
{
    if (arg == ill) c->send = send_nan;
    return train(c, arg, why);
}

static void one_that_is_not_finite(void **state)
{
    (void)state;
    world w = make_world();
    static member m[RANKS_MOST];
    ranks_one out[RANKS_MOST];
    result first = {0, 0, 0};
    for (int ranks = 2; ranks <= 3; ranks++)
        for (int who = 0; who < ranks; who++) {
            char *folder = strdup(t_folder());
            memset(m, 0, sizeof m);
            ill = &m[who];
            for (int i = 0; i < ranks; i++) m[i].o = options_of(&w, folder, 6 / ranks);
            ill->nan_after = 2;
            ill->nan_until = 3;
            if (ranks_run(ranks, train_ill, m, sizeof *m, out))
                fail_msg("rank %d of %d: %s", who, ranks, out[0].why.text);
            for (int i = 0; i < ranks; i++) {
                assert_non_null(
                    strstr(m[i].notes, "step 3: the gradient is not finite: the update is skipped (1 in a row)"));
                assert_null(strstr(m[i].notes, "(2 in a row)"));
            }
            const result got = result_of(folder);
            if (ranks == 2 && !who) first = got;
            else same(got, first, "an update was skipped");
            free(folder);
        }
    char *folder = strdup(t_folder());
    memset(m, 0, sizeof m);
    ill = &m[1];
    for (int i = 0; i < 2; i++) m[i].o = options_of(&w, folder, 1);
    for (int i = 0; i < 2; i++) m[i].o.max_steps = 100, m[i].o.save_steps = m[i].o.eval_steps = 0;
    ill->nan_after = 2;
    ill->nan_until = 100;
    ranks_run(2, train_ill, m, sizeof *m, out);
    said_by_all(out, 2, RF_ENUMERIC, "step 12: 10 updates in a row were skipped: the gradient is not finite");
    free(folder);
    end_world(&w);
}

/* A rank fails alone in the middle: the others do not wait forever. */
static rf_status fall(rf_comm *c, void *arg, rf_error *why)
{
    member *m = arg;
    if (c->rank != 1) return train(c, arg, why);
    t_memory memory = {.fail = 300, .forever = true};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    m->o.comm = c;
    const rf_status status = rf_pretrain(ctx, &m->o, NULL, NULL, why);
    rf_ctx_free(ctx);
    return status;
}

static void one_that_falls_ends_all(void **state)
{
    (void)state;
    world w = make_world();
    static member m[RANKS_MOST];
    ranks_one out[RANKS_MOST];
    char *folder = strdup(t_folder());
    memset(m, 0, sizeof m);
    for (int i = 0; i < 3; i++) m[i].o = options_of(&w, folder, 1);
    for (int i = 0; i < 3; i++) m[i].o.max_steps = 1000000;
    for (int i = 0; i < 3; i++) m[i].o.max_time = 20;
    ranks_run(3, fall, m, sizeof *m, out);
    assert_true(out[1].status == RF_ENOMEM || out[1].status == RF_ESTOPPED);
    if (out[1].status == RF_ENOMEM && !out[1].comm.c.agreed)
        for (int i = 0; i < 3; i += 2) t_failed(&out[i].why, RF_EIO, "gone");
    free(folder);
    end_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_shared_out),    cmocka_unit_test(every_split_trains_the_same),
        cmocka_unit_test(any_number_resumes),      cmocka_unit_test(refusals_are_shared),
        cmocka_unit_test(one_that_falls_ends_all), cmocka_unit_test(one_that_is_not_finite),
    };
    return cmocka_run_group_tests_name("train/exchange", tests, NULL, NULL);
}
