/* test_pipeline.c — mirrors src/pipeline: the one-call functions have the bits of tokenizer and session for each text
 * alone; rejected input, reports, and failing allocations. */
#define _GNU_SOURCE
#include "pipeline_setup.h"
#include "task/answerer.h"

/* `n` texts of 0 to 60 words. */
static char **texts(int64_t n)
{
    char **text = t_bytes((size_t)n * sizeof *text);
    for (int64_t i = 0; i < n; i++) {
        text[i] = t_bytes(1024);
        int at = 0;
        *text[i] = 0;
        for (unsigned k = 0; k < (unsigned)(i * 7 % 9); k++)
            at += tiny_sentence(text[i] + at, (size_t)(1024 - at), (unsigned)i, k);
    }
    return text;
}

static void alone(const setup *s, const char *text, int64_t limit, rf_pooling how, float *out)
{
    const rf_model *m = rf_pipeline_model(s->p);
    rf_session *session;
    rf_encoding e;
    rf_error why = {0};
    const float *v;
    rf_encoding_init(&e, s->ctx);
    if (rf_session_open(m, &session, &why) ||
        rf_encode(rf_model_tokenizer(m), text, strlen(text), NULL, 0, (size_t)limit, 0, &e, NULL, &why))
        fail_msg("%s", why.text);
    const int32_t start[] = {0, (int32_t)e.n};
    const rf_batch b = {.N = start[1], .B = 1, .id = e.id, .start = start};
    if (rf_session_embed(session, &b, how, &v, &why)) fail_msg("%s", why.text);
    memcpy(out, v, 32 * sizeof *v);
    rf_encoding_clear(&e);
    rf_session_close(session);
}

static void vectors_are_those_of_each_text_alone(void **state)
{
    (void)state;
    enum { N = 70 };
    setup s = begin("");
    char **text = texts(N);
    float one[32];
    for (int how = RF_POOL_CLS; how <= RF_POOL_MAX; how++)
        for (int64_t limit = -1; limit < 20; limit += 10) {
            rf_embed_options o;
            const rf_texts_report *r;
            const float *v;
            rf_embed_defaults(&o);
            o.pooling = (rf_pooling)how;
            o.max_length = limit;
            o.batch_tokens = how == RF_POOL_MEAN ? 64 : 2048;
            if (rf_embed_texts(s.p, (const char *const *)text, NULL, N, &o, &v, &r, &s.why)) fail_msg("%s", s.why.text);
            assert_int_equal(r->done, N);
            assert_int_equal(r->bad, -1);
            assert_true(limit > 0 ? r->cut > 0 && r->tokens <= N * limit : r->cut == (limit < 0 ? r->cut : 0));
            for (int64_t i = 0; i < N; i++) {
                alone(&s, text[i], limit < 0 ? 48 : limit, (rf_pooling)how, one);
                assert_memory_equal(v + 32 * i, one, sizeof one);
            }
        }
    end(&s);
}

/* A character without a token makes its word one unknown token. */
static void unknown_tokens_are_counted(void **state)
{
    (void)state;
    setup s = begin("");
    const char *const text[] = {"the river is", "\xE8\x82\xA1 the \xE7\xA5\xA8", "", "\xE8\x82\xA1"};
    const rf_texts_report *r;
    if (rf_embed_texts(s.p, text, NULL, 4, NULL, NULL, &r, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(r->unknown, 3);
    if (rf_embed_texts(s.p, text, NULL, 1, NULL, NULL, &r, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(r->unknown, 0);
    end(&s);
}

/* More texts than a window: including the last ones, in order. */
static void any_number_of_texts(void **state)
{
    (void)state;
    enum { N = 4100 };
    setup s = begin("");
    const char *text[N];
    const float *v;
    float one[2][32];
    for (int i = 0; i < N; i++) text[i] = i % 3 ? "the red cat" : "the shy wolf is walking .";
    if (rf_embed_texts(s.p, text, NULL, N, NULL, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
    alone(&s, text[0], 48, RF_POOL_MEAN, one[0]);
    alone(&s, text[1], 48, RF_POOL_MEAN, one[1]);
    for (int i = 0; i < N; i++) assert_memory_equal(v + 32 * i, one[i % 3 != 0], sizeof *one);
    end(&s);
}

static void unit_vectors(void **state)
{
    (void)state;
    setup s = begin("");
    const char *text[] = {"the old king", "the tree"};
    rf_embed_options o;
    const float *v;
    float plain[64];
    if (rf_embed_texts(s.p, text, NULL, 2, NULL, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
    memcpy(plain, v, sizeof plain);
    rf_embed_defaults(&o);
    o.normalize = 1;
    if (rf_embed_texts(s.p, text, NULL, 2, &o, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
    for (int i = 0; i < 2; i++) {
        double square = 0, before = 0;
        for (int k = 0; k < 32; k++) {
            square += (double)v[32 * i + k] * (double)v[32 * i + k];
            before += (double)plain[32 * i + k] * (double)plain[32 * i + k];
        }
        t_near(square, 1, 1e-6);                                     /* 32 roundings of 2^-24 */
        for (int k = 0; k < 32; k++) t_near((double)v[32 * i + k], (double)plain[32 * i + k] / sqrt(before), 1e-7);
    }
    end(&s);
}

/* Threads encode so many texts, each after the prompt; those before a bad one have their vectors. */
static void threads_encode_many_texts(void **state)
{
    (void)state;
    enum { N = 90, BAD = 67 };
    setup s = begin("");
    const char *text[N];
    rf_embed_options o;
    const rf_texts_report *r;
    const float *v;
    float one[2][32];
    rf_embed_defaults(&o);
    o.prompt = "the old ";
    o.include_prompt = 1;
    for (int i = 0; i < N; i++) text[i] = i % 3 ? "king is shy" : "tree";
    alone(&s, "the old king is shy", 48, RF_POOL_MEAN, one[0]);
    alone(&s, "the old tree", 48, RF_POOL_MEAN, one[1]);
    for (int bad = 0; bad < 3; bad++) {
        if (bad) text[BAD] = bad == 1 ? "bad \xff byte" : NULL;
        s.why = (rf_error){0};
        const rf_status status = rf_embed_texts(s.p, text, NULL, N, &o, &v, &r, &s.why);
        assert_int_equal(status, !bad ? RF_OK : bad == 1 ? RF_EDATA : RF_EARG);
        assert_int_equal(r->done, bad ? BAD : N);
        assert_int_equal(r->bad, bad ? BAD : -1);
        for (int i = 0; i < (bad ? BAD : N); i++) assert_memory_equal(v + 32 * i, one[i % 3 == 0], sizeof *one);
    }
    s.why = (rf_error){0};
    rf_embed_texts(s.p, text, NULL, N, &o, &v, NULL, &s.why);
    t_failed(&s.why, RF_EARG, "text 67: ");
    end(&s);
}

static void a_text_that_cannot_be_read_ends_the_call_there(void **state)
{
    (void)state;
    setup s = begin("");
    const char *text[] = {"the cat", "the dog [MASK]", "bad \xff byte", "the king [MASK]"};
    const size_t bytes[] = {7, RF_STRING, 10, RF_STRING};
    const rf_texts_report *r;
    const float *v;
    float one[32];
    assert_int_equal(rf_embed_texts(s.p, text, bytes, 4, NULL, &v, &r, &s.why), RF_EDATA);
    assert_int_equal(r->done, 2);
    assert_int_equal(r->bad, 2);
    assert_null(strstr(s.why.text, "text 2"));
    alone(&s, text[1], 48, RF_POOL_MEAN, one);
    assert_memory_equal(v + 32, one, sizeof one);
    s.why = (rf_error){0};
    assert_int_equal(rf_embed_texts(s.p, text, bytes, 4, NULL, &v, NULL, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "text 2: ");
    const rf_mask *mask;
    int64_t masks;
    s.why = (rf_error){0};
    assert_int_equal(rf_fill_mask(s.p, text + 1, bytes + 1, 3, NULL, &mask, &masks, &r, &s.why), RF_EDATA);
    assert_int_equal(r->bad, 1);
    assert_int_equal(masks, 1);
    assert_int_equal(mask[0].words, 5);
    s.why = (rf_error){0};
    assert_int_equal(rf_fill_mask(s.p, text, bytes, 1, NULL, &mask, &masks, NULL, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "text: expected ... ([MASK])");
    end(&s);
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

/* softmax of the session's logits, in double. */
static void probabilities(const setup *s, const char *text, int number, double *p)
{
    const rf_model *m = rf_pipeline_model(s->p);
    rf_session *session;
    rf_encoding e;
    rf_error why = {0};
    const float *z;
    double sum = 0;
    int32_t row = -1;
    rf_encoding_init(&e, s->ctx);
    if (rf_session_open(m, &session, &why) ||
        rf_encode(rf_model_tokenizer(m), text, strlen(text), NULL, 0, 0, 0, &e, NULL, &why))
        fail_msg("%s", why.text);
    for (int k = -1; k < number;) k += e.id[++row] == rf_tokenizer_mask(rf_model_tokenizer(m));
    const int32_t start[] = {0, (int32_t)e.n};
    const rf_batch b = {.N = start[1], .B = 1, .id = e.id, .start = start};
    if (rf_session_mlm_logits(session, &b, &row, 1, &z, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < 34; i++) sum += p[i] = exp((double)z[i]);
    for (int i = 0; i < 34; i++) p[i] /= sum;
    rf_encoding_clear(&e);
    rf_session_close(session);
}

static void masks_get_their_likeliest_words(void **state)
{
    (void)state;
    setup s = begin("");
    const char *text[] = {"the [MASK] is walking", "[MASK]", "the old [MASK] is [MASK] the tree ."};
    rf_fill_options o;
    const rf_mask *mask;
    int64_t masks;
    double p[34];
    rf_fill_defaults(&o);
    o.top_k = 1000;                                                  /* all */
    o.batch_tokens = 8;
    if (rf_fill_mask(s.p, text, NULL, 3, &o, &mask, &masks, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(masks, 4);
    for (int m = 0; m < 4; m++) {
        const int t = m < 2 ? m : 2;
        assert_int_equal(mask[m].text, t);
        assert_int_equal(mask[m].of, t == 2 ? 2 : 1);
        assert_int_equal(mask[m].number, m == 3);
        assert_int_equal(mask[m].words, 34);
        probabilities(&s, text[t], m == 3, p);
        for (int k = 0; k < 34; k++) {
            const rf_mask_word *w = &mask[m].word[k];
            t_near((double)w->score, p[w->id], 1e-6);                /* an f32 of at most 1, and exp in double */
            assert_true(!k || w[-1].score > w->score || (w[-1].score <= w->score && w[-1].id < w->id));
            const char *token = rf_tokenizer_token(rf_model_tokenizer(rf_pipeline_model(s.p)), w->id);
            assert_string_equal(w->token, token ? token : "");
        }
    }
    char *whole = rf_fill_sequence(s.p, &mask[0], 9, NULL), *part = rf_fill_sequence(s.p, &mask[3], 9, NULL);
    assert_string_equal(whole, "the red is walking");
    assert_string_equal(part, "[CLS] the old [MASK] is red the tree. [SEP]");
    rf_text_free(rf_model_tokenizer(rf_pipeline_model(s.p)), whole);
    rf_text_free(rf_model_tokenizer(rf_pipeline_model(s.p)), part);
    const int32_t target[] = {20, 9, 11};
    o.target = target;
    o.targets = 3;
    if (rf_fill_mask(s.p, text, NULL, 1, &o, &mask, &masks, NULL, &s.why)) fail_msg("%s", s.why.text);
    probabilities(&s, text[0], 0, p);
    assert_int_equal(mask[0].words, 3);
    for (int k = 0; k < 3; k++) t_near((double)mask[0].word[k].score, p[mask[0].word[k].id], 1e-6);
    end(&s);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static void labels_come_with_the_likeliest_first(void **state)
{
    (void)state;
    setup s = begin("");
    static const char data[] = "text\tlabel\nthe red cat\ta\nthe old dog\tb\nthe king\tc\nthe shy wolf\ta\n";
    const rf_label_score *label;
    int64_t n;
    assert_int_equal(rf_classify(s.p, "the cat", 7, NULL, 0, &label, &n, &s.why), RF_EUNSUPPORTED);
    t_failed(&s.why, RF_EUNSUPPORTED, "fine-tuned");
    s.why = (rf_error){0};
    char *train = tiny_path(s.folder, "train.tsv"), *out = strdup(t_folder());
    rf_finetune_options o;
    t_write(s.folder, "train.tsv", data, sizeof data - 1);
    rf_finetune_defaults(&o);
    o.task = "cls";
    o.train = train;
    o.t.model = s.folder;
    o.t.output_dir = out;
    o.t.max_steps = 1;
    rf_pipeline *p;
    rf_answerer *a;
    const float *score;
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why) || rf_pipeline_open(s.ctx, out, RF_F32, &p, &s.why) ||
        rf_classify(p, "the cat", RF_STRING, "the dog", RF_STRING, &label, &n, &s.why) ||
        rf_answerer_open(s.ctx, out, &a, &s.why) ||
        rf__answerer_classify(a, "the cat", 7, "the dog", 7, &score, &s.why))
        fail_msg("%s", s.why.text);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(!i || label[i - 1].score >= label[i].score);
        const int k = *label[i].label - 'a';
        assert_string_equal(label[i].label, rf__answerer_labels(a)->name[k]);
        t_near(label[i].score, (double)score[k], 0);
    }
    const char *text[] = {"the cat"};
    const float *v;
    if (rf_embed_texts(p, text, NULL, 1, NULL, &v, NULL, &s.why)) fail_msg("%s", s.why.text);
    rf_answerer_close(a);
    rf_pipeline_close(p);
    free(train);
    free(out);
    end(&s);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void what_is_missing_is_refused(void **state)
{
    (void)state;
    setup s = begin("");
    const char *text[] = {"the [MASK]", NULL};
    const rf_mask *mask;
    const float *v;
    int64_t masks;
    rf_pipeline *p = NULL;
    assert_int_equal(rf_pipeline_open(s.ctx, NULL, RF_F32, &p, NULL), RF_EARG);
    assert_int_equal(rf_pipeline_open(s.ctx, s.folder, RF_F32, NULL, NULL), RF_EARG);
    assert_int_equal(rf_pipeline_open(NULL, "no such folder", RF_F32, &p, NULL), RF_EIO);
    assert_null(p);
    assert_int_equal(rf_embed_texts(NULL, text, NULL, 1, NULL, &v, NULL, NULL), RF_EARG);
    assert_int_equal(rf_embed_texts(s.p, NULL, NULL, 1, NULL, &v, NULL, NULL), RF_EARG);
    assert_int_equal(rf_embed_texts(s.p, text, NULL, -1, NULL, &v, NULL, NULL), RF_EARG);
    assert_int_equal(rf_embed_texts(s.p, text, NULL, 2, NULL, &v, NULL, NULL), RF_EARG);
    assert_int_equal(rf_fill_mask(s.p, text, NULL, 2, NULL, &mask, &masks, NULL, NULL), RF_EARG);
    assert_int_equal(rf_generate(s.p, NULL, 0, NULL, NULL, NULL, NULL, NULL), RF_EARG);
    assert_int_equal(rf_generate(s.p, "the", 3, NULL, NULL, NULL, NULL, NULL), RF_EUNSUPPORTED);
    const rf_embed_options unset = {.batch_tokens = 1};
    assert_int_equal(rf_embed_texts(s.p, text, NULL, 1, &unset, &v, NULL, &s.why), RF_EARG);
    t_failed(&s.why, RF_EARG, "rf_embed_options: size: expected 96, got 0");
    rf_fill_options o;
    const int32_t none = 34;
    for (int i = 0; i < 5; i++) {
        rf_fill_defaults(&o);
        if (i == 0) o.top_k = 0;
        if (i == 1) o.max_length = -1;
        if (i == 2) o.batch_tokens = 0;
        if (i == 3) o.targets = 1;
        if (i == 4) o.target = &none, o.targets = 1;
        assert_int_equal(rf_fill_mask(s.p, text, NULL, 1, &o, &mask, &masks, NULL, NULL), RF_EARG);
    }
    end(&s);
}

/* Every allocation of opening, vectors, masks and closing fails once: RF_ENOMEM, and nothing leaks. */
static rf_status ask_a_folder(const rf_ctx *ctx, void *folder, rf_error *why)
{
    enum { N = 40 };                                    /* which threads encode */
    const char *text[N] = {"the [MASK] cat is [MASK]", "the [MASK]"};
    rf_pipeline *p = NULL;
    const float *v;
    const rf_mask *mask;
    int64_t masks;
    for (int i = 2; i < N; i++) text[i] = text[i % 2];
    rf_status status = rf_pipeline_open(ctx, folder, RF_F32, &p, why);
    if (!status) status = rf_embed_texts(p, text, NULL, N, NULL, &v, NULL, why);
    if (!status) status = rf_fill_mask(p, text, NULL, 2, NULL, &mask, &masks, NULL, why);
    rf_pipeline_close(p);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    setup s = begin_in(t_ctx(1, NULL), "");
    t_fail_allocations(2, NULL, ask_a_folder, s.folder);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_those_of_each_text_alone),
        cmocka_unit_test(unknown_tokens_are_counted),
        cmocka_unit_test(any_number_of_texts),
        cmocka_unit_test(unit_vectors),
        cmocka_unit_test(threads_encode_many_texts),
        cmocka_unit_test(a_text_that_cannot_be_read_ends_the_call_there),
        cmocka_unit_test(masks_get_their_likeliest_words),
        cmocka_unit_test(labels_come_with_the_likeliest_first),
        cmocka_unit_test(what_is_missing_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/pipeline", tests, NULL, NULL);
}
