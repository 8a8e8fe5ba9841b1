/* jieba_runs.c — splits text into runs between white space and normalizes them.
 *
 *     cleaned, decomposed without marks, lower case; if only ASCII capitals change, a run is simply copied           */
#include "jieba.h"

enum { CAPITAL = 64 };                  /* besides the flags of unicode.h: the rules' own list has a lower case */

void rf__jieba_normal(rf_normal *out, const rf_tokenizer_options *options)
{
    rf__normal_init(out, options);
    out->han = false;
    rf__normal_uncut(out);
    rf_unicode *u = &out->unicode;
    for (size_t i = 0; i < u->lowers; i++)
        if (u->lower[2 * i] < RF_DICTIONARY_PLANE) u->flags[u->lower[2 * i]] |= CAPITAL;
}

void rf__jieba_runs_init(rf_jieba_runs *r, const rf_ctx *ctx)
{
    *r = (rf_jieba_runs){0};
    rf__words_init(&r->words, ctx);
}

void rf__jieba_runs_clear(rf_jieba_runs *r)
{
    rf__free(r->words.ctx, r->lowered);
    rf__words_clear(&r->words);
}

void rf__jieba_runs_start(rf_jieba_runs *r, const rf_normal *normal, const rf_passage *p)
{
    r->normal = normal;
    r->passage = *p;
    r->at = p->from;
    r->inside = r->failed = false;
}

/* The end of the run that begins at `at` (`at` itself if it is white space).  *plain: normalization only changes ASCII
 * letters to lower case. */
static size_t run_end(const rf_jieba_runs *r, size_t at, bool *plain)
{
    const rf_normal *n = r->normal;
    const unsigned char *text = (const unsigned char *)r->passage.text;
    unsigned all = 0;
    size_t next = at;
    for (; at < r->passage.to; at = next) {
        const uint32_t c = rf__utf8_get(text, &next);
        unsigned f = c < 0x80 ? n->ascii[c] : rf__unicode_flags(&n->unicode, c);
        if (f & RF_SPACE) break;
        if (c >= RF_DICTIONARY_PLANE && !(f & RF_HAN)) f |= CAPITAL;
        all |= f;
    }
    *plain = !(all & (RF_DROP | RF_MARK | RF_MAPS | RF_OTHER | CAPITAL));
    return at;
}

static bool plain_run(rf_jieba_runs *r, size_t from, size_t to, rf_word *run)
{
    const size_t size = to - from;
    r->failed = !rf__grow(r->words.ctx, &r->lowered, &r->capacity, size + 8, 1);
    if (r->failed) return false;
    const bool lower = r->normal->lowercase;
    for (size_t i = 0; i < size; i++) {
        const char b = r->passage.text[from + i];
        r->lowered[i] = (char)(lower && b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b);
    }
    *run = (rf_word){.text = r->lowered, .size = size, .at = from};
    return true;
}

bool rf__jieba_runs_next(rf_jieba_runs *r, rf_word *run)
{
    bool plain;
    for (;;) {
        if (r->inside) {
            if (rf__words_next(&r->words, run)) return true;
            r->failed = r->words.failed;
            r->inside = false;
        }
        if (r->failed || r->at >= r->passage.to) return false;
        const size_t from = r->at;
        r->at = run_end(r, from, &plain);
        if (r->at == from) {                                          /* white space                                  */
            rf__utf8_get((const unsigned char *)r->passage.text, &r->at);
            continue;
        }
        if (plain) return plain_run(r, from, r->at, run);
        rf__words_start(&r->words, r->normal, r->passage.text, from, r->at, r->passage.size);
        r->inside = true;
    }
}
