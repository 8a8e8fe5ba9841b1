/* cmd_embed.c — roformer embed: lines of text in, one vector for each line out, in the order of the lines.
 *
 * Lines are read into a window, which rf_embed_texts computes and which is written before the next one is read: memory
 * stays the same however many lines there are.
 *
 * A .npy file says at its beginning how many rows it has, which is known at the end.  Into a file the header is written
 * again when all is done; into a pipe the rows wait in a nameless temporary file ($TMPDIR) until the count is known.
 * jsonl and f32 have no header and come out window by window.                                                        */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shell/commands.h"
#include "cli/shell/embedding.h"
#include "cli/shell/io.h"
#include "roformer/pipeline.h"

struct args {
    const char *model, *output;
    int format, dtype, normalize;
    cli_embedding embedding;
    cli_list files;
};
enum { NPY, JSONL, F32 };
enum { WINDOW = 4096, WINDOW_BYTES = 1 << 20, NPY_HEADER = 128 };

typedef struct job {
    const struct args *a;
    cli_io *io;
    rf_pipeline *model;
    rf_embed_options o;
    size_t C;
    cli_out out, spool, *rows;          /* rows: where vectors go, out or spool                                       */
    cli_progress bar;
    cli_window window;
    uint64_t first;                     /* the number of the window's first line                                      */
    rf_texts_report all;
    bool failed;
} job;

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* NEP 1, version 1.0: magic, length of what follows, a Python dictionary, spaces, a line feed; 128 bytes in all. */
static rf_status npy_header(cli_out *o, int64_t rows, size_t columns, bool again, rf_error *why)
{
    char h[NPY_HEADER + 1];
    memcpy(h, "\x93NUMPY\x01\x00", 8);
    h[8] = NPY_HEADER - 10;
    h[9] = 0;
    const int n = snprintf(h + 10, sizeof h - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %zu), }",
                           (long long)rows, columns);
    memset(h + 10 + n, ' ', (size_t)(NPY_HEADER - 10 - n));
    h[NPY_HEADER - 1] = '\n';
    return again ? cli_out_patch(o, 0, h, NPY_HEADER, why) : cli_out_write(o, h, NPY_HEADER, why);
}

static rf_status write_json(cli_out *o, const float *v, size_t n, rf_error *why)
{
    char number[32];
    rf_status status = cli_out_write(o, "[", 1, why);
    for (size_t i = 0; i < n && !status; i++) {
        const int size = snprintf(number, sizeof number, "%s%.9g", i ? ", " : "", (double)v[i]);
        status = cli_out_write(o, number, (size_t)size, why);
    }
    return status ? status : cli_out_write(o, "]\n", 2, why);
}

static rf_status open_output(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = RF_OK;
    if (!j->a->files.n) status = cli_not_input(j->a->output, "-", why);
    for (int i = 0; i < j->a->files.n && !status; i++) status = cli_not_input(j->a->output, j->a->files.item[i], why);
    if (!status) status = cli_out_open(&j->out, j->a->output, why);
    if (status) return status;
    if (j->out.fd == 1 && j->a->format != JSONL && isatty(1))
        return rf_fail(why, RF_EARG,
                       "--output: expected a file or a pipe, got a terminal; use -o FILE, or --format jsonl");
    j->rows = &j->out;
    if (j->a->format != NPY) return RF_OK;
    if (cli_out_seekable(&j->out)) return npy_header(&j->out, 0, j->C, false, why);
    j->rows = &j->spool;
    return cli_out_spool(&j->spool, why);
}

/* The header with the true count, then rows that waited.  Also after a failure, so that what is there can be read. */
static rf_status close_output(job *j, rf_error *why)
{
    rf_status status = RF_OK;
    if (j->a->format == NPY && j->rows == &j->out) status = npy_header(&j->out, j->all.done, j->C, true, why);
    if (j->a->format == NPY && j->rows == &j->spool) {
        status = npy_header(&j->out, j->all.done, j->C, false, why);
        if (!status) status = cli_out_copy(&j->out, &j->spool, why);
    }
    return status ? status : cli_out_commit(&j->out, why);
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

static void show_progress(job *j)
{
    char text[128], lines[16], rate[16];
    const double seconds = cli_progress_seconds(&j->bar) + 1e-9;
    cli_count((double)j->all.done, lines, sizeof lines);
    cli_count((double)j->all.tokens / seconds, rate, sizeof rate);
    snprintf(text, sizeof text, "%s lines, %.0f lines/s, %s tokens/s", lines, (double)j->all.done / seconds, rate);
    cli_progress_show(&j->bar, "embedding", -1, text);
}

/* The lines before one that cannot be read still get their vectors. */
static rf_status compute_window(job *j, const char *name)
{
    rf_error *why = &j->io->why, inner = {0};
    const rf_texts_report *r;
    const float *vectors = NULL;
    rf_status status = RF_OK;
    const char *const *text = cli_window_texts(&j->window);
    rf_embed_texts(j->model, text, j->window.size, j->window.n, &j->o, &vectors, &r, &inner);
    j->failed = inner.code && r->bad < 0;
    if (j->failed) return rf_fail(why, inner.code, "%s", inner.text);
    for (int64_t i = 0; i < r->done && !status; i++) {
        const float *v = vectors + (size_t)i * j->C;
        if (j->a->format == JSONL) status = write_json(j->rows, v, j->C, why);
        else status = cli_out_write(j->rows, v, j->C * sizeof *v, why);
    }
    if (!status) status = cli_out_flush(j->rows, why);
    j->failed = status != RF_OK;
    if (status) return status;
    cli_embedding_count(&j->all, r);
    cli_window_empty(&j->window);
    show_progress(j);
    return inner.code ? cli_at_line(why, name, j->first + (uint64_t)r->bad, &inner) : RF_OK;
}

static rf_status embed_file(job *j, const char *path)
{
    cli_lines in;
    cli_window *w = &j->window;
    rf_status status = cli_lines_open(j->io->ctx, &in, path, &j->io->why);
    while (!status) {
        const char *line;
        size_t size;
        rf_status bad = cli_lines_next(&in, &line, &size, &j->io->why);
        if (!w->n) j->first = in.number;
        if (!bad && line) bad = cli_window_add(w, line, size, &j->io->why);
        const bool full = w->n == WINDOW || w->used >= WINDOW_BYTES;
        if (w->n && (bad || !line || full || !cli_lines_ready(&in))) {
            const rf_error first = j->io->why;              /* the lines before a bad one still get their vectors */
            j->io->why = (rf_error){0};
            status = compute_window(j, in.name);
            if (!status) j->io->why = first;
        }
        if (!status) status = bad;
        if (!line) break;
    }
    cli_lines_close(&in);
    return status;
}

static rf_status prepare(job *j)
{
    rf_status status = cli_sentence_pipeline_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->model);
    if (!status) status = cli_embedding_settle(j->io, j->model, &j->a->embedding, &j->o);
    if (status) return status;
    if (cli_given(j->io->parsed, "normalize")) j->o.normalize = j->a->normalize;
    const int64_t width = rf_model_config(rf_pipeline_model(j->model))->hidden_size;
    j->C = (size_t)(j->o.dimensions ? j->o.dimensions : width);
    return RF_OK;
}

/* A name that is not there is told before hours go into the files before it, and before anything is written. */
static rf_status find_files(job *j)
{
    const cli_list *files = &j->a->files;
    for (int i = 0; i < files->n; i++)
        if (strcmp(files->item[i], "-") && access(files->item[i], R_OK))
            return rf_fail(&j->io->why, RF_EIO, "%.200s: cannot open: %s", files->item[i], strerror(errno));
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    job *j = calloc(1, sizeof *j);
    if (!cli_by_suffix(io->parsed, "format", a->output, &a->format))
        cli_note(io, "%s: expected the extension npy, jsonl or f32, got another one; writing NumPy's format (--format "
                 "selects another)", a->output);
    if (!j) {
        rf_fail(&io->why, RF_ENOMEM, "out of memory");
        return cli_exit(io);
    }
    j->a = a;
    j->io = io;
    j->out.fd = j->spool.fd = -1;
    cli_signals_catch();
    rf_status status = prepare(j);
    if (!status) status = find_files(j);
    if (!status) status = open_output(j);
    cli_progress_init(&j->bar, io, 30);
    const int files = j->a->files.n;
    for (int i = 0; i < (files ? files : 1) && !status && !cli_stopped(); i++)
        status = embed_file(j, files ? j->a->files.item[i] : "-");
    cli_progress_clear(&j->bar);
    const bool whole = !status && !cli_stopped();
    if (j->rows && (whole || (!j->out.temporary && !j->failed && (!status || j->all.done)))) {
        rf_error last = {0};
        if (close_output(j, &last)) rf_fail(&io->why, last.code, "%s", last.text);
    }
    if (whole) cli_embedding_note(io, &j->o, &j->all, "lines", false);
    cli_out_discard(&j->out);
    cli_out_discard(&j->spool);
    cli_window_clear(&j->window);
    rf_pipeline_close(j->model);
    free(j);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"format", 'f', CLI_CHOICE, A(format), "npy|jsonl|f32", "npy", 0, 0, NULL,
     "npy: NumPy file; jsonl: one JSON list per line; f32: raw little-endian floats; if not given, selected by the "
     "extension of --output", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete", NULL},
    {"normalize", 0, CLI_FLAG, A(normalize), NULL, NULL, 0, 0, NULL,
     "normalize vectors to length 1; if not given, as configured in the model folder", NULL},
    CLI_EMBEDDING_OPTIONS(struct args, embedding),
    {"FILE", 0, CLI_OPERANDS, A(files), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nPrices fell.\\n' > lines.txt",
    "roformer embed < lines.txt > vectors.npy",
    "roformer embed -m my-model --pooling cls --normalize -o vectors.npy lines.txt",
    "roformer embed --format jsonl < lines.txt | head -1",
    NULL,
};

const cli_command cmd_embed = {
    "embed",
    "[FILE...]",
    "compute embeddings of lines of text",
    "Reads lines from the files (also .gz and .zst) or from standard input, and writes one vector per line in the "
    "same order.  An empty line gives the vector of the empty text.  The vector of a text has the same bits "
    "regardless of the other lines and of the number of threads.  A sentence-transformers folder defines pooling, "
    "normalization, prompt and maximum length; options override it.\n"
    "The npy format begins with the number of rows.  On a pipe, the rows are therefore kept in a temporary file until "
    "all input is read; jsonl and f32 are written at once.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
