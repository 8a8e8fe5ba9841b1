/* source.h — internal interface of a source, for readers; see also roformer/inspect/files.h. */
#ifndef RF_DATA_SOURCE_H
#define RF_DATA_SOURCE_H

#include "base/base.h"
#include "roformer/inspect/files.h"

/* A source of bytes in memory, which the caller owns. `name` is for messages. */
rf_status rf__source_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf_source **out,
                                 rf_error *why);

/* Bytes of the file itself that have been used. */
uint64_t rf__source_used(const rf_source *s);

#endif
