/* ter.c — translation edit rate (Snover et al. 2006), with the heuristics of Tercom, as in sacreBLEU.
 *
 *     TER = 100 (words inserted, deleted, replaced + blocks moved) / mean words of the references
 *
 * Blocks of up to 10 words that occur elsewhere in the reference, at most 50 positions away, are moved one after
 * another.  Each step moves the block that saves most, as long as it saves something and fewer than 1000 moves were
 * tried.  The edit distance is computed within 25 positions of the diagonal:
 *
 *     d(i,j) = min(d(i-1,j-1) + [h_i != r_j], d(i-1,j) + 1, d(i,j-1) + 1)
 *
 * Ties select the first in this order, which determines the alignment.  A move does not change the words before it, so
 * their rows remain valid.                                                                                           */
#include <math.h>
#include <stdio.h>

#include "score.h"

enum { BEAM = 25, BLOCK = 10, FAR = 50, TRIES = 1000, INFINITE = 1 << 28 };
enum { KEEP, REPLACE, DELETE, INSERT };                   /* the low bits of a cell; the rest is the distance         */

/* Distances of a system's words (`h`, n of them) to the reference's (`r`, m).  Row i has the columns low(i) <= j <
 * high(i), and infinity on both sides.  `rows` keeps all rows of the words before moves. */
typedef struct edits {
    rf__mt_scratch *s;
    const uint32_t *r;
    int n, m, beam, stride;
    double ratio;
    uint32_t *h, *moved;                /* [n]                                                                        */
    uint32_t *rows;                     /* [n, stride], the last one longer                                           */
    uint32_t *one, *two;                /* [m + 3]: rows of words after a move; column j is at j + 1                  */
    uint32_t *trace;                    /* [n + m]                                                                    */
    int32_t *align;                     /* [m]: the position in h that r_j is aligned with                            */
    uint32_t *wrong_h, *wrong_r;        /* sums: number of edited words among the first i                             */
    int tries;
} edits;

static int diagonal(const edits *e, int i) { return (int)floor((double)i * e->ratio); }
static int low(const edits *e, int i) { return i && diagonal(e, i) > e->beam ? diagonal(e, i) - e->beam : 0; }
static int high(const edits *e, int i)
{
    const int to = diagonal(e, i) + e->beam;
    return i == 0 || i == e->n || to > e->m + 1 ? e->m + 1 : to;
}

/* Row i of `h` from the row before it; both begin with column -1. */
static void fill_row(const edits *e, int i, uint32_t word, uint32_t *before, uint32_t *row)
{
    const int from = low(e, i), to = high(e, i);
    for (int j = high(e, i - 1); j < to; j++) before[j + 1] = INFINITE;
    row[from] = INFINITE;                                 /* column from - 1                                          */
    for (int j = from; j < to; j++) {
        if (!j) {
            row[1] = ((before[1] & ~3u) + 4) | DELETE;
            continue;
        }
        const bool same = word == e->r[j - 1];
        const uint32_t replaced = (before[j] & ~3u) + (same ? 0 : 4), deleted = (before[j + 1] & ~3u) + 4;
        const uint32_t inserted = (row[j] & ~3u) + 4;
        uint32_t best = INFINITE;
        if (replaced < best) best = replaced | (same ? KEEP : REPLACE);
        if (deleted < (best & ~3u)) best = deleted | DELETE;
        if (inserted < (best & ~3u)) best = inserted | INSERT;
        row[j + 1] = best;
    }
}

static void first_row(const edits *e, uint32_t *row)
{
    row[0] = INFINITE;
    for (int j = 0; j <= e->m; j++) row[j + 1] = (uint32_t)j * 4 + INSERT;
}

static uint32_t *stored_row(const edits *e, int i) { return e->rows + (size_t)(i - 1) * (size_t)e->stride; }

/* The stored row i, with column j at j + 1. */
static void take_row(const edits *e, int i, uint32_t *row)
{
    if (!i) first_row(e, row);
    else memcpy(row + low(e, i), stored_row(e, i), (size_t)(high(e, i) - low(e, i) + 1) * sizeof *row);
}

/* The distance of `words`, whose first `same` words are those of e->h.  `keep`: they are e->h. */
static int distance(edits *e, const uint32_t *words, int same, bool keep)
{
    uint32_t *before = e->one, *row = e->two;
    take_row(e, same, before);
    for (int i = same + 1; i <= e->n; i++) {
        fill_row(e, i, words[i - 1], before, row);
        if (keep) memcpy(stored_row(e, i), row + low(e, i), (size_t)(high(e, i) - low(e, i) + 1) * sizeof *row);
        uint32_t *t = before;
        before = row;
        row = t;
    }
    return (int)(before[e->m + 1] >> 2);
}

static uint32_t cell(const edits *e, int i, int j)
{
    return i ? stored_row(e, i)[j + 1 - low(e, i)] : (uint32_t)j * 4 + INSERT;
}

/* The alignment of each word of the reference, and which words are edited, from the rows of e->h. */
static void trace(edits *e)
{
    int i = e->n, j = e->m, n = 0;
    while (i > 0 || j > 0) {
        const uint32_t op = cell(e, i, j) & 3;
        e->trace[n++] = op;
        i -= op != INSERT;
        j -= op != DELETE;
    }
    e->wrong_h[0] = e->wrong_r[0] = 0;
    for (i = j = 0; n-- > 0;) {
        const uint32_t op = e->trace[n];
        if (op != INSERT) e->wrong_h[i + 1] = e->wrong_h[i] + (op != KEEP), i++;
        if (op == DELETE) continue;
        e->wrong_r[j + 1] = e->wrong_r[j] + (op != KEEP);
        e->align[j++] = i - 1;
    }
}

/* e->moved: e->h with the block of `n` words at `from` moved before the word at `to`. */
static void move(const edits *e, int from, int n, int to)
{
    int begin[3], end[3];
    if (to < from) begin[0] = from, end[0] = from + n, begin[1] = to, end[1] = from, begin[2] = from + n;
    else if (to > from + n) begin[0] = from + n, end[0] = to, begin[1] = from, end[1] = from + n, begin[2] = to;
    else {                                                /* within the block itself                                  */
        const int cut = n + to < e->n ? n + to : e->n;
        begin[0] = from + n, end[0] = cut, begin[1] = from, end[1] = from + n, begin[2] = cut;
    }
    end[2] = e->n;
    int at = to < from ? to : from;
    memcpy(e->moved, e->h, (size_t)at * sizeof *e->h);
    for (int k = 0; k < 3; k++)
        for (int i = begin[k]; i < end[k]; i++) e->moved[at++] = e->h[i];
}

typedef struct best { int gain, n, from, to; bool any; } best;

static bool better(const best *b, int gain, int n, int from, int to)
{
    if (!b->any || gain != b->gain) return !b->any || gain > b->gain;
    if (n != b->n) return n > b->n;
    return from != b->from ? from < b->from : to < b->to;
}

/* Tries to move the block of n words at h_from to the reference's words at r_at. */
static void try_block(edits *e, int now, int from, int at, int n, best *b)
{
    if (e->wrong_h[from + n] == e->wrong_h[from] || e->wrong_r[at + n] == e->wrong_r[at]) return;
    if (e->align[at] >= from && e->align[at] < from + n) return;
    for (int k = -1, last = -1; k < n; k++) {
        const int to = at + k < 0 ? 0 : e->align[at + k] + 1;
        if (to == last) continue;
        last = to;
        move(e, from, n, to);
        int same = 0;
        while (same < e->n && e->moved[same] == e->h[same]) same++;
        const int gain = now - distance(e, e->moved, same, false);
        e->tries++;
        if (better(b, gain, n, from, to)) *b = (best){gain, n, from, to, true};
    }
}

static best find_move(edits *e, int now)
{
    best b = {.any = false};
    for (int i = 0; i < e->n; i++) {
        const int first = i > FAR ? i - FAR : 0, last = i + FAR < e->m - 1 ? i + FAR : e->m - 1;
        for (int j = first; j <= last; j++)
            for (int n = 0; n < BLOCK && i + n < e->n && j + n < e->m && e->h[i + n] == e->r[j + n];) {
                const int tried = e->tries;
                try_block(e, now, i, j, ++n, &b);
                if (e->tries > tried && e->tries >= TRIES) return b;
            }
    }
    return b;
}

static bool begin(edits *e, rf__mt_symbols system, rf__mt_symbols reference)
{
    rf__mt_scratch *s = e->s;
    rf__points *p = s->edit;
    const size_t n = system.n, m = reference.n;
    size_t cells;
    for (size_t i = 0; i < RF_COUNT(s->edit); i++) p[i].n = 0;
    e->n = (int)n;
    e->m = (int)m;
    e->ratio = n ? (double)m / (double)n : 1;
    e->beam = BEAM < e->ratio / 2 ? (int)ceil(e->ratio / 2 + BEAM) : BEAM;
    const size_t stride = 2 * (size_t)e->beam + 2;
    e->stride = (int)stride;
    if (!rf__checked_mul(n, stride, &cells) || !rf__checked_add(cells, m + stride, &cells)) return !(s->failed = true);
    const size_t need[] = {2 * n, cells, 2 * (m + 3), n + m, m, n + 1, m + 1};
    for (size_t i = 0; i < RF_COUNT(need); i++)
        if (!rf__mt_reserve(s, &p[i], need[i])) return false;
    e->r = s->symbol.at + reference.from;
    e->h = p[0].at;
    e->moved = p[0].at + n;
    e->rows = p[1].at;
    e->one = p[2].at;
    e->two = p[2].at + m + 3;
    e->trace = p[3].at;
    e->align = (int32_t *)(void *)p[4].at;
    e->wrong_h = p[5].at;
    e->wrong_r = p[6].at;
    e->tries = 0;
    memcpy(e->h, s->symbol.at + system.from, n * sizeof *e->h);
    return true;
}

static int edits_between(rf__mt_scratch *s, rf__mt_symbols system, rf__mt_symbols reference)
{
    edits e = {.s = s};
    if (!reference.n) return (int)system.n;
    if (!begin(&e, system, reference)) return 0;
    for (int moves = 0;; moves++) {
        const int now = distance(&e, e.h, 0, true);
        trace(&e);
        const best b = find_move(&e, now);
        if (e.tries >= TRIES || !b.any || b.gain <= 0) return moves + now;
        move(&e, b.from, b.n, b.to);
        memcpy(e.h, e.moved, system.n * sizeof *e.h);
    }
}

static int counts(const rf_mt_options *o)
{
    (void)o;
    return 2;
}

static void segment(rf__mt_scratch *s, const rf__mt_line *system, const rf__mt_line *reference, int references,
                    int32_t *out)
{
    const bool lower = s->options->lowercase > 0;
    rf__mt_load(s, system->text, system->size, lower);
    const rf__mt_symbols t = rf__mt_words_of(s, false);
    int least = INT32_MAX;
    int32_t length = 0;
    for (int i = 0; i < references && !s->failed; i++) {
        rf__mt_load(s, reference[i].text, reference[i].size, lower);
        const rf__mt_symbols r = rf__mt_words_of(s, false);
        const int n = edits_between(s, t, r);
        least = n < least ? n : least;
        length += (int32_t)r.n;
    }
    out[0] = least;
    out[1] = length;
}

static void compute_ter(const rf_mt_options *o, int references, const int64_t *sum, bool single, rf_mt_score *out)
{
    (void)o;
    const double edited = (double)sum[0], length = rf__mt_round((double)sum[1] / references, single);
    *out = (rf_mt_score){.edits = edited, .reference = length};
    if (length > 0) out->score = rf__mt_round(100 * rf__mt_round(edited / length, single), single);
    else out->score = edited > 0 ? 100 : 0;
}

static void signature(const rf_mt_options *o, char *out, size_t size)
{
    snprintf(out, size, "case:%s|tok:tercom|norm:no|punct:yes|asian:no", o->lowercase > 0 ? "lc" : "mixed");
}

const rf__mt_row rf__mt_ter = {
    .name = "TER", .counts = counts, .segment = segment, .score = compute_ter, .signature = signature};
