/* tiles.h — internal: what the rungs with tiles (amx, amx_emulated) need besides their kernels. */
#ifndef RF_TILES_H
#define RF_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "roformer/kernel/kernels.h"

/* NULL: this process may use tiles.  Otherwise the missing condition, and the party responsible for it unless that is
 * the processor. */
const char *rf__tiles_lack(void);

/* The inputs of that decision. */
typedef struct rf__tiles_seen {
    unsigned vendor_ebx;                /* CPUID 0: EBX                                                               */
    unsigned signature;                 /* CPUID 1: EAX                                                               */
    unsigned features;                  /* CPUID 1: ECX                                                               */
    unsigned units;                     /* CPUID 7: EDX                                                               */
    uint64_t saved;                     /* XCR0                                                                       */
    int refusal;                        /* errno of the request for permission; 0: granted                            */
} rf__tiles_seen;

const char *rf__tiles_lack_by(const rf__tiles_seen *s);

/* Emulated tiles of the calling thread (vec_amx_emulated.h): rows of 64 bytes. */
enum { RF__TILES = 8, RF__TILE_ROWS = 16, RF__TILE_BYTES = 64 };
typedef struct rf__tile_file {
    _Alignas(64) uint8_t tile[RF__TILES][RF__TILE_ROWS][RF__TILE_BYTES];
    bool configured;
    rf_tile_counts done;
} rf__tile_file;

extern _Thread_local rf__tile_file rf__tiles;

#endif
