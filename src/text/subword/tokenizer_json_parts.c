/* tokenizer_json_parts.c — what splits words (pre_tokenizer) and what is put around texts (post_processor). */
#include "tokenizer_json.h"

static rf_status unsupported(const rf_tokenizer_folder *f, const char *part, const char *what, const char *expected)
{
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: %s: expected %s for subwords, got %.60s", f->fast_path, part, expected,
                   what ? rf__printable(what).text : "none");
}

static rf_status read_metaspace(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    static const char *const name[] = {[ALWAYS] = "always", [FIRST] = "first", [NEVER] = "never"};
    const char *stands = json_string_value(json_object_get(x, "replacement"));
    const char *before = json_string_value(json_object_get(x, "prepend_scheme"));
    const json_t *split = json_object_get(x, "split");
    if (stands && strcmp(stands, BLANK) != 0)
        return unsupported(f, "pre_tokenizer: replacement", stands, "U+2581");
    t->metaspace = true;
    t->split = !split || json_is_true(split);
    t->before = json_is_false(json_object_get(x, "add_prefix_space")) ? NEVER : ALWAYS;
    for (int i = 0; i < 3 && before; i++)
        if (!strcmp(before, name[i])) return t->before = (scheme)i, RF_OK;
    return before ? unsupported(f, "pre_tokenizer: prepend_scheme", before, "always, first or never") : RF_OK;
}

/* ByteLevel, with its own regex or after a Split. */
static rf_status read_level(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    const bool regex = !json_is_false(json_object_get(x, "use_regex"));
    t->blank_first = json_is_true(json_object_get(x, "add_prefix_space"));
    if (t->level && (regex || t->blank_first))
        return unsupported(f, "pre_tokenizer: ByteLevel after Split",
                           regex ? "use_regex true" : "add_prefix_space true", "use_regex and add_prefix_space false");
    if (!t->level) t->level = regex ? &rf__split_gpt2 : &rf__split_whole;
    for (unsigned i = 0; i < 256; i++) t->scalar[i] = rf__byte_scalar(i);
    return RF_OK;
}

static bool is_type(const json_t *x, const char *type)
{
    const char *own = json_string_value(json_object_get(x, "type"));
    return own && !strcmp(own, type);
}

/* [Split by one of the regexes, ByteLevel]. */
static rf_status read_split(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *list)
{
    const json_t *split = json_array_get(list, 0);
    const char *regex = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    const char *behavior = json_string_value(json_object_get(split, "behavior"));
    t->level = regex ? rf__split_of(regex) : NULL;
    if (!t->level)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: pre_tokenizer: Split: expected the Regex of GPT-2, Qwen 2 or "
                       "Llama 3, got \"%.300s\"; its words are not known here", f->fast_path,
                       regex ? rf__printable(regex).text : "no Regex");
    if (!behavior || strcmp(behavior, "Isolated") != 0 || json_is_true(json_object_get(split, "invert")))
        return unsupported(f, "pre_tokenizer: Split: behavior", behavior, "Isolated without invert");
    return read_level(f, t, json_array_get(list, 1));
}

/* Whether the normalizer, or its last step, replaces each blank, so that Split by blanks finds none. */
static bool leaves_no_blank(const rf_tokenizer_folder *f)
{
    const json_t *x = json_object_get(f->fast, "normalizer"), *list = json_object_get(x, "normalizers");
    if (json_array_size(list)) x = json_array_get(list, json_array_size(list) - 1);
    const char *from = json_string_value(json_object_get(json_object_get(x, "pattern"), "String"));
    const char *to = json_string_value(json_object_get(x, "content"));
    return is_type(x, "Replace") && from && !strcmp(from, " ") && to && !strchr(to, ' ');
}

static bool splits_by_blank(const json_t *x)
{
    const char *pattern = json_string_value(json_object_get(json_object_get(x, "pattern"), "String"));
    return is_type(x, "Split") && pattern && !strcmp(pattern, " ") && !json_is_true(json_object_get(x, "invert"));
}

rf_status rf__hf_read_splitter(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    static const char expected[] = "null, WhitespaceSplit, Metaspace, a Sequence of these two, ByteLevel, or a "
                                   "Sequence of Split and ByteLevel";
    const char *type = json_string_value(json_object_get(x, "type"));
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    if (!x || json_is_null(x)) return RF_OK;
    if (splits_by_blank(x) && leaves_no_blank(f)) return RF_OK;                        /* as in Gemma 2 and mmBERT */
    if (type && !strcmp(type, "Metaspace") && !t->metaspace) return read_metaspace(f, t, x);
    if (type && !strcmp(type, "WhitespaceSplit") && !t->metaspace) return t->white = true, RF_OK;
    const json_t *list = json_object_get(x, "pretokenizers");
    const bool bpe = is_type(json_object_get(f->fast, "model"), "BPE") && !t->white && !t->metaspace && !t->level;
    if (bpe && is_type(x, "ByteLevel")) return read_level(f, t, x);
    if (bpe && json_array_size(list) == 2 && is_type(json_array_get(list, 0), "Split") &&
        is_type(json_array_get(list, 1), "ByteLevel"))
        return read_split(f, t, list);
    if (!type || strcmp(type, "Sequence") != 0 || t->white || t->metaspace || json_array_size(list) > 2)
        return unsupported(f, "pre_tokenizer", type, expected);
    json_array_foreach(list, i, one) {
        const char *kind = json_string_value(json_object_get(one, "type"));
        if (kind && !strcmp(kind, "Sequence"))
            return unsupported(f, "pre_tokenizer", "Sequence in a Sequence", expected);
        if (!status) status = rf__hf_read_splitter(f, t, one);
    }
    return status;
}

/* A template as letters: A, B the texts, c the first token, s the last; '?' anything else. */
static void letters_of(const json_t *list, const rf_tokenizer_parts *parts, char out[16], bool *one_type)
{
    size_t i, n = 0;
    json_t *x;
    json_array_foreach(list, i, x) {
        const json_t *text = json_object_get(x, "Sequence");
        const char *name = json_string_value(json_object_get(text ? text : json_object_get(x, "SpecialToken"), "id"));
        char c = '?';
        if (text && name && (!strcmp(name, "A") || !strcmp(name, "B"))) c = name[0];
        else if (name && parts->special[RF_SEP] && !strcmp(name, parts->special[RF_SEP])) c = 's';
        else if (name && parts->special[RF_CLS] && !strcmp(name, parts->special[RF_CLS])) c = 'c';
        if (c == 'B') *one_type = json_number_value(json_object_get(text, "type_id")) == 0;
        if (n + 1 < 16) out[n++] = c;
    }
    out[n] = 0;
}

static const char *special_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_object_get(json_array_get(list, i), "SpecialToken"), "id"));
}

/* Tokens around one text, and between two.  Unsupported forms make pairs impossible. */
static rf_status read_template(rf_tokenizer_folder *f, const json_t *x)
{
    static const struct { const char *single, *pair; size_t middle; bool bare, alone, open; } form[] = {
        {"A", "AB", 0, true, true, false},    {"cAs", "cAsBs", 0, false, false, false},
        {"cAs", "cAssBs", 1, false, false, false}, {"As", "ABs", 0, false, true, false},
        {"As", "AsBs", 1, false, true, false},
    };
    rf_tokenizer_parts *p = &f->parts;
    const json_t *single = json_object_get(x, "single"), *pair = json_object_get(x, "pair");
    const size_t n = json_array_size(single);
    char one[16], two[16];
    bool unused = false;
    const char *first = n ? special_at(single, 0) : NULL, *last = n > 1 ? special_at(single, n - 1) : NULL;
    if (first) p->special[RF_CLS] = first;
    if (last) p->special[RF_SEP] = last;
    letters_of(single, p, one, &unused);
    letters_of(pair, p, two, &p->one_type);
    for (size_t i = 0; i < RF_COUNT(form); i++) {
        if (strcmp(one, form[i].single) != 0) continue;
        p->bare = form[i].bare;
        p->ends_alone = form[i].alone;
        p->more_middle = form[i].middle;
        p->no_pairs = strcmp(two, form[i].pair) != 0;
        if (!p->no_pairs) break;
    }
    if (strcmp(one, "A") && strcmp(one, "As") && strcmp(one, "cAs") && strcmp(one, "cA"))
        return unsupported(f, "post_processor: template of a single text", "another one",
                           "at most one token before it and one after it");
    if (!strcmp(one, "cA")) p->bare = false, p->open_end = p->no_pairs = true;
    if (p->ends_alone && !p->bare) p->special[RF_CLS] = p->special[RF_SEP];
    return RF_OK;
}

/* Whether offsets exclude blanks; RobertaProcessing and ByteLevel specify it. */
static void read_trim(rf_tokenizer_folder *f, const json_t *x)
{
    f->parts.trims = json_is_true(json_object_get(x, "trim_offsets"));
    f->parts.trims_first = json_is_true(json_object_get(x, "add_prefix_space"));
}

rf_status rf__hf_read_frame(rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    const json_t *list = json_object_get(x, "processors");
    const char *type = json_string_value(json_object_get(x, "type"));
    f->parts.bare = f->parts.hidden = true;
    if (!x || json_is_null(x)) return RF_OK;
    if (t->level && is_type(x, "Sequence") && json_array_size(list) == 2 &&
        is_type(json_array_get(list, 0), "ByteLevel") && is_type(json_array_get(list, 1), "TemplateProcessing")) {
        read_trim(f, json_array_get(list, 0));
        return read_template(f, json_array_get(list, 1));
    }
    if (t->level && is_type(x, "ByteLevel")) return read_trim(f, x), RF_OK;
    if (type && !strcmp(type, "TemplateProcessing")) return read_template(f, x);
    const bool roberta = type && !strcmp(type, "RobertaProcessing");
    if (!roberta && !(type && !strcmp(type, "BertProcessing")))
        return unsupported(f, "post_processor", type, "TemplateProcessing, BertProcessing or RobertaProcessing");
    f->parts.bare = false;
    f->parts.special[RF_CLS] = json_string_value(json_array_get(json_object_get(x, "cls"), 0));
    f->parts.special[RF_SEP] = json_string_value(json_array_get(json_object_get(x, "sep"), 0));
    f->parts.one_type = roberta;
    f->parts.more_middle = roberta;
    if (roberta) read_trim(f, x);
    return RF_OK;
}
