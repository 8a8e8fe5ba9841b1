/* hash.c — see hash.h. */
#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "cli/embed/hash.h"

enum { BLOCK = 1 << 18 };

struct cli_hash { XXH3_state_t *state; };

cli_hash *cli_hash_new(void)
{
    cli_hash *h = malloc(sizeof *h);
    if (h && !(h->state = XXH3_createState())) {
        free(h);
        return NULL;
    }
    if (h) cli_hash_again(h);
    return h;
}

void cli_hash_again(cli_hash *h) { XXH3_64bits_reset(h->state); }

void cli_hash_add(cli_hash *h, const void *data, size_t size)
{
    if (size) XXH3_64bits_update(h->state, data, size);
}

uint64_t cli_hash_value(const cli_hash *h) { return XXH3_64bits_digest(h->state); }

void cli_hash_free(cli_hash *h)
{
    if (h) XXH3_freeState(h->state);
    free(h);
}

cli_hash128 cli_hash_text(const void *data, size_t size)
{
    const XXH128_hash_t h = XXH3_128bits(data, size);
    return (cli_hash128){h.high64, h.low64};
}

static rf_status hash_all(int fd, const char *path, bool stops, cli_hash *h, char *block, int64_t *size,
                          rf_error *why)
{
    for (*size = 0;;) {
        const int64_t got = rf__os_read(fd, block, BLOCK);
        if (stops && cli_stopped()) return rf_fail(why, RF_ESTOPPED, "%.200s: stopped", path);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return rf_fail(why, RF_EIO, "%.200s: cannot read: %s", path, rf__os_reason(errno));
        if (!got) return RF_OK;
        cli_hash_add(h, block, (size_t)got);
        *size += got;
    }
}

rf_status cli_hash_file(const char *path, bool stops, uint64_t *hash, int64_t *size, rf_error *why)
{
    const int fd = rf__os_open(path, RF__OS_READ);
    if (fd < 0) return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", path, rf__os_reason(errno));
    cli_hash *h = cli_hash_new();
    char *block = malloc(BLOCK);
    rf__os_sequential(fd);
    const rf_status status = h && block ? hash_all(fd, path, stops, h, block, size, why)
                                        : rf_fail(why, RF_ENOMEM, "%.200s: out of memory", path);
    if (!status) *hash = cli_hash_value(h);
    rf__os_close(fd);
    cli_hash_free(h);
    free(block);
    return status;
}
