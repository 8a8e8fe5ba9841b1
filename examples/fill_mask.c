/* fill_mask.c — the five likeliest words for every mask of a text.
 *
 *     fill_mask models/roformer-small-en "The capital of [MASK] is [MASK]." */
#include <stdio.h>

#include <roformer/pipeline.h>

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s MODEL \"text with [MASK]\"\n", argv[0]), 2;
    const char *const text[] = {argv[2]};
    rf_error why = {0};
    rf_pipeline *p = NULL;
    const rf_mask *mask;
    int64_t masks;
    if (!rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why) &&
        !rf_fill_mask(p, text, NULL, 1, NULL, &mask, &masks, NULL, &why))
        for (int64_t m = 0; m < masks; m++)
            for (int64_t k = 0; k < mask[m].words; k++)
                printf("mask %d: %6.3f  %s\n", (int)m + 1, (double)mask[m].word[k].score, mask[m].word[k].token);
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_pipeline_close(p);
    return why.code != RF_OK;
}
