/* wiki.c — the markup of WikiExtractor: <doc id="12" url="..." title="Anarchism">, and &lt; &gt; &amp; &quot; in the
 * text. */
#include <string.h>

#include "base/base.h"
#include "data/documents/wiki.h"

size_t rf__wiki_unescape(char *p, size_t n)
{
    static const struct { const char *name; size_t size; char c; } entity[] = {
        {"&lt;", 4, '<'}, {"&gt;", 4, '>'}, {"&amp;", 5, '&'}, {"&quot;", 6, '"'},
    };
    size_t to = 0;
    for (size_t i = 0; i < n; to++) {
        size_t k = RF_COUNT(entity);
        if (p[i] == '&')
            for (k = 0; k < RF_COUNT(entity); k++)
                if (n - i >= entity[k].size && !memcmp(p + i, entity[k].name, entity[k].size)) break;
        if (k < RF_COUNT(entity)) {
            p[to] = entity[k].c;
            i += entity[k].size;
        } else {
            p[to] = p[i++];
        }
    }
    return to;
}

void rf__wiki_title(const char *p, size_t n, char *title, size_t size)
{
    static const char mark[] = " title=\"";
    title[0] = 0;
    const char *at = rf__find(p, n, mark, sizeof mark - 1);
    if (!at) return;
    at += sizeof mark - 1;
    size_t length = (size_t)(p + n - at);
    while (length && at[length - 1] != '"') length--;
    if (!length || length > size) return;
    memcpy(title, at, --length);
    title[rf__wiki_unescape(title, length)] = 0;
}
