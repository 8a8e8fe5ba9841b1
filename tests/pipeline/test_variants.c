/* test_variants.c — mirrors src/pipeline/variants.c and masked.c: scores of mutations and pseudo-log-likelihoods
 * compared with transformers' (tests/golden/esm/whole/proteins.json); vectors of residues. */
#include <math.h>

#include "one_context.h"
#include "base/json.h"
#include "roformer/pipeline.h"

#define FOLDER "tests/golden/esm/whole"

static rf_pipeline *opened(const rf_ctx *with)
{
    rf_pipeline *p = NULL;
    rf_error why = {0};
    if (rf_pipeline_open(with, FOLDER, RF_F32, &p, &why)) fail_msg("%s", why.text);
    return p;
}

static json_t *golden(void)
{
    json_t *g = json_load_file(FOLDER "/proteins.json", 0, NULL);
    assert_non_null(g);
    return g;
}

static double number(const json_t *g, const char *list, size_t i)
{
    return json_real_value(json_array_get(json_object_get(g, list), i));
}

/* Sums of two to forty log-probabilities in float32; transformers' is computed in float32, too. */
enum { MOST = 16 };
static void scores(void **state)
{
    (void)state;
    static const char *const strategy[] = {"masked-marginals", "wt-marginals", "pseudo-ppl"};
    json_t *g = golden();
    const json_t *list = json_object_get(g, "mutations");
    const char *mutation[MOST];
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) mutation[i] = json_string_value(json_array_get(list, i));
    rf_pipeline *p = opened(ctx);
    for (int s = 0; s < 3; s++)
        for (int tokens = 1; tokens < 3000; tokens += 99) {
            rf_variant_options o;
            const double *score;
            rf_error why = {0};
            rf_variant_defaults(&o);
            o.strategy = (rf_scoring_strategy)s;
            o.batch_tokens = tokens;
            if (rf_score_variants(p, json_string_value(json_object_get(g, "sequence")), RF_STRING, mutation, (int64_t)n,
                                  &o, &score, NULL, &why))
                fail_msg("%s", why.text);
            for (size_t i = 0; i < n; i++)
                t_near(score[i], number(g, strategy[s], i), s == RF_PSEUDO_PPL ? 1e-4 : 1e-5);
        }
    rf_pipeline_close(p);
    json_decref(g);
}

static void pseudo_log_likelihood(void **state)
{
    (void)state;
    json_t *g = golden();
    rf_pipeline *p = opened(ctx);
    const rf_text_logprob *s;
    rf_error why = {0};
    if (rf_logprob_text(p, NULL, 0, json_string_value(json_object_get(g, "sequence")), RF_STRING, NULL, &s, &why))
        fail_msg("%s", why.text);
    assert_int_equal(s->n, 20);
    t_near(s->total, json_real_value(json_object_get(g, "pseudo_log_likelihood")), 1e-4);
    rf_logprob_options o;
    rf_logprob_defaults(&o);
    o.end = 1;
    assert_int_equal(rf_logprob_text(p, NULL, 0, "MK", 2, &o, &s, &why), RF_EARG);
    t_failed(&why, RF_EARG, "end: expected 0");
    o.end = 0;
    o.max_length = 16;
    assert_int_equal(rf_logprob_text(p, NULL, 0, "MK", 2, &o, &s, &why), RF_EARG);
    assert_int_equal(rf_logprob_text(p, NULL, 0, "", 0, NULL, &s, &why), RF_OK);
    assert_int_equal(s->n, 0);
    rf_pipeline_close(p);
    json_decref(g);
}

/* Of the same protein among others, too. */
static void residues(void **state)
{
    (void)state;
    json_t *g = golden();
    const json_t *rows = json_object_get(g, "residues");
    const char *const text[] = {"MK", json_string_value(json_object_get(g, "sequence")), "LSERTIDPKQNF"};
    rf_pipeline *p = opened(ctx);
    const float *v;
    const int64_t *row;
    const rf_texts_report *r;
    rf_embed_options o;
    rf_error why = {0};
    rf_embed_defaults(&o);
    o.skip_special_tokens = 1;
    if (rf_embed_tokens(p, text, NULL, 3, &o, &v, &row, &r, &why)) fail_msg("%s", why.text);
    assert_int_equal(r->done, 3);
    assert_int_equal(row[0], 0);
    assert_int_equal(row[1], 2);
    assert_int_equal(row[2], 22);
    assert_int_equal(row[3], 34);
    for (size_t t = 0; t < 20; t++)
        for (size_t c = 0; c < 40; c++)
            t_near((double)v[(size_t)(row[1]) * 40 + t * 40 + c],
                   json_real_value(json_array_get(json_array_get(rows, t), c)), 1e-5);
    double mean = 0;                                            /* the first component of the mean of residues */
    for (size_t t = 2; t < 22; t++) mean += (double)v[t * 40] / 20;
    if (rf_embed_texts(p, text, NULL, 3, &o, &v, NULL, &why)) fail_msg("%s", why.text);
    t_near((double)v[40], mean, 1e-6);
    o.skip_special_tokens = 0;
    if (rf_embed_tokens(p, text, NULL, 3, &o, &v, &row, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(row[3], 34 + 6);
    const char *const empty[] = {"MK", "", "MK"};
    o.skip_special_tokens = 1;
    assert_int_equal(rf_embed_texts(p, empty, NULL, 3, &o, &v, &r, &why), RF_EDATA);
    assert_int_equal(r->bad, 1);
    assert_int_equal(r->done, 1);
    o.pooling = RF_POOL_CLS;
    why = (rf_error){0};
    assert_int_equal(rf_embed_texts(p, text, NULL, 3, &o, &v, &r, &why), RF_EARG);
    t_failed(&why, RF_EARG, "pooling: expected mean or max where special tokens are skipped");
    rf_pipeline_close(p);
    json_decref(g);
}

static void refused(void **state)
{
    (void)state;
    static const struct { const char *sequence, *mutation, *says; } row[] = {
        {"MKTV", "A2G", "'A2G': residue 2: expected 'K', as the sequence has, got 'A'"},
        {"MKTV", "K5G", "'K5G': position: expected 1 to 4, ... got 5"},
        {"MKTV", "K0G", "position: expected 1 to 4"},
        {"MKTV", "K2", "expected a residue, a position and a residue, as A24G"},
        {"MKTV", "2G", "expected a residue, a position and a residue"},
        {"MKTV", "", "expected a residue, a position and a residue"},
        {"MKTV", "K2G:", "expected a residue, a position and a residue"},
        {"MKTV", "p.Lys2Gly", "expected a residue, a position and a residue"},
        {"MKTV", "K99999999999999999999G", "expected a residue, a position and a residue"},
        {"MKTV", "K2J", "'K2J': expected a residue that the model knows, got 'J'"},
        {"MJTV", "J2K", "sequence: residue 2: expected a residue that the model knows, got 'J'"},
        {"MKTV", "K2G:K2A", "'K2A': position 2: expected one mutation of a variant there, got two"},
        {"", "K2G", "sequence: expected residues, got none"},
        {"MK TV", "K2G", "sequence: residue 3: expected a letter, got byte 0x20"},
    };
    rf_pipeline *p = opened(ctx);
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const double *score = NULL;
        rf_error why = {0};
        rf_score_variants(p, row[i].sequence, RF_STRING, &row[i].mutation, 1, NULL, &score, NULL, &why);
        t_failed(&why, RF_EDATA, row[i].says);
        assert_null(score);
    }
    const char *const two[] = {"K2G", "A1G"};
    const double *score;
    const rf_texts_report *r;
    rf_error why = {0};
    assert_int_equal(rf_score_variants(p, "MKTV", 4, two, 2, NULL, &score, &r, &why), RF_EDATA);
    assert_int_equal(r->bad, 1);
    assert_int_equal(rf_score_variants(p, "MKTV", 4, two, 0, NULL, &score, &r, &why), RF_OK);
    rf_pipeline_close(p);
}

static rf_status score_two(const rf_ctx *with, void *arg, rf_error *why)
{
    (void)arg;
    rf_pipeline *p = NULL;
    const double *score;
    const char *const two[] = {"K2G", "M1G:T3A"};
    rf_status status = rf_pipeline_open(with, FOLDER, RF_F32, &p, why);
    if (!status) status = rf_score_variants(p, "MKTV", 4, two, 2, NULL, &score, NULL, why);
    rf_pipeline_close(p);
    return status;
}

static void allocations_fail(void **state)
{
    (void)state;
    t_fail_allocations(1, t_isa(), score_two, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores), cmocka_unit_test(pseudo_log_likelihood),
                                       cmocka_unit_test(residues), cmocka_unit_test(refused),
                                       cmocka_unit_test(allocations_fail)};
    return cmocka_run_group_tests_name("pipeline/variants", tests, setup, teardown);
}
