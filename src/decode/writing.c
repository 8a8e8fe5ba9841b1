/* writing.c — a text that is being generated: its lists, its end. */
#include "model/model.h"
#include "decode/writer.h"

void rf__writing_free(rf__writer *w, rf__writing *t)
{
    rf__beam_search_leave(w, t);
    if (t->sequence) rf_sequence_drop(w->session, t->sequence, NULL);
    rf__free(w->ctx, t->id);
    rf__free(w->ctx, t->logprob);
    rf__free(w->ctx, t->flag);
    rf__free(w->ctx, t->less);
    rf__free(w->ctx, t->top);
    rf__free(w->ctx, t);
}

bool rf__writing_space(const rf__writer *w, rf__writing *t)
{
    t->id = rf__calloc(w->ctx, (size_t)(t->prompt + t->most), sizeof *t->id);
    t->logprob = rf__calloc(w->ctx, (size_t)t->most + 1, sizeof *t->logprob);
    t->flag = rf__calloc(w->ctx, (size_t)w->V, 1);
    t->top = rf__calloc(w->ctx, (size_t)w->o->top_logprobs + 1, sizeof *t->top);
    const bool lessens = w->o->presence_penalty != 0 || w->o->frequency_penalty != 0;
    if (lessens) t->less = rf__calloc(w->ctx, (size_t)w->V, sizeof *t->less);
    return t->id && t->logprob && t->flag && t->top && (t->less || !lessens);
}

static void report_text(const rf__writer *w, const rf__writing *t, rf_generate_end end)
{
    const int64_t n = t->n - t->prompt;
    double sum = 0;
    if (!w->written) return;
    for (int64_t i = 0; i < n; i++) sum += t->logprob[i];
    w->written(w->user, &(rf__written){t->number, n, t->id + t->prompt, t->logprob,
                                       n ? sum / rf__norm_of_length(w->o, n) : 0, end == RF_GENERATE_STOP,
                                       w->o->forced_eos >= 0 && n == t->most});
}

void rf__writing_end(rf__writer *w, rf__writing *t, rf_generate_end end, const rf_error *why)
{
    if (t->search) {
        if (why) rf__beam_search_fail(w, t->search, why);
        return;
    }
    t->over = true;
    if (!why) report_text(w, t, end);
    if (why && !w->first.code) w->first = *why;
    if (w->done && w->done(w->user, t->number, end, why)) w->stopped = true;
}

void rf__writing_note(const rf__writer *w, rf__writing *t, int32_t id)
{
    if (t->less) t->less[id] += w->o->frequency_penalty + (t->flag[id] & RF__WRITTEN ? 0 : w->o->presence_penalty);
    t->flag[id] |= RF__SEEN | RF__WRITTEN;
}
