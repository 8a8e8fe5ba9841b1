/* test_relative_golden.c — mirrors src/model/positions/relative.c compared with transformers: its layers, buckets and
 * slopes, which tools/golden/golden_relative.py stored in tests/golden/relative. */
#include <float.h>

#include "layer.h"

struct array { char name[48]; int rank; int64_t dim[4], n; double *x; };
struct arrays { int n; struct array a[32]; };

static void read_arrays(struct arrays *all, const char *file)
{
    char path[256], name[48];
    snprintf(path, sizeof path, "tests/golden/relative/%s.txt", file);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s", path);
    while (fgetc(f) != '\n') {}
    all->n = 0;
    while (fscanf(f, "%47s", name) == 1 && strcmp(name, "end")) {
        assert_true(all->n < (int)RF_COUNT(all->a));
        struct array *a = &all->a[all->n++];
        *a = (struct array){.n = 1};
        memcpy(a->name, name, sizeof name);
        if (fscanf(f, "%d", &a->rank) != 1 || a->rank > 4) fail_msg("%s: rank of %s", path, name);
        for (int i = 0; i < a->rank; i++) {
            int extent;
            if (fscanf(f, "%d", &extent) != 1) fail_msg("%s: extents of %s", path, name);
            a->n *= a->dim[i] = extent;
        }
        a->x = t_bytes((size_t)a->n * sizeof *a->x);
        for (int64_t i = 0; i < a->n; i++)
            if (fscanf(f, "%lf", &a->x[i]) != 1) fail_msg("%s: numbers of %s", path, name);
    }
    assert_string_equal(name, "end");
    fclose(f);
}

static const struct array *optional(const struct arrays *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->a[i].name, name)) return &all->a[i];
    return NULL;
}

static const struct array *array(const struct arrays *all, const char *name)
{
    const struct array *a = optional(all, name);
    if (!a) fail_msg("a golden file has no %s", name);
    return a;
}

/* The value of a parameter of ours; XLNet's three biases go together as transformer_xl.c says. */
static double value_of(const struct arrays *all, const char *name, size_t i)
{
    if (!strcmp(name, "relative_bias")) return array(all, "r_r_bias")->x[i] - array(all, "r_w_bias")->x[i];
    if (!strcmp(name, "segment_bias")) return array(all, "r_s_bias")->x[i] - array(all, "r_w_bias")->x[i];
    if (!strcmp(name, "segment_embeddings.weight")) return array(all, "seg_embed")->x[i];
    if (!strcmp(name, "relative_key.weight")) return array(all, "relative.weight")->x[i];
    if (!strcmp(name, "position_norm.weight")) return 1 + array(all, "position_norm.weight-1")->x[i];
    if (!strcmp(name, "relative_values.weight") && !optional(all, name)) return 0;        /* shaw_keys: of keys alone */
    return array(all, name)->x[i];
}

/* q, k or v of all tokens, in double and rounded once. */
static void columns(float *qkv, const struct arrays *all, int part, int64_t T, int64_t width)
{
    static const char *const name[] = {"query", "key", "value"};
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name[part]);
    snprintf(bias, sizeof bias, "%s.bias", name[part]);
    const double *x = array(all, "hidden")->x, *w = array(all, weight)->x;
    const struct array *b = optional(all, bias), *u_q = part == 0 ? optional(all, "r_w_bias") : NULL;
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < width; i++) {
            double sum = (b ? b->x[i] : 0) + (u_q ? u_q->x[i] : 0);
            for (int64_t j = 0; j < width; j++) sum += w[i * width + j] * x[t * width + j];
            qkv[t * 3 * width + part * width + i] = (float)sum;
        }
}

static const struct { const char *file, *encoding; bool causal;
} layers[] = {
    {"t5", "t5", false},
    {"t5_causal", "t5", true},
    {"alibi", "alibi", false},
    {"alibi_causal", "alibi", true},
    {"xlnet", "xlnet", false},
    {"xlnet_clamped", "xlnet", false},
    {"xlnet_plain", "transformer_xl", false},
    {"transformer_xl_causal", "transformer_xl", true},
    {"nezha", "nezha", false},
    {"shaw", "shaw", false},
    {"shaw_keys", "shaw", false},
    {"deberta", "deberta", false},
    {"deberta_far", "deberta", false},
    {"deberta_log", "deberta", false},
    {"tupe", "tupe", false},
    {"kerple_log", "kerple_log", false},
    {"kerple_power", "kerple_power", false},
    {"sandwich", "sandwich", false},
};

/* keys of config.json, by the names of the golden files */
static const char *const keys[][2] = {
    {"buckets", "relative_attention_num_buckets"},
    {"distance", "relative_attention_max_distance"},
    {"clamp_len", "clamp_len"},
    {"max_relative_position", "max_relative_position"},
    {"max_relative_positions", "max_relative_positions"},
    {"position_buckets", "position_buckets"},
    {"sandwich_width", "sandwich_width"},
    {"layer_norm_eps", "layer_norm_eps"},
};

static void layer_of_transformers(const char *file, const char *encoding, bool causal, const char *isa)
{
    enum { HEADS = 3, WIDE = 8, WIDTH = HEADS * WIDE };
    struct arrays all;
    struct layer l;
    rf_attention_spec spec;
    char text[512], one[96];
    read_arrays(&all, file);
    snprintf(text, sizeof text, "\"position_embedding_type\":\"%s\"", encoding);
    for (size_t i = 0; i < RF_COUNT(keys); i++) {
        const struct array *a = optional(&all, keys[i][0]);
        if (!a) continue;
        snprintf(one, sizeof one, ",\"%s\":%.17g", keys[i][1], a->x[0]);
        strncat(text, one, sizeof text - strlen(text) - 1);
    }
    const struct array *expected = array(&all, "context"), *types = optional(&all, "types"),
                       *places = optional(&all, "position_embeddings.weight");
    const int64_t T = expected->dim[0];
    if (places) {
        snprintf(one, sizeof one, ",\"max_position_embeddings\":%d", (int)places->dim[0]);
        strncat(text, one, sizeof text - strlen(text) - 1);
    }
    const rf_config c = config_of(HEADS, WIDE, causal, text);
    open_layer(&l, &c, isa);
    for (size_t i = 0; i < l.n; i++) {
        const char *name = l.p[i]->name, *self = strstr(name, "attention.self."),
                   *encoder = strstr(name, "roformer.encoder.");
        name = self ? self + strlen("attention.self.") : encoder ? encoder + strlen("roformer.encoder.") : name;
        for (size_t j = 0; j < l.p[i]->count; j++) l.value[i][j] = (float)value_of(&all, name, j);
    }
    float *qkv = t_floats(T * 3 * WIDTH);
    for (int part = 0; part < 3; part++) columns(qkv, &all, part, T, WIDTH);
    int32_t *id = t_bytes((size_t)T * sizeof *id), *type_of = t_bytes((size_t)T * sizeof *type_of),
            ends[2] = {0, (int32_t)T};
    for (int64_t t = 0; t < T; t++) id[t] = 0, type_of[t] = types ? (int32_t)types->x[t] : 0;
    const rf_batch b = {.N = T, .B = 1, .id = id, .type = type_of, .start = ends};
    rf_tensor *y = attend(&l, qkv, NULL, &b, &spec);
    double worst = 0;
    for (int64_t i = 0; i < expected->n; i++) worst = fmax(worst, fabs((double)y->f32[i] - expected->x[i]));
    print_message("%-22s largest difference %.1e\n", file, worst);
    if (!(worst <= 2e-5)) fail_msg("%s differs by %.3g", file, worst);
    close_layer(&l);
    t_free_all();
}

/* Scores of size 10 with 24 roundings each of f32 are off by at most 3e-5 in the worst case and 4e-6 as a rule; so are
 * the probabilities, relative, and contexts of size 3 by 1.2e-5.  Three of the files have a softmax in float32
 * themselves. */
static void layers_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(layers); i++) {
        layer_of_transformers(layers[i].file, layers[i].encoding, layers[i].causal, NULL);
        layer_of_transformers(layers[i].file, layers[i].encoding, layers[i].causal, "ref");
    }
}

/* A text of `T` tokens, as far as `relate` looks at it. */
static const float *bias_of(struct layer *l, int64_t T, rf_attention_spec *spec)
{
    static int32_t zeros[1024];
    assert_true(T <= 1024);
    const int64_t width = l->params.config.hidden_size;
    int32_t ends[2] = {0, (int32_t)T};
    float *qkv = t_bytes((size_t)(T * 3 * width) * sizeof *qkv);
    memset(qkv, 0, (size_t)(T * 3 * width) * sizeof *qkv);
    attend(l, qkv, NULL, &(rf_batch){.N = T, .B = 1, .id = zeros, .type = zeros, .start = ends}, spec);
    return spec->relative_bias ? spec->relative_bias->f32 : spec->relative_query->f32;
}

static int64_t clamp(int64_t x, int64_t most) { return x > most ? most : x < -most ? -most : x; }

/* Buckets: the table holds its own row numbers (DeBERTa's, which passes a norm, angles on a circle), so what attention
 * would add tells the row.  Slopes: what it adds at distance 1; they pass through float32 in transformers, over up to
 * 40 products. */
static void buckets_and_slopes_of_transformers(void **state)
{
    (void)state;
    static const char *const files[] = {"t5_buckets", "deberta_buckets", "alibi_slopes"};
    for (int kind = 0; kind < 3; kind++) {
        struct arrays all;
        read_arrays(&all, files[kind]);
        int checked = 0;
        for (int i = 0; i < all.n; i++) {
            const struct array *a = &all.a[i];
            int n = 0, most = 0;
            struct layer l;
            rf_attention_spec spec;
            char text[256];
            const bool past = !strncmp(a->name, "past/", 5);
            if (sscanf(a->name, kind == 2 ? "heads/%d" : past ? "past/%d/%d" : "both/%d/%d", &n, &most) < 1) continue;
            snprintf(
                text, sizeof text,
                kind == 0 ? "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":%d,\"relative_"
                            "attention_max_distance\":%d"
                : kind == 1
                    ? "\"position_embedding_type\":\"deberta\",\"position_buckets\":%d,\"max_relative_positions\":%d"
                    : "\"position_embedding_type\":\"alibi\"",
                n, most);
            const rf_config c = config_of(kind == 2 ? n : 1, kind == 2 ? 2 : 4, past, text);
            open_layer(&l, &c, NULL);
            for (size_t p = 0; p < l.n; p++)
                for (size_t j = 0; j < l.p[p]->count; j++) {
                    const double angle = 6.283185307179586 * (double)(j / 4) / (2 * n),
                                 wave = j % 2 ? sin(angle) : cos(angle);
                    l.value[p][j] = kind == 0 ? (float)j
                                    : p == 0  ? (float)(j % 4 < 2 ? wave : -wave)
                                    : p == 1  ? 1
                                    : p == 3  ? (float)(j % 5 == 0)
                                              : 0;
                }
            const struct array *offset = kind < 2 ? array(&all, "offset") : NULL;
            const int64_t T = offset ? (int64_t)offset->x[offset->n - 1] + 1 : 2;
            const float *got = bias_of(&l, T, &spec);
            for (int64_t j = 0; kind == 0 && j < a->n; j++)
                t_near((double)got[clamp((int64_t)offset->x[j], spec.clip) + spec.clip], a->x[j], 0);
            for (int64_t j = 0; kind == 1 && j < a->n; j++) {           /* offset is query - key */
                const float *row = got + 4 * (clamp(-(int64_t)offset->x[j], spec.clip) + spec.clip);
                const double at =
                    fmod(atan2((double)row[1], (double)row[0]) / 6.283185307179586 * 2 * n + 2 * n, 2 * n);
                const double expected = fmin(fmax(a->x[j] + n, 0), 2 * n - 1), apart = fabs(at - expected);
                if (!(fmin(apart, 2 * n - apart) < 1e-2))
                    fail_msg("%s: offset %d is in row %.3f, expected %.0f", a->name, (int)offset->x[j], at, expected);
            }
            for (int h = 0; kind == 2 && h < n; h++)
                t_near(-(double)got[2 * n + h], a->x[h], 40 * FLT_EPSILON * a->x[h]);
            checked++;
            close_layer(&l);
        }
        assert_true(checked >= 5);
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_transformers),
        cmocka_unit_test(buckets_and_slopes_of_transformers),
    };
    return cmocka_run_group_tests_name("model/relative_golden", tests, NULL, NULL);
}
