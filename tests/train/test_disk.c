/* test_disk.c — mirrors src/train/checkpoint/checkpoint.c, src/train/log/metrics.c and src/train/log/events.c: the
 * calls that write a run to disk fail, in this process (faulty_disk.h).
 *
 *     the disk is full after n bytes of a checkpoint: nothing, one byte, and all but one byte of every write
 *     the n-th write, sync, close, rename, new file or folder fails with EIO, until a run has no n-th
 *     every write is short; every second write is interrupted
 *     the clock of the wall runs backwards
 *     the first of two ranks has no space; ranks are threads (ranks.h)
 *
 * In all cases the existing checkpoints are complete, and the run ends, directly or after a restart, with the bits of
 * an undisturbed one.  It tests every 11th point by default, and all with ROFORMER_SWEEP=1.                          */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "faulty_disk.h"
#include "ranks.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/folder.h"
#include "world.h"

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

static _Atomic bool backwards;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    static _Atomic long calls;
    const int result = __real_clock_gettime(clock, t);
    if (backwards && clock == CLOCK_REALTIME) t->tv_sec -= 3600 * ++calls;
    return result;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct run { world w; char *out; rf_ctx *ctx; rf_error why; int refused; } run;

static run begin(void)
{
    run r = {.w = make_world(), .ctx = t_ctx(1, NULL)};
    disk.part = "/.tmp-";               /* checkpoints                                                                */
    r.out = tiny_path(r.w.model, "out");
    return r;
}

static void end(run *r)
{
    *disk.root = 0;
    rf_ctx_free(r->ctx);
    end_world(&r->w);
    free(r->out);
}

/* A checkpoint could not be saved: the existing ones are complete, and then there is space again. */
static int heard(void *user, const rf_train_progress *p)
{
    run *r = user;
    if (strcmp(p->event, "note") || !strstr(p->note, "no checkpoint at step")) return RF_TRAIN_GO;
    r->refused++;
    if (disk.plan != DISK_FULL) return RF_TRAIN_GO;
    disk.plan = DISK_WORKS;
    if (tiny_count(r->out, ".tmp-")) fail_msg("a checkpoint that could not be saved is still there");
    if (tiny_has(r->out, "checkpoint-4")) fail_msg("a checkpoint that could not be saved is there");
    char *path = tiny_path(r->out, "checkpoint-2");
    if (rf__checkpoint_verify(r->ctx, path, NULL)) fail_msg("the checkpoint before is damaged");
    free(path);
    return RF_TRAIN_GO;
}

/* Two steps without a fault, then the rest under the plan: ends with `status`. */
static rf_status go(run *r, int64_t stop_after, bool resumed)
{
    rf_train_options o = tiny_options(r->w.model, r->w.text, r->out);
    o.max_steps = 6;
    o.save_steps = 2;
    o.eval_steps = 4;
    o.stop_after = stop_after;
    if (resumed) o.resume_from_checkpoint = "latest";
    r->why = (rf_error){0};
    snprintf(disk.root, sizeof disk.root, "%s", r->out);
    return rf_pretrain(r->ctx, &o, heard, r, &r->why);
}

static void first_two(run *r)
{
    rf__os_remove_tree(r->out);
    disk.plan = DISK_WORKS;
    r->refused = 0;
    if (go(r, 2, false) != RF_ESTOPPED) fail_msg("%s", r->why.text);
}

typedef struct result { uint32_t model, moments; } result;

static result result_of(const run *r)
{
    return (result){tiny_crc(r->out, "model.safetensors"), tiny_crc(r->out, "checkpoint-6/optimizer.safetensors")};
}

static void same(result a, result b, const char *what, long n)
{
    if (a.model != b.model || a.moments != b.moments) fail_msg("%s, point %ld: the run ended with other bits", what, n);
}

static result undisturbed(run *r)
{
    first_two(r);
    disk_begin(DISK_COUNTS);
    if (go(r, 0, true)) fail_msg("%s", r->why.text);
    disk.plan = DISK_WORKS;
    return result_of(r);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void full_at_any_byte(void **state)
{
    (void)state;
    run r = begin();
    const result expected = undisturbed(&r);
    const int writes = disk.writes / 2;                  /* of checkpoint-4; those of checkpoint-6 are the other half */
    long before = 0, points = 0;
    assert_in_range(writes, 20, DISK_WRITES / 2 - 1);
    for (int i = 0; i < writes; before += disk.size[i++])
        for (int part = 0; part < 3; part++) {
            if ((i * 3 + part) % disk_stride(11)) continue;
            first_two(&r);
            disk.space = before + (part == 0 ? 0 : part == 1 ? 1 : disk.size[i] - 1);
            disk_begin(DISK_FULL);
            if (go(&r, 0, true)) fail_msg("full in write %d: %s", i, r.why.text);
            if (!disk.hits || r.refused != 1)
                fail_msg("full in write %d of %d: %d checkpoints were refused", i, writes, r.refused);
            same(result_of(&r), expected, "full", i);
            points++;
        }
    print_message("           %ld of %d points in %ld bytes\n", points, 3 * writes, before);
    end(&r);
}

static void any_call_fails(void **state)
{
    (void)state;
    run r = begin();
    const result expected = undisturbed(&r);
    long n = 1, points = 0, ended = 0;
    for (bool reached = true; reached; n += disk_stride(11), points++) {
        first_two(&r);
        disk.n = n;
        disk_begin(DISK_NTH_FAILS);
        const rf_status status = go(&r, 0, true);
        disk.plan = DISK_WORKS;
        reached = disk.hits > 0;
        if (status && status != RF_EIO) fail_msg("call %ld: status %d, %s", n, status, r.why.text);
        if (disk.again) fail_msg("call %ld: %s was synced again", n, disk.unsynced[0]);
        for (int step = 2; step <= 6; step += 2) {
            char name[32];
            snprintf(name, sizeof name, "checkpoint-%d", step);
            char *path = tiny_path(r.out, name);
            if (tiny_has(r.out, name) && rf__checkpoint_verify(r.ctx, path, &r.why))
                fail_msg("call %ld: %s", n, r.why.text);
            free(path);
        }
        ended += status != RF_OK;
        if ((status || !tiny_has(r.out, "checkpoint-6") || tiny_count(r.out, ".tmp-")) && go(&r, 0, true))
            fail_msg("%s", r.why.text);
        same(result_of(&r), expected, "a call failed", n);
        assert_int_equal(tiny_count(r.out, ".tmp-"), 0);
    }
    print_message("           %ld of %ld calls, %ld ended the run\n", points - 1, n - disk_stride(11) - 1, ended);
    assert_true(ended > 0 && ended < points);
    end(&r);
}

/* No later checkpoint records lines that may be lost; a restarted run writes them again. */
static void the_log_is_lost(void **state)
{
    (void)state;
    run r = begin();
    const result expected = undisturbed(&r);
    first_two(&r);
    disk.part = "/metrics.jsonl";
    disk_begin(DISK_LOSES);
    const rf_status status = go(&r, 0, true);
    disk.plan = DISK_WORKS;
    assert_int_equal(status, RF_EIO);
    t_failed(&r.why, RF_EIO, "metrics.jsonl: cannot sync: an earlier sync failed");
    assert_int_equal(disk.hits, 1);
    assert_int_equal(disk.again, 0);
    assert_true(tiny_has(r.out, "checkpoint-2") && !tiny_has(r.out, "checkpoint-6"));
    if (go(&r, 0, true)) fail_msg("%s", r.why.text);
    same(result_of(&r), expected, "the log was lost", 0);
    end(&r);
}

static void short_and_interrupted_writes(void **state)
{
    (void)state;
    run r = begin();
    const result expected = undisturbed(&r);
    static const enum disk_plan how[] = {DISK_SHORT, DISK_INTERRUPTED};
    for (size_t i = 0; i < RF_COUNT(how); i++) {
        first_two(&r);
        disk_begin(how[i]);
        const rf_status status = go(&r, 0, true);
        disk.plan = DISK_WORKS;
        if (status || r.refused) fail_msg("plan %d: %s", (int)how[i], r.why.text);
        same(result_of(&r), expected, "short or interrupted", (long)i);
    }
    end(&r);
}

/* ---- several ranks, of which the first one writes ---- */

typedef struct member { const run *r; int64_t save_steps; bool for_ever; int refused; } member;

static int member_heard(void *user, const rf_train_progress *p)
{
    member *m = user;
    if (strcmp(p->event, "note") || !strstr(p->note, "no checkpoint at step")) return RF_TRAIN_GO;
    m->refused++;
    if (!m->for_ever) disk.plan = DISK_WORKS;
    return RF_TRAIN_GO;
}

static rf_status train(rf_comm *c, void *arg, rf_error *why)
{
    member *m = arg;
    rf_ctx *ctx = NULL;
    rf_train_options o = tiny_options(m->r->w.model, m->r->w.text, m->r->out);
    o.max_steps = 6;
    o.save_steps = m->save_steps;
    o.eval_steps = 4;
    o.resume_from_checkpoint = "latest";
    o.comm = c;
    rf_status status =
        rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1, .isa = t_isa()}, &ctx, why);
    if (!status) status = rf_pretrain(ctx, &o, member_heard, m, why);
    rf_ctx_free(ctx);
    return status;
}

/* Moments of the second rank are sent to the first one while it writes: a disk that is full in between must not
 * separate them. */
static void full_at_the_first_rank(void **state)
{
    (void)state;
    enum { RANKS = 2, POINTS = 7 };
    run r = begin();
    ranks_one out[RANKS_MOST];
    const result expected = undisturbed(&r);
    long bytes = 0;
    for (int i = 0; i < disk.writes / 2; i++) bytes += disk.size[i];
    for (int k = 0; k < POINTS; k++) {
        member m[RANKS] = {{&r, 2, false, 0}, {&r, 2, false, 0}};
        first_two(&r);
        disk.space = bytes * k / POINTS;
        disk_begin(DISK_FULL);
        if (ranks_run(RANKS, train, m, sizeof *m, out)) fail_msg("point %d: %s", k, out[0].why.text);
        if (!disk.hits || m[0].refused != 1 || m[1].refused != 1)
            fail_msg("point %d: refused %d and %d", k, m[0].refused, m[1].refused);
        same(result_of(&r), expected, "full at the first of two ranks", k);
    }
    member m[RANKS] = {{&r, 1, true, 0}, {&r, 1, true, 0}};
    first_two(&r);
    disk.space = 0;
    disk_begin(DISK_FULL);
    assert_int_equal(ranks_run(RANKS, train, m, sizeof *m, out), RF_EIO);
    disk.plan = DISK_WORKS;
    for (int i = 0; i < RANKS; i++) {
        t_failed(&out[i].why, RF_EIO, "3 checkpoints in a row could not be saved");
        assert_int_equal(out[i].comm.c.agreed, 1);
        assert_int_equal(m[i].refused, 2);
    }
    assert_int_equal(tiny_count(r.out, ".tmp-"), 0);
    if (go(&r, 0, true)) fail_msg("%s", r.why.text);
    same(result_of(&r), expected, "gone on by one", 0);
    end(&r);
}

/* Times of a run are differences of the monotonic clock: they are positive, and the bits do not depend on the clock. */
static void the_clock_runs_backwards(void **state)
{
    (void)state;
    run r = begin();
    const result expected = undisturbed(&r);
    backwards = true;
    first_two(&r);
    const rf_status status = go(&r, 0, true);
    backwards = false;
    if (status) fail_msg("%s", r.why.text);
    same(result_of(&r), expected, "clock", 0);
    char *path = tiny_path(r.out, "metrics.jsonl"), line[1024];
    double before = 0;
    int lines = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *seconds = json_object_get(j, "seconds"), *rate = json_object_get(j, "tokens_per_second");
        if (seconds && !(json_number_value(seconds) > before)) fail_msg("time stands still or goes back: %s", line);
        if (rate && !(json_number_value(rate) > 0)) fail_msg("no speed: %s", line);
        if (seconds) before = json_number_value(seconds), lines++;
        json_decref(j);
    }
    if (f) fclose(f);
    assert_true(lines > 1);
    free(path);
    end(&r);
}

int main(void)
{
#ifdef __linux__
    if (!getenv("TMPDIR") && rf__os_writable("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);      /* thousands of syncs */
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_at_any_byte),
        cmocka_unit_test(any_call_fails),
        cmocka_unit_test(the_log_is_lost),
        cmocka_unit_test(short_and_interrupted_writes),
        cmocka_unit_test(full_at_the_first_rank),
        cmocka_unit_test(the_clock_runs_backwards),
    };
    return cmocka_run_group_tests_name("train/disk", tests, NULL, NULL);
}
