/* commands.h — one row for each cmd_<name>.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options/options.h"
#include "roformer/kernel/gemm.h"

#define CLI_COMMAND(name, heading) extern const cli_command cmd_##name;
#include "cli/shell/commands.def"
#undef CLI_COMMAND

/* The option that most commands share: the model. */
#define CLI_MODEL_OPTION(args, field) CLI_MODEL_OPTION_OF(args, field, "model folder (default: the shipped model)")
#define CLI_SENTENCE_MODEL_OPTION(args, field) \
    CLI_MODEL_OPTION_OF(args, field, "model folder (default: the shipped sentence model)")
#define CLI_MODEL_OPTION_OF(args, field, what) \
    { \
        "model", 'm', CLI_FOLDER, offsetof(args, field), "DIR", NULL, 0, 0, "ROFORMER_MODEL", what, NULL \
    }

/* An rf_type as the index in a list, in the int `field`; cli_dtype converts it. */
#define CLI_DTYPES "f32|bf16|int8|int8w"
#define CLI_DTYPE_OPTION(args, field) \
    {"dtype", 0, CLI_CHOICE, offsetof(args, field), CLI_DTYPES, "f32", 0, 0, NULL, \
     "data type of weight matrices and their products; bf16 halves the memory, int8 and int8w quarter it; int8w: " \
     "weights in int8, products in f32 or bf16, more accurate than int8", \
     "torch_dtype"}

enum { CLI_DTYPE_COUNT = 4 };
static inline rf_type cli_dtype(int choice)
{
    static const rf_type type[CLI_DTYPE_COUNT] = {RF_F32, RF_BF16, RF_I8, RF_I8W};
    return type[choice];
}

static inline const char *cli_dtype_name(int choice)
{
    static const char *const name[CLI_DTYPE_COUNT] = {"f32", "bf16", "int8", "int8w"};
    return name[choice];
}

#endif
