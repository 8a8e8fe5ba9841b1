/* path.h — parts of a path, as text only: the file system is not used. On Windows '\' is a slash as well.
 *
 *                       "a/b"    "b"     "a/b/"    "/b"
 *     rf__file_name     "b"      "b"     ""        "b"        after the last slash
 *     rf__last_part     "b"      "b"     "b"       "b"        slashes at the end do not count
 *     rf__folder_of     "a"      "."     "a/b"     "/"        the folder that contains the file */
#ifndef RF_PATH_H
#define RF_PATH_H

#include "base/base.h"

/* Whether a path that a file names, and that nobody trusts, stays below the folder that it is joined to: it is not
 * empty, not absolute, and no part of it is "..". Windows: nor does it contain '\' or ':' (a drive or a stream). */
bool rf__stays_below(const char *path);
bool rf__climbs(const char *path);                                              /* a part of it is ".."               */

const char *rf__file_name(const char *path);                                    /* points into `path`                 */
void rf__last_part(const char *path, char *out, size_t size);                   /* cut to size - 1 bytes              */
rf_status rf__folder_of(const char *path, char *out, size_t size, rf_error *why);       /* RF_ERANGE: does not fit    */

#endif
