/* nomic_bert.h — what the versions of NomicBERT share (nomic_bert.c, nomic_bert_v2.c). */
#ifndef RF_MODEL_FAMILIES_NOMIC_BERT_H
#define RF_MODEL_FAMILIES_NOMIC_BERT_H

#include "model/layers/bert_layer.h"

#define RF_NOMIC_BERT_EMBEDDING                                                                                        \
    RF_BERT_WORDS,                                                                                                     \
    RF_TENSOR(rf_bert_embedding, norm, "emb_ln.weight", "E", ONES, false, 0),                                          \
    RF_TENSOR(rf_bert_embedding, norm_bias, "emb_ln.bias", "E", ZEROS, false, 0)

/* Keys of the published code. */
#define RF_NOMIC_BERT_KNOWN                                                                                            \
    RF_ONLY("prenorm", "false", "norms follow the sums with the residual"),                                            \
    RF_ONLY("parallel_block", "false", "attention and feed-forward follow each other"),                                \
    RF_ONLY("use_rms_norm", "false", "norms are LayerNorms"),                                                          \
    RF_ONLY("causal", "false", "every token sees the others"),                                                         \
    RF_ONLY("rotary_emb_fraction", "1", "heads are rotated whole"),                                                    \
    RF_ONLY("rotary_emb_interleaved", "false", "heads are rotated in halves"),                                         \
    RF_ONLY("rotary_emb_scale_base", "null", "rotation does not scale"),                                               \
    RF_ONLY("scale_attn_weights", "true", "scores are divided by the root of a head's width"),                         \
    RF_ONLY("scale_attn_by_inverse_layer_idx", "false", "layers have the same scale"),                                 \
    RF_ONE_POSITION,                                                                                                   \
    RF_IDLE("parallel_block_tied_norm", "of parallel blocks"),                                                         \
    RF_IDLE("dense_seq_output", "of a loss in training"),                                                              \
    RF_IDLE("fused_bias_fc", "speed alone"),                                                                           \
    RF_IDLE("fused_dropout_add_ln", "speed alone"),                                                                    \
    RF_IDLE("use_flash_attn", "speed alone"),                                                                          \
    RF_IDLE("use_xentropy", "speed alone"),                                                                            \
    RF_IDLE("reorder_and_upcast_attn", "precision of half floats"),                                                    \
    RF_IDLE("pad_vocab_size_multiple", "vocab_size is that of the tensors")

#endif
