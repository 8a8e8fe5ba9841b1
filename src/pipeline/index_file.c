/* index_file.c — the files of an index, with the headers of NumPy and FAISS (inspect/files.h). */
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

size_t rf__index_header(int which, int64_t n, int64_t D, char out[RF_NPY_HEAD])
{
    switch (which) {
    case RF__CODES: return rf_npy_head("|i1", n, D, out);
    case RF__SCALES: return rf_npy_head("<f4", n, 2, out);
    case RF__OFFSETS: return rf_npy_head("<i8", n + 1, 0, out);
    case RF__VECTORS: return rf_faiss_head(n, D, 0, out);
    default: return 0;
    }
}

bool rf__index_bytes(int which, int64_t n, int64_t D, size_t *out)
{
    const size_t of_text[] = {[RF__CODES] = (size_t)D, [RF__SCALES] = 2 * sizeof(float),
                              [RF__VECTORS] = (size_t)D * sizeof(float), [RF__OFFSETS] = sizeof(int64_t),
                              [RF__LINES] = 0};
    char header[RF_NPY_HEAD];
    const size_t rows = (size_t)n + (which == RF__OFFSETS);
    return rf__checked_mul(rows, of_text[which], out) &&
           rf__checked_add(*out, rf__index_header(which, n, D, header), out);
}
