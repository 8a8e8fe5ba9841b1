/* fill_mask.c — opens a model folder and fills in one mask.
 *
 *     fill_mask models/roformer-small-en "The capital of France is [MASK]."                                          */
#include <stdio.h>
#include <string.h>

#include <roformer/model.h>

static void best_five(const rf_tokenizer *t, const float *logit, int32_t V)
{
    int32_t taken[5];
    for (int k = 0; k < 5; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < V; i++) {
            int seen = 0;
            for (int j = 0; j < k; j++) seen |= taken[j] == i;
            if (!seen && (best < 0 || logit[i] > logit[best])) best = i;
        }
        taken[k] = best;
        printf("%8.3f  %s\n", (double)logit[best], rf_tokenizer_token(t, best));
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s MODEL \"text with [MASK]\"\n", argv[0]), 2;
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_model *model = NULL;
    rf_session *session = NULL;
    rf_encoding e = {0};
    const float *logits;

    if (rf_ctx_new(NULL, &ctx, &why) || rf_model_open(ctx, argv[1], &model, &why) ||
        rf_session_open(model, &session, &why))
        goto done;
    const rf_tokenizer *t = rf_model_tokenizer(model);
    rf_encoding_init(&e, ctx);
    if (!t || rf_encode(t, argv[2], strlen(argv[2]), NULL, 0, 0, 0, &e, NULL, &why)) goto done;

    const int32_t start[] = {0, (int32_t)e.n};
    const rf_batch batch = {.N = (int64_t)e.n, .B = 1, .id = e.id, .type = e.type, .start = start};
    for (int32_t n = 0; n < (int32_t)e.n; n++) {
        if (e.id[n] != rf_tokenizer_mask(t)) continue;
        if (rf_session_scores(session, &batch, &n, 1, &logits, &why)) goto done;
        best_five(t, logits, rf_tokenizer_size(t));
    }
done:
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_encoding_clear(&e);
    rf_session_close(session);
    rf_model_close(model);
    rf_ctx_free(ctx);
    return why.code != RF_OK;
}
