/* params_save.c — writes parameters to model.safetensors, as transformers does. */
#include <stdio.h>

#include "model/family.h"
#include "model/params/params.h"
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
    if (p->flags & RF_ROW_TAPS) {
        out.rank = 3;
        out.dim[2] = p->dim[1] / p->dim[0];
        out.dim[1] = p->dim[0];
    }
    return out;
}

typedef char scale_name[sizeof ((rf_param *)0)->name + 8];

/* A matrix in int8 is followed by its scales, which are f32 whatever the type of the others. */
static size_t add_scale(rf_weight_out *out, size_t n, size_t i, const float *scale, char *name, size_t size)
{
    snprintf(name, size, "%s_scale", out[i].name);
    out[i].type = RF_I8;
    out[n] = (rf_weight_out){.name = name, .type = RF_F32, .rank = 2, .dim = {out[i].dim[0], 1}, .data = scale};
    return n + 1;
}

/* What is written, and a copy of the tensor whose rows are being put into the order of the file. */
typedef struct writing {
    const rf_params *params;
    const float *slab;
    float *const *scale;
    rf_weight_out *out;
    size_t *owner;                      /* [n] the parameter of each of them                                          */
    float *frequency;                   /* those of the config; NULL: none                                            */
    char inv_freq[64], table[RF_STACKS][64]; /* the names of their tensor and of position tables                      */
    float *copy;
} writing;

/* Whether a tensor has another order in the file. */
static bool is_moved(const rf_param *p, const rf_weight_out *out)
{
    return p->flags & RF_ROW_REORDERED || (p->flags & RF_ROW_TRANSPOSED && out->type != RF_I8);
}

/* An rf__fetch: moved tensors have no data before. */
static const float *in_file_order(void *user, size_t i, rf_error *why)
{
    writing *w = user;
    const size_t at = w->owner[i];
    const rf_param *p = &w->params->p[at];
    const float *from = w->out[i].type == RF_F32 && w->scale && w->scale[at] ? w->scale[at] : w->slab + p->offset;
    const rf_weight_out *out = &w->out[i];
    size_t row = sizeof *from;
    for (int d = 1; d < out->rank; d++) row *= (size_t)out->dim[d];
    const size_t bytes = (size_t)out->dim[0] * row;
    rf__free(w->params->ctx, w->copy);
    w->copy = rf__alloc(w->params->ctx, bytes);
    if (!w->copy) return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of weights", bytes), NULL;
    if (p->flags & RF_ROW_TRANSPOSED) {
        rf__transpose(w->copy, from, p->dim[0], p->dim[1]);
        return w->copy;
    }
    memcpy(w->copy, from, bytes);
    return rf__param_reorder(w->params, p, w->copy, row, true, why) ? NULL : w->copy;
}

static void move(const rf_param *p, rf_weight_out *out)
{
    out->data = NULL;
    if (!(p->flags & RF_ROW_TRANSPOSED)) return;
    out->dim[0] = p->dim[1];
    out->dim[1] = p->dim[0];
}

static void split_heads(const rf_params *params, const rf_param *p, rf_weight_out *out)
{
    if (!(p->flags & RF_ROW_HEADS) || out->type == RF_I8) return;
    const int64_t width = out->dim[1], H = out->dim[0] > 1 ? params->stack[p->stack].config.num_attention_heads : 1;
    out->rank = 3;
    out->dim[1] = H;
    out->dim[2] = width / H;
}

/* The name of a tensor that is no parameter, with the prefix of parameters. */
static void name_beside(const rf_params *p, const char *bare_name, char out[64])
{
    const char *word = p->p[p->word].name, *bare = rf__family_bare(p->family, word);
    snprintf(out, 64, "%.*s%s", (int)(bare - word), word, bare_name);
}

/* The position tables that were read with the parameters (position_table.c). */
static size_t list_tables(writing *w, size_t n)
{
    static const char *const name[] = {"encoder.embed_positions.weight", "decoder.embed_positions.weight"};
    for (int s = 0; s < RF_STACKS && s < w->params->stacks; s++) {
        const rf_config *c = &w->params->stack[s].config;
        const bool rotary = !strcmp(c->position_embedding_type, "rotary");
        const int64_t width = rotary ? rf_config_head_width(c) : c->embedding_size;
        if (!c->position_table_size) continue;
        name_beside(w->params, name[s], w->table[s]);
        w->out[n++] = (rf_weight_out){.name = w->table[s], .type = RF_F32, .rank = 2,
                                      .dim = {c->position_table_size / width, width}, .data = c->position_table};
    }
    return n;
}

/* The frequencies that were read with the parameters (position_table.c). */
static size_t list_frequencies(writing *w, size_t n)
{
    const rf_config *c = &w->params->config;
    if (!w->frequency) return n;
    for (int64_t i = 0; i < c->rope_frequencies; i++) w->frequency[i] = (float)c->rope_frequency[i];
    name_beside(w->params, "rotary_embeddings.inv_freq", w->inv_freq);
    w->out[n] = (rf_weight_out){.name = w->inv_freq, .type = RF_F32, .rank = 1, .dim = {c->rope_frequencies},
                                .data = w->frequency};
    return n + 1;
}

/* Lists all tensors; returns their number. */
static size_t list(writing *w, rf_type type, scale_name *name)
{
    const rf_params *params = w->params;
    size_t n = params->n;
    for (size_t i = 0; i < params->n; i++) {
        const char *second = second_name(params, &params->p[i]);
        const size_t more = n;
        w->owner[i] = i;
        w->out[i] = as_output(&params->p[i], w->slab, type);
        if (w->scale && w->scale[i]) n = add_scale(w->out, n, i, w->scale[i], name[i], sizeof name[i]);
        if (is_moved(&params->p[i], &w->out[i])) move(&params->p[i], &w->out[i]);
        split_heads(params, &params->p[i], &w->out[i]);
        for (size_t k = more; k < n; k++) {
            w->owner[k] = i;
            if (params->p[i].flags & RF_ROW_REORDERED) w->out[k].data = NULL;
        }
        if (!second) continue;
        w->owner[n] = i;
        w->out[n] = w->out[i];
        w->out[n++].name = second;
    }
    return list_frequencies(w, list_tables(w, n));
}

static rf_status write_all(const rf_params *params, const float *slab, float *const *scale, rf_type type,
                           const rf_weight_out *more, size_t extra, const char *path, int *fd, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    const size_t most = 3 * params->n + 1 + RF_STACKS + extra, frequencies = (size_t)params->config.rope_frequencies;
    writing w = {.params = params, .slab = slab, .scale = scale, .out = rf__calloc(ctx, most, sizeof *w.out),
                 .owner = rf__calloc(ctx, most, sizeof *w.owner),
                 .frequency = frequencies ? rf__alloc(ctx, frequencies * sizeof *w.frequency) : NULL};
    scale_name *name = rf__calloc(ctx, params->n, sizeof *name);
    rf_status status = w.out && w.owner && name && (w.frequency || !frequencies)
                           ? RF_OK
                           : rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", params->n);
    const size_t n = status ? 0 : list(&w, type, name);
    if (!status && extra) memcpy(w.out + n, more, extra * sizeof *more);
    if (!status) status = rf__weights_stream(ctx, path, w.out, n + extra, NULL, in_file_order, &w, fd, why);
    rf__free(ctx, w.copy);
    rf__free(ctx, w.frequency);
    rf__free(ctx, name);
    rf__free(ctx, w.owner);
    rf__free(ctx, w.out);
    return status;
}

rf_status rf__params_save(const rf_params *params, const float *slab, rf_type type, const char *path, rf_error *why)
{
    return rf__params_write(params, slab, type, path, NULL, why);
}

rf_status rf__params_write(const rf_params *params, const float *slab, rf_type type, const char *path, int *fd,
                           rf_error *why)
{
    return write_all(params, slab, NULL, type, NULL, 0, path, fd, why);
}

rf_status rf__params_save_scaled(const rf_params *params, const float *slab, float *const *scale, rf_type type,
                                 const rf_weight_out *more, size_t extra, const char *path, rf_error *why)
{
    return write_all(params, slab, scale, type, more, extra, path, NULL, why);
}
