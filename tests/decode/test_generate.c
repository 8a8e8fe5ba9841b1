/* test_generate.c — mirrors src/decode/generate.c, src/decode/writing.c, src/decode/choose.c: transformers' tokens and
 * probabilities, and the documented guarantees. */
#include "t.h"

#include "decode/choose.h"
#include "roformer/model.h"

/* ---- transformers: tests/golden/generate.txt --------------------------------------------------------------------- */

static int number(FILE *f)
{
    int x;
    if (fscanf(f, "%d", &x) != 1) fail_msg("the golden file is cut short");
    return x;
}

static double real(FILE *f)
{
    double x;
    if (fscanf(f, "%lf", &x) != 1) fail_msg("the golden file is cut short");
    return x;
}

static int list(FILE *f, int32_t *x)
{
    const int n = number(f);
    for (int i = 0; i < n; i++) x[i] = number(f);
    return n;
}

struct text { int32_t id[256]; double logprob[256]; int n, stop_at; };

static int take(void *user, const rf_generated *t)
{
    struct text *x = user;
    assert_int_equal(t->index, x->n);
    x->logprob[x->n] = t->logprob;
    x->id[x->n++] = t->id;
    return x->n == x->stop_at;
}

static void check_greedy(FILE *f, bool ngrams)
{
    char name[64], folder[128];
    int32_t prompt[64], expected[64];
    if (fscanf(f, "%63s", name) != 1) fail();
    rf_generate_options o;
    rf_generate_defaults(&o);
    if (ngrams) o.no_repeat_ngram_size = number(f);
    else o.repetition_penalty = real(f);
    const int n = list(f, prompt), more = list(f, expected);
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    rf_generate_end end;
    struct text x = {0};
    o.max_new_tokens = more;
    snprintf(folder, sizeof folder, "tests/golden/models/%s", name);
    if (rf_model_open(ctx, folder, &m, &why) || rf_session_open(m, &s, &why) ||
        rf_session_generate(s, prompt, n, &o, take, &x, &end, &why))
        fail_msg("%s", why.text);
    assert_int_equal(end, RF_GENERATE_LENGTH);
    assert_int_equal(x.n, more);
    for (int i = 0; i < more; i++)
        if (x.id[i] != expected[i])
            fail_msg("%s, prompt of %d: token %d is %d, expected %d", name, n, i, x.id[i], expected[i]);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
}

/* The texts of a beam search, best first. */
struct beams { int32_t id[8][64]; int n[8]; };

static int take_beam(void *user, const rf_generated *t)
{
    struct beams *x = user;
    assert_int_equal(t->index, x->n[t->text]);
    x->id[t->text][x->n[t->text]++] = t->id;
    return 0;
}

static void check_beams(FILE *f)
{
    char name[64], folder[128];
    int32_t stop[8], start[64], expected[64];
    if (fscanf(f, "%63s", name) != 1) fail();
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.num_beams = number(f);
    o.length_penalty = real(f);
    o.early_stopping = (rf_stop_search)number(f);
    o.num_return_sequences = number(f);
    o.repetition_penalty = real(f);
    o.no_repeat_ngram_size = number(f);
    o.stops = list(f, stop);
    o.stop = stop;
    const int n = list(f, start);
    o.max_new_tokens = number(f);
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    struct beams x = {.n = {0}};
    const rf_prompt p = {.id = start, .n = n};
    snprintf(folder, sizeof folder, "tests/golden/models/%s", name);
    if (rf_model_open(ctx, folder, &m, &why) || rf_session_open(m, &s, &why) ||
        rf_session_generate_all(s, &p, 1, &o, take_beam, NULL, &x, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < o.num_return_sequences; i++) {
        const int length = list(f, expected);
        if (x.n[i] != length || memcmp(x.id[i], expected, (size_t)length * sizeof *expected))
            fail_msg("%s, %d beams, penalty %g: text %d of %d tokens is another, expected %d", name, (int)o.num_beams,
                     o.length_penalty, i, x.n[i], length);
    }
    assert_int_equal(rf_sequence_memory(s), 0);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
}

/* Logits of f32: some 1e-6 in each of the log-probabilities. */
static void check_stride(FILE *f)
{
    char name[64], folder[128];
    int32_t id[128];
    double logprob[128], sum = 0;
    if (fscanf(f, "%63s", name) != 1) fail();
    const int window = number(f), stride = number(f), n = list(f, id), predicted = number(f);
    const double expected = real(f);
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    snprintf(folder, sizeof folder, "tests/golden/models/%s", name);
    if (rf_model_open(ctx, folder, &m, &why) || rf_session_open(m, &s, &why) ||
        rf_session_logprobs(s, id, n, window, stride, logprob, 0, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(predicted, n - 1);
    for (int i = 0; i < n; i++) sum += logprob[i];
    t_near(sum, expected, 2e-5 * n);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
}

/* Both in double from the same scores: 40 exponentials and a sum have errors of some 1e-15. */
static void check_warp(FILE *f)
{
    enum { MOST = 64 };
    rf_generate_options o;
    rf__candidate c[MOST];
    float score[MOST];
    uint8_t flag[MOST] = {0};
    double got[MOST] = {0};
    int32_t seen[MOST];
    const int V = number(f);
    assert_true(V <= MOST);
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.temperature = real(f);
    o.top_k = number(f);
    o.top_p = real(f);
    o.repetition_penalty = real(f);
    o.min_p = real(f);
    o.typical_p = real(f);
    for (int i = 0, n = list(f, seen); i < n; i++) flag[seen[i]] = RF__SEEN;
    for (int i = 0; i < V; i++) score[i] = (float)real(f);
    const int64_t n = rf__candidates(&o, &(rf__scores){score, flag, NULL, V}, c);
    for (int64_t i = 0; i < n; i++) {
        got[c[i].id] = c[i].p;
        if (i) assert_true(c[i].p <= c[i - 1].p);
    }
    for (int i = 0; i < V; i++) t_near(got[i], real(f), 1e-12);
}

/* Greedy: the first of the largest scores, after a penalty that changes those of earlier tokens. */
static void the_likeliest(void **state)
{
    (void)state;
    enum { V = 40 };
    rf_generate_options o;
    rf_generate_defaults(&o);
    for (uint32_t seed = 1; seed < 3000; seed++) {
        float score[V];
        uint8_t flag[V];
        rf__candidate c;
        uint32_t x = seed * 2654435761U;
        int32_t best = -1;
        double most = 0;
        o.repetition_penalty = (const double[]){1, 1.5, 0.5}[seed % 3];
        for (int i = 0; i < V; i++) {
            x = x * 1664525 + 1013904223;
            score[i] = (float)((int)(x >> 24) % 9 - (seed % 2 ? 4 : 9));
            flag[i] = (uint8_t)((x >> 12 & 7) < 3 ? (1U << (x >> 12 & 3)) & 7 : 0);
            const double p = !(flag[i] & RF__SEEN) ? (double)score[i]
                             : score[i] > 0 ? (double)score[i] / o.repetition_penalty
                                            : (double)score[i] * o.repetition_penalty;
            if (flag[i] & (RF__SUPPRESSED | RF__REPEATS)) continue;
            if (best < 0 || p > most) best = i, most = p;
        }
        assert_int_equal(rf__draw(&o, &(rf__scores){score, flag, NULL, V}, 0, &c), best);
    }
}

/* At the lowest temperature and with the largest logits only the largest has a probability; nothing is infinite. */
static void extremes(void **state)
{
    (void)state;
    const double lowest[] = {RF_TEMPERATURE_LEAST, 1e-300, 1e-307, 1e-308, 5e-324};
    const float score[4] = {3e38f, -3e38f, 2.9e38f, 3e38f};
    const uint8_t flag[4] = {0, RF__SEEN, RF__SEEN, 0};
    rf__candidate c[4];
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.repetition_penalty = RF_REPETITION_PENALTY_MOST;
    for (size_t t = 0; t < sizeof lowest / sizeof *lowest; t++) {
        o.temperature = lowest[t];
        assert_int_equal(rf__candidates(&o, &(rf__scores){score, flag, NULL, 4}, c), 4);
        for (int i = 0; i < 4; i++) t_near(c[i].p, c[i].id == 0 || c[i].id == 3 ? 0.5 : 0, 0);
        const rf__scores unseen = {(const float[]){1, 1.5f, -2, 0}, (const uint8_t[4]){0}, NULL, 4};
        assert_int_equal(rf__candidates(&o, &unseen, c), 4);
        assert_int_equal(c[0].id, 1);
        t_near(c[0].p, 1, 0);
    }
}

/* ---- draws from a large vocabulary, whose order is made as far as they go ---- */

enum { LARGE = 6007 };

static int likelier(const void *a, const void *b)
{
    const rf__candidate *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p ? -1 : 1) : x->id - y->id;
}

/* All tokens sorted, then the definitions of the options; returns how many remain. */
static int64_t all_in_order(const rf_generate_options *o, const float *logits, rf__candidate *c)
{
    double sum = 0, left = 0;
    int64_t n = o->top_k ? o->top_k : LARGE, m = 0;
    for (int i = 0; i < LARGE; i++) c[i] = (rf__candidate){.p = (double)logits[i] / o->temperature, .id = i};
    qsort(c, LARGE, sizeof *c, likelier);
    for (int64_t i = n; i-- > 0;) sum += c[i].p = exp(c[i].p - c[0].p);
    for (int64_t i = 0; i < n; i++) c[i].p /= sum;
    while (m < n && left < o->top_p) left += c[m++].p;
    for (n = m, m = 0, sum = left, left = 0; m < n && c[m].p >= o->min_p * c[0].p; m++) left += c[m].p / sum;
    for (int64_t i = 0; i < m; i++) c[i].p /= sum * left;
    return m;
}

static void draws_are_those_of_all_in_order(void **state)
{
    (void)state;
    rf__candidate *c = t_bytes(LARGE * sizeof *c), *all = t_bytes(LARGE * sizeof *all);
    static const uint8_t flag[LARGE];
    const struct { double temperature, top_p, min_p; int top_k; } cases[] = {
        {1, 1, 0, 0},     {0.3, 1, 0, 0},  {5, 1, 0, 0},           {1, 0.9, 0, 0},
        {2, 0.999, 0, 0}, {1, 1, 0.01, 0}, {1, 0.95, 0.001, 300},
    };
    int drawn = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int round = 0; round < 4; round++) {
            float *logits = t_normal(LARGE);
            for (int i = 0; i < LARGE && round % 2; i++) logits[i] = floorf(2 * logits[i]);        /* many are equal */
            rf_generate_options o;
            rf_generate_defaults(&o);
            o.do_sample = 1;
            o.temperature = cases[k].temperature;
            o.top_p = cases[k].top_p;
            o.min_p = cases[k].min_p;
            o.top_k = cases[k].top_k;
            const int64_t n = all_in_order(&o, logits, all);
            for (int j = 0; j < 40; j++) {
                const double chance = (j + 0.5) / 40;
                double sum = 0;
                int64_t i = 0;
                while (i + 1 < n && chance >= sum + all[i].p) sum += all[i++].p;
                if (fabs(chance - sum) < 1e-11 || fabs(chance - sum - all[i].p) < 1e-11) continue;   /* on an edge */
                assert_int_equal(rf__draw(&o, &(rf__scores){logits, flag, NULL, LARGE}, chance, c), all[i].id);
                drawn++;
            }
        }
    assert_true(drawn > 1000);
    t_free_all();
}

static void agrees_with_transformers(void **state)
{
    (void)state;
    FILE *f = fopen("tests/golden/generate.txt", "r");
    char word[32];
    int greedy = 0, warps = 0, beams = 0, strides = 0;
    assert_non_null(f);
    while (fgetc(f) != '\n') {}
    while (fscanf(f, "%31s", word) == 1)
        if (!strcmp(word, "warp")) check_warp(f), warps++;
        else if (!strcmp(word, "beams")) check_beams(f), beams++;
        else if (!strcmp(word, "stride")) check_stride(f), strides++;
        else check_greedy(f, !strcmp(word, "ngrams")), greedy++;
    fclose(f);
    assert_true(greedy == 18 && warps == 23 && beams == 16 && strides == 10);
}

/* ---- a random model ---------------------------------------------------------------------------------------------- */

struct work { rf_ctx *ctx; rf_model *model; rf_session *session; };

static struct work begin(const char *keys, int threads)
{
    struct work w = {.ctx = t_ctx(threads, NULL)};
    char text[512];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":61,\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_"
             "size\":64,\"initializer_range\":0.2,\"max_position_embeddings\":40,\"is_decoder\":true%s}",
             keys);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why) ||
        rf_model_random(w.ctx, &c, 7, &w.model, &why) || rf_session_open(w.model, &w.session, &why))
        fail_msg("%s", why.text);
    return w;
}

static void end_work(struct work *w)
{
    rf_session_close(w->session);
    rf_model_close(w->model);
    rf_ctx_free(w->ctx);
}

static const int32_t prompt[] = {2, 17, 5};

static struct text go(const struct work *w, const rf_generate_options *o, int stop_at, rf_generate_end *end)
{
    struct text x = {.stop_at = stop_at};
    rf_error why = {0};
    if (rf_session_generate(w->session, prompt, 3, o, take, &x, end, &why)) fail_msg("%s", why.text);
    return x;
}

/* The same seed gives the same tokens with any number of threads; other seeds give others. */
static void seeds(void **state)
{
    (void)state;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.max_new_tokens = 40;
    struct work one = begin("", 1), two = begin("", 2);
    const struct text a = go(&one, &o, 0, NULL), b = go(&two, &o, 0, NULL), again = go(&one, &o, 0, NULL);
    assert_memory_equal(a.id, b.id, 40 * sizeof *a.id);
    assert_memory_equal(a.id, again.id, 40 * sizeof *a.id);
    o.seed = 43;
    const struct text c = go(&one, &o, 0, NULL);
    assert_memory_not_equal(a.id, c.id, 40 * sizeof *a.id);
    end_work(&one);
    end_work(&two);
}

/* Random numbers depend on the seed, the prompt and the number of its earlier occurrences. */
static void occurrences(void **state)
{
    (void)state;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.max_new_tokens = 40;
    o.temperature = 1000;                               /* nearly uniform: the tokens are the random numbers */
    struct work w = begin("", 1);
    struct text other = {0};
    rf_error why = {0};
    const struct text first = go(&w, &o, 0, NULL);
    o.occurrence = 1;
    const struct text second = go(&w, &o, 0, NULL);
    assert_memory_not_equal(first.id, second.id, 40 * sizeof *first.id);
    o.occurrence = 0;
    const int32_t another[] = {2, 17, 6};
    assert_int_equal(rf_session_generate(w.session, another, 3, &o, take, &other, NULL, &why), RF_OK);
    int equal = 0;
    for (int i = 0; i < 40; i++) equal += first.id[i] == other.id[i];
    assert_true(equal < 10);                            /* of 61 tokens; with the seed alone it was nearly 40 */
    const struct text again = go(&w, &o, 0, NULL);
    assert_memory_equal(first.id, again.id, 40 * sizeof *first.id);
    end_work(&w);
}

/* The first token for 4000 seeds: each frequency is within five deviations of the model's probability. */
static void draws_have_their_shares(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    struct work w = begin("", 1);
    rf_generate_options o;
    int count[61] = {0};
    double p[61] = {0};
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.max_new_tokens = 1;
    for (int i = 0; i < DRAWS; i++) {
        o.seed = (uint64_t)i;
        const struct text x = go(&w, &o, 0, NULL);
        count[x.id[0]]++;
        p[x.id[0]] = exp(x.logprob[0]);
    }
    double sum = 0;
    for (int i = 0; i < 61; i++) {
        if (fabs(count[i] - DRAWS * p[i]) > 5 * sqrt(DRAWS * p[i] * (1 - p[i])) + 1)
            fail_msg("token %d: %d draws, p %g", i, count[i], p[i]);
        sum += p[i];
    }
    assert_true(sum > 0.99 && sum < 1 + 1e-6);                       /* unlikely ones may not have come */
    end_work(&w);
}

static void ends(void **state)
{
    (void)state;
    struct work w = begin("", 1);
    rf_generate_options o;
    rf_generate_end end;
    rf_generate_defaults(&o);
    o.do_sample = 1;
    o.max_new_tokens = 30;
    const struct text free_run = go(&w, &o, 0, &end);
    assert_int_equal(end, RF_GENERATE_LENGTH);
    assert_int_equal(rf_sequence_memory(w.session), 0);             /* nothing is left of the text */
    struct text x = go(&w, &o, 7, &end);
    assert_int_equal(end, RF_GENERATE_SINK);
    assert_int_equal(x.n, 7);
    o.stop = &free_run.id[9];
    o.stops = 1;
    int first = 0;
    while (free_run.id[first] != free_run.id[9]) first++;
    x = go(&w, &o, 0, &end);
    assert_int_equal(end, RF_GENERATE_STOP);
    assert_int_equal(x.n, first + 1);
    assert_memory_equal(x.id, free_run.id, (size_t)x.n * sizeof *x.id);
    int32_t all[61];
    for (int i = 0; i < 61; i++) all[i] = i;
    o.stops = 0;
    o.suppress = all;
    o.suppressed = 60;                                               /* one is left */
    x = go(&w, &o, 0, &end);
    for (int i = 0; i < 30; i++) assert_int_equal(x.id[i], 60);
    o.suppressed = 61;
    rf_error why = {0};
    assert_int_equal(rf_session_generate(w.session, prompt, 3, &o, NULL, NULL, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "all 61 tokens");
    o.max_new_tokens = 0;
    o.suppressed = 0;
    x = go(&w, &o, 0, &end);
    assert_true(x.n == 0 && end == RF_GENERATE_LENGTH);
    end_work(&w);
}

/* If keys cannot be cached, the text is recomputed: the results are the model's nevertheless. */
static void without_a_cache(void **state)
{
    (void)state;
    static const char *const keys[] = {",\"position_embedding_type\":\"rerope\",\"rerope_window\":4",
                                       ",\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4}"};
    for (size_t k = 0; k < RF_COUNT(keys); k++) {
        struct work w = begin(keys[k], 1);
        rf_generate_options o;
        rf_error why = {0};
        rf_generate_defaults(&o);
        o.max_new_tokens = 50;                                       /* beyond the 40 that dynamic knows */
        const struct text x = go(&w, &o, 0, NULL);
        int32_t text[60];
        memcpy(text, prompt, sizeof prompt);
        memcpy(text + 3, x.id, 50 * sizeof *text);
        for (int i = 0; i < 50; i += 7) {
            const int32_t start[2] = {0, 3 + i}, row = 2 + i;
            const rf_batch b = {.N = 3 + i, .B = 1, .id = text, .start = start};
            const float *v;
            if (rf_session_mlm_logits(w.session, &b, &row, 1, &v, &why)) fail_msg("%s", why.text);
            for (int j = 0; j < 61; j++) assert_true(v[j] <= v[x.id[i]]);
        }
        end_work(&w);
    }
}

/* The most likely tokens of each new one: all of them, or the first few. */
struct likely { int n; int64_t most; rf_token_logprob all[3][61]; };

static int take_likely(void *user, const rf_generated *token)
{
    struct likely *x = user;
    double sum = 0;
    int chosen = 0;
    assert_int_equal(token->tops, x->most);
    for (int64_t i = 0; i < token->tops; i++) {
        const rf_token_logprob *y = &token->top[i];
        if (i) assert_true(y[-1].logprob > y->logprob || (y[-1].logprob == y->logprob && y[-1].id < y->id));
        chosen += y->id == token->id && y->logprob == token->logprob;
        sum += exp(y->logprob);
        if (x->most == 61) x->all[x->n][i] = *y;
        else assert_memory_equal(y, &x->all[x->n][i], sizeof *y);
    }
    if (x->most == 61) t_near(sum, 1, 1e-6);    /* of 61 terms, each with the rounding of double */
    if (x->most) assert_int_equal(chosen, 1);
    x->n++;
    return 0;
}

static void the_most_likely_tokens(void **state)
{
    (void)state;
    struct work w = begin("", 1);
    static struct likely x;
    rf_generate_options o;
    rf_error why;
    rf_generate_defaults(&o);
    o.max_new_tokens = 3;
    for (int i = 0; i < 3; i++) {
        o.top_logprobs = x.most = (int64_t[]){61, 5, 0}[i];
        x.n = 0;
        if (rf_session_generate(w.session, prompt, 3, &o, take_likely, &x, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(x.n, 3);
    }
    end_work(&w);
}

/* Greedy texts by the formula of OpenAI's API: of the log-probabilities of all tokens, each minus presence_penalty if
 * the new text has it, and minus frequency_penalty for each time. A prompt does not count. */
struct penalized { double presence, frequency; int times[61], n, others; };

static int take_penalized(void *user, const rf_generated *y)
{
    struct penalized *x = user;
    double best = -INFINITY, chosen = 0;
    for (int i = 0; i < 61; i++) {
        const int k = x->times[y->top[i].id];
        const double score = y->top[i].logprob - (k ? x->presence : 0) - k * x->frequency;
        best = fmax(best, score);
        if (y->top[i].id == y->id) chosen = score;
    }
    t_near(chosen, best, 1e-9);     /* scores of float logits, in double, differ by more or are equal */
    x->others += y->id != y->top[0].id;
    x->times[y->id]++;
    x->n++;
    return 0;
}

static void penalties_of_the_new_text(void **state)
{
    (void)state;
    struct work w = begin("", 1);
    const double pairs[][2] = {{0, 0}, {2, 0}, {0, 0.125}, {0.5, 0.5}, {-2, 0}, {1, -0.25}};
    int others = 0;
    for (size_t k = 0; k < RF_COUNT(pairs); k++) {
        rf_generate_options o;
        rf_error why;
        struct penalized x = {.presence = pairs[k][0], .frequency = pairs[k][1]};
        rf_generate_defaults(&o);
        o.max_new_tokens = 24;
        o.top_logprobs = 61;
        o.presence_penalty = x.presence;
        o.frequency_penalty = x.frequency;
        if (rf_session_generate(w.session, prompt, 3, &o, take_penalized, &x, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(x.n, 24);
        if (!k) assert_int_equal(x.others, 0);
        others += x.others;
    }
    assert_true(others > 0);
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.num_beams = 2;
    o.frequency_penalty = 1;
    assert_int_equal(rf_session_generate(w.session, prompt, 3, &o, NULL, NULL, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "presence_penalty, frequency_penalty: expected 0 with beam search, got 0 and 1");
    end_work(&w);
}

static void refusals(void **state)
{
    (void)state;
    struct work w = begin(",\"position_embedding_type\":\"absolute\"", 1);
    rf_error why;
#define SIZED .size = sizeof(rf_generate_options)
    const struct { const char *part; rf_generate_options o; } cases[] = {
        {"rf_generate_options: size: expected ", {.max_new_tokens = 1, .temperature = 1}},
        {"max_new_tokens: expected",
         {SIZED, .max_new_tokens = -1, .temperature = 1, .top_p = 1, .repetition_penalty = 1}},
        {"temperature: expected", {SIZED, .max_new_tokens = 1, .temperature = 0, .top_p = 1, .repetition_penalty = 1}},
        {"got nan", {SIZED, .max_new_tokens = 1, .temperature = NAN, .top_p = 1, .repetition_penalty = 1}},
        {"temperature: expected 1e-06 to 1000000, got 1e-07",
         {SIZED, .max_new_tokens = 1, .temperature = 1e-7, .top_p = 1, .repetition_penalty = 1}},
        {"top_k: expected",
         {SIZED, .max_new_tokens = 1, .temperature = 1, .top_k = -2, .top_p = 1, .repetition_penalty = 1}},
        {"top_p: expected", {SIZED, .max_new_tokens = 1, .temperature = 1, .top_p = 0, .repetition_penalty = 1}},
        {"got 1.5", {SIZED, .max_new_tokens = 1, .temperature = 1, .top_p = 1.5, .repetition_penalty = 1}},
        {"top_logprobs: expected 0 to 128, got 129",
         {SIZED, .max_new_tokens = 1, .temperature = 1, .top_p = 1, .repetition_penalty = 1, .typical_p = 1,
          .num_return_sequences = 1, .batch_size = 1, .num_beams = 1, .length_penalty = 1, .forced_bos = -1,
          .forced_eos = -1, .top_logprobs = 129}},
        {"repetition_penalty: expected",
         {SIZED, .max_new_tokens = 1, .temperature = 1, .top_p = 1, .repetition_penalty = 0}},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        why = (rf_error){0};
        assert_int_equal(rf_session_generate(w.session, prompt, 3, &cases[i].o, NULL, NULL, NULL, &why), RF_EARG);
        t_failed(&why, RF_EARG, cases[i].part);
    }
    rf_generate_options o;
    rf_generate_defaults(&o);
    why = (rf_error){0};
    assert_int_equal(rf_session_generate(w.session, prompt, 0, &o, NULL, NULL, NULL, &why), RF_EARG);
    why = (rf_error){0};
    assert_int_equal(rf_session_generate(w.session, (const int32_t[]){61}, 1, &o, NULL, NULL, NULL, &why), RF_ERANGE);
    struct text x = {0};
    why = (rf_error){0};
    assert_int_equal(rf_session_generate(w.session, prompt, 3, &o, take, &x, NULL, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "(max_position_embeddings), got 40");
    assert_int_equal(x.n, 38);                                       /* positions 0 to 39 were read */
    end_work(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_transformers), cmocka_unit_test(the_likeliest), cmocka_unit_test(extremes),
        cmocka_unit_test(seeds),
        cmocka_unit_test(draws_are_those_of_all_in_order), cmocka_unit_test(the_most_likely_tokens),
        cmocka_unit_test(penalties_of_the_new_text),
        cmocka_unit_test(occurrences), cmocka_unit_test(draws_have_their_shares),
        cmocka_unit_test(ends),                     cmocka_unit_test(without_a_cache), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("model/generate", tests, NULL, NULL);
}
