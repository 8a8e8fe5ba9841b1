/* stream.h — an answer that is sent while it is computed: server-sent events. */
#ifndef SRV_STREAM_H
#define SRV_STREAM_H

#include "serve/server.h"

/* begin    the header of the answer goes out now; content follows. RF_ENOMEM: there is no stream
 * write    appends content; false: the client has left, or there is no memory
 * end      no more content will come
 * read     MHD's thread: bytes that are there now, at most `most`; -1: the end; 0: none now */
typedef struct srv_stream srv_stream;
bool srv_stream_begin(srv_request *r, const char *type);
bool srv_stream_write(srv_request *r, const char *text, size_t size);
void srv_stream_end(srv_request *r);
int64_t srv_stream_read(srv_request *r, char *out, size_t most);
void srv_stream_free(srv_stream *t);

#endif
