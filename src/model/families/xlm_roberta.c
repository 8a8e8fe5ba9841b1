/* xlm_roberta.c — XLM-RoBERTa: RoBERTa (roberta.h) of many languages.
 *                                                     Conneau et al. 2020; transformers' XLMRobertaFor... */
#include "model/families/roberta.h"

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("XLMRoberta", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "XLMRobertaForCausalLM", true, false},
    {RF_HEAD_MLM, "XLMRobertaModel", false, false},
    {0},
};

static const rf_config_key keys[] = {RF_ROBERTA_KEYS(30522), {0}};

const rf_family rf__family_xlm_roberta = {RF_ROBERTA("xlm_roberta", "xlm-roberta", "XLM-RoBERTa")};
