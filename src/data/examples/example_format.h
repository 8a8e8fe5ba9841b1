/* example_format.h — the format of a fine-tuning task's examples: the texts of a record, its labels, and how they
 * become an item. The tasks define the rows (src/task/tasks/), which are passed to the code that reads files. */
#ifndef RF_DATA_EXAMPLE_FORMAT_H
#define RF_DATA_EXAMPLE_FORMAT_H

#include "base/base.h"
#include "roformer/inspect/records.h"

typedef rf_record_field rf__text;
typedef struct rf__items rf__items;
typedef struct rf__layout rf__layout;
typedef struct rf__file_record rf__file_record;
typedef struct rf__records rf__records;
typedef struct rf__labeled rf__labeled;
typedef struct rf__example rf__example;

/* What an item stores of its labels. */
typedef enum rf__label_kind {
    RF__LABEL_CLASS,                    /* one number for each example                                   label [n]    */
    RF__LABEL_TOKENS,                 /* one for each token, -1: none                                  label [tokens] */
    RF__LABEL_SPAN,                     /* the first and the last token of an answer                     label [2 n]  */
    RF__LABEL_VECTOR,                   /* one number for each output of the model                       target [n K] */
    RF__LABEL_LIST,                     /* one number for each sequence                            target [sequences] */
} rf__label_kind;

/* The contents of the label's column or member. */
typedef enum rf__label_member {
    RF__MEMBER_NONE,                    /* there is no such column: the task finds its labels itself                  */
    RF__MEMBER_NAME,                    /* a name; in JSON a string or an integer                                     */
    RF__MEMBER_NUMBER,                  /* a number, in JSON also as a string                                         */
    RF__MEMBER_SCORE,                   /* the same, optional unless the column is named                              */
    RF__MEMBER_SCORES,                  /* the same; in JSON also a list, which the task reads itself                 */
    RF__MEMBER_NAMES,                   /* names, in JSON also a list of them                                         */
    RF__MEMBER_VALUE,                   /* a value of JSON that the task reads itself                                 */
} rf__label_member;

/* Whether the label is optional. */
static inline bool rf__label_may_lack(rf__label_member m) { return m == RF__MEMBER_SCORE || m == RF__MEMBER_SCORES; }

typedef rf_status rf__label_fn(void *user, rf__text name, rf_error *why);

/* Reads files other than JSON: rf__records_table, rf__records_conll. */
typedef rf_status rf__read_lines(rf__records *r, const rf__layout *l, rf_error *why);

typedef struct rf__example_format {
    const char *name;                   /* of the task                                                                */
    bool text, pair;                    /* a column or member for the text; one for a second text, which is optional */
    bool lists;                         /* JSON may have a list instead of the second text, which the task reads      */
    bool negatives;                     /* a table has no columns of negatives: only JSON may have some              */
    rf__label_member label;
    rf__read_lines *lines;              /* NULL: examples are only read from JSON                                     */
    bool squad;                         /* SQuAD's own format is supported                                            */
    int64_t taught;                     /* number of teacher's vectors for each example; 0: none                      */

    /* Calls `one` for each label of a record (at NULL: neither string nor integer). NULL: labels have no names. */
    rf_status (*labels)(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user, rf_error *why);
    size_t least_labels;                /* minimum number of different labels                                         */
    bool ordered;                       /* their order has a meaning: it is given, or they are whole numbers          */
    bool stratified;                    /* each fold has the same fraction of each label                              */
    int64_t (*outputs)(int64_t labels); /* outputs of the model; NULL: one for each label, or one if labels have no
                                           names */

    rf__label_kind kind;
    rf_status (*example)(rf__example *m, rf__items *out, rf_error *why);    /* creates the items of a record          */
} rf__example_format;

#endif
