/* embedding_gemma.c — EmbeddingGemma: Gemma 3 (gemma.h) with attention in both directions. In layers that see only near
 * tokens, a token sees sliding_window / 2 of them on each side. There is no language-model head. */
#define RF_GEMMA_DECODER RF_LACKS(is_decoder)
#define RF_GEMMA_TIED 1
#include "model/families/gemma.h"

static const rf_config_sign sign[] = {{"use_bidirectional_attention", NULL, true, true}, {0}};
static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "Gemma3TextModel", false, false},
    {RF_HEAD_SEQUENCE, "Gemma3TextForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "Gemma3TextForTokenClassification", false, true},
    {RF_HEAD_EMBED, "Gemma3ForSentenceEmbedding", false, true},
    {0},
};

const rf_family rf__family_embedding_gemma = {RF_GEMMA("embedding_gemma", "EmbeddingGemma"), .wordless = true};
