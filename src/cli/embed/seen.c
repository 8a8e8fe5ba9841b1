/* seen.c — see seen.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "cli/embed/hash.h"
#include "cli/embed/seen.h"

enum { SHARE = 1 << 21, BLOCK = 1 << 11 };      /* entries: of a sorted share, on average; of a block that is read */

typedef struct entry { cli_hash128 id; cli_seen_place at; } entry;

rf_status cli_seen_open(cli_seen *s, rf_error *why)
{
    s->n = 0;
    return cli_out_spool(&s->spool, why);
}

rf_status cli_seen_add(cli_seen *s, const char *id, size_t size, cli_seen_place at, rf_error *why)
{
    const entry e = {cli_hash_text(id, size), at};
    s->n++;
    return cli_out_write(&s->spool, &e, sizeof e, why);
}

void cli_seen_close(cli_seen *s) { cli_out_discard(&s->spool); }

static int order(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->id.high != y->id.high) return x->id.high < y->id.high ? -1 : 1;
    if (x->id.low != y->id.low) return x->id.low < y->id.low ? -1 : 1;
    if (x->at.file != y->at.file) return x->at.file < y->at.file ? -1 : 1;
    return x->at.line < y->at.line ? -1 : x->at.line > y->at.line;
}

static bool before(cli_seen_place a, cli_seen_place b) { return a.file != b.file ? a.file < b.file : a.line < b.line; }

/* The repetition that occurs first in this share, if there is one before place[1]. */
static void find_twice(entry *all, size_t n, bool *twice, cli_seen_place place[2])
{
    if (n) qsort(all, n, sizeof *all, order);
    for (size_t i = 1; i < n; i++) {
        if (all[i].id.high != all[i - 1].id.high || all[i].id.low != all[i - 1].id.low) continue;
        if (*twice && !before(all[i].at, place[1])) continue;
        *twice = true;
        place[0] = all[i - 1].at;
        place[1] = all[i].at;
    }
}

typedef struct share { entry *entry; size_t n, capacity; } share;

static bool add_to_share(share *s, const entry *e)
{
    if (s->n == s->capacity) {
        const size_t wide = s->capacity ? 2 * s->capacity : BLOCK;
        entry *more = realloc(s->entry, wide * sizeof *more);
        if (!more) return false;
        s->entry = more;
        s->capacity = wide;
    }
    s->entry[s->n++] = *e;
    return true;
}

/* Reads the entries whose hash is in share number k of `shares`. */
static rf_status read_share(const cli_seen *s, uint64_t k, uint64_t shares, share *out, rf_error *why)
{
    static const char none[] = "out of memory: hashes of ids";
    entry *block = malloc(BLOCK * sizeof *block);
    rf_status status = block ? RF_OK : rf_fail(why, RF_ENOMEM, "%s", none);
    out->n = 0;
    for (int64_t i = 0; i < s->n && !status;) {
        const int64_t n = s->n - i < BLOCK ? s->n - i : BLOCK, bytes = n * (int64_t)sizeof *block;
        const int64_t got = rf__os_read_at(s->spool.fd, block, (size_t)bytes, i * (int64_t)sizeof *block);
        if (got < 0 && errno == EINTR) continue;
        if (got < (int64_t)sizeof *block)
            status = rf_fail(why, RF_EIO, "%.200s: cannot read back: %s", s->spool.path, rf__os_reason(errno));
        const int64_t whole = got / (int64_t)sizeof *block;
        for (int64_t e = 0; e < whole && !status; e++)
            if ((block[e].id.high >> 32) * shares >> 32 == k && !add_to_share(out, &block[e]))
                status = rf_fail(why, RF_ENOMEM, "%s", none);
        i += whole;
    }
    free(block);
    return status;
}

rf_status cli_seen_check(cli_seen *s, bool *twice, cli_seen_place place[2], rf_error *why)
{
    const uint64_t shares = (uint64_t)s->n / SHARE + 1;
    share one = {0};
    *twice = false;
    rf_status status = cli_out_flush(&s->spool, why);
    for (uint64_t k = 0; k < shares && !status; k++) {
        status = read_share(s, k, shares, &one, why);
        if (!status) find_twice(one.entry, one.n, twice, place);
    }
    free(one.entry);
    return status;
}
