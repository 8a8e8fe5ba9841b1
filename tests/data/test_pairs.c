/* test_pairs.c — mirrors src/data/pairs.c: parallel text as ids, dropped and rejected pairs, batches of two sides. */
#define _GNU_SOURCE
#include "t.h"

#include "base/json.h"
#include "data/pairs.h"
#include "text/tokenizer.h"

static const char *written(const char *name, const char *text)
{
    static char path[8][512];
    static int next;
    char *to = path[next++ % 8];
    snprintf(to, sizeof path[0], "%s/%s", t_folder(), name);
    FILE *f = fopen(to, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f)) fail_msg("%s", to);
    return to;
}

static rf_tokenizer *bytes(const rf_ctx *ctx)
{
    rf_tokenizer *t;
    rf_error why = {0};
    if (rf_tokenizer_make(ctx, "bytes", &t, &why)) fail_msg("%s", why.text);
    return t;
}

static rf_status read(const rf_ctx *ctx, const rf_tokenizer *t, const char *source, const char *target,
                      const rf__pair_limits *limits, rf__pairs *out, rf_error *why)
{
    const char *const path[] = {written("text.de", source), written("text.en", target)};
    const rf__pair_files files = {{&path[0], &path[1]}, 1};
    return rf__pairs_read(ctx, t, &files, limits, NULL, NULL, out, why);
}

/* The text of a side of pair i is that of the line that it comes from. */
static void side_is(const rf_tokenizer *t, const rf__pairs *p, int side, size_t i, const char *text)
{
    char *got = rf_decode(t, p->id[side] + p->start[side][i], rf__pair_length(p, side, i), 0, 0, NULL);
    assert_string_equal(got, text);
    rf_text_free(t, got);
}

static rf__pair_marks marked(int32_t begin, int32_t end)
{
    rf__pair_marks m = {.begin = begin};
    for (int s = 0; s < RF__SIDES; s++) m.side[s].id[1][m.side[s].n[1]++] = end;
    return m;
}

static void lines_are_pairs(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p, same;
    rf_error why = {0};
    const rf__pair_limits none = {0};
    if (read(ctx, t, "ein Hund\nzwei [SEP]\r\nß", "a dog\ntwo\nss\n", &none, &p, &why)) fail_msg("%s", why.text);
    assert_int_equal(p.n, 3);
    side_is(t, &p, 0, 0, "ein Hund");
    side_is(t, &p, 1, 0, "a dog");
    side_is(t, &p, 0, 1, "zwei [SEP]");                  /* of a text, not a token that separates */
    assert_int_equal(rf__pair_length(&p, 0, 1), 10);
    side_is(t, &p, 0, 2, "ß");
    side_is(t, &p, 1, 2, "ss");
    if (read(ctx, t, "ein Hund\nzwei [SEP]\nß\n", "a dog\ntwo\nss", &none, &same, &why)) fail_msg("%s", why.text);
    assert_true(same.hash == p.hash);
    rf__pairs_free(ctx, &same);
    if (read(ctx, t, "ein Hund\nzwei [SEP]\nß\n", "a dog\ntwos\ns", &none, &same, &why)) fail_msg("%s", why.text);
    assert_true(same.hash != p.hash);
    rf__pairs_free(ctx, &same);
    if (read(ctx, t, "\xEF\xBB\xBF" "ein Hund\nzwei [SEP]\nß\n", "\xEF\xBB\xBF" "a dog\r\ntwo\r\nss\r\n", &none,
             &same, &why))
        fail_msg("%s", why.text);
    assert_true(same.hash == p.hash);                    /* a byte-order mark is no word */
    rf__pairs_free(ctx, &same);
    assert_int_equal(read(ctx, t, "ein Hund\rzwei\r", "a dog\n", &none, &same, &why), RF_EDATA);
    assert_non_null(strstr(why.text, "text.de: line ends: expected LF or CRLF, got CR alone"));
    why = (rf_error){0};
    assert_int_equal(read(ctx, t, "ein Hund\n", "a dog\rtwo", &none, &same, &why), RF_EDATA);
    assert_non_null(strstr(why.text, "text.en: line ends: expected LF or CRLF, got CR alone"));
    rf__pairs_free(ctx, &p);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p;
    rf_error why = {0};
    char text[256];
    const rf__pair_limits limits = {{8, 6}, 3, {false}};
    const char *const name[] = {"a/text.de"};
    const rf__pair_files named = {{name, name}, 1};
    if (read(ctx, t, "abc\n\nabcdefghi\nabcdefgh\na\nabc\n\n", "abc\nabc\nabc\nabcdefg\nabcd\n\n\n", &limits, &p, &why))
        fail_msg("%s", why.text);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.dropped[RF__DROP_EMPTY].n, 3);
    assert_int_equal(p.dropped[RF__DROP_LONG].n, 2);
    assert_int_equal(p.dropped[RF__DROP_RATIO].n, 1);
    assert_string_equal(rf__pairs_dropped(&p, &named, text, sizeof text),
                        "3 have an empty side (lines 2 6 7); 2 are longer than the limit (lines 3 4); 1 have sides of "
                        "too different lengths (lines 5)");
    assert_true(strlen(rf__pairs_dropped(&p, &named, text, 12)) < 12);
    rf__pairs_free(ctx, &p);
    assert_int_equal(read(ctx, t, "a\n", "abcd\n", &limits, &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected a pair of texts, got none: 1 have sides of too different lengths (lines 1)");
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

static void what_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p;
    const rf__pair_limits none = {0};
    static const struct { const char *source, *target, *part; } cases[] = {
        {"a\nb\nc\n", "a\nb\n", "parallel text: expected the same number of lines, got 3 in"},
        {"a\nb\n", "a\nb\nc\nd", "parallel text: expected the same number of lines, got 2 in"},
        {"a\nb\n", "a\nb\n\n", "parallel text: expected the same number of lines, got 2 in"},
        {"", "", "expected a pair of texts, got none"},
        {"a\nb\xff\n", "a\nb\n", "text.de:2: "},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why = {0};
        assert_int_equal(read(ctx, t, cases[i].source, cases[i].target, &none, &p, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, cases[i].part);
        assert_null(p.id[0]);
    }
    rf_error why = {0};
    const char *const path[] = {"/nowhere/de", "/nowhere/en"};
    const rf__pair_files files = {{&path[0], &path[1]}, 1};
    assert_int_equal(rf__pairs_read(ctx, t, &files, &none, NULL, NULL, &p, &why), RF_EIO);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

/* Files of a side form one text, each as long as its counterpart; lines are counted in each; the caller may stop. */
static int give_up(void *user, size_t pairs)
{
    *(size_t *)user = pairs;
    return 1;
}

static void several_files(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p, same;
    rf_error why = {0};
    char text[256], *listed = NULL;
    size_t size, told = 0;
    const rf__pair_limits none = {0};
    const char *const source[] = {written("one.de", "a\nb\n"), written("two.de", "c\n\n")},
                      *const target[] = {written("one.en", "A\nB\n"), written("two.en", "C\nD\n")};
    const rf__pair_files files = {{source, target}, 2};
    if (rf__pairs_read(ctx, t, &files, &none, NULL, NULL, &p, &why)) fail_msg("%s", why.text);
    if (read(ctx, t, "a\nb\nc\n", "A\nB\nC\n", &none, &same, &why)) fail_msg("%s", why.text);
    assert_int_equal(p.n, 3);
    assert_true(p.hash == same.hash);
    assert_string_equal(rf__pairs_dropped(&p, &files, text, sizeof text), "1 have an empty side (lines two.de:2)");
    FILE *f = open_memstream(&listed, &size);
    assert_true(rf__pairs_list_dropped(&p, &files, f));
    fclose(f);
    snprintf(text, sizeof text, "%s\t2\tempty\t0\t1\n", source[1]);
    assert_string_equal(listed, text);
    free(listed);
    rf__pairs_free(ctx, &same);
    rf__pairs_free(ctx, &p);
    enum { MANY = 5000 };
    static char many[2 * MANY + 1];
    for (int i = 0; i < MANY; i++) memcpy(many + 2 * i, "a\n", 3);
    const char *const long_source[] = {written("long.de", many)}, *const long_target[] = {written("long.en", many)};
    const rf__pair_files large = {{long_source, long_target}, 1};
    assert_int_equal(rf__pairs_read(ctx, t, &large, &none, give_up, &told, &p, &why), RF_ESTOPPED);
    assert_true(told > 0 && told < MANY);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

static rf_status append(void *user, const char *text, size_t size, rf_error *why)
{
    char *to = user;
    if (size == 4) return rf_fail(why, RF_EDATA, "no");
    strncat(to, text, size);
    strcat(to, "|");
    return RF_OK;
}

static void every_line(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    char all[64] = "";
    rf_error why = {0};
    const char *const source[] = {written("one.de", "a\n\nb"), written("two.de", "c\n")},
                      *const target[] = {written("one.en", "A\r\n\nB\n"), written("two.en", "four\n")};
    const rf__pair_files files = {{source, target}, 1}, both = {{source, target}, 2};
    assert_int_equal(rf__pairs_lines(ctx, &files, append, all, &why), RF_OK);
    assert_string_equal(all, "a||b|A||B|");
    assert_int_equal(rf__pairs_lines(ctx, &both, append, all, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "two.en:1: no");
    why = (rf_error){0};
    const char *const fewer[] = {source[1]};
    const rf__pair_files differ = {{source, fewer}, 1};
    assert_int_equal(rf__pairs_lines(ctx, &differ, append, all, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "parallel text: expected the same number of lines, got 3 in");
    rf_ctx_free(ctx);
}

/* Marian's folders have a model for each side. */
static void copy_model(const rf_ctx *ctx, const char *folder, const char *from, const char *to)
{
    char *data;
    size_t size;
    rf_error why = {0};
    if (rf__read_file(ctx, from, 1 << 24, &data, &size, &why)) fail_msg("%s", why.text);
    t_write(folder, to, data, size);
    rf__free(ctx, data);
}

static void each_side_has_its_sub_words(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder = t_folder();
    char *data;
    size_t size;
    rf_tokenizer *t;
    rf__pairs p;
    rf_encoding e;
    rf_error why = {0};
    const rf__pair_limits none = {0};
    static const char golden[] = "tests/golden/subwords/marian.json", text[] = "Call me Ishmael.";
    if (rf__read_file(ctx, golden, 1 << 24, &data, &size, &why)) fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, 0, golden, &why), *map = json_object(), *piece;
    size_t i;
    json_array_foreach(json_object_get(all, "vocab"), i, piece)
        json_object_set_new(map, json_string_value(piece), json_integer((json_int_t)i));
    char *vocabulary = json_dumps(map, 0);
    t_write(folder, "vocab.json", vocabulary, strlen(vocabulary));
    copy_model(ctx, folder, "tests/golden/subwords/unigram.model", "source.spm");
    copy_model(ctx, folder, "tests/golden/subwords/bpe.model", "target.spm");
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    if (read(ctx, t, text, text, &none, &p, &why)) fail_msg("%s", why.text);
    for (int s = 0; s < RF__SIDES; s++) {
        rf_encoding_init(&e, ctx);
        if (rf_encode(s ? rf__tokenizer_target(t) : t, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(e.n, rf__pair_length(&p, s, 0));
        assert_memory_equal(e.id, p.id[s], e.n * sizeof *e.id);
        rf_encoding_clear(&e);
    }
    assert_true(rf__pair_length(&p, 0, 0) != rf__pair_length(&p, 1, 0) ||
                memcmp(p.id[0], p.id[1], rf__pair_length(&p, 0, 0) * sizeof *p.id[0]));
    rf__pairs_free(ctx, &p);
    rf_tokenizer_free(t);
    free(vocabulary);
    json_decref(map);
    json_decref(all);
    rf__free(ctx, data);
    rf_ctx_free(ctx);
}

/* Lines longer than one read, and as many of them. */
static void long_lines(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p;
    rf_error why = {0};
    const rf__pair_limits none = {0};
    enum { LINES = 40, LONG = 5000 };
    static char text[LINES * (LONG + 1) + 1];
    for (int i = 0; i < LINES; i++) {
        memset(text + i * (LONG + 1), 'a' + i % 26, LONG);
        text[i * (LONG + 1) + LONG] = '\n';
    }
    if (read(ctx, t, text, text, &none, &p, &why)) fail_msg("%s", why.text);
    assert_int_equal(p.n, LINES);
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(rf__pair_length(&p, 0, i), LONG);
        assert_memory_equal(p.id[0] + p.start[0][i], p.id[1] + p.start[1][i], LONG * sizeof(int32_t));
    }
    rf__pairs_free(ctx, &p);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

/* Any allocation may fail: nothing leaks. */
static rf_status read_three(const rf_ctx *ctx, void *arg, rf_error *why)
{
    (void)arg;
    const rf__pair_limits none = {0};
    rf_tokenizer *t = NULL;
    rf__pairs p = {0};
    rf__pair_batch b;
    rf_status status = rf_tokenizer_make(ctx, "bytes", &t, why);
    if (!status) status = read(ctx, t, "a\nb\nc\n", "a\nb\nc\n", &none, &p, why);
    if (!status) {
        status = rf__pair_batch_new(ctx, 64, &b, why);
        if (!status) rf__pair_batch_free(ctx, &b);
        rf__pairs_free(ctx, &p);
    }
    rf_tokenizer_free(t);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, read_three, NULL), 0);
}

/* Every pair once per epoch, complete, with its special tokens, in a different order each time; a batch stays within
 * its tokens and leaves out no pair that would fit; and the position alone determines what follows. */
static void batches(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_tokenizer *t = bytes(ctx);
    rf__pairs p;
    rf__pair_batch b, again;
    rf_error why = {0};
    const rf__pair_limits none = {0};
    enum { PAIRS = 97, CAPACITY = 90 };
    char source[PAIRS * 32], target[PAIRS * 32];
    size_t m = 0, n = 0;
    for (int i = 0; i < PAIRS; i++) {
        m += (size_t)sprintf(source + m, "%0*d\n", 3 + i % 17, i);
        n += (size_t)sprintf(target + n, "%0*d\n", 2 + i % 5, i);
    }
    if (read(ctx, t, source, target, &none, &p, &why) || rf__pair_batch_new(ctx, CAPACITY, &b, &why) ||
        rf__pair_batch_new(ctx, CAPACITY, &again, &why))
        fail_msg("%s", why.text);
    const rf__pair_marks marks = marked(1, 2);
    const rf_key order = rf__make_key(3, 0x6f726472);
    rf__pair_position at = {0};
    int first[2] = {-1, -1};
    for (int epoch = 0; epoch < 2; epoch++) {
        int seen[PAIRS] = {0}, batches = 0;
        while (at.epoch == epoch) {
            rf__pair_position same = at;
            rf__pairs_pack(&p, order, &marks, NULL, &at, &b);
            rf__pairs_pack(&p, order, &marks, NULL, &same, &again);
            assert_memory_equal(&same, &at, sizeof at);
            assert_true(b.B > 0 && b.N[0] + b.N[1] <= CAPACITY);
            assert_true(at.epoch > epoch || b.N[0] + b.N[1] + 20 + 7 > CAPACITY);
            batches++;
            for (int s = 0; s < RF__SIDES; s++) {
                const rf_batch view = rf__pair_batch_side(&b, s);
                assert_int_equal(view.start[0], 0);
                assert_int_equal(view.start[view.B], view.N);
                assert_memory_equal(b.id[s], again.id[s], (size_t)b.N[s] * sizeof(int32_t));
            }
            for (int64_t i = 0; i < b.B; i++) {
                const int32_t *from = b.id[0] + b.start[0][i], *to = b.id[1] + b.start[1][i];
                const int32_t *label = b.label + b.start[1][i];
                const int S = b.start[0][i + 1] - b.start[0][i], T = b.start[1][i + 1] - b.start[1][i];
                assert_int_equal(from[S - 1], 2);
                assert_int_equal(to[0], 1);
                assert_int_equal(label[T - 1], 2);
                assert_memory_equal(to + 1, label, (size_t)(T - 1) * sizeof *to);
                char *text[2] = {rf_decode(t, from, (size_t)S - 1, 0, 0, NULL),
                                 rf_decode(t, label, (size_t)T - 1, 0, 0, NULL)};
                const int which = atoi(text[0]);
                assert_int_equal(which, atoi(text[1]));
                assert_int_equal(S - 1, rf__pair_length(&p, 0, (size_t)which));
                if (first[epoch] < 0) first[epoch] = which;
                seen[which]++;
                for (int s = 0; s < 2; s++) rf_text_free(t, text[s]);
            }
        }
        assert_true(batches > 10);
        for (int i = 0; i < PAIRS; i++) assert_int_equal(seen[i], 1);
    }
    assert_int_not_equal(first[0], first[1]);
    rf__pair_batch_free(ctx, &b);
    rf__pair_batch_free(ctx, &again);
    rf__pairs_free(ctx, &p);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

/* ---- sub-words that are drawn ---- */

enum { DRAWN = 40, MOST = 12 };

static rf_tokenizer *sub_words(const rf_ctx *ctx, const char *text)
{
    rf_tokenizer_trainer *trainer;
    rf_tokenizer_train_options o;
    rf_tokenizer *t;
    rf_error why = {0};
    rf_tokenizer_train_defaults(&o);
    o.tokens = 60;
    const rf_status status = rf_tokenizer_trainer_new(ctx, "bpe", &o, &trainer, &why);
    if (status == RF_EUNSUPPORTED) skip();
    if (status || rf_tokenizer_trainer_feed(trainer, text, strlen(text), &why) ||
        rf_tokenizer_trainer_finish(trainer, &t, &why))
        fail_msg("%s", why.text);
    rf_tokenizer_trainer_free(trainer);
    return t;
}

/* All samples decode to the text and are within the limit of a side; another epoch has other samples; a batch is a
 * function of its position. */
static void sub_words_are_drawn(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const char *const word[] = {"walking", "talking", "singing", "the", "kitchen", "garden"};
    char source[DRAWN * 64], target[DRAWN * 64];
    size_t m = 0, n = 0;
    for (int i = 0; i < DRAWN; i++) {
        m += (size_t)sprintf(source + m, "%s %s\n", word[i % 6], word[i / 6 % 6]);
        n += (size_t)sprintf(target + n, "%s\n", word[(i + 2) % 6]);
    }
    rf_tokenizer *t = sub_words(ctx, source);
    const rf__pair_limits texts = {.text = {true, true}};
    rf__pairs p;
    rf__pair_batch b, again;
    rf__pair_sampling x;
    rf_error why = {0};
    if (read(ctx, t, source, target, &texts, &p, &why) || rf__pair_batch_new(ctx, 64, &b, &why) ||
        rf__pair_batch_new(ctx, 64, &again, &why))
        fail_msg("%s", why.text);
    rf__pair_sampling_init(&x, ctx);
    x.tokenizer = t, x.alpha = 0.4, x.seed = 5, x.most = MOST;
    const rf__pair_marks marks = marked(2, 3);
    const rf_key order = rf__make_key(3, 0x6f726472);
    rf__pair_position at = {0};
    uint64_t seen[2] = {0, 0};
    int pairs = 0, longer = 0;
    while (at.epoch < 2) {
        rf__pair_position same = at;
        const int64_t epoch = at.epoch, index = at.index;
        rf__pairs_pack(&p, order, &marks, &x, &at, &b);
        rf__pairs_pack(&p, order, &marks, &x, &same, &again);
        assert_memory_equal(&same, &at, sizeof at);
        assert_int_equal(b.N[0], again.N[0]);
        assert_memory_equal(b.id[0], again.id[0], (size_t)b.N[0] * sizeof(int32_t));
        seen[epoch] = rf__hash64(b.id[0], (size_t)b.N[0] * sizeof(int32_t), seen[epoch]);
        for (int64_t i = 0; i < b.B; i++, pairs++) {
            const size_t which = (size_t)rf__shuffled((uint64_t)(index + i), p.n, order, (uint64_t)epoch);
            const int32_t *id = b.id[0] + b.start[0][i];
            const size_t S = (size_t)(b.start[0][i + 1] - b.start[0][i] - 1);
            char *text = rf_decode(t, id, S, 0, 0, NULL);
            assert_string_equal(text, p.text[0] + p.line[0][which]);
            rf_text_free(t, text);
            assert_true(S <= MOST || S == rf__pair_length(&p, 0, which));
            longer += S > rf__pair_length(&p, 0, which);
        }
    }
    assert_int_equal(pairs, 2 * DRAWN);
    assert_true(longer > DRAWN / 2);
    assert_true(seen[0] != seen[1]);
    assert_true(rf__pairs_drawn(&p, &x) > 1.05);
    assert_int_equal(x.why.code, RF_OK);
    rf__pair_sampling_clear(&x);
    rf__pair_batch_free(ctx, &b);
    rf__pair_batch_free(ctx, &again);
    rf__pairs_free(ctx, &p);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_pairs), cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(several_files),
        cmocka_unit_test(every_line),      cmocka_unit_test(long_lines),
        cmocka_unit_test(each_side_has_its_sub_words),
        cmocka_unit_test(memory_that_ends), cmocka_unit_test(batches), cmocka_unit_test(sub_words_are_drawn),
    };
    return cmocka_run_group_tests_name("data/pairs", tests, NULL, NULL);
}
