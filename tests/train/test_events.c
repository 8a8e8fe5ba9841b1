/* test_events.c — mirrors src/train/log/events.c: the bytes of TensorBoard's own writer (tools/check/events.py). */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "t.h"
#include "train/log/events.h"

static json_t *line_of(int i)
{
    return i ? json_pack("{s:I, s:f, s:f, s:i, s:n, s:b}", "step", (json_int_t)123456789012, "eval_loss", 6.125,
                         "eval_accuracy", 0.1, "eval_labels", 300, "nothing", "flag", 1)
             : json_pack("{s:i, s:f, s:f}", "step", 50, "loss", 7.25, "learning_rate", 0.0005);
}

static const double times[] = {1700000000.25, 1700000001.5};

static size_t read_all(const char *path, unsigned char *to, size_t size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    const size_t n = fread(to, 1, size, f);
    fclose(f);
    return n;
}

static void open_at(const char *folder, int64_t bytes, rf__events *e)
{
    rf_error why = {0};
    if (rf__events_open(folder, bytes, 1700000000.0, e, &why)) fail_msg("%s", why.text);
}

static void add(rf__events *e, int i)
{
    rf_error why = {0};
    json_t *line = line_of(i);
    if (rf__events_add(e, line, times[i], &why)) fail_msg("%s", why.text);
    json_decref(line);
}

static void the_bytes_of_tensorboard(void **state)
{
    (void)state;
    unsigned char expected[4096], got[4096];
    const char *folder = t_folder();
    rf__events e;
    const size_t n = read_all("tests/golden/train/events.tfevents", expected, sizeof expected);
    open_at(folder, 0, &e);
    add(&e, 0);
    add(&e, 1);
    assert_int_equal(rf__journal_sync(&e, NULL), RF_OK);
    rf__journal_close(&e);
    assert_int_equal(read_all(e.path, got, sizeof got), n);
    assert_int_equal(e.bytes, n);
    assert_memory_equal(got, expected, n);
}

/* Truncated to the length in a checkpoint, the file continues without a duplicate or missing record. */
static void goes_on_where_it_was(void **state)
{
    (void)state;
    unsigned char expected[4096], got[4096];
    const char *folder = t_folder();
    rf__events e;
    const size_t n = read_all("tests/golden/train/events.tfevents", expected, sizeof expected);
    open_at(folder, 0, &e);
    add(&e, 0);
    const int64_t known = e.bytes;
    add(&e, 1);
    add(&e, 1);
    rf__journal_close(&e);
    assert_int_equal(truncate(e.path, known + 7), 0);               /* and a record that was cut by a crash */
    open_at(folder, known, &e);
    add(&e, 1);
    rf__journal_close(&e);
    assert_int_equal(read_all(e.path, got, sizeof got), n);
    assert_memory_equal(got, expected, n);
}

/* "123456789" gives e3069283: the check value of CRC-32C.  Masked as in the record format, computed separately here. */
static void frames_are_masked_crcs(void **state)
{
    (void)state;
    assert_true(rf__crc32c(0, "123456789", 9) == 0xe3069283u);
    rf__bytes b;
    uint32_t crc;
    rf__event_version(&b, 1);
    assert_int_equal(b.n, 12 + 9 + 2 + 13 + 4);
    assert_int_equal(b.at[0], 9 + 2 + 13);
    memcpy(&crc, b.at + 8, 4);
    const uint64_t c = rf__crc32c(0, b.at, 8);
    assert_true(crc == (uint32_t)(((c / 32768 + c % 32768 * 131072) + 0xa282ead8ull) % 4294967296ull));
}

static void too_long_a_line_is_refused(void **state)
{
    (void)state;
    char key[64];
    const char *folder = t_folder();
    rf__events e;
    rf_error why = {0};
    json_t *line = json_pack("{s:i}", "step", 1);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "a_rather_long_name_of_a_number_%d", i);
        json_object_set_new(line, key, json_real(1));
    }
    open_at(folder, 0, &e);
    const int64_t before = e.bytes;
    rf__events_add(&e, line, 1, &why);
    t_failed(&why, RF_ERANGE, "a record of more than 2048 bytes");
    assert_int_equal(e.bytes, before);
    rf__journal_close(&e);
    json_decref(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_of_tensorboard),
        cmocka_unit_test(goes_on_where_it_was),
        cmocka_unit_test(frames_are_masked_crcs),
        cmocka_unit_test(too_long_a_line_is_refused),
    };
    return cmocka_run_group_tests_name("train/events", tests, NULL, NULL);
}
