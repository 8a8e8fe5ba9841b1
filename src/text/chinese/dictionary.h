/* dictionary.h — words with frequencies, and a text cut into them as jieba does without its hidden Markov model.
 *
 *     route(i) = max over words w from i:  ln frequency(w) - ln total + route(i + |w|)      of equals the longest word
 *
 * A dictionary is a file that is mapped, not parsed: it was compiled from jieba's text format (dictionary_compile.c).
 *
 *     header                    struct rf_dictionary_header
 *     value  [values]           ln of the different frequencies; value[0]: no word
 *     unit   [units]            what was read so far (dictionary_layout.c); unit[code(c)] is that of c alone
 *     code   [65536]            of characters below U+10000; 0: it is in no word
 *     wide   [wides]            codes of those above, by character
 *
 * Files of before (RFWORDS1, a hash table; dictionary_old.c) are laid out anew when they are opened.                */
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
    char name[80];                      /* ended by a zero                                                            */
    uint32_t values, wides;
} rf_dictionary_header;

typedef struct rf_dictionary_wide { uint32_t c, code; } rf_dictionary_wide;

/* A unit: the prefix that it goes on from (0: none), its own base (0: nothing goes on), its value. */
static inline uint64_t rf_dictionary_unit(uint32_t check, uint32_t base, uint32_t value)
{
    return (uint64_t)check << 42 | (uint64_t)base << 20 | value;
}
static inline uint32_t rf_dictionary_check(uint64_t unit) { return (uint32_t)(unit >> 42); }
static inline uint32_t rf_dictionary_base(uint64_t unit) { return (uint32_t)(unit >> 20) & (RF_DICTIONARY_UNITS - 1); }
static inline uint32_t rf_dictionary_value(uint64_t unit) { return (uint32_t)unit & (RF_DICTIONARY_VALUES - 1); }

typedef struct rf_dictionary {
    rf_map map;
    char *laid_out;                     /* of a file of before; or NULL                                               */
    const rf_dictionary_header *header;
    const double *value;
    const uint64_t *unit;
    const uint32_t *code;
    const rf_dictionary_wide *wide;
} rf_dictionary;

size_t rf__dictionary_size(const rf_dictionary_header *h);            /* of the file; 0: no such file                 */
void rf__dictionary_parts(rf_dictionary *d, const void *file);        /* by the header at its beginning               */

/* ---- laying out (dictionary_layout.c, dictionary_old.c) ---------------------------------------------------------- */

/* A beginning of words: that of number `parent` (0: nothing) and character c; `id` is its own number when more begins
 * with it, and `value` ln of its frequency, +infinity when it is no word. */
typedef struct rf_dictionary_entry { uint32_t parent, c, id; double value; } rf_dictionary_entry;

/* A file of them and of the header, which is completed; entries are changed. */
rf_status rf__dictionary_lay_out(const rf_ctx *ctx, rf_dictionary_entry *entry, size_t n, rf_dictionary_header *h,
                                 const char *name, char **file, size_t *size, rf_error *why);

bool rf__dictionary_is_old(const void *file, size_t size);
rf_status rf__dictionary_renew(const rf_ctx *ctx, const rf_map *old, const char *path, char **file, rf_error *why);
/* The hash of the table that a file of before had, by which folders name a dictionary; false: no memory. */
bool rf__dictionary_old_hash(const rf_ctx *ctx, const rf_dictionary_entry *entry, size_t n, uint64_t *hash);

/* ---- opening (dictionary.c) -------------------------------------------------------------------------------------- */

rf_status rf__dictionary_open(const rf_ctx *ctx, const char *path, rf_dictionary *out, rf_error *why);
void rf__dictionary_close(const rf_ctx *ctx, rf_dictionary *d);

/* ---- cutting (segment.c) ----------------------------------------------------------------------------------------- */

/* Whose classes of characters, whose total: jieba-rs' (transformers has it) or jieba's. */
typedef enum rf_jieba { RF_JIEBA_RUST, RF_JIEBA_PYTHON } rf_jieba;

typedef struct rf_jieba_cutter {
    const rf_ctx *ctx;
    uint32_t *scalar, *at, *next;       /* characters of the text, their first bytes; where a word from here ends     */
    uint32_t *code, *two;               /* the dictionary's codes; the unit of a character and the one behind it      */
    uint32_t *best;                     /* the unit of the word from here; 0: the dictionary does not have it         */
    double *route;
    size_t scalars, ats, nexts, codes, twos, bests, routes; /* capacities                                             */
    uint32_t *end, *unit;               /* the result: [n] characters up to the end of each word; its unit, or 0      */
    size_t n, ends, units;
    size_t characters;                  /* of the text: at[characters] is its size                                    */
} rf_jieba_cutter;

/* The unit of a word; 0: the dictionary does not begin a word so. */
uint32_t rf__dictionary_find(const rf_dictionary *d, const char *text, size_t size);

/* Cuts text that is known to be UTF-8 into words; false: no memory. */
bool rf__jieba_cut(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size);
void rf__jieba_cut_clear(rf_jieba_cutter *c);

#endif
