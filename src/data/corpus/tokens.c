/* tokens.c — the cache of ids: created once and checked on every start.
 *
 *     path.tmp-<pid>-<n>: ids as they come, lengths, header   ->   fsync   ->   rename to path   ->   fsync of the
 *     folder
 *
 * The file belongs to this machine: numbers are stored as in memory, and after any mismatch the cache is created
 * again. */
#include <errno.h>
#include <stdio.h>

#include "roformer/inspect/folder.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "data/documents/reader.h"
#include "data/corpus/tokens.h"
#include "text/tokenizer.h"

enum { VERSION = 3 };

typedef struct header {
    char magic[8];
    uint32_t version, width;
    uint64_t key, tokens, documents, held, hash;
    uint32_t content_crc, header_crc;
    uint64_t tokenizer, stamp;          /* stamp: of the text's files when it was created, 0: they were too new */
    uint32_t zero[6];
} header;
_Static_assert(sizeof(header) == 104, "the header is part of the file's format");


static uint32_t crc_of_header(const header *h)
{
    header copy = *h;
    copy.header_crc = 0;
    return rf__crc32c(0, &copy, sizeof copy);
}

/* ---- inputs of the ids ---- */

typedef struct source {
    rf_reader *text, *validation;
    double split;
    uint64_t tokenizer, key, stamp;     /* key: of all bytes of the text (hash_source); stamp: 0: unknown */
    bool once;
} source;

static bool read_once(const char *const *path, int n, const rf_reader *r)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(path[i], "-")) return true;
    return n && rf_reader_share(r) < 0;
}

static void close_source(source *s)
{
    rf_reader_close(s->text);
    rf_reader_close(s->validation);
}

static uint64_t hash_parts(const source *s, uint64_t text, uint64_t validation)
{
    uint64_t part[4] = {s->tokenizer, text, validation, 0};
    memcpy(&part[3], &s->split, sizeof s->split);
    return rf__hash64(part, sizeof part, VERSION);
}

/* Reads the whole text. */
static rf_status hash_source(source *s, rf_error *why)
{
    uint64_t text = 0, validation = 0;
    rf_status status = rf__reader_fingerprint(s->text, &text, why);
    if (!status && s->validation) status = rf__reader_fingerprint(s->validation, &validation, why);
    s->key = hash_parts(s, text, validation);
    return status;
}

static rf_status open_source(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *x, source *s, rf_error *why)
{
    *s = (source){0};
    rf_status status = rf_reader_open(ctx, x->text, x->texts, x->reader, &s->text, why);
    if (!status && x->validations)
        status = rf_reader_open(ctx, x->validation, x->validations, x->reader, &s->validation, why);
    if (status) {
        close_source(s);
        *s = (source){0};
        return status;
    }
    s->split = x->validations ? 0 : x->split;
    s->tokenizer = rf__tokenizer_fingerprint(t, VERSION);
    const uint64_t text = rf__reader_stamp(s->text), validation = s->validation ? rf__reader_stamp(s->validation) : 0;
    if (text && (validation || !s->validation)) s->stamp = hash_parts(s, text, validation);
    s->once = read_once(x->text, x->texts, s->text) || read_once(x->validation, x->validations, s->validation);
    return RF_OK;
}

/* ---- reading the cache ---- */

static bool lengths_add_up(const rf__tokens *t)
{
    size_t sum = 0, held = 0;
    for (size_t i = 0; i < t->documents; i++) {
        sum += t->length[i] & ~RF__HELD;
        held += (t->length[i] & RF__HELD) != 0;
    }
    return sum == t->tokens && held == t->held;
}

static bool ids_in_range(const rf__tokens *t, int32_t size)
{
    int32_t most = -1, least = 0;
    for (size_t i = 0; i < t->tokens; i++) {
        const int32_t id = rf__id(t->ids, i);
        most = id > most ? id : most;
        least = id < least ? id : least;
    }
    return most < size && least >= 0;
}

/* The header, if it is valid; otherwise returns the error. */
static const char *read_header(const rf_map *map, header *h)
{
    if (map->size < sizeof *h) return "not a token cache";
    memcpy(h, map->data, sizeof *h);
    if (memcmp(h->magic, RF__TOKENS_MAGIC, sizeof h->magic)) return "not a token cache";
    if (h->version != VERSION) return "a token cache of another version";
    return h->header_crc == crc_of_header(h) ? NULL : "its header is damaged (CRC)";
}

/* Maps the contents that the header describes. */
static bool map_content(rf__tokens *out, const header *header_of, const rf_tokenizer *t)
{
    rf__tokens c = *out;
    const header h = *header_of;
    size_t ids = 0, lengths = 0, size = 0;
    bool good = (int)h.width == rf__id_width(t) && h.tokens <= c.map.size && h.documents <= c.map.size;
    good = good && rf__checked_mul(h.tokens, h.width, &ids) && rf__checked_mul(h.documents, sizeof *c.length, &lengths);
    ids = (ids + 3) & ~(size_t)3;
    good = good && rf__checked_add(ids, lengths, &size) && rf__checked_add(size, sizeof h, &size) && size == c.map.size;
    if (good) {
        c.ids = (rf__ids){c.map.data + sizeof h, (int)h.width};
        c.length = (const uint32_t *)(const void *)(c.map.data + sizeof h + ids);
        c.tokens = h.tokens;
        c.documents = h.documents;
        c.held = h.held;
        c.hash = h.hash;
        good = rf__crc32c(0, c.map.data + sizeof h, c.map.size - sizeof h) == h.content_crc && lengths_add_up(&c) &&
               ids_in_range(&c, rf_tokenizer_size(t));
    }
    if (good) *out = c;
    return good;
}

/* Which cache is accepted: one with this key, or with this stamp if it is not 0. */
typedef struct with_labels { uint64_t key, stamp; } with_labels;

/* Maps such a cache, or any if `what` is NULL; false: there is none, or it is damaged. */
static bool map_cache(const rf_ctx *ctx, const char *path, const with_labels *what, const rf_tokenizer *t,
                      rf__tokens *out)
{
    rf__tokens c = {0};
    header h;
    if (rf__map_open(ctx, path, &c.map, NULL)) return false;
    bool good = !read_header(&c.map, &h);
    if (good && what) good = what->stamp ? h.stamp == what->stamp : h.key == what->key;
    good = good && map_content(&c, &h, t);
    if (good) *out = c;
    else rf__map_close(ctx, &c.map);
    return good;
}

/* The cache of this text: found by the stamp of its files or, if that does not decide, by all of their bytes. */
static rf_status find_cache(const rf_ctx *ctx, const char *path, source *s, const rf_tokenizer *t, rf__tokens *out,
                            bool *found, rf_error *why)
{
    *found = !s->once && s->stamp && map_cache(ctx, path, &(with_labels){0, s->stamp}, t, out);
    if (*found) return RF_OK;
    const rf_status status = hash_source(s, why);
    *found = !status && !s->once && map_cache(ctx, path, &(with_labels){s->key, 0}, t, out);
    return status;
}

rf_status rf__tokens_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf__tokens *out, rf_error *why)
{
    rf__tokens c = {0};
    header h;
    const rf_status status = rf__map_open(ctx, path, &c.map, why);
    if (status) return status;
    const char *wrong = read_header(&c.map, &h);
    if (!wrong && h.tokenizer != rf__tokenizer_fingerprint(t, VERSION))
        wrong = "created with another tokenizer than the model's";
    if (!wrong && !map_content(&c, &h, t)) wrong = "damaged: its contents do not match its header";
    if (wrong) {
        rf__map_close(ctx, &c.map);
        return rf_fail(why, RF_EDATA, "%s: %s; create it again with `roformer prepare`", path, wrong);
    }
    *out = c;
    return RF_OK;
}

void rf__tokens_close(const rf_ctx *ctx, rf__tokens *t)
{
    rf__map_close(ctx, &t->map);
    *t = (rf__tokens){0};
}

/* ---- for tools: roformer/inspect/folder.h ---- */

struct rf_token_cache {
    const rf_ctx *ctx;
    rf__tokens tokens;
    size_t document, at;                /* the next document, and where it begins                                     */
};

rf_status rf_token_cache_open(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf_token_cache **out,
                              rf_error *why)
{
    if (!(ctx && t && path && out)) return rf__missing("rf_token_cache_open", "ctx, tokenizer, path, out", why);
    rf_token_cache *c = rf__calloc(ctx, 1, sizeof *c);
    if (!c) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    c->ctx = ctx;
    const rf_status status = rf__tokens_read(ctx, t, path, &c->tokens, why);
    if (status) rf__free(ctx, c);
    else *out = c;
    return status;
}

void rf_token_cache_close(rf_token_cache *c)
{
    if (!c) return;
    rf__tokens_close(c->ctx, &c->tokens);
    rf__free(c->ctx, c);
}

int64_t rf_token_cache_longest(const rf_token_cache *c)
{
    int64_t longest = 0;
    for (size_t d = 0; c && d < c->tokens.documents; d++)
        longest = rf__max64(longest, c->tokens.length[d] & ~RF__HELD);
    return longest;
}

rf_status rf_token_cache_next(rf_token_cache *c, int32_t *id, int64_t most, int64_t *size, int *held, rf_error *why)
{
    if (!(c && size && (id || most <= 0))) return rf__missing("rf_token_cache_next", "cache, id, size", why);
    *size = -1;
    if (c->document == c->tokens.documents) return RF_OK;
    const uint32_t length = c->tokens.length[c->document++], n = length & ~RF__HELD;
    for (int64_t i = 0; i < most && i < (int64_t)n; i++) id[i] = rf__id(c->tokens.ids, c->at + (size_t)i);
    c->at += n;
    *size = n;
    if (held) *held = (length & RF__HELD) != 0;
    return RF_OK;
}

/* ---- creation ---- */

typedef struct making {
    const rf_ctx *ctx;
    const char *path;
    int fd;
    header h;
    uint32_t *length;
    size_t capacity;
    rf__reading_report *reading;
    void *user;
} making;

static rf_status append_content(making *m, const void *data, size_t size, rf_error *why)
{
    m->h.content_crc = rf__crc32c(m->h.content_crc, data, size);
    return rf__write_all(m->fd, data, size, m->path, why);
}

static rf_status take_part(void *user, const rf__part *p, double share, rf_error *why)
{
    making *m = user;
    if (!rf__grow(m->ctx, &m->length, &m->capacity, m->h.documents + p->documents, sizeof *m->length))
        return rf_fail(why, RF_ENOMEM, "out of memory: the lengths of %zu documents",
                       (size_t)m->h.documents + p->documents);
    memcpy(m->length + m->h.documents, p->length, p->documents * sizeof *p->length);
    for (size_t i = 0; i < p->documents; i++) m->h.held += (p->length[i] & RF__HELD) != 0;
    m->h.documents += p->documents;
    m->h.tokens += p->tokens;
    m->h.hash = rf__hash64(p->ids.at, p->tokens * (size_t)p->ids.width, m->h.hash);
    m->h.hash = rf__hash64(p->length, p->documents * sizeof *p->length, m->h.hash);
    const rf_status status = append_content(m, p->ids.at, p->tokens * (size_t)p->ids.width, why);
    if (status) return status;
    if (m->reading && m->reading(m->user, share, m->h.tokens, m->h.documents))
        return rf_fail(why, RF_ESTOPPED, "stopped while the text was read");
    return RF_OK;
}

static rf_status write_content(making *m, const rf_tokenizer *t, const source *s, double split, rf_error *why)
{
    static const char zero[sizeof m->h] = {0};
    rf_status status = rf__write_all(m->fd, zero, sizeof m->h, m->path, why);
    if (!status) status = rf__feed(m->ctx, t, s->text, s->validation ? RF__HOLD_NONE : split, take_part, m, why);
    if (!status && m->h.documents == m->h.held)
        status = rf_fail(why, RF_EDATA,
                         "text: expected documents to train on, got none (%zu held out)", (size_t)m->h.held);
    if (!status && s->validation) status = rf__feed(m->ctx, t, s->validation, RF__HOLD_ALL, take_part, m, why);
    const size_t bytes = m->h.tokens * m->h.width;
    if (!status) status = append_content(m, zero, ((bytes + 3) & ~(size_t)3) - bytes, why);
    if (!status) status = append_content(m, m->length, m->h.documents * sizeof *m->length, why);
    m->h.header_crc = crc_of_header(&m->h);
    if (!status && (rf__os_seek(m->fd, 0) != 0 || rf__os_sync(m->fd)))
        status = rf_fail(why, RF_EIO, "%s: cannot sync: %s", m->path, rf__os_reason(errno));
    if (!status) status = rf__write_all(m->fd, &m->h, sizeof m->h, m->path, why);
    if (!status && rf__os_sync(m->fd))
        status = rf_fail(why, RF_EIO, "%s: cannot sync: %s", m->path, rf__os_reason(errno));
    return status;
}

static rf_status make_cache(const rf_ctx *ctx, const rf_tokenizer *t, const source *s, double split, const char *folder,
                            const char *path, rf__reading_report *reading, void *user, rf_error *why)
{
    char temporary[4096];
    making m = {.ctx = ctx, .path = temporary, .reading = reading, .user = user};
    memcpy(m.h.magic, RF__TOKENS_MAGIC, sizeof m.h.magic);
    m.h.version = VERSION;
    m.h.width = (uint32_t)rf__id_width(t);
    m.h.key = s->key;
    m.h.stamp = s->once ? 0 : s->stamp;
    m.h.tokenizer = s->tokenizer;
    rf_status status = rf__temporary_open(path, temporary, sizeof temporary, &m.fd, why);
    if (status) return status;
    status = write_content(&m, t, s, split, why);
    if (!status) status = rf__reader_unchanged(s->text, why);
    if (!status && s->validation) status = rf__reader_unchanged(s->validation, why);
    if (rf__os_close(m.fd) && !status)
        status = rf_fail(why, RF_EIO, "%s: cannot close: %s", temporary, rf__os_reason(errno));
    if (!status && rf__os_rename(temporary, path))
        status = rf_fail(why, RF_EIO, "%s: cannot replace: %s", path, rf__os_reason(errno));
    if (status) rf__os_remove(temporary);
    else status = rf__sync_folder(folder, why);
    rf__free(ctx, m.length);
    return status;
}

static rf_status make_and_map(const rf_ctx *ctx, const rf_tokenizer *t, const source *s, double split,
                              const char *folder, const char *path, rf__reading_report *reading, void *user,
                              rf__tokens *out, rf_error *why)
{
    const rf_status status = make_cache(ctx, t, s, split, folder, path, reading, user, why);
    if (status || map_cache(ctx, path, &(with_labels){s->key, 0}, t, out)) return status;
    return rf_fail(why, RF_EIO, "%s: expected to read back as it was written, got other bytes", path);
}

rf_status rf__tokens_open(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *x, const char *folder,
                          uint64_t expect, rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why)
{
    char path[4096];
    source s;
    rf_error unread = {0};
    if (rf__path(path, sizeof path, folder, RF_FILE_TOKENS, why)) return RF_ERANGE;
    const rf_status opened = open_source(ctx, t, x, &s, &unread);
    /* the text cannot be read (again): only a cache of the text that the checkpoint was trained on is accepted */
    bool found = (opened || s.once) && expect && map_cache(ctx, path, NULL, t, out);
    if (found && out->hash != expect) {
        rf__tokens_close(ctx, out);
        found = false;
    }
    if (opened) return found ? RF_OK : rf_fail(why, opened, "%s", unread.text);
    rf_status status = found ? RF_OK : find_cache(ctx, path, &s, t, out, &found, why);
    if (!status && !found) status = make_and_map(ctx, t, &s, x->split, folder, path, reading, user, out, why);
    close_source(&s);
    return status;
}

rf_status rf__tokens_make(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *x, const char *path,
                          rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why)
{
    char folder[4096];
    source s;
    rf_status status = rf__folder_of(path, folder, sizeof folder, why);
    if (!status && !rf__os_writable(folder))
        status = rf_fail(why, RF_EIO, "%s: cannot write there: %s", folder, rf__os_reason(errno));
    if (!status) status = rf__replaceable(path, RF__TOKENS_MAGIC, "token cache", why);
    if (!status) status = open_source(ctx, t, x, &s, why);
    if (status) return status;
    bool found = false;
    status = find_cache(ctx, path, &s, t, out, &found, why);
    if (!status && !found) status = make_and_map(ctx, t, &s, x->split, folder, path, reading, user, out, why);
    close_source(&s);
    return status;
}
