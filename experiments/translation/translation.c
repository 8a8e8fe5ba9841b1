/* translation.c — trains and scores translation models that differ only in their position encoding.
 *
 *     translation FILE.json WORK [--data DIR] [--results DIR] [--threads N] [--hours H] [--table] [--program ROFORMER]
 *
 * Each row and seed is one run of `roformer train-translation` below WORK, on sub-words that were learned once.  Then
 * every test set is translated as it is and with its lines joined to k at a time, and scored by `roformer bleu`, with
 * bootstrap intervals.  Whatever is complete is left alone: the same command again goes on.  The table has, for each
 * test set and k, mean and standard deviation over the seeds and the difference to the first row, paired by seed.
 *                                                                                        docs: experiments/README.md */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../chart.h"
#include "roformer/inspect/files.h"
#include "roformer/roformer.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (!text) die("the file has no \"%s\" where one belongs", key);
    return text;
}

static void say_files(command *c, const request *e, const char *option, const char *key)
{
    size_t i;
    json_t *t;
    say(c, "%s", option);
    json_array_foreach(json_object_get(e->file, key), i, t) say(c, "%s/%s", e->data, json_string_value(t));
}

static void run_folder(const request *e, const json_t *row, int seed, char out[PATH])
{
    path_of(out, "%s/%s-%d", e->work, text_of(row, "name"), seed);
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

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static void make_vocabulary(const request *e)
{
    char folder[PATH];
    path_of(folder, "%s/vocab", e->work);
    if (exists(folder, RF_FILE_TOKENIZER_CONFIG)) return;
    command words = {0};
    say(&words, "%s", program);
    say(&words, "vocab");
    say_two(&words, "--type", "bpe");
    say_files(&words, e, "--text", "source");
    say_files(&words, e, "--text", "target");
    say(&words, "--size");
    say(&words, "%lld", (long long)json_integer_value(json_object_get(e->file, "vocab_size")));
    say_two(&words, "-o", folder);
    if (execute(&words, NULL)) die("no vocabulary");
    forget(&words);
}

/* False: it was stopped, and the same command continues it later. */
static bool train(const request *e, json_t *row, int seed)
{
    char folder[PATH], config[PATH], vocab[PATH];
    run_folder(e, row, seed, folder);
    if (exists(folder, RF_FILE_WEIGHTS)) return true;
    if (e->until && time(NULL) >= e->until) return false;
    make_folder(folder);
    path_of(config, "%s.config.json", folder);
    path_of(vocab, "%s/vocab", e->work);
    json_t *c = merged(json_object_get(e->file, "config"), json_object_get(row, "config"));
    if (json_dump_file(c, config, JSON_INDENT(1))) die("%s: cannot be written", config);
    json_decref(c);
    command words = {0};
    say(&words, "%s", program);
    say(&words, "train-translation");
    say_files(&words, e, "--source", "source");
    say_files(&words, e, "--target", "target");
    say_files(&words, e, "--validation_source", "validation_source");
    say_files(&words, e, "--validation_target", "validation_target");
    say_two(&words, "--model", vocab);
    say_two(&words, "--config", config);
    return train_row(e, &words, row, seed, folder);
}

/* ---- test sets, joined ------------------------------------------------------------------------------------------- */

/* A whole file, decompressed, with a zero at its end. */
static char *read_all(const rf_ctx *ctx, const char *path)
{
    rf_source *s;
    rf_error why = {0};
    size_t n = 0, got = 1, capacity = 1 << 20;
    char *text = malloc(capacity);
    if (rf_source_open(ctx, path, &s, &why)) die("%s", why.text);
    while (text && got) {
        if (n + (1 << 16) + 1 > capacity) text = realloc(text, capacity *= 2);
        if (text && rf_source_read(s, text + n, 1 << 16, &got, &why)) die("%s", why.text);
        n += got;
    }
    if (!text) die("out of memory: %s", path);
    rf_source_close(s);
    text[n] = 0;
    return text;
}

/* Keeps the first `lines` lines; 0: all. */
static void keep_lines(char *text, long lines)
{
    char *end = text;
    for (long n = 0; n < lines && (end = strchr(end, '\n')); n++) end++;
    if (lines && end) *end = 0;
}

/* Joins k lines to one, separated by spaces; so are the remaining lines at the end. */
static void join(char *text, long k)
{
    long seen = 0;
    for (char *end = text; (end = strchr(end, '\n')) && end[1]; end++)
        if (++seen % k) *end = ' ';
}

static void test_file(const request *e, const json_t *test, const char *side, long k, char out[PATH])
{
    path_of(out, "%s/tests/%s.x%ld.%s", e->work, text_of(test, "name"), k, side);
}

static void make_test(const request *e, const rf_ctx *ctx, const json_t *test, const char *side, long k)
{
    char from[PATH], to[PATH];
    test_file(e, test, side, k, to);
    if (!access(to, F_OK)) return;
    path_of(from, "%s/%s", e->data, text_of(test, side));
    char *text = read_all(ctx, from);
    keep_lines(text, (long)json_integer_value(json_object_get(test, "lines")));
    join(text, k);
    FILE *f = fopen(to, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) die("%s: %s", to, strerror(errno));
    free(text);
}

typedef void each_test(const request *e, const rf_ctx *ctx, const json_t *test, long k, const char *folder);

static void for_tests(const request *e, const rf_ctx *ctx, each_test *what, const char *folder)
{
    size_t i, j;
    json_t *test, *k;
    json_array_foreach(json_object_get(e->file, "tests"), i, test)
        json_array_foreach(json_object_get(e->file, "joined"), j, k)
            what(e, ctx, test, (long)json_integer_value(k), folder);
}

static void make_both(const request *e, const rf_ctx *ctx, const json_t *test, long k, const char *folder)
{
    (void)folder;
    make_test(e, ctx, test, "source", k);
    make_test(e, ctx, test, "target", k);
}

/* ---- translating and scoring ------------------------------------------------------------------------------------- */

static void finish(command *words, const char *in, const char *out, const char *what)
{
    char unfinished[PATH];
    path_of(unfinished, "%s.unfinished", out);
    const int code = execute_from(words, in, unfinished);
    forget(words);
    if (code) die("%s: %s ended with %d", out, what, code);
    if (rename(unfinished, out)) die("%s: %s", out, strerror(errno));
}

static void score(const request *e, const rf_ctx *ctx, const json_t *test, long k, const char *folder)
{
    char source[PATH], target[PATH], translated[PATH], scored[PATH];
    (void)ctx;
    test_file(e, test, "source", k, source);
    test_file(e, test, "target", k, target);
    path_of(translated, "%s/%s.x%ld", folder, text_of(test, "name"), k);
    path_of(scored, "%s.json", translated);
    command words = {0};
    if (access(translated, F_OK)) {
        say(&words, "%s", program);
        say(&words, "translate");
        say(&words, "-q");
        say_two(&words, "-m", folder);
        if (e->threads) say_two(&words, "--threads", e->threads);
        say_options(&words, json_object_get(e->file, "translate"));
        finish(&words, source, translated, "translate");
    }
    if (!access(scored, F_OK)) return;
    say(&words, "%s", program);
    say(&words, "bleu");
    say(&words, "%s", target);
    say_two(&words, "-i", translated);
    say(&words, "--confidence");
    say(&words, "--json");
    finish(&words, NULL, scored, "bleu");
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static numbers scores_of(const request *e, json_t *row, const json_t *test, long k, FILE *raw)
{
    int seed[SEEDS];
    const int seeds = seeds_of(e, row, seed);
    numbers all = {0};
    for (int s = 0; s < seeds; s++) {
        char folder[PATH], path[PATH];
        run_folder(e, row, seed[s], folder);
        path_of(path, "%s/%s.x%ld.json", folder, text_of(test, "name"), k);
        json_t *o = json_load_file(path, 0, NULL);
        if (!o) continue;
        keep(&all, seed[s], json_number_value(json_object_get(o, "score")));
        fprintf(raw, "{\"row\":\"%s\",\"seed\":%d,\"test\":\"%s\",\"joined\":%ld,\"bleu\":%.4f,\"interval\":%.4f,",
                text_of(row, "name"), seed[s], text_of(test, "name"), k, all.x[all.n - 1],
                json_number_value(json_object_get(o, "confidence_var")));
        fprintf(raw, "\"signature\":\"%s\"}\n", text_of(o, "signature"));
        json_decref(o);
    }
    return all;
}

static void table_of(const request *e, FILE *f, FILE *raw, const json_t *test)
{
    json_t *rows = json_object_get(e->file, "rows"), *joined = json_object_get(e->file, "joined"), *row, *k;
    numbers first[LENGTHS] = {{{0}, {0}, 0}};
    size_t i, j;
    fprintf(f, "\n%s\n%-14s  n", text_of(test, "name"), "");
    json_array_foreach(joined, j, k) {
        char title[32];
        snprintf(title, sizeof title, "x%lld", (long long)json_integer_value(k));
        fprintf(f, " %15s", title);
    }
    fputs("   difference to the first row, x1 (95 %)\n", f);
    json_array_foreach(rows, i, row) {
        numbers all[LENGTHS] = {{{0}, {0}, 0}};
        json_array_foreach(joined, j, k)
            if (j < LENGTHS) all[j] = scores_of(e, row, test, (long)json_integer_value(k), raw);
        fprintf(f, "%-14s %2d", text_of(row, "name"), all[0].n);
        for (j = 0; j < json_array_size(joined) && j < LENGTHS; j++) print_cell(f, &all[j], 1, 15, 2);
        if (!i) memcpy(first, all, sizeof first);
        const numbers d = differences(&all[0], &first[0]);
        if (i && d.n > 1) fprintf(f, "   %+.2f ± %.2f", mean(&d), half_interval(&d));
        else if (i && d.n) fprintf(f, "   %+.2f", d.x[0]);
        fputc('\n', f);
    }
}

static void draw(const request *e)
{
    json_t *rows = json_object_get(e->file, "rows"), *row;
    curve *c = calloc(json_array_size(rows) + 1, sizeof *c);
    size_t i;
    int n = 0;
    if (!c) die("out of memory");
    json_array_foreach(rows, i, row) {
        int seed[SEEDS];
        const int seeds = seeds_of(e, row, seed);
        c[n].name = text_of(row, "name");
        for (int s = 0; s < seeds; s++) {
            char folder[PATH];
            run_folder(e, row, seed[s], folder);
            if (exists(folder, RF_FILE_WEIGHTS)) chart_add_run(&c[n], folder, seed[s], 1);
        }
        n += c[n].points > 0;
    }
    chart_draw(e->results, text_of(e->file, "title"), "nats", c, n);
    free(c);
}

static void table(const request *e)
{
    char path[PATH], raw_path[PATH];
    json_t *test, *note;
    size_t i;
    path_of(path, "%s/table.txt", e->results);
    path_of(raw_path, "%s/runs.jsonl", e->results);
    FILE *f = fopen(path, "w"), *raw = fopen(raw_path, "w");
    if (!f || !raw) die("%s: %s", e->results, strerror(errno));
    fprintf(f, "%s\n", text_of(e->file, "title"));
    json_array_foreach(json_object_get(e->file, "tests"), i, test) table_of(e, f, raw, test);
    fputs("\nBLEU of sacreBLEU (signatures and bootstrap intervals: runs.jsonl), n seeds, mean ± standard deviation; "
          "xK: K lines at a time\njoined, source and reference; the difference paired by seed with the 95 % interval "
          "of its mean.\n",
          f);
    json_array_foreach(json_object_get(e->file, "notes"), i, note) fprintf(f, "%s\n", json_string_value(note));
    if (fclose(f) || fclose(raw)) die("%s: %s", path, strerror(errno));
    draw(e);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Seed by seed, so that all rows have the same number of runs if the experiment ends early. */
static void run_all(const request *e, const rf_ctx *ctx)
{
    json_t *rows = json_object_get(e->file, "rows"), *row;
    char folder[PATH];
    path_of(folder, "%s/tests", e->work);
    make_folder(folder);
    for_tests(e, ctx, make_both, NULL);
    make_vocabulary(e);
    for (int s = 0; s < SEEDS; s++) {
        size_t i;
        json_array_foreach(rows, i, row) {
            int seed[SEEDS];
            if (s >= seeds_of(e, row, seed)) continue;
            if (!train(e, row, seed[s])) return;
            run_folder(e, row, seed[s], folder);
            for_tests(e, ctx, score, folder);
            table(e);
        }
    }
}

int main(int argc, char **argv)
{
    static request e;
    rf_ctx *ctx;
    rf_error why = {0};
    read_request(&e, argc, argv, false);
    if (json_array_size(json_object_get(e.file, "joined")) > LENGTHS) die("joined: more than %d", (int)LENGTHS);
    if (rf_ctx_new(NULL, &ctx, &why)) die("%s", why.text);
    if (e.only_table) table(&e);
    else run_all(&e, ctx);
    rf_ctx_free(ctx);
    json_decref(e.file);
    return 0;
}
