/* pipeline.c — opens and closes pipelines. */
#include "pipeline/pipeline.h"

#include "base/files/held_folder.h"
#include "decode/session.h"
#include "model/model.h"
#include "task/answerer.h"
#include "train/checkpoint/checksums.h"

/* Creates a pipeline without a model. */
static rf_status make(const rf_ctx *ctx, rf_ctx *own, rf_pipeline **out, rf_error *why)
{
    rf_pipeline *p = rf__calloc(ctx, 1, sizeof *p);
    if (!p) return rf_fail(why, RF_ENOMEM, "out of memory: a pipeline");
    p->ctx = ctx;
    p->own = own;
    rf_encoding_init(&p->parts.window.e, ctx);
    *out = p;
    p->worker = rf__calloc(ctx, (size_t)ctx->threads, sizeof *p->worker);
    return p->worker ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a pipeline of %d threads", ctx->threads);
}

/* Reads the settings of vectors. An error in them is reported when vectors are requested (no_sentence). */
static rf_status no_vectors(const rf_pipeline *p, rf_error *why)
{
    if (p->no_sentence.code != RF_ENOMEM) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s", p->no_sentence.text);
}

static rf_status read_sentence(rf_pipeline *p, const char *folder, rf_error *why)
{
    if (!rf__late_read(p->ctx, folder, &p->sentence, &p->list, &p->late, &p->no_sentence) && !p->late)
        (void)rf__vector_modules(p->ctx, folder, &p->sentence, &p->list, &p->no_sentence);
    return no_vectors(p, why);
}

/* The weights of its modules; an error in them, too. */
static rf_status read_modules(rf_pipeline *p, const char *folder, rf_error *why)
{
    if (!p->no_sentence.code)
        (void)rf__modules_open(p->ctx, folder, &p->list,
                               rf_model_config(p->model)->hidden_size * rf__pooling_count(p->list.pooling), &p->modules,
                               &p->no_sentence);
    if (p->late && !p->no_sentence.code && rf_model_tokenizer(p->model)) (void)rf__late_open(p, &p->no_sentence);
    return no_vectors(p, why);
}

/* Opens the model in the folder, or in a subfolder. */
static rf_status open_model(rf_pipeline *p, const char *folder, rf_type type, rf_error *why)
{
    char below[4096];
    if (!*p->sentence.transformer) return rf_model_open_as(p->ctx, folder, type, &p->model, why);
    rf_status status = rf__path(below, sizeof below, folder, p->sentence.transformer, why);
    if (!status) status = rf_model_open_as(p->ctx, below, type, &p->model, why);
    return status ? status : rf__model_set_requested_folder(p->model, folder, why);
}

/* Opens what answers with the model. */
static rf_status equip(rf_pipeline *p, rf_error *why)
{
    rf_model *m = p->model;
    const rf_tokenizer *t = rf_model_tokenizer(m);
    const rf_head task = rf_model_task(m);
    if (!m->folder)
        return rf_fail(why, RF_EARG,
                       "pipeline: expected a model that was opened from a folder, got one without a folder");
    if (!t) return rf_fail(why, RF_EDATA, "%.200s: expected a tokenizer, got none", m->folder);
    p->sep = rf_tokenizer_sep(t);
    rf_status status = task != RF_HEAD_SEQ2SEQ
                           ? RF_OK
                           : rf__checksums_tokenizer(p->ctx, m->folder, rf_tokenizer_files(t), why);
    if (!status) status = rf_session_open(m, &p->session, why);
    if (!status) p->worker[0].session = p->session;
    if (!status && task != RF_HEAD_MLM && task != RF_HEAD_SEQ2SEQ && task != RF_HEAD_DETECT)
        status = rf__answerer_of(p->ctx, m->folder, m->type, m, p->session, &p->answerer, why);
    return status;
}

rf_status rf_pipeline_open(const rf_ctx *ctx, const char *folder, rf_type type, rf_pipeline **out, rf_error *why)
{
    rf_ctx *own = NULL;
    rf_pipeline *p = NULL;
    if (!folder || !out)
        return rf_fail(why, RF_EARG, "pipeline: expected a %s, got NULL", folder ? "place for it" : "folder");
    rf_status status = ctx ? RF_OK : rf_ctx_new(NULL, &own, why);
    if (!status) status = make(ctx ? ctx : own, own, &p, why);
    rf_held_folder *held = NULL, *seen = NULL;
    if (!status) status = rf_folder_hold(p->ctx, folder, &held, why);
    if (!status) status = read_sentence(p, folder, why);
    if (!status) status = open_model(p, folder, type, why);
    if (!status) status = read_modules(p, folder, why);
    if (!status) status = equip(p, why);
    status = rf__folder_release_into(&held, &seen, status, why);
    if (p && seen) p->model->seen = seen;
    if (!status) *out = p;
    else if (p) rf_pipeline_close(p);
    else rf_ctx_free(own);
    return status;
}

rf_status rf_pipeline_on(const rf_model *model, rf_pipeline **out, rf_error *why)
{
    rf_pipeline *p = NULL;
    if (!(model && out)) return rf__missing("rf_pipeline_on", "model, out", why);
    rf_status status = make(model->ctx, NULL, &p, why);
    if (p) p->lent = true, p->model = (rf_model *)(uintptr_t)model;       /* parts that are created later are
                                                                             protected by its lock */
    const char *folder = !status && model->requested_folder ? model->requested_folder : model->folder;
    rf_held_folder *held = NULL;
    if (!status && folder) status = rf__folder_hold_again(p->ctx, folder, model->seen, &held, why);
    if (!status && folder) status = read_sentence(p, folder, why);
    if (!status && folder) status = read_modules(p, folder, why);
    if (!status) status = equip(p, why);
    status = rf_folder_release(&held, status, why);
    if (status) rf_pipeline_close(p);
    else *out = p;
    return status;
}

void rf_pipeline_close(rf_pipeline *p)
{
    if (!p) return;
    const rf_ctx *ctx = p->ctx;
    rf_ctx *own = p->own;
    rf__parts_clear(ctx, &p->parts);
    rf__free(ctx, p->row);
    rf__free(ctx, p->joined);
    rf__modules_close(ctx, p->modules);
    rf__late_free(p->late);
    rf__free(ctx, p->late_ids.skip);
    rf_sentence_free(&p->sentence);
    rf__free(ctx, p->fills.mask);
    rf__free(ctx, p->fills.row);
    rf__free(ctx, p->fills.word);
    rf__free(ctx, p->fills.p);
    rf__free(ctx, p->label);
    rf__choices_clear(ctx, &p->choices);
    rf__free(ctx, p->id);
    rf__free(ctx, p->logprob);
    if (p->text) rf_text_free(rf_model_tokenizer(p->model), p->text);
    rf_answerer_close(p->answerer);
    rf_session_close(p->aligner);
    for (int i = 0; p->worker && i < ctx->threads; i++) {
        rf__free(ctx, p->worker[i].batch.id);
        rf__free(ctx, p->worker[i].batch.type);
        rf__free(ctx, p->worker[i].batch.start);
        if (i) rf_session_close(p->worker[i].session);
    }
    rf__free(ctx, p->worker);
    rf_session_close(p->session);
    if (!p->lent) rf_model_close(p->model);
    rf__free(ctx, p);
    rf_ctx_free(own);
}

rf_status rf_pipeline_sentence(const rf_pipeline *p, const rf_sentence **out, rf_error *why)
{
    if (!(p && out)) return rf__missing("rf_pipeline_sentence", "pipeline, out", why);
    if (p->no_sentence.code) return rf_fail(why, p->no_sentence.code, "%s", p->no_sentence.text);
    if (p->late)
        return rf_fail(why, RF_EUNSUPPORTED, "model: expected one with a vector for each text, got one for late "
                       "interaction (ColBERT), which has a vector for each token; use roformer embed --tokens or "
                       "roformer rank");
    *out = *p->sentence.pooling ? &p->sentence : NULL;
    return RF_OK;
}

const rf_model *rf_pipeline_model(const rf_pipeline *p) { return p->model; }
int64_t rf_pipeline_width(const rf_pipeline *p)
{
    if (!p) return 0;
    if (p->modules) return rf__modules_out(p->modules);
    return rf_model_config(p->model)->hidden_size * rf__pooling_count(p->list.pooling);
}
int rf_pipeline_late(const rf_pipeline *p) { return p && p->late; }
rf_session *rf_pipeline_session(rf_pipeline *p) { return p->session; }
rf_answerer *rf_pipeline_answerer(rf_pipeline *p) { return p->answerer; }

void rf_pipeline_set_cancel(rf_pipeline *p, const rf_cancel *cancel)
{
    if (!p) return;
    p->cancel = cancel;
    rf_session_set_cancel(p->aligner, cancel);
    for (int i = 0; i < p->ctx->threads; i++) rf_session_set_cancel(p->worker[i].session, cancel);
}

void rf__pipeline_clock(rf_pipeline *p, _Atomic double *clock)
{
    p->clock = clock;
    rf__session_clock(p->aligner, clock);
    for (int i = 0; i < p->ctx->threads; i++) rf__session_clock(p->worker[i].session, clock);
}

rf_status rf__pipeline_add_session(rf_pipeline *p, rf_session **out, rf_error *why)
{
    const rf_status status = rf_session_open(p->model, out, why);
    if (status) return status;
    rf_session_set_cancel(*out, p->cancel);
    rf__session_clock(*out, p->clock);
    return RF_OK;
}

rf_status rf__pipeline_workers(rf_pipeline *p, rf_error *why)
{
    rf_status status = RF_OK;
    for (int i = 1; i < p->ctx->threads && !status; i++)
        if (!p->worker[i].session) status = rf__pipeline_add_session(p, &p->worker[i].session, why);
    return status;
}

rf_status rf__pipeline_check(const rf_pipeline *p, const void *text, int64_t n, rf_error *why)
{
    if (p && (text || !n) && n >= 0) return RF_OK;
    if (!p) return rf_fail(why, RF_EARG, "pipeline: expected a pipeline, got NULL");
    return rf_fail(why, RF_EARG, "texts: expected 0 or more and a list of them, got %lld%s", (long long)n,
                   text ? "" : " without a list");
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

rf_texts_report *rf__report_begin(rf_pipeline *p, const rf_texts_report **given, rf_texts_report *local)
{
    rf_texts_report *r = p ? &p->report : local;
    *r = (rf_texts_report){.bad = -1};
    if (p && given) *given = r;
    return r;
}

rf_status rf__text_fail(const rf_texts_report *const *given, int64_t i, int64_t n, const rf_error *inner, rf_error *why)
{
    if (given || n == 1) return rf_fail(why, inner->code, "%s", inner->text);
    return rf_fail(why, inner->code, "text %lld: %.290s", (long long)i, inner->text);
}
