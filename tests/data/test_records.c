/* test_records.c — mirrors src/data/examples/records.c: tables with and without a header, and files in a format other
 * than the expected one. */
#include "reading.h"

/* ---- a line for every row ---- */

static void empty_texts_are_rows(void **state)
{
    (void)state;
    static const struct { const char *name, *text, *column; size_t n, empty; uint64_t last; } files[] = {
        {"a.csv", "text\nthe cat\n\"\"\nred\n\"\"\ndog\n", NULL, 5, 0, 6},
        {"a.csv", "text\n\"\"\n\n\"\"", NULL, 3, 0, 4},
        {"a.tsv", "text\nthe cat\n\nred\n\ndog\n", NULL, 5, 0, 6},
        {"a.tsv", "\nthe cat\n\n", "1", 3, 0, 3},
        {"a.tsv", "\nthe cat\told\nred\tdog\n\nred\tdog\n\n", "1", 3, 2, 5},  /* two columns: an empty line is no row */
        {"a.csv", "id,text\r\r\n1,the\r\r\n2,\"red\"\r\r\n", NULL, 2, 0, 3},
        {"a.jsonl", "\n{\"text\": \"the\"}\n \n{\"text\": \"\"}\n\n", NULL, 2, 2, 4},
    };
    for (size_t i = 0; i < RF_COUNT(files); i++) {
        const rf_finetune_options o = {.task = "cls", .labels = "a,b", .text_column = files[i].column};
        reading *g = read_as(&o, files[i].name, files[i].text, strlen(files[i].text), false);
        if (g->status) fail_msg("%s", g->why.text);
        if (g->r.n != files[i].n || g->items.n != files[i].n)
            fail_msg("file %zu: %zu rows, not %zu", i, g->r.n, files[i].n);
        assert_int_equal(g->r.empty, files[i].empty);
        assert_int_equal(g->r.record[g->r.n - 1].line, files[i].last);
        end(g);
    }
}

static void labels_are_not_needed(void **state)
{
    (void)state;
    const rf_finetune_options o = {.task = "cls", .labels = "a,b", .text_column = "1", .label_column = "2"};
    reading *g = read_as(&o, "a.tsv", TEXT("the cat\nthe dog\n"), false);
    if (g->status) fail_msg("%s", g->why.text);
    assert_int_equal(g->r.n, 2);
    end(g);
    g = read_as(&(rf_finetune_options){.task = "glue/sst2"}, "a.tsv", TEXT("the cat\nthe dog\n"), false);
    if (g->status) fail_msg("%s", g->why.text);
    assert_int_equal(g->r.n, 2);
    end(g);
    const rf_finetune_options pair = {
        .task = "cls", .labels = "a,b", .text_column = "1", .pair_column = "2", .label_column = "3"};
    g = read_as(&pair, "a.tsv", TEXT("the\tcat\nthe\nthe\n"), false);
    /* predict has no max_bad_lines */
    t_failed(&g->why, RF_EDATA, "a.tsv:2: expected at least 2 columns, got 1 (and 1 more such lines)");
    end(g);
}

/* ---- header ---- */

static void a_header_is_no_example(void **state)
{
    (void)state;
    const rf_finetune_options auto_ = {.task = "cls", .text_column = "1", .label_column = "2"};
    const rf_finetune_options yes = {.task = "cls", .text_column = "1", .label_column = "2", .header = "yes"};
    const rf_finetune_options no = {.task = "cls", .text_column = "1", .label_column = "2", .header = "no"};
    const rf_finetune_options named = {.task = "cls", .text_column = "text", .header = "no"},
                              wrong = {.task = "cls", .header = "maybe"};
    static const char usual[] = "sentence\tlabel\nthe cat\t0\nthe dog\t1\nred\t0\n",
                      own[] = "review\tmood\nthe cat\t0\nthe dog\t1\nred\t0\nold\t1\n";
    refuse(&auto_, "a.tsv", TEXT(usual), true, RF_EDATA,
           "a.tsv:1: header: expected no header with numbered columns, got 'sentence'");
    refuse(&auto_, "a.tsv", TEXT(usual), false, RF_EDATA,
           "a.tsv:1: header: expected no header with numbered columns, got 'sentence'");
    refuse(&auto_, "a.tsv", TEXT(own), true, RF_EDATA,
           "a.tsv:1: label 'mood' occurs only here, so this may be a header");
    refuse(&auto_, "a.tsv", TEXT("the\tmood\tx\ncat\told\ty\nred\told\tz\n"), true, RF_EDATA,
           "label 'mood' occurs only here, so this may be a header; give");
    refuse(&named, "a.tsv", TEXT(usual), true, RF_EARG, "header no: expected numbers for text_column");
    refuse(&wrong, "a.tsv", TEXT(usual), true, RF_EARG, "header: expected yes or no, got 'maybe'");

    reading *g = read_as(&yes, "a.tsv", TEXT(own), true);
    assert_int_equal(g->status, RF_OK);
    assert_int_equal(g->r.n, 4);
    assert_int_equal(g->l.n, 2);
    end(g);
    g = read_as(&no, "a.tsv", TEXT(own), true);
    assert_int_equal(g->status, RF_OK);
    assert_int_equal(g->l.n, 3);
    end(g);
    g = read_as(&auto_, "a.tsv", TEXT("the cat\t0\nthe dog\t1\nred\t0\n"), true);     /* a first line like the others */
    assert_int_equal(g->status, RF_OK);
    assert_int_equal(g->r.n, 3);
    end(g);
    const rf_finetune_options given = {.task = "cls", .text_column = "1", .label_column = "2", .labels = "0,1"};
    refuse(&given, "a.tsv", TEXT(own), true, RF_EDATA,
           "a.tsv:1: label: expected one of the 2 known labels (0, 1), got 'mood'");
    const rf_finetune_options many = {.task = "multilabel", .text_column = "1", .label_column = "2"};
    g = read_as(&many, "a.tsv", TEXT("the cat\ta,c\nthe dog\ta\nred\tb\n"), true);            /* a is on another line */
    assert_int_equal(g->status, RF_OK);
    end(g);
}

/* ---- labels ---- */

/* transformers takes a list of floats, one for each label, with problem_type multi_label_classification. */
static void lists_of_zeros_and_ones(void **state)
{
    (void)state;
    static const float expected[] = {0, 1, 0, 1, 0, 1, 0, 0, 0};
    static const char lists[] = "{\"text\": \"the\", \"labels\": [0.0, 1.0, 0.0]}\n"
                                "{\"text\": \"cat\", \"labels\": [1.0, 0.0, 1.0]}\n"
                                "{\"text\": \"dog\", \"labels\": [0.0, 0.0, 0.0]}\n";
    reading *g = fine("multilabel", "a.jsonl", lists);
    assert_int_equal(g->l.n, 3);
    assert_string_equal(g->l.name[2], "2");
    assert_memory_equal(g->items.target, expected, sizeof expected);
    end(g);
    const rf_finetune_options named = {.task = "multilabel", .labels = "x,y,z"};
    g = read_as(&named, "a.jsonl", TEXT(lists), true);
    assert_int_equal(g->status, RF_OK);
    assert_memory_equal(g->items.target, expected, sizeof expected);
    end(g);
    const rf_finetune_options numbers = {.task = "multilabel", .labels = "2,0,1"};       /* by place */
    g = read_as(&numbers, "a.jsonl", TEXT(lists), true);
    assert_memory_equal(g->items.target, expected, sizeof expected);
    end(g);
    const rf_finetune_options more = {.task = "multilabel", .labels = "x,y,z,u"};
    refuse(&more, "a.jsonl", TEXT(lists), true, RF_EDATA,
           "a.jsonl:1: label: expected a list of 4 numbers, one for each label, got 3");
    bad("multilabel", "a.jsonl",
        "{\"text\": \"the\", \"labels\": [0, 1, 1]}\n{\"text\": \"cat\", \"labels\": [0, 1]}\n",
        "a.jsonl:1: label: expected each label once, got one twice");
    g = fine("multilabel", "a.jsonl",
             "{\"text\": \"the\", \"labels\": [2, 5]}\n{\"text\": \"cat\", \"labels\": []}\n");
    assert_int_equal(g->l.n, 2);
    end(g);
}

static void white_space_is_no_part_of_a_label(void **state)
{
    (void)state;
    reading *g = fine("cls", "a.csv", "text,label\nthe, a\ncat,a \ndog,\tb\n\"red\",\" b\"\n");
    assert_int_equal(g->l.n, 2);
    assert_string_equal(g->l.name[0], "a");
    assert_string_equal(g->l.name[1], "b");
    end(g);
    g = fine("multilabel", "a.tsv", "text\tlabel\nthe\ta, b\ncat\tb ,c\ndog\t \n");
    assert_int_equal(g->l.n, 3);
    assert_true(g->items.target[0] > 0 && g->items.target[1] > 0 && g->items.target[4] > 0 && g->items.target[6] == 0);
    end(g);
    g = fine("cls", "a.jsonl",
             "{\"text\": \"the\", \"label\": \"a \"}\n{\"text\": \"cat\", \"label\": \"a\"}\n{\"text\": \"dog\", "
             "\"label\": \"b\"}\n");
    assert_int_equal(g->l.n, 2);
    end(g);
    const rf_finetune_options spaced = {.task = "cls", .labels = "no, yes"},
                              twice = {.task = "cls", .labels = "no,yes, no"},
                              none = {.task = "cls", .labels = "no,,yes"};
    g = read_as(&spaced, "a.tsv", TEXT("text\tlabel\na\tyes\nb\tno\n"), true);
    assert_int_equal(g->status, RF_OK);
    assert_string_equal(g->l.name[1], "yes");
    end(g);
    refuse(&twice, "a.tsv", TEXT("text\tlabel\na\tyes\nb\tno\n"), true, RF_EARG,
           "labels: expected each label once, got 'no' twice");
    refuse(&none, "a.tsv", TEXT("text\tlabel\na\tyes\nb\tno\n"), true, RF_EARG,
           "labels: expected names with commas between them, got an empty name in");
    bad("cls", "a.tsv", "text\tlabel\na\tx\nb\ty\nc\t \n", "a.tsv:4: label: expected a text, got an empty one");
}

/* ---- files that are something else ---- */

static size_t widen(const char *text, char *out, bool little)
{
    size_t n = 0;
    for (; *text; text++) {
        out[n++] = little ? *text : 0;
        out[n++] = little ? 0 : *text;
    }
    return n;
}

static void other_encodings_are_named(void **state)
{
    (void)state;
    char wide[128] = "\xff\xfe";
    const rf_finetune_options cls = {.task = "cls"}, tag = {.task = "tag"};
    size_t n = widen("text\tlabel\r\nthe cat\tyes\r\n", wide, true);
    refuse(&cls, "a.tsv", wide, n, true, RF_EUNSUPPORTED,
           "a.tsv: expected UTF-8, got UTF-16LE");
    refuse(&tag, "a.conll", wide, n, true, RF_EUNSUPPORTED, "a.conll: expected UTF-8, got UTF-16LE");
    n = widen("{\"text\": \"a\"}\n", wide, false);
    refuse(&cls, "a.jsonl", wide, n, true, RF_EUNSUPPORTED, "a.jsonl: expected UTF-8, got UTF-16BE");
    memcpy(wide, "\xff\xfe", 2);
    n = 2 + widen("text\n", wide + 2, true);
    refuse(&cls, "a.csv", wide, n, true, RF_EUNSUPPORTED,
           "a.csv: expected UTF-8, got UTF-16; convert it with iconv -f UTF-16 -t UTF-8");
    refuse(&cls, "a.tsv", TEXT("text\tlabel\rthe cat\tyes\rthe dog\tno\r"), true, RF_EDATA,
           "a.tsv: line ends: expected LF or CRLF, got CR alone");
    refuse(&cls, "a.jsonl", TEXT("{\"text\": \"a\"}\r{\"text\": \"b\"}\r"), true, RF_EDATA,
           "a.jsonl: line ends: expected LF or CRLF, got CR alone");
    /* white space of JSON */
    reading *g = fine("cls", "a.json", "[{\"text\": \"a\",\r\"label\": 0},\r{\"text\": \"b\", \"label\": 1}]\r");
    assert_int_equal(g->r.n, 2);
    end(g);
}

static void separators_are_suggested_and_read(void **state)
{
    (void)state;
    static const char text[] = "text;label\n\"the; cat\";yes\nthe, dog;no\n";
    const rf_finetune_options cls = {.task = "cls"}, semicolon = {.task = "cls", .separator = ";"},
                              number = {.task = "cls", .text_column = "1"};
    refuse(&cls, "a.csv", TEXT(text), true, RF_EDATA,
           "a.csv:1: fields are separated by \",\", the first line has none, but \";\": separator \";\" reads it so");
    refuse(&cls, "a.tsv", TEXT("text,label\na,b\n"), true, RF_EDATA,
           "separated by \"tab\", the first line has none, but \",\": separator \",\"");
    refuse(&cls, "a.fasta", TEXT(">sp|P69905|HBA_HUMAN Hemoglobin, alpha\nMVLSPADKTN\n"), true, RF_EDATA,
           "a.fasta: expected a table of examples, got a FASTA file; write a table with a column 'text'");
    refuse(&cls, "a.txt", TEXT(">sp|P69905|HBA_HUMAN Hemoglobin\nMVLSPADKTN\n"), true, RF_EDATA, "got a FASTA file");
    refuse(&cls, "a.csv", TEXT("text\tlabel\na\tb\n"), true, RF_EDATA, "but \"tab\": separator \"tab\"");
    refuse(&number, "a.csv", TEXT("the cat;yes\nthe dog;no\n"), false, RF_EDATA,
           "separator \";\" reads it so, separator \",\" as it is");
    refuse(&(rf_finetune_options){.task = "cls", .separator = "a"}, "a.csv", TEXT(text), true, RF_EARG,
           "separator: expected tab or one of , ; | : ! # $ % & * / ~ ^, got 'a'");
    reading *g = read_as(&semicolon, "a.csv", TEXT(text), true);
    if (g->status) fail_msg("%s", g->why.text);
    same(g->r.record[0].text, "the; cat");
    same(g->r.record[1].text, "the, dog");
    same(g->r.record[1].label, "no");
    end(g);
    const rf_finetune_options tab = {.task = "cls", .separator = "tab"},
                              comma = {.task = "cls", .labels = "a,b", .text_column = "1", .separator = ","};
    g = read_as(&tab, "a.csv", TEXT("text\tlabel\nthe, cat\tyes\nb\tno\n"), true);
    assert_int_equal(g->status, RF_OK);
    same(g->r.record[0].text, "the, cat");
    end(g);
    const rf_finetune_options of_excel[] = {cls, semicolon};
    for (int i = 0; i < 2; i++) {                                   /* Excel's first line; the option is stronger */
        const char *file = i ? "sep=,\ntext;label\nb;no\nc;x\n" : "sep=;\r\ntext;label\r\na, b;yes\r\nc;x\r\n";
        g = read_as(&of_excel[i], "a.csv", file, strlen(file), true);
        if (g->status) fail_msg("%s", g->why.text);
        same(g->r.record[0].text, i ? "b" : "a, b");
        same(g->r.record[0].label, i ? "no" : "yes");
        end(g);
    }
    g = read_as(&comma, "a.csv", TEXT("the cat; old\nthe dog\n"), false);
    assert_int_equal(g->status, RF_OK);
    same(g->r.record[0].text, "the cat; old");
    end(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_texts_are_rows),      cmocka_unit_test(labels_are_not_needed),
        cmocka_unit_test(a_header_is_no_example),    cmocka_unit_test(lists_of_zeros_and_ones),
        cmocka_unit_test(white_space_is_no_part_of_a_label),
        cmocka_unit_test(other_encodings_are_named), cmocka_unit_test(separators_are_suggested_and_read),
    };
    return cmocka_run_group_tests_name("data/records", tests, NULL, NULL);
}
