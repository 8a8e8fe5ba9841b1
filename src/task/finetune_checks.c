/* finetune_checks.c — refuses examples and options that conflict, and reports questionable ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/task.h"
#include "task/finetune.h"
#include "task/task_metrics.h"

/* For example "3 labels: bad, fine, good", so that an unintended label is noticed before training. */
static void report_labels(rf__run *r, const rf__task *task, const rf__labeled *l)
{
    char all[600] = "";
    size_t n = 0, shown = 0;
    const char *const *name = rf__labeled_names(l);
    for (; name && shown < l->n && n + 80 < sizeof all; shown++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", shown ? ", " : "",
                              rf__show((rf__text){name[shown], strlen(name[shown])}, 50).text);
    if (name)
        rf__run_notify(r, "note", "%zu label%s: %s%s", l->n, l->n > 1 ? "s" : "", all, shown < l->n ? ", ..." : "");
    char remark[256];
    rf__metric_remark(task, l, remark, sizeof remark);
    if (*remark) rf__run_notify(r, "note", "%s", remark);
}

/* A word without tokens has no label to learn; other tasks have a label for each example. */
static rf_status check_labels(const rf__finetune_run *f, rf_error *why)
{
    const rf__items *t = &f->train;
    for (size_t i = 0; i < t->tokens; i++)
        if (f->task->examples.kind != RF__LABEL_TOKENS || t->label[i] >= 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.150s: expected words with tokens to label, got none", f->o.train);
}

/* Options that require one label for each text or token. */
static rf_status check_one_label(const rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    const char *what = f->o.r_drop > 0                   ? "r_drop"
                       : f->o.class_weights              ? "class_weights"
                       : r->o.label_smoothing_factor > 0 ? "label_smoothing_factor"
                                                         : NULL;
    char tasks[100];
    if (!what || rf__task_has(f->task, what)) return RF_OK;
    rf__task_list(what, tasks, sizeof tasks);
    return rf_fail(why, RF_EARG, "%s: expected a task with one label per text or token (%s), got another", what, tasks);
}

/* Reports duplicate pairs: in the same batch, each is a negative of the other. */
static rf_status report_repeated(rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    const bool infonce = f->o.loss == RF_LOSS_AUTO || f->o.loss == RF_LOSS_INFONCE;
    size_t again = 0;
    if (!rf__task_of_vectors(f->task) || f->train.teacher || !infonce || !isnan(f->train.target[0])) return RF_OK;
    const rf_status status = rf__items_repeated(&f->train, &again, why);
    if (again)
        rf__run_notify(r, "note",
                       "%zu of %zu examples are duplicates: if two equal examples are in one batch, the second "
                       "text of each counts as a negative of the other",
                       again, f->train.n);
    return status;
}

/* Options without effect, because of the task or another option. */
static void report_ineffective(rf__run *r, const rf__finetune_run *f)
{
    const struct { const char *name; bool effective; const char *where; } all[] = {
        {"eval_steps", f->o.eval_strategy == RF_STRATEGY_STEPS, "eval_strategy steps"},
        {"save_steps", f->o.save_strategy == RF_STRATEGY_STEPS, "save_strategy steps"},
        {"eval_strategy", f->dev.n || f->o.eval_strategy == RF_STRATEGY_NO, "a dev file"},
        {"k_fold", f->o.k_fold != 1, "2 parts and more"},
        {"doc_stride", rf__task_has(f->task, "doc_stride"), NULL},
        {"head", rf__task_has(f->task, "head"), NULL},
        {"loss", rf__task_has(f->task, "loss"), NULL},
        {"pooling", rf__task_has(f->task, "pooling"), NULL},
        {"normalize", rf__task_has(f->task, "normalize"), NULL},
        {"similarity_scale", rf__task_has(f->task, "similarity_scale"), NULL},
        {"margin", rf__task_has(f->task, "margin"), NULL},
        {"score_max", rf__task_has(f->task, "score_max"), NULL},
        {"matryoshka", rf__task_has(f->task, "matryoshka"), NULL},
        {"mini_batch_size", rf__task_has(f->task, "mini_batch_size"), NULL},
        {"teacher", rf__task_has(f->task, "teacher"), NULL},
        {"source_mask_probability", rf__task_has(f->task, "source_mask_probability"), NULL},
    };
    for (size_t i = 0; i < RF_COUNT(all) && r->o.given; i++) {
        char tasks[100];
        if (all[i].effective || !r->o.given(r->o.given_user, all[i].name)) continue;
        rf__task_list(all[i].name, tasks, sizeof tasks);
        rf__run_notify(r, "note", "options without effect: %s applies only to %s%s", all[i].name,
                       all[i].where ? "" : "task ", all[i].where ? all[i].where : tasks);
    }
}

/* The head of the checkpoint has learned the labels by their ids. */
static rf_status check_names(const rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    rf_labels l;
    const char *const *name = rf__labeled_names(&f->source);
    if (!name || rf__labels_read(r->ctx, r->from, &l, why)) return name ? why->code : RF_OK;
    rf_status status = RF_OK;
    if ((size_t)l.n != f->source.n)
        status = rf_fail(why, RF_EDATA, "%.150s: expected the %lld labels that %.150s was trained with, got %zu",
                         f->o.train, (long long)l.n, r->from, f->source.n);
    for (int64_t i = 0; i < l.n && !status; i++)
        if (strcmp(l.name[i], name[i]))
            status = rf_fail(why, RF_EDATA,
                             "%.120s: label %lld: expected '%.40s', with which %.120s was trained, got '%.40s'",
                             f->o.train, (long long)i, l.name[i], r->from, name[i]);
    rf__labels_free(&l);
    return status;
}

bool rf__finetune_same(const rf__run *r, const rf__finetune_run *f)
{
    return f->train.hash == r->state.data && r->o.max_length == r->state.data_length &&
           r->state.position.index <= (int64_t)f->train.n;
}

/* Checked before weights are loaded, whose shapes depend on the labels. */
static rf_status check_examples(const rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    if (!*r->from) return RF_OK;
    if (!rf__finetune_same(r, f) && !r->o.allow_data_change)
        return rf_fail(why, RF_EDATA,
                       "train: expected the examples%s, vocabulary and max_length that %s was trained with, got "
                       "others; use allow_data_change to continue",
                       f->train.teacher ? ", teacher's vectors" : "", r->from);
    return check_names(r, f, why);
}

rf_status rf__finetune_check(const rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    rf_status status = check_labels(f, why);
    if (!status) status = check_examples(r, f, why);
    if (!status) status = check_one_label(r, f, why);
    return status;
}

rf_status rf__finetune_report(rf__run *r, const rf__finetune_run *f, rf_error *why)
{
    report_labels(r, f->task, &f->source);
    const rf_status status = report_repeated(r, f, why);
    if (status) return status;
    report_ineffective(r, f);
    if (*f->source.unread)
        rf__run_notify(r, "note", "column '%s' is not read (pair_column): a text without a second one is paired with "
                       "itself", rf__printable(f->source.unread).text);
    if (f->source.bad)
        rf__run_notify(r, "note", "%llu malformed line%s skipped, the first: %s", (unsigned long long)f->source.bad,
                       f->source.bad > 1 ? "s were" : " was", f->source.first.text);
    return RF_OK;
}
