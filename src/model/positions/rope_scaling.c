/* rope_scaling.c — frequencies for texts longer than the trained ones, as transformers computes them.
 *
 *     theta_i  = b^(-2i/r), wavelength l_i = 2 pi / theta_i, f factor, L0 original length, L the text's length
 *     linear   theta_i / f                                                              Chen et al. 2023
 *     ntk      base b f^(r/(r-2))                                                       bloc97 2023
 *     dynamic  base b (f L/L0 - (f-1))^(r/(r-2)) for L > L0 = max_position_embeddings   emozilla 2023
 *     yarn     theta_i / f (1 - e_i) + theta_i e_i,  e_i = 1 - ramp(low, high, i)       Peng et al. 2023
 *              low, high = r ln(L0 / (2 pi beta)) / (2 ln b) of beta_fast, beta_slow    gain 0.1 ln f + 1
 *     longrope theta_i / short_factor[i], or long_factor[i] for L > L0                  Ding et al. 2024
 *                                                                                       gain sqrt(1 + ln f / ln L0)
 *     llama3   l_i < L0/high: theta_i;  l_i > L0/low: theta_i / f;  between: both, mixed by (L0/l_i - low)/(high - low)
 *
 * If config.json has final_length, it is L for every text. Texts may then be read in parts, and must not be longer.
 *
 * gain multiplies cosines and sines. Attention reads tables of both and does not depend on the type. */
#include <math.h>

#include "model/position.h"
#include "store/family.h"

static double pi(void) { return acos(-1); }

int64_t rf_rope_width(const rf_config *c)
{
    if (!c || c->num_attention_heads < 1) return 0;
    return (int64_t)((double)rf_config_head_width(c) * c->partial_rotary_factor);
}

static double original(const rf_config *c)
{
    const int64_t given = c->rope_scaling.original_max_position_embeddings;
    return (double)(given ? given : c->max_position_embeddings);
}

/* If there is no factor, yarn and longrope use the ratio of the lengths. */
static double factor(const rf_config *c)
{
    const double given = c->rope_scaling.factor;
    return given > 0 ? given : (double)c->max_position_embeddings / original(c);
}

bool rf__rope_by_length(const rf_config *c)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    return (s->rope_type == RF_ROPE_DYNAMIC || s->rope_type == RF_ROPE_LONGROPE) && !s->final_length;
}

/* ---- yarn ---- */

static double yarn_plane(const rf_config *c, double base, int64_t r, double rotations)
{
    return (double)r * log(original(c) / (rotations * 2 * pi())) / (2 * log(base));
}

static double yarn(const rf_config *c, double base, int64_t r, double theta, int64_t i)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    double low = yarn_plane(c, base, r, s->beta_fast > 0 ? s->beta_fast : 32);
    double high = yarn_plane(c, base, r, s->beta_slow > 0 ? s->beta_slow : 1);
    if (!s->no_truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)(r - 1));
    if (low == high) high += 0.001;
    const double ramp = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return theta / factor(c) * ramp + theta * (1 - ramp);
}

static double yarn_scale(double f, double m) { return f <= 1 ? 1 : 0.1 * m * log(f) + 1; }

double rf__rope_gain(const rf_config *c)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const double f = factor(c);
    if (s->rope_type != RF_ROPE_YARN && s->rope_type != RF_ROPE_LONGROPE) return 1;
    if (s->attention_factor > 0) return s->attention_factor;
    if (s->rope_type == RF_ROPE_LONGROPE) return f <= 1 ? 1 : sqrt(1 + log(f) / log(original(c)));
    if (s->mscale != 0 && s->mscale_all_dim != 0) return yarn_scale(f, s->mscale) / yarn_scale(f, s->mscale_all_dim);
    return yarn_scale(f, 1);
}

/* ---- llama3 ---- */

static double llama3(const rf_config *c, double theta)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const double L0 = original(c), wave = 2 * pi() / theta;
    if (wave < L0 / s->high_freq_factor) return theta;
    if (wave > L0 / s->low_freq_factor) return theta / s->factor;
    const double share = (L0 / wave - s->low_freq_factor) / (s->high_freq_factor - s->low_freq_factor);
    return (1 - share) * theta / s->factor + share * theta;
}

/* ---- all of them ---- */

static double plain_theta(double base, int64_t r, int64_t i) { return pow(base, -2.0 * (double)i / (double)r); }

double rf__rope_theta(const rf_config *c, double base, int64_t r, int64_t length, int64_t i)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    if (c->rope_frequencies == r / 2) return c->rope_frequency[i];
    if (s->final_length) length = s->final_length;
    const double grows = (double)r / (double)(r - 2), L0 = (double)c->max_position_embeddings;
    if (s->rope_type == RF_ROPE_NTK) base *= pow(s->factor, grows);
    if (s->rope_type == RF_ROPE_DYNAMIC)
        base *= pow(s->factor * fmax((double)length, L0) / L0 - (s->factor - 1), grows);
    const double theta = plain_theta(base, r, i);
    switch (s->rope_type) {
    case RF_ROPE_LINEAR: return theta / s->factor;
    case RF_ROPE_YARN: return yarn(c, base, r, theta, i);
    case RF_ROPE_LONGROPE: return theta / ((double)length > original(c) ? s->long_factor[i] : s->short_factor[i]);
    case RF_ROPE_LLAMA3: return llama3(c, theta);
    case RF_ROPE_DEFAULT: case RF_ROPE_NTK: case RF_ROPE_DYNAMIC: break;
    }
    return theta;
}

bool rf__rope_stored(const rf_config *c, int64_t m, int64_t i, double *angle, double *gain)
{
    if (!c->position_table_size) return false;                          /* as in most; this is asked for each angle */
    const int64_t r = rf_rope_width(c);
    if (m < 0 || r < 2 || m >= c->position_table_size / r) return false;
    const double sine = (double)c->position_table[m * r + i], cosine = (double)c->position_table[m * r + r / 2 + i];
    *angle = atan2(sine, cosine);
    *gain = hypot(sine, cosine);
    return true;
}

double rf_rope_base(const rf_config *c, int64_t layer)
{
    if (!c) return 0;
    if (rf__config_local_rope(c, layer)) return c->local_rope_theta;
    return layer >= 0 && layer < c->rope_thetas ? c->rope_theta_per_layer[layer] : c->rope_theta;
}

double rf_rope_frequency(const rf_config *c, int64_t layer, int64_t length, int64_t i)
{
    const int64_t r = rf_rope_width(c);
    if (i < 0 || i >= r / 2) return 0;
    const double base = rf_rope_base(c, layer);
    return rf__config_scaled(c, layer) ? rf__rope_theta(c, base, r, length, i) : plain_theta(base, r, i);
}

struct scaled { const rf_config *c; int64_t layer, length; double gain; const int32_t *position; };

static void scaled_angle(const void *what, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct scaled *s = what;
    if (rf__rope_stored(s->c, s->position[row], i, angle, gain)) return;
    *angle = (double)s->position[row] * rf_rope_frequency(s->c, s->layer, s->length, i);
    *gain = s->gain;
}

rf_status rf_rope_scaled(const rf_ctx *ctx, const rf_config *c, int64_t layer, int64_t length, rf_rope_layout layout,
                         const int32_t position[], int64_t n, rf_rope **out, rf_error *why)
{
    if (!ctx || !c || !position || !out) return rf__missing("rf_rope_scaled", "ctx, config, position, out", why);
    const rf_status status = rf_rope_check(c, why);
    if (status) return status;
    if (c->rope_scaling.sections)
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: mrope_section: expected none, since positions are single "
                       "numbers here, got %lld sections", (long long)c->rope_scaling.sections);
    const struct scaled s = {c, layer, length, rf__config_scaled(c, layer) ? rf__rope_gain(c) : 1, position};
    return rf_rope_make(ctx, rf_rope_width(c), layout, n, scaled_angle, &s, out, why);
}

/* ---- checking ---- */

static rf_status check_list(const char *name, const double *x, int64_t n, int64_t half, rf_error *why)
{
    if (n != half)
        return rf_fail(why, RF_EDATA, "config.json: %s: expected %lld numbers, one for each plane of a head, got %lld",
                       name, (long long)half, (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] > 0) || !isfinite(x[i]))
            return rf_fail(why, RF_EDATA, "config.json: %s[%lld]: expected a finite number above 0, got %g", name,
                           (long long)i, x[i]);
    return RF_OK;
}

static rf_status check_scaling(const rf_config *c, int64_t r, rf_error *why)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const rf_rope_type t = s->rope_type;
    const bool long_one = t == RF_ROPE_YARN || t == RF_ROPE_LONGROPE, needs_length = long_one || t == RF_ROPE_LLAMA3;
    if (needs_length && s->original_max_position_embeddings < 0)
        return rf_fail(why, RF_EDATA, "config.json: original_max_position_embeddings: expected the length before "
                       "stretching, at least 1, got %lld", (long long)s->original_max_position_embeddings);
    if (t != RF_ROPE_DEFAULT && !(long_one && s->factor == 0) && (!(s->factor >= 1) || !isfinite(s->factor)))
        return rf_fail(why, RF_EDATA,
                       "config.json: rope_scaling: factor: expected a finite number of at least 1, got %s%g",
                       s->factor == 0 ? "missing or " : "", s->factor);
    if (long_one && factor(c) < 1)
        return rf_fail(why, RF_EDATA, "config.json: max_position_embeddings: expected at least "
                       "original_max_position_embeddings, %lld, got %lld",
                       (long long)s->original_max_position_embeddings, (long long)c->max_position_embeddings);
    if ((t == RF_ROPE_NTK || t == RF_ROPE_DYNAMIC) && r < 4)
        return rf_fail(why, RF_EDATA,
                       "config.json: rope_type ntk and dynamic: expected at least 4 rotated columns, got %lld",
                       (long long)r);
    if (s->attention_factor < 0 || s->beta_fast < 0 || s->beta_slow < 0)
        return rf_fail(why, RF_EDATA, "config.json: attention_factor, beta_fast, beta_slow: expected no negative "
                       "number, got %g, %g and %g", s->attention_factor, s->beta_fast, s->beta_slow);
    if (t == RF_ROPE_LONGROPE && original(c) < 2)
        return rf_fail(why, RF_EDATA, "config.json: original_max_position_embeddings: expected at least 2 with "
                       "rope_type longrope, got 1");
    if (t == RF_ROPE_LLAMA3 &&
        !(s->low_freq_factor > 0 && s->high_freq_factor > s->low_freq_factor && isfinite(s->high_freq_factor)))
        return rf_fail(why, RF_EDATA,
                       "config.json: low_freq_factor, high_freq_factor: expected 0 < low < high, got %g and %g",
                       s->low_freq_factor, s->high_freq_factor);
    if (s->final_length && t != RF_ROPE_DYNAMIC && t != RF_ROPE_LONGROPE)
        return rf_fail(why, RF_EDATA, "config.json: final_length: expected rope_type dynamic or longrope, whose "
                       "angles depend on the length of the text, got \"%s\"", rf_rope_type_name(t));
    if (s->final_length < 0 || s->final_length > INT32_MAX)
        return rf_fail(why, RF_EDATA, "config.json: final_length: expected 1 to %d, got %lld", INT32_MAX,
                       (long long)s->final_length);
    if (t != RF_ROPE_LONGROPE) return RF_OK;
    const rf_status status = check_list("short_factor", s->short_factor, s->shorts, r / 2, why);
    return status ? status : check_list("long_factor", s->long_factor, s->longs, r / 2, why);
}

static rf_status check_bases(const rf_config *c, rf_error *why)
{
    if (!(c->rope_theta > 1) || !isfinite(c->rope_theta))
        return rf_fail(why, RF_EDATA, "config.json: rope_theta: expected a finite number above 1, got %g",
                       c->rope_theta);
    if (c->rope_thetas && c->rope_thetas != c->num_hidden_layers)
        return rf_fail(why, RF_EDATA,
                       "config.json: rope_theta_per_layer: expected %lld numbers, one for each layer, got %lld",
                       (long long)c->num_hidden_layers, (long long)c->rope_thetas);
    for (int64_t l = 0; l < c->rope_thetas; l++)
        if (!(c->rope_theta_per_layer[l] > 1) || !isfinite(c->rope_theta_per_layer[l]))
            return rf_fail(why, RF_EDATA,
                           "config.json: rope_theta_per_layer[%lld]: expected a finite number above 1, got %g",
                           (long long)l, c->rope_theta_per_layer[l]);
    return RF_OK;
}

rf_status rf_rope_check(const rf_config *c, rf_error *why)
{
    if (!(c && c->num_attention_heads > 0)) return rf__missing("rf_rope_check", "config, its heads", why);
    const rf_rope_scaling *s = &c->rope_scaling;
    const int64_t D = rf_config_head_width(c), r = rf_rope_width(c);
    if (r < 2 || r % 2 || r > D)
        return rf_fail(why, RF_EDATA, "config.json: partial_rotary_factor: expected an even number of rotated columns "
                       "from 2 to %lld, got %g, which rotates %lld of a head's %lld", (long long)D,
                       c->partial_rotary_factor, (long long)r, (long long)D);
    if (c->rotary_heads < 0 || c->rotary_heads > c->num_attention_heads)
        return rf_fail(why, RF_EDATA, "config.json: rotary_heads: expected at most num_attention_heads, %lld, got %lld",
                       (long long)c->num_attention_heads, (long long)c->rotary_heads);
    if (c->use_logn_attn && (r < D || (c->rotary_heads && c->rotary_heads < c->num_attention_heads)))
        return rf_fail(why, RF_EDATA, "config.json: use_logn_attn: expected no partial_rotary_factor or "
                       "rotary_heads, since it multiplies whole queries of all heads");
    rf_status status = check_bases(c, why);
    if (!status) status = check_scaling(c, r, why);
    int64_t sum = 0;
    for (int64_t i = 0; i < s->sections; i++) sum += s->mrope_section[i];
    if (!status && s->sections && sum != r / 2)
        status = rf_fail(why, RF_EDATA, "config.json: mrope_section: expected %lld planes, those of a head, got %lld",
                         (long long)(r / 2), (long long)sum);
    if (!status && c->rotary_value_inverse && (!c->rotary_value || rf__rope_gain(c) != 1))
        status = rf_fail(why, RF_EDATA,
                         "config.json: rotary_value_inverse: expected rotary_value and a rope_type that only rotates");
    return status;
}
