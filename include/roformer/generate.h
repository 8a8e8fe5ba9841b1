/* generate.h — text from a causal model, one token after the other.
 *
 *     score(w)  = logit(w), w seen before: divided by repetition_penalty where above 0, else multiplied       Keskar et
 *     al. 2019
 *     greedy      the largest score, of equal ones the smallest id
 *     do_sample   w drawn from softmax(score / temperature) over the top_k largest, and of these over the fewest whose
 *                 probabilities add up to top_p                                   Fan et al. 2018; Holtzman et al. 2020
 *
 *     num_beams   of the texts that are looked at together the one with the largest sum log p / tokens^length_penalty
 *
 * Names and order are those of transformers' generate.  What is drawn is a function of (seed, prompt, occurrence, index
 * of the token): the same tokens whatever the number of threads, and whatever was written before.
 *
 * threads   as the session's                                                                                         */
#ifndef ROFORMER_GENERATE_H
#define ROFORMER_GENERATE_H

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
#define RF_RETURN_SEQUENCES_MOST 4096
#define RF_BATCH_SIZE_MOST 4096
#define RF_LENGTH_PENALTY_MOST 100

/* When a beam search ends that has num_beams texts: when none of the beams can do better, by their lengths so far; at
 * once; when none can by the length that is best for them.  transformers' early_stopping False, True, "never". */
typedef enum rf_stop_search { RF_STOP_HEURISTIC, RF_STOP_EARLY, RF_STOP_NEVER } rf_stop_search;

/* By what a text of n tokens has its log-probability divided: n^a (fairseq, transformers), ((5 + n) / 6)^a (Wu et al.
 * 2016, GNMT); a is length_penalty, n counts the token that ends the text. */
typedef enum rf_length_norm { RF_LENGTH_POWER, RF_LENGTH_GNMT } rf_length_norm;

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
    double min_p;               /* 0: all; tokens with less than this share of the likeliest one's probability go */
    double typical_p;           /* 1: all */
    int64_t no_repeat_ngram_size;   /* so many tokens in a row never come twice, prompt included; 0: they may */
    int64_t num_return_sequences;   /* texts for each prompt: samples, or the best of num_beams */
    int64_t batch_size;         /* texts that are written at the same time, at most */
    rf_type cache_type;         /* of keys and values, RF_F32 or RF_BF16: rf_sequence_options.type */
    int64_t num_beams;          /* above 1: beam search, for the likeliest texts; num_return_sequences of them */
    double length_penalty;      /* of beam search: a text's log-probability is divided by tokens^length_penalty; 1 */
    rf_stop_search early_stopping;
    const char *const *stop_string; /* [stop_strings] the text ends behind the first that it has; of rf_generate and */
    int64_t stop_strings;       /* rf_generate_texts (pipeline.h), which know texts: prompts do not count */
    rf_length_norm length_norm; /* what length_penalty is the power of */
    int32_t forced_bos;         /* the first new token; -1: free */
    int32_t forced_eos;         /* that of index max_new_tokens - 1, where a text gets so far; -1: free */
    int renormalize_logits;     /* of beam search: what is never chosen has no share of the probabilities either */
    double max_length_factor;   /* of translations: at most so many new tokens for each of the source's; 0: no matter */
    int64_t max_length;         /* tokens of prompt and text together, at most; a prompt that has as many is refused; */
                                /* 0: no limit.  Translations: no effect */
    int special_tokens;         /* of rf_generate and rf_generate_texts: 1 lets [PAD], [UNK], [CLS], [MASK] come, too */
} rf_generate_options;

/* Greedy, one beam, length_penalty 1, 64 tokens, temperature 1, top_k 0, top_p 1, min_p 0, typical_p 1,
 * repetition_penalty 1, seed 42, one sequence returned, 64 texts at a time, keys in f32; nothing stops, nothing is
 * suppressed, nothing is forced. */
void rf_generate_options_init(rf_generate_options *o, size_t size);
#define rf_generate_defaults(o) rf_generate_options_init((o), sizeof *(o))

/* The same as a model that writes has them by its files: the keys of generation_config.json, or those of config.json
 * where there is no such file, over rf_generate_defaults, or, of a translator, rf_translate_defaults (translate.h).
 * do_sample without top_k takes the 50 likeliest, as transformers does.  Lists belong to the model. */
void rf_generate_model_init(const rf_model *m, rf_generate_options *o, size_t size);
#define rf_generate_model_defaults(m, o) rf_generate_model_init((m), (o), sizeof *(o))

/* Whether its files can be followed.  RF_EUNSUPPORTED, RF_EDATA: a key that is not supported, or has a value that it
 * cannot have; options of one's own can do without. */
rf_status rf_generate_model_check(const rf_model *m, rf_error *why);

typedef struct rf_generated {
    int32_t id;
    int64_t index;              /* 0, 1, ... */
    double logprob;             /* of the model itself: log softmax(logits)[id] */
    int stops;                  /* 1: one of options->stop */
    int64_t text;               /* prompt i, sample j: i num_return_sequences + j */
} rf_generated;

/* Called for every new token at once; anything but 0 ends the text. */
typedef int rf_generate_sink(void *user, const rf_generated *token);

typedef enum rf_generate_end {
    RF_GENERATE_LENGTH,
    RF_GENERATE_STOP,
    RF_GENERATE_SINK,
    RF_GENERATE_FAILED
} rf_generate_end;

/* Continues id[0..n), n at least 1, until max_new_tokens are there, a stop token comes or the sink takes no more.
 *
 *   session     its sequences (sequence.h) stay as they are
 *   options     NULL: rf_generate_model_defaults; then also what rf_generate_model_check says
 *   end         why it ended; or NULL
 *   cost        a token costs one pass and attention over those before it.  With an encoding whose keys cannot be kept
 *               (dynamic, longrope, rerope) the whole text is computed again for each
 *   RF_EARG         an option outside its limits
 *   RF_EUNSUPPORTED config.json's is_decoder is false, or no head
 *   RF_ERANGE       an id; a position that a learned table does not hold: tokens before it have been handed out */
rf_status rf_session_generate(rf_session *session, const int32_t id[], int64_t n, const rf_generate_options *options,
                      rf_generate_sink *sink, void *user, rf_generate_end *end, rf_error *why);

/* Many prompts at once, by continuous batching: batch_size texts are written side by side, one that is done leaves and
 * the next one enters.  Each has the tokens that it has alone, to the bit, whatever else is written, and samples of a
 * prompt that comes again (`occurrence`) differ.  Tokens that prompts have in common at the beginning are computed once
 * where texts that have them are there.
 *
 *   sink       called for every new token of every text, in no order between texts; or NULL
 *   done       called when a text ends; `why` of one that failed alone, such as by a position that a learned table does
 *              not hold: the others go on.  Anything but 0 ends all, those that write are not heard of again.  NULL:
 *              the first such failure is returned when all others are done
 *   limit      with rf_sequence_limit, a text enters when its keys and values fit at its longest, beside those that are
 *              there; RF_ERANGE: not even alone.  Without, it enters when those of its prompt fit the memory that the
 *              system has for this process
 *   others     as rf_session_generate */
typedef struct rf_prompt {
    const int32_t *id;          /* [n] */
    int64_t n;
    uint64_t occurrence;        /* added to the options' */
} rf_prompt;
typedef int rf_generate_done(void *user, int64_t text, rf_generate_end end, const rf_error *why);
rf_status rf_session_generate_all(rf_session *session, const rf_prompt prompt[], int64_t prompts,
                                  const rf_generate_options *options, rf_generate_sink *sink, rf_generate_done *done,
                                  void *user, rf_error *why);

/* The same for prompts that come while others are written, as those of a server do.
 *
 *   source     asked whenever there is space for one more prompt: returns 1 with *prompt, whose ids are lent until the
 *              source is asked again, or 0: there is none now.  `idle` is 1 when nothing is being written: then the
 *              source may wait for the next one, and 0 ends the call.  Otherwise it is asked again after every token,
 *              and must not wait.  Prompts are numbered in the order in which they come: text = i num_return_sequences
 *              + j
 *   others     as rf_session_generate_all                                                                            */
typedef int rf_prompt_source(void *user, int idle, rf_prompt *prompt);
rf_status rf_session_generate_from(rf_session *session, rf_prompt_source *source, const rf_generate_options *options,
                                   rf_generate_sink *sink, rf_generate_done *done, void *user, rf_error *why);

/* What a text that is there is worth: logprob[i] = log p(id[i] | those before it in its window), i < n; logprob[0] is
 * 0, nothing is before it.  Windows of `window` tokens (0: one of all) begin every `stride` tokens (0: window - 1, the
 * most); a token's is the first that holds it, so that all but the first window's have window - stride others before
 * them at least.  The sliding-window perplexity of transformers' documentation is exp(-mean logprob).
 *
 *   RF_EARG          no token; a stride of a window or more      RF_EUNSUPPORTED  as rf_session_generate
 *   RF_ERANGE        an id; a window longer than a learned table of positions                                        */
rf_status rf_session_logprobs(rf_session *session, const int32_t id[], int64_t n, int64_t window, int64_t stride,
                              double logprob[], rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
