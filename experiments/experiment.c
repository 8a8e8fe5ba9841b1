/* experiment.c — runs the experiment in a JSON file and makes its table.
 *
 *     experiment FILE.json WORK [--data DIR] [--results DIR] [--threads N] [--hours H] [--table] [--overlay FILE.json]
 *                [--hub DIR] [--program ROFORMER]
 *
 * A file has rows (one configuration each) and seeds; each pair is one training run of the program in WORK.  Complete
 * runs are skipped and interrupted runs continue from their newest checkpoint, so the same command can always be
 * repeated.  After each run its model is evaluated at every length, and the table is rewritten: mean and standard
 * deviation over the seeds, and the paired difference from the first row with its 95 % interval.  --hours stops
 * (resumable) after H hours; --table only writes the results so far.                     docs: experiments/README.md */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roformer/inspect/files.h"
#include "chart.h"
#include "data.h"
#include "published/hub.h"

static void say_texts(command *c, const request *e, const char *option, json_t *texts)
{
    size_t i;
    json_t *t;
    if (!texts) return;
    say(c, "%s", option);
    json_array_foreach(texts, i, t) {
        char path[PATH];
        data_path(e, json_string_value(t), path);
        say(c, "%s", path);
    }
}

/* What losses are shown in: nats, or bits, where a token is a character or a byte. */
static bool in_bits(const request *e)
{
    const char *unit = json_string_value(json_object_get(e->file, "unit"));
    return unit && !strcmp(unit, "bits");
}

static double nats_of_unit(const request *e) { return in_bits(e) ? log(2) : 1; }

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void run_folder(const request *e, json_t *row, int seed, char out[PATH])
{
    snprintf(out, PATH, "%s/%s-%d", e->work, json_string_value(json_object_get(row, "name")), seed);
}

static int seeds_of(const request *e, json_t *row, int seed[SEEDS])
{
    json_t *list = json_object_get(row, "seeds"), *s;
    if (!list) list = json_object_get(e->file, "seeds");
    size_t i;
    json_array_foreach(list, i, s)
        if (i < SEEDS) seed[i] = (int)json_integer_value(s);
    return json_array_size(list) < SEEDS ? (int)json_array_size(list) : SEEDS;
}

/* All rows read the same text: the ids that one run made serve the others. */
static void share_tokens(const request *e, const char *folder)
{
    char from[PATH], to[PATH];
    if (snprintf(from, sizeof from, "%s/" RF_FILE_TOKENS, e->work) >= PATH ||
        snprintf(to, sizeof to, "%s/" RF_FILE_TOKENS, folder) >= PATH)
        die("%s: too long", folder);
    const bool mine = !access(to, F_OK), all = !access(from, F_OK);
    if (mine != all && link(all ? from : to, all ? to : from))
        fprintf(stderr, "experiment: %s: %s\n", to, strerror(errno));
}

static void say_pretraining(command *c, const request *e, const char *folder)
{
    share_tokens(e, folder);
    say(c, "pretrain");
    say_texts(c, e, "--text", json_object_get(e->file, "text"));
    say_texts(c, e, "--validation_text", json_object_get(e->file, "validation"));
}

/* "triplets": {"train": FILE, "dev": FILE, "test": FILE}; `part` in the form of finetune is WORK/PART.jsonl. */
static void triplets_path(const request *e, const char *part, char out[PATH])
{
    char from[PATH];
    path_of(out, "%s/%s.jsonl", e->work, part);
    if (!access(out, R_OK)) return;
    data_path(e, json_string_value(json_object_get(json_object_get(e->file, "triplets"), part)), from);
    data_triplets(from, out);
}

static void say_triplets(command *c, const request *e)
{
    char path[PATH];
    say(c, "finetune");
    say_two(c, "--task", "mc");
    triplets_path(e, "train", path);
    say_two(c, "--train", path);
    triplets_path(e, "dev", path);
    say_two(c, "--dev", path);
}

/* "published": [OWNER/NAME, ...]: the first of these models that is below --hub. */
static void say_published(command *c, const request *e, json_t *names, const char *row)
{
    char path[PATH];
    const char *first = json_string_value(json_array_get(names, 0));
    size_t i;
    json_t *name;
    if (!e->hub)
        die("%s begins with a published model: expected --hub DIR, the folder of published models, got none", row);
    json_array_foreach(names, i, name)
        if (hub_find(e->hub, json_string_value(name), path, sizeof path)) {
            say_two(c, "--model", path);
            return;
        }
    die("%s begins with %s: expected it below %s (--hub), got none; docs/models names the places where it is published",
        row, first ? first : "no model", e->hub);
}

/* What a run begins with: the vocabulary and a config of its own; with "from", the model of another row, here or in
 * another WORK ("../mlm/roformer"); with "published", a published model. */
static void say_start(command *c, const request *e, json_t *row, int seed, const char *folder)
{
    char start[PATH], config[PATH + 16];
    const char *from = json_string_value(json_object_get(row, "from"));
    json_t *published = json_object_get(row, "published");
    if (published) {
        say_published(c, e, published, json_string_value(json_object_get(row, "name")));
        return;
    }
    if (from) {
        path_of(start, "%s/%s-%d", e->work, from, seed);
        if (!exists(start, RF_FILE_WEIGHTS))
            die("%s begins with %s, which has no %s: train that first", folder, start, RF_FILE_WEIGHTS);
        say_two(c, "--model", start);
        return;
    }
    json_t *o = merged(json_object_get(e->file, "config"), json_object_get(row, "config"));
    snprintf(config, sizeof config, "%s.config.json", folder);
    if (json_dump_file(o, config, JSON_INDENT(1))) die("%s: cannot be written", config);
    json_decref(o);
    path_of(start, "%s/vocab", e->work);
    say_two(c, "--model", start);
    say_two(c, "--config", config);
}

/* True: the run is complete.  False: it was stopped, and goes on another time. */
static bool train(const request *e, json_t *row, int seed)
{
    char folder[PATH];
    run_folder(e, row, seed, folder);
    if (exists(folder, RF_FILE_WEIGHTS)) return true;
    if (e->until && time(NULL) >= e->until) return false;
    mkdir(folder, 0777);
    command words = {0};
    say(&words, "%s", program);
    if (json_object_get(e->file, "triplets")) say_triplets(&words, e);
    else say_pretraining(&words, e, folder);
    say_start(&words, e, row, seed, folder);
    const bool whole = train_row(e, &words, row, seed, folder);
    if (json_object_get(e->file, "text")) share_tokens(e, folder);
    return whole;
}

/* The file's "evaluate" with the row's own laid over it; to be given back. */
static json_t *how_to_evaluate(const request *e, json_t *row)
{
    return merged(json_object_get(e->file, "evaluate"), json_object_get(row, "evaluate"));
}

static void evaluate(const request *e, json_t *row, int seed)
{
    json_t *how = how_to_evaluate(e, row), *length;
    char folder[PATH], out[PATH + 64], unfinished[PATH + 80];
    run_folder(e, row, seed, folder);
    size_t i;
    json_array_foreach(json_object_get(how, "max_length"), i, length) {
        snprintf(out, PATH + 64, "%s/evaluate-%lld.json", folder, (long long)json_integer_value(length));
        if (!access(out, F_OK)) continue;
        command words = {0};
        say(&words, "%s", program);
        say(&words, "evaluate");
        say(&words, "-q");
        say_two(&words, "-m", folder);
        if (json_object_get(e->file, "triplets")) {
            char path[PATH];
            triplets_path(e, "test", path);
            say_two(&words, "--dev", path);
        }
        say_texts(&words, e, "--text", json_object_get(how, "text"));
        say(&words, "--json");
        say(&words, "--max_length");
        say(&words, "%lld", (long long)json_integer_value(length));
        if (e->threads) say_two(&words, "--threads", e->threads);
        say_options(&words, json_object_get(how, "options"));
        snprintf(unfinished, sizeof unfinished, "%s.unfinished", out);
        const int code = execute(&words, unfinished);
        forget(&words);
        if (code) die("%s: evaluate ended with %d", folder, code);
        if (rename(unfinished, out)) die("%s: %s", out, strerror(errno));
    }
    json_decref(how);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool read_evaluation(const request *e, const char *folder, long long length, double *loss, double *accuracy)
{
    char path[PATH + 64];
    snprintf(path, sizeof path, "%s/evaluate-%lld.json", folder, length);
    json_t *o = json_load_file(path, 0, NULL);
    if (!o) return false;
    *loss = json_number_value(json_object_get(o, "eval_loss")) / nats_of_unit(e);
    *accuracy = json_number_value(json_object_get(o, "eval_accuracy"));
    json_decref(o);
    return true;
}

/* Triplets are a choice of two: what is compared is how many are right, at the one length that a row is read at. */
static bool by_choices(const request *e) { return json_object_get(e->file, "triplets"); }

/* The row's numbers at each of the file's lengths, and a line of `raw` for each. */
static void collect(const request *e, FILE *raw, json_t *row, numbers loss[LENGTHS], numbers accuracy[LENGTHS])
{
    json_t *length;
    const char *name = json_string_value(json_object_get(row, "name"));
    int seed[SEEDS];
    const int seeds = seeds_of(e, row, seed);
    size_t i;
    json_array_foreach(json_object_get(json_object_get(e->file, "evaluate"), "max_length"), i, length)
        for (int s = 0; i < LENGTHS && s < seeds; s++) {
            char folder[PATH];
            double l, a;
            run_folder(e, row, seed[s], folder);
            if (!read_evaluation(e, folder, (long long)json_integer_value(length), &l, &a)) continue;
            keep(&loss[i], seed[s], l);
            keep(&accuracy[i], seed[s], a);
            fprintf(raw, "{\"row\":\"%s\",\"seed\":%d,\"max_length\":%lld,\"loss\":%.6f,\"accuracy\":%.6f}\n", name,
                    seed[s], (long long)json_integer_value(length), l, a);
        }
}

static void print_difference(FILE *f, const numbers *here, const numbers *first, double scale)
{
    const numbers d = differences(here, first);
    if (d.n > 1) fprintf(f, "   %+.3f ± %.3f", scale * mean(&d), scale * half_interval(&d));
    else if (d.n) fprintf(f, "   %+.3f", scale * d.x[0]);
}

/* `first`: of the first row, what the others are compared with; kept when n is 0. */
static void one_row(const request *e, FILE *f, FILE *raw, json_t *row, numbers *first)
{
    const size_t lengths = json_array_size(json_object_get(json_object_get(e->file, "evaluate"), "max_length"));
    numbers loss[LENGTHS] = {{{0}, {0}, 0}}, accuracy[LENGTHS] = {{{0}, {0}, 0}};
    collect(e, raw, row, loss, accuracy);
    const bool choices = by_choices(e);
    const numbers *cell = choices ? accuracy : loss, *compared = &cell[0];
    for (size_t i = 0; choices && !compared->n && i < lengths && i < LENGTHS; i++) compared = &cell[i];
    fprintf(f, "%-22s %2d", json_string_value(json_object_get(row, "name")), compared->n);
    for (size_t i = 0; i < lengths && i < LENGTHS; i++) print_cell(f, &cell[i], choices ? 100 : 1, 17, choices ? 2 : 3);
    if (!choices) print_cell(f, &accuracy[0], 100, 17, 3);
    if (first->n) print_difference(f, compared, first, choices ? 100 : 1);
    else *first = *compared;
    fputc('\n', f);
}

/* A curve for each row that has a complete run. */
static void draw(const request *e, json_t *rows)
{
    json_t *lengths = json_object_get(json_object_get(e->file, "evaluate"), "max_length"), *row, *length;
    curve *c = calloc(json_array_size(rows) + 1, sizeof *c);
    size_t i, l;
    int n = 0;
    if (!c) die("out of memory");
    json_array_foreach(rows, i, row) {
        int seed[SEEDS];
        const int seeds = seeds_of(e, row, seed);
        curve *const here = &c[n];
        here->name = json_string_value(json_object_get(row, "name"));
        for (int s = 0; s < seeds; s++) {
            char folder[PATH];
            run_folder(e, row, seed[s], folder);
            if (!exists(folder, RF_FILE_WEIGHTS)) continue;
            chart_add_run(here, folder, seed[s], nats_of_unit(e));
            json_array_foreach(lengths, l, length) {
                double loss, accuracy;
                if (l >= LENGTHS ||
                    !read_evaluation(e, folder, (long long)json_integer_value(length), &loss, &accuracy))
                    continue;
                here->length[l] = json_number_value(length);
                here->lengths = (int)l + 1;
                keep(&here->at_length[l], seed[s], loss);
            }
        }
        n += here->points > 0;
    }
    chart_draw(e->results, json_string_value(json_object_get(e->file, "title")),
               in_bits(e) ? "bits per character" : "nats", c, n);
    free(c);
}

static void explain_choices(const request *e, FILE *f)
{
    char dev[PATH];
    triplets_path(e, "dev", dev);
    fprintf(f, "\nn seeds, mean ± standard deviation of the triplets that are right, in %%, of texts cut to each "
               "length with what they are\n"
               "compared with; difference in points, paired by seed with the 95 %% interval of its mean; a coin has "
               "half of them right,\n"
               "beside %.1f %% of who reads nothing and knows in how many other triplets each candidate is right\n",
            100 * data_guess(dev));
}

static void table(const request *e)
{
    char path[PATH], raw_path[PATH];
    path_of(path, "%s/table.txt", e->results);
    path_of(raw_path, "%s/runs.jsonl", e->results);
    FILE *f = fopen(path, "w"), *raw = fopen(raw_path, "w");
    if (!f || !raw) die("%s: %s", e->results, strerror(errno));
    json_t *rows = json_object_get(e->file, "rows"), *row, *length;
    json_t *lengths = json_object_get(json_object_get(e->file, "evaluate"), "max_length");
    numbers first = {{0}, {0}, 0};
    size_t i;
    const char *what = by_choices(e) ? "right" : "loss";
    fprintf(f, "%s\n\n%-22s %2s", json_string_value(json_object_get(e->file, "title")), "", "n");
    json_array_foreach(lengths, i, length) fprintf(f, "   %5s at %6lld", what, (long long)json_integer_value(length));
    if (!by_choices(e)) fprintf(f, " %17s", "accuracy (%)");
    fprintf(f, "   difference to the first row (95 %%)\n");
    json_array_foreach(rows, i, row) one_row(e, f, raw, row, &first);
    if (by_choices(e)) explain_choices(e, f);
    else
        fprintf(f, "\nn seeds, mean ± standard deviation; losses of held-out text in %s for each token that is "
                   "predicted, pieces of each length;\n"
                   "accuracy and difference at the first length, the difference paired by seed with the 95 %% interval "
                   "of its mean.\n", in_bits(e) ? "bits" : "nats");
    if (fclose(f) || fclose(raw)) die("%s: %s", path, strerror(errno));

    draw(e, rows);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void make_vocabulary(const request *e)
{
    char folder[PATH];
    snprintf(folder, sizeof folder, "%s/vocab", e->work);
    if (exists(folder, RF_FILE_TOKENIZER_CONFIG) || json_object_get(e->file, "triplets")) return;
    command words = {0};
    say(&words, "%s", program);
    say(&words, "vocab");
    const char *type = json_string_value(json_object_get(e->file, "tokenizer"));
    if (type) say_two(&words, "--type", type);
    if (!type || strcmp(type, "bytes")) say_texts(&words, e, "--text", json_object_get(e->file, "text"));
    json_t *size = json_object_get(e->file, "vocab_size");
    if (size) {
        say(&words, "--size");
        say(&words, "%lld", (long long)json_integer_value(size));
    }
    say_two(&words, "-o", folder);
    if (execute(&words, NULL)) die("no vocabulary");
    forget(&words);
}

/* Seed by seed, so that an early end leaves every row with as many runs as any other. */
static void run_all(const request *e)
{
    json_t *rows = json_object_get(e->file, "rows"), *row;
    for (int s = 0; s < SEEDS; s++) {
        size_t i;
        json_array_foreach(rows, i, row) {
            int seed[SEEDS];
            if (s >= seeds_of(e, row, seed)) continue;
            if (!train(e, row, seed[s])) return;
            evaluate(e, row, seed[s]);
            table(e);
        }
    }
}

int main(int argc, char **argv)
{
    static request e;
    read_request(&e, argc, argv, false);
    if (e.only_table) {
        table(&e);
    } else {
        make_vocabulary(&e);
        run_all(&e);
    }
    json_decref(e.file);
    return 0;
}
