/* comm.c — small collective operations, made of transfers between two ranks.
 *
 *     gather_all, 5 ranks     0  1  2  3  4          each has its own block
 *       send 1 back           01 12 23 34 40         blocks after one's own, from rank + 1
 *       send 2 back           0123 ...
 *       send the rest         01234 12340 ...        rotated into place at the end
 *
 *     broadcast               0 -> 1,  0 -> 2, 1 -> 3,  0 -> 4 ...     ranks that have it send `span` ranks on */
#include "dist/comm.h"

static rf_status swap(rf_comm *c, int to, const void *out, int from, void *in, size_t bytes, rf_error *why)
{
    rf_status status = c->receive(c, RF__TALK, from, in, bytes, why);
    if (!status) status = c->send(c, RF__TALK, to, out, bytes, why);
    return status ? status : c->wait(c, RF__TALK, why);
}

rf_status rf__gather_all(rf_comm *c, const void *mine, void *all, size_t bytes, rf_error *why)
{
    const size_t n = (size_t)rf__ranks(c), me = (size_t)rf__rank(c);
    if (n == 1) return memcpy(all, mine, bytes), RF_OK;
    /* no allocation: `all` is rotated in place */
    unsigned char *at = all;
    memcpy(at, mine, bytes);
    for (size_t have = 1; have < n; have *= 2) {
        const size_t more = have < n - have ? have : n - have;
        const int to = (int)((me + n - have) % n), from = (int)((me + have) % n);
        const rf_status status = swap(c, to, at, from, at + have * bytes, more * bytes, why);
        if (status) return status;
    }
    /* block i is that of rank (me + i) mod n: rotate right by me blocks, as three reversals of bytes */
    const size_t total = n * bytes, cut = (n - me) % n * bytes;
    const size_t part[3][2] = {{0, cut}, {cut, total}, {0, total}};
    for (int k = 0; k < 3; k++)
        for (size_t i = part[k][0], j = part[k][1]; i + 1 < j; i++) {
            const unsigned char one = at[i];
            at[i] = at[--j];
            at[j] = one;
        }
    return RF_OK;
}

rf_status rf__broadcast(rf_comm *c, void *data, size_t bytes, rf_error *why)
{
    const int n = rf__ranks(c), me = rf__rank(c);
    bool have = me == 0;
    for (int span = 1; span < n; span *= 2) {
        rf_status status = RF_OK;
        if (have && me + span < n) status = c->send(c, RF__TALK, me + span, data, bytes, why);
        if (!have && me < 2 * span) {
            status = c->receive(c, RF__TALK, me - span, data, bytes, why);
            have = true;
        }
        if (!status) status = c->wait(c, RF__TALK, why);
        if (status) return status;
    }
    return RF_OK;
}

/* Gathers one number of each rank: all[0..ranks). */
static rf_status numbers(rf_comm *c, uint64_t mine, uint64_t all[RF__RANKS], rf_error *why)
{
    if (rf__ranks(c) > RF__RANKS)
        return rf_fail(why, RF_EARG, "processes: expected at most %d, got %d", (int)RF__RANKS, rf__ranks(c));
    return rf__gather_all(c, &mine, all, sizeof mine, why);
}

rf_status rf__any(rf_comm *c, unsigned *bits, rf_error *why)
{
    uint64_t all[RF__RANKS];
    if (rf__ranks(c) == 1) return RF_OK;
    const rf_status status = numbers(c, *bits, all, why);
    for (int i = 0; i < rf__ranks(c) && !status; i++) *bits |= (unsigned)all[i];
    return status;
}

rf_status rf__sum_whole(rf_comm *c, int64_t *sum, rf_error *why)
{
    uint64_t all[RF__RANKS];
    if (rf__ranks(c) == 1) return RF_OK;
    const rf_status status = numbers(c, (uint64_t)*sum, all, why);
    if (status) return status;
    *sum = 0;
    for (int i = 0; i < rf__ranks(c); i++) *sum += (int64_t)all[i];
    return RF_OK;
}

rf_status rf__agree(rf_comm *c, rf_status status, rf_error *why)
{
    uint64_t all[RF__RANKS];
    rf_error first = {0};
    if (rf__ranks(c) == 1) return status;
    rf_status talk = numbers(c, (uint64_t)status, all, &first);
    int bad = 0;
    while (!talk && bad < c->size && !all[bad]) bad++;
    if (!talk && bad == c->size) return RF_OK;
    if (!talk && bad) {                                  /* its message goes to rank 0, and from there to all ranks */
        if (c->rank == bad) talk = c->send(c, RF__TALK, 0, why, sizeof *why, &first);
        if (c->rank == 0) talk = c->receive(c, RF__TALK, bad, &first, sizeof first, &first);
        if (!talk) talk = c->wait(c, RF__TALK, &first);
    } else if (!talk && why) {
        first = *why;
    }
    if (!talk) talk = rf__broadcast(c, &first, sizeof first, &first);
    if (why) *why = first;
    c->agreed = !talk;
    return talk ? talk : (rf_status)all[bad];
}

rf_status rf__same(rf_comm *c, uint64_t number, const char *what, rf_error *why)
{
    uint64_t all[RF__RANKS];
    const rf_status status = numbers(c, number, all, why);
    for (int i = 1; i < rf__ranks(c) && !status; i++)
        if (all[i] != all[0]) return c->agreed = 1, rf_fail(why, RF_EARG, "rank %d has %s than rank 0", i, what);
    return status;
}
