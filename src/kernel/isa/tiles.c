/* tiles.c — whether this process may use the processor's tiles (AMX), and the emulated tiles.
 *
 * Three parties must allow it, in this order:
 *
 *     processor   CPUID 7, EDX: AMX-BF16 (bit 22), AMX-TILE (24), AMX-INT8 (25)
 *     kernel      XCR0, bits 17 and 18: a thread's tiles and their configuration are saved (Linux 5.16 and later)
 *     process     arch_prctl(ARCH_REQ_XCOMP_PERM, 18): requested once, for all threads; refused if a thread's
 *                 alternate stack for signals is too small for 8 KB more, or by a filter of system calls
 *
 * A hypervisor that does not expose tiles hides them in CPUID.  If the processor model has tiles, the message names the
 * hypervisor.                                                                                                        */
#if defined(__x86_64__) && defined(__linux__)
#define _GNU_SOURCE
#include <cpuid.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <errno.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/gemm/gemm_tiles.h"
#include "kernel/isa/tiles.h"

_Thread_local rf__tile_file rf__tiles;

void rf_tiles_counted(rf_tile_counts *out)
{
    if (out) *out = rf__tiles.done;
}

enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, SAVED = 3 << 17 };
static const unsigned hypervisor = 1U << 31;

/* Processors of Intel's family 6 with tiles: Sapphire Rapids, Emerald Rapids, Granite Rapids. */
static bool has_them_by_name(const rf__tiles_seen *s)
{
    static const unsigned model[] = {0x8f, 0xcf, 0xad, 0xae};
    const unsigned family = s->signature >> 8 & 15, number = (s->signature >> 12 & 0xf0) | (s->signature >> 4 & 15);
    for (size_t i = 0; s->vendor_ebx == 0x756e6547 && family == 6 && i < RF_COUNT(model); i++)      /* "Genu" */
        if (number == model[i]) return true;
    return false;
}

const char *rf__tiles_lack_by(const rf__tiles_seen *s)
{
    if (!(s->units & TILE)) {
        if (!has_them_by_name(s)) return "amx-tile";
        if (s->features & hypervisor) return "amx-tile, which this processor has but its hypervisor does not grant";
        return "amx-tile, which this kind of processor has but its firmware has switched off";
    }
    if (!(s->units & BF16)) return "amx-bf16";
    if (!(s->units & INT8)) return "amx-int8";
    if ((s->saved & SAVED) != SAVED)
        return "amx-tile, which the kernel does not grant: it does not save tiles (Linux 5.16 and later do)";
    if (s->refusal == ENOSPC)
        return "amx-tile, which the kernel does not grant: a thread's alternate signal stack is too small for tiles";
    if (s->refusal) return "amx-tile, which the kernel does not grant to this process: it refused arch_prctl's request";
    return NULL;
}

#if defined(__x86_64__) && defined(__linux__)
enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static const char *lacks;

static uint64_t saved_by_kernel(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Permission is requested last, and only if it can be granted. */
static void ask(void)
{
    rf__tiles_seen s = {0};
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d)) s.vendor_ebx = b;
    if (__get_cpuid(1, &a, &b, &c, &d)) s.signature = a, s.features = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) s.units = d;
    if (s.features & bit_OSXSAVE) s.saved = saved_by_kernel();
    lacks = rf__tiles_lack_by(&s);
    if (lacks || !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)) return;
    s.refusal = errno;
    lacks = rf__tiles_lack_by(&s);
}

const char *rf__tiles_lack(void)
{
    pthread_once(&asked, ask);
    return lacks;
}
#elif defined(__x86_64__)
const char *rf__tiles_lack(void) { return "amx-tile, for which only Linux is asked"; }
#else
const char *rf__tiles_lack(void) { return "amx-tile"; }
#endif

/* ---- products in tiles ------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
extern const rf__tile_products rf__amx_tiles;
#endif
extern const rf__tile_products rf__amx_emulated_tiles;

const rf__tile_products *rf__tile_products_of(const rf_ctx *ctx)
{
#if defined(__x86_64__)
    if (!strcmp(ctx->isa, "amx")) return &rf__amx_tiles;
#endif
    return strcmp(ctx->isa, "amx_emulated") ? NULL : &rf__amx_emulated_tiles;
}
