/* options.c — conditions between the options of a run: which of two options for the same thing counts, options without
 * effect, options that exclude each other. */
#include <math.h>
#include <stdio.h>

#include "train/options.h"
#include "data/corpus/pieces.h"
#include "data/documents/reader.h"
#include "optim/schedule.h"

_Static_assert(sizeof(rf_reader_options) <= RF_READER_OPTIONS_MOST && sizeof(rf_train_options) <= RF_TRAIN_OPTIONS_MOST,
               "structs that are members of others stay within what these keep free for them");

void rf__train_options_begin(rf_train_options *o, unsigned call)
{
    *o = (rf_train_options){.size = sizeof *o};
    rf_reader_defaults(&o->reader);
    rf__rows_defaults(rf_train_option, o, call);
}

void rf_train_options_init(rf_train_options *o, size_t size)
{
    rf_train_options own;
    rf__train_options_begin(&own, RF_OPTION_PRETRAIN);
    rf__options_init(o, size, &own, sizeof own);
}

void rf_translation_options_init(rf_train_options *o, size_t size)
{
    rf_train_options own;
    rf__train_options_begin(&own, RF_OPTION_TRANSLATION);
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__train_options_read(rf_train_options *own, const rf_train_options *given, rf_error *why)
{
    const rf_status status =
        rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_train_options, report_to), given, "rf_train_options", why);
    return status ? status : rf__reader_options_read(&own->reader, &given->reader, why);
}

bool rf__options_chosen(const rf_train_options *o, const rf_train_options *usual, const char *name)
{
    const rf_option *row = rf__rows_find(rf_train_option, name);
    return row && rf__row_chosen(row, o, usual, o);
}

void rf__options_resolve(rf_train_options *o, const rf_train_options *usual)
{
    const bool steps = rf__options_chosen(o, usual, "warmup_steps"),
               ratio = rf__options_chosen(o, usual, "warmup_ratio");
    if (o->warmup_steps == 0) {
        if (steps ? ratio : o->warmup_ratio > 0) o->warmup_steps = -1;  /* as Trainer does; as in older checkpoints */
        else o->warmup_ratio = 0;
    } else if (ratio && !steps) {
        o->warmup_steps = -1;
    }
    if (rf__options_chosen(o, usual, "num_train_epochs") && !rf__options_chosen(o, usual, "max_steps"))
        o->max_steps = 0;
    if (o->given && o->lr_schedule && rf__options_chosen(o, usual, "lr_schedule") &&
        !rf__options_chosen(o, usual, "lr_scheduler_type"))
        o->lr_scheduler_type = RF_SCHEDULE_PIECEWISE;
}

bool rf__options_ineffective(const rf_train_options *o, const rf_train_options *usual, char *out, size_t size)
{
    const rf_option *row;
    char word[40], one[160];
    out[0] = 0;
    for (size_t i = 0; (row = rf_train_option(i)); i++) {
        const rf_option *on = row->depends ? rf__rows_find(rf_train_option, row->depends) : NULL;
        if (!on || row->values >> rf__row_choice(on, o) & 1 || !rf__row_chosen(row, o, usual, o)) continue;
        rf__row_word(on, o, word, sizeof word);
        snprintf(one, sizeof one, "%s (%s is %s)", row->name, on->name, word);
        rf__list_add(out, size, one);
    }
    return *out != 0;
}

/* ---- limits ---- */

/* Options that require other options. */
static rf_status check_pairs(const rf_train_options *o, rf_error *why)
{
    if (o->lr_scheduler_type == RF_SCHEDULE_PIECEWISE && !rf__schedule_valid(o->lr_schedule))
        return rf_fail(why, RF_EARG,
                       "lr_schedule: expected update:fraction,update:fraction with ascending updates, got \"%.60s\"",
                       o->lr_schedule ? o->lr_schedule : "");
    if (o->nesterov && !(o->momentum > 0)) return rf_fail(why, RF_EARG, "nesterov: expected momentum above 0, got 0");
    if (o->warmup_init && !o->relative_step) return rf_fail(why, RF_EARG,
                                                            "warmup_init: expected relative_step, got none");
    if (o->whole_word_share < 1 && !o->whole_word_mask && (!o->given || o->given(o->given_user, "whole_word_share")))
        return rf_fail(why, RF_EARG, "whole_word_share: expected whole_word_mask, got none");
    const char *mean = o->average_last ? "average_last" : o->average_best ? "average_best" : NULL;
    if (o->average_last && o->average_best)
        return rf_fail(why, RF_EARG,
                       "average_best: expected no average_last, got both; use one way to average weights");
    if (mean && o->load_best_model_at_end)
        return rf_fail(why, RF_EARG, "%s: expected no load_best_model_at_end, got both; each selects the final model",
                       mean);
    if (mean && o->ema_decay > 0)
        return rf_fail(why, RF_EARG, "%s: expected no ema_decay, got both; use one way to average weights", mean);
    if (o->save_total_limit && o->average_last > o->save_total_limit)
        return rf_fail(why, RF_EARG, "average_last: expected at most save_total_limit, %lld, got %lld",
                       (long long)o->save_total_limit, (long long)o->average_last);
    return RF_OK;
}

double rf__whole_word_share(const rf_train_options *o) { return o->whole_word_mask ? o->whole_word_share : 0; }

rf_status rf__options_check(const rf_train_options *o, rf_error *why)
{
    if (rf__rows_check(rf_train_option, o, why)) return RF_EARG;
    if (check_pairs(o, why)) return RF_EARG;
    if (o->objective == RF_OBJECTIVE_RTD && o->comm)
        return rf_fail(why, RF_EARG, "objective rtd: expected one process, got several");
    if (o->max_length > o->tokens_per_batch)
        return rf_fail(why, RF_EARG, "max_length: expected at most tokens_per_batch, %lld, got %lld",
                       (long long)o->tokens_per_batch, (long long)o->max_length);
    if (o->bf16_stochastic_rounding && !o->bf16)
        return rf_fail(why, RF_EARG, "bf16_stochastic_rounding: expected bf16, got none");
    if (!o->max_steps && !(o->num_train_epochs > 0))
        return rf_fail(why, RF_EARG, "max_steps, num_train_epochs: expected one above 0, got 0 for both");
    if (o->early_stopping_patience && !o->eval_steps)
        return rf_fail(why, RF_EARG,
                       "early_stopping_patience: expected evaluations, got eval_steps 0 or eval_strategy no");
    if ((o->load_best_model_at_end || o->average_best) && (!o->eval_steps || o->save_steps % o->eval_steps))
        return rf_fail(why, RF_EARG,
                       "%s: expected save_steps as a multiple of eval_steps above 0, got %lld and %lld; the best "
                       "checkpoint needs an evaluation", o->average_best ? "average_best" : "load_best_model_at_end",
                       (long long)o->save_steps, (long long)o->eval_steps);
    if (o->datas > RF__SOURCES)
        return rf_fail(why, RF_EARG, "data: expected at most %d caches, got %d", (int)RF__SOURCES, o->datas);
    if (o->datas && o->texts) return rf_fail(why, RF_EARG, "data, text: expected one of them, got both");
    for (int i = 0; i < o->datas && o->data_weight; i++)
        if (!(o->data_weight[i] > 1e-9 && o->data_weight[i] < 1e9))
            return rf_fail(why, RF_EARG, "data_weight: expected 1e-9 to 1e9, got %.12g", o->data_weight[i]);
    return RF_OK;
}

/* The options that apply only to masked tokens. */
static const char *given_of_masks(const rf_train_options *o)
{
    static const char *const masks[] = {"mlm_probability", "whole_word_mask", "whole_word_share"};
    for (size_t i = 0; i < RF_COUNT(masks) && o->given; i++)
        if (o->given(o->given_user, masks[i])) return masks[i];
    return NULL;
}

rf_status rf__task_objective_check(const rf_train_options *o, const rf_config *c, const char *name, rf_error *why)
{
    if (c->is_decoder && c->linear_pooler)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected a masked or causal language model, got RoFormer-Sim (pooler_activation "
                       "\"linear\"), which has no loss for single tokens; train it with finetune --task sim", name);
    if (o->objective == RF_OBJECTIVE_CLM && !c->is_decoder)
        return rf_fail(why, RF_EARG,
                       "objective clm: expected a causal model, got %s, whose attention is bidirectional (is_decoder "
                       "false)", name);
    if ((o->objective == RF_OBJECTIVE_MLM || o->objective == RF_OBJECTIVE_RTD) && c->is_decoder)
        return rf_fail(why, RF_EARG,
                       "objective %s: expected a model with bidirectional attention, got %s, which is causal "
                       "(is_decoder true)", o->objective == RF_OBJECTIVE_RTD ? "rtd" : "mlm", name);
    if (c->is_decoder && given_of_masks(o))
        return rf_fail(why, RF_EARG,
                       "%s: expected a masked language model, got %s, which is causal (is_decoder true); leave the "
                       "option out", given_of_masks(o), name);
    return RF_OK;
}

/* ---- what a checkpoint keeps ---- */

json_t *rf__options_json(const rf_train_options *o)
{
    json_t *all = json_object();
    rf__rows_json(rf_train_option, o, &all);
    return all;
}

rf_status rf__options_restore(rf_train_options *o, const rf_train_options *usual, const json_t *saved, rf_arena *arena,
                              const char *name, char *changed, size_t size, rf_error *why)
{
    changed[0] = 0;
    const rf__restoring from = {usual, o, saved, name, arena, changed, size};
    return rf__rows_restore(rf_train_option, o, &from, why);
}
