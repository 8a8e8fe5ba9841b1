/* hash.h — xxHash's XXH3, for the programs' own files: `xxhsum -H3` prints the 64-bit one of a file. */
#ifndef CLI_HASH_H
#define CLI_HASH_H

#include "cli/io/io.h"

typedef struct cli_hash cli_hash;
cli_hash *cli_hash_new(void);                                           /* NULL: no memory                           */
void cli_hash_add(cli_hash *h, const void *data, size_t size);
uint64_t cli_hash_value(const cli_hash *h);
void cli_hash_again(cli_hash *h);                                       /* as new                                    */
void cli_hash_free(cli_hash *h);

/* 128 bits of a text. */
typedef struct cli_hash128 { uint64_t high, low; } cli_hash128;
cli_hash128 cli_hash_text(const void *data, size_t size);

/* The hash and the size of a file.  `stops`: a signal that requests a stop ends it early with RF_ESTOPPED. */
rf_status cli_hash_file(const char *path, bool stops, uint64_t *hash, int64_t *size, rf_error *why);

#endif
