/* test_os.c — mirrors src/base/os: open files, memory, the process, time, text, with real effects, on all systems.
 * test_os_names.c: names, folders, locks. */
#define _GNU_SOURCE
#include "os_root.h"

#ifdef _WIN32                           /* indented: CMakeLists.txt leaves out tests that include headers of POSIX */
#  include <fcntl.h>
#  include <io.h>
#  include <windows.h>
#else
#  include <unistd.h>
#endif

#ifdef __linux__
#include "base/os/os_linux.h"
#endif
#include "base/system/processor.h"
#include "base/system/thread.h"

#define UMLAUTS "gr\xC3\xBC\xC3\x9F" "e"

/* ---- files ---- */

static void opens_as_it_is_asked_to(void **state)
{
    (void)state;
    char byte;
    const char *path = in_root("a");
    assert_error(rf__os_open(path, RF__OS_READ), ENOENT);
    assert_error(rf__os_open(path, RF__OS_WRITE), ENOENT);
    int fd = rf__os_open(path, RF__OS_WRITE_ONLY | RF__OS_CREATE | RF__OS_NEW | RF__OS_PRIVATE);
    assert_true(fd >= 0);
    assert_error(rf__os_open(path, RF__OS_WRITE | RF__OS_CREATE | RF__OS_NEW), EEXIST);
    assert_error(rf__os_read(fd, &byte, 1), EBADF);
    assert_int_equal(rf__os_write(fd, "abc", 3), 3);
    assert_int_equal(rf__os_sync(fd), 0);
    rf__os_sequential(fd);
    assert_int_equal(rf__os_close(fd), 0);
    fd = rf__os_open(path, RF__OS_READ | RF__OS_NO_WAIT | RF__OS_NO_LINK);
    assert_error(rf__os_write(fd, "x", 1), EBADF);
    assert_text_at(fd, "abc");
    rf__os_close(fd);
    fd = rf__os_open(path, RF__OS_WRITE | RF__OS_CREATE | RF__OS_APPEND);
    assert_int_equal(rf__os_seek(fd, 0), 0);
    assert_int_equal(rf__os_write(fd, "def", 3), 3);
    assert_int_equal(rf__os_seek(fd, 1), 1);
    assert_int_equal(rf__os_read(fd, &byte, 1), 1);
    assert_int_equal(byte, 'b');
    assert_text_at(fd, "abcdef");
    assert_int_equal(rf__os_cut(fd, 2), 0);
    assert_int_equal(rf__os_write(fd, "!", 1), 1);
    assert_text_at(fd, "ab!");
    rf__os_close(fd);
    assert_error(rf__os_close(-1), EBADF);
    assert_error(rf__os_read(-1, &byte, 1), EBADF);
}

static void bytes_are_unchanged(void **state)
{
    (void)state;
    static const char bytes[] = "a\r\nb\n\r\x1a\0c\r\n";
    char got[64];
    const size_t n = sizeof bytes - 1;
    const char *path = in_root("bytes");
    FILE *f = rf__os_stream(path, "w");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    int fd = rf__os_open(path, RF__OS_WRITE);
    assert_int_equal(rf__os_read(fd, got, sizeof got), n);
    assert_memory_equal(got, bytes, n);
    assert_int_equal(rf__os_read(fd, got, sizeof got), 0);
    assert_int_equal(rf__os_write_at(fd, bytes, n, 0), n);
    rf__os_close(fd);
    f = rf__os_stream(path, "r");
    assert_int_equal(fread(got, 1, sizeof got, f), n);
    assert_memory_equal(got, bytes, n);
    fclose(f);
    assert_null(rf__os_stream(path, "wx"));
    assert_int_equal(errno, EEXIST);
    assert_null(rf__os_stream(in_root("none"), "r"));
    assert_int_equal(errno, ENOENT);
    fclose(f = rf__os_stream(path, "w+"));
    f = rf__os_stream(path, "a");
    assert_int_equal(fputs("1\n", f) >= 0, 1);
    fclose(f);
    f = rf__os_stream(path, "a+");
    rewind(f);
    fputs("2\r\n", f);
    rewind(f);
    assert_int_equal(fread(got, 1, sizeof got, f), 5);
    assert_memory_equal(got, "1\n2\r\n", 5);
    fclose(f);
    f = rf__os_stream(path, "r+");
    fputs("3", f);
    assert_int_equal(rf__os_rename(path, in_root("moved")), 0);            /* while the stream is open */
    fclose(f);
    assert_file(in_root("moved"), "3\n2\r\n");
}

static void positions_are_kept(void **state)
{
    (void)state;
    char got[8] = "";
    const int fd = rf__os_open(in_root("a"), RF__OS_WRITE | RF__OS_CREATE);
    assert_int_equal(rf__os_write(fd, "0123456789", 10), 10);
    assert_int_equal(rf__os_position(fd), 10);
    assert_int_equal(rf__os_seek(fd, 2), 2);
    assert_int_equal(rf__os_read_at(fd, got, 3, 5), 3);
    assert_memory_equal(got, "567", 3);
    assert_int_equal(rf__os_write_at(fd, "X", 1, 9), 1);
    assert_int_equal(rf__os_position(fd), 2);
    assert_int_equal(rf__os_read(fd, got, 2), 2);
    assert_memory_equal(got, "23", 2);
    assert_int_equal(rf__os_read_at(fd, got, 3, 10), 0);
    assert_int_equal(rf__os_read_at(fd, got, 3, 100), 0);
    assert_int_equal(rf__os_read_at(fd, got, 3, 9), 1);
    assert_int_equal(*got, 'X');
    assert_int_equal(rf__os_cut(fd, 5), 0);
    assert_int_equal(rf__os_position(fd), 4);
    assert_int_equal(rf__os_write_at(fd, "Y", 1, 7), 1);
    assert_int_equal(rf__os_read_at(fd, got, 8, 3), 5);
    assert_memory_equal(got, "34\0\0Y", 5);
    assert_error(rf__os_read_at(fd, got, 1, -1), EINVAL);
    assert_error(rf__os_write_at(fd, got, 1, -1), EINVAL);
    assert_error(rf__os_seek(fd, -1), EINVAL);
    assert_error(rf__os_cut(fd, -1), EINVAL);
    assert_int_equal(rf__os_seek(fd, 1 << 20), 1 << 20);
    assert_int_equal(rf__os_read(fd, got, 1), 0);
    rf__os_close(fd);
}

#ifndef __wasi__                        /* WASI has neither pipes nor threads */
static void a_pipe_has_no_position(void **state)
{
    (void)state;
    int end[2];
    char got[8];
    rf__os_state st;
#ifdef _WIN32
    assert_int_equal(_pipe(end, 4096, _O_BINARY), 0);
#else
    assert_int_equal(pipe(end), 0);
#endif
    assert_error(rf__os_position(end[0]), ESPIPE);
    assert_error(rf__os_read_at(end[0], got, 1, 0), ESPIPE);
    assert_int_equal(rf__os_look_file(end[0], &st), 0);
    assert_int_equal(st.kind, RF__OS_DEVICE);
    assert_int_equal(rf__os_write(end[1], "a\r\n", 3), 3);
    rf__os_close(end[1]);
    assert_int_equal(rf__os_read(end[0], got, sizeof got), 3);
    assert_memory_equal(got, "a\r\n", 3);
    assert_int_equal(rf__os_read(end[0], got, sizeof got), 0);
    rf__os_close(end[0]);
}

enum { THREADS = 4, BLOCKS = 64, BLOCK = 4096, ROUNDS = 20 };
typedef struct reader { int fd, first; long wrong; } reader;

static void *read_blocks(void *user)
{
    reader *r = user;
    unsigned char got[BLOCK];
    for (int i = 0; i < BLOCKS * ROUNDS; i++) {
        const int b = (i * 7 + r->first) % BLOCKS;
        const bool all = rf__os_read_at(r->fd, got, BLOCK, (int64_t)b * BLOCK) == BLOCK;
        for (int k = 0; k < BLOCK; k++) r->wrong += !all || got[k] != b;
    }
    return NULL;
}

/* Several threads read at offsets, and one from end to end, with one descriptor. */
static void threads_share_a_descriptor(void **state)
{
    (void)state;
    static unsigned char block[BLOCK];
    const int fd = rf__os_open(in_root("blocks"), RF__OS_WRITE | RF__OS_CREATE);
    for (int b = 0; b < BLOCKS; b++) {
        memset(block, b, BLOCK);
        assert_int_equal(rf__os_write(fd, block, BLOCK), BLOCK);
    }
    pthread_t thread[THREADS];
    reader r[THREADS];
    for (int i = 0; i < THREADS; i++) {
        r[i] = (reader){fd, i * 13, 0};
        assert_int_equal(rf__thread_start(&thread[i], read_blocks, &r[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(rf__os_seek(fd, 0), 0);
        for (int b = 0; b < BLOCKS; b++) {
            assert_int_equal(rf__os_read(fd, block, BLOCK), BLOCK);
            assert_int_equal(block[0], b);
            assert_int_equal(block[BLOCK - 1], b);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(r[i].wrong, 0);
    }
    rf__os_close(fd);
}

#endif

static void files_are_longer_than_4_gib(void **state)
{
    (void)state;
    const int64_t size = 5000000000;
    char got[8];
    rf__os_state st;
    const int fd = rf__os_open(in_root("long"), RF__OS_WRITE | RF__OS_CREATE);
    if (rf__os_cut(fd, size)) {
        print_message("skipped: no file of 5 GB: %s\n", strerror(errno));
    } else {
        assert_int_equal(rf__os_write_at(fd, "end", 3, size - 3), 3);
        assert_int_equal(rf__os_look_file(fd, &st), 0);
        assert_true(st.size == size);
        assert_true(rf__os_seek(fd, size - 3) == size - 3);
        assert_int_equal(rf__os_read(fd, got, 8), 3);
        assert_memory_equal(got, "end", 3);
        assert_true(rf__os_position(fd) == size);
        assert_int_equal(rf__os_write(fd, "!", 1), 1);
        assert_int_equal(rf__os_read_at(fd, got, 8, size - 1), 2);
        assert_memory_equal(got, "d!", 2);
        assert_int_equal(rf__os_read_at(fd, got, 8, size - ((int64_t)1 << 32)), 8);
        assert_int_equal(got[0], 0);
        const char *map = sizeof(size_t) < sizeof size ? NULL : rf__os_map(fd, (size_t)size);
        if (map) assert_memory_equal(map + (size_t)(size - 3), "end", 3);
        if (map) rf__os_unmap(map, (size_t)size);
    }
    rf__os_close(fd);
}

/* ---- memory ---- */

static void maps_are_read_only_copies_of_files(void **state)
{
    enum { SIZE = 3 << 20 };
    (void)state;
    char *bytes = rf__system_alloc(NULL, SIZE);
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)(i * 7 + i / 4096);
    const int fd = rf__os_open(in_root("map"), RF__OS_WRITE | RF__OS_CREATE);
    assert_int_equal(rf__os_write(fd, bytes, SIZE), SIZE);
    assert_null(rf__os_map(fd, 0));
    assert_int_equal(errno, EINVAL);
    const char *map = rf__os_map(fd, SIZE);
    assert_non_null(map);
    rf__os_close(fd);
    assert_memory_equal(map, bytes, SIZE);
    rf__os_map_forget(map, SIZE);
    rf__os_map_forget(map + 65536, 65536);
    assert_memory_equal(map, bytes, SIZE);
    rf__os_unmap(map, SIZE);
    rf__system_release(NULL, bytes, SIZE);
    assert_null(rf__os_map(-1, 1));
}

static void blocks_are_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 12345};
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        char *p = rf__system_alloc(NULL, sizes[i]);
        assert_true(p || !sizes[i]);
        assert_int_equal((uintptr_t)p % 64, 0);
        if (sizes[i]) memset(p, 1, sizes[i]);
        rf__system_release(NULL, p, sizes[i]);
    }
#if !defined __SANITIZE_ADDRESS__ && !defined __wasi__
    assert_null(rf__system_alloc(NULL, SIZE_MAX / 2));
#endif
    assert_true(rf__memory_left() > 1);
#ifdef __linux__
    assert_true(rf__memory_left_in("") > 1);
#endif
}

/* ---- the process, threads, time ---- */

#ifndef __wasi__
static void the_process_is_known(void **state)
{
    (void)state;
    char text[4096];
    rf__os_state st;
    assert_true(rf__os_process() > 0);
    assert_false(rf__os_process_ended(rf__os_process()));
    assert_true(rf__os_process_ended(0x7FFFFFF0));
    rf__os_host(text, sizeof text);
    assert_true(*text);
    rf__os_host(text, 2);
    assert_true(strlen(text) < 2);
    assert_true(rf__os_self(text, sizeof text));
    assert_null(strchr(text, '\\'));
    assert_int_equal(rf__os_look(text, &st), 0);
    assert_true(st.kind == RF__OS_FILE && st.size > 1000);
    assert_false(rf__os_self(text, 3));
    assert_true(rf_processors() >= 1);
    assert_true(rf__cache_share() < 1U << 30);
    assert_false(rf__processor_has("none"));
#ifdef __linux__
    assert_int_equal(rf__cache_share_in(in_root("none")), 0);
#endif
}

typedef struct shared { pthread_mutex_t lock; pthread_cond_t signal; int go; } shared;

static void *answer(void *user)
{
    shared *s = user;
    rf__os_sleep(0.02);
    pthread_mutex_lock(&s->lock);
    s->go = 1;
    pthread_cond_broadcast(&s->signal);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void waiting_ends(void **state)
{
    (void)state;
    shared s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    assert_int_equal(rf__os_condition(&s.signal), 0);
    pthread_mutex_lock(&s.lock);
    const double until = rf__seconds() + 0.1;
    int waits = 0;
    for (; rf__seconds() < until; waits++) rf__os_wait_until(&s.signal, &s.lock, until);
    assert_in_range(waits, 1, 20);                                          /* it does wait */
    rf__os_wait_until(&s.signal, &s.lock, rf__seconds() - 10);
    const double ends[] = {INFINITY, rf__seconds() + 1e5};
    for (int i = 0; i < 2; i++) {
        s.go = 0;
        assert_int_equal(rf__thread_start(&thread, answer, &s), 0);
        while (!s.go) rf__os_wait_until(&s.signal, &s.lock, ends[i]);
        pthread_mutex_unlock(&s.lock);
        pthread_join(thread, NULL);
        pthread_mutex_lock(&s.lock);
    }
    pthread_mutex_unlock(&s.lock);
    pthread_cond_destroy(&s.signal);
    const double begin = rf__seconds();
    rf__os_sleep(0.05);
    assert_true(rf__seconds() - begin > 0.04);
}

#endif

static void times_have_dates(void **state)
{
    (void)state;
    struct tm t;
    char text[32];
    assert_true(rf__os_utc(1709210096, &t));
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    assert_string_equal(text, "2024-02-29T12:34:56Z");
    assert_true(rf__os_local(1709210096, &t));
    assert_true(mktime(&t) == 1709210096);
    assert_true(rf__os_utc((time_t)4102444800, &t));
    assert_int_equal(t.tm_year, 200);
}

/* ---- text and the terminal ---- */

static void text_is_kept_in_memory(void **state)
{
    (void)state;
    enum { LINES = 100000 };
    rf__os_text t, u;
    assert_true(rf__os_text_open(&t));
    assert_true(rf__os_text_open(&u));
    assert_int_equal(fwrite("a\r\n\x1a\0b", 1, 6, t.to), 6);
    for (int i = 0; i < LINES; i++) fprintf(t.to, "%d %s\n", i % 10, UMLAUTS);
    assert_true(rf__os_text_close(&t));
    assert_null(t.to);
    assert_int_equal(t.size, 6 + (size_t)LINES * (3 + strlen(UMLAUTS)));
    assert_memory_equal(t.text, "a\r\n\x1a\0b0 " UMLAUTS "\n1 ", 12 + sizeof UMLAUTS - 2);
    assert_int_equal(t.text[t.size], 0);
    free(t.text);
    assert_true(rf__os_text_close(&u));
    assert_int_equal(u.size, 0);
    assert_string_equal(u.text, "");
    free(u.text);
    assert_false(rf__os_text_close(&u));
}

#ifndef __wasi__
static void a_file_is_no_terminal(void **state)
{
    (void)state;
#ifdef _WIN32
    const char *nothing = "NUL";
#else
    const char *nothing = "/dev/null";
#endif
    rf__os_state st;
    write_file(in_root("a"), "x");
    const int fd = rf__os_open(in_root("a"), RF__OS_READ), null = rf__os_open(nothing, RF__OS_WRITE);
    assert_true(null >= 0);
    assert_false(rf__os_terminal(fd) || rf__os_terminal(null));
    assert_int_equal(rf__os_columns(fd), 0);
    assert_int_equal(rf__os_columns(null), 0);
    assert_int_equal(rf__os_look_file(null, &st), 0);
    assert_int_equal(st.kind, RF__OS_DEVICE);
    assert_int_equal(rf__os_write(null, "x", 1), 1);
    rf__os_close(fd);
    rf__os_close(null);
    assert_true(rf__os_columns(1) >= 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        OS_TEST(opens_as_it_is_asked_to),
        OS_TEST(bytes_are_unchanged),
        OS_TEST(positions_are_kept),
        OS_TEST(text_is_kept_in_memory),
#ifndef __wasi__
        OS_TEST(a_pipe_has_no_position),
        OS_TEST(threads_share_a_descriptor),
        OS_TEST(the_process_is_known),
        OS_TEST(waiting_ends),
        OS_TEST(a_file_is_no_terminal),
#endif
        OS_TEST(files_are_longer_than_4_gib),
        OS_TEST(maps_are_read_only_copies_of_files),
        OS_TEST(blocks_are_aligned),
        OS_TEST(times_have_dates),
    };
    return cmocka_run_group_tests_name("base/os", tests, NULL, NULL);
}
