/* test_finetune_step.c — one gradient of fine-tuning: FGM and R-Drop compared with their papers, the learning rate of
 * each layer, and the batches of an epoch. */
#define _GNU_SOURCE
#include "random_weights.h"
#include "task/finetune.h"

/* The parts of a run that a gradient needs, with one micro-batch: a model of two layers, six texts of two classes. */
typedef struct bench { rf_ctx *ctx; rf__run r; rf__finetune_run f; rf__item_batch batch; rf_error why; } bench;

enum { TEXTS = 6, TOKENS = 34, V = 40, E = 16 };
static size_t first[TEXTS + 1] = {0, 1, 2, 3, 4, 5, 6}, start[TEXTS + 1] = {0, 5, 12, 15, 24, 30, 34},
                            which[TEXTS] = {3, 0, 5, 1, 2, 4};
static int32_t id[TOKENS], type[TOKENS], label[TEXTS] = {0, 1, 1, 0, 1, 0};

static bench *begin(double dropout, double r_drop, double fgm)
{
    bench *b = calloc(1, sizeof *b);
    rf_config c;
    b->ctx = t_ctx(1, NULL);
    rf_config_defaults(&c);
    c.vocab_size = V, c.embedding_size = E, c.hidden_size = 32, c.num_hidden_layers = 2, c.num_attention_heads = 2,
    c.intermediate_size = 64;
    c.num_labels = 2, c.hidden_dropout_prob = c.attention_probs_dropout_prob = dropout;
    rf_config_set_head(&c, RF_HEAD_SEQUENCE);
    rf_train_defaults(&b->r.o);
    b->r.o.seed = 11;
    b->r.ctx = b->f.ctx = b->ctx;
    b->r.task = &b->f;
    assert_int_equal(rf__params_new_head(b->ctx, &c, RF_HEAD_SEQUENCE, &b->r.params, NULL), RF_OK);
    const rf__rule rule = rf__rule_of(&b->r.o);
    assert_int_equal(rf__optimizer_new(&b->r.params, &rule, &b->r.optimizer, NULL), RF_OK);
    rf__params_init(&b->r.params, b->r.optimizer.value, 5);
    assert_int_equal(rf__encoder_new(&b->r.params, b->r.optimizer.value, b->r.optimizer.grad, &b->r.encoder, NULL),
                     RF_OK);
    assert_int_equal(rf__graph_new(b->ctx, &b->r.graph, NULL), RF_OK);
    assert_int_equal(rf__tree_new(&b->r.params, b->r.optimizer.grad, 0, 1, &b->r.tree, NULL), RF_OK);
    for (int i = 0; i < TOKENS; i++) id[i] = i * 7 % V;
    b->f.train = (rf__items){.ctx = b->ctx,
                             .format = &rf__task_cls.examples,
                             .K = 2,
                             .n = TEXTS,
                             .first = first,
                             .start = start,
                             .id = id,
                             .type = type,
                             .label = label};
    b->f.task = &rf__task_cls;
    b->f.o.r_drop = r_drop;
    b->f.o.fgm = fgm;
    b->f.batch = &b->batch;
    b->f.words = t_floats(V * E);
    assert_int_equal(rf__item_batch_fill(&b->batch, &b->f.train, which, TEXTS, r_drop > 0, NULL), RF_OK);
    return b;
}

static void end(bench *b)
{
    rf__item_batch_free(b->ctx, &b->batch);
    rf__tree_free(&b->r.tree);
    rf__graph_free(b->r.graph);
    rf__encoder_free(b->r.encoder);
    rf__optimizer_free(&b->r.optimizer);
    rf__params_free(&b->r.params);
    rf_ctx_free(b->ctx);
    free(b);
    t_free_all();
}

/* The trainer's gradient of the batch; the sum of its losses. */
static const float *gradient(bench *b, uint64_t stream, double *loss)
{
    *loss = 0;
    rf__tree_begin(&b->r.tree);
    float *leaf = rf__tree_leaf(&b->r.tree, 0);
    rf__encoder_grad(b->r.encoder, leaf);
    if (rf__finetune_gradient(&b->r, 0, stream, 1 / (double)b->batch.labels, loss, &b->why))
        fail_msg("%s", b->why.text);
    return leaf;
}

/* The same using only model and loss: at weights `value`, into `grad`. */
static double plain(const bench *b, float *value, float *grad, uint64_t stream)
{
    rf_encoder *e;
    rf_graph *g;
    double sum = 0;
    const rf_batch view = rf__item_batch_view(&b->batch);
    memset(grad, 0, b->r.params.total * sizeof *grad);
    assert_int_equal(rf__encoder_new(&b->r.params, value, grad, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(b->ctx, &g, NULL), RF_OK);
    rf__graph_record(g, 1, b->r.o.seed, stream);
    rf_tensor *z = rf__task_forward(g, e, &view);
    assert_int_equal(
        rf__backward(g, rf__row_loss(g, z, b->batch.label, NULL, 1 / (double)b->batch.labels, &sum, NULL), NULL),
        RF_OK);
    rf__graph_free(g);
    rf__encoder_free(e);
    return sum;
}

/* ---- FGM (Miyato et al. 2017): the gradient is that of L(E + delta),  delta = eps g / |g|,  g = dL/dE ---- */

static double length_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* Tolerance: one f32 rounding of each changed word (6e-8 of it) reaches the gradient through a network whose second
 * derivatives are of size 10 here; both computations add the same products in the same order, so that nothing else
 * differs: 1e-5 of the largest. */
static void fgm_is_the_gradient_at_words_that_are_moved_along_theirs(void **state)
{
    (void)state;
    static const double epsilons[] = {0.01, 0.1, 1};
    for (size_t i = 0; i < RF_COUNT(epsilons); i++) {
        const double eps = epsilons[i];
        bench *b = begin(0.1, 0, eps);
        const size_t n = b->r.params.total, words = b->r.params.p[0].count, at = b->r.params.p[0].offset;
        const uint64_t stream = 3u << 20, other = stream | 1u << 19; /* dropouts of the second pass, and of the first */
        float *moved = t_floats((int64_t)n), *expected = t_floats((int64_t)n), *before = t_floats((int64_t)n);
        double loss, largest = 0, apart = 0;
        assert_int_equal(words, V * E);
        memcpy(before, b->r.optimizer.value, n * sizeof *before);
        memcpy(moved, before, n * sizeof *before);
        plain(b, moved, expected, other);
        const double norm = length_of(expected + at, words);
        for (size_t k = 0; k < words; k++)
            moved[at + k] = (float)((double)moved[at + k] + eps * (double)expected[at + k] / norm);
        const double goal = plain(b, moved, expected, stream);

        const float *got = gradient(b, stream, &loss);
        assert_memory_equal(b->r.optimizer.value, before, n * sizeof *before);            /* back to the bit */
        for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs((double)expected[k]));
        t_close(got, expected, (int64_t)n, 1e-5 * largest, 0);
        t_near(loss, goal, 1e-5 * goal);

        float *unmoved = t_floats((int64_t)n);                                         /* and it is not the plain one */
        plain(b, before, unmoved, stream);
        for (size_t k = 0; k < n; k++) apart = fmax(apart, fabs((double)got[k] - (double)unmoved[k]));
        if (!(apart > 100 * 1e-5 * largest))
            fail_msg("epsilon %g changes the gradient by %g of %g", eps, apart, largest);
        end(b);
    }
}

/* L(E + delta) - L(E) = eps |g| + O(eps^2): the loss does not rise faster in any other direction of this length. */
static void fgm_raises_the_loss_by_epsilon_times_the_norm(void **state)
{
    (void)state;
    const double eps = 2e-3;
    bench *b = begin(0, 0, eps);
    const size_t n = b->r.params.total;
    float *grad = t_floats((int64_t)n);
    double loss;
    const double before = plain(b, b->r.optimizer.value, grad, 1);
    /* of the mean of TEXTS losses */
    const double norm = length_of(grad + b->r.params.p[0].offset, b->r.params.p[0].count);
    gradient(b, 1, &loss);
    t_near((loss - before) / TEXTS, eps * norm, 0.05 * eps * norm);
    end(b);
}

/* Words without a gradient (a batch without labels, a frozen model) have no direction: nothing changes or leaks. */
static void fgm_without_a_gradient_moves_nothing(void **state)
{
    (void)state;
    bench *b = begin(0, 0, 1);
    const size_t n = b->r.params.total;
    float *before = t_floats((int64_t)n);
    double loss;
    for (size_t i = 0; i < b->r.params.n; i++)                                 /* a head that says 0 whatever it sees */
        if (b->r.params.p[i].head)
            memset(b->r.optimizer.value + b->r.params.p[i].offset, 0, b->r.params.p[i].count * sizeof *before);
    memcpy(before, b->r.optimizer.value, n * sizeof *before);
    const float *got = gradient(b, 1, &loss);
    assert_memory_equal(b->r.optimizer.value, before, n * sizeof *before);
    for (size_t k = 0; k < n; k++) assert_true(isfinite(got[k]));
    t_near(loss, TEXTS * log(2), 1e-5);
    end(b);
}

/* ---- R-Drop: two passes of the same examples under two dropouts ---- */

static void r_drop_is_two_passes_under_two_dropouts(void **state)
{
    (void)state;
    const double alpha = 3;
    double one, two, without;
    bench *b = begin(0, 0, 0);
    const size_t n = b->r.params.total;
    float *single = t_floats((int64_t)n);
    memcpy(single, gradient(b, 9, &one), n * sizeof *single);
    bench *d = begin(0, alpha, 0);                               /* without dropout both passes are equal: KL is 0 */
    const float *twice = gradient(d, 9, &two);
    t_near(two / 2, one, 1e-5 * one);
    double largest = 0;
    for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs((double)single[k]));
    t_close(twice, single, (int64_t)n, 1e-5 * largest, 0);     /* the mean of two equal losses: sums in another order */
    bench *p = begin(0.3, alpha, 0);
    gradient(p, 9, &two);
    p->f.o.r_drop = 1e-9;                                           /* the same dropouts, KL not counted */
    memset(p->r.optimizer.grad, 0, n * sizeof *single);
    gradient(p, 9, &without);
    if (!(two > without * (1 + 1e-4))) fail_msg("two dropouts: %g with alpha %g, %g without", two, alpha, without);
    end(p);
    end(d);
    end(b);
}

/* ---- rates: layer l of L learns at rate d^(L-l), embeddings at d^(L+1), the head at the full rate ---- */

static const char examples[] = "text\tlabel\nthe red cat is walking\tyes\nthe old dog is watching\tno\nthe big king "
                               "holds the ship\tyes\nthe shy tree\tno\n";

static void finetune(rf_ctx *ctx, const char *model, const char *train, const char *out, double rate, double decay,
                     rf_optim optim)
{
    rf_finetune_options o;
    rf_error why = {0};
    rf_finetune_defaults(&o);
    o.train = train;
    o.t.model = model;
    o.t.output_dir = out;
    o.t.max_length = 16;
    o.t.max_steps = 1;
    o.t.learning_rate = rate;
    o.t.lr_scheduler_type = RF_SCHEDULE_CONSTANT;
    o.t.optim = optim;
    o.t.adam_epsilon = 1e-15;
    o.layer_wise_lr_decay = decay;
    if (rf_finetune(ctx, &o, NULL, NULL, NULL, &why)) fail_msg("%s", why.text);
}

/* -1: embeddings, 2: the head. */
static int layer_of(const char *name)
{
    const char *l = strstr(name, ".layer.");
    return l ? atoi(l + 7) : strstr(name, "classifier") ? 2 : -1;
}

/* The first update of AdamW changes an element by rate g / (|g| + 1e-15), that of Lion by rate sign(g): the largest
 * change of a tensor with gradients is its rate.  f32 weights up to 1 are rounded by 6e-8, 2e-5 of a change. */
static void layers_learn_at_decayed_rates(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model(), *data = strdup(t_folder()), *started = strdup(t_folder());
    t_write(data, "train.tsv", examples, sizeof examples - 1);
    char *train = tiny_path(data, "train.tsv");
    random_weights(ctx, model, 3);
    finetune(ctx, model, train, started, 1e-3, 1, RF_OPTIM_ADAMW);       /* with the head of the task */
    static const double decays[] = {1, 0.5, 0.9};
    for (int k = 0; k < 6; k++) {
        const double d = decays[k % 3], rate = 3e-3;
        char *out = strdup(t_folder());
        rf_weights *a, *b;
        int seen[4] = {0};
        finetune(ctx, started, train, out, rate, d, k < 3 ? RF_OPTIM_ADAMW : RF_OPTIM_LION);
        assert_int_equal(rf_weights_open(ctx, started, &a, NULL), RF_OK);
        assert_int_equal(rf_weights_open(ctx, out, &b, NULL), RF_OK);
        for (size_t i = 0; i < rf_weights_count(b); i++) {
            const rf_weight *w = rf_weights_at(b, i), *v = rf__weights_find(a, w->name);
            const int l = layer_of(w->name);
            const double expected = rate * (l == 2 ? 1 : pow(d, 2 - l));
            double most = 0;
            assert_non_null(v);
            if (strstr(w->name, "key.bias")) continue;         /* adds the same to all scores of a query: no gradient */
            for (size_t j = 0; j < w->bytes / sizeof(float); j++)
                most = fmax(most, fabs((double)((const float *)w->data)[j] - (double)((const float *)v->data)[j]));
            if (most < 1e-9) continue;                                /* a table of which the texts use no row */
            if (fabs(most / expected - 1) > 2e-3)
                fail_msg("decay %g: %s moves by %g, its rate is %g", d, w->name, most, expected);
            seen[l + 1]++;
        }
        for (int l = 0; l < 4; l++) assert_true(seen[l] >= 3);
        rf_weights_close(a);
        rf_weights_close(b);
        free(out);
    }
    rf_ctx_free(ctx);
    free(model);
    free(data);
    free(started);
    free(train);
    t_free_all();
}

/* ---- batches: where examples of a batch are compared with each other, none is alone ---- */

/* N pairs in batches of `each`; tasks whose loss compares them. */
typedef struct compared { const char *task; bool scored; int n, each; } compared;

typedef struct told { int steps, lone, epochs; double last_epoch, eval_loss; } told;

static int on_progress(void *user, const rf_train_progress *p)
{
    told *t = user;
    if (!isnan(p->eval_loss)) t->eval_loss = p->eval_loss;
    if (strcmp(p->event, "step")) return RF_TRAIN_GO;
    t->steps++;
    t->lone += !(p->loss > 0);
    t->epochs += fabs(p->epoch - round(p->epoch)) < 1e-9;
    t->last_epoch = p->epoch;
    return RF_TRAIN_GO;
}

static char *write_compared(const char *folder, const compared *c)
{
    char text[4096];
    size_t n = (size_t)sprintf(text, "text\tpair%s\n", c->scored ? "\tscore" : "");
    for (int i = 0; i < c->n; i++) {
        n += (size_t)sprintf(text + n, "the %s %s\tthe %s is %s", tiny_adjectives[i / 12], tiny_nouns[i % 12],
                             tiny_nouns[i % 12], tiny_verbs[i % 6]);
        n += (size_t)sprintf(text + n, c->scored ? "\t%g\n" : "\n", i % 5 / 4.0);
    }
    t_write(folder, "compared.tsv", text, n);
    return tiny_path(folder, "compared.tsv");
}

static rf_finetune_options compared_options(const compared *c, const char *model, const char *train, const char *out)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.task = c->task;
    o.train = o.dev = train;
    o.t.model = model;
    o.t.output_dir = out;
    o.t.max_length = 16;
    o.t.num_train_epochs = 3;
    o.t.learning_rate = 1e-4;
    o.t.save_synchronously = 1;
    o.dropout = 0;
    o.save_strategy = RF_STRATEGY_STEPS;
    o.t.save_steps = 1;
    o.per_device_train_batch_size = o.per_device_eval_batch_size = c->each;
    return o;
}

/* N mod batch = 1: a single last example, with nothing to compare it with and the loss 0, is added to the batch before.
 * No step has the loss 0, an epoch has floor(N / batch) steps, and a run that stops after any of them ends with the
 * same bits. */
static void nobody_is_alone_in_a_batch(void **state)
{
    (void)state;
    static const compared all[] = {{"embed", false, 13, 12}, {"embed", false, 13, 4}, {"embed", false, 5, 2},
                                   {"embed", true, 13, 6},   {"sim", false, 9, 4},    {"embed", false, 17, 16}};
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model();
    random_weights(ctx, model, 3);
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        const compared *c = &all[i];
        char *train = write_compared(model, c), *out = strdup(t_folder());
        rf_finetune_options o = compared_options(c, model, train, out);
        rf_error why = {0};
        told t = {0};
        if (rf_finetune(ctx, &o, on_progress, &t, NULL, &why)) fail_msg("%s", why.text);
        if (t.steps != 3 * (c->n / c->each) || t.lone || t.epochs != 3)
            fail_msg("%s, %d in batches of %d: %d steps, %d without a loss, %d epochs", c->task, c->n, c->each,
                     t.steps, t.lone, t.epochs);
        for (int stop = 1; stop < 3; stop++) {
            char *again = strdup(t_folder());
            o.t.output_dir = again;
            o.t.resume_from_checkpoint = NULL;
            o.t.stop_after = stop;
            assert_int_equal(rf_finetune(ctx, &o, NULL, NULL, NULL, &why), RF_ESTOPPED);
            o.t.stop_after = 0;
            o.t.resume_from_checkpoint = "latest";
            if (rf_finetune(ctx, &o, NULL, NULL, NULL, &why)) fail_msg("%s", why.text);
            assert_int_equal(tiny_crc(out, "model.safetensors"), tiny_crc(again, "model.safetensors"));
            free(again);
        }
        free(train);
        free(out);
    }
    rf_ctx_free(ctx);
    free(model);
    t_free_all();
}

/* A run of 3 epochs that continues with batches of another size, twice, ends with epoch 3; it is evaluated at the end
 * of each epoch, and one that stops in between ends with the same bits. */
typedef struct places { int evals, whole; double last; int64_t step; } places;

static int note_places(void *user, const rf_train_progress *p)
{
    places *t = user;
    t->last = p->epoch;
    t->step = p->step;
    if (strcmp(p->event, "eval")) return RF_TRAIN_GO;
    t->evals++;
    t->whole += fabs(p->epoch - round(p->epoch)) < 1e-9;
    return RF_TRAIN_GO;
}

static void other_batches_end_with_the_last_epoch(void **state)
{
    (void)state;
    static const struct { int64_t first, then, accumulated; } sizes[] = {{4, 8, 1}, {8, 3, 1}, {4, 5, 1}, {4, 8, 2}};
    static const compared data = {"embed", false, 24, 4};
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model();
    random_weights(ctx, model, 3);
    char *train = write_compared(model, &data);
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        uint32_t crc[2];
        for (int stopped = 0; stopped < 2; stopped++) {
            char *out = strdup(t_folder());
            rf_finetune_options o = compared_options(&data, model, train, out);
            rf_error why = {0};
            places t = {0};
            o.per_device_train_batch_size = sizes[i].first;
            o.t.stop_after = 2;
            assert_int_equal(rf_finetune(ctx, &o, NULL, NULL, NULL, &why), RF_ESTOPPED);
            o.t.resume_from_checkpoint = "latest";
            o.per_device_train_batch_size = sizes[i].then;
            o.t.gradient_accumulation_steps = sizes[i].accumulated;
            o.t.stop_after = stopped ? 3 : 0;
            rf_status status = rf_finetune(ctx, &o, note_places, &t, NULL, &why);
            o.t.stop_after = 0;
            if (stopped) status = status == RF_ESTOPPED ? rf_finetune(ctx, &o, note_places, &t, NULL, &why) : status;
            if (status) fail_msg("%s", why.text);
            if (t.last < 3 || t.last > 3)
                fail_msg("batches of %d, then %d: the last epoch is %g", (int)sizes[i].first, (int)sizes[i].then,
                         t.last);
            if (t.evals != 3 || t.whole != 3)
                fail_msg("batches of %d, then %d: %d evaluations, %d at the end of an epoch", (int)sizes[i].first,
                         (int)sizes[i].then, t.evals, t.whole);
            crc[stopped] = tiny_crc(out, "model.safetensors");
            free(out);
        }
        assert_int_equal(crc[0], crc[1]);
    }
    rf_ctx_free(ctx);
    free(model);
    free(train);
    t_free_all();
}

/* The numbers of updates are those of transformers' Trainer: an update has batches of one epoch only. */
static void an_update_does_not_cross_the_end_of_an_epoch(void **state)
{
    (void)state;
    static const struct { int64_t each, accumulated; double epochs; int64_t steps; double last; } run[] = {
        {12, 16, 1, 1, 1}, {12, 3, 3, 3, 3}, {5, 4, 2, 4, 2}, {4, 4, 1.5, 3, 1 + 2 / 3.0}, {24, 1, 2, 2, 2}};
    static const compared data = {"embed", false, 24, 4};
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model();
    random_weights(ctx, model, 3);
    char *train = write_compared(model, &data);
    for (size_t i = 0; i < RF_COUNT(run); i++) {
        char *out = strdup(t_folder());
        rf_finetune_options o = compared_options(&data, model, train, out);
        rf_error why = {0};
        places t = {0};
        o.per_device_train_batch_size = run[i].each;
        o.t.gradient_accumulation_steps = run[i].accumulated;
        o.t.num_train_epochs = run[i].epochs;
        if (rf_finetune(ctx, &o, note_places, &t, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(t.step, run[i].steps);
        t_near(t.last, run[i].last, 1e-9);
        free(out);
    }
    rf_ctx_free(ctx);
    free(model);
    free(train);
    t_free_all();
}

/* The loss of an evaluation of N in batches of N - 1 is that of all N together: not that of N - 1, and of one, 0. */
static void nobody_is_alone_in_an_evaluation(void **state)
{
    (void)state;
    static const char *const tasks[] = {"embed", "sim", "embed"};
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model();
    random_weights(ctx, model, 3);
    for (int i = 0; i < 3; i++) {
        double loss[2];
        for (int k = 0; k < 2; k++) {
            const compared c = {tasks[i], i == 2, 13, 12 + k};
            char *train = write_compared(model, &c), *out = strdup(t_folder());
            rf_finetune_options o = compared_options(&c, model, train, out);
            rf_error why = {0};
            told t = {0};
            o.per_device_train_batch_size = 13;
            if (rf_finetune(ctx, &o, on_progress, &t, NULL, &why)) fail_msg("%s", why.text);
            loss[k] = t.eval_loss;
            free(train);
            free(out);
        }
        assert_true(loss[0] > 0);
        t_near(loss[0], loss[1], 1e-6 * loss[1]);
    }
    rf_ctx_free(ctx);
    free(model);
    t_free_all();
}

/* ---- a run that is lost: the loss is not finite, and there are too few steps left to skip ten updates ---- */

static rf_finetune_options lost_options(const char *model, const char *train, const char *out, bool dev)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.train = train;
    o.dev = dev ? train : NULL;
    o.t.model = model;
    o.t.output_dir = out;
    o.t.max_length = 16;
    o.t.learning_rate = 10;
    o.t.lr_scheduler_type = RF_SCHEDULE_CONSTANT;
    o.t.optim = RF_OPTIM_SGD;
    o.t.weight_decay = 10;                                            /* each update multiplies the matrices by -99 */
    o.t.max_grad_norm = 0;
    o.t.save_synchronously = 1;
    o.t.save_total_limit = 2;
    o.save_strategy = RF_STRATEGY_STEPS;
    o.t.save_steps = 1;
    return o;
}

static int skips(void *user, const rf_train_progress *p)
{
    *(int *)user += p->note && strstr(p->note, "the loss is not finite: the update is skipped");
    return RF_TRAIN_GO;
}

/* Exit code 6 instead of a model; the last good checkpoint is named and exists, though only two are kept and later ones
 * were saved. */
static void a_lost_run_leaves_no_model(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    char *model = tiny_model();
    t_write(model, "train.tsv", examples, sizeof examples - 1);
    char *train = tiny_path(model, "train.tsv");
    random_weights(ctx, model, 3);
    for (int dev = 0; dev < 2; dev++) {
        int skipped = 0;
        for (int steps = 2; !skipped; steps++) {
            char *out = strdup(t_folder());
            rf_finetune_options o = lost_options(model, train, out, dev);
            rf_error why = {0};
            assert_true(steps < 20);
            o.t.max_steps = steps;
            const rf_status status = rf_finetune(ctx, &o, skips, &skipped, NULL, &why);
            if (status) {
                t_failed(&why, RF_ENUMERIC, "the run ends with a loss that is not finite");
                t_failed(&why, RF_ENUMERIC, "no model is written");
                assert_int_equal(status, RF_ENUMERIC);
                assert_false(tiny_has(out, "model.safetensors") || tiny_has(out, "config.json"));
                const char *name = strstr(why.text, "/checkpoint-"), *end = name ? strchr(name, ' ') : NULL;
                if (!end || strncmp(end, " is the last good one", 21)) fail_msg("%s", why.text);
                char good[64];
                snprintf(good, sizeof good, "%.*s", (int)(end - name - 1), name + 1);
                assert_true(tiny_has(out, good));
                char *path = tiny_path(out, good);
                o.t.resume_from_checkpoint = path;
                o.t.learning_rate = 0;                                        /* its loss is finite, and stays */
                why = (rf_error){0};
                if (rf_finetune(ctx, &o, NULL, NULL, NULL, &why)) fail_msg("%s", why.text);
                assert_true(tiny_has(out, "model.safetensors"));
                free(path);
            }
            assert_true(status || !skipped);
            free(out);
        }
    }
    rf_ctx_free(ctx);
    free(train);
    free(model);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fgm_is_the_gradient_at_words_that_are_moved_along_theirs),
        cmocka_unit_test(fgm_raises_the_loss_by_epsilon_times_the_norm),
        cmocka_unit_test(fgm_without_a_gradient_moves_nothing),
        cmocka_unit_test(r_drop_is_two_passes_under_two_dropouts),
        cmocka_unit_test(layers_learn_at_decayed_rates),
        cmocka_unit_test(nobody_is_alone_in_a_batch),
        cmocka_unit_test(nobody_is_alone_in_an_evaluation),
        cmocka_unit_test(other_batches_end_with_the_last_epoch),
        cmocka_unit_test(an_update_does_not_cross_the_end_of_an_epoch),
        cmocka_unit_test(a_lost_run_leaves_no_model),
    };
    return cmocka_run_group_tests_name("train/finetune_step", tests, NULL, NULL);
}
