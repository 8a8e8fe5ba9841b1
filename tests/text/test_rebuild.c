/* What other files of a folder change in its tokenizer.json: each folder is compared with one whose file has the
 * change, as transformers and sentence-transformers have it.
 * mirrors rebuild.c
 * mirrors merges.c
 * mirrors spm_folder.c
 * mirrors spm_deberta.c */
#include "one_context.h"
#include "opened.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece/wordpiece.h"

#define FAST "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}"

static const char *const texts[] = {"the dog barks", "The DOG Barks", " a \xC4\xB0 b", "x<s>y", "[MASK] a", ""};

static json_t *golden(void)
{
    json_t *x = json_load_file("tests/golden/byte_level/gpt2.tokenizer.json", 0, NULL);
    assert_non_null(x);
    return x;
}

/* Takes ownership of the tokenizer. */
static const char *folder_of(json_t *tokenizer, const char *settings, const char *sentence)
{
    const char *folder = t_folder();
    char *text = json_dumps(tokenizer, JSON_COMPACT);
    assert_non_null(text);
    t_write(folder, "tokenizer.json", text, strlen(text));
    t_write(folder, "tokenizer_config.json", settings, strlen(settings));
    if (sentence) t_write(folder, "sentence_bert_config.json", sentence, strlen(sentence));
    free(text);
    json_decref(tokenizer);
    return folder;
}

/* Both give the same ids, and so does the first after it was saved. */
static void same(const char *a, const char *b)
{
    rf_error why = {0};
    const char *copy = t_folder();
    rf_tokenizer *t[3] = {opened(a), opened(b), NULL};
    if (rf_tokenizer_save(t[0], copy, &why)) fail_msg("%s", why.text);
    t[2] = opened(copy);
    rf_encoding e[3];
    for (int i = 0; i < 3; i++) rf_encoding_init(&e[i], ctx);
    for (size_t k = 0; k < RF_COUNT(texts); k++) {
        for (int i = 0; i < 3; i++)
            if (rf_encode(t[i], texts[k], strlen(texts[k]), NULL, 0, 0, 0, &e[i], NULL, &why)) fail_msg("%s", why.text);
        for (int i = 0; i < 2; i++) {
            if (e[i].n != e[i + 1].n) fail_msg("%s: %zu and %zu tokens", texts[k], e[i].n, e[i + 1].n);
            assert_memory_equal(e[i].id, e[i + 1].id, e[i].n * sizeof *e[i].id);
        }
    }
    for (int i = 0; i < 3; i++) {
        rf_encoding_clear(&e[i]);
        rf_tokenizer_free(t[i]);
    }
}

static json_t *with_prefix(int prefix)
{
    json_t *x = golden();
    json_object_set_new(json_object_get(x, "pre_tokenizer"), "add_prefix_space", json_boolean(prefix));
    return x;
}

/* add_prefix_space of the settings, false if it is missing, replaces that of the file. */
static void the_class_decides_the_prefix(void **state)
{
    (void)state;
    static const char *const classes[] = {"GPT2Tokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer"};
    for (size_t i = 0; i < RF_COUNT(classes); i++)
        for (int prefix = 0; prefix < 2; prefix++) {
            char missing[96], given[128];
            snprintf(missing, sizeof missing, "{\"tokenizer_class\": \"%s\"}", classes[i]);
            snprintf(given, sizeof given, "{\"tokenizer_class\": \"%s\", \"add_prefix_space\": %s}", classes[i],
                     prefix ? "true" : "false");
            same(folder_of(with_prefix(!prefix), given, NULL), folder_of(with_prefix(prefix), FAST, NULL));
            same(folder_of(with_prefix(1), missing, NULL), folder_of(with_prefix(0), FAST, NULL));
        }
}

/* Without a post_processor, the class of RoBERTa puts its two tokens around a text. */
static void roberta_has_its_ends(void **state)
{
    (void)state;
    static const char settings[] = "{\"tokenizer_class\": \"RobertaTokenizer\", \"cls_token\": \"[CLS]\","
                                   " \"sep_token\": \"[SEP]\"}";
    json_t *without = with_prefix(0), *with = with_prefix(0);
    json_object_set_new(without, "post_processor", json_null());
    json_object_set_new(with, "post_processor",
                        json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing", "sep", "[SEP]", 2,
                                  "cls", "[CLS]", 1, "trim_offsets", 1, "add_prefix_space", 0));
    same(folder_of(without, settings, NULL), folder_of(with, FAST, NULL));
}

/* vocab.json and merges.txt give what tokenizer.json of the same pieces gives. */
static void older_files(void **state)
{
    (void)state;
    static const char settings[] = "{\"tokenizer_class\": \"GPT2Tokenizer\", \"bos_token\": \"[CLS]\", \"eos_token\": "
                                   "\"[SEP]\", \"unk_token\": \"[UNK]\", \"add_bos_token\": true}";
    json_t *whole = with_prefix(0), *model = json_object_get(whole, "model"), *pair;
    const char *folder = t_folder();
    char *vocab = json_dumps(json_object_get(model, "vocab"), JSON_COMPACT), merges[1 << 14] = "#version: 0.2\n";
    size_t i, n = strlen(merges);
    json_array_foreach(json_object_get(model, "merges"), i, pair)
        n += (size_t)snprintf(merges + n, sizeof merges - n, "%s %s\n", json_string_value(json_array_get(pair, 0)),
                              json_string_value(json_array_get(pair, 1)));
    t_write(folder, "vocab.json", vocab, strlen(vocab));
    t_write(folder, "merges.txt", merges, n);
    t_write(folder, "tokenizer_config.json", settings, strlen(settings));
    free(vocab);
    json_t *two = json_pack("[{s:{s:s, s:i}}, {s:{s:s, s:i}}]", "Sequence", "id", "A", "type_id", 0, "Sequence", "id",
                            "B", "type_id", 1);
    json_object_set_new(whole, "added_tokens", json_array());
    json_object_set_new(whole, "post_processor",
                        json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:O, s:{s:{s:s, s:[i], s:[s]}}}", "type",
                                  "TemplateProcessing", "single", "SpecialToken", "id", "[CLS]", "type_id", 0,
                                  "Sequence", "id", "A", "type_id", 0, "pair", two, "special_tokens", "[CLS]", "id",
                                  "[CLS]", "ids", 1, "tokens", "[CLS]"));
    json_decref(two);
    same(folder, folder_of(whole, FAST, NULL));
}

/* vocab.json of five pieces with the settings and, unless NULL, added_tokens.json. */
static const char *five_pieces(const char *settings, const char *added)
{
    static const char vocab[] = "{\"<s>\":0,\"</s>\":1,\"a\":2,\"\xC4\xA0\":3,\"b\":4}", merges[] = "#version: 0.2\n";
    const char *folder = t_folder();
    t_write(folder, "vocab.json", vocab, strlen(vocab));
    t_write(folder, "merges.txt", merges, strlen(merges));
    t_write(folder, "tokenizer_config.json", settings, strlen(settings));
    if (added) t_write(folder, "added_tokens.json", added, strlen(added));
    return folder;
}

#define GPT2 "{\"tokenizer_class\": \"GPT2Tokenizer\", \"bos_token\": \"<y>\", \"eos_token\": \"</s>\", "            \
             "\"unk_token\": \"</s>\", \"pad_token\": \"<x>\""
#define DECODER(x, y) ", \"added_tokens_decoder\": {\"" y "\": {\"content\": \"<y>\", \"special\": true}, \"" x       \
                      "\": {\"content\": \"<x>\", \"special\": true}}"

/* Added tokens of folders with vocab.json and merges.txt have the ids that the settings say: they are added by id,
 * before those that only have a name.  Ids as transformers 5.24 gives them. */
static void older_files_with_added_tokens(void **state)
{
    (void)state;
    static const struct { const char *settings, *added; int32_t id[4]; } rows[] = {
        {GPT2 "}", "{\"<x>\": 5, \"<y>\": 6}", {5, 2, 6, 4}},
        {GPT2 DECODER("5", "6") "}", NULL, {5, 2, 6, 4}},
        {GPT2 ", \"mask_token\": \"<m>\", \"additional_special_tokens\": [\"<y>\", \"<x>\"]}",
         "{\"<x>\": 5, \"<y>\": 6}", {5, 2, 6, 4}},
        {GPT2 "}", NULL, {6, 2, 5, 4}},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        const char *folder = five_pieces(rows[i].settings, rows[i].added), *copy = t_folder();
        rf_error why = {0};
        rf_tokenizer *t[2] = {opened(folder), NULL};
        if (rf_tokenizer_save(t[0], copy, &why)) fail_msg("%s", why.text);
        t[1] = opened(copy);
        for (int k = 0; k < 2; k++) {
            rf_encoding e;
            rf_encoding_init(&e, ctx);
            if (rf_encode(t[k], "<x>a<y>b", 8, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
            assert_int_equal(e.n, 4);
            assert_memory_equal(e.id, rows[i].id, sizeof rows[i].id);
            rf_encoding_clear(&e);
            rf_tokenizer_free(t[k]);
        }
    }
}

/* Ids that transformers would not give, and classes without the tokens that they put around texts. */
static void older_files_that_are_refused(void **state)
{
    (void)state;
    static const struct { const char *settings, *added, *message; } rows[] = {
        {GPT2 "}", "{\"<x>\": 6, \"<y>\": 7}", "added_tokens.json: <x>: expected id 5, the next after vocab.json"},
        {GPT2 DECODER("2", "6") "}", NULL, "added_tokens_decoder: <x>: expected id 5, the next after vocab.json"},
        {GPT2 "}", "{\"a\": 7}", "added_tokens.json: a: expected id 2, as in vocab.json, got 7"},
        {"{\"tokenizer_class\": \"RobertaTokenizer\", \"sep_token\": null}", NULL, "sep_token: expected a token"},
        {"{\"tokenizer_class\": \"BartTokenizer\", \"cls_token\": null}", NULL, "cls_token: expected a token"},
        {"{\"tokenizer_class\": \"DebertaTokenizer\", \"cls_token\": null}", NULL, "cls_token: expected a token"},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        rf_tokenizer *t;
        rf_error why = {0};
        assert_int_not_equal(rf_tokenizer_open(ctx, five_pieces(rows[i].settings, rows[i].added), &t, &why), RF_OK);
        if (!strstr(why.text, rows[i].message)) fail_msg("%s", why.text);
    }
}

/* sentence-transformers puts Lowercase before a normalizer that has none. */
static void lowercase_comes_first(void **state)
{
    (void)state;
    static const char lower[] = "{\"do_lower_case\": true}", kept[] = "{\"do_lower_case\": false}";
    json_t *x = golden();
    json_object_set_new(x, "normalizer", json_pack("{s:s}", "type", "Lowercase"));
    const char *expected = folder_of(x, FAST, NULL);
    same(folder_of(golden(), FAST, lower), expected);
    json_t *nfc = golden(), *both = golden();
    json_object_set_new(nfc, "normalizer", json_pack("{s:s}", "type", "NFC"));
    json_object_set_new(both, "normalizer", json_pack("{s:s, s:[{s:s}, {s:s}]}", "type", "Sequence", "normalizers",
                                                      "type", "Lowercase", "type", "NFC"));
    same(folder_of(nfc, FAST, lower), folder_of(both, FAST, NULL));
    same(folder_of(golden(), FAST, kept), folder_of(golden(), FAST, NULL));
}

/* For every scalar: BertNormalizer after Lowercase gives what it gives if it lowercases itself. */
static void bert_lowers_as_well_itself(void **state)
{
    (void)state;
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
    rf_unicode *u = malloc(sizeof *u);
    assert_non_null(u);
    rf__unicode_init(u, RF_RULES_RUST);
    for (int before = 0; before < 2; before++)
        for (int strip = 0; strip < 2; strip++) {
            rf_tokenizer *t[2];
            for (int i = 0; i < 2; i++) {
                rf_tokenizer_options o;
                rf_error why = {0};
                rf_tokenizer_defaults(&o);
                o.lowercase = i ? 1 : before;
                o.strip_accents = strip;
                if (rf_tokenizer_new(ctx, vocab, strlen(vocab), "vocab", &o, &t[i], &why)) fail_msg("%s", why.text);
            }
            for (uint32_t c = 1; c < 0x110000; c++) {
                uint32_t low[2], one[2 * RF_NORMAL_MOST], own[RF_NORMAL_MOST];
                if (c >= 0xD800 && c < 0xE000) continue;
                size_t n = 0;
                const int lows = rf__unicode_lower(u, c, rf__unicode_flags(u, c), low);
                for (int i = 0; i < lows; i++) n += t[0]->row->normalize(t[0], low[i], one + n);
                if (n != t[1]->row->normalize(t[1], c, own) || memcmp(one, own, n * sizeof *one))
                    fail_msg("U+%04X, lowercase %d, strip_accents %d", c, before, strip);
            }
            rf_tokenizer_free(t[0]);
            rf_tokenizer_free(t[1]);
        }
    free(u);
}

/* The ids of a golden row, of its text or of a pair. */
static void same_ids(const rf_tokenizer *t, rf_encoding *e, const json_t *row, bool pair)
{
    static const char first[] = "the sea";
    const char *text = json_string_value(json_object_get(row, "text"));
    const json_t *ids = json_object_get(row, pair ? "pair" : "ids"), *id;
    if (pair && !*text) text = "a";
    size_t k;
    rf_error why = {0};
    if (pair ? rf_encode(t, first, strlen(first), text, strlen(text), 0, 0, e, NULL, &why)
             : rf_encode(t, text, strlen(text), NULL, 0, 0, 0, e, NULL, &why))
        fail_msg("%s", why.text);
    if (e->n != json_array_size(ids)) fail_msg("\"%s\": %zu ids, %zu expected", text, e->n, json_array_size(ids));
    json_array_foreach(ids, k, id)
        if (e->id[k] != json_integer_value(id))
            fail_msg("\"%s\": id %zu is %d, %d expected", text, k, (int)e->id[k], (int)json_integer_value(id));
    for (k = 0; k < e->n; k++) assert_int_equal(e->type[k], 0);             /* these classes give no token types      */
}

/* A SentencePiece model alone, by its class and by its model type: the ids of transformers
 * (tools/golden/golden_spm_folder.py). */
static void check_model_alone(const char *model, const char *file, const char *class, const char *type,
                              const char *golden)
{
    char path[64], settings[512], config[64];
    snprintf(path, sizeof path, "tests/golden/subwords/%s.json", golden);
    json_t *rows = json_load_file(path, 0, NULL), *row;
    char *bytes;
    size_t size, i;
    rf_error why = {0};
    assert_non_null(rows);
    snprintf(path, sizeof path, "tests/golden/subwords/%s", model);
    snprintf(config, sizeof config, "{\"model_type\": \"%s\"}", type);
    if (rf__read_file(ctx, path, 1 << 24, &bytes, &size, &why)) fail_msg("%s", why.text);
    for (int by_class = 0; by_class < 2; by_class++)
        json_array_foreach(rows, i, row) {
            const char *folder = t_folder(), *own = json_string_value(json_object_get(row, "settings"));
            if (by_class)
                snprintf(settings, sizeof settings, "{\"tokenizer_class\": \"%s\"%s%s", class,
                         own[1] == '}' ? "" : ", ", own + 1);
            t_write(folder, file, bytes, size);
            t_write(folder, "tokenizer_config.json", by_class ? settings : own, strlen(by_class ? settings : own));
            t_write(folder, "config.json", config, strlen(config));
            rf_tokenizer *t = opened(folder);
            rf_encoding e;
            rf_encoding_init(&e, ctx);
            same_ids(t, &e, row, false);
            same_ids(t, &e, row, true);
            rf_encoding_clear(&e);
            rf_tokenizer_free(t);
            if (!i) same(folder, folder);
        }
    rf__free(ctx, bytes);
    json_decref(rows);
}

static void a_sentencepiece_model_alone(void **state)
{
    (void)state;
    static const char fairseq[] = "sentencepiece.bpe.model";
    check_model_alone("unigram.model", fairseq, "XLMRobertaTokenizer", "xlm-roberta", "xlm_roberta");
    check_model_alone("unigram.model", fairseq, "CamembertTokenizer", "camembert", "camembert");
    check_model_alone("albert.model", "spiece.model", "AlbertTokenizer", "albert", "albert");
    check_model_alone("xlnet.model", "spiece.model", "XLNetTokenizer", "xlnet", "xlnet");
}

/* A folder with a SentencePiece model alone. */
typedef struct alone { const char *golden, *from, *file, *class, *config; } alone;

/* By its class and by its model type: the ids of transformers (tools/golden/golden_spm_folder.py). */
static void check_alone(const alone *is)
{
    char class[64], rows_path[64];
    snprintf(class, sizeof class, "{\"tokenizer_class\": \"%s\"}", is->class);
    snprintf(rows_path, sizeof rows_path, "tests/golden/subwords/%s.json", is->golden);
    json_t *rows = json_load_file(rows_path, 0, NULL), *row, *id;
    char *model;
    size_t size, i, k;
    rf_error why = {0};
    assert_non_null(rows);
    if (rf__read_file(ctx, is->from, 1 << 24, &model, &size, &why)) fail_msg("%s", why.text);
    for (int by_class = 0; by_class < 2; by_class++) {
        const char *folder = t_folder(), *settings = by_class ? class : "{}";
        t_write(folder, is->file, model, size);
        t_write(folder, "tokenizer_config.json", settings, strlen(settings));
        t_write(folder, "config.json", is->config, strlen(is->config));
        rf_tokenizer *t = opened(folder);
        rf_encoding e;
        rf_encoding_init(&e, ctx);
        json_array_foreach(rows, i, row) {
            const char *text = json_string_value(json_object_get(row, "text"));
            if (rf_encode(t, text, strlen(text), NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
            assert_int_equal(e.n, json_array_size(json_object_get(row, "ids")));
            json_array_foreach(json_object_get(row, "ids"), k, id) assert_int_equal(e.id[k], json_integer_value(id));
        }
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        same(folder, folder);
    }
    rf__free(ctx, model);
    json_decref(rows);
}

/* DeBERTa's, as either version of transformers reads it. */
static void a_model_of_deberta_alone(void **state)
{
    (void)state;
    static const char deberta[] = "tests/golden/deberta_v2/whole/spm.model";
    static const alone folders[] = {
        {"deberta_old", deberta, "spm.model", "DebertaV2Tokenizer", "{\"model_type\": \"deberta-v2\"}"},
        {"deberta_new", deberta, "spm.model", "DebertaV2TokenizerFast",
         "{\"model_type\": \"deberta-v2\", \"transformers_version\": \"5.24.0\"}"},
    };
    for (size_t i = 0; i < RF_COUNT(folders); i++) check_alone(&folders[i]);
}

/* What the settings of DeBERTa change in it: ids of transformers 4.57. */
static void deberta_lowers_and_splits(void **state)
{
    (void)state;
    static const char settings[] = "{\"do_lower_case\": %s, \"split_by_punct\": %s}", config[] = "{\"model_type\": "
                                   "\"deberta-v2\"}", text[] = "THE SEA, a";
    static const int32_t ids[4][9] = {{1, 6, 3, 6, 3, 16, 22, 2}, {1, 8, 12, 7, 10, 16, 22, 2},
                                      {1, 6, 3, 6, 3, 6, 16, 22, 2}, {1, 8, 12, 7, 10, 6, 16, 22, 2}};
    char *model;
    size_t size;
    rf_error why = {0};
    if (rf__read_file(ctx, "tests/golden/deberta_v2/whole/spm.model", 1 << 24, &model, &size, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < 4; i++) {
        char own[96];
        const char *folder = t_folder();
        snprintf(own, sizeof own, settings, i & 1 ? "true" : "false", i & 2 ? "true" : "false");
        t_write(folder, "spm.model", model, size);
        t_write(folder, "tokenizer_config.json", own, strlen(own));
        t_write(folder, "config.json", config, strlen(config));
        rf_tokenizer *t = opened(folder);
        rf_encoding e;
        rf_encoding_init(&e, ctx);
        if (rf_encode(t, text, strlen(text), NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(e.n, i & 2 ? 9 : 8);
        assert_memory_equal(e.id, ids[i], e.n * sizeof *e.id);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
    }
    rf__free(ctx, model);
}

/* The class of DeBERTa's version 1 puts [CLS] and [SEP] around texts; [MASK] takes the blanks before it unless
 * transformers 5 wrote the folder. */
static void deberta_has_its_ends(void **state)
{
    (void)state;
    static const char vocab[] = "{\"[PAD]\":0,\"[CLS]\":1,\"[SEP]\":2,\"[UNK]\":3,\"a\":4,\"\xC4\xA0\":5,\"b\":6,"
                                "\"\xC4\xA0" "b\":7,\"[MASK]\":8}", merges[] = "#version: 0.2\n\xC4\xA0 b\n";
    static const char *const config[] = {"{\"model_type\": \"deberta\"}",
                                         "{\"model_type\": \"deberta\", \"transformers_version\": \"5.0.0\"}"};
    static const int32_t ids[2][7] = {{1, 4, 8, 7, 2, 6, 2}, {1, 4, 5, 8, 7, 2, 6}}, types[7] = {0, 0, 0, 0, 0, 1, 1};
    for (int new = 0; new < 2; new++) {
        const char *folder = t_folder(), *settings = "{\"vocab_type\": \"gpt2\"}";
        t_write(folder, "vocab.json", vocab, strlen(vocab));
        t_write(folder, "merges.txt", merges, strlen(merges));
        t_write(folder, "tokenizer_config.json", settings, strlen(settings));
        t_write(folder, "config.json", config[new], strlen(config[new]));
        rf_tokenizer *t = opened(folder);
        rf_encoding e;
        rf_error why = {0};
        rf_encoding_init(&e, ctx);
        if (rf_encode(t, "a [MASK] b", 10, "b", 1, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(e.n, 7 + new);
        assert_memory_equal(e.id, ids[new], sizeof ids[new]);
        if (!new) assert_memory_equal(e.type, types, sizeof types);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        same(folder, folder);
    }
}

/* A folder with spiece.model, the settings and config.json of a row. */
static const char *t5_folder(const json_t *row, const char *model, size_t size)
{
    static const struct { const char *key, *file; } files[] = {{"settings", "tokenizer_config.json"},
                                                               {"config", "config.json"}};
    const char *folder = t_folder();
    t_write(folder, "spiece.model", model, size);
    for (size_t i = 0; i < RF_COUNT(files); i++) {
        char *text = json_dumps(json_object_get(row, files[i].key), 0);
        t_write(folder, files[i].file, text, strlen(text));
        free(text);
    }
    return folder;
}

/* T5 with spiece.model alone: ids and texts of transformers under several settings (tools/golden/golden_t5_text.py). */
static void t5_with_its_model_alone(void **state)
{
    (void)state;
    char *model, line[8192];
    size_t size, i, k;
    rf_error why = {0};
    FILE *f = fopen("tests/golden/subwords/t5.jsonl", "r");
    assert_non_null(f);
    if (rf__read_file(ctx, "tests/golden/subwords/t5.model", 1 << 24, &model, &size, &why)) fail_msg("%s", why.text);
    while (fgets(line, sizeof line, f)) {
        json_t *row = json_loads(line, 0, NULL), *text, *id;
        assert_non_null(row);
        const char *folder = t5_folder(row, model, size);
        rf_tokenizer *t = opened(folder);
        rf_encoding e;
        rf_encoding_init(&e, ctx);
        json_array_foreach(json_object_get(row, "texts"), i, text) {
            const json_t *ids = json_array_get(json_object_get(row, "ids"), i);
            const char *words = json_string_value(text);
            if (rf_encode(t, words, strlen(words), NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
            assert_int_equal(e.n, json_array_size(ids));
            json_array_foreach(ids, k, id) assert_int_equal(e.id[k], json_integer_value(id));
            char *back = rf_decode(t, e.id, e.n, 1, 0, &k);
            assert_string_equal(back, json_string_value(json_array_get(json_object_get(row, "decoded"), i)));
            rf_text_free(t, back);
        }
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        same(folder, folder);
        json_decref(row);
    }
    fclose(f);
    rf__free(ctx, model);
}

/* Numbers of tokens that contradict each other, and a model in another order, are refused by name. */
static void t5_models_that_are_refused(void **state)
{
    (void)state;
    static const struct { const char *settings, *message; } rows[] = {
        {"{\"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": -1}", "extra_ids: expected an integer from 0 to 4000"},
        {"{\"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": 5, \"additional_special_tokens\": [\"<extra_id_0>\"]}",
         "expected all of the 5 tokens <extra_id_...> that extra_ids asks for, got 1"},
        {"{\"tokenizer_class\": \"T5Tokenizer\", \"eos_token\": \"<end>\"}", "a piece <end> (eos_token)"},
    };
    char *model;
    size_t size;
    rf_error why = {0};
    if (rf__read_file(ctx, "tests/golden/subwords/t5.model", 1 << 24, &model, &size, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        rf_tokenizer *t;
        rf_error bad = {0};
        const char *folder = t_folder();
        t_write(folder, "spiece.model", model, size);
        t_write(folder, "tokenizer_config.json", rows[i].settings, strlen(rows[i].settings));
        assert_int_not_equal(rf_tokenizer_open(ctx, folder, &t, &bad), RF_OK);
        if (!strstr(bad.text, rows[i].message)) fail_msg("%s", bad.text);
    }
    rf__free(ctx, model);
}

/* A model without a type whose members are those of none. */
static void a_model_of_no_type(void **state)
{
    (void)state;
    rf_tokenizer *t;
    rf_error why = {0};
    json_t *x = json_pack("{s:s, s:[], s:{s:{}}}", "version", "1.0", "added_tokens", "model", "vocab");
    const char *folder = folder_of(x, "{\"tokenizer_class\": \"GPT2Tokenizer\"}", NULL);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
    assert_non_null(strstr(why.text, "model: type: expected BPE, WordPiece, WordLevel or Unigram, got none"));
}

/* What is missing is said, and no list is cut. */
static void a_class_without_its_file(void **state)
{
    (void)state;
    rf_tokenizer *t;
    rf_error why = {0};
    const char *folder = t_folder();
    static const char settings[] = "{\"tokenizer_class\": \"LlamaTokenizerFast\"}";
    t_write(folder, "tokenizer_config.json", settings, strlen(settings));
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
    assert_non_null(strstr(why.text, "LlamaTokenizerFast: expected tokenizer.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_class_decides_the_prefix), cmocka_unit_test(roberta_has_its_ends),
        cmocka_unit_test(older_files),                  cmocka_unit_test(lowercase_comes_first),
        cmocka_unit_test(bert_lowers_as_well_itself),   cmocka_unit_test(a_class_without_its_file),
        cmocka_unit_test(a_model_of_deberta_alone),     cmocka_unit_test(deberta_lowers_and_splits),
        cmocka_unit_test(deberta_has_its_ends),         cmocka_unit_test(older_files_with_added_tokens),
        cmocka_unit_test(older_files_that_are_refused), cmocka_unit_test(a_model_of_no_type),
        cmocka_unit_test(a_sentencepiece_model_alone),  cmocka_unit_test(t5_with_its_model_alone),
        cmocka_unit_test(t5_models_that_are_refused),
    };
    return cmocka_run_group_tests_name("text/rebuild", tests, setup, teardown);
}
