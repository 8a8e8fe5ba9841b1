/* jina_bert_qk.c — JinaBERT with norms of queries and keys: jina-embeddings-v2-base-code.
 *                                                      Günther et al. 2023; jina-bert-v2-qk-post-norm's JinaBertFor...
 *
 * JinaBERT (jina_bert.c) with norms over the whole width of the queries and of the keys, a second norm after
 * attention, and the gate in the second half of its matrix:
 *
 *     q, k    = norm(h W_q + b_q), norm(h W_k + b_k)
 *     a       = norm(h + drop(attention(q, k, v) W_o + b_o))
 *     h       = norm(h + a)
 *     [u | g] = h W_1,                       W_1 [2F,C]
 *     h       = norm(h + drop((u * gelu(g)) W_2 + b_2))
 *
 * auto_map, which names jina-bert-v2-qk-post-norm, distinguishes its config.json from that of JinaBERT. */
#include "model/families/jina_bert.h"
#include "model/layers/llama_layer.h"

#define CODE "jinaai/" RF_JINA_BERT_QK "--"

static const rf_family_row layer[] = {
    RF_BERT_ATTENTION,
    RF_BERT_ROW("attention.self.layer_norm_q.weight", "C", ONES, false, 0, query_norm),
    RF_BERT_ROW("attention.self.layer_norm_q.bias", "C", ZEROS, false, 0, query_norm_bias),
    RF_BERT_ROW("attention.self.layer_norm_k.weight", "C", ONES, false, 0, key_norm),
    RF_BERT_ROW("attention.self.layer_norm_k.bias", "C", ZEROS, false, 0, key_norm_bias),
    RF_BERT_ROW("layer_norm_1.weight", "C", ONES, false, 0, again),
    RF_BERT_ROW("layer_norm_1.bias", "C", ZEROS, false, 0, again_bias),
    RF_BERT_ROW("mlp.up_gated_layer.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("mlp.down_layer.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("mlp.down_layer.bias", "C", ZEROS, false, 0, down_bias),
    RF_BERT_ROW("layer_norm_2.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("layer_norm_2.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

/* A new model gets an auto_map. */
static void write_config(const rf_config *c, json_t **more)
{
    (void)c;
    if (json_object_get(*more, "auto_map")) return;
    rf__json_set(more, "auto_map",
                 json_pack("{ssss}", "AutoConfig", CODE "configuration_bert.JinaBertConfig", "AutoModel",
                           CODE "modeling_bert.JinaBertModel"));
}

const rf_family rf__family_jina_bert_qk = {
    RF_JINA_BERT("jina_bert_qk", "JinaBERT with norms of queries and keys", RF_JINA_BERT_QK, true, write_config),
    .gate = RF_GATE_SECOND,
};
