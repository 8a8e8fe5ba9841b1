/* test_translate_golden.c — mirrors src/decode/translate.c: texts, scores and attention to sources as in transformers
 * (tools/golden/golden_translate.py). */
#include "decode/session.h"
#include "families.h"

#include "decode/generation_options.h"
#include "../model/translated.h"

enum { MOST = 8 };

static double number(FILE *f)
{
    double x;
    if (fscanf(f, "%lf", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

static int64_t integer(FILE *f) { return (int64_t)number(f); }

static void word(FILE *f, const char *expected)
{
    char got[32];
    if (fscanf(f, "%31s", got) != 1 || strcmp(got, expected)) fail_msg("%s was expected", expected);
}

static void read_case(FILE *f, const rf_model *m, rf_generate_options *o)
{
    static int32_t never;
    rf_translate_defaults(m, o);
    o->num_beams = integer(f);
    o->num_return_sequences = integer(f);
    o->length_penalty = number(f);
    o->early_stopping = (rf_stop_search)integer(f);
    o->max_new_tokens = integer(f);
    o->forced_bos = (int32_t)integer(f);
    o->forced_eos = (int32_t)integer(f);
    o->renormalize_logits = (int)integer(f);
    o->no_repeat_ngram_size = integer(f);
    o->repetition_penalty = number(f);
    never = (int32_t)rf_model_config(m)->decoder_start_token_id;
    o->suppress = &never, o->suppressed = 1;
}

/* Sources of a case and, in the order of their ranks, their texts: the last token of one that ended is there, too. */
static int64_t check_case(FILE *f, const char *name, rf_session *s, const rf_generate_options *o, double tolerance)
{
    static int32_t id[MOST][LONGEST];
    static text expected[MOST][4];
    rf_translate_source source[MOST];
    const int64_t n = integer(f), each = o->num_return_sequences;
    assert_true(n <= MOST && each <= 4);
    for (int64_t i = 0; i < n; i++) {
        word(f, "source");
        source[i] = (rf_translate_source){.id = id[i], .n = integer(f)};
        for (int64_t j = 0; j < source[i].n; j++) id[i][j] = (int32_t)integer(f);
        for (int64_t k = 0; k < each; k++) {
            text *t = &expected[i][k];
            word(f, "text");
            t->score = number(f);
            word(f, "ids");
            t->n = integer(f);
            for (int64_t j = 0; j < t->n; j++) t->id[j] = (int32_t)integer(f);
        }
    }
    const texts x = translate(s, source, n, o);
    for (int64_t i = 0; i < n * each; i++) {
        const text *t = &expected[i / each][i % each], *got = &x.of[i];
        const int64_t ended = t->n && t->id[t->n - 1] == o->stop[0];
        if (got->n != t->n - ended || memcmp(got->id, t->id, (size_t)got->n * sizeof *t->id))
            fail_msg("%s, %d beams, penalty %g: source %d, text %d is another", name, (int)o->num_beams,
                     o->length_penalty, (int)(i / each), (int)(i % each));
        if (o->num_beams > 1 && fabs(got->score - t->score) > tolerance * fmax(1, fabs(t->score) / 10))
            fail_msg("%s, %d beams, penalty %g: source %d, text %d has the score %.9g, expected %.9g", name,
                     (int)o->num_beams, o->length_penalty, (int)(i / each), (int)(i % each), got->score, t->score);
    }
    return n * each;
}

/* What a target looks at, the last layer's mean over heads; both are printed with six digits. */
static void check_attention(FILE *f, const char *name, rf_session *s)
{
    int32_t id[2][LONGEST], start[2][2] = {{0}};
    float p[LONGEST * LONGEST];
    rf_error why = {0};
    for (int side = 0; side < 2; side++) {
        word(f, side ? "target" : "source");
        start[side][1] = (int32_t)integer(f);
        for (int32_t i = 0; i < start[side][1]; i++) id[side][i] = (int32_t)integer(f);
    }
    const int32_t S = start[0][1], T = start[1][1];
    const rf_batch source = {.N = S, .B = 1, .id = id[0], .start = start[0]},
                   target = {.N = T, .B = 1, .id = id[1], .start = start[1]};
    if (rf__session_translation_attention(s, &source, &target, -1, -1, p, &why)) fail_msg("%s", why.text);
    for (int32_t i = 0; i < S * T; i++) {
        const double expected = number(f);
        if (fabs((double)p[i] - expected) > 1e-5)
            fail_msg("%s: share %d is %g, not %g", name, i, (double)p[i], expected);
    }
}

static int64_t check_folder(const char *folder, const char *isa, int threads)
{
    char path[512], what[16];
    rf_ctx *ctx = t_ctx(threads, isa);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    rf_generate_options o;
    int64_t checked = 0;
    snprintf(path, sizeof path, "%s/translate.txt", folder);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s", path);
    if (rf_model_open(ctx, folder, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    while (fgetc(f) != '\n') {}
    while (fscanf(f, "%15s", what) == 1 && strcmp(what, "end")) {
        if (!strcmp(what, "attention")) {
            check_attention(f, folder, s);
            continue;
        }
        read_case(f, m, &o);
        checked += check_case(f, folder, s, &o, 1e-4);
        t_free_all();
    }
    assert_string_equal(what, "end");
    fclose(f);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
    return checked;
}

/* 1e-4 as in test_seq2seq.c: a score is a mean of logarithms, which err as logits do; with a penalty below 0 it is more
 * than their sum. */
static void texts_are_those_of_transformers(void **state)
{
    (void)state;
    static t_goldens all;
    all = t_family_goldens("pairs");
    int64_t checked = 0;
    for (int i = 0; i < all.n; i++) {
        checked += check_folder(all.folder[i], NULL, 2);
        checked += check_folder(all.folder[i], "ref", 1);
    }
    assert_true(all.n >= 5 && checked > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_those_of_transformers),
    };
    return cmocka_run_group_tests_name("model/translate_golden", tests, NULL, NULL);
}
