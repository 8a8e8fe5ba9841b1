/* example_files.c — finds the files of a folder. */
#include <stdio.h>

#include "base/os/os.h"
#include "data/examples/example_files.h"

bool rf__is_folder(const char *path)
{
    rf__os_state st;
    return path && !rf__os_look(path, &st) && st.kind == RF__OS_FOLDER;
}

/* Whether `name` consists of stem and a known extension. */
static bool of_stem(const char *name, const char *stem)
{
    static const char *const formats[] = {".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".conll", ".txt"},
                             *const packed[] = {"", ".gz", ".zst"};
    const size_t n = strlen(stem);
    if (strncmp(name, stem, n)) return false;
    for (size_t i = 0; i < RF_COUNT(formats); i++)
        for (size_t k = 0; k < RF_COUNT(packed); k++) {
            char end[16];
            snprintf(end, sizeof end, "%s%s", formats[i], packed[k]);
            if (!strcmp(name + n, end)) return true;
        }
    return false;
}

/* The number of files with this stem, and the first two names. */
static int count(const char *folder, const char *stem, char one[256], char two[256])
{
    int n = 0;
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));) {
        if (!of_stem(name, stem)) continue;
        if (!n || strcmp(name, one) < 0) {
            memcpy(two, one, 256);
            snprintf(one, 256, "%s", name);
        } else if (n == 1 || strcmp(name, two) < 0) {
            snprintf(two, 256, "%s", name);
        }
        n++;
    }
    rf__os_folder_close(f);
    return n;
}

rf_status rf__example_file(const char *path, const char *part, bool maybe, char *out, size_t size, rf_error *why)
{
    static const char *const train[] = {"train", NULL}, *const dev[] = {"dev", "validation",  "valid",
                                                                        "val", "dev_matched", NULL};
    char one[256] = "", two[256] = "";
    if (!rf__is_folder(path)) {
        if (strlen(path) >= size)
            return rf_fail(why, RF_ERANGE, "%.80s...: expected a path of fewer than %zu bytes, got %zu", path, size,
                           strlen(path));
        memcpy(out, path, strlen(path) + 1);
        return RF_OK;
    }
    for (const char *const *stem = strcmp(part, "dev") ? train : dev; *stem; stem++) {
        const int n = count(path, *stem, one, two);
        if (n > 1)
            return rf_fail(why, RF_EDATA, "%.100s: expected one file, got %.80s and %.80s; name the file", path, one,
                           two);
        if (n) return rf__path(out, size, path, one, why) ? RF_ERANGE : rf__must_be_file(out, why);
    }
    *out = 0;
    return maybe ? RF_OK
                 : rf_fail(why, RF_EDATA,
                           "%.150s: expected %s.tsv, .csv, .jsonl, .json, .conll or .txt, got none of them; name the "
                           "file", path, part);
}
