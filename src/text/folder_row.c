/* folder_row.c — which kind of tokenizer a folder has, its row: by the class in tokenizer_config.json or config.json,
 * by tokenizer.json, or by the files that are there and the model type.                                             */
#include <stdio.h>

#include "subword/merges.h"
#include "tokenizer.h"

/* Classes that leave everything to tokenizer.json, whose model selects the row. */
static const char *const json_classes[] = {"PreTrainedTokenizerFast", "TokenizersBackend"};

static bool leaves_all(const char *class)
{
    for (size_t i = 0; i < RF_COUNT(json_classes); i++)
        if (!strcmp(class, json_classes[i])) return true;
    return false;
}

bool rf__folder_class_rules(const rf_tokenizer_folder *f) { return f->class && !leaves_all(f->class); }

static const struct { const char *class, *hint; } others[] = {
    {"ByT5Tokenizer", "; its ids of the 256 bytes are not supported"},
    {"BertJapaneseTokenizer", "; words of MeCab and Sudachi are not supported"},
};

static bool names(const rf_tokenizer_row *row, const char *class)
{
    for (const char *const *c = row->classes; *c; c++)
        if (!strcmp(*c, class)) return true;
    return false;
}

/* A class without files of its own that are read here: only tokenizer.json says what it does. */
static rf_status unknown_class(const rf_tokenizer_folder *f, const char *path)
{
    const char *hint = "", *type = json_string_value(json_object_get(json_object_get(f->fast, "model"), "type"));
    for (size_t i = 0; i < RF_COUNT(others); i++)
        if (!strcmp(f->class, others[i].class)) hint = others[i].hint;
    if (f->fast)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: model: expected type Unigram, BPE or WordPiece, got %.60s",
                       f->fast_path, type ? rf__printable(type).text : "none");
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: tokenizer_class: %.60s: expected " RF_FILE_TOKENIZER " next to it, "
                   "from which such a tokenizer is read, got %s%s", path, rf__printable(f->class).text,
                   rf__folder_pieces(f), hint);
}

static rf_status row_of_json(rf_tokenizer_folder *f, const rf_tokenizer_row **row)
{
    const rf_status status = rf__folder_fast(f);
    const char *kind = rf__model_kind(json_object_get(f->fast, "model"));
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r && kind; r++)
        if ((*r)->model && !strcmp((*r)->model, kind)) *row = *r;
    if (kind && !strcmp(kind, "WordPiece") && rf__wordpiece_fits(f)) *row = rf__tokenizer_rows[0];
    return status;
}

static bool has_file(const rf_ctx *ctx, const char *folder, const char *name)
{
    char path[RF_PATH];
    return !rf__path(path, sizeof path, folder, name, NULL) && rf__is_there(ctx, path);
}

const char *rf__folder_file(const rf_ctx *ctx, const char *folder, const rf_tokenizer_row **row)
{
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r; r++)
        for (const char *const *name = (*r)->holds; name && *name; name++)
            if (has_file(ctx, folder, *name)) return *row = *r, *name;
    return NULL;
}

/* A class that no row has: a tokenizer.json is complete.  Without a class it is if its model is one that a row other
 * than the first reads. */
static rf_status find_in_json(rf_tokenizer_folder *f, const rf_tokenizer_row **row)
{
    const rf_tokenizer_row *by_model = NULL;
    const rf_status status = has_file(f->ctx, f->path, RF_FILE_TOKENIZER) ? row_of_json(f, &by_model) : RF_OK;
    if (status || !by_model || (!f->class && by_model == rf__tokenizer_rows[0])) return status;
    f->all = true;
    *row = by_model;
    return RF_OK;
}

/* Whether vocab.txt has a word of several Han characters, which WordPiece would never look up.  The reader of the file
 * reports invalid UTF-8. */
static rf_status has_chinese_words(rf_tokenizer_folder *f, bool *out)
{
    char path[RF_PATH], *text = NULL;
    size_t size = 0, at = 0, han = 0;
    bool part = false;                                             /* after ##: part of a word                      */
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_VOCAB, f->why);
    if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &text, &size, f->why);
    if (!status) size = rf_utf8_check(text, size);
    while (!status && at < size && han < 2) {
        const uint32_t c = rf__utf8_get((const unsigned char *)text, &at);
        part = c != '\n' && (part || c == '#');
        han = c >= 0x4E00 && c <= 0x9FD5 && !part ? han + 1 : 0;   /* jieba's                                       */
    }
    *out = han > 1;
    rf__free(f->ctx, text);
    return status;
}

static bool take_class(const char *class, const rf_tokenizer_row **row)
{
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r; r++)
        if (names(*r, class)) return *row = *r, true;
    return false;
}

/* The classes that transformers assumes for a model_type if no tokenizer_class is given. */
static const struct { const char *model_type, *file, *class; } model_classes[] = {
    {"esm", RF_FILE_VOCAB, "EsmTokenizer"},
    {"bart", RF_FILE_MERGES, "BartTokenizer"},
    {"m2m_100", RF_FILE_VOCAB_JSON, "M2M100Tokenizer"},
    {"marian", RF_FILE_SOURCE_SUBWORDS, "MarianTokenizer"},
    {"mpnet", RF_FILE_VOCAB, "MPNetTokenizer"},
    {"roberta", RF_FILE_MERGES, "RobertaTokenizer"},
    {"gpt2", RF_FILE_MERGES, "GPT2Tokenizer"},
    {"deberta", RF_FILE_MERGES, "DebertaTokenizer"},
    {"qwen2", RF_FILE_MERGES, "Qwen2Tokenizer"},
    {"qwen3", RF_FILE_MERGES, "Qwen2Tokenizer"},
    {"albert", RF_FILE_SUBWORDS, "AlbertTokenizer"},
    {"big_bird", RF_FILE_SUBWORDS, "BigBirdTokenizer"},
    {"mt5", RF_FILE_SUBWORDS, "T5Tokenizer"},
    {"pegasus", RF_FILE_SUBWORDS, "PegasusTokenizer"},
    {"t5", RF_FILE_SUBWORDS, "T5Tokenizer"},
    {"umt5", RF_FILE_SUBWORDS, "T5Tokenizer"},
    {"xlnet", RF_FILE_SUBWORDS, "XLNetTokenizer"},
};

/* The row of files of pieces that spm_folder.c reads. */
static rf_status take_pieces(const rf_tokenizer_row **row)
{
    *row = rf__tokenizer_row_of("fast_unigram", NULL);
    return RF_OK;
}

/* Without a tokenizer_class, transformers uses the model type: RoFormerTokenizer for a RoFormer.  It differs from
 * WordPiece, which needs no dictionary, only if the vocabulary has Chinese words.  For the authors' TensorFlow
 * checkpoints (bert_config.json instead of config.json) only the vocabulary decides: WoBERT reads like RoFormer. */
static rf_status row_of_model(rf_tokenizer_folder *f, const rf_tokenizer_row **row)
{
    const char *type = json_string_value(json_object_get(f->model, "model_type"));
    const char *file = rf__folder_file(f->ctx, f->path, row);
    if (file && !strcmp(file, RF_FILE_TOKENIZER) && !has_file(f->ctx, f->path, RF_FILE_SOURCE_SUBWORDS))
        return find_in_json(f, row);
    for (size_t i = 0; i < RF_COUNT(model_classes) && type; i++)
        if (!strcmp(type, model_classes[i].model_type) && has_file(f->ctx, f->path, model_classes[i].file)) {
            if (rf__spm_folder_has(f)) return take_pieces(row);
            if (!take_class(model_classes[i].class, row))
                return f->class = model_classes[i].class, unknown_class(f, f->model_path);
        }
    if (!file && rf__spm_folder_has(f)) return take_pieces(row);
    const bool roformer = type ? !strcmp(type, "roformer") : has_file(f->ctx, f->path, RF_FILE_TF_CONFIG);
    if (!file || strcmp(file, RF_FILE_VOCAB) != 0 || !roformer) return RF_OK;
    bool words;
    const rf_status status = has_chinese_words(f, &words);
    if (words) take_class("RoFormerTokenizer", row);
    return status;
}

rf_status rf__folder_row(rf_tokenizer_folder *f, const rf_tokenizer_row **row)
{
    const json_t *x = json_object_get(f->config, "tokenizer_class");
    const char *path = f->config_path;
    *row = rf__tokenizer_rows[0];
    if (!x || json_is_null(x)) {
        const rf_status status = rf__folder_json(f, RF_FILE_CONFIG, f->model_path, &f->model);
        if (status) return status;
        path = f->model_path;
        x = json_object_get(f->model, "tokenizer_class");
    }
    if (!x || json_is_null(x)) return row_of_model(f, row);
    f->class = json_string_value(x);
    if (!f->class) return rf_fail(f->why, RF_EDATA, "%s: tokenizer_class: expected a string, got %s", path,
                                  rf__json_shown(x).text);
    f->all |= leaves_all(f->class);
    if (f->all) return row_of_json(f, row);
    if (take_class(f->class, row)) return RF_OK;
    const rf_status status = find_in_json(f, row);
    if (!status && !f->fast && rf__folder_is(f, "NllbTokenizer", NULL) && has_file(f->ctx, f->path, RF__FILE_PIECES))
        return take_class("M2M100Tokenizer", row), RF_OK;
    if (!status && !f->fast && rf__spm_folder_has(f)) return take_pieces(row);
    return status || f->all ? status : unknown_class(f, path);
}
