/* gpt.h — what GPT-2 and GPT-NeoX share: keys, heads and classes of causal models with LayerNorms and biases.
 *
 * Pre-norm layers (bert_layer.c) without token types; each token sees the tokens up to itself.
 *
 *     labels  = norm(h_L) W                        of a text's last token that is not pad_token_id
 *             = drop(norm(h_L)) W + b              of tokens;  norm(h_L) W + b  of the ends of an answer */
#ifndef RF_MODEL_FAMILIES_GPT_H
#define RF_MODEL_FAMILIES_GPT_H

#include "model/layers/bert_layer.h"
#include "model/layers/llama_layer.h"
#include "store/store.h"

#define RF_GPT_KEYS                                                                                                    \
    RF_LACKS(embedding_size),                                                                                          \
    RF_LACKS(type_vocab_size),                                                                                         \
    RF_LACKS(attention_probs_dropout_prob),                                                                            \
    RF_LACKS(hidden_dropout_prob),                                                                                     \
    RF_LACKS(rotary_value),                                                                                            \
    RF_FIXED(normalize_before, TRUTH, 1),                                                                              \
    RF_FIXED(is_decoder, TRUTH, 1),                                                                                    \
    RF_USUAL(pad_token_id, -1, 0)

#define RF_GPT_KNOWN                                                                                                   \
    RF_IDLE("is_decoder", "the classes are causal whatever it says"),                                                  \
    RF_ONE_POSITION

/* words: the rows of the language-model head. */
#define RF_GPT_HEADS(words)                                                                                            \
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, words, rf__head_none},                                                            \
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_LAST, rf__rows_score, rf__head_plain},                                            \
    RF_BERT_HEADS

#define RF_GPT_CLASSES(family, causal)                                                                                 \
    {RF_HEAD_MLM, causal, true, false},                                                                                \
    {RF_HEAD_SEQUENCE, family "ForSequenceClassification", false, false},                                              \
    {RF_HEAD_TOKEN, family "ForTokenClassification", false, false},                                                    \
    {RF_HEAD_SPAN, family "ForQuestionAnswering", false, false},                                                       \
    {RF_HEAD_EMBED, family "ForSentenceEmbedding", false, true},                                                       \
    {RF_HEAD_MLM, family "Model", true, false}

#endif
