/* Folders of tokenizers, class by settings by parts of tokenizer.json, compared with transformers 5
 * (tests/golden/text/folders.txt and added.txt, written by tools/golden/golden_folders.py and golden_added.py). mirrors
 * folder.c */
#define _GNU_SOURCE
#include "one_context.h"

#include "roformer/tokenizer.h"

enum { MOST_TEXTS = 16, MOST_FILES = 256, LONGEST = 1 << 16 };

typedef struct bytes { char *at; size_t size; } bytes;

static bytes from_hex(const char *hex)
{
    bytes b = {malloc(strlen(hex) / 2 + 1), 0};
    unsigned byte;
    for (; *hex != '-' && sscanf(hex, "%2x", &byte) == 1; hex += 2) b.at[b.size++] = (char)byte;
    b.at[b.size] = 0;
    return b;
}

/* Whether the encoding is "ids ..." */
static bool same(const rf_encoding *e, const char *ids)
{
    size_t n = 0;
    char *end;
    for (;; ids = end, n++) {
        const long id = strtol(ids, &end, 10);
        if (end == ids) return n == e->n;
        if (n >= e->n || e->id[n] != id) return false;
    }
}

struct golden { const char *path; size_t folders; };

static void check_text(const rf_encoding *e, const char *name, const char *expected)
{
    char got[1024];
    size_t at = 0;
    for (size_t i = 0; i < e->n && at < sizeof got - 16; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, " %d", (int)e->id[i]);
    print_error("%s\n  expected%s\n  got   %s\n", name, expected, got);
}

static void as_transformers_reads_them(void **state)
{
    const struct golden *golden = *state;
    FILE *f = fopen(golden->path, "r");
    assert_non_null(f);
    char *line = malloc(LONGEST), name[256] = "", *folder = strdup(t_folder());
    bytes text[MOST_TEXTS], file[MOST_FILES] = {{0}};
    size_t texts = 0, next = 0, folders = 0, wrong = 0;
    rf_tokenizer *t = NULL;
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, ctx);
    while (fgets(line, LONGEST, f)) {
        line[strcspn(line, "\n")] = 0;
        char part[64];
        unsigned k;
        int at;
        if (line[0] == 'T') text[texts++] = from_hex(line + 2);
        if (line[0] == 'D' && sscanf(line, "D %u %n", &k, &at) == 1 && k < MOST_FILES) file[k] = from_hex(line + at);
        if (line[0] == 'F') {
            snprintf(name, sizeof name, "%s", line + 2);
            rf_tokenizer_free(t);
            t = NULL;
            next = 0;
            folders++;
            static const char *const all[] = {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                                              "special_tokens_map.json", "added_tokens.json"};
            for (size_t i = 0; i < RF_COUNT(all); i++) {
                char path[512];
                snprintf(path, sizeof path, "%s/%s", folder, all[i]);
                remove(path);
            }
        }
        if (line[0] == 'W' && sscanf(line, "W %63s %u", part, &k) == 2) t_write(folder, part, file[k].at, file[k].size);
        if (line[0] != 'I' && line[0] != 'P') continue;
        if (!t && rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s: %s", name, why.text);
        const bytes *a = line[0] == 'P' ? &text[0] : &text[next++], *b = line[0] == 'P' ? &text[1] : NULL;
        assert_int_equal(rf_encode(t, a->at, a->size, b ? b->at : NULL, b ? b->size : 0, 0, 0, &e, NULL, &why), RF_OK);
        if (same(&e, line + 1)) continue;
        wrong++;
        check_text(&e, name, line + 1);
    }
    print_message("           %zu folders\n", folders);
    assert_true(folders > golden->folders);
    assert_int_equal(wrong, 0);
    rf_tokenizer_free(t);
    rf_encoding_clear(&e);
    for (size_t i = 0; i < texts; i++) free(text[i].at);
    for (size_t i = 0; i < MOST_FILES; i++) free(file[i].at);
    free(line);
    free(folder);
    fclose(f);
}

int main(void)
{
    static struct golden folders = {"tests/golden/text/folders.txt", 300}, added = {"tests/golden/text/added.txt", 150};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(as_transformers_reads_them, &folders),
                                       cmocka_unit_test_prestate(as_transformers_reads_them, &added)};
    return cmocka_run_group_tests_name("text/folders", tests, setup, teardown);
}
