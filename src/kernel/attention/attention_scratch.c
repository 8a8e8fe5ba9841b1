/* attention_scratch.c — size of the scratch memory that attention needs: the maximum over all rungs. */
#include "kernel/attention/attention_amx.h"
#include "kernel/attention/attention_bf16.h"

static size_t bytes(int64_t floats, int64_t doubles)
{
    const int64_t most = rf__max64(floats * (int64_t)sizeof(float), doubles * (int64_t)sizeof(double));
    return rfk__size((most + 63) / 64, 64);
}

size_t rfk_attention_scratch(const rfk_attention *a)
{
    const int64_t tiles = rfk__in_tiles(a) ? rfk__amx_forward_workspace(a).end : 0;
    return bytes(rf__max64(rf__max64(rfk__forward_workspace(a).end, rfk__bf16_forward_workspace(a).end), tiles),
                 a->keys + 3 * (a->width + a->width2));
}

size_t rfk_attention_back_scratch(const rfk_attention *a)
{
    return bytes(rf__max64(rfk__back_workspace(a).end, rfk__bf16_back_workspace(a).end),
                 2 * a->keys * (a->width + a->width2 + 1) + 4 * (a->width + a->width2));
}
