/* api_page.c — the page for people: files of src/serve/page. */
#include "serve/api/api.h"
#include "serve/page.h"

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } rows[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < RF_COUNT(rows); i++)
        if (!strcmp(dot, rows[i].end)) return rows[i].type;
    return "application/octet-stream";
}

static void send_file(srv_request *r, const char *name, const char *header, const char *value)
{
    const srv_page_file *f = srv_page_files;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) {
        srv_error(r, 404, "NotFound", "the page has no such file");
        return;
    }
    snprintf(r->header, sizeof r->header, "%s", header);
    snprintf(r->header_value, sizeof r->header_value, "%s", value);
    srv_put(&r->out, (const char *)f->at, f->size);
    srv_answer(r, 200, type_of(name));
}

/* /ui is the page, /ui/NAME one of its files. */
void srv_api_page(srv_request *r)
{
    const char *name = strrchr(r->route->path, '/') + 1;
    send_file(r, strcmp(name, "ui") ? name : "page.html", "Cache-Control", "no-cache");
}

/* A browser gets the page, also while the models are being loaded. */
void srv_api_start(srv_request *r)
{
    if (r->html) send_file(r, "page.html", "Vary", "Accept");
    else srv_api_health(r);
}
