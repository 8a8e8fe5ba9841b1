/* options.c — reads a command line into a struct according to its table. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"
#include "roformer/context.h"

#define C(field) offsetof(cli_common, field)
const cli_option cli_common_options[] = {
    {"threads", 't', CLI_INT, C(threads), "N", "0", 0, RF_MAX_THREADS, "ROFORMER_THREADS",
     "number of worker threads; 0: one per processor that this process may use", NULL},
    {"isa", 0, CLI_TEXT, C(isa), "SET", NULL, 0, 0, "ROFORMER_ISA",
     "use at most this instruction set: "
#define RFR(name, machine, needs, flags) #name ", "
#include "roformer/kernel/rungs.def"
#undef RFR
     "or ref, the formulas of the papers in double precision (default: the best of this machine)",
     NULL},
    {"profile", 0, CLI_TEXT, C(profile), "FILE", NULL, 0, 0, NULL,
     "write the time of every operation of the model to FILE, a trace that ui.perfetto.dev and chrome://tracing show",
     NULL},
    {"quiet", 'q', CLI_FLAG, C(quiet), NULL, NULL, 0, 0, NULL, "do not print progress and notes to standard error",
     NULL},
    {"color", 0, CLI_CHOICE, C(color), "auto|always|never", "auto", 0, 0, NULL,
     "colors in tables and progress bars; auto: on a terminal, unless NO_COLOR is set", NULL},
    {"help", 0, CLI_FLAG, C(help), NULL, NULL, 0, 0, NULL,
     "print the complete help with examples (-h: only the options)", NULL},
    {0},
};
#undef C

const cli_option cli_before_options[] = {
    {"version", 'V', CLI_FLAG, offsetof(cli_common, version), NULL, NULL, 0, 0, NULL, "print the version", NULL},
    {"man", 0, CLI_FLAG, offsetof(cli_common, man), NULL, NULL, 0, 0, NULL, "print the man page roformer(1)", NULL},
    {0},
};

const cli_command *cli_find_command(const char *name)
{
    for (int i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}

bool cli_takes_value(const cli_option *o) { return o->kind != CLI_FLAG && o->kind != CLI_OPERANDS; }

/* "max-length" and "max_length" are the same name. */
bool cli_same_name(const char *name, const char *typed, size_t size)
{
    if (!name || strlen(name) != size) return false;
    for (size_t i = 0; i < size; i++)
        if ((name[i] == '-' ? '_' : name[i]) != (typed[i] == '-' ? '_' : typed[i])) return false;
    return true;
}

const cli_option *cli_find_option(const cli_option *options, const char *name, size_t size)
{
    for (const cli_option *o = options; o && o->kind; o++)
        if (o->kind != CLI_OPERANDS && (cli_same_name(o->name, name, size) || cli_same_name(o->alias, name, size)))
            return o;
    return NULL;
}

bool cli_given(const cli_parsed *p, const char *name)
{
    const cli_option *o = cli_find_option(p->options, name, strlen(name));
    return o && p->given[o - p->options];
}

rf_status cli_needs(const cli_parsed *p, const char *name, bool there, const char *with, rf_error *why)
{
    if (there || !cli_given(p, name)) return RF_OK;
    return rf_fail(why, RF_EARG, "--%s: has no effect without %s; give both, or leave it out", name, with);
}

/* ---- hints: the distance of Damerau and Levenshtein (insert, delete, replace, swap neighbors: 1 each) ------------ */

enum { WORD = 48 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t row[3][WORD + 1];                    /* rows i-2, i-1, i of the table, in turn */
    if (n > WORD || m > WORD) return SIZE_MAX;
    for (size_t j = 0; j <= m; j++) row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3];
        const size_t *above = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = smaller(smaller(above[j], now[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = smaller(now[j], two[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

void cli_consider(cli_nearest *near, const char *word)
{
    char typed[WORD + 1], known[WORD + 1];
    snprintf(typed, sizeof typed, "%s", near->typed);
    snprintf(known, sizeof known, "%s", word);
    for (char *p = typed; *p; p++) if (*p == '_') *p = '-';
    for (char *p = known; *p; p++) if (*p == '_') *p = '-';
    const size_t d = distance(typed, known);
    const size_t most = strlen(known) < 5 ? 1 : strlen(known) < 9 ? 2 : 3;
    if (d <= most && (!near->best || d < near->distance)) {
        near->best = word;
        near->distance = d;
    }
}

static void compare_options(cli_nearest *near, const cli_option *o)
{
    for (; o && o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        cli_consider(near, o->name);
        if (o->alias) cli_consider(near, o->alias);
    }
}

static rf_status unknown(const cli_parsed *p, const char *name, size_t size, rf_error *why)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)smaller(size, sizeof typed - 1), name);
    cli_nearest near = {typed, NULL, 0};
    const char *advice = p->command ? cli_trainer_advice(p->command->name, typed) : NULL;
    if (advice)
        return rf_fail(why, RF_EARG, "--%s is not an option of roformer %s: %s", typed, p->command->name, advice);
    if (p->command) compare_options(&near, p->options);
    else compare_options(&near, cli_before_options);
    compare_options(&near, cli_common_options);
    if (near.best) return rf_fail(why, RF_EARG, "unknown option --%s; did you mean --%s?", typed, near.best);
    if (p->command)
        return rf_fail(why, RF_EARG, "unknown option --%s (see roformer %s --help)", typed, p->command->name);
    return rf_fail(why, RF_EARG, "unknown option --%s (see roformer --help)", typed);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static rf_status read_int(const cli_option *o, const char *text, int64_t *to, rf_error *why)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return rf_fail(why, RF_EARG, "--%s: expected a whole number, got '%.60s'", o->name, text);
    errno = 0;
    const long long v = strtoll(text, NULL, 10);
    if (errno || (double)v < o->low || (double)v > o->high)
        return rf_fail(why, RF_EARG, "--%s: expected %.0f to %.0f, got %.60s", o->name, o->low, o->high, text);
    *to = v;
    return RF_OK;
}

static rf_status read_real(const cli_option *o, const char *text, double *to, rf_error *why)
{
    char *end;
    const double v = strtod(text, &end);
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text) || *end)
        return rf_fail(why, RF_EARG, "--%s: expected a number, got '%.60s'", o->name, text);
    if (!isfinite(v) || v < o->low || v > o->high)
        return rf_fail(why, RF_EARG, "--%s: expected %g to %g, got %.60s", o->name, o->low, o->high, text);
    *to = v;
    return RF_OK;
}

/* The place of a word in "a|b|c", -1: it is not there. */
static int place(const char *words, const char *word)
{
    for (int i = 0;; i++) {
        const size_t n = strcspn(words, "|");
        if (strlen(word) == n && !memcmp(word, words, n)) return i;
        if (!words[n]) return -1;
        words += n + 1;
    }
}

int cli_choice(const char *words, const char *word)
{
    static const char *const same[][2] = {{"float32", "f32"}, {"bfloat16", "bf16"}, {"float16", "f16"}};
    int at = place(words, word);
    for (size_t i = 0; at < 0 && i < sizeof same / sizeof *same; i++)
        if (!strcmp(word, same[i][0])) at = place(words, same[i][1]);
    return at;
}

static rf_status read_choice(const cli_option *o, const char *text, int *to, rf_error *why)
{
    const int at = cli_choice(o->value, text);
    if (at < 0) return rf_fail(why, RF_EARG, "--%s: expected one of %s, got '%.60s'", o->name, o->value, text);
    *to = at;
    return RF_OK;
}

bool cli_by_suffix(const cli_parsed *p, const char *name, const char *path, int *choice)
{
    const cli_option *o = cli_find_option(p->options, name, strlen(name));
    const char *dot = path ? strrchr(path, '.') : NULL;
    char suffix[16] = "";
    if (!dot || strchr(dot, '/') || !o || cli_given(p, name)) return true;
    for (size_t i = 0; dot[1 + i] && i + 1 < sizeof suffix; i++) suffix[i] = (char)tolower((unsigned char)dot[1 + i]);
    return !read_choice(o, suffix, choice, NULL);
}

static rf_status read_flag(const cli_option *o, const char *text, int *to, rf_error *why)
{
    static const char *const word[] = {"false", "true", "0", "1", "no", "yes", "off", "on", "False", "True"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (!strcmp(text, word[i])) {
            *to = i & 1;
            return RF_OK;
        }
    return rf_fail(why, RF_EARG, "--%s: expected true or false, got '%.60s'", o->name, text);
}

static rf_status append(cli_list *list, const char *text, rf_error *why)
{
    if (list->n == list->capacity) {
        const int wide = list->capacity ? 2 * list->capacity : 8;
        const char **item = realloc(list->item, (size_t)wide * sizeof *item);
        if (!item) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %d arguments", wide);
        list->item = item;
        list->capacity = wide;
    }
    list->item[list->n++] = text;
    return RF_OK;
}

static rf_status assign(const cli_option *o, void *args, const char *text, rf_error *why)
{
    void *to = (char *)args + o->at;
    switch (o->kind) {
    case CLI_FLAG: return read_flag(o, text, to, why);
    case CLI_INT: return read_int(o, text, to, why);
    case CLI_REAL: return read_real(o, text, to, why);
    case CLI_CHOICE: return read_choice(o, text, to, why);
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_FOLDER:
        if (!*text && !(o->kind == CLI_TEXT && o->low < 0))
            return rf_fail(why, RF_EARG, "--%s: expected a value, got an empty one", o->name);
        *(const char **)to = text;
        return RF_OK;
    case CLI_FILES:
    case CLI_EACH:
        if (!*text) return rf_fail(why, RF_EARG, "--%s: expected a value, got an empty one", o->name);
        return append(to, text, why);
    case CLI_OPERANDS: return append(to, text, why);
    default: break;
    }
    return RF_EARG;
}

static rf_status fill(const cli_option *options, void *args, bool from_env, const char *(*lookup)(const char *),
                      rf_error *why)
{
    for (const cli_option *o = options; o && o->kind; o++) {
        const char *text = !from_env ? o->initial : o->env && lookup ? lookup(o->env) : NULL;
        if (!text || !*text) continue;
        rf_error inner = {0};
        const rf_status status = assign(o, args, text, &inner);
        if (status && from_env) return rf_fail(why, status, "environment variable %s: %.200s", o->env, inner.text);
        if (status) return rf_fail(why, status, "%s", inner.text);
    }
    return RF_OK;
}

rf_status cli_defaults(cli_parsed *p, const char *(*lookup)(const char *name), rf_error *why)
{
    rf_status status = RF_OK;
    if (p->command) {
        cli_expand(p->command, p->options);
        memset(p->args, 0, p->command->size);
        status = fill(p->options, p->args, false, lookup, why);
        if (!status && p->command->prepare) p->command->prepare(p->args);
        if (!status) status = fill(p->options, p->args, true, lookup, why);
        return status;
    }
    status = fill(cli_common_options, &p->common, false, lookup, why);
    return status ? status : fill(cli_common_options, &p->common, true, lookup, why);
}

void cli_parsed_clear(cli_parsed *p)
{
    for (const cli_option *o = p->command ? p->options : NULL; o && o->kind; o++)
        if (o->kind == CLI_FILES || o->kind == CLI_EACH || o->kind == CLI_OPERANDS) {
            cli_list *list = (void *)((char *)p->args + o->at);
            free(list->item);
            *list = (cli_list){0};
        }
}

void cli_show_value(const cli_option *o, const void *args, char *out, size_t size)
{
    const void *at = (const char *)args + o->at;
    *out = 0;
    if (o->kind == CLI_INT) snprintf(out, size, "%lld", (long long)*(const int64_t *)at);
    if (o->kind == CLI_REAL) snprintf(out, size, "%g", *(const double *)at);
    if ((o->kind == CLI_TEXT || o->kind == CLI_FILE || o->kind == CLI_FOLDER) && *(const char *const *)at)
        snprintf(out, size, "%s", *(const char *const *)at);
    if (o->kind == CLI_CHOICE) {
        const char *word = o->value;
        for (int i = *(const int *)at; i > 0 && *word; i--) {
            word += strcspn(word, "|");
            word += *word == '|';
        }
        snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
    }
}

/* ---- the walk over argv ------------------------------------------------------------------------------------------ */

typedef struct target { const cli_option *o; void *args; bool *given; } target;

static target find_long(cli_parsed *p, const char *name, size_t size)
{
    const cli_option *o;
    if (p->command && (o = cli_find_option(p->options, name, size)))
        return (target){o, p->args, &p->given[o - p->options]};
    if ((o = cli_find_option(cli_common_options, name, size))) return (target){o, &p->common, NULL};
    if (!p->command && (o = cli_find_option(cli_before_options, name, size))) return (target){o, &p->common, NULL};
    return (target){0};
}

static const cli_option *with_letter(const cli_option *o, char letter)
{
    for (; o && o->kind; o++)
        if (o->kind != CLI_OPERANDS && o->letter == letter) return o;
    return NULL;
}

static target find_letter(cli_parsed *p, char letter)
{
    const cli_option *o;
    if (p->command && (o = with_letter(p->options, letter)))
        return (target){o, p->args, &p->given[o - p->options]};
    if ((o = with_letter(cli_common_options, letter))) return (target){o, &p->common, NULL};
    if (!p->command && (o = with_letter(cli_before_options, letter))) return (target){o, &p->common, NULL};
    return (target){0};
}

/* "-" is standard input and "-1" a number, both values; "-m" and "--model" are options. */
static bool is_option(const char *a) { return a[0] == '-' && a[1] && !strchr("0123456789.", a[1]); }

static rf_status give(target at, const char *text, rf_error *why)
{
    if (at.given && !*at.given && (at.o->kind == CLI_FILES || at.o->kind == CLI_EACH))
        ((cli_list *)(void *)((char *)at.args + at.o->at))->n = 0;       /* from the environment or a checkpoint */
    if (at.given) *at.given = true;
    return assign(at.o, at.args, text, why);
}

/* The option at argv[*i], whose value (or NULL) is attached; *i advances to the last argument that it used. */
static rf_status take(target at, const char *attached, int argc, const char *const argv[], int *i, rf_error *why)
{
    const cli_option *o = at.o;
    if (!cli_takes_value(o)) {
        return give(at, attached ? attached : "true", why);
    }
    if (!attached && (*i + 1 >= argc || is_option(argv[*i + 1])))
        return rf_fail(why, RF_EARG, "--%s: expected a value (%s), got none", o->name, o->value);
    rf_status status = give(at, attached ? attached : argv[++*i], why);
    while (!status && !attached && o->kind == CLI_FILES && *i + 1 < argc && !is_option(argv[*i + 1]))
        status = give(at, argv[++*i], why);
    return status;
}

static rf_status take_letters(cli_parsed *p, int argc, const char *const argv[], int *i, rf_error *why)
{
    const char *a = argv[*i] + 1;
    rf_status status = RF_OK;
    for (; *a && !status; a++) {
        if (*a == 'h') {
            p->common.short_help = 1;
            continue;
        }
        const target at = find_letter(p, *a);
        if (!at.o)
            return rf_fail(why, RF_EARG, "unknown option -%c (see roformer%s%s --help)", *a, p->command ? " " : "",
                           p->command ? p->command->name : "");
        if (cli_takes_value(at.o)) {
            const char *attached = a[1] == '=' ? a + 2 : a[1] ? a + 1 : NULL;
            return take(at, attached, argc, argv, i, why);
        }
        status = give(at, "true", why);
    }
    return status;
}

static rf_status take_operand(cli_parsed *p, const char *text, rf_error *why)
{
    for (const cli_option *o = p->options; o->kind; o++)
        if (o->kind == CLI_OPERANDS) {
            const cli_list *list = (const void *)((char *)p->args + o->at);
            if (list->n >= (int)o->high)
                return rf_fail(why, RF_EARG, "unexpected argument '%.100s': %s takes at most %d", text,
                               p->command->name, (int)o->high);
            return assign(o, p->args, text, why);
        }
    return rf_fail(why, RF_EARG, "unexpected argument '%.100s': %s takes options only", text, p->command->name);
}

static rf_status enough_operands(const cli_parsed *p, rf_error *why)
{
    for (const cli_option *o = p->options; o->kind; o++)
        if (o->kind == CLI_OPERANDS && ((const cli_list *)(const void *)((char *)p->args + o->at))->n < (int)o->low)
            return rf_fail(why, RF_EARG, "%s: expected %s, got none", p->command->name,
                           p->command->operands);
    return RF_OK;
}

rf_status cli_parse(cli_parsed *p, int argc, const char *const argv[], int *used, rf_error *why)
{
    rf_status status = RF_OK;
    int i = 0;
    for (; i < argc && !status; i++) {
        const char *a = argv[i];
        if (!is_option(a)) {
            if (!p->command) break;
            status = take_operand(p, a, why);
        } else if (a[1] != '-') {
            status = take_letters(p, argc, argv, &i, why);
        } else if (!a[2]) {
            if (!p->command) break;
            while (++i < argc && !status) status = take_operand(p, argv[i], why);
            break;
        } else {
            const size_t size = strcspn(a + 2, "=");
            const target at = find_long(p, a + 2, size);
            status = at.o ? take(at, a[2 + size] ? a + 2 + size + 1 : NULL, argc, argv, &i, why)
                          : unknown(p, a + 2, size, why);
        }
    }
    if (used) *used = i;
    if (!status && p->command && !p->common.help && !p->common.short_help) status = enough_operands(p, why);
    return status;
}
