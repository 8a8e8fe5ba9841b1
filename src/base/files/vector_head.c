/* vector_head.c — the headers of files of vectors; see inspect/files.h. */
#include <stdio.h>

#include "base/base.h"
#include "roformer/inspect/files.h"

size_t rf_npy_head(const char *type, int64_t rows, int64_t columns, char out[RF_NPY_HEAD])
{
    char shape[64], text[RF_NPY_HEAD];
    if (columns) snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)rows, (long long)columns);
    else snprintf(shape, sizeof shape, "(%lld,)", (long long)rows);
    const int n = snprintf(text, sizeof text, "{'descr': '%.8s', 'fortran_order': False, 'shape': %s, }", type, shape);
    memset(out, ' ', RF_NPY_HEAD);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = RF_NPY_HEAD - 10;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    out[RF_NPY_HEAD - 1] = '\n';
    return RF_NPY_HEAD;
}

size_t rf_faiss_head(int64_t rows, int64_t columns, int l2, char out[RF_FAISS_HEAD])
{
    const int32_t width = (int32_t)columns, metric = l2 != 0;
    const int64_t reserved = 1 << 20;
    const uint64_t numbers = (uint64_t)rows * (uint64_t)columns;
    const char name[] = {'I', 'x', 'F', l2 ? '2' : 'I'};
    memcpy(out, name, sizeof name);
    memcpy(out + 4, &width, 4);
    memcpy(out + 8, &rows, 8);
    memcpy(out + 16, &reserved, 8);
    memcpy(out + 24, &reserved, 8);
    out[32] = 1;
    memcpy(out + 33, &metric, 4);
    memcpy(out + 37, &numbers, 8);
    return RF_FAISS_HEAD;
}
