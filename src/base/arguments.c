/* arguments.c — checks of what callers pass: structs of options that may grow, and required pointers; see base.h. */
#include "base/base.h"

void rf__options_init(void *out, size_t given, const void *defaults, size_t size)
{
    if (!out) return;
    memset(out, 0, given);
    memcpy(out, defaults, given < size ? given : size);
    memcpy(out, &given, given < sizeof given ? given : sizeof given);
}

rf_status rf__options_read(void *own, size_t size, size_t least, const void *given, const char *type, rf_error *why)
{
    size_t theirs;
    if (!given) return RF_OK;
    memcpy(&theirs, given, sizeof theirs);
    if (theirs < least || theirs > size)
        return rf_fail(why, RF_EARG, "%s: size: expected %zu, got %zu; fill in the defaults first", type, size, theirs);
    memcpy(own, given, theirs);
    memcpy(own, &size, sizeof size);
    return RF_OK;
}

rf_status rf__missing(const char *function, const char *names, rf_error *why)
{
    return rf_fail(why, RF_EARG, "%s: expected pointers, got NULL for one of: %s", function, names);
}
