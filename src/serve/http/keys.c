/* keys.c — API keys: one in each line of a file; empty lines and lines that begin with # are skipped. */
#include <stdlib.h>

#include "serve/server.h"

static rf_status add(srv_server *s, const char *line, size_t n, int number, rf_error *why)
{
    while (n && rf__white(line[n - 1])) n--;
    while (n && rf__white(*line)) line++, n--;
    if (!n || *line == '#') return RF_OK;
    if (n >= sizeof *s->key || memchr(line, 0, n))
        return rf_fail(why, RF_EDATA, "%s:%d: expected a key of 1 to %zu bytes, got %zu bytes", s->o.key_file,
                       number, sizeof *s->key - 1, n);
    char(*more)[sizeof *s->key] = realloc(s->key, (size_t)(s->keys + 1) * sizeof *more);
    if (!more) return rf_fail(why, RF_ENOMEM, "out of memory: %d keys", s->keys + 1);
    s->key = more;
    memset(more[s->keys], 0, sizeof *more);
    memcpy(more[s->keys++], line, n);
    return RF_OK;
}

rf_status srv_keys_read(srv_server *s, rf_error *why)
{
    char *text;
    size_t size;
    if (!s->o.key_file) return RF_OK;
    rf_status status = rf__read_named(s->o.ctx, s->o.key_file, 1 << 20, &text, &size, why);
    if (status) return status;
    int number = 1;
    for (const char *at = text, *end = text + size; at < end && !status; number++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        status = add(s, at, (size_t)((feed ? feed : end) - at), number, why);
        at = feed ? feed + 1 : end;
    }
    rf__free(s->o.ctx, text);
    if (!status && !s->keys) status = rf_fail(why, RF_EDATA, "%s: expected an API key, got none", s->o.key_file);
    return status;
}

/* All bytes of all keys are compared, so that the time reveals nothing about them. */
bool srv_key_matches(const srv_server *s, const char *key)
{
    char padded[sizeof *s->key] = {0};
    const size_t n = strlen(key);
    int found = 0;
    if (n >= sizeof padded) return false;
    memcpy(padded, key, n);
    for (int i = 0; i < s->keys; i++) {
        unsigned different = 0;
        for (size_t j = 0; j < sizeof padded; j++) different |= (unsigned)(padded[j] ^ s->key[i][j]) & 255U;
        found |= !different;
    }
    return found;
}
