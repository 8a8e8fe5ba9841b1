/* search.c — nearest-neighbor search in an index.
 *
 *     <q, v_i>  =  s_i <q, c_i>  +  <q, v_i - s_i c_i>,          |<q, v_i - s_i c_i>|  <=  |q| e_i
 *
 * c_i are the codes, s_i their scale, e_i a bound on the rounding error. q is rounded to 16 bits for the first product,
 * which changes it by at most |q - q'| (|v_i| + e_i). So <q, v_i> is known up to some d_i (reach). The k-th largest
 * lower bound is at most the k-th largest product, so a vector whose upper bound is below it is not among the first k.
 * The products of all other vectors are computed exactly, in double. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/files/json_file.h"
#include "base/os/os.h"
#include "model/model.h"
#include "pipeline/index_file.h"
#include "pipeline/pipeline.h"
#include "roformer/inspect/files.h"
#include "roformer/kernel/kernels.h"
#include "store/store.h"
#include "store/task.h"

struct rf_index {
    const rf_ctx *ctx;
    rf_index_options o;
    char *folder, *prompt, *model_name, *model_path;
    int64_t n;
    rf_map file[RF__INDEX_FILES];
    const int8_t *code;                 /* [n,D] */
    const float *scale;                 /* [n,2] */
    const int64_t *offset;              /* [n + 1] */
    float *score;                       /* [n] */
    int16_t *query;                     /* [D] */
    float *vector;                      /* [D] */
    double *lower;                      /* [tops] a heap, with the smallest on top */
    rf_hit *hit;
    size_t tops, hits;
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static rf_status damaged(const char *folder, const char *file, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s/%s: %s; build the index again", folder, file, what);
}

static bool read_hex(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 16);
    return strlen(text) == 16 && !*end;
}

static rf_status read_description(rf_index *x, const char *folder, const json_t *all, rf_error *why)
{
    const char *format = "", *model = "", *pooling = "", *prompt = NULL;
    const char *name = json_string_value(json_object_get(all, "model_name"));
    const char *path = json_string_value(json_object_get(all, "model_path"));
    const json_t *kept = json_object_get(all, "dtype");
    const char *dtype = kept ? json_is_string(kept) ? json_string_value(kept) : "" : NULL;
    json_int_t n = 0, D = 0, max_length = -1;
    if (json_unpack((json_t *)(uintptr_t)all, "{s:s}", "format", &format) || strncmp(format, "roformer-index-", 15))
        return rf_fail(why, RF_EDATA, "%s/%s: expected an index (\"format\": \"%s\"), got another file", folder,
                       RF_FILE_INDEX, RF__INDEX_FORMAT);
    if (strcmp(format, RF__INDEX_FORMAT) != 0)
        return rf_fail(why, RF_EUNSUPPORTED, "%s/%s: format: expected %s, got %s", folder, RF_FILE_INDEX,
                       RF__INDEX_FORMAT, rf__printable(format).text);
    if (json_unpack((json_t *)(uintptr_t)all, "{s:I, s:I, s:s, s:s, s:I, s?:s}", "count", &n, "dimensions", &D, "model",
                    &model, "pooling", &pooling, "max_length", &max_length, "prompt", &prompt) &&
        json_unpack((json_t *)(uintptr_t)all, "{s:I, s:I, s:s, s:s, s:I, s:n}", "count", &n, "dimensions", &D, "model",
                    &model, "pooling", &pooling, "max_length", &max_length, "prompt"))
        return damaged(folder, RF_FILE_INDEX,
                       "expected count, dimensions, model, pooling and max_length, got fewer", why);
    if (n < 1 || D < 1 || D > RF_MAX_INDEX_DIMENSIONS || max_length < -1 || max_length > INT32_MAX ||
        !read_hex(model, &x->o.fingerprint) || rf__poolings_of(pooling) == RF_POOL_AUTO)
        return damaged(folder, RF_FILE_INDEX, "expected values within their limits, got others", why);
    rf_type type = RF_F32;                                  /* default for indexes without this key */
    while (dtype && type <= RF_I8W && !(rf__index_type(type) && !strcmp(dtype, rf__index_type(type)))) type++;
    if (type > RF_I8W)
        return damaged(folder, RF_FILE_INDEX, "dtype: expected f32, bf16, int8 or int8w, got another", why);
    x->o.type = type;
    x->o.skip_special_tokens = json_is_true(json_object_get(all, "skip_special_tokens"));
    x->o.layer_norm = json_is_true(json_object_get(all, "layer_norm"));
    x->o.pooling = rf__poolings_of(pooling);
    x->o.include_prompt = !json_is_false(json_object_get(all, "include_prompt"));
    x->n = n;
    x->o.dimensions = D;
    x->o.max_length = max_length;
    if (prompt && !(x->prompt = rf__strdup(x->ctx, prompt))) return rf_fail(why, RF_ENOMEM, "out of memory: an index");
    x->o.prompt = x->prompt;
    if (name && !(x->model_name = rf__strdup(x->ctx, name))) return rf_fail(why, RF_ENOMEM, "out of memory: an index");
    x->o.model_name = x->model_name;
    if (path && !(x->model_path = rf__strdup(x->ctx, path))) return rf_fail(why, RF_ENOMEM, "out of memory: an index");
    x->o.model_path = x->model_path;
    return RF_OK;
}

static rf_status open_description(rf_index *x, const char *folder, rf_error *why)
{
    enum { LIMIT = 1 << 20 };
    char path[4096];
    json_t *all;
    rf__os_state st;
    rf_status status = rf__path(path, sizeof path, folder, RF_FILE_INDEX, why);
    if (!status && rf__os_look(path, &st)) {
        if (rf__os_look(folder, &st)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", folder, rf__os_reason(errno));
        if (st.kind != RF__OS_FOLDER)
            return rf_fail(why, RF_EIO, "%s: expected the folder of an index, got a file", folder);
        return rf_fail(why, RF_EIO, "%s: expected an index, got a folder without %s", folder, RF_FILE_INDEX);
    }
    if (!status) status = rf__json_file(x->ctx, path, LIMIT, 0, &all, why);
    if (status) return status;
    status = read_description(x, folder, all, why);
    json_decref(all);
    return status;
}

/* Each file must have the size and the header that index.json implies. */
static rf_status open_file(rf_index *x, const char *folder, int which, rf_error *why)
{
    char path[4096], header[RF_NPY_HEAD], text[96];
    size_t size;
    rf_map *map = &x->file[which];
    rf_status status = rf__path(path, sizeof path, folder, rf__index_file[which], why);
    if (!status) status = rf__map_open(x->ctx, path, map, why);
    if (status || which == RF__LINES) return status;
    if (!rf__index_bytes(which, x->n, x->o.dimensions, &size))
        return damaged(folder, RF_FILE_INDEX, "more texts than memory can hold", why);
    if (map->size != size) {
        snprintf(text, sizeof text, "expected %zu bytes for %lld texts, got %zu", size, (long long)x->n, map->size);
        return damaged(folder, rf__index_file[which], text, why);
    }
    if (memcmp(map->data, header, rf__index_header(which, x->n, x->o.dimensions, header)) != 0)
        return damaged(folder, rf__index_file[which], "expected the header that index.json implies, got another", why);
    return RF_OK;
}

static rf_status check_content(const rf_index *x, const char *folder, rf_error *why)
{
    bool rises = x->offset[0] == 0;
    for (int64_t i = 0; i < x->n && rises; i++) rises = x->offset[i + 1] > x->offset[i];
    if (!rises) return damaged(folder, RF_FILE_INDEX_OFFSETS, "expected offsets that rise, got others", why);
    if ((uint64_t)x->offset[x->n] != x->file[RF__LINES].size) {
        char text[96];
        snprintf(text, sizeof text,
                 "expected %lld bytes, got %zu", (long long)x->offset[x->n], x->file[RF__LINES].size);
        return damaged(folder, RF_FILE_INDEX_LINES, text, why);
    }
    for (int64_t i = 0; i < 2 * x->n; i++)
        if (!isfinite(x->scale[i]))
            return damaged(folder, RF_FILE_INDEX_SCALES, "expected finite numbers, got NaN or infinity", why);
    return RF_OK;
}

static rf_status reserve(rf_index *x, rf_error *why)
{
    x->score = rf__calloc(x->ctx, (size_t)x->n, sizeof *x->score);
    x->query = rf__calloc(x->ctx, (size_t)x->o.dimensions, sizeof *x->query);
    x->vector = rf__calloc(x->ctx, (size_t)x->o.dimensions, sizeof *x->vector);
    if (x->score && x->query && x->vector) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: an index of %lld texts", (long long)x->n);
}

rf_status rf_index_open(const rf_ctx *ctx, const char *folder, rf_index **out, rf_error *why)
{
    if (!(ctx && folder && out)) return rf__missing("rf_index_open", "ctx, folder, out", why);
    rf_error local = {0};
    rf_index *x = rf__calloc(ctx, 1, sizeof *x);
    if (!x) return rf_fail(why, RF_ENOMEM, "out of memory: an index");
    if (!why) why = &local;
    x->ctx = ctx;
    rf_index_defaults(&x->o);
    x->folder = rf__strdup(ctx, folder);
    rf_status status = x->folder ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: an index");
    if (!status) status = open_description(x, folder, why);
    for (int i = 0; i < RF__INDEX_FILES && !status; i++) status = open_file(x, folder, i, why);
    if (!status) {
        x->code = (const int8_t *)x->file[RF__CODES].data + RF_NPY_HEAD;
        x->scale = (const float *)(const void *)(x->file[RF__SCALES].data + RF_NPY_HEAD);
        x->offset = (const int64_t *)(const void *)(x->file[RF__OFFSETS].data + RF_NPY_HEAD);
        status = check_content(x, folder, why);
    }
    if (!status) status = reserve(x, why);
    if (status) {
        rf_index_close(x);
        return status;
    }
    *out = x;
    return RF_OK;
}

void rf_index_close(rf_index *x)
{
    if (!x) return;
    for (int i = 0; i < RF__INDEX_FILES; i++)
        if (x->file[i].data) rf__map_close(x->ctx, &x->file[i]);
    rf__free(x->ctx, x->folder);
    rf__free(x->ctx, x->prompt);
    rf__free(x->ctx, x->model_name);
    rf__free(x->ctx, x->model_path);
    rf__free(x->ctx, x->score);
    rf__free(x->ctx, x->query);
    rf__free(x->ctx, x->vector);
    rf__free(x->ctx, x->lower);
    rf__free(x->ctx, x->hit);
    rf__free(x->ctx, x);
}

int64_t rf_index_count(const rf_index *x) { return x->n; }
const rf_index_options *rf_index_made_with(const rf_index *x) { return &x->o; }

void rf_index_query_options_sized(const rf_index *x, const rf_pipeline *p, rf_embed_options *o, size_t size)
{
    rf_embed_options own;
    rf_embed_defaults(&own);
    own.pooling = x->o.pooling;
    own.normalize = 1;
    own.max_length = x->o.max_length;
    own.dimensions = 0;
    own.dimensions = x->o.dimensions == rf_embed_width(p, &own) ? 0 : x->o.dimensions;
    own.include_prompt = x->o.include_prompt;
    own.prompt = x->o.prompt ? x->o.prompt : "";
    own.skip_special_tokens = x->o.skip_special_tokens;
    own.layer_norm = x->o.layer_norm;
    rf__options_init(o, size, &own, sizeof own);
}

const char *rf_index_text(const rf_index *x, int64_t row, size_t *bytes)
{
    if (row < 0 || row >= x->n) return NULL;
    *bytes = (size_t)(x->offset[row + 1] - x->offset[row] - 1);
    return (const char *)x->file[RF__LINES].data + x->offset[row];
}

/* ---- searching --------------------------------------------------------------------------------------------------- */

typedef struct scan {
    rf_index *x;
    const float *q;
    float step;                         /* q is about `step` times its integers */
    double length, moved;               /* |q|, |q - q'| */
} scan;

/* Rounds q to integers of 16 bits, so small that no sum of products with codes exceeds 32 bits. */
static rf_status round_query(scan *s, rf_error *why)
{
    const int64_t D = s->x->o.dimensions;
    double square = 0, most = 0, lost = 0;
    for (int64_t c = 0; c < D; c++) {
        const double a = (double)s->q[c];
        square += a * a;
        most = fmax(most, fabs(a));
    }
    s->length = sqrt(square);
    if (!isfinite(square)) return rf_fail(why, RF_ENUMERIC, "query: expected a finite vector, got NaN or infinity");
    if (!(square > 0)) return rf_fail(why, RF_ENUMERIC, "query vector is zero; cosine similarity is undefined");
    /* |c| <= 127 sqrt D, and rounding lengthens q' by at most sqrt D / 2 */
    const double root = sqrt((double)D), longest = 0x1p31 / (127 * root) - root;
    s->step = (float)fmax(most / 32767, s->length / longest) * (1 + 0x1p-20f);
    for (int64_t c = 0; c < D; c++) {
        const double whole = rint((double)s->q[c] / (double)s->step);
        s->x->query[c] = (int16_t)whole;
        lost += ((double)s->q[c] - whole * (double)s->step) * ((double)s->q[c] - whole * (double)s->step);
    }
    s->moved = sqrt(lost);
    return RF_OK;
}

enum { BLOCK = 2048 };

static void scan_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const scan *s = arg;
    const rf_index *x = s->x;
    const int64_t from = block * BLOCK, rows = rf__min64(x->n - from, BLOCK);
    int32_t sum[BLOCK];
    rf_ctx_kernels(x->ctx)->dots_i8(sum, x->code + from * x->o.dimensions, x->query, rows, x->o.dimensions);
    for (int64_t i = 0; i < rows; i++)
        x->score[from + i] = x->scale[2 * (from + i)] * ((float)sum[i] * s->step);
}

/* Bound of the difference between score and product: from rounding v and q, and from three operations in f32. */
static double reach(const scan *s, int64_t row)
{
    const double e = (double)s->x->scale[2 * row + 1];
    return s->length * e + (s->moved + 0x1p-21 * s->length) * (1 + e) + 1e-30;
}

static bool findable(const rf_index *x, int64_t row) { return x->scale[2 * row + 1] >= 0; }

/* Replaces the smallest element of a heap, and moves the new one down to its place. */
static void sift(double *heap, int64_t n, double value)
{
    int64_t at = 0;
    for (int64_t next = 1; next < n; next = 2 * at + 1) {
        if (next + 1 < n && heap[next + 1] < heap[next]) next++;
        if (value <= heap[next]) break;
        heap[at] = heap[next];
        at = next;
    }
    heap[at] = value;
}

/* The top-th largest lower bound; -inf if there are fewer texts. */
static double threshold(const scan *s, int64_t top)
{
    const rf_index *x = s->x;
    for (int64_t i = 0; i < top; i++) x->lower[i] = -INFINITY;
    for (int64_t i = 0; i < x->n; i++) {
        if ((double)x->score[i] <= x->lower[0] || !findable(x, i)) continue;
        const double low = (double)x->score[i] - reach(s, i);
        if (low > x->lower[0]) sift(x->lower, top, low);
    }
    return x->lower[0];
}

/* <q, v_row>; v is where FAISS stores it, at any alignment. */
static rf_status product(const scan *s, int64_t row, double *out, rf_error *why)
{
    const size_t D = (size_t)s->x->o.dimensions;
    double sum = 0, square = 0;
    memcpy(s->x->vector, s->x->file[RF__VECTORS].data + RF_FAISS_HEAD + (size_t)row * D * sizeof(float),
           D * sizeof(float));
    for (size_t c = 0; c < D; c++) {
        sum += (double)s->q[c] * (double)s->x->vector[c];
        square += (double)s->x->vector[c] * (double)s->x->vector[c];
    }
    *out = sum;
    if (fabs(square - 1) <= 1e-3) return RF_OK;
    char text[96];
    if (isfinite(square))
        snprintf(text, sizeof text, "vector %lld: expected length 1, got %.4g", (long long)row + 1, sqrt(square));
    else snprintf(text, sizeof text, "vector %lld: expected finite numbers, got NaN or infinity", (long long)row + 1);
    return damaged(s->x->folder, RF_FILE_INDEX_VECTORS, text, why);
}

/* Larger first; of equal scores, the earlier text. */
static int by_score(const void *a, const void *b)
{
    const rf_hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static rf_status rank(const scan *s, double least, int64_t *found, rf_error *why)
{
    rf_index *x = s->x;
    *found = 0;
    for (int64_t i = 0; i < x->n; i++) {
        if (!findable(x, i) || (double)x->score[i] + reach(s, i) < least) continue;
        if (!rf__grow(x->ctx, &x->hit, &x->hits, (size_t)*found + 1, sizeof *x->hit))
            return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts to compare", (long long)*found + 1);
        double score;
        if (product(s, i, &score, why)) return RF_EDATA;
        x->hit[(*found)++] = (rf_hit){i, score};
    }
    if (*found) qsort(x->hit, (size_t)*found, sizeof *x->hit, by_score);
    return RF_OK;
}

rf_status rf_index_search(rf_index *x, const float *query, int64_t top, const rf_hit **hit, int64_t *hits,
                          rf_error *why)
{
    if (!(x && query && hit && hits)) return rf__missing("rf_index_search", "index, query, hit, hits", why);
    if (top < 1) return rf_fail(why, RF_EARG, "top: expected 1 or more, got %lld", (long long)top);
    scan s = {.x = x, .q = query};
    int64_t found = 0;
    top = rf__min64(top, x->n);
    if (!rf__grow(x->ctx, &x->lower, &x->tops, (size_t)top, sizeof *x->lower))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)top);
    rf_status status = round_query(&s, why);
    if (status) return status;
    rf__parallel(x->ctx, (x->n + BLOCK - 1) / BLOCK, scan_block, &s);
    status = rank(&s, threshold(&s, top), &found, why);
    *hit = x->hit;
    *hits = rf__min64(found, top);
    return status;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Independent of the order of the tensors in their files. */
rf_status rf_pipeline_fingerprint(const rf_pipeline *p, uint64_t *out, rf_error *why)
{
    if (!(p && out)) return rf__missing("rf_pipeline_fingerprint", "pipeline, out", why);
    const rf_weights *w = p->model->file;
    uint64_t all = rf__tokenizer_fingerprint(rf_model_tokenizer(p->model), 1);
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        all += rf__hash64(t->data, t->bytes, rf__hash64(t->name, strlen(t->name), 1));
        rf__weights_forget(w, t);
    }
    *out = all ? all : 1;
    return RF_OK;
}
