/* mt_tokenizers.c — the tokenizers of sacreBLEU, which are rewriting rules on code points.
 *
 *   13a    NIST's mteval-v13a.pl: ASCII punctuation is separated, but not . , within numbers or - with no digit before
 *   intl   mteval-v14.pl: separates Unicode's categories P, except within numbers, and S
 *   zh     Chinese characters and their punctuation are words; the rest is as in 13a
 *
 * Rules are applied one after another, each from left to right without overlaps, like regular expressions.           */
#include "score.h"

/* ---- characters -------------------------------------------------------------------------------------------------- */

bool rf__mt_white(uint32_t c) { return rf__unicode_white(c) || (c >= 0x1C && c <= 0x1F); }

static bool digit(uint32_t c) { return c >= '0' && c <= '9'; }
static bool stop(uint32_t c) { return c == '.' || c == ','; }
static bool no_digit(uint32_t c) { return !digit(c); }
static bool hyphen(uint32_t c) { return c == '-'; }
static bool number(uint32_t c) { return rf__unicode_group(c) == 'N'; }
static bool no_number(uint32_t c) { return !number(c); }
static bool punctuation(uint32_t c) { return rf__unicode_group(c) == 'P'; }
static bool symbol(uint32_t c) { return rf__unicode_group(c) == 'S'; }
static bool any(uint32_t c) { return c != 0x110000; }
static bool visible(uint32_t c) { return !(c == ' ' || (c >= 9 && c <= 13)); }        /* Perl's \S on bytes           */

/* ASCII punctuation except ' , - . */
static bool mark(uint32_t c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
           (c >= ':' && c <= '@') || c == '/';
}

/* Chinese, as in Shujian Huang's script.  Its ranges of higher planes are strings of two characters in Python ("\u2000"
 * and "0" for 20000), which include 2001 to 2A6D and 2F81 to 2FA1, and nothing of those planes. */
static bool chinese(uint32_t c)
{
    static const uint32_t range[][2] = {
        {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F}, {0x31A0, 0x31BF},
        {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
        {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
    };
    for (size_t i = 0; i < RF_COUNT(range); i++)
        if (c >= range[i][0] && c <= range[i][1]) return true;
    return false;
}

/* ---- lower case -------------------------------------------------------------------------------------------------- */

static uint32_t lower_of(const rf_unicode *u, uint32_t c)
{
    uint32_t to[2];
    rf__unicode_lower(u, c, rf__unicode_flags(u, c), to);
    return to[0];
}

static void swap(rf__mt_scratch *s)
{
    const rf__points t = s->x;
    s->x = s->y;
    s->y = t;
}

/* Whether the capital sigma at i ends a word (Unicode's Final_Sigma): ignoring marks and apostrophes, a letter precedes
 * it and none follows. */
static bool final_sigma(const rf__points *x, size_t i)
{
    size_t k = i;
    while (k > 0 && rf__unicode_ignorable(x->at[k - 1])) k--;
    if (!k || !rf__unicode_cased(x->at[k - 1])) return false;
    for (k = i + 1; k < x->n && rf__unicode_ignorable(x->at[k]);) k++;
    return k == x->n || !rf__unicode_cased(x->at[k]);
}

static void make_lower(rf__mt_scratch *s)
{
    enum { SIGMA = 0x3A3, SMALL_FINAL_SIGMA = 0x3C2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };
    s->y.n = 0;
    if (!rf__mt_reserve(s, &s->y, 2 * s->x.n)) return;
    for (size_t i = 0; i < s->x.n; i++) {
        const uint32_t c = s->x.at[i];
        if (c < 0x80) s->y.at[s->y.n++] = c >= 'A' && c <= 'Z' ? c + 32 : c;
        else if (c == SIGMA && final_sigma(&s->x, i)) s->y.at[s->y.n++] = SMALL_FINAL_SIGMA;
        else s->y.at[s->y.n++] = lower_of(s->unicode, c);
        if (c == DOTTED_I) s->y.at[s->y.n++] = DOT_ABOVE;
    }
    swap(s);
}

void rf__mt_load(rf__mt_scratch *s, const char *text, size_t size, bool lower)
{
    s->x.n = 0;
    if (!rf__mt_reserve(s, &s->x, size)) return;
    for (size_t at = 0; at < size;) s->x.at[s->x.n++] = rf__utf8_get((const unsigned char *)text, &at);
    while (s->x.n && rf__mt_white(s->x.at[s->x.n - 1])) s->x.n--;
    if (lower) make_lower(s);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Inserts a space on both sides of every `c` in `class`. */
static void set_apart(rf__mt_scratch *s, bool (*class)(uint32_t c))
{
    s->y.n = 0;
    if (!rf__mt_reserve(s, &s->y, 3 * s->x.n)) return;
    for (size_t i = 0; i < s->x.n; i++) {
        const bool in = class(s->x.at[i]);
        if (in) s->y.at[s->y.n++] = ' ';
        s->y.at[s->y.n++] = s->x.at[i];
        if (in) s->y.at[s->y.n++] = ' ';
    }
    swap(s);
}

/* Changes pairs a b of these classes to "a b " or, with `before`, to " a b". */
static void set_pairs_apart(rf__mt_scratch *s, bool (*a)(uint32_t c), bool (*b)(uint32_t c), bool before)
{
    s->y.n = 0;
    if (!rf__mt_reserve(s, &s->y, 2 * s->x.n)) return;
    const uint32_t *x = s->x.at;
    uint32_t *y = s->y.at;
    size_t n = 0;
    for (size_t i = 0; i < s->x.n; i++) {
        if (i + 1 == s->x.n || !b(x[i + 1]) || !a(x[i])) {
            y[n++] = x[i];
            continue;
        }
        if (before) y[n++] = ' ';
        y[n++] = x[i++];
        y[n++] = ' ';
        y[n++] = x[i];
        if (!before) y[n++] = ' ';
    }
    s->y.n = n;
    swap(s);
}

static bool at(const rf__points *x, size_t i, const char *text)
{
    for (; *text; i++, text++)
        if (i >= x->n || x->at[i] != (unsigned char)*text) return false;
    return true;
}

/* Replaces every `from` by `to`, which is not longer. */
static void replace(rf__points *x, const char *from, const char *to)
{
    const size_t size = strlen(from);
    size_t n = 0;
    for (size_t i = 0; i < x->n;) {
        if (x->at[i] == (unsigned char)*from && at(x, i, from)) {
            for (const char *c = to; *c; c++) x->at[n++] = (unsigned char)*c;
            i += size;
        } else {
            x->at[n++] = x->at[i++];
        }
    }
    x->n = n;
}

/* Adds a space at both ends. */
static void pad(rf__mt_scratch *s)
{
    if (!rf__mt_reserve(s, &s->x, 2)) return;
    memmove(s->x.at + 1, s->x.at, s->x.n * sizeof *s->x.at);
    s->x.at[0] = s->x.at[s->x.n + 1] = ' ';
    s->x.n += 2;
}

static void western(rf__mt_scratch *s)
{
    set_apart(s, mark);
    set_pairs_apart(s, no_digit, stop, false);
    set_pairs_apart(s, stop, no_digit, true);
    set_pairs_apart(s, digit, hyphen, false);
}

static void mteval_13a(rf__mt_scratch *s)
{
    static const char *const entity[][2] = {{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    replace(&s->x, "<skipped>", "");
    for (size_t i = 0; i < RF_COUNT(entity); i++) replace(&s->x, entity[i][0], entity[i][1]);
    pad(s);
    western(s);
}

static void international(rf__mt_scratch *s)
{
    set_pairs_apart(s, no_number, punctuation, false);
    set_pairs_apart(s, punctuation, no_number, true);
    set_apart(s, symbol);
}

static void chinese_words(rf__mt_scratch *s)
{
    size_t blank = 0;
    while (blank < s->x.n && rf__mt_white(s->x.at[blank])) blank++;
    memmove(s->x.at, s->x.at + blank, (s->x.n - blank) * sizeof *s->x.at);
    s->x.n -= blank;
    set_apart(s, chinese);
    western(s);
}

/* a-b becomes a ##AT##-##AT## b; in a-b-c only the first hyphen, because its match ends with b. */
static void compounds(rf__mt_scratch *s)
{
    static const char joint[] = " ##AT##-##AT## ";
    s->y.n = 0;
    if (!rf__mt_reserve(s, &s->y, 8 * s->x.n)) return;
    const uint32_t *x = s->x.at;
    for (size_t i = 0; i < s->x.n; i++) {
        s->y.at[s->y.n++] = x[i];
        if (i + 2 >= s->x.n || !visible(x[i]) || x[i + 1] != '-' || !visible(x[i + 2])) continue;
        for (const char *c = joint; *c; c++) s->y.at[s->y.n++] = (unsigned char)*c;
        s->y.at[s->y.n++] = x[i += 2];
    }
    swap(s);
}

static void characters(rf__mt_scratch *s) { set_apart(s, any); }
static void nothing(rf__mt_scratch *s) { (void)s; }

static const struct { const char *name; void (*apply)(rf__mt_scratch *s); } tokenizer[] = {
    [RF_MT_13A] = {"13a", mteval_13a},
    [RF_MT_INTL] = {"intl", international},
    [RF_MT_ZH] = {"zh", chinese_words},
    [RF_MT_CHAR] = {"char", characters},
    [RF_MT_NONE] = {"none", nothing},
    [RF_MT_COMPOUNDS] = {"compounds", compounds},
};

void rf__mt_tokenize(rf__mt_scratch *s, rf_mt_tokenizer t)
{
    if (s->x.n) tokenizer[t].apply(s);
}

const char *rf__mt_tokenizer_name(rf_mt_tokenizer t) { return tokenizer[t].name; }
