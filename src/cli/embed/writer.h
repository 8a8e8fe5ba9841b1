/* writer.h — writes vectors to a file of any format.  A format is a row of the table in formats.c.
 *
 *     cli_writer_open(&w, &options, &why)
 *     cli_writer_add(&w, v, 1, "doc-7", place, &why)                   for each text
 *     cli_writer_finish(&w, &why)                                      FILE appears; cli_writer_discard: it does not
 *
 * FILE.ids has the ids, one on each line, if texts have ids and the format has no place for them.  For int8 and uint8,
 * the ranges of the columns are known at the end only, unless they are given: until then, the rows are kept as f32 in a
 * temporary file without a name ($TMPDIR); FILE.ranges.npy has the ranges, which queries need. */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "cli/embed/precision.h"
#include "cli/embed/seen.h"
#include "cli/io/io.h"
#include "roformer/inspect/files.h"

#define CLI_VECTOR_FORMATS "npy|jsonl|f32|safetensors|fvecs|fbin|u8bin|i8bin|faiss|pgvector"
enum { CLI_FORMAT_F32 = 2, CLI_HEAD = RF_NPY_HEAD };
typedef enum cli_metric { CLI_IP, CLI_L2 } cli_metric;

typedef struct cli_writer_options {
    const rf_ctx *ctx;
    const char *path;                   /* NULL or "-": standard output                                               */
    int format;                         /* which of CLI_VECTOR_FORMATS                                                */
    int precision;                      /* a cli_precision; -1: the format's own                                      */
    int metric;                         /* a cli_metric, for faiss                                                    */
    size_t width;                       /* numbers of a vector                                                        */
    bool matrices;                      /* a text has a matrix, not a vector                                          */
    bool ids;                           /* texts have ids, which must be different                                    */
    const float *range;                 /* [2,width] of int8 and uint8; NULL: of the vectors                          */
} cli_writer_options;

typedef struct cli_writer cli_writer;

/* How the number of rows gets into a file: not at all; into a head of fixed size, which is written again at the end; or
 * the rows are kept until the end. */
typedef enum cli_layout { CLI_STREAM, CLI_COUNTED, CLI_KEPT } cli_layout;

typedef struct cli_vector_format {
    const char *name;
    unsigned precisions;                /* bit p: it holds numbers of the cli_precision p                             */
    cli_precision usual;
    cli_layout layout;
    bool text, ids, matrices;           /* it is text; it holds ids; it holds a matrix for each text                  */
    size_t (*head)(const cli_writer *w, unsigned char out[CLI_HEAD]);  /* its size does not depend on w->count        */
    rf_status (*whole_head)(cli_writer *w, rf_error *why);             /* of any size, written before rows that are
                                                                          kept                                        */
    rf_status (*row)(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why);
} cli_vector_format;
extern const cli_vector_format cli_vector_formats[];

struct cli_writer {
    cli_writer_options o;
    const cli_vector_format *format;
    cli_precision precision;
    cli_out out, spool, ids, *rows;     /* rows: where rows are written, out or spool                                 */
    cli_seen seen;
    int64_t count;                      /* texts                                                                      */
    bool measuring;                     /* rows are kept as f32 until their range is known                            */
    float *range;                       /* [2,width]                                                                  */
    void *code;                         /* a row in its precision                                                     */
    float *shown;                       /* f16 as text: the rounded row                                               */
    json_t *header;                     /* safetensors                                                                */
    uint64_t bytes;                     /* ... of the tensors so far                                                  */
};

/* The options for a file of vectors: `format`, `precision` and `metric` in the struct of arguments. */
#define CLI_VECTOR_FILE_OPTIONS(type)                                                                                  \
    {"format", 'f', CLI_CHOICE, offsetof(type, format), CLI_VECTOR_FORMATS, "npy", 0, 0, NULL,                         \
     "npy: NumPy file; jsonl: one JSON list per line; f32: raw little-endian floats; safetensors: a tensor for each "  \
     "text, named by the number of its line or the name of its record; fvecs, fbin, u8bin, i8bin: of ann-benchmarks "  \
     "and big-ann-benchmarks; faiss: a flat index for read_index; pgvector: lines for COPY of PostgreSQL (default: "   \
     "by the extension of --output, otherwise npy)", NULL},                                                            \
        {"precision", 0, CLI_CHOICE, offsetof(type, precision), CLI_PRECISION_NAMES, NULL, 0, 0, NULL,                 \
         "type of the numbers, as in quantize_embeddings of sentence-transformers: int8 and uint8 are scaled by the "  \
         "range of each column, which FILE.ranges.npy gets; binary and ubinary are one bit for each number (default: " \
         "f32; of u8bin uint8, of i8bin int8)", NULL},                                                                 \
    {                                                                                                                  \
        "metric", 0, CLI_CHOICE, offsetof(type, metric), "ip|l2", "ip", 0, 0, NULL,                                    \
            "distance of a faiss index: inner product, or Euclidean", NULL                                             \
    }

/* RF_EARG: --metric without a format that has one. */
rf_status cli_writer_check_metric(const cli_parsed *p, int format, rf_error *why);

/* RF_EARG: a combination of options that no file can hold. */
rf_status cli_writer_open(cli_writer *w, const cli_writer_options *o, rf_error *why);

/* rows: 1, or the rows of a matrix.  id: NULL: the text has neither an id nor a name.  RF_EDATA, RF_ERANGE: this text's
 * id or numbers do not fit the file; the message has no place, which the caller adds. */
rf_status cli_writer_add(cli_writer *w, const float *v, int64_t rows, const char *id, cli_seen_place at,
                         rf_error *why);
rf_status cli_writer_flush(cli_writer *w, rf_error *why);

/* Whether an id occurs twice, and where (cli_seen_check). */
rf_status cli_writer_twice(cli_writer *w, bool *twice, cli_seen_place place[2], rf_error *why);
rf_status cli_writer_finish(cli_writer *w, rf_error *why);
void cli_writer_discard(cli_writer *w);             /* allowed after cli_writer_finish, and if it is zero             */

/* For the formats: a row in w->precision, in w->code; a text. */
rf_status cli_writer_plain(cli_writer *w, const float *v, int64_t rows, const char *id, rf_error *why);
rf_status cli_writer_text(cli_writer *w, const char *text, rf_error *why);

#endif
