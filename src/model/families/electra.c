/* electra.c — ELECTRA, discriminator and generator.               Clark et al. 2020; transformers' ElectraFor...
 *
 * BERT (bert.c) without a pooler, whose embeddings may be narrower than its layers. The discriminator says of each
 * token whether it was replaced, the generator predicts masked tokens (train/rtd.c trains both).
 *
 *     h_0       = norm(word[id] + type[tt] + P[m])  ( W_p + b_p )
 *     replaced  = act(h W_d + b_d) W + b
 *     logits    = norm(gelu(h W_t + b_t)) word^T + b
 *     labels    = drop(gelu(drop(h_[CLS]) W_d + b_d)) W_o + b_o                     ElectraClassificationHead
 *     choices   = drop(act'(x W_s + b_s)) W + b,   x the first, last or mean h      ElectraSequenceSummary
 *
 * Keys of the summary: summary_type, summary_use_proj (W_s, b_s) and summary_activation (act'). In training, the head
 * for choices has the classifier's dropout instead of summary_last_dropout. */
#include "graph/graph.h"
#include "model/layers/bert_layer.h"
#include "store/store.h"
#include "store/task.h"

static const rf_family_row embedding[] = {
    RF_BERT_WORDS,
    RF_BERT_WORDS_NORM,
    RF_BERT_PROJECT("embeddings_project", rf__when_projected),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("generator_predictions.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("generator_predictions.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("generator_predictions.LayerNorm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("generator_predictions.LayerNorm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("generator_lm_head.weight", NORMAL),
    RF_HEAD_ROW("generator_lm_head.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

static const rf_family_row choice[] = {
    RF_SUMMARY_ROWS,
    RF_BERT_CLASSIFIER("1C", "1"),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked_gelu},
    {RF_HEAD_DETECT, RF_HEAD_INPUT_ALL, rf__rows_detect, rf__head_detect},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dropped_gelu},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_SUMMARY, choice, rf__head_summary},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Electra", RF_HEAD_SEQUENCE),
    {RF_HEAD_DETECT, "ElectraForPreTraining", false, false},
    {RF_HEAD_MLM, "ElectraForCausalLM", true, false},
    {RF_HEAD_MLM, "ElectraModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(rotary_value),
    RF_USUAL(embedding_size, 128, 0),
    RF_USUAL(hidden_size, 256, 0),
    RF_USUAL(intermediate_size, 1024, 0),
    RF_USUAL(num_attention_heads, 4, 0),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_USUAL(vocab_size, 30522, 0),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    RF_CONFIG_KEY(summary_use_proj, TRUTH, 1, 0, 1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("summary_type", "read by `read_config` below"),
    RF_IDLE("summary_activation", "the same"),
    RF_IDLE("summary_proj_to_labels", "the same"),
    {0},
};

/* ---- config.json beyond its tables: only the head for choices uses these keys ------------------------------------ */

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    if (rf_config_head(c) != RF_HEAD_CHOICE) return RF_OK;
    c->summary = RF_SUMMARY_FIRST;
    if (!json_is_true(json_object_get(root, "summary_proj_to_labels")))
        return rf__sequence_summary_read(file, root, c, why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: summary_proj_to_labels: expected false, got true: the summary is as wide "
                   "as the model", file);
}

static void write_config(const rf_config *c, json_t **more)
{
    if (rf_config_head(c) == RF_HEAD_CHOICE) rf__sequence_summary_write(c, more);
}

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.token_type_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},        /* with relative positions, the classes do not use them   */
    {"generator_lm_head.weight", "tie_word_embeddings"},
    {0},
};

const rf_family rf__family_electra = {
    .config = {.name = "electra",
               .model_type = "electra",
               .title = "ELECTRA",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "absolute",
               .positions = rf__positions_bert,
               .summarizes = true},
    .prefix = "electra.",
    .embedding = embedding,
    .layer = rf__rows_bert_layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
