/* keys.c — API keys: one in each line of a file; empty lines and lines that begin with # are skipped. The file is read
 * again when the models are loaded again. */
#include <stdlib.h>

#include "serve/server.h"

typedef struct keys {
    char (*key)[sizeof ((srv_server *)0)->key[0]];
    int n;
} keys;

static rf_status add(const srv_server *s, keys *to, const char *line, size_t n, int number, rf_error *why)
{
    while (n && rf__white(line[n - 1])) n--;
    while (n && rf__white(*line)) line++, n--;
    if (!n || *line == '#') return RF_OK;
    if (n >= sizeof *s->key || memchr(line, 0, n))
        return rf_fail(why, RF_EDATA, "%s:%d: expected a key of 1 to %zu bytes, got %zu bytes",
                       number ? s->o.key_file : "ROFORMER_API_KEY", number, sizeof *s->key - 1, n);
    char(*more)[sizeof *s->key] = realloc(to->key, (size_t)(to->n + 1) * sizeof *more);
    if (!more) return rf_fail(why, RF_ENOMEM, "out of memory: %d keys", to->n + 1);
    to->key = more;
    memset(more[to->n], 0, sizeof *more);
    memcpy(more[to->n++], line, n);
    return RF_OK;
}

static rf_status read_file(const srv_server *s, keys *to, rf_error *why)
{
    char *text;
    size_t size;
    rf_status status = rf__read_named(s->o.ctx, s->o.key_file, 1 << 20, &text, &size, why);
    if (status) return status;
    int number = 1;
    for (const char *at = text, *end = text + size; at < end && !status; number++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        status = add(s, to, at, (size_t)((feed ? feed : end) - at), number, why);
        at = feed ? feed + 1 : end;
    }
    rf__free(s->o.ctx, text);
    if (!status && !to->n) status = rf_fail(why, RF_EDATA, "%s: expected an API key, got none", s->o.key_file);
    return status;
}

rf_status srv_keys_read(srv_server *s, rf_error *why)
{
    keys own = {0};
    rf_status status = s->o.key_file ? read_file(s, &own, why) : RF_OK;
    if (!status && s->o.key) status = add(s, &own, s->o.key, strlen(s->o.key), 0, why);
    pthread_mutex_lock(&s->key_lock);
    void *old = own.key;
    if (!status) {
        old = s->key;
        s->key = own.key;
        s->keys = own.n;
    }
    pthread_mutex_unlock(&s->key_lock);
    free(old);
    return status;
}

/* All bytes of all keys are compared, so that the time reveals nothing about them. */
bool srv_key_matches(srv_server *s, const char *key)
{
    char padded[sizeof *s->key] = {0};
    size_t n = strlen(key);
    int found = 0;
    while (n && rf__white(*key)) key++, n--;
    while (n && rf__white(key[n - 1])) n--;
    if (n >= sizeof padded) return false;
    memcpy(padded, key, n);
    pthread_mutex_lock(&s->key_lock);
    for (int i = 0; i < s->keys; i++) {
        unsigned different = 0;
        for (size_t j = 0; j < sizeof padded; j++) different |= (unsigned)(padded[j] ^ s->key[i][j]) & 255U;
        found |= !different;
    }
    pthread_mutex_unlock(&s->key_lock);
    return found;
}
