/* replay.c — replaces libFuzzer: passes every named file, and every file of the named folders, to the harness once. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long inputs;

static int feed(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = -1;
    if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET)) {
        perror(path);
        return 1;
    }
    uint8_t *data = malloc(size ? (size_t)size : 1);         /* exactly this size: a sanitizer detects overreads */
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
        perror(path);
        return 1;
    }
    fclose(f);
    fprintf(stderr, "%s\n", path);                                 /* the last one named is the one that failed */
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    inputs++;
    return 0;
}

static int feed_folder(const char *folder)
{
    struct dirent **entry;
    const int n = scandir(folder, &entry, NULL, alphasort);
    int bad = n < 0;
    if (bad) perror(folder);
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (!stat(path, &st) && S_ISREG(st.st_mode)) bad |= feed(path);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    return bad;
}

int main(int n, char **argument)
{
    int bad = 0;
    for (int i = 1; i < n; i++) {
        struct stat st;
        const int folder = !stat(argument[i], &st) && S_ISDIR(st.st_mode);
        bad |= folder ? feed_folder(argument[i]) : feed(argument[i]);
    }
    if (!inputs) fprintf(stderr, "no inputs: name folders or files\n");
    printf("%ld inputs\n", inputs);
    return bad || !inputs;
}
