/* vectors.c — lines and their vectors, in memory. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/embedding.h"
#include "cli/shell/vectors.h"

/* Vectors of all lines that are there; `first`: the number of the first. */
static rf_status embed(cli_io *io, rf_pipeline *p, const rf_embed_options *given, const char *name, uint64_t first,
                       const char *what, cli_vectors *out)
{
    rf_embed_options o = *given;
    rf_texts_report r;
    rf_error inner = {0};
    const float *v;
    o.normalize = 1;
    out->width = o.dimensions ? o.dimensions : rf_model_config(rf_pipeline_model(p))->hidden_size;
    out->n = (int64_t)out->lines.n;
    const char *const *text = cli_window_texts(&out->lines);
    if (rf_embed_texts(p, text, out->lines.size, out->n, &o, &v, &r, &inner)) {
        if (r.bad < 0) return rf_fail(&io->why, inner.code, "%s", inner.text);
        return cli_at_line(&io->why, name, first + (uint64_t)r.bad, &inner);
    }
    cli_embedding_note(io, p, &o, &r, what, false);
    const size_t width = (size_t)out->width, floats = (size_t)out->n * width;
    if (!(out->v = malloc((floats ? floats : 1) * sizeof *v)))
        return rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld vectors", (long long)out->n);
    if (floats) memcpy(out->v, v, floats * sizeof *v);
    for (int64_t i = 0; i < out->n; i++) {
        size_t c = 0;
        while (c < width && out->v[(size_t)i * width + c] == 0) c++;
        if (c < width) continue;
        rf_fail(&inner, RF_ENUMERIC, "its vector has length 0, so that it has no cosine with others");
        return cli_at_line(&io->why, name, first + (uint64_t)i, &inner);
    }
    return RF_OK;
}

rf_status cli_vectors_read(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *path, cli_vectors *out)
{
    cli_lines in;
    const char *line;
    size_t size;
    rf_status status = cli_lines_open(io->ctx, &in, path, &io->why);
    while (!status && !(status = cli_lines_next(&in, &line, &size, &io->why)) && line)
        status = cli_window_add(&out->lines, line, size, &io->why);
    if (!status) status = embed(io, p, o, in.name, 1, "lines", out);
    cli_lines_close(&in);
    return status;
}

rf_status cli_vectors_text(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *text, cli_vectors *out)
{
    rf_status status = cli_query_check(io, p, text, strlen(text), RF_EARG, &io->why);
    if (!status) status = cli_window_add(&out->lines, text, strlen(text), &io->why);
    return status ? status : embed(io, p, o, "the query", 1, "queries", out);
}

void cli_vectors_clear(cli_vectors *v)
{
    cli_window_clear(&v->lines);
    free(v->v);
    *v = (cli_vectors){0};
}

double cli_vectors_cosine(const cli_vectors *a, int64_t i, const cli_vectors *b, int64_t j)
{
    const float *x = a->v + i * a->width, *y = b->v + j * b->width;
    double sum = 0;
    for (int64_t c = 0; c < a->width; c++) sum += (double)x[c] * (double)y[c];
    return sum;
}
