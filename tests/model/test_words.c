/* test_words.c — mirrors src/model/model.c word embeddings that stay in the file: those of a folder in bf16, f16 or
 * int8 do, too, and their rows have the bits of widened embeddings. */
#include "t.h"

#include "model/model.h"
#include "roformer/inspect/folder.h"
#include "graph/tensor.h"

enum { N = 9 };
static const int32_t id[N] = {1, 5, 9, 2, 3, 29, 4, 8, 1}, start[3] = {0, 4, N};
static const rf_batch batch = {.N = N, .B = 2, .id = id, .start = start};

/* Golden folders, and the type that their words get; int8 only if no head uses them. */
static const struct source { const char *folder; rf_type type; int head; } sources[] = {
    {"tests/golden/models/bf16", RF_BF16, 1},
    {"tests/golden/models/bf16", RF_F16, 1},
    {"tests/golden/sentences/models/bert", RF_I8, 0},
};

/* The folder `from` with another type; a new folder. */
static const char *converted(const char *from, rf_type type)
{
    rf_error why = {0};
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.keep_type = 0;
    o.type = type;
    char *folder = t_bytes(4096);
    snprintf(folder, 4096, "%s/as-%d", t_folder(), (int)type);
    if (rf_convert(t_shared(), from, folder, &o, &why)) fail_msg("%s", why.text);
    return folder;
}

typedef struct answer { float *vector, *score; int64_t C, V; } answer;

static answer answer_of(const rf_ctx *ctx, const char *folder, rf_type type, int head)
{
    rf_model *m = NULL;
    rf_session *s = NULL;
    rf_error why = {0};
    const float *x;
    const int32_t row[] = {2, 6};
    if (rf_model_open_as(ctx, folder, type, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    answer a = {.C = rf_model_config(m)->hidden_size, .V = rf_model_config(m)->vocab_size};
    a.vector = t_bytes((size_t)(2 * a.C) * sizeof *a.vector);
    a.score = head ? t_bytes((size_t)(2 * a.V) * sizeof *a.score) : NULL;
    if (rf_session_embed(s, &batch, RF_POOL_MEAN, &x, &why)) fail_msg("%s", why.text);
    memcpy(a.vector, x, (size_t)(2 * a.C) * sizeof *x);
    if (head) {
        if (rf_session_mlm_logits(s, &batch, row, 2, &x, &why)) fail_msg("%s", why.text);
        memcpy(a.score, x, (size_t)(2 * a.V) * sizeof *x);
    }
    rf_session_close(s);
    rf_model_close(m);
    return a;
}

/* Matrices in int8 of a folder in int8 are used unchanged, but those of its widened copy are quantized again. */
static void answers_are_those_of_the_widened_folder(void **state)
{
    (void)state;
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8};
    for (size_t k = 0; k < RF_COUNT(sources); k++) {
        const struct source *from = &sources[k];
        const char *const narrow = converted(from->folder, from->type), *const wide = converted(narrow, RF_F32);
        for (size_t i = 0; i < RF_COUNT(types); i++) {
            if (types[i] == RF_I8 && from->type == RF_I8) continue;
            const answer a = answer_of(t_shared(), narrow, types[i], from->head),
                         b = answer_of(t_shared(), wide, types[i], from->head);
            assert_memory_equal(a.vector, b.vector, (size_t)(2 * a.C) * sizeof *a.vector);
            if (from->head) assert_memory_equal(a.score, b.score, (size_t)(2 * a.V) * sizeof *a.score);
        }
        t_free_all();
    }
}

/* Opening a folder takes hardly more memory in one type than in f32: none copies its words. */
static void words_are_not_copied(void **state)
{
    (void)state;
    for (size_t k = 0; k < RF_COUNT(sources); k++) {
        const char *const narrow = converted(k == 2 ? "models/roformer-small-en-sentences" : sources[k].folder,
                                             sources[k].type);
        const char *const folder[] = {converted(narrow, RF_F32), narrow};
        size_t peak[2], words = 0;
        for (int i = 0; i < 2; i++) {
            t_memory memory = {0};
            rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
            rf_model *m = NULL;
            rf_error why = {0};
            if (rf_model_open_as(ctx, folder[i], RF_I8, &m, &why)) fail_msg("%s", why.text);
            peak[i] = memory.peak;
            words = (size_t)(rf_model_config(m)->vocab_size * rf_model_config(m)->embedding_size) * sizeof(float);
            rf_model_close(m);
            rf_ctx_free(ctx);
        }
        if (peak[1] >= peak[0] + words / 2)
            fail_msg("%s: words take %zu bytes, in f32 %zu", folder[1], peak[1], peak[0]);
        t_free_all();
    }
}

/* Rows looked up in a narrow type, alone and as weighted sums, have the bits of their widened copy; they have no
 * gradient. */
static void rows_of_narrow_types(void **state)
{
    (void)state;
    enum { V = 40, E = 600 };           /* longer than what is read at a time */
    const float *const given = t_normal(V * E);
    float *table = t_bytes(V * E * sizeof *table), *scale = t_normal(V), *found[2][2];
    uint16_t *half = t_bytes(V * E * sizeof *half);
    int8_t *code = t_bytes(V * E);
    const rf_file_rows rows[] = {{RF_BF16, half, NULL}, {RF_F16, half, NULL}, {RF_I8, code, scale}};
    static const float c[] = {0.3F, -1.7F};
    const int32_t other[N] = {0, 1, 2, 3, 4, 5, 6, 7, 39}, *const both[] = {id, other};
    rf_graph *g = NULL;
    assert_int_equal(rf__graph_new(t_shared(), &g, NULL), RF_OK);
    for (size_t r = 0; r < RF_COUNT(rows); r++) {
        for (int i = 0; i < V * E; i++)
            if (rows[r].type == RF_BF16) half[i] = rf__bf16(given[i]), table[i] = rf__from_bf16(half[i]);
            else if (rows[r].type == RF_F16) half[i] = rf__f16(given[i]), table[i] = rf__from_f16(half[i]);
            else code[i] = (int8_t)(i % 255 - 127), table[i] = (float)code[i] * scale[i / E];
        for (int i = 0; i < 2; i++) {
            rf_tensor *t = rf__parameter(g, i ? NULL : table, NULL, 2, (int64_t[]){V, E});
            t->rows = i ? &rows[r] : NULL;
            found[i][0] = rf__embed(g, t, id, N)->f32;
            found[i][1] = rf__mix(g, t, 2, c, both, N)->f32;
            if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
        }
        for (int k = 0; k < 2; k++) assert_memory_equal(found[0][k], found[1][k], N * E * sizeof(float));
    }
    rf__embed(g, rf__parameter(g, NULL, NULL, 2, (int64_t[]){V, E}), id, N);
    assert_int_equal(rf__graph_error(g)->code, RF_EARG);
    rf__graph_free(g);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_widened_folder),
        cmocka_unit_test(words_are_not_copied),
        cmocka_unit_test(rows_of_narrow_types),
    };
    return cmocka_run_group_tests_name("model/words", tests, NULL, NULL);
}
