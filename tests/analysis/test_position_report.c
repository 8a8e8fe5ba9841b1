/* test_position_report.c — mirrors src/analysis: measures of a trained model, compared with the properties of its
 * encoding and with directly computed sums. */
#define _GNU_SOURCE
#include "tiny.h"

#include "train/evaluate.h"
#include "roformer/inspect/positions.h"

struct bench { char *folder; rf_ctx *ctx; rf_model *model; rf_session *session; rf_stretches text; rf_probe lab; };

/* A tiny model, trained for two steps, with parts of its own corpus. */
static struct bench begin_as(const char *type, bool causal, int64_t length, int64_t most)
{
    char json[512], *model = tiny_model(), *corpus = tiny_path(model, "corpus.txt");
    const char *text = corpus;
    struct bench b = {.folder = strdup(t_folder()), .ctx = t_ctx(2, NULL)};
    rf_error why = {0};
    const int n =
        snprintf(json, sizeof json,
                 "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 16, \"hidden_size\": 32, "
                 "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64, "
                 "\"max_position_embeddings\": 64, \"attention_probs_dropout_prob\": 0, \"initializer_range\": 0.2, "
                 "\"position_embedding_type\": \"%s\", \"is_decoder\": %s}",
                 type, causal ? "true" : "false");
    t_write(model, "config.json", json, (size_t)n);
    rf_train_options o = tiny_options(model, &text, b.folder);
    o.max_steps = o.eval_steps = o.save_steps = 2;
    if (rf_pretrain(b.ctx, &o, NULL, NULL, &why) || rf_model_open(b.ctx, b.folder, &b.model, &why) ||
        rf_session_open(b.model, &b.session, &why) ||
        rf_stretches_read(b.ctx, rf_model_tokenizer(b.model), &text, 1, NULL, length, most, &b.text, &why))
        fail_msg("%s: %s", type, why.text);
    rf_probe_defaults(&b.lab);
    b.lab.ctx = b.ctx, b.lab.model = b.model, b.lab.session = b.session;
    b.lab.pieces = 3, b.lab.seed = 3, b.lab.mlm_probability = 0.3;
    free(corpus);
    free(model);
    return b;
}

static struct bench begin(const char *type, int64_t length, int64_t most)
{
    return begin_as(type, false, length, most);
}

static void end(struct bench *b)
{
    rf_stretches_free(b->ctx, &b->text);
    rf_session_close(b->session);
    rf_model_close(b->model);
    rf_ctx_free(b->ctx);
    free(b->folder);
}

static rf_shift shift(struct bench *b, int64_t by)
{
    rf_error why = {0};
    rf_shift s = {.by = by};
    b->lab.text = &b->text;
    if (rf_probe_shift(&b->lab, &s, &why)) fail_msg("shift by %d: %s", (int)by, why.text);
    return s;
}

/* Rotary: the angles of a token 1000 positions later are rounded differently (2^-24 of 1 for each cosine), and nothing
 * else differs.  Learned: each position has its own vector, and there are 64 of them. */
static void shifts_show_the_encoding(void **state)
{
    (void)state;
    struct bench rotary = begin("rotary", 16, 4), absolute = begin("absolute", 16, 4), none = begin("none", 16, 4);
    for (int64_t by = 1; by <= 1000; by *= 10) {
        const rf_shift s = shift(&rotary, by), zero = shift(&none, by);
        assert_true(s.defined && s.scored && s.hidden_rms > 0.1);
        assert_true(s.hidden_max < 1e-4 && s.logits_max < 1e-3 && s.hidden_mean <= s.hidden_max);
        assert_true(zero.defined && zero.hidden_max == 0 && zero.logits_max == 0);
    }
    for (int64_t by = 1; by <= 1000; by *= 10) {
        const rf_shift s = shift(&absolute, by);
        assert_int_equal(s.defined, by + 16 <= 64);
        if (s.defined) assert_true(s.hidden_max > 1e-2 && s.logits_max > 1e-2);
    }
    end(&rotary);
    end(&absolute);
    end(&none);
}

static void check_attention(const char *type, bool causal)
{
    struct bench b = begin_as(type, causal, 16, 4);
    rf_attention_report r;
    rf_error why = {0};
    b.lab.text = &b.text;
    if (rf_probe_attention(&b.lab, &r, &why)) fail_msg("%s", why.text);
    assert_int_equal(r.length, 16);
    t_near(r.uniform_distance, causal ? 15.0 / 4 : 255.0 / 48, 1e-12);         /* (T-1)/4, (T^2-1)/(3T) */
    t_near(r.uniform_entropy, causal ? lgamma(17) / 16 : log(16), 1e-12);
    for (int64_t i = 0; i < r.L * r.H; i++) {
        double sum = 0, distance = 0;
        for (int64_t d = 0; d < 16; d++) {
            const double share = r.by_distance[i * 16 + d] * (double)(d && !causal ? 2 * (16 - d) : 16 - d) / 16;
            sum += share;
            distance += share * (double)d;
        }
        t_near(sum, 1, 1e-5);
        t_near(distance, r.distance[i], 1e-9);
        assert_true(r.entropy[i] > 0 && r.entropy[i] < r.uniform_entropy + 1e-6 && r.ends[i] > 0 && r.ends[i] < 1);
    }
    for (int64_t l = 0; l < r.L; l++) assert_int_equal(r.sums[l].tokens, 3 * 16);
    rf_attention_report_free(b.ctx, &r);
    end(&b);
}

static void attention_adds_up(void **state)
{
    (void)state;
    check_attention("rotary", false);
    check_attention("none", false);
    check_attention("absolute", false);
    check_attention("rerope", false);
    check_attention("rotary", true);
    check_attention("xpos", true);
}

/* Losses of one length recomputed: each piece alone, with tokens masked as documented, or visible up to the previous
 * one. */
static double alone(struct bench *b, int64_t length, int64_t *labels)
{
    rf__token_kinds vocab;
    rf__mlm_batch m;
    rf_error why = {0};
    double loss = 0;
    const int64_t limit = length - 2, V = rf_model_config(b->model)->vocab_size;
    const bool causal = rf_model_config(b->model)->is_decoder != 0;
    if (rf__vocab_new(b->ctx, rf_model_tokenizer(b->model), &vocab, &why) || rf__mlm_batch_new(b->ctx, 4096, &m, &why))
        fail_msg("%s", why.text);
    const rf__masking masking = {rf__evaluation_key(3), 0.3, false, &vocab, false};
    *labels = 0;
    for (int64_t s = 0; s < b->text.n; s++) {
        rf__mlm_batch_clear(&m);
        rf__mlm_batch_add(&m, (rf__ids){b->text.id + s * b->text.size, 4}, 0, (size_t)b->text.size, false, &masking,
                          (uint64_t)s);
        for (int64_t from = 0; from < b->text.size; from += limit) {
            const int64_t n = rf__min64(limit, b->text.size - from);
            int32_t id[512];
            id[0] = vocab.cls;
            if (causal) memcpy(id + 1, b->text.id + s * b->text.size + from, (size_t)n * sizeof *id);
            else memcpy(id + 1, m.id + 1 + from, (size_t)n * sizeof *id);
            id[n + 1] = vocab.sep;
            const rf_batch one = {.N = n + 2, .B = 1, .id = id, .start = (const int32_t[]){0, (int32_t)n + 2}};
            for (int64_t i = 0; i < m.n; i++) {
                const int32_t row = (int32_t)(m.row[i] - from), asked = row - causal;
                const float *z;
                double sum = 0;
                if (row < 1 || row > n) continue;
                if (rf_session_mlm_logits(b->session, &one, &asked, 1, &z, &why)) fail_msg("%s", why.text);
                for (int64_t v = 0; v < V; v++) sum += exp((double)z[v]);
                loss += log(sum) - (double)z[m.label[i]];
                ++*labels;
            }
        }
    }
    rf__mlm_batch_free(b->ctx, &m);
    rf__vocab_free(b->ctx, &vocab);
    return loss / (double)*labels;
}

static void check_lengths(const char *type, bool causal, int64_t longest)
{
    struct bench b = begin_as(type, causal, 8, 5);
    rf_length_loss l[RF_LENGTHS];
    rf_error why = {0};
    int n = 0;
    b.lab.text = &b.text;
    assert_int_equal(b.text.times, 16);
    assert_int_equal(b.text.size, 126);
    if (rf_probe_lengths(&b.lab, l, &n, &why)) fail_msg("%s", why.text);
    assert_int_equal(n, 5);
    for (int k = 0; k < 5; k++) {
        int64_t labels, binned = 0;
        double sum = 0;
        assert_int_equal(l[k].defined, l[k].length <= longest);
        if (!l[k].defined) continue;
        const double expected = alone(&b, l[k].length, &labels);
        assert_true(l[k].length == 8 << k && l[k].labels == labels && l[k].bins <= RF_LOSS_BINS);
        t_near(l[k].loss, expected, 1e-6);                          /* f32 logits below 10, and the same bits in most */
        t_near(l[k].change, l[k].loss - l[0].loss, 1e-9);
        for (int64_t i = 0; i < l[k].bins; i++) {
            binned += l[k].bin_labels[i];
            if (l[k].bin_labels[i]) sum += l[k].bin_loss[i] * (double)l[k].bin_labels[i];
        }
        assert_int_equal(binned, labels);
        t_near(sum / (double)labels, l[k].loss, 1e-9);
        assert_true(l[k].error > 0 && (k ? l[k].change_error > 0 : l[k].change_error == 0));
    }
    end(&b);
}

static void every_length_predicts_the_same(void **state)
{
    (void)state;
    check_lengths("rotary", false, 128);
    check_lengths("absolute", false, 64);
    check_lengths("rotary", true, 128);
    check_lengths("xpos", true, 128);
}

static int stop(void *user, double share)
{
    (void)share;
    return ++*(int *)user == 2;
}

static void what_cannot_be_measured(void **state)
{
    (void)state;
    struct bench b = begin("rotary", 32, 4);
    rf_stretches s;
    rf_shift out = {.by = 1};
    rf_error why = {0};
    int asked = 0;
    char *corpus = tiny_path(b.folder, "short.txt");
    const char *text = corpus;
    t_write(b.folder, "short.txt", "the red cat is walking .\n", 25);
    assert_int_equal(rf_stretches_read(b.ctx, rf_model_tokenizer(b.model), &text, 1, NULL, 32, 4, &s, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "--max_length 32");
    why = (rf_error){0};
    b.lab.text = &b.text;
    b.lab.progress = stop;
    b.lab.user = &asked;
    assert_int_equal(rf_probe_shift(&b.lab, &out, &why), RF_ESTOPPED);
    assert_int_equal(asked, 2);
    free(corpus);
    end(&b);
}

/* Every allocation fails once: out of memory is reported, and nothing leaks. */
static rf_status all_measures(rf_ctx *ctx, const struct bench *b, const char *corpus, rf_error *why)
{
    rf_model *model = NULL;
    rf_session *session = NULL;
    rf_stretches text = {0};
    rf_shift shifted = {.by = 1};
    rf_attention_report r = {0};
    rf_length_loss l[RF_LENGTHS];
    int n;
    rf_status status = rf_model_open(ctx, b->folder, &model, why);
    if (!status) status = rf_session_open(model, &session, why);
    if (!status) status = rf_stretches_read(ctx, rf_model_tokenizer(model), &corpus, 1, NULL, 8, 2, &text, why);
    rf_probe lab;
    rf_probe_defaults(&lab);
    lab.ctx = ctx, lab.model = model, lab.session = session, lab.text = &text, lab.mlm_probability = 0.3;
    if (!status) status = rf_probe_shift(&lab, &shifted, why);
    if (!status) status = rf_probe_attention(&lab, &r, why);
    if (!status) status = rf_probe_lengths(&lab, l, &n, why);
    rf_attention_report_free(ctx, &r);
    rf_stretches_free(ctx, &text);
    rf_session_close(session);
    rf_model_close(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    struct bench b = begin("rotary", 8, 2);
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    char *corpus = tiny_path(b.folder, "text.txt"), text[1600];
    size_t n = 0;
    for (int k = 0; k < 30; k++) n += (size_t)tiny_sentence(text + n, sizeof text - n, 1, (unsigned)k);
    t_write(b.folder, "text.txt", text, n);
    rf_error first = {0};
    if (all_measures(ctx, &b, corpus, &first)) fail_msg("%s", first.text);
    const long before = memory.live;                            /* including the context's memory for products */
    rf_status status = RF_ENOMEM;
    long fail = 1;
    for (; status && fail < 3000; fail++) {
        rf_error why = {0};
        memory.calls = 0;
        memory.fail = fail;
        status = all_measures(ctx, &b, corpus, &why);
        if (status) t_failed(&why, RF_ENOMEM, "memory");
        assert_int_equal(memory.live, before);
    }
    assert_int_equal(status, RF_OK);
    assert_true(fail > 100);
    free(corpus);
    rf_ctx_free(ctx);
    end(&b);
}

/* Maps of one sequence agree with the sums of the report; with `bare`, only the contribution of positions remains. */
static void maps_are_attention(void **state)
{
    (void)state;
    enum { T = 16 };
    struct bench b = begin("none", T, 4);
    const rf_config *c = rf_model_config(b.model);
    const int64_t heads = c->num_hidden_layers * c->num_attention_heads;
    float *p = t_floats(heads * T * T);
    int32_t id[T] = {rf_tokenizer_cls(rf_model_tokenizer(b.model))};
    rf_attention_report r;
    memcpy(id + 1, b.text.id, (T - 2) * sizeof *id);
    id[T - 1] = rf_tokenizer_sep(rf_model_tokenizer(b.model));
    b.lab.text = &b.text;
    b.lab.pieces = 1;
    assert_int_equal(rf_probe_attention(&b.lab, &r, NULL), RF_OK);
    assert_int_equal(rf_attention_maps(b.session, id, T, 0, p, NULL), RF_OK);
    for (int64_t i = 0; i < heads; i++) {
        double distance = 0;
        for (int64_t m = 0; m < T; m++) {
            double row = 0;
            for (int64_t n = 0; n < T; n++) {
                row += (double)p[(i * T + m) * T + n];
                distance += (double)p[(i * T + m) * T + n] * fabs((double)(m - n)) / T;
            }
            t_near(row, 1, 1e-5);
        }
        t_near(distance, r.distance[i], 1e-9);
    }
    assert_int_equal(rf_attention_maps(b.session, id, T, 1, p, NULL), RF_OK);
    for (int64_t i = 0; i < heads * T * T; i++) t_near((double)p[i], 1.0 / T, 1e-6);
    assert_int_equal(rf_attention_maps(b.session, NULL, T, 0, p, NULL), RF_EARG);
    assert_int_equal(rf_attention_maps(b.session, id, 0, 0, p, NULL), RF_EARG);
    rf_attention_report_free(b.ctx, &r);
    end(&b);
}

/* The same tokens are masked as in an evaluation's batch, whatever else is in the batch. */
static void masked_as_evaluations_are(void **state)
{
    (void)state;
    struct bench b = begin("rotary", 16, 4);
    const rf_tokenizer *t = rf_model_tokenizer(b.model);
    rf__token_kinds vocab;
    rf__mlm_batch expected;
    rf_masked *m = NULL;
    assert_int_equal(rf__vocab_new(b.ctx, t, &vocab, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(b.ctx, 34, &expected, NULL), RF_OK);
    const rf__masking masking = {rf__evaluation_key(7), 0.5, false, &vocab, false};
    assert_int_equal(rf_masked_new(b.ctx, t, 34, 7, 0.5, &m, NULL), RF_OK);
    for (uint64_t i = 0; i < 2; i++) {
        rf__mlm_batch_add(&expected, (rf__ids){b.text.id, sizeof(int32_t)}, i * 14, 14, true, &masking, 5 + i);
        assert_int_equal(rf_masked_add(m, b.text.id + i * 14, 14, 5 + i), 1);
    }
    assert_int_equal(rf_masked_add(m, b.text.id, 1, 9), 0);             /* 32 of 34 tokens, and three are needed */
    const int32_t strange[] = {5, 1 << 30}, negative = -1;
    rf_masked *small = NULL;
    assert_int_equal(rf_masked_new(b.ctx, t, 34, 7, 0.5, &small, NULL), RF_OK);
    assert_int_equal(rf_masked_add(small, strange, 2, 9), -1);
    assert_int_equal(rf_masked_add(small, &negative, 1, 9), -1);
    assert_int_equal(rf_masked_view(small)->batch.N, 0);
    rf_masked_free(small);
    const rf_masked_batch *view = rf_masked_view(m);
    assert_int_equal(view->batch.N, 32);
    assert_int_equal(view->batch.B, 2);
    assert_int_equal(view->labels, expected.n);
    assert_true(expected.n > 0);
    assert_memory_equal(view->batch.id, expected.id, 32 * sizeof(int32_t));
    assert_memory_equal(view->row, expected.row, (size_t)expected.n * sizeof(int32_t));
    assert_memory_equal(view->label, expected.label, (size_t)expected.n * sizeof(int32_t));
    assert_int_equal(rf_masked_cut(m, b.text.id, 9, 9), 9);
    assert_true(rf_masked_cut(m, b.text.id, 14, 5) <= 5);
    rf_masked_clear(m);
    assert_int_equal(rf_masked_view(m)->batch.N, 0);
    assert_int_equal(rf_masked_new(b.ctx, t, 34, 7, 1.5, &m, NULL), RF_EARG);
    assert_int_equal(rf_masked_new(b.ctx, NULL, 34, 7, 0.5, &m, NULL), RF_EARG);
    rf_masked_free(m);
    rf_masked_free(NULL);
    rf__mlm_batch_free(b.ctx, &expected);
    rf__vocab_free(b.ctx, &vocab);
    end(&b);
}

static void probes_are_checked(void **state)
{
    (void)state;
    struct bench b = begin("rotary", 16, 4);
    rf_shift s = {.by = 1};
    rf_error why = {0};
    assert_int_equal(rf_probe_shift(NULL, &s, NULL), RF_EARG);
    assert_int_equal(rf_probe_shift(&b.lab, &s, NULL), RF_EARG);        /* no text */
    b.lab.text = &b.text;
    b.lab.pieces = b.text.n + 1;
    assert_int_equal(rf_probe_shift(&b.lab, &s, &why), RF_EARG);
    t_failed(&why, RF_EARG, "pieces: expected at most the text's");
    b.lab.pieces = 1;
    b.lab.size = 3;
    assert_int_equal(rf_probe_attention(&b.lab, NULL, NULL), RF_EARG);
    why = (rf_error){0};
    assert_int_equal(rf_probe_shift(&b.lab, &s, &why), RF_EARG);
    t_failed(&why, RF_EARG, "rf_probe: size: expected 80, got 3");
    assert_int_equal(rf_probe_lengths(&b.lab, NULL, NULL, NULL), RF_EARG);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_show_the_encoding),
        cmocka_unit_test(attention_adds_up),
        cmocka_unit_test(every_length_predicts_the_same),
        cmocka_unit_test(what_cannot_be_measured),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(maps_are_attention),
        cmocka_unit_test(masked_as_evaluations_are),
        cmocka_unit_test(probes_are_checked),
    };
    return cmocka_run_group_tests_name("train/position_report", tests, NULL, NULL);
}
