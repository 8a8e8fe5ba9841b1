/* pipeline.h — a model folder, and one call for each question: vectors of texts, words for masks, labels, more text.
 *
 *     const char *text[] = {"A dog barks.", "Prices fell."};
 *     if (rf_pipeline_open(NULL, "folder", RF_F32, &p, &why)) ...
 *     if (rf_embed_texts(p, text, NULL, 2, NULL, &vectors, NULL, &why)) ...
 *     rf_pipeline_close(p);
 *
 * What the program's commands do is done here: texts become tokens, are sorted by length and computed in batches
 * without padding; results come in the order of the texts.  A text's result is the same bits whatever else is in the
 * call and however many threads work.  For batches of your own, see model.h.
 *
 * Results    belong to the pipeline and hold until its next call; their structs may grow, and a program that was
 *            compiled with an older header reads what it knows
 * Options    NULL means what the folder says; else begin with rf_embed_defaults, rf_fill_defaults, ...
 * threads    an rf_pipeline belongs to one thread at a time; inside it uses the workers of its context             */
#ifndef ROFORMER_PIPELINE_H
#define ROFORMER_PIPELINE_H

#include "roformer/finetune.h"
#include "roformer/generate.h"
#include "roformer/model.h"
#include "roformer/reader.h"
#include "roformer/translate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_pipeline rf_pipeline;

/* Opens a model folder for all of these questions; which of them the model can answer goes by its head.  A folder in
 * memory: memory_folder.h.
 *
 *   ctx        NULL: a context of its own, with all defaults
 *   type       what matrices are kept and multiplied in: RF_F32, RF_BF16 or RF_I8 (rf_model_open_as)
 *   out        closed with rf_pipeline_close; untouched on error
 *   RF_EARG    no folder, no `out`            RF_EDATA   also: the folder has no tokenizer
 *   others     as rf_model_open                                                                                      */
rf_status rf_pipeline_open(const rf_ctx *ctx, const char *folder, rf_type type, rf_pipeline **out, rf_error *why);

/* A pipeline on a model that is open: as many as there are threads that answer, say one for each connection of a
 * server.  It asks the folder that the model was opened from, or, of a model that rf_pipeline_open opened, the folder
 * that this was given, for all but the weights.
 *
 *     rf_model_open(ctx, folder, &model, &why);                       once
 *     rf_pipeline_on(model, &p, &why);                                in each thread
 *
 *   model      the caller's, who closes it when all pipelines on it are closed; of another pipeline
 *              (rf_pipeline_model) that one's, which is closed last
 *   threads    pipelines on one model may be used at the same time, each by one thread, and be opened and closed
 *              meanwhile; bits of results do not depend on it.  They share the workers of the model's context, so
 *              that one call with more texts is faster than several calls beside each other
 *   cost       a session's workspace and the lists of results; no weights
 *   RF_EARG    the model comes from no folder (rf_model_random)        others     as rf_pipeline_open                */
rf_status rf_pipeline_on(const rf_model *model, rf_pipeline **out, rf_error *why);

void rf_pipeline_close(rf_pipeline *p);                         /* NULL is fine                                      */

/* From now on the pipeline's calls look at `cancel`, which the caller keeps (cancel.h); NULL: at none.  Its answerer
 * does, too. */
void rf_pipeline_set_cancel(rf_pipeline *p, const rf_cancel *cancel);

/* What it is made of, for those who need more; the pipeline's. */
const rf_model *rf_pipeline_model(const rf_pipeline *p);
rf_session *rf_pipeline_session(rf_pipeline *p);
rf_answerer *rf_pipeline_answerer(rf_pipeline *p);              /* NULL: the model has not been fine-tuned           */

/* What sentence-transformers' files in the folder, or its config.json, say of vectors of texts: *out is the pipeline's,
 * or NULL where they say nothing.  A model in a folder below (its Transformer's path) is opened from there.
 *
 *   RF_EUNSUPPORTED, RF_EDATA  as rf_sentence_read, which other questions than vectors do not ask                    */
rf_status rf_pipeline_sentence(const rf_pipeline *p, const rf_sentence **out, rf_error *why);

/* Texts are `n` pointers with their sizes in bytes; sizes NULL, or a size RF_STRING: up to the text's zero. */
#define RF_STRING ((size_t)-1)

/* How far a call got.  A text that cannot be read (not UTF-8, no mask) ends the call there: the results of those
 * before it are given, and `bad` says which it was.  With a report `why` speaks of that text alone; without one it
 * names its number.  Calls that fail lend one, too, unless no pipeline is given. */
typedef struct rf_texts_report {
    int64_t done;               /* texts with a result: the first ones                                               */
    int64_t bad;                /* the text that could not be read; -1: the failure, if any, is of no single text     */
    int64_t tokens;             /* of the texts that are done, [CLS] and [SEP] included                              */
    int64_t cut;                /* of these texts, the ones that were longer than max_length                         */
    int64_t unknown;            /* of these tokens, those for what the vocabulary does not have; rf_embed_texts      */
} rf_texts_report;

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* The defaults leave to the folder what it says of its vectors (rf_pipeline_sentence); where it says nothing, vectors
 * are means of all tokens, neither normalized nor cut, of texts without a prompt.  rf_embed_defaults_of shows which. */
typedef struct rf_embed_options {
    size_t size;                /* of this struct, set by rf_embed_defaults                                          */
    rf_pooling pooling;         /* how the vectors of tokens become one: RF_POOL_AUTO                                */
    int normalize;              /* 1: every vector has length 1; 0: as it is; -1: as the folder says; -1             */
    int64_t max_length;         /* texts are cut to so many tokens; 0: never; -1: as the folder says, or to
                                 * max_position_embeddings; -1                                                       */
    int64_t batch_tokens;       /* tokens that a thread computes together: 192                                       */
    int64_t dimensions;         /* above 0: vectors are cut to their first so many numbers, before normalize; 0: they
                                 * are not; -1: to the folder's truncate_dim, after normalize; -1                    */
    const char *prompt;         /* put before every text; "": nothing; NULL: the folder's default prompt; NULL       */
    int cut_last;               /* 1: cut to dimensions after normalize, as truncate_dim is: lengths are below 1; 0   */
    const char *prompt_name;    /* the folder's prompt of this name, in place of `prompt`; NULL                      */
} rf_embed_options;
void rf_embed_options_init(rf_embed_options *o, size_t size);
#define rf_embed_defaults(o) rf_embed_options_init((o), sizeof *(o))

/* What rf_embed_texts goes by when it is given these options (NULL: the defaults): *out has them with what the folder
 * says in the place of what they leave to it, and a `prompt` in that of prompt_name.
 *
 *   out        may be `given`; its prompt is the folder's or the caller's
 *   RF_EARG    an option outside its limits; prompt and prompt_name; the folder has no prompt of this name
 *   RF_EUNSUPPORTED  RF_POOL_CLS of a causal model, whose first token has seen no other; a prompt, and include_prompt
 *              is false
 *   others     as rf_pipeline_sentence                                                                              */
rf_status rf_embed_settle_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out, size_t size,
                                rf_error *why);
#define rf_embed_settle(p, given, out, why) rf_embed_settle_sized((p), (given), (out), sizeof *(out), (why))
#define rf_embed_defaults_of(p, out, why) rf_embed_settle((p), NULL, (out), (why))

/* One vector for each text: [n,C], C = hidden_size of the model's config, or `dimensions`.  An empty text has one, too.
 *
 *   n          0: only the options are looked at
 *   report     or NULL
 *   threads    where there are batches enough, each computes its own; the bits of a vector do not depend on it
 *   cost       4 C n bytes; tokens of at most 4,096 texts at a time
 *   RF_EDATA, RF_ERANGE  a text (rf_encode)         RF_ENUMERIC  a vector is not finite
 *   others     as rf_embed_settle                                                                                    */
rf_status rf_embed_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                         const rf_embed_options *options, const float **vectors,
                         const rf_texts_report **report, rf_error *why);

/* ---- words for masks --------------------------------------------------------------------------------------------- */

typedef struct rf_fill_options {
    size_t size;                /* of this struct, set by rf_fill_defaults                                           */
    int64_t top_k;              /* words for each mask, at most all of the vocabulary: 5                             */
    int64_t max_length;         /* texts are cut to so many tokens; 0: never; 0                                      */
    const int32_t *target;      /* [targets] the ids to choose from, each once; NULL: all of the vocabulary          */
    int64_t targets;
    int64_t batch_tokens;       /* tokens computed together: 2048                                                    */
} rf_fill_options;
void rf_fill_options_init(rf_fill_options *o, size_t size);
#define rf_fill_defaults(o) rf_fill_options_init((o), sizeof *(o))

typedef struct rf_mask_word {
    int32_t id;
    float score;                /* softmax(logits at the mask)[id], over the whole vocabulary also with targets       */
    const char *token;          /* as in the vocabulary: "##ing" continues a word; "" for an id that it has not       */
} rf_mask_word;
typedef struct rf_mask {
    int64_t text;               /* which of the texts                                                                */
    int64_t number, of;         /* from 0, of the masks of that text                                                 */
    const rf_mask_word *word;   /* [words] most likely first, of equal ones the smaller id first                     */
    int64_t words;
} rf_mask;

/* The likeliest words for each mask token (rf_tokenizer_options.mask, "[MASK]") of the texts.
 *
 *   options    NULL: rf_fill_defaults; a folder says nothing of them
 *   mask       [masks], in the order of the texts; every text has at least one
 *   RF_EUNSUPPORTED  no language-model head; a causal model: what follows a mask does not reach it
 *   RF_EDATA         a text without a mask; the tokenizer has none
 *   others     as rf_embed_texts                                                                                     */
rf_status rf_fill_mask(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const rf_fill_options *options, const rf_mask **mask, int64_t *masks,
                       const rf_texts_report **report, rf_error *why);

/* The text of mask->text with word `id` in the mask's place; special tokens stay while it has other masks.  Only after
 * rf_fill_mask, of a mask that it gave.  *size (or NULL) receives its bytes; freed with rf_text_free; NULL: no
 * memory. */
char *rf_fill_sequence(const rf_pipeline *p, const rf_mask *mask, int32_t id, size_t *size);

/* ---- whole words ------------------------------------------------------------------------------------------------- */

typedef struct rf_word_options {
    size_t size;                /* of this struct, set by rf_word_defaults                                           */
    int64_t words;              /* words that are asked, those of the smallest hashes: 10000                         */
    int64_t context;            /* bytes of the document on each side of the word, cut to whole words: 250           */
    int64_t batch_tokens;       /* tokens computed together: 2048                                                    */
    const rf_reader_options *reader;    /* how the text is read; NULL: as its files look                             */
} rf_word_options;
void rf_word_options_init(rf_word_options *o, size_t size);
#define rf_word_defaults(o) rf_word_options_init((o), sizeof *(o))

typedef struct rf_word_scores {
    int64_t words, of;          /* asked; that the text has                                                          */
    int64_t documents;
    int64_t right;              /* words whose every token was the likeliest at its place                            */
    int64_t single, single_right;   /* of these, words of one token                                                  */
    int64_t unknown;            /* words that the vocabulary cannot spell: never right, and not in what follows      */
    int64_t tokens, characters;
    double nats;                /* - sum of log p of the words' tokens                                               */
} rf_word_scores;

/* How well a masked language model predicts whole words of held-out text: all tokens of a word are masked, one word at
 * a time.  A word is a run of ASCII letters between what is neither letter, digit nor apostrophe; which of them are
 * asked follows from hashes of the documents, not from the vocabulary.  Words count without regard to case.
 *
 *   cost       memory: 2 context + 100 bytes a word
 *   RF_EUNSUPPORTED  no language-model head; a causal model
 *   RF_EDATA         no word in the text; the tokenizer has no mask token      others as rf_reader_next              */
rf_status rf_predict_words(rf_pipeline *p, const char *const paths[], int n, const rf_word_options *options,
                         const rf_word_scores **out, rf_error *why);

/* ---- labels ------------------------------------------------------------------------------------------------------ */

typedef struct rf_label_score { const char *label; double score; } rf_label_score;

/* What a fine-tuned model says about a text or a pair: all labels with their probabilities, the most likely first; of a
 * regression its numbers.  All that there is to say comes from the folder: problem_type decides between softmax and
 * one sigmoid for each label, and texts are cut to the length of fine-tuning (rf_answerer_reading shows it, and how
 * many were cut).
 *
 *   text              NULL: only whether the model can
 *   pair, pair_bytes  the second text, or NULL and 0
 *   RF_EUNSUPPORTED   the model has not been fine-tuned, or to label something else than texts                       */
rf_status rf_classify(rf_pipeline *p, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                      const rf_label_score **label, int64_t *labels, rf_error *why);

/* ---- more text --------------------------------------------------------------------------------------------------- */

typedef struct rf_generation {
    const char *text;           /* what follows the prompt                                                           */
    size_t bytes;
    rf_generate_end end;
    int64_t prompt_tokens;      /* with [CLS]                                                                        */
    int64_t n;                  /* tokens generated, without the one that ends a text                                */
    const int32_t *id;          /* [n]                                                                               */
    const double *logprob;      /* [n] rf_generated.logprob                                                          */
} rf_generation;

/* The options that rf_generate and rf_generate_texts go by when they are given none: rf_generate_model_defaults, with
 * [SEP] as the token that ends a text where the folder names none.
 *
 *   out              its lists belong to the pipeline and its model
 *   RF_EUNSUPPORTED, RF_EDATA  a key of generation_config.json cannot be followed (rf_generate_model_check): options
 *                    of one's own can do without                                                                    */
rf_status rf_generate_defaults_of_sized(const rf_pipeline *p, rf_generate_options *out, size_t size, rf_error *why);
#define rf_generate_defaults_of(p, out, why) rf_generate_defaults_of_sized((p), (out), sizeof *(out), (why))

/* Called with text as it comes, for every token; anything but 0 ends the generation (RF_GENERATE_SINK). */
typedef int rf_text_sink(void *user, const char *text, size_t bytes);

/* Continues a prompt: [CLS] and its tokens, without the [SEP] that would end it.  The text of n tokens begins that of
 * n + 1.
 *
 *   options    NULL: rf_generate_defaults_of.  Without stops the folder's own tokens end a text, or, where it names
 *              none, [SEP].  Without suppressed, or with the folder's own list, what is never chosen is that list, ids
 *              that the tokenizer has no token for, and, unless special_tokens is 1, [PAD], [UNK], [CLS] and [MASK].
 *              num_return_sequences is 1
 *   sink       or NULL                        out      or NULL
 *   others     as rf_session_generate (generate.h) */
rf_status rf_generate(rf_pipeline *p, const char *prompt, size_t bytes, const rf_generate_options *options,
                      rf_text_sink *sink, void *user, const rf_generation **out, rf_error *why);

/* Many prompts at once, as rf_session_generate_all writes them: prompt i, sample j is text i num_return_sequences + j.
 *
 *   occurrence [n] added to the options', for prompts that come again; or NULL
 *   sink       called with every text as it comes, in no order between texts; anything but 0 ends the text; or NULL
 *   done       called when a text ends: what was generated, lent until it returns, or NULL with its failure.  Anything
 *              but 0 ends all
 *   RF_EARG    prompts without n of them, ...       others as rf_session_generate_all                               */
typedef int rf_texts_sink(void *user, int64_t text, const char *piece, size_t bytes);
typedef int rf_texts_done(void *user, int64_t text, const rf_generation *generation, const rf_error *why);
rf_status rf_generate_texts(rf_pipeline *p, const char *const prompt[], const size_t bytes[],
                            const uint64_t occurrence[], int64_t n, const rf_generate_options *options,
                            rf_texts_sink *sink, rf_texts_done *done, void *user, rf_error *why);

/* ---- translations ------------------------------------------------------------------------------------------------ */

/* A source of more tokens than max_source_length: the text has no translation, or it is translated in parts, which are
 * cut behind sentences where there are any, else between words, and whose translations are joined. */
typedef enum rf_long_source { RF_LONG_REFUSE, RF_LONG_SPLIT } rf_long_source;

typedef struct rf_translate_options {
    size_t size;                /* of this struct, set by rf_translate_text_defaults                                 */
    const rf_generate_options *generate;    /* NULL: rf_translate_defaults of the model                              */
    int64_t max_source_length;  /* tokens of a source, with that which ends it; 0: max_position_embeddings; 0        */
    rf_long_source long_source; /* RF_LONG_REFUSE                                                                    */
    const char *prefix;         /* every translation begins with this text; NULL: none; NULL                         */
    int alignments;             /* 1: which words of the source each translation's words come from; 0                */
} rf_translate_options;
void rf_translate_options_init(rf_translate_options *o, size_t size);
#define rf_translate_text_defaults(o) rf_translate_options_init((o), sizeof *(o))

/* Words, from 0, are what white space separates.  Each word of a translation has one of its source: that to which the
 * decoder's last layer gives most when it writes the word's tokens. */
typedef struct rf_word_pair { int64_t source, target; } rf_word_pair;

typedef struct rf_text_translation {
    const char *text;           /* with the prefix                                                                   */
    size_t bytes;
    rf_translation of;          /* tokens behind the prefix, of all parts; `score` is that of the parts together     */
    int64_t source_tokens, parts;   /* of the source, with those that end it; 0: there was nothing to translate      */
    const rf_word_pair *alignment;  /* [alignments] in the order of the translation's words, where that was asked for */
    int64_t alignments;
} rf_text_translation;

/* Called when a translation of text `text` is there, lent until it returns; or with NULL and why there is none, once.
 * Ranks of a text come in their order where there are beams.  Called once at a time, though not always by the caller's
 * thread.  Anything but 0 ends all. */
typedef int rf_translate_texts_done(void *user, int64_t text, const rf_text_translation *translation,
                                    const rf_error *why);

/* Translates texts by a model of an encoder and a decoder, side by side (rf_session_translate).  A text without a token
 * has a translation without one, num_return_sequences times.
 *
 *   cost       sources and results of one call are held in memory: documents go in windows of a few thousand lines
 *   RF_EUNSUPPORTED  the model has no decoder; generation_config.json asks for what is not there
 *   why of a text    RF_EDATA: not UTF-8; RF_ERANGE: a source that is too long       others as rf_session_translate */
rf_status rf_translate_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                             const rf_translate_options *options, rf_translate_texts_done *done, void *user,
                             rf_error *why);

/* ---- how likely a text is ---------------------------------------------------------------------------------------- */

typedef struct rf_score_options {
    size_t size;                /* of this struct, set by rf_score_defaults                                          */
    int64_t max_length;         /* tokens of a window; 0: max_position_embeddings                                    */
    int64_t stride;             /* tokens from one window's begin to the next one's; 0: half of a window             */
    int end;                    /* 1: the [SEP] that ends a text counts, too                                         */
} rf_score_options;
void rf_score_options_init(rf_score_options *o, size_t size);
#define rf_score_defaults(o) rf_score_options_init((o), sizeof *(o))

typedef struct rf_text_score {
    double total;               /* log p(text | context), the sum of logprob                                         */
    int64_t n;
    const int32_t *id;          /* [n] tokens of the text                                                            */
    const double *logprob;      /* [n]                                                                               */
} rf_text_score;

/* The log-probability of a text behind [CLS] and the context's tokens, by a causal model.  A text longer than a window
 * is read in windows (rf_session_logprobs).
 *
 *   context    or NULL, then 0 bytes; the text begins a token behind it
 *   out        lent until the next call                                                                              */
rf_status rf_score_text(rf_pipeline *p, const char *context, size_t context_bytes, const char *text, size_t bytes,
                        const rf_score_options *options, const rf_text_score **out, rf_error *why);

/* The log-probability of a translation that is given, its end included, by a model of an encoder and a decoder: id and
 * logprob are of the translation's tokens and the one that ends it.
 *
 *   out        lent until the next call
 *   RF_EUNSUPPORTED  the model has no decoder       RF_EDATA, RF_ERANGE  a text (rf_encode); a source too long      */
rf_status rf_score_translation(rf_pipeline *p, const char *source, size_t source_bytes, const char *text, size_t bytes,
                               const rf_translate_options *options, const rf_text_score **out, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
