/* heads.c — the heads on top of the encoder, other than the language-model head. The family selects the kind of a head
 * and the tokens that it uses.
 *
 *     dense      act(drop(h_[CLS]) W_d + b_d),  drop,  W_o + b_o      transformers' RoFormerClassificationHead
 *     dense_tanh   the same with tanh and classifier_dropout         XLMRobertaClassificationHead; that of BART
 *     dropped_gelu   the same with GELU and classifier_dropout       ElectraClassificationHead
 *     pooled     tanh(h_[CLS] W_p + b_p),  drop,  W_o + b_o                       BERT's pooler and classifier
 *     token      drop(h) W + b
 *     plain      h W + b                            for answers two columns; for candidates their last, first or mean h
 *     masked     norm(act(h W_t + b_t))             before the decoder
 *     masked_gelu  the same with GELU, regardless of hidden_act              XLMRobertaLMHead
 *     transformed  drop(masked_gelu) W + b                                ModernBertForSequenceClassification
 *     dense_gelu   gelu(h W_d + b_d) W + b                            EuroBertForSequenceClassification
 *     dense_relu  drop(relu(h_[CLS] W_d + b_d)) W + b                  DistilBertForSequenceClassification
 *     detect     act(h W_d + b_d) W + b                               ElectraDiscriminatorPredictions
 *     none       h                                  pooled texts, as in sentence-transformers (Reimers & Gurevych 2019)
 *
 * A candidate's last token is its own last one. transformers uses the last column of the padded batch, which is the
 * same without padding. With RF_HEAD_INPUT_LAST, tokens that are pad_token_id do not count at the end of a text, even
 * if the tokenizer adds them, as in transformers' classes of LLaMA's kind. New heads use the first token, for which
 * both always agree. */
#include "graph/graph.h"
#include "model/encoder.h"
#include "model/family.h"
#include "store/task.h"

static rf_head_input head_input_of(const rf_params *p) { return rf__family_head(p->family, p->head)->input; }

static bool uses_means(const rf_params *p)
{
    return head_input_of(p) == RF_HEAD_INPUT_SUMMARY && p->config.summary == RF_SUMMARY_MEAN;
}

/* Whether the logits of a text are the mean of those of its tokens. */
static bool pools_logits(const rf_params *p)
{
    return head_input_of(p) == RF_HEAD_INPUT_SUMMARY && p->config.summary == RF_SUMMARY_LATE;
}

/* How the vectors of a text's tokens are pooled; false: the head does not use all of them. */
static bool pooling_of(const rf_params *p, rf_pooling *out)
{
    const int named = head_input_of(p) == RF_HEAD_INPUT_POOLED ? rf__pooling_of(p->config.sentence_pooling) : -1;
    *out = named < 0 ? RF_POOL_MEAN : (rf_pooling)named;
    return head_input_of(p) == RF_HEAD_INPUT_POOLED || uses_means(p);
}

bool rf__task_rows(const rf_params *p)
{
    rf_pooling how;
    return head_input_of(p) != RF_HEAD_INPUT_ALL && !pooling_of(p, &how) && !pools_logits(p);
}

/* The tokens that the head uses, one of each sequence; NULL: all of them, or out of memory. */
static int32_t *rows_of(rf_graph *g, const rf_params *params, const rf_batch *b)
{
    const bool own = head_input_of(params) == RF_HEAD_INPUT_LAST;
    const bool end = head_input_of(params) == RF_HEAD_INPUT_END;
    const bool last = own || end ||
                      (head_input_of(params) == RF_HEAD_INPUT_SUMMARY && params->config.summary == RF_SUMMARY_LAST);
    int32_t *row = !rf__task_rows(params) ? NULL : rf__push(g, (size_t)b->B, sizeof *row);
    for (int64_t i = 0; row && i < b->B; i++) {
        row[i] = last ? b->start[i + 1] - 1 : b->start[i];
        while (own && row[i] > b->start[i] && b->id[row[i]] == params->config.pad_token_id) row[i]--;
        while (end && row[i] > b->start[i] && b->id[row[i]] != params->config.eos_token_id) row[i]--;
    }
    return row;
}

/* ---- the heads; x: the vectors that they use ---- */

static double classifier_dropout(const rf_config *c)
{
    return c->classifier_dropout >= 0 ? c->classifier_dropout : c->hidden_dropout_prob;
}

rf_tensor *rf__head_dense(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    x = rf__dropout(g, x, c->hidden_dropout_prob);
    x = rf__linear(g, x, w->dense, w->dense_bias, c->hidden_act);
    x = rf__dropout(g, x, c->hidden_dropout_prob);
    return rf__linear(g, x, w->out, w->out_bias, RF_ACT_NONE);
}

rf_tensor *rf__head_dense_tanh(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    x = rf__dropout(g, x, classifier_dropout(c));
    return rf__head_pooled(g, c, w, x);
}

static rf_tensor *classify(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x, rf_act act)
{
    x = rf__linear(g, x, w->dense, w->dense_bias, act);
    x = rf__dropout(g, x, classifier_dropout(c));
    return rf__linear(g, x, w->out, w->out_bias, RF_ACT_NONE);
}

rf_tensor *rf__head_pooled(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return classify(g, c, w, x, RF_ACT_TANH);
}

rf_tensor *rf__head_dense_relu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return classify(g, c, w, x, RF_ACT_RELU);
}

rf_tensor *rf__head_dropped_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return classify(g, c, w, rf__dropout(g, x, classifier_dropout(c)), RF_ACT_GELU);
}

rf_tensor *rf__head_token(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__linear(g, rf__dropout(g, x, classifier_dropout(c)), w->out, w->out_bias, RF_ACT_NONE);
}

bool rf__summary_projects(const rf_config *c, int64_t number)
{
    (void)number;
    return c->summary_use_proj != 0;
}

rf_tensor *rf__head_summary(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    if (w->dense) x = rf__linear(g, x, w->dense, w->dense_bias, c->summary_activation);
    else if (c->summary_activation) x = rf__activate(g, x, c->summary_activation);
    return rf__head_token(g, c, w, x);
}

rf_tensor *rf__head_plain(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    (void)c;
    return rf__linear(g, x, w->out, w->out_bias, RF_ACT_NONE);
}

static rf_tensor *transform(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x, rf_act act)
{
    x = rf__linear(g, x, w->dense, w->dense_bias, act);
    return rf__norm(g, x, NULL, 0, w->norm, w->norm_bias, c->layer_norm_eps, RF_NORM_LAYER);
}

rf_tensor *rf__head_masked(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return transform(g, c, w, x, c->hidden_act);
}

rf_tensor *rf__head_masked_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return transform(g, c, w, x, RF_ACT_GELU);
}

rf_tensor *rf__head_transformed(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__head_token(g, c, w, rf__head_masked_gelu(g, c, w, x));
}

rf_tensor *rf__head_dense_gelu(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    (void)c;
    x = rf__linear(g, x, w->dense, w->dense_bias, RF_ACT_GELU);
    return rf__linear(g, x, w->out, w->out_bias, RF_ACT_NONE);
}

rf_tensor *rf__head_detect(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    x = rf__linear(g, x, w->dense, w->dense_bias, c->hidden_act);
    return rf__linear(g, x, w->out, w->out_bias, RF_ACT_NONE);
}

rf_tensor *rf__head_none(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    (void)g, (void)c, (void)w;
    return x;
}

/* ---- called by tasks ---- */

static rf_tensor *logits(rf_graph *g, const rf_encoder *e, rf_tensor *x)
{
    const rf_params *p = rf__encoder_params(e);
    if (p->head == RF_HEAD_MLM || p->head == RF_HEAD_SEQ2SEQ)
        return rf__stop(g, RF_EUNSUPPORTED, "model: expected a head for texts, tokens, answers or choices, got none");
    return rf__family_head(p->family, p->head)->forward(g, &p->config, rf__encoder_head(e), x);
}

rf_tensor *rf__task_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const rf_batch *b)
{
    const rf_params *p = rf__encoder_params(e);
    const int32_t *row = rows_of(g, p, b);
    rf_pooling how;
    if (pooling_of(p, &how)) h = rf__pool(g, h, b->start, b->B, how);
    if (pools_logits(p)) return rf__pool(g, logits(g, e, h), b->start, b->B, RF_POOL_MEAN);
    return logits(g, e, row ? rf__rows(g, h, row, b->B) : h);
}

/* RoFormer-Sim's vectors, W h_[CLS] + b. */
static rf_tensor *vectors(rf_graph *g, rf_encoder *e, const rf_batch *b)
{
    return rf__encoder_vector(g, e, rf__encoder_forward_rows(g, e, b, b->start, b->B));
}

rf_tensor *rf__task_forward(rf_graph *g, rf_encoder *e, const rf_batch *b)
{
    const rf_params *p = rf__encoder_params(e);
    if (p->head == RF_HEAD_MLM && p->config.linear_pooler) return vectors(g, e, b);
    const int32_t *row = rows_of(g, p, b);
    return row ? logits(g, e, rf__encoder_forward_head(g, e, b, row, b->B))
               : rf__task_logits(g, e, rf__encoder_forward_head(g, e, b, NULL, 0), b);
}
