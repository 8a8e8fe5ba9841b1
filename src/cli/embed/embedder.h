/* embedder.h — records of files in, vectors out.  Records are read into a window, which the model computes and which is
 * written before the next one is read: memory does not depend on the number of records. */
#ifndef CLI_EMBEDDER_H
#define CLI_EMBEDDER_H

#include "cli/embed/writer.h"
#include "cli/shared/embedding.h"
#include "cli/shared/records.h"
#include "roformer/pipeline.h"

enum { CLI_EMBED_WINDOW = 4096, CLI_EMBED_BYTES = 1 << 20 };           /* records, bytes                            */

typedef struct cli_embedder {
    cli_io *io;
    rf_pipeline *model;
    rf_embed_options o;
    bool tokens;                        /* a vector for each token                                                    */
    bool late;                          /* ... of a late-interaction model                                            */
    cli_documents documents;
    const cli_list *files;
    cli_writer writer;

    int file;                           /* number of the file that is read                                            */
    uint64_t at;                        /* place after the window's last record (cli_records_at)                      */
    int from_file;                      /* the file that was read from a place within it, and this place              */
    uint64_t from_at;
    int64_t most;                       /* records of a window                                                        */
    cli_window window, names;           /* names: of the window's texts, if they have names                           */
    uint64_t line[CLI_EMBED_WINDOW];    /* number of each text's record                                               */
    cli_progress bar;
    rf_texts_report all;
    int64_t zeros;                      /* vectors that are zero                                                      */
    char first_zero[256];               /* file:line of the first                                                     */
    bool failed;                        /* an error that is not of a text: what was written is not to be kept         */

    /* After each window has been written; NULL: nothing. */
    rf_status (*after)(struct cli_embedder *e, void *user);
    void *user;
} cli_embedder;

/* Opens the model of a command and settles its options. */
rf_status cli_embedder_open(cli_embedder *e, cli_io *io, const char *model, rf_type type, const cli_embedding *given,
                            int normalize, bool tokens);
size_t cli_embedder_width(const cli_embedder *e);

/* RF_EARG, in io->why, if `ids` or an id field is asked of files that have none. */
rf_status cli_embedder_check_ids(const cli_embedder *e, bool ids);

/* Writes the vectors of the records of file number `file` (0 of none: standard input) that begin from place `from` on
 * and before place `to`.  Records before one that cannot be read still get their vectors; errors are in io->why. */
rf_status cli_embedder_file(cli_embedder *e, int file, uint64_t from, uint64_t to);

/* RF_EDATA, in io->why, if an id occurs twice in what has been written. */
rf_status cli_embedder_ids(cli_embedder *e);

/* What the vectors leave out, for the user: truncated texts, unknown words, vectors that are zero. */
void cli_embedder_note(const cli_embedder *e);
void cli_embedder_close(cli_embedder *e);

/* The name of file number `file` in messages. */
const char *cli_embedder_file_name(const cli_embedder *e, uint64_t file);

#endif
