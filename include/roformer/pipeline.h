/* pipeline.h — high-level calls on a model folder: embeddings, masked tokens, labels, generated text, translations,
 * log-probabilities, mutations of proteins.
 *
 *     const char *text[] = {"A dog barks.", "Prices fell."};
 *     if (rf_pipeline_open(NULL, "folder", RF_F32, &p, &why)) ...
 *     if (rf_embed_texts(p, text, NULL, 2, NULL, &vectors, NULL, &why)) ...
 *     rf_pipeline_close(p);
 *
 * The program's commands call these functions. They tokenize the texts, sort them by length and compute them in batches
 * without padding. Results are in the order of the texts. The result for a text has the same bits whatever else is in
 * the call and however many threads work. For batches that you build yourself, see model.h.
 *
 * Texts      text i has bytes[i] bytes. If `bytes` is NULL or bytes[i] is RF_STRING, it ends at its terminating zero
 * Results    belong to the pipeline and are valid until its next call. Result structs may grow; a program compiled with
 *            an older header reads the members that it knows
 * Options    NULL uses the settings of the folder. Otherwise start with rf_embed_defaults, rf_fill_defaults, ...
 * Errors     the comment of a function lists the statuses that it returns; "others as F": all others are those of F
 * threads    an rf_pipeline may be used by one thread at a time; inside a call it uses the workers of its context */
#ifndef ROFORMER_PIPELINE_H
#define ROFORMER_PIPELINE_H

#include "roformer/generate.h"
#include "roformer/model.h"
#include "roformer/inspect/files.h"
#include "roformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_pipeline rf_pipeline;

/* Opens a model folder. The model's head determines which of the calls below are possible. To open a folder that is in
 * memory, see inspect/files.h.
 *
 *   ctx        must outlive the pipeline; NULL: the pipeline creates its own context with default settings
 *   type       type in which matrices are stored and multiplied: RF_F32, RF_BF16, RF_I8 or RF_I8W
 *              (rf_model_open_as)
 *   out        closed with rf_pipeline_close; unchanged on error
 *   RF_EARG    `folder` or `out` is NULL
 *   RF_EDATA   as rf_model_open; also: the folder has no tokenizer
 *   others     as rf_model_open */
rf_status rf_pipeline_open(const rf_ctx *ctx, const char *folder, rf_type type, rf_pipeline **out, rf_error *why);

/* Opens a pipeline on a model that is already open, for example one for each thread or each connection of a server.
 * Everything but the weights is read from the model's folder. For the model of another pipeline (rf_pipeline_model),
 * this is the folder that was given to rf_pipeline_open.
 *
 *     rf_model_open(ctx, folder, &model, &why);                       once
 *     rf_pipeline_on(model, &p, &why);                                in each thread
 *
 *   model      owned by the caller, who closes it after all pipelines on it. If it comes from rf_pipeline_model, it is
 *              owned by that pipeline, which must be closed last
 *   threads    pipelines on one model may be used at the same time, each by one thread, and may be opened and closed
 *              meanwhile; the bits of the results do not depend on this. They share the workers of the model's context,
 *              so one call with many texts is faster than several simultaneous calls
 *   cost       memory for a session's workspace and the lists of results; the weights are shared
 *   RF_EARG    the model was not read from a folder (rf_model_random)
 *   others     as rf_pipeline_open */
rf_status rf_pipeline_on(const rf_model *model, rf_pipeline **out, rf_error *why);

void rf_pipeline_close(rf_pipeline *p);                         /* NULL is allowed */

/* From now on, the pipeline's calls and its answerer (train.h) check the flag `cancel` (context.h). The caller owns
 * the flag. NULL: no flag is checked. */
void rf_pipeline_set_cancel(rf_pipeline *p, const rf_cancel *cancel);

/* The parts of the pipeline, for calls of lower-level headers. The pipeline owns them. */
const rf_model *rf_pipeline_model(const rf_pipeline *p);
rf_session *rf_pipeline_session(rf_pipeline *p);
rf_answerer *rf_pipeline_answerer(rf_pipeline *p);              /* NULL: the model has no fine-tuned head */

/* Number of components of a text's vector as the folder says: hidden_size of the model for each pooling, or the width
 * of the last module after pooling (Dense). */
int64_t rf_pipeline_width(const rf_pipeline *p);

/* 1: the folder is that of a late-interaction model (ColBERT: PyLate's modules, or Stanford's class HF_ColBERT). Its
 * tokens have vectors (rf_embed_tokens), compared by rf_max_sim; its texts have none. */
int rf_pipeline_late(const rf_pipeline *p);

/* The settings for sentence embeddings in the folder's sentence-transformers files, or else in its config.json. The
 * pipeline owns *out; it is NULL if the folder has no such settings. If modules.json names a subfolder for its
 * Transformer, the model is opened from there.
 *
 *   RF_EUNSUPPORTED, RF_EDATA  as rf_sentence_read. The folder can be opened nevertheless: only this function and the
 *                              embedding calls report these errors */
rf_status rf_pipeline_sentence(const rf_pipeline *p, const rf_sentence **out, rf_error *why);

/* Progress of a call. The call ends at the first text that cannot be read (not UTF-8, no mask token). The results of
 * the texts before it are valid, and `bad` is its index. If a report is requested, `why` describes the problem without
 * the number of the text; otherwise it includes the number. A failed call also returns a report, except if the pipeline
 * is NULL. */
typedef struct rf_texts_report {
    int64_t done;               /* number of texts that have a result: the first `done` ones */
    int64_t bad;                /* index of the text that could not be read; -1: no text caused the failure, if there
                                   was one */
    int64_t tokens;             /* tokens of the texts that are done, including [CLS] and [SEP] */
    int64_t cut;                /* number of these texts that were truncated to max_length */
    int64_t unknown;            /* unknown tokens ([UNK]) among `tokens`; rf_embed_texts only */
} rf_texts_report;

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* With the defaults, the folder's settings apply (rf_pipeline_sentence). If the folder has none, a vector is the mean
 * over all tokens, without normalization or prompt, and texts are truncated to max_position_embeddings.
 * rf_embed_defaults_of returns the values in effect. */
typedef struct rf_embed_options {
    size_t size;                /* of this struct, set by rf_embed_defaults */
    rf_pooling pooling;         /* pooling of the token vectors, or several (rf_pooling_join); default RF_POOL_AUTO */
    int normalize;              /* 1: normalize vectors to length 1; 0: do not; -1 (default): as the folder says */
    int64_t max_length;         /* truncate texts to this many tokens; 0: never; -1 (default): as the folder says,
                                   else max_position_embeddings */
    int64_t batch_tokens;       /* tokens that a thread computes together; default 192 */
    int64_t dimensions;         /* above 0: keep the first `dimensions` components, before normalization; 0: keep
                                   all; -1 (default): the folder's truncate_dim, applied after normalization */
    const char *prompt;         /* text put before every text; "": none; NULL (default): the folder's default prompt */
    int cut_last;               /* 1: truncate to `dimensions` after normalization, as truncate_dim does, so lengths
                                   are below 1; default 0 */
    const char *prompt_name;    /* name of a prompt of the folder, used instead of `prompt`; default NULL */
    int skip_special_tokens;    /* 1: the tokens that the tokenizer adds ([CLS], [SEP]) do not count in the mean or
                                   maximum and have no vectors of their own; default 0 */
    int layer_norm;             /* 1: before `dimensions` applies, subtract from a vector the mean of its components and
                                   divide by their standard deviation (epsilon 1e-5), as nomic-embed-text-v1.5 does for
                                   Matryoshka vectors; default 0 */
    int include_prompt;         /* 1: the prompt's tokens are pooled with the others; 0: they are left out; -1
                                   (default): as the folder says */
    int64_t prompt_tokens;      /* how many of a text's first tokens are left out; set by rf_embed_resolve */
    int cut_side;               /* which part of a longer text is removed: RF_ENCODE_CUT_BEGIN, RF_ENCODE_CUT_END
                                   (tokenizer.h); 0 (default): as the tokenizer's folder says */
    int role;                   /* only of a late-interaction model: RF_ROLE_DOCUMENT or RF_ROLE_QUERY; -1 (default):
                                   a query if prompt_name is "query", otherwise a document */
} rf_embed_options;
enum { RF_ROLE_DOCUMENT, RF_ROLE_QUERY };
void rf_embed_options_init(rf_embed_options *o, size_t size);
#define rf_embed_defaults(o) rf_embed_options_init((o), sizeof *(o))

/* The options that rf_embed_texts uses for `given` (NULL: the defaults): every "as the folder says" is replaced by the
 * folder's value, and prompt_name by the text of that prompt.
 *
 *   out        may be the same struct as `given`; its prompt is owned by the pipeline or the caller
 *   RF_EARG    an option is out of range; both prompt and prompt_name are given; the folder has no prompt of this name;
 *              skip_special_tokens with RF_POOL_CLS or RF_POOL_LAST; a pooling whose width the folder's modules do
 *              not take
 *   RF_EUNSUPPORTED  RF_POOL_CLS with a causal model, whose first token attends to no other token
 *   others     as rf_pipeline_sentence */
rf_status rf_embed_resolve_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out,
                                 size_t size, rf_error *why);
#define rf_embed_resolve(p, given, out, why) rf_embed_resolve_sized((p), (given), (out), sizeof *(out), (why))
#define rf_embed_defaults_of(p, out, why) rf_embed_resolve((p), NULL, (out), (why))

/* Number of components of a text's vector with these options, as rf_embed_resolve has completed them. */
int64_t rf_embed_width(const rf_pipeline *p, const rf_embed_options *o);

/* Computes one vector for each text: [n,C], where C is rf_embed_width. An empty text also has a
 * vector.
 *
 *   n          0: only the options are checked
 *   report     may be NULL
 *   threads    if there are enough batches, each worker computes its own batch; the bits of a vector do not depend on
 *              it
 *   cost       4 C n bytes for the vectors; at most 4,096 texts are tokenized at a time
 *   RF_EDATA, RF_ERANGE  a text that cannot be encoded (rf_encode), or has no token if special tokens are skipped
 *   RF_ENUMERIC  a vector is not finite
 *   others     as rf_embed_resolve */
rf_status rf_embed_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                         const rf_embed_options *options, const float **vectors,
                         const rf_texts_report **report, rf_error *why);

/* Computes one vector for each token: rows row[i] to row[i + 1] - 1 of the vectors belong to text i, in the order of
 * its tokens. They are the hidden states of the last layer, which the folder's modules do not change. pooling is
 * ignored; vectors are normalized or cut to `dimensions` only if the options say so, not because the folder does.
 *
 * Of a late-interaction model (rf_pipeline_late), they are what PyLate computes: after the folder's Dense modules, of
 * length 1 unless normalize is 0. The role's prefix token follows the first token, and white space at both ends of a
 * text is left out. Documents have no vector for the tokens of the folder's skiplist_words; if the folder says
 * do_query_expansion, queries are filled up to query_length with mask tokens, which have vectors, too. prompt_name
 * "query" and "document" select the role even if the folder has no such prompt; max_length is by default the role's.
 *
 *   vectors    [row[n],C], where C is the model's hidden_size, or `dimensions`; rf_pipeline_width of a late-interaction
 *              model
 *   row        [n + 1] from 0
 *   cost       4 C bytes for each token of all texts
 *   RF_EARG    a role for a model without late interaction; a query without a length, or shorter than its prefix
 *   RF_EUNSUPPORTED  expansion tokens that no other token attends to, with relative positions or a causal model
 *   others     as rf_embed_texts */
rf_status rf_embed_tokens(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const float **vectors, const int64_t **row,
                          const rf_texts_report **report, rf_error *why);

/* The options that rf_embed_tokens uses for `given` (NULL: the defaults), as rf_embed_resolve for rf_embed_texts; the
 * role is that of the texts. Others as rf_embed_tokens. */
rf_status rf_embed_tokens_resolve_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out,
                                        size_t size, rf_error *why);
#define rf_embed_tokens_resolve(p, given, out, why)                                                                    \
    rf_embed_tokens_resolve_sized((p), (given), (out), sizeof *(out), (why))

/* MaxSim, how well a query's tokens are found in a document (Khattab and Zaharia 2020, ColBERT, Eq. 3):
 *
 *     *out = sum_i max_j <q_i, d_j>
 *
 *   query      [queries,width] vectors of rf_embed_tokens with RF_ROLE_QUERY
 *   document   [documents,width] the same of one document; without any, the score is 0
 *   threads    any; the bits depend on the two texts and on the kernels of `ctx` only
 *   cost       2 queries documents width operations
 *   RF_EARG    a list is NULL, or a number is out of range
 *   RF_ENUMERIC  the score is not finite */
rf_status rf_max_sim(const rf_ctx *ctx, const float *query, int64_t queries, const float *document, int64_t documents,
                     int64_t width, double *out, rf_error *why);

/* ---- masked tokens ----------------------------------------------------------------------------------------------- */

typedef struct rf_fill_options {
    size_t size;                /* of this struct, set by rf_fill_defaults */
    int64_t top_k;              /* tokens to return for each mask, at most the size of the vocabulary; default 5 */
    int64_t max_length;         /* truncate texts to this many tokens; 0 (default): never */
    const int32_t *target;      /* [targets] ids to choose from, without duplicates; NULL: the whole vocabulary */
    int64_t targets;
    int64_t batch_tokens;       /* tokens computed together; default 2048 */
} rf_fill_options;
void rf_fill_options_init(rf_fill_options *o, size_t size);
#define rf_fill_defaults(o) rf_fill_options_init((o), sizeof *(o))

typedef struct rf_mask_word {
    int32_t id;
    float score;                /* softmax(logits at the mask)[id], over the whole vocabulary even if targets are
                                   given */
    const char *token;          /* as in the vocabulary: "##ing" continues a word; "" for an id without a token */
} rf_mask_word;
typedef struct rf_mask {
    int64_t text;               /* index of the text */
    int64_t number, of;         /* index of this mask among the masks of the text, from 0, and how many there are */
    const rf_mask_word *word;   /* [words] by descending score; ties by ascending id */
    int64_t words;
} rf_mask;

/* Predicts the most likely tokens for each mask token (rf_tokenizer_options.mask, "[MASK]") of the texts.
 *
 *   options    NULL: rf_fill_defaults; folders have no settings for this call
 *   mask       [masks], in the order of the texts; every text has at least one
 *   RF_EUNSUPPORTED  the model has no language-model head, or is causal: its mask tokens cannot attend to the text
 *                    after them
 *   RF_EDATA         a text has no mask token; the tokenizer has none
 *   others     as rf_embed_texts */
rf_status rf_fill_mask(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const rf_fill_options *options, const rf_mask **mask, int64_t *masks,
                       const rf_texts_report **report, rf_error *why);

/* Returns the text with the index mask->text, with token `id` in place of the mask. Special tokens are kept while other
 * masks remain in the text. Call it only after rf_fill_mask, with a mask from that call. *size (size may be NULL)
 * receives the number of bytes. The result is freed with rf_text_free; NULL: out of memory. */
char *rf_fill_sequence(const rf_pipeline *p, const rf_mask *mask, int32_t id, size_t *size);

/* ---- whole words ------------------------------------------------------------------------------------------------- */

typedef struct rf_word_options {
    size_t size;                /* of this struct, set by rf_word_defaults */
    int64_t words;              /* number of words to test, those with the smallest hashes; default 10000 */
    int64_t context;            /* bytes of context on each side of the word, cut to whole words; default 250 */
    int64_t batch_tokens;       /* tokens computed together; default 2048 */
    const rf_reader_options *reader;    /* how to read the text; NULL: detected from the files */
} rf_word_options;
void rf_word_options_init(rf_word_options *o, size_t size);
#define rf_word_defaults(o) rf_word_options_init((o), sizeof *(o))

typedef struct rf_word_results {
    int64_t words, of;          /* words tested; words that the text has */
    int64_t documents;
    int64_t right;              /* words of which every token was predicted correctly */
    int64_t single, single_right;   /* the same counts for words of one token */
    int64_t unknown;            /* words that contain an unknown token: counted as wrong, and not included in the
                                   members below */
    int64_t tokens, characters;
    double nats;                /* sum of -log p over the tokens of the words */
} rf_word_results;

/* Measures how well a masked language model predicts whole words of held-out text. All tokens of a word are masked, one
 * word at a time. A word is a run of ASCII letters between characters that are neither letters, digits nor apostrophes.
 * Words are selected by a hash of their document and their position in it, so the selection does not depend on the
 * vocabulary. Case is ignored.
 *
 *   cost       memory: 2 context + 100 bytes for each word
 *   RF_EUNSUPPORTED  the model has no language-model head, or is causal
 *   RF_EDATA         the text has no word; the tokenizer has no mask token
 *   others     as rf_reader_next */
rf_status rf_predict_words(rf_pipeline *p, const char *const paths[], int n, const rf_word_options *options,
                         const rf_word_results **out, rf_error *why);

/* ---- labels ------------------------------------------------------------------------------------------------------ */

typedef struct rf_label_score { const char *label; double score; } rf_label_score;

/* Classifies a text or a pair of texts with a fine-tuned model. Returns all labels with their probabilities, the most
 * likely first; for regression, the predicted numbers. The folder supplies the settings: problem_type selects softmax
 * or one sigmoid for each label; a single output without problem_type is the logit of a sigmoid. Texts are truncated to
 * the length used in fine-tuning (rf_answerer_reading returns that length, the number of truncated texts, and a note if
 * sentence-transformers' CrossEncoder would show other scores).
 *
 *   text              NULL: only check that the model can classify texts
 *   pair, pair_bytes  the second text, or NULL and 0
 *   RF_EUNSUPPORTED   the model has no fine-tuned head, or its head does not label texts */
rf_status rf_classify(rf_pipeline *p, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                      const rf_label_score **label, int64_t *labels, rf_error *why);

/* ---- labels that the call names ---------------------------------------------------------------------------------- */

typedef struct rf_zero_shot_options {
    size_t size;                /* of this struct, set by rf_zero_shot_defaults */
    const char *hypothesis_template;    /* what a label says of a text, with {} (or {0}) in the place of the label; {{
                                   and }} are braces; default "This example is {}." */
    int multi_label;            /* 1: each label has a probability of its own; 0 (default): those of a text add up to
                                   1. A single label always has its own */
    int64_t batch_tokens;       /* tokens computed together; default 2048 */
} rf_zero_shot_options;
void rf_zero_shot_options_init(rf_zero_shot_options *o, size_t size);
#define rf_zero_shot_defaults(o) rf_zero_shot_options_init((o), sizeof *(o))

typedef struct rf_zero_shot_label {
    int64_t label;              /* index in the list of the call */
    double score;
} rf_zero_shot_label;

/* Zero-shot classification: scores of labels that the model was not trained on. A model of natural language inference
 * reads each text with the hypothesis of each label, and the score of a label is the probability that the text entails
 * it, as in the zero-shot-classification pipeline of transformers:
 *
 *     score(label) = softmax over the labels of z[entailment]
 *                  = softmax over z[contradiction], z[entailment]       with multi_label, or of a single label
 *
 * z are the outputs of the model for a pair. The entailment is the first output whose label begins with "entail" in any
 * case. If there is none, it is the last one, and rf_answerer_reading has a remark. The contradiction is the first
 * output, or the last one if the first is the entailment. If a pair is longer than model_max_length of the tokenizer,
 * only the text is truncated.
 *
 *   text, bytes     n texts, none of them empty
 *   label, label_bytes  at least one label
 *   options         NULL: rf_zero_shot_defaults
 *   out             [done][labels], the most likely label of each text first
 *   report          `done`, `bad`, and `tokens` and `cut` of the texts; may be NULL
 *   cost            n labels forward passes over a text and a hypothesis; 24 bytes for each
 *   RF_EUNSUPPORTED the model does not label texts
 *   RF_EARG         no label; the template has no place for it, or other braces
 *   RF_ENUMERIC     an output is not finite
 *   others          as rf_classify */
rf_status rf_zero_shot(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const char *const label[], const size_t label_bytes[], int64_t labels,
                       const rf_zero_shot_options *options, const rf_zero_shot_label **out,
                       const rf_texts_report **report, rf_error *why);

/* ---- generated text ---------------------------------------------------------------------------------------------- */

typedef struct rf_generation {
    const char *text;           /* the text after the prompt */
    size_t bytes;
    rf_generate_end end;
    int64_t prompt_tokens;      /* tokens of the prompt, including [CLS] */
    int64_t n;                  /* tokens generated, without the one that ends the text */
    const int32_t *id;          /* [n] */
    const double *logprob;      /* [n] as in rf_generated.logprob */
} rf_generation;

/* The options that rf_generate and rf_generate_texts use if `options` is NULL: those of rf_generate_model_defaults,
 * with [SEP] as the token that ends a text if the folder names none.
 *
 *   out              its lists belong to the pipeline and its model
 *   RF_EUNSUPPORTED, RF_EDATA  a key of generation_config.json cannot be honored (rf_generate_model_check); the caller
 *                              can still generate with options of its own */
rf_status rf_generate_defaults_of_sized(const rf_pipeline *p, rf_generate_options *out, size_t size, rf_error *why);
#define rf_generate_defaults_of(p, out, why) rf_generate_defaults_of_sized((p), (out), sizeof *(out), (why))

/* Called with new text after every token. A return value other than 0 ends the generation (RF_GENERATE_SINK). */
typedef int rf_text_sink(void *user, const char *text, size_t bytes);

/* Continues a prompt. The model reads [CLS] and the tokens of the prompt, without a final [SEP]. The text of n tokens
 * is a prefix of the text of n + 1 tokens.
 *
 *   options    NULL: rf_generate_defaults_of. If no stop tokens are given, the folder's end tokens apply, or [SEP] if
 *              it names none. If the options' list of suppressed tokens is empty or is the folder's list, the
 *              following are never chosen: the tokens of the folder's list, ids without a token, and, unless
 *              special_tokens is 1, [PAD], [UNK], [CLS] and [MASK]. num_return_sequences must be 1
 *   sink       may be NULL
 *   out        may be NULL
 *   others     as rf_session_generate (generate.h) */
rf_status rf_generate(rf_pipeline *p, const char *prompt, size_t bytes, const rf_generate_options *options,
                      rf_text_sink *sink, void *user, const rf_generation **out, rf_error *why);

/* Continues many prompts at once, with rf_session_generate_all. Sample j of prompt i is the text with the number
 * i * num_return_sequences + j.
 *
 *   occurrence [n] added to `occurrence` of the options, to give repeated prompts different random numbers; or NULL
 *   sink       called with new text; calls for different texts come in no particular order. A return value other than 0
 *              ends that text. May be NULL
 *   done       called when a text ends, with the generation (valid until it returns), or with NULL and the error. A
 *              return value other than 0 ends the whole call
 *   RF_EARG    `prompt` is NULL although n is not 0; an option is out of range
 *   others     as rf_session_generate_all */
typedef int rf_texts_sink(void *user, int64_t text, const char *piece, size_t bytes);
typedef int rf_texts_done(void *user, int64_t text, const rf_generation *generation, const rf_error *why);
rf_status rf_generate_texts(rf_pipeline *p, const char *const prompt[], const size_t bytes[],
                            const uint64_t occurrence[], int64_t n, const rf_generate_options *options,
                            rf_texts_sink *sink, rf_texts_done *done, void *user, rf_error *why);

/* The same for prompts that arrive during generation, for example in a server. Prompts are numbered in the order of
 * their arrival.
 *
 *   source     called when there is space for another prompt. It returns 1 and sets *prompt, whose text must stay valid
 *              until it is called again, or it returns 0 if there is no prompt now. If `idle` is 1, no text is running,
 *              and returning 0 ends the call
 *   cost       about 100 bytes for each prompt, until the call ends
 *   others     as rf_generate_texts */
typedef struct rf_text_prompt {
    const char *text;
    size_t bytes;               /* RF_STRING: the text ends at its terminating zero */
    uint64_t occurrence;
    const int32_t *id;          /* [ids] the tokens in place of those of `text`, with nothing before them; NULL: none */
    int64_t ids;
} rf_text_prompt;
typedef int rf_text_source(void *user, int idle, rf_text_prompt *prompt);
rf_status rf_generate_texts_from(rf_pipeline *p, rf_text_source *source, const rf_generate_options *options,
                                 rf_texts_sink *sink, rf_texts_done *done, void *user, rf_error *why);

/* ---- translations ------------------------------------------------------------------------------------------------ */

/* What to do with a source longer than max_source_length: refuse it, or split it after sentences (between words if a
 * sentence is too long), translate the parts and join their translations. */
typedef enum rf_long_source { RF_LONG_REFUSE, RF_LONG_SPLIT } rf_long_source;

typedef struct rf_translate_options {
    size_t size;                /* of this struct, set by rf_translate_text_defaults */
    const rf_generate_options *generate;    /* NULL: rf_translate_defaults of the model */
    int64_t max_source_length;  /* tokens of a source, including the one that ends it; 0 (default):
                                   max_position_embeddings, or, of T5, no limit */
    rf_long_source long_source; /* default RF_LONG_REFUSE */
    const char *prefix;         /* text that every translation starts with; NULL (default): none */
    int alignments;             /* 1: return word alignments; default 0 */
    const char *source_lang;    /* for tokenizers with tokens for languages (M2M-100, NLLB, mBART): the languages of */
    const char *target_lang;    /* the texts, as "eng_Latn", "en" or "en_XX"; NULL (default): those of the folder.
                                   Another tokenizer, or a language that it does not have: RF_EARG */
    const char *source_prefix;  /* text before every source that is not empty, such as "summarize: "; NULL (default):
                                   none */
} rf_translate_options;
void rf_translate_options_init(rf_translate_options *o, size_t size);
#define rf_translate_text_defaults(o) rf_translate_options_init((o), sizeof *(o))

/* Words are separated by white space and counted from 0. Each word of a translation is aligned with one word of its
 * source: the one with the largest attention weight in the decoder's last layer while the tokens of the target word are
 * predicted. */
typedef struct rf_word_pair { int64_t source, target; } rf_word_pair;

typedef struct rf_text_translation {
    const char *text;           /* including the prefix */
    size_t bytes;
    rf_translation of;          /* tokens after the prefix, of all parts; `score` is the score of all parts together */
    int64_t source_tokens, parts;   /* tokens of the source, including end tokens; number of parts, 0: nothing to
                                       translate */
    const rf_word_pair *alignment;  /* [alignments] in the order of the translation's words, if requested */
    int64_t alignments;
} rf_text_translation;

/* Called once for each translation of text number `text`, which is valid until the call returns, or once with NULL and
 * the error. With beam search, the translations of a text are reported in the order of their rank. Calls never overlap,
 * but may come from a thread other than the caller's. A return value other than 0 ends the whole call. */
typedef int rf_translate_texts_done(void *user, int64_t text, const rf_text_translation *translation,
                                    const rf_error *why);

/* Translates texts with an encoder-decoder model, many at a time (rf_session_translate). A text without tokens has
 * num_return_sequences empty translations.
 *
 *   cost       the sources and results of one call are held in memory; translate large documents in blocks of a few
 *              thousand lines
 *   RF_EUNSUPPORTED  the model has no decoder; generation_config.json has a setting that is not supported
 *   error of a text  RF_EDATA: not UTF-8; RF_ERANGE: the source is too long
 *   others     as rf_session_translate */
rf_status rf_translate_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                             const rf_translate_options *options, rf_translate_texts_done *done, void *user,
                             rf_error *why);

/* The same for texts that arrive during translation, for example in a server: they join the running translations, and
 * each leaves when it is done. Texts are numbered in the order of their arrival. The source is called as in
 * rf_generate_texts_from.
 *
 *   cost       the tokens of a text and about 200 bytes, until the call ends
 *   others     as rf_translate_texts */
rf_status rf_translate_texts_from(rf_pipeline *p, rf_text_source *source, const rf_translate_options *options,
                                  rf_translate_texts_done *done, void *user, rf_error *why);

/* ---- log-probability of a text ----------------------------------------------------------------------------------- */

typedef struct rf_logprob_options {
    size_t size;                /* of this struct, set by rf_logprob_defaults */
    int64_t max_length;         /* tokens of a window; 0: max_position_embeddings */
    int64_t stride;             /* tokens from the start of a window to the start of the next; 0: half of a window */
    int end;                    /* 1: include the [SEP] that ends a text */
} rf_logprob_options;
void rf_logprob_options_init(rf_logprob_options *o, size_t size);
#define rf_logprob_defaults(o) rf_logprob_options_init((o), sizeof *(o))

typedef struct rf_text_logprob {
    double total;               /* log p(text | context), the sum of logprob[] */
    int64_t n;
    const int32_t *id;          /* [n] tokens of the text */
    const double *logprob;      /* [n] */
    int64_t uncounted;          /* 1: the text's first token follows nothing, has no probability and is not in id[] */
} rf_text_logprob;

/* Log-probability (natural logarithm) of a text after the tokens of the context, under a causal model. [CLS] comes
 * first if the tokenizer puts it before a text; if it does not and there is no context, the first token has no
 * probability. A text longer than a window is evaluated in overlapping windows (rf_session_logprobs).
 *
 * Under a masked language model, logprob[i] is that of token i given all other tokens, before and after it, with
 * token i masked. The sum is the pseudo-log-likelihood (Salazar et al. 2020, arXiv:1910.14659); exp(-total / n) is the
 * pseudo-perplexity. All options must be 0.
 *
 *   cost       causal: one forward pass over the tokens; masked: one forward pass for each token
 *   context    may be NULL with 0 bytes; the first token of the text follows its last token
 *   out        valid until the pipeline's next call
 *   RF_EUNSUPPORTED  the model has no language-model head
 *   RF_EARG          an option is out of range, or not 0 with a masked model
 *   RF_EDATA, RF_ERANGE  a text cannot be encoded (rf_encode) */
rf_status rf_logprob_text(rf_pipeline *p, const char *context, size_t context_bytes, const char *text, size_t bytes,
                          const rf_logprob_options *options, const rf_text_logprob **out, rf_error *why);

/* Log-probability (natural logarithm) of a given translation under an encoder-decoder model. id and logprob cover the
 * tokens of the translation and the one that ends it.
 *
 *   out        valid until the pipeline's next call
 *   RF_EUNSUPPORTED  the model has no decoder
 *   RF_EDATA, RF_ERANGE  a text cannot be encoded (rf_encode); a source is too long */
rf_status rf_logprob_translation(rf_pipeline *p, const char *source, size_t source_bytes, const char *text,
                                 size_t bytes, const rf_translate_options *options, const rf_text_logprob **out,
                                 rf_error *why);

/* ---- mutations of a protein, under a masked language model of proteins ----
 *
 *     const char *mutation[] = {"A24G", "A24G:K30R"};
 *     if (rf_score_variants(p, "MKTV...", RF_STRING, mutation, 2, NULL, &score, NULL, &why)) ...
 *
 * A mutation is written as wild-type residue, position, new residue; those of one variant are joined by ':', and their
 * scores add up. Strategies and names are those of Meier et al. 2021, "Language models enable zero-shot prediction of
 * the effects of mutations on protein function" (bioRxiv 2021.07.09.450648, Methods), with x the protein, x_M the one
 * with the mutated position masked, w and m the residue before and after:
 *
 *     masked-marginals    log p(m | x_M) - log p(w | x_M)
 *     wt-marginals        log p(m | x) - log p(w | x)
 *     pseudo-ppl          sum over the positions i of the variant y: log p(y_i | y without i)
 *
 * Of a variant with several mutations, masked-marginals masks one position at a time. */

typedef enum rf_scoring_strategy {
    RF_MASKED_MARGINALS,        /* a pass for each position that occurs in the mutations */
    RF_WT_MARGINALS,            /* one pass */
    RF_PSEUDO_PPL               /* a pass for each position of each variant */
} rf_scoring_strategy;

typedef struct rf_variant_options {
    size_t size;                /* of this struct, set by rf_variant_defaults */
    rf_scoring_strategy strategy;   /* default RF_MASKED_MARGINALS */
    int64_t offset;             /* number of the first residue of the sequence; default 1 */
    int64_t batch_tokens;       /* tokens computed together; default 2048 */
} rf_variant_options;
void rf_variant_options_init(rf_variant_options *o, size_t size);
#define rf_variant_defaults(o) rf_variant_options_init((o), sizeof *(o))

/* Scores variants of a protein. The model must have a token for each residue (ESM-2, AntiBERTa2).
 *
 *   sequence   letters of the wild type; bytes RF_STRING: up to its terminating zero
 *   score      [n] in the order of the mutations; positive: the model finds the new residue more likely
 *   report     may be NULL; done, bad: as for texts, here for mutations
 *   memory     of the pipeline, valid until its next call
 *   RF_EDATA   the sequence is empty or has a residue that is not one token of the model; a mutation is not written as
 *              above, its position is outside the sequence, another residue stands there, or the new one is unknown to
 *              the model; two mutations of a variant have one position. All mutations are checked before anything is
 *              computed
 *   RF_EUNSUPPORTED  as rf_fill_mask */
rf_status rf_score_variants(rf_pipeline *p, const char *sequence, size_t bytes, const char *const mutation[],
                            int64_t n, const rf_variant_options *options, const double **score,
                            const rf_texts_report **report, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
