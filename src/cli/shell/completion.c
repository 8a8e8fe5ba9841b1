/* completion.c — completion scripts for bash, zsh and fish, written from the option tables. */
#include <string.h>

#include "cli/shell/help.h"

/* "cls|mean|max" as "cls mean max" */
static void words(FILE *to, const char *value)
{
    for (; *value; value++) fputc(*value == '|' ? ' ' : *value, to);
}

/* ---- bash ------------------------------------------------------------------------------------------------------------ */

static void bash_names(FILE *to, const cli_option *o)
{
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        fprintf(to, " --%s", o->name);
        if (o->letter) fprintf(to, " -%c", o->letter);
    }
}

static void bash_values(FILE *to, const char *command, const cli_option *o)
{
    for (; o->kind; o++) {
        if (!cli_takes_value(o)) continue;
        fprintf(to, "        %s,--%s", command, o->name);
        if (o->letter) fprintf(to, "|%s,-%c", command, o->letter);
        fputs(") ", to);
        if (o->kind == CLI_CHOICE) {
            fputs("COMPREPLY=($(compgen -W '", to);
            words(to, o->value);
            fputs("' -- \"$word\"))", to);
        } else if (o->kind == CLI_FOLDER) {
            fputs("COMPREPLY=($(compgen -d -- \"$word\"))", to);
        } else if (o->kind == CLI_FILE || o->kind == CLI_FILES) {
            fputs("COMPREPLY=($(compgen -f -- \"$word\"))", to);
        } else {
            fputs("COMPREPLY=()", to);
        }
        fputs("; return ;;\n", to);
    }
}

static void bash(FILE *to)
{
    fputs("# bash completion for roformer\n_roformer()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
          "    done\n    case $command,$before in\n", to);
    for (int i = 0; cli_commands[i]; i++) bash_values(to, cli_commands[i]->name, cli_commands[i]->options);
    bash_values(to, "*", cli_common_options);
    fputs("    esac\n    local options='", to);
    bash_names(to, cli_common_options);
    fputs("'\n    case $command in\n        '') COMPREPLY=($(compgen -W '", to);
    for (int i = 0; cli_commands[i]; i++) fprintf(to, "%s ", cli_commands[i]->name);
    fputs("--version '\"$options\" -- \"$word\")); return ;;\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "        %s) options+='", cli_commands[i]->name);
        bash_names(to, cli_commands[i]->options);
        fputs("' ;;\n", to);
    }
    fputs("    esac\n    case $word in\n"
          "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "    esac\n}\ncomplete -o filenames -F _roformer roformer\n", to);
}

/* ---- zsh ------------------------------------------------------------------------------------------------------------- */

/* Text inside '...' and [...]: without the characters that end either. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", to);
        else if (strchr("[]:", *text)) fprintf(to, "\\%c", *text);
        else fputc(*text, to);
    }
}

static void zsh_option(FILE *to, const cli_option *o, const char *prefix, const char *name)
{
    const bool again = o->kind == CLI_FILES || o->kind == CLI_EACH;
    fprintf(to, " \\\n            '%s%s%s[", again ? "*" : "", prefix, name);
    zsh_text(to, o->help);
    fputc(']', to);
    if (cli_takes_value(o)) {
        fputc(':', to);
        zsh_text(to, o->kind == CLI_CHOICE ? o->name : o->value);
        if (o->kind == CLI_CHOICE) {
            fputs(":(", to);
            words(to, o->value);
            fputc(')', to);
        } else if (o->kind == CLI_FOLDER) {
            fputs(":_files -/", to);
        } else if (o->kind == CLI_FILE || o->kind == CLI_FILES) {
            fputs(":_files", to);
        } else {
            fputs(": ", to);
        }
    }
    fputc('\'', to);
}

static void zsh_options(FILE *to, const cli_option *o)
{
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        zsh_option(to, o, "--", o->name);
        if (o->letter) zsh_option(to, o, "-", (const char[]){o->letter, 0});
    }
}

static void zsh(FILE *to)
{
    fputs("#compdef roformer\n# zsh completion for roformer\n_roformer()\n{\n    local -a commands=(\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "        '%s:", cli_commands[i]->name);
        zsh_text(to, cli_commands[i]->summary);
        fputs("'\n", to);
    }
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "        %s) _arguments", cli_commands[i]->name);
        zsh_options(to, cli_commands[i]->options);
        zsh_options(to, cli_common_options);
        fputs(" \\\n            '*:file:_files' ;;\n", to);
    }
    fputs("    esac\n}\n"
          "if [ \"$funcstack[1]\" = _roformer ]; then _roformer \"$@\"; else compdef _roformer roformer; fi\n", to);
}

/* ---- fish ------------------------------------------------------------------------------------------------------------ */

static void fish_text(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') fputc('\\', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

static void fish_options(FILE *to, const char *condition, const cli_option *o)
{
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        fprintf(to, "complete -c roformer%s -l %s", condition, o->name);
        if (o->letter) fprintf(to, " -s %c", o->letter);
        if (o->kind == CLI_CHOICE) {
            fputs(" -x -a '", to);
            words(to, o->value);
            fputc('\'', to);
        } else if (o->kind == CLI_FOLDER) {
            fputs(" -x -a '(__fish_complete_directories)'", to);
        } else if (o->kind == CLI_FILE || o->kind == CLI_FILES) {
            fputs(" -r -F", to);
        } else if (cli_takes_value(o)) {
            fputs(" -x", to);
        }
        fputs(" -d ", to);
        fish_text(to, o->help);
        fputc('\n', to);
    }
}

static void fish(FILE *to)
{
    char condition[96];
    fputs("# fish completion for roformer\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "complete -c roformer -f -n __fish_use_subcommand -a %s -d ", cli_commands[i]->name);
        fish_text(to, cli_commands[i]->summary);
        fputc('\n', to);
    }
    for (int i = 0; cli_commands[i]; i++) {
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", cli_commands[i]->name);
        fish_options(to, condition, cli_commands[i]->options);
    }
    fish_options(to, "", cli_common_options);
}

bool cli_completion(FILE *to, const char *shell)
{
    static const struct { const char *name; void (*write)(FILE *); } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shell, shells[i].name)) {
            shells[i].write(to);
            return true;
        }
    return false;
}
