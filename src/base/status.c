/* status.c — errors as a code and a message. */
#include <stdarg.h>
#include <stdio.h>

#include "base.h"

const char *rf_status_text(rf_status status)
{
    static const char *const sentence[] = {
#define ROW(name, text) text,
        RF_STATUSES(ROW)
#undef ROW
    };
    return (unsigned)status < RF_STATUS_COUNT ? sentence[status] : "unknown status";
}

bool rf__blank(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && rf__white(text[i])) i++;
    return i == bytes;
}

rf_status rf_fail(rf_error *why, rf_status code, const char *format, ...)
{
    if (!why || why->code) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    why->code = code;
    return code;
}
