/* sources.c — sources of translations, in a list or one by one: the encoder reads the sources of all new texts in one
 * batch, and the texts' sequences store the result; see writer.h. */
#include "decode/writer.h"

const rf_translate_source *rf__source_of(const rf__writer *w, int64_t number)
{
    const int64_t i = number / w->o->num_return_sequences;
    return w->source ? &w->source[i] : w->next_source ? w->asked_source[i] : NULL;
}

rf_status rf__sources_ask(rf__writer *w, int idle, bool *got, rf_error *why)
{
    rf_translate_source s = {0};
    *got = w->next_source(w->user, idle, &s) != 0;
    if (!*got) return RF_OK;
    /* Numbers that are out of range are refused when the text enters. */
    const size_t n = s.id && s.n > 0 && s.n < INT32_MAX ? (size_t)s.n : 0;
    const size_t prefixes = s.prefix && s.prefixes > 0 && s.prefixes < INT32_MAX ? (size_t)s.prefixes : 0;
    rf_translate_source *own = rf__calloc(w->ctx, 1, sizeof *own + (n + prefixes) * sizeof *s.id);
    if (!own || !rf__grow(w->ctx, &w->asked_source, &w->source_space, w->asked_sources + 1, sizeof own)) {
        rf__free(w->ctx, own);
        return rf_fail(why, RF_ENOMEM, "out of memory: a source of %zu tokens", n);
    }
    int32_t *id = (int32_t *)(own + 1), *prefix = id + n;
    *own = s;
    if (n) own->id = memcpy(id, s.id, n * sizeof *id);
    if (prefixes) own->prefix = memcpy(prefix, s.prefix, prefixes * sizeof *prefix);
    w->asked_source[w->asked_sources++] = own;
    return RF_OK;
}

void rf__sources_free(rf__writer *w)
{
    for (size_t i = 0; i < w->asked_sources; i++) rf__free(w->ctx, w->asked_source[i]);
    rf__free(w->ctx, w->asked_source);
    rf__free(w->ctx, w->source_id);
}

/* A text in progress that translates the same source, so that another can share its sequence. */
static const rf__writing *same_source_of(const rf__writer *w, const rf__writing *t)
{
    for (int64_t i = 0; i < w->lives; i++) {
        const rf__writing *x = w->live[i];
        if (x->source == t->source && x->sequence && (!x->known || rf__cache_cuts(w->cache))) return x;
    }
    return NULL;
}

/* Reads the sources of texts [from, to) of `fresh`. An error of one text stops only that text. */
static rf_status read_sources(rf__writer *w, rf__writing *const fresh[], int64_t from, int64_t to, rf_error *why)
{
    const int64_t B = to - from;
    rf_error own = {0};
    int64_t N = 0;
    for (int64_t i = from; i < to; i++) N += fresh[i]->source->n;
    if (!rf__grow(w->ctx, &w->id, &w->ids, (size_t)N, sizeof *w->id) ||
        !rf__grow(w->ctx, &w->start, &w->starts, (size_t)B + 1, sizeof *w->start) ||
        !rf__grow(w->ctx, &w->which, &w->whiches, (size_t)B, sizeof *w->which))
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)N);
    w->start[0] = 0;
    for (int64_t i = 0; i < B; i++) {
        const rf_translate_source *s = fresh[from + i]->source;
        memcpy(w->id + w->start[i], s->id, (size_t)s->n * sizeof *s->id);
        w->start[i + 1] = w->start[i] + (int32_t)s->n;
    }
    const rf_batch b = {.N = N, .B = B, .id = w->id, .start = w->start};
    rf_status status = rf__session_read(w->session, w->o->cache_type, &b, w->which, &own);
    if (status == RF_ENOMEM || status == RF_ECANCELED) return rf_fail(why, status, "%s", own.text);
    for (int64_t i = 0; i < B && !status; i++) fresh[from + i]->sequence = w->which[i];
    if (status && B == 1) rf__writing_end(w, fresh[from], RF_GENERATE_FAILED, &own);
    for (int64_t i = from; status && B > 1 && i < to && !w->stopped; i++)
        if (read_sources(w, fresh, i, i + 1, why)) return why->code;
    return RF_OK;
}

rf_status rf__sources_take(rf__writer *w, bool again, rf_error *why)
{
    int64_t n = 0, tokens = 0;
    rf_status status = RF_OK;
    for (int64_t i = 0; i < w->lives && !status && !w->stopped; i++) {
        rf__writing *t = w->live[i];
        const rf__writing *twin = t->sequence || t->over ? NULL : same_source_of(w, t);
        if (twin) status = rf__cache_fork(w->cache, twin->sequence, 0, &t->sequence, why);
        if (t->sequence || t->over || (!again && i && w->live[i - 1]->source == t->source)) continue;
        if (n && tokens + t->source->n > RF__STEP_TOKENS) {
            status = read_sources(w, w->member, 0, n, why);
            n = tokens = 0;
        }
        w->member[n++] = t;
        tokens += t->source->n;
    }
    if (n && !status && !w->stopped) status = read_sources(w, w->member, 0, n, why);
    return status || again ? status : rf__sources_take(w, true, why);
}

rf_status rf__sources_compute(rf__writer *w, int64_t from, const rf_batch *target, int64_t n, const float **logits,
                              rf_error *why)
{
    const int64_t B = target->B;
    int64_t N = 0;
    for (int64_t i = 0; i < B; i++) N += w->member[from + i]->source->n;
    if (!rf__grow(w->ctx, &w->source_id, &w->source_ids, (size_t)(N + B + 1), sizeof *w->source_id))
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)N);
    int32_t *start = w->source_id + N;
    start[0] = 0;
    for (int64_t i = 0; i < B; i++) {
        const rf_translate_source *s = w->member[from + i]->source;
        memcpy(w->source_id + start[i], s->id, (size_t)s->n * sizeof *s->id);
        start[i + 1] = start[i] + (int32_t)s->n;
    }
    const rf_batch source = {.N = N, .B = B, .id = w->source_id, .start = start};
    return rf_session_pair_logits(w->session, &source, target, w->row, n, logits, why);
}
