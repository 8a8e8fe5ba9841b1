/* source.c — the bytes of a file, decompressed if it is gzip or zstd.
 *
 *     file --read--> in[128 KiB] --copy | inflate | ZSTD_decompressStream--> the caller's buffer
 *
 * The first bytes determine the format. A file whose name is that of a compressed one, with other contents, is refused.
 * Memory is bounded by the window (zstd: 128 MiB), output by the expansion: real text stays far below 1000 : 1. */
#include <errno.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "base/os/os.h"
#include "data/documents/source.h"

enum { IN = 128 << 10, WINDOW_LOG = 27, EXPANSION = 1000, EXPANSION_FROM = 64 << 20 };

enum format { PLAIN, GZIP, ZSTD, XZ, BZIP2, POINTER, PARQUET, ZIP, UNDECIDED };

struct rf_source {
    const rf_ctx *ctx;
    const char *name;
    int fd;
    const unsigned char *memory;        /* instead of fd                                                             */
    size_t memory_size;
    enum format kind;                   /* PLAIN, GZIP or ZSTD                                                       */
    z_stream z;
    ZSTD_DCtx *d;
    bool inside;                        /* a frame or member has begun and not ended                                 */
    bool ended;                         /* the file has no more bytes                                                */
    size_t at, end;                     /* in `in`                                                                   */
    uint64_t taken, given;              /* bytes read from the file, bytes returned                                  */
    unsigned char in[IN];
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static rf_status take(rf_source *s, rf_error *why)
{
    memmove(s->in, s->in + s->at, s->end - s->at);
    s->end -= s->at;
    s->at = 0;
    int64_t n;
    if (s->memory) {
        n = (int64_t)(s->memory_size < IN - s->end ? s->memory_size : IN - s->end);
        memcpy(s->in + s->end, s->memory, (size_t)n);
        s->memory += n;
        s->memory_size -= (size_t)n;
    } else {
        do n = rf__os_read(s->fd, s->in + s->end, IN - s->end);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return rf_fail(why, RF_EIO, "%s: cannot read after byte %llu: %s", s->name, (unsigned long long)s->taken,
                           rf__os_reason(errno));
    }
    if (!n) s->ended = true;
    s->taken += (uint64_t)n;
    s->end += (size_t)n;
    return RF_OK;
}

uint64_t rf__source_used(const rf_source *s) { return s->taken - (s->end - s->at); }

static rf_status damaged(const rf_source *s, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: %s at byte %llu", s->name, what, (unsigned long long)rf__source_used(s));
}

/* ---- the format -------------------------------------------------------------------------------------------------- */

static bool begins(const rf_source *s, const char *magic, size_t n)
{
    return s->end - s->at >= n && !memcmp(s->in + s->at, magic, n);
}

/* The formats by their first bytes. A zstd file may begin with a frame to skip, 0x184D2A50 to 5F (RFC 8878, 3.1.2). */
static enum format format_of(const char *head, size_t size)
{
    static const struct { enum format format; size_t n; const char *magic, *mask; } known[] = {    /* NULL: all bits */
        {GZIP, 2, "\x1F\x8B", "\xFF\xFF"},
        {ZSTD, 4, "\x28\xB5\x2F\xFD", "\xFF\xFF\xFF\xFF"},
        {ZSTD, 4, "\x50\x2A\x4D\x18", "\xF0\xFF\xFF\xFF"},
        {XZ, 5, "\xFD" "7zXZ", "\xFF\xFF\xFF\xFF\xFF"},
        {BZIP2, 4, "BZh0", "\xFF\xFF\xFF\xF0"},
        {POINTER, sizeof RF__LFS_POINTER - 1, RF__LFS_POINTER, NULL},
        {PARQUET, 4, "PAR1", NULL},
        {ZIP, 4, "PK\x03\x04", NULL}};
    for (size_t i = 0; i < RF_COUNT(known); i++) {
        size_t n = 0;
        while (n < size && n < known[i].n &&
               ((head[n] ^ known[i].magic[n]) & (known[i].mask ? known[i].mask[n] : 0xFF)) == 0)
            n++;
        if (n == known[i].n) return known[i].format;
        if (n == size) return UNDECIDED;
    }
    return PLAIN;
}

static const char *format_of_name(const char *name)
{
    const size_t n = strlen(name);
    if (n >= 3 && !strcmp(name + n - 3, ".gz")) return "gzip";
    return n >= 4 && !strcmp(name + n - 4, ".zst") ? "zstd" : NULL;
}

/* An encoding of two or four bytes, recognized by its byte order mark or by zeros in the same places; NULL: none. */
static const char *wide_encoding(const char *data, size_t size)
{
    enum { LOOK = 4096, FEW = 4 };
    const size_t n = (size < LOOK ? size : LOOK) & ~(size_t)3, quarter = n / 4;
    size_t zeros[4] = {0, 0, 0, 0};
    if (size >= 4 && (!memcmp(data, "\xff\xfe\0\0", 4) || !memcmp(data, "\0\0\xfe\xff", 4))) return "UTF-32";
    if (size >= 2 && (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2))) return "UTF-16";
    for (size_t i = 0; i < n; i++) zeros[i & 3] += !data[i];
    if (quarter >= FEW && zeros[3] == quarter && zeros[2] * 2 > quarter && !zeros[0]) return "UTF-32LE";
    if (quarter >= FEW && zeros[0] == quarter && zeros[1] * 2 > quarter && !zeros[3]) return "UTF-32BE";
    const size_t even = zeros[0] + zeros[2], odd = zeros[1] + zeros[3];
    if (!even && odd >= FEW && 8 * odd >= n) return "UTF-16LE";
    return !odd && even >= FEW && 8 * even >= n ? "UTF-16BE" : NULL;
}

rf_status rf_source_wide(const char *name, const char *data, size_t size, rf_error *why)
{
    if (!(name && data)) return rf__missing("rf_source_wide", "name, data", why);
    const char *wide = wide_encoding(data, size);
    if (!wide) return RF_OK;
    const bool known = !strcmp(wide, "UTF-16") || !strcmp(wide, "UTF-16LE");
    const char *shell = known ? ", or in PowerShell: Get-Content FILE -Encoding Unicode | "
                                "Set-Content NEW -Encoding UTF8" : "";
    return rf_fail(why, RF_EUNSUPPORTED, "%s: expected UTF-8, got %s; convert it with iconv -f %s -t UTF-8%s", name,
                   wide, wide, shell);
}

static rf_status recognize(rf_source *s, rf_error *why)
{
    enum format found;
    while ((found = format_of((const char *)s->in + s->at, s->end - s->at)) == UNDECIDED && !s->ended) {
        const rf_status status = take(s, why);                     /* a pipe may give single bytes */
        if (status) return status;
    }
    if (found == XZ || found == BZIP2)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: expected gzip, zstd or uncompressed data, got %s", s->name,
                       found == XZ ? "xz" : "bzip2");
    if (found == POINTER)
        return rf_fail(why, RF_EDATA, "%s: expected text, got a pointer of Git LFS to the file; fetch the file: git "
                       "lfs pull", s->name);
    if (found == PARQUET || found == ZIP)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: expected text, got %s", s->name,
                       found == PARQUET ? "a table in Parquet; write it as CSV or JSON Lines (pandas: read_parquet, "
                                          "to_csv)"
                       : rf__ends_with(s->name, ".xlsx") ? "a workbook of Excel; save it as CSV UTF-8"
                                                         : "a zip archive; unpack it");
    const char *named = format_of_name(s->name);
    s->kind = found == UNDECIDED ? PLAIN : found;
    if (named && s->kind == PLAIN)
        return rf_fail(why, RF_EDATA, "%s: expected %s data, got %s; if it is text, rename it", s->name, named,
                       s->end > s->at ? "other bytes" : "an empty file");
    if (s->kind == GZIP && inflateInit2(&s->z, 15 + 16) != Z_OK)
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for gzip", s->name);
    if (s->kind == ZSTD) {
        s->d = ZSTD_createDCtx();
        if (!s->d || ZSTD_isError(ZSTD_DCtx_setParameter(s->d, ZSTD_d_windowLogMax, WINDOW_LOG)))
            return rf_fail(why, RF_ENOMEM, "%s: out of memory for zstd", s->name);
    }
    s->inside = s->kind != PLAIN;
    return RF_OK;
}

/* ---- the three formats ------------------------------------------------------------------------------------------- */

static rf_status copy(rf_source *s, char *to, size_t capacity, size_t *got)
{
    *got = s->end - s->at < capacity ? s->end - s->at : capacity;
    memcpy(to, s->in + s->at, *got);
    s->at += *got;
    return RF_OK;
}

static rf_status inflate_some(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why)
{
    if (!s->inside) {                                              /* between members; zeros may pad the end */
        while (s->at < s->end && !s->in[s->at]) s->at++;
        if (s->at == s->end) return RF_OK;
        if (s->end - s->at == 1 && !s->ended) return RF_OK;        /* half of a magic */
        if (!begins(s, "\x1F\x8B", 2)) return damaged(s, "neither the end nor another gzip member", why);
        inflateReset(&s->z);
        s->inside = true;
    }
    s->z.next_in = s->in + s->at;
    s->z.avail_in = (uInt)(s->end - s->at);
    s->z.next_out = (unsigned char *)to;
    s->z.avail_out = capacity < 1 << 30 ? (uInt)capacity : 1 << 30;
    const uInt before = s->z.avail_out;
    const int code = inflate(&s->z, Z_NO_FLUSH);
    s->at = s->end - s->z.avail_in;
    *got = before - s->z.avail_out;
    if (code == Z_STREAM_END) s->inside = false;
    else if (code == Z_MEM_ERROR) return rf_fail(why, RF_ENOMEM, "%s: out of memory for gzip", s->name);
    else if (code != Z_OK && code != Z_BUF_ERROR) return damaged(s, "damaged gzip data", why);
    return RF_OK;
}

static rf_status unpack_some(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why)
{
    if (!s->inside && s->at == s->end) return RF_OK;
    ZSTD_inBuffer in = {s->in + s->at, s->end - s->at, 0};
    ZSTD_outBuffer out = {to, capacity, 0};
    const size_t left = ZSTD_decompressStream(s->d, &out, &in);
    s->at += in.pos;
    *got = out.pos;
    s->inside = left != 0;
    if (!ZSTD_isError(left)) return RF_OK;
    s->inside = true;
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(left);
    if (code == ZSTD_error_memory_allocation) return rf_fail(why, RF_ENOMEM, "%s: out of memory for zstd", s->name);
    if (code == ZSTD_error_frameParameter_windowTooLarge)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: zstd window: expected at most %d MiB, got more", s->name,
                       1 << (WINDOW_LOG - 20));
    return damaged(s, "damaged zstd data", why);
}

rf_status rf_source_read(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why)
{
    if (!(s && to && got)) return rf__missing("rf_source_read", "source, to, got", why);
    for (*got = 0; capacity;) {
        const uint64_t used = rf__source_used(s);
        rf_status status = s->kind == PLAIN  ? copy(s, to, capacity, got)
                           : s->kind == GZIP ? inflate_some(s, to, capacity, got, why)
                                             : unpack_some(s, to, capacity, got, why);
        if (status) return status;
        if (*got) break;
        if (rf__source_used(s) != used) continue;                  /* a part without text */
        if (s->ended) {
            if (s->inside || s->at < s->end) return damaged(s, "the compressed data is cut off", why);
            break;
        }
        if ((status = take(s, why))) return status;
    }
    if (!s->given && rf_source_wide(s->name, to, *got, why)) return RF_EUNSUPPORTED;
    s->given += *got;
    const uint64_t used = rf__source_used(s);
    if (s->kind != PLAIN && s->given > EXPANSION_FROM && s->given / EXPANSION > used)
        return rf_fail(why, RF_EDATA, "%s: %llu compressed bytes expand to more than %llu, over %d to 1: not text",
                       s->name, (unsigned long long)used, (unsigned long long)s->given, EXPANSION);
    return RF_OK;
}

rf_status rf_source_no_lines(const char *name, rf_error *why)
{
    static const char expected[] = "line ends: expected LF or CRLF, got CR alone; convert them with tr '\\r' '\\n'";
    if (!name) return rf__missing("rf_source_no_lines", "name", why);
    return rf_fail(why, RF_EDATA, "%.200s: %s", name, expected);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* `head`: bytes that have already been read from fd. */
static rf_status begin_after(const rf_ctx *ctx, int fd, const char *head, size_t seen, const void *data, size_t size,
                             const char *name, rf_source **out, rf_error *why)
{
    rf_source *s = rf__alloc(ctx, sizeof *s);
    rf_status status = RF_OK;
    if (s) {
        memset(s, 0, offsetof(rf_source, in));
        s->ctx = ctx;
        s->name = name;
        s->fd = fd;
        s->memory = data;
        s->memory_size = size;
        s->taken = s->end = seen;
        if (seen) memcpy(s->in, head, seen);
        status = recognize(s, why);
        if (!status) *out = s;
        else rf_source_close(s);
        return status;
    }
    if (fd > 0) rf__os_close(fd);
    return rf_fail(why, RF_ENOMEM, "%s: out of memory", name);
}

static rf_status begin(const rf_ctx *ctx, int fd, const void *data, size_t size, const char *name, rf_source **out,
                       rf_error *why)
{
    return begin_after(ctx, fd, NULL, 0, data, size, name, out, why);
}

int rf_source_compressed(const char *name, const char *head, size_t size)
{
    if (!head) return -1;
    if (name && format_of_name(name)) return 1;
    const enum format found = format_of(head, size);
    return found == UNDECIDED ? -1 : found != PLAIN;
}

rf_status rf_source_continue(const rf_ctx *ctx, int fd, const char *head, size_t size, const char *name,
                             rf_source **out, rf_error *why)
{
    const bool missing = !(ctx && (head || !size) && name && out);
    if (!missing && size <= IN) return begin_after(ctx, fd, head, size, NULL, 0, name, out, why);
    if (fd > 0) rf__os_close(fd);
    if (missing) return rf__missing("rf_source_continue", "ctx, head, name, out", why);
    return rf_fail(why, RF_EARG, "%s: expected at most %d bytes, got %zu", name, (int)IN, size);
}

rf_status rf_source_open(const rf_ctx *ctx, const char *path, rf_source **out, rf_error *why)
{
    if (!(ctx && path && out)) return rf__missing("rf_source_open", "ctx, path, out", why);
    if (!strcmp(path, "-")) return begin(ctx, 0, NULL, 0, "standard input", out, why);
    const int fd = rf__os_open(path, RF__OS_READ);
    rf__os_state st;
    if (fd < 0 && errno != EISDIR) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
    if (fd < 0 || (!rf__os_look_file(fd, &st) && st.kind == RF__OS_FOLDER)) {
        if (fd >= 0) rf__os_close(fd);
        return rf_fail(why, RF_EIO, "%s: expected a file, got a directory", path);
    }
    rf__os_sequential(fd);
    return begin(ctx, fd, NULL, 0, path, out, why);
}

rf_status rf__source_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf_source **out,
                                 rf_error *why)
{
    return begin(ctx, -1, size ? data : "", size, name, out, why);
}

void rf_source_close(rf_source *s)
{
    if (!s) return;
    if (s->kind == GZIP) inflateEnd(&s->z);
    ZSTD_freeDCtx(s->d);
    if (s->fd > 0) rf__os_close(s->fd);                              /* standard input is not closed */
    rf__free(s->ctx, s);
}
