/* test_beam.c — mirrors src/decode/beam.c, and the parts of choose.c that it uses: finds the best of all possible
 * texts. */
#include "decode/choose.h"
#include "../model/translating.h"

/* The allowed tokens, and texts of at most LONG of them. */
enum { CHOICES = 4, LONG = 4, ALL = 3 * 3 * 3 * 4 + 3 * 3 + 3 + 1, BEAMS = 40, WIDE = 2 * BEAMS + 3 };
typedef struct exhaustive { int32_t id[ALL][LONG]; int n[ALL], texts; double total[ALL]; } exhaustive;

/* All texts that begin with id[0..n): the sum of log softmax of each, in double. */
static void extend(const work *w, const rf_batch *source, const int32_t allowed[], int32_t id[], int n, double total,
                   exhaustive *x)
{
    const int32_t start[] = {0, n + 1}, last = n;
    int32_t given[LONG + 1] = {PAD};
    const float *z;
    double logits[WIDE], sum = 0;
    memcpy(given + 1, id, (size_t)n * sizeof *id);
    const rf_batch target = {.N = n + 1, .B = 1, .id = given, .start = start};
    if (rf_session_pair_logits(w->s, source, &target, &last, 1, &z, NULL)) fail_msg("no scores");
    for (int v = 0; v < WIDE; v++) logits[v] = (double)z[v], sum += exp(logits[v]);
    for (int k = 0; k < CHOICES; k++) {
        const double now = total + logits[allowed[k]] - log(sum);
        id[n] = allowed[k];
        if (allowed[k] != EOS && n + 1 < LONG) {
            extend(w, source, allowed, id, n + 1, now, x);
            continue;
        }
        assert_true(x->texts < ALL);
        memcpy(x->id[x->texts], id, (size_t)(n + 1) * sizeof *id);
        x->n[x->texts] = n + 1;
        x->total[x->texts++] = now;
    }
}

static double norm(rf_length_norm how, double n, double alpha)
{
    return how == RF_LENGTH_GNMT ? pow(5 + n, alpha) / pow(5 + 1, alpha) : pow(n, alpha);
}

/* The best `each` by the formula are those of a search whose beams include everything; 40 beams choose among 80 tokens
 * and more, of which all but four are excluded. */
static void check_best(const work *w, const rf_batch *source, const int32_t allowed[], const exhaustive *x,
                       rf_length_norm how, double alpha)
{
    enum { EACH = 5 };
    int32_t never[WIDE];
    rf_generate_options o = options_of(w->m, BEAMS, EACH);
    o.suppress = never, o.suppressed = 0;
    for (int32_t v = 0; v < WIDE; v++) {
        bool may = false;
        for (int k = 0; k < CHOICES; k++) may = may || allowed[k] == v;
        if (!may) never[o.suppressed++] = v;
    }
    o.max_new_tokens = LONG, o.length_norm = how, o.length_penalty = alpha, o.early_stopping = RF_STOP_NEVER;
    const rf_translate_source one = {.id = source->id, .n = source->N};
    const texts got = translate(w->s, &one, 1, &o);
    bool used[ALL] = {false};
    for (int k = 0; k < EACH; k++) {
        int best = -1;
        for (int i = 0; i < x->texts; i++)
            if (!used[i] && (best < 0 || x->total[i] / norm(how, x->n[i], alpha) >
                                             x->total[best] / norm(how, x->n[best], alpha)))
                best = i;
        used[best] = true;
        const bool ended = x->id[best][x->n[best] - 1] == EOS;
        assert_int_equal(got.of[k].n, x->n[best] - ended);
        assert_memory_equal(got.of[k].id, x->id[best], (size_t)got.of[k].n * sizeof(int32_t));
        t_near(got.of[k].score, x->total[best] / norm(how, x->n[best], alpha), 1e-5);
        t_near(got.of[k].total, x->total[best], 1e-5);
    }
}

static void a_wide_search_finds_the_best_of_all(void **state)
{
    (void)state;
    static exhaustive x;
    const int32_t allowed[CHOICES] = {EOS, 4, 9, 13};
    fill_ids();
    rf_config c = config_of("rotary", "", 0);
    c.vocab_size = WIDE;
    work w = open_work(&c, 1, RF_F32);
    for (int b = 0; b < SOURCES; b++) {
        int32_t id[LONG];
        const int32_t n = source_start[b + 1] - source_start[b], start[] = {0, n};
        const rf_batch source = {.N = n, .B = 1, .id = source_id + source_start[b], .start = start};
        x.texts = 0;
        extend(&w, &source, allowed, id, 0, 0, &x);
        for (int a = 0; a < 4; a++) {
            check_best(&w, &source, allowed, &x, RF_LENGTH_POWER, 0.5 * a);
            check_best(&w, &source, allowed, &x, RF_LENGTH_GNMT, 0.5 * a);
        }
        t_free_all();
    }
    close_work(&w);
}

/* The best by the largest logits of blocks are the best of all, including ties and excluded tokens. */
static void the_best_are_found_in_blocks(void **state)
{
    (void)state;
    enum { LARGE = 9001, KEPT = 12 };
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_generate_options o;
    rf_rng r;
    rf__candidate *c = t_bytes(LARGE * sizeof *c), *all = t_bytes(LARGE * sizeof *all);
    uint8_t *flag = t_bytes(LARGE);
    int32_t never[9];
    rf_generate_defaults(&o);
    rf_rng_init(&r, 3, 0);
    for (int round = 0; round < 60; round++) {
        const int64_t size = round % 3 ? LARGE : 700;
        float *logits = t_normal(size);
        if (round % 2)
            for (int64_t i = 0; i < size; i++) logits[i] = floorf(4 * logits[i]);               /* many are equal */
        memset(flag, 0, LARGE);
        o.suppress = never, o.suppressed = round % 10;
        for (int64_t i = 0; i < o.suppressed; i++) {
            int64_t best = 0;
            for (int64_t j = 0; j < size; j++)
                if (!flag[j] && (flag[best] || logits[j] > logits[best])) best = j;
            never[i] = (int32_t)(i % 2 ? rf_rng_below(&r, (uint32_t)size) : (uint32_t)best);
            flag[never[i]] = RF__SUPPRESSED;
        }
        o.renormalize_logits = 0;
        const int64_t n = rf__best_logprobs(ctx->k, &o, logits, 1.5, size, flag, KEPT, c);
        int64_t m = 0;
        for (int64_t i = 0; i < size; i++)
            if (!flag[i]) all[m++] = (rf__candidate){.p = (double)logits[i] - 1.5, .id = (int32_t)i};
        assert_int_equal(n, KEPT);
        for (int64_t i = 0; i < n; i++) {
            int64_t best = -1;
            for (int64_t j = 0; j < m; j++)
                if (all[j].id >= 0 && (best < 0 || all[j].p > all[best].p)) best = j;
            assert_int_equal(c[i].id, all[best].id);
            assert_true(c[i].p == all[best].p);
            all[best].id = -1;
        }
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_search_finds_the_best_of_all),
        cmocka_unit_test(the_best_are_found_in_blocks),
    };
    return cmocka_run_group_tests_name("model/beam", tests, NULL, NULL);
}
