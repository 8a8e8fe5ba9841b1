/* test_logprobs.c — mirrors src/decode/logprobs.c: log-probabilities of every token, in overlapping windows. */
#include "../model/causal.h"
#include "roformer/generate.h"

/* Sums in double, in another order: log softmax of the row before each token, in the first window that contains it,
 * computed alone. */
static double expected_of(const struct work *w, const int32_t *id, int n, int window, int stride, int i)
{
    int begin = 0;
    while (begin + window <= i) begin += stride;
    const int end = begin + window < n ? begin + window : n;
    const int32_t start[2] = {0, end - begin}, row = i - 1 - begin;
    const float *z;
    rf_error why = {0};
    const rf_batch b = {.N = end - begin, .B = 1, .id = id + begin, .start = start};
    if (rf_session_mlm_logits(w->session, &b, &row, 1, &z, &why)) fail_msg("%s", why.text);
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < V; j++) most = fmax(most, (double)z[j]);
    for (int j = 0; j < V; j++) sum += exp((double)z[j] - most);
    return (double)z[id[i]] - most - log(sum);
}

static void windows(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"rope_theta\":10000", "\"position_embedding_type\":\"recurrent\"",
                                       "\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4}"};
    static const int shape[][3] = {{1, 0, 0}, {2, 2, 1}, {100, 0, 0}, {90, 32, 8}, {90, 32, 31}, {20, 64, 64}};
    for (size_t k = 0; k < RF_COUNT(keys); k++) {
        const rf_config c = small(keys[k]);
        struct work w = begin(&c, 2, NULL);
        int32_t id[T];
        double logprob[T];
        fill(1, id, T);
        for (size_t i = 0; i < RF_COUNT(shape); i++) {
            const int n = shape[i][0], window = shape[i][1] ? shape[i][1] : n, stride = shape[i][2] ? shape[i][2] : n;
            rf_error why = {0};
            if (rf_session_logprobs(w.session, id, n, shape[i][1], shape[i][2], logprob, 0, NULL, &why))
                fail_msg("%s", why.text);
            assert_true(logprob[0] == 0);
            for (int j = 1; j < n; j++) t_near(logprob[j], expected_of(&w, id, n, window, stride, j), 1e-12);
        }
        assert_int_equal(rf_sequence_memory(w.session), 0);
        end(&w);
    }
}

/* In windows: the most likely tokens have the log-probabilities that they would have as tokens of the text. */
static void the_most_likely(void **state)
{
    (void)state;
    enum { N = 40, TOPS = 3 };
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 2, NULL);
    int32_t id[N];
    double logprob[N], plain[N];
    rf_token_logprob top[N][TOPS];
    rf_error why = {0};
    fill(1, id, N);
    if (rf_session_logprobs(w.session, id, N, 16, 8, plain, 0, NULL, &why) ||
        rf_session_logprobs(w.session, id, N, 16, 8, logprob, TOPS, top[0], &why))
        fail_msg("%s", why.text);
    assert_memory_equal(logprob, plain, sizeof plain);
    for (int k = 0; k < TOPS; k++) assert_int_equal(top[0][k].id, -1);
    for (int j = 1; j < N; j++) {
        double all[V];
        for (int v = 0; v < V; v++) {
            int32_t other[N];
            memcpy(other, id, sizeof id);
            other[j] = v;
            all[v] = expected_of(&w, other, N, 16, 8, j);
        }
        for (int k = 0; k < TOPS; k++) {
            int above = 0;
            for (int v = 0; v < V; v++) above += all[v] > top[j][k].logprob + 1e-12;
            t_near(top[j][k].logprob, all[top[j][k].id], 1e-12);
            assert_true(above <= k && (!k || top[j][k].id != top[j][k - 1].id));
        }
    }
    assert_int_equal(rf_session_logprobs(w.session, id, N, 0, 0, logprob, 129, top[0], &why), RF_EARG);
    t_failed(&why, RF_EARG, "tops: expected 0 to 128, got 129");
    end(&w);
}

/* Longer than the pieces whose logits are in memory together. */
static void long_texts(void **state)
{
    (void)state;
    enum { LONG = 700 };
    const rf_config c = small("\"max_position_embeddings\":1024");
    struct work w = begin(&c, 2, NULL);
    static int32_t id[LONG];
    static double logprob[LONG];
    rf_error why = {0};
    fill(1, id, LONG);
    if (rf_session_logprobs(w.session, id, LONG, 0, 0, logprob, 0, NULL, &why)) fail_msg("%s", why.text);
    static const int some[] = {1, 255, 256, 257, 512, 699};
    for (size_t i = 0; i < RF_COUNT(some); i++)
        t_near(logprob[some[i]], expected_of(&w, id, LONG, LONG, LONG, some[i]), 1e-12);
    end(&w);
}

static void refusals(void **state)
{
    (void)state;
    rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    const int32_t id[4] = {1, 2, 3, V};
    double x[4];
    const struct { int64_t n, window, stride; rf_status code; const char *part;
    } cases[] = {
        {0, 0, 0, RF_EARG, "at least 1"},         {3, 1, 1, RF_EARG, "window: expected at least 2 tokens, got 1"},
        {3, 2, 2, RF_EARG, "stride: expected 1 to 1"}, {4, 0, 0, RF_ERANGE, "token 3: expected"},
        {3, 2, -1, RF_EARG, "stride: expected"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why = {0};
        assert_int_equal(rf_session_logprobs(w.session, id, cases[i].n, cases[i].window, cases[i].stride, x, 0, NULL,
                                             &why),
                         cases[i].code);
        t_failed(&why, cases[i].code, cases[i].part);
    }
    rf_error why = {0};
    assert_int_equal(rf_session_logprobs(w.session, NULL, 1, 0, 0, x, 0, NULL, &why), RF_EARG);
    end(&w);
    c.is_decoder = 0;
    w = begin(&c, 1, NULL);
    why = (rf_error){0};
    assert_int_equal(rf_session_logprobs(w.session, id, 3, 0, 0, x, 0, NULL, &why), RF_EUNSUPPORTED);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows), cmocka_unit_test(the_most_likely),
                                       cmocka_unit_test(long_texts), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("model/logprobs", tests, NULL, NULL);
}
