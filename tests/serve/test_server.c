/* test_server.c — mirrors src/serve: a server in this process, with requests through sockets from many threads. Vectors
 * have the bits of rf_embed_texts; every route answers; bad bodies get the right status; reload and drain lose no
 * request.
 *
 * tests/cli/serve and tools/clients test HTTP errors, real models and real clients. */
#define _GNU_SOURCE
#include "serve/serve.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>

#include "roformer/inspect/positions.h"
#include "served.h"

enum { THREADS = 6, REQUESTS = 40 };

static json_t *ask_json(const srv_server *s, const char *path, const char *body)
{
    enum { SIZE = 1 << 20 };
    char *out = malloc(SIZE);
    const int status = ask(s, "POST", path, body, out, SIZE);
    json_t *v = json_loads(out, JSON_DECODE_ANY, NULL);
    if (status != 200 || !v) fail_msg("%s %s: status %d, %.200s", path, body, status, out);
    free(out);
    return v;
}

/* ---- vectors ---- */

typedef struct caller {
    const served *s;
    const float *expected;
    unsigned number;
    int bad;
} caller;

static bool same_vector(const json_t *list, const float *v)
{
    if (json_array_size(list) != C) return false;
    for (size_t k = 0; k < C; k++) {
        const float x = (float)json_number_value(json_array_get(list, k));
        if (memcmp(&x, &v[k], sizeof x)) return false;
    }
    return true;
}

/* Requests of one to four texts each. */
static void *call(void *user)
{
    caller *c = user;
    enum { SIZE = 1 << 16 };
    char *out = malloc(SIZE), *body = malloc(SIZE);
    for (unsigned i = 0; i < REQUESTS; i++) {
        const unsigned n = 1 + (c->number + i) % 4, from = (c->number * 5 + i * 7) % (TEXTS - 4);
        size_t at = (size_t)snprintf(body, SIZE, "{\"inputs\":[");
        for (unsigned k = 0; k < n; k++)
            at += (size_t)snprintf(body + at, SIZE - at, "%s\"%s\"", k ? "," : "", c->s->text[from + k]);
        snprintf(body + at, SIZE - at, "]}");
        const int status = ask(c->s->s, "POST", "/embed", body, out, SIZE);
        json_t *v = json_loads(out, 0, NULL);
        c->bad += status != 200 || json_array_size(v) != n;
        for (unsigned k = 0; k < n; k++) c->bad += !same_vector(json_array_get(v, k), c->expected + (from + k) * C);
        json_decref(v);
    }
    free(out);
    free(body);
    return NULL;
}

static float *expect_vectors(const served *s)
{
    rf_embed_options o;
    rf_error why = {0};
    const float *v;
    rf_embed_defaults(&o);
    o.normalize = 1;
    if (rf_embed_texts(s->p, (const char *const *)s->text, NULL, TEXTS, &o, &v, NULL, &why)) fail_msg("%s", why.text);
    float *own = t_floats(TEXTS * C);
    memcpy(own, v, TEXTS * C * sizeof *own);
    return own;
}

static void ask_from_threads(const served *s, const float *expected)
{
    pthread_t thread[THREADS];
    caller c[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (caller){s, expected, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(c[i].bad, 0);
}

static void vectors_have_the_bits_of_the_pipeline(void **state)
{
    served s = begin();
    (void)state;
    const srv_options o = options_of(&s);
    const float *expected = expect_vectors(&s);
    serve(&s, &o);
    ask_from_threads(&s, expected);
    finish(&s);
}

typedef struct reloader {
    srv_server *s;
    bool stop;
} reloader;

static void *reload(void *user)
{
    reloader *x = user;
    while (!__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) {
        srv_reload(x->s);
        rf__os_sleep(0.003);
    }
    return NULL;
}

static void no_request_is_lost_while_models_are_loaded_again(void **state)
{
    served s = begin();
    pthread_t thread;
    (void)state;
    const srv_options o = options_of(&s);
    const float *expected = expect_vectors(&s);
    serve(&s, &o);
    reloader x = {.s = s.s};
    assert_int_equal(pthread_create(&thread, NULL, reload, &x), 0);
    ask_from_threads(&s, expected);
    __atomic_store_n(&x.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    finish(&s);
}

/* Token ids, with and without [CLS] and [SEP], give the result of the text with these tokens. */
static void ids_are_texts(void **state)
{
    served s = begin();
    rf_encoding e;
    rf_error why = {0};
    char plain[4096] = "[", whole[4096] = "[", body[8400];
    size_t n[2] = {1, 1};
    (void)state;
    const srv_options o = options_of(&s);
    const float *expected = expect_vectors(&s);
    serve(&s, &o);
    rf_encoding_init(&e, s.ctx);
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(s.p));
    if (rf_encode(t, s.text[3], strlen(s.text[3]), NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < e.n; i++) {
        n[1] += (size_t)snprintf(whole + n[1], sizeof whole - n[1], "%s%d", i ? "," : "", e.id[i]);
        if (!e.added[i]) n[0] += (size_t)snprintf(plain + n[0], sizeof plain - n[0], "%s%d", i > 1 ? "," : "", e.id[i]);
    }
    rf_encoding_clear(&e);
    snprintf(body, sizeof body, "{\"inputs\":[%s],%s]]}", plain, whole);
    json_t *v = ask_json(s.s, "/embed", body);
    assert_int_equal(json_array_size(v), 2);
    assert_false(same_vector(json_array_get(v, 0), expected + 3 * C)); /* without [CLS] and [SEP] */
    assert_true(same_vector(json_array_get(v, 1), expected + 3 * C));
    json_decref(v);
    finish(&s);
}

/* ---- answers ---- */

static void bad_bodies_are_refused_by_name(void **state)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *word;
    } rows[] = {
        {"/embed", "", 400, "body"},
        {"/embed", "[]", 400, "body"},
        {"/embed", "{\"inputs\":\"a\",\"inputs\":\"b\"}", 400, "inputs"},
        {"/embed", "{\"inputs\":\"\\ud800\"}", 400, "body"},
        {"/embed", "{\"inputs\":\"a\\u0000b\"}", 400, "body"},
        {"/embed", "{\"inputs\":\"\xFF\"}", 400, "body"},
        {"/embed", "{\"inputs\":1e999}", 400, "`inputs`"},
        {"/embed", "{}", 422, "`inputs`"},
        {"/embed", "{\"inputs\":{}}", 422, "`inputs`"},
        {"/embed", "{\"inputs\":[\"a\",[1]]}", 422, "`inputs`"},
        {"/embed", "{\"inputs\":[-1]}", 422, "`inputs`"},
        {"/embed", "{\"inputs\":[1000000]}", 422, "ids"},
        {"/embed", "{\"inputs\":[]}", 400, "`inputs`"},
        {"/embed", "{\"inputs\":[\"a\",\"\"]}", 400, "`inputs`"},
        {"/embed", "{\"inputs\":\"a\",\"normalize\":1}", 422, "`normalize`"},
        {"/embed", "{\"inputs\":\"a\",\"dimensions\":0}", 422, "`dimensions`"},
        {"/embed", "{\"inputs\":\"a\",\"dimensions\":33}", 422, "`dimensions`"},
        {"/embed", "{\"inputs\":\"a\",\"dimensions\":9223372036854775808}", 400, "`dimensions`"},
        {"/embed", "{\"dimensions\" : -9223372036854775809}", 400, "`dimensions`"},
        {"/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":9223372036854775808}", 400, "`max_tokens`"},
        {"/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":9223372036854775807}", 400, "`max_tokens`"},
        {"/embed", "{\"inputs\":[1,9223372036854775808]}", 400, "9223372036854775808"},
        {"/embed", "{\"inputs\":\"a\",\"truncation_direction\":\"Up\"}", 422, "`truncation_direction`"},
        {"/embed", "{\"inputs\":\"a\",\"prompt_name\":\"none\"}", 422, "none"},
        {"/v1/embeddings", "{\"input\":\"a\",\"model\":\"other\"}", 404, "other"},
        {"/v1/embeddings", "{\"input\":\"a\",\"encoding_format\":\"hex\"}", 400, "`encoding_format`"},
        {"/v1/completions", "{\"prompt\":\"a\"}", 400, "masked language model"},
        {"/v1/chat/completions", "{}", 400, "`messages`"},
        {"/v1/responses", "{}", 404, "/v1/chat/completions"},
        {"/predict", "{\"inputs\":\"a\"}", 424, "masked language model"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"b\"]}", 424, ""},
        {"/translate", "{\"q\":\"a\",\"source\":\"en\",\"target\":\"de\"}", 424, "masked language model"},
        {"/search", "{\"query\":\"a\"}", 424, "--index"},
        {"/decode", "{\"ids\":[1000000]}", 422, "`ids`"},
        {"/fill_mask", "{\"inputs\":\"no mask\"}", 422, "mask"},
        {"/nowhere", "{}", 404, "/docs"},
    };
    served s = begin();
    char out[4096];
    (void)state;
    const srv_options o = options_of(&s);
    serve(&s, &o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int status = ask(s.s, "POST", rows[i].path, rows[i].body, out, sizeof out);
        json_t *v = json_loads(out, 0, NULL);
        if (status != rows[i].status || !v || !strstr(out, rows[i].word))
            fail_msg("%s %s: expected %d with \"%s\", got %d: %s", rows[i].path, rows[i].body, rows[i].status,
                     rows[i].word, status, out);
        json_decref(v);
    }
    finish(&s);
}

static void a_batch_of_more_inputs_than_allowed_is_refused(void **state)
{
    served s = begin();
    char out[4096];
    (void)state;
    srv_options o = options_of(&s);
    o.limits.max_client_batch_size = 2;
    o.limits.payload_limit = 1024;
    serve(&s, &o);
    assert_int_equal(ask(s.s, "POST", "/embed", "{\"inputs\":[\"a\",\"b\"]}", out, sizeof out), 200);
    assert_int_equal(ask(s.s, "POST", "/embed", "{\"inputs\":[\"a\",\"b\",\"c\"]}", out, sizeof out), 422);
    char *large = t_bytes(3000);
    memset(large, ' ', 2999);
    large[2999] = 0;
    assert_int_equal(ask(s.s, "POST", "/embed", large, out, sizeof out), 413);
    finish(&s);
}

static void other_routes_answer(void **state)
{
    served s = begin();
    char out[1 << 16];
    (void)state;
    const srv_options o = options_of(&s);
    serve(&s, &o);
    static const char *const pages[] = {"/",     "/health", "/ping",      "/metrics",
                                        "/docs", "/info",   "/v1/models", "/openapi.json"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (ask(s.s, "GET", pages[i], "", out, sizeof out) != 200) fail_msg("GET %s: %s", pages[i], out);
    json_t *v = ask_json(s.s, "/tokenize", "{\"inputs\":\"the old\"}");
    json_t *ids = json_array();
    for (size_t i = 0; i < json_array_size(json_array_get(v, 0)); i++)
        json_array_append(ids, json_object_get(json_array_get(json_array_get(v, 0), i), "id"));
    json_t *body = json_pack("{s:o}", "ids", ids);
    char *text = json_dumps(body, 0);
    json_t *back = ask_json(s.s, "/decode", text);
    assert_string_equal(json_string_value(json_array_get(back, 0)), "the old");
    free(text);
    json_decref(body);
    json_decref(back);
    json_decref(v);
    v = ask_json(s.s, "/fill_mask", "{\"inputs\":[\"the [MASK]\",\"[MASK] old [MASK]\"],\"top_k\":3}");
    assert_int_equal(json_array_size(json_array_get(v, 0)), 3);
    assert_int_equal(json_array_size(json_array_get(v, 1)), 2);
    json_decref(v);
    finish(&s);
}

/* The map of a head has the bits of rf_attention_maps, which are printed with 6 digits. */
static void attention_is_that_of_the_library(void **state)
{
    enum { L = 2, H = 2, MOST = 48 };
    served s = begin();
    rf_error why = {0};
    rf_encoding e;
    (void)state;
    const srv_options o = options_of(&s);
    serve(&s, &o);
    rf_encoding_init(&e, s.ctx);
    if (rf_encode(rf_model_tokenizer(rf_pipeline_model(s.p)), "the old", 7, NULL, 0, 0, 0, &e, NULL, &why))
        fail_msg("%s", why.text);
    const int64_t T = (int64_t)e.n;
    assert_in_range(T, 2, MOST);
    float *p = calloc((size_t)(L * H * T * T), sizeof *p);
    assert_int_equal(rf_attention_maps(rf_pipeline_session(s.p), e.id, T, 0, p, &why), RF_OK);
    for (int64_t at = 0; at < L * H; at++) {
        char body[128];
        snprintf(body, sizeof body, "{\"inputs\":\"the old\",\"layer\":%d,\"head\":%d}", (int)(at / H), (int)(at % H));
        json_t *v = ask_json(s.s, "/attention", body), *rows = json_object_get(v, "attention");
        assert_int_equal(json_array_size(rows), T);
        for (int64_t i = 0; i < T * T; i++) {
            const json_t *x = json_array_get(json_array_get(rows, (size_t)(i / T)), (size_t)(i % T));
            assert_true(fabs(json_number_value(x) - (double)p[at * T * T + i]) <= 5e-6 * (double)p[at * T * T + i]);
        }
        json_decref(v);
    }
    free(p);
    rf_encoding_clear(&e);
    finish(&s);
}

/* ---- ends ---- */

typedef struct leaver {
    const srv_server *s;
    int answered;
} leaver;

static void *ask_until_refused(void *user)
{
    leaver *x = user;
    char out[4096];
    for (int status = 200; status == 200;) {
        status = ask(x->s, "POST", "/embed", "{\"inputs\":\"the old city\",\"dimensions\":2}", out, sizeof out);
        if (status == 200) x->answered++;
        else if (status != -1 && status != 503) fprintf(stderr, "%d %s\n", status, out), x->answered = -1000000;
    }
    return NULL;
}

static void draining_answers_what_was_accepted(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        served s = begin();
        pthread_t thread[THREADS];
        leaver x[THREADS];
        const srv_options o = options_of(&s);
        serve(&s, &o);
        for (int i = 0; i < THREADS; i++) {
            x[i] = (leaver){.s = s.s};
            assert_int_equal(pthread_create(&thread[i], NULL, ask_until_refused, &x[i]), 0);
        }
        rf__os_sleep(0.02);
        assert_int_equal(srv_drain(s.s, NULL), 0);
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < THREADS; i++) assert_true(x[i].answered >= 0);
        finish(&s);
    }
}

static void what_cannot_be_served_is_named(void **state)
{
    served s = begin(), other = s;
    rf_error why = {0};
    (void)state;
    srv_options o = options_of(&s);
    serve(&s, &o);
    o.port = srv_port(s.s);
    assert_int_equal(srv_open(&o, &other.s, &why), RF_EIO);
    assert_non_null(strstr(why.text, "port"));
    o.port = 0;
    const srv_alias alias = {"a", "none"};
    o.alias = &alias;
    o.aliases = 1;
    assert_int_equal(srv_open(&o, &other.s, &why), RF_EARG);
    o.aliases = 0;
    const srv_model_option missing = {.name = "none", .folder = "/nonexistent"};
    o.model = &missing;
    assert_int_equal(srv_open(&o, &other.s, &why), RF_OK);
    int ready;
    while (!(ready = srv_ready(other.s, &why))) rf__os_sleep(0.001);
    assert_int_equal(ready, -1);
    assert_non_null(strstr(why.text, "nonexistent"));
    srv_close(other.s);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_the_bits_of_the_pipeline),
        cmocka_unit_test(no_request_is_lost_while_models_are_loaded_again),
        cmocka_unit_test(ids_are_texts),
        cmocka_unit_test(bad_bodies_are_refused_by_name),
        cmocka_unit_test(a_batch_of_more_inputs_than_allowed_is_refused),
        cmocka_unit_test(other_routes_answer),
        cmocka_unit_test(attention_is_that_of_the_library),
        cmocka_unit_test(draining_answers_what_was_accepted),
        cmocka_unit_test(what_cannot_be_served_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
