/* finetune.c — implements fine-tuning as a job of the training loop (run.h).
 *
 *     tokenizer -> examples and labels -> config with the task's head -> weights of the encoder (and of the head, if
 *     the folder has the same one with the same labels) -> steps
 *
 * With layer_wise_lr_decay d, the learning rate is multiplied by d^(L-l) for layer l of L and by d^(L+1) for the
 * embeddings; the head has the full learning rate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "roformer/kernel/kernels.h"
#include "model/family.h"
#include "model/positions.h"
#include "store/family.h"
#include "store/task.h"
#include "task/finetune.h"
#include "train/checkpoint/folder.h"
#include "task/task_metrics.h"

/* ---- options ---- */

static const double MASKED = 0.15;         /* fraction of the words of a text that are masked */

void rf_finetune_options_init(rf_finetune_options *o, size_t size)
{
    rf_finetune_options own = {0};
    rf__train_options_begin(&own.t, RF_OPTION_FINETUNE);
    rf__rows_defaults(rf_finetune_option, &own, RF_OPTION_FINETUNE);
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__finetune_options_read(rf_finetune_options *own, const rf_finetune_options *given, rf_error *why)
{
    rf_finetune_defaults(own);
    const rf_train_options usual = own->t;
    const rf_status status =
        rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_finetune_options, k_fold), given, "rf_finetune_options", why);
    if (status || !given) return status;
    own->t = usual;
    return rf__train_options_read(&own->t, &given->t, why);
}

static void run_defaults(rf_train_options *t)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    *t = o.t;
    t->max_length = RF__USUAL_LENGTH;
}

/* Replaces a missing `given` of the caller: whether an option differed from its default in the call, not after later
 * changes. */
static int differed(void *user, const char *name)
{
    const rf__finetune_run *f = user;
    const rf_option *run = rf__rows_find(rf_train_option, name), *own = rf__rows_find(rf_finetune_option, name);
    rf_finetune_options usual;
    rf_finetune_defaults(&usual);
    return (own && !rf__row_same(own, f->asked, &usual)) || (run && !rf__row_same(run, &f->asked->t, &usual.t));
}

/* A folder stores the names of its columns (rf_config). */
static rf_status check_columns(const rf_finetune_options *o, rf_error *why)
{
    const char *const name[] = {"text", "pair", "label"}, *const column[] = {o->text_column, o->pair_column,
                                                                             o->label_column};
    const size_t most = sizeof ((rf_config *)0)->task_text_column - 1;
    for (size_t i = 0; i < RF_COUNT(column); i++)
        if (column[i] && strlen(column[i]) > most)
            return rf_fail(why, RF_EARG, "%s_column: expected a name of at most %zu bytes, got %zu", name[i], most,
                           strlen(column[i]));
    return RF_OK;
}

/* Checks each option; combinations are checked when a checkpoint's options have been added. */
static rf_status check_rows(const rf_finetune_options *o, rf_error *why)
{
    return rf__rows_check(rf_finetune_option, o, why) || check_columns(o, why) ? RF_EARG : RF_OK;
}

static rf_status check(const rf_finetune_options *o, rf_error *why)
{
    if (check_rows(o, why)) return RF_EARG;
    if (o->r_drop > 0 && o->t.gradient_accumulation_steps >= 1 << 19)
        return rf_fail(why, RF_EARG, "r_drop: gradient_accumulation_steps: expected less than %d, got %lld", 1 << 19,
                       (long long)o->t.gradient_accumulation_steps);
    if (o->fgm > 0 && o->frozen_layers)
        return rf_fail(why, RF_EARG,
                       "fgm: expected no frozen_layers, which leave the word embeddings without a gradient");
    if (o->teacher && o->k_fold > 1)
        return rf_fail(why, RF_EARG,
                       "k_fold: expected no teacher, whose vectors do not score held-out examples, got both");
    if (o->dev || o->k_fold > 1) return RF_OK;
    if (o->t.load_best_model_at_end || o->t.early_stopping_patience || o->t.average_best)
        return rf_fail(why, RF_EARG, "%s: expected a dev file to choose the best model, got none",
                       o->t.load_best_model_at_end ? "load_best_model_at_end"
                       : o->t.average_best         ? "average_best"
                                                   : "early_stopping_patience");
    return RF_OK;
}

/* Giving an interval without a strategy implies "steps". Only a caller's own `given` can distinguish this from a
 * strategy that equals the default. */
static void resolve_strategies(rf_finetune_options *o)
{
    const rf_train_options *t = &o->t;
    if (!t->given || t->given == differed) return;
    if (t->given(t->given_user, "eval_steps") && !t->given(t->given_user, "eval_strategy"))
        o->eval_strategy = RF_STRATEGY_STEPS;
    if (t->given(t->given_user, "save_steps") && !t->given(t->given_user, "save_strategy"))
        o->save_strategy = RF_STRATEGY_STEPS;
}

/* Sets options of the training loop that follow from those of fine-tuning, before the data is known; strategies by
 * epochs are set later. before: a checkpoint may still change the options. */
static void derive(rf_finetune_options *o, bool before)
{
    rf_train_options *t = &o->t;
    t->texts = t->validation_texts = t->datas = 0;
    t->tokens_per_batch = rf__max64(t->max_length, rf__min64(1 << 24, o->per_device_train_batch_size * t->max_length));
    if (o->eval_strategy != RF_STRATEGY_STEPS) t->eval_steps = o->eval_strategy == RF_STRATEGY_EPOCH;
    if (o->save_strategy != RF_STRATEGY_STEPS) t->save_steps = o->save_strategy == RF_STRATEGY_EPOCH;
    if (!o->dev && o->k_fold <= 1 && !before) t->eval_steps = 0;
    const char *metric = o->metric ? rf__metric_bare(o->metric) : "";
    t->metric_for_best_model = strcmp(metric, "loss") ? RF_METRIC_ACCURACY : RF_METRIC_LOSS;
    if (rf__metric_is_error(metric) && t->greater_is_better == RF_GREATER_AUTO) t->greater_is_better = RF_GREATER_FALSE;
}

static void keep(const rf__run *r, json_t **options)
{
    rf__finetune_run *f = r->task;
    json_t *all = json_object();
    rf__rows_json(rf_finetune_option, &f->o, &all);
    if (f->o.k_fold > 1) rf__json_set(&all, "fold", json_integer(f->source.fold));
    if (f->base) rf__json_set(&all, "base_model", rf__json_text(f->base, strlen(f->base)));
    rf__json_set(options, "finetune", all);
}

rf_status rf__finetune_keep(rf__finetune_run *f, const char *text, const char **to, rf_error *why)
{
    char *copy = rf__arena_push(&f->strings, strlen(text) + 1);
    if (!copy) return rf_fail(why, RF_ENOMEM, "out of memory: an option");
    memcpy(copy, text, strlen(text) + 1);
    *to = *copy ? copy : NULL;
    return RF_OK;
}

static rf_status restore(rf__run *r, const json_t *saved, rf_error *why)
{
    rf__finetune_run *f = r->task;
    const json_t *all = json_object_get(saved, "finetune");
    char changed[512] = "";
    if (!all) return rf_fail(why, RF_EDATA, "%s: expected the checkpoint of a fine-tuning run, got another", r->from);
    rf_finetune_options usual;
    rf_finetune_defaults(&usual);
    const rf__restoring from = {&usual, &r->o, all, r->from, &f->strings, changed, sizeof changed};
    rf_status status = rf__rows_restore(rf_finetune_option, &f->o, &from, why);
    if (!status) resolve_strategies(&f->o);
    const json_t *batch = json_object_get(all, "per_device_train_batch_size");
    r->resized |= json_integer_value(batch) != f->o.per_device_train_batch_size;
    const char *base = json_string_value(json_object_get(all, "base_model"));
    if (!status && base) status = rf__finetune_keep(f, base, &f->base, why);
    if (!status && *changed) rf__run_notify(r, "note", "options that differ from the checkpoint's: %s", changed);
    if (f->o.k_fold > 1) f->source.fold = json_integer_value(json_object_get(all, "fold"));
    if (!status && f->o.k_fold > 1 && (f->source.fold < 0 || f->source.fold >= f->o.k_fold))
        status = rf_fail(why, RF_EDATA, "%s: fold: expected one of %lld, got another", r->from, (long long)f->o.k_fold);
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(saved, "seed"));
    if (!status && (f->o.learning_rates || f->o.k_fold > 1) && seed != r->o.seed)
        status = rf_fail(why, RF_EARG, "%s: seed: expected that of the run, %llu, got %llu; use another output_dir",
                         r->from, (unsigned long long)seed, (unsigned long long)r->o.seed);
    if (!status) status = check(&f->o, why);
    if (strstr(changed, "metric_for_best_model")) {          /* whose values cannot be compared with the old ones     */
        r->state.best_step = 0;
        if (!rf__options_chosen(&r->o, &usual.t, "greater_is_better")) r->o.greater_is_better = RF_GREATER_AUTO;
    }
    f->o.t = r->o;
    derive(&f->o, false); /* tokens_per_batch was that of the largest batch; see prepare */
    r->o = f->o.t;
    return status;
}

/* ---- data ---- */

/* For tasks whose outputs are not the labels. */
static rf_status name_outputs(rf__finetune_run *f, rf_error *why)
{
    const size_t K = (size_t)f->train.K;
    if (!f->task->name_output) return RF_OK;
    f->output = rf__arena_push(&f->strings, K * sizeof *f->output);
    for (size_t k = 0; k < K; k++) {
        char name[300];
        f->task->name_output(f->source.name[k], name, sizeof name);
        if (!f->output || rf__finetune_keep(f, name, &f->output[k], why))
            return rf_fail(why, RF_ENOMEM, "out of memory: %zu outputs", K);
    }
    return RF_OK;
}

/* Examples. */
static int64_t computed_at_once(const rf__run *r, const rf__finetune_run *f)
{
    const int64_t largest = rf__finetune_largest(r, f);
    return f->o.mini_batch_size ? rf__min64(f->o.mini_batch_size, largest) : largest;
}

static rf_status prepare(rf__run *r, rf_error *why)
{
    rf__finetune_run *f = r->task;
    size_t count[] = {1, 2, 0};
    int64_t longest[RF_COUNT(count)] = {0};
    if (!*r->from) f->base = r->o.model;
    rf__run_notify(r, "data", "reading %s", f->o.train ? f->o.train : "");
    if (!f->o.train) return rf_fail(why, RF_EARG, "train: expected a file to train on, got none");
    rf_status status = rf__examples_open(&f->source, r->ctx, &f->o, &f->task, why);
    if (!status) status = rf__task_check_loss(f->task, f->o.loss, why);
    if (!status) status = rf__finetune_prompt(r, f, why);
    if (!status) status = rf__finetune_labels(r, f, why);
    if (!status) status = rf__labeled_train(&f->source, r->tokenizer, r->o.max_length, &f->train, &f->dev, why);
    if (!status) status = rf__labeled_check(&f->source, &f->o, f->o.train, why);
    if (!status) status = name_outputs(f, why);
    if (!status) status = rf__finetune_check(r, f, why);
    f->least = status ? 1 : rf__task_least(f->task, &f->train, &f->o);
    count[2] = (size_t)computed_at_once(r, f);
    if (!status) status = rf__items_longest(&f->train, count, RF_COUNT(count), longest, why);
    if (status) return status;
    const int64_t times = f->o.r_drop > 0 || f->task->train ? 2 : 1;    /* a second time, or after the other text */
    f->longest = times * longest[0];
    f->longest_two = times * longest[1];
    r->o.tokens_per_batch = rf__max64(times * longest[2], 8);
    snprintf(f->metric, sizeof f->metric, "eval_%s", rf__metric_chosen(f->task, &f->source, &f->o));
    if ((status = rf__metric_known(f->task, &f->source, f->metric + 5, why))) return status;
    if (f->o.class_weights) {
        f->class_weight = rf__calloc(r->ctx, (size_t)f->train.K, sizeof *f->class_weight);
        if (!f->class_weight) return rf_fail(why, RF_ENOMEM, "out of memory: class weights");
        status = rf__class_weights(f->o.class_weights, &f->train, f->class_weight, why);
    }
    const double mean = (double)f->train.tokens / (double)f->train.n;
    if (f->train.window)
        rf__run_notify(
            r, "note",
            "%zu questions (%zu without an answer) in %zu windows of %.1f tokens to train on, %zu questions to "
            "evaluate on",
            f->train.questions, f->train.unanswered, f->train.n, mean, f->dev.questions);
    else
        rf__run_notify(r, "note", "%zu examples of %.1f tokens to train on (%zu were cut to %lld), %zu to evaluate on",
                       f->train.n, mean, f->train.cut, (long long)r->o.max_length, f->dev.n);
    if (f->train.unread)
        rf__run_notify(r, "note",
                       "%zu texts have only tokens that are unknown to the vocabulary (one of single letters needs "
                       "blanks between them)", f->train.unread);
    return status ? status : rf__finetune_report(r, f, why);
}

/* ---- the model ---- */

/* Tokens of the longest text that the encoder will read at once. */
static int64_t longest_sequence(const rf__finetune_run *f)
{
    const rf__items *t = &f->train, *dev = &f->dev;
    const size_t step = f->task->train ? 2 : 1;         /* a text followed by the other one, without its [CLS] */
    int64_t most = 0;
    for (size_t s = 0; s + step <= t->sequences; s += step)
        most = rf__max64(most, (int64_t)(t->start[s + step] - t->start[s] - (step - 1)));
    for (size_t s = 0; s < dev->sequences; s++)
        most = rf__max64(most, (int64_t)(dev->start[s + 1] - dev->start[s]));
    return most;
}

/* The pooler of RoFormer-Sim and its second, causal part are of task sim alone: other tasks train the encoder of its
 * first part. */
static void leave_sim(rf__run *r, rf__finetune_run *f, rf_config *c)
{
    if (f->head == RF_HEAD_MLM || !c->is_decoder || !c->linear_pooler) return;
    c->is_decoder = c->linear_pooler = 0;
    f->of_sim = true;
    rf__run_notify(r, "note", "%s is a RoFormer-Sim: its encoder is trained, without its pooler; the result generates "
                              "no texts", r->o.model);
}

static rf_status configure(rf__run *r, rf_config *c, rf_head *head, rf_error *why)
{
    rf__finetune_run *f = r->task;
    const char *const *labels = rf__labeled_names(&f->source);
    if (rf__items_fit_types(&f->train, c->type_vocab_size, why)) return why->code;
    if (rf__items_fit_types(&f->dev, c->type_vocab_size, why)) return why->code;
    *head = f->head = rf__finetune_head(f, c);
    leave_sim(r, f, c);
    if (!*r->from && *head == RF_HEAD_CHOICE) c->summary = RF_SUMMARY_FIRST;
    if (f->task->configure && f->task->configure(c, why)) return why->code;
    rf_config_set_head(c, *head);
    snprintf(c->problem_type, sizeof c->problem_type, "%s", f->task->problem_type);
    snprintf(c->finetuning_task, sizeof c->finetuning_task, "%s", f->o.task);
    snprintf(c->score_function, sizeof c->score_function, "%s",
             f->task->function_of ? f->task->function_of(&f->o) : "");
    c->task_max_length = rf__position_limit(c, r->o.max_length);
    c->version_2_with_negative = f->source.nothing;
    snprintf(c->task_text_column, sizeof c->task_text_column, "%s", f->o.text_column ? f->o.text_column : "");
    snprintf(c->task_pair_column, sizeof c->task_pair_column, "%s", f->o.pair_column ? f->o.pair_column : "");
    snprintf(c->task_label_column, sizeof c->task_label_column, "%s", f->o.label_column ? f->o.label_column : "");
    c->task_pairs = f->source.layout.pairs;
    if (*head == RF_HEAD_EMBED) {
        if (rf__finetune_form(r, f, why)) return why->code;
        snprintf(c->sentence_pooling, sizeof c->sentence_pooling, "%s", rf__poolings[f->o.pooling]);
        c->sentence_normalize = f->o.normalize;
    }
    c->num_labels = f->train.K;
    c->label = f->output ? f->output : labels;
    c->task_label = f->output ? labels : NULL;
    c->num_task_labels = f->output ? (int64_t)f->source.n : 0;
    snprintf(c->task_header, sizeof c->task_header, "%s", f->o.header ? f->o.header : "");
    snprintf(c->task_separator, sizeof c->task_separator, "%s", f->o.separator ? f->o.separator : "");
    if (f->o.dropout >= 0)
        c->hidden_dropout_prob = c->attention_probs_dropout_prob = c->classifier_dropout = f->o.dropout;
    return rf__position_reaches(c, longest_sequence(f), why);
}

void rf__finetune_memory(const rf__run *r, rf__memory_job *own)
{
    const rf__finetune_run *f = r->task;
    const double square = f->task->square ? f->task->square(&f->train, &f->o) : 0;
    *own = (rf__memory_job){
        .example = f->longest,
        .least = square > 0 ? f->longest_two : f->longest,
        .evaluated = rf__answers_tokens(&f->dev, f->o.per_device_eval_batch_size,
                                        rf__task_least(f->task, &f->dev, &f->o)),
        .copies = f->o.fgm > 0 ? (double)r->params.p[r->params.word].count * sizeof *f->words : 0,
        .examples = rf__finetune_largest(r, f),
        .at_once = computed_at_once(r, f),
        .each = f->train.teacher ? 4 * (double)f->train.teacher->C * sizeof(float) : 0,     /* rows, and their units */
        .square = square,
    };
}

/* Whether the folder already has this head with these labels, or with as many that have no names. The language-model
 * head has no labels. */
static bool same_head(rf__run *r, const rf__finetune_run *f)
{
    rf_config c;
    rf_labels l;
    if (f->head == RF_HEAD_MLM) return true;
    bool same = !rf_config_read(r->ctx, r->o.model, &c, NULL) && rf_config_head(&c) == f->head &&
                c.num_labels == r->params.config.num_labels && !rf__labels_read(r->ctx, r->o.model, &l, NULL);
    if (!same) return false;
    const char *const *name = rf__labeled_names(&f->source);
    if (name) same = (size_t)l.n == f->source.n;
    for (int64_t k = 0; l.n > k && same && name && !f->unnamed.n; k++) same = !strcmp(l.name[k], name[k]);
    rf__labels_free(&l);
    return same;
}

/* The pooler of RoFormer-Sim is initialized randomly if the folder has none. Returns the remark for the note. */
static const char *begin_pooler(rf__run *r, const rf_weights *w)
{
    bool drawn = false;
    for (size_t i = 0; i < r->params.n; i++) {
        const rf_param *p = &r->params.p[i];
        if (!(p->flags & RF_ROW_POOLER) || rf__params_find(&r->params, w, p->name)) continue;
        rf__param_init(&r->params, i, r->optimizer.value + p->offset, r->o.seed);
        drawn = true;
    }
    return drawn ? ", and a new pooler" : "";
}

static rf_status begin(rf__run *r, bool trained, rf_error *why)
{
    const rf__finetune_run *f = r->task;
    rf_weights *w;
    bool has = false;
    (void)trained;
    rf__params_init_head(&r->params, r->optimizer.value, r->o.seed);
    rf_status status = rf_weights_open(r->ctx, r->o.model, &w, why);
    if (status) return status;
    const bool same = same_head(r, f);
    const char *pooler = begin_pooler(r, w);
    r->params.new_pooler = *pooler;
    if (same) status = rf__params_load(&r->params, w, r->optimizer.value, &has, NULL, why);
    else status = rf__params_load_encoder(&r->params, w, r->optimizer.value, why);
    rf_weights_close(w);
    r->params.new_pooler = false;
    if (!status)
        rf__run_notify(r, "note", "starting from the encoder of %s%s%s", r->o.model,
                       f->head == RF_HEAD_EMBED ? "" : has ? " and its head" : " and a new head", pooler);
    return status;
}

static void set_rates(rf__run *r, const rf__finetune_run *f)
{
    const int64_t L = r->params.config.num_hidden_layers;
    for (size_t i = 0; i < r->params.n; i++) {
        const rf_param *p = &r->params.p[i];
        if (rf__param_on_top(p)) continue;
        r->optimizer.factor[i] = pow(f->o.layer_wise_lr_decay, (double)(L - p->layer));
        if (f->o.frozen_layers && p->layer < f->o.frozen_layers) r->optimizer.factor[i] = 0;
    }
    rf__encoder_freeze(r->encoder, f->o.frozen_layers);
}

static void restore_position(rf__run *r, const rf__finetune_run *f)
{
    rf__data_position *at = &r->state.position;
    if (*r->from && !rf__finetune_same(r, f)) {
        rf__run_notify(r, "note", "the examples are not what the checkpoint was trained with: a new epoch begins");
        *at = (rf__data_position){.epoch = at->epoch + 1};
        r->resized = false;
    }
    r->state.data = f->train.hash;
    r->state.data_length = r->o.max_length;
}

/* Scores of other examples cannot be compared: the search for the best checkpoint starts again. */
static void resolve_dev(rf__run *r, const rf__finetune_run *f)
{
    rf__state *t = &r->state;
    const uint64_t held = f->dev.n ? f->dev.hash : 0;
    if (t->held && held && t->held != held) {
        rf__run_notify(r, "note",
                       "dev has other examples than in the evaluations up to step %lld, so later scores cannot be "
                       "compared with them: the search for the best checkpoint starts again",
                       (long long)t->step);
        t->best_step = 0;
        memset(&t->patience, 0, sizeof t->patience);
    }
    t->held = held;
}

/* A run that ended early is not continued, unless the caller requests more steps. If batches had another size, an epoch
 * does not end at a multiple of its steps. */
static void count_steps(rf__run *r, const rf__finetune_run *f)
{
    const rf_train_options *o = &r->o;
    rf__state *t = &r->state;
    const int64_t n = o->gradient_accumulation_steps, batches = rf__finetune_batches(f, 0),
                  left = rf__finetune_batches(f, t->position.index), epoch = (batches + n - 1) / n,
                  rest = (left + n - 1) / n;
    if (r->resized) t->epoch_ends = (t->step + rest) % epoch;
    if (f->o.eval_strategy == RF_STRATEGY_EPOCH && f->dev.n)
        r->o.eval_steps = epoch, r->eval_at = t->epoch_ends % epoch;
    if (f->o.save_strategy == RF_STRATEGY_EPOCH) r->o.save_steps = epoch, r->save_at = t->epoch_ends % epoch;
    const bool more = o->given && o->given != differed &&
                      (o->given(o->given_user, "max_steps") || o->given(o->given_user, "num_train_epochs"));
    if (!more && t->patience.stale && t->max_steps == t->step) return;
    const double epochs_left = o->num_train_epochs - (double)t->position.epoch - 1;
    rf__run_resolve_steps(r, o->num_train_epochs * (double)epoch, epochs_left * (double)epoch + (double)rest);
}

static rf_status open_job(rf__run *r, rf_error *why)
{
    rf__finetune_run *f = r->task;
    const rf_train_options *o = &r->o;
    const int64_t n = o->gradient_accumulation_steps;
    if (f->task->check && f->task->check(&f->train, &f->o, &r->params.config, why)) return why->code;
    if (r->params.family->layer_like && (f->o.frozen_layers || f->o.layer_wise_lr_decay < 1))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: expected none for an %s, whose layers share their tensors, got some",
                       f->o.frozen_layers ? "frozen_layers" : "layer_wise_lr_decay",
                       r->params.family->config.title);
    if (f->o.frozen_layers > r->params.config.num_hidden_layers)
        return rf_fail(why, RF_EARG, "frozen_layers: expected at most the model's %lld, got %lld",
                       (long long)r->params.config.num_hidden_layers, (long long)f->o.frozen_layers);
    restore_position(r, f);
    resolve_dev(r, f);
    count_steps(r, f);
    r->order = rf__make_key(o->seed, 0x6f726472);
    f->masking = (rf__masking){.key = rf__make_key(o->seed, 0x6d61736b), .p = MASKED, .whole_words = 1,
                               .vocab = &r->vocab};
    r->train_samples = (int64_t)f->train.n;
    r->eval_samples = (int64_t)f->dev.n;
    f->batch = rf__calloc(r->ctx, (size_t)n, sizeof *f->batch);
    f->which = rf__calloc(r->ctx, (size_t)rf__finetune_largest(r, f), sizeof *f->which);
    if (f->o.fgm > 0) f->words = rf__alloc(r->ctx, r->params.p[r->params.word].count * sizeof *f->words);
    if (!f->batch || !f->which || (f->o.fgm > 0 && !f->words)) return rf_fail(why, RF_ENOMEM, "out of memory: batches");
    set_rates(r, f);
    return RF_OK;
}

static double epoch_of(const rf__run *r)
{
    const rf__finetune_run *f = r->task;
    const rf__data_position *at = &r->state.position;
    return f->train.n ? (double)at->epoch + (double)at->index / (double)f->train.n : 0;
}

static const char *metric(const rf__run *r) { return ((const rf__finetune_run *)r->task)->metric; }

/* Evaluates the final model, unless the last evaluation did. The log has one evaluation for each step, with the weights
 * of that step. */
static rf_status finish(rf__run *r, rf_error *why)
{
    rf__finetune_run *f = r->task;
    const bool best = r->o.load_best_model_at_end && (r->optimizer.ema || r->state.best_step != r->state.step);
    const bool other = best || r->o.average_last || r->o.average_best;
    if (!f->dev.n || (!other && f->evaluated == r->state.step)) return RF_OK;
    return (other || r->state.eval_step == r->state.step ? rf__finetune_metrics : rf__finetune_evaluate)(r, why);
}

static json_t *defaults(void)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    run_defaults(&o.t);
    json_t *all = rf__options_json(&o.t), *own = json_object();
    rf__rows_json(rf_finetune_option, &o, &own);
    rf__json_set(&all, "finetune", own);
    return all;
}

static void card(const rf__run *r, rf__card *c)
{
    const rf__finetune_run *f = r->task;
    c->base = f->base;
    c->metrics = f->metrics;
}

static const rf__job job = {.usual = run_defaults,
                            .restore = restore,
                            .keep = keep,
                            .prepare = prepare,
                            .configure = configure,
                            .memory = rf__finetune_memory,
                            .begin = begin,
                            .open = open_job,
                            .gather = rf__finetune_gather,
                            .gradient = rf__finetune_gradient,
                            .evaluate = rf__finetune_evaluate,
                            .epoch = epoch_of,
                            .metric = metric,
                            .defaults = defaults,
                            .card = card,
                            .finish = finish};

/* ---- the whole run ---- */

static void clear(rf__finetune_run *f)
{
    for (int64_t i = 0; f->batch && i < f->o.t.gradient_accumulation_steps; i++)
        rf__item_batch_free(f->ctx, &f->batch[i]);
    rf__free(f->ctx, f->batch);
    rf__free(f->ctx, f->which);
    rf__free(f->ctx, f->words);
    rf__free(f->ctx, f->class_weight);
    rf__graph_free(f->compared);
    rf__answers_free(&f->answers);
    rf__items_free(&f->train);
    rf__items_free(&f->dev);
    rf__labeled_close(&f->source);
    rf__labels_free(&f->unnamed);
    rf__arena_clear(&f->strings);
    rf__free(f->ctx, f);
}

/* A folder selects a file in it; that of `train` also selects the dev file. */
static rf_status find_files(rf__finetune_run *f, rf_error *why)
{
    char path[4096];
    const char *train = f->o.train, *dev = f->o.dev;
    rf_status status = RF_OK;
    if (rf__is_folder(train) && !dev && f->o.k_fold <= 1) {
        status = rf__example_file(train, "dev", true, path, sizeof path, why);
        if (!status) status = rf__finetune_keep(f, path, &f->o.dev, why);
    } else if (dev) {
        status = rf__example_file(dev, "dev", false, path, sizeof path, why);
        if (!status) status = rf__finetune_keep(f, path, &f->o.dev, why);
    }
    if (!status && train) status = rf__example_file(train, "train", false, path, sizeof path, why);
    return status || !train ? status : rf__finetune_keep(f, path, &f->o.train, why);
}

rf_status rf__finetune_one(const rf_ctx *ctx, const rf_finetune_options *o, int64_t fold, rf_train_report *report,
                           void *user, rf_metric_values *metrics, rf_error *why)
{
    rf__finetune_run *f = rf__calloc(ctx, 1, sizeof *f);
    if (!f) return rf_fail(why, RF_ENOMEM, "out of memory: a run");
    f->ctx = ctx;
    f->o = *o;
    f->asked = o;
    if (!o->t.given) {
        f->o.t.given = differed;
        f->o.t.given_user = f;
    }
    f->source.fold = fold;
    rf__arena_init(&f->strings, ctx);
    rf_status status = find_files(f, why);
    rf__finetune_length(ctx, &f->o);
    resolve_strategies(&f->o);
    derive(&f->o, f->o.t.resume_from_checkpoint != NULL);
    if (!status) status = f->o.t.resume_from_checkpoint ? check_rows(&f->o, why) : check(&f->o, why);
    if (!status) status = rf__run_all(ctx, &f->o.t, &job, f, report, user, why);
    if (!status && metrics) *metrics = f->metrics;
    clear(f);
    return status;
}
