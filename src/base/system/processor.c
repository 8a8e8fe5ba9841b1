/* processor.c — caches; the features of x86 processors, by cpuid. gcc's __builtin_cpu_supports does the same, but not
 * every compiler's library has it (Zig's says no to everything), and its names differ. On Arm the system is asked
 * (os/). */
#include "base/system/processor.h"

#include "base/base.h"
#include "base/os/os.h"

static size_t share;

static void ask_for_caches(void) { share = rf__os_cache_share(); }

size_t rf__cache_share(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_for_caches);
    return share;
}

#if defined(__x86_64__)
#include <cpuid.h>

enum { A, B, C, D };

/* The registers that the system saves for a process, bits of XCR0. (macOS shows ZMM only to processes that use it: such
 * a Mac gets avx2.) */
enum { NONE = 0, YMM = 0x06, ZMM = 0xe6 };

static const struct { const char *name; unsigned leaf, below; int word, bit; unsigned saved; } features[] = {
    {"sse4.1", 1, 0, C, 19, NONE},     {"sse4.2", 1, 0, C, 20, NONE},    {"fma", 1, 0, C, 12, YMM},
    {"f16c", 1, 0, C, 29, YMM},        {"avx2", 7, 0, B, 5, YMM},        {"avxvnni", 7, 1, A, 4, YMM},
    {"avx512f", 7, 0, B, 16, ZMM},     {"avx512dq", 7, 0, B, 17, ZMM},   {"avx512bw", 7, 0, B, 30, ZMM},
    {"avx512vl", 7, 0, B, 31, ZMM},    {"avx512vnni", 7, 0, C, 11, ZMM}, {"avx512bf16", 7, 1, A, 5, ZMM},
    {"avx512fp16", 7, 0, D, 23, ZMM},
};
static bool there[RF_COUNT(features)];
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static unsigned saved_registers(void)
{
    unsigned w[4], low = 0, high;
    if (!__get_cpuid(1, &w[A], &w[B], &w[C], &w[D]) || !(w[C] >> 27 & 1)) return 0;      /* OSXSAVE */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void ask(void)
{
    const unsigned saved = saved_registers();
    for (size_t i = 0; i < RF_COUNT(features); i++) {
        unsigned w[4] = {0};
        there[i] = (saved & features[i].saved) == features[i].saved &&
                   __get_cpuid_count(features[i].leaf, features[i].below, &w[A], &w[B], &w[C], &w[D]) &&
                   (w[features[i].word] >> features[i].bit & 1);
    }
}

bool rf__processor_has(const char *feature)
{
    pthread_once(&asked, ask);
    for (size_t i = 0; i < RF_COUNT(features); i++)
        if (!strcmp(features[i].name, feature)) return there[i];
    return false;
}
#elif !defined(__aarch64__)
bool rf__processor_has(const char *feature)
{
    (void)feature;
    return false;
}
#endif
