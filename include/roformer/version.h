/* version.h — the version of these headers; CMakeLists.txt reads the project's version from here.
 *
 * threads   only constants: safe everywhere */
#ifndef ROFORMER_VERSION_H
#define ROFORMER_VERSION_H

#define ROFORMER_VERSION_MAJOR 0
#define ROFORMER_VERSION_MINOR 3
#define ROFORMER_VERSION_PATCH 0

/* #if ROFORMER_VERSION_NUMBER >= ROFORMER_VERSION_MAKE(0, 3, 0) */
#define ROFORMER_VERSION_MAKE(major, minor, patch) ((major) * 1000000 + (minor) * 1000 + (patch))
#define ROFORMER_VERSION_NUMBER \
    ROFORMER_VERSION_MAKE(ROFORMER_VERSION_MAJOR, ROFORMER_VERSION_MINOR, ROFORMER_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library in use, "0.3.0", which may be later than that of the headers. Static storage. */
const char *rf_version(void);

#ifdef __cplusplus
}
#endif
#endif
