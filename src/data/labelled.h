/* labelled.h — labelled files (records.h), read into items: the labels that there are, and each example checked.
 *
 *     records  ->  labels, settled once: given, of the preset, or those of the training file, sorted  ->  items
 *
 * What an example of a task holds is its format's to say (example_format.h, src/task/tasks/).                        */
#ifndef RF_TRAIN_LABELLED_H
#define RF_TRAIN_LABELLED_H

#include "data/items.h"
#include "data/records.h"

/* What a task's name stands for: how its files are read, and what is usual. */
typedef struct rf__preset {
    const char *name;
    const rf__example_format *format;
    const char *text, *pair, *label;    /* columns; NULL: the usual names                                             */
    int bare[3];                        /* their numbers in files without a header; 0: none                           */
    const char *labels;                 /* in their order; NULL: those of the training file                           */
    const char *metric;
    int64_t bad;                        /* lines of the published files that are not what they should be, at most     */
    int64_t max_length;                 /* of GLUE's what the paper's fine-tuning had                                 */
} rf__preset;

struct rf__labelled {
    const rf_ctx *ctx;
    const rf__example_format *format;
    rf__layout layout;
    rf__preset preset;
    const rf_finetune_options *o;
    int64_t fold;                       /* with k_fold: the part that is held out                                     */
    bool fixed;                         /* the labels are given: those of a model                                     */
    bool nothing;                       /* questions: some of those to train on have no answer, so that none is one   */
    bool pairs;                         /* each example to train on has a second text                                 */
    const char *prompt;                 /* put before each text of an example, or NULL; somebody else's               */
    rf__teacher teacher;                /* of the examples to train on                                                */
    bool taught;                        /* ... which are being read                                                   */
    bool scored, graded;                /* scores that need not be there are; ... and some are neither 0 nor 1        */
    size_t tables, objects;             /* files that were tables, and JSON                                           */
    size_t n, capacity;
    char **name;                        /* the labels, by id                                                          */
    uint64_t empty;                     /* empty lines between examples that were passed over                         */
    uint64_t bad;                       /* lines that were passed over, and what was wrong with the first             */
    rf_error first;
};

/* Examples of the preset's task, and the columns of `o`. */
rf_status rf__labelled_open(rf__labelled *l, const rf_ctx *ctx, const rf__preset *preset, const rf_finetune_options *o,
                            rf_error *why);
void rf__labelled_close(rf__labelled *l);

/* After reading: RF_EARG for an option about columns that none of the files has. */
rf_status rf__labelled_check(const rf__labelled *l, const rf_finetune_options *o, const char *file, rf_error *why);

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
const char *const *rf__labelled_names(const rf__labelled *l);           /* NULL: labels have none                     */
const char *rf__metric_bare(const char *name);          /* "f1" of "eval_f1" and of "f1"                              */

/* ---- for a format's hooks ---- */

struct rf__example {
    rf__labelled *l;
    rf__records *r;
    const rf__file_record *record;
    bool with_labels, held, bad;        /* held: not to be trained on; bad: this record is                            */
    int32_t *id;                        /* its labels                                                                 */
    size_t n, capacity;
    float *target;                      /* [outputs]                                                                  */
};
#define RF__EXAMPLE_BAD(m, ...) ((m)->bad = true, rf__records_bad((m)->r, (m)->record->line, __VA_ARGS__))

rf_status rf__labels_column(const rf__labelled *l, const rf__file_record *r, rf__label_fn *one, void *user,
                            rf_error *why);
rf_status rf__labels_list(const rf__labelled *l, const json_t *list, rf__label_fn *one, void *user, rf_error *why);
static inline rf__text rf__json_string(const json_t *j)
{
    return (rf__text){json_string_value(j), json_string_length(j)};
}

/* The record's label as a number, [+-] digits [. digits] [e [+-] digits]; `what` names it in messages.  0, and the
 * record bad: it is none, or not finite. */
double rf__example_number(rf__example *m, const char *what);

/* `example` of a text or pair with one label: RF_OK and *id, or the record is bad. */
void rf__example_label(rf__example *m, int32_t *id);

#endif
