/* SentencePiece models: pieces, offsets, texts and samples of version 0.1.97 (tools/golden/golden_spm.py), also in a
 * build without the library; damaged files and unknown settings are rejected by name; failing allocations. mirrors
 * spm_model.c, spm_encode.c, spm_bpe.c, spm_normalizer.c, spm_sample.c, spm_decode.c, charsmap.c, protobuf.c,
 * piece_trie.c */
#include "base/json.h"
#include "roformer/tokenizer.h"
#include "base/protobuf.h"
#include "text/subword/spm_model.h"

#include "one_context.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/spm/"

static char *read_whole(const char *name, const char *ending, size_t *size)
{
    char path[256], *data;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "%s%s", name, ending);
    if (rf__read_file(ctx, path, 1 << 24, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

/* ---- as the library has it --------------------------------------------------------------------------------------- */

typedef struct pieces {
    size_t n;
    int32_t id[512];
    size_t begin[512], end[512];
} pieces;

static bool keep(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    pieces *p = user;
    assert_true(size && piece && p->n < RF_COUNT(p->id));
    p->id[p->n] = id;
    p->begin[p->n] = begin;
    p->end[p->n++] = end;
    return true;
}

static bool take(void *user, const char *data, size_t size)
{
    assert_true(size < 1000);
    memcpy(user, data, size);
    ((char *)user)[size] = 0;
    return true;
}

static int64_t number(const json_t *x, size_t i) { return json_integer_value(json_array_get(x, i)); }

static void one_text(const char *name, const rf__spm *m, rf__spm_work *w, const json_t *x)
{
    const char *text = json_string_value(json_object_get(x, "text"));
    const json_t *expected = json_object_get(x, "pieces"), *s;
    static pieces p;
    char back[1000];
    size_t k;
    p.n = 0;
    assert_true(rf__spm_encode(m, w, text, strlen(text), NULL, keep, &p));
    if (p.n != json_array_size(expected)) fail_msg("%s: %zu pieces of \"%s\"", name, p.n, text);
    for (size_t i = 0; i < p.n; i++) {
        const json_t *piece = json_array_get(expected, i);
        if (p.id[i] != number(piece, 0) || (int64_t)p.begin[i] != number(piece, 1) ||
            (int64_t)p.end[i] != number(piece, 2))
            fail_msg("%s: piece %zu of \"%s\" is %d, %zu..%zu", name, i, text, (int)p.id[i], p.begin[i], p.end[i]);
    }
    assert_true(rf__spm_decode(m, p.id, p.n, take, back));
    assert_string_equal(back, json_string_value(json_object_get(x, "decoded")));
    json_array_foreach(json_object_get(x, "samples"), k, s)
    {
        const rf__spm_sample sample = {(int)number(s, 0), (float)json_number_value(json_array_get(s, 1)),
                                       (uint32_t)number(s, 2)};
        const json_t *ids = json_array_get(s, 3);
        p.n = 0;
        assert_true(rf__spm_encode(m, w, text, strlen(text), &sample, keep, &p));
        bool same = p.n == json_array_size(ids);
        for (size_t i = 0; i < p.n && same; i++) same = p.id[i] == number(ids, i);
        if (!same) fail_msg("%s: sample %zu of \"%s\" is another", name, k, text);
    }
}

static void as_sentencepiece_has_it(void **state)
{
    (void)state;
    static const char *const names[] = {"users", "plain", "unused", "suffix", "word", "char"};
    rf__spm_work *w = rf__spm_work_new(ctx);
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        size_t size, k;
        rf_error why = {0};
        rf__spm *m;
        json_t *x;
        char *data = read_whole(names[i], ".model", &size);
        if (rf__spm_load(ctx, data, size, names[i], &m, &why)) fail_msg("%s", why.text);
        rf__free(ctx, data);
        data = read_whole(names[i], ".json", &size);
        json_t *all = rf__json_parse(data, size, 0, names[i], &why);
        if (!all) fail_msg("%s", why.text);
        rf__free(ctx, data);
        json_array_foreach(json_object_get(all, "cases"), k, x) one_text(names[i], m, w, x);
        assert_true(k > 20);
        json_decref(all);
        rf__spm_free(m);
    }
    rf__spm_work_free(w);
}

/* A folder with a model of words or characters is a tokenizer of that type and is saved unchanged. */
static void folders_of_words_and_characters(void **state)
{
    (void)state;
    static const char *const row[][3] = {{"word", "words (SentencePiece)", "the sea"},
                                         {"char", "characters (SentencePiece)", "the sea"}};
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        char folder[256];
        size_t size;
        rf_error why = {0};
        rf_tokenizer *t, *again;
        rf_encoding e;
        char *data = read_whole(row[i][0], ".model", &size);
        snprintf(folder, sizeof folder, "%s", t_folder());
        t_write(folder, "spiece.model", data, size);
        rf__free(ctx, data);
        if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
        char *about = rf_tokenizer_describe(t);
        assert_non_null(strstr(about, row[i][1]));
        rf_text_free(t, about);
        const char *to = t_folder();
        if (rf_tokenizer_save(t, to, &why)) fail_msg("%s", why.text);
        if (rf_tokenizer_open(ctx, to, &again, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf__tokenizer_fingerprint(t, 1), rf__tokenizer_fingerprint(again, 1));
        rf_encoding_init(&e, ctx);
        assert_int_equal(rf_encode(again, row[i][2], strlen(row[i][2]), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why),
                         RF_OK);
        char *back = rf_decode(again, e.id, e.n, 1, 0, NULL);
        assert_string_equal(back, i ? "the seA" : row[i][2]); /* its denormalizer makes A of a                  */
        rf_text_free(again, back);
        assert_int_equal(rf__encode_sample(again, "the", 3, NULL, 0, &e, &why), RF_EUNSUPPORTED);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        rf_tokenizer_free(again);
    }
}

/* ---- files that are put together here ---------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char at[1 << 19];
    size_t n;
} bytes;

static void append(bytes *b, const void *data, size_t size)
{
    assert_true(size <= sizeof b->at - b->n);
    memcpy(b->at + b->n, data, size);
    b->n += size;
}

static void put_varint(bytes *b, uint64_t x)
{
    for (; x > 127; x >>= 7) append(b, &(unsigned char){(unsigned char)(x | 128)}, 1);
    append(b, &(unsigned char){(unsigned char)x}, 1);
}

static void put_text(bytes *b, unsigned field, const void *data, size_t size)
{
    put_varint(b, field << 3 | RF_WIRE_LENGTH);
    put_varint(b, size);
    append(b, data, size);
}

static void put_value(bytes *b, unsigned field, uint64_t value)
{
    put_varint(b, field << 3);
    put_varint(b, value);
}

static void put_piece(bytes *b, const void *name, size_t size, float score, unsigned type)
{
    static bytes one;
    one.n = 0;
    put_text(&one, 1, name, size);
    put_varint(&one, 2 << 3 | RF_WIRE_4_BYTES);
    append(&one, &score, 4);
    put_value(&one, 3, type);
    put_text(b, 1, one.at, one.n);
}

/* A complete model: <unk>, <s>, U+2581, a, b. */
static void put_pieces(bytes *b)
{
    put_piece(b, "<unk>", 5, 0, 2);
    put_piece(b, "<s>", 3, 0, 3);
    put_piece(b, RF__BLANK, 3, -2, 1);
    put_piece(b, "a", 1, -3, 1);
    put_piece(b, "b", 1, -4, 1);
}

/* A charsmap that replaces "A" by "aa"; `part` is the error in it. */
enum {
    FINE,
    NO_TRIE,
    LONG_TRIE,
    ODD_TRIE,
    FAR_OFFSET,
    NO_LEAF,
    FAR_VALUE,
    INSIDE,
    NO_END,
    NOT_UTF8,
    ROOT,
    CUT,
    LONG_TEXT
};
static size_t charsmap(int part, unsigned char to[8192])
{
    uint32_t trie[512] = {0}, size = part == NO_TRIE ? 0 : part == LONG_TRIE ? 4096 : part == ODD_TRIE ? 1020 : 2048;
    static const char texts[] = "x\0aa";
    enum { ROOT_OFFSET = 256 };
    trie[0] = ROOT_OFFSET << 10;
    trie[ROOT_OFFSET ^ 'A'] = 'A' | 1 << 8 | 3 << 10; /* its value is in the adjacent unit              */
    trie[ROOT_OFFSET ^ 'A' ^ 3] = UINT32_C(1) << 31 | 2;
    if (part == ROOT) trie[0] |= 1 << 8;
    if (part == FAR_OFFSET) trie[5] = 'A' | 0x1FFFFFu << 10;
    if (part == NO_LEAF) trie[ROOT_OFFSET ^ 'A' ^ 3] = 2;
    if (part == FAR_VALUE) trie[ROOT_OFFSET ^ 'A' ^ 3] = UINT32_C(1) << 31 | 5;
    if (part == INSIDE) trie[ROOT_OFFSET ^ 'A' ^ 3] = UINT32_C(1) << 31 | 3;
    memcpy(to, &size, 4);
    memcpy(to + 4, trie, size <= 2048 ? size : 2048);
    size_t n = 4 + (size <= 2048 ? size : 2048);
    if (part == LONG_TEXT) memset(to + n, 'y', 300), n += 300, to[n++] = 0;
    else memcpy(to + n, texts, sizeof texts), n += sizeof texts;
    if (part == LONG_TEXT) memcpy(to + n - 301, texts, sizeof texts);
    if (part == NO_END) n--;
    if (part == NOT_UTF8) to[n - 2] = 0xC3;
    return part == CUT ? 3 : n;
}

static void put_charsmap(bytes *b, unsigned spec, int part)
{
    static bytes rules;
    unsigned char map[8192];
    rules.n = 0;
    put_text(&rules, 2, map, charsmap(part, map));
    put_text(b, spec, rules.at, rules.n);
}

static void refused(const bytes *b, rf_status status, const char *part)
{
    rf__spm *m = NULL;
    rf_error why = {0};
    unsigned char *exact = malloc(b->n ? b->n : 1); /* a sanitizer detects a read past the end        */
    assert_non_null(exact);
    memcpy(exact, b->at, b->n);
    const rf_status got = rf__spm_load(ctx, exact, b->n, "x/spiece.model", &m, &why);
    free(exact);
    if (got != status || !strstr(why.text, part))
        fail_msg("%d, %s; expected %d, %s", (int)got, why.text, (int)status, part);
    assert_non_null(strstr(why.text, "x/spiece.model: SentencePiece model: "));
    assert_null(m);
}

/* Bytes that are appended to a valid model, and a part of the error. */
typedef struct addition {
    const char *at;
    size_t size;
    const char *part;
} addition;

static const addition damaged[] = {
    {"\x0A\x7F", 2, "a field is longer than what is left"},
    {"\x0A", 1, "a length does not end"},
    {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, "a field is longer than what is left"},
    {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11, "a length does not end"},
    {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 11, "a tag does not end"},
    {"\x80", 1, "a tag does not end"},
    {"\x02\x00", 2, "a field number that is not 1 to"},
    {"\xF8\xFF\xFF\xFF\x7F\x00", 6, "a field number that is not 1 to"},
    {"\x0B", 1, "a wire type that is not 0, 1, 2 or 5"},
    {"\x0D\x01\x02\x03", 4, "it ends within a number of 4 bytes"},
    {"\x09\x01\x02\x03", 4, "it ends within a number of 8 bytes"},
    {"\x18\x80", 2, "a number does not end"},
    {"\x08\x01", 2, "pieces: expected wire type 2, got 0"},
    {"\x12\x03\x1D\x01\x01", 5, "trainer_spec, byte 0 of 3: it ends within"},
    {"\x12\x03\x1A\x01\x01", 5, "trainer_spec: model_type: expected wire type 0, got 2"},
    {"\x12\x02\x18\x05", 4, "model_type: expected 1 (unigram), 2 (BPE), 3 (words) or 4 (characters), got 5"},
    {"\x1A\x02\x12\x01", 4, "normalizer_spec, byte 0 of 2: a field is longer than what is left"},
    {"\x1A\x03\x12\x01\x01", 5, "normalizer_spec: precompiled_charsmap: expected the size of a trie"},
    {"\x0A\x02\x18\x01", 4, "pieces[5]: expected a text, got an empty one"},
    {"\x0A\x05\x0A\x01"
     "c\x18\x07",
     7, "pieces[5]: expected a type from 1 to 6"},
    {"\x0A\x08\x0A\x01"
     "c\x15\x00\x00\x80\x7F",
     10, "pieces[5]: expected a score that is a number"},
    {"\x0A\x05\x0A\x01"
     "c\x15\x00",
     7, "pieces[5], byte 3 of 5: it ends within"},
    {"\x0A\x04\x0A\x02"
     "c\x80",
     6, "pieces[5]: expected a text of UTF-8"},
    {"\x0A\x04\x0A\x02"
     "c\x00",
     6, "pieces[5]: expected a text without zeros"},
    {"\x0A\x03\x0A\x01"
     "a",
     5, "pieces[5], \"a\": expected one piece of this text, got a second one"},
    {"\x0A\x05\x0A\x01"
     "c\x18\x02",
     7, "pieces[5], \"c\": expected one piece of type 2 (unknown)"},
    {"\x0A\x05\x0A\x01"
     "c\x18\x06",
     7, "pieces[5], \"c\": a piece of type 6 (byte) although byte_fallback is false"},
    {"\x12\x03\x98\x02\x01", 5, "byte_fallback: expected a piece <0x00> of type 6"},
    {"\x12\x05\xE2\x02\x02"
     "c\x80",
     7, "unk_surface: expected UTF-8 without zeros"},
};

static const addition unknown_fields[] = {
    {"\x30\x01", 2, "the model: expected fields of SentencePiece 0.2.3, got field 6"},
    {"\x12\x03\xC8\x03\x01", 5, "trainer_spec: expected fields of SentencePiece 0.2.3, got field 57"},
    {"\x1A\x02\x48\x01", 4, "normalizer_spec: expected fields of SentencePiece 0.2.3, got field 9"},
    {"\x2A\x02\x48\x01", 4, "denormalizer_spec: expected fields of SentencePiece 0.2.3, got field 9"},
    {"\x1A\x02\x38\x01", 4, "normalizer_spec: encode_case: expected false, got true"},
    {"\x1A\x04\x38\x00\x40\x01", 6, "normalizer_spec: decode_case: expected false, got true"},
    {"\x0A\x05\x0A\x01"
     "c\x20\x01",
     7, "pieces[5]: expected fields of SentencePiece 0.2.3, got field 4"},
};

static void refuse_additions(const addition row[], size_t n, rf_status status)
{
    static bytes b;
    for (size_t i = 0; i < n; i++) {
        b.n = 0;
        put_pieces(&b);
        append(&b, row[i].at, row[i].size);
        refused(&b, status, row[i].part);
    }
}

static void damaged_files(void **state)
{
    (void)state;
    refuse_additions(damaged, RF_COUNT(damaged), RF_EDATA);
}

static void fields_that_are_not_known(void **state)
{
    (void)state;
    refuse_additions(unknown_fields, RF_COUNT(unknown_fields), RF_EUNSUPPORTED);
}

static void models_without_pieces(void **state)
{
    (void)state;
    static bytes b;
    b.n = 0;
    refused(&b, RF_EDATA, "expected pieces, got none");
    put_piece(&b, "a", 1, 0, 1);
    refused(&b, RF_EDATA, "expected a piece of type 2 (unknown), got none");
    b.n = 0;
    put_piece(&b, "<unk>", 5, 0, 2);
    refused(&b, RF_EDATA, "expected pieces that text becomes, got none");
}

/* A piece of 150,000 letters; 65 user-defined symbols that are prefixes of each other. */
static void long_pieces(void **state)
{
    (void)state;
    static bytes b;
    static char name[150000];
    rf__spm *m;
    memset(name, 'c', sizeof name);
    b.n = 0;
    put_pieces(&b);
    put_piece(&b, name, sizeof name, -1, 1);
    refused(&b, RF_EDATA, "pieces[5]: expected a text of less than 8,000 bytes");
    for (size_t size = 7999; size <= 8000; size++) {
        b.n = 0;
        put_pieces(&b);
        put_piece(&b, name, size, -1, 1);
        if (size == 8000) {
            refused(&b, RF_EDATA, "pieces[5]: expected a text of less than 8,000 bytes");
            continue;
        }
        assert_int_equal(rf__spm_load(ctx, b.at, b.n, "x", &m, NULL), RF_OK);
        rf__spm_free(m);
    }
    for (size_t deep = 64; deep <= 65; deep++) {
        b.n = 0;
        put_pieces(&b);
        for (size_t i = 1; i <= deep; i++) put_piece(&b, name, i, 0, 4);
        if (deep == 65) {
            refused(&b, RF_EDATA, "expected at most 64 user-defined symbols that it begins with");
            continue;
        }
        assert_int_equal(rf__spm_load(ctx, b.at, b.n, "x", &m, NULL), RF_OK);
        rf__spm_free(m);
    }
}

static void charsmaps(void **state)
{
    (void)state;
    static bytes b;
    static const struct {
        int part;
        rf_status status;
        const char *message;
    } row[] = {
        {NO_TRIE, RF_EDATA, "expected the size of a trie (a multiple of 1024 bytes)"},
        {LONG_TRIE, RF_EDATA, "expected the size of a trie"},
        {ODD_TRIE, RF_EDATA, "expected the size of a trie"},
        {CUT, RF_EDATA, "expected the size of a trie"},
        {ROOT, RF_EDATA, "unit 0 of its trie is no root"},
        {FAR_OFFSET, RF_EDATA, "unit 5 of its trie: its offset lies outside the trie"},
        {NO_LEAF, RF_EDATA, "it has a value that is none"},
        {FAR_VALUE, RF_EDATA, "its value is not where a text begins"},
        {INSIDE, RF_EDATA, "its value is not where a text begins"},
        {NO_END, RF_EDATA, "its last text has no end"},
        {NOT_UTF8, RF_EDATA, "the text at byte 2 of its texts is not UTF-8"},
        {LONG_TEXT, RF_EUNSUPPORTED, "expected texts of at most 256 bytes, got one of 29"},
    };
    for (size_t i = 0; i < RF_COUNT(row); i++)
        for (unsigned spec = 3; spec <= 5; spec += 2) { /* normalizer, denormalizer */
            b.n = 0;
            put_pieces(&b);
            put_charsmap(&b, spec, row[i].part);
            refused(&b, row[i].status, row[i].message);
        }
    rf__spm *m;
    rf_error why = {0};
    pieces p = {0};
    b.n = 0;
    put_pieces(&b);
    put_charsmap(&b, 3, FINE);
    if (rf__spm_load(ctx, b.at, b.n, "x", &m, &why)) fail_msg("%s", why.text);
    rf__spm_work *w = rf__spm_work_new(ctx);
    assert_true(rf__spm_encode(m, w, "bA", 2, NULL, keep, &p));
    assert_int_equal(p.n, 4);
    assert_int_equal(p.id[3], 3);
    assert_int_equal(p.begin[2], 1);
    rf__spm_work_free(w);
    rf__spm_free(m);
}

/* Messages are merged, the last value of a field counts, and extension fields and self_test_data have no effect. */
static void as_protobuf_has_it(void **state)
{
    (void)state;
    static bytes b, spec;
    rf__spm *m;
    rf_error why = {0};
    pieces p = {0};
    b.n = 0;
    spec.n = 0;
    put_text(&b, 4, "\x1B]0;title\x07", 10);
    put_text(&b, 2, "\x18\x02\x18\x01", 4); /* BPE, unigram                                    */
    put_value(&spec, 3, 0);
    put_text(&b, 3, spec.at, spec.n);
    put_text(&b, 3, "\x20\x00", 2);
    put_text(&b, 250, "anything", 8);
    put_pieces(&b);
    put_text(&b, 1,
             "\x0A\x01z\x15\x00\x00\x00\x00\x0A\x02"
             "aa",
             12);                               /* z, then aa, of score 0                  */
    put_text(&b, 1, "\x0A\x01\x00\x18\x05", 5); /* the zero that some models have                  */
    if (rf__spm_load(ctx, b.at, b.n, "x", &m, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf__spm_kind_of(m), RF_SPM_UNIGRAM);
    assert_int_equal(rf__spm_size(m), 7);
    assert_int_equal(rf__spm_id(m, "aa"), 5);
    assert_int_equal(rf__spm_id(m, "z"), -1);
    assert_int_equal(rf__spm_id(m, ""), -1);
    rf__spm_work *w = rf__spm_work_new(ctx);
    assert_true(rf__spm_encode(m, w, "aa  b", 5, NULL, keep, &p));
    assert_int_equal(p.n, 4); /* no blank before it, both kept                   */
    assert_int_equal(p.id[0], 5);
    assert_int_equal(p.id[1], 2);
    assert_int_equal(p.id[2], 2);
    assert_int_equal(p.id[3], 4);
    rf__spm_work_free(w);
    rf__spm_free(m);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool count(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    (void)piece, (void)size, (void)id, (void)begin, (void)end;
    ++*(int *)user;
    return true;
}

static bool swallow(void *user, const char *data, size_t size)
{
    (void)user, (void)data, (void)size;
    return true;
}

static rf_status there_and_back(const rf_ctx *c, void *name, rf_error *why)
{
    static const rf__spm_sample samples[] = {{0, 0, 0}, {-1, 0.5f, 1}, {8, 0.5f, 1}};
    static const char text[] = "aaaa the rivers abab rise <sep>";
    static const int32_t ids[] = {5, 6, 7, 8, 9, 10};
    size_t size;
    int n = 0;
    rf__spm *m = NULL;
    char *data = read_whole(name, ".model", &size);
    rf_status status = rf__spm_load(c, data, size, name, &m, why);
    rf__free(ctx, data);
    rf__spm_work *w = status ? NULL : rf__spm_work_new(c);
    bool good = w != NULL;
    for (size_t i = 0; i < RF_COUNT(samples) && good; i++)
        good = rf__spm_encode(m, w, text, sizeof text - 1, &samples[i], count, &n);
    if (good) good = n > 10 && rf__spm_decode(m, ids, RF_COUNT(ids), swallow, NULL);
    rf__spm_work_free(w);
    rf__spm_free(m);
    return status ? status : good ? RF_OK : rf_fail(why, RF_ENOMEM, "no memory");
}

static void memory_that_ends(void **state)
{
    (void)state;
    static char *const names[] = {"users", "unused", "suffix", "char"};
    for (size_t i = 0; i < RF_COUNT(names); i++)
        assert_int_equal(t_fail_allocations(1, NULL, there_and_back, names[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_sentencepiece_has_it),
        cmocka_unit_test(folders_of_words_and_characters),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(fields_that_are_not_known),
        cmocka_unit_test(models_without_pieces),
        cmocka_unit_test(long_pieces),
        cmocka_unit_test(charsmaps),
        cmocka_unit_test(as_protobuf_has_it),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("text/spm", tests, setup, teardown);
}
