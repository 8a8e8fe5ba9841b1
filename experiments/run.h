/* run.h — what the programs of this folder share: the words of a command, its child, statistics over seeds. */
#ifndef EXPERIMENTS_RUN_H
#define EXPERIMENTS_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { WORDS = 160, SEEDS = 16, PATH = 4096 };

/* The program under measurement: "build/release/roformer", or what --program says. */
extern const char *program;

/* "NAME: ..." on standard error, and the end. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* out = the formatted path; ends the program when it is too long. */
void path_of(char out[PATH], const char *format, ...) __attribute__((format(printf, 2, 3)));
bool exists(const char *folder, const char *name);
bool has_checkpoint(const char *folder);

/* Makes the folder unless it is there; ends the program when it cannot. */
void make_folder(const char *path);

/* ---- what the command line asks for ---- */

typedef struct request {
    json_t *file;                       /* the reader's to release                                                 */
    const char *name, *work, *data, *hub, *threads, *tasks;
    char results[PATH];
    time_t until;                       /* 0: no end                                                               */
    bool only_table;
} request;

/* FILE.json WORK [--data DIR] [--results DIR] [--threads N] [--hours H] [--table] [--overlay FILE.json] [--hub DIR]
 * [--program ROFORMER], and --tasks A,B if `has_tasks`.  Reads the file and looks for its "data", makes the folder of
 * results; ends the program with what is wrong. */
void read_request(request *r, int argc, char **argv, bool has_tasks);

/* ---- a command ---- */

typedef struct command { char *word[WORDS]; int n; } command;

void say(command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_two(command *c, const char *option, const char *value);

/* {"max_steps": 100, "bf16": true} -> --max_steps 100 --bf16 */
void say_options(command *c, json_t *options);
void forget(command *c);

/* The child's exit code; its standard output goes to `out` when that is not NULL.  A child ends with its parent. */
int execute(const command *c, const char *out);

/* The same with `in` as its standard input, unless that is NULL. */
int execute_from(const command *c, const char *in, const char *out);

/* Runs gnuplot on a script, in the script's folder; prints a note if there is no plot. */
void run_script(const char *folder, const char *script);

/* What is left until `until` as --max_time; nothing when that is 0. */
void say_until(command *c, time_t until);

/* A copy of `common` with `own` laid over it. */
json_t *merged(json_t *common, json_t *own);

/* A training of one row and seed, in `folder`: output, seed, options of file and row and the rest are said here, and
 * the command is forgotten.  True: it is whole.  False: it was stopped, and goes on another time. */
bool train_row(const request *e, command *c, json_t *row, int seed, const char *folder);

/* ---- numbers of one row, one for each seed ---- */

typedef struct numbers { double x[SEEDS]; int seed[SEEDS], n; } numbers;

void keep(numbers *a, int seed, double x);
double mean(const numbers *a);
double deviation(const numbers *a);                             /* of a sample; NaN for one                        */

/* a - to, seed by seed. */
numbers differences(const numbers *a, const numbers *to);

/* Half the width of the 95 % interval of the mean; NaN for fewer than two. */
double half_interval(const numbers *a);

/* "0.512 ± 0.003", to the right in `width` cells; "-" for none. */
void print_cell(FILE *f, const numbers *a, double unit, int width, int digits);

#endif
