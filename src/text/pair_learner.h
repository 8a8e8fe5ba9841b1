/* pair_learner.h — learns symbols by merging the pair of neighbors that occurs most often: WordPiece
 * (wordpiece/vocab_trainer.c) and byte-level BPE (subword/byte_level_trainer.c).
 *
 *   words     w with count n(w), each a row of symbols: its characters, all but the first marked where `marks`
 *   repeat    (a, b) = the pair of neighbors with the largest sum of n(w) over its occurrences; ties: the smaller ids
 *             a new symbol ab; every a b becomes ab
 *
 * Ids and order are those of Hugging Face's trainers, whose criterion is plain frequency, too. */
#ifndef RF_TEXT_PAIR_LEARNER_H
#define RF_TEXT_PAIR_LEARNER_H

#include "text/wordpiece/counter.h"

typedef struct rf__symbol { uint64_t at; uint32_t size; bool tail; } rf__symbol;      /* `text` without a mark        */

typedef struct rf__learner {
    const rf_ctx *ctx;
    bool marks;                         /* symbols inside a word are others than at its beginning                     */
    rf_counted *word;
    size_t words;
    int32_t *sym;                       /* symbols of all words, one word after another                               */
    uint64_t *first;                    /* [words + 1] into sym                                                       */
    uint32_t *length;
    rf__symbol *symbol;
    size_t symbols, symbol_capacity;
    char *text;
    size_t bytes, byte_capacity;
    uint64_t *merge;                    /* the pairs that were merged, in order: a << 32 | b                          */
    size_t merges, merge_capacity;
    int32_t *known;                     /* hash: symbols by text                                                      */
    size_t known_mask;
    struct rf__pair_count *pair;        /* hash: pairs by key; key 0 (the first symbol twice) is free                 */
    size_t pairs, pair_slots;
    struct rf__occurrence *occurrence;
    size_t occurrences, occurrence_capacity;
    uint32_t free_occurrence;
    struct rf__candidate *heap;
    size_t heaped, heap_capacity;
    uint64_t *fresh;                    /* pairs that grew during a merge                                             */
    size_t freshes, fresh_capacity;
} rf__learner;

/* With the words of c, which stay there; `symbols`: how many there will be at most. All calls: false, no memory. */
bool rf__learner_begin(rf__learner *l, const rf_counter *c, size_t symbols);
void rf__learner_clear(rf__learner *l);

/* The symbol of a text, created if it does not exist; -1: no memory. The first one must not be part of a word. */
int32_t rf__learner_symbol(rf__learner *l, const char *text, size_t size, bool tail);

/* Makes rows of the words, and merges until there are `size` symbols or no pair occurs `least` times.  Characters of
 * words that are no symbols are left out, as Hugging Face leaves them out. */
bool rf__learner_run(rf__learner *l, const rf_counter *c, size_t size, uint64_t least,
                     void (*progress)(void *user, int32_t done, int32_t size), void *user);

/* Bytes of the character at `text`, which is UTF-8. */
static inline size_t rf__scalar_size(const char *text)
{
    const unsigned char b = (unsigned char)*text;
    return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

#endif
