/* tasks.h — GLUE's files and CLUE's, in the many forms they come in, as one form: a header and two or three columns. */
#ifndef EXPERIMENTS_GLUE_TASKS_H
#define EXPERIMENTS_GLUE_TASKS_H

#include "../run.h"

/* Writes `folder`/NAME-train.tsv and NAME-dev.tsv from what a task of the JSON file names below `data`, unless they are
 * there, and sets how many examples they hold.
 *
 *   "train": [["glue/RTE/train.tsv", "header"], ["glue/RTE/val.tsv"]]      files one after the other
 *   "dev":   [["glue/RTE/dev.tsv", "header"]]      none: a tenth of the training rows, by a hash of the row's number
 *   "columns": [2, 3, 4]                           text, pair (0: none) and label, from 1
 *   "keys": ["sentence1", "sentence2", "label"]    instead: JSON objects, one a line; no pair: ""
 *   "skip": ["-"]                                  labels whose rows are left out
 *
 * Rows with too few columns are left out.  Of more than `cap` training rows (0: no cap) those with the smallest hashes
 * stay. */
void task_files(json_t *task, const char *data, const char *folder, long long cap, long long *train, long long *dev);

#endif
