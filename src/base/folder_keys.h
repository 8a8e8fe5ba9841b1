/* folder_keys.h — which keys of the files beside a model's weights are known: the rows of folder_keys.def. */
#ifndef RF_FOLDER_KEYS_H
#define RF_FOLDER_KEYS_H

#include "base/json.h"

typedef enum rf_key_file {
    RF_KEYS_CONFIG, RF_KEYS_GENERATION, RF_KEYS_GENERATION_ALONE, RF_KEYS_TOKENIZER_CONFIG, RF_KEYS_SENTENCE,
    RF_KEYS_POOLING, RF_KEYS_NORMALIZE, RF_KEYS_PROMPTS
} rf_key_file;
typedef enum rf_key_state { RF_KEY_READ, RF_KEY_IDLE, RF_KEY_ONLY } rf_key_state;

typedef struct rf_known_key {
    rf_key_file file;
    const char *name;
    rf_key_state state;
    const char *usual, *why;
} rf_known_key;

extern const rf_known_key rf__folder_keys[];            /* a row without a name at the end                           */

const rf_known_key *rf__folder_key(rf_key_file file, const char *name);                       /* NULL: there is none */

/* RF_EUNSUPPORTED names the first key with a value that is not honored. */
rf_status rf__folder_keys_check(rf_key_file file, const char *path, const json_t *root, rf_error *why);

/* The same of the rows RF_KEY_ONLY of a list, which a row without a name ends; NULL: there are none. */
rf_status rf__known_keys_check(const rf_known_key *list, const char *path, const json_t *root, rf_error *why);

/* The same, and RF_EUNSUPPORTED names the first key that no row knows, with the nearest one. */
rf_status rf__folder_keys_all(rf_key_file file, const char *path, const json_t *root, rf_error *why);

#endif
