/* fuzz_complete.c — arbitrary bytes as a COMPLETE file next to a few files.  If the first byte is odd, the list's CRC
 * is corrected, so that the code after its check is reached:
 *
 *     five    "12345"       none    ""       folder/       pipe    a FIFO that nobody writes       loop    a link to
 *             itself
 *
 * Either it is rejected with a message of printable text, or every file in the list exists with its size and CRC.    */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "store/store.h"
#include "train/checkpoint/checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void clean(void)
{
    static const char *const file[] = {"five", "none", "pipe", "loop", "COMPLETE"};
    for (size_t i = 0; i < RF_COUNT(file); i++) unlink(in(file[i]));
    rmdir(in("folder"));
    rmdir(folder);
}

static void prepare(void)
{
    make_folder("complete");
    atexit(clean);
    put_file("five", "12345", 5);
    put_file("none", "", 0);
    if (mkdir(in("folder"), 0777) || mkfifo(in("pipe"), 0666) || symlink("loop", in("loop"))) abort();
}

/* The list with the CRC that the program would have written; NULL if it is not a list. */
static char *with_crc(const uint8_t *data, size_t size)
{
    char hex[16];
    json_t *all = rf__json_parse((const char *)data, size, 0, "input", NULL);
    if (!all) return NULL;
    json_object_del(all, "crc32c");
    char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) abort();
    snprintf(hex, sizeof hex, "%08x", (unsigned)rf__crc32c(0, text, strlen(text)));
    free(text);
    json_object_set_new(all, "crc32c", json_string(hex));
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

struct seen { int files, damaged; };

static void report(void *user, const char *file, const char *damage)
{
    struct seen *s = user;
    s->files++;
    s->damaged += damage != NULL;
    if (damage) return;
    if (strcmp(file, "five") && strcmp(file, "none") && strcmp(file, "COMPLETE")) abort();
}

/* The contents of a list are printed on a terminal. */
static void check_words(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx) {
        if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
        prepare();
    }
    if (!size) return 0;
    char *fixed = data[0] & 1 ? with_crc(data + 1, size - 1) : NULL;
    if (fixed) put_file("COMPLETE", fixed, strlen(fixed));
    else put_file("COMPLETE", data + 1, size - 1);
    free(fixed);
    rf_error why = {0}, all = {0};
    struct seen seen = {0, 0};
    const rf_status s = rf_checksums_verify(ctx, folder, "COMPLETE", NULL, NULL, &why);
    const rf_status t = rf_checksums_verify(ctx, folder, "COMPLETE", report, &seen, &all);
    if (s != why.code || t != all.code || s != t || strcmp(why.text, all.text) || (s && !*why.text)) abort();
    if (!s && (!seen.files || seen.damaged)) abort();
    check_words(why.text);
    return 0;
}
