/* stream.c — content of an answer that is written by one thread and sent by another. */
#include "serve/http/stream.h"

#include <stdlib.h>
#include <string.h>

struct srv_stream {
    pthread_mutex_t lock;
    srv_text text; /* what has not been sent begins at byte `from`                               */
    size_t from;
    bool ended;
};

bool srv_stream_begin(srv_request *r, const char *type)
{
    srv_stream *t = calloc(1, sizeof *t);
    if (!t) return srv_error(r, 503, "Overloaded", "out of memory: the answer"), false;
    pthread_mutex_init(&t->lock, NULL);
    r->stream = t;
    atomic_fetch_add(&r->users, 1); /* until srv_stream_end */
    srv_answer(r, 200, type);
    return true;
}

bool srv_stream_write(srv_request *r, const char *text, size_t size)
{
    srv_stream *t = r->stream;
    pthread_mutex_lock(&t->lock);
    srv_put(&t->text, text, size);
    const bool good = !t->text.failed;
    t->text.failed = false; /* what comes later may fit, such as the error that says so */
    pthread_mutex_unlock(&t->lock);
    if (good && !atomic_load(&r->gone)) srv_http_resume(r);
    return good && !atomic_load(&r->gone);
}

void srv_stream_end(srv_request *r)
{
    srv_stream *t = r->stream;
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_mutex_unlock(&t->lock);
    srv_http_resume(r);
    srv_request_release(r);
}

int64_t srv_stream_read(srv_request *r, char *out, size_t most)
{
    srv_stream *t = r->stream;
    pthread_mutex_lock(&t->lock);
    const size_t left = t->text.n - t->from, n = left < most ? left : most;
    const bool over = !n && t->ended;
    if (n) memcpy(out, t->text.at + t->from, n);
    t->from += n;
    if (n && t->from == t->text.n) t->text.n = t->from = 0;
    pthread_mutex_unlock(&t->lock);
    return over ? -1 : (int64_t)n;
}

void srv_stream_free(srv_stream *t)
{
    if (!t) return;
    srv_text_clear(&t->text);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
