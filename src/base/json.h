/* json.h — reads JSON documents with limits and checks, and builds JSON values that are complete or NULL. */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include <jansson.h>

#include "base/base.h"

/* Maximum number of JSON values in one document; bounds the parser's memory. Gemma's tokenizer.json has two million. */
enum { RF__MAX_VALUES = 4000000 };

/* Parses a JSON document whose top level is an object. Duplicate keys, invalid UTF-8 and numbers out of range are
 * refused with line and byte (RF_EDATA); RF_ENOMEM: out of memory. `flags` are jansson's, to allow more. NULL on
 * failure. Freed with json_decref. */
json_t *rf__json_parse(const char *text, size_t size, size_t flags, const char *name, rf_error *why);

/* Keys with U+0000, which jansson refuses: replaces each escape \u0000 of a document by \uffff, so that strings and
 * keys have RF__JSON_NUL in its place. false: there is none, or U+FFFF occurs, too; then nothing changes. */
#define RF__JSON_NUL "\xEF\xBF\xBF"
bool rf__json_hide_nul(char *text, size_t size);
/* The reverse, for a string that was read: RF__JSON_NUL becomes a zero byte. Returns the number of bytes. */
size_t rf__json_show_nul(char *text, size_t size);

/* json_loadb. *memory: it returned NULL because memory ran out, not because of the text. */
json_t *rf__json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *memory);

/* Building. If a member cannot be added, the object becomes NULL and stays NULL; adding NULL to an object makes it
 * NULL, too. A caller therefore checks only once, at the end: the object or its text. The functions take ownership of
 * `value`, also on failure. */
void rf__json_set(json_t **object, const char *key, json_t *value);
void rf__json_add(json_t **list, json_t *value);

/* Whether a member is true; `none` if it is missing or null. */
bool rf__json_flag(const json_t *object, const char *key, bool none);

/* The complete text of a value, freed with free(); NULL: out of memory, or no value. (json_dumps omits keys for which
 * there was no memory.) */
char *rf__json_dump(const json_t *value, size_t flags);

/* Whether the text is UTF-8, as strings and keys of JSON must be. */
bool rf__json_takes(const char *text);

/* A JSON string of a text from the user or the system, such as a path: bytes that are not UTF-8 become U+FFFD. NULL:
 * out of memory. */
json_t *rf__json_text(const char *text, size_t size);

/* A number; null if it is not finite, which JSON cannot express. */
json_t *rf__json_number(double x);

/* A whole number, also in the forms 1.0 and 1e3. false: another value. */
bool rf__json_whole(const json_t *value, json_int_t *out);

/* A string of a file, prepared for a message: control bytes become '?', and at most 79 bytes are kept. */
typedef struct rf__label { char text[80]; } rf__label;
rf__label rf__printable(const char *text);

/* A value for a message: "a list of 3", "an object of 2 keys", the text of any other, or "none" for NULL. */
rf__label rf__json_shown(const json_t *value);

#endif
