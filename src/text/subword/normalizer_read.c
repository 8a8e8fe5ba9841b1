/* normalizer_read.c — reads the normalizer of a tokenizer.json. */
#include <stdio.h>
#include <utf8proc.h>

#include "normalizer.h"

enum { MOST_GROWTH = 256, DEEPEST = 8, MOST_STEPS = 1024 };

static const struct { const char *type; rf__normal_do *go; int flags; } kinds[] = {
    {"Precompiled", rf__normal_precompiled, 0},
    {"NFC", rf__normal_form, UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", rf__normal_form, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", rf__normal_form, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", rf__normal_form, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    {"Nmt", rf__normal_by_characters, RF_NMT},
    {"StripAccents", rf__normal_by_characters, RF_NO_COMBINING},
    {"Lowercase", rf__normal_by_characters, RF_LOWER},
    {"Strip", rf__normal_strip, 0},
    {"Replace", rf__normal_replace, 0},
    {"Prepend", rf__normal_prepend, 0},
    {"ByteLevel", rf__normal_byte_level, 0},
};

/* NULL: no memory, or too many steps. */
static rf__normal_step *add_step(rf__normalizer *n, rf__normal_do *go, int flags, const char *path, rf_error *why)
{
    if (n->steps == MOST_STEPS) {
        rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: expected at most %d steps, got more", path, MOST_STEPS);
        return NULL;
    }
    if (!n->rust && (n->rust = rf__alloc(n->ctx, sizeof *n->rust))) rf__unicode_init(n->rust, RF_RULES_RUST);
    if (!n->rust || !rf__grow(n->ctx, &n->step, &n->capacity, n->steps + 1, sizeof *n->step)) {
        rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
        return NULL;
    }
    n->step[n->steps] = (rf__normal_step){.go = go, .flags = flags};
    return &n->step[n->steps++];
}

static rf_status read_texts(rf__normalizer *n, rf__normal_step *s, const json_t *x, const char *path, rf_error *why)
{
    const bool replaces = s->go == rf__normal_replace;
    const json_t *pattern = json_object_get(x, "pattern"), *regex = json_object_get(pattern, "Regex");
    const json_t *text = json_object_get(pattern, "String"), *from = regex ? regex : text;
    const json_t *to = json_object_get(x, replaces ? "content" : "prepend");
    char where[RF_PATH + 64];
    if (!json_is_string(to) || (replaces && !json_is_string(from)))
        return rf_fail(why, RF_EDATA, "%s: normalizer: Replace, Prepend: expected texts, got other values", path);
    s->to_size = json_string_length(to);
    s->from_size = replaces ? json_string_length(from) : 0;
    s->to = rf__alloc(n->ctx, s->to_size + 1);
    s->from = rf__alloc(n->ctx, s->from_size + 1);
    if (!s->to || !s->from) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    memcpy(s->to, json_string_value(to), s->to_size);
    if (!replaces) return RF_OK;
    memcpy(s->from, json_string_value(from), s->from_size);
    if (!regex && s->from_size) return RF_OK;
    if (s->from_size == 5 && !memcmp(s->from, " {2,}", 5)) return s->go = rf__normal_collapse, RF_OK;
    s->go = rf__normal_replace_regex;                     /* an empty String is an empty Regex                        */
    snprintf(where, sizeof where, "%s: normalizer: Replace", path);
    return rf__regex_compile(&s->regex, n->ctx, json_string_value(from), s->from_size, where, why);
}

/* Its four switches are steps; strip_accents null is as lowercase. */
static rf_status read_bert(rf__normalizer *n, const json_t *x, const char *path, rf_error *why)
{
    const bool lower = rf__json_flag(x, "lowercase", true), strip = rf__json_flag(x, "strip_accents", lower);
    const struct { rf__normal_do *go; int flags; bool on; } part[] = {
        {rf__normal_by_characters, RF_CLEAN, rf__json_flag(x, "clean_text", true)},
        {rf__normal_by_characters, RF_HAN_APART, rf__json_flag(x, "handle_chinese_chars", true)},
        {rf__normal_form, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, strip},
        {rf__normal_by_characters, RF_NO_NONSPACING, strip},
        {rf__normal_by_characters, RF_LOWER, lower},
    };
    for (size_t i = 0; i < RF_COUNT(part); i++)
        if (part[i].on && !add_step(n, part[i].go, part[i].flags, path, why)) return why->code;
    return RF_OK;
}

static rf_status read_step(rf__normalizer *n, const json_t *x, const char *type, const char *path, rf_error *why)
{
    size_t k = 0;
    if (!strcmp(type, "BertNormalizer")) return read_bert(n, x, path, why);
    while (k < RF_COUNT(kinds) && strcmp(type, kinds[k].type) != 0) k++;
    if (k == RF_COUNT(kinds))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: expected a normalizer of tokenizers (docs/formats.md "
                       "lists them), got %.60s", path, rf__printable(type).text);
    const json_t *map = json_object_get(x, "precompiled_charsmap");
    if (kinds[k].go == rf__normal_precompiled && json_is_null(map)) return RF_OK;         /* it changes nothing       */
    rf__normal_step *s = add_step(n, kinds[k].go, kinds[k].flags, path, why);
    if (!s) return why->code;
    s->left = json_is_true(json_object_get(x, "strip_left"));
    s->right = json_is_true(json_object_get(x, "strip_right"));
    n->prepends |= s->go == rf__normal_prepend;
    if (s->go == rf__normal_precompiled) return rf__normal_read_charsmap(&s->charsmap, n->ctx, map, path, why);
    return s->go == rf__normal_replace || s->go == rf__normal_prepend ? read_texts(n, s, x, path, why) : RF_OK;
}

/* The expansions of steps multiply: with three steps of a thousand characters per letter, five letters would become
 * five billion.  What a regular expression matches is not known here (rf__normal_fits). */
static rf_status check_growth(const rf__normalizer *n, const char *path, rf_error *why)
{
    double growth = 1;
    for (size_t i = 0; i < n->steps; i++) {
        const rf__normal_step *s = &n->step[i];
        double by = s->go == rf__normal_precompiled ? (double)s->charsmap.longest : 1;
        if (s->go == rf__normal_collapse) by = (double)s->to_size / 2;
        if (s->go == rf__normal_replace) by = (double)s->to_size / (double)s->from_size;
        growth *= by > 1 ? by : 1;
    }
    if (growth <= MOST_GROWTH) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: its Replace and Precompiled steps together make a text up to "
                   "%.0f times as long: expected at most %d times; shorten their \"content\"", path, growth,
                   MOST_GROWTH);
}

static rf_status read_part(rf__normalizer *n, const json_t *x, int depth, const char *path, rf_error *why)
{
    const char *type = json_string_value(json_object_get(x, "type"));
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    if (!x || json_is_null(x)) return RF_OK;
    if (!type) return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: type: expected a name, got none", path);
    if (strcmp(type, "Sequence") != 0) return read_step(n, x, type, path, why);
    if (depth > DEEPEST)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: Sequence: expected at most %d in each other, got more",
                       path, DEEPEST);
    json_array_foreach(json_object_get(x, "normalizers"), i, one)
        if (!status) status = read_part(n, one, depth + 1, path, why);
    return status;
}

rf_status rf__normal_read(rf__normalizer *n, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why)
{
    rf_error own = {0};
    *n = (rf__normalizer){.ctx = ctx};
    const rf_status status = read_part(n, part, 0, path, why ? why : &own);
    return status ? status : check_growth(n, path, why);
}

void rf__normal_clear(rf__normalizer *n)
{
    for (size_t i = 0; i < n->steps; i++) {
        rf__free(n->ctx, n->step[i].from);
        rf__free(n->ctx, n->step[i].to);
        rf__regex_free(n->step[i].regex, n->ctx);
        rf__charsmap_clear(n->ctx, &n->step[i].charsmap);
    }
    rf__free(n->ctx, n->step);
    rf__free(n->ctx, n->rust);
}
