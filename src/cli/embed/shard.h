/* shard.h — computes one shard of the files of roformer embed into parts (parts.h), and continues after those that are
 * complete. */
#ifndef CLI_SHARD_H
#define CLI_SHARD_H

#include "cli/embed/embedder.h"

typedef struct cli_shard_options {
    const char *folder;                 /* --output                                                                   */
    const char *shard;                  /* "R/N"; NULL: "1/1"                                                         */
    bool resume;
    int64_t rows;                       /* of a part, at most                                                         */
    int dtype;                          /* index in CLI_DTYPE_OPTION                                                  */
    bool ids;
} cli_shard_options;

/* Errors are in the embedder's io->why. */
rf_status cli_embed_shard(cli_embedder *e, const cli_shard_options *o);

#endif
