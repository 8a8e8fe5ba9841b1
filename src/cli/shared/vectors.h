/* vectors.h — the lines of a file, with a normalized vector for each. */
#ifndef CLI_VECTORS_H
#define CLI_VECTORS_H

#include "cli/io/io.h"
#include "cli/shared/records.h"
#include "roformer/pipeline.h"

typedef struct cli_vectors {
    cli_window lines;
    cli_window names;                   /* of proteins of a FASTA file; empty: lines                                  */
    int64_t n, width;
    float *v;                           /* [n,width]                                                                  */
} cli_vectors;

/* All lines of `path` ("-": standard input), or all proteins of a FASTA file (records.h).  The caller clears it, also
 * after an error.  A line whose vector is zero is rejected with its number, because cosine is undefined.  o->normalize
 * is treated as 1. */
rf_status cli_vectors_read(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *path, int format,
                           cli_vectors *out);

/* The same for one text. */
rf_status cli_vectors_text(cli_io *io, rf_pipeline *p, const rf_embed_options *o, const char *text, cli_vectors *out);
void cli_vectors_clear(cli_vectors *v);

/* cos(line i of a, line j of b) */
double cli_vectors_cosine(const cli_vectors *a, int64_t i, const cli_vectors *b, int64_t j);

#endif
