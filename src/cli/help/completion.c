/* completion.c — completion scripts for bash, zsh and fish, written from the option tables. */
#include <string.h>

#include "cli/help/help.h"

/* "cls|mean|max" as "cls mean max"; "[plot decay|bias]..." as "plot decay bias" */
static void words(FILE *to, const char *value)
{
    for (; *value; value++)
        if (!strchr("[].", *value)) fputc(*value == '|' ? ' ' : *value, to);
}

/* The values of texts that are names of rows, in a form of `words`. */
static const struct {
    const char *option, *value;
} rows[] = {
#define RFT(name) #name "|"
#define RFT_READ(name) ""
    {"type",
#include "roformer/inspect/tokenizers.def"
    },
#undef RFT
#define RFT(name, what, metrics) #name "|"
    {"task",
#include "roformer/inspect/tasks.def"
    },
#undef RFT
#define RFM(name, error) #name "|"
    {"metric_for_best_model",
#include "roformer/inspect/metrics.def"
    },
#undef RFM
#define RFR(name, machine, needs, flags) #name "|"
    {"isa",
#include "roformer/kernel/rungs.def"
     "ref"},
#undef RFR
};

/* The words that an option takes, or NULL. */
static const char *value_words(const cli_option *o)
{
    if (o->kind == CLI_CHOICE) return o->value;
    for (size_t i = 0; i < CLI_COUNT(rows); i++)
        if (o->kind == CLI_TEXT && !strcmp(o->name, rows[i].option)) return rows[i].value;
    return NULL;
}

/* The kind of an operand, from the line of usage: words ("bash|zsh|fish"), a command, a folder, or anything. */
static const char *operand_words(const cli_command *c) { return strchr(c->operands, '|') ? c->operands : NULL; }

static bool has_operand(const cli_command *c, const char *name)
{
    for (const cli_option *o = c->options; o->kind; o++)                /* operands always belong to the command */
        if (o->kind == CLI_OPERANDS && !strcmp(o->name, name)) return true;
    return false;
}

static bool takes_command(const cli_command *c) { return has_operand(c, "COMMAND"); }
static bool takes_folder(const cli_command *c) { return has_operand(c, "DIR") || has_operand(c, "FOLDER"); }

static void command_names(FILE *to)
{
    for (int i = 0; cli_commands[i]; i++) fprintf(to, "%s%s", i ? " " : "", cli_commands[i]->name);
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void bash_names(FILE *to, const cli_option *o)
{
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        fprintf(to, " --%s", o->name);
        if (o->letter) fprintf(to, " -%c", o->letter);
    }
}

/* "embed,--max_length": the form that _roformer_value compares, with '_' for '-'. */
static void bash_case(FILE *to, const char *command, const char *name)
{
    fprintf(to, "%s,--", command);
    for (; *name; name++) fputc(*name == '-' ? '_' : *name, to);
}

static void bash_values(FILE *to, const char *command, const cli_option *o)
{
    for (; o->kind; o++) {
        if (!cli_takes_value(o)) continue;
        fputs("        ", to);
        bash_case(to, command, o->name);
        if (o->alias) fputc('|', to);
        if (o->alias) bash_case(to, command, o->alias);
        if (o->letter) fprintf(to, "|%s,-%c", command, o->letter);
        fputs(") value='", to);
        if (value_words(o)) words(to, value_words(o));
        else if (o->kind == CLI_FOLDER) fputs(":folder", to);
        else if (o->kind == CLI_FILE || o->kind == CLI_FILES) fputs(":file", to);
        else fputs(":any", to);
        fputs("' ;;\n", to);
    }
}

/* readline completes names of files and folders, with quotes and expansion: -o default. */
static const char bash_parts[] =
    "_roformer_offer()       # of the words $1 those that go on with $word, and no names of files\n{\n"
    "    local IFS=$' \\t\\n'\n"
    "    compopt +o bashdefault +o default 2> /dev/null\n"
    "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$1\" -- \"$word\"))\n}\n"
    "_roformer_folders() { compopt -o dirnames +o default 2> /dev/null; }\n"
    "_roformer_long()        # --max-length is --max_length\n{\n"
    "    [[ $name != --* ]] || { name=${name#--}; name=--${name//-/_}; }\n}\n";

/* The words before the cursor: which of them is the command, and whether an option expects its value.  "--name=value"
 * is three words, or one if COMP_WORDBREAKS has no '='. */
static const char bash_walk[] =
    "_roformer()\n{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} command= option= attached= operands= prefix= value= name last= i n=0\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        name=${COMP_WORDS[i]}\n"
    "        if [[ $name == = && $last == --* ]]; then option=$last attached=1 last=; continue; fi\n"
    "        if [[ $option && ( $attached || $name != -[!0-9.]* ) ]]; then option= attached= last=; continue; fi\n"
    "        option= attached= last=\n"
    "        if [[ $name == -- ]]; then operands=1\n"
    "        elif [[ $name == -?* && ! $operands ]]; then\n"
    "            _roformer_long\n"
    "            last=$name\n"
    "            ! _roformer_value \"$command\" \"$name\" || option=$name\n"
    "        elif [[ ! $command ]]; then command=$name\n"
    "        else ((++n)); fi\n"
    "    done\n"
    "    if [[ $word == = && $last ]]; then option=$last attached=1 word=\n"
    "    elif [[ $word == --*=* && ! $operands && ! $attached ]]; then\n"
    "        prefix=${word%%=*}= name=${word%%=*} word=${word#*=} attached=1\n"
    "        _roformer_long\n"
    "        option=$name\n"
    "    elif [[ $word == -* && ! $attached ]]; then option=; fi\n"
    "    if [[ $option ]]; then\n"
    "        _roformer_value \"$command\" \"$option\" || value='true false'\n"
    "        case $value in\n"
    "            :file) ;;\n"
    "            :folder) _roformer_folders ;;\n"
    "            :any) _roformer_offer '' ;;\n"
    "            *) _roformer_offer \"$value\" ;;\n"
    "        esac\n"
    "        return\n"
    "    fi\n";

static void bash_operands(FILE *to)
{
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        if (takes_command(c)) fprintf(to, "        %s) ((n)) || _roformer_offer \"$commands\" ;;\n", c->name);
        else if (takes_folder(c)) fprintf(to, "        %s) _roformer_folders ;;\n", c->name);
        else if (operand_words(c)) {
            fprintf(to, "        %s) _roformer_offer '", c->name);
            words(to, operand_words(c));
            fputs("' ;;\n", to);
        }
    }
}

static void bash(FILE *to)
{
    cli_option all[CLI_OPTIONS_MAX];
    fputs("# bash completion for roformer\n", to);
    fputs(bash_parts, to);
    fputs("_roformer_value()       # what option $2 of command $1 takes, in $value; false: nothing\n{\n"
          "    case $1,$2 in\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        cli_expand(cli_commands[i], all);
        bash_values(to, cli_commands[i]->name, all);
    }
    bash_values(to, "*", cli_common_options);
    fputs("        *) return 1 ;;\n    esac\n}\n", to);
    fputs(bash_walk, to);
    fputs("    local commands='", to);
    command_names(to);
    fputs("' options='", to);
    bash_names(to, cli_common_options);
    fputs(" -h'\n    if [[ $word == -* && ! $operands ]]; then\n        case $command in\n            '') options+='",
          to);
    bash_names(to, cli_before_options);
    fputs("' ;;\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "            %s) options+='", cli_commands[i]->name);
        cli_expand(cli_commands[i], all);
        bash_names(to, all);
        fputs("' ;;\n", to);
    }
    fputs("        esac\n        _roformer_offer \"$options\"\n        return\n    fi\n    case $command in\n"
          "        '') _roformer_offer \"$commands\" ;;\n", to);
    bash_operands(to);
    fputs("    esac\n}\ncomplete -o bashdefault -o default -F _roformer roformer\n", to);
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

/* Text inside '...' and [...], without the characters that end either. */
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
        zsh_text(to, value_words(o) || !o->value ? o->name : o->value);
        if (value_words(o)) {
            fputs(":(", to);
            words(to, value_words(o));
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

static void zsh_operands(FILE *to, const cli_command *c)
{
    fputs(" \\\n            '*:", to);
    if (takes_command(c) || operand_words(c)) {
        fputs("word:(", to);
        if (takes_command(c)) command_names(to);
        else words(to, operand_words(c));
        fputs(")' ;;\n", to);
    } else {
        fputs(takes_folder(c) ? "folder:_files -/' ;;\n" : "file:_files' ;;\n", to);
    }
}

static void zsh(FILE *to)
{
    cli_option all[CLI_OPTIONS_MAX];
    fputs("#compdef roformer\n# zsh completion for roformer\n_roformer()\n{\n    local -a commands=(\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "        '%s:", cli_commands[i]->name);
        zsh_text(to, cli_commands[i]->summary);
        fputs("'\n", to);
    }
    fputs("    )\n    local context state line\n    typeset -A opt_args\n    _arguments -C", to);
    zsh_options(to, cli_common_options);
    zsh_options(to, cli_before_options);
    fputs(" \\\n            '1:command:->command' '*::argument:->rest' && return\n"
          "    if [[ $state == command ]]; then\n        _describe command commands\n        return\n    fi\n"
          "    case $words[1] in\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "        %s) _arguments", cli_commands[i]->name);
        cli_expand(cli_commands[i], all);
        zsh_options(to, all);
        zsh_options(to, cli_common_options);
        zsh_operands(to, cli_commands[i]);
    }
    fputs("    esac\n}\n"
          "if [ \"$funcstack[1]\" = _roformer ]; then _roformer \"$@\"; else compdef _roformer roformer; fi\n", to);
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

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
        if (value_words(o)) {
            fputs(" -x -a '", to);
            words(to, value_words(o));
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

static void fish_operands(FILE *to, const char *condition, const cli_command *c)
{
    if (!takes_command(c) && !takes_folder(c) && !operand_words(c)) return;
    fprintf(to, "complete -c roformer%s -f -a '", condition);
    if (takes_command(c)) command_names(to);
    else if (takes_folder(c)) fputs("(__fish_complete_directories)", to);
    else words(to, operand_words(c));
    fputs("'\n", to);
}

/* Whether the command has not been given yet: the value of an option before it is not a command. */
static void fish_needs_command(FILE *to)
{
    fputs("function __roformer_needs_command\n    set -l value 0\n    for word in (commandline -opc)[2..]\n"
          "        if test $value = 1\n            set value 0\n            continue\n        end\n"
          "        switch $word\n            case", to);
    for (const cli_option *o = cli_common_options; o->kind; o++) {
        if (!cli_takes_value(o)) continue;
        fprintf(to, " --%s", o->name);
        if (o->letter) fprintf(to, " -%c", o->letter);
    }
    fputs("\n                set value 1\n            case '-*'\n            case '*'\n                return 1\n"
          "        end\n    end\n    test $value = 0\nend\n", to);
}

static void fish(FILE *to)
{
    char condition[96];
    cli_option all[CLI_OPTIONS_MAX];
    fputs("# fish completion for roformer\n", to);
    fish_needs_command(to);
    for (int i = 0; cli_commands[i]; i++) {
        fprintf(to, "complete -c roformer -f -n __roformer_needs_command -a %s -d ", cli_commands[i]->name);
        fish_text(to, cli_commands[i]->summary);
        fputc('\n', to);
    }
    for (int i = 0; cli_commands[i]; i++) {
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", cli_commands[i]->name);
        cli_expand(cli_commands[i], all);
        fish_options(to, condition, all);
        fish_operands(to, condition, cli_commands[i]);
    }
    fish_options(to, "", cli_common_options);
    fish_options(to, " -n __roformer_needs_command", cli_before_options);
}

bool cli_completion(FILE *to, const char *shell)
{
    static const struct {
        const char *name;
        void (*write)(FILE *);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shell, shells[i].name)) {
            shells[i].write(to);
            return true;
        }
    return false;
}
