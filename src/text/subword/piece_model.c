/* piece_model.c — splits words into pieces, as Hugging Face's tokenizers does.
 *
 *     Unigram    the segmentation with the largest sum of log p (Kudo 2018), in double; a character without a piece has
 *                the log p of the rarest piece minus 10, and consecutive ones are one unknown
 *     BPE        begins with characters and merges the pair of the lowest rank, ties from left to right, until none is
 *                left (Sennrich et al. 2016)
 *     WordPiece  the longest piece at the beginning, then the longest one of the rest after a prefix, and so on; a word
 *                with a part that is no piece is unknown as a whole (Wu et al. 2016)
 *     WordLevel  a word is a piece or unknown
 *
 * With byte_fallback, unknown text becomes the pieces <0x00> to <0xFF> of its bytes.                                 */
#include "piece_model.h"
#include "spm_model.h"

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

/* No piece represents unknown text. */
static bool lost(rf__piece_scratch *c) { return c->lost = true, false; }

/* False: the best way to some character is an unknown, which has no piece. */
static bool search(const rf__piece_model *p, const char *word, size_t size, best b[])
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
        if (!single && b[next].from == at && b[next].id < 0) return false;
    }
    return true;
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
    if (!search(p, word, size, c->best)) return lost(c);
    for (size_t end = size; end; end = b[end].from) {
        const span one = {b[end].from, (uint32_t)end, b[end].id};
        if (n && one.id == p->unk && s[n - 1].id == p->unk && p->unk >= 0) 
            s[n - 1].from = one.from;                                                     /* consecutive unknowns     */
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

/* The piece of a character, with the prefix of what continues a word and the suffix of what ends it; -1: none. */
static int32_t piece_of(const rf__piece_model *p, const char *word, size_t at, size_t next, size_t size)
{
    const struct { const char *text; size_t size; } part[] = {
        {p->prefix, at ? p->prefix_size : 0}, {word + at, next - at}, {p->suffix, next == size ? p->suffix_size : 0}};
    uint32_t node = 0;
    int32_t id = -1;
    for (size_t i = 0; i < RF_COUNT(part); i++)
        for (size_t k = 0; k < part[i].size;) {
            id = rf__trie_step(&p->names_trie, &node, rf__utf8_get((const unsigned char *)part[i].text, &k));
            if (!node) return -1;
        }
    return id;
}

/* Symbols so far.  As in tokenizers, a symbol begins where the one before it ends, even if characters between them
 * were dropped, and the bytes that replace a character are one long each. */
typedef struct row { symbol *at; size_t n; uint32_t end; } row;

static void add_symbol(row *r, int32_t id, size_t length)
{
    r->at[r->n++] = (symbol){.id = (uint32_t)id, .from = r->end, .to = r->end + (uint32_t)length};
    r->end += (uint32_t)length;
}

static void add_bytes(const rf__piece_model *p, row *r, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) add_symbol(r, p->byte[(unsigned char)text[i]], 1);
}

/* The word as characters, or as replacements of unknown ones.  An unknown waits for the next known character: with
 * fuse_unk it is extended by others until then.  False: no piece represents unknown text. */
static bool characters(const rf__piece_model *p, const char *word, size_t size, row *r)
{
    size_t waiting = 0;                                             /* bytes of the unknown                         */
    for (size_t at = 0, next = 0; at < size; at = next) {
        rf__utf8_get((const unsigned char *)word, &next);
        const int32_t id = piece_of(p, word, at, next, size);
        const size_t before = at ? p->prefix_size : 0, behind = next == size ? p->suffix_size : 0;
        if (id >= 0) {
            if (waiting) add_symbol(r, p->unk, waiting), waiting = 0;
            add_symbol(r, id, next - at);
        } else if (has_bytes(p, p->prefix, 0, before) && has_bytes(p, word, at, next) &&
                   has_bytes(p, p->suffix, 0, behind)) {
            add_bytes(p, r, p->prefix, before);
            add_bytes(p, r, word + at, next - at);
            add_bytes(p, r, p->suffix, behind);
        } else if (p->unk >= 0) {
            if (waiting && !p->fuse) add_symbol(r, p->unk, waiting), waiting = 0;
            waiting += next - at;
        } else if (p->must) {
            return false;
        }
    }
    if (waiting) add_symbol(r, p->unk, waiting);
    return true;
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

/* Space for the symbols of a word: one for each byte, and those of the prefix and suffix in bytes. */
static symbol *reserve(const rf__piece_model *p, rf__piece_scratch *c, size_t size)
{
    size_t most;
    if (!rf__checked_mul(size, p->bytes ? p->prefix_size + 1 : 1, &most) || most > SIZE_MAX / 2) return NULL;
    if (!rf__grow(c->ctx, &c->symbol, &c->symbol_capacity, most + p->suffix_size + 1, sizeof(symbol))) return NULL;
    return c->symbol;
}

/* What tokenizers does with a place after the end of the word is an accident; here, it is the end. */
typedef struct bounded { rf__piece_sink *put; void *user; size_t size; } bounded;

static bool put_bounded(void *user, int32_t id, size_t from, size_t to)
{
    const bounded *b = user;
    return b->put(b->user, id, from < b->size ? from : b->size - 1, to < b->size ? to : b->size);
}

static bool cut_whole(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size,
                      rf__piece_sink *put, void *user)
{
    const int32_t whole = p->whole ? rf__piece_model_find(p, word, size) : -1;
    bounded b = {put, user, size};
    if (whole >= 0) return put(user, whole, 0, size);
    row r = {.at = reserve(p, c, size)};
    if (!r.at) return false;
    if (!characters(p, word, size, &r)) return lost(c);
    return r.end > size ? merge(p, c, r.n, put_bounded, &b) : merge(p, c, r.n, put, user);
}

/* The end of the part of a word that begins at `at`: the next U+2581 after another character. */
static size_t part_end(const char *word, size_t at, size_t size)
{
    const size_t one = sizeof RF__BLANK - 1;
    while (size - at >= one && !memcmp(word + at, RF__BLANK, one)) at += one;
    while (at < size) {
        const char *p = memchr(word + at, (unsigned char)RF__BLANK[0], size - at);
        if (!p) break;
        at = (size_t)(p - word);
        if (size - at >= one && !memcmp(p, RF__BLANK, one)) return at;
        at++;
    }
    return size;
}

typedef struct shifted { rf__piece_sink *put; void *user; size_t by; } shifted;

static bool put_shifted(void *user, int32_t id, size_t from, size_t to)
{
    const shifted *s = user;
    return s->put(s->user, id, from + s->by, to + s->by);
}

/* In parts, if no merge joins two of them. */
static bool cut_bpe(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size, rf__piece_sink *put,
                    void *user)
{
    if (!p->apart) return cut_whole(p, c, word, size, put, user);
    shifted s = {put, user, 0};
    for (size_t end; s.by < size; s.by = end) {
        end = part_end(word, s.by, size);
        if (!cut_whole(p, c, word + s.by, end - s.by, put_shifted, &s)) return false;
    }
    return true;
}

/* ---- WordPiece, WordLevel ---------------------------------------------------------------------------------------- */

static bool put_unknown(const rf__piece_model *p, rf__piece_scratch *c, size_t size, rf__piece_sink *put, void *user)
{
    return p->unk < 0 ? lost(c) : put(user, p->unk, 0, size);
}

/* The longest piece of word[at, size), after the prefix unless the word begins there; its end, 0: none. */
static size_t longest(const rf__piece_model *p, const char *word, size_t at, size_t size, int32_t *id)
{
    uint32_t node = 0;
    size_t end = 0;
    for (size_t k = 0; at && k < p->prefix_size;) {
        rf__trie_step(&p->names_trie, &node, rf__utf8_get((const unsigned char *)p->prefix, &k));
        if (!node) return 0;
    }
    for (size_t next = at; next < size;) {
        const int32_t one = rf__trie_step(&p->names_trie, &node, rf__utf8_get((const unsigned char *)word, &next));
        if (!node) break;
        if (one >= 0) *id = one, end = next;
    }
    return end;
}

static bool cut_wordpiece(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size,
                          rf__piece_sink *put, void *user)
{
    size_t n = 0, chars = 0;
    for (size_t i = 0; i < size; i++) chars += ((unsigned char)word[i] & 0xC0) != 0x80;
    if (chars > p->longest) return put_unknown(p, c, size, put, user);
    if (!rf__grow(c->ctx, &c->order, &c->order_capacity, size, sizeof(span))) return false;
    span *s = c->order;
    for (size_t at = 0; at < size; at = s[n++].to) {
        s[n].from = (uint32_t)at;
        s[n].to = (uint32_t)longest(p, word, at, size, &s[n].id);
        if (!s[n].to) return put_unknown(p, c, size, put, user);
    }
    for (size_t i = 0; i < n; i++)
        if (!put(user, s[i].id, s[i].from, s[i].to)) return false;
    return true;
}

static bool cut_wordlevel(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size,
                          rf__piece_sink *put, void *user)
{
    const int32_t id = rf__piece_model_find(p, word, size);
    return id >= 0 ? put(user, id, 0, size) : put_unknown(p, c, size, put, user);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

bool rf__piece_model_cut(const rf__piece_model *p, rf__piece_scratch *scratch, const char *word, size_t size,
                         rf__piece_sink *put, void *user)
{
    static bool (*const cut[])(const rf__piece_model *p, rf__piece_scratch *c, const char *word, size_t size,
                               rf__piece_sink *put, void *user) = {
        [RF_PIECES_BPE] = cut_bpe, [RF_PIECES_WORDPIECE] = cut_wordpiece, [RF_PIECES_WORDLEVEL] = cut_wordlevel,
        [RF_PIECES_UNIGRAM] = cut_unigram};
    return !size || cut[p->kind](p, scratch, word, size, put, user);
}

/* Bytes as visible characters, and for each byte of those which byte it shows. */
typedef struct visible { const uint32_t *shown; rf__piece_sink *put; void *user; } visible;

static bool put_shown(void *user, int32_t id, size_t from, size_t to)
{
    const visible *v = user;
    return v->put(v->user, id, v->shown[from], v->shown[to - 1] + 1u);
}

static bool cut_shown(const rf__piece_model *p, rf__piece_scratch *c, const uint32_t scalar[256], const char *word,
                      size_t size, rf__piece_sink *put, void *user)
{
    if (size > UINT32_MAX / 2 || !rf__grow(c->ctx, &c->text, &c->text_capacity, 2 * size + 4, 1) ||
        !rf__grow(c->ctx, &c->shown, &c->shown_capacity, 2 * size + 4, sizeof *c->shown))
        return false;
    size_t n = 0;
    for (uint32_t i = 0; i < size; i++) {
        const size_t bytes = rf__utf8_encode(scalar[(unsigned char)word[i]], c->text + n);
        for (size_t k = 0; k < bytes; k++) c->shown[n++] = i;
    }
    visible v = {c->shown, put, user};
    return rf__piece_model_cut(p, c, c->text, n, put_shown, &v);
}

bool rf__piece_model_cut_bytes(const rf__piece_model *p, rf__piece_scratch *c, const uint32_t scalar[256],
                               const int32_t of[256], const char *word, size_t size, rf__piece_sink *put, void *user)
{
    bool all = p->kind == RF_PIECES_BPE && !p->prefix_size && !p->suffix_size;
    for (size_t i = 0; i < size && all; i++) all = of[(unsigned char)word[i]] >= 0;
    if (!all) return cut_shown(p, c, scalar, word, size, put, user);
    if (!rf__grow(c->ctx, &c->symbol, &c->symbol_capacity, size + 1, sizeof(symbol))) return false;
    symbol *s = c->symbol;
    for (uint32_t i = 0; i < size; i++)
        s[i] = (symbol){.id = (uint32_t)of[(unsigned char)word[i]], .from = i, .to = i + 1};
    return merge(p, c, size, put, user);
}

void rf__piece_scratch_clear(rf__piece_scratch *c)
{
    rf__free(c->ctx, c->best);
    rf__free(c->ctx, c->order);
    rf__free(c->ctx, c->symbol);
    rf__free(c->ctx, c->text);
    rf__free(c->ctx, c->shown);
    rf__free(c->ctx, c->heap.merge);
}
