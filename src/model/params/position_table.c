/* position_table.c — the position tables that published files contain besides their parameters.
 *
 *     table(m, i) = sin(m base^(-2i/D)),   table(m, D/2 + i) = cos(m base^(-2i/D)),   0 <= i < D/2
 *
 * as RoFormerSinusoidalPositionalEmbedding and similar classes of transformers fill it. Angles are computed here, and
 * the table is not used. If it differs from this formula by more than the rounding of half types, the model was trained
 * with other positions than its configuration defines, and ignoring the table would be wrong.
 *
 *     inv_freq(i) = base^(-2i/D)
 *
 * is what ESM-2's files contain; transformers computes with the stored values. Those of half types differ by at most
 * RATIO. */
#include <math.h>
#include <string.h>

#include "model/params/params.h"
#include "store/store.h"

/* The rounding of bf16 (2^-9) and the error of angles in f32 at position 10^5 (0.006) are below this, another base far
 * above. */
static const double FAR = 1.0 / 64;
enum { MOST = 1 << 24 };

/* The base of the formula; 0: the configuration has no positions of this kind. */
static double base_of(const rf_config *c)
{
    if (!strcmp(c->position_embedding_type, "sinusoidal_halves")) return c->sinusoidal_base;
    const bool plain = c->rope_scaling.rope_type == RF_ROPE_DEFAULT && !c->rope_thetas;
    return plain && !strcmp(c->position_embedding_type, "rotary") ? c->rope_theta : 0;
}

static bool is_formula(const float *table, int64_t rows, int64_t D, double base)
{
    for (int64_t i = 0; i < D / 2; i++) {
        const double step = pow(base, -2 * (double)i / (double)D);
        for (int64_t m = 0; m < rows; m++) {
            const double s = (double)table[m * D + i], c = (double)table[m * D + D / 2 + i], angle = (double)m * step;
            if (!(fabs(s - sin(angle)) <= FAR && fabs(c - cos(angle)) <= FAR)) return false;
        }
    }
    return true;
}

rf_status rf__position_table(const rf_params *p, const rf_weights *w, const rf_weight *t, bool *same, rf_error *why)
{
    static const char name[] = "embed_positions.weight";
    const size_t n = strlen(t->name), m = sizeof name - 1;
    rf_config c;
    *same = true;
    if (n < m || strcmp(t->name + n - m, name) || !t->readable || t->rank != 2) return RF_OK;
    rf__config_stack(&p->config, strstr(t->name, "decoder.") ? p->stacks - 1 : 0, &c);
    const double base = base_of(&c);
    if (base == 0 || t->count > MOST || t->dim[1] % 2) return RF_OK;
    float *table = rf__alloc(p->ctx, t->count * sizeof *table);
    if (!table) return rf_fail(why, RF_ENOMEM, "out of memory: %s", t->name);
    const rf_status status = rf_weights_read(w, t, table, 0, why);
    if (!status) *same = is_formula(table, t->dim[0], t->dim[1], base);
    rf__free(p->ctx, table);
    return status;
}

/* The rounding of f16 is half of this; transformers rotates by the stored numbers. */
static const double RATIO = 1e-3;

rf_status rf__position_frequencies(const rf_params *p, const rf_weights *w, rf_error *why)
{
    static const char name[] = "rotary_embeddings.inv_freq";
    const rf_config *c = &p->config;
    const int64_t D = rf_config_head_width(c);
    rf_status status = RF_OK;
    for (size_t i = 0; i < rf_weights_count(w) && !status; i++) {
        const rf_weight *t = rf_weights_at(w, i);
        const size_t n = strlen(t->name), m = sizeof name - 1;
        if (n < m || strcmp(t->name + n - m, name) != 0) continue;
        if (t->rank != 1 || t->dim[0] != D / 2)
            return rf_fail(why, RF_EDATA, "%s: %s: expected %lld frequencies, half of a head's columns, got another "
                           "shape", rf__weights_name(w), t->name, (long long)(D / 2));
        float *x = rf__alloc(p->ctx, t->count * sizeof *x);
        if (!x) return rf_fail(why, RF_ENOMEM, "out of memory: %s", t->name);
        status = rf_weights_read(w, t, x, 0, why);
        for (int64_t k = 0; k < D / 2 && !status; k++) {
            const double expected = pow(c->rope_theta, -2 * (double)k / (double)D), got = (double)x[k];
            if (!(fabs(got - expected) <= RATIO * expected))
                status = rf_fail(why, RF_EDATA, "%s: %s[%lld]: expected %.6g by rope_theta %g, got %.6g; the model was "
                                 "trained with other frequencies than config.json says", rf__weights_name(w), t->name,
                                 (long long)k, expected, c->rope_theta, got);
        }
        rf__free(p->ctx, x);
    }
    return status;
}
