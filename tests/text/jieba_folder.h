/* jieba_folder.h — a folder with the small dictionary of tests/golden/text/jieba, compiled, and its tokenizer. */
#ifndef JIEBA_FOLDER_H
#define JIEBA_FOLDER_H

#include <jansson.h>
#include <unistd.h>

#include "one_context.h"
#include "roformer/tokenizer.h"
#include "text/chinese/dictionary.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/text/jieba/"

static const char *const dict[] = {GOLDEN "dict.txt"};

static inline const char *compiled(const char *folder)
{
    static char path[512];
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/dictionary.words", folder);
    if (rf_dictionary_compile(ctx, dict, 1, "small", path, &why)) fail_msg("%s", why.text);
    return path;
}

static inline void copy(const char *folder, const char *name)
{
    char from[256], text[65536];
    snprintf(from, sizeof from, GOLDEN "%s", name);
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    t_write(folder, name, text, n);
}

/* A folder with the golden vocabulary and dictionary. */
static inline const char *golden_folder(void)
{
    const char *folder = t_folder();
    compiled(folder);
    copy(folder, "vocab.txt");
    copy(folder, "tokenizer_config.json");
    return folder;
}

static inline rf_tokenizer *opened(const char *folder)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    return t;
}

#endif
