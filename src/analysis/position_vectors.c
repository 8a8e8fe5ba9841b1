/* position_vectors.c — p_m, the vector that an absolute encoding adds to the word at position m:
 * roformer/inspect/positions.h.
 *
 *     p_m = embed(0)_m                            the encoding's hook, applied to zero vectors */
#include <stdio.h>

#include "model/model.h"
#include "model/positions.h"
#include "roformer/inspect/positions.h"

enum { PARAMETERS = 8 };                /* of an encoding, in the embeddings */

/* "sinusoidal, index, ...": the encodings with such vectors. */
static const char *those(char *text, size_t size)
{
    text[0] = 0;
    for (const rf_position *const *p = rf__position_list; *p; p++)
        if ((*p)->flags & RF_POSITION_VECTOR) rf__list_add(text, size, (*p)->name);
    return text;
}

/* The vectors as a tensor [T,E]; the graph keeps the first failure. */
static rf_tensor *vectors(rf_graph *g, rf_positions *kept, const rf_model *m, int64_t T)
{
    const rf_config *c = &m->params.stack[0].config;
    rf_layer_context at;
    rf_tensor *weight[PARAMETERS];
    size_t n = 0;
    int32_t *id = rf__push(g, (size_t)T, sizeof *id);
    float *zero = rf__push(g, (size_t)(T * c->embedding_size), sizeof *zero);
    if (!id || !zero) return &g->nil.t;
    /* no padding tokens, which some encodings do not count */
    for (int64_t t = 0; t < T; t++) id[t] = c->pad_token_id == 0 && c->vocab_size > 1;
    memset(zero, 0, (size_t)(T * c->embedding_size) * sizeof *zero);
    const rf_batch b = {.N = T, .B = 1, .id = id, .start = (const int32_t[]){0, (int32_t)T}};
    if (!rf__positions_bind(g, kept, c, &b, &at)) return &g->nil.t;
    for (size_t i = 0; i < m->params.n && n < PARAMETERS; i++) {
        const rf_param *p = &m->params.p[i];
        if (p->position && p->stack == 0 && p->layer < 0)
            weight[n++] = rf__constant(g, m->value[i], p->rank, p->dim);
    }
    at.weight = at.shared = weight;
    return m->params.position->embed(g, &at, rf__constant(g, zero, 2, (int64_t[]){T, c->embedding_size}));
}

rf_status rf_position_vectors(const rf_model *m, int64_t T, float *p, rf_error *why)
{
    if (!(m && p)) return rf__missing("rf_position_vectors", "model, p", why);
    const rf_position *is = m->params.position;
    if (!(is->flags & RF_POSITION_VECTOR)) {
        char names[200];
        return rf_fail(why, RF_EUNSUPPORTED, "position_embedding_type: expected one that adds a vector for each "
                       "position to the words, got %s; these do: %s", is->name, those(names, sizeof names));
    }
    size_t floats;
    if (T < 1 || T > INT32_MAX || !rf__checked_mul((size_t)T, (size_t)m->config.embedding_size, &floats))
        return rf_fail(why, RF_EARG, "rf_position_vectors: positions: expected at least 1, got %lld", (long long)T);
    rf_graph *g = NULL;
    rf_positions *kept = NULL;
    rf_status status = rf__graph_new(m->ctx, &g, why);
    if (!status) status = rf__positions_new(m->ctx, &m->params.stack[0].config, &kept, why);
    if (!status) {
        const rf_tensor *y = vectors(g, kept, m, T);
        if (g->error.code) status = rf_fail(why, g->error.code, "%s", g->error.text);
        else memcpy(p, y->f32, floats * sizeof *p);
    }
    rf__positions_free(kept);
    rf__graph_free(g);
    return status;
}
