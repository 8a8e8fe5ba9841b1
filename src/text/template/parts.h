/* parts.h — what the files of templates share: parse.c, template.c, values.c. */
#ifndef RF_TEXT_TEMPLATE_PARTS_H
#define RF_TEXT_TEMPLATE_PARTS_H

#include <time.h>

#include "base/json.h"

/* The tree of a template: statements, then expressions. */
typedef enum rf__phrase_kind {
    NODE_TEXT,     /* value                                                       */
    NODE_OUTPUT,   /* {{ a }}                                                     */
    NODE_IF,       /* {% if a %} b {% else %} c                                   */
    NODE_FOR,      /* {% for d in a if e %} b {% else %} c                        */
    NODE_SET,      /* {% set d = a %}, or {% set d %} b {% endset %}              */
    NODE_MACRO,    /* {% macro name(d) %} b                                       */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_CONSTANT, /* value                                                       */
    NODE_NAME,     /* name                                                        */
    NODE_MEMBER,   /* a.name                                                      */
    NODE_ITEM,     /* a[b]                                                        */
    NODE_SLICE,    /* a[b:c:d]                                                    */
    NODE_CALL,     /* a(b), where b is a list of arguments; named ones have names */
    NODE_FILTER,   /* a | name(b)                                                 */
    NODE_TEST,     /* a is name(b)                                                */
    NODE_UNARY,    /* name a                                                      */
    NODE_BINARY,   /* a name b                                                    */
    NODE_CHOICE,   /* b if a else c                                               */
    NODE_LIST,     /* [a, ...]                                                    */
    NODE_DICT      /* {a: b, ...}: keys and values in turns                       */
} rf__phrase_kind;

typedef struct rf__phrase rf__phrase;
struct rf__phrase {
    rf__phrase_kind kind;
    int line;
    const char *name;
    json_t *value; /* owned by the template                                       */
    rf__phrase *a, *b, *c, *d, *e;
    rf__phrase *next; /* in a list                                                   */
};

typedef struct rf_template rf_template;
struct rf_template {
    const rf_ctx *ctx;
    rf_arena arena;    /* of nodes and names                                          */
    json_t *constants; /* all values of nodes                                         */
    char *name;
    rf__phrase *first;
    bool takes_parts;
};

/* Reads a text with line ends \n into t->first. */
rf_status rf__template_parse(rf_template *t, const char *text, size_t size, rf_error *why);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A text that is being made. A value is a reference to JSON, NULL if it is undefined; in a list or in a variable, an
 * undefined value is `undefined`. After a failure, `why` has its code, and values do not count. */
typedef struct rf__rendering {
    const rf_template *t;
    const struct tm *now;
    rf_error *why;
    json_t *undefined, *function;
    int line;      /* of what is computed                                         */
    int64_t steps; /* that are left                                               */
    int depth;     /* of calls of functions here                                  */
    int jump;      /* NODE_BREAK, NODE_CONTINUE: until the loop; otherwise 0      */
    char *out;
    size_t n, capacity;
    json_t *spaces; /* the namespaces                                              */
    struct rf__scope *scope;
    const rf__phrase *macro[64]; /* [macros] that are defined                                   */
    int macros;
} rf__rendering;

/* Arguments of a call: list[i], or an object of named ones. */
typedef struct rf__arguments {
    json_t *list, *named;
} rf__arguments;

/* Each returns a new reference, or NULL: undefined, or a failure. */
json_t *rf__template_fail(rf__rendering *r, rf_status status, const char *format, ...)
    RF_PRINTF(3, 4);
json_t *rf__template_made(rf__rendering *r, json_t *fresh); /* NULL: fails for lack of memory */
json_t *rf__template_text(rf__rendering *r, const char *text, size_t size);
json_t *rf__template_kept(const rf__rendering *r, json_t *stored); /* a value that is stored in a list or a variable */
bool rf__template_spend(rf__rendering *r, size_t bytes);             /* false: failed; one step, and those for bytes */

bool rf__template_true(const json_t *v);
bool rf__template_equal(rf__rendering *r, const json_t *a, const json_t *b);
bool rf__template_contains(rf__rendering *r, const json_t *whole, const json_t *part);
json_t *rf__template_string(rf__rendering *r, const json_t *v); /* Python's str() */
json_t *rf__template_listed(rf__rendering *r, const json_t *v); /* what a loop goes through, as a list */
json_t *rf__template_member(rf__rendering *r, const json_t *of, const char *name);
json_t *rf__template_item(rf__rendering *r, const json_t *of, const json_t *key);
json_t *rf__template_slice(rf__rendering *r, const json_t *of, json_t *const bound[3]);
json_t *rf__template_binary(rf__rendering *r, const char *sign, const json_t *a, const json_t *b);
json_t *rf__template_filter(rf__rendering *r, const char *name, const json_t *v, const rf__arguments *x);
bool rf__template_test(rf__rendering *r, const char *name, const json_t *v, const json_t *argument);
json_t *rf__template_method(rf__rendering *r, const json_t *of, const char *name, const rf__arguments *x);

#endif
