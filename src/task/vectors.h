/* vectors.h — shared by tasks whose results are vectors of texts: scores of examples, cosines of pairs, and the metrics
 * of an evaluation; see vectors.c. */
#ifndef RF_TASK_VECTORS_H
#define RF_TASK_VECTORS_H

#include "task/task.h"

/* ---- examples: a text, a second one, possibly a score ---- */

/* The example's score, divided by score_max; NAN: it has none. */
float rf__vectors_score_of(rf__example *m);

/* Either all examples of a file have a score, or none; otherwise this one is malformed. */
void rf__vectors_agree(rf__example *m, const rf__items *out, float score);

/* The row of the first of the teacher's vectors for this example, which are added to the hash; -1: it has none. */
rf_status rf__vectors_teacher_row(rf__example *m, rf__items *out, int32_t *row, rf_error *why);

/* ---- losses ---- */

/* cos(x_a, x_b) of rows a[i] and b[i] of units, a column [n,1]. */
rf_tensor *rf__vectors_cosines(rf_graph *g, rf_tensor *u, const int32_t a[], const int32_t b[], int64_t n);

/* Leaves texts that are no negatives out of a softmax over each row of z [n,m], which are cosines of texts row[i].text
 * and column[c].text, both sequences of b: besides own[i], the column of row[i].partner, those with the tokens of the
 * row's text or of its partner, and those whose partner (-1: none) has the tokens of the row's text. Their z becomes
 * -1e12, so that their share and its gradient are 0. */
typedef struct rf__vector_pair { int32_t text, partner; } rf__vector_pair;
void rf__vectors_spare_equal(rf_tensor *z, const rf__item_batch *b, const rf__vector_pair row[],
                             const rf__vector_pair column[], const int32_t own[]);

/* ---- hooks of rf__task that these tasks share ---- */

rf_status rf__vectors_evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                               rf_error *why);
bool rf__vectors_has_metric(const rf__labeled *l, const char *name);
const char *rf__vectors_no_metric(const rf__labeled *l);
void rf__vectors_remark(const rf__labeled *l, char *out, size_t size);
json_t *rf__vectors_predict(const rf__prediction *p, size_t i);

/* Members that tasks with compared vectors have in common; `taught_texts` is the number of teacher's vectors of an
 * example. */
#define RF__VECTORS_EXAMPLES(title, taught_texts) \
    { \
        .name = title, .text = true, .pair = true, .negatives = true, .label = RF__MEMBER_SCORE, \
        .lines = rf__records_table, .kind = RF__LABEL_VECTOR, .taught = taught_texts, .example = example, \
    }
#define RF__VECTORS_TASK \
    .problem_type = "", .metric = "spearmanr", .other_metric = "mrr_at_10", .evaluate = rf__vectors_evaluate, \
    .has_metric = rf__vectors_has_metric, .no_metric = rf__vectors_no_metric, .remark = rf__vectors_remark, \
    .columns = "score", .between = ',', .predict = rf__vectors_predict

#endif
