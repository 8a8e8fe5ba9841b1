/* framing.c — requests that libmicrohttpd accepts but that a proxy in front of it may read differently, so that a part
 * of a body could become a request (smuggling). */
#include <ctype.h>
#include <microhttpd.h>
#include <strings.h>

#include "serve/server.h"

typedef struct framing {
    int lengths, codings, hosts, odd;
    const char *end;    /* of the line before */
    uintptr_t line_end; /* its size in bytes */
} framing;

/* A token (RFC 9110, 5.6.2). libmicrohttpd keeps "Content-Length " as a name and CR in a value, which proxies may read
 * otherwise. */
static bool is_token(const char *name)
{
    static const char odd[] = "!#$%&'*+-.^_`|~";
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(odd, *c)) return false;
    return *name;
}

/* libmicrohttpd 0.9.75 parses a header in its buffer: it writes 0 over the end of a line and gives pointers to names
 * and values. What it does not tell is seen between them: more than a line end if a value contains a NUL or a line has
 * been skipped; another place if a line is continued (which is obsolete: RFC 9112, 5.2; it is appended to the name of
 * its header). Proxies may read all of these otherwise, and also lines that end in different ways. */
bool srv_framing_followed(void) { return !strcmp(MHD_get_version(), "0.9.75"); }

static void follow(framing *f, const char *next)
{
    if (!srv_framing_followed()) return;
    const uintptr_t gap = (uintptr_t)next - (uintptr_t)f->end;
    if (!f->line_end && (gap == 1 || gap == 2)) f->line_end = gap;
    f->odd += gap != f->line_end;
}

static enum MHD_Result count_framing(void *user, enum MHD_ValueKind kind, const char *key, const char *value)
{
    framing *f = user;
    (void)kind;
    if (!value) value = "";
    follow(f, key);
    f->odd += !is_token(key) || strpbrk(value, "\r\n");
    f->end = value + strlen(value);
    f->lengths += !strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH);
    f->codings += !strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    f->hosts += !strcasecmp(key, MHD_HTTP_HEADER_HOST);
    return MHD_YES;
}

const char *srv_framing_fault(srv_request *r, const char *method, const char *version)
{
    framing f = {.end = version + strlen(version)};
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const char *coding = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    if (MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, count_framing, &f) > 0 && info)
        follow(&f, method + info->header_size - f.line_end); /* the empty line */
    if (f.lengths > 1 || f.codings > 1 || (f.lengths && f.codings))
        return "header: expected one Content-Length or Transfer-Encoding, got several";
    if (coding && strcasecmp(coding, "chunked"))
        return "header: expected Transfer-Encoding: chunked, got another coding";
    if (f.odd)
        return "header: expected lines `Name: value`, got a name with a space or another odd character, a value with "
               "NUL or a line end, or a continued line";
    if (f.hosts > 1 || (!f.hosts && !strcmp(version, MHD_HTTP_VERSION_1_1))) return "header: expected one Host";
    return NULL;
}
