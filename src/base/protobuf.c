/* protobuf.c — the wire format of protocol buffers: a tag (number and type), followed by a value of that type. Groups
 * (types 3 and 4), which the format has abandoned, are refused. */
#include "base/protobuf.h"

bool rf__wire_varint(rf__wire *w, uint64_t *out)
{
    uint64_t x = 0;
    for (unsigned shift = 0; w->at < w->size && shift < 70; shift += 7) {
        const unsigned char byte = w->data[w->at++];
        if (shift == 63 && byte > 1) return false;
        x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return *out = x, true;
    }
    return false;
}

static bool fixed(rf__wire *w, size_t bytes, uint64_t *out)
{
    if (bytes > w->size - w->at) return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)w->data[w->at + i] << (8 * i);
    w->at += bytes;
    return true;
}

/* Reads what follows a tag; returns NULL or a description of the error. */
static const char *content(rf__wire *w, rf__field *f)
{
    switch ((int)f->type) {
    case RF_WIRE_VARINT: return rf__wire_varint(w, &f->value) ? NULL : "a number does not end";
    case RF_WIRE_8_BYTES: return fixed(w, 8, &f->value) ? NULL : "it ends within a number of 8 bytes";
    case RF_WIRE_4_BYTES: return fixed(w, 4, &f->value) ? NULL : "it ends within a number of 4 bytes";
    case RF_WIRE_LENGTH:
        if (!rf__wire_varint(w, &f->value)) return "a length does not end";
        if (f->value > w->size - w->at) return "a field is longer than what is left";
        f->data = w->data + w->at;
        f->size = (size_t)f->value;
        w->at += f->size;
        return NULL;
    default: return "a wire type that is not 0, 1, 2 or 5";
    }
}

bool rf__wire_next(rf__wire *w, rf__field *f, const char **fault)
{
    uint64_t tag;
    *fault = NULL;
    if (w->at == w->size) return false;
    *f = (rf__field){0};
    if (!rf__wire_varint(w, &tag)) return *fault = "a tag does not end", false;
    if (tag >> 3 < 1 || tag >> 3 > 0x1FFFFFFF) return *fault = "a field number that is not 1 to 536870911", false;
    f->number = (uint32_t)(tag >> 3);
    f->type = (rf__wire_type)(tag & 7);
    *fault = content(w, f);
    return !*fault;
}
