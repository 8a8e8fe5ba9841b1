/* sums.h — score a corpus in parts: the counts of the parts are added. */
#ifndef RF_TRANSLATION_SUMS_H
#define RF_TRANSLATION_SUMS_H

#include "roformer/inspect/mt_score.h"

enum { RF_MT_COUNTS = 3 * 2 * RF_MT_ORDERS };             /* most counts of a segment                                 */

const char *rf__mt_words_name(rf_mt_words words);       /* "13a", as signatures have it                              */

/* sum[k] += those of r's segments; returns how many there are, whatever the segments. */
int rf__mt_add(const rf_mt_result *r, int64_t sum[RF_MT_COUNTS]);

/* The score of sums, with the options of r. */
void rf__mt_of_sums(const rf_mt_result *r, const int64_t sum[RF_MT_COUNTS], rf_mt_score *out);

#endif
