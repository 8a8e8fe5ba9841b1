/* commands.c — the commands, in the order in which help lists them. */
#include "cli/shell/commands.h"

const cli_command *const cli_commands[] = {
    &cmd_fill_mask,       &cmd_generate, &cmd_translate,  &cmd_embed,    &cmd_tokenize, &cmd_vocab,
    &cmd_dictionary,      &cmd_convert,  &cmd_prepare,    &cmd_pretrain, &cmd_finetune, &cmd_train_translation,
    &cmd_evaluate,        &cmd_score,    &cmd_predict,    &cmd_classify, &cmd_info,
    &cmd_verify,          &cmd_bench,    &cmd_plot,       &cmd_watch,    &cmd_report,   &cmd_positions,
    &cmd_position_report, &cmd_bleu,     &cmd_demo,       &cmd_completion, &cmd_help,   NULL,
};
