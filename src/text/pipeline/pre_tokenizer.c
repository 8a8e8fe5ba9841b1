/* pre_tokenizer.c — the pre-tokenizer of a tokenizer.json, as in Hugging Face's tokenizers.
 *
 *     BertPreTokenizer          white space removed, punctuation isolated
 *     ByteLevel                 GPT-2's regular expression; each byte becomes a printable character
 *     CharDelimiterSplit        removes a character
 *     Digits                    isolates digits, or runs of them
 *     FixedLength               so many characters
 *     Metaspace                 a character in place of blanks and before words
 *     Punctuation Split         a class of characters, a text, or a regular expression, with a behavior
 *     UnicodeScripts            runs of a script
 *     Whitespace                \w+|[^\w\s]+
 *     WhitespaceSplit           white space removed
 *     Sequence                                                                                                       */
#include <stdio.h>

#include "classes.h"
#include "pre_tokenizer.h"

enum { DEEPEST = 8, MOST_STEPS = 1024 };

/* ---- steps that change the text ---------------------------------------------------------------------------------- */

/* A text before a word: it has the place of the word's first character. */
static bool put_before(rf__pre_work *w, const char *text, size_t size, size_t at)
{
    return rf__mapped_append(&w->spare, text, size, w->text.from[at], w->text.to[at]);
}

static bool starts_with(const rf__mapped *m, size_t from, size_t to, const char *text, size_t size)
{
    return to - from >= size && !memcmp(m->at + from, text, size);
}

static bool metaspace(const rf__pre_step *s, rf__pre_work *w, rf_error *why)
{
    rf__mapped *in = &w->text, *out = &w->spare;
    (void)why;
    for (size_t i = 0; i < w->n; i++) {
        const rf__pre_word x = w->word[i];
        size_t begin = out->n;
        const bool begun = in->at[x.from] == ' ' || starts_with(in, x.from, x.to, s->text, s->size);
        const bool due = s->prepend == RF_ALWAYS || (s->prepend == RF_FIRST && !in->from[x.from]);
        if (!begun && due && !put_before(w, s->text, s->size, x.from)) return false;
        for (size_t at = x.from, next; at < x.to; at = next) {
            const bool blank = in->at[at] == ' ', own = starts_with(in, at, x.to, s->text, s->size);
            if (blank || own) {
                if (s->splits && (!rf__pre_put(w, begin, out->n))) return false;
                if (s->splits) begin = out->n;
                next = at + (blank ? 1 : s->size);
                if (!rf__mapped_append(out, s->text, s->size, in->from[at], in->to[at])) return false;
                continue;
            }
            for (next = at + 1; next < x.to && in->at[next] != ' ' && in->at[next] != s->text[0]; next++);
            if (!rf__mapped_copy(out, in, at, next)) return false;
        }
        if (!rf__pre_put(w, begin, out->n)) return false;
    }
    return true;
}

static bool byte_level(const rf__pre_step *s, rf__pre_work *w, rf_error *why)
{
    rf__mapped *in = &w->text, *out = &w->spare;
    for (size_t i = 0; i < w->n && s->blank_first; i++) {                    /* first the blanks before words         */
        const rf__pre_word x = w->word[i];
        const size_t begin = out->n;
        if ((in->at[x.from] != ' ' && !put_before(w, " ", 1, x.from)) || !rf__mapped_copy(out, in, x.from, x.to))
            return false;
        w->word[i] = (rf__pre_word){begin, out->n};
    }
    if (s->blank_first) rf__mapped_swap(in, out);
    if (s->known) {
        if (!rf__pre_split(s, w, in->at, why)) return false;
        rf__pre_take(w);
    }
    out->n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const size_t begin = out->n;
        for (size_t at = w->word[i].from; at < w->word[i].to; at++) {
            char utf8[4];
            const size_t size = rf__utf8_encode(rf__byte_scalar((unsigned char)in->at[at]), utf8);
            if (!rf__mapped_append(out, utf8, size, in->from[at], in->to[at])) return false;
        }
        if (!rf__pre_put(w, begin, out->n)) return false;
    }
    return true;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

void rf__pre_take(rf__pre_work *w)
{
    rf__pre_word *const last = w->word;
    const size_t capacity = w->capacity;
    w->word = w->next;
    w->n = w->next_n;
    w->capacity = w->next_capacity;
    w->next = last;
    w->next_n = 0;
    w->next_capacity = capacity;
}

bool rf__pre_begin(rf__pre_work *w, const rf_ctx *ctx, size_t from, size_t to)
{
    w->ctx = w->text.ctx = w->spare.ctx = ctx;
    w->n = w->next_n = 0;
    if (!rf__pre_put(w, from, to)) return false;
    rf__pre_take(w);
    return true;
}

bool rf__pre_run(const rf__pre_tokenizer *p, size_t steps, rf__pre_work *w, const char *text, rf_error *why)
{
    for (size_t i = 0; i < steps; i++) {
        const rf__pre_step *s = &p->step[i];
        w->next_n = w->spare.n = 0;
        if (s->change ? !s->change(s, w, why) : !rf__pre_split(s, w, text ? text : w->text.at, why)) return false;
        if (s->change) rf__mapped_swap(&w->text, &w->spare);
        rf__pre_take(w);
    }
    return true;
}

void rf__pre_work_clear(rf__pre_work *w)
{
    rf__mapped_clear(&w->text);
    rf__mapped_clear(&w->spare);
    rf__free(w->ctx, w->word);
    rf__free(w->ctx, w->next);
    rf__free(w->ctx, w->match);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader { rf__pre_tokenizer *p; const char *path, *type; rf_error *why; } reader;

static rf_status unsupported(const reader *r, const char *key, const char *expected, const char *got)
{
    return rf_fail(r->why, RF_EUNSUPPORTED, "%s: pre_tokenizer: %s%s%s: expected %s, got %.60s", r->path, r->type,
                   *key ? ": " : "", key, expected, got ? rf__printable(got).text : "none");
}

static rf_status set_text(const reader *r, rf__pre_step *s, const json_t *x, const char *key)
{
    const char *text = json_string_value(x);
    size_t at = 0;
    if (text && *text) rf__utf8_get((const unsigned char *)text, &at);
    if (!at || text[at]) return unsupported(r, key, "one character", text);
    s->size = at;
    return (s->text = rf__strdup(r->p->ctx, text)) ? RF_OK : rf_fail(r->why, RF_ENOMEM, "%s: out of memory", r->path);
}

bool rf__pre_behavior(const json_t *x, rf__behavior *out)
{
    static const char *const name[] = {
        [RF_REMOVED] = "Removed", [RF_ISOLATED] = "Isolated", [RF_MERGED_PREVIOUS] = "MergedWithPrevious",
        [RF_MERGED_NEXT] = "MergedWithNext", [RF_CONTIGUOUS] = "Contiguous"};
    for (size_t i = 0; i < RF_COUNT(name); i++)
        if (json_is_string(x) && !strcmp(json_string_value(x), name[i])) return *out = (rf__behavior)i, true;
    return false;
}

static rf_status read_behavior(const reader *r, rf__pre_step *s, const json_t *x, bool needed)
{
    const json_t *own = json_object_get(x, "behavior");
    s->behavior = RF_ISOLATED;
    if ((!own && !needed) || rf__pre_behavior(own, &s->behavior)) return RF_OK;
    return unsupported(r, "behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
                       json_string_value(own));
}

static rf_status read_split(const reader *r, rf__pre_step *s, const json_t *x)
{
    const json_t *pattern = json_object_get(x, "pattern"), *regex = json_object_get(pattern, "Regex");
    const json_t *text = json_object_get(pattern, "String"), *own = regex ? regex : text;
    char where[RF_PATH + 64];
    rf_status status = read_behavior(r, s, x, true);
    if (status) return status;
    if (!json_is_string(own)) return unsupported(r, "pattern", "a String or a Regex", NULL);
    s->invert = rf__json_flag(x, "invert", false);
    s->size = json_string_length(own);
    if (regex && (s->known = rf__split_of(json_string_value(regex)))) return s->match = rf__pre_match_known, RF_OK;
    if (text && s->size) {
        s->match = rf__pre_match_text;
        s->text = rf__alloc(r->p->ctx, s->size);
        if (!s->text) return rf_fail(r->why, RF_ENOMEM, "%s: out of memory", r->path);
        memcpy(s->text, json_string_value(text), s->size);
        return RF_OK;
    }
    s->match = rf__pre_match_regex;                       /* an empty String is an empty Regex                        */
    snprintf(where, sizeof where, "%s: pre_tokenizer: Split", r->path);
    return rf__regex_compile(&s->regex, r->p->ctx, json_string_value(own), s->size, where, r->why);
}

static rf_status read_metaspace(const reader *r, rf__pre_step *s, const json_t *x)
{
    static const char *const name[] = {[RF_ALWAYS] = "always", [RF_FIRST] = "first", [RF_NEVER] = "never"};
    const char *scheme = json_string_value(json_object_get(x, "prepend_scheme"));
    const bool never = json_is_false(json_object_get(x, "add_prefix_space"));
    s->change = metaspace;
    s->splits = rf__json_flag(x, "split", true);
    s->prepend = never ? RF_NEVER : RF_ALWAYS;
    for (int i = 0; i < 3 && scheme; i++)
        if (!strcmp(scheme, name[i])) s->prepend = (rf__prepend)i;
    if (scheme && strcmp(scheme, name[s->prepend]) != 0)
        return unsupported(r, "prepend_scheme", "always, first or never", scheme);
    return set_text(r, s, json_object_get(x, "replacement"), "replacement");
}

static rf_status read_length(const reader *r, rf__pre_step *s, const json_t *x)
{
    const json_t *own = json_object_get(x, "length");
    const double length = own ? json_number_value(own) : 5;
    s->match = rf__pre_match_lengths;
    if (!(length >= 1 && length <= UINT32_MAX)) return unsupported(r, "length", "1 or more", rf__json_shown(own).text);
    s->length = (size_t)length;
    return RF_OK;
}

static rf__pre_step *add_step(const reader *r)
{
    rf__pre_tokenizer *p = r->p;
    if (p->n == MOST_STEPS) {
        rf_fail(r->why, RF_EUNSUPPORTED, "%s: pre_tokenizer: expected at most %d steps, got more", r->path, MOST_STEPS);
        return NULL;
    }
    if (!rf__grow(p->ctx, &p->step, &p->capacity, p->n + 1, sizeof *p->step)) {
        rf_fail(r->why, RF_ENOMEM, "%s: out of memory", r->path);
        return NULL;
    }
    p->step[p->n] = (rf__pre_step){0};
    return &p->step[p->n++];
}

/* A step by characters of some classes. */
static rf_status add_classes(const reader *r, unsigned classes, rf__behavior behavior)
{
    rf__pre_step *s = add_step(r);
    if (!s) return r->why->code;
    s->match = rf__pre_match_classes;
    s->classes = classes;
    s->behavior = behavior;
    return RF_OK;
}

static rf_status read_step(const reader *r, const json_t *x)
{
    const char *type = r->type;
    if (!strcmp(type, "WhitespaceSplit")) return add_classes(r, RF_CLASS_WHITE, RF_REMOVED);
    if (!strcmp(type, "BertPreTokenizer")) {
        const rf_status status = add_classes(r, RF_CLASS_WHITE, RF_REMOVED);
        return status ? status : add_classes(r, RF_CLASS_PUNCT, RF_ISOLATED);
    }
    if (!strcmp(type, "Digits"))
        return add_classes(r, RF_CLASS_NUMERIC,
                           rf__json_flag(x, "individual_digits", false) ? RF_ISOLATED : RF_CONTIGUOUS);
    rf__pre_step *s = add_step(r);
    if (!s) return r->why->code;
    if (!strcmp(type, "Punctuation")) {
        s->match = rf__pre_match_classes;
        s->classes = RF_CLASS_PUNCT;
        return read_behavior(r, s, x, false);
    }
    if (!strcmp(type, "Whitespace"))
        return s->match = rf__pre_match_words, s->invert = true, s->behavior = RF_REMOVED, RF_OK;
    if (!strcmp(type, "UnicodeScripts")) return s->match = rf__pre_match_scripts, s->behavior = RF_ISOLATED, RF_OK;
    s->behavior = RF_ISOLATED;
    if (!strcmp(type, "ByteLevel")) {
        s->change = byte_level;
        s->match = rf__pre_match_known;
        s->blank_first = rf__json_flag(x, "add_prefix_space", true);
        s->known = rf__json_flag(x, "use_regex", true) ? &rf__split_gpt2 : NULL;
        return RF_OK;
    }
    if (!strcmp(type, "Split")) return read_split(r, s, x);
    if (!strcmp(type, "Metaspace")) return read_metaspace(r, s, x);
    if (!strcmp(type, "FixedLength")) return read_length(r, s, x);
    if (strcmp(type, "CharDelimiterSplit") != 0)
        return unsupported(r, "", "a pre-tokenizer of tokenizers (docs/formats.md lists them)", type);
    s->match = rf__pre_match_text;
    s->behavior = RF_REMOVED;
    return set_text(r, s, json_object_get(x, "delimiter"), "delimiter");
}

static rf_status read_part(reader *r, const json_t *x, int depth)
{
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    r->type = json_string_value(json_object_get(x, "type"));
    if (!r->type) return r->type = "type", unsupported(r, "", "the name of a pre-tokenizer", NULL);
    if (strcmp(r->type, "Sequence") != 0) return read_step(r, x);
    if (depth > DEEPEST) return unsupported(r, "", "at most 8 in each other", "more");
    json_array_foreach(json_object_get(x, "pretokenizers"), i, one)
        if (!status) status = read_part(r, one, depth + 1);
    return status;
}

rf_status rf__pre_read(rf__pre_tokenizer *p, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why)
{
    rf_error own = {0};
    reader r = {p, path, NULL, why ? why : &own};
    *p = (rf__pre_tokenizer){.ctx = ctx};
    const rf_status status = !part || json_is_null(part) ? RF_OK : read_part(&r, part, 0);
    while (p->splits < p->n && !p->step[p->splits].change) p->splits++;
    return status;
}

bool rf__pre_is_byte_level(const rf__pre_step *s) { return s->change == byte_level; }

bool rf__pre_prepends(const rf__pre_tokenizer *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->step[i].change == metaspace && p->step[i].prepend != RF_NEVER) return true;
    return false;
}

void rf__pre_clear(rf__pre_tokenizer *p)
{
    for (size_t i = 0; i < p->n; i++) {
        rf__free(p->ctx, p->step[i].text);
        rf__regex_free(p->step[i].regex, p->ctx);
    }
    rf__free(p->ctx, p->step);
}
