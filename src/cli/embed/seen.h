/* seen.h — finds an id that occurs twice, with bounded memory: 128-bit hashes of all ids go to a temporary file without
 * a name ($TMPDIR, 32 bytes for each id), of which a share at a time is sorted in memory (64 MB). */
#ifndef CLI_SEEN_H
#define CLI_SEEN_H

#include "cli/io/io.h"

typedef struct cli_seen {
    cli_out spool;
    int64_t n;
} cli_seen;

/* Where an id is: line `line` of file number `file`. */
typedef struct cli_seen_place { uint64_t file, line; } cli_seen_place;

rf_status cli_seen_open(cli_seen *s, rf_error *why);
rf_status cli_seen_add(cli_seen *s, const char *id, size_t size, cli_seen_place at, rf_error *why);

/* *twice: whether an id occurs twice; then place[0] and place[1] are the first such pair of the earliest repetition
 * among those that a share of the ids has. */
rf_status cli_seen_check(cli_seen *s, bool *twice, cli_seen_place place[2], rf_error *why);
void cli_seen_close(cli_seen *s);

#endif
