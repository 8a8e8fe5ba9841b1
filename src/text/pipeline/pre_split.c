/* pre_split.c — splitting words, as Hugging Face's tokenizers does.
 *
 *     a step's matches          parts of a word that follow each other without gaps: matches, and what is between them
 *     its behavior              Removed              the-final--countdown   the final countdown
 *                               Isolated                                    the - final - - countdown
 *                               MergedWithPrevious                          the- final- - countdown
 *                               MergedWithNext                              the -final - -countdown
 *                               Contiguous                                  the - final -- countdown              */
#include "classes.h"
#include "pre_tokenizer.h"

bool rf__pre_put(rf__pre_work *w, size_t from, size_t to)
{
    if (from == to) return true;
    if (!rf__grow(w->ctx, &w->next, &w->next_capacity, w->next_n + 1, sizeof *w->next)) return false;
    w->next[w->next_n++] = (rf__pre_word){from, to};
    return true;
}

static bool put_part(rf__pre_work *w, size_t from, size_t to, bool is)
{
    if (!rf__grow(w->ctx, &w->match, &w->match_capacity, w->matches + 1, sizeof *w->match)) return false;
    w->match[w->matches++] = (struct rf__pre_match){from, to, is};
    return true;
}

/* The match [from, to), and the part between it and the last one, or the beginning of the word. */
static bool put_match(rf__pre_work *w, size_t begin, size_t from, size_t to)
{
    const size_t last = w->matches ? w->match[w->matches - 1].to : begin;
    return (last == from || put_part(w, last, from, false)) && put_part(w, from, to, true);
}

/* The part between the last match and the end of the word. */
static bool put_rest(rf__pre_work *w, size_t begin, size_t end)
{
    const size_t last = w->matches ? w->match[w->matches - 1].to : begin;
    return last == end || put_part(w, last, end, false);
}

/* ---- behaviors --------------------------------------------------------------------------------------------------- */

/* Joins parts in place, in the order in which tokenizers folds them: MergedWithNext from the end. */
static void join(const rf__pre_step *s, rf__pre_work *w)
{
    struct rf__pre_match *part = w->match;
    const size_t n = w->matches;
    const bool back = s->behavior == RF_MERGED_NEXT;
    size_t kept = 0;
    bool before = false;
    for (size_t i = 0; i < n; i++) {
        const struct rf__pre_match x = part[back ? n - 1 - i : i];
        struct rf__pre_match *last = kept ? &part[back ? n - kept : kept - 1] : NULL;
        const bool joins = s->behavior == RF_CONTIGUOUS ? x.is == before : x.is && !before;
        before = x.is;
        if (last && joins && back) last->from = x.from;
        else if (last && joins) last->to = x.to;
        else kept++, part[back ? n - kept : kept - 1] = x;
    }
    if (back) memmove(part, part + n - kept, kept * sizeof *part);
    w->matches = kept;
}

bool rf__pre_split(const rf__pre_step *s, rf__pre_work *w, const char *text, rf_error *why)
{
    bool good = !s->regex || rf__regex_scan_begin(&w->scan, s->regex);
    w->next_n = 0;
    for (size_t i = 0; i < w->n && good; i++) {
        w->matches = 0;
        good = s->match(s, w, text, w->word[i].from, w->word[i].to, why);
        for (size_t k = 0; s->invert && k < w->matches; k++) w->match[k].is = !w->match[k].is;
        if (s->behavior > RF_ISOLATED) join(s, w);
        for (size_t k = 0; k < w->matches && good; k++)
            if (s->behavior != RF_REMOVED || !w->match[k].is)
                good = rf__pre_put(w, w->match[k].from, w->match[k].to);
    }
    if (s->regex) rf__regex_scan_end(&w->scan);
    return good;
}

/* ---- what matches ------------------------------------------------------------------------------------------------ */

static uint32_t get(const char *text, size_t *at) { return rf__utf8_get((const unsigned char *)text, at); }

/* Each character of the step's classes. */
bool rf__pre_match_classes(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                           rf_error *why)
{
    (void)why;
    for (size_t at = from, next = from; at < to; at = next)
        if (rf__classes_of(get(text, &next)) & s->classes && !put_match(w, from, at, next)) return false;
    return put_rest(w, from, to);
}

/* \w+|[^\w\s]+ */
bool rf__pre_match_words(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                         rf_error *why)
{
    (void)s, (void)why;
    size_t begin = from;
    int run = 0;                                          /* 1: \w, 2: neither \w nor \s                              */
    for (size_t at = from, next = from; at < to; at = next) {
        const unsigned classes = rf__classes_of(get(text, &next));
        const int kind = classes & RF_CLASS_WORD ? 1 : classes & RF_CLASS_WHITE ? 0 : 2;
        if (kind == run) continue;
        if (run && !put_match(w, from, begin, at)) return false;
        run = kind;
        begin = at;
    }
    return (!run || put_match(w, from, begin, to)) && put_rest(w, from, to);
}

/* Each occurrence of the step's text, which is not empty. */
bool rf__pre_match_text(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                        rf_error *why)
{
    (void)why;
    for (size_t at = from; s->size <= to - at;) {
        const char *p = memchr(text + at, s->text[0], to - at - s->size + 1);
        if (!p) break;
        at = (size_t)(p - text);
        if (memcmp(p, s->text, s->size) != 0) {
            at++;
            continue;
        }
        if (!put_match(w, from, at, at + s->size)) return false;
        at += s->size;
    }
    return put_rest(w, from, to);
}

bool rf__pre_match_regex(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                         rf_error *why)
{
    size_t begin, end;
    int found;
    (void)s;
    if (!rf__regex_scan_text(&w->scan, text + from, to - from)) return false;
    while ((found = rf__regex_next(&w->scan, &begin, &end, why)) > 0)
        if (!put_match(w, from, from + begin, from + end)) return false;
    return !found && put_rest(w, from, to);
}

/* A regular expression whose matches follow each other without gaps. */
bool rf__pre_match_known(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                         rf_error *why)
{
    (void)why;
    for (size_t at = from, end; at < to; at = end) {
        end = rf__split_end(s->known, text, at, to);
        if (!put_part(w, at, end, true)) return false;
    }
    return true;
}

/* Runs of a script.  Characters of any script belong to the run before them; before the first run, they are dropped. */
bool rf__pre_match_scripts(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                           rf_error *why)
{
    size_t begin = to;
    unsigned last = 0;
    (void)s, (void)why;
    for (size_t at = from, next = from; at < to; at = next) {
        const unsigned script = rf__script_of(get(text, &next));
        if (!script || script == last) continue;
        if (last && !put_part(w, begin, at, true)) return false;
        begin = at;
        last = script;
    }
    return put_part(w, begin, to, true);
}

bool rf__pre_match_lengths(const rf__pre_step *s, rf__pre_work *w, const char *text, size_t from, size_t to,
                           rf_error *why)
{
    size_t begin = from, n = 0;
    (void)why;
    for (size_t at = from; at < to;) {
        get(text, &at);
        if (++n < s->length && at < to) continue;
        if (!put_part(w, begin, at, true)) return false;
        begin = at;
        n = 0;
    }
    return true;
}
