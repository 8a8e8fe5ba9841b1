/* session.h — internal calls of an open session and of its sequences, besides generate.h. */
#ifndef RF_DECODE_SESSION_H
#define RF_DECODE_SESSION_H

#include "model/model.h"
#include "roformer/generate.h"

/* Calls the observer with every layer's attention in the session's next calls; NULL: no longer. */
void rf__session_observe(rf_session *s, rf__observer *observer, void *user);

/* From now on, the time at which a forward pass ended last is stored in *clock; NULL: nowhere. */
void rf__session_clock(rf_session *s, _Atomic double *clock);

/* rf_session_hidden where only the first seen[b] tokens of sequence b [B] are attended to. RF_EUNSUPPORTED: the model
 * cannot (rf__encoder_forward_seen). */
rf_status rf__session_hidden_seen(rf_session *s, const rf_batch *batch, const int32_t seen[], const float **hidden,
                                  rf_error *why);

const rf_model *rf__session_model(const rf_session *s);

/* The session's sequences. RF_EUNSUPPORTED: the model supports none; see rf_sequence_new. */
rf_status rf__session_cache(rf_session *s, struct rf_cache **out, rf_error *why);
const struct rf_cache *rf__session_kept(const rf_session *s);                   /* NULL: none has begun               */

/* The type in which keys and values are stored if `asked` is requested: with products in bf16, bf16 loses nothing. */
rf_type rf__sequence_type(const rf_model *m, rf_type asked);

/* Stores what the decoder needs of each of `source`, in B sequences without tokens; see rf_sequence_read. */
rf_status rf__session_read(rf_session *s, rf_type type, const rf_batch *source, rf_sequence out[], rf_error *why);

/* The layers that generate: the decoder's, or all. */
const rf_stack *rf__model_writer(const rf_model *m);

/* Bytes in use for the session's workspace and its sequences. */
size_t rf__session_memory(const rf_session *s);

/* rf_session_generate_all for prompts that arrive during generation, for example in a server.
 *
 *   source     called when there is space for another prompt. It returns 1 and sets *prompt, whose ids must stay valid
 *              until it is called again, or it returns 0 if there is no prompt now. If `idle` is 1, no text is running:
 *              the function may wait for a prompt, and returning 0 ends the call. If `idle` is 0, it must not wait; it
 *              is called again after every token. Prompts are numbered in the order of their arrival: text = i
 *              num_return_sequences + j
 *   others     as rf_session_generate_all */
typedef int rf_prompt_source(void *user, int idle, rf_prompt *prompt);
rf_status rf__session_generate_from(rf_session *session, rf_prompt_source *source, const rf_generate_options *options,
                                    rf_generate_sink *sink, rf_generate_done *done, void *user, rf_error *why);

/* rf_session_translate for sources that arrive during translation, for example in a server: they join the running
 * translations, and each leaves when it is done.
 *
 *   next       called when there is space for another source. It returns 1 and sets *source, whose lists are copied, or
 *              it returns 0 if there is no source now. If `idle` is 1, no translation is running: the function may wait
 *              for a source, and returning 0 ends the call. If `idle` is 0, it must not wait; it is called again after
 *              every step. Sources are numbered in the order of their arrival
 *   cost       a copy of each source and about 60 bytes, until the call ends
 *   others     as rf_session_translate */
typedef int rf_translate_next(void *user, int idle, rf_translate_source *source);
rf_status rf__session_translate_from(rf_session *session, rf_translate_next *next, const rf_generate_options *options,
                                     rf_translate_done *done, void *user, rf_error *why);

/* Log-probabilities of given translations: logprob[i] = log p(target->id[i] | the tokens before it in its target, and
 * its source), for all tokens of `target` in the order of the batch. Targets do not contain the token before them,
 * which is `start`, or with -1 decoder_start_token_id.
 * Append eos_token_id to include the end of a translation. Sequence b of `target` is the translation of sequence b of
 * `source`.
 *
 *   RF_EUNSUPPORTED  the model has no decoder
 *   RF_EARG, RF_ERANGE  as rf_session_pair_logits */
rf_status rf__session_translation_logprobs(rf_session *session, const rf_batch *source, const rf_batch *target,
                                           int32_t start, double logprob[], rf_error *why);

/* Cross-attention weights of given translations: p holds a matrix [T_b, S_b] for each pair, one after the other. A row
 * holds the weights that the decoder's layer `layer` (0 the first, -1 the last) assigns to the source tokens while it
 * predicts target token t, averaged over the heads. Each row sums to 1. In all other respects as
 * rf__session_translation_logprobs. */
rf_status rf__session_translation_attention(rf_session *session, const rf_batch *source, const rf_batch *target,
                                            int32_t start, int64_t layer, float p[], rf_error *why);

#endif
