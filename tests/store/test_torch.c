/* test_torch.c — mirrors torch.c, torch_zip.c and pickle.c: files of torch.save have the
 * bits of the same weights in safetensors; files that it cannot have written are rejected by name. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "roformer/model.h"
#include "store/store.h"
#include "one_context.h"

/* ---- files of torch ---- */

static rf_weights *opened(const char *folder)
{
    rf_weights *w = NULL;
    rf_error why = {0};
    if (rf_weights_open(ctx, folder, &w, &why)) fail_msg("%s: %s", folder, why.text);
    return w;
}

/* The tensor of a name in files older than transformers. */
static const rf_weight *find(const rf_weights *w, const char *name)
{
    char old[160];
    const rf_weight *t = rf__weights_find(w, name);
    const char *norm = strstr(name, "LayerNorm.");
    if (t || !norm) return t;
    snprintf(old, sizeof old, "%.*s%s", (int)(norm - name) + 10, name, strstr(norm, "bias") ? "beta" : "gamma");
    return rf__weights_find(w, old);
}

static const struct {
    const char *torch, *model;
} pairs[] = {
    {"zip", "plain"},     {"old", "plain"},   {"zip_bf16", "bf16"},
    {"old_bf16", "bf16"}, {"zip_f16", "f16"}, {"sharded", "sharded"},
};

#ifdef T_ZIP
enum { HAS_ZIP = 1 };
#else
enum { HAS_ZIP = 0 };
#endif

static bool readable(const char *name) { return HAS_ZIP || !strncmp(name, "old", 3); }

static void same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(pairs); i++) {
        if (!readable(pairs[i].torch)) continue;
        char a[128], b[128];
        snprintf(a, sizeof a, "tests/golden/torch/%s", pairs[i].torch);
        snprintf(b, sizeof b, "tests/golden/models/%s", pairs[i].model);
        rf_weights *w = opened(a), *expected = opened(b);
        size_t strided = 0;
        for (size_t k = 0; k < rf_weights_count(expected); k++) {
            const rf_weight *e = rf_weights_at(expected, k), *t = find(w, e->name);
            if (!t) fail_msg("%s: no %s", a, e->name);
            assert_int_equal(t->rank, e->rank);
            assert_string_equal(t->dtype, e->dtype);
            for (int d = 0; d < e->rank; d++) assert_int_equal(t->dim[d], e->dim[d]);
            float *x = t_floats((int64_t)e->count), *y = t_floats((int64_t)e->count);
            rf_error why = {0};
            if (rf__weights_read(w, t, x, 1, &why) || rf__weights_read(expected, e, y, 1, &why))
                fail_msg("%s", why.text);
            assert_memory_equal(x, y, e->count * sizeof *x);
            if (!t->stride) assert_memory_equal(t->data, e->data, e->bytes);
            strided += t->stride != NULL;
        }
        if (!strcmp(pairs[i].model, "plain")) assert_int_equal(strided, 12);
        rf_weights_close(w);
        rf_weights_close(expected);
    }
    t_check_fences();
    t_free_all();
}

/* Several in one file: a model of each is the same model. */
static void same_model(void **state)
{
    (void)state;
    static int32_t id[] = {3, 14, 15, 92, 65, 35}, type[6], start[] = {0, 6}, row[] = {0, 1, 2, 3, 4, 5};
    const rf_batch batch = {.N = 6, .B = 1, .id = id, .type = type, .start = start};
    float *x[3] = {0};
    static const char *const folder[] = {"tests/golden/models/plain", "tests/golden/torch/old",
                                         "tests/golden/torch/zip"};
    for (size_t i = 0; i < (size_t)(HAS_ZIP ? 3 : 2); i++) {
        rf_model *m = NULL;
        rf_session *s = NULL;
        const float *v = NULL;
        rf_error why = {0};
        if (rf_model_open(ctx, folder[i], &m, &why) || rf_session_open(m, &s, &why) ||
            rf_session_mlm_logits(s, &batch, row, 6, &v, &why))
            fail_msg("%s: %s", folder[i], why.text);
        assert_string_equal(rf__model_ignored(m), i ? "roformer.pooler.dense.weight, roformer.pooler.dense.bias" : "");
        const int64_t V = rf_model_config(m)->vocab_size;
        x[i] = t_floats(6 * V);
        memcpy(x[i], v, (size_t)(6 * V) * sizeof **x);
        if (i) assert_memory_equal(x[i], x[0], (size_t)(6 * V) * sizeof **x);
        rf_session_close(s);
        rf_model_close(m);
    }
    t_free_all();
}

/* ---- files of ours, old format ---- */

#define MAGIC "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."
#define VERSION "\x80\2M\xe9\3."
#define MACHINE "\x80\2}(X\15\0\0\0little_endian\x88u."
#define STORAGE(elements) \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" \
    "0X\3\0\0\0cpu" elements "NtQ"
#define TENSOR(storage, offset, size, stride) \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset size stride "\x89" \
    "ccollections\nOrderedDict\n)RtR"
#define DICT(name, value) "\x80\2ccollections\nOrderedDict\n)R(" name value "u."
#define KEYS \
    "\x80\2](X\1\0\0\0" \
    "0e."
#define NAME "X\1\0\0\0a"
#define SIX \
    "\6\0\0\0\0\0\0\0" \
    "abcdabcdabcdabcdabcdabcd"
#define GOOD TENSOR(STORAGE("K\6"), "K\0", "K\2K\3\x86", "K\3K\1\x86")
#define OTHER TENSOR(STORAGE("K\6"), "K\0", "K\3K\2\x86", "K\2K\1\x86")
#define OLD(root, rest) \
    { \
        MAGIC VERSION MACHINE root rest, sizeof(MAGIC VERSION MACHINE root rest) - 1 \
    }

struct bytes {
    const char *data;
    size_t size;
};

static rf_status reads(struct bytes b, rf_error *why)
{
    rf_weights *w = NULL;
    unsigned char *copy = t_bytes(b.size);
    memcpy(copy, b.data, b.size);
    const rf_status status = rf__weights_from_memory(ctx, copy, b.size, "f", &w, why);
    assert_int_equal(!status, w != NULL);
    for (size_t i = 0; w && i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        assert_true((const unsigned char *)t->data >= copy);
        assert_true((const unsigned char *)t->data + t->bytes <= copy + b.size);
    }
    rf_weights_close(w);
    return status;
}

static void refused(struct bytes b, rf_status code, const char *part)
{
    rf_error why = {0};
    if (!reads(b, &why)) fail_msg("accepted, where \"%s\" was expected", part);
    t_failed(&why, code, part);
    t_check_fences();
    t_free_all();
}

static void pickles(void **state)
{
    (void)state;
    static const struct {
        struct bytes b;
        rf_status code;
        const char *part;
    } bad[] = {
        {OLD(DICT(NAME, "cos\nsystem\n(X\4\0\0\0truetR"), ""), RF_EUNSUPPORTED, "refused: the object os.system at"},
        {OLD(DICT(NAME, "cbuiltins\neval\n(X\1\0\0\0"
                        "1tR"),
             ""),
         RF_EUNSUPPORTED, "the object builtins.eval"},
        {OLD(DICT(NAME, "ctorch._utils\n_rebuild_tensor_v3\n"), ""), RF_EUNSUPPORTED, "_rebuild_tensor_v3"},
        {OLD("\x80\2\x93.", ""), RF_EUNSUPPORTED, "refused: opcode 0x93 at byte"},
        {OLD("\x80\4.", ""), RF_EUNSUPPORTED, "refused: pickle protocol: expected 2, the default of torch.save, got 4"},
        {OLD("\x80\2)\x81.", ""), RF_EUNSUPPORTED, "opcode 0x81"},
        {OLD("\x80\2.", ""), RF_EDATA, "ends with other than one value"},
        {OLD("\x80\2}}.", ""), RF_EDATA, "ends with other than one value"},
        {OLD("\x80\2(.", ""), RF_EDATA, "ends with other than one value"},
        {OLD("\x80\2\x85.", ""), RF_EDATA, "a tuple of more values than there are"},
        {OLD("\x80\2K\1t.", ""), RF_EDATA, "without its MARK"},
        {OLD("\x80\2}K\1s.", ""), RF_EDATA, "members for an object that is not a container"},
        {OLD("\x80\2](K\1u.", ""), RF_EDATA, "members for an object that is not a container"},
        {OLD("\x80\2}(K\1u.", ""), RF_EDATA, "members for an object that is not a container"},
        {OLD("\x80\2h\5.", ""), RF_EDATA, "empty place of the memo"},
        {OLD("\x80\2}r\xff\xff\xff\xff.", ""), RF_EDATA, "a place in the memo beyond"},
        {OLD("\x80\2q\0.", ""), RF_EDATA, "nothing to remember"},
        {OLD("\x80\2X\xff\xff\xff\xff"
             "a.",
             ""),
         RF_EDATA, "ends within an opcode"},
        {OLD("\x80\2X\1", ""), RF_EDATA, "ends within an opcode"},
        {OLD("\x80\2\x8a\x09"
             "123456789.",
             ""),
         RF_EDATA, "more than 64 bits"},
        {OLD("\x80\2cos", ""), RF_EDATA, "a name without an end"},
        {OLD("\x80\2K\1b.", ""), RF_EDATA, "attributes for something that is not a dict"},
        {OLD("\x80\2}})R.", ""), RF_EDATA, "a call of something that is not an object"},
        {OLD("\x80\2)Q.", ""), RF_EDATA, "a reference that is no storage"},
        {OLD("\x80\2ctorch\nFloatStorage\n)R.", ""), RF_EDATA, "arguments that do not make the object"},
        {OLD("\x80\2ctorch._utils\n_rebuild_tensor_v2\n)R.", ""), RF_EDATA, "arguments that do not make"},
        {OLD("\x80\2K\1.", KEYS), RF_EDATA, "list of storages: expected"},
        {OLD("\x80\2K\1.", "\x80\2]."), RF_EDATA, "expected a dict of tensors"},
        {OLD("\x80\2}K\1K\1s.", "\x80\2]."), RF_EDATA, "name: expected text"},
        {OLD(DICT(NAME, "}"), "\x80\2]."), RF_EDATA,
         "\"a\": expected a tensor of a state dict, as torch.save(model.state_dict()"},
        {OLD(DICT(NAME, GOOD NAME OTHER), KEYS SIX), RF_EDATA, "\"a\": expected it once, or twice with the same"},
        {OLD(DICT("X\1\0\0\0\xff", GOOD), KEYS SIX), RF_EDATA, "name: expected UTF-8"},
        {OLD(DICT("X\2\0\0\0a\0", GOOD), KEYS SIX), RF_EDATA, "name: expected UTF-8"},
        /* a dict that contains itself, under two names */
        {OLD("\x80\2}q\0" NAME "h\0s.", "\x80\2]."), RF_EDATA,
         "\"a\": expected a tensor of a state dict, as torch.save(model.state_dict()"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) refused(bad[i].b, bad[i].code, bad[i].part);
    rf_error why = {0};
    const struct bytes good[] = {OLD(DICT(NAME, GOOD), KEYS SIX), OLD(DICT("", ""), "\x80\2].")};
    for (size_t i = 0; i < RF_COUNT(good); i++)
        if (reads(good[i], &why)) fail_msg("%s", why.text);
}

#define MAX "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
#define HALF "\x8a\x08\0\0\0\0\0\0\0\x40"

static void tensors(void **state)
{
    (void)state;
    static const struct {
        struct bytes b;
        const char *part;
    } bad[] = {
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\1", "K\2K\3\x86", "K\3K\1\x86")), KEYS SIX),
         "within its storage of 6, got 6 elements from 1 on"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\2K\3\x86", "K\4K\1\x86")), KEYS SIX),
         "got 7 elements from 0 on"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\2K\3\x86", "K\0K\1\x86")), KEYS SIX),
         "tensor \"a\": strides: expected 6 ... got 3"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", MAX HALF "\x86", "K\1K\1\x86")), KEYS SIX), "not fit 64 bits"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", HALF "K\4\x86", "K\0K\0\x86")), KEYS SIX), "not fit 64 bits"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\2K\3\x86", MAX "K\1\x86")), KEYS SIX),
         "expected elements within its storage"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\3K\3\x86", MAX "K\1\x86")), KEYS SIX), "not fit 64 bits"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), MAX, "K\2K\3\x86", "K\3K\1\x86")), KEYS SIX), "within its storage"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "J\xff\xff\xff\xff", "K\1\x85", "K\1\x85")), KEYS SIX), "begins before"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "J\xff\xff\xff\xff\x85", "K\1\x85")), KEYS SIX),
         "a dimension is not"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\6\x85", "J\xff\xff\xff\xff\x85")), KEYS SIX), "a stride is"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "K\6\x85", ")")), KEYS SIX), "another number of strides"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\6"), "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", ")")), KEYS SIX),
         "the rank is above 8"},
        {OLD(DICT(NAME, TENSOR(STORAGE(MAX), "K\0", "K\6\x85", "K\1\x85")), KEYS SIX), "fewer than 2^64 bytes"},
        {OLD(DICT(NAME, TENSOR(STORAGE("J\xff\xff\xff\x7f"), "K\0", "K\6\x85", "K\1\x85")), KEYS SIX),
         "got the end of the file"},
        {OLD(DICT(NAME, TENSOR(STORAGE("K\5"), "K\0", "K\5\x85", "K\1\x85")), KEYS SIX),
         "expected 5 elements, as its tensors say, got 6"},
        {OLD(DICT(NAME, GOOD), KEYS SIX "!"), "after the last storage, got 1 more"},
        {OLD(DICT(NAME, GOOD), "\x80\2]."), "list of storages: expected one of 24 bytes, got none"},
        {OLD(DICT(NAME, GOOD), "\x80\2](X\1\0\0\0"
                               "0X\1\0\0\0"
                               "0e." SIX SIX),
         "unknown or repeated"},
        {OLD(DICT(NAME, GOOD), "\x80\2}."), "expected a list of storages"},
        {OLD(DICT(NAME, GOOD "X\1\0\0\0b" TENSOR(STORAGE("K\5"), "K\0", "K\5\x85", "K\1\x85")), KEYS SIX),
         "expected one type and size"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) refused(bad[i].b, RF_EDATA, bad[i].part);
    const struct bytes big = {MAGIC VERSION "\x80\2}(X\15\0\0\0little_endian\x89u.", sizeof(MAGIC VERSION) + 25};
    refused(big, RF_EUNSUPPORTED, "byte order: expected little-endian");
    refused((struct bytes){MAGIC "\x80\2M\xea\3.", 21}, RF_EUNSUPPORTED, "expected version 1001");
    refused((struct bytes){"\x80\2}q\1.          ", 16}, RF_EUNSUPPORTED, "expected a file of torch.save");
}

/* ---- limits: what a small file can ask for ---- */

static struct bytes many(const char *one, size_t n)
{
    const char *front = MAGIC VERSION MACHINE "\x80\2";
    const size_t a = sizeof(MAGIC VERSION MACHINE "\x80\2") - 1, b = strlen(one);
    char *all = t_bytes(a + n * b);
    memcpy(all, front, a);
    for (size_t i = 0; i < n; i++) memcpy(all + a + i * b, one, b);
    return (struct bytes){all, a + n * b};
}

static void bombs(void **state)
{
    (void)state;
    static const struct {
        const char *one;
        const char *part;
    } bomb[] = {
        {"(", "the stack is higher"},
        {"]", "more values than"},
        {")", "more values than"},
        {"]a", "members for an object"},
        {"}q1h1h1h1", "the stack is higher"},
        {"K1\x85", "more values than"},
        {"N(", "the stack is higher"},
    };
    for (size_t i = 0; i < RF_COUNT(bomb); i++) {
        t_memory memory = {0};
        rf_ctx *own = t_counting_ctx(1, NULL, &memory);
        rf_weights *w = NULL;
        rf_error why = {0};
        const struct bytes b = many(bomb[i].one, 4 << 20);
        assert_int_equal(rf__weights_from_memory(own, b.data, b.size, "f", &w, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, bomb[i].part);
        assert_true(memory.peak < 180u << 20);
        rf_ctx_free(own);
        t_free_all();
    }
}

/* Every allocation fails once. */
static rf_status open_weights(const rf_ctx *own, void *folder, rf_error *why)
{
    rf_weights *w = NULL;
    const rf_status status = rf_weights_open(own, folder, &w, why);
    rf_weights_close(w);
    return status;
}

static void memory_ends(void **state)
{
    (void)state;
    static char folder[][32] = {"tests/golden/torch/old", "tests/golden/torch/zip", "tests/golden/torch/sharded"};
    for (size_t i = 0; i < (size_t)(HAS_ZIP ? 3 : 1); i++)
        assert_int_equal(t_fail_allocations(1, NULL, open_weights, folder[i]), 0);
}

/* ---- zip ---- */

struct part {
    const char *name, *data;
    size_t size;
    int method, flags;
};

static void number(unsigned char **to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++, x >>= 8) *(*to)++ = (unsigned char)x;
}

/* A zip of these entries; `at` (or -1) is the position of the last one in its directory. */
static struct bytes zip_of(const struct part *p, size_t n, long at)
{
    unsigned char *all = t_bytes(65536), *to = all;
    size_t place[16] = {0};
    for (size_t i = 0; i < n; i++) {
        place[i] = (size_t)(to - all);
        number(&to, 0x04034b50, 4);
        number(&to, 20, 2), number(&to, (uint64_t)p[i].flags, 2), number(&to, (uint64_t)p[i].method, 2),
            number(&to, 0, 8);
        number(&to, p[i].size, 4), number(&to, p[i].size, 4), number(&to, strlen(p[i].name), 2), number(&to, 0, 2);
        memcpy(to, p[i].name, strlen(p[i].name)), to += strlen(p[i].name);
        memcpy(to, p[i].data, p[i].size), to += p[i].size;
    }
    if (at >= 0) place[n - 1] = (size_t)at;
    const unsigned char *list = to;
    for (size_t i = 0; i < n; i++) {
        number(&to, 0x02014b50, 4);
        number(&to, 20, 2), number(&to, 20, 2), number(&to, (uint64_t)p[i].flags, 2),
            number(&to, (uint64_t)p[i].method, 2);
        number(&to, 0, 8), number(&to, p[i].size, 4), number(&to, p[i].size, 4), number(&to, strlen(p[i].name), 2);
        number(&to, 0, 12), number(&to, place[i], 4);
        memcpy(to, p[i].name, strlen(p[i].name)), to += strlen(p[i].name);
    }
    const size_t size = (size_t)(to - list);
    number(&to, 0x06054b50, 4);
    number(&to, 0, 4), number(&to, n, 2), number(&to, n, 2), number(&to, size, 4);
    number(&to, (uint64_t)(list - all), 4);
    number(&to, 0, 2);
    return (struct bytes){(char *)all, (size_t)(to - all)};
}

/* The same with sizes and positions in 64 bits, as in files above 4 GB; `extra` bytes of each field are present. */
static struct bytes zip64_of(const struct part *p, size_t n, size_t extra)
{
    const struct bytes narrow = zip_of(p, n, -1);
    unsigned char *all = t_bytes(65536), *to = all;
    size_t place[16] = {0}, at = 0;
    for (size_t i = 0; i < n; i++) place[i] = at, at += 30 + strlen(p[i].name) + p[i].size;
    memcpy(all, narrow.data, at);
    to += at;
    for (size_t i = 0; i < n; i++) {
        number(&to, 0x02014b50, 4), number(&to, 45, 2), number(&to, 45, 2), number(&to, 0, 4), number(&to, 0, 8);
        number(&to, UINT32_MAX, 4), number(&to, UINT32_MAX, 4), number(&to, strlen(p[i].name), 2);
        number(&to, 8 + 4 + extra, 2), number(&to, 0, 10), number(&to, UINT32_MAX, 4);
        memcpy(to, p[i].name, strlen(p[i].name)), to += strlen(p[i].name);
        number(&to, 0x5455, 2), number(&to, 4, 2), number(&to, 0, 4);                   /* another field before it */
        number(&to, 1, 2), number(&to, extra, 2);
        const uint64_t field[] = {p[i].size, p[i].size, place[i]};
        for (size_t k = 0; k < extra / 8; k++) number(&to, field[k], 8);
    }
    const size_t size = (size_t)(to - all) - at, end = at + size;
    number(&to, 0x06064b50, 4), number(&to, 44, 8), number(&to, 45, 2), number(&to, 45, 2), number(&to, 0, 8);
    number(&to, n, 8), number(&to, n, 8), number(&to, size, 8), number(&to, at, 8);
    number(&to, 0x07064b50, 4), number(&to, 0, 4), number(&to, end, 8), number(&to, 1, 4);
    number(&to, 0x06054b50, 4), number(&to, 0, 4), number(&to, UINT16_MAX, 2), number(&to, UINT16_MAX, 2);
    number(&to, UINT32_MAX, 4), number(&to, UINT32_MAX, 4), number(&to, 0, 2);
    return (struct bytes){(char *)all, (size_t)(to - all)};
}

#define PICKLE DICT(NAME, GOOD)
#define ROOT \
    { \
        "m/data.pkl", PICKLE, sizeof PICKLE - 1, 0, 0 \
    }
#define DATA \
    { \
        "m/data/0", SIX "", 24, 0, 0 \
    }

static void zips(void **state)
{
    (void)state;
    static const struct part good[] = {ROOT, DATA};
    rf_error why = {0};
    if (reads(zip_of(good, 2, -1), &why)) fail_msg("%s", why.text);
    if (reads(zip64_of(good, 2, 24), &why)) fail_msg("%s", why.text);
    refused(zip64_of(good, 2, 16), RF_EDATA, "refused: expected a complete zip");
    static const struct {
        struct part p[3];
        size_t n;
        long at;
        rf_status code;
        const char *part;
    } bad[] = {
        {{ROOT}, 1, -1, RF_EDATA, "\"m/data/0\" is missing, although a tensor is stored in it"},
        {{DATA}, 1, -1, RF_EUNSUPPORTED, "got one without data.pkl"},
        {{{"data.pkl", "", 0, 0, 0}}, 1, -1, RF_EUNSUPPORTED, "got one without data.pkl"},
        {{ROOT, {"m/data/0", SIX, 24, 8, 0}}, 2, -1, RF_EDATA, "\"m/data/0\" is compressed"},
        {{ROOT, {"m/data/0", SIX, 24, 0, 1}}, 2, -1, RF_EDATA, "\"m/data/0\" is encrypted"},
        {{ROOT, DATA, DATA}, 3, -1, RF_EDATA, "is there twice"},
        {{ROOT, DATA}, 2, 0, RF_EDATA, ""},
        {{ROOT, DATA}, 2, 1000000, RF_EDATA, "refused"},
        {{ROOT, {"../data/0", SIX, 24, 0, 0}}, 2, -1, RF_EDATA, "names another folder"},
        {{ROOT, {"m/../../x", SIX, 24, 0, 0}}, 2, -1, RF_EDATA, "names another folder"},
        {{ROOT, {"/etc/x", SIX, 24, 0, 0}}, 2, -1, RF_EDATA, "names another folder"},
        {{ROOT, {"m/data/0", SIX, 20, 0, 0}}, 2, -1, RF_EDATA,
         "refused: the zip's entry \"m/data/0\": expected the 24"},
        {{ROOT, DATA, {"m/byteorder", "big", 3, 0, 0}}, 3, -1, RF_EUNSUPPORTED, "byteorder: expected \"little\""},
        {{{"m/data.pkl", "\x80\2cos\nsystem\n.", 13, 0, 0}}, 1, -1, RF_EUNSUPPORTED, "the object os.system"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) refused(zip_of(bad[i].p, bad[i].n, bad[i].at), bad[i].code, bad[i].part);
    const struct bytes whole = zip_of(good, 2, -1);
    for (size_t n = 4; n < whole.size; n++) {
        char *cut = malloc(n);
        memcpy(cut, whole.data, n);
        rf_weights *w = NULL;
        rf_error no = {0};
        assert_int_equal(rf__weights_from_memory(ctx, cut, n, "f", &w, &no), RF_EDATA);
        free(cut);
    }
    t_free_all();
}

/* An end record that announces more entries than the file can have, with and without zip64. */
static void zip_lies(void **state)
{
    (void)state;
    static const char small[] = "PK\5\6\0\0\0\0\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0";
    refused((struct bytes){small, 22}, RF_EDATA, "refused: expected a complete zip");
    static const char wide[] = "PK\6\6\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0"
                               "PK\6\7\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0"
                               "PK\5\6\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0";
    char *file = t_bytes(4 + sizeof wide - 1);
    memcpy(file, "PK\3\4", 4);
    memcpy(file + 4, wide, sizeof wide - 1);
    refused((struct bytes){file, 4 + sizeof wide - 1}, RF_EDATA, "refused: expected a complete zip");
}

/* ---- folders ---- */

static void folders(void **state)
{
    (void)state;
    rf_weights *w = NULL;
    rf_error why = {0};
    static const char index[] = "{\"weight_map\":{\"a\":\"../x.bin\"}}";
    const char *folder = t_folder();
    assert_int_equal(rf_weights_open(ctx, folder, &w, &why), RF_EIO);
    t_failed(&why, RF_EIO, "expected weights (model.safetensors, model.safetensors.index.json");
    why = (rf_error){0};
    t_write(folder, "pytorch_model.bin.index.json", index, sizeof index - 1);
    assert_int_equal(rf_weights_open(ctx, folder, &w, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "tensor \"a\": shard: expected ... got \"../x.bin\"");
    static const struct bytes good = OLD(DICT(NAME, GOOD), KEYS SIX);
    t_write(folder, "pytorch_model.bin", good.data, good.size);
    rf_weights_close(opened(folder));
    /* A safetensors file whose header has 640 or 67,324,752 bytes begins like a pickle or a zip. */
    char header[648] = "\x80\2\0\0\0\0\0\0{}";
    memset(header + 10, ' ', sizeof header - 10);
    t_write(folder, "model.safetensors", header, sizeof header);
    w = opened(folder);
    assert_int_equal(rf_weights_count(w), 0);
    rf_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits), cmocka_unit_test(same_model), cmocka_unit_test(pickles),
        cmocka_unit_test(tensors),   cmocka_unit_test(bombs),      cmocka_unit_test(memory_ends),
        cmocka_unit_test(zips),      cmocka_unit_test(zip_lies),   cmocka_unit_test(folders),
    };
    return cmocka_run_group_tests_name("store/torch", tests, setup, teardown);
}
