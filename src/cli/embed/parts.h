/* parts.h — the parts of a sharded run of roformer embed: files in one folder.
 *
 *     run.json                                     the run: model, files, options, number of shards
 *     part-00003-of-00008-000000.f32               part 0 of shard 3 of 8: vectors, [rows,dimensions] float32
 *     part-00003-of-00008-000000.f32.ids           their ids, one on each line, if texts have ids
 *     part-00003-of-00008-000000.json              its manifest, which is written last: without it there is no part
 *
 * docs/formats.md describes the members of both JSON files. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "cli/embed/input.h"
#include "cli/io/io.h"

enum { CLI_MAX_SHARDS = 99999, CLI_MAX_PARTS = 999999 };
#define CLI_RUN_FILE "run.json"

typedef struct cli_part {
    int64_t shard, shards, number;      /* shard from 1, number from 0                                                */
    bool last;                          /* of its shard                                                               */
    cli_place begin, end;               /* its records begin from `begin` on and before `end`                         */
    int64_t rows, zeros, tokens, cut, unknown;
    bool ids;
    uint64_t data_hash, ids_hash;       /* XXH3 of its files                                                          */
    char isa[24];                       /* the rung that computed it: bits may depend on it                           */
    json_t *run;                        /* what all parts of a run share                                              */
    char name[40];                      /* "part-00003-of-00008-000000"                                               */
} cli_part;

void cli_part_name(cli_part *p);                                        /* sets the name                              */
rf_status cli_part_path(char *out, size_t size, const char *folder, const cli_part *p, const char *ending,
                        rf_error *why);

/* Writes the manifest: the part is then complete, also after a loss of power. */
rf_status cli_part_write(const char *folder, const cli_part *p, rf_error *why);

typedef struct cli_parts {
    cli_part *part;                     /* [n], ordered by shard and number                                           */
    size_t n, capacity;
} cli_parts;

/* All parts of a folder or, with shard above 0, those of one shard.  Checks each manifest against `run` (of the file
 * `where`; NULL: against the first manifest), and the sizes of its files.
 *
 *   RF_EDATA   a manifest is malformed or of another run; a file is missing or has another size; the message names it
 * */
rf_status cli_parts_read(const char *folder, int64_t shard, const json_t *run, const char *where, cli_parts *out,
                         rf_error *why);
void cli_parts_clear(cli_parts *p);

/* RF_EDATA names the first member in which two runs differ, with the files that they are from. */
rf_status cli_run_compare(const char *where, const json_t *expected, const char *other, const json_t *got,
                          rf_error *why);

#endif
