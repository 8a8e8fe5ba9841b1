/* folder.c — the tokenizer of a model folder: reading what Hugging Face writes, and writing what it reads.
 *
 *   vocab.txt                 the tokens
 *   tokenizer.json            the same and more; which parts of it count, tokenizer_class says (read_kind)
 *   tokenizer_config.json     the class and its settings
 *   special_tokens_map.json   names of special tokens, which win unless the settings have added_tokens_decoder       */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "text.h"

enum { MAX_FILE = 1 << 28, MAX_PATH = 4096, MAX_ADDED = 4096 };

typedef struct folder {
    const rf_ctx *ctx;
    const char *path;
    rf_tokenizer_options options;       /* strings belong to the JSON texts                                           */
    json_t *config, *map, *fast;        /* tokenizer_config.json, special_tokens_map.json, tokenizer.json             */
    char config_path[MAX_PATH], fast_path[MAX_PATH];
    bool bert, all;                     /* tokenizer_class: its settings count; it is tokenizer.json alone */
    rf_frame frame;
    const char *named[RF_SPECIALS];     /* by the settings */
    rf_added *added;
    size_t added_n;
    rf_vocab vocab;
    rf_error *why;
} folder;

static const struct { const char *key; size_t offset; } special_keys[] = {
    {"unk_token", offsetof(rf_tokenizer_options, unk)}, {"cls_token", offsetof(rf_tokenizer_options, cls)},
    {"sep_token", offsetof(rf_tokenizer_options, sep)}, {"pad_token", offsetof(rf_tokenizer_options, pad)},
    {"mask_token", offsetof(rf_tokenizer_options, mask)},
};

/* A JSON object from a file; *out stays NULL when there is no such file.  Integers are read as reals, because
 * transformers writes 10^30 for "no limit" (model_max_length). */
static rf_status read_json(folder *f, const char *name, char *path, json_t **out)
{
    rf_status status = rf__path(path, MAX_PATH, f->path, name, f->why);
    if (status || access(path, F_OK)) return status;
    char *text;
    size_t size;
    status = rf__read_file(f->ctx, path, MAX_FILE, &text, &size, f->why);
    if (status) return status;
    *out = rf__json_parse(text, size, JSON_DECODE_INT_AS_REAL, path, f->why);
    rf__free(f->ctx, text);
    return *out ? RF_OK : f->why->code;
}

static rf_status read_flag(folder *f, const char *path, const json_t *object, const char *key, int null, int *out)
{
    const json_t *x = json_object_get(object, key);
    if (!x) return RF_OK;
    if (json_is_null(x)) return *out = null, RF_OK;
    if (!json_is_boolean(x)) return rf_fail(f->why, RF_EDATA, "%s: %s: true or false was expected", path, key);
    *out = json_is_true(x);
    return RF_OK;
}

/* A whole number of at most MAX_FILE, or -1. */
static int64_t whole_number(const json_t *x)
{
    const double value = json_is_real(x) ? json_real_value(x) : -1;
    return value >= 0 && value <= MAX_FILE && value == (double)(int64_t)value ? (int64_t)value : -1;
}

static rf_status read_longest(folder *f, const char *path, const json_t *x)
{
    if (!x) return RF_OK;
    const int64_t value = whole_number(x);
    if (value < 1 || value > RF_MAX_WORD)
        return rf_fail(f->why, RF_EDATA, "%s: max_input_chars_per_word: 1 to %d was expected", path, RF_MAX_WORD);
    f->options.max_word = (int)value;
    return RF_OK;
}

/* A token as "text" or {"content": "text", ...}; NULL when it is neither. */
static const char *token_text(const json_t *x)
{
    return json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
}

/* ---- tokenizer_config.json --------------------------------------------------------------------------------------- */

/* Kinds that tokenize as BERT does; with the second ones tokenizer.json says everything. */
static const char *const bert_kinds[] = {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
                                         "DistilBertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast"};
static const char *const fast_kinds[] = {"PreTrainedTokenizerFast", "TokenizersBackend"};

/* Of a BERT class the settings are its own and what it is given, whatever tokenizer.json has beside its tokens; of the
 * second kind tokenizer.json says all.  Without a class, settings win over tokenizer.json. */
static rf_status read_kind(folder *f)
{
    const json_t *x = json_object_get(f->config, "tokenizer_class");
    if (!x || json_is_null(x)) return RF_OK;
    const char *kind = json_string_value(x);
    if (!kind) return rf_fail(f->why, RF_EDATA, "%s: tokenizer_class: a string was expected", f->config_path);
    for (size_t i = 0; i < RF_COUNT(bert_kinds); i++)
        f->bert |= !strcmp(kind, bert_kinds[i]);
    for (size_t i = 0; i < RF_COUNT(fast_kinds); i++) f->all |= !strcmp(kind, fast_kinds[i]);
    if (f->bert || f->all) return RF_OK;
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: tokenizer_class %.60s is not supported, BertTokenizer is%s",
                   f->config_path, kind,
                   strstr(kind, "RoFormer") ? " (RoFormerTokenizer cuts Chinese into words with jieba)" : "");
}

static rf_status read_rules(folder *f)
{
    const json_t *x = json_object_get(f->config, "roformer_rules");
    const char *rules = json_string_value(x);
    if (!x) return RF_OK;
    if (rules && !strcmp(rules, "rust")) f->options.rules = RF_RULES_RUST;
    else if (rules && !strcmp(rules, "python")) f->options.rules = RF_RULES_PYTHON;
    else return rf_fail(f->why, RF_EDATA, "%s: roformer_rules: \"rust\" or \"python\" was expected", f->config_path);
    if (f->options.rules == RF_RULES_RUST) return RF_OK;
    if (json_is_false(json_object_get(f->config, "do_basic_tokenize")) ||
        json_array_size(json_object_get(f->config, "never_split")))
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: do_basic_tokenize and never_split are not supported",
                       f->config_path);
    return RF_OK;
}

static rf_status read_specials(folder *f)
{
    for (size_t i = 0; i < RF_COUNT(special_keys); i++) {
        const json_t *x = json_object_get(f->map, special_keys[i].key);
        if (!x) x = json_object_get(f->config, special_keys[i].key);
        if (!x || json_is_null(x)) continue;
        const char *text = token_text(x);
        if (!text)
            return rf_fail(f->why, RF_EDATA, "%s: %s: a string or an object with \"content\" was expected",
                           f->config_path, special_keys[i].key);
        f->named[i] = text;
        if (!f->all || i > RF_SEP) memcpy((char *)&f->options + special_keys[i].offset, &text, sizeof text);
    }
    return RF_OK;
}

static rf_status put_added(folder *f, const char *path, rf_added a)
{
    if (f->added_n == MAX_ADDED)
        return rf_fail(f->why, RF_EDATA, "%s: more than %d added tokens", path, MAX_ADDED);
    if (!f->added) f->added = rf__calloc(f->ctx, MAX_ADDED, sizeof *f->added);
    if (!f->added) return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", path);
    f->added[f->added_n++] = a;
    return RF_OK;
}

/* One added token: `x` an object with content, lstrip, rstrip, special, single_word, normalized. */
static rf_status read_added(folder *f, const char *path, const json_t *x, int64_t id)
{
    const char *text = token_text(x);
    int single = 0, normal = 0, lstrip = 0, rstrip = 0, special = 0;
    if (!json_is_object(x) || !text || !text[0] || id < 0 || id >= INT32_MAX)
        return rf_fail(f->why, RF_EDATA, "%s: added token %lld: an object with \"content\" and an id were expected",
                       path, (long long)id);
    rf_status status = read_flag(f, path, x, "single_word", 0, &single);
    if (!status) status = read_flag(f, path, x, "normalized", 0, &normal);
    if (!status) status = read_flag(f, path, x, "lstrip", 0, &lstrip);
    if (!status) status = read_flag(f, path, x, "rstrip", 0, &rstrip);
    if (!status) status = read_flag(f, path, x, "special", 0, &special);
    if (status) return status;
    if (single || normal)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: added token %.40s: %s is not supported", path, text,
                       single ? "single_word" : "normalized");
    return put_added(f, path, (rf_added){text, strlen(text), (int32_t)id, special != 0, lstrip != 0, rstrip != 0});
}

static rf_status read_all_added(folder *f)
{
    const char *key;
    json_t *x;
    size_t i;
    rf_status status = RF_OK;
    json_object_foreach(json_object_get(f->config, "added_tokens_decoder"), key, x) {
        char *end;
        const long long id = strtoll(key, &end, 10);
        if (*end || end == key || id < 0 || id > MAX_FILE)
            return rf_fail(f->why, RF_EDATA, "%s: added_tokens_decoder: %.40s is not an id", f->config_path, key);
        if ((status = read_added(f, f->config_path, x, id))) return status;
    }
    if (f->bert && json_object_get(f->config, "added_tokens_decoder")) return RF_OK;
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, x) {
        if ((status = read_added(f, f->fast_path, x, whole_number(json_object_get(x, "id"))))) return status;
    }
    return RF_OK;
}

static rf_status read_settings(folder *f)
{
    rf_status status = read_specials(f);
    if (!status && f->all) return read_all_added(f);
    if (!status) status = read_flag(f, f->config_path, f->config, "do_lower_case", 1, &f->options.lowercase);
    if (!status) status = read_flag(f, f->config_path, f->config, "strip_accents", -1, &f->options.strip_accents);
    if (!status) status = read_flag(f, f->config_path, f->config, "tokenize_chinese_chars", 1, &f->options.han_split);
    if (!status)
        status = read_longest(f, f->config_path, json_object_get(f->config, "max_input_chars_per_word"));
    return status ? status : read_all_added(f);
}

/* ---- tokenizer.json ---------------------------------------------------------------------------------------------- */

static rf_status expect_type(folder *f, const char *part, const char *kind)
{
    const json_t *x = json_object_get(f->fast, part);
    const char *type = json_string_value(json_object_get(x, "type"));
    if (type && !strcmp(type, kind)) return RF_OK;
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: %s %.60s is not supported, %s is", f->fast_path, part,
                   type ? type : json_is_null(x) || !x ? "null" : "without type", kind);
}

/* The template must be [CLS] A [SEP] (B [SEP]): its kind is enough for BertProcessing, otherwise the pieces count. */
static rf_status check_template(folder *f)
{
    const json_t *x = json_object_get(f->fast, "post_processor");
    const char *type = json_string_value(json_object_get(x, "type"));
    const char **const name[] = {&f->options.cls, &f->options.sep};
    f->frame.none = f->all && (!x || json_is_null(x));
    if (!x || json_is_null(x)) return RF_OK;
    if (type && !strcmp(type, "BertProcessing")) {
        *name[0] = json_string_value(json_array_get(json_object_get(x, "cls"), 0));
        *name[1] = json_string_value(json_array_get(json_object_get(x, "sep"), 0));
        return RF_OK;
    }
    if (!type || strcmp(type, "TemplateProcessing") != 0)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: post_processor %.60s is not supported, TemplateProcessing is",
                       f->fast_path, type ? type : "without type");
    static const char *const shape[] = {"SAS", "SASBS"};
    static const char *const key[] = {"single", "pair"};
    for (int i = 0; i < 2; i++) {
        const json_t *list = json_object_get(x, key[i]);
        const size_t n = strlen(shape[i]);
        bool fits = json_array_size(list) == n;
        for (size_t k = 0; k < n && fits; k++) {
            const json_t *piece = json_array_get(list, k), *s = json_object_get(piece, "Sequence");
            const char *id = json_string_value(json_object_get(s, "id"));
            const char *put = json_string_value(json_object_get(json_object_get(piece, "SpecialToken"), "id"));
            if (put && !i && k != 1) *name[k / 2] = put;
            fits = shape[i][k] == 'S' ? put && *name[k > 0] && !strcmp(put, *name[k > 0])
                                      : id && id[0] == shape[i][k] && !id[1];
        }
        if (!fits)
            return rf_fail(f->why, RF_EUNSUPPORTED,
                           "%s: post_processor: the template for a %s text is not that of BERT", f->fast_path, key[i]);
    }
    return RF_OK;
}

static rf_status check_parts(folder *f)
{
    rf_status status = expect_type(f, "model", "WordPiece");
    if (status || f->bert) return status;
    if (!status) status = expect_type(f, "normalizer", "BertNormalizer");
    if (!status) status = expect_type(f, "pre_tokenizer", "BertPreTokenizer");
    if (!status) status = check_template(f);
    if (status) return status;
    const json_t *model = json_object_get(f->fast, "model");
    const json_t *longest = json_object_get(model, "max_input_chars_per_word");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    if (prefix && strcmp(prefix, "##") != 0)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: continuing_subword_prefix %.20s is not supported, ## is",
                       f->fast_path, prefix);
    status = read_longest(f, f->fast_path, longest);
    if (status) return status;
    f->options.unk = json_string_value(json_object_get(model, "unk_token"));
    const json_t *normal = json_object_get(f->fast, "normalizer");
    int clean = 1;
    status = read_flag(f, f->fast_path, normal, "clean_text", 1, &clean);
    if (!status && !clean)
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: normalizer: clean_text false is not supported", f->fast_path);
    if (!status) status = read_flag(f, f->fast_path, normal, "handle_chinese_chars", 1, &f->options.han_split);
    if (!status) status = read_flag(f, f->fast_path, normal, "strip_accents", -1, &f->options.strip_accents);
    if (!status) status = read_flag(f, f->fast_path, normal, "lowercase", 1, &f->options.lowercase);
    return status;
}

typedef struct entry { const char *text; size_t size; bool alone; } entry;

/* Puts a token at its id, which is below `most`; the list grows to hold it. */
static rf_status put_entry(folder *f, entry **list, size_t *n, size_t *capacity, const char *text, size_t size,
                           int64_t id, size_t most, bool alone)
{
    if (id < 0 || (size_t)id >= most)
        return rf_fail(f->why, RF_EDATA, "%s: token %.40s: an id from 0 to %zu was expected", f->fast_path, text,
                       most - 1);
    if (memchr(text, '\n', size))
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: token %lld holds a line break", f->fast_path, (long long)id);
    const size_t old = *capacity;
    if (!rf__grow(f->ctx, list, capacity, (size_t)id + 1, sizeof **list))
        return rf_fail(f->why, RF_ENOMEM, "%s: no memory for id %lld", f->fast_path, (long long)id);
    if (*capacity > old) memset(*list + old, 0, (*capacity - old) * sizeof **list);
    if ((*list)[id].text && ((*list)[id].size != size || memcmp((*list)[id].text, text, size) != 0))
        return rf_fail(f->why, RF_EDATA, "%s: id %lld belongs to %.40s and %.40s", f->fast_path, (long long)id,
                       (*list)[id].text, text);
    if (!(*list)[id].text) (*list)[id] = (entry){text, size, alone};
    if ((size_t)id + 1 > *n) *n = (size_t)id + 1;
    return RF_OK;
}

/* The tokens of tokenizer.json by id; an id without a token gets an empty, hidden one. */
static rf_status read_fast_vocab(folder *f)
{
    json_t *vocab = json_object_get(json_object_get(f->fast, "model"), "vocab");
    if (!json_object_size(vocab))
        return rf_fail(f->why, RF_EDATA, "%s: model.vocab: an object of tokens was expected", f->fast_path);
    entry *list = NULL;
    size_t n = 0, capacity = 0, bytes = 0;
    const size_t most = 4 * (json_object_size(vocab) + f->added_n) + 65536;   /* a few ids may be without tokens      */
    const char *key;
    json_t *x;
    rf_status status = RF_OK;
    json_object_foreach(vocab, key, x) {
        if (!status) status = put_entry(f, &list, &n, &capacity, key, strlen(key), whole_number(x), most, false);
        bytes += strlen(key);
    }
    for (size_t i = 0; i < f->added_n && !status; i++) {
        status = put_entry(f, &list, &n, &capacity, f->added[i].text, f->added[i].size, f->added[i].id, most, true);
        bytes += f->added[i].size;
    }
    if (!status && bytes + n > UINT32_MAX - 1)
        status =
            rf_fail(f->why, RF_EDATA, "%s: %zu bytes of tokens, the limit is %u", f->fast_path, bytes, UINT32_MAX - 1);
    if (status) {
        rf__free(f->ctx, list);
        return status;
    }
    char *text = rf__alloc(f->ctx, bytes + n + 1);
    uint32_t *begin = rf__alloc(f->ctx, (n + 1) * sizeof *begin);
    uint8_t *hidden = rf__calloc(f->ctx, n, 1);
    if (!text || !begin || !hidden) {
        rf__free(f->ctx, text);
        rf__free(f->ctx, begin);
        rf__free(f->ctx, hidden);
        rf__free(f->ctx, list);
        return rf_fail(f->why, RF_ENOMEM, "%s: no memory for %zu tokens", f->fast_path, n);
    }
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        begin[i] = (uint32_t)used;
        hidden[i] = !list[i].text ? RF_HIDDEN : list[i].alone ? RF_ALONE : 0;
        if (list[i].text) memcpy(text + used, list[i].text, list[i].size);
        used += list[i].size;
        text[used++] = 0;
    }
    begin[n] = (uint32_t)used;
    rf__free(f->ctx, list);
    return rf__vocab_init(&f->vocab, f->ctx, text, used, begin, hidden, (int32_t)n, f->why);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Where tokenizer.json says all, special tokens that the settings name are found in raw text; others may frame it. */
static rf_status add_named(folder *f)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(f->named) && f->all && !status; i++) {
        const char *text = f->named[i];
        const int32_t id = text ? rf__vocab_find(&f->vocab, text, strlen(text)) : -1;
        if (id >= 0) status = put_added(f, f->config_path, (rf_added){text, strlen(text), id, true, false, false});
    }
    return status;
}

/* Added tokens must be where the vocabulary has them, or follow it. */
static rf_status check_added(folder *f, const char *path)
{
    const rf_vocab *v = &f->vocab;
    for (size_t i = 0; i < f->added_n; i++) {
        const rf_added *a = &f->added[i];
        const int32_t id = rf__vocab_find(v, a->text, a->size);
        if (id >= 0 && id != a->id)
            return rf_fail(f->why, RF_EDATA, "%s: the added token %.40s has id %d, in the vocabulary it has %d", path,
                           a->text, (int)a->id, (int)id);
        if (id < 0 && (a->id >= v->n || rf__vocab_token_size(v, a->id) != a->size ||
                       memcmp(rf__vocab_token(v, a->id), a->text, a->size) != 0))
            return rf_fail(f->why, RF_EDATA,
                           "%s: the added token %.40s has id %d, which neither is in the vocabulary nor follows it",
                           path, a->text, (int)a->id);
    }
    return RF_OK;
}

static rf_status open_parts(folder *f, const char *vocab_path, rf_tokenizer **out)
{
    char map_path[MAX_PATH];
    rf_status status = read_json(f, "tokenizer_config.json", f->config_path, &f->config);
    if (!status) status = read_kind(f);
    if (!status) status = read_rules(f);
    if (!status && !json_object_get(f->config, "added_tokens_decoder"))
        status = read_json(f, "special_tokens_map.json", map_path, &f->map);
    bool lines = !status && !access(vocab_path, F_OK) && !f->all;
    if (!status && (!lines || (f->bert && f->options.rules == RF_RULES_RUST)))
        status = read_json(f, "tokenizer.json", f->fast_path, &f->fast);
    if (status) return status;
    if (f->fast) lines = false;
    if (!lines && !f->fast)
        return rf_fail(f->why, RF_EIO, "%s: cannot open: %s%s", f->all ? f->fast_path : vocab_path, strerror(ENOENT),
                       f->all ? "" : " (there is no tokenizer.json either)");
    f->frame.found = !f->all;
    if (f->fast) status = check_parts(f);
    if (!status) status = read_settings(f);
    if (status) return status;
    const char *name = lines ? vocab_path : f->fast_path;
    if (lines) {
        char *text;
        size_t size;
        status = rf__read_file(f->ctx, vocab_path, MAX_FILE, &text, &size, f->why);
        if (status) return status;
        status =
            rf__vocab_lines(&f->vocab, f->ctx, text, size, vocab_path, f->options.rules, f->added, f->added_n, f->why);
        rf__free(f->ctx, text);
    } else {
        status = read_fast_vocab(f);
    }
    if (status) return status;
    status = add_named(f);
    if (!status) status = check_added(f, name);
    if (status) {
        rf__vocab_clear(&f->vocab);
        return status;
    }
    return rf__tokenizer_make(f->ctx, &f->vocab, name, &f->options, f->added, f->added_n, f->frame, out, f->why);
}

rf_status rf_tokenizer_open(const rf_ctx *ctx, const char *path, rf_tokenizer **out, rf_error *why)
{
    if (!(ctx && path && out)) return rf__missing("rf_tokenizer_open", "ctx, folder, out", why);
    rf_error own = {0};
    folder f = {.ctx = ctx, .path = path, .options = RF_TOKENIZER_DEFAULTS, .why = why ? why : &own};
    char vocab_path[MAX_PATH];
    rf_status status = rf__path(vocab_path, sizeof vocab_path, path, "vocab.txt", f.why);
    if (!status) status = open_parts(&f, vocab_path, out);
    json_decref(f.config);
    json_decref(f.map);
    json_decref(f.fast);
    rf__free(ctx, f.added);
    return status;
}
