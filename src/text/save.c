/* save.c — writes a tokenizer's files into a model folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "languages.h"

#define REPLACED ".replaced"

static rf_status write_file(const rf_tokenizer *t, const char *folder, const char *name, const void *data, size_t size,
                            rf_error *why)
{
    char path[RF_PATH];
    const rf_status status = rf__path(path, sizeof path, folder, name, why);
    return status ? status : rf__replace_file(t->ctx, path, data, size, why);
}

static json_t *specials(const rf_tokenizer *t)
{
    static const char *const key[RF_SPECIALS] = {[RF_UNK] = "unk_token", [RF_CLS] = "cls_token",
                                                 [RF_SEP] = "sep_token", [RF_PAD] = "pad_token",
                                                 [RF_MASK] = "mask_token"};
    json_t *all = json_object();
    for (int i = 0; i < RF_SPECIALS; i++)                  /* json_pack's s* passes over a string without memory      */
        if (t->name[i]) rf__json_set(&all, key[i], json_string(t->name[i]));
    return all;
}

static json_t *added_tokens(const rf_tokenizer *t)
{
    json_t *all = json_object();
    for (size_t i = 0; i < t->added_n; i++) {
        const rf_added *a = &t->added[i];
        char id[16];
        snprintf(id, sizeof id, "%d", (int)a->id);
        rf__json_set(&all, id, json_pack("{s:s%, s:b, s:b, s:b, s:b, s:b}", "content", a->text, a->size,
                                         "lstrip", a->lstrip, "normalized", a->normalized, "rstrip", a->rstrip,
                                         "single_word", a->single, "special", a->special));
    }
    return all;
}

static json_t *settings(const rf_tokenizer *t)
{
    const char *key;
    json_t *value, *all = specials(t);
    rf__json_set(&all, "added_tokens_decoder", added_tokens(t));
    rf__json_set(&all, "tokenizer_class", json_string(t->row->classes[0]));
    if (t->row->settings) t->row->settings(t, &all);
    rf__languages_settings(t, &all);
    json_object_foreach(t->kept, key, value)               /* jansson's update_missing does not report out of memory */
        if (!json_object_get(all, key)) rf__json_set(&all, key, json_incref(value));
    return all;
}

/* The text of `value`, which is freed, for a file that ends with a line end; freed with free(). */
static char *json_text(json_t *value, size_t *size)
{
    char *text = value ? rf__json_dump(value, JSON_INDENT(2)) : NULL;
    json_decref(value);
    if (!text) return NULL;
    *size = strlen(text) + 1;
    text[*size - 1] = '\n';                                /* replaces the terminating zero                           */
    return text;
}

const char *const rf__tokenizer_settings[] = {RF_FILE_TOKENIZER_CONFIG, RF_FILE_SPECIAL_TOKENS, NULL};

bool rf__tokenizer_setting(const char *file)
{
    for (const char *const *name = rf__tokenizer_settings; *name; name++)
        if (!strcmp(file, *name)) return true;
    return false;
}

/* ---- files of other tokenizers ----------------------------------------------------------------------------------- */

static bool is_mine(const rf_tokenizer *t, const char *name)
{
    for (const char *const *mine = rf_tokenizer_files(t); *mine; mine++)
        if (!strcmp(*mine, name)) return true;
    return false;
}

static bool is_there(const char *folder, const char *name)
{
    char path[RF_PATH];
    return !rf__path(path, sizeof path, folder, name, NULL) && rf__os_exists(path);
}

const char *rf_tokenizer_displaces(const rf_tokenizer *t, const char *folder)
{
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r; r++)
        for (const char *const *name = (*r)->holds; name && *name; name++)
            if (!is_mine(t, *name) && is_there(folder, *name)) return *name;
    return NULL;
}

/* A file that is moved aside and can be restored. */
typedef struct aside { const char *name[RF_READY_FILES]; char to[RF_READY_FILES][64]; int n; } aside;

static rf_status set_aside(const char *folder, const char *name, aside *a, rf_error *why)
{
    char from[RF_PATH], to[RF_PATH], *other = a->to[a->n];
    const size_t most = sizeof a->to[0];
    rf_status status = rf__path(from, sizeof from, folder, name, why);
    for (int i = 1; i < 10000 && !status; i++) {
        if (i == 1) snprintf(other, most, "%s" REPLACED, name);
        else snprintf(other, most, "%s" REPLACED "-%d", name, i);
        if (is_there(folder, other)) continue;
        status = rf__path(to, sizeof to, folder, other, why);
        if (!status && rf__os_rename(from, to))
            status = rf_fail(why, RF_EIO, "%s: cannot rename to %s: %s", from, to, rf__os_reason(errno));
        if (!status) a->name[a->n++] = name;
        return status;
    }
    return status ? status : rf_fail(why, RF_EIO, "%s: has no free name left for %s" REPLACED, folder, name);
}

/* Old files that would be read and describe the previous tokens. */
static rf_status set_all_aside(const rf_tokenizer *t, const char *folder, aside *a, rf_error *why)
{
    rf_status status = RF_OK;
    for (const char *name; !status && (name = rf_tokenizer_displaces(t, folder)) != NULL;)
        status = a->n < RF_READY_FILES ? set_aside(folder, name, a, why)
                                     : rf_fail(why, RF_EIO, "%s: holds files of too many tokenizers", folder);
    return status;
}

static void put_back(const char *folder, const aside *a)
{
    char from[RF_PATH], to[RF_PATH];
    for (int i = 0; i < a->n; i++)
        if (!rf__path(from, sizeof from, folder, a->to[i], NULL) && !rf__path(to, sizeof to, folder, a->name[i], NULL))
            (void)rf__os_rename(from, to);
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static void free_files(const rf_tokenizer *t, rf_ready_files *f)
{
    for (int i = 0; i < f->n; i++) rf__free(t->ctx, f->file[i].text);
    f->n = 0;
}

rf_status rf__tokenizer_savable(const rf_tokenizer *t, const char *folder, rf_error *why)
{
    if (!(t && folder)) return rf__missing("rf__tokenizer_savable", "tokenizer, folder", why);
    rf_ready_files own = {.folder = folder};
    const rf_status status = t->row->save ? t->row->save(t, &own, why) : RF_OK;
    free_files(t, &own);
    return status;
}

/* Writes one file after another; until the first is written, all can be restored. */
static rf_status write_all(const rf_tokenizer *t, const rf_ready_files *f, rf_error *why)
{
    aside old = {.n = 0};
    rf_status status = set_all_aside(t, f->folder, &old, why);
    for (int i = 0; i < f->n && !status; i++) {
        status = write_file(t, f->folder, f->file[i].name, f->file[i].text, f->file[i].size, why);
        if (!status) old.n = 0;
    }
    put_back(f->folder, &old);
    return status;
}

bool rf__ready_copy(const rf_tokenizer *t, rf_ready_files *f, const char *name, const void *data, size_t size)
{
    char *copy = rf__alloc(t->ctx, size + 1);
    if (!copy) return false;
    if (size) memcpy(copy, data, size);
    f->file[f->n].name = name;
    f->file[f->n].text = copy;
    f->file[f->n++].size = size;
    return true;
}

bool rf__ready_saved(const rf_tokenizer *t, rf_ready_files *to, const rf__saved_file *k)
{
    size_t size;
    char *own;
    const char *text = rf__saved_text(t->ctx, k, &own, &size);
    const bool ready = text && rf__ready_copy(t, to, RF_FILE_TOKENIZER, text, size);
    rf__free(t->ctx, own);
    return ready;
}

bool rf__ready_json(const rf_tokenizer *t, rf_ready_files *f, const char *name, json_t *value)
{
    size_t size = 0;
    char *text = json_text(value, &size);
    const bool good = text && rf__ready_copy(t, f, name, text, size);
    free(text);
    return good;
}

/* Everything is in memory before the first file is changed. */
rf_status rf_tokenizer_save(const rf_tokenizer *t, const char *folder, rf_error *why)
{
    if (!(t && folder)) return rf__missing("rf_tokenizer_save", "tokenizer, folder", why);
    rf_error unused = {0};
    if (!why) why = &unused;
    rf_ready_files all = {.folder = folder};
    rf_status status = t->row->save ? t->row->save(t, &all, why) : RF_OK;
    if (!status && (!rf__ready_json(t, &all, RF_FILE_TOKENIZER_CONFIG, settings(t)) ||
                    !rf__ready_json(t, &all, RF_FILE_SPECIAL_TOKENS, specials(t))))
        status = rf_fail(why, RF_ENOMEM, "%s: out of memory for the tokenizer's settings", folder);
    if (!status) status = write_all(t, &all, why);
    free_files(t, &all);
    return status;
}

bool rf__tokenizer_file(const char *name)
{
    bool found = rf__tokenizer_setting(name) || !strcmp(name, RF_FILE_ADDED_TOKENS);
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r && !found; r++)
        found = rf__is_among((*r)->files, name) || rf__is_among((*r)->holds, name);
    return found;
}

rf_status rf__files_set_aside(const char *const *name, const char *from, const char *to, rf_error *why)
{
    rf_status status = RF_OK;
    for (; name && *name && !status; name++) {
        aside one = {.n = 0};
        if (is_there(to, *name) && !is_there(from, *name)) status = set_aside(to, *name, &one, why);
    }
    return status;
}

rf_status rf__tokenizer_set_aside(const char *from, const char *to, rf_error *why)
{
    static const char *const added[] = {RF_FILE_ADDED_TOKENS, NULL};
    rf_status status = rf__files_set_aside(rf__tokenizer_settings, from, to, why);
    if (!status) status = rf__files_set_aside(added, from, to, why);
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r && !status; r++) {
        status = rf__files_set_aside((*r)->files, from, to, why);
        if (!status) status = rf__files_set_aside((*r)->holds, from, to, why);
    }
    return status;
}
