/* dictionary_compile.c — compiles jieba's dict.txt (each line has a word, its frequency and an unused tag) to a file
 * that is mapped.
 *
 * If a word occurs twice, its last line counts.  jieba's total includes both lines and jieba-rs' does not; the file has
 * both totals. */
#include "base/json.h"
#include "dictionary.h"
#include "text/unicode/unicode.h"

enum { MAX_TEXT = 256 << 20 };

/* A prefix of words.  Prefix 0 is empty; prefix i is node[i - 1]. */
typedef struct node {
    uint64_t key;
    uint64_t frequency;
    bool word, goes_on;
} node;

typedef struct builder {
    const rf_ctx *ctx;
    const char *name;
    node *node;
    size_t nodes, capacity;
    uint32_t *table; /* prefixes by key, open addressing; 0: free                                  */
    size_t mask;
    rf_dictionary_header header;
    rf_error *why;
} builder;

static rf_status no_memory(builder *b)
{
    return rf_fail(b->why, RF_ENOMEM, "%s: out of memory for %zu prefixes", b->name, b->nodes);
}

static size_t place(const builder *b, uint64_t key)
{
    size_t at = (size_t)((key * 0x9E3779B97F4A7C15) >> 32) & b->mask;
    while (b->table[at] && b->node[b->table[at] - 1].key != key) at = (at + 1) & b->mask;
    return at;
}

/* The prefix of `parent` followed by c; 0 if there is no memory. */
static uint32_t child_of(builder *b, uint32_t parent, uint32_t c)
{
    const uint64_t key = (uint64_t)parent << 21 | c;
    const size_t at = place(b, key);
    if (b->table[at]) return b->table[at];
    if (!rf__grow(b->ctx, &b->node, &b->capacity, b->nodes + 1, sizeof *b->node)) return 0;
    b->node[b->nodes] = (node){.key = key};
    if (parent) b->node[parent - 1].goes_on = true;
    return b->table[at] = (uint32_t)++b->nodes;
}

static rf_status add_word(builder *b, const char *text, size_t size, uint64_t frequency, size_t line)
{
    uint32_t prefix = 0, characters = 0;
    for (size_t at = 0; at < size; characters++) {
        prefix = child_of(b, prefix, rf__utf8_get((const unsigned char *)text, &at));
        if (!prefix) return no_memory(b);
    }
    if (characters > RF_DICTIONARY_LONGEST)
        return rf_fail(b->why, RF_EDATA, "%s:%zu: expected a word of at most %d characters, got %u", b->name,
                       line, RF_DICTIONARY_LONGEST, characters);
    if (b->nodes > RF_DICTIONARY_PREFIXES)
        return rf_fail(b->why, RF_EDATA, "%s:%zu: expected at most %d prefixes of words, got more", b->name, line,
                       RF_DICTIONARY_PREFIXES);
    node *n = &b->node[prefix - 1];
    b->header.words += !n->word;
    b->header.total += frequency - (n->word ? n->frequency : 0);
    b->header.sum += frequency;
    n->word = true;
    n->frequency = frequency;
    if (characters > b->header.longest) b->header.longest = characters;
    return RF_OK;
}

/* "word frequency [tag]" */
static rf_status add_line(builder *b, const char *text, size_t size, size_t line)
{
    if (size && text[size - 1] == '\r') size--;
    if (!size) return RF_OK;
    const char *space = memchr(text, ' ', size);
    uint64_t frequency = 0;
    size_t at = space ? (size_t)(space - text) + 1 : size, digits = 0;
    for (; at < size && text[at] >= '0' && text[at] <= '9' && digits < 16; at++, digits++)
        frequency = 10 * frequency + (uint64_t)(text[at] - '0');
    if (!space || space == text || !digits || (at < size && text[at] != ' '))
        return rf_fail(b->why, RF_EDATA,
                       "%s:%zu: expected a word and its frequency, separated by a space, got another line",
                       b->name, line);
    return add_word(b, text, (size_t)(space - text), frequency, line);
}

static rf_status add_lines(builder *b, const char *text, size_t size)
{
    rf_status status = RF_OK;
    size_t line = 0;
    for (size_t at = !strncmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0; at < size && !status;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        status = add_line(b, text + at, n, ++line);
        at += n + 1;
    }
    if (!status && !b->header.total)
        status = rf_fail(b->why, RF_EDATA, "%s: no words, or none with a frequency", b->name);
    return status;
}

/* Detects gzip, zstd and xz by their first bytes. */
static bool is_packed(const char *text, size_t size)
{
    static const char *const magic[] = {"\x1F\x8B", "\x28\xB5\x2F\xFD", "\xFD\x37zXZ"};
    for (size_t i = 0; i < RF_COUNT(magic); i++)
        if (size >= strlen(magic[i]) && !memcmp(text, magic[i], strlen(magic[i]))) return true;
    return false;
}

/* Adds the user's words by the same rules. */
static rf_status add_file(builder *b, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    b->name = path;
    if (!strcmp(path, "-"))
        return rf_fail(b->why, RF_EARG,
                       "-: expected a file, got standard input; name the file (./- for a file with this name)");
    rf_status status = rf__read_named(b->ctx, path, MAX_TEXT, &text, &size, b->why);
    if (status) return status;
    if (is_packed(text, size)) {
        rf__free(b->ctx, text);
        return rf_fail(b->why, RF_EUNSUPPORTED,
                       "%s: expected plain text, got compressed data; decompress it with gzip -d or zstd -d", path);
    }
    const size_t bad = rf_utf8_check(text, size);
    /* at most one character per byte, so the table never fills up */
    size_t most = b->nodes + size + 1, slots = 1024;
    while (slots < 2 * most && slots < (size_t)4 * RF_DICTIONARY_PREFIXES) slots *= 2;
    if (bad < size)
        status = rf_fail(b->why, RF_EDATA, "%s: not UTF-8 at byte %zu%s", path, bad, rf_utf8_advice(text, size));
    if (!status && slots > b->mask + 1) {
        rf__free(b->ctx, b->table);
        b->table = rf__calloc(b->ctx, slots, sizeof *b->table);
        b->mask = slots - 1;
        if (!b->table) status = no_memory(b);
        for (size_t i = 0; i < b->nodes && !status; i++) b->table[place(b, b->node[i].key)] = (uint32_t)(i + 1);
    }
    if (!status) status = add_lines(b, text, size);
    rf__free(b->ctx, text);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static rf_dictionary_entry *entries_of(const builder *b)
{
    rf_dictionary_entry *entry = rf__alloc(b->ctx, b->nodes * sizeof *entry);
    for (size_t i = 0; entry && i < b->nodes; i++) {
        const node *n = &b->node[i];
        entry[i] = (rf_dictionary_entry){(uint32_t)(n->key >> 21), (uint32_t)n->key & ((1u << 21) - 1),
                                         n->goes_on ? (uint32_t)(i + 1) : 0,
                                         n->word ? log((double)n->frequency) : INFINITY};
    }
    return entry;
}

static rf_status write_compiled(builder *b, const char *path, const char *name)
{
    rf_dictionary_entry *entry = entries_of(b);
    if (!entry || !rf__dictionary_old_hash(b->ctx, entry, b->nodes, &b->header.hash))
        return rf__free(b->ctx, entry), no_memory(b);
    memcpy(b->header.name, name, strlen(name) + 1);
    char *file = NULL;
    size_t size;
    rf_status status = rf__dictionary_lay_out(b->ctx, entry, b->nodes, &b->header, b->name, &file, &size, b->why);
    if (!status) status = rf__replace_file(b->ctx, path, file, size, b->why);
    rf__free(b->ctx, entry);
    rf__free(b->ctx, file);
    return status;
}

rf_status rf_dictionary_compile(const rf_ctx *ctx, const char *const *text, size_t texts, const char *name,
                                const char *path, rf_error *why)
{
    if (!(ctx && text && texts && name && path))
        return rf__missing("rf_dictionary_compile", "ctx, text, name, path", why);
    if (!*name || strlen(name) >= sizeof(((rf_dictionary_header *)0)->name) || !rf__json_takes(name))
        return rf_fail(why, RF_EARG, "name of the dictionary: expected 1 to %zu bytes of UTF-8, got another text",
                       sizeof(((rf_dictionary_header *)0)->name) - 1);
    builder b = {.ctx = ctx, .why = why};
    rf_status status = rf__replaceable(path, "RFWORDS", "compiled dictionary", why);
    for (size_t i = 0; i < texts && !status; i++)
        status = text[i] ? add_file(&b, text[i]) : rf__missing("rf_dictionary_compile", "each text", why);
    if (!status) status = write_compiled(&b, path, name);
    rf__free(ctx, b.node);
    rf__free(ctx, b.table);
    return status;
}
