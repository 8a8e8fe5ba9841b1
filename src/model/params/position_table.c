/* position_table.c — the position tables that published files contain besides their parameters.
 *
 *     table(m, i) = sin(m base^(-2i/D)),   table(m, D/2 + i) = cos(m base^(-2i/D)),   0 <= i < D/2
 *
 * as RoFormerSinusoidalPositionalEmbedding and similar classes of transformers fill it. transformers uses the numbers
 * of the file. If they are the formula's, angles are computed from config.json, for any length. Numbers that were
 * rounded to a half type or trained (transformers 5 trains a RoFormer's) are used, for the positions that the table
 * has. A table that contradicts config.json is refused: it is far from the formula, or of another base.
 *
 *     inv_freq(i) = base^(-2i/D)
 *
 * is what ESM-2's files contain, in the published ones rounded to f16. transformers computes with the stored numbers,
 * and so does this library, unless they are the formula's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "model/family.h"
#include "model/params/params.h"
#include "roformer/inspect/files.h"
#include "store/store.h"

/* Numbers closer than this to the formula's are the same in f32; the rounding of bf16 (2^-9) and the error of angles in
 * f32 at position 10^5 (0.006) are below FAR, another base far above. */
static const double NEAR = 1e-6, FAR = 1.0 / 64;
static const double CLASS_BASE = 10000;         /* in transformers' classes, which have no key for it                 */

/* The table that the configuration defines: its base and width. base 0: it defines none. */
struct formula { double base; int64_t width; };

enum relation { IS_FORMULA, IS_STORED, IS_OTHER };

static int stack_of(const rf_params *p, const char *name) { return strstr(name, "decoder.") ? p->stacks - 1 : 0; }

static struct formula formula_of(const rf_params *p, const rf_weight *t)
{
    rf_config c;
    rf__config_stack(&p->config, stack_of(p, t->name), &c);
    if (!strcmp(c.position_embedding_type, "sinusoidal_halves"))
        return (struct formula){c.sinusoidal_base, c.hidden_size};
    const bool plain = c.rope_scaling.rope_type == RF_ROPE_DEFAULT && !c.rope_thetas && c.partial_rotary_factor == 1 &&
                       !rf__config_linear_attention(&c, 0);
    const bool rotary = plain && !strcmp(c.position_embedding_type, "rotary");
    return (struct formula){rotary ? c.rope_theta : 0, rf_config_head_width(&c)};
}

static bool is_formula(const float *table, int64_t rows, int64_t D, double base, double most)
{
    for (int64_t i = 0; i < D / 2; i++) {
        const double step = pow(base, -2 * (double)i / (double)D);
        for (int64_t m = 0; m < rows; m++) {
            const double s = (double)table[m * D + i], c = (double)table[m * D + D / 2 + i], angle = (double)m * step;
            if (!(fabs(s - sin(angle)) <= most && fabs(c - cos(angle)) <= most)) return false;
        }
    }
    return true;
}

/* The base that explains a table: from its last sine at position 1, to two digits, for the rounding of half types.
 * 0: none. */
static double base_of_table(const float *table, int64_t rows, int64_t D)
{
    const double last = D >= 4 && rows > 1 ? (double)table[D + D / 2 - 1] : 0;
    if (!(last > 0 && last < 1)) return 0;
    const double fit = pow(asin(last), -(double)D / (double)(D - 2)), unit = pow(10, floor(log10(fit)) - 1);
    const double base = round(fit / unit) * unit;
    return isfinite(base) && is_formula(table, rows, D, base, FAR) ? base : 0;
}

static bool is_table(const char *name) { return rf__ends_with(name, "embed_positions.weight"); }

bool rf__position_table_written(const rf_params *p, const char *name)
{
    return is_table(name) && p->stack[stack_of(p, name)].config.position_table_size;
}

static enum relation relation_of(const float *table, const rf_weight *t, struct formula f)
{
    const int64_t rows = t->dim[0], D = t->dim[1];
    if (!(f.base > 0) || D != f.width) return IS_OTHER;
    if (is_formula(table, rows, D, f.base, NEAR)) return IS_FORMULA;
    if (is_formula(table, rows, D, f.base, FAR)) return IS_STORED;
    if (fabs(f.base - CLASS_BASE) > NEAR || base_of_table(table, rows, D) > 0) return IS_OTHER;
    for (size_t i = 0; i < t->count; i++)
        if (!isfinite(table[i])) return IS_OTHER;
    return IS_STORED;
}

/* *base (or NULL): that of a table that IS_OTHER, or 0. *kept (or NULL): the numbers of one that IS_STORED, which the
 * context keeps. */
static rf_status compare(const rf_params *p, const rf_weights *w, const rf_weight *t, enum relation *is, double *base,
                         const float **kept, rf_error *why)
{
    *is = IS_FORMULA;
    if (base) *base = 0;
    if (!is_table(t->name)) return RF_OK;
    if (!t->readable || t->rank != 2 || t->dim[1] % 2) return *is = IS_OTHER, RF_OK;
    float *table = rf__alloc(p->ctx, t->count * sizeof *table);
    if (!table) return rf_fail(why, RF_ENOMEM, "out of memory: %s", t->name);
    rf_status status = rf__weights_read(w, t, table, 0, why);
    if (!status) *is = relation_of(table, t, formula_of(p, t));
    if (!status && *is == IS_OTHER && base) *base = base_of_table(table, t->dim[0], t->dim[1]);
    if (!status && *is == IS_STORED && kept && !(*kept = rf__ctx_keep(p->ctx, table, t->count * sizeof *table)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: %s", t->name);
    rf__free(p->ctx, table);
    return status;
}

rf_status rf__position_table(const rf_params *p, const rf_weights *w, const rf_weight *t, bool *known, rf_error *why)
{
    enum relation is;
    const rf_status status = compare(p, w, t, &is, NULL, NULL, why);
    *known = !status && is != IS_OTHER;
    return status;
}

static rf_status differs(const rf_weights *w, const rf_weight *t, double base, rf_error *why)
{
    char is[64] = "another one";
    if (base > 0) snprintf(is, sizeof is, "that of rope_theta %g", base);
    return rf_fail(why, RF_EDATA,
                   "%s: %.100s: expected the position table that %s defines, got %s, which transformers uses; correct "
                   "the keys of positions in %s, or leave out the table: roformer convert --drop '%.100s'",
                   rf__weights_name(w), rf__printable(t->name).text, RF_FILE_CONFIG, is, RF_FILE_CONFIG,
                   rf__printable(t->name).text);
}

/* n 0: the stack's positions are computed. */
static void set_table(rf_params *p, int stack, const float *table, size_t n)
{
    rf_config *c = &p->stack[stack].config;
    c->position_table = table;
    c->position_table_size = (int64_t)n;
    if (p->stacks > 1) return;
    p->config.position_table = table;
    p->config.position_table_size = (int64_t)n;
}

rf_status rf__position_table_read(rf_params *p, const rf_weights *w, const rf_weight *t, rf_error *why)
{
    enum relation is = IS_FORMULA;
    double base = 0;
    const float *kept = NULL;
    if (!rf__silent_find(p->family, t->name)) return RF_OK;
    const rf_status status = compare(p, w, t, &is, &base, &kept, why);
    if (!status && is == IS_OTHER) return differs(w, t, base, why);
    if (!status && is == IS_STORED) set_table(p, stack_of(p, t->name), kept, t->count);
    return status;
}

rf_status rf__position_tables(rf_params *p, const rf_weights *w, rf_error *why)
{
    rf_status status = RF_OK;
    for (int i = 0; i < p->stacks; i++) set_table(p, i, NULL, 0);
    for (size_t i = 0; i < rf_weights_count(w) && !status; i++)
        status = rf__position_table_read(p, w, rf_weights_at(w, i), why);
    return status;
}

/* ---- frequencies ------------------------------------------------------------------------------------------------- */

static bool is_frequencies(const char *name) { return rf__ends_with(name, "rotary_embeddings.inv_freq"); }

/* Numbers closer than this to those of rope_theta are the same in f32, whose steps are 1.2e-7, by a few roundings. */
static const double SAME = 2e-6;

/* The frequencies of one tensor into x [D/2]. *same: they are those of rope_theta. */
static rf_status read_frequencies(const rf_params *p, const rf_weights *w, const rf_weight *t, float *x, bool *same,
                                  rf_error *why)
{
    const rf_config *c = &p->config;
    const int64_t D = rf_config_head_width(c);
    if (t->rank != 1 || t->dim[0] != D / 2)
        return rf_fail(why, RF_EDATA, "%s: %s: expected %lld frequencies, half of a head's columns, got another shape",
                       rf__weights_name(w), t->name, (long long)(D / 2));
    const rf_status status = rf__weights_read(w, t, x, 1, why);
    *same = true;
    for (int64_t k = 0; k < D / 2 && !status; k++) {
        const double computed = pow(c->rope_theta, -2 * (double)k / (double)D);
        *same = *same && fabs((double)x[k] - computed) <= SAME * computed;
    }
    return status;
}

/* Sets the frequencies in all configs of p; n 0: none. */
static rf_status set_frequencies(rf_params *p, const float *x, int64_t n, rf_error *why)
{
    const double *kept = NULL;
    if (n) {
        double *wide = rf__alloc(p->ctx, (size_t)n * sizeof *wide);
        for (int64_t k = 0; wide && k < n; k++) wide[k] = (double)x[k];
        kept = wide ? rf__ctx_keep(p->ctx, wide, (size_t)n * sizeof *wide) : NULL;
        rf__free(p->ctx, wide);
        if (!kept) return rf_fail(why, RF_ENOMEM, "out of memory: %lld frequencies", (long long)n);
    }
    p->config.rope_frequency = kept;
    p->config.rope_frequencies = n;
    for (int i = 0; i < p->stacks; i++) {
        p->stack[i].config.rope_frequency = kept;
        p->stack[i].config.rope_frequencies = n;
    }
    return RF_OK;
}

rf_status rf__position_frequencies(rf_params *p, const rf_weights *w, rf_error *why)
{
    const int64_t half = rf_config_head_width(&p->config) / 2;
    float *first = rf__alloc(p->ctx, (size_t)half * sizeof *first), *x = rf__alloc(p->ctx, (size_t)half * sizeof *x);
    rf_status status = first && x ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %lld frequencies", (long long)half);
    bool same = true, any = false;
    for (size_t i = 0; i < rf_weights_count(w) && !status; i++) {
        const rf_weight *t = rf_weights_at(w, i);
        if (!is_frequencies(t->name) || !rf__silent_find(p->family, t->name)) continue;
        status = read_frequencies(p, w, t, any ? x : first, &same, why);
        if (!status && any && memcmp(first, x, (size_t)half * sizeof *x) != 0)
            status = rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected the frequencies of the first layer, got others",
                             rf__weights_name(w), t->name);
        any = true;
    }
    if (!status) status = set_frequencies(p, first, any && !same ? half : 0, why);
    rf__free(p->ctx, first);
    rf__free(p->ctx, x);
    return status;
}
