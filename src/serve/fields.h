/* fields.h — members of a JSON body: one table for each route makes the checks, openapi.json and the documentation. */
#ifndef SRV_FIELDS_H
#define SRV_FIELDS_H

#include "serve/server.h"

typedef enum srv_kind {
    SRV_END,
    SRV_BOOL,
    SRV_INT,  /* in [low, high]                                                                             */
    SRV_REAL, /* in [low, high]                                                                             */
    SRV_STRING,
    SRV_CHOICE,    /* one of the words of `choices`, separated by |                                              */
    SRV_STRINGS,   /* a string, or a list of strings                                                             */
    SRV_TEXTS,     /* a list of strings                                                                          */
    SRV_INPUTS,    /* a string, a list of strings, token ids, or a list of lists of these                        */
    SRV_PAIRS,     /* a string, a pair of strings, or a list of lists of one or two strings                      */
    SRV_TEXTS_OR_PAIRS, /* the same, or a list of strings                                                        */
    SRV_LABELED,   /* a text, {"text", "text_pair"}, or a list of these and of lists of one or two strings       */
    SRV_IDS,       /* a list of token ids, or a list of such lists                                               */
    SRV_OBJECT,    /* its members are in `members`                                                               */
    SRV_OBJECTS,   /* a list of objects                                                                          */
    SRV_DOCUMENTS, /* a list of strings or of objects with member "text"                                         */
    SRV_ANY,       /* checked by the route itself                                                                */
    SRV_IGNORED,   /* without effect on the answer                                                               */
    SRV_ONLY       /* only null or the value `choices` (as JSON) is supported                                    */
} srv_kind;

struct srv_field {
    const char *name;
    srv_kind kind;
    bool required;
    double low, high;
    const char *choices;
    const srv_field *members;
    const char *what;
};

/* Parses r->body as a JSON object and checks its members: r->in. false: answered. */
bool srv_read_body(srv_request *r);

/* Decodes %XX as bytes and terminates the text with a zero; returns its size, 0: no space. */
size_t srv_unescape(const char *text, size_t size, char *out, size_t space);

/* Whether members of a body that the table does not have are refused, as OpenAI and Cohere do, since other servers with
 * their routes have members of their own that change the answer. Otherwise they are ignored, as TEI does. */
bool srv_dialect_is_strict(srv_dialect d);

/* Checks the members of an object by a table. false: answered. */
bool srv_check(srv_request *r, const json_t *in, const srv_field *field);

/* A member that the table has, of r->in or of an object in it. */
bool srv_bool(const json_t *in, const char *name, bool otherwise);
int64_t srv_int(const json_t *in, const char *name, int64_t otherwise);
double srv_real(const json_t *in, const char *name, double otherwise);
const char *srv_string(const json_t *in, const char *name);   /* NULL: it is missing or null */
const json_t *srv_member(const json_t *in, const char *name); /* NULL: it is missing or null */

/* Texts of a member of kind SRV_STRINGS, SRV_TEXTS, SRV_DOCUMENTS: pointers into the body. `one`: it was a single
 * string. Freed with srv_texts_clear. false: answered (too many, none, an empty one, no memory). */
typedef struct srv_texts {
    const char **text;
    size_t *bytes;
    int64_t n;
    bool one;
} srv_texts;
bool srv_check_count(srv_request *r, const char *name, size_t n); /* of inputs; false: answered */
bool srv_read_texts(srv_request *r, const json_t *list, const char *name, srv_texts *out);
bool srv_read_some_texts(srv_request *r, const json_t *list, const char *name, bool empty, srv_texts *out); /* empty:
                                                                                     texts may be empty */
bool srv_read_labels(srv_request *r, const json_t *list, const char *name, srv_texts *out); /* of any number */
void srv_texts_clear(srv_texts *t);

#endif
