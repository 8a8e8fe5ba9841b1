/* labelled.h — files of labelled examples, read into items.
 *
 *     .tsv .txt ...   a line each, columns by the header's names or by numbers from 1; a tab inside a text is not possible
 *     .csv            the same with commas and quotes
 *     .jsonl          an object each; members by name
 *     .conll          tag: a word and its tag on a line, an empty line between sentences
 * each also as .gz or .zst.  What the members of tag, qa and mc are called: labelled.c.                               */
#ifndef RF_TRAIN_LABELLED_H
#define RF_TRAIN_LABELLED_H

#include <jansson.h>

#include "train/items.h"

typedef struct rf__labelled {
    const rf_ctx *ctx;
    rf_task task;
    const char *text, *pair, *label;    /* columns; NULL: the usual names                                               */
    const char *metric;
    const rf_finetune_options *o;
    int64_t fold;                       /* with k_fold: the part that is held out                                        */
    bool fixed;                         /* the labels are given: those of a model                                        */
    size_t n, room;
    char **name;                        /* the labels, by id                                                             */
} rf__labelled;

/* The task by name ("cls", "glue/mrpc") and the columns of `o`. */
rf_status rf__labelled_open(rf__labelled *l, const rf_ctx *ctx, const rf_finetune_options *o, rf_error *why);
void rf__labelled_close(rf__labelled *l);

/* Training and dev items; the labels are those of `o`, or what the training file has, sorted. */
rf_status rf__labelled_train(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, rf__items *train, rf__items *dev,
                             rf_error *why);

/* Any file, with the labels that are there already.  `json` (or NULL) receives the records of JSON files, for the caller
 * to release.  Without `wanted` labels may be missing. */
rf_status rf__labelled_read(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, const char *file, bool wanted,
                            rf__items *out, rf_error *why);
rf_status rf__labelled_labels(rf__labelled *l, const rf_labels *from, rf_error *why);

int64_t rf__labelled_outputs(const rf__labelled *l);                    /* K                                              */
const char *const *rf__labelled_names(const rf__labelled *l);           /* NULL for reg, qa, mc                           */
const char *rf__labelled_metric(const rf__labelled *l, const rf_finetune_options *o);

#endif
