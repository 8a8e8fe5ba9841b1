/* subwords.h — what the tokenizers based on SentencePiece share: encoding of passages by a model, texts that grow. */
#ifndef RF_TEXT_SUBWORDS_H
#define RF_TEXT_SUBWORDS_H

#include "spm.h"
#include "text/tokenizer.h"

/* The pieces of a passage from `from` on, or those that its sample draws, which depend only on the seed and the
 * position. `scratch` is the result of rf__subwords_scratch. */
bool rf__subwords_cut(const rf__spm *m, void *scratch, const rf_passage *p, size_t from, rf__spm_sink *put, void *user);
void *rf__subwords_scratch(const rf_ctx *ctx, void *own, bool others);               /* hooks of a row               */
void rf__subwords_scratch_free(const rf_ctx *ctx, void *own);

/* Terminates with a zero as soon as something was appended, even if it was empty. */
typedef struct rf__growing { const rf_ctx *ctx; char *at; size_t n, capacity; } rf__growing;
bool rf__subwords_append(void *growing, const char *data, size_t size);            /* an rf__spm_take               */

/* Begins a tokenizer of `own` pieces.  Special tokens named neither in `given` nor by `name_in` (or NULL) are looked up
 * by their usual names.  Those that do not exist are added after its pieces and the added tokens, as [PAD] ..., unless
 * the parts may lack them.  On failure t is freed. */
typedef const char *rf__special_name(const rf_tokenizer *t, int special);
rf_status rf__subwords_begin(rf_tokenizer *t, int32_t own, const rf_tokenizer_parts *given, rf__special_name *name_in,
                             rf_tokenizer **out, rf_error *why);

/* U+2581, which represents white space, begins a word. */
static inline bool rf__subwords_begin_word(const char *piece) { return !strncmp(piece, "\xE2\x96\x81", 3); }

#endif
