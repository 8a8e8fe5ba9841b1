/* foreign.c — detects the encoding of a text that is not UTF-8, so that the message can suggest the conversion.
 *
 * An encoding matches if all bytes above 0x7F form characters of it.  A Chinese encoding must also have at least four
 * fifths of them in its rows of common characters.  Sources: GB 18030-2005, Big5-2003 as in the WHATWG's Encoding
 * Standard.                                                                                                          */
#include "roformer/tokenizer.h"
#include "text/unicode/unicode.h"

/* Length of the character at p, whose first byte is above 0x7F; 0: invalid.  *common: a character of everyday text. */
typedef size_t character(const unsigned char *p, size_t size, bool *common);

static bool within(unsigned c, unsigned low, unsigned high) { return c >= low && c <= high; }

static size_t gb18030(const unsigned char *p, size_t size, bool *common)
{
    *common = false;
    if (size < 2 || !within(p[0], 0x81, 0xFE)) return 0;
    if (within(p[1], 0x30, 0x39)) return size >= 4 && within(p[2], 0x81, 0xFE) && within(p[3], 0x30, 0x39) ? 4 : 0;
    if (!within(p[1], 0x40, 0xFE) || p[1] == 0x7F) return 0;
    *common = p[1] >= 0xA1 && (within(p[0], 0xA1, 0xA3) || within(p[0], 0xB0, 0xF7));             /* GB 2312 */
    return 2;
}

static size_t big5(const unsigned char *p, size_t size, bool *common)
{
    if (size < 2 || !within(p[0], 0xA1, 0xF9) || !(within(p[1], 0x40, 0x7E) || within(p[1], 0xA1, 0xFE))) return 0;
    *common = within(p[0], 0xA1, 0xC6);                                                           /* level 1 */
    return 2;
}

/* Number of characters of `text`, and how many of them are common; 0: not in this encoding. */
static size_t characters(character *next, const unsigned char *text, size_t size, size_t *common)
{
    size_t n = 0;
    bool one;
    *common = 0;
    for (size_t i = 0, step; i < size; i += step) {
        step = 1;
        if (text[i] < 0x80) continue;
        if (!(step = next(text + i, size - i, &one))) return 0;
        n++;
        *common += one;
    }
    return n;
}

static bool letter(unsigned c) { return within(c | 0x20, 'a', 'z'); }

/* Letters of Western languages occur singly between ASCII letters.  0xC2 and 0xC3 begin the same letters in UTF-8: such
 * a text was cut. */
static bool western(const unsigned char *text, size_t size)
{
    size_t letters = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < 0x80) continue;
        if (text[i] < 0xA0 || text[i] == 0xC2 || text[i] == 0xC3 || (i && text[i - 1] >= 0x80)) return false;
        letters += text[i] >= 0xC0 && ((i && letter(text[i - 1])) || (i + 1 < size && letter(text[i + 1])));
    }
    return letters > 0;
}

const char *rf_utf8_advice(const char *text, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t usual[2];
    if (!text) return "";
    if (bytes > 1 && ((p[0] == 0xFF && p[1] == 0xFE) || (p[0] == 0xFE && p[1] == 0xFF)))           /* U+FEFF */
        return "; it looks like UTF-16: iconv -f UTF-16 -t UTF-8 converts it";
    const size_t gb = characters(gb18030, p, bytes, &usual[0]), big = characters(big5, p, bytes, &usual[1]);
    if (western(p, bytes)) return "; it looks like windows-1252: iconv -f WINDOWS-1252 -t UTF-8 converts it";
    if (gb > 1 && (5 * usual[0] >= 4 * gb || !big))
        return "; it looks like GB18030: iconv -f GB18030 -t UTF-8 converts it";
    return big > 1 && 5 * usual[1] >= 4 * big ? "; it looks like Big5: iconv -f BIG5 -t UTF-8 converts it" : "";
}
