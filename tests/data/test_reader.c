/* test_reader.c — mirrors src/data/documents/reader.c, reader_formats.c and wiki.c. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "reader_in_memory.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

static const rf_reader_options by_line = {.size = sizeof(by_line), .split = RF_SPLIT_LINE},
                               by_file = {.size = sizeof(by_file), .split = RF_SPLIT_FILE},
                               by_heading = {.size = sizeof(by_heading), .split = RF_SPLIT_HEADING},
                               titles = {.size = sizeof(titles), .keep_titles = 1};

static void plain_text(void **state)
{
    (void)state;
    gives("", "f", NULL, "");
    gives("\n\n \t\n", "f", NULL, "");
    gives("a", "f", NULL, "[a]");
    gives("a\nb\n\nc\n", "f", NULL, "[a\nb][c]");
    gives("\n\na\n \t \n\n  b  \n\n", "f", NULL, "[a][b]");
    gives("a\r\nb\r\n\r\nc\r\n", "f", NULL, "[a\nb][c]");
    gives("\xEF\xBB\xBF" "a\n", "f", NULL, "[a]");
    gives("\xEF\xBB\xBF", "f", NULL, "");
    gives("a\xEF\xBB\xBF", "f", NULL, "[a\xEF\xBB\xBF]");
    gives("a\n\n b \n\nc", "f", &by_line, "[a][b][c]");
    gives("a\n\nb\n", "f", &by_file, "[a\n\nb]");
    gives("\n = One = \n \n x \n = = Two = = \n y \n = Three = \n", "f", &by_heading, "[x \n = = Two = = \n y]");
    gives(" = One = \n x \n = Three = \n y", "f",
          &(rf_reader_options){.size = sizeof(rf_reader_options), .split = RF_SPLIT_HEADING, .keep_titles = 1},
          "[= One = \n x][= Three = \n y]");
    gives("= a\n= b =\nx", "f", &by_heading, "[= a][x]");
}

/* A text with CR and no LF would be one line to every reader of lines, which is never intended. */
static void ends_of_lines_of_old_macs(void **state)
{
    (void)state;
    static const char said[] = "f: line ends: expected LF or CRLF, got CR alone";
    enum { LONG = 700 << 10 };
    refuses("a\rb\r\rc\r", "f", NULL, RF_EDATA, said);
    refuses("\xEF\xBB\xBF" "a\rb", "f", &by_line, RF_EDATA, said);
    refuses("\r\ra", "f", &by_heading, RF_EDATA, said);
    refuses("<doc id=\"1\">\rx\r</doc>\r", "f", NULL, RF_EDATA, said);
    refuses("{\"text\":\"a\"}\r{\"text\":\"b\"}\r", "f.jsonl", NULL, RF_EDATA,
            "line ends: expected LF or CRLF, got CR alone; convert them with tr '\\r' '\\n'");
    char *large = malloc(LONG);                                    /* longer than the buffer for a line */
    memset(large, 'x', LONG);
    large[7] = '\r';
    refuses_bytes(large, LONG, "f", NULL, RF_EDATA, said);
    large[LONG - 2] = '\n';                                        /* a CR inside one line of two is a blank */
    rf_reader *r = reader(large, LONG, "f", NULL);
    rf_error why = {0};
    all(r, &why);
    assert_int_equal(why.code, RF_OK);
    rf_reader_close(r);
    free(large);
    gives("a b\r", "f", NULL, "[a b]");
    gives("a\rb\nc\rd", "f", &by_line, "[a\rb][c\rd]");
}

static void json_lines(void **state)
{
    (void)state;
    gives("{\"text\":\"a\\nb\"}\n\n{\"id\":1,\"text\":\"\\u00e9 \\ud83d\\ude00\"}\r\n{\"text\":\"\"}", "f.jsonl", NULL,
          "[a\nb][\xC3\xA9 \xF0\x9F\x98\x80]");
    gives("{\"body\":\"x\",\"text\":\"y\"}", "f.ndjson",
          &(rf_reader_options){.size = sizeof(rf_reader_options), .field = "body"}, "[x]");
    gives("{\"text\":\"x\"}", "f", &(rf_reader_options){.size = sizeof(rf_reader_options), .format = RF_TEXT_JSONL},
          "[x]");
    gives("{\"text\":\"x\"}", "f.txt", NULL, "[{\"text\":\"x\"}]");
    refuses("{\"text\":\"a\"}\n{\"text\":7}\n", "f.jsonl", NULL, RF_EDATA,
            "f.jsonl:2: \"text\": expected a string, got 7");
    refuses("{\"body\":\"a\"}\n", "f.jsonl", NULL, RF_EDATA,
            "f.jsonl:1: \"text\": expected a string, got none");
    refuses("\n\n{\"text\":\"a\"\n", "f.jsonl", NULL, RF_EDATA, "f.jsonl:3: not valid JSON");
    refuses("[1]\n", "f.jsonl", NULL, RF_EDATA, "f.jsonl:1: expected a JSON object, got a list of 1");
    refuses("{\"text\":\"a\",\"text\":\"b\"}\n", "f.jsonl", NULL, RF_EDATA, "duplicate");
    refuses("{\"text\":\"\\ud800\"}\n", "f.jsonl", NULL, RF_EDATA, "f.jsonl:1: not valid JSON");

    const char nul[] = "{\"text\":\"a\\u0000b\"}";
    rf_reader *r = reader(nul, sizeof nul - 1, "f.jsonl", NULL);
    rf_document d;
    assert_int_equal(rf_reader_next(r, &d, NULL), RF_OK);
    assert_int_equal(d.size, 3);
    assert_memory_equal(d.text, "a\0b", 3);
    rf_reader_close(r);
}

static void proteins(void **state)
{
    (void)state;
    const rf_reader_options parts = {.size = sizeof parts, .format = RF_TEXT_FASTA, .max_document = 64};
    gives(">a first\nMKTV\nLSE\n>b\nACD\n", "x.fasta", NULL, "[MKTVLSE][ACD]");
    gives(">a\r\nmkTV\r\n\r\nL S\r\n;comment\r\n", "x.faa", NULL, "[MKTVLS]");
    gives(">a\nMK-.*\n>b\nA*", "x.fa", NULL, "[MK-.][A]");
    gives("\xEF\xBB\xBF>a\nMK\n*\n", "x.txt", &(rf_reader_options){.size = sizeof parts, .format = RF_TEXT_FASTA},
          "[MK]");
    gives(">a\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCC\n>b\nD", "x", &parts,
          "[AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA]+[CCCC][D]");
    gives(">P1;CRAB\r\nALPHA CRYSTALLIN CHAIN\r\nMDIA IHH\r\nPW*\r\n>F1;TWO\n\nACD*\n>DL;n\n>A\nAC*\n", "x.fa", NULL,
          "[MDIAIHHPW][ACD][AC]");
    gives("", "x.fa", NULL, "");
    const rf_reader_options apart = {.size = sizeof apart, .max_document = 64, .residues_apart = 1};
    gives(">a\nmk\nTV*\n>b\n\nA\n C D\n", "x.fa", &apart, "[M K T V][A C D]");
    gives(">a\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC\nDE\n", "x.fa", &apart,
          "[A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A]+[C D E]");
    refuses("MK\n>a\nMK\n", "x.fa", NULL, RF_EDATA, "x.fa:1: expected a line that begins with '>', got residues");
    refuses(">a\n>b\nMK\n", "x.fa", NULL, RF_EDATA, "x.fa:2: 'a': expected residues, got none");
    refuses(">b\nMK\n>a\n", "x.fa", NULL, RF_EDATA, "'a': expected residues, got none");
    refuses(">a\nM*K\n", "x.fa", NULL, RF_EDATA, "x.fa:2: 'a': expected '*' only at the end of a protein, got");
    refuses(">a\nM*\nK\n", "x.fa", NULL, RF_EDATA, "x.fa:3: 'a': expected '*' only at the end");
    refuses(">a\nMK1\n", "x.fa", NULL, RF_EDATA,
            "x.fa:2: expected residues (letters, '-', '.', '*'), got byte 0x31 at byte 3");
    rf_reader *r = reader(">one two\nMK\n> three\nA\n>\nC\n", 26, "x.fa", NULL);
    static const char *const names[] = {"one", "three", ""};
    for (int i = 0; i < 3; i++) {
        rf_document d;
        assert_int_equal(rf_reader_next(r, &d, NULL), RF_OK);
        assert_string_equal(d.name, names[i]);
    }
    rf_reader_close(r);
    char *large = t_bytes(1000003);                             /* a million residues in one line */
    memcpy(large, ">a\n", 3);
    memset(large + 3, 'A', 1000000);
    r = reader(large, 1000003, "x.fa", NULL);
    rf_document d;
    assert_int_equal(rf_reader_next(r, &d, NULL), RF_OK);
    assert_int_equal(d.size, 1000000);
    rf_reader_close(r);
    t_free_all();
}

/* A document of more than what is kept, where a line ends with a piece of nothing. */
static void wiki_of_whole_pieces(void **state)
{
    (void)state;
    enum { LINES = 900, LINE = 1001, PIECE = 262144 };
    static const char begin[] = "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n", end[] = "\n</doc>\n";
    const size_t size = sizeof begin - 1 + (size_t)LINES * LINE + PIECE + sizeof end - 1;
    char *large = t_bytes(size), *at = large;
    memcpy(at, begin, sizeof begin - 1);
    at += sizeof begin - 1;
    for (int i = 0; i < LINES; i++, at += LINE) {
        memset(at, 'x', LINE - 1);
        at[LINE - 1] = '\n';
    }
    memset(at, 'y', PIECE);
    memcpy(at + PIECE, end, sizeof end - 1);
    rf_reader *r = reader(large, size, "f", NULL);
    size_t bytes = 0;
    for (rf_document d; !rf_reader_next(r, &d, NULL) && d.text;) bytes += d.size;
    assert_in_range(bytes, (size_t)LINES * (LINE - 1) + PIECE, size);
    rf_reader_close(r);
    t_free_all();
}

/* An entity that a piece of a line cuts. */
static void wiki_entities_across_pieces(void **state)
{
    (void)state;
    enum { PIECE = 262144 };
    static const char begin[] = "<doc id=\"1\" url=\"u\" title=\"T\">\n", end[] = "&quot;z\n</doc>\n";
    for (int shift = 0; shift < 8; shift++) {
        const size_t size = sizeof begin - 1 + PIECE - (size_t)shift + sizeof end - 1;
        char *large = t_bytes(size);
        memcpy(large, begin, sizeof begin - 1);
        memset(large + sizeof begin - 1, 'y', PIECE - (size_t)shift);
        memcpy(large + size - (sizeof end - 1), end, sizeof end - 1);
        rf_reader *r = reader(large, size, "f", NULL);
        rf_document d;
        assert_int_equal(rf_reader_next(r, &d, NULL), RF_OK);
        assert_int_equal(d.size, PIECE - shift + 2);
        assert_memory_equal(d.text + d.size - 3, "y\"z", 3);
        rf_reader_close(r);
        t_free_all();
    }
}

/* Lines of JSON are recognized by the first of them, whatever the file's name is. */
static void json_by_its_first_line(void **state)
{
    (void)state;
    gives("{\"text\": \"one\", \"url\": \"a\"}\n{\"text\": \"two\"}\n", "c4.00000.json", NULL, "[one][two]");
    gives("\n{\"text\": \"one\"}", "f", NULL, "[one]");
    gives("{\"title\": \"one\"}\n\n{2}\n", "f", NULL, "[{\"title\": \"one\"}][{2}]");
    gives("{not JSON}\n", "f.json", NULL, "[{not JSON}]");
    gives("{\"text\": 1}\n", "f", NULL, "[{\"text\": 1}]");
}

static void wiki(void **state)
{
    (void)state;
    const char *two = "<doc id=\"1\" url=\"u\" title=\"A &quot;B&quot; &amp; C\">\nA \"B\" &amp; C\n\nx &lt;y&gt; "
                      "&amp;amp; &nbsp; &\n\nz\n\n</doc>\n"
                      "<doc id=\"2\" title=\"Empty\">\nEmpty\n\n\n</doc>\n\n<doc title=\"book/1\">\r\ntext\r\n</doc>";
    gives(two, "f", NULL, "[x <y> &amp; &nbsp; &\nz][text]");
    gives(two, "f", &titles, "[A \"B\" & C\nx <y> &amp; &nbsp; &\nz][Empty][text]");
    gives("\xEF\xBB\xBF\n<doc id=\"1\">\na\n</doc>\n", "f", NULL, "[a]");
    refuses("<doc id=\"1\">\na\n</doc>\nstray\n", "f", NULL, RF_EDATA, "f:4: expected text inside <doc>");
    refuses("<doc id=\"1\">\na\n<doc id=\"2\">\n", "f", NULL, RF_EDATA, "f:3: expected </doc> before the next <doc>");
    refuses("<doc id=\"1\">\na\n", "f", NULL, RF_EDATA, "f:3: expected </doc>, got the end of the file");
    refuses("a", "f", &(rf_reader_options){.size = sizeof(rf_reader_options), .format = RF_TEXT_WIKI}, RF_EDATA,
            "f:1: expected text inside");
    gives("<doc id=\"1\">\na\n", "f", &(rf_reader_options){.size = sizeof(rf_reader_options), .format = RF_TEXT_PLAIN},
          "[<doc id=\"1\">\na]");
}

static void bad_bytes(void **state)
{
    (void)state;
    refuses("a\n\nb\n\xC3(\n", "f", NULL, RF_EDATA, "f:4: byte 1 of the line (0xC3) is not UTF-8");
    refuses("abc\xED\xA0\x80", "f", NULL, RF_EDATA, "f:1: byte 4 of the line (0xED)");
    refuses("ab\xF0\x9F\x98", "f", NULL, RF_EDATA, "f:1: byte 3");
    refuses("{\"text\":\"\xFF\"}", "f.jsonl", NULL, RF_EDATA, "f.jsonl:1: byte 10 of the line (0xFF)");
    refuses_bytes("\xFF\xFE" "a\0", 4, "f", NULL, RF_EUNSUPPORTED, "UTF-16");
    refuses_bytes("\xFD" "7zXZ\0\0", 7, "f", NULL, RF_EUNSUPPORTED, "expected gzip, zstd or uncompressed data, got xz");
    refuses("BZh91AY&SY", "f", NULL, RF_EUNSUPPORTED, "expected gzip, zstd or uncompressed data, got bzip2");
    refuses("plain", "f.gz", NULL, RF_EDATA, "f.gz: expected gzip data, got other bytes");
    refuses("", "f.zst", NULL, RF_EDATA, "f.zst: expected zstd data, got an empty file");
    gives("B\xC5\xA0", "f", NULL, "[B\xC5\xA0]");
}

/* ---- long documents ---- */

static void cuts(void **state)
{
    (void)state;
    const rf_reader_options o = {.size = sizeof(o), .max_document = 64};
    char text[400] = "";
    for (int i = 0; i < 30; i++) strcat(text, "abcdefg ");         /* 240 bytes of words */
    rf_error why = {0};
    rf_document d;
    rf_reader *r = reader(text, strlen(text), "f", &o);
    size_t total = 0;
    for (int i = 0; !rf_reader_next(r, &d, &why) && d.text; i++) {
        assert_int_equal(d.continues, i > 0);
        assert_int_equal(d.index, i);
        assert_true(d.size <= 64 && d.size % 8 == 7);              /* whole words */
        total += d.size + 1;
    }
    assert_int_equal(total, 240);
    rf_reader_close(r);

    /* Without words: split before a character, so that every piece is UTF-8; no text is lost. */
    memset(text, 0, sizeof text);
    for (int i = 0; i < 100; i++) strcat(text, "\xE4\xB8\xAD");
    strcat(text, "\n\nb");
    r = reader(text, strlen(text), "f", &o);
    for (total = 0; !rf_reader_next(r, &d, &why) && d.text && d.size > 1; total += d.size)
        assert_int_equal(d.size % 3, 0);
    assert_int_equal(total, 300);
    assert_int_equal(d.continues, 0);
    rf_reader_close(r);

    /* A JSON document is cut like any other. */
    r = reader("{\"text\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}", 81, "f.jsonl",
               &o);
    assert_int_equal(rf_reader_next(r, &d, &why), RF_OK);
    assert_int_equal(d.size, 64);
    assert_int_equal(rf_reader_next(r, &d, &why), RF_OK);
    assert_int_equal(d.size, 6);
    assert_int_equal(d.continues, 1);
    rf_reader_close(r);
}

/* A line of 100 MB costs the buffers, not the line. */
static void memory_is_bounded(void **state)
{
    (void)state;
    const size_t n = 100000000;
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) text[i] = "\xE4\xB8\xAD"[i % 3];
    text[n - 1] = '\n';                                            /* n = 3 k + 1 */
    t_memory m = {0};
    rf_ctx *c = t_counting_ctx(1, NULL, &m);
    rf_reader *r = NULL;
    rf_error why = {0};
    rf_document d;
    size_t total = 0;
    assert_int_equal(rf__reader_from_memory(c, text, n, "f", NULL, &r, &why), RF_OK);
    while (!rf_reader_next(r, &d, &why) && d.text) total += d.size;
    if (why.code) fail_msg("%s", why.text);
    assert_int_equal(total, n - 1);
    rf_reader_close(r);
    assert_true(m.peak < 8 << 20);

    refuses_bytes(text, n, "f.jsonl", NULL, RF_EDATA, "f.jsonl:1: expected a line of at most 67108864 bytes");
    text[n / 3 * 3 - 3] = 'x';                                     /* the fault may be anywhere in the line */
    refuses_bytes(text, n, "f", NULL, RF_EDATA, "f:1: byte ");
    free(text);
    rf_ctx_free(c);
    assert_int_equal(m.live, 0);
}

/* Random plain text compared with another formulation of the rule: split at blank lines, all in memory. */
static void random_text(void **state)
{
    (void)state;
    static const char *const piece[] = {"a",  "bc",   " ", "\n", "\n", "\n\n", "\r\n", "\xC3\xA9", "\xF0\x9F\x98\x80",
                                        "\t", "word "};
    rf_rng rng;
    rf_rng_init(&rng, 7, 0);
    for (int round = 0; round < 2000; round++) {
        char text[256] = "", expected[512] = "";
        for (uint32_t i = rf_rng_below(&rng, 30); i > 0; i--)
            strcat(text, piece[rf_rng_below(&rng, RF_COUNT(piece))]);
        char copy[256], doc[256] = "", *line = copy, *next;
        strcpy(copy, text);
        for (; line; line = next) {
            next = strchr(line, '\n');
            if (next) *next++ = 0;
            const size_t n = strlen(line);
            if (n && line[n - 1] == '\r') line[n - 1] = 0;
            const bool empty = strspn(line, " \t\r") == strlen(line);
            if (!empty) strcat(strcat(doc, line), "\n");
            if ((empty || !next) && *doc) {
                char *a = doc + strspn(doc, " \t\r\n"), *b = doc + strlen(doc);
                while (b > a && strchr(" \t\r\n", b[-1])) *--b = 0;
                strcat(strcat(strcat(expected, "["), a), "]");
                doc[0] = 0;
            }
        }
        gives(text, "f", NULL, expected);
    }
}

/* ---- files, places ---- */

static uint64_t fingerprint(const rf_reader *r)
{
    uint64_t hash = 0;
    rf_error why = {0};
    if (rf__reader_fingerprint(r, &hash, &why)) fail_msg("%s", why.text);
    return hash;
}

static void several_files(void **state)
{
    (void)state;
    const char *folder = t_folder();
    char a[300], b[300], c[300];
    size_t n;
    t_write(folder, "a.txt", "a0\n\na1\n\na2", 10);
    void *z = zstandard("{\"text\":\"b0\"}\n{\"text\":\"b1\"}\n", 28, &n);
    t_write(folder, "b.jsonl.zst", z, n);
    t_write(folder, "c", "", 0);
    snprintf(a, sizeof a, "%s/a.txt", folder);
    snprintf(b, sizeof b, "%s/b.jsonl.zst", folder);
    snprintf(c, sizeof c, "%s/c", folder);
    const char *const paths[] = {a, c, b}, *const lacking[] = {a, NULL};
    rf_reader *r = NULL;
    rf_error why = {0};
    rf_document d;
    assert_int_equal(rf_reader_open(ctx, lacking, 2, NULL, &r, NULL), RF_EARG);
    assert_int_equal(rf_reader_open(ctx, paths, 3, NULL, &r, &why), RF_OK);
    t_near(rf_reader_share(r), 0, 0);
    assert_string_equal(all(r, &why), "[a0][a1][a2][b0][b1]");
    t_near(rf_reader_share(r), 1, 0);
    assert_int_equal(rf__reader_tell(r).file, 3);

    /* Returning to each position gives the documents from there again. */
    const char *const from[] = {"[a0][a1][a2][b0][b1]", "[a1][a2][b0][b1]", "[a2][b0][b1]", "[b0][b1]", "[b1]", ""};
    assert_int_equal(rf__reader_seek(r, (rf_reader_position){0, 0}, &why), RF_OK);
    for (size_t i = 0; i < RF_COUNT(from); i++) {
        const rf_reader_position here = rf__reader_tell(r);
        assert_string_equal(all(r, &why), from[i]);
        assert_int_equal(rf__reader_seek(r, here, &why), RF_OK);
        assert_int_equal(rf_reader_next(r, &d, &why), RF_OK);
    }
    assert_int_equal(rf__reader_seek(r, (rf_reader_position){0, 4}, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "a.txt: document: expected ... 3, got 4");
    why = (rf_error){0};
    assert_int_equal(rf__reader_seek(r, (rf_reader_position){4, 0}, &why), RF_EARG);
    assert_int_equal(rf__reader_seek(r, (rf_reader_position){0, -1}, NULL), RF_EARG);
    const uint64_t before = fingerprint(r);
    rf_reader_close(r);

    /* The fingerprint: the same after reopening, a different one if anything relevant differs. */
    assert_int_equal(rf_reader_open(ctx, paths, 3, NULL, &r, NULL), RF_OK);
    assert_true(fingerprint(r) == before);
    rf_reader_close(r);
    assert_int_equal(rf_reader_open(ctx, paths, 3, &by_line, &r, NULL), RF_OK);
    assert_true(fingerprint(r) != before);
    rf_reader_close(r);
    assert_int_equal(rf_reader_open(ctx, paths, 2, NULL, &r, NULL), RF_OK);
    assert_true(fingerprint(r) != before);
    rf_reader_close(r);
    t_write(folder, "a.txt", "a0\n\na1\n\na3", 10);
    assert_int_equal(rf_reader_open(ctx, paths, 3, NULL, &r, NULL), RF_OK);
    assert_true(fingerprint(r) != before);

    t_write(folder, "a.txt", "a0", 2);                             /* after it was opened */
    why = (rf_error){0};
    assert_int_equal(rf_reader_next(r, &d, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected the size of the start, 10 bytes, got 2");
    rf_reader_close(r);
    t_free_all();
}

static void doors(void **state)
{
    (void)state;
    const char *folder = t_folder();
    char gone[300], pipe_path[300];
    rf_reader *r = NULL;
    rf_error why = {0};
    snprintf(gone, sizeof gone, "%s/gone", folder);
    assert_int_equal(rf_reader_open(ctx, (const char *const[]){gone}, 1, NULL, &r, &why), RF_EIO);
    t_failed(&why, RF_EIO, "gone: cannot open");
    why = (rf_error){0};
    assert_int_equal(rf_reader_open(ctx, &folder, 1, NULL, &r, &why), RF_EIO);
    t_failed(&why, RF_EIO, "expected a file, got a directory");
    assert_int_equal(rf_reader_open(ctx, NULL, 0, NULL, &r, NULL), RF_EARG);
    assert_int_equal(rf_reader_open(ctx, (const char *const[]){"-", "-"}, 2, NULL, &r, NULL), RF_EARG);
    rf_reader_options small;
    rf_reader_defaults(&small);
    small.max_document = 63;
    assert_int_equal(rf_reader_open(ctx, (const char *const[]){"-"}, 1, &small, &r, NULL), RF_EARG);
    assert_null(r);

    /* A named pipe is opened once and read sequentially. */
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const pid_t child = fork();
    if (!child) {
        FILE *f = fopen(pipe_path, "w");
        for (int i = 0; f && i < 3; i++) {
            fputs(i == 1 ? "\n\n" : i ? "b" : "a", f);
            fflush(f);
        }
        _exit(f && !fclose(f) ? 0 : 1);
    }
    why = (rf_error){0};
    assert_int_equal(rf_reader_open(ctx, (const char *const[]){pipe_path}, 1, NULL, &r, &why), RF_OK);
    assert_true(rf_reader_share(r) < 0);
    assert_string_equal(all(r, &why), "[a][b]");
    rf_reader_close(r);
    if (why.code) fail_msg("%s", why.text);
}

/* Standard input is read once, whatever kind of file it is. */
static void standard_input(void **state)
{
    (void)state;
    int ends[2];
    rf_reader *r = NULL;
    rf_error why = {0};
    const int before = dup(0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "a\n\n\xFF", 4), 4);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], 0), 0);
    assert_int_equal(rf_reader_open(ctx, (const char *const[]){"-"}, 1, NULL, &r, &why), RF_OK);
    assert_string_equal(all(r, &why), "[a]");
    t_failed(&why, RF_EDATA, "standard input:3: byte 1 of the line (0xFF) is not UTF-8");
    why = (rf_error){0};
    assert_int_equal(rf__reader_seek(r, (rf_reader_position){0, 1}, &why), RF_EARG);
    t_failed(&why, RF_EARG, "-: expected standard input once, got it twice");
    rf_reader_close(r);
    dup2(before, 0);
    close(before);
    close(ends[0]);
}

static rf_status read_from_memory(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    rf_reader *r = NULL;
    rf_document d = {.text = "", .size = 0};
    rf_status s = rf__reader_from_memory(c, "{\"text\":\"abc\"}\n", 15, "f.jsonl", NULL, &r, why);
    while (!s && d.text) s = rf_reader_next(r, &d, why);
    rf_reader_close(r);
    return s;
}

static void allocations_fail(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, read_from_memory, NULL), 0);
}

/* The numbers of documents in the data's own description; four articles of the last file have only a title. */
static void real_files(void **state)
{
    (void)state;
    if (!t_data()) return;
    static const struct { const char *name; rf_text_split split; int64_t documents; } set[] = {
        {"enwiki/enwiki_AA_00-49.txt.gz", RF_SPLIT_BLANK, 28757},
        {"zhwiki/zhwiki_AA_00-59.txt.gz", RF_SPLIT_BLANK, 49442},
        {"enwiki-2015/enwiki_AA.txt.zst", RF_SPLIT_BLANK, 6514 - 4},
    };
    for (size_t i = 0; i < RF_COUNT(set); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", t_data(), set[i].name);
        if (access(path, R_OK)) continue;
        rf_reader *r = NULL;
        rf_error why = {0};
        rf_document d;
        int64_t documents = 0;
        assert_int_equal(rf_reader_open(ctx, (const char *const[]){path}, 1,
                                        &(rf_reader_options){.size = sizeof(rf_reader_options), .split = set[i].split},
                                        &r, &why),
                         RF_OK);
        while (!rf_reader_next(r, &d, &why) && d.text) documents += !d.continues;
        if (why.code) fail_msg("%s", why.text);
        if (documents != set[i].documents)
            fail_msg("%s: %lld documents, %lld expected", path, (long long)documents, (long long)set[i].documents);
        rf_reader_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proteins),
        cmocka_unit_test(plain_text),    cmocka_unit_test(json_lines),        cmocka_unit_test(wiki_of_whole_pieces),
        cmocka_unit_test(wiki_entities_across_pieces),
        cmocka_unit_test(json_by_its_first_line),
        cmocka_unit_test(wiki),
        cmocka_unit_test(ends_of_lines_of_old_macs),
        cmocka_unit_test(bad_bytes),     cmocka_unit_test(cuts),              cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(random_text),
        cmocka_unit_test(several_files), cmocka_unit_test(doors),             cmocka_unit_test(standard_input),
        cmocka_unit_test(allocations_fail), cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests_name("train/reader", tests, setup, teardown);
}
