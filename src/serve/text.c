/* text.c — the text that answers are written to; it grows as needed. */
#include "serve/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"

/* Makes space for `more` bytes and a terminating zero. */
static bool reserve(srv_text *t, size_t more)
{
    size_t need, capacity = t->capacity ? t->capacity : 256;
    if (t->failed || !rf__checked_add(t->n, more, &need) || !rf__checked_add(need, 1, &need))
        return !(t->failed = true);
    if (t->most && need - 1 > t->most) return !(t->failed = t->full = true);
    if (need <= t->capacity) return true;
    while (capacity < need)
        if (!rf__checked_mul(capacity, 2, &capacity)) return !(t->failed = true);
    char *at = realloc(t->at, capacity);
    if (!at) return !(t->failed = true);
    t->at = at;
    t->capacity = capacity;
    return true;
}

void srv_put(srv_text *t, const char *text, size_t size)
{
    if (!reserve(t, size)) return;
    if (size) memcpy(t->at + t->n, text, size);
    t->n += size;
    t->at[t->n] = 0;
}

void srv_puts(srv_text *t, const char *text) { srv_put(t, text, strlen(text)); }

void srv_printf(srv_text *t, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int n = vsnprintf(NULL, 0, format, list);
    if (n < 0) t->failed = true;
    else if (reserve(t, (size_t)n)) t->n += (size_t)vsnprintf(t->at + t->n, (size_t)n + 1, format, again);
    va_end(again);
    va_end(list);
}

void srv_text_clear(srv_text *t)
{
    free(t->at);
    *t = (srv_text){.most = t->most};
}

void srv_put_json(srv_text *t, const json_t *value)
{
    char *text = rf__json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text) srv_puts(t, text);
    else t->failed = true;
    free(text);
}

void srv_put_string(srv_text *t, const char *text, size_t size)
{
    json_t *value = rf__json_text(text, size);
    srv_put_json(t, value);
    json_decref(value);
}

/* ---- numbers ---- */

/* 10^k, k from -60 to 60. */
static double power_of_ten(int k)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double p = 1;
    int n = k < 0 ? -k : k;
    for (; n > 22; n -= 22) p *= exact[22];
    p *= exact[n];
    return k < 0 ? 1 / p : p;
}

/* Nine digits identify a float. The product with a power of ten is rounded in double, whose error is far below the
 * distance from a nine-digit number to the middle between two floats. */
void srv_put_float(srv_text *t, float x)
{
    enum { DIGITS = 9 };
    char digit[DIGITS + 1], out[40];
    size_t n = 0;
    if (!isfinite(x)) {
        t->failed = true;
        return;
    }
    if (signbit(x)) out[n++] = '-';
    const double a = fabs((double)x);
    if (!(a > 0)) {
        out[n++] = '0';
        srv_put(t, out, n);
        return;
    }
    int e; /* a = d.ddd 10^e */
    frexp(a, &e);
    e = (int)floor((e - 1) * 0.30102999566398120);
    if (a >= power_of_ten(e + 1)) e++;
    uint64_t whole = (uint64_t)llround(a * power_of_ten(DIGITS - 1 - e));
    if (whole >= 1000000000) whole /= 10, e++;
    for (int i = DIGITS; i--; whole /= 10) digit[i] = (char)('0' + whole % 10);
    int digits = DIGITS;
    while (digits > 1 && digit[digits - 1] == '0') digits--;
    if (e >= 0 && e < DIGITS) {
        for (int i = 0; i < digits || i <= e; i++) {
            if (i == e + 1) out[n++] = '.';
            out[n++] = i < digits ? digit[i] : '0';
        }
    } else if (e < 0 && e >= -5) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = -1; i > e; i--) out[n++] = '0';
        memcpy(out + n, digit, (size_t)digits);
        n += (size_t)digits;
    } else {
        out[n++] = digit[0];
        if (digits > 1) out[n++] = '.';
        memcpy(out + n, digit + 1, (size_t)digits - 1);
        n += (size_t)digits - 1;
        n += (size_t)snprintf(out + n, sizeof out - n, "e%d", e);
    }
    srv_put(t, out, n);
}

void srv_put_floats(srv_text *t, const float x[], size_t n)
{
    srv_put(t, "[", 1);
    for (size_t i = 0; i < n; i++) {
        if (i) srv_put(t, ",", 1);
        srv_put_float(t, x[i]);
    }
    srv_put(t, "]", 1);
}

void srv_put_base64(srv_text *t, const float x[], size_t n)
{
    const size_t bytes = n * sizeof *x, size = rf__base64_size(bytes);   /* the processor is little-endian            */
    if (!reserve(t, size + 3)) return;
    char *out = t->at + t->n;
    out[0] = '"';
    rf__base64(x, bytes, out + 1);
    memcpy(out + size + 1, "\"", 2);
    t->n += size + 2;
}
