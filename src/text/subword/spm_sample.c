/* spm_sample.c — samples segmentations of a text from a unigram model (Kudo 2018, "Subword regularization").  It draws
 * the same random numbers as the C++ library, so the same seed gives the same pieces.
 *
 *     nbest < 0   a path through the lattice of all segmentations, with probability p^alpha / sum p^alpha: forward
 *                 sums, then backward sampling
 *     nbest > 1   one of the nbest best, with probability p^alpha: A* finds them from the end, with the exact score of
 *                 the best path from the beginning as its bound
 *
 * Sums are float where the library's are, so that they are rounded equally.                                          */
#include <math.h>

#include "spm_model.h"

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* Matsumoto and Nishimura 1998: Mersenne twister, 32 bits. */
void rf__mt19937_seed(rf__mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) g->state[i] = 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
    g->at = 624;
}

static uint32_t next_number(rf__mt19937 *g)
{
    uint32_t *s = g->state;
    if (g->at == 624) {
        for (int i = 0; i < 624; i++) {
            const uint32_t x = (s[i] & 0x80000000u) | (s[(i + 1) % 624] & 0x7FFFFFFFu);
            s[i] = s[(i + 397) % 624] ^ x >> 1 ^ (x & 1 ? 0x9908B0DFu : 0);
        }
        g->at = 0;
    }
    uint32_t x = s[g->at++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9D2C5680u;
    x ^= x << 15 & 0xEFC60000u;
    return x ^ x >> 18;
}

double rf__mt19937_uniform(rf__mt19937 *g)
{
    const double low = next_number(g), high = next_number(g);
    const double x = (low + high * 4294967296.0) / 18446744073709551616.0;
    return x < 1 ? x : nextafter(1, 0);
}

/* One of n with the probabilities p[], which are replaced by their running sums.  For n = 1 no random number is
 * drawn. */
static size_t draw(rf__mt19937 *g, double p[], size_t n)
{
    double sum = 0, so_far = 0;
    if (n < 2) return 0;
    for (size_t i = 0; i < n; i++) sum += p[i];
    for (size_t i = 0; i < n; i++) p[i] = so_far = p[i] / sum + so_far;
    p[n - 1] = 1;
    const double x = rf__mt19937_uniform(g);
    size_t from = 0;
    for (size_t left = n; left;) {                                  /* the first that is not less than x              */
        const size_t half = left / 2;
        if (p[from + half] < x) from += half + 1, left -= half + 1;
        else left = half;
    }
    return from < n ? from : n - 1;
}

/* ---- the lattice ------------------------------------------------------------------------------------------------- */

/* A piece at a position; node 0 begins the text, node 1 ends it. */
typedef struct node { uint32_t from, to; int32_t id; float score, best; uint32_t before; } node;
enum { BEGIN, END };

typedef struct lattice {
    const rf_ctx *ctx;
    node *node;
    size_t n, capacity;
    uint32_t *first;                    /* [size + 2] per position: index in `ending` of the first that ends there    */
    uint32_t *ending;                  /* [n] nodes by the position where they end, in the order of creation */
    uint32_t size;                      /* bytes of the text                                                          */
    float *alpha;                       /* [n] forward sums                                                           */
    double *p;                          /* for the nodes that end at one position                                     */
    uint32_t most;
} lattice;

static bool add(lattice *l, node x)
{
    if (!rf__grow(l->ctx, &l->node, &l->capacity, l->n + 1, sizeof *l->node)) return false;
    l->node[l->n++] = x;
    return true;
}

/* The pieces that begin at `at`, shorter ones first; *next: the character after it. */
static bool add_pieces(const rf__spm *m, const char *text, size_t at, lattice *l, size_t *next)
{
    uint32_t trie = 0, characters = 0;
    bool single = false;
    for (size_t end = at; end < l->size;) {
        const int32_t id = rf__trie_step(&m->trie, &trie, rf__utf8_get((const unsigned char *)text, &end));
        if (!characters++) *next = end, single = id >= 0;
        if (!trie) break;
        if (id < 0) continue;
        const bool users = m->piece[id].type == RF_PIECE_USER_DEFINED;
        const float score = users ? (float)((double)((float)(int)characters * m->highest) - 0.1) : m->piece[id].score;
        if (!add(l, (node){(uint32_t)at, (uint32_t)end, id, score, 0, 0})) return false;
    }
    return single || add(l, (node){(uint32_t)at, (uint32_t)*next, m->unk, m->lowest - 10.0f, 0, 0});
}

/* Nodes by their ends. */
static bool sort_by_end(lattice *l)
{
    l->first = rf__calloc(l->ctx, (size_t)l->size + 2, sizeof *l->first);
    l->ending = rf__alloc(l->ctx, l->n * sizeof *l->ending);
    if (!l->first || !l->ending) return false;
    for (size_t i = 0; i < l->n; i++)
        if (i != END) l->first[l->node[i].to + 1]++;
    for (size_t i = 1; i < (size_t)l->size + 2; i++) {
        if (l->first[i] > l->most) l->most = l->first[i];
        l->first[i] += l->first[i - 1];
    }
    for (size_t i = 0; i < l->n; i++)                               /* first[to] is where the next one goes ...       */
        if (i != END) l->ending[l->first[l->node[i].to]++] = (uint32_t)i;
    for (size_t i = (size_t)l->size + 1; i; i--) l->first[i] = l->first[i - 1];
    l->first[0] = 0;                                                /* ... and again where the place begins           */
    return true;
}

static bool build(const rf__spm *m, const rf__spm_text *t, lattice *l)
{
    l->size = (uint32_t)t->n;
    if (!add(l, (node){.id = -1}) || !add(l, (node){l->size, l->size, -1, 0, 0, 0})) return false;
    for (size_t at = 0, next = 0; at < t->n; at = next)
        if (!add_pieces(m, t->at, at, l, &next)) return false;
    if (l->n >= INT32_MAX || !sort_by_end(l)) return false;
    l->alpha = rf__calloc(l->ctx, l->n, sizeof *l->alpha);
    l->p = rf__alloc(l->ctx, ((size_t)l->most + 1) * sizeof *l->p);
    return l->alpha && l->p;
}

static void clear(lattice *l)
{
    rf__free(l->ctx, l->node);
    rf__free(l->ctx, l->first);
    rf__free(l->ctx, l->ending);
    rf__free(l->ctx, l->alpha);
    rf__free(l->ctx, l->p);
}

/* ---- of all ------------------------------------------------------------------------------------------------------ */

static float log_sum(float x, float y)
{
    const float low = x < y ? x : y, high = x < y ? y : x;
    return high > low + 50.0f ? high : (float)((double)high + log(exp((double)(low - high)) + 1.0));
}

static void forward_node(lattice *l, float alpha, uint32_t i)
{
    const uint32_t place = l->node[i].from;
    float sum = 0;
    for (uint32_t k = l->first[place]; k < l->first[place + 1]; k++) {
        const uint32_t left = l->ending[k];
        const float x = alpha * l->node[left].score + l->alpha[left];
        sum = k == l->first[place] ? x : log_sum(sum, x);
    }
    l->alpha[i] = sum;
}

/* A path back from the end, as segments in the order of the text. */
static bool sample_all(lattice *l, const rf__spm_sample *s, rf__spm_segments *out)
{
    rf__mt19937 random;
    rf__mt19937_seed(&random, s->seed);
    for (uint32_t i = 2; i < l->n; i++) forward_node(l, s->alpha, i);
    forward_node(l, s->alpha, END);
    for (uint32_t at = END;;) {
        const uint32_t place = l->node[at].from, first = l->first[place];
        for (uint32_t k = first; k < l->first[place + 1]; k++) {
            const uint32_t left = l->ending[k];
            const float x = l->alpha[left] + s->alpha * l->node[left].score - l->alpha[at];
            l->p[k - first] = (double)(float)exp((double)x);
        }
        at = l->ending[first + draw(&random, l->p, l->first[place + 1] - first)];
        if (at == BEGIN) break;
        if (!rf__spm_segment_append(l->ctx, out, l->node[at].from, l->node[at].to, l->node[at].id)) return false;
    }
    for (size_t i = 0, k = out->n; i + 1 < k; i++) {
        const rf__spm_segment x = out->at[i];
        out->at[i] = out->at[--k];
        out->at[k] = x;
    }
    return true;
}

/* ---- of the best ------------------------------------------------------------------------------------------------- */

/* A path from a node to the end: `total` includes the best path to the node, `behind` does not. */
typedef struct way { uint32_t node; int32_t next; float total, behind; } way;
typedef struct agenda {
    const rf_ctx *ctx;
    way *way;
    int32_t *heap;
    size_t ways, way_capacity, n, heap_capacity;
} agenda;

enum { MOST_AGENDA = 10000, FEWEST_AGENDA = 512 };

/* The heap orders equal paths like C++'s std::priority_queue: up from the last position ... */
static void rise(agenda *a, size_t hole, int32_t x)
{
    for (size_t up; hole && (up = (hole - 1) / 2, a->way[a->heap[up]].total < a->way[x].total); hole = up)
        a->heap[hole] = a->heap[up];
    a->heap[hole] = x;
}

static bool push(agenda *a, int32_t x)
{
    if (!rf__grow(a->ctx, &a->heap, &a->heap_capacity, a->n + 1, sizeof *a->heap)) return false;
    rise(a, a->n++, x);
    return true;
}

/* ... and from the top down to a leaf, then up. */
static int32_t pop(agenda *a)
{
    const int32_t top = a->heap[0], last = a->heap[--a->n];
    size_t hole = 0, k;
    while ((k = 2 * hole + 2) < a->n) {
        if (a->way[a->heap[k]].total < a->way[a->heap[k - 1]].total) k--;
        a->heap[hole] = a->heap[k];
        hole = k;
    }
    if (k == a->n) a->heap[hole] = a->heap[k - 1], hole = k - 1;
    if (a->n) rise(a, hole, last);
    return top;
}

static bool add_path(agenda *a, way x)
{
    if (a->ways >= INT32_MAX || !rf__grow(a->ctx, &a->way, &a->way_capacity, a->ways + 1, sizeof *a->way)) return false;
    a->way[a->ways] = x;
    return push(a, (int32_t)a->ways++);
}

/* Keeps the best paths and their continuations: `next` of a path was created before it. */
static bool shrink(agenda *a, size_t nbest)
{
    const size_t keep = nbest * 10 < FEWEST_AGENDA ? nbest * 10 : FEWEST_AGENDA;
    int32_t *to = rf__calloc(a->ctx, a->ways, sizeof *to), *best = rf__alloc(a->ctx, keep * sizeof *best);
    const bool good = to && best;
    for (size_t i = 0; i < keep && good; i++) {
        best[i] = pop(a);
        for (int32_t w = best[i]; w >= 0 && !to[w]; w = a->way[w].next) to[w] = 1;
    }
    size_t ways = 0;
    for (size_t w = 0; w < a->ways && good; w++) {
        if (!to[w]) continue;
        way one = a->way[w];
        if (one.next >= 0) one.next = to[one.next];
        a->way[ways] = one;
        to[w] = (int32_t)ways++;
    }
    if (good) a->ways = ways, a->n = 0;
    for (size_t i = 0; i < keep && good; i++) rise(a, a->n++, to[best[i]]);
    rf__free(a->ctx, to);
    rf__free(a->ctx, best);
    return good;
}

/* The best path to each node. */
static void find_best(lattice *l, uint32_t i)
{
    const uint32_t place = l->node[i].from;
    for (uint32_t k = l->first[place]; k < l->first[place + 1]; k++) {
        const float score = l->node[l->ending[k]].best + l->node[i].score;
        if (k == l->first[place] || score > l->node[i].best) l->node[i].best = score;
    }
}

/* All extensions of a path to the left. */
static bool expand(const lattice *l, agenda *a, int32_t right)
{
    const way w = a->way[right];
    const uint32_t place = l->node[w.node].from;
    for (uint32_t k = l->first[place]; k < l->first[place + 1]; k++) {
        const node *left = &l->node[l->ending[k]];
        if (!add_path(a, (way){l->ending[k], right, left->best + w.behind, left->score + w.behind})) return false;
    }
    return true;
}

/* The nbest best complete paths, by their numbers in the agenda; kept[n] is the first of n pieces. */
static bool find_nbest(const lattice *l, agenda *a, rf__spm_segments *kept, int32_t first[], float total[],
                       size_t nbest, size_t *n)
{
    if (!add_path(a, (way){END, -1, l->node[END].best, 0})) return false;
    while (a->n && *n < nbest) {
        const int32_t top = pop(a);
        if (a->way[top].node != BEGIN) {
            if (!expand(l, a, top) || (a->n >= MOST_AGENDA && !shrink(a, nbest))) return false;
            continue;
        }
        first[*n] = (int32_t)kept->n;
        total[(*n)++] = a->way[top].total;
        for (int32_t w = a->way[top].next; a->way[w].next >= 0; w = a->way[w].next) {
            const node *x = &l->node[a->way[w].node];
            if (!rf__spm_segment_append(a->ctx, kept, x->from, x->to, x->id)) return false;
        }
    }
    first[*n] = (int32_t)kept->n;
    return true;
}

static bool sample_nbest(lattice *l, const rf__spm_sample *s, rf__spm_segments *out)
{
    enum { NBEST = 512 };
    const size_t nbest = s->nbest < NBEST ? (size_t)s->nbest : NBEST;
    agenda a = {.ctx = l->ctx};
    rf__spm_segments kept = {0};
    int32_t first[NBEST + 1];
    float total[NBEST];
    double p[NBEST];
    size_t n = 0;
    for (uint32_t i = 2; i < l->n; i++) find_best(l, i);
    find_best(l, END);
    bool good = find_nbest(l, &a, &kept, first, total, nbest, &n);
    if (good) {
        rf__mt19937 random;
        rf__mt19937_seed(&random, s->seed);
        for (size_t i = 0; i < n; i++) p[i] = (double)expf(s->alpha * total[i]);
        const size_t chosen = draw(&random, p, n);
        for (int32_t i = first[chosen]; i < first[chosen + 1] && good; i++)
            good = rf__spm_segment_append(l->ctx, out, kept.at[i].from, kept.at[i].to, kept.at[i].id);
    }
    rf__free(l->ctx, kept.at);
    rf__free(l->ctx, a.way);
    rf__free(l->ctx, a.heap);
    return good;
}

bool rf__spm_sample_unigram(const rf__spm *m, rf__spm_work *w, const rf__spm_sample *sample)
{
    lattice l = {.ctx = w->ctx};
    const bool good = build(m, &w->text, &l) &&
                      (sample->nbest < 0 ? sample_all : sample_nbest)(&l, sample, &w->segments);
    clear(&l);
    return good;
}
