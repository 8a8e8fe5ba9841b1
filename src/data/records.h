/* records.h — labelled files as records: texts and labels with the line that they come from, before any tokenizer.
 *
 *     .csv             rows of fields between commas, or another separator; "a, b" and """" as in RFC 4180; a field may
 *                      hold line ends
 *     .jsonl .ndjson   an object on a line
 *     .json            the same, or one list of objects, or SQuAD's {"data": [{"paragraphs": ..}]}
 *     all else         as the task says: rows of fields between tabs, a quote is a letter like any other; or a word and
 *                      its tag on a line, an empty line between sentences
 *
 * each also as .gz or .zst.  Text is UTF-8 without NUL, a line at most 64 MiB, a row at most 256 fields; labels come
 * without the white space around them.
 *
 * A line that is not what it must be is counted and passed over; how many may be is the caller's to say
 * (rf__records_judge). What makes the rest unreadable (a quote that never closes, no such column) ends the reading.  */
#ifndef RF_TRAIN_RECORDS_H
#define RF_TRAIN_RECORDS_H

#include "base/json.h"
#include "data/items.h"

struct rf__file_record {
    rf__text text, pair, label;         /* at NULL: none                                                              */
    rf__text id;                 /* the example's own name, read without `expected`; at NULL: none, or json's integer */
    uint64_t line;                      /* from 1; of a .json that is one document: the example                       */
    json_t *json;                       /* the object, of JSON and CoNLL                                              */
};

/* Where things are. */
struct rf__layout {
    const rf__example_format *format;
    const char *text, *pair, *label;   /* names, or numbers from 1 of a table without a header; NULL: the usual names */
    const char *id;                     /* likewise; read without `expected`, and need not be there when it is NULL   */
    int bare[3];                  /* text, pair, label when the first line has no such names; 0: none; all 0: it must */
    bool with_labels;                   /* labels must be there; otherwise they are not looked at                     */
    bool pairs;                         /* a second text must be there, also under a usual name                       */
    int header;                       /* of a table; AUTO: there is one unless all columns that are named are numbers */
    char separator;                     /* between fields of a table; 0: what the name says                           */
};
enum { RF__HEADER_AUTO, RF__HEADER_YES, RF__HEADER_NO };

struct rf__records {
    const rf_ctx *ctx;
    const char *path;
    char *data;                         /* the file; fields lie in it                                                 */
    size_t size, at;                    /* at: behind a byte order mark                                               */
    bool document;                      /* one JSON document                                                          */
    bool json, table;                   /* objects of JSON; rows of fields; neither: words and their tags             */
    rf__file_record *record;
    size_t n, capacity;
    bool with_labels;                   /* labels are                                                                 */
    bool assumed;                       /* the first line was taken as an example because columns are numbered        */
    uint64_t empty, blank;              /* empty lines between records; those behind the last one                     */
    uint64_t bad, bad_line, first_line; /* bad lines; the last one that was counted; the first one of the file        */
    rf_error first;                     /* what is wrong with that one                                                */
};

/* Freed by the caller, whatever is returned.  `path` must outlive the records. */
rf_status rf__records_read(rf__records *r, const rf_ctx *ctx, const char *path, const rf__layout *l, rf_error *why);
rf_status rf__records_from_memory(rf__records *r, const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                  const rf__layout *l, rf_error *why);
void rf__records_free(rf__records *r);

/* What files that are no JSON hold: `lines` of a format. */
rf__read_lines rf__records_table, rf__records_conll;

/* Counts a bad line; what is wrong with the first one is kept. */
void rf__records_bad(rf__records *r, uint64_t line, const char *format, ...) RF_PRINTF(3, 4);

/* RF_EDATA with the first bad line and their number when there are more than `most`, or no example. */
rf_status rf__records_judge(const rf__records *r, int64_t most, rf_error *why);

/* The id of an object, or NULL. */
const json_t *rf__record_id(const json_t *object, const char *expected);

/* The member `expected` of an object, or the first of the usual names for a label that is there. */
const json_t *rf__record_member(const json_t *object, const char *expected);

/* Without the white space around it; a NULL stays. */
static inline rf__text rf__trim(rf__text t)
{
    while (t.size && strchr(" \t\r\n\v\f", *t.at) && *t.at) t.at++, t.size--;
    while (t.size && strchr(" \t\r\n\v\f", t.at[t.size - 1]) && t.at[t.size - 1]) t.size--;
    return t;
}

/* Text from a file as part of a message: at most `most` bytes, whole characters, nothing below a space. */
typedef struct rf__shown { char text[96]; } rf__shown;
rf__shown rf__show(rf__text t, size_t most);

bool rf__is_number(const char *s);                                       /* a whole number, "-" allowed               */

/* ---- between records.c and records_json.c ---- */

rf_status rf__records_json(rf__records *r, const rf__layout *l, rf_error *why);
rf_status rf__records_add(rf__records *r, rf__file_record record, rf_error *why); /* takes its json             */

/* Are these bytes of the line UTF-8 without NUL?  Otherwise the line is counted as bad. */
bool rf__records_clean(rf__records *r, uint64_t line, const char *at, size_t size);

/* RF_EDATA: there is no column or member of this name (NULL: none of `usual`), but those of `names`. */
rf_status rf__records_no_column(const rf__records *r, const char *what, const char *expected, const rf__text names[],
                                size_t n, rf_error *why);

extern const char *const rf__usual_text[], *const rf__usual_pair[], *const rf__usual_label[], *const rf__usual_id[];

#endif
