/* list_loss.c — losses of the outputs for the documents of a query, given the labels of these documents.
 *
 * For a list of T documents with outputs z and labels y, one loss l per list; the result is weight times their sum.
 *
 *     bce         1/T sum_i ( log(1 + exp z_i) - y_i z_i )                                          0 <= y_i <= 1
 *     mse         1/T sum_i (z_i - y_i)^2
 *     margin_mse  1/(T-1) sum_{j>0} ( (z_0 - z_j) - (y_0 - y_j) )^2                        Hofstaetter et al. 2020
 *     infonce     -sum_i q_i log p_i,  p = softmax(z),  q = y / sum y                      van den Oord et al. 2018
 *     listnet     the same with q = softmax(y)                                                      Cao et al. 2007
 *     listmle     sum_r -log( exp z_(r) / sum_{s >= r} exp z_(s) ),  (r) the r-th in the order of y   Xia et al. 2008
 *     ranknet     mean over pairs y_i > y_j of log2(1 + exp(z_j - z_i))                          Burges et al. 2005
 *     lambda      mean over pairs y_i > y_j of w_ij log2(1 + exp(z_j - z_i))                       Wang et al. 2018
 *
 *     w_ij = |G_i - G_j| ( 10 |1/D(|r_i - r_j|) - 1/D(|r_i - r_j| + 1)| + |1/D(r_i) - 1/D(r_j)| )
 *     D(r) = log2(1 + r),  r_i the rank of document i in the order of z, from 1
 *     G_i  = (2^max(y_i, 0) - 1) / sum_r (2^max(y_(r), 0) - 1) / D(r)
 *
 * These are the losses with the same names of sentence-transformers' CrossEncoder, for one list.  w is a constant to
 * the gradient.  A list with equal labels has no pairs, and its loss is 0. */
#include <math.h>

#include "graph/graph.h"

enum { GRADES = 30 };                   /* the largest label of `lambda`, whose gain is 2^30 */

struct saved {
    rf_loss_saved loss;
    const int32_t *start;
    int64_t B;
    const float *label;
    rf_list_loss_kind kind;
    int32_t *order;                     /* [N] scratch of the run                                                     */
    double *slope;
};

/* One list. */
typedef struct list {
    const float *z, *y;
    int64_t n;
    int32_t *order;                     /* [n] scratch: documents by descending label or output */
    double *slope;                      /* [n] dl/dz */
} list;

static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }
static double logistic(double x) { return 1 / (1 + exp(-x)); }

static double log_sum_exp(const float *x, int64_t n)
{
    double top = (double)x[0], sum = 0;
    for (int64_t i = 1; i < n; i++) top = fmax(top, (double)x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - top);
    return top + log(sum);
}

static double bce(const list *l)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double z = (double)l->z[i], y = (double)l->y[i];
        sum += softplus(z) - y * z;
        l->slope[i] = (logistic(z) - y) / (double)l->n;
    }
    return sum / (double)l->n;
}

static double mse(const list *l)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double apart = (double)l->z[i] - (double)l->y[i];
        sum += apart * apart;
        l->slope[i] = 2 * apart / (double)l->n;
    }
    return sum / (double)l->n;
}

static double margin_mse(const list *l)
{
    double sum = 0;
    const double others = (double)(l->n - 1);
    for (int64_t j = 1; j < l->n; j++) {
        const double apart =
            ((double)l->z[0] - (double)l->z[j]) - ((double)l->y[0] - (double)l->y[j]);
        sum += apart * apart;
        l->slope[0] += 2 * apart / others;
        l->slope[j] = -2 * apart / others;
    }
    return l->n > 1 ? sum / others : 0;
}

/* -sum q log p for the outputs' p and q_i = share(y_i). */
static double cross_entropy(const list *l, bool softmax)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < l->n; i++) total += (double)l->y[i];
    const double of_z = log_sum_exp(l->z, l->n), of_y = softmax ? log_sum_exp(l->y, l->n) : 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double y = (double)l->y[i], q = softmax ? exp(y - of_y) : y / total, log_p = (double)l->z[i] - of_z;
        sum -= q * log_p;
        l->slope[i] = exp(log_p) - q;
    }
    return sum;
}

static double infonce(const list *l) { return cross_entropy(l, false); }
static double listnet(const list *l) { return cross_entropy(l, true); }

/* order[r]: the document of rank r by descending x; ties keep their order. */
static void sort(const list *l, const float *x)
{
    for (int32_t i = 0; i < l->n; i++) {
        int32_t at = i;
        for (; at > 0 && x[l->order[at - 1]] < x[i]; at--) l->order[at] = l->order[at - 1];
        l->order[at] = i;
    }
}

static double listmle(const list *l)
{
    double sum = 0, rest = -INFINITY;
    sort(l, l->y);
    for (int64_t r = l->n; r-- > 0;) {
        const double z = (double)l->z[l->order[r]], top = fmax(z, rest);
        rest = top + log(exp(z - top) + exp(rest - top));            /* log of the sum of exp z_(s), s >= r */
        sum += rest - z;
        l->slope[l->order[r]] -= 1;
        for (int64_t s = r; s < l->n; s++) l->slope[l->order[s]] += exp((double)l->z[l->order[s]] - rest);
    }
    return sum;
}

static double discount(int64_t place) { return log2(1 + (double)place); }
static double gain(float label) { return exp2(fmax((double)label, 0)) - 1; }

static double largest_gain(const list *l)
{
    double sum = 0;
    sort(l, l->y);
    for (int64_t r = 0; r < l->n; r++) sum += gain(l->y[l->order[r]]) / discount(r + 1);
    return fmax(sum, 1e-10);
}

/* For documents of ranks r and s in the order of outputs, from 1. */
static double weight_of(int64_t r, int64_t s, double gains)
{
    const int64_t apart = r > s ? r - s : s - r;
    return gains * (10 * fabs(1 / discount(apart) - 1 / discount(apart + 1)) + fabs(1 / discount(r) - 1 / discount(s)));
}

static double pairwise(const list *l, bool weighted)
{
    const double all = weighted ? largest_gain(l) : 1;
    double sum = 0, pairs = 0;
    sort(l, l->z);
    for (int64_t r = 0; r < l->n; r++)
        for (int64_t s = 0; s < l->n; s++) {
            const int32_t i = l->order[r], j = l->order[s];
            if (!(l->y[i] > l->y[j])) continue;
            const double away = (double)l->z[i] - (double)l->z[j],
                         w = weighted ? weight_of(r + 1, s + 1, (gain(l->y[i]) - gain(l->y[j])) / all) : 1;
            sum += w * softplus(-away);
            l->slope[i] -= w * logistic(-away);
            l->slope[j] += w * logistic(-away);
            pairs++;
        }
    const double each = pairs > 0 ? 1 / (pairs * log(2.0)) : 0;
    for (int64_t i = 0; i < l->n; i++) l->slope[i] *= each;
    return sum * each;
}

static double ranknet(const list *l) { return pairwise(l, false); }
static double lambda(const list *l) { return pairwise(l, true); }

static const struct { const char *name; double (*of)(const list *l); double least, most; } losses[] = {
    [RF_LIST_BCE] = {"bce", bce, 0, 1},
    [RF_LIST_MSE] = {"mse", mse, -INFINITY, INFINITY},
    [RF_LIST_MARGIN_MSE] = {"margin_mse", margin_mse, -INFINITY, INFINITY},
    [RF_LIST_INFONCE] = {"infonce", infonce, 0, INFINITY},
    [RF_LIST_LISTNET] = {"listnet", listnet, -INFINITY, INFINITY},
    [RF_LIST_LISTMLE] = {"listmle", listmle, -INFINITY, INFINITY},
    [RF_LIST_RANKNET] = {"ranknet", ranknet, -INFINITY, INFINITY},
    [RF_LIST_LAMBDA] = {"lambda", lambda, -INFINITY, GRADES},
};

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t N = rf__size(n->in[0]);
    double sum = 0;
    for (int64_t i = 0; i < N; i++) s->slope[i] = 0;
    for (int64_t b = 0; b < s->B; b++) {
        const int32_t at = s->start[b];
        sum += losses[s->kind].of(
            &(list){n->in[0]->f32 + at, s->label + at, s->start[b + 1] - at, s->order + at, s->slope + at});
    }
    for (int64_t i = 0; i < N && s->loss.dz; i++) s->loss.dz[i] = (float)(s->loss.weight * s->slope[i]);
    return sum;
}

void rf__list_loss_run(rf_graph *g, rf_node *n)
{
    struct saved *s = n->saved;
    const size_t N = (size_t)rf__size(n->in[0]);
    const rf_mark mark = rf__scratch(g);
    s->order = rf__values(g, N, sizeof *s->order);
    s->slope = rf__values(g, N, sizeof *s->slope);
    rf__loss_run(g, n, value);
    rf__scratch_end(g, mark);
}

void rf__list_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_status rf__list_labels_check(rf_list_loss_kind what, const float y[], int64_t n, rf_error *why)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        const double label = (double)y[i];
        total += label;
        if (isfinite(label) && label >= losses[what].least && label <= losses[what].most) continue;
        return rf_fail(why, RF_EDATA, "loss %s: document %lld: expected a label from %g to %g, got %g",
                       losses[what].name, (long long)i + 1, losses[what].least, losses[what].most, label);
    }
    if (what != RF_LIST_INFONCE || (isfinite(total) && total > 0)) return RF_OK;
    return rf_fail(why, RF_EDATA, "loss infonce: expected a document with a label above 0, got none of %lld",
                   (long long)n);
}

rf_tensor *rf__list_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const float label[],
                         rf_list_loss_kind what, double weight, double *sum)
{
    rf_error why = {0};
    RF_EXPECT(g, "list_loss", z, 2);
    const int64_t N = rf__size(z);
    RF_STARTS(g, "list_loss", start, B, N, 1);
    RF_NEED(g, label || !B, RF_EARG, "list_loss: expected labels for %lld outputs, got NULL", (long long)N);
    RF_NEED(g, (int)what >= 0 && (size_t)what < RF_COUNT(losses), RF_EARG, "list_loss: expected a kind below %zu, got "
            "%d", RF_COUNT(losses), (int)what);
    for (int64_t b = 0; b < B; b++)
        if (rf__list_labels_check(what, label + start[b], start[b + 1] - start[b], &why))
            return rf__stop(g, why.code, "list %lld: %s", (long long)b + 1, why.text);
    struct saved s = {.loss = {.weight = weight}, .start = start, .B = B, .label = label, .kind = what};
    return rf__loss_call(g, RF_OP(list_loss), z, &s, sizeof s, sum, NULL);
}
