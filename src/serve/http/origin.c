/* origin.c — requests that a browser sends for the page of another site.
 *
 * DNS rebinding: a page of attacker.example, whose name suddenly has the address 127.0.0.1, reads what a server on
 * this machine answers. The browser sends the name in the header Host, so a server that only this machine reaches and
 * that needs no key answers only to its own names. Cross-site requests: a page may send a POST anywhere without reading
 * the answer, unless the server allows it (CORS); browsers say so in Sec-Fetch-Site (W3C Fetch Metadata). */
#include <stdio.h>
#include <strings.h>

#include "serve/server.h"

static bool is_name(const char *host, size_t size, const char *name)
{
    return strlen(name) == size && !strncasecmp(host, name, size);
}

/* Host without its port. */
static size_t name_size(const char *host)
{
    const char *end = *host == '[' ? strchr(host, ']') : NULL;
    return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool host_is_ours(const srv_request *r, const char *host)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    const srv_options *o = &r->s->o;
    const size_t n = name_size(host);
    for (size_t i = 0; i < RF_COUNT(own); i++)
        if (is_name(host, n, own[i])) return true;
    if (o->host && is_name(host, n, o->host)) return true;
    for (int i = 0; i < o->allowed_hosts; i++)
        if (!strcmp(o->allowed_host[i], "*") || is_name(host, n, o->allowed_host[i])) return true;
    return false;
}

bool srv_origin_is_right(const srv_request *r, const char *host, const char *origin, const char *site, char why[400])
{
    enum { SPACE = 400 };
    const srv_server *s = r->s;
    const bool probe = !strcmp(r->route->path, "/health") || !strcmp(r->route->path, "/ping");
    if (s->loopback && !s->needs_key && host && !probe && !host_is_ours(r, host)) {
        snprintf(why, SPACE,
                 "header: Host: expected localhost, 127.0.0.1, [::1] or the name that the server listens on, got "
                 "%.100s; start the server with --allowed-host %.100s, or with API keys",
                 host, host);
        return false;
    }
    const bool foreign = site && strcasecmp(site, "same-origin") && strcasecmp(site, "none");
    const char *allowed = s->o.cors_origin;
    if (!foreign || strcmp(r->method, "POST") ||
        (allowed && (!strcmp(allowed, "*") || (origin && !strcmp(allowed, origin)))))
        return true;
    snprintf(why, SPACE,
             "header: Sec-Fetch-Site: expected same-origin, got %.40s; start the server with --cors-allow-origin "
             "%.100s to let this page send requests",
             site, origin ? origin : "ORIGIN");
    return false;
}
