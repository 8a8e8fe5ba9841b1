/* writing.h — what the routes share that continue texts: api_generate.c, api_completions.c, api_chat.c. */
#ifndef SRV_WRITING_H
#define SRV_WRITING_H

#include "serve/api/api.h"
#include "serve/shared_call.h"

/* Most stop strings of a request; most tokens that are shown with each new one. */
enum { SRV_STOPS = 16, SRV_TOPS = 20 };

/* A new token: its text ends at byte `to` of the item's. */
typedef struct note {
    int32_t id;
    bool stops; /* it ends the text, and has none of its own                                  */
    double logprob;
    size_t to;
} note;

/* A text of a request: a prompt and its continuation. */
typedef struct item {
    const char *prompt;
    size_t bytes;
    int32_t *id; /* [ids] the tokens of the prompt, in place of those of its text; or NULL     */
    int64_t ids;
    char *own;    /* the prompt, if it is not a part of the body                                */
    int32_t last; /* the last token of the prompt; -1: unknown                                  */
    srv_text text; /* what was generated                                                               */
    size_t sent; /* bytes of `text` that the stream has sent                                   */
    int64_t tokens, prompt_tokens;
    note *note;            /* [notes] its tokens, if writing.tops is not below 0: first, of the prompt,  */
    int64_t heard;         /* so many (writing.hears), then the new ones                                 */
    rf_token_logprob *top; /* [notes, tops] the most likely tokens                                       */
    int64_t notes, shown;   /* shown: those that the stream has sent                                       */
    size_t note_space, top_space;
    bool begun;         /* the stream has sent something of it                                        */
    bool stopped, full; /* the text ended with a stop string or token; has `most` tokens              */
} item;

typedef struct writing writing;

/* What a route answers. */
typedef struct srv_form {
    /* An event of a stream: a piece of a text with the reason why it ends there, or NULL; text NULL: before the first
     * piece, if `opens`. In place of it: an event for each token, `last` or not. The numbers of tokens. */
    void (*piece)(srv_text *t, const writing *x, item *y, const char *text, size_t size, const char *reason);
    void (*token)(srv_text *t, const writing *x, const item *y, int64_t i, bool last);
    void (*usage)(srv_text *t, const writing *x);
    void (*whole)(srv_request *r, const writing *x); /* the whole answer, into r->out                          */
    bool opens;
    bool cuts;        /* a stop string is no part of the text                                       */
    const char *most; /* the member with the maximum number of new tokens                           */
} srv_form;

struct writing {
    srv_call call;        /* first, because a call is cast to this type                                 */
    struct writing *next; /* in the batch                                                               */
    const srv_form *form;
    bool stream, begun, with_prompt;
    bool hears; /* the tokens of prompts have notes, too                                      */
    bool usage; /* the last event of the stream reports the numbers of tokens                 */
    bool seeded; /* the request has a seed                                                     */
    rf_generate_options o;
    const char *stop[SRV_STOPS];
    int64_t tops; /* the most likely tokens that are shown with each new one; -1: no tokens are  */
    item *item; /* [items] prompt by prompt, `times` texts of each                            */
    int64_t items, times;
    int64_t first, given, left; /* number of its first text in the batch; texts given to the model; to come   */
    int64_t most;               /* new tokens of a text                                                       */
    rf_error why;
};

/* The steps of a request, in this order. Those that return false, or NULL, have answered it.
 *
 *   new_writing  the model, which must be causal; the options of its folder
 *   read_stops   the strings that end a text
 *   set_sampling the options of `in`
 *   write        generates the texts, then answers */
writing *srv_new_writing(srv_request *r, const char *model, const srv_form *form);
bool srv_read_stops(srv_request *r, writing *x, const json_t *list);
void srv_set_sampling(srv_request *r, writing *x, const json_t *in);
void srv_set_openai(writing *x); /* before it: sampling, without the folder's beams and maximum                       */
void srv_write(srv_request *r, writing *x);

int64_t srv_prompt_tokens(const writing *x);
int64_t srv_new_tokens(const writing *x);
static inline const char *srv_finish_reason(const item *y) { return y->stopped ? "stop" : "length"; }

/* ,"usage":{...} as OpenAI has it; "id", "object", "created" and "model" of its answers. */
void srv_put_usage(srv_text *t, const writing *x);
void srv_put_openai_head(srv_text *t, const srv_request *r, const char *id, const char *object);

/* The end of an event of a stream, after its choice: the reason, or NULL. An event with the numbers of tokens alone. */
void srv_put_piece_end(srv_text *t, const writing *x, const char *reason);
void srv_put_usage_event(srv_text *t, const writing *x, const char *id, const char *object);

/* notes.c: ,"logprobs": of OpenAI's completions and chats for the tokens from y->shown on that belong to the first
 * `end` bytes of the text; null without them. The tokens are shown then. The text of token i; of one that could have
 * been in its place (`id`). */
void srv_put_logprobs(srv_text *t, const writing *x, item *y, size_t end);
void srv_put_chat_logprobs(srv_text *t, const writing *x, item *y, size_t end);
void srv_put_logprob(srv_text *t, double x);
void srv_put_token_text(srv_text *t, const writing *x, const item *y, int64_t i, int32_t id);

/* Space for `times` texts of each of `prompts` prompts of member `name`; a prompt of n tokens must be within the
 * context of the model. */
bool srv_new_items(srv_request *r, writing *x, const char *name, size_t prompts, int64_t times);
bool srv_prompt_fits(srv_request *r, const char *name, int64_t n, const char *unit);

/* The tokens of y's prompt alone, which have to fit, into e, which the caller clears. false: answered. */
bool srv_encode_prompt(srv_request *r, item *y, const char *name, rf_encoding *e);

/* Makes them y's token ids, after `opens` tokens, 0 or 1, that the tokenizer puts before a text. false: answered. */
bool srv_keep_ids(srv_request *r, item *y, const rf_encoding *e, size_t opens);

/* Members `stream` and `stream_options` of OpenAI's routes. */
bool srv_read_stream(srv_request *r, writing *x);

#endif
