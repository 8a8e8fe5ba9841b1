/* rotary.c — rotary position embedding and its variants in config.json.                   RoFormer, Eqs. 14-16 and 34
 *
 *     score(m,n) = <R(m) q_m, R(n) k_n> / sqrt D,     R(m) = blockdiag_i of a rotation by a(m, i)
 *
 *     rotary            a(m, i) = m theta_i                                             theta_i: rope_scaling.c
 *     with sections     a(m, i) = c_s(m) theta_i, plane i in section s; c = (t, h, w), the place of m in a grid of
 *                       position_grid_height rows and position_grid_width columns      Wang et al. 2024 (M-RoPE)
 *     rotary_axial    first half of the planes (m div w) theta_j, second half (m mod w) theta_j, theta_j = base^(-4j/r)
 *     rotary_heads      the first heads alone are rotated
 *     rotary_value  v_n -> R(n) v_n; with rotary_value_inverse out_m -> R(m)^T out_m  Su 2024 (kexue.fm/archives/10862)
 *     use_logn_attn     q -> q max(1, ln L / ln L0) for a text of L tokens             Su 2021 (kexue.fm/archives/8823)
 *
 * If all parts and heads share one table, attention rotates while it packs. Otherwise rf__rotate_parts rotates before
 * attention. */
#include "model/position.h"
#include "store/family.h"
#include "store/store.h"

#include <math.h>

struct plan {
    const rf_config *c;
    double base, gain;
    int64_t r, grid;            /* grid: columns, 0: positions are one-dimensional                                    */
    bool axial, logn;           /* logn: the table is for queries                                                     */
    const double *theta;        /* [r/2], or NULL: they depend on the text's length                                   */
};

/* The coordinate by which plane i is rotated at position m. */
static double coordinate(const struct plan *p, int64_t m, int64_t i)
{
    const rf_rope_scaling *s = &p->c->rope_scaling;
    if (p->axial) return (double)(i < p->r / 4 ? m / p->grid : m % p->grid);
    if (!s->sections || !p->grid) return (double)m;
    const int64_t height = p->c->position_grid_height;
    int64_t section = 0;
    for (int64_t last = s->mrope_section[0]; i >= last && section + 1 < s->sections; last += s->mrope_section[section])
        section++;
    if (section == 2) return (double)(m % p->grid);
    if (section == 1) return (double)(height ? m / p->grid % height : m / p->grid);
    return (double)(height ? m / p->grid / height : 0);
}

static void angle(const void *what, int64_t position, int64_t length, int64_t i, double *out, double *gain)
{
    const struct plan *p = what;
    const int64_t half = p->r / 2;
    const double theta = p->theta   ? p->theta[i]
                         : p->axial ? rf__rope_theta(p->c, p->base, half, length, i % (half / 2))
                                    : rf__rope_theta(p->c, p->base, p->r, length, i);
    if (!rf__rope_stored(p->c, position, i, out, gain)) {
        *out = coordinate(p, position, i) * theta;
        *gain = p->gain;
    }
    if (!p->logn) return;
    const int64_t given = p->c->rope_scaling.original_max_position_embeddings;
    const double L0 = (double)(given ? given : p->c->max_position_embeddings);
    const double keys = p->c->is_decoder ? fmax((double)position + 1, 1) : (double)length;     /* that the query sees */
    *gain *= fmax(1, log(keys) / log(fmax(L0, 2)));
}

static rf_status table(rf_graph *g, const rf_layer_context *at, int part, struct plan p, const rf_rope **rope,
                       const int32_t **row, rf_error *why)
{
    const rf_config *c = p.c;
    rf_layer_context shared = *at;
    /* one table for all layers of a kind; there are as many tables as layers */
    if (!c->rope_thetas) shared.layer = c->num_hidden_layers > 1 && rf__config_local_rope(c, at->layer);
    p.logn = part == 0 && c->use_logn_attn;
    double *theta = !p.axial && !rf__rope_by_length(c) ? rf__push(g, (size_t)(p.r / 2), sizeof *theta) : NULL;
    for (int64_t i = 0; theta && i < p.r / 2; i++) theta[i] = rf__rope_theta(c, p.base, p.r, 0, i);
    p.theta = theta;
    /* a text that is streamed through linear attention has no known end: its tables are those of the current tokens */
    const bool streams = at->cache && rf__config_linear_attention(c, at->layer);
    return rf__positions_rope(g, &shared, part, p.r, c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES,
                              rf__rope_by_length(c) || p.logn || streams, angle, &p, rope, row, why);
}

/* The config of a layer: without rope_scaling if this is of other layers. */
static const rf_config *config_of(rf_graph *g, const rf_layer_context *at)
{
    if (rf__config_scaled(at->config, at->layer)) return at->config;
    rf_config *own = rf__push(g, 1, sizeof *own);
    if (!own) return at->config;                                                    /* the graph has the error        */
    *own = *at->config;
    own->rope_scaling = (rf_rope_scaling){0};
    return own;
}

static rf_status angles_of(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, struct plan p, rf_error *why)
{
    const rf_config *c = config_of(g, at);
    const int64_t H = c->num_attention_heads, rotated = c->rotary_heads ? c->rotary_heads : H;
    p.c = c;
    p.r = at->features ? at->features : rf_rope_width(c);
    p.base = rf_rope_base(c, at->layer);
    p.gain = rf__rope_gain(c);
    const int64_t end = c->rope_scaling.final_length;
    if (end && !rf__positions_below(g, at, end, "final_length of rope_scaling")) return RF_OK;
    const int64_t rows = c->position_table_size / p.r;
    if (rows && !rf__positions_below(g, at, rows, RF_POSITION_TABLE_ROWS)) return RF_OK;
    const rf_rope *rope = NULL;
    const int32_t *row = NULL;
    rf_status status = table(g, at, at->features ? 2 : 1, p, &rope, &row, why);
    if (status) return status;
    if (rotated == H && !c->use_logn_attn) {
        spec->rope = rope;
        spec->row = row;
        spec->rotate_value = c->rotary_value;
    } else {
        at->rotate = (rf_rotate_parts_spec){.parts = 3,
                                            .heads = H,
                                            .rotated = rotated,
                                            .kv_heads = c->num_key_value_heads > 0 ? c->num_key_value_heads : 0,
                                            .rope = {rope, rope, c->rotary_value ? rope : NULL},
                                            .row = {row, row, row}};
        if (c->use_logn_attn) status = table(g, at, 0, p, &at->rotate.rope[0], &at->rotate.row[0], why);
    }
    if (c->rotary_value_inverse)
        at->unrotate =
            (rf_rotate_parts_spec){.parts = 1, .heads = H, .rotated = rotated, .rope = {rope}, .row = {row}, .back = 1};
    return status;
}

static rf_status angles(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why)
{
    const rf_config *c = at->config;
    return angles_of(g, at, spec, (struct plan){.grid = c->rope_scaling.sections ? c->position_grid_width : 0}, why);
}

static rf_status axial_angles(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why)
{
    return angles_of(g, at, spec, (struct plan){.grid = rf__position_grid(at->config), .axial = true}, why);
}

static rf_tensor *rotate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv)
{
    return at->rotate.parts ? rf__rotate_parts(g, qkv, &at->rotate) : qkv;
}
static rf_tensor *unrotate(rf_graph *g, const rf_layer_context *at, rf_tensor *a)
{
    return at->unrotate.parts ? rf__rotate_parts(g, a, &at->unrotate) : a;
}

static rf_status check_axial(const rf_config *c, rf_error *why)
{
    const rf_status status = rf_rope_check(c, why);
    if (status) return status;
    if (rf_rope_width(c) % 4)
        return rf_fail(
            why, RF_EDATA,
            "config.json: rotated columns of a head: expected a multiple of 4 for two axes of planes, got %lld",
            (long long)rf_rope_width(c));
    if (c->rope_scaling.rope_type == RF_ROPE_LONGROPE || c->rope_scaling.sections)
        return rf_fail(why, RF_EDATA, "config.json: position_embedding_type \"rotary_axial\": expected neither "
                       "longrope nor mrope_section, whose planes differ");
    return RF_OK;
}

const rf_position rf__position_rotary = {
    .name = "rotary",
    .equation = "score(m,n) = <R(m) q_m, R(n) k_n> / sqrt D,  R(m) rotates plane i by m theta_i",
    .source = "Su et al. 2021 (RoFormer)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_ROPE,
    .check = rf_rope_check,
    .angles = angles,
    .rotate = rotate,
    .unrotate = unrotate,
};

const rf_position rf__position_rotary_axial = {
    .name = "rotary_axial",
    .equation = "R(m): half of the planes rotate by (m div w) theta_j, half by (m mod w) theta_j",
    .source = "Su 2021, kexue.fm/archives/8397 (two dimensions)",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_ROPE,
    .check = check_axial,
    .angles = axial_angles,
    .rotate = rotate,
    .unrotate = unrotate,
};
