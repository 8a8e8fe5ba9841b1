/* cmd_search.c — roformer search: finds the lines of an index that are most similar to a query. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/shared/embedding.h"
#include "cli/io/io.h"
#include "cli/shared/records.h"
#include "roformer/index.h"

struct args {
    const char *model, *query_prompt, *query_prompt_name;
    int json, dtype, input_format;
    int64_t top_k;
    cli_list operands;
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    rf_pipeline *model;
    rf_index *index;
    rf_embed_options o;
    rf_texts_report all;
    int64_t blank;
    bool many;                          /* queries are lines: their numbers are printed                               */
} job;

/* The query's vector is computed in the same way as those of the lines. */
static rf_status open_both(job *j)
{
    rf_error *why = &j->io->why;
    uint64_t fingerprint;
    char folder[4096];
    rf_status status = cli_new_path(j->a->operands.item[0], folder, sizeof folder, why);
    if (!status) status = rf_index_open(j->io->ctx, folder, &j->index, why);
    if (status) return status;
    const rf_index_options *made = rf_index_made_with(j->index);
    const rf_type type = cli_given(j->io->parsed, "dtype") ? cli_dtype(j->a->dtype) : made->type;
    const char *given = j->a->model;
    if (!given && made->model_path && rf__os_readable(made->model_path)) given = made->model_path;
    status = cli_sentence_pipeline_open(j->io, given, type, &j->model);
    if (!status) status = rf_pipeline_fingerprint(j->model, &fingerprint, why);
    if (status) return status;
    const int64_t C = rf_pipeline_width(j->model);
    char name[256] = "";
    if (made->fingerprint != fingerprint) {
        const char *own = cli_sentence_name(given, name, sizeof name);
        return rf_fail(why, RF_EDATA,
                       "%s: model: expected the one that built the index, %.60s (%016" PRIx64 ") of %lld dimensions, "
                       "got %.60s (%016" PRIx64 ") of %lld; give that model with -m, or build the index again",
                       folder, made->model_name ? made->model_name : "one without a name", made->fingerprint,
                       (long long)made->dimensions, own ? own : "another", fingerprint, (long long)C);
    }
    rf_embed_options o;
    const rf_sentence *s;
    status = rf_pipeline_sentence(j->model, &s, why);
    if (!status && s) status = rf_sentence_cosines(s, why);
    if (status) return status;
    rf_index_query_options(j->index, j->model, &o);
    status = cli_query_prompt(j->io, j->model, j->a->query_prompt, j->a->query_prompt_name, &o);
    return status ? status : rf_embed_resolve(j->model, &o, &j->o, why);
}

static rf_status print(const job *j, uint64_t query, const rf_hit *h)
{
    size_t size;
    const char *text = rf_index_text(j->index, h->row, &size);
    const long long line = (long long)h->row + 1;
    if (j->a->json) {
        json_t *hit = json_pack("{s:f, s:I, s:o}", "score", h->score, "line", (json_int_t)line, "text",
                                cli_text_json(text, size));
        if (j->many) cli_json_set(&hit, "query", json_integer((json_int_t)query));
        return cli_print_json(hit, 0, &j->io->why);
    }
    if (j->many) printf("%" PRIu64 "\t", query);
    printf("%.4f\t%lld\t", h->score, line);
    cli_put_text(text, size);
    putchar('\n');
    return RF_OK;
}

static rf_status search(job *j, const char *text, size_t size, uint64_t number, rf_error *inner)
{
    const float *vector;
    const rf_hit *hit;
    const int64_t top = j->a->top_k ? j->a->top_k : rf_index_count(j->index);
    int64_t hits = 0;
    const rf_texts_report *r;
    size_t tokens;
    rf_status status = cli_query_tokens(j->io, j->model, text, size, &tokens, inner);
    if (!status && !tokens && j->many) return j->blank++, RF_OK;
    if (!status && !tokens) status = cli_query_empty(inner);
    if (!status) status = rf_embed_texts(j->model, &text, &size, 1, &j->o, &vector, &r, inner);
    if (!status) cli_embedding_count(&j->all, r);
    if (!status) status = rf_index_search(j->index, vector, top, &hit, &hits, inner);
    for (int64_t i = 0; i < hits && !status; i++) {
        status = print(j, number, &hit[i]);
        if (status) *inner = j->io->why;
    }
    return status ? status : cli_flush(inner);
}

static void note_all(job *j)
{
    if (j->blank)
        cli_note(j->io, "%lld of %lld queries are empty and have no results", (long long)j->blank,
                 (long long)(j->all.done + j->blank));
    cli_embedding_note(j->io, j->model, &j->o, &j->all, "queries", true);
}

/* Queries that are proteins, from standard input. */
static rf_status search_records(job *j)
{
    cli_records in;
    const char *text, *name;
    size_t size;
    rf_error inner = {0};
    rf_status status = cli_records_open(j->io, &in, "-", CLI_INPUT_FASTA,
                                        rf_model_tokenizer(rf_pipeline_model(j->model)));
    j->many = true;
    while (!status && !(status = cli_records_next(&in, &text, &size, &name)) && text)
        if (search(j, text, size, in.number, &inner)) status = cli_records_fail(&in, in.number, &inner);
    cli_records_close(&in);
    if (!status) note_all(j);
    return status;
}

static rf_status search_all(job *j)
{
    if (j->a->input_format == CLI_INPUT_FASTA && j->a->operands.n == 1) return search_records(j);
    if (j->a->input_format == CLI_INPUT_FASTA)
        return rf_fail(&j->io->why, RF_EARG, "--input-format fasta: expected queries on standard input, got QUERY");
    cli_list query = {.item = j->a->operands.item + 1, .n = j->a->operands.n - 1};
    cli_texts in;
    const char *text;
    size_t size;
    rf_error inner = {0};
    rf_status status = cli_texts_open(j->io->ctx, &in, &query, &j->io->why);
    j->many = in.from_lines;
    while (!status && !(status = cli_texts_next(&in, &text, &size, &j->io->why)) && text) {
        const uint64_t number = cli_texts_number(&in);
        if (search(j, text, size, number, &inner)) status = cli_texts_fail(&in, number, &j->io->why, &inner);
    }
    cli_texts_close(&in);
    if (!status) note_all(j);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    cli_signals_catch();
    if (!open_both(&j)) search_all(&j);
    rf_index_close(j.index);
    rf_pipeline_close(j.model);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    {"dtype", 0, CLI_CHOICE, A(dtype), CLI_DTYPES, "f32", 0, 0, NULL,
     "data type of weight matrices and their products (default: that of the index)", "torch_dtype"},
    {"top-k", 'k', CLI_INT, A(top_k), "N", "10", 0, 1 << 30, NULL, "number of results per query; 0: all", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one JSON object per result", NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, input_format),
    CLI_QUERY_PROMPT_OPTIONS(struct args, query_prompt, query_prompt_name),
    {"INDEX [QUERY]", 0, CLI_OPERANDS, A(operands), NULL, NULL, 1, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nPrices fell.\\n' > lines.txt",
    "roformer index -o texts.index lines.txt",
    "roformer search texts.index 'a barking dog'",
    "roformer search --json --top-k 1 texts.index < lines.txt",
    NULL,
};

const cli_command cmd_search = {
    "search",
    "INDEX [QUERY]",
    "search an index for the lines most similar to a query",
    "Prints score, number and text of the lines whose vectors are most similar to that of the query.  The best line "
    "comes first.  If scores are equal, the earlier line comes first.  The output is the same as that of roformer rank "
    "for the same lines.  Scores are cosines of the float vectors, not of their int8 codes.\n"
    "Without QUERY, each line of standard input is a query, and its line number is printed before each of its "
    "results; empty queries have no results.  With --input-format fasta, each record is a query.  The model must be "
    "the one that built the index.  The index defines pooling, prompt and maximum length.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
