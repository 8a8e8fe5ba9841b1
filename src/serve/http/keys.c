/* keys.c — API keys: one in each line of a file, `KEY` or `NAME KEY`; empty lines and lines that begin with # are
 * skipped. Names are in the access log, keys nowhere. The file is read again when the models are loaded again. */
#include <stdlib.h>

#include "serve/server.h"

typedef struct keys {
    srv_key *key;
    int n;
} keys;

/* Bytes of a name before a blank and a key; 0: the line is a key. */
static size_t name_size(const char *line, size_t n)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = 0;
    while (size < n && line[size] && strchr(good, line[size])) size++;
    return size < n && rf__white(line[size]) && size < sizeof ((srv_key *)0)->name ? size : 0;
}

static rf_status add(const srv_server *s, keys *to, const char *line, size_t n, int number, rf_error *why)
{
    srv_key own = {.name = ""};
    rf__trim_white(&line, &n);
    if (!n || *line == '#') return RF_OK;
    const size_t name = number ? name_size(line, n) : 0; /* the environment has only a key */
    memcpy(own.name, line, name);
    line += name;
    n -= name;
    rf__trim_white(&line, &n);
    if (n >= sizeof own.key || memchr(line, 0, n))
        return rf_fail(why, RF_EDATA, "%s:%d: expected a key of 1 to %zu bytes, got %zu bytes",
                       number ? s->o.key_file : "ROFORMER_API_KEY", number, sizeof own.key - 1, n);
    srv_key *more = realloc(to->key, (size_t)(to->n + 1) * sizeof *more);
    if (!more) return rf_fail(why, RF_ENOMEM, "out of memory: %d keys", to->n + 1);
    to->key = more;
    memcpy(own.key, line, n);
    more[to->n++] = own;
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
bool srv_key_matches(srv_request *r, const char *key)
{
    srv_server *s = r->s;
    char padded[sizeof s->key->key] = {0};
    size_t n = strlen(key);
    int found = -1;
    rf__trim_white(&key, &n);
    if (n >= sizeof padded) return false;
    memcpy(padded, key, n);
    pthread_mutex_lock(&s->key_lock);
    for (int i = 0; i < s->keys; i++) {
        unsigned different = 0;
        for (size_t j = 0; j < sizeof padded; j++) different |= (unsigned)(padded[j] ^ s->key[i].key[j]) & 255U;
        if (!different) found = i;
    }
    if (found >= 0) memcpy(r->key_name, s->key[found].name, sizeof r->key_name);
    pthread_mutex_unlock(&s->key_lock);
    return found >= 0;
}
