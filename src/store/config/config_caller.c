/* config_caller.c — a config that a program passes: it has the size of the program's header, and its lists may be
 * anywhere. */
#include "store/family.h"
#include "store/store.h"

void rf_config_copy_sized(rf_config *to, size_t size, const rf_config *from)
{
    if (to && from) rf__options_init(to, size, from, from->size);
}

rf_status rf__config_given(rf_config *own, const rf_config *given, rf_error *why)
{
    rf_config_defaults(own);
    rf_status status = rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_config, summary), given, "rf_config", why);
    if (status || given->size == sizeof *own || !memchr(own->family, 0, sizeof own->family)) return status;
    if (rf_config_defaults_of(given->family, own, NULL)) return RF_OK; /* no family: the check reports it */
    return rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_config, summary), given, "rf_config", why);
}

static bool keep(const rf_ctx *ctx, const double **list, int64_t n)
{
    if (n > 0) *list = rf__ctx_keep(ctx, *list, (size_t)n * sizeof **list);
    else *list = NULL;
    return n < 1 || *list;
}

static bool keep_types(const rf_ctx *ctx, rf_config *c)
{
    const size_t n = c->attention_types > 0 ? (size_t)c->attention_types : 0;
    c->attention_type_per_layer = n ? rf__ctx_keep(ctx, c->attention_type_per_layer, n) : NULL;
    return !n || c->attention_type_per_layer;
}

static bool keep_table(const rf_ctx *ctx, rf_config *c)
{
    const size_t n = c->position_table_size > 0 ? (size_t)c->position_table_size : 0;
    c->position_table = n ? rf__ctx_keep(ctx, c->position_table, n * sizeof *c->position_table) : NULL;
    return !n || c->position_table;
}

rf_status rf__config_keep(const rf_ctx *ctx, rf_config *c, rf_error *why)
{
    rf_rope_scaling *s = &c->rope_scaling;
    if (keep(ctx, &s->short_factor, s->shorts) && keep(ctx, &s->long_factor, s->longs) &&
        keep(ctx, &c->rope_theta_per_layer, c->rope_thetas) &&
        keep(ctx, &c->rope_frequency, c->rope_frequencies) && keep_types(ctx, c) &&
        keep_table(ctx, c))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: the lists of a config");
}
