/* test_teacher.c — mirrors src/data/examples/teacher.c: files of numpy.save in three types and versions; other and
 * truncated files are rejected with a message. */
#define _GNU_SOURCE
#include <math.h>

#include "t.h"

#include "data/examples/teacher.h"

typedef struct file { char at[1024]; size_t n; } file;

static void add(file *f, const void *from, size_t n)
{
    memcpy(f->at + f->n, from, n);
    f->n += n;
}

/* The header of a version, padded to 64 bytes as NumPy does. */
static file header(int version, const char *dictionary)
{
    file f = {.n = 0};
    const size_t begin = version > 1 ? 12 : 10, n = (begin + strlen(dictionary) + 1 + 63) / 64 * 64 - begin;
    add(&f, "\x93NUMPY", 6);
    add(&f, (char[]){(char)version, 0, (char)n, 0, 0, 0}, version > 1 ? 6 : 4);
    const size_t at = f.n;
    memset(f.at + at, ' ', n);
    memcpy(f.at + at, dictionary, strlen(dictionary));
    f.at[at + n - 1] = '\n';
    f.n = at + n;
    return f;
}

static rf_status opened(const rf_ctx *ctx, const file *f, rf__teacher *t, rf_error *why)
{
    char path[512];
    snprintf(path, sizeof path, "%s/a.npy", t_folder());
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f->at, 1, f->n, out), f->n);
    fclose(out);
    const rf_status status = rf__teacher_open(ctx, path, t, why);
    return status;
}

static void rows_are_those_of_numpy(void **state)
{
    (void)state;
    static const float values[] = {1, -2, 0.5F, 0.25F, 1024, -0.125F};             /* exact in every type */
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x3800, 0x3400, 0x6400, 0xb000};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int version = 1; version <= 3; version++)
        for (int type = 0; type < 3; type++) {
            char text[128];
            rf__teacher t;
            rf_error why = {0};
            float row[3];
            snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': False, 'shape': (2, 3), }", 2 << type);
            file f = header(version, text);
            for (int i = 0; i < 6; i++) {
                const double wide = (double)values[i];
                if (type == 0) add(&f, &halves[i], 2);
                else if (type == 1) add(&f, &values[i], 4);
                else add(&f, &wide, 8);
            }
            if (opened(ctx, &f, &t, &why)) fail_msg("%s", why.text);
            assert_int_equal(t.rows, 2);
            assert_int_equal(t.C, 3);
            for (int i = 0; i < 2; i++) {
                assert_int_equal(rf__teacher_row(&t, i, row), 0);
                assert_memory_equal(row, values + 3 * i, sizeof row);
            }
            rf__teacher_close(ctx, &t);
        }
    rf_ctx_free(ctx);
}

static void numbers_that_are_not_finite_are_found(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    file f = header(1, "{'shape': (1, 3), 'fortran_order': False, 'descr': '<f4'}");     /* in any order */
    add(&f, (float[]){1, INFINITY, NAN}, 12);
    rf__teacher t;
    rf_error why = {0};
    float row[3];
    if (opened(ctx, &f, &t, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf__teacher_row(&t, 0, row), 2);
    rf__teacher_close(ctx, &t);
    rf_ctx_free(ctx);
}

static void other_files_are_named(void **state)
{
    (void)state;
    static const struct { const char *dictionary; size_t bytes; const char *sentence; } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 20,
        "expected 2 rows of 3 numbers of 4 bytes after the header, got 20"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 28, "after the header, got 28"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 24,
         "expected an array of 2 dimensions, one row per example, got 1 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", 24,
         "expected an array of 2 dimensions, one row per example, got 3 dimensions"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "numpy.ascontiguousarray"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24,
         "expected floats ('<f2', '<f4' or '<f8'), got type '>f4'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", 24,
         "expected floats ('<f2', '<f4' or '<f8'), got type '|O'"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24,
         "expected floats ('<f2', '<f4' or '<f8'), got type '<i4'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", 24, "expected an array of numbers"},
        {"{'descr': '<f4', 'shape': (2, 3), }", 24, "expected an array of numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", 0, "expected vectors, got rows of"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", 24,
        "after the header, got 24"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", 24, "expected an array of numbers"},
        {"", 0, "expected an array of numbers"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        file f = header(1, cases[i].dictionary);
        rf__teacher t;
        rf_error why = {0};
        for (size_t k = 0; k < cases[i].bytes; k++) add(&f, "", 1);
        assert_int_equal(opened(ctx, &f, &t, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, cases[i].sentence);
        rf__teacher_close(ctx, &t);
    }
    static const char *const beginnings[] = {"", "\x93NUMPY", "PK\x03\x04 a .npz file", "\x93NUMPY\x01\x00\xff\xff{"};
    static const size_t sizes[] = {0, 6, 16, 11};
    for (size_t i = 0; i < RF_COUNT(beginnings); i++) {
        file f = {.n = 0};
        rf__teacher t;
        rf_error why = {0};
        add(&f, beginnings[i], sizes[i]);
        assert_int_equal(opened(ctx, &f, &t, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, "numpy.save");
        rf__teacher_close(ctx, &t);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_numpy),
        cmocka_unit_test(numbers_that_are_not_finite_are_found),
        cmocka_unit_test(other_files_are_named),
    };
    return cmocka_run_group_tests_name("data/teacher", tests, NULL, NULL);
}
