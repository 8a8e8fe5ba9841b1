/* json.h — JSON that the commands print and read: values are complete or NULL.
 *
 * A container to which a member could not be added becomes NULL and stays NULL, and so does one to which NULL is added.
 * So a builder checks only once, at the end: the value, or its text. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "roformer/context.h"

/* `value` is freed, also on failure. */
void cli_json_set(json_t **object, const char *key, json_t *value);
void cli_json_add(json_t **list, json_t *value);

/* A text of the user or of the system, such as a path: invalid UTF-8 becomes U+FFFD.  NULL: no memory. */
json_t *cli_text_json(const char *text, size_t size);

/* The complete text of a value, freed with free(); NULL: no memory, or no value. */
char *cli_json_dump(const json_t *value, size_t flags);

/* The object in a file; NULL: it is not a regular file, or has none.  Freed with json_decref. */
json_t *cli_json_read(const char *path);

#endif
