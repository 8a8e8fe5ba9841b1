/* fuzz_learn.c — arbitrary bytes as training text for sub-words: rejected with a message, or a tokenizer for that text.
 * SentencePiece trains in a child process: whatever happens to it, this process continues and has no child left.
 *
 *     byte 0  1 BPE, 2 bytes for unknown characters, 4 nfkc  |  byte 1  the size of the vocabulary  |  the text */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "roformer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const rf_ctx *ctx, const rf_tokenizer *t, const char *text, size_t size)
{
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, size, NULL, 0, 0, 0, &e, NULL, NULL)) abort();
    for (size_t i = 0; i < e.n; i++)
        if (e.id[i] < 0 || e.id[i] >= rf_tokenizer_size(t) || e.end[i] > size || e.start[i] > e.end[i]) abort();
    char *back = rf_decode(t, e.id, e.n, 1, 0, NULL);
    if (!back) abort();
    rf_text_free(t, back);
    rf_encoding_clear(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    if (size < 2 || size > 4096) return 0;
    const char *text = (const char *)data + 2;
    size -= 2;
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.tokens = 6 + 4 * data[1];
    o.byte_fallback = data[0] >> 1 & 1;
    o.normalization = data[0] & 4 ? "nfkc" : "identity";
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_trainer_new(ctx, data[0] & 1 ? "bpe" : "unigram", &o, &trainer, NULL)) abort();
    rf_status status = rf_tokenizer_trainer_feed(trainer, text, size, &why);
    if (!status) status = rf_tokenizer_trainer_finish(trainer, &t, &why);
    if (status ? t || why.code != status || !*why.text : !t) abort();
    if (status != RF_OK && status != RF_EDATA && status != RF_EUNSUPPORTED) abort();
    if (t) use(ctx, t, text, size);
    if (waitpid(-1, NULL, WNOHANG) > 0) abort();             /* 0: libFuzzer has a symbolizer, which runs */
    rf_tokenizer_trainer_free(trainer);
    rf_tokenizer_free(t);
    return 0;
}
