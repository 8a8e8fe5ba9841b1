/* hold_out.c — excludes articles from training: those of WikiText's evaluation texts, and N that a hash selects.
 *
 *     hold_out [-n N -o HELD] [WIKITEXT...] < ARTICLES > TRAINING
 *
 * ARTICLES are WikiExtractor's (`<doc ... title="...">`, the title, paragraphs, `</doc>`), and so is what is written,
 * unchanged.  An article whose title is that of one in a WIKITEXT file (" = Title = "; letters and digits compared,
 * case ignored) is left out.  Of the others with at least 300 bytes of text, the N whose text has the smallest hash go
 * to HELD.  Articles without text (redirects) are left out. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../hash.h"

enum { LEAST = 300 };

typedef struct article {
    const char *p;              /* from `<doc` to the end of `</doc>`                                                */
    size_t size;
    const char *body;           /* after the title's line                                                            */
    size_t body_size;
    uint64_t hash;
    enum { TRAINED, HELD, EVALUATED } fate;
} article;

static uint64_t *evaluated;     /* hashes of titles, [titles] */
static size_t titles;

static void *need(void *p)
{
    if (p) return p;
    fprintf(stderr, "hold_out: out of memory\n");
    exit(4);
}

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "hold_out: %s: %s\n", which, what);
    exit(3);
}

/* Uses only letters, digits and non-ASCII bytes. */
static uint64_t title_hash(const char *p, size_t n)
{
    char *s = need(malloc(n + 1));
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)p[i]) || (unsigned char)p[i] >= 128) s[k++] = (char)tolower((unsigned char)p[i]);
    const uint64_t h = hash64(s, k, 0);
    free(s);
    return h;
}

/* " = Title = ", and not " = = Section = = ". */
static void read_titles(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, before = titles;
    if (!f) fail("cannot be read", path);
    for (ssize_t n; (n = getline(&line, &capacity, f)) > 0;) {
        if (strncmp(line, " = ", 3) || line[3] == '=') continue;
        evaluated = need(realloc(evaluated, (titles + 1) * sizeof *evaluated));
        evaluated[titles++] = title_hash(line, (size_t)n);
    }
    if (titles == before) fail("has no line \" = Title = \", expected WikiText's raw text", path);
    free(line);
    fclose(f);
}

static bool is_evaluated(const char *title, size_t n)
{
    const uint64_t h = title_hash(title, n);
    for (size_t i = 0; i < titles; i++)
        if (evaluated[i] == h) return true;
    return false;
}

static char *read_all(FILE *f, size_t *size)
{
    char *p = NULL;
    size_t n = 0, capacity = 0;
    for (size_t got = 1; got; n += got) {
        if (n + 1 >= capacity) p = need(realloc(p, capacity = 2 * capacity + (1 << 20)));
        got = fread(p + n, 1, capacity - n - 1, f);
    }
    if (ferror(f)) fail("cannot be read", "standard input");
    p[n] = 0;
    *size = n;
    return p;
}

/* The article at p (a line that begins with `<doc `), or false: it has no end. */
static bool parse(const char *p, article *a)
{
    const char *end = strstr(p, "\n</doc>"), *head = strchr(p, '\n'), *title = head ? head + 1 : NULL;
    if (!end || !head || title > end) return false;
    const char *body = strchr(title, '\n');
    *a = (article){.p = p, .size = (size_t)(end + 7 - p)};
    if (p[a->size] == '\n') a->size++;
    if (!body || body > end) body = end;
    while (body < end && *body == '\n') body++;
    a->body = body;
    a->body_size = (size_t)(end - body);
    a->hash = hash64(body, a->body_size, 0);
    a->fate = is_evaluated(title, (size_t)(strchr(title, '\n') - title)) ? EVALUATED : TRAINED;
    return true;
}

static int by_hash(const void *x, const void *y)
{
    const article *const *a = x, *const *b = y;
    return ((*a)->hash > (*b)->hash) - ((*a)->hash < (*b)->hash);
}

/* The n of the smallest hashes, in their order in the file. */
static size_t choose(article *a, size_t articles, size_t n)
{
    article **of = need(malloc((articles + 1) * sizeof *of));
    size_t k = 0;
    for (size_t i = 0; i < articles; i++)
        if (a[i].fate == TRAINED && a[i].body_size >= LEAST) of[k++] = &a[i];
    qsort(of, k, sizeof *of, by_hash);
    if (n > k) n = k;
    for (size_t i = 0; i < n; i++) of[i]->fate = HELD;
    free(of);
    return n;
}

static void write_articles(const article *a, size_t articles, const char *path)
{
    FILE *held = path ? fopen(path, "w") : NULL;
    if (path && !held) fail("cannot be written", path);
    for (size_t i = 0; i < articles; i++) {
        FILE *to = a[i].fate == TRAINED ? stdout : a[i].fate == HELD ? held : NULL;
        if (to && a[i].body_size) fwrite(a[i].p, 1, a[i].size, to);
    }
    if (held && fclose(held)) fail("cannot be written", path);
    if (fflush(stdout)) fail("cannot be written", "standard output");
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    size_t n = 0, size, articles = 0, left_out = 0;
    for (int option; (option = getopt(argc, argv, "n:o:")) != -1;)
        if (option == 'n') n = strtoull(optarg, NULL, 10);
        else if (option == 'o') path = optarg;
        else return 2;
    if ((optind == argc && !n) || !n != !path)
        return fprintf(stderr, "usage: hold_out [-n N -o HELD] [WIKITEXT...] < ARTICLES > TRAINING\n"), 2;
    for (int i = optind; i < argc; i++) read_titles(argv[i]);

    char *text = read_all(stdin, &size);
    const char *p = text;
    article *a = NULL;
    for (; (p = strncmp(p, "<doc ", 5) ? strstr(p, "\n<doc ") : p); p += a[articles++].size) {
        p += *p == '\n';
        if (!(articles & (articles + 1))) a = need(realloc(a, (2 * articles + 2) * sizeof *a));
        if (!parse(p, &a[articles])) fail("an article without \"</doc>\"", "standard input");
        left_out += a[articles].fate == EVALUATED;
    }
    n = choose(a, articles, n);
    fprintf(stderr, "%zu articles, %zu of them in the evaluation's text, %zu held out\n", articles, left_out, n);
    write_articles(a, articles, path);
    free(a);
    free(text);
    free(evaluated);
    return 0;
}
