/* pieces.h — the models Unigram and BPE of a tokenizer.json: pieces by id and by name, and words cut into them. */
#ifndef RF_TEXT_PIECES_H
#define RF_TEXT_PIECES_H

#include "text/merge_heap.h"
#include "text/piece_trie.h"
#include "text/tokenizer.h"

typedef struct rf__pieces {
    const rf_ctx *ctx;
    bool bpe;
    int32_t n;                          /* ids are below it                                                           */
    char *names;
    const char **token;                 /* [n]; NULL: an id without a piece                                           */
    rf__piece_trie names_trie;          /* ids by name; of equal names the later id                                   */
    int32_t unk;                        /* -1: none                                                                   */
    bool bytes;                         /* what is not known becomes pieces of its bytes ...                          */
    int32_t byte[256];                  /* ... which these are; -1: none                                              */
    double *score, lowest;              /* Unigram: log p of each piece, and the least of them                        */
    rf__pair_map merges;                /* BPE: rank and result of two pieces                                         */
    bool fuse, whole;                   /* BPE: unknowns in a row are one; a word that is a piece is not cut          */
} rf__pieces;

/* From the member "model"; `path` names the file. */
rf_status rf__pieces_read(rf__pieces *p, const rf_ctx *ctx, const json_t *model, const char *path, rf_error *why);
/* RF_EUNSUPPORTED: nothing stands for text that is not known; `level`: all text is, by its bytes. */
rf_status rf__pieces_known(const rf__pieces *p, bool level, const char *path, rf_error *why);
void rf__pieces_clear(rf__pieces *p);
int32_t rf__pieces_find(const rf__pieces *p, const char *text, size_t size);          /* -1: none                     */

/* Scratch of words that are cut, and what is done with a piece of bytes [from, to). */
typedef struct rf__cut {
    const rf_ctx *ctx;
    void *best, *order, *symbol;
    size_t best_capacity, order_capacity, symbol_capacity;
    rf__merge_heap heap;
} rf__cut;
typedef bool rf__piece_put(void *user, int32_t id, size_t from, size_t to);

/* False: no memory, or `put` said so. */
bool rf__pieces_cut(const rf__pieces *p, rf__cut *scratch, const char *word, size_t size, rf__piece_put *put,
                    void *user);
void rf__cut_clear(rf__cut *scratch);

#endif
