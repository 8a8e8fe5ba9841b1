/* test_int8.c — mirrors src/model/model.c with matrices in int8, for activations in int8 or not: bits, which tensors
 * are quantized, rejected models. */
#include "work.h"

#include "kernel/gemm/products.h"
#include "model/model.h"

static rf_config small(void)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 97;
    c.embedding_size = 24;
    c.hidden_size = 36;                 /* no multiple of what instructions take */
    c.num_hidden_layers = 2;
    c.num_attention_heads = 3;
    c.intermediate_size = 70;
    c.initializer_range = 0.2;
    return c;
}

enum { TEXTS = 6 };
static const int32_t length[TEXTS] = {1, 5, 16, 33, 100, 2};

static void fill(int text, int32_t *id)
{
    rf_rng r;
    rf_rng_init(&r, 5, (uint64_t)text);
    for (int32_t j = 0; j < length[text]; j++) id[j] = (int32_t)rf_rng_below(&r, 97);
}

static const rf_type types[] = {RF_I8, RF_I8W};

static void same_bits_in(rf_type type)
{
    const rf_config c = small();
    float alone[TEXTS][36];
    for (int threads = 1; threads <= 3; threads++) {
        struct work w = begin_as(&c, type, threads, NULL);
        rf_error why = {0};
        const float *v;
        for (int i = 0; i < TEXTS; i++) {
            int32_t id[128];
            const int32_t start[2] = {0, length[i]};
            fill(i, id);
            if (rf_session_embed(w.session, &(rf_batch){.N = length[i], .B = 1, .id = id, .start = start},
                                 RF_POOL_MEAN, &v, &why))
                fail_msg("%s", why.text);
            if (threads == 1) memcpy(alone[i], v, sizeof alone[i]);
            assert_memory_equal(alone[i], v, sizeof alone[i]);
        }
        for (int round = 0; round < TEXTS; round++) {
            int32_t id[256], start[TEXTS + 1] = {0};
            for (int i = 0; i < TEXTS; i++) {
                fill((i + round) % TEXTS, id + start[i]);
                start[i + 1] = start[i] + length[(i + round) % TEXTS];
            }
            const rf_batch b = {.N = start[TEXTS], .B = TEXTS, .id = id, .start = start};
            if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s", why.text);
            for (int i = 0; i < TEXTS; i++)
                assert_memory_equal(v + i * 36, alone[(i + round) % TEXTS], sizeof alone[0]);
        }
        end(&w);
    }
}

static void same_text_same_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < RF_COUNT(types); t++) same_bits_in(types[t]);
}

static void has_its_types(rf_type asked)
{
    const rf_config c = small();
    struct work w = begin_as(&c, asked, 1, NULL);
    int eight = 0, sixteen = 0;
    for (size_t i = 0; i < w.model->params.n; i++) {
        const rf_param *p = &w.model->params.p[i];
        if (!w.model->packed[i]) continue;
        const rf_type type = w.model->packed[i]->type;
        const bool in_layer = strstr(p->name, ".layer.") != NULL;
        assert_int_equal(type, in_layer ? asked : RF_BF16);
        if (in_layer) eight++;
        else sixteen++;
    }
    assert_int_equal(eight, 2 * 4);                 /* of each layer: query, key and value combined; output; two more */
    assert_true(sixteen >= 2);                      /* embeddings_project, the head's transform                     */
    end(&w);
}

static void matrices_of_layers_are_int8_and_others_bf16(void **state)
{
    (void)state;
    for (size_t t = 0; t < RF_COUNT(types); t++) has_its_types(types[t]);
}

/* ---- folders that cannot be opened so ---------------------------------------------------------------------------- */

/* A folder with this model's weights, multiplied by `size` in the matrix of the first layer's output. */
static const char *folder_with(const rf_ctx *ctx, const rf_config *c, const char *name, float factor)
{
    const char *folder = t_folder();
    char path[512];
    rf_params p = {0};
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (rf__params_new(ctx, c, &p, &why) || rf_config_write(ctx, folder, c, &why)) fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, 3);
    bool found = false;
    for (size_t i = 0; i < p.n; i++)
        if (strstr(p.p[i].name, name)) {
            found = true;
            for (size_t j = 0; j < p.p[i].count; j++) slab[p.p[i].offset + j] *= factor;
        }
    assert_true(found);
    if (rf__params_save(&p, slab, RF_F32, path, &why)) fail_msg("%s", why.text);
    rf__params_free(&p);
    return folder;
}

static void refuse(const char *name, float factor, const char *part)
{
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf_config c = small();
    const char *folder = folder_with(ctx, &c, name, factor);
    rf_model *m = NULL;
    rf_error why = {0};
    assert_int_equal(rf_model_open(ctx, folder, &m, &why), RF_OK);         /* as f32 there is nothing wrong with it */
    rf_model_close(m);
    m = NULL;
    for (size_t t = 0; t < RF_COUNT(types); t++) {
        why = (rf_error){0};
        assert_int_equal(rf_model_open_as(ctx, folder, types[t], &m, &why), RF_ENUMERIC);
        t_failed(&why, RF_ENUMERIC, part);
        t_failed(&why, RF_ENUMERIC, name);
        assert_null(m);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

static void tensors_without_a_scale_are_named(void **state)
{
    (void)state;
    refuse("layer.0.attention.output.dense.weight", 0, "expected a value that is not 0");
    refuse("layer.1.attention.self.value.weight", 0x1p110F, "expected a largest absolute value");
    refuse("layer.1.intermediate.dense.weight", 0x1p-110F, "expected a largest absolute value");
}

static void other_types_are_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf_config c = small();
    rf_model *m = NULL;
    rf_error why = {0};
    assert_int_equal(rf_model_random_as(ctx, &c, 1, RF_F16, &m, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected f32 (0), bf16 (1), int8 (3) or int8w (5)");
    rf_ctx_free(ctx);
}

/* Every allocation of opening and of a forward pass fails once. */
static void no_memory(void **state)
{
    (void)state;
    const rf_config c = small();
    int32_t id[128];
    const int32_t start[2] = {0, length[3]};
    fill(3, id);
    for (long n = 1;; n++) {
        t_memory memory = {0};
        rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
        memory.fail = memory.calls + n;
        rf_model *m = NULL;
        rf_session *s = NULL;
        const float *v;
        rf_error why = {0};
        rf_status status = rf_model_random_as(ctx, &c, 7, RF_I8, &m, &why);
        if (!status) status = rf_session_open(m, &s, &why);
        if (!status)
            status = rf_session_hidden(s, &(rf_batch){.N = length[3], .B = 1, .id = id, .start = start}, &v, &why);
        if (status) t_failed(&why, RF_ENOMEM, "memory");
        rf_session_close(s);
        rf_model_close(m);
        rf_ctx_free(ctx);
        assert_int_equal(memory.live, 0);
        if (!status) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_text_same_bits),
        cmocka_unit_test(matrices_of_layers_are_int8_and_others_bf16),
        cmocka_unit_test(tensors_without_a_scale_are_named),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("model/int8", tests, NULL, NULL);
}
