/* finetune_form.c — takes the settings of sentence vectors (length, prompt, pooling) from the initial folder. */
#include "model/positions.h"
#include "store/family.h"
#include "store/task.h"
#include "task/finetune.h"

void rf__finetune_length(const rf_ctx *ctx, rf_finetune_options *o)
{
    const rf__task *task;
    rf__preset p;
    rf_sentence s;
    rf_config c;
    if (o->t.max_length) return;
    const bool known = !rf__preset_find(o->task, &p, &task, NULL);
    o->t.max_length = known ? p.max_length : RF__USUAL_LENGTH;
    if (!known || task->head != RF_HEAD_EMBED || !o->t.model || rf_sentence_read(ctx, o->t.model, &s, NULL)) return;
    if (!rf_config_read(ctx, o->t.model, &c, NULL)) s.max_length = rf__position_limit(&c, s.max_length);
    if (s.max_length && (*s.pooling || s.max_length < o->t.max_length)) o->t.max_length = s.max_length;
    rf_sentence_free(&s);
}

/* Training uses the default prompt, as `embed` will. */
rf_status rf__finetune_prompt(rf__run *r, rf__finetune_run *f, rf_error *why)
{
    rf_sentence s = {0};
    if (f->task->head != RF_HEAD_EMBED) return RF_OK;
    rf_status status = rf_sentence_read(r->ctx, *r->from ? r->from : r->o.model, &s, why);
    const char *prompt = rf__sentence_default_prompt(&s);
    if (!status && *prompt) {
        status = rf__finetune_keep(f, prompt, &f->source.prompt, why);
        rf__run_notify(r, "note", "each text begins with the folder's default prompt, \"%s\"",
                       rf__printable(prompt).text);
    }
    rf_sentence_free(&s);
    return status;
}

/* Keeps these settings, unless options change them; prompts are always kept. */
rf_status rf__finetune_form(rf__run *r, rf__finetune_run *f, rf_error *why)
{
    rf_finetune_options *o = &f->o;
    rf_sentence s;
    if (*r->from) {
        rf_status status = rf__sentence_prompts_read(r->ctx, r->from, &r->prompts, why);
        if (!status && !r->prompts.text && f->base)                     /* a checkpoint of an earlier version         */
            status = rf__sentence_prompts_read(r->ctx, f->base, &r->prompts, why);
        return status;
    }
    rf__module_list modules;
    rf_status status = rf__sentence_modules(r->ctx, r->o.model, &s, &modules, why);
    if (status) return status;
    for (int64_t i = 0; i < s.prompts && !s.include_prompt && !status; i++)
        if (*s.prompt[i].text)
            status = rf_fail(why, RF_EUNSUPPORTED,
                             "%s: include_prompt: expected true, got false: excluding a prompt's tokens from pooling "
                             "is not supported; remove its prompts (config_sentence_transformers.json) to train it",
                             r->o.model);
    if (!status) status = rf__modules_none(r->o.model, &modules, "training computes one pooling alone", why);
    if (!status) status = rf_sentence_cosines(&s, why);                 /* losses and scores use cosines */
    if (!status) status = rf__sentence_prompts_read(r->ctx, r->o.model, &r->prompts, why);
    const int pooling = f->of_sim ? -1 : rf__pooling_of(s.pooling);     /* -1: the folder does not say */
    if (pooling >= 0 && !o->t.given(o->t.given_user, "pooling")) o->pooling = (rf_pooling)pooling;
    if (pooling >= 0 && !o->t.given(o->t.given_user, "normalize")) o->normalize = s.normalize;
    rf_sentence_free(&s);
    return status;
}

rf_head rf__finetune_head(const rf__finetune_run *f, const rf_config *c)
{
    const bool pooled = f->o.pooled && rf__task_has(f->task, "head");
    return rf__config_nearest_head(c, pooled ? RF_HEAD_POOLED : f->task->head);
}

rf_status rf__finetune_labels(const rf__run *r, rf__finetune_run *f, rf_error *why)
{
    rf_config c;
    const char *folder = *r->from ? r->from : r->o.model;
    if (f->task->name_output || rf_config_read(r->ctx, folder, &c, NULL)) return RF_OK;   /* reported by who opens it */
    if (rf_config_head(&c) != rf__finetune_head(f, &c)) return RF_OK;
    const rf_status status = rf__labels_read(r->ctx, folder, &f->unnamed, why);
    if (status || !rf__labels_unnamed(&f->unnamed)) rf__labels_free(&f->unnamed);
    f->source.head = f->unnamed.n ? &f->unnamed : NULL;
    return status;
}
