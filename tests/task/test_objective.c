/* test_objective.c — R-Drop's loss of a batch compared with the paper's formula, and its gradient (Liang et al. 2021).
 *
 *     L = 1/2 (CE(p) + CE(q)) + alpha/4 (KL(p|q) + KL(q|p)),  the mean over the labeled positions
 *
 * p and q are the softmax of two passes over the same example, in the first and second half of the rows.  The paper's
 * equation (4), CE(p) + CE(q) + alpha/2 (KL + KL), is twice that: here, as in bert4keras, a doubled batch has a loss of
 * the size of a plain batch's. */
#include "gradient.h"
#include "task/objective.h"

static const float three[] = {1, 0.5F, 2};
static int32_t labels[] = {2, 0, 1, 2, 2, 0, 1, 2}, one[] = {2, 2}, holes[] = {1, -1, 0, -1, 1, 1, -1, 0, -1, 1};

typedef struct pairs { const rf__task *task; int64_t n, K; int32_t *label; const float *weight; double alpha; } pairs;

static int64_t labeled(const pairs *c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n; i++) n += c->label[i] >= 0;
    return n;
}

/* As the trainer calls it: `weight` is one over the number of labels of both passes. */
static rf_tensor *run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const pairs *c = what;
    const rf__item_batch b = {.n = (size_t)(2 * c->n), .K = c->K, .label = c->label};
    const rf__task_objective o = {.task = c->task, .class_weight = c->weight, .r_drop = c->alpha};
    return rf__task_objective_loss(g, in[0], &b, &o, 1 / (2.0 * (double)labeled(c)), NULL);
}

static void log_softmax(const double *z, int64_t K, double *out)
{
    double sum = 0;
    for (int64_t k = 0; k < K; k++) sum += exp(z[k]);
    for (int64_t k = 0; k < K; k++) out[k] = z[k] - log(sum);
}

static void formula(double *y, const double *const in[], const void *what)
{
    const pairs *c = what;
    const double n = (double)labeled(c);
    *y = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double p[8], q[8], there = 0, back = 0;
        const int32_t label = c->label[i];
        if (label < 0) continue;
        log_softmax(in[0] + i * c->K, c->K, p);
        log_softmax(in[0] + (c->n + i) * c->K, c->K, q);
        for (int64_t k = 0; k < c->K; k++) {
            there += exp(p[k]) * (p[k] - q[k]);
            back += exp(q[k]) * (q[k] - p[k]);
        }
        const double w = c->weight ? (double)c->weight[label] : 1;
        *y += (0.5 * w * (-p[label] - q[label]) + c->alpha / 4 * (there + back)) / n;
    }
}

/* depth 12: sums are in double; the logits, both losses, their sum, and the gradients of both, which are added, are
 * rounded. */
static void r_drop_is_its_formula(void **state)
{
    (void)state;
    static const pairs cases[] = {
        {&rf__task_cls, 4, 3, labels, NULL, 4},  {&rf__task_cls, 4, 3, labels, three, 1},
        {&rf__task_cls, 1, 3, one, NULL, 0.5},   {&rf__task_tag, 5, 2, holes, NULL, 2},
        {&rf__task_tag, 5, 2, holes, NULL, 0.1},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        t_gradient(&(t_gradient_case){.op = RF_OP_divergence,
                                      .ys = 1,
                                      .depth = 12,
                                      .what = &cases[i],
                                      .run = run,
                                      .formula = formula,
                                      .in = {{2, {2 * cases[i].n, cases[i].K}}}});
}

/* The sum that the log divides by the labels of both passes is that of the same loss. */
static void the_loss_that_is_logged_is_the_one_that_is_minimized(void **state)
{
    (void)state;
    const pairs c = {&rf__task_cls, 4, 3, labels, three, 4};
    const rf__item_batch b = {.n = 8, .K = 3, .label = labels};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g;
    float *z = t_normal(24), *dz = t_floats(24);
    double in[24], expected, sum = 0;
    for (int i = 0; i < 24; i++) in[i] = (double)z[i], dz[i] = 0;
    formula(&expected, (const double *const[]){in}, &c);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    rf__graph_record(g, 1, 1, 1);
    const rf__task_objective o = {.task = &rf__task_cls, .class_weight = three, .r_drop = 4};
    rf_tensor *loss = rf__task_objective_loss(g, rf__input(g, z, dz, 2, (int64_t[]){8, 3}), &b, &o, 1.0 / 8, &sum);
    t_near((double)*loss->f32, expected, 1e-5 * fabs(expected));
    t_near(sum / 8, expected, 1e-5 * fabs(expected));
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* A batch with every example twice: the same tokens and labels, in the order of the halves of the rows. */
static void r_drop_doubles_the_batch(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    size_t first[] = {0, 1, 2, 3}, start[] = {0, 3, 5, 9}, which[] = {2, 0};
    int32_t id[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, type[9] = {0}, label[] = {1, 0, 2};
    const rf__items t = {.ctx = ctx,
                         .format = &rf__task_cls.examples,
                         .K = 3,
                         .n = 3,
                         .first = first,
                         .start = start,
                         .id = id,
                         .type = type,
                         .label = label};
    static const int32_t expected[] = {6, 7, 8, 9, 1, 2, 3, 6, 7, 8, 9, 1, 2, 3}, expected_start[] = {0, 4, 7, 11, 14},
                         expected_label[] = {2, 1, 2, 1};
    rf__item_batch b = {0};
    assert_int_equal(rf__item_batch_fill(&b, &t, which, 2, true, NULL), RF_OK);
    assert_int_equal(b.N, 14);
    assert_int_equal(b.labels, 4);
    assert_memory_equal(b.id, expected, sizeof expected);
    assert_memory_equal(b.start, expected_start, sizeof expected_start);
    assert_memory_equal(b.label, expected_label, sizeof expected_label);
    rf__item_batch_free(ctx, &b);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(r_drop_is_its_formula),
        cmocka_unit_test(the_loss_that_is_logged_is_the_one_that_is_minimized),
        cmocka_unit_test(r_drop_doubles_the_batch),
    };
    return cmocka_run_group_tests_name("train/objective", tests, NULL, NULL);
}
