/* piece_model.h — the models Unigram and BPE of a tokenizer.json: pieces by id and by name, and the division of
 * words into pieces. */
#ifndef RF_TEXT_PIECE_MODEL_H
#define RF_TEXT_PIECE_MODEL_H

#include "text/merge_heap.h"
#include "text/piece_trie.h"
#include "text/tokenizer.h"

typedef struct rf__piece_model {
    const rf_ctx *ctx;
    bool bpe;
    int32_t n;                          /* ids are below it                                                           */
    char *names;
    const char **token;                 /* [n]; NULL: an id without a piece                                           */
    rf__piece_trie names_trie;          /* ids by name; a repeated name has the later id                              */
    int32_t unk;                        /* -1: none                                                                   */
    bool bytes;                         /* unknown text becomes pieces of its bytes ...                               */
    int32_t byte[256];                  /* ... which these are; -1: none                                              */
    double *score, lowest;              /* Unigram: log p of each piece, and the smallest of them                     */
    rf__pair_map merges;                /* BPE: rank and result of two pieces                                         */
    bool fuse, whole;                   /* BPE: consecutive unknowns are one; a word that is a piece is not split     */
} rf__piece_model;

/* From the member "model"; `path` is the name of the file. */
rf_status rf__piece_model_read(rf__piece_model *p, const rf_ctx *ctx, const json_t *model, const char *path,
                               rf_error *why);
/* RF_EUNSUPPORTED: nothing represents unknown text.  `level`: bytes represent all text. */
rf_status rf__piece_model_known(const rf__piece_model *p, bool level, const char *path, rf_error *why);
void rf__piece_model_clear(rf__piece_model *p);
int32_t rf__piece_model_find(const rf__piece_model *p, const char *text, size_t size);          /* -1: none           */

/* Scratch for words, and the callback for a piece of bytes [from, to). */
typedef struct rf__piece_scratch {
    const rf_ctx *ctx;
    void *best, *order, *symbol;
    size_t best_capacity, order_capacity, symbol_capacity;
    rf__merge_heap heap;
} rf__piece_scratch;
typedef bool rf__piece_sink(void *user, int32_t id, size_t from, size_t to);

/* False: no memory, or `put` returned false. */
bool rf__piece_model_cut(const rf__piece_model *p, rf__piece_scratch *scratch, const char *word, size_t size,
                         rf__piece_sink *put, void *user);
/* The same for BPE of bytes: byte b is the piece of[b], and no word is a piece as a whole. */
bool rf__piece_model_cut_bytes(const rf__piece_model *p, rf__piece_scratch *scratch, const int32_t of[256],
                               const char *word, size_t size, rf__piece_sink *put, void *user);
void rf__piece_scratch_clear(rf__piece_scratch *scratch);

#endif
