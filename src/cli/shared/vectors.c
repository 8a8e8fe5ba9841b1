/* vectors.c — lines and their vectors, in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/embedding.h"
#include "cli/shared/vectors.h"

enum { WINDOW = 1024 };                 /* lines between checks of the signals */

static rf_status has_length(const float *v, int64_t width, rf_error *why)
{
    for (int64_t c = 0; c < width; c++)
        if (v[c] != 0) return RF_OK;
    return rf_fail(why, RF_ENUMERIC, "its vector is zero; cosine similarity is undefined");
}

/* The vectors of all lines read so far or, after a signal, of some; `first`: the number of the first. */
static rf_status embed(cli_io *io, rf_pipeline *p, const rf_embed_options *given, const char *name, uint64_t first,
                       const char *what, cli_vectors *out)
{
    rf_embed_options o = *given;
    rf_texts_report all = {0};
    const rf_texts_report *r;
    rf_error inner = {0};
    cli_progress bar;
    const float *v;
    const rf_sentence *s;
    char counted[64];
    if (rf_pipeline_sentence(p, &s, &io->why) || (s && rf_sentence_cosines(s, &io->why))) return io->why.code;
    o.normalize = 1;
    o.cut_last = 0;
    const int64_t n = (int64_t)out->lines.n;
    const int64_t width = out->width = rf_embed_width(p, &o);
    const char *const *text = cli_window_texts(&out->lines);
    if (!(out->v = calloc(n ? (size_t)n : 1, (size_t)width * sizeof *v)))
        return rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld vectors", (long long)n);
    cli_progress_init(&bar, io, 30);
    for (out->n = 0; out->n < n && !inner.code && !cli_stopped(); out->n += r->done) {
        const int64_t from = out->n, some = n - from < WINDOW ? n - from : WINDOW;
        rf_embed_texts(p, text + from, out->lines.size + from, some, &o, &v, &r, &inner);
        if (inner.code && r->bad < 0) break;
        int64_t bad = inner.code ? r->bad : -1;
        for (int64_t i = 0; i < r->done && !inner.code; i++)
            if (has_length(v + i * width, width, &inner)) bad = i;
        if (bad >= 0) {
            cli_progress_clear(&bar);
            const uint64_t number = first + (uint64_t)(from + bad);
            if (!out->names.n) return cli_at_line(&io->why, name, number, &inner);
            return rf_fail(&io->why, inner.code, "%.200s: record %llu: %s", name, (unsigned long long)number,
                           inner.text);
        }
        memcpy(out->v + from * width, v, (size_t)(r->done * width) * sizeof *v);
        cli_embedding_count(&all, r);
        snprintf(counted, sizeof counted, "%lld of %lld %s", (long long)(from + r->done), (long long)n,
                 out->names.n ? "records" : "lines");
        cli_progress_show(&bar, "embedding", (double)(from + r->done) / (double)n, counted);
    }
    cli_progress_clear(&bar);
    if (inner.code) return rf_fail(&io->why, inner.code, "%s", inner.text);
    if (!cli_stopped()) cli_embedding_note(io, p, &o, &all, what, false);
    return RF_OK;
}

rf_status cli_vectors_read(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *path, int format,
                           cli_vectors *out)
{
    const char *file = strcmp(path, "-") ? path : "standard input";
    const rf_status status = cli_records_read(io, path, format, rf_model_tokenizer(rf_pipeline_model(p)), &out->lines,
                                              &out->names);
    return status ? status : embed(io, p, o, file, 1, out->names.n ? "records" : "lines", out);
}

rf_status cli_vectors_text(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *text, cli_vectors *out)
{
    size_t tokens;
    rf_status status = cli_query_tokens(io, p, text, strlen(text), &tokens, &io->why);
    if (!status && !tokens) status = cli_query_empty(&io->why);
    if (!status) status = cli_window_add(&out->lines, text, strlen(text), &io->why);
    return status ? status : embed(io, p, o, "the query", 1, "queries", out);
}

void cli_vectors_clear(cli_vectors *v)
{
    cli_window_clear(&v->lines);
    cli_window_clear(&v->names);
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
