/* esm.c — ESM-2, a model of proteins.                              Lin et al. 2023; transformers' EsmFor...
 *
 * Pre-norm layers (bert_layer.c) with rotary positions in halves, without token types.
 *
 *     e       = word[id],  0 where id is <mask>               [N,C]
 *     h_0     = e (1 - 0.15 0.8) / (1 - n_mask / T)           with token_dropout, for each text of T tokens; else e
 *     h       = h + drop(a W_o + b_o),                        a as in bert_layer.c, of norm(h)
 *     h       = h + drop(gelu(norm(h) W_1 + b_1) W_2 + b_2)
 *     logits  = norm(gelu(norm(h_L) W_t + b_t)) word^T + b
 *     labels  = drop(tanh(drop(h_<cls>) W_d + b_d)) W_o + b_o
 *
 * The contact regression from attention maps is kept in files but not computed.
 *
 * T counts <cls> and <eos>.  Training zeroes 12 of 100 words, and the factor compensates for that, also without masked
 * words. The activation is GELU, independent of hidden_act. */
#include "model/families/esm.h"

static const double KEPT = 1 - 0.15 * 0.8;      /* fraction of the words that training keeps, which is fixed for all
                                                   ESM-2 models */

const rf_family_row rf__esm_embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "encoder.emb_layer_norm_after.weight", "C", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, last_bias, "encoder.emb_layer_norm_after.bias", "C", ZEROS, false, 0),
    RF_TENSOR(rf_bert_embedding, contact, "contact_head.regression.weight", "1A", ZEROS, false,
              RF_ROW_TABLE | RF_ROW_MAY_LACK),
    RF_TENSOR(rf_bert_embedding, contact_bias, "contact_head.regression.bias", "1", ZEROS, false, RF_ROW_MAY_LACK),
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_ESM_ATTENTION,
    RF_ESM_ROW("intermediate.dense.weight", "FC", NORMAL, true, 0, up),
    RF_ESM_ROW("intermediate.dense.bias", "F", ZEROS, false, 0, up_bias),
    RF_ESM_ROW("output.dense.weight", "CF", NORMAL, true, 0, down),
    RF_ESM_ROW("output.dense.bias", "C", ZEROS, false, 0, down_bias),
    {{0}, 0},
};

const rf_head_row rf__esm_heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_lm_head, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense_tanh},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_choice, rf__head_plain},
    RF_BERT_HEADS,
    {0},
};

const rf_class_row rf__esm_classes[] = {
    {RF_HEAD_MLM, "EsmForMaskedLM", false, false},
    {RF_HEAD_SEQUENCE, "EsmForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "EsmForTokenClassification", false, false},
    {RF_HEAD_SPAN, "EsmForQuestionAnswering", false, true},
    {RF_HEAD_CHOICE, "EsmForMultipleChoice", false, true},
    {RF_HEAD_EMBED, "EsmForSentenceEmbedding", false, true},
    {RF_HEAD_MLM, "EsmModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_ESM_KEYS,
    RF_USUAL(max_position_embeddings, 1026, 0),
    RF_USUAL(vocab_size, 33, 0),
    {0},
};

static const rf_known_key known[] = {RF_ESM_KNOWN, {0}};

/* Without biases in its feed-forward, a model is a Nucleotide Transformer (nucleotide_transformer.c). */
static const rf_config_sign signs[] = {{"add_bias_fnn", NULL, true, false}, {0}};

/* Without this key, the class uses learned positions, which are those of ESM-1b. */
rf_status rf__esm_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *type = json_object_get(root, "position_embedding_type");
    if (!type || json_is_null(type))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: position_embedding_type: expected \"rotary\" (ESM-2), got none, "
                       "which stands for the learned positions of ESM-1b", file);
    if (!c->token_dropout || c->mask_token_id >= 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: mask_token_id: expected the id of <mask> where token_dropout is true, got none",
                   file);
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    c->hidden_act = RF_ACT_GELU;
    return rf__esm_read(file, root, c, why);
}

void rf__esm_write(const rf_config *c, json_t **more)
{
    (void)c;
    rf__json_set(more, "position_embedding_type", json_string("rotary"));
}

/* The factor of each word: 0 if it is masked, otherwise larger the more of its text is masked. */
static bool put_factors(rf_graph *g, const rf_block *b, float *x)
{
    const int64_t C = b->config->hidden_size, mask = b->config->mask_token_id;
    for (int64_t s = 0; s < b->at.B; s++) {
        const int32_t begin = b->at.start[s], end = b->at.start[s + 1];
        int64_t masked = 0;
        for (int32_t n = begin; n < end; n++) masked += b->at.id[n] == mask;
        if (masked && masked == end - begin)
            return rf__stop(g, RF_ERANGE, "text %lld: expected a token that is not masked, as token_dropout scales by "
                            "their share, got none", (long long)s), false;
        const float factor = (float)(KEPT / (1 - (double)masked / (double)(end - begin)));
        for (int32_t n = begin; n < end; n++)
            for (int64_t i = 0; i < C; i++) x[n * C + i] = b->at.id[n] == mask ? 0 : factor;
    }
    return true;
}

rf_tensor *rf__esm_embed(rf_graph *g, const rf_block *b)
{
    const rf_bert_embedding *w = b->weights;
    const int64_t N = b->at.N, C = b->config->hidden_size;
    rf_tensor *word = rf__embed(g, w->word, b->at.id, N);
    if (!b->config->token_dropout) return word;
    float *factor = rf__push(g, (size_t)(N * C), sizeof *factor);
    if (!factor || !put_factors(g, b, factor)) return &g->nil.t;
    return rf__mul(g, word, rf__constant(g, factor, 2, (int64_t[]){N, C}));
}

const rf_spelling rf__esm_spelling[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {0},
};

/* inv_freq is read by position_table.c. */
const rf_silent rf__esm_silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},
    {"encoder.layer.*.attention.self.rotary_embeddings.inv_freq", NULL},
    {"rotary_embeddings.inv_freq", NULL},
    {"lm_head.decoder.weight", "tie_word_embeddings"},
    {"lm_head.decoder.bias", NULL},
    {0},
};

const rf_family rf__family_esm = {RF_ESM("esm", "ESM-2", false, NULL)};
