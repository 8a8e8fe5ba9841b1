/* profile.h — writes the operations of models as a trace (--profile FILE). */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <stdbool.h>

#include "roformer/context.h"

/* Opens the file. RF_EARG: it exists and is not a trace, so it may be an input. RF_EIO: it cannot be written. */
rf_status cli_profile_open(const char *name, rf_error *why);

rf_tracer cli_profile_add;

/* Ends the trace. RF_EIO: it could not be written whole, or the command has written another file under its name. */
rf_status cli_profile_close(rf_error *why);

#endif
