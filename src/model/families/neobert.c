/* neobert.c — NeoBERT.                       Le Breton et al. 2025; the code of chandar-lab/NeoBERT, NeoBERTFor...
 *
 * Pre-norm layers (bert_layer.c) without biases, with RMS norms, rotary positions in pairs and a gated feed-forward.
 *
 *     norm(x) = x / sqrt(mean x^2 + eps) * gamma
 *     h_0     = word[id]
 *     h       = h + a W_o,                  a as in bert_layer.c of norm(h); the rows of W_qkv [3C,C] by head
 *     [g | u] = norm(h) W_1,                W_1 [2F,C], the gate in its first half
 *     h       = h + (silu(g) * u) W_2
 *     logits  = norm(h_L) W + b             W [V,C] of its own
 *     labels  = drop(tanh(drop(norm(h_L)_[CLS]) W_d + b_d)) W + b
 *
 * intermediate_size of the file is that of a feed-forward layer without a gate; F is two thirds of it, rounded up to a
 * multiple of 8. */
#include "model/layers/bert_layer.h"
#include "store/store.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "encoder.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "layer_norm.weight", "C", ONES, false, 0),
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention_norm.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("qkv.weight", "QC", NORMAL, true, RF_ROW_BY_HEAD, qkv),
    RF_BERT_ROW("wo.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("ffn_norm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("ffn.w12.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("ffn.w3.weight", "CF", NORMAL, true, 0, down),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("decoder.weight", "VC", NORMAL, true, 0, out),
    RF_HEAD_ROW("decoder.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_none},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense_labels, rf__head_dense_tanh},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_dense_choice, rf__head_dense_tanh},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "NeoBERTLMHead", false, false},
    {RF_HEAD_SEQUENCE, "NeoBERTForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "NeoBERTForTokenClassification", false, true},
    {RF_HEAD_SPAN, "NeoBERTForQuestionAnswering", false, true},
    {RF_HEAD_CHOICE, "NeoBERTForMultipleChoice", false, true},
    {RF_HEAD_EMBED, "NeoBERTForSentenceEmbedding", false, true},
    {RF_HEAD_MLM, "NeoBERT", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_LACKS(type_vocab_size),
    RF_LACKS(layer_norm_eps),
    RF_LACKS(max_position_embeddings),
    RF_USUAL(hidden_dropout_prob, 0, RF_KEY_OURS),
    RF_USUAL(attention_probs_dropout_prob, 0, RF_KEY_OURS),
    RF_FIXED(normalize_before, TRUTH, 1),
    RF_FIXED(tie_word_embeddings, TRUTH, 0),
    RF_USUAL(intermediate_size, 2048, RF_KEY_UNGATED),
    RF_USUAL(num_hidden_layers, 28, 0),
    RF_USUAL(vocab_size, 30522, 0),
    RF_FIXED(rope_theta, NUMBER, 10000),
    RF_FIXED(rope_interleave, TRUTH, 1),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_USUAL_AS("norm_eps", layer_norm_eps, 1e-6, 0),
    RF_USUAL_AS("max_length", max_position_embeddings, 1024, 0),
    RF_USUAL(classifier_dropout, 0.1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("rope", "true", "positions are rotary"),
    RF_ONLY("rms_norm", "true", "norms are RMS norms"),
    RF_ONLY("ngpt", "false", "vectors are not normalized"),
    RF_IDLE("rope_scaling", "the class computes rope_theta alone"),
    RF_IDLE("rope_parameters", "the same"),
    RF_ONE_POSITION,
    RF_IDLE("dim_head", "read by `read_config` below"),
    RF_IDLE("max_position_embeddings", "max_length is that of the texts"),
    RF_IDLE("embedding_init_range", "the first weights of the published class"),
    RF_IDLE("decoder_init_range", "the same"),
    RF_IDLE("classifier_init_range", "the same"),
    RF_IDLE("flash_attention", "speed alone"),
    RF_IDLE("kwargs", "what the class was called with"),
    RF_IDLE("pretrained_model_name_or_path", "the tokenizer of pre-training"),
    RF_IDLE("trust_remote_code", "of transformers' loading"),
    {0},
};

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const rf_status status = rf__silu_alone(file, c, why);
    return status ? status : rf__usual_head_width(file, root, "dim_head", c, why);
}

/* Of another width, if the model was changed here. */
static void write_config(const rf_config *c, json_t **more)
{
    if (json_object_get(*more, "dim_head"))
        rf__json_set(more, "dim_head", json_integer(c->hidden_size / c->num_attention_heads));
}

static const rf_silent silent[] = {{"freqs_cis", NULL}, {0}};

const rf_family rf__family_neobert = {
    .config = {.name = "neobert",
               .model_type = "neobert",
               .title = "NeoBERT",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .coded = true,
               .position = "rotary",
               .usual_act = RF_ACT_SILU,
               .act_name = "SwiGLU",
               .one_width = true,
               .elsewhere = "transformers has no class for model_type `neobert`; it needs the code that `auto_map` of "
                            "a published folder names."},
    .prefix = "model.",
    .layers = "transformer_encoder.",
    .gated = true,
    .gate = RF_GATE_FIRST,
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_RMS,
    RF_BERT_LAYER,
    .finish = rf__bert_finish,
};
