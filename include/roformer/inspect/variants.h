/* variants.h — scores of mutations of a protein under a masked language model of proteins.
 *
 *     const char *mutation[] = {"A24G", "A24G:K30R"};
 *     if (rf_score_variants(p, "MKTV...", RF_STRING, mutation, 2, NULL, &score, NULL, &why)) ...
 *
 * A mutation is written as wild-type residue, position, new residue; those of one variant are joined by ':', and their
 * scores add up. Strategies and names are those of Meier et al. 2021, "Language models enable zero-shot prediction of
 * the effects of mutations on protein function" (bioRxiv 2021.07.09.450648, Methods), with x the protein, x_M the one
 * with the mutated position masked, w and m the residue before and after:
 *
 *     masked-marginals    log p(m | x_M) - log p(w | x_M)
 *     wt-marginals        log p(m | x) - log p(w | x)
 *     pseudo-ppl          sum over the positions i of the variant y: log p(y_i | y without i)
 *
 * Of a variant with several mutations, masked-marginals masks one position at a time.
 *
 * threads   as for the pipeline: one at a time */
#ifndef ROFORMER_VARIANTS_H
#define ROFORMER_VARIANTS_H

#include "roformer/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_scoring_strategy {
    RF_MASKED_MARGINALS,        /* a pass for each position that occurs in the mutations */
    RF_WT_MARGINALS,            /* one pass */
    RF_PSEUDO_PPL               /* a pass for each position of each variant */
} rf_scoring_strategy;

typedef struct rf_variant_options {
    size_t size;                /* of this struct, set by rf_variant_defaults */
    rf_scoring_strategy strategy;   /* default RF_MASKED_MARGINALS */
    int64_t offset;             /* number of the first residue of the sequence; default 1 */
    int64_t batch_tokens;       /* tokens computed together; default 2048 */
} rf_variant_options;
void rf_variant_options_init(rf_variant_options *o, size_t size);
#define rf_variant_defaults(o) rf_variant_options_init((o), sizeof *(o))

/* Scores variants of a protein. The model must have a token for each residue (ESM-2, AntiBERTa2).
 *
 *   sequence   letters of the wild type; bytes RF_STRING: up to its terminating zero
 *   score      [n] in the order of the mutations; positive: the model finds the new residue more likely
 *   report     may be NULL; done, bad: as for texts (pipeline.h), here for mutations
 *   memory     of the pipeline, valid until its next call
 *   RF_EDATA   the sequence is empty or has a residue that is not one token of the model; a mutation is not written as
 *              above, its position is outside the sequence, another residue stands there, or the new one is unknown to
 *              the model; two mutations of a variant have one position. All mutations are checked before anything is
 *              computed
 *   RF_EUNSUPPORTED  as rf_fill_mask */
rf_status rf_score_variants(rf_pipeline *p, const char *sequence, size_t bytes, const char *const mutation[],
                            int64_t n, const rf_variant_options *options, const double **score,
                            const rf_texts_report **report, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
