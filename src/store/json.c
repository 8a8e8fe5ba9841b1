/* json.c — JSON documents at the door: bounded, without duplicates, failures with line and byte. */
#include "store.h"

rf__label rf__printable(const char *text)
{
    rf__label label;
    size_t n = 0;
    for (; text[n] && n < sizeof label.text - 1; n++) {
        const unsigned char c = (unsigned char)text[n];
        label.text[n] = c < 32 || c == 127 ? '?' : text[n];
    }
    if (text[n])                                                   /* cut: not inside a character */
        while (n && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    label.text[n] = 0;
    return label;
}

/* Upper bound of the values in a document.  A parser spends some 50 bytes on a value of two bytes ("0,"), so a small
 * file could ask for a large memory: counted before anything is built. */
static size_t census(const char *text, size_t size)
{
    size_t values = 1;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == ',' || c == '[' || c == '{')) values++;
    }
    return values;
}

json_t *rf__json_parse(const char *text, size_t size, size_t flags, const char *name, rf_error *why)
{
    const size_t values = census(text, size);
    if (values > RF__MAX_VALUES) {
        rf_fail(why, RF_EDATA, "%s: JSON of %zu values, the limit is %d", name, values, RF__MAX_VALUES);
        return NULL;
    }
    json_error_t e;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | flags, &e);
    if (!root) {
        const bool memory = json_error_code(&e) == json_error_out_of_memory;
        rf_fail(why, memory ? RF_ENOMEM : RF_EDATA, "%s: not valid JSON: line %d, byte %d: %s", name, e.line, e.position,
                rf__printable(e.text).text);
        return NULL;
    }
    if (!json_is_object(root)) {
        rf_fail(why, RF_EDATA, "%s: the JSON document is not an object", name);
        json_decref(root);
        return NULL;
    }
    return root;
}
