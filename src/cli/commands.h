/* commands.h — one row for each cmd_<name>.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

extern const cli_command cmd_fill_mask, cmd_embed, cmd_tokenize, cmd_vocab, cmd_pretrain, cmd_evaluate, cmd_info, cmd_verify, cmd_bench,
    cmd_plot, cmd_demo, cmd_completion, cmd_help;

/* What most commands share: where the model is. */
#define CLI_MODEL_OPTION(args, field)                                                                                      \
    {"model", 'm', CLI_FOLDER, offsetof(args, field), "DIR", NULL, 0, 0, "ROFORMER_MODEL",                                 \
     "model folder; without it the shipped model", NULL}

#endif
