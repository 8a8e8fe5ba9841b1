/* Sub-words: ids, offsets and texts of Python's sentencepiece (tools/golden/golden_subwords.py) with its models; models
 * trained here, from folders, sampled; invalid models.  In a build without SentencePiece, training fails and names the
 * package to install. mirrors subwords.c, spm_learn_none.c, spm_child.c */
#include <sys/wait.h>

#include "one_context.h"
#include "round_trip.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/subwords/"

static char *read_whole(const char *path, size_t *size)
{
    char *data;
    rf_error why = {0};
    if (rf__read_file(ctx, path, 1 << 24, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

/* A folder with nothing but a model. */
static rf_tokenizer *of_model(const char *name)
{
    char path[256], *data;
    size_t size;
    const char *folder = t_folder();
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "%s.model", name);
    data = read_whole(path, &size);
    t_write(folder, "spiece.model", data, size);
    rf__free(ctx, data);
    assert_string_equal(rf_tokenizer_found(ctx, folder), "spiece.model");
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    return t;
}

static void encode(const rf_tokenizer *t, const char *text, int flags, rf_encoding *e)
{
    rf_error why = {0};
    if (rf_encode(t, text, strlen(text), NULL, 0, 0, flags, e, NULL, &why)) fail_msg("%s", why.text);
}

static void as_sentencepiece_has_it(void **state)
{
    (void)state;
    static const char *const model[] = {"unigram", "bpe", "bytes"};
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(model); m++) {
        char path[256], *data;
        size_t size, i;
        rf_error why = {0};
        snprintf(path, sizeof path, GOLDEN "%s.json", model[m]);
        data = read_whole(path, &size);
        json_t *all = rf__json_parse(data, size, 0, path, &why), *x;
        if (!all) fail_msg("%s", why.text);
        rf__free(ctx, data);
        rf_tokenizer *t = of_model(model[m]);
        assert_string_equal(rf_tokenizer_token(t, rf_tokenizer_unk(t)), "<unk>");
        assert_string_equal(rf_tokenizer_token(t, rf_tokenizer_cls(t)), "<s>");
        assert_true(json_array_size(json_object_get(all, "cases")) > 50);
        json_array_foreach(json_object_get(all, "cases"), i, x) {
            const char *text = json_string_value(json_object_get(x, "text"));
            const json_t *pieces = json_object_get(x, "pieces");
            encode(t, text, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &e);
            if (e.n != json_array_size(pieces)) fail_msg("%s %zu: %zu tokens", model[m], i, e.n);
            for (size_t k = 0; k < e.n; k++) {
                const json_t *p = json_array_get(pieces, k);
                if (e.id[k] != json_integer_value(json_array_get(p, 0)) ||
                    e.start[k] != json_integer_value(json_array_get(p, 1)) ||
                    e.end[k] != json_integer_value(json_array_get(p, 2)))
                    fail_msg("%s %zu: token %zu is %d, %u..%u", model[m], i, k, (int)e.id[k], e.start[k], e.end[k]);
                assert_int_equal(rf_tokenizer_id(t, rf_tokenizer_token(t, e.id[k])), e.id[k]);
            }
            char *back = rf_decode(t, e.id, e.n, 1, 0, NULL);
            const bool known = !memchr(e.id, 0, e.n * sizeof *e.id) || m == 2;
            if (known && strcmp(back, json_string_value(json_object_get(x, "decoded"))) != 0)
                fail_msg("%s %zu: decodes to %s", model[m], i, back);
            rf_text_free(t, back);
        }
        rf_tokenizer_free(t);
        json_decref(all);
    }
    rf_encoding_clear(&e);
}

static void refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "not a SentencePiece model", "\x0A\xFF\xFF\xFF\xFF\x0F", "\x12\x02\x18\x03"};
    rf_tokenizer *t = NULL;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer_train_options o;
    rf_error why = {0};
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = t_folder();
        why = (rf_error){0};
        t_write(folder, "spiece.model", bad[i], strlen(bad[i]));
        const rf_status status = rf_tokenizer_open(ctx, folder, &t, &why);
        if (status != RF_EDATA && status != RF_EUNSUPPORTED) fail_msg("case %zu: %d %s", i, (int)status, why.text);
        assert_non_null(strstr(why.text, "spiece.model"));
        assert_null(t);
    }
    rf_tokenizer_train_defaults(&o);
    o.coverage = 0;
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "bpe", &o, &trainer, NULL), RF_EARG);
    assert_int_equal(rf_tokenizer_type_uses("unigram"), RF_TRAIN_SUBWORDS);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_tokenizer_make(ctx, "bytes", &t, NULL), RF_OK);
    why = (rf_error){0};
    assert_int_equal(rf__encode_sample(t, "a", 1, NULL, 0, &e, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "encode: sampling: expected a tokenizer with several segmentations of a text");
    rf_tokenizer_free(t);
    rf_encoding_clear(&e);
}

static void memory_that_ends(void **state)
{
    (void)state;
    size_t size;
    char *data = read_whole(GOLDEN "bpe.model", &size);
    round_trip r = {.text = "the sea"};
    snprintf(r.folder, sizeof r.folder, "%s", t_folder());
    t_write(r.folder, "spiece.model", data, size);
    rf__free(ctx, data);
    assert_int_equal(t_fail_allocations(1, NULL, there_and_back, &r), 0);
}

#ifdef T_SENTENCEPIECE
static const char lines[] = "the rivers of the river rise\nthe sea and the rivers of the sea\n"
                            "a river rises in the sea of rivers\nthere and there the rivers rest\n";

static rf_tokenizer *learned(const char *type, int32_t tokens, int bytes)
{
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.tokens = tokens;
    o.coverage = 1;
    o.byte_fallback = bytes;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_trainer_new(ctx, type, &o, &trainer, &why)) fail_msg("%s", why.text);
    if (rf_tokenizer_trainer_feed(trainer, lines, sizeof lines - 1, &why)) fail_msg("%s", why.text);
    if (rf_tokenizer_trainer_finish(trainer, &t, &why)) fail_msg("%s", why.text);
    rf_tokenizer_trainer_free(trainer);
    return t;
}

static void learned_and_saved(void **state)
{
    (void)state;
    static const char *const type[] = {"unigram", "bpe"};
    for (int i = 0; i < 2; i++) {
        rf_tokenizer *t = learned(type[i], 40, 0), *same = learned(type[i], 40, 0), *again = NULL;
        rf_error why = {0};
        const char *folder = t_folder();
        assert_int_equal(rf__tokenizer_fingerprint(t, 1), rf__tokenizer_fingerprint(same, 1));
        assert_int_equal(rf_tokenizer_pad(t), 0);
        assert_int_equal(rf_tokenizer_unk(t), 1);
        assert_int_equal(rf_tokenizer_cls(t), 2);
        assert_int_equal(rf_tokenizer_sep(t), 3);
        assert_int_equal(rf_tokenizer_mask(t), 4);
        assert_true(rf_tokenizer_size(t) > 20 && rf_tokenizer_size(t) <= 40);
        if (rf_tokenizer_save(t, folder, &why)) fail_msg("%s", why.text);
        if (rf_tokenizer_open(ctx, folder, &again, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf__tokenizer_fingerprint(again, 1), rf__tokenizer_fingerprint(t, 1));
        char *about = rf_tokenizer_describe(again);
        assert_non_null(strstr(about, i ? "BPE" : "unigram"));
        rf_text_free(again, about);
        rf_encoding e;
        rf_encoding_init(&e, ctx);
        encode(again, "the [MASK] seariver", 0, &e);
        assert_int_equal(e.id[0], 2);
        assert_int_equal(e.id[e.n - 1], 3);
        char *all = rf_decode(again, e.id, e.n, 0, 0, NULL), *some = rf_decode(again, e.id, e.n, 1, 0, NULL);
        assert_string_equal(all, "[CLS] the[MASK] seariver[SEP]");
        assert_string_equal(some, "the seariver");
        bool begun = false, went_on = false;
        for (size_t k = 1; k + 1 < e.n; k++) {
            const char *token = rf_tokenizer_token(again, e.id[k]);
            if (e.id[k] == 4) continue;
            const bool begins = !strncmp(token, "\xE2\x96\x81", 3);
            assert_int_equal(rf_tokenizer_continues(again, e.id[k]), !begins);
            begun |= begins;
            went_on |= !begins;
        }
        assert_true(begun && went_on);
        rf_text_free(again, all);
        rf_text_free(again, some);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        rf_tokenizer_free(same);
        rf_tokenizer_free(again);
    }
}

/* The same seed gives the same tokens, in any order; other seeds give others; all of them decode to the text. */
static void sampled(void **state)
{
    (void)state;
    static const char text[] = "the rivers of the sea and the river rises there";
    for (int type = 0; type < 2; type++) {
        rf_tokenizer *t = learned(type ? "bpe" : "unigram", 40, 0);
        rf_encoding e[2], best;
        rf_sample_options o;
        int others = 0;
        rf_encoding_init(&e[0], ctx);
        rf_encoding_init(&e[1], ctx);
        rf_encoding_init(&best, ctx);
        encode(t, text, RF_ENCODE_PLAIN, &best);
        rf_sample_defaults(&o);
        o.alpha = type ? 0.3f : 0.2f;
        for (int seed = 0; seed < 20; seed++) {
            for (int again = 0; again < 2; again++) {
                rf_error why = {0};
                o.seed = (uint64_t)seed;
                if (rf__encode_sample(t, text, sizeof text - 1, &o, RF_ENCODE_PLAIN, &e[again], &why))
                    fail_msg("%s", why.text);
                o.seed = 99;
                if (!again) assert_int_equal(rf__encode_sample(t, text, 9, &o, RF_ENCODE_PLAIN, &e[1], NULL), RF_OK);
            }
            assert_int_equal(e[0].n, e[1].n);
            assert_memory_equal(e[0].id, e[1].id, e[0].n * sizeof *e[0].id);
            assert_memory_equal(e[0].end, e[1].end, e[0].n * sizeof *e[0].end);
            others += e[0].n != best.n || memcmp(e[0].id, best.id, best.n * sizeof *best.id) != 0;
            char *back = rf_decode(t, e[0].id, e[0].n, 0, 0, NULL);
            assert_string_equal(back, text);
            rf_text_free(t, back);
        }
        assert_true(others > 10);
        o.nbest = 3;
        o.alpha = 0;
        assert_int_equal(rf__encode_sample(t, text, sizeof text - 1, &o, RF_ENCODE_PLAIN, &e[0], NULL), RF_OK);
        assert_memory_equal(e[0].id, best.id, best.n * sizeof *best.id);
        o.nbest = 0;
        assert_int_equal(rf__encode_sample(t, text, sizeof text - 1, &o, RF_ENCODE_PLAIN, &e[0], NULL), RF_EARG);
        rf_encoding_clear(&e[0]);
        rf_encoding_clear(&e[1]);
        rf_encoding_clear(&best);
        rf_tokenizer_free(t);
    }
}

/* With bytes nothing is unknown, and the bytes of a character decode to it. */
static void bytes_for_unknown_characters(void **state)
{
    (void)state;
    static const char text[] = "the \xE6\xBC\xA2\xF0\x9F\x98\x80 sea";
    rf_tokenizer *t = learned("unigram", 300, 1);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    encode(t, text, RF_ENCODE_PLAIN, &e);
    for (size_t i = 0; i < e.n; i++) {
        assert_int_not_equal(e.id[i], rf_tokenizer_unk(t));
        assert_true(((unsigned char)text[e.start[i]] & 0xC0) != 0x80 && e.end[i] <= sizeof text - 1);
        assert_true(((unsigned char)text[e.end[i]] & 0xC0) != 0x80);
    }
    char *back = rf_decode(t, e.id, e.n, 0, 0, NULL);
    assert_string_equal(back, text);
    rf_text_free(t, back);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

static void too_little_text_to_learn_from(void **state)
{
    (void)state;
    rf_tokenizer *t = NULL;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer_train_options o;
    rf_error why = {0};
    rf_tokenizer_train_defaults(&o);
    o.tokens = 10;
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "bpe", &o, &trainer, NULL), RF_OK);
    why = (rf_error){0};
    assert_int_equal(rf_tokenizer_trainer_finish(trainer, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "there is no text");
    why = (rf_error){0};
    assert_int_equal(rf_tokenizer_trainer_feed(trainer, lines, sizeof lines - 1, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_finish(trainer, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "Vocabulary size is smaller");
    rf_tokenizer_trainer_free(trainer);
}

/* Texts that made SentencePiece crash, end its process or take minutes: a status and a message, or a tokenizer, soon;
 * this process continues, has no child left and wrote none of its output twice. */
static void hostile_texts_are_a_status(void **state)
{
    (void)state;
    static const struct { const char *type, *unit; size_t times; rf_status status; int split; } row[] = {
        {"bpe", "a", 40000, RF_OK, 1},
        {"bpe", "\xE6\xBC\xA2\xE5\xAD\x97", 35000, RF_OK, 1},
        {"unigram", "\xE2\x96\x81", 2, RF_EDATA, 0},
        {"unigram", "\x01\x02", 3, RF_EDATA, 0},
        {"unigram", "ab", 200000, RF_OK, 1},
        {"unigram", "ab cd ", 2000, RF_OK, 1},
    };
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        rf_tokenizer_trainer *trainer = NULL;
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        const size_t unit = strlen(row[i].unit), size = unit * row[i].times;
        char *text = rf__alloc(ctx, size);
        assert_non_null(text);
        for (size_t k = 0; k < size; k++) text[k] = row[i].unit[k % unit];
        assert_int_equal(rf_tokenizer_trainer_new(ctx, row[i].type, NULL, &trainer, NULL), RF_OK);
        assert_int_equal(rf_tokenizer_trainer_feed(trainer, text, size, NULL), RF_OK);
        const rf_status status = rf_tokenizer_trainer_finish(trainer, &t, &why);
        if (status != row[i].status) fail_msg("row %zu: %d, %s", i, (int)status, why.text);
        if (status) t_failed(&why, RF_EDATA, "SentencePiece");
        assert_int_equal(rf_tokenizer_trainer_split_lines(trainer), row[i].split);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        rf_tokenizer_trainer_free(trainer);
        rf_tokenizer_free(t);
        rf__free(ctx, text);
    }
}
#else
static void says_what_to_install(void **state)
{
    (void)state;
    rf_tokenizer *t = NULL;
    rf_tokenizer_trainer *trainer = NULL;
    rf_error why = {0};
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "unigram", NULL, &trainer, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_feed(trainer, "a b", 3, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_finish(trainer, &t, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "libsentencepiece-dev");
    rf_tokenizer_trainer_free(trainer);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_sentencepiece_has_it),
        cmocka_unit_test(refused),
        cmocka_unit_test(memory_that_ends),
#ifdef T_SENTENCEPIECE
        cmocka_unit_test(learned_and_saved),
        cmocka_unit_test(sampled),
        cmocka_unit_test(bytes_for_unknown_characters),
        cmocka_unit_test(too_little_text_to_learn_from),
        cmocka_unit_test(hostile_texts_are_a_status),
#else
        cmocka_unit_test(says_what_to_install),
#endif
    };
    return cmocka_run_group_tests_name("text/subwords", tests, setup, teardown);
}
