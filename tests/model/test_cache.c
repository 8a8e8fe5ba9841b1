/* test_cache.c — mirrors src/model/cache.c: tokens that are added one by one, or in parts, have the same bits as in the
 * whole text. */
#include "t.h"

#include "causal.h"
#include "model/positions.h"

enum { SEQUENCES = 3 };

/* The next tokens [from, to) of one text.  The rung ref rotates in double without rounding, but a cached key is rounded
 * to f32 once; this changes scores, and after two layers logits, by a few tens of roundings of numbers near 10. */
static void more(const struct work *w, rf_sequence q, const char *name, const int32_t *id, int32_t from, int32_t to,
                 const float *expected)
{
    int32_t row[T];
    const int32_t start[2] = {0, to - from};
    const float *v;
    rf_error why = {0};
    for (int32_t i = 0; i < to - from; i++) row[i] = i;
    const rf_batch b = {.N = to - from, .B = 1, .id = id + from, .start = start};
    assert_int_equal(rf_sequence_length(w->session, q), from);
    if (rf_session_continue(w->session, &q, &b, row, to - from, &v, &why)) fail_msg("%s: %s", name, why.text);
    assert_int_equal(rf_sequence_length(w->session, q), to);
    if (!strcmp(rf_ctx_isa(w->ctx), "ref")) {
        t_close(v, expected + from * V, (int64_t)(to - from) * V, 1e-5, 1e-5);
        return;
    }
    for (int32_t i = from; i < to; i++)
        if (memcmp(v + (i - from) * V, expected + i * V, V * sizeof *v))
            fail_msg("%s: token %d has other bits after %d together, %g for %g", name, i, from,
                     (double)v[(i - from) * V], (double)expected[i * V]);
}

/* The first n tokens of a text together, then one after the other; and in parts. */
static void tokens_one_by_one(void **state)
{
    (void)state;
    rf_config c;
    const char *name;
    int checked = 0;
    for (size_t i = 0; config_at(i, &c, &name); i++) {
        const rf_position *is;
        assert_int_equal(rf__position_find(&c, &is, NULL), RF_OK);
        if (rf__position_caches(is, &c, NULL)) continue;
        struct work w = begin(&c, 1 + (int)(i % 2), NULL);
        int32_t id[T];
        fill(4, id, T);
        const float *expected = at_once(&w, id, T);
        static const int32_t prefix[] = {1, 7, 64};
        for (size_t p = 0; p < RF_COUNT(prefix); p++) {
            const rf_sequence q = new_sequence(&w);
            more(&w, q, name, id, 0, prefix[p], expected);
            for (int32_t n = prefix[p]; n < T; n++) more(&w, q, name, id, n, n + 1, expected);
            drop(&w, q);
        }
        static const int32_t cut[] = {0, 2, 3, 20, 37, 38, 90, T};
        const rf_sequence pieces = new_sequence(&w);
        for (size_t p = 0; p + 1 < RF_COUNT(cut); p++) more(&w, pieces, name, id, cut[p], cut[p + 1], expected);
        checked++;
        end(&w);
        t_free_all();
    }
    print_message("           %d configurations\n", checked);
    assert_true(checked >= 25);
}

/* More than one block of keys (512) and one of queries. */
static void long_texts(void **state)
{
    (void)state;
    enum { LONG = 1200 };
    rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 2, NULL);
    static int32_t id[LONG];
    const int32_t all[2] = {0, LONG}, last[1] = {LONG - 1}, first[2] = {0, LONG - 3}, one[2] = {0, 1}, zero[1] = {0};
    rf_error why = {0};
    const float *v;
    fill(3, id, LONG);
    rf_batch b = {.N = LONG, .B = 1, .id = id, .start = all};
    if (rf_session_mlm_logits(w.session, &b, last, 1, &v, &why)) fail_msg("%s", why.text);
    float *expected = memcpy(t_floats(V), v, V * sizeof *v);
    b = (rf_batch){.N = LONG - 3, .B = 1, .id = id, .start = first};
    const rf_sequence q = new_sequence(&w);
    if (rf_session_continue(w.session, &q, &b, zero, 1, &v, &why)) fail_msg("%s", why.text);
    for (int i = LONG - 3; i < LONG; i++) {
        b = (rf_batch){.N = 1, .B = 1, .id = id + i, .start = one};
        if (rf_session_continue(w.session, &q, &b, zero, 1, &v, &why)) fail_msg("%s", why.text);
    }
    assert_memory_equal(v, expected, V * sizeof *v);
    end(&w);
    t_free_all();
}

/* Several sequences of different lengths in one batch, with different numbers of new tokens. */
static void sequences_side_by_side(void **state)
{
    (void)state;
    static const int32_t add[][SEQUENCES] = {{5, 1, 17}, {1, 1, 1}, {2, 30, 1}, {1, 1, 1}};
    rf_config c;
    const char *name;
    for (size_t i = 0; config_at(i / 2, &c, &name); i++) {              /* each in f32 and in bf16 */
        const rf_position *is;
        if (rf__position_find(&c, &is, NULL) || rf__position_caches(is, &c, NULL)) continue;
        struct work w = begin_as(&c, i % 2 ? RF_BF16 : RF_F32, 2, NULL);
        int32_t text[SEQUENCES][T], seen[SEQUENCES] = {0};
        const float *expected[SEQUENCES];
        rf_sequence q[SEQUENCES];
        for (int s = 0; s < SEQUENCES; s++) {
            fill(s, text[s], T);
            expected[s] = at_once(&w, text[s], 60);
            q[s] = new_sequence(&w);
        }
        for (size_t k = 0; k < RF_COUNT(add); k++) {
            int32_t id[T], row[T], start[SEQUENCES + 1] = {0};
            const float *v;
            rf_error why = {0};
            for (int s = 0; s < SEQUENCES; s++) {
                memcpy(id + start[s], text[s] + seen[s], (size_t)add[k][s] * sizeof *id);
                start[s + 1] = start[s] + add[k][s];
            }
            for (int n = 0; n < start[SEQUENCES]; n++) row[n] = n;
            const rf_batch b = {.N = start[SEQUENCES], .B = SEQUENCES, .id = id, .start = start};
            if (rf_session_continue(w.session, q, &b, row, b.N, &v, &why)) fail_msg("%s: %s", name, why.text);
            for (int s = 0; s < SEQUENCES; s++) {
                if (memcmp(v + start[s] * V, expected[s] + seen[s] * V, (size_t)add[k][s] * V * sizeof *v))
                    fail_msg("%s: sequence %d, tokens from %d have other bits", name, s, seen[s]);
                seen[s] += add[k][s];
                assert_int_equal(rf_sequence_length(w.session, q[s]), seen[s]);
            }
        }
        end(&w);
        t_free_all();
    }
}

/* On every rung, in bf16 too. */
static void rungs_and_types(void **state)
{
    (void)state;
    const rf_config c = small("\"rotary_value\":true");
    rfk_table rung;
    for (int i = 0; rfk_rung(i, &rung); i++)
        for (int type = RF_F32; type <= RF_BF16; type++) {
            struct work w = begin_as(&c, (rf_type)type, 1, rung.isa);
            int32_t id[T];
            fill(4, id, T);
            const float *expected = at_once(&w, id, 40);
            const rf_sequence q = new_sequence(&w);
            more(&w, q, rung.isa, id, 0, 7, expected);
            for (int32_t n = 7; n < 40; n++) more(&w, q, rung.isa, id, n, n + 1, expected);
            end(&w);
            t_free_all();
        }
}

/* Every encoding, with products in bf16. */
static void tokens_in_bf16(void **state)
{
    (void)state;
    rf_config c;
    const char *name;
    for (size_t i = 0; config_at(i, &c, &name); i++) {
        const rf_position *is;
        rf_error why = {0};
        int32_t id[T];
        assert_int_equal(rf__position_find(&c, &is, NULL), RF_OK);
        if (rf__position_caches(is, &c, NULL)) continue;
        struct work w = {.ctx = t_ctx(2, NULL)};
        if (rf_model_random_as(w.ctx, &c, 7, RF_BF16, &w.model, &why) || rf_session_open(w.model, &w.session, &why))
            fail_msg("%s: %s", name, why.text);
        fill(4, id, T);
        const float *expected = at_once(&w, id, 40);
        const rf_sequence q = new_sequence(&w);
        more(&w, q, name, id, 0, 17, expected);
        for (int32_t n = 17; n < 40; n++) more(&w, q, name, id, n, n + 1, expected);
        end(&w);
        t_free_all();
    }
}

static void refusals(void **state)
{
    (void)state;
    const int32_t id[4] = {1, 2, 3, 97}, one[2] = {0, 1}, four[2] = {0, 4}, row[1] = {0};
    const rf_batch b = {.N = 1, .B = 1, .id = id, .start = one}, bad = {.N = 4, .B = 1, .id = id, .start = four},
                   placed = {.N = 1, .B = 1, .id = id, .position = id, .start = one};
    const float *v;
    rf_sequence q = 1;
    rf_error why = {0};
    static const struct { const char *keys, *part; } cases[] = {
        {"\"position_embedding_type\":\"rerope\"", "rotates a key anew for every distance"},
        {"\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4}", "depend on the length of the whole text"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const rf_config c = small(cases[i].keys);
        struct work w = begin(&c, 1, NULL);
        assert_int_equal(rf_sequence_new(w.session, NULL, &q, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, cases[i].part);
        why = (rf_error){0};
        end(&w);
    }
    rf_config c = small("\"position_embedding_type\":\"absolute\",\"max_position_embeddings\":3");
    c.is_decoder = 0;
    struct work w = begin(&c, 1, NULL);
    assert_int_equal(rf_session_continue(w.session, &q, &b, row, 1, &v, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "is_decoder false");
    end(&w);
    c.is_decoder = 1;
    w = begin(&c, 1, NULL);
    q = new_sequence(&w);
    const struct { const rf_batch *b; rf_status code; const char *part;
    } steps[] = {
        {&placed, RF_EARG, "expected no positions"},
        {&bad, RF_ERANGE, "97"},
        {&b, RF_OK, NULL},
        {&bad, RF_ERANGE, "97"},
        {&b, RF_OK, NULL},
        {&bad, RF_ERANGE, "97"},
        {&b, RF_OK, NULL},
        {&b, RF_ERANGE, "(max_position_embeddings), got 3"},
    };
    int length = 0;
    for (size_t i = 0; i < RF_COUNT(steps); i++) {
        why = (rf_error){0};
        const rf_status got = rf_session_continue(w.session, &q, steps[i].b, row, 1, &v, &why);
        if (got != steps[i].code) fail_msg("step %zu: %s", i, why.text);
        if (got) t_failed(&why, got, steps[i].part);
        assert_int_equal(rf_sequence_length(w.session, q), length += !got);
    }
    end(&w);
}

/* A text, then a fork of it, then a token for both; a call that fails for lack of memory is repeated. */
enum { BEGUN = 90, CALLS = 5 };
struct attempt { rf_session *session; t_memory *memory; rf_sequence a, b; const int32_t *id; const float *v; };

static rf_status call(struct attempt *t, int number, rf_error *why)
{
    static const int32_t start[2] = {0, BEGUN}, two[3] = {0, 1, 2}, row[2] = {0, 1};
    const int32_t id[2] = {t->id[BEGUN], t->id[BEGUN]};
    const rf_batch first = {.N = BEGUN, .B = 1, .id = t->id, .start = start};
    const rf_batch next = {.N = 2, .B = 2, .id = id, .start = two};
    switch (number) {
    case 0: return rf_sequence_new(t->session, NULL, &t->a, why);
    case 1: return rf_session_continue(t->session, &t->a, &first, row, 1, &t->v, why);
    case 2: return rf_sequence_fork(t->session, t->a, &t->b, why);
    case 3: return rf_session_continue(t->session, (rf_sequence[]){t->b, t->a}, &next, row, 2, &t->v, why);
    default: return rf_sequence_drop(t->session, t->a, why);
    }
}

static bool attempt_all(struct attempt *t, long n)
{
    bool failed = false;
    for (int i = 0; i < CALLS; i++) {
        rf_error why = {0};
        const size_t before = rf_sequence_memory(t->session);
        const int64_t a = rf_sequence_length(t->session, t->a), b = rf_sequence_length(t->session, t->b);
        const rf_status status = call(t, i, &why);
        if (!status) continue;
        if (status != RF_ENOMEM) fail_msg("allocation %ld: %s", n, why.text);
        assert_int_equal(rf_sequence_length(t->session, t->a), a);
        assert_int_equal(rf_sequence_length(t->session, t->b), b);
        if (i == 1) assert_true(rf_sequence_memory(t->session) == before);
        t->memory->fail = 0;
        failed = true;
        why = (rf_error){0};
        if (call(t, i, &why)) fail_msg("%s", why.text);
    }
    return failed;
}

/* The n-th allocation fails, for n = 1, 2, ... until none does: a status, no leak, and all sequences are unchanged. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"rope_theta\":10000", "\"position_embedding_type\":\"recurrent\"",
                                       "\"position_embedding_type\":\"convolution\""};
    for (size_t k = 0; k < RF_COUNT(keys); k++) {
        const rf_config c = small(keys[k]);
        int32_t id[T];
        bool failed = true;
        fill(2, id, T);
        struct work w = begin(&c, 1, "ref");
        float *expected = memcpy(t_floats(V), at_once(&w, id, BEGUN + 1) + BEGUN * V, V * sizeof *expected);
        end(&w);
        for (long n = 1; failed; n++) {
            t_memory memory = {0};
            rf_ctx *ctx = t_counting_ctx(1, "ref", &memory);
            rf_model *model = NULL;
            rf_error why = {0};
            struct attempt t = {.memory = &memory, .id = id};
            if (rf_model_random(ctx, &c, 7, &model, &why) || rf_session_open(model, &t.session, &why))
                fail_msg("%s", why.text);
            memory.calls = 0;
            memory.fail = n;
            failed = attempt_all(&t, n);
            t_close(t.v, expected, V, 1e-5, 1e-5);
            t_close(t.v + V, expected, V, 1e-5, 1e-5);
            rf_session_close(t.session);
            rf_model_close(model);
            rf_ctx_free(ctx);
            assert_int_equal(memory.live, 0);
        }
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_one_by_one),
        cmocka_unit_test(long_texts),        cmocka_unit_test(sequences_side_by_side),
        cmocka_unit_test(rungs_and_types),   cmocka_unit_test(tokens_in_bf16),
        cmocka_unit_test(refusals),          cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("model/cache", tests, NULL, NULL);
}
