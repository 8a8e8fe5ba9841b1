/* roberta.c — RoBERTa (roberta.h).                           Liu et al. 2019; transformers' RobertaFor... */
#include "model/families/roberta.h"

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Roberta", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "RobertaForCausalLM", true, false},
    {RF_HEAD_MLM, "RobertaModel", false, false},
    {0},
};

static const rf_config_key keys[] = {RF_ROBERTA_KEYS(50265), {0}};

const rf_family rf__family_roberta = {RF_ROBERTA("roberta", "roberta", "RoBERTa")};
