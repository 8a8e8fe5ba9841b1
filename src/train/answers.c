/* answers.c — logits of a file's items, batch after batch. */
#include "train/answers.h"

int64_t rf__answer_columns(const rf__items *t) { return t->task == RF_TASK_QA ? 2 : t->task == RF_TASK_MC ? 1 : t->K; }

rf_status rf__answers_fill(rf__answers *a, const rf__items *t, int64_t tokens, rf__logits *logits, void *user, rf_error *why)
{
    a->ctx = t->ctx;
    a->K = rf__answer_columns(t);
    a->rows = 0;
    for (size_t i = 0; i < t->n;) {
        enum { MOST = 1024 };
        size_t which[MOST], n = 0, size = 0;
        while (i < t->n && n < MOST && (!n || size + rf__item_size(t, i) <= (size_t)tokens)) {
            size += rf__item_size(t, i);
            which[n++] = i++;
        }
        const float *z;
        int64_t rows;
        rf_status status = rf__item_batch_fill(&a->batch, t, which, n, false, why);
        if (!status) status = logits(user, &a->batch, &z, &rows, why);
        if (status) return status;
        const size_t K = (size_t)a->K, more = (size_t)rows * K;
        if (!rf__grow(a->ctx, &a->logit, &a->room, a->rows * K + more, sizeof *a->logit))
            return rf_fail(why, RF_ENOMEM, "out of memory: logits of %zu examples", t->n);
        memcpy(a->logit + a->rows * K, z, more * sizeof *z);
        a->rows += (size_t)rows;
    }
    return RF_OK;
}

void rf__answers_free(rf__answers *a)
{
    if (!a->ctx) return;
    rf__free(a->ctx, a->logit);
    rf__item_batch_free(a->ctx, &a->batch);
    *a = (rf__answers){0};
}

void rf__answer_span(const rf__answers *a, const rf__items *t, size_t i, int64_t most, int32_t place[2], double *score)
{
    const size_t at = t->start[t->first[i]], size = rf__item_size(t, i);
    const float *z = a->logit + 2 * at;
    const double none = (double)z[0] + (double)z[1];
    double best = -1e300;
    place[0] = place[1] = -1;
    for (size_t b = 0; b < size; b++) {
        if (t->from[at + b] == UINT32_MAX) continue;                      /* not of the context */
        for (size_t e = b; e < size && e < b + (size_t)most; e++) {
            const double sum = (double)z[2 * b] + (double)z[2 * e + 1];
            if (t->from[at + e] == UINT32_MAX || sum <= best) continue;
            best = sum;
            place[0] = (int32_t)b;
            place[1] = (int32_t)e;
        }
    }
    *score = best - none;
}
