/* piece_model.h — the model of a tokenizer.json (Unigram, BPE, WordPiece, WordLevel): pieces by id and by name, and the
 * division of words into pieces.
 *
 *     piece_model.c         words into pieces
 *     piece_model_read.c    the member "model" */
#ifndef RF_TEXT_PIECE_MODEL_H
#define RF_TEXT_PIECE_MODEL_H

#include "text/merge_heap.h"
#include "text/piece_trie.h"
#include "text/tokenizer.h"

/* In the order in which tokenizers tries them for a model without a type. */
typedef enum rf__piece_kind {
    RF_PIECES_BPE, RF_PIECES_WORDPIECE, RF_PIECES_WORDLEVEL, RF_PIECES_UNIGRAM, RF_PIECE_KINDS
} rf__piece_kind;

typedef struct rf__piece_model {
    const rf_ctx *ctx;
    rf__piece_kind kind;
    int32_t n;                          /* ids are below it                                                           */
    int32_t pieces;                     /* how many of them have a piece                                              */
    char *names;
    const char **token;                 /* [n]; NULL: an id without a piece                                           */
    bool nul;                           /* tokens have RF__JSON_NUL in place of U+0000                                */
    rf__piece_trie names_trie;          /* ids by name; a repeated name has the later id                              */
    int32_t unk;                        /* -1: none                                                                   */
    bool must;                          /* then unknown text is an error; otherwise, it is dropped                    */
    bool bytes;                         /* unknown text becomes pieces of its bytes ...                               */
    int32_t byte[256];                  /* ... which these are; -1: none                                              */
    double *score, lowest;              /* Unigram: log p of each piece, and the smallest of them                     */
    rf__pair_map merges;                /* BPE: rank and result of two pieces                                         */
    bool fuse, whole;                   /* BPE: consecutive unknowns are one; a word that is a piece is not split     */
    bool apart;                         /* BPE: U+2581 only begins pieces: words are cut before it                    */
    double dropout;                     /* BPE: of the file; here, merges are never dropped                           */
    char *prefix, *suffix;              /* BPE, WordPiece: of pieces that continue a word; BPE: that end one; or NULL */
    size_t prefix_size, suffix_size;
    size_t longest;                     /* WordPiece: characters of a word, which is unknown if it has more           */
} rf__piece_model;

/* From the member "model", whose vocabulary and merges are in `from` (none: they have another shape, an error); `path`
 * is the name of the file. nul: its strings have RF__JSON_NUL in place of U+0000. */
rf_status rf__piece_model_read(rf__piece_model *p, const rf_ctx *ctx, const json_t *model, const rf__vocabulary *from,
                               bool nul, const char *path, rf_error *why);
void rf__piece_model_clear(rf__piece_model *p);
int32_t rf__piece_model_find(const rf__piece_model *p, const char *text, size_t size);          /* -1: none           */

/* Scratch for words, and the callback for a piece of bytes [from, to). */
typedef struct rf__piece_scratch {
    const rf_ctx *ctx;
    void *best, *order, *symbol;
    char *text;
    uint32_t *shown;
    size_t best_capacity, order_capacity, symbol_capacity, text_capacity, shown_capacity;
    rf__merge_heap heap;
    bool lost;                          /* no piece represents unknown text, and `must`                               */
} rf__piece_scratch;
typedef bool rf__piece_sink(void *user, int32_t id, size_t from, size_t to);

/* False: no memory, `put` returned false, or scratch->lost. */
bool rf__piece_model_cut(const rf__piece_model *p, rf__piece_scratch *scratch, const char *word, size_t size,
                         rf__piece_sink *put, void *user);
/* The same for the bytes of a word, each as the visible character scalar[b], whose piece is of[b] or -1. */
bool rf__piece_model_cut_bytes(const rf__piece_model *p, rf__piece_scratch *scratch, const uint32_t scalar[256],
                               const int32_t of[256], const char *word, size_t size, rf__piece_sink *put, void *user);
void rf__piece_scratch_clear(rf__piece_scratch *scratch);

#endif
