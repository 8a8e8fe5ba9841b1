/* cmd_variants.c — roformer variants: scores of mutations of a protein.
 *
 * A table keeps its columns and gets one more, as in ProteinGym's files and the script of Meier et al. */
#include <stdlib.h>

#include "cli/shell/commands.h"
#include "cli/shared/records.h"
#include "roformer/pipeline.h"

struct args {
    const char *model, *sequence, *fasta, *input, *output, *column;
    rf_variant_options o;
    int dtype, strategy;
    cli_list mutations;
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_window rows, mutations;         /* rows: the lines of a table, unchanged                                      */
    char *header, delimiter;            /* NULL, 0: no table                                                          */
    uint64_t first;                     /* the line of the first row                                                  */
    int64_t column;
    char *sequence;
    size_t length;
} job;

/* ---- the protein ---- */

static char *copy(const char *text, size_t n)
{
    char *out = malloc(n + 1);
    if (out) memcpy(out, text, n), out[n] = 0;
    return out;
}

static rf_status read_protein(job *j)
{
    const struct args *a = j->a;
    cli_records in;
    const char *text, *name;
    size_t size;
    if (!a->sequence == !a->fasta)
        return rf_fail(&j->io->why, RF_EARG, "variants: expected --sequence or --fasta, got %s",
                       a->sequence ? "both" : "neither");
    if (a->sequence) {
        j->length = strlen(a->sequence);
        j->sequence = copy(a->sequence, j->length);
        return j->sequence ? RF_OK : cli_no_memory(j->io);
    }
    rf_status status = cli_records_open(j->io, &in, a->fasta, CLI_INPUT_FASTA, NULL);
    if (!status) status = cli_records_next(&in, &text, &size, &name);
    if (!status && !text)
        status = rf_fail(&j->io->why, RF_EDATA, "%s: expected a record with the wild type, got none", a->fasta);
    if (!status) {
        j->length = size;
        j->sequence = copy(text, size);
        if (!j->sequence) status = cli_no_memory(j->io);
    }
    if (!status) status = cli_records_next(&in, &text, &size, &name);
    if (!status && text)
        status = rf_fail(&j->io->why, RF_EDATA, "%s: expected one record, the wild type, got several", a->fasta);
    cli_records_close(&in);
    return status;
}

/* ---- mutations ---- */

/* Column number `column` of a line; false: it has fewer, or a quoted one that is not closed. "" in quotes is kept. */
static bool field(const char *line, size_t n, char delimiter, int64_t column, const char **at, size_t *size)
{
    for (size_t i = 0; i <= n; i++) {
        const bool quoted = i < n && line[i] == '"';
        const size_t from = i + quoted;
        size_t to = from;
        while (to < n && (quoted ? line[to] != '"' || (to + 1 < n && line[to + 1] == '"') : line[to] != delimiter))
            to += quoted && line[to] == '"' ? 2 : 1;
        if (quoted && to >= n) return false;
        *at = line + from;
        *size = to - from;
        i = to + quoted;
        if (i < n && line[i] != delimiter) return false;
        if (!column--) return true;
    }
    return false;
}

static rf_status read_header(job *j, const char *line, size_t size)
{
    const char *at;
    size_t n;
    j->header = copy(line, size);
    if (!j->header) return cli_no_memory(j->io);
    for (j->column = 0; field(line, size, j->delimiter, j->column, &at, &n); j->column++)
        if (n == strlen(j->a->column) && !memcmp(at, j->a->column, n)) return RF_OK;
    return rf_fail(&j->io->why, RF_EDATA, "%s:1: expected a column '%.60s', got none; --mutation-col names it",
                   j->a->input, j->a->column);
}

static rf_status take_row(job *j, const char *line, size_t size, uint64_t number)
{
    const char *at = line;
    size_t n = size;
    if (j->delimiter && !field(line, size, j->delimiter, j->column, &at, &n))
        return rf_fail(&j->io->why, RF_EDATA, "%s:%llu: expected %lld or more columns, got fewer", j->a->input,
                       (unsigned long long)number, (long long)j->column + 1);
    if (!j->rows.n) j->first = number;
    const rf_status status = cli_window_add(&j->rows, line, size, &j->io->why);
    return status ? status : cli_window_add(&j->mutations, at, n, &j->io->why);
}

/* The extension distinguishes a table from a list. */
static rf_status read_file(job *j)
{
    cli_lines in;
    const char *line, *dot = strrchr(j->a->input, '.');
    size_t size;
    j->delimiter = !dot ? 0 : !strcmp(dot, ".csv") ? ',' : !strcmp(dot, ".tsv") ? '\t' : 0;
    rf_status status = cli_lines_open(j->io->ctx, &in, j->a->input, &j->io->why);
    while (!status && !(status = cli_lines_next(&in, &line, &size, &j->io->why)) && line) {
        if (!size)
            status = rf_fail(&j->io->why, RF_EDATA, "%s:%llu: expected a mutation, got an empty line", in.name,
                             (unsigned long long)in.number);
        else if (j->delimiter && in.number == 1) status = read_header(j, line, size);
        else status = take_row(j, line, size, in.number);
    }
    cli_lines_close(&in);
    if (!status && j->delimiter && !j->header)
        return rf_fail(&j->io->why, RF_EDATA, "%s: expected a header, got an empty file", j->a->input);
    return status;
}

static rf_status read_mutations(job *j)
{
    const struct args *a = j->a;
    rf_status status = RF_OK;
    if (!a->input == !a->mutations.n)
        return rf_fail(&j->io->why, RF_EARG, "variants: expected mutations or --input, got %s",
                       a->input ? "both" : "neither");
    if (a->input) return read_file(j);
    for (int i = 0; i < a->mutations.n && !status; i++)
        status = take_row(j, a->mutations.item[i], strlen(a->mutations.item[i]), (uint64_t)i + 1);
    return status;
}

/* ---- scores ---- */

static rf_status write_row(cli_out *o, const char *row, char delimiter, const char *score, rf_error *why)
{
    rf_status status = cli_out_write(o, row, strlen(row), why);
    if (!status) status = cli_out_write(o, delimiter ? &delimiter : "\t", 1, why);
    if (!status) status = cli_out_write(o, score, strlen(score), why);
    return status ? status : cli_out_write(o, "\n", 1, why);
}

static rf_status write_all(job *j, cli_out *o, const double *score)
{
    static const char *const name[] = {"masked_marginals", "wt_marginals", "pseudo_ppl"};
    rf_error *why = &j->io->why;
    const char *const *row = cli_window_texts(&j->rows);
    rf_status status = j->header ? write_row(o, j->header, j->delimiter, name[j->a->strategy], why) : RF_OK;
    for (int64_t i = 0; i < j->rows.n && !status; i++) {
        char number[32];
        snprintf(number, sizeof number, "%.6f", score[i]);
        status = write_row(o, row[i], j->delimiter, number, why);
    }
    return status ? status : cli_out_commit(o, why);
}

static rf_status score_all(job *j, cli_out *o)
{
    rf_pipeline *p = NULL;
    rf_variant_options options = j->a->o;
    const rf_texts_report *r;
    const double *score;
    rf_error inner = {0};
    rf_status status = cli_out_open(o, j->a->output, &j->io->why);
    if (!status) status = cli_pipeline_open(j->io, j->a->model, cli_dtype(j->a->dtype), &p);
    options.strategy = (rf_scoring_strategy)j->a->strategy;
    if (!status && rf_score_variants(p, j->sequence, j->length, cli_window_texts(&j->mutations), j->mutations.n,
                                     &options, &score, &r, &inner))
        status = r->bad >= 0 && j->a->input ? rf_fail(&j->io->why, inner.code, "%s:%llu: %.600s", j->a->input,
                                                      (unsigned long long)(j->first + (uint64_t)r->bad), inner.text)
                                            : rf_fail(&j->io->why, inner.code, "%s", inner.text);
    if (!status) status = write_all(j, o, score);
    rf_pipeline_close(p);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.a = a, .io = io};
    cli_out out = {.fd = -1};
    cli_signals_catch();
    rf_status status = read_protein(&j);
    if (!status && a->input) status = cli_not_input(a->output, a->input, &io->why);
    if (!status && a->fasta) status = cli_not_input(a->output, a->fasta, &io->why);
    if (!status) status = read_mutations(&j);
    if (!status) score_all(&j, &out);
    cli_out_discard(&out);
    cli_window_clear(&j.rows);
    cli_window_clear(&j.mutations);
    free(j.header);
    free(j.sequence);
    return cli_exit(io);
}

static void defaults(void *arguments)
{
    struct args *a = arguments;
    rf_variant_defaults(&a->o);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(struct args, model, "folder of a masked language model of proteins, such as ESM-2"),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"sequence", 's', CLI_TEXT, A(sequence), "RESIDUES", NULL, 0, 0, NULL, "wild-type sequence", NULL},
    {"fasta", 0, CLI_FILE, A(fasta), "FILE", NULL, 0, 0, NULL, "FASTA file with one record: the wild-type sequence",
     NULL},
    {"input", 0, CLI_FILE, A(input), "FILE", NULL, 0, 0, NULL,
     "mutations: .csv and .tsv are tables with a header, other files have one variant per line", NULL},
    {"mutation-col", 0, CLI_TEXT, A(column), "NAME", "mutant", 0, 0, NULL, "column of the table with the mutations",
     NULL},
    {"scoring-strategy", 0, CLI_CHOICE, A(strategy), "masked-marginals|wt-marginals|pseudo-ppl", "masked-marginals", 0,
     0, NULL,
     "masked-marginals: one forward pass per mutated position; wt-marginals: one forward pass; pseudo-ppl: one forward "
     "pass per residue of each variant", NULL},
    {"offset-idx", 0, CLI_INT, A(o.offset), "N", NULL, 0, INT32_MAX, NULL,
     "position number of the first residue of the sequence, as used in the mutations", NULL},
    {"batch-tokens", 0, CLI_INT, A(o.batch_tokens), "N", NULL, 1, 1 << 24, NULL, "number of tokens computed together",
     NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete", NULL},
    {"MUTATION", 0, CLI_OPERANDS, A(mutations), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer variants -m esm2_t30_150M_UR50D --sequence MKTVRQERLK K2R T3A:V4L",
    "roformer variants -m esm2_t30_150M_UR50D --fasta BLAT.fasta --offset-idx 24 --input BLAT.csv -o scored.csv",
    NULL,
};

const cli_command cmd_variants = {
    "variants",
    "[MUTATION...]",
    "score mutations of a protein with a masked language model",
    "A mutation is a residue, its position and the new residue: A24G.  A variant with several mutations joins them "
    "with ':'; its score is the sum of the scores of its mutations.  Prints each variant and its score, separated by a "
    "tab.  If --input is a table, prints the table with an additional column for the score.  A score above 0 means "
    "that the model finds the new residue more likely (Meier et al. 2021).  With pseudo-ppl, the score is the "
    "pseudo-log-likelihood of the complete variant.  If the residue of a mutation differs from the sequence, the "
    "command fails before any score is computed.",
    examples,
    options,
    sizeof(struct args),
    defaults,
    run,
};
