/* zero_shot.h — what rf_zero_shot and the server share; zero_shot.c has the equations. */
#ifndef RF_ZERO_SHOT_H
#define RF_ZERO_SHOT_H

#include "pipeline/pipeline.h"
#include "task/answerer.h"

#define RF__HYPOTHESIS "This example is {}."

/* The outputs of a model that say whether a text entails a hypothesis. */
typedef struct rf__entailment {
    int64_t yes, no;
    bool named;                         /* false: no label says so, and `yes` is the last output */
} rf__entailment;

/*   outputs     RF_EUNSUPPORTED: the model does not label texts
 *   hypothesis  the template with a label in its place, freed with rf__free. RF_EARG: not a template; RF_ERANGE: it
 *               would have more than `most` bytes
 *   add         appends a pair to a window; side: RF_ENCODE_CUT_BEGIN, RF_ENCODE_CUT_END or 0. cut: of the text
 *   rank        the scores of n labels from z[label * columns], the largest first */
rf_status rf__zero_shot_outputs(const rf_answerer *a, rf__entailment *out, rf_error *why);
rf_status rf__zero_shot_hypothesis(const rf_ctx *ctx, const char *template, const char *label, size_t bytes,
                                   size_t most, char **out, size_t *size, rf_error *why);
rf_status rf__zero_shot_add(const rf_answerer *a, rf__text_window *w, const char *text, size_t bytes,
                            const char *hypothesis, size_t hypothesis_bytes, int side, bool *cut, rf_error *why);
void rf__zero_shot_rank(const rf__entailment *e, const float *z, int64_t columns, int64_t n, bool several,
                        rf_zero_shot_label out[]);

#endif
