/* cancel.c — a long call that ends with a time limit or with Ctrl-C; afterwards the pipeline still works.
 *
 *     cancel models/roformer-small-en-sentences 0.5 "A dog barks." */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <roformer/pipeline.h>

enum { TEXTS = 20000 };
static const char *text[TEXTS];
static rf_cancel *flag;

static void stop(int number)
{
    (void)number;
    rf_cancel_set(flag);
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s MODEL SECONDS TEXT\n", argv[0]), 2;
    for (int i = 0; i < TEXTS; i++) text[i] = argv[3];
    rf_error why = {0};
    rf_pipeline *p = NULL;
    const float *v;
    rf_status status = rf_cancel_new(NULL, &flag, &why);
    if (!status) status = rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why);
    if (!status) {
        signal(SIGINT, stop);
        rf_pipeline_set_cancel(p, flag);
        rf_cancel_after(flag, atof(argv[2]));
        status = rf_embed_texts(p, text, NULL, TEXTS, NULL, &v, NULL, &why);
        printf("%d texts: %s\n", TEXTS, status == RF_ECANCELED && rf_cancel_is_set(flag) ? "canceled" : "done");
        rf_cancel_clear(flag);
    }
    if (!status || status == RF_ECANCELED) status = rf_embed_texts(p, text, NULL, 1, NULL, &v, NULL, &why);
    if (!status) printf("one text: %.4f %.4f ...\n", (double)v[0], (double)v[1]);
    else fprintf(stderr, "%s\n", why.text);
    signal(SIGINT, SIG_DFL);
    rf_pipeline_close(p);
    rf_cancel_free(flag);
    return status != RF_OK;
}
