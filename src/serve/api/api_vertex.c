/* api_vertex.c — Vertex AI's form: {"instances": [...]} gives {"predictions": [...]}.
 *
 * An instance is the body of /rerank, /predict, /embed or /embed_sparse, as the instance and the model say, and its
 * prediction is the answer of that route. Each instance is a request of its own without a connection; one is computed
 * after the other. */
#include <stdlib.h>

#include "serve/api/api.h"

typedef struct instances {
    const json_t *list;
    size_t next;
} instances;

static void answer_next(srv_request *r);

/* Called with the answer of an instance; the first error is the answer of all. */
static void instance_over(srv_request *part)
{
    srv_request *r = part->whole;
    const instances *x = r->own;
    srv_request_take_part(r, NULL);
    r->kind = part->kind;
    r->permits += part->permits;
    r->characters += part->characters;
    r->tokens += part->tokens;
    r->waited += part->waited;
    r->computed += part->computed;
    r->inference |= part->inference;
    if (part->status != 200) {
        srv_text_clear(&r->out);
        r->out = part->out;
        part->out = (srv_text){0};
        r->failure = part->failure;
        r->inference = false;
        memcpy(r->header, part->header, sizeof r->header);
        memcpy(r->header_value, part->header_value, sizeof r->header_value);
        srv_answer(r, part->status, part->type);
        return;
    }
    srv_puts(&r->out, x->next > 1 ? "," : "{\"predictions\":[");
    srv_put(&r->out, part->out.at, part->out.n);
    srv_later(r, answer_next, 0);
}

static srv_step *step_of(const srv_request *part)
{
    const srv_model *m = part->model;
    if (srv_member(part->in, "query") && srv_member(part->in, "texts")) return srv_api_rerank;
    if (srv_labels_texts(m)) return srv_api_predict;
    return srv_fills_masks(m) && m->no_vectors.code ? srv_api_embed_sparse : srv_api_embed;
}

/* The request of an instance, which has the model and the deadline of the whole. NULL: answered. */
static srv_request *new_part(srv_request *r, const json_t *instance)
{
    json_t *in = json_copy((json_t *)instance);
    const json_t *model = srv_member(r->in, "model");
    if (in && model && !srv_member(in, "model") && json_object_set(in, "model", (json_t *)model)) {
        json_decref(in);
        in = NULL;
    }
    srv_request *part = in ? srv_request_new(r->s, r->path) : NULL;
    if (!part) {
        json_decref(in);
        return srv_error(r, 503, "Overloaded", "out of memory: an instance"), NULL;
    }
    part->whole = r;
    atomic_fetch_add(&r->users, 1); /* until the part is freed */
    part->over = instance_over;
    part->in = in;
    part->phase = SRV_WORK;
    part->arrived = r->arrived;
    srv_request_take_part(r, part);
    return part;
}

/* Starts the next instance, after whose end nothing here may use the whole request. */
static void answer_next(srv_request *r)
{
    instances *x = r->own;
    if (x->next == json_array_size(x->list)) {
        srv_puts(&r->out, "]}");
        srv_answer_json(r);
        return;
    }
    if (!srv_go_on(r)) return;
    srv_request *part = new_part(r, json_array_get(x->list, x->next++));
    if (!part) return;
    atomic_fetch_add(&part->users, 1); /* as a worker counts itself: a step uses its request after an error */
    if (srv_need_model(part, NULL)) {
        srv_step *step = step_of(part);
        for (const srv_route *own = srv_routes; own->path && !part->route; own++)
            if (own->step == step) part->route = own;
        step(part);
    }
    srv_request_release(part);
}

void srv_api_vertex(srv_request *r)
{
    if (!srv_read_body(r)) return;
    instances *x = srv_own(r, sizeof *x, free);
    if (!x) return;
    x->list = json_object_get(r->in, "instances");
    if (srv_check_count(r, "instances", json_array_size(x->list))) answer_next(r);
}
