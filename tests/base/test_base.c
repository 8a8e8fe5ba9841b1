/* test_base.c — mirrors src/base: status, sizes, arena, workers, random numbers, files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "t.h"

/* Philox 4x32-10 known answers, from the Random123 distribution's kat_vectors. */
static void philox_known_answers(void **state)
{
    (void)state;
    uint32_t w[4];
    rf__philox((rf_key){{0, 0}}, 0, 0, w);
    assert_int_equal(w[0], 0x6627e8d5);
    assert_int_equal(w[1], 0xe169c58d);
    assert_int_equal(w[2], 0xbc57ac4c);
    assert_int_equal(w[3], 0x9b00dbd8);
    rf__philox((rf_key){{0xffffffff, 0xffffffff}}, UINT64_MAX, UINT64_MAX, w);
    assert_int_equal(w[0], 0x408f276d);
    assert_int_equal(w[1], 0x41c83b0e);
    assert_int_equal(w[2], 0xa20bc7c6);
    assert_int_equal(w[3], 0x6d5451fd);
}

/* RFC 3720, B.4: 32 bytes of zeros, of ones, ascending. */
static void crc32c_known_answers(void **state)
{
    (void)state;
    unsigned char b[32] = {0};
    assert_int_equal(rf__crc32c(0, b, 32), 0x8a9136aa);
    memset(b, 0xff, 32);
    assert_int_equal(rf__crc32c(0, b, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) b[i] = (unsigned char)i;
    assert_int_equal(rf__crc32c(0, b, 32), 0x46dd794e);
    assert_int_equal(rf__crc32c(rf__crc32c(0, b, 13), b + 13, 19), 0x46dd794e);
}

/* Every bf16 and f16 value survives conversion to f32 and back; rounding is to nearest even. */
static void halves_round_trip(void **state)
{
    (void)state;
    for (uint32_t u = 0; u < 0x10000; u++) {
        const float b = rf__from_bf16((uint16_t)u), h = rf__from_f16((uint16_t)u);
        if (isnan(b)) assert_true(isnan(rf__from_bf16(rf__bf16(b))));
        else assert_int_equal(rf__bf16(b), u);
        if (isnan(h)) assert_true(isnan(rf__from_f16(rf__f16(h))));
        else assert_int_equal(rf__f16(h), u);
    }
    assert_int_equal(rf__bf16(1 + 0x1p-8f), 0x3f80);            /* tie to even: down */
    assert_int_equal(rf__bf16(1 + 3 * 0x1p-8f), 0x3f82);        /* tie to even: up   */
    assert_int_equal(rf__f16(1 + 0x1p-11f), 0x3c00);
    assert_int_equal(rf__f16(65519.f), 0x7bff);
    assert_int_equal(rf__f16(65520.f), 0x7c00);
    assert_int_equal(rf__f16(0x1p-25f), 0);                     /* tie at the smallest subnormal */
    assert_int_equal(rf__f16(0x1.8p-25f), 1);
}

static void arena_settles_in_one_block(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    rf_arena a;
    rf__arena_init(&a, ctx);
    long calls = 0;
    for (int lap = 0; lap < 4; lap++) {
        assert_true(rf__arena_reset(&a));
        if (lap == 2) calls = memory.calls;
        for (size_t i = 1; i < 200; i++) {
            unsigned char *p = rf__arena_push(&a, 1000 * i);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 64, 0);
            memset(p, (int)i, 1000 * i);
        }
        const rf_mark mark = rf__arena_mark(&a);
        rf__arena_push(&a, 1 << 20);
        rf__arena_release(&a, mark);
    }
    assert_int_equal(memory.calls, calls);
    rf__arena_clear(&a);
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

static void errors_keep_the_first(void **state)
{
    (void)state;
    rf_error why = {0};
    assert_int_equal(rf_fail(&why, RF_EDATA, "first %d", 1), RF_EDATA);
    assert_int_equal(rf_fail(&why, RF_EIO, "second"), RF_EIO);
    t_failed(&why, RF_EDATA, "first 1");
    assert_int_equal(rf_fail(NULL, RF_ENOMEM, "nobody listens"), RF_ENOMEM);
}

static void files_are_replaced_as_a_whole(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    const char *folder = t_folder();
    char path[512];
    assert_int_equal(rf__path(path, sizeof path, folder, "x", &why), RF_OK);
    assert_int_equal(rf__replace_file(ctx, path, "hello", 5, &why), RF_OK);
    assert_int_equal(rf__replace_file(ctx, path, "world!", 6, &why), RF_OK);
    char *data;
    size_t size;
    assert_int_equal(rf__read_file(ctx, path, 100, &data, &size, &why), RF_OK);
    assert_int_equal(size, 6);
    assert_string_equal(data, "world!");
    rf__free(ctx, data);
    assert_int_equal(rf__read_file(ctx, path, 5, &data, &size, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "x: expected at most 5 bytes, got 6");
    why = (rf_error){0};
    assert_int_equal(rf__read_file(ctx, "/nowhere/x", 5, &data, &size, &why), RF_EIO);
    t_failed(&why, RF_EIO, "/nowhere/x: cannot open");
    rf_ctx_free(ctx);
}

/* No writer on the pipe and no peer on the socket: neither is waited for. */
typedef struct writer { rf_ctx *ctx; char path[256]; char letter; rf_error why; } writer;

static void *replace_often(void *arg)
{
    writer *w = arg;
    char text[5000];
    memset(text, w->letter, sizeof text);
    for (int i = 0; i < 30 && !w->why.code; i++) rf__replace_file(w->ctx, w->path, text, sizeof text, &w->why);
    return NULL;
}

/* Threads that replace the same file at the same time: each succeeds, and the file is a complete one of theirs. */
static void many_replace_the_same_file(void **state)
{
    (void)state;
    enum { WRITERS = 4 };
    writer w[WRITERS] = {0};
    pthread_t thread[WRITERS];
    const char *folder = t_folder();
    char *text;
    size_t size;
    for (int i = 0; i < WRITERS; i++) {
        w[i].ctx = t_ctx(1, NULL);
        w[i].letter = (char)('a' + i);
        snprintf(w[i].path, sizeof w[i].path, "%s/same", folder);
        assert_int_equal(pthread_create(&thread[i], NULL, replace_often, &w[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < WRITERS; i++)
        if (w[i].why.code) fail_msg("%s", w[i].why.text);
    assert_int_equal(rf__read_file(w[0].ctx, w[0].path, 1 << 20, &text, &size, NULL), RF_OK);
    assert_int_equal(size, 5000);
    for (size_t i = 1; i < size; i++) assert_int_equal(text[i], text[0]);
    rf__free(w[0].ctx, text);
    for (int i = 0; i < WRITERS; i++) rf_ctx_free(w[i].ctx);
}

/* A file with the number of this process and of the next n, left by a dead process, does not interfere and is kept. */
static void names_of_dead_processes_are_passed_over(void **state)
{
    (void)state;
    char path[256], first[300], other[300];
    unsigned n = 0;
    int fd;
    snprintf(path, sizeof path, "%s/x", t_folder());
    assert_int_equal(rf__temporary_open(path, first, sizeof first, &fd, NULL), RF_OK);
    close(fd);
    const char *last = strrchr(first, '-');
    assert_int_equal(sscanf(last, "-%u", &n), 1);
    snprintf(other, sizeof other, "%.*s-%u", (int)(last - first), first, n + 1);
    const int left = open(other, O_WRONLY | O_CREAT, 0666);
    assert_int_equal(write(left, "x", 1), 1);
    close(left);
    assert_int_equal(rf__temporary_open(path, first, sizeof first, &fd, NULL), RF_OK);
    close(fd);
    assert_string_not_equal(first, other);
    struct stat st;
    assert_true(!stat(other, &st) && st.st_size == 1);
}

static void only_files_are_opened(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder = t_folder(), *refused = "expected a file, got a pipe, a socket or a device";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char pipe_path[512], *data = NULL;
    size_t size;
    rf_map map;
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_true((size_t)snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder) < sizeof name.sun_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(bind(s, (struct sockaddr *)&name, sizeof name), 0);
    const struct {
        const char *path, *part;
    } c[] = {{pipe_path, refused},
             {name.sun_path, refused},
             {"/dev/zero", refused},
             {folder, "expected a file, got a directory"}};
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        rf_error why[4] = {0};
        int fd;
        assert_int_equal(rf__read_file(ctx, c[i].path, 100, &data, &size, &why[0]), RF_EIO);
        assert_int_equal(rf__map_open(ctx, c[i].path, &map, &why[1]), RF_EIO);
        assert_int_equal(rf__open_file(c[i].path, RF__OS_WRITE | RF__OS_CREATE, &fd, &size, &why[2]), RF_EIO);
        assert_int_equal(fd, -1);
        assert_int_equal(rf__must_be_file(c[i].path, &why[3]), RF_EIO);
        for (int k = 0; k < 4; k++) t_failed(&why[k], RF_EIO, c[i].part);
    }
    close(s);
    rf_ctx_free(ctx);
}

/* A path given by the user may be a pipe, with the same size limit as a file. */
static void a_named_pipe_is_read(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    char path[512], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/pipe", t_folder());
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (!child) {
            FILE *f = fopen(path, "w");
            signal(SIGPIPE, SIG_DFL);
            for (int n = 0; f && n < 1000; n++) fputs("0123456789", f);
            _exit(f && !fclose(f) ? 0 : 1);
        }
        const rf_status status = rf__read_named(ctx, path, i ? 9999 : 10000, &data, &size, &why);
        assert_int_equal(status, i ? RF_EDATA : RF_OK);
        if (!i) assert_int_equal(size, 10000);
        if (!i) assert_string_equal(data + 9990, "0123456789");
        if (!i) rf__free(ctx, data);
        waitpid(child, NULL, 0);
    }
    assert_non_null(strstr(why.text, "at most 9999 bytes"));
    assert_int_equal(rf__read_named(ctx, t_folder(), 10, &data, &size, NULL), RF_EIO);
    rf_ctx_free(ctx);
}

static void body_adds(void *arg, int64_t i, int worker)
{
    (void)worker;
    ((int64_t *)arg)[i] += i;
}

static void every_index_runs_once(void **state)
{
    (void)state;
    for (int threads = 1; threads < 5; threads++) {
        rf_ctx *ctx = t_ctx(threads, NULL);
        int64_t seen[1000] = {0};
        rf__parallel(ctx, 1000, body_adds, seen);
        for (int64_t i = 0; i < 1000; i++) assert_int_equal(seen[i], i);
        rf_ctx_free(ctx);
    }
}

/* A forked child has no workers: it computes alone, and frees the context.  An alarm ends a child that hangs. */
static void a_forked_child_computes_and_frees(void **state)
{
    (void)state;
    for (int jobs = 0; jobs < 2; jobs++) {                           /* before the fork: without one, no workers yet */
        rf_ctx *ctx = t_ctx(3, NULL);
        int64_t seen[1000] = {0};
        assert_int_equal(rf_ctx_threads(ctx), 3);
        if (jobs) rf__parallel(ctx, 1000, body_adds, seen);
        if (jobs) usleep(20000);                                     /* asleep, as condition variables remember */
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            int64_t own[1000] = {0};
            bool right = true;
            alarm(60);
            rf__parallel(ctx, 1000, body_adds, own);
            for (int64_t i = 0; i < 1000; i++) right = right && own[i] == i;
            rf_ctx_free(ctx);
            _exit(right ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        memset(seen, 0, sizeof seen);
        rf__parallel(ctx, 1000, body_adds, seen);
        for (int64_t i = 0; i < 1000; i++) assert_int_equal(seen[i], i);
        rf_ctx_free(ctx);
    }
}

static void contexts_refuse_nonsense(void **state)
{
    (void)state;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    assert_int_equal(rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = -1}, &ctx, &why), RF_EARG);
    t_failed(&why, RF_EARG, "-1");
    why = (rf_error){0};
    assert_int_equal(rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .isa = "avx1024"}, &ctx, &why),
                     RF_EARG);
    t_failed(&why, RF_EARG, "avx1024");
    assert_null(ctx);
}

static long refuse_after;

static void *stingy_alloc(void *user, size_t size)
{
    long *live = user;
    void *p = NULL;
    if (refuse_after-- <= 0 || posix_memalign(&p, 64, size)) return NULL;
    ++*live;
    return p;
}

static void stingy_release(void *user, void *memory, size_t size)
{
    (void)size;
    --*(long *)user;
    free(memory);
}

static void contexts_may_find_no_memory(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        long live = 0;
        rf_ctx *ctx = NULL;
        rf_error why = {0};
        refuse_after = n;
        const rf_ctx_options o = {.size = sizeof(o), .allocator = {stingy_alloc, stingy_release, &live}};
        const rf_status status = rf_ctx_new(&o, &ctx, &why);
        rf_ctx_free(ctx);
        assert_int_equal(live, 0);
        if (!status) break;
        t_failed(&why, RF_ENOMEM, "out of memory");
    }
}

static void half_an_allocator_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    const rf_ctx_options half = {.size = sizeof half, .allocator = {.alloc = stingy_alloc}},
                         other = {.size = sizeof other, .allocator = {.release = stingy_release}};
    assert_int_equal(rf_ctx_new(&half, &ctx, &why), RF_EARG);
    t_failed(&why, RF_EARG, "alloc and release");
    assert_int_equal(rf_ctx_new(&other, &ctx, NULL), RF_EARG);
}

static void paths_are_taken_apart(void **state)
{
    (void)state;
    static const struct { const char *path, *name, *last, *folder;
    } cases[] = {
        {"a/b", "b", "b", "a"}, {"b", "b", "b", "."}, {"a/b/", "", "b", "a/b"},     {"/b", "b", "b", "/"},
        {"/", "", "", "/"},     {"", "", "", "."},    {"./a//b", "b", "b", "./a/"}, {"a//", "", "a", "a/"},
    };
    char out[8];
    rf_error why = {0};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        assert_string_equal(rf__file_name(cases[i].path), cases[i].name);
        rf__last_part(cases[i].path, out, sizeof out);
        assert_string_equal(out, cases[i].last);
        assert_int_equal(rf__folder_of(cases[i].path, out, sizeof out, &why), RF_OK);
        assert_string_equal(out, cases[i].folder);
    }
    rf__last_part("a/0123456789", out, sizeof out);
    assert_string_equal(out, "0123456");
    assert_int_equal(rf__folder_of("0123456/a", out, sizeof out, &why), RF_OK);
    assert_string_equal(out, "0123456");
    assert_int_equal(rf__folder_of("01234567/a", out, sizeof out, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "expected a path of at most 7 bytes");
}

static void folders_that_hold_a_file_are_named(void **state)
{
    (void)state;
    static const struct { const char *made, *names; } steps[] = {
        {"run-2", "run-2"}, {"run-10", "run-2, run-10"}, {"run-1", "run-1, run-2, run-10"},
        {"run-3", "run-1, run-2, ..., run-10"}, {".tmp-1", "run-1, run-2, ..., run-10"}};
    char *folder = strdup(t_folder()), names[64], path[4096];
    rf_error why = {0};
    assert_int_equal(rf__folders_holding(folder, "a", names, sizeof names), 0);
    assert_string_equal(names, "");
    assert_int_equal(rf__folders_holding("/nowhere", "a", names, sizeof names), 0);
    for (size_t i = 0; i < RF_COUNT(steps); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, steps[i].made);
        assert_int_equal(mkdir(path, 0777), 0);
        t_write(path, "a", "a", 1);
        rf__folders_holding(folder, "a", names, sizeof names);
        assert_string_equal(names, steps[i].names);
    }
    assert_int_equal(rf__folders_holding(folder, "b", names, sizeof names), 0);
    rf_fail(&why, RF_EIO, "not there");
    assert_int_equal(rf__name_folders_below(folder, "a", &why), RF_EIO);
    assert_string_equal(why.text, "not there; folders in it have one: run-1, run-2, ..., run-10");
    t_write(folder, "a", "a", 1);
    rf__name_folders_below(folder, "a", &why);                                 /* it is there, and so not what failed */
    assert_string_equal(why.text, "not there; folders in it have one: run-1, run-2, ..., run-10");
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),          cmocka_unit_test(crc32c_known_answers),
        cmocka_unit_test(halves_round_trip),             cmocka_unit_test(arena_settles_in_one_block),
        cmocka_unit_test(errors_keep_the_first),         cmocka_unit_test(files_are_replaced_as_a_whole),
        cmocka_unit_test(only_files_are_opened),         cmocka_unit_test(many_replace_the_same_file),
        cmocka_unit_test(names_of_dead_processes_are_passed_over),
        cmocka_unit_test(a_named_pipe_is_read),
        cmocka_unit_test(a_forked_child_computes_and_frees),
        cmocka_unit_test(every_index_runs_once),         cmocka_unit_test(contexts_refuse_nonsense),
        cmocka_unit_test(contexts_may_find_no_memory),   cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(paths_are_taken_apart),         cmocka_unit_test(folders_that_hold_a_file_are_named),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
