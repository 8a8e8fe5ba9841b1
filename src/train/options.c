/* options.c — the options of a run: one row each, from which checks, defaults, saving and restoring follow. */
#define _GNU_SOURCE                     /* realpath */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/options.h"
#include "data/pieces.h"
#include "optim/schedule.h"

enum {
    INT = RF__INT,
    REAL = RF__REAL,
    FLAG = RF__FLAG,
    CHOICE = RF__CHOICE,
    SEED = RF__SEED,
    BYTES = RF__BYTES,
    LOCAL = RF__LOCAL
};
typedef rf__option_row row;

static const char *const schedules[] = {"linear", "cosine", "constant", "constant_with_warmup", "cosine_with_restarts",
                                        "polynomial", "inverse_sqrt", "piecewise", "one_cycle", NULL};
static const char *const reports[] = {"none", "tensorboard", NULL};
static const char *const optims[] = {"adamw", "lamb", "adafactor", "lion", "sgd", NULL};
static const char *const types[] = {"f32", "bf16", NULL};
static const char *const formats[] = {"auto", "plain", "jsonl", "wiki", NULL};
static const char *const metrics[] = {"eval_loss", "eval_accuracy", NULL};
static const char *const greater[] = {"auto", "true", "false", NULL};
static const char *const objectives[] = {"auto", "mlm", "clm", NULL};
static const char *const splits[] = {"blank", "line", "heading", "file", NULL};

#define AT(field) offsetof(rf_train_options, field)
static const row rows[] = {
    {"validation_split", REAL, AT(validation_split), 0, 0.5, 0.005, NULL, 0},
    {"max_steps", INT, AT(max_steps), 0, 1e12, 0, NULL, 0},
    {"num_train_epochs", REAL, AT(num_train_epochs), 0, 1e6, 3, NULL, 0},
    {"tokens_per_batch", INT, AT(tokens_per_batch), 8, 1 << 24, 8192, NULL, 0},
    {"max_length", INT, AT(max_length), 8, 1 << 20, 128, NULL, 0},
    {"gradient_accumulation_steps", INT, AT(gradient_accumulation_steps), 1, 1e6, 1, NULL, 0},
    {"learning_rate", REAL, AT(learning_rate), 0, 10, 5e-4, NULL, 0},
    {"weight_decay", REAL, AT(weight_decay), 0, 10, 0.01, NULL, 0},
    {"adam_beta1", REAL, AT(adam_beta1), 0, 0.999999, 0.9, NULL, 0},
    {"adam_beta2", REAL, AT(adam_beta2), 0, 0.99999999, 0.999, NULL, 0},
    {"adam_epsilon", REAL, AT(adam_epsilon), 1e-20, 1, 1e-8, NULL, 0},
    {"max_grad_norm", REAL, AT(max_grad_norm), 0, 1e9, 1, NULL, 0},
    {"label_smoothing_factor", REAL, AT(label_smoothing_factor), 0, 1, 0, NULL, 0},
    {"optim", CHOICE, AT(optim), 0, RF_OPTIM_SGD, RF_OPTIM_ADAMW, optims, 0},
    {"lamb_bias_correction", FLAG, AT(lamb_bias_correction), 0, 1, 1, NULL, 0},
    {"momentum", REAL, AT(momentum), 0, 0.999999, 0.9, NULL, 0},
    {"nesterov", FLAG, AT(nesterov), 0, 1, 0, NULL, 0},
    {"adafactor_beta1", REAL, AT(adafactor_beta1), 0, 0.999999, 0, NULL, 0},
    {"clip_threshold", REAL, AT(clip_threshold), 0, 1e9, 1, NULL, 0},
    {"decay_rate", REAL, AT(decay_rate), -10, 0, -0.8, NULL, 0},
    {"scale_parameter", FLAG, AT(scale_parameter), 0, 1, 0, NULL, 0},
    {"relative_step", FLAG, AT(relative_step), 0, 1, 0, NULL, 0},
    {"warmup_init", FLAG, AT(warmup_init), 0, 1, 0, NULL, 0},
    {"lr_scheduler_type", CHOICE, AT(lr_scheduler_type), 0, RF_SCHEDULE_ONE_CYCLE, RF_SCHEDULE_LINEAR, schedules, 0},
    {"report_to", CHOICE, AT(report_to), 0, RF_REPORT_TENSORBOARD, RF_REPORT_NONE, reports, 0},
    {"num_cycles", REAL, AT(num_cycles), 0, 1e6, 1, NULL, 0},
    {"lr_end", REAL, AT(lr_end), 0, 10, 1e-7, NULL, 0},
    {"lr_power", REAL, AT(lr_power), 0, 100, 1, NULL, 0},
    {"ema_decay", REAL, AT(ema_decay), 0, 0.9999999, 0, NULL, 0},
    {"average_last", INT, AT(average_last), 0, 1000, 0, NULL, 0},
    {"max_loss_spike", REAL, AT(max_loss_spike), 0, 1e6, 0, NULL, 0},
    {"warmup_steps", INT, AT(warmup_steps), -1, 1e12, -1, NULL, 0},
    {"warmup_ratio", REAL, AT(warmup_ratio), 0, 1, 0.05, NULL, 0},
    {"objective", CHOICE, AT(objective), 0, RF_OBJECTIVE_CLM, RF_OBJECTIVE_AUTO, objectives, 0},
    {"mlm_probability", REAL, AT(mlm_probability), 0.001, 0.999, 0.15, NULL, 0},
    {"whole_word_mask", FLAG, AT(whole_word_mask), 0, 1, 0, NULL, 0},
    {"logging_steps", INT, AT(logging_steps), 1, 1e12, 50, NULL, 0},
    {"eval_steps", INT, AT(eval_steps), 0, 1e12, 500, NULL, 0},
    {"save_steps", INT, AT(save_steps), 0, 1e12, 500, NULL, 0},
    {"save_total_limit", INT, AT(save_total_limit), 0, 1e6, 2, NULL, 0},
    {"load_best_model_at_end", FLAG, AT(load_best_model_at_end), 0, 1, 0, NULL, 0},
    {"metric_for_best_model", CHOICE, AT(metric_for_best_model), 0, 1, RF_METRIC_LOSS, metrics, 0},
    {"greater_is_better", CHOICE, AT(greater_is_better), 0, 2, RF_GREATER_AUTO, greater, 0},
    {"early_stopping_patience", INT, AT(early_stopping_patience), 0, 1e6, 0, NULL, 0},
    {"eval_documents", INT, AT(eval_documents), 0, 1e12, 0, NULL, 0},
    {"bf16", FLAG, AT(bf16), 0, 1, 0, NULL, 0},
    {"bf16_stochastic_rounding", FLAG, AT(bf16_stochastic_rounding), 0, 1, 0, NULL, 0},
    {"gradient_checkpointing", FLAG, AT(gradient_checkpointing), 0, 1, 0, NULL, 0},
    {"seed", SEED, AT(seed), 0, 0, 42, NULL, 0},
    {"stop_after", INT, AT(stop_after), 0, 1e12, 0, NULL, LOCAL},
    {"max_time", REAL, AT(max_time), 0, 1e9, 0, NULL, LOCAL},
    {"save_type", CHOICE, AT(save_type), 0, 1, RF_F32, types, 0},
    {"save_synchronously", FLAG, AT(save_synchronously), 0, 1, 0, NULL, LOCAL},
    {"allow_data_change", FLAG, AT(allow_data_change), 0, 1, 0, NULL, LOCAL},
    {"text_format", CHOICE, AT(reader.format), 0, 3, RF_TEXT_AUTO, formats, 0},
    {"text_split", CHOICE, AT(reader.split), 0, 3, RF_SPLIT_BLANK, splits, 0},
    {"keep_titles", FLAG, AT(reader.keep_titles), 0, 1, 0, NULL, 0},
    {"max_document", BYTES, AT(reader.max_document), 0, 1 << 30, 0, NULL, 0},
};

/* ---- one value of any kind ---- */

typedef union value { int64_t i; double r; } value;

static value get(const void *o, const row *r)
{
    const char *p = (const char *)o + r->at;
    value v = {0};
    int small;
    size_t bytes;
    switch (r->kind) {
    case INT:
    case SEED:
        memcpy(&v.i, p, sizeof v.i);
        break;
    case REAL:
        memcpy(&v.r, p, sizeof v.r);
        break;
    case BYTES:
        memcpy(&bytes, p, sizeof bytes);
        v.i = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
        break;
    default:
        memcpy(&small, p, sizeof small);
        v.i = small;
    }
    return v;
}

static void set(void *o, const row *r, value v)
{
    char *p = (char *)o + r->at;
    const int small = (int)v.i;
    const size_t bytes = (size_t)v.i;
    switch (r->kind) {
    case INT:
    case SEED:
        memcpy(p, &v.i, sizeof v.i);
        break;
    case REAL:
        memcpy(p, &v.r, sizeof v.r);
        break;
    case BYTES:
        memcpy(p, &bytes, sizeof bytes);
        break;
    default:
        memcpy(p, &small, sizeof small);
    }
}

static bool same(const row *r, value a, value b) { return r->kind == REAL ? !(a.r < b.r || a.r > b.r) : a.i == b.i; }

static value initial(const row *r)
{
    value v = {0};
    if (r->kind == REAL) v.r = r->initial;
    else v.i = (int64_t)r->initial;
    return v;
}

void rf__rows_defaults(void *o, const rf__option_row of[], size_t n)
{
    for (size_t i = 0; i < n; i++) set(o, &of[i], initial(&of[i]));
}

void rf_train_defaults(rf_train_options *o)
{
    memset(o, 0, sizeof *o);
    rf__rows_defaults(o, rows, RF_COUNT(rows));
}

/* ---- what is given, beside defaults and what a checkpoint says ---- */

static const row *row_of(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

/* A text has no default: it is given when it is there. */
bool rf__options_chosen(const rf_train_options *o, const rf_train_options *usual, const char *name)
{
    const row *r = row_of(name);
    if (o->given) return o->given(o->given_user, name) != 0;
    return r ? !same(r, get(o, r), get(usual, r)) : !strcmp(name, "lr_schedule") && o->lr_schedule;
}

void rf__options_settle(rf_train_options *o, const rf_train_options *usual)
{
    const bool steps = rf__options_chosen(o, usual, "warmup_steps"),
               ratio = rf__options_chosen(o, usual, "warmup_ratio");
    if (o->warmup_steps == 0) {
        if (steps ? ratio : o->warmup_ratio > 0) o->warmup_steps = -1;  /* as Trainer; as checkpoints of old meant it */
        else o->warmup_ratio = 0;
    } else if (ratio && !steps) {
        o->warmup_steps = -1;
    }
    if (rf__options_chosen(o, usual, "num_train_epochs") && !rf__options_chosen(o, usual, "max_steps"))
        o->max_steps = 0;
    if (o->given && o->lr_schedule && o->given(o->given_user, "lr_schedule") &&
        !o->given(o->given_user, "lr_scheduler_type"))
        o->lr_scheduler_type = RF_SCHEDULE_PIECEWISE;
}

/* Options that take effect only where another one has certain values. */
enum {
    OF_ADAM = 1 << RF_OPTIM_ADAMW | 1 << RF_OPTIM_LAMB,
    OF_MOMENTS = OF_ADAM | 1 << RF_OPTIM_LION,
    OF_LAMB = 1 << RF_OPTIM_LAMB,
    OF_ADAFACTOR = 1 << RF_OPTIM_ADAFACTOR,
    OF_SGD = 1 << RF_OPTIM_SGD,
    OF_RESTARTS = 1 << RF_SCHEDULE_COSINE_WITH_RESTARTS,
    OF_POLYNOMIAL = 1 << RF_SCHEDULE_POLYNOMIAL,
    OF_PIECEWISE = 1 << RF_SCHEDULE_PIECEWISE
};
static const struct { const char *name, *beside; int values; } effective[] = {
    {"adam_beta1", "optim", OF_MOMENTS},             {"adam_beta2", "optim", OF_MOMENTS},
    {"adam_epsilon", "optim", OF_ADAM},              {"lamb_bias_correction", "optim", OF_LAMB},
    {"momentum", "optim", OF_SGD},                   {"nesterov", "optim", OF_SGD},
    {"adafactor_beta1", "optim", OF_ADAFACTOR},      {"clip_threshold", "optim", OF_ADAFACTOR},
    {"decay_rate", "optim", OF_ADAFACTOR},           {"scale_parameter", "optim", OF_ADAFACTOR},
    {"relative_step", "optim", OF_ADAFACTOR},        {"warmup_init", "optim", OF_ADAFACTOR},
    {"num_cycles", "lr_scheduler_type", OF_RESTARTS}, {"lr_end", "lr_scheduler_type", OF_POLYNOMIAL},
    {"lr_power", "lr_scheduler_type", OF_POLYNOMIAL}, {"lr_schedule", "lr_scheduler_type", OF_PIECEWISE},
};

bool rf__options_ineffective(const rf_train_options *o, const rf_train_options *usual, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < RF_COUNT(effective) && n < size; i++) {
        const row *r = row_of(effective[i].beside);
        const int64_t now = get(o, r).i;
        if (effective[i].values >> now & 1 || !rf__options_chosen(o, usual, effective[i].name)) continue;
        n += (size_t)snprintf(out + n, size - n, "%s%s (%s is %s)", n ? ", " : "", effective[i].name, r->name,
                              r->choice[now]);
    }
    return n > 0;
}

/* ---- limits ---- */

static rf_status check_row(const void *o, const row *r, rf_error *why)
{
    const value v = get(o, r);
    if (r->kind == SEED) return RF_OK;
    const double x = r->kind == REAL ? v.r : (double)v.i;
    if (x >= r->lowest && x <= r->highest) return RF_OK;              /* NaN fails */
    return rf_fail(why, RF_EARG, "%s: %.12g is not in %.12g .. %.12g", r->name, x, r->lowest, r->highest);
}

rf_status rf__rows_check(const void *o, const rf__option_row of[], size_t n, rf_error *why)
{
    for (size_t i = 0; i < n; i++)
        if (check_row(o, &of[i], why)) return RF_EARG;
    return RF_OK;
}

/* Options that only make sense beside others. */
static rf_status check_pairs(const rf_train_options *o, rf_error *why)
{
    if (o->lr_scheduler_type == RF_SCHEDULE_PIECEWISE && !rf__schedule_valid(o->lr_schedule))
        return rf_fail(why, RF_EARG, "lr_schedule: \"%.60s\" is not update:share,update:share with ascending updates",
                       o->lr_schedule ? o->lr_schedule : "");
    if (o->nesterov && !(o->momentum > 0)) return rf_fail(why, RF_EARG, "nesterov: momentum is 0");
    if (o->warmup_init && !o->relative_step) return rf_fail(why, RF_EARG, "warmup_init: relative_step is off");
    if (o->average_last && o->load_best_model_at_end)
        return rf_fail(why, RF_EARG, "average_last: load_best_model_at_end already chooses the final model");
    if (o->average_last && o->ema_decay > 0)
        return rf_fail(why, RF_EARG, "average_last: ema_decay already makes the final model a mean");
    if (o->save_total_limit && o->average_last > o->save_total_limit)
        return rf_fail(why, RF_EARG, "average_last: %lld is above save_total_limit, %lld", (long long)o->average_last,
                       (long long)o->save_total_limit);
    return RF_OK;
}

rf_status rf__options_check(const rf_train_options *o, rf_error *why)
{
    if (rf__rows_check(o, rows, RF_COUNT(rows), why)) return RF_EARG;
    if (check_pairs(o, why)) return RF_EARG;
    if (o->max_length > o->tokens_per_batch)
        return rf_fail(why, RF_EARG, "max_length: %lld is above tokens_per_batch, %lld", (long long)o->max_length,
                       (long long)o->tokens_per_batch);
    if (o->bf16_stochastic_rounding && !o->bf16)
        return rf_fail(why, RF_EARG, "bf16_stochastic_rounding: rounds for products in bf16, which are off");
    if (!o->max_steps && !(o->num_train_epochs > 0))
        return rf_fail(why, RF_EARG, "max_steps and num_train_epochs are both 0: nothing to train");
    if (o->early_stopping_patience && !o->eval_steps)
        return rf_fail(
            why, RF_EARG,
            "early_stopping_patience: needs evaluations, and there are none: eval_steps is 0, or eval_strategy no");
    if (o->load_best_model_at_end && (!o->eval_steps || o->save_steps % o->eval_steps))
        return rf_fail(why, RF_EARG,
                       "load_best_model_at_end: save_steps, %lld, must be a multiple of eval_steps, %lld, above 0: a "
                       "checkpoint without an evaluation cannot be the best",
                       (long long)o->save_steps, (long long)o->eval_steps);
    if (o->datas < 0 || o->datas > RF__SOURCES || (o->datas && !o->data))
        return rf_fail(why, RF_EARG, "data: %d caches, at most %d can be mixed", o->datas, (int)RF__SOURCES);
    if (o->datas && o->texts) return rf_fail(why, RF_EARG, "data: caches and text cannot both be trained on");
    for (int i = 0; i < o->datas && o->data_weight; i++)
        if (!(o->data_weight[i] > 1e-9 && o->data_weight[i] < 1e9))
            return rf_fail(why, RF_EARG, "data_weight: %.12g is not in 1e-9 .. 1e9", o->data_weight[i]);
    if (o->texts < 0 || o->validation_texts < 0 || (o->texts && !o->text) ||
        (o->validation_texts && !o->validation_text))
        return rf_fail(why, RF_EARG, "text: a list of %d files that is not there", o->texts);
    return RF_OK;
}

rf_status rf__task_objective_check(const rf_train_options *o, const rf_config *c, const char *name, rf_error *why)
{
    if (o->objective == RF_OBJECTIVE_CLM && !c->is_decoder)
        return rf_fail(why, RF_EARG, "objective clm: %s is a model that sees tokens on both sides (is_decoder false)",
                       name);
    if (o->objective == RF_OBJECTIVE_MLM && c->is_decoder)
        return rf_fail(why, RF_EARG, "objective mlm: %s is a model that sees earlier tokens only (is_decoder true)",
                       name);
    return RF_OK;
}

/* ---- what a checkpoint keeps ---- */

static json_t *json_of(const void *o, const row *r)
{
    const value v = get(o, r);
    switch (r->kind) {
    case REAL:   return json_real(v.r);
    case FLAG:   return json_boolean(v.i != 0);
    case CHOICE: return json_string(r->choice[v.i]);
    default:     return json_integer(v.i);
    }
}

void rf__rows_json(const void *o, const rf__option_row of[], size_t n, json_t **all)
{
    for (size_t i = 0; i < n; i++)
        if (!(of[i].flags & LOCAL)) rf__json_set(all, of[i].name, json_of(o, &of[i]));
}

/* Where the run is resumed from must not matter: paths are kept from the root. */
static json_t *paths_json(const char *const *path, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        char *whole = strcmp(path[i], "-") ? realpath(path[i], NULL) : NULL;
        rf__json_add(&list, rf__json_text(whole ? whole : path[i], strlen(whole ? whole : path[i])));
        free(whole);
    }
    return list;
}

static json_t *weights_json(const double *weight, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) rf__json_add(&list, json_real(weight[i]));
    return list;
}

json_t *rf__options_json(const rf_train_options *o)
{
    json_t *all = json_object();
    rf__json_set(&all, "text", paths_json(o->text, o->texts));
    rf__json_set(&all, "validation_text", paths_json(o->validation_text, o->validation_texts));
    rf__json_set(&all, "data", paths_json(o->data, o->datas));
    if (o->data_weight) rf__json_set(&all, "data_weight", weights_json(o->data_weight, o->datas));
    if (o->reader.field) rf__json_set(&all, "text_field", rf__json_text(o->reader.field, strlen(o->reader.field)));
    if (o->lr_schedule) rf__json_set(&all, "lr_schedule", json_string(o->lr_schedule));
    rf__rows_json(o, rows, RF_COUNT(rows), &all);
    return all;
}

/* ---- restoring ---- */

static bool value_of(const row *r, const json_t *j, value *out)
{
    *out = (value){0};
    if (r->kind == REAL && json_is_number(j)) {
        out->r = json_number_value(j);
        return true;
    }
    if (r->kind == FLAG && json_is_boolean(j)) {
        out->i = json_is_true(j);
        return true;
    }
    if (r->kind == CHOICE && json_is_string(j)) {
        for (; r->choice[out->i]; out->i++)
            if (!strcmp(r->choice[out->i], json_string_value(j))) return true;
        return false;
    }
    out->i = json_integer_value(j);
    return (r->kind == INT || r->kind == SEED || r->kind == BYTES) && json_is_integer(j);
}

static char *keep(rf_arena *arena, const char *text)
{
    char *copy = rf__arena_push(arena, strlen(text) + 1);
    if (copy) memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static rf_status restore_paths(const json_t *list, rf_arena *arena, const char *const **path, int *n, rf_error *why)
{
    const size_t count = json_array_size(list);
    if (*n || !count || count > INT_MAX) return RF_OK;
    const char **all = rf__arena_push(arena, count * sizeof *all);
    for (size_t i = 0; all && i < count; i++) {
        const char *one = json_string_value(json_array_get(list, i));
        all[i] = keep(arena, one ? one : "");
        if (!all[i]) all = NULL;
    }
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: %zu names of files", count);
    *path = all;
    *n = (int)count;
    return RF_OK;
}

/* With the caches come their weights; those that the caller gave stay. */
static rf_status restore_data(rf_train_options *o, const json_t *saved, rf_arena *arena, rf_error *why)
{
    const json_t *weight = json_object_get(saved, "data_weight");
    const int given = o->datas;
    const rf_status status =
        o->texts ? RF_OK : restore_paths(json_object_get(saved, "data"), arena, &o->data, &o->datas, why);
    if (status || given || !weight || !o->datas || (size_t)o->datas != json_array_size(weight)) return status;
    double *all = rf__arena_push(arena, (size_t)o->datas * sizeof *all);
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: %d weights", o->datas);
    for (int i = 0; i < o->datas; i++) all[i] = json_number_value(json_array_get(weight, (size_t)i));
    o->data_weight = all;
    return RF_OK;
}

rf_status rf__rows_restore(void *to, const rf__option_row table[], size_t rows_of, const void *usual,
                           const rf_train_options *o, const json_t *saved, const char *name, char *changed, size_t size,
                           rf_error *why)
{
    size_t n = strlen(changed);
    for (size_t i = 0; i < rows_of; i++) {
        const row *r = &table[i];
        const json_t *j = json_object_get(saved, r->name);
        value then;
        if ((r->flags & LOCAL) || !j) continue;
        if (!value_of(r, j, &then))
            return rf_fail(why, RF_EDATA, "%s: options: %s is not what it must be", name, r->name);
        const value now = get(to, r);
        const bool chosen = o->given ? o->given(o->given_user, r->name) != 0 : !same(r, now, get(usual, r));
        if (!chosen) set(to, r, then);
        else if (!same(r, now, then) && n < size)
            n += (size_t)snprintf(changed + n, size - n, "%s%s", n ? ", " : "", r->name);
    }
    return RF_OK;
}

rf_status rf__options_restore(rf_train_options *o, const rf_train_options *usual, const json_t *saved, rf_arena *arena,
                              const char *name, char *changed, size_t size, rf_error *why)
{
    changed[0] = 0;
    if (rf__rows_restore(o, rows, RF_COUNT(rows), usual, o, saved, name, changed, size, why)) return RF_EDATA;
    const char *field = json_string_value(json_object_get(saved, "text_field"));
    const char *schedule = json_string_value(json_object_get(saved, "lr_schedule"));
    if ((field && !o->reader.field && !(o->reader.field = keep(arena, field))) ||
        (schedule && !o->lr_schedule && !(o->lr_schedule = keep(arena, schedule))))
        return rf_fail(why, RF_ENOMEM, "out of memory: an option");
    rf_status status = restore_data(o, saved, arena, why);
    if (!status && !o->datas) status = restore_paths(json_object_get(saved, "text"), arena, &o->text, &o->texts, why);
    if (status) return status;
    return restore_paths(json_object_get(saved, "validation_text"), arena, &o->validation_text, &o->validation_texts,
                         why);
}
