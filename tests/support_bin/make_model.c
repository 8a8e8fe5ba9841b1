/* make_model.c — writes a tiny model folder with random weights, for tests of the program and of transformers.
 *
 *     make_model DIR [SEED]         2 layers of width 32 with 4 heads, a vocabulary of letters and a few words
 *
 * The weights are large (standard deviation 0.4), so that predictions differ clearly.  The same seed gives the same
 * bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "model/params/params.h"
#include "roformer/tokenizer.h"

static const char *const words[] = {
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "was",
    "capital",
    "city",
    "river",
    "house",
    "red",
    "blue",
    "green",
    "sky",
    "paris",
    "london",
    "france",
    "england",
    "water",
    "old",
    "new",
    "town",
    ".",
    ",",
    "!",
    "?",
    "'",
    "-",
    "(",
    ")",
    "un",
    "##s",
    "##ing",
    "##ed",
    "##er",
    "##ly",
    "\xc3\xa9t\xc3\xa9",
    "\xe6\x9d\xb1",
    "\xe4\xba\xac",
};

static size_t vocabulary(char *out)
{
    size_t n = (size_t)sprintf(out, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (size_t i = 0; i < RF_COUNT(words); i++) n += (size_t)sprintf(out + n, "%s\n", words[i]);
    for (char c = 'a'; c <= 'z'; c++)
        if (c != 'a') n += (size_t)sprintf(out + n, "%c\n", c);
    for (char c = 'a'; c <= 'z'; c++)
        if (c != 's') n += (size_t)sprintf(out + n, "##%c\n", c);
    for (char c = '0'; c <= '9'; c++) n += (size_t)sprintf(out + n, "%c\n##%c\n", c, c);
    return n;
}

static int fail(const rf_error *why)
{
    fprintf(stderr, "make_model: %s\n", why->text);
    return 1;
}

int main(int argc, char **argv)
{
    static char text[4096];
    char path[4096];
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_tokenizer *t = NULL;
    rf_config c;
    rf_params p;
    if (argc < 2) return fprintf(stderr, "usage: make_model DIR [SEED]\n"), 2;
    if (rf__os_make_folder(argv[1]) && errno != EEXIST) return perror(argv[1]), 1;
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    const size_t size = vocabulary(text);
    rf_config_defaults(&c);
    if (rf_ctx_new(NULL, &ctx, &why) || rf_tokenizer_new(ctx, text, size, "vocab.txt", &options, &t, &why) ||
        rf_tokenizer_save(t, argv[1], &why))
        return fail(&why);
    c.vocab_size = rf_tokenizer_size(t);
    c.embedding_size = c.hidden_size = 32;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 4;
    c.intermediate_size = 64;
    c.max_position_embeddings = 64;
    c.initializer_range = 0.4;
    c.pad_token_id = rf_tokenizer_pad(t);
    snprintf(path, sizeof path, "%s/model.safetensors", argv[1]);
    if (rf_config_write(ctx, argv[1], &c, &why) || rf__params_new(ctx, &c, &p, &why)) return fail(&why);
    float *slab = rf__calloc(ctx, p.total, sizeof *slab);
    if (!slab) return 1;
    rf__params_init(&p, slab, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    if (rf__params_save(&p, slab, RF_F32, path, &why)) return fail(&why);
    rf__free(ctx, slab);
    rf__params_free(&p);
    rf_tokenizer_free(t);
    rf_ctx_free(ctx);
    return 0;
}
