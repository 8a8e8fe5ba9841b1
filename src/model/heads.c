/* heads.c — what stands on top of the encoder when it answers something else than "which token?".
 *
 *     sequence   act(drop(h_[CLS]) W_d + b_d),  drop,  W_o + b_o                  transformers' RoFormerClassificationHead
 *     pooled     tanh(h_[CLS] W_p + b_p),  drop,  W_o + b_o                       BERT's pooler and classifier
 *     token      drop(h) W + b
 *     span       h W + b                                                          two columns: begin, end
 *     choice     s W + b                                                          s: last, first or mean of a candidate's h
 *
 * A candidate's last token is its own last one.  transformers takes the last column of the padded batch, which is the same
 * where nothing is padded; heads made here take the first token, for which both agree always. */
#include "graph/graph.h"
#include "model/encoder.h"

static rf_tensor *last_rows(rf_graph *g, rf_tensor *h, const rf_batch *b)
{
    int32_t *row = rf__push(g, (size_t)b->B, sizeof *row);
    for (int64_t i = 0; row && i < b->B; i++) row[i] = b->start[i + 1] - 1;
    return rf_rows(g, h, row, row ? b->B : 0);
}

static rf_tensor *summary(rf_graph *g, const rf_config *c, rf_tensor *h, const rf_batch *b)
{
    if (c->summary == RF_SUMMARY_LAST) return last_rows(g, h, b);
    return rf_pool(g, h, b->start, b->B, c->summary == RF_SUMMARY_MEAN ? RF_POOL_MEAN : RF_POOL_CLS);
}

static rf_tensor *of_text(rf_graph *g, const rf_encoder *e, rf_tensor *h, const rf_batch *b)
{
    const rf_params *params = rf__encoder_params(e);
    const rf_config *c = &params->config;
    const bool pooled = params->head == RF_HEAD_POOLED;
    rf_tensor *x = rf_pool(g, h, b->start, b->B, RF_POOL_CLS);
    if (!pooled) x = rf_dropout(g, x, c->hidden_dropout_prob);
    x = rf_linear(g, x, rf__encoder_head(e, 0), rf__encoder_head(e, 1), pooled ? RF_ACT_TANH : c->hidden_act);
    x = rf_dropout(g, x, c->hidden_dropout_prob);
    return rf_linear(g, x, rf__encoder_head(e, 2), rf__encoder_head(e, 3), RF_ACT_NONE);
}

rf_tensor *rf__task_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const rf_batch *b)
{
    const rf_params *params = rf__encoder_params(e);
    const rf_config *c = &params->config;
    rf_tensor *w = rf__encoder_head(e, 0), *bias = rf__encoder_head(e, 1);
    switch (params->head) {
    case RF_HEAD_SEQUENCE:
    case RF_HEAD_POOLED: return of_text(g, e, h, b);
    case RF_HEAD_TOKEN:  return rf_linear(g, rf_dropout(g, h, c->hidden_dropout_prob), w, bias, RF_ACT_NONE);
    case RF_HEAD_SPAN:   return rf_linear(g, h, w, bias, RF_ACT_NONE);
    case RF_HEAD_CHOICE: return rf_linear(g, summary(g, c, h, b), w, bias, RF_ACT_NONE);
    case RF_HEAD_MLM:    break;
    }
    return rf__stop(g, RF_EUNSUPPORTED, "this model has no head for texts, tokens, answers or choices");
}
