/* nucleotide_transformer.c — the Nucleotide Transformer v2, a model of DNA.
 *                                           Dalla-Torre et al. 2024; the code of InstaDeepAI's folders, EsmFor...
 *
 * ESM-2 (esm.c) with a gated feed-forward without biases, and words of up to six letters:
 *
 *     [g | u] = norm(h) W_1,                W_1 [2F,C], the gate in its first half
 *     h       = h + (silu(g) * u) W_2
 *     logits  = norm(gelu(norm(h_L) W_t + b_t)) W + b             W [V,C] of its own, as tie_word_embeddings says
 *
 * add_bias_fnn, which is false, distinguishes its config.json from that of ESM-2. */
#include "model/families/esm.h"

static const rf_family_row layer[] = {
    RF_ESM_ATTENTION,
    RF_ESM_ROW("intermediate.dense.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_ESM_ROW("output.dense.weight", "CF", NORMAL, true, 0, down),
    {{0}, 0},
};

static const rf_config_key keys[] = {
    RF_ESM_KEYS,
    RF_USUAL(max_position_embeddings, 2050, 0),
    RF_USUAL(vocab_size, 4107, 0),
    {0},
};

static const rf_known_key known[] = {RF_ESM_KNOWN, {0}};
static const rf_config_sign signs[] = {{"add_bias_fnn", NULL, false, true}, {0}};

/* The gate's function, whatever hidden_act is. */
static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    c->hidden_act = RF_ACT_SILU;
    return rf__esm_read(file, root, c, why);
}

const rf_family rf__family_nucleotide_transformer = {
    RF_ESM("nucleotide_transformer", "Nucleotide Transformer", true,
           "transformers alone would load it as an ESM-2 with other feed-forward layers; it needs the code that "
           "`auto_map` of a published folder names, nucleotide-transformer-v2."),
    .gated = true,
    .gate = RF_GATE_FIRST,
};
