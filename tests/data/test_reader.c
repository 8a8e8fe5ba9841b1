/* test_reader.c — mirrors src/data/documents/reader.c, reader_formats.c, wiki.c and source.c. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "roformer/inspect/reader.h"
#include "one_context.h"
#include "data/documents/reader.h"
#include "roformer/inspect/source.h"
#include "roformer/tokenizer.h"

static rf_reader *reader(const void *data, size_t size, const char *name, const rf_reader_options *o)
{
    rf_reader *r = NULL;
    rf_error why = {0};
    if (rf__reader_from_memory(ctx, data, size, name, o, &r, &why)) fail_msg("%s", why.text);
    return r;
}

/* All documents, each in brackets; a piece that continues one begins with '+'. */
static const char *all(rf_reader *r, rf_error *why)
{
    static char text[1 << 16];
    size_t n = 0;
    rf_document d;
    text[0] = 0;
    while (!rf_reader_next(r, &d, why) && d.text)
        if (n + d.size + 4 < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s]", d.continues ? "+[" : "[", (int)d.size, d.text);
    return text;
}

static void gives(const char *data, const char *name, const rf_reader_options *o, const char *expected)
{
    rf_error why = {0};
    rf_reader *r = reader(data, strlen(data), name, o);
    const char *got = all(r, &why);
    if (why.code) fail_msg("%s: %s", data, why.text);
    assert_string_equal(got, expected);
    rf_reader_close(r);
}

static void refuses_bytes(const void *data, size_t size, const char *name, const rf_reader_options *o, rf_status code,
                          const char *part)
{
    rf_error why = {0}, again = {0};
    rf_reader *r = reader(data, size, name, o);
    rf_document d;
    all(r, &why);
    t_failed(&why, code, part);
    assert_int_equal(rf_reader_next(r, &d, &again), code);         /* the failure stays */
    assert_string_equal(again.text, why.text);
    assert_null(d.text);
    rf_reader_close(r);
}

static void refuses(const char *data, const char *name, const rf_reader_options *o, rf_status code, const char *part)
{
    refuses_bytes(data, strlen(data), name, o, code, part);
}

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
            "f.jsonl:2: \"text\": expected a string, got another value or none");
    refuses("{\"body\":\"a\"}\n", "f.jsonl", NULL, RF_EDATA,
            "f.jsonl:1: \"text\": expected a string, got another value or none");
    refuses("\n\n{\"text\":\"a\"\n", "f.jsonl", NULL, RF_EDATA, "f.jsonl:3: not valid JSON");
    refuses("[1]\n", "f.jsonl", NULL, RF_EDATA, "f.jsonl:1: expected a JSON object, got another value");
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
    gives("", "x.fa", NULL, "");
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
    refuses("", "f.zst", NULL, RF_EDATA, "f.zst: expected zstd data, got other bytes");
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

/* ---- compression ---- */

static void *gzipped(const char *text, size_t n, size_t *size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    *size = deflateBound(&z, n);
    unsigned char *to = t_bytes(*size);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = to;
    z.avail_out = (uInt)*size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return to;
}

static void *zstandard(const char *text, size_t n, size_t *size)
{
    const size_t capacity = ZSTD_compressBound(n);
    void *to = t_bytes(capacity);
    *size = ZSTD_compress(to, capacity, text, n, 3);
    assert_false(ZSTD_isError(*size));
    return to;
}

/* Every prefix of a compressed file is rejected, the whole file is read; two of them in a row are one text. */
static void compressed(void **state)
{
    (void)state;
    const char *text = "one\n\ntwo words\n\nthree\n\n";
    const rf_reader_options none = {.size = sizeof(none), .format = RF_TEXT_PLAIN};
    for (int kind = 0; kind < 2; kind++) {
        size_t n;
        rf_error why = {0};
        unsigned char *z = kind ? zstandard(text, strlen(text), &n) : gzipped(text, strlen(text), &n),
                      *twice = t_bytes(2 * n + 5);
        for (size_t cut = 4; cut < n; cut++)
            refuses_bytes(z, cut, kind ? "f.txt.zst" : "f.txt.gz", &none, RF_EDATA,
                          kind ? "f.txt.zst: the compressed data is cut off at byte"
                               : "f.txt.gz: the compressed data is cut off at byte");
        rf_reader *r = reader(z, n, "anything", NULL);
        assert_string_equal(all(r, &why), "[one][two words][three]");
        t_near(rf_reader_share(r), 1, 0);
        rf_reader_close(r);
        memcpy(twice, z, n);
        memcpy(twice + n, z, n);
        memset(twice + 2 * n, 0, 5);
        r = reader(twice, 2 * n + (kind ? 0 : 5), "anything", NULL);   /* gzip may be padded with zeros */
        assert_string_equal(all(r, &why), "[one][two words][three][one][two words][three]");
        rf_reader_close(r);
        memcpy(twice + n, "garbage!", 8);
        refuses_bytes(twice, n + 8, "f", NULL, RF_EDATA,
                      kind ? "damaged zstd data at byte" : "neither the end nor another gzip member at byte");
        memcpy(twice, z, n);
        twice[n / 2] ^= 0x55;
        if (!kind) refuses_bytes(twice, n, "f", NULL, RF_EDATA, "f: damaged gzip data at byte");
        if (why.code) fail_msg("%s", why.text);
    }
    t_free_all();
}

/* Members and frames without text, any number in a row, before, between and after others. */
static void parts_without_text(void **state)
{
    (void)state;
    enum { MANY = 6000 };                                          /* more bytes than the source takes at once        */
    static const char text[] = "one\n\n", skipped[] = "\x50\x2A\x4D\x18\3\0\0\0any";
    for (int kind = 0; kind < 3; kind++) {
        size_t n, empty = sizeof skipped - 1, at = 0;
        rf_error why = {0};
        const void *part = kind ? zstandard(text, strlen(text), &n) : gzipped(text, strlen(text), &n);
        const void *none = kind == 0 ? gzipped("", 0, &empty) : kind == 1 ? zstandard("", 0, &empty) : skipped;
        unsigned char *file = t_bytes(3 * MANY * empty + 2 * n);
        for (int i = 0; i < 3 * MANY; i++) {
            memcpy(file + at, none, empty);
            at += empty;
            if (i % MANY || !i) continue;
            memcpy(file + at, part, n);
            at += n;
        }
        rf_reader *r = reader(file, at, "anything", NULL);
        assert_string_equal(all(r, &why), "[one][one]");
        rf_reader_close(r);
        r = reader(file, at - 1, "anything", NULL);                /* and a last one that is incomplete               */
        all(r, &why);
        assert_non_null(strstr(why.text, "the compressed data is cut off at byte"));
        rf_reader_close(r);
    }
    t_free_all();
}

/* Everything that a source gives in reads of at most `piece` bytes, followed by a zero. */
static const char *whole(rf_source *s, size_t piece)
{
    static char text[4096];
    rf_error why = {0};
    size_t n = 0, got = 1;
    while (got) {
        assert_true(n + piece < sizeof text);
        assert_int_equal(rf_source_read(s, text + n, piece, &got, &why), RF_OK);
        assert_true(got <= piece);
        n += got;
    }
    rf_source_close(s);
    text[n] = 0;
    return text;
}

/* A file of which `seen` bytes were read already is read to its end, plain or compressed. */
static void sources_continue(void **state)
{
    (void)state;
    static const char text[] = "one line\nand another one\n";
    const size_t n = sizeof text - 1;
    size_t size[3] = {n};
    const char *data[3] = {text};
    data[1] = gzipped(text, n, &size[1]);
    data[2] = zstandard(text, n, &size[2]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rf_source_compressed(data[i], 4), i > 0);
        assert_int_equal(rf_source_compressed(data[i], 1), i > 0 ? -1 : 0);
        for (size_t seen = 0; seen <= size[i]; seen += 5) {
            FILE *f = tmpfile();
            rf_source *s = NULL;
            assert_int_equal(fwrite(data[i], 1, size[i], f), size[i]);
            assert_int_equal(fflush(f), 0);
            const int fd = dup(fileno(f));
            assert_int_equal(lseek(fd, (off_t)seen, SEEK_SET), seen);
            assert_int_equal(rf_source_continue(ctx, fd, data[i], seen, "f", &s, NULL), RF_OK);
            assert_string_equal(whole(s, 1 + seen), text);
            fclose(f);
        }
    }
}

static void source_doors(void **state)
{
    (void)state;
    rf_source *s = NULL;
    size_t got;
    char byte;
    assert_int_equal(rf_source_open(NULL, "f", &s, NULL), RF_EARG);
    assert_int_equal(rf_source_open(ctx, NULL, &s, NULL), RF_EARG);
    assert_int_equal(rf_source_open(ctx, "f", NULL, NULL), RF_EARG);
    assert_int_equal(rf_source_continue(ctx, -1, NULL, 1, "f", &s, NULL), RF_EARG);
    assert_int_equal(rf_source_continue(ctx, -1, "", (128 << 10) + 1, "f", &s, NULL), RF_EARG);
    assert_int_equal(rf_source_read(NULL, &byte, 1, &got, NULL), RF_EARG);
    assert_int_equal(rf_source_open(ctx, "no such file", &s, NULL), RF_EIO);
    assert_int_equal(rf_source_open(ctx, ".", &s, NULL), RF_EIO);
    assert_null(s);
    rf_source_close(NULL);
    assert_int_equal(rf_source_compressed(NULL, 4), -1);
    assert_int_equal(rf_utf8_check(NULL, 0), 0);
    assert_int_equal(rf_utf8_check("a\xC3\xA9\xED\xA0\x80", 6), 3);
    assert_true(rf_utf8_blank(NULL, 3) && rf_utf8_blank("x", 0) && rf_utf8_blank(" \t\r\n\0", 5));
    assert_true(rf_utf8_blank("\xE3\x80\x80 \xC2\xA0\xE2\x80\x8B\xEF\xBB\xBF\x1B", 13)); /* U+3000 U+A0 U+200B U+FEFF */
    assert_false(rf_utf8_blank(" \xE3\x80\x81", 4) || rf_utf8_blank("\xE3\x80\x80.", 4));          /* U+3001 */
    assert_false(rf_utf8_blank(" \xE3\x80", 3) || rf_utf8_blank("\xED\xA0\x80", 3));               /* no UTF-8 */
}

static void bombs(void **state)
{
    (void)state;
    const size_t n = (size_t)200 << 20;
    char *zeros = calloc(n, 1);
    assert_non_null(zeros);
    size_t size;
    void *z = zstandard(zeros, n, &size);
    free(zeros);
    refuses_bytes(z, size, "f", &by_line, RF_EDATA, "over 1000 to 1");

    /* A frame that announces a window of 1 GiB: descriptor without size or single segment, window exponent 20. */
    refuses_bytes("\x28\xB5\x2F\xFD\x00\xA0\x01\x00\x00", 9, "f", NULL, RF_EUNSUPPORTED,
                  "zstd window: expected at most 128 MiB, got more");
    t_free_all();
}

static uint64_t fingerprint(const rf_reader *r)
{
    uint64_t hash = 0;
    rf_error why = {0};
    if (rf_reader_fingerprint(r, &hash, &why)) fail_msg("%s", why.text);
    return hash;
}

/* ---- files, places ---- */

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
    assert_int_equal(rf_reader_tell(r).file, 3);

    /* Returning to each position gives the documents from there again. */
    const char *const from[] = {"[a0][a1][a2][b0][b1]", "[a1][a2][b0][b1]", "[a2][b0][b1]", "[b0][b1]", "[b1]", ""};
    assert_int_equal(rf_reader_seek(r, (rf_reader_position){0, 0}, &why), RF_OK);
    for (size_t i = 0; i < RF_COUNT(from); i++) {
        const rf_reader_position here = rf_reader_tell(r);
        assert_string_equal(all(r, &why), from[i]);
        assert_int_equal(rf_reader_seek(r, here, &why), RF_OK);
        assert_int_equal(rf_reader_next(r, &d, &why), RF_OK);
    }
    assert_int_equal(rf_reader_seek(r, (rf_reader_position){0, 4}, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "a.txt: document: expected one of its 3, got 4");
    why = (rf_error){0};
    assert_int_equal(rf_reader_seek(r, (rf_reader_position){4, 0}, &why), RF_EARG);
    assert_int_equal(rf_reader_seek(r, (rf_reader_position){0, -1}, NULL), RF_EARG);
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
    assert_int_equal(rf_reader_seek(r, (rf_reader_position){0, 1}, &why), RF_EARG);
    t_failed(&why, RF_EARG, "standard input can be read only once");
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
        cmocka_unit_test(plain_text),    cmocka_unit_test(json_lines),        cmocka_unit_test(wiki),
        cmocka_unit_test(ends_of_lines_of_old_macs),
        cmocka_unit_test(bad_bytes),     cmocka_unit_test(cuts),              cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(random_text),   cmocka_unit_test(compressed),        cmocka_unit_test(bombs),
        cmocka_unit_test(parts_without_text),
        cmocka_unit_test(several_files), cmocka_unit_test(doors),             cmocka_unit_test(standard_input),
        cmocka_unit_test(allocations_fail), cmocka_unit_test(real_files),
        cmocka_unit_test(sources_continue), cmocka_unit_test(source_doors),
    };
    return cmocka_run_group_tests_name("train/reader", tests, setup, teardown);
}
