/* test_memory.c — mirrors src/serve: allocations that fail while a request is received, read, computed and answered.
 * That request is answered with 503, or its connection is closed; the next one has the answer that it always has.
 *
 * The linker puts the three functions below in place of malloc, calloc and realloc of the server and the library. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdatomic.h>

#include "served.h"
#include "small_folders.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_llong calls, fail_from, fail_to; /* allocations fail from number fail_from to fail_to; 0: none */

static bool fails(void)
{
    const long long n = atomic_fetch_add(&calls, 1) + 1, from = atomic_load(&fail_from);
    return from && n >= from && n <= atomic_load(&fail_to);
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

enum { SPACE = 1 << 18 };

/* A request whose text is a constant, and the answer into `out`, without an allocation of this side. */
static int talk(const served *s, const char *text, char *out)
{
    const int fd = dial(s->s);
    size_t n = 0;
    int status = -1;
    if (fd < 0) return -1;
    if (send_bytes(fd, text, strlen(text)) == (int64_t)strlen(text))
        for (int64_t k; n < SPACE - 1 && (k = take_bytes(fd, out + n, SPACE - 1 - n)) > 0;) n += (size_t)k;
    hang_up(fd);
    out[n] = 0;
    return sscanf(out, "HTTP/1.1 %d", &status) == 1 ? status : -1;
}

/* What must not change: the body, without the id and the time that OpenAI's and Cohere's begin with. */
static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n"), *model = end ? strstr(end, "\"model\"") : NULL;
    return model ? model : end ? end + 4 : "";
}

/* Fails allocation `first` of a request, or all from it on, until none of its allocations is left. */
static void sweep(const served *s, const char *path, const char *body, bool all)
{
    static char text[4096], expected[SPACE], out[SPACE];
    snprintf(text, sizeof text,
             "POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    assert_int_equal(talk(s, text, expected), 200);
    long long first = 1, failed = 0;
    for (bool reached = true; reached; first++) {
        const long long before = atomic_load(&calls);
        atomic_store(&fail_to, all ? LLONG_MAX : before + first);
        atomic_store(&fail_from, before + first);
        const int status = talk(s, text, out);
        atomic_store(&fail_from, 0);
        reached = atomic_load(&calls) >= before + first;
        failed += status != 200;
        if (status != 200 && status != 503 && status != -1)
            fail_msg("%s, allocation %lld: expected 200, 503 or no answer, got %d: %.300s", path, first, status, out);
        if (status == 200 && strcmp(body_of(out), body_of(expected)))
            fail_msg("%s, allocation %lld: another answer: %.300s", path, first, body_of(out));
    }
    if (!failed) fail_msg("%s: no allocation of %lld changed the answer", path, first);
    assert_int_equal(talk(s, text, out), 200);
    assert_string_equal(body_of(out), body_of(expected));
}

static void requests_without_memory_fail_alone(void **state)
{
    static const char *const rows[][2] = {
        {"/embed", "{\"inputs\":[\"the old city\",\"the\"]}"},
        {"/embed", "{\"inputs\":[[2,3],[4]]}"},
        {"/embed", "{\"inputs\":\"the old\",\"truncation_direction\":\"left\"}"},
        {"/embed_all", "{\"inputs\":\"the old city\"}"},
        {"/embed_sparse", "{\"inputs\":\"the old city\"}"},
        {"/v1/embeddings", "{\"input\":\"the old city\",\"encoding_format\":\"base64\"}"},
        {"/similarity", "{\"inputs\":{\"source_sentence\":\"the\",\"sentences\":[\"old\",\"city\"]}}"},
        {"/tokenize", "{\"inputs\":[\"the old city\"]}"},
        {"/decode", "{\"ids\":[[2,3],[4]]}"},
        {"/fill_mask", "{\"inputs\":\"the [MASK] city\",\"targets\":[\"old\",\"the\"]}"},
    };
    served s = begin();
    (void)state;
    const srv_options o = options_of(&s);
    serve(&s, &o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int all = 0; all < 2; all++) sweep(&s, rows[i][0], rows[i][1], all);
    finish(&s);
}

static void texts_without_memory_fail_alone(void **state)
{
    served s = begin();
    (void)state;
    s.m.folder = "tests/golden/gpt";
    const srv_options o = options_of(&s);
    serve(&s, &o);
    for (int all = 0; all < 2; all++) {
        sweep(&s, "/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":3,\"do_sample\":false}}", all);
        sweep(&s, "/generate", "{\"inputs\":\"a\",\"parameters\":{\"return_full_text\":false,\"stop\":[\"x\"]}}", all);
    }
    finish(&s);
}

static void other_models_without_memory_fail_alone(void **state)
{
    char *const translates = translator(), *const labels = scorer("sequence"), *const pairs = scorer("whole/pairs");
    const struct {
        const char *folder, *path, *body;
    } rows[] = {
        {translates, "/", "{\"inputs\":[\"w3 w4 w5\",\"w6\"]}"},
        {translates, "/translate", "{\"q\":\"w3 w4\",\"source\":\"en\",\"target\":\"de\",\"alignments\":true}"},
        {labels, "/predict", "{\"inputs\":[[\"the old\"],[\"the\",\"city\"]]}"},
        {pairs, "/rerank", "{\"query\":\"the\",\"texts\":[\"old\",\"city\"],\"return_text\":true}"},
        {pairs, "/v2/rerank", "{\"query\":\"the\",\"documents\":[\"old\",\"city\"]}"},
        {"tests/golden/gpt", "/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":3,\"temperature\":0}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        served s = begin();
        s.m.folder = rows[i].folder;
        srv_options o = options_of(&s);
        o.languages = rows[i].folder == translates ? "en:de" : NULL;
        serve(&s, &o);
        for (int all = 0; all < 2; all++) sweep(&s, rows[i].path, rows[i].body, all);
        finish(&s);
    }
    free(translates);
    free(labels);
    free(pairs);
}

/* The texts of all events, one after the other. false: the stream has an error, or no end. */
static bool read_events(const char *answer, char text[256])
{
    static const char key[] = "\"text\":\"";
    size_t n = 0;
    for (const char *at = answer; (at = strstr(at, key));)
        for (at += sizeof key - 1; *at && *at != '"' && n < 255;) text[n++] = *at++;
    text[n] = 0;
    return strstr(answer, "data: [DONE]") && !strstr(answer, "\"error\"");
}

/* A stream that has begun ends with an error, or without its last event. */
static void streams_without_memory_end(void **state)
{
    static char out[SPACE], expected[256], got[256];
    const char *body = "{\"prompt\":\"a\",\"max_tokens\":4,\"temperature\":0,\"stream\":true}";
    char request[512];
    served s = begin();
    (void)state;
    s.m.folder = "tests/golden/gpt";
    const srv_options o = options_of(&s);
    serve(&s, &o);
    snprintf(request, sizeof request,
             "POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    assert_int_equal(talk(&s, request, out), 200);
    assert_true(read_events(out, expected) && *expected);
    long long failed = 0;
    for (int all = 0; all < 2; all++)
        for (long long first = 1, reached = 1; reached; first++) {
            const long long before = atomic_load(&calls);
            atomic_store(&fail_to, all ? LLONG_MAX : before + first);
            atomic_store(&fail_from, before + first);
            const int status = talk(&s, request, out);
            atomic_store(&fail_from, 0);
            reached = atomic_load(&calls) >= before + first;
            const bool whole = status == 200 && read_events(out, got);
            failed += !whole;
            if (status != 200 && status != 503 && status != -1)
                fail_msg("allocation %lld: expected 200, 503 or no answer, got %d: %.300s", first, status, out);
            if (whole && strcmp(got, expected)) fail_msg("allocation %lld: expected %s, got %s", first, expected, got);
        }
    assert_true(failed > 20);
    assert_int_equal(talk(&s, request, out), 200);
    assert_true(read_events(out, got));
    assert_string_equal(got, expected);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_without_memory_fail_alone),
        cmocka_unit_test(texts_without_memory_fail_alone),
        cmocka_unit_test(other_models_without_memory_fail_alone),
        cmocka_unit_test(streams_without_memory_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
