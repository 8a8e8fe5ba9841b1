/* test_losses.c — mirrors src/graph/loss.c and the losses in src/graph/ops: values and gradients are compared with the
 * formulas in double, as in test_ops.c. */
#include "gradient.h"

/* ---- vocab_loss -------------------------------------------------------------------------------------------------- */

struct vocab { int64_t n, K, V; bool bias; double smoothing; };
static const int32_t labels[] = {3, 0, 4, 4, 2, 1, 0, 3, 1};

static rf_tensor *vocab_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct vocab *v = what;
    rf__graph_smoothing(g, v->smoothing);
    return rf__vocab_loss(g, in[0], in[1], in[2], labels, v->n, 0.37, NULL, NULL);
}

static void vocab_formula(double *y, const double *const in[], const void *what)
{
    const struct vocab *s = what;
    y[0] = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double sum = 0, of_label = 0, mean = 0;
        for (int64_t v = 0; v < s->V; v++) {
            double z = s->bias ? in[2][v] : 0;
            for (int64_t k = 0; k < s->K; k++) z += in[0][i * s->K + k] * in[1][v * s->K + k];
            sum += exp(z);
            mean += z / (double)s->V;
            if (v == labels[i]) of_label = z;
        }
        y[0] += 0.37 * (log(sum) - (1 - s->smoothing) * of_label - s->smoothing * mean);
    }
}

static void vocab_loss(void **state)
{
    (void)state;
    static const struct vocab cases[] = {{9, 4, 5, true, 0}, {1, 7, 23, true, 0}, {6, 3, 300, false, 0},
                                         {9, 4, 5, true, 0.1}, {6, 3, 300, false, 0.3}, {1, 7, 23, true, 1}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct vocab *v = &cases[i];
        t_gradient(&(t_gradient_case){
            .op = RF_OP_vocab_loss, .ys = 1, .depth = (double)(v->K + v->n + 16), .run = vocab_run,
            .formula = vocab_formula, .what = v,
            .in = {{2, {v->n, v->K}}, {2, {v->V, v->K}}, {v->bias ? 1 : 0, {v->V}}}});
    }
}

/* ... as a term of the loss, on either side of the sum: y + <w, u> of another input u. */
static const float of_other[] = {0.5F, -2, 1.25F, 3, -0.75F};

static rf_tensor *sum_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct vocab *v = what;
    rf_tensor *loss = vocab_run(g, in, what), *other = rf__inner(g, in[3], of_other);
    return v->n % 2 ? rf__add(g, loss, other) : rf__add(g, other, loss);
}

static void sum_formula(double *y, const double *const in[], const void *what)
{
    vocab_formula(y, in, what);
    for (size_t i = 0; i < RF_COUNT(of_other); i++) y[0] += (double)of_other[i] * in[3][i];
}

static void a_sum_with_vocab_loss(void **state)
{
    (void)state;
    static const struct vocab cases[] = {{9, 4, 5, true, 0}, {6, 3, 300, true, 0}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct vocab *v = &cases[i];
        t_gradient(&(t_gradient_case){
            .op = RF_OP_vocab_loss, .ys = 1, .depth = (double)(v->K + v->n + 16), .run = sum_run,
            .formula = sum_formula, .what = v,
            .in = {{2, {v->n, v->K}}, {2, {v->V, v->K}}, {1, {v->V}}, {1, {RF_COUNT(of_other)}}}});
    }
}

/* ---- losses over a head's logits --------------------------------------------------------------------------------- */

struct loss { int64_t n, K, B; bool weighted; int32_t start[5]; double smoothing; };
static const int32_t loss_label[] = {1, 0, -1, 1, 0, 0, 1, -1, 1};
static const float loss_weight[] = {0.5F, 2, 1},
                   loss_target[] = {1, 0, 0.25F, 1, 0, 1, 1, 0, 0, 1, 0.5F, 0, 1, 1, 0, 1};

static double log_sum_exp(const double *z, int64_t n, int64_t stride)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(z[i * stride]);
    return log(sum);
}

static rf_tensor *row_loss_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct loss *l = what;
    rf__graph_smoothing(g, l->smoothing);
    return rf__row_loss(g, in[0], loss_label, l->weighted ? loss_weight : NULL, 0.3, NULL, NULL);
}

static void row_loss_formula(double *y, const double *const in[], const void *what)
{
    const struct loss *l = what;
    *y = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double *z = in[0] + i * l->K;
        const int32_t label = loss_label[i];
        for (int64_t k = 0; k < l->K && label >= 0; k++) {
            const double share = (k == label) * (1 - l->smoothing) + l->smoothing / (double)l->K;
            *y += 0.3 * share * (l->weighted ? (double)loss_weight[k] : 1) * (log_sum_exp(z, l->K, 1) - z[k]);
        }
    }
}

static rf_tensor *span_loss_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct loss *l = what;
    return rf__span_loss(g, in[0], l->start, l->B, loss_label, 0.7, NULL, NULL);
}

static void span_loss_formula(double *y, const double *const in[], const void *what)
{
    const struct loss *l = what;
    *y = 0;
    for (int64_t b = 0; b < l->B; b++)
        for (int64_t k = 0; k < l->K; k++) {
            const int32_t label = loss_label[b * l->K + k];
            const double *z = in[0] + l->start[b] * l->K + k;
            if (label >= 0) *y += 0.7 * (log_sum_exp(z, l->start[b + 1] - l->start[b], l->K) - z[label * l->K]);
        }
}

static rf_tensor *binary_loss_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__binary_loss(g, in[0], loss_target, 0.2, NULL);
}

static void binary_loss_formula(double *y, const double *const in[], const void *what)
{
    const struct loss *l = what;
    *y = 0;
    for (int64_t i = 0; i < l->n * l->K; i++) {
        const double s = 1 / (1 + exp(-in[0][i])), t = loss_target[i];
        *y -= 0.2 * (t * log(s) + (1 - t) * log(1 - s));
    }
}

static rf_tensor *square_loss_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__square_loss(g, in[0], loss_target, 0.2, NULL);
}

static void square_loss_formula(double *y, const double *const in[], const void *what)
{
    const struct loss *l = what;
    *y = 0;
    for (int64_t i = 0; i < l->n * l->K; i++) *y += 0.2 * pow(in[0][i] - (double)loss_target[i], 2);
}

static rf_tensor *divergence_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct loss *l = what;
    return rf__divergence(g, in[0], l->weighted ? loss_label : NULL, 0.4, NULL);
}

static void divergence_formula(double *y, const double *const in[], const void *what)
{
    const struct loss *l = what;
    *y = 0;
    for (int64_t i = 0; i < l->n / 2; i++) {
        const double *x = in[0] + i * l->K, *z = in[0] + (l->n / 2 + i) * l->K;
        if (l->weighted && loss_label[i] < 0) continue;
        for (int64_t k = 0; k < l->K; k++) {
            const double lp = x[k] - log_sum_exp(x, l->K, 1), lq = z[k] - log_sum_exp(z, l->K, 1);
            *y += 0.4 * (exp(lp) * (lp - lq) + exp(lq) * (lq - lp));
        }
    }
}

/* depth: the sums are in double; what is rounded to f32 are the logits, the result and the gradient. */
static void head_losses(void **state)
{
    (void)state;
    static const struct loss rows[] = {{.n = 9, .K = 3, .weighted = true},
                                       {.n = 4, .K = 2},
                                       {.n = 1, .K = 5},
                                       {.n = 9, .K = 3, .weighted = true, .smoothing = 0.2},
                                       {.n = 4, .K = 2, .smoothing = 0.1}};
    static const struct loss spans[] = {{.n = 7, .K = 1, .B = 3, .start = {0, 3, 5, 7}},
                                        {.n = 9, .K = 2, .B = 2, .start = {0, 2, 9}},
                                        {.n = 2, .K = 1, .B = 1, .start = {0, 2}}};
    static const struct loss flat[] = {{.n = 4, .K = 4}, {.n = 5, .K = 1}, {.n = 1, .K = 3}};
    static const struct loss pairs[] = {{.n = 6, .K = 3, .weighted = true}, {.n = 2, .K = 2}, {.n = 10, .K = 4}};
    for (size_t i = 0; i < 3; i++) {
        const struct {
            rf_op_id op;
            const struct loss *l;
            rf_tensor *(*run)(rf_graph *, rf_tensor *const[], const void *);
            void (*formula)(double *, const double *const[], const void *);
        } all[] = {
            {RF_OP_row_loss, &rows[i], row_loss_run, row_loss_formula},
            {RF_OP_span_loss, &spans[i], span_loss_run, span_loss_formula},
            {RF_OP_binary_loss, &flat[i], binary_loss_run, binary_loss_formula},
            {RF_OP_square_loss, &flat[i], square_loss_run, square_loss_formula},
            {RF_OP_divergence, &pairs[i], divergence_run, divergence_formula},
        };
        for (size_t j = 0; j < RF_COUNT(all); j++)
            t_gradient(&(t_gradient_case){.op = all[j].op, .ys = 1, .depth = 8, .what = all[j].l, .run = all[j].run,
                                          .formula = all[j].formula, .in = {{2, {all[j].l->n, all[j].l->K}}}});
    }
}

/* ---- losses of vectors ------------------------------------------------------------------------------------------- */

struct vectors { int64_t n, m, C, W; double scale; };

static rf_tensor *unit_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__unit(g, in[0], ((const struct vectors *)what)->W);
}

static void unit_formula(double *y, const double *const in[], const void *what)
{
    const struct vectors *v = what;
    const int64_t W = v->W ? v->W : v->C;
    for (int64_t n = 0; n < v->n; n++) {
        double square = 0;
        for (int64_t c = 0; c < W; c++) square += in[0][n * v->C + c] * in[0][n * v->C + c];
        for (int64_t c = 0; c < W; c++) y[n * W + c] = in[0][n * v->C + c] / sqrt(square);
    }
}

static rf_tensor *cross_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__cross(g, in[0], in[1], ((const struct vectors *)what)->scale);
}

static void cross_formula(double *y, const double *const in[], const void *what)
{
    const struct vectors *v = what;
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t j = 0; j < v->m; j++) {
            y[i * v->m + j] = 0;
            for (int64_t c = 0; c < v->C; c++)
                y[i * v->m + j] += v->scale * in[0][i * v->C + c] * in[1][j * v->C + c];
        }
}

static rf_tensor *inner_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__inner(g, in[0], loss_target);
}

static void inner_formula(double *y, const double *const in[], const void *what)
{
    const struct vectors *v = what;
    y[0] = 0;
    for (int64_t i = 0; i < v->n * v->C; i++) y[0] += (double)loss_target[i] * in[0][i];
}

static rf_tensor *cosent_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__cosent_loss(g, in[0], loss_target, ((const struct vectors *)what)->scale, 0.3, NULL);
}

static void cosent_formula(double *y, const double *const in[], const void *what)
{
    const struct vectors *v = what;
    double sum = 1;
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t j = 0; j < v->n; j++)
            if (loss_target[i] < loss_target[j]) sum += exp(v->scale * (in[0][i] - in[0][j]));
    y[0] = 0.3 * log(sum);
}

static rf_tensor *triplet_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__triplet_loss(g, in[0], ((const struct vectors *)what)->scale, 0.6, NULL);
}

static void triplet_formula(double *y, const double *const in[], const void *what)
{
    const struct vectors *v = what;
    y[0] = 0;
    for (int64_t i = 0; i < v->n; i++) {
        double near = 0, far = 0;
        for (int64_t c = 0; c < v->C; c++) {
            const double a = in[0][i * v->C + c];
            near += pow(a - in[0][(v->n + i) * v->C + c], 2);
            far += pow(a - in[0][(2 * v->n + i) * v->C + c], 2);
        }
        y[0] += 0.6 * fmax(0, sqrt(near) - sqrt(far) + v->scale);
    }
}

/* depth: C products and sums and some roundings; slopes of CoSENT are `scale` times as steep. */
static void vector_losses(void **state)
{
    (void)state;
    static const struct vectors all[] = {{4, 3, 4, 0, 3}, {1, 1, 5, 2, 0.5}, {5, 7, 3, 3, 1}};
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        const struct vectors *v = &all[i];
        const double depth = (double)(v->C + v->n + v->m + 8);
        t_gradient(&(t_gradient_case){.op = RF_OP_unit, .ys = v->n * (v->W ? v->W : v->C), .depth = 4 * depth,
                                      .what = v, .run = unit_run, .formula = unit_formula,
                                      .in = {{2, {v->n, v->C}}}});
        t_gradient(&(t_gradient_case){.op = RF_OP_cross, .ys = v->n * v->m, .depth = depth, .what = v, .run = cross_run,
                                      .formula = cross_formula, .in = {{2, {v->n, v->C}}, {2, {v->m, v->C}}}});
        t_gradient(&(t_gradient_case){.op = RF_OP_inner, .ys = 1, .depth = depth, .what = v, .run = inner_run,
                                      .formula = inner_formula, .in = {{2, {v->n, v->C}}}});
        t_gradient(&(t_gradient_case){.op = RF_OP_cosent_loss, .ys = 1, .depth = depth * fmax(1, v->scale), .what = v,
                                      .run = cosent_run, .formula = cosent_formula, .in = {{2, {v->n, 1}}}});
        t_gradient(&(t_gradient_case){.op = RF_OP_triplet_loss, .ys = 1, .depth = 2 * depth, .what = v,
                                      .run = triplet_run, .formula = triplet_formula, .in = {{2, {3 * v->n, v->C}}}});
    }
}

/* ---- list_loss: each list by its printed formula, documents of a list compared with one another ------------------ */

struct lists { rf_list_loss_kind kind; int64_t n, B; int32_t start[4]; };
static const float list_label[] = {1, 0, 0.25F, 0, 0, 1, 0.5F, 0.75F, 0, 1};

static rf_tensor *lists_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct lists *l = what;
    return rf__list_loss(g, in[0], l->start, l->B, list_label, l->kind, 0.6, NULL);
}

static int64_t place(const double *x, int64_t n, int64_t i)
{
    int64_t before = 1;
    for (int64_t j = 0; j < n; j++) before += x[j] > x[i] || (x[j] >= x[i] && j < i);
    return before;
}

static double list_gain(double label) { return pow(2, label) - 1; }

/* Wang et al. 2018, as sentence-transformers' NDCGLoss2PPScheme. */
static double lambda_weight(const double *z, const double *y, int64_t n, int64_t i, int64_t j)
{
    const double r = (double)place(z, n, i), s = (double)place(z, n, j), apart = fabs(r - s);
    double best = 0;
    for (int64_t k = 0; k < n; k++) best += list_gain(y[k]) / log2(1 + (double)place(y, n, k));
    return fabs(list_gain(y[i]) - list_gain(y[j])) / best *
           (10 * fabs(1 / log2(1 + apart) - 1 / log2(2 + apart)) + fabs(1 / log2(1 + r) - 1 / log2(1 + s)));
}

static double pairs_formula(const double *z, const double *y, int64_t n, bool weighted)
{
    double sum = 0, pairs = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (y[i] > y[j]) {
                sum += (weighted ? lambda_weight(z, y, n, i, j) : 1) * log2(1 + exp(z[j] - z[i]));
                pairs++;
            }
    return pairs > 0 ? sum / pairs : 0;
}

static double list_formula(rf_list_loss_kind kind, const double *z, const double *y, int64_t n)
{
    double sum = 0, all = 0;
    for (int64_t i = 0; i < n; i++) all += kind == RF_LIST_LISTNET ? exp(y[i]) : y[i];
    for (int64_t i = 0; i < n; i++) {
        double rest = 0;
        for (int64_t j = 0; j < n; j++) rest += place(y, n, j) >= place(y, n, i) ? exp(z[j]) : 0;
        switch (kind) {
        case RF_LIST_BCE: sum += (log(1 + exp(z[i])) - y[i] * z[i]) / (double)n; break;
        case RF_LIST_MSE: sum += pow(z[i] - y[i], 2) / (double)n; break;
        case RF_LIST_MARGIN_MSE: sum += i ? pow(z[0] - z[i] - (y[0] - y[i]), 2) / (double)(n - 1) : 0; break;
        case RF_LIST_INFONCE: sum += y[i] / all * (log_sum_exp(z, n, 1) - z[i]); break;
        case RF_LIST_LISTNET: sum += exp(y[i]) / all * (log_sum_exp(z, n, 1) - z[i]); break;
        case RF_LIST_LISTMLE: sum += log(rest) - z[i]; break;
        default: return pairs_formula(z, y, n, kind == RF_LIST_LAMBDA);
        }
    }
    return sum;
}

static void lists_formula(double *y, const double *const in[], const void *what)
{
    const struct lists *l = what;
    double label[RF_COUNT(list_label)];
    for (size_t i = 0; i < RF_COUNT(list_label); i++) label[i] = (double)list_label[i];
    y[0] = 0;
    for (int64_t b = 0; b < l->B; b++)
        y[0] += 0.6 * list_formula(l->kind, in[0] + l->start[b], label + l->start[b], l->start[b + 1] - l->start[b]);
}

/* depth: sums over at most 10 documents, and some roundings; weights of `lambda` are up to 10. */
static void list_losses(void **state)
{
    (void)state;
    for (rf_list_loss_kind kind = RF_LIST_BCE; kind <= RF_LIST_LAMBDA; kind++) {
        const struct lists all[] = {{kind, 10, 3, {0, 3, 6, 10}}, {kind, 10, 1, {0, 10}}, {kind, 1, 1, {0, 1}}};
        for (size_t i = 0; i < RF_COUNT(all); i++)
            t_gradient(&(t_gradient_case){.op = RF_OP_list_loss, .ys = 1, .depth = 40, .what = &all[i],
                                          .run = lists_run, .formula = lists_formula, .in = {{2, {all[i].n, 1}}}});
    }
}

/* Labels that a loss does not accept are reported with their list and index. */
static void labels_without_a_loss(void **state)
{
    (void)state;
    static const struct { rf_list_loss_kind kind; float label[4]; const char *message; } all[] = {
        {RF_LIST_BCE, {0, 1, 1.5F, 1}, "list 2: loss bce: document 1: expected a label from 0 to 1, got 1.5"},
        {RF_LIST_LAMBDA, {0, 31, 1, 1}, "list 1: loss lambda: document 2: expected a label from -inf to 30, got 31"},
        {RF_LIST_INFONCE, {0, 1, 0, 0},
         "list 2: loss infonce: expected a document with a label above 0, got none of 2"},
        {RF_LIST_MSE, {0, 1, 0, NAN}, "list 2: loss mse: document 2: expected a label from -inf to inf, got nan"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    float z[] = {1, 2, 3, 4};
    static const int32_t start[] = {0, 2, 4}, none[] = {0, 0, 4};
    for (size_t i = 0; i <= RF_COUNT(all); i++) {
        rf_graph *g = t_graph(ctx);
        const bool fine = i < RF_COUNT(all);
        rf__list_loss(g, rf__constant(g, z, 2, (int64_t[]){4, 1}), fine ? start : none, 2, all[fine ? i : 0].label,
                      all[fine ? i : 0].kind, 1, NULL);
        assert_int_equal(rf__graph_error(g)->code, fine ? RF_EDATA : RF_ESHAPE);
        if (fine) assert_string_equal(rf__graph_error(g)->text, all[i].message);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
}

/* A row of zeros has no direction; triplets are three rows each; a and b have rows of the same length. */
static void vectors_without_an_answer(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    float x[] = {1, 2, 0, 0, 3, 4};
    for (int i = 0; i < 4; i++) {
        rf_graph *g = t_graph(ctx);
        rf_tensor *t = rf__constant(g, x, 2, (int64_t[]){3, 2}), *two = rf__constant(g, x, 2, (int64_t[]){2, 3});
        if (i == 0) rf__unit(g, t, 0);
        if (i == 1) rf__unit(g, t, 3);
        if (i == 2) rf__cross(g, t, two, 1);
        if (i == 3) rf__triplet_loss(g, two, 1, 1, NULL);
        assert_int_equal(rf__graph_error(g)->code, i ? RF_ESHAPE : RF_ENUMERIC);
        if (!i) assert_non_null(strstr(rf__graph_error(g)->text, "row 1: expected a finite length above 0, got 0"));
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocab_loss),
        cmocka_unit_test(a_sum_with_vocab_loss),
        cmocka_unit_test(head_losses),
        cmocka_unit_test(vector_losses),
        cmocka_unit_test(vectors_without_an_answer),
        cmocka_unit_test(list_losses),
        cmocka_unit_test(labels_without_a_loss),
    };
    return cmocka_run_group_tests_name("graph/losses", tests, NULL, NULL);
}
