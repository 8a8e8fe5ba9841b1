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
#include "model/bert_layer.h"
#include "store/store.h"

static const double KEPT = 1 - 0.15 * 0.8;      /* fraction of the words that training keeps, which is fixed for all
                                                   ESM-2 models */

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "encoder.emb_layer_norm_after.weight", "C", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, last_bias, "encoder.emb_layer_norm_after.bias", "C", ZEROS, false, 0),
    RF_TENSOR(rf_bert_embedding, contact, "contact_head.regression.weight", "1A", ZEROS, false,
              RF_ROW_TABLE | RF_ROW_MAY_LACK),
    RF_TENSOR(rf_bert_embedding, contact_bias, "contact_head.regression.bias", "1", ZEROS, false, RF_ROW_MAY_LACK),
    {{0}, 0},
};

#define ROW(name, shape, init, decay, flags, member) RF_TENSOR(rf_bert_layer, member, name, shape, init, decay, flags)
static const rf_family_row layer[] = {
    ROW("attention.LayerNorm.weight", "C", ONES, false, 0, norm),
    ROW("attention.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias),
    ROW("attention.self.query.weight", "CC", NORMAL, true, 0, qkv),
    ROW("attention.self.key.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    ROW("attention.self.value.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    ROW("attention.self.query.bias", "C", ZEROS, false, 0, qkv_bias),
    ROW("attention.self.key.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    ROW("attention.self.value.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    ROW("attention.output.dense.weight", "CC", NORMAL, true, 0, out),
    ROW("attention.output.dense.bias", "C", ZEROS, false, 0, out_bias),
    ROW("LayerNorm.weight", "C", ONES, false, 0, norm2),
    ROW("LayerNorm.bias", "C", ZEROS, false, 0, norm2_bias),
    ROW("intermediate.dense.weight", "FC", NORMAL, true, 0, up),
    ROW("intermediate.dense.bias", "F", ZEROS, false, 0, up_bias),
    ROW("output.dense.weight", "CF", NORMAL, true, 0, down),
    ROW("output.dense.bias", "C", ZEROS, false, 0, down_bias),
    {{0}, 0},
};
#undef ROW

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_lm_head, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense_tanh},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_choice, rf__head_plain},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
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
    RF_CONFIG_KEY(embedding_size, NONE, 0, 0, 0, 0),
    RF_CONFIG_KEY(is_decoder, NONE, 0, 0, 0, 0),
    RF_CONFIG_KEY(rotary_value, NONE, 0, 0, 0, 0),
    RF_CONFIG_KEY(type_vocab_size, NONE, 0, 0, 0, 0),
    RF_CONFIG_KEY(normalize_before, TRUTH, 1, 1, 1, RF_KEY_OURS),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 1026, 2, 16777216, 0),
    RF_CONFIG_KEY(pad_token_id, WHOLE, 1, -1, 16777215, RF_KEY_NULL),
    RF_CONFIG_KEY(vocab_size, WHOLE, 33, 1, 16777216, 0),
    RF_CONFIG_KEY(rope_interleave, TRUTH, 0, 0, 0, RF_KEY_OURS),
    RF_CONFIG_KEY(partial_rotary_factor, NUMBER, 1, 1, 1, RF_KEY_OURS),
    RF_CONFIG_KEY(token_dropout, TRUTH, 0, 0, 1, 0),
    RF_CONFIG_KEY(mask_token_id, WHOLE, -1, -1, 16777215, RF_KEY_NULL),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("emb_layer_norm_before", "false", "no norm stands before the layers of ESM-2"),
    RF_ONLY("is_folding_model", "false", "ESMFold is not supported"),
    RF_IDLE("esmfold_config", "of folding models"),
    RF_IDLE("vocab_list", "of folding models"),
    {0},
};

/* Without this key, the class uses learned positions, which are those of ESM-1b. */
static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *type = json_object_get(root, "position_embedding_type");
    c->hidden_act = RF_ACT_GELU;
    if (!type || json_is_null(type))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: position_embedding_type: expected \"rotary\" (ESM-2), got none, "
                       "which stands for the learned positions of ESM-1b", file);
    if (!c->token_dropout || c->mask_token_id >= 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: mask_token_id: expected the id of <mask> where token_dropout is true, got none",
                   file);
}

static void write_config(const rf_config *c, json_t **more)
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

static rf_tensor *embed(rf_graph *g, const rf_block *b)
{
    const rf_bert_embedding *w = b->weights;
    const int64_t N = b->at.N, C = b->config->hidden_size;
    rf_tensor *word = rf_embed(g, w->word, b->at.id, N);
    if (!b->config->token_dropout) return word;
    float *factor = rf__push(g, (size_t)(N * C), sizeof *factor);
    if (!factor || !put_factors(g, b, factor)) return &g->nil.t;
    return rf_mul(g, word, rf_constant(g, factor, 2, (int64_t[]){N, C}));
}

/* Norms before sub-layers are stored as in seq2seq.c; with token_dropout, factors and products are stored as well. */
static rf_footprint footprint(const rf_config *c, bool bf16)
{
    const double C = (double)c->hidden_size;
    rf_footprint f = rf__bert_footprint(c, bf16);
    f.layer += 4 * 2 * (c->hidden_dropout_prob > 0 ? 2 : 1) * C;
    f.embeddings += 4 * (c->token_dropout ? 2 : 1) * C;
    return f;
}

static const rf_spelling spelling[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {"lm_head.bias", "lm_head.decoder.bias", true},
    {0},
};

/* inv_freq is compared with rope_theta (position_table.c). */
static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},
    {"encoder.layer.*.attention.self.rotary_embeddings.inv_freq", NULL},
    {"rotary_embeddings.inv_freq", NULL},
    {"lm_head.decoder.weight", "tie_word_embeddings"},
    {"lm_head.decoder.bias", NULL},
    {0},
};

static const char *const positions[] = {"rotary", NULL};

const rf_family rf__family_esm = {
    .config = {.name = "esm",
               .model_type = "esm",
               .title = "ESM-2",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "rotary",
               .one_width = true},
    .prefix = "esm.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = spelling,
    .silent = silent,
    .positions = positions,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER_OF(embed),
    .finish = rf__bert_finish,
    .footprint = footprint,
};
