/* json.c — writes and reads JSON; see json.h. */
#include "cli/io/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/io/path.h"
#include "roformer/tokenizer.h"

static void lose(json_t **all)
{
    json_decref(*all);
    *all = NULL;
}

void cli_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value)) lose(object);
}

void cli_json_add(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value)) lose(list);
}

json_t *cli_text_json(const char *text, size_t size)
{
    static const char unknown[] = "\xEF\xBF\xBD";
    const size_t good = rf_utf8_check(text, size);
    if (good == size) return json_stringn_nocheck(text, size);
    char *fit = size < SIZE_MAX / 4 ? malloc(3 * size) : NULL;
    if (!fit) return NULL;
    size_t wrote = 0;
    for (size_t i = 0; i < size;) {
        const size_t n = rf_utf8_check(text + i, size - i);
        memcpy(fit + wrote, text + i, n);
        wrote += n, i += n;
        if (i == size) break;
        memcpy(fit + wrote, unknown, sizeof unknown - 1);
        wrote += sizeof unknown - 1, i++;
    }
    json_t *value = json_stringn_nocheck(fit, wrote);
    free(fit);
    return value;
}

/* Writes U+007F to U+009F, which JSON may contain and terminals interpret, as \u007F to \u009F; they occur only in
 * strings.  Frees `text`; NULL: no memory. */
static char *escape_controls(char *text)
{
    size_t n = 0, found = 0;
    for (const unsigned char *p = (unsigned char *)text; p && *p; p++, n++)
        found += *p == 127 || (*p == 0xC2 && p[1] < 0xA0);
    if (!found) return text;
    char *out = malloc(n + 5 * found + 1), *to = out;
    for (const unsigned char *p = (unsigned char *)text; out && *p; p++) {
        if (*p != 127 && !(*p == 0xC2 && p[1] < 0xA0)) *to++ = (char)*p;
        else to += sprintf(to, "\\u%04X", *p == 127 ? 127u : (unsigned)*++p);
    }
    if (out) *to = 0;
    free(text);
    return out;
}

/* Through a stream: json_dumps omits keys for which there was no memory. */
char *cli_json_dump(const json_t *value, size_t flags)
{
    rf__os_text all = {0};
    bool whole = value && rf__os_text_open(&all) && !json_dumpf(value, all.to, flags);
    whole = rf__os_text_close(&all) && whole;
    if (whole) return escape_controls(all.text);
    free(all.text);
    return NULL;
}

json_t *cli_json_read(const char *path)
{
    enum { MOST = 1 << 28 };
    char *text;
    size_t size;
    if (cli_read_found(path, MOST, &text, &size, NULL)) return NULL;
    json_t *all = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    if (json_is_object(all)) return all;
    json_decref(all);
    return NULL;
}
