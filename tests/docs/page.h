/* page.h — pages with recomputed numbers: their lines, sections, fenced blocks and prose.
 *
 * A block ```numbers has lines of three kinds:
 *
 *     name(1, 2, 3) = 0.25, -1        a function of the test, its arguments, and its result to the printed digits
 *     results/x/table.txt: words      the file contains these words; runs of blanks count as one
 *     # words                         a remark
 *
 * Elsewhere a page may only repeat, or round, numbers of the blocks of its section.                                  */
#ifndef PAGE_H
#define PAGE_H

#include <ctype.h>
#include <t.h>

enum { PAGE_LINES = 2000, PAGE_NUMBERS = 64, PAGE_TEXT = 1 << 18 };

typedef struct page_line {
    char *text;
    char fence[16]; /* of a fenced block: the word after ```; "" in prose */
    int section;    /* number of the "## " above it                       */
} page_line;

typedef struct page {
    const char *path;
    char text[PAGE_TEXT];
    page_line line[PAGE_LINES];
    int lines;
} page;

/* A printed number: its value, half a unit of its last digit, whether it has a fraction. */
typedef struct page_number {
    double value, half;
    bool fraction;
} page_number;

static char *page_read(const char *path, char *to, size_t most)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    const size_t n = fread(to, 1, most - 1, f);
    fclose(f);
    assert_true(n < most - 1);
    to[n] = '\0';
    return to;
}

static inline page *page_open(const char *path)
{
    page *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->path = path;
    char fence[16] = "";
    int section = 0;
    for (char *at = page_read(path, p->text, sizeof p->text), *next; *at; at = next) {
        next = at + strcspn(at, "\n");
        if (*next) *next++ = '\0';
        assert_true(p->lines < PAGE_LINES);
        page_line *l = p->line + p->lines++;
        if (!strncmp(at, "```", 3)) {
            if (fence[0]) fence[0] = '\0';
            else snprintf(fence, sizeof fence, "%s", at[3] ? at + 3 : "text");
            at += strlen(at); /* the fence itself says nothing */
        } else if (!fence[0] && !strncmp(at, "## ", 3)) section++;
        *l = (page_line){.text = at, .section = section};
        memcpy(l->fence, fence, sizeof fence);
    }
    assert_string_equal(fence, "");
    return p;
}

/* The number that begins at s, NULL: none; and its end. */
static const char *page_number_at(const char *s, page_number *out)
{
    const char *at = s + (*s == '-');
    if (!isdigit((unsigned char)*at)) return NULL;
    int digits = 0;
    while (isdigit((unsigned char)*at)) at++;
    out->fraction = *at == '.' && isdigit((unsigned char)at[1]);
    if (out->fraction)
        for (at++; isdigit((unsigned char)*at); at++) digits++;
    char *end = NULL;
    out->value = strtod(s, &end);
    int exponent = 0;
    if (end > at && (*at == 'e' || *at == 'E')) exponent = atoi(at + 1), at = end;
    out->half = 0.5 * pow(10, exponent - digits) * (1 + 1e-9);
    return at;
}

/* All numbers between from and to; those that continue a word (x1, v2) belong to it. */
static int page_numbers(const char *from, const char *to, page_number *out, int most)
{
    int n = 0;
    for (const char *at = from; at < to;) {
        const bool inside = at > from && (isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '.');
        const char *end = inside ? NULL : page_number_at(at, out + (n < most ? n : most - 1));
        if (end) assert_true(n++ < most - 1);
        at = end ? end : at + 1;
    }
    return n;
}

static bool page_has(const page_number *known, int n, const page_number *x)
{
    for (int i = 0; i < n; i++)
        if (fabs(fabs(known[i].value) - fabs(x->value)) <= fmax(x->half, 0)) return true;
    return false;
}

/* Blanks out everything that is not a statement of the page: `code`, addresses of links, <tags>. */
static void page_strip(char *s)
{
    for (char *at = s; *at; at++) {
        const char close = *at == '`' ? '`' : !strncmp(at, "](", 2) ? ')' : *at == '<' && at[1] != ' ' ? '>' : '\0';
        char *end = close ? strchr(at + 1, close) : NULL;
        if (!end) continue;
        memset(at, ' ', (size_t)(end - at) + 1);
        at = end;
    }
}

/* Numbers that are names: years, equations, sections, tables, figures. */
static bool page_names(const char *line, const char *at, const page_number *x)
{
    if (!x->fraction && (x->value < 10 || (x->value >= 1900 && x->value < 2100))) return true;
    static const char *const before[] = {"Eq. ", "Eqs. ", "\xC2\xA7", "arXiv:", "\xE5\xBC\x8F ", "\xE2\x80\x93"};
    for (size_t i = 0; i < RF_COUNT(before); i++) {
        const size_t n = strlen(before[i]);
        if ((size_t)(at - line) >= n && !memcmp(at - n, before[i], n)) return true;
    }
    return false;
}
/* A copy in which every run of blanks is one. */
static char *page_squeezed(const char *from, char *to)
{
    char *at = to;
    for (; *from; from++)
        if (!isspace((unsigned char)*from) || (at > to && at[-1] != ' '))
            *at++ = isspace((unsigned char)*from) ? ' ' : *from;
    *at = '\0';
    return to;
}

/* In prose, a fraction or a number of two digits must be in the blocks of its section; in formulas, a fraction must. */
static void page_line_repeats(const page *p, int i, const page_number *known, int n)
{
    char *text = p->line[i].text, *end;
    const bool display = !strcmp(p->line[i].fence, "math");
    bool formula = display;
    if (text[0] == '#' || (p->line[i].fence[0] && !display)) return; /* headings name */
    if (!display) page_strip(text);
    for (char *at = text; *at; at = end) {
        page_number x;
        if (*at == '$') formula = !formula;
        const bool inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '.' || at[-1] == '_');
        const char *stop = inside ? NULL : page_number_at(at, &x);
        end = at + (stop ? stop - at : 1);
        if (!stop || page_names(text, at, &x) || (formula && !x.fraction)) continue;
        if (!page_has(known, n, &x)) fail_msg("%s:%d: no block of the section has %g: %s", p->path, i + 1, x.value, at);
    }
}

static void page_repeats(const page *p)
{
    static page_number known[4096];
    for (int first = 0, next; first < p->lines; first = next) {
        int n = 0;
        for (next = first; next < p->lines && p->line[next].section == p->line[first].section; next++) {
            const char *text = p->line[next].text;
            if (!strcmp(p->line[next].fence, "numbers"))
                n += page_numbers(text, text + strcspn(text, "#"), known + n, 4096 - n);
        }
        for (int i = first; i < next; i++) page_line_repeats(p, i, known, n);
    }
}
/* Up to a remark, which is in the language of the page. */
static bool page_same_line(const page_line *a, const page_line *b)
{
    size_t n = strlen(a->text), k = strlen(b->text);
    if (!strcmp(a->fence, "numbers")) n = strcspn(a->text, "#"), k = strcspn(b->text, "#");
    return a->section == b->section && n == k && !strncmp(a->text, b->text, n);
}

/* GitHub shows these as formulas: $...$ with blanks or ASCII punctuation around it, without characters that Markdown
 * interprets (\, * <); and ```math always. */
static void page_formulas_render(const page *p, int i)
{
    const char *text = p->line[i].text;
    bool inside = false;
    if (p->line[i].fence[0]) return;
    for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$'), inside = !inside) {
        const unsigned char around = (unsigned char)(inside ? at[1] : at > text ? at[-1] : ' ');
        const unsigned char within = (unsigned char)(inside ? at[-1] : at[1]);
        const char *end = inside ? at : at + 1 + strcspn(at + 1, "$");
        bool markdown = false;
        for (const char *c = at + 1; c < end; c++)
            markdown |= *c == '*' || *c == '<' || (*c == '\\' && ispunct((unsigned char)c[1]));
        if (around > 127 || isalnum(around) || within == ' ' || around == '$' || markdown)
            fail_msg("%s:%d: GitHub does not read this as a formula: %s", p->path, i + 1, at);
    }
    if (inside) fail_msg("%s:%d: a formula does not end: %s", p->path, i + 1, text);
}
#endif
