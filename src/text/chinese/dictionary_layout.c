/* dictionary_layout.c — builds the arrays of a file (dictionary.h), a double-array trie, from prefixes of words.
 *
 *     unit(prefix + character) = base(prefix) + code(character)         its `check` is the prefix's unit
 *
 * Characters that continue many prefixes have small codes, so that frequent units are close together.  Prefixes are
 * placed by first fit, those with the most continuations first; prefixes with one continuation fill the gaps.        */
#include <stdlib.h>

#include "dictionary.h"

enum { CHARACTERS = 0x110000 };

typedef struct { uint32_t begin, count; } group;                /* entries of one parent                        */

typedef struct layout {
    const rf_ctx *ctx;
    rf_dictionary_entry *entry;
    size_t n, ids;                      /* ids are below it                                                           */
    uint32_t *code, *seen;              /* [CHARACTERS]; seen[k]: the character of code k + 1                         */
    size_t codes;
    uint64_t *value;                    /* bits of the distinct values, sorted; [0] is that of no word                */
    size_t values;
    group *groups;
    size_t n_groups;
    uint32_t *base, *at;                /* [ids] of a prefix; at: its unit                                            */
    uint32_t *next;                     /* [capacity] the next free unit is at next[i] or later                       */
    size_t capacity, units;
} layout;

static void clear(layout *l)
{
    void *all[] = {l->code, l->seen, l->value, l->groups, l->base, l->at, l->next};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(l->ctx, all[i]);
}

/* ---- codes of characters, numbers of values ---------------------------------------------------------------------- */

/* `seen` holds count << 21 | (2^21 - 1 - character). */
static int by_count(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool assign_codes(layout *l)
{
    uint64_t *order = rf__calloc(l->ctx, CHARACTERS, sizeof *order);
    l->code = rf__calloc(l->ctx, CHARACTERS, sizeof *l->code);
    if (!order || !l->code) return rf__free(l->ctx, order), false;
    for (size_t i = 0; i < l->n; i++) order[l->entry[i].c] += 1 << 21;
    for (uint32_t c = 0; c < CHARACTERS; c++)
        if (order[c]) order[l->codes++] = order[c] | (CHARACTERS - 1 - c);
    qsort(order, l->codes, sizeof *order, by_count);
    l->seen = rf__alloc(l->ctx, (l->codes + 1) * sizeof *l->seen);
    for (size_t i = 0; l->seen && i < l->codes; i++) {
        l->seen[i] = CHARACTERS - 1 - (uint32_t)(order[i] & ((1 << 21) - 1));
        l->code[l->seen[i]] = (uint32_t)i + 1;
    }
    rf__free(l->ctx, order);
    return l->seen;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int by_bits(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static bool number_values(layout *l)
{
    l->value = rf__alloc(l->ctx, (l->n + 1) * sizeof *l->value);
    if (!l->value) return false;
    uint64_t *v = l->value + 1;
    for (size_t i = 0; i < l->n; i++) v[i] = bits_of(l->entry[i].value);
    qsort(v, l->n, sizeof *v, by_bits);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (v[i] != bits_of(INFINITY) && (!n || v[n - 1] != v[i])) v[n++] = v[i];
    l->value[0] = bits_of(INFINITY);
    l->values = n + 1;
    return true;
}

static uint32_t number_of(const layout *l, double value)
{
    const uint64_t bits = bits_of(value);
    const uint64_t *v = bsearch(&bits, l->value + 1, l->values - 1, sizeof bits, by_bits);
    return v ? (uint32_t)(v - l->value) : 0;
}

/* ---- bases ------------------------------------------------------------------------------------------------------- */

/* Here c is already a code. */
static int by_parent(const void *a, const void *b)
{
    const rf_dictionary_entry *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    return x->c < y->c ? -1 : x->c > y->c ? 1 : 0;
}

static int by_size(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : 0;
}

/* Sorts entries by parent and code and counts those of each parent; false: no memory, or *damaged. */
static bool gather(layout *l, bool *damaged)
{
    for (size_t i = 0; i < l->n; i++) l->entry[i].c = l->code[l->entry[i].c];
    qsort(l->entry, l->n, sizeof *l->entry, by_parent);
    l->groups = rf__alloc(l->ctx, (l->n + 1) * sizeof *l->groups);
    if (!l->groups) return false;
    for (size_t i = 0; i < l->n; i++) {
        const rf_dictionary_entry *e = &l->entry[i];
        const bool same = i && e[-1].parent == e->parent;
        if (same && e[-1].c == e->c) return *damaged = true, false;
        if (!same) l->groups[l->n_groups++] = (group){(uint32_t)i, 0};
        l->groups[l->n_groups - 1].count++;
    }
    return true;
}

static size_t free_from(layout *l, size_t i)
{
    size_t found = i;
    while (l->next[found] != found) found = l->next[found];
    for (size_t after; i != found; i = after) after = l->next[i], l->next[i] = (uint32_t)found;
    return found;
}

static bool fits(const layout *l, const group *g, size_t base)
{
    for (uint32_t i = 1; i < g->count; i++) {
        const size_t at = base + l->entry[g->begin + i].c;
        if (at >= l->capacity || l->next[at] != at) return false;
    }
    return true;
}

/* The search continues where the last one ended.  It restarts when the number of continuations has dropped by an
 * eighth, or by one for small numbers. */
static bool place(layout *l)
{
    size_t start = l->codes + 1, fallen = SIZE_MAX;
    l->units = start;
    for (size_t k = 0; k < l->n_groups; k++) {
        const group *g = &l->groups[k];
        const rf_dictionary_entry *e = &l->entry[g->begin];
        if (!e->parent) continue;
        if (g->count < fallen) start = l->codes + 1, fallen = g->count - g->count / 8;
        for (start = free_from(l, start); start < l->capacity; start = free_from(l, start + 1))
            if (fits(l, g, start - e->c)) break;
        if (start >= l->capacity) return false;
        const size_t base = start - e->c;
        l->base[e->parent] = (uint32_t)base;
        for (uint32_t i = 0; i < g->count; i++) l->next[base + e[i].c] = (uint32_t)(base + e[i].c + 1);
        if (base + e[g->count - 1].c >= l->units) l->units = base + e[g->count - 1].c + 1;
    }
    return true;
}

static bool find_bases(layout *l)
{
    l->capacity = l->codes + 4 * l->n + 1024;
    if (l->capacity > RF_DICTIONARY_UNITS) l->capacity = RF_DICTIONARY_UNITS;
    l->next = rf__alloc(l->ctx, (l->capacity + 1) * sizeof *l->next);
    l->base = rf__calloc(l->ctx, l->ids, sizeof *l->base);
    l->at = rf__calloc(l->ctx, l->ids, sizeof *l->at);
    if (!l->next || !l->base || !l->at) return false;
    for (size_t i = 0; i <= l->capacity; i++) l->next[i] = (uint32_t)i;
    qsort(l->groups, l->n_groups, sizeof *l->groups, by_size);
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Finds the entry of each prefix that has continuations; false if two have the same number. */
static bool find_units(layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const rf_dictionary_entry *e = &l->entry[i];
        if (!e->id) continue;
        if (l->at[e->id]) return false;
        l->at[e->id] = (e->parent ? l->base[e->parent] : 0) + e->c;
    }
    return true;
}

static void fill(const layout *l, const rf_dictionary_header *h, char *file)
{
    rf_dictionary d;
    memcpy(file, h, sizeof *h);
    rf__dictionary_parts(&d, file);
    memcpy((double *)(uintptr_t)d.value, l->value, l->values * sizeof *l->value);
    uint64_t *unit = (uint64_t *)(uintptr_t)d.unit;
    for (size_t i = 0; i < l->n; i++) {
        const rf_dictionary_entry *e = &l->entry[i];
        const uint32_t at = (e->parent ? l->base[e->parent] : 0) + e->c;
        unit[at] = rf_dictionary_unit(e->parent ? l->at[e->parent] : 0, e->id ? l->base[e->id] : 0,
                                      number_of(l, e->value));
    }
    memcpy((uint32_t *)(uintptr_t)d.code, l->code, RF_DICTIONARY_PLANE * sizeof *l->code);
    rf_dictionary_wide *wide = (rf_dictionary_wide *)(uintptr_t)d.wide;
    for (uint32_t c = RF_DICTIONARY_PLANE; c < CHARACTERS; c++)
        if (l->code[c]) *wide++ = (rf_dictionary_wide){c, l->code[c]};
}

static bool finish(layout *l, rf_dictionary_header *h, char **file, size_t *size)
{
    h->units = (uint32_t)l->units;
    h->values = (uint32_t)l->values;
    h->wides = 0;
    for (size_t i = 0; i < l->codes; i++) h->wides += l->seen[i] >= RF_DICTIONARY_PLANE;
    memcpy(h->magic, RF_DICTIONARY_MAGIC, sizeof h->magic);
    *size = rf__dictionary_size(h);
    *file = rf__calloc(l->ctx, *size, 1);
    if (*file) fill(l, h, *file);
    return *file;
}

rf_status rf__dictionary_lay_out(const rf_ctx *ctx, rf_dictionary_entry *entry, size_t n, rf_dictionary_header *h,
                                 const char *name, char **file, size_t *size, rf_error *why)
{
    layout l = {.ctx = ctx, .entry = entry, .n = n, .ids = 1};
    bool damaged = false, full = false;
    for (size_t i = 0; i < n; i++) {
        if (entry[i].id >= l.ids) l.ids = (size_t)entry[i].id + 1;
        if (entry[i].parent >= l.ids) l.ids = (size_t)entry[i].parent + 1;
        damaged |= entry[i].c >= CHARACTERS;
    }
    bool done = !damaged && assign_codes(&l) && number_values(&l) && gather(&l, &damaged) && find_bases(&l);
    if (done) full = l.values > RF_DICTIONARY_VALUES || !place(&l);
    if (done && !full) damaged = !find_units(&l);
    done = done && !full && !damaged && finish(&l, h, file, size);
    clear(&l);
    if (done) return RF_OK;
    if (damaged)
        return rf_fail(why, RF_EDATA, "%s: damaged dictionary; compile it again with `roformer dictionary`", name);
    if (full)
        return rf_fail(why, RF_EDATA, "%s: expected at most %d units and %d different frequencies, got more", name,
                       RF_DICTIONARY_UNITS, RF_DICTIONARY_VALUES);
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu prefixes of words", name, n);
}
