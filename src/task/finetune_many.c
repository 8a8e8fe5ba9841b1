/* finetune_many.c — starts one run, or several related runs: folds, or a grid of learning rates and seeds (as in the
 * paper's GLUE experiments).
 *
 *     several runs   each run has its own folder in output_dir and is independent of the others
 *     resuming       finished runs report their metrics again; the run that was stopped continues */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "task/finetune.h"
#include "task/task_metrics.h"
#include "train/checkpoint/folder.h"

enum { RATES = 32, SEEDS = 1000 };

/* NULL: the run does not have this metric. */
static const double *value_of(const rf_metric_values *run, const char *name)
{
    for (int i = 0; i < run->n; i++)
        if (!strcmp(run->metric[i].name, name)) return &run->metric[i].value;
    return NULL;
}

/* Means and standard deviations (of a sample) of the metrics that all of n runs have; for one run, its metrics. */
static void gather(const rf_metric_values run[], int64_t n, rf_metric_values *out)
{
    *out = (rf_metric_values){.n = 0};
    if (n == 1) *out = run[0];
    for (int i = 0; n > 1 && i < run[0].n && out->n + 2 <= RF_METRIC_VALUES; i++) {
        double mean = 0, square = 0;
        const char *name = run[0].metric[i].name;
        int64_t have = 0;
        for (const double *x; have < n && (x = value_of(&run[have], name)); have++) mean += *x / (double)n;
        if (have < n) continue;
        for (int64_t k = 0; k < n; k++) square += pow(*value_of(&run[k], name) - mean, 2);
        rf_metric_value *to = &out->metric[out->n];
        snprintf(to[0].name, sizeof to[0].name, "%s", name);
        snprintf(to[1].name, sizeof to[1].name, "%.34s_std", name);
        to[0].value = mean;
        to[1].value = sqrt(square / (double)(n - 1));
        out->n += 2;
    }
}

static bool has_checkpoint(const rf_ctx *ctx, const char *folder)
{
    int64_t *step;
    size_t n;
    if (rf__checkpoint_steps(ctx, folder, &step, &n, NULL)) return false;
    rf__free(ctx, step);
    return n > 0;
}

/* Runs `one`, which is `o` with the changes of this run, in a folder of this name. */
static rf_status run_in(const rf_ctx *ctx, const rf_finetune_options *o, rf_finetune_options *one, const char *name,
                        int64_t fold, rf_train_report *report, void *user, rf_metric_values *metrics, rf_error *why)
{
    char folder[4096];
    const bool fresh = !rf__os_exists(o->t.output_dir);
    rf_status status = rf__path(folder, sizeof folder, o->t.output_dir, name, why);
    if (status) return status;
    one->t.output_dir = folder;
    one->t.resume_from_checkpoint = o->t.resume_from_checkpoint && has_checkpoint(ctx, folder) ? "latest" : NULL;
    status = rf__finetune_one(ctx, one, fold, report, user, metrics, why);
    if (status && fresh) rf__os_remove_folder(o->t.output_dir);            /* only when it is empty */
    return status;
}

static rf_status all_folds(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                           rf_metric_values *metrics, rf_error *why)
{
    rf_status status = RF_OK;
    rf_metric_values *fold = rf__calloc(ctx, (size_t)o->k_fold, sizeof *fold);
    if (!fold) return rf_fail(why, RF_ENOMEM, "out of memory: %lld folds", (long long)o->k_fold);
    for (int64_t k = 0; k < o->k_fold && !status; k++) {
        char name[64];
        rf_finetune_options one = *o;
        snprintf(name, sizeof name, "fold-%lld", (long long)k + 1);
        status = run_in(ctx, o, &one, name, k, report, user, &fold[k], why);
    }
    if (!status && metrics) gather(fold, o->k_fold, metrics);
    rf__free(ctx, fold);
    return status;
}

/* ---- a grid ---- */

/* The folder of a point of the grid; with several seeds, each seed has its own. */
static void name_point(char out[80], double rate, int64_t seeds, uint64_t seed)
{
    snprintf(out, 80, seeds > 1 ? "lr-%g-seed-%llu" : "lr-%g", rate, (unsigned long long)seed);
}

/* Refuses rates that are equal, or so close that they would share a folder. */
static rf_status check_rates(const double rate[], int n, rf_error *why)
{
    char a[80], b[80];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            name_point(a, rate[i], 1, 0);
            name_point(b, rate[k], 1, 0);
            if (!strcmp(a, b))
                return rf_fail(why, RF_EARG, "learning_rates: expected different rates, got %.15g and %.15g, both "
                               "of folder %s", rate[k], rate[i], a);
        }
    return RF_OK;
}

static rf_status read_rates(const char *text, double rate[RATES], int *n, rf_error *why)
{
    const char *at = text;
    for (*n = 0; *n < RATES; at++) {
        char *end;
        rate[*n] = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(rate[*n] > 0 && rate[*n] <= 10)) break;
        at = end;
        (*n)++;
        if (!*at) return check_rates(rate, *n, why);
    }
    return rf_fail(why, RF_EARG,
                   "learning_rates: expected up to %d numbers above 0, at most 10, separated by commas, got \"%.80s\"",
                   (int)RATES, text);
}

static void report_run(rf_train_report *report, void *user, const char *event, double rate, const char *note)
{
    const rf_train_progress p = {.event = event, .note = note, .learning_rate = rate};
    if (report) report(user, &p);
}

static void report_point(rf_train_report *report, void *user, const char *what, double rate, const char *metric,
                         double value)
{
    char note[160], number[32] = "nan";
    if (!isnan(value)) snprintf(number, sizeof number, "%.4f", value);
    snprintf(note, sizeof note, "learning rate %g: %s%s %s", rate, what, metric, number);
    report_run(report, user, "note", rate, note);
}

/* Runs all seeds of one rate. */
static rf_status one_point(const rf_ctx *ctx, const rf_finetune_options *o, double rate, rf_train_report *report,
                           void *user, rf_metric_values run[], rf_metric_values *out, rf_error *why)
{
    rf_status status = RF_OK;
    for (int64_t s = 0; s < o->seeds && !status; s++) {
        char name[80];
        rf_finetune_options one = *o;
        one.t.learning_rate = rate;
        one.t.seed += (uint64_t)s;
        name_point(name, rate, o->seeds, one.t.seed);
        status = run_in(ctx, o, &one, name, 0, report, user, &run[s], why);
    }
    if (!status) gather(run, o->seeds, out);
    return status;
}

/* The rates so far: the best one, and those with the same score. */
typedef struct best { double rate, value; char ties[400]; bool known; } best;

static bool is_better(best *b, double rate, double value, bool less)
{
    char one[32];
    if (isnan(value)) return false;
    if (b->known && (less ? value > b->value : value < b->value)) return false;
    if (b->known && value >= b->value && value <= b->value) {
        snprintf(one, sizeof one, "%g", rate);
        rf__list_add(b->ties, sizeof b->ties, one);
        return false;
    }
    *b = (best){.rate = rate, .value = value, .known = true};
    return true;
}

/* Reports the best rate, and the folders of its runs as one event each. */
static rf_status report_best(rf_train_report *report, void *user, const rf_finetune_options *o, const best *b,
                             const char *metric, rf_error *why)
{
    char note[500], folder[4096];
    report_point(report, user, "the best, ", b->rate, metric, b->value);
    snprintf(note, sizeof note, "learning rates with the same score as the best, of which the first was chosen: %s",
             b->ties);
    if (*b->ties) report_run(report, user, "note", b->rate, note);
    for (int64_t s = 0; s < o->seeds; s++) {
        char name[80];
        name_point(name, b->rate, o->seeds, o->t.seed + (uint64_t)s);
        const rf_status status = rf__path(folder, sizeof folder, o->t.output_dir, name, why);
        if (status) return status;
        report_run(report, user, "best", b->rate, folder);
    }
    return RF_OK;
}

/* A rate at which a run diverges has no score, but does not end the other runs. */
static bool has_diverged(rf_train_report *report, void *user, double rate, rf_status status, rf_error *failed)
{
    char note[sizeof failed->text + 64];
    if (status != RF_ENUMERIC) return false;
    snprintf(note, sizeof note, "learning rate %g: no score: %s", rate, failed->text);
    report_run(report, user, "note", rate, note);
    return true;
}

/* Finds the rate with the best mean over the seeds. */
static rf_status grid(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                      rf_metric_values *metrics, rf_error *why)
{
    double rate[RATES];
    best top = {.known = false};
    rf_error failed = {0};
    int n;
    const rf__task *task;
    rf__preset preset;
    rf_status status = read_rates(o->learning_rates, rate, &n, why);
    if (!status) status = rf__preset_find(o->task, &preset, &task, why);
    if (status) return status;
    /* possibly the task's other one, see below */
    const char *metric = o->metric ? rf__metric_bare(o->metric) : preset.metric;
    const rf_greater g = o->t.greater_is_better;
    rf_metric_values *run = rf__calloc(ctx, (size_t)o->seeds, sizeof *run), mean;
    if (!run) return rf_fail(why, RF_ENOMEM, "out of memory: %lld runs", (long long)o->seeds);
    for (int i = 0; i < n && !status; i++) {
        failed = (rf_error){0};
        status = one_point(ctx, o, rate[i], report, user, run, &mean, &failed);
        if (has_diverged(report, user, rate[i], status, &failed)) {
            status = RF_OK;
            continue;
        }
        if (status) break;
        if (!o->metric && !value_of(&mean, metric)) metric = task->other_metric ? task->other_metric : "accuracy";
        const bool less = g == RF_GREATER_FALSE || (g == RF_GREATER_AUTO && rf__metric_is_error(metric));
        const double *found = value_of(&mean, metric), value = found ? *found : NAN;
        report_point(report, user, "", rate[i], metric, value);
        if (is_better(&top, rate[i], value, less) && metrics) *metrics = mean;
    }
    if (status) rf_fail(why, status, "%s", failed.text);
    else if (top.known) status = report_best(report, user, o, &top, metric, why);
    else status = rf_fail(why, RF_ENUMERIC, "learning_rates: expected a run with a finite score, got none%s%s",
                          *failed.text ? "; the last one: " : "", failed.text);
    rf__free(ctx, run);
    return status;
}

/* ---- selection of the kind of run ---- */

static rf_status check_many(const rf_finetune_options *o, const char *what, rf_error *why)
{
    const char *resume = o->t.resume_from_checkpoint;
    if (!o->t.output_dir)
        return rf_fail(why, RF_EARG, "%s: expected output_dir, for a folder of each run, got none", what);
    if (resume && strcmp(resume, "latest"))
        return rf_fail(why, RF_EARG,
                       "%s: resume_from_checkpoint: expected \"latest\" with the earlier output_dir, got %.200s", what,
                       resume);
    if (o->seeds < 1 || o->seeds > SEEDS)
        return rf_fail(why, RF_EARG, "seeds: expected 1 to %d, got %lld", (int)SEEDS, (long long)o->seeds);
    return RF_OK;
}

static rf_status has_dev(const rf_finetune_options *o, rf_error *why)
{
    char path[4096] = "";
    const rf_status status =
        o->dev || !rf__is_folder(o->train) ? RF_OK : rf__example_file(o->train, "dev", true, path, sizeof path, why);
    return status || o->dev || *path
               ? status
               : rf_fail(why, RF_EARG, "learning_rates: expected a dev file to choose the best, got none");
}

/* Standard input and pipes, such as <(zcat train.tsv.gz), can be read only once. */
static rf_status check_again(const char *path, const char *option, const char *reader, rf_error *why)
{
    rf__os_state st;
    const bool standard = path && !strcmp(path, "-");
    if (!path || (!standard && (rf__os_look(path, &st) || st.kind != RF__OS_DEVICE))) return RF_OK;
    return rf_fail(why, RF_EARG, "%s: expected a file, got %.150s, which can be read only once, and %s", option,
                   standard ? "standard input" : path, reader);
}

static rf_status check_inputs(const rf_finetune_options *o, rf_error *why)
{
    const char *reader = o->learning_rates          ? "each run of learning_rates reads it"
                         : o->k_fold > 1            ? "each run of k_fold reads it"
                         : rf__ranks(o->t.comm) > 1 ? "each rank reads it"
                                                    : NULL;
    if (!reader) return RF_OK;
    return check_again(o->train, "train", reader, why) ? RF_EARG : check_again(o->dev, "dev", reader, why);
}

/* A folder of several runs cannot be resumed as a single run. */
static rf_status several(const char *folder, rf_error *why)
{
    const bool folds = folder && rf__folder_has(folder, "fold-1");
    char names[100];
    if (!folder || rf__folder_has(folder, RF_FILE_METRICS) || rf__folder_has(folder, RF_FILE_STATE) ||
        !rf__folders_holding(folder, RF_FILE_METRICS, names, sizeof names))
        return RF_OK;
    return rf_fail(why, RF_EARG,
                   "%.150s: expected the folder of one run, got one of several (%s); resume one of them by "
                   "its own folder, or all with %s and resume latest", folder, names,
                   folds ? "k_fold" : "learning_rates");
}

static rf_status one_or_many(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                             rf_metric_values *metrics, rf_error *why)
{
    const char *resume = o->t.resume_from_checkpoint;
    if (metrics) metrics->n = 0;
    if (check_inputs(o, why)) return RF_EARG;
    if (o->learning_rates) {
        if (o->k_fold > 1) return rf_fail(why, RF_EARG, "learning_rates: expected no k_fold, got both");
        const rf_status status = check_many(o, "learning_rates", why) ? RF_EARG : has_dev(o, why);
        return status ? status : grid(ctx, o, report, user, metrics, why);
    }
    if (o->seeds > 1)
        return rf_fail(why, RF_EARG, "seeds: expected learning_rates, each tried with every seed, got none");
    if (o->k_fold <= 1 && resume && several(strcmp(resume, "latest") ? resume : o->t.output_dir, why)) return RF_EARG;
    if (o->k_fold <= 1) return rf__finetune_one(ctx, o, 0, report, user, metrics, why);
    if (o->k_fold > 1000) return rf_fail(why, RF_EARG, "k_fold: expected at most 1000, got %lld", (long long)o->k_fold);
    if (o->dev)
        return rf_fail(why, RF_EARG,
                       "k_fold: expected no dev file, since parts of the training file are held out, got one");
    return check_many(o, "k_fold", why) ? RF_EARG : all_folds(ctx, o, report, user, metrics, why);
}

rf_status rf_finetune(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                      rf_metric_values *metrics, rf_error *why)
{
    if (!(ctx && o)) return rf__missing("rf_finetune", "ctx, options", why);
    rf_finetune_options own;
    const rf_status status = rf__finetune_options_read(&own, o, why);
    return status ? status : one_or_many(ctx, &own, report, user, metrics, why);
}
