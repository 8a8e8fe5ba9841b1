/* os_libc.h — what os_libc.c shares with the files of the systems that it belongs to. */
#ifndef RF_OS_LIBC_H
#define RF_OS_LIBC_H

#include <sys/stat.h>

#include "base/os/os.h"

int rf__libc_flags(int how);                            /* of open, for RF__OS_READ and the others */
mode_t rf__libc_mode(int how);                          /* of a new file */
int rf__libc_state(int failed, const struct stat *st, rf__os_state *out);        /* failed: -1, errno stays */
struct timespec rf__libc_time(double seconds);          /* at least 0 */

#endif
