/* start.c — everything before the first step, in order. The folder is in start_folder.c, the checkpoint in
 * start_checkpoint.c, the model in start_model.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "store/store.h"
#include "train/checkpoint/folder.h"
#include "train/run.h"

/* ---- notes ---- */

void rf__run_notify(rf__run *r, const char *event, const char *text, ...)
{
    char note[1024];
    va_list arguments;
    if (text) {
        va_start(arguments, text);
        vsnprintf(note, sizeof note, text, arguments);
        va_end(arguments);
    }
    rf_train_progress *p = &r->progress;
    p->step = r->state.step;
    p->max_steps = r->state.max_steps;
    p->epoch = rf__run_epoch(r);
    p->tokens = r->state.tokens;
    p->seconds = r->state.seconds;
    p->save_wait = r->saver.waited;
    p->eval_loss = r->state.eval_loss;
    p->eval_accuracy = r->state.eval_accuracy;
    p->eval_bleu = r->state.eval_bleu;
    p->metric = r->job->metric(r);
    p->event = event;
    p->note = text ? note : NULL;
    const int answer = r->report ? r->report(r->user, p) : RF_TRAIN_GO;
    if (answer == RF_TRAIN_SAVE) r->save = true;
    else if (answer) r->stop = true;
    p->note = NULL;
}

double rf__run_epoch(const rf__run *r) { return r->job->epoch(r); }

bool rf__run_past_end(const rf__run *r, int64_t micro)
{
    const bool last = r->state.step + 1 == r->state.max_steps;
    return micro && last && !r->o.max_steps && !r->stages.n && rf__run_epoch(r) >= r->o.num_train_epochs;
}

/* ---- the sequence; with several ranks, only rank 0 writes to the folder ---- */

static rf_status begin_folder(rf__run *r, rf_error *why)
{
    rf__options_resolve(&r->o, &r->usual);
    rf_status status = r->o.resume_from_checkpoint ? rf__rows_check(rf_train_option, &r->o, why)  /* the others: with */
                                                   : rf__options_check(&r->o, why);        /* those of the checkpoint */
    if (!status && r->o.comm && !r->job->ranks)
        status = rf_fail(why, RF_EARG,
                         "expected one process for this command, got several; only pretrain and train-translation "
                         "use several");
    return status || rf__rank(r->o.comm) ? status : rf__run_lock_folder(r, why);
}

static rf_status same_folder(rf__run *r, rf_error *why)
{
    const rf_status status = rf__broadcast(r->o.comm, r->folder, sizeof r->folder, why);
    return status ? status : rf__broadcast(r->o.comm, r->from, sizeof r->from, why);
}

/* What all ranks must have in common, besides the text: options, shape of the model, version of the program and
 * kernels. With these, each of them takes the same step. */
static rf_status same_options(rf__run *r, rf_error *why)
{
    if (!r->o.comm) return RF_OK;
    char *text = rf__json_dump(r->options, JSON_SORT_KEYS);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: options");
    const uint64_t options = rf__hash64(text, strlen(text), (uint64_t)r->o.max_steps);
    const rf_config *c = &r->params.config;
    const int64_t shape[] = {c->vocab_size, c->hidden_size, c->num_hidden_layers, c->intermediate_size,
                             (int64_t)r->params.total};
    char kernels[RF__KERNELS];
    rf__state_kernels(r->ctx, kernels);
    free(text);
    rf_status status = rf__same(r->o.comm, options, "other options", why);
    if (!status) status = rf__same(r->o.comm, rf__hash64(shape, sizeof shape, 0), "another model", why);
    if (!status)
        status = rf__same(r->o.comm, rf__hash64(rf_version(), strlen(rf_version()), 0),
                          "another version of the program", why);
    if (!status)
        status = rf__same(r->o.comm, rf__hash64(kernels, strlen(kernels), 0), "other kernels (--isa)", why);
    return status;
}

/* A run that did not start leaves no files. */
static void leave_folder(rf__run *r)
{
    if (r->fresh) {
        rf__folder_unmake(r->folder, r->lock);
        r->lock = -1;
    } else if (r->lock >= 0 && !r->ran) {
        rf__folder_unlock(r->folder, r->lock, true);
        r->lock = -1;
    }
}

static rf_status read_options(rf__run *r, rf_error *why)
{
    if (!*r->from) return rf__run_begin_stages(r, why);
    const rf_status status = rf__run_open_checkpoint(r, why);
    return status ? status : rf__options_check(&r->o, why);
}

static rf_status learn_tokenizer(rf__run *r, rf_error *why)
{
    if (!r->job->learn || *r->from || r->o.model) return RF_OK;
    const rf_status status = rf__agree(r->o.comm, rf__rank(r->o.comm) ? RF_OK : r->job->learn(r, why), why);
    r->o.model = r->folder;
    return status;
}

static rf_status report_ineffective_options(rf__run *r, rf_error *why)
{
    char ineffective[512];
    (void)why;
    if (rf__options_ineffective(&r->o, &r->usual, ineffective, sizeof ineffective))
        rf__run_notify(r, "note", "options without effect: %s", ineffective);
    return RF_OK;
}

static rf_status open_data(rf__run *r, rf_error *why) { return r->job->open(r, why); }

static rf_status open_logs(rf__run *r, rf_error *why)
{
    return rf__rank(r->o.comm) ? RF_OK : rf__run_open_logs(r, why);
}

/* For checkpoints. */
static rf_status keep_options(rf__run *r, rf_error *why)
{
    r->options = rf__options_json(r->stages.n ? &r->given : &r->o);
    rf__run_keep_model(r);
    if (r->job->keep) r->job->keep(r, &r->options);
    if (r->stages.n) rf__json_set(&r->options, "stages_settled", rf__stages_json(&r->stages));
    return r->options ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: options");
}

/* agreed: the ranks wait for each other, and all fail if one fails. */
typedef struct start_step { rf_status (*run)(rf__run *r, rf_error *why); bool agreed; } start_step;

static const start_step steps[] = {
    {begin_folder, true},       {same_folder, false},        {read_options, true}, {learn_tokenizer, false},
    {report_ineffective_options, false},  {rf__run_open_model, true},  {open_data, false},   {open_logs, false},
    {keep_options, false},
};

static void begin_run(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, const rf__job *job, void *task,
                      rf_train_report *report, void *user)
{
    *r = (rf__run){.ctx = ctx, .job = job, .task = task, .o = *o, .report = report, .user = user, .lock = -1};
    r->metrics.fd = r->events.fd = -1;
    r->progress.loss = r->progress.grad_norm = NAN;
    r->progress.objective = RF_OBJECTIVE_MLM;
    job->usual(&r->usual);
    rf__state_init(&r->state);
    rf__arena_init(&r->strings, ctx);
}

rf_status rf__run_start(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, const rf__job *job, void *task,
                        rf_train_report *report, void *user, rf_error *why)
{
    rf_status status = RF_OK;
    begin_run(r, ctx, o, job, task, report, user);
    for (size_t i = 0; i < RF_COUNT(steps) && !status; i++) {
        status = steps[i].run(r, why);
        if (steps[i].agreed) status = rf__agree(r->o.comm, status, why);
    }
    status = rf__agree(r->o.comm, status, why);
    if (!status) status = same_options(r, why);
    r->unused = status && r->metrics.fd < 0;
    r->began_at = r->state.step;
    return status;
}

void rf__run_end(rf__run *r)
{
    const rf_ctx *ctx = r->ctx;
    rf__saver_free(&r->saver);
    rf__graph_free(r->graph);
    rf__encoder_free(r->encoder);
    if (r->job->end) r->job->end(r);
    rf__free(ctx, r->loss);
    rf__exchange_free(&r->exchange);
    rf__tree_free(&r->tree);
    rf__free(ctx, r->rounded);
    rf__optimizer_free(&r->optimizer);
    if (r->params.p) rf__params_free(&r->params);
    rf__vocab_free(ctx, &r->vocab);
    rf_tokenizer_free(r->tokenizer);
    rf__free(ctx, r->prompts.text);
    rf__free(ctx, r->generation.text);
    json_decref(r->options);
    json_decref(r->base);
    rf__journal_close(&r->metrics);
    rf__journal_close(&r->events);
    rf__arena_clear(&r->strings);
    if (r->unused) leave_folder(r);                     /* when all of its files are closed */
    if (r->lock >= 0) rf__os_close(r->lock);
}
