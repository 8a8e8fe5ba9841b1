/* rotate.c — the kernel library by itself: scores of rotated vectors see only the distance of their positions, and so
 * does what attention makes of them.
 *
 *     cc examples/rotate.c $(pkg-config --cflags --libs roformer) -lm                                                */
#include <stdio.h>

#include <roformer/kernel/attention.h>
#include <roformer/kernel/rope.h>

enum { D = 64, POSITIONS = 2048, T = 4 };

static int failed(const rf_error *why)
{
    fprintf(stderr, "%s\n", why->text);
    return 1;
}

int main(void)
{
    rf_ctx *ctx;
    rf_rope *rope;
    rf_error why = {0};
    const rf_rope_spec spec = {.rotary = D, .base = 10000, .layout = RF_ROPE_PAIRS};
    if (rf_ctx_new(NULL, &ctx, &why)) return failed(&why);
    if (rf_rope_new(ctx, &spec, POSITIONS, &rope, &why)) return failed(&why);

    float q[D], k[D], qm[D], kn[D];
    for (int i = 0; i < D; i++) q[i] = k[i] = 0.125f;

    printf("distance   score at m = 0   score at m = 1000\n");
    for (int32_t distance = 0; distance <= 512; distance = distance ? 2 * distance : 1) {
        double score[2];
        for (int i = 0; i < 2; i++) {
            const int32_t m = i * 1000, n = m + distance;
            if (rf_rope_rotate(ctx, rope, qm, q, &m, 1, 1, D, +1, &why)) return failed(&why);
            if (rf_rope_rotate(ctx, rope, kn, k, &n, 1, 1, D, +1, &why)) return failed(&why);
            score[i] = (double)rf_ctx_kernels(ctx)->dot(qm, kn, D);
        }
        printf("%8d %16.4f %19.4f\n", (int)distance, score[0], score[1]);
    }

    float x[T * D], out[T * D];
    int32_t position[T];
    for (int i = 0; i < T * D; i++) x[i] = 0.125f * (float)(i % 7 - 3);
    const rfk_attention head = {.q = x,
                                .k = x,
                                .v = x,
                                .q_stride = D,
                                .k_stride = D,
                                .v_stride = D,
                                .queries = T,
                                .keys = T,
                                .width = D,
                                .scale = 0.125f,
                                .out = out,
                                .out_stride = D,
                                .cos = rf_rope_cos(rope),
                                .sin = rf_rope_sin(rope),
                                .rotary = D,
                                .layout = rf_rope_spec_of(rope)->layout,
                                .q_row = position,
                                .k_row = position};
    for (int32_t first = 0; first <= 1000; first += 1000) {
        for (int t = 0; t < T; t++) position[t] = first + t;
        if (rf_attend(ctx, RF_F32, &head, NULL, &why)) return failed(&why);
        printf("attention from position %4d on: %8.5f %8.5f %8.5f ...\n", (int)first, (double)out[0], (double)out[1],
               (double)out[2]);
    }
    rf_rope_free(rope);
    rf_ctx_free(ctx);
    return 0;
}
