/* names.c — finds the name that was probably meant. */
#include "base.h"

int rf__edit_distance(const char *a, size_t m, const char *b, size_t n)
{
    enum { MOST = 64 };
    int row[MOST + 1];
    m = m < MOST ? m : MOST;
    n = n < MOST ? n : MOST;
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 0; i < m; i++) {
        int corner = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            const int swap = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = (row[j + 1] < row[j] ? row[j + 1] : row[j]) + 1;
            if (swap < row[j + 1]) row[j + 1] = swap;
        }
    }
    return row[n];
}
