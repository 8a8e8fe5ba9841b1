/* status.c — errors as a code and a message. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* A message that does not fit ends after a whole word, with "...", so that lists of names are not cut in a name. */
static void end_at_word(char *text, size_t size)
{
    static const char dots[] = " ...";
    const size_t last = size - sizeof dots;
    size_t n = last;
    while (n > last / 2 && text[n] != ' ') n--;
    if (text[n] != ' ')                                                 /* one long word: between two characters */
        for (n = last; n && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    memcpy(text + n, dots, sizeof dots);
}

rf_status rf_fail(rf_error *why, rf_status code, const char *format, ...)
{
    if (!why || why->code) return code;
    va_list args;
    va_start(args, format);
    if (vsnprintf(why->text, sizeof why->text, format, args) >= (int)sizeof why->text)
        end_at_word(why->text, sizeof why->text);
    va_end(args);
    why->code = code;
    return code;
}
