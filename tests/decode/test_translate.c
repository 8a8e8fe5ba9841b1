/* test_translate.c — mirrors src/decode/translate.c, src/decode/sources.c, and the parts of sequence.c, cache.c, beam.c
 * and generate.c that concern sources: cached = recomputed, many = one by one, scores, memory, rejected input. */
#include "decode/session.h"
#include "families.h"

#include "decode/generation_options.h"
#include "../model/translating.h"

/* Logits [SOURCES, TARGET, V] of all pairs computed in one pass. */
static const float *at_once(const work *w)
{
    static int32_t row[SOURCES * TARGET], start[SOURCES + 1];
    rf_error why = {0};
    const float *z;
    for (int i = 0; i < SOURCES * TARGET; i++) row[i] = i;
    for (int b = 0; b <= SOURCES; b++) start[b] = b * TARGET;
    const rf_batch source = sources(),
                   target = {.N = SOURCES * TARGET, .B = SOURCES, .id = target_id[0], .start = start};
    if (rf_session_pair_logits(w->s, &source, &target, row, target.N, &z, &why)) fail_msg("%s", why.text);
    const size_t size = SOURCES * TARGET * V * sizeof *z;
    return memcpy(t_floats(SOURCES * TARGET * V), z, size);
}

/* Tokens [at, at + n) of the targets `which`, one sequence each. */
static void go_on(const work *w, const rf_sequence q[], const int which[], int B, const int at[], int n,
                  const float *expected, const char *name)
{
    int32_t id[SOURCES * TARGET], start[SOURCES + 1] = {0}, row[SOURCES * TARGET];
    rf_error why = {0};
    const float *z;
    for (int b = 0; b < B; b++) {
        memcpy(id + b * n, target_id[which[b]] + at[b], (size_t)n * sizeof *id);
        start[b + 1] = (b + 1) * n;
    }
    for (int i = 0; i < B * n; i++) row[i] = i;
    const rf_batch batch = {.N = B * n, .B = B, .id = id, .start = start};
    if (rf_session_continue(w->s, q, &batch, row, B * n, &z, &why)) fail_msg("%s: %s", name, why.text);
    for (int b = 0; b < B; b++)
        if (memcmp(z + b * n * V, expected + (which[b] * TARGET + at[b]) * V, (size_t)(n * V) * sizeof *z))
            fail_msg("%s: target %d from token %d on has other bits", name, which[b], at[b]);
}

static void kept_is_computed_again(const rf_config *c, rf_type type)
{
    char name[80];
    rf_error why = {0};
    rf_sequence q[SOURCES], fork;
    snprintf(name, sizeof name, "%s, %s", c->position_embedding_type, c->decoder_position_embedding_type);
    work w = open_work(c, 2, type);
    const rf_batch from = sources();
    const float *expected = at_once(&w);
    const rf_status status = rf_sequence_read(w.s, NULL, &from, q, &why);
    if (status == RF_EUNSUPPORTED && strstr(why.text, "keys can be cached")) {
        close_work(&w);
        return;
    }
    if (status) fail_msg("%s: %s", name, why.text);
    for (int b = 0; b < SOURCES; b++) assert_int_equal(rf_sequence_length(w.s, q[b]), 0);
    go_on(&w, q, (int[]){0, 1, 2, 3}, 4, (int[]){0, 0, 0, 0}, 1, expected, name);
    go_on(&w, (rf_sequence[]){q[3], q[1]}, (int[]){3, 1}, 2, (int[]){1, 1}, 40, expected, name);
    go_on(&w, (rf_sequence[]){q[2], q[0], q[3]}, (int[]){2, 0, 3}, 3, (int[]){1, 1, 41}, 1, expected, name);
    if (rf_sequence_fork(w.s, q[1], &fork, &why)) fail_msg("%s", why.text);
    go_on(&w, &q[1], (int[]){1}, 1, (int[]){41}, 26, expected, name);
    if (rf_sequence_drop(w.s, q[1], &why)) fail_msg("%s", why.text);
    go_on(&w, &fork, (int[]){1}, 1, (int[]){41}, 26, expected, name);
    for (int b = 0; b < SOURCES; b++) rf_sequence_drop(w.s, b == 1 ? fork : q[b], NULL);
    close_work(&w);
}

static void every_encoding_keeps_its_source(void **state)
{
    (void)state;
    fill_ids();
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        rf_error why = {0};
        rf_params params;
        rf_config c = config_of("rotary", (*p)->name, 0);
        rf_ctx *ctx = t_ctx(1, NULL);
        const rf_status status = rf__params_new(ctx, &c, &params, &why);
        if (!status) rf__params_free(&params);
        rf_ctx_free(ctx);
        if (status) continue;                               /* not an encoding of this family, or of these widths */
        /* padding tokens, which these targets have, count in earlier steps, and not in the same one: transformers */
        if (*p == &rf__position_sinusoidal_fairseq) continue;
        kept_is_computed_again(&c, RF_F32);
        if (!strcmp((*p)->name, "rotary")) kept_is_computed_again(&c, RF_BF16);
        t_free_all();
    }
    const rf_config rotated = config_of("rotary", "", 1), plain = config_of("alibi", "sinusoidal_halves", 0);
    kept_is_computed_again(&rotated, RF_F32);
    kept_is_computed_again(&plain, RF_F32);
    t_free_all();
}

/* ---- many are as each alone ---- */

static void same(const text *a, const text *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->end, b->end);
    assert_memory_equal(a->id, b->id, (size_t)a->n * sizeof *a->id);
    assert_memory_equal(a->logprob, b->logprob, (size_t)a->n * sizeof *a->logprob);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
}

static void check_alone(const work *w, const work *other, rf_generate_options o)
{
    enum { MANY = 23 };
    rf_translate_source source[MANY];
    rf_rng r;
    rf_rng_init(&r, 9, 0);
    for (int i = 0; i < MANY; i++) {
        const int64_t n = 1 + (int64_t)rf_rng_below(&r, 20);
        source[i] = (rf_translate_source){.id = source_id + rf_rng_below(&r, (uint32_t)(SOURCE_TOKENS - n)), .n = n};
        if (i % 5 == 2) source[i].prefix = source_id + i, source[i].prefixes = 1 + i % 3;
    }
    const texts all = translate(w->s, source, MANY, &o);
    o.batch_size = o.num_beams > 5 ? o.num_beams : 5;
    const texts few = translate(other->s, source, MANY, &o);
    for (int64_t i = 0; i < MANY; i++) {
        const texts one = translate(other->s, &source[i], 1, &o);
        for (int64_t k = 0; k < o.num_return_sequences; k++) {
            same(&one.of[k], &all.of[i * o.num_return_sequences + k]);
            same(&one.of[k], &few.of[i * o.num_return_sequences + k]);
        }
    }
    t_free_all();
}

static void many_are_as_each_alone(void **state)
{
    (void)state;
    const char *const decoders[] = {"", "alibi", "rerope", "recurrent"};    /* keys; keys; none kept; states */
    fill_ids();
    for (size_t i = 0; i < RF_COUNT(decoders); i++) {
        const rf_config c = config_of("rotary", decoders[i], 0);
        work w = open_work(&c, 2, RF_F32), other = open_work(&c, 1, RF_F32);
        check_alone(&w, &other, options_of(w.m, 1, 1));
        check_alone(&w, &other, options_of(w.m, 4, 3));
        rf_generate_options draws = options_of(w.m, 1, 3);
        draws.do_sample = 1;
        check_alone(&w, &other, draws);
        rf_generate_options short_ones = options_of(w.m, 3, 1);
        short_ones.max_length_factor = 0.5;
        short_ones.length_norm = RF_LENGTH_GNMT;
        check_alone(&w, &other, short_ones);
        close_work(&w);
        close_work(&other);
    }
}

/* ---- scores ---- */

/* The reported score of a translation is its score. */
static void scores_are_those_of_the_texts(void **state)
{
    (void)state;
    fill_ids();
    const rf_config c = config_of("rotary", "", 0);
    work w = open_work(&c, 2, RF_F32);
    const rf_generate_options o = options_of(w.m, 4, 1);
    rf_translate_source source[SOURCES];
    int32_t id[SOURCES * LONGEST], start[SOURCES + 1] = {0};
    double logprob[SOURCES * LONGEST];
    rf_error why = {0};
    for (int b = 0; b < SOURCES; b++)
        source[b] = source_of(b);
    const texts x = translate(w.s, source, SOURCES, &o);
    for (int b = 0; b < SOURCES; b++) {
        const text *t = &x.of[b];
        memcpy(id + start[b], t->id, (size_t)t->n * sizeof *id);
        start[b + 1] = start[b] + (int32_t)t->n;
        if (t->end == RF_GENERATE_STOP) id[start[b + 1]++] = EOS;
    }
    const rf_batch from = sources(), to = {.N = start[SOURCES], .B = SOURCES, .id = id, .start = start};
    if (rf__session_translation_logprobs(w.s, &from, &to, -1, logprob, &why)) fail_msg("%s", why.text);
    for (int b = 0; b < SOURCES; b++) {
        double sum = 0;
        assert_memory_equal(logprob + start[b], x.of[b].logprob,
                            (size_t)(start[b + 1] - start[b]) * sizeof *logprob);
        for (int32_t i = start[b]; i < start[b + 1]; i++) sum += logprob[i];
        t_near(x.of[b].total, sum, 1e-12);
        t_near(x.of[b].score, sum / (start[b + 1] - start[b]), 1e-12);
    }
    id[0] = V;
    assert_int_equal(rf__session_translation_logprobs(w.s, &from, &to, -1, logprob, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "token 0: expected ... vocab_size 23, got 23");
    close_work(&w);
    t_free_all();
}

/* The attention to sources for many pairs is that of each pair alone, in every layer, and sums to 1. */
static void shares_of_sources(void **state)
{
    (void)state;
    fill_ids();
    for (int rotates = 0; rotates < 2; rotates++) {
        const rf_config c = config_of("rotary", "", rotates);
        work w = open_work(&c, 2, RF_F32);
        enum { T = 9 };
        static float all[T * SOURCE_TOKENS], one[T * SOURCE_TOKENS];
        int32_t id[SOURCES * T], start[SOURCES + 1];
        rf_error why = {0};
        for (int b = 0; b <= SOURCES; b++) start[b] = b * T;
        for (int b = 0; b < SOURCES; b++) memcpy(id + b * T, target_id[b], T * sizeof *id);
        const rf_batch from = sources(), to = {.N = SOURCES * T, .B = SOURCES, .id = id, .start = start};
        for (int64_t layer = -1; layer < 2; layer++) {
            if (rf__session_translation_attention(w.s, &from, &to, -1, layer, all, &why)) fail_msg("%s", why.text);
            const float *p = all;
            for (int b = 0; b < SOURCES; b++) {
                const int32_t S = source_start[b + 1] - source_start[b], alone[] = {0, S};
                const rf_batch source = {.N = S, .B = 1, .id = source_id + source_start[b], .start = alone},
                               target = {.N = T, .B = 1, .id = id + b * T, .start = start};
                if (rf__session_translation_attention(w.s, &source, &target, -1, layer < 0 ? 1 : layer, one, &why))
                    fail_msg("%s", why.text);
                assert_memory_equal(one, p, (size_t)(T * S) * sizeof *p);
                for (int t = 0; t < T; t++, p += S) {
                    double sum = 0;
                    for (int s = 0; s < S; s++) sum += (double)p[s];
                    t_near(sum, 1, 1e-5);
                }
            }
        }
        assert_int_equal(rf__session_translation_attention(w.s, &from, &to, -1, 2, all, &why), RF_EARG);
        t_failed(&why, RF_EARG, "layer: expected");
        close_work(&w);
    }
    t_free_all();
}

/* A model in training translates like an opened one. */
static void a_slab_translates(void **state)
{
    (void)state;
    fill_ids();
    const rf_config c = config_of("rotary", "", 0);
    work w = open_work(&c, 2, RF_F32), copy = {.ctx = w.ctx};
    const rf_generate_options o = options_of(w.m, 3, 1);
    rf_params params;
    rf_translate_source source[SOURCES];
    rf_error why = {0};
    if (rf__params_new(w.ctx, &c, &params, &why)) fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)params.total);
    rf__params_init(&params, slab, 7);
    if (rf__model_of_slab(&params, slab, RF_F32, &copy.m, &why) || rf_session_open(copy.m, &copy.s, &why))
        fail_msg("%s", why.text);
    for (int b = 0; b < SOURCES; b++) source[b] = source_of(b);
    const texts expected = translate(w.s, source, SOURCES, &o), got = translate(copy.s, source, SOURCES, &o);
    for (int b = 0; b < SOURCES; b++) same(&got.of[b], &expected.of[b]);
    rf_session_close(copy.s);
    rf_model_close(copy.m);
    rf__params_free(&params);
    close_work(&w);
    t_free_all();
}

/* ---- memory, and what is refused ---- */

static void memory_is_said_and_kept_to(void **state)
{
    (void)state;
    fill_ids();
    const rf_config c = config_of("rotary", "", 0);
    work w = open_work(&c, 1, RF_F32);
    rf_generate_options o = options_of(w.m, 3, 1);
    rf_sequence q[SOURCES];
    rf_error why = {0};
    const rf_batch from = sources();
    if (rf_sequence_read(w.s, NULL, &from, q, &why)) fail_msg("%s", why.text);
    size_t said = 0;
    for (int b = 0; b < SOURCES; b++)
        said += rf_sequence_source_bytes(w.m, NULL, source_start[b + 1] - source_start[b]);
    assert_int_equal(rf_sequence_memory(w.s), said);
    assert_int_equal(said, SOURCE_TOKENS * 2 * 2 * C * sizeof(float));              /* two layers, key and value     */
    for (int b = 0; b < SOURCES; b++) rf_sequence_drop(w.s, q[b], NULL);

    rf_translate_source source[SOURCES];
    for (int b = 0; b < SOURCES; b++)
        source[b] = source_of(b);
    const texts free_ones = translate(w.s, source, SOURCES, &o);
    const size_t need =
        3 * rf_sequence_bytes(w.m, NULL, 1 + o.max_new_tokens) + rf_sequence_source_bytes(w.m, NULL, 70);
    if (rf_sequence_limit(w.s, need, &why)) fail_msg("%s", why.text);
    const texts tight = translate(w.s, source, SOURCES, &o);                        /* one after the other           */
    for (int b = 0; b < SOURCES; b++) same(&tight.of[b], &free_ones.of[b]);
    if (rf_sequence_limit(w.s, need - 1, &why)) fail_msg("%s", why.text);
    texts x = {.each = 1};
    x.of = t_bytes(SOURCES * sizeof *x.of);
    if (rf_session_translate(w.s, source, SOURCES, &o, take, &x, &why)) fail_msg("%s", why.text);
    assert_int_equal(x.got, SOURCES - 1);
    t_failed(&x.why, RF_ERANGE, "for 70 tokens and max_new_tokens");
    close_work(&w);
    t_free_all();
}

static void refused(const work *w, const rf_translate_source *source, const rf_generate_options *o, rf_status code,
                    const char *part)
{
    rf_error why = {0};
    texts x = {.each = 1};
    const rf_status status = rf_session_translate(w->s, source, 1, o, take, &x, &why);
    t_failed(status ? &why : &x.why, code, part);
    assert_int_equal(x.got, 0);
}

static void what_is_refused(void **state)
{
    (void)state;
    fill_ids();
    const rf_config c = config_of("rotary", "absolute", 0);
    work w = open_work(&c, 1, RF_F32);
    const int32_t bad[] = {3, V}, prefix[] = {-1};
    rf_generate_options o = options_of(w.m, 12, 1);
    rf_translate_source source = {.id = source_id, .n = 5};
    rf_error why = {0};
    refused(&w, &source, &o, RF_EARG, "num_beams: expected at most 23 candidates");
    o = options_of(w.m, 1, 1);
    o.forced_bos = V;
    refused(&w, &source, &o, RF_ERANGE, "forced_bos, forced_eos, decoder_start: expected ids below vocab_size 23, got "
            "23, -1 and -1");
    o = options_of(w.m, 1, 1);
    o.max_new_tokens = 0;
    refused(&w, &source, &o, RF_EARG, "max_new_tokens: expected at least 1, got 0");
    refused(&w, &(rf_translate_source){.id = bad, .n = 2}, NULL, RF_ERANGE, "source: token 1: expected");
    refused(&w, &(rf_translate_source){.id = bad, .n = 0}, NULL, RF_EARG, "source: expected at least 1 tokens, got 0");
    source.prefix = prefix, source.prefixes = 1;
    refused(&w, &source, NULL, RF_ERANGE, "prefix: token 0: expected");
    source.prefixes = 0;
    o = options_of(w.m, 2, 1);
    o.max_new_tokens = 120;                                         /* the decoder's positions end at 96 */
    o.stop = source_id, o.stops = 0;
    refused(&w, &source, &o, RF_ERANGE, "position");
    rf_sequence q;
    assert_int_equal(rf_sequence_new(w.s, NULL, &q, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "use rf_sequence_read");
    close_work(&w);

    rf_config one;
    rf_config_defaults(&one);
    one.vocab_size = V, one.hidden_size = one.embedding_size = C, one.num_attention_heads = 2;
    one.num_hidden_layers = 1, one.is_decoder = 1;
    w = open_work(&one, 1, RF_F32);
    refused(&w, &source, NULL, RF_EUNSUPPORTED, "translate: expected an encoder-decoder model");
    assert_int_equal(rf_translate_check(w.m, NULL), RF_EUNSUPPORTED);
    const rf_batch from = sources();
    why = (rf_error){0};
    assert_int_equal(rf_sequence_read(w.s, NULL, &from, &q, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "without a decoder");
    close_work(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_keeps_its_source),
        cmocka_unit_test(many_are_as_each_alone),
        cmocka_unit_test(scores_are_those_of_the_texts),
        cmocka_unit_test(shares_of_sources),
        cmocka_unit_test(a_slab_translates),
        cmocka_unit_test(memory_is_said_and_kept_to),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("model/translate", tests, NULL, NULL);
}
