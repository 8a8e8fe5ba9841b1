/* llama_layer.h — what families of LLaMA's kind share in addition to their rows; see families/llama.h. */
#ifndef RF_MODEL_LLAMA_LAYER_H
#define RF_MODEL_LLAMA_LAYER_H

#include "model/family.h"

extern const rf_head_row rf__llama_heads[];
extern const rf_silent rf__llama_silent[];
extern const rf_family_row rf__rows_score[];            /* labels of texts, without a bias                            */


/* rf_family_config.read and .write of models with one kind of layers: layer_types, if it is there, has full_attention
 * for each layer (with local_attention: sliding_attention), and is not written. */
rf_status rf__llama_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__llama_write(const rf_config *c, json_t **more);

/* The same for Qwen2 and Qwen3, where use_sliding_window says whether layers from max_window_layers on, or those that
 * layer_types names, see sliding_window tokens. RF_EUNSUPPORTED: some of the layers do, and others do not. */
rf_status rf__qwen_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__qwen_write(const rf_config *c, json_t **more);

/* Whether number i of layer_types is full_attention (*full) or sliding_attention; RF_EUNSUPPORTED: another value;
 * RF_EDATA: the list has another length than num_hidden_layers. */
rf_status rf__layer_type(const char *file, const json_t *list, size_t i, bool *full, rf_error *why);
rf_status rf__layer_types_count(const char *file, const json_t *list, const rf_config *c, rf_error *why);

#endif
