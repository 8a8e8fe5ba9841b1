/* languages.h — tokens that name the languages of a translation model's texts; see languages.c. */
#ifndef RF_TEXT_LANGUAGES_H
#define RF_TEXT_LANGUAGES_H

#include "tokenizer.h"

/* The class whose settings a folder has; NULL: its texts have no languages. */
const rf_language_row *rf__languages_class(const rf_tokenizer_folder *f);

/* The codes that transformers' class has, in the order of the tokens' ids; NULL: none, or its files list them. */
const char *const *rf__languages_listed(const rf_tokenizer_folder *f, size_t *n);

/* Whether the folder's added tokens have languages of its class. */
bool rf__languages_added(const rf_tokenizer_folder *f);

/* After the row has opened t: takes the languages of the folder, and puts that of sources into the templates. */
rf_status rf__languages_open(rf_tokenizer_folder *f, rf_tokenizer *t);

/* The class of transformers and its keys of tokenizer_config.json, for a tokenizer that is saved. */
void rf__languages_settings(const rf_tokenizer *t, json_t **config);

/* The token of a language, by its code or the token's name. RF_EARG: the tokenizer has none; the message names `option`
 * and the codes that are nearest. */
rf_status rf__language_find(const rf_tokenizer *t, const char *option, const char *code, int32_t *id, rf_error *why);

/* Whether targets begin with the token of their language in place of decoder_start_token_id. */
bool rf__languages_start(const rf_tokenizer *t);

/* Language number i of t, in the order of ids, as its code in `to`; false: there are no more. */
enum { RF_LANGUAGE_CODE = 32 };
bool rf__language_at(const rf_tokenizer *t, int64_t i, char to[RF_LANGUAGE_CODE]);

/* The tokens around the two sides of a translation (model/translation_frame.c). */
typedef struct rf_around { int32_t id[2][RF_FRAME_PARTS]; size_t n[2]; } rf_around;        /* before a text, after it */

typedef struct rf_translation_frame {
    rf_around source, target;
    int32_t start;                      /* of a target, before its first token                                        */
    int32_t forced;                     /* the first token of a translation; -1: none that its language asks for      */
} rf_translation_frame;

static inline size_t rf__around_size(const rf_around *a) { return a->n[0] + a->n[1]; }

#endif
