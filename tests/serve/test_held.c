/* test_held.c — mirrors src/serve/connections.c, shared_call.c and request.c: what happens to requests that have been
 * accepted while the model's thread is held. Nothing here depends on how long anything takes.
 *
 * Requests whose clients leave end before the model is free; others are refused, late or answered as the limits say;
 * /health notices a model that is stuck. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "served.h"
#include "serve/server.h"
#include "small_folders.h"

enum { CLIENTS = 12, SPACE = 1 << 20 };

/* ---- the time of day may jump; the linker puts these in place of the C library's functions ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
time_t __real_time(time_t *t);
time_t __wrap_time(time_t *t);

static atomic_llong jump; /* seconds */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    const int bad = __real_clock_gettime(clock, t);
    if (clock == CLOCK_REALTIME) t->tv_sec += (time_t)atomic_load(&jump);
    return bad;
}

time_t __wrap_time(time_t *t)
{
    const time_t now = __real_time(NULL) + (time_t)atomic_load(&jump);
    if (t) *t = now;
    return now;
}

/* ---- the model's thread is held ---- */

typedef struct hold {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool held, over;
    srv_model *m;
    rf_engine_job *job;
} hold;

static rf_status stay(void *user, rf_pipeline *p, rf_error *why)
{
    hold *h = user;
    (void)p, (void)why;
    pthread_mutex_lock(&h->lock);
    h->held = true;
    pthread_cond_broadcast(&h->change);
    while (!h->over) pthread_cond_wait(&h->change, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return RF_OK;
}

static void take_hold(hold *h, const served *s)
{
    rf_error why = {0};
    *h = (hold){.m = srv_model_acquire(s->s, 0)};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->change, NULL);
    if (rf_engine_call(h->m->engine, stay, h, NULL, &h->job, &why)) fail_msg("%s", why.text);
    pthread_mutex_lock(&h->lock);
    while (!h->held) pthread_cond_wait(&h->change, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static void let_go(hold *h)
{
    pthread_mutex_lock(&h->lock);
    h->over = true;
    pthread_cond_broadcast(&h->change);
    pthread_mutex_unlock(&h->lock);
    assert_int_equal(rf_engine_wait(h->job, -1, NULL), RF_OK);
    rf_engine_job_free(h->job);
    srv_model_release(h->m);
    pthread_cond_destroy(&h->change);
    pthread_mutex_destroy(&h->lock);
}

/* ---- requests ---- */

static int send_request(const served *s, const char *path, const char *body)
{
    char text[4096];
    const int fd = dial(s->s), n = snprintf(text, sizeof text,
                                            "POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                            "Content-Length: %zu\r\n\r\n%s",
                                            path, strlen(body), body);
    assert_true(fd >= 0 && send_bytes(fd, text, (size_t)n) == n);
    return fd;
}

/* The whole answer, until the server closes the connection; its status. */
static int read_answer(int fd, char *out)
{
    size_t n = 0;
    int status = -1;
    for (int64_t k; n < SPACE - 1 && (k = take_bytes(fd, out + n, SPACE - 1 - n)) > 0;) n += (size_t)k;
    out[n] = 0;
    hang_up(fd);
    return sscanf(out, "HTTP/1.1 %d", &status) == 1 ? status : -1;
}

static double metric(const served *s, const char *name)
{
    static char out[SPACE];                                  /* it is asked thousands of times */
    char line[256];
    assert_int_equal(ask(s->s, "GET", "/metrics", "", out, SPACE), 200);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(out, line);
    if (!at) fail_msg("/metrics has no %s", name);
    return strtod(at + strlen(line), NULL);
}

/* One of two: what a slow machine may miss, and what comes after it. */
static void await_metric_or(const served *s, const char *name, double expected, const char *later, double then)
{
    for (int i = 0; i < 60000; i++) {
        if (metric(s, name) == expected || metric(s, later) == then) return;
        rf__os_sleep(0.005);
    }
    fail_msg("%s: expected %g, got %g", name, expected, metric(s, name));
}

static void await_metric(const served *s, const char *name, double expected)
{
    await_metric_or(s, name, expected, name, expected);
}

static void leave(int fd, bool at_once)
{
    const struct linger none = {.l_onoff = 1};
    if (at_once) set_socket(fd, SO_LINGER, &none, sizeof none);
    hang_up(fd);
}

static served begin_with(const char *folder)
{
    served s = begin();
    if (folder) s.m.folder = folder;
    return s;
}

static srv_options patient(const served *s)
{
    srv_options o = options_of(s);
    o.limits.max_wait = 0;
    o.limits.request_timeout = 86400;
    o.limits.watchdog = 86400;
    return o;
}

/* ---- clients that leave ---- */

static const struct {
    const char *folder, *path, *body;
    int inputs;
} jobs[] = {
    {NULL, "/embed", "{\"inputs\":[\"the old\",\"city\"]}", 2},
    {NULL, "/embed_all", "{\"inputs\":\"the old city\"}", 1},
    {NULL, "/v1/embeddings", "{\"input\":\"the old city\"}", 1},
    {NULL, "/similarity", "{\"inputs\":{\"source_sentence\":\"the\",\"sentences\":[\"old\",\"city\"]}}", 3},
    {NULL, "/fill_mask", "{\"inputs\":[\"the [MASK]\",\"old [MASK]\",\"[MASK]\"]}", 3},
    {"tests/golden/gpt", "/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":8}}", 1},
    {"tests/golden/gpt", "/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":8,\"stream\":true}", 1},
};

/* All are dropped while the model's thread is held: none of them is ever computed. */
static void requests_of_clients_that_leave_are_not_computed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        served s = begin_with(jobs[i].folder);
        const srv_options o = patient(&s);
        int fd[CLIENTS];
        hold h;
        char *out = t_bytes(SPACE);
        serve(&s, &o);
        take_hold(&h, &s);
        for (int k = 0; k < CLIENTS; k++) fd[k] = send_request(&s, jobs[i].path, jobs[i].body);
        await_metric(&s, "roformer_inputs", CLIENTS * jobs[i].inputs);
        for (int k = 0; k < CLIENTS; k++) leave(fd[k], k % 2);
        await_metric(&s, "roformer_inputs", 0);
        await_metric(&s, "te_request_failure{err=\"dropped\"}", CLIENTS);
        await_metric(&s, "roformer_connections", 1);
        let_go(&h);
        assert_int_equal(read_answer(send_request(&s, jobs[i].path, jobs[i].body), out), 200);
        await_metric(&s, jobs[i].inputs > 1 ? "te_request_success{method=\"batch\"}"
                                            : "te_request_success{method=\"single\"}", 1);
        assert_true(metric(&s, "te_request_failure{err=\"dropped\"}") == CLIENTS);
        finish(&s);
    }
}

/* ---- texts of different lengths ---- */

static double batches_of(const served *s) { return metric(s, "roformer_batches_total{model=\"tiny\"}"); }

/* The one before, which may not have been counted; the held one; one with all others. */
static void expect_few_batches(const served *s, double before) { assert_true(batches_of(s) <= before + 3); }

static int continue_text(const served *s, int tokens)
{
    char body[128];
    snprintf(body, sizeof body, "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":%d,\"do_sample\":false}}",
             tokens);
    return send_request(s, "/generate", body);
}

/* Longer texts join the batch of a shorter one, and each has the text that it has alone. */
static void texts_of_all_lengths_are_one_batch(void **state)
{
    (void)state;
    static const int lengths[] = {1, 9, 3, 20, 3, 12};
    enum { ROWS = sizeof lengths / sizeof *lengths };
    served s = begin_with("tests/golden/gpt");
    const srv_options o = patient(&s);
    char *alone[ROWS], *out = t_bytes(SPACE);
    int fd[ROWS];
    hold h;
    serve(&s, &o);
    for (int i = 0; i < ROWS; i++) {
        alone[i] = t_bytes(SPACE);
        assert_int_equal(read_answer(continue_text(&s, lengths[i]), alone[i]), 200);
    }
    assert_true(strlen(alone[1]) > strlen(alone[0]));
    const double batches = batches_of(&s);
    take_hold(&h, &s);
    for (int i = 0; i < ROWS; i++) {
        fd[i] = continue_text(&s, lengths[i]);
        await_metric(&s, "roformer_inputs", i + 1);
    }
    let_go(&h);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(read_answer(fd[i], out), 200);
        assert_string_equal(strstr(out, "\r\n\r\n"), strstr(alone[i], "\r\n\r\n"));
    }
    await_metric(&s, "roformer_inputs", 0);
    expect_few_batches(&s, batches);
    finish(&s);
}

/* ---- translations that arrive one after the other ---- */

/* Sends `body` to a translator. */
static int translate(const served *s, const char *words)
{
    char body[512];
    snprintf(body, sizeof body, "{\"inputs\":[%s]}", words);
    return send_request(s, "/", body);
}

static void expect_translation(const served *s, const char *words, const char *answer)
{
    char *out = t_bytes(SPACE);
    assert_int_equal(read_answer(translate(s, words), out), 200);
    assert_string_equal(strstr(out, "\r\n\r\n"), strstr(answer, "\r\n\r\n"));
}

/* Requests that wait at the same time are one batch: the answers of each alone, one text fails alone, and clients that
 * have left take nobody with them. */
static void translations_join_a_batch(void **state)
{
    (void)state;
    static const char *const words[] = {"\"w3 w4 w5\",\"w6\"", "\"w7\"", "\"w3\",\"w8 w9\",\"w4 w4\""};
    enum { ROWS = sizeof words / sizeof *words };
    char *folder = translator();
    served s = begin_with(folder);
    const srv_options o = patient(&s);
    char *alone[ROWS], *out = t_bytes(SPACE);
    int fd[4 * ROWS];
    hold h;
    serve(&s, &o);
    for (int i = 0; i < ROWS; i++) {
        alone[i] = t_bytes(SPACE);
        assert_int_equal(read_answer(translate(&s, words[i]), alone[i]), 200);
    }
    const double batches = batches_of(&s);
    take_hold(&h, &s);
    for (int i = 0; i < 4 * ROWS; i++) fd[i] = translate(&s, words[i % ROWS]);
    await_metric(&s, "roformer_inputs", 4 * 6);
    for (int i = 0; i < ROWS; i++) leave(fd[i], i % 2);
    await_metric(&s, "roformer_inputs", 3 * 6);
    let_go(&h);
    for (int i = ROWS; i < 4 * ROWS; i++) {
        assert_int_equal(read_answer(fd[i], out), 200);
        assert_string_equal(strstr(out, "\r\n\r\n"), strstr(alone[i % ROWS], "\r\n\r\n"));
    }
    await_metric(&s, "roformer_inputs", 0);
    expect_few_batches(&s, batches);
    for (int i = 0; i < ROWS; i++) expect_translation(&s, words[i], alone[i]);
    finish(&s);
    free(folder);
}

/* ---- limits ---- */

static void above_the_limits_is_429_and_what_was_accepted_is_answered(void **state)
{
    served s = begin();
    int fd[4];
    hold h;
    char *out = t_bytes(SPACE);
    const char *body = "{\"inputs\":\"the old city\"}";
    (void)state;
    srv_options o = patient(&s);
    o.limits.max_concurrent_requests = 4;
    serve(&s, &o);
    take_hold(&h, &s);
    for (int k = 0; k < 4; k++) fd[k] = send_request(&s, "/embed", body);
    await_metric(&s, "roformer_inputs", 4);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(read_answer(send_request(&s, "/embed", body), out), 429);
        assert_non_null(strstr(out, "\r\nRetry-After: 1\r\n"));
    }
    assert_true(metric(&s, "te_request_failure{err=\"overloaded\"}") == 3);
    let_go(&h);
    for (int k = 0; k < 4; k++) assert_int_equal(read_answer(fd[k], out), 200);
    finish(&s);
}

/* Of two texts each, the requests that waited are one batch. */
static void histograms_have_the_size_of_the_batch(void **state)
{
    served s = begin();
    int fd[3];
    hold h;
    char *out = t_bytes(SPACE);
    (void)state;
    const srv_options o = patient(&s);
    serve(&s, &o);
    take_hold(&h, &s);
    for (int k = 0; k < 3; k++) fd[k] = send_request(&s, "/embed", "{\"inputs\":[\"the old\",\"city\"]}");
    await_metric(&s, "roformer_inputs", 6);
    await_metric(&s, "te_queue_size{model=\"tiny\"}", 3);
    let_go(&h);
    for (int k = 0; k < 3; k++) assert_int_equal(read_answer(fd[k], out), 200);
    await_metric(&s, "te_request_success{method=\"batch\"}", 3);
    assert_true(metric(&s, "te_batch_next_size_count") == 1 && metric(&s, "te_batch_next_size_sum") == 6);
    assert_true(metric(&s, "te_batch_next_size_bucket{le=\"4\"}") == 0);
    assert_true(metric(&s, "te_batch_next_size_bucket{le=\"8\"}") == 1);
    assert_true(metric(&s, "te_batch_next_tokens_sum") == metric(&s, "roformer_tokens_total"));
    finish(&s);
}

/* 5 tokens wait, 7 may. */
static void a_queue_of_too_many_tokens_is_429(void **state)
{
    served s = begin();
    hold h;
    char *out = t_bytes(SPACE);
    const char *body = "{\"inputs\":\"the old city\"}";
    (void)state;
    srv_options o = patient(&s);
    o.limits.max_queue_tokens = 7;
    serve(&s, &o);
    take_hold(&h, &s);
    const int fd = send_request(&s, "/embed", body);
    await_metric(&s, "roformer_inputs", 1);
    await_metric(&s, "roformer_queue_tokens{model=\"tiny\"}", 5);
    assert_int_equal(read_answer(send_request(&s, "/embed", body), out), 429);
    assert_non_null(strstr(out, "\r\nRetry-After: "));
    let_go(&h);
    assert_int_equal(read_answer(fd, out), 200);
    finish(&s);
}

static void what_waits_too_long_is_504(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        served s = begin_with(jobs[i].folder);
        hold h;
        char *out = t_bytes(SPACE);
        srv_options o = patient(&s);
        o.limits.request_timeout = 1;
        serve(&s, &o);
        take_hold(&h, &s);
        const int fd = send_request(&s, jobs[i].path, jobs[i].body);
        await_metric_or(&s, "roformer_inputs", jobs[i].inputs, "te_request_failure{err=\"inference\"}", 1);
        rf__os_sleep(1.01); /* the request began before */
        let_go(&h);
        const int status = read_answer(fd, out);
        if (status != 504) fail_msg("%s: expected 504, got %d: %.300s", jobs[i].path, status, out);
        finish(&s);
    }
}

static void health_says_that_the_model_is_stuck(void **state)
{
    served s = begin();
    hold h;
    char *out = t_bytes(SPACE);
    int status = 200;
    (void)state;
    srv_options o = patient(&s);
    o.limits.watchdog = 1;
    serve(&s, &o);
    assert_int_equal(ask(s.s, "GET", "/health", "", out, SPACE), 200);
    take_hold(&h, &s);
    for (int i = 0; i < 60000 && status == 200; i++) {
        rf__os_sleep(0.005);
        status = ask(s.s, "GET", "/health", "", out, SPACE);
    }
    assert_int_equal(status, 503);
    assert_non_null(strstr(out, "--watchdog"));
    assert_int_equal(ask(s.s, "GET", "/ping", "", out, SPACE), 200);
    let_go(&h);
    for (int i = 0; i < 60000 && status != 200; i++) {
        rf__os_sleep(0.005);
        status = ask(s.s, "GET", "/health", "", out, SPACE);
    }
    assert_int_equal(status, 200);
    finish(&s);
}

/* Requests that wait and connections that are open outlive days in both directions; so do measured times. */
static void jumps_of_the_clock_change_nothing(void **state)
{
    static const char ping[] = "GET /ping HTTP/1.1\r\nHost: a\r\n\r\n";
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        served s = begin();
        hold h;
        char *out = t_bytes(SPACE);
        srv_options o = options_of(&s);
        o.limits.max_wait = 0;
        serve(&s, &o);
        take_hold(&h, &s);
        const int kept = dial(s.s);
        assert_int_equal(send_bytes(kept, ping, sizeof ping - 1), sizeof ping - 1);
        assert_true(take_bytes(kept, out, SPACE) > 0);
        const int fd = send_request(&s, jobs[i].path, jobs[i].body);
        await_metric(&s, "roformer_inputs", jobs[i].inputs);
        for (int k = -1; k < 2; k += 2) {
            atomic_store(&jump, k * 864000);
            rf__os_sleep(0.6); /* the watcher has looked at all connections */
            assert_int_equal(ask(s.s, "GET", "/ping", "", out, SPACE), 200);
        }
        let_go(&h);
        assert_int_equal(read_answer(fd, out), 200);
        assert_int_equal(send_bytes(kept, ping, sizeof ping - 1), sizeof ping - 1);
        assert_true(take_bytes(kept, out, SPACE) > 0);
        hang_up(kept);
        assert_true(metric(&s, "te_request_duration_sum") < 80000);
        atomic_store(&jump, 0);
        finish(&s);
    }
}

/* ---- ends ---- */

static bool at_once(void *user)
{
    (void)user;
    return true;
}

/* Without patience, requests that wait are counted and canceled; those that were accepted get an end, not a hang. */
static void a_server_that_hurries_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        served s = begin_with(jobs[i].folder);
        int fd[CLIENTS];
        hold h;
        const srv_options o = patient(&s);
        serve(&s, &o);
        take_hold(&h, &s);
        for (int k = 0; k < CLIENTS; k++) fd[k] = send_request(&s, jobs[i].path, jobs[i].body);
        await_metric(&s, "roformer_inputs", CLIENTS * jobs[i].inputs);
        assert_int_equal(srv_drain(s.s, at_once), CLIENTS);
        let_go(&h);
        finish(&s);
        char *out = t_bytes(SPACE);
        for (int k = 0; k < CLIENTS; k++) {
            const int status = read_answer(fd[k], out);
            if (status != 200 && status != 504 && status != -1) fail_msg("%s: got %d", jobs[i].path, status);
        }
        t_free_all();
    }
}

/* The loader's first sentence, about the first of three models, ends when the server closes. */
typedef struct loading {
    _Atomic(srv_server *) s;
    atomic_int sentences;
} loading;

static void until_it_closes(void *user, const char *sentence)
{
    loading *l = user;
    srv_server *s;
    (void)sentence;
    atomic_fetch_add(&l->sentences, 1);
    while (!(s = atomic_load(&l->s)) || !atomic_load(&s->closing)) rf__os_sleep(0.001);
}

static void a_server_that_closes_loads_no_more_models(void **state)
{
    served s = begin();
    loading l = {.sentences = 0};
    rf_error why = {0};
    (void)state;
    srv_options o = options_of(&s);
    const srv_model_option models[] = {{"a", s.folder, RF_F32}, {"b", s.folder, RF_F32}, {"c", s.folder, RF_F32}};
    o.model = models;
    o.models = 3;
    o.note = until_it_closes;
    o.user = &l;
    if (srv_open(&o, &s.s, &why)) fail_msg("%s", why.text);
    atomic_store(&l.s, s.s);
    while (!atomic_load(&l.sentences)) rf__os_sleep(0.001);
    finish(&s);
    assert_int_equal(atomic_load(&l.sentences), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_clients_that_leave_are_not_computed),
        cmocka_unit_test(texts_of_all_lengths_are_one_batch),
        cmocka_unit_test(translations_join_a_batch),
        cmocka_unit_test(above_the_limits_is_429_and_what_was_accepted_is_answered),
        cmocka_unit_test(histograms_have_the_size_of_the_batch),
        cmocka_unit_test(a_queue_of_too_many_tokens_is_429),
        cmocka_unit_test(what_waits_too_long_is_504),
        cmocka_unit_test(health_says_that_the_model_is_stuck),
        cmocka_unit_test(jumps_of_the_clock_change_nothing),
        cmocka_unit_test(a_server_that_hurries_leaves_nothing_behind),
        cmocka_unit_test(a_server_that_closes_loads_no_more_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
