/* spm_model.h — the struct of a SentencePiece model, for the files spm_*.c. */
#ifndef RF_TEXT_SPM_MODEL_H
#define RF_TEXT_SPM_MODEL_H

#include "charsmap.h"
#include "text/merge_heap.h"
#include "text/piece_trie.h"
#include "spm.h"

#define RF__BLANK "\xE2\x96\x81"        /* U+2581, which represents white space                                       */

/* ModelProto.SentencePiece.Type */
typedef enum rf__piece_type {
    RF_PIECE_NORMAL = 1, RF_PIECE_UNKNOWN, RF_PIECE_CONTROL, RF_PIECE_USER_DEFINED, RF_PIECE_UNUSED, RF_PIECE_BYTE
} rf__piece_type;

/* NormalizerSpec */
typedef struct rf__spm_rules {
    rf__charsmap map;
    const unsigned char *raw;           /* the map's bytes in the text that was loaded, as long as that exists        */
    size_t raw_size;
    bool dummy_prefix, remove_extra, escape;
} rf__spm_rules;

typedef struct rf__spm_piece_row {
    const char *name;
    float score;
    uint16_t size;                      /* bytes of the name                                                          */
    uint8_t type;                       /* rf__piece_type                                                             */
} rf__spm_piece_row;

struct rf__spm {
    const rf_ctx *ctx;
    rf__spm_kind kind;
    rf__spm_piece_row *piece;           /* [n] */
    int32_t n, unk;
    char *names;
    int32_t *table;                     /* [mask + 1] ids by the hash of their names; -1: free                        */
    size_t mask;
    rf__piece_trie trie;                /* unigram: the pieces that text becomes                                      */
    rf__piece_trie users;               /* user-defined symbols, which are matched before anything else               */
    bool has_users, has_unused;
    bool byte_fallback, blank_behind;   /* blank_behind: treat_whitespace_as_suffix                                   */
    int32_t byte[256];                  /* byte_fallback: their pieces                                                */
    float lowest, highest;              /* scores of normal pieces                                                    */
    rf__spm_rules normal, denormal;
    bool denormalizes;
    char *unk_surface;
    char *role[4];                      /* names of rf__spm_role                                                      */
};

/* Whether text can become this piece: NORMAL, USER_DEFINED and UNUSED ones. */
static inline bool rf__spm_of_text(const rf__spm *m, int32_t id)
{
    const uint8_t type = m->piece[id].type;
    return type == RF_PIECE_NORMAL || type == RF_PIECE_USER_DEFINED || type == RF_PIECE_UNUSED;
}

int32_t rf__spm_find(const rf__spm *m, const char *name, size_t size);                /* -1: none                     */
/* The piece of a whole segment; m->unk if only a control piece has its name. */
int32_t rf__spm_piece_of(const rf__spm *m, const char *text, size_t size);

int rf__spm_byte(const rf__spm *m, int32_t id);                                       /* of a byte's piece; -1: none  */
/* The byte that a name such as <0x41> stands for; -1: none.  lower_case: digits may be a to f, too. */
int rf__spm_byte_name(const char *name, size_t size, bool lower_case);

/* Length of the longest user-defined symbol that the text begins with; 0: none. */
size_t rf__spm_user_symbol(const rf__spm *m, const char *text, size_t size);

/* A text with, for each of its bytes and for its end, the byte of the raw text that it comes from. */
typedef struct rf__spm_text {
    const rf_ctx *ctx;
    char *at;
    uint32_t *from;                     /* [n + 1] */
    size_t n, capacity, from_capacity;
} rf__spm_text;

/* Normalizes UTF-8 text by `rules`, or by those of m with its user-defined symbols.  *out is overwritten.  False: no
 * memory. */
bool rf__spm_normalize(const rf__spm *m, const rf__spm_rules *rules, const char *text, size_t size,
                       rf__spm_text *out);

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* A segment of the normalized text. */
typedef struct rf__spm_segment { uint32_t from, to; int32_t id; } rf__spm_segment;
typedef struct rf__spm_segments { rf__spm_segment *at; size_t n, capacity; } rf__spm_segments;

typedef struct rf__spm_symbol rf__spm_symbol;
typedef struct rf__spm_best rf__spm_best;

struct rf__spm_work {
    const rf_ctx *ctx;
    rf__spm_text text;
    rf__spm_segments segments;
    rf__spm_best *best;                 /* unigram                                                                    */
    rf__spm_symbol *symbol;             /* BPE                                                                        */
    rf__merge_heap heap;
    rf__spm_segments stack;
    uint32_t *split;                    /* [pieces] the split point of an unused piece                                */
    size_t bests, symbols, splits;
};

static inline bool rf__spm_segment_append(const rf_ctx *ctx, rf__spm_segments *s, size_t from, size_t to, int32_t id)
{
    if (!rf__grow(ctx, &s->at, &s->capacity, s->n + 1, sizeof *s->at)) return false;
    s->at[s->n++] = (rf__spm_segment){(uint32_t)from, (uint32_t)to, id};
    return true;
}

typedef struct rf__mt19937 { uint32_t state[624]; int at; } rf__mt19937;
void rf__mt19937_seed(rf__mt19937 *g, uint32_t seed);
double rf__mt19937_uniform(rf__mt19937 *g);                            /* [0, 1), of 53 bits                          */

/* The segments of w->text.  False: no memory. */
bool rf__spm_cut_bpe(const rf__spm *m, rf__spm_work *w, const rf__spm_sample *sample);
bool rf__spm_sample_unigram(const rf__spm *m, rf__spm_work *w, const rf__spm_sample *sample);

#endif
