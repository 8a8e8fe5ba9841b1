/* test_sequence.c — mirrors src/decode/sequence.c: sequences that are started, forked, continued and dropped in any
 * order have the bits of a single forward pass. */
#include "../model/causal.h"
#include "decode/session.h"
#include "model/model.h"

/* ---- any schedule ------------------------------------------------------------------------------------------------ */

/* TEXTS texts; text i shares its first `shares[i]` tokens with the previous one. */
enum { TEXTS = 6, LIVE = 12, LENGTH = 180, STEPS = 200 };

typedef struct kept { rf_sequence number; int text; int32_t n; } kept;

typedef struct schedule {
    struct work w;
    const char *name;
    rf_type type;                       /* of keys and values                                                         */
    int32_t id[TEXTS][LENGTH];
    const float *expected[TEXTS];       /* [LENGTH,V]                                                                 */
    kept live[LIVE];
    int lives;
    rf_rng r;
} schedule;

static const int32_t shares[TEXTS] = {0, 64, 70, 0, 128, 1};

static rf_sequence new_as(const struct work *w, rf_type type)
{
    rf_sequence_options o;
    rf_sequence q;
    rf_error why = {0};
    rf_sequence_defaults(&o);
    o.type = type;
    if (rf_sequence_new(w->session, &o, &q, &why)) fail_msg("%s", why.text);
    return q;
}

/* All logits of a text computed in one pass; or, if keys are rounded and products are not, in one call. */
static const float *expected_of(const schedule *s, const int32_t *id)
{
    static int32_t row[LENGTH];
    const int32_t start[2] = {0, LENGTH};
    const bool rounded = s->type == RF_BF16 && s->w.model->type == RF_F32;
    const float *v;
    rf_error why = {0};
    for (int i = 0; i < LENGTH; i++) row[i] = i;
    const rf_batch b = {.N = LENGTH, .B = 1, .id = id, .start = start};
    const rf_sequence q = rounded ? new_as(&s->w, s->type) : 0;
    if (rounded ? rf_session_continue(s->w.session, &q, &b, row, LENGTH, &v, &why)
                : rf_session_mlm_logits(s->w.session, &b, row, LENGTH, &v, &why))
        fail_msg("%s: %s", s->name, why.text);
    v = memcpy(t_floats(LENGTH * V), v, LENGTH * V * sizeof *v);
    if (rounded) drop(&s->w, q);
    return v;
}

static void take_away(schedule *s, int i)
{
    drop(&s->w, s->live[i].number);
    assert_int_equal(rf_sequence_length(s->w.session, s->live[i].number), -1);
    s->live[i] = s->live[--s->lives];
}

/* A fork continues with another text that begins with the existing tokens, if there is one. */
static void fork_one(schedule *s)
{
    rf_error why = {0};
    kept k = s->live[rf_rng_below(&s->r, (uint32_t)s->lives)];
    if (rf_sequence_fork(s->w.session, k.number, &k.number, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_sequence_length(s->w.session, k.number), k.n);
    const int from = (int)rf_rng_below(&s->r, TEXTS), own = k.text;
    for (int i = 0; i < TEXTS && k.text == own; i++) {
        const int other = (from + i) % TEXTS;
        if (!memcmp(s->id[own], s->id[other], (size_t)k.n * sizeof **s->id)) k.text = other;
    }
    s->live[s->lives++] = k;
}

/* Some of the existing ones, in any order, get some tokens each. */
static void continue_some(schedule *s)
{
    rf_sequence which[LIVE];
    int member[LIVE];
    int32_t id[LIVE * LENGTH], row[LIVE * LENGTH], start[LIVE + 1] = {0};
    const float *v;
    rf_error why = {0};
    int B = 0;
    for (int i = 0; i < s->lives; i++) {                              /* shuffled */
        const int j = (int)rf_rng_below(&s->r, (uint32_t)i + 1);
        member[i] = member[j];
        member[j] = i;
    }
    for (int i = 0; i < s->lives; i++) {
        const kept *k = &s->live[member[i]];
        static const uint32_t most[] = {1, 1, 3, 70};
        const int32_t left = LENGTH - k->n;
        if (!left || rf_rng_below(&s->r, 3) == 0) continue;
        const int32_t n = (int32_t)rf__min64(left, 1 + rf_rng_below(&s->r, most[rf_rng_below(&s->r, 4)]));
        memcpy(id + start[B], s->id[k->text] + k->n, (size_t)n * sizeof *id);
        which[B] = k->number;
        start[B + 1] = start[B] + n;
        member[B++] = member[i];
    }
    if (!B) return;
    for (int32_t n = 0; n < start[B]; n++) row[n] = n;
    const rf_batch b = {.N = start[B], .B = B, .id = id, .start = start};
    if (rf_session_continue(s->w.session, which, &b, row, b.N, &v, &why)) fail_msg("%s: %s", s->name, why.text);
    for (int i = 0; i < B; i++) {
        kept *k = &s->live[member[i]];
        const int32_t n = start[i + 1] - start[i];
        if (memcmp(v + start[i] * V, s->expected[k->text] + k->n * V, (size_t)n * V * sizeof *v))
            fail_msg("%s: text %d has other bits from token %d on, %d together", s->name, k->text, (int)k->n, (int)n);
        k->n += n;
        assert_int_equal(rf_sequence_length(s->w.session, k->number), k->n);
    }
}

static void run(schedule *s, uint64_t seed)
{
    rf_rng_init(&s->r, seed, 1);
    for (int i = 0; i < TEXTS; i++) {
        fill(i, s->id[i], LENGTH);
        if (i) memcpy(s->id[i], s->id[i - 1], (size_t)shares[i] * sizeof **s->id);
        s->expected[i] = expected_of(s, s->id[i]);
    }
    for (int step = 0; step < STEPS; step++) {
        const uint32_t what = rf_rng_below(&s->r, 8);
        if (what == 0 && s->lives < LIVE)
            s->live[s->lives++] = (kept){new_as(&s->w, s->type), (int)rf_rng_below(&s->r, TEXTS), 0};
        else if (what == 1 && s->lives && s->lives < LIVE) fork_one(s);
        else if (what == 2 && s->lives > LIVE / 3) take_away(s, (int)rf_rng_below(&s->r, (uint32_t)s->lives));
        else continue_some(s);
    }
    while (s->lives) take_away(s, (int)rf_rng_below(&s->r, (uint32_t)s->lives));
    assert_int_equal(rf_sequence_memory(s->w.session), 0);
}

/* Products and keys, each in f32 and in bf16. */
static void any_schedule(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"rope_theta\":10000",
        "\"rotary_value\":true",
        "\"position_embedding_type\":\"recurrent\"",
        "\"position_embedding_type\":\"convolution\",\"conv_kernel_size\":9",
        "\"position_embedding_type\":\"tupe\"",
        "\"position_embedding_type\":\"xlnet\"",
        "\"position_embedding_type\":\"floater\"",
        "\"position_embedding_type\":\"deberta\",\"position_buckets\":6",
    };
    for (size_t i = 0; i < 4 * RF_COUNT(keys); i++) {
        char text[256];
        snprintf(text, sizeof text, "\"max_position_embeddings\":256,%s", keys[i / 4]);
        const rf_config c = small(text);
        schedule s = {.name = text, .type = i & 1 ? RF_BF16 : RF_F32};
        s.w = begin_as(&c, i & 2 ? RF_BF16 : RF_F32, 2, NULL);
        run(&s, 11 + i);
        end(&s.w);
        t_free_all();
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* n tokens for one sequence. */
static rf_status go_on(const struct work *w, rf_sequence q, int32_t n, rf_error *why)
{
    static int32_t id[1000];
    const int32_t start[2] = {0, n}, row[1] = {0};
    const float *v;
    const rf_batch b = {.N = n, .B = 1, .id = id, .start = start};
    *why = (rf_error){0};
    return rf_session_continue(w->session, &q, &b, row, 1, &v, why);
}

/* The memory of a sequence is predicted, exactly if there are no states; a fork has no memory of its own until it
 * continues, and then one page per layer. */
static void memory_is_said_beforehand(void **state)
{
    (void)state;
    static const struct { const char *keys; size_t columns; } cases[] = {
        {"\"rope_theta\":10000", 64}, {"\"position_embedding_type\":\"tupe\"", 64 + 32 + 8}};
    for (size_t i = 0; i < 2 * RF_COUNT(cases); i++) {
        const rf_config c = small(cases[i / 2].keys);
        const rf_type type = i % 2 ? RF_BF16 : RF_F32;
        const size_t page = 64 * cases[i / 2].columns * (type == RF_BF16 ? 2 : 4);
        struct work w = begin(&c, 1, NULL);
        rf_sequence_options o;
        rf_error why;
        rf_sequence_defaults(&o);
        o.type = type;
        const rf_sequence a = new_as(&w, type);
        rf_sequence b;
        int32_t length = 0;
        static const int32_t add[] = {1, 62, 1, 1, 30};
        for (size_t j = 0; j < RF_COUNT(add); j++) {
            if (go_on(&w, a, add[j], &why)) fail_msg("%s", why.text);
            length += add[j];
            assert_int_equal(rf_sequence_memory(w.session), rf_sequence_bytes(w.model, &o, length));
            assert_int_equal(rf_sequence_memory(w.session), (size_t)(length + 63) / 64 * 2 * page);
        }
        assert_int_equal(rf_sequence_fork(w.session, a, &b, &why), RF_OK);
        assert_int_equal(rf_sequence_memory(w.session), 4 * page);
        if (go_on(&w, b, 1, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_sequence_memory(w.session), 6 * page);
        drop(&w, a);                                                 /* its second pages go */
        assert_int_equal(rf_sequence_memory(w.session), 4 * page);
        const size_t workspace = rf__session_memory(w.session) - rf_sequence_memory(w.session);
        drop(&w, b);
        assert_int_equal(rf_sequence_memory(w.session), 0);
        assert_int_equal(rf__session_memory(w.session), workspace);
        assert_true(rf_sequence_bytes(w.model, &o, INT64_MAX) == SIZE_MAX);
        end(&w);
    }
}

/* A call beyond the limit is rejected before anything is computed, and changes nothing; a call within the limit
 * succeeds. */
static void a_limit_of_memory(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"rope_theta\":10000,\"max_position_embeddings\":1024",
                                       "\"position_embedding_type\":\"recurrent\",\"max_position_embeddings\":1024",
                                       "\"position_embedding_type\":\"convolution\",\"max_position_embeddings\":1024"};
    for (size_t i = 0; i < RF_COUNT(keys); i++) {
        const rf_config c = small(keys[i]);
        struct work w = begin(&c, 1, NULL);
        rf_error why;
        const rf_sequence a = new_sequence(&w);
        const size_t limit = rf_sequence_bytes(w.model, NULL, 640);
        char said[32];
        snprintf(said, sizeof said, "at most %zu bytes ", limit);
        assert_int_equal(rf_sequence_limit(w.session, limit, &why), RF_OK);
        assert_int_equal(go_on(&w, a, 641, &why), RF_ERANGE);
        t_failed(&why, RF_ERANGE, said);
        t_failed(&why, RF_ERANGE, "linear attention (attention_type) keep one size");
        assert_int_equal(rf_sequence_length(w.session, a), 0);
        assert_int_equal(rf_sequence_memory(w.session), 0);
        if (go_on(&w, a, 600, &why)) fail_msg("%s", why.text);
        const size_t before = rf_sequence_memory(w.session);
        assert_int_equal(go_on(&w, a, 41, &why), RF_ERANGE);
        assert_int_equal(rf_sequence_length(w.session, a), 600);
        assert_int_equal(rf_sequence_memory(w.session), before);
        if (go_on(&w, a, 39, &why) || go_on(&w, a, 1, &why)) fail_msg("%s", why.text);
        assert_int_equal(go_on(&w, a, 1, &why), RF_ERANGE);
        assert_int_equal(rf_sequence_limit(w.session, 0, &why), RF_OK);
        if (go_on(&w, a, 1, &why)) fail_msg("%s", why.text);
        end(&w);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    const int32_t id[2] = {1, 2}, two[3] = {0, 1, 2}, row[2] = {0, 7};
    const rf_batch both = {.N = 2, .B = 2, .id = id, .start = two};
    struct work w = begin(&c, 1, NULL);
    rf_sequence_options o = {0};
    rf_error why = {0};
    const float *v;
    const rf_sequence a = new_sequence(&w), b = new_sequence(&w);
    rf_sequence x = 77;
    drop(&w, b);
#define REFUSED(call, code, part) \
    do { \
        why = (rf_error){0}; \
        assert_int_equal(call, code); \
        t_failed(&why, code, part); \
    } while (0)
    REFUSED(rf_sequence_fork(w.session, b, &x, &why), RF_EARG, "sequence 2: expected one that is in use");
    REFUSED(rf_sequence_fork(w.session, 3, &x, &why), RF_EARG, "sequence 3: expected one that was begun");
    REFUSED(rf_sequence_drop(w.session, b, &why), RF_EARG, "sequence 2: expected one that is in use");
    REFUSED(rf_sequence_drop(w.session, 0, &why), RF_EARG, "sequence 0: expected one that was begun");
    REFUSED(rf_session_continue(w.session, (rf_sequence[]){a, b}, &both, row, 1, &v, &why), RF_EARG,
            "sequence 2: expected one that is in use");
    REFUSED(rf_session_continue(w.session, (rf_sequence[]){a, a}, &both, row, 1, &v, &why), RF_EARG,
            "got sequence 1 twice");
    REFUSED(rf_sequence_new(w.session, &o, &x, &why), RF_EARG, "rf_sequence_options");
    rf_sequence_defaults(&o);
    o.type = RF_F16;
    REFUSED(rf_sequence_new(w.session, &o, &x, &why), RF_EARG, "type: expected RF_F32 or RF_BF16");
    REFUSED(rf_sequence_new(NULL, NULL, &x, &why), RF_EARG, "session");
    REFUSED(rf_session_continue(w.session, NULL, &both, row, 1, &v, &why), RF_EARG, "sequences");
    assert_int_equal(x, 77);
    assert_int_equal(rf_sequence_length(w.session, a), 0);
    assert_int_equal(rf_sequence_length(w.session, b), -1);
    x = new_sequence(&w);
    assert_int_equal(x, 3);
    REFUSED(rf_session_continue(w.session, (rf_sequence[]){a, x}, &both, row, 2, &v, &why), RF_ERANGE, "7");
    assert_int_equal(rf_sequence_length(w.session, x), 0);
    assert_int_equal(rf_sequence_memory(w.session), 0);
    why = (rf_error){0};
    if (rf_session_continue(w.session, (rf_sequence[]){a, x}, &both, row, 1, &v, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_sequence_length(w.session, a), 1);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_schedule), cmocka_unit_test(memory_is_said_beforehand),
                                       cmocka_unit_test(a_limit_of_memory), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("model/sequence", tests, NULL, NULL);
}
