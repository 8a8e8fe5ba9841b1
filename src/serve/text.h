/* text.h — a text that grows: the answer of a request. */
#ifndef SRV_TEXT_H
#define SRV_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "roformer/context.h"

/* Writing fails as a whole: after a failure, later calls do nothing. */
typedef struct srv_text {
    char *at;
    size_t n, capacity;
    size_t most; /* bytes; 0: any number                                                                     */
    bool failed;
    bool full; /* it failed because of `most`                                                              */
} srv_text;

void srv_put(srv_text *t, const char *text, size_t size);
void srv_puts(srv_text *t, const char *text);
void srv_printf(srv_text *t, const char *format, ...) RF_PRINTF(2, 3);
void srv_text_clear(srv_text *t); /* keeps `most` */

/* A string of JSON with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void srv_put_string(srv_text *t, const char *text, size_t size);

/* A value of JSON; it is not freed. NULL: no memory. */
void srv_put_json(srv_text *t, const json_t *value);

/* A finite float with at most 9 significant digits, from which strtof makes the same float. */
void srv_put_float(srv_text *t, float x);
void srv_put_floats(srv_text *t, const float x[], size_t n); /* [1.5,2] */

/* The little-endian bytes of floats in base64 (RFC 4648), with quotes. */
void srv_put_base64(srv_text *t, const float x[], size_t n);

#endif
