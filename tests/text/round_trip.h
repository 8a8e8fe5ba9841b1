/* round_trip.h — opens a tokenizer, encodes a text and decodes its ids: for t_fail_allocations. */
#ifndef T_ROUND_TRIP_H
#define T_ROUND_TRIP_H

#include <string.h>

#include "roformer/tokenizer.h"

typedef struct round_trip {
    char folder[256];
    const char *text;
} round_trip;

static rf_status there_and_back(const rf_ctx *c, void *of, rf_error *why)
{
    const round_trip *r = of;
    rf_tokenizer *t = NULL;
    rf_encoding e;
    rf_encoding_init(&e, c);
    rf_status status = rf_tokenizer_open(c, r->folder, &t, why);
    if (!status) status = rf_encode(t, r->text, strlen(r->text), NULL, 0, 0, 0, &e, NULL, why);
    if (!status) {
        char *back = rf_decode(t, e.id, e.n, 1, 0, NULL);
        if (!back) status = RF_ENOMEM;
        rf_text_free(t, back);
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return status;
}

#endif
