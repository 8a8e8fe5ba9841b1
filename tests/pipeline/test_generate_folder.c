/* test_generate_folder.c — mirrors src/pipeline/generate.c: end tokens and suppressed tokens come from
 * generation_config.json, without options and with options that do not set them. */
#define _GNU_SOURCE
#include "small_pipeline.h"

enum { V = 34, NEW = 30 };
static const char prompt[] = "the old";

/* A causal model; `says` is its generation_config.json, or NULL. */
static setup begin_of(uint64_t seed, const char *says)
{
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    write_config_of(s.folder, V, ", \"is_decoder\": true");
    random_weights(s.ctx, s.folder, seed);
    if (says) t_write(s.folder, "generation_config.json", says, strlen(says));
    open_pipeline(&s);
    return s;
}

static setup begin(const char *says) { return begin_of(5, says); }

static int remember(void *user, const rf_generated *token)
{
    int32_t *id = user;
    if (!token->stops) id[++*id] = token->id;
    return 0;
}

/* The same through the session, with every list given: id[0] of them. */
static void by_hand(setup *s, rf_generate_options o, const int32_t *stop, int32_t forbidden, int32_t *id)
{
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(s->p));
    const int32_t text[] = {rf_tokenizer_cls(t), rf_tokenizer_id(t, "the"), rf_tokenizer_id(t, "old")};
    int32_t never[V + 8] = {rf_tokenizer_pad(t), rf_tokenizer_unk(t), rf_tokenizer_cls(t), rf_tokenizer_mask(t)};
    int64_t n = 4;
    if (forbidden >= 0) never[n++] = forbidden;
    for (int32_t i = 0; i < V; i++)
        if (!rf_tokenizer_token(t, i)) never[n++] = i;
    o.stop = stop;
    o.stops = 1;
    o.suppress = never;
    o.suppressed = n;
    *id = 0;
    if (rf_session_generate(rf_pipeline_session(s->p), text, 3, &o, remember, id, NULL, &s->why))
        fail_msg("%s", s->why.text);
}

static void expect(setup *s, const rf_generate_options *o, const int32_t *id)
{
    const rf_generation *g;
    if (rf_generate(s->p, prompt, RF_STRING, o, NULL, NULL, &g, &s->why)) fail_msg("%s", s->why.text);
    assert_int_equal(g->n, id[0]);
    assert_memory_equal(g->id, id + 1, (size_t)id[0] * sizeof *id);
}

/* For every token of the text without settings: it ends the text, and then it is suppressed. */
static void lists_are_the_folders(void **state)
{
    (void)state;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.max_new_tokens = NEW;
    o.do_sample = 1;
    int32_t id[NEW + 1] = {0}, expected[NEW + 1];
    uint64_t seed = 0;
    while (id[0] < 6) {                                                  /* weights whose text is long enough */
        setup plain = begin_of(++seed, NULL);
        const int32_t sep = rf_tokenizer_sep(rf_model_tokenizer(rf_pipeline_model(plain.p)));
        by_hand(&plain, o, &sep, -1, id);
        expect(&plain, &o, id);
        end(&plain);
    }
    for (int i = 3; i <= 4; i++) {
        char says[160];
        snprintf(says, sizeof says,
                 "{\"eos_token_id\": %d, \"suppress_tokens\": [%d], \"do_sample\": true, \"top_k\": 0, "
                 "\"max_new_tokens\": %d}", (int)id[i], (int)id[1], NEW);
        setup s = begin_of(seed, says);
        rf_generate_options own;
        by_hand(&s, o, &id[i], id[1], expected);
        expect(&s, &o, expected);                                    /* options that know of no folder */
        expect(&s, NULL, expected);
        if (rf_generate_defaults_of(s.p, &own, &s.why)) fail_msg("%s", s.why.text);
        assert_int_equal(own.stops, 1);
        assert_int_equal(own.stop[0], id[i]);
        assert_int_equal(own.suppressed, 1);
        assert_int_equal(own.max_new_tokens, NEW);
        assert_int_equal(own.do_sample, 1);
        expect(&s, &own, expected);
        end(&s);
    }
}

/* Without settings, [SEP] ends a text, and the query reports it. */
static void sep_ends_a_text_of_a_silent_folder(void **state)
{
    (void)state;
    setup s = begin(NULL);
    rf_generate_options own;
    const int32_t sep = rf_tokenizer_sep(rf_model_tokenizer(rf_pipeline_model(s.p)));
    if (rf_generate_defaults_of(s.p, &own, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(own.stops, 1);
    assert_int_equal(own.stop[0], sep);
    int32_t id[65];
    by_hand(&s, own, &sep, -1, id);
    expect(&s, NULL, id);
    end(&s);
}

/* Missing things that the folder requires are reported by name when the folder is opened. */
static void a_folder_that_cannot_be_followed(void **state)
{
    (void)state;
    setup s = begin("{\"num_beam_groups\": 2}");
    rf_generate_options o;
    const rf_generation *g;
    assert_int_equal(rf_generate_defaults_of(s.p, &o, &s.why), RF_EUNSUPPORTED);
    t_failed(&s.why, RF_EUNSUPPORTED, "num_beam_groups");
    s.why = (rf_error){0};
    assert_int_equal(rf_generate(s.p, prompt, RF_STRING, NULL, NULL, NULL, &g, &s.why), RF_EUNSUPPORTED);
    s.why = (rf_error){0};
    const int32_t text[] = {2, 5};
    assert_int_equal(rf_session_generate(rf_pipeline_session(s.p), text, 2, NULL, NULL, NULL, NULL, &s.why),
                     RF_EUNSUPPORTED);
    rf_generate_defaults(&o);
    s.why = (rf_error){0};
    if (rf_generate(s.p, prompt, RF_STRING, &o, NULL, NULL, &g, &s.why)) fail_msg("%s", s.why.text);
    end(&s);
}

/* A causal model with a byte-level tokenizer that puts no token before a text. */
static setup begin_bare(const char *says)
{
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    static const char class[] = "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"eos_token\": \"<|endoftext|>\"}";
    rf_tokenizer *t = NULL;
    char from[] = "tests/golden/byte_level/gpt2.tokenizer.json", *text;
    size_t size;
    if (rf__read_file(s.ctx, from, 1 << 24, &text, &size, &s.why)) fail_msg("%s", s.why.text);
    t_write(s.folder, "tokenizer.json", text, size);
    rf__free(s.ctx, text);
    t_write(s.folder, "tokenizer_config.json", class, strlen(class));
    if (rf_tokenizer_open(s.ctx, s.folder, &t, &s.why)) fail_msg("%s", s.why.text);
    write_config_of(s.folder, rf_tokenizer_size(t), ", \"is_decoder\": true");
    rf_tokenizer_free(t);
    random_weights(s.ctx, s.folder, 7);
    if (says) t_write(s.folder, "generation_config.json", says, strlen(says));
    open_pipeline(&s);
    return s;
}

static void expect_after(setup *s, const char *text, const int32_t *prompt_ids, int64_t n)
{
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.max_new_tokens = 8;
    o.special_tokens = 1;
    const rf_generation *g;
    int32_t id[32] = {0};
    rf_generate_options plain = o;
    const int32_t end_of_text = rf_tokenizer_sep(rf_model_tokenizer(rf_pipeline_model(s->p)));
    plain.stop = &end_of_text;
    plain.stops = 1;
    if (rf_session_generate(rf_pipeline_session(s->p), prompt_ids, n, &plain, remember, id, NULL, &s->why))
        fail_msg("%s", s->why.text);
    if (rf_generate(s->p, text, RF_STRING, &o, NULL, NULL, &g, &s->why)) fail_msg("%s", s->why.text);
    assert_int_equal(g->n, id[0]);
    assert_memory_equal(g->id, id + 1, (size_t)id[0] * sizeof *id);
}

/* The prompt has the tokens of the tokenizer and no other one, and the first of them has no probability. */
static void no_token_before_a_prompt(void **state)
{
    (void)state;
    setup s = begin_bare(NULL);
    rf_encoding e;
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(s.p));
    rf_encoding_init(&e, s.ctx);
    if (rf_encode(t, prompt, strlen(prompt), NULL, 0, 0, 0, &e, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_true(e.n > 1);
    expect_after(&s, prompt, e.id, (int64_t)e.n);
    const rf_text_logprob *p;
    double logprob[32];
    if (rf_session_logprobs(rf_pipeline_session(s.p), e.id, (int64_t)e.n, 0, 0, logprob, 0, NULL, &s.why))
        fail_msg("%s", s.why.text);
    if (rf_logprob_text(s.p, NULL, 0, prompt, RF_STRING, NULL, &p, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(p->n, e.n - 1);
    assert_int_equal(p->uncounted, 1);
    for (int64_t i = 0; i < p->n; i++) {
        assert_int_equal(p->id[i], e.id[i + 1]);
        assert_true(p->logprob[i] == logprob[i + 1]);
    }
    if (rf_logprob_text(s.p, prompt, RF_STRING, prompt, RF_STRING, NULL, &p, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(p->n, e.n);
    assert_int_equal(p->uncounted, 0);
    if (rf_logprob_text(s.p, NULL, 0, "", 0, NULL, &p, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(p->n, 0);
    rf_encoding_clear(&e);
    end(&s);
}

/* An empty prompt begins with the folder's bos_token_id, or is refused. */
static void an_empty_prompt(void **state)
{
    (void)state;
    setup s = begin_bare("{\"bos_token_id\": 5}");
    const rf_generation *g;
    const int32_t bos = 5;
    expect_after(&s, "", &bos, 1);
    end(&s);
    s = begin_bare(NULL);
    assert_int_equal(rf_generate(s.p, "", 0, NULL, NULL, NULL, &g, &s.why), RF_EDATA);
    assert_non_null(strstr(s.why.text, "bos_token_id"));
    end(&s);
}

/* A tokenizer with a token more than the model: only a text with that token is refused. */
static void a_token_without_a_row(void **state)
{
    (void)state;
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    const rf_text_logprob *p;
    write_config_of(s.folder, V - 1, "");
    random_weights(s.ctx, s.folder, 5);
    open_pipeline(&s);
    const char *last = rf_tokenizer_token(rf_model_tokenizer(rf_pipeline_model(s.p)), V - 1);
    assert_non_null(last);
    if (rf_logprob_text(s.p, NULL, 0, prompt, RF_STRING, NULL, &p, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(rf_logprob_text(s.p, NULL, 0, last, RF_STRING, NULL, &p, &s.why), RF_ERANGE);
    assert_non_null(strstr(s.why.text, last));
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_folders),
        cmocka_unit_test(sep_ends_a_text_of_a_silent_folder),
        cmocka_unit_test(a_folder_that_cannot_be_followed),
        cmocka_unit_test(no_token_before_a_prompt),
        cmocka_unit_test(an_empty_prompt),
        cmocka_unit_test(a_token_without_a_row),
    };
    return cmocka_run_group_tests_name("pipeline/generate_folder", tests, NULL, NULL);
}
