/* gemma3.c — Gemma 3, the causal models of text; the equations are in gemma.h. In a layer that sees only near tokens, a
 * token sees sliding_window of them, including itself. */
#define RF_GEMMA_DECODER RF_LLAMA_CAUSAL
#define RF_GEMMA_TIED 0
#include "model/families/gemma.h"

static const rf_config_sign sign[] = {{"use_bidirectional_attention", NULL, false, false}, {0}};
static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "Gemma3ForCausalLM", true, false},
    {RF_HEAD_SEQUENCE, "Gemma3TextForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "Gemma3TextForTokenClassification", false, true},
    {RF_HEAD_EMBED, "Gemma3ForSentenceEmbedding", false, true},
    {RF_HEAD_MLM, "Gemma3TextModel", true, false},
    {0},
};

const rf_family rf__family_gemma3 = {RF_GEMMA("gemma3", "Gemma 3")};
