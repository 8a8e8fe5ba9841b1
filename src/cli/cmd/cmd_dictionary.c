/* cmd_dictionary.c — roformer dictionary: compiles words and their frequencies for tokenizers of Chinese text. */
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/tokenizer.h"

struct args {
    cli_list text;
    const char *output, *name;
};

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    if (!a->output) rf_fail(&io->why, RF_EARG, "dictionary: expected -o FILE, got none");
    for (int i = 0; i < a->text.n && !io->why.code; i++) cli_not_input(a->output, a->text.item[i], &io->why);
    if (!io->why.code &&
        !rf_dictionary_compile(io->ctx, a->text.item, (size_t)a->text.n, a->name, a->output, &io->why))
        cli_note(io, "%s: compiled", a->output);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"FILE", 0, CLI_OPERANDS, A(text), NULL, NULL, 1, 1e6, NULL, "", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL, "file for the compiled dictionary", NULL},
    {"name", 0, CLI_TEXT, A(name), "NAME", "own", 0, 0, NULL, "name of the dictionary in tokenizer_config.json", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer dictionary dict.txt -o my-model/dictionary.words",
    "roformer dictionary dict.txt words.txt --name mine -o my-model/dictionary.words",
    NULL,
};

const cli_command cmd_dictionary = {
    "dictionary",
    "FILE... -o FILE",
    "compile a dictionary of Chinese words",
    "Reads jieba's format: \"word frequency [tag]\" on each line.  If a word occurs several times, in one file or in "
    "several, the last line is used.  A model folder that contains the result as dictionary.words splits text into "
    "words with it.  Other folders use jieba's own dictionary, which is installed with the program.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
