/* test_translate_texts.c — mirrors src/pipeline/translate.c, part_end.c, source_prefix.c: several threads give the
 * translations of one thread, stop on the caller's request, and free everything if an allocation fails. */
#define _GNU_SOURCE
#include "roformer/pipeline.h"
#include "small_folders.h"

enum { TEXTS = 210, WORDS = 8, NEW = 24 };

typedef struct setup {
    rf_ctx *ctx;
    rf_pipeline *p;
    rf_generate_options g;
    rf_translate_options o;
    char line[TEXTS][WORDS * 4];
    const char *text[TEXTS];
} setup;

typedef struct taken { int32_t id[TEXTS][NEW]; int64_t n[TEXTS], calls, failed, enough; } taken;

/* Lines of one to eight words. */
static setup *begin(rf_ctx *ctx)
{
    setup *s = calloc(1, sizeof *s);
    char *folder = translator();
    rf_error why = {0};
    s->ctx = ctx;
    if (rf_pipeline_open(ctx, folder, RF_F32, &s->p, &why)) fail_msg("%s", why.text);
    rf_translate_defaults(rf_pipeline_model(s->p), &s->g);
    s->g.max_new_tokens = NEW;
    rf_translate_text_defaults(&s->o);
    s->o.generate = &s->g;
    for (int i = 0; i < TEXTS; i++) {
        char *to = s->line[i];
        for (int k = 0; k <= i * 37 % WORDS; k++) to += sprintf(to, "%sw%d", k ? " " : "", 3 + (i * 7 + k * k) % 9);
        s->text[i] = s->line[i];
    }
    free(folder);
    return s;
}

static void end(setup *s)
{
    rf_pipeline_close(s->p);
    rf_ctx_free(s->ctx);
    free(s);
}

static int take(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    taken *x = user;
    x->calls++;
    x->failed += why != NULL;
    if (t) {
        x->n[text] = t->of.n;
        if (t->of.n) memcpy(x->id[text], t->of.id, (size_t)t->of.n * sizeof *t->of.id);
    }
    return x->enough && x->calls >= x->enough;
}

static rf_status translate(setup *s, taken *x, rf_error *why)
{
    return rf_translate_texts(s->p, s->text, NULL, TEXTS, &s->o, take, x, why);
}

static void same(const taken *a, const taken *b)
{
    assert_int_equal(a->calls, TEXTS);
    assert_int_equal(b->calls, TEXTS);
    assert_memory_equal(a->n, b->n, sizeof a->n);
    assert_memory_equal(a->id, b->id, sizeof a->id);
}

/* Without options the folder's apply; options made without a model (rf_generate_defaults) still end where its texts
 * end. */
static void texts_end_as_the_folder_says(void **state)
{
    (void)state;
    setup *s = begin(t_ctx(1, NULL));
    static taken own, none, given;
    rf_error why = {0};
    own = none = given = (taken){0};
    if (translate(s, &own, &why)) fail_msg("%s", why.text);
    rf_generate_defaults(&s->g);
    s->g.max_new_tokens = NEW;
    if (translate(s, &given, &why)) fail_msg("%s", why.text);
    same(&own, &given);
    int64_t ended = 0;
    for (int i = 0; i < TEXTS; i++) ended += own.n[i] < NEW;
    assert_true(ended > TEXTS / 2);
    if (rf_translate_texts(s->p, s->text, NULL, TEXTS, NULL, take, &none, &why)) fail_msg("%s", why.text);
    same(&own, &none);
    end(s);
}

/* Greedily and with beams, twice with the same pipeline. */
static void threads_are_one(void **state)
{
    (void)state;
    for (int beams = 1; beams <= 2; beams++) {
        setup *one = begin(t_ctx(1, NULL)), *three = begin(t_ctx(3, NULL));
        static taken a, b, c;
        rf_error why = {0};
        a = b = c = (taken){0};
        one->g.num_beams = three->g.num_beams = beams;
        one->g.batch_size = three->g.batch_size = 128;
        if (translate(one, &a, &why) || translate(three, &b, &why) || translate(three, &c, &why))
            fail_msg("%s", why.text);
        same(&a, &b);
        same(&a, &c);
        end(one);
        end(three);
    }
}

/* ---- texts that arrive one by one ---- */

typedef struct feed { taken x; setup *s; int given, left; int64_t before_last; char lent[WORDS * 4]; } feed;

/* Every third text has an error of its own or no tokens; between two texts, there is none for a step. */
static const char *odd_text(int i) { return i % 3 == 1 ? "" : i % 3 == 2 ? "\xff" : NULL; }

static int next_text(void *user, int idle, rf_text_prompt *out)
{
    feed *f = user;
    if (f->given == TEXTS || (!idle && f->left-- > 0)) return 0;
    f->left = 1;
    memcpy(f->lent, f->s->text[f->given], strlen(f->s->text[f->given]) + 1);        /* overwrites the one before */
    *out = (rf_text_prompt){.text = f->lent, .bytes = RF_STRING};
    if (++f->given == TEXTS) f->before_last = f->x.calls;
    return 1;
}

static int take_of_feed(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    feed *f = user;
    return take(&f->x, text, t, why);
}

/* As in a list: greedily and with beams; whole texts and parts of four tokens; a text without tokens, one that is not
 * UTF-8. */
static void arrivals_are_a_list(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        setup *s = begin(t_ctx(2, NULL));
        static taken list;
        static feed f;
        rf_error why = {0};
        list = (taken){0};
        f = (feed){.s = s};
        s->g.num_beams = 1 + way % 2;
        if (way / 2) s->o.max_source_length = 4, s->o.long_source = RF_LONG_SPLIT;
        for (int i = 0; i < 9; i++)
            if (odd_text(i)) s->text[i] = odd_text(i);
        if (translate(s, &list, &why)) fail_msg("%s", why.text);
        if (rf_translate_texts_from(s->p, next_text, &s->o, take_of_feed, &f, &why)) fail_msg("%s", why.text);
        same(&list, &f.x);
        assert_int_equal(f.x.failed, 3);
        assert_int_equal(list.failed, 3);
        assert_true(f.before_last > TEXTS / 2);
        f = (feed){.s = s, .x = {.enough = 5}};
        assert_int_equal(rf_translate_texts_from(s->p, next_text, &s->o, take_of_feed, &f, &why), RF_OK);
        assert_int_equal(f.x.calls, 5);
        assert_int_equal(rf_translate_texts_from(s->p, NULL, &s->o, take_of_feed, &f, &why), RF_EARG);
        end(s);
    }
}

/* A prefix is part of each source, except of empty ones; a task's is read into a buffer of the caller. */
static void prefixes_are_typed(void **state)
{
    (void)state;
    setup *s = begin(t_ctx(2, NULL));
    static taken typed, given;
    static char line[TEXTS][WORDS * 4 + 8];
    const char *text[TEXTS];
    char before[8];
    rf_error why = {0};
    typed = given = (taken){0};
    s->text[3] = "";
    for (int i = 0; i < TEXTS; i++) {
        text[i] = s->text[i];
        snprintf(line[i], sizeof line[i], "%s%s", *text[i] ? "w5 w3 " : "", text[i]);
        s->text[i] = line[i];
    }
    if (translate(s, &typed, &why)) fail_msg("%s", why.text);
    memcpy(s->text, text, sizeof text);
    s->o.source_prefix = "w5 w3 ";
    if (translate(s, &given, &why)) fail_msg("%s", why.text);
    same(&typed, &given);
    assert_int_equal(given.n[3], 0);
    s->o.long_source = RF_LONG_SPLIT;
    assert_int_equal(translate(s, &given, &why), RF_EARG);
    const rf_model *m = rf_pipeline_model(s->p);
    why = (rf_error){0};
    assert_int_equal(rf_translate_task(m, "summarization", &s->g, before, sizeof before, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "task_specific_params: expected ... (none), got \"summarization\"");
    assert_int_equal(rf_translate_task(m, NULL, &s->g, before, sizeof before, &why), RF_EARG);
    end(s);
}

/* After a call of the sink that stops, no thread passes on another result. */
static void enough(void **state)
{
    (void)state;
    setup *s = begin(t_ctx(2, NULL));
    rf_error why = {0};
    for (int64_t n = 1; n < 40; n += 13) {
        static taken x;
        x = (taken){.enough = n};
        assert_int_equal(translate(s, &x, &why), RF_OK);
        assert_int_equal(x.calls, n);
    }
    end(s);
}

/* Allocations fail, one or all later ones: all texts, or RF_ENOMEM; and afterwards the pipeline is unchanged. */
static void memory_ends(void **state)
{
    (void)state;
    static taken all, x;
    static feed f;
    rf_error why = {0};
    t_memory memory = {0};
    setup *s = begin(t_counting_ctx(2, NULL, &memory));
    all = (taken){0};
    const long before = memory.calls;
    if (translate(s, &all, &why)) fail_msg("%s", why.text);
    const long calls = memory.calls - before;
    long refused = 0;
    for (long n = 1; n < calls; n += 1 + calls / 60) {
        memory.fail = memory.calls + n;
        memory.forever = n % 2;
        x = (taken){0};
        f = (feed){.s = s};
        const bool arrives = n / (1 + calls / 60) % 4 > 1;
        const rf_status status = arrives ? rf_translate_texts_from(s->p, next_text, &s->o, take_of_feed, &f, &why)
                                         : translate(s, &x, &why);
        memory.fail = 0;
        if (arrives) x = f.x;
        if (!status) assert_int_equal(x.calls - x.failed, TEXTS);
        else assert_int_equal(status, RF_ENOMEM);
        refused += status != RF_OK;
    }
    assert_true(refused > 20);
    x = (taken){0};
    if (translate(s, &x, &why)) fail_msg("%s", why.text);
    same(&all, &x);
    end(s);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_end_as_the_folder_says), cmocka_unit_test(threads_are_one),
        cmocka_unit_test(arrivals_are_a_list),
        cmocka_unit_test(prefixes_are_typed),
        cmocka_unit_test(enough),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
