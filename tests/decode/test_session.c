/* test_session.c — mirrors src/decode/session.c, src/model/model.c, src/model/encoder.c. */
#include <pthread.h>

#include "t.h"

#include "roformer/model.h"
#include "../model/work.h"

static rf_config small(void)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 97;
    c.embedding_size = 24;
    c.hidden_size = 32;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 4;
    c.intermediate_size = 64;
    c.initializer_range = 0.2;
    return c;
}

enum { TEXTS = 7 };
static const int32_t length[TEXTS] = {1, 5, 16, 17, 64, 130, 2};

/* Text i is a fixed function of i alone. */
static void fill(int text, int32_t *id, int32_t n, int32_t vocabulary)
{
    rf_rng r;
    rf_rng_init(&r, 5, (uint64_t)text);
    for (int32_t j = 0; j < n; j++) id[j] = (int32_t)rf_rng_below(&r, (uint32_t)vocabulary);
}

/* The main guarantee: same text, same bits, whatever else is in the batch and however many threads are used. */
static void same_text_same_bits(void **state)
{
    (void)state;
    const rf_config c = small();
    float *alone = t_floats(TEXTS * 32), *first = NULL;
    for (int threads = 1; threads <= 4; threads *= 2) {
        struct work w = begin(&c, threads, NULL);
        rf_error why = {0};
        for (int i = 0; i < TEXTS; i++) {
            int32_t id[256];
            const int32_t start[2] = {0, length[i]};
            const float *v;
            fill(i, id, length[i], 97);
            const rf_batch b = {.N = length[i], .B = 1, .id = id, .start = start};
            if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s", why.text);
            memcpy(alone + i * 32, v, 32 * sizeof *v);
        }
        for (int round = 0; round < TEXTS; round++) {                    /* every text in every position */
            int32_t id[256], start[TEXTS + 1] = {0};
            for (int i = 0; i < TEXTS; i++) {
                const int text = (i + round) % TEXTS;
                fill(text, id + start[i], length[text], 97);
                start[i + 1] = start[i] + length[text];
            }
            const rf_batch b = {.N = start[TEXTS], .B = TEXTS, .id = id, .start = start};
            const float *v;
            if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s", why.text);
            for (int i = 0; i < TEXTS; i++)
                assert_memory_equal(v + i * 32, alone + ((i + round) % TEXTS) * 32, 32 * sizeof *v);
        }
        if (!first) first = memcpy(t_floats(TEXTS * 32), alone, TEXTS * 32 * sizeof *alone);
        assert_memory_equal(alone, first, TEXTS * 32 * sizeof *alone);
        end(&w);
    }
    t_free_all();
}

/* Eq. 16: only distances count, so shifting every position changes nothing but rounding.  The angle's cosine is rounded
 * once; products of sums over 2 layers of width 32 stay within a few hundred ulp of values near 1. */
static void positions_may_be_shifted(void **state)
{
    (void)state;
    const rf_config c = small();
    struct work w = begin(&c, 1, NULL);
    rf_error why = {0};
    int32_t id[64], position[64];
    const int32_t start[2] = {0, 64}, shift[] = {1, 1000, -1000000, 2000000000};
    const float *v;
    fill(1, id, 64, 97);
    const rf_batch plain = {.N = 64, .B = 1, .id = id, .start = start};
    if (rf_session_hidden(w.session, &plain, &v, &why)) fail_msg("%s", why.text);
    float *expected = memcpy(t_floats(64 * 32), v, 64 * 32 * sizeof *v);
    for (size_t i = 0; i < RF_COUNT(shift); i++) {
        for (int j = 0; j < 64; j++) position[j] = shift[i] + j;
        rf_batch moved = plain;
        moved.position = position;
        if (rf_session_hidden(w.session, &moved, &v, &why)) fail_msg("%s", why.text);
        t_close(v, expected, 64 * 32, 5e-5, 0);
    }
    end(&w);
    t_free_all();
}

/* Positions beyond max_position_embeddings are valid. */
static void long_texts_work(void **state)
{
    (void)state;
    rf_config c = small();
    c.max_position_embeddings = 16;
    struct work w = begin(&c, 2, NULL);
    rf_error why = {0};
    enum { T = 3000 };
    static int32_t id[T];
    const int32_t start[2] = {0, T};
    const float *v;
    fill(1, id, T, 97);
    const rf_batch b = {.N = T, .B = 1, .id = id, .start = start};
    if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < T * 32; i++) assert_true(isfinite(v[i]));
    end(&w);
}

/* The reference rung is the formula: the fast rungs agree with it. */
static void rungs_agree(void **state)
{
    (void)state;
    const rf_config c = small();
    struct work ref = begin(&c, 1, "ref");
    rf_error why = {0};
    int32_t id[130];
    const int32_t start[3] = {0, 33, 130}, row[2] = {3, 99};
    fill(1, id, 130, 97);
    const rf_batch b = {.N = 130, .B = 2, .id = id, .start = start};
    const float *expected, *got;
    if (rf_session_mlm_logits(ref.session, &b, row, 2, &expected, &why)) fail_msg("%s", why.text);
    rfk_table rung;
    for (int i = 1; rfk_rung(i, &rung); i++) {
        struct work w = begin(&c, 1, rung.isa);
        if (rf_session_mlm_logits(w.session, &b, row, 2, &got, &why)) fail_msg("%s", why.text);
        t_close(got, expected, 2 * 97, 1e-4, 1e-5);
        end(&w);
    }
    end(&ref);
}

static void bad_batches_are_refused(void **state)
{
    (void)state;
    const rf_config c = small();
    struct work w = begin(&c, 1, NULL);
    const int32_t id[4] = {1, 2, 3, 97}, good[3] = {0, 2, 4}, hole[3] = {0, 0, 4}, wrong[3] = {0, 2, 3};
    const float *v;
    const struct { rf_batch b; rf_status code; const char *part; } cases[] = {
        {{.N = 0, .B = 0, .id = id, .start = good}, RF_EARG, "0 sequences"},
        {{.N = 4, .B = 2, .id = id, .start = wrong}, RF_EARG, "0 to 3"},
        {{.N = 4, .B = 2, .id = id, .start = hole}, RF_EARG, "sequence 0: expected at least 1 token"},
        {{.N = 4, .B = 2, .id = id, .start = good}, RF_ERANGE, "97"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why = {0};
        assert_int_equal(rf_session_hidden(w.session, &cases[i].b, &v, &why), cases[i].code);
        t_failed(&why, cases[i].code, cases[i].part);
    }
    rf_error why = {0};                                                  /* and the session still works */
    const rf_batch b = {.N = 3, .B = 1, .id = id, .start = (const int32_t[]){0, 3}};
    assert_int_equal(rf_session_hidden(w.session, &b, &v, &why), RF_OK);
    end(&w);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    rf_config c = small();
    c.is_decoder = 1;
    struct work w = begin(&c, 1, NULL);
    const int32_t id[4] = {1, 2, 3, 4}, start[2] = {0, 4}, row[1] = {0};
    const rf_batch good = {.N = 4, .B = 1, .id = id, .start = start}, no_id = {.N = 4, .B = 1, .start = start},
                   no_start = {.N = 4, .B = 1, .id = id};
    const struct { const rf_batch *b; const int32_t *row; int64_t n; const char *part; } cases[] = {
        {NULL, row, 1, "expected a batch"},  {&no_id, row, 1, "expected ids"}, {&no_start, row, 1, "expected starts"},
        {&good, NULL, 1, "got 1 without a list"},  {&good, row, -1, "got -1"},
    };
    const rf_sequence none = 1;
    const float *v;
    int64_t rows;
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why[5] = {{0}};
        const rf_batch *b = cases[i].b;
        rf_session_mlm_logits(w.session, b, cases[i].row, cases[i].n, &v, &why[0]);
        rf_session_continue(w.session, &none, b, cases[i].row, cases[i].n, &v, &why[1]);
        for (int j = 0; j < 2; j++) t_failed(&why[j], RF_EARG, cases[i].part);
        if (b == &good) continue;
        rf_session_hidden(w.session, b, &v, &why[2]);
        rf_session_embed(w.session, b, RF_POOL_CLS, &v, &why[3]);
        for (int j = 2; j < 4; j++) t_failed(&why[j], RF_EARG, cases[i].part);
        assert_int_not_equal(rf_session_logits(w.session, b, &v, &rows, &why[4]), RF_OK);
    }
    end(&w);
}

/* Sines of large positions chosen by the caller are those of a table of that length, bit for bit, without the table. */
static void far_sines_need_no_table(void **state)
{
    (void)state;
    enum { LONG = 6000 };
    for (int halves = 0; halves < 2; halves++) {
        rf_config c = small();
        c.num_hidden_layers = 1;
        strcpy(c.position_embedding_type, halves ? "sinusoidal_halves" : "sinusoidal");
        int32_t *id = t_bytes(LONG * sizeof *id);
        fill(1, id, LONG, 97);
        const int32_t all[2] = {0, LONG}, start[2] = {0, 3}, one[2] = {0, 1}, position[3] = {5000, 17, 5999},
                      far = 2000000;
        const rf_batch text = {.N = LONG, .B = 1, .id = id, .start = all};
        const rf_batch chosen = {.N = 3, .B = 1, .id = id, .position = position, .start = start};
        const rf_batch alone = {.N = 1, .B = 1, .id = id, .position = &far, .start = one};
        const float *v;
        rf_error why = {0};
        float expected[3 * 32];
        struct work w = begin(&c, 2, NULL);
        if (rf_session_hidden(w.session, &text, &v, &why)) fail_msg("%s", why.text);            /* leaves a table */
        if (rf_session_hidden(w.session, &chosen, &v, &why)) fail_msg("%s", why.text);
        memcpy(expected, v, sizeof expected);
        end(&w);

        t_memory memory = {0};
        w = (struct work){.ctx = t_counting_ctx(2, NULL, &memory)};
        if (rf_model_random(w.ctx, &c, 7, &w.model, &why) || rf_session_open(w.model, &w.session, &why))
            fail_msg("%s", why.text);
        if (rf_session_hidden(w.session, &chosen, &v, &why)) fail_msg("%s", why.text);
        assert_memory_equal(v, expected, sizeof expected);
        if (rf_session_hidden(w.session, &alone, &v, &why)) fail_msg("%s", why.text);
        assert_true(memory.peak < 4 << 20);
        end(&w);
        t_free_all();
    }
}

/* The n-th allocation fails, for n = 1, 2, ... until none does: a status each time, and nothing leaks. */
static rf_status score_a_random_model(const rf_ctx *ctx, void *config, rf_error *why)
{
    const int32_t id[3] = {1, 2, 3}, start[2] = {0, 3}, row[1] = {1};
    const rf_batch b = {.N = 3, .B = 1, .id = id, .start = start};
    rf_model *model = NULL;
    rf_session *session = NULL;
    const float *v;
    rf_status status = rf_model_random(ctx, config, 1, &model, why);
    if (!status) status = rf_session_open(model, &session, why);
    if (!status) status = rf_session_mlm_logits(session, &b, row, 1, &v, why);
    rf_session_close(session);
    rf_model_close(model);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    rf_config c = small();
    t_fail_allocations(1, "ref", score_a_random_model, &c);
}

/* The same for opening a folder: config, weights, then a session over them. */
static rf_status open_a_folder(const rf_ctx *ctx, void *arg, rf_error *why)
{
    (void)arg;
    rf_model *model = NULL;
    rf_session *session = NULL;
    rf_status status = rf_model_open(ctx, "tests/golden/models/projected", &model, why);
    if (!status) status = rf_session_open(model, &session, why);
    rf_session_close(session);
    rf_model_close(model);
    return status;
}

static void opening_may_find_no_memory(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, "ref", open_a_folder, NULL), 0);
}

/* Two threads with a session each, one context: no deadlock, and the bits are those of a single session. */
typedef struct racer { rf_model *model; float v[TEXTS][32]; rf_error why; } racer;

static void *race(void *arg)
{
    racer *r = arg;
    rf_session *s;
    if (rf_session_open(r->model, &s, &r->why)) return NULL;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < TEXTS; i++) {
            int32_t id[256];
            const int32_t start[2] = {0, length[i]};
            const float *v;
            fill(i, id, length[i], 97);
            const rf_batch b = {.N = length[i], .B = 1, .id = id, .start = start};
            if (!rf_session_embed(s, &b, RF_POOL_MEAN, &v, &r->why)) memcpy(r->v[i], v, sizeof r->v[i]);
        }
    rf_session_close(s);
    return NULL;
}

static void sessions_share_a_context(void **state)
{
    (void)state;
    const rf_config c = small();
    struct work w = begin(&c, 2, NULL);
    racer r[3] = {{.model = w.model}, {.model = w.model}, {.model = w.model}};
    pthread_t other[2];
    race(&r[2]);                                                     /* alone */
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&other[i], NULL, race, &r[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
    for (int i = 0; i < 3; i++) {
        if (r[i].why.code) fail_msg("%s", r[i].why.text);
        assert_memory_equal(r[i].v, r[2].v, sizeof r[2].v);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_text_same_bits),     cmocka_unit_test(positions_may_be_shifted),
        cmocka_unit_test(long_texts_work),         cmocka_unit_test(rungs_agree),
        cmocka_unit_test(bad_batches_are_refused), cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(far_sines_need_no_table), cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(opening_may_find_no_memory), cmocka_unit_test(sessions_share_a_context),
    };
    return cmocka_run_group_tests_name("model/session", tests, NULL, NULL);
}
