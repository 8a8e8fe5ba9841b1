/* schedule.c — the step size of update t of T, with w updates of warm-up:
 *
 *     t <= w      peak t / w
 *     linear      peak (T + 1 - t) / (T + 1 - w)
 *     cosine      peak (1 + cos(pi (t - w) / (T + 1 - w))) / 2
 *     constant    peak
 *
 * The peak is reached at t = w and zero would be at T + 1: no update is made with a step of zero.                       */
#include <math.h>

#include "base/base.h"
#include "train/schedule.h"

int64_t rf__warmup(const rf_train_options *o, int64_t max_steps)
{
    const int64_t w = o->warmup_steps ? o->warmup_steps : (int64_t)ceil(o->warmup_ratio * (double)max_steps);
    return rf__min64(w, max_steps);
}

double rf__learning_rate(const rf_train_options *o, int64_t step, int64_t max_steps)
{
    const double pi = 3.141592653589793;
    const int64_t t = rf__min64(step, max_steps), w = rf__warmup(o, max_steps);
    if (t <= w) return o->learning_rate * (double)t / (double)w;
    const double left = (double)(max_steps + 1 - t) / (double)(max_steps + 1 - w);
    switch (o->lr_scheduler_type) {
    case RF_SCHEDULE_LINEAR: return o->learning_rate * left;
    case RF_SCHEDULE_COSINE: return o->learning_rate * (1 - cos(pi * left)) / 2;
    default:                 return o->learning_rate;
    }
}
