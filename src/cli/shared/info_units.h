/* info_units.h — the processor's units, for cmd_info.c. */
#ifndef CLI_INFO_UNITS_H
#define CLI_INFO_UNITS_H

#include "cli/io/json.h"

/* An object: for each unit that this kind of processor may have, whether it is used, and for what, or why not. flags:
 * those of /proc/cpuinfo, each surrounded by spaces; best: the rung in use. */
json_t *info_units(const char *flags, const char *best);

#endif
