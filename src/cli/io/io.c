/* io.c — input lines, output, exit codes. */
#include "cli/shell/comm.h"
#include "cli/io/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/os/program.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

enum { OUT_BUFFER = 1 << 16, CHUNK = 1 << 16 };

int cli_exit_code(rf_status status)
{
    switch (status) {
    case RF_OK: return CLI_DONE;
    case RF_EARG: return CLI_USAGE;
    case RF_ESHAPE:
    case RF_ERANGE:
    case RF_EDATA:
    case RF_EUNSUPPORTED: return CLI_DATA;
    case RF_EIO: return CLI_IO;
    case RF_ENOMEM: return CLI_MEMORY;
    case RF_ENUMERIC: return CLI_NUMERIC;
    case RF_EBUSY:
    case RF_ESTOPPED: return CLI_LATER;
    case RF_ECANCELED:                                              /* no command sets a flag */
    case RF_STATUS_COUNT: break;
    }
    return CLI_FAILURE;
}

/* Control characters of file names and texts must not reach the terminal. */
static void strip_controls(char *line)
{
    size_t control;
    for (char *p = line + cli_shown(line, strlen(line), false, &control); control;
         p += cli_shown(p, strlen(p), false, &control)) {
        memmove(p + 1, p + control, strlen(p + control) + 1);
        *p++ = '?';
    }
    fprintf(stderr, "roformer: %s\n", line);
    fflush(stderr);                                     /* which has a buffer on Windows */
}

void cli_error(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    strip_controls(line);
}

void cli_note(const cli_io *io, const char *format, ...)
{
    char line[1024];
    if (io->quiet) return;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    strip_controls(line);
}

int cli_exit(cli_io *io)
{
    const rf_comm *c = cli_comm();
    if (io->why.code == RF_ESTOPPED && cli_stopped()) return 128 + cli_stopped();
    if (io->why.code && c && !c->agreed) cli_error("rank %d: %s", c->rank, io->why.text);
    else if (io->why.code && (!c || !c->rank)) cli_error("%s", io->why.text);
    else if (cli_stopped()) return 128 + cli_stopped();
    return cli_exit_code(io->why.code);
}

rf_status cli_at_line(rf_error *why, const char *file, uint64_t line, const rf_error *inner)
{
    return rf_fail(why, inner->code, "%.100s:%llu: %.190s", file, (unsigned long long)line, inner->text);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

rf_status cli_lines_open(const rf_ctx *ctx, cli_lines *l, const char *path, rf_error *why)
{
    rf__os_state st;
    const bool standard = !strcmp(path, "-");
    *l = (cli_lines){.ctx = ctx, .fd = standard ? 0 : rf__os_open(path, RF__OS_READ), .plain = !ctx,
                     .name = standard ? "standard input" : path};
    const bool folder = l->fd < 0 && errno == EISDIR;                  /* Windows opens none */
    if (!folder && (l->fd < 0 || rf__os_look_file(l->fd, &st))) {
        const int e = errno;
        cli_lines_close(l);
        return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", standard ? "standard input" : path, rf__os_reason(e));
    }
    if (folder || st.kind == RF__OS_FOLDER) {
        const char *name = l->name;
        cli_lines_close(l);
        return rf_fail(why, RF_EIO, "%.200s: expected a file, got a directory", name);
    }
    return RF_OK;
}

void cli_lines_close(cli_lines *l)
{
    if (l->source) rf_source_close(l->source);
    else if (l->fd > 0) rf__os_close(l->fd);
    free(l->buffer);
    *l = (cli_lines){.fd = -1};
}

static rf_status unpack(cli_lines *l, rf_error *why)
{
    size_t got = 0;
    const rf_status status = rf_source_read(l->source, l->buffer + l->to, l->capacity - l->to, &got, why);
    l->ended = !status && !got;
    l->to += got;
    return status;
}

/* The first bytes show whether the file is compressed.  They are awaited, but no more, so that each line is answered
 * when it arrives. */
static rf_status detect_format(cli_lines *l, rf_error *why)
{
    const int compressed = rf_source_compressed(l->name, l->buffer, l->to);
    l->plain = !compressed || (compressed < 0 && l->ended);
    if (compressed <= 0) return RF_OK;
    const rf_status status = rf_source_continue(l->ctx, l->fd, l->buffer, l->to, l->name, &l->source, why);
    l->to = 0;
    if (status) l->fd = -1;
    return status ? status : unpack(l, why);
}

static rf_status read_some(cli_lines *l, rf_error *why)
{
    for (;;) {
        const int64_t got = cli_os_read(l->fd, l->buffer + l->to, l->capacity - l->to);
        if (got < 0 && errno == EINTR && !cli_stopped()) continue;
        if (got < 0 && errno == EINTR) l->ended = true;
        else if (got < 0) return rf_fail(why, RF_EIO, "%.200s: cannot read: %s", l->name, rf__os_reason(errno));
        if (got == 0) l->ended = true;
        if (got > 0) l->to += (size_t)got;
        return l->plain ? RF_OK : detect_format(l, why);
    }
}

static rf_status fill_buffer(cli_lines *l, rf_error *why)
{
    if (l->from) {
        memmove(l->buffer, l->buffer + l->from, l->to - l->from);
        l->to -= l->from;
        l->base += l->from;
        l->from = 0;
    }
    if (l->to > CLI_LINE_MAX)
        return rf_fail(why, RF_EDATA, "%.200s:%llu: line: expected at most %d bytes, got more", l->name,
                       (unsigned long long)cli_lines_number(l, l->number + 1), CLI_LINE_MAX);
    if (l->to + CHUNK > l->capacity) {
        const size_t wide = l->capacity ? 2 * l->capacity : 2 * CHUNK;
        char *buffer = realloc(l->buffer, wide);
        if (!buffer) return rf_fail(why, RF_ENOMEM, "%.200s: out of memory for a line of %zu bytes", l->name, wide);
        l->buffer = buffer;
        l->capacity = wide;
    }
    return l->source ? unpack(l, why) : read_some(l, why);
}

rf_status cli_lines_next(cli_lines *l, const char **line, size_t *size, rf_error *why)
{
    size_t seen = 0;                                     /* bytes after `from` that contain no line feed */
    *line = NULL;
    for (;;) {
        const char *at = l->buffer ? l->buffer + l->from : "";
        const size_t have = l->to - l->from;
        const char *feed = have > seen ? memchr(at + seen, '\n', have - seen) : NULL;
        if (cli_stopped()) return RF_OK;
        if (feed || (l->ended && have)) {
            size_t n = feed ? (size_t)(feed - at) : have;
            const bool first = !cli_lines_at(l);
            l->from += n + (feed != NULL);
            l->number++;
            l->marked = first && n >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3);
            if (l->marked) {
                at += 3;
                n -= 3;
                if (!n && !feed) return RF_OK;          /* nothing but the mark */
            }
            l->returned = n && at[n - 1] == '\r';
            n -= l->returned;
            if (!feed && first && memchr(at, '\r', n)) return rf_source_no_lines(l->name, why);
            if (first && rf_source_wide(l->name, at, n, why)) return why->code;
            const size_t good = rf_utf8_check(at, n);
            if (good < n)
                return rf_fail(why, RF_EDATA, "%.200s:%llu: byte %zu (0x%02x) is not UTF-8%s", l->name,
                               (unsigned long long)cli_lines_number(l, l->number), good + 1, (unsigned char)at[good],
                               rf_utf8_advice(at, n));
            *line = at;
            *size = n;
            return RF_OK;
        }
        if (l->ended) return RF_OK;
        seen = have;
        const rf_status status = fill_buffer(l, why);
        if (status) return status;
    }
}

uint64_t cli_lines_at(const cli_lines *l) { return l->base + l->from; }

rf_status cli_lines_go(cli_lines *l, uint64_t at, rf_error *why)
{
    rf_status status = RF_OK;
    while (!status && !l->plain && !l->source && !l->ended) status = fill_buffer(l, why);       /* compressed or not */
    if (status) return status;
    l->number = 0;
    l->begun = at;
    if (!l->source) {
        if (rf__os_seek(l->fd, (int64_t)at) < 0)
            return rf_fail(why, RF_EIO, "%.200s: cannot go to byte %llu: %s", l->name, (unsigned long long)at,
                           rf__os_reason(errno));
        l->from = l->to = 0;
        l->base = at;
        l->ended = false;
        return RF_OK;
    }
    while (!status && l->base + l->to < at && !l->ended) {
        l->from = l->to;
        status = fill_buffer(l, why);
    }
    if (cli_stopped()) return status;
    if (!status && (at < l->base + l->from || at > l->base + l->to))
        return rf_fail(why, RF_EDATA, "%.200s: expected %llu bytes of text or more, got %llu", l->name,
                       (unsigned long long)at, (unsigned long long)(l->base + l->to));
    if (!status) l->from = (size_t)(at - l->base);
    return status;
}

uint64_t cli_lines_number(const cli_lines *l, uint64_t number)
{
    char block[CHUNK];
    rf_source *s;
    size_t got = 1;
    uint64_t left = l->begun;
    if (!left || !l->ctx || rf_source_open(l->ctx, l->name, &s, NULL)) return number;
    while (left && got && !rf_source_read(s, block, left < sizeof block ? (size_t)left : sizeof block, &got, NULL)) {
        for (size_t i = 0; i < got; i++) number += block[i] == '\n';
        left -= got;
    }
    rf_source_close(s);
    return number;
}

bool cli_lines_ready(const cli_lines *l)
{
    if (l->source) return true;
    if (l->to > l->from && memchr(l->buffer + l->from, '\n', l->to - l->from)) return true;
    return !l->ended && cli_os_ready(l->fd);
}

bool cli_texts_ready(const cli_texts *t)
{
    return t->from_lines ? cli_lines_ready(&t->lines) : t->next < t->operands->n;
}

rf_status cli_texts_open(const rf_ctx *ctx, cli_texts *t, const cli_list *operands, rf_error *why)
{
    *t = (cli_texts){.operands = operands, .from_lines = operands->n == 0};
    t->lines.fd = -1;
    return t->from_lines ? cli_lines_open(ctx, &t->lines, "-", why) : RF_OK;
}

rf_status cli_texts_next(cli_texts *t, const char **text, size_t *size, rf_error *why)
{
    *text = NULL;
    if (t->from_lines) return cli_lines_next(&t->lines, text, size, why);
    if (t->next == t->operands->n || cli_stopped()) return RF_OK;
    const char *at = t->operands->item[t->next++];
    const size_t n = strlen(at), good = rf_utf8_check(at, n);
    if (good < n)
        return rf_fail(why, RF_EDATA, "text %d: byte %zu (0x%02x) is not UTF-8%s", t->next, good + 1,
                       (unsigned char)at[good], rf_utf8_advice(at, n));
    *text = at;
    *size = n;
    return RF_OK;
}

void cli_texts_close(cli_texts *t)
{
    if (t->from_lines) cli_lines_close(&t->lines);
}

uint64_t cli_texts_number(const cli_texts *t) { return t->from_lines ? t->lines.number : (uint64_t)t->next; }

rf_status cli_texts_fail(const cli_texts *t, uint64_t number, rf_error *why, const rf_error *inner)
{
    if (t->from_lines) return cli_at_line(why, t->lines.name, number, inner);
    if (t->operands->n > 1) return rf_fail(why, inner->code, "text %d: %.290s", (int)number, inner->text);
    return rf_fail(why, inner->code, "%s", inner->text);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* _exits with 141. */
static _Noreturn void end_closed_pipe(void)
{
    cli_end(128 + 13);
}

static rf_status refused(cli_out *o, const char *verb, rf_error *why)
{
    const int e = errno;
    if (e == EPIPE && !o->temporary) {
        cli_out_discard(o);
        end_closed_pipe();
    }
    return rf_fail(why, RF_EIO, "%.200s: cannot %s: %s", o->path ? o->path : "standard output", verb, rf__os_reason(e));
}

static char *join(const char *a, const char *b)
{
    const size_t n = strlen(a) + strlen(b) + 1;
    char *s = malloc(n);
    if (s) snprintf(s, n, "%s%s", a, b);
    return s;
}

char *cli_target(const char *path)
{
    enum { LINKS = 40 };                                /* the system's limit of links */
    char link[4096];
    char *at = join(path, "");
    for (int n = 0; at && n < LINKS; n++) {
        if (!cli_os_link(at, link, sizeof link)) break;
        const size_t folder = cli_os_absolute(link) ? 0 : (size_t)(cli_file_name(at) - at);
        at[folder] = 0;
        char *next = join(at, link);
        free(at);
        at = next;
    }
    return at;
}

rf_status cli_not_input(const char *output, const char *input, rf_error *why)
{
    rf__os_state a, b;
    if (!output || !input || !strcmp(output, "-") || rf__os_look(output, &a) || a.kind != RF__OS_FILE) return RF_OK;
    if (!strcmp(input, "-") ? rf__os_look_file(0, &b) : rf__os_look(input, &b)) return RF_OK;
    if (!rf__os_same(&a, &b)) return RF_OK;
    return rf_fail(why, RF_EARG, "--output: %.200s is also an input and would be overwritten; choose another name",
                   output);
}

static rf_status open_temporary(cli_out *o, unsigned mode, rf_error *why)
{
    if (!(o->temporary = join(o->path, ".tmp-XXXXXX"))) return rf_fail(why, RF_ENOMEM, "out of memory");
    o->fd = rf__os_temporary_file(o->temporary, mode);
    if (o->fd >= 0) {
        cli_incomplete(o->temporary);
        return RF_OK;
    }
    const int e = errno;
    free(o->temporary);
    o->temporary = NULL;
    errno = e;
    return refused(o, "create", why);
}

static rf_status open_file(cli_out *o, const char *given, rf_error *why)
{
    rf__os_state st;
    const bool exists = !rf__os_look(given, &st);
    const bool circle = !exists && errno == ELOOP;
    if (!(o->path = cli_target(given))) return rf_fail(why, RF_ENOMEM, "out of memory");
    const char *path = o->path;
    errno = ELOOP;
    if (circle) return refused(o, "open", why);
    if (exists && st.kind == RF__OS_FOLDER)
        return rf_fail(why, RF_EIO, "%.200s: expected a file, got a directory", path);
    if (exists && st.kind != RF__OS_FILE) {
        o->fd = rf__os_open(given, RF__OS_WRITE_ONLY);                  /* a pipe's name is not in any folder         */
        return o->fd < 0 ? refused(o, "open", why) : RF_OK;
    }
    if (exists && !rf__os_writable(path)) return refused(o, "write", why);
    return open_temporary(o, exists ? st.mode : rf__os_new_mode(), why);            /* an existing file keeps it */
}

rf_status cli_out_open(cli_out *o, const char *path, rf_error *why)
{
    *o = (cli_out){.fd = -1, .begin = -1};
    rf_status status = RF_OK;
    bool appends;
    if (!path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/fd/1")) {
        o->fd = 1;
        if (cli_os_output(1, &appends)) status = refused(o, "write", why);
    } else {
        status = open_file(o, path, why);
    }
    if (!status && !(o->buffer = malloc(OUT_BUFFER))) status = rf_fail(why, RF_ENOMEM, "out of memory");
    if (!status) {
        rf__os_state st;
        const bool regular = !rf__os_look_file(o->fd, &st) && st.kind == RF__OS_FILE;
        if (regular && !cli_os_output(o->fd, &appends) && !appends) o->begin = rf__os_position(o->fd);
        o->terminal = rf__os_terminal(o->fd);
    } else {
        cli_out_discard(o);
    }
    return status;
}

const char *cli_temporary_place(void)
{
    const char *given = cli_os_variable("TMPDIR");
    return given && *given ? given : rf__os_temporary_place();
}

rf_status cli_out_spool(cli_out *o, rf_error *why)
{
    char name[4096];
    *o = (cli_out){.fd = -1, .begin = -1};
    const int n = snprintf(name, sizeof name, "%s/roformer-XXXXXX", cli_temporary_place());
    if (n > 0 && (size_t)n < sizeof name) o->fd = rf__os_temporary_file(name, 0600);
    if (o->fd < 0)
        return rf_fail(why, RF_EIO, "%.200s: cannot create a temporary file: %s", name, rf__os_reason(errno));
    rf__os_remove(name);
    o->begin = 0;
    o->path = join(name, "");
    o->buffer = malloc(OUT_BUFFER);
    if (o->path && o->buffer) return RF_OK;
    cli_out_discard(o);
    return rf_fail(why, RF_ENOMEM, "out of memory");
}

rf_status cli_out_copy(cli_out *to, cli_out *spool, rf_error *why)
{
    char chunk[CHUNK];
    int64_t at = 0;
    rf_status status = cli_out_flush(spool, why);
    while (!status) {
        const int64_t got = rf__os_read_at(spool->fd, chunk, sizeof chunk, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return rf_fail(why, RF_EIO, "%.200s: cannot read back: %s", spool->path, rf__os_reason(errno));
        if (got == 0) break;
        at += got;
        status = cli_out_write(to, chunk, (size_t)got, why);
    }
    return status;
}

static rf_status write_all(cli_out *o, const char *p, size_t size, rf_error *why)
{
    while (size) {
        const int64_t n = rf__os_write(o->fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(o, "write", why);
        p += n;
        size -= (size_t)n;
    }
    return RF_OK;
}

/* One write has whole characters, or bytes that are never sent to a terminal (cmd_embed.c). */
static rf_status write_bytes(cli_out *o, const char *p, size_t size, rf_error *why)
{
    rf_status status = RF_OK;
    if (!o->terminal) return write_all(o, p, size, why);
    for (size_t n, control; size && !status; p += n + control, size -= n + control) {
        n = cli_shown(p, size, true, &control);
        status = write_all(o, p, n, why);
        if (!status && control) status = write_all(o, "?", 1, why);
    }
    return status;
}

rf_status cli_out_flush(cli_out *o, rf_error *why)
{
    const size_t n = o->used;
    o->used = 0;
    return write_bytes(o, o->buffer, n, why);
}

rf_status cli_out_write(cli_out *o, const void *data, size_t size, rf_error *why)
{
    rf_status status = RF_OK;
    if (o->used + size > OUT_BUFFER) status = cli_out_flush(o, why);
    if (status) return status;
    o->written += size;
    if (size > OUT_BUFFER) return write_bytes(o, data, size, why);
    memcpy(o->buffer + o->used, data, size);
    o->used += size;
    return RF_OK;
}

bool cli_out_seekable(const cli_out *o) { return o->begin >= 0; }

rf_status cli_out_patch(cli_out *o, uint64_t at, const void *data, size_t size, rf_error *why)
{
    rf_status status = cli_out_flush(o, why);
    if (status) return status;
    errno = ESPIPE;
    if (o->begin < 0 || rf__os_write_at(o->fd, data, size, o->begin + (int64_t)at) != (int64_t)size)
        return refused(o, "go back", why);
    return RF_OK;
}

rf_status cli_out_commit(cli_out *o, rf_error *why)
{
    rf_status status = cli_out_flush(o, why);
    if (!status && o->temporary && rf__os_sync(o->fd)) status = refused(o, "sync", why);
    const int fd = o->fd;
    o->fd = -1;
    if (rf__os_close(fd) && !status) status = refused(o, "close", why);
    if (!status && o->temporary && rf__os_rename(o->temporary, o->path)) status = refused(o, "replace", why);
    if (!status && o->temporary) {
        cli_complete(o->temporary);
        free(o->temporary);
        o->temporary = NULL;
    }
    cli_out_discard(o);
    return status;
}

void cli_out_discard(cli_out *o)
{
    if (o->fd > 2) rf__os_close(o->fd);
    if (o->temporary) {
        rf__os_remove(o->temporary);
        cli_complete(o->temporary);
    }
    free(o->temporary);
    free(o->path);
    free(o->buffer);
    *o = (cli_out){.fd = -1, .begin = -1};
}

rf_status cli_flush(rf_error *why)
{
    const int before = ferror(stdout) ? errno : 0;          /* of the print that has just failed */
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return RF_OK;
    const int e = errno ? errno : before ? before : EIO;
    if (cli_os_pipe_closed(e)) end_closed_pipe();
    return rf_fail(why, RF_EIO, "standard output: cannot write: %s", rf__os_reason(e));
}

rf_status cli_print_json(json_t *value, size_t flags, rf_error *why)
{
    if (!value) return rf_fail(why, RF_ENOMEM, "out of memory: a line of JSON");
    char *text = cli_json_dump(value, flags | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY);
    json_decref(value);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: a line of JSON");
    const bool failed = puts(text) == EOF;
    free(text);
    return failed ? cli_flush(why) : RF_OK;
}
