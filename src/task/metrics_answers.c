/* metrics_answers.c — compares answers as the evaluation script of SQuAD does.
 *
 *     lower  ->  no ASCII punctuation  ->  the words a, an, the become a space  ->  words, one space between
 *
 *     F1 = 2 common / (words of gold + words of the prediction),  common: of the two bags of words */
#include <stdlib.h>
#include <utf8proc.h>

#include "text/unicode/unicode.h"
#include "task/metrics.h"

static bool white(uint32_t c) { return rf__unicode_white(c) || (c >= 0x1C && c <= 0x1F); }          /* Python's split */

static bool punctuation(uint32_t c)
{
    return c > 0x20 && c < 0x7F && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
}

/* Python's \w: letters and numbers of any script (underscores have been removed as punctuation). */
static bool is_word_character(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU: case UTF8PROC_CATEGORY_LL: case UTF8PROC_CATEGORY_LT: case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: case UTF8PROC_CATEGORY_ND: case UTF8PROC_CATEGORY_NL: case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return false;
    }
}

static bool article(const char *p, size_t n)
{
    return (n == 1 && *p == 'a') || (n == 2 && !memcmp(p, "an", 2)) || (n == 3 && !memcmp(p, "the", 3));
}

/* Converts to lower case and removes punctuation; no letter's lower case needs more than twice its bytes. */
static size_t lower(const char *text, size_t size, char *out)
{
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        const uint32_t c = rf__utf8_get((const unsigned char *)text, &at);
        if (punctuation(c)) continue;
        if (c == 0x130) {                                          /* the only letter whose lower case is two scalars */
            n += rf__utf8_encode('i', out + n);
            n += rf__utf8_encode(0x307, out + n);
        } else {
            n += rf__utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)c), out + n);
        }
    }
    return n;
}

size_t rf__squad_normal(const char *text, size_t size, char *out)
{
    const size_t n = lower(text, size, out);
    size_t to = 0;
    bool gap = false;                                              /* a space must precede the next word              */
    for (size_t at = 0; at < n;) {
        size_t begin = at, next = at;
        uint32_t c = rf__utf8_get((const unsigned char *)out, &next);
        if (is_word_character(c)) {                                /* a run of word characters                        */
            for (at = next; at < n; at = next) {
                c = rf__utf8_get((const unsigned char *)out, &next);
                if (!is_word_character(c)) break;
            }
            if (article(out + begin, at - begin)) {
                gap = true;
                continue;
            }
        } else {
            at = next;
            if (white(c)) {
                gap = true;
                continue;
            }
        }
        if (gap && to) out[to++] = ' ';
        gap = false;
        memmove(out + to, out + begin, at - begin);
        to += at - begin;
    }
    out[to] = '\0';
    return to;
}

static int by_text(const void *a, const void *b)
{
    const char *p, *q;
    memcpy(&p, a, sizeof p);
    memcpy(&q, b, sizeof q);
    return strcmp(p, q);
}

/* Splits at the spaces, in place, and sorts. */
static size_t words(char *text, const char *word[])
{
    size_t n = 0;
    for (char *at = text; *at;) {
        word[n++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = '\0';
    }
    if (n) qsort(word, n, sizeof *word, by_text);
    return n;
}

static double overlap(const char *const a[], size_t n, const char *const b[], size_t m)
{
    size_t common = 0;
    if (!n || !m) return n == m ? 1 : 0;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const int c = strcmp(a[i], b[j]);
        common += c == 0;
        i += c <= 0;
        j += c >= 0;
    }
    return 2 * (double)common / (double)(n + m);
}

rf_status rf__squad_metrics(const rf_ctx *ctx, const char *answer, const char *predicted, double *exact, double *f1,
                            rf_error *why)
{
    const size_t size[2] = {strlen(answer), strlen(predicted)};
    if (rf_utf8_check(answer, size[0]) < size[0] || rf_utf8_check(predicted, size[1]) < size[1])
        return rf_fail(why, RF_EDATA, "scores: expected UTF-8, got an answer that is not");
    char *a = rf__alloc(ctx, 2 * size[0] + 1), *b = rf__alloc(ctx, 2 * size[1] + 1);
    const char **in_a = rf__calloc(ctx, size[0] + 1, sizeof *in_a), **in_b = rf__calloc(ctx, size[1] + 1, sizeof *in_b);
    const bool fine = a && b && in_a && in_b;
    if (fine) {
        const size_t n = rf__squad_normal(answer, size[0], a), m = rf__squad_normal(predicted, size[1], b);
        *exact = n == m && !memcmp(a, b, n);
        const size_t words_a = words(a, in_a), words_b = words(b, in_b);
        *f1 = overlap(in_a, words_a, in_b, words_b);
    }
    rf__free(ctx, a);
    rf__free(ctx, b);
    rf__free(ctx, (void *)in_a);
    rf__free(ctx, (void *)in_b);
    return fine ? RF_OK
                : rf_fail(why, RF_ENOMEM, "out of memory: words of answers of %zu and %zu bytes", size[0], size[1]);
}
