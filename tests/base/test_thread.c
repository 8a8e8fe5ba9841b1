/* test_thread.c — mirrors rf__thread_start of src/base/os: a thread of the library blocks every signal except SIGBUS,
 * and the thread that starts it keeps its own mask. */
#define _GNU_SOURCE
#include "base/system/thread.h"

#include <signal.h>

#include "t.h"

static void *read_mask(void *user)
{
    pthread_sigmask(SIG_SETMASK, NULL, user);
    return NULL;
}

static void signals_belong_to_the_program(void **state)
{
    sigset_t before, after, inside;
    pthread_t thread;
    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(rf__thread_start(&thread, read_mask, &inside), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    static const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE};
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) {
        assert_true(sigismember(&inside, blocked[i]));
        assert_int_equal(sigismember(&after, blocked[i]), sigismember(&before, blocked[i]));
    }
    assert_false(sigismember(&inside, SIGBUS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signals_belong_to_the_program)};
    return cmocka_run_group_tests_name("base/thread", tests, NULL, NULL);
}
