/* test_pipeline_text.c — mirrors src/pipeline/generate.c, src/pipeline/logprob.c: text that is generated after prompts,
 * and what texts are worth, compared with sessions on token ids. */
#define _GNU_SOURCE
#include "pipeline_setup.h"

typedef struct heard { char text[4096]; int calls, stop_at; } heard;

static int hear(void *user, const char *text, size_t bytes)
{
    heard *h = user;
    assert_int_equal(strlen(text), bytes);
    strcat(h->text, text);
    return ++h->calls == h->stop_at;
}

static int hear_bytes(void *user, const char *text, size_t bytes)
{
    heard *h = user;
    strncat(h->text, text, bytes);
    return 0;
}

static int remember(void *user, const rf_generated *token)
{
    int32_t *id = user;
    if (!token->stops) id[token->index] = token->id;
    return 0;
}

static void text_goes_on_behind_the_prompt(void **state)
{
    (void)state;
    setup s = begin(", \"is_decoder\": true");
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(s.p));
    rf_generate_options o;
    const rf_generation *g;
    heard h = {.stop_at = 0};
    int32_t id[20] = {0};
    rf_generate_defaults(&o);
    o.max_new_tokens = 20;
    o.do_sample = 1;
    if (rf_generate(s.p, "the old", RF_STRING, &o, hear, &h, &g, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(h.text, g->text);
    assert_int_equal(g->prompt_tokens, 3);
    assert_int_equal(strlen(g->text), g->bytes);
    rf_session *session;
    const int32_t prompt[] = {2, 5, 10}, stop = 3;
    int32_t never[34] = {0, 1, 2, 4};                                /* and text for which the tokenizer has no token */
    assert_int_equal(rf_tokenizer_id(t, "old"), 10);
    rf_generate_options by_hand = o;
    by_hand.stop = &stop;
    by_hand.stops = 1;
    by_hand.suppress = never;
    by_hand.suppressed = 4;
    for (int32_t i = 0; i < 34; i++)
        if (!rf_tokenizer_token(t, i)) never[by_hand.suppressed++] = i;
    assert_int_equal(by_hand.suppressed, 5);                         /* the first of two lines "king" */
    if (rf_session_open(rf_pipeline_model(s.p), &session, &s.why) ||
        rf_session_generate(session, prompt, 3, &by_hand, remember, id, NULL, &s.why))
        fail_msg("%s", s.why.text);
    assert_memory_equal(g->id, id, (size_t)g->n * sizeof *id);
    rf_session_close(session);
    h = (heard){.stop_at = 2};
    if (rf_generate(s.p, "the old ", 8, &o, hear, &h, &g, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(g->end, RF_GENERATE_SINK);
    assert_int_equal(g->n, 2);
    assert_true(*g->text != ' ');                                     /* the prompt's own blank separates */
    assert_string_equal(h.text, g->text);
    const char *text[] = {"the [MASK]"};
    assert_int_equal(rf_fill_mask(s.p, text, NULL, 1, NULL, NULL, NULL, NULL, &s.why), RF_EUNSUPPORTED);
    s.why = (rf_error){0};
    rf_embed_options e;
    rf_embed_defaults(&e);
    e.pooling = RF_POOL_CLS;
    assert_int_equal(rf_embed_texts(s.p, NULL, NULL, 0, &e, NULL, NULL, &s.why), RF_EUNSUPPORTED);
    end(&s);
}

/* Text is decoded word by word as tokens arrive: the reported text and the final text equal the decoding of all tokens
 * together, with pieces of words and with invalid bytes. */
static void words_are_decoded_as_all_at_once(void **state)
{
    (void)state;
    static const char bytes[] = "{\"tokenizer_class\": \"RoFormerByteTokenizer\"}", never[] = "no such text";
    static const int32_t nul[] = {0, 1, 2, 4, 5};
    enum { NEW = 40, SEEDS = 25 };
    for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
        setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
        char *vocab = tiny_path(s.folder, "vocab.txt");
        if (by_bytes) remove(vocab), t_write(s.folder, "tokenizer_config.json", bytes, sizeof bytes - 1);
        free(vocab);
        write_config_of(s.folder, by_bytes ? 261 : 34, ", \"is_decoder\": true");
        random_weights(s.ctx, s.folder, 5);
        open_pipeline(&s);
        const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(s.p));
        for (int seed = 0; seed < SEEDS; seed++) {
            const char *const stop[] = {never};
            rf_generate_options o;
            const rf_generation *g;
            heard h = {.stop_at = 0};
            int32_t id[NEW + 9] = {rf_tokenizer_cls(t)};
            size_t before, size;
            rf_generate_defaults(&o);
            o.max_new_tokens = NEW;
            o.do_sample = 1;
            o.temperature = 3;
            o.seed = (uint64_t)seed;
            o.stop_string = stop;
            o.stop_strings = seed % 2;
            if (by_bytes) o.suppress = nul, o.suppressed = RF_COUNT(nul);
            if (rf_generate(s.p, by_bytes ? "\xC3\xA9" : "the old", RF_STRING, &o, hear_bytes, &h, &g, &s.why))
                fail_msg("%s", s.why.text);
            assert_int_equal(g->prompt_tokens, 3);
            id[1] = by_bytes ? 5 + 0xC3 : rf_tokenizer_id(t, "the");
            id[2] = by_bytes ? 5 + 0xA9 : rf_tokenizer_id(t, "old");
            memcpy(id + 3, g->id, (size_t)g->n * sizeof *id);
            char *prompt = rf_decode(t, id, 3, 1, 0, &before);
            char *all = rf_decode(t, id, 3 + (size_t)g->n, 1, 0, &size);
            assert_string_equal(g->text, all + before);
            assert_string_equal(h.text, g->text);
            rf_text_free(t, prompt);
            rf_text_free(t, all);
        }
        end(&s);
    }
}

/* A model with more ids than the tokenizer has tokens, for example with a padded vocabulary: these ids have no text. */
static void ids_without_a_token_are_not_written(void **state)
{
    (void)state;
    enum { PADDED = 2000, NEW = 30 };
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    rf_generate_options o;
    const rf_generation *g;
    write_config_of(s.folder, PADDED, ", \"is_decoder\": true");
    random_weights(s.ctx, s.folder, 5);
    if (rf_pipeline_open(s.ctx, s.folder, RF_F32, &s.p, &s.why)) fail_msg("%s", s.why.text);
    rf_generate_defaults(&o);
    o.max_new_tokens = NEW;
    for (int beams = 1; beams <= 2; beams++) {
        o.num_beams = beams;
        o.do_sample = beams == 1;
        if (rf_generate(s.p, "the old", RF_STRING, &o, NULL, NULL, &g, &s.why)) fail_msg("%s", s.why.text);
        assert_true(g->n > 0 && g->bytes > 0);
        for (int64_t i = 0; i < g->n; i++)
            assert_non_null(rf_tokenizer_token(rf_model_tokenizer(rf_pipeline_model(s.p)), g->id[i]));
    }
    end(&s);
}

/* Many prompts: the reports for each are those of the prompt alone; stop strings end only their own texts. */
enum { PROMPTS = 5 };
typedef struct many {
    heard of[PROMPTS];
    char whole[PROMPTS][4096];
    rf_generate_end end[PROMPTS];
    int done, most;
} many;

static int hear_one(void *user, int64_t text, const char *piece, size_t bytes)
{
    return hear(&((many *)user)->of[text], piece, bytes);
}

static int note(void *user, int64_t text, const rf_generation *g, const rf_error *why)
{
    many *m = user;
    assert_non_null(g);
    assert_null(why);
    memcpy(m->whole[text], g->text, g->bytes + 1);
    m->end[text] = g->end;
    return ++m->done == m->most;
}

/* A source that gives two prompts at first and another one whenever a text has ended, every second one as tokens; the
 * text becomes invalid after each call. */
typedef struct arrivals {
    many m;
    const rf_tokenizer *t;
    rf_encoding e;
    const char *const *prompt;
    const uint64_t *occurrence;
    int given;
    char text[64];
} arrivals;

static int next_arrival(void *user, int idle, rf_text_prompt *out)
{
    arrivals *x = user;
    if (x->given == PROMPTS || (!idle && x->given > x->m.done + 1)) return 0;
    snprintf(x->text, sizeof x->text, "%s", x->prompt[x->given]);
    *out = (rf_text_prompt){.text = x->text, .bytes = RF_STRING, .occurrence = x->occurrence[x->given]};
    if (x->given % 2) {
        assert_int_equal(rf_encode(x->t, x->text, strlen(x->text), NULL, 0, 0, 0, &x->e, NULL, NULL), RF_OK);
        out->id = x->e.id;
        out->ids = (int64_t)x->e.n - 1;                    /* without [SEP] */
    }
    x->given++;
    return 1;
}

static void prompts_that_arrive_later_are_written_the_same(const setup *s, const rf_generate_options *o, const many *m,
                                                           const char *const *prompt, const uint64_t *occurrence)
{
    static arrivals x;
    rf_error why = {0};
    x.prompt = prompt;
    x.occurrence = occurrence;
    x.t = rf_model_tokenizer(rf_pipeline_model(s->p));
    rf_encoding_init(&x.e, s->ctx);
    if (rf_generate_texts_from(s->p, next_arrival, o, hear_one, note, &x, &why)) fail_msg("%s", why.text);
    assert_int_equal(x.m.done, PROMPTS);
    for (int i = 0; i < PROMPTS; i++) {
        assert_string_equal(x.m.whole[i], m->whole[i]);
        assert_string_equal(x.m.of[i].text, m->of[i].text);
    }
    rf_encoding_clear(&x.e);
    assert_int_equal(rf_generate_texts_from(s->p, NULL, o, NULL, note, &x, NULL), RF_EARG);
}

static void many_prompts_are_one_each(void **state)
{
    (void)state;
    static const char *const prompt[PROMPTS] = {"the old", "", "the cat the dog the old", "dog ", "the old"};
    static const uint64_t occurrence[PROMPTS] = {0, 0, 0, 0, 1};
    setup s = begin(", \"is_decoder\": true");
    static many m, stopped, few;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.max_new_tokens = 20;
    o.do_sample = 1;
    if (rf_generate_texts(s.p, prompt, NULL, occurrence, PROMPTS, &o, hear_one, note, &m, &s.why))
        fail_msg("%s", s.why.text);
    assert_int_equal(m.done, PROMPTS);
    prompts_that_arrive_later_are_written_the_same(&s, &o, &m, prompt, occurrence);
    for (int i = 0; i < PROMPTS; i++) {
        const rf_generation *g;
        o.occurrence = occurrence[i];
        if (rf_generate(s.p, prompt[i], RF_STRING, &o, NULL, NULL, &g, &s.why)) fail_msg("%s", s.why.text);
        assert_string_equal(m.whole[i], g->text);
        assert_string_equal(m.of[i].text, g->text);
    }
    assert_string_not_equal(m.whole[0], m.whole[4]);
    static const char *const stop[] = {"never there", "e", "he"};     /* the first byte at which one is whole */
    o.occurrence = 0;
    o.stop_string = stop;
    o.stop_strings = 3;
    if (rf_generate_texts(s.p, prompt, NULL, occurrence, PROMPTS, &o, hear_one, note, &stopped, &s.why))
        fail_msg("%s", s.why.text);
    for (int i = 0; i < PROMPTS; i++) {
        const char *e = strchr(m.whole[i], 'e');
        const size_t n = e ? (size_t)(e - m.whole[i]) + 1 : strlen(m.whole[i]);
        assert_int_equal(strlen(stopped.whole[i]), n);
        assert_memory_equal(stopped.whole[i], m.whole[i], n);
        assert_string_equal(stopped.of[i].text, stopped.whole[i]);
        if (e) assert_int_equal(stopped.end[i], RF_GENERATE_STOP);
    }
    few.most = 2;
    o.batch_size = 1;
    if (rf_generate_texts(s.p, prompt, NULL, NULL, PROMPTS, &o, NULL, note, &few, &s.why))
        fail_msg("%s", s.why.text);
    assert_int_equal(few.done, 2);
    static const char *const empty[] = {""};
    o.stop_string = empty;
    o.stop_strings = 1;
    assert_int_equal(rf_generate_texts(s.p, prompt, NULL, NULL, 1, &o, NULL, note, &few, &s.why), RF_EARG);
    o.stop_strings = 0;
    o.num_return_sequences = 2;
    assert_int_equal(rf_generate(s.p, "the", RF_STRING, &o, NULL, NULL, NULL, NULL), RF_EARG);
    assert_int_equal(rf_generate_texts(s.p, prompt, NULL, NULL, 1, &o, NULL, NULL, &few, NULL), RF_EARG);
    end(&s);
}

/* The score of a text is the sum over its tokens, each given all earlier ones. */
static void texts_are_worth_their_tokens(void **state)
{
    (void)state;
    setup s = begin(", \"is_decoder\": true");
    const rf_text_logprob *whole, *part;
    rf_logprob_options o;
    rf_logprob_defaults(&o);
    if (rf_logprob_text(s.p, NULL, 0, "the old cat", RF_STRING, NULL, &whole, &s.why)) fail_msg("%s", s.why.text);
    const double total = whole->total;
    assert_int_equal(whole->n, 3);
    assert_int_equal(whole->id[1], 10);
    if (rf_logprob_text(s.p, NULL, 0, "the", 3, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    const double first = part->total;
    if (rf_logprob_text(s.p, "the", RF_STRING, "old cat", 7, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(part->n, 2);
    t_near(first + part->total, total, 1e-12);
    o.end = 1;
    if (rf_logprob_text(s.p, "the", 3, "old cat", 7, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(part->n, 3);
    assert_int_equal(part->id[2], rf_tokenizer_sep(rf_model_tokenizer(rf_pipeline_model(s.p))));
    t_near(first + part->total - part->logprob[2], total, 1e-12);
    o.max_length = 4;
    o.stride = 4;
    assert_int_equal(rf_logprob_text(s.p, "the", 3, "old cat", 7, &o, &part, &s.why), RF_EARG);
    assert_int_equal(rf_logprob_text(s.p, NULL, 0, NULL, 0, &o, &part, NULL), RF_EARG);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_goes_on_behind_the_prompt),
        cmocka_unit_test(words_are_decoded_as_all_at_once),
        cmocka_unit_test(ids_without_a_token_are_not_written),
        cmocka_unit_test(many_prompts_are_one_each),
        cmocka_unit_test(texts_are_worth_their_tokens),
    };
    return cmocka_run_group_tests_name("pipeline/pipeline_text", tests, NULL, NULL);
}
