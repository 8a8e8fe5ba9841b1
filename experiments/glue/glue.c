/* glue.c — fine-tunes pre-trained models on GLUE's tasks and writes the table.
 *
 *     glue FILE.json WORK [--data DIR] [--results DIR] [--tasks A,B] [--threads N] [--hours H] [--table] [--hub DIR]
 *     [--program ROFORMER]
 *
 *     for each task and row     every learning rate of the grid with the first seed; the best on dev is taken
 *     then seed by seed  every task and row at its rate; seed s begins with pre-trained seed s mod (how many there are)
 *
 * WORK is the folder with the models pre-trained by `experiment` (WORK/ROW-SEED); a row {"name", "published":
 * [OWNER/NAME, ...]} begins with the first of these models that is below --hub.  Runs are in WORK/NAME/TASK/.  A run
 * is complete if its scores.json exists; complete runs are skipped and others continue from their newest checkpoint, so
 * the same command can always be repeated.  The dev file is not used in a run: `roformer evaluate` scores the final
 * weights, in f32, with the task's options "evaluate"; if the task has a "threshold" (f1 or accuracy), it is the cosine
 * that is best for the training rows.  A run without finite numbers is recorded as failed.
 *                                                                                        docs: experiments/README.md */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roformer/inspect/files.h"
#include "glue.h"
#include "../published/hub.h"

/* ---- the pieces of the file -------------------------------------------------------------------------------------- */

/* The published models of a row; NULL: it has models of WORK. */
static const json_t *published_of(const study *s, size_t row)
{
    return json_object_get(json_array_get(s->rows, row), "published");
}

const char *row_name(const study *s, size_t row)
{
    const json_t *one = json_array_get(s->rows, row);
    return json_string_value(json_is_object(one) ? json_object_get(one, "name") : one);
}

const char *metric_name(const task *t, size_t i)
{
    return json_string_value(json_array_get(json_object_get(t->json, "metrics"), i));
}

static double rate_of(const study *s, size_t i) { return json_number_value(json_array_get(s->rates, i)); }
int seed_of(const study *s, size_t i) { return (int)json_integer_value(json_array_get(s->seeds, i)); }

/* The model that a run begins with. false: it is not there; `out` then says what is. */
static bool find_model(const study *s, size_t row, size_t seed, char out[PATH])
{
    const json_t *names = published_of(s, row);
    for (size_t i = 0; i < json_array_size(names) && s->asked.hub; i++)
        if (hub_find(s->asked.hub, json_string_value(json_array_get(names, i)), out, PATH)) return true;
    if (names) {
        const char *first = json_string_value(json_array_get(names, 0));
        path_of(out, "%s/%s", s->asked.hub ? s->asked.hub : "DIR of --hub", first ? first : row_name(s, row));
        return false;
    }
    json_t *list = json_object_get(s->asked.file, "pretrained_seeds");
    const json_int_t from = json_integer_value(json_array_get(list, seed % json_array_size(list)));
    path_of(out, "%s/%s-%lld", s->asked.work, row_name(s, row), (long long)from);
    return exists(out, RF_FILE_WEIGHTS);
}

static void run_folder(const study *s, const task *t, size_t row, size_t rate, size_t seed, char out[PATH])
{
    path_of(out, "%s/%s/%s/%s-%g-%d", s->asked.work, s->asked.name, t->name, row_name(s, row), rate_of(s, rate),
            seed_of(s, seed));
}

/* NaN: the run failed. False: there is no result yet. */
static bool read_score(const char *folder, const char *metric, double *x)
{
    char path[PATH], key[64];
    path_of(path, "%s/scores.json", folder);
    json_t *o = json_load_file(path, 0, NULL);
    if (!o) return false;
    snprintf(key, sizeof key, "eval_%s", metric);
    json_t *value = json_object_get(o, key);
    if (!value && !json_object_get(o, "failed")) die("%s has no %s", path, key);
    *x = value ? json_number_value(value) : (double)NAN;        /* null, the correlation of a constant: 0 */
    json_decref(o);
    return true;
}

/* The learning rate with the best dev score with the first seed; if several are equal, the smallest. Negative: the grid
 * is not complete. */
static int best_rate(const study *s, const task *t, size_t row)
{
    int best = -1;
    double top = -INFINITY, x;
    for (size_t r = 0; r < json_array_size(s->rates); r++) {
        char folder[PATH];
        run_folder(s, t, row, r, 0, folder);
        if (!read_score(folder, metric_name(t, 0), &x)) return -1;
        if (x > top) top = x, best = (int)r;
    }
    return best;
}

double chosen_rate(const study *s, const task *t, size_t row)
{
    const int best = best_rate(s, t, row);
    return best < 0 ? (double)NAN : rate_of(s, (size_t)best);
}

numbers scores_of(const study *s, const task *t, size_t row, const char *metric)
{
    numbers a = {.n = 0};
    const int best = best_rate(s, t, row);
    for (size_t i = 0; i < json_array_size(s->seeds) && best >= 0; i++) {
        char folder[PATH];
        double x;
        run_folder(s, t, row, (size_t)best, i, folder);
        if (read_score(folder, metric, &x) && isfinite(x)) keep(&a, seed_of(s, i), x);
    }
    return a;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void say_columns(command *c, const task *t)
{
    const char *key = json_string_value(json_array_get(json_object_get(t->json, "keys"), 1));
    say_two(c, "--text_column", "sentence1");
    if ((key && *key) || json_integer_value(json_array_get(json_object_get(t->json, "columns"), 1)))
        say_two(c, "--pair_column", "sentence2");
    say_two(c, "--label_column", "label");
}

static void data_file(const study *s, const task *t, const char *part, char out[PATH])
{
    path_of(out, "%s/%s/data/%s-%s.tsv", s->asked.work, s->asked.name, t->name, part);
}

static int finetune(const study *s, const task *t, const char *model, const char *folder, double rate, int seed)
{
    char file[PATH];
    command words = {0};
    data_file(s, t, "train", file);
    say(&words, "%s", program);
    say(&words, "finetune");
    say(&words, "-q");
    say_two(&words, "--task", json_string_value(json_object_get(t->json, "task")));
    say_two(&words, "--train", file);
    say_columns(&words, t);
    say_two(&words, "-m", model);
    say_two(&words, "-o", folder);
    say(&words, "--learning_rate");
    say(&words, "%.17g", rate);
    say(&words, "--seed");
    say(&words, "%d", seed);
    if (has_checkpoint(folder)) say_two(&words, "--resume", "latest");
    if (s->asked.threads) say_two(&words, "--threads", s->asked.threads);
    say_until(&words, s->asked.until);
    json_t *o = merged(json_object_get(s->asked.file, "options"), json_object_get(t->json, "options"));
    say_options(&words, o);
    json_decref(o);
    const int code = execute(&words, "/dev/null");
    forget(&words);
    return code;
}

static int evaluate(const study *s, const task *t, const char *folder, const char *part, double threshold,
                    const char *out)
{
    char file[PATH];
    command words = {0};
    data_file(s, t, part, file);
    say(&words, "%s", program);
    say(&words, "evaluate");
    say(&words, "-q");
    say_two(&words, "-m", folder);
    say_two(&words, "--dev", file);
    say_columns(&words, t);
    say(&words, "--json");
    if (isfinite(threshold)) {
        say(&words, "--similarity_threshold");
        say(&words, "%.17g", threshold);
    }
    say_options(&words, json_object_get(t->json, "evaluate"));
    if (s->asked.threads) say_two(&words, "--threads", s->asked.threads);
    const int code = execute(&words, out);
    forget(&words);
    return code;
}

/* The threshold of the cosine at which the task's "threshold", accuracy or f1, is best for the training rows; NaN: the
   task has none. */
static double threshold_of(const study *s, const task *t, const char *folder)
{
    const char *metric = json_string_value(json_object_get(t->json, "threshold"));
    char scores[PATH], name[64];
    double x;
    if (!metric) return (double)NAN;
    snprintf(name, sizeof name, "%s_threshold", metric);
    path_of(scores, "%s/train", folder);
    make_folder(scores);
    path_of(scores, "%s/train/scores.json", folder);
    const int code = evaluate(s, t, folder, "train", (double)NAN, scores);
    if (code) die("%s: evaluate ended with %d", folder, code);
    path_of(scores, "%s/train", folder);
    if (!read_score(scores, name, &x)) die("%s/scores.json is not there", scores);
    return x;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path);
}

/* The moments of the optimizer are three quarters of a run's bytes. */
static void remove_checkpoints(const char *folder)
{
    char pattern[PATH];
    glob_t found;
    path_of(pattern, "%s/checkpoint-*", folder);
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) nftw(found.gl_pathv[i], remove_one, 8, FTW_DEPTH | FTW_PHYS);
    globfree(&found);
}

enum { DONE, DONE_NOW, NO_MODEL, LATER };

static int one_run(const study *s, const task *t, size_t row, size_t rate, size_t seed)
{
    enum { NUMERICS = 6, RESUMABLE = 75 };
    char folder[PATH], model[PATH], scores[PATH], unfinished[PATH];
    run_folder(s, t, row, rate, seed, folder);
    if (exists(folder, "scores.json")) return DONE;
    if (!find_model(s, row, seed, model)) return NO_MODEL;
    if (s->asked.until && time(NULL) >= s->asked.until) return LATER;
    fprintf(stderr, "== %s\n", folder);
    path_of(scores, "%s/scores.json", folder);
    path_of(unfinished, "%s.unfinished", scores);
    if (!exists(folder, RF_FILE_WEIGHTS)) {
        int code = finetune(s, t, model, folder, rate_of(s, rate), seed_of(s, seed));
        for (int again = 0; code == RESUMABLE && !exists(folder, RF_FILE_WEIGHTS) && again < 20; again++) {
            if (s->asked.until && time(NULL) >= s->asked.until) return LATER;
            sleep(1);                                      /* one that was killed may hold the folder a little longer */
            code = finetune(s, t, model, folder, rate_of(s, rate), seed_of(s, seed));
        }
        if (code == NUMERICS) {
            json_t *failed = json_pack("{s:i}", "failed", code);
            if (json_dump_file(failed, unfinished, 0) || rename(unfinished, scores))
                die("%s: %s", scores, strerror(errno));
            json_decref(failed);
            return DONE_NOW;
        }
        if (code && code != RESUMABLE) die("%s: exit code %d", folder, code);
        if (!exists(folder, RF_FILE_WEIGHTS)) return LATER;
    }
    const int code = evaluate(s, t, folder, "dev", threshold_of(s, t, folder), unfinished);
    if (code) die("%s: evaluate ended with %d", folder, code);
    if (rename(unfinished, scores)) die("%s: %s", scores, strerror(errno));
    remove_checkpoints(folder);
    return DONE_NOW;
}

/* ---- all runs ---------------------------------------------------------------------------------------------------- */

/* False: the time is over. */
static bool visit(const study *s, const task *t, size_t row, size_t rate, size_t seed)
{
    const int got = one_run(s, t, row, rate, seed);
    if (got == DONE_NOW) glue_table(s);
    if (got == NO_MODEL) {
        char model[PATH];
        (void)find_model(s, row, seed, model);
        fprintf(stderr, "glue: %s is not there: %s with seed %d is left out\n", model, t->name, seed_of(s, seed));
    }
    return got != LATER;
}

static void run_all(const study *s)
{
    const size_t rows = json_array_size(s->rows);
    for (size_t i = 0; i < s->n; i++)
        for (size_t row = 0; row < rows; row++)
            for (size_t rate = 0; rate < json_array_size(s->rates); rate++)
                if (!visit(s, &s->task[i], row, rate, 0)) return;
    for (size_t seed = 1; seed < json_array_size(s->seeds); seed++)
        for (size_t i = 0; i < s->n; i++)
            for (size_t row = 0; row < rows; row++) {
                const int rate = best_rate(s, &s->task[i], row);
                if (rate >= 0 && !visit(s, &s->task[i], row, (size_t)rate, seed)) return;
            }
}

/* Is the name one of "A,B,C"? */
static bool selected(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncasecmp(at, name, n) && (!at[n] || at[n] == ',')) return true;
    return !list;
}

static void open_tasks(study *s)
{
    char folder[PATH], data[PATH];
    const json_t *all = json_object_get(s->asked.file, "train_examples");
    json_t *one;
    size_t i;
    path_of(folder, "%s/%s", s->asked.work, s->asked.name);
    make_folder(folder);
    path_of(data, "%s/data", folder);
    make_folder(data);
    json_array_foreach(json_object_get(s->asked.file, "tasks"), i, one) {
        task t = {.json = one, .name = json_string_value(json_object_get(one, "name"))};
        if (!t.name || !json_is_array(json_object_get(one, "metrics")))
            die("task %zu has no name or no metrics", i + 1);
        if (!selected(s->asked.tasks, t.name)) continue;
        if (s->n == TASKS) die("more than %d tasks", TASKS);
        const json_t *own = json_object_get(one, "train_examples");
        task_files(one, s->asked.data, data, json_integer_value(own ? own : all), &t.train, &t.dev);
        path_of(folder, "%s/%s/%s", s->asked.work, s->asked.name, t.name);
        make_folder(folder);
        s->task[s->n++] = t;
    }
    if (!s->n) die("no task of that name");
}

int main(int argc, char **argv)
{
    static study s;
    read_request(&s.asked, argc, argv, true);
    s.rows = json_object_get(s.asked.file, "rows");
    s.seeds = json_object_get(s.asked.file, "seeds");
    s.rates = json_object_get(s.asked.file, "learning_rate");
    if (!json_array_size(s.rows) || !json_array_size(s.seeds) || !json_array_size(s.rates) ||
        !json_array_size(json_object_get(s.asked.file, "pretrained_seeds")) || json_array_size(s.seeds) > SEEDS)
        die("%s: rows, seeds (at most %d), pretrained_seeds and learning_rate are lists", argv[1], SEEDS);
    for (size_t row = 0; row < json_array_size(s.rows); row++)
        if (!row_name(&s, row)) die("%s: rows: expected names, or objects with a name, got another value", argv[1]);
    open_tasks(&s);
    if (!s.asked.only_table) run_all(&s);
    glue_table(&s);
    json_decref(s.asked.file);
    return 0;
}
