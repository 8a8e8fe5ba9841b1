/* classify.c — labels of a text, the most likely first. */
#include "pipeline/pipeline.h"
#include "task/answerer.h"

/* Largest first; of equal scores, the earlier label first. */
static void sort(rf_label_score *s, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const rf_label_score one = s[i];
        int64_t at = i;
        for (; at && s[at - 1].score < one.score; at--) s[at] = s[at - 1];
        s[at] = one;
    }
}

rf_status rf__can_classify(const rf_pipeline *p, bool pairs, rf_error *why)
{
    const rf_config *c = rf_model_config(p->model);
    if (!p->answerer && c->linear_pooler && c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "classify: expected a model with a classification head, got "
                       "RoFormer-Sim, which embeds and generates texts");
    if (!p->answerer)
        return rf_fail(why, RF_EUNSUPPORTED, "classify: expected a fine-tuned model, got one without a head for "
                       "texts, tokens, answers or choices; `roformer finetune` makes one");
    if (!pairs && c->task_pairs && rf_config_head(c) != RF_HEAD_EMBED)
        return rf_fail(why, RF_EARG,
                       "classify: expected pairs of texts, on which this model was fine-tuned, got one text");
    return RF_OK;
}

rf_status rf_classify(rf_pipeline *p, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                      const rf_label_score **label, int64_t *labels, rf_error *why)
{
    const float *score;
    rf_status status = rf__pipeline_check(p, text, text ? 1 : 0, why);
    if (!status && text && (!label || !labels))
        status = rf_fail(why, RF_EARG, "classify: label, labels: expected a place for the labels, got NULL");
    if (!status) status = rf__can_classify(p, !text || pair, why);
    if (status || !text) return status;
    const size_t size = bytes == RF_STRING ? strlen(text) : bytes;
    const size_t pair_size = !pair ? 0 : pair_bytes == RF_STRING ? strlen(pair) : pair_bytes;
    if ((status = rf__answerer_classify(p->answerer, text, size, pair, pair_size, &score, why))) return status;
    const rf_labels *l = rf__answerer_labels(p->answerer);
    if (!p->label && !(p->label = rf__calloc(p->ctx, (size_t)l->n, sizeof *p->label)))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld labels", (long long)l->n);
    for (int64_t k = 0; k < l->n; k++) p->label[k] = (rf_label_score){l->name[k], (double)score[k]};
    sort(p->label, l->n);
    *label = p->label;
    *labels = l->n;
    return RF_OK;
}
