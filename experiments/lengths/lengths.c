/* lengths.c — evaluates models that were trained on short texts with long texts, for every method of scaling
 * rotary positions, with and without adaptation.
 *
 *     lengths FILE.json WORK [--data DIR] [--results DIR] [--threads N] [--hours H] [--table] [--program ROFORMER]
 *
 * WORK is the folder in which `experiment` left the models of the file's rows, ROW-SEED/.  A method is a piece of
 * config.json laid over the trained one: a folder WORK/NAME/METHOD-... with that config.json and links to the weights
 * is a model like any other, and is evaluated, or trained further at adapt.max_length, by the program itself.  All is
 * measured on the first documents with enough tokens, cut to the same number, so that each length reads the same text
 * in other pieces.  Whatever is complete is left alone: the same
 * command again goes on.                                                                 docs: experiments/README.md */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../run.h"
#include "roformer/inspect/files.h"
#include "roformer/roformer.h"

enum { LENGTHS = 8, ROWS = 48 };

typedef struct study {
    request asked;
    json_t *methods, *adapt;
    const char *base;
    double trained;                             /* length in training                        */
    long long length[LENGTHS];
    int lengths;
} study;

/* A row of the table: the model, the method, and the result. */
typedef struct row {
    const char *label, *model;                  /* `model` -SEED is the trained folder       */
    json_t *method, *seeds;
    long long adapted;                          /* length of the adaptation; 0: none         */
    numbers loss[LENGTHS];
} row;

typedef struct row_list { row at[ROWS]; int n; } row_list;

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* "yarn, 4 turns" -> "yarn-4-turns" */
static void plain(const char *label, char out[256])
{
    size_t n = 0;
    for (const char *c = label; *c && n < 255; c++) {
        if (strchr(" ,", *c)) {
            if (n && out[n - 1] != '-') out[n++] = '-';
        } else out[n++] = *c;
    }
    out[n] = 0;
}

/* The weights of a row, and what is measured. */
static void start_folder(const study *s, const row *r, int seed, long long length, char out[PATH])
{
    char label[256];
    if (!r->method) {
        path_of(out, "%s/%s-%d", s->asked.work, r->model, seed);
        return;
    }
    plain(r->label, label);
    path_of(out, "%s/%s/%s-x%g-%d", s->asked.work, s->asked.name, label, fmax(1, (double)length / s->trained), seed);
}

static void adapted_folder(const study *s, const row *r, int seed, char out[PATH])
{
    char label[256];
    plain(r->label, label);
    path_of(out, "%s/%s/%s-adapted-%lld-%d", s->asked.work, s->asked.name, label, r->adapted, seed);
}

static void score_file(const study *s, const row *r, int seed, long long length, char out[PATH])
{
    char label[256];
    plain(r->label, label);
    if (r->adapted)
        path_of(out, "%s/%s/scores/%s-adapted-%lld-%d-%lld.json", s->asked.work, s->asked.name, label, r->adapted, seed,
                length);
    else path_of(out, "%s/%s/scores/%s-%d-%lld.json", s->asked.work, s->asked.name, label, seed, length);
}

/* ---- a model with another config.json ---------------------------------------------------------------------------- */

/* A copy of x in which each "FACTOR" is a number. */
static json_t *filled(json_t *x, double factor)
{
    const char *key;
    json_t *value, *out;
    size_t i;
    if (json_is_string(x) && !strcmp(json_string_value(x), "FACTOR")) return json_real(factor);
    if (json_is_object(x)) {
        out = json_object();
        json_object_foreach(x, key, value) json_object_set_new(out, key, filled(value, factor));
        return out;
    }
    if (!json_is_array(x)) return json_deep_copy(x);
    out = json_array();
    json_array_foreach(x, i, value) json_array_append_new(out, filled(value, factor));
    return out;
}

static void share(const char *from, const char *to, const char *name)
{
    char a[PATH], b[PATH];
    path_of(a, "%s/%s", from, name);
    path_of(b, "%s/%s", to, name);
    if (access(a, F_OK)) return;
    if (unlink(b) && errno != ENOENT) die("%s: %s", b, strerror(errno));
    if (link(a, b)) die("%s: %s", b, strerror(errno));
}

static void need(rf_status status, const rf_error *why)
{
    if (status) die("%s", why->text);
}

static void share_tokenizer(const char *from, const char *to)
{
    rf_ctx *ctx = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    need(rf_ctx_new(NULL, &ctx, &why), &why);
    need(rf_tokenizer_open(ctx, from, &t, &why), &why);
    for (const char *const *name = rf_tokenizer_files(t); *name; name++) share(from, to, *name);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
}

/* Creates a copy of the trained model with the method's keys in its config.json. False: there is no trained model. */
static bool make_start(const study *s, const row *r, int seed, long long length, char folder[PATH])
{
    char trained[PATH], path[PATH];
    json_error_t bad;
    path_of(trained, "%s/%s-%d", s->asked.work, r->model, seed);
    start_folder(s, r, seed, length, folder);
    if (!exists(trained, RF_FILE_WEIGHTS))
        return fprintf(stderr, "lengths: %s is not there: left out\n", trained), false;
    if (!r->method) return true;
    make_folder(folder);
    share(trained, folder, RF_FILE_WEIGHTS);
    share_tokenizer(trained, folder);
    path_of(path, "%s/" RF_FILE_CONFIG, trained);
    json_t *config = json_load_file(path, 0, &bad), *own;
    if (!config) die("%s:%d: %s", path, bad.line, bad.text);
    json_object_update(config, json_object_get(s->asked.file, "common"));
    own = filled(json_object_get(r->method, "config"), fmax(1, (double)length / s->trained));
    if (own) json_object_update(config, own);
    path_of(path, "%s/" RF_FILE_CONFIG, folder);
    if (json_dump_file(config, path, JSON_INDENT(1))) die("%s: cannot be written", path);
    json_decref(own);
    json_decref(config);
    return true;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* Bytes of the document's first n tokens, up to the end of a word; 0 when it has fewer. */
static size_t cut(const rf_tokenizer *t, const rf_document *d, rf_encoding *e, size_t n)
{
    rf_error why;
    need(rf_encode(t, d->text, d->size, NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e, NULL, &why), &why);
    if (e->n <= n) return 0;
    while (n && rf_tokenizer_continues(t, e->id[n])) n--;
    return e->start[n];
}

static void write_document(FILE *f, const rf_document *d, size_t size, const char *path)
{
    json_t *o = json_pack("{s:o}", "text", json_stringn(d->text, size));
    if (!o || json_dumpf(o, f, JSON_COMPACT) || fputc('\n', f) == EOF) die("%s: cannot be written", path);
    json_decref(o);
}

/* WORK/NAME/held-out.jsonl: the first documents with enough tokens. */
static void make_text(const study *s, char out[PATH])
{
    json_t *how = json_object_get(s->asked.file, "held_out"), *list = json_object_get(how, "text"), *one;
    const size_t tokens = (size_t)json_integer_value(json_object_get(how, "tokens"));
    const long long target = json_integer_value(json_object_get(how, "documents"));
    char unfinished[PATH], vocab[PATH], file[SEEDS][PATH];
    const char *name[SEEDS];
    rf_ctx *ctx;
    rf_error why;
    rf_tokenizer *t;
    rf_reader *r;
    rf_document d;
    rf_encoding e;
    size_t i;
    int n = 0;
    path_of(out, "%s/%s/held-out.jsonl", s->asked.work, s->asked.name);
    if (!access(out, F_OK)) return;
    json_array_foreach(list, i, one) {
        if (n == SEEDS) break;
        path_of(file[n], "%s/%s", s->asked.data, json_string_value(one));
        name[n] = file[n];
        n++;
    }
    path_of(unfinished, "%s.unfinished", out);
    path_of(vocab, "%s/vocab", s->asked.work);
    need(rf_ctx_new(NULL, &ctx, &why), &why);
    need(rf_tokenizer_open(ctx, vocab, &t, &why), &why);
    need(rf_reader_open(ctx, name, n, NULL, &r, &why), &why);
    rf_encoding_init(&e, ctx);
    FILE *f = fopen(unfinished, "w");
    if (!f) die("%s: %s", unfinished, strerror(errno));
    long long got = 0;
    while (got < target) {
        need(rf_reader_next(r, &d, &why), &why);
        if (!d.text) die("held_out: %lld documents have %zu tokens, %lld are asked for", got, tokens, target);
        const size_t size = cut(t, &d, &e, tokens);
        if (!size) continue;
        write_document(f, &d, size, unfinished);
        got++;
    }
    rf_encoding_clear(&e);
    rf_reader_close(r);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
    if (fclose(f) || rename(unfinished, out)) die("%s: %s", out, strerror(errno));
}

/* ---- one measurement --------------------------------------------------------------------------------------------- */

static bool time_is_over(const study *s) { return s->asked.until && time(NULL) >= s->asked.until; }

/* False: the time is over. */
static bool adapt(const study *s, const row *r, int seed, const char *start)
{
    char folder[PATH], text[PATH];
    json_t *list = json_object_get(s->asked.file, "text"), *one;
    command words = {0};
    size_t i;
    adapted_folder(s, r, seed, folder);
    if (exists(folder, RF_FILE_WEIGHTS)) return true;
    if (time_is_over(s)) return false;
    make_folder(folder);
    share(s->asked.work, folder, RF_FILE_TOKENS);
    say(&words, "%s", program);
    say(&words, "pretrain");
    say(&words, "--text");
    json_array_foreach(list, i, one) {
        path_of(text, "%s/%s", s->asked.data, json_string_value(one));
        say(&words, "%s", text);
    }
    say_two(&words, "--model", start);
    say_two(&words, "-o", folder);
    say(&words, "--seed");
    say(&words, "%d", 100 + seed);                          /* other texts than those of the training's first updates */
    say(&words, "--max_length");
    say(&words, "%lld", r->adapted);
    if (has_checkpoint(folder)) say_two(&words, "--resume", "latest");
    if (s->asked.threads) say_two(&words, "--threads", s->asked.threads);
    say_until(&words, s->asked.until);
    say_options(&words, json_object_get(s->adapt, "options"));
    fprintf(stderr, "== %s\n", folder);
    const int code = execute(&words, NULL);
    forget(&words);
    if (code && code != 75) die("%s: exit code %d", folder, code);
    return !code;
}

static void evaluate(const study *s, const char *folder, const char *text, long long length, const char *out)
{
    command words = {0};
    char unfinished[PATH];
    path_of(unfinished, "%s.unfinished", out);
    say(&words, "%s", program);
    say(&words, "evaluate");
    say(&words, "-q");
    say_two(&words, "-m", folder);
    say_two(&words, "--text", text);
    say(&words, "--json");
    say(&words, "--max_length");
    say(&words, "%lld", length);
    if (s->asked.threads) say_two(&words, "--threads", s->asked.threads);
    say_options(&words, json_object_get(json_object_get(s->asked.file, "held_out"), "options"));
    const int code = execute(&words, unfinished);
    forget(&words);
    if (code) die("%s: evaluate ended with %d", folder, code);
    if (rename(unfinished, out)) die("%s: %s", out, strerror(errno));
}

/* Measures all lengths of one row and seed. False: the time limit was reached. */
static bool measure(const study *s, const row *r, int seed, const char *text)
{
    char folder[PATH], out[PATH];
    for (int i = 0; i < s->lengths; i++) {
        score_file(s, r, seed, s->length[i], out);
        if (!access(out, F_OK)) continue;
        if (time_is_over(s)) return false;
        if (!make_start(s, r, seed,
                        r->adapted ? json_integer_value(json_object_get(s->adapt, "max_length")) : s->length[i],
                        folder))
            return true;
        if (r->adapted) {
            if (!adapt(s, r, seed, folder)) return false;
            adapted_folder(s, r, seed, folder);
        }
        evaluate(s, folder, text, s->length[i], out);
    }
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void read_scores(const study *s, row *r)
{
    json_t *seed;
    size_t i;
    char path[PATH];
    for (int l = 0; l < s->lengths; l++) {
        r->loss[l].n = 0;
        json_array_foreach(r->seeds, i, seed) {
            score_file(s, r, (int)json_integer_value(seed), s->length[l], path);
            json_t *o = json_load_file(path, 0, NULL);
            if (!o) continue;
            keep(&r->loss[l], (int)json_integer_value(seed), json_number_value(json_object_get(o, "eval_loss")));
            json_decref(o);
        }
    }
}

static void print_difference(FILE *f, const numbers *a, const numbers *to)
{
    const numbers d = differences(a, to);
    char cell[64] = "-";
    if (d.n > 1) snprintf(cell, sizeof cell, "%+.3f ± %.3f", mean(&d), half_interval(&d));
    else if (d.n) snprintf(cell, sizeof cell, "%+.3f", d.x[0]);
    fprintf(f, " %*s", 17 + (strstr(cell, "±") ? 1 : 0), cell);
}

static void print_lengths(const study *s, FILE *f, const char *title)
{
    fprintf(f, "\n%-24s %2s", title, "n");
    for (int l = 0; l < s->lengths; l++) fprintf(f, " %17lld", s->length[l]);
    fputc('\n', f);
}

static bool known(const study *s, const row *r)
{
    for (int l = 0; l < s->lengths; l++)
        if (r->loss[l].n) return true;
    return false;
}

/* Of rows first .. last - 1 those that are known by now, and their differences to the first one. */
static void print_block(const study *s, FILE *f, const row_list *rows, int first, int last, const char *title)
{
    int n = 0;
    for (int i = first; i < last; i++) n += known(s, &rows->at[i]);
    if (!n) return;
    print_lengths(s, f, title);
    for (int i = first; i < last; i++) {
        if (!known(s, &rows->at[i])) continue;
        fprintf(f, "%-24s %2d", rows->at[i].label, rows->at[i].loss[0].n);
        for (int l = 0; l < s->lengths; l++) print_cell(f, &rows->at[i].loss[l], 1, 17, 3);
        fputc('\n', f);
    }
    if (n < 2) return;
    print_lengths(s, f, "  less the first row");
    for (int i = first + 1; i < last; i++) {
        if (!known(s, &rows->at[i])) continue;
        fprintf(f, "%-24s %2d", rows->at[i].label, rows->at[i].loss[0].n);
        for (int l = 0; l < s->lengths; l++) print_difference(f, &rows->at[i].loss[l], &rows->at[first].loss[l]);
        fputc('\n', f);
    }
}

static void draw_panel(const study *s, FILE *f, const row_list *rows, int first, int last, const char *title)
{
    int drawn = 0;
    for (int i = first; i < last; i++) {
        int points = 0;
        for (int l = 0; l < s->lengths; l++) points += rows->at[i].loss[l].n > 0;
        if (points < 2) continue;
        if (!drawn++) fprintf(f, "set title '%s'\nplot ", title);
        else fprintf(f, ", ");
        fprintf(f, "$x%d using 1:2 with linespoints dashtype %d title '%s'", i, i % 2 + 1, rows->at[i].label);
    }
    fprintf(f, drawn ? "\n" : "set multiplot next\n");
}

static void draw(const study *s, const row_list *rows, const int block[4])
{
    char path[PATH];
    path_of(path, "%s/%s.gp", s->asked.results, s->asked.name);
    FILE *f = fopen(path, "w");
    if (!f) die("%s: %s", path, strerror(errno));
    fprintf(f, "# drawn with: gnuplot %s.gp\n", s->asked.name);
    for (int i = 0; i < rows->n; i++) {
        fprintf(f, "$x%d << EOD\n", i);
        for (int l = 0; l < s->lengths; l++)
            if (rows->at[i].loss[l].n) fprintf(f, "%lld %.4f\n", s->length[l], mean(&rows->at[i].loss[l]));
        fprintf(f, "EOD\n");
    }
    fprintf(f,
            "set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'\nset output '%s.svg'\nset "
            "multiplot layout 1,3\n"
            "set grid\nset logscale x 2\nset key outside below maxcols 3\nset xlabel 'length in tokens'\nset ylabel "
            "'loss'\n",
            s->asked.name);
    draw_panel(s, f, rows, block[0], block[1], "as trained at 128, without adaptation");
    draw_panel(s, f, rows, block[1], block[2], "after a short adaptation");
    draw_panel(s, f, rows, block[2], block[3], "other encodings, trained at 128");
    if (fclose(f)) die("%s: %s", path, strerror(errno));
    path_of(path, "%s.gp", s->asked.name);
    run_script(s->asked.results, path);
}

static void write_runs(const study *s, const row_list *rows)
{
    char path[PATH];
    path_of(path, "%s/runs.jsonl", s->asked.results);
    FILE *f = fopen(path, "w");
    if (!f) die("%s: %s", path, strerror(errno));
    for (int i = 0; i < rows->n; i++)
        for (int l = 0; l < s->lengths; l++)
            for (int k = 0; k < rows->at[i].loss[l].n; k++)
                fprintf(f,
                        "{\"row\":\"%s\",\"model\":\"%s\",\"adapted\":%lld,\"seed\":%d,\"max_length\":%lld,\"loss\":%."
                        "6f}\n",
                        rows->at[i].label, rows->at[i].model, rows->at[i].adapted, rows->at[i].loss[l].seed[k],
                        s->length[l], rows->at[i].loss[l].x[k]);
    if (fclose(f)) die("%s: %s", path, strerror(errno));
}

static void table(const study *s, row_list *rows, const int block[4])
{
    char path[PATH], title[128];
    json_t *notes = json_object_get(s->asked.file, "notes"), *one;
    size_t i;
    path_of(path, "%s/table.txt", s->asked.results);
    for (int k = 0; k < rows->n; k++) read_scores(s, &rows->at[k]);
    FILE *f = fopen(path, "w");
    if (!f) die("%s: %s", path, strerror(errno));
    fprintf(f, "%s\n", json_string_value(json_object_get(s->asked.file, "title")));
    print_block(s, f, rows, block[0], block[1], "without adaptation");
    snprintf(title, sizeof title, "adapted at %lld", json_integer_value(json_object_get(s->adapt, "max_length")));
    print_block(s, f, rows, block[1], block[2], title);
    print_block(s, f, rows, block[2], block[3], "other encodings");
    fprintf(f,
            "\nn seeds; loss of held-out text in nats for each masked token, mean ± standard deviation over the seeds; "
            "differences are paired by\n"
            "seed, with the 95 %% interval of their mean.  The same %lld documents of %lld tokens in pieces of each "
            "length.\n",
            json_integer_value(json_object_get(json_object_get(s->asked.file, "held_out"), "documents")),
            json_integer_value(json_object_get(json_object_get(s->asked.file, "held_out"), "tokens")));
    json_array_foreach(notes, i, one) fprintf(f, "%s\n", json_string_value(one));
    if (fclose(f)) die("%s: %s", path, strerror(errno));
    write_runs(s, rows);
    draw(s, rows, block);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void add(row_list *rows, row r)
{
    if (rows->n == ROWS) die("more than %d rows", ROWS);
    rows->at[rows->n++] = r;
}

/* block[0] .. methods .. block[1] .. adapted .. block[2] .. other models .. block[3] */
static void list_rows(const study *s, row_list *rows, int block[4])
{
    json_t *seeds = json_object_get(s->asked.file, "seeds"), *one;
    const long long at = json_integer_value(json_object_get(s->adapt, "max_length"));
    const char *control = json_string_value(json_object_get(s->adapt, "control"));
    size_t i;
    block[0] = 0;
    json_array_foreach(s->methods, i, one) {
        if (!json_string_value(json_object_get(one, "name"))) die("method %zu has no name", i + 1);
        add(rows, (row){.label = json_string_value(json_object_get(one, "name")),
                        .model = s->base,
                        .method = one,
                        .seeds = seeds});
    }
    block[1] = rows->n;
    json_array_foreach(s->methods, i, one) {
        if (!s->adapt || json_is_false(json_object_get(one, "adapt"))) continue;
        add(rows, (row){.label = json_string_value(json_object_get(one, "name")),
                        .model = s->base,
                        .method = one,
                        .seeds = seeds,
                        .adapted = at});
        if (rows->n == block[1] + 1 && control)         /* as many updates at the old length */
            add(rows, (row){.label = control,
                            .model = s->base,
                            .method = one,
                            .seeds = seeds,
                            .adapted = (long long)s->trained});
    }
    block[2] = rows->n;
    json_array_foreach(json_object_get(s->asked.file, "rows"), i, one) {
        json_t *own = json_object_get(one, "seeds");
        const char *name = json_string_value(json_object_get(one, "name"));
        add(rows, (row){.label = name, .model = name, .seeds = own ? own : seeds});
    }
    block[3] = rows->n;
}

/* Measures rows first .. last - 1, seed by seed, so that all rows have the same number of runs if the experiment ends
 * early. False: the time limit was reached. */
static bool run_block(const study *s, row_list *rows, const int block[4], int first, int last, const char *text)
{
    for (size_t k = 0; k < SEEDS; k++)
        for (int i = first; i < last; i++) {
            const row *r = &rows->at[i];
            if (k >= json_array_size(r->seeds)) continue;
            const bool more = measure(s, r, (int)json_integer_value(json_array_get(r->seeds, k)), text);
            table(s, rows, block);
            if (!more) return false;
        }
    return true;
}

/* What needs no training comes first. */
static void run_all(const study *s, row_list *rows, const int block[4])
{
    char text[PATH], folder[PATH];
    path_of(folder, "%s/%s", s->asked.work, s->asked.name);
    make_folder(folder);
    path_of(folder, "%s/%s/scores", s->asked.work, s->asked.name);
    make_folder(folder);
    make_text(s, text);
    if (run_block(s, rows, block, block[0], block[1], text) && run_block(s, rows, block, block[2], block[3], text))
        run_block(s, rows, block, block[1], block[2], text);
}

static void read_file(study *s, const char *path)
{
    json_t *file = s->asked.file, *one;
    size_t i;
    s->base = json_string_value(json_object_get(file, "stretched"));
    s->methods = json_object_get(file, "methods");
    s->adapt = json_object_get(file, "adapt");
    s->trained = json_number_value(json_object_get(file, "trained_length"));
    json_array_foreach(json_object_get(file, "max_length"), i, one)
        if (s->lengths < LENGTHS) s->length[s->lengths++] = json_integer_value(one);
    if (!s->base || !json_array_size(s->methods) || !(s->trained > 0) || !s->lengths)
        die("%s: stretched, methods, trained_length and max_length are needed", path);
}

int main(int argc, char **argv)
{
    static study s;
    static row_list rows;
    int block[4];
    read_request(&s.asked, argc, argv, false);
    read_file(&s, argv[1]);
    list_rows(&s, &rows, block);
    if (!s.asked.only_table) run_all(&s, &rows, block);
    table(&s, &rows, block);
    json_decref(s.asked.file);
    return 0;
}
