/* regex.c — regular expressions by Oniguruma, with its default syntax as tokenizers uses it. */
#include <oniguruma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "newer.inc"
#include "regex.h"
#include "text/unicode/unicode.h"

/* Most bytes of a pattern; backtracking steps of one match (Oniguruma's default, at which tokenizers fails, too), and
 * of one search, in addition to so many for each byte; entries of the stack (about 100 bytes each); seconds, in
 * addition to those for each byte. */
enum { LONGEST = 1 << 16, MATCH_STEPS = 10000000, BYTE_STEPS = 100, STACK = 1 << 22, SECONDS = 10 };
#define BYTE_SECONDS 1e-6

struct rf__regex {
    OnigRegex compiled;
    const rf_ctx *ctx;
    bool newer;                         /* the pattern has such a character itself: texts are searched as they are    */
    char where[256];
};

static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void begin(void)
{
    OnigEncoding utf8 = ONIG_ENCODING_UTF8;
    onig_initialize(&utf8, 1);
}

uint32_t rf__known_as(uint32_t c)
{
    size_t low = 0, high = RF_COUNT(newer);               /* newer[low].first is at or before c, newer[high] after it */
    if (c < newer[0].first) return 0;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (newer[middle].first <= c) low = middle;
        else high = middle;
    }
    return c <= newer[low].last ? newer[low].as : 0;
}

/* Whether the pattern has a newer character, as itself or as \x{...}. */
static bool names_newer(const char *pattern, size_t size)
{
    for (size_t at = 0; at < size;) {
        const bool code = size - at > 3 && !memcmp(pattern + at, "\\x{", 3);
        if (code && rf__known_as((uint32_t)strtoul(pattern + at + 3, NULL, 16))) return true;
        if (rf__known_as(rf__utf8_get((const unsigned char *)pattern, &at))) return true;
    }
    return false;
}

/* [:punct:] of a class as a class of its own: symbols belong to it in the version that tokenizers has, not in 6.9.8.
 * `out` has space for 4 times the pattern.  Returns the length. */
static size_t with_symbols(const char *pattern, size_t size, char *out)
{
    size_t n = 0, depth = 0;
    for (size_t i = 0; i < size; i++) {
        const bool others = size - i >= 10 && !memcmp(pattern + i, "[:^punct:]", 10);
        if (depth && (others || (size - i >= 9 && !memcmp(pattern + i, "[:punct:]", 9)))) {
            for (const char *p = others ? "[^\\p{P}\\p{S}]" : "[\\p{P}\\p{S}]"; *p; p++) out[n++] = *p;
            i += others ? 9 : 8;
            continue;
        }
        if (pattern[i] == '[') depth++;
        if (pattern[i] == ']' && depth) depth--;
        out[n++] = pattern[i];
        if (pattern[i] == '\\' && i + 1 < size) out[n++] = pattern[++i];
    }
    return n;
}

rf_status rf__regex_compile(rf__regex **out, const rf_ctx *ctx, const char *pattern, size_t size, const char *where,
                            rf_error *why)
{
    OnigErrorInfo info = {0};
    rf__regex *r;
    if (size > LONGEST)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: Regex: expected at most %d bytes, got %zu", where, LONGEST, size);
    pthread_once(&begun, begin);
    if (!(r = rf__calloc(ctx, 1, sizeof *r))) return rf_fail(why, RF_ENOMEM, "%s: out of memory", where);
    r->ctx = ctx;
    r->newer = names_newer(pattern, size);
    snprintf(r->where, sizeof r->where, "%s", where);
    char *own = rf__alloc(ctx, 4 * size + 1);
    if (!own) return rf__free(ctx, r), rf_fail(why, RF_ENOMEM, "%s: out of memory", where);
    const OnigUChar *p = (const OnigUChar *)own, *end = p + with_symbols(pattern, size, own);
    const int code = onig_new(&r->compiled, p, end, ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT,
                              &info);
    rf__free(ctx, own);
    if (code == ONIG_NORMAL) return *out = r, RF_OK;
    OnigUChar reason[ONIG_MAX_ERROR_MESSAGE_LEN] = {0};
    onig_error_code_to_str(reason, code, &info);
    rf__free(ctx, r);
    if (code == ONIGERR_MEMORY) return rf_fail(why, RF_ENOMEM, "%s: out of memory", where);
    return rf_fail(why, RF_EDATA, "%s: Regex \"%.100s\": expected a regular expression of Oniguruma, got an error: %s",
                   where, rf__printable(pattern).text, rf__printable((const char *)reason).text);
}

void rf__regex_free(rf__regex *r, const rf_ctx *ctx)
{
    if (r) onig_free(r->compiled);
    rf__free(ctx, r);
}

bool rf__regex_scan_begin(rf__regex_scan *s, const rf__regex *r)
{
    *s = (rf__regex_scan){.regex = r, .region = onig_region_new(), .limits = onig_new_match_param()};
    if (!s->region || !s->limits) return rf__regex_scan_end(s), false;
    onig_initialize_match_param(s->limits);
    onig_set_match_stack_limit_size_of_match_param(s->limits, STACK);
    onig_set_retry_limit_in_match_of_match_param(s->limits, MATCH_STEPS);
    s->until = rf__seconds() + SECONDS;
    return true;
}

/* Replaces *text by a copy with stand-ins if it has newer characters.  False: no memory. */
static bool know(rf__regex_scan *s, const char **text, size_t size)
{
    for (size_t at = 0, next = 0; at < size; at = next) {
        const uint32_t as = rf__known_as(rf__utf8_get((const unsigned char *)*text, &next));
        if (!as) continue;
        if (*text != s->known) {
            if (!rf__grow(s->regex->ctx, &s->known, &s->capacity, size, 1)) return false;
            memcpy(s->known, *text, size);
            *text = s->known;
        }
        rf__utf8_encode(as, s->known + at);
    }
    return true;
}

bool rf__regex_scan_text(rf__regex_scan *s, const char *text, size_t size)
{
    if (!s->regex->newer && !know(s, &text, size)) return false;
    s->text = text;
    s->size = size;
    s->at = 0;
    s->last = SIZE_MAX;
    s->until += BYTE_SECONDS * (double)size;
    onig_set_retry_limit_in_search_of_match_param(s->limits, MATCH_STEPS + BYTE_STEPS * (unsigned long)size);
    return true;
}

void rf__regex_scan_end(rf__regex_scan *s)
{
    if (s->region) onig_region_free(s->region, 1);
    if (s->limits) onig_free_match_param(s->limits);
    rf__free(s->regex->ctx, s->known);
    s->region = s->limits = s->known = NULL;
}

static int exceeded(const rf__regex_scan *s, int code, rf_error *why)
{
    OnigUChar reason[ONIG_MAX_ERROR_MESSAGE_LEN] = "it took too long";
    if (code == ONIGERR_MEMORY) return rf_fail(why, RF_ENOMEM, "encode: out of memory for a regular expression"), -1;
    if (code) onig_error_code_to_str(reason, code);
    rf_fail(why, RF_ERANGE, "encode: %s: Regex: expected a search that ends within %d million steps and %d seconds, "
            "got one of %zu bytes that was stopped (%s); the pattern backtracks too much for this text",
            s->regex->where, MATCH_STEPS / 1000000, SECONDS, s->size, (const char *)reason);
    return -1;
}

int rf__regex_next(rf__regex_scan *s, size_t *from, size_t *to, rf_error *why)
{
    const OnigUChar *p = (const OnigUChar *)s->text, *end = p + s->size;
    while (s->at <= s->size) {
        OnigRegion *found = s->region;
        if (!(++s->searches & 63) && rf__seconds() > s->until) return exceeded(s, 0, why);
        const int code = onig_search_with_param(s->regex->compiled, p, end, p + s->at, end, found, ONIG_OPTION_NONE,
                                                s->limits);
        if (code == ONIG_MISMATCH) break;
        if (code < 0) return exceeded(s, code, why);
        *from = (size_t)found->beg[0];
        *to = (size_t)found->end[0];
        if (*from == *to && *to == s->last) {             /* an empty match at the end of the last one                */
            do s->at++; while (s->at < s->size && (p[s->at] & 0xC0) == 0x80);
            continue;
        }
        s->at = s->last = *to;
        return 1;
    }
    s->at = s->size + 1;
    return 0;
}
