/* The vocabulary and merges of a tokenizer.json, read from its text: the same names, ids and scores as jansson reads,
 * for random documents in all spellings of JSON; what it leaves to jansson; numbers as serde_json rounds them. */
#include "base/json.h"
#include "t.h"
#include "text/vocabulary.h"

typedef struct page {
    char *text;
    size_t n, capacity;
} page;

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void put_bytes(page *p, const char *text, size_t size)
{
    assert_true(rf__grow(t_shared(), &p->text, &p->capacity, p->n + size + 1, 1));
    memcpy(p->text + p->n, text, size);
    p->n += size;
    p->text[p->n] = 0;
}

static void put_text(page *p, const char *text) { put_bytes(p, text, strlen(text)); }

static void put_blanks(page *p, uint64_t *seed)
{
    for (uint32_t n = next_random(seed) % 4; n > 1; n--)
        put_bytes(p, &" \n\t\r"[next_random(seed) % 4], 1);
}

/* A scalar as itself or as one of its escapes. */
static void put_spelled(page *p, uint64_t *seed)
{
    static const uint32_t some[] = {'a',  '"',   '\\',   '/',    '\n',    0x1F,    0x7F,
                                    0xE9, 0x7FF, 0x2581, 0xFFFF, 0x1F600, 0x10FFFF};
    const uint32_t c = some[next_random(seed) % RF_COUNT(some)];
    char text[16];
    if (c < 32 || c == '"' || c == '\\' || next_random(seed) % 2) {
        if (c < 0x10000)
            snprintf(text, sizeof text, next_random(seed) % 2 ? "\\u%04X" : "\\u%04x", (unsigned)c);
        else
            snprintf(text, sizeof text, "\\u%04X\\u%04x", 0xD800 + ((c - 0x10000) >> 10),
                     0xDC00 + ((c - 0x10000) & 0x3FF));
        put_text(p, c == '\n' && next_random(seed) % 2 ? "\\n" : c == '/' ? "\\/" : text);
    } else
        put_bytes(p, text, t_put_scalar(c, text));
}

static void put_string(page *p, uint64_t *seed, size_t unique)
{
    char number[24];
    put_text(p, "\"");
    for (uint32_t n = next_random(seed) % 6; n; n--)
        put_spelled(p, seed);
    snprintf(number, sizeof number, "%zu", unique);
    put_text(p, unique == SIZE_MAX ? "" : number);
    put_text(p, "\"");
}

static void put_entries(page *p, uint64_t *seed, bool map, size_t n)
{
    char number[32];
    put_text(p, map ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        put_text(p, i ? "," : "");
        put_blanks(p, seed);
        put_text(p, map ? "" : "[");
        put_string(p, seed, map ? i : SIZE_MAX);
        put_blanks(p, seed);
        put_text(p, map ? ":" : ",");
        put_blanks(p, seed);
        if (map)
            snprintf(number, sizeof number, "%zu", i);
        else
            snprintf(number, sizeof number, "-%u.%05u", next_random(seed) % 30, next_random(seed) % 100000);
        put_text(p, number);
        put_blanks(p, seed);
        put_text(p, map ? "" : "]");
    }
    put_text(p, map ? "}" : "]");
}

static void put_merges(page *p, uint64_t *seed, bool pairs, size_t n)
{
    put_text(p, "[");
    for (size_t i = 0; i < n; i++) {
        put_text(p, i ? " ," : " ");
        put_text(p, pairs ? "[" : "");
        put_string(p, seed, SIZE_MAX);
        put_text(p, pairs ? "," : "");
        if (pairs) put_string(p, seed, SIZE_MAX);
        put_text(p, pairs ? "]" : "");
    }
    put_text(p, "]");
}

static void has_text(const char *text, size_t size, const json_t *expected)
{
    assert_int_equal(size, json_string_length(expected));
    assert_memory_equal(text, json_string_value(expected), size + 1);
}

static void same_pieces(const rf__vocabulary *v, json_t *vocab)
{
    const char *key;
    json_t *x;
    size_t i = 0;
    json_object_foreach(vocab, key, x)
    {
        assert_string_equal(v->piece[i].name, key);
        assert_int_equal(v->piece[i].size, strlen(key));
        assert_ptr_equal(rf__vocabulary_find(v, key), &v->piece[i]);
        t_near(v->piece[i++].value, json_number_value(x), 0);
    }
    if (json_is_object(vocab)) assert_null(rf__vocabulary_find(v, "no such piece"));
    json_array_foreach(vocab, i, x)
    {
        has_text(v->piece[i].name, v->piece[i].size, json_array_get(x, 0));
        t_near(v->piece[i].value, json_number_value(json_array_get(x, 1)), 0);
    }
    assert_int_equal(v->n, json_is_object(vocab) ? json_object_size(vocab) : json_array_size(vocab));
}

static void same_merges(const rf__vocabulary *v, const json_t *merges)
{
    json_t *x;
    size_t i;
    assert_int_equal(v->merges, json_array_size(merges));
    json_array_foreach(merges, i, x)
    {
        has_text(v->merge[i].a, v->merge[i].a_size, json_is_array(x) ? json_array_get(x, 0) : x);
        if (json_is_array(x))
            has_text(v->merge[i].b, v->merge[i].b_size, json_array_get(x, 1));
        else
            assert_null(v->merge[i].b);
    }
}

static void random_documents(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed;
        page p = {NULL, 0, 0};
        const bool map = seed % 2, first = seed % 3 == 0, listed = seed % 5 != 0;
        put_text(&p, " {\"a\": [{\"model\": {\"vocab\": 1}}, \"}\\\"\"], \"model\" :{\"type\": \"x\", ");
        if (listed && first)
            put_text(&p, "\"merges\": "), put_merges(&p, &random, seed % 7 < 3, seed % 9), put_text(&p, ",");
        put_text(&p, "\"vocab\":");
        put_entries(&p, &random, map, 1 + seed % 50);
        if (listed && !first) put_text(&p, ", \"merges\": "), put_merges(&p, &random, seed % 7 < 3, seed % 9);
        put_text(&p, ", \"z\": {}} , \"b\": null}\n");

        rf__vocabulary v;
        rf_error why = {0};
        char *rest;
        size_t rest_size;
        json_t *all = rf__json_parse(p.text, p.n, 0, "page", &why);
        if (!all) fail_msg("%s: %s", why.text, p.text);
        assert_int_equal(rf__vocabulary_read(&v, t_shared(), p.text, p.n, &rest, &rest_size), RF_OK);
        if (!rest) fail_msg("not read: %s", p.text);
        json_t *model = json_object_get(all, "model"), *vocab = json_object_get(model, "vocab");
        same_pieces(&v, vocab);
        same_merges(&v, json_object_get(model, "merges"));
        json_t *left = rf__json_parse(rest, rest_size, 0, "rest", &why);
        if (!left) fail_msg("%s: %s", why.text, rest);
        if (map)
            json_object_clear(vocab);
        else
            json_array_clear(vocab);
        json_array_clear(json_object_get(model, "merges"));
        assert_true(json_equal(left, all));
        json_decref(left);
        json_decref(all);
        rf__free(t_shared(), rest);
        rf__vocabulary_clear(&v);
        rf__free(t_shared(), p.text);
    }
}

static bool is_read(const char *text, rf__vocabulary *v)
{
    char *rest;
    size_t size;
    assert_int_equal(rf__vocabulary_read(v, t_shared(), text, strlen(text), &rest, &size), RF_OK);
    const bool read = rest;
    rf__free(t_shared(), rest);
    return read;
}

/* What is not of the shape, or no JSON, is left to jansson, whose message is better. */
static void left_to_jansson(void **state)
{
    (void)state;
    static const char *const model[] = {"{}",
                                        "{\"vocab\": {}}",
                                        "{\"vocab\": []}",
                                        "{\"vocab\": null}",
                                        "{\"vocab\": {\"a\": \"0\"}}",
                                        "{\"vocab\": {\"a\": 0, \"a\": 1}}",
                                        "{\"vocab\": {\"a\": 00}}",
                                        "{\"vocab\": {\"a\": 1.}}",
                                        "{\"vocab\": {\"a\": .5}}",
                                        "{\"vocab\": {\"a\": +1}}",
                                        "{\"vocab\": {\"a\": 1e}}",
                                        "{\"vocab\": {\"a\": 1e999}}",
                                        "{\"vocab\": {\"a\": 0,}}",
                                        "{\"vocab\": {\"\\u0000\": 0}}",
                                        "{\"vocab\": {\"\\uD800\": 0}}",
                                        "{\"vocab\": {\"\\uDC00\": 0}}",
                                        "{\"vocab\": {\"\\uD800\\u0041\": 0}}",
                                        "{\"vocab\": {\"\\x\": 0}}",
                                        "{\"vocab\": {\"\\u12G4\": 0}}",
                                        "{\"vocab\": {\"\xFF\": 0}}",
                                        "{\"vocab\": {\"\xC0\x80\": 0}}",
                                        "{\"vocab\": {\"\n\": 0}}",
                                        "{\"vocab\": {\"a\": 0]}",
                                        "{\"vocab\": {\"a\": 0}, \"vocab\": {\"a\": 0}}",
                                        "{\"vocab\": {\"a\": 0}, \"merges\": [1]}",
                                        "{\"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}",
                                        "{\"vocab\": {\"a\": 0}, \"merges\": [\"a b\"], \"merges\": []}",
                                        "{\"vocab\": [[\"a\", 0, 1]]}",
                                        "{\"vocab\": [\"a\"]}",
                                        "{\"vocab\": {\"a",
                                        "{\"vocab\"",
                                        "[]"};
    char text[256];
    rf__vocabulary v;
    for (size_t i = 0; i < RF_COUNT(model); i++) {
        snprintf(text, sizeof text, "{\"model\": %s}", model[i]);
        if (is_read(text, &v)) fail_msg("read: %s", text);
        assert_null(v.piece);
    }
    static const char *const whole[] = {"",           " ",           "{",     "{}", "[]", "{\"vocab\": {\"a\": 0}}",
                                        "{\"model\"", "{\"model\":", "{1: 2}"};
    for (size_t i = 0; i < RF_COUNT(whole); i++)
        if (is_read(whole[i], &v)) fail_msg("read: %s", whole[i]);
    assert_true(is_read("{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": null}}", &v));
    rf__vocabulary_clear(&v);
}

/* The digits as an integer divided by a power of ten: the nearest double where both are exact, otherwise rounded twice.
 */
static void rounded_as_serde(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } row[] = {{"0", 0},
               {"-0.0", 0},
               {"3", 3},
               {"-2.50", -2.5},
               {"1e3", 1000},
               {"25E-1", 2.5},
               {"1.5e+2", 150},
               {"-7.123456789012345", -7.123456789012345},
               {"9007199254740993", 9007199254740992},
               {"123456789012345678901234567890", 12345678901234567890.0 * 1e10},
               {"0.1234567890123456789012345678", (double)1234567890123456789u / 1e19},
               {"1e-400", 0},
               {"-13.52837371826172", -(double)1352837371826172 / 1e14},
               {"12345678901234567e-17", (double)12345678901234567 / 1e17}};
    char text[128];
    rf__vocabulary v;
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        snprintf(text, sizeof text, "{\"model\": {\"vocab\": [[\"a\", %s]]}}", row[i].text);
        assert_true(is_read(text, &v));
        if (memcmp(&v.piece[0].value, &row[i].value, sizeof(double)) != 0 &&
            (v.piece[0].value != 0 || row[i].value != 0))
            fail_msg("%s: expected %.17g, got %.17g", row[i].text, row[i].value, v.piece[0].value);
        rf__vocabulary_clear(&v);
    }
}

static rf_status read_once(const rf_ctx *ctx, void *arg, rf_error *why)
{
    rf__vocabulary v;
    char *rest;
    size_t size;
    (void)why;
    const rf_status status = rf__vocabulary_read(&v, ctx, arg, strlen(arg), &rest, &size);
    assert_int_equal(rest != NULL, status == RF_OK);
    rf__free(ctx, rest);
    rf__vocabulary_clear(&v);
    return status;
}

static void without_memory(void **state)
{
    (void)state;
    char text[] = "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [\"a b\"]}}";
    assert_int_equal(t_fail_allocations(1, NULL, read_once, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_documents), cmocka_unit_test(left_to_jansson),
                                       cmocka_unit_test(rounded_as_serde), cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests_name("text/vocabulary", tests, NULL, NULL);
}
