/* test_twin.c — examples/roformer_in_one_file.c, which shares no code with the library, gives the library's logits.
 *
 * The twin computes in double, the library in float: sums of a few hundred products of order 1 differ by less than
 * 1e-4. */
#define _GNU_SOURCE
#include "t.h"

#include "model/params/params.h"
#include "roformer/model.h"

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n,\n'\nthe\ncat\nsat\non\nmat\n##s\n##ting\na\ndog\nbark\n##ed\nat\nmoon\n";

static void save(rf_ctx *ctx, const char *folder, const rf_config *c, rf_type type)
{
    rf_error why = {0};
    rf_params p;
    rf_tokenizer *t;
    char path[512];
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    assert_int_equal(rf__params_new(ctx, c, &p, &why), RF_OK);
    float *slab = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, 11);
    for (size_t i = 0; i < p.n; i++)                                     /* biases and norms that are not 0 and 1 */
        if (p.p[i].rank == 1)
            for (size_t j = 0; j < p.p[i].count; j++) slab[p.p[i].offset + j] += 0.01f * (float)(j % 7) - 0.02f;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (rf__params_save(&p, slab, type, path, &why) || rf_config_write(ctx, folder, c, &why) ||
        rf_tokenizer_new(ctx, vocabulary, sizeof vocabulary - 1, "vocab", &options, &t, &why) ||
        rf_tokenizer_save(t, folder, &why))
        fail_msg("%s", why.text);
    rf_tokenizer_free(t);
    rf__params_free(&p);
}

static void compare(rf_ctx *ctx, const char *folder, const char *text)
{
    rf_error why = {0};
    rf_model *m;
    rf_session *s;
    rf_encoding e;
    char command[2048];
    if (rf_model_open(ctx, folder, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    const rf_tokenizer *t = rf_model_tokenizer(m);
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, strlen(text), NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
    const int32_t start[2] = {0, (int32_t)e.n};
    const rf_batch b = {.N = (int64_t)e.n, .B = 1, .id = e.id, .start = start};

#ifdef _WIN32                                           /* cmd removes the outer quotes */
    static const char line[] = "\"\"%s\" --logits \"%s\" \"%s\"\"";
#else
    static const char line[] = "'%s' --logits '%s' \"%s\"";
#endif
    snprintf(command, sizeof command, line, T_TWIN, folder, text);
    FILE *twin = popen(command, "r");
    if (!twin) fail_msg("cannot run %s", command);
    const int64_t V = rf_model_config(m)->vocab_size;
    int masks = 0;
    for (int32_t n = 0; n < (int32_t)e.n; n++) {
        if (e.id[n] != rf_tokenizer_mask(t)) continue;
        const float *got;
        if (rf_session_mlm_logits(s, &b, &n, 1, &got, &why)) fail_msg("%s", why.text);
        for (int64_t v = 0; v < V; v++) {
            double expected;
            if (fscanf(twin, "%lf", &expected) != 1) fail_msg("the twin printed too little for \"%s\"", text);
            t_near((double)got[v], expected, 1e-4);
        }
        masks++;
    }
    assert_true(masks > 0);
    double more;
    assert_int_equal(fscanf(twin, "%lf", &more), EOF);
    assert_int_equal(pclose(twin), 0);
    rf_encoding_clear(&e);
    rf_session_close(s);
    rf_model_close(m);
}

static void the_twin_agrees(void **state)
{
    (void)state;
    static const char *const texts[] = {"The cat sat on the [MASK].", "[MASK]",
                                        "A dog barked at the [MASK], [MASK] cats' mat.", "zebra sitting [MASK] moons"};
    const struct { int64_t E, H; rf_act act; int rotate_value; rf_type type;
    } shape[] = {{32, 4, RF_ACT_GELU, 0, RF_F32},
                 {24, 1, RF_ACT_GELU_TANH, 1, RF_F32},
                 {32, 2, RF_ACT_RELU, 0, RF_BF16},
                 {16, 2, RF_ACT_SILU, 0, RF_F16}};
    rf_ctx *ctx = t_ctx(2, NULL);
    for (size_t i = 0; i < RF_COUNT(shape); i++) {
        rf_config c;
        rf_config_defaults(&c);
        c.vocab_size = 21;
        c.embedding_size = shape[i].E;
        c.hidden_size = 32;
        c.num_hidden_layers = 2;
        c.num_attention_heads = shape[i].H;
        c.intermediate_size = 48;
        c.hidden_act = shape[i].act;
        c.rotary_value = shape[i].rotate_value;
        c.initializer_range = 0.2;
        const char *folder = t_folder();
        save(ctx, folder, &c, shape[i].type);
        for (size_t j = 0; j < RF_COUNT(texts); j++) compare(ctx, folder, texts[j]);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_twin_agrees)};
    return cmocka_run_group_tests_name("model/twin", tests, NULL, NULL);
}
