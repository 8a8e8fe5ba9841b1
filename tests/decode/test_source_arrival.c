/* test_source_arrival.c — mirrors src/decode/translate.c and src/decode/sources.c (rf__session_translate_from): sources
 * that arrive during translation have the bits of a list; they join and leave between steps; failures and memory. */
#include "../model/translating.h"
#include "decode/session.h"

enum { MANY = 17, MOST = 20 };

typedef struct feed {
    int32_t id[MANY][MOST], prefix[MANY][2], lent[MOST], lent_prefix[2];
    int64_t n[MANY];
    int given, waits, left;             /* `waits`: how often it returns "none now" in between                        */
    int asked_busy, asked_idle;
    int64_t first_end, ended_before_last;     /* the first source that ended; how many had when the last came */
    int64_t ends, failed, enough;
    texts got;
} feed;

static feed *feed_of(int waits, int64_t each)
{
    feed *f = t_bytes(sizeof *f);
    rf_rng r;
    memset(f, 0, sizeof *f);
    rf_rng_init(&r, 5, 1);
    f->waits = f->left = waits;
    f->first_end = -1;
    f->got = (texts){.each = each, .of = t_bytes((size_t)(MANY * each) * sizeof *f->got.of)};
    memset(f->got.of, 0, (size_t)(MANY * each) * sizeof *f->got.of);
    for (int i = 0; i < MANY; i++) {
        f->n[i] = 1 + (int64_t)rf_rng_below(&r, MOST - 1);
        for (int64_t k = 0; k < f->n[i]; k++) f->id[i][k] = (int32_t)rf_rng_below(&r, V);
        for (int k = 0; k < 2; k++) f->prefix[i][k] = (int32_t)rf_rng_below(&r, V);
    }
    return f;
}

static rf_translate_source listed(const feed *f, int i)
{
    return (rf_translate_source){.id = f->id[i], .n = f->n[i], .prefix = f->prefix[i], .prefixes = i % 3,
                                 .occurrence = (uint64_t)(i % 2)};
}

/* Both lists are in one buffer, which the next source overwrites. */
static int next(void *user, int idle, rf_translate_source *source)
{
    feed *f = user;
    if (idle) f->asked_idle++;
    else f->asked_busy++;
    if (f->given == MANY || (!idle && f->left-- > 0)) return 0;
    f->left = f->waits;
    *source = listed(f, f->given);
    source->id = memcpy(f->lent, f->id[f->given], sizeof f->lent);
    source->prefix = memcpy(f->lent_prefix, f->prefix[f->given], sizeof f->lent_prefix);
    if (++f->given == MANY) f->ended_before_last = f->ends;
    return 1;
}

static int hear(void *user, int64_t source, const rf_translation *t, const rf_error *why)
{
    feed *f = user;
    if (f->first_end < 0) f->first_end = source;
    f->failed += why != NULL;
    take(&f->got, source, t, why);
    if (!t || t->rank + 1 == f->got.each) f->ends++;
    return f->enough && f->ends >= f->enough;
}

static rf_generate_options options_for(const work *w, int way)
{
    rf_generate_options o = options_of(w->m, way % 3 == 1 ? 3 : 1, way % 3 ? 2 : 1);
    o.do_sample = way % 3 == 2;
    o.batch_size = way / 3 % 2 ? 7 : 64;
    o.max_length_factor = 1.5;                                  /* ends at different times */
    return o;
}

/* Greedily, with beams and samples, few and many at a time, all at once and one by one. */
static void as_a_list(void **state)
{
    (void)state;
    const rf_config cached = config_of("rotary", "rotary", 0), computed = config_of("rotary", "rerope", 0);
    for (int kind = 0; kind < 2; kind++) {
        work w = open_work(kind ? &computed : &cached, 2, RF_F32);
        for (int way = 0; way < 18; way++) {
            const rf_generate_options o = options_for(&w, way);
            feed *f = feed_of(way / 6 * 2, o.num_return_sequences);
            rf_translate_source source[MANY];
            rf_error why = {0};
            for (int i = 0; i < MANY; i++) source[i] = listed(f, i);
            const texts list = translate(w.s, source, MANY, &o);
            if (rf__session_translate_from(w.s, next, &o, hear, f, &why)) fail_msg("%s", why.text);
            assert_int_equal(f->got.got, list.got);
            assert_memory_equal(f->got.of, list.of, (size_t)list.got * sizeof *list.of);
            assert_true(f->asked_idle >= 2);                                    /* the first time, and the last */
            if (f->waits) assert_true(f->asked_busy > 0 && f->ended_before_last > 0);
            assert_int_equal(rf_sequence_memory(w.s), 0);
        }
        close_work(&w);
        t_free_all();
    }
}

/* While a long text is written, a short one comes and is done first. */
static void a_late_one_may_be_done_first(void **state)
{
    (void)state;
    const rf_config c = config_of("rotary", "rotary", 0);
    work w = open_work(&c, 1, RF_F32);
    rf_generate_options o = options_for(&w, 0);
    feed *f = feed_of(1, 1);
    rf_error why = {0};
    o.stops = 0, o.stop = source_id;                            /* as long as max_length_factor says */
    f->n[0] = MOST - 1;
    f->n[1] = 1;
    if (rf__session_translate_from(w.s, next, &o, hear, f, &why)) fail_msg("%s", why.text);
    assert_int_equal(f->first_end, 1);
    assert_true(f->got.of[0].n > f->got.of[1].n);
    close_work(&w);
    t_free_all();
}

/* A source that is not valid fails alone; a callback can end everything; no source is not an error. */
static void ends_and_failures(void **state)
{
    (void)state;
    const rf_config c = config_of("rotary", "rotary", 0);
    work w = open_work(&c, 1, RF_F32);
    rf_generate_options o = options_for(&w, 0);
    rf_error why = {0};
    feed *bad = feed_of(1, 1), *few = feed_of(0, 1), *none = feed_of(0, 1);
    bad->id[3][0] = V;
    bad->n[5] = 0;
    bad->n[6] = -1;
    if (rf__session_translate_from(w.s, next, &o, hear, bad, &why)) fail_msg("%s", why.text);
    assert_int_equal(bad->ends, MANY);
    assert_int_equal(bad->failed, 3);
    few->enough = 2;
    o.batch_size = 1;
    if (rf__session_translate_from(w.s, next, &o, hear, few, &why)) fail_msg("%s", why.text);
    assert_int_equal(few->ends, 2);
    assert_int_equal(few->given, 2);
    none->given = MANY;
    if (rf__session_translate_from(w.s, next, &o, hear, none, &why)) fail_msg("%s", why.text);
    assert_int_equal(none->asked_idle, 1);
    assert_int_equal(none->ends, 0);
    assert_int_equal(rf__session_translate_from(w.s, NULL, &o, hear, none, &why), RF_EARG);
    assert_int_equal(rf__session_translate_from(w.s, next, &o, NULL, none, &why), RF_EARG);
    o.max_new_tokens = 0;
    assert_int_equal(rf__session_translate_from(w.s, next, &o, hear, none, &why), RF_EARG);
    close_work(&w);
    t_free_all();
}

static void memory_ends(void **state)
{
    (void)state;
    const rf_config c = config_of("rotary", "rotary", 0);
    t_memory memory = {0};
    rf_error why = {0};
    work w = {.ctx = t_counting_ctx(1, NULL, &memory)};
    if (rf_model_random_as(w.ctx, &c, 7, RF_F32, &w.m, &why) || rf_session_open(w.m, &w.s, &why))
        fail_msg("%s", why.text);
    for (int way = 0; way < 3; way++) {
        const rf_generate_options o = options_for(&w, way);
        feed *all = feed_of(1, o.num_return_sequences);
        const long before = memory.calls;
        if (rf__session_translate_from(w.s, next, &o, hear, all, &why)) fail_msg("%s", why.text);
        const long calls = memory.calls - before;
        long refused = 0;
        for (long n = 1; n <= calls; n += 1 + calls / 150) {
            feed *f = feed_of(1, o.num_return_sequences);
            memory.fail = memory.calls + n;
            memory.forever = n % 2;
            const rf_status status = rf__session_translate_from(w.s, next, &o, hear, f, &why);
            memory.fail = 0;
            if (status) assert_int_equal(status, RF_ENOMEM);
            else assert_memory_equal(f->got.of, all->got.of, (size_t)all->got.got * sizeof *all->got.of);
            refused += status != RF_OK;
        }
        assert_true(refused > 20);
        t_free_all();
    }
    close_work(&w);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_list),
        cmocka_unit_test(a_late_one_may_be_done_first),
        cmocka_unit_test(ends_and_failures),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("decode/source_arrival", tests, NULL, NULL);
}
