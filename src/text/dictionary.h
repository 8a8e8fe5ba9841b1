/* dictionary.h — words with frequencies, and a text cut into them as jieba does without its hidden Markov model.
 *
 *     route(i) = max over words w from i:  ln frequency(w) - ln total + route(i + |w|)      of equals the longest word
 *
 * A dictionary is a file that is mapped, not parsed: it was compiled from jieba's text format (dictionary_compile.c).
 *
 *     header, 128 bytes         struct rf_dictionary_header
 *     first  [65536]            a row for each first character below U+10000
 *     slot   [slots]            a hash table: (what was read so far, character) -> (what is then read, its value)  */
#ifndef RF_TEXT_DICTIONARY_H
#define RF_TEXT_DICTIONARY_H

#include "base/base.h"
#include "roformer/tokenizer.h"

enum {
    RF_DICTIONARY_FIRST = 0x10000,
    RF_DICTIONARY_LONGEST = 64,         /* characters of a word                                                       */
    RF_DICTIONARY_PREFIXES = (1 << 21) - 1,
    RF_DICTIONARY_PROBES = 64           /* slots that are looked at                                                   */
};

typedef struct rf_dictionary_header {
    char magic[8];                      /* "RFWORDS1"                                                                 */
    uint64_t words, total, sum, hash;   /* sum: frequencies of all lines; hash: of 3/4 full tables                    */
    uint32_t slots, longest;
    char name[80];                      /* ended by a zero                                                            */
} rf_dictionary_header;

/* ln frequency of what was read up to here; +infinity: it is no word.  child: what was read, 0: nothing goes on. */
typedef struct rf_dictionary_first { double value; uint64_t child; } rf_dictionary_first;
typedef struct rf_dictionary_slot { uint64_t key; double value; } rf_dictionary_slot;    /* rf_dictionary_key, child  */

static inline uint64_t rf_dictionary_key(uint32_t parent, uint32_t c) { return (uint64_t)parent << 21 | c; }
static inline uint32_t rf_dictionary_place(uint64_t key, uint32_t slots)
{
    return (uint32_t)(((key * 0x9E3779B97F4A7C15) >> 32) * slots >> 32);
}

typedef struct rf_dictionary {
    rf_map map;
    const rf_dictionary_header *header;
    const rf_dictionary_first *first;
    const rf_dictionary_slot *slot;
} rf_dictionary;

rf_status rf__dictionary_open(const rf_ctx *ctx, const char *path, rf_dictionary *out, rf_error *why);
void rf__dictionary_close(const rf_ctx *ctx, rf_dictionary *d);

/* ---- cutting (segment.c) ----------------------------------------------------------------------------------------- */

/* Whose classes of characters, whose total: jieba-rs' (transformers has it) or jieba's. */
typedef enum rf_jieba { RF_JIEBA_RUST, RF_JIEBA_PYTHON } rf_jieba;

typedef struct rf_jieba_cutter {
    const rf_ctx *ctx;
    uint32_t *scalar, *at, *next;       /* characters of the text, their first bytes; where a word from here ends     */
    double *route;
    rf_dictionary_first *two;           /* what a character and the one behind it lead to                             */
    size_t scalars, ats, nexts, routes, twos; /* capacities                                                           */
    uint32_t *end;                      /* the result: [n] characters up to the end of each word                      */
    size_t n, ends;
    size_t characters;                  /* of the text: at[characters] is its size                                    */
} rf_jieba_cutter;

/* Cuts text that is known to be UTF-8 into words; false: no memory. */
bool rf__jieba_cut(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size);
void rf__jieba_cut_clear(rf_jieba_cutter *c);

#endif
