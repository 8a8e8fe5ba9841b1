/* records.h — labeled files as records: texts and labels with their line, before tokenization.
 *
 *     .csv             rows of fields separated by commas, or another separator; "a, b" and """" as in RFC 4180; a
 *                      field may contain line ends
 *     .jsonl .ndjson   one object per line
 *     .json            the same, or one list of objects, or SQuAD's {"data": [{"paragraphs": ..}]}
 *     others           depends on the task: rows of fields separated by tabs, where a quote is an ordinary character;
 *                      or one word with its tag per line, an empty line between sentences
 *
 * each also as .gz or .zst. Text is UTF-8 without NUL, a line at most 64 MiB, a row at most 256 fields; white space
 * around labels is removed.
 *
 * A malformed line is counted and skipped; the caller sets the maximum number (rf__records_judge). Errors that make the
 * rest unreadable (a quote that is not closed, a missing column) end the reading. */
#ifndef RF_TRAIN_RECORDS_H
#define RF_TRAIN_RECORDS_H

#include "base/json.h"
#include "data/examples/items.h"

struct rf__file_record {
    rf__text text, pair, label;         /* at NULL: none                                                              */
    rf__text id;                 /* the example's id, read without `expected`; at NULL: none, or the integer in json */
    uint64_t line;                      /* from 1; in a .json with one document: the example                          */
    json_t *json;                       /* the object, for JSON and CoNLL                                             */
};

/* The columns or members to read. */
struct rf__layout {
    const rf__example_format *format;
    const char *text, *pair, *label; /* names, or numbers from 1 in a table without a header; NULL: the default names */
    const char *id;                     /* likewise; read without `expected`, and optional if it is NULL              */
    int bare[3];          /* text, pair, label if the first line has no such names; 0: none; all 0: it must have them */
    bool with_labels;                   /* labels must be present; otherwise they are ignored                         */
    bool pairs;                         /* a second text must be present, also under a default name                   */
    int header;                       /* for tables; AUTO: there is one unless all named columns are numbers */
    char separator;                     /* between fields of a table; 0: by the file name                             */
};
enum { RF__HEADER_AUTO, RF__HEADER_YES, RF__HEADER_NO };

struct rf__records {
    const rf_ctx *ctx;
    const char *path;
    char *data;                         /* contents of the file, which contain the fields                             */
    size_t size, at;                    /* at: after a byte order mark                                                */
    bool document;                      /* one JSON document                                                          */
    bool json, table;                   /* objects of JSON; rows of fields; neither: words with their tags            */
    rf__file_record *record;
    size_t n, capacity;
    bool with_labels;                   /* labels are                                                                 */
    bool assumed;                       /* the first line was read as an example because columns are numbered         */
    rf__text unread;                    /* a column that is not read, of a table that could have second texts        */
    uint64_t empty, blank;              /* empty lines between records; those after the last one                      */
    uint64_t bad, bad_line, first_line; /* malformed lines; the last one that was counted; the first one of the file  */
    rf_error first;                     /* the error of that one                                                      */
};

/* Cleared by the caller, also after an error. `path` must outlive the records. */
rf_status rf__records_read(rf__records *r, const rf_ctx *ctx, const char *path, const rf__layout *l, rf_error *why);
rf_status rf__records_from_memory(rf__records *r, const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                  const rf__layout *l, rf_error *why);
void rf__records_free(rf__records *r);

/* Readers of files other than JSON: `lines` of a format. */
rf__read_lines rf__records_table, rf__records_conll;

/* Counts a malformed line; the error of the first one is stored. */
void rf__records_bad(rf__records *r, uint64_t line, const char *format, ...) RF_PRINTF(3, 4);

/* RF_EDATA with the first malformed line and their number if there are more than `most`, or if there is no example. */
rf_status rf__records_judge(const rf__records *r, int64_t most, rf_error *why);

/* The id of an object, or NULL. */
const json_t *rf__record_id(const json_t *object, const char *expected);

/* The member `expected` of an object, or the first existing one of the default names for a label. */
const json_t *rf__record_member(const json_t *object, const char *expected);

/* Without surrounding white space; NULL stays NULL. */
static inline rf__text rf__trim(rf__text t)
{
    rf__trim_white(&t.at, &t.size);
    return t;
}

/* Text from a file as part of a message: at most `most` bytes, whole characters, "?" for bytes that are not UTF-8 and
 * for control characters. */
typedef struct rf__shown { char text[96]; } rf__shown;
rf__shown rf__show(rf__text t, size_t most);

bool rf__is_number(const char *s);                                       /* a whole number, "-" allowed               */

/* ---- between records.c and records_json.c ---- */

rf_status rf__records_json(rf__records *r, const rf__layout *l, rf_error *why);
rf_status rf__records_add(rf__records *r, rf__file_record record, rf_error *why); /* takes its json             */

/* Whether these bytes of the line are UTF-8 without NUL; otherwise the line is counted as malformed. */
bool rf__records_clean(rf__records *r, uint64_t line, const char *at, size_t size);

/* RF_EDATA: there is no column or member of this name (NULL: none of `usual`); the message lists `names`. */
rf_status rf__records_no_column(const rf__records *r, const char *what, const char *expected, const rf__text names[],
                                size_t n, rf_error *why);

extern const char *const rf__usual_text[], *const rf__usual_pair[], *const rf__usual_label[], *const rf__usual_id[];

#endif
