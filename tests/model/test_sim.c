/* test_sim.c — RoFormer-Sim (pooler_activation "linear") as in PyPI's roformer 0.4.3 (tests/golden/sim): vectors of
 * texts, logits of tokens generated after a prompt with bidirectional attention, and of both in one text; rejected
 * input.  RoFormer-GPT (tests/golden/gpt) is the same class with another pooler and a triangular mask: the logits after
 * every token. */
#include <jansson.h>

#include "one_context.h"
#include "roformer/pipeline.h"
#include "roformer/model.h"

#define SIM "tests/golden/sim"
#define GPT "tests/golden/gpt"
enum { C = 24, V = 43, PROMPTS = 3 };

typedef struct golden { json_t *line[PROMPTS]; } golden;

static golden read_golden(const char *path)
{
    golden g;
    static char line[1 << 16];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (int i = 0; i < PROMPTS; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        assert_non_null(g.line[i] = json_loads(line, 0, NULL));
    }
    fclose(f);
    return g;
}

static void forget(golden *g)
{
    for (int i = 0; i < PROMPTS; i++) json_decref(g->line[i]);
}

/* f32 compared with PyTorch's f32: 2 layers of 6 products each of at most 40 terms of size 1, below 2e-5. */
static void compare(const json_t *expected, const float *got, size_t n, const char *what)
{
    assert_int_equal(json_array_size(expected), n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(json_real_value(json_array_get(expected, i)) - (double)got[i]) < 2e-5))
            fail_msg("%s: number %zu is %g, expected %g", what, i, (double)got[i],
                     json_real_value(json_array_get(expected, i)));
}

/* All prompts, one after the other. */
static rf_batch batch_of(const golden *g, int32_t *id, int32_t *start)
{
    int32_t n = 0;
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *prompt = json_object_get(g->line[i], "prompt");
        start[i] = n;
        for (size_t k = 0; k < json_array_size(prompt); k++)
            id[n++] = (int32_t)json_integer_value(json_array_get(prompt, k));
    }
    start[PROMPTS] = n;
    return (rf_batch){.N = n, .B = PROMPTS, .id = id, .start = start};
}

typedef struct opened { rf_model *model; rf_session *session; } opened;

static opened open_folder(const char *folder)
{
    opened o;
    rf_error why = {0};
    if (rf_model_open(ctx, folder, &o.model, &why) || rf_session_open(o.model, &o.session, &why))
        fail_msg("%s", why.text);
    return o;
}

static void close_sim(opened *o)
{
    rf_session_close(o->session);
    rf_model_close(o->model);
}

static void vectors_of_texts(void **state)
{
    (void)state;
    golden g = read_golden(SIM "/golden.jsonl");
    int32_t id[64], start[PROMPTS + 1];
    const rf_batch b = batch_of(&g, id, start);
    opened o = open_folder(SIM);
    rf_error why = {0};
    const float *v;
    if (rf_session_embed(o.session, &b, RF_POOL_CLS, &v, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < PROMPTS; i++) compare(json_object_get(g.line[i], "vector"), v + i * C, C, "vector");
    close_sim(&o);
    forget(&g);
}

static const json_t *logits_of(const golden *g, int i, int written)
{
    return json_array_get(json_object_get(g->line[i], "logits"), (size_t)written);
}

/* The prompts in one batch, then a token of each in one batch, repeatedly. */
static void tokens_behind_prompts(void **state)
{
    (void)state;
    golden g = read_golden(SIM "/golden.jsonl");
    int32_t id[64], start[PROMPTS + 1], row[PROMPTS], last[] = {0, 1, 2}, ones[] = {0, 1, 2, 3};
    const rf_batch b = batch_of(&g, id, start);
    opened o = open_folder(SIM);
    rf_sequence text[PROMPTS];
    rf_error why = {0};
    const float *z;
    for (int i = 0; i < PROMPTS; i++) {
        if (rf_sequence_new(o.session, NULL, &text[i], &why)) fail_msg("%s", why.text);
        row[i] = start[i + 1] - 1;
    }
    if (rf_session_continue(o.session, text, &b, row, PROMPTS, &z, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < PROMPTS; i++) compare(logits_of(&g, i, 0), z + i * V, V, "behind the prompt");
    for (int k = 1; k < 4; k++) {
        int32_t next[PROMPTS];
        for (int i = 0; i < PROMPTS; i++)
            next[i] = (int32_t)json_integer_value(
                json_array_get(json_object_get(g.line[i], "written"), (size_t)k - 1));
        const rf_batch more = {.N = PROMPTS, .B = PROMPTS, .id = next, .start = ones};
        if (rf_session_continue(o.session, text, &more, last, PROMPTS, &z, &why)) fail_msg("%s", why.text);
        for (int i = 0; i < PROMPTS; i++) compare(logits_of(&g, i, k), z + i * V, V, "behind what is written");
    }
    close_sim(&o);
    forget(&g);
}

/* Prompts followed by generated text, distinguished by their token types, in one batch: the same vectors, and after
 * each token of the second parts the same logits. */
static void texts_of_two_parts(void **state)
{
    (void)state;
    enum { WRITTEN = 3 };
    golden g = read_golden(SIM "/golden.jsonl");
    int32_t id[64], type[64] = {0}, start[PROMPTS + 1] = {0}, row[PROMPTS * (WRITTEN + 1)], n = 0, rows = 0;
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *prompt = json_object_get(g.line[i], "prompt"), *written = json_object_get(g.line[i], "written");
        const size_t first = json_array_size(prompt);
        for (size_t k = 0; k < first + WRITTEN; k++) {
            type[n] = k >= first;
            if (k + 1 >= first) row[rows++] = n;
            id[n++] = (int32_t)json_integer_value(k < first ? json_array_get(prompt, k)
                                                            : json_array_get(written, k - first));
        }
        start[i + 1] = n;
    }
    const rf_batch b = {.N = n, .B = PROMPTS, .id = id, .type = type, .start = start};
    opened o = open_folder(SIM);
    rf_error why = {0};
    const float *z, *v;
    if (rf_session_mlm_logits(o.session, &b, row, rows, &z, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < PROMPTS; i++)
        for (int k = 0; k <= WRITTEN; k++) compare(logits_of(&g, i, k), z + (i * (WRITTEN + 1) + k) * V, V, "at once");
    if (rf_session_embed(o.session, &b, RF_POOL_CLS, &v, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < PROMPTS; i++)
        compare(json_object_get(g.line[i], "vector"), v + i * C, C, "vector of two parts");
    close_sim(&o);
    forget(&g);
}

static int keep(void *user, const rf_generated *token)
{
    int32_t(*to)[4] = user;
    to[token->text][token->index] = token->id;
    return 0;
}

/* Texts generated in one batch equal those generated alone, by the likeliest token of the logits. */
static void generated(void **state)
{
    (void)state;
    golden g = read_golden(SIM "/golden.jsonl");
    int32_t id[64], start[PROMPTS + 1], all[PROMPTS][4] = {{0}}, one[1][4];
    rf_prompt prompt[PROMPTS];
    rf_generate_options o;
    rf_error why = {0};
    opened sim = open_folder(SIM);
    const rf_batch b = batch_of(&g, id, start);
    rf_generate_defaults(&o);
    o.max_new_tokens = 4;
    o.stops = 0;
    for (int i = 0; i < PROMPTS; i++) prompt[i] = (rf_prompt){.id = b.id + start[i], .n = start[i + 1] - start[i]};
    if (rf_session_generate_all(sim.session, prompt, PROMPTS, &o, keep, NULL, all, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *z = logits_of(&g, i, 0);
        size_t best = 0;
        for (size_t v = 1; v < V; v++)
            if (json_real_value(json_array_get(z, v)) > json_real_value(json_array_get(z, best))) best = v;
        assert_int_equal(all[i][0], best);
        memset(one, 0, sizeof one);
        if (rf_session_generate_all(sim.session, &prompt[i], 1, &o, keep, NULL, one, &why)) fail_msg("%s", why.text);
        assert_memory_equal(one[0], all[i], sizeof one[0]);
    }
    close_sim(&sim);
    forget(&g);
}

static void refused(void **state)
{
    (void)state;
    static const int32_t id[] = {2, 7, 3, 9}, ends[] = {0, 3}, both[] = {0, 3, 4}, last[] = {2};
    const rf_batch first = {.N = 3, .B = 1, .id = id, .start = ends}, mixed = {.N = 4, .B = 2, .id = id, .start = both};
    opened o = open_folder(SIM);
    rf_sequence text[2];
    rf_error why = {0};
    const float *z;
    double p[3];
    for (int i = 0; i < 2; i++) assert_int_equal(rf_sequence_new(o.session, NULL, &text[i], &why), RF_OK);
    assert_int_equal(rf_session_continue(o.session, &text[1], &first, last, 1, &z, &why), RF_OK);
    assert_int_equal(rf_session_continue(o.session, text, &mixed, last, 1, &z, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected prompts only or continuations only");
    why = (rf_error){0};
    assert_int_equal(rf_session_logprobs(o.session, id, 3, 0, 0, p, 0, NULL, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "RoFormer-Sim");
    close_sim(&o);

    rf_config c;
    static const char other[] = "{\"model_type\":\"roformer\",\"pooler_activation\":\"relu\"}";
    why = (rf_error){0};
    assert_int_equal(rf_config_parse(ctx, other, sizeof other - 1, "config.json", &c, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "pooler_activation: expected tanh or linear, got \"relu\"");
}

/* Complete texts, and the last of them token by token: after each token the logits of the triangular mask. */
static void a_gpt_is_causal(void **state)
{
    (void)state;
    golden g = read_golden(GPT "/golden.jsonl");
    opened o = open_folder(GPT);
    rf_error why = {0};
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *text = json_object_get(g.line[i], "text"), *logits = json_object_get(g.line[i], "logits");
        int32_t id[16], row[16], ends[] = {0, (int32_t)json_array_size(text)}, one[] = {0, 1};
        const float *z;
        rf_sequence whole, steps;
        for (int32_t k = 0; k < ends[1]; k++)
            id[row[k] = k] = (int32_t)json_integer_value(json_array_get(text, (size_t)k));
        const rf_batch b = {.N = ends[1], .B = 1, .id = id, .start = ends};
        if (rf_sequence_new(o.session, NULL, &whole, &why) || rf_sequence_new(o.session, NULL, &steps, &why) ||
            rf_session_continue(o.session, &whole, &b, row, ends[1], &z, &why))
            fail_msg("%s", why.text);
        for (int32_t k = 0; k < ends[1]; k++) compare(json_array_get(logits, (size_t)k), z + k * V, V, "at once");
        for (int32_t k = 0; k < ends[1]; k++) {
            const rf_batch next = {.N = 1, .B = 1, .id = id + k, .start = one};
            if (rf_session_continue(o.session, &steps, &next, row, 1, &z, &why)) fail_msg("%s", why.text);
            compare(json_array_get(logits, (size_t)k), z, V, "token by token");
        }
    }
    close_sim(&o);
    forget(&g);
}

/* A written folder is read back: the pooler and the key. */
static void written_again(void **state)
{
    (void)state;
    const char *folder = t_folder();
    rf_config c, again;
    rf_error why = {0};
    if (rf_config_read(ctx, SIM, &c, &why)) fail_msg("%s", why.text);
    assert_int_equal(c.linear_pooler, 1);
    if (rf_config_write(ctx, folder, &c, &why) || rf_config_read(ctx, folder, &again, &why)) fail_msg("%s", why.text);
    assert_int_equal(again.linear_pooler, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_texts), cmocka_unit_test(tokens_behind_prompts), cmocka_unit_test(generated),
        cmocka_unit_test(refused),          cmocka_unit_test(written_again),         cmocka_unit_test(a_gpt_is_causal),
        cmocka_unit_test(texts_of_two_parts),
    };
    return cmocka_run_group_tests_name("model/sim", tests, setup, teardown);
}
