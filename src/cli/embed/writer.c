/* writer.c — see writer.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/embed/writer.h"

static bool is_file(const char *path) { return path && strcmp(path, "-") != 0; }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The precisions of a format, or the formats that hold `matrices`, for messages. */
static const char *list_precisions(unsigned set, cli_names *names)
{
    for (int p = 0; p < CLI_PRECISIONS; p++)
        if (set >> p & 1) cli_names_add(names, cli_precision_of[p].option);
    return cli_names_text(names);
}

static rf_status check_options(const cli_writer *w, rf_error *why)
{
    const cli_vector_format *f = w->format;
    cli_names names = {0};
    if (!(f->precisions >> w->precision & 1))
        return rf_fail(why, RF_EARG, "--precision: expected %s for --format %s, got %s",
                       list_precisions(f->precisions, &names), f->name, cli_precision_of[w->precision].option);
    if (w->o.matrices && !f->matrices)
        return rf_fail(why, RF_EARG, "--tokens: expected --format safetensors or jsonl, which hold a matrix for each "
                       "text, got %s", f->name);
    if (w->o.ids && !f->ids && !is_file(w->o.path))
        return rf_fail(why, RF_EARG, "--id-field: expected -o FILE, because FILE.ids gets the ids, got standard "
                       "output; --format jsonl has them next to the vectors");
    if (cli_is_ranged(w->precision) && !is_file(w->o.path))
        return rf_fail(why, RF_EARG, "--precision %s: expected -o FILE, because FILE.ranges.npy gets the ranges of the "
                       "columns, got standard output", cli_precision_of[w->precision].option);
    return RF_OK;
}

rf_status cli_writer_check_metric(const cli_parsed *p, int format, rf_error *why)
{
    const bool faiss = !strcmp(cli_vector_formats[format].name, "faiss");
    return cli_needs(p, "metric", faiss, "--format faiss", why);
}

static rf_status with_ending(char *out, size_t size, const char *path, const char *ending, rf_error *why)
{
    const int n = snprintf(out, size, "%s%s", path, ending);
    if (n > 0 && (size_t)n < size) return RF_OK;
    return rf_fail(why, RF_ERANGE, "%.100s...: expected a path of at most %zu bytes", path, size - strlen(ending) - 1);
}

static rf_status open_ids(cli_writer *w, rf_error *why)
{
    char path[4096];
    if (!w->o.ids) return RF_OK;
    rf_status status = cli_seen_open(&w->seen, why);
    if (status || w->format->ids) return status;
    status = with_ending(path, sizeof path, w->o.path, ".ids", why);
    return status ? status : cli_out_open(&w->ids, path, why);
}

static rf_status write_head(cli_writer *w, bool again, rf_error *why)
{
    unsigned char head[CLI_HEAD];
    const size_t size = w->format->head(w, head);
    return again ? cli_out_patch(&w->out, 0, head, size, why) : cli_out_write(&w->out, head, size, why);
}

static rf_status open_rows(cli_writer *w, rf_error *why)
{
    rf_status status = cli_out_open(&w->out, w->o.path, why);
    if (status) return status;
    if (w->out.fd == 1 && !w->format->text && rf__os_terminal(1))
        return rf_fail(why, RF_EARG,
                       "--output: expected a file or a pipe, got a terminal; use -o FILE, or --format jsonl");
    w->rows = &w->out;
    w->measuring = cli_is_ranged(w->precision) && !w->o.range;
    if (!w->measuring && w->format->layout == CLI_STREAM) return RF_OK;
    if (!w->measuring && w->format->layout == CLI_COUNTED && cli_out_seekable(&w->out))
        return write_head(w, false, why);
    w->rows = &w->spool;
    return cli_out_spool(&w->spool, why);
}

rf_status cli_writer_open(cli_writer *w, const cli_writer_options *o, rf_error *why)
{
    const size_t width = o->width;
    *w = (cli_writer){.o = *o, .format = &cli_vector_formats[o->format]};
    w->out.fd = w->spool.fd = w->ids.fd = w->seen.spool.fd = -1;
    w->precision = o->precision < 0 ? w->format->usual : (cli_precision)o->precision;
    rf_status status = check_options(w, why);
    if (status) return status;
    w->header = json_object();
    w->range = malloc(2 * width * sizeof *w->range);
    w->code = malloc(width * sizeof(float));
    w->shown = malloc(width * sizeof *w->shown);
    if (!w->header || !w->range || !w->code || !w->shown)
        status = rf_fail(why, RF_ENOMEM, "out of memory: a row of %zu numbers", width);
    if (!status && o->range) memcpy(w->range, o->range, 2 * width * sizeof *w->range);
    if (!status) status = open_rows(w, why);
    if (!status) status = open_ids(w, why);
    if (status) cli_writer_discard(w);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

rf_status cli_writer_text(cli_writer *w, const char *text, rf_error *why)
{
    return cli_out_write(w->rows, text, strlen(text), why);
}

rf_status cli_writer_plain(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why)
{
    (void)id;
    const size_t width = w->o.width, size = cli_precision_bytes(w->precision, width);
    if (w->precision == CLI_F32) return cli_out_write(w->rows, v, (size_t)rows * size, why);
    rf_status status = RF_OK;
    for (int64_t r = 0; r < rows && !status; r++) {
        cli_precision_encode(w->o.ctx, w->precision, v + (size_t)r * width, width, w->range, w->code);
        status = cli_out_write(w->rows, w->code, size, why);
    }
    return status;
}

/* Numbers from 65520 on would become infinite. */
static rf_status check_f16(const float *v, size_t n, rf_error *why)
{
    for (size_t i = 0; i < n; i++)
        if (fabsf(v[i]) >= 65520)
            return rf_fail(why, RF_ERANGE, "its vector: expected numbers up to 65504 for --precision f16, got %g; use "
                           "f32, or --normalize", (double)v[i]);
    return RF_OK;
}

static rf_status add_id(cli_writer *w, const char *id, cli_seen_place at, rf_error *why)
{
    if (!id || !*id) return rf_fail(why, RF_EDATA, "id: expected one for each text, got none");
    rf_status status = cli_seen_add(&w->seen, id, strlen(id), at, why);
    if (status || w->format->ids) return status;
    status = cli_out_write(&w->ids, id, strlen(id), why);
    return status ? status : cli_out_write(&w->ids, "\n", 1, why);
}

rf_status cli_writer_add(cli_writer *w, const float *v, int64_t rows, const char *id, cli_seen_place at,
                         rf_error *why)
{
    const size_t width = w->o.width;
    rf_status status = w->precision == CLI_F16 ? check_f16(v, (size_t)rows * width, why) : RF_OK;
    if (!status && w->o.ids) status = add_id(w, id, at, why);
    if (status) return status;
    if (w->measuring) {
        cli_range_add(w->range, v, width, !w->count);
        status = cli_out_write(w->rows, v, width * sizeof *v, why);
    } else {
        status = w->format->row(w, v, rows, id, why);
    }
    w->count++;
    return status;
}

rf_status cli_writer_flush(cli_writer *w, rf_error *why) { return cli_out_flush(w->rows, why); }

rf_status cli_writer_twice(cli_writer *w, bool *twice, cli_seen_place place[2], rf_error *why)
{
    *twice = false;
    return w->o.ids ? cli_seen_check(&w->seen, twice, place, why) : RF_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The rows that were kept as f32, in their precision. */
static rf_status write_measured(cli_writer *w, rf_error *why)
{
    const size_t size = w->o.width * sizeof(float);
    rf_status status = cli_out_flush(&w->spool, why);
    w->rows = &w->out;
    for (int64_t i = 0; i < w->count && !status; i++) {
        int64_t got;
        do got = rf__os_read_at(w->spool.fd, w->shown, size, i * (int64_t)size);
        while (got < 0 && errno == EINTR);
        status = got == (int64_t)size ? w->format->row(w, w->shown, 1, NULL, why)
                                      : rf_fail(why, RF_EIO, "%.200s: cannot read back: %s", w->spool.path,
                                                got < 0 ? rf__os_reason(errno) : "it is shorter");
    }
    return status;
}

static rf_status write_ranges(const cli_writer *w, rf_error *why)
{
    char path[4096];
    cli_writer r;
    if (!cli_is_ranged(w->precision) || !w->count) return RF_OK;
    const cli_writer_options o = {.ctx = w->o.ctx, .path = path, .precision = CLI_F32, .width = w->o.width};
    rf_status status = with_ending(path, sizeof path, w->o.path, ".ranges.npy", why);
    if (!status) status = cli_writer_open(&r, &o, why);
    if (status) return status;
    for (int i = 0; i < 2 && !status; i++)
        status = cli_writer_add(&r, w->range + (size_t)i * w->o.width, 1, NULL, (cli_seen_place){0}, why);
    if (!status) status = cli_writer_finish(&r, why);
    cli_writer_discard(&r);
    return status;
}

static rf_status finish_rows(cli_writer *w, rf_error *why)
{
    rf_status status = RF_OK;
    if (w->measuring) {
        status = write_head(w, false, why);
        return status ? status : write_measured(w, why);
    }
    if (w->rows == &w->out) return w->format->layout == CLI_COUNTED ? write_head(w, true, why) : RF_OK;
    status = w->format->whole_head ? w->format->whole_head(w, why) : write_head(w, false, why);
    return status ? status : cli_out_copy(&w->out, &w->spool, why);
}

static rf_status check_count(const cli_writer *w, rf_error *why)
{
    const bool bin = strstr(w->format->name, "bin") != NULL;
    if (bin && w->count > UINT32_MAX)
        return rf_fail(why, RF_ERANGE, "--format %s: expected at most %lu vectors, got %lld; use npy", w->format->name,
                       (unsigned long)UINT32_MAX, (long long)w->count);
    if (w->measuring && w->count == 1)
        return rf_fail(why, RF_EDATA, "--precision %s: expected two vectors or more, whose ranges are the scale of the "
                       "columns, got one; use f16 or f32", cli_precision_of[w->precision].option);
    return RF_OK;
}

rf_status cli_writer_finish(cli_writer *w, rf_error *why)
{
    rf_status status = check_count(w, why);
    if (!status) status = finish_rows(w, why);
    if (!status) status = write_ranges(w, why);
    if (!status && w->ids.fd >= 0) status = cli_out_commit(&w->ids, why);
    return status ? status : cli_out_commit(&w->out, why);
}

void cli_writer_discard(cli_writer *w)
{
    if (!w->format) return;
    cli_out_discard(&w->out);
    cli_out_discard(&w->spool);
    cli_out_discard(&w->ids);
    cli_seen_close(&w->seen);
    json_decref(w->header);
    free(w->range);
    free(w->code);
    free(w->shown);
    *w = (cli_writer){0};
}
