/* api_search.c — the texts of an index that are most similar to a query. */
#include <stdlib.h>

#include "serve/api/api.h"

static void put_hits(srv_request *r, const rf_hit *hit, int64_t hits)
{
    srv_text *t = &r->out;
    srv_puts(t, "{\"results\":[");
    for (int64_t i = 0; i < hits && !t->failed && (i % 1024 || !srv_is_over(r)); i++) {
        size_t size;
        const char *text = rf_index_text(r->model->index, hit[i].row, &size);
        srv_printf(t, "%s{\"line\":%lld,\"score\":%.17g,\"text\":", i ? "," : "", (long long)hit[i].row + 1,
                   hit[i].score);
        srv_put_string(t, text, size);
        srv_puts(t, "}");
    }
    srv_puts(t, "]}");
}

static void finish(srv_request *r)
{
    rf_error why = {0};
    const rf_hit *hit;
    int64_t hits;
    if (srv_job_end(r)) return;
    pthread_mutex_lock(&r->model->index_lock); /* one search at a time */
    if (!rf_index_search(r->model->index, rf_engine_result(r->job, NULL, NULL), srv_int(r->in, "top_k", 10), &hit,
                         &hits, &why))
        put_hits(r, hit, hits);
    pthread_mutex_unlock(&r->model->index_lock);
    srv_job_free(r);
    if (why.code) srv_fail(r, &why);
    else srv_answer_json(r);
}

static bool has_index(const srv_model *m) { return m->index; }

void srv_api_search(srv_request *r)
{
    rf_error why = {0};
    if (!srv_read_body(r) || !srv_need_model(r, NULL)) return;
    const char *query = srv_string(r->in, "query");
    if (!r->model->index) {
        if (srv_model_that(r->s, has_index)) srv_wrong_model(r, "has no index", has_index);
        else srv_error(r, 424, "Backend", "there is no index; start the server with --index INDEX");
        return;
    }
    if (rf_utf8_blank(query, strlen(query))) {
        srv_error(r, 400, "Empty", "`query` cannot be empty");
        return;
    }
    r->characters = srv_length(query, strlen(query));
    if (!srv_hold(r, 1)) return;
    const rf_engine_job_options o = srv_job_options(r, finish);
    const rf_status status = rf_engine_embed(r->model->engine, &query, NULL, 1, &r->model->query, &o, &r->job, &why);
    srv_submitted(r, status, &why);
}
