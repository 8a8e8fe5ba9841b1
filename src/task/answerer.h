/* answerer.h — see include/roformer/finetune.h. */
#ifndef RF_TRAIN_ANSWERER_H
#define RF_TRAIN_ANSWERER_H

#include "data/example_files.h"
#include "task/task.h"

struct rf_answerer {
    const rf_ctx *ctx;
    rf_model *model;
    rf_session *session;
    bool lent;                          /* model and session are somebody else's */
    rf_labels labels;
    const rf__task *task;
    int64_t max_length;
    char *prompt;                       /* put before each text of a file, or NULL                                    */
    int64_t truncate_dim;               /* the folder's: vectors are cut to it after they are normalized; 0           */
    bool unit;                          /* vectors have length 1, before they are cut to truncate_dim                 */
    float *cut;                         /* vectors of a batch, cut                                                    */
    size_t cuts;                        /* its capacity                                                               */
    float *probability;
    char cross_encoder[32];             /* rf__cross_encoder_function; of a model for labels of texts                 */
    rf_encoding encoding;
    rf_finetune_options o;              /* of the file that is read                                                   */
    rf_reading reading;
    rf_graph *graph;                    /* for the loss of labelled examples, or NULL                                 */
    double loss;                        /* their sum                                                                  */
    int64_t losses;                     /* and their number                                                           */
};

/* Answers with a model and a session that are open already and outlive it. */
rf_status rf__answerer_of(const rf_ctx *ctx, const char *folder, rf_type type, rf_model *model, rf_session *session,
                          rf_answerer **out, rf_error *why);

/* The name of torch's function after which CrossEncoder's scores are outputs. */
static inline const char *rf__answerer_function(const rf_answerer *a)
{
    return *a->cross_encoder ? a->cross_encoder : "Sigmoid";
}

/* The parts of rf_answerer_classify and rf_answerer_cross around the model.
 *
 *   can_label   RF_EUNSUPPORTED: the model does not label texts
 *   label       scores of the labels [labels.n] from the logits [num_labels] of a text
 *   can_cross   the same of pairs, and the function after which a logit is a score */
rf_status rf__answerer_can_label(const rf_answerer *a, rf_error *why);
void rf__answerer_label(const rf_answerer *a, const float *z, float *score);
rf_status rf__answerer_can_cross(const rf_answerer *a, double (**of)(double z), rf_error *why);

/* rf_reading.remark: where the folder's own program shows other scores than these predictions. */
void rf__answerer_remark_predictions(rf_answerer *a);

/* Items of a file and the logits for them; all three are the caller's to clear, whatever is returned. */
rf_status rf__answerer_file(rf_answerer *a, const rf_finetune_options *given, const char *file, bool with_labels,
                            rf__labelled *l, rf__items *t, rf__answers *z, rf_error *why);

#endif
