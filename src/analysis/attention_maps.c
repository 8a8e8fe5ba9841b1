/* attention_maps.c — attention of one sequence, all layers and heads: roformer/inspect/positions.h. */
#include "decode/session.h"
#include "model/attention_probe.h"
#include "model/encoder.h"

struct maps { int64_t T; bool bare; float *p; };

static void keep_map(void *user, rf_graph *g, const rf__view *view)
{
    const struct maps *m = user;
    rf__view seen = *view;
    if (m->bare) {
        rf_tensor *zero = rf__like(g, view->rotated);
        if (g->error.code) return;
        memset(zero->f32, 0, (size_t)(view->rotated->dim[0] * view->rotated->dim[1]) * sizeof *zero->f32);
        seen.rotated = zero;
    }
    rf__attention_probabilities(g, &seen, m->p + view->at->layer * view->spec->heads * m->T * m->T);
}

rf_status rf_attention_maps(rf_session *s, const int32_t id[], int64_t T, int bare, float *p, rf_error *why)
{
    if (!(s && id && p)) return rf__missing("rf_attention_maps", "session, id, p", why);
    if (T < 1 || T > INT32_MAX)
        return rf_fail(why, RF_EARG, "rf_attention_maps: tokens: expected at least 1, got %lld", (long long)T);
    struct maps m = {T, bare != 0, p};
    const rf_batch batch = {.N = T, .B = 1, .id = id, .start = (const int32_t[]){0, (int32_t)T}};
    const float *hidden;
    rf__session_observe(s, keep_map, &m);
    const rf_status status = rf_session_hidden(s, &batch, &hidden, why);
    rf__session_observe(s, NULL, NULL);
    return status;
}
