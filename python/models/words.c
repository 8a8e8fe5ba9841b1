/* words.c DICT.TXT OUT — compiles jieba's words for the wheel of the models, as `roformer dictionary --name jieba`. */
#include <stdio.h>

#include "roformer/context.h"
#include "roformer/tokenizer.h"

int main(int n, char **argument)
{
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    const char *text = n == 3 ? argument[1] : NULL;
    if (!text || rf_ctx_new(NULL, &ctx, &why) || rf_dictionary_compile(ctx, &text, 1, "jieba", argument[2], &why)) {
        fprintf(stderr, "%s\n", text ? why.text : "usage: words DICT.TXT OUT");
        return 1;
    }
    rf_ctx_free(ctx);
    return 0;
}
