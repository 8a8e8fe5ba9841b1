/* held_folder.h — reads a model folder as a whole, although others may replace it or its files meanwhile.
 *
 * Functions that open something from a folder hold it themselves. A program holds a folder to make several such calls
 * agree: the configuration that it shows and the model that it opens are then of one state of the folder. */
#ifndef ROFORMER_HELD_FOLDER_H
#define ROFORMER_HELD_FOLDER_H

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_held_folder rf_held_folder;

/* Until it releases the folder, the calling thread reads the folder that was there when it was held, and each file in
 * it once, in all calls with this context and a path that begins with this one. Do not write to a folder that you hold.
 *
 *   out        released with rf_folder_release by the same thread; NULL for what is not a folder of the file system,
 *              such as a folder in memory, which never changes. A thread may hold a folder again: both release it
 *   memory     the files that are read, except weights
 *   RF_ENOMEM  out of memory */
rf_status rf_folder_hold(const rf_ctx *ctx, const char *folder, rf_held_folder **out, rf_error *why);

/* Releases the folder after something that ended with `status`, which it returns unless a file has changed.
 *
 *   f          becomes NULL, which is allowed
 *   RF_EIO     names a file that was changed, replaced, created or removed while the folder was held, so that what was
 *              read may not belong together: close what was opened, and open it again. It takes the place of an error
 *              of `status`, of which it may be the cause. Only the last release of a folder looks */
rf_status rf_folder_release(rf_held_folder **f, rf_status status, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
