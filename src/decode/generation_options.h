/* generation_options.h — reads and checks options of generate and translate; see generation_options.c. */
#ifndef RF_GENERATION_OPTIONS_H
#define RF_GENERATION_OPTIONS_H

#include "base/base.h"
#include "roformer/generate.h"

/* Copies the given options (NULL: none) over the defaults. */
rf_status rf__generate_options_read(rf_generate_options *own, const rf_generate_options *given, rf_error *why);

rf_status rf__generate_check(const rf_generate_options *o, rf_error *why);

/* The divisor of the log-probability of n tokens. */
double rf__norm_of_length(const rf_generate_options *o, int64_t n);

#endif
