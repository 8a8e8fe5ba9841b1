/* wiki.h — the markup of WikiExtractor. Used by reader.c. */
#ifndef RF_DATA_WIKI_H
#define RF_DATA_WIKI_H

#include <stddef.h>

/* Decodes &lt; &gt; &amp; &quot; in place; returns the new length. */
size_t rf__wiki_unescape(char *p, size_t n);

/* Copies the title of a line <doc ... title="Anarchism">, which WikiExtractor repeats as the first line, to
 * title[size]; "" if there is none, or if it does not fit. */
void rf__wiki_title(const char *p, size_t n, char *title, size_t size);

#endif
