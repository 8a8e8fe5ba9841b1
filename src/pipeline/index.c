/* index.c — writes an index:
 *
 *     folder.tmp-<pid>-<n>/: headers, rows as they come   ->   headers with the count, index.json, checksums
 *     ->   fsync   ->   rename to folder   ->   fsync of its parent */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "model/model.h"
#include "pipeline/index_file.h"
#include "pipeline/pipeline.h"
#include "roformer/inspect/files.h"
#include "roformer/kernel/kernels.h"
#include "store/task.h"
#include "train/checkpoint/checksums.h"

struct rf_index_writer {
    const rf_ctx *ctx;
    char *folder, *prompt, *model_name, *model_path;
    char temporary[4096];
    rf_index_options o;
    int fd[RF__INDEX_FILES];            /* -1: not open */
    int64_t n, end;                     /* texts, bytes of lines.txt */
    void *rows;                         /* of one call, for each file in turn */
    size_t capacity;
};

void rf_index_options_init(rf_index_options *o, size_t size)
{
    const rf_index_options own = {.pooling = RF_POOL_MEAN, .max_length = -1, .include_prompt = 1};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf_index_options_of_sized(const rf_pipeline *p, const rf_embed_options *embed, rf_index_options *o,
                                    size_t size, rf_error *why)
{
    rf_embed_options e;
    rf_index_options own;
    const rf_sentence *s;
    if (!(p && o)) return rf__missing("rf_index_options_of", "pipeline, o", why);
    rf_index_defaults(&own);
    rf_status status = rf_pipeline_sentence(p, &s, why);
    if (!status && s) status = rf_sentence_cosines(s, why);
    if (!status) status = rf_embed_resolve(p, embed, &e, why);
    if (!status) status = rf_pipeline_fingerprint(p, &own.fingerprint, why);
    if (status) return status;
    own.dimensions = rf_embed_width(p, &e);
    own.pooling = e.pooling;
    own.include_prompt = e.include_prompt;
    own.max_length = e.max_length;
    own.prompt = *e.prompt ? e.prompt : NULL;
    own.type = p->model->type;
    own.skip_special_tokens = e.skip_special_tokens;
    own.layer_norm = e.layer_norm;
    rf__options_init(o, size, &own, sizeof own);
    return RF_OK;
}

static rf_status failed(rf_error *why, const char *path, const char *verb)
{
    return rf_fail(why, RF_EIO, "%s: cannot %s: %s", path, verb, rf__os_reason(errno));
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Also NAME.tmp-..., before it is renamed. */
static bool is_of_writer(const char *name)
{
    const char *const more[] = {RF_FILE_INDEX, RF_FILE_CHECKSUMS};
    for (size_t i = 0; i < RF__INDEX_FILES + RF_COUNT(more); i++) {
        const char *own = i < RF__INDEX_FILES ? rf__index_file[i] : more[i - RF__INDEX_FILES];
        const size_t n = strlen(own);
        if (!strncmp(name, own, n) && (!name[n] || !strncmp(name + n, ".tmp-", 5))) return true;
    }
    return false;
}

/* Removes the files that a writer creates from a temporary folder, and nothing else. */
static void remove_folder(const char *folder)
{
    char path[4096];
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));)
        if (is_of_writer(name) && !rf__path(path, sizeof path, folder, name, NULL)) rf__os_remove(path);
    rf__os_folder_close(f);
    rf__os_remove_folder(folder);
}

/* NAME.tmp-<pid>-<n> whose lines no process has locked, or which has none while its process has ended. */
static bool is_abandoned(const char *name, const char *prefix, const char *folder)
{
    char path[4096];
    long pid;
    if (strncmp(name, prefix, strlen(prefix)) || !rf__two_numbers(name + strlen(prefix), &pid)) return false;
    if (rf__path(path, sizeof path, folder, RF_FILE_INDEX_LINES, NULL)) return false;
    const int fd = rf__os_open(path, RF__OS_WRITE | RF__OS_NO_LINK);
    if (fd < 0) return errno == ENOENT && rf__os_process_ended(pid);
    const bool left = !rf__os_lock(fd);
    rf__os_close(fd);
    return left;
}

/* Removes what killed writers of this name have left. */
static void sweep(const char *folder)
{
    enum { NAME = 255 };
    char above[4096], path[4096], prefix[NAME + 8];
    const char *slash = rf__os_last_slash(folder);
    const int n = snprintf(prefix, sizeof prefix, "%s.tmp-", slash ? slash + 1 : folder);
    if (n >= (int)sizeof prefix || rf__folder_of(folder, above, sizeof above, NULL)) return;
    rf__os_folder *f = rf__os_folder_open(above);
    for (const char *name; f && (name = rf__os_next(f, NULL));)
        if (!rf__path(path, sizeof path, above, name, NULL) && is_abandoned(name, prefix, path)) remove_folder(path);
    rf__os_folder_close(f);
}

static rf_status make_folder(rf_index_writer *w, rf_error *why)
{
    enum { TRIES = 1000 };
    static atomic_uint number;
    const size_t length = strlen(w->folder);
    sweep(w->folder);
    for (int i = 0; i < TRIES; i++) {
        const int wrote = snprintf(w->temporary, sizeof w->temporary, "%.*s.tmp-%ld-%u", (int)length, w->folder,
                                   rf__os_process(), atomic_fetch_add(&number, 1));
        if (wrote < 0 || (size_t)wrote + 64 >= sizeof w->temporary)
            return rf_fail(why, RF_ERANGE, "%.100s...: expected a shorter path", w->folder);
        if (!rf__os_make_folder(w->temporary)) return RF_OK;
        if (errno != EEXIST) break;
    }
    const rf_status status = failed(why, w->folder, "create");
    *w->temporary = 0;                                                  /* nothing to remove */
    return status;
}

/* Errors name the file by its final path. */
static rf_status append(rf_index_writer *w, int which, const void *data, size_t size, rf_error *why)
{
    char path[4096];
    const rf_status status = rf__path(path, sizeof path, w->folder, rf__index_file[which], why);
    return status ? status : rf__write_all(w->fd[which], data, size, path, why);
}

static rf_status open_file(rf_index_writer *w, int which, rf_error *why)
{
    char path[4096], header[RF_NPY_HEAD];
    const rf_status status = rf__path(path, sizeof path, w->temporary, rf__index_file[which], why);
    if (status) return status;
    w->fd[which] = rf__os_open(path, RF__OS_WRITE | RF__OS_CREATE | RF__OS_NEW);
    if (w->fd[which] < 0) return failed(why, path, "create");
    if (which == RF__LINES) (void)rf__os_lock(w->fd[which]);                    /* marks the folder as in use     */
    return append(w, which, header, rf__index_header(which, 0, w->o.dimensions, header), why);
}

static rf_status check_options(const rf_index_options *o, rf_error *why)
{
    if (o->dimensions < 1 || o->dimensions > RF_MAX_INDEX_DIMENSIONS)
        return rf_fail(why, RF_EARG, "dimensions: expected 1 to %d, got %lld", RF_MAX_INDEX_DIMENSIONS,
                       (long long)o->dimensions);
    if (!rf__poolings_are(o->pooling))
        return rf_fail(why, RF_EARG, "pooling: expected a value of rf_pooling, got %d", (int)o->pooling);
    if (o->max_length < -1 || o->max_length > INT32_MAX)
        return rf_fail(why, RF_EARG, "max_length: expected -1 to %d, got %lld", INT32_MAX, (long long)o->max_length);
    if (!rf__index_type(o->type))
        return rf_fail(why, RF_EARG, "type: expected RF_F32, RF_BF16, RF_I8 or RF_I8W, got %d", (int)o->type);
    if (o->prompt && !rf__json_takes(o->prompt)) return rf_fail(why, RF_EARG, "prompt: expected UTF-8");
    if (o->model_name && !rf__json_takes(o->model_name)) return rf_fail(why, RF_EARG, "model_name: expected UTF-8");
    if (o->model_path && !rf__json_takes(o->model_path)) return rf_fail(why, RF_EARG, "model_path: expected UTF-8");
    return RF_OK;
}

static rf_status check_free(const char *folder, rf_error *why)
{
    rf__os_state st;
    if (rf__os_look_link(folder, &st)) return errno == ENOENT ? RF_OK : failed(why, folder, "open");
    if (st.kind == RF__OS_FOLDER && !rf__os_remove_folder(folder)) return RF_OK;     /* an empty folder is replaced */
    if (st.kind == RF__OS_FOLDER && errno != ENOTEMPTY && errno != EEXIST) return failed(why, folder, "replace");
    return rf_fail(why, RF_EARG,
                   "%s: expected a new folder for the index, got one that exists; remove it, or choose another name",
                   folder);
}

rf_status rf_index_create(const rf_ctx *ctx, const char *folder, const rf_index_options *options,
                          rf_index_writer **out, rf_error *why)
{
    if (!(ctx && folder && *folder && options && out))
        return rf__missing("rf_index_create", "ctx, folder, options, out", why);
    rf_index_options o;
    rf_index_defaults(&o);
    rf_status status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_index_options, prompt), options,
                                        "rf_index_options", why);
    if (!status) status = check_options(&o, why);
    if (status) return status;
    rf_index_writer *w = rf__calloc(ctx, 1, sizeof *w);
    if (!w) return rf_fail(why, RF_ENOMEM, "out of memory: an index");
    w->ctx = ctx;
    w->o = o;
    for (int i = 0; i < RF__INDEX_FILES; i++) w->fd[i] = -1;
    w->folder = rf__strdup(ctx, folder);
    w->prompt = o.prompt ? rf__strdup(ctx, o.prompt) : NULL;
    w->model_name = o.model_name ? rf__strdup(ctx, o.model_name) : NULL;
    w->model_path = o.model_path ? rf__strdup(ctx, o.model_path) : NULL;
    if (!w->folder || (o.prompt && !w->prompt) || (o.model_name && !w->model_name) || (o.model_path && !w->model_path))
        status = rf_fail(why, RF_ENOMEM, "out of memory: an index");
    for (size_t n = strlen(folder); !status && n > 1 && rf__os_is_slash(w->folder[n - 1]);) w->folder[--n] = 0;
    if (!status) status = check_free(w->folder, why);
    if (!status) status = make_folder(w, why);
    for (int i = 0; i < RF__INDEX_FILES && !status; i++) status = open_file(w, i, why);
    const int64_t zero = 0;
    if (!status) status = append(w, RF__OFFSETS, &zero, sizeof zero, why);
    if (status) {
        rf_index_discard(w);
        return status;
    }
    *out = w;
    return RF_OK;
}

static void close_files(rf_index_writer *w)
{
    for (int i = 0; i < RF__INDEX_FILES; i++) {
        if (w->fd[i] >= 0) rf__os_close(w->fd[i]);
        w->fd[i] = -1;
    }
}

void rf_index_discard(rf_index_writer *w)
{
    if (!w) return;
    close_files(w);
    if (*w->temporary) remove_folder(w->temporary);
    rf__free(w->ctx, w->folder);
    rf__free(w->ctx, w->prompt);
    rf__free(w->ctx, w->model_name);
    rf__free(w->ctx, w->model_path);
    rf__free(w->ctx, w->rows);
    rf__free(w->ctx, w);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* |v|, or the error. */
static rf_status length_of(const float *v, int64_t D, double *length, rf_error *why)
{
    double sum = 0;
    for (int64_t c = 0; c < D; c++) sum += (double)v[c] * (double)v[c];
    *length = sqrt(sum);
    if (!isfinite(sum)) return rf_fail(why, RF_ENUMERIC, "vector: expected finite numbers, got NaN or infinity");
    return sum > 0 ? RF_OK
                   : rf_fail(why, RF_ENUMERIC, "vector is zero; cosine similarity is undefined");
}

static rf_status check_rows(const rf_index_writer *w, const float *v, const char *const text[], const size_t bytes[],
                            int64_t n, int64_t *bad, rf_error *why)
{
    double length;
    for (int64_t i = 0; i < n; i++) {
        const size_t size = rf__text_bytes(text, bytes, i);
        rf_status status = RF_OK;
        if (size && memchr(text[i], '\n', size))
            status = rf_fail(why, RF_EDATA, "text: expected one line, got a line feed");
        else if (!rf_utf8_blank(text[i], size))
            status = length_of(v + i * w->o.dimensions, w->o.dimensions, &length, why);
        if (!status) continue;
        *bad = i;
        return status;
    }
    return RF_OK;
}

/* Space for `n` rows of `bytes` each. */
static rf_status reserve(rf_index_writer *w, int64_t n, size_t bytes, rf_error *why)
{
    size_t all;
    if (rf__checked_mul((size_t)n, bytes, &all) && rf__grow(w->ctx, &w->rows, &w->capacity, all ? all : 1, 1))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: %lld rows of an index", (long long)n);
}

/* Normalizes v to length 1; it is unchanged if its length is 1 within the rounding of f32. */
static void to_unit(const float *v, int64_t D, float *out)
{
    double length = 0;
    (void)length_of(v, D, &length, NULL);
    const double scale = fabs(length - 1) <= 1e-6 ? 1 : 1 / length;
    for (int64_t c = 0; c < D; c++) out[c] = (float)((double)v[c] * scale);
}

/* c = rint(v / s) with s = max |v| / 127, and a bound on |v - s c|. */
static void quantize(const float *v, int64_t D, int8_t *code, float row[2])
{
    float most = 0;
    double square = 0;
    for (int64_t c = 0; c < D; c++) most = fmaxf(most, fabsf(v[c]));
    row[0] = most / 127;
    for (int64_t c = 0; c < D; c++) {
        const double x = row[0] > 0 ? fmin(fmax(rint((double)v[c] / (double)row[0]), -127), 127) : 0;
        const double lost = (double)v[c] - x * (double)row[0];
        code[c] = (int8_t)x;
        square += lost * lost;
    }
    row[1] = nextafterf((float)sqrt(square), INFINITY);
}

/* Writes vectors.faiss, codes.npy and scales.npy, a block of rows at a time. */
static rf_status add_vectors(rf_index_writer *w, const float *v, const char *const text[], const size_t bytes[],
                             int64_t n, rf_error *why)
{
    enum { BLOCK = 256 };
    const size_t D = (size_t)w->o.dimensions, row = D * (sizeof *v + 1) + 2 * sizeof *v;
    rf_status status = reserve(w, rf__min64(n, BLOCK), row, why);
    for (int64_t from = 0; from < n && !status; from += BLOCK) {
        const int64_t rows = rf__min64(n - from, BLOCK);
        float *unit = w->rows, *scale = unit + (size_t)rows * D;
        int8_t *code = (int8_t *)(scale + 2 * rows);
        memset(w->rows, 0, (size_t)rows * row);
        for (int64_t i = 0; i < rows; i++) {
            if (rf_utf8_blank(text[from + i], rf__text_bytes(text, bytes, from + i))) {
                scale[2 * i + 1] = -1;
                continue;
            }
            to_unit(v + (size_t)(from + i) * D, (int64_t)D, unit + (size_t)i * D);
            quantize(unit + (size_t)i * D, (int64_t)D, code + (size_t)i * D, scale + 2 * i);
        }
        status = append(w, RF__VECTORS, unit, (size_t)rows * D * sizeof *v, why);
        if (!status) status = append(w, RF__CODES, code, (size_t)rows * D, why);
        if (!status) status = append(w, RF__SCALES, scale, (size_t)rows * 2 * sizeof *v, why);
    }
    return status;
}

/* Writes lines.txt and offsets.npy. */
static rf_status add_lines(rf_index_writer *w, const char *const text[], const size_t bytes[], int64_t n, rf_error *why)
{
    size_t all = 0;
    rf_status status = reserve(w, n, sizeof(int64_t), why);
    if (status) return status;
    int64_t *offset = w->rows;
    for (int64_t i = 0; i < n; i++) {
        all += rf__text_bytes(text, bytes, i) + 1;
        offset[i] = w->end + (int64_t)all;
    }
    status = append(w, RF__OFFSETS, offset, (size_t)n * sizeof *offset, why);
    if (!status) status = reserve(w, 1, all, why);
    if (status) return status;
    char *to = w->rows;
    for (int64_t i = 0; i < n; i++) {
        const size_t size = rf__text_bytes(text, bytes, i);
        if (size) memcpy(to, text[i], size);
        to[size] = '\n';
        to += size + 1;
    }
    status = append(w, RF__LINES, w->rows, all, why);
    w->end += (int64_t)all;
    return status;
}

rf_status rf_index_add(rf_index_writer *w, const float *vectors, const char *const text[], const size_t bytes[],
                       int64_t n, int64_t *bad, rf_error *why)
{
    int64_t other;
    if (!bad) bad = &other;
    *bad = -1;
    if (!w || n < 0 || (n && !(vectors && text))) return rf__missing("rf_index_add", "writer, vectors, text", why);
    rf_status status = check_rows(w, vectors, text, bytes, n, bad, why);
    if (!status) status = add_vectors(w, vectors, text, bytes, n, why);
    if (!status) status = add_lines(w, text, bytes, n, why);
    if (!status) w->n += n;
    return status;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static rf_status write_description(const rf_index_writer *w, rf_error *why)
{
    char path[4096], fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)w->o.fingerprint);
    json_t *all = json_pack("{s:s, s:I, s:I, s:s, s:s?, s:s, s:I, s:s?, s:s}", "format", RF__INDEX_FORMAT, "count",
                            (json_int_t)w->n, "dimensions", (json_int_t)w->o.dimensions, "model", fingerprint,
                            "model_name", w->model_name, "pooling", rf__poolings_text(w->o.pooling).text, "max_length",
                            (json_int_t)w->o.max_length, "prompt", w->prompt, "dtype", rf__index_type(w->o.type));
    if (w->o.skip_special_tokens) rf__json_set(&all, "skip_special_tokens", json_true());
    if (w->o.layer_norm) rf__json_set(&all, "layer_norm", json_true());
    if (!w->o.include_prompt) rf__json_set(&all, "include_prompt", json_false());
    if (w->model_path) rf__json_set(&all, "model_path", json_string(w->model_path));
    char *text = rf__json_dump(all, JSON_INDENT(1));
    json_decref(all);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: " RF_FILE_INDEX);
    rf_status status = rf__path(path, sizeof path, w->temporary, RF_FILE_INDEX, why);
    if (!status) status = rf__replace_file(w->ctx, path, text, strlen(text), why);
    free(text);
    return status;
}

static rf_status complete(rf_index_writer *w, rf_error *why)
{
    char header[RF_NPY_HEAD], path[4096];
    if (!w->n) return rf_fail(why, RF_EDATA, "%s: expected at least one text to index, got none", w->folder);
    for (int i = 0; i < RF__INDEX_FILES; i++) {
        const size_t size = rf__index_header(i, w->n, w->o.dimensions, header);
        if (rf__os_write_at(w->fd[i], header, size, 0) == (int64_t)size && !rf__os_sync(w->fd[i])) continue;
        const int e = errno;
        const rf_status status = rf__path(path, sizeof path, w->folder, rf__index_file[i], why);
        errno = e;
        return status ? status : failed(why, path, "write");
    }
    rf_status status = write_description(w, why);
    if (!status) status = rf__checksums_write(w->ctx, w->temporary, RF_FILE_CHECKSUMS, NULL, why);
    if (!status) status = rf__sync_folder(w->temporary, why);
    if (status) return status;
#ifdef _WIN32
    close_files(w);                                     /* elsewhere the lock holds until the folder has its name */
#endif
    if (rf__os_rename(w->temporary, w->folder)) return failed(why, w->folder, "create");
    *w->temporary = 0;                                                  /* renamed: nothing to remove */
    char above[4096];
    status = rf__folder_of(w->folder, above, sizeof above, why);
    return status ? status : rf__sync_folder(above, why);
}

rf_status rf_index_finish(rf_index_writer *w, rf_error *why)
{
    if (!w) return rf__missing("rf_index_finish", "writer", why);
    const rf_status status = complete(w, why);
    rf_index_discard(w);
    return status;
}
