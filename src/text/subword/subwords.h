/* subwords.h — what the tokenizers over SentencePiece share: passages cut by a model, texts that grow. */
#ifndef RF_TEXT_SUBWORDS_H
#define RF_TEXT_SUBWORDS_H

#include "spm.h"
#include "text/tokenizer.h"

/* The pieces of a passage from `from` on, or those that its sample draws: the same for the same seed and place.
 * `scratch` is what rf__subwords_scratch gave. */
bool rf__subwords_cut(const rf__spm *m, void *scratch, const rf_passage *p, size_t from, rf__spm_put *put, void *user);
void *rf__subwords_scratch(const rf_ctx *ctx, void *own, bool others);               /* hooks of a row               */
void rf__subwords_scratch_free(const rf_ctx *ctx, void *own);

/* Ends with a zero as soon as something was appended, were it nothing. */
typedef struct rf__growing { const rf_ctx *ctx; char *at; size_t n, capacity; } rf__growing;
bool rf__subwords_append(void *growing, const char *data, size_t size);            /* an rf__spm_take               */

/* Begins a tokenizer of `own` pieces.  Special tokens that neither `given` nor `name_in` (or NULL) names are looked for
 * by their usual names; those that are nowhere follow its pieces, and what was added, as [PAD] ...  On failure t is
 * freed. */
typedef const char *rf__special_name(const rf_tokenizer *t, int special);
rf_status rf__subwords_begin(rf_tokenizer *t, int32_t own, const rf_tokenizer_parts *given, rf__special_name *name_in,
                             rf_tokenizer **out, rf_error *why);

/* U+2581, which stands for white space, begins a word. */
static inline bool rf__subwords_begin_word(const char *piece) { return !strncmp(piece, "\xE2\x96\x81", 3); }

#endif
