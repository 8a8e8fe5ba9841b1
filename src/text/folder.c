/* folder.c — reads the tokenizer of a model folder in Hugging Face's formats.  folder_row.c says which kind it is.
 *
 *   tokenizer_config.json     the class, which selects the row, and settings
 *   special_tokens_map.json   names of special tokens, with priority unless the settings have added_tokens_decoder
 *   added_tokens.json         added tokens by id, unless the settings have added_tokens_decoder
 *   tokenizer.json            read here only if no other file says what the tokenizer is
 *   config.json               the class if the settings have none; otherwise model_type may imply it
 *
 * Everything else is left to the row.                                                                                */
#include <stdio.h>
#include <stdlib.h>

#include "base/files/folder_keys.h"
#include "base/files/json_file.h"
#include "chat.h"
#include "conversation.h"
#include "languages.h"
#include "roformer/inspect/files.h"
#include "subword/merges.h"
#include "tokenizer.h"

enum { MAX_ADDED = 1 << 16 };            /* Gemma 3 has 6415 */

rf_status rf__folder_json(rf_tokenizer_folder *f, const char *name, char path[RF_PATH], json_t **out)
{
    rf_status status = rf__path(path, RF_PATH, f->path, name, f->why);
    if (status || !rf__is_there(f->ctx, path)) return status;
    return rf__json_shared(f->ctx, path, RF_TOKENIZER_FILE, JSON_DECODE_INT_AS_REAL, out, f->why);
}

/* Whether RF__JSON_NUL is in a string or key of a value, other than the members vocab and merges. */
static bool has_nul(const json_t *x)
{
    const char *key, *text = json_string_value(x);
    json_t *one;
    size_t i;
    bool found = text && strstr(text, RF__JSON_NUL);
    json_array_foreach(x, i, one) found |= has_nul(one);
    json_object_foreach((json_t *)(uintptr_t)x, key, one)
        found |= strstr(key, RF__JSON_NUL) || (strcmp(key, "vocab") && strcmp(key, "merges") && has_nul(one));
    return found;
}

bool rf__folder_parse_fast(rf_tokenizer_folder *f, const char *text, size_t size)
{
    rf_error part = {0};
    size_t rest;
    if (rf__vocabulary_read(&f->pieces, f->ctx, text, size, &f->rest, &rest))
        return rf_fail(f->why, RF_ENOMEM, "%s: out of memory for its pieces", f->fast_path), false;
    if (f->rest) f->fast = rf__json_parse(f->rest, rest, JSON_DECODE_INT_AS_REAL, f->fast_path, &part);
    if (part.code == RF_ENOMEM) return rf_fail(f->why, RF_ENOMEM, "%s", part.text), false;
    if (!f->fast) {                                       /* errors name lines and bytes of the whole text            */
        rf__folder_forget_fast(f);
        f->fast = rf__json_parse(text, size, JSON_DECODE_INT_AS_REAL, f->fast_path, f->why);
    }
    return f->fast;
}

void rf__folder_forget_fast(rf_tokenizer_folder *f)
{
    json_decref(f->fast);
    rf__free(f->ctx, f->text);
    rf__free(f->ctx, f->rest);
    rf__vocabulary_clear(&f->pieces);
    f->fast = NULL;
    f->text = f->rest = NULL;
}

/* tokenizer.json, whose pieces may have U+0000. */
static rf_status read_fast(rf_tokenizer_folder *f)
{
    char *text;
    const rf_status status = rf__read_file(f->ctx, f->fast_path, RF_TOKENIZER_FILE, &text, &f->bytes, f->why);
    if (status) return status;
    f->nul = rf__json_hide_nul(text, f->bytes);
    const bool parsed = rf__folder_parse_fast(f, text, f->bytes);
    if (parsed && !f->nul) f->text = text;
    else rf__free(f->ctx, text);
    if (!parsed) return f->why->code;
    if (!f->nul || !has_nul(f->fast)) return RF_OK;
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected U+0000 only in model.vocab and model.merges, got \\u0000 in "
                   "another member; remove it", f->fast_path);
}

rf_status rf__folder_fast(rf_tokenizer_folder *f)
{
    if (f->fast) return RF_OK;
    rf_status status = rf__path(f->fast_path, RF_PATH, f->path, RF_FILE_TOKENIZER, f->why);
    if (!status && rf__is_there(f->ctx, f->fast_path)) status = read_fast(f);
    return status ? status : rf__folder_rebuild(f);
}

rf_status rf__folder_flag(rf_tokenizer_folder *f, const char *path, const json_t *object, const char *key, int null,
                          int *out)
{
    const json_t *x = json_object_get(object, key);
    if (!x) return RF_OK;
    if (json_is_null(x)) return *out = null, RF_OK;
    if (!json_is_boolean(x)) return rf_fail(f->why, RF_EDATA, "%s: %s: expected true or false, got %s", path, key,
                                            rf__json_shown(x).text);
    *out = json_is_true(x);
    return RF_OK;
}

/* An integer in 0 .. RF_TOKENIZER_FILE, or -1. */
int64_t rf__whole(double value)
{
    return value >= 0 && value <= RF_TOKENIZER_FILE && value == (double)(int64_t)value ? (int64_t)value : -1;
}

int64_t rf__whole_number(const json_t *x) { return json_is_number(x) ? rf__whole(json_number_value(x)) : -1; }

/* A token as "text" or {"content": "text", ...}; NULL if it is neither. */
static const char *token_text(const json_t *x)
{
    return json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
}

/* ---- special and added tokens ---------------------------------------------------------------------------------- */

static const char *const special_key[RF_SPECIALS] = {
    [RF_UNK] = "unk_token", [RF_CLS] = "cls_token",   [RF_SEP] = "sep_token",
    [RF_PAD] = "pad_token", [RF_MASK] = "mask_token",
};

static rf_status read_specials(rf_tokenizer_folder *f)
{
    for (size_t i = 0; i < RF_SPECIALS; i++) {
        const json_t *x = json_object_get(f->map, special_key[i]);
        if (!x) x = json_object_get(f->config, special_key[i]);
        if (!x || json_is_null(x)) continue;
        f->parts.special[i] = token_text(x);
        if (!f->parts.special[i])
            return rf_fail(f->why, RF_EDATA, "%s: %s: expected a string or an object with \"content\", got %s",
                           f->config_path, special_key[i], rf__json_shown(x).text);
    }
    return RF_OK;
}

static rf_added *added_as(const rf_tokenizer_folder *f, const char *text)
{
    const rf_tokenizer_parts *p = &f->parts;
    const size_t i = rf__text_index_find(&p->index, p->added, sizeof *p->added, text, strlen(text));
    return i < p->added_n ? &p->added[i] : NULL;
}

/* A later entry for a token of the same text adds to the earlier ones, except that a special token stays special. */
rf_status rf__folder_add(rf_tokenizer_folder *f, const char *path, rf_added a)
{
    rf_tokenizer_parts *p = &f->parts;
    rf_added *old = added_as(f, a.text);
    if (old) {
        a.special |= old->special;
        *old = a;
        return RF_OK;
    }
    if (p->added_n == MAX_ADDED)
        return rf_fail(f->why, RF_EDATA, "%s: expected at most %d added tokens, got more", path, MAX_ADDED);
    if (!rf__grow(f->ctx, &p->added, &p->added_capacity, p->added_n + 1, sizeof *p->added))
        return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", path);
    p->added[p->added_n++] = a;
    if (rf__text_index_all(&p->index, f->ctx, p->added, sizeof *p->added, p->added_n)) return RF_OK;
    return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", path);
}

void rf__folder_forget_added(rf_tokenizer_folder *f)
{
    rf__free(f->ctx, f->parts.added);
    rf__free(f->ctx, f->parts.index.slot);
    f->parts.added = NULL;
    f->parts.added_n = f->parts.added_capacity = 0;
    f->parts.index = (rf__text_index){.n = 0};
}

rf_status rf__folder_add_new(rf_tokenizer_folder *f, const char *path, rf_added a)
{
    return added_as(f, a.text) ? RF_OK : rf__folder_add(f, path, a);
}

/* One added token: `x` is an object with content, lstrip, rstrip, special, single_word, normalized. */
rf_status rf__folder_added(rf_tokenizer_folder *f, const char *path, const json_t *x, int64_t id)
{
    const char *text = token_text(x);
    int single = 0, normal = 0, lstrip = 0, rstrip = 0, special = 0;
    if (!json_is_object(x) || !text || !text[0] || id < RF_ADDED_OPEN || id >= INT32_MAX)
        return rf_fail(f->why, RF_EDATA, "%s: added token %lld: expected an object with \"content\" and an id, got %s",
                       path, (long long)id, rf__json_shown(x).text);
    rf_status status = rf__folder_flag(f, path, x, "single_word", 0, &single);
    if (!status) status = rf__folder_flag(f, path, x, "normalized", 0, &normal);
    if (!status) status = rf__folder_flag(f, path, x, "lstrip", 0, &lstrip);
    if (!status) status = rf__folder_flag(f, path, x, "rstrip", 0, &rstrip);
    if (!status) status = rf__folder_flag(f, path, x, "special", 0, &special);
    if (status) return status;
    return rf__folder_add(f, path, (rf_added){.text = text, .size = strlen(text), .id = (int32_t)id,
                                              .special = special != 0, .lstrip = lstrip != 0, .rstrip = rstrip != 0,
                                              .single = single != 0, .normalized = normal != 0});
}

typedef struct numbered { long long id; const json_t *token; } numbered;

static int by_number(const void *a, const void *b)
{
    const long long x = ((const numbered *)a)->id, y = ((const numbered *)b)->id;
    return (x > y) - (x < y);
}

/* By id, in which order transformers adds them. */
rf_status rf__folder_decoder(rf_tokenizer_folder *f)
{
    const char *key;
    json_t *all = json_object_get(f->config, "added_tokens_decoder"), *x;
    size_t n = 0;
    numbered *list = rf__alloc(f->ctx, (json_object_size(all) + 1) * sizeof *list);
    rf_status status = list ? RF_OK : rf_fail(f->why, RF_ENOMEM, "%s: out of memory", f->config_path);
    json_object_foreach(all, key, x) {
        char *end;
        const long long id = strtoll(key, &end, 10);
        if (!status && (*end || end == key || id < 0 || id > RF_TOKENIZER_FILE))
            status = rf_fail(f->why, RF_EDATA, "%s: added_tokens_decoder: expected an id, got %.40s", f->config_path,
                             key);
        if (!status) list[n++] = (numbered){id, x};
    }
    if (n) qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; i < n && !status; i++) status = rf__folder_added(f, f->config_path, list[i].token, list[i].id);
    rf__free(f->ctx, list);
    return status;
}

/* A named special token, with its id in the vocabulary or the next one after it. */
static rf_status add_special(rf_tokenizer_folder *f, const char *key, const json_t *x)
{
    const char *text = token_text(x);
    if (!x || json_is_null(x)) return RF_OK;
    if (!text || !text[0])
        return rf_fail(f->why, RF_EDATA,
                       "%s: %.60s: expected a token, as a string or an object with \"content\", got %s", f->config_path,
                       rf__printable(key).text, rf__json_shown(x).text);
    if (added_as(f, text)) return RF_OK;
    const rf_added own = {.text = text, .size = strlen(text), .id = RF_ADDED_OPEN, .special = true};
    const rf_status status = json_is_object(x) ? rf__folder_added(f, f->config_path, x, RF_ADDED_OPEN)
                                               : rf__folder_add(f, f->config_path, own);
    if (!status) f->parts.added[f->parts.added_n - 1].special = true;
    return status;
}

/* A list of such tokens, or an object with their names as keys. */
static rf_status add_specials(rf_tokenizer_folder *f, const char *key, const json_t *list)
{
    const char *name;
    json_t *x;
    size_t i;
    rf_status status = RF_OK;
    if (list && !json_is_null(list) && !json_is_array(list) && !json_is_object(list))
        return rf_fail(f->why, RF_EDATA, "%s: %s: expected a list or an object of tokens, got %s", f->config_path, key,
                       rf__json_shown(list).text);
    json_array_foreach(list, i, x) if (!status) status = add_special(f, key, x);
    json_object_foreach((json_t *)(uintptr_t)list, name, x) if (!status) status = add_special(f, name, x);
    return status;
}

#define EXTRA "extra_special_tokens"
#define ADDITIONAL "additional_special_tokens"
#define BY_NAME "model_specific_special_tokens"

/* Keys that end in _token and have a token: the usual ones, and those of the model (image_token). */
static bool names_token(const char *key, const json_t *x)
{
    const size_t size = strlen(key), end = strlen("_token");
    return size > end && !strcmp(key + size - end, "_token") && token_text(x);
}

/* In the order of transformers, which determines the ids of tokens that are not in the vocabulary; the value of the map
 * has priority. */
static rf_status read_named(rf_tokenizer_folder *f)
{
    static const char *const usual[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    json_t *const from[] = {f->config, f->map};
    const char *key;
    json_t *x;
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(usual) && !status; i++) {
        x = json_object_get(f->map, usual[i]);
        status = add_special(f, usual[i], x ? x : json_object_get(f->config, usual[i]));
    }
    for (size_t i = 0; i < RF_COUNT(from); i++)
        json_object_foreach(from[i], key, x)
            if (!status && names_token(key, x) && (i || !json_object_get(f->map, key))) status = add_special(f, key, x);
    return status;
}

static bool is_empty(const json_t *x)
{
    return !x || json_is_null(x) || (json_is_object(x) ? !json_object_size(x)
                                                       : json_is_array(x) && !json_array_size(x));
}

/* Tokens without a name.  additional_special_tokens is the older key.  As in transformers 5, that of the settings
 * counts if the newer key is missing there or empty; that of the map only if neither file has a list under the newer
 * key, and the settings none under the older one.  *late: what is to be added after added_tokens.json, or NULL. */
static rf_status read_extra(rf_tokenizer_folder *f, const json_t **late)
{
    const json_t *own = json_object_get(f->config, EXTRA), *older = json_object_get(f->config, ADDITIONAL);
    const json_t *map = json_object_get(f->map, EXTRA), *map_older = json_object_get(f->map, ADDITIONAL);
    const json_t *by_name = json_object_get(f->config, BY_NAME);
    const char *key = EXTRA;
    rf_status status = RF_OK;
    if (older && is_empty(own)) own = older, older = NULL, key = ADDITIONAL;
    if (map_older) older = map_older;
    *late = (map ? !json_is_object(map) : own && !json_is_object(own)) ? NULL : older;
    if (map && !json_is_array(map) && !json_is_object(own)) own = NULL;           /* a list of the map is appended    */
    if (json_is_object(by_name)) status = add_specials(f, BY_NAME, by_name);
    for (int objects = 1; objects >= 0 && !status; objects--) {
        if (own && json_is_object(own) == objects) status = add_specials(f, key, own);
        if (!status && map && json_is_object(map) == objects) status = add_specials(f, EXTRA, map);
    }
    return status;
}

/* added_tokens.json, {"token": id}: tokens that are not special are matched in normalized text. */
static rf_status read_legacy(rf_tokenizer_folder *f)
{
    char path[RF_PATH];
    const char *text;
    json_t *x;
    rf_status status = rf__folder_json(f, RF_FILE_ADDED_TOKENS, path, &f->legacy);
    json_object_foreach(f->legacy, text, x) {
        rf_added *a = added_as(f, text);
        const int64_t id = rf__whole_number(x);
        if (id < 0 || !*text)
            return rf_fail(f->why, RF_EDATA, "%s: \"%.60s\": expected a token with its id, got %s", path,
                           rf__printable(text).text, rf__json_shown(x).text);
        if (a) a->id = (int32_t)id;
        else
            status = rf__folder_add(f, path, (rf_added){.text = text, .size = strlen(text), .id = (int32_t)id,
                                                        .normalized = true});
        if (status) return status;
    }
    return status;
}

/* All added tokens of the settings.  Classes that only this program has keep theirs in added_tokens_decoder. */
static rf_status read_added(rf_tokenizer_folder *f, const rf_tokenizer_row *row)
{
    rf_status status = rf__folder_decoder(f);
    if (status || !row->transformers) return status;
    const json_t *late = NULL;
    status = read_named(f);
    if (!status) status = read_extra(f, &late);
    if (!status && !json_object_get(f->config, "added_tokens_decoder")) status = read_legacy(f);
    return status ? status : add_specials(f, ADDITIONAL, late);
}

/* Length limits and similar settings, as integers; a value that is no integer (transformers' 10^30) means no limit. */
static json_t *kept_value(const json_t *x)
{
    if (!json_is_real(x)) return json_deep_copy(x);
    const double value = json_real_value(x);
    return json_integer((json_int_t)value);
}

static bool is_kept(const rf_known_key *k, const json_t *x)
{
    const double most = (double)((int64_t)1 << 53), value = json_real_value(x);
    if (k->file != RF_KEYS_TOKENIZER_CONFIG || k->state == RF_KEY_ONLY || *k->usual) return false;
    if (!x || json_is_null(x)) return false;
    return !json_is_real(x) || (value >= -most && value <= most);
}

static rf_status keep(const rf_tokenizer_folder *f, rf_tokenizer *t)
{
    json_t *kept = json_object();
    for (const rf_known_key *k = rf__folder_keys; k->name; k++) {
        const json_t *x = json_object_get(f->config, k->name);
        if (is_kept(k, x)) rf__json_set(&kept, k->name, kept_value(x));
    }
    t->kept = kept;
    return kept ? RF_OK : rf_fail(f->why, RF_ENOMEM, "%s: out of memory for the tokenizer's settings", f->config_path);
}

/* ---- chat templates --------------------------------------------------------------------------------------------- */

/* A special token's text; that of the class if the files do not name one. */
static const char *named_token(const rf_tokenizer_folder *f, const rf_tokenizer *t, const char *key)
{
    static const struct { const char *key; int special; } row[] = {
        {"bos_token", RF_CLS}, {"eos_token", RF_SEP}, {"unk_token", RF_UNK}, {"pad_token", RF_PAD}};
    const json_t *x = json_object_get(f->map, key);
    if (!x) x = json_object_get(f->config, key);
    if (x || json_object_get(f->config, "cls_token")) return token_text(x);
    for (size_t i = 0; i < RF_COUNT(row); i++)
        if (!strcmp(key, row[i].key)) return t->name[row[i].special];
    return NULL;
}

/* source: the template, or the list of them. */
static rf_status read_chat(rf_tokenizer_folder *f, rf_tokenizer *t, const char *path, const json_t *source)
{
    json_t *tokens = json_object();
    for (int i = 0; i < RF_CHAT_TOKENS; i++) {
        const char *text = named_token(f, t, rf__chat_tokens[i]);
        if (text) rf__json_set(&tokens, rf__chat_tokens[i], json_string(text));
    }
    const rf_status status = tokens && source ? rf__chat_new(f->ctx, path, source, tokens, &t->chat, f->why)
                                              : rf_fail(f->why, RF_ENOMEM, "%s: out of memory", path);
    json_decref(tokens);
    return status;
}

/* The prompt that CrossEncoder of sentence-transformers gives as the system message; NULL: none. */
static const char *default_prompt(const json_t *own)
{
    const char *kind = json_string_value(json_object_get(own, "model_type")),
               *name = json_string_value(json_object_get(own, "default_prompt_name"));
    const char *text = name ? json_string_value(json_object_get(json_object_get(own, "prompts"), name)) : NULL;
    return kind && !strcmp(kind, "CrossEncoder") && text && *text ? text : NULL;
}

static rf_status read_templates(rf_tokenizer_folder *f, rf_tokenizer *t)
{
    char path[RF_PATH], prompts_path[RF_PATH], *text = NULL;
    size_t size = 0;
    json_t *own = NULL, *source = json_object_get(f->config, "chat_template");
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_CHAT_TEMPLATE, f->why);
    if (status) return status;
    const bool alone = rf__is_there(f->ctx, path);
    if (!alone && (!source || json_is_null(source))) return RF_OK;
    if (alone) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &text, &size, f->why);
    if (alone && !status) source = json_stringn(text, size);
    else json_incref(source);
    const char *words = json_string_value(source), *name = alone ? path : f->config_path;
    if (!status) status = read_chat(f, t, name, source);
    if (!status) status = rf__folder_json(f, RF_FILE_PROMPTS, prompts_path, &own);
    if (!status && words)
        status = rf__conversation_new(f->ctx, name, words, json_string_length(source), default_prompt(own),
                                      &t->conversation, f->why);
    json_decref(own);
    json_decref(source);
    rf__free(f->ctx, text);
    return status;
}

/* ---- token types ------------------------------------------------------------------------------------------------- */

/* Whether transformers 5 gives the second text of a pair type 1: as model_input_names says, or else as the class has
 * it. Otherwise a model receives no types, which are then 0. */
static bool gives_types(const rf_tokenizer_folder *f)
{
    const json_t *names = json_object_get(f->config, "model_input_names"), *name;
    size_t at;
    json_array_foreach(names, at, name)
        if (json_is_string(name) && !strcmp(json_string_value(name), "token_type_ids")) return true;
    if (json_is_array(names)) return false;
    if (rf__folder_is(f, "DistilBertTokenizer", "distilbert") || rf__folder_is(f, "AlbertTokenizer", "albert") ||
        rf__folder_is(f, "XLNetTokenizer", "xlnet"))
        return false;
    return !f->class || rf__folder_class_rules(f);
}

/* BertTokenizer, as which the first row is written, gives types if its settings do not say otherwise. */
static rf_status take_types(const rf_tokenizer_folder *f, rf_tokenizer *t)
{
    if (gives_types(f)) return RF_OK;
    t->one_type = true;
    if (t->row == rf__tokenizer_rows[0] && !json_object_get(t->kept, "model_input_names"))
        rf__json_set(&t->kept, "model_input_names", json_pack("[s, s]", "input_ids", "attention_mask"));
    return t->kept ? RF_OK : rf_fail(f->why, RF_ENOMEM, "%s: out of memory for the tokenizer's settings",
                                     f->config_path);
}

/* ---- truncation -------------------------------------------------------------------------------------------------- */

/* truncation_side, or else the direction in tokenizer.json, as in transformers. */
static rf_status take_truncation(const rf_tokenizer_folder *f, rf_tokenizer *t)
{
    const json_t *x = json_object_get(f->config, "truncation_side");
    const char *side = json_string_value(x);
    const char *other = json_string_value(json_object_get(json_object_get(f->fast, "truncation"), "direction"));
    if (x && !json_is_null(x) && !(side && (!strcmp(side, "left") || !strcmp(side, "right"))))
        return rf_fail(f->why, RF_EDATA, "%s: truncation_side: expected \"left\" or \"right\", got %s", f->config_path,
                       rf__json_shown(x).text);
    t->cuts_begin = side ? !strcmp(side, "left") : other && !strcmp(other, "Left");
    if (t->cuts_begin && !side) rf__json_set(&t->kept, "truncation_side", json_string("left"));
    return t->kept ? RF_OK : rf_fail(f->why, RF_ENOMEM, "%s: out of memory for the tokenizer's settings",
                                     f->config_path);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* WordPiece and tokenizer.json lowercase as sentence_bert_config.json says. */
static rf_status check_lowered(const rf_tokenizer_folder *f, const rf_tokenizer *t)
{
    if (!f->lowers || f->fast || !strcmp(t->row->name, "wordpiece") || !strcmp(t->row->name, "mpnet")) return RF_OK;
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: " RF_FILE_SENTENCE ": do_lower_case: expected false with a tokenizer "
                   "of %s, got true", f->path, t->row->title);
}

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    char map_path[RF_PATH];
    const rf_tokenizer_row *row = NULL;
    rf_tokenizer *t = NULL;
    rf_status status = rf__folder_json(f, RF_FILE_TOKENIZER_CONFIG, f->config_path, &f->config);
    if (!status && f->config)
        status = rf__folder_keys_check(RF_KEYS_TOKENIZER_CONFIG, f->config_path, f->config, f->why);
    if (!status && !json_object_get(f->config, "added_tokens_decoder"))
        status = rf__folder_json(f, RF_FILE_SPECIAL_TOKENS, map_path, &f->map);
    if (!status) status = rf__folder_lowers(f);
    if (!status) status = rf__folder_row(f, &row);
    if (!status) status = read_specials(f);
    if (!status) status = read_added(f, row);
    f->parts.name = f->config_path;
    if (!status) status = row->open(f, &t);
    if (!status) status = rf__languages_open(f, t);
    if (!status) status = check_lowered(f, t);
    if (!status) status = keep(f, t);
    if (!status) status = take_types(f, t);
    if (!status) status = take_truncation(f, t);
    if (!status) status = read_templates(f, t);
    if (status) rf_tokenizer_free(t);
    else *out = t;
    return status;
}

static void close_folder(rf_tokenizer_folder *f)
{
    json_decref(f->config);
    json_decref(f->map);
    json_decref(f->legacy);
    json_decref(f->model);
    rf__folder_forget_fast(f);
    rf__folder_forget_added(f);
}

rf_status rf_tokenizer_open(const rf_ctx *ctx, const char *path, rf_tokenizer **out, rf_error *why)
{
    if (!(ctx && path && out)) return rf__missing("rf_tokenizer_open", "ctx, folder, out", why);
    rf_error own = {0};
    char below[RF_PATH];
    rf_tokenizer_folder f = {.ctx = ctx, .why = why ? why : &own};
    rf_held_folder *held = NULL;
    rf_tokenizer *t = NULL;
    rf_status status = rf_folder_hold(ctx, path, &held, f.why);
    if (!status) f.path = rf__model_folder(ctx, path, below);
    if (!status) status = open_folder(&f, &t);
    close_folder(&f);
    status = rf_folder_release(&held, status, f.why);
    if (!status) *out = t;
    else rf_tokenizer_free(t);
    return status;
}

rf_status rf__tokenizer_find(const rf_ctx *ctx, const char *folder, const char **file, rf_error *why)
{
    const rf_tokenizer_row *row = NULL;
    char below[RF_PATH];
    folder = rf__model_folder(ctx, folder, below);
    if ((*file = rf__folder_file(ctx, folder, &row))) return RF_OK;
    rf_error unread = {0};
    rf_tokenizer_folder f = {.ctx = ctx, .path = folder, .why = &unread};
    rf_status status = rf__folder_json(&f, RF_FILE_TOKENIZER_CONFIG, f.config_path, &f.config);
    if (!status) status = rf__folder_row(&f, &row);
    const bool classed = json_object_get(f.config, "tokenizer_class");          /* or the model_type says the class */
    close_folder(&f);
    if (!status && !row->holds) *file = classed ? RF_FILE_TOKENIZER_CONFIG : RF_FILE_CONFIG;
    return status == RF_ENOMEM ? rf_fail(why, status, "%s", unread.text) : RF_OK;
}

const char *rf_tokenizer_found(const rf_ctx *ctx, const char *folder)
{
    const char *file;
    return rf__tokenizer_find(ctx, folder, &file, NULL) ? NULL : file;
}
