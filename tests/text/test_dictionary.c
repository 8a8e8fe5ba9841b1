/* Dictionaries: exactly the prefixes of words are found, with their frequencies; files in the older format are read,
 * and damaged ones rejected; failing allocations. mirrors dictionary_layout.c, dictionary_old.c */
#define _GNU_SOURCE
#include <unistd.h>

#include "one_context.h"
#include "text/chinese/dictionary.h"
#include "text/unicode/unicode.h"

enum { WORDS = 20000, LONGEST = 5, MOST = 400 };

/* ---- words that are drawn ---------------------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Characters with codes of one to four bytes, few of them often. */
static uint32_t character(uint64_t *state)
{
    static const uint32_t from[] = {'a', 0xE0, 0x4E00, 0x20000};
    const uint32_t k = draw(state), many = draw(state) % 4 ? 12 : 600;
    return from[k % 4] + draw(state) % (k % 4 ? many : 12);
}

typedef struct word { uint32_t c[LONGEST], n; uint64_t frequency; } word;

static word draw_word(uint64_t *state)
{
    word w = {.n = 1 + draw(state) % LONGEST};
    for (uint32_t i = 0; i < w.n; i++) w.c[i] = character(state);
    w.frequency = draw(state) % 3 ? draw(state) % 50 : draw(state);
    return w;
}

static int by_characters(const void *a, const void *b)
{
    const word *x = a, *y = b;
    for (uint32_t i = 0; i < x->n && i < y->n; i++)
        if (x->c[i] != y->c[i]) return x->c[i] < y->c[i] ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n ? 1 : 0;
}

static size_t put_utf8(char *to, const uint32_t *c, uint32_t n)
{
    size_t size = 0;
    for (uint32_t i = 0; i < n; i++) size += rf__utf8_encode(c[i], to + size);
    return size;
}

/* Distinct words in order, as a list to compile; returns their number. */
static size_t compile_drawn(word *w, const char *path)
{
    uint64_t state = 5;
    char *text = malloc((size_t)WORDS * 40);
    size_t n = 0, size = 0;
    assert_non_null(text);
    for (size_t i = 0; i < WORDS; i++) w[i] = draw_word(&state);
    qsort(w, WORDS, sizeof *w, by_characters);
    for (size_t i = 0; i < WORDS; i++)
        if (!n || by_characters(&w[n - 1], &w[i])) w[n++] = w[i];
    for (size_t i = 0; i < n; i++) {
        size += put_utf8(text + size, w[i].c, w[i].n);
        size += (size_t)sprintf(text + size, " %llu\n", (unsigned long long)w[i].frequency);
    }
    const char *folder = t_folder();
    char list[300];
    snprintf(list, sizeof list, "%s/d.txt", folder);
    t_write(folder, "d.txt", text, size);
    free(text);
    rf_error why = {0};
    if (rf_dictionary_compile(ctx, (const char *const[]){list}, 1, "drawn", path, &why)) fail_msg("%s", why.text);
    return n;
}

static bool begins(const word *w, const word *with)
{
    return w->n >= with->n && !memcmp(w->c, with->c, with->n * sizeof *w->c);
}

static void found_as_listed(const rf_dictionary *d, const word *w, size_t n, const word *asked)
{
    char text[4 * LONGEST];
    const size_t size = put_utf8(text, asked->c, asked->n);
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_characters(&w[middle], asked) < 0) low = middle + 1;
        else high = middle;
    }
    const bool is = low < n && !by_characters(&w[low], asked), some = low < n && begins(&w[low], asked);
    const uint32_t at = rf__dictionary_find(d, text, size);
    const double value = at ? d->value[rf_dictionary_value(d->unit[at])] : INFINITY;
    if (asked->n > 1 || some) assert_int_equal(at != 0, some);        /* a character of words always has a unit       */
    assert_true(is ? value == log((double)w[low].frequency) : value == INFINITY);
}

static void what_is_listed_is_found(void **state)
{
    (void)state;
    static word w[WORDS];
    char path[300];
    snprintf(path, sizeof path, "%s/d.words", t_folder());
    const size_t n = compile_drawn(w, path);
    rf_dictionary d = {0};
    rf_error why = {0};
    if (rf__dictionary_open(ctx, path, &d, &why)) fail_msg("%s", why.text);
    assert_true(n > WORDS / 2 && d.header->words == n && d.header->wides > 100);
    for (size_t i = 0; i < n; i++) {
        word asked = w[i];
        for (; asked.n; asked.n--) found_as_listed(&d, w, n, &asked);
    }
    uint64_t other = 77;
    for (size_t i = 0; i < 5 * WORDS; i++) {
        const word asked = draw_word(&other);
        found_as_listed(&d, w, n, &asked);
    }
    assert_int_equal(rf__dictionary_find(&d, "\xF4\x8F\xBF\xBF", 4), 0);
    rf__dictionary_close(ctx, &d);
}

/* ---- files in the older format ----------------------------------------------------------------------------------- */

/* The older format: a header, a row for each character below U+10000, a hash table. */
typedef struct old_file {
    char magic[8];
    uint64_t words, total, sum, hash;
    uint32_t slots, longest;
    char name[80];
    struct { double value; uint64_t child; } first[65536];
    struct { uint64_t key; double value; } slot[MOST];
} old_file;

static void put_old(old_file *f, uint32_t parent, uint32_t c, uint32_t id, double value)
{
    const uint64_t key = (uint64_t)parent << 21 | c;
    if (key < 65536) {
        f->first[key].value = value;
        f->first[key].child = id;
        return;
    }
    size_t at = (size_t)(((key * 0x9E3779B97F4A7C15) >> 32) * MOST >> 32);
    while (f->slot[at].key) at = (at + 1) % MOST;
    f->slot[at].key = key << 22 | id;
    f->slot[at].value = value;
}

/* "ab" 6, "a" 3, "abc" 2, "bc" 5, U+20BB7 U+91CE 9, by the numbers of their prefixes. */
static old_file *old(void)
{
    static old_file f;
    f = (old_file){.magic = "RFWORDS1", .words = 5, .total = 25, .sum = 26, .hash = 123, .slots = MOST, .longest = 3,
                   .name = "before"};
    for (size_t i = 0; i < 65536; i++) f.first[i].value = INFINITY;
    put_old(&f, 0, 'a', 1, log(3));
    put_old(&f, 1, 'b', 2, log(6));
    put_old(&f, 2, 'c', 0, log(2));
    put_old(&f, 0, 'b', 4, INFINITY);
    put_old(&f, 4, 'c', 0, log(5));
    put_old(&f, 0, 0x20BB7, 6, INFINITY);
    put_old(&f, 6, 0x91CE, 0, log(9));
    return &f;
}

static rf_status open_old(const old_file *f, rf_dictionary *d, rf_error *why)
{
    const char *folder = t_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/old.words", folder);
    t_write(folder, "old.words", f, sizeof *f);
    return rf__dictionary_open(ctx, path, d, why);
}

static void files_of_before(void **state)
{
    (void)state;
    static const struct { const char *text; double frequency; } listed[] = {
        {"a", 3}, {"ab", 6}, {"abc", 2}, {"bc", 5}, {"\xF0\xA0\xAE\xB7\xE9\x87\x8E", 9}};
    rf_dictionary d = {0};
    rf_error why = {0};
    if (open_old(old(), &d, &why)) fail_msg("%s", why.text);
    assert_true(d.header->words == 5 && d.header->total == 25 && d.header->sum == 26 && d.header->hash == 123);
    assert_string_equal(d.header->name, "before");
    assert_int_equal(d.map.size, sizeof(old_file));                   /* what is saved with a folder                  */
    for (size_t i = 0; i < RF_COUNT(listed); i++) {
        const uint32_t at = rf__dictionary_find(&d, listed[i].text, strlen(listed[i].text));
        assert_true(at && d.value[rf_dictionary_value(d.unit[at])] == log(listed[i].frequency));
    }
    assert_int_equal(rf__dictionary_find(&d, "ba", 2), 0);
    rf_jieba_cutter c = {.ctx = ctx};
    assert_true(rf__jieba_cut(&c, &d, RF_JIEBA_RUST, "abcaab", 6));
    assert_int_equal(c.n, 3);                                         /* ln 3 + ln 5 loses against ln 2 of one word   */
    assert_true(c.end[0] == 3 && c.end[1] == 4 && c.end[2] == 6);
    rf__jieba_cut_clear(&c);
    rf__dictionary_close(ctx, &d);
}

static void damaged_files_of_before(void **state)
{
    (void)state;
    rf_dictionary d = {0};
    rf_error why = {0};
    old_file *f = old();
    put_old(f, 1, 'z', 2, log(2));                                    /* two prefixes have number 2                   */
    assert_int_equal(open_old(f, &d, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "damaged dictionary; compile it again with `roformer dictionary`");
    f = old();
    put_old(f, 4, 'c', 0, log(2));                                    /* a prefix twice                               */
    assert_int_equal(open_old(f, &d, &why), RF_EDATA);
    f = old();
    put_old(f, 4, 0x110000, 0, log(2));                               /* no character                                 */
    assert_int_equal(open_old(f, &d, &why), RF_EDATA);
    f = old();
    put_old(f, 9, 'a', 9, log(2));                                    /* its own prefix: never reached                */
    assert_int_equal(open_old(f, &d, &why), RF_OK);
    rf__dictionary_close(ctx, &d);
    f = old();
    f->slots--;
    why = (rf_error){0};
    assert_int_equal(open_old(f, &d, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected a compiled dictionary, got another or a truncated file");
}

/* An invalid base, number or code leads nowhere, and never to memory outside the file. */
static void lies(void **state)
{
    (void)state;
    static word w[WORDS];
    char path[300];
    snprintf(path, sizeof path, "%s/lies.words", t_folder());
    compile_drawn(w, path);
    rf_dictionary d = {0};
    rf_error why = {0};
    if (rf__dictionary_open(ctx, path, &d, &why)) fail_msg("%s", why.text);
    char *bytes = malloc(d.map.size);
    assert_non_null(bytes);
    memcpy(bytes, d.map.data, d.map.size);
    rf_dictionary f;
    rf__dictionary_parts(&f, bytes);
    for (uint32_t i = 0; i < f.header->units; i++) ((uint64_t *)(uintptr_t)f.unit)[i] |= 0xFFFFFFFFFF0;
    for (uint32_t i = 0; i < 65536; i += 2) ((uint32_t *)(uintptr_t)f.code)[i] = 0xFFFFFFFF - i;
    rf_jieba_cutter c = {.ctx = ctx};
    for (int kind = 0; kind < 2; kind++) {
        assert_true(rf__jieba_cut(&c, &f, (rf_jieba)kind, "abcabc\xE4\xB8\x80\xE4\xB8\x81\xF0\xA0\x80\x80", 16));
        assert_true(c.n > 0 && c.end[c.n - 1] == c.characters);
    }
    rf__jieba_cut_clear(&c);
    free(bytes);
    rf__dictionary_close(ctx, &d);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static rf_status compile_and_open(const rf_ctx *own, void *folder, rf_error *why)
{
    char list[300], path[300];
    snprintf(list, sizeof list, "%s/few.txt", (const char *)folder);
    snprintf(path, sizeof path, "%s/few.words", (const char *)folder);
    rf_status status = rf_dictionary_compile(own, (const char *const[]){list}, 1, "few", path, why);
    rf_dictionary d = {0};
    if (!status) status = rf__dictionary_open(own, path, &d, why);
    if (!status) rf__dictionary_close(own, &d);
    snprintf(path, sizeof path, "%s/before.words", (const char *)folder);
    if (!status) status = rf__dictionary_open(own, path, &d, why);
    if (!status) rf__dictionary_close(own, &d);
    return status;
}

static void memory_ends(void **state)
{
    (void)state;
    char *folder = strdup(t_folder());
    t_write(folder, "few.txt", "a 1\nab 2\nb 3\n", 13);
    t_write(folder, "before.words", old(), sizeof(old_file));
    assert_int_equal(t_fail_allocations(1, NULL, compile_and_open, folder), 0);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_listed_is_found), cmocka_unit_test(files_of_before),
        cmocka_unit_test(damaged_files_of_before), cmocka_unit_test(lies), cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("text/dictionary", tests, setup, teardown);
}
