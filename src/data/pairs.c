/* pairs.c — converts parallel text to ids, and packs batches of two sides.
 *
 *     source   s_1 .. s_m </s>        target   <s> t_1 .. t_n        labels   t_1 .. t_n </s>
 *
 * There is no padding: the texts of a side are end to end, whatever their lengths. */
#include <stdio.h>

#include "base/files/path.h"
#include "data/pairs.h"
#include "roformer/inspect/files.h"
#include "text/tokenizer.h"

enum { LINE = 64 << 20, CHUNK = 1 << 16 };

/* ---- lines ---- */

typedef struct lines {
    const rf_ctx *ctx;
    const char *path;
    rf_source *from;
    char *text;                         /* read and not used yet: [at, end)                                           */
    size_t at, end, capacity;
    uint64_t number;                    /* of the last line that was read                                             */
    bool done;
} lines;

static rf_status fill(lines *l, rf_error *why)
{
    size_t got = 0;
    if (l->end - l->at > LINE)
        return rf_fail(why, RF_EDATA, "%s:%llu: expected a line of at most %d MiB, got a longer one", l->path,
                       (unsigned long long)l->number + 1, LINE >> 20);
    if (l->at) memmove(l->text, l->text + l->at, l->end - l->at);
    l->end -= l->at;
    l->at = 0;
    if (!rf__grow(l->ctx, &l->text, &l->capacity, l->end + CHUNK, 1))
        return rf_fail(why, RF_ENOMEM, "out of memory: %s", l->path);
    const rf_status status = rf_source_read(l->from, l->text + l->end, CHUNK, &got, why);
    l->end += got;
    l->done = !status && !got;
    return status;
}

/* The next line without its end, valid until the next call; *text NULL: there is none. */
static rf_status next(lines *l, const char **text, size_t *size, rf_error *why)
{
    size_t seen = 0;
    *text = NULL;
    for (;;) {
        const size_t left = l->end - l->at;
        const char *from = l->text ? l->text + l->at : NULL;
        const char *stop = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        if (!stop && !l->done) {
            seen = left;
            const rf_status status = fill(l, why);
            if (status) return status;
            continue;
        }
        if (!stop && !left) return RF_OK;
        *size = stop ? (size_t)(stop - from) : left;
        l->at += *size + (stop != NULL);
        *size -= *size && from[*size - 1] == '\r';
        if (!stop && !l->number && memchr(from, '\r', *size)) return rf_source_no_lines(l->path, why);
        if (!l->number++ && *size >= 3 && !memcmp(from, "\xEF\xBB\xBF", 3)) from += 3, *size -= 3;
        if (!stop && !*size) return RF_OK;              /* nothing but the mark */
        *text = from;
        return RF_OK;
    }
}

/* ---- reading ---- */

typedef struct reading {
    const rf_ctx *ctx;
    const rf_tokenizer *tokenizer;
    const rf__pair_limits *limits;
    const rf__pair_files *files;
    int file;
    lines side[RF__SIDES];
    rf_encoding ids[RF__SIDES];
    size_t capacity[RF__SIDES], pairs[RF__SIDES], drops;    /* capacities of the lists of `out`                       */
    size_t bytes[RF__SIDES], texts[RF__SIDES];
    rf__pairs_progress *progress;
    void *user;
    rf__pairs *out;
} reading;

static rf_status out_of_memory(size_t pairs, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: %zu pairs of texts", pairs);
}

/* Whether the pair is dropped. A pair of two empty lines counts as empty. */
static bool drops(reading *r, rf__drop *reason)
{
    const rf__pair_limits *o = r->limits;
    const double m = (double)r->ids[0].n, n = (double)r->ids[1].n;
    *reason = RF__DROP_EMPTY;
    if (m < 1 || n < 1) return true;
    *reason = RF__DROP_LONG;
    for (int s = 0; s < RF__SIDES; s++)
        if (o->max_length[s] && (int64_t)r->ids[s].n > o->max_length[s]) return true;
    *reason = RF__DROP_RATIO;
    return o->max_ratio > 0 && (m > n ? m / n : n / m) > o->max_ratio;
}

static bool keep_text(reading *r, int s, const char *text, size_t size)
{
    rf__pairs *p = r->out;
    const size_t at = p->n ? p->line[s][p->n] : 0;
    if (!rf__grow(r->ctx, &p->text[s], &r->bytes[s], at + size + 1, 1) ||
        !rf__grow(r->ctx, &p->line[s], &r->texts[s], p->n + 2, sizeof *p->line[s]))
        return false;
    memcpy(p->text[s] + at, text, size);
    p->text[s][at + size] = 0;
    p->line[s][p->n] = at;
    p->line[s][p->n + 1] = at + size + 1;
    return true;
}

static bool keep(reading *r, const char *const text[RF__SIDES], const size_t size[RF__SIDES])
{
    rf__pairs *p = r->out;
    for (int s = 0; s < RF__SIDES; s++) {
        if (r->limits->text[s] && !keep_text(r, s, text[s], size[s])) return false;
        const rf_encoding *e = &r->ids[s];
        const size_t at = p->n ? p->start[s][p->n] : 0;
        if (!rf__grow(r->ctx, &p->id[s], &r->capacity[s], at + e->n, sizeof *p->id[s]) ||
            !rf__grow(r->ctx, &p->start[s], &r->pairs[s], p->n + 2, sizeof *p->start[s]))
            return false;
        memcpy(p->id[s] + at, e->id, e->n * sizeof *e->id);
        p->start[s][p->n] = at;
        p->start[s][p->n + 1] = at + e->n;
        p->hash = rf__hash64(e->id, e->n * sizeof *e->id, p->hash + e->n);
    }
    p->n++;
    return true;
}

static rf_status encode(reading *r, int s, const char *text, size_t size, rf_error *why)
{
    rf_error own = {0};
    const int flags = RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS;
    const rf_tokenizer *t = s == RF__TARGET_SIDE ? rf__tokenizer_target(r->tokenizer) : r->tokenizer;
    const rf_status status = rf_encode(t, text, size, NULL, 0, 0, flags, &r->ids[s], NULL, &own);
    if (!status) return RF_OK;
    return rf_fail(why, status, "%s:%llu: %s", r->side[s].path, (unsigned long long)r->side[s].number, own.text);
}

static rf_status differ(const lines side[RF__SIDES], rf_error *why)
{
    return rf_fail(why, RF_EDATA, "parallel text: expected the same number of lines, got %llu in %s and %llu in %s",
                   (unsigned long long)side[0].number, side[0].path, (unsigned long long)side[1].number, side[1].path);
}

/* One file has ended before the other: counts the lines of both. */
static rf_status other_lengths(reading *r, rf_error *why)
{
    const char *text;
    size_t size;
    for (int s = 0; s < RF__SIDES; s++)
        do {
            const rf_status status = next(&r->side[s], &text, &size, why);
            if (status) return status;
        } while (text);
    return differ(r->side, why);
}

static bool drop(reading *r, rf__drop reason)
{
    rf__pairs *p = r->out;
    rf__dropped *d = &p->dropped[reason];
    if (!rf__grow(r->ctx, &p->drop, &r->drops, p->drops + 1, sizeof *p->drop)) return false;
    if (d->n < RF__DROPS_LISTED) {
        d->line[d->n] = r->side[0].number;
        d->file[d->n] = r->file;
    }
    d->n++;
    p->drop[p->drops++] = (rf__dropped_pair){
        r->side[0].number, {(uint32_t)r->ids[0].n, (uint32_t)r->ids[1].n}, r->file, reason};
    return true;
}

static rf_status read_pair(reading *r, bool *more, rf_error *why)
{
    enum { BETWEEN = 4096 };
    const char *text[RF__SIDES];
    size_t size[RF__SIDES];
    rf_status status = RF_OK;
    for (int s = 0; s < RF__SIDES && !status; s++) status = next(&r->side[s], &text[s], &size[s], why);
    *more = !status && text[0] && text[1];
    if (!*more) return status || (!text[0] && !text[1]) ? status : other_lengths(r, why);
    for (int s = 0; s < RF__SIDES && !status; s++) status = encode(r, s, text[s], size[s], why);
    if (status) return status;
    if (r->progress && r->side[0].number % BETWEEN == 0 && r->progress(r->user, r->out->n))
        return rf_fail(why, RF_ESTOPPED, "stopped while %s was read", r->side[0].path);
    rf__drop reason;
    return (drops(r, &reason) ? drop(r, reason) : keep(r, text, size)) ? RF_OK : out_of_memory(r->out->n, why);
}

/* ---- the files, one after the other ---- */

static rf_status open_side(const rf_ctx *ctx, const char *path, lines *out, rf_error *why)
{
    *out = (lines){.ctx = ctx, .path = path};
    return rf_source_open(ctx, path, &out->from, why);
}

static void close_side(lines *l)
{
    rf_source_close(l->from);
    rf__free(l->ctx, l->text);
    *l = (lines){0};
}

static rf_status read_file(reading *r, rf_error *why)
{
    rf_status status = RF_OK;
    for (int s = 0; s < RF__SIDES; s++) {
        r->side[s] = (lines){.ctx = r->ctx};
        if (!status) status = open_side(r->ctx, r->files->path[s][r->file], &r->side[s], why);
    }
    for (bool more = true; more && !status;) status = read_pair(r, &more, why);
    for (int s = 0; s < RF__SIDES; s++) close_side(&r->side[s]);
    return status;
}

static rf_status each_line(lines *l, rf__pairs_line *each, void *user, rf_error *why)
{
    for (;;) {
        const char *text;
        size_t size;
        rf_error own = {0};
        rf_status status = next(l, &text, &size, why);
        if (status || !text) return status;
        status = each(user, text, size, &own);
        if (status) return rf_fail(why, status, "%s:%llu: %s", l->path, (unsigned long long)l->number, own.text);
    }
}

rf_status rf__pairs_lines(const rf_ctx *ctx, const rf__pair_files *files, rf__pairs_line *each, void *user,
                          rf_error *why)
{
    rf_status status = RF_OK;
    for (int i = 0; i < files->n && !status; i++) {
        lines side[RF__SIDES] = {{.ctx = ctx}, {.ctx = ctx}};
        for (int s = 0; s < RF__SIDES && !status; s++) {
            status = open_side(ctx, files->path[s][i], &side[s], why);
            if (!status) status = each_line(&side[s], each, user, why);
        }
        if (!status && side[0].number != side[1].number) status = differ(side, why);
        for (int s = 0; s < RF__SIDES; s++) close_side(&side[s]);
    }
    return status;
}

rf_status rf__pairs_read(const rf_ctx *ctx, const rf_tokenizer *t, const rf__pair_files *files,
                         const rf__pair_limits *limits, rf__pairs_progress *progress, void *user, rf__pairs *out,
                         rf_error *why)
{
    *out = (rf__pairs){0};
    reading r = {.ctx = ctx, .tokenizer = t, .limits = limits, .files = files, .out = out};
    r.progress = progress, r.user = user;
    rf_status status = RF_OK;
    for (int s = 0; s < RF__SIDES; s++) rf_encoding_init(&r.ids[s], ctx);
    for (r.file = 0; r.file < files->n && !status; r.file++) status = read_file(&r, why);
    for (int s = 0; s < RF__SIDES; s++) rf_encoding_clear(&r.ids[s]);
    char dropped[256];
    if (!status && !out->n)
        status = rf_fail(why, RF_EDATA,
                         "%s, %s: expected a pair of texts, got none%s%s", files->path[0][0], files->path[1][0],
                         *rf__pairs_dropped(out, files, dropped, sizeof dropped) ? ": " : "", dropped);
    if (status) rf__pairs_free(ctx, out);
    return status;
}

void rf__pairs_free(const rf_ctx *ctx, rf__pairs *p)
{
    for (int s = 0; s < RF__SIDES; s++) {
        rf__free(ctx, p->id[s]);
        rf__free(ctx, p->start[s]);
        rf__free(ctx, p->text[s]);
        rf__free(ctx, p->line[s]);
    }
    rf__free(ctx, p->drop);
    *p = (rf__pairs){0};
}

/* " 12" or, with several files, " news.en:12". */
static size_t put_line(const rf__dropped *d, uint64_t i, const rf__pair_files *files, char *to, size_t size)
{
    const char *name = rf__file_name(files->path[RF__SOURCE_SIDE][d->file[i]]);
    const unsigned long long line = d->line[i];
    return (size_t)(files->n > 1 ? snprintf(to, size, " %.60s:%llu", name, line)
                                 : snprintf(to, size, " %llu", line));
}

const char *rf__pairs_dropped(const rf__pairs *p, const rf__pair_files *files, char *to, size_t size)
{
    static const char *const reasons[] = {"have an empty side", "are longer than the limit",
                                          "have sides of too different lengths"};
    size_t n = 0;
    *to = 0;
    for (int d = 0; d < RF__DROPS; d++) {
        const rf__dropped *is = &p->dropped[d];
        if (!is->n || n >= size) continue;
        n += (size_t)snprintf(to + n, size - n, "%s%llu %s (lines", n ? "; " : "", (unsigned long long)is->n,
                              reasons[d]);
        for (uint64_t i = 0; i < is->n && i < RF__DROPS_LISTED && n < size; i++)
            n += put_line(is, i, files, to + n, size - n);
        if (n < size) n += (size_t)snprintf(to + n, size - n, "%s)", is->n > RF__DROPS_LISTED ? " ..." : "");
    }
    return to;
}

bool rf__pairs_list_dropped(const rf__pairs *p, const rf__pair_files *files, FILE *to)
{
    static const char *const reasons[] = {"empty", "length", "ratio"};
    for (size_t i = 0; i < p->drops; i++) {
        const rf__dropped_pair *d = &p->drop[i];
        fprintf(to, "%s\t%llu\t%s\t%u\t%u\n", files->path[RF__SOURCE_SIDE][d->file], (unsigned long long)d->line,
                reasons[d->reason], (unsigned)d->length[RF__SOURCE_SIDE], (unsigned)d->length[RF__TARGET_SIDE]);
    }
    return !ferror(to);
}

/* ---- batches ---- */

rf_status rf__pair_batch_new(const rf_ctx *ctx, int64_t capacity, rf__pair_batch *out, rf_error *why)
{
    const size_t n = (size_t)capacity;
    rf__pair_batch b = {.capacity = capacity};
    for (int s = 0; s < RF__SIDES; s++) {
        b.id[s] = rf__calloc(ctx, n, sizeof *b.id[s]);
        b.start[s] = rf__calloc(ctx, n / 4 + 2, sizeof *b.start[s]);     /* a pair has at least two tokens a side */
    }
    b.label = rf__calloc(ctx, n, sizeof *b.label);
    b.row = rf__calloc(ctx, n, sizeof *b.row);
    for (size_t i = 0; b.row && i < n; i++) b.row[i] = (int32_t)i;
    *out = b;
    if (b.id[0] && b.id[1] && b.start[0] && b.start[1] && b.label && b.row) return RF_OK;
    rf__pair_batch_free(ctx, out);
    return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)capacity);
}

double rf__pair_batch_bytes(int64_t capacity) { return 4 * (4 + 2.0 / 4) * (double)capacity; }

void rf__pair_batch_free(const rf_ctx *ctx, rf__pair_batch *b)
{
    for (int s = 0; s < RF__SIDES; s++) {
        rf__free(ctx, b->id[s]);
        rf__free(ctx, b->start[s]);
    }
    rf__free(ctx, b->label);
    rf__free(ctx, b->row);
    *b = (rf__pair_batch){0};
}

rf_batch rf__pair_batch_side(const rf__pair_batch *b, int side)
{
    return (rf_batch){.N = b->N[side], .B = b->B, .id = b->id[side], .start = b->start[side]};
}

/* The tokens of a pair: as stored, or sampled. */
typedef struct tokens { const int32_t *id[RF__SIDES]; size_t n[RF__SIDES]; } tokens;

static tokens pair_tokens(const rf__pairs *p, size_t i)
{
    tokens t;
    for (int s = 0; s < RF__SIDES; s++) {
        t.id[s] = p->id[s] + p->start[s][i];
        t.n[s] = rf__pair_length(p, s, i);
    }
    return t;
}

void rf__pair_sampling_init(rf__pair_sampling *x, const rf_ctx *ctx)
{
    *x = (rf__pair_sampling){0};
    for (int s = 0; s < RF__SIDES; s++) rf_encoding_init(&x->e[s], ctx);
}

void rf__pair_sampling_clear(rf__pair_sampling *x)
{
    for (int s = 0; s < RF__SIDES; s++) rf_encoding_clear(&x->e[s]);
}

/* Samples another segmentation of each side, a function of seed, epoch and pair; if it is longer than the limit of a
 * side, the stored one is used. */
static tokens tokens_of(const rf__pairs *p, size_t i, int64_t epoch, rf__pair_sampling *x)
{
    tokens t = pair_tokens(p, i);
    for (int s = 0; s < RF__SIDES && x; s++) {
        rf_sample_options o;
        const uint64_t place[] = {(uint64_t)epoch, i, (uint64_t)s};
        const size_t begin = p->line[s][i], size = p->line[s][i + 1] - begin - 1;
        rf_sample_defaults(&o);
        o.alpha = (float)x->alpha;
        o.seed = rf__hash64(place, sizeof place, x->seed);
        const rf_tokenizer *own = s == RF__TARGET_SIDE ? rf__tokenizer_target(x->tokenizer) : x->tokenizer;
        if (rf__encode_sample(own, p->text[s] + begin, size, &o, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &x->e[s],
                              x->why.code ? NULL : &x->why) || !x->e[s].n || (int64_t)x->e[s].n > x->most)
            continue;
        t.id[s] = x->e[s].id;
        t.n[s] = x->e[s].n;
    }
    return t;
}

double rf__pairs_drawn(const rf__pairs *p, rf__pair_sampling *x)
{
    enum { ENOUGH = 2048 };
    double drawn = 0, all = 0;
    for (size_t i = 0; i < p->n && i < ENOUGH; i++) {
        const tokens a = pair_tokens(p, i), b = tokens_of(p, i, 0, x);
        all += (double)(a.n[0] + a.n[1] + 2);
        drawn += (double)(b.n[0] + b.n[1] + 2);
    }
    return all > 0 ? drawn / all : 1;
}

/* Appends a side with the tokens around it. */
static void put_side(const tokens *t, const rf_around *a, int side, int32_t *to)
{
    memcpy(to, a->id[0], a->n[0] * sizeof *to);
    memcpy(to + a->n[0], t->id[side], t->n[side] * sizeof *to);
    memcpy(to + a->n[0] + t->n[side], a->id[1], a->n[1] * sizeof *to);
}

static size_t side_length(const tokens *t, const rf__pair_marks *marks, int side)
{
    return t->n[side] + rf__around_size(&marks->side[side]);
}

/* A target is its labels, one token later. */
static void copy(const tokens *t, const rf__pair_marks *marks, rf__pair_batch *b)
{
    int32_t *to = b->id[RF__TARGET_SIDE] + b->N[RF__TARGET_SIDE], *label = b->label + b->N[RF__TARGET_SIDE];
    put_side(t, &marks->side[RF__SOURCE_SIDE], RF__SOURCE_SIDE, b->id[RF__SOURCE_SIDE] + b->N[RF__SOURCE_SIDE]);
    put_side(t, &marks->side[RF__TARGET_SIDE], RF__TARGET_SIDE, label);
    to[0] = marks->begin;
    memcpy(to + 1, label, (side_length(t, marks, RF__TARGET_SIDE) - 1) * sizeof *to);
    for (int s = 0; s < RF__SIDES; s++)
        b->start[s][b->B + 1] = (int32_t)(b->N[s] + (int64_t)side_length(t, marks, s));
}

static void clear(rf__pair_batch *b)
{
    b->N[0] = b->N[1] = b->B = 0;
    if (b->label) b->start[0][0] = b->start[1][0] = 0;
}

/* Adds a pair; false: it does not fit. */
static bool add(const tokens *t, const rf__pair_marks *marks, rf__pair_batch *b)
{
    const int64_t m = (int64_t)side_length(t, marks, 0), n = (int64_t)side_length(t, marks, 1);
    if (b->N[0] + b->N[1] + m + n > b->capacity) return false;
    if (b->label) copy(t, marks, b);
    b->N[0] += m;
    b->N[1] += n;
    b->B++;
    return true;
}

void rf__pairs_pack(const rf__pairs *p, rf_key order, const rf__pair_marks *marks, rf__pair_sampling *sampling,
                    rf__pair_position *at, rf__pair_batch *b)
{
    clear(b);
    for (; at->index < (int64_t)p->n; at->index++) {
        const size_t i = (size_t)rf__shuffled((uint64_t)at->index, p->n, order, (uint64_t)at->epoch);
        const tokens t = tokens_of(p, i, at->epoch, sampling);
        if (!add(&t, marks, b)) return;
    }
    *at = (rf__pair_position){.epoch = at->epoch + 1};
}

void rf__pairs_pack_in_order(const rf__pairs *p, const rf__pair_marks *marks, size_t *at, rf__pair_batch *b)
{
    clear(b);
    for (; *at < p->n; ++*at) {
        const tokens t = pair_tokens(p, *at);
        if (!add(&t, marks, b)) return;
    }
}
