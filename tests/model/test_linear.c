/* test_linear.c — mirrors src/model/layers/linear_attention.c: models with linear attention.  test_cache.c and
 * test_sequence.c test single tokens and forks, with configurations that include these. */
#include "causal.h"
#include "decode/session.h"
#include "model/attention_probe.h"
#include "model/layers/linear_attention.h"
#include "model/model.h"
#include "model/positions.h"

/* Logits of all tokens of one text at positions that begin with `first`. */
static float *logits(const char *keys, bool decoder, int32_t first, const int32_t *id, int32_t n, int threads)
{
    rf_config c = small(keys);
    c.is_decoder = decoder;
    struct work w = begin(&c, threads, NULL);
    int32_t row[T], position[T];
    const int32_t start[2] = {0, n};
    const float *v;
    rf_error why = {0};
    for (int32_t i = 0; i < n; i++) row[i] = i, position[i] = first + i;
    const rf_batch b = {.N = n, .B = 1, .id = id, .start = start, .position = position};
    if (rf_session_mlm_logits(w.session, &b, row, n, &v, &why)) fail_msg("%s: %s", keys, why.text);
    float *y = memcpy(t_floats((int64_t)n * V), v, (size_t)n * V * sizeof *v);
    end(&w);
    return y;
}

static double farthest(const float *a, const float *b, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* With Eq. 19 only distances count, at any position of the text: angles at ten million are exact.  One rounding of each
 * angle's cosine moves a logit of size 10 by less than 1e-3 after two layers.  Rotated before the map, queries and keys
 * are at other inputs of it, and so are their features. */
static void only_distances_count(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"attention_type\":\"linear\",\"feature_seed\":7",
        "\"attention_type\":\"linear\",\"feature_map\":\"elu\"",
        "\"attention_type\":\"linear\",\"feature_map\":\"relu\",\"feature_seed\":1,\"rotation_order\":\"before\"",
        ("\"attention_type\":[\"softmax\",\"linear\"],\"feature_seed\":7,\"rope_scaling\":{\"rope_type\":\"yarn\","
         "\"factor\":4,\"original_max_position_embeddings\":36}"),
    };
    int32_t id[T];
    fill(2, id, T);
    for (size_t i = 0; i < RF_COUNT(keys); i++)
        for (int decoder = 0; decoder < 2; decoder++) {
            const float *here = logits(keys[i], decoder, 0, id, T, 1);
            const double moved = farthest(here, logits(keys[i], decoder, 10000000, id, T, 1), T * V);
            if (strstr(keys[i], "before") ? !(moved > 1e-2) : !(moved < 1e-3))
                fail_msg("%s: logits move by %g", keys[i], moved);
            assert_true(farthest(here, logits(keys[i], decoder, 0, id, T, 3), T * V) == 0);
            t_free_all();
        }
}

/* xPos: a weight of its own of 1, and a text far longer than the range of softmax attention's exponentials. */
static void xpos_has_no_end(void **state)
{
    (void)state;
    static const char keys[] = "\"attention_type\":\"linear\",\"feature_map\":\"elu\",\"position_embedding_type\":"
                               "\"xpos\",\"xpos_scale_base\":8";
    int32_t id[T];
    fill(2, id, T);
    const float *here = logits(keys, true, 0, id, T, 1);
    const double moved = farthest(here, logits(keys, true, 10000000, id, T, 1), T * V);
    if (!(moved < 1e-3)) fail_msg("logits move by %g", moved);
    assert_true(farthest(here, logits(keys, true, 0, id, T, 3), T * V) == 0);
    const float *plain = logits("\"attention_type\":\"linear\",\"feature_map\":\"elu\"", true, 0, id, T, 1);
    assert_true(farthest(here, plain, V) < 1e-4 && farthest(here + 90 * V, plain + 90 * V, V) > 1e-2);

    rf_config c = small(keys);
    struct work w = begin(&c, 1, NULL);
    const int32_t start[2] = {0, 2}, apart[2] = {0, 2};
    const rf_batch b = {.N = 2, .B = 1, .id = id, .start = start, .position = apart};
    const float *y;
    rf_error why = {0};
    rf_session_hidden(w.session, &b, &y, &why);
    t_failed(&why, RF_ERANGE, "one more than that of the token before, got");
    end(&w);
    t_free_all();
}

/* Without rotation the order of earlier tokens has no effect; with either kind of rotation it has. */
static void rotation_tells_order(void **state)
{
    (void)state;
    static const char *const orders[] = {"eq19", "before", "none"};
    int32_t id[T], other[T];
    fill(2, id, T);
    memcpy(other, id, sizeof id);
    other[3] = id[60], other[60] = id[3];
    float *of[3];
    for (int i = 0; i < 3; i++) {
        char keys[128];
        snprintf(keys, sizeof keys, "\"attention_type\":\"linear\",\"feature_seed\":7,\"rotation_order\":\"%s\"",
                 orders[i]);
        of[i] = logits(keys, false, 0, id, T, 1);
        const double moved = farthest(of[i] + 90 * V, logits(keys, false, 0, other, T, 1) + 90 * V, V);
        if (i < 2 ? !(moved > 1e-3) : !(moved < 1e-4)) fail_msg("%s: the last token moves by %g", orders[i], moved);
    }
    assert_true(farthest(of[0], of[1], T * V) > 1e-2 && farthest(of[0], of[2], T * V) > 1e-2);
    t_free_all();
}

/* Features depend only on seed and draw. */
static void features_are_seed_and_draw(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"attention_type\":\"linear\",\"feature_seed\":7",
        "\"attention_type\":\"linear\",\"feature_seed\":7,\"feature_redraw_interval\":10",
        "\"attention_type\":\"linear\",\"feature_seed\":8",
        "\"attention_type\":\"linear\",\"feature_seed\":7,\"feature_draw\":1",
        "\"attention_type\":\"linear\",\"feature_seed\":7,\"num_random_features\":32",
    };
    int32_t id[T];
    fill(2, id, T);
    const float *first = logits(keys[0], true, 0, id, T, 1);
    for (size_t i = 0; i < RF_COUNT(keys); i++) {
        const double moved = farthest(first, logits(keys[i], true, 0, id, T, 1), T * V);
        assert_true(i < 2 ? moved == 0 : moved > 1e-4);
    }
    rf_config c = small(keys[1]);
    static const int64_t steps[] = {0, 1, 10, 11, 20, 21, 1000}, draws[] = {0, 0, 0, 1, 1, 2, 99};
    for (size_t i = 0; i < RF_COUNT(steps); i++) {
        rf__linear_attention_draw(&c, steps[i]);
        assert_int_equal(c.feature_draw, draws[i]);
    }
    c = small(keys[3]);
    rf__linear_attention_draw(&c, 500);
    assert_int_equal(c.feature_draw, 1);
    t_free_all();
}

static void refusals(void **state)
{
    (void)state;
#define LINEAR "\"attention_type\":\"linear\",\"feature_seed\":7,"
#define WRONG(what, said) {LINEAR what, RF_EUNSUPPORTED, said}
    static const struct { const char *keys; rf_status code; const char *said; } cases[] = {
        {"\"attention_type\":\"linear\"", RF_EDATA, "feature_seed: expected the seed"},
        {"\"attention_type\":[\"softmax\",\"linear\"],\"feature_map\":\"relu\"", RF_EDATA,
         "feature_seed: expected the seed"},
        {LINEAR "\"num_random_features\":15", RF_EDATA, "num_random_features: expected an even number"},
        WRONG("\"position_embedding_type\":\"alibi\"", "got \"alibi\", which acts on scores"),
        WRONG("\"position_embedding_type\":\"rerope\"", "got \"rerope\", which acts on scores"),
        WRONG("\"position_embedding_type\":\"xpos\",\"rotation_order\":\"before\"", "makes queries and keys grow"),
        WRONG("\"position_embedding_type\":\"xpos\",\"rotation_order\":\"none\"", "rotation_order: expected \"eq19\""),
        WRONG("\"position_embedding_type\":\"xpos\",\"xpos_scale_base\":3.9",
              "xpos_scale_base: expected at least 4 with attention_type \"linear\", got 3.9"),
        WRONG("\"position_embedding_type\":\"t5\"", "got \"t5\", which acts on scores"),
        WRONG("\"rope_scaling\":{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":36,"
              "\"short_factor\":[1,1,1,1],\"long_factor\":[2,2,2,2],\"final_length\":90}",
              "rotation_order: expected \"before\" with rope_scaling"),
        {LINEAR "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2,\"final_length\":90}", RF_EDATA,
         "final_length: expected rope_type dynamic or longrope"},
        {LINEAR "\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2,\"final_length\":-1}", RF_EDATA,
         "final_length: expected 1 to 2147483647, got -1"},
        WRONG("\"rope_scaling\":{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":36,"
              "\"short_factor\":[1,1,1,1],\"long_factor\":[2,2,2,2]}", "got \"longrope\"; set final_length"),
        WRONG("\"position_embedding_type\":\"rotary_axial\"",
              "rotation_order: expected \"before\" with position_embedding_type"),
        WRONG("\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2}", "got \"dynamic\"; set final_length"),
        WRONG("\"rotary_heads\":2",
              "rotary_heads: expected ... attention_type \"linear\" and rotation_order"),
        WRONG("\"rotary_value\":true", "rotary_value: expected"),
        WRONG("\"partial_rotary_factor\":0.5", "partial_rotary_factor: expected"),
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const rf_config c = small(cases[i].keys);
        const rf_position *is;
        rf_error why = {0};
        assert_int_not_equal(rf__position_find(&c, &is, &why), RF_OK);
        t_failed(&why, cases[i].code, cases[i].said);
    }
    rf_config c = small(LINEAR "\"num_random_features\":16777216");
    c.hidden_size = 65536, c.num_attention_heads = 2;
    const rf_position *is;
    rf_error why = {0};
    rf__position_find(&c, &is, &why);
    t_failed(&why, RF_ERANGE, "num_random_features: expected at most");
    const rf_position *fine;
    c = small(LINEAR "\"partial_rotary_factor\":0.5,\"rotation_order\":\"before\"");
    assert_int_equal(rf__position_find(&c, &fine, NULL), RF_OK);
}

/* An announced length: the angles of a text of that length, also for its beginnings; and no token beyond it. */
static void final_lengths(void **state)
{
    (void)state;
#define DYNAMIC "\"max_position_embeddings\":12,\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4"
#define AT(length) DYNAMIC ",\"final_length\":" length "}"
    int32_t id[T];
    fill(2, id, T);
    const float *its = logits(DYNAMIC "}", true, 0, id, T, 1), *said = logits(AT("100"), true, 0, id, T, 1);
    assert_memory_equal(its, said, sizeof(float) * T * V);
    assert_true(farthest(its, logits(AT("200"), true, 0, id, T, 1), T * V) > 1e-3);
    assert_true(farthest(said, logits(DYNAMIC "}", true, 0, id, 20, 1), 20 * V) > 1e-3);
    assert_true(farthest(said, logits(AT("100"), true, 0, id, 20, 1), 20 * V) == 0);

    const rf_config c = small(AT("99") ",\"attention_type\":\"linear\",\"feature_seed\":7");
    struct work w = begin(&c, 1, NULL);
    const int32_t start[2] = {0, T}, row[1] = {0};
    const rf_batch b = {.N = T, .B = 1, .id = id, .start = start};
    const float *y;
    rf_error why = {0};
    assert_int_equal(rf_session_mlm_logits(w.session, &b, row, 1, &y, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "position of token 99: expected at least 0 and less than 99 (final_length");
    end(&w);
    t_free_all();
}

/* The memory of a sequence does not grow with it. */
static void states_have_one_size(void **state)
{
    (void)state;
    const rf_config c = small("\"attention_type\":\"linear\",\"feature_seed\":7");
    struct work w = begin(&c, 1, NULL);
    assert_int_equal(rf_sequence_bytes(w.model, NULL, 10), rf_sequence_bytes(w.model, NULL, 1000000000));
    assert_int_equal(rf__linear_attention_columns(&c), 16);                  /* 8 ln 8 = 16.6 */
    end(&w);
    t_free_all();
}

static void never_called(void *user, rf_graph *g, const rf__view *view) { (void)user, (void)g, (void)view; }

/* A request for probabilities gets an error, instead of empty results. */
static void nothing_to_look_at(void **state)
{
    (void)state;
    const rf_config c = small("\"attention_type\":\"linear\",\"feature_seed\":7");
    struct work w = begin(&c, 1, NULL);
    static const int32_t id[2] = {1, 2}, start[2] = {0, 2};
    const rf_batch b = {.N = 2, .B = 1, .id = id, .start = start};
    const float *y;
    rf_error why = {0};
    rf__session_observe(w.session, never_called, NULL);
    assert_int_equal(rf_session_hidden(w.session, &b, &y, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "layer 0: expected softmax attention for its probabilities, got linear");
    end(&w);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_distances_count),     cmocka_unit_test(rotation_tells_order),
        cmocka_unit_test(features_are_seed_and_draw), cmocka_unit_test(refusals), cmocka_unit_test(final_lengths),
        cmocka_unit_test(xpos_has_no_end),
        cmocka_unit_test(states_have_one_size),       cmocka_unit_test(nothing_to_look_at),
    };
    return cmocka_run_group_tests_name("model/linear", tests, NULL, NULL);
}
