/* test_dots_i8.c — mirrors src/kernel/bodies/dots_i8.inc: sums of products by their formula, on every rung. */
#include "rungs.h"

static void whole_numbers_of_any(int16_t *to, int64_t n, int least, int most, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        to[i] = (int16_t)(least + (int)((*state >> 33) % (uint64_t)(most - least + 1)));
    }
}

static void sums_of_every_length(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    uint64_t random = 7;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        int16_t *y = t_bytes((size_t)n * sizeof *y), *wide = t_bytes((size_t)(ROWS * n) * sizeof *wide);
        int8_t *x = t_bytes((size_t)(ROWS * n));
        whole_numbers_of_any(y, n, -8000, 8000, &random);
        whole_numbers_of_any(wide, ROWS * n, -128, 127, &random);
        for (int64_t i = 0; i < ROWS * n; i++) x[i] = (int8_t)wide[i];
        rfk_table k;
        for (EACH_RUNG(k)) {
            int32_t *sum = t_bytes(ROWS * sizeof *sum);
            k.dots_i8(sum, x, y, ROWS, n);
            for (int64_t i = 0; i < ROWS; i++) {
                int64_t expected = 0;
                for (int64_t p = 0; p < n; p++) expected += (int64_t)wide[i * n + p] * y[p];
                if (sum[i] != expected)
                    fail_msg("%s: row %lld of %lld: %d, expected %lld", k.isa, (long long)i, (long long)n, sum[i],
                             (long long)expected);
            }
            k.dots_i8(sum, x, y, 0, n);
            t_check_fences();
        }
        t_free_all();
    }
}

/* The largest numbers, as long as their sum fits 32 bits. */
static void the_ends_of_the_range(void **state)
{
    (void)state;
    enum { N = 512 };
    int8_t x[N];
    int16_t y[N];
    rfk_table k;
    for (int i = 0; i < N; i++) x[i] = -128, y[i] = 32767;
    for (EACH_RUNG(k)) {
        int32_t sum;
        k.dots_i8(&sum, x, y, 1, N);
        assert_int_equal(sum, -128 * 32767 * N);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_every_length),
        cmocka_unit_test(the_ends_of_the_range),
    };
    return cmocka_run_group_tests_name("kernel/dots_i8", tests, NULL, NULL);
}
