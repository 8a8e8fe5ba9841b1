/* torch.h — the two containers that torch.save has had: a pickle, and the storages that its tensors lie in. */
#ifndef RF_TORCH_H
#define RF_TORCH_H

#include "store/pickle.h"
#include "store/store.h"

/* The data of one or more tensors. */
typedef struct rf__storage {
    const char *key; /* key_size bytes, by which a pickle names it                                         */
    size_t key_size;
    const rf__dtype *dtype;
    size_t bytes;              /* elements times the size of one                                                     */
    const unsigned char *data; /* in the file; NULL until it is found                                                */
} rf__storage;

typedef struct rf__storages {
    rf__storage *storage;
    size_t count;
} rf__storages; /* by key, each once             */

rf__storage *rf__storage_find(const rf__storages *s, const char *key, size_t key_size);

/* The zip: finds the pickle; gives every storage its place. */
typedef struct rf__zip rf__zip;
bool rf__zip_is(const unsigned char *data, size_t size);
rf_status rf__zip_open(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__zip **out,
                       rf_error *why);
rf_status rf__zip_pickle(const rf__zip *z, const unsigned char **pickle, size_t *size, rf_error *why);
rf_status rf__zip_locate(const rf__zip *z, rf__storages *s, rf_error *why);
void rf__zip_close(rf__zip *z);

#endif
