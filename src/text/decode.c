/* decode.c — ids back to text, as `decode` of transformers 5 does it.
 *
 * Each token after the first is glued ("##" removed) or gets a space before it; then its own text is tidied, token by
 * token (" ." becomes "." and so on).  `clean_up` tidies the joined text once more, by transformers' list.           */
#include "text.h"

typedef struct change { const char *from, *to; } change;

static const change in_tokens[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                   {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                   {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
static const change in_text[] = {{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
                                 {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

/* Replaces every `from` in text[0, size), left to right, in place: `to` is never longer. */
static size_t replace(char *text, size_t size, const change *c)
{
    const size_t from = strlen(c->from), to = strlen(c->to);
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        if (size - i >= from && !memcmp(text + i, c->from, from)) {
            memcpy(text + n, c->to, to);
            n += to;
            i += from;
        } else {
            text[n++] = text[i++];
        }
    }
    return n;
}

char *rf_decode(const rf_tokenizer *t, const int32_t id[], size_t n, int skip_special, int clean_up)
{
    size_t size = 0, capacity = 1;
    for (size_t i = 0; i < n; i++)
        if (rf_tokenizer_token(t, id[i])) capacity += rf__vocab_token_size(&t->vocab, id[i]) + 1;
    char *text = rf__alloc(t->ctx, capacity);
    if (!text) return NULL;
    for (size_t i = 0, tokens = 0; i < n; i++) {
        const char *token = rf_tokenizer_token(t, id[i]);
        if (!token || (skip_special && rf_tokenizer_is_special(t, id[i]))) continue;
        size_t bytes = rf__vocab_token_size(&t->vocab, id[i]);
        char *to = text + size;
        const bool glued = tokens && bytes >= 2 && token[0] == '#' && token[1] == '#';
        if (tokens++ && !glued) *to++ = ' ';
        memcpy(to, token + (glued ? 2 : 0), bytes - (glued ? 2 : 0));
        bytes = (size_t)(to - text) - size + bytes - (glued ? 2 : 0);
        for (size_t k = 0; k < RF_COUNT(in_tokens); k++) bytes = replace(text + size, bytes, &in_tokens[k]);
        size += bytes;
    }
    if (clean_up)
        for (size_t k = 0; k < RF_COUNT(in_text); k++) size = replace(text, size, &in_text[k]);
    text[size] = 0;
    return text;
}

void rf_text_free(const rf_tokenizer *t, char *text)
{
    rf__free(t->ctx, text);
}
