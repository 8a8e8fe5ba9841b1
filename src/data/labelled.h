/* labelled.h — labelled files (records.h), read into items: the labels that there are, and each example checked.
 *
 *     cls, reg, multilabel    text (or sentence, sentence1, question), pair (sentence2, ...), label (score, ...);
 *                             several labels of a text with commas between them, or a list in JSON
 *     tag                     {"tokens": [...], "tags": [...]}, or lines of CoNLL
 *     qa              {"question": .., "context": .., "answers": {"text": [..], "answer_start": [..]}}, or SQuAD's file
 *     mc                      {"text": .., "choices": [..], "label": 0}                                              */
#ifndef RF_TRAIN_LABELLED_H
#define RF_TRAIN_LABELLED_H

#include "data/items.h"
#include "data/presets.h"
#include "data/records.h"

typedef struct rf__labelled {
    const rf_ctx *ctx;
    rf_task task;
    rf__layout layout;
    const rf__preset *preset;
    const rf_finetune_options *o;
    int64_t fold;                       /* with k_fold: the part that is held out                                     */
    bool fixed;                         /* the labels are given: those of a model                                     */
    bool nothing;                       /* qa: some of the training questions have no answer, so that none is one     */
    size_t n, capacity;
    char **name;                        /* the labels, by id                                                          */
    uint64_t empty;                     /* empty lines between examples that were passed over                         */
    uint64_t bad;                       /* lines that were passed over, and what was wrong with the first             */
    rf_error first;
} rf__labelled;

/* The task by name ("cls", "glue/mrpc") and the columns of `o`. */
rf_status rf__labelled_open(rf__labelled *l, const rf_ctx *ctx, const rf_finetune_options *o, rf_error *why);
void rf__labelled_close(rf__labelled *l);

/* Training and dev items; the labels are those of `o`, of the preset, or what the training file has, sorted. */
rf_status rf__labelled_train(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, rf__items *train,
                             rf__items *dev, rf_error *why);

/* Any file, with the labels that are there already.  Without `with_labels` labels are not looked at, and no line is
 * passed over: there is an answer for each. */
rf_status rf__labelled_read(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, const char *file,
                            bool with_labels, rf__items *out, rf_error *why);
rf_status rf__labelled_labels(rf__labelled *l, const rf_labels *from, rf_error *why);

/* Items of records that are in memory already: labels settled (unless they are fixed), all examples. */
rf_status rf__labelled_items(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, rf__records *r,
                             bool with_labels, rf__items *out, rf_error *why);

int64_t rf__labelled_outputs(const rf__labelled *l);                    /* K                                          */
const char *const *rf__labelled_names(const rf__labelled *l);           /* NULL for reg, qa, mc                       */
const char *rf__metric_bare(const char *name);          /* "f1" of "eval_f1" and of "f1"                              */

#endif
