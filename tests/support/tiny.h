/* tiny.h — a corpus, a vocabulary and a model that are so small that a run is short.
 *
 * The adjective and the subject determine the rest of a sentence, so that a model can learn it:
 *     the <adjective> <noun> is <verb>ing the <noun> .                                                               */
#ifndef TINY_H
#define TINY_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roformer/train.h"
#include "t.h"

static const char *const tiny_adjectives[] = {"red", "old", "big", "shy"};
static const char *const tiny_nouns[] = {"cat",  "dog",  "king",  "tree",  "river", "stone",
                                         "bird", "ship", "queen", "horse", "wolf",  "child"};
static const char *const tiny_verbs[] = {"walk", "watch", "follow", "cross", "paint", "hold"};

/* Sentence number k of a document that begins with `first`. */
static inline int tiny_sentence(char *to, size_t size, unsigned first, unsigned k)
{
    const unsigned mix = (first * 7919u + k * 104729u) >> 3, noun = mix % 12, adjective = mix / 12 % 4;
    return snprintf(to, size, "the %s %s is %sing the %s .\n", tiny_adjectives[adjective], tiny_nouns[noun],
                    tiny_verbs[noun % 6], tiny_nouns[(noun + 3 * adjective + 1) % 12]);
}

static inline void tiny_write_corpus(const char *folder, const char *name, unsigned documents, unsigned seed)
{
    const size_t capacity = (size_t)documents * 32 * 64;
    char *text = malloc(capacity);
    size_t n = 0;
    for (unsigned d = 0; d < documents; d++) {
        const unsigned sentences = 1 + (d * 31 + seed) % 23;
        for (unsigned k = 0; k < sentences; k++) n += (size_t)tiny_sentence(text + n, capacity - n, d * 131 + seed, k);
        text[n++] = '\n';
    }
    t_write(folder, name, text, n);
    free(text);
}

/* vocab.txt, config.json and corpus.txt in a new folder; the caller frees the name. */
static inline char *tiny_model(void)
{
    char *folder = strdup(t_folder()), vocab[2048];
    static const char config[] =
        "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 16, \"hidden_size\": 32, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64, \"hidden_dropout_prob\": "
        "0.1, \"attention_probs_dropout_prob\": 0.1}";
    int n = snprintf(vocab, sizeof vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nis\n.\n##ing\n");
    for (size_t i = 0; i < RF_COUNT(tiny_adjectives); i++)
        n += snprintf(vocab + n, sizeof vocab - (size_t)n, "%s\n", tiny_adjectives[i]);
    for (size_t i = 0; i < RF_COUNT(tiny_nouns); i++)
        n += snprintf(vocab + n, sizeof vocab - (size_t)n, "%s\n", tiny_nouns[i]);
    for (size_t i = 0; i < RF_COUNT(tiny_verbs); i++)
        n += snprintf(vocab + n, sizeof vocab - (size_t)n, "%s\n", tiny_verbs[i]);
    n += snprintf(vocab + n, sizeof vocab - (size_t)n, "##s\n##ed\nking\n");
    t_write(folder, "vocab.txt", vocab, (size_t)n);
    t_write(folder, "config.json", config, sizeof config - 1);
    tiny_write_corpus(folder, "corpus.txt", 300, 1);
    return folder;
}

static inline char *tiny_path(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* 20 steps of two small batches, with dropout, checkpoints every 4. `text` must outlive the options. */
static inline rf_train_options tiny_options(const char *model, const char *const *text, const char *output)
{
    rf_train_options o;
    rf_train_defaults(&o);
    o.text = text;
    o.texts = 1;
    o.model = model;
    o.output_dir = output;
    o.validation_split = 0.05;
    o.max_steps = 20;
    o.tokens_per_batch = 256;
    o.max_length = 32;
    o.gradient_accumulation_steps = 2;
    o.learning_rate = 5e-3;
    o.logging_steps = 3;
    o.eval_steps = 10;
    o.save_steps = 4;
    o.save_total_limit = 0;
    o.seed = 7;
    return o;
}

static inline uint32_t tiny_crc(const char *folder, const char *name)
{
    char *path = tiny_path(folder, name);
    FILE *f = fopen(path, "rb");
    unsigned char buffer[4096];
    uint32_t crc = 0;
    size_t n;
    if (!f) fail_msg("%s is not there", path);
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) crc = rf__crc32c(crc, buffer, n);
    fclose(f);
    free(path);
    return crc;
}

static inline bool tiny_has(const char *folder, const char *name)
{
    char *path = tiny_path(folder, name);
    const bool there = !access(path, F_OK);
    free(path);
    return there;
}

/* Entries whose name contains `part`. */
static inline int tiny_count(const char *folder, const char *part)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}

#endif
