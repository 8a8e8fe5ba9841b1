/* params_save.c — writes parameters to model.safetensors, as transformers does. */
#include <stdio.h>

#include "model/family.h"
#include "model/params.h"
#include "store/store.h"

/* The output bias has two names in transformers. If tied, the second follows from the first; if untied, it is the one
 * that is used. */
static const char *second_name(const rf_params *params, const rf_param *p)
{
    if (!(p->flags & RF_ROW_TWICE) || params->config.tie_word_embeddings) return NULL;
    for (const rf_spelling *s = params->family->spelling; s && s->ours; s++)
        if (!strcmp(s->ours, p->name)) return s->theirs;
    return NULL;
}

static rf_weight_out as_output(const rf_param *p, const float *slab, rf_type type)
{
    rf_weight_out out = {.name = p->name, .type = type, .rank = p->rank, .data = slab + p->offset};
    for (int i = 0; i < p->rank; i++) out.dim[i] = p->dim[i];
    return out;
}

/* A matrix in int8 is followed by its scales, which are f32 whatever the type of the others. */
static size_t add_scale(rf_weight_out *out, size_t n, size_t i, const float *scale, char *name, size_t size)
{
    snprintf(name, size, "%s_scale", out[i].name);
    out[i].type = RF_I8;
    out[n] = (rf_weight_out){.name = name, .type = RF_F32, .rank = 2, .dim = {out[i].dim[0], 1}, .data = scale};
    return n + 1;
}

static rf_status write_all(const rf_params *params, const float *slab, float *const *scale, rf_type type,
                           const char *path, int *fd, rf_error *why)
{
    typedef char scale_name[sizeof params->p->name + 8];
    rf_weight_out *out = rf__calloc(params->ctx, 3 * params->n, sizeof *out);
    scale_name *name = rf__calloc(params->ctx, params->n, sizeof *name);
    rf_status status = out && name ? RF_OK
                                   : rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", params->n);
    size_t n = params->n;
    for (size_t i = 0; i < params->n && !status; i++) {
        const char *second = second_name(params, &params->p[i]);
        out[i] = as_output(&params->p[i], slab, type);
        if (scale && scale[i]) n = add_scale(out, n, i, scale[i], name[i], sizeof name[i]);
        if (!second) continue;
        out[n] = out[i];
        out[n++].name = second;
    }
    if (!status) status = rf__weights_stream(params->ctx, path, out, n, NULL, NULL, NULL, fd, why);
    rf__free(params->ctx, name);
    rf__free(params->ctx, out);
    return status;
}

rf_status rf__params_save(const rf_params *params, const float *slab, rf_type type, const char *path, rf_error *why)
{
    return rf__params_write(params, slab, type, path, NULL, why);
}

rf_status rf__params_write(const rf_params *params, const float *slab, rf_type type, const char *path, int *fd,
                           rf_error *why)
{
    return write_all(params, slab, NULL, type, path, fd, why);
}

rf_status rf__params_save_scaled(const rf_params *params, const float *slab, float *const *scale, rf_type type,
                                 const char *path, rf_error *why)
{
    return write_all(params, slab, scale, type, path, NULL, why);
}
