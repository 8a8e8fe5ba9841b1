/* index_file.h — the files of an index and their headers. */
#ifndef RF_INDEX_FILE_H
#define RF_INDEX_FILE_H

#include "base/base.h"
#include "roformer/index.h"
#include "roformer/inspect/files.h"

#define RF__INDEX_FORMAT "roformer-index-1"

/*     codes.npy      int8     [n,D]      c = rint(v / s)
 *     scales.npy     f32      [n,2]      s = max |v| / 127, and an upper bound of |v - s c|; -1: never found
 *     vectors.faiss  f32      [n,D]      v, of length 1, in the format of faiss.write_index
 *     offsets.npy    int64    [n + 1]    where each line begins in lines.txt, and where the last one ends */
enum { RF__CODES, RF__SCALES, RF__VECTORS, RF__OFFSETS, RF__LINES, RF__INDEX_FILES };

extern const char *const rf__index_file[RF__INDEX_FILES + 1];    /* file names, NULL at the end */

/* "f32", "bf16", "int8" or "int8w"; NULL: no model has this type. */
const char *rf__index_type(rf_type type);

/* The header of file `which` for n texts of D numbers; returns its size in bytes. */
size_t rf__index_header(int which, int64_t n, int64_t D, char out[RF_NPY_HEAD]);

/* Size of a file in bytes, 0 for lines.txt; false: too large. */
bool rf__index_bytes(int which, int64_t n, int64_t D, size_t *out);

#endif
