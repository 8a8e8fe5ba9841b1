/* train.c — trains a causal model on a text, with the vocabulary and the shape of another model, and tells how it goes.
 *
 *     train models/roformer-small-en corpus.txt my-causal-model 20 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roformer/train.h>

static int report(void *user, const rf_train_progress *p)
{
    (void)user;
    if (!strcmp(p->event, "step")) printf("step %d of %d: loss %.3f\n", (int)p->step, (int)p->max_steps, p->loss);
    return p->loss > 100 ? RF_TRAIN_STOP : RF_TRAIN_GO;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "usage: %s MODEL TEXT FOLDER STEPS\n", argv[0]), 2;
    const char *const text[] = {argv[2]};
    char config[4096];
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_train_options o;
    snprintf(config, sizeof config, "%s/config.json", argv[1]);
    rf_train_defaults(&o);
    o.text = text;
    o.texts = 1;
    o.model = argv[1];
    o.config = config;                                         /* a new model, not the other one's weights */
    o.output_dir = argv[3];
    o.objective = RF_OBJECTIVE_CLM;
    o.max_steps = atoi(argv[4]);
    o.logging_steps = 5;
    if (!rf_ctx_new(NULL, &ctx, &why)) rf_pretrain(ctx, &o, report, NULL, &why);
    if (why.code) fprintf(stderr, "%s\n", why.text);
    rf_ctx_free(ctx);
    return why.code != RF_OK;
}
