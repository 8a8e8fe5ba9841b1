/* sums.h — scores a corpus in parts by adding the counts of the parts. */
#ifndef RF_TRANSLATION_SUMS_H
#define RF_TRANSLATION_SUMS_H

#include "roformer/inspect/metrics.h"

enum { RF_MT_COUNTS = 3 * 2 * RF_MT_ORDERS };             /* maximum number of counts of a segment                    */

const char *rf__mt_tokenizer_name(rf_mt_tokenizer t);   /* "13a", as in signatures                                   */

/* sum[k] += those of r's segments; returns the number of counts, which does not depend on the segments. */
int rf__mt_add(const rf_mt_result *r, int64_t sum[RF_MT_COUNTS]);

/* The score of sums, with the options of r. */
void rf__mt_of_sums(const rf_mt_result *r, const int64_t sum[RF_MT_COUNTS], rf_mt_score *out);

#endif
