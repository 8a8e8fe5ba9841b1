/* api.h — what the routes share. */
#ifndef SRV_API_H
#define SRV_API_H

#include "base/json.h"
#include "serve/fields.h"
#include "serve/server.h"

/* Steps of the routes. */
#define SRV_ROUTE(method, path, dialect, access, where, step, field, what) void step(srv_request *r);
#include "serve/api/api.def"

/* For POST /, after its body has been read: the result of the model's head. */
void srv_features(srv_request *r);
void srv_similarity(srv_request *r);
void srv_predict(srv_request *r);
void srv_predict_flat(srv_request *r); /* in TEI's form */
void srv_zero_shot(srv_request *r, bool sequences); /* sequences: as transformers' pipeline; otherwise as the API */
void srv_rerank(srv_request *r);
void srv_fill_mask(srv_request *r);
void srv_generate_text(srv_request *r);
void srv_translate_text(srv_request *r);
void srv_tag(srv_request *r);
void srv_answer_question(srv_request *r);

/* A list of the tokens of a text, as /tokenize has them; `e` keeps their ids. After a failure, the request is
 * answered. */
void srv_put_tokens(srv_request *r, rf_encoding *e, const char *text, size_t size, int flags);

/* [size + 1] how many characters of UTF-8 begin before each byte, freed with free(); NULL: no memory. */
uint32_t *srv_characters(const char *text, size_t size);

enum { SRV_ANSWERS_MOST = 100 }; /* top_k of answers to a question */

/* Bounds the work of the tokenizer: of a text, so many bytes are read for each token that the model accepts, but no
 * fewer than these: blanks and long words, as of an image in a text, have few tokens. */
enum { SRV_TOKEN_BYTES = 250, SRV_TEXT_BYTES = 1 << 18 };
int64_t srv_most_bytes(const srv_request *r);

/* What happens to inputs that are too long for the model: they are cut, or refused. of: by members "truncate" (default:
 * --auto-truncate) and "truncation_direction" of an object. */
typedef struct srv_fit {
    bool cut;
    int side;           /* which part is removed: a value of cut_side in rf_embed_options                     */
    const char *prompt; /* that will be put before each, or NULL                                              */
} srv_fit;
srv_fit srv_fit_of(const srv_request *r, const json_t *in);

/* Whether the model takes all tokens of a text, or of a pair of texts. false: answered with 422. */
bool srv_input_fits(srv_request *r, rf_encoding *e, const char *name, const char *text, size_t bytes, const char *pair,
                    size_t pair_bytes);

/* Cuts texts that may be truncated to srv_most_bytes; otherwise each has to fit. false: answered with 422. */
bool srv_texts_fit(srv_request *r, const char *name, srv_texts *texts, srv_fit how);

/* The prompt of the model's folder that member "prompt_name" names, or else its default prompt; "": there is none.
 * NULL: answered. */
const char *srv_prompt(srv_request *r);

#endif
