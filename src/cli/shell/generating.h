/* generating.h — options of commands that write text. */
#ifndef CLI_GENERATING_H
#define CLI_GENERATING_H

#include "cli/shell/options.h"
#include "roformer/generate.h"

/* `o` as the model's files have it: what was given takes its place.  An option that draws tokens asks for sampling,
 * --num_beams for none. */
void cli_generate_given(const cli_parsed *p, const rf_generate_options *given, rf_generate_options *o);

/* --do_sample=false beside an option that draws is refused. */
rf_status cli_generate_check(const cli_parsed *p, const rf_generate_options *given, rf_error *why);

#endif
