/* json.h — JSON that the commands print and read: values that are whole or are none.
 *
 * What could not take a member becomes NULL, and stays so; a NULL that is put into something makes that NULL, too.  So
 * a builder looks once, at the end: at what it made, or at its text. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "roformer/status.h"

/* `value` is taken over, also on failure. */
void cli_json_set(json_t **object, const char *key, json_t *value);
void cli_json_add(json_t **list, json_t *value);

/* A text of the user's or of the system's, such as a path: bytes that are not UTF-8 become U+FFFD.  NULL: no memory. */
json_t *cli_text_json(const char *text, size_t size);

/* The whole text of a value, freed with free(); NULL: no memory, or no value. */
char *cli_json_dump(const json_t *value, size_t flags);

/* The object that a file holds; NULL: it is no regular file, or holds none.  Freed with json_decref. */
json_t *cli_json_read(const char *path);

#endif
