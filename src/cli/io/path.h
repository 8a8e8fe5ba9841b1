/* path.h — paths, and reading small files completely. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include <stddef.h>

#include "roformer/context.h"

/*                       "a/b"    "b"     "a/b/"    "/b"
 *     cli_file_name     "b"      "b"     ""        "b"        after the last slash; points into `path`
 *     cli_last_part     "b"      "b"     "b"       "b"        trailing slashes are ignored; cut to size - 1 bytes */
const char *cli_file_name(const char *path);
void cli_last_part(const char *path, char *out, size_t size);

/* folder/name; RF_ERANGE if it does not fit. */
rf_status cli_join(char *out, size_t size, const char *folder, const char *name, rf_error *why);

/* RF_EIO: the path is not a regular file.  Everything that is opened in a folder must be one: other kinds of files are
 * rejected and not waited for. */
rf_status cli_must_be_file(const char *path, rf_error *why);

/* All bytes of a file, followed by a zero that is not counted; freed with free().  RF_EDATA above `limit` bytes. A path
 * given by the user may be a pipe, such as <(...) in a shell; a path found in a folder may not. */
rf_status cli_read_named(const char *path, size_t limit, char **text, size_t *size, rf_error *why);
rf_status cli_read_found(const char *path, size_t limit, char **text, size_t *size, rf_error *why);

#endif
