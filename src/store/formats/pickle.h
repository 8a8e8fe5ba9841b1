/* pickle.h — the values of a pickle as torch.save writes it: the parts of a state dict.
 *
 * Nothing is executed: opcodes and objects come from a list, and everything else is refused. Values are rows of one
 * table and refer to each other by index, so that cycles, depth and sharing cost nothing. */
#ifndef RF_PICKLE_H
#define RF_PICKLE_H

#include "base/base.h"

typedef enum rf__pickle_kind {
    RF_PICKLE_NONE,
    RF_PICKLE_TRUTH,
    RF_PICKLE_WHOLE,
    RF_PICKLE_NUMBER,
    RF_PICKLE_TEXT,
    RF_PICKLE_TUPLE,
    RF_PICKLE_LIST,
    RF_PICKLE_DICT,
    RF_PICKLE_GLOBAL,
    RF_PICKLE_STORAGE,
    RF_PICKLE_TENSOR
} rf__pickle_kind;

typedef struct rf__pickle_value {
    uint8_t kind;   /* rf__pickle_kind                                                                    */
    uint8_t global; /* GLOBAL, STORAGE: the index of the object in its list                               */
    /* TEXT: position and bytes; TUPLE: first of `item`; LIST, DICT: first and last of `cell`, 0: none; STORAGE: its
     * key; TENSOR: the tuple of its storage, offset, sizes and strides */
    uint32_t a, b;
    int64_t n; /* TRUTH, WHOLE: the value; TUPLE, LIST: members; DICT: twice that; STORAGE: elements */
} rf__pickle_value;

typedef struct rf__pickle_cell {
    uint32_t value, next;
} rf__pickle_cell;

typedef struct rf__pickle {
    const unsigned char *data; /* contains the texts                                                                 */
    rf__pickle_value *value;
    uint32_t *item;
    rf__pickle_cell *cell; /* a DICT has a key, its value, a key ...                                               */
    size_t values, items, cells, value_capacity, item_capacity, cell_capacity;
    uint32_t root;
    size_t size; /* bytes to its end                                                                   */
} rf__pickle;

/* Reads one pickle at the beginning of `data`. `name` and `base`, the offset of `data` in the file, are for messages.
 *
 *   RF_EDATA         not a pickle, or an inconsistent one; larger than any state dict
 *   RF_EUNSUPPORTED  an opcode or an object that is not in the list: "refused: ... at byte N"
 *   out              cleared with rf__pickle_clear, also after an error */
rf_status rf__pickle_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, size_t base,
                          rf__pickle *out, rf_error *why);
void rf__pickle_clear(const rf_ctx *ctx, rf__pickle *p);

/* The data type of a GLOBAL or a STORAGE, as safetensors names it; NULL: it is not a storage. */
const char *rf__pickle_dtype(const rf__pickle_value *v);
bool rf__pickle_is(const rf__pickle *p, uint32_t text, const char *word);

#endif
