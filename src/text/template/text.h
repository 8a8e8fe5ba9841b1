/* text.h — strings of templates: text.c. */
#ifndef RF_TEXT_TEMPLATE_TEXT_H
#define RF_TEXT_TEMPLATE_TEXT_H

#include "text/template/parts.h"

/* A string that grows; bytes count as steps. */
typedef struct rf__text {
    rf__rendering *r;
    char *at;
    size_t n, capacity;
} rf__text;
void rf__text_put(rf__text *t, const char *text, size_t size);
void rf__text_line(rf__text *t, int indent, int level); /* a line end and blanks; nothing if indent is below 0 */
json_t *rf__text_take(rf__text *t);                       /* as a value; the text is freed */

/* Argument i of a call, or the one of this name; NULL: neither. */
const json_t *rf__template_argument(const rf__arguments *x, size_t i, const char *name);

/* The first place of `what` from byte `from` on; a number above n: there is none. */
size_t rf__text_find(const char *s, size_t n, size_t from, const char *what, size_t size);

/* The characters of a string as a list; the values of a list as one string with `between` (NULL: nothing). */
json_t *rf__text_characters(rf__rendering *r, const json_t *v);
json_t *rf__text_joined(rf__rendering *r, const json_t *list, const json_t *between, const char *what);

/* The methods of strings, and the filter title, which is another one than the method; whether it is one of them. */
#define RF__TITLE_FILTER "filter title"
bool rf__text_is_method(const char *name);
json_t *rf__text_method(rf__rendering *r, const json_t *of, const char *name, const rf__arguments *x);

#endif
