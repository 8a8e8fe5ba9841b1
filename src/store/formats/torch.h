/* torch.h — the two formats of torch.save: a pickle, and the storages of its tensors. */
#ifndef RF_TORCH_H
#define RF_TORCH_H

#include "store/formats/pickle.h"
#include "store/store.h"

/* The data of one or more tensors. */
typedef struct rf__storage {
    const char *key; /* key_size bytes, the name in the pickle                                             */
    size_t key_size;
    const rf__dtype *dtype;
    size_t bytes;              /* elements times the size of an element                                              */
    const unsigned char *data; /* in the file; NULL: not found yet                                                   */
} rf__storage;

typedef struct rf__storages {
    rf__storage *storage;
    size_t count;
} rf__storages; /* sorted by key, each once      */

/* The zip: finds the pickle and the location of every storage. */
typedef struct rf__zip rf__zip;
bool rf__zip_is(const unsigned char *data, size_t size);
rf_status rf__zip_open(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__zip **out,
                       rf_error *why);
rf_status rf__zip_pickle(const rf__zip *z, const unsigned char **pickle, size_t *size, rf_error *why);
rf_status rf__zip_locate(const rf__zip *z, rf__storages *s, rf_error *why);
void rf__zip_close(rf__zip *z);

#endif
