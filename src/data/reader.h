/* reader.h — what the fuzz harness and the tests use besides the public header. */
#ifndef RF_READER_INTERNAL_H
#define RF_READER_INTERNAL_H

#include "roformer/reader.h"

/* A reader of one file that is in memory and stays there. */
rf_status rf__reader_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                 const rf_reader_options *options, rf_reader **out, rf_error *why);

#endif
