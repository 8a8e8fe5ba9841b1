/* formats.c — the formats of files of vectors.  All numbers are little-endian.
 *
 *     npy, faiss   rf_npy_head or rf_faiss_head (inspect/files.h), the rows
 *     fvecs        each row: int32 d, d float32                                              (TEXMEX, ann-benchmarks)
 *     fbin, u8bin, i8bin      uint32 rows, uint32 d, the rows                        (big-ann-benchmarks, DiskANN)
 *     safetensors  length of the header uint64, the header in JSON, the tensors
 *     jsonl        a list on each line, or {"id", "vector"}
 *     pgvector     lines of COPY ... FROM in PostgreSQL's text format: [..], or id, tab and [..]; ubinary: bits      */
#include <stdlib.h>
#include <string.h>

#include "cli/embed/writer.h"
#include "roformer/inspect/files.h"
#include "roformer/kernel/kernels.h"

/* ---- heads ------------------------------------------------------------------------------------------------------- */

static size_t npy_head(const cli_writer *w, unsigned char out[CLI_HEAD])
{
    const size_t columns = cli_precision_columns(w->precision, w->o.width);
    return rf_npy_head(cli_precision_of[w->precision].numpy, w->count, (int64_t)columns, (char *)out);
}

static size_t bin_head(const cli_writer *w, unsigned char out[CLI_HEAD])
{
    const uint32_t n = (uint32_t)w->count, d = (uint32_t)w->o.width;
    memcpy(out, &n, 4);
    memcpy(out + 4, &d, 4);
    return 8;
}

static size_t faiss_head(const cli_writer *w, unsigned char out[CLI_HEAD])
{
    return rf_faiss_head(w->count, (int64_t)w->o.width, w->o.metric == CLI_L2, (char *)out);
}

/* The length of the header, the header, blanks up to a multiple of 8 bytes. */
static rf_status safetensors_head(cli_writer *w, rf_error *why)
{
    char *text = cli_json_dump(w->header, JSON_COMPACT);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: the header of a .safetensors file");
    const uint64_t n = strlen(text), all = (n + 7) / 8 * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(all >> 8 * i);
    rf_status status = cli_out_write(&w->out, length, 8, why);
    if (!status) status = cli_out_write(&w->out, text, (size_t)n, why);
    if (!status) status = cli_out_write(&w->out, "       ", (size_t)(all - n), why);
    free(text);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static rf_status fvecs_row(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why)
{
    const int32_t d = (int32_t)w->o.width;
    const rf_status status = cli_out_write(w->rows, &d, sizeof d, why);
    return status ? status : cli_writer_plain(w, v, rows, id, why);
}

/* The numbers of a row as text; f32 has 9 digits and f16 5, which represent it exactly. */
static rf_status write_numbers(cli_writer *w, const float *v, const char *between, rf_error *why)
{
    const cli_precision p = w->precision;
    const size_t n = cli_precision_columns(p, w->o.width);
    char number[40];
    rf_status status = RF_OK;
    if (p != CLI_F32) cli_precision_encode(w->o.ctx, p, v, w->o.width, w->range, w->code);
    if (p == CLI_F16) rf_ctx_kernels(w->o.ctx)->from_f16(w->shown, w->code, (int64_t)n);
    for (size_t i = 0; i < n && !status; i++) {
        const char *first = i ? between : "";
        if (p == CLI_F32) snprintf(number, sizeof number, "%s%.9g", first, (double)v[i]);
        else if (p == CLI_F16) snprintf(number, sizeof number, "%s%.5g", first, (double)w->shown[i]);
        else if (p == CLI_BINARY) snprintf(number, sizeof number, "%s%d", first, ((const signed char *)w->code)[i]);
        else snprintf(number, sizeof number, "%s%d", first, ((const unsigned char *)w->code)[i]);
        status = cli_writer_text(w, number, why);
    }
    return status;
}

static rf_status write_list(cli_writer *w, const float *v, const char *between, rf_error *why)
{
    rf_status status = cli_writer_text(w, "[", why);
    if (!status) status = write_numbers(w, v, between, why);
    return status ? status : cli_writer_text(w, "]", why);
}

static rf_status jsonl_id(cli_writer *w, const char *id, rf_error *why)
{
    json_t *value = json_string(id);
    char *text = value ? cli_json_dump(value, JSON_ENCODE_ANY) : NULL;
    rf_status status = text ? cli_writer_text(w, "{\"id\": ", why) : rf_fail(why, RF_ENOMEM, "out of memory: a name");
    if (!status) status = cli_writer_text(w, text, why);
    if (!status) status = cli_writer_text(w, w->o.matrices ? ", \"vectors\": " : ", \"vector\": ", why);
    free(text);
    json_decref(value);
    return status;
}

static rf_status jsonl_row(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why)
{
    rf_status status = id ? jsonl_id(w, id, why) : RF_OK;
    if (!status && w->o.matrices) status = cli_writer_text(w, "[", why);
    for (int64_t r = 0; r < rows && !status; r++) {
        if (r) status = cli_writer_text(w, ", ", why);
        if (!status) status = write_list(w, v + (size_t)r * w->o.width, ", ", why);
    }
    if (!status && w->o.matrices) status = cli_writer_text(w, "]", why);
    return status ? status : cli_writer_text(w, id ? "}\n" : "\n", why);
}

/* A backslash, the separator and line ends are escaped; a name of a protein may have some. */
static rf_status copy_id(cli_writer *w, const char *id, rf_error *why)
{
    rf_status status = RF_OK;
    for (; *id && !status; id++) {
        const char *escape = *id == '\\' ? "\\\\" : *id == '\t' ? "\\t" : *id == '\n' ? "\\n" : *id == '\r' ? "\\r"
                             : NULL;
        status = escape ? cli_writer_text(w, escape, why) : cli_out_write(w->rows, id, 1, why);
    }
    return status ? status : cli_writer_text(w, "\t", why);
}

static rf_status copy_row(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why)
{
    (void)rows;
    rf_status status = w->o.ids ? copy_id(w, id, why) : RF_OK;
    if (!status && w->precision != CLI_UBINARY) status = write_list(w, v, ",", why);
    for (size_t c = 0; c < w->o.width && !status && w->precision == CLI_UBINARY; c++)
        status = cli_writer_text(w, v[c] > 0 ? "1" : "0", why);
    return status ? status : cli_writer_text(w, "\n", why);
}

/* A tensor for each text, [C] or [tokens,C]. */
static rf_status tensor_row(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why)
{
    if (json_object_get(w->header, id) || !strcmp(id, "__metadata__"))
        return rf_fail(why, RF_EDATA, "'%.100s': expected a name of its own for each tensor of a .safetensors file, "
                       "got it again; rename the record, or use --format jsonl", id);
    const uint64_t size = (uint64_t)rows * cli_precision_bytes(w->precision, w->o.width);
    const json_int_t columns = (json_int_t)cli_precision_columns(w->precision, w->o.width);
    json_t *shape = w->o.matrices ? json_pack("[I, I]", (json_int_t)rows, columns) : json_pack("[I]", columns);
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", cli_precision_of[w->precision].safetensors, "shape",
                              shape, "data_offsets", (json_int_t)w->bytes, (json_int_t)(w->bytes + size));
    if (json_object_set_new(w->header, id, entry)) return rf_fail(why, RF_ENOMEM, "out of memory: names of tensors");
    w->bytes += size;
    return cli_writer_plain(w, v, rows, id, why);
}

/* ---- the table, in the order of CLI_VECTOR_FORMATS ----------------------------------------------------------------
 * */

#define P(name) (1u << CLI_##name)
#define BITS (P(BINARY) | P(UBINARY))

const cli_vector_format cli_vector_formats[] = {
    {"npy", P(F32) | P(F16) | P(INT8) | P(UINT8) | BITS, CLI_F32, CLI_COUNTED, false, false, false, npy_head, NULL,
     cli_writer_plain},
    {"jsonl", P(F32) | P(F16) | BITS, CLI_F32, CLI_STREAM, true, true, true, NULL, NULL, jsonl_row},
    {"f32", P(F32), CLI_F32, CLI_STREAM, false, false, false, NULL, NULL, cli_writer_plain},
    {"safetensors", P(F32) | P(F16) | BITS, CLI_F32, CLI_KEPT, false, true, true, NULL, safetensors_head, tensor_row},
    {"fvecs", P(F32), CLI_F32, CLI_STREAM, false, false, false, NULL, NULL, fvecs_row},
    {"fbin", P(F32), CLI_F32, CLI_COUNTED, false, false, false, bin_head, NULL, cli_writer_plain},
    {"u8bin", P(UINT8), CLI_UINT8, CLI_COUNTED, false, false, false, bin_head, NULL, cli_writer_plain},
    {"i8bin", P(INT8), CLI_INT8, CLI_COUNTED, false, false, false, bin_head, NULL, cli_writer_plain},
    {"faiss", P(F32), CLI_F32, CLI_COUNTED, false, false, false, faiss_head, NULL, cli_writer_plain},
    {"pgvector", P(F32) | P(F16) | P(UBINARY), CLI_F32, CLI_STREAM, true, true, false, NULL, NULL, copy_row},
};
