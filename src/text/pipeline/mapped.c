/* mapped.c — a text that was made from another one. */
#include "mapped.h"

static bool reserve(rf__mapped *m, size_t more)
{
    return rf__grow(m->ctx, &m->at, &m->capacity, m->n + more + 1, 1) &&
           rf__grow(m->ctx, &m->from, &m->from_capacity, m->n + more, sizeof *m->from) &&
           rf__grow(m->ctx, &m->to, &m->to_capacity, m->n + more, sizeof *m->to);
}

bool rf__mapped_append(rf__mapped *m, const char *text, size_t size, uint32_t from, uint32_t to)
{
    if (!size) return true;
    if (!reserve(m, size)) return false;
    memcpy(m->at + m->n, text, size);
    for (size_t i = m->n; i < m->n + size; i++) m->from[i] = from, m->to[i] = to;
    m->n += size;
    m->at[m->n] = 0;
    return true;
}

void rf__mapped_clear(rf__mapped *m)
{
    rf__free(m->ctx, m->at);
    rf__free(m->ctx, m->from);
    rf__free(m->ctx, m->to);
    *m = (rf__mapped){.ctx = m->ctx};
}

void rf__mapped_swap(rf__mapped *a, rf__mapped *b)
{
    const rf__mapped last = *a;
    *a = *b;
    *b = last;
}

bool rf__mapped_copy(rf__mapped *m, const rf__mapped *in, size_t from, size_t to)
{
    const size_t size = to - from;
    if (!size) return true;
    if (!reserve(m, size)) return false;
    memcpy(m->at + m->n, in->at + from, size);
    memcpy(m->from + m->n, in->from + from, size * sizeof *m->from);
    memcpy(m->to + m->n, in->to + from, size * sizeof *m->to);
    m->n += size;
    m->at[m->n] = 0;
    return true;
}

bool rf__mapped_raw(rf__mapped *m, const char *text, size_t from, size_t to)
{
    const size_t base = m->n;
    if (from == to) return true;
    if (!reserve(m, to - from)) return false;
    memcpy(m->at + base, text + from, to - from);
    for (size_t at = from, next = from; at < to; at = next) {
        rf__utf8_get((const unsigned char *)text, &next);
        for (size_t i = base + at - from; i < base + next - from; i++)
            m->from[i] = (uint32_t)at, m->to[i] = (uint32_t)next;
    }
    m->n += to - from;
    m->at[m->n] = 0;
    return true;
}
