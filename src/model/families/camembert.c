/* camembert.c — CamemBERT: RoBERTa (roberta.h) of French.       Martin et al. 2020; transformers' CamembertFor... */
#include "model/families/roberta.h"

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Camembert", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "CamembertForCausalLM", true, false},
    {RF_HEAD_MLM, "CamembertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {RF_ROBERTA_KEYS(30522), {0}};

const rf_family rf__family_camembert = {RF_ROBERTA("camembert", "camembert", "CamemBERT")};
