/* bench_opening.c — what opening a model costs: seconds, and the peak of the resident set.
 *
 *     bench_opening FOLDER f32|bf16|int8 THREADS        one line: seconds, of the processor, VmHWM in MB before, after
 *
 * bench/opening.py makes a folder of RoFormer-base's size and calls this for every type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "roformer/roformer.h"

static double high_water(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (f) fclose(f);
    return kilobytes * 1024e-6;
}

int main(int n, char **argument)
{
    rf_ctx *ctx = NULL;
    rf_model *m = NULL;
    rf_error why = {0};
    rf_ctx_options o;
    if (n != 4) {
        fprintf(stderr, "usage: bench_opening FOLDER f32|bf16|int8 THREADS\n");
        return 2;
    }
    const char *dtype = argument[2];
    const rf_type type = !strcmp(dtype, "int8") ? RF_I8 : !strcmp(dtype, "bf16") ? RF_BF16 : RF_F32;
    rf_ctx_defaults(&o);
    o.threads = atoi(argument[3]);
    const double before = high_water(), begin = seconds();
    const clock_t busy = clock();
    if (rf_ctx_new(&o, &ctx, &why) || rf_model_open_as(ctx, argument[1], type, &m, &why)) {
        fprintf(stderr, "bench_opening: %s\n", why.text);
        rf_ctx_free(ctx);
        return 1;
    }
    printf("%.4f %.4f %.1f %.1f\n", seconds() - begin, (double)(clock() - busy) / CLOCKS_PER_SEC, before,
           high_water());
    rf_model_close(m);
    rf_ctx_free(ctx);
    return 0;
}
