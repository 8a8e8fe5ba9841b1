/* profile.h — writes the operations of models as a trace (--profile FILE). */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <stdbool.h>

#include "roformer/context.h"

/* Opens the file; false: it cannot be written, and errno says why. */
bool cli_profile_open(const char *name);

rf_tracer cli_profile_add;

/* Ends the trace; false: it could not be written whole, and errno says why. */
bool cli_profile_close(void);

#endif
