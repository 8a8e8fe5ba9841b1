/* memory.c — an estimate of what a run needs, made before anything big is allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "train/memory.h"
#include "train/optimizer.h"
#include "train/tree.h"

static double field_of(const rf_ctx *ctx, const char *path, const char *key)
{
    char *text;
    size_t size;
    double kilobytes = 0;
    if (rf__read_file(ctx, path, 1 << 20, &text, &size, NULL)) return 0;
    const char *at = strstr(text, key);
    if (at) kilobytes = strtod(at + strlen(key), NULL);
    rf__free(ctx, text);
    return kilobytes * 1024;
}

double rf__memory_left(const rf_ctx *ctx)
{
    struct rlimit limit;
    double left = field_of(ctx, "/proc/meminfo", "MemAvailable:");
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) {
        const double rest = (double)limit.rlim_cur - field_of(ctx, "/proc/self/status", "VmSize:");
        if (left <= 0 || rest < left) left = rest;
    }
    return left;
}

/* What a layer keeps of each token while recording: query, key and value, attention, its projection, the norm's input
 * and output, the feed-forward before and after its activation, its projection, the second norm's input and output. */
double rf__memory_batch(const rf_params *p, int64_t tokens)
{
    const rf_config *c = &p->config;
    const double layer = 9.0 * (double)c->hidden_size + 2.0 * (double)c->intermediate_size;
    const double logits = 32.0 * 1048576;                                     /* one chunk of them, see vocab_loss.c */
    return sizeof(float) * (double)tokens * (layer * (double)c->num_hidden_layers + 6.0 * (double)c->embedding_size) + logits;
}

rf_status rf__memory_check(const rf_params *p, const rf_train_options *o, double left, char *note, size_t size,
                           rf_error *why)
{
    const rf__rule rule = rf__rule_of(o);
    const double leaves = rf__tree_slabs(0, o->gradient_accumulation_steps) - 1.0;
    const double slabs = rf__optimizer_bytes(p, &rule) + leaves * sizeof(float) * (double)p->total, batch = rf__memory_batch(p, o->tokens_per_batch);
    snprintf(note, size, "%.2f million parameters: %.0f MB with gradients and moments, about %.0f MB for a batch; %.0f MB are free",
             (double)rf_config_parameters(&p->config) * 1e-6, slabs * 1e-6, batch * 1e-6, left * 1e-6);
    if (left <= 0 || slabs + batch <= left) return RF_OK;
    int64_t fits = o->tokens_per_batch;
    while (fits >= 8 && slabs + rf__memory_batch(p, fits) > left) fits /= 2;
    if (fits < 8) return rf_fail(why, RF_ENOMEM, "out of memory: %s; no batch fits", note);
    return rf_fail(why, RF_ENOMEM, "out of memory: %s; tokens_per_batch %lld would fit", note, (long long)fits);
}
