/* part_end.c — where a long source is split into parts that are translated one by one. */
#include "pipeline/pipeline.h"

/* How good it is to split the text before token `to`: 3 after a sentence, 2 after a clause, 1 between words, 0 within
 * one. */
static int cut_rank(const rf_tokenizer *t, const rf_encoding *e, const char *text, size_t to)
{
    static const struct { const char *mark; int worth; } marks[] = {
        {".", 3}, {"!", 3}, {"?", 3}, {";", 2}, {":", 2}, {",", 2},
        {"\xE3\x80\x82", 3}, {"\xEF\xBC\x81", 3}, {"\xEF\xBC\x9F", 3}, {"\xE2\x80\xA6", 3},      /* 。 ！ ？ … */
        {"\xEF\xBC\x8C", 2}, {"\xE3\x80\x81", 2}, {"\xEF\xBC\x9B", 2}, {"\xEF\xBC\x9A", 2},      /* ， 、 ； ： */
    };
    size_t at = e->end[to - 1];
    const bool blank = text[at] == ' ' || (at && text[at - 1] == ' ');
    while (at && text[at - 1] == ' ') at--;
    for (size_t i = 0; i < RF_COUNT(marks); i++) {
        const size_t n = strlen(marks[i].mark);
        if (at >= n && !memcmp(text + at - n, marks[i].mark, n) && (blank || n > 1)) return marks[i].worth;
    }
    return blank || !rf_tokenizer_continues(t, e->id[to]);
}

size_t rf__part_end(const rf_tokenizer *t, const rf_encoding *e, const char *text, size_t from, size_t most)
{
    size_t best = from + most;
    int worth = 0;
    if (e->n - from <= most) return e->n;
    for (size_t to = from + most; to > from + most / 2; to--) {
        const int here = cut_rank(t, e, text, to);
        if (here > worth) worth = here, best = to;
    }
    return best;
}
