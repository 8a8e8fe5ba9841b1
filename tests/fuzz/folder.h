/* folder.h — the folder for a harness that reads its input from files: created once, under TMPDIR. */
#ifndef RF_FUZZ_FOLDER_H
#define RF_FUZZ_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static inline void make_folder(const char *name)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/rf-%.8s-XXXXXX", temporary && strlen(temporary) < 40 ? temporary : "/tmp",
             name);
    if (!mkdtemp(folder)) abort();
}

/* The path of a file in it, until the next call. */
static inline char *in(const char *name)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void put_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(in(name), "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) abort();
}

#endif
