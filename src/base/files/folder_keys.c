/* folder_keys.c — the rows of folder_keys.def, and the check of a file's keys against them. */
#include <stdlib.h>

#include "base/files/folder_keys.h"
#include "roformer/inspect/files.h"

const rf_known_key rf__folder_keys[] = {
#define RF_FOLDER_KEY(file, name, state, usual, why) {RF_KEYS_##file, name, RF_KEY_##state, usual, why},
#include "base/files/folder_keys.def"
#undef RF_FOLDER_KEY
    {0},
};

const char *const rf__transformer_settings[] = {
    RF_FILE_SENTENCE,
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
    NULL,
};

const rf_known_key *rf__folder_key(rf_key_file file, const char *name)
{
    for (const rf_known_key *k = rf__folder_keys; k->name; k++)
        if (k->file == file && !strcmp(k->name, name)) return k;
    return NULL;
}

/* Numbers are compared by value, since some files are read with all numbers as fractions. */
static bool is_usual(const json_t *value, const json_t *usual)
{
    if (json_is_null(value)) return true;
    if (!json_is_number(value) || !json_is_number(usual)) return json_equal(value, usual);
    const double x = json_number_value(value), y = json_number_value(usual);
    return x >= y && x <= y;
}

static rf_status check(const rf_known_key *k, const char *path, const json_t *value, rf_error *why)
{
    json_t *usual = json_loads(k->usual, JSON_DECODE_ANY, NULL);
    char *text = usual ? rf__json_dump(value, JSON_ENCODE_ANY) : NULL;
    rf_status status = RF_OK;
    if (!text) status = rf_fail(why, RF_ENOMEM, "out of memory: %s", path);
    else if (!is_usual(value, usual))
        status = rf_fail(why, RF_EUNSUPPORTED,
                         "%.200s: %s: expected %.90s, got %.60s: %s; remove it, or write the expected value", path,
                         k->name, k->usual, rf__printable(text).text, k->why);
    free(text);
    json_decref(usual);
    return status;
}

rf_status rf__folder_keys_check(rf_key_file file, const char *path, const json_t *root, rf_error *why)
{
    rf_status status = RF_OK;
    for (const rf_known_key *k = rf__folder_keys; k->name && !status; k++) {
        const json_t *value = k->file == file && k->state == RF_KEY_ONLY ? json_object_get(root, k->name) : NULL;
        if (value) status = check(k, path, value, why);
    }
    return status;
}

rf_status rf__known_keys_check(const rf_known_key *list, const char *path, const json_t *root, rf_error *why)
{
    rf_status status = RF_OK;
    for (const rf_known_key *k = list; k && k->name && !status; k++) {
        const json_t *value = k->state == RF_KEY_ONLY ? json_object_get(root, k->name) : NULL;
        if (value) status = check(k, path, value, why);
    }
    return status;
}

static const char *nearest(rf_key_file file, const char *name)
{
    const char *best = "";
    int distance = 1 << 20;
    for (const rf_known_key *k = rf__folder_keys; k->name; k++) {
        const int d = k->file == file ? rf__edit_distance(name, strlen(name), k->name, strlen(k->name)) : 1 << 20;
        if (d < distance) best = k->name, distance = d;
    }
    return best;
}

rf_status rf__folder_keys_all(rf_key_file file, const char *path, const json_t *root, rf_error *why)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
        if (!rf__folder_key(file, name))
            return rf_fail(why, RF_EUNSUPPORTED, "%.200s: unknown key %s; did you mean %s? Otherwise remove it", path,
                           rf__printable(name).text, nearest(file, name));
    return rf__folder_keys_check(file, path, root, why);
}
