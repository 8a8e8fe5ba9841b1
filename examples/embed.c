/* embed.c — vectors of the texts given as arguments, and the cosines between them.
 *
 *     embed models/roformer-small-en-sentences "A dog barks." "The hound is loud." "Prices fell." */
#include <stdio.h>

#include <roformer/pipeline.h>

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s MODEL TEXT TEXT ...\n", argv[0]), 2;
    const char *const *text = (const char *const *)(argv + 2);
    const int n = argc - 2;
    rf_error why = {0};
    rf_pipeline *p = NULL;
    rf_embed_options o;
    const float *v;
    rf_embed_defaults(&o);
    o.normalize = 1;                                           /* cosines are then plain products */
    if (!rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why) && !rf_embed_texts(p, text, NULL, n, &o, &v, NULL, &why)) {
        const int64_t C = rf_model_config(rf_pipeline_model(p))->hidden_size;
        for (int a = 0; a < n; a++, printf("  %s\n", text[a - 1]))
            for (int b = 0; b < n; b++) {
                double cosine = 0;
                for (int64_t i = 0; i < C; i++) cosine += (double)v[a * C + i] * (double)v[b * C + i];
                printf("%7.3f", cosine);
            }
    }
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_pipeline_close(p);
    return why.code != RF_OK;
}
