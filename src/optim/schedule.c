/* schedule.c — the learning rate of update t of T, with w updates of warm-up, as a fraction of the peak:
 *
 *     t <= w (all but constant, one_cycle, piecewise)     t / w
 *     x = (t - w) / (T + 1 - w)                           progress after the warm-up
 *
 *     linear                 1 - x
 *     cosine                 (1 + cos(pi x)) / 2
 *     cosine_with_min_lr     min_lr_rate + (1 - min_lr_rate) (1 + cos(pi x)) / 2
 *     cosine_with_restarts   (1 + cos(pi frac(cycles x))) / 2
 *     polynomial             end + (1 - end) (1 - x)^power            end = lr_end / learning_rate
 *     inverse_sqrt           sqrt(w / t)                              w 0: 1 / sqrt(1 + t / 10000)
 *     constant               1, from the first update on;  constant_with_warmup
 *     piecewise              straight lines between (0, 0) and the points of lr_schedule, then its last value
 *     one_cycle              cosine from 1/25 up to 1 at t = w, cosine down to 1/250000 at T        Smith & Topin 2019
 *
 * These are transformers' functions of step t and T + 1 steps (one_cycle: torch's OneCycleLR of T steps, at t - 1): the
 * peak is reached at t = w, and zero would be reached at T + 1, so no update has a learning rate of zero.            */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "optim/schedule.h"

static const double pi = 3.141592653589793;

int64_t rf__warmup(const rf_train_options *o, int64_t max_steps)
{
    const int64_t w = o->warmup_steps >= 0 ? o->warmup_steps : (int64_t)ceil(o->warmup_ratio * (double)max_steps);
    return rf__min64(w, max_steps);
}

/* ---- piecewise ---- */

/* Reads one "update:share"; *text moves past it and its comma. */
static bool next_point(const char **text, double *at, double *share)
{
    char *end;
    *at = strtod(*text, &end);
    if (end == *text || *end != ':') return false;
    const char *second = end + 1;
    *share = strtod(second, &end);
    if (end == second || (*end && *end != ',') || (*end == ',' && !end[1])) return false;
    *text = *end ? end + 1 : end;
    return *at >= 0 && *at < 1e15 && *share >= 0 && *share < 1e6;
}

bool rf__schedule_valid(const char *text)
{
    double at, share, before = -1;
    if (!text || !*text) return false;
    while (*text) {
        if (!next_point(&text, &at, &share) || at <= before) return false;
        before = at;
    }
    return true;
}

static double piecewise(const char *text, double t)
{
    double at = 0, share = 0, x, y;
    bool first = true;
    while (text && *text && next_point(&text, &x, &y)) {
        if (first && !(x > 0)) at = x, share = y;                    /* a point at 0 replaces (0, 0) */
        first = false;
        if (t < x) return share + (y - share) * (t - at) / (x - at);
        at = x;
        share = y;
    }
    return share;
}

/* ---- one cycle ---- */

static double between(double from, double to, double share) { return to + (from - to) / 2 * (1 + cos(pi * share)); }

static double one_cycle(double step, double total, double w)
{
    const double start = 1.0 / 25, end = start / 1e4, top = w - 1;
    if (top > 0 && step <= top) return between(start, 1, step / top);
    return total - 1 > top ? between(1, end, (step - top) / (total - 1 - top)) : 1;
}

/* ---- all ---- */

/* The progress after the warm-up, for schedules with the usual warm-up. */
static double after_warmup(const rf_train_options *o, double t, double T, double w)
{
    const double x = (t - w) / (T + 1 - w), end = o->learning_rate > 0 ? o->lr_end / o->learning_rate : 0;
    switch (o->lr_scheduler_type) {
    case RF_SCHEDULE_LINEAR:               return (T + 1 - t) / (T + 1 - w);
    case RF_SCHEDULE_COSINE:               return (1 + cos(pi * x)) / 2;
    case RF_SCHEDULE_COSINE_WITH_RESTARTS: return (1 + cos(pi * fmod(o->num_cycles * x, 1))) / 2;
    case RF_SCHEDULE_COSINE_WITH_MIN_LR:   return o->min_lr_rate + (1 - o->min_lr_rate) * (1 + cos(pi * x)) / 2;
    case RF_SCHEDULE_POLYNOMIAL:           return end + (1 - end) * pow(1 - x, o->lr_power);
    case RF_SCHEDULE_INVERSE_SQRT:         return w > 0 ? sqrt(w / t) : 1 / sqrt(1 + t / 10000);
    default:                               return 1;
    }
}

double rf__learning_rate(const rf_train_options *o, int64_t step, int64_t max_steps)
{
    const double t = (double)rf__min64(step, max_steps), w = (double)rf__warmup(o, max_steps), T = (double)max_steps;
    switch (o->lr_scheduler_type) {
    case RF_SCHEDULE_CONSTANT:  return o->learning_rate;
    case RF_SCHEDULE_PIECEWISE: return o->learning_rate * piecewise(o->lr_schedule, t);
    case RF_SCHEDULE_ONE_CYCLE: return o->learning_rate * one_cycle(t - 1, T, w);
    default:                    return t <= w ? o->learning_rate * t / w : o->learning_rate * after_warmup(o, t, T, w);
    }
}
