/* held_folder.h — a folder of the file system that a thread holds while it reads a model (rf_folder_hold in
 * roformer/inspect/held_folder.h).  The functions that read files (files.c, memory_folder.c) ask here for each path. */
#ifndef RF_HELD_FOLDER_H
#define RF_HELD_FOLDER_H

#include <pthread.h>
#include <sys/stat.h>

#include "base/base.h"
#include "roformer/inspect/held_folder.h"

/* A path in a folder that this thread holds. folder: NULL, if it is in none; name: in the folder, points into path. */
typedef struct rf__held { rf_held_folder *folder; const char *name, *path; } rf__held;
rf__held rf__held_of(const rf_ctx *ctx, const char *path);

/* For openat: the folder, or AT_FDCWD; with it `name`, which is the path if the file is in no held folder. */
int rf__held_at(const rf__held *h);

/* For files of a held folder only.
 *
 *   there      whether the path exists; is_folder: whether it is a folder
 *   opened     an open file has this identity. RF_EIO: it is not the file that was opened before
 *   lacks      the file could not be opened because it does not exist
 *   keep       stores a copy of the bytes that were read. RF_ENOMEM
 *   kept       those bytes; false: there are none */
bool rf__held_there(const rf__held *h);
bool rf__held_is_folder(const rf__held *h);
rf_status rf__held_opened(const rf__held *h, const struct stat *st, rf_error *why);
void rf__held_lacks(const rf__held *h);
rf_status rf__held_keep(const rf__held *h, const char *data, size_t size, rf_error *why);
bool rf__held_kept(const rf__held *h, rf_map *out);

/* All folders of a context that are not plain folders of the file system. */
struct rf__memory_folders {
    pthread_mutex_t lock;
    struct rf_memory_folder *first;
    uint64_t number;                    /* of the last folder in memory                                               */
    rf_held_folder *held;               /* the last one first                                                         */
};

#endif
