/* classify.c — what a fine-tuned model (roformer finetune --task cls) says about texts.
 *
 *     classify reviews "a charming and often affecting journey" "a dull book" */
#include <stdio.h>

#include <roformer/pipeline.h>

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s MODEL TEXT ...\n", argv[0]), 2;
    rf_error why = {0};
    rf_pipeline *p = NULL;
    const rf_label_score *label;
    int64_t labels;
    rf_status status = rf_pipeline_open(NULL, argv[1], RF_F32, &p, &why);
    for (int i = 2; i < argc && !status; i++) {
        status = rf_classify(p, argv[i], RF_STRING, NULL, 0, &label, &labels, &why);
        if (!status) printf("%-12s %.3f  %s\n", label[0].label, label[0].score, argv[i]);
    }
    if (status) fprintf(stderr, "%s\n", why.text);
    rf_pipeline_close(p);
    return status != RF_OK;
}
