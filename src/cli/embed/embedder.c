/* embedder.c — see embedder.h. */
#include <stdio.h>
#include <string.h>

#include "cli/embed/embedder.h"

rf_status cli_embedder_open(cli_embedder *e, cli_io *io, const char *model, rf_type type, const cli_embedding *given,
                            int normalize, bool tokens)
{
    e->io = io;
    e->tokens = tokens;
    e->most = CLI_EMBED_WINDOW;
    rf_status status = cli_sentence_pipeline_open(io, model, type, &e->model);
    e->late = !status && tokens && rf_pipeline_late(e->model);
    if (e->late) status = cli_embedding_resolve_tokens(io, e->model, given, -1, &e->o);
    else if (!status) status = cli_embedding_resolve(io, e->model, given, &e->o);
    if (status) return status;
    if (cli_given(io->parsed, "normalize")) e->o.normalize = normalize;
    else if (tokens && !e->late) e->o.normalize = 0;
    if (tokens && !e->late && !cli_given(io->parsed, "dimensions")) e->o.dimensions = 0;
    return RF_OK;
}

size_t cli_embedder_width(const cli_embedder *e)
{
    if (!e->tokens) return (size_t)rf_embed_width(e->model, &e->o);
    if (e->late) return (size_t)(e->o.dimensions ? e->o.dimensions : rf_pipeline_width(e->model));
    const rf_config *c = rf_model_config(rf_pipeline_model(e->model));
    return (size_t)(e->o.dimensions ? e->o.dimensions : c->hidden_size);
}

const char *cli_embedder_file_name(const cli_embedder *e, uint64_t file)
{
    const char *name = e->files->n ? e->files->item[file] : "-";
    return strcmp(name, "-") ? name : "standard input";
}

rf_status cli_embedder_check_ids(const cli_embedder *e, bool ids)
{
    const bool field = cli_given(e->io->parsed, "id-field"), texts = cli_given(e->io->parsed, "text-field");
    for (int i = 0; i < (e->files->n ? e->files->n : 1); i++) {
        const int format = cli_documents_format(e->documents.format, e->files->n ? e->files->item[i] : "-");
        const bool fields = format >= CLI_INPUT_JSONL;
        if ((field || texts) && !fields)
            return rf_fail(&e->io->why, RF_EARG, "--%s: expected a file of jsonl, csv or tsv, got %.200s; "
                           "--input-format says what it is", field ? "id-field" : "text-field",
                           cli_embedder_file_name(e, (uint64_t)i));
        if (ids && (format == CLI_INPUT_LINES || (fields && !field)))
            return rf_fail(&e->io->why, RF_EARG, "--ids: expected %s, got none for %.200s",
                           fields ? "--id-field" : "a file whose texts have ids",
                           cli_embedder_file_name(e, (uint64_t)i));
    }
    return RF_OK;
}

/* Whether its records have ids or names. */
static bool has_names(const cli_embedder *e, const cli_records *in)
{
    return in->proteins || (in->documents && e->documents.id_field);
}

void cli_embedder_close(cli_embedder *e)
{
    cli_writer_discard(&e->writer);
    cli_window_clear(&e->window);
    cli_window_clear(&e->names);
    rf_pipeline_close(e->model);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void show_progress(cli_embedder *e)
{
    char text[128], lines[16], rate[16];
    const double seconds = cli_progress_seconds(&e->bar) + 1e-9;
    cli_count((double)e->all.done, lines, sizeof lines);
    cli_count((double)e->all.tokens / seconds, rate, sizeof rate);
    snprintf(text, sizeof text, "%s lines, %.0f lines/s, %s tokens/s", lines, (double)e->all.done / seconds, rate);
    cli_progress_show(&e->bar, "embedding", -1, text);
}

/* The line of an id in its file. */
static uint64_t line_in_file(const cli_embedder *e, cli_seen_place p)
{
    const char *path = e->files->n ? e->files->item[p.file] : "-";
    const bool proteins = cli_documents_format(e->documents.format, path) == CLI_INPUT_FASTA;
    if (!e->from_at || proteins || p.file != (uint64_t)e->from_file) return p.line;
    const cli_lines l = {.ctx = e->io->ctx, .name = path, .begun = e->from_at};
    return cli_lines_number(&l, p.line);
}

rf_status cli_embedder_ids(cli_embedder *e)
{
    cli_seen_place place[2];
    bool twice;
    const rf_status status = cli_writer_twice(&e->writer, &twice, place, &e->io->why);
    if (status || !twice) return status;
    return rf_fail(&e->io->why, RF_EDATA, "%.200s:%llu: id: expected one that no other document has, got that of "
                   "%.200s:%llu", cli_embedder_file_name(e, place[1].file),
                   (unsigned long long)line_in_file(e, place[1]), cli_embedder_file_name(e, place[0].file),
                   (unsigned long long)line_in_file(e, place[0]));
}

void cli_embedder_note(const cli_embedder *e)
{
    cli_embedding_note(e->io, e->model, &e->o, &e->all, "lines", false);
    if (e->zeros)
        cli_note(e->io, "%lld of %lld vectors are zero, so their cosine is undefined; the first is that of %s",
                 (long long)e->zeros, (long long)e->all.done, e->first_zero);
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

static void count_zero(cli_embedder *e, const cli_records *in, const float *v, int64_t rows, uint64_t line)
{
    for (size_t i = 0; i < (size_t)rows * e->writer.o.width; i++)
        if (v[i] != 0) return;
    if (!e->zeros++)
        snprintf(e->first_zero, sizeof e->first_zero, "%.200s:%llu", in->file,
                 (unsigned long long)(in->proteins ? line : cli_lines_number(&in->lines, line)));
}

/* A tensor without a name has the number of its line. */
static rf_status write_vectors(cli_embedder *e, const cli_records *in, int64_t i, const float *v, int64_t rows)
{
    char number[24];
    rf_error inner = {0};
    const uint64_t line = e->line[i];
    const char *name = has_names(e, in) ? e->names.text[i] : NULL;
    snprintf(number, sizeof number, "%llu", (unsigned long long)line);
    if ((!name || !*name) && e->writer.format->layout == CLI_KEPT) name = number;
    if (!e->tokens) count_zero(e, in, v, rows, line);
    const cli_seen_place place = {(uint64_t)e->file, line};
    const rf_status status = cli_writer_add(&e->writer, v, rows, name, place, &inner);
    if (status == RF_EDATA || status == RF_ERANGE) return cli_records_fail(in, line, &inner);
    return status ? rf_fail(&e->io->why, status, "%s", inner.text) : RF_OK;
}

/* Lines before one that cannot be read still get their vectors. */
static rf_status compute_window(cli_embedder *e, const cli_records *in)
{
    rf_error *why = &e->io->why, inner = {0};
    const rf_texts_report *r;
    const float *v = NULL;
    const int64_t *row = NULL;
    rf_status status = RF_OK;
    const size_t C = e->writer.o.width;
    const char *const *text = cli_window_texts(&e->window);
    (void)cli_window_texts(&e->names);
    if (e->tokens) rf_embed_tokens(e->model, text, e->window.size, e->window.n, &e->o, &v, &row, &r, &inner);
    else rf_embed_texts(e->model, text, e->window.size, e->window.n, &e->o, &v, &r, &inner);
    e->failed = inner.code && r->bad < 0;
    if (e->failed) return rf_fail(why, inner.code, "%s", inner.text);
    for (int64_t i = 0; i < r->done && !status; i++)
        status = row ? write_vectors(e, in, i, v + (size_t)row[i] * C, row[i + 1] - row[i])
                     : write_vectors(e, in, i, v + (size_t)i * C, 1);
    if (!status) status = cli_writer_flush(&e->writer, why);
    e->failed = status != RF_OK;
    if (status) return status;
    cli_embedding_count(&e->all, r);
    cli_window_empty(&e->window);
    cli_window_empty(&e->names);
    show_progress(e);
    return inner.code ? cli_records_fail(in, e->line[r->bad], &inner) : RF_OK;
}

static rf_status add_record(cli_embedder *e, const cli_records *in, const char *text, size_t size, const char *name)
{
    cli_window *w = &e->window;
    const rf_status status = has_names(e, in) ? cli_window_add(&e->names, name, strlen(name), &e->io->why) : RF_OK;
    e->line[w->n] = in->number;
    e->at = cli_records_at(in);
    return status ? status : cli_window_add(w, text, size, &e->io->why);
}

static rf_status embed_records(cli_embedder *e, cli_records *in, uint64_t to)
{
    cli_window *w = &e->window;
    rf_error *why = &e->io->why;
    rf_status status = RF_OK;
    while (!status) {
        const char *text = NULL, *name;
        size_t size;
        rf_status bad = cli_records_at(in) < to ? cli_records_next(in, &text, &size, &name) : RF_OK;
        if (!bad && text) bad = add_record(e, in, text, size, name);
        const bool full = w->n >= e->most || w->used >= CLI_EMBED_BYTES;
        if (w->n && (bad || !text || full || !cli_records_ready(in))) {
            const rf_error first = *why;                    /* lines before a malformed one still get their vectors */
            *why = (rf_error){0};
            status = compute_window(e, in);
            if (!status && e->after) status = e->after(e, e->user);
            if (!status) *why = first;
        }
        if (!status) status = bad;
        if (!text) break;
    }
    return status;
}

rf_status cli_embedder_file(cli_embedder *e, int file, uint64_t from, uint64_t to)
{
    cli_records in;
    e->file = file;
    e->at = from;
    rf_status status = cli_documents_open(e->io, &in, e->files->n ? e->files->item[file] : "-", &e->documents,
                                          rf_model_tokenizer(rf_pipeline_model(e->model)));
    if (!status && from) {
        e->from_file = file;
        e->from_at = from;
        status = cli_records_go(&in, from);
    }
    if (!status) status = embed_records(e, &in, to);
    cli_records_close(&in);
    return status;
}
