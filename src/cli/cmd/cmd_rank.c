/* cmd_rank.c — roformer rank: sorts lines by their similarity to a query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shared/embedding.h"
#include "cli/options/finetune_options.h"
#include "cli/shared/vectors.h"

struct args {
    const char *model, *query_prompt, *query_prompt_name;
    cli_embedding embedding;
    int json, dtype, cross, input_format;
    int64_t top_k;
    cli_list operands;
};

typedef struct hit { double score; int64_t line; } hit;

/* The best first; of equal ones, the earlier line. */
static int by_score(const void *a, const void *b)
{
    const hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->line > y->line) - (x->line < y->line);
}

static rf_status print(const struct args *a, const hit *h, const char *text, size_t size, rf_error *why)
{
    if (a->json)
        return cli_print_json(json_pack("{s:f, s:I, s:o}", "score", h->score, "line", (json_int_t)h->line + 1, "text",
                                        cli_text_json(text, size)),
                              0, why);
    printf("%.4f\t%lld\t", h->score, (long long)h->line + 1);
    cli_put_text(text, size);
    putchar('\n');
    return cli_flush(why);
}

/* score: of each line. names: of proteins, which are printed instead; empty: none. */
static rf_status rank(const struct args *a, cli_io *io, cli_window *lines, cli_window *names, int64_t count,
                      const double *score)
{
    rf_status status = RF_OK;
    hit *all = calloc(count ? (size_t)count : 1, sizeof *all);
    if (!all) return rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld lines", (long long)count);
    const char *const *text = cli_window_texts(lines);
    cli_window *shown = names->n ? names : lines;
    const char *const *title = cli_window_texts(shown);
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (!rf_utf8_blank(text[i], lines->size[i])) all[n++] = (hit){score[i], i};
    qsort(all, (size_t)n, sizeof *all, by_score);
    for (int64_t i = 0; i < n && (!a->top_k || i < a->top_k) && !status; i++)
        status = print(a, &all[i], title[all[i].line], shown->size[all[i].line], &io->why);
    free(all);
    return status;
}

/* ---- a vector for each text ---- */

static rf_status rank_vectors(const struct args *a, cli_io *io, const cli_vectors *query, cli_vectors *lines)
{
    double *score = malloc((size_t)(lines->n ? lines->n : 1) * sizeof *score);
    if (!score) return rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld lines", (long long)lines->n);
    const char *const *text = cli_window_texts(&lines->lines);
    for (int64_t i = 0; i < lines->n; i++)
        score[i] = rf_utf8_blank(text[i], lines->lines.size[i]) ? 0 : cli_vectors_cosine(query, 0, lines, i);
    const rf_status status = rank(a, io, &lines->lines, &lines->names, lines->n, score);
    free(score);
    return status;
}

static rf_status work(const struct args *a, cli_io *io, rf_pipeline *p, cli_vectors *query, cli_vectors *lines)
{
    rf_embed_options o, asked;
    const char *path = a->operands.n > 1 ? a->operands.item[1] : "-";
    rf_status status = cli_embedding_resolve(io, p, &a->embedding, &o);
    asked = o;
    if (!status) status = cli_query_prompt(io, p, a->query_prompt, a->query_prompt_name, &asked);
    if (!status) status = cli_vectors_text(io, p, &asked, a->operands.item[0], query);
    if (!status) status = cli_vectors_read(io, p, &o, path, a->input_format, lines);
    return status || cli_stopped() ? status : rank_vectors(a, io, query, lines);
}

/* ---- a vector for each token ---- */

/* The vectors of the query, which the next call of the pipeline would overwrite. */
static rf_status query_tokens(const struct args *a, cli_io *io, rf_pipeline *p, float **out, int64_t *n)
{
    const char *text = a->operands.item[0];
    cli_embedding asked = a->embedding;
    rf_embed_options o;
    const float *v;
    const int64_t *row;
    asked.max_length = -1;
    if (a->query_prompt || a->query_prompt_name) {
        asked.prompt = a->query_prompt;
        asked.prompt_name = a->query_prompt_name;
    }
    rf_status status = cli_embedding_resolve_tokens(io, p, &asked, RF_ROLE_QUERY, &o);
    if (!status) status = rf_embed_tokens(p, &text, NULL, 1, &o, &v, &row, NULL, &io->why);
    if (status) return status;
    const int64_t C = o.dimensions ? o.dimensions : rf_pipeline_width(p);
    const size_t size = (size_t)(row[1] * C) * sizeof *v;
    *n = row[1];
    *out = malloc(size ? size : 1);
    if (!*out) return rf_fail(&io->why, RF_ENOMEM, "out of memory: the vectors of a query");
    memcpy(*out, v, size);
    return RF_OK;
}

/* Lines at a time, so that memory does not depend on the number of lines. */
static rf_status late_scores(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const float *query, int64_t queries,
                             cli_window *lines, double *score)
{
    enum { LINES = 1024 };
    const int64_t C = o->dimensions ? o->dimensions : rf_pipeline_width(p);
    const char *const *text = cli_window_texts(lines);
    rf_texts_report all = {0};
    rf_status status = RF_OK;
    for (int64_t i = 0; i < lines->n && !status && !cli_stopped(); i += LINES) {
        const int64_t n = lines->n - i < LINES ? lines->n - i : LINES;
        const rf_texts_report *r;
        const float *v;
        const int64_t *row;
        rf_error inner = {0};
        status = rf_embed_tokens(p, text + i, lines->size + i, n, o, &v, &row, &r, &inner);
        if (status && r->bad >= 0)
            rf_fail(&io->why, status, "line %lld: %.300s", (long long)(i + r->bad) + 1, inner.text);
        else if (status) io->why = inner;
        for (int64_t k = 0; k < n && !status; k++)
            status = rf_max_sim(io->ctx, query, queries, v + row[k] * C, row[k + 1] - row[k], C, &score[i + k],
                                &io->why);
        if (!status) cli_embedding_count(&all, r);
    }
    if (!status) cli_embedding_note(io, p, o, &all, "lines", false);
    return status;
}

static rf_status rank_late(const struct args *a, cli_io *io, rf_pipeline *p, cli_window *lines, cli_window *names)
{
    const char *path = a->operands.n > 1 ? a->operands.item[1] : "-";
    rf_embed_options o;
    float *query = NULL;
    int64_t queries = 0;
    if (cli_given(io->parsed, "pooling"))
        return rf_fail(&io->why, RF_EARG, "--pooling: expected none with a late-interaction model, whose tokens are "
                       "compared, got one; leave it out");
    rf_status status = cli_embedding_resolve_tokens(io, p, &a->embedding, RF_ROLE_DOCUMENT, &o);
    if (!status) status = query_tokens(a, io, p, &query, &queries);
    if (!status)
        status = cli_records_read(io, path, a->input_format, rf_model_tokenizer(rf_pipeline_model(p)), lines, names);
    double *score = status ? NULL : calloc((size_t)(lines->n ? lines->n : 1), sizeof *score);
    if (!status && !score) status = rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld lines", (long long)lines->n);
    if (!status) status = late_scores(io, p, &o, query, queries, lines, score);
    if (!status && !cli_stopped()) status = rank(a, io, lines, names, lines->n, score);
    free(query);
    free(score);
    return status;
}

/* ---- both texts at once ---- */

static rf_status refuse_vectors(const cli_parsed *p, rf_error *why)
{
    static const char *const other[] = {
        "pooling", "dimensions", "layer-norm", "skip-special-tokens", "prompt", "prompt-name", "query-prompt",
        "query-prompt-name", "batch-tokens"};
    for (size_t i = 0; i < CLI_COUNT(other); i++)
        if (cli_given(p, other[i]))
            return rf_fail(why, RF_EARG,
                           "--cross, --%s: expected one of them, got both; --cross computes no vectors", other[i]);
    return RF_OK;
}

static rf_status score_lines(const struct args *a, cli_io *io, rf_pipeline *p, cli_window *lines, cli_window *names)
{
    const char *query = a->operands.item[0], *path = a->operands.n > 1 ? a->operands.item[1] : "-";
    rf_answerer *m = rf_pipeline_answerer(p);
    if (!m)
        return rf_fail(&io->why, RF_EUNSUPPORTED, "--cross: expected a model that reads both texts at once (a reranker "
                       "with one output), got one without such a head; leave --cross out to compare vectors%s",
                       rf_model_config(rf_pipeline_model(p))->is_decoder
                           ? ", or make a reranker of a Qwen3-Reranker without modules.json: roformer convert "
                             "--reranker qwen3"
                           : "");
    if (rf_utf8_blank(query, strlen(query)))
        return rf_fail(&io->why, RF_EARG, "QUERY: expected a text, got an empty one");
    rf_status status = cli_records_read(io, path, a->input_format, rf_model_tokenizer(rf_pipeline_model(p)), lines,
                                        names);
    const int64_t n = lines->n;
    double *score = status ? NULL : malloc((size_t)(n ? n : 1) * sizeof *score);
    if (!status && !score) status = rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld lines", (long long)n);
    if (!status)
        status = rf_answerer_cross(m, query, strlen(query), cli_window_texts(lines), lines->size, n,
                                   a->embedding.max_length, score, &io->why);
    if (!status) status = rank(a, io, lines, names, n, score);
    if (!status) cli_report_reading(io, rf_answerer_reading(m));
    free(score);
    return status;
}

static int run_cross(const struct args *a, cli_io *io)
{
    rf_pipeline *p = NULL;
    cli_window lines = {0}, names = {0};
    rf_status status = refuse_vectors(io->parsed, &io->why);
    cli_signals_catch();
    if (!status) status = cli_pipeline_open(io, a->model, cli_dtype(a->dtype), &p);
    if (!status) score_lines(a, io, p, &lines, &names);
    cli_window_clear(&lines);
    cli_window_clear(&names);
    rf_pipeline_close(p);
    return cli_exit(io);
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    if (a->cross) return run_cross(a, io);
    rf_pipeline *p = NULL;
    cli_vectors query = {0}, lines = {0};
    cli_window texts = {0}, names = {0};
    cli_signals_catch();
    const rf_status status = cli_sentence_pipeline_open(io, a->model, cli_dtype(a->dtype), &p);
    if (!status && rf_pipeline_late(p)) rank_late(a, io, p, &texts, &names);
    else if (!status) work(a, io, p, &query, &lines);
    cli_window_clear(&texts);
    cli_window_clear(&names);
    cli_vectors_clear(&query);
    cli_vectors_clear(&lines);
    rf_pipeline_close(p);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_SENTENCE_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"top-k", 'k', CLI_INT, A(top_k), "N", "10", 0, 1 << 30, NULL, "number of lines to print; 0: all", NULL},
    {"cross", 0, CLI_FLAG, A(cross), NULL, NULL, 0, 0, NULL,
     "score each pair of the query and a line by a model that reads both (a reranker), as CrossEncoder of "
     "sentence-transformers does", NULL},
    CLI_QUERY_PROMPT_OPTIONS(struct args, query_prompt, query_prompt_name),
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per result", NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, input_format),
    CLI_EMBEDDING_OPTIONS(struct args, embedding),
    {"QUERY [FILE]", 0, CLI_OPERANDS, A(operands), NULL, NULL, 1, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nThe hound is loud.\\nPrices fell.\\n' > lines.txt",
    "roformer rank \"a noisy animal\" lines.txt",
    "roformer rank -m my-model --top-k 2 --json \"a noisy animal\" < lines.txt",
    "roformer rank -m my-reranker --cross \"a noisy animal\" lines.txt",
    NULL,
};

const cli_command cmd_rank = {
    "rank",
    "QUERY [FILE]",
    "rank lines of text by similarity to a query",
    "Embeds the query and every line of the file (default: standard input) as roformer embed does, and prints the "
    "most similar lines first: cosine, line number and line, separated by tabs.  Empty lines are skipped.  With "
    "--json: {\"score\", \"line\", \"text\"}.  With --cross, the model reads the query and a line together, and the "
    "score is its output after the folder's activation_fn (default: the sigmoid).  With a late-interaction model "
    "(ColBERT: a folder of PyLate, or of Stanford's HF_ColBERT), the score is MaxSim: the sum, over the tokens of the "
    "query, of the largest dot product with a token of the line.  For a FASTA file, the numbers and "
    "names of the records are printed.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
