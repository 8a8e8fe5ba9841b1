/* cmd_similarity.c — roformer similarity: cosine similarity of lines. */
#include <stdio.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shared/embedding.h"
#include "cli/shared/vectors.h"

struct args {
    const char *model;
    cli_embedding embedding;
    int pairs, json, dtype, input_format;
    cli_list files;
};

/* Prints line i of a against all of b; with --pairs against line i. */
static rf_status print_row(const struct args *a, const cli_vectors *x, const cli_vectors *y, int64_t i, rf_error *why)
{
    if (a->pairs && a->json) return cli_print_json(json_real(cli_vectors_cosine(x, i, y, i)), JSON_ENCODE_ANY, why);
    json_t *row = a->json ? json_array() : NULL;
    for (int64_t j = a->pairs ? i : 0; j < (a->pairs ? i + 1 : y->n); j++) {
        const double cosine = cli_vectors_cosine(x, i, y, j);
        if (row) cli_json_add(&row, json_real(cosine));
        else printf("%s%.4f", a->pairs || !j ? "" : " ", cosine);
    }
    if (a->json) return cli_print_json(row, 0, why);
    putchar('\n');
    return cli_flush(why);
}

static rf_status compare(const struct args *a, cli_io *io, rf_pipeline *p, cli_vectors *x, cli_vectors *y)
{
    rf_embed_options o;
    const int files = a->files.n;
    if (a->pairs && files != 2)
        return rf_fail(&io->why, RF_EARG, "--pairs: expected two files, got %d", files);
    if (files == 2 && !strcmp(a->files.item[0], "-") && !strcmp(a->files.item[1], "-"))
        return rf_fail(&io->why, RF_EARG, "similarity - -: expected standard input once, got it twice: put one of the "
                       "two into a file");
    rf_status status = cli_embedding_resolve(io, p, &a->embedding, &o);
    if (!status) status = cli_vectors_read(io, p, &o, files ? a->files.item[0] : "-", a->input_format, x);
    if (!status && files > 1) status = cli_vectors_read(io, p, &o, a->files.item[1], a->input_format, y);
    if (!status && !cli_stopped() && a->pairs && x->n != y->n)
        status = rf_fail(&io->why, RF_EDATA,
                         "--pairs: expected files of the same number of lines, got %.100s with %lld and %.100s with "
                         "%lld", a->files.item[0], (long long)x->n, a->files.item[1], (long long)y->n);
    const cli_vectors *other = files > 1 ? y : x;
    for (int64_t i = 0; i < x->n && !status && !cli_stopped(); i++) status = print_row(a, x, other, i, &io->why);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    rf_pipeline *p = NULL;
    cli_vectors x = {0}, y = {0};
    cli_signals_catch();
    if (!cli_sentence_pipeline_open(io, a->model, cli_dtype(a->dtype), &p)) compare(a, io, p, &x, &y);
    cli_vectors_clear(&x);
    cli_vectors_clear(&y);
    rf_pipeline_close(p);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"pairs", 0, CLI_FLAG, A(pairs), NULL, NULL, 0, 0, NULL,
     "compare line i of the first file with line i of the second only; one number per pair", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one JSON list per line; with --pairs, one number",
     NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, input_format),
    CLI_EMBEDDING_OPTIONS(struct args, embedding),
    {"FILE", 0, CLI_OPERANDS, A(files), NULL, NULL, 0, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nThe hound is loud.\\nPrices fell.\\n' > lines.txt",
    "roformer similarity < lines.txt",
    "roformer similarity -m my-model --pairs lines.txt lines.txt",
    NULL,
};

const cli_command cmd_similarity = {
    "similarity",
    "[FILE [FILE]]",
    "cosine similarity of lines of text",
    "Prints one row of numbers per line of the first file (default: standard input): the cosine similarity of this "
    "line to all lines of the second file or, without a second file, of the first.  Vectors are computed as by "
    "roformer embed.  A line whose vector is zero has no cosine; the command fails and names the line.  The proteins "
    "of FASTA files are compared like lines.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
