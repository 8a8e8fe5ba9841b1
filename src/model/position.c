/* position.c — the registry of position encodings, and the tables that an encoder keeps for them. */
#include "model/family.h"
#include "model/linear.h"
#include "store/store.h"

#include <stdio.h>

#define RFP(name) &rf__position_##name,
const rf_position *const rf__position_list[] = {
#include "model/positions.def"
    NULL
};
#undef RFP

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* What other programs and papers call them. */
static const struct { const char *name, *ours;
} elsewhere[] = {
    {"", "rotary"},           {"rope", "rotary"},
    {"roformer", "rotary"},   {"nope", "none"},
    {"learned", "absolute"},  {"learnable", "absolute"},
    {"bert", "absolute"},     {"relative_key", "shaw"},
    {"relative", "shaw"},     {"transfo_xl", "transformer_xl"},
    {"bloom", "alibi"},       {"mpt", "alibi"},
    {"kerple", "kerple_log"}, {"disentangled", "deberta"},
    {"conv", "convolution"},  {"rnn", "recurrent"},
    {"integer", "index"},     {"concatenated", "concat"},
    {"normalized", "unit"},   {"normalised", "unit"},
};

static int distance(const char *a, const char *b) { return rf__edit_distance(a, strlen(a), b, strlen(b)); }

/* Capitals do not count. */
static const char *nearest(const char *given)
{
    char name[sizeof ((rf_config *)0)->position_embedding_type];
    size_t n = 0;
    for (; given[n] && n + 1 < sizeof name; n++)
        name[n] = (char)(given[n] >= 'A' && given[n] <= 'Z' ? given[n] - 'A' + 'a' : given[n]);
    name[n] = 0;
    const char *best = rf__position_list[0]->name;
    for (const rf_position *const *p = rf__position_list; *p; p++)
        if (distance(name, (*p)->name) < distance(name, best)) best = (*p)->name;
    for (size_t i = 0; i < RF_COUNT(elsewhere); i++)
        if (!strcmp(name, elsewhere[i].name)) best = elsewhere[i].ours;
    return best;
}

static rf_status unknown(const char *name, rf_error *why)
{
    char clean[32];
    snprintf(clean, sizeof clean, "%s", name);
    for (char *s = clean; *s; s++)
        if ((unsigned char)*s < 32 || *s == 127) *s = '?';
    return rf_fail(why, RF_EDATA,
                   "config.json: position_embedding_type is \"%s\", which is not known; the nearest is \"%s\" "
                   "(`roformer positions` lists all)",
                   clean, nearest(name));
}

/* Keys that have no meaning with the encoding, and what it finds itself. */
static rf_status check(const rf_position *p, const rf_config *c, rf_error *why)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    if (p->flags & RF_POSITION_CAUSAL && !c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: position_embedding_type \"%s\" makes sense in causal attention "
                       "only, and this is an encoder (is_decoder: false)",
                       p->name);
    if (!(p->flags & RF_POSITION_ROPE) && (s->rope_type != RF_ROPE_DEFAULT || s->sections || c->rope_thetas))
        return rf_fail(why, RF_EDATA, "config.json: rope_scaling or rope_theta_per_layer with position_embedding_type "
                       "\"%s\", which does not rotate", p->name);
    if (!(p->flags & RF_POSITION_ROPE) &&
        (c->use_logn_attn || c->rotary_value || c->rotary_heads || c->partial_rotary_factor < 1))
        return rf_fail(why, RF_EDATA, "config.json: %s with position_embedding_type \"%s\", which does not rotate",
                       c->use_logn_attn  ? "use_logn_attn"
                       : c->rotary_value ? "rotary_value"
                       : c->rotary_heads ? "rotary_heads"
                                         : "partial_rotary_factor",
                       p->name);
    const rf_status status = p->check ? p->check(c, why) : RF_OK;
    return status ? status : rf__linear_check(p, c, why);
}

rf_status rf__position_find(const rf_config *c, const rf_position **out, rf_error *why)
{
    const rf_family *family;
    rf_status status = rf__family_find(c, &family, why);
    if (status) return status;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        if (strcmp((*p)->name, c->position_embedding_type)) continue;
        status = rf__family_allows(family, *p, why);
        if (!status) status = check(*p, c, why);
        if (!status) *out = *p;
        return status;
    }
    return unknown(c->position_embedding_type, why);
}

/* ---- for tools: roformer/positions.h ----------------------------------------------------------------------------- */

const rf_position *rf_position_at(int i)
{
    const int n = (int)RF_COUNT(rf__position_list) - 1;
    return i >= 0 && i < n ? rf__position_list[i] : NULL;
}

rf_status rf_position_of(const rf_config *c, const char *path, const rf_position **out, rf_error *why)
{
    if (!(c && out)) return rf__missing("rf_position_of", "config, out", why);
    const rf_status status = rf__position_find(c, out, why);
    if (status && path) rf__config_named(path, why);
    return status;
}

const char *rf_position_name(const rf_position *p) { return p ? p->name : ""; }
const char *rf_position_equation(const rf_position *p) { return p ? p->equation : ""; }
const char *rf_position_source(const rf_position *p) { return p ? p->source : ""; }
int rf_position_flags(const rf_position *p)
{
    return p ? p->flags | (p->relate ? RF_POSITION_RELATIVE : 0) : 0;
}

void rf_position_cost(const rf_position *p, const rf_config *c, int64_t T, double *flops, double *bytes)
{
    double f = 0, b = 0;
    if (p && c && p->cost) p->cost(c, T, &f, &b);
    if (flops) *flops = f;
    if (bytes) *bytes = b;
}

rf_status rf__position_caches(const rf_position *p, const rf_config *c, rf_error *why)
{
    if (p->attend)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "position_embedding_type \"%s\" rotates a key anew for every distance: keys cannot be kept",
                       p->name);
    if (p->flags & RF_POSITION_ROPE && rf__rope_by_length(c))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "rope_scaling goes by the whole text's length, which is not known yet: keys cannot be kept "
                       "(final_length beside rope_type says it)");
    if (p->flags & RF_POSITION_LENGTH)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "position_embedding_type \"%s\" goes by the whole text's length, which is not known yet: keys "
                       "cannot be kept", p->name);
    return RF_OK;
}

rf_status rf__position_reaches(const rf_config *c, int64_t tokens, rf_error *why)
{
    const rf_position *p;
    const rf_status status = rf__position_find(c, &p, why);
    if (status || p->flags & RF_POSITION_EXTRAPOLATES || tokens <= c->max_position_embeddings) return status;
    return rf_fail(why, RF_EARG,
                   "max_length: a text of %lld tokens is to be read, and the model has %lld positions "
                   "(max_position_embeddings, position_embedding_type \"%s\"): a smaller max_length cuts it",
                   (long long)tokens, (long long)c->max_position_embeddings, p->name);
}

rf_keeping rf__position_keeping(const rf_ctx *ctx, const rf_position *p, const rf_config *c, int64_t layer)
{
    if (layer < 0) return (rf_keeping){.state[RF_STATE_POSITION] = p->state ? p->state(c) : 0};
    if (rf__config_linear(c, layer)) return (rf_keeping){.state[RF_STATE_ATTENTION] = rf__linear_state(ctx, c)};
    return (rf_keeping){.columns = 2 * c->hidden_size + (p->key_columns ? p->key_columns(c) : 0),
                        .source = c->is_encoder_decoder ? 2 * c->hidden_size : 0};
}

void rf__position_sum_cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    (void)T;
    *flops = (double)c->embedding_size;
    *bytes = 16 * (double)c->embedding_size;
}

int64_t rf__position_grid(const rf_config *c)
{
    int64_t side = 1;
    while (side * side < c->max_position_embeddings) side++;
    return c->position_grid_width ? c->position_grid_width : side;
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* Tables of angles for 512, 1024, ... positions, made when first needed and kept.  Positions that the caller chose and
 * that lie beyond FAR get a table of their own, made for the batch. */
enum { SIZES = 23, SMALLEST = 9, FAR = 1 << 17 };

typedef struct tables {
    rf_rope *size[SIZES], *custom;
    uint64_t batch;             /* that `custom` was made for                                                         */
} tables;

struct rf_positions {
    const rf_ctx *ctx;
    uint64_t batches;
    int64_t owners;             /* layers and the embeddings                                                          */
    tables *table;              /* [places, RF_POSITION_PARTS]                                                        */
    rf_kept *made;              /* [places, RF_POSITION_TABLES]                                                       */
    float *fixed;
    int64_t rows, width;        /* of fixed                                                                           */
};

rf_status rf__positions_new(const rf_ctx *ctx, const rf_config *c, rf_positions **out, rf_error *why)
{
    rf_positions *p = rf__calloc(ctx, 1, sizeof *p);
    if (p) {
        p->ctx = ctx;
        p->owners = c->num_hidden_layers + 1;
        p->table = rf__calloc(ctx, (size_t)p->owners * RF_POSITION_PARTS, sizeof *p->table);
        p->made = rf__calloc(ctx, (size_t)p->owners * RF_POSITION_TABLES, sizeof *p->made);
    }
    if (!p || !p->table || !p->made) {
        rf__positions_free(p);
        return rf_fail(why, RF_ENOMEM, "out of memory: tables of positions of %lld layers",
                       (long long)c->num_hidden_layers);
    }
    *out = p;
    return RF_OK;
}

void rf__positions_free(rf_positions *p)
{
    if (!p) return;
    for (int64_t i = 0; p->table && i < p->owners * RF_POSITION_PARTS; i++) {
        for (int s = 0; s < SIZES; s++) rf_rope_free(p->table[i].size[s]);
        rf_rope_free(p->table[i].custom);
    }
    for (int64_t i = 0; p->made && i < p->owners * RF_POSITION_TABLES; i++) rf__free(p->ctx, p->made[i].x);
    rf__free(p->ctx, p->made);
    rf__free(p->ctx, p->table);
    rf__free(p->ctx, p->fixed);
    rf__free(p->ctx, p);
}

bool rf__positions_bind(rf_graph *g, rf_positions *p, const rf_config *c, const rf_batch *b, rf_layer_context *out)
{
    int32_t *position = rf__push(g, (size_t)b->N, sizeof *position),
            *length = rf__push(g, (size_t)b->N, sizeof *length);
    int32_t *start = rf__copy(g, b->start, (size_t)b->B + 1, sizeof *start),
            *id = rf__copy(g, b->id, (size_t)b->N, sizeof *id);
    int32_t *type = rf__push(g, (size_t)b->N, sizeof *type);
    if (type && b->type) memcpy(type, b->type, (size_t)b->N * sizeof *type);
    else if (type) memset(type, 0, (size_t)b->N * sizeof *type);
    *out = (rf_layer_context){.config = c,
                              .layer = -1,
                              .N = b->N,
                              .B = b->B,
                              .id = id,
                              .type = type,
                              .start = start,
                              .position = position,
                              .length = length,
                              .chosen = b->position != NULL,
                              .kept = p,
                              .batch = ++p->batches};
    if (g->error.code) return false;
    for (int64_t s = 0; s < b->B; s++) {
        int32_t top = 0;
        for (int32_t n = b->start[s]; n < b->start[s + 1]; n++) {
            position[n] = b->position ? b->position[n] : n - b->start[s];
            if (position[n] > top) top = position[n];
            if (position[n] < out->lowest) out->lowest = position[n];
        }
        for (int32_t n = b->start[s]; n < b->start[s + 1]; n++) length[n] = top < INT32_MAX ? top + 1 : top;
        if (top > out->highest) out->highest = top;
    }
    return true;
}

bool rf__positions_below(rf_graph *g, const rf_layer_context *at, int64_t limit, const char *what)
{
    for (int64_t n = 0; n < at->N && !g->error.code; n++)
        if (at->position[n] < 0 || at->position[n] >= limit)
            rf__stop(g, RF_ERANGE, "%s: position %d of token %lld, there are %lld (%s)",
                     at->config->position_embedding_type, (int)at->position[n], (long long)n, (long long)limit, what);
    return !g->error.code;
}

/* ---- angles ------------------------------------------------------------------------------------------------------ */

struct making { const rf_layer_context *at; bool by_token; rf_position_angle *angle; const void *what; };

static void by_row(const void *arg, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct making *m = arg;
    m->angle(m->what, row, 0, i, angle, gain);
}

static void by_token(const void *arg, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct making *m = arg;
    m->angle(m->what, m->at->position[row], m->by_token ? m->at->length[row] : 0, i, angle, gain);
}

rf_status rf__positions_rope(rf_graph *g, const rf_layer_context *at, int part, int64_t rotary, rf_rope_layout layout,
                             bool each, rf_position_angle *angle, const void *what, const rf_rope **rope,
                             const int32_t **row, rf_error *why)
{
    const rf_ctx *ctx = at->kept->ctx;
    tables *t = &at->kept->table[(at->layer + 1) * RF_POSITION_PARTS + part];
    const struct making m = {at, each, angle, what};
    rf_status status = RF_OK;
    if (!each && (!at->chosen || (at->lowest >= 0 && at->highest < FAR))) {
        int s = 0;
        while (at->highest >= (int64_t)1 << (SMALLEST + s)) s++;
        if (!t->size[s])
            status = rf_rope_make(ctx, rotary, layout, (int64_t)1 << (SMALLEST + s), by_row, &m, &t->size[s], why);
        *rope = t->size[s];
        *row = at->position;
        return status;
    }
    int32_t *own = rf__push(g, (size_t)at->N, sizeof *own);
    if (!own) return g->error.code;
    for (int64_t n = 0; n < at->N; n++) own[n] = (int32_t)n;
    if (t->batch != at->batch) {                                /* else another layer of this batch shares it */
        rf_rope_free(t->custom);
        t->custom = NULL;
        status = rf_rope_make(ctx, rotary, layout, at->N > 0 ? at->N : 1, at->N > 0 ? by_token : by_row, &m, &t->custom,
                              why);
        if (!status) t->batch = at->batch;
    }
    *rope = t->custom;
    *row = own;
    return status;
}

/* ---- fixed tables ------------------------------------------------------------------------------------------------ */

/* Positions that the caller chose are computed by themselves where a kept table would have more rows. */
enum { NEAR = 4096 };

struct filling { const rf_config *c; float *to; int64_t width; rf_position_row *fill; };

static void fill_row(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct filling *f = arg;
    f->fill(f->c, i, f->to + i * f->width, f->width);
}

const float *rf__positions_fixed(rf_graph *g, const rf_layer_context *at, int64_t rows, int64_t width,
                                 rf_position_row *fill)
{
    rf_positions *p = at->kept;
    if (p->fixed && p->width == width && p->rows >= rows) return p->fixed;
    int64_t more = 512;
    while (more < rows) more *= 2;
    size_t floats = 0;
    float *table = rf__checked_mul((size_t)more, (size_t)width, &floats) && floats <= SIZE_MAX / sizeof *table
                       ? rf__alloc(p->ctx, floats * sizeof *table) : NULL;
    if (!table) {
        rf__stop(g, RF_ENOMEM, "out of memory: a table of %lld positions of width %lld", (long long)more,
                 (long long)width);
        return NULL;
    }
    rf__parallel(p->ctx, more, fill_row, &(struct filling){at->config, table, width, fill});
    rf__free(p->ctx, p->fixed);
    p->fixed = table;
    p->rows = more;
    p->width = width;
    return table;
}

struct occurring { const rf_layer_context *at; float *to; int64_t width; rf_position_row *fill; };

static void fill_token(void *arg, int64_t n, int worker)
{
    (void)worker;
    const struct occurring *o = arg;
    o->fill(o->at->config, o->at->position[n], o->to + n * o->width, o->width);
}

rf_tensor *rf__positions_rows(rf_graph *g, const rf_layer_context *at, int64_t width, rf_position_row *fill)
{
    const rf_positions *p = at->kept;
    const int64_t reach = (int64_t)at->highest + 1;
    if (!at->chosen || reach <= NEAR || (p->fixed && p->width == width && p->rows >= reach)) {
        const float *table = rf__positions_fixed(g, at, reach, width, fill);
        if (!table) return &g->nil.t;
        return rf_embed(g, rf_constant(g, table, 2, (int64_t[]){reach, width}), at->position, at->N);
    }
    rf_tensor *rows = rf__new(g, 2, (int64_t[]){at->N, width});
    if (!g->error.code) rf__parallel(g->ctx, at->N, fill_token, &(struct occurring){at, rows->f32, width, fill});
    return rows;
}

/* ---- tables that an encoding makes ------------------------------------------------------------------------------- */

const rf_kept *rf__positions_kept(const rf_layer_context *at, int64_t layer, int number)
{
    return &at->kept->made[(layer + 1) * RF_POSITION_TABLES + number];
}

bool rf__positions_keep(rf_graph *g, const rf_layer_context *at, int64_t layer, int number, int64_t rows, int64_t width,
                        const float *x)
{
    rf_kept *t = &at->kept->made[(layer + 1) * RF_POSITION_TABLES + number];
    if (g->error.code) return false;
    rf__free(at->kept->ctx, t->x);
    *t = (rf_kept){.x = rf__alloc(at->kept->ctx, (size_t)(rows * width) * sizeof *x), .width = width};
    if (t->x) {
        memcpy(t->x, x, (size_t)(rows * width) * sizeof *x);
        t->rows = rows;
        return true;
    }
    rf__stop(g, RF_ENOMEM, "out of memory: a table of %lld positions of width %lld", (long long)rows, (long long)width);
    return false;
}
