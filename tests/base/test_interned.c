/* test_interned.c — mirrors src/base/interned.c: byte strings with the lifetime of their context. */
#include "t.h"

#include <pthread.h>

static void equal_bytes_are_kept_once(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    char a[] = "abc", b[] = "abd";
    const char *one = rf__ctx_keep(ctx, a, sizeof a);
    a[0] = 'x';
    assert_string_equal(one, "abc");
    a[0] = 'a';
    const long live = memory.live;
    for (int i = 0; i < 100; i++) assert_ptr_equal(rf__ctx_keep(ctx, a, sizeof a), one);
    assert_int_equal(memory.live, live);
    assert_ptr_not_equal(rf__ctx_keep(ctx, b, sizeof b), one);
    assert_ptr_not_equal(rf__ctx_keep(ctx, a, 2), one); /* a beginning is not the whole */
    assert_non_null(rf__ctx_keep(ctx, a, 0));
    assert_null(rf__ctx_keep(ctx, a, SIZE_MAX));
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

enum { THREADS = 4, TIMES = 500 };

static void *keeping(void *arg)
{
    const rf_ctx *ctx = arg;
    for (int i = 0; i < TIMES; i++) {
        const int n = i % 7;
        if (*(const int *)rf__ctx_keep(ctx, &n, sizeof n) != n) return arg;
    }
    return NULL;
}

static void threads_share_a_context(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, keeping, ctx), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_are_kept_once),
        cmocka_unit_test(threads_share_a_context),
    };
    return cmocka_run_group_tests_name("base/kept", tests, NULL, NULL);
}
