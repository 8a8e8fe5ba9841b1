/* generate.h — text from a causal model, one token after the other.
 *
 *     score(w)  = logit(w), w seen before: divided by repetition_penalty where above 0, else multiplied       Keskar et
 *     al. 2019
 *     greedy      the largest score, of equal ones the smallest id
 *     do_sample   w drawn from softmax(score / temperature) over the top_k largest, and of these over the fewest whose
 *                 probabilities add up to top_p                                   Fan et al. 2018; Holtzman et al. 2020
 *
 * Names and order are those of transformers' generate.  What is drawn is a function of (seed, prompt, occurrence, index
 * of the token): the same tokens whatever the number of threads, and whatever was written before.
 *
 * threads   as the session's                                                                                         */
#ifndef ROFORMER_GENERATE_H
#define ROFORMER_GENERATE_H
/* home: src/model */

#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The limits of the options below. */
#define RF_NEW_TOKENS_MOST 1048576
#define RF_TEMPERATURE_LEAST 1e-6
#define RF_TEMPERATURE_MOST 1e6
#define RF_TOP_K_MOST 16777216
#define RF_TOP_P_LEAST 1e-6
#define RF_REPETITION_PENALTY_LEAST 1e-6
#define RF_REPETITION_PENALTY_MOST 1e6

typedef struct rf_generate_options {
    size_t size;                /* of this struct, set by rf_generate_defaults */
    int64_t max_new_tokens;
    int do_sample;              /* 0: greedy */
    double temperature;         /* below 1: likely tokens become likelier */
    int64_t top_k;              /* 0: all */
    double top_p;               /* 1: all */
    double repetition_penalty;  /* 1: none */
    uint64_t seed;
    uint64_t occurrence;        /* 0; 1, 2, ... for other samples of the same prompt */
    const int32_t *stop;        /* [stops] tokens that end a text */
    int64_t stops;
    const int32_t *suppress;    /* [suppressed] tokens that are never chosen */
    int64_t suppressed;
} rf_generate_options;

/* Greedy, 64 tokens, temperature 1, top_k 0, top_p 1, repetition_penalty 1, seed 42; nothing stops, nothing is
 * suppressed. */
void rf_generate_options_init(rf_generate_options *o, size_t size);
#define rf_generate_defaults(o) rf_generate_options_init((o), sizeof *(o))

typedef struct rf_generated {
    int32_t id;
    int64_t index;              /* 0, 1, ... */
    double logprob;             /* of the model itself: log softmax(logits)[id] */
    int stops;                  /* 1: one of options->stop */
} rf_generated;

/* Called for every new token at once; anything but 0 ends the text. */
typedef int rf_generate_sink(void *user, const rf_generated *token);

typedef enum rf_generate_end { RF_GENERATE_LENGTH, RF_GENERATE_STOP, RF_GENERATE_SINK } rf_generate_end;

/* Continues id[0..n), n at least 1, until max_new_tokens are there, a stop token comes or the sink takes no more.
 *
 *   session     its sequences (sequence.h) stay as they are
 *   end         why it ended; or NULL
 *   cost        a token costs one pass and attention over those before it.  With an encoding whose keys cannot be kept
 *               (dynamic, longrope, rerope) the whole text is computed again for each
 *   RF_EARG         an option outside its limits
 *   RF_EUNSUPPORTED config.json's is_decoder is false, or no head
 *   RF_ERANGE       an id; a position that a learned table does not hold: tokens before it have been handed out */
rf_status rf_session_generate(rf_session *session, const int32_t id[], int64_t n, const rf_generate_options *options,
                      rf_generate_sink *sink, void *user, rf_generate_end *end, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
