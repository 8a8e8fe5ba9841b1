/* records.c — lines, proteins or documents; see records.h. */
#include <stdio.h>
#include <string.h>

#include "cli/shared/records.h"

enum { MOST_RESIDUES = 1 << 26, LEAST_NUCLEOTIDES = 30 };

static void note_words(const cli_io *io, const char *file)
{
    cli_note(io, "%s: expected a model of proteins for a FASTA file, got one whose vocabulary has words of a language: "
             "the results mean little; name a model of proteins (-m)", file);
}

/* *apart: blanks must separate the residues. */
static rf_status look_at_vocabulary(cli_io *io, const char *file, const rf_tokenizer *t, int *apart)
{
    rf_residues how = RF_RESIDUES_JOINED;
    const rf_status status = t ? rf_tokenizer_residues(t, &how, &io->why) : RF_OK;
    *apart = how == RF_RESIDUES_APART;
    if (how == RF_RESIDUES_WORDS) note_words(io, file);
    return status;
}

void cli_records_note(const cli_io *io, const char *folder, const rf_train_options *o)
{
    const rf_text_format format = o->reader.format;
    rf_tokenizer *t;
    rf_residues how;
    int i = 0;
    while (i < o->texts && format != RF_TEXT_FASTA &&
           (format != RF_TEXT_AUTO || rf_text_format_of(o->text[i]) != RF_TEXT_FASTA))
        i++;
    if (i == o->texts || rf_tokenizer_open(io->ctx, folder, &t, NULL)) return;
    if (!rf_tokenizer_residues(t, &how, NULL) && how == RF_RESIDUES_WORDS) note_words(io, o->text[i]);
    rf_tokenizer_free(t);
}

static rf_status open_proteins(cli_io *io, cli_records *r, const char *path, const rf_tokenizer *t)
{
    rf_reader_options o;
    rf_reader_defaults(&o);
    o.format = RF_TEXT_FASTA;
    const rf_status status = look_at_vocabulary(io, r->file, t, &o.residues_apart);
    o.max_document = (size_t)MOST_RESIDUES << o.residues_apart;
    return status ? status : rf_reader_open(io->ctx, &path, 1, &o, &r->proteins, &io->why);
}

/* Whether the path ends with this extension, before .gz or .zst. */
static bool has_extension(const char *path, const char *extension)
{
    size_t n = strlen(path);
    const size_t m = strlen(extension);
    if (n > 3 && !strcmp(path + n - 3, ".gz")) n -= 3;
    else if (n > 4 && !strcmp(path + n - 4, ".zst")) n -= 4;
    return n > m && !memcmp(path + n - m, extension, m);
}

int cli_documents_format(int format, const char *path)
{
    if (format != CLI_INPUT_AUTO) return format;
    const rf_text_format known = rf_text_format_of(path);
    if (known == RF_TEXT_FASTA) return CLI_INPUT_FASTA;
    if (known == RF_TEXT_JSONL) return CLI_INPUT_JSONL;
    return has_extension(path, ".csv") ? CLI_INPUT_CSV : has_extension(path, ".tsv") ? CLI_INPUT_TSV : CLI_INPUT_LINES;
}

rf_status cli_records_open(cli_io *io, cli_records *r, const char *path, int format, const rf_tokenizer *t)
{
    const bool lines = format == CLI_INPUT_AUTO && rf_text_format_of(path) != RF_TEXT_FASTA;
    const cli_documents d = {.format = lines ? CLI_INPUT_LINES : format};
    return cli_documents_open(io, r, path, &d, t);
}

rf_status cli_documents_open(cli_io *io, cli_records *r, const char *path, const cli_documents *d,
                             const rf_tokenizer *t)
{
    *r = (cli_records){.io = io, .file = strcmp(path, "-") ? path : "standard input"};
    const int format = cli_documents_format(d->format, path);
    if (format == CLI_INPUT_FASTA) return open_proteins(io, r, path, t);
    rf_status status = cli_lines_open(io->ctx, &r->lines, path, &io->why);
    r->documents = !status && format != CLI_INPUT_LINES;
    if (r->documents)
        status = cli_fields_open(&r->fields, io->ctx, &r->lines, format == CLI_INPUT_JSONL ? 0
                                 : format == CLI_INPUT_CSV ? ',' : '\t', d->text_field, d->id_field, &io->why);
    return status;
}

uint64_t cli_records_at(const cli_records *r) { return r->proteins ? r->number : cli_lines_at(&r->lines); }

rf_status cli_records_go(cli_records *r, uint64_t at)
{
    const char *text = "", *name;
    size_t size;
    rf_status status = RF_OK;
    if (!r->proteins) return at > cli_lines_at(&r->lines) ? cli_lines_go(&r->lines, at, &r->io->why) : RF_OK;
    while (!status && text && r->number < at) status = cli_records_next(r, &text, &size, &name);
    return status;
}

/* A sequence of 30 residues that are all A, C, G, T, U and N is not a protein. */
static void warn_of_nucleotides(cli_records *r, const rf_document *d)
{
    if (r->warned || d->size < LEAST_NUCLEOTIDES) return;
    for (size_t i = 0; i < d->size; i++)
        if (!strchr("ACGTUN ", d->text[i])) return;
    cli_note(r->io,
             "%s: record %llu, '%.100s', has only the letters A, C, G, T, U and N: expected the amino acids of a "
             "protein, got what looks like nucleotides; translate them first, unless the model is one of DNA",
             r->file, (unsigned long long)r->number, d->name);
    r->warned = true;
}

rf_status cli_records_next(cli_records *r, const char **text, size_t *size, const char **name)
{
    *name = "";
    if (r->documents) return cli_fields_next(&r->fields, &r->lines, text, size, name, &r->number, &r->io->why);
    if (!r->proteins) {
        const rf_status status = cli_lines_next(&r->lines, text, size, &r->io->why);
        r->number = r->lines.number;
        return status;
    }
    rf_document d = {0};
    *text = NULL;
    *size = 0;
    if (cli_stopped()) return RF_OK;
    const rf_status status = rf_reader_next(r->proteins, &d, &r->io->why);
    if (status || !d.text) return status;
    r->number++;
    if (d.continues)
        return rf_fail(&r->io->why, RF_EDATA, "%s: record %llu, '%.100s': expected at most %d residues, got more",
                       r->file, (unsigned long long)r->number - 1, d.name, MOST_RESIDUES);
    warn_of_nucleotides(r, &d);
    *text = d.text;
    *size = d.size;
    *name = d.name;
    return RF_OK;
}

void cli_records_close(cli_records *r)
{
    if (r->proteins) rf_reader_close(r->proteins);
    else cli_lines_close(&r->lines);
    if (r->documents) cli_fields_close(&r->fields);
    r->proteins = NULL;
    r->documents = false;
}

const char *cli_records_title(const cli_records *r, const char *name, char buffer[32])
{
    if (!r->proteins) return NULL;
    if (*name) return name;
    snprintf(buffer, 32, "record %llu", (unsigned long long)r->number);
    return buffer;
}

rf_status cli_records_read(cli_io *io, const char *path, int format, const rf_tokenizer *t, cli_window *text,
                           cli_window *name)
{
    cli_records in;
    const char *one, *called;
    char buffer[32];
    size_t size;
    rf_status status = cli_records_open(io, &in, path, format, t);
    while (!status && !(status = cli_records_next(&in, &one, &size, &called)) && one) {
        const char *title = cli_records_title(&in, called, buffer);
        status = cli_window_add(text, one, size, &io->why);
        if (!status && title) status = cli_window_add(name, title, strlen(title), &io->why);
    }
    cli_records_close(&in);
    return status;
}

bool cli_records_ready(const cli_records *r) { return r->proteins || cli_lines_ready(&r->lines); }

rf_status cli_records_fail(const cli_records *r, uint64_t number, const rf_error *inner)
{
    if (!r->proteins) return cli_at_line(&r->io->why, r->file, cli_lines_number(&r->lines, number), inner);
    const rf_error e = *inner;
    return rf_fail(&r->io->why, e.code, "%.300s: record %llu: %.600s", r->file, (unsigned long long)number, e.text);
}
