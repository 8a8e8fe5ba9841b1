/* cmd_embed.c — roformer embed: reads lines of text or proteins and writes one vector for each, or for each of its
 * tokens, in the same order.
 *
 * Lines are read into a window, which rf_embed_texts computes and which is written before the next one is read: memory
 * does not depend on the number of lines.
 *
 * A .npy file begins with the number of rows, which is known only at the end. In a file, the header is written again at
 * the end; on a pipe, the rows are kept in a nameless temporary file ($TMPDIR) until the count is known. jsonl and f32
 * have no header and are written window by window. The header of a .safetensors file contains the shape of each tensor,
 * so its rows are always kept until the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/shared/embedding.h"
#include "cli/io/io.h"
#include "cli/shared/records.h"
#include "roformer/pipeline.h"

struct args {
    const char *model, *output;
    int format, dtype, normalize, input, tokens;
    cli_embedding embedding;
    cli_list files;
};
enum { NPY, JSONL, F32, SAFETENSORS };
enum { WINDOW = 4096, WINDOW_BYTES = 1 << 20, NPY_HEADER = 128 };

typedef struct job {
    const struct args *a;
    cli_io *io;
    rf_pipeline *model;
    rf_embed_options o;
    size_t C;
    cli_out out, spool, *rows;          /* rows: where vectors are written, out or spool                              */
    cli_progress bar;
    cli_window window, names;           /* names: of the window's texts, if they have names                           */
    uint64_t first;                     /* the line number of the window's first text                                 */
    json_t *header;                     /* safetensors: header of what has been written                               */
    uint64_t bytes;
    rf_texts_report all;
    bool failed;
} job;

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* NEP 1, version 1.0: magic, length of the rest, a Python dictionary, spaces, a line feed; 128 bytes in all. */
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

static rf_status write_text(cli_out *o, const char *text, rf_error *why)
{
    return cli_out_write(o, text, strlen(text), why);
}

static rf_status write_list(cli_out *o, const float *v, size_t n, rf_error *why)
{
    char number[32];
    rf_status status = write_text(o, "[", why);
    for (size_t i = 0; i < n && !status; i++) {
        snprintf(number, sizeof number, "%s%.9g", i ? ", " : "", (double)v[i]);
        status = write_text(o, number, why);
    }
    return status ? status : write_text(o, "]", why);
}

/* [..], with --tokens [[..], ..]; for a protein {"id": "..", "vector": ..}. */
static rf_status write_json(job *j, const float *v, int64_t rows, const char *name, rf_error *why)
{
    cli_out *o = j->rows;
    rf_status status = RF_OK;
    if (name) {
        json_t *id = json_string(name);
        char *text = id ? json_dumps(id, JSON_ENCODE_ANY) : NULL;
        status = text ? write_text(o, "{\"id\": ", why) : rf_fail(why, RF_ENOMEM, "out of memory: a name");
        if (!status) status = write_text(o, text, why);
        if (!status) status = write_text(o, j->a->tokens ? ", \"vectors\": " : ", \"vector\": ", why);
        free(text);
        json_decref(id);
    }
    if (!status && j->a->tokens) status = write_text(o, "[", why);
    for (int64_t r = 0; r < rows && !status; r++) {
        if (r) status = write_text(o, ", ", why);
        if (!status) status = write_list(o, v + (size_t)r * j->C, j->C, why);
    }
    if (!status && j->a->tokens) status = write_text(o, "]", why);
    return status ? status : write_text(o, name ? "}\n" : "\n", why);
}

/* A tensor for each text, [C] or [tokens,C], with its name or the number of its line. */
static rf_status write_tensor(job *j, const float *v, int64_t rows, const char *name, uint64_t number, rf_error *why)
{
    char own[24];
    snprintf(own, sizeof own, "%llu", (unsigned long long)number);
    if (!name || !*name) name = own;
    if (json_object_get(j->header, name) || !strcmp(name, "__metadata__"))
        return rf_fail(why, RF_EDATA,
                       "'%.100s': expected a name of its own for each tensor of a .safetensors file, got "
                       "it again; rename the record, or use --format jsonl",
                       name);
    const uint64_t size = (uint64_t)rows * j->C * sizeof *v;
    json_t *shape = j->a->tokens ? json_pack("[I, I]", (json_int_t)rows, (json_int_t)j->C)
                                 : json_pack("[I]", (json_int_t)j->C);
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                              (json_int_t)j->bytes, (json_int_t)(j->bytes + size));
    if (json_object_set_new(j->header, name, entry)) return rf_fail(why, RF_ENOMEM, "out of memory: names of tensors");
    j->bytes += size;
    return cli_out_write(j->rows, v, (size_t)size, why);
}

/* The length of the header, the header, blanks up to a multiple of 8 bytes. */
static rf_status write_header(job *j, rf_error *why)
{
    char *text = json_dumps(j->header, JSON_COMPACT);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: the header of a .safetensors file");
    const uint64_t n = strlen(text), all = (n + 7) / 8 * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(all >> 8 * i);
    rf_status status = cli_out_write(&j->out, length, 8, why);
    if (!status) status = cli_out_write(&j->out, text, (size_t)n, why);
    if (!status) status = cli_out_write(&j->out, "       ", (size_t)(all - n), why);
    free(text);
    return status;
}

static rf_status open_output(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = RF_OK;
    if (!j->a->files.n) status = cli_not_input(j->a->output, "-", why);
    for (int i = 0; i < j->a->files.n && !status; i++) status = cli_not_input(j->a->output, j->a->files.item[i], why);
    if (!status) status = cli_out_open(&j->out, j->a->output, why);
    if (status) return status;
    if (j->out.fd == 1 && j->a->format != JSONL && rf__os_terminal(1))
        return rf_fail(why, RF_EARG,
                       "--output: expected a file or a pipe, got a terminal; use -o FILE, or --format jsonl");
    j->rows = &j->out;
    if (j->a->format != NPY && j->a->format != SAFETENSORS) return RF_OK;
    if (j->a->format == NPY && cli_out_seekable(&j->out)) return npy_header(&j->out, 0, j->C, false, why);
    j->rows = &j->spool;
    return cli_out_spool(&j->spool, why);
}

/* The header with the final count, then the rows that were kept. Also after an error, so that the output can be
 * read. */
static rf_status close_output(job *j, rf_error *why)
{
    rf_status status = RF_OK;
    if (j->a->format == NPY && j->rows == &j->out) status = npy_header(&j->out, j->all.done, j->C, true, why);
    if (j->a->format == NPY && j->rows == &j->spool) {
        status = npy_header(&j->out, j->all.done, j->C, false, why);
        if (!status) status = cli_out_copy(&j->out, &j->spool, why);
    }
    if (j->a->format == SAFETENSORS) {
        status = write_header(j, why);
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

static rf_status write_vectors(job *j, const cli_records *in, int64_t i, const float *v, int64_t rows)
{
    rf_error *why = &j->io->why, inner = {0};
    const char *name = in->proteins ? j->names.text[i] : NULL;
    if (j->a->format == JSONL) return write_json(j, v, rows, name, why);
    if (j->a->format != SAFETENSORS) return cli_out_write(j->rows, v, (size_t)rows * j->C * sizeof *v, why);
    const rf_status status = write_tensor(j, v, rows, name, j->first + (uint64_t)i, &inner);
    return status ? cli_records_fail(in, j->first + (uint64_t)i, &inner) : RF_OK;
}

/* Lines before one that cannot be read still get their vectors. */
static rf_status compute_window(job *j, const cli_records *in)
{
    rf_error *why = &j->io->why, inner = {0};
    const rf_texts_report *r;
    const float *v = NULL;
    const int64_t *row = NULL;
    rf_status status = RF_OK;
    const char *const *text = cli_window_texts(&j->window);
    (void)cli_window_texts(&j->names);
    if (j->a->tokens) rf_embed_tokens(j->model, text, j->window.size, j->window.n, &j->o, &v, &row, &r, &inner);
    else rf_embed_texts(j->model, text, j->window.size, j->window.n, &j->o, &v, &r, &inner);
    j->failed = inner.code && r->bad < 0;
    if (j->failed) return rf_fail(why, inner.code, "%s", inner.text);
    for (int64_t i = 0; i < r->done && !status; i++)
        status = row ? write_vectors(j, in, i, v + (size_t)row[i] * j->C, row[i + 1] - row[i])
                     : write_vectors(j, in, i, v + (size_t)i * j->C, 1);
    if (!status) status = cli_out_flush(j->rows, why);
    j->failed = status != RF_OK;
    if (status) return status;
    cli_embedding_count(&j->all, r);
    cli_window_empty(&j->window);
    cli_window_empty(&j->names);
    show_progress(j);
    return inner.code ? cli_records_fail(in, j->first + (uint64_t)r->bad, &inner) : RF_OK;
}

static rf_status embed_file(job *j, const char *path)
{
    cli_records in;
    cli_window *w = &j->window;
    rf_status status = cli_records_open(j->io, &in, path, j->a->input,
                                        rf_model_tokenizer(rf_pipeline_model(j->model)));
    while (!status) {
        const char *text, *name;
        size_t size;
        rf_status bad = cli_records_next(&in, &text, &size, &name);
        if (!w->n) j->first = in.number;
        if (!bad && text && in.proteins) bad = cli_window_add(&j->names, name, strlen(name), &j->io->why);
        if (!bad && text) bad = cli_window_add(w, text, size, &j->io->why);
        const bool full = w->n == WINDOW || w->used >= WINDOW_BYTES;
        if (w->n && (bad || !text || full || !cli_records_ready(&in))) {
            const rf_error first = j->io->why;              /* lines before a malformed one still get their vectors */
            j->io->why = (rf_error){0};
            status = compute_window(j, &in);
            if (!status) j->io->why = first;
        }
        if (!status) status = bad;
        if (!text) break;
    }
    cli_records_close(&in);
    return status;
}

/* Token vectors are those of the folder: after its modules, and of length 1. */
static rf_status prepare_late(job *j)
{
    const rf_status status = cli_embedding_resolve_tokens(j->io, j->model, &j->a->embedding, -1, &j->o);
    if (status) return status;
    if (cli_given(j->io->parsed, "normalize")) j->o.normalize = j->a->normalize;
    j->C = (size_t)(j->o.dimensions ? j->o.dimensions : rf_pipeline_width(j->model));
    return RF_OK;
}

static rf_status prepare(job *j)
{
    rf_status status = cli_sentence_pipeline_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->model);
    if (!status && j->a->tokens && rf_pipeline_late(j->model)) return prepare_late(j);
    if (!status) status = cli_embedding_resolve(j->io, j->model, &j->a->embedding, &j->o);
    if (status) return status;
    if (cli_given(j->io->parsed, "normalize")) j->o.normalize = j->a->normalize;
    else if (j->a->tokens) j->o.normalize = 0;
    if (j->a->tokens && !cli_given(j->io->parsed, "dimensions")) j->o.dimensions = 0;
    const int64_t width = j->o.dimensions ? j->o.dimensions : rf_model_config(rf_pipeline_model(j->model))->hidden_size;
    j->C = (size_t)(j->a->tokens ? width : rf_embed_width(j->model, &j->o));
    return RF_OK;
}

/* A missing file is reported before hours are spent on the files before it, and before anything is written. */
static rf_status find_files(job *j)
{
    const cli_list *files = &j->a->files;
    for (int i = 0; i < files->n; i++)
        if (strcmp(files->item[i], "-") && !rf__os_readable(files->item[i]))
            return rf_fail(&j->io->why, RF_EIO, "%.200s: cannot open: %s", files->item[i], rf__os_reason(errno));
    return RF_OK;
}

/* A table of rows does not record where a text's tokens end. */
static rf_status check_tokens(const struct args *a, cli_io *io)
{
    if (!a->tokens || a->format == JSONL || a->format == SAFETENSORS) return RF_OK;
    return rf_fail(&io->why, RF_EARG, "--tokens: expected --format safetensors or jsonl, which hold a matrix for each "
                   "text, got %s", a->format == NPY ? "npy" : "f32");
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    job *j = calloc(1, sizeof *j);
    if (!cli_by_suffix(io->parsed, "format", a->output, &a->format))
        cli_note(io, "%s: expected the extension npy, jsonl, f32 or safetensors, got another one; writing NumPy's "
                 "format (--format selects another)", a->output);
    if (!j) {
        rf_fail(&io->why, RF_ENOMEM, "out of memory");
        return cli_exit(io);
    }
    j->a = a;
    j->io = io;
    j->out.fd = j->spool.fd = -1;
    cli_signals_catch();
    j->header = json_object();
    rf_status status = check_tokens(a, io);
    if (!status) status = prepare(j);
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
    if (whole) cli_embedding_note(io, j->model, &j->o, &j->all, "lines", false);
    cli_out_discard(&j->out);
    cli_out_discard(&j->spool);
    cli_window_clear(&j->window);
    cli_window_clear(&j->names);
    json_decref(j->header);
    rf_pipeline_close(j->model);
    free(j);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"format", 'f', CLI_CHOICE, A(format), "npy|jsonl|f32|safetensors", "npy", 0, 0, NULL,
     "npy: NumPy file; jsonl: one JSON list per line; f32: raw little-endian floats; safetensors: a tensor for each "
     "text, named by the number of its line or the name of its record (default: by the extension of --output, "
     "otherwise npy)", NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, input),
    {"tokens", 0, CLI_FLAG, A(tokens), NULL, NULL, 0, 0, NULL,
     "write a vector for each token instead of one for each text (with jsonl or safetensors); not normalized and not "
     "truncated unless an option says so. Of a late-interaction model (ColBERT), as PyLate has them for a document or, "
     "with --prompt-name query, a query", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete", NULL},
    {"normalize", 0, CLI_FLAG, A(normalize), NULL, NULL, 0, 0, NULL,
     "normalize vectors to length 1 (default: as in the model folder)", NULL},
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
    "roformer embed -m esm2_t30_150M_UR50D --pooling mean --skip-special-tokens -o vectors.npy proteins.fasta",
    "roformer embed -m esm2_t30_150M_UR50D --tokens --skip-special-tokens -o residues.safetensors proteins.fasta",
    NULL,
};

const cli_command cmd_embed = {
    "embed",
    "[FILE...]",
    "compute embeddings of lines of text or proteins",
    "Reads lines from the files (also .gz and .zst) or from standard input, and writes one vector per line in the same "
    "order.  The records of a FASTA file are proteins: lowercase letters are read as uppercase, and a '*' at the end "
    "is dropped.  For proteins, a line of jsonl is {\"id\", \"vector\"}, with --tokens {\"id\", \"vectors\"}.  An "
    "empty line gives the vector of the empty text.  The vector of a text has the same bits regardless of the other "
    "lines and of the number of threads.  A sentence-transformers folder defines pooling, normalization, prompt and "
    "maximum length; options override it.\n"
    "The npy format begins with the number of rows.  On a pipe, the rows are therefore kept in a temporary file until "
    "all input is read; jsonl and f32 are written immediately.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
