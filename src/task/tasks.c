/* tasks.c — tasks and presets by name, and the task of a folder. */
#include <math.h>
#include <stdio.h>

#include "task/task.h"

enum { GLUE_LENGTH = 512 };

static const struct { const rf__task *task; const char *metrics; } tasks[] = {
#define RFT(name, what, metrics) {&rf__task_##name, metrics},
#include "roformer/inspect/tasks.def"
#undef RFT
};

/* GLUE: columns, their numbers in files without a header, labels in their order, metric, malformed lines of the
 * published files. */
static const struct {
    const char *name, *task, *text, *pair, *label;
    int bare[3];
    const char *labels, *metric;
    int64_t bad;
} glue[] = {
    {"cola", "cls", "sentence", NULL, "label", {4, 0, 2}, "0,1", "matthews_correlation", 0},
    {"sst2", "cls", "sentence", NULL, "label", {1, 0, 2}, "0,1", "accuracy", 0},
    {"mrpc", "cls", "#1 String", "#2 String", "Quality", {4, 5, 1}, "0,1", "f1", 0},
    {"stsb", "reg", "sentence1", "sentence2", "score", {6, 7, 5}, NULL, "spearmanr", 0},            /* bare: sts-test */
    {"qqp", "cls", "question1", "question2", "is_duplicate", {4, 5, 6}, "0,1", "f1", 16},
    {"qnli", "cls", "question", "sentence", "label", {2, 3, 4}, "entailment,not_entailment", "accuracy", 0},
    {"rte", "cls", "sentence1", "sentence2", "label", {2, 3, 4}, "entailment,not_entailment", "accuracy", 0},
    {"wnli", "cls", "sentence1", "sentence2", "label", {2, 3, 4}, "0,1", "accuracy", 0},
    {"mnli", "cls", "sentence1", "sentence2", "gold_label", {0}, "entailment,neutral,contradiction", "accuracy", 0},
};

const rf__task *rf__task_at(size_t i) { return i < RF_COUNT(tasks) ? tasks[i].task : NULL; }

static const rf__task *named(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(tasks); i++)
        if (!strcmp(name, tasks[i].task->examples.name)) return tasks[i].task;
    return NULL;
}

const char *rf__task_metrics(const rf__task *task)
{
    size_t i = 0;
    while (tasks[i].task != task) i++;
    return tasks[i].metrics;
}

bool rf__task_has(const rf__task *task, const char *option)
{
    for (const char *const *own = task->options; own && *own; own++)
        if (!strcmp(*own, option)) return true;
    return false;
}

void rf__task_list(const char *option, char *out, size_t size)
{
    size_t n = 0, left = 0;
    for (size_t i = 0; i < RF_COUNT(tasks); i++) left += rf__task_has(tasks[i].task, option);
    *out = 0;
    for (size_t i = 0; i < RF_COUNT(tasks) && n < size; i++)
        if (rf__task_has(tasks[i].task, option))
            n += (size_t)snprintf(out + n, size - n, "%s%s", tasks[i].task->examples.name,
                                  --left > 1 ? ", "
                                  : left     ? " and "
                                             : "");
}

#define WORD(id, word) #word,
const char *const rf__loss_names[] = {RF_LOSSES(WORD)};
#undef WORD

rf_status rf__task_check_loss(const rf__task *task, rf_loss loss, rf_error *why)
{
    char all[120] = "auto";
    size_t n = strlen(all);
    if (loss == RF_LOSS_AUTO || !task->losses) return RF_OK;
    for (const rf_loss *own = task->losses; *own != RF_LOSS_AUTO && n < sizeof all; own++) {
        if (*own == loss) return RF_OK;
        n += (size_t)snprintf(all + n, sizeof all - n, ", %s", rf__loss_names[*own]);
    }
    return rf_fail(why, RF_EARG, "loss: expected one of %s for task %s, got %s", all, task->examples.name,
                   rf__loss_names[loss]);
}

static rf_status no_such_task(const char *name, rf_error *why)
{
    char all[240] = "", own[64];
    for (size_t i = 0; i < RF_COUNT(tasks); i++) rf__list_add(all, sizeof all, tasks[i].task->examples.name);
    for (size_t i = 0; i < RF_COUNT(glue); i++) {
        snprintf(own, sizeof own, "%s%s", i ? "" : "glue/", glue[i].name);
        rf__list_add(all, sizeof all, own);
    }
    return rf_fail(why, RF_EARG, "task: expected one of %s, got '%.40s'", all, name);
}

rf_status rf__preset_find(const char *name, rf__preset *out, const rf__task **task, rf_error *why)
{
    const rf__task *own = name ? named(name) : tasks[0].task;
    if (own) {
        *task = own;
        *out = (rf__preset){.name = own->examples.name, .format = &own->examples, .metric = own->metric,
                            .max_length = RF__USUAL_LENGTH};
        return RF_OK;
    }
    for (size_t i = 0; i < RF_COUNT(glue); i++) {
        if (strncmp(name, "glue/", 5) || strcmp(name + 5, glue[i].name)) continue;
        *task = named(glue[i].task);
        *out = (rf__preset){
            .name = glue[i].name,
            .format = &(*task)->examples,
            .text = glue[i].text,
            .pair = glue[i].pair,
            .label = glue[i].label,
            .labels = glue[i].labels,
            .metric = glue[i].metric,
            .bad = glue[i].bad,
            .max_length = GLUE_LENGTH,
        };
        memcpy(out->bare, glue[i].bare, sizeof out->bare);
        return RF_OK;
    }
    return no_such_task(name, why);
}

rf_status rf__examples_open(rf__labeled *l, const rf_ctx *ctx, const rf_finetune_options *o, const rf__task **task,
                            rf_error *why)
{
    rf__preset preset;
    const rf_status status = rf__preset_find(o->task, &preset, task, why);
    return status ? status : rf__labeled_open(l, ctx, &preset, o, why);
}

/* ---- folders ---- */

/* Whether the model has the task's head. */
static bool same_head(const rf__task *task, rf_head head)
{
    return head == task->head || (head == RF_HEAD_POOLED && rf__task_has(task, "head"));
}

bool rf__task_accepts(const rf__task *task, const rf_config *c)
{
    return same_head(task, rf_config_head(c)) && task->recognize && task->recognize(c);
}

rf_status rf__task_of_model(const rf_config *c, const rf__task **task, rf_error *why)
{
    rf__preset preset;
    const rf_head head = rf_config_head(c);
    if (*c->finetuning_task && !rf__preset_find(c->finetuning_task, &preset, task, NULL) && same_head(*task, head) &&
        !strcmp(c->problem_type, (*task)->problem_type)) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(tasks); i++) {
        *task = tasks[i].task;
        if (rf__task_accepts(*task, c)) return RF_OK;
    }
    return rf_fail(why, RF_EUNSUPPORTED,
                   "model: expected a fine-tuned model, got one without a head for texts, tokens, answers or choices; "
                   "`roformer finetune` makes one");
}

/* ---- shared by several tasks ---- */

void rf__task_sigmoid(const float *z, int64_t K, float *p)
{
    for (int64_t k = 0; k < K; k++) p[k] = (float)(1 / (1 + exp(-(double)z[k])));
}

bool rf__task_any(const rf_config *c)
{
    (void)c;
    return true;
}

rf_tensor *rf__task_row_loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o,
                             double weight, double *sum)
{
    return rf__row_loss(g, z, b->label, o->class_weight, weight, sum, NULL);
}
