/* weights.c — opens weights in the formats of safetensors, torch.save and Keras, as one file or as the shards of an
 * index; finds, reads and releases tensors. */
#include <math.h>
#include <stdio.h>

#include "base/files/json_file.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "roformer/kernel/kernels.h"
#include "store/store.h"
#include "store/formats/tensorflow/tensorflow.h"

static const char bundle_end[] = ".index";

struct shard { rf_map map; rf__header header; const char *file; };

struct rf_weights {
    const rf_ctx *ctx;
    struct shard *shard;
    size_t shards;
    const rf_weight **tensor;           /* of all shards, in order                                                  */
    size_t count;
    uint32_t *slot;                     /* open addressing: 1 + index into `tensor`, 0: free                        */
    size_t mask;
    json_t *index;                      /* owns the file names of the shards                                        */
    char name[80];                      /* name of the opened file, for messages                                    */
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A hash table of names, seeded by an address, so that no file can cause collisions. */
static size_t slot_of(const rf_weights *w, const char *name)
{
    size_t at = (size_t)rf__hash64(name, strlen(name), (uint64_t)(uintptr_t)w) & w->mask;
    while (w->slot[at] && strcmp(w->tensor[w->slot[at] - 1]->name, name)) at = (at + 1) & w->mask;
    return at;
}

static rf_status twice(const rf_weights *w, const char *path, const rf_weight *t, size_t s, rf_error *why)
{
    const rf__label name = rf__printable(t->name), file = rf__printable(w->shard[s].file);
    if (w->shards == 1)
        return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": expected it once, or twice with the same numbers, got others",
                       path, name.text);
    return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": expected it in one shard, got it also in %s", path, name.text,
                   file.text);
}

/* TensorFlow writes the embeddings of a model with a language-model head in the group of the model and in that of the
 * head. */
static bool same_values(const rf_weight *a, const rf_weight *b)
{
    if (strcmp(a->dtype, b->dtype) || a->rank != b->rank || a->bytes != b->bytes || !a->stride != !b->stride)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d] || (a->stride && a->stride[d] != b->stride[d])) return false;
    return !memcmp(a->data, b->data, a->bytes);
}

static rf_status list_names(rf_weights *w, const char *path, rf_error *why)
{
    size_t total = 0, slots = 16;
    for (size_t s = 0; s < w->shards; s++) total += w->shard[s].header.count;
    if (total > RF__MAX_TENSORS)
        return rf_fail(why, RF_EDATA, "%s: expected at most %d tensors, got %zu", path, RF__MAX_TENSORS, total);
    while (slots < 2 * total) slots *= 2;
    w->mask = slots - 1;
    w->tensor = rf__calloc(w->ctx, total ? total : 1, sizeof *w->tensor);
    w->slot = rf__calloc(w->ctx, slots, sizeof *w->slot);
    if (!w->tensor || !w->slot) return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu names", path, total);
    for (size_t s = 0; s < w->shards; s++)
        for (size_t i = 0; i < w->shard[s].header.count; i++) {
            const rf_weight *t = &w->shard[s].header.tensor[i];
            const size_t at = slot_of(w, t->name);
            if (w->slot[at] && w->shards == 1 && same_values(t, w->tensor[w->slot[at] - 1])) continue;
            if (w->slot[at]) return twice(w, path, t, s, why);
            w->tensor[w->count++] = t;
            w->slot[at] = (uint32_t)w->count;
        }
    return RF_OK;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

/* A shard is named by an untrusted file: only a plain file name in the folder of the index is allowed. */
static bool plain(const char *name)
{
    return *name && strlen(name) < 256 && !strchr(name, '/') && strcmp(name, ".") && rf__stays_below(name);
}

static int shard_of(const rf_weights *w, const char *file)
{
    for (size_t s = w->shards; s-- > 0;)                           /* neighbors often share a shard: search backwards */
        if (!strcmp(w->shard[s].file, file)) return (int)s;
    return -1;
}

/* Recognizes files with tensors by their bytes, since checkpoints of torch.save have had various names. The first match
 * counts. */
static bool any_file(const unsigned char *data, size_t size)
{
    (void)data, (void)size;
    return true;
}

static const struct {
    bool (*is)(const unsigned char *data, size_t size);
    rf_status (*read)(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *path, rf__header *out,
                      rf_error *why);
} formats[] = {
    {rf__torch_is, rf__torch_read},
    {rf__hdf5_is, rf__hdf5_read},
    {any_file, rf__header_read},
};

static rf_status read_tensors(const rf_ctx *ctx, const rf_map *map, const char *path, rf__header *out, rf_error *why)
{
    size_t i = 0;
    while (!formats[i].is(map->data, map->size)) i++;
    return formats[i].read(ctx, map->data, map->size, path, out, why);
}

static rf_status open_shard(rf_weights *w, const char *path, const char *file, rf_error *why)
{
    struct shard *s = &w->shard[w->shards];
    rf_status status = rf__map_open(w->ctx, path, &s->map, why);
    if (status) return status;
    s->file = file;
    w->shards++;
    return read_tensors(w->ctx, &s->map, path, &s->header, why);
}

/* Every tensor of the index must be in the shard that the index names. */
static rf_status keep_promises(rf_weights *w, const char *path, json_t *map, rf_error *why)
{
    const char *name;
    json_t *file;
    json_object_foreach(map, name, file) {
        const rf_weight *t = rf__weights_find(w, name);
        const int s = shard_of(w, json_string_value(file));
        const rf__header *h = &w->shard[s].header;
        if (!t || t < h->tensor || t >= h->tensor + h->count)
            return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": expected it in %s, got no such tensor there", path,
                           rf__printable(name).text, rf__printable(json_string_value(file)).text);
    }
    return RF_OK;
}

static rf_status open_index(rf_weights *w, const char *path, rf_error *why)
{
    char shard[4096];
    rf_status status = rf__json_file(w->ctx, path, RF__MAX_HEADER, 0, &w->index, why);
    if (status) return status;

    json_t *map = json_object_get(w->index, "weight_map"), *file;
    const char *name, *slash = rf__os_last_slash(path);
    if (!json_is_object(map)) return rf_fail(why, RF_EDATA, "%s: weight_map: expected an object, got none", path);
    w->shard = rf__calloc(w->ctx, RF__MAX_SHARDS, sizeof *w->shard);
    if (!w->shard) return rf_fail(why, RF_ENOMEM, "%s: out of memory for shards", path);
    json_object_foreach(map, name, file) {
        const char *f = json_string_value(file);
        if (!f || !plain(f))
            return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": shard: expected a file name without a folder, got \"%s\"",
                           path, rf__printable(name).text, f ? rf__printable(f).text : "(not a string)");
        if (shard_of(w, f) >= 0) continue;
        if (w->shards == RF__MAX_SHARDS)
            return rf_fail(why, RF_EDATA, "%s: expected at most %d shards, got more", path, RF__MAX_SHARDS);
        const int folder = slash ? (int)(slash - path + 1) : 0;
        const int wrote = snprintf(shard, sizeof shard, "%.*s%s", folder, path, f);
        if (wrote < 0 || (size_t)wrote >= sizeof shard)
            return rf_fail(why, RF_ERANGE, "%.100s...: path too long", path);
        if (!rf__is_there(w->ctx, shard))
            return rf_fail(why, RF_EDATA, "%s: expected the shard %s in the same folder, got none", path,
                           rf__printable(f).text);
        if ((status = open_shard(w, shard, f, why))) return status;
    }
    if ((status = list_names(w, path, why))) return status;
    return keep_promises(w, path, map, why);
}

static rf_status open_single(rf_weights *w, const char *path, rf_error *why)
{
    w->shard = rf__calloc(w->ctx, 1, sizeof *w->shard);
    if (!w->shard) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    const rf_status status = open_shard(w, path, path, why);
    return status ? status : list_names(w, path, why);
}

/* A TensorFlow checkpoint: the files next to its index. */
static rf_status open_bundle_shard(rf_weights *w, const rf__bundle *b, const char *prefix, const char *index,
                                   rf_error *why)
{
    char path[4096];
    struct shard *s = &w->shard[w->shards];
    const int stem = (int)(strlen(index) - strlen(bundle_end));
    const int wrote = snprintf(path, sizeof path, "%.*s.data-%05zu-of-%05llu", stem, index, w->shards,
                               (unsigned long long)b->shards);
    if (wrote < 0 || (size_t)wrote >= sizeof path) return rf_fail(why, RF_ERANGE, "%.100s...: path too long", index);
    if (!rf__is_there(w->ctx, path))
        return rf_fail(why, RF_EDATA, "%s: expected the shard %s in the same folder, got none", index,
                       rf__printable(rf__file_name(path)).text);
    const rf_status status = rf__map_open(w->ctx, path, &s->map, why);
    if (status) return status;
    s->file = index;
    w->shards++;
    return rf__bundle_values(b, prefix, w->shards - 1, (rf__bytes){s->map.data, s->map.size}, path, &s->header, why);
}

static rf_status open_bundle(rf_weights *w, const char *path, rf_error *why)
{
    rf__bundle b;
    rf__bundle_model m = {0};
    rf_status status = rf__bundle_read(w->ctx, path, &b, why);
    if (!status) status = rf__bundle_examine(&b, path, &m, why);
    if (!status && !(w->shard = rf__calloc(w->ctx, (size_t)b.shards, sizeof *w->shard)))
        status = rf_fail(why, RF_ENOMEM, "%s: out of memory for shards", path);
    while (!status && w->shards < b.shards) status = open_bundle_shard(w, &b, m.prefix, path, why);
    rf__bundle_clear(&b);
    return status ? status : list_names(w, path, why);
}

const char *const rf__weight_files[] = {RF_FILE_WEIGHTS,     RF_FILE_WEIGHTS_INDEX, RF_FILE_TORCH,
                                        RF_FILE_TORCH_INDEX, RF_FILE_TF_INDEX,      RF_FILE_KERAS, NULL};

rf_status rf_weights_path(const char *folder, char *path, size_t size, rf_error *why)
{
    if (!(folder && path)) return rf__missing("rf_weights_path", "folder, path", why);
    return rf__weights_file_of(NULL, folder, path, size, why);
}

#define ESMC "weights of the package esm", "use a folder of transformers' class EsmcForMaskedLM, with the same weights"

#define RENAME "rename it to " RF_FILE_WEIGHTS " if it has the whole model"
#define RENAME_TORCH "rename it to " RF_FILE_TORCH " if it has the tensors of this model (a state_dict)"
#define FLAX "load it with transformers 4 (from_flax=True) and save it (save_pretrained)"
#define MADE_OF "use the weights that it was made of"
#define TENSORS "write its tensors as model.safetensors under the names of transformers"

/* Weights in formats that cannot be read, or under other names, with the remedy. In the last part of a path, * stands
 * for anything. The first that is there counts. */
static const struct { const char *file, *what, *how; } foreign[] = {
    {"model-*-of-*.safetensors", "shards without their index", "fetch " RF_FILE_WEIGHTS_INDEX},
    {"pytorch_model-*-of-*.bin", "shards without their index", "fetch " RF_FILE_TORCH_INDEX},
    {"model*.safetensors", "safetensors of another name", RENAME},
    {"consolidated*.safetensors", "safetensors of another name", "use the folder with the names of transformers"},
    {"pytorch_model*.bin", "PyTorch's file of another name", RENAME_TORCH},
    {"tf_model.h5.index.json", "Keras in shards",
     "load it with transformers 4 (from_tf=True) and save it (save_pretrained)"},
    {"model.weights.h5", "Keras 3", TENSORS},
    {"*.h5", "Keras' file of another name", "rename it to " RF_FILE_KERAS " if transformers wrote it"},
    {"flax_model*.msgpack", "Flax", FLAX},
    {"*.pdparams", "PaddlePaddle", TENSORS},
    {"rust_model.ot", "rust-bert", MADE_OF},
    {"esmc_*.pth", ESMC},
    {"data/weights/esmc_*.pth", ESMC},
    {"*.pt", "PyTorch's file of another name", RENAME_TORCH},
    {"*.pth", "PyTorch's file of another name", RENAME_TORCH},
    {"*.gguf", "GGUF", MADE_OF},
    {"*.onnx", "an ONNX graph", MADE_OF},
    {"onnx/*.onnx", "an ONNX graph", MADE_OF},
    {"openvino_model*.bin", "an OpenVINO graph", MADE_OF},
    {"openvino/*.bin", "an OpenVINO graph", MADE_OF},
    {"saved_model.pb", "a SavedModel of TensorFlow", MADE_OF},
};
#undef ESMC
#undef RENAME
#undef RENAME_TORCH
#undef FLAX
#undef MADE_OF
#undef TENSORS

/* A name that begins with a dot is hidden: only a pattern with that dot matches it. */
static bool matches(const char *pattern, const char *name)
{
    return (*name != '.' || *pattern == '.') && rf__matches(pattern, name);
}

/* The first name in the folder, in alphabetical order, that a path with a pattern as its last part has. */
static bool is_in_folder(const rf_ctx *ctx, const char *folder, const char *pattern, char name[256])
{
    char path[4096];
    const char *last = rf__file_name(pattern);
    *name = 0;
    if (rf__path(path, sizeof path, folder, pattern, NULL)) return false;
    if (!strchr(last, '*')) return rf__is_there(ctx, path) && snprintf(name, 256, "%s", pattern) > 0;
    path[strlen(path) - strlen(last)] = 0;
    rf__os_folder *f = rf__os_folder_open(path);
    for (const char *is; f && (is = rf__os_next(f, NULL));) {
        char own[256];
        const int n = snprintf(own, sizeof own, "%.*s%s", (int)(last - pattern), pattern, is);
        if (n < (int)sizeof own && matches(last, is) && (!*name || strcmp(own, name) < 0))
            memcpy(name, own, sizeof own);
    }
    rf__os_folder_close(f);
    return *name;
}

rf_status rf__weights_foreign(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char name[256], path[4096];
    for (const char *const *own = rf__weight_files; *own; own++)
        if (rf__path(path, sizeof path, folder, *own, NULL) || rf__is_there(ctx, path)) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(foreign); i++)
        if (is_in_folder(ctx, folder, foreign[i].file, name))
            return rf_fail(why, RF_EUNSUPPORTED,
                           "%.120s: expected weights of safetensors, PyTorch, TensorFlow 1 or tf_model.h5, got %s "
                           "(%s), which is not read; %s",
                           folder, rf__printable(name).text, foreign[i].what, foreign[i].how);
    return RF_OK;
}

rf_status rf__weights_file_of(const rf_ctx *ctx, const char *folder, char *path, size_t size, rf_error *why)
{
    char below[4096];
    folder = rf__model_folder(ctx, folder, below);
    for (const char *const *file = rf__weight_files; *file; file++) {
        const rf_status status = rf__path(path, size, folder, *file, why);
        if (status || rf__is_there(ctx, path)) return status;
    }
    if (rf__bundle_index(ctx, folder, path, size)) return RF_OK;
    if (rf__weights_foreign(ctx, folder, why)) return RF_EUNSUPPORTED;
    return rf_fail(why, RF_EIO, "%s: expected weights (%s, %s, %s, %s, %s or %s), got none of these files", folder,
                   RF_FILE_WEIGHTS, RF_FILE_WEIGHTS_INDEX, RF_FILE_TORCH, RF_FILE_TORCH_INDEX, RF_FILE_TF_INDEX,
                   RF_FILE_KERAS);
}

/* Formats of checkpoints, as one file or several, by the extension of the first. A new format is a row here and, for
 * folders, a name in rf__weight_files. */
static const struct {
    const char *ending;
    rf_status (*open)(rf_weights *w, const char *path, rf_error *why);
} layouts[] = {
    {bundle_end, open_bundle},
    {".json", open_index},
    {"", open_single},
};

static rf_status open_path(rf_weights *w, const char *path, rf_error *why)
{
    size_t i = 0;
    while (!rf__ends_with(path, layouts[i].ending)) i++;
    return layouts[i].open(w, path, why);
}

static void name_it(rf_weights *w, const char *path)
{
    snprintf(w->name, sizeof w->name, "%s", rf__printable(rf__file_name(path)).text);
}

static rf_status open_folder(rf_weights *w, const char *folder, rf_error *why)
{
    char path[4096];
    const rf_status status = rf__weights_file_of(w->ctx, folder, path, sizeof path, why);
    if (status) return status;
    name_it(w, path);
    return open_path(w, path, why);
}

static rf_weights *make(const rf_ctx *ctx, const char *path, rf_error *why)
{
    rf_weights *w = rf__calloc(ctx, 1, sizeof *w);
    if (w) w->ctx = ctx, name_it(w, path);
    else rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    return w;
}

static rf_status finish(rf_weights *w, rf_status status, rf_weights **out)
{
    if (status) rf_weights_close(w);
    else *out = w;
    return status;
}

rf_status rf_weights_open(const rf_ctx *ctx, const char *path, rf_weights **out, rf_error *why)
{
    if (!(ctx && path && out)) return rf__missing("rf_weights_open", "ctx, path, out", why);
    rf_error local = {0};
    if (!why) why = &local;
    rf_weights *w = make(ctx, path, why);
    if (!w) return RF_ENOMEM;
    return finish(w, rf__holds_folder(ctx, path) ? open_folder(w, path, why) : open_path(w, path, why), out);
}

rf_status rf__weights_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf_weights **out,
                                  rf_error *why)
{
    rf_error local = {0};
    if (!why) why = &local;
    rf_weights *w = make(ctx, name, why);
    if (!w) return RF_ENOMEM;
    w->shard = rf__calloc(ctx, 1, sizeof *w->shard);
    if (!w->shard) return finish(w, rf_fail(why, RF_ENOMEM, "%s: out of memory", name), out);
    w->shard->map = (rf_map){data, size, false};
    w->shard->file = name;
    w->shards = 1;
    rf_status status = read_tensors(ctx, &w->shard->map, name, &w->shard->header, why);
    if (!status) status = list_names(w, name, why);
    return finish(w, status, out);
}

void rf_weights_close(rf_weights *w)
{
    if (!w) return;
    const rf_ctx *ctx = w->ctx;
    for (size_t s = 0; s < w->shards; s++) {
        rf__header_clear(ctx, &w->shard[s].header);
        rf__map_close(ctx, &w->shard[s].map);
    }
    rf__free(ctx, w->shard);
    rf__free(ctx, w->tensor);
    rf__free(ctx, w->slot);
    json_decref(w->index);
    rf__free(ctx, w);
}

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

const char *rf__weights_name(const rf_weights *w) { return w->name; }
size_t rf_weights_count(const rf_weights *w) { return w->count; }
const rf_weight *rf_weights_at(const rf_weights *w, size_t i) { return i < w->count ? w->tensor[i] : NULL; }

const rf_weight *rf__weights_find(const rf_weights *w, const char *name)
{
    const uint32_t found = w->slot[slot_of(w, name)];
    return found ? w->tensor[found - 1] : NULL;
}

const char *rf__weights_metadata(const rf_weights *w, const char *key)
{
    for (size_t s = 0; s < w->shards; s++) {
        const char *value = json_string_value(json_object_get(w->shard[s].header.metadata, key));
        if (value) return value;
    }
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Reads one run of values. `from` may be unaligned, so half types pass through an aligned buffer. */
enum { RUN = 2048 };

static void widen(const rf_ctx *ctx, rf_type type, const unsigned char *from, float *to, size_t n)
{
    uint16_t half[RUN];
    switch (type) {
    case RF_F32: memcpy(to, from, n * 4); return;
    case RF_BF16:
        memcpy(half, from, n * 2);
        if (ctx->k && ctx->k->from_bf16) ctx->k->from_bf16(to, half, (int64_t)n);
        else for (size_t i = 0; i < n; i++) to[i] = rf__from_bf16(half[i]);
        return;
    case RF_F16:
        memcpy(half, from, n * 2);
        if (ctx->k && ctx->k->from_f16) ctx->k->from_f16(to, half, (int64_t)n);
        else for (size_t i = 0; i < n; i++) to[i] = rf__from_f16(half[i]);
        return;
    case RF_I8:
        for (size_t i = 0; i < n; i++) to[i] = (int8_t)from[i];
        return;
    case RF_I32:
    case RF_I8W: return;                 /* never readable (header.c) */
    }
}

/* The next n elements of a tensor that is not in C order, written contiguously. */
struct walk { const rf_weight *t; size_t width, index[RF_MAX_RANK]; const unsigned char *at; };

static void collect(struct walk *walk, unsigned char *to, size_t n)
{
    const rf_weight *t = walk->t;
    for (size_t i = 0; i < n; i++, to += walk->width) {
        memcpy(to, walk->at, walk->width);
        for (int d = t->rank; d-- > 0;) {
            walk->at += (size_t)t->stride[d] * walk->width;
            if (++walk->index[d] < (size_t)t->dim[d]) break;
            walk->at -= (size_t)t->stride[d] * walk->width * (size_t)t->dim[d];
            walk->index[d] = 0;
        }
    }
}

void rf__weights_codes(const rf_weight *t, int8_t *to)
{
    struct walk walk = {.t = t, .width = 1, .at = t->data};
    if (t->stride) collect(&walk, (unsigned char *)to, t->count);
    else memcpy(to, t->data, t->count);
}

/* The side of a square of a transpose: whole cache lines. */
enum { SQUARE = 16 };

static void transpose_square(const unsigned char *from, int64_t from_row, float *to, int64_t to_row)
{
    float x[SQUARE][SQUARE];
    for (int j = 0; j < SQUARE; j++) memcpy(x[j], from + (size_t)(j * from_row) * sizeof **x, sizeof *x);
    for (int i = 0; i < SQUARE; i++)
        for (int j = 0; j < SQUARE; j++) to[i * to_row + j] = x[j][i];
}

/* Reads a matrix that is stored as its transpose. */
static void transpose(const rf_weight *t, float *to)
{
    const int64_t rows = t->dim[0], columns = t->dim[1], S = t->stride[1];
    const unsigned char *from = t->data;
    for (int64_t c = 0; c < columns; c += SQUARE)
        for (int64_t r = 0; r < rows; r += SQUARE) {
            const unsigned char *at = from + (size_t)(c * S + r) * sizeof *to;
            if (r + SQUARE <= rows && c + SQUARE <= columns) {
                transpose_square(at, S, to + r * columns + c, columns);
                continue;
            }
            for (int64_t j = c; j < columns && j < c + SQUARE; j++)
                for (int64_t i = r; i < rows && i < r + SQUARE; i++)
                    memcpy(&to[i * columns + j], from + (size_t)(j * S + i) * sizeof *to, sizeof *to);
        }
}

static bool is_transpose(const rf_weight *t, rf_type type)
{
    return type == RF_F32 && t->rank == 2 && t->stride && t->stride[0] == 1;
}

rf_status rf__weights_check_sum(const rf_weights *w, const rf_weight *t, rf_error *why)
{
    for (size_t s = 0; s < w->shards; s++) {
        const rf__header *h = &w->shard[s].header;
        size_t i = 0;
        while (h->crc && i < h->count && (h->tensor[i].data != t->data || h->tensor[i].bytes != t->bytes)) i++;
        if (!h->crc || i == h->count) continue;
        const uint32_t expected = h->crc[i], got = rf__masked_crc(rf__crc32c(0, t->data, t->bytes));
        if (expected != got)
            return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": expected checksum %08x, got %08x: the file is damaged",
                           w->name, rf__printable(t->name).text, (unsigned)expected, (unsigned)got);
    }
    return RF_OK;
}

static bool all_finite(const rf_ctx *ctx, const float *x, size_t n)
{
    if (ctx->k && ctx->k->finite) return ctx->k->finite(x, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

rf_status rf__weights_read(const rf_weights *w, const rf_weight *t, float *to, int finite, rf_error *why)
{
    if (!(w && t && to)) return rf__missing("rf__weights_read", "weights, tensor, to", why);
    const char *const digits = strpbrk(t->dtype, "0123456789");
    const bool scaled = rf__quantized_scale(w, t) != NULL;
    if (!t->readable && !scaled && (t->dtype[0] == 'I' || t->dtype[0] == 'U'))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "tensor \"%s\": %sint%s weights: expected quantization_config, got none; save the model in "
                       "F32, BF16 or F16", rf__printable(t->name).text, t->dtype[0] == 'U' ? "u" : "",
                       digits ? digits : "");
    if (!t->readable && !scaled)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "tensor \"%s\": data type: expected F32, BF16 or F16, got %s; save the model in one of them",
                       rf__printable(t->name).text, t->dtype);
    const rf_type type = scaled ? RF_I8 : t->type;
    const size_t width = type == RF_F32 ? 4 : type == RF_I8 ? 1 : 2;
    const unsigned char *from = t->data;
    unsigned char run[RUN * 4];
    struct walk walk = {.t = t, .width = width, .at = from};
    const bool whole = is_transpose(t, type);
    if (rf__weights_check_sum(w, t, why)) return RF_EDATA;
    if (whole) transpose(t, to);
    for (size_t i = 0; i < t->count; i += RUN) {
        const size_t n = t->count - i < RUN ? t->count - i : RUN;
        if (t->stride && !whole) collect(&walk, run, n);
        if (!whole) widen(w->ctx, type, t->stride ? run : from + i * width, to + i, n);
        if (!finite || all_finite(w->ctx, to + i, n)) continue;
        size_t bad = i;
        while (bad < i + n - 1 && isfinite(to[bad])) bad++;
        return rf_fail(why, RF_ENUMERIC, "tensor \"%s\": element %zu of %zu: expected a finite number, got %s",
                       rf__printable(t->name).text, bad, t->count, isnan(to[bad]) ? "NaN" : "infinity");
    }
    return scaled ? rf__quantized_spread(w->ctx, w, t, to, why) : RF_OK;
}

void rf__weights_forget(const rf_weights *w, const rf_weight *t)
{
    for (size_t s = 0; s < w->shards; s++) {
        const rf_map *m = &w->shard[s].map;
        const uintptr_t at = (uintptr_t)t->data - (uintptr_t)m->data;
        if ((uintptr_t)t->data >= (uintptr_t)m->data && at < m->size) rf__map_forget(m, (size_t)at, t->bytes);
    }
}
