/* test_weights.c — mirrors header.c and weights.c: which files are accepted, and which are rejected
 * by name. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "roformer/checkpoint.h"
#include "base/json.h"
#include "store/store.h"
#include "one_context.h"

/* A file of this header and `data_size` bytes of data, counting up from 0. */
static unsigned char *file_of(const char *header, size_t data_size, size_t *size)
{
    const size_t n = strlen(header);
    *size = 8 + n + data_size;
    unsigned char *f = t_bytes(*size);
    for (size_t i = 0; i < 8; i++) f[i] = (unsigned char)(n >> 8 * i);
    memcpy(f + 8, header, n);
    for (size_t i = 0; i < data_size; i++) f[8 + n + i] = (unsigned char)i;
    return f;
}

static rf_weights *opens(const char *header, size_t data_size)
{
    size_t size;
    rf_error why = {0};
    rf_weights *w = NULL;
    const unsigned char *f = file_of(header, data_size, &size);
    if (rf__weights_from_memory(ctx, f, size, "f", &w, &why)) fail_msg("%s: %s", header, why.text);
    return w;
}

static void refused(const char *header, size_t data_size, rf_status code, const char *part)
{
    size_t size;
    rf_error why = {0};
    rf_weights *w = NULL;
    const unsigned char *f = file_of(header, data_size, &size);
    if (!rf__weights_from_memory(ctx, f, size, "f", &w, &why)) fail_msg("accepted: %s", header);
    t_failed(&why, code, part);
    assert_null(w);
}

static void lengths(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t size; const char *part; } bad[] = {
        {"", 0, "not a safetensors file: expected at least 8 bytes, got 0"},
        {"\2\0\0\0\0\0\0", 7, "not a safetensors file: expected at least 8 bytes, got 7"},
        {"\0\0\0\0\0\0\0\0{}", 10, "not a safetensors file: header length: expected 1 to 100000000, got 0"},
        {"\1\xe1\xf5\5\0\0\0\0{}", 10, "not a safetensors file: header length: expected 1 to 100000000, got 100000001"},
        {"\377\377\377\377\377\377\377\377{}", 10,
         "not a safetensors file: header length: expected 1 to 100000000, got"},
        {"\3\0\0\0\0\0\0\0{}", 10, "header length: expected at most the 10 bytes of the file, got 3"},
        {"\3\0\0\0\0\0\0\0 {}", 11, "header: expected { at its start"},
        {"\2\0\0\0\0\0\0\0[]", 10, "header: expected { at its start"},
        {"\2\0\0\0\0\0\0\0{}x", 11, "after the last tensor, got 1 more"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        rf_weights *w = NULL;
        assert_int_equal(rf__weights_from_memory(ctx, bad[i].bytes, bad[i].size, "f", &w, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, bad[i].part);
    }
}

#define T(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void headers(void **state)
{
    (void)state;
    refused("{\"a\"", 0, RF_EDATA, "not valid JSON: line 1, byte 4");
    refused("{\"a\377\":1}", 0, RF_EDATA, "not valid JSON");
    refused("{\"a\":1}", 0, RF_EDATA, "\"a\": its entry is not an object");
    refused("{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[0,4]") "}", 4, RF_EDATA, "duplicate");
    refused("{\"__metadata__\":{\"k\":1}}", 0, RF_EDATA, "__metadata__ \"k\": expected a string");
    refused("{\"__metadata__\":[]}", 0, RF_EDATA, "__metadata__: expected an object");
    refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, RF_EDATA, "duplicate");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, RF_EDATA, "keys other than");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"offsets\":[0,4]}}", 4, RF_EDATA, "\"data_offsets\" is missing");
    refused("{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, RF_EDATA, "\"dtype\" is missing");
    refused("{" T("a", "F32", "4", "[0,4]") "}", 4, RF_EDATA, "\"shape\" is missing");
    refused("{" T("a", "Q4", "[1]", "[0,4]") "}", 4, RF_EUNSUPPORTED, "of safetensors, got \"Q4\"");
    refused("{" T("a\\u001b[2J", "Q4", "[1]", "[0,4]") "}", 4, RF_EUNSUPPORTED, "tensor \"a?[2J\"");
}

static void shapes(void **state)
{
    (void)state;
    /* 4194305 * 4194305 * 211106198978564 = 4 modulo 2^64: an unchecked product would be the size of one float. */
    refused("{" T("a", "F32", "[4194305,4194305,211106198978564]", "[0,16]") "}", 16, RF_EDATA, "does not fit 64 bits");
    refused("{" T("a", "F32", "[4611686018427387904]", "[0,0]") "}", 0, RF_EDATA, "size in bits does not fit");
    refused("{" T("a", "F32", "[-1]", "[0,4]") "}", 4, RF_EDATA, "a dimension is not a whole number >= 0 (-1)");
    refused("{" T("a", "F32", "[1.0]", "[0,4]") "}", 4, RF_EDATA, "a dimension is not a whole number");
    refused("{" T("a", "F32", "[1e300]", "[0,4]") "}", 4, RF_EDATA, "a dimension is not a whole number");
    refused("{" T("a", "F32", "[\"1\"]", "[0,4]") "}", 4, RF_EDATA, "a dimension is not a whole number");
    refused("{" T("a", "F32", "[9223372036854775808]", "[0,4]") "}", 4, RF_EDATA, "not valid JSON");
    refused("{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, RF_EDATA, "the rank is above 8 (9)");
    refused("{" T("a", "F4", "[3]", "[0,2]") "}", 2, RF_EDATA, "does not end at a byte");
    rf_weights_close(opens("{" T("a", "F32", "[1,1,1,1,1,1,1,1]", "[0,4]") "}", 4));
}

static void offsets(void **state)
{
    (void)state;
    refused("{" T("a", "F32", "[1]", "[4,0]") "}", 4, RF_EDATA, "run backwards");
    refused("{" T("a", "F32", "[1]", "[-4,0]") "}", 4, RF_EDATA, "data_offsets[0] is not a whole number");
    refused("{" T("a", "F32", "[1]", "[0,4.0]") "}", 4, RF_EDATA, "data_offsets[1] is not a whole number");
    refused("{" T("a", "F32", "[1]", "[0]") "}", 4, RF_EDATA, "not a pair");
    refused("{" T("a", "F32", "[2]", "[0,8]") "}", 4, RF_EDATA,
            "tensor \"a\": data_offsets: expected ... 4 bytes of data, got 8");
    refused("{" T("a", "F32", "[2]", "[0,4]") "}", 4, RF_EDATA,
            "tensor \"a\": data_offsets: expected 8 ... got 4");
    refused("{" T("a", "F32", "[1]", "[4,8]") "}", 8, RF_EDATA,
            "tensor \"a\": a gap before it: expected ... 0, got byte 4");
    refused("{" T("a", "F32", "[1]", "[0,4]") "}", 8, RF_EDATA, "after the last tensor, got 4 more");
    refused("{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[1]", "[4,8]") "}", 8, RF_EDATA,
            "\"b\": overlaps another");
    refused("{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", 4, RF_EDATA, "overlaps another");
    refused("{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[0]", "[4,4]") "}", 8, RF_EDATA,
            "\"b\": overlaps another");
    rf_weights_close(opens(
        "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[0]", "[4,4]") "," T("c", "F32", "[1]", "[4,8]") "}", 8));
    rf_weights_close(opens("{}", 0));
}

static void lists_and_finds(void **state)
{
    (void)state;
    rf_weights *w = opens("{\"__metadata__\":{\"format\":\"pt\"}," T("late", "I32", "[1,2]", "[5,13]") "," T(
                              "early", "I8", "[5]", "[0,5]") "," T("last", "I64", "[1]", "[13,21]") "}   ",
                          21);
    assert_int_equal(rf_weights_count(w), 3);
    assert_string_equal(rf_weights_at(w, 0)->name, "early");
    assert_string_equal(rf_weights_at(w, 1)->name, "late");
    assert_null(rf_weights_at(w, 3));
    assert_null(rf__weights_find(w, "absent"));
    assert_null(rf__weights_find(w, "__metadata__"));
    assert_string_equal(rf__weights_metadata(w, "format"), "pt");
    assert_null(rf__weights_metadata(w, "other"));

    const rf_weight *t = rf__weights_find(w, "late");
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[1], 2);
    assert_int_equal(t->count, 2);
    float x[5];
    static const struct { const char *name, *part; } whole[] = {
        {"late", "tensor \"late\": int32 weights: expected quantization_config, got none"},
        {"early", "tensor \"early\": int8 weights: expected quantization_config, got none"},
        {"last", "tensor \"last\": int64 weights: expected quantization_config, got none"},
    };
    for (size_t i = 0; i < RF_COUNT(whole); i++) {
        rf_error why = {0};
        assert_int_equal(rf__weights_read(w, rf__weights_find(w, whole[i].name), x, 1, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, whole[i].part);
    }
    rf__weights_forget(w, t);
    rf_weights_close(w);
}

/* Halves against base.h's conversions, for every one of the 65,536 values, at an odd address. */
static void halves(void **state)
{
    (void)state;
    const size_t n = 65536;
    const char *const header[] = {"{" T("pad", "I8", "[1]", "[0,1]") "," T("h", "BF16", "[65536]", "[1,131073]") "}",
                                  "{" T("pad", "I8", "[1]", "[0,1]") "," T("h", "F16", "[65536]", "[1,131073]") "}"};
    float *x = t_floats((int64_t)n);
    for (int kind = 0; kind < 2; kind++) {
        size_t size;
        unsigned char *f = file_of(header[kind], 1 + 2 * n, &size), *h = f + size - 2 * n;
        for (size_t i = 0; i < n; i++) {
            const uint16_t v = (uint16_t)i;
            memcpy(h + 2 * i, &v, 2);
        }
        rf_weights *w = NULL;
        assert_int_equal(rf__weights_from_memory(ctx, f, size, "f", &w, NULL), RF_OK);
        const rf_weight *t = rf__weights_find(w, "h");
        assert_int_equal(rf__weights_read(w, t, x, 0, NULL), RF_OK);
        for (size_t i = 0; i < n; i++) {
            const float expected = kind ? rf__from_f16((uint16_t)i) : rf__from_bf16((uint16_t)i);
            if (isnan(expected) ? !isnan(x[i]) : memcmp(&expected, &x[i], 4) != 0)
                fail_msg("half %zu: %g, expected %g", i, (double)x[i], (double)expected);
        }
        rf_error why = {0};
        rf__weights_read(w, t, x, 1, &why);
        t_failed(&why, RF_ENUMERIC, kind ? "element 31744 of 65536: " : "element 32640 of 65536: ");
        rf_weights_close(w);
    }
    t_free_all();
}

/* 65,536 tensors open and are found; one more is rejected, also as 100,000 entries. */
static char *crowd(size_t n)
{
    char *header = t_bytes(80 * n + 16), *at = header;
    *at++ = '{';
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s\"t%zu\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}", i ? "," : "", i, i,
                      i + 1);
    strcpy(at, "}");
    return header;
}

static void crowds(void **state)
{
    (void)state;
    rf_weights *w = opens(crowd(65536), 65536);
    assert_int_equal(rf_weights_count(w), 65536);
    for (int i = 0; i < 65536; i += 4369) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        assert_string_equal(rf__weights_find(w, name)->name, name);
    }
    rf_weights_close(w);
    refused(crowd(65537), 65537, RF_EDATA, "expected at most 65536 tensors, got 65537");
    refused(crowd(100000), 100000, RF_EDATA, "expected at most 65536 tensors, got 100000");
    char *values = t_bytes(2 * RF__MAX_VALUES + 100), expected[80];         /* two bytes for a value */
    char *at = values + sprintf(values, "{\"__metadata__\":[");
    for (int i = 0; i < RF__MAX_VALUES; i++, at += 2) memcpy(at, "0,", 2);
    strcpy(at, "0]}");
    snprintf(expected, sizeof expected, "expected at most %d JSON values, got %d", RF__MAX_VALUES, RF__MAX_VALUES + 3);
    refused(values, 0, RF_EDATA, expected);
    t_free_all();
}

/* ---- folders and shards ---- */

static const char *shard_a = "{" T("a", "F32", "[1]", "[0,4]") "}", *shard_b = "{" T("b", "F32", "[1]", "[0,4]") "}";

static void put_file(const char *folder, const char *name, const char *header, size_t data_size)
{
    size_t size;
    const unsigned char *f = file_of(header, data_size, &size);
    t_write(folder, name, f, size);
}

static void index_says(const char *map, rf_status code, const char *part)
{
    const char *folder = t_folder();
    char json[512];
    rf_weights *w = NULL;
    rf_error why = {0};
    put_file(folder, "x-1.safetensors", shard_a, 4);
    put_file(folder, "x-2.safetensors", shard_b, 4);
    put_file(folder, "x-3.safetensors", shard_b, 4);
    snprintf(json, sizeof json, "{\"metadata\":{\"total_size\":8},\"weight_map\":%s}", map);
    t_write(folder, "model.safetensors.index.json", json, strlen(json));
    const rf_status s = rf_weights_open(ctx, folder, &w, &why);
    if (code) {
        assert_int_equal(s, code);
        t_failed(&why, code, part);
        assert_null(w);
        return;
    }
    if (s) fail_msg("%s", why.text);
    assert_int_equal(rf_weights_count(w), 2);
    assert_non_null(rf__weights_find(w, "a"));
    assert_non_null(rf__weights_find(w, "b"));
    rf__weights_forget(w, rf__weights_find(w, "b"));
    rf_weights_close(w);
}

static void shards(void **state)
{
    (void)state;
    index_says("{\"a\":\"x-1.safetensors\",\"b\":\"x-2.safetensors\"}", RF_OK, "");
    index_says("{\"a\":\"x-1.safetensors\",\"b\":\"x-1.safetensors\"}", RF_EDATA, "\"b\": expected it in x-1");
    index_says("{\"a\":\"x-1.safetensors\",\"b\":\"x-2.safetensors\",\"c\":\"x-3.safetensors\"}", RF_EDATA,
               "\"b\": expected it in one shard");
    index_says("{\"a\":\"x-1.safetensors\",\"b\":\"gone.safetensors\"}", RF_EDATA, "the shard gone.safetensors");
    index_says("{\"a\":\"../x-1.safetensors\"}", RF_EDATA, "without a folder, got \"../x-1.safetensors\"");
    index_says("{\"a\":\"/etc/passwd\"}", RF_EDATA, "without a folder");
    index_says("{\"a\":\"..\"}", RF_EDATA, "without a folder");
    index_says("{\"a\":\"\"}", RF_EDATA, "without a folder");
    index_says("{\"a\":7}", RF_EDATA, "expected a file name without a folder, got \"(not a string)\"");
    index_says("[]", RF_EDATA, "weight_map: expected an object");
    index_says("{\"a\":\"model.safetensors.index.json\"}", RF_EDATA, "header length");
    t_free_all();
}

static void files(void **state)
{
    (void)state;
    const char *folder = t_folder();
    char path[512];
    rf_weights *w = NULL;
    rf_error why = {0};
    assert_int_equal(rf_weights_open(ctx, folder, &w, &why), RF_EIO);
    t_failed(&why, RF_EIO, "expected weights (model.safetensors, model.safetensors.index.json");
    put_file(folder, "model.safetensors", shard_a, 4);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(rf_weights_open(ctx, folder, &w, NULL), RF_OK);
    rf_weights_close(w);
    assert_int_equal(rf_weights_open(ctx, path, &w, NULL), RF_OK);
    rf_weights_close(w);
    why = (rf_error){0};
    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(rf_weights_open(ctx, path, &w, &why), RF_EDATA);
    why = (rf_error){0};
    assert_int_equal(rf_weights_open(ctx, "/nowhere/model.safetensors", &w, &why), RF_EIO);
    t_failed(&why, RF_EIO, "/nowhere/model.safetensors: cannot open");
    why = (rf_error){0};
    assert_true(!unlink(path) && !mkfifo(path, 0666));                  /* nobody writes it: not to be waited for */
    assert_int_equal(rf_weights_open(ctx, path, &w, &why), RF_EIO);
    t_failed(&why, RF_EIO, "expected a file, got a pipe, a socket or a device");
    t_free_all();
}

/* Folders written by transformers: all of them open, and have as many numbers as their configuration requires. */
static void of_others(void **state)
{
    (void)state;
    static const char *const names[] = {"plain",  "projected", "one_head", "rotary_value", "long",
                                        "beyond", "bf16",      "f16",      "untied",       "sharded"};
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        char folder[256];
        rf_config c;
        rf_weights *w = NULL;
        rf_error why = {0};
        snprintf(folder, sizeof folder, "tests/golden/models/%s", names[i]);
        if (rf_config_read(ctx, folder, &c, &why) || rf_weights_open(ctx, folder, &w, &why)) fail_msg("%s", why.text);
        size_t total = 0;
        for (size_t t = 0; t < rf_weights_count(w); t++)
            if (!strstr(rf_weights_at(w, t)->name, "embed_positions")) total += rf_weights_at(w, t)->count;
        assert_int_equal(total, rf_config_parameters(&c));
        const rf_weight *t = rf__weights_find(w, "roformer.embeddings.word_embeddings.weight");
        assert_int_equal(t->dim[0], c.vocab_size);
        assert_int_equal(t->dim[1], c.embedding_size);
        float *x = t_floats((int64_t)t->count);
        if (rf__weights_read(w, t, x, 1, &why)) fail_msg("%s", why.text);
        rf_weights_close(w);
    }
    t_free_all();
}

/* The n-th allocation fails: an error, and nothing leaks. */
typedef struct bytes { const unsigned char *at; size_t size; } bytes;

static rf_status read_weights(const rf_ctx *c, void *arg, rf_error *why)
{
    const bytes *f = arg;
    rf_weights *w = NULL;
    const rf_status status = rf__weights_from_memory(c, f->at, f->size, "f", &w, why);
    rf_weights_close(w);
    return status;
}

static void allocations_fail(void **state)
{
    (void)state;
    bytes f;
    f.at = file_of(shard_a, 4, &f.size);
    assert_int_equal(t_fail_allocations(1, NULL, read_weights, &f), 0);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),  cmocka_unit_test(headers),          cmocka_unit_test(shapes),
        cmocka_unit_test(offsets),  cmocka_unit_test(lists_and_finds),  cmocka_unit_test(halves),
        cmocka_unit_test(crowds),   cmocka_unit_test(shards),           cmocka_unit_test(files),
        cmocka_unit_test(of_others), cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests_name("store/weights", tests, setup, teardown);
}
