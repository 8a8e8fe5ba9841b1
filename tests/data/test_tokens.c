/* test_tokens.c — mirrors src/data/corpus/tokens.c and encode_corpus.c, and src/data/documents/content.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>

#include "tiny.h"
#include "data/corpus/tokens.h"
#include "roformer/inspect/folder.h"

typedef struct fixture {
    rf_ctx *ctx;
    char *folder, *corpus;
    rf_tokenizer *t;
    const char *text[1];
    rf__texts x;
} fixture;

static void open_fixture(fixture *f, int threads)
{
    static const rf_reader_options by_looks = {.size = sizeof(by_looks)};
    f->ctx = t_ctx(threads, NULL);
    f->folder = tiny_model();
    f->corpus = tiny_path(f->folder, "corpus.txt");
    f->text[0] = f->corpus;
    f->x = (rf__texts){f->text, NULL, 1, 0, 0.1, &by_looks};
    assert_int_equal(rf_tokenizer_open(f->ctx, f->folder, &f->t, NULL), RF_OK);
}

static void close_fixture(fixture *f)
{
    rf_tokenizer_free(f->t);
    rf_ctx_free(f->ctx);
    free(f->folder);
    free(f->corpus);
}

static rf__tokens make(fixture *f)
{
    rf__tokens k;
    rf_error why = {0};
    if (rf__tokens_open(f->ctx, f->t, &f->x, f->folder, 0, NULL, NULL, &k, &why)) fail_msg("%s", why.text);
    return k;
}

static int64_t inode(const fixture *f)
{
    struct stat st;
    char *path = tiny_path(f->folder, "tokens.cache");
    assert_int_equal(stat(path, &st), 0);
    free(path);
    return (int64_t)st.st_ino;
}

/* The cache has the tokenizer's ids, document by document. */
static void ids_are_the_tokenizers(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, 2);
    rf__tokens k = make(&f);
    rf_reader *r;
    rf_document d;
    rf_encoding e;
    size_t at = 0, n = 0;
    rf_encoding_init(&e, f.ctx);
    assert_int_equal(rf_reader_open(f.ctx, f.text, 1, NULL, &r, NULL), RF_OK);
    while (!rf_reader_next(r, &d, NULL) && d.text) {
        assert_int_equal(rf_encode(f.t, d.text, d.size, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL), RF_OK);
        assert_int_equal(k.length[n++] & ~RF__HELD, e.n);
        for (size_t i = 0; i < e.n; i++) assert_int_equal(rf__id(k.ids, at + i), e.id[i]);
        at += e.n;
    }
    assert_int_equal(n, k.documents);
    assert_int_equal(at, k.tokens);
    assert_true(k.held > 10 && k.held < 60);                         /* 300 at 0.1: 30, five deviations are 26 */
    rf_reader_close(r);
    rf_encoding_clear(&e);
    rf__tokens_close(f.ctx, &k);
    close_fixture(&f);
}

/* The same documents one after the other, in the way of tools. */
static void documents_for_tools(void **state)
{
    (void)state;
    enum { MOST = 5 };
    fixture f;
    open_fixture(&f, 1);
    rf__tokens k = make(&f);
    char *path = tiny_path(f.folder, "tokens.cache");
    rf_token_cache *c = NULL;
    rf_error why = {0};
    int32_t id[MOST];
    int64_t size, longest = 0;
    int held = 0;
    size_t n = 0, at = 0;
    assert_int_equal(rf_token_cache_open(f.ctx, f.t, path, &c, NULL), RF_OK);
    for (; !rf_token_cache_next(c, id, MOST, &size, &held, NULL) && size >= 0; n++) {
        assert_int_equal(size, k.length[n] & ~RF__HELD);
        assert_int_equal(held, (k.length[n] & RF__HELD) != 0);
        for (int64_t i = 0; i < size && i < MOST; i++) assert_int_equal(id[i], rf__id(k.ids, at + (size_t)i));
        at += (size_t)size;
        if (size > longest) longest = size;
    }
    assert_int_equal(rf_token_cache_longest(c), longest);
    assert_int_equal(n, k.documents);
    assert_int_equal(rf_token_cache_next(c, NULL, 0, &size, NULL, NULL), RF_OK);
    assert_int_equal(size, -1);
    assert_int_equal(rf_token_cache_next(c, NULL, 1, &size, NULL, NULL), RF_EARG);
    rf_token_cache_close(c);
    rf_token_cache_close(NULL);
    assert_int_equal(rf_token_cache_open(f.ctx, NULL, path, &c, NULL), RF_EARG);
    assert_int_equal(rf_token_cache_open(f.ctx, f.t, f.corpus, &c, &why), RF_EDATA);
    rf__tokens_close(f.ctx, &k);
    free(path);
    close_fixture(&f);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    uint32_t crc[2];
    for (int threads = 1; threads <= 2; threads++) {
        fixture f;
        open_fixture(&f, threads);
        rf__tokens k = make(&f);
        rf__tokens_close(f.ctx, &k);
        crc[threads - 1] = tiny_crc(f.folder, "tokens.cache");
        close_fixture(&f);
    }
    assert_int_equal(crc[0], crc[1]);
}

static void is_used_again_and_made_again(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, 1);
    rf__tokens k = make(&f);
    const uint64_t hash = k.hash;
    rf__tokens_close(f.ctx, &k);
    int64_t file = inode(&f);
    k = make(&f);
    rf__tokens_close(f.ctx, &k);
    assert_int_equal(inode(&f), file);                               /* used again */

    char *path = tiny_path(f.folder, "tokens.cache");
    const long offsets[] = {0, 9, 30, 60, 200, -3};                   /* magic, version, counts, CRC, ids, lengths */
    for (size_t i = 0; i < RF_COUNT(offsets); i++) {
        FILE *c = fopen(path, "r+b");
        fseek(c, offsets[i], offsets[i] < 0 ? SEEK_END : SEEK_SET);
        const int byte = fgetc(c);
        fseek(c, -1, SEEK_CUR);
        fputc(byte ^ 0x10, c);
        fclose(c);
        k = make(&f);
        assert_true(k.hash == hash);                                 /* made again, the same */
        rf__tokens_close(f.ctx, &k);
    }
    assert_int_equal(truncate(path, 5000), 0);
    k = make(&f);
    assert_true(k.hash == hash);
    rf__tokens_close(f.ctx, &k);
    assert_int_equal(tiny_count(f.folder, ".tmp"), 0);

    f.x.split = 0.2;                                                 /* another split, with other held-out documents */
    k = make(&f);
    assert_true(k.hash != hash);
    rf__tokens_close(f.ctx, &k);
    tiny_write_corpus(f.folder, "corpus.txt", 299, 1);
    k = make(&f);
    assert_int_equal(k.documents, 299);
    const uint64_t second = k.hash;
    rf__tokens_close(f.ctx, &k);

    unlink(f.corpus);                                             /* the text was removed; only the ids are needed */
    rf_error why = {0};
    assert_int_equal(rf__tokens_open(f.ctx, f.t, &f.x, f.folder, second, NULL, NULL, &k, &why), RF_OK);
    rf__tokens_close(f.ctx, &k);
    rf__tokens_open(f.ctx, f.t, &f.x, f.folder, second + 1, NULL, NULL, &k, &why);
    t_failed(&why, RF_EIO, "corpus.txt");
    free(path);
    close_fixture(&f);
}

/* Number of bytes that this process has read from files. */
static int64_t bytes_read(void)
{
    long long n = 0;
    char line[128];
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "rchar: %lld", &n) != 1) {}
    if (f) fclose(f);
    return n;
}

/* Another word of the same length in the middle, with the same modification time. */
static void edit_in_place(const char *path)
{
    struct stat st;
    char word[4] = "";
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 4 * 8192);                              /* the middle is far from either end */
    FILE *f = fopen(path, "r+b");
    for (long at = (long)st.st_size / 2; memcmp(word, "the ", 4); at++) {
        fseek(f, at, SEEK_SET);
        assert_int_equal(fread(word, 1, 4, f), 4);
        if (!memcmp(word, "the ", 4)) fseek(f, at, SEEK_SET);
    }
    fputs("red ", f);
    fclose(f);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A change anywhere in the text recreates its tokens; a copied or touched text does not. */
static void every_byte_of_the_text_counts(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, 1);
    rf__tokens k = make(&f);
    const uint64_t hash = k.hash;
    rf__tokens_close(f.ctx, &k);
    int64_t file = inode(&f);
    assert_int_equal(utimensat(AT_FDCWD, f.corpus, NULL, 0), 0);     /* touched */
    k = make(&f);
    rf__tokens_close(f.ctx, &k);
    assert_int_equal(inode(&f), file);

    char *text, *copy = strdup(t_folder()), *other = tiny_path(copy, "corpus.txt");
    size_t size;
    assert_int_equal(rf__read_file(f.ctx, f.corpus, 1 << 24, &text, &size, NULL), RF_OK);
    t_write(copy, "corpus.txt", text, size);
    rf__free(f.ctx, text);
    f.text[0] = other;                                               /* checked out somewhere else */
    k = make(&f);
    rf__tokens_close(f.ctx, &k);
    assert_int_equal(inode(&f), file);
    edit_in_place(other);
    k = make(&f);
    assert_true(k.hash != hash);
    rf__tokens_close(f.ctx, &k);
    assert_int_not_equal(inode(&f), file);
    free(other);
    free(copy);
    close_fixture(&f);
}

/* Files that are older than the clock's tick are not read again to detect changes; edited ones are. */
static void old_files_are_known_by_their_times(void **state)
{
    (void)state;
    fixture f;
    struct stat st;
    open_fixture(&f, 1);
    const struct timespec wait = {2, 100000000};
    nanosleep(&wait, NULL);
    rf__tokens k = make(&f);
    const uint64_t hash = k.hash;
    rf__tokens_close(f.ctx, &k);
    assert_int_equal(stat(f.corpus, &st), 0);
    const int64_t before = bytes_read();
    k = make(&f);
    const int64_t read = bytes_read() - before;
    if (before) assert_true(read < st.st_size);                      /* 0: this system does not tell */
    rf__tokens_close(f.ctx, &k);
    edit_in_place(f.corpus);
    k = make(&f);
    assert_true(k.hash != hash);
    rf__tokens_close(f.ctx, &k);
    close_fixture(&f);
}

static int edit_while_reading(void *user, double share, size_t tokens, size_t documents)
{
    fixture *f = user;
    (void)share, (void)tokens, (void)documents;
    utimensat(AT_FDCWD, f->corpus, NULL, 0);
    return 0;
}

/* The cache has what its key says, or it does not exist. */
static void text_that_changes_under_the_reader_is_refused(void **state)
{
    (void)state;
    fixture f;
    rf__tokens k;
    rf_error why = {0};
    open_fixture(&f, 1);
    const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, f.corpus, old, 0), 0);
    rf__tokens_open(f.ctx, f.t, &f.x, f.folder, 0, edit_while_reading, &f, &k, &why);
    t_failed(&why, RF_EDATA, "corpus.txt: expected the same content at the end of reading");
    assert_int_equal(tiny_count(f.folder, "tokens"), 0);
    close_fixture(&f);
}

/* Documents stay training or held-out documents when others are added. */
static void held_out_by_their_text(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, 1);
    uint32_t first[300];
    rf__tokens k = make(&f);
    memcpy(first, k.length, sizeof first);
    rf__tokens_close(f.ctx, &k);
    FILE *more = fopen(f.corpus, "ab");
    fprintf(more, "the red king is walking the old queen .\n");
    fclose(more);
    k = make(&f);
    assert_int_equal(k.documents, 301);
    assert_memory_equal(first, k.length, sizeof first);
    rf__tokens_close(f.ctx, &k);
    close_fixture(&f);
}

static void held_out_files(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, 1);
    tiny_write_corpus(f.folder, "held.txt", 20, 9);
    char *held = tiny_path(f.folder, "held.txt");
    const char *validation[] = {held};
    f.x.validation = validation;
    f.x.validations = 1;
    rf__tokens k = make(&f);
    assert_int_equal(k.held, 20);
    assert_int_equal(k.documents, 320);
    for (size_t i = 0; i < k.documents; i++) assert_true((i >= 300) == ((k.length[i] & RF__HELD) != 0));
    rf__tokens_close(f.ctx, &k);
    free(held);
    close_fixture(&f);
}

static int enough(void *user, double share, size_t tokens, size_t documents)
{
    (void)user;
    (void)share;
    (void)documents;
    return tokens > 0;
}

static void nothing_is_left_of_a_failure(void **state)
{
    (void)state;
    fixture f;
    rf__tokens k;
    rf_error why = {0};
    open_fixture(&f, 1);
    rf__tokens_open(f.ctx, f.t, &f.x, f.folder, 0, enough, NULL, &k, &why);
    t_failed(&why, RF_ESTOPPED, "stopped");
    t_write(f.folder, "corpus.txt", "ok\n\n\xff\n", 6);
    why = (rf_error){0};
    rf__tokens_open(f.ctx, f.t, &f.x, f.folder, 0, NULL, NULL, &k, &why);
    t_failed(&why, RF_EDATA, "corpus.txt");
    t_write(f.folder, "corpus.txt", "\n \n", 3);
    why = (rf_error){0};
    rf__tokens_open(f.ctx, f.t, &f.x, f.folder, 0, NULL, NULL, &k, &why);
    t_failed(&why, RF_EDATA, "text: expected documents to train on");
    assert_int_equal(tiny_count(f.folder, "tokens"), 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_the_tokenizers),
        cmocka_unit_test(documents_for_tools),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(is_used_again_and_made_again),
        cmocka_unit_test(every_byte_of_the_text_counts),
        cmocka_unit_test(old_files_are_known_by_their_times),
        cmocka_unit_test(text_that_changes_under_the_reader_is_refused),
        cmocka_unit_test(held_out_by_their_text),
        cmocka_unit_test(held_out_files),
        cmocka_unit_test(nothing_is_left_of_a_failure),
    };
    return cmocka_run_group_tests_name("train/tokens", tests, NULL, NULL);
}
