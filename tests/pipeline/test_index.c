/* test_index.c — mirrors src/pipeline/index.c, src/pipeline/index_file.c and src/pipeline/search.c: search results
 * equal those of comparing all vectors in double, to the bit and for ties; damaged, truncated and foreign files are
 * rejected; failing allocations. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roformer/inspect/folder.h"
#include "roformer/index.h"
#include "t.h"

enum { TEXT = 32 };

/* n vectors of length 1, and texts with their numbers. */
typedef struct made { int64_t n, D; float *v; const char **text; char *bytes; } made;

static made make(int64_t n, int64_t D, const float *v)
{
    made m = {n, D, t_floats(n * D), t_bytes((size_t)n * sizeof(char *)), t_bytes((size_t)n * TEXT)};
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t c = 0; c < D; c++) square += (double)v[i * D + c] * (double)v[i * D + c];
        for (int64_t c = 0; c < D; c++) m.v[i * D + c] = (float)((double)v[i * D + c] / sqrt(square));
        snprintf(m.bytes + i * TEXT, TEXT, "text %lld", (long long)i);
        m.text[i] = m.bytes + i * TEXT;
    }
    return m;
}

static const char *place(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%.4000s/%s", t_folder(), name);
    return path;
}

static rf_status write_index(const rf_ctx *ctx, const char *folder, const made *m, int64_t at_once, rf_error *why)
{
    rf_index_options o;
    rf_index_writer *w;
    rf_index_defaults(&o);
    o.dimensions = m->D;
    o.fingerprint = 0x123456789abcdef0u;
    o.prompt = "query: ";
    rf_status status = rf_index_create(ctx, folder, &o, &w, why);
    if (status) return status;
    for (int64_t from = 0; from < m->n && !status; from += at_once)
        status = rf_index_add(w, m->v + from * m->D, m->text + from, NULL, rf__min64(at_once, m->n - from), NULL, why);
    if (!status) return rf_index_finish(w, why);
    rf_index_discard(w);
    return status;
}

static rf_index *opened(const rf_ctx *ctx, const char *folder, const made *m)
{
    rf_error why = {0};
    rf_index *x;
    if (write_index(ctx, folder, m, 97, &why) || rf_index_open(ctx, folder, &x, &why)) fail_msg("%s", why.text);
    return x;
}

static int by_score(const void *a, const void *b)
{
    const rf_hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* All products in double, sorted. */
static rf_hit *brute_force(const made *m, const float *q)
{
    rf_hit *all = t_bytes((size_t)m->n * sizeof *all);
    for (int64_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < m->D; c++) sum += (double)q[c] * (double)m->v[i * m->D + c];
        all[i] = (rf_hit){i, sum};
    }
    qsort(all, (size_t)m->n, sizeof *all, by_score);
    return all;
}

static void must_find(rf_index *x, const made *m, const float *q, int64_t top)
{
    rf_error why = {0};
    const rf_hit *hit;
    int64_t hits;
    if (rf_index_search(x, q, top, &hit, &hits, &why)) fail_msg("%s", why.text);
    assert_int_equal(hits, rf__min64(top, m->n));
    const rf_hit *all = brute_force(m, q);
    for (int64_t i = 0; i < hits; i++)
        if (hit[i].row != all[i].row || hit[i].score != all[i].score)
            fail_msg("%lld of %lld texts, hit %lld: text %lld with %.17g, expected %lld with %.17g", (long long)top,
                     (long long)m->n, (long long)i, (long long)hit[i].row, hit[i].score, (long long)all[i].row,
                     all[i].score);
}

static void what_comparing_all_finds(void **state)
{
    (void)state;
    static const int64_t width[] = {1, 2, 3, 7, 16, 31, 33, 64, 100, 256, 384, 770};
    for (size_t d = 0; d < RF_COUNT(width); d++)
        for (int threads = 1; threads < 4; threads += 2) {
            const int64_t D = width[d], n = D > 200 ? 3000 : 5000;
            rf_ctx *ctx = t_ctx(threads, threads == 1 && d % 2 ? "ref" : NULL);
            const made m = make(n, D, t_normal(n * D));
            rf_index *x = opened(ctx, place("index"), &m);
            assert_int_equal(rf_index_count(x), n);
            for (int64_t top = 1; top < 2 * n; top = top * 13 + 1) {
                must_find(x, &m, t_normal(D), top);
                must_find(x, &m, m.v + (top % n) * D, top);
            }
            rf_index_close(x);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

/* Vectors so similar that int8 cannot distinguish them, with one large component, which makes its steps coarse. */
static void crowds_are_told_apart(void **state)
{
    (void)state;
    enum { N = 4000, D = 96 };
    for (int outlier = 0; outlier < 2; outlier++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        float *v = t_normal((int64_t)N * D), *center = t_normal(D);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < D; c++)
                v[i * D + c] = (outlier && c == 5 ? 40.0f : center[c]) + 1e-4f * (float)(1 + i % 3) * v[i * D + c];
        const made m = make(N, D, v);
        rf_index *x = opened(ctx, place("index"), &m);
        for (int k = 0; k < 5; k++) {
            must_find(x, &m, m.v + 100 * k * D, 20);
            must_find(x, &m, t_normal(D), 20);
        }
        rf_index_close(x);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

static void equal_vectors_come_in_their_order(void **state)
{
    (void)state;
    enum { N = 3000, D = 40 };
    rf_ctx *ctx = t_ctx(2, NULL);
    float *v = t_normal((int64_t)N * D);
    for (int i = 50; i < N; i++) memcpy(v + i * D, v + (i % 50) * D, D * sizeof *v);
    const made m = make(N, D, v);
    rf_index *x = opened(ctx, place("index"), &m);
    const rf_hit *hit;
    int64_t hits;
    rf_error why = {0};
    assert_int_equal(rf_index_search(x, m.v + 7 * D, 60, &hit, &hits, &why), RF_OK);
    for (int i = 0; i < 60; i++) assert_int_equal(hit[i].row, 7 + 50 * i);
    must_find(x, &m, t_normal(D), 200);
    rf_index_close(x);
    rf_ctx_free(ctx);
    t_free_all();
}

static void texts_come_back(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    const char *folder = place("index/");
    const float v[] = {3, 0, 0, 0, 1e-20f, 0, 0, 0};
    const char *text[] = {"one", " \t", "", "f\xc3\xbcnf"};
    const size_t bytes[] = {RF_STRING, 2, 0, 5};
    const float rows[] = {v[0], v[1], NAN, 0, v[2], v[3], v[5], v[4]};
    rf_index_options o;
    rf_index_writer *w;
    rf_index *x;
    rf_index_defaults(&o);
    o.dimensions = 2;
    o.max_length = 77;
    o.pooling = RF_POOL_MAX;
    if (rf_index_create(ctx, folder, &o, &w, &why) || rf_index_add(w, rows, text, bytes, 4, NULL, &why) ||
        rf_index_finish(w, &why) || rf_index_open(ctx, folder, &x, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < 4; i++) {
        size_t size;
        const char *t = rf_index_text(x, i, &size);
        assert_int_equal(size, i ? bytes[i] : 3);
        assert_memory_equal(t, text[i], size);
    }
    assert_null(rf_index_text(x, 4, &(size_t){0}));
    assert_null(rf_index_text(x, -1, &(size_t){0}));
    const rf_index_options *made_with = rf_index_made_with(x);
    assert_int_equal(made_with->dimensions, 2);
    assert_int_equal(made_with->max_length, 77);
    assert_int_equal(made_with->pooling, RF_POOL_MAX);
    assert_null(made_with->prompt);
    const rf_hit *hit;
    int64_t hits;
    const float q[] = {0.6f, 0.8f};
    assert_int_equal(rf_index_search(x, q, 10, &hit, &hits, &why), RF_OK);
    assert_int_equal(hits, 2);                          /* texts of white space are never found */
    assert_int_equal(hit[0].row, 3);                    /* length 1e-20: its direction counts                    */
    t_near(hit[0].score, 0.8, 1e-7);
    t_near(hit[1].score, 0.6, 1e-7);
    assert_int_equal(rf_checksums_verify(ctx, folder, rf_checksums_found(folder), NULL, NULL, &why), RF_OK);
    rf_index_close(x);
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- the files, read as their formats are printed ---- */

static unsigned char *contents(const char *folder, const char *name, size_t *size)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = t_bytes(*size + 1);
    assert_int_equal(fread(data, 1, *size, f), *size);
    data[*size] = 0;
    fclose(f);
    return data;
}

static void the_files_are_what_formats_says(void **state)
{
    (void)state;
    enum { N = 300, D = 48 };
    rf_ctx *ctx = t_ctx(1, NULL);
    const made m = make(N, D, t_normal(N * D));
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", place("index"));
    rf_index_close(opened(ctx, folder, &m));
    size_t size;
    const unsigned char *code = contents(folder, "codes.npy", &size);
    assert_int_equal(size, 128 + N * D);
    assert_memory_equal(code, "\x93NUMPY\x01\0\x76\0", 10);
    assert_memory_equal(code + 10, "{'descr': '|i1', 'fortran_order': False, 'shape': (300, 48), }  ", 64);
    assert_int_equal(code[127], '\n');
    const unsigned char *vectors = contents(folder, "vectors.faiss", &size);
    int32_t width;
    int64_t count;
    uint64_t numbers;
    assert_int_equal(size, 45 + 4 * N * D);
    assert_memory_equal(vectors, "IxFI", 4);
    memcpy(&width, vectors + 4, 4), memcpy(&count, vectors + 8, 8), memcpy(&numbers, vectors + 37, 8);
    assert_true(width == D && count == N && numbers == N * D && vectors[32] == 1);
    assert_memory_equal(vectors + 45, m.v, 4 * N * D);
    const unsigned char *scales = contents(folder, "scales.npy", &size);
    for (int i = 0; i < N; i++) {
        float s[2];
        double square = 0;
        memcpy(s, scales + 128 + 8 * i, sizeof s);
        for (int c = 0; c < D; c++) {
            const double lost = (double)m.v[i * D + c] - (double)s[0] * (double)(int8_t)code[128 + i * D + c];
            if (fabs(lost) > 0.5000001 * (double)s[0]) fail_msg("row %d: a code is not the nearest", i);
            square += lost * lost;
        }
        assert_true((double)s[1] >= sqrt(square) && (double)s[1] < sqrt(square) * 1.000001 + 1e-30);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- what is refused ---- */

/* Like t_failed, and clears the failure. */
static void refused(rf_error *why, rf_status code, const char *part)
{
    t_failed(why, code, part);
    *why = (rf_error){0};
}

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void vectors_without_a_direction(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    rf_index_options o;
    rf_index_writer *w;
    char above[4096];
    snprintf(above, sizeof above, "%s", t_folder());
    char folder[4200];
    snprintf(folder, sizeof folder, "%s/index", above);
    const char *text[] = {"a", "b", "c"};
    const float zero[] = {1, 0, 0, 0, 1, 1}, nan[] = {1, 0, 0, 1, NAN, 1}, fine[] = {1, 0, 0, 1, 1, 1};
    int64_t bad;
    rf_index_defaults(&o);
    o.dimensions = 2;
    assert_int_equal(rf_index_create(ctx, folder, &o, &w, &why), RF_OK);
    rf_index_add(w, zero, text, NULL, 3, &bad, &why);
    refused(&why, RF_ENUMERIC, "vector is zero; cosine similarity is undefined");
    assert_int_equal(bad, 1);
    rf_index_add(w, nan, text, NULL, 3, &bad, &why);
    refused(&why, RF_ENUMERIC, "NaN or infinity");
    assert_int_equal(bad, 2);
    text[1] = "b\nb";
    rf_index_add(w, fine, text, NULL, 3, &bad, &why);
    refused(&why, RF_EDATA, "line feed");
    assert_int_equal(bad, 1);
    rf_index_finish(w, &why);                                   /* nothing of these calls is in it */
    refused(&why, RF_EDATA, "expected at least one text");
    assert_int_equal(entries(above), 0);
    t_write(above, "index", "x", 1);
    rf_index_create(ctx, folder, &o, &w, &why);
    refused(&why, RF_EARG, "exists");
    o.dimensions = 0;
    rf_index_create(ctx, "elsewhere", &o, &w, &why);
    refused(&why, RF_EARG, "dimensions: expected 1 to 65536, got 0");
    rf_index_add(NULL, NULL, NULL, NULL, 0, NULL, &why);
    refused(&why, RF_EARG, "rf_index_add");
    rf_ctx_free(ctx);
    t_free_all();
}

static void queries_that_have_no_answer(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    const made m = make(9, 4, t_normal(36));
    rf_index *x = opened(ctx, place("index"), &m);
    const rf_hit *hit;
    int64_t hits;
    const float zero[4] = {0}, infinite[4] = {1, INFINITY, 0, 0}, tiny[4] = {1e-18f, -1e-18f, 0, 0};
    rf_index_search(x, zero, 1, &hit, &hits, &why);
    refused(&why, RF_ENUMERIC, "vector is zero; cosine similarity is undefined");
    rf_index_search(x, infinite, 1, &hit, &hits, &why);
    refused(&why, RF_ENUMERIC, "NaN or infinity");
    rf_index_search(x, tiny, 0, &hit, &hits, &why);
    refused(&why, RF_EARG, "top: expected 1 or more, got 0");
    must_find(x, &m, tiny, 3);
    rf_index_close(x);
    rf_ctx_free(ctx);
    t_free_all();
}

static void replace(const char *folder, const char *name, size_t at, char byte, size_t keep)
{
    size_t size;
    unsigned char *data = contents(folder, name, &size);
    if (at < size) data[at] = (unsigned char)byte;
    t_write(folder, name, data, keep < size ? keep : size);
}

static void an_index_that_is_damaged_or_cut_short(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        size_t at;
        char byte;
        size_t keep;
        rf_status status;
        const char *says;
    } all[] = {
        {"codes.npy", SIZE_MAX, 0, 200, RF_EDATA, "texts, got 200"},
        {"scales.npy", SIZE_MAX, 0, 0, RF_EDATA, "texts, got 0"},
        {"vectors.faiss", SIZE_MAX, 0, 1000, RF_EDATA, "texts, got 1000"},
        {"offsets.npy", SIZE_MAX, 0, 136, RF_EDATA, "texts, got 136"},
        {"lines.txt", SIZE_MAX, 0, 20, RF_EDATA, "bytes, got 20"},
        {"vectors.faiss", 3, '2', SIZE_MAX, RF_EDATA, "vectors.faiss: expected the header"},
        {"codes.npy", 22, '2', SIZE_MAX, RF_EDATA, "codes.npy: expected the header"},
        {"offsets.npy", 144, '\x7f', SIZE_MAX, RF_EDATA, "offsets.npy: expected offsets that rise"},
        {"index.json", 29, '9', SIZE_MAX, RF_EUNSUPPORTED, "format: expected roformer-index-1, got roformer-index-9"},
        {"index.json", 14, 'x', SIZE_MAX, RF_EDATA, "expected an index"},
        {"index.json", 0, ' ', SIZE_MAX, RF_EDATA, "index.json"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    const made m = make(40, 8, t_normal(320));
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        rf_error why = {0};
        rf_index *x = NULL;
        char folder[4200];
        snprintf(folder, sizeof folder, "%s", place("index"));
        rf_index_close(opened(ctx, folder, &m));
        replace(folder, all[i].file, all[i].at, all[i].byte, all[i].keep);
        rf_index_open(ctx, folder, &x, &why);
        if (!strstr(why.text, all[i].file)) fail_msg("%s: %s", all[i].file, why.text);
        refused(&why, all[i].status, all[i].says);
        assert_null(x);
    }
    rf_error why = {0};
    rf_index *x;
    rf_index_open(ctx, "no-such-index", &x, &why);
    refused(&why, RF_EIO, "no-such-index");
    rf_ctx_free(ctx);
    t_free_all();
}

/* A vector that became infinite after the checks is not ranked. */
static void a_vector_that_is_not_finite(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    rf_index *x;
    const rf_hit *hit;
    int64_t hits;
    const made m = make(40, 8, t_normal(320));
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", place("index"));
    rf_index_close(opened(ctx, folder, &m));
    replace(folder, "vectors.faiss", 45 + 4 * 8 * 3 + 2, '\x80', SIZE_MAX);
    replace(folder, "vectors.faiss", 45 + 4 * 8 * 3 + 3, '\x7f', SIZE_MAX);
    assert_int_equal(rf_index_open(ctx, folder, &x, &why), RF_OK);
    rf_index_search(x, m.v + 3 * 8, 40, &hit, &hits, &why);
    refused(&why, RF_EDATA, "index/vectors.faiss: vector 4: expected finite numbers");
    rf_index_close(x);
    replace(folder, "vectors.faiss", 45 + 4 * 8 * 3 + 3, '\x43', SIZE_MAX);         /* 256 and more */
    assert_int_equal(rf_index_open(ctx, folder, &x, &why), RF_OK);
    why = (rf_error){0};
    rf_index_search(x, m.v + 3 * 8, 40, &hit, &hits, &why);
    refused(&why, RF_EDATA, "vector 4: expected length 1, got");
    rf_index_close(x);
    rf_ctx_free(ctx);
    t_free_all();
}

/* A full disk: the message has the whole path of the file that could not be written, and nothing is left. */
static void a_full_disk(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const made m = make(400, 8, t_normal(3200));                /* 12,845 bytes of vectors */
    static const struct { rlim_t bytes; const char *file; } cases[] = {
        {0, "codes.npy"}, {127, "codes.npy"}, {130, "offsets.npy"}, {140, "vectors.faiss"}, {12844, "vectors.faiss"}};
    struct rlimit before;
    char folder[4200], part[4300], above[4096];
    snprintf(above, sizeof above, "%s", t_folder());
    snprintf(folder, sizeof folder, "%s/index", above);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why = {0};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){cases[i].bytes, before.rlim_max}), 0);
        write_index(ctx, folder, &m, 400, &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        snprintf(part, sizeof part, "%s/%s: cannot write: File too large", folder, cases[i].file);
        refused(&why, RF_EIO, part);
        assert_int_equal(entries(above), 0);
    }
    signal(SIGXFSZ, handler);
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- memory ---- */

typedef struct round_trip { const made *m; const char *folder; } round_trip;

static void remove_index(const char *folder)
{
    static const char *const file[] = {"codes.npy", "scales.npy", "vectors.faiss", "offsets.npy", "lines.txt",
                                       "index.json", "checksums.json"};
    char path[4300];
    for (size_t i = 0; i < RF_COUNT(file); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file[i]);
        unlink(path);
    }
    rmdir(folder);
}

static rf_status go_round(const rf_ctx *ctx, void *arg, rf_error *why)
{
    const round_trip *r = arg;
    rf_index *x = NULL;
    const rf_hit *hit;
    int64_t hits;
    remove_index(r->folder);
    rf_status status = write_index(ctx, r->folder, r->m, 20, why);
    if (!status) status = rf_index_open(ctx, r->folder, &x, why);
    if (!status) status = rf_index_search(x, r->m->v, 5, &hit, &hits, why);
    rf_index_close(x);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    char folder[4200], above[4096];
    snprintf(above, sizeof above, "%s", t_folder());
    snprintf(folder, sizeof folder, "%s/index", above);
    const made m = make(40, 8, t_normal(320));
    round_trip r = {&m, folder};
    t_fail_allocations(1, NULL, go_round, &r);
    assert_int_equal(entries(above), 1);                        /* the last one; the failed ones leave nothing */
    t_free_all();
}

static void memory_stays_the_same(void **state)
{
    (void)state;
    size_t peak[2];
    for (int k = 0; k < 2; k++) {
        t_memory memory = {0};
        rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
        rf_error why = {0};
        rf_index_options o;
        rf_index_writer *w;
        const made m = make(100, 8, t_normal(800));
        rf_index_defaults(&o);
        o.dimensions = 8;
        if (rf_index_create(ctx, place("index"), &o, &w, &why)) fail_msg("%s", why.text);
        for (int i = 0; i < (k ? 200 : 2); i++)
            if (rf_index_add(w, m.v, m.text, NULL, 100, NULL, &why)) fail_msg("%s", why.text);
        peak[k] = memory.peak;
        if (rf_index_finish(w, &why)) fail_msg("%s", why.text);
        rf_ctx_free(ctx);
        t_free_all();
    }
    assert_int_equal(peak[0], peak[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comparing_all_finds),
        cmocka_unit_test(crowds_are_told_apart),
        cmocka_unit_test(equal_vectors_come_in_their_order),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(the_files_are_what_formats_says),
        cmocka_unit_test(vectors_without_a_direction),
        cmocka_unit_test(queries_that_have_no_answer),
        cmocka_unit_test(an_index_that_is_damaged_or_cut_short),
        cmocka_unit_test(a_vector_that_is_not_finite),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(memory_that_ends),
        cmocka_unit_test(memory_stays_the_same),
    };
    return cmocka_run_group_tests_name("pipeline/index", tests, NULL, NULL);
}
