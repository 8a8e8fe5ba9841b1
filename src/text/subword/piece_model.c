/* piece_model.c — splits words into pieces, as Hugging Face's tokenizers does.
 *
 *     Unigram  the segmentation with the largest sum of log p (Kudo 2018), in double; a character without a piece has
 *              the log p of the rarest piece minus 10, and consecutive ones are one unknown
 *     BPE      begins with characters and merges the pair of the lowest rank, ties from left to right, until none is
 *              left (Sennrich et al. 2016)
 *
 * With byte_fallback, unknown text becomes the pieces <0x00> to <0xFF> of its bytes.                                 */
#include <math.h>
#include <stdio.h>

#include "piece_model.h"
#include "subwords.h"

enum { MOST_PIECES = 1 << 24 };
static const double UNKNOWN = 10;

int32_t rf__piece_model_find(const rf__piece_model *p, const char *text, size_t size)
{
    return rf__trie_find(&p->names_trie, text, size);
}

/* ---- Unigram ----------------------------------------------------------------------------------------------------- */

typedef struct best { double score; uint32_t from; int32_t id; } best;
typedef struct span { uint32_t from, to; int32_t id; } span;

static void offer(best *b, double score, size_t from, int32_t id)
{
    if (b->from == UINT32_MAX || score > b->score) *b = (best){score, (uint32_t)from, id};
}

static void search(const rf__piece_model *p, const char *word, size_t size, best b[])
{
    for (size_t i = 0; i <= size; i++) b[i] = (best){0, UINT32_MAX, -1};
    for (size_t at = 0, next = 0; at < size; at = next) {
        uint32_t node = 0;
        bool single = false;
        const double so_far = b[at].score;
        for (size_t end = at; end < size;) {
            const bool first = end == at;
            const int32_t id = rf__trie_step(&p->names_trie, &node, rf__utf8_get((const unsigned char *)word, &end));
            if (first) next = end, single = id >= 0;
            if (!node) break;
            if (id >= 0) offer(&b[end], p->score[id] + so_far, at, id);
        }
        if (!single) offer(&b[next], p->lowest - UNKNOWN + so_far, at, p->unk);
    }
}

static bool put_bytes(const rf__piece_model *p, const char *word, size_t from, size_t to, rf__piece_sink *put,
                      void *user)
{
    for (size_t i = from; i < to; i++)
        if (!put(user, p->byte[(unsigned char)word[i]], from, to)) return false;
    return true;
}

static bool has_bytes(const rf__piece_model *p, const char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (p->byte[(unsigned char)text[i]] < 0) return false;
    return p->bytes;
}

static bool cut_unigram(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size,
                        rf__piece_sink *put, void *user)
{
    if (!rf__grow(c->ctx, &c->best, &c->best_capacity, size + 1, sizeof(best)) ||
        !rf__grow(c->ctx, &c->order, &c->order_capacity, size + 1, sizeof(span)))
        return false;
    const best *b = c->best;
    span *s = c->order;
    size_t n = 0;
    search(p, word, size, c->best);
    for (size_t end = size; end; end = b[end].from) {
        const span one = {b[end].from, (uint32_t)end, b[end].id};
        if (n && one.id == p->unk && s[n - 1].id == p->unk) s[n - 1].from = one.from;     /* consecutive unknowns     */
        else s[n++] = one;
    }
    while (n--) {
        if (s[n].id == p->unk) {
            const int32_t whole = rf__piece_model_find(p, word + s[n].from, s[n].to - s[n].from);
            if (whole < 0 && has_bytes(p, word, s[n].from, s[n].to)) {
                if (!put_bytes(p, word, s[n].from, s[n].to, put, user)) return false;
                continue;
            }
            if (whole >= 0) s[n].id = whole;
        }
        if (!put(user, s[n].id, s[n].from, s[n].to)) return false;
    }
    return true;
}

/* ---- BPE --------------------------------------------------------------------------------------------------------- */

/* A piece of the word in a list; gone: it was merged into the one before.  It and the next one may be merged to
 * `becomes`; UINT32_MAX: they may not. */
typedef struct symbol { uint32_t id, from, to, becomes; int32_t before, after; bool gone; } symbol;

/* Finds the merge of symbol i and the next one.  False: no memory. */
static bool push_pair(const rf__piece_model *p, rf__piece_scratch *c, symbol *s, int32_t i)
{
    if (i < 0) return true;
    s[i].becomes = UINT32_MAX;
    if (s[i].after < 0 || !p->merges.slot) return true;
    const rf__pair_slot *m = rf__pair_find(&p->merges, rf__pair_key(s[i].id, s[s[i].after].id));
    if (m->a == UINT32_MAX) return true;
    s[i].becomes = m->b;
    return rf__merge_push(c->ctx, &c->heap, (rf__merge){m->a, (uint32_t)i, m->b});
}

/* The word as characters, or as replacements of unknown ones; returns the number of symbols. */
static size_t characters(const rf__piece_model *p, const char *word, size_t size, symbol s[])
{
    size_t n = 0;
    bool unknown = false;                                           /* the last symbol is an extendable unknown */
    for (size_t at = 0, next = 0; at < size; at = next) {
        uint32_t node = 0;
        const int32_t id = rf__trie_step(&p->names_trie, &node, rf__utf8_get((const unsigned char *)word, &next));
        if (id < 0 && has_bytes(p, word, at, next)) {
            for (size_t i = at; i < next; i++)
                s[n++] = (symbol){.id = (uint32_t)p->byte[(unsigned char)word[i]], .from = (uint32_t)at,
                                  .to = (uint32_t)next};
            unknown = false;
        } else if (id < 0 && unknown && p->fuse) {
            s[n - 1].to = (uint32_t)next;
        } else {
            s[n++] = (symbol){.id = (uint32_t)(id < 0 ? p->unk : id), .from = (uint32_t)at, .to = (uint32_t)next};
            unknown = id < 0;
        }
    }
    return n;
}

/* Merges the n symbols of the scratch. */
static bool merge(const rf__piece_model *p, rf__piece_scratch *c, size_t n, rf__piece_sink *put, void *user)
{
    symbol *s = c->symbol;
    for (size_t i = 0; i < n; i++) s[i].before = (int32_t)i - 1, s[i].after = i + 1 < n ? (int32_t)i + 1 : -1;
    c->heap.n = 0;
    for (size_t i = 0; i < n; i++)
        if (!push_pair(p, c, s, (int32_t)i)) return false;
    while (c->heap.n) {
        const rf__merge top = rf__merge_pop(&c->heap);
        symbol *left = &s[top.at];
        if (left->gone || left->becomes != top.to) continue;        /* outdated: its symbols have changed             */
        symbol *right = &s[left->after];
        right->gone = true;
        left->id = top.to;
        left->to = right->to;
        left->after = right->after;
        if (left->after >= 0) s[left->after].before = (int32_t)top.at;
        if (!push_pair(p, c, s, left->before) || !push_pair(p, c, s, (int32_t)top.at)) return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!s[i].gone && !put(user, (int32_t)s[i].id, s[i].from, s[i].to)) return false;
    return true;
}

static bool cut_bpe(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size, rf__piece_sink *put,
                    void *user)
{
    const int32_t whole = p->whole ? rf__piece_model_find(p, word, size) : -1;
    if (whole >= 0) return put(user, whole, 0, size);
    if (!rf__grow(c->ctx, &c->symbol, &c->symbol_capacity, size + 1, sizeof(symbol))) return false;
    return merge(p, c, characters(p, word, size, c->symbol), put, user);
}

bool rf__piece_model_cut_bytes(const rf__piece_model *p, rf__piece_scratch *c, const int32_t of[256],
                               const char *word, size_t size, rf__piece_sink *put, void *user)
{
    if (!rf__grow(c->ctx, &c->symbol, &c->symbol_capacity, size + 1, sizeof(symbol))) return false;
    symbol *s = c->symbol;
    for (uint32_t i = 0; i < size; i++)
        s[i] = (symbol){.id = (uint32_t)of[(unsigned char)word[i]], .from = i, .to = i + 1};
    return merge(p, c, size, put, user);
}

bool rf__piece_model_cut(const rf__piece_model *p, rf__piece_scratch *scratch, const char *word, size_t size,
                         rf__piece_sink *put, void *user)
{
    return !size || (p->bpe ? cut_bpe : cut_unigram)(p, scratch, word, size, put, user);
}

void rf__piece_scratch_clear(rf__piece_scratch *c)
{
    rf__free(c->ctx, c->best);
    rf__free(c->ctx, c->order);
    rf__free(c->ctx, c->symbol);
    rf__free(c->ctx, c->heap.merge);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static rf_status no_memory(const char *path, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
}

/* `bytes` of names, terminated by zeros, and n ids. */
static bool prepare(rf__piece_model *p, size_t bytes, int32_t n)
{
    p->n = n;
    p->names = rf__alloc(p->ctx, bytes + 1);
    p->token = rf__calloc(p->ctx, (size_t)n + 1, sizeof *p->token);
    return p->names && p->token && rf__trie_begin(&p->names_trie, p->ctx);
}

static rf_status put_piece(rf__piece_model *p, char **name, const char *text, int64_t id, const char *path,
                           rf_error *why)
{
    if (id < 0 || id >= p->n)
        return rf_fail(why, RF_EDATA, "%s: model.vocab: \"%.60s\": expected an id from 0 to %d, got another value",
                       path, rf__printable(text).text, (int)p->n - 1);
    if (p->token[id])
        return rf_fail(why, RF_EDATA, "%s: model.vocab: id %lld belongs to \"%.60s\" and to \"%.60s\"", path,
                       (long long)id, rf__printable(p->token[id]).text, rf__printable(text).text);
    const size_t size = strlen(text) + 1;
    p->token[id] = memcpy(*name, text, size);
    *name += size;
    return rf__trie_add(&p->names_trie, p->ctx, text, size - 1, (int32_t)id) ? RF_OK : no_memory(path, why);
}

static void find_bytes(rf__piece_model *p)
{
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        p->byte[i] = rf__piece_model_find(p, name, strlen(name));
    }
}

/* [["piece", log p], ...] and unk_id. */
static rf_status read_unigram(rf__piece_model *p, const json_t *model, const char *path, rf_error *why)
{
    json_t *list = json_object_get(model, "vocab"), *x;
    const size_t n = json_array_size(list);
    const int64_t unk = rf__whole_number(json_object_get(model, "unk_id"));
    size_t bytes = 0, i;
    rf_status status = RF_OK;
    if (!n || n > MOST_PIECES)
        return rf_fail(why, RF_EDATA, "%s: model.vocab: expected a list of 1 to %d pieces, got another value", path,
                       MOST_PIECES);
    if (unk < 0 || unk >= (int64_t)n)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: model.unk_id: expected a number from 0 to %zu, the piece for unknown text, got another "
                       "value", path, n - 1);
    json_array_foreach(list, i, x) {
        const char *name = json_string_value(json_array_get(x, 0));
        if (!name || !json_is_number(json_array_get(x, 1)))
            return rf_fail(why, RF_EDATA, "%s: model.vocab: piece %zu: expected a text and a number, got other values",
                           path, i);
        bytes += strlen(name) + 1;
    }
    p->score = rf__calloc(p->ctx, n, sizeof *p->score);
    if (!p->score || !prepare(p, bytes, (int32_t)n)) return no_memory(path, why);
    char *name = p->names;
    p->unk = (int32_t)unk;
    p->lowest = INFINITY;
    json_array_foreach(list, i, x) {
        p->score[i] = json_number_value(json_array_get(x, 1));
        if (p->score[i] < p->lowest) p->lowest = p->score[i];
        status = put_piece(p, &name, json_string_value(json_array_get(x, 0)), (int64_t)i, path, why);
        if (status) return status;
    }
    return RF_OK;
}

/* "a b", or ["a", "b"]. */
static rf_status read_merge(rf__piece_model *p, const json_t *x, size_t rank, rf__growing *both_names, const char *path,
                            rf_error *why)
{
    const char *text = json_string_value(x), *blank = text ? strchr(text, ' ') : NULL;
    const char *a = text ? text : json_string_value(json_array_get(x, 0));
    const char *b = blank ? blank + 1 : json_string_value(json_array_get(x, 1));
    const size_t a_size = blank ? (size_t)(blank - text) : a ? strlen(a) : 0, b_size = b ? strlen(b) : 0;
    both_names->n = 0;
    if (!a_size || !b_size)
        return rf_fail(why, RF_EDATA, "%s: model.merges: merge %zu: expected two pieces, got another value", path,
                       rank);
    if (!rf__subwords_append(both_names, a, a_size) || !rf__subwords_append(both_names, b, b_size))
        return no_memory(path, why);
    const int32_t left = rf__piece_model_find(p, a, a_size), right = rf__piece_model_find(p, b, b_size);
    const int32_t to = rf__piece_model_find(p, both_names->at, both_names->n);
    if (left < 0 || right < 0 || to < 0)
        return rf_fail(why, RF_EDATA,
                       "%s: model.merges: merge %zu, of \"%.60s\": expected pieces of the vocabulary, got another one",
                       path, rank, rf__printable(a).text);
    rf__pair_slot *s = rf__pair_make(p->ctx, &p->merges, rf__pair_key((uint32_t)left, (uint32_t)right));
    if (!s) return no_memory(path, why);
    if (s->a != UINT32_MAX)
        return rf_fail(why, RF_EDATA,
                       "%s: model.merges: merge %zu, of \"%.60s\": expected a pair once, got that of merge %u again; "
                       "delete one of them", path, rank, rf__printable(a).text, (unsigned)s->a);
    s->a = (uint32_t)rank;
    s->b = (uint32_t)to;
    return RF_OK;
}

static rf_status read_merges(rf__piece_model *p, const json_t *model, const char *path, rf_error *why)
{
    size_t i;
    json_t *x, *list = json_object_get(model, "merges");
    rf__growing names = {.ctx = p->ctx};
    rf_status status = RF_OK;
    if (!json_is_array(list)) return rf_fail(why, RF_EDATA, "%s: model.merges: expected a list, got another value",
                                             path);
    json_array_foreach(list, i, x)
        if (!status) status = read_merge(p, x, i, &names, path, why);
    rf__free(p->ctx, names.at);
    return status;
}

/* Rejects settings that would split differently. */
static rf_status check_bpe(const json_t *model, const char *path, rf_error *why)
{
    static const char *const none[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *dropout = json_object_get(model, "dropout");
    for (size_t i = 0; i < RF_COUNT(none); i++) {
        const char *text = json_string_value(json_object_get(model, none[i]));
        if (text && *text)
            return rf_fail(why, RF_EUNSUPPORTED, "%s: model.%s \"%.20s\" is not supported", path, none[i],
                           rf__printable(text).text);
    }
    if (json_number_value(dropout) > 0)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: model.dropout: expected 0 or null, got %g; with dropout, the tokens of a text would be "
                       "random", path, json_number_value(dropout));
    return RF_OK;
}

/* {"piece": id, ...}, merges, unk_token. */
static rf_status read_bpe(rf__piece_model *p, const json_t *model, const char *path, rf_error *why)
{
    json_t *map = json_object_get(model, "vocab"), *x;
    const char *key, *unk = json_string_value(json_object_get(model, "unk_token"));
    const size_t n = json_object_size(map);
    size_t bytes = 0;
    int64_t most = -1;
    rf_status status = check_bpe(model, path, why);
    if (status) return status;
    json_object_foreach(map, key, x) {
        const int64_t id = rf__whole_number(x);
        if (id > most) most = id;
        bytes += strlen(key) + 1;
    }
    if (!n || most < 0 || most >= MOST_PIECES || (uint64_t)most > 4 * (uint64_t)n + 65536)
        return rf_fail(why, RF_EDATA,
                       "%s: model.vocab: expected an object of pieces with ids below %d, got another value", path,
                       MOST_PIECES);
    if (!prepare(p, bytes, (int32_t)most + 1)) return no_memory(path, why);
    char *name = p->names;
    json_object_foreach(map, key, x)
        if (!status) status = put_piece(p, &name, key, rf__whole_number(x), path, why);
    if (status) return status;
    p->unk = unk ? rf__piece_model_find(p, unk, strlen(unk)) : -1;
    p->fuse = json_is_true(json_object_get(model, "fuse_unk"));
    p->whole = json_is_true(json_object_get(model, "ignore_merges"));
    return read_merges(p, model, path, why);
}

rf_status rf__piece_model_read(rf__piece_model *p, const rf_ctx *ctx, const json_t *model, const char *path,
                               rf_error *why)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    *p = (rf__piece_model){.ctx = ctx, .bpe = type && !strcmp(type, "BPE"), .unk = -1};
    p->bytes = json_is_true(json_object_get(model, "byte_fallback"));
    rf_status status = p->bpe ? read_bpe(p, model, path, why) : read_unigram(p, model, path, why);
    if (!status) find_bytes(p);
    return status;
}

rf_status rf__piece_model_known(const rf__piece_model *p, bool level, const char *path, rf_error *why)
{
    bool all = true;
    for (int i = 0; i < 256; i++) all &= p->byte[i] >= 0;
    if (p->unk < 0 && !level && !(p->bytes && all))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: model: expected unk_token, or byte_fallback with pieces for all 256 bytes, for unknown "
                       "text, got neither", path);
    return RF_OK;
}

void rf__piece_model_clear(rf__piece_model *p)
{
    rf__free(p->ctx, p->names);
    rf__free(p->ctx, (void *)p->token);
    rf__trie_clear(&p->names_trie, p->ctx);
    rf__free(p->ctx, p->merges.slot);
    rf__free(p->ctx, p->score);
}
