/* translation_frame.h — the tokens around the two sides of a translation; see translation_frame.c. */
#ifndef RF_TRANSLATION_FRAME_H
#define RF_TRANSLATION_FRAME_H

#include "roformer/checkpoint.h"
#include "text/languages.h"

/* For a config, its tokenizer and languages; NULL: those of the folder. RF_EARG: the tokenizer has no such language. */
rf_status rf__frame_translation(const rf_config *c, const rf_tokenizer *t, const char *source_lang,
                                const char *target_lang, rf_translation_frame *out, rf_error *why);

#endif
