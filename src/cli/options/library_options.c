/* library_options.c — options of commands that the library defines: rows of roformer/train.h become rows of a
 * command's table. */
#include <string.h>

#include "cli/options/options.h"
#include "roformer/train.h"

typedef const rf_option *library_rows(size_t i);

static library_rows *rows_of(cli_kind kind)
{
    return kind == CLI_TRAIN || kind == CLI_TRAIN_ALL ? rf_train_option : rf_finetune_option;
}

static cli_kind kind_of(const rf_option *row)
{
    switch (row->kind) {
    case RF_OPTION_INT:
    case RF_OPTION_SEED:
    case RF_OPTION_BYTES:   return CLI_INT;
    case RF_OPTION_REAL:    return CLI_REAL;
    case RF_OPTION_FLAG:    return row->choices ? CLI_CHOICE : CLI_FLAG;
    case RF_OPTION_CHOICE:  return CLI_CHOICE;
    case RF_OPTION_TEXT:    return CLI_TEXT;
    case RF_OPTION_FILE:    return CLI_FILE;
    case RF_OPTION_FOLDER:  return CLI_FOLDER;
    case RF_OPTION_FILES:   return CLI_FILES;
    case RF_OPTION_WEIGHTS: break;
    }
    return CLI_END;
}

/* `own`, the row of the command's table, overrides the library's row; the alias "" means none. */
static cli_option made_of(const rf_option *row, const cli_option *own)
{
    const cli_kind kind = kind_of(row);
    return (cli_option){
        .name = row->name,
        .letter = row->letter,
        .kind = kind,
        .at = kind == CLI_FILES ? own->at : own->at + row->at,
        .value = own->value ? own->value : row->choices ? row->choices : row->value,
        .low = row->low,
        .high = row->high,
        .env = own->env,
        .help = own->help ? own->help : row->help,
        .alias = own->alias && !*own->alias ? NULL : own->alias ? own->alias : row->alias,
    };
}

static bool table_names(const cli_command *c, const char *name)
{
    for (const cli_option *o = c->options; o->kind; o++)
        if (o->name && !strcmp(o->name, name)) return true;
    return false;
}

static const rf_option *row_named(library_rows *rows, const char *name)
{
    const rf_option *row;
    for (size_t i = 0; (row = rows(i)); i++)
        if (!strcmp(row->name, name)) return row;
    return NULL;
}

const char *cli_option_heading(const cli_command *c, const cli_option *o)
{
    if (!c || !o->name || table_names(c, o->name)) return "";
    const rf_option *row = row_named(rf_train_option, o->name);
    if (!row) row = row_named(rf_finetune_option, o->name);
    return row ? row->group : "";
}

void cli_expand(const cli_command *c, cli_option out[CLI_OPTIONS_MAX])
{
    size_t n = 0;
    const rf_option *row;
    for (const cli_option *o = c->options; o->kind && n + 1 < CLI_OPTIONS_MAX; o++) {
        if (o->kind < CLI_TRAIN) {
            out[n++] = *o;
            continue;
        }
        for (size_t i = 0; (row = rows_of(o->kind)(i)) && n + 1 < CLI_OPTIONS_MAX; i++) {
            const bool one = o->kind == CLI_TRAIN || o->kind == CLI_FINETUNE, listed = row->kind == RF_OPTION_FILES;
            if (one ? !strcmp(row->name, o->name)
                    : !listed && (row->calls & (unsigned)o->low) && !table_names(c, row->name))
                out[n++] = made_of(row, o);
        }
    }
    out[n] = (cli_option){.kind = CLI_END};
}

const rf_option *cli_described(const char *name) { return row_named(rf_train_option, name); }
