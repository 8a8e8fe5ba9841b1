/* cmd_bleu.c — roformer bleu: BLEU, chrF and TER of translations, with confidence intervals and tests. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/inspect/metrics.h"

struct args {
    cli_list references, inputs;
    const char *metrics;
    int words, smooth, lowercase, effective, json, confidence, randomization, bootstrap, segments, tokenized;
    double smooth_value;
    int64_t order, char_order, word_order, beta, confidence_n, randomization_n, bootstrap_n, seed, width;
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_window *file;                   /* the references, then the systems                                           */
    int references, systems;
    rf_mt_texts *texts;                 /* of the files                                                               */
    rf_mt_result **result;              /* of the systems, for one metric                                             */
} job;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static rf_status read_file(job *j, const char *path, cli_window *to)
{
    cli_lines in;
    rf_status status = cli_lines_open(j->io->ctx, &in, path, &j->io->why);
    const char *line = NULL;
    size_t size;
    if (status) return status;
    while (!(status = cli_lines_next(&in, &line, &size, &j->io->why)) && line) {
        if (in.marked)
            cli_note(j->io, "%s: the byte-order mark is skipped; sacreBLEU reads it as part of the first word", path);
        if ((status = cli_window_add(to, line, size, &j->io->why)) != RF_OK) break;
    }
    cli_lines_close(&in);
    if (!status && !to->n) status = rf_fail(&j->io->why, RF_EDATA, "%.200s: expected a line to score, got none", path);
    return status;
}

static const char *path_of(const job *j, int i)
{
    if (i < j->references) return j->a->references.item[i];
    return j->a->inputs.n ? j->a->inputs.item[i - j->references] : "-";
}

static rf_status read_all(job *j)
{
    rf_status status = RF_OK;
    int standard = 0;
    for (int i = 0; i < j->references + j->systems; i++) standard += !strcmp(path_of(j, i), "-");
    if (standard > 1)
        return rf_fail(&j->io->why, RF_EARG, "standard input (-): expected once, got it %d times%s", standard,
                       j->a->inputs.n ? "" : "; without -i FILE it is the translation");
    for (int i = 0; i < j->references + j->systems && !status; i++) {
        status = read_file(j, path_of(j, i), &j->file[i]);
        if (!status && j->file[i].n != j->file[0].n)
            status = rf_fail(&j->io->why, RF_EDATA,
                             "%.200s: expected %lld lines, one for every segment, as in %.200s, got %lld",
                             path_of(j, i), (long long)j->file[0].n, path_of(j, 0), (long long)j->file[i].n);
        if (status) break;
        j->texts[i] = (rf_mt_texts){cli_window_texts(&j->file[i]), j->file[i].size};
    }
    return status;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

typedef struct row {
    const char *system;                 /* NULL: there is one only                                                    */
    const rf_mt_result *result;
    rf_mt_score score;
    rf_mt_interval interval;            /* mean below 0: none                                                         */
    double p;                           /* below 0: none                                                              */
    char signature[256];
} row;

static void print_text(const job *j, const row *r)
{
    const int width = (int)j->a->width;
    const rf_mt_score *s = &r->score;
    if (r->system) cli_put_name(r->system), printf(": ");
    printf("%s|%s = %.*f", rf_mt_name(r->result), r->signature, width, s->score);
    if (r->interval.mean > 0) printf(" (μ = %.*f ± %.*f)", width, r->interval.mean, width, r->interval.half);
    if (r->p >= 0) printf(" (p = %.4f)", r->p);
    if (s->length || s->brevity > 0) {
        for (int k = 0; k < (int)j->a->order; k++) printf("%s%.1f", k ? "/" : " ", s->precision[k]);
        printf(" (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", s->brevity,
               s->reference > 0 ? (double)s->length / s->reference : 0, (long long)s->length, (long long)s->reference);
    }
    putchar('\n');
}

static double rounded(double x, int64_t width)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", (int)width, x);
    return strtod(text, NULL);
}

static rf_status print_object(const job *j, const row *r, rf_mt_metric metric)
{
    const rf_mt_score *s = &r->score;
    const int64_t width = j->a->width;
    json_t *all = json_object();
    if (r->system) cli_json_set(&all, "system", cli_text_json(r->system, strlen(r->system)));
    cli_json_set(&all, "name", json_string(rf_mt_name(r->result)));
    cli_json_set(&all, "score", json_real(rounded(s->score, width)));
    cli_json_set(&all, "signature", json_string(r->signature));
    if (r->interval.mean > 0) {
        cli_json_set(&all, "confidence_mean", json_real(rounded(r->interval.mean, width)));
        cli_json_set(&all, "confidence_var", json_real(rounded(r->interval.half, width)));
    }
    if (r->p >= 0) cli_json_set(&all, "p_value", json_real(r->p));
    if (metric == RF_MT_BLEU) {
        json_t *precision = json_array();
        for (int k = 0; k < (int)j->a->order; k++) cli_json_add(&precision, json_real(rounded(s->precision[k], 1)));
        cli_json_set(&all, "precisions", precision);
        cli_json_set(&all, "brevity_penalty", json_real(rounded(s->brevity, 3)));
        cli_json_set(&all, "hyp_len", json_integer(s->length));
        cli_json_set(&all, "ref_len", json_integer((json_int_t)s->reference));
    } else if (metric == RF_MT_TER) {
        cli_json_set(&all, "edits", json_integer((json_int_t)s->edits));
        cli_json_set(&all, "ref_len", json_real(s->reference));
    }
    return cli_print_json(all, JSON_COMPACT, &j->io->why);
}

static rf_status print(const job *j, const row *r, rf_mt_metric metric)
{
    if (j->a->json) return print_object(j, r, metric);
    print_text(j, r);
    return ferror(stdout) ? cli_flush(&j->io->why) : RF_OK;
}

/* ---- scoring ----------------------------------------------------------------------------------------------------- */

static rf_status set_options(const job *j, const char *name, rf_mt_options *o)
{
    const struct args *a = j->a;
    rf_mt_defaults(o);
    if (!strcmp(name, "bleu")) o->metric = RF_MT_BLEU;
    else if (!strcmp(name, "chrf") || !strcmp(name, "chrf++")) o->metric = RF_MT_CHRF;
    else if (!strcmp(name, "ter")) o->metric = RF_MT_TER;
    else
        return rf_fail(&j->io->why, RF_EARG, "--metrics: expected bleu, chrf, chrf++ or ter, got \"%.40s\"", name);
    if (cli_given(j->io->parsed, "lowercase")) o->lowercase = a->lowercase;
    o->tokenizer = (rf_mt_tokenizer)a->words;
    o->smooth = (rf_mt_smooth)a->smooth;
    o->smooth_value = a->smooth_value;
    o->max_order = (int)a->order;
    o->effective_order = a->effective || a->segments;
    o->char_order = (int)a->char_order;
    o->word_order = strcmp(name, "chrf++") != 0 ? (int)a->word_order : 2;
    o->beta = (int)a->beta;
    if (!a->tokenized) return RF_OK;
    o->tokenizer = RF_MT_COMPOUNDS;
    o->smooth = RF_MT_UNSMOOTHED;
    if (o->metric == RF_MT_BLEU) return RF_OK;
    return rf_fail(&j->io->why, RF_EARG, "--tokenized: expected no metric but BLEU, got %s; leave it out of --metrics",
                   name);
}

/* Confidence interval and test for system i. */
static rf_status try_chance(const job *j, int i, row *r)
{
    const struct args *a = j->a;
    const uint64_t seed = (uint64_t)a->seed;
    char more[64] = "";
    rf_status status = RF_OK;
    if (a->confidence) {
        snprintf(more, sizeof more, "bs:%lld|seed:%lld", (long long)a->confidence_n, (long long)a->seed);
        status = rf_mt_bootstrap(r->result, a->confidence_n, seed, &r->interval, &j->io->why);
    } else if (a->bootstrap) {
        snprintf(more, sizeof more, "bs:%lld|seed:%lld", (long long)a->bootstrap_n, (long long)a->seed);
        status = i ? rf_mt_compare(j->result[0], r->result, RF_MT_PAIRED_BOOTSTRAP, a->bootstrap_n, seed, &r->p,
                                   &r->interval, &j->io->why)
                   : rf_mt_bootstrap(r->result, a->bootstrap_n, seed, &r->interval, &j->io->why);
    } else if (a->randomization) {
        snprintf(more, sizeof more, "ar:%lld|seed:%lld", (long long)a->randomization_n, (long long)a->seed);
        if (i)
            status = rf_mt_compare(j->result[0], r->result, RF_MT_RANDOMIZATION, a->randomization_n, seed, &r->p, NULL,
                                   &j->io->why);
    }
    rf_mt_signature(r->result, more, r->signature, sizeof r->signature);
    return status;
}

static rf_status print_system(const job *j, int i, rf_mt_metric metric)
{
    row r = {.result = j->result[i], .interval = {-1, -1}, .p = -1};
    rf_status status = RF_OK;
    if (j->systems > 1) r.system = path_of(j, j->references + i);
    if (j->a->segments) {
        rf_mt_signature(r.result, "", r.signature, sizeof r.signature);
        for (int64_t k = 0; k < j->file[0].n && !status; k++) {
            rf_mt_segment(r.result, k, &r.score);
            status = print(j, &r, metric);
        }
        return status;
    }
    rf_mt_corpus(r.result, &r.score);
    status = try_chance(j, i, &r);
    return status ? status : print(j, &r, metric);
}

static rf_status compute_metric(job *j, const char *name)
{
    rf_mt_options o;
    rf_status status = set_options(j, name, &o);
    for (int i = 0; i < j->systems && !status; i++)
        status = rf_mt_evaluate(j->io->ctx, &o, &j->texts[j->references + i], j->texts, j->references, j->file[0].n,
                                &j->result[i], &j->io->why);
    for (int i = 0; i < j->systems && !status; i++) status = print_system(j, i, o.metric);
    for (int i = 0; i < j->systems; i++) {
        rf_mt_free(j->result[i]);
        j->result[i] = NULL;
    }
    return status;
}

/* All names are checked before anything is read. */
static rf_status each_metric(job *j, bool check)
{
    char name[32];
    rf_status status = RF_OK;
    for (const char *at = j->a->metrics; at && !status;) {
        const char *comma = strchr(at, ',');
        rf_mt_options o;
        snprintf(name, sizeof name, "%.*s", (int)(comma ? comma - at : (int)strlen(at)), at);
        status = check ? set_options(j, name, &o) : compute_metric(j, name);
        at = comma ? comma + 1 : NULL;
    }
    return status;
}

static bool lists_metric(const job *j, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = j->a->metrics; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, size) && (!at[size] || at[size] == ',')) return true;
    return false;
}

static rf_status check_effects(const job *j)
{
    const struct args *a = j->a;
    const bool bleu = lists_metric(j, "bleu"), chrf = lists_metric(j, "chrf");
    const bool either = chrf || lists_metric(j, "chrf++");
    const struct { const char *option, *with; bool there; } effect[] = {
        {"tokenize", "bleu among --metrics", bleu},
        {"smooth-method", "bleu among --metrics", bleu},
        {"smooth-value", "--smooth-method floor or add-k, of bleu",
         bleu && (a->smooth == RF_MT_FLOOR || a->smooth == RF_MT_ADD_K)},
        {"max-ngram-order", "bleu among --metrics", bleu},
        {"effective-order", "bleu among --metrics", bleu},
        {"tokenized", "bleu among --metrics", bleu},
        {"chrf-char-order", "chrf or chrf++ among --metrics", either},
        {"chrf-word-order", "chrf among --metrics (chrf++ is chrf with 2)", chrf},
        {"chrf-beta", "chrf or chrf++ among --metrics", either},
        {"confidence-n", "--confidence", a->confidence},
        {"paired-ar-n", "--paired-ar", a->randomization},
        {"paired-bs-n", "--paired-bs", a->bootstrap},
    };
    rf_status status = RF_OK;
    for (size_t i = 0; i < CLI_COUNT(effect) && !status; i++)
        status = cli_needs(j->io->parsed, effect[i].option, effect[i].there, effect[i].with, &j->io->why);
    return status;
}

static rf_status check_options(const job *j)
{
    const struct args *a = j->a;
    rf_error *why = &j->io->why;
    static const char *const fixed[] = {"tokenize", "smooth-method", "smooth-value"};
    if (a->confidence + a->randomization + a->bootstrap > 1)
        return rf_fail(why, RF_EARG, "--confidence, --paired-ar, --paired-bs: expected one of them, got %d",
                       a->confidence + a->randomization + a->bootstrap);
    if (a->segments && (a->confidence || a->randomization || a->bootstrap))
        return rf_fail(why, RF_EARG,
                       "--sentence-level: expected no interval and no test, which need all segments, got one; leave "
                       "out --confidence, --paired-ar and --paired-bs");
    if ((a->randomization || a->bootstrap) && j->systems < 2)
        return rf_fail(why, RF_EARG,
                       "--input: expected at least two systems for a test, got %d; give -i BASELINE SYSTEM...",
                       j->systems);
    for (size_t i = 0; a->tokenized && i < CLI_COUNT(fixed); i++)
        if (cli_given(j->io->parsed, fixed[i]))
            return rf_fail(
                why, RF_EARG,
                "--tokenized: expected no --%s, since it reads tokenized words and does not smooth; leave it "
                "out",
                fixed[i]);
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.a = a, .io = io, .references = a->references.n, .systems = a->inputs.n ? a->inputs.n : 1};
    const size_t files = (size_t)(j.references + j.systems);
    j.file = calloc(files, sizeof *j.file);
    j.texts = calloc(files, sizeof *j.texts);
    j.result = calloc((size_t)j.systems, sizeof *j.result);
    if (!j.file || !j.texts || !j.result) rf_fail(&io->why, RF_ENOMEM, "out of memory for %zu files", files);
    else if (!check_options(&j) && !each_metric(&j, true) && !check_effects(&j) &&
             !read_all(&j)) each_metric(&j, false);
    for (size_t i = 0; j.file && i < files; i++) cli_window_clear(&j.file[i]);
    free(j.file);
    free(j.texts);
    free(j.result);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"REFERENCE", 0, CLI_OPERANDS, A(references), NULL, NULL, 1, 100, NULL, "", NULL},
    {"input", 'i', CLI_FILES, A(inputs), "FILE", NULL, 0, 0, NULL,
     "translations, one file per system (default: standard input)", NULL},
    {"metrics", 0, CLI_TEXT, A(metrics), "LIST", "bleu", 0, 0, NULL,
     "comma-separated list of bleu, chrf, chrf++ and ter", "metric"},
    {"tokenize", 0, CLI_CHOICE, A(words), "13a|intl|zh|char|none", "13a", 0, 0, NULL, "BLEU: tokenizer", "tok"},
    {"lowercase", 0, CLI_FLAG, A(lowercase), NULL, NULL, 0, 0, NULL, "ignore case (TER: on unless --lowercase=false)",
     "lc"},
    {"smooth-method", 0, CLI_CHOICE, A(smooth), "exp|floor|add-k|none", "exp", 0, 0, NULL,
     "BLEU: smoothing of n-gram orders without a match", NULL},
    {"smooth-value", 0, CLI_REAL, A(smooth_value), "X", "-1", -1, 1e6, NULL,
     "value of the methods floor and add-k; -1: 0.1 and 1", NULL},
    {"max-ngram-order", 0, CLI_INT, A(order), "N", "4", 1, RF_MT_ORDERS, NULL, "BLEU: maximum n-gram order", NULL},
    {"effective-order", 0, CLI_FLAG, A(effective), NULL, NULL, 0, 0, NULL,
     "BLEU: leave out n-gram orders that are too long for the text", NULL},
    {"chrf-char-order", 0, CLI_INT, A(char_order), "N", "6", 1, RF_MT_ORDERS, NULL,
     "chrF: maximum order of character n-grams", NULL},
    {"chrf-word-order", 0, CLI_INT, A(word_order), "N", "0", 0, RF_MT_ORDERS, NULL,
     "chrF: maximum order of word n-grams (chrf++: 2)", NULL},
    {"chrf-beta", 0, CLI_INT, A(beta), "N", "2", 1, 100, NULL, "chrF: weight of recall", NULL},
    {"confidence", 0, CLI_FLAG, A(confidence), NULL, NULL, 0, 0, NULL,
     "95 % confidence interval by bootstrap resampling", NULL},
    {"confidence-n", 0, CLI_INT, A(confidence_n), "N", "1000", 1, 10000000, NULL, "number of resamples of --confidence",
     NULL},
    {"paired-ar", 0, CLI_FLAG, A(randomization), NULL, NULL, 0, 0, NULL,
     "p-value of each system against the first one by approximate randomization", NULL},
    {"paired-ar-n", 0, CLI_INT, A(randomization_n), "N", "10000", 1, 10000000, NULL, "number of trials of --paired-ar",
     NULL},
    {"paired-bs", 0, CLI_FLAG, A(bootstrap), NULL, NULL, 0, 0, NULL,
     "p-value and confidence interval of each system by paired bootstrap resampling", NULL},
    {"paired-bs-n", 0, CLI_INT, A(bootstrap_n), "N", "1000", 1, 10000000, NULL, "number of resamples of --paired-bs",
     NULL},
    {"seed", 0, CLI_INT, A(seed), "N", "12345", 0, 9e15, NULL, "random seed of intervals and tests", NULL},
    {"sentence-level", 0, CLI_FLAG, A(segments), NULL, NULL, 0, 0, NULL, "print a score for each line", NULL},
    {"tokenized", 0, CLI_FLAG, A(tokenized), NULL, NULL, 0, 0, NULL,
     "texts are already tokenized: BLEU of multi-bleu.perl with hyphenated words split, as in tensor2tensor", NULL},
    {"width", 'w', CLI_INT, A(width), "N", "2", 0, 12, NULL, "number of decimals of scores", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one JSON object per score and line", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer bleu newstest.de < translated.de",
    "roformer bleu --metrics bleu,chrf++,ter --confidence newstest.de < translated.de",
    "roformer bleu --paired-ar newstest.de -i baseline.de system.de",
    NULL,
};

const cli_command cmd_bleu = {
    "bleu",
    "REFERENCE... [-i FILE...]",
    "score translations with BLEU, chrF and TER, with confidence intervals and tests",
    "Scores equal those of sacreBLEU 2.6 with the same options, which the signature names.  Files have one segment per "
    "line and may be compressed.  Give several references as several files.\n"
    "With --paired-ar or --paired-bs, the first system is the baseline.  p is the probability of a difference at "
    "least as large if both systems were equally good.\n"
    "--tokenized computes the BLEU of papers that use the script of tensor2tensor.  Its scores are higher than those "
    "of sacreBLEU and cannot be compared with them.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
