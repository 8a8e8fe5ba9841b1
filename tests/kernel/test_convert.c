/* test_convert.c — mirrors src/kernel/bodies/convert.inc, src/kernel/ref/convert.c and src/base/half.c. */
#include "rungs.h"

typedef void narrow(uint16_t *, const float *, int64_t);
typedef void widen(float *, const uint16_t *, int64_t);

/* A half type by its digits: sign, `exponent` bits, `mantissa` bits. */
typedef struct kind { const char *name; int exponent, mantissa; size_t to, from; } kind;
static const kind kinds[] = {
    {"bf16", 8, 7, offsetof(rfk_table, to_bf16), offsetof(rfk_table, from_bf16)},
    {"f16", 5, 10, offsetof(rfk_table, to_f16), offsetof(rfk_table, from_f16)},
};

static narrow *narrow_of(const rfk_table *k, const kind *h)
{
    narrow *f;
    memcpy(&f, (const char *)k + h->to, sizeof f);
    return f;
}

static widen *widen_of(const rfk_table *k, const kind *h)
{
    widen *f;
    memcpy(&f, (const char *)k + h->from, sizeof f);
    return f;
}

/* The value of a half by the definition of the format. */
static double value(const kind *h, unsigned bits)
{
    const int e = (int)(bits >> h->mantissa) & ((1 << h->exponent) - 1), most = (1 << h->exponent) - 1, bias = most / 2;
    const double m = ldexp(bits & ((1u << h->mantissa) - 1), -h->mantissa), sign = bits >> 15 ? -1 : 1;
    if (e == most) return m > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias));
}

static void every_half_widens_to_its_value(void **state)
{
    (void)state;
    uint16_t *all = t_bytes(65536 * sizeof *all), *back = t_bytes(65536 * sizeof *back);
    float *x = t_floats(65536);
    for (unsigned i = 0; i < 65536; i++) all[i] = (uint16_t)i;
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t h = 0; h < RF_COUNT(kinds); h++) {
            widen_of(&k, &kinds[h])(x, all, 65536);
            narrow_of(&k, &kinds[h])(back, x, 65536);
            for (unsigned i = 0; i < 65536; i++) {
                const double expected = value(&kinds[h], i);
                if (isnan(expected) ? !isnan(x[i]) : (double)x[i] != expected || (signbit(x[i]) != 0) != (i > 0x7fff))
                    fail_msg("%s %s %#x: got %g, expected %g", k.isa, kinds[h].name, i, (double)x[i], expected);
                if (isnan(expected) ? !isnan(value(&kinds[h], back[i])) : back[i] != i)
                    fail_msg("%s %s %#x: comes back as %#x", k.isa, kinds[h].name, i, back[i]);
            }
        }
    t_free_all();
}

/* Between any two adjacent halves: the middle is rounded to the even one, a float on either side to the nearer one. */
static void ties_go_to_even(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t h = 0; h < RF_COUNT(kinds); h++) {
            const unsigned infinity = 0x7fffu & ~((1u << kinds[h].mantissa) - 1);
            float *x = t_floats(6 * infinity);
            uint16_t *y = t_bytes(6 * infinity * sizeof *y);
            for (unsigned i = 0; i < infinity; i++) {
                const double step = value(&kinds[h], i + 1), low = value(&kinds[h], i);
                const double high = isinf(step) ? low + (low - value(&kinds[h], i - 1)) : step;
                const float middle = (float)((low + high) / 2);
                x[6 * i] = middle;
                x[6 * i + 1] = nextafterf(middle, 0);
                x[6 * i + 2] = nextafterf(middle, INFINITY);
                for (int j = 0; j < 3; j++) x[6 * i + 3 + (unsigned)j] = -x[6 * i + (unsigned)j];
            }
            narrow_of(&k, &kinds[h])(y, x, 6 * (int64_t)infinity);
            for (unsigned i = 0; i < infinity; i++) {
                const unsigned expected[] = {i + (i & 1), i, i + 1};
                for (unsigned j = 0; j < 6; j++)
                    if (y[6 * i + j] != (expected[j % 3] | (j < 3 ? 0 : 0x8000)))
                        fail_msg("%s %s: %.9g becomes %#x", k.isa, kinds[h].name, (double)x[6 * i + j], y[6 * i + j]);
            }
            t_free_all();
        }
}

/* Arbitrary bits, including subnormals, infinities and NaN: the same as one number at a time in src/base/half.c. */
static void any_bits_as_in_plain_c(void **state)
{
    (void)state;
    const int64_t n = 300007;
    float *x = t_floats(n);
    rf_rng r;
    rf_rng_init(&r, 5, 5);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t u = rf_rng_u32(&r);
        memcpy(&x[i], &u, sizeof u);
    }
    static const uint32_t special[] = {0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7fc00000,
                                       0x7f800000, 0xff800000, 0x7f7fffff, 0x80000000, 1,
                                       0x007fffff, 0x33000000, 0x33000001, 0x477fefff, 0x477ff000};
    memcpy(x, special, sizeof special);
    rfk_table k;
    for (EACH_RUNG(k)) {
        uint16_t *b = t_bytes((size_t)n * sizeof *b), *f = t_bytes((size_t)n * sizeof *f);
        k.to_bf16(b, x, n);
        k.to_f16(f, x, n);
        for (int64_t i = 0; i < n; i++) {
            if (b[i] != rf__bf16(x[i]))
                fail_msg("%s: bf16 of %g is %#x, expected %#x", k.isa, (double)x[i], b[i], rf__bf16(x[i]));
            if (f[i] != rf__f16(x[i]))
                fail_msg("%s: f16 of %g is %#x, expected %#x", k.isa, (double)x[i], f[i], rf__f16(x[i]));
        }
        /* NaN is quiet: the highest bit of the mantissa is set, so that arithmetic with it raises no exception */
        for (int i = 0; i < 5; i++) assert_true((b[i] & 0x7fc0) == 0x7fc0 && (f[i] & 0x7e00) == 0x7e00);
    }
    t_free_all();
}

static void tails(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *x = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k))
            for (size_t h = 0; h < RF_COUNT(kinds); h++) {
                uint16_t *y = t_bytes((size_t)n * sizeof *y), one;
                float *back = t_floats(n + 1);
                narrow_of(&k, &kinds[h])(y, copied(x, n, 1), n);
                widen_of(&k, &kinds[h])(back + 1, y, n);
                for (int64_t i = 0; i < n; i++) {
                    narrow_of(&k, &kinds[h])(&one, x + i, 1);
                    assert_int_equal(one, y[i]);
                    t_near(back[1 + i], value(&kinds[h], one), 0);
                }
            }
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_widens_to_its_value),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(any_bits_as_in_plain_c),
        cmocka_unit_test(tails),
    };
    return cmocka_run_group_tests_name("kernel/convert", tests, NULL, NULL);
}
