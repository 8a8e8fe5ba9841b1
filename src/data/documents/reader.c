/* reader.c — reads documents from text files.
 *
 *     source.c --bytes--> line buffer --pieces of lines--> a format's rule --> document buffer --slices--> the caller
 *
 * A piece is a line, or as much of it as fits into the line buffer; a slice is a document, or as much of it as
 * max_document allows. So a line of a gigabyte needs only the memory of the two buffers. Only a JSON line must be in
 * memory completely: it has its own limit. */
#include <stdio.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "data/documents/reader.h"
#include "data/documents/reader_state.h"
#include "data/documents/source.h"
#include "text/unicode/unicode.h"

const char *rf__reader_name(const rf_reader *r)
{
    const char *path = r->file[r->now].path;
    return strcmp(path, "-") ? path : "standard input";
}

rf_status rf__reader_no_memory(const rf_reader *r, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "%s:%lld: out of memory", rf__reader_name(r), (long long)r->number);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Reads more bytes into the line buffer; sets `ended` if there are none. */
static rf_status fill(rf_reader *r, rf_error *why)
{
    size_t got = 0;
    memmove(r->line, r->line + r->at, r->end - r->at);
    r->end -= r->at;
    r->at = 0;
    if (r->end == r->line_capacity && !rf__grow(r->ctx, &r->line, &r->line_capacity, 2 * r->line_capacity, 1))
        return rf__reader_no_memory(r, why);
    const rf_status s = rf_source_read(r->source, r->line + r->end, r->line_capacity - r->end, &got, why);
    r->end += got;
    r->ended = !got && !s;
    return s;
}

/* Where a full buffer may be cut: before an incomplete character, before a '\r' that a '\n' may follow, and before an
 * incomplete entity (&quot;), if there are any. */
static size_t cut_line(const char *p, size_t n, bool entities)
{
    enum { LONGEST = 8 };
    size_t back = 1;
    for (size_t i = 1; entities && i < LONGEST && i < n && p[n - i] != ';'; i++)
        if (p[n - i] == '&') return n - i;
    while (back < 4 && ((unsigned char)p[n - back] & 0xC0) == 0x80) back++;
    const unsigned char lead = (unsigned char)p[n - back];
    const size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > back) return n - back;
    return p[n - 1] == '\r' ? n - 1 : n;
}

/* The next piece, valid until the next call. *whole: the line ends with it. *p NULL: the file has ended. */
static rf_status next_piece(rf_reader *r, const char **p, size_t *n, bool *whole, rf_error *why)
{
    const size_t most = r->format == RF_TEXT_JSONL ? RF__READER_JSON_LINE : RF__READER_LINE;
    size_t seen = 0;
    const char *newline;
    for (;;) {
        newline = memchr(r->line + r->at + seen, '\n', r->end - r->at - seen);
        seen = r->end - r->at;
        if (newline || r->ended || seen >= most) break;
        const rf_status s = fill(r, why);
        if (s) return s;
    }
    *p = r->line + r->at;
    *whole = newline || r->ended;
    *n = newline ? (size_t)(newline - *p) : *whole ? seen : cut_line(*p, seen, r->format == RF_TEXT_WIKI);
    if (!*whole && r->format == RF_TEXT_JSONL)
        return rf_fail(why, RF_EDATA, "%s:%lld: expected a line of at most %d bytes, got a longer one",
                       rf__reader_name(r), (long long)r->number, RF__READER_JSON_LINE);
    if (r->ended && !seen && !r->column) {
        *p = NULL;
        return RF_OK;
    }
    r->at += *n + (newline != NULL);
    const size_t bad = rf_utf8_check(*p, *n);
    if (bad < *n)
        return rf_fail(why, RF_EDATA, "%s:%lld: byte %zu of the line (0x%02X) is not UTF-8%s", rf__reader_name(r),
                       (long long)r->number, r->column + bad + 1, (unsigned char)(*p)[bad], rf_utf8_advice(*p, *n));
    r->column += *n;
    if (*whole && *n && (*p)[*n - 1] == '\r') --*n;
    if (r->number == 1 && memchr(*p, '\r', *n)) r->cr = true;
    return !newline && *whole && r->number == 1 && r->cr ? rf_source_no_lines(rf__reader_name(r), why) : RF_OK;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* Where to cut a text of more than `max` bytes: after a line or a word that ends in the last eighth, otherwise before a
 * character. */
static size_t cut_document(const char *p, size_t max)
{
    for (size_t i = max; i > max - max / 8; i--)
        if (p[i - 1] == '\n') return i;
    for (size_t i = max; i > max - max / 8; i--)
        if (rf__white(p[i - 1])) return i;
    size_t i = max;
    while (((unsigned char)p[i] & 0xC0) == 0x80) i--;
    return i;
}

/* Returns what is ready; false: nothing. */
static bool slice(rf_reader *r, rf_document *out)
{
    const size_t max = r->o.max_document;
    for (;;) {
        const size_t left = r->size - r->from;
        if (!left || (left <= max && !r->complete)) return false;
        const char *p = r->doc + r->from;
        const size_t n = left > max ? cut_document(p, max) : left;
        size_t a = 0, b = n;
        while (a < b && rf__white(p[a])) a++;
        while (a < b && rf__white(p[b - 1])) b--;
        r->from += n;
        if (a == b) continue;
        *out =
            (rf_document){p + a, b - a, r->now, r->index++, r->continues, r->format == RF_TEXT_FASTA ? r->title : ""};
        r->continues = true;
        return true;
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static rf_status open_file(rf_reader *r, rf_error *why)
{
    const struct rf__reader_file *f = &r->file[r->now];
    rf__os_state st;
    r->number = 1;
    if (f->is.size >= 0 && !r->memory && !rf__os_look(f->path, &st) && st.size != f->is.size)
        return rf_fail(why, RF_EDATA, "%s: expected the size of the start, %lld bytes, got %lld", f->path,
                       (long long)f->is.size, (long long)st.size);
    if (!strcmp(f->path, "-")) {
        if (r->used_stdin) return rf_fail(why, RF_EARG, "-: expected standard input once, got it twice");
        r->used_stdin = true;
    }
    rf_status s = r->memory ? rf__source_from_memory(r->ctx, r->memory, r->memory_size, f->path, &r->source, why)
                            : rf_source_open(r->ctx, f->path, &r->source, why);
    r->at = r->end = r->from = r->size = r->column = 0;
    r->ended = r->complete = r->file_done = r->continues = r->inside = r->title_next = r->cr = r->stop = false;
    *r->title = 0;
    r->index = 0;
    while (!s && !r->ended && r->end < 4096) s = fill(r, why);     /* enough to recognize the format */
    if (s) return s;
    if (r->end >= 3 && !memcmp(r->line, "\xEF\xBB\xBF", 3)) r->at = 3;
    r->format = rf__reader_format(r);
    return RF_OK;
}

static rf_status end_of_file(rf_reader *r, rf_error *why)
{
    const struct rf__reader_file *f = &r->file[r->now];
    const uint64_t used = rf__source_used(r->source);
    if (f->is.size >= 0 && used != (uint64_t)f->is.size)
        return rf_fail(why, RF_EDATA, "%s: expected %lld bytes, got %llu", f->path, (long long)f->is.size,
                       (unsigned long long)used);
    if (rf__reader_end(r, why)) return why->code;
    r->complete = r->file_done = true;
    return RF_OK;
}

static void close_file(rf_reader *r)
{
    rf_source_close(r->source);
    r->source = NULL;
    r->file_done = false;
    r->index = 0;
}

/* Processes one more piece of a line. */
static rf_status advance(rf_reader *r, rf_error *why)
{
    const char *p;
    size_t n;
    bool whole;
    const bool first = !r->column;
    rf_status s = next_piece(r, &p, &n, &whole, why);
    if (s) return s;
    if (!p) return end_of_file(r, why);
    s = rf__reader_apply(r, p, n, first, whole, why);
    if (whole) {
        r->number++;
        r->column = 0;
    }
    return s;
}

static rf_status next(rf_reader *r, rf_document *out, rf_error *why)
{
    for (;;) {
        if (slice(r, out)) return RF_OK;
        if (r->complete) {
            r->complete = r->continues = false;
            r->from = r->size = 0;
        }
        if (r->file_done) {
            close_file(r);
            r->now++;
        }
        rf_status s = RF_OK;
        if (!r->source) {
            if (r->now == r->files) {
                *out = (rf_document){.file = r->now};
                return RF_OK;
            }
            s = open_file(r, why);
        }
        if (!s) s = advance(r, why);
        if (s) return s;
    }
}

rf_status rf_reader_next(rf_reader *r, rf_document *out, rf_error *why)
{
    if (!(r && out)) return rf__missing("rf_reader_next", "reader, out", why);
    *out = (rf_document){.file = r->now};
    if (!r->stuck.code) next(r, out, &r->stuck);
    return r->stuck.code ? rf_fail(why, r->stuck.code, "%s", r->stuck.text) : RF_OK;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

rf_reader_position rf__reader_tell(const rf_reader *r) { return (rf_reader_position){r->now, r->index}; }

rf_status rf__reader_seek(rf_reader *r, rf_reader_position position, rf_error *why)
{
    if (!r) return rf__missing("rf__reader_seek", "reader", why);
    if (position.file < 0 || position.file > r->files || position.index < 0 ||
        (position.file == r->files && position.index))
        return rf_fail(why, RF_EARG, "seek: expected a place within %d files, got file %d, document %lld", r->files,
                       position.file, (long long)position.index);
    close_file(r);
    r->stuck = (rf_error){0};
    r->now = position.file;
    r->from = r->size = 0;
    r->complete = r->continues = false;
    for (int64_t i = 0; i < position.index; i++) {
        rf_document d;
        const rf_status s = rf_reader_next(r, &d, why);
        if (s) return s;
        if (!d.text || d.file != position.file)
            return rf_fail(why, RF_EDATA,
                           "%s: document: expected one of its %lld, got %lld", r->file[position.file].path,
                           (long long)i, (long long)position.index);
    }
    return RF_OK;
}

double rf_reader_share(const rf_reader *r)
{
    double before = 0, total = 0;
    for (int i = 0; i < r->files; i++) {
        if (r->file[i].is.size < 0) return -1;
        if (i < r->now) before += (double)r->file[i].is.size;
        total += (double)r->file[i].is.size;
    }
    if (r->source) before += (double)rf__source_used(r->source);
    return total > 0 ? before / total : 1;
}

/* ---- what the documents depend on ---- */

static uint64_t hash_of_options(const rf_reader *r)
{
    const int64_t o[] = {(int64_t)r->o.format, (int64_t)r->o.split, r->o.keep_titles != 0, (int64_t)r->o.max_document};
    return rf__hash64(r->field, strlen(r->field), rf__hash64(o, sizeof o, r->o.residues_apart != 0));
}

static uint64_t add_file(const rf_reader *r, int i, uint64_t content, uint64_t hash)
{
    const char *name = rf__file_name(r->file[i].path);
    const uint64_t known[] = {(uint64_t)r->file[i].is.size, content};
    return rf__hash64(known, sizeof known, rf__hash64(name, strlen(name), hash));
}

rf_status rf__reader_fingerprint(const rf_reader *r, uint64_t *out, rf_error *why)
{
    if (!(r && out)) return rf__missing("rf__reader_fingerprint", "reader, out", why);
    uint64_t hash = hash_of_options(r);
    for (int i = 0; i < r->files; i++) {
        uint64_t content = 0;
        rf_status s = RF_OK;
        if (r->memory) content = rf__hash64(r->memory, r->memory_size, 0);
        else if (r->file[i].is.size >= 0) s = rf__content_hash(r->ctx, r->file[i].path, &content, why);
        if (s) return s;
        hash = add_file(r, i, content, hash);
    }
    *out = hash;
    return RF_OK;
}

uint64_t rf__reader_stamp(const rf_reader *r)
{
    uint64_t hash = hash_of_options(r);
    const double now = rf__wall_seconds();
    for (int i = 0; i < r->files; i++) {
        const uint64_t stamp = r->memory ? 0 : rf__content_stamp(&r->file[i].is, now);
        if (!stamp) return 0;
        hash = add_file(r, i, stamp, hash);
    }
    return hash;
}

rf_status rf__reader_residues(rf_reader *r, const rf_tokenizer *t, rf_error *why)
{
    bool proteins = r->o.format == RF_TEXT_FASTA;
    for (int i = 0; i < r->files && r->o.format == RF_TEXT_AUTO; i++)
        proteins |= rf_text_format_of(r->file[i].path) == RF_TEXT_FASTA;
    rf_residues how = RF_RESIDUES_JOINED;
    const rf_status status = proteins ? rf_tokenizer_residues(t, &how, why) : RF_OK;
    if (how == RF_RESIDUES_APART) r->o.residues_apart = 1;
    return status;
}

rf_status rf__reader_unchanged(const rf_reader *r, rf_error *why)
{
    for (int i = 0; i < r->files; i++)
        if (!r->memory && !rf__content_same(r->file[i].path, &r->file[i].is))
            return rf_fail(why, RF_EDATA,
                           "%s: expected the same content at the end of reading, got a changed file; start again",
                           r->file[i].path);
    return RF_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void rf_reader_options_init(rf_reader_options *o, size_t size)
{
    rf__options_init(o, size, &(rf_reader_options){0}, sizeof(rf_reader_options));
}

rf_status rf__reader_options_read(rf_reader_options *own, const rf_reader_options *given, rf_error *why)
{
    rf_reader_defaults(own);
    return rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_reader_options, max_document), given, "rf_reader_options",
                            why);
}

static rf_status make(const rf_ctx *ctx, int n, const rf_reader_options *options, rf_reader **out, rf_error *why)
{
    rf_reader_options o;
    if (rf__reader_options_read(&o, options, why)) return RF_EARG;
    if (n < 1) return rf_fail(why, RF_EARG, "text: expected a file, got none");
    if (!o.max_document) o.max_document = 1 << 20;
    if (o.max_document < 64 || o.max_document > 1 << 30)
        return rf_fail(why, RF_EARG, "max_document: expected 64 to %d, got %zu", 1 << 30, o.max_document);
    rf_reader *r = rf__calloc(ctx, 1, sizeof *r);
    if (!r) return rf_fail(why, RF_ENOMEM, "out of memory for a reader");
    r->ctx = ctx;
    r->o = o;
    r->field = rf__strdup(ctx, o.field ? o.field : "text");
    r->file = rf__calloc(ctx, (size_t)n, sizeof *r->file);
    r->line = rf__alloc(ctx, RF__READER_LINE);
    r->line_capacity = RF__READER_LINE;
    *out = r;
    return r->field && r->file && r->line ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory for a reader");
}

static rf_status add(rf_reader *r, const char *path, rf_error *why)
{
    struct rf__reader_file *f = &r->file[r->files];
    if (!path) return rf__missing("a reader", "each path", why);
    for (int i = 0; i < r->files; i++)
        if (!strcmp(path, "-") && !strcmp(r->file[i].path, "-"))
            return rf_fail(why, RF_EARG, "standard input: expected once, got it twice");
    if (!(f->path = rf__strdup(r->ctx, path))) return rf_fail(why, RF_ENOMEM, "out of memory for a reader");
    r->files++;
    return r->memory ? RF_OK : rf__content_read(path, &f->is, why);
}

rf_status rf_reader_open(const rf_ctx *ctx, const char *const paths[], int n, const rf_reader_options *options,
                         rf_reader **out, rf_error *why)
{
    if (!(ctx && (paths || n <= 0) && out)) return rf__missing("rf_reader_open", "ctx, paths, out", why);
    rf_reader *r = NULL;
    rf_status s = make(ctx, n, options, &r, why);
    for (int i = 0; i < n && !s; i++) s = add(r, paths[i], why);
    if (s) {
        rf_reader_close(r);
        return s;
    }
    *out = r;
    return RF_OK;
}

rf_status rf__reader_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                 const rf_reader_options *options, rf_reader **out, rf_error *why)
{
    rf_reader *r = NULL;
    rf_status s = make(ctx, 1, options, &r, why);
    if (!s) {
        r->memory = size ? data : "";
        r->memory_size = size;
        s = add(r, name, why);
    }
    if (s) {
        rf_reader_close(r);
        return s;
    }
    r->file->is.size = (int64_t)size;
    *out = r;
    return RF_OK;
}

void rf_reader_close(rf_reader *r)
{
    if (!r) return;
    for (int i = 0; i < r->files; i++) rf__free(r->ctx, r->file[i].path);
    rf_source_close(r->source);
    rf__free(r->ctx, r->file);
    rf__free(r->ctx, r->field);
    rf__free(r->ctx, r->line);
    rf__free(r->ctx, r->doc);
    rf__free(r->ctx, r);
}
