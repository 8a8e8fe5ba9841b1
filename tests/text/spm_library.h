/* spm_library.h — SentencePiece's C++ library for the tests: its results for a model that both read. */
#ifndef SPM_LIBRARY_H
#define SPM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct library library;
library *library_load(const void *data, size_t size);                 /* NULL: refused                                */
void library_free(library *l);
int32_t library_unk(const library *l);

/* Calls `put` for each piece; nbest 0: the likeliest.  False: the library refused the text. */
typedef void library_put(void *user, const char *piece, int32_t id, uint32_t begin, uint32_t end);
bool library_encode(const library *l, const char *text, size_t size, int nbest, float alpha, uint32_t seed,
                    library_put *put, void *user);
/* The text of pieces by id, or by name; freed with free(). */
char *library_decode(const library *l, const int32_t *id, size_t n, size_t *size);
char *library_join(const library *l, const char *const *piece, size_t n, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
