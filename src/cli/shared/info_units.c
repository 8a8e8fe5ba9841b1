/* info_units.c — roformer info --env: the processor's arithmetic units, and what each of them is used for. */
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"
#include "cli/shared/info_units.h"
#include "roformer/kernel/kernels.h"

/* A unit by its name in /proc/cpuinfo. With a rung: what the rung uses it for; without: why it is not used. */
static const struct unit { const char *flag, *rung, *what; } units[] = {
#if defined(__x86_64__)
    {"sse4_1", "sse4", "vectors of 4 numbers"},
    {"avx2", "avx2", "vectors of 8 numbers"},
    {"fma", "avx2", "multiply-adds"},
    {"f16c", "avx2", "weights in f16"},
    {"avx_vnni", "avxvnni", "products in int8"},
    {"avx512f", "avx512", "vectors of 16 numbers"},
    {"avx512bw", "avx512", "bytes and halves in them"},
    {"avx512dq", "avx512", "doubles and words in them"},
    {"avx512vl", "avx512", "its instructions on shorter vectors"},
    {"avx512_vnni", "avx512vnni", "products in int8"},
    {"avx512_bf16", "avx512bf16", "products and attention in bf16"},
    {"avx512_fp16", "avx512fp16", "as a sign of cores whose products in bf16 are faster by multiply-adds of f32"},
    {"avx512ifma", NULL, "whole numbers of 52 bits have no use here"},
    {"avx512vbmi", NULL, "bytes are not permuted: weights lie as they are multiplied"},
    {"amx_tile", "amx", "tiles of 16 rows of 64 bytes"},
    {"amx_bf16", "amx", "products in bf16"},
    {"amx_int8", "amx", "products in int8"},
#elif defined(__aarch64__)
    {"asimd", "neon", "vectors of 4 numbers"},
    {"asimdhp", NULL, "nothing is computed in f16: it has too few digits for sums"},
    {"asimddp", "neondot", "products in int8"},
    {"i8mm", "neoni8mm", "products in int8"},
    {"bf16", "neonbf16", "products and attention in bf16"},
    {"sve", NULL, "there are no kernels for it: neon is used"},
    {"sme", NULL, "there are no kernels for tiles: neon is used"},
#endif
    {NULL, NULL, NULL},
};

/* The rungs up to the context's are in use; those above it are not, nor one that is emulated instead. *lacks: what this
 * machine lacks for the rung, or NULL. */
static bool in_use(const char *rung, const char *best, const char **lacks)
{
    const char *name, *missing;
    bool found = false;
    *lacks = NULL;
    for (int i = 0; (name = rfk_rung_name(i, &missing)); i++) {
        if (!strcmp(name, rung)) *lacks = missing, found = !missing;
        if (!strcmp(name, best)) return found && !(rfk_rung_emulated(best) && !strncmp(best, rung, strlen(rung)));
    }
    return false;
}

/* The rung whose kernels replace all kernels of this unit, or NULL. */
static const char *better_than(const struct unit *u)
{
    if (!strcmp(u->flag, "asimddp")) return "neoni8mm";
    return strcmp(u->flag, "avx_vnni") ? NULL : "avx512vnni";
}

/* flags: " avx2 fma ... ", each surrounded by spaces. */
static bool has(const char *flags, const char *flag)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", flag);
    return strstr(flags, word) != NULL;
}

static json_t *unit_state(const struct unit *u, const char *flags, const char *best)
{
    const char *lacks = NULL;
    const bool used = u->rung && in_use(u->rung, best, &lacks);
    const bool granted = !lacks || !strchr(lacks, ',');     /* a comma: the obstacle is not the processor */
    if (!has(flags, u->flag)) return granted ? json_string("not there") : json_sprintf("not there: needs %s", lacks);
    if (!u->rung) return json_sprintf("not used: %s", u->what);
    const char *better = better_than(u), *without;
    if (better && in_use(better, best, &without))
        return json_sprintf("not used: %s has better kernels for %s", better, u->what);
    if (used) return json_sprintf("used (%s): %s", u->rung, u->what);
    if (lacks) return json_sprintf("not used: the rung %s needs %s", u->rung, lacks);
    return json_sprintf("not used: %s is the rung that was chosen, %s is above it", best, u->rung);
}

json_t *info_units(const char *flags, const char *best)
{
    json_t *o = json_object();
    for (const struct unit *u = units; u->flag; u++) cli_json_set(&o, u->flag, unit_state(u, flags, best));
    return o;
}
