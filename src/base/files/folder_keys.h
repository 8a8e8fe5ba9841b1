/* folder_keys.h — the known keys of the files next to a model's weights: the rows of folder_keys.def. */
#ifndef RF_FOLDER_KEYS_H
#define RF_FOLDER_KEYS_H

#include "base/json.h"

typedef enum rf_key_file {
    RF_KEYS_CONFIG, RF_KEYS_GENERATION, RF_KEYS_GENERATION_ALONE, RF_KEYS_TOKENIZER_CONFIG, RF_KEYS_SENTENCE,
    RF_KEYS_POOLING, RF_KEYS_NORMALIZE, RF_KEYS_PROMPTS, RF_KEYS_DENSE,
    RF_KEYS_LAYER_NORM, RF_KEYS_SPLADE
} rf_key_file;
typedef enum rf_key_state { RF_KEY_READ, RF_KEY_IDLE, RF_KEY_ONLY } rf_key_state;

typedef struct rf_known_key {
    rf_key_file file;
    const char *name;
    rf_key_state state;
    const char *usual, *why;
} rf_known_key;

/* Names of the file with the settings of a sentence model's Transformer; the first that has a setting counts, NULL at
 * the end. */
extern const char *const rf__transformer_settings[];

extern const rf_known_key rf__folder_keys[];            /* the last row has no name                                  */

const rf_known_key *rf__folder_key(rf_key_file file, const char *name);                       /* NULL: there is none */

/* RF_EUNSUPPORTED names the first key whose value is not supported. */
rf_status rf__folder_keys_check(rf_key_file file, const char *path, const json_t *root, rf_error *why);

/* The same for the rows RF_KEY_ONLY of a list that ends with a row without a name; NULL: there are none. */
rf_status rf__known_keys_check(const rf_known_key *list, const char *path, const json_t *root, rf_error *why);

/* The same; RF_EUNSUPPORTED also names the first unknown key, with the most similar known one. */
rf_status rf__folder_keys_all(rf_key_file file, const char *path, const json_t *root, rf_error *why);

#endif
