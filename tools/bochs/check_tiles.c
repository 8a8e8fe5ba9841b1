/* check_tiles.c — products by the kernels in tiles, a line for each: rows, columns, depth and how in hexadecimal, then a
 * hash of the result's bits in bf16, of the sums in int8, and of these with scales.
 *
 * Compiled twice: for the machine that Bochs is, with the instructions, and for this one with -DEMULATED, with the
 * tiles of vec_amx_emulated.h.  Both must print the same (run.sh). */
#include "kernel/kernel.h"

#ifdef EMULATED
#include <stdio.h>
#include "kernel/isa/vec_amx_emulated.h"
#else
#include "kernel/isa/vec_amx.h"
#endif
#include "kernel/gemm/gemm_amx.inc"

enum { ROWS = 65, K = 768, STRIDE = AMX_STRIDE, SPACE = 96 };

static char block[SPACE * STRIDE] __attribute__((aligned(64)));
static char panel[AMX_DEPTH * AMX_COLUMNS] __attribute__((aligned(64)));
static uint32_t result[ROWS * 40], from[ROWS * 40];
static float row[ROWS], column[AMX_COLUMNS], bias[AMX_COLUMNS];
static int32_t offset[AMX_COLUMNS];

static void put(char c)
{
#ifdef EMULATED
    putchar(c);
#else
    __asm__ volatile("outb %0, %w1" ::"a"(c), "d"((uint16_t)0xe9));
#endif
}

static void put_number(uint32_t x, int digits)
{
    while (digits--) put("0123456789abcdef"[x >> 4 * digits & 15]);
    put(' ');
}

static uint64_t state;
static uint32_t word(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* f32 bits: about 1 in size, or of all sizes. */
static uint32_t number(int wide)
{
    const uint32_t w = word(), exponent = wide ? 1 + (w >> 9) % 253 : 120 + (w >> 9) % 10;
    return (w & 0x807fffff) | (wide && w % 31 == 0 ? 0 : exponent << 23);
}

static void hash(const void *what, int rows, int n)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) {
            uint32_t x = ((const uint32_t *)what)[i * 40 + j];
            if ((x & 0x7fffffff) > 0x7f800000) x = 0x7fc00000;
            h = (h ^ x) * 16777619u;
            h ^= h >> 15;
        }
    put_number(h, 8);
}

static void one(int rows, int n, int k, int how)
{
    const int wide = how & 1, start = how >> 1;                     /* start: none, one row, rows */
    state = (uint64_t)rows * 1000003 + (uint64_t)n * 1009 + (uint64_t)k * 31 + (uint64_t)how;
    put('m'), put_number((uint32_t)rows, 2), put('n'), put_number((uint32_t)n, 2);
    put('k'), put_number((uint32_t)k, 3), put_number((uint32_t)how, 1);
    uint16_t *a = (uint16_t *)(void *)block, *b = (uint16_t *)(void *)panel;
    for (int i = 0; i < (rows + 15) / 16 * 16; i++)
        for (int p = 0; p < k; p++) a[i * STRIDE / 2 + p] = (uint16_t)(number(wide) >> 16);
    for (int i = 0; i < (k + 1) / 2 * 2 * AMX_COLUMNS; i++) b[i] = (uint16_t)(number(wide) >> 16);
    for (int i = 0; i < rows * 40; i++) from[i] = number(wide), result[i] = 0;
    for (int i = 0; k % 2 && i < rows; i++) a[i * STRIDE / 2 + k] = 0;
    k_gemm_panel_bf16((float *)(void *)result, 40, a, b, rows, n, (k + 1) / 2,
                      start ? (const float *)(void *)from : NULL, start == 2 ? 40 : 0);
    hash(result, rows, n);
    for (int i = 0; i < (rows + 15) / 16 * 16; i++)
        for (int p = 0; p < 2 * k; p++) block[i * STRIDE + p] = (char)(word() >> 24);
    for (int i = 0; i < (2 * k + 3) / 4 * 4 * AMX_COLUMNS; i++) panel[i] = (char)(word() >> 24);
    for (int i = 0; i < rows * 40; i++) result[i] = word() >> 10;
    for (int i = 0; i < ROWS; i++) row[i] = 0.5F + (float)(word() >> 8) * 0x1p-24F;
    for (int i = 0; i < AMX_COLUMNS; i++) {
        column[i] = 0.25F + (float)(word() >> 8) * 0x1p-24F, bias[i] = (float)(word() >> 8), offset[i] = 0;
    }
    const rfk_i8_store store = {row, column, offset, how & 1 ? bias : NULL};
    k_gemm_panel_i8((int32_t *)(void *)result, 40, block, (const int8_t *)panel, rows, n, 2 * k, start > 0, NULL);
    hash(result, rows, n);
    k_gemm_panel_i8((int32_t *)(void *)result, 40, block, (const int8_t *)panel, rows, n, 2 * k - 1, start > 0, &store);
    hash(result, rows, n);
    put('\n');
}

static void all(void)
{
    static const int size[][3] = {{1, 32, 1},   {2, 31, 32},  {15, 5, 33},  {16, 32, 64}, {17, 32, 30},
                                  {31, 7, 100}, {32, 32, 96}, {33, 32, 96}, {48, 1, 65}, {64, 32, 128}, {65, 32, 2}};
    for (int s = 0; s < (int)(sizeof size / sizeof *size); s++)
        for (int how = 0; how < 6; how++) one(size[s][0], size[s][1], size[s][2], how);
    k_thread_end();
    k_thread_end();
    put(t_configured() ? 'C' : 'R'), put('\n');
}

#ifdef EMULATED
_Thread_local rf__tile_file rf__tiles;
int main(void)
{
    all();
    return 0;
}
#else
/* What compilers call. */
void *memset(void *to, int c, size_t n)
{
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n)::"memory");
    return to;
}

/* Bochs ends when it is told so at this port. */
void tiles_main(void);
void tiles_main(void)
{
    all();
    put('e'), put('n'), put('d'), put('\n');
    for (const char *s = "Shutdown"; *s; s++) __asm__ volatile("outb %0, %w1" ::"a"(*s), "d"((uint16_t)0x8900));
}
#endif
