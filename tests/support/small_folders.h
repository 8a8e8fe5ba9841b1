/* small_folders.h — folders of small models, from the files of tests/golden. */
#ifndef TESTS_SUPPORT_SMALL_FOLDERS_H
#define TESTS_SUPPORT_SMALL_FOLDERS_H

#include "t.h"

static inline void copy_into(const char *folder, const char *from, const char *name)
{
    char path[256];
    static char whole[1 << 21];
    snprintf(path, sizeof path, "tests/golden/%s/%s", from, name);
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(whole, 1, sizeof whole, f) : 0;
    if (!n || n == sizeof whole) fail_msg("%s", path);
    fclose(f);
    t_write(folder, name, whole, n);
}

/* A translator whose words are w1 to w34; to be freed. */
static inline char *translator(void)
{
    char word[16], vocab[1024] = "</s>\n", *folder = strdup(t_folder());
    copy_into(folder, "marian/trained", "config.json");
    copy_into(folder, "marian/trained", "model.safetensors");
    for (int i = 1; i < 35; i++) {
        snprintf(word, sizeof word, "w%d\n", i);
        strcat(vocab, word);
    }
    strcat(vocab, "[UNK]\n[CLS]\n[SEP]\n[MASK]\n[PAD]\n<pad>\n");
    t_write(folder, "vocab.txt", vocab, strlen(vocab));
    return folder;
}

/* The classifier "sequence" or the reranker "whole/pairs"; to be freed. */
static inline char *scorer(const char *which)
{
    char from[64], *folder = strdup(t_folder());
    snprintf(from, sizeof from, "mpnet/%s", which);
    copy_into(folder, from, "config.json");
    copy_into(folder, from, "model.safetensors");
    copy_into(folder, "mpnet/whole", "tokenizer.json");
    copy_into(folder, "mpnet/whole", "tokenizer_config.json");
    return folder;
}

#endif
