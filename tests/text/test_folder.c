/* Model folders: Hugging Face's files are read, what differs from BERT is rejected by name, written files are read
 * back. mirrors folder.c, folder_row.c, wordpiece_folder.c, save.c */
#include <sys/stat.h>
#include <unistd.h>

#include "one_context.h"
#include "opened.h"

#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nA\n\xC3\xA9\ne\n\xE6\xBC\xA2\n"
#define NORMAL "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true," \
               "\"strip_accents\":null,\"lowercase\":%s}"
#define MODEL "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\"," \
              "\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3," \
              "\"[MASK]\":4," \
              "\"a\":5,\"##b\":6,\"A\":9}}"
#define FAST "{" NORMAL \
    ",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"added_tokens\":[{\"id\":10,\"content\":\"<x>\"," \
             "\"single_word\":false,\"lstrip\":true,\"rstrip\":true,\"normalized\":false,\"special\":true}]," MODEL "}"

static void put_file(const char *folder, const char *name, const char *text)
{
    t_write(folder, name, text, strlen(text));
}

static int32_t first_id(const rf_tokenizer *t, const char *text)
{
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_encode(t, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL), RF_OK);
    const int32_t id = e.n ? e.id[0] : -1;
    rf_encoding_clear(&e);
    return id;
}

static void a_vocabulary_alone(void **state)
{
    (void)state;
    const char *folder = t_folder();
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EIO);
    t_failed(&why, RF_EIO, "vocab.txt");
    put_file(folder, "vocab.txt", VOCAB);
    t = opened(folder);
    assert_int_equal(first_id(t, "A"), 5);
    assert_int_equal(first_id(t, "\xC3\xA9"), 9);
    rf_tokenizer_free(t);
}

static void settings(void **state)
{
    (void)state;
    const char *folder = t_folder();
    put_file(folder, "vocab.txt", VOCAB);
    put_file(folder, "tokenizer_config.json",
        "{\"tokenizer_class\":\"BertTokenizerFast\",\"do_lower_case\":false,\"strip_accents\":false,"
        "\"tokenize_chinese_chars\":false,\"model_max_length\":1000000000000000019884624838656,"
        "\"mask_token\":{\"content\":\"e\",\"lstrip\":false},\"pad_token\":null,\"roformer_rules\":\"python\"}");
    rf_tokenizer *t = opened(folder);
    assert_int_equal(first_id(t, "A"), 7);
    assert_int_equal(first_id(t, "\xC3\xA9"), 8);
    assert_int_equal(first_id(t, "\xE6\xBC\xA2z"), 1);      /* not split at the Han character: no such word         */
    assert_int_equal(rf_tokenizer_mask(t), 9);
    assert_int_equal(rf_tokenizer_options_of(t)->rules, RF_RULES_PYTHON);
    rf_tokenizer_free(t);
}

/* It has priority, as in transformers 5, except with added_tokens_decoder: then it is not read at all. */
static void special_tokens_map(void **state)
{
    (void)state;
    const char *folder = t_folder();
    put_file(folder, "vocab.txt", VOCAB);
    put_file(folder, "tokenizer_config.json", "{\"sep_token\":\"[SEP]\"}");
    put_file(folder, "special_tokens_map.json", "{\"sep_token\":\"a\",\"mask_token\":\"e\"}");
    rf_tokenizer *t = opened(folder);
    assert_int_equal(rf_tokenizer_sep(t), 5);
    assert_int_equal(rf_tokenizer_mask(t), 9);
    rf_tokenizer_free(t);
    put_file(folder, "tokenizer_config.json", "{\"sep_token\":\"[SEP]\",\"added_tokens_decoder\":{}}");
    t = opened(folder);
    assert_int_equal(rf_tokenizer_sep(t), 3);
    assert_int_equal(rf_tokenizer_mask(t), 4);
    rf_tokenizer_free(t);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    static const struct { const char *json; rf_status status; const char *part;
    } bad[] = {
        {"{", RF_EDATA, "line 1"},
        {"[]", RF_EDATA, "object"},
        {"{\"do_lower_case\":1}", RF_EDATA, "do_lower_case"},
        {"{\"tokenizer_class\":\"RoFormerTokenizer\"}", RF_EUNSUPPORTED, "expected a dictionary of words, got none"},
        {"{\"tokenizer_class\":\"T5Tokenizer\"}", RF_EUNSUPPORTED, "T5Tokenizer"},
        {"{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", RF_EIO, "tokenizer.json"},
        {"{\"tokenizer_class\":7}", RF_EDATA, "tokenizer_class"},
        {"{\"roformer_rules\":\"perl\"}", RF_EDATA, "roformer_rules"},
        {"{\"mask_token\":[]}", RF_EDATA, "mask_token"},
        {"{\"mask_token\":\"\"}", RF_EDATA,
         "mask_token: expected a token, as a string or an object with \"content\", got"},
        {"{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}", RF_EDATA, "added_tokens_decoder"},
        {"{\"added_tokens_decoder\":{\"5\":{\"content\":\"e\"}}}", RF_EDATA,
         "the added token e: expected its id 9 of the vocabulary, got 5"},
        {"{\"roformer_rules\":\"python\",\"do_basic_tokenize\":false}", RF_EUNSUPPORTED, "do_basic_tokenize"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = t_folder();
        put_file(folder, "vocab.txt", VOCAB);
        put_file(folder, "tokenizer_config.json", bad[i].json);
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), bad[i].status);
        t_failed(&why, bad[i].status, bad[i].part);
        assert_null(t);
    }
}

/* tokenizers numbers the tokens after vocab.txt itself: transformers 4.57 and 5.24 give these ids. */
static void ids_of_added_tokens_beside_vocab_txt(void **state)
{
    (void)state;
    const char *folder = t_folder();
    put_file(folder, "vocab.txt", VOCAB);
    put_file(folder, "tokenizer_config.json",
        "{\"added_tokens_decoder\":{\"9\":{\"content\":\"e\"},"
        "\"40\":{\"content\":\"<y>\"},\"30\":{\"content\":\"<x>\"}}}");
    rf_tokenizer *t = opened(folder);
    assert_int_equal(first_id(t, "e"), 9);
    assert_int_equal(first_id(t, "<x>"), 11);
    assert_int_equal(first_id(t, "<y>"), 12);
    assert_int_equal(rf_tokenizer_size(t), 13);
    rf_tokenizer_free(t);
}

static void fast_folder(const char *folder, const char *lowercase)
{
    char text[4096];
    snprintf(text, sizeof text, FAST, lowercase);
    put_file(folder, "tokenizer.json", text);
}

static void a_folder_of_tokenizer_json(void **state)
{
    (void)state;
    const char *folder = t_folder();
    fast_folder(folder, "false");
    put_file(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"TokenizersBackend\"}");
    rf_tokenizer *t = opened(folder);
    assert_int_equal(rf_tokenizer_size(t), 11);
    assert_int_equal(first_id(t, "A"), 9);
    assert_null(rf_tokenizer_token(t, 7));
    assert_int_equal(first_id(t, "<x>"), 10);
    assert_true(rf_tokenizer_is_special(t, 10));
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_encode(t, "a <x> a", 7, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL), RF_OK);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.start[1], 1);                       /* lstrip and rstrip take the spaces along                 */
    assert_int_equal(e.end[1], 6);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    put_file(folder, "tokenizer_config.json", "{\"do_lower_case\":true}");
    t = opened(folder);
    assert_int_equal(first_id(t, "A"), 5);
    rf_tokenizer_free(t);
}

/* Without a class, transformers takes BERT's for its model types, which lowercases whatever tokenizer.json says. */
static void the_model_type_is_a_class(void **state)
{
    (void)state;
    static const struct { const char *model_type, *settings; int32_t id; } rows[] = {
        {"bert", NULL, 5}, {"bert", "{\"do_lower_case\":false}", 9}, {"electra", "{}", 5}, {"distilbert", "{}", 5},
        {"ernie", "{}", 5}, {"other", "{}", 9}, {"bert", "{\"tokenizer_class\":\"TokenizersBackend\"}", 9},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        const char *folder = t_folder();
        char config[64];
        snprintf(config, sizeof config, "{\"model_type\":\"%s\"}", rows[i].model_type);
        fast_folder(folder, "false");
        put_file(folder, "config.json", config);
        if (rows[i].settings) put_file(folder, "tokenizer_config.json", rows[i].settings);
        rf_tokenizer *t = opened(folder);
        if (first_id(t, "A") != rows[i].id) fail_msg("case %zu: %d", i, (int)first_id(t, "A"));
        rf_tokenizer_free(t);
    }
}

/* Each case replaces a part of a good tokenizer.json. */
static void other_parts_are_refused_by_name(void **state)
{
    (void)state;
    static const struct { const char *from, *to, *part; rf_status status;
    } bad[] = {
        {"\"A\":9", "\"A\":-9", "token A", RF_EDATA},
        {"\"A\":9", "\"A\":5", "id 5", RF_EDATA},
        {"\"A\":9", "\"A\":99999999", "token A", RF_EDATA},
        {"\"A\":9", "\"A\":9.5", "token A", RF_EDATA},
        {"\"A\":9", "\"A\\n\":9", "line break", RF_EUNSUPPORTED},
        {"\"id\":10", "\"id\":9", "id 9", RF_EDATA},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = t_folder();
        char good[4096], text[4096];
        snprintf(good, sizeof good, FAST, "true");
        const char *at = strstr(good, bad[i].from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad[i].to, at + strlen(bad[i].from));
        put_file(folder, "tokenizer.json", text);
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        if (rf_tokenizer_open(ctx, folder, &t, &why) != bad[i].status) fail_msg("case %zu: \"%s\"", i, why.text);
        t_failed(&why, bad[i].status, bad[i].part);
    }
}

/* What tokenizers 0.23 decodes with these decoders; a class of BERT has its own, whatever the file says. */
static void the_decoder_of_tokenizer_json(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 6, 9};
    static const struct { const char *decoder, *class, *text; } made[] = {
        {"", "TokenizersBackend", "a ##b ."},
        {"\"decoder\":null,", "TokenizersBackend", "a ##b ."},
        {"\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false},", "TokenizersBackend", "ab ."},
        {"\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},", "TokenizersBackend", "ab."},
        {"\"decoder\":null,", "BertTokenizer", "ab."},
    };
    for (size_t i = 0; i < RF_COUNT(made); i++) {
        const char *folder = t_folder();
        char file[4096], text[4096], class[128];
        snprintf(file, sizeof file, FAST, "true");
        char *dot = strstr(file, "\"A\":9");
        assert_non_null(dot);
        dot[1] = '.';
        snprintf(text, sizeof text, "{%s%s", made[i].decoder, file + 1);
        put_file(folder, "tokenizer.json", text);
        snprintf(class, sizeof class, "{\"tokenizer_class\":\"%s\"}", made[i].class);
        put_file(folder, "tokenizer_config.json", class);
        rf_tokenizer *t = opened(folder);
        char *decoded = rf_decode(t, ids, RF_COUNT(ids), 1, 0, NULL);
        assert_string_equal(decoded, made[i].text);
        rf_text_free(t, decoded);
        rf_tokenizer_free(t);
    }
}

/* Added tokens that follow vocab.txt are matched as a whole in raw text and are not pieces. */
static void added_tokens_follow_the_vocabulary(void **state)
{
    (void)state;
    const char *folder = t_folder(), *to = t_folder();
    put_file(folder, "vocab.txt", VOCAB);
    put_file(folder, "tokenizer_config.json", "{\"mask_token\":\"<m>\",\"added_tokens_decoder\":{"
        "\"12\":{\"content\":\"<m>\",\"special\":true},\"11\":{\"content\":\"ab\"}}}");
    rf_tokenizer *t = opened(folder);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(rf_tokenizer_size(t), 13);
        assert_int_equal(rf_tokenizer_mask(t), 12);
        assert_int_equal(rf_tokenizer_id(t, "ab"), 11);
        assert_string_equal(rf_tokenizer_token(t, 11), "ab");
        assert_int_equal(first_id(t, "ab"), 11);
        assert_int_equal(first_id(t, "AB"), 5);            /* lower case after the search: a and ##b                  */
        assert_int_equal(first_id(t, "<m>"), 12);
        assert_int_equal(rf_tokenizer_save(t, to, NULL), RF_OK);
        rf_tokenizer_free(t);
        t = opened(to);
    }
    rf_tokenizer_free(t);
    put_file(folder, "tokenizer_config.json",
        "{\"roformer_rules\":\"python\",\"added_tokens_decoder\":{\"12\":{\"content\":\"<m>\"}}}");
    rf_error why = {0};
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "follows");
}

static char *file_text(const char *folder, const char *name)
{
    char path[512], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(rf__read_file(ctx, path, 1 << 20, &text, &size, NULL), RF_OK);
    return text;
}

static void saved_folders_open_again(void **state)
{
    (void)state;
    const char *from = t_folder();
    fast_folder(from, "false");
    rf_tokenizer *t = opened(from);
    const char *first = t_folder(), *second = t_folder();
    assert_int_equal(rf_tokenizer_save(t, first, NULL), RF_OK);
    rf_tokenizer *u = opened(first);
    assert_int_equal(rf_tokenizer_size(u), 11);
    for (int32_t i = 0; i < 11; i++) {
        const char *a = rf_tokenizer_token(t, i), *b = rf_tokenizer_token(u, i);
        assert_true((!a && !b) || !strcmp(a, b));
    }
    assert_int_equal(first_id(u, "A"), 9);
    assert_int_equal(first_id(u, "<x>"), 10);
    assert_int_equal(rf_tokenizer_save(u, second, NULL), RF_OK);
    static const char *const name[] = {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"};
    for (size_t i = 0; i < RF_COUNT(name); i++) {
        char *a = file_text(first, name[i]), *b = file_text(second, name[i]);
        assert_string_equal(a, b);
        rf__free(ctx, a);
        rf__free(ctx, b);
    }
    rf_error why = {0};
    assert_int_equal(rf_tokenizer_save(u, "/nowhere/at/all", &why), RF_EIO);
    rf_tokenizer_free(t);
    rf_tokenizer_free(u);
}

/* A folder with these changes to the valid tokenizer.json. */
static const char *changed(const char *from, const char *to)
{
    const char *folder = t_folder();
    char good[4096], text[4096];
    snprintf(good, sizeof good, FAST, "true");
    const char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    put_file(folder, "tokenizer.json", text);
    return folder;
}

/* What vocab.txt cannot represent is saved as tokenizer.json. */
static void what_lines_cannot_keep(void **state)
{
    (void)state;
    rf_error why = {0};
    rf_tokenizer *t = opened(changed(":100,", ":3,"));
    const char *to = t_folder();
    assert_int_equal(rf_tokenizer_options_of(t)->max_word, 3);
    assert_int_equal(first_id(t, "abbb"), 1);
    assert_int_equal(rf_tokenizer_save(t, to, NULL), RF_OK);
    rf_tokenizer_free(t);
    t = opened(to);
    assert_int_equal(rf_tokenizer_options_of(t)->max_word, 3);
    assert_int_equal(first_id(t, "abbb"), 1);
    rf_tokenizer_free(t);
    static const char *const white[] = {"\"A \":9", "\"A\\u3000\":9", "\"\\t\":9"};
    const char *bare = changed("{\"normalizer\"", "{\"post_processor\":null,\"normalizer\"");
    put_file(bare, "tokenizer_config.json", "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}");
    for (size_t i = 0; i <= RF_COUNT(white); i++) {
        char path[300];
        const char *from = i ? changed("\"A\":9", white[i - 1]) : bare;
        if (i)
            put_file(from, "tokenizer_config.json", "{\"tokenizer_class\":\"BertTokenizer\",\"do_lower_case\":false}");
        t = opened(from);
        to = t_folder();
        put_file(to, "vocab.txt", "old");
        assert_string_equal(rf_tokenizer_files(t)[1], "tokenizer.json");
        if (rf_tokenizer_save(t, to, &why)) fail_msg("%s", why.text);
        snprintf(path, sizeof path, "%s/vocab.txt", to);
        assert_int_not_equal(access(path, F_OK), 0);
        rf_tokenizer *u = opened(to);
        assert_int_equal(rf__tokenizer_fingerprint(u, 1), rf__tokenizer_fingerprint(t, 1));
        assert_string_equal(rf_tokenizer_token(u, 9), rf_tokenizer_token(t, 9));
        rf_tokenizer_free(u);
        rf_tokenizer_free(t);
    }
}

/* With a BERT class tokenizer.json is read before vocab.txt: a stale one with other tokens must not be used after
 * saving. */
static void an_older_tokenizer_json_is_set_aside(void **state)
{
    (void)state;
    const char *from = t_folder(), *to = t_folder();
    char path[512];
    put_file(from, "vocab.txt", VOCAB "ab\n");
    fast_folder(to, "false");
    rf_tokenizer *t = opened(from);
    for (int i = 0; i < 3; i++) {
        if (i) put_file(to, "tokenizer.json", i == 1 ? "{}" : "[]");
        assert_int_equal(rf_tokenizer_save(t, to, NULL), RF_OK);
        rf_tokenizer *u = opened(to);
        assert_int_equal(rf_tokenizer_size(u), rf_tokenizer_size(t));
        assert_int_equal(first_id(u, "ab"), 11);
        rf_tokenizer_free(u);
    }
    char *second = file_text(to, "tokenizer.json.replaced-2"), *third = file_text(to, "tokenizer.json.replaced-3");
    assert_string_equal(second, "{}");
    assert_string_equal(third, "[]");
    rf__free(ctx, second);
    rf__free(ctx, third);
    /* vocab.txt cannot be written: nothing changes */
    put_file(to, "tokenizer.json", "{}");
    snprintf(path, sizeof path, "%s/vocab.txt", to);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_not_equal(rf_tokenizer_save(t, to, NULL), RF_OK);
    char *kept = file_text(to, "tokenizer.json");
    assert_string_equal(kept, "{}");
    rf__free(ctx, kept);
    rf_tokenizer_free(t);
}

/* The same tokens, one of them a piece in one tokenizer and matched only as a whole in the other; one cache of words
 * for both. */
static void an_encoding_goes_from_one_tokenizer_to_another(void **state)
{
    (void)state;
    const char *one = t_folder(), *other = t_folder();
    put_file(one, "vocab.txt", VOCAB "ab\n");
    put_file(other, "vocab.txt", VOCAB);
    put_file(other, "tokenizer_config.json", "{\"added_tokens_decoder\":{\"11\":{\"content\":\"ab\"}}}");
    rf_tokenizer *t = opened(one), *u = opened(other);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (int i = 0; i < 4; i++) {
        const int flags = RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS;
        assert_int_equal(rf_encode(i % 2 ? u : t, "ab", 2, NULL, 0, 0, flags, &e, NULL, NULL), RF_OK);
        assert_int_equal(e.n, i % 2 ? 2 : 1);
        assert_int_equal(e.id[0], i % 2 ? 5 : 11);
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    rf_tokenizer_free(u);
}

/* Properties that other code queries instead of reading a tokenizer's files. */
static void a_tokenizer_says_what_it_is(void **state)
{
    (void)state;
    const char *folder = t_folder();
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    int learns = 0, types = 0;
    assert_null(rf_tokenizer_found(ctx, folder));
    put_file(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"BertTokenizer\"}");
    assert_null(rf_tokenizer_found(ctx, folder));
    put_file(folder, "tokenizer.json", "{}");
    assert_string_equal(rf_tokenizer_found(ctx, folder), "tokenizer.json");
    put_file(folder, "vocab.txt", VOCAB);
    assert_string_equal(rf_tokenizer_found(ctx, folder), "vocab.txt");
    assert_string_equal(rf_tokenizer_type(0, &learns), "wordpiece");
    assert_true(learns);
    while (rf_tokenizer_type(types, NULL)) types++;
    assert_null(rf_tokenizer_type(-1, NULL));
    assert_int_equal(rf_tokenizer_make(ctx, "wordpiece", &t, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "learned from text");
    why = (rf_error){0};
    assert_int_equal(rf_tokenizer_make(ctx, "syllables", &t, &why), RF_EARG);
    t_failed(&why, RF_EARG, "syllables");

    fast_folder(folder, "true");
    put_file(folder, "tokenizer_config.json", "{}");
    t = opened(folder);
    assert_string_equal(rf__tokenizer_transformers(t), "BertTokenizerFast");
    assert_string_equal(rf_tokenizer_files(t)[2], "vocab.txt");
    assert_null(rf_tokenizer_files(t)[3]);
    char *about = rf_tokenizer_describe(t);
    assert_non_null(strstr(about, "\"lower_case\":true"));
    rf_text_free(t, about);
    const uint64_t print = rf__tokenizer_fingerprint(t, 3);
    assert_int_equal(rf__tokenizer_fingerprint(t, 3), print);
    assert_int_not_equal(rf__tokenizer_fingerprint(t, 4), print);
    assert_string_equal(rf_tokenizer_displaces(t, folder), "tokenizer.json");
    assert_int_equal(rf__tokenizer_savable(t, folder, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_save(t, folder, NULL), RF_OK);        /* no file remains that would be read instead */
    assert_null(rf_tokenizer_displaces(t, folder));
    assert_string_equal(rf_tokenizer_found(ctx, folder), "vocab.txt");
    rf_tokenizer_free(t);
    t = opened(folder);
    assert_int_equal(rf__tokenizer_fingerprint(t, 3), print);
    put_file(folder, "tokenizer_config.json", "{\"do_lower_case\":false}");
    rf_tokenizer *u = opened(folder);
    assert_int_not_equal(rf__tokenizer_fingerprint(u, 3), print);
    rf_tokenizer_free(u);
    rf_tokenizer_free(t);
}

typedef struct folders { char from[256], to[256]; } folders;

static int second_type(const char *folder)
{
    rf_tokenizer *t = opened(folder);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_encode(t, "a", 1, "a", 1, 0, 0, &e, NULL, NULL), RF_OK);
    assert_int_equal(e.type[0], 0);
    const int type = e.type[e.n - 1];
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return type;
}

/* What AutoTokenizer of transformers 5.24 gives as token_type_ids for a pair; without them a model takes 0. */
static void types_of_a_pair(void **state)
{
    (void)state;
#define NAMES(more) "\"model_input_names\":[\"input_ids\"" more ",\"attention_mask\"]"
#define TYPES NAMES(",\"token_type_ids\"")
    static const struct { const char *config; int type; } row[] = {
        {"{\"tokenizer_class\":\"BertTokenizer\"}", 1},
        {"{\"tokenizer_class\":\"BertTokenizer\"," NAMES("") "}", 0},
        {"{\"tokenizer_class\":\"BertTokenizer\"," TYPES "}", 1},
        {"{\"tokenizer_class\":\"ElectraTokenizer\"}", 1},
        {"{\"tokenizer_class\":\"DistilBertTokenizer\"}", 0},
        {"{\"tokenizer_class\":\"DistilBertTokenizer\"," TYPES "}", 1},
        {"{" NAMES("") "}", 0},
        {"{}", 1},
    };
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const char *folder = t_folder(), *copy = t_folder();
        put_file(folder, "vocab.txt", VOCAB);
        put_file(folder, "tokenizer_config.json", row[i].config);
        assert_int_equal(second_type(folder), row[i].type);
        rf_tokenizer *t = opened(folder);
        assert_int_equal(rf_tokenizer_save(t, copy, NULL), RF_OK);
        rf_tokenizer_free(t);
        assert_int_equal(second_type(copy), row[i].type);
    }
}

static rf_status open_and_save(const rf_ctx *c, void *arg, rf_error *why)
{
    const folders *f = arg;
    rf_tokenizer *t = NULL;
    rf_status status = rf_tokenizer_open(c, f->from, &t, why);
    if (!status) status = rf_tokenizer_save(t, f->to, why);
    rf_tokenizer_free(t);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    folders f;
    snprintf(f.from, sizeof f.from, "%s", t_folder());
    snprintf(f.to, sizeof f.to, "%s", t_folder());
    fast_folder(f.from, "true");
    t_fail_allocations(1, NULL, open_and_save, &f);
}

/* A token for each id from 11 on, in four lists: Gemma 3 has 6415 of them.  What grows with the square of their number
 * would exceed the time limit. */
static void thousands_of_added_tokens(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    static const char *const rules[] = {"rust", "python"};
    char *text = malloc(MANY * 64 + 256);
    assert_non_null(text);
    for (size_t r = 0; r < RF_COUNT(rules); r++)
        for (int decoder = 0; decoder < 2; decoder++) {
            const char *folder = t_folder();
            size_t n = (size_t)sprintf(text, "{\"roformer_rules\":\"%s\",\"%s\":%s", rules[r], decoder
                                       ? "added_tokens_decoder" : "additional_special_tokens", decoder ? "{" : "[");
            for (int i = 0; i < MANY; i++)
                n += (size_t)(decoder ? sprintf(text + n, "%s\"%d\":{\"content\":\"<%d>\"}", i ? "," : "", 11 + i, i)
                                      : sprintf(text + n, "%s\"<%d>\"", i ? "," : "", i));
            snprintf(text + n, 8, "%s", decoder ? "}}" : "]}");
            put_file(folder, "vocab.txt", VOCAB);
            put_file(folder, "tokenizer_config.json", text);
            rf_tokenizer *t = opened(folder);
            assert_int_equal(first_id(t, "<0>"), 11);
            assert_int_equal(first_id(t, "<59999>"), 11 + 59999);
            rf_tokenizer_free(t);
        }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vocabulary_alone),
        cmocka_unit_test(settings),
        cmocka_unit_test(special_tokens_map),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(ids_of_added_tokens_beside_vocab_txt),
        cmocka_unit_test(a_folder_of_tokenizer_json),
        cmocka_unit_test(the_decoder_of_tokenizer_json),
        cmocka_unit_test(the_model_type_is_a_class),
        cmocka_unit_test(other_parts_are_refused_by_name),
        cmocka_unit_test(added_tokens_follow_the_vocabulary),
        cmocka_unit_test(saved_folders_open_again),
        cmocka_unit_test(what_lines_cannot_keep),
        cmocka_unit_test(an_older_tokenizer_json_is_set_aside),
        cmocka_unit_test(an_encoding_goes_from_one_tokenizer_to_another),
        cmocka_unit_test(a_tokenizer_says_what_it_is),
        cmocka_unit_test(types_of_a_pair),
        cmocka_unit_test(thousands_of_added_tokens),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests_name("text/folder", tests, setup, teardown);
}
