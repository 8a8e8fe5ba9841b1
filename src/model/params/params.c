/* params.c — the parameters of a model, generated from the rows of its family and of its position encoding.
 *
 * Names and shapes are those of transformers' classes. In the slab, query, key and value of a layer are adjacent
 * (`joined`), so that one product [N,C] x [C,3C] computes all three. */
#include <stdio.h>

#include "model/family.h"
#include "model/layers/linear_attention.h"
#include "model/params/params.h"
#include "model/positions.h"
#include "store/store.h"

/* ---- building the list ---- */

/* p NULL: in a row of the family f. */
static int64_t extent(const rf_config *c, const rf_family *f, const rf_position *p, char letter)
{
    switch (letter) {
    case 'V': return c->vocab_size;
    case 'T': return c->type_vocab_size;
    case 'S': return c->task_type_vocab_size;
    case 'E': return c->embedding_size;
    case 'C': return c->hidden_size;
    case 'Q': return 3 * c->hidden_size;
    case 'F': return c->intermediate_size;
    case 'G': return 2 * c->intermediate_size;
    case 'A': return c->num_hidden_layers * c->num_attention_heads;
    case 'P': return c->max_position_embeddings + rf__config_first_position(c);
    case 'H': return c->num_attention_heads;
    case 'D': return rf_config_head_width(c);
    case 'q': return rf__config_query_columns(c);
    case 'k': return rf__config_key_columns(c);
    case 'U': return 2 * c->intermediate_size + rf_config_head_width(c);
    case 'K': return c->num_labels;
    case '1': return 1;
    default:  return p ? p->extent(c, letter) : f->extent(c, letter);
    }
}

static bool required(const rf_param_row *r, const rf_config *c, int64_t layer)
{
    return !r->when || r->when(c, layer);
}

static int stacks_of(const rf_config *c) { return c->is_encoder_decoder ? RF_STACKS : 1; }

void rf__config_stack(const rf_config *c, int stack, rf_config *out)
{
    *out = *c;
    if (!stack) return;
    out->is_decoder = 1;
    out->num_hidden_layers = c->decoder_layers;
    if (c->decoder_attention_heads) out->num_attention_heads = c->decoder_attention_heads;
    if (c->decoder_ffn_dim) out->intermediate_size = c->decoder_ffn_dim;
    if (*c->decoder_position_embedding_type)
        memcpy(out->position_embedding_type, c->decoder_position_embedding_type, sizeof out->position_embedding_type);
}

typedef struct section { int stack, layer; const char *prefix; bool head, position; } section;

/* false: more numbers than this machine can count. */
static bool shape_of(const rf_params *all, const rf_param_row *r, const rf_position *position, rf_param *p)
{
    const rf_config *c = &all->stack[p->stack].config;
    const char *s = r->shape;
    p->parts = r->flags & RF_ROW_PARTS ? extent(c, all->family, position, *s++) : 1;
    p->count = (size_t)p->parts;
    for (; *s; s++) {
        p->dim[p->rank] = extent(c, all->family, position, *s);
        if (!rf__checked_mul(p->count, (size_t)p->dim[p->rank++], &p->count)) return false;
    }
    p->dim[0] *= p->parts;
    return true;
}

static bool append(rf_params *out, const rf_param_row *r, size_t member, const section *in)
{
    const rf_stack *stack = &out->stack[in->stack];
    if (!required(r, &stack->config, in->layer < 0 || in->head ? -1 : in->layer - stack->first)) return true;
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
    p->joined = (r->flags & RF_ROW_JOINED) != 0;
    p->looked_up = r->flags & (RF_ROW_TABLE | RF_ROW_WORDS | RF_ROW_FLAT) || in->position;
    if (r->flags & RF_ROW_WORDS) out->word = out->n;
    out->n++;
    snprintf(p->name, sizeof p->name, "%s%s%s", base ? rf__family_prefix(out->family, out->head) : "", in->prefix,
             r->name);
    if (!shape_of(out, r, in->position ? stack->position : NULL, p)) return false;
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

/* Rows of the embeddings of a stack, and of one of its layers. */
static const rf_family_row *embedding_of(const rf_family *f, int stack)
{
    return stack ? f->decoder->embedding : f->embedding;
}

static const rf_family_row *layer_of(const rf_family *f, int stack) { return stack ? f->decoder->layer : f->layer; }

static const char *names_of_layers(const rf_family *f, int stack)
{
    const char *names = stack ? f->decoder->layers : f->layers;
    return names ? names : "encoder.layer.";
}

/* Rows of an encoding for the embeddings, and for each layer. */
static const rf_param_row *position_rows(const rf_family *f, const rf_position *p, bool layer)
{
    const bool own = f->position_embedding || f->position_layer;
    if (layer) return own ? f->position_layer : p->layer;
    return own ? f->position_embedding : p->embedding;
}

/* Selects family, head and encodings; refuses impossible combinations. */
static rf_status choose(const rf_config *config, rf_head head, rf_params *out, const rf_head_row **is, rf_error *why)
{
    if (head == RF_HEAD_SPAN && config->num_labels != 2)
        return rf_fail(why, RF_EDATA, "config: num_labels: expected 2 for the ends of an answer, got %lld",
                       (long long)config->num_labels);
    rf_status status = rf__family_find(config, &out->family, why);
    out->stacks = stacks_of(config);
    for (int s = 0, first = 0; s < out->stacks && !status; first += (int)out->stack[s++].config.num_hidden_layers) {
        rf__config_stack(config, s, &out->stack[s].config);
        out->stack[s].first = first;
        status = rf__position_find(&out->stack[s].config, &out->stack[s].position, why);
    }
    if (status) return status;
    out->position = out->stack[0].position;
    *is = rf__family_head(out->family, head);
    return *is ? RF_OK
               : rf_fail(why, RF_EUNSUPPORTED, "config: expected a model with a head of this kind, got a %s",
                         out->family->config.title);
}

static size_t most_rows(const rf_params *p, const rf_head_row *top)
{
    size_t most = family_length(top->row);
    for (int s = 0; s < p->stacks; s++)
        most += family_length(embedding_of(p->family, s)) +
                length(position_rows(p->family, p->stack[s].position, false)) +
                (size_t)p->stack[s].config.num_hidden_layers *
                    (family_length(layer_of(p->family, s)) +
                     length(position_rows(p->family, p->stack[s].position, true)));
    return most;
}

/* Embeddings first, then layers: the backward pass visits them in the opposite order. */
static bool append_embeddings(rf_params *out, int s)
{
    const section in = {s, -1, "", false, false}, named = {s, -1, s ? "decoder." : "encoder.", false, false};
    const bool fits = append_family(out, embedding_of(out->family, s), &in);
    const rf_param_row *rows = position_rows(out->family, out->stack[s].position, false);
    return append_position(out, rows, out->family->decoder ? &named : &in) && fits;
}

static bool append_layers(rf_params *out, int s)
{
    const rf_stack *is = &out->stack[s];
    bool fits = true;
    for (int l = 0, n = 0; l < (int)is->config.num_hidden_layers; l++) {
        char name[64];
        if (rf__family_layer(out->family, &is->config, l) != l) continue;
        snprintf(name, sizeof name, "%s%d.", names_of_layers(out->family, s), n++);
        const section in = {s, is->first + l, name, false, false};
        fits &= append_family(out, layer_of(out->family, s), &in);
        fits &= append_position(out, position_rows(out->family, is->position, true), &in);
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
    return rf_fail(why, RF_ERANGE, "config: expected fewer parameters than this machine can count");
}

size_t rf__params_span(const rf_params *p, size_t i)
{
    size_t n = !p->p[i].joined;
    while (n && i + n < p->n && p->p[i + n].joined) n++;
    return n;
}

/* ---- counting ---- */

static int64_t count_row(const rf_config *c, const rf_family *f, const rf_position *p, const rf_param_row *r,
                         int64_t layer)
{
    int64_t n = required(r, c, layer);
    for (const char *s = r->shape; *s && n; s++) n *= extent(c, f, p, *s);
    return r->flags & RF_ROW_TWICE && !c->tie_word_embeddings ? 2 * n : n;
}

static int64_t count(const rf_config *c, const rf_position *p, const rf_param_row *r, int64_t layer)
{
    int64_t sum = 0;
    for (; r && r->name; r++) sum += count_row(c, NULL, p, r, layer);
    return sum;
}

static int64_t count_family(const rf_config *c, const rf_family *f, const rf_family_row *r, int64_t layer)
{
    int64_t sum = 0;
    for (; r && r->row.name; r++) sum += count_row(c, f, NULL, &r->row, layer);
    return sum;
}

int64_t rf_position_parameters(const rf_position *p, const rf_config *c)
{
    const rf_family *f;
    if (!p || !c || c->num_attention_heads < 1 || rf__family_find(c, &f, NULL)) return 0;
    int64_t sum = count(c, p, position_rows(f, p, false), -1);
    for (int64_t l = 0; l < c->num_hidden_layers; l++) sum += count(c, p, position_rows(f, p, true), l);
    return sum;
}

int64_t rf_config_head_width(const rf_config *given)
{
    rf_config c;
    if (!given || rf__config_given(&c, given, NULL) || c.num_attention_heads < 1) return 0;
    if (c.attention_key_size > 0) return c.attention_key_size;
    return c.head_dim > 0 ? c.head_dim : c.hidden_size / c.num_attention_heads;
}

int64_t rf_config_parameters(const rf_config *given)
{
    const rf_position *p = NULL;
    const rf_family *f;
    rf_config own, *c = &own;
    if (!given || rf__config_given(c, given, NULL) || rf__config_check_all(c, "config", NULL)) return 0;
    if (rf__family_find(c, &f, NULL)) return 0;
    const rf_head_row *head = rf__family_head(f, rf_config_head(c));
    int64_t sum = head ? count_family(c, f, head->row, -1) : 0;
    for (int s = 0; s < stacks_of(c); s++) {
        rf_config side;
        rf__config_stack(c, s, &side);
        sum += count_family(&side, f, embedding_of(f, s), -1);
        for (int64_t l = 0; l < side.num_hidden_layers; l++)
            if (rf__family_layer(f, &side, l) == l) sum += count_family(&side, f, layer_of(f, s), l);
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

void rf__params_draw(rf_params *p, int64_t step)
{
    rf__linear_attention_draw(&p->config, step);
    for (int i = 0; i < p->stacks; i++) rf__linear_attention_draw(&p->stack[i].config, step);
}
