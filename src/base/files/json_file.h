/* json_file.h — the JSON object in a file. */
#ifndef RF_JSON_FILE_H
#define RF_JSON_FILE_H

#include "base/files/held_folder.h"
#include "base/json.h"

/* Reads and parses a file (rf__read_file, rf__json_parse).
 *
 *   rf__json_file     the object is the caller's
 *   rf__json_shared   for small files that several readers need: while this thread holds the folder, all of them get
 *                     the same object, which must not be changed
 *   out               to be released with json_decref; unchanged on error */
rf_status rf__json_file(const rf_ctx *ctx, const char *path, size_t limit, size_t flags, json_t **out, rf_error *why);
rf_status rf__json_shared(const rf_ctx *ctx, const char *path, size_t limit, size_t flags, json_t **out,
                          rf_error *why);

/* The parts of rf__json_shared, for values that are parsed in another way: the value that was parsed with these flags,
 * to be released with json_decref, or NULL; and sharing one. */
json_t *rf__held_json(const rf__held *h, size_t flags);
void rf__held_keep_json(const rf__held *h, size_t flags, json_t *value);

#endif
