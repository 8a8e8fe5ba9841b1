/* kernel_bias.c — biases that decrease with distance, with a slope and a shape for each head.  Chi et al. 2022 (KERPLE)
 *
 *     logarithm   y[r+R,h] = -p log(1 + q |r|)          p = e^(a_h), q = e^(b_h): always positive
 *     power       y[r+R,h] = -p |r|^q
 *     da = sum_r dy y,    db = -sum_r dy p q |r| / (1 + q |r|)   or   sum_r dy y q log |r|                           */
#include "graph/graph.h"

#include <math.h>

struct saved { bool power; };

static double value(bool power, double p, double q, double distance)
{
    return power ? (distance > 0 ? -p * pow(distance, q) : 0) : -p * log1p(q * distance);
}

static double slope(bool power, double p, double q, double distance)           /* dy/db */
{
    if (!power) return -p * q * distance / (1 + q * distance);
    return distance > 0 ? value(true, p, q, distance) * q * log(distance) : 0;
}

struct pass { bool power; int64_t R, H; const float *a, *b, *dy; float *y, *da, *db; };

static void forward(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *x = arg;
    for (int64_t i = first; i < last; i++)
        for (int64_t h = 0; h < x->H; h++)
            x->y[i * x->H + h] =
                (float)value(x->power, exp((double)x->a[h]), exp((double)x->b[h]), fabs((double)(i - x->R)));
}

static void head_back(void *arg, int64_t h, int worker)
{
    (void)worker;
    const struct pass *x = arg;
    const double p = exp((double)x->a[h]), q = exp((double)x->b[h]);
    double da = 0, db = 0;
    for (int64_t i = 0; i <= 2 * x->R; i++) {
        const double d = (double)x->dy[i * x->H + h], distance = fabs((double)(i - x->R));
        da += d * value(x->power, p, q, distance);
        db += d * slope(x->power, p, q, distance);
    }
    x->da[h] = (float)da;
    x->db[h] = (float)db;
}

void rf__kernel_bias_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t H = n->out->dim[1], R = n->out->dim[0] / 2;
    rf__spans(g, 2 * R + 1, 256, forward,
              &(struct pass){s->power, R, H, n->in[0]->f32, n->in[1]->f32, NULL, n->out->f32, NULL, NULL});
}

void rf__kernel_bias_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t H = n->out->dim[1], R = n->out->dim[0] / 2;
    float *da = rf__floats(g, H), *db = rf__floats(g, H);
    if (!da || !db) return;
    rf__each(g, H, head_back,
             &(struct pass){s->power, R, H, n->in[0]->f32, n->in[1]->f32, n->out->grad, NULL, da, db});
    rf__adjoint(g, n->in[0], da);
    rf__adjoint(g, n->in[1], db);
}

rf_tensor *rf__kernel_bias(rf_graph *g, rf_tensor *a, rf_tensor *b, int64_t R, int power)
{
    RF_EXPECT(g, "kernel_bias", a, 1);
    RF_EXPECT(g, "kernel_bias", b, 1);
    RF_NEED(g, a->dim[0] == b->dim[0] && R >= 0, RF_ESHAPE,
            "kernel_bias: expected a and b of one size and offsets of 0 or more, got [%lld], [%lld] and %lld",
            (long long)a->dim[0], (long long)b->dim[0], (long long)R);
    struct saved s = {power != 0};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){2 * R + 1, a->dim[0]});
    if (rf__tracked(g, RF_IN(a, b))) {
        rf__needed(a);
        rf__needed(b);
    }
    return rf__call(g, RF_OP(kernel_bias), y, RF_IN(a, b), &s, sizeof s);
}
