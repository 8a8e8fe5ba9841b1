/* test_labeled.c — mirrors src/data/examples/labeled.c, records.c, records_json.c and example_files.c: the contents of
 * valid files, and the messages about invalid ones. */
#define _GNU_SOURCE
#include <unistd.h>

#include "data/examples/example_files.h"
#include "reading.h"

/* ---- good files ---- */

static void rows_are_what_they_say(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "text\tlabel\nthe cat\ta\nthe \"dog\tb\n",
        "\xef\xbb\xbftext\tlabel\r\nthe cat\ta\r\nthe \"dog\tb",
        "\xef\xbb\xbftext\tlabel\n\nthe cat\ta\n\nthe \"dog\tb\n\n",
    };
    for (size_t i = 0; i < RF_COUNT(tables); i++) {
        reading *g = fine("cls", "a.tsv", tables[i]);
        assert_int_equal(g->r.n, 2);
        same(g->r.record[0].text, "the cat");
        same(g->r.record[1].text, "the \"dog");                       /* between tabs a quote is a letter */
        same(g->r.record[1].label, "b");
        assert_int_equal(g->l.n, 2);
        assert_int_equal(g->items.label[1], 1);
        end(g);
    }
}

static void quotes_of_csv(void **state)
{
    (void)state;
    reading *g = fine("cls", "a.csv",
                      "\"label\",\"text\"\r\nyes,\"the cat, old\"\r\n\"no\",\"the \"\"red\"\"\ndog\"\nno,a \"b\" "
                      "c\nyes,\"\"\n\"no\",\"end\"");
    static const char *const text[] = {"the cat, old", "the \"red\"\ndog", "a \"b\" c", "", "end"};
    static const uint64_t line[] = {2, 3, 5, 6, 7};
    assert_int_equal(g->r.n, 5);
    for (size_t i = 0; i < 5; i++) {
        same(g->r.record[i].text, text[i]);
        assert_int_equal(g->r.record[i].line, line[i]);
    }
    same(g->r.record[1].label, "no");
    end(g);
}

static void objects_of_json(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"a.jsonl", "\xef\xbb\xbf{\"text\": \"the cat\", \"label\": 10}\r\n\n{\"label\": 9, \"text\": \"the dog\"}"},
        {"a.json", "{\"text\": \"the cat\", \"label\": 10}\n{\"label\": 9, \"text\": \"the dog\"}\n"},
        {"a.json", "[{\"text\": \"the cat\", \"label\": 10},\n {\"label\": 9,\n \"text\": \"the dog\"}]\n"},
        {"a.json", "{\"version\": 1,\n\"data\": [{\"text\": \"the cat\", \"label\": 10}, {\"label\": 9, \"text\": "
                   "\"the dog\"}]}\n"},
        {"a.jsonl", "{\"text\": \"the cat\", \"label\": 10.0}\n{\"label\": 9e0, \"text\": \"the dog\"}\n"},
    };
    for (size_t i = 0; i < RF_COUNT(files); i++) {
        reading *g = fine("cls", files[i][0], files[i][1]);
        assert_int_equal(g->r.n, 2);
        same(g->r.record[1].text, "the dog");
        assert_string_equal(g->l.name[0], "9");                        /* whole numbers by value */
        assert_int_equal(g->items.label[0], 1);
        end(g);
    }
}

static void squad_as_it_is_published(void **state)
{
    (void)state;
    reading *g = fine("qa", "dev-v2.0.json",
                      "{\"version\": \"v2.0\", \"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": \"the old "
                      "cat\", \"qas\": [{\"id\": \"1\", \"question\": \"the\", \"answers\": [{\"text\": \"cat\", "
                      "\"answer_start\": 8}, {\"text\": \"old cat\", \"answer_start\": 4}]},{\"id\": \"2\", "
                      "\"question\": \"dog\", \"is_impossible\": true, \"answers\": []}]}]}]}");
    assert_int_equal(g->r.n, 2);
    assert_int_equal(g->items.n, 2);
    assert_int_equal(g->items.label[0], 5);                            /* [CLS] the [SEP] the old cat */
    assert_int_equal(g->items.label[1], 5);
    assert_int_equal(g->items.label[2], 0);
    end(g);
    bad("cls", "dev-v2.0.json", "{\"data\": [{\"paragraphs\": []}]}",
        "expected examples of this task, got questions in the format of SQuAD");
}

static void sentences_of_conll(void **state)
{
    (void)state;
    reading *g =
        fine("tag", "a.conll", "\xef\xbb\xbf-DOCSTART- O\r\n\r\nthe O\r\ncat B-A\r\n\r\n\r\n  old\tO\nred B-A");
    assert_int_equal(g->items.n, 2);
    assert_int_equal(g->items.tokens, 8);
    assert_int_equal(g->items.label[2], 0);                            /* B-A, O */
    end(g);
    reading *w =
        read_as(&(rf_finetune_options){.task = "tag", .labels = "O,B"}, "a.txt", TEXT("the\ncat\n\nold\n"), false);
    assert_int_equal(w->status, RF_OK);                                /* without tags, to be tagged */
    assert_int_equal(w->items.n, 2);
    end(w);
}

static void comments_of_conll(void **state)
{
    (void)state;
    reading *g = fine("tag", "a.conll", "# id 4d8e domain=train\nthe _ _ B-PER\ndog _ _ O\n\n# id 77aa domain=train\n"
                                        "#cat _ _ B-LOC\n# _ _ O\ncat _ _ O\n");
    assert_int_equal(g->items.n, 2);
    assert_int_equal(g->l.n, 3);                                  /* B-LOC, B-PER, O */
    end(g);
    reading *w = fine("tag", "a.conll", "# O\nthe B-A\n\n#the O\n");   /* words, where the last column is a tag */
    assert_int_equal(w->items.n, 2);
    assert_int_equal(w->l.n, 2);
    end(w);
    bad("tag", "a.conll", "the B-PER\n\n# I\xff\xfe\x01\xc3\xa9x\na B\n", "got the tag \"I???\xc3\xa9x\"");
    bad("tag", "a.conll", "the B-PER\ndog O\n\n# newpar\na B-LOC\ncat O\n", "a.conll:4: begins with \"#\" and has the");
    bad("tag", "a.conllu", "# sent_id = 1\n1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n", "a.conllu:2: is CoNLL-U");
    bad("tag", "a.conllu", "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n", "a.conllu:1: is CoNLL-U");
}

/* ---- bad files, of every format ---- */

static void bad_bytes(void **state)
{
    (void)state;
    bad("cls", "e.tsv", "text\tlabel\nthe \xff cat\tyes\nthe dog\tno\n",
        "e.tsv:2: byte 5 of the line (0xFF) is not UTF-8");
    bad("cls", "e.tsv", "te\xc3xt\tlabel\nthe cat\tyes\n", "e.tsv:1: byte 3 of the line (0xC3) is not UTF-8");
    bad("cls", "e.csv", "text,label\na,b\n\"two\nlines \xed\xa0\x80\",c\n",
        "e.csv:4: byte 7 of the line (0xED) is not UTF-8");
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"\x80\", \"label\": \"x\"}\n",
        "e.jsonl:2: byte 11 of the line (0x80) is not UTF-8");
    bad("tag", "e.conll", "the O\n  c\xfft B\n", "e.conll:2: byte 4 of the line (0xFF) is not UTF-8");
    const rf_finetune_options cls = {.task = "cls"}, tag = {.task = "tag"};
    refuse(&cls, "e.tsv", TEXT("text\tlabel\nthe\0cat\tyes\nb\tno\n"), true, RF_EDATA,
           "e.tsv:2: byte 4 of the line is NUL");
    refuse(&cls, "e.csv", TEXT("text,label\n\"the\0cat\",yes\nb,no\n"), true, RF_EDATA,
           "e.csv:2: byte 5 of the line is NUL");
    refuse(&cls, "e.jsonl", TEXT("{\"text\": \"\0\"}\n"), true, RF_EDATA, "e.jsonl:1: byte 11 of the line is NUL");
    refuse(&tag, "e.conll", TEXT("a\0 O\n"), true, RF_EDATA, "e.conll:1: byte 2 of the line is NUL");
    bad("cls", "e.jsonl", "{\"text\": \"\\u0000\", \"label\": \"x\"}\n", "e.jsonl:1: expected a JSON object");
}

static void bad_rows(void **state)
{
    (void)state;
    char wide[2048] = "text\tlabel";
    bad("cls", "e.tsv", "", "e.tsv: expected a file with examples");
    bad("cls", "e.tsv", "\xef\xbb\xbf", "e.tsv: expected a file with examples");
    bad("cls", "e.jsonl", "", "e.jsonl: expected a file with examples");
    bad("cls", "e.jsonl", "\n \n", "e.jsonl: expected an example, got none");
    bad("tag", "e.conll", "\n\n", "e.conll: expected an example, got none");
    bad("cls", "e.tsv", "text\tlabel\n", "e.tsv: expected an example, got none");
    bad("cls", "e.tsv", "text\tlabel\nthe cat\tyes\nthe dog\n", "e.tsv:3: expected the 2 columns of the header, got 1");
    bad("cls", "e.tsv", "text\tlabel\nthe cat\tyes\tno\nthe dog\tno\n",
        "e.tsv:2: expected the 2 columns of the header, got 3");
    bad("cls", "e.csv", "text,label\nthe cat,yes\nthe, dog,no\nred\n",
        "e.csv:3: expected the 2 columns of the header, got 3 (and 1 more such lines");
    bad("cls", "e.csv", "text,label\na,b\n\"two\nlines\",c\nd,\"open\nand, on\n",
        "e.csv:5: expected a closing quote");
    bad("cls", "e.csv", "\"text,label\na,b\n", "e.csv:1: expected a closing quote");
    bad("cls", "e.csv", "text,label\n\"a\"b,c\n",
        "e.csv:2: expected a separator after a closing quote");
    for (int i = 0; i < 254; i++) strcat(wide, "\tx");
    bad("cls", "e.tsv", strcat(wide, "\na\tb\n"), "e.tsv:2: expected the 256 columns of the header, got 2");
    wide[strlen(wide) - 5] = 0;
    bad("cls", "e.tsv", strcat(wide, "\tx\na\tb\n"), "e.tsv:1: expected at most 256 columns");
    bad("tag", "e.conll", "the O\ncat\n", "e.conll:2: expected a word and its tag, got another line");
    bad("tag", "e.conll", "the x O\ncat O\n", "e.conll:2: expected 3 columns, as in the first line, got 2");
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n[1]\n",
        "e.jsonl:2: expected a JSON object, got a list");
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\"\n",
        "e.jsonl:2: expected a JSON object: '}' expected near end of file");
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"text\": \"b\", \"label\": \"x\"}\n",
        "e.jsonl:1: expected a JSON object: duplicate object key near '\"text\"'");
    bad("cls", "e.json", "[{\"text\": \"a\", \"label\": \"x\"}, 3]\n",
        "e.json: example 2: expected an object, got an integer");
    bad("cls", "e.json", "[{\"text\": \"a\",\n \"label\": }]\n", "e.json:2: ");
}

static void bad_columns(void **state)
{
    (void)state;
    bad("cls", "e.tsv", "words\tlabel\na\tb\n",
        "e.tsv: expected a column 'text' for the text, got words, label; text_column takes another name, or a number");
    bad("cls", "e.tsv", "text\tklass\na\tb\n",
        "expected a column 'label' for the label, got text, klass; label_column takes");
    bad("cls", "e.tsv", "text\ttext\tlabel\na\tb\tc\n", "header: expected one column for the text, got two");
    const rf_finetune_options near = {.task = "cls", .text_column = "sentense", .label_column = "label"},
                              second = {.task = "cls", .pair_column = "text_2"};
    refuse(&near, "e.tsv", TEXT("idx\tsentence\tlabel\n1\ta\tb\n"), true, RF_EDATA,
           "e.tsv: expected a column 'sentense' for the text, got idx, sentence, label; the nearest is 'sentence'");
    refuse(&near, "e.jsonl", TEXT("{\"sentence\": \"a\", \"label\": 0}\n"), true, RF_EDATA,
           "expected a column 'sentense' for the text, got sentence, label; the nearest is 'sentence'");
    refuse(&second, "e.csv", TEXT("text,text_b,label\na,b,c\n"), true, RF_EDATA,
           "expected a column 'text_2' for the pair, got text, text_b, label; the nearest is 'text_b'");
    const rf_finetune_options three = {.task = "cls", .text_column = "1", .label_column = "3"},
                              most = {.task = "cls", .text_column = "1", .label_column = "257"};
    refuse(&three, "e.tsv", TEXT("a\tb\tc\nd\te\n"), true, RF_EDATA, "e.tsv:2: expected at least 3 columns, got 2");
    refuse(&most, "e.tsv", TEXT("a\tb\n"), true, RF_EARG, "columns: expected a number from 1 to 256, got 257");
    refuse(&three, "e.jsonl", TEXT("{}\n"), true, RF_EARG, "expected the names of JSON members, got the number");
    const rf_finetune_options half = {.task = "cls", .text_column = "1"};
    refuse(&half, "e.tsv", TEXT("a\tb\n"), true, RF_EARG, "label_column: expected a number");
}

static void bad_labels(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"0.5", "a number with a fraction"},
                                           {"null", "null"},
                                           {"true", "true"},
                                           {"[\"x\"]", "a list"},
                                           {"{}", "an object"}};
    char text[512];
    for (size_t i = 0; i < RF_COUNT(kinds); i++) {
        char part[96];
        snprintf(text, sizeof text,
                 "{\"text\": \"a\", \"label\": 0}\n{\"text\": \"b\", \"label\": 1}\n{\"text\": \"a\", \"label\": %s}\n",
                 kinds[i][0]);
        snprintf(part, sizeof part, "e.jsonl:3: label: expected a string or an integer, got %s", kinds[i][1]);
        bad("cls", "e.jsonl", text, part);
    }
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"label\": 0}\n{\"text\": \"b\", \"label\": 1}\n{\"text\": \"a\"}\n",
        "e.jsonl:3: label: expected a string or an integer, got nothing");
    bad("cls", "e.jsonl",
        "{\"text\": 3, \"label\": 0}\n{\"text\": \"b\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n",
        "e.jsonl:1: text: expected a string, got an integer");
    bad("cls", "e.jsonl", "{\"text\": \"a\", \"label\": 99999999999999999999}\n",
        "e.jsonl:1: expected a JSON object: too big integer near '99999999999999999999'");
    bad("reg", "e.jsonl", "{\"text\": \"a\", \"label\": 1e999}\n",
        "e.jsonl:1: expected a JSON object: real number overflow near '1e999'");
    bad("reg", "e.jsonl", "{\"text\": \"a\", \"label\": 1e99}\n",
        "e.jsonl:1: the label '9.9999999999999997e+98' is not a finite number");
    bad("reg", "e.jsonl", "{\"text\": \"a\", \"label\": \"NaN\"}\n",
        "e.jsonl:1: the label 'NaN' is not a finite number");
    bad("reg", "e.jsonl", "{\"text\": \"a\", \"label\": NaN}\n", "e.jsonl:1: expected a JSON object");
    bad("reg", "e.jsonl", "{\"text\": \"a\", \"label\": false}\n",
        "e.jsonl:1: label: expected a string or a number, got false");
    static const char *const numbers[] = {"nan", "inf", "-Infinity", "1e400", "0x10", "", "1 2", "1,5", "--1", "e5"};
    for (size_t i = 0; i < RF_COUNT(numbers); i++) {
        snprintf(text, sizeof text, "text\tscore\nthe cat\t1\nthe dog\t%s\n", numbers[i]);
        bad("reg", "e.tsv", text, "e.tsv:3: the label '");
    }
    snprintf(text, sizeof text, "text\tscore\nthe dog\t1%070d\n", 0);
    bad("reg", "e.tsv", text, "e.tsv:2: the label has 71 characters, a number has at most 63");
    snprintf(text, sizeof text, "text\tlabel\na\tx\nb\ty\nthe dog\t1%0300d\n", 0);
    bad("cls", "e.tsv", text, "e.tsv:4: label: expected at most 255 bytes, got 301");
    bad("cls", "e.tsv", "text\tlabel\na\tx\nb\ty\nc\t\n", "e.tsv:4: label: expected a text, got an empty one");
    bad("cls", "e.tsv", "text\tlabel\nthe cat\tyes\nthe dog\tyes\n",
        "e.tsv: expected at least two labels, got only 'yes'");
    bad("multilabel", "e.jsonl", "{\"text\": \"a\", \"labels\": [1, 0]}\n{\"text\": \"b\", \"labels\": [0, 1]}\n",
        "got 2 times 0 or 1 in each list");
    end(fine("multilabel", "e.jsonl", "{\"text\": \"a\", \"labels\": [1, 0]}\n{\"text\": \"b\", \"labels\": [2]}\n"));
    bad("embed", "e.csv", "anchor,positive,negative\na,b,c\n", "expected no column of negatives, got 'negative'");
    bad("embed", "e.jsonl", "{\"query\": \"a\", \"pos\": [\"b\"], \"neg\": [\"c\"]}\n", "member \"pos\"");
    bad("embed", "e.jsonl", "{\"text\": \"a\", \"pair\": \"b\", \"negative_1\": \"c\"}\n", "member \"negative_1\"");
    bad("multilabel", "e.jsonl", "{\"text\": \"a\", \"labels\": [\"x\", 1, null]}\n",
        "e.jsonl:1: label: expected a string or an integer, got another value");
    bad("tag", "e.jsonl",
        "{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\", \"B\"]}\n{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\"]}\n",
        "e.jsonl:2: 2 tokens, but 1 tags");
    bad("tag", "e.jsonl", "{\"tokens\": [\"a\", 1], \"tags\": [\"O\", \"B\"]}\n", "e.jsonl:1: token 2 is not a string");
    bad("mc", "e.jsonl", "{\"text\": \"a\", \"choices\": [\"b\"], \"label\": 1}\n",
        "e.jsonl:1: label: expected the index of a choice");
    bad("mc", "e.jsonl", "{\"text\": \"a\", \"choices\": [\"b\", 2], \"label\": 0}\n",
        "e.jsonl:1: choice 2: expected a string");
    bad("mc", "e.jsonl", "{\"text\": \"a\", \"choices\": [], \"label\": 0}\n", "e.jsonl:1: no list of choices");
    bad("qa", "e.jsonl",
        "{\"question\": \"a\", \"context\": \"b c\", \"answers\": {\"text\": [\"c\"], \"answer_start\": [0]}}\n",
        "e.jsonl:1: answer: expected 'c' in the context at answer_start");
    bad("qa", "e.jsonl", "{\"question\": \"a\"}\n", "e.jsonl:1: expected a question and a context");
}

static void labels_that_are_given(void **state)
{
    (void)state;
    const rf_finetune_options o = {.task = "cls", .labels = "no,yes"};
    refuse(&o, "e.tsv", TEXT("text\tlabel\na\tyes\nb\tperhaps\n"), true, RF_EDATA,
           "e.tsv:3: label: expected one of the 2 known labels (no, yes), got 'perhaps'");
    reading *g = read_as(&o, "e.tsv", TEXT("text\tlabel\na\tyes\nb\tyes\n"), true);       /* one class is enough */
    assert_int_equal(g->status, RF_OK);
    assert_int_equal(g->items.label[1], 1);
    end(g);
}

/* Integers are indexes of given labels, and names if labels are numbers or not given. */
static void numbers_of_tags(void **state)
{
    (void)state;
    static const char text[] =
        "{\"tokens\": [\"the\", \"cat\"], \"ner_tags\": [0, 2]}\n{\"tokens\": [\"old\"], \"tags\": [\"O\"]}\n";
    static const char ten[] = "{\"tokens\": [\"the\", \"cat\"], \"ner_tags\": [9, 10]}\n";
    const rf_finetune_options names = {.task = "tag", .labels = "O,B-A,I-A"},
                              numbers = {.task = "tag", .labels = "10,9"}, none = {.task = "tag"};
    reading *g = read_as(&names, "a.jsonl", TEXT(text), true);
    if (g->status) fail_msg("%s", g->why.text);
    assert_int_equal(g->items.label[1], 0);
    assert_int_equal(g->items.label[2], 2);
    end(g);
    g = read_as(&numbers, "a.jsonl", TEXT(ten), true);
    assert_int_equal(g->items.label[1], 1);
    end(g);
    g = read_as(&none, "a.jsonl", TEXT(ten), true);
    assert_string_equal(g->l.name[0], "9");
    end(g);
    refuse(&names, "a.jsonl", TEXT("{\"tokens\": [\"the\"], \"ner_tags\": [3]}\n"), true, RF_EDATA,
           "label: expected one of the 3 known labels (O, B-A, I-A), got '3'");
}

static void some_bad_lines_may_be(void **state)
{
    (void)state;
    static const char text[] = "text\tlabel\na\tx\nb\nc\ty\nd\t\ne\xff\tx\nf\tx\n";
    const rf_finetune_options two = {.task = "cls", .max_bad_lines = 2}, three = {.task = "cls", .max_bad_lines = 3};
    refuse(&two, "e.tsv", text, sizeof text - 1, true, RF_EDATA,
           "e.tsv:3: expected the 2 columns of the header, got 1 (and 2 more such lines");
    reading *g = read_as(&three, "e.tsv", text, sizeof text - 1, true);
    assert_int_equal(g->status, RF_OK);
    assert_int_equal(g->items.n, 3);
    assert_int_equal(g->l.bad, 3);
    t_failed(&g->l.first, RF_EDATA, "e.tsv:3: expected the 2 columns of the header, got 1");
    end(g);
    refuse(&three, "e.tsv", text, sizeof text - 1, false, RF_EDATA,
           "e.tsv:3: expected the 2 columns of the header, got 1");  /* an answer for each line */
}

static void a_line_without_end(void **state)
{
    (void)state;
    const size_t size = 66 << 20;
    char *text = malloc(size);
    memset(text, 'a', size);
    memcpy(text, "text\tlabel\n", 11);
    refuse(&(rf_finetune_options){.task = "cls"}, "e.tsv", text, size, true, RF_EDATA,
           "e.tsv:2: expected a line of at most 64 MiB");
    free(text);
}

/* ---- folds ---- */

/* 47 texts with distinct lengths, so that a text is identified by its length; classes of 29, 11, 6 and 1. */
enum { FOLD_TEXTS = 47, FOLD_CLASSES = 4 };
static int class_of_text(int i) { return i % 8 < 5 && i < 46 ? 0 : i == 46 ? 3 : i % 8 == 7 ? 2 : 1; }

static char *fold_file(char *folder)
{
    char text[FOLD_TEXTS * (FOLD_TEXTS * 4 + 8) + 16];
    size_t n = (size_t)sprintf(text, "text\tlabel\n");
    for (int i = 0; i < FOLD_TEXTS; i++) {
        for (int w = 0; w < i; w++) n += (size_t)sprintf(text + n, "the ");
        n += (size_t)sprintf(text + n, "\t%c\n", 'a' + class_of_text(i));
    }
    t_write(folder, "train.tsv", text, n);
    char *path = malloc(strlen(folder) + 16);
    sprintf(path, "%s/train.tsv", folder);
    return path;
}

/* part[i]: the fold that holds out text i, from what each of K runs reads. */
static void parts_of(const char *path, const char *task, int K, uint64_t seed, int part[])
{
    for (int i = 0; i < FOLD_TEXTS; i++) part[i] = -1;
    for (int k = 0; k < K; k++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_tokenizer *t;
        rf__labeled l = {.fold = k};
        const rf__task *found;
        rf__items train = {0}, dev = {0};
        rf_error why = {0};
        rf_tokenizer_options options;
        rf_tokenizer_defaults(&options);
        const rf_finetune_options o = {.task = task, .train = path, .k_fold = K, .t = {.seed = seed}};
        assert_int_equal(rf_tokenizer_new(ctx, vocab, sizeof vocab - 1, "vocab", &options, &t, NULL), RF_OK);
        if (rf__examples_open(&l, ctx, &o, &found, &why) || rf__labeled_train(&l, t, 64, &train, &dev, &why))
            fail_msg("%s", why.text);
        assert_int_equal(train.n + dev.n, FOLD_TEXTS);
        for (size_t i = 0; i < dev.n; i++) {
            const size_t text = rf__item_size(&dev, i) - 2;
            assert_int_equal(part[text], -1);                            /* no other fold holds it out */
            part[text] = k;
        }
        rf__items_free(&train);
        rf__items_free(&dev);
        rf__labeled_close(&l);
        rf_tokenizer_free(t);
        rf_ctx_free(ctx);
    }
}

/* The numbers in each of K parts of those texts that belong to `class` (-1: all) differ by at most one. */
static void dealt_evenly(const int part[], int K, int class)
{
    int count[16] = {0}, all = 0;
    for (int i = 0; i < FOLD_TEXTS; i++)
        if (class < 0 || class_of_text(i) == class) {
            assert_true(part[i] >= 0);
            count[part[i]]++;
            all++;
        }
    for (int k = 0; k < K; k++)
        if (count[k] != all / K && count[k] != (all + K - 1) / K)
            fail_msg("class %d: %d of %d in part %d of %d", class, count[k], all, k, K);
}

static void folds_are_stratified_by_class(void **state)
{
    (void)state;
    char *path = fold_file((char *)(uintptr_t)t_folder());
    int part[FOLD_TEXTS], again[FOLD_TEXTS], other[FOLD_TEXTS], differ = 0;
    static const int folds[] = {2, 3, 5, 10};
    for (size_t f = 0; f < RF_COUNT(folds); f++) {
        parts_of(path, "cls", folds[f], 42, part);
        for (int class = -1; class < FOLD_CLASSES; class++) dealt_evenly(part, folds[f], class);
    }
    parts_of(path, "cls", 10, 42, again);
    parts_of(path, "cls", 10, 43, other);
    assert_memory_equal(part, again, sizeof part);                       /* a function of the seed */
    for (int i = 0; i < FOLD_TEXTS; i++) differ += part[i] != other[i];
    assert_true(differ > FOLD_TEXTS / 2);
    parts_of(path, "multilabel", 5, 42, part);                           /* no classes: sizes alone */
    dealt_evenly(part, 5, -1);
    free(path);
}

/* ---- tasks and folders ---- */

static void files_of_a_folder(void **state)
{
    (void)state;
    char *folder = strdup(t_folder()), path[4096];
    rf_error why = {0};
    assert_int_equal(rf__example_file(folder, "dev", true, path, sizeof path, &why), RF_OK);
    assert_string_equal(path, "");
    assert_int_equal(rf__example_file(folder, "train", false, path, sizeof path, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected train.tsv, .csv, .jsonl, .json, .conll or .txt, got none of them");
    t_write(folder, "train.tsv.gz", "", 0);
    t_write(folder, "train.md", "", 0);
    t_write(folder, "val.tsv", "", 0);
    assert_int_equal(rf__example_file(folder, "train", false, path, sizeof path, NULL), RF_OK);
    assert_non_null(strstr(path, "/train.tsv.gz"));
    assert_int_equal(rf__example_file(folder, "dev", false, path, sizeof path, NULL), RF_OK);
    assert_non_null(strstr(path, "/val.tsv"));
    t_write(folder, "dev.jsonl", "", 0);
    assert_int_equal(rf__example_file(folder, "dev", false, path, sizeof path, NULL), RF_OK);
    assert_non_null(strstr(path, "/dev.jsonl"));
    t_write(folder, "dev.csv", "", 0);
    why = (rf_error){0};
    assert_int_equal(rf__example_file(folder, "dev", false, path, sizeof path, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected one file, got dev.csv and dev.jsonl; name the file");
    assert_int_equal(rf__example_file("a.tsv", "dev", false, path, sizeof path, NULL), RF_OK);
    assert_string_equal(path, "a.tsv");
    free(folder);
}

/* Every allocation may fail: one status, and nothing leaks (the sanitizer detects leaks). */
static rf_status read_examples(const rf_ctx *ctx, void *file, rf_error *why)
{
    char *const *f = file;                                               /* task, name, text */
    const rf_finetune_options o = {.task = f[0]};
    const rf__task *task;
    rf_tokenizer *t = NULL;
    rf__labeled l = {0};
    rf__records r = {0};
    rf__items items = {0};
    rf_status status = rf_tokenizer_new(ctx, vocab, sizeof vocab - 1, "vocab", NULL, &t, why);
    if (!status) status = rf__examples_open(&l, ctx, &o, &task, why);
    l.layout.with_labels = true;
    if (!status) status = rf__records_from_memory(&r, ctx, f[2], strlen(f[2]), f[1], &l.layout, why);
    if (!status) status = rf__labeled_items(&l, t, 32, &r, true, &items, why);
    rf__records_free(&r);
    rf__items_free(&items);
    rf__labeled_close(&l);
    rf_tokenizer_free(t);
    return status;
}

static void memory_may_end(void **state)
{
    (void)state;
    static char *files[][3] = {{"cls", "a.csv", "text,label\n\"the cat\",a\nb,c\n"},
                               {"multilabel", "a.jsonl", "{\"text\": \"a\", \"labels\": [\"x\", \"y\"]}\n"},
                               {"tag", "a.conll", "the O\ncat B\n"}};
    for (size_t i = 0; i < RF_COUNT(files); i++)
        assert_int_equal(t_fail_allocations(1, NULL, read_examples, files[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_they_say),
        cmocka_unit_test(quotes_of_csv),
        cmocka_unit_test(objects_of_json),
        cmocka_unit_test(squad_as_it_is_published),
        cmocka_unit_test(sentences_of_conll),
        cmocka_unit_test(comments_of_conll),
        cmocka_unit_test(bad_bytes),
        cmocka_unit_test(bad_rows),
        cmocka_unit_test(bad_columns),
        cmocka_unit_test(bad_labels),
        cmocka_unit_test(labels_that_are_given),
        cmocka_unit_test(numbers_of_tags),
        cmocka_unit_test(some_bad_lines_may_be),
        cmocka_unit_test(folds_are_stratified_by_class),
        cmocka_unit_test(a_line_without_end),
        cmocka_unit_test(files_of_a_folder),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests_name("train/labeled", tests, NULL, NULL);
}
