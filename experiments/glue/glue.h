/* glue.h — a study: rows fine-tuned on tasks, and the table of it. */
#ifndef EXPERIMENTS_GLUE_H
#define EXPERIMENTS_GLUE_H

#include "tasks.h"

enum { TASKS = 16, ROWS = 10 };                                  /* ROWS: of the plot */

typedef struct task { json_t *json; const char *name; long long train, dev; } task;

typedef struct study {
    request asked;
    json_t *rows, *seeds, *rates;
    task task[TASKS];
    size_t n;
} study;

const char *row_name(const study *s, size_t row);
const char *metric_name(const task *t, size_t i);               /* NULL after the last; the first is the task's own   */
int seed_of(const study *s, size_t i);

/* Of the best point of the grid; NaN: the grid is not complete, or all of it failed. */
double chosen_rate(const study *s, const task *t, size_t row);

/* What is known by now at that point, without failed runs. */
numbers scores_of(const study *s, const task *t, size_t row, const char *metric);

/* Writes table.txt, runs.jsonl, table.gp and table.svg. */
void glue_table(const study *s);

#endif
