/* answerer.h — see include/roformer/train.h. */
#ifndef RF_TRAIN_ANSWERER_H
#define RF_TRAIN_ANSWERER_H

#include "data/examples/example_files.h"
#include "task/task.h"

struct rf_answerer {
    const rf_ctx *ctx;
    rf_model *model;
    rf_session *session;
    bool lent;                          /* model and session belong to the caller */
    rf_labels labels;
    const rf__task *task;
    int64_t max_length, folder_length;  /* folder_length: the folder's, which may be above the positions; 0: none     */
    int64_t tokenizer_length;           /* model_max_length or INT64_MAX; at most the positions if they are a limit   */
    char *prompt;                       /* put before each text, the first one of a pair of a CrossEncoder; or NULL   */
    int64_t truncate_dim;               /* the folder's: vectors are truncated to it after normalization; 0: none     */
    bool unit;                          /* vectors have length 1, before they are truncated to truncate_dim           */
    float *cut;                         /* vectors of a batch, truncated                                              */
    size_t cuts;                        /* its capacity                                                               */
    float *probability;
    char cross_encoder[32];             /* function of rf__cross_encoder_read; for a model for labels of texts        */
    rf_encoding encoding;
    rf_finetune_options o;              /* of the file that is read                                                   */
    rf_reading reading;
    rf_graph *graph;                    /* for the loss of labeled examples, or NULL                                  */
    double loss;                        /* their sum                                                                  */
    int64_t losses;                     /* and their number                                                           */
};

/* Creates an answerer for an open model and session, which must outlive it. */
rf_status rf__answerer_of(const rf_ctx *ctx, const char *folder, rf_type type, rf_model *model, rf_session *session,
                          rf_answerer **out, rf_error *why);

/* The name of the torch function whose results are CrossEncoder's scores. */
static inline const char *rf__answerer_function(const rf_answerer *a)
{
    return *a->cross_encoder ? a->cross_encoder : "Sigmoid";
}

/* The parts of rf__answerer_classify and rf_answerer_cross before and after the model.
 *
 *   can_label   RF_EUNSUPPORTED: the model does not label texts
 *   function    of which the labels' scores are values: "Softmax", "Sigmoid" or "Identity"
 *   label       scores of the labels [labels.n] from the logits [num_labels] of a text
 *   can_cross   the same for pairs, with the function that converts a logit to a score */
rf_status rf__answerer_can_label(const rf_answerer *a, rf_error *why);
const char *rf__answerer_label_function(const rf_answerer *a);
void rf__answerer_label(const rf_answerer *a, const float *z, float *score);
rf_status rf__answerer_can_cross(const rf_answerer *a, double (**of)(double z), rf_error *why);

/* Puts a prompt (NULL: the folder's, which may have none) before a text that gets labels, or the first of a pair.
 * *joined has the bytes that *text then points to, freed with rf__free; NULL: *text is unchanged. */
rf_status rf__answerer_put_prompt(const rf_answerer *a, const char *prompt, const char **text, size_t *bytes,
                                  char **joined, rf_error *why);

/* Sets rf_reading.remark if the program that wrote the folder shows other scores than these predictions. */
void rf__answerer_remark_predictions(rf_answerer *a);

/* The items of a file and their logits; the caller clears all three, also after an error. */
rf_status rf__answerer_file(rf_answerer *a, const rf_finetune_options *given, const char *file, bool with_labels,
                            rf__labeled *l, rf__items *t, rf__answers *z, rf_error *why);

const char *rf__answerer_task(const rf_answerer *a);          /* name of the task, a row of tasks.def */
const rf_labels *rf__answerer_labels(const rf_answerer *a);

/* Classifies a text or a pair. Returns the probabilities of the labels, [K], valid until the next call: cls softmax,
 * multilabel a sigmoid for each label; for reg the predicted numbers. The single output of a model without problem_type
 * is a logit: its sigmoid is returned, as in the text-classification pipeline of transformers. */
rf_status rf__answerer_classify(rf_answerer *a, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                                const float **probability, rf_error *why);

#endif
