/* reader.h — reads the words of a template: names, signs, strings and numbers in its tags. */
#ifndef RF_TEXT_TEMPLATE_READER_H
#define RF_TEXT_TEMPLATE_READER_H

#include "text/template/parts.h"

enum { DEPTH = 100, NAME = 64 }; /* parts in each other; bytes of a name */

typedef struct rf__tags {
    rf_template *t;
    const char *start, *at, *end;
    rf_error *why;
    const char *after; /* where the text after the last tag begins                    */
    const char *counted; /* up to here there are `line` - 1 line ends                   */
    int line;
    char *string;        /* [size of the template + 4] the string that is read          */
    char tag[NAME];    /* the tag that ended a body                                   */
    int depth, loops;  /* of expressions and blocks; of loops                         */
} rf__tags;

static inline bool rf__tags_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}
static inline bool rf__tags_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool rf__tags_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* Each returns NULL: an error, with the line and what comes next. enter: p, one part deeper. */
void *rf__tags_wrong(rf__tags *p, rf_status status, const char *what);
void *rf__tags_no_memory(rf__tags *p);
void *rf__tags_enter(rf__tags *p);

/* A node of the tree; one with a value, which it takes. NULL: failed, now or before. */
rf__phrase *rf__tags_node(rf__tags *p, rf__phrase_kind kind, const char *name, rf__phrase *a, rf__phrase *b);
rf__phrase *rf__tags_constant(rf__tags *p, rf__phrase_kind kind, json_t *value);

/* White space is skipped before signs and words.
 *
 *   begins        whether `what` comes next
 *   closes        whether a tag ends here
 *   sign, word    the same, and it is read
 *   peek          the next word, "" if there is none
 *   name, need    a word, a sign that must come; false: failed */
void rf__tags_skip(rf__tags *p);
bool rf__tags_begins(const rf__tags *p, const char *what);
bool rf__tags_closes(const rf__tags *p);
bool rf__tags_sign(rf__tags *p, const char *what);
bool rf__tags_peek(rf__tags *p, char out[NAME]);
bool rf__tags_word(rf__tags *p, const char *what);
bool rf__tags_name(rf__tags *p, char out[NAME]);
bool rf__tags_need(rf__tags *p, const char *what);

/* Literals; quote: whether a string begins here. */
static inline bool rf__tags_quote(const rf__tags *p) { return p->at < p->end && (*p->at == '"' || *p->at == '\''); }
rf__phrase *rf__tags_string(rf__tags *p);
rf__phrase *rf__tags_number(rf__tags *p);

#endif
