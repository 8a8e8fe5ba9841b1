/* task.h — the part of config.json that describes a fine-tuned model: its head, its labels, its task. */
#ifndef RF_TASK_H
#define RF_TASK_H

#include <jansson.h>

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "roformer/context.h"

/* The JSON of folder/below/name of sentence-transformers, with its path; *out NULL: there is no such file. */
enum { RF__SENTENCE_LARGEST = 1 << 20 };
rf_status rf__sentence_load(const rf_ctx *ctx, const char *folder, const char *below, const char *name, bool list,
                            char path[4096], json_t **out, rf_error *why);
/* Writes a JSON file of such a folder, and the folder below that its name begins with.  Takes ownership of the value;
 * NULL: RF_ENOMEM. */
rf_status rf__sentence_save(const rf_ctx *ctx, const char *folder, const char *name, json_t *value, rf_error *why);

/* The file that contains the prompts of a sentence model; text NULL: there is none, and nothing is written. */
rf_status rf__sentence_prompts_read(const rf_ctx *ctx, const char *folder, rf__kept_file *out, rf_error *why);

/* The limit of pairs in sentence_bert_config.json of a CrossEncoder; 0: it has none. */
rf_status rf__cross_encoder_limit(const rf_ctx *ctx, const char *folder, int64_t *out, rf_error *why);
/* model_max_length of tokenizer_config.json if it is smaller than the model's positions, otherwise these. */
rf_status rf__tokenizer_limit(const rf_ctx *ctx, const char *folder, int64_t positions, int64_t *out, rf_error *why);

/* What sentence-transformers writes into config.json of a CrossEncoder, whose texts are pairs: its function. NULL: the
 * folder is none. */
const json_t *rf__cross_encoder_key(const json_t *config);

/* The settings of a CrossEncoder of sentence-transformers.
 *
 *   function   the name of the function that is applied to a model's `outputs`, such as "Sigmoid" or "Identity"; "" if
 *              the folder is not a CrossEncoder
 *   prompt     the default prompt, freed with rf__free; NULL: there is none */
rf_status rf__cross_encoder_read(const rf_ctx *ctx, const char *folder, int64_t outputs, char function[32],
                                 char **prompt, rf_error *why);

/* If modules.json of the folder has LogitScore, the config of its causal model becomes that of a reranker with one
 * output (logit_score.c); otherwise it stays as it is. */
rf_status rf__logit_score_read(const rf_ctx *ctx, const char *folder, rf_config *c, rf_error *why);

/* What modules.json names after Transformer and Pooling: the steps from a pooled vector to a text's. The last Normalize
 * is not among them (rf_sentence.normalize).
 *
 *     DENSE       f(W x + b), and x or R x added to it with `residual`
 *     LAYER_NORM  (x - mean(x)) / sqrt(var(x) + 1e-5) * weight + bias
 *     NORMALIZE   x / |x| */
typedef enum rf__module_kind { RF__MODULE_DENSE, RF__MODULE_LAYER_NORM, RF__MODULE_NORMALIZE } rf__module_kind;
typedef struct rf__module {
    rf__module_kind kind;
    bool residual;
    double (*f)(double x);              /* the activation of DENSE                                                    */
    rf_sentence_dense is;               /* LAYER_NORM: its folder, and the width twice                                */
} rf__module;
double rf__module_identity(double x);
enum { RF__MODULES = 16 };
typedef struct rf__module_list {
    rf_pooling pooling;                 /* RF_POOL_AUTO: not given                                                    */
    int64_t n;
    rf__module module[RF__MODULES];
} rf__module_list;

/* rf_sentence_read, with the modules. */
rf_status rf__sentence_modules(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf__module_list *modules,
                               rf_error *why);
/* The same for a folder that rf__late_read has found to be of another kind. */
rf_status rf__vector_modules(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf__module_list *modules,
                             rf_error *why);

/* What a folder of a late-interaction model (ColBERT: Khattab and Zaharia 2020) says of its tokens' vectors:
 *
 *     E_t = W h_t / |W h_t|       for the tokens of [CLS] prefix text [SEP], and in a query with `expand` of [MASK]
 *
 *   prefix           the token after the first one; "": none
 *   length           most tokens of a text; a query with `expand` has exactly these
 *   attend           the tokens of a text attend to the [MASK] after them
 *   skip             tokens of documents that have no vector
 *
 * PyLate's folders have modules.json (Transformer, Dense ...) and these settings in config_sentence_transformers.json;
 * Stanford's have the class HF_ColBERT, linear.weight among the weights, and artifact.metadata. */
enum { RF__DOCUMENT, RF__QUERY, RF__ROLES };
typedef struct rf__late {
    const rf_ctx *ctx;
    char *prefix[RF__ROLES];
    int64_t length[RF__ROLES];
    bool expand, attend;
    int64_t skips;
    char **skip;
} rf__late;

/* *out NULL: the folder is of another kind. Otherwise `s` has the Transformer and the prompts, `m` the Dense modules.
 *
 *   out              freed with rf__late_free, `s` with rf_sentence_free
 *   RF_EUNSUPPORTED  modules or settings that PyLate or this library does not compute; the message names them */
rf_status rf__late_read(const rf_ctx *ctx, const char *folder, rf_sentence *s, rf__module_list *m, rf__late **out,
                        rf_error *why);
rf_status rf__late_refuse(const rf_ctx *ctx, const char *folder, rf_error *why);  /* RF_EUNSUPPORTED: of this kind */
void rf__late_free(rf__late *l);                                                  /* NULL is allowed               */

/* Parts of rf__sentence_modules: the Transformer in the folder `below`, and the prompts; vectors: of a model for dense
 * vectors, whose other keys in the file have to be known. */
rf_status rf__transformer_read(const char *folder, const char *below, rf_sentence *s, rf_error *why);
rf_status rf__prompts_read(const char *folder, bool vectors, rf_sentence *s, rf_error *why);

/* One module after Pooling, of which `type` is the class without its package, in the folder `below`. */
rf_status rf__module_read(const char *folder, const char *type, const char *below, rf_sentence *s,
                          rf__module_list *modules, rf_error *why);
/* How a masked language model becomes a sparse encoder: v[w] = pool over the tokens t of f(logit[t, w]), pool the
 * maximum or the sum, f(z) = log(1 + max(0, z)) or with `twice` the logarithm of 1 + that.  Without SpladePooling in
 * modules.json: the maximum, once, and max_length 0.
 *
 *   RF_EUNSUPPORTED  modules.json has other modules; the message names them */
typedef struct rf__sparse {
    bool sum, twice;
    int64_t max_length;                 /* tokens of a text; 0: not given                                             */
} rf__sparse;
rf_status rf__sparse_read(const rf_ctx *ctx, const char *folder, int64_t positions, rf__sparse *out, rf_error *why);

/* RF_EUNSUPPORTED: a module that no command computes in the place of `expected`, with what to do. */
rf_status rf__module_refuse(const char *path, size_t i, const char *expected, const char *type, rf_error *why);

/* "Pooling" of "sentence_transformers.models.Pooling"; of other packages the whole text. NULL: it has no type. */
const char *rf__module_type(const json_t *module);

/* RF_EUNSUPPORTED, with the remedy: there are modules after pooling, or several poolings. */
rf_status rf__modules_none(const char *folder, const rf__module_list *modules, const char *remedy, rf_error *why);
rf_status rf__pooling_read(const char *folder, const char *below, rf_sentence *s, rf__module_list *modules,
                           rf_error *why);

/* The first of rf__transformer_settings with settings; *out is NULL if no such file exists. */
rf_status rf__transformer_load(const rf_ctx *ctx, const char *folder, const char *below, char path[4096], json_t **out,
                               rf_error *why);

/* Only the prompts of a folder, whatever else it has; freed with rf_sentence_free. */
rf_status rf__sentence_prompts(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf_error *why);
const char *rf__sentence_default_prompt(const rf_sentence *s);   /* the text of the default prompt; "": there is none */
rf_status rf__sentence_prompts_write(const rf_ctx *ctx, const char *folder, const rf__kept_file *p, rf_error *why);

extern const char *const rf__poolings[];   /* values of sentence_pooling, in the order of rf_pooling; NULL at the end */
int rf__pooling_of(const char *name);                    /* as rf_pooling; -1: unknown name                           */

/* The number of poolings that rf_pooling_join has joined in p, 1 for a single one, and the i-th of them. */
int rf__pooling_count(rf_pooling p);
rf_pooling rf__pooling_part(rf_pooling p, int i);

/* Several of them as text, "cls+mean". poolings_of: RF_POOL_AUTO: a name is unknown, or there are too many. are:
 * whether it is a value of rf_pooling or of rf_pooling_join. */
bool rf__poolings_are(rf_pooling p);
typedef struct rf__pooling_text { char text[64]; } rf__pooling_text;
rf__pooling_text rf__poolings_text(rf_pooling p);
rf_pooling rf__poolings_of(const char *text);

/* The values of summary_type: first, last, mean. name: NULL for others; named: false for other texts. */
const char *rf__summary_name(rf_summary summary);
bool rf__summary_named(const char *name, rf_summary *out);

/* transformers' SequenceSummary: summary_type and summary_activation; a key that is missing changes nothing. */
rf_status rf__sequence_summary_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__sequence_summary_write(const rf_config *c, json_t **more);

/* Reads id2label (or num_labels), problem_type, summary_type, finetuning_task and task_max_length.
 *
 *   RF_EDATA         ids that are not 0, 1, ..., too many labels, strings that are too long, wrong types
 *   RF_EUNSUPPORTED  a kind of summary that is not supported (only for RoFormerForMultipleChoice) */
rf_status rf__task_read(const char *file, const json_t *root, rf_config *c, rf_error *why);

/* Whether they are LABEL_0, LABEL_1, ..., as transformers calls labels that nobody has named. */
bool rf__labels_unnamed(const rf_labels *l);

/* As rf__labels_read, but returns the names of the outputs (id2label) if the labels are different (task_labels). */
rf_status rf__output_names_read(const rf_ctx *ctx, const char *folder, rf_labels *out, rf_error *why);

/* The same keys for writing; an empty object for a masked language model. NULL: out of memory. */
json_t *rf__task_json(const rf_config *c);

/* The label names of a folder; LABEL_0, ... if config.json has none. */
rf_status rf__labels_read(const rf_ctx *ctx, const char *folder, rf_labels *out, rf_error *why);
void rf__labels_free(rf_labels *l);

#endif
