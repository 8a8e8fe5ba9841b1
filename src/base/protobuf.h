/* protobuf.h — iterates over the fields of a protobuf message; every length is checked. */
#ifndef RF_BASE_PROTOBUF_H
#define RF_BASE_PROTOBUF_H

#include "base/base.h"

typedef enum rf__wire_type { RF_WIRE_VARINT = 0, RF_WIRE_8_BYTES = 1, RF_WIRE_LENGTH = 2, RF_WIRE_4_BYTES = 5 }
    rf__wire_type;

/* A message, and the position of the reader in it. */
typedef struct rf__wire { const unsigned char *data; size_t size, at; } rf__wire;

typedef struct rf__field {
    uint32_t number;
    rf__wire_type type;
    uint64_t value;                     /* a varint; of types with 4 and 8 bytes their bits                           */
    const unsigned char *data;          /* RF_WIRE_LENGTH                                                             */
    size_t size;
} rf__field;

/* A number of 1 to 10 bytes, 7 bits each, the lowest first; false: it does not end. */
bool rf__wire_varint(rf__wire *w, uint64_t *out);

/* The next field. false: there is none; *fault is NULL at the end of the message, and describes the error if the
 * message is damaged. */
bool rf__wire_next(rf__wire *w, rf__field *f, const char **fault);

#endif
