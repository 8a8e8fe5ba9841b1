/* test_pipeline.c — mirrors src/pipeline: the one-call functions have the bits of tokenizer and session for each text
 * alone; rejected input, reports, and failing allocations. */
#define _GNU_SOURCE
#include "small_pipeline.h"

static void write_config(const char *folder, const char *more) { write_config_of(folder, 34, more); }

static setup begin_in(rf_ctx *ctx, const char *more)
{
    setup s = {.ctx = ctx, .folder = tiny_model()};
    write_config(s.folder, more);
    random_weights(s.ctx, s.folder, 5);
    return s;
}

static setup begin(const char *more)
{
    setup s = begin_in(t_ctx(2, NULL), more);
    open_pipeline(&s);
    return s;
}

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
    t_failed(&s.why, RF_EDATA, "text: expected a mask token ([MASK])");
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
        rf_answerer_classify(a, "the cat", 7, "the dog", 7, &score, &s.why))
        fail_msg("%s", s.why.text);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(!i || label[i - 1].score >= label[i].score);
        const int k = *label[i].label - 'a';
        assert_string_equal(label[i].label, rf_answerer_labels(a)->name[k]);
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

/* ---- more text --------------------------------------------------------------------------------------------------- */

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

/* A source that gives two prompts at first and another one whenever a text has ended; the text becomes invalid after
 * each call. */
typedef struct arrivals {
    many m;
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
    if (rf_generate_texts_from(s->p, next_arrival, o, hear_one, note, &x, &why)) fail_msg("%s", why.text);
    assert_int_equal(x.m.done, PROMPTS);
    for (int i = 0; i < PROMPTS; i++) {
        assert_string_equal(x.m.whole[i], m->whole[i]);
        assert_string_equal(x.m.of[i].text, m->of[i].text);
    }
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
    const rf_text_score *whole, *part;
    rf_score_options o;
    rf_score_defaults(&o);
    if (rf_score_text(s.p, NULL, 0, "the old cat", RF_STRING, NULL, &whole, &s.why)) fail_msg("%s", s.why.text);
    const double total = whole->total;
    assert_int_equal(whole->n, 3);
    assert_int_equal(whole->id[1], 10);
    if (rf_score_text(s.p, NULL, 0, "the", 3, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    const double first = part->total;
    if (rf_score_text(s.p, "the", RF_STRING, "old cat", 7, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(part->n, 2);
    t_near(first + part->total, total, 1e-12);
    o.end = 1;
    if (rf_score_text(s.p, "the", 3, "old cat", 7, &o, &part, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(part->n, 3);
    assert_int_equal(part->id[2], rf_tokenizer_sep(rf_model_tokenizer(rf_pipeline_model(s.p))));
    t_near(first + part->total - part->logprob[2], total, 1e-12);
    o.max_length = 4;
    o.stride = 4;
    assert_int_equal(rf_score_text(s.p, "the", 3, "old cat", 7, &o, &part, &s.why), RF_EARG);
    assert_int_equal(rf_score_text(s.p, NULL, 0, NULL, 0, &o, &part, NULL), RF_EARG);
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
    t_failed(&s.why, RF_EARG, "rf_embed_options: size: expected 72, got 0; fill in the defaults first");
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
    const char *text[] = {"the [MASK] cat is [MASK]", "the [MASK]"};
    rf_pipeline *p = NULL;
    const float *v;
    const rf_mask *mask;
    int64_t masks;
    rf_status status = rf_pipeline_open(ctx, folder, RF_F32, &p, why);
    if (!status) status = rf_embed_texts(p, text, NULL, 2, NULL, &v, NULL, why);
    if (!status) status = rf_fill_mask(p, text, NULL, 2, NULL, &mask, &masks, NULL, why);
    rf_pipeline_close(p);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    setup s = begin_in(t_ctx(1, NULL), "");
    t_fail_allocations(1, NULL, ask_a_folder, s.folder);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_those_of_each_text_alone),
        cmocka_unit_test(unknown_tokens_are_counted),
        cmocka_unit_test(any_number_of_texts),
        cmocka_unit_test(unit_vectors),
        cmocka_unit_test(a_text_that_cannot_be_read_ends_the_call_there),
        cmocka_unit_test(masks_get_their_likeliest_words),
        cmocka_unit_test(labels_come_with_the_likeliest_first),
        cmocka_unit_test(text_goes_on_behind_the_prompt),
        cmocka_unit_test(words_are_decoded_as_all_at_once),
        cmocka_unit_test(ids_without_a_token_are_not_written),
        cmocka_unit_test(many_prompts_are_one_each), cmocka_unit_test(texts_are_worth_their_tokens),
        cmocka_unit_test(what_is_missing_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/pipeline", tests, NULL, NULL);
}
