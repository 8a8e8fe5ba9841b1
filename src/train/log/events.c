/* events.c — TensorBoard's event files: TFRecords with protobuf messages, of which three types are needed.
 *
 *     record    length (u64) | masked CRC-32C of it (u32) | data | masked CRC-32C of the data (u32)      little-endian
 *     mask      (crc >> 15 | crc << 17) + 0xa282ead8
 *     Event     1: wall_time (double)   2: step (varint)   3: file_version (string)   5: summary (message)
 *     Summary   1: value (message, repeated);   Value   1: tag (string)   2: simple_value (float)
 *
 * A protobuf field begins with its number and type in one varint, followed by the value; strings and messages begin
 * with their length. */
#include <stdio.h>

#include "base/bytes.h"
#include "train/log/events.h"

enum { VARINT = 0, EIGHT_BYTES = 1, SIZED = 2, FOUR_BYTES = 5 };

/* ---- bytes ---- */

static void append_bytes(rf__bytes *b, const void *data, size_t n)
{
    if (n > sizeof b->at - b->n) {
        b->full = true;
        return;
    }
    if (n) memcpy(b->at + b->n, data, n);
    b->n += n;
}

static void put_varint(rf__bytes *b, uint64_t x)
{
    do {
        const unsigned char low = (unsigned char)((x & 0x7F) | (x > 0x7F ? 0x80 : 0));
        append_bytes(b, &low, 1);
        x >>= 7;
    } while (x);
}

static void put_little(rf__bytes *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) append_bytes(b, &(unsigned char){(unsigned char)(x >> 8 * i)}, 1);
}

static void put_field(rf__bytes *b, int number, int kind) { put_varint(b, (uint64_t)(number << 3 | kind)); }

static void put_sized(rf__bytes *b, int number, const void *data, size_t n)
{
    put_field(b, number, SIZED);
    put_varint(b, n);
    append_bytes(b, data, n);
}

static void put_double(rf__bytes *b, int number, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_field(b, number, EIGHT_BYTES);
    put_little(b, bits, 8);
}

static void put_float(rf__bytes *b, int number, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_field(b, number, FOUR_BYTES);
    put_little(b, bits, 4);
}

/* ---- records ---- */

static uint32_t masked(const void *data, size_t n)
{
    return rf__masked_crc(rf__crc32c(0, data, n));
}

static void frame(rf__bytes *record, const rf__bytes *data)
{
    *record = (rf__bytes){.full = data->full};
    put_little(record, data->n, 8);
    put_little(record, masked(record->at, 8), 4);
    append_bytes(record, data->at, data->n);
    put_little(record, masked(data->at, data->n), 4);
}

void rf__event_version(rf__bytes *record, double now)
{
    static const char version[] = "brain.Event:2";
    rf__bytes event = {.n = 0};
    put_double(&event, 1, now);
    put_sized(&event, 3, version, sizeof version - 1);
    frame(record, &event);
}

static void put_value(rf__bytes *summary, const char *key, double x)
{
    char tag[160];
    rf__bytes value = {.n = 0};
    const bool eval = !strncmp(key, "eval_", 5);
    const int n = snprintf(tag, sizeof tag, "%s/%s", eval ? "eval" : "train", eval ? key + 5 : key);
    put_sized(&value, 1, tag, (size_t)n < sizeof tag ? (size_t)n : sizeof tag - 1);
    put_float(&value, 2, (float)x);
    put_sized(summary, 1, value.at, value.n);
}

void rf__event_scalars(rf__bytes *record, const json_t *line, double now)
{
    const char *key;
    json_t *x;
    rf__bytes summary = {.n = 0}, event = {.n = 0};
    json_object_foreach((json_t *)(uintptr_t)line, key, x)
        if (json_is_number(x) && strcmp(key, "step")) put_value(&summary, key, json_number_value(x));
    put_double(&event, 1, now);
    put_field(&event, 2, VARINT);
    put_varint(&event, (uint64_t)json_integer_value(json_object_get(line, "step")));
    put_sized(&event, 5, summary.at, summary.n);
    event.full = event.full || summary.full;
    frame(record, &event);
}

/* ---- the file ---- */

static const char name[] = "events.out.tfevents.roformer";

static rf_status append(rf__events *e, const rf__bytes *record, rf_error *why)
{
    if (record->full) return rf_fail(why, RF_ERANGE, "%s: a record of more than %zu bytes", e->path, sizeof record->at);
    return rf__journal_append(e, record->at, record->n, why);
}

rf_status rf__events_open(const char *folder, int64_t bytes, double now, rf__events *out, rf_error *why)
{
    rf__bytes record;
    const rf_status status = rf__journal_open(folder, name, bytes, out, why);
    if (status) return status;
    if (out->bytes) return RF_OK;
    rf__event_version(&record, now);
    return append(out, &record, why);
}

rf_status rf__events_known(const char *folder, int64_t bytes, int64_t crc, rf_error *why)
{
    return rf__journal_known(folder, name, bytes, (uint32_t)crc, false, why);
}

rf_status rf__events_add(rf__events *e, const json_t *line, double now, rf_error *why)
{
    rf__bytes record;
    if (e->fd < 0 || !line) return RF_OK;
    rf__event_scalars(&record, line, now);
    return append(e, &record, why);
}
