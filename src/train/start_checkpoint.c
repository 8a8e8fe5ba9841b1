/* start_checkpoint.c — the state of the checkpoint that a run resumes from: options, stages, steps. */
#include <math.h>

#include "store/store.h"
#include "train/checkpoint/folder.h"
#include "train/run.h"

/* A step keeps its micro-batches when the number of ranks changes, unless the caller requests another number. */
static rf_status share_again(rf__run *r, const json_t *saved, rf_error *why)
{
    static const char name[] = "gradient_accumulation_steps";
    rf_train_options *o = &r->o;
    const int64_t all = r->state.micro_batches, then = json_integer_value(json_object_get(saved, name));
    const int ranks = rf__ranks(o->comm);
    if (!all || (o->given ? o->given(o->given_user, name) : o->gradient_accumulation_steps != then)) return RF_OK;
    if (all % ranks)
        return rf_fail(why, RF_EARG,
                       "%s: processes: expected a divisor of the %lld micro-batches of a step, got %d; change their "
                       "number with %s", r->from, (long long)all, ranks, name);
    o->gradient_accumulation_steps = all / ranks;
    return RF_OK;
}

/* ---- stages ---- */

static bool same_stage(const rf__stage *a, const rf__stage *b)
{
    return a->length == b->length && a->batch == b->batch && a->end == b->end && a->warmup_steps == b->warmup_steps &&
           a->tokens_per_batch == b->tokens_per_batch && a->micro_batches == b->micro_batches && a->bf16 == b->bf16 &&
           !(a->learning_rate < b->learning_rate) && !(a->learning_rate > b->learning_rate);
}

/* Options that stages define must not be given as well. */
static rf_status refuse_beside_stages(const rf__run *r, rf_error *why)
{
    static const char *const name[] = {"max_steps", "num_train_epochs", "max_length", "gradient_accumulation_steps"};
    for (size_t i = 0; i < RF_COUNT(name); i++)
        if (rf__options_chosen(&r->o, &r->usual, name[i]))
            return rf_fail(why, RF_EARG, "%s: expected to be given by stages only, got both; leave it out", name[i]);
    return RF_OK;
}

static bool has_stages(const rf__run *r) { return r->job->advance; }

static rf_status apply_stage(rf__run *r, rf_error *why)
{
    r->given = r->o;
    r->stage = rf__stage_of(&r->stages, r->state.step);
    rf__stage_apply(&r->stages, r->stage, rf__ranks(r->o.comm), &r->o);
    return rf__options_check(&r->o, why);
}

rf_status rf__run_begin_stages(rf__run *r, rf_error *why)
{
    if (!has_stages(r) || !r->o.stages) return RF_OK;
    rf_status status = refuse_beside_stages(r, why);
    if (!status) status = rf__stages_read(r->ctx, r->o.stages, &r->o, rf__ranks(r->o.comm), &r->stages, why);
    return status ? status : apply_stage(r, why);
}

/* The stages of the checkpoint. New stages in `given`, if any, continue them, and must agree with the finished ones. */
static rf_status resume_stages(rf__run *r, const json_t *saved, const char *given, rf_error *why)
{
    const int ranks = rf__ranks(r->o.comm);
    rf__stages then;
    if (!has_stages(r) || !json_object_get(saved, "stages_settled")) {
        if (has_stages(r) && given)
            return rf_fail(why, RF_EARG,
                           "stages: expected none, since %s was made without stages; leave them out", r->from);
        r->o.stages = NULL;
        return RF_OK;
    }
    json_t *all = json_pack("{s:O}", "stages", json_object_get(saved, "stages_settled"));
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: stages");
    rf_status status = rf__stages_parse(all, r->from, &r->o, ranks, &then, why);
    json_decref(all);
    r->stages = then;
    if (!status && given) status = rf__stages_read(r->ctx, given, &r->o, ranks, &r->stages, why);
    const int at = rf__stage_of(&then, r->state.step);
    for (int i = 0; i <= at && !status; i++)
        if (i >= r->stages.n || !same_stage(&then.at[i], &r->stages.at[i]))
            status = rf_fail(why, RF_EARG,
                             "%s: stage %d: expected that of %s, which has begun it, got another; only later stages "
                             "may change", given, i + 1, r->from);
    if (!status) status = apply_stage(r, why);
    if (!status) r->state.max_steps = r->o.max_steps;
    return status;
}

/* Reports differences in what a resumed run needs, besides options and data, to have the bits of an uninterrupted
 * one. */
static void report_changes(rf__run *r)
{
    static const char what[] = "the result may differ in its bits from that of a run without the change";
    char kernels[RF__KERNELS];
    rf__state_kernels(r->ctx, kernels);
    if (strcmp(r->state.version, rf_version()))
        rf__run_notify(r, "note", "the checkpoint was written by version \"%s\", this is %s: %s", r->state.version,
                       rf_version(), what);
    if (*r->state.kernels && strcmp(r->state.kernels, kernels))
        rf__run_notify(r, "note",
                       "the checkpoint was computed by kernels \"%s\", this run's are \"%s\": %s (--isa)",
                       r->state.kernels, kernels, what);
}

/* Whether the checkpoint's batches had another size. If it is not in tokens, the job knows. */
static bool other_batches(const rf__run *r, const json_t *saved)
{
    const int64_t then = json_integer_value(json_object_get(saved, "tokens_per_batch")),
                  now = rf__ranks(r->o.comm) * r->o.gradient_accumulation_steps;
    return (r->job->tokens && then != r->o.tokens_per_batch) ||
           (r->state.micro_batches && r->state.micro_batches != now);
}

void rf__run_resolve_steps(rf__run *r, double all, double left)
{
    rf__state *t = &r->state;
    all = fmax(1, ceil(all));
    if (r->resized) t->steps_moved = (double)t->step + fmax(0, ceil(left)) - all;
    t->max_steps = r->o.max_steps ? r->o.max_steps : (int64_t)fmax(1, all + t->steps_moved);
}

/* Reads trainer_state.json in order: each key needs those before it. changed [size]: names of options that differ. */
static rf_status read_state(rf__run *r, json_t *saved, const char *path, char *changed, size_t size, rf_error *why)
{
    const char *const stages = r->o.stages;
    rf_status status = rf__options_restore(&r->o, &r->usual, saved, &r->strings, path, changed, size, why);
    if (status) return status;
    rf__options_resolve(&r->o, &r->usual);
    status = rf__run_compare_model(r, saved, why);
    if (!status) status = resume_stages(r, saved, stages, why);
    if (!status && !r->stages.n) status = share_again(r, saved, why);
    if (!status && !r->stages.n) r->resized = other_batches(r, saved);
    return status || !r->job->restore ? status : r->job->restore(r, saved, why);
}

rf_status rf__run_open_checkpoint(rf__run *r, rf_error *why)
{
    char path[4096], changed[512];
    json_t *saved = NULL;
    if (has_stages(r) && r->o.stages && refuse_beside_stages(r, why)) return RF_EARG;
    rf_status status = rf__path(path, sizeof path, r->from, RF_FILE_STATE, why);
    if (!status) status = rf__state_load(r->ctx, path, &r->state, &saved, why);
    if (!status) status = read_state(r, saved, path, changed, sizeof changed, why);
    json_decref(saved);
    if (status) return status;
    report_changes(r);
    /* values of another metric cannot be compared: the search for the best starts again */
    if (strstr(changed, "metric_for_best_model") || strstr(changed, "greater_is_better")) r->state.best_step = 0;
    if (*changed) rf__run_notify(r, "note", "options that differ from the checkpoint's: %s", changed);
    return RF_OK;
}
