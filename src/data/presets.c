/* presets.c — tasks by name, and the files of a folder. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "data/presets.h"

static const rf__preset presets[] = {
    {"cls", RF_TASK_CLS, NULL, NULL, NULL, {0}, NULL, "accuracy", 0, 128},
    {"reg", RF_TASK_REG, NULL, NULL, NULL, {0}, NULL, "pearson", 0, 128},
    {"multilabel", RF_TASK_MULTILABEL, NULL, NULL, NULL, {0}, NULL, "f1_micro", 0, 128},
    {"tag", RF_TASK_TAG, NULL, NULL, NULL, {0}, NULL, "f1", 0, 128},
    {"qa", RF_TASK_QA, NULL, NULL, NULL, {0}, NULL, "f1", 0, 128},
    {"mc", RF_TASK_MC, NULL, NULL, NULL, {0}, NULL, "accuracy", 0, 128},
    {"glue/cola", RF_TASK_CLS, "sentence", NULL, "label", {4, 0, 2}, "0,1", "matthews_correlation", 0, 512},
    {"glue/sst2", RF_TASK_CLS, "sentence", NULL, "label", {1, 0, 2}, "0,1", "accuracy", 0, 512},
    {"glue/mrpc", RF_TASK_CLS, "#1 String", "#2 String", "Quality", {4, 5, 1}, "0,1", "f1", 0, 512},
    /* bare: sts-test */
    {"glue/stsb", RF_TASK_REG, "sentence1", "sentence2", "score", {6, 7, 5}, NULL, "spearmanr", 0, 512},
    {"glue/qqp", RF_TASK_CLS, "question1", "question2", "is_duplicate", {4, 5, 6}, "0,1", "f1", 16, 512},
    {"glue/qnli",
     RF_TASK_CLS,
     "question",
     "sentence",
     "label",
     {2, 3, 4},
     "entailment,not_entailment",
     "accuracy",
     0,
     512},
    {"glue/rte",
     RF_TASK_CLS,
     "sentence1",
     "sentence2",
     "label",
     {2, 3, 4},
     "entailment,not_entailment",
     "accuracy",
     0,
     512},
    {"glue/wnli", RF_TASK_CLS, "sentence1", "sentence2", "label", {2, 3, 4}, "0,1", "accuracy", 0, 512},
    {"glue/mnli",
     RF_TASK_CLS,
     "sentence1",
     "sentence2",
     "gold_label",
     {0},
     "entailment,neutral,contradiction",
     "accuracy",
     0,
     512},
};

rf_status rf__preset_find(const char *name, const rf__preset **out, rf_error *why)
{
    for (size_t i = 0; i < RF_COUNT(presets); i++)
        if (!strcmp(name, presets[i].name)) {
            *out = &presets[i];
            return RF_OK;
        }
    return rf_fail(why, RF_EARG,
                   "task: '%.40s' is none of cls, reg, multilabel, tag, qa, mc, glue/cola, sst2, mrpc, stsb, qqp, "
                   "qnli, rte, wnli, mnli",
                   name);
}

/* ---- files of a folder ---- */

bool rf__is_folder(const char *path)
{
    struct stat st;
    return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Is `name` stem and a known ending? */
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

/* How many files of this stem there are; the first two by name. */
static int count(const char *folder, const char *stem, char one[256], char two[256])
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!of_stem(e->d_name, stem)) continue;
        if (!n || strcmp(e->d_name, one) < 0) {
            memcpy(two, one, 256);
            snprintf(one, 256, "%s", e->d_name);
        } else if (n == 1 || strcmp(e->d_name, two) < 0) {
            snprintf(two, 256, "%s", e->d_name);
        }
        n++;
    }
    if (d) closedir(d);
    return n;
}

rf_status rf__preset_file(const char *path, const char *part, bool maybe, char *out, size_t size, rf_error *why)
{
    static const char *const train[] = {"train", NULL}, *const dev[] = {"dev", "validation",  "valid",
                                                                        "val", "dev_matched", NULL};
    char one[256] = "", two[256] = "";
    if (!rf__is_folder(path)) {
        if (strlen(path) >= size) return rf_fail(why, RF_ERANGE, "%.80s...: a path of %zu bytes", path, strlen(path));
        memcpy(out, path, strlen(path) + 1);
        return RF_OK;
    }
    for (const char *const *stem = strcmp(part, "dev") ? train : dev; *stem; stem++) {
        const int n = count(path, *stem, one, two);
        if (n > 1)
            return rf_fail(why, RF_EDATA, "%.100s: has %.80s and %.80s; name the file that is meant", path, one, two);
        if (n) return rf__path(out, size, path, one, why) ? RF_ERANGE : rf__must_be_file(out, why);
    }
    *out = 0;
    return maybe ? RF_OK
                 : rf_fail(why, RF_EDATA, "%.150s: has no %s.tsv, .csv, .jsonl, .json, .conll or .txt; name the file",
                           path, part);
}
