/* Bytes: every text is decoded to itself, offsets are those of characters, invalid UTF-8 is decoded like the WHATWG's
 * decoder, special and added tokens as in other tokenizers, valid and rejected folders. */
#include "small_units.h"

enum { BYTE = 5, SIZE = 261, CLS = 2, SEP = 3, MASK = 4 };

static rf_tokenizer *made(void)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_make(ctx, "bytes", &t, &why)) fail_msg("%s", why.text);
    return t;
}

static void ids_names_and_offsets(void **state)
{
    (void)state;
    static const char text[] = "a\xC3\xA9\n [MASK]";
    static const int32_t id[] = {CLS, BYTE + 'a', BYTE + 0xC3, BYTE + 0xA9, BYTE + '\n', BYTE + ' ', MASK, SEP};
    static const uint32_t start[] = {0, 0, 1, 1, 3, 4, 5, 0}, end[] = {0, 1, 3, 3, 4, 5, 11, 0};
    static const char *const name[] = {"[CLS]", "a", "<0xC3>", "<0xA9>", "<0x0A>", "<0x20>", "[MASK]", "[SEP]"};
    rf_tokenizer *t = made();
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    encode(t, text, sizeof text - 1, 0, &e);
    has_units(t, &e, &(units){RF_COUNT(id), id, start, end, name});
    for (size_t i = 0; i < e.n; i++) assert_int_equal(rf_tokenizer_continues(t, e.id[i]), i == 3);
    encode(t, "[MASK]", 6, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &e);
    assert_int_equal(e.n, 6);
    assert_int_equal(rf_tokenizer_size(t), SIZE);
    assert_ptr_equal(rf__tokenizer_target(t), t);
    assert_null(rf_tokenizer_token(t, SIZE));
    assert_int_equal(rf_tokenizer_id(t, "ab"), -1);
    char *about = rf_tokenizer_describe(t);
    assert_non_null(strstr(about, "\"tokens\":261"));
    rf_text_free(t, about);
    size_t dropped = 0;
    assert_int_equal(rf_encode(t, "abcdef", 6, "xy", 2, 8, 0, &e, &dropped, NULL), RF_OK);
    assert_int_equal(e.n, 8);
    assert_int_equal(dropped, 3);
    assert_int_equal(e.type[7], 1);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* Decodes to the encoded text, and every byte has the offsets of its character. */
static void comes_back(const rf_tokenizer *t, rf_encoding *e, const char *text, size_t size)
{
    encode(t, text, size, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e);
    assert_int_equal(e->n, size);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(e->id[i], BYTE + (unsigned char)text[i]);
        if (e->start[i] > i || e->end[i] <= i || e->end[i] > size) fail_msg("byte %zu: not covered", i);
        if (((unsigned char)text[e->start[i]] & 0xC0) == 0x80) fail_msg("byte %zu: within a character", i);
        if (e->end[i] < size && ((unsigned char)text[e->end[i]] & 0xC0) == 0x80) fail_msg("byte %zu: a part", i);
        for (size_t k = e->start[i] + 1; k < e->end[i]; k++)
            if (((unsigned char)text[k] & 0xC0) != 0x80) fail_msg("byte %zu: of two characters", i);
    }
    size_t bytes = 0;
    assert_null(rf_decode(NULL, e->id, e->n, 0, 0, &bytes));
    assert_null(rf_decode(t, NULL, 1, 0, 0, &bytes));
    char *back = rf_decode(t, e->id, e->n, 0, 0, &bytes);
    assert_non_null(back);
    assert_int_equal(bytes, size);
    assert_memory_equal(back, text, size);
    assert_int_equal(back[size], 0);
    rf_text_free(t, back);
}

static void every_scalar_comes_back(void **state)
{
    (void)state;
    rf_tokenizer *t = made();
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    static char text[4 * 4096];
    for (uint32_t block = 0; block < 0x110000; block += 4096) {
        size_t n = 0;
        for (uint32_t c = block; c < block + 4096; c++)
            if (c < 0xD800 || c > 0xDFFF) n += t_put_scalar(c, text + n);
        comes_back(t, &e, text, n);
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* The UTF-8 decoder of the WHATWG's Encoding Standard, with U+FFFD for errors: bytes needed, and bounds of the next
 * one. */
static size_t whatwg(const unsigned char *p, size_t n, char *to)
{
    uint32_t c = 0;
    int needed = 0, seen = 0;
    unsigned lower = 0x80, upper = 0xBF;
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned b = p[i];
        if (!needed) {
            lower = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
            upper = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
            if (b < 0x80) size += t_put_scalar(b, to + size);
            else if (b >= 0xC2 && b <= 0xDF) needed = 1, c = b & 0x1F;
            else if (b >= 0xE0 && b <= 0xEF) needed = 2, c = b & 0xF;
            else if (b >= 0xF0 && b <= 0xF4) needed = 3, c = b & 0x7;
            else size += t_put_scalar(0xFFFD, to + size);
            continue;
        }
        if (b < lower || b > upper) {
            needed = seen = 0;
            size += t_put_scalar(0xFFFD, to + size);
            i--;
            continue;
        }
        lower = 0x80, upper = 0xBF;
        c = c << 6 | (b & 0x3F);
        if (++seen < needed) continue;
        size += t_put_scalar(c, to + size);
        needed = seen = 0;
    }
    if (needed) size += t_put_scalar(0xFFFD, to + size);
    return size;
}

/* Random bytes, many of which begin or continue characters: rejected as text unless they are UTF-8; as ids they are
 * decoded, and the result is a prefix of that for one byte more, except for U+FFFD at its end. */
static void any_bytes_decode(void **state)
{
    (void)state;
    static const unsigned char often[] = {0x80, 0xBF, 0xC3, 0xE0, 0xA0, 0xE4, 0xB8, 0xED, 0x9F, 0xF0,
                                          0x9F, 0x90, 0xF4, 0x8F, 'a',  0,    0xC0, 0xF5, 0xFF};
    enum { MOST = 24 };
    rf_tokenizer *t = made();
    rf_encoding e;
    rf_rng r;
    size_t valid = 0, other = 0;
    rf_encoding_init(&e, ctx);
    rf_rng_init(&r, 3, 1);
    for (int round = 0; round < 40000; round++) {
        unsigned char text[MOST];
        char expected[3 * MOST];
        int32_t id[MOST];
        const size_t n = rf_rng_below(&r, MOST);
        for (size_t i = 0; i < n; i++) {
            const uint32_t any = rf_rng_below(&r, 256), one = rf_rng_below(&r, RF_COUNT(often));
            text[i] = rf_rng_below(&r, 4) ? often[one] : (unsigned char)any;
            id[i] = BYTE + text[i];
        }
        size_t bytes = 0, before = 0;
        const size_t size = whatwg(text, n, expected);
        char *back = rf_decode(t, id, n, 0, 0, &bytes);
        if (bytes != size || memcmp(back, expected, size) != 0) fail_msg("round %d: another text", round);
        const bool same = size == n && !memcmp(text, expected, n);
        const rf_status status = rf_encode(t, (char *)text, n, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL);
        assert_int_equal(status, same ? RF_OK : RF_EDATA);
        if (same) comes_back(t, &e, (char *)text, n);
        valid += same;
        other += !same;
        char *less = rf_decode(t, id, n ? n - 1 : 0, 0, 0, &before);
        while (before >= 3 && !memcmp(less + before - 3, "\xEF\xBF\xBD", 3)) before -= 3;
        if (before > bytes || memcmp(less, back, before) != 0) fail_msg("round %d: no beginning", round);
        rf_text_free(t, less);
        rf_text_free(t, back);
    }
    assert_true(valid > 2000 && other > 2000);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

static void special_tokens_stay_or_go(void **state)
{
    (void)state;
    static const int32_t id[] = {CLS, BYTE + 'h', BYTE + 0xC3, SEP, BYTE + 0xA9, 999, -1};
    rf_tokenizer *t = made();
    char *all = rf_decode(t, id, RF_COUNT(id), 0, 0, NULL), *some = rf_decode(t, id, RF_COUNT(id), 1, 0, NULL);
    assert_string_equal(all, "[CLS]h\xEF\xBF\xBD[SEP]\xEF\xBF\xBD");
    assert_string_equal(some, "h\xC3\xA9");
    rf_text_free(t, all);
    rf_text_free(t, some);
    rf_tokenizer_free(t);
}

#define CLASS "\"tokenizer_class\":\"RoFormerByteTokenizer\""

static void put_file(const char *folder, const char *text)
{
    t_write(folder, "tokenizer_config.json", text, strlen(text));
}

static void folders(void **state)
{
    (void)state;
    const char *folder = t_folder();
    put_file(folder, "{" CLASS ",\"mask_token\":\"<m>\",\"added_tokens_decoder\":{\"262\":{\"content\":\"xy\"},"
                "\"261\":{\"content\":\"<e>\",\"special\":true},\"4\":{\"content\":\"<m>\",\"special\":true}}}");
    static const int32_t id[] = {262, MASK, BYTE + 'z', 261};
    opens_and_saves(folder, &(folder_case){263, "xy<m>z<e>", 9, id, RF_COUNT(id), "xyz", 3});
}

static void bad_folders_are_refused(void **state)
{
    (void)state;
    static const struct { const char *json; rf_status status; const char *part; } bad[] = {
        {"{" CLASS ",\"added_tokens_decoder\":{\"70\":{\"content\":\"x\"}}}", RF_EDATA,
         "id 70 belongs to A and x"},
        {"{" CLASS ",\"added_tokens_decoder\":{\"3\":{\"content\":\"x\"}}}", RF_EDATA,
         "id 3 belongs to [SEP] and x"},
        {"{" CLASS ",\"added_tokens_decoder\":{\"261\":{\"content\":\"x\"},\"0261\":{\"content\":\"y\"}}}", RF_EDATA,
         "id 261"},
        {"{" CLASS ",\"pad_token\":\"\"}", RF_EDATA, "empty"},
        {"{\"tokenizer_class\":\"ByT5Tokenizer\"}", RF_EUNSUPPORTED,
         "its ids of the 256 bytes are not supported"},
        {"{\"tokenizer_class\":\"CanineTokenizer\"}", RF_EUNSUPPORTED, "CanineTokenizer: expected tokenizer.json"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = t_folder();
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        put_file(folder, bad[i].json);
        if (rf_tokenizer_open(ctx, folder, &t, &why) != bad[i].status) fail_msg("case %zu: \"%s\"", i, why.text);
        t_failed(&why, bad[i].status, bad[i].part);
        assert_null(t);
    }
}

/* One encoding is used with words, then bytes, then words; any failing allocation gives RF_ENOMEM and no leak. */
static rf_status one_encoding_for_both(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n";
    rf_tokenizer *t = NULL, *words = NULL;
    rf_encoding e;
    rf_encoding_init(&e, c);
    rf_status status = rf_tokenizer_make(c, "bytes", &t, why);
    if (!status) status = rf_tokenizer_new(c, vocab, sizeof vocab - 1, "words", NULL, &words, why);
    for (int i = 0; i < 4 && !status; i++) {
        status = rf_encode(i % 2 ? words : t, "ab", 2, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, why);
        if (!status) assert_int_equal(e.n, i % 2 ? 1 : 2);
    }
    if (!status) {
        char *back = rf_decode(t, (const int32_t[]){BYTE + 0xFF}, 1, 0, 0, NULL);
        if (!back) status = RF_ENOMEM;
        rf_text_free(t, back);
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    rf_tokenizer_free(words);
    return status;
}

static void encodings_and_memory(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, one_encoding_for_both, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_names_and_offsets), cmocka_unit_test(every_scalar_comes_back),
        cmocka_unit_test(any_bytes_decode),      cmocka_unit_test(special_tokens_stay_or_go),
        cmocka_unit_test(folders),               cmocka_unit_test(bad_folders_are_refused),
        cmocka_unit_test(encodings_and_memory),
    };
    return cmocka_run_group_tests_name("text/bytes", tests, setup, teardown);
}
