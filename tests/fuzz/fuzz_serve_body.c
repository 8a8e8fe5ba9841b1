/* fuzz_serve_body.c — bodies of requests: the first byte selects a route, the second JSON or a form. A body is rejected
 * with an answer in JSON, or its members have the types of the route's table. */
#define _GNU_SOURCE
#include "serve/fields.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const srv_route *route_of(uint8_t choice)
{
    int n = 0;
    for (const srv_route *x = srv_routes; x->path; x++) n += x->field != NULL;
    choice = (uint8_t)(choice % n);
    for (const srv_route *x = srv_routes; x->path; x++)
        if (x->field && !choice--) return x;
    return NULL;
}

static void check(const srv_request *r, bool read)
{
    json_t *answer = read ? NULL : json_loadb(r->out.at, r->out.n, 0, NULL);
    if (read ? r->status || !json_is_object(r->in) : !answer || r->status < 400) abort();
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static srv_server server;
    if (size < 2) return 0;
    srv_limits_defaults(&server.o.limits);
    srv_request *r = srv_request_new(&server, "/");
    if (!r) return 0;
    r->route = route_of(data[0]);
    r->dialect = r->route->dialect;
    r->form = data[1] & 1;
    r->size = size - 2;
    r->body = malloc(size - 1);
    if (r->body) {
        memcpy(r->body, data + 2, r->size);
        r->body[r->size] = 0;
        const bool read = srv_read_body(r);
        check(r, read);
        for (const srv_field *f = r->route->field; read && f->kind != SRV_END; f++) {
            srv_texts texts;
            if (f->kind != SRV_STRINGS && f->kind != SRV_TEXTS && f->kind != SRV_DOCUMENTS) continue;
            if (!srv_member(r->in, f->name) || r->status) continue;
            srv_read_texts(r, srv_member(r->in, f->name), f->name, &texts);
            srv_texts_clear(&texts);
        }
    }
    srv_request_release(r);
    return 0;
}
