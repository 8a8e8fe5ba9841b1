/* index_file.c — the files of an index: NumPy's format (NEP 1, version 1.0), and FAISS's of an IndexFlatIP:
 *
 *     "IxFI" | D int32 | n int64 | 2^20 int64, twice | trained uint8 = 1 | metric int32 = 0 | n D uint64 | vectors  */
#include <stdio.h>

#include "pipeline/index_file.h"
#include "roformer/inspect/files.h"

const char *const rf__index_file[RF__INDEX_FILES + 1] = {
    RF_FILE_INDEX_CODES, RF_FILE_INDEX_SCALES, RF_FILE_INDEX_VECTORS, RF_FILE_INDEX_OFFSETS, RF_FILE_INDEX_LINES, NULL,
};

const char *rf__index_type(rf_type type)
{
    return type == RF_F32    ? "f32"
           : type == RF_BF16 ? "bf16"
           : type == RF_I8   ? "int8"
           : type == RF_I8W  ? "int8w"
                             : NULL;
}

static size_t faiss_header(int64_t n, int64_t D, char *out)
{
    const int32_t width = (int32_t)D, metric = 0;
    const int64_t reserved = 1 << 20;
    const uint64_t numbers = (uint64_t)n * (uint64_t)D;
    memcpy(out, "IxFI", 4);
    memcpy(out + 4, &width, 4);
    memcpy(out + 8, &n, 8);
    memcpy(out + 16, &reserved, 8);
    memcpy(out + 24, &reserved, 8);
    out[32] = 1;
    memcpy(out + 33, &metric, 4);
    memcpy(out + 37, &numbers, 8);
    return RF__FAISS_HEADER;
}

static size_t npy_header(const char *type, int64_t rows, int64_t columns, char *out)
{
    char shape[64], text[RF__NPY_HEADER];
    if (columns) snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)rows, (long long)columns);
    else snprintf(shape, sizeof shape, "(%lld,)", (long long)rows);
    const int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    memset(out, ' ', RF__NPY_HEADER);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = RF__NPY_HEADER - 10;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    out[RF__NPY_HEADER - 1] = '\n';
    return RF__NPY_HEADER;
}

size_t rf__index_header(int which, int64_t n, int64_t D, char out[RF__NPY_HEADER])
{
    switch (which) {
    case RF__CODES: return npy_header("|i1", n, D, out);
    case RF__SCALES: return npy_header("<f4", n, 2, out);
    case RF__OFFSETS: return npy_header("<i8", n + 1, 0, out);
    case RF__VECTORS: return faiss_header(n, D, out);
    default: return 0;
    }
}

bool rf__index_bytes(int which, int64_t n, int64_t D, size_t *out)
{
    const size_t of_text[] = {[RF__CODES] = (size_t)D, [RF__SCALES] = 2 * sizeof(float),
                              [RF__VECTORS] = (size_t)D * sizeof(float), [RF__OFFSETS] = sizeof(int64_t),
                              [RF__LINES] = 0};
    char header[RF__NPY_HEADER];
    const size_t rows = (size_t)n + (which == RF__OFFSETS);
    return rf__checked_mul(rows, of_text[which], out) &&
           rf__checked_add(*out, rf__index_header(which, n, D, header), out);
}
