/* decode.c — decodes ids to text; `clean_up` applies the replacements of transformers 5. */
#include "tokenizer.h"

static const rf_change in_text[] = {{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
                                 {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

/* Replaces every `from` in text[0, size), left to right, in place.  `to` is never longer. */
static size_t replace(char *text, size_t size, const rf_change *c)
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

size_t rf__replace_all(char *text, size_t size, const rf_change *change, size_t n)
{
    for (size_t k = 0; k < n; k++) size = replace(text, size, &change[k]);
    return size;
}

char *rf_decode(const rf_tokenizer *t, const int32_t id[], size_t n, int skip_special, int clean_up, size_t *bytes)
{
    size_t size = 0;
    if (!t || (!id && n)) return NULL;
    char *text = t->row->decode(t, id, n, skip_special != 0, &size);
    if (!text) return NULL;
    if (clean_up) size = rf__replace_all(text, size, in_text, RF_COUNT(in_text));
    text[size] = 0;
    if (bytes) *bytes = size;
    return text;
}

void rf_text_free(const rf_tokenizer *t, char *text)
{
    if (t) rf__free(t->ctx, text);
}
