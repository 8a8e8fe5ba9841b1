/* numbers.c — what a model computes, with all digits, to compare builds for two systems (check_wasi.sh).
 *
 *     numbers ISA SENTENCE-MODEL MASKED-MODEL f32|int8
 *
 * Prints the ids of a text, its vector, and the likeliest words for a mask with their probabilities. ISA: "" is the
 * best of the machine. */
#include <stdio.h>
#include <string.h>

#include <roformer/pipeline.h>
#include <roformer/tokenizer.h>

static const char *const text[] = {"The old river flows through the valley, and it reaches the sea."};

static rf_status print_ids(const rf_ctx *ctx, const rf_tokenizer *t, rf_error *why)
{
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    const rf_status status = rf_encode(t, text[0], strlen(text[0]), NULL, 0, 0, 0, &e, NULL, why);
    for (size_t i = 0; !status && i < e.n; i++) printf("id %d\n", (int)e.id[i]);
    rf_encoding_clear(&e);
    return status;
}

static rf_status print_vector(const rf_ctx *ctx, const char *folder, rf_type type, rf_error *why)
{
    rf_pipeline *p = NULL;
    const float *v;
    rf_status status = rf_pipeline_open(ctx, folder, type, &p, why);
    if (!status) status = print_ids(ctx, rf_model_tokenizer(rf_pipeline_model(p)), why);
    if (!status) status = rf_embed_texts(p, text, NULL, 1, NULL, &v, NULL, why);
    for (int64_t i = 0; !status && i < rf_pipeline_width(p); i++) printf("vector %.9g\n", (double)v[i]);
    rf_pipeline_close(p);
    return status;
}

static rf_status print_words(const rf_ctx *ctx, const char *folder, rf_type type, rf_error *why)
{
    static const char *const masked[] = {"The river flows into the [MASK] Sea, and the [MASK] is near."};
    rf_pipeline *p = NULL;
    const rf_mask *mask;
    int64_t masks;
    rf_status status = rf_pipeline_open(ctx, folder, type, &p, why);
    if (!status) status = rf_fill_mask(p, masked, NULL, 1, NULL, &mask, &masks, NULL, why);
    for (int64_t m = 0; !status && m < masks; m++)
        for (int64_t k = 0; k < mask[m].words; k++)
            printf("word-%s %.9g\n", mask[m].word[k].token, (double)mask[m].word[k].score);
    rf_pipeline_close(p);
    return status;
}

int main(int argc, char **argv)
{
    rf_ctx_options o;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    if (argc != 5) return fprintf(stderr, "usage: numbers ISA SENTENCE-MODEL MASKED-MODEL f32|int8\n"), 2;
    const rf_type type = strcmp(argv[4], "int8") ? RF_F32 : RF_I8;
    rf_ctx_defaults(&o);
    o.threads = 1;
    o.isa = *argv[1] ? argv[1] : NULL;
    if (rf_ctx_new(&o, &ctx, &why) || print_vector(ctx, argv[2], type, &why) || print_words(ctx, argv[3], type, &why))
        fprintf(stderr, "%s\n", why.text);
    rf_ctx_free(ctx);
    return why.code != RF_OK;
}
