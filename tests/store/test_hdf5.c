/* test_hdf5.c — mirrors hdf5.c: files written by h5py (tools/golden/golden_hdf5.py) have the bits of the same
 * weights in safetensors; unsupported files are rejected by name; no value of a byte leads to a read outside the
 * file. */
#include "same_weights.h"
#include "model/model.h"

static const struct { const char *name, *source; int tensors;
} models[] = {
    {"roformer", "models/plain", 42},
    {"bert", "bert/masked", 42},
    {"sequence", "heads/sequence", 25},
};

static void tensors_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        char path[2][200];
        snprintf(path[0], sizeof path[0], "tests/golden/hdf5/%s", models[i].name);
        snprintf(path[1], sizeof path[1], "tests/golden/%s/", models[i].source);
        rf_weights *w = opened(path[0]), *expected = opened(path[1]);
        const int found = same_tensors(models[i].name, w, expected, "position_ids");
        if (found != models[i].tensors) fail_msg("%s: %d tensors, not %d", models[i].name, found, models[i].tensors);
        assert_int_equal(rf_weights_count(w), found);
        rf_weights_close(w);
        rf_weights_close(expected);
        t_free_all();
    }
}

/* The logits of both folders have the same bits. */
static void answers_are_the_same(void **state)
{
    (void)state;
    const int32_t id[] = {2, 9, 11, 5, 8, 3}, start[] = {0, 6}, row[] = {0, 1, 2, 3, 4, 5};
    const rf_batch batch = {.N = 6, .B = 1, .id = id, .start = start};
    for (size_t i = 0; i < 2; i++) {
        const float *logits[2];
        rf_model *m[2];
        rf_session *s[2];
        rf_error why = {0};
        for (int k = 0; k < 2; k++) {
            char path[200];
            snprintf(path, sizeof path, "tests/golden/%s%s", k ? "hdf5/" : "", k ? models[i].name : models[i].source);
            if (rf_model_open(ctx, path, &m[k], &why) || rf_session_open(m[k], &s[k], &why) ||
                rf_session_mlm_logits(s[k], &batch, row, 6, &logits[k], &why))
                fail_msg("%s: %s", path, why.text);
            assert_string_equal(rf__model_ignored(m[k]), "");
        }
        assert_memory_equal(logits[0], logits[1], (size_t)(6 * rf_model_config(m[0])->vocab_size) * sizeof **logits);
        for (int k = 0; k < 2; k++) rf_session_close(s[k]), rf_model_close(m[k]);
    }
}

/* Forty names are in several leaves of the tree; numbers of f16, transposed. */
static void groups_may_be_wide(void **state)
{
    (void)state;
    rf_weights *w = opened("tests/golden/hdf5/wide/tf_model.h5");
    assert_int_equal(rf_weights_count(w), 40);
    for (int i = 0; i < 40; i++) {
        char name[32];
        float x[6];
        rf_error why = {0};
        snprintf(name, sizeof name, "a.b.%d.weight", i);
        const rf_weight *t = rf__weights_find(w, name);
        if (!t) fail_msg("no %s", name);
        assert_int_equal(t->dim[0], 3);
        assert_int_equal(t->dim[1], 2);
        if (rf__weights_read(w, t, x, 1, &why)) fail_msg("%s", why.text);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 2; c++) t_near((double)x[r * 2 + c], i + (c * 3 + r) / 8.0, 0.02);     /* f16 to 64 */
    }
    rf_weights_close(w);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const struct { const char *name; rf_status status; const char *message;
    } all[] = {
        {"latest.h5", RF_EUNSUPPORTED, "superblock: expected version 0, which h5py writes by default, got"},
        {"chunks.h5", RF_EUNSUPPORTED, "\"a/b/c/kernel:0\": expected an array in one piece, got one in chunks"},
        {"compressed.h5", RF_EUNSUPPORTED, "kernel:0\": expected an array without filters, got a compressed one"},
        {"link.h5", RF_EUNSUPPORTED, "\"a/b/d\": expected an array or a group, got a link"},
        {"unwritten.h5", RF_EDATA, "expected an array with numbers, got one that was never written"},
        {"empty.h5", RF_EDATA, "expected arrays, got none"},
        {"twice.h5", RF_EDATA, "tensor \"c.weight\": expected it once, or twice with the same numbers, got others"},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        char path[200];
        rf_weights *w = NULL;
        rf_error why = {0};
        snprintf(path, sizeof path, "tests/golden/hdf5/refused/%s", all[i].name);
        if (rf_weights_open(ctx, path, &w, &why) != all[i].status) fail_msg("%s: %d, %s", path, why.code, why.text);
        t_failed(&why, all[i].status, all[i].message);
    }
    static const char *const types[] = {"big", "double", "whole", "text"};
    rf_weights *w = opened("tests/golden/hdf5/refused/types.h5");
    for (size_t i = 0; i < RF_COUNT(types); i++) {
        const rf_weight *t = rf__weights_find(w, types[i]);
        float x[3];
        rf_error why = {0};
        if (!t) fail_msg("no %s", types[i]);
        assert_int_equal(rf__weights_read(w, t, x, 1, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, types[i][0] == 'w' ? "int64 weights" : "expected F32, BF16 or F16, got");
    }
    rf_weights_close(w);
}

/* Every byte changed in three ways, and every length: an error with a message, or tensors inside the file. */
static void bytes_lead_nowhere_else(void **state)
{
    (void)state;
    static unsigned char whole[1 << 16], part[1 << 16];
    FILE *f = fopen("tests/golden/hdf5/refused/types.h5", "rb");
    assert_non_null(f);
    const size_t size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_true(size > 1000 && size < sizeof whole);
    static const unsigned char flips[] = {0xFF, 0x01, 0x80};
    for (size_t i = 0; i < 4 * size; i++) {
        const size_t place = i / 4, left = i % 4 == 3 ? place : size;
        rf__header h;
        rf_error why = {0};
        memcpy(part, whole, size);
        if (i % 4 < 3) part[place] ^= flips[i % 4];
        unsigned char *exact = malloc(left + 1);                       /* so that a sanitizer sees its end */
        assert_non_null(exact);
        memcpy(exact, part, left);
        const rf_status status = rf__hdf5_read(ctx, exact, left, "file", &h, &why);
        if (status) assert_true(status == why.code && strstr(why.text, "expected"));
        for (size_t k = 0; !status && k < h.count; k++) {
            const unsigned char *from = h.tensor[k].data;
            assert_true(from >= exact && h.tensor[k].bytes <= left && from <= exact + left - h.tensor[k].bytes);
        }
        if (!status) rf__header_clear(ctx, &h);
        free(exact);
    }
}

/* A group that contains itself ends at its maximum depth. */
static void circles_end(void **state)
{
    (void)state;
    static unsigned char file[1 << 16];
    FILE *f = fopen("tests/golden/hdf5/refused/empty.h5", "rb");
    assert_non_null(f);
    const size_t size = fread(file, 1, sizeof file, f);
    fclose(f);
    uint64_t root = 0;
    memcpy(&root, file + 64, sizeof root);
    int found = 0;
    for (size_t i = 0; i + 8 + 16 <= size; i++) {
        if (memcmp(file + i, "SNOD", 4) || !file[i + 6]) continue;
        memcpy(file + i + 8 + 8, &root, sizeof root);                  /* "a" is the root */
        found++;
    }
    assert_int_equal(found, 1);
    rf__header h;
    rf_error why = {0};
    assert_int_equal(rf__hdf5_read(ctx, file, size, "file", &h, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected groups of at most 16 levels, got more");
}

/* An array with two types, of 4 bytes and of none: its numbers would be beyond its bytes. */
static void two_types_of_an_array(void **state)
{
    (void)state;
    enum { FIRST = 848, PLACE = 896, SECOND = 928, DATA = 8 };          /* messages of "big" */
    static unsigned char file[1 << 14];
    FILE *f = fopen("tests/golden/hdf5/refused/types.h5", "rb");
    assert_non_null(f);
    const size_t size = fread(file, 1, sizeof file, f);
    fclose(f);
    assert_true(file[FIRST] == 3 && file[PLACE] == 8 && !file[SECOND]);
    file[FIRST + DATA + 1] = 0x20;                                      /* little-endian: F32 */
    file[PLACE + DATA + 10] = 0;                                        /* bytes */
    file[SECOND] = 3;
    rf__header h;
    rf_error why = {0};
    assert_int_equal(rf__hdf5_read(ctx, file, size, "file", &h, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "big\": expected one shape, one type and one place of an array, got two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_the_same_bits), cmocka_unit_test(answers_are_the_same),
        cmocka_unit_test(groups_may_be_wide),         cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(bytes_lead_nowhere_else),    cmocka_unit_test(circles_end),
        cmocka_unit_test(two_types_of_an_array),
    };
    return cmocka_run_group_tests_name("store/hdf5", tests, setup, teardown);
}
