/* example_format.h — the format of a fine-tuning task's examples: the texts of a record, its labels, and how an item is
 * made of it.  The tasks define the rows (src/task/tasks/); code that reads files is given a row. */
#ifndef RF_DATA_EXAMPLE_FORMAT_H
#define RF_DATA_EXAMPLE_FORMAT_H

#include "base/base.h"

typedef struct rf__text rf__text;
typedef struct rf__items rf__items;
typedef struct rf__layout rf__layout;
typedef struct rf__file_record rf__file_record;
typedef struct rf__records rf__records;
typedef struct rf__labelled rf__labelled;
typedef struct rf__example rf__example;

/* What an item keeps of its labels. */
typedef enum rf__label_kind {
    RF__LABEL_CLASS,                    /* a number for each example                                     label [n]    */
    RF__LABEL_TOKENS,                 /* one for each token, -1 where there is none                    label [tokens] */
    RF__LABEL_SPAN,                     /* the first and the last token of an answer                     label [2 n]  */
    RF__LABEL_VECTOR,                   /* a number for each output of the model                         target [n K] */
    RF__LABEL_LIST,                     /* a number for each sequence                              target [sequences] */
} rf__label_kind;

/* What the column or member of the label holds. */
typedef enum rf__label_member {
    RF__MEMBER_NONE,                    /* there is no such column: the task finds its labels itself                  */
    RF__MEMBER_NAME,                    /* a name; in JSON a string or an integer                                     */
    RF__MEMBER_NUMBER,                  /* a number, in JSON also as a string                                         */
    RF__MEMBER_SCORE,                   /* the same, and need not be there unless it is named                         */
    RF__MEMBER_SCORES,                  /* the same; in JSON also a list, which the task reads itself                 */
    RF__MEMBER_NAMES,                   /* names, in JSON also a list of them                                         */
    RF__MEMBER_VALUE,                   /* a value of JSON that the task reads itself                                 */
} rf__label_member;

/* Scores need not be there. */
static inline bool rf__label_may_lack(rf__label_member m) { return m == RF__MEMBER_SCORE || m == RF__MEMBER_SCORES; }

typedef rf_status rf__label_fn(void *user, rf__text name, rf_error *why);

/* Files that are no JSON: rf__records_table, rf__records_conll. */
typedef rf_status rf__read_lines(rf__records *r, const rf__layout *l, rf_error *why);

typedef struct rf__example_format {
    const char *name;                   /* of the task                                                                */
    bool text, pair;                    /* a column or member for the text; one for a second text, which may be there */
    rf__label_member label;
    rf__read_lines *lines;              /* NULL: examples are read from JSON alone                                    */
    bool squad;                         /* SQuAD's own document is read                                               */
    int64_t taught;                     /* vectors of a teacher for each example; 0: it has none to learn             */

    /* Calls `one` for each label of a record (at NULL: neither string nor integer).  NULL: labels have no names. */
    rf_status (*labels)(const rf__labelled *l, const rf__file_record *r, rf__label_fn *one, void *user, rf_error *why);
    size_t least_labels;                /* different ones, to learn anything                                          */
    bool ordered;                       /* their order means something: it is given, or they are whole numbers        */
    bool stratified;                    /* folds have equal shares of each                                            */
    int64_t (*outputs)(int64_t labels); /* of the model; NULL: one for each label, or one where labels have no names  */

    rf__label_kind kind;
    rf_status (*example)(rf__example *m, rf__items *out, rf_error *why);    /* the items of a record                  */
} rf__example_format;

#endif
