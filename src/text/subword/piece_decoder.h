/* piece_decoder.h — the decoder of a tokenizer.json: a sequence of steps over a list of strings, first the tokens. */
#ifndef RF_TEXT_PIECE_DECODER_H
#define RF_TEXT_PIECE_DECODER_H

#include "text/pipeline/regex.h"
#include "text/tokenizer.h"

enum { RF_DECODER_STEPS = 32 };

typedef struct rf__piece_list rf__piece_list;
typedef struct rf__decoder_step rf__decoder_step;
typedef bool rf__decoder_do(const rf__decoder_step *s, const rf__piece_list *in, rf__piece_list *out);

struct rf__decoder_step {
    rf__decoder_do *go;
    char *from, *to;                    /* of Replace; `from` is also the character of Strip and Metaspace, the prefix
                                           of WordPiece, the suffix of BPEDecoder; CTC: padding and delimiter         */
    rf__regex *regex;                   /* of Replace; NULL: its pattern is a text                                    */
    int64_t most, last;                 /* of Strip: how many leading and trailing characters are removed             */
    bool cleans;                        /* blanks before punctuation are removed                                      */
    bool first;                         /* Metaspace: a blank of the first token is removed                           */
};

typedef struct rf__piece_decoder {
    const rf_ctx *ctx;
    rf__decoder_step step[RF_DECODER_STEPS];
    size_t steps;
    bool given;                         /* otherwise blanks are inserted between tokens                               */
} rf__piece_decoder;

/* From the member "decoder", which may be null; `path` is the name of the file.  RF_EUNSUPPORTED names unsupported
 * parts. */
rf_status rf__piece_decoder_read(rf__piece_decoder *d, const rf_ctx *ctx, const json_t *part, const char *path,
                                 rf_error *why);
void rf__piece_decoder_clear(rf__piece_decoder *d);

/* The text of tokens, for a row's `decode`; NULL: no memory, or a regular expression exceeded its limits. */
char *rf__piece_decoder_run(const rf__piece_decoder *d, const rf_tokenizer *t, const int32_t id[], size_t n, bool skip,
                            size_t *size);

#endif
