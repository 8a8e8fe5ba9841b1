/* byte_level.c — the word regexes of byte-level BPE (Radford et al. 2019) as automata over Unicode categories.
 *
 *     GPT-2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *     Qwen 2    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
 *               \s+(?!\S)|\s+
 *     Llama 3   as Qwen 2 with \p{N}{1,3}
 *
 * Each character begins a match of one of the alternatives, so words follow each other without gaps.                 */
#include "byte_level.h"
#include "text/pipeline/regex.h"
#include "text/unicode/unicode.h"

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define LETTERS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const rf__split rf__split_whole = {NULL, 0, false};
const rf__split rf__split_gpt2 = {
    CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", SIZE_MAX, true};
const rf__split rf__split_qwen2 = {"(?i:" CONTRACTIONS ")" LETTERS "\\p{N}" REST, 1, false};
static const rf__split llama3 = {"(?i:" CONTRACTIONS ")" LETTERS "\\p{N}{1,3}" REST, 3, false};

const rf__split *rf__split_of(const char *regex)
{
    static const rf__split *const all[] = {&rf__split_gpt2, &rf__split_qwen2, &llama3};
    for (size_t i = 0; i < RF_COUNT(all); i++)
        if (!strcmp(regex, all[i]->regex)) return all[i];
    return NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef enum kind { LETTER, NUMBER, WHITE, OTHER } kind;

static uint32_t get(const char *text, size_t *at) { return rf__utf8_get((const unsigned char *)text, at); }

static kind kind_of(uint32_t c)
{
    if ((c | 0x20) - 'a' < 26) return LETTER;
    if (c - '0' < 10) return NUMBER;
    if (rf__unicode_white(c)) return WHITE;
    if (c < 0x80) return OTHER;
    char group = rf__unicode_group(c);
    if (group == 'C') {                                   /* perhaps only in the Unicode of utf8proc                  */
        const uint32_t as = rf__known_as(c);
        if (as) group = rf__unicode_group(as);
    }
    return group == 'L' ? LETTER : group == 'N' ? NUMBER : OTHER;
}

/* The end of at most `most` characters of a kind. */
static size_t run(const char *text, size_t at, size_t size, kind k, size_t most)
{
    for (size_t next = at; at < size && most; at = next, most--)
        if (kind_of(get(text, &next)) != k) break;
    return at;
}

/* The end of the contraction after an apostrophe; 0: none.  Ignoring case, U+017F is an s. */
static size_t contraction(const char *text, size_t at, size_t size, bool fold)
{
    static const char *const all[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (fold && size - at >= 2 && !memcmp(text + at, "\xC5\xBF", 2)) return at + 2;
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        size_t k = 0;
        while (all[i][k] && at + k < size && all[i][k] == (fold ? text[at + k] | 0x20 : text[at + k])) k++;
        if (!all[i][k]) return at + k;
    }
    return 0;
}

static bool line_end(uint32_t c) { return c == '\r' || c == '\n'; }

/* \s*[\r\n]+ if `lines`, \s+(?!\S), \s+: up to the last line end; otherwise all, except the last one before a word. */
static size_t white_end(const char *text, size_t at, size_t size, bool lines)
{
    size_t end = at, last = at, line = 0;
    for (size_t next = at; end < size; end = next) {
        const uint32_t c = get(text, &next);
        if (!rf__unicode_white(c)) break;
        last = end;
        if (line_end(c)) line = next;
    }
    if (lines && line) return line;
    return end == size || last == at ? end : last;
}

size_t rf__split_end(const rf__split *s, const char *text, size_t at, size_t size)
{
    if (!s->regex) return size;
    size_t next = at;
    const uint32_t c = get(text, &next);
    const kind k = kind_of(c);
    size_t end = c == '\'' ? contraction(text, next, size, !s->gpt2) : 0, behind = next;
    if (end) return end;
    const kind then = next < size ? kind_of(get(text, &behind)) : WHITE;
    if (k == LETTER) return run(text, next, size, LETTER, SIZE_MAX);
    if (k == NUMBER) return run(text, next, size, NUMBER, s->digits - 1);
    if (s->gpt2 && c == ' ' && then != WHITE) return run(text, next, size, then, SIZE_MAX);
    if (!s->gpt2 && !line_end(c) && then == LETTER) return run(text, next, size, LETTER, SIZE_MAX);
    if (k == WHITE && !(c == ' ' && then == OTHER)) return white_end(text, at, size, !s->gpt2);
    end = run(text, next, size, OTHER, SIZE_MAX);
    while (!s->gpt2 && end < size && line_end((unsigned char)text[end])) end++;
    return end;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Ranges of bytes that are not printable, and the first character that represents them. */
static const struct { unsigned from, to, scalar; } hidden[] = {
    {0x00, 0x20, 0x100}, {0x7F, 0xA0, 0x121}, {0xAD, 0xAD, 0x143}};

uint32_t rf__byte_scalar(unsigned byte)
{
    for (size_t i = 0; i < RF_COUNT(hidden); i++)
        if (byte >= hidden[i].from && byte <= hidden[i].to) return hidden[i].scalar + byte - hidden[i].from;
    return byte;
}

int rf__scalar_byte(uint32_t c)
{
    for (size_t i = 0; i < RF_COUNT(hidden); i++) {
        if (c >= hidden[i].from && c <= hidden[i].to) return -1;
        if (c >= hidden[i].scalar && c - hidden[i].scalar <= hidden[i].to - hidden[i].from)
            return (int)(c - hidden[i].scalar + hidden[i].from);
    }
    return c < 256 ? (int)c : -1;
}

size_t rf__utf8_ill(const char *text, size_t at, size_t size)
{
    const unsigned char *p = (const unsigned char *)text + at;
    const size_t left = size - at;
    if (p[0] < 0xC2 || p[0] > 0xF4) return 1;
    const unsigned low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    const size_t most = p[0] < 0xE0 ? 1 : p[0] < 0xF0 ? 2 : 3;
    size_t n = 1;
    if (left < 2 || p[1] < low || p[1] > high) return 1;
    while (n < most && n < left && (p[n] & 0xC0) == 0x80) n++;
    return n;
}
