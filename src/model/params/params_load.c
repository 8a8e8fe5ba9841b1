/* params_load.c — reads parameters from files of weights: the family's spellings of names, tensors that are missing or
 * have a wrong shape, and unused ones. */
#include <stdio.h>

#include "model/family.h"
#include "model/params/params.h"
#include "roformer/inspect/folder.h"
#include "store/store.h"

static const rf_weight *find_spelled(const rf_family *f, const rf_weights *w, const char *name)
{
    const rf_weight *t = rf__weights_find(w, name);
    const size_t n = strlen(name);
    for (const rf_spelling *s = f->spelling; s && s->ours; s++) {
        const size_t m = strlen(s->ours);
        char other[160];
        if ((t && !s->first) || n < m || strcmp(name + n - m, s->ours)) continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(n - m), name, s->theirs);
        const rf_weight *u = rf__weights_find(w, other);
        if (u) return u;
    }
    return t;
}

static const rf_weight *find_under(const rf_family *f, const rf_weights *w, const char *prefix, const char *name)
{
    char other[160];
    snprintf(other, sizeof other, "%s%s", prefix, name);
    return find_spelled(f, w, other);
}

const rf_weight *rf__params_find(const rf_params *p, const rf_weights *w, const char *name)
{
    const rf_family *f = p->family;
    const char *own = rf__family_bare(f, name);
    const rf_weight *t = find_spelled(f, w, name);
    if (!t) t = find_spelled(f, w, own);
    if (!t && f->label_prefix) t = find_under(f, w, f->label_prefix, own);
    return t || !f->older_prefix || own == name ? t : find_under(f, w, f->older_prefix, own);
}

/* A list of problems that fits one error; those that do not fit are counted. */
struct complaints { char text[224]; size_t n, more, all; };

static void complain(struct complaints *c, const rf_param *p, const rf_weight *t)
{
    char one[160];
    const bool transposed = t && p->flags & RF_ROW_TRANSPOSED && !rf__quantized(t);
    if (t)
        snprintf(one, sizeof one, "%s: shape: expected [%lld,%lld] by config.json, got [%lld,%lld]", p->name,
                 (long long)p->dim[transposed], (long long)(p->rank > 1 ? p->dim[!transposed] : 1),
                 (long long)(t->rank ? t->dim[0] : 1), (long long)(t->rank > 1 ? t->dim[1] : 1));
    else
        snprintf(one, sizeof one, "%s: expected a tensor, got none", p->name);
    const size_t m = strlen(one);
    c->all++;
    if (c->n + m + 3 > sizeof c->text) {
        c->more++;
        return;
    }
    c->n += (size_t)snprintf(c->text + c->n, sizeof c->text - c->n, "%s%s", c->n ? "; " : "", one);
}

static bool fits(const rf_param *p, const rf_weight *t)
{
    int64_t stride[2];
    if (p->flags & RF_ROW_TAPS)
        return t->rank == 3 && t->dim[0] == p->dim[0] && t->dim[1] == p->dim[0] && t->dim[2] == p->dim[1] / p->dim[0];
    const rf_weight seen = rf__as_here(p, t, stride);
    bool same = seen.rank == p->rank;
    for (int i = 0; same && i < p->rank; i++) same = seen.dim[i] == p->dim[i];
    return same;
}

/* For weights in int8, everything is checked before the first is read. */
static rf_status check_quantized(const rf_params *params, const rf_weights *w, const rf_weight *const *match,
                                 rf_error *why)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n && !status; i++)
        status = rf__quantized_check(params->ctx, w, match[i], params->config.quantized, why);
    return status;
}

static bool may_lack(const rf_params *params, const rf_param *p, bool headless)
{
    return (p->head && headless) || p->flags & RF_ROW_MAY_LACK || (params->new_pooler && p->flags & RF_ROW_POOLER);
}

/* A config.json without model_type and architectures is a RoFormer's, whose classes have no learned positions: a file
 * with a table of them is another model's. */
static rf_status check_learned(const rf_params *params, const rf_weights *w, const rf_weight *const *match,
                               rf_error *why)
{
    static const char table[] = "embeddings.position_embeddings.weight";
    for (size_t i = 0; i < rf_weights_count(w) && &params->family->config == rf__config_families[0]; i++) {
        const rf_weight *t = rf_weights_at(w, i);
        bool used = strcmp(rf__family_bare(params->family, t->name), table) != 0;
        for (size_t k = 0; k < params->n && !used; k++) used = match[k] == t;
        if (!used)
            return rf_fail(why, RF_EDATA, "%s: %s: expected no learned positions for a RoFormer, got some; name the "
                           "model's model_type in config.json, such as bert", rf__weights_name(w),
                           rf__printable(t->name).text);
    }
    return RF_OK;
}

rf_status rf__params_match(rf_params *params, const rf_weights *w, const rf_weight **match, bool *has_head,
                           rf_error *why)
{
    struct complaints bad = {0};
    size_t heads = 0, found = 0;
    for (size_t i = 0; i < params->n; i++) {
        const bool answer = rf__is_answer_row(params, &params->p[i]);
        match[i] = answer ? rf__answer_matrix(params, w) : rf__params_find(params, w, params->p[i].name);
        heads += params->p[i].head;
        found += params->p[i].head && match[i];
    }
    const bool headless = (heads && !found) || (params->family->wordless && params->head == RF_HEAD_MLM);
    for (size_t i = 0; i < params->n; i++)
        if (match[i] ? !(rf__is_answer_row(params, &params->p[i]) || fits(&params->p[i], match[i]))
                     : !may_lack(params, &params->p[i], headless))
            complain(&bad, &params->p[i], match[i]);
    if (has_head) *has_head = !headless;
    if (!bad.all) {
        rf_status status = headless ? RF_OK : rf__params_tied(params, w, match, why);
        if (!status) status = rf__position_frequencies(params, w, why);
        if (!status) status = check_learned(params, w, match, why);
        return status ? status : check_quantized(params, w, match, why);
    }
    if (bad.more) return rf_fail(why, RF_EDATA, "%s: %s; and %zu more", rf__weights_name(w), bad.text, bad.more);
    return rf_fail(why, RF_EDATA, "%s: %s", rf__weights_name(w), bad.text);
}

bool rf__param_in_int8(const rf_param *p)
{
    return !p->head && p->layer >= 0 && p->rank == 2 && !p->looked_up;
}

/* A position table that differs from the computed one is reported. *memory false: out of memory. */
static bool is_known(const rf_params *p, const rf_weights *w, const rf_weight *t, bool *memory)
{
    bool same = true;
    rf_error own = {0};
    if (!rf__silent_find(p->family, t->name)) return false;
    if (rf__position_table(p, w, t, &same, &own) == RF_ENOMEM) *memory = false;
    return same;
}

bool rf__params_use(const rf_params *params, const rf_weights *w, const rf_weight *const *match, const rf_weight *t,
                    bool *memory)
{
    const rf_weight *owner = rf__quantized_owner(w, t);
    if (owner) t = owner;
    bool used = is_known(params, w, t, memory);
    for (size_t j = 0; !used && j < params->n; j++)             /* or its second name, if the first took precedence */
        used = match[j] && (match[j] == t || !strcmp(params->p[j].name, t->name));
    return used;
}

char *rf__params_ignored(const rf_params *params, const rf_weights *w, const rf_weight *const *match)
{
    size_t size = 1;
    for (size_t i = 0; i < rf_weights_count(w); i++) size += strlen(rf_weights_at(w, i)->name) + 2;
    char *list = rf__alloc(params->ctx, size);
    if (!list) return NULL;
    size_t n = 0;
    bool memory = true;
    list[0] = 0;
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const char *name = rf_weights_at(w, i)->name;
        if (!rf__params_use(params, w, match, rf_weights_at(w, i), &memory))
            n += (size_t)snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
    }
    if (memory) return list;
    rf__free(params->ctx, list);
    return NULL;
}

rf_status rf__params_load(rf_params *params, const rf_weights *w, float *slab, bool *has_head, char **ignored,
                          rf_error *why)
{
    const rf_weight **match = rf__calloc(params->ctx, params->n, sizeof *match);
    if (!match) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu parameters", params->n);
    rf_status status = rf__params_match(params, w, match, has_head, why);
    if (!status) status = rf__position_tables(params, w, why);
    for (size_t i = 0; i < params->n && !status; i++) {
        const rf_param *p = &params->p[i];
        if (match[i]) status = rf__param_read(params, p, w, match[i], slab + p->offset, why);
        else if (p->flags & RF_ROW_MAY_LACK) memset(slab + p->offset, 0, p->count * sizeof *slab);
    }
    if (!status && ignored && !(*ignored = rf__params_ignored(params, w, match)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: names of unused tensors");
    rf__free(params->ctx, match);
    return status;
}

rf_status rf__params_load_encoder(rf_params *params, const rf_weights *w, float *slab, rf_error *why)
{
    struct complaints bad = {0};
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        const rf_weight *t = p->head ? NULL : rf__params_find(params, w, p->name);
        if (!p->head && (t ? !fits(p, t) : !(p->flags & RF_ROW_MAY_LACK))) complain(&bad, p, t);
    }
    if (bad.all)
        return rf_fail(why, RF_EDATA, "%s: %s%s", rf__weights_name(w), bad.text, bad.more ? "; and more" : "");
    status = rf__position_frequencies(params, w, why);
    if (!status) status = rf__position_tables(params, w, why);
    for (size_t i = 0; i < params->n && !status; i++)
        status = rf__quantized_check(params->ctx, w, rf__params_find(params, w, params->p[i].name),
                                     params->config.quantized, why);
    for (size_t i = 0; i < params->n && !status; i++) {
        const rf_param *p = &params->p[i];
        const rf_weight *t = !p->head || p->flags & RF_ROW_PRETRAINED ? rf__params_find(params, w, p->name) : NULL;
        if (t && fits(p, t)) status = rf__param_read(params, p, w, t, slab + p->offset, why);
    }
    return status;
}

/* For tools: roformer/inspect/folder.h. */
rf_status rf_weights_fit(const rf_ctx *ctx, const rf_weights *w, const rf_config *c, rf_fit *out, rf_error *why)
{
    rf_params params;
    bool head = false;
    if (!(ctx && w && c && out)) return rf__missing("rf_weights_fit", "ctx, weights, config, out", why);
    rf_status status = rf__params_new_head(ctx, c, rf_config_head(c), &params, why);
    if (status) return status;
    const rf_weight **match = rf__calloc(ctx, params.n, sizeof *match);
    if (!match) status = rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu parameters", params.n);
    if (!status) status = rf__params_match(&params, w, match, &head, why);
    char *ignored = status ? NULL : rf__params_ignored(&params, w, match);
    if (!status && !ignored) status = rf_fail(why, RF_ENOMEM, "out of memory: names of unused tensors");
    const rf_head what = rf_config_head(c);
    if (!status) *out = (rf_fit){ctx, head && (what == RF_HEAD_MLM || what == RF_HEAD_SEQ2SEQ), ignored};
    rf__free(ctx, match);
    rf__params_free(&params);
    return status;
}

void rf_fit_free(rf_fit *f)
{
    if (!f || !f->ctx) return;
    rf__free(f->ctx, f->ignored);
    *f = (rf_fit){0};
}
