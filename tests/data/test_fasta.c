/* test_fasta.c — mirrors src/data/documents/fasta.c; files of records are in test_reader.c. */
#include "one_context.h"
#include "data/documents/fasta.h"
#include "roformer/inspect/files.h"

static void names(void **state)
{
    (void)state;
    static const char *const line[][2] = {
        {">sp|P1|X some protein", "sp|P1|X"}, {"> a", "a"}, {">", ""}, {">\t", ""}, {"", ""}};
    for (size_t i = 0; i < RF_COUNT(line); i++) {
        char name[64];
        rf__fasta_name(line[i][0], strlen(line[i][0]), name, sizeof name);
        assert_string_equal(name, line[i][1]);
    }
    char small[4];
    char pir[16];
    assert_true(rf__fasta_pir(">P1;CRAB", 8) && rf__fasta_pir(">XX;", 4));
    assert_false(rf__fasta_pir(">P1 CRAB", 8) || rf__fasta_pir(">P2;CRAB", 8) || rf__fasta_pir(">P1", 3));
    rf__fasta_name(">P1;CRAB a", 10, pir, sizeof pir);
    assert_string_equal(pir, "CRAB");
    rf__fasta_name(">abcdef", 7, small, sizeof small);
    assert_string_equal(small, "abc");
}

static void residues(void **state)
{
    (void)state;
    char out[16];
    size_t n = 0;
    assert_int_equal(rf__fasta_residues("mK t\t-.*", 8, out, &n, NULL), RF_OK);
    assert_int_equal(n, 6);
    assert_memory_equal(out, "MKT-.*", 6);
    for (int c = 1; c < 256; c++) {
        const char line[] = {'A', (char)c};
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("-.* \t\r\n\v\f", c);
        rf_error why = {0};
        assert_int_equal(rf__fasta_residues(line, 2, out, &n, &why), good ? RF_OK : RF_EDATA);
    }
}

static void paths(void **state)
{
    (void)state;
    static const char *const yes[] = {"a.fasta", "b/c.fa.gz", "x.faa", "x.fas.zst", ".fa"};
    static const char *const no[] = {"a.txt", "fasta", "x.fa.txt", "", "x.gz"};
    for (size_t i = 0; i < RF_COUNT(yes); i++) assert_int_equal(rf_text_format_of(yes[i]), RF_TEXT_FASTA);
    for (size_t i = 0; i < RF_COUNT(no); i++) assert_int_not_equal(rf_text_format_of(no[i]), RF_TEXT_FASTA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(residues), cmocka_unit_test(paths)};
    return cmocka_run_group_tests_name("data/fasta", tests, setup, teardown);
}
