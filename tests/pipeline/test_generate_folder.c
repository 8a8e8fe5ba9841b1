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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_folders),
        cmocka_unit_test(sep_ends_a_text_of_a_silent_folder),
        cmocka_unit_test(a_folder_that_cannot_be_followed),
    };
    return cmocka_run_group_tests_name("pipeline/generate_folder", tests, NULL, NULL);
}
