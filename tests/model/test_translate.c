/* test_translate.c — mirrors src/model/translate.c, src/model/sources.c, and of sequence.c, cache.c, beam.c and
 * generate.c what has to do with sources: texts by transformers, kept = computed again, many = alone, and the best text
 * of all that there are. */
#include "families.h"

#include "model/family.h"
#include "model/generate.h"
#include "model/model.h"
#include "roformer/sequence.h"
#include "roformer/translate.h"

enum { MOST = 8, LONGEST = 64 };

/* ---- what comes out ---- */

typedef struct text {
    int64_t n;
    int32_t id[LONGEST];
    double logprob[LONGEST], total, score;
    rf_generate_end end;
} text;
typedef struct texts { int64_t each, got; text *of; rf_error why; } texts;

static int take(void *user, int64_t source, const rf_translation *t, const rf_error *why)
{
    texts *x = user;
    if (!t) {
        x->why = *why;
        return 0;
    }
    assert_int_equal(t->source, source);
    assert_true(t->rank >= 0 && t->rank < x->each && t->n < LONGEST);
    text *to = &x->of[source * x->each + t->rank];
    assert_true(t->logprobs == t->n + 1 || (t->logprobs == t->n && t->end == RF_GENERATE_LENGTH));
    *to = (text){.n = t->n, .total = t->total, .score = t->score, .end = t->end};
    memcpy(to->id, t->id, (size_t)t->n * sizeof *t->id);
    memcpy(to->logprob, t->logprob, (size_t)t->logprobs * sizeof *t->logprob);
    x->got++;
    return 0;
}

static texts translate(rf_session *s, const rf_translate_source source[], int64_t n, const rf_generate_options *o)
{
    rf_error why = {0};
    texts x = {.each = o->num_return_sequences};
    x.of = t_bytes((size_t)(n * x.each) * sizeof *x.of);
    memset(x.of, 0, (size_t)(n * x.each) * sizeof *x.of);
    if (rf_session_translate(s, source, n, o, take, &x, &why)) fail_msg("%s", why.text);
    if (x.why.code) fail_msg("%s", x.why.text);
    assert_int_equal(x.got, n * x.each);
    return x;
}

/* ---- goldens ---- */

static double number(FILE *f)
{
    double x;
    if (fscanf(f, "%lf", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

static int64_t whole(FILE *f) { return (int64_t)number(f); }

static void word(FILE *f, const char *expected)
{
    char got[32];
    if (fscanf(f, "%31s", got) != 1 || strcmp(got, expected)) fail_msg("%s was expected", expected);
}

static void read_case(FILE *f, const rf_model *m, rf_generate_options *o)
{
    static int32_t never;
    rf_translate_defaults(m, o);
    o->num_beams = whole(f);
    o->num_return_sequences = whole(f);
    o->length_penalty = number(f);
    o->early_stopping = (rf_stop_search)whole(f);
    o->max_new_tokens = whole(f);
    o->forced_bos = (int32_t)whole(f);
    o->forced_eos = (int32_t)whole(f);
    o->renormalize_logits = (int)whole(f);
    o->no_repeat_ngram_size = whole(f);
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
    const int64_t n = whole(f), each = o->num_return_sequences;
    assert_true(n <= MOST && each <= 4);
    for (int64_t i = 0; i < n; i++) {
        word(f, "source");
        source[i] = (rf_translate_source){.id = id[i], .n = whole(f)};
        for (int64_t j = 0; j < source[i].n; j++) id[i][j] = (int32_t)whole(f);
        for (int64_t k = 0; k < each; k++) {
            text *t = &expected[i][k];
            word(f, "text");
            t->score = number(f);
            word(f, "ids");
            t->n = whole(f);
            for (int64_t j = 0; j < t->n; j++) t->id[j] = (int32_t)whole(f);
        }
    }
    const texts x = translate(s, source, n, o);
    for (int64_t i = 0; i < n * each; i++) {
        const text *t = &expected[i / each][i % each], *got = &x.of[i];
        const int64_t ended = t->n && t->id[t->n - 1] == o->stop[0];
        if (got->n != t->n - ended || memcmp(got->id, t->id, (size_t)got->n * sizeof *t->id))
            fail_msg("%s, %d beams, penalty %g: source %d, text %d is another", name, (int)o->num_beams,
                     o->length_penalty, (int)(i / each), (int)(i % each));
        if (o->num_beams > 1 && fabs(got->score - t->score) > tolerance)
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
        start[side][1] = (int32_t)whole(f);
        for (int32_t i = 0; i < start[side][1]; i++) id[side][i] = (int32_t)whole(f);
    }
    const int32_t S = start[0][1], T = start[1][1];
    const rf_batch source = {.N = S, .B = 1, .id = id[0], .start = start[0]},
                   target = {.N = T, .B = 1, .id = id[1], .start = start[1]};
    if (rf_session_translation_attention(s, &source, &target, -1, p, &why)) fail_msg("%s", why.text);
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

/* 1e-4 as in test_seq2seq.c: a score is a mean of logarithms, which err as logits do. */
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

/* ---- random models of every encoding ---- */

enum { V = 23, C = 16, HEADS = 2, EOS = 0, PAD = 22 };

static rf_config config_of(const char *encoder, const char *decoder, int rotates)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_defaults_of("transformer", &c, &why)) fail_msg("%s", why.text);
    c.vocab_size = V, c.hidden_size = c.embedding_size = C;
    c.num_hidden_layers = 1, c.decoder_layers = 2;
    c.num_attention_heads = c.decoder_attention_heads = HEADS;
    c.intermediate_size = c.decoder_ffn_dim = 24;
    c.pad_token_id = c.decoder_start_token_id = PAD;
    c.max_position_embeddings = 96;
    c.rotary_cross_attention = rotates;
    c.initializer_range = 0.4;
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", encoder);
    snprintf(c.decoder_position_embedding_type, sizeof c.decoder_position_embedding_type, "%s", decoder);
    return c;
}

typedef struct work { rf_ctx *ctx; rf_model *m; rf_session *s; } work;

static work open_work(const rf_config *c, int threads, rf_type type)
{
    work w = {.ctx = t_ctx(threads, NULL)};
    rf_error why = {0};
    if (rf_model_random_as(w.ctx, c, 7, type, &w.m, &why) || rf_session_open(w.m, &w.s, &why)) fail_msg("%s", why.text);
    return w;
}

static void close_work(work *w)
{
    assert_int_equal(rf_sequence_memory(w->s), 0);
    rf_session_close(w->s);
    rf_model_close(w->m);
    rf_ctx_free(w->ctx);
}

/* Sources of 1, 7, 70 and 3 tokens: one of more than a page. */
enum { SOURCES = 4, SOURCE_TOKENS = 81, TARGET = 67 };
static const int32_t source_start[] = {0, 1, 8, 78, 81};
static int32_t source_id[SOURCE_TOKENS], target_id[SOURCES][TARGET];

static void fill_ids(void)
{
    rf_rng r;
    rf_rng_init(&r, 5, 0);
    for (int i = 0; i < SOURCE_TOKENS; i++) source_id[i] = (int32_t)rf_rng_below(&r, V);
    for (int b = 0; b < SOURCES; b++)
        for (int i = 0; i < TARGET; i++) target_id[b][i] = i ? (int32_t)rf_rng_below(&r, V) : PAD;
}

static rf_batch sources(void)
{
    return (rf_batch){.N = SOURCE_TOKENS, .B = SOURCES, .id = source_id, .start = source_start};
}

static rf_translate_source source_of(int b)
{
    return (rf_translate_source){.id = source_id + source_start[b], .n = source_start[b + 1] - source_start[b]};
}

/* Logits [SOURCES, TARGET, V] of all pairs seen at once. */
static const float *at_once(const work *w)
{
    static int32_t row[SOURCES * TARGET], start[SOURCES + 1];
    rf_error why = {0};
    const float *z;
    for (int i = 0; i < SOURCES * TARGET; i++) row[i] = i;
    for (int b = 0; b <= SOURCES; b++) start[b] = b * TARGET;
    const rf_batch source = sources(),
                   target = {.N = SOURCES * TARGET, .B = SOURCES, .id = target_id[0], .start = start};
    if (rf_session_pair_scores(w->s, &source, &target, row, target.N, &z, &why)) fail_msg("%s", why.text);
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
    if (status == RF_EUNSUPPORTED && strstr(why.text, "keys cannot be kept")) {
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
        kept_is_computed_again(&c, RF_F32);
        if (!strcmp((*p)->name, "rotary")) kept_is_computed_again(&c, RF_BF16);
        t_free_all();
    }
    const rf_config turned = config_of("rotary", "", 1), plain = config_of("alibi", "sinusoidal_halves", 0);
    kept_is_computed_again(&turned, RF_F32);
    kept_is_computed_again(&plain, RF_F32);
    t_free_all();
}

/* ---- many are as each alone ---- */

static rf_generate_options options_of(const rf_model *m, int beams, int each)
{
    rf_generate_options o;
    rf_translate_defaults(m, &o);
    o.num_beams = beams;
    o.num_return_sequences = each;
    o.max_new_tokens = 12;
    return o;
}

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

/* ---- the best of all texts ---- */

/* Tokens that may come, and texts of at most LONG of them. */
enum { CHOICES = 4, LONG = 4, ALL = 3 * 3 * 3 * 4 + 3 * 3 + 3 + 1, BEAMS = 40, WIDE = 2 * BEAMS + 3 };
typedef struct exhaustive { int32_t id[ALL][LONG]; int n[ALL], texts; double total[ALL]; } exhaustive;

/* All texts that begin with id[0..n): of each the sum of log softmax, in double. */
static void extend(const work *w, const rf_batch *source, const int32_t allowed[], int32_t id[], int n, double total,
                   exhaustive *x)
{
    const int32_t start[] = {0, n + 1}, last = n;
    int32_t given[LONG + 1] = {PAD};
    const float *z;
    double logits[WIDE], sum = 0;
    memcpy(given + 1, id, (size_t)n * sizeof *id);
    const rf_batch target = {.N = n + 1, .B = 1, .id = given, .start = start};
    if (rf_session_pair_scores(w->s, source, &target, &last, 1, &z, NULL)) fail_msg("no scores");
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

/* The best `each` by the printed formula are those of a search whose beams hold everything; 40 beams choose among 80
 * tokens and more, of which all but four are excluded. */
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

/* The best by their largest blocks are the best of all, ties and what is excluded among them. */
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
        const int64_t n = rf__best_scores(ctx->k, &o, logits, 1.5, size, flag, KEPT, c);
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

/* ---- scores ---- */

/* What a translation is said to be worth is what it is worth. */
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
    if (rf_session_translation_logprobs(w.s, &from, &to, logprob, &why)) fail_msg("%s", why.text);
    for (int b = 0; b < SOURCES; b++) {
        double sum = 0;
        assert_memory_equal(logprob + start[b], x.of[b].logprob,
                            (size_t)(start[b + 1] - start[b]) * sizeof *logprob);
        for (int32_t i = start[b]; i < start[b + 1]; i++) sum += logprob[i];
        t_near(x.of[b].total, sum, 1e-12);
        t_near(x.of[b].score, sum / (start[b + 1] - start[b]), 1e-12);
    }
    id[0] = V;
    assert_int_equal(rf_session_translation_logprobs(w.s, &from, &to, logprob, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "token 0 is 23");
    close_work(&w);
    t_free_all();
}

/* Shares of many pairs are those of each alone, of every layer, and add up to 1. */
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
            if (rf_session_translation_attention(w.s, &from, &to, layer, all, &why)) fail_msg("%s", why.text);
            const float *p = all;
            for (int b = 0; b < SOURCES; b++) {
                const int32_t S = source_start[b + 1] - source_start[b], alone[] = {0, S};
                const rf_batch source = {.N = S, .B = 1, .id = source_id + source_start[b], .start = alone},
                               target = {.N = T, .B = 1, .id = id + b * T, .start = start};
                if (rf_session_translation_attention(w.s, &source, &target, layer < 0 ? 1 : layer, one, &why))
                    fail_msg("%s", why.text);
                assert_memory_equal(one, p, (size_t)(T * S) * sizeof *p);
                for (int t = 0; t < T; t++, p += S) {
                    double sum = 0;
                    for (int s = 0; s < S; s++) sum += (double)p[s];
                    t_near(sum, 1, 1e-5);
                }
            }
        }
        assert_int_equal(rf_session_translation_attention(w.s, &from, &to, 2, all, &why), RF_EARG);
        t_failed(&why, RF_EARG, "layer 2: the decoder has 2");
        close_work(&w);
    }
    t_free_all();
}

/* A model that is being trained translates as one that was opened. */
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
    t_failed(&x.why, RF_ERANGE, "a source of 70 tokens and max_new_tokens");
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
    refused(&w, &source, &o, RF_EARG, "num_beams: 12 beams choose among 24 tokens in each step, the vocabulary has 23");
    o = options_of(w.m, 1, 1);
    o.forced_bos = V;
    refused(&w, &source, &o, RF_ERANGE, "forced_bos 23");
    o = options_of(w.m, 1, 1);
    o.max_new_tokens = 0;
    refused(&w, &source, &o, RF_EARG, "max_new_tokens: 0, at least 1");
    refused(&w, &(rf_translate_source){.id = bad, .n = 2}, NULL, RF_ERANGE, "source: token 1 is 23");
    refused(&w, &(rf_translate_source){.id = bad, .n = 0}, NULL, RF_EARG, "source: 0 tokens; at least 1");
    source.prefix = prefix, source.prefixes = 1;
    refused(&w, &source, NULL, RF_ERANGE, "prefix: token 0 is -1");
    source.prefixes = 0;
    o = options_of(w.m, 2, 1);
    o.max_new_tokens = 120;                                         /* the decoder's positions end at 96 */
    o.stop = source_id, o.stops = 0;
    refused(&w, &source, &o, RF_ERANGE, "position");
    rf_sequence q;
    assert_int_equal(rf_sequence_new(w.s, NULL, &q, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "rf_sequence_read begins it");
    close_work(&w);

    rf_config one;
    rf_config_defaults(&one);
    one.vocab_size = V, one.hidden_size = one.embedding_size = C, one.num_attention_heads = 2;
    one.num_hidden_layers = 1, one.is_decoder = 1;
    w = open_work(&one, 1, RF_F32);
    refused(&w, &source, NULL, RF_EUNSUPPORTED, "it does not translate");
    assert_int_equal(rf_translate_check(w.m, NULL), RF_EUNSUPPORTED);
    const rf_batch from = sources();
    why = (rf_error){0};
    assert_int_equal(rf_sequence_read(w.s, NULL, &from, &q, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "has no decoder");
    close_work(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_those_of_transformers),
        cmocka_unit_test(every_encoding_keeps_its_source),
        cmocka_unit_test(many_are_as_each_alone),
        cmocka_unit_test(a_wide_search_finds_the_best_of_all),
        cmocka_unit_test(the_best_are_found_in_blocks),
        cmocka_unit_test(scores_are_those_of_the_texts),
        cmocka_unit_test(shares_of_sources),
        cmocka_unit_test(a_slab_translates),
        cmocka_unit_test(memory_is_said_and_kept_to),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("model/translate", tests, NULL, NULL);
}
