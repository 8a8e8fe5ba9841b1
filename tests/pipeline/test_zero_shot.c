/* test_zero_shot.c — mirrors src/pipeline/zero_shot.c: labels and scores are those of transformers' pipeline
 * (tools/golden/golden_zero_shot.py), have the same bits alone and in batches, and invalid calls are refused. */
#define _GNU_SOURCE
#include <jansson.h>

#include "roformer/engine.h"
#include "small_folders.h"
#include "task/answerer.h"

enum { MOST_LABELS = 8 };

/* A call as the C interface has it. */
typedef struct call {
    const char *text, *label[MOST_LABELS];
    size_t bytes[MOST_LABELS];
    int64_t labels;
    rf_zero_shot_options o;
} call;

static json_t *load(const char *path)
{
    json_t *out = json_load_file(path, 0, NULL);
    if (!out) fail_msg("%s", path);
    return out;
}

/* Copies a JSON file of a model with members in addition. */
static void write_with(const char *folder, const char *from, const char *name, json_t *more)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s/%s", from, name);
    json_t *all = load(path);
    json_object_update(all, more);
    char *text = json_dumps(all, 0);
    t_write(folder, name, text, strlen(text));
    free(text);
    json_decref(all);
    json_decref(more);
}

/* A folder of tests/golden/zero_shot with these labels of its outputs; static storage until the next call. */
static const char *folder_of(const char *model, const json_t *labels, json_t *settings)
{
    const char *folder = t_folder();
    char from[64], number[24];
    json_t *names = json_object();
    snprintf(from, sizeof from, "zero_shot/models/%s", model);
    for (size_t i = 0; i < json_array_size(labels); i++) {
        snprintf(number, sizeof number, "%zu", i);
        json_object_set(names, number, json_array_get(labels, i));
    }
    write_with(folder, from, "config.json", json_pack("{s:o}", "id2label", names));
    write_with(folder, from, "tokenizer_config.json", json_incref(settings));
    copy_into(folder, from, "model.safetensors");
    if (!strncmp(model, "bert", 4)) copy_into(folder, from, "vocab.txt");
    else if (!strcmp(model, "roberta") || !strcmp(model, "bart")) {
        copy_into(folder, "zero_shot/models/roberta", "vocab.json");
        copy_into(folder, "zero_shot/models/roberta", "merges.txt");
    } else if (!strcmp(model, "deberta")) {
        copy_into(folder, "deberta_v2/whole", "spm.model");
    } else {
        char path[256];
        json_t *t = load("tests/golden/byte_level/modernbert.tokenizer.json");
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        assert_int_equal(json_dump_file(t, path, 0), 0);
        json_decref(t);
    }
    return folder;
}

static void add_label(call *c, const char *label, size_t bytes)
{
    assert_true(c->labels < MOST_LABELS);
    c->label[c->labels] = label;
    c->bytes[c->labels++] = bytes;
}

static call call_of(const json_t *row)
{
    call c = {.text = json_string_value(json_object_get(row, "text"))};
    const json_t *in = json_object_get(row, "call"), *labels = json_object_get(in, "candidate_labels");
    const char *template = json_string_value(json_object_get(in, "hypothesis_template"));
    rf_zero_shot_defaults(&c.o);
    if (template) c.o.hypothesis_template = template;
    c.o.multi_label = json_is_true(json_object_get(in, "multi_label"));
    for (size_t i = 0; i < json_array_size(labels); i++)
        add_label(&c, json_string_value(json_array_get(labels, i)), RF_STRING);
    for (const char *at = json_string_value(labels); at && *at;) {                    /* "a, b" */
        at += strspn(at, " ,");
        const size_t n = strcspn(at, ",");
        size_t kept = n;
        while (kept && at[kept - 1] == ' ') kept--;
        if (kept) add_label(&c, at, kept);
        at += n;
    }
    return c;
}

static void check_answer(const call *c, const rf_zero_shot_label *got, const json_t *answer, int line)
{
    const json_t *labels = json_object_get(answer, "labels"), *scores = json_object_get(answer, "scores");
    double before = 2;
    assert_int_equal(json_array_size(labels), c->labels);
    for (int64_t k = 0; k < c->labels; k++) {
        const double score = json_real_value(json_array_get(scores, (size_t)k));
        const char *name = json_string_value(json_array_get(labels, (size_t)k)), *own = c->label[got[k].label];
        const size_t n = c->bytes[got[k].label] == RF_STRING ? strlen(own) : c->bytes[got[k].label];
        if (fabs(got[k].score - score) > 1e-5 || n != strlen(name) || memcmp(name, own, n))
            fail_msg("line %d, place %d: %.*s %.7f, expected %s %.7f", line, (int)k, (int)n, own, got[k].score, name,
                     score);
        assert_true(got[k].score <= before);
        before = got[k].score;
    }
}

/* The same bits with a batch for each pair, and in any position of a list of texts. */
static void check_bits(rf_pipeline *p, const call *c)
{
    rf_error why = {0};
    rf_zero_shot_options o = c->o;
    const char *text[3] = {"a small house", c->text, c->text};
    const size_t size = (size_t)c->labels * sizeof(rf_zero_shot_label);
    const rf_zero_shot_label *got;
    rf_zero_shot_label one[MOST_LABELS];
    if (rf_zero_shot(p, text + 1, NULL, 1, c->label, c->bytes, c->labels, &o, &got, NULL, &why))
        fail_msg("%s", why.text);
    memcpy(one, got, size);
    o.batch_tokens = 1;
    if (rf_zero_shot(p, text + 1, NULL, 1, c->label, c->bytes, c->labels, &o, &got, NULL, &why))
        fail_msg("%s", why.text);
    assert_memory_equal(got, one, size);
    o.batch_tokens = 70;
    if (rf_zero_shot(p, text, NULL, 3, c->label, c->bytes, c->labels, &o, &got, NULL, &why)) fail_msg("%s", why.text);
    assert_memory_equal(got + c->labels, one, size);
    assert_memory_equal(got + 2 * c->labels, one, size);
}

/* Without a limit, a pair with more tokens than positions is an error, as in transformers. */
static void answers_are_those_of_transformers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    FILE *f = fopen("tests/golden/zero_shot/cases.jsonl", "r");
    char *line = NULL;
    size_t capacity = 0;
    int cases = 0, refused = 0;
    assert_non_null(f);
    for (; getline(&line, &capacity, f) > 0; cases++) {
        json_t *row = json_loads(line, 0, NULL);
        const json_t *labels = json_object_get(row, "labels"), *answer = json_object_get(row, "answer");
        const char *first = json_string_value(json_array_get(labels, 0));
        const call c = call_of(row);
        const rf_zero_shot_label *got;
        rf_error why = {0};
        rf_pipeline *p;
        if (rf_pipeline_open(ctx, folder_of(json_string_value(json_object_get(row, "model")), labels,
                                            json_object_get(row, "settings")), RF_F32, &p, &why))
            fail_msg("line %d: %s", cases + 1, why.text);
        const rf_status status = rf_zero_shot(p, &c.text, NULL, 1, c.label, c.bytes, c.labels, &c.o, &got, NULL, &why);
        refused += json_is_null(answer);
        if (!!status != json_is_null(answer)) fail_msg("line %d: %s", cases + 1, why.text);
        if (!status) check_answer(&c, got, answer, cases + 1);
        if (!status) check_bits(p, &c);
        const char *remark = rf_answerer_reading(rf_pipeline_answerer(p))->remark;
        const bool named = strncmp(first, "LABEL", 5) && strcmp(first, "a number");
        if (!status && !*remark != named) fail_msg("line %d: remark '%s'", cases + 1, remark);
        rf_pipeline_close(p);
        json_decref(row);
    }
    free(line);
    fclose(f);
    assert_int_equal(cases, 102);
    assert_int_equal(refused, 4);
    rf_ctx_free(ctx);
}

/* A BERT whose tokenizer has this limit; *folder (NULL: not needed) is valid as that of folder_of. */
static rf_pipeline *open_bert(const rf_ctx *ctx, int64_t most, const char **folder)
{
    rf_pipeline *p;
    rf_error why = {0};
    json_t *labels = json_pack("[s, s, s]", "contradiction", "neutral", "entailment");
    json_t *settings = json_pack("{s:I}", "model_max_length", (json_int_t)most);
    const char *made = folder_of("bert", labels, settings);
    if (folder) *folder = made;
    if (rf_pipeline_open(ctx, made, RF_F32, &p, &why)) fail_msg("%s", why.text);
    json_decref(labels);
    json_decref(settings);
    return p;
}

/* The report: which texts have an answer, and of which tokens were removed. */
static void texts_before_a_bad_one_are_answered(void **state)
{
    (void)state;
    enum { N = 4, LABELS = 2 };
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_pipeline *p = open_bert(ctx, 16, NULL);
    static const char *const text[N] = {"a house", "the old city of a river of a small king", "", "a king"},
                             *const label[LABELS] = {"river", "city"};
    const rf_zero_shot_label *got;
    const rf_texts_report *r;
    rf_error why = {0};
    assert_int_equal(rf_zero_shot(p, text, NULL, N, label, NULL, LABELS, NULL, &got, &r, &why), RF_EDATA);
    assert_int_equal(r->done, 2);
    assert_int_equal(r->bad, 2);
    assert_int_equal(r->cut, 1);
    assert_int_equal(r->tokens, 2 * (3 + 2 + 5) + 2 * 16);
    const rf_reading *read = rf_answerer_reading(rf_pipeline_answerer(p));
    assert_int_equal(read->cut, 1);
    assert_int_equal(read->max_length, 16);
    const double score = got[LABELS].score;
    why = (rf_error){0};
    assert_int_equal(rf_zero_shot(p, text + 1, NULL, 1, label, NULL, LABELS, NULL, &got, NULL, &why), RF_OK);
    assert_true(got[0].score >= score && got[0].score <= score);
    assert_int_equal(rf_zero_shot(p, text, NULL, N, label, NULL, LABELS, NULL, &got, NULL, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "text 2: ");
    rf_pipeline_close(p);
    rf_ctx_free(ctx);
}

static void invalid_calls_are_refused(void **state)
{
    (void)state;
    static const char *const templates[] = {"", "no place", "{", "}", "{} {}", "{1}", "{label}", "{} {0}", "{:>9}",
                                            "{!r}", "a {} }", "{{}}"};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_pipeline *p = open_bert(ctx, 40, NULL);
    const char *text = "a house", *label = "river", *none = NULL;
    rf_zero_shot_options o;
    rf_error why = {0};
    for (size_t i = 0; i < RF_COUNT(templates); i++) {
        rf_zero_shot_defaults(&o);
        o.hypothesis_template = templates[i];
        why = (rf_error){0};
        rf_zero_shot(p, &text, NULL, 1, &label, NULL, 1, &o, NULL, NULL, &why);
        t_failed(&why, RF_EARG, "hypothesis_template");
    }
    rf_zero_shot_defaults(&o);
    assert_int_equal(rf_zero_shot(p, &text, NULL, 1, &label, NULL, 0, NULL, NULL, NULL, &why), RF_EARG);
    assert_int_equal(rf_zero_shot(p, &text, NULL, 1, NULL, NULL, 1, NULL, NULL, NULL, &why), RF_EARG);
    assert_int_equal(rf_zero_shot(p, &text, NULL, 1, &none, NULL, 1, NULL, NULL, NULL, &why), RF_EARG);
    assert_int_equal(rf_zero_shot(p, &none, NULL, 1, &label, NULL, 1, NULL, NULL, NULL, &why), RF_EARG);
    assert_int_equal(rf_zero_shot(NULL, &text, NULL, 1, &label, NULL, 1, NULL, NULL, NULL, &why), RF_EARG);
    o.batch_tokens = 0;
    assert_int_equal(rf_zero_shot(p, &text, NULL, 1, &label, NULL, 1, &o, NULL, NULL, &why), RF_EARG);
    rf_zero_shot_defaults(&o);
    o.hypothesis_template = NULL;
    assert_int_equal(rf_zero_shot(p, &text, NULL, 1, &label, NULL, 1, &o, NULL, NULL, &why), RF_EARG);
    rf_pipeline_close(p);
    rf_ctx_free(ctx);
}

/* A pair of zero-shot classification in the engine has the outputs of rf_zero_shot: with two labels, their difference
 * is that of the logarithms of the scores. */
static void the_engine_reads_pairs_in_the_same_way(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder;
    rf_pipeline *p = open_bert(ctx, 12, &folder);
    rf_engine *e;
    rf_engine_job *job;
    rf_engine_job_options o;
    rf_error why = {0};
    const char *text[2] = {"the old city of a river of a small king", "the old city of a river of a small king"},
               *label[2] = {"river", "city"}, *pair[2] = {"This example is river.", "This example is city."};
    const rf_zero_shot_label *got;
    if (rf_engine_open(ctx, folder, NULL, &e, &why)) fail_msg("%s", why.text);
    rf_engine_job_defaults(&o);
    o.raw = o.zero_shot = 1;
    if (rf_engine_classify(e, text, NULL, pair, NULL, 2, &o, &job, &why) || rf_engine_wait(job, -1, &why) ||
        rf_zero_shot(p, text, NULL, 1, label, NULL, 2, NULL, &got, NULL, &why))
        fail_msg("%s", why.text);
    int64_t n, K;
    const float *z = rf_engine_result(job, &n, &K);
    assert_int_equal(K, 3);
    assert_int_equal(rf_engine_report(job)->cut, 2);
    const double odds = (double)z[2] - (double)z[5];
    t_near((got[0].label ? -1 : 1) * log(got[0].score / got[1].score), odds, 1e-6);
    rf_engine_job_free(job);
    text[1] = "";
    assert_int_equal(rf_engine_classify(e, text, NULL, pair, NULL, 2, &o, &job, &why), RF_EDATA);
    rf_engine_close(e);
    rf_pipeline_close(p);
    rf_ctx_free(ctx);
}

static rf_status choose(const rf_ctx *ctx, void *arg, rf_error *why)
{
    rf_pipeline *p = NULL;
    const char *text[2] = {"a house", "a river"}, *label[2] = {"city", "king"};
    rf_status status = rf_pipeline_open(ctx, arg, RF_F32, &p, why);
    if (!status) status = rf_zero_shot(p, text, NULL, 2, label, NULL, 2, NULL, NULL, NULL, why);
    rf_pipeline_close(p);
    return status;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder;
    rf_pipeline_close(open_bert(ctx, 40, &folder));
    rf_ctx_free(ctx);
    t_fail_allocations(1, NULL, choose, (void *)(uintptr_t)folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_transformers),
        cmocka_unit_test(texts_before_a_bad_one_are_answered),
        cmocka_unit_test(invalid_calls_are_refused),
        cmocka_unit_test(the_engine_reads_pairs_in_the_same_way),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests_name("pipeline/zero_shot", tests, NULL, NULL);
}
