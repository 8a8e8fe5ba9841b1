/* translate.h — translation with an encoder-decoder model.
 *
 *     rf_translate_defaults(model, &o);                                settings of generation_config.json
 *     rf_session_translate(session, source, n, &o, done, user, &why);  done(user, &translation, ...) for each
 *
 * Each source is encoded once; all beams share its keys and values. Many sources are translated at the same time with
 * continuous batching: when a translation is done, the next source starts. Each translation has the same bits as alone.
 * rf_generate_options (generate.h) selects the search: greedy decoding, beam search (num_beams) or sampling
 * (do_sample).
 *
 *     score = log p(translation | source) / norm(n),     n tokens, including the one that ends the translation
 *     norm  = n^length_penalty                           fairseq; transformers
 *             ((5 + n) / 6)^length_penalty               RF_LENGTH_GNMT: Wu et al. 2016, Eq. 14
 *
 * threads   as for the session */
#ifndef ROFORMER_TRANSLATE_H
#define ROFORMER_TRANSLATE_H

#include "roformer/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

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
