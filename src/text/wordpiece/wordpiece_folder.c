/* wordpiece_folder.c — reads and writes a WordPiece tokenizer in a model folder.
 *
 *   vocab.txt         the tokens
 *   tokenizer.json    tokens and settings.  With a BERT class only its tokens are used, and settings come from other
 *                     files; with a class that leaves everything to it, it is complete; without a class, other
 *                     settings have priority                                                                         */
#include <errno.h>
#include <stdlib.h>

#include "base/files/path.h"
#include "wordpiece.h"

typedef struct source {
    rf_tokenizer_folder *f;
    rf_tokenizer_options options;       /* strings belong to the JSON texts                                           */
    bool bert;                          /* the class is one of BERT's                                                 */
    rf_vocab vocab;
} source;

/* The names of special tokens, in the order of the settings'. */
static const char **name_of(rf_tokenizer_options *o, int i)
{
    const char **const name[RF_SPECIALS] = {
        [RF_UNK] = &o->unk, [RF_CLS] = &o->cls, [RF_SEP] = &o->sep, [RF_PAD] = &o->pad, [RF_MASK] = &o->mask};
    return name[i];
}

static rf_status read_longest(source *s, const char *path, const json_t *x)
{
    if (!x) return RF_OK;
    const int64_t value = rf__whole_number(x);
    if (value < 1 || value > RF_MAX_WORD)
        return rf_fail(s->f->why, RF_EDATA, "%s: max_input_chars_per_word: expected 1 to %d, got %s", path, RF_MAX_WORD,
                       rf__json_shown(x).text);
    s->options.max_word = (int)value;
    return RF_OK;
}

/* ---- settings ---- */

static rf_status read_rules(source *s)
{
    const rf_tokenizer_folder *f = s->f;
    const json_t *x = json_object_get(f->config, "roformer_rules");
    const char *rules = json_string_value(x);
    const bool wobert = f->class && !strcmp(f->class, RF_WOBERT_CLASS);
    if (!x && !wobert) return RF_OK;
    if (!x) rules = rf__rules_name[RF_RULES_WOBERT];
    int i = 0;
    while (i < RF_RULES_N && !(rules && !strcmp(rules, rf__rules_name[i]))) i++;
    if (i == RF_RULES_N)
        return rf_fail(f->why, RF_EDATA,
                       "%s: roformer_rules: expected \"rust\", \"python\", \"bert4keras\" or \"wobert\", got %s",
                       f->config_path, rf__json_shown(x).text);
    s->options.rules = (rf_rules)i;
    if (s->options.rules == RF_RULES_RUST) return RF_OK;
    if (s->options.rules == RF_RULES_BERT4KERAS) s->options.max_word = RF_MAX_WORD_BERT4KERAS;
    if (json_is_false(json_object_get(f->config, "do_basic_tokenize")) ||
        json_array_size(json_object_get(f->config, "never_split")))
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: do_basic_tokenize and never_split are not supported",
                       f->config_path);
    return RF_OK;
}

/* Special tokens of the settings have priority, unless only tokenizer.json defines the template. */
static rf_status read_settings(source *s)
{
    rf_tokenizer_folder *f = s->f;
    rf_tokenizer_options *o = &s->options;
    for (int i = 0; i < RF_SPECIALS; i++)
        if (f->parts.special[i] && (!f->all || i > RF_SEP)) *name_of(o, i) = f->parts.special[i];
    if (f->all) return RF_OK;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "do_lower_case", 1, &o->lowercase);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "strip_accents", -1, &o->strip_accents);
    if (f->lowers && o->strip_accents < 0) o->strip_accents = o->lowercase;
    if (f->lowers) o->lowercase = 1;                       /* Lowercase before the normalizer gives the same          */
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "tokenize_chinese_chars", 1, &o->han_split);
    if (!status)
        status = read_longest(s, f->config_path, json_object_get(f->config, "max_input_chars_per_word"));
    return status;
}

static rf_status read_fast_added(source *s)
{
    rf_tokenizer_folder *f = s->f;
    size_t i;
    json_t *x;
    rf_status status = RF_OK;
    if (s->bert && json_object_get(f->config, "added_tokens_decoder")) return RF_OK;
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, x) {
        if ((status = rf__folder_added(f, f->fast_path, x, rf__whole_number(json_object_get(x, "id"))))) break;
    }
    return status ? status : rf__folder_decoder(f);
}

/* ---- tokenizer.json ---------------------------------------------------------------------------------------------- */

static rf_status expect_type(source *s, const char *part, const char *kind)
{
    const json_t *x = json_object_get(s->f->fast, part);
    const char *type = json_string_value(json_object_get(x, "type"));
    if (type && !strcmp(type, kind)) return RF_OK;
    return rf_fail(s->f->why, RF_EUNSUPPORTED, "%s: %s: expected %s, got %.60s", s->f->fast_path, part, kind,
                   type ? type : json_is_null(x) || !x ? "null" : "an object without type");
}

/* The template must be [CLS] A [SEP] (B [SEP]): BertProcessing always is, otherwise its parts are compared.
 * RobertaProcessing is that of MPNet: [CLS] A [SEP] ([SEP] B [SEP]), all of type 0. */
static rf_status check_template(source *s)
{
    const json_t *x = json_object_get(s->f->fast, "post_processor");
    const char *type = json_string_value(json_object_get(x, "type"));
    const char **const name[] = {&s->options.cls, &s->options.sep};
    s->f->parts.bare = s->f->all && (!x || json_is_null(x));
    if (!x || json_is_null(x)) return RF_OK;
    const bool roberta = type && !strcmp(type, "RobertaProcessing");
    s->f->parts.one_type = roberta;
    s->f->parts.more_middle = roberta;
    s->f->parts.trims = roberta && json_is_true(json_object_get(x, "trim_offsets"));
    s->f->parts.trims_first = roberta && json_is_true(json_object_get(x, "add_prefix_space"));
    if (roberta || (type && !strcmp(type, "BertProcessing"))) {
        *name[0] = json_string_value(json_array_get(json_object_get(x, "cls"), 0));
        *name[1] = json_string_value(json_array_get(json_object_get(x, "sep"), 0));
        return RF_OK;
    }
    if (!type || strcmp(type, "TemplateProcessing") != 0)
        return rf_fail(s->f->why, RF_EUNSUPPORTED,
                       "%s: post_processor: expected TemplateProcessing, BertProcessing or RobertaProcessing, got "
                       "%.60s", s->f->fast_path, type ? type : "an object without type");
    static const char *const shape[] = {"SAS", "SASBS"};
    static const char *const key[] = {"single", "pair"};
    for (int i = 0; i < 2; i++) {
        const json_t *list = json_object_get(x, key[i]);
        const size_t n = strlen(shape[i]);
        bool fits = json_array_size(list) == n;
        for (size_t k = 0; k < n && fits; k++) {
            const json_t *piece = json_array_get(list, k), *whole = json_object_get(piece, "Sequence");
            const char *id = json_string_value(json_object_get(whole, "id"));
            const char *put = json_string_value(json_object_get(json_object_get(piece, "SpecialToken"), "id"));
            const json_t *type_id = json_object_get(whole ? whole : json_object_get(piece, "SpecialToken"), "type_id");
            if (put && !i && k != 1) *name[k / 2] = put;
            fits = shape[i][k] == 'S' ? put && *name[k > 0] && !strcmp(put, *name[k > 0])
                                      : id && id[0] == shape[i][k] && !id[1];
            fits &= json_number_value(type_id) == (k > 2);
        }
        if (!fits)
            return rf_fail(s->f->why, RF_EUNSUPPORTED,
                           "%s: post_processor: template for a %s text: expected that of BERT, got another one",
                           s->f->fast_path, key[i]);
    }
    return RF_OK;
}

/* The decoder: WordPiece, or null, with which tokenizers puts a blank between tokens and removes nothing. */
static rf_status read_decoder(source *s)
{
    const json_t *x = json_object_get(s->f->fast, "decoder");
    const char *prefix = json_string_value(json_object_get(x, "prefix"));
    int clean = 1;
    s->f->parts.apart = s->f->parts.uncleaned = !x || json_is_null(x);
    if (s->f->parts.apart) return RF_OK;
    rf_status status = expect_type(s, "decoder", "WordPiece");
    if (!status && prefix && strcmp(prefix, "##") != 0)
        status = rf_fail(s->f->why, RF_EUNSUPPORTED, "%s: decoder: prefix: expected ##, got %.20s", s->f->fast_path,
                         rf__printable(prefix).text);
    if (!status) status = rf__folder_flag(s->f, s->f->fast_path, x, "cleanup", 1, &clean);
    s->f->parts.uncleaned = !clean;
    return status;
}

static rf_status check_parts(source *s)
{
    const char *kind = rf__model_kind(json_object_get(s->f->fast, "model"));
    rf_status status = kind && !strcmp(kind, "WordPiece") ? RF_OK : expect_type(s, "model", "WordPiece");
    if (status || s->bert) return status;
    if (!status) status = expect_type(s, "normalizer", "BertNormalizer");
    if (!status) status = expect_type(s, "pre_tokenizer", "BertPreTokenizer");
    if (!status) status = check_template(s);
    if (!status) status = read_decoder(s);
    if (status) return status;
    const json_t *model = json_object_get(s->f->fast, "model");
    const json_t *longest = json_object_get(model, "max_input_chars_per_word");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    if (prefix && strcmp(prefix, "##") != 0)
        return rf_fail(s->f->why, RF_EUNSUPPORTED, "%s: continuing_subword_prefix: expected ##, got %.20s",
                       s->f->fast_path, prefix);
    status = read_longest(s, s->f->fast_path, longest);
    if (status) return status;
    s->options.unk = json_string_value(json_object_get(model, "unk_token"));
    const json_t *normal = json_object_get(s->f->fast, "normalizer");
    int clean = 1;
    status = rf__folder_flag(s->f, s->f->fast_path, normal, "clean_text", 1, &clean);
    if (!status && !clean)
        status =
            rf_fail(s->f->why, RF_EUNSUPPORTED, "%s: normalizer: clean_text: expected true, got false",
                    s->f->fast_path);
    if (!status)
        status = rf__folder_flag(s->f, s->f->fast_path, normal, "handle_chinese_chars", 1, &s->options.han_split);
    if (!status)
        status = rf__folder_flag(s->f, s->f->fast_path, normal, "strip_accents", -1, &s->options.strip_accents);
    if (!status) status = rf__folder_flag(s->f, s->f->fast_path, normal, "lowercase", 1, &s->options.lowercase);
    return status;
}

bool rf__wordpiece_fits(const rf_tokenizer_folder *f)
{
    rf_error unread = {0};
    rf_tokenizer_folder copy = *f;
    source s = {.f = &copy};
    if (f->nul) return false;
    copy.why = &unread;
    copy.all = true;
    rf_tokenizer_defaults(&s.options);
    return !check_parts(&s);
}

typedef struct entry { const char *text; size_t size; bool alone; } entry;

/* Stores a token at its id, which is below `most`; the list grows as needed. */
static rf_status put_entry(source *s, entry **list, size_t *n, size_t *capacity, const char *text, size_t size,
                           int64_t id, size_t most, bool alone)
{
    if (id < 0 || (size_t)id >= most)
        return rf_fail(s->f->why, RF_EDATA, "%s: token %.40s: expected an id from 0 to %zu, got %lld", s->f->fast_path,
                       text, most - 1, (long long)id);
    if (memchr(text, '\n', size))
        return rf_fail(s->f->why, RF_EUNSUPPORTED, "%s: token %lld holds a line break", s->f->fast_path, (long long)id);
    const size_t old = *capacity;
    if (!rf__grow(s->f->ctx, list, capacity, (size_t)id + 1, sizeof **list))
        return rf_fail(s->f->why, RF_ENOMEM, "%s: out of memory for id %lld", s->f->fast_path, (long long)id);
    if (*capacity > old) memset(*list + old, 0, (*capacity - old) * sizeof **list);
    if ((*list)[id].text && ((*list)[id].size != size || memcmp((*list)[id].text, text, size) != 0))
        return rf_fail(s->f->why, RF_EDATA, "%s: id %lld belongs to %.40s and %.40s", s->f->fast_path, (long long)id,
                       (*list)[id].text, text);
    if (!(*list)[id].text) (*list)[id] = (entry){text, size, alone};
    if ((size_t)id + 1 > *n) *n = (size_t)id + 1;
    return RF_OK;
}

static int32_t find_entry(const void *pieces, const char *text)
{
    const rf__piece *x = rf__vocabulary_find(pieces, text);
    return x ? (int32_t)rf__whole(x->value) : -1;
}

/* The vocabulary of n entries of `bytes` bytes; an entry without a text is an empty, hidden token. */
static rf_status entries_to_vocab(source *s, const entry *list, size_t n, size_t bytes)
{
    char *text = rf__alloc(s->f->ctx, bytes + n + 1);
    uint32_t *begin = rf__alloc(s->f->ctx, (n + 1) * sizeof *begin);
    uint8_t *hidden = rf__calloc(s->f->ctx, n, 1);
    if (!text || !begin || !hidden) {
        rf__free(s->f->ctx, text);
        rf__free(s->f->ctx, begin);
        rf__free(s->f->ctx, hidden);
        return rf_fail(s->f->why, RF_ENOMEM, "%s: out of memory for %zu tokens", s->f->fast_path, n);
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
    return rf__vocab_init(&s->vocab, s->f->ctx, text, used, begin, hidden, (int32_t)n, s->f->why);
}

/* tokenizers numbers the tokens that are not in the vocabulary of `own` ids itself, in the order of the ids that the
 * settings give. */
static void number_again(source *s, int32_t own)
{
    rf_added *added = s->f->parts.added;
    const size_t n = s->f->parts.added_n;
    rf__added_sort(added, n);
    for (size_t i = 0; i < n; i++)
        if (added[i].id >= own) added[i].id = RF_ADDED_OPEN;
}

/* The tokens of tokenizer.json and the added ones, by id. */
static rf_status read_fast_vocab(source *s)
{
    const json_t *vocab = json_object_get(json_object_get(s->f->fast, "model"), "vocab");
    const rf__vocabulary *own = &s->f->pieces;
    if (!own->n || !json_is_object(vocab))
        return rf_fail(s->f->why, RF_EDATA, "%s: model.vocab: expected an object of tokens with their ids, got %s",
                       s->f->fast_path, rf__json_shown(vocab).text);
    if (s->bert && s->options.rules == RF_RULES_RUST) number_again(s, (int32_t)own->n);
    rf__added_resolve(s->f->parts.added, s->f->parts.added_n, (int32_t)own->n, find_entry, own);
    entry *list = NULL;
    size_t n = 0, capacity = 0, bytes = 0;
    const size_t most = 4 * (own->n + s->f->parts.added_n) + 65536;                     /* some ids have no token     */
    rf_status status = RF_OK;
    for (size_t i = 0; i < own->n && !status; i++) {
        const rf__piece *x = &own->piece[i];
        status = put_entry(s, &list, &n, &capacity, x->name, x->size, rf__whole(x->value), most, false);
        bytes += x->size;
    }
    for (size_t i = 0; i < s->f->parts.added_n && !status; i++) {
        status = put_entry(s, &list, &n, &capacity, s->f->parts.added[i].text, s->f->parts.added[i].size,
                           s->f->parts.added[i].id, most, true);
        bytes += s->f->parts.added[i].size;
    }
    if (!status && bytes + n > UINT32_MAX - 1)
        status = rf_fail(s->f->why, RF_EDATA, "%s: expected at most %u bytes of tokens, got %zu", s->f->fast_path,
                         UINT32_MAX - 1, bytes);
    if (!status) status = entries_to_vocab(s, list, n, bytes);
    rf__free(s->f->ctx, list);
    return status;
}

/* ---- opening ---- */

/* Added tokens must have their id in the vocabulary, or follow it. */
static rf_status check_added(source *s, const char *path)
{
    const rf_vocab *v = &s->vocab;
    for (size_t i = 0; i < s->f->parts.added_n; i++) {
        const rf_added *a = &s->f->parts.added[i];
        const int32_t id = rf__vocab_find(v, a->text, a->size);
        if (id >= 0 && id != a->id)
            return rf_fail(s->f->why, RF_EDATA,
                           "%s: the added token %.40s: expected its id %d of the vocabulary, got %d", path, a->text,
                           (int)id, (int)a->id);
        if (id < 0 && (a->id >= v->n || rf__vocab_token_size(v, a->id) != a->size ||
                       memcmp(rf__vocab_token(v, a->id), a->text, a->size) != 0))
            return rf_fail(s->f->why, RF_EDATA,
                           "%s: the added token %.40s has id %d, which neither is in the vocabulary nor follows it",
                           path, a->text, (int)a->id);
    }
    return RF_OK;
}

static int32_t find_line(const void *v, const char *text) { return rf__vocab_find(v, text, strlen(text)); }

static rf_status read_lines(source *s, const char *path)
{
    rf_tokenizer_folder *f = s->f;
    char *text;
    size_t size;
    rf_status status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &text, &size, f->why);
    if (status) return status;
    status = rf__vocab_lines(&s->vocab, f->ctx, text, size, path, s->options.rules, NULL, 0, f->why);
    if (!status && f->parts.added_n) {
        if (s->options.rules == RF_RULES_RUST) number_again(s, s->vocab.n);
        rf__added_resolve(f->parts.added, f->parts.added_n, s->vocab.n, find_line, &s->vocab);
        rf__vocab_clear(&s->vocab);
        status = rf__vocab_lines(&s->vocab, f->ctx, text, size, path, s->options.rules, f->parts.added,
                                 f->parts.added_n, f->why);
    }
    rf__free(f->ctx, text);
    return status;
}

/* Tokens come from tokenizer.json if it is complete, with a BERT class and Rust rules, and without vocab.txt. */
static rf_status read_source(source *s, const char *vocab_path, bool *lines)
{
    rf_tokenizer_folder *f = s->f;
    rf_status status = read_rules(s);
    *lines = !status && rf__is_there(f->ctx, vocab_path) && !f->all;
    if (!status && !f->fast && (!*lines || (s->bert && s->options.rules == RF_RULES_RUST)))
        status = rf__folder_fast(f);
    if (status) return status;
    if (f->fast && f->nul)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: model.vocab: expected pieces without U+0000 with this class of "
                       "tokenizer, got \\u0000; remove it", f->fast_path);
    if (f->fast) *lines = false;
    if (!*lines && !f->fast) {
        const char *pieces = rf__folder_pieces(f);
        if (!f->all && strcmp(pieces, "none") != 0)
            return rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected " RF_FILE_TOKENIZER ", got %s", f->path, pieces);
        rf_fail(f->why, RF_EIO, "%s: cannot open: %s%s", f->all ? f->fast_path : vocab_path, strerror(ENOENT),
                f->all ? "" : " (there is no tokenizer.json either)");
        char folder[4096];
        if (rf__folder_of(vocab_path, folder, sizeof folder, NULL)) return RF_EIO;
        return rf__name_folders_below(folder, f->all ? RF_FILE_TOKENIZER : RF_FILE_VOCAB, f->why);
    }
    f->parts.hidden = f->all;
    if (f->fast) status = check_parts(s);
    if (!status) status = read_settings(s);
    if (!status && f->fast) status = read_fast_added(s);
    if (status) return status;
    return *lines ? read_lines(s, vocab_path) : read_fast_vocab(s);
}

/* The last token of vocab.txt. */
static int32_t last_line(const rf_vocab *v)
{
    int32_t last = v->n - 1;
    while (last > 0 && v->hidden[last]) last--;
    return last;
}

/* Whether vocab.txt cannot represent it, and why. Added tokens after the vocabulary are not written there, where they
 * would become pieces. */
static rf_status unrepresentable(const rf_tokenizer *any, const char *folder, rf_error *why)
{
    const rf_wordpiece *t = rf__as_wordpiece(any);
    const rf_vocab *v = &t->vocab;
    if (any->bare)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: tokenizer.json: expected a post_processor that adds [CLS] and [SEP], got none; vocab.txt "
                       "cannot represent this", folder);
    const int32_t last = last_line(v);
    for (int32_t i = 0; i < v->n; i++)
        if (i < last ? v->hidden[i] == RF_ALONE : i > last && v->hidden[i] != RF_ALONE)
            return rf_fail(why, RF_EUNSUPPORTED,
                           "%s: the added tokens do not follow the vocabulary without gaps (id %d)", folder, (int)i);
    for (int32_t i = 0; i <= last && t->options.rules == RF_RULES_RUST; i++)
        if (rf__vocab_trimmed(rf__vocab_token(v, i), 0, rf__vocab_token_size(v, i)) != rf__vocab_token_size(v, i))
            return rf_fail(
                why, RF_EUNSUPPORTED,
                "%s: token %d ends in white space, which vocab.txt cannot represent; remove it from tokenizer.json",
                folder, (int)i);
    return RF_OK;
}

/* Whether the class of BERT decides: it is given, or transformers takes it for the model of a folder with nothing but a
 * tokenizer.json. */
static bool class_decides(const rf_tokenizer_folder *f)
{
    static const char *const types[] = {"bert", "distilbert", "electra", "ernie"};
    const char *type = json_string_value(json_object_get(f->model, "model_type"));
    if (f->all || f->class) return !f->all;
    for (size_t i = 0; i < RF_COUNT(types) && type && f->fast; i++)
        if (!strcmp(type, types[i])) return true;
    return false;
}

rf_status rf__wordpiece_open_as(rf_tokenizer_folder *f, const rf_tokenizer_row *row, rf_tokenizer **out)
{
    char vocab_path[RF_PATH];
    bool lines = false;
    source s = {.f = f, .bert = class_decides(f)};
    rf_tokenizer_defaults(&s.options);
    rf_status status = rf__path(vocab_path, sizeof vocab_path, f->path, RF_FILE_VOCAB, f->why);
    if (!status) status = read_source(&s, vocab_path, &lines);
    if (status) return status;
    f->parts.name = lines ? vocab_path : f->fast_path;
    if (f->parts.more_middle && row == &rf__tokenizer_wordpiece) row = &rf__tokenizer_mpnet;
    status = check_added(&s, f->parts.name);
    if (!status) status = rf__wordpiece_make(f->ctx, row, &s.vocab, &s.options, &f->parts, out, f->why);
    else rf__vocab_clear(&s.vocab);
    if (status || lines || row->files_of != rf__wordpiece_files_of || !unrepresentable(*out, f->path, NULL))
        return status;
    rf_wordpiece *t = (rf_wordpiece *)(void *)*out;
    t->any_class = f->all;
    status = rf__keep_file(f, &t->file);
    if (status) rf_tokenizer_free(*out), *out = NULL;
    return status;
}

rf_status rf__wordpiece_open_lines(rf_tokenizer_folder *f, const rf_tokenizer_row *row, rf_tokenizer **out)
{
    char path[RF_PATH];
    source s = {.f = f};
    rf_tokenizer_defaults(&s.options);
    for (int i = 0; i < RF_SPECIALS; i++) *name_of(&s.options, i) = f->parts.special[i];
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_VOCAB, f->why);
    if (!status) status = read_lines(&s, path);
    if (status) return status;
    f->parts.name = path;
    status = check_added(&s, path);
    if (!status) return rf__wordpiece_make(f->ctx, row, &s.vocab, &s.options, &f->parts, out, f->why);
    rf__vocab_clear(&s.vocab);
    return status;
}

rf_status rf__wordpiece_open(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    const char *rules = json_string_value(json_object_get(f->config, "roformer_rules"));
    for (int i = RF_RULES_BERT4KERAS; i < RF_RULES_N && rules; i++)
        if (!strcmp(rules, rf__rules_name[i]))
            return rf_fail(f->why, RF_EUNSUPPORTED,
                           "%s: roformer_rules \"%s\": expected a tokenizer of Chinese words (tokenizer_class "
                           "RoFormerTokenizer)", f->config_path, rules);
    return rf__wordpiece_open_as(f, &rf__tokenizer_wordpiece, out);
}

/* ---- saving ---- */

/* An id without a token would become a token; it is written as a repetition of the last token, whose last line
 * counts. */
rf_status rf__wordpiece_save(const rf_tokenizer *any, rf_ready_files *to, rf_error *why)
{
    const rf_wordpiece *t = rf__as_wordpiece(any);
    const rf_vocab *v = &t->vocab;
    const char *folder = to->folder;
    if (t->file.text && rf__ready_saved(any, to, &t->file)) return RF_OK;
    if (t->file.text) return rf_fail(why, RF_ENOMEM, "%s: out of memory for tokenizer.json", folder);
    const rf_status status = unrepresentable(any, folder, why);
    if (status) return status;
    const int32_t last = last_line(v);
    size_t size = 0;
    for (int32_t i = 0; i <= last; i++)
        size += rf__vocab_token_size(v, v->hidden[i] && !*rf__vocab_token(v, i) ? last : i) + 1;
    char *text = rf__alloc(any->ctx, size), *end = text;
    if (!text) return rf_fail(why, RF_ENOMEM, "%s: out of memory for vocab.txt", folder);
    for (int32_t i = 0; i <= last; i++) {
        const int32_t id = v->hidden[i] && !*rf__vocab_token(v, i) ? last : i;
        memcpy(end, rf__vocab_token(v, id), rf__vocab_token_size(v, id));
        end += rf__vocab_token_size(v, id);
        *end++ = '\n';
    }
    to->file[to->n].name = RF_FILE_VOCAB;
    to->file[to->n].text = text;
    to->file[to->n++].size = size;
    return RF_OK;
}
