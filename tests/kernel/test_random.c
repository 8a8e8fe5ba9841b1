/* test_random.c — mirrors src/kernel/bodies/random.inc and src/kernel/ref/random.c. */
#include "rungs.h"

/* The kept elements, from the generator itself, one number at a time. */
static bool keep_factor(rf_key key, uint64_t stream, uint64_t at, double p)
{
    uint32_t word[4];
    rf__philox(key, at / 4, stream, word);
    return word[at % 4] >= (uint64_t)(p * 4294967296.0);
}

/* Exactly the elements that Philox keeps, on every rung, also if the counter exceeds 32 bits; each times 1/(1-p), which
 * is a difference, a quotient and a product. */
static void the_generator_decides(void **state)
{
    (void)state;
    static const float rate[] = {0, 0.1f, 0.5f, 0.9f, 0.999f, 0x1p-30f};
    static const uint64_t first[] = {0, 16, 48, 1 << 20, ((uint64_t)1 << 34) - 64, ((uint64_t)1 << 34) - 16,
                                     ((uint64_t)1 << 63) + 16, UINT64_MAX - 4095};
    static const uint64_t stream[] = {0, 7, 0xfedcba9876543210u};
    const rf_key key = {{0x12345678u, 0x9abcdef0u}};
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (size_t f = 0; f < RF_COUNT(first); f++) {
            const int64_t n = sizes[z];
            const float p = rate[(z + f) % RF_COUNT(rate)], *x = t_uniform(n, 1, 2);
            const uint64_t s = stream[(z + f) % RF_COUNT(stream)];
            double *expected = t_bytes((size_t)n * sizeof *expected);
            for (int64_t i = 0; i < n; i++)
                expected[i] = keep_factor(key, s, first[f] + (uint64_t)i, p) ? x[i] / (1 - (double)p) : 0;
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *y = t_floats(n), *position = copied(x, n, 1);
                k.dropout(y, x, n, p, key.k, s, first[f]);
                t_close_to(y, expected, n, 0, 1.5 * EPS);
                k.dropout(position, position, n, p, key.k, s, first[f]);
                same_bits(position, y, n, "in place");
                if (p == 0) same_bits(y, x, n, "nothing is dropped");
            }
            t_free_all();
        }
}

/* The whole and its parts: workers may divide at multiples of 16. */
static void pieces_make_the_whole(void **state)
{
    (void)state;
    const int64_t n = 1000;
    const uint32_t key[2] = {1, 2};
    const float *x = t_normal(n);
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *whole = t_floats(n), *pieces = t_floats(n);
        k.dropout(whole, x, n, 0.3f, key, 5, 32);
        for (int64_t at = 0, step = 16; at < n; at += step, step = step % 80 + 16) {
            const int64_t m = rf__min64(step, n - at);
            k.dropout(pieces + at, x + at, m, 0.3f, key, 5, 32 + (uint64_t)at);
        }
        same_bits(pieces, whole, n, "pieces");
    }
    t_free_all();
}

/* Of n numbers (1-p) n are kept, give or take five standard deviations; the sum stays what it was. */
static void the_share_is_right(void **state)
{
    (void)state;
    const int64_t n = 200000;
    const uint32_t key[2] = {77, 88};
    const float *ones = t_uniform(n, 1, 1);
    rfk_table k;
    for (EACH_RUNG(k))
        for (double p = 0.1; p < 1; p += 0.2) {
            float *y = t_floats(n);
            k.dropout(y, ones, n, (float)p, key, 1, 0);
            double count = 0, sum = 0;
            for (int64_t i = 0; i < n; i++) {
                count += y[i] != 0;
                sum += y[i];
            }
            const double spread = sqrt((double)n * p * (1 - p));
            t_near(count, (double)n * (1 - p), 5 * spread);
            t_near(sum, (double)n, 5 * spread / (1 - p));
        }
    t_free_all();
}

/* A dropped element is 0 even if it was NaN. */
static void dropped_numbers_are_zero(void **state)
{
    (void)state;
    const uint32_t key[2] = {3, 4};
    rfk_table k;
    for (EACH_RUNG(k)) {
        float x[100], y[100];
        for (int i = 0; i < 100; i++) x[i] = i % 2 ? NAN : INFINITY;
        k.dropout(y, x, 100, 0.5f, key, 0, 0);
        for (int i = 0; i < 100; i++) {
            if (!keep_factor((rf_key){{3, 4}}, 0, (uint64_t)i, 0.5)) assert_true(y[i] == 0);
            else assert_true(!isfinite(y[i]));
        }
        k.dropout(y, x, 100, 1, key, 0, 0);
        int others = 0;
        for (int i = 0; i < 100; i++) others += y[i] != 0;
        assert_int_equal(others, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_decides),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(the_share_is_right),
        cmocka_unit_test(dropped_numbers_are_zero),
    };
    return cmocka_run_group_tests_name("kernel/random", tests, NULL, NULL);
}
