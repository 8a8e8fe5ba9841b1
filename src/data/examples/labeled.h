/* labeled.h — reads labeled files (records.h) into items: determines the set of labels, and checks each example.
 *
 *     records  ->  labels, determined once: given, of the preset, or those of the training file, sorted  ->  items
 *
 * The format of a task defines the contents of an example (example_format.h, src/task/tasks/). */
#ifndef RF_TRAIN_LABELED_H
#define RF_TRAIN_LABELED_H

#include "data/examples/items.h"
#include "data/examples/records.h"

/* A preset of a task: how its files are read, and the defaults. */
typedef struct rf__preset {
    const char *name;
    const rf__example_format *format;
    const char *text, *pair, *label;    /* columns; NULL: the default names                                           */
    int bare[3];                        /* their numbers in files without a header; 0: none                           */
    const char *labels;                 /* in order; NULL: those of the training file                                 */
    const char *metric;
    int64_t bad;                        /* maximum number of malformed lines in the published files                   */
    int64_t max_length;                 /* for GLUE, that of the paper's fine-tuning                                  */
} rf__preset;

struct rf__labeled {
    const rf_ctx *ctx;
    const rf__example_format *format;
    rf__layout layout;
    rf__preset preset;
    const rf_finetune_options *o;
    int64_t fold;                       /* with k_fold: the part that is held out                                     */
    bool fixed;                         /* the labels are given, by a model                                           */
    bool unnamed;                       /* ... as LABEL_0, LABEL_1, ...: in examples, their numbers stand for them    */
    const rf_labels *head;              /* such labels of a head that training starts from, or NULL                   */
    bool nothing;                       /* questions: some training questions have no answer, so "no answer" is valid */
    bool pairs;                         /* each training example has a second text                                    */
    const char *prompt;                 /* put before each text of an example, or NULL; owned by the caller           */
    rf__teacher teacher;                /* vectors for the training examples                                          */
    bool taught;                        /* ... which are being read                                                   */
    bool scored, graded;                /* optional scores are present; ... and some are neither 0 nor 1              */
    int64_t hot;                        /* labels: all are lists of 0 and 1 of this length; 0: none; -1: others       */
    char unread[64];                    /* a column that is not read, of a table without second texts; or ""          */
    size_t tables, objects;             /* number of files that were tables; that were JSON                           */
    size_t n, capacity;
    char **name;                        /* the labels, by id                                                          */
    uint64_t empty;                     /* empty lines between examples that were skipped                             */
    uint64_t bad;                       /* lines that were skipped, and the error of the first                        */
    rf_error first;
};

/* Opens the labels of the preset's task, with the columns of `o`. */
rf_status rf__labeled_open(rf__labeled *l, const rf_ctx *ctx, const rf__preset *preset, const rf_finetune_options *o,
                            rf_error *why);
void rf__labeled_close(rf__labeled *l);

/* After reading: RF_EARG for an option about columns that none of the files has. */
rf_status rf__labeled_check(const rf__labeled *l, const rf_finetune_options *o, const char *file, rf_error *why);

/* Reads training and dev items; the labels are those of `o`, of the preset, or of the training file, sorted. */
rf_status rf__labeled_train(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, rf__items *train,
                             rf__items *dev, rf_error *why);

/* Reads any file with the known labels. Without `with_labels`, labels are ignored and no line is skipped: there is a
 * prediction for each. */
rf_status rf__labeled_read(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, const char *file,
                            bool with_labels, rf__items *out, rf_error *why);
rf_status rf__labeled_labels(rf__labeled *l, const rf_labels *from, rf_error *why);

/* Converts records that are in memory to items: determines the labels (unless they are fixed), and adds all
 * examples. */
rf_status rf__labeled_items(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, rf__records *r,
                             bool with_labels, rf__items *out, rf_error *why);

int64_t rf__labeled_outputs(const rf__labeled *l);                    /* K                                          */
const char *const *rf__labeled_names(const rf__labeled *l);           /* NULL: labels have none                     */
const char *rf__metric_bare(const char *name);          /* "f1" for "eval_f1" and for "f1"                            */

/* ---- for a format's hooks ---- */

struct rf__example {
    rf__labeled *l;
    rf__records *r;
    const rf__file_record *record;
    bool with_labels, held, bad;        /* held: not for training; bad: this record is malformed                      */
    int32_t *id;                        /* its labels                                                                 */
    size_t n, capacity;
    float *target;                      /* [outputs]                                                                  */
};
#define RF__EXAMPLE_BAD(m, ...) ((m)->bad = true, rf__records_bad((m)->r, (m)->record->line, __VA_ARGS__))

rf_status rf__labels_column(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user,
                            rf_error *why);
rf_status rf__labels_list(const rf__labeled *l, const json_t *list, rf__label_fn *one, void *user, rf_error *why);
static inline rf__text rf__json_string(const json_t *j)
{
    return (rf__text){json_string_value(j), json_string_length(j)};
}

/* The record's label as a number, [+-] digits [. digits] [e [+-] digits]; `what` names it in messages. 0, and the
 * record is malformed, if it is not a finite number. */
double rf__example_number(rf__example *m, const char *what);

/* `example` for a text or pair with one label: returns RF_OK and sets *id, or the record is malformed. */
void rf__example_label(rf__example *m, int32_t *id);

#endif
