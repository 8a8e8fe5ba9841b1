/* names.c — finds the name that was probably meant, and lists names in messages. */
#include <stdio.h>

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

/* Where "and N more" begins, or the end; *more: N. */
static size_t end_of_list(const char *list, unsigned long long *more)
{
    size_t at = strlen(list);
    int used = 0;
    *more = 0;
    for (const char *p = strstr(list, " and "); p; p = strstr(p + 1, " and "))
        if (sscanf(p, " and %llu more%n", more, &used) == 1 && used && !p[used]) return (size_t)(p - list);
    *more = 0;
    return at;
}

void rf__list_add(char *list, size_t size, const char *name)
{
    enum { END = 20 };                                                      /* for " and 123456 more"                 */
    unsigned long long more;
    const size_t at = end_of_list(list, &more), left = size - at;
    if (size <= 2 * END) snprintf(list + at, left, "%s%s", at ? ", " : "", name);
    else if (!at && strlen(name) + END >= size) snprintf(list, size, "%.*s...", (int)(size - END), name);
    else if (more || 2 + strlen(name) + END >= left) snprintf(list + at, left, " and %llu more", more + 1);
    else snprintf(list + at, left, "%s%s", at ? ", " : "", name);
}
