/* languages.c — the tokens that name the languages of a translation model's texts.
 *
 *     M2M100Tokenizer    __en__ A </s>                  sources and targets
 *     NllbTokenizer      eng_Latn A </s>                with legacy_behaviour  A </s> eng_Latn
 *     MBart50Tokenizer   en_XX A </s>
 *     MBartTokenizer     A </s> en_XX                   a decoder begins with the token of the target's language
 *
 * The language of a source is src_lang of tokenizer_config.json, or the one that the class assumes; that of a target is
 * tgt_lang. transformers' classes decide this, whatever tokenizer.json says. */
#include <stdio.h>

#include "languages.h"

struct rf_language_row {
    const char *class, *model_type;     /* model_type: with this one and no class, the same                           */
    const char *usual;                  /* the source's language                                                      */
    const char *form;                   /* of the tokens: a any small letter, A any capital, * some small letters     */
    bool after, starts;
};

static const rf_language_row rows[] = {
    {"M2M100Tokenizer", "m2m_100", "en", "__*__", false, false},
    {"NllbTokenizer", NULL, "eng_Latn", "aaa_Aaaa", false, false},
    {"MBartTokenizer", "mbart", "en_XX", "aa_AA", true, true},
    {"MBart50Tokenizer", NULL, "en_XX", "aa_AA", false, false},
};

const rf_language_row *rf__languages_class(const rf_tokenizer_folder *f)
{
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (rf__folder_is(f, rows[i].class, rows[i].model_type)) return &rows[i];
    return NULL;
}

bool rf__languages_start(const rf_tokenizer *t) { return t->languages && t->languages->starts; }

/* ---- lists of codes, for files of pieces that do not have them --------------------------------------------------- */

static const char *const mbart[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT", "ja_XX",
    "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN",
    "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
    "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN", "th_TH", "tl_XX", "uk_UA",
    "ur_PK", "xh_ZA", "gl_ES", "sl_SI", NULL};
enum { MBART_25 = 25 };                  /* the first of them are mBART-25's */

static const char *const m2m_100[] = {
    "af", "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de", "el",
    "en", "es", "et", "fa", "ff", "fi", "fr", "fy", "ga", "gd", "gl", "gu", "ha", "he", "hi", "hr", "ht", "hu",
    "hy", "id", "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "lb", "lg", "ln", "lo", "lt",
    "lv", "mg", "mk", "ml", "mn", "mr", "ms", "my", "ne", "nl", "no", "ns", "oc", "or", "pa", "pl", "ps", "pt",
    "ro", "ru", "sd", "si", "sk", "sl", "so", "sq", "sr", "ss", "su", "sv", "sw", "ta", "th", "tl", "tn", "tr",
    "uk", "ur", "uz", "vi", "wo", "xh", "yi", "yo", "zh", "zu", NULL};
static const char *const wmt21[] = {
    "en", "ha", "is", "ja", "cs", "ru", "zh", "de", NULL};

const char *const *rf__languages_listed(const rf_tokenizer_folder *f, size_t *n)
{
    const rf_language_row *row = rf__languages_class(f);
    const char *set = json_string_value(json_object_get(f->config, "language_codes"));
    const char *const *list = row && *row->form == '_' ? set && !strcmp(set, "wmt21") ? wmt21 : m2m_100 : mbart;
    *n = 0;
    if (!row || !strcmp(row->usual, "eng_Latn")) return NULL;
    while (list[*n]) ++*n;
    if (row->starts) *n = MBART_25;
    return list;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

static bool is_small(char c) { return c >= 'a' && c <= 'z'; }

static bool fits(const char *form, const char *token)
{
    for (; *form; form++) {
        const char *from = token;
        if (*form == '*')
            while (is_small(*token)) token++;
        else if (*form == 'a' ? is_small(*token) : *form == 'A' ? *token >= 'A' && *token <= 'Z' : *token == *form)
            token++;
        if (token == from) return false;
    }
    return !*token;
}

bool rf__languages_added(const rf_tokenizer_folder *f)
{
    const rf_language_row *row = rf__languages_class(f);
    for (size_t i = 0; row && i < f->parts.added_n; i++)
        if (fits(row->form, f->parts.added[i].text)) return true;
    return false;
}

/* The part of a token that is a code: without the underscores of the form. */
static void code_of(const rf_language_row *row, const char *token, char to[RF_LANGUAGE_CODE])
{
    const size_t edge = strspn(row->form, "_"), n = strlen(token);
    snprintf(to, RF_LANGUAGE_CODE, "%.*s", (int)(n - 2 * edge), token + edge);
}

bool rf__language_at(const rf_tokenizer *t, int64_t i, char to[RF_LANGUAGE_CODE])
{
    for (size_t k = 0; t->languages && k < t->added_n; k++) {
        if (!t->added[k].special || !fits(t->languages->form, t->added[k].text) || i--) continue;
        code_of(t->languages, t->added[k].text, to);
        return true;
    }
    return false;
}

static int32_t find(const rf_tokenizer *t, const rf_language_row *row, const char *code)
{
    char name[RF_LANGUAGE_CODE + 8];
    const int edge = (int)strspn(row->form, "_");
    snprintf(name, sizeof name, "%.*s%.31s%.*s", edge, "____", code, edge, "____");
    if (fits(row->form, code)) snprintf(name, sizeof name, "%.31s", code);
    return fits(row->form, name) ? rf_tokenizer_id(t, name) : -1;
}

/* How far a code is from what was given, of which it may be the longer form: "en" from "eng_Latn". */
static int distance(const char *given, const char *code)
{
    const size_t n = strlen(given), m = strlen(code), first = strcspn(code, "_");
    const int whole = 2 * rf__edit_distance(given, n, code, m);
    const int start = 2 * rf__edit_distance(given, n, code, first) + 1;
    return (whole < start ? whole : start) - 2 * (n > 1 && !strncmp(given, code, 2));
}

rf_status rf__language_find(const rf_tokenizer *t, const char *option, const char *code, int32_t *id, rf_error *why)
{
    enum { NEAREST = 5 };
    char near[NEAREST][RF_LANGUAGE_CODE] = {{0}}, one[RF_LANGUAGE_CODE], list[NEAREST * (RF_LANGUAGE_CODE + 2)] = "";
    int far[NEAREST], n = 0;
    if (!t->languages)
        return rf_fail(why, RF_EARG, "%s: expected a tokenizer with tokens for languages (M2M-100, NLLB, mBART), got "
                       "%s; leave the option out", option, t->row->title);
    if ((*id = find(t, t->languages, code)) >= 0) return RF_OK;
    for (int64_t i = 0; rf__language_at(t, i, one); i++) {
        const int d = distance(code, one);
        int k = n;
        while (k && far[k - 1] > d) k--;
        if (k == NEAREST) continue;
        if (n < NEAREST) n++;
        memmove(near + k + 1, near + k, (size_t)(n - 1 - k) * sizeof *near);
        memmove(far + k + 1, far + k, (size_t)(n - 1 - k) * sizeof *far);
        memcpy(near[k], one, sizeof one);
        far[k] = d;
    }
    for (int k = 0; k < n; k++) rf__list_add(list, sizeof list, near[k]);
    return rf_fail(why, RF_EARG, "%s: expected a language of the tokenizer, such as %s, got \"%.40s\"", option, list,
                   rf__printable(code).text);
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

/* Adds the language to the templates of a text and of a pair, which end with </s>. */
static void put_language(rf_tokenizer *t)
{
    for (int pair = 0; pair < 2; pair++) {
        rf_frame *f = &t->frame[pair];
        if (f->n == RF_FRAME_PARTS) continue;
        const size_t at = t->language_after ? f->n : 0;
        memmove(f->part + at + 1, f->part + at, (f->n - at) * sizeof *f->part);
        f->part[at] = (rf_frame_part){t->source_language, 0};
        f->n++;
    }
}

static rf_status take_language(rf_tokenizer_folder *f, rf_tokenizer *t, const char *key, int32_t *id)
{
    const json_t *x = json_object_get(f->config, key);
    char where[RF_PATH + 32];
    if (!x || json_is_null(x)) return RF_OK;
    snprintf(where, sizeof where, "%s: %s", f->config_path, key);
    if (json_is_string(x)) return rf__language_find(t, where, json_string_value(x), id, f->why);
    return rf_fail(f->why, RF_EDATA, "%s: expected a language, got %s", where, rf__json_shown(x).text);
}

rf_status rf__languages_open(rf_tokenizer_folder *f, rf_tokenizer *t)
{
    const rf_language_row *row = rf__languages_class(f);
    int legacy = 0;
    char one[RF_LANGUAGE_CODE];
    t->source_language = t->target_language = -1;
    if (!row) return RF_OK;
    t->languages = row;
    if (!rf__language_at(t, 0, one)) return t->languages = NULL, RF_OK;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "legacy_behaviour", 0, &legacy);
    t->language_after = row->after || legacy;
    t->source_language = find(t, row, row->usual);
    if (!status) status = take_language(f, t, "src_lang", &t->source_language);
    if (!status) status = take_language(f, t, "tgt_lang", &t->target_language);
    if (!status && t->source_language >= 0) put_language(t);
    return status;
}

void rf__languages_settings(const rf_tokenizer *t, json_t **config)
{
    if (t->languages) rf__json_set(config, "tokenizer_class", json_string(t->languages->class));
}
