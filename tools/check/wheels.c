/* wheels.c LIBRARY MODEL TEXT — loads the library as ctypes does, and prints the rung and the vector of the text. */
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include "roformer/roformer.h"

static void *symbol(const char *library, const char *name)
{
#ifdef _WIN32
    static HMODULE loaded;
    if (!loaded) loaded = LoadLibraryExA(library, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    return loaded ? (void *)GetProcAddress(loaded, name) : NULL;
#else
    static void *loaded;
    if (!loaded) loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) fprintf(stderr, "%s\n", dlerror());
    return loaded ? dlsym(loaded, name) : NULL;
#endif
}

#define GET(name)                                                                                                      \
    __typeof__(name) *const call_##name = (__typeof__(name) *)symbol(argument[1], #name);                              \
    if (!call_##name) return fprintf(stderr, "%s: no " #name "\n", argument[1]), 1

int main(int n, char **argument)
{
    rf_ctx *ctx = NULL;
    rf_pipeline *p = NULL;
    rf_error why = {0};
    const float *vector = NULL;
    if (n != 4) return fprintf(stderr, "usage: wheels LIBRARY MODEL TEXT\n"), 2;
    GET(rf_ctx_new);
    GET(rf_ctx_isa);
    GET(rf_pipeline_open);
    GET(rf_embed_texts);
    GET(rf_pipeline_width);
    GET(rf_pipeline_close);
    GET(rf_ctx_free);
    const char *const text = argument[3];
    if (call_rf_ctx_new(NULL, &ctx, &why) || call_rf_pipeline_open(ctx, argument[2], RF_F32, &p, &why) ||
        call_rf_embed_texts(p, &text, NULL, 1, NULL, &vector, NULL, &why))
        return fprintf(stderr, "%s\n", why.text), 1;
    printf("%s", call_rf_ctx_isa(ctx));
    for (int64_t i = 0; i < call_rf_pipeline_width(p); i++) printf(" %.9g", (double)vector[i]);
    printf("\n");
    call_rf_pipeline_close(p);
    call_rf_ctx_free(ctx);
    return 0;
}
