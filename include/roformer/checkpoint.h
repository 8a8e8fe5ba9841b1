/* checkpoint.h — reads and writes model folders: config.json, model.safetensors and the files of sentence-transformers.
 *
 * The folders have Hugging Face's format: `from_pretrained` loads what is written here, and published folders can be
 * read. Every size in a file is checked against the file's real size before it is used.
 *
 * threads   an rf_weights never changes after it is opened and may be shared */
#ifndef ROFORMER_CHECKPOINT_H
#define ROFORMER_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"
#include "roformer/kernel/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- safetensors ------------------------------------------------------------------------------------------------- */

enum { RF_MAX_RANK = 8 };

typedef struct rf_weight {
    const char *name;
    const char *dtype;          /* as in the file: "F32", "BF16", "I64", ... */
    int readable;               /* 0: the data type has no rf_type; the tensor is only listed */
    rf_type type;               /* if readable */
    int rank;
    int64_t dim[RF_MAX_RANK];
    size_t count, bytes;        /* elements; bytes in the file */
    const void *data;           /* in the memory mapping; may be unaligned */
    /* Distance in elements between neighbors along each dimension, for a tensor that is not contiguous, such as a
       transposed one in a file of torch.save. `bytes` is then the distance from its first to its last byte. NULL:
       contiguous and row-major. */
    const int64_t *stride;
} rf_weight;

typedef struct rf_weights rf_weights;

/* Maps a file of weights: .safetensors, a checkpoint of PyTorch (the zip files of torch.save or its older pickle files;
 * no code is executed) or of TensorFlow 1 (its .index file; tensors get the names of transformers), tf_model.h5, all
 * shards of an index, or the weights in a folder.
 *
 *   out             closed with rf_weights_close; unchanged on error
 *   cost            the headers are read; the data is only memory-mapped
 *   RF_EIO          a file cannot be opened or mapped
 *   RF_EDATA        the file is malformed: header length, JSON, duplicate names, shapes or offsets (the message says
 *                   which); an index names another folder; a shard is missing; two shards have the same tensor
 *   RF_EUNSUPPORTED an unknown data type */
rf_status rf_weights_open(const rf_ctx *ctx, const char *path, rf_weights **out, rf_error *why);

/* The path of a folder's weights: the first that exists of model.safetensors, its index, pytorch_model.bin, its index,
 * bert_model.ckpt.index and tf_model.h5. RF_EIO: none of them exists. */
rf_status rf_weights_path(const char *folder, char *path, size_t size, rf_error *why);
void rf_weights_close(rf_weights *w);
size_t rf_weights_count(const rf_weights *w);
const rf_weight *rf_weights_at(const rf_weights *w, size_t i);                       /* in the order of the file */
/* ---- config.json ------------------------------------------------------------------------------------------------- */

/* The head on top of the encoder: transformers' RoFormerFor... classes, and BERT's pooler with a classifier. */
typedef enum rf_head {
    RF_HEAD_MLM,                /* MaskedLM, CausalLM (same tensors), or no head */
    RF_HEAD_SEQUENCE,           /* SequenceClassification: K logits for a text */
    RF_HEAD_POOLED,             /* the same with BERT's pooler */
    RF_HEAD_TOKEN,              /* TokenClassification: K logits for each token */
    RF_HEAD_SPAN,               /* QuestionAnswering: start and end logits for each token */
    RF_HEAD_CHOICE,             /* MultipleChoice: one logit for each choice */
    RF_HEAD_SEQ2SEQ,            /* encoder-decoder: the next token of the target */
    RF_HEAD_EMBED,              /* no tensors: sentence embeddings, pooled as in sentence_pooling */
    RF_HEAD_DETECT              /* replaced tokens (ELECTRA's discriminator): one logit for each token */
} rf_head;

/* The vector of a text that MultipleChoice uses (summary_type), or the labels of texts (classifier_pooling); LATE: the
 * mean of the logits of all tokens. */
typedef enum rf_summary { RF_SUMMARY_LAST, RF_SUMMARY_FIRST, RF_SUMMARY_MEAN, RF_SUMMARY_LATE } rf_summary;

/* What distinguishes a DeBERTa from models with the position encoding "deberta", which have both terms, a norm of the
 * position vectors (norm_rel_ebd) and no other positions: without the term "c2p" or "p2c" of pos_att_type, without the
 * norm, without terms of positions at all (relative_attention), with learned positions in the embeddings
 * (position_biased_input), with the newer language-model head (legacy false). */
enum {
    RF_DEBERTA_NO_C2P = 1, RF_DEBERTA_NO_P2C = 2, RF_DEBERTA_NO_NORM = 4, RF_DEBERTA_NO_RELATIVE = 8,
    RF_DEBERTA_ABSOLUTE = 16, RF_DEBERTA_NEW_HEAD = 32
};

/* Scaling of rotary positions beyond the trained length: rope_scaling of config.json, with transformers' names. 0 means
 * that a number is not given. */
typedef enum rf_rope_type {
    RF_ROPE_DEFAULT, RF_ROPE_LINEAR, RF_ROPE_NTK, RF_ROPE_DYNAMIC, RF_ROPE_YARN, RF_ROPE_LONGROPE, RF_ROPE_LLAMA3
} rf_rope_type;
/* The layers that rope_scaling is of, where some attend to near tokens alone: those that attend to all tokens (in other
 * models, all layers), all, those that attend to near tokens. */
typedef enum rf_rope_layers { RF_ROPE_OF_GLOBAL, RF_ROPE_OF_ALL, RF_ROPE_OF_LOCAL } rf_rope_layers;
enum { RF_ROPE_LIST = 256, RF_ROPE_SECTIONS = 3, RF_ROPE_LAYERS = 64 };           /* maximum lengths of the lists */
typedef struct rf_rope_scaling {
    rf_rope_type rope_type;
    double factor, attention_factor, beta_fast, beta_slow, mscale, mscale_all_dim, low_freq_factor, high_freq_factor;
    int64_t original_max_position_embeddings;
    int no_truncate;             /* truncate: false */
    int64_t shorts, longs, sections;                 /* lengths of the lists */
    const double *short_factor, *long_factor;        /* a factor for each plane; rf_config says who owns them */
    int64_t mrope_section[RF_ROPE_SECTIONS];
    int64_t final_length;        /* dynamic, longrope: length that the text will have at the end; 0: the length of
                                    each text */
} rf_rope_scaling;
enum { RF_ROPE_SCALING_MOST = 256 };                 /* maximum size in later versions, reserved in structs that
                                                        contain it */

/* attention_type: softmax attention, or linear attention (kernel/attention.h). */
typedef enum rf_attention_type { RF_ATTENTION_SOFTMAX, RF_ATTENTION_LINEAR } rf_attention_type;

/* rotation_order, of linear attention. RF_ROTATE_FEATURES: rotate the features, in the numerator only (RoFormer, Eq.
 * 19). RF_ROTATE_BEFORE: rotate queries and keys before the feature map (performer-pytorch). RF_ROTATE_NONE: no
 * rotation. */
typedef enum rf_rotation_order { RF_ROTATE_FEATURES, RF_ROTATE_BEFORE, RF_ROTATE_NONE } rf_rotation_order;

/* The configuration of a model: the keys of config.json. Start with rf_config_defaults, or read it from a folder.
 *
 * Copies     by assignment. Copy a config that belongs to the library (rf_model_config) with rf_config_copy, which
 *            respects the size of the struct in the program
 * Lists      are pointers. Those of a config that was read belong to the context and are freed with it. Those that a
 *            program sets belong to the program and are only read during calls */
typedef struct rf_config {
    size_t size;                 /* of this struct, set by every function that fills it in */
    char family[32];             /* "roformer", "bert", "roformer_v2" or another row of src/model/families.def */
    int64_t vocab_size, embedding_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
    /* type_vocab_size 0: the model has no token types, and ignores those of a batch. */
    int64_t max_position_embeddings, type_vocab_size, pad_token_id;
    rf_act hidden_act;
    double hidden_dropout_prob, attention_probs_dropout_prob, initializer_range, layer_norm_eps;
    double classifier_dropout;   /* dropout before BERT's classifier; below 0: hidden_dropout_prob */
    double rope_theta;           /* base of the rotary frequencies; default 10000; RoFormer's own config.json has no
                                    such key */
    int rotary_value, tie_word_embeddings;
    int is_decoder;              /* 1: causal language model */
    char position_embedding_type[32];   /* "rotary", or another row of `roformer positions` */
    union {
        rf_rope_scaling rope_scaling;
        unsigned char rope_scaling_may_grow[RF_ROPE_SCALING_MOST];
    };
    const double *rope_theta_per_layer;              /* a base for each layer, instead of rope_theta */
    int64_t rope_thetas;         /* length of that list; 0: rope_theta for all layers */
    double partial_rotary_factor;                    /* fraction of a head's columns that is rotated */
    int rope_interleave;         /* 1: planes are pairs (2i, 2i+1); 0: (i, i + r/2) */
    int64_t rotary_heads;        /* number of heads that are rotated, the first ones; 0: all */
    int rotary_value_inverse;    /* with rotary_value: rotate results back, so that only distances matter */
    int use_logn_attn;           /* scale queries by the logarithm of the text's length, beyond the trained length */
    int64_t position_grid_width, position_grid_height;   /* positions are the cells of a grid, row by row */
    double hierarchical_alpha, position_step, xpos_scale_base;
    int64_t rerope_window;       /* ReRoPE: distances below this are exact ... */
    double rerope_leak;          /* ... and beyond it, the excess is divided by this; 0: clipped */
    int64_t relative_attention_num_buckets, relative_attention_max_distance;       /* T5 and TUPE */
    int64_t max_relative_position;                   /* Shaw, NEZHA: offsets are clipped to this */
    int64_t max_relative_positions, position_buckets;  /* DeBERTa; below 1: max_position_embeddings, no logarithmic
                                                          buckets */
    int share_att_key;           /* DeBERTa: positions use the key and query matrices of the content */
    int64_t clamp_len;           /* Transformer-XL, XLNet: distances are clipped to this; below 0: no clipping */
    int scale_embedding;         /* multiply word embeddings by sqrt(embedding_size) (Vaswani et al. 2017, Sec. 3.4) */
    int64_t sandwich_width;      /* Sandwich: width of the sinusoids in its inner product */
    double cape_max_global_shift, cape_max_local_shift, cape_max_global_scaling;   /* augmentation in training */
    int64_t conv_kernel_size;    /* size of the convolution before the first layer */
    char architecture[64];       /* "RoFormerForMaskedLM" */
    int64_t num_labels;          /* K, number of logits of a fine-tuned head: the size of id2label, default 2 */
    const char *const *label;    /* [num_labels] label names; NULL: LABEL_0, ...; see rf_labels */
    const char *const *task_label;   /* [num_task_labels] labels of a task whose outputs are something else, or NULL */
    int64_t num_task_labels;             /* size of task_labels in config.json */
    char problem_type[32];       /* "single_label_classification", "multi_label_classification", "regression" or "" */
    char finetuning_task[32];    /* "cls", "glue/mrpc", ... or "" */
    int64_t task_max_length;     /* maximum tokens of a text in fine-tuning; 0: not given */
    /* Column names of labeled files; "": not given. */
    char task_text_column[128], task_pair_column[128], task_label_column[128];
    int task_pairs;              /* 1: fine-tuned on pairs of texts */
    char task_header[8], task_separator[8];     /* tables: "yes" or "no"; "tab" or the character; "": not given */
    int version_2_with_negative; /* 1: question answering may return that there is no answer */
    rf_summary summary;
    rf_attention_type attention_type;               /* of all layers, or of each layer if a list is given ... */
    rf_rotation_order rotation_order;               /* for linear attention with rotary positions */
    const unsigned char *attention_type_per_layer;
    int64_t attention_types;     /* ... of this length; 0: attention_type for all layers */
    char feature_map[16];        /* linear attention: "favor", or another row of feature_maps.def */
    int64_t num_random_features; /* below 0: d ln d, where d is the width of a head */
    double feature_epsilon;      /* added to the features; below 0: the default of the map */
    int64_t feature_seed;        /* seed of the random features; below 0: unknown */
    int64_t feature_redraw_interval, feature_draw;  /* training steps between new random features; number of the
                                                       current draw */
    /* Encoder-decoder models: num_hidden_layers, num_attention_heads and intermediate_size describe the encoder. */
    int is_encoder_decoder;
    int64_t decoder_layers, decoder_attention_heads, decoder_ffn_dim;    /* the last two, 0: those of the encoder */
    int64_t decoder_start_token_id, eos_token_id;    /* tokens before the first and after the last token of a target */
    int64_t decoder_vocab_size;                      /* must be vocab_size; -1: vocab_size */
    int share_encoder_decoder_embeddings;            /* 1: encoder and decoder share one embedding table */
    int normalize_before;                            /* 1: pre-norm: a norm before each sublayer and one after the
                                                        last layer */
    int rotary_cross_attention;                      /* 1: also rotate in cross-attention, by the positions in target
                                                        and source */
    double activation_dropout;                       /* dropout inside the feed-forward layers */
    char decoder_position_embedding_type[32];        /* "": as position_embedding_type */
    /* RF_HEAD_EMBED: pooling of token vectors ("cls", "mean", "max", "last", "sqrtlen" or "wmean", as in rf_pooling),
       and whether vectors are normalized to length 1. */
    char sentence_pooling[8];
    int sentence_normalize;
    double sinusoidal_base;      /* 10000: base of all sinusoidal encodings (rope_theta: of rotary ones) */
    int64_t concat_width;        /* columns of the position vector next to the word; 0: embedding_size */
    /* 1: the folder's matrices are in int8 with scales (quantization_config), and are meant for activations in int8;
       2: only the matrices are. This describes the files, not the model, and is not written; rf_convert writes such
       folders. */
    int quantized;
    /* RoFormer-Sim (pooler_activation "linear"): the vector of a text is W h_[CLS] + b. In generation, the tokens of
       the prompt attend to the whole prompt (UniLM's mask), and new tokens have token type 1. */
    int linear_pooler;
    /* ESM-2: the word vectors of mask_token_id are zeros, and those of the other tokens of a text are scaled by
       0.88 / (1 - fraction of masked tokens). */
    int token_dropout;
    int64_t mask_token_id;       /* -1: none */
    /* ModernBERT: layers whose number is a multiple of global_attn_every_n_layers attend to all tokens, with the base
       rope_theta. The others attend to tokens at most local_attention / 2 positions away, with the base
       local_rope_theta. local_attention 0: all layers attend to all tokens. Mistral: global_attn_every_n_layers is 0,
       no layer attends to all tokens, and all have rope_theta. */
    int64_t local_attention, global_attn_every_n_layers;
    double local_rope_theta;
    /* Cross-encoders: the function after which the output is a score, "Sigmoid" or "Identity"; "": not given. It is
       written as sentence_transformers.activation_fn; a folder's is found by rf_answerer_open. */
    char score_function[12];
    /* GAU-alpha: columns of queries and keys; 0: hidden_size / num_attention_heads. */
    int64_t attention_key_size;
    /* Qwen3, Gemma 3, EuroBERT: heads of keys and values, each shared by neighboring heads of queries; below 1:
       num_attention_heads. Columns of a head; below 1: hidden_size / num_attention_heads. */
    int64_t num_key_value_heads, head_dim;
    /* Gemma 3: scores are divided by the square root of this; 0: of the columns of a head. */
    int64_t query_pre_attn_scalar;
    /* Which of each global_attn_every_n_layers layers attends to all tokens: 0: the first, 1: the last (Gemma 3). */
    int global_attn_last;
    /* Causal rerankers (LogitScore of sentence-transformers): 1: the only output is the logit of true_token_id as the
       next token, minus that of false_token_id unless this is negative. config.json does not have these. */
    int logit_score;
    int64_t true_token_id, false_token_id;
    rf_rope_layers rope_scaled_layers;               /* Gemma 3, ModernBERT; otherwise RF_ROPE_OF_GLOBAL */
    /* Frequencies theta_i of the planes that the weights have (inv_freq of ESM-2), if they are not those of rope_theta;
       they are not written to config.json. NULL and 0: there are none. */
    const double *rope_frequency;
    int64_t rope_frequencies;
    /* ERNIE: 1: the embeddings have a table of task_type_vocab_size kinds of tasks; every token gets its first row. */
    int use_task_id;
    int64_t task_type_vocab_size;
    /* The numbers of embed_positions in the weights, by rows: sines, then cosines, as wide as a head (rotary) or as the
       embeddings (sinusoidal_halves). Set if they are not those of rope_theta or sinusoidal_base: rounded or trained by
       transformers, which uses them. Not written to config.json. NULL and 0: positions are computed. */
    const float *position_table;
    int64_t position_table_size;                     /* numbers, all rows */
    /* ELECTRA's choices: 1: a matrix of its own is applied to the vector of a text, and then summary_activation. */
    int summary_use_proj;
    rf_act summary_activation;
    /* ALBERT: number of groups of consecutive layers; the layers of a group have the same tensors. 0: each layer has
       its own. */
    int64_t num_hidden_groups;
    /* LLaMA, Mistral, EuroBERT, Qwen3, Gemma 3, GPT-NeoX: 1: the matrices of attention, or of the feed-forward layer,
       have biases. */
    int attention_bias, mlp_bias;
    /* GPT-NeoX: 1: attention and feed-forward layer both get the input of the layer, h + attention(h) +
       feed_forward(h); 0: one after the other. */
    int use_parallel_residual;
    /* GPT-2: 1: scores of layer l, counted from 0, are divided by l + 1 as well. */
    int scale_attn_by_inverse_layer_idx;
    /* DeBERTa: RF_DEBERTA_*, joined; the activation (RF_ACT_NONE: gelu) and the dropout of its pooler; the activation
       (RF_ACT_NONE: tanh) of the convolution next to its first layer, which conv_kernel_size above 0 gives. */
    int deberta;
    rf_act pooler_act;
    double pooler_dropout;
    rf_act conv_act;
    /* NomicBERT v2: layers 1, 1 + moe_every_n_layers, ... have num_experts feed-forward layers instead of one, of which
       each token uses moe_top_k. 0: no layer has. */
    int64_t moe_every_n_layers, num_experts, moe_top_k;
    /* T5: 1: the feed-forward layers have a gate; 1: the decoder's last states are divided by sqrt(hidden_size) before
       the vocabulary head. */
    int is_gated_act, scale_decoder_outputs;
} rf_config;

/* Sets the defaults of transformers' RoFormerConfig. */
void rf_config_init(rf_config *c, size_t size);
#define rf_config_defaults(c) rf_config_init((c), sizeof *(c))

/* Sets the defaults of another family. RF_EARG: there is no family of this name; the message lists all. */
rf_status rf_config_defaults_of_sized(const char *family, rf_config *c, size_t size, rf_error *why);
#define rf_config_defaults_of(family, c, why) rf_config_defaults_of_sized((family), (c), sizeof *(c), (why))

/* Reads a config.json; `path` names the file or its folder. `out` need not be initialized and is unchanged on error.
 *
 *   RF_EDATA         a value has the wrong type or is out of range (the message names the key, the value and the
 *                    range); hidden_size is not a multiple of the heads
 *   RF_EUNSUPPORTED  another model_type; a key that would change the computation (norm_type, use_bias,
 *                    cross-attention); a quantization_config other than W8A8 of compressed-tensors */
rf_status rf_config_read_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, rf_error *why);
#define rf_config_read(ctx, path, out, why) rf_config_read_sized((ctx), (path), (out), sizeof *(out), (why))

/* Reads a config.json that was written for a new model. It is stricter, because an unknown key in such a file is
 * usually a typing error.
 *
 *   strange          receives the other unknown keys, separated by commas, in at most strange_size bytes: those that do
 *                    not fit are counted ("and 3 more"); "": none
 *   RF_EDATA         also: a key that resembles a known key, which the message names; a key of linear attention without
 *                    attention_type */
rf_status rf_config_read_new_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, char *strange,
                                   size_t strange_size, rf_error *why);
#define rf_config_read_new(ctx, path, out, strange, strange_size, why)                                                 \
    rf_config_read_new_sized((ctx), (path), (out), sizeof *(out), (strange), (strange_size), (why))

/* Lists the keys of a folder's config.json that resemble known keys, each as "FILE: unknown key K; did you mean L?",
 * separated by spaces, those that fit `size` bytes; "": none. Other unknown keys are not listed. */
rf_status rf_config_unknown_keys(const rf_ctx *ctx, const char *folder, char *text, size_t size, rf_error *why);

/* rf_config_read for text in memory of `bytes` bytes; `name` is used in messages. */
rf_status rf_config_parse_sized(const rf_ctx *ctx, const char *json, size_t bytes, const char *name, rf_config *out,
                                size_t size, rf_error *why);
#define rf_config_parse(ctx, json, bytes, name, out, why)                                                              \
    rf_config_parse_sized((ctx), (json), (bytes), (name), (out), sizeof *(out), (why))

void rf_config_copy_sized(rf_config *to, size_t size, const rf_config *from);
#define rf_config_copy(to, from) rf_config_copy_sized((to), sizeof *(to), (from))

rf_status rf_config_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why);

rf_head rf_config_head(const rf_config *c);                 /* from the name of the architecture */

/* Sets c->architecture to the family's class name for a head (for RF_HEAD_MLM with is_decoder, the causal class). */
void rf_config_set_head(rf_config *c, rf_head head);

/* The label names of a fine-tuned model; LABEL_0, ... if config.json has none. */
typedef struct rf_labels { const rf_ctx *ctx; int64_t n; char **name; } rf_labels;

/* Number of parameters of a model with this config and the head that its architecture names. Fixed position tables are
 * not counted. */
int64_t rf_config_parameters(const rf_config *c);

/* Columns of the queries and keys of a head: attention_key_size, head_dim, or hidden_size / num_attention_heads. */
int64_t rf_config_head_width(const rf_config *c);

const char *rf_rope_type_name(rf_rope_type type);           /* as in rope_scaling: "default", "linear", "yarn", ... */

/* ---- sentence-transformers' folders ------------------------------------------------------------------------------ */

typedef struct rf_sentence_prompt { char *name, *text; } rf_sentence_prompt;

/* A Dense module: the vector becomes act(W x + b), W [out, in]; RF_ACT_NONE also stands for functions that rf_act does
 * not have. */
enum { RF_MAX_DENSE = 4 };
typedef struct rf_sentence_dense {
    char path[128];             /* the module's folder, below the model's; it has the weights */
    int64_t in, out;
    int bias;
    rf_act act;
} rf_sentence_dense;

/* Settings for sentence embeddings from modules.json and the files that it names, or from config.json. */
typedef struct rf_sentence {
    const rf_ctx *ctx;
    char transformer[128];      /* subfolder of the model; "": the folder itself */
    char pooling[8];            /* as sentence_pooling of rf_config; "several": rf_sentence_poolings names them; "": not
                                   given */
    int normalize;              /* 1: normalize vectors to length 1 */
    int include_prompt;         /* 1: pool the prompt's tokens with the others; 0: leave them out */
    int64_t max_length;         /* maximum tokens of a text; 0: not given */
    int64_t prompts;
    rf_sentence_prompt *prompt; /* prompts, selected by name, that are put before texts */
    int64_t default_prompt;     /* index of the default prompt; -1: none */
    int64_t truncate_dim;       /* keep this many components, after normalization; 0: all */
    char similarity[12];        /* similarity_fn_name: "cosine", "dot", "euclidean", ... */
    int64_t denses;             /* Dense modules after pooling; there may be LayerNorm and Normalize between them */
    rf_sentence_dense dense[RF_MAX_DENSE];
} rf_sentence;

/* Reads these settings from a folder.
 *
 *   out              freed with rf_sentence_free; unchanged on error
 *   RF_EDATA         a file is malformed; the message names it
 *   RF_EUNSUPPORTED  an unknown module or pooling; the message names it */
rf_status rf_sentence_read(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf_error *why);
void rf_sentence_free(rf_sentence *s);

/* The names of the folder's poolings, "cls+mean"; "": not given. 64 bytes suffice. Others as rf_sentence_read. */
rf_status rf_sentence_poolings(const rf_ctx *ctx, const char *folder, char *out, size_t size, rf_error *why);

/* Checks that the folder's similarity is the cosine. RF_EUNSUPPORTED: it is another one. The dot product is accepted if
 * vectors have length 1: normalized and not truncated. */
rf_status rf_sentence_cosines(const rf_sentence *s, rf_error *why);

/* The poolings of a, then those of b, whose vectors are concatenated, for rf_embed_options and rf_index_options.
 * RF_POOL_AUTO: more than seven. */
rf_pooling rf_pooling_join(rf_pooling a, rf_pooling b);

#ifdef __cplusplus
}
#endif
#endif
