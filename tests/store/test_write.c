/* test_write.c — mirrors src/store/weights/write.c: written files are read back; a failure keeps the old file. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "roformer/checkpoint.h"
#include "one_context.h"
#include "store/store.h"

static const char *target(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/model.safetensors", t_folder());
    return path;
}

static char *slurp(const char *path, size_t *size)
{
    char *data;
    rf_error why = {0};
    if (rf__read_file(ctx, path, (size_t)1 << 30, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

/* The format as specified, byte for byte: keys and data ordered by width and name, header padded with spaces. */
static void bytes(void **state)
{
    (void)state;
    const float one[] = {1}, two[] = {2, -2};
    const rf_weight_out t[] = {{"b", RF_BF16, 1, {1}, one}, {"z", RF_F32, 2, {1, 2}, two}, {"a", RF_F16, 0, {0}, one}};
    const char *path = target();
    assert_int_equal(rf__weights_write(ctx, path, t, 3, NULL, NULL), RF_OK);
    size_t size;
    char *f = slurp(path, &size);
    const char *expected = "{\"__metadata__\":{\"format\":\"pt\"},\"z\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_"
                           "offsets\":[0,8]},\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]},\"b\":{"
                           "\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[10,12]}}";
    const size_t n = strlen(expected), padded = (n + 7) / 8 * 8;
    assert_int_equal(size, 8 + padded + 12);
    assert_int_equal((unsigned char)f[0], padded & 255);
    assert_int_equal((unsigned char)f[1], padded >> 8);
    assert_memory_equal(f + 8, expected, n);
    for (size_t i = n; i < padded; i++) assert_int_equal(f[8 + i], ' ');
    assert_memory_equal(f + 8 + padded, "\0\0\0\x40\0\0\0\xc0\x00\x3c\x80\x3f", 12);
    rf__free(ctx, f);
}

static void round_trip(void **state)
{
    (void)state;
    enum { N = 100003 };                                           /* several conversion runs and a rest */
    float *x = t_normal(N), *y = t_floats(N);
    const char *const metadata[] = {"step", "17", "note", "\xc3\xa9\"\n", NULL};
    const rf_weight_out t[] = {{"f32", RF_F32, 1, {N}, x}, {"bf16", RF_BF16, 1, {N}, x}, {"f16", RF_F16, 1, {N}, x},
                               {"none", RF_F32, 2, {0, 7}, NULL}};
    const char *path = target();
    rf_error why = {0};
    if (rf__weights_write(ctx, path, t, 4, metadata, &why)) fail_msg("%s", why.text);
    rf_weights *w = NULL;
    if (rf_weights_open(ctx, path, &w, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_weights_count(w), 4);
    assert_string_equal(rf__weights_metadata(w, "step"), "17");
    assert_string_equal(rf__weights_metadata(w, "note"), "\xc3\xa9\"\n");
    assert_string_equal(rf__weights_metadata(w, "format"), "pt");
    assert_int_equal(rf__weights_read(w, rf__weights_find(w, "f32"), y, 1, NULL), RF_OK);
    assert_memory_equal(x, y, N * sizeof *x);
    assert_int_equal(rf__weights_read(w, rf__weights_find(w, "bf16"), y, 1, NULL), RF_OK);
    t_close(y, x, N, 0, 1.0 / 256);                               /* 8 bits of mantissa: half an ulp is 2^-9 ... 2^-8 */
    assert_int_equal(rf__weights_read(w, rf__weights_find(w, "f16"), y, 1, NULL), RF_OK);
    t_close(y, x, N, 1.0 / (1 << 24), 1.0 / 2048);                 /* 11 bits; below 2^-14 the spacing is 2^-24 */
    assert_int_equal(rf__weights_find(w, "none")->count, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal((uintptr_t)rf_weights_at(w, i)->data % (rf_weights_at(w, i)->type == RF_F32 ? 4 : 2), 0);
    rf_weights_close(w);

    /* The file does not depend on the order in which tensors are given. */
    size_t n1, n2;
    char *first = slurp(path, &n1);
    const rf_weight_out transposed[] = {t[2], t[3], t[0], t[1]};
    assert_int_equal(rf__weights_write(ctx, path, transposed, 4, metadata, NULL), RF_OK);
    char *second = slurp(path, &n2);
    assert_int_equal(n1, n2);
    assert_memory_equal(first, second, n1);
    rf__free(ctx, first);
    rf__free(ctx, second);
    t_free_all();
}

static void refused(const rf_weight_out *t, size_t n, rf_status code, const char *part)
{
    const char *path = target();
    rf_error why = {0};
    assert_int_equal(rf__weights_write(ctx, path, t, n, NULL, &why), code);
    t_failed(&why, code, part);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void arguments(void **state)
{
    (void)state;
    const float x[] = {1, INFINITY}, nan[] = {NAN}, large[] = {70000}, larger[] = {3.4e38f};
    refused((rf_weight_out[]){{"a", RF_F32, 1, {1}, x}, {"a", RF_F16, 1, {1}, x}}, 2, RF_EARG, "\"a\" is given twice");
    refused((rf_weight_out[]){{"", RF_F32, 1, {1}, x}}, 1, RF_EARG, "empty or reserved");
    refused((rf_weight_out[]){{NULL, RF_F32, 1, {1}, x}}, 1, RF_EARG, "has no name");
    refused((rf_weight_out[]){{"__metadata__", RF_F32, 1, {1}, x}}, 1, RF_EARG, "empty or reserved");
    refused((rf_weight_out[]){{"\xff", RF_F32, 1, {1}, x}}, 1, RF_EARG, "not UTF-8");
    refused((rf_weight_out[]){{"a", RF_I32, 1, {1}, x}}, 1, RF_EARG, "type: expected F32, BF16, F16 or I8");
    refused((rf_weight_out[]){{"a", RF_F32, 5, {1}, x}}, 1, RF_EARG, "rank: expected 0 to 4, got 5");
    refused((rf_weight_out[]){{"a", RF_F32, 1, {-1}, x}}, 1, RF_EARG, "dimension 0 is -1");
    refused((rf_weight_out[]){{"a", RF_F32, 3, {4194305, 4194305, 211106198978564}, x}}, 1, RF_EARG, "dimension 2 is");
    refused((rf_weight_out[]){{"a", RF_F32, 1, {1}, NULL}}, 1, RF_EARG, "no data");
    refused((rf_weight_out[]){{"a", RF_F32, 1, {2}, x}}, 1, RF_ENUMERIC, "elements 0..1 is not finite");
    refused((rf_weight_out[]){{"a", RF_BF16, 1, {1}, nan}}, 1, RF_ENUMERIC, "is not finite");
    refused((rf_weight_out[]){{"a", RF_F16, 1, {1}, large}}, 1, RF_ENUMERIC, "too large for F16");
    refused((rf_weight_out[]){{"a", RF_BF16, 1, {1}, larger}}, 1, RF_ENUMERIC, "too large for BF16");
}

/* A file size limit simulates a full disk: at any byte the old file is kept, and no temporary file remains. */
static void disk_full(void **state)
{
    (void)state;
    const char *folder = t_folder();
    char path[512];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    float *x = t_normal(50000);
    const rf_weight_out small = {"old", RF_F32, 1, {3}, x}, big = {"new", RF_BF16, 1, {50000}, x};
    assert_int_equal(rf__weights_write(ctx, path, &small, 1, NULL, NULL), RF_OK);
    size_t n1, n2;
    char *old = slurp(path, &n1);

    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {0, 5, 8, 20, 100, 40000, 100000};
    for (size_t i = 0; i < RF_COUNT(limits); i++) {
        rf_error why = {0};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limits[i], before.rlim_max}), 0);
        const rf_status s = rf__weights_write(ctx, path, &big, 1, NULL, &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(s, RF_EIO);
        t_failed(&why, RF_EIO, "cannot write");
    }
    signal(SIGXFSZ, handler);

    char *now = slurp(path, &n2);
    assert_int_equal(n1, n2);
    assert_memory_equal(old, now, n1);
    rf__free(ctx, old);
    rf__free(ctx, now);
    int entries = 0;
    DIR *d = opendir(folder);
    while (readdir(d)) entries++;
    closedir(d);
    assert_int_equal(entries, 3);                                  /* ".", "..", the old file */
    rf_error why = {0};
    assert_int_equal(rf__weights_write(ctx, "/nowhere/a.safetensors", &small, 1, NULL, &why), RF_EIO);
    t_failed(&why, RF_EIO, "cannot create");
    t_free_all();
}

/* ---- two threads, one path ---- */

typedef struct writer { rf_ctx *ctx; const char *path; float value[64]; rf_error why; } writer;

static void *write_often(void *arg)
{
    writer *w = arg;
    const rf_weight_out t = {.name = "w", .type = RF_F32, .rank = 1, .dim = {64}, .data = w->value};
    for (int i = 0; i < 40 && !w->why.code; i++) rf__weights_write(w->ctx, w->path, &t, 1, NULL, &w->why);
    return NULL;
}

/* Each save succeeds, and the result is one of them as a whole. */
static void two_threads_save_the_same_path(void **state)
{
    (void)state;
    writer w[2] = {0};
    pthread_t thread[2];
    const char *path = target();
    for (int i = 0; i < 2; i++) {
        w[i].ctx = t_ctx(1, NULL);
        w[i].path = path;
        for (int k = 0; k < 64; k++) w[i].value[k] = (float)i;
        assert_int_equal(pthread_create(&thread[i], NULL, write_often, &w[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++)
        if (w[i].why.code) fail_msg("%s", w[i].why.text);
    size_t size;
    char *bytes = slurp(path, &size);
    for (size_t k = 4; k < sizeof w->value; k += 4)
        assert_memory_equal(bytes + size - sizeof w->value, bytes + size - sizeof w->value + k, 4);
    rf__free(ctx, bytes);
    for (int i = 0; i < 2; i++) rf_ctx_free(w[i].ctx);
}

static rf_status write_one(const rf_ctx *c, void *path, rf_error *why)
{
    const float x[] = {1};
    const rf_weight_out t = {"a", RF_BF16, 1, {1}, x};
    unlink(path);
    const rf_status status = rf__weights_write(c, path, &t, 1, NULL, why);
    assert_int_equal(access(path, F_OK) == 0, !status);
    return status;
}

static void allocations_fail(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", target());
    assert_int_equal(t_fail_allocations(1, NULL, write_one, path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes),     cmocka_unit_test(round_trip),       cmocka_unit_test(arguments),
        cmocka_unit_test(disk_full), cmocka_unit_test(allocations_fail),
        cmocka_unit_test(two_threads_save_the_same_path),
    };
    return cmocka_run_group_tests_name("store/write", tests, setup, teardown);
}
