/* heads.c — what stands on top of the encoder when it answers something else than "which token?".
 *
 *     sequence   act(drop(h_[CLS]) W_d + b_d),  drop,  W_o + b_o               transformers' RoFormerClassificationHead
 *     pooled     tanh(h_[CLS] W_p + b_p),  drop,  W_o + b_o                       BERT's pooler and classifier
 *     token      drop(h) W + b
 *     span       h W + b                                                          two columns: begin, end
 *     choice     s W + b                                                      s: last, first or mean of a candidate's h
 *
 * A candidate's last token is its own last one.  transformers takes the last column of the padded batch, which is the
 * same where nothing is padded; heads made here take the first token, for which both agree always. */
#include "graph/graph.h"
#include "model/encoder.h"

bool rf__task_rows(const rf_params *p)
{
    return p->head == RF_HEAD_SEQUENCE || p->head == RF_HEAD_POOLED ||
           (p->head == RF_HEAD_CHOICE && p->config.summary != RF_SUMMARY_MEAN);
}

/* The tokens that the head looks at, one of each sequence; NULL: at all of them, or there is no memory. */
static int32_t *rows_of(rf_graph *g, const rf_params *params, const rf_batch *b)
{
    const bool last = params->head == RF_HEAD_CHOICE && params->config.summary == RF_SUMMARY_LAST;
    int32_t *row = !rf__task_rows(params) ? NULL : rf__push(g, (size_t)b->B, sizeof *row);
    for (int64_t i = 0; row && i < b->B; i++) row[i] = last ? b->start[i + 1] - 1 : b->start[i];
    return row;
}

/* x [B,C]: a vector of each sequence. */
static rf_tensor *of_text(rf_graph *g, const rf_encoder *e, rf_tensor *x)
{
    const rf_params *params = rf__encoder_params(e);
    const rf_config *c = &params->config;
    const bool pooled = params->head == RF_HEAD_POOLED;
    if (!pooled) x = rf_dropout(g, x, c->hidden_dropout_prob);
    x = rf_linear(g, x, rf__encoder_head(e, 0), rf__encoder_head(e, 1), pooled ? RF_ACT_TANH : c->hidden_act);
    x = rf_dropout(g, x, c->hidden_dropout_prob);
    return rf_linear(g, x, rf__encoder_head(e, 2), rf__encoder_head(e, 3), RF_ACT_NONE);
}

/* x: the vectors that the head looks at. */
static rf_tensor *logits(rf_graph *g, const rf_encoder *e, rf_tensor *x)
{
    const rf_params *params = rf__encoder_params(e);
    rf_tensor *w = rf__encoder_head(e, 0), *bias = rf__encoder_head(e, 1);
    switch (params->head) {
    case RF_HEAD_SEQUENCE:
    case RF_HEAD_POOLED: return of_text(g, e, x);
    case RF_HEAD_TOKEN: return rf_linear(g, rf_dropout(g, x, params->config.hidden_dropout_prob), w, bias, RF_ACT_NONE);
    case RF_HEAD_SPAN:
    case RF_HEAD_CHOICE: return rf_linear(g, x, w, bias, RF_ACT_NONE);
    case RF_HEAD_MLM:    break;
    }
    return rf__stop(g, RF_EUNSUPPORTED, "this model has no head for texts, tokens, answers or choices");
}

static bool means(const rf_params *p) { return p->head == RF_HEAD_CHOICE && p->config.summary == RF_SUMMARY_MEAN; }

rf_tensor *rf__task_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const rf_batch *b)
{
    const int32_t *row = rows_of(g, rf__encoder_params(e), b);
    if (means(rf__encoder_params(e))) h = rf_pool(g, h, b->start, b->B, RF_POOL_MEAN);
    return logits(g, e, row ? rf_rows(g, h, row, b->B) : h);
}

rf_tensor *rf__task_forward(rf_graph *g, rf_encoder *e, const rf_batch *b)
{
    const int32_t *row = rows_of(g, rf__encoder_params(e), b);
    return row ? logits(g, e, rf__encoder_forward_rows(g, e, b, row, b->B))
               : rf__task_logits(g, e, rf__encoder_forward(g, e, b), b);
}
