/* generate.h — text generation with a causal model, and translation with an encoder-decoder model: greedy decoding,
 * sampling and beam search.
 *
 *     score(w)    logit(w); for a token that is already in the text it is divided by repetition_penalty if positive,
 *                 else multiplied by it                                                            Keskar et al. 2019;
 *                 for a token that is k times in the new text, minus presence_penalty + k frequency_penalty, as the
 *                 API of OpenAI has it
 *     greedy      the token with the largest score; of equal ones the smallest id
 *     do_sample   w is drawn from softmax(score / temperature), restricted to the top_k largest scores, and of these
 *                 to the fewest tokens whose probabilities sum to top_p      Fan et al. 2018; Holtzman et al. 2020
 *     num_beams   beam search for the text with the largest sum of log p / tokens^length_penalty
 *
 * Names and order of the options are those of transformers' generate. A sampled token is a function of (seed, prompt,
 * occurrence, index of the token). It does not depend on the number of threads or on earlier calls.
 *
 * threads   as for the session */
#ifndef ROFORMER_GENERATE_H
#define ROFORMER_GENERATE_H

#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Limits of the options below. */
#define RF_NEW_TOKENS_MOST 1048576
#define RF_TEMPERATURE_LEAST 1e-6
#define RF_TEMPERATURE_MOST 1e6
#define RF_TOP_K_MOST 16777216
#define RF_TOP_P_LEAST 1e-6
#define RF_REPETITION_PENALTY_LEAST 1e-6
#define RF_REPETITION_PENALTY_MOST 1e6
#define RF_PRESENCE_PENALTY_MOST 2
#define RF_RETURN_SEQUENCES_MOST 4096
#define RF_BATCH_SIZE_MOST 4096
#define RF_LENGTH_PENALTY_MOST 100
#define RF_TOP_LOGPROBS_MOST 128

/* When a beam search with num_beams finished texts stops. RF_STOP_HEURISTIC: when no beam can score better at its
 * current length. RF_STOP_EARLY: immediately. RF_STOP_NEVER: when no beam can score better at its best possible length.
 * These are transformers' early_stopping False, True and "never". */
typedef enum rf_stop_search { RF_STOP_HEURISTIC, RF_STOP_EARLY, RF_STOP_NEVER } rf_stop_search;

/* The divisor of a text's log-probability in beam search: n^a (fairseq, transformers), or ((5 + n) / 6)^a (GNMT, Wu et
 * al. 2016). a is length_penalty; n is the number of tokens, including the one that ends the text. */
typedef enum rf_length_norm { RF_LENGTH_POWER, RF_LENGTH_GNMT } rf_length_norm;

/* A token that the model could have chosen. */
typedef struct rf_token_logprob { int32_t id; double logprob; } rf_token_logprob;

typedef struct rf_generated {
    int32_t id;
    int64_t index;              /* 0, 1, ... */
    double logprob;             /* log softmax(logits)[id] of the model, before temperature and other processing */
    int stops;                  /* 1: the token is one of options->stop */
    int64_t text;               /* prompt i, sample j: i num_return_sequences + j */
    const rf_token_logprob *top;    /* [tops] the most likely tokens of the model, most likely first: top_logprobs of
                                   them; until the function returns that receives this */
    int64_t tops;
} rf_generated;

/* Called immediately after every new token. A return value other than 0 ends the text. */
typedef int rf_generate_sink(void *user, const rf_generated *token);

typedef struct rf_generate_options {
    size_t size;                /* of this struct, set by rf_generate_defaults */
    int64_t max_new_tokens;
    int do_sample;              /* 1: sample; 0: greedy */
    double temperature;         /* below 1: more probability for likely tokens */
    int64_t top_k;              /* 0: no limit */
    double top_p;               /* 1: no limit */
    double repetition_penalty;  /* 1: no penalty */
    uint64_t seed;
    uint64_t occurrence;        /* 0; use 1, 2, ... for other samples of the same prompt */
    const int32_t *stop;        /* [stops] tokens that end a text */
    int64_t stops;
    const int32_t *suppress;    /* [suppressed] tokens that are never generated */
    int64_t suppressed;
    double min_p;               /* minimum probability relative to the most likely token; 0: no limit */
    double typical_p;           /* locally typical sampling; 1: no limit */
    int64_t no_repeat_ngram_size;   /* sequences of this many tokens never repeat, prompt included; 0: no limit */
    int64_t num_return_sequences;   /* texts for each prompt: samples, or the best of num_beams */
    int64_t batch_size;         /* maximum number of texts generated at the same time */
    rf_type cache_type;         /* type of keys and values: RF_F32 or RF_BF16 (rf_sequence_options.type) */
    int64_t num_beams;          /* above 1: beam search; returns the best num_return_sequences texts */
    double length_penalty;      /* beam search: exponent of the length in the score; default 1 */
    rf_stop_search early_stopping;
    /* [stop_strings] Used by rf_generate and rf_generate_texts only (pipeline.h): a text ends after the first of these
       strings in the new text. Strings in the prompt do not count. */
    const char *const *stop_string;
    int64_t stop_strings;
    rf_length_norm length_norm; /* the function that length_penalty is the exponent of */
    int32_t forced_bos;         /* the first new token; -1: not forced */
    int32_t forced_eos;         /* the token with index max_new_tokens - 1; -1: not forced */
    int renormalize_logits;     /* beam search: exclude suppressed tokens from the softmax */
    double max_length_factor;   /* translations: maximum number of new tokens for each source token; 0: no limit */
    int64_t max_length;         /* maximum tokens of prompt and new text together; a prompt of that length is
                                   refused; 0: no limit. No effect on translations */
    int special_tokens;         /* rf_generate, rf_generate_texts: 1: also allow [PAD], [UNK], [CLS], [MASK] */
    int64_t min_new_tokens;     /* tokens in `stop` are not chosen before so many new tokens; 0: no limit */
    int64_t min_length;         /* without min_new_tokens, the same with the tokens of the prompt; translations: with
                                   the decoder's first token */
    int64_t top_logprobs;       /* number of tokens in rf_generated.top; without effect on beam search */
    rf_generate_sink *token;    /* rf_generate, rf_generate_texts: called with `token_user` and every new token, before
                                   the text that it adds; or NULL */
    void *token_user;
    double presence_penalty;    /* for tokens of the new text, not of the prompt; below 0: they become likelier; 0:  */
    double frequency_penalty;   /* none. Not with beam search */
    int32_t decoder_start;      /* translations: the token before the first one; -1: decoder_start_token_id */
} rf_generate_options;

/* The defaults: greedy, one beam, length_penalty 1, 64 new tokens, temperature 1, top_k 0, top_p 1, min_p 0, typical_p
 * 1, repetition_penalty 1, seed 42, one text for each prompt, 64 texts at a time, cache in f32; no stop tokens, no
 * suppressed and no forced tokens. */
void rf_generate_options_init(rf_generate_options *o, size_t size);
#define rf_generate_defaults(o) rf_generate_options_init((o), sizeof *(o))

/* The settings of a model folder: generation_config.json, or config.json if that file does not exist. Settings that it
 * does not have come from rf_generate_defaults, or from rf_translate_defaults for a translation model.
 * With do_sample but without top_k, top_k is 50, as in transformers. Lists belong to the model. */
void rf_generate_model_init(const rf_model *m, rf_generate_options *o, size_t size);
#define rf_generate_model_defaults(m, o) rf_generate_model_init((m), (o), sizeof *(o))

/* Checks whether the settings of the folder can be honored. RF_EUNSUPPORTED, RF_EDATA: a key is not supported or has an
 * invalid value; the caller can still generate with options of its own. */
rf_status rf_generate_model_check(const rf_model *m, rf_error *why);

typedef enum rf_generate_end {
    RF_GENERATE_LENGTH,
    RF_GENERATE_STOP,
    RF_GENERATE_SINK,
    RF_GENERATE_FAILED
} rf_generate_end;

/* Continues id[0..n), n at least 1, until there are max_new_tokens, a stop token is generated, or the sink returns a
 * value other than 0.
 *
 *   session     its sequences (model.h) are not changed
 *   options     NULL: rf_generate_model_defaults, with the errors of rf_generate_model_check
 *   end         receives why the text ended; may be NULL
 *   cost        one forward pass of one token and attention to the earlier tokens, for each token. With position
 *               encodings whose keys cannot be cached (dynamic, longrope, rerope), the whole text is recomputed for
 *               each token
 *   RF_EARG         an option is out of range
 *   RF_EUNSUPPORTED is_decoder is false in config.json, or the model has no language-model head
 *   RF_ERANGE       an id is out of range; a position is beyond the model's position table, in which case the tokens
 *                   before it have been passed to the sink */
rf_status rf_session_generate(rf_session *session, const int32_t id[], int64_t n, const rf_generate_options *options,
                      rf_generate_sink *sink, void *user, rf_generate_end *end, rf_error *why);

/* Continues many prompts with continuous batching: batch_size texts are generated at the same time, and when one ends,
 * the next one starts. Each text has the same bits as alone. Repeated prompts with different `occurrence` give
 * different samples. A common beginning of several prompts is computed once while texts that have it are in the batch.
 *
 *   sink       called for every new token of every text; calls for different texts come in no particular order; may be
 *              NULL
 *   done       called when a text ends. `why` is the error if only this text failed, for example because of a position
 *              beyond the position table; the other texts continue. A return value other than 0 ends the call, and the
 *              remaining texts are not reported. NULL: the first such error is returned after all other texts are done
 *   limit      with rf_sequence_limit, a text starts when its keys and values at maximum length fit next to those of
 *              the running texts; RF_ERANGE: it does not fit even alone. Without a limit, it starts when the keys and
 *              values of its prompt fit in the memory available to this process
 *   others     as rf_session_generate */
typedef struct rf_prompt {
    const int32_t *id;          /* [n] */
    int64_t n;
    uint64_t occurrence;        /* added to `occurrence` of the options */
} rf_prompt;
typedef int rf_generate_done(void *user, int64_t text, rf_generate_end end, const rf_error *why);
rf_status rf_session_generate_all(rf_session *session, const rf_prompt prompt[], int64_t prompts,
                                  const rf_generate_options *options, rf_generate_sink *sink, rf_generate_done *done,
                                  void *user, rf_error *why);

/* Log-probabilities of a given text: logprob[i] = log p(id[i] | the tokens before it in its window), i < n; logprob[0]
 * is 0. Windows have `window` tokens (0: one window for the whole text), and a window starts every `stride` tokens (0:
 * window - 1, the maximum). A token is evaluated in the first window that contains it, so after the first window, each
 * token has at least window - stride tokens before it. exp(-mean logprob) is the sliding-window perplexity of
 * transformers' documentation. With `tops` above 0, top[i tops ...] receives the most likely tokens in the place of
 * id[i], most likely first; ids are -1 for i 0, and where the vocabulary has no more.
 *
 *   top              [n tops]; may be NULL if tops is 0
 *   RF_EARG          no tokens; stride is not smaller than window
 *   RF_EUNSUPPORTED  as rf_session_generate
 *   RF_ERANGE        an id is out of range; a window is longer than the model's position table */
rf_status rf_session_logprobs(rf_session *session, const int32_t id[], int64_t n, int64_t window, int64_t stride,
                              double logprob[], int64_t tops, rf_token_logprob top[], rf_error *why);

/* ---- translation with an encoder-decoder model ----
 *
 *     rf_translate_defaults(model, &o);                                settings of generation_config.json
 *     rf_session_translate(session, source, n, &o, done, user, &why);  done(user, &translation, ...) for each
 *
 * Each source is encoded once; all beams share its keys and values. Many sources are translated at the same time with
 * continuous batching: when a translation is done, the next source starts. Each translation has the same bits as alone.
 * rf_generate_options selects the search: greedy decoding, beam search (num_beams) or sampling (do_sample).
 *
 *     score = log p(translation | source) / norm(n),     n tokens, including the one that ends the translation
 *     norm  = n^length_penalty                           fairseq; transformers
 *             ((5 + n) / 6)^length_penalty               RF_LENGTH_GNMT: Wu et al. 2016, Eq. 14 */

/* A source: the tokens of a text, followed by eos_token_id. */
typedef struct rf_translate_source {
    const int32_t *id;          /* [n] */
    int64_t n;
    const int32_t *prefix;      /* [prefixes] tokens that the translation starts with, after decoder_start_token_id;
                                   or NULL */
    int64_t prefixes;
    uint64_t occurrence;        /* added to `occurrence` of the options */
} rf_translate_source;

typedef struct rf_translation {
    int64_t source;             /* index of the source */
    int64_t rank;               /* 0 is the best of num_return_sequences beams; or the number of the sample */
    rf_generate_end end;        /* RF_GENERATE_STOP, or RF_GENERATE_LENGTH if the maximum length was reached */
    int64_t n;
    const int32_t *id;          /* [n] after the prefix, without the token that ends the translation */
    int64_t logprobs;           /* n, or n + 1 with the end token; for joined parts, n and their end tokens */
    const double *logprob;      /* [logprobs] log softmax(logits)[id]; logprob[i] belongs to id[i] */
    double total, score;        /* sum of all logprob; the score that beams are compared by */
} rf_translation;

/* The settings of a model folder: num_beams, length_penalty, max_new_tokens and others of generation_config.json, or of
 * config.json if that file does not exist; eos_token_id ends a text; bad_words_ids are suppressed, or
 * decoder_start_token_id if there are none. Settings that it does not have: one beam, at most 256 tokens, 128
 * translations at a time. Lists belong to the model. m NULL: these defaults, without lists. */
void rf_translate_init(const rf_model *m, rf_generate_options *o, size_t size);
#define rf_translate_defaults(m, o) rf_translate_init((m), (o), sizeof *(o))

/* The settings of a task in task_specific_params of config.json, such as "summarization" or "translation_en_to_de" in
 * T5's folders, over those of the folder; and the text that comes before each source ("": none).
 *
 *   prefix        [size] terminated by a zero
 *   RF_EUNSUPPORTED  the model has no such task, or a setting of it is not supported
 *   RF_EDATA      a setting has the wrong type or is out of range, or the text is longer than `size` */
rf_status rf_translate_task_sized(const rf_model *m, const char *task, rf_generate_options *o, size_t options_size,
                                  char *prefix, size_t size, rf_error *why);
#define rf_translate_task(m, task, o, prefix, size, why) \
    rf_translate_task_sized((m), (task), (o), sizeof *(o), (prefix), (size), (why))

/* Checks whether the model translates with the settings of its folder. RF_EUNSUPPORTED: it is not an encoder-decoder
 * model, or generation_config.json has a setting that is not supported (the message names it); in the second case the
 * caller can still translate with options of its own. */
rf_status rf_translate_check(const rf_model *m, rf_error *why);

/* Called with each translation, which is valid until the call returns; or once with NULL and the error of this source.
 * The translations of a source are reported in order of rank, those of different sources in no particular order. A
 * return value other than 0 ends the whole call. */
typedef int rf_translate_done(void *user, int64_t source, const rf_translation *translation, const rf_error *why);

/* Translates sources.
 *
 *   options    NULL: rf_translate_defaults. num_return_sequences above 1 returns the best of num_beams, or that many
 *              samples. stop NULL and suppress NULL: the stop and suppressed tokens of the model's folder
 *   limit      as rf_session_generate_all, plus rf_sequence_source_bytes for each source in the batch
 *   RF_EARG          an option is out of range; more beams than tokens in the vocabulary
 *   RF_EUNSUPPORTED  the model has no decoder */
rf_status rf_session_translate(rf_session *session, const rf_translate_source source[], int64_t n,
                               const rf_generate_options *options, rf_translate_done *done, void *user, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
