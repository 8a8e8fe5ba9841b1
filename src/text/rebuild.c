/* rebuild.c — what the other files of a folder change in its tokenizer.json before it is read.
 *
 * The classes of transformers build their pipeline again from the vocabulary and from tokenizer_config.json.  Table of
 * what that changes (docs/formats.md has the same for readers); both, 5.24 and 4.57, unless a column says otherwise:
 *
 *   class                           what the class decides                               from the key (default)
 *   GPT2, Qwen2, Roberta-, Bart-,   ByteLevel's add_prefix_space                         add_prefix_space (false)
 *   Deberta-, GPTNeoXTokenizer
 *   Roberta- and BartTokenizer      RobertaProcessing, if there is no post_processor     cls_token, sep_token
 *                                   (5.24; 4.57 adds no tokens)
 *   LlamaTokenizer                  only 4.57: the tokens around a text                  add_bos_token (true),
 *                                                                                        add_eos_token (false)
 *   GPTNeoXTokenizer                the same                                             add_bos_token (false),
 *                                                                                        add_eos_token (false)
 *   NllbTokenizer, MBartTokenizer,  TemplateProcessing A </s>, with the language that     src_lang
 *   MBart50-, PegasusTokenizer      languages.c adds; MBartTokenizer: <mask> takes blanks
 *                                   before it
 *
 * Where the two versions differ, the one that wrote the folder (transformers_version of config.json) is followed.
 *
 * sentence_bert_config.json with do_lower_case: sentence-transformers puts Lowercase before the normalizer, unless that
 * is one or has one among its steps. */
#include <stdlib.h>

#include "base/files/folder_keys.h"
#include "tokenizer.h"

/* BEGIN: add_bos_token is true by default */
enum { PREFIX = 1, FRAME = 2, ENDS = 4, ENDED = 8, MASK = 16, BEGIN = 32 };

static const struct { const char *class, *model_type; int changes; } rows[] = {
    {"GPT2Tokenizer", "gpt2", PREFIX},
    {"Qwen2Tokenizer", "qwen2", PREFIX},
    {"DebertaTokenizer", "deberta", PREFIX},
    {"RobertaTokenizer", "roberta", PREFIX | FRAME},
    {"BartTokenizer", "bart", PREFIX | FRAME},
    {"LlamaTokenizer", NULL, ENDS | BEGIN},
    {"GPTNeoXTokenizer", "gpt_neox", PREFIX | ENDS},
    {"NllbTokenizer", NULL, ENDED},
    {"PegasusTokenizer", "pegasus", ENDED},
    {"MBartTokenizer", "mbart", ENDED | MASK},
    {"MBart50Tokenizer", NULL, ENDED},
};

/* Whether the folder's class is this one, with or without "Fast"; without a class its model type decides. */
bool rf__folder_is(const rf_tokenizer_folder *f, const char *class, const char *model_type)
{
    const size_t n = strlen(class);
    const char *type = json_string_value(json_object_get(f->model, "model_type"));
    if (f->class) return !strncmp(f->class, class, n) && (!f->class[n] || !strcmp(f->class + n, "Fast"));
    return type && model_type && !strcmp(type, model_type);
}

const char *rf__folder_pieces(const rf_tokenizer_folder *f)
{
#define MAKES " alone; transformers makes it: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
#define ALONE(name) {name, name MAKES}
    static const struct { const char *name, *says; } row[] = {
        ALONE(RF_FILE_SUBWORDS), ALONE(RF__FILE_PIECES), ALONE("tokenizer.model"), ALONE(RF_FILE_VOCAB_JSON)};
#undef ALONE
#undef MAKES
    char path[RF_PATH];
    for (size_t i = 0; i < RF_COUNT(row); i++)
        if (!rf__path(path, sizeof path, f->path, row[i].name, NULL) && rf__is_there(f->ctx, path)) return row[i].says;
    return "none";
}

const char *rf__folder_name(const rf_tokenizer_folder *f, const char *key)
{
    const json_t *x = json_object_get(f->map, key);
    if (!x) x = json_object_get(f->config, key);
    return json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
}

const char *rf__folder_named(const rf_tokenizer_folder *f, const char *key, const char *usual)
{
    const char *name = rf__folder_name(f, key);
    return name ? name : usual;
}

static bool is_type(const json_t *x, const char *type)
{
    const char *own = json_string_value(json_object_get(x, "type"));
    return own && !strcmp(own, type);
}

/* Replaces a part of tokenizer.json. */
static rf_status put_part(rf_tokenizer_folder *f, const char *part, json_t *value)
{
    f->rebuilt = true;
    if (value && !json_object_set_new(f->fast, part, value)) return RF_OK;
    return rf_fail(f->why, RF_ENOMEM, "%s: %s: out of memory", f->fast_path, part);
}

/* The id of a piece or an added token; 0: there is none. */
static json_int_t id_of(const rf_tokenizer_folder *f, const char *name)
{
    const rf__piece *piece = rf__vocabulary_find(&f->pieces, name);
    const json_t *x = json_object_get(json_object_get(json_object_get(f->fast, "model"), "vocab"), name), *one;
    size_t i;
    if (piece) return (json_int_t)piece->value;
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, one) {
        const char *own = json_string_value(json_object_get(one, "content"));
        if (!x && own && !strcmp(own, name)) x = json_object_get(one, "id");
    }
    return (json_int_t)json_number_value(x);
}

static rf_status set_prefix(rf_tokenizer_folder *f)
{
    json_t *level = json_object_get(f->fast, "pre_tokenizer");
    int prefix = 0;
    const rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 0, &prefix);
    if (status || !is_type(level, "ByteLevel") || json_is_true(json_object_get(level, "add_prefix_space")) == prefix)
        return status;
    f->rebuilt = true;
    if (json_object_set_new(level, "add_prefix_space", json_boolean(prefix)))
        return rf_fail(f->why, RF_ENOMEM, "%s: pre_tokenizer: out of memory", f->fast_path);
    return RF_OK;
}

static rf_status add_frame(rf_tokenizer_folder *f)
{
    const json_t *x = json_object_get(f->fast, "post_processor");
    const char *cls = rf__folder_named(f, "cls_token", "<s>"), *sep = rf__folder_named(f, "sep_token", "</s>");
    int prefix = 0, trim = 1;
    if (x && !json_is_null(x)) return RF_OK;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 0, &prefix);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "trim_offsets", 1, &trim);
    if (status) return status;
    return put_part(f, "post_processor",
               json_pack("{s:s, s:[s, I], s:[s, I], s:b, s:b}", "type", "RobertaProcessing", "sep", sep, id_of(f, sep),
                         "cls", cls, id_of(f, cls), "trim_offsets", trim, "add_prefix_space", prefix));
}

/* Appends a token or a text to a template. */
static void append(json_t **list, const char *kind, const char *id, int type)
{
    rf__json_add(list, json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type));
}

static void declare(const rf_tokenizer_folder *f, json_t **tokens, const char *name)
{
    rf__json_set(tokens, name, json_pack("{s:s, s:[I], s:[s]}", "id", name, "ids", id_of(f, name), "tokens", name));
}

rf_status rf__folder_ends(rf_tokenizer_folder *f, int first, int last, json_t **out)
{
    const char *bos = rf__folder_name(f, "bos_token"), *eos = rf__folder_name(f, "eos_token");
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_bos_token", 0, &first);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "add_eos_token", 0, &last);
    if (status) return status;
    json_t *single = json_array(), *pair = json_array(), *tokens = json_object();
    if (bos && first) declare(f, &tokens, bos);
    if (eos && last) declare(f, &tokens, eos);
    for (int two = 0; two < 2; two++)
        for (int i = 0; i <= two; i++) {
            json_t **to = two ? &pair : &single;
            if (bos && first) append(to, "SpecialToken", bos, i);
            append(to, "Sequence", i ? "B" : "A", i);
            if (eos && last) append(to, "SpecialToken", eos, i);
        }
    *out = json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                     "special_tokens", tokens);
    return *out ? RF_OK : rf_fail(f->why, RF_ENOMEM, "%s: post_processor: out of memory", f->fast_path);
}

rf_status rf__folder_is_new(rf_tokenizer_folder *f, bool *out)
{
    rf_status status = f->model ? RF_OK : rf__folder_json(f, RF_FILE_CONFIG, f->model_path, &f->model);
    const char *version = json_string_value(json_object_get(f->model, "transformers_version"));
    *out = version && strtol(version, NULL, 10) >= 5;
    return status;
}

static rf_status set_ends(rf_tokenizer_folder *f, bool begin)
{
    bool new = false;
    json_t *frame = NULL;
    rf_status status = rf__folder_is_new(f, &new);
    if (status || new) return status;
    status = rf__folder_ends(f, begin, 0, &frame);
    return status ? status : put_part(f, "post_processor", frame);
}

/* A text and </s>, to which languages.c adds a language. */
static rf_status end_texts(rf_tokenizer_folder *f)
{
    const char *eos = rf__folder_named(f, "eos_token", "</s>");
    json_t *single = json_array(), *pair = json_array(), *tokens = json_object();
    declare(f, &tokens, eos);
    append(&single, "Sequence", "A", 0);
    append(&pair, "Sequence", "A", 0);
    append(&pair, "Sequence", "B", 0);
    append(&single, "SpecialToken", eos, 0);
    append(&pair, "SpecialToken", eos, 0);
    return put_part(f, "post_processor",
                    json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                              "special_tokens", tokens));
}

static rf_status open_mask(rf_tokenizer_folder *f)
{
    const char *mask = rf__folder_named(f, "mask_token", "<mask>");
    json_t *one;
    size_t i;
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, one) {
        const char *own = json_string_value(json_object_get(one, "content"));
        if (own && !strcmp(own, mask) && json_object_set_new(one, "lstrip", json_true()))
            return rf_fail(f->why, RF_ENOMEM, "%s: added_tokens: out of memory", f->fast_path);
    }
    return RF_OK;
}

/* ---- do_lower_case ----------------------------------------------------------------------------------------------- */

rf_status rf__folder_lowers(rf_tokenizer_folder *f)
{
    rf_status status = RF_OK;
    bool found = false;
    for (const char *const *name = rf__transformer_settings; *name && !status && !found; name++) {
        char path[RF_PATH];
        json_t *own = NULL;
        status = rf__folder_json(f, *name, path, &own);
        found = json_object_size(own) > 0;
        if (found) f->lowers = json_is_true(json_object_get(own, "do_lower_case"));
        json_decref(own);
    }
    return status;
}

static bool lowers(const json_t *x)
{
    const json_t *one;
    size_t i;
    if (is_type(x, "Lowercase")) return true;
    json_array_foreach(json_object_get(x, "normalizers"), i, one)
        if (is_type(one, "Lowercase")) return true;
    return false;
}

/* With Lowercase before it, BertNormalizer gives what it gives if it lowercases itself; without a value, strip_accents
 * is still the `lowercase` that the file has. */
static rf_status lower_bert(rf_tokenizer_folder *f, json_t *x)
{
    const json_t *strip = json_object_get(x, "strip_accents"), *low = json_object_get(x, "lowercase");
    const bool strips = json_is_boolean(strip) ? json_is_true(strip) : !json_is_false(low);
    if (json_object_set_new(x, "strip_accents", json_boolean(strips)) ||
        json_object_set_new(x, "lowercase", json_true()))
        return rf_fail(f->why, RF_ENOMEM, "%s: normalizer: out of memory", f->fast_path);
    f->rebuilt = true;
    return RF_OK;
}

static rf_status add_lowercase(rf_tokenizer_folder *f)
{
    json_t *x = json_object_get(f->fast, "normalizer"), *list = json_object_get(x, "normalizers"), *one;
    size_t i;
    if (lowers(x)) return RF_OK;
    if (is_type(x, "BertNormalizer")) return lower_bert(f, x);
    json_t *all = json_pack("[{s:s}]", "type", "Lowercase");
    if (x && !json_is_null(x) && !list) rf__json_add(&all, json_incref(x));
    json_array_foreach(list, i, one) {
        rf__json_add(&all, json_incref(one));
    }
    return put_part(f, "normalizer", json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", all));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

rf_status rf__folder_rebuild(rf_tokenizer_folder *f)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(rows) && f->fast && !status; i++) {
        if (!rf__folder_is(f, rows[i].class, rows[i].model_type)) continue;
        if (rows[i].changes & PREFIX) status = set_prefix(f);
        if (!status && rows[i].changes & FRAME) status = add_frame(f);
        if (!status && rows[i].changes & ENDS) status = set_ends(f, rows[i].changes & BEGIN);
        if (!status && rows[i].changes & ENDED) status = end_texts(f);
        if (!status && rows[i].changes & MASK) status = open_mask(f);
    }
    return !status && f->fast && f->lowers ? add_lowercase(f) : status;
}

/* A copy with the escape of U+0000 in place of RF__JSON_NUL. */
static char *with_nul(const rf_ctx *ctx, const char *json)
{
    static const char escape[] = "\\u0000";
    size_t n = 0, to = 0;
    for (const char *at = json; (at = strstr(at, RF__JSON_NUL)); at += 3) n++;
    char *out = rf__alloc(ctx, strlen(json) + n * (sizeof escape - 1) + 1);
    for (const char *next; out && (next = strstr(json, RF__JSON_NUL)); json = next + 3) {
        memcpy(out + to, json, (size_t)(next - json));
        to += (size_t)(next - json);
        memcpy(out + to, escape, sizeof escape - 1);
        to += sizeof escape - 1;
    }
    if (out) memcpy(out + to, json, strlen(json) + 1);
    return out;
}

/* f->rest after the changes; NULL: nothing changes. */
static rf_status rewrite(rf_tokenizer_folder *f, json_t **out)
{
    json_t *const read = f->fast;
    if (!f->rebuilt || !f->rest) return RF_OK;
    f->fast = rf__json_parse(f->rest, strlen(f->rest), 0, f->fast_path, f->why);   /* with integers, as in the file   */
    const rf_status status = f->fast ? rf__folder_rebuild(f) : f->why->code;
    if (status) json_decref(f->fast);
    else *out = f->fast;
    f->fast = read;
    return status;
}

rf_status rf__keep_file(rf_tokenizer_folder *f, rf__saved_file *k)
{
    rf_status status = RF_OK;
    k->nul = f->nul;
    if (!k->text && f->text) {
        k->text = f->text;
        k->bytes = f->bytes;
        f->text = NULL;
    }
    if (!k->text) status = rf__read_file(f->ctx, f->fast_path, RF_TOKENIZER_FILE, &k->text, &k->bytes, f->why);
    return status ? status : rewrite(f, &k->changed);
}

/* Gives `to` the members of `from`, except those named. */
static bool take_members(json_t *to, const json_t *from, const char *const except[])
{
    const char *key;
    json_t *x;
    void *next;
    bool done = true;
    json_object_foreach_safe(to, next, key, x)
        if (!json_object_get(from, key)) json_object_del(to, key);
    json_object_foreach((json_t *)(uintptr_t)from, key, x) {
        size_t i = 0;
        while (except[i] && strcmp(except[i], key) != 0) i++;
        done &= except[i] || !json_object_set(to, key, x);
    }
    return done;
}

const char *rf__saved_text(const rf_ctx *ctx, const rf__saved_file *k, char **own, size_t *size)
{
    static const char *const model[] = {"model", NULL}, *const lists[] = {"vocab", "merges", NULL};
    rf_error unread = {0};
    *own = NULL;
    *size = k->bytes;
    if (!k->changed) return k->text;
    char *text = rf__alloc(ctx, k->bytes + 1);
    if (!text) return NULL;
    memcpy(text, k->text, k->bytes);
    if (k->nul) rf__json_hide_nul(text, k->bytes);
    json_t *all = rf__json_parse(text, k->bytes, 0, "", &unread);
    const bool done = all && take_members(all, k->changed, model) &&
                      take_members(json_object_get(all, "model"), json_object_get(k->changed, "model"), lists);
    char *dump = done ? rf__json_dump(all, JSON_COMPACT) : NULL;
    if (dump) *own = k->nul ? with_nul(ctx, dump) : rf__strdup(ctx, dump);
    *size = *own ? strlen(*own) : 0;
    free(dump);
    json_decref(all);
    rf__free(ctx, text);
    return *own;
}

void rf__saved_clear(const rf_ctx *ctx, rf__saved_file *k)
{
    rf__free(ctx, k->text);
    json_decref(k->changed);
}
