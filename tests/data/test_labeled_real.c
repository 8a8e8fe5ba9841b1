/* test_labeled_real.c — mirrors src/data/examples/labeled.c, records.c and example_files.c: real data sets against what
 * another reader says of them (tools/golden/golden_labeled.py). */
#define _GNU_SOURCE
#include <unistd.h>
#include <zlib.h>

#include "data/examples/example_files.h"
#include "reading.h"

static uint32_t add_to_crc(uint32_t crc, rf__text t, char end)
{
    if (t.at) crc = (uint32_t)crc32(crc, (const unsigned char *)t.at, (unsigned)t.size);
    return (uint32_t)crc32(crc, (const unsigned char *)&end, 1);
}

/* Splits "text,pair,label" or "-" into three options. */
static void columns_of(char *given, rf_finetune_options *o)
{
    const char **const to[] = {&o->text_column, &o->pair_column, &o->label_column};
    if (!strcmp(given, "-")) return;
    for (size_t i = 0; i < 3 && given; i++) {
        char *comma = strchr(given, ',');
        if (comma) *comma = 0;
        if (strcmp(given, "-")) *to[i] = given;
        given = comma ? comma + 1 : NULL;
    }
}

/* One line of the golden file; false: the data are not available. */
static bool as_golden(char *line)
{
    char *word[256], path[4096];
    size_t words = 0;
    for (char *at = strtok(line, " \n"); at && words < 256; at = strtok(NULL, " \n")) word[words++] = at;
    assert_true(words >= 6);
    snprintf(path, sizeof path, "%s/%s", t_data(), word[0]);
    if (access(path, R_OK)) return false;
    rf_finetune_options o = {.task = word[1], .max_bad_lines = 0};
    columns_of(word[2], &o);

    reading g = {.ctx = t_ctx(1, NULL)};
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    assert_int_equal(rf_tokenizer_new(g.ctx, vocab, sizeof vocab - 1, "vocab", &options, &g.t, NULL), RF_OK);
    const rf__task *task;
    g.status = rf__examples_open(&g.l, g.ctx, &o, &task, &g.why);
    g.l.layout.with_labels = true;
    if (!g.status) g.status = rf__records_read(&g.r, g.ctx, path, &g.l.layout, &g.why);
    if (!g.status) g.status = rf__labeled_items(&g.l, g.t, 16, &g.r, true, &g.items, &g.why);
    if (g.status) fail_msg("%s", g.why.text);
    uint32_t crc = 0;
    for (size_t i = 0; i < g.r.n; i++) {
        crc = add_to_crc(crc, g.r.record[i].text, '\t');
        crc = add_to_crc(crc, g.r.record[i].pair, '\t');
        crc = add_to_crc(crc, g.r.record[i].label, '\n');
    }
    if (g.items.n != strtoull(word[3], NULL, 10) || g.r.bad != strtoull(word[4], NULL, 10) ||
        crc != strtoul(word[5], NULL, 16))
        fail_msg("%s: %zu rows, %llu bad, CRC %08x, not %s, %s, %s", path, g.items.n, (unsigned long long)g.r.bad, crc,
                 word[3], word[4], word[5]);
    assert_true(words == 6 || words - 6 == g.l.n);
    for (size_t k = 6; k < words; k++) {
        char *is = strchr(word[k], '=');
        size_t id = 0, n = 0;
        *is = 0;
        while (id < g.l.n && strcmp(g.l.name[id], word[k])) id++;
        for (size_t i = 0; i < g.items.n; i++) n += g.items.label[i] == (int32_t)id;
        if (id == g.l.n || n != strtoull(is + 1, NULL, 10))
            fail_msg("%s: %zu examples of %s, not %s", path, n, word[k], is + 1);
    }
    end(&g);
    return true;
}

static void real_files_are_read_as_python_reads_them(void **state)
{
    (void)state;
    char line[4096];
    int files = 0, absent = 0;
    FILE *f = fopen("tests/golden/train/labeled.txt", "r");
    assert_non_null(f);
    if (!t_data()) {
        fclose(f);
        skip();
    }
    while (fgets(line, sizeof line, f)) {
        if (*line == '#') continue;
        if (as_golden(line)) files++;
        else absent++;
    }
    fclose(f);
    print_message("           %d files%s\n", files, absent ? ", others SKIPPED: they are not there" : "");
    assert_true(files + absent > 20);
}

/* The folders of GLUE as in the data. */
static void folders_of_glue(void **state)
{
    (void)state;
    static const char *const set[][3] = {
        {"CoLA", "train.tsv", "dev.tsv"}, {"SST-2", "train.tsv.gz", "dev.tsv"}, {"STS-B", "train.tsv", "dev.tsv"}};
    char folder[4096], path[4096];
    if (!t_data()) skip();
    for (size_t i = 0; i < RF_COUNT(set); i++) {
        snprintf(folder, sizeof folder, "%s/glue/%s", t_data(), set[i][0]);
        for (int dev = 0; dev < 2 && rf__is_folder(folder); dev++) {
            assert_int_equal(rf__example_file(folder, dev ? "dev" : "train", false, path, sizeof path, NULL), RF_OK);
            assert_string_equal(strrchr(path, '/') + 1, set[i][1 + dev]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_are_read_as_python_reads_them),
        cmocka_unit_test(folders_of_glue),
    };
    return cmocka_run_group_tests_name("data/labeled_real", tests, NULL, NULL);
}
