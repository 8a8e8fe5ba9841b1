/* table.c — sorted tables as LevelDB writes them, which TensorFlow's checkpoints use for their index.
 *
 *     block     entries, restart offsets (32 bits each), their number (32 bits)
 *     entry     shared, rest, size (varints), the last `rest` bytes of the key, `size` bytes of value; the first
 *               `shared` bytes of the key are those of the entry before
 *     in the file each block is followed by its type (one byte, 0: not compressed) and a checksum of both
 *     footer    48 bytes: handles (offset and size as varints) of two blocks, zeros, a magic number.  The second block
 *               has an entry for each block of entries, whose value is its handle */
#include <stdlib.h>

#include "base/protobuf.h"
#include "store/formats/tensorflow/tensorflow.h"

enum { FOOTER = 48, TRAILER = 5, MAX_KEY = 4096 };
static const unsigned char magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

typedef struct table {
    const unsigned char *data;
    size_t size;
    const char *name;
    rf_error *why;
} table;

static rf_status malformed(const table *t, size_t at, const char *what)
{
    return rf_fail(t->why, RF_EDATA, "%s: byte %zu: expected %s, got something else: the index is damaged", t->name, at,
                   what);
}

/* The block at a handle, which ends before the footer. */
static rf_status find_block(const table *t, rf__wire *handle, rf__bytes *out)
{
    uint64_t offset, size;
    const size_t here = (size_t)(handle->data - t->data) + handle->at, most = t->size - FOOTER;
    if (!rf__wire_varint(handle, &offset) || !rf__wire_varint(handle, &size))
        return malformed(t, here, "the offset and the size of a block");
    if (offset > most || size > most - offset || most - offset - size < TRAILER)
        return rf_fail(t->why, RF_EDATA,
                       "%s: block of %llu bytes at byte %llu: expected it within the %zu bytes before the footer",
                       t->name, (unsigned long long)size, (unsigned long long)offset, most);
    const unsigned char *at = t->data + offset;
    if (at[size])
        return rf_fail(t->why, RF_EUNSUPPORTED,
                       "%s: block at byte %llu: expected one that is not compressed, got type %d%s; write the "
                       "checkpoint again with tf.compat.v1.train.Saver", t->name, (unsigned long long)offset, at[size],
                       at[size] == 1 ? " (Snappy)" : "");
    const uint32_t expected = rf__little32(at + size + 1), got = rf__masked_crc(rf__crc32c(0, at, (size_t)size + 1));
    if (expected != got)
        return rf_fail(t->why, RF_EDATA, "%s: block at byte %llu: expected checksum %08x, got %08x: the index is "
                       "damaged", t->name, (unsigned long long)offset, (unsigned)expected, (unsigned)got);
    *out = (rf__bytes){at, (size_t)size};
    return RF_OK;
}

/* Entries of a block; keys are put together in `key`, MAX_KEY bytes. */
static rf_status each_entry(const table *t, rf__bytes block, unsigned char *key, rf__table_entry *one, void *user)
{
    const size_t begin = (size_t)(block.at - t->data);
    if (block.size < 4) return malformed(t, begin, "the number of restarts");
    const uint32_t restarts = rf__little32(block.at + block.size - 4);
    if (restarts > (block.size - 4) / 4) return malformed(t, begin + block.size - 4, "the number of restarts");
    const size_t limit = block.size - 4 - 4 * (size_t)restarts;
    for (uint32_t i = 0; i < restarts; i++)
        if (rf__little32(block.at + limit + 4 * i) > limit)
            return malformed(t, begin + limit + 4 * i, "a restart within the block");
    size_t had = 0;
    for (rf__wire w = {block.at, limit, 0}; w.at < limit;) {
        const size_t here = begin + w.at;
        uint64_t shared, rest, size;
        if (!rf__wire_varint(&w, &shared) || !rf__wire_varint(&w, &rest) || !rf__wire_varint(&w, &size))
            return malformed(t, here, "the sizes of an entry");
        if (shared > had) return malformed(t, here, "a key that shares no more than the key before has");
        if (rest > limit - w.at || size > limit - w.at - rest)
            return malformed(t, here, "an entry within its block");
        if (rest > MAX_KEY - shared)
            return rf_fail(t->why, RF_EDATA, "%s: byte %zu: expected a name of at most %d bytes, got more", t->name,
                           here, MAX_KEY);
        const unsigned char *p = w.data + w.at;
        if (rest) memcpy(key + shared, p, (size_t)rest);
        had = (size_t)(shared + rest);
        const rf_status status = one(user, (rf__bytes){key, had}, (rf__bytes){p + rest, (size_t)size}, t->why);
        if (status) return status;
        w.at += (size_t)(rest + size);
    }
    return RF_OK;
}

typedef struct blocks { const table *t; unsigned char *key; rf__table_entry *one; void *user; } blocks;

static rf_status each_block(void *user, rf__bytes key, rf__bytes value, rf_error *why)
{
    const blocks *b = user;
    rf__wire handle = {value.at, value.size, 0};
    rf__bytes block;
    (void)key, (void)why;
    const rf_status status = find_block(b->t, &handle, &block);
    return status ? status : each_entry(b->t, block, b->key, b->one, b->user);
}

bool rf__table_is(const unsigned char *data, size_t size)
{
    return size >= FOOTER && !memcmp(data + size - sizeof magic, magic, sizeof magic);
}

rf_status rf__table_each(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name,
                         rf__table_entry *one, void *user, rf_error *why)
{
    const table t = {data, size, name, why};
    if (!rf__table_is(data, size))
        return rf_fail(why, RF_EDATA, "%s: expected the index of a TensorFlow checkpoint, got a file of %zu bytes "
                       "without its magic number", name, size);
    unsigned char *key = rf__alloc(ctx, 2 * MAX_KEY);
    if (!key) return rf_fail(why, RF_ENOMEM, "%s: out of memory", name);
    rf__wire handle = {data + size - FOOTER, FOOTER - sizeof magic, 0};
    const blocks b = {&t, key, one, user};
    rf__bytes index;
    rf_status status = find_block(&t, &handle, &index);                          /* of metadata: not needed */
    if (!status) status = find_block(&t, &handle, &index);
    if (!status) status = each_entry(&t, index, key + MAX_KEY, each_block, (void *)(uintptr_t)&b);
    rf__free(ctx, key);
    return status;
}
