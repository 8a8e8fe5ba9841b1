/* precision.c — see precision.h. */
#include <math.h>
#include <string.h>

#include "cli/embed/precision.h"
#include "roformer/kernel/kernels.h"

const cli_precision_names cli_precision_of[CLI_PRECISIONS] = {
    [CLI_F32] = {"f32", "<f4", "F32"},     [CLI_F16] = {"f16", "<f2", "F16"},
    [CLI_INT8] = {"int8", "|i1", "I8"},    [CLI_UINT8] = {"uint8", "|u1", "U8"},
    [CLI_BINARY] = {"binary", "|i1", "I8"}, [CLI_UBINARY] = {"ubinary", "|u1", "U8"},
};

size_t cli_precision_columns(cli_precision p, size_t width)
{
    return p == CLI_BINARY || p == CLI_UBINARY ? (width + 7) / 8 : width;
}

size_t cli_precision_bytes(cli_precision p, size_t width)
{
    return cli_precision_columns(p, width) * (p == CLI_F32 ? 4 : p == CLI_F16 ? 2 : 1);
}

void cli_range_add(float *range, const float *v, size_t width, bool first)
{
    float *low = range, *high = range + width;
    for (size_t c = 0; c < width; c++) {
        low[c] = first || v[c] < low[c] ? v[c] : low[c];
        high[c] = first || v[c] > high[c] ? v[c] : high[c];
    }
}

static void encode_ranged(const float *v, size_t width, const float *range, int least, unsigned char *out)
{
    const float *low = range, *high = range + width;
    for (size_t c = 0; c < width; c++) {
        const float step = (high[c] - low[c]) / 255.0f;
        const float code = floorf((v[c] - low[c]) / (step == 0 ? 1.0f : step));
        const int whole = code >= 255 ? 255 : code > 0 ? (int)code : 0;
        out[c] = (unsigned char)(whole + least);
    }
}

static void encode_bits(const float *v, size_t width, unsigned char flip, unsigned char *out)
{
    for (size_t i = 0; i < (width + 7) / 8; i++) {
        unsigned byte = 0;
        for (size_t c = 8 * i; c < 8 * i + 8; c++) byte = byte << 1 | (c < width && v[c] > 0);
        out[i] = (unsigned char)byte ^ flip;
    }
}

void cli_precision_encode(const rf_ctx *ctx, cli_precision p, const float *v, size_t width, const float *range,
                          void *out)
{
    switch (p) {
    case CLI_F32: memcpy(out, v, width * sizeof *v); break;
    case CLI_F16: rf_ctx_kernels(ctx)->to_f16(out, v, (int64_t)width); break;
    case CLI_INT8: encode_ranged(v, width, range, -128, out); break;
    case CLI_UINT8: encode_ranged(v, width, range, 0, out); break;
    case CLI_BINARY: encode_bits(v, width, 0x80, out); break;
    case CLI_UBINARY: encode_bits(v, width, 0, out); break;
    case CLI_PRECISIONS: break;
    }
}
