/* cmd_embed.c — roformer embed: reads lines of text, documents or proteins and writes one vector for each, or for each
 * of its tokens, in the same order; or, with --shard or --resume, parts of them into a folder (embed/shard.h).
 *
 * A .npy file begins with the number of rows, which is known only at the end. In a file, the header is written again at
 * the end; on a pipe, the rows are kept in a nameless temporary file ($TMPDIR) until the count is known. jsonl, f32,
 * fvecs and pgvector have no header and are written window by window. The header of a .safetensors file contains the
 * shape of each tensor, so its rows are always kept until the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/embed/embedder.h"
#include "cli/embed/shard.h"
#include "cli/io/io.h"
#include "cli/shell/commands.h"

struct args {
    const char *model, *output;
    int format, precision, metric, dtype, normalize, tokens, ids, resume;
    const char *shard;
    int64_t part_rows;
    cli_documents documents;
    cli_embedding embedding;
    cli_list files;
};

/* A missing file is reported before hours are spent on the files before it, and before anything is written. */
static rf_status find_files(cli_io *io, const cli_list *files)
{
    for (int i = 0; i < files->n; i++)
        if (strcmp(files->item[i], "-") && !rf__os_readable(files->item[i]))
            return rf_fail(&io->why, RF_EIO, "%.200s: cannot open: %s", files->item[i], rf__os_reason(errno));
    return RF_OK;
}

static cli_writer_options writer_options(const struct args *a, const cli_embedder *e)
{
    return (cli_writer_options){
        .ctx = e->io->ctx, .path = a->output, .format = a->format,
        .precision = cli_given(e->io->parsed, "precision") ? a->precision : -1, .metric = a->metric,
        .width = cli_embedder_width(e), .matrices = a->tokens, .ids = a->ids || a->documents.id_field};
}

static rf_status open_output(const struct args *a, cli_embedder *e)
{
    const cli_writer_options o = writer_options(a, e);
    rf_error *why = &e->io->why;
    rf_status status = a->files.n ? RF_OK : cli_not_input(a->output, "-", why);
    for (int i = 0; i < a->files.n && !status; i++) status = cli_not_input(a->output, a->files.item[i], why);
    return status ? status : cli_writer_open(&e->writer, &o, why);
}

/* One file, or standard output. After an error, what has been written to a pipe gets its header, too. */
static void embed_file(const struct args *a, cli_embedder *e)
{
    cli_io *io = e->io;
    rf_status status = find_files(io, &a->files);
    if (!status) status = open_output(a, e);
    const bool opened = !status;
    for (int i = 0; i < (a->files.n ? a->files.n : 1) && !status && !cli_stopped(); i++)
        status = cli_embedder_file(e, i, 0, UINT64_MAX);
    cli_progress_clear(&e->bar);
    const bool whole = !status && !cli_stopped();
    if (whole) status = cli_embedder_ids(e);
    if (whole && status) return;
    if (opened && (whole || (!e->writer.out.temporary && !e->failed && (!status || e->all.done)))) {
        rf_error last = {0};
        if (cli_writer_finish(&e->writer, &last)) rf_fail(&io->why, last.code, "%s", last.text);
    }
    if (whole) cli_embedder_note(e);
}

/* Options that only a file, or only parts have. */
static rf_status check_options(const struct args *a, cli_io *io)
{
    static const char *const of_files[] = {"format", "precision", "metric", "tokens"};
    const bool parts = a->shard || a->resume;
    rf_status status = cli_needs(io->parsed, "part-rows", parts, "--shard or --resume", &io->why);
    for (size_t i = 0; i < CLI_COUNT(of_files) && parts && !status; i++)
        if (cli_given(io->parsed, of_files[i]))
            status = rf_fail(&io->why, RF_EARG, "--%s: expected none with --shard and --resume, whose parts hold "
                             "vectors as f32, got one; roformer merge writes other formats", of_files[i]);
    return status ? status : cli_writer_check_metric(io->parsed, a->format, &io->why);
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    cli_embedder *e = calloc(1, sizeof *e);
    const bool parts = a->shard || a->resume;
    if (!parts && !cli_by_suffix(io->parsed, "format", a->output, &a->format))
        cli_note(io, "%s: expected the extension npy, jsonl, f32 or safetensors, fvecs, fbin, u8bin, i8bin, faiss or "
                 "pgvector, got another one; writing NumPy's format (--format selects another)", a->output);
    if (!e) {
        rf_fail(&io->why, RF_ENOMEM, "out of memory");
        return cli_exit(io);
    }
    e->files = &a->files;
    e->documents = a->documents;
    cli_signals_catch();
    rf_status status = check_options(a, io);
    const rf_type type = cli_dtype(a->dtype);
    if (!status) status = cli_embedder_open(e, io, a->model, type, &a->embedding, a->normalize, a->tokens);
    if (!status) status = cli_embedder_check_ids(e, a->ids);
    cli_progress_init(&e->bar, io, 30);
    const cli_shard_options o = {.folder = a->output, .shard = a->shard, .resume = a->resume, .rows = a->part_rows,
                                 .dtype = a->dtype, .ids = a->ids || a->documents.id_field};
    if (!status && parts) cli_embed_shard(e, &o);
    else if (!status) embed_file(a, e);
    cli_progress_clear(&e->bar);
    cli_embedder_close(e);
    free(e);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    CLI_VECTOR_FILE_OPTIONS(struct args),
    CLI_DOCUMENTS_OPTIONS(struct args, documents),
    {"ids", 0, CLI_FLAG, A(ids), NULL, NULL, 0, 0, NULL,
     "write the names of proteins as ids, which must be different: to FILE.ids, one on each line, or next to the "
     "vectors if the format holds them; --id-field does this for documents", NULL},
    {"tokens", 0, CLI_FLAG, A(tokens), NULL, NULL, 0, 0, NULL,
     "write a vector for each token instead of one for each text (with jsonl or safetensors); not normalized and not "
     "truncated unless an option says so. Of a late-interaction model (ColBERT), as PyLate has them for a document or, "
     "with --prompt-name query, a query", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete; with --shard or --resume, a folder "
     "of parts", NULL},
    {"shard", 0, CLI_TEXT, A(shard), "R/N", NULL, 0, 0, NULL,
     "compute shard R of N, from 1/N to N/N, into parts in the folder --output, which roformer merge joins", NULL},
    {"resume", 0, CLI_FLAG, A(resume), NULL, NULL, 0, 0, NULL,
     "continue after the parts of this shard that are complete (without --shard: of 1/1); with none, begin", NULL},
    {"part-rows", 0, CLI_INT, A(part_rows), "N", "65536", 1, 1 << 24, NULL,
     "vectors in a part, the most that a killed run computes again", NULL},
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
    "printf '{\"url\": \"a\", \"text\": \"A dog barks.\"}\\n{\"url\": \"b\", \"text\": \"It rains.\"}\\n' > docs.jsonl",
    "roformer embed --id-field url --precision ubinary -o bits.npy docs.jsonl",
    "roformer embed --id-field url -o parts --shard 1/2 --resume docs.jsonl",
    "roformer embed --format jsonl < lines.txt | head -1",
    "roformer embed -m esm2_t30_150M_UR50D --pooling mean --skip-special-tokens -o vectors.npy proteins.fasta",
    "roformer embed -m esm2_t30_150M_UR50D --tokens --skip-special-tokens -o residues.safetensors proteins.fasta",
    NULL,
};

const cli_command cmd_embed = {
    "embed",
    "[FILE...]",
    "compute embeddings of lines of text, documents or proteins",
    "Reads lines from the files (also .gz and .zst) or from standard input, and writes one vector per line in the "
    "same order.  Documents are lines of JSON or rows of a table: --text-field names the member or column of their "
    "text, and --id-field that of their id.  A document without a text or an id, and an id that occurs twice, are "
    "errors with the file and the line.  The records of a FASTA file are proteins: lowercase letters are read as "
    "uppercase, and a '*' at the end is dropped.  For documents with ids and for proteins, a line of jsonl is "
    "{\"id\", \"vector\"}, with --tokens {\"id\", \"vectors\"}.  An empty line gives the vector of the empty text; a "
    "vector that is zero is reported.  The vector of a text has the same bits regardless of the other lines and of "
    "the number of threads.  A sentence-transformers folder defines pooling, normalization, prompt and maximum "
    "length; options override it.\n"
    "The npy format begins with the number of rows.  On a pipe, the rows are therefore kept in a temporary file until "
    "all input is read; jsonl and f32 are written immediately.\n"
    "--shard R/N computes one of N shards of the files into parts in the folder --output: a process each, on one "
    "machine or on many that share the folder.  A part appears when it is complete; after a kill, --resume continues "
    "after the last one.  All shards must have the same model, options and files, which the parts record.  roformer "
    "merge checks that every row is there once and joins the parts.  Lines, jsonl and tsv are cut into shards at line "
    "ends; a csv, FASTA or compressed file belongs to one shard, so give several of them.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
