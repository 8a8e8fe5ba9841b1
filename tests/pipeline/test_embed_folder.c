/* test_embed_folder.c — mirrors src/pipeline/embed.c: without options, vectors follow the settings of the folder and
 * equal those of tokenizer and session. */
#define _GNU_SOURCE
#include <math.h>

#include "base/os/os.h"
#include "small_pipeline.h"
#include "roformer/index.h"
#include "store/task.h"

enum { C = 32, TEXTS = 3 };
static const char *const text[TEXTS] = {"the old river is big and the red cat is shy .", "the dog", ""};
static const char prompt[] = "the big ";

/* The settings in modules.json and the files that it names. */
typedef struct says { rf_pooling pooling; int normalize, prompt, length, cut; } says;

static void write_text(const char *folder, const char *name, const char *all)
{
    t_write(folder, name, all, strlen(all));
}

static setup folder_of(const says *x)
{
    static const char *const way[] = {"cls", "mean", "max"};
    char all[512];
    setup s = {.ctx = t_ctx(2, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 5);
    snprintf(all, sizeof all,
             "[{\"type\": \"sentence_transformers.models.Transformer\", \"path\": \"\"}, "
             "{\"type\": \"sentence_transformers.models.Pooling\", \"path\": \"pooling\"}%s]",
             x->normalize ? ", {\"type\": \"sentence_transformers.models.Normalize\", \"path\": \"n\"}" : "");
    write_text(s.folder, "modules.json", all);
    char *below = tiny_path(s.folder, "pooling");
    assert_int_equal(rf__os_make_folder(below), 0);
    snprintf(all, sizeof all, "{\"pooling_mode\": \"%s\"}", way[x->pooling]);
    write_text(below, "config.json", all);
    free(below);
    snprintf(all, sizeof all, "{\"max_seq_length\": %s}", x->length ? "7" : "null");
    write_text(s.folder, "sentence_bert_config.json", all);
    snprintf(all, sizeof all, "{\"prompts\": {\"query\": \"%s\", \"other\": \"is \"}%s, \"truncate_dim\": %s}", prompt,
             x->prompt ? ", \"default_prompt_name\": \"query\"" : "", x->cut ? "5" : "null");
    write_text(s.folder, "config_sentence_transformers.json", all);
    open_pipeline(&s);
    return s;
}

/* The vector of one text, of `width` numbers, computed step by step; `before` is put before it. */
static void alone(const setup *s, const says *x, const char *before, const char *one, int width, double *v)
{
    const rf_model *m = rf_pipeline_model(s->p);
    const int64_t most = rf_model_config(m)->max_position_embeddings;
    char all[256];
    rf_session *session;
    rf_encoding e;
    rf_error why = {0};
    const float *row;
    double square = 0;
    snprintf(all, sizeof all, "%s%s", before, one);
    rf_encoding_init(&e, s->ctx);
    if (rf_session_open(m, &session, &why) || rf_encode(rf_model_tokenizer(m), all, strlen(all), NULL, 0,
                                                        x->length ? 7 : (size_t)most, 0, &e, NULL, &why))
        fail_msg("%s", why.text);
    const int32_t start[] = {0, (int32_t)e.n};
    const rf_batch b = {.N = start[1], .B = 1, .id = e.id, .start = start};
    if (rf_session_embed(session, &b, x->pooling, &row, &why)) fail_msg("%s", why.text);
    for (int c = 0; c < C; c++) square += (double)row[c] * (double)row[c];
    for (int c = 0; c < width; c++) v[c] = x->normalize ? (double)row[c] / sqrt(square) : (double)row[c];
    rf_encoding_clear(&e);
    rf_session_close(session);
}

static void check_vectors(setup *s, const says *x, const rf_embed_options *o, const char *before, int width)
{
    const float *v;
    double one[C];
    if (rf_embed_texts(s->p, text, NULL, TEXTS, o, &v, NULL, &s->why)) fail_msg("%s", s->why.text);
    for (int i = 0; i < TEXTS; i++) {
        alone(s, x, before, text[i], width, one);
        for (int c = 0; c < width; c++) t_near((double)v[i * width + c], one[c], 1e-6);        /* f32's roundings */
    }
}

/* Every combination: no options, the defaults, and the result of rf_embed_defaults_of give the same; a given member
 * overrides the folder, and the others are the folder's. */
static void the_folder_says_how_vectors_are_made(void **state)
{
    (void)state;
    for (int way = 0; way < 48; way++) {
        const says x = {(rf_pooling)(way % 3), way / 3 % 2, way / 6 % 2, way / 12 % 2, way / 24 % 2};
        const char *const before = x.prompt ? prompt : "";
        const int width = x.cut ? 5 : C;
        setup s = folder_of(&x);
        rf_embed_options o, shown;
        const rf_sentence *sentence;
        if (rf_pipeline_sentence(s.p, &sentence, &s.why)) fail_msg("%s", s.why.text);
        assert_int_equal(sentence->prompts, 2);
        check_vectors(&s, &x, NULL, before, width);
        rf_embed_defaults(&o);
        check_vectors(&s, &x, &o, before, width);
        if (rf_embed_defaults_of(s.p, &shown, &s.why)) fail_msg("%s", s.why.text);
        assert_int_equal(shown.pooling, x.pooling);
        assert_int_equal(shown.normalize, x.normalize);
        const int64_t most = rf_model_config(rf_pipeline_model(s.p))->max_position_embeddings;
        assert_int_equal(shown.max_length, x.length ? 7 : most);
        assert_int_equal(shown.dimensions, x.cut ? 5 : 0);
        assert_string_equal(shown.prompt, before);
        check_vectors(&s, &x, &shown, before, width);

        o.prompt_name = "other";
        check_vectors(&s, &x, &o, "is ", width);
        o.prompt_name = NULL;
        o.prompt = "";
        check_vectors(&s, &x, &o, "", width);
        o.pooling = (rf_pooling)((way + 1) % 3);
        o.dimensions = 0;
        says given = x;
        given.pooling = o.pooling;
        check_vectors(&s, &given, &o, "", C);
        end(&s);
    }
}

/* A folder without settings of vectors: means. */
static void without_a_word_of_the_folder(void **state)
{
    (void)state;
    const says x = {.pooling = RF_POOL_MEAN};
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    rf_embed_options o;
    const rf_sentence *sentence;
    random_weights(s.ctx, s.folder, 5);
    open_pipeline(&s);
    assert_int_equal(rf_pipeline_sentence(s.p, &sentence, &s.why), RF_OK);
    assert_null(sentence);
    check_vectors(&s, &x, NULL, "", C);
    rf_embed_defaults(&o);
    o.prompt_name = "query";
    assert_int_equal(rf_embed_resolve(s.p, &o, &o, &s.why), RF_EARG);
    t_failed(&s.why, RF_EARG, "which has none, got \"query\"");
    end(&s);
}

static void refuse(setup *s, const rf_embed_options *o, rf_status code, const char *sentence)
{
    rf_embed_options out;
    s->why = (rf_error){0};
    assert_int_equal(rf_embed_texts(s->p, text, NULL, TEXTS, o, NULL, NULL, &s->why), code);
    t_failed(&s->why, code, sentence);
    assert_int_equal(rf_embed_resolve(s->p, o, &out, NULL), code);
}

static void refusals(void **state)
{
    (void)state;
    const says x = {.pooling = RF_POOL_MEAN, .prompt = 1};
    setup s = folder_of(&x);
    rf_embed_options o;
    rf_embed_defaults(&o);
    o.prompt = "the ";
    o.prompt_name = "other";
    refuse(&s, &o, RF_EARG, "prompt, prompt_name: expected one of them, got both");
    o.prompt = NULL;
    o.prompt_name = "third";
    refuse(&s, &o, RF_EARG, "expected one of the folder's prompts (query, other), got \"third\"");
    o.prompt_name = NULL;
    o.normalize = 2;
    refuse(&s, &o, RF_EARG, "normalize: expected -1 to 1, got 2");
    o.normalize = 0;
    o.dimensions = C + 1;
    refuse(&s, &o, RF_EARG, "dimensions: expected at most 32, ... got 33");
    rf_pipeline_close(s.p);

    char *below = tiny_path(s.folder, "pooling");           /* what the folder asks for is not here */
    write_text(below, "config.json", "{\"pooling_mode\": \"centroid\"}");
    open_pipeline(&s);
    refuse(&s, NULL, RF_EUNSUPPORTED, "centroid");
    free(below);
    end(&s);
}

/* The vector of each pooling after the other; the prompt's tokens are left out, as the folder or the option says. */
static void several_poolings_and_no_prompt(void **state)
{
    (void)state;
    setup s = folder_of(&(says){.pooling = RF_POOL_MEAN, .prompt = 1});
    rf_embed_options o;
    rf_index_options kept;
    const float *v, *t;
    const int64_t *row;
    float one[TEXTS][C];
    static const rf_pooling parts[] = {RF_POOL_MAX,  RF_POOL_WEIGHTED, RF_POOL_LAST,
                                       RF_POOL_SQRT, RF_POOL_CLS,      RF_POOL_MEAN};
    rf_pooling all = parts[0];
    for (size_t i = 1; i < RF_COUNT(parts); i++) all = rf_pooling_join(all, parts[i]);
    assert_int_equal(rf__pooling_count(all), RF_COUNT(parts));
    assert_int_equal(rf__pooling_part(all, 1), RF_POOL_WEIGHTED);
    assert_int_equal(rf_pooling_join(all, rf_pooling_join(RF_POOL_CLS, RF_POOL_CLS)), RF_POOL_AUTO);
    rf_embed_defaults(&o);
    for (size_t i = 0; i < RF_COUNT(parts); i++) {
        o.pooling = parts[i];
        if (rf_embed_texts(s.p, text, NULL, TEXTS, &o, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
        memcpy(one, v, sizeof one);
        o.pooling = all;
        if (rf_embed_texts(s.p, text, NULL, TEXTS, &o, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
        for (size_t k = 0; k < TEXTS; k++)
            for (size_t c = 0; c < C; c++)
                t_near((double)v[(k * RF_COUNT(parts) + i) * C + c], (double)one[k][c], 1e-6);
    }
    if (rf_index_options_of(s.p, &o, &kept, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(kept.dimensions, RF_COUNT(parts) * C);
    if (rf_embed_resolve(s.p, &o, &o, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(rf_embed_width(s.p, &o), RF_COUNT(parts) * C);
    assert_true(kept.pooling == all && kept.include_prompt == 1);

    rf_embed_defaults(&o);
    o.include_prompt = 0;
    rf_embed_options shown;
    if (rf_embed_resolve(s.p, &o, &shown, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(shown.prompt_tokens, 3);                             /* [CLS] the big */
    if (rf_embed_texts(s.p, text, NULL, TEXTS, &shown, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
    memcpy(one, v, sizeof one);
    if (rf_embed_tokens(s.p, text, NULL, TEXTS, NULL, &t, &row, NULL, &s.why)) fail_msg("%s", s.why.text);
    for (size_t k = 0; k < TEXTS; k++)
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (int64_t r = row[k] + 3; r < row[k + 1]; r++) sum += (double)t[(size_t)r * C + c];
            t_near((double)one[k][c], sum / (double)(row[k + 1] - row[k] - 3), 1e-6);
        }
    o.include_prompt = 2;
    refuse(&s, &o, RF_EARG, "include_prompt: expected -1 to 1, got 2");
    o.include_prompt = -1;
    o.pooling = RF_POOL_SEVERAL;
    refuse(&s, &o, RF_EARG, "pooling: expected a value of rf_pooling");
    end(&s);
}

/* F.layer_norm(v, (C,))[:D], then length 1, as the card of nomic-embed-text-v1.5 has it; an index keeps the setting. */
static void layer_norm_comes_before_the_cut(void **state)
{
    (void)state;
    enum { D = 8 };
    setup s = folder_of(&(says){.pooling = RF_POOL_MEAN, .normalize = 1});
    rf_embed_options o;
    rf_index_options kept;
    const float *v;
    float raw[TEXTS * C];
    rf_error why = {0};
    rf_embed_defaults(&o);
    o.normalize = 0;
    if (rf_embed_texts(s.p, text, NULL, TEXTS, &o, &v, NULL, &why)) fail_msg("%s", why.text);
    memcpy(raw, v, sizeof raw);
    for (int unit = 0; unit < 2; unit++) {
        o.normalize = unit;
        o.layer_norm = 1;
        o.dimensions = D;
        if (rf_embed_texts(s.p, text, NULL, TEXTS, &o, &v, NULL, &why)) fail_msg("%s", why.text);
        for (int t = 0; t < TEXTS; t++) {
            double mean = 0, variance = 0, z[D], square = 0;
            for (int i = 0; i < C; i++) mean += (double)raw[t * C + i] / C;
            for (int i = 0; i < C; i++) variance += pow((double)raw[t * C + i] - mean, 2) / C;
            for (int i = 0; i < D; i++) z[i] = ((double)raw[t * C + i] - mean) / sqrt(variance + 1e-5);
            for (int i = 0; i < D; i++) square += z[i] * z[i];
            for (int i = 0; i < D; i++) t_near((double)v[t * D + i], z[i] / (unit ? sqrt(square) : 1), 1e-6);
        }
    }
    if (rf_index_options_of(s.p, &o, &kept, &why)) fail_msg("%s", why.text);
    assert_int_equal(kept.layer_norm, 1);
    assert_int_equal(kept.skip_special_tokens, 0);
    o.layer_norm = 2;
    assert_int_equal(rf_embed_texts(s.p, text, NULL, TEXTS, &o, &v, NULL, &why), RF_EARG);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_poolings_and_no_prompt),
        cmocka_unit_test(layer_norm_comes_before_the_cut),
        cmocka_unit_test(the_folder_says_how_vectors_are_made),
        cmocka_unit_test(without_a_word_of_the_folder),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("pipeline/embed_folder", tests, NULL, NULL);
}
