/* cmd_rank.c — roformer rank: lines in the order of their similarity to a query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shell/embedding.h"
#include "cli/shell/vectors.h"

struct args {
    const char *model, *query_prompt, *query_prompt_name;
    cli_embedding embedding;
    int json, dtype;
    int64_t top_k;
    cli_list operands;
};

typedef struct hit { double cosine; int64_t line; } hit;

/* The nearest first, of equal ones the earlier line. */
static int by_cosine(const void *a, const void *b)
{
    const hit *x = a, *y = b;
    if (x->cosine != y->cosine) return x->cosine < y->cosine ? 1 : -1;
    return (x->line > y->line) - (x->line < y->line);
}

static rf_status print(const struct args *a, const hit *h, const char *text, size_t size, rf_error *why)
{
    if (a->json)
        return cli_print_json(json_pack("{s:f, s:I, s:o}", "score", h->cosine, "line", (json_int_t)h->line + 1, "text",
                                        cli_text_json(text, size)),
                              0, why);
    printf("%.4f\t%lld\t", h->cosine, (long long)h->line + 1);
    cli_put_text(text, size);
    putchar('\n');
    return cli_flush(why);
}

static rf_status rank(const struct args *a, cli_io *io, const cli_vectors *query, cli_vectors *lines)
{
    rf_status status = RF_OK;
    hit *all = calloc(lines->n ? (size_t)lines->n : 1, sizeof *all);
    if (!all) return rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld lines", (long long)lines->n);
    const char *const *text = cli_window_texts(&lines->lines);
    int64_t n = 0;
    for (int64_t i = 0; i < lines->n; i++)
        if (!rf_utf8_blank(text[i], lines->lines.size[i])) all[n++] = (hit){cli_vectors_cosine(query, 0, lines, i), i};
    qsort(all, (size_t)n, sizeof *all, by_cosine);
    for (int64_t i = 0; i < n && (!a->top_k || i < a->top_k) && !status; i++)
        status = print(a, &all[i], text[all[i].line], lines->lines.size[all[i].line], &io->why);
    free(all);
    return status;
}

static rf_status work(const struct args *a, cli_io *io, rf_pipeline *p, cli_vectors *query, cli_vectors *lines)
{
    rf_embed_options o, asked;
    const char *path = a->operands.n > 1 ? a->operands.item[1] : "-";
    rf_status status = cli_embedding_settle(io, p, &a->embedding, &o);
    asked = o;
    if (!status) status = cli_query_prompt(io, p, a->query_prompt, a->query_prompt_name, &asked);
    if (!status) status = cli_vectors_text(io, p, &asked, a->operands.item[0], query);
    if (!status) status = cli_vectors_read(io, p, &o, path, lines);
    return status || cli_stopped() ? status : rank(a, io, query, lines);
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    rf_pipeline *p = NULL;
    cli_vectors query = {0}, lines = {0};
    cli_signals_catch();
    if (!cli_sentence_pipeline_open(io, a->model, cli_dtype(a->dtype), &p)) work(a, io, p, &query, &lines);
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
    CLI_QUERY_PROMPT_OPTIONS(struct args, query_prompt, query_prompt_name),
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per result", NULL},
    CLI_EMBEDDING_OPTIONS(struct args, embedding),
    {"QUERY [FILE]", 0, CLI_OPERANDS, A(operands), NULL, NULL, 1, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "printf 'A dog barks.\\nThe hound is loud.\\nPrices fell.\\n' > lines.txt",
    "roformer rank \"a noisy animal\" lines.txt",
    "roformer rank -m my-model --top-k 2 --json \"a noisy animal\" < lines.txt",
    NULL,
};

const cli_command cmd_rank = {
    "rank",
    "QUERY [FILE]",
    "rank lines of text by similarity to a query",
    "Embeds the query and every line of the file (default: standard input) as roformer embed does, and prints the "
    "most similar lines first: cosine, line number and line, separated by tabs.  Empty lines are skipped.  With "
    "--json: {\"score\", \"line\", \"text\"}.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
