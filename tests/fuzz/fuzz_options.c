/* fuzz_options.c — command lines: arguments separated by line feeds; the first one may be the name of a command.
 *
 * For any input the parser gives values or a message, and the struct that it fills can be printed and freed.         */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

enum { ARGUMENTS = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *argv[ARGUMENTS];
    char shown[64];
    int argc = 0, used = 0;
    cli_parsed p = {0};
    rf_error why = {0};
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (char *at = text; at && argc < ARGUMENTS;) {
        argv[argc++] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
    }
    rf_status status = cli_defaults(&p, NULL, &why);
    if (!status) status = cli_parse(&p, argc, argv, &used, &why);
    if (!status && used < argc && (p.command = cli_find_command(argv[used])) && (p.args = malloc(p.command->size))) {
        status = cli_defaults(&p, NULL, &why);
        if (!status) status = cli_parse(&p, argc - used - 1, argv + used + 1, NULL, &why);
        for (const cli_option *o = p.options; o->kind; o++) {
            cli_show_value(o, p.args, shown, sizeof shown);
            if (cli_given(&p, o->name) && o->kind == CLI_OPERANDS) abort();
        }
        cli_parsed_clear(&p);
        free(p.args);
    }
    if (status != why.code || (status && !*why.text)) abort();
    free(text);
    return 0;
}
