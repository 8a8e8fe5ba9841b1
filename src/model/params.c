/* params.c — the parameters of a RoFormer and its head: one table, everything else follows from it.
 *
 * Names and shapes are those of transformers' RoFormerFor... classes.  In the slab, query, key and value of a layer lie
 * side by side (`joined`), so that one product [N,C] x [C,3C] makes all three.                                       */
#include <stdio.h>

#include "model/position.h"
#include "store/store.h"

enum { PLAIN = 0, JOINED = RF_ROW_JOINED, HEAD = RF_ROW_HEAD, PROJECTED = RF_ROW_PROJECTED, UNTIED = RF_ROW_UNTIED };

static const rf_param_row embeddings[] = {
    {"roformer.embeddings.word_embeddings.weight",       "VE", RF_INIT_NORMAL, true,  PLAIN},
    {"roformer.embeddings.token_type_embeddings.weight", "TE", RF_INIT_NORMAL, true,  PLAIN},
    {"roformer.embeddings.LayerNorm.weight",             "E",  RF_INIT_ONES,   false, PLAIN},
    {"roformer.embeddings.LayerNorm.bias",               "E",  RF_INIT_ZEROS,  false, PLAIN},
    {"roformer.embeddings_project.weight",               "CE", RF_INIT_NORMAL, true,  PROJECTED},
    {"roformer.embeddings_project.bias",                 "C",  RF_INIT_ZEROS,  false, PROJECTED},
};

static const rf_param_row layer[] = {
    {"attention.self.query.weight",       "CC", RF_INIT_NORMAL, true,  PLAIN},
    {"attention.self.key.weight",         "CC", RF_INIT_NORMAL, true,  JOINED},
    {"attention.self.value.weight",       "CC", RF_INIT_NORMAL, true,  JOINED},
    {"attention.self.query.bias",         "C",  RF_INIT_ZEROS,  false, PLAIN},
    {"attention.self.key.bias",           "C",  RF_INIT_ZEROS,  false, JOINED},
    {"attention.self.value.bias",         "C",  RF_INIT_ZEROS,  false, JOINED},
    {"attention.output.dense.weight",     "CC", RF_INIT_NORMAL, true,  PLAIN},
    {"attention.output.dense.bias",       "C",  RF_INIT_ZEROS,  false, PLAIN},
    {"attention.output.LayerNorm.weight", "C",  RF_INIT_ONES,   false, PLAIN},
    {"attention.output.LayerNorm.bias",   "C",  RF_INIT_ZEROS,  false, PLAIN},
    {"intermediate.dense.weight",         "FC", RF_INIT_NORMAL, true,  PLAIN},
    {"intermediate.dense.bias",           "F",  RF_INIT_ZEROS,  false, PLAIN},
    {"output.dense.weight",               "CF", RF_INIT_NORMAL, true,  PLAIN},
    {"output.dense.bias",                 "C",  RF_INIT_ZEROS,  false, PLAIN},
    {"output.LayerNorm.weight",           "C",  RF_INIT_ONES,   false, PLAIN},
    {"output.LayerNorm.bias",             "C",  RF_INIT_ZEROS,  false, PLAIN},
};

static const rf_param_row mlm_head[] = {
    {"cls.predictions.transform.dense.weight",     "EC", RF_INIT_NORMAL, true,  HEAD},
    {"cls.predictions.transform.dense.bias",       "E",  RF_INIT_ZEROS,  false, HEAD},
    {"cls.predictions.transform.LayerNorm.weight", "E",  RF_INIT_ONES,   false, HEAD},
    {"cls.predictions.transform.LayerNorm.bias",   "E",  RF_INIT_ZEROS,  false, HEAD},
    {"cls.predictions.decoder.weight",             "VE", RF_INIT_NORMAL, true,  HEAD | UNTIED},
    {"cls.predictions.bias",                       "V",  RF_INIT_ZEROS,  false, HEAD},
};

static const rf_param_row sequence_head[] = {
    {"classifier.dense.weight",    "CC", RF_INIT_NORMAL, true,  HEAD},
    {"classifier.dense.bias",      "C",  RF_INIT_ZEROS,  false, HEAD},
    {"classifier.out_proj.weight", "KC", RF_INIT_NORMAL, true,  HEAD},
    {"classifier.out_proj.bias",   "K",  RF_INIT_ZEROS,  false, HEAD},
};

static const rf_param_row pooled_head[] = {
    {"roformer.pooler.dense.weight", "CC", RF_INIT_NORMAL, true,  HEAD},
    {"roformer.pooler.dense.bias",   "C",  RF_INIT_ZEROS,  false, HEAD},
    {"classifier.weight",            "KC", RF_INIT_NORMAL, true,  HEAD},
    {"classifier.bias",              "K",  RF_INIT_ZEROS,  false, HEAD},
};

static const rf_param_row token_head[] = {
    {"classifier.weight", "KC", RF_INIT_NORMAL, true,  HEAD},
    {"classifier.bias",   "K",  RF_INIT_ZEROS,  false, HEAD},
};

static const rf_param_row span_head[] = {
    {"qa_outputs.weight", "KC", RF_INIT_NORMAL, true,  HEAD},
    {"qa_outputs.bias",   "K",  RF_INIT_ZEROS,  false, HEAD},
};

static const rf_param_row choice_head[] = {
    {"classifier.weight", "1C", RF_INIT_NORMAL, true,  HEAD},
    {"classifier.bias",   "1",  RF_INIT_ZEROS,  false, HEAD},
};

static const struct { const rf_param_row *row; size_t n;
} head_rows[] = {
    [RF_HEAD_MLM] = {mlm_head, RF_COUNT(mlm_head)},
    [RF_HEAD_SEQUENCE] = {sequence_head, RF_COUNT(sequence_head)},
    [RF_HEAD_POOLED] = {pooled_head, RF_COUNT(pooled_head)},
    [RF_HEAD_TOKEN] = {token_head, RF_COUNT(token_head)},
    [RF_HEAD_SPAN] = {span_head, RF_COUNT(span_head)},
    [RF_HEAD_CHOICE] = {choice_head, RF_COUNT(choice_head)},
};

/* Other spellings of a name: a suffix and what published files write instead.  `first`: theirs counts where both are
 * there (transformers' decoder.bias: tied to cls.predictions.bias, or, untied, the only one that is used). */
static const struct { const char *ours, *theirs; bool first; } spelling[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {"cls.predictions.bias", "cls.predictions.decoder.bias", true},
};

/* Tensors that need no mention when they are left unused: tables that are computed, copies of tied tensors. */
static const char *const silent[] = {
    "roformer.encoder.embed_positions.weight", "encoder.embed_positions.weight", "cls.predictions.decoder.weight",
    "cls.predictions.decoder.bias", "roformer.embeddings.position_ids",
};

static const char prefix[] = "roformer.";

/* ---- making the list ---- */

static int64_t extent(const rf_config *c, const rf_position *p, char letter)
{
    switch (letter) {
    case 'V': return c->vocab_size;
    case 'T': return c->type_vocab_size;
    case 'E': return c->embedding_size;
    case 'C': return c->hidden_size;
    case 'F': return c->intermediate_size;
    case 'P': return c->max_position_embeddings;
    case 'H': return c->num_attention_heads;
    case 'D': return c->hidden_size / c->num_attention_heads;
    case 'K': return c->num_labels;
    case '1': return 1;
    default:  return p->extent(c, letter);
    }
}

static bool required(const rf_param_row *r, const rf_config *c)
{
    if ((r->flags & PROJECTED) && c->embedding_size == c->hidden_size) return false;
    if ((r->flags & RF_ROW_UNSHARED) && c->share_att_key) return false;
    return !((r->flags & UNTIED) && c->tie_word_embeddings);
}

static bool append(rf_params *out, const rf_param_row *r, int index, const char *format_prefix)
{
    if (!required(r, &out->config)) return true;
    rf_param *p = &out->p[out->n++];
    *p = (rf_param){.init = r->init, .decay = r->decay, .head = (r->flags & HEAD) != 0, .layer = index};
    p->joined = (r->flags & JOINED) != 0;
    snprintf(p->name, sizeof p->name, "%s%s", format_prefix, r->name);
    p->count = 1;
    for (const char *s = r->shape; *s; s++) {
        p->dim[p->rank] = extent(&out->config, out->position, *s);
        if (!rf__checked_mul(p->count, (size_t)p->dim[p->rank++], &p->count)) return false;
    }
    size_t at = out->total;
    if (!p->joined) at = (at + 15) & ~(size_t)15;                   /* 64-byte aligned */
    p->offset = at;
    return rf__checked_add(at, p->count, &out->total);
}

static bool append_position(rf_params *out, const rf_param_row *r, int index, const char *format_prefix)
{
    bool fits = true;
    for (; r && r->name; r++) {
        const size_t before = out->n;
        fits &= append(out, r, index, format_prefix);
        if (out->n > before) out->p[before].looked_up = true;
    }
    return fits;
}

static size_t length(const rf_param_row *r)
{
    size_t n = 0;
    while (r && r[n].name) n++;
    return n;
}

rf_status rf__params_new(const rf_ctx *ctx, const rf_config *config, rf_params *out, rf_error *why)
{
    return rf__params_new_head(ctx, config, RF_HEAD_MLM, out, why);
}

rf_status rf__params_new_head(const rf_ctx *ctx, const rf_config *config, rf_head head, rf_params *out, rf_error *why)
{
    const int64_t L = config->num_hidden_layers;
    *out = (rf_params){.ctx = ctx, .config = *config, .head = head};
    if (head == RF_HEAD_SPAN && config->num_labels != 2)
        return rf_fail(why, RF_EDATA, "config: num_labels is %lld, an answer has 2 ends",
                       (long long)config->num_labels);
    const rf_status status = rf__position_find(config, &out->position, why);
    if (status) return status;
    const rf_position *position = out->position;
    const size_t most = RF_COUNT(embeddings) + length(position->embedding) + head_rows[head].n +
                        (size_t)L * (RF_COUNT(layer) + length(position->layer));
    out->p = rf__calloc(ctx, most, sizeof *out->p);
    if (!out->p) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu parameters", most);

    bool fits = true;
    for (size_t i = 0; i < RF_COUNT(embeddings); i++) fits &= append(out, &embeddings[i], -1, "");
    fits &= append_position(out, position->embedding, -1, "");
    for (int l = 0; l < (int)L; l++) {
        char name[64];
        snprintf(name, sizeof name, "roformer.encoder.layer.%d.", l);
        for (size_t i = 0; i < RF_COUNT(layer); i++) fits &= append(out, &layer[i], l, name);
        fits &= append_position(out, position->layer, l, name);
    }
    for (size_t i = 0; i < head_rows[head].n; i++) fits &= append(out, &head_rows[head].row[i], (int)L, "");
    out->total = (out->total + 15) & ~(size_t)15;
    if (fits && out->total <= SIZE_MAX / sizeof(float)) return RF_OK;
    rf__params_free(out);
    return rf_fail(why, RF_ERANGE, "config: more parameters than this machine can count");
}

/* ---- counting ---- */

static int64_t count(const rf_config *c, const rf_position *p, const rf_param_row *r, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t one = required(&r[i], c);
        for (const char *s = r[i].shape; *s; s++) one *= extent(c, p, *s);
        sum += one;
    }
    return sum;
}

int64_t rf__position_parameters(const rf_position *p, const rf_config *c)
{
    return count(c, p, p->embedding, length(p->embedding)) +
           c->num_hidden_layers * count(c, p, p->layer, length(p->layer));
}

int64_t rf_config_parameters(const rf_config *c)
{
    const rf_position *p = NULL;
    const rf_head head = rf_config_head(c);
    const bool second_bias = head == RF_HEAD_MLM && !c->tie_word_embeddings;             /* decoder.bias */
    const int64_t rest = count(c, p, embeddings, RF_COUNT(embeddings)) +
                         c->num_hidden_layers * count(c, p, layer, RF_COUNT(layer)) +
                         count(c, p, head_rows[head].row, head_rows[head].n) + (second_bias ? c->vocab_size : 0);
    return rf__position_find(c, &p, NULL) ? rest : rest + rf__position_parameters(p, c);
}

void rf__params_free(rf_params *p)
{
    rf__free(p->ctx, p->p);
    p->p = NULL;
    p->n = 0;
}

/* ---- initial values ---- */

enum { BLOCK = 4096 };

struct filling { const rf_params *params; const rf_param *p; float *to; uint64_t seed; size_t index; };

static void fill_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct filling *f = arg;
    const size_t from = (size_t)block * BLOCK, to = from + BLOCK < f->p->count ? from + BLOCK : f->p->count;
    const float deviation = (float)f->params->config.initializer_range;
    rf_rng r;
    rf__rng_init(&r, f->seed, (uint64_t)f->index << 32 | (uint64_t)block);
    for (size_t i = from; i < to; i++) f->to[i] = deviation * rf__rng_normal(&r);
}

void rf__param_init(const rf_params *params, size_t index, float *to, uint64_t seed)
{
    const rf_param *p = &params->p[index];
    const int64_t pad = params->config.pad_token_id, E = params->config.embedding_size;
    if (p->init == RF_INIT_NORMAL) {
        struct filling f = {params, p, to, seed, index};
        rf__parallel(params->ctx, (int64_t)((p->count + BLOCK - 1) / BLOCK), fill_block, &f);
    } else if (p->init == RF_INIT_MADE) {
        params->position->fill(&params->config, p, to);
    } else {
        for (size_t j = 0; j < p->count; j++) to[j] = p->init == RF_INIT_ONES;
    }
    if (index == 0 && pad >= 0 && pad < params->config.vocab_size) memset(to + pad * E, 0, (size_t)E * sizeof *to);
}

void rf__params_init(const rf_params *params, float *slab, uint64_t seed)
{
    memset(slab, 0, params->total * sizeof *slab);
    for (size_t i = 0; i < params->n; i++) rf__param_init(params, i, slab + params->p[i].offset, seed);
}

void rf__params_init_head(const rf_params *params, float *slab, uint64_t seed)
{
    for (size_t i = 0; i < params->n; i++)
        if (params->p[i].head) rf__param_init(params, i, slab + params->p[i].offset, seed);
}

/* ---- reading ---- */

static const rf_weight *find_spelled(const rf_weights *w, const char *name)
{
    const rf_weight *t = rf_weights_find(w, name);
    const size_t n = strlen(name);
    for (size_t i = 0; i < RF_COUNT(spelling); i++) {
        const size_t m = strlen(spelling[i].ours);
        char other[160];
        if ((t && !spelling[i].first) || n < m || strcmp(name + n - m, spelling[i].ours)) continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(n - m), name, spelling[i].theirs);
        const rf_weight *u = rf_weights_find(w, other);
        if (u) return u;
    }
    return t;
}

const rf_weight *rf__params_find(const rf_weights *w, const char *name)
{
    const rf_weight *t = find_spelled(w, name);
    if (!t && !strncmp(name, prefix, sizeof prefix - 1)) t = find_spelled(w, name + sizeof prefix - 1);
    return t;
}

/* A list of complaints that fits one error; what does not fit is counted. */
struct complaints { char text[224]; size_t n, more, all; };

static void complain(struct complaints *c, const rf_param *p, const rf_weight *t)
{
    char one[160];
    if (t)
        snprintf(one, sizeof one, "%s: shape [%lld,%lld] but config.json implies [%lld,%lld]", p->name,
                 (long long)(t->rank ? t->dim[0] : 1), (long long)(t->rank > 1 ? t->dim[1] : 1), (long long)p->dim[0],
                 (long long)(p->rank > 1 ? p->dim[1] : 1));
    else
        snprintf(one, sizeof one, "%s is missing", p->name);
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
    bool same = t->rank == p->rank;
    for (int i = 0; same && i < p->rank; i++) same = t->dim[i] == p->dim[i];
    return same;
}

rf_status rf__params_match(const rf_params *params, const rf_weights *w, const rf_weight **match, bool *has_head,
                           rf_error *why)
{
    struct complaints bad = {0};
    size_t heads = 0, found = 0;
    for (size_t i = 0; i < params->n; i++) {
        match[i] = rf__params_find(w, params->p[i].name);
        heads += params->p[i].head;
        found += params->p[i].head && match[i];
    }
    const bool headless = heads && !found;
    for (size_t i = 0; i < params->n; i++)
        if (match[i] ? !fits(&params->p[i], match[i]) : !(params->p[i].head && headless))
            complain(&bad, &params->p[i], match[i]);
    if (has_head) *has_head = !headless;
    if (!bad.all) return RF_OK;
    if (bad.more) return rf_fail(why, RF_EDATA, "model.safetensors: %s; and %zu more", bad.text, bad.more);
    return rf_fail(why, RF_EDATA, "model.safetensors: %s", bad.text);
}

static bool is_silent(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(silent); i++)
        if (!strcmp(name, silent[i])) return true;
    return false;
}

char *rf__params_ignored(const rf_params *params, const rf_weights *w, const rf_weight *const *match)
{
    size_t size = 1;
    for (size_t i = 0; i < rf_weights_count(w); i++) size += strlen(rf_weights_at(w, i)->name) + 2;
    char *list = rf__alloc(params->ctx, size);
    if (!list) return NULL;
    size_t n = 0;
    list[0] = 0;
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        bool used = is_silent(t->name);
        for (size_t j = 0; !used && j < params->n; j++) used = match[j] == t;
        if (!used) n += (size_t)snprintf(list + n, size - n, "%s%s", n ? ", " : "", t->name);
    }
    return list;
}

rf_status rf__params_load(const rf_params *params, const rf_weights *w, float *slab, bool *has_head, char **ignored,
                          rf_error *why)
{
    const rf_weight **match = rf__calloc(params->ctx, params->n, sizeof *match);
    if (!match) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu parameters", params->n);
    rf_status status = rf__params_match(params, w, match, has_head, why);
    for (size_t i = 0; i < params->n && !status; i++)
        if (match[i]) status = rf_weights_read(w, match[i], slab + params->p[i].offset, 1, why);
    if (!status && ignored && !(*ignored = rf__params_ignored(params, w, match)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: names of unused tensors");
    rf__free(params->ctx, match);
    return status;
}

rf_status rf__params_load_encoder(const rf_params *params, const rf_weights *w, float *slab, rf_error *why)
{
    struct complaints bad = {0};
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        const rf_weight *t = p->head ? NULL : rf__params_find(w, p->name);
        if (!p->head && (!t || !fits(p, t))) complain(&bad, p, t);
    }
    if (bad.all) return rf_fail(why, RF_EDATA, "model.safetensors: %s%s", bad.text, bad.more ? "; and more" : "");
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n && !status; i++) {
        const rf_param *p = &params->p[i];
        if (!p->head) status = rf_weights_read(w, rf__params_find(w, p->name), slab + p->offset, 1, why);
    }
    return status;
}

/* ---- writing ---- */

/* The output bias has two names in transformers.  Tied, the second follows from the first; untied, it is the one
 * used. */
static const char second_bias[] = "cls.predictions.decoder.bias";

static rf_weight_out as_output(const rf_param *p, const float *slab, rf_type type)
{
    rf_weight_out out = {.name = p->name, .type = type, .rank = p->rank, .data = slab + p->offset};
    for (int i = 0; i < p->rank; i++) out.dim[i] = p->dim[i];
    return out;
}

rf_status rf__params_save(const rf_params *params, const float *slab, rf_type type, const char *path, rf_error *why)
{
    return rf__params_write(params, slab, type, path, NULL, why);
}

rf_status rf__params_write(const rf_params *params, const float *slab, rf_type type, const char *path, int *fd,
                           rf_error *why)
{
    rf_weight_out *out = rf__calloc(params->ctx, params->n + 1, sizeof *out);
    if (!out) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", params->n);
    size_t n = params->n;
    for (size_t i = 0; i < params->n; i++) out[i] = as_output(&params->p[i], slab, type);
    if (params->head == RF_HEAD_MLM && !params->config.tie_word_embeddings) {
        out[n] = out[n - 1];                                             /* the bias is the table's last row */
        out[n++].name = second_bias;
    }
    const rf_status status = rf__weights_stream(params->ctx, path, out, n, NULL, NULL, NULL, fd, why);
    rf__free(params->ctx, out);
    return status;
}
