/* Pieces, offsets, samples and texts are those of SentencePiece's C++ library, bit for bit, including ties: for models
 * that it trained with many settings, for these with other types and scores, for the files of tests/golden and those
 * under T_SPM_MODELS; on texts of words, blanks, symbols and random characters, and on lines of T_SPM_TEXT. mirrors
 * spm_encode.c, spm_bpe.c, spm_sample.c, spm_decode.c, spm_normalizer.c, spm_learn_none.c */
#include <dirent.h>

#include "roformer/tokenizer.h"
#include "base/protobuf.h"
#include "text/subword/spm_model.h"

#include "one_context.h"

#ifdef T_SENTENCEPIECE
#include "spm_library.h"

enum { MOST = 4096, LONGEST = 1 << 16 };

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static const char corpus[] =
    "the rivers of the river rise\nthe sea and the rivers of the sea\na river rises in the sea of rivers\n"
    "Call me Ishmael. Some years ago, never mind how long precisely, I thought I would sail about a little\n"
    "Die Gro\xC3\x9Fmutter wohnte drau\xC3\x9F"
    "en im Wald, eine halbe Stunde vom Dorf\n"
    "\xE9\x81\x93\xE5\x8F\xAF\xE9\x81\x93\xEF\xBC\x8C\xE9\x9D\x9E\xE5\xB8\xB8\xE9\x81\x93"
    "\xE3\x80\x82\xE5\x90\x8D\xE5\x8F\xAF\xE5\x90\x8D\n"
    "there and there the rivers rest, 12 34 1234 of 1000\naaaaaaaaaa aaaa aa a\nababababab abab ab\n"
    "\xEF\xBC\xA1\xEF\xBC\xA2\xEF\xBC\xA3 \xE2\x91\xA0 \xEF\xB7\xBA fi\xEF\xAC\x81ne caf\x65\xCC\x81 caf\xC3\xA9\n"
    "xx yy zz XX YY ZZ <s> </s> <unk> [MASK] <sep> <cls> ab<sep>cd\n";

static const char *const bits[] = {
    "the ",
    "river",
    "rivers ",
    "sea",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\xE2\x96\x81",
    "\xE2\x96\x81\xE2\x96\x81",
    "a",
    "aa",
    "ab",
    "12",
    "1000",
    "<sep>",
    "<cls>",
    "<s>",
    "</s>",
    "<unk>",
    "[MASK]",
    "<0x41>",
    "\xE3\x80\x80",
    "\xC2\xA0",
    "\xEF\xBC\xA1",
    "\xE2\x91\xA0",
    "\xEF\xB7\xBA",
    "\xEF\xAC\x81",
    "e\xCC\x81",
    "\xC3\xA9",
    "\xCC\x81",
    "\xE9\x81\x93",
    "\xE5\x8F\xAF",
    "\xF0\x9F\x98\x80",
    "\x01",
    "\xE2\x80\x8B",
    "\xEF\xBF\xBD",
    "\xEA\xB0\x81",
    "\xE1\x84\x80\xE1\x85\xA1",
    "Ishmael",
    "Gro\xC3\x9Fmutter",
    "XX",
    "xyz",
    ".",
    ", ",
};

static size_t make_text(rf_rng *random, char *to)
{
    size_t n = 0;
    for (uint32_t left = 1 + rf_rng_below(random, 40); left; left--) {
        if (!rf_rng_below(random, 8)) {
            uint32_t c = rf_rng_below(random, 3) ? 0x20 + rf_rng_below(random, 0x3000) : rf_rng_below(random, 0x110000);
            if (c >= 0xD800 && c < 0xE000) c -= 0x800;
            n += t_put_scalar(c, to + n);
        } else {
            const char *one = bits[rf_rng_below(random, RF_COUNT(bits))];
            memcpy(to + n, one, strlen(one));
            n += strlen(one);
        }
    }
    to[n] = 0;
    return n;
}

/* ---- one model --------------------------------------------------------------------------------------------------- */

typedef struct pieces {
    size_t n;
    int32_t id[MOST];
    uint32_t begin[MOST], end[MOST];
    char text[LONGEST];
    size_t size;
} pieces;

static void keep(pieces *p, const char *piece, size_t size, int32_t id, uint32_t begin, uint32_t end)
{
    if (p->n == MOST || p->size + size + 1 > LONGEST) fail_msg("more than %d pieces", MOST);
    p->id[p->n] = id;
    p->begin[p->n] = begin;
    p->end[p->n++] = end;
    memcpy(p->text + p->size, piece, size);
    p->text[p->size + size] = 0;
    p->size += size + 1;
}

static bool keep_own(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    keep(user, piece, size, id, (uint32_t)begin, (uint32_t)end);
    return true;
}

static void keep_library(void *user, const char *piece, int32_t id, uint32_t begin, uint32_t end)
{
    keep(user, piece, strlen(piece), id, begin, end);
}

static pieces own, theirs;

static void same(const char *model, const char *text, const char *how)
{
    bool good = own.n == theirs.n && own.size == theirs.size && !memcmp(own.text, theirs.text, own.size);
    for (size_t i = 0; i < own.n && good; i++)
        good = own.id[i] == theirs.id[i] && own.begin[i] == theirs.begin[i] && own.end[i] == theirs.end[i];
    if (good) return;
    for (size_t i = 0; i < own.n || i < theirs.n; i++)
        fprintf(stderr, "%zu: %d %u..%u   library %d %u..%u\n", i, i < own.n ? (int)own.id[i] : -1, own.begin[i],
                own.end[i], i < theirs.n ? (int)theirs.id[i] : -1, theirs.begin[i], theirs.end[i]);
    fail_msg("%s, %s: other pieces of \"%s\"", model, how, text);
}

static bool take(void *user, const char *data, size_t size)
{
    pieces *p = user;
    if (size >= LONGEST) fail_msg("a text of %zu bytes", size);
    memcpy(p->text, data, size);
    p->text[p->size = size] = 0;
    return true;
}

static void same_text(const char *model, char *library_text, size_t size)
{
    if (own.size != size || memcmp(own.text, library_text, size) != 0)
        fail_msg("%s: decodes to \"%s\", the library says \"%s\"", model, own.text, library_text);
    free(library_text);
}

/* Texts of pieces, of random ids, and of names from other models. */
static void same_decoded(const char *model, const rf__spm *m, const library *l, rf_rng *random)
{
    static const char *const foreign[] = {"\xE2\x96\x81", "\xE2\x96\x81quux", "nothing", "\xE2\x96\x81the", "<s>",
                                          "<0x41>"};
    int32_t id[64];
    const char *name[64];
    size_t size;
    const size_t n = rf_rng_below(random, 64);
    for (size_t i = 0; i < n; i++) {
        id[i] = (int32_t)rf_rng_below(random, (uint32_t)rf__spm_size(m));
        name[i] = rf_rng_below(random, 4) ? rf__spm_piece(m, id[i]) : foreign[rf_rng_below(random, RF_COUNT(foreign))];
    }
    assert_true(rf__spm_decode(m, id, n, take, &own));
    char *text = library_decode(l, id, n, &size);
    same_text(model, text, size);
    assert_true(rf__spm_join(m, name, n, take, &own));
    text = library_join(l, name, n, &size);
    same_text(model, text, size);
}

/* Whether both know the text: the library fails for the text of a control piece (see docs/formats.md). */
static bool both(const char *model, const rf__spm *m, rf__spm_work *w, const library *l, const char *text, size_t size,
                 rf__spm_sample s)
{
    char how[64];
    snprintf(how, sizeof how, "nbest %d, alpha %g, seed %u", s.nbest, (double)s.alpha, (unsigned)s.seed);
    own.n = own.size = theirs.n = theirs.size = 0;
    assert_true(rf__spm_encode(m, w, text, size, s.nbest ? &s : NULL, keep_own, &own));
    if (!library_encode(l, text, size, s.nbest, s.alpha, s.seed, keep_library, &theirs)) return false;
    same(model, text, how);
    if (s.nbest) return true;
    size_t bytes;
    int32_t id[MOST];
    const size_t n = own.n;
    memcpy(id, own.id, n * sizeof *id);
    assert_true(rf__spm_decode(m, id, n, take, &own));
    char *decoded = library_decode(l, id, n, &bytes);
    same_text(model, decoded, bytes);
    return true;
}

static size_t models, texts, others;

/* A model of words or characters cannot sample with nbest. */
static void compare(const char *model, const void *data, size_t size, int rounds)
{
    rf__spm *m = NULL;
    rf_error why = {0};
    rf_rng random;
    rf_rng_init(&random, size + (size_t)rounds, 0);
    library *l = library_load(data, size);
    if (!l) fail_msg("%s: the library refuses it", model);
    if (rf__spm_load(ctx, data, size, model, &m, &why)) fail_msg("%s", why.text);
    rf__spm_work *w = rf__spm_work_new(ctx);
    const bool samples = rf__spm_kind_of(m) == RF_SPM_UNIGRAM || rf__spm_kind_of(m) == RF_SPM_BPE;
    assert_int_equal(rf__spm_reserved(m, RF_SPM_UNK), library_unk(l));
    for (int i = 0; i < rounds; i++) {
        static const int nbest[] = {-1, 2, 8, 64};
        static const float alpha[] = {0.05f, 0.1f, 0.5f, 1, 3};
        char text[4096];
        const size_t n = make_text(&random, text);
        others += !both(model, m, w, l, text, n, (rf__spm_sample){0});
        same_decoded(model, m, l, &random);
        const rf__spm_sample s = {nbest[i & 3], alpha[rf_rng_below(&random, 5)], rf_rng_below(&random, 1000)};
        if (samples && i % 4 == 0) both(model, m, w, l, text, n < 300 ? n : 0, s);
        texts++;
    }
    for (const char *at = getenv("T_SPM_TEXT") ? NULL : corpus, *end; at && *at; at = end + 1) {
        end = strchr(at, '\n');
        both(model, m, w, l, at, (size_t)(end - at), (rf__spm_sample){0});
    }
    if (getenv("T_SPM_TEXT")) {
        static char line[1 << 14];
        FILE *f = fopen(getenv("T_SPM_TEXT"), "r");
        assert_non_null(f);
        while (fgets(line, sizeof line, f)) {
            const size_t n = strcspn(line, "\n");
            if (rf_utf8_check(line, n) == n) both(model, m, w, l, line, n, (rf__spm_sample){0}), texts++;
        }
        fclose(f);
    }
    models++;
    rf__spm_work_free(w);
    rf__spm_free(m);
    library_free(l);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

typedef struct bytes {
    char at[1 << 20];
    size_t n;
} bytes;

static bool append(void *user, const char *data, size_t size)
{
    bytes *b = user;
    if (b->n + size > sizeof b->at) fail_msg("a model of more than %zu bytes", sizeof b->at);
    memcpy(b->at + b->n, data, size);
    b->n += size;
    return true;
}

static void put_number(bytes *b, uint64_t x)
{
    for (; x > 127; x >>= 7) append(b, &(char){(char)(x | 128)}, 1);
    append(b, &(char){(char)x}, 1);
}

/* The same model with scores that are multiples of 0.5, so that there are many ties, and every fifth normal piece of
 * several characters unused. */
static void with_ties(const bytes *from, bytes *to, bool unused)
{
    rf__wire w = {(const unsigned char *)from->at, from->n, 0}, in;
    rf__field f, x;
    const char *fault;
    int normal = 0;
    for (size_t at = 0; rf__wire_next(&w, &f, &fault); at = w.at) {
        if (f.number != 1) {
            if (f.number != 4) append(to, from->at + at, w.at - at); /* self_test_data no longer holds          */
            continue;
        }
        static bytes piece;
        uint64_t type = 1;
        size_t name = 0;
        piece.n = 0;
        in = (rf__wire){f.data, f.size, 0};
        for (size_t begin = 0; rf__wire_next(&in, &x, &fault); begin = in.at) {
            if (x.number == 3) type = x.value;
            if (x.number == 1) name = x.size;
            if (x.number != 2) {
                append(&piece, (const char *)f.data + begin, in.at - begin);
                continue;
            }
            float score;
            memcpy(&score, f.data + begin + 1, 4);
            score = roundf(2 * score) / 2;
            append(&piece, "\x15", 1);
            append(&piece, (const char *)&score, 4);
        }
        if (unused && type == 1 && name > 4 && ++normal % 5 == 0) append(&piece, "\x18\x05", 2);
        append(to, "\x0A", 1);
        put_number(to, piece.n);
        append(to, piece.at, piece.n);
    }
}

static void learned_here(void **state)
{
    (void)state;
    static const char *const kinds[] = {"unigram", "bpe", "word", "char"};
    static const char *const settings[][14] = {
        {NULL},
        {"normalization_rule_name", "identity", NULL},
        {"normalization_rule_name", "nfkc", "remove_extra_whitespaces", "false", NULL},
        {"normalization_rule_name", "nmt_nfkc_cf", "add_dummy_prefix", "false", NULL},
        {"normalization_rule_name", "nfkc_cf", "treat_whitespace_as_suffix", "true", NULL},
        {"byte_fallback", "true", "character_coverage", "0.98", NULL},
        {"user_defined_symbols", "<sep>,<cls>,ab,aba,a,XX,\xE2\x96\x81the,1 0,<0x41", "control_symbols", "[MASK],x,y",
         "self_test_sample_size", "0", NULL},
        {"user_defined_symbols", "aa,\xE9\x81\x93\xE5\x8F\xAF,  ,\xE2\x96\x81", "remove_extra_whitespaces", "false",
         "byte_fallback", "true", NULL},
        {"unk_surface", "<?>", "add_dummy_prefix", "false", "remove_extra_whitespaces", "false", NULL},
        {"split_by_whitespace", "false", "allow_whitespace_only_pieces", "true", "remove_extra_whitespaces", "false",
         NULL},
        {"pad_id", "3", "unk_id", "1", "bos_id", "-1", "eos_id", "0", "unk_piece", "?", NULL},
        {"byte_fallback", "true", "add_dummy_prefix", "false", NULL},
        {"treat_whitespace_as_suffix", "true", "add_dummy_prefix", "false", "user_defined_symbols", "the,sea ", NULL},
    };
    static bytes model, ties;
    for (size_t k = 0; k < RF_COUNT(kinds); k++)
        for (size_t s = 0; s < RF_COUNT(settings); s++) {
            const char *option[32] = {
                "model_type",  kinds[k], "hard_vocab_limit",      "false", "minloglevel", "5",
                "num_threads", "2",      "self_test_sample_size", "5",     "vocab_size",  k == 0 ? "400" : "330"};
            size_t n = 12;
            char name[64];
            rf_error why = {0};
            for (const char *const *o = settings[s]; *o; o++) option[n++] = *o;
            option[n] = NULL;
            model.n = ties.n = 0;
            rf_status status = rf__spm_learn(option, corpus, sizeof corpus - 1, append, &model, &why);
            if (status) { /* too few pieces for it, or too many              */
                option[11] = k == 0 ? "700" : "120";
                model.n = 0;
                status = rf__spm_learn(option, corpus, sizeof corpus - 1, append, &model, &why);
            }
            if (status) fail_msg("%s %zu: %s", kinds[k], s, why.text);
            snprintf(name, sizeof name, "%s, settings %zu", kinds[k], s);
            compare(name, model.at, model.n, 300);
            snprintf(name, sizeof name, "%s, settings %zu, with ties", kinds[k], s);
            with_ties(&model, &ties, false);
            compare(name, ties.at, ties.n, 300);
            snprintf(name, sizeof name, "%s, settings %zu, with ties and unused pieces", kinds[k], s);
            ties.n = 0;
            with_ties(&model, &ties, true);
            compare(name, ties.at, ties.n, 300);
        }
    printf("%zu models, %zu texts, %zu that the library does not encode\n", models, texts, others);
    assert_true(others < texts / 20);
}

static void compare_files(const char *folder, int rounds)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *x; (x = readdir(d));) {
        char path[512], *data;
        size_t size;
        const char *dot = strrchr(x->d_name, '.');
        if (!dot || (strcmp(dot, ".model") != 0 && strcmp(dot, ".spm") != 0)) continue;
        snprintf(path, sizeof path, "%s/%s", folder, x->d_name);
        assert_int_equal(rf__read_file(ctx, path, 1 << 28, &data, &size, NULL), RF_OK);
        compare(path, data, size, rounds);
        rf__free(ctx, data);
    }
    closedir(d);
}

static void of_files(void **state)
{
    (void)state;
    compare_files("tests/golden/subwords", 500);
    if (getenv("T_SPM_MODELS")) compare_files(getenv("T_SPM_MODELS"), 1000);
    printf("%zu models, %zu texts\n", models, texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(learned_here), cmocka_unit_test(of_files)};
    return cmocka_run_group_tests_name("text/spm_library", tests, setup, teardown);
}
#else
static void says_what_to_install(void **state)
{
    (void)state;
    rf_error why = {0};
    assert_int_equal(rf__spm_learn(&(const char *){NULL}, "a\n", 2, NULL, NULL, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "libsentencepiece-dev");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_to_install)};
    return cmocka_run_group_tests_name("text/spm_library", tests, setup, teardown);
}
#endif
