/* cmd_index.c — roformer index: writes the vectors of lines to a folder that roformer search reads. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/shared/embedding.h"
#include "cli/io/io.h"
#include "cli/shared/records.h"
#include "roformer/index.h"

struct args {
    const char *model, *output;
    cli_embedding embedding;
    int dtype, input_format;
    cli_list files;
};
enum { WINDOW = 4096, WINDOW_BYTES = 1 << 20 };

typedef struct job {
    const struct args *a;
    cli_io *io;
    rf_pipeline *model;
    rf_embed_options o;
    rf_index_writer *writer;
    cli_window window, names;           /* names: of proteins, which are stored instead of them                       */
    cli_progress bar;
    rf_texts_report all;
    int64_t blank;
} job;

static void show_progress(job *j)
{
    char text[128], lines[16];
    cli_count((double)j->all.done, lines, sizeof lines);
    snprintf(text, sizeof text, "%s lines, %.0f lines/s", lines,
             (double)j->all.done / (cli_progress_seconds(&j->bar) + 1e-9));
    cli_progress_show(&j->bar, "indexing", -1, text);
}

/* Counts blank lines, which keep their number and are reported at the end. */
static int64_t count_blank(const cli_window *w)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++) n += rf_utf8_blank(w->text[i], w->size[i]);
    return n;
}

/* `first`: the line number of the window's first line in its file. */
static rf_status add_window(job *j, const cli_records *in, uint64_t first)
{
    const rf_texts_report *r;
    rf_error inner = {0}, *why = &j->io->why;
    const float *vectors;
    int64_t bad = -1;
    const char *const *text = cli_window_texts(&j->window);
    rf_status status = rf_embed_texts(j->model, text, j->window.size, j->window.n, &j->o, &vectors, &r, &inner);
    if (status) bad = r->bad;
    cli_window *kept = j->names.n ? &j->names : &j->window;
    const char *const *line = cli_window_texts(kept);
    if (!status) status = rf_index_add(j->writer, vectors, line, kept->size, kept->n, &bad, &inner);
    if (status && bad >= 0) return cli_records_fail(in, first + (uint64_t)bad, &inner);
    if (status) return rf_fail(why, inner.code, "%s", inner.text);
    j->blank += count_blank(&j->window);
    cli_embedding_count(&j->all, r);
    cli_window_empty(&j->window);
    cli_window_empty(&j->names);
    show_progress(j);
    return RF_OK;
}

static rf_status add_file(job *j, const char *path)
{
    cli_records in;
    const char *text = "", *name, *title;
    char buffer[32];
    size_t size;
    uint64_t first = 1;
    cli_window *w = &j->window;
    rf_error *why = &j->io->why;
    rf_status status = cli_records_open(j->io, &in, path, j->a->input_format,
                                        rf_model_tokenizer(rf_pipeline_model(j->model)));
    while (!status && text && !(status = cli_records_next(&in, &text, &size, &name))) {
        if (text && !w->n) first = in.number;
        if (text) status = cli_window_add(w, text, size, why);
        title = text && !status ? cli_records_title(&in, name, buffer) : NULL;
        if (title) status = cli_window_add(&j->names, title, strlen(title), why);
        const bool full = w->n == WINDOW || w->used >= WINDOW_BYTES;
        if (!status && w->n && (!text || full)) status = add_window(j, &in, first);
    }
    cli_records_close(&in);
    return status;
}

static rf_status begin(job *j)
{
    rf_error *why = &j->io->why;
    rf_index_options o;
    char name[256];
    if (!j->a->output) return rf_fail(why, RF_EARG, "index: expected -o DIR, a folder for the index, got none");
    rf_status status = cli_sentence_pipeline_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->model);
    if (!status) status = cli_embedding_resolve(j->io, j->model, &j->a->embedding, &j->o);
    j->o.normalize = 1;
    if (!status) status = rf_index_options_of(j->model, &j->o, &o, why);
    if (status) return status;
    o.model_name = cli_sentence_name(j->a->model, name, sizeof name);
    char folder[4096];
    status = cli_sentence_folder(j->a->model, folder, sizeof folder, why);
    char *path = status ? NULL : rf__os_whole_path(folder);
    if (path && rf_utf8_check(path, strlen(path)) == strlen(path)) o.model_path = path;
    if (!status) status = rf_index_create(j->io->ctx, j->a->output, &o, &j->writer, why);
    free(path);
    return status;
}

static rf_status end(job *j)
{
    rf_index_writer *w = j->writer;
    j->writer = NULL;
    if (rf_index_finish(w, &j->io->why)) return j->io->why.code;
    if (j->blank)
        cli_note(j->io, "%lld of %lld lines are empty: they keep their numbers and are never found",
                 (long long)j->blank, (long long)j->all.done);
    cli_embedding_note(j->io, j->model, &j->o, &j->all, "lines", false);
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.a = a, .io = io};
    cli_signals_catch();
    const char *standard = "-";
    const char *const *file = a->files.n ? a->files.item : &standard;
    rf_status status = begin(&j);
    cli_progress_init(&j.bar, io, 30);
    for (int i = 0; i < (a->files.n ? a->files.n : 1) && !status && !cli_stopped(); i++) status = add_file(&j, file[i]);
    cli_progress_clear(&j.bar);
    if (!status && !cli_stopped()) end(&j);
    rf_index_discard(j.writer);
    cli_window_clear(&j.window);
    cli_window_clear(&j.names);
    rf_pipeline_close(j.model);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"output", 'o', CLI_FILE, A(output), "DIR", NULL, 0, 0, NULL,
     "folder of the new index; it appears when it is complete", NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, input_format),
    CLI_EMBEDDING_OPTIONS(struct args, embedding),
    {"FILE", 0, CLI_OPERANDS, A(files), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nPrices fell.\\n' > lines.txt",
    "roformer index -o lines.index lines.txt",
    "roformer search lines.index 'a barking dog'",
    NULL,
};

const cli_command cmd_index = {
    "index",
    "-o DIR [FILE...]",
    "build a search index of lines of text",
    "Reads lines from the files (also .gz and .zst) or from standard input.  Writes the lines and their vectors to a "
    "folder.  Vectors are computed as by roformer embed and normalized to length 1.  They are stored as int8, for a "
    "scan of all lines, and as floats, for an exact comparison of the best candidates.  Lines are numbered across all "
    "files.  Memory use does not depend on the number of lines.  An empty line keeps its number and is never found.  "
    "If the vector of a line is zero, the command fails and names the line.  For a FASTA file, the lines are the names "
    "of the records, with the vectors of their sequences.\n"
    "docs/formats.md describes the files: NumPy reads codes.npy, and read_index of FAISS reads vectors.faiss.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
