/* text.c — what only some C libraries have: bytes in bytes, names with numbers, patterns of names. */
#include <stdlib.h>

#include "base/base.h"

const void *rf__find(const void *in, size_t size, const void *what, size_t n)
{
    const char *at = in, *const first = what;
    if (!n) return in;
    for (const char *const end = at + size; (size_t)(end - at) >= n; at++) {
        at = memchr(at, *first, (size_t)(end - at) - n + 1);
        if (!at || !memcmp(at, first, n)) return at;
    }
    return NULL;
}

const void *rf__find_last(const void *in, char what, size_t size)
{
    const char *const at = in;
    while (size--)
        if (at[size] == what) return at + size;
    return NULL;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

int rf__compare_numbered(const char *a, const char *b)
{
    while (*a && *b) {
        if (digit(*a) && digit(*b)) {
            const char *const x = a + strspn(a, "0"), *const y = b + strspn(b, "0");
            const size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
            const int order = m != n ? (m < n ? -1 : 1) : memcmp(x, y, m);
            if (order) return order;
            a = x + m, b = y + n;
        } else if (*a != *b) {
            break;
        } else {
            a++, b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

bool rf__matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;      /* after the last '*', and where the rest was tried in the name */
    while (*name) {
        if (*pattern == '*') star = ++pattern, from = name;
        else if (*pattern == *name || (*pattern == '?' && *name != '/')) pattern++, name++;
        else if (star && *from != '/') pattern = star, name = ++from;
        else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}
