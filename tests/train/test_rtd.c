/* test_rtd.c — mirrors src/train/rtd.c and rtd_job.c: replaced-token detection.  The loss is that of its equations,
 * computed here from the logits of both models; every gradient, including that of the shared embeddings, agrees with
 * finite differences; samples have the probabilities of the softmax; any number of threads gives the same bits. */
#include "t.h"

#include "model/encoder.h"
#include "train/memory.h"
#include "train/rtd.h"

enum { V = 23, N = 12, B = 2, MASKED = 4 };

static int32_t id[N] = {2, 4, 9, 4, 7, 3, 2, 8, 4, 4, 11, 3}, start[B + 1] = {0, 6, N};
static int32_t row[MASKED] = {1, 3, 8, 9}, label[MASKED] = {5, 6, 12, 9};
static const double weights[2] = {1.0 / MASKED, 50.0 / N};

static rf__mlm_batch batch_of(void)
{
    return (rf__mlm_batch){.capacity = N, .N = N, .B = B, .n = MASKED, .id = id, .start = start, .row = row,
                           .label = label};
}

static const char *family = "roformer";

static rf_config model_of(void)
{
    rf_config c;
    if (rf_config_defaults_of(family, &c, NULL)) fail_msg("%s", family);
    c.vocab_size = V, c.embedding_size = 12, c.hidden_size = 32, c.num_hidden_layers = 2, c.num_attention_heads = 4;
    c.intermediate_size = 40, c.max_position_embeddings = 16, c.rotary_value = !strcmp(family, "roformer");
    c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
    c.layer_norm_eps = 1e-5;
    rf_config_set_head(&c, RF_HEAD_DETECT);
    return c;
}

/* Both models, and their slabs. */
typedef struct pair {
    rf_ctx *ctx;
    rf_params all;
    rf__rtd *rtd;
    rf_encoder *discriminator;
    rf_graph *g;
    float *value, *grad;
} pair;

static pair make(int threads)
{
    pair p = {.ctx = t_ctx(threads, NULL)};
    const rf_config c = model_of();
    rf_config small;
    rf_error why = {0};
    if (rf__rtd_config(&c, 0.5, &small, &why) || rf__params_new_head(p.ctx, &c, RF_HEAD_DETECT, &p.all, &why) ||
        rf__rtd_new(&p.all, &small, 50, &p.rtd, &why))
        fail_msg("%s", why.text);
    p.value = t_floats((int64_t)p.all.total);
    p.grad = t_floats((int64_t)p.all.total);
    rf__rtd_init(p.rtd, p.value, true, 3);
    for (size_t i = 0; i < p.all.n; i++)
        for (size_t j = p.all.p[i].offset; j < p.all.p[i].offset + p.all.p[i].count; j++)
            p.value[j] = (p.all.p[i].init == RF_INIT_NORMAL ? 15 : 1) * p.value[j] + 0.1f * (float)sin(1.7 * (double)j);
    memset(p.grad, 0, p.all.total * sizeof *p.grad);
    if (rf__encoder_new(&p.rtd->discriminator, p.value, p.grad, &p.discriminator, &why) ||
        rf__encoder_new(&p.rtd->generator, p.value, p.grad, &p.rtd->encoder, &why) || rf__graph_new(p.ctx, &p.g, &why))
        fail_msg("%s", why.text);
    return p;
}

static void end(pair *p)
{
    rf__graph_free(p->g);
    rf__encoder_free(p->discriminator);
    rf__rtd_free(p->rtd);
    rf__params_free(&p->all);
    rf_ctx_free(p->ctx);
    t_free_all();
}

static double loss_of(pair *p, bool record, uint64_t stream, rf__rtd_sums *sums)
{
    const rf__mlm_batch b = batch_of();
    rf_error why = {0};
    *sums = (rf__rtd_sums){0};
    rf__graph_reset(p->g);
    rf__graph_record(p->g, record, 1, 1);
    rf_tensor *loss = rf__rtd_loss(p->g, p->rtd, p->discriminator, &b, 7, stream, weights, sums);
    if (rf__graph_error(p->g)->code) fail_msg("%s", rf__graph_error(p->g)->text);
    if (record && rf__backward(p->g, loss, &why)) fail_msg("%s", why.text);
    return weights[0] * sums->generator + weights[1] * sums->detection;
}

/* ---- one list of parameters ---- */

static void embeddings_are_shared(void **state)
{
    (void)state;
    pair p = make(1);
    const rf_params *d = &p.rtd->discriminator, *g = &p.rtd->generator;
    size_t own = 0, both = 0, floats = 0;
    for (size_t i = 0; i < g->n; i++) {
        bool same = false;
        for (size_t j = 0; j < d->n; j++) same = same || d->p[j].offset == g->p[i].offset;
        assert_int_equal(same, strstr(g->p[i].name, ".embeddings.") != NULL);
        both += same;
        own += !same;
        floats += same ? 0 : g->p[i].count;
    }
    assert_int_equal(both, strcmp(family, "electra") ? 4 : 5);       /* words, types, norm and its bias; positions */
    assert_int_equal(p.all.n, d->n + own);
    for (size_t i = d->n; i < p.all.n; i++) assert_memory_equal(p.all.p[i].name, "generator.", 10);
    for (size_t i = 0; i + 1 < p.all.n; i++)                             /* no place is anybody else's */
        assert_true(p.all.p[i].offset + p.all.p[i].count <= p.all.p[i + 1].offset);
    assert_int_equal(g->config.hidden_size, 16);
    assert_int_equal(g->config.num_attention_heads, 2);
    assert_int_equal(g->config.intermediate_size, 20);
    assert_int_equal(g->config.embedding_size, 12);
    assert_true(p.all.total >= floats && p.all.p[p.all.n - 1].offset + p.all.p[p.all.n - 1].count <= p.all.total);
    end(&p);
}

/* ---- the loss ---- */

/* Logits of the generator at the masked positions, and of the discriminator at all tokens of a text. */
static float *generator_logits(pair *p)
{
    const rf__mlm_batch b = batch_of();
    const rf_batch view = rf__mlm_batch_view(&b);
    rf__graph_reset(p->g);
    rf__graph_record(p->g, 0, 0, 0);
    rf_tensor *h = rf__encoder_forward(p->g, p->rtd->encoder, &view);
    const rf_tensor *z = rf__mlm_logits(p->g, p->rtd->encoder, h, row, MASKED);
    return memcpy(t_floats(MASKED * V), z->f32, MASKED * V * sizeof(float));
}

static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static void the_loss_is_as_printed(void **state)
{
    (void)state;
    pair p = make(2);
    rf__rtd_sums sums;
    const double got = loss_of(&p, false, 5, &sums);
    const float *z = generator_logits(&p);
    double expected = 0, detection = 0;
    for (int i = 0; i < MASKED; i++) {
        double all = 0;
        for (int v = 0; v < V; v++) all += exp((double)z[i * V + v]);
        expected += log(all) - (double)z[i * V + label[i]];
    }
    t_near(sums.generator, expected, 1e-4);

    /* the same samples, and the discriminator on the text with them */
    const rf__mlm_batch b = batch_of();
    rf_batch view = rf__mlm_batch_view(&b);
    int32_t text[N], drawn[MASKED], replaced = 0, right = 0, detected = 0;
    rf__graph_reset(p.g);
    rf__graph_record(p.g, 0, 0, 0);
    rf_tensor *h = rf__encoder_forward(p.g, p.rtd->encoder, &view);
    rf__rtd_draw(p.g, p.rtd->encoder, rf__mlm_transform(p.g, p.rtd->encoder, h, row, MASKED), 7, 5, drawn);
    memcpy(text, id, sizeof text);
    for (int i = 0; i < MASKED; i++) text[row[i]] = drawn[i];
    view.id = text;
    const rf_tensor *d = rf__task_forward(p.g, p.discriminator, &view);
    assert_int_equal(d->dim[0], N);
    assert_int_equal(d->dim[1], 1);
    for (int n = 0; n < N; n++) {
        int32_t original = id[n];
        for (int i = 0; i < MASKED; i++)
            if (row[i] == n) original = label[i];
        const bool is = text[n] != original, says = d->f32[n] > 0;
        detection += softplus(is ? -(double)d->f32[n] : (double)d->f32[n]);
        replaced += is, right += is == says, detected += is && says;
    }
    assert_true(replaced > 0);
    t_near(sums.detection, detection, 1e-4);
    assert_int_equal(sums.replaced, replaced);
    assert_int_equal(sums.right, right);
    assert_int_equal(sums.detected, detected);
    assert_int_equal(sums.tokens, N);
    t_near(got, expected / MASKED + 50 * detection / N, 2e-3);
    end(&p);
}

/* The slope along every tensor's own gradient; a step is so small that no sample changes, which is checked. */
static void every_tensor_has_its_gradient(void **state)
{
    (void)state;
    pair p = make(2);
    rf__rtd_sums sums, moved;
    loss_of(&p, true, 5, &sums);
    float *kept = t_floats((int64_t)p.all.total);
    memcpy(kept, p.value, p.all.total * sizeof *kept);
    for (size_t i = 0; i < p.all.n; i++) {
        const rf_param *q = &p.all.p[i];
        double square = 0, two[2];
        if (strstr(q->name, "key.bias")) continue;                       /* a softmax does not see it */
        for (size_t j = q->offset; j < q->offset + q->count; j++) square += (double)p.grad[j] * (double)p.grad[j];
        if (!(square > 0)) fail_msg("%s has no gradient", q->name);
        const double step = 2e-3;
        for (int s = 0; s < 2; s++) {
            for (size_t j = q->offset; j < q->offset + q->count; j++)
                p.value[j] = kept[j] + (float)((s ? step : -step) / sqrt(square) * (double)p.grad[j]);
            two[s] = loss_of(&p, false, 5, &moved);
            assert_int_equal(moved.replaced, sums.replaced);
        }
        memcpy(p.value + q->offset, kept + q->offset, q->count * sizeof *kept);
        const double expected = 2 * step * sqrt(square), got = two[1] - two[0];
        if (!(fabs(got - expected) < 0.03 * expected + 4e-4))      /* a loss of 50: its rounding is 50 * 2^-23 a term */
            fail_msg("%s moves the loss by %g, not by %g", q->name, got, expected);
    }
    end(&p);
}

static void so_does_an_electra(void **state)
{
    family = "electra";
    embeddings_are_shared(state);
    the_loss_is_as_printed(state);
    every_tensor_has_its_gradient(state);
    family = "roformer";
}

/* ---- draws ---- */

/* For 20,000 samples the count of each token is within 5 deviations of its expectation. */
static void draws_have_their_probabilities(void **state)
{
    (void)state;
    enum { DRAWS = 5000 };
    static int count[MASKED][V];
    pair p = make(2);
    const float *z = generator_logits(&p);
    const rf__mlm_batch b = batch_of();
    const rf_batch view = rf__mlm_batch_view(&b);
    memset(count, 0, sizeof count);
    rf__graph_reset(p.g);
    rf__graph_record(p.g, 0, 0, 0);
    rf_tensor *h = rf__encoder_forward(p.g, p.rtd->encoder, &view);
    const rf_tensor *x = rf__mlm_transform(p.g, p.rtd->encoder, h, row, MASKED);
    for (uint64_t stream = 0; stream < DRAWS; stream++) {
        int32_t drawn[MASKED];
        rf__rtd_draw(p.g, p.rtd->encoder, x, 1, stream, drawn);
        for (int i = 0; i < MASKED; i++) count[i][drawn[i]]++;
    }
    for (int i = 0; i < MASKED; i++) {
        double all = 0;
        for (int v = 0; v < V; v++) all += exp((double)z[i * V + v]);
        for (int v = 0; v < V; v++) {
            const double share = exp((double)z[i * V + v]) / all, mean = DRAWS * share;
            if (fabs(count[i][v] - mean) > 5 * sqrt(mean * (1 - share)) + 1)
                fail_msg("row %d: token %d was drawn %d times, not about %g", i, v, count[i][v], mean);
        }
    }
    end(&p);
}

/* The memory of a step is the estimate for both models, up to the samples' logits, which are freed before the rest. */
static void memory_is_counted(void **state)
{
    (void)state;
    enum { T = 64, TEXTS = 8, ALL = T * TEXTS, ASKED = ALL * 15 / 100 };
    pair p = make(2);
    int32_t *ids = t_bytes(ALL * sizeof *ids), *starts = t_bytes((TEXTS + 1) * sizeof *starts),
            *rows = t_bytes(ASKED * sizeof *rows), *labels = t_bytes(ASKED * sizeof *labels);
    for (int i = 0; i < ALL; i++) ids[i] = 2 + i % (V - 2);
    for (int i = 0; i <= TEXTS; i++) starts[i] = i * T;
    for (int i = 0; i < ASKED; i++) rows[i] = i * 6, labels[i] = 3 + i % 9;
    const rf__mlm_batch b = {.capacity = ALL, .N = ALL, .B = TEXTS, .n = ASKED, .id = ids, .start = starts, .row = rows,
                             .label = labels};
    double loss = 0;
    rf_error why = {0};
    rf_train_options o;
    rf_train_defaults(&o);
    o.max_length = T, o.tokens_per_batch = ALL;
    p.rtd->tokens = ALL;
    if (rf__rtd_gradient(p.rtd, p.g, p.discriminator, &b, 1, 1, 1.0 / ASKED, &loss, &why)) fail_msg("%s", why.text);
    const double held = (double)rf__graph_memory(p.g), said = rf__memory_batch(&p.rtd->discriminator, &o, ALL, 0) +
                                                             rf__memory_batch(&p.rtd->generator, &o, ALL, 0);
    print_message("           %.2f MB held, %.2f MB estimated: %+.1f %%\n", held * 1e-6, said * 1e-6,
                  100 * (said / held - 1));
    assert_true(isfinite(loss));
    assert_true(said > 0.95 * held && said < 1.2 * held);
    end(&p);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    float *first = NULL;
    size_t total = 0;
    for (int threads = 1; threads <= 3; threads += 2) {
        pair p = make(threads);
        rf__rtd_sums sums;
        loss_of(&p, true, 9, &sums);
        if (!first) {
            total = p.all.total;
            first = malloc(total * sizeof *first);
            assert_non_null(first);
            memcpy(first, p.grad, total * sizeof *first);
        } else {
            assert_memory_equal(first, p.grad, total * sizeof *first);
        }
        end(&p);
    }
    free(first);
}

/* ---- what cannot be ---- */

static void refusals(void **state)
{
    (void)state;
    rf_config c = model_of(), out;
    rf_error why = {0};
    assert_int_equal(rf__rtd_config(&c, 0.3, &out, &why), RF_EARG);
    t_failed(&why, RF_EARG, "generator_size: expected a fraction that makes whole numbers of hidden_size, 32, "
                            "num_attention_heads, 4, and intermediate_size, 40, got 0.3");
    why = (rf_error){0};
    c.is_decoder = 1;
    assert_int_equal(rf__rtd_config(&c, 0.5, &out, &why), RF_EUNSUPPORTED);
    c = model_of();
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "t5");
    c.rotary_value = 0;
    why = (rf_error){0};
    assert_int_equal(rf__rtd_config(&c, 0.5, &out, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "parameters, got position_embedding_type \"t5\"");
    why = (rf_error){0};
    assert_int_equal(rf_config_defaults_of("bert", &c, &why), RF_OK);
    assert_int_equal(rf__rtd_config(&c, 0.5, &out, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "objective rtd: expected a RoFormer or an ELECTRA, got a BERT");
    c = model_of();
    c.attention_type = RF_ATTENTION_LINEAR;
    c.rotary_value = 0;
    why = (rf_error){0};
    assert_int_equal(rf__rtd_config(&c, 0.5, &out, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected softmax attention");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeddings_are_shared),          cmocka_unit_test(the_loss_is_as_printed),
        cmocka_unit_test(every_tensor_has_its_gradient),  cmocka_unit_test(draws_have_their_probabilities),
        cmocka_unit_test(so_does_an_electra),
        cmocka_unit_test(threads_change_no_bit),          cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("train/rtd", tests, NULL, NULL);
}
