/* test_generate_all.c — mirrors src/decode/generate.c, src/decode/beam.c: many prompts in one call give the texts of
 * separate calls. */
#include "../model/causal.h"
#include "model/model.h"
#include "roformer/generate.h"

enum { PROMPTS = 23, MOST = 40, SAMPLES = 3, TEXTS = PROMPTS * SAMPLES };

typedef struct text { int32_t id[MOST]; double logprob[MOST]; int n, stop_at; rf_generate_end end; rf_error why; } text;
typedef struct texts { text t[TEXTS]; int ended; } texts;

static int take(void *user, const rf_generated *token)
{
    text *t = &((texts *)user)->t[token->text];
    assert_int_equal(token->index, t->n);
    t->logprob[t->n] = token->logprob;
    t->id[t->n++] = token->id;
    return t->n == t->stop_at;
}

static int ended(void *user, int64_t number, rf_generate_end end, const rf_error *why)
{
    texts *x = user;
    x->t[number].end = end;
    if (why) x->t[number].why = *why;
    assert_int_equal(end == RF_GENERATE_FAILED, why != NULL);
    x->ended++;
    return 0;
}

/* Prompts of 1 to 120 tokens; many have a common beginning, some are equal. */
static void make_prompts(rf_prompt p[PROMPTS], int32_t id[PROMPTS][T + 20])
{
    rf_rng r;
    rf_rng_init(&r, 3, 9);
    for (int i = 0; i < PROMPTS; i++) {
        const int n = i % 5 == 3 ? 120 : 1 + (int)rf_rng_below(&r, 90), shared = i % 3 == 0 ? 0 : 70;
        for (int j = 0; j < n; j++) id[i][j] = i && j < shared ? id[i - 1][j] : (int32_t)rf_rng_below(&r, V);
        p[i] = (rf_prompt){.id = id[i], .n = n};
        if (i == 7 || i == 15) p[i] = (rf_prompt){.id = p[i - 1].id, .n = p[i - 1].n, .occurrence = 1};
    }
}

static void write_all(const struct work *w, const rf_prompt *p, int n, const rf_generate_options *o, texts *x)
{
    rf_error why = {0};
    if (rf_session_generate_all(w->session, p, n, o, take, ended, x, &why)) fail_msg("%s", why.text);
    assert_int_equal(x->ended, n * o->num_return_sequences);
    assert_int_equal(rf_sequence_memory(w->session), 0);
}

static void same(const texts *a, const texts *b, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        const text *x = &a->t[i], *y = &b->t[i];
        if (x->n != y->n || x->end != y->end || memcmp(x->id, y->id, sizeof x->id) ||
            memcmp(x->logprob, y->logprob, sizeof x->logprob))
            fail_msg("%s: text %d is another beside others", name, i);
    }
}

/* Greedy and sampled, in batches of any size, with stop tokens in some: the same tokens, and the same bits of their
 * probabilities. */
static void as_alone(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"rope_theta\":10000",
        "\"position_embedding_type\":\"recurrent\"",
        "\"position_embedding_type\":\"rerope\",\"rerope_window\":8",
        "\"position_embedding_type\":\"tupe\"",
    };
    static int32_t id[PROMPTS][T + 20];
    rf_prompt p[PROMPTS];
    make_prompts(p, id);
    for (size_t k = 0; k < 2 * RF_COUNT(keys); k++) {
        char config[256];
        snprintf(config, sizeof config, "\"max_position_embeddings\":256,%s", keys[k / 2]);
        const rf_config c = small(config);
        struct work w = begin(&c, 2, NULL);
        rf_generate_options o;
        rf_generate_defaults(&o);
        o.max_new_tokens = 12;
        o.do_sample = k % 2;
        o.top_p = 0.95;
        o.no_repeat_ngram_size = 3;
        o.cache_type = k % 4 == 3 ? RF_BF16 : RF_F32;
        static const int32_t stop[] = {5, 50};
        o.stop = stop;
        o.stops = 2;
        o.num_return_sequences = k % 2 ? SAMPLES : 1;
        static texts alone, together;
        memset(&alone, 0, sizeof alone);
        o.batch_size = 1;
        write_all(&w, p, PROMPTS, &o, &alone);
        static const int sizes[] = {2, 7, 64};
        for (size_t i = 0; i < RF_COUNT(sizes); i++) {
            memset(&together, 0, sizeof together);
            o.batch_size = sizes[i];
            write_all(&w, p, PROMPTS, &o, &together);
            same(&alone, &together, PROMPTS * (int)o.num_return_sequences, keys[k / 2]);
        }
        end(&w);
    }
}

/* Beam searches, in batches of any size: the same texts, the likeliest first. */
static void beams_as_alone(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"rope_theta\":10000",
        "\"position_embedding_type\":\"recurrent\"",
        "\"position_embedding_type\":\"rerope\",\"rerope_window\":8",
    };
    static int32_t id[PROMPTS][T + 20];
    rf_prompt p[PROMPTS];
    make_prompts(p, id);
    for (size_t k = 0; k < RF_COUNT(keys); k++) {
        char config[256];
        snprintf(config, sizeof config, "\"max_position_embeddings\":256,%s", keys[k]);
        const rf_config c = small(config);
        struct work w = begin(&c, 2, NULL);
        rf_generate_options o;
        rf_generate_defaults(&o);
        o.max_new_tokens = 9;
        o.num_beams = 3;
        o.num_return_sequences = 2;
        static const int32_t stop[] = {5, 50};
        o.stop = stop;
        o.stops = 2;
        static texts alone, together;
        memset(&alone, 0, sizeof alone);
        o.batch_size = 1;
        write_all(&w, p, PROMPTS, &o, &alone);
        for (int i = 0; i < 2 * PROMPTS; i += 2) {
            double score[2] = {0};
            for (int j = 0; j < 2; j++) {
                for (int n = 0; n < alone.t[i + j].n; n++) score[j] += alone.t[i + j].logprob[n];
                score[j] /= alone.t[i + j].n;
            }
            assert_true(score[0] >= score[1]);
        }
        static const int sizes[] = {7, 64};
        for (size_t i = 0; i < RF_COUNT(sizes); i++) {
            memset(&together, 0, sizeof together);
            o.batch_size = sizes[i];
            write_all(&w, p, PROMPTS, &o, &together);
            same(&alone, &together, 2 * PROMPTS, keys[k]);
        }
        end(&w);
    }
}

/* With as many beams as texts of two tokens the search finds the likeliest of all: 12 allowed tokens, 144 texts. */
static void many_beams_find_the_best(void **state)
{
    (void)state;
    enum { FEW = 12 };
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    static const int32_t id[] = {2, 17, 5};
    int32_t never[V];
    double best = -INFINITY, logprob[5], got = 0;
    int32_t tried[5] = {2, 17, 5};
    rf_generate_options o;
    rf_error why = {0};
    static texts x;
    for (int i = FEW; i < V; i++) never[i - FEW] = i;
    rf_generate_defaults(&o);
    o.max_new_tokens = 2;
    o.num_beams = FEW;
    o.suppress = never;
    o.suppressed = V - FEW;
    write_all(&w, &(rf_prompt){id, 3, 0}, 1, &o, &x);
    for (int i = 0; i < 2; i++) got += x.t[0].logprob[i];
    for (int32_t a = 0; a < FEW; a++)
        for (int32_t b = 0; b < FEW; b++) {
            tried[3] = a;
            tried[4] = b;
            if (rf_session_logprobs(w.session, tried, 5, 0, 0, logprob, 0, NULL, &why)) fail_msg("%s", why.text);
            best = fmax(best, logprob[3] + logprob[4]);
        }
    t_near(got, best, 1e-5);
    end(&w);
}

/* The first sample of a prompt is that of a call for it alone; its other samples differ. */
static void samples(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    static const int32_t id[] = {2, 17, 5};
    const rf_prompt p[2] = {{id, 3, 0}, {id, 3, 1}};
    static texts x, one;
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.max_new_tokens = MOST;
    write_all(&w, p, 2, &o, &x);
    if (rf_session_generate(w.session, id, 3, &o, take, &one, NULL, &why)) fail_msg("%s", why.text);
    assert_memory_equal(x.t[0].id, one.t[0].id, sizeof one.t[0].id);
    assert_memory_not_equal(x.t[1].id, one.t[0].id, sizeof one.t[0].id);
    memset(&x, 0, sizeof x);
    o.num_return_sequences = 2;
    write_all(&w, p, 2, &o, &x);
    assert_memory_equal(x.t[0].id, one.t[0].id, sizeof one.t[0].id);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) assert_memory_not_equal(x.t[i].id, x.t[j].id, sizeof x.t[i].id);
    end(&w);
}

/* Whether a sequence of `size` tokens occurs twice in the n tokens. */
static bool repeats(const int32_t id[], int n, int size)
{
    for (int i = 0; i + size <= n; i++)
        for (int j = 0; j < i; j++)
            if (!memcmp(id + i, id + j, (size_t)size * sizeof *id)) return true;
    return false;
}

/* No sequence of that many tokens occurs twice, including the prompt. Without the option, this text has such ones. */
static void no_ngram_comes_twice(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    enum { GIVEN = 4 };
    static const int32_t id[GIVEN] = {2, 17, 5, 30};
    static texts x;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.max_new_tokens = MOST;
    for (int i = 0; i < 6; i++) {
        int32_t all[GIVEN + MOST];
        const int size = 1 + i / 2;
        memset(&x, 0, sizeof x);
        o.no_repeat_ngram_size = i % 2 ? size : 0;
        write_all(&w, &(rf_prompt){id, GIVEN, 0}, 1, &o, &x);
        memcpy(all, id, sizeof id);
        memcpy(all + GIVEN, x.t[0].id, sizeof x.t[0].id);
        assert_int_equal(repeats(all, GIVEN + x.t[0].n, size), !o.no_repeat_ngram_size);
    }
    o.no_repeat_ngram_size = 1;                                      /* 97 tokens and no more */
    o.max_new_tokens = MOST;
    int32_t many[V];
    for (int i = 0; i < V; i++) many[i] = i;
    rf_error why = {0};
    assert_int_equal(rf_session_generate(w.session, many, V, &o, NULL, NULL, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "all 97 tokens");
    end(&w);
}

/* A text that fails, by its ids or the end of a learned table, or that its sink stops, ends alone. */
static void failures_are_the_texts_own(void **state)
{
    (void)state;
    const rf_config c = small("\"position_embedding_type\":\"absolute\",\"max_position_embeddings\":30");
    struct work w = begin(&c, 2, NULL);
    static const int32_t good[] = {1, 2, 3}, bad[] = {1, V}, longer[25] = {4};
    const rf_prompt p[] = {{good, 3, 0}, {bad, 2, 0}, {longer, 25, 0}, {good, 0, 0}, {good, 2, 0}, {good, 1, 0}};
    static texts x, clean;
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.max_new_tokens = 10;
    x.t[4].stop_at = 4;
    write_all(&w, p, 6, &o, &x);
    write_all(&w, (rf_prompt[]){p[0], p[5]}, 2, &o, &clean);
    assert_memory_equal(x.t[0].id, clean.t[0].id, sizeof clean.t[0].id);
    assert_memory_equal(x.t[5].id, clean.t[1].id, sizeof clean.t[1].id);
    t_failed(&x.t[1].why, RF_ERANGE, "token 1: expected ... vocab_size 97, got 97");
    t_failed(&x.t[2].why, RF_ERANGE, "less than 30 (max_position_embeddings), got 30");
    assert_int_equal(x.t[2].n, 6);
    t_failed(&x.t[3].why, RF_EARG, "at least 1");
    assert_int_equal(x.t[4].end, RF_GENERATE_SINK);
    assert_int_equal(x.t[4].n, 4);
    static texts told;
    assert_int_equal(rf_session_generate_all(w.session, p, 3, &o, take, NULL, &told, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "token 1: expected an id");
    assert_int_equal(told.t[0].n, 10);
    end(&w);
}

/* With a memory limit texts wait for space; a text that does not fit alone gets an error with the limit. */
static void texts_wait_for_memory(void **state)
{
    (void)state;
    const rf_config c = small("\"max_position_embeddings\":256");
    struct work w = begin(&c, 2, NULL);
    static int32_t id[PROMPTS][T + 20];
    rf_prompt p[PROMPTS];
    static texts free_run, limited;
    rf_generate_options o;
    rf_error why = {0};
    char said[64];
    make_prompts(p, id);
    rf_generate_defaults(&o);
    o.max_new_tokens = 12;
    write_all(&w, p, PROMPTS, &o, &free_run);
    const size_t limit = rf_sequence_bytes(w.model, NULL, 128) + rf_sequence_bytes(w.model, NULL, 64);
    assert_int_equal(rf_sequence_limit(w.session, limit, &why), RF_OK);
    for (int i = 0; i < PROMPTS; i++)
        if (p[i].n + 12 > 192) fail();
    write_all(&w, p, PROMPTS, &o, &limited);
    same(&free_run, &limited, PROMPTS, "a limit");
    o.max_new_tokens = 200;
    snprintf(said, sizeof said, "at most %zu bytes", limit);
    assert_int_equal(rf_session_generate(w.session, id[3], 120, &o, NULL, NULL, NULL, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, said);
    end(&w);
}

/* The n-th allocation fails: a status, and nothing leaks. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    static int32_t id[PROMPTS][T + 20];
    rf_prompt p[PROMPTS];
    make_prompts(p, id);
    bool failed = true;
    for (long n = 1; failed; n += 1 + n / 20) {
        t_memory memory = {0};
        rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
        rf_model *model = NULL;
        rf_session *session = NULL;
        rf_generate_options o;
        rf_error why = {0};
        static texts x;
        memset(&x, 0, sizeof x);
        rf_generate_defaults(&o);
        o.max_new_tokens = 3;
        o.batch_size = 4;
        o.num_beams = 1 + 2 * (n % 2);
        if (rf_model_random(ctx, &c, 7, &model, &why) || rf_session_open(model, &session, &why))
            fail_msg("%s", why.text);
        memory.calls = 0;
        memory.fail = n;
        const rf_status status = rf_session_generate_all(session, p, 8, &o, take, ended, &x, &why);
        failed = status != RF_OK;
        if (failed && status != RF_ENOMEM) fail_msg("allocation %ld: %s", n, why.text);
        assert_int_equal(rf_sequence_memory(session), 0);
        rf_session_close(session);
        rf_model_close(model);
        rf_ctx_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

static void refusals(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    static const int32_t id[] = {1};
    const rf_prompt p = {id, 1, 0};
    const struct { const char *part; size_t at; double value; bool real; } cases[] = {
#define O(member) offsetof(rf_generate_options, member)
        {"min_p: expected 0 to 1, got 1.5", O(min_p), 1.5, true},
        {"typical_p: expected", O(typical_p), 0, true},
        {"no_repeat_ngram_size: expected", O(no_repeat_ngram_size), -1, false},
        {"num_return_sequences: expected", O(num_return_sequences), 0, false},
        {"num_return_sequences: expected 1 without do_sample", O(num_return_sequences), 2, false},
        {"batch_size: expected", O(batch_size), 0, false},
        {"num_beams: expected", O(num_beams), 0, false},
        {"num_beams: expected at most 97 ... got 120 for 60", O(num_beams), 60,
         false},
        {"length_penalty: expected", O(length_penalty), 101, true},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_generate_options o;
        rf_error why = {0};
        rf_generate_defaults(&o);
        if (cases[i].real) memcpy((char *)&o + cases[i].at, &cases[i].value, sizeof(double));
        else memcpy((char *)&o + cases[i].at, &(int64_t){(int64_t)cases[i].value}, sizeof(int64_t));
        assert_int_equal(rf_session_generate_all(w.session, &p, 1, &o, NULL, NULL, NULL, &why), RF_EARG);
        t_failed(&why, RF_EARG, cases[i].part);
    }
    rf_error why = {0};
    assert_int_equal(rf_session_generate_all(w.session, NULL, 1, NULL, NULL, NULL, NULL, &why), RF_EARG);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_alone),
        cmocka_unit_test(beams_as_alone),
        cmocka_unit_test(many_beams_find_the_best),
        cmocka_unit_test(samples),
        cmocka_unit_test(no_ngram_comes_twice),
        cmocka_unit_test(failures_are_the_texts_own),
        cmocka_unit_test(texts_wait_for_memory),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("model/generate_all", tests, NULL, NULL);
}
