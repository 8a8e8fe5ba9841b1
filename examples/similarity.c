/* similarity.c — embeds the lines given as arguments in one packed batch and prints their cosines.
 *
 *     similarity models/roformer-small-en "A dog barks." "The hound is loud." "Prices fell."                         */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roformer/model.h>

enum { MOST = 16 };

int main(int argc, char **argv)
{
    const int B = argc - 2;
    if (B < 2 || B > MOST) return fprintf(stderr, "usage: %s MODEL TEXT TEXT ... (at most %d)\n", argv[0], MOST), 2;
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_model *model = NULL;
    rf_session *session = NULL;
    rf_encoding e = {0};
    int32_t start[MOST + 1] = {0};
    const float *v;

    if (rf_ctx_new(NULL, &ctx, &why) || rf_model_open(ctx, argv[1], &model, &why) ||
        rf_session_open(model, &session, &why))
        goto done;
    rf_encoding_init(&e, ctx);
    for (int b = 0; b < B; b++) {                              /* texts lie end to end: no padding */
        const char *text = argv[2 + b];
        if (rf_encode(rf_model_tokenizer(model), text, strlen(text), NULL, 0, 0, RF_ENCODE_APPEND, &e, NULL, &why))
            goto done;
        start[b + 1] = (int32_t)e.n;
    }
    const rf_batch batch = {.N = (int64_t)e.n, .B = B, .id = e.id, .start = start};
    if (rf_session_embed(session, &batch, RF_POOL_MEAN, &v, &why)) goto done;

    const int64_t C = rf_model_config(model)->hidden_size;
    const rfk_table *k = rf_ctx_kernels(ctx);
    for (int a = 0; a < B; a++, printf("  %s\n", argv[1 + a]))
        for (int b = 0; b < B; b++) {
            const float *x = v + a * C, *y = v + b * C;
            printf("%7.3f", (double)k->dot(x, y, C) / sqrt((double)k->dot(x, x, C) * (double)k->dot(y, y, C)));
        }
done:
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_encoding_clear(&e);
    rf_session_close(session);
    rf_model_close(model);
    rf_ctx_free(ctx);
    return why.code != RF_OK;
}
