/* generating.h — options of commands that generate text. */
#ifndef CLI_GENERATING_H
#define CLI_GENERATING_H

#include "cli/options/options.h"
#include "roformer/generate.h"

/* The options for sampling, of a struct of arguments with a member rf_generate_options o. */
#define CLI_SAMPLING_OPTIONS(of) \
    {"temperature", 0, CLI_REAL, offsetof(of, o.temperature), "X", NULL, RF_TEMPERATURE_LEAST, RF_TEMPERATURE_MOST, \
     NULL, "sampling temperature; values below 1 make likely tokens more likely", NULL}, \
    {"top_k", 'k', CLI_INT, offsetof(of, o.top_k), "N", NULL, 0, RF_TOP_K_MOST, NULL, \
     "top-k sampling: sample from the N most likely tokens; 0: all", NULL}, \
    {"top_p", 'p', CLI_REAL, offsetof(of, o.top_p), "P", NULL, RF_TOP_P_LEAST, 1, NULL, \
     "nucleus sampling: sample from the smallest set of tokens whose probabilities sum to at least P", NULL}, \
    {"min_p", 0, CLI_REAL, offsetof(of, o.min_p), "P", NULL, 0, 1, NULL, \
     "exclude tokens whose probability is less than P times that of the most likely token", NULL}

/* Sets `o` to the values of the model's files, replaced by given options.  A sampling option enables sampling, and
 * --num_beams disables it. */
void cli_generate_given(const cli_parsed *p, const rf_generate_options *given, rf_generate_options *o);

/* Rejects --do_sample=false together with a sampling option. */
rf_status cli_generate_check(const cli_parsed *p, const rf_generate_options *given, rf_error *why);

#endif
