/* jieba_words.c — which tokens form a word of the dictionary, for whole-word masking.
 *
 *     tokens -> their text, with a space between letters and digits -> words of the dictionary
 *
 * A word that is not in the vocabulary is several tokens, one per Han character, and their names do not show that they
 * belong together.  White space between Han characters is lost at this point.                                        */
#include "jieba.h"

void rf__jieba_joined_clear(rf_jieba_joined *s, const rf_ctx *ctx)
{
    rf__free(ctx, s->text);
    rf__free(ctx, s->begin);
    *s = (rf_jieba_joined){0};
}

static bool is_plain(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool append_text(rf_jieba_joined *s, const rf_ctx *ctx, const char *text, size_t size)
{
    if (!rf__grow(ctx, &s->text, &s->capacity, s->size + size, 1)) return false;
    memcpy(s->text + s->size, text, size);
    s->size += size;
    return true;
}

/* The text, and the offset of each token in it; a special token is a line end. */
static bool write_text(const jieba *t, const int32_t id[], size_t n, rf_jieba_joined *s)
{
    const rf_tokenizer *any = &t->pieces.base;
    s->size = 0;
    if (!rf__grow(any->ctx, &s->begin, &s->begins, n + 1, sizeof *s->begin)) return false;
    for (size_t i = 0; i < n; i++) {
        const char *token = rf_tokenizer_is_special(any, id[i]) ? NULL : rf_tokenizer_token(any, id[i]);
        const bool tail = token && rf_tokenizer_continues(any, id[i]);
        if (!token || !*token) token = "\n";
        if (tail) token += 2;
        const bool apart = !tail && s->size && is_plain(s->text[s->size - 1]) && is_plain(*token);
        if (apart && !append_text(s, any->ctx, " ", 1)) return false;
        s->begin[i] = s->size;
        if (!append_text(s, any->ctx, token, strlen(token))) return false;
    }
    return true;
}

bool rf__jieba_find_joined(const jieba *t, const int32_t id[], size_t n, uint8_t joined[], rf_jieba_joined *s,
                           rf_jieba_cutter *cut)
{
    if (!n) return true;
    if (!write_text(t, id, n, s) || !rf__jieba_cut(cut, &t->dictionary, t->kind, s->text, s->size)) return false;
    size_t word = 0;
    for (size_t i = 0; i < n; i++) {
        while (word < cut->n && cut->at[cut->end[word]] <= s->begin[i]) word++;
        const size_t begin = word ? cut->at[cut->end[word - 1]] : 0;
        joined[i] = i && (s->begin[i] > begin || rf_tokenizer_continues(&t->pieces.base, id[i]));
    }
    return true;
}
