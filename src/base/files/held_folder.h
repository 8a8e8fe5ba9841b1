/* held_folder.h — a folder of the file system that a thread holds while it reads a model (rf_folder_hold in
 * roformer/inspect/files.h).  The functions that read files (files.c, memory_folder.c) ask here for each path. */
#ifndef RF_HELD_FOLDER_H
#define RF_HELD_FOLDER_H

#include <pthread.h>

#include "base/base.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"

/* A path, and where it is if this thread holds its folder. */
typedef struct rf__held {
    rf_held_folder *folder;             /* NULL: the path is in no folder that is held                                */
    const char *name;                   /* in the folder; points into `path`                                          */
    const rf__os_folder *at;            /* for rf__os_open_in and the like: at, below                                 */
    const char *below, *path;
} rf__held;
rf__held rf__held_of(const rf_ctx *ctx, const char *path);
rf__held rf__held_none(const char *path);                   /* as of a path in no folder                              */
rf_status rf__held_open(const rf__held *h, int *fd, size_t *size, rf_error *why);   /* for reading; in files.c        */

/* For files of a held folder only.
 *
 *   there      whether the path exists; is_folder: whether it is a folder
 *   opened     an open file has this identity. RF_EIO: it is not the file that was opened before
 *   lacks      the file could not be opened because it does not exist
 *   keep       stores a copy of the bytes that were read. RF_ENOMEM
 *   kept       those bytes; false: there are none
 *   keep_made  keeps what was made of the text, under a number; it is dropped with the text. false: it is not kept,
 *              because the text is large
 *   made       that; NULL: there is nothing */
bool rf__held_there(const rf__held *h);
bool rf__held_is_folder(const rf__held *h);
rf_status rf__held_opened(const rf__held *h, const rf__os_state *st, rf_error *why);
void rf__held_lacks(const rf__held *h);
rf_status rf__held_keep(const rf__held *h, const char *data, size_t size, rf_error *why);
bool rf__held_kept(const rf__held *h, rf_map *out);
bool rf__held_keep_made(const rf__held *h, size_t number, void *made, void (*drop)(void *made));
void *rf__held_made(const rf__held *h, size_t number);

/* For what is opened later on a model that is open.
 *
 *   release_into  as rf_folder_release, but if it is the last release, and nothing failed, *seen becomes what was seen
 *                 of the folder, for rf__folder_forget; otherwise it is unchanged. The text of large files is dropped
 *   hold_again    holds the folder once more. What was seen before is seen again, whether or not it is still there. If
 *                 anything else is read, the release compares all of it with the folder, as if it had been held all the
 *                 time. seen: NULL, or stays valid and unchanged until the release */
rf_status rf__folder_release_into(rf_held_folder **f, rf_held_folder **seen, rf_status status, rf_error *why);
rf_status rf__folder_hold_again(const rf_ctx *ctx, const char *folder, const rf_held_folder *seen, rf_held_folder **out,
                                rf_error *why);
void rf__folder_forget(rf_held_folder *seen);

/* All folders of a context that are not plain folders of the file system. */
struct rf__memory_folders {
    pthread_mutex_t lock;
    struct rf_memory_folder *first;
    uint64_t number;                    /* of the last folder in memory                                               */
    rf_held_folder *held;               /* the last one first                                                         */
};

#endif
