/* task.h — a fine-tuning task: what it reads, learns, evaluates and prints.
 *
 *     tasks.def        a row for each (include/roformer/inspect/)
 *     tasks/<name>.c   its implementation
 *     tasks.c          tasks and presets by name
 *
 * A hook that is NULL is not used, or has a default. */
#ifndef RF_TASK_TASK_H
#define RF_TASK_TASK_H

#include "data/corpus/batch.h"
#include "data/examples/labeled.h"
#include "model/encoder.h"
#include "graph/tensor.h"
#include "task/answers.h"

typedef struct rf__task_objective rf__task_objective;
typedef struct rf__prediction rf__prediction;

typedef struct rf__task {
    rf__example_format examples;        /* name, texts, labels, items                                                 */

    /* the model */
    rf_head head;
    const char *problem_type;           /* in transformers, or ""                                                     */
    const char *const *options;       /* of the options that only some tasks have, those of this one; NULL at the end */
    const rf_loss *losses;              /* values of --loss, RF_LOSS_AUTO at the end; NULL: there is no choice       */
    bool (*recognize)(const rf_config *c);             /* whether a folder without finetuning_task, or with another
                                                          program's, is of this task */
    void (*name_output)(const char *label, char *out,
                        size_t size); /* names of outputs that are not the labels */

    /* Completes the config of a new model beyond its head, before there are weights; NULL: nothing */
    rf_status (*configure)(rf_config *c, rf_error *why);

    /* Checks whether these examples can be learned with these options by a model of this config; NULL: always */
    rf_status (*check)(const rf__items *t, const rf_finetune_options *o, const rf_config *c, rf_error *why);

    /* weight * (sum of the losses of the batch's labels); the sum is added to *sum if it is not NULL */
    rf_tensor *(*loss)(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum);

    /* Replaces `loss` if the loss is not a function of the head's outputs: encodes the batch itself, each sequence
     * followed by another one of its example. NULL: `loss` */
    rf_tensor *(*train)(rf_graph *g, rf_encoder *e, const rf__item_batch *b, const rf__task_objective *o, double weight,
                        double *sum);

    /* The torch function that converts outputs to scores, for a model trained with these options; CrossEncoder of
     * sentence-transformers finds it in config.json. NULL: none is written */
    const char *(*function_of)(const rf_finetune_options *o);

    /* The minimum number of examples in a batch: 2 if the loss compares them, since a single one would have no
     * gradient. NULL: 1 */
    int64_t (*least)(const rf__items *t, const rf_finetune_options *o);

    /* Bytes that a batch needs for every pair of its examples: cosines of each with all others. NULL: none */
    double (*square)(const rf__items *t, const rf_finetune_options *o);

    /* metrics, in the order of the row's metrics */
    const char *metric;                 /* selects the best model                                                     */
    const char *other_metric;           /* ... if the labels do not have that one; NULL: accuracy                     */
    rf_status (*evaluate)(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why);
    bool (*has_metric)(const rf__labeled *l, const char *name);        /* whether these labels have the metric;
                                                                           NULL: always */
    const char *(*no_metric)(const rf__labeled *l);     /* why these labels do not have all metrics; NULL: no reason */
    void (*remark)(const rf__labeled *l, char *out, size_t size);   /* a sentence about metrics that are not
                                                                        computed, or "" */

    /* answers */
    void (*probabilities)(const float *z, int64_t outputs, float *p);   /* of the labels of one text                  */
    const char *function;               /* its name in torch, if `predict` prints the same values; or NULL            */
    const char *columns;                /* of a table of predictions                                                  */
    char between;                       /* elements of a list in a table                                              */
    json_t *(*predict)(const rf__prediction *p, size_t i);           /* prediction for example (question) i: members
                                                                        by `columns` */
    rf__text (*answer)(const rf__prediction *p, size_t i);              /* for SQuAD's script                         */
} rf__task;

#define RFT(name, what, metrics) extern const rf__task rf__task_##name;
#include "roformer/inspect/tasks.def"
#undef RFT

/* ---- tasks.c ---- */

enum { RF__USUAL_LENGTH = 128 };                                         /* default length of texts in tokens         */

const rf__task *rf__task_at(size_t i);                                   /* NULL after the last one                   */
const char *rf__task_metrics(const rf__task *task);                      /* "accuracy, f1"                            */
bool rf__task_has(const rf__task *task, const char *option);

/* "cls and tag": the tasks that have this option. */
void rf__task_list(const char *option, char *out, size_t size);

/* Whether the answer is a vector for each text: pooled tokens, or RoFormer-Sim's vector besides the language-model
 * head. */
static inline bool rf__task_of_vectors(const rf__task *task)
{
    return task->head == RF_HEAD_EMBED || task->head == RF_HEAD_MLM;
}

static inline int64_t rf__task_least(const rf__task *task, const rf__items *t, const rf_finetune_options *o)
{
    return task->least && t->n ? task->least(t, o) : 1;
}

/* Number of columns of the model's output for each row: hidden_size for vectors, otherwise its logits. */
static inline int64_t rf__task_columns(const rf__task *task, const rf_config *c)
{
    return rf__task_of_vectors(task) ? c->hidden_size : c->num_labels;
}

extern const char *const rf__loss_names[];                               /* by rf_loss                                */

/* RF_EARG: the task does not have this --loss. */
rf_status rf__task_check_loss(const rf__task *task, rf_loss loss, rf_error *why);

/* Whether a model of this config has what the task needs, whatever its origin. */
bool rf__task_accepts(const rf__task *task, const rf_config *c);

/* A task or preset ("cls", "glue/mrpc"; NULL: the default task). RF_EARG lists the known names. */
rf_status rf__preset_find(const char *name, rf__preset *out, const rf__task **task, rf_error *why);

/* Opens examples of the task of `o`, with its columns (rf__labeled_open). *task receives that task. */
rf_status rf__examples_open(rf__labeled *l, const rf_ctx *ctx, const rf_finetune_options *o, const rf__task **task,
                            rf_error *why);

/* The task of a fine-tuned folder. */
rf_status rf__task_of_model(const rf_config *c, const rf__task **task, rf_error *why);

/* ---- for the tasks' files ---- */

void rf__task_sigmoid(const float *z, int64_t K, float *p);    /* probabilities: 1 / (1 + exp(-z)), independently     */
bool rf__task_any(const rf_config *c);   /* recognize: the head is sufficient                                         */

/* loss: the mean over labeled rows y of  class_weight[y] (-log softmax(z)[y]) */
rf_tensor *rf__task_row_loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o,
                             double weight, double *sum);

struct rf__task_objective {
    const rf__task *task;
    const float *class_weight;          /* [K] or NULL                                                                */
    double r_drop;                      /* above 0: the batch has every example twice                                 */
    const rf_finetune_options *o;       /* of the loss; NULL: the defaults                                            */
    const rf__masking *masking;         /* only for training, as the next member                                      */
    uint64_t stream;                    /* different for all micro-batches of a run                                   */
};

struct rf__prediction {
    const rf__task *task;
    const rf_labels *labels;
    const rf__items *t;
    const rf__answers *z;
    float *probability;                 /* [labels]                                                                   */
    rf_prediction_format format;
};

void rf__metric_add(rf_metric_values *out, const char *name, double value);

/* torch's function of this name: Sigmoid, Identity or Tanh. RF_EUNSUPPORTED: another one. */
rf_status rf__score_function(const char *name, double (**out)(double z), rf_error *why);
rf_status rf__metrics_no_memory(const rf__items *t, rf_error *why);

static inline int64_t rf__largest(const float *z, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (z[i] > z[best]) best = i;
    return best;
}

/* Allocates gold and predicted labels for `most` examples, in one block that *gold owns. */
rf_status rf__label_pairs(const rf__items *t, size_t most, int32_t **gold, int32_t **predicted, rf_error *why);

/* rounded to 6 digits: more would differ between machines. */
json_t *rf__json_real6(double x);

/* {"label": the k-th, "score": x} */
json_t *rf__predict_label(const rf__prediction *p, int64_t k, double x);

#endif
