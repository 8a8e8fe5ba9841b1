/* access_log.c — a line for each request: JSON, or the common log format of NCSA. Texts of requests are not logged. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/os/os.h"
#include "serve/server.h"

static void put_json(srv_text *t, const srv_request *r, const char *when, bool complete)
{
    const size_t path = strcspn(r->path, "?");
    srv_printf(t, "{\"time\":\"%s\",\"id\":\"%s\",\"client\":\"%s\",\"method\":\"%s\",\"path\":", when, r->id,
               r->address, r->method);
    srv_put_string(t, r->path, path);
    srv_printf(t, ",\"status\":%d,\"bytes\":%lld,\"seconds\":%.6f,\"complete\":%s", r->status, (long long)r->sent,
               rf__seconds() - r->arrived, complete ? "true" : "false");
    if (*r->key_name) srv_printf(t, ",\"key\":\"%s\"", r->key_name);
    if (r->inference)
        srv_printf(t, ",\"inputs\":%lld,\"tokens\":%lld,\"queue_seconds\":%.6f,\"inference_seconds\":%.6f",
                   (long long)r->permits, (long long)r->tokens, r->waited, r->computed);
    srv_puts(t, "}\n");
}

/* Control characters, quotes and backslashes of a path as \xHH. */
static void put_common(srv_text *t, const srv_request *r, const char *when)
{
    srv_printf(t, "%s - %s [%s] \"%s ", r->address, *r->key_name ? r->key_name : "-", when, r->method);
    for (const char *p = r->path; *p && *p != '?'; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\') srv_printf(t, "\\x%02X", c);
        else srv_put(t, p, 1);
    }
    srv_printf(t, " HTTP/1.1\" %d %lld\n", r->status, (long long)r->sent);
}

void srv_log(srv_request *r, bool complete)
{
    srv_server *s = r->s;
    srv_text line = {0};
    char when[64] = "";
    struct tm at;
    const time_t now = time(NULL);
    srv_metrics_count(s, r);
    if (!s->o.log) return;
    if (rf__os_utc(now, &at))
        strftime(when, sizeof when, s->o.log_json ? "%Y-%m-%dT%H:%M:%SZ" : "%d/%b/%Y:%H:%M:%S +0000", &at);
    if (s->o.log_json) put_json(&line, r, when, complete);
    else put_common(&line, r, when);
    pthread_mutex_lock(&s->log_lock);
    if (!line.failed) s->o.log(s->o.user, line.at, line.n);
    pthread_mutex_unlock(&s->log_lock);
    srv_text_clear(&line);
}

void srv_note(const srv_server *s, const char *format, ...)
{
    char text[1024];
    va_list list;
    if (!s->o.note) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    s->o.note(s->o.user, text);
}
