/* dictionary.h — words with frequencies, and word segmentation as jieba does it without its hidden Markov model.
 *
 *     route(i) = max over words w from i:  ln frequency(w) - ln total + route(i + |w|)      ties: the longest word
 *
 * A dictionary is a file that is mapped, not parsed.  It is compiled from jieba's text format (dictionary_compile.c).
 *
 *     header                    struct rf_dictionary_header
 *     value  [values]           ln of the different frequencies; value[0]: no word
 *     unit   [units]            the states of the trie (dictionary_layout.c); unit[code(c)] is that of the prefix c
 *     code   [65536]            of characters below U+10000; 0: not in any word
 *     wide   [wides]            codes of characters above, sorted
 *
 * Files in the older format RFWORDS1, a hash table (dictionary_old.c), are converted when they are opened.           */
#ifndef RF_TEXT_DICTIONARY_H
#define RF_TEXT_DICTIONARY_H

#include <math.h>

#include "base/base.h"
#include "roformer/tokenizer.h"

#define RF_DICTIONARY_MAGIC "RFWORDS2"

enum {
    RF_DICTIONARY_PLANE = 0x10000,
    RF_DICTIONARY_LONGEST = 64,         /* characters of a word                                                       */
    RF_DICTIONARY_PREFIXES = (1 << 21) - 1,
    RF_DICTIONARY_UNITS = 1 << 22,
    RF_DICTIONARY_VALUES = 1 << 20
};

typedef struct rf_dictionary_header {
    char magic[8];
    uint64_t words, total, sum, hash;   /* sum: frequencies of all lines; hash: rf__dictionary_old_hash               */
    uint32_t units, longest;
    char name[80];                      /* terminated by a zero                                                       */
    uint32_t values, wides;
} rf_dictionary_header;

typedef struct rf_dictionary_wide { uint32_t c, code; } rf_dictionary_wide;

/* A unit: its prefix (0: none), its own base (0: no continuation), its value. */
static inline uint64_t rf_dictionary_unit(uint32_t check, uint32_t base, uint32_t value)
{
    return (uint64_t)check << 42 | (uint64_t)base << 20 | value;
}
static inline uint32_t rf_dictionary_check(uint64_t unit) { return (uint32_t)(unit >> 42); }
static inline uint32_t rf_dictionary_base(uint64_t unit) { return (uint32_t)(unit >> 20) & (RF_DICTIONARY_UNITS - 1); }
static inline uint32_t rf_dictionary_value(uint64_t unit) { return (uint32_t)unit & (RF_DICTIONARY_VALUES - 1); }

typedef struct rf_dictionary {
    rf_map map;
    char *laid_out;                     /* of a file in the older format; or NULL                                     */
    const rf_dictionary_header *header;
    const double *value;
    const uint64_t *unit;
    const uint32_t *code;
    const rf_dictionary_wide *wide;
} rf_dictionary;

size_t rf__dictionary_size(const rf_dictionary_header *h);            /* of the file; 0: no such file                 */
void rf__dictionary_parts(rf_dictionary *d, const void *file);        /* from the header at its beginning             */

/* ---- laying out (dictionary_layout.c, dictionary_old.c) ---------------------------------------------------------- */

/* A prefix of words: the continuation of prefix `parent` (0: empty) by character c.  `id` is its own number if longer
 * words begin with it.  `value` is ln of its frequency, +infinity if it is not a word. */
typedef struct rf_dictionary_entry { uint32_t parent, c, id; double value; } rf_dictionary_entry;

/* Writes a file from the entries and the header, which is completed.  The entries are modified. */
rf_status rf__dictionary_lay_out(const rf_ctx *ctx, rf_dictionary_entry *entry, size_t n, rf_dictionary_header *h,
                                 const char *name, char **file, size_t *size, rf_error *why);

bool rf__dictionary_is_old(const void *file, size_t size);
rf_status rf__dictionary_renew(const rf_ctx *ctx, const rf_map *old, const char *path, char **file, rf_error *why);
/* The hash of the table in the older format, by which folders identify a dictionary; false: no memory. */
bool rf__dictionary_old_hash(const rf_ctx *ctx, const rf_dictionary_entry *entry, size_t n, uint64_t *hash);

/* ---- opening (dictionary.c) -------------------------------------------------------------------------------------- */

rf_status rf__dictionary_open(const rf_ctx *ctx, const char *path, rf_dictionary *out, rf_error *why);
void rf__dictionary_close(const rf_ctx *ctx, rf_dictionary *d);

/* ---- cutting (segment.c) ----------------------------------------------------------------------------------------- */

/* Whose character classes and total to use: jieba-rs' (as transformers does) or jieba's. */
typedef enum rf_jieba { RF_JIEBA_RUST, RF_JIEBA_PYTHON } rf_jieba;

typedef struct rf_jieba_cutter {
    const rf_ctx *ctx;
    uint32_t *scalar, *at, *next;       /* characters of the text: first bytes; the end of the word that begins here  */
    uint32_t *code, *two;               /* the dictionary's codes; the units of a character and of it and the next    */
    uint32_t *best;                     /* the unit of the word that begins here; 0: not in the dictionary            */
    double *route;
    size_t scalars, ats, nexts, codes, twos, bests, routes; /* capacities                                             */
    uint32_t *end, *unit;               /* the result: [n] end of each word in characters; its unit, or 0             */
    size_t n, ends, units;
    size_t characters;                  /* byte offsets in the text: at[characters] is its size                       */
} rf_jieba_cutter;

/* The unit of a word; 0: no word of the dictionary begins with it. */
uint32_t rf__dictionary_find(const rf_dictionary *d, const char *text, size_t size);

/* Segments text that is valid UTF-8 into words; false: no memory. */
bool rf__jieba_cut(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size);
void rf__jieba_cut_clear(rf_jieba_cutter *c);

#endif
