/* json.h — JSON at the door and on the way out: documents that are bounded and looked through, values that are whole or
 * are none. */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include <jansson.h>

#include "base/base.h"

/* JSON values of one document: bounds what the parser may allocate.  Gemma's tokenizer.json has two million. */
enum { RF__MAX_VALUES = 4000000 };

/* A JSON document whose top is an object; duplicate keys, invalid UTF-8 and numbers out of range are refused with
 * line and byte (RF_EDATA), which no memory is not (RF_ENOMEM).  `flags` are jansson's, for what else is allowed.  NULL
 * on failure.  Freed with json_decref. */
json_t *rf__json_parse(const char *text, size_t size, size_t flags, const char *name, rf_error *why);

/* json_loadb.  *memory: NULL was returned for lack of memory, not for what the text is. */
json_t *rf__json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *memory);

/* Building.  What could not take a member becomes NULL, and stays so; a NULL that is put into something makes that
 * NULL, too.  So a builder looks once, at the end: at what it made, or at its text.  `value` is taken over, also on
 * failure. */
void rf__json_set(json_t **object, const char *key, json_t *value);
void rf__json_add(json_t **list, json_t *value);

/* The whole text of a value, freed with free(); NULL: no memory, or no value.  (json_dumps leaves out keys for which
 * there was no memory.) */
char *rf__json_dump(const json_t *value, size_t flags);

/* Whether the text is UTF-8, which strings and keys of JSON must be. */
bool rf__json_takes(const char *text);

/* A text of the user's or of the system's, such as a path: bytes that are not UTF-8 become U+FFFD.  NULL: no memory. */
json_t *rf__json_text(const char *text, size_t size);

/* A whole number, also as others write it: 1.0, 1e3.  False: the value is something else. */
bool rf__json_whole(const json_t *value, json_int_t *out);

/* A string of a file made fit for a message: control bytes become '?', at most 79 bytes are kept. */
typedef struct rf__label { char text[80]; } rf__label;
rf__label rf__printable(const char *text);

#endif
