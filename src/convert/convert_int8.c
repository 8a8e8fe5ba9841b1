/* convert_int8.c — quantizes a model's matrices and word embeddings to int8, and lists its modules without int8.
 *
 *     q[j,p] = w[j,p] / scale[j] to nearest         scale[j] = max_p |w[j,p]| / 127        rf__quantize_int8 */
#include <stdio.h>

#include "model/family.h"
#include "convert/convert_int8.h"

/* In int8, and with the original size (the table of words may have been extended). */
static bool is_whole(const rf_weight *t, const rf_param *p) { return rf__quantized(t) && t->count == p->count; }

static rf_status one_matrix(const rf_params *params, const rf_weights *w, const rf_weight *t, const rf_param *p,
                            float *x, float *scale, rf_error *why)
{
    int8_t *q = rf__alloc(params->ctx, p->count);
    rf_error part = {0};
    if (!q) return rf_fail(why, RF_ENOMEM, "out of memory: %zu numbers", p->count);
    const rf_status status = is_whole(t, p) ? rf__param_codes(params, p, w, t, q, scale, &part)
                                              : rf__quantize_int8(params->ctx, p->dim[0], p->dim[1], x, q, scale,
                                                                  &part);
    if (status) rf_fail(why, status, "tensor \"%s\": %s", p->name, part.text);
    for (size_t i = 0; i < p->count && !status; i++) x[i] = q[i];
    rf__free(params->ctx, q);
    return status;
}

rf_status rf__convert_int8(const rf_params *params, const rf_weights *w, const rf_weight *const *match,
                           bool as_they_are, bool words, float *slab, float **scale, rf_error *why)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n && !status; i++) {
        const rf_param *p = &params->p[i];
        if (!match[i] || !p->count) continue;
        if (!is_whole(match[i], p) && (as_they_are || !(rf__param_in_int8(p) || (i == params->word && words))))
            continue;
        scale[i] = rf__alloc(params->ctx, (size_t)p->dim[0] * sizeof **scale);
        if (!scale[i]) return rf_fail(why, RF_ENOMEM, "out of memory: %lld scales", (long long)p->dim[0]);
        status = one_matrix(params, w, match[i], p, slab + p->offset, scale[i], why);
    }
    return status;
}

/* ---- modules without int8 ---------------------------------------------------------------------------------------- */

typedef char module_name[sizeof ((rf_param *)0)->name];
struct list { module_name *name; const char **item; size_t n; };

static void module_of(const char *tensor, module_name to)
{
    const char *dot = strrchr(tensor, '.');
    snprintf(to, sizeof(module_name), "%.*s", dot ? (int)(dot - tensor) : (int)strlen(tensor), tensor);
}

static void add(struct list *l, const char *module)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->name[i], module)) return;
    snprintf(l->name[l->n], sizeof *l->name, "%s", module);
    l->item[l->n] = l->name[l->n];
    l->n++;
}

static bool has_int8(const rf_params *params, float *const *scale, const char *module)
{
    module_name other;
    for (size_t i = 0; i < params->n; i++) {
        if (!scale[i]) continue;
        module_of(params->p[i].name, other);
        if (!strcmp(other, module)) return true;
    }
    return false;
}

/* The head's matrix if it is tied to the word embeddings: a module without its own tensor. */
static void add_tied(struct list *l, const rf_params *params)
{
    module_name module;
    const rf_head_row *top = rf__family_head(params->family, params->head);
    for (const rf_family_row *r = top ? top->row : NULL; r && r->row.name; r++) {
        if (r->row.when != rf__when_untied || !params->config.tie_word_embeddings) continue;
        module_of(r->row.name, module);
        add(l, module);
    }
}

/* With and without the family's prefix: a class without a head names its modules without it. */
static void add_both(struct list *l, const rf_family *f, const char *module)
{
    module_name other;
    const char *bare = rf__family_bare(f, module);
    add(l, module);
    if (bare != module) add(l, bare);
    else if (snprintf(other, sizeof other, "%s%s", f->prefix, module) < (int)sizeof other) add(l, other);
}

json_t *rf__convert_int8_config(const rf_params *params, float *const *scale, const rf__unused *unused,
                                bool activations)
{
    const size_t most = 2 * (params->n + unused->written) + 8;
    struct list l = {.name = rf__calloc(params->ctx, most, sizeof *l.name),
                     .item = rf__calloc(params->ctx, most, sizeof *l.item)};
    json_t *all = NULL;
    for (size_t i = 0; l.name && l.item && i < params->n; i++) {
        module_name module;
        const rf_param *p = &params->p[i];
        module_of(p->name, module);
        if (strcmp(p->name + strlen(module), ".weight") || has_int8(params, scale, module)) continue;
        if (p->rank == 2 && !p->looked_up && (!p->head || p->flags & RF_ROW_BASE)) add_both(&l, params->family, module);
        else add(&l, module);
    }
    for (size_t i = 0; l.name && l.item && i < unused->written; i++) {
        module_name module;
        const rf_weight_out *t = &unused->out[i];
        module_of(t->name, module);
        if (t->rank == 2 && t->type != RF_I8 && !strcmp(t->name + strlen(module), ".weight"))
            add_both(&l, params->family, module);
    }
    if (l.name && l.item) {
        add_tied(&l, params);
        all = rf__quantized_json(l.item, l.n, scale[params->word], activations);
    }
    rf__free(params->ctx, (void *)l.item);
    rf__free(params->ctx, l.name);
    return all;
}
