/* translate.h — translations by a model of an encoder and a decoder.
 *
 *     rf_translate_defaults(model, &o);                                what generation_config.json says, too
 *     rf_session_translate(session, source, n, &o, done, user, &why);  done(user, &translation, ...) for each
 *
 * The encoder reads a source once; what the decoder looks at of it is kept and shared by all beams.  Many sources are
 * translated side by side, each with the bits that it has alone: a translation that is done leaves the batch, the next
 * source enters (continuous batching).  How a translation is found is what rf_generate_options say (generate.h): the
 * likeliest token each time, num_beams for the likeliest text, do_sample.
 *
 *     score = log p(translation | source) / norm(n),     n tokens, that which ends it included
 *     norm  = n^length_penalty                           fairseq; transformers
 *             ((5 + n) / 6)^length_penalty               RF_LENGTH_GNMT: Wu et al. 2016, Eq. 14
 *
 * threads   as the session's                                                                                         */
#ifndef ROFORMER_TRANSLATE_H
#define ROFORMER_TRANSLATE_H

#include "roformer/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is translated: the tokens of a text, eos_token_id behind them. */
typedef struct rf_translate_source {
    const int32_t *id;          /* [n] */
    int64_t n;
    const int32_t *prefix;      /* [prefixes] translations begin with these, behind decoder_start_token_id; or NULL */
    int64_t prefixes;
    uint64_t occurrence;        /* added to the options' */
} rf_translate_source;

typedef struct rf_translation {
    int64_t source;             /* which of the sources */
    int64_t rank;               /* 0: the best of num_return_sequences beams; or which sample */
    rf_generate_end end;        /* RF_GENERATE_STOP, or RF_GENERATE_LENGTH: it is as long as it may be */
    int64_t n;
    const int32_t *id;          /* [n] behind the prefix, without the token that ends it */
    int64_t logprobs;           /* n, or n + 1 with the token that ends it; of joined parts n and their ends */
    const double *logprob;      /* [logprobs] log softmax(logits)[id]; that of id[i] is logprob[i] */
    double total, score;        /* sum of all logprob; what beams are compared by */
} rf_translation;

/* The options as a translator has them by its files: num_beams, length_penalty, max_new_tokens and the like of
 * generation_config.json, or of config.json where there is none; what ends a text (eos_token_id), what is never written
 * (bad_words_ids; without any decoder_start_token_id); else one beam, at most 256 tokens, 128 translations at a time.
 * Lists belong to the model.  m NULL: those of no model, without lists. */
void rf_translate_init(const rf_model *m, rf_generate_options *o, size_t size);
#define rf_translate_defaults(m, o) rf_translate_init((m), (o), sizeof *(o))

/* Whether it translates, as its files say.  RF_EUNSUPPORTED: no decoder beside an encoder, or generation_config.json
 * asks for what is not there (a message names it); options of one's own can do without. */
rf_status rf_translate_check(const rf_model *m, rf_error *why);

/* A translation that is whole, lent until the call returns; or NULL and why source `source` has none, which is told
 * once.  The best of a source comes first; between sources there is no order.  Anything but 0 ends all. */
typedef int rf_translate_done(void *user, int64_t source, const rf_translation *translation, const rf_error *why);

/* Translates sources.
 *
 *   options    NULL: rf_translate_defaults; num_return_sequences above 1: the best of num_beams, or so many samples.
 *              stop NULL, suppress NULL: what ends a text and what is never written by the model's files
 *   limit      as rf_session_generate_all; rf_sequence_source_bytes besides for each source that is there
 *   RF_EARG          an option outside its limits; a beam wider than the vocabulary
 *   RF_EUNSUPPORTED  the model has no decoder                                                                        */
rf_status rf_session_translate(rf_session *session, const rf_translate_source source[], int64_t n,
                               const rf_generate_options *options, rf_translate_done *done, void *user, rf_error *why);

/* What given translations are worth: logprob[i] = log p(target.id[i] | those before it in its target, its source), of
 * all targets end to end, as they are in the batch.  Targets are without decoder_start_token_id, and with eos_token_id
 * where their end counts; sequence b of `target` translates sequence b of `source`.
 *
 *   RF_EUNSUPPORTED  the model has no decoder         RF_EARG, RF_ERANGE  as rf_session_pair_logits                  */
rf_status rf_session_translation_logprobs(rf_session *session, const rf_batch *source, const rf_batch *target,
                                          double logprob[], rf_error *why);

/* What a translation looks at: p, pair after pair [T_b, S_b], the share that attention of the decoder's layer `layer`
 * (0 the first, -1 the last), which makes token t of target b, gives to each token of source b, the mean over its
 * heads. Each row adds up to 1.  Otherwise as rf_session_translation_logprobs. */
rf_status rf_session_translation_attention(rf_session *session, const rf_batch *source, const rf_batch *target,
                                           int64_t layer, float p[], rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
