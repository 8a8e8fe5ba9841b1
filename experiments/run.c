/* run.c — commands, their children, and statistics over seeds. */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roformer/inspect/files.h"
#include "data.h"
#include "run.h"

const char *program = "build/release/roformer";

static void complain(const char *format, va_list list)
{
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

void die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain(format, list);
    va_end(list);
    exit(1);
}

/* Of roformer's exit codes: 2 usage, 3 data, 4 the system. */
static void refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static void refuse(int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain(format, list);
    va_end(list);
    exit(code);
}

void path_of(char out[PATH], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (vsnprintf(out, PATH, format, list) >= PATH) die("%.100s...: too long", out);
    va_end(list);
}

bool exists(const char *folder, const char *name)
{
    char path[PATH];
    path_of(path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

bool has_checkpoint(const char *folder)
{
    char pattern[PATH];
    glob_t found;
    path_of(pattern, "%s/checkpoint-*/" RF_FILE_COMPLETE, folder);
    const bool any = !glob(pattern, 0, NULL, &found);
    if (any) globfree(&found);
    return any;
}

void make_folder(const char *path)
{
    if (mkdir(path, 0777) && errno != EEXIST) die("%s: %s", path, strerror(errno));
}

/* ---- what the command line asks for ------------------------------------------------------------------------------ */

static time_t end_of(const char *hours)
{
    char *end;
    const double h = strtod(hours, &end);
    if (end == hours || *end || !(h >= 0 && h < 1e6)) refuse(2, "--hours: '%s' is not a number from 0 on", hours);
    return time(NULL) + (time_t)(3600 * h);
}

/* The first line of a table is the title of its experiment: that of another one is not written over. */
static void claim_results(const request *r)
{
    static const char *const file[] = {"runs.jsonl", "curves.gp"};
    const char *title = json_string_value(json_object_get(r->file, "title"));
    char path[PATH], line[512] = "";
    path_of(path, "%s/table.txt", r->results);
    FILE *f = fopen(path, "r");
    if (f) {
        if (fgets(line, sizeof line, f)) line[strcspn(line, "\n")] = 0;
        fclose(f);
        if (!*line || (title && !strncmp(line, title, strlen(title)))) return;  /* empty: it was being written */
        refuse(2, "%s: holds the results of another experiment: expected \"%s\" in its first line, got \"%s\"; name "
               "another folder, --results DIR/%s", path, title ? title : r->name, line, r->name);
    }
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        path_of(path, "%s/%s", r->results, file[i]);
        if (!access(path, F_OK))
            refuse(2, "%s: exists beside no table.txt, and would be overwritten; name another folder, --results DIR/%s",
                   path, r->name);
    }
}

void read_request(request *r, int argc, char **argv, bool has_tasks)
{
    json_error_t bad;
    const char *results = NULL, *overlay = NULL;
    if (argc < 3)
        refuse(2,
               "usage: %s FILE.json WORK [--data DIR] [--results DIR] %s[--threads N] [--hours H] [--table] [--overlay "
               "FILE.json] [--hub DIR] [--program ROFORMER]",
               program_invocation_short_name, has_tasks ? "[--tasks A,B] " : "");
    *r = (request){.work = argv[2], .data = getenv("ROFORMER_DATA")};
    if (!r->data) r->data = "../shared/data";
    if (access(argv[1], R_OK)) refuse(4, "%s: cannot open: %s", argv[1], strerror(errno));
    if (!(r->file = json_load_file(argv[1], 0, &bad))) refuse(3, "%s:%d: %s", argv[1], bad.line, bad.text);
    if (!(r->name = json_string_value(json_object_get(r->file, "name")))) refuse(3, "%s: has no \"name\"", argv[1]);
    for (int i = 3; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--table")) r->only_table = true;
        else if (!value) refuse(2, "%s: unknown, or without its value", argv[i]);
        else if (!strcmp(argv[i], "--data")) r->data = value, i++;
        else if (!strcmp(argv[i], "--hub")) r->hub = value, i++;
        else if (!strcmp(argv[i], "--results")) results = value, i++;
        else if (!strcmp(argv[i], "--tasks") && has_tasks) r->tasks = value, i++;
        else if (!strcmp(argv[i], "--threads")) r->threads = value, i++;
        else if (!strcmp(argv[i], "--overlay")) overlay = value, i++;
        else if (!strcmp(argv[i], "--program")) program = value, i++;
        else if (!strcmp(argv[i], "--hours")) r->until = end_of(value), i++;
        else refuse(2, "unknown option %s", argv[i]);
    }
    if (access(program, X_OK)) refuse(4, "%s is not there: run `make` first, in the top folder", program);
    if (overlay) data_overlay(r, overlay);
    if (!r->only_table) data_check(r, overlay != NULL);
    if (!results) make_folder("results");
    if (results) path_of(r->results, "%s", results);
    else path_of(r->results, "results/%s", r->name);
    make_folder(r->results);
    claim_results(r);
    make_folder(r->work);
}

/* ---- a command --------------------------------------------------------------------------------------------------- */

void say(command *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (c->n + 1 >= WORDS || vasprintf(&c->word[c->n++], format, list) < 0)
        die("a command of more than %d words", WORDS);
    va_end(list);
    c->word[c->n] = NULL;
}

void say_two(command *c, const char *option, const char *value)
{
    say(c, "%s", option);
    say(c, "%s", value);
}

void say_options(command *c, json_t *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value) {
        if (json_is_false(value)) continue;
        say(c, "--%s", key);
        if (json_is_string(value)) say(c, "%s", json_string_value(value));
        else if (json_is_integer(value)) say(c, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value)) say(c, "%.17g", json_real_value(value));
    }
}

void say_until(command *c, time_t until)
{
    if (!until) return;
    const time_t left = until - time(NULL);
    say(c, "--max_time");
    say(c, "%lld", (long long)(left > 1 ? left : 1));
}

void forget(command *c)
{
    while (c->n) free(c->word[--c->n]);
}

int execute(const command *c, const char *out) { return execute_from(c, NULL, out); }

int execute_from(const command *c, const char *in, const char *out)
{
    fflush(NULL);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) die("fork: %s", strerror(errno));
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(75);
        if (in && !freopen(in, "r", stdin)) _exit(4);
        if (out && !freopen(out, "w", stdout)) _exit(4);
        execvp(c->word[0], c->word);
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, c->word[0], strerror(errno));
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) die("waitpid: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void run_script(const char *folder, const char *script)
{
    command words = {0};
    say(&words, "gnuplot");
    say(&words, "-e");
    say(&words, "cd '%s'", folder);
    say(&words, "%s", script);
    if (execute(&words, NULL)) fprintf(stderr, "%s: %s: no plot was drawn\n", program_invocation_short_name, script);
    forget(&words);
}

json_t *merged(json_t *common, json_t *own)
{
    json_t *o = common ? json_copy(common) : json_object();
    if (own) json_object_update(o, own);
    return o;
}

bool train_row(const request *e, command *c, json_t *row, int seed, const char *folder)
{
    say_two(c, "-o", folder);
    say(c, "--seed");
    say(c, "%d", seed);
    if (has_checkpoint(folder)) say_two(c, "--resume", "latest");
    if (e->threads) say_two(c, "--threads", e->threads);
    say_until(c, e->until);
    json_t *o = merged(json_object_get(e->file, "options"), json_object_get(row, "options"));
    say_options(c, o);
    json_decref(o);
    fprintf(stderr, "== %s\n", folder);
    const int code = execute(c, NULL);
    forget(c);
    if (code && code != 75) die("%s: exit code %d", folder, code);
    return !code && exists(folder, RF_FILE_WEIGHTS);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

void keep(numbers *a, int seed, double x)
{
    if (a->n == SEEDS) return;
    a->seed[a->n] = seed;
    a->x[a->n++] = x;
}

double mean(const numbers *a)
{
    double s = 0;
    for (int i = 0; i < a->n; i++) s += a->x[i];
    return s / a->n;
}

double deviation(const numbers *a)
{
    const double m = mean(a);
    double s = 0;
    for (int i = 0; i < a->n; i++) s += (a->x[i] - m) * (a->x[i] - m);
    return a->n > 1 ? sqrt(s / (a->n - 1)) : NAN;
}

numbers differences(const numbers *a, const numbers *to)
{
    numbers d = {0};
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < to->n; j++)
            if (a->seed[i] == to->seed[j]) keep(&d, a->seed[i], a->x[i] - to->x[j]);
    return d;
}

/* Student's t, 97.5 %, with n - 1 degrees of freedom, times the standard error. */
double half_interval(const numbers *a)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    return a->n < 2 ? (double)NAN : t[a->n - 2] * deviation(a) / sqrt(a->n);
}

void print_cell(FILE *f, const numbers *a, double unit, int width, int digits)
{
    char cell[64] = "-";
    if (a->n > 1) snprintf(cell, sizeof cell, "%.*f ± %.*f", digits, unit * mean(a), digits, unit * deviation(a));
    else if (a->n) snprintf(cell, sizeof cell, "%.*f", digits, unit * a->x[0]);
    fprintf(f, " %*s", width + (strstr(cell, "±") ? 1 : 0), cell);      /* one character of two bytes */
}
