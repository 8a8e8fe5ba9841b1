/* generating.c — options of commands that generate text: those of the model's files, and those given. */
#include <string.h>

#include "cli/shared/generating.h"

#define O(name) {#name, offsetof(rf_generate_options, name), sizeof ((rf_generate_options *)0)->name}
static const struct { const char *name; size_t at, size; } rows[] = {
    O(num_beams), O(length_penalty), O(max_new_tokens), O(max_length_factor),    O(do_sample),  O(temperature),
    O(top_k),     O(top_p),          O(min_p),          O(no_repeat_ngram_size), O(batch_size), O(repetition_penalty),
    O(typical_p), O(num_return_sequences), O(special_tokens), O(min_new_tokens),
    O(presence_penalty), O(frequency_penalty),
};
#undef O

/* Any of these asks for sampling. */
static const char *const drawing[] = {"temperature", "top_k", "top_p", "min_p", "typical_p"};

void cli_generate_given(const cli_parsed *p, const rf_generate_options *given, rf_generate_options *o)
{
    for (size_t i = 0; i < CLI_COUNT(rows); i++)
        if (cli_given(p, rows[i].name))
            memcpy((char *)o + rows[i].at, (const char *)given + rows[i].at, rows[i].size);
    if (cli_given(p, "num_beams") && o->num_beams > 1 && !cli_given(p, "do_sample")) o->do_sample = 0;
    for (size_t i = 0; i < CLI_COUNT(drawing); i++)
        if (cli_given(p, drawing[i])) o->do_sample = 1;
    if (o->do_sample && !cli_given(p, "num_beams")) o->num_beams = 1;
    if (cli_given(p, "max_new_tokens")) o->max_length = 0;
}

rf_status cli_generate_check(const cli_parsed *p, const rf_generate_options *given, rf_error *why)
{
    for (size_t i = 0; i < CLI_COUNT(drawing); i++)
        if (cli_given(p, drawing[i]) && cli_given(p, "do_sample") && !given->do_sample)
            return rf_fail(why, RF_EARG, "--do_sample=false, --%s: expected one of them, got both", drawing[i]);
    return RF_OK;
}
