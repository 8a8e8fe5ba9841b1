/* test_text.c — mirrors src/serve/text.c: floats are read back exactly from their text, strings are JSON, base64
 * follows RFC 4648. */
#include "serve/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "t.h"

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void check_float(float x)
{
    srv_text t = {0};
    srv_put_float(&t, x);
    assert_false(t.failed);
    const float back = strtof(t.at, NULL);
    if (memcmp(&back, &x, sizeof x)) fail_msg("%.9g became %s", (double)x, t.at);
    json_t *v = json_loads(t.at, JSON_DECODE_ANY, NULL);
    if (!v) fail_msg("%s: not JSON", t.at);
    json_decref(v);
    if (strlen(t.at) > 16) fail_msg("%s: more than 16 characters", t.at);
    srv_text_clear(&t);
}

/* Every exponent with many fractions, and both signs. */
static void floats_come_back(void **state)
{
    uint64_t s = 88172645463325252ULL;
    (void)state;
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (int i = 0; i < 400; i++) {
            s ^= s << 13, s ^= s >> 7, s ^= s << 17;
            check_float(of_bits(exponent << 23 | (uint32_t)(s & 0x807FFFFFU)));
        }
    const float some[] = {0,         -0.0F, 1,     -1,       0.1F,      1e-45F,  3.4028235e38F,
                          123456792, 1e9F,  1e10F, 0.00001F, 99999.99F, 16777216};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) check_float(some[i]);
}

static void floats_that_are_not_finite_fail(void **state)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    for (int i = 0; i < 3; i++) {
        srv_text t = {0};
        srv_put_float(&t, bad[i]);
        assert_true(t.failed);
        srv_text_clear(&t);
    }
}

static void base64_is_that_of_the_rfc(void **state)
{
    /* "Man Man Man " is the example of many texts; here it is the bytes of three floats. */
    const char bytes[] = "Man Man Man ";
    float x[3];
    srv_text t = {0};
    (void)state;
    memcpy(x, bytes, sizeof x);
    srv_put_base64(&t, x, 3);
    assert_string_equal(t.at, "\"TWFuIE1hbiBNYW4g\"");
    srv_text_clear(&t);
    srv_put_base64(&t, x, 1);
    assert_string_equal(t.at, "\"TWFuIA==\"");
    srv_text_clear(&t);
    srv_put_base64(&t, x, 2);
    assert_string_equal(t.at, "\"TWFuIE1hbiA=\"");
    srv_text_clear(&t);
}

static void strings_are_json(void **state)
{
    srv_text t = {0};
    (void)state;
    srv_put_string(&t, "a\"\\\n\x01\xC3\xA9", 7);
    srv_put_string(&t, "\xFF", 1);
    srv_printf(&t, "%d", 7);
    assert_string_equal(t.at, "\"a\\\"\\\\\\n\\u0001\xC3\xA9\"\"\xEF\xBF\xBD\"7");
    srv_text_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_come_back),
        cmocka_unit_test(floats_that_are_not_finite_fail),
        cmocka_unit_test(base64_is_that_of_the_rfc),
        cmocka_unit_test(strings_are_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
