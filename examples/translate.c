/* translate.c — texts, their translations by a model of an encoder and a decoder, and which words come from which.
 *
 *     translate my-translator "A dog barks." "A man sleeps." */
#include <stdio.h>

#include <roformer/pipeline.h>

/* Called for each translation when it is there: texts do not wait for each other. */
static int show(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    (void)user;
    if (!t) return fprintf(stderr, "text %lld: %s\n", (long long)text + 1, why->text), 0;
    printf("%lld  %s  (score %.3f)\n  ", (long long)text + 1, t->text, t->of.score);
    for (int64_t i = 0; i < t->alignments; i++)
        printf(" %lld-%lld", (long long)t->alignment[i].source, (long long)t->alignment[i].target);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s MODEL TEXT...\n", argv[0]), 2;
    rf_error why = {0};
    rf_pipeline *p = NULL;
    rf_generate_options search;
    rf_translate_options o;
    if (!rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why)) {
        rf_translate_defaults(rf_pipeline_model(p), &search);      /* what generation_config.json says, then ours */
        search.num_beams = 4;
        search.length_penalty = 0.6;
        rf_translate_text_defaults(&o);
        o.generate = &search;
        o.alignments = 1;
        rf_translate_texts(p, (const char *const *)argv + 2, NULL, argc - 2, &o, show, NULL, &why);
    }
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_pipeline_close(p);
    return why.code != RF_OK;
}
