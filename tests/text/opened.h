/* opened.h — what the tests of tokenizer folders share; included after one_context.h, whose context they use. */
#ifndef OPENED_H
#define OPENED_H

#include "one_context.h"
#include "roformer/tokenizer.h"

/* The tokenizer of a folder that must be good. */
static rf_tokenizer *opened(const char *folder)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    return t;
}

#endif
