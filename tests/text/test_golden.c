/* Compared with Hugging Face's results (tests/golden/text, written by tools/golden/golden_text.py): ids, offsets,
 * types, limits and decoded texts of difficult strings; every Unicode scalar between letters and among marks. mirrors
 * src/text: unicode.c, words.c, encode.c, decode.c */
#define _GNU_SOURCE
#include "t.h"

#include "roformer/tokenizer.h"

#define FOLDER "tests/golden/text/"

static char *whole_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot read %s", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(*size + 1, 1);
    assert_int_equal(fread(text, 1, *size, f), *size);
    fclose(f);
    return text;
}

static rf_tokenizer *open_vocab(const rf_ctx *ctx, const char *vocab, size_t size, rf_rules rules, const char *setting)
{
    rf_tokenizer_options o;
    rf_tokenizer_defaults(&o);
    o.rules = rules;
    if (sscanf(setting, "S %d %d %d", &o.lowercase, &o.strip_accents, &o.han_split) != 3)
        fail_msg("line \"%s\"", setting);
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_new(ctx, vocab, size, "vocab.txt", &o, &t, &why)) fail_msg("%s", why.text);
    return t;
}

/* Hexadecimal in place; "-" is the empty text. */
static size_t from_hex(char *text)
{
    size_t n = 0;
    unsigned byte;
    if (text[0] == '-') return 0;
    for (const char *p = text; sscanf(p, "%2x", &byte) == 1; p += 2) text[n++] = (char)byte;
    return n;
}

static char *word(char **line)
{
    return strsep(line, " ");
}

typedef struct answer { rf_encoding e; int line; } answer;

static void encode_line(const rf_tokenizer *t, char *line, answer *a)
{
    rf_error why = {0};
    word(&line);
    const size_t limit = (size_t)atoi(word(&line));
    const int flags = atoi(word(&line));
    char *text = word(&line), *pair = line ? word(&line) : NULL;
    const size_t size = from_hex(text), pair_size = pair ? from_hex(pair) : 0;
    if (rf_encode(t, text, size, pair, pair_size, limit, flags, &a->e, NULL, &why))
        fail_msg("line %d: %s", a->line, why.text);
}

static void compare_line(char *line, const answer *a, bool offsets)
{
    size_t n = 0;
    for (char *p; (p = strchr(line, ' ')) != NULL; n++) {
        line = p + 1;
        unsigned id, start, end;
        int type;
        if (sscanf(line, "%u,%u,%u,%d", &id, &start, &end, &type) != 4) break;
        if (n >= a->e.n) fail_msg("line %d: %zu tokens, more are expected", a->line, a->e.n);
        if ((unsigned)a->e.id[n] != id || a->e.type[n] != type)
            fail_msg("line %d, token %zu: id %d type %d, expected %u %d", a->line, n, (int)a->e.id[n],
                     (int)a->e.type[n], id, type);
        if (offsets && (a->e.start[n] != start || a->e.end[n] != end))
            fail_msg("line %d, token %zu: bytes %u to %u, expected %u to %u", a->line, n, a->e.start[n], a->e.end[n],
                     start, end);
    }
    if (n != a->e.n) fail_msg("line %d: %zu tokens, expected %zu", a->line, a->e.n, n);
}

static void decode_line(const rf_tokenizer *t, char *line, int number)
{
    word(&line);
    const int skip = atoi(word(&line)), tidy = atoi(word(&line));
    char *expected = word(&line);
    int32_t id[64];
    size_t n = 0;
    while (line && *line && n < 64) id[n++] = (int32_t)atoi(word(&line));
    expected[from_hex(expected)] = 0;
    char *got = rf_decode(t, id, n, skip, tidy, NULL);
    if (!got || strcmp(got, expected[0] == '-' && !expected[1] ? "" : expected) != 0)
        fail_msg("line %d: \"%s\", expected \"%s\"", number, got, expected);
    rf_text_free(t, got);
}

static void cases(const char *path, rf_rules rules)
{
    rf_ctx *ctx = t_ctx(1, NULL);
    size_t size, vocab_size;
    char *vocab = whole_file(FOLDER "vocab.txt", &vocab_size), *text = whole_file(path, &size), *rest = text, *line;
    rf_tokenizer *t = NULL;
    answer a = {.line = 0};
    int compared = 0;
    rf_encoding_init(&a.e, ctx);
    while ((line = strsep(&rest, "\n")) != NULL) {
        a.line++;
        if (line[0] == 'S') {
            rf_tokenizer_free(t);
            t = open_vocab(ctx, vocab, vocab_size, rules, line);
        } else if (line[0] == 'T') {
            encode_line(t, line, &a);
        } else if (line[0] == 'I') {
            compare_line(line, &a, rules == RF_RULES_RUST);
            compared++;
        } else if (line[0] == 'D') {
            decode_line(t, line, a.line);
        }
    }
    assert_true(compared > 1000);
    rf_encoding_clear(&a.e);
    rf_tokenizer_free(t);
    free(vocab);
    free(text);
    rf_ctx_free(ctx);
}

static void rust_cases(void **state)
{
    (void)state;
    cases(FOLDER "rust.txt", RF_RULES_RUST);
}

static void python_cases(void **state)
{
    (void)state;
    cases(FOLDER "python.txt", RF_RULES_PYTHON);
}

/* ---- every scalar ---- */

static size_t utf8(uint32_t c, char *to)
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
    return to[0] = (char)(0xF0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63)), to[2] = (char)(0x80 | (c >> 6 & 63)),
           to[3] = (char)(0x80 | (c & 63)), 4;
}

/* The vocabulary of every scalar, as tools/check/tokenizer.py writes it. */
static char *every_scalar(size_t *size)
{
    char *text = malloc(32u << 20), *to = text + sprintf(text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c == '\n' || c == '\r' || (c >= 0xD800 && c < 0xE000)) continue;
        to += utf8(c, to);
        *to++ = '\n';
        *to++ = '#', *to++ = '#';
        to += utf8(c, to);
        *to++ = '\n';
    }
    *size = (size_t)(to - text);
    return text;
}

static uint32_t crc32_of(uint32_t crc, const void *data, size_t size)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t x = i;
            for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ 0xEDB88320 : x >> 1;
            table[i] = x;
        }
    crc = ~crc;
    for (const unsigned char *p = data; size--; p++) crc = crc >> 8 ^ table[(crc ^ *p) & 255];
    return ~crc;
}

/* The formats of the two texts; %s of golden_text.py is the scalar. */
static size_t fill(char *to, const char *format, const char *scalar, size_t n)
{
    char *p = to;
    for (; *format; format++) {
        if (*format == '%') memcpy(p, scalar, n), p += n;
        else *p++ = *format;
    }
    return (size_t)(p - to);
}

static void all_scalars(const rf_ctx *ctx, const rf_tokenizer *t, char *line)
{
    static const char *const format[] = {"a%b", "% a\xCC\x81%\xCC\x96" "b"};
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (uint32_t start = 0; start < 0x110000; start += 4096) {
        uint32_t crc = 0;
        for (uint32_t c = start; c < start + 4096; c++) {
            char scalar[4], text[64];
            if (c >= 0xD800 && c < 0xE000) continue;
            const size_t n = utf8(c, scalar);
            for (int k = 0; k < 2; k++) {
                assert_int_equal(rf_encode(t, text, fill(text, format[k], scalar, n), NULL, 0, 0, 0, &e, NULL, NULL),
                                 RF_OK);
                crc = crc32_of(crc, e.id, e.n * sizeof *e.id);
            }
        }
        const uint32_t expected = (uint32_t)strtoul(word(&line), NULL, 16);
        if (crc != expected)
            fail_msg("scalars U+%04X to U+%04X: checksum %08x, expected %08x", start, start + 4095, crc, expected);
    }
    rf_encoding_clear(&e);
}

static void scalars(const char *path, rf_rules rules)
{
    rf_ctx *ctx = t_ctx(1, NULL);
    size_t size, vocab_size;
    char *vocab = every_scalar(&vocab_size), *text = whole_file(path, &size), *rest = text, *line;
    rf_tokenizer *t = NULL;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == 'S') {
            rf_tokenizer_free(t);
            t = open_vocab(ctx, vocab, vocab_size, rules, line);
        } else if (line[0] && line[0] != '#') {
            all_scalars(ctx, t, line);
        }
    }
    assert_non_null(t);
    rf_tokenizer_free(t);
    free(vocab);
    free(text);
    rf_ctx_free(ctx);
}

static void rust_scalars(void **state)
{
    (void)state;
    scalars(FOLDER "rust_scalars.txt", RF_RULES_RUST);
}

static void python_scalars(void **state)
{
    (void)state;
    scalars(FOLDER "python_scalars.txt", RF_RULES_PYTHON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rust_cases),
        cmocka_unit_test(rust_scalars),
        cmocka_unit_test(python_cases),
        cmocka_unit_test(python_scalars),
    };
    return cmocka_run_group_tests_name("text/golden", tests, NULL, NULL);
}
