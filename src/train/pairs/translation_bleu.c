/* translation_bleu.c — BLEU during training: translations of the held-out sources by the current weights.
 *
 *     weights  ->  a model, packed in f32  ->  translations, eval_num_beams  ->  BLEU against the lines of the files
 *
 * With several ranks, rank k translates pairs k, k + ranks, ... A translation does not depend on the rest of its batch,
 * and counts add up, so the score is that of a single rank. */
#include <math.h>

#include "model/model.h"
#include "roformer/generate.h"
#include "text/tokenizer.h"
#include "train/pairs/translation_job.h"
#include "score/sums.h"

enum { CHUNK = 256 };                   /* sources between two checks for a stop                                      */

typedef struct scoring {
    const rf_ctx *ctx;
    const rf__pairs *held;
    const rf_tokenizer *target;
    rf_session *session;
    rf_generate_options o;
    int64_t first, ranks, n;            /* this rank's pairs: first, first + ranks, ...: n                            */
    int64_t done;                       /* of these, done in earlier chunks                                           */
    const rf_translation_frame *frame;
    char **text;                        /* [n] translations, by rf_decode                                             */
    const char **line;                  /* [n] of the file                                                            */
    rf_error why;
} scoring;

static size_t pair_of(const scoring *x, int64_t i) { return (size_t)(x->first + i * x->ranks); }

static int take(void *user, int64_t source, const rf_translation *t, const rf_error *why)
{
    scoring *x = user;
    if (!t) x->why = *why;
    else if (!(x->text[x->done + source] = rf_decode(x->target, t->id, (size_t)t->n, 1, 0, NULL)))
        rf_fail(&x->why, RF_ENOMEM, "out of memory: a translation");
    return (int)x->why.code;
}

/* Translates the next chunk of this rank's sources. */
static rf_status translate(scoring *x, int64_t n, rf_error *why)
{
    const rf__pairs *p = x->held;
    const rf_around *a = &x->frame->source;
    const size_t around = rf__around_size(a);
    size_t tokens = 0;
    for (int64_t i = 0; i < n; i++) tokens += rf__pair_length(p, RF__SOURCE_SIDE, pair_of(x, x->done + i)) + around;
    rf_translate_source *source = rf__calloc(x->ctx, (size_t)n, sizeof *source);
    int32_t *id = rf__calloc(x->ctx, tokens, sizeof *id), *to = id;
    rf_status status = source && id ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens", tokens);
    for (int64_t i = 0; i < n && !status; i++) {
        const size_t at = pair_of(x, x->done + i), m = rf__pair_length(p, RF__SOURCE_SIDE, at);
        memcpy(to, a->id[0], a->n[0] * sizeof *to);
        memcpy(to + a->n[0], p->id[RF__SOURCE_SIDE] + p->start[RF__SOURCE_SIDE][at], m * sizeof *to);
        memcpy(to + a->n[0] + m, a->id[1], a->n[1] * sizeof *to);
        source[i] = (rf_translate_source){.id = to, .n = (int64_t)(m + around)};
        to += m + around;
    }
    if (!status) status = rf_session_translate(x->session, source, n, &x->o, take, x, why);
    if (!status && x->why.code) status = rf_fail(why, x->why.code, "%s", x->why.text);
    x->done += n;
    rf__free(x->ctx, source);
    rf__free(x->ctx, id);
    return status;
}

/* All ranks check for a stop equally often; a rank whose translations have failed continues to check. */
static rf_status translate_all(rf__run *r, scoring *x, bool alone, rf_error *why)
{
    const int64_t most = ((int64_t)x->held->n + x->ranks - 1) / x->ranks;
    rf_status status = RF_OK;
    for (int64_t at = 0; at < most; at += CHUNK) {
        bool stop = false;
        const rf_status asked = alone ? RF_OK : rf__run_give_up(r, &stop, why);
        if (asked || stop) return asked ? asked : RF_ESTOPPED;
        const int64_t n = rf__min64(CHUNK, x->n - at);
        if (n > 0 && !status) status = translate(x, n, why);
    }
    return status;
}

static rf_status begin(rf__run *r, scoring *x, rf_model **m, rf_error *why)
{
    rf_status status = rf__model_of_slab(&r->params, r->optimizer.value, RF_F32, m, why);
    if (!status) status = rf_session_open(*m, &x->session, why);
    if (status) return status;
    rf_translate_defaults(*m, &x->o);
    x->o.num_beams = r->o.eval_num_beams;
    x->o.max_new_tokens = r->o.max_length;
    x->o.decoder_start = x->frame->start;
    if (x->frame->forced >= 0) x->o.forced_bos = x->frame->forced;
    x->text = rf__calloc(x->ctx, (size_t)x->n + 1, sizeof *x->text);
    x->line = rf__calloc(x->ctx, (size_t)x->n + 1, sizeof *x->line);
    if (!x->text || !x->line) return rf_fail(why, RF_ENOMEM, "out of memory: %lld translations", (long long)x->n);
    for (int64_t i = 0; i < x->n; i++)
        x->line[i] = x->held->text[RF__TARGET_SIDE] + x->held->line[RF__TARGET_SIDE][pair_of(x, i)];
    return RF_OK;
}

/* Computes the counts of this rank's translations, and the score of all ranks; rank 0 has pairs whenever there are
 * any. */
static rf_status compute_bleu(rf__run *r, const scoring *x, rf_comm *comm, double *bleu, rf_error *why)
{
    int64_t sum[RF_MT_COUNTS] = {0};
    rf_mt_options o;
    rf_mt_result *result = NULL;
    rf_mt_score all = {.score = NAN};
    rf_mt_defaults(&o);
    o.tokenizer = r->o.bleu_tokenize;
    const rf_mt_texts system = {(const char *const *)x->text, NULL}, reference = {x->line, NULL};
    rf_status status = x->n ? rf_mt_evaluate(x->ctx, &o, &system, &reference, 1, x->n, &result, why) : RF_OK;
    if (result) rf__mt_add(result, sum);
    status = rf__agree(comm, status, why);
    for (int k = 0; k < RF_MT_COUNTS && !status; k++) status = rf__sum_whole(comm, &sum[k], why);
    if (!status && result) rf__mt_of_sums(result, sum, &all);
    rf_mt_free(result);
    *bleu = all.score;
    return status ? status : rf__broadcast(comm, bleu, sizeof *bleu, why);
}

/* Combines the results of all ranks. Weights without finite results have no BLEU, which is not a failure. */
static rf_status agree_on(rf_comm *comm, rf_status status, bool *finite, rf_error *why)
{
    unsigned strange = status == RF_ENUMERIC;
    const rf_status agreed = rf__agree(comm, strange ? RF_OK : status, why);
    const rf_status asked = agreed ? agreed : rf__any(comm, &strange, why);
    *finite = !strange;
    if (strange && !asked && why) *why = (rf_error){0};
    return asked;
}

rf_status rf__translation_bleu(rf__run *r, bool alone, double *bleu, rf_error *why)
{
    const rf__pair_training *t = r->task;
    rf_comm *comm = alone ? NULL : r->o.comm;
    const int64_t ranks = rf__ranks(comm), rank = rf__rank(comm), all = (int64_t)t->held.n;
    scoring x = {.ctx = r->ctx, .frame = &t->frame, .held = &t->held, .first = rank, .ranks = ranks,
                 .n = rank < all ? (all - rank + ranks - 1) / ranks : 0,
                 .target = rf__tokenizer_target(r->tokenizer)};
    rf_model *m = NULL;
    bool finite = false;
    rf_status status = rf__agree(comm, begin(r, &x, &m, why), why);
    if (!status) status = translate_all(r, &x, alone, why);
    if (status != RF_ESTOPPED) status = agree_on(comm, status, &finite, why);
    *bleu = NAN;
    if (!status && finite) status = compute_bleu(r, &x, comm, bleu, why);
    for (int64_t i = 0; x.text && i < x.done; i++)
        if (x.text[i]) rf_text_free(x.target, x.text[i]);
    rf__free(x.ctx, (void *)x.text);
    rf__free(x.ctx, (void *)x.line);
    rf_session_close(x.session);
    rf_model_close(m);
    return status;
}
