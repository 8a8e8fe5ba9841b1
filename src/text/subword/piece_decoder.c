/* piece_decoder.c — tokens to text as the decoder of a tokenizer.json says.
 *
 *     tokens -> Replace (a text, or what a regular expression matches), Strip, Metaspace, WordPiece, BPEDecoder, CTC:
 *               each string by itself
 *            -> ByteFallback: a run of <0x41> ... becomes one string; Fuse, ByteLevel: all strings become one
 *            -> text: the strings in order; without a decoder, with blanks between them
 *
 * The steps are those of Hugging Face's tokenizers 0.23 (tools/golden/golden_decoder.py). */
#include <stdio.h>

#include "byte_level.h"
#include "piece_decoder.h"
#include "spm_model.h"
#include "subwords.h"

#define LOST "\xEF\xBF\xBD"             /* U+FFFD                                                                     */

struct rf__piece_list { rf__growing text; size_t *end, n, capacity; };

static bool append(rf__piece_list *l, const char *text, size_t size)
{
    return rf__subwords_append(&l->text, text, size);
}

static bool append_lost(rf__piece_list *l) { return append(l, LOST, sizeof LOST - 1); }

static bool end_string(rf__piece_list *l)
{
    if (!rf__grow(l->text.ctx, &l->end, &l->capacity, l->n + 1, sizeof *l->end)) return false;
    l->end[l->n++] = l->text.n;
    return true;
}

static const char *string_at(const rf__piece_list *l, size_t i, size_t *size)
{
    const size_t begin = i ? l->end[i - 1] : 0;
    *size = l->end[i] - begin;
    return l->text.at + begin;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static bool put_replaced(rf__piece_list *out, const char *text, size_t size, const char *from, const char *to)
{
    const size_t n = strlen(from), m = strlen(to);
    for (size_t i = 0; i < size;) {
        const bool here = n && size - i >= n && !memcmp(text + i, from, n);
        if (!(here ? append(out, to, m) : append(out, text + i, 1))) return false;
        i += here ? n : 1;
    }
    return true;
}

static bool replace(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    bool good = true;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        good = put_replaced(out, text, size, s->from, s->first && !i ? "" : s->to) && end_string(out);
    }
    return good;
}

static bool put_matched(rf__regex_scan *scan, rf__piece_list *out, const char *text, size_t size, const char *to)
{
    size_t kept = 0, begin, end;
    int found;
    if (!size) return true;
    if (!rf__regex_scan_text(scan, text, size)) return false;
    while ((found = rf__regex_next(scan, &begin, &end, NULL)) > 0) {
        if (!append(out, text + kept, begin - kept) || !append(out, to, strlen(to))) return false;
        kept = end;
    }
    return !found && append(out, text + kept, size - kept);
}

static bool replace_regex(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    rf__regex_scan scan;
    bool good = rf__regex_scan_begin(&scan, s->regex);
    if (!good) return false;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        good = put_matched(&scan, out, text, size, s->to) && end_string(out);
    }
    rf__regex_scan_end(&scan);
    return good;
}

static bool strip(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    const size_t one = strlen(s->from);
    bool good = true;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        for (int64_t k = 0; k < s->most && size >= one && !memcmp(text, s->from, one); k++) text += one, size -= one;
        for (int64_t k = 0; k < s->last && size >= one && !memcmp(text + size - one, s->from, one); k++) size -= one;
        good = append(out, text, size) && end_string(out);
    }
    return good;
}

/* The string that begins at byte `from` of `out` without blanks before punctuation. */
static void clean_up(rf__piece_list *out, size_t from)
{
    static const rf_change change[] = {
        {" .", "."},     {" ?", "?"},   {" !", "!"},           {" ,", ","},   {" ' ", "'"},  {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    out->text.n = from + rf__replace_all(out->text.at + from, out->text.n - from, change, RF_COUNT(change));
}

/* A blank before each string except the first and those with the prefix, which is removed. */
static bool wordpiece(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    const size_t prefix = strlen(s->from);
    bool good = true;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        const size_t from = out->text.n;
        const bool goes_on = size >= prefix && !memcmp(text, s->from, prefix);
        if (i && goes_on) text += prefix, size -= prefix;
        good = (!i || goes_on || append(out, " ", 1)) && append(out, text, size);
        if (good && s->cleans) clean_up(out, from);
        good = good && end_string(out);
    }
    return good;
}

/* The suffix becomes a blank, and nothing in the last string. */
static bool bpe(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    bool good = true;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        good = put_replaced(out, text, size, s->from, i + 1 < in->n ? " " : "") && end_string(out);
    }
    return good;
}

/* Of equal strings in a row one is kept, without padding; if cleaned up, delimiters become blanks. */
static bool ctc(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    rf__growing one = {.ctx = in->text.ctx};
    bool good = true;
    for (size_t i = 0, size, before; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size), *last = i ? string_at(in, i - 1, &before) : NULL;
        const size_t from = out->text.n;
        if (last && before == size && !memcmp(last, text, size)) continue;
        good = append(out, "", 0) && put_replaced(out, text, size, s->from, "");
        if (good && s->cleans) {
            clean_up(out, from);
            one.n = 0;
            good = rf__subwords_append(&one, out->text.at + from, out->text.n - from);
            out->text.n = from;
            good = good && put_replaced(out, one.at, one.n, s->to, " ");
        }
        if (good && out->text.n > from) good = end_string(out);
    }
    rf__free(in->text.ctx, one.at);
    return good;
}

static bool fuse(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    (void)s;
    return append(out, in->text.at, in->text.n) && end_string(out);
}

/* Ends a run of bytes in `out` from byte `from` on: a string if it is UTF-8, otherwise one U+FFFD for each byte. */
static bool end_run(rf__piece_list *out, size_t from)
{
    const size_t n = out->text.n - from;
    if (!n) return true;
    if (rf_utf8_check(out->text.at + from, n) == n) return end_string(out);
    out->text.n = from;
    bool good = true;
    for (size_t i = 0; i < n && good; i++) good = append_lost(out) && end_string(out);
    return good;
}

static bool byte_fallback(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    size_t from = 0;
    bool good = true;
    (void)s;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        const int byte = rf__spm_byte_name(text, size, true);
        if (byte >= 0) {
            good = append(out, &(char){(char)byte}, 1);
            continue;
        }
        good = end_run(out, from) && append(out, text, size) && end_string(out);
        from = out->text.n;
    }
    return good && end_run(out, from);
}

/* The bytes of a token, of which each character is one; those of the token itself if a character is not in the
 * alphabet. */
static bool put_level(rf__piece_list *out, const char *text, size_t size)
{
    const size_t before = out->text.n;
    for (size_t at = 0; at < size;) {
        const int byte = rf__scalar_byte(rf__utf8_get((const unsigned char *)text, &at));
        if (byte < 0) return out->text.n = before, append(out, text, size);
        if (!append(out, &(char){(char)byte}, 1)) return false;
    }
    return true;
}

/* Each part of a character that is incomplete becomes U+FFFD. */
static bool byte_level(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out)
{
    rf__piece_list bytes = {.text.ctx = in->text.ctx};
    bool good = true;
    (void)s;
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        good = put_level(&bytes, text, size);
    }
    const char *at = bytes.text.at;
    for (size_t n = bytes.text.n, whole; n && good; at += whole, n -= whole) {
        whole = rf_utf8_check(at, n);
        good = append(out, at, whole);
        if (whole == n) break;
        good = good && append_lost(out);
        whole += rf__utf8_ill(at, whole, n);
    }
    rf__free(in->text.ctx, bytes.text.at);
    return good && end_string(out);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool join(const rf__piece_decoder *d, const rf__piece_list *in, rf__growing *out)
{
    bool good = rf__subwords_append(out, "", 0);
    for (size_t i = 0, size; i < in->n && good; i++) {
        const char *text = string_at(in, i, &size);
        if (i && !d->given) good = rf__subwords_append(out, " ", 1);
        good = good && rf__subwords_append(out, text, size);
    }
    return good;
}

/* As tokenizers has it: an added token that is matched in normalized text is shown in its normalized form, which is
 * no special token any more. */
static const char *shown_token(const rf_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].id == id && t->added[i].key) return t->added[i].key;
    return rf_tokenizer_token(t, id);
}

static bool names_special(const rf_tokenizer *t, const char *token)
{
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].special && !strcmp(t->added[i].text, token)) return true;
    return false;
}

static void empty_list(rf__piece_list *l) { l->n = l->text.n = 0; }

char *rf__piece_decoder_run(const rf__piece_decoder *d, const rf_tokenizer *t, const int32_t id[], size_t n, bool skip,
                            size_t *size)
{
    rf__piece_list list[2] = {{.text.ctx = t->ctx}, {.text.ctx = t->ctx}}, *in = &list[0], *out = &list[1];
    rf__growing text = {.ctx = t->ctx};
    bool good = append(in, "", 0) && append(out, "", 0);
    for (size_t i = 0; i < n && good; i++) {
        const char *token = shown_token(t, id[i]);
        if (token && !(skip && names_special(t, token)))
            good = append(in, token, strlen(token)) && end_string(in);
    }
    for (size_t i = 0; i < d->steps && in->n && good; i++) {
        rf__piece_list *const last = in;
        empty_list(out);
        good = d->step[i].go(&d->step[i], in, out);
        in = out;
        out = last;
    }
    good = good && join(d, in, &text);
    for (size_t i = 0; i < RF_COUNT(list); i++) rf__free(t->ctx, list[i].text.at), rf__free(t->ctx, list[i].end);
    if (!good) rf__free(t->ctx, text.at), text.at = NULL;
    *size = text.n;
    return text.at;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static rf_status unsupported(const char *path, const char *part, const char *expected, const char *got, rf_error *why)
{
    return rf_fail(why, RF_EUNSUPPORTED, "%s: decoder: %s: expected %s, got %.60s", path, part, expected,
                   got ? rf__printable(got).text : "another value");
}

/* Readers of the members of a step, into what becomes its `from` and `to`, and its regular expression. */
typedef struct members { const char *from, *to; const json_t *regex; } members;

/* An empty String is an empty Regex. */
static rf_status read_replace(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    const json_t *pattern = json_object_get(x, "pattern"), *regex = json_object_get(pattern, "Regex");
    const json_t *text = json_object_get(pattern, "String");
    m->to = json_string_value(json_object_get(x, "content"));
    if (!m->to) return unsupported(path, "Replace: content", "a string", NULL, why);
    if (!json_is_string(regex ? regex : text))
        return unsupported(path, "Replace: pattern", "a String or a Regex", NULL, why);
    if (!regex && json_string_length(text)) return m->from = json_string_value(text), RF_OK;
    m->regex = regex ? regex : text;
    s->go = replace_regex;
    return RF_OK;
}

static rf_status read_strip(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    m->from = json_string_value(json_object_get(x, "content"));
    s->most = rf__whole_number(json_object_get(x, "start"));
    s->last = rf__whole_number(json_object_get(x, "stop"));
    if (!m->from || !*m->from) return unsupported(path, "Strip: content", "a character", NULL, why);
    if (s->last < 0) return unsupported(path, "Strip: stop", "a number from 0 on", NULL, why);
    return s->most >= 0 ? RF_OK : unsupported(path, "Strip: start", "a number from 0 on", NULL, why);
}

static rf_status read_metaspace(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    const json_t *stands = json_object_get(x, "replacement");
    const char *before = json_string_value(json_object_get(x, "prepend_scheme"));
    m->from = stands ? json_string_value(stands) : "\xE2\x96\x81";
    m->to = " ";
    s->first = before ? strcmp(before, "never") != 0 : !json_is_false(json_object_get(x, "add_prefix_space"));
    return m->from && *m->from ? RF_OK : unsupported(path, "Metaspace: replacement", "a character", NULL, why);
}

static rf_status read_wordpiece(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    m->from = json_string_value(json_object_get(x, "prefix"));
    s->cleans = json_is_true(json_object_get(x, "cleanup"));
    return m->from ? RF_OK : unsupported(path, "WordPiece: prefix", "a string", NULL, why);
}

static rf_status read_bpe(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    (void)s;
    m->from = json_string_value(json_object_get(x, "suffix"));
    if (m->from && *m->from) return RF_OK;
    return unsupported(path, "BPEDecoder: suffix", "a string that is not empty", NULL, why);
}

static rf_status read_ctc(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why)
{
    m->from = json_string_value(json_object_get(x, "pad_token"));
    m->to = json_string_value(json_object_get(x, "word_delimiter_token"));
    s->cleans = json_is_true(json_object_get(x, "cleanup"));
    if (m->from && *m->from && m->to && *m->to) return RF_OK;
    return unsupported(path, "CTC: pad_token, word_delimiter_token", "strings that are not empty", NULL, why);
}

static const struct step_type {
    const char *name;
    rf__decoder_do *go;
    rf_status (*read)(rf__decoder_step *s, const json_t *x, members *m, const char *path, rf_error *why);
} step_types[] = {
    {"Replace", replace, read_replace}, {"Strip", strip, read_strip}, {"Metaspace", replace, read_metaspace},
    {"WordPiece", wordpiece, read_wordpiece}, {"BPEDecoder", bpe, read_bpe}, {"CTC", ctc, read_ctc},
    {"Fuse", fuse, NULL}, {"ByteFallback", byte_fallback, NULL}, {"ByteLevel", byte_level, NULL},
};

static const struct step_type *find_step(const char *name)
{
    for (size_t i = 0; name && i < RF_COUNT(step_types); i++)
        if (!strcmp(name, step_types[i].name)) return &step_types[i];
    return NULL;
}

static rf_status read_step(rf__piece_decoder *d, const json_t *x, const char *path, rf_error *why)
{
    const char *name = json_string_value(json_object_get(x, "type"));
    const struct step_type *type = find_step(name);
    members m = {"", "", NULL};
    if (d->steps == RF_DECODER_STEPS) return unsupported(path, "Sequence", "at most 32 steps", "more", why);
    if (!type)
        return unsupported(path, "type", "ByteLevel, Metaspace, WordPiece, BPEDecoder, CTC, Replace, Strip, "
                           "ByteFallback, Fuse or a Sequence of them", name, why);
    rf__decoder_step *s = &d->step[d->steps];
    s->go = type->go;
    rf_status status = type->read ? type->read(s, x, &m, path, why) : RF_OK;
    if (status) return status;
    d->steps++;
    if (m.regex) {
        char where[RF_PATH + 64];
        snprintf(where, sizeof where, "%s: decoder: Replace", path);
        status = rf__regex_compile(&s->regex, d->ctx, json_string_value(m.regex), json_string_length(m.regex), where,
                                   why);
        if (status) return status;
    }
    s->from = rf__strdup(d->ctx, m.from);
    s->to = rf__strdup(d->ctx, m.to);
    return s->from && s->to ? RF_OK : rf_fail(why, RF_ENOMEM, "%s: out of memory for its decoder", path);
}

static rf_status read_steps(rf__piece_decoder *d, const json_t *part, int depth, const char *path, rf_error *why)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    size_t i;
    json_t *x;
    rf_status status = RF_OK;
    if (!type || strcmp(type, "Sequence") != 0 || depth == 8) return read_step(d, part, path, why);
    json_array_foreach(json_object_get(part, "decoders"), i, x)
        if (!status) status = read_steps(d, x, depth + 1, path, why);
    return status;
}

rf_status rf__piece_decoder_read(rf__piece_decoder *d, const rf_ctx *ctx, const json_t *part, const char *path,
                                 rf_error *why)
{
    d->ctx = ctx;
    d->given = part && !json_is_null(part);
    return d->given ? read_steps(d, part, 0, path, why) : RF_OK;
}

void rf__piece_decoder_clear(rf__piece_decoder *d)
{
    for (size_t i = 0; i < d->steps; i++) {
        rf__free(d->ctx, d->step[i].from);
        rf__free(d->ctx, d->step[i].to);
        rf__regex_free(d->step[i].regex, d->ctx);
    }
    d->steps = 0;
}
