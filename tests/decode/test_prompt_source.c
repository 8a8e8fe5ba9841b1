/* test_prompt_source.c — mirrors src/decode/generate.c (rf__session_generate_from): prompts that arrive during
 * generation give the same bits as in a list; when the source is called, and that it can end the call. */
#include "../model/causal.h"
#include "decode/session.h"
#include "roformer/generate.h"

enum { PROMPTS = 9, MOST = 12, SAMPLES = 2, TEXTS = PROMPTS * SAMPLES };

typedef struct feed {
    int32_t id[PROMPTS][20], lent[20];
    int64_t n[PROMPTS];
    int given, waits, asked_busy, asked_idle;           /* `waits`: how often it returns "none now" in between */
    int64_t heard, heard_before_last;                   /* tokens                                                     */
    int32_t text[TEXTS][MOST];
    double logprob[TEXTS][MOST];
    int64_t tokens[TEXTS];
    int done, failed, enough;
    int left;
} feed;

static feed *feed_of(int waits)
{
    feed *f = calloc(1, sizeof *f);
    rf_rng r;
    rf_rng_init(&r, 5, 1);
    f->waits = f->left = waits;
    for (int i = 0; i < PROMPTS; i++) {
        f->n[i] = 1 + (int64_t)rf_rng_below(&r, 19);
        for (int64_t k = 0; k < f->n[i]; k++) f->id[i][k] = (int32_t)rf_rng_below(&r, V);
    }
    return f;
}

/* The ids are in one buffer, which the next prompt overwrites. */
static int next_prompt(void *user, int idle, rf_prompt *prompt)
{
    feed *f = user;
    if (idle) f->asked_idle++;
    else f->asked_busy++;
    if (f->given == PROMPTS || (!idle && f->left-- > 0)) return 0;
    f->left = f->waits;
    memset(f->lent, 0, sizeof f->lent);
    memcpy(f->lent, f->id[f->given], sizeof f->lent);
    *prompt = (rf_prompt){.id = f->lent, .n = f->n[f->given]};
    if (++f->given == PROMPTS) f->heard_before_last = f->heard;
    return 1;
}

static int hear(void *user, const rf_generated *token)
{
    feed *f = user;
    f->text[token->text][token->index] = token->id;
    f->logprob[token->text][token->index] = token->logprob;
    f->tokens[token->text] = token->index + 1;
    f->heard++;
    return 0;
}

static int hear_end(void *user, int64_t text, rf_generate_end end, const rf_error *why)
{
    feed *f = user;
    (void)text, (void)end;
    f->done++;
    f->failed += why != NULL;
    return f->enough && f->done >= f->enough;
}

static void from_a_list(const struct work *w, const rf_generate_options *o, feed *f)
{
    rf_prompt p[PROMPTS];
    rf_error why = {0};
    for (int i = 0; i < PROMPTS; i++) p[i] = (rf_prompt){.id = f->id[i], .n = f->n[i]};
    if (rf_session_generate_all(w->session, p, PROMPTS, o, hear, hear_end, f, &why)) fail_msg("%s", why.text);
}

static void as_a_list(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 2, NULL);
    for (int way = 0; way < 12; way++) {
        feed *list = feed_of(0), *one = feed_of(way % 3 * 4);
        rf_generate_options o;
        rf_error why = {0};
        rf_generate_defaults(&o);
        o.max_new_tokens = MOST;
        o.num_beams = way / 6 ? 2 : 1;
        o.do_sample = !(way / 6);
        o.num_return_sequences = way / 3 % 2 ? SAMPLES : 1;
        o.batch_size = way % 2 ? 3 : 64;
        from_a_list(&w, &o, list);
        if (rf__session_generate_from(w.session, next_prompt, &o, hear, hear_end, one, &why)) fail_msg("%s", why.text);
        assert_int_equal(one->done, list->done);
        assert_int_equal(one->failed, 0);
        assert_memory_equal(one->tokens, list->tokens, sizeof one->tokens);
        assert_memory_equal(one->text, list->text, sizeof one->text);
        assert_memory_equal(one->logprob, list->logprob, sizeof one->logprob);
        assert_true(one->asked_idle >= 2);                              /* the first time, and the last              */
        if (one->waits && o.batch_size > 3) assert_true(one->asked_busy > 0);    /* ... and while others are written */
        if (one->waits && o.num_beams == 1) assert_true(one->heard_before_last > 0);
        assert_int_equal(rf_sequence_memory(w.session), 0);
        free(list);
        free(one);
    }
    end(&w);
}

/* A prompt that cannot be read fails alone; a callback can end everything; no prompt is not an error. */
static void ends_and_failures(void **state)
{
    (void)state;
    const rf_config c = small("\"rope_theta\":10000");
    struct work w = begin(&c, 1, NULL);
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.max_new_tokens = MOST;
    feed *bad = feed_of(1), *few = feed_of(0), *none = feed_of(0);
    bad->id[3][0] = V;
    if (rf__session_generate_from(w.session, next_prompt, &o, hear, hear_end, bad, &why)) fail_msg("%s", why.text);
    assert_int_equal(bad->done, PROMPTS);
    assert_int_equal(bad->failed, 1);
    few->enough = 2;
    o.batch_size = 1;
    if (rf__session_generate_from(w.session, next_prompt, &o, hear, hear_end, few, &why)) fail_msg("%s", why.text);
    assert_int_equal(few->done, 2);
    assert_int_equal(few->given, 2);
    none->given = PROMPTS;
    if (rf__session_generate_from(w.session, next_prompt, &o, hear, hear_end, none, &why)) fail_msg("%s", why.text);
    assert_int_equal(none->asked_idle, 1);
    assert_int_equal(none->done, 0);
    assert_int_equal(rf__session_generate_from(w.session, NULL, &o, hear, hear_end, none, &why), RF_EARG);
    free(bad);
    free(few);
    free(none);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_list),
        cmocka_unit_test(ends_and_failures),
    };
    return cmocka_run_group_tests_name("decode/prompt_source", tests, NULL, NULL);
}
