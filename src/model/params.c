/* params.c — the parameters of a model: the rows of its family and of its position encoding, from which everything else
 * follows.
 *
 * Names and shapes are those of transformers' classes.  In the slab, query, key and value of a layer lie side by
 * side (`joined`), so that one product [N,C] x [C,3C] makes all three. */
#include <math.h>
#include <stdio.h>

#include "model/family.h"
#include "model/linear.h"
#include "roformer/folder.h"
#include "store/store.h"

enum { JOINED = RF_ROW_JOINED, PROJECTED = RF_ROW_PROJECTED, UNTIED = RF_ROW_UNTIED };

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
    if ((r->flags & RF_ROW_BOTH_SIDES) && !c->share_encoder_decoder_embeddings) return false;
    if ((r->flags & RF_ROW_ONE_SIDE) && c->share_encoder_decoder_embeddings) return false;
    if ((r->flags & RF_ROW_BEFORE) && !c->normalize_before) return false;
    if ((r->flags & RF_ROW_POOLER) && !c->linear_pooler) return false;
    return !((r->flags & UNTIED) && c->tie_word_embeddings);
}

int rf__config_stacks(const rf_config *c) { return c->is_encoder_decoder ? RF_STACKS : 1; }

void rf__config_stack(const rf_config *c, int stack, rf_config *out)
{
    *out = *c;
    if (!stack) return;
    out->is_decoder = 1;
    out->num_hidden_layers = c->decoder_layers;
    out->num_attention_heads = c->decoder_attention_heads;
    out->intermediate_size = c->decoder_ffn_dim;
    if (*c->decoder_position_embedding_type)
        memcpy(out->position_embedding_type, c->decoder_position_embedding_type, sizeof out->position_embedding_type);
}

typedef struct section { int stack, layer; const char *prefix; bool head, position; } section;

static bool append(rf_params *out, const rf_param_row *r, size_t member, const section *in)
{
    const rf_stack *stack = &out->stack[in->stack];
    if (!required(r, &stack->config)) return true;
    rf_param *p = &out->p[out->n];
    const bool base = !in->head || r->flags & RF_ROW_BASE;
    *p = (rf_param){.init = r->init,
                    .decay = r->decay,
                    .flags = r->flags,
                    .head = in->head,
                    .position = in->position,
                    .layer = in->layer,
                    .stack = in->stack,
                    .member = member};
    p->joined = (r->flags & JOINED) != 0;
    p->looked_up = r->flags & (RF_ROW_TABLE | RF_ROW_WORDS | RF_ROW_FLAT) || in->position;
    if (r->flags & RF_ROW_WORDS) out->word = out->n;
    out->n++;
    snprintf(p->name, sizeof p->name, "%s%s%s", base ? out->family->prefix : "", in->prefix, r->name);
    p->count = 1;
    for (const char *s = r->shape; *s; s++) {
        p->dim[p->rank] = extent(&stack->config, stack->position, *s);
        if (!rf__checked_mul(p->count, (size_t)p->dim[p->rank++], &p->count)) return false;
    }
    size_t at = out->total;
    if (!p->joined) at = (at + 15) & ~(size_t)15;                   /* 64-byte aligned */
    p->offset = at;
    return rf__checked_add(at, p->count, &out->total);
}

static bool append_family(rf_params *out, const rf_family_row *r, const section *in)
{
    bool fits = true;
    for (; r && r->row.name; r++) fits &= append(out, &r->row, r->at, in);
    return fits;
}

static bool append_position(rf_params *out, const rf_param_row *r, const section *in)
{
    bool fits = true;
    for (; r && r->name; r++) fits &= append(out, r, 0, &(section){in->stack, in->layer, in->prefix, false, true});
    return fits;
}

static size_t length(const rf_param_row *r)
{
    size_t n = 0;
    while (r && r[n].name) n++;
    return n;
}

static size_t family_length(const rf_family_row *r)
{
    size_t n = 0;
    while (r && r[n].row.name) n++;
    return n;
}

rf_status rf__params_new(const rf_ctx *ctx, const rf_config *config, rf_params *out, rf_error *why)
{
    const rf_family *family;
    const rf_status status = rf__family_find(config, &family, why);
    return status ? status : rf__params_new_head(ctx, config, family->head->head, out, why);
}

/* Rows of the embeddings of a side, and of one of its layers. */
static const rf_family_row *embedding_of(const rf_family *f, int stack)
{
    return stack ? f->decoder->embedding : f->embedding;
}

static const rf_family_row *layer_of(const rf_family *f, int stack) { return stack ? f->decoder->layer : f->layer; }

/* Family, head and encodings; what they cannot be together. */
static rf_status choose(const rf_config *config, rf_head head, rf_params *out, const rf_head_row **is, rf_error *why)
{
    if (head == RF_HEAD_SPAN && config->num_labels != 2)
        return rf_fail(why, RF_EDATA, "config: num_labels is %lld, an answer has 2 ends",
                       (long long)config->num_labels);
    rf_status status = rf__family_find(config, &out->family, why);
    out->stacks = rf__config_stacks(config);
    for (int s = 0, first = 0; s < out->stacks && !status; first += (int)out->stack[s++].config.num_hidden_layers) {
        rf__config_stack(config, s, &out->stack[s].config);
        out->stack[s].first = first;
        status = rf__position_find(&out->stack[s].config, &out->stack[s].position, why);
    }
    if (status) return status;
    out->position = out->stack[0].position;
    *is = rf__family_head(out->family, head);
    return *is ? RF_OK
               : rf_fail(why, RF_EUNSUPPORTED, "config: a %s has no head of this kind", out->family->config.title);
}

static size_t most_rows(const rf_params *p, const rf_head_row *top)
{
    size_t most = family_length(top->row);
    for (int s = 0; s < p->stacks; s++)
        most += family_length(embedding_of(p->family, s)) + length(p->stack[s].position->embedding) +
                (size_t)p->stack[s].config.num_hidden_layers *
                    (family_length(layer_of(p->family, s)) + length(p->stack[s].position->layer));
    return most;
}

/* Embeddings first, then layers: the backward comes by in the opposite order. */
static bool append_embeddings(rf_params *out, int s)
{
    const section in = {s, -1, "", false, false}, named = {s, -1, s ? "decoder." : "encoder.", false, false};
    const bool fits = append_family(out, embedding_of(out->family, s), &in);
    return append_position(out, out->stack[s].position->embedding, out->stacks > 1 ? &named : &in) && fits;
}

static bool append_layers(rf_params *out, int s)
{
    const rf_stack *is = &out->stack[s];
    bool fits = true;
    for (int l = 0; l < (int)is->config.num_hidden_layers; l++) {
        char name[64];
        if (out->stacks > 1) snprintf(name, sizeof name, "%scoder.layers.%d.", s ? "de" : "en", l);
        else snprintf(name, sizeof name, "encoder.layer.%d.", l);
        const section in = {s, is->first + l, name, false, false};
        fits &= append_family(out, layer_of(out->family, s), &in);
        fits &= append_position(out, is->position->layer, &in);
    }
    return fits;
}

rf_status rf__params_new_head(const rf_ctx *ctx, const rf_config *config, rf_head head, rf_params *out, rf_error *why)
{
    const rf_head_row *top = NULL;
    *out = (rf_params){.ctx = ctx, .config = *config, .head = head};
    const rf_status status = choose(config, head, out, &top, why);
    if (status) return status;
    const size_t most = most_rows(out, top);
    out->p = rf__calloc(ctx, most, sizeof *out->p);
    if (!out->p) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu parameters", most);

    const rf_stack *last = &out->stack[out->stacks - 1];
    bool fits = true;
    for (int s = 0; s < out->stacks; s++) fits &= append_embeddings(out, s);
    for (int s = 0; s < out->stacks; s++) fits &= append_layers(out, s);
    fits &= append_family(
        out, top->row,
        &(section){out->stacks - 1, last->first + (int)last->config.num_hidden_layers, "", true, false});
    out->total = (out->total + 15) & ~(size_t)15;
    if (fits && out->total <= SIZE_MAX / sizeof(float)) return RF_OK;
    rf__params_free(out);
    return rf_fail(why, RF_ERANGE, "config: more parameters than this machine can count");
}

size_t rf__params_span(const rf_params *p, size_t i)
{
    size_t n = !p->p[i].joined;
    while (n && i + n < p->n && p->p[i + n].joined) n++;
    return n;
}

/* ---- counting ---- */

static int64_t count_row(const rf_config *c, const rf_position *p, const rf_param_row *r)
{
    int64_t n = required(r, c);
    for (const char *s = r->shape; *s; s++) n *= extent(c, p, *s);
    return r->flags & RF_ROW_TWICE && !c->tie_word_embeddings ? 2 * n : n;
}

static int64_t count(const rf_config *c, const rf_position *p, const rf_param_row *r)
{
    int64_t sum = 0;
    for (; r && r->name; r++) sum += count_row(c, p, r);
    return sum;
}

static int64_t count_family(const rf_config *c, const rf_family_row *r)
{
    int64_t sum = 0;
    for (; r && r->row.name; r++) sum += count_row(c, NULL, &r->row);
    return sum;
}

int64_t rf_position_parameters(const rf_position *p, const rf_config *c)
{
    if (!p || !c || c->num_attention_heads < 1) return 0;
    return count(c, p, p->embedding) + c->num_hidden_layers * count(c, p, p->layer);
}

int64_t rf_config_parameters(const rf_config *given)
{
    const rf_position *p = NULL;
    const rf_family *f;
    rf_config own, *c = &own;
    if (!given || rf__config_given(c, given, NULL) || rf__config_check_all(c, "config", NULL)) return 0;
    if (rf__family_find(c, &f, NULL)) return 0;
    const rf_head_row *head = rf__family_head(f, rf_config_head(c));
    int64_t sum = head ? count_family(c, head->row) : 0;
    for (int s = 0; s < rf__config_stacks(c); s++) {
        rf_config side;
        rf__config_stack(c, s, &side);
        sum += count_family(&side, embedding_of(f, s)) + side.num_hidden_layers * count_family(&side, layer_of(f, s));
        if (!rf__position_find(&side, &p, NULL)) sum += rf_position_parameters(p, &side);
    }
    return sum;
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
    const rf_param *p = f->p;
    const double columns = (double)p->dim[p->rank - 1], both = (double)p->dim[0] + columns;
    const float deviation = (float)(p->init == RF_INIT_GLOROT  ? sqrt(2 / both)
                                    : p->init == RF_INIT_WIDTH ? sqrt(1 / columns)
                                                               : f->params->config.initializer_range);
    rf_rng r;
    rf_rng_init(&r, f->seed, (uint64_t)f->index << 32 | (uint64_t)block);
    for (size_t i = from; i < to; i++) f->to[i] = deviation * rf_rng_normal(&r);
}

void rf__param_init(const rf_params *params, size_t index, float *to, uint64_t seed)
{
    const rf_param *p = &params->p[index];
    const int64_t pad = params->config.pad_token_id, E = params->config.embedding_size;
    if (p->init == RF_INIT_NORMAL || p->init == RF_INIT_GLOROT || p->init == RF_INIT_WIDTH) {
        struct filling f = {params, p, to, seed, index};
        rf__parallel(params->ctx, (int64_t)((p->count + BLOCK - 1) / BLOCK), fill_block, &f);
    } else if (p->init == RF_INIT_MADE) {
        params->stack[p->stack].position->fill(&params->stack[p->stack].config, p, to);
    } else {
        for (size_t j = 0; j < p->count; j++) to[j] = p->init == RF_INIT_ONES;
    }
    if (p->flags & RF_ROW_WORDS && pad >= 0 && pad < params->config.vocab_size)
        memset(to + pad * E, 0, (size_t)E * sizeof *to);
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

static const rf_weight *find_spelled(const rf_family *f, const rf_weights *w, const char *name)
{
    const rf_weight *t = rf_weights_find(w, name);
    const size_t n = strlen(name);
    for (const rf_spelling *s = f->spelling; s && s->ours; s++) {
        const size_t m = strlen(s->ours);
        char other[160];
        if ((t && !s->first) || n < m || strcmp(name + n - m, s->ours)) continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(n - m), name, s->theirs);
        const rf_weight *u = rf_weights_find(w, other);
        if (u) return u;
    }
    return t;
}

/* The name without the family's prefix. */
static const char *bare(const rf_family *f, const char *name)
{
    const size_t n = strlen(f->prefix);
    return strncmp(name, f->prefix, n) ? name : name + n;
}

const rf_weight *rf__params_find(const rf_params *p, const rf_weights *w, const char *name)
{
    const rf_weight *t = find_spelled(p->family, w, name);
    return t ? t : find_spelled(p->family, w, bare(p->family, name));
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

/* Of weights in int8 everything is known before one is read. */
static rf_status check_quantised(const rf_params *params, const rf_weights *w, const rf_weight *const *match,
                                 rf_error *why)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n && !status; i++)
        status = rf__quantised_check(params->ctx, w, match[i], params->config.quantised, why);
    return status;
}

static bool may_lack(const rf_params *params, const rf_param *p, bool headless)
{
    return (p->head && headless) || (params->new_pooler && p->flags & RF_ROW_POOLER);
}

rf_status rf__params_match(const rf_params *params, const rf_weights *w, const rf_weight **match, bool *has_head,
                           rf_error *why)
{
    struct complaints bad = {0};
    size_t heads = 0, found = 0;
    for (size_t i = 0; i < params->n; i++) {
        match[i] = rf__params_find(params, w, params->p[i].name);
        heads += params->p[i].head;
        found += params->p[i].head && match[i];
    }
    const bool headless = heads && !found;
    for (size_t i = 0; i < params->n; i++)
        if (match[i] ? !fits(&params->p[i], match[i]) : !may_lack(params, &params->p[i], headless))
            complain(&bad, &params->p[i], match[i]);
    if (has_head) *has_head = !headless;
    if (!bad.all) {
        const rf_status status = headless ? RF_OK : rf__params_tied(params, w, match, why);
        return status ? status : check_quantised(params, w, match, why);
    }
    if (bad.more) return rf_fail(why, RF_EDATA, "%s: %s; and %zu more", rf__weights_name(w), bad.text, bad.more);
    return rf_fail(why, RF_EDATA, "%s: %s", rf__weights_name(w), bad.text);
}

bool rf__param_in_int8(const rf_params *params, const rf_param *p)
{
    const bool in_layer = !p->head && p->layer >= 0 && p->layer < params->config.num_hidden_layers;
    return in_layer && p->rank == 2 && !p->looked_up;
}

/* A table of positions that is not the one computed is no silent one.  *memory false: it has ended. */
static bool is_known(const rf_params *p, const rf_weights *w, const rf_weight *t, bool *memory)
{
    bool same = true;
    rf_error own = {0};
    if (!rf__silent_find(p->family, t->name)) return false;
    if (rf__position_table(p, w, t, &same, &own) == RF_ENOMEM) *memory = false;
    return same;
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
        const rf_weight *named = rf_weights_at(w, i), *owner = rf__quantised_owner(w, named);
        const rf_weight *t = owner ? owner : named;
        bool used = is_known(params, w, t, &memory);
        for (size_t j = 0; !used && j < params->n; j++)         /* or its second name, of which the first counted */
            used = match[j] && (match[j] == t || !strcmp(params->p[j].name, t->name));
        if (!used) n += (size_t)snprintf(list + n, size - n, "%s%s", n ? ", " : "", named->name);
    }
    if (memory) return list;
    rf__free(params->ctx, list);
    return NULL;
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
    rf_status status = RF_OK;
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        const rf_weight *t = p->head ? NULL : rf__params_find(params, w, p->name);
        if (!p->head && (!t || !fits(p, t))) complain(&bad, p, t);
    }
    if (bad.all)
        return rf_fail(why, RF_EDATA, "%s: %s%s", rf__weights_name(w), bad.text, bad.more ? "; and more" : "");
    for (size_t i = 0; i < params->n && !status; i++)
        status = rf__quantised_check(params->ctx, w, rf__params_find(params, w, params->p[i].name),
                                     params->config.quantised, why);
    for (size_t i = 0; i < params->n && !status; i++) {
        const rf_param *p = &params->p[i];
        const rf_weight *t = !p->head || p->flags & RF_ROW_PRETRAINED ? rf__params_find(params, w, p->name) : NULL;
        if (t && fits(p, t)) status = rf_weights_read(w, t, slab + p->offset, 1, why);
    }
    return status;
}

/* For tools: roformer/folder.h. */
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

/* ---- writing ---- */

/* The output bias has two names in transformers.  Tied, the second follows from the first; untied, it is the one that
 * is used. */
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

/* A matrix in int8 has its scales beside it, which are f32 whatever the others are. */
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

void rf__params_draw(rf_params *p, int64_t step)
{
    rf__linear_draw(&p->config, step);
    for (int i = 0; i < p->stacks; i++) rf__linear_draw(&p->stack[i].config, step);
}
