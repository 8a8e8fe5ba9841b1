/* answers.h — what the routes answer with (answers.def), for openapi.json and /docs. */
#ifndef SRV_ANSWERS_H
#define SRV_ANSWERS_H

#include "serve/api/api.h"

typedef struct srv_answer_row {
    const char *step, *tag, *answer, *example;
} srv_answer_row;
const srv_answer_row *srv_answer_of(const srv_route *x); /* NULL: the table has none */

/* Objects of OpenAPI: the schema of a type, all named types, the content of an answer and of an error. */
json_t *srv_schema_of_type(const char *type);
json_t *srv_types(void);
json_t *srv_content(const srv_answer_row *row);
json_t *srv_error_content(const srv_route *x, const srv_answer_row *row);

#endif
