/* test_source.c — mirrors src/data/documents/source.c: compressed data, whole, damaged and in parts; sources that
 * continue a file. */
#define _GNU_SOURCE
#include <unistd.h>

#include "reader_in_memory.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

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
static const char *read_all(rf_source *s, size_t piece)
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
        assert_int_equal(rf_source_compressed("f", data[i], 4), i > 0);
        assert_int_equal(rf_source_compressed(NULL, data[i], 1), i > 0 ? -1 : 0);
        for (size_t seen = 0; seen <= size[i]; seen += 5) {
            FILE *f = tmpfile();
            rf_source *s = NULL;
            assert_int_equal(fwrite(data[i], 1, size[i], f), size[i]);
            assert_int_equal(fflush(f), 0);
            const int fd = dup(fileno(f));
            assert_int_equal(lseek(fd, (off_t)seen, SEEK_SET), seen);
            assert_int_equal(rf_source_continue(ctx, fd, data[i], seen, "f", &s, NULL), RF_OK);
            assert_string_equal(read_all(s, 1 + seen), text);
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
    assert_int_equal(rf_source_compressed("f", NULL, 4), -1);
    assert_int_equal(rf_source_compressed("lines.gz", "a text", 6), 1); /* which the source refuses */
    assert_int_equal(rf_source_compressed("f", "BZh91AY", 7), 1);
    assert_int_equal(rf_source_compressed("f", "BZhang", 6), 0);
    assert_int_equal(rf_source_compressed("f", "_*M\x18", 4), 1);       /* a frame that zstd skips */
    assert_int_equal(rf_source_compressed("f", "_*M\x18", 3), -1);
    assert_int_equal(rf_utf8_check(NULL, 0), 0);
    assert_int_equal(rf_utf8_check("a\xC3\xA9\xED\xA0\x80", 6), 3);
    assert_true(rf_utf8_blank(NULL, 3) && rf_utf8_blank("x", 0) && rf_utf8_blank(" \t\r\n\0", 5));
    assert_true(rf_utf8_blank("\xE3\x80\x80 \xC2\xA0\xE2\x80\x8B\xEF\xBB\xBF\x1B", 13)); /* U+3000 U+A0 U+200B U+FEFF */
    assert_false(rf_utf8_blank(" \xE3\x80\x81", 4) || rf_utf8_blank("\xE3\x80\x80.", 4));          /* U+3001 */
    assert_false(rf_utf8_blank(" \xE3\x80", 3) || rf_utf8_blank("\xED\xA0\x80", 3));               /* no UTF-8 */
}

static void what_is_no_text_is_named(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    refuses(pointer, "text.txt", NULL, RF_EDATA, "text.txt: expected text, got a pointer of Git LFS");
    refuses(pointer, "text.txt.gz", NULL, RF_EDATA, "fetch the file: git lfs pull");
    refuses("PAR1\x15\x04", "a.parquet", NULL, RF_EUNSUPPORTED, "a.parquet: expected text, got a table in Parquet");
    refuses("PK\x03\x04\x14", "a.xlsx", NULL, RF_EUNSUPPORTED, "a workbook of Excel; save it as CSV UTF-8");
    refuses("PK\x03\x04\x14", "a.zip", NULL, RF_EUNSUPPORTED, "a zip archive; unpack it");
    rf_error why = {0};
    rf_reader *r = reader("version https of a\n\nPAR\n\nPK\n", 28, "text.txt", NULL);
    assert_string_equal(all(r, &why), "[version https of a][PAR][PK]");
    rf_reader_close(r);
    assert_int_equal(rf_source_compressed("a", pointer, 8), -1);
    assert_int_equal(rf_source_compressed("a", pointer, sizeof pointer - 1), 1);
    t_free_all();
}

static void bombs(void **state)
{
    (void)state;
    const rf_reader_options by_line = {.size = sizeof(by_line), .split = RF_SPLIT_LINE};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed),       cmocka_unit_test(parts_without_text),
        cmocka_unit_test(sources_continue), cmocka_unit_test(source_doors),
        cmocka_unit_test(what_is_no_text_is_named),
        cmocka_unit_test(bombs),
    };
    return cmocka_run_group_tests_name("data/source", tests, setup, teardown);
}
