/* dictionary_old.c — dictionaries in the older format RFWORDS1: a row for each first character below U+10000, and a
 * hash table of (prefix, character) -> (longer prefix, its value).
 *
 * Such files can still be read.  Folders identify their dictionary by the hash of such a table, filled to three
 * quarters. */
#include "base/json.h"
#include "dictionary.h"

enum { PROBES = 64 };                   /* maximum number of slots that are probed                                    */

typedef struct old_header {
    char magic[8];                      /* "RFWORDS1"                                                                 */
    uint64_t words, total, sum, hash;
    uint32_t slots, longest;
    char name[80];
} old_header;

typedef struct first { double value; uint64_t child; } first;         /* child: the longer prefix, 0: no continuation */
typedef struct slot { uint64_t key; double value; } slot;             /* key_of() << 22 | child                       */

static uint64_t key_of(uint32_t parent, uint32_t c) { return (uint64_t)parent << 21 | c; }
static uint32_t place(uint64_t key, uint32_t slots)
{
    return (uint32_t)(((key * 0x9E3779B97F4A7C15) >> 32) * slots >> 32);
}

/* ---- the hash ---------------------------------------------------------------------------------------------------- */

/* Places every prefix; false if one has no free slot within reach. */
static bool fill(const rf_dictionary_entry *entry, size_t n, first *row, slot *table, uint32_t slots)
{
    for (size_t i = 0; i < RF_DICTIONARY_PLANE; i++) row[i].value = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const rf_dictionary_entry *e = &entry[i];
        const uint64_t key = key_of(e->parent, e->c);
        if (key < RF_DICTIONARY_PLANE) {
            row[key] = (first){e->value, e->id};
            continue;
        }
        uint32_t at = place(key, slots);
        int probe = 1;
        for (; table[at].key && probe < PROBES; probe++)
            if (++at == slots) at = 0;
        if (table[at].key) return false;
        table[at] = (slot){key << 22 | e->id, e->value};
    }
    return true;
}

bool rf__dictionary_old_hash(const rf_ctx *ctx, const rf_dictionary_entry *entry, size_t n, uint64_t *hash)
{
    for (size_t slots = n + n / 3 + 64;; slots += slots / 4) {
        const size_t size = RF_DICTIONARY_PLANE * sizeof(first) + slots * sizeof(slot);
        first *row = rf__calloc(ctx, size, 1);
        if (!row) return false;
        const bool filled = fill(entry, n, row, (slot *)(void *)(row + RF_DICTIONARY_PLANE), (uint32_t)slots);
        if (filled) *hash = rf__hash64(row, size, 0);
        rf__free(ctx, row);
        if (filled) return true;
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool rf__dictionary_is_old(const void *file, size_t size)
{
    const old_header *h = file;
    return size >= sizeof *h && !memcmp(h->magic, "RFWORDS1", sizeof h->magic) && !h->name[sizeof h->name - 1] &&
           h->total && h->sum && h->longest && h->longest <= RF_DICTIONARY_LONGEST && h->slots &&
           size == sizeof *h + RF_DICTIONARY_PLANE * sizeof(first) + h->slots * sizeof(slot);
}

/* The prefixes of a file, at most `most`. */
static size_t entries_of(const old_header *h, rf_dictionary_entry *entry, size_t most)
{
    const first *row = (const first *)(const void *)(h + 1);
    const slot *table = (const slot *)(const void *)(row + RF_DICTIONARY_PLANE);
    const uint32_t child = (1u << 22) - 1, character = (1u << 21) - 1;
    size_t n = 0;
    for (uint32_t c = 0; c < RF_DICTIONARY_PLANE && n < most; c++)
        if (row[c].child || row[c].value < INFINITY)
            entry[n++] = (rf_dictionary_entry){0, c, (uint32_t)row[c].child & child, row[c].value};
    for (uint32_t i = 0; i < h->slots && n < most; i++) {
        const uint64_t key = table[i].key;
        if (key)
            entry[n++] = (rf_dictionary_entry){(uint32_t)(key >> 43), (uint32_t)(key >> 22) & character,
                                               (uint32_t)key & child, table[i].value};
    }
    return n;
}

rf_status rf__dictionary_renew(const rf_ctx *ctx, const rf_map *old, const char *path, char **file, rf_error *why)
{
    const old_header *h = (const old_header *)(const void *)old->data;
    const size_t limit = (size_t)RF_DICTIONARY_PREFIXES + 1, all = (size_t)h->slots + RF_DICTIONARY_PLANE;
    const size_t most = all < limit ? all : limit;
    rf_dictionary_entry *entry = rf__alloc(ctx, most * sizeof *entry);
    if (!entry) return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu prefixes of words", path, most);
    rf_dictionary_header now = {.words = h->words, .total = h->total, .sum = h->sum, .hash = h->hash,
                                .longest = h->longest};
    memcpy(now.name, h->name, sizeof now.name);
    size_t size;
    const rf_status status =
        rf__dictionary_lay_out(ctx, entry, entries_of(h, entry, most), &now, path, file, &size, why);
    rf__free(ctx, entry);
    return status;
}
