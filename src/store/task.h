/* task.h — the part of config.json that says what a fine-tuned model answers: its head, its labels, its task. */
#ifndef RF_TASK_H
#define RF_TASK_H

#include <jansson.h>

#include "base/base.h"
#include "roformer/checkpoint.h"

/* The prompts that one sentence model's folder has, to another one. */
rf_status rf__sentence_prompts(const rf_ctx *ctx, const char *from, const char *to, rf_error *why);

extern const char *const rf__poolings[];                 /* of sentence_pooling, in the order of rf_pooling; NULL     */
int rf__pooling_of(const char *name);                    /* as rf_pooling; -1: there is none of this name             */

/* Reads id2label (or num_labels), problem_type, summary_type, finetuning_task and task_max_length.
 *   RF_EDATA         ids that are not 0, 1, ..., too many labels, strings that are too long, wrong types
 *   RF_EUNSUPPORTED  a summary that is computed in another way (only for RoFormerForMultipleChoice)                  */
rf_status rf__task_read(const char *file, const json_t *root, rf_config *c, rf_error *why);

/* The same keys, to be written: an empty object for a masked language model.  NULL: no memory. */
json_t *rf__task_json(const rf_config *c);

#endif
