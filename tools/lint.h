/* lint.h — read by the analyzers before every file (tools/lint.sh): they see one file at a time, and this is what they need to
 * know of others.  rf_fail returns the code that it is given.                                                           */
#ifndef LINT_H
#define LINT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE                     /* what many files begin with, before the first header of the system */
#endif
#include "roformer/context.h"

#define rf_fail(why, code, ...) ((void)(rf_fail)(why, code, __VA_ARGS__), (rf_status)(code))

#ifdef RF_CPPCHECK                      /* reads no headers of the system */
#define json_object_foreach(object, key, value) for (key = json_key(object), value = json_value(object); key; key = json_key(object))
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRIx64 "lx"
#define PRIx32 "x"
#define JSON_INTEGER_FORMAT "lld"
#endif

#endif
