/* objective.c — the training objective around a task's loss (src/task/tasks/).
 *
 *     R-Drop       the loss over both dropout passes of each example  +  alpha / 4 mean of (KL(p|q) + KL(q|p))
 *
 * The means are over all labels of a step, in all its micro-batches: `weight` is 1 / (number of these labels). */
#include <math.h>
#include <stdlib.h>

#include "task/objective.h"

rf_tensor *rf__task_objective_loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o,
                                   double weight, double *sum)
{
    rf_tensor *loss = o->task->loss(g, z, b, o, weight, sum);
    if (!(o->r_drop > 0)) return loss;
    /* there are two labels for each pair of outputs, so weight is 1 / (2 pairs) */
    double apart = 0;
    rf_tensor *pull = rf__divergence(g, z, b->label, weight * o->r_drop / 2, &apart);
    if (sum) *sum += apart * o->r_drop / 2;
    return rf__add(g, loss, pull);
}

/* ---- class weights ---- */

static rf_status balanced(const rf__items *t, float weight[], rf_error *why)
{
    const size_t labels = t->format->kind == RF__LABEL_TOKENS ? t->tokens : t->n, K = (size_t)t->K;
    size_t all = 0;
    for (size_t k = 0; k < K; k++) weight[k] = 0;
    for (size_t i = 0; i < labels; i++)
        if (t->label[i] >= 0) {
            weight[t->label[i]]++;
            all++;
        }
    for (size_t k = 0; k < K; k++) {
        if (weight[k] < 1)
            return rf_fail(why, RF_EDATA, "class_weights: balanced: expected a training example for each of %zu "
                           "labels, got none for label %zu", K, k + 1);
        weight[k] = (float)((double)all / ((double)K * (double)weight[k]));
    }
    return RF_OK;
}

rf_status rf__class_weights(const char *text, const rf__items *t, float weight[], rf_error *why)
{
    bool any = false;
    if (!strcmp(text, "balanced")) return balanced(t, weight, why);
    for (int64_t k = 0; k < t->K; k++) {
        char *end;
        const double x = strtod(text, &end);
        const bool last = k + 1 == t->K;
        if (end == text || !isfinite(x) || x < 0 || x > 1e6 || *end != (last ? 0 : ','))
            return rf_fail(
                why, RF_EARG,
                "class_weights: expected \"balanced\" or %lld numbers from 0 to 1e6, separated by commas",
                (long long)t->K);
        weight[k] = (float)x;
        any = any || weight[k] > 0;
        text = end + !last;
    }
    if (any) return RF_OK;
    return rf_fail(why, RF_EARG, "class_weights: expected a number above 0 among them, got 0 for each of %lld labels: "
                   "nothing would be learned", (long long)t->K);
}
