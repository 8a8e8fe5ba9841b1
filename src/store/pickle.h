/* pickle.h — the values of a pickle, as far as torch.save writes them: what a state dict is made of.
 *
 * Nothing is executed: opcodes and objects are those of a list, and everything else is refused.  Values are rows of
 * one table and name each other by index, so that cycles, depth and sharing cost nothing. */
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
    uint8_t global; /* GLOBAL, STORAGE: the object's place in its list                                    */
    /* TEXT: where, and bytes; TUPLE: first of `item`; LIST, DICT: first and last of `cell`, 0 is none; STORAGE: its
     * key; TENSOR: the tuple of its storage, offset, sizes and strides */
    uint32_t a, b;
    int64_t n; /* TRUTH, WHOLE: the value; TUPLE, LIST: members; DICT: twice that; STORAGE: elements */
} rf__pickle_value;

typedef struct rf__pickle_cell {
    uint32_t value, next;
} rf__pickle_cell;

typedef struct rf__pickle {
    const unsigned char *data; /* texts lie in it                                                                    */
    rf__pickle_value *value;
    uint32_t *item;
    rf__pickle_cell *cell; /* a DICT has a key, its value, a key ...                                               */
    size_t values, items, cells, value_capacity, item_capacity, cell_capacity;
    uint32_t root;
    size_t size; /* bytes up to its end                                                                */
} rf__pickle;

/* Reads one pickle at the beginning of `data`.  `name` and `base`, the place of `data` in the file, are for messages.
 *
 *   RF_EDATA         not a pickle, or one that contradicts itself; more than a state dict can be
 *   RF_EUNSUPPORTED  an opcode or an object that is not on the list: "refused: ... at byte N"
 *   out              cleared with rf__pickle_clear, also after a failure                                             */
rf_status rf__pickle_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, size_t base,
                          rf__pickle *out, rf_error *why);
void rf__pickle_clear(const rf_ctx *ctx, rf__pickle *p);

/* Of a GLOBAL or a STORAGE: the data type in safetensors' words, NULL where it is no storage. */
const char *rf__pickle_dtype(const rf__pickle_value *v);
bool rf__pickle_is(const rf__pickle *p, uint32_t text, const char *word);

#endif
