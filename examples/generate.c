/* generate.c — a prompt, and what a causal model (roformer pretrain --objective clm) writes after it, as it comes.
 *
 *     generate my-causal-model "The model" */
#include <stdio.h>

#include <roformer/pipeline.h>

static int show(void *user, const char *text, size_t bytes)
{
    (void)user;
    fwrite(text, 1, bytes, stdout);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s MODEL PROMPT\n", argv[0]), 2;
    rf_error why = {0};
    rf_pipeline *p = NULL;
    rf_generate_options o;
    if (!rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why) && !rf_generate_defaults_of(p, &o, &why)) {
        o.max_new_tokens = 20;                                   /* all else is as generation_config.json says */
        o.do_sample = 1;
        o.top_p = 0.9;
        printf("%s", argv[2]);
        if (!rf_generate(p, argv[2], RF_STRING, &o, show, NULL, NULL, &why)) printf("\n");
    }
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_pipeline_close(p);
    return why.code != RF_OK;
}
