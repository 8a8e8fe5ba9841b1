/* select.c — the ladder of rungs.def: which rungs this processor supports, and their tables. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/system/processor.h"
#include "kernel/kernel.h"
#include "kernel/isa/tiles.h"

/* ---- what each rung needs ---- */

/* Notes the first missing feature. */
static bool lack(const char **lacks, const char *feature)
{
    if (!*lacks) *lacks = feature;
    return false;
}

#if defined(__x86_64__)
/* Of other makers, a processor with avx512fp16 may do better otherwise (isa_avx512fp16.c). */
static bool is_sapphire(const char **lacks)
{
    unsigned a, maker[3];
    if (!__get_cpuid(0, &a, &maker[0], &maker[2], &maker[1]) || memcmp(maker, "GenuineIntel", sizeof maker))
        return lack(lacks, "one of Intel's processors");
    return rf__processor_has("avx512fp16") || lack(lacks, "avx512fp16");
}

static bool has_tiles(const char **lacks)
{
    const char *missing = rf__tiles_lack();
    return !missing || lack(lacks, missing);
}
#endif

#define CPU(feature) (rf__processor_has(#feature) || lack(lacks, #feature))
#define SAPPHIRE is_sapphire(lacks)
#define RUNG(name) can_##name(lacks)
#define TILES has_tiles(lacks)
#define ON_emulated(there, elsewhere) there
#if defined(__x86_64__)
#define ON_x86_64(there, elsewhere) there
#else
#define ON_x86_64(there, elsewhere) elsewhere
#endif
#if defined(__aarch64__)
#define ON_aarch64(there, elsewhere) there
#else
#define ON_aarch64(there, elsewhere) elsewhere
#endif
#if defined(__wasm32__)                 /* where there are no vectors, a module that has them does not load */
#define ON_wasm32(there, elsewhere) there
#else
#define ON_wasm32(there, elsewhere) elsewhere
#endif

#define RFR(name, machine, needs, flags)                                                                               \
    static bool can_##name(const char **lacks)                                                                         \
    {                                                                                                                  \
        (void)lacks;                                                                                                   \
        const bool built = ON_##machine(rfk_##name.isa != NULL, true);                                                 \
        if (!built) return lack(lacks, "its instructions, which the compiler of this build did not know");             \
        return ON_##machine(needs, lack(lacks, #machine));                                                             \
    }
#include "roformer/kernel/rungs.def"
#undef RFR

static bool can_ref(const char **lacks)
{
    (void)lacks;
    return true;
}

enum { OF_x86_64, OF_aarch64, OF_wasm32, OF_emulated };

static const struct rung {
    const char *name;
    const rfk_table *table;             /* NULL: of another architecture */
    bool (*can)(const char **lacks);
    bool emulated;
} ladder[] = {
    {"ref", &rfk_ref, can_ref, false},
#define RFR(name, machine, needs, flags) \
    {#name, ON_##machine(&rfk_##name, NULL), can_##name, OF_##machine == OF_emulated},
#include "roformer/kernel/rungs.def"
#undef RFR
};

int rfk_rung_emulated(const char *name)
{
    for (size_t i = 0; name && i < RF_COUNT(ladder); i++)
        if (!strcmp(ladder[i].name, name)) return ladder[i].emulated;
    return 0;
}

const char *rfk_rung_name(int i, const char **lacks)
{
    if (i < 0 || (size_t)i >= RF_COUNT(ladder)) return NULL;
    const char *missing = NULL;
    ladder[i].can(&missing);
    if (lacks) *lacks = missing;
    return ladder[i].name;
}

/* ---- tables ---- */

/* The table of a higher rung replaces only the kernels that it has; a NULL entry keeps the kernel of the rung below. */
static void overlay(rfk_table *t, const rfk_table *finer)
{
    t->isa = finer->isa;
#define RFK(name, result, parameters) \
    if (finer->name) t->name = finer->name;
#include "roformer/kernel/kernels.def"
#undef RFK
}

int rfk_rung_sized(int i, rfk_table *out, size_t size)
{
    int at = -1;
    if (i < 0 || !out) return 0;
    rfk_table table = {0};
    for (size_t j = 0; j < RF_COUNT(ladder) && at < i; j++) {
        const char *lacks = NULL;
        if (!ladder[j].can(&lacks)) continue;
        overlay(&table, ladder[j].table);
        at++;
    }
    if (at < i) return 0;
    memset(out, 0, size);
    memcpy(out, &table, size < sizeof table ? size : sizeof table);
    return 1;
}
